#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""example_test.py PROGRAM SOURCE PAGE: does the program in doc/pacing.md run, and is it that one?"""
import re
import subprocess
import sys

SECONDS = 2
RATE_BPS, BURST_BYTES, FRAME_BYTES = 125000, 1514, 64

program, source, page = sys.argv[1:]
shown = re.search(r"```c\n(.*?)```", open(page, encoding="utf-8").read(), re.S).group(1)
if shown not in open(source, encoding="utf-8").read():
    sys.exit(f"{page} shows another function than {source} has")

# net_null: packets without end, all of them of one flow
run = subprocess.run([program, "--no-huge", "--no-shconf", "--no-pci", "--no-telemetry", "-m", "256",
                      "--lcores", "0", "--log-level", "error", "--vdev", "net_null0",
                      "--vdev", "net_null1", "--", str(SECONDS)],
                     stdout=subprocess.PIPE, text=True, timeout=50, check=True)
sent, left = map(int, re.fullmatch(r"(\d+) packets, (\d+) left\n", run.stdout).groups())
most = (RATE_BPS * SECONDS + 2 * BURST_BYTES) // FRAME_BYTES + 1
print(f"sent {sent} packets, at most {most} are allowed")
if not most // 4 < sent <= most or left > 0:
    sys.exit(f"wrong: {run.stdout}")
