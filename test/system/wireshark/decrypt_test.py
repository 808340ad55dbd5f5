#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks how tshark decrypts sealed packets with config/wireshark/sluice.lua and a key log.

Packets are sealed by the second implementation of the protocol (test/interop), under each cipher. With the right
keys, all fields must be those of the same packets in plain; with wrong keys or changed packets, nothing may be
decrypted. The ciphers themselves run through published vectors, in the Lua of tshark and in Lua 5.3.
Exit status 0: right, 1: wrong, 77: tshark, its Lua, or python3-cryptography is missing.
"""
import os
import re
import shutil
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple
from xml.etree.ElementTree import Element

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, folder) for folder in ("../..", "../../interop", "../../../scripts/python")]
import association  # noqa: E402 (after the path is set)
from system.wireshark.dissector_test import (PORT, SCRIPT, SEALABLE, build, dissect, expect, frame,  # noqa: E402
                                             judged, pcap_write, sluice_of)
from testbed import tshark  # noqa: E402

CIPHERS = (("AES-128-GCM", 16), ("AES-256-GCM", 32), ("ChaCha20-Poly1305", 32))
VECTORS = os.path.join(HERE, "ciphers_test.lua")
MODULE = os.path.join(os.path.dirname(SCRIPT), "sluice_ciphers.lua")
ADDRESSES = {"v4": ("10.0.0.1", "10.0.0.2"), "v6": ("fd00::1", "fd00::2"), "vlan": ("10.0.0.1", "10.0.0.2")}
LENGTHS = (0, 1, 15, 16, 17, 63, 64, 65, 1400, 8900)  # of payloads
# What a sealed packet has besides, or in place of, the fields of a plain one.
SEALED = re.compile(r"sluice\.(association|trailer.*|data\.encrypted)$")


class Sealed(NamedTuple):
    """A packet in plain and as it was sealed, both in frames."""
    kind: str
    plain: bytes
    sealed: bytes
    log: str  # the line of its key


def log_line(number: int, cipher: int, key: bytes, role: str = "initiator", direction: str = "sent") -> str:
    name, size = CIPHERS[cipher]
    return f"KEY 2026-11-28T10:15:30.123Z {number:08x} {name} {role} {direction} {key[:size].hex()}\n"


def address(text: str) -> bytes:
    return (socket.inet_pton(socket.AF_INET6, text) if ":" in text else
            bytes(10) + b"\xff\xff" + socket.inet_aton(text))


def seal(kind: str, cipher: int, family: str, number: int, payload: bytes | None = None) -> Sealed:
    """A packet of this type under a new association, from the first address to the second."""
    key = os.urandom(32)
    source, destination = ADDRESSES[family]
    ends = association.Ends(address(source), address(destination), 40000, PORT)
    sealer = association.Association(1, number, cipher, key, key, True, part=3)
    plain = build(kind) if payload is None else build(
        kind, change={"unit": 0, "request_len": len(payload), "unit_bytes": 9000}, payload=payload)
    return Sealed(kind, frame(plain, family), frame(sealer.seal(plain, ends), family), log_line(number, cipher, key))


def packets() -> list[Sealed]:
    made: list[Sealed] = []
    for cipher in range(len(CIPHERS)):
        for family in ADDRESSES:
            made += [seal(kind, cipher, family, 0xa0000000 + len(made) + i) for i, kind in enumerate(SEALABLE)]
        made += [seal("data", cipher, "v4", 0xb0000000 + len(made) + i, os.urandom(n)) for i, n in enumerate(LENGTHS)]
    return made


def log_write(folder: str, lines: Sequence[str], name: str = "keys.log") -> str:
    path = os.path.join(folder, name)
    with open(path, "w", encoding="ascii") as f:
        f.write("# Sluice key log, version 1: anyone with this file can read the packets\n" + "".join(lines))
    return path


def looked(folder: str, frames: list[bytes], key_log: str | None, *args: str) -> list[Element]:
    """The frames, dissected with this key log."""
    path = os.path.join(folder, "frames.pcap")
    pcap_write(path, frames)
    found = dissect(path, *args, key_log=key_log)
    expect(len(found) == len(frames), f"{len(found)} packets of {len(frames)}")
    return found


def values(packet: Element, name: str) -> list[str | None]:
    _, fields = sluice_of(packet)
    return [f.get("show") for f in fields if f.get("name") == name]


def plain_fields(packet: Element) -> Counter[tuple[str | None, str | None]]:
    """What a packet shows, without what only sealed ones have."""
    _, fields = sluice_of(packet)
    return Counter((f.get("name"), f.get("show")) for f in fields if not SEALED.match(f.attrib["name"]))


def right_run(folder: str) -> int:
    """With the right keys all fields are those of the plain packets; returns the number of packets."""
    made = packets()
    noise = ["garbage\n", "KEY x\n", "KEY 2026-11-28T10:15:30.123Z a1b2c3d4 AES-128-GCM initiator sent 0011\n",
             "KEY 2026-11-28T10:15:30.123Z a0000001 ROT13 initiator sent 00\n", "\n", "KEY 2026-11-28T10:1\n"]
    log = log_write(folder, noise + [m.log for m in made] + [m.log for m in made])  # of both hosts
    plain = looked(folder, [m.plain for m in made], None)
    for args in ((), ("-2",)):
        for m, want, got in zip(made, plain, looked(folder, [m.sealed for m in made], log, *args)):
            expect(values(got, "sluice.trailer.tag_right") in (["1"], ["True"]), f"{m.kind}, {m.log}: the tag")
            differ = plain_fields(want) - plain_fields(got), plain_fields(got) - plain_fields(want)
            expect(not any(differ), f"{m.kind}, {m.log}: {str(differ)[:400]}")
            expect(values(got, "sluice.data.payload") == values(want, "sluice.data.payload"), f"{m.log}: the payload")
    return len(made)


def nothing_decrypted(packet: Element, what: str, remark: str) -> None:
    """Of this packet nothing may be decrypted, and it carries this remark."""
    _, fields = sluice_of(packet)
    names = {f.get("name") for f in fields}
    expect("sluice.data.payload" not in names, f"{what}: a payload is shown")
    expect("sluice." + remark in names, f"{what}: no {remark} in {names}")
    for other in {"wrong_key", "no_key"} - {remark}:
        expect("sluice." + other not in names, f"{what}: {other}")
    right = values(packet, "sluice.trailer.tag_right")
    expect(right in ((["0"], ["False"]) if remark == "wrong_key" else ([],)), f"{what}: the tag is called {right}")


def wrong_run(folder: str) -> None:
    """Wrong keys, changed packets, and keys that are missing."""
    made = [seal(kind, cipher, family, 0xc0000000 + 16 * cipher + i) for cipher in range(len(CIPHERS))
            for i, (kind, family) in enumerate((k, f) for k in SEALABLE for f in ("v4", "v6"))]
    others = [log_line(int(m.log.split()[2], 16), i // 6, os.urandom(32)) for i, m in enumerate(made)]
    for m, got in zip(made, looked(folder, [m.sealed for m in made], log_write(folder, others))):
        nothing_decrypted(got, f"{m.kind} under another key", "wrong_key")
    # A second association of the same number: the tag decides which key is right.
    both = log_write(folder, [line for pair in zip(others, [m.log for m in made]) for line in pair])
    for m, got in zip(made, looked(folder, [m.sealed for m in made], both)):
        expect(values(got, "sluice.trailer.tag_right") in (["1"], ["True"]), f"{m.kind}: two keys of a number")
    right = log_write(folder, [m.log for m in made])
    for at in (-1, -9, -24, -30):  # the tag, its end, the number, the last bytes of the packet
        frames = [m.sealed[:at] + bytes([m.sealed[at] ^ 1]) + m.sealed[at:][1:] for m in made]
        for m, got in zip(made, looked(folder, frames, right)):
            nothing_decrypted(got, f"{m.kind}, byte {at} changed", "wrong_key")
    for log in (log_write(folder, [made[0].log]), os.path.join(folder, "nowhere")):
        if not os.path.exists(log) and os.geteuid() == 0:
            continue  # tshark.run() cannot copy it
        for m, got in list(zip(made, looked(folder, [m.sealed for m in made], log)))[1:]:
            nothing_decrypted(got, f"{m.kind} without a key", "no_key")
    addresses_run(folder)


def addresses_run(folder: str) -> None:
    """Addresses and ports are under the tags of FIRST and CNTL; what routers write is not."""
    for kind in ("first", "cntl"):
        m = seal(kind, 0, "v4", 0xd0000001)
        log = log_write(folder, [m.log])
        moved = m.sealed[:26] + socket.inet_aton("10.0.0.3") + m.sealed[30:]
        nothing_decrypted(looked(folder, [moved], log)[0], f"{kind} from another address", "wrong_key")
        hop = 14 + 20 + 8 + 160  # what routers may write in CNTL; of FIRST it is padding
        written = m.sealed[:hop] + bytes([m.sealed[hop] ^ 1]) + m.sealed[hop + 1:]
        got = looked(folder, [written], log)[0]
        if kind == "first":
            nothing_decrypted(got, "FIRST, padding changed", "wrong_key")
        else:
            expect(values(got, "sluice.trailer.tag_right") in (["1"], ["True"]), "CNTL that a router wrote to")


def asked_run(folder: str) -> None:
    """Filters and columns find what is decrypted, and what is cut short, or not asked for, is not judged."""
    made = [seal("data", cipher, "v4", 0xe0000000 + cipher, b"needle in a haystack") for cipher in range(len(CIPHERS))]
    log, path = log_write(folder, [m.log for m in made]), os.path.join(folder, "asked.pcap")
    pcap_write(path, [m.sealed for m in made])
    for args in (("-Y", 'sluice.data.payload contains "needle"'), ("-Y", "sluice.trailer.tag_right == 1"),
                 ("-T", "fields", "-e", "sluice.data.payload")):
        done = tshark.run(SCRIPT, path, *args, key_log=log)
        expect(len(done.stdout.split("\n")) == len(made) + 1 and done.stdout.split("\n")[0] != "",
               f"{args}: {done.stdout}{done.stderr}")
    pcap_write(path, [m.sealed for m in made], [len(m.sealed) - 1 for m in made])
    for packet in dissect(path, key_log=log):
        _, fields = sluice_of(packet)
        found = {f.get("name") for f in fields} & {"sluice.trailer.tag_right", "sluice.wrong_key", "sluice.data.payload"}
        expect(not found, f"a capture without the last byte has {found}")


def live_run(folder: str) -> None:
    """Keys that come while tshark runs are found; one that is cut is taken once its line is whole."""
    one, two = (seal("data", cipher, "v4", 0xf0000001 + cipher) for cipher in range(2))
    path = os.path.join(folder, "live.pcap")
    pcap_write(path, [one.sealed, one.sealed, two.sealed])
    with open(path, "rb") as f:
        data = f.read()
    head, record = 24, 16 + len(one.sealed)
    columns = ("-T", "fields", "-e", "sluice.association", "-e", "sluice.trailer.tag_right", "-e", "sluice.no_key")
    with tshark.live(SCRIPT, log_write(folder, []), *columns) as (process, log):
        assert process.stdin is not None and process.stdout is not None
        for begin, end, line, want in ((0, head + record, one.log[:-9], ["0xf0000001", "", "1"]),
                                       (head + record, head + 2 * record, one.log[-9:], ["0xf0000001", "1", ""]),
                                       (head + 2 * record, len(data), two.log, ["0xf0000002", "1", ""])):
            with open(log, "a", encoding="ascii") as f:
                f.write(line)
            process.stdin.write(data[begin:end])
            process.stdin.flush()
            said = process.stdout.readline().decode().rstrip("\n").replace("True", "1").split("\t")
            expect(said == want, f"live, with {line[-20:]!r} more in the log: {said}")


def alone_run(folder: str) -> None:
    """Without sluice_ciphers.lua beside it, the dissector says what is missing, and shows the rest."""
    alone = os.path.join(folder, "alone")
    os.mkdir(alone)
    script, m = shutil.copy(SCRIPT, alone), seal("data", 0, "v4", 7)
    path = os.path.join(folder, "alone.pcap")
    pcap_write(path, [m.sealed])
    done = tshark.run(script, path, "-V", key_log=log_write(folder, [m.log]))
    expect("sluice_ciphers.lua is missing" in done.stdout and "Unit size (bytes)" in done.stdout,
           f"{done.stdout[-1500:]}{done.stderr}")


def vectors_run(folder: str) -> int:
    """Runs the published vectors in each Lua there is; returns the number of vectors."""
    beside, path = os.path.join(folder, "vectors"), os.path.join(folder, "vectors.pcap")
    os.mkdir(beside)
    for file in (MODULE, VECTORS):
        shutil.copy(file, beside)
    pcap_write(path, [])
    said = {"tshark": tshark.run(os.path.join(beside, os.path.basename(VECTORS)), path).stdout}
    lua = shutil.which("lua5.3")
    if lua is not None:
        said["Lua 5.3"] = subprocess.run([lua, os.path.basename(VECTORS)], cwd=beside, capture_output=True, text=True,
                                         timeout=60, check=False).stdout
    counts = set()
    for where, text in said.items():
        told = re.fullmatch(r"(\d+) vectors right\n", text)
        expect(told is not None, f"{where}: {text[:2000]}")
        assert told is not None
        counts.add(int(told[1]))
    expect(len(counts) == 1 and min(counts) > 300, f"{counts} vectors")
    return counts.pop()


def all_run(folder: str) -> str:
    vectors, made = vectors_run(folder), right_run(folder)
    wrong_run(folder)
    asked_run(folder)
    live_run(folder)
    alone_run(folder)
    return f"{vectors} vectors; {made} sealed packets show the fields of plain ones; wrong keys show none"


def main() -> int:
    if association.LACK is not None:
        print(f"skipped: {association.LACK}")
        return 77
    return judged(all_run)


if __name__ == "__main__":
    sys.exit(main())
