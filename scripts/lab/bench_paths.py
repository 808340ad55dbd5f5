# SPDX-License-Identifier: BSD-3-Clause
"""Paths that nobody described to the hosts, in virtual time: what one flow makes of each, and two
(test/sim/streets_main.cc). Virtual time has no noise, so each path is run once and judged exactly."""
import os
import re

from .process import LabError, cpus

ROW = re.compile(r"(\S+)\s+([\d.]+)\s+([\d.]+)\s+([\d.]+)\s+([\d.]+)\s+([\d.]+)\s+([\d.]+)\s+"
                 r"([\d.]+)\s+(?:holds|NO)")
JAIN = 0.95
JUDGED = ("used", "mean queue", "two flows, Jain's index")


def options(parser):
    parser.add_argument("--only", default="", help="a pattern of names")


def demand(results, names, only):
    """Three rows of each path. names: of all there are."""
    try:
        chosen = [n for n in names if re.search(only, n)]
    except re.error as problem:
        raise LabError(f"--only {only} is no regular expression: {problem}") from None
    if not chosen:
        raise LabError(f"no path matches --only {only}; names are such as {names[0]}")
    results.demand(*(f"{name}: {what}" for name in chosen for what in JUDGED))


def rows(results, text):
    """Of what streets printed."""
    for line in text.splitlines():
        row = ROW.match(line)
        if row is None:
            continue
        name, values = row.group(1), [float(x) for x in row.groups()[1:]]
        results.exact(f"{name}: used", values[0], "%", values[1])
        results.exact(f"{name}: mean queue", values[2], "packets", values[3], at_most=True)
        results.figure(f"{name}: two flows, used", values[4], "%")
        results.figure(f"{name}: two flows, mean queue", values[5], "packets")
        results.exact(f"{name}: two flows, Jain's index", values[6], "", JAIN)


def run(lab, args, results):
    program = os.path.join(args.build, "test/sim/streets")
    demand(results, lab.run("streets-list", [program, "--list"]).split(), args.only)
    streets = lab.start("streets", [program, "--jobs", str(len(cpus())), "--only", args.only])
    status = streets.wait(3600)
    print(streets.out())
    if status not in (0, 1):
        raise LabError(f"streets ended with status {status}\n{streets.tail()}")
    rows(results, streets.out())
