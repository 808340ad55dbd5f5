#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests of what sluice-lab's engine measures in worlds, where the result is known, and of its messages.

Usage: world_test.py SLUICE-LAB SOURCE_ROOT [REGEX]      TAP on standard output; REGEX: selects checks by name
"""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import common  # noqa: E402
from common import Check, lab, need, rows, small  # noqa: E402


def check_from_behind_the_last_sample(folder: str) -> None:
    """Observation begins at `from`, also where no sample follows."""
    path = small(folder, lambda t: t.replace("from = 1s", "from = 1.5s\nsample = 10s"))
    done = lab("run", path, "--out", folder, "--no-figures")
    need(done.returncode == 0, done.stdout + done.stderr)
    need(all(r["values"]["throughput.bulk"] <= 1e6 * float(r["set"]["rate"]) for r in rows(folder, "small")),
         [r["values"]["throughput.bulk"] for r in rows(folder, "small")])


def main() -> int:
    checks: dict[str, Check] = {f.__name__[6:].replace("_", " "): f for f in
                                (check_from_behind_the_last_sample,)}
    return common.run(checks)


if __name__ == "__main__":
    sys.exit(main())
