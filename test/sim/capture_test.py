#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The swarm's captures are what tshark reads: every host has its interface, every frame a time in
ns and a direction, Sluice's packets are dissected and none of what hosts say is malformed.

Usage: capture_test.py SWARM DISSECTOR      exit status 77: no tshark
"""
import os
import shutil
import subprocess
import sys
import tempfile

SEED = "6"
COLUMNS = ["frame.time_epoch", "frame.interface_name", "frame.packet_flags_direction",
           "sluice.type", "_ws.malformed"]


def main():
    if shutil.which("tshark") is None:
        return 77
    swarm, dissector = sys.argv[1:3]
    with tempfile.TemporaryDirectory() as scratch:
        path = os.path.join(scratch, "x.pcapng")
        subprocess.run([swarm, "--seed", SEED, "--pcap", path], check=True, stdout=subprocess.PIPE)
        command = ["tshark", "-X", f"lua_script:{dissector}", "-r", path, "-T", "fields",
                   "-E", "separator=;"]
        for column in COLUMNS:
            command += ["-e", column]
        out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    rows = [line.split(";") for line in out.splitlines()]
    times = [row[0] for row in rows]
    hosts = {row[1] for row in rows}
    directions = {row[2] for row in rows}
    dissected = sum(row[3] != "" for row in rows)
    faults = []
    if len(rows) < 500:
        faults.append(f"only {len(rows)} frames")
    if times != sorted(times, key=lambda t: [int(x) for x in t.split(".")]):
        faults.append("times go back")
    if not any(t.split(".")[1].rstrip("0")[8:] for t in times):
        faults.append("no time is finer than 10 ns")
    if hosts != {"host0", "host1"}:
        faults.append(f"interfaces {sorted(hosts)}")
    if len(directions) != 2 or "" in directions:
        faults.append(f"directions {sorted(directions)}")
    if dissected < len(rows) * 9 / 10:
        faults.append(f"{dissected} of {len(rows)} frames are Sluice's")
    if any(row[4] for row in rows):
        faults.append("malformed frames")
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
