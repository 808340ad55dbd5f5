# SPDX-License-Identifier: BSD-3-Clause
"""The text of an experiment. The sections below are the lab's own. All others are the world's: the engine
reads them, each in the line where it stands, after ${...} is evaluated.

  [experiment]   title, paper, about
  [parameters]   name = default; --set and sweeps change it
  [case P=V]     name = default where parameter P is V
  [sweep NAME]   parameter = values; repeat = N; series = names to keep
  [quick]        parameter = value, SWEEP.parameter = values: replacements for a quick run
  [finding NAME] says, ours, paper, unit, tolerance or holds, note, differs and known, quick
  [figure NAME]  see figure.py
  [live KIND]    an experiment that runs live, instead of a world (live.py)
"""
import hashlib
import json
import math
import os
import re
from collections.abc import Callable
from typing import NoReturn, overload

from . import LabError, expr

FIGURE_KEYS = ("title", "caption", "kind", "sweep", "where", "x", "y", "z", "series", "by", "x scale", "y scale",
               "x label", "y label", "z label", "x range", "y range", "x per", "y per", "mark x", "mark y", "names",
               "since")
FIGURE_KINDS = ("lines", "course", "cumulated", "surface")
FINDING_KEYS = ("says", "paper", "unit", "ours", "tolerance", "holds", "note", "differs", "known",
                "quick")
OURS = ("experiment", "parameters", "case", "sweep", "quick", "finding", "figure", "live")
LIVE = ("memif", "tcp")


class Section:
    def __init__(self, file: str, title: str, line: int) -> None:
        self.file, self.title, self.line = file, title, line
        self.kind, _, self.name = title.partition(" ")
        self.name = self.name.strip()
        self.keys: dict[str, str] = {}
        self.lines: dict[str, int] = {}

    def error(self, key: str | None, text: str) -> NoReturn:
        line = self.line if key is None else self.lines.get(key, self.line)
        raise LabError(f"{self.file}:{line}: [{self.title}] {key + ': ' if key else ''}{text}")

    def need(self, key: str) -> str:
        if key not in self.keys:
            self.error(None, f"{key} is missing; add \"{key} = ...\"")
        return self.keys[key]

    @overload
    def get(self, key: str) -> str | None: ...

    @overload
    def get(self, key: str, default: str) -> str: ...

    def get(self, key: str, default: str | None = None) -> str | None:
        return self.keys.get(key, default)

    @overload
    def number(self, key: str) -> float | None: ...

    @overload
    def number(self, key: str, default: float) -> float: ...

    def number(self, key: str, default: float | None = None) -> float | None:
        if key not in self.keys:
            return default
        try:
            return finite(self.keys[key])
        except ValueError:
            self.error(key, f"\"{self.keys[key]}\" is not a number; write for example 0.61")

    def pairs(self, key: str) -> list[tuple[str, str]]:
        """[(A, TEXT), (B, TEXT)] of "A: TEXT; B: TEXT"."""
        parts = [part.partition(":") for part in self.get(key, "").split(";") if ":" in part]
        return [(before.strip(), behind.strip()) for before, _, behind in parts]

    def limits(self, key: str) -> tuple[float, float] | None:
        """LOW HIGH"""
        if key not in self.keys:
            return None
        try:
            low, high = (finite(word) for word in self.keys[key].split())
            if low < high:
                return low, high
        except ValueError:
            pass
        self.error(key, f"\"{self.keys[key]}\" is not two numbers, the lower one first; write for example 0 10")

    def only(self, *known: str) -> None:
        for key in self.keys:
            if key not in known:
                self.error(key, f"there is no such key here; there are: {', '.join(known)}")


def finite(text: str) -> float:
    """The number. ValueError: it is none, or nan, or infinite."""
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text} is not a number")
    return value


def figure_check(s: Section) -> None:
    s.only(*FIGURE_KEYS)
    s.need("title")
    if s.get("kind", "lines") not in FIGURE_KINDS:
        s.error("kind", f"\"{s.keys['kind']}\" is none of these: {', '.join(FIGURE_KINDS)}; choose one")
    s.number("since")
    for axis in ("x", "y"):
        if s.number(f"{axis} per", 1.0) == 0:
            s.error(f"{axis} per", "values cannot be divided by 0; write for example 1e6")
        if s.get(f"{axis} scale", "log") not in ("log", "linear"):
            s.error(f"{axis} scale", f"\"{s.keys[axis + ' scale']}\" is none of these: log, linear; choose one")
        s.limits(f"{axis} range")
        for value, _ in s.pairs(f"mark {axis}"):
            try:
                finite(value)
            except ValueError:
                s.error(f"mark {axis}", f"\"{value}\" is not a number; write VALUE: TEXT; VALUE: TEXT")


def uncomment(line: str) -> str:
    return re.sub(r"(?<!\\)#.*", "", line).replace("\\#", "#").rstrip()


def scan(path: str, text: str) -> list[Section]:
    sections: list[Section] = []
    current = None
    for number, raw in enumerate(text.split("\n"), 1):
        line = uncomment(raw).strip()
        if not line:
            continue
        if line.startswith("["):
            if not line.endswith("]"):
                raise LabError(f"{path}:{number}: \"{line[:60]}\" does not end with a bracket; write [kind name]")
            current = Section(path, " ".join(line[1:-1].split()), number)
            if any(s.title == current.title for s in sections):
                raise LabError(f"{path}:{number}: [{current.title}] occurs twice; merge them")
            sections.append(current)
            continue
        key, equal, value = line.partition("=")
        key = key.strip()
        if not equal or current is None or not key:
            raise LabError(f"{path}:{number}: \"{line[:60]}\" is not a setting; write key = value below a [section]")
        if key in current.keys:
            raise LabError(f"{path}:{number}: [{current.title}] {key}: occurs twice, first in line "
                           f"{current.lines[key]}; remove one")
        current.keys[key], current.lines[key] = value.strip(), number
    return sections


def axis(text: str, wrong: Callable[[str], NoReturn]) -> list[str]:
    """The values of a list: words, 2..8, 1e-6..1e-4 log 9, 1..2 lin 11. wrong: called with what is wrong."""
    m = re.fullmatch(r"(\S+?)\.\.(\S+)(?:\s+(lin|log)\s+(\d+))?", text)
    try:
        values = range_of(m) if m else text.split()
    except (ValueError, ZeroDivisionError):
        wrong(f"\"{text}\" is not a range; write 2..8, 1e-6..1e-4 log 9, or 1..2 lin 11")
    if not values:
        wrong(f"\"{text}\" has no values; write for example 2..8, the lower one first")
    return values


def range_of(m: re.Match[str]) -> list[str]:
    low, high = finite(m[1]), finite(m[2])
    if m[3] is None:
        return [str(v) for v in range(int(m[1]), int(m[2]) + 1)]
    steps = int(m[4]) - 1
    if m[3] == "lin":
        return [f"{low + (high - low) * i / steps:.6g}" for i in range(steps + 1)]
    if min(low, high) <= 0:
        raise ValueError
    return [f"{low * (high / low) ** (i / steps):.6g}" for i in range(steps + 1)]


def lookup(values: dict[str, str]) -> expr.Look:
    """Finds parameters for expr.fill(), where spaces in their names are underscores."""
    return lambda name: expr.number(values[name if name in values else name.replace("_", " ")])


class Experiment:
    """One file, read and checked."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.name = os.path.splitext(os.path.basename(path))[0]
        try:
            with open(path, encoding="utf-8") as f:
                self.text = f.read()
        except OSError as e:
            raise LabError(f"{path}: cannot be read: {e.strerror}; name an experiment of \"sluice-lab list\", "
                           "or a file") from e
        except UnicodeDecodeError as e:
            line = e.object[:e.start].count(b"\n") + 1
            raise LabError(f"{path}:{line}: is not text in UTF-8; convert it, for example with iconv") from e
        self.sections = scan(path, self.text)
        about = self.one("experiment")
        if about is None:
            raise LabError(f"{path}:1: there is no [experiment]; begin with one that has a title")
        about.only("title", "paper", "about")
        self.title, self.paper, self.about = about.need("title"), about.get("paper", ""), about.get("about", "")
        self.parameters = self.one("parameters")
        self.defaults = dict(self.parameters.keys) if self.parameters else {}
        self._check_cases()
        self.live = self.one("live")
        self._check_live()
        # Findings and figures come after the runs, but their mistakes should be found before.
        for s in self.all("figure"):
            figure_check(s)
        for s in self.all("finding"):
            s.only(*FINDING_KEYS)
            for key in ("says", "ours"):
                s.need(key)
            if ("differs" in s.keys) != ("known" in s.keys):
                s.error("differs" if "differs" in s.keys else "known", "a reason (differs) and the range of values "
                        "that it explains (known) go together; write both, for example known = 0.7 <= ours <= 0.8")

    def runs_digest(self) -> str:
        """A digest of all that its runs depend on. Findings and figures can change after them."""
        said = [(s.title, s.keys) for s in self.sections if s.kind not in ("experiment", "finding", "figure")]
        return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()

    def one(self, kind: str) -> Section | None:
        return next((s for s in self.sections if s.kind == kind), None)

    def all(self, kind: str) -> list[Section]:
        return [s for s in self.sections if s.kind == kind]

    def _check_cases(self) -> None:
        for s in self.all("case"):
            name, equal, _ = s.name.partition("=")
            if not equal or name.strip() not in self.defaults:
                s.error(None, "is not a case of a parameter; write [case PARAMETER=VALUE]")
            for key in s.keys:
                if key not in self.defaults:
                    s.error(key, "is not a parameter; give it a default in [parameters]")
        for s in self.all("sweep"):
            for key in s.keys:
                if key not in self.defaults and key not in ("repeat", "series"):
                    s.error(key, "is not a parameter; give it a default in [parameters]")

    def _check_live(self) -> None:
        """A file has a world or one [live], not both."""
        if self.live is None:
            return
        if self.live.name not in LIVE:
            self.live.error(None, f"there is no such kind; write [live {'] or [live '.join(LIVE)}]")
        for s in self.sections:
            if s.kind not in OURS or (s.kind == "live" and s is not self.live):
                s.error(None, f"does not go with [{self.live.title}], which takes the place of a world; remove one")

    def check_parameter(self, name: str, where: str) -> None:
        if name not in self.defaults:
            known = ", ".join(self.defaults) or "none"
            raise LabError(f"{where}: {self.name} has no parameter {name}; it has: {known}")

    def resolve(self, given: dict[str, str]) -> dict[str, str]:
        """All parameters, evaluated, as text; `given` takes precedence over the file."""
        values = {**self.defaults, **given}
        for s in self.all("case"):
            name, _, value = (part.strip() for part in s.name.partition("="))
            here = dict(values)
            self._evaluator(here)(name)
            if expr.same(here[name], value):
                values.update({k: v for k, v in s.keys.items() if k not in given})
        look = self._evaluator(values)
        for name in list(values):
            look(name)
        return values

    def _evaluator(self, values: dict[str, str]) -> expr.Look:
        """Evaluates a parameter among these values, in place, and returns it."""
        open_names: list[str] = []

        def look(name: str) -> expr.Value:
            name = name if name in values else name.replace("_", " ")
            if name not in values:
                raise KeyError(name)
            if "${" in values[name]:
                if name in open_names:
                    raise LabError(f"{self.path}: parameter {name} depends on itself; break the circle")
                open_names.append(name)
                values[name] = expr.fill(values[name], look, self.where(name))
                open_names.pop()
            return expr.number(values[name])
        return look

    def where(self, name: str) -> str:
        line = self.parameters.lines.get(name, self.parameters.line) if self.parameters else 1
        return f"{self.path}:{line}: {name}"

    def live_keys(self, values: dict[str, str]) -> dict[str, str]:
        """The keys of [live KIND], evaluated."""
        assert self.live is not None
        return {key: expr.fill(text, lookup(values), f"{self.path}:{self.live.lines[key]}")
                for key, text in self.live.keys.items()}

    def world(self, values: dict[str, str]) -> str:
        """The world's text. Its lines have the numbers that they have in the file, for the engine's messages."""
        lines, ours, look = [], True, lookup(values)

        for number, raw in enumerate(self.text.split("\n"), 1):
            line = uncomment(raw).strip()
            if line.startswith("["):
                ours = line[1:-1].split(None, 1)[0] in OURS
            # The engine removes comments, too.
            lines.append("" if ours else expr.fill(line, look, f"{self.path}:{number}").replace("#", "\\#"))
        return "\n".join(lines) + "\n"
