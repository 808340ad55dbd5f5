#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Small faults drawn from a seed, one at a time, in the state machines: do the tests notice?

Usage: mutants.py [--seed N] [--count N] [--minutes N] [--files REGEX] [--folder DIR] [--list]

A mutant is one change of one line: a comparison takes or leaves the equal case, or turns round; a
number is one more; a condition is negated; a statement is left out. Each is made in a copy of the
tree (build-mutants of this one), built, and given to the unit tests, the simulation, the scripts
and a short swarm, the quick ones first. The first that fails has caught it. The copy is put right
after each mutant, and this tree is never touched.

A survivor is either a hole in the tests or no fault at all: one has to read it. It is reported with
the line that makes it again, and does not fail the run; one that no compiler takes is not counted.
Ends after COUNT mutants or MINUTES, whatever is first. Exit status 1 if the tests fail without any.
"""
import argparse
import os
import random
import re
import sys
import time

sys.dont_write_bytecode = True

import plants  # noqa: E402 (without leaving byte code in the tree)

FILES = r"lib/(vt|host|pace)/[a-z_]+\.c"
TARGETS = ("build: test/unit/vt/test_vt test/unit/pace/test_pace test/unit/host/test_host "
           "test/sim/test_sim test/sim/script test/sim/swarm",)
# What each has to notice in; a mutant may well make an endless loop.
TESTS = (
    ("unit", "build/test/unit/vt/test_vt && build/test/unit/pace/test_pace && "
             "build/test/unit/host/test_host", 240),
    ("script", "build/test/sim/script test/script/*.script", 120),
    ("sim", "build/test/sim/test_sim --gtest_brief=1", 900),
    ("swarm", "build/test/sim/swarm --seeds 1-40 --all-kinds --jobs 2", 600),
)
SWAPS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "&&": "||", "||": "&&"}


def _code(line):
    """The line with comments and texts blanked, at the same length."""
    line = re.sub(r'"(\\.|[^"\\])*"|/\*.*?\*/|//.*', lambda m: " " * len(m.group()), line)
    return re.sub(r"/\*.*", lambda m: " " * len(m.group()), line)


def _changes(line):
    """(kind, new line) of every mutant of a line of code."""
    code = _code(line)
    for m in re.finditer(r" (<=|>=|==|!=|<|>|&&|\|\|) ", code):
        yield "comparison" if m.group(1) not in ("&&", "||") else "logic", (
            line[:m.start(1)] + SWAPS[m.group(1)] + line[m.end(1):])
    for m in re.finditer(r"(?<=[ (\[])(\d+)(?=u?l*[ ;,)\]])", code):
        yield "off by one", line[:m.start()] + str(int(m.group()) + 1) + line[m.end():]
    m = re.match(r"(\s*(?:\} else )?(?:if|while) \()(.*)(\)(?: \{)?)$", code)
    if m:
        inner = line[m.start(2):m.end(2)]
        yield "negated condition", line[:m.end(1)] + "!(" + inner + ")" + line[m.start(3):]
    if re.match(r"\s+[a-z][\w>.\[\]-]* (=|\+=|-=|\|=|&=) [^;]*;$|\s+[a-z_]+\([^;]*\);$|\s+[a-z][\w>.-]*(\+\+|--);$",
                code):
        yield "dropped statement", re.match(r"\s*", line).group() + ";"


def mutants_of(text):
    """(line number from 1, kind, old, new) of a file, but for comments and what the preprocessor sees."""
    comment = False
    for number, line in enumerate(text.split("\n"), 1):
        inside, comment = comment, (line.rfind("/*") > line.rfind("*/")) or (comment and "*/" not in line)
        if inside or line.startswith("#") or line.endswith("\\"):
            continue
        for kind, new in _changes(line):
            yield number, kind, line, new


def draw(root, files, seed, count):
    """COUNT mutants: a file by its length, then one of its lines, then one of that line's."""
    paths = sorted(p for p in plants.tree_paths(root) if re.fullmatch(files, p))
    rng, drawn = random.Random(seed), []
    lines = {}
    for path in paths:
        with open(os.path.join(root, path), encoding="utf-8") as f:
            for number, kind, old, new in mutants_of(f.read()):
                lines.setdefault((path, number), []).append((kind, old, new))
    keys = sorted(lines)
    for key in rng.sample(keys, min(count, len(keys))):
        drawn.append((*key, *rng.choice(lines[key])))
    return drawn


def caught_by(copy):
    """The name of the first test that fails; None if none does."""
    for name, command, timeout_s in TESTS:
        try:
            status, _ = copy.run(f"({command}) >/dev/null 2>&1", timeout_s)
        except plants.Problem:
            return f"{name}, which does not end"
        if status != 0:
            return name
    return None


def judge(copy, mutant):
    """What becomes of a mutant: the test that caught it, "" for none, or None: it does not compile."""
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


def run(copy, drawn, until):
    """Reports; (caught, survivors)."""
    caught = survivors = 0
    for i, mutant in enumerate(drawn, 1):
        if time.monotonic() > until:
            print(f"# the time is over after {i - 1} of {len(drawn)}")
            break
        path, number, kind, old, new = mutant
        who = judge(copy, mutant)
        if who is None:
            print(f"# {path}:{number}: {kind}: does not compile", flush=True)
            continue
        caught += who != ""
        survivors += who == ""
        print(f"# {path}:{number}: {kind}: {'caught by ' + who if who else 'SURVIVES'}", flush=True)
        if not who:
            print(f"#   - {old.strip()}\n#   + {new.strip()}", flush=True)
    return caught, survivors


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--seed", type=int, default=int(os.environ.get("SLUICE_SEED", time.time())))
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--files", default=FILES, help="regular expression of whole paths")
    parser.add_argument("--folder", default=os.path.join(plants.ROOT, "build-mutants"))
    parser.add_argument("--list", action="store_true", help="say what would be drawn")
    args = parser.parse_args()
    drawn = draw(plants.ROOT, args.files, args.seed, args.count)
    if not drawn:
        parser.error(f"no file matches {args.files}")
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
    print(f"1..1\n{'not ok' if failing else 'ok'} 1 - the tests pass without a mutant" +
          (f"\n#   {failing}" if failing else ""), flush=True)
    if failing:
        return 1
    caught, survivors = run(copy, drawn, time.monotonic() + args.minutes * 60)
    print(f"# {caught} caught, {survivors} survived (seed {args.seed})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
