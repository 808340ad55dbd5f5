# SPDX-License-Identifier: BSD-3-Clause
"""The text of an experiment. Some sections are ours, as below; the others are the world's, which the
engine reads, with ${...} worked out, in the lines where they stand.

  [experiment]   title, paper, about
  [parameters]   name = default                      which --set and sweeps change
  [case P=V]     name = default where parameter P is V
  [sweep NAME]   parameter = values; repeat = N; series = names to keep
  [quick]        parameter = value, SWEEP.parameter = values: what a short run does instead
  [finding NAME] says, paper, unit, ours, tolerance or holds, note
  [figure NAME]  what to draw
  [live KIND]    instead of a world: what is run live (live.py)
"""
import os
import re

from . import LabError, expr

FIGURE_KEYS = ("title", "caption", "kind", "sweep", "where", "x", "y", "z", "series", "by", "x scale", "y scale",
               "x label", "y label", "z label", "x range", "y range", "x per", "y per", "mark x", "mark y", "names", "since")
FINDING_KEYS = ("says", "paper", "unit", "ours", "tolerance", "holds", "note", "differs", "known",
                "quick")
OURS = ("experiment", "parameters", "case", "sweep", "quick", "finding", "figure", "live")
LIVE = ("memif", "tcp")


class Section:
    def __init__(self, file, title, line):
        self.file, self.title, self.line = file, title, line
        self.kind, _, self.name = title.partition(" ")
        self.name = self.name.strip()
        self.keys, self.lines = {}, {}

    def error(self, key, text):
        line = self.lines.get(key, self.line)
        raise LabError(f"{self.file}:{line}: [{self.title}] {key + ': ' if key else ''}{text}")

    def need(self, key):
        if key not in self.keys:
            self.error(None, f"{key} is missing; add \"{key} = ...\"")
        return self.keys[key]

    def get(self, key, default=None):
        return self.keys.get(key, default)

    def number(self, key, default=None):
        if key not in self.keys:
            return default
        try:
            return float(self.keys[key])
        except ValueError:
            self.error(key, f"\"{self.keys[key]}\" is no number; write for example 0.61")

    def only(self, *known):
        for key in self.keys:
            if key not in known:
                self.error(key, f"there is no such key here; there are: {', '.join(known)}")


def uncomment(line):
    return re.sub(r"(?<!\\)#.*", "", line).replace("\\#", "#").rstrip()


def scan(path, text):
    """[Section], and the lines as they are."""
    sections, current = [], None
    for number, raw in enumerate(text.split("\n"), 1):
        line = uncomment(raw).strip()
        if not line:
            continue
        if line.startswith("["):
            if not line.endswith("]"):
                raise LabError(f"{path}:{number}: \"{line[:60]}\" begins a section badly; write [kind name]")
            current = Section(path, " ".join(line[1:-1].split()), number)
            if any(s.title == current.title for s in sections):
                raise LabError(f"{path}:{number}: [{current.title}] is there twice; merge them")
            sections.append(current)
            continue
        key, equal, value = line.partition("=")
        key = key.strip()
        if not equal or current is None or not key:
            raise LabError(f"{path}:{number}: \"{line[:60]}\" is no setting; write key = value below a [section]")
        if key in current.keys:
            raise LabError(f"{path}:{number}: [{current.title}] {key}: is there twice, first in line "
                           f"{current.lines[key]}; remove one")
        current.keys[key], current.lines[key] = value.strip(), number
    return sections


def axis(section, key, text):
    """The values of a list: words, 2..8, 1e-6..1e-4 log 9, 1..2 lin 11."""
    m = re.fullmatch(r"(\S+?)\.\.(\S+)(?:\s+(lin|log)\s+(\d+))?", text)
    if not m:
        return text.split()
    try:
        low, high = float(m[1]), float(m[2])
        if m[3] is None:
            return [str(v) for v in range(int(m[1]), int(m[2]) + 1)]
        steps = int(m[4]) - 1
        if m[3] == "log":
            return [f"{low * (high / low) ** (i / steps):.6g}" for i in range(steps + 1)]
        return [f"{low + (high - low) * i / steps:.6g}" for i in range(steps + 1)]
    except (ValueError, ZeroDivisionError):
        section.error(key, f"\"{text}\" is no range; write 2..8, 1e-6..1e-4 log 9, or 1..2 lin 11")


def lookup(values):
    """For expr.fill(): parameters that are worked out; their names may have spaces."""
    return lambda name: expr.number(values[name if name in values else name.replace("_", " ")])


class Experiment:
    """One file, read and checked."""

    def __init__(self, path):
        self.path = path
        self.name = os.path.splitext(os.path.basename(path))[0]
        try:
            with open(path, encoding="utf-8") as f:
                self.text = f.read()
        except OSError as e:
            raise LabError(f"{path}: cannot be read: {e.strerror}; name an experiment of \"sluice-lab list\", "
                           "or a file") from e
        self.sections = scan(path, self.text)
        about = self.one("experiment")
        if about is None:
            raise LabError(f"{path}:1: there is no [experiment]; begin with one that has a title")
        about.only("title", "paper", "about")
        self.title, self.paper, self.about = about.need("title"), about.get("paper", ""), about.get("about", "")
        parameters = self.one("parameters")
        self.defaults = dict(parameters.keys) if parameters else {}
        self.parameters = parameters
        self._check_cases()
        self.live = self.one("live")
        self._check_live()
        # Mistakes are told before anything runs.
        for s in self.all("figure"):
            s.only(*FIGURE_KEYS)
        for s in self.all("finding"):
            s.only(*FINDING_KEYS)
            s.need("says"), s.need("ours")
            if ("differs" in s.keys) != ("known" in s.keys):
                s.error("differs" if "differs" in s.keys else "known", "a reason and the range that it is for go together; "
                        "write both, for example known = 0.7 <= ours <= 0.8")

    def one(self, kind):
        return next((s for s in self.sections if s.kind == kind), None)

    def all(self, kind):
        return [s for s in self.sections if s.kind == kind]

    def _check_cases(self):
        for s in self.all("case"):
            name, equal, _ = s.name.partition("=")
            if not equal or name.strip() not in self.defaults:
                s.error(None, "is no case; write [case PARAMETER=VALUE]")
            for key in s.keys:
                if key not in self.defaults:
                    s.error(key, "is no parameter; give it a default in [parameters]")
        for s in self.all("sweep"):
            for key in s.keys:
                if key not in self.defaults and key not in ("repeat", "series"):
                    s.error(key, "is no parameter; give it a default in [parameters]")

    def _check_live(self):
        """A world, or what is run live; not both."""
        if self.live is None:
            return
        if self.live.name not in LIVE:
            self.live.error(None, f"there is no such kind; write [live {'] or [live '.join(LIVE)}]")
        for s in self.sections:
            if s.kind not in OURS or (s.kind == "live" and s is not self.live):
                s.error(None, f"does not go with [{self.live.title}], which is all there is to run; remove one")

    def check_parameter(self, name, where):
        if name not in self.defaults:
            known = ", ".join(self.defaults) or "none"
            raise LabError(f"{where}: {self.name} has no parameter {name}; it has: {known}")

    def resolve(self, given):
        """All parameters, as texts, where some are given."""
        values = dict(self.defaults)
        for s in self.all("case"):
            name, _, value = s.name.partition("=")
            if given.get(name.strip(), self.defaults[name.strip()]) == value.strip():
                values.update(s.keys)
        values.update(given)
        open_names = []

        def look(name):
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

        for name in list(values):
            look(name)
        return values

    def where(self, name):
        line = self.parameters.lines.get(name, self.parameters.line) if self.parameters else 1
        return f"{self.path}:{line}: {name}"

    def live_keys(self, values):
        """What [live KIND] says, with ${...} worked out."""
        return {key: expr.fill(text, lookup(values), f"{self.path}:{self.live.lines[key]}")
                for key, text in self.live.keys.items()}

    def world(self, values):
        """The world's text, each line where it stands in the file."""
        lines, ours, look = [], True, lookup(values)

        for number, raw in enumerate(self.text.split("\n"), 1):
            line = uncomment(raw).strip()
            if line.startswith("["):
                ours = line[1:-1].split(None, 1)[0] in OURS
            # The engine reads comments, too.
            lines.append("" if ours else expr.fill(line, look, f"{self.path}:{number}").replace("#", "\\#"))
        return "\n".join(lines) + "\n"
