#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests of what sluice-lab keeps in its folders and makes of it, and of the mistakes of users around that.

Usage: results_test.py SLUICE-LAB SOURCE_ROOT [REGEX]      TAP on standard output; REGEX: selects checks by name
"""
import os
import re
import sys
from collections.abc import Callable

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


def check_other_shards(folder: str) -> None:
    """merge does not mix runs of other texts, or files of other numbers of shards."""
    def shard(i: str, change: Callable[[str], str] = lambda text: text) -> None:
        done = lab("sweep", small(folder, change), "--out", folder, "--shard", i)
        need(done.returncode == 0, done.stderr)

    def merged(status: int, why: str) -> None:
        done = lab("merge", folder, "--out", os.path.join(folder, "whole"), "--no-figures")
        need(done.returncode == status and re.search(why, done.stderr), f"{why}: {done.returncode}: {done.stderr}")
        need(status == 0 or len(done.stderr.splitlines()) == 1, done.stderr)

    shard("0/2")
    shard("1/2", lambda t: t.replace("delay 1ms", "delay 150ms"))
    merged(2, "rows-1-of-2.jsonl: belongs to another sweep than .*rows-0-of-2.jsonl, or the experiment")
    shard("1/2", lambda t: t.replace("What the path", "All that the path"))
    merged(0, "written")
    shard("1/3")
    merged(2, "rows-1-of-3.jsonl: has run 1, and so has .*rows-1-of-2.jsonl, of another number of shards; remove")
    os.remove(os.path.join(folder, "small", "rows-1-of-3.jsonl"))
    small(folder, lambda t: t.replace("delay 1ms", "delay 150ms"))
    merged(2, "small.conf: its runs have changed since the shards were run; ")


def main() -> int:
    checks: dict[str, Check] = {f.__name__[6:].replace("_", " "): f for f in
                                (check_old_figures, check_other_shards)}
    return common.run(checks)


if __name__ == "__main__":
    sys.exit(main())
