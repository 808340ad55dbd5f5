#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Judges the output of the guest of scripts/test-nic.

Usage: nic_result.py NAME MB FILE   FILE: lines "KEY VALUE" of the guest; MB: the size of the file that was sent
"""
import json
import sys
from typing import Any

# Drivers differ in whether they count the padding of a short frame, the check sequence and headers of their own.
FRAME_SLACK_BYTES = 24

# Counters of frames that neither host sends.
DROPS = {f"drop_{x}" for x in ("short ip fragment udp vlan not_ours no_sum sum wire_short wire_version "
                               "wire_type wire_flags wire_field wire_length").split()}


class Bad(Exception):
    """The transfer did not go as it must."""


def read(path: str) -> dict[str, str]:
    found = {}
    with open(path, encoding="utf-8", errors="replace") as f:
        for line in f:
            key, _, value = line.strip().partition(" ")
            found[key] = value
    return found


def must(holds: bool, why: str) -> None:
    if not holds:
        raise Bad(why)


def port(found: dict[str, str], side: str) -> Any:
    return json.loads(found[f"ports_{side}"])["ports"][0]


def counts_agree(name: str, packets: int, size_bytes: int, queues: list[Any], way: str) -> None:
    """The driver counted the frames that the workers handled. Both workers count the bytes of a frame that one
    hands over to the other."""
    frames, frame_bytes = (sum(q[f"{way}_frames"] for q in queues), sum(q["host"][f"{way}_bytes"] for q in queues))
    foreign = sum(q["host"].get("rx_foreign", 0) for q in queues)
    must(packets == frames, f"{name}: the driver counted {packets} frames, the workers {frames}")
    must(foreign > 0 or abs(size_bytes - frame_bytes) <= packets * FRAME_SLACK_BYTES,
         f"{name}: the driver counted {size_bytes} bytes, the workers {frame_bytes}")


def check_ports(found: dict[str, str]) -> Any:
    a, b = port(found, "a"), port(found, "b")
    for name, p in (("a", a), ("b", b)):
        queues = p["workers"]
        must(p["link"] == "up", f"port {name}: link {p['link']} after the transfer")
        must(p["rx_errors"] == p["tx_errors"] == 0, f"port {name}: errors {p}")
        for way in ("rx", "tx"):
            counts_agree(f"port {name}, {way}", p[f"{way}_packets"], p[f"{way}_bytes"], queues, way)
        bad = {k: v for q in queues for k, v in q["host"].items() if v and k in DROPS}
        must(not bad, f"port {name}: it dropped frames that neither host sends: {bad}")
    for one, other in ((a, b), (b, a)):
        lost = one["tx_packets"] - other["rx_packets"] - other["rx_missed"]
        must(lost >= 0, f"{other['name']} received {-lost} frames more than were sent")
    return a


def judge(found: dict[str, str], size_mb: int) -> Any:
    must("failed" not in found, f"the guest says: {found.get('failed')}")
    must("booted" in found, "the guest did not boot")
    must("end" in found, f"the guest ended early, after: {', '.join(found)}")
    must(found["send"].startswith("0 "), f"sluice send: {found['send']}")
    must(found["recv"].startswith("0 "), f"sluice recv: {found['recv']}")
    must(json.loads(found["recv"][2:])["bytes"] == size_mb << 20, f"sluice recv: {found['recv']}")
    must(len(found["sent_sha256"]) == 64 and found["sent_sha256"] == found["received_sha256"],
         "the received file differs from the sent one")
    for side in "ab":
        must(found[f"exit_{side}"] == "0", f"daemon {side} ended with {found[f'exit_{side}']}")
    return check_ports(found)


def main() -> int:
    name, size_mb, path = sys.argv[1:]
    try:
        found = read(path)
        p = judge(found, int(size_mb))
    except (Bad, OSError, KeyError, IndexError, ValueError) as problem:
        what = str(problem) if isinstance(problem, Bad) else f"cannot be judged: {problem!r}"
        print(f"{name}: {what}", file=sys.stderr)
        return 1
    sent = json.loads(found["send"][2:])
    print(f"{name}: {size_mb} MB through {p['driver']}, {p['queues']} queue(s), hash equal; checksums: {p['checksum']}, payload "
          f"{p['payload']}, {sent['goodput_bps'] / 1e6:.0f} Mbit/s, {sent['repeats']} of "
          f"{sent['packets']} units repeated")
    return 0


if __name__ == "__main__":
    sys.exit(main())
