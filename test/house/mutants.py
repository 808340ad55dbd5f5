#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Makes small faults in the state machines, drawn from a seed and one at a time: do the tests notice them?

Usage: mutants.py [--seed N] [--count N] [--minutes N] [--files REGEX] [--folder DIR] [--list]

A mutant is one change of one line: a comparison includes or excludes the equal case, or is inverted; a
number is one more; a condition is negated; a statement is left out. Each mutant is made in a copy of
the tree (DIR, or build-mutants of this tree) and built. Then unit tests, scripts, the simulation and a
short swarm run in this order until one fails: that test has caught the mutant. The copy is restored
after each mutant. This tree is never changed.

A survivor is either a gap in the tests or no fault at all, so somebody must read it. It is reported with
its old and new line, and does not fail the run. A mutant that does not compile is not counted.
Ends after COUNT mutants or MINUTES, whichever comes first. Exit status 1 if the tests fail without a mutant.
"""
import argparse
import os
import random
import re
import sys
import time
from collections.abc import Iterator
from typing import NamedTuple

sys.dont_write_bytecode = True

import plants  # noqa: E402 (imported after dont_write_bytecode is set)
import tap  # noqa: E402

FILES = r"lib/(vt|host|pace)/[a-z_]+\.c"
TARGETS = ("build: test/unit/vt/test_vt test/unit/pace/test_pace test/unit/host/test_host "
           "test/sim/test_sim test/sim/script test/sim/swarm",)
# (name, command, seconds): a time limit, because a mutant may loop endlessly.
TESTS = (
    ("unit", "build/test/unit/vt/test_vt && build/test/unit/pace/test_pace && "
             "build/test/unit/host/test_host", 240),
    ("script", "build/test/sim/script test/script/*.script", 120),
    ("sim", "build/test/sim/test_sim --gtest_brief=1", 900),
    ("swarm", "build/test/sim/swarm --seeds 1-40 --all-kinds --jobs 2", 600),
)
SWAPS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "&&": "||", "||": "&&"}


class Mutant(NamedTuple):
    path: str
    line: int  # from 1
    kind: str
    old: str
    new: str


def _code(line: str) -> str:
    """The line with blanks in place of comments and strings."""
    line = re.sub(r'"(\\.|[^"\\])*"|/\*.*?\*/|//.*', lambda m: " " * len(m.group()), line)
    return re.sub(r"/\*.*", lambda m: " " * len(m.group()), line)


def _changes(line: str) -> Iterator[tuple[str, str]]:
    """(kind, new line) of every mutant of a line of code."""
    code = _code(line)
    for m in re.finditer(r" (<=|>=|==|!=|<|>|&&|\|\|) ", code):
        yield "comparison" if m.group(1) not in ("&&", "||") else "logic", (
            line[:m.start(1)] + SWAPS[m.group(1)] + line[m.end(1):])
    for m in re.finditer(r"(?<=[ (\[])(\d+)(?=u?l*[ ;,)\]])", code):
        yield "off by one", line[:m.start()] + str(int(m.group()) + 1) + line[m.end():]
    branch = re.match(r"(\s*(?:\} else )?(?:if|while) \()(.*)(\)(?: \{)?)$", code)
    if branch:
        inner = line[branch.start(2):branch.end(2)]
        yield "negated condition", line[:branch.end(1)] + "!(" + inner + ")" + line[branch.start(3):]
    if re.match(r"\s+[a-z][\w>.\[\]-]* (=|\+=|-=|\|=|&=) [^;]*;$|\s+[a-z_]+\([^;]*\);$|\s+[a-z][\w>.-]*(\+\+|--);$",
                code):
        yield "dropped statement", line[:len(line) - len(line.lstrip())] + ";"


def mutants_of(path: str, text: str) -> Iterator[Mutant]:
    """Every mutant of a file; comments and lines of the preprocessor have none."""
    comment = False
    for number, line in enumerate(text.split("\n"), 1):
        inside, comment = comment, (line.rfind("/*") > line.rfind("*/")) or (comment and "*/" not in line)
        if inside or line.startswith("#") or line.endswith("\\"):
            continue
        for kind, new in _changes(line):
            yield Mutant(path, number, kind, line, new)


def draw(root: str, files: str, seed: int, count: int) -> list[Mutant]:
    """COUNT mutants on different lines: draws a line of all files that match, then one of its mutants."""
    paths = sorted(p for p in plants.tree_paths(root) if re.fullmatch(files, p))
    rng = random.Random(seed)
    lines: dict[tuple[str, int], list[Mutant]] = {}
    for path in paths:
        with open(os.path.join(root, path), encoding="utf-8") as f:
            for mutant in mutants_of(path, f.read()):
                lines.setdefault((path, mutant.line), []).append(mutant)
    keys = sorted(lines)
    return [rng.choice(lines[key]) for key in rng.sample(keys, min(count, len(keys)))]


def caught_by(copy: plants.Copy) -> str | None:
    """The name of the first test that fails, or None."""
    for name, command, timeout_s in TESTS:
        try:
            status, _ = copy.run(f"({command}) >/dev/null 2>&1", timeout_s)
        except plants.Problem:
            return f"{name}, which does not end"
        if status != 0:
            return name
    return None


def judge(copy: plants.Copy, mutant: Mutant) -> str | None:
    """The test that caught the mutant, "" if none did, or None if the mutant does not compile."""
    path, number, _, old, new = mutant
    with open(os.path.join(copy.root, path), encoding="utf-8") as f:
        before = f.read()
    lines = before.split("\n")
    assert lines[number - 1] == old
    lines[number - 1] = new
    plants.write(copy.root, path, "\n".join(lines))
    try:
        copy.build(TARGETS)
        return caught_by(copy) or ""
    except plants.Problem:
        return None
    finally:
        plants.write(copy.root, path, before)


def run(copy: plants.Copy, drawn: list[Mutant], until: float) -> tuple[int, int]:
    """Judges and reports each mutant; (caught, survivors)."""
    caught = survivors = 0
    for i, mutant in enumerate(drawn, 1):
        if time.monotonic() > until:
            print(f"# the time was up after {i - 1} of {len(drawn)} mutants")
            break
        path, number, kind, old, new = mutant
        test = judge(copy, mutant)
        if test is None:
            print(f"# {path}:{number}: {kind}: does not compile", flush=True)
            continue
        caught += test != ""
        survivors += test == ""
        print(f"# {path}:{number}: {kind}: {'caught by ' + test if test else 'SURVIVES'}", flush=True)
        if not test:
            print(f"#   - {old.strip()}\n#   + {new.strip()}", flush=True)
    return caught, survivors


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--seed", type=int, default=int(os.environ.get("SLUICE_SEED", time.time())))
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--files", default=FILES, help="regular expression that matches whole paths")
    parser.add_argument("--folder", default=os.path.join(plants.ROOT, "build-mutants"))
    parser.add_argument("--list", action="store_true", help="print the mutants that the seed draws, and stop")
    args = parser.parse_args()
    drawn = draw(plants.ROOT, args.files, args.seed, args.count)
    if not drawn:
        parser.error(f"no file matches {args.files}; --files takes a regular expression of whole paths")
    if args.list:
        for path, number, kind, old, new in drawn:
            print(f"{path}:{number}: {kind}\n  - {old.strip()}\n  + {new.strip()}")
        return 0
    print(f"# seed {args.seed}, {len(drawn)} mutants", flush=True)
    copy = plants.Copy(args.folder)
    try:
        copy.build(TARGETS)
        failing = caught_by(copy)
    except plants.Problem as problem:
        failing = f"the build: {problem}"
    report = tap.Report(1)
    report.case("the tests pass without a mutant", [failing] if failing else [])
    if failing:
        return report.finish()
    caught, survivors = run(copy, drawn, time.monotonic() + args.minutes * 60)
    print(f"# {caught} caught, {survivors} survived (seed {args.seed})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
