# SPDX-License-Identifier: BSD-3-Clause
"""Paths in virtual time whose properties the hosts do not know. Each path carries one flow, then two
(test/sim/road/path_grid_main.cc). Virtual time has no noise, so each path is judged exactly. Losses, keys and
the length of trials come from a seed, so each path runs with several seeds. The first seed is a fresh one."""
import argparse
import os
import re
import secrets
from collections.abc import Iterable, Sequence

from .paired import Bar
from .results import Results, matching
from testbed.process import Testbed, TestbedError, cpus

ROW = re.compile(r"(\S+)\s+([\d.]+)\s+([\d.]+)\s+([\d.]+)\s+([\d.]+)\s+([\d.]+)\s+([\d.]+)\s+"
                 r"([\d.]+)\s+([\d.]+)\s+(?:holds|NO)")
JAIN = 0.95
JUDGED = ("used", "mean queue", "two flows, Jain's index")


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--only", default="", help="regular expression for the names of paths to run")
    parser.add_argument("--seed", type=int, default=0, help="the first seed; default: a fresh one")
    parser.add_argument("--seeds", type=int, default=2, help="number of consecutive seeds (2)")


def seeds_of(args: argparse.Namespace) -> range:
    """The first seed and those after it."""
    if args.seed < 0 or args.seeds < 1:
        raise TestbedError(f"--seed {args.seed} --seeds {args.seeds}: a seed must be above 0 (0 draws a fresh one), "
                           f"and --seeds 1 or more")
    first: int = args.seed or 1 + secrets.randbelow(2**30)
    return range(first, first + args.seeds)


def demand(results: Results, names: Sequence[str], only: str, seeds: Iterable[int]) -> None:
    """Three rows for each path and seed. names: those of all paths."""
    wanted = matching(only, names, "path")
    results.demand(*(f"{name}, seed {seed}: {row}" for seed in seeds for name in wanted for row in JUDGED))


def rows(results: Results, text: str, seed: int) -> None:
    """text: the output of path_grid."""
    for line in text.splitlines():
        row = ROW.match(line)
        if row is None:
            continue
        name, values = f"{row.group(1)}, seed {seed}", [float(x) for x in row.groups()[1:]]
        results.exact(f"{name}: used", values[0], "%", values[1])
        results.exact(f"{name}: mean queue", values[2], "packets", Bar(values[3], at_most=True))
        results.figure(f"{name}: two flows, used", values[4], "%")
        results.figure(f"{name}: two flows, mean queue", values[5], "packets")
        results.figure(f"{name}: two flows, Jain's index soon", values[6], "")
        results.exact(f"{name}: two flows, Jain's index", values[7], "", JAIN)


def run(testbed: Testbed, args: argparse.Namespace, results: Results) -> None:
    program = os.path.join(args.build, "test/sim/path_grid")
    seeds = seeds_of(args)
    demand(results, testbed.run("path-grid-list", [program, "--list"]).split(), args.only, seeds)
    for seed in seeds:
        grid = testbed.start(f"path-grid-{seed}", [program, "--jobs", str(len(cpus())), "--only", args.only,
                                                    "--seed", str(seed)])
        status = grid.wait(3600)
        print(grid.out())
        if status not in (0, 1):
            raise TestbedError(f"path_grid ended with status {status}\n{grid.tail()}")
        rows(results, grid.out(), seed)
