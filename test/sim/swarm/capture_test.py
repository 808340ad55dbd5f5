#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""tshark reads the swarm's captures: each host has an interface, each frame a time in ns and a direction.
Sluice's packets are dissected; none that a host sends is malformed. In worlds that lose frames, the dissector
marks each unit that was sent again, each CNTL that names missing units, each CNTL that changes the grant, and
no other packet. Where packets have 64 kB, their units are there to the last byte.

Usage: capture_test.py SWARM DISSECTOR      exit status 77: no tshark
"""
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../scripts/python"))
from testbed import tshark  # noqa: E402 (after the path is set)

CALM_SEED = "6"
LOSSY_SEEDS = ("7", "21")
LONG_SEED = "50"  # its MTU is 65535
CALM_COLUMNS = ["frame.time_epoch", "frame.interface_name", "frame.packet_flags_direction",
                "sluice.type", "_ws.malformed"]
OUTBOUND = "0x00000002"
REMARKS = ("sluice.retransmission", "sluice.nak", "sluice.grant_change")
LOSSY_COLUMNS = ["frame.packet_flags_direction", "sluice.type", "sluice.flags.repeat",
                 "sluice.cntl.span_count", "ip.src", "sluice.cntl.own_key", "sluice.cntl.seq",
                 "sluice.cntl.rate", "sluice.cntl.burst", "_ws.malformed", "_ws.expert.severity",
                 *REMARKS]
ERROR = str(0x00800000)
DATA, CNTL = "2", "3"
HEADERS = 14 + 20 + 8 + 56  # of a DATA packet over IPv4


def read(swarm: str, dissector: str, seed: str, columns: list[str]) -> tuple[str, list[list[str]]]:
    """(output of the swarm, rows of columns)"""
    with tempfile.TemporaryDirectory() as scratch:
        path = os.path.join(scratch, "x.pcapng")
        said = subprocess.run([swarm, "--seed", seed, "--pcap", path], check=True, text=True,
                              stdout=subprocess.PIPE).stdout
        wanted = [word for column in columns for word in ("-e", column)]
        done = tshark.run(dissector, path, "-T", "fields", "-E", "separator=;", *wanted)
        if done.returncode != 0:
            sys.exit(f"tshark: {done.stderr}")
    return said, [line.split(";") for line in done.stdout.splitlines()]


def calm(swarm: str, dissector: str) -> Iterator[str]:
    """Faults of a capture in a world without losses."""
    rows = read(swarm, dissector, CALM_SEED, CALM_COLUMNS)[1]
    times = [row[0] for row in rows]
    hosts = {row[1] for row in rows}
    directions = {row[2] for row in rows}
    dissected = sum(row[3] != "" for row in rows)
    if len(rows) < 500:
        yield f"only {len(rows)} frames"
    if times != sorted(times, key=lambda t: [int(x) for x in t.split(".")]):
        yield "times go back"
    if not any(t.split(".")[1].rstrip("0")[8:] for t in times):
        yield "no time is finer than 10 ns"
    if hosts != {"host0", "host1"}:
        yield f"interfaces {sorted(hosts)}"
    if len(directions) != 2 or "" in directions:
        yield f"directions {sorted(directions)}"
    if dissected < len(rows) * 9 / 10:
        yield f"{dissected} of {len(rows)} frames are Sluice's"
    if any(row[4] for row in rows):
        yield "malformed frames"


def longest(swarm: str, dissector: str) -> Iterator[str]:
    """Faults of a capture in a world whose packets are the longest that there are."""
    rows = read(swarm, dissector, LONG_SEED, ["frame.len", "sluice.type", "sluice.data.payload", "_ws.malformed",
                                              "sluice.bad_field", "sluice.bad_length"])[1]
    units = [row for row in rows if row[1] == DATA and int(row[0]) > 65000]
    if len(units) < 100:
        yield f"only {len(units)} packets of more than 65000 bytes"
    if any(len(row[2]) // 2 != int(row[0]) - HEADERS for row in units):
        yield "payload of a unit that is not whole"
    if any(row[3] or row[4] or row[5] for row in rows):
        yield "malformed or wrong packets"


def grant_changes(rows: list[dict[str, str]]) -> set[int]:
    """Rows of CNTL packets that grant something else than the newest before them."""
    newest: dict[tuple[str, str], tuple[int, tuple[str, str]]] = {}
    changed = set()
    for i, row in enumerate(rows):
        if row["sluice.type"] != CNTL or ERROR in row["_ws.expert.severity"].split(","):
            continue
        speaker = (row["ip.src"], row["sluice.cntl.own_key"])
        seq, grant = int(row["sluice.cntl.seq"]), (row["sluice.cntl.rate"], row["sluice.cntl.burst"])
        if speaker in newest:
            old_seq, old = newest[speaker]
            if not 0 < (seq - old_seq) % 2**32 < 2**31:
                continue
            if grant != old:
                changed.add(i)
        newest[speaker] = (seq, grant)
    return changed


def lossy(swarm: str, dissector: str, seed: str) -> Iterator[str]:
    """Faults of a capture in a world that loses frames."""
    said, lines = read(swarm, dissector, seed, LOSSY_COLUMNS)
    rows = [dict(zip(LOSSY_COLUMNS, line)) for line in lines]
    sent = [row for row in rows if row["frame.packet_flags_direction"] == OUTBOUND]
    total = re.search(r"(\d+) of them repeated", said)
    assert total is not None, said
    repeats = int(total.group(1))
    found = sum(row["sluice.retransmission"] != "" for row in sent)
    if repeats < 100 or found != repeats:
        yield f"{found} units flagged as sent again; the senders repeated {repeats}"
    for row in sent:
        if (row["sluice.retransmission"] != "") != (row["sluice.flags.repeat"] in ("1", "True")):
            yield f"retransmission: {row}"
        if (row["sluice.nak"] != "") != (row["sluice.cntl.span_count"] not in ("", "0")):
            yield f"missing units: {row}"
        if row["_ws.malformed"] or ERROR in row["_ws.expert.severity"].split(","):
            yield f"a host sent something malformed: {row}"
    if sum(row["sluice.nak"] != "" for row in sent) < 10:
        yield "few CNTL name missing units"
    changes = {i for i, row in enumerate(rows) if row["sluice.grant_change"] != ""}
    if len(changes) < 10 or changes != grant_changes(rows):
        yield (f"{len(changes)} rows are marked as changes of the grant; wrong in rows "
               f"{sorted(changes ^ grant_changes(rows))[:10]}")


def main() -> int:
    if not tshark.there():
        return 77
    swarm, dissector = sys.argv[1:3]
    faults = list(calm(swarm, dissector))
    for seed in LOSSY_SEEDS:
        faults += [f"seed {seed}: {fault}" for fault in lossy(swarm, dissector, seed)]
    faults += [f"seed {LONG_SEED}: {fault}" for fault in longest(swarm, dissector)]
    for fault in faults[:40]:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
