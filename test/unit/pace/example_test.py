#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""example_test.py PROGRAM SOURCE PAGE: the program in doc/pacing.md is the one that is compiled, and it runs."""
import re
import subprocess
import sys

SECONDS = 2
RATE_BPS, BURST_BYTES, FRAME_BYTES = 125000, 1514, 64

program, source, page = sys.argv[1:]
found = re.search(r"```c\n(.*?)```", open(page, encoding="utf-8").read(), re.S)
if found is None:
    sys.exit(f"{page} shows no C")
if found.group(1) not in open(source, encoding="utf-8").read():
    sys.exit(f"{page} shows another function than {source} has")

# net_null receives packets without end, all of one flow.
run = subprocess.run([program, "--no-huge", "--no-shconf", "--no-pci", "--no-telemetry", "-m", "256",
                      "--lcores", "0", "--log-level", "error", "--vdev", "net_null0",
                      "--vdev", "net_null1", "--", str(SECONDS)],
                     stdout=subprocess.PIPE, text=True, timeout=50, check=True)
said = re.fullmatch(r"(\d+) packets, (\d+) left\n", run.stdout)
if said is None:
    sys.exit(f"wrong: {run.stdout}")
sent, left = int(said.group(1)), int(said.group(2))
allowed = (RATE_BPS * SECONDS + 2 * BURST_BYTES) // FRAME_BYTES + 1
print(f"sent {sent} packets, at most {allowed} are allowed")
if not allowed // 4 < sent <= allowed or left > 0:
    sys.exit(f"wrong: {run.stdout}")
