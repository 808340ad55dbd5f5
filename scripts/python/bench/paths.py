# SPDX-License-Identifier: BSD-3-Clause
"""Paths that nobody described to the hosts, in virtual time: what one flow makes of each, and two
(test/sim/road/path_grid_main.cc). Virtual time has no noise, so each path is judged exactly, but losses, keys
and the length of trials come from a seed: each path is run with several, and the first is a fresh one."""
import os
import re
import secrets

from testbed.process import TestbedError, cpus

ROW = re.compile(r"(\S+)\s+([\d.]+)\s+([\d.]+)\s+([\d.]+)\s+([\d.]+)\s+([\d.]+)\s+([\d.]+)\s+"
                 r"([\d.]+)\s+([\d.]+)\s+(?:holds|NO)")
JAIN = 0.95
JUDGED = ("used", "mean queue", "two flows, Jain's index")


def options(parser):
    parser.add_argument("--only", default="", help="a pattern of names")
    parser.add_argument("--seed", type=int, default=0, help="the first seed; a fresh one unless told")
    parser.add_argument("--seeds", type=int, default=2, help="so many, one after the other (2)")


def seeds_of(args):
    """The first and those after it."""
    if args.seed < 0 or args.seeds < 1:
        raise TestbedError(f"--seed {args.seed} --seeds {args.seeds}: a seed is above 0, and there is one at least")
    first = args.seed or 1 + secrets.randbelow(2**30)
    return range(first, first + args.seeds)


def demand(results, names, only, seeds):
    """Three rows of each path and seed. names: of all there are."""
    try:
        chosen = [n for n in names if re.search(only, n)]
    except re.error as problem:
        raise TestbedError(f"--only {only} is no regular expression: {problem}") from None
    if not chosen:
        raise TestbedError(f"no path matches --only {only}; names are such as {names[0]}")
    results.demand(*(f"{name}, seed {seed}: {what}" for seed in seeds for name in chosen for what in JUDGED))


def rows(results, text, seed):
    """Of what path_grid printed."""
    for line in text.splitlines():
        row = ROW.match(line)
        if row is None:
            continue
        name, values = f"{row.group(1)}, seed {seed}", [float(x) for x in row.groups()[1:]]
        results.exact(f"{name}: used", values[0], "%", values[1])
        results.exact(f"{name}: mean queue", values[2], "packets", values[3], at_most=True)
        results.figure(f"{name}: two flows, used", values[4], "%")
        results.figure(f"{name}: two flows, mean queue", values[5], "packets")
        results.figure(f"{name}: two flows, Jain's index soon", values[6], "")
        results.exact(f"{name}: two flows, Jain's index", values[7], "", JAIN)


def run(testbed, args, results):
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
