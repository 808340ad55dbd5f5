#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests of what sluice-lab keeps in its folders and makes of it, and of the mistakes of users around that.

Usage: results_test.py SLUICE-LAB SOURCE_ROOT [REGEX]      TAP on standard output; REGEX: selects checks by name
"""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import common  # noqa: E402
from common import Check, lab, need, read, small  # noqa: E402


def check_old_figures(folder: str) -> None:
    """A report has no figure of other rows than those that it judges."""
    path = small(folder, lambda t: t.replace("10\n\n[figure", "1000\n\n[figure"))
    for again in (("run", path, "--set", "rate=77", "--no-figures"), ("sweep", path)):
        need(lab("run", path, "--out", folder).returncode == 0, "run")
        need({"rate.png", "rate.svg"} <= set(os.listdir(os.path.join(folder, "small"))), "no figures")
        done = lab(*again, "--out", folder)
        need(done.returncode in (0, 3), done.stderr)
        need(not [f for f in os.listdir(os.path.join(folder, "small")) if f.startswith("rate.")], "figures are left")
        need(lab("report", "--out", folder).returncode in (0, 3), "report")
        need("<img" not in read(folder, "report.html"), "the report has a figure of other rows")


def main() -> int:
    checks: dict[str, Check] = {f.__name__[6:].replace("_", " "): f for f in
                                (check_old_figures,)}
    return common.run(checks)


if __name__ == "__main__":
    sys.exit(main())
