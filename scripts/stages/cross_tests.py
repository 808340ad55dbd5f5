#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Lists the unit and simulation tests of a cross-build, and which of them an emulated processor can run.

Usage: cross_tests.py BUILD   BUILD: a build folder that meson has configured

A line for each: "KIND<TAB>NAME<TAB>TARGET". KIND: unit or sim, a program of the build, which ninja knows as TARGET;
script, which is for this machine; scale, left out because it needs too long under emulation. The suite swarm is not
among them.
"""
import json
import os
import sys

ELSEWHERE = {"house", "lab", "fuzz", "system", "swarm"}
SCALE = {"paths"}


def main() -> None:
    build = os.path.abspath(sys.argv[1])
    with open(os.path.join(build, "meson-info/intro-tests.json"), encoding="utf-8") as f:
        tests = json.load(f)
    for test in tests:
        suites = {suite.rpartition(":")[2] for suite in test["suite"]}
        program = test["cmd"][0]
        target = os.path.relpath(program, build) if program.startswith(build + os.sep) else ""
        if suites & ELSEWHERE:
            continue
        if suites & SCALE:
            kind, target = "scale", ""
        elif not target:
            kind = "script"
        else:
            kind = "sim" if "sim" in suites else "unit"
        print(kind, test["name"], target, sep="\t")


if __name__ == "__main__":
    main()
