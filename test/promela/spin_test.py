#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Verifies association.pml with spin, and shows that the properties can fail.

Usage: spin_test.py [--all] [--only REGEX] [--keep DIR]
  --all         all mutants, and larger worlds, which take minutes; without it, some of each
  --only REGEX  only the worlds and mutants whose name it matches
  --keep DIR    writes pan.c and each counterexample there

Each world must be searched to its end without an error. Each mutant breaks one rule of the model, and must
have an error. Writes TAP. Exit status 77: spin or gcc is missing.
"""
from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "house"))
import tap  # noqa: E402

MODEL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "association.pml")
COMPILE = ("-w", "-DSAFETY", "-DCOLLAPSE", "-DMEMLIM=4000")
DEPTH_MAX = 10_000
RUN_TIMEOUT_S = 1800


class Failure(Exception):
    """The reason that a world or a mutant was not judged as it should be."""


@dataclass(frozen=True)
class World:
    """What may happen in the model, and how many states that has at least."""
    name: str
    macros: dict[str, int]
    states_min: int
    large: bool = False


@dataclass(frozen=True)
class Mutant:
    """A rule that is broken, the world that shows it, and the property that fails: an inline of the model."""
    name: str
    world: str
    fails: str
    always: bool = False  # also without --all


WORLDS = [
    World("renewal", {"INITS": 3, "ASSOCS": 3, "FIRSTS": 2}, 100_000),
    World("one connection", {"INITS": 4, "ASSOCS": 4, "FIRSTS": 1}, 200_000),
    World("both ask", {"INITS": 3, "ASSOCS": 3, "FIRSTS": 1, "BOTH": 1}, 100_000),
    World("restarts", {"INITS": 3, "ASSOCS": 3, "FIRSTS": 1, "RESTARTS": 2, "BACK": 1}, 100_000),
    World("reload", {"INITS": 3, "ASSOCS": 2, "FIRSTS": 1, "REVOKED": 3, "PLAIN": 1}, 100_000),
    World("insider", {"INITS": 3, "ASSOCS": 3, "FIRSTS": 1, "INSIDER": 1}, 40_000),
    World("both ask, more", {"INITS": 4, "ASSOCS": 3, "FIRSTS": 1, "BOTH": 1}, 800_000, large=True),
    World("restarts, more", {"INITS": 3, "ASSOCS": 3, "FIRSTS": 2, "RESTARTS": 2, "BACK": 1}, 1_400_000, large=True),
    World("restarts, longer", {"INITS": 4, "ASSOCS": 4, "FIRSTS": 1, "RESTARTS": 1, "BACK": 1}, 500_000, large=True),
    World("reload, both", {"INITS": 2, "ASSOCS": 2, "FIRSTS": 1, "REVOKED": 2, "PLAIN": 1, "BOTH": 1}, 100_000,
          large=True),
]

MUTANTS = [
    Mutant("M_RESPONSE_UNBOUND", "renewal", "agreement", True),
    Mutant("M_INIT_UNPROVED", "renewal", "agreement", True),
    Mutant("M_INIT_OF_ANOTHER", "insider", "agreement", True),
    Mutant("M_FIRST_ANY_ADDRESS", "insider", "agreement"),
    Mutant("M_ANY_ASSOCIATION", "insider", "agreement"),
    Mutant("M_FIRST_AGAIN", "renewal", "replay", True),
    Mutant("M_WINDOW_OF_A_WORKER", "renewal", "replay"),
    Mutant("M_REVOKED_FIRST", "reload", "revoked", True),
    Mutant("M_REVOKED_CONNECTION", "reload", "revoked", True),
    Mutant("M_PLAIN_TAKEN", "reload", "downgrade", True),
    Mutant("M_PLAIN_FALLBACK", "reload", "downgrade"),
    Mutant("M_PLAIN_STAYS", "reload", "downgrade"),
    Mutant("M_OLD_INIT", "renewal", "old_init", True),
    Mutant("M_CURRENT_AT_ONCE", "renewal", "old_init"),
    Mutant("M_NO_COOKIE_BACK", "restarts", "old_init"),
    Mutant("M_REWOUND_WAITS_WITH_OTHERS", "renewal", "old_init"),
    Mutant("M_REWIND_AT_ONCE", "renewal", "old_init"),
    Mutant("M_NO_COOKIE_UNDER_LOAD", "renewal", "load"),
    Mutant("M_NO_WAY_BACK", "restarts", "recovery", True),
    Mutant("M_INIT_FOREVER", "restarts", "recovery", True),
]


def run(words: list[str], cwd: str) -> str:
    done = subprocess.run(words, cwd=cwd, capture_output=True, text=True, timeout=RUN_TIMEOUT_S, check=False)
    if done.returncode != 0:
        raise Failure(f"{words[0]} has failed: {(done.stderr + done.stdout).strip()[-400:]}")
    return done.stdout


def macros(world: World, mutant: str | None) -> list[str]:
    return [f"-D{name}={value}" for name, value in world.macros.items()] + ([f"-D{mutant}"] if mutant else [])


def verify(folder: str, world: World, mutant: str | None) -> str:
    """What pan says of the world."""
    run(["spin", "-a", *macros(world, mutant), MODEL], folder)
    # a mutant is found soon: its verifier takes longer to compile than to run
    run(["gcc", "-O0" if mutant else "-O1", *COMPILE, "-o", "pan", "pan.c"], folder)
    return run(["./pan", f"-m{DEPTH_MAX}", "-w22"], folder)


def number_of(said: str, pattern: str) -> int:
    found = re.search(pattern, said)
    if found is None:
        raise Failure("pan says nothing: " + said.strip()[-400:])
    return int(found.group(1))


def errors(said: str) -> int:
    return number_of(said, r"errors: (\d+)")


def steps(folder: str, world: World, mutant: str | None) -> tuple[str, str]:
    """(name of the property that fails, the counterexample: a line for each step)."""
    trail = next((name for name in os.listdir(folder) if name.endswith(".trail")), None)
    if trail is None:
        raise Failure("pan has found an error, but wrote no trail")
    said = run(["spin", "-k", trail, "-t", *macros(world, mutant), MODEL], folder).split("#processes")[0]
    place = re.search(r"association\.pml:(\d+), Error: assertion violated", said)
    with open(MODEL, encoding="utf-8") as f:
        line = f.read().splitlines()[int(place.group(1)) - 1] if place else ""
    name = re.match(r"inline (\w+)\(", line)
    text = "\n".join("#   " + x.strip() for x in said.splitlines() if not x.startswith("spin: "))
    return name.group(1) if name else "no property: " + said.strip()[-200:], text


def judge_world(folder: str, world: World) -> str:
    said = verify(folder, world, None)
    if errors(said):
        raise Failure("{} fails:\n{}".format(*steps(folder, world, None)))
    for sign in ("max search depth too small", "out of memory", "Search not completed", "reached -DMEMLIM"):
        if sign in said:
            raise Failure(f"not the whole world was searched: {sign}")
    states, depth = number_of(said, r"(\d+) states, stored"), number_of(said, r"depth reached (\d+)")
    if states < world.states_min:
        raise Failure(f"{states} states are fewer than {world.states_min}: something cannot happen any more")
    return f"{states} states, depth {depth}"


def judge_mutant(folder: str, world: World, mutant: Mutant) -> str:
    said = verify(folder, world, mutant.name)
    if not errors(said):
        raise Failure("no property fails")
    name, text = steps(folder, world, mutant.name)
    if name != mutant.fails:
        raise Failure(f"{name} fails, not {mutant.fails}:\n{text}")
    return f"{name} fails:\n{text}"


def judge(world: World, mutant: Mutant | None, keep: str | None) -> str:
    name = mutant.name if mutant else world.name
    with tempfile.TemporaryDirectory(prefix="sluice-spin-") as folder:
        try:
            return judge_mutant(folder, world, mutant) if mutant else judge_world(folder, world)
        finally:
            if keep:
                shutil.copytree(folder, os.path.join(keep, name.replace(" ", "-")), dirs_exist_ok=True)


def main() -> None:
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--keep")
    args = parser.parse_args()
    for program in ("spin", "gcc"):
        if shutil.which(program) is None:
            print(f"skipped: {program} is not installed; run scripts/setup")
            sys.exit(77)
    named = {world.name: world for world in WORLDS}
    cases: list[tuple[str, World, Mutant | None]] = [
        (f"{w.name}: nothing fails", w, None) for w in WORLDS if args.all or not w.large]
    cases += [(f"{m.name}: something fails", named[m.world], m) for m in MUTANTS if args.all or m.always]
    cases = [case for case in cases if re.search(args.only, case[0])]
    report = tap.Report(len(cases))
    for what, world, mutant in cases:
        start = time.monotonic()
        try:
            note = judge(world, mutant, args.keep)
            report.ok(f"{what} ({time.monotonic() - start:.1f} s)", [f"#   {note}"])
        except (Failure, subprocess.TimeoutExpired) as problem:
            report.fail(f"{what} ({time.monotonic() - start:.1f} s)", [str(problem)])
    sys.exit(report.finish())


if __name__ == "__main__":
    main()
