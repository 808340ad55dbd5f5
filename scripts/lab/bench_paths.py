# SPDX-License-Identifier: BSD-3-Clause
"""Paths that nobody described to the hosts, in virtual time: what one flow makes of each, and two
(test/sim/streets_main.cc)."""
import os
import re

from .process import LabError, cpus

ROW = re.compile(r"(\S+)\s+([\d.]+)\s+([\d.]+)\s+([\d.]+)\s+([\d.]+)\s+([\d.]+)\s+([\d.]+)\s+"
                 r"([\d.]+)\s+(?:holds|NO)")
JAIN = 0.95


def options(parser):
    parser.add_argument("--only", default="", help="a pattern of names")


def run(lab, args, results):
    streets = lab.start("streets", [os.path.join(args.build, "test/sim/streets"), "--jobs",
                                    str(len(cpus())), "--only", args.only])
    if streets.wait(3600) not in (0, 1):
        raise LabError(streets.tail())
    text = streets.out()
    print(text)
    for line in text.splitlines():
        row = ROW.match(line)
        if row:
            name, values = row.group(1), [float(x) for x in row.groups()[1:]]
            results.add(f"{name}: used", values[0], "%", values[1], 1.0)
            results.add(f"{name}: mean queue", values[2], "packets", values[3], 1.0, at_most=True)
            results.add(f"{name}: two flows, used", values[4], "%")
            results.add(f"{name}: two flows, mean queue", values[5], "packets")
            results.add(f"{name}: two flows, Jain's index", values[6], "", bar=JAIN)
