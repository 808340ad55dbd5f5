#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks how tshark dissects packets of every type with config/wireshark/sluice.lua.

Good packets: every byte belongs to a named field, every field has the value that was put in, and tshark
calls nothing malformed. Bad packets: each carries the expert item that is named after its verdict.
Exit status 0: right, 1: wrong, 77: tshark is missing or runs no Lua scripts.
"""

import os
import re
import socket
import struct
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterator
from typing import NamedTuple

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../scripts/python"))
from testbed import tshark  # noqa: E402 (after the path is set)

PORT = 47800
SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "config",
                      "wireshark", "sluice.lua")
FLAGS = ["sreq", "dreq", "wclose", "rclose", "end", "pack", "early", "repeat"]
KEY = 0x0102030405060708

Body = list[tuple[str | None, int, int]]  # name (None: reserved), bytes, value; in the order of doc/protocol.md
Change = dict[str, int]


class Type(NamedTuple):
    """A packet type: its number, its body, the flags that it may carry, and those that it must."""
    number: int
    body: Body
    allowed: int
    must: int


FIRST: Body = [("initial_request", 4, 0x11121314), ("unit_max", 4, 9000), ("service", 2, 47801),
               ("capabilities", 2, 1), ("ahead", 4, 4), ("rate_req", 8, 125000000),
               ("burst_req", 8, 65536), ("time", 8, 0x2122232425262728),
               ("cookie", 8, 0x3132333435363738), ("silence", 4, 3000),
               ("answer_request", 4, 0x41424344), ("padding", 120, 0)]
DATA: Body = [("packet", 8, 0x1112131415161718), ("time", 8, 0x2122232425262728),
              ("request", 4, 0x31323334), ("unit", 4, 2), ("request_len", 8, 20000),
              ("unit_bytes", 4, 8192), ("cntl_seen", 4, 0x41424344)]
CNTL: Body = [("own_key", 8, 0x1112131415161718), ("seq", 4, 0x21222324), ("cntl_seen", 4, 0x25262728),
              ("rate", 8, 125000000), ("burst", 4, 65536), ("reason", 2, 0x0203),
              ("occupancy", 1, 0x80), ("refused_count", 1, 1), ("peak", 8, 4000000000),
              ("ack", 8, 0x3132333435363738), ("posted", 4, 0x41424344),
              ("close_request", 4, 0x45464748), ("sent", 8, 0x5152535455565758),
              ("backlog", 8, 0x6162636465666768), ("received", 8, 0x7172737475767778),
              ("time", 8, 0x8182838485868788), ("echo", 8, 0x9192939495969798),
              ("echo_held", 4, 0xa1a2a3a4), ("unit_max", 4, 9000), ("initial_request", 4, 0xb1b2b3b4),
              ("capabilities", 2, 1), ("end", 2, 3), ("ecn_ce", 4, 0xc1c2c3c4),
              ("ecn_ect", 4, 0xc5c6c7c8), ("lost", 8, 0xd1d2d3d4d5d6d7d8),
              ("cookie", 8, 0xe1e2e3e4e5e6e7e8), ("span_count", 1, 2), (None, 3, 0),
              ("silence", 4, 3000), ("hop_rate", 8, 1000000), ("hop_burst", 4, 0xf1f2f3f4),
              ("hop_expiry", 2, 500), ("hop_count", 2, 2),
              ("span.first", 8, 2**64 - 5), ("span.end", 8, 3),
              ("span.first", 8, 7 << 32 | 1), ("span.end", 8, 7 << 32 | 4), ("refused.request", 4, 11),
              ("refused.reason", 2, 1), (None, 2, 0)]
RCNTL: Body = [("rate", 8, 1 << 48), ("burst", 4, 0x11121314), ("expiry", 2, 1000), ("hop", 2, 7),
               ("time", 8, 0x2122232425262728)]
INIT: Body = [("ephemeral", 32, 0x11 << 248 | 0x12), ("static", 48, 0x21 << 376 | 0x22),
              ("offer", 32, 0x31 << 248 | 0x32), ("mac1", 16, 0x41 << 120 | 0x42), ("mac2", 16, 0x51 << 120 | 0x52)]
RESPONSE: Body = [("ephemeral", 32, 0x11 << 248 | 0x12), ("choice", 32, 0x21 << 248 | 0x22)]
COOKIE: Body = [("nonce", 12, 0x11 << 88 | 0x12), (None, 4, 0), ("cookie", 16, 0x21 << 120 | 0x22),
                ("tag", 16, 0x31 << 120 | 0x32)]
TYPES = {"first": Type(1, FIRST, 0x40, 0x40), "data": Type(2, DATA, 0xe7, 0),
         "cntl": Type(3, CNTL, 0x7f, 0), "rcntl": Type(4, RCNTL, 0x00, 0),
         "init": Type(5, INIT, 0x00, 0), "response": Type(6, RESPONSE, 0x00, 0), "cookie": Type(7, COOKIE, 0x00, 0)}
SEALABLE = ("first", "data", "cntl")
ASSOCIATION = 0xa1a2a3a4
WORKER, COUNT, TAG = 31, (1 << 55) - 2, bytes(range(0xb0, 0xc0))
DATA_PAYLOAD = bytes(range(256)) * 14 + bytes(32)  # 20000 - 2 * 8192


def build(kind: str, flags: int | None = None, change: Change | None = None,
          payload: bytes = DATA_PAYLOAD, association: int = 0) -> bytes:
    """One packet's bytes; change replaces values by name. With an association the packet has a trailer."""
    number, body, allowed, _ = TYPES[kind]
    change = change or {}
    out = bytearray([change.get("version", 1) << 4 | change.get("type", number),
                     allowed if flags is None else flags, 5, 0])
    out += association.to_bytes(4, "big") + change.get("key", KEY).to_bytes(8, "big")
    for name, size, value in body:
        out += (value if name is None else change.get(name, value)).to_bytes(size, "big")
    trailer = trailer_number(kind).to_bytes(8, "big") + TAG if association != 0 else b""
    return bytes(out) + (payload if kind == "data" else b"") + trailer


def trailer_number(kind: str) -> int:
    return WORKER << 56 | (kind == "first") << 55 | COUNT


def checksum(data: bytes) -> int:
    data += b"\0" * (len(data) % 2)
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


def frame(packet: bytes, family: str = "v4", sport: int = 40000, dport: int = PORT) -> bytes:
    """Puts a packet into UDP, IP and Ethernet."""
    macs = bytes.fromhex("020000000002020000000001")
    udp_len = 8 + len(packet)
    if family == "v6":
        a, b = (socket.inet_pton(socket.AF_INET6, t) for t in ("fd00::1", "fd00::2"))
        pseudo = a + b + struct.pack(">II", udp_len, 17)
        head = macs + b"\x86\xdd" + struct.pack(">IHBB", 6 << 28, udp_len, 17, 64) + a + b
    else:
        a, b = socket.inet_aton("10.0.0.1"), socket.inet_aton("10.0.0.2")
        pseudo = a + b + struct.pack(">HH", 17, udp_len)
        ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + udp_len, 0, 0x4000, 64, 17, 0, a, b)
        ip = ip[:10] + struct.pack(">H", checksum(ip)) + ip[12:]
        head = macs + (b"\x81\x00\x00\x07" if family == "vlan" else b"") + b"\x08\x00" + ip
    udp = struct.pack(">HHHH", sport, dport, udp_len, 0)
    total = checksum(pseudo + udp + packet) or 0xffff
    return head + udp[:6] + struct.pack(">H", total) + packet


def pcap_write(path: str, frames: list[bytes], snaps: list[int] | None = None) -> None:
    """Writes a capture; each frame is cut to its number of bytes in snaps."""
    with open(path, "wb") as f:
        f.write(struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 262144, 1))
        for i, data in enumerate(frames):
            kept = data[:snaps[i] if snaps else None]
            f.write(struct.pack("<IIII", i, 0, len(kept), len(data)) + kept)


VERDICTS = ("short", "bad_version", "bad_type", "bad_security", "bad_flags", "bad_field", "bad_length")
# Expert items of good packets. The packets of TYPES carry the flag REPEAT and a missing span.
REMARKS = {"sluice.retransmission", "sluice.nak", "sluice.grant_change"}
REMARKS_OF: dict[str, set[str]] = {"data": {"sluice.retransmission"}, "cntl": {"sluice.nak"}}
BEFORE = {"sluice.cntl.rate_before", "sluice.cntl.burst_before"}
PROOF = "sluice.rcntl.proof"
WITH_KEY = {"sluice.trailer.tag_right"}  # decrypt_test.py


class Wrong(Exception):
    """The dissector is wrong; the message says where."""


def expect(condition: bool, message: str) -> None:
    if not condition:
        raise Wrong(message)


def dissect(path: str, *args: str, key_log: str | None = None) -> list[ElementTree.Element]:
    """tshark's PDML of a capture: one element for each packet."""
    done = tshark.run(SCRIPT, path, "-T", "pdml", *args, key_log=key_log)
    expect(done.returncode == 0, f"tshark: {done.stderr}")
    for word in ("Lua Error", "lua error", "_ws.lua.error", "Error during loading"):
        expect(word not in done.stdout and word not in done.stderr,
               f"{word}: {done.stderr}{done.stdout[-2000:]}")
    return ElementTree.fromstring(done.stdout).findall("packet")


def sluice_of(packet: ElementTree.Element) -> tuple[ElementTree.Element, list[ElementTree.Element]]:
    """The protocol tree itself, and its named fields in order."""
    proto = packet.find("proto[@name='sluice']")
    if proto is None:
        raise Wrong("tshark does not take a packet for Sluice")
    return proto, [f for f in proto.iter("field") if f.get("name", "").startswith("sluice.")]


def number_of(field: ElementTree.Element) -> int:
    return int(field.attrib["value"], 16)


def covered(proto: ElementTree.Element, fields: list[ElementTree.Element]) -> set[int]:
    """The bytes of the packet, as offsets from its start, that belong to one of these fields."""
    start = int(proto.attrib["pos"])
    bytes_named: set[int] = set()
    for f in fields:
        if f.attrib["name"].split(".")[-1] in ("span", "refused", "trailer"):  # the fields below name the bytes
            continue
        pos = int(f.attrib["pos"]) - start
        bytes_named.update(range(pos, pos + int(f.attrib["size"])))
    return bytes_named


def trailer_check(kind: str, fields: list[ElementTree.Element]) -> None:
    """Checks that the trailer of a sealed packet is shown whole."""
    want = {"number": f"0x{trailer_number(kind):016x}", "worker": str(WORKER), "count": str(COUNT),
            "first": ("True", "1") if kind == "first" else ("False", "0"), "tag": TAG.hex(":")}
    for name, value in want.items():
        found = [f.get("show") for f in fields if f.get("name") == "sluice.trailer." + name]
        right = len(found) == 1 and (found[0] == value if isinstance(value, str) else found[0] in value)
        expect(right, f"sealed {kind}: trailer.{name} {found}")


def good_check(packet: ElementTree.Element, kind: str, data: bytes, seen: set[str]) -> None:
    """Checks a good packet, and adds the names of its fields to seen."""
    proto, fields = sluice_of(packet)
    association = int.from_bytes(data[4:8], "big")
    generated = {"sluice.data.units": 3, "sluice.data.offset": 16384}
    names = [f.attrib["name"] for f in fields]
    seen.update(names)
    expect("_ws.malformed" not in ElementTree.tostring(packet, "unicode"), f"{kind}: malformed")
    remarks = {n for n in names if n in REMARKS}
    expect(remarks == REMARKS_OF.get(kind, set()), f"{kind}: remarks {remarks}")
    expect(len(packet.findall(".//field[@name='_ws.expert']")) == len(remarks), f"{kind}: expert item")
    sent = [f for f in fields if f.get("name") not in generated]
    missing = set(range(len(data))) - covered(proto, sent)
    expect(not missing, f"{kind}: no field names bytes {sorted(missing)}")
    # The fields show the values that were put in, in the order of the bytes, lists included.
    want = [(f"sluice.{kind}.{name}", value) for name, _, value in TYPES[kind].body if name]
    wanted_names = {name for name, _ in want}
    got = [(f.attrib["name"], number_of(f)) for f in sent if f.get("name") in wanted_names]
    expect(got == want, f"{kind}: {set(want) ^ set(got)}")
    common = {"sluice.key": KEY, "sluice.path": 5, "sluice.association": association,
              "sluice.flags": TYPES[kind].allowed}
    for name, value in common.items():
        values = [number_of(f) for f in fields if f.get("name") == name]
        expect(values == [value], f"{kind}: {name} {values}")
    for name, show in (("sluice.version", "1"), ("sluice.type", str(TYPES[kind].number))):
        found = [f.get("show") for f in fields if f.get("name") == name]
        expect(found == [show], f"{kind}: {name} {found}")
    for i, flag in enumerate(FLAGS):
        found = [f.get("show") for f in fields if f.get("name") == f"sluice.flags.{flag}"]
        expect(found in (["1"], ["True"]) if TYPES[kind].allowed >> i & 1 else
               found in (["0"], ["False"]), f"{kind}: flag {flag} {found}")
    if kind == "data":
        for name, value in generated.items():
            found = [f.get("show") for f in fields if f.get("name") == name]
            expect(found == [str(value)], f"data: {name} {found}")
        payloads = {n.split(".")[-1] for n in names} & {"payload", "encrypted"}
        expect(payloads == {"encrypted" if association else "payload"}, f"data: the payload is shown as {payloads}")
    if association:
        trailer_check(kind, fields)
    else:
        expect(not any(n.startswith("sluice.trailer") for n in names), f"plain {kind}: a trailer is shown")


def good_run(folder: str) -> int:
    """Checks every type over every family, in both directions, sealed too; returns the number of packets."""
    path = os.path.join(folder, "good.pcap")
    seen: set[str] = set()
    families = ("v4", "v6", "vlan")
    sent = [(kind, family, build(kind)) for kind in TYPES for family in families]
    sent += [(kind, family, build(kind, association=ASSOCIATION)) for kind in SEALABLE for family in families]
    frames = [frame(data, family, *((40000, PORT) if i % 2 else (PORT, 40000)))
              for i, (_, family, data) in enumerate(sent)]
    pcap_write(path, frames)
    packets = dissect(path)
    expect(len(packets) == len(sent), f"{len(packets)} packets of {len(sent)}")
    for packet, (kind, _, data) in zip(packets, sent):
        good_check(packet, kind, data, seen)
    with open(SCRIPT, encoding="utf-8") as f:
        declared = set(re.findall(r'field\("\w+", "([a-z_.]+)",', f.read()))
    expect(len(declared) > 60, "the script's fields were not found")
    unseen = {"sluice." + name for name in declared} - seen - BEFORE - {PROOF} - WITH_KEY
    expect(not unseen, f"fields that no packet shows: {unseen}")
    return len(sent)


def bad_packets() -> Iterator[tuple[bytes, str]]:
    """Packets, each with the expert item that it must carry."""
    for kind, (_, _, allowed, must) in TYPES.items():
        whole = build(kind)
        for flags in {allowed ^ 1 << bit for bit in range(8)}:
            if flags & ~allowed or flags & must != must:
                yield build(kind, flags), "bad_flags"
        for size in (1, 15, 16, 17, len(whole) - 1 - (len(DATA_PAYLOAD) if kind == "data" else 0)):
            yield whole[:size], "short"
        if kind != "first":
            yield whole + b"\0", "bad_length"
        yield build(kind, change={"version": 2}), "bad_version"
        yield build(kind, change={"type": 0}), "bad_type"
        yield build(kind, change={"type": 8}), "bad_type"
        if kind not in SEALABLE:
            yield build(kind, association=1), "bad_security"
        yield build(kind, change={"key": 0}), "bad_field"
    over = (1 << 48) + 1
    for kind, name, value in (
            ("first", "service", 0), ("first", "unit_max", 63), ("first", "unit_max", 65472),
            ("first", "rate_req", over), ("first", "burst_req", 1 << 32), ("data", "unit", 3),
            ("data", "unit_bytes", 63), ("data", "unit_bytes", 65472),
            ("data", "request_len", (1 << 32) + 1), ("cntl", "own_key", 0), ("cntl", "seq", 0),
            ("cntl", "end", 6), ("cntl", "rate", over), ("cntl", "peak", over),
            ("cntl", "hop_rate", over), ("cntl", "unit_max", 63), ("cntl", "span_count", 33),
            ("cntl", "refused_count", 9), ("cntl", "span.end", 5), ("rcntl", "rate", over),
            ("rcntl", "expiry", 0)):
        yield build(kind, change={name: value}), "bad_field"
    yield build("data", payload=DATA_PAYLOAD[:-1]), "bad_length"
    yield build("cntl", change={"span_count": 3}), "short"
    yield build("cntl", change={"span_count": 1}), "bad_length"
    for proof_len in (7, 9):
        yield build("rcntl") + bytes(proof_len), "bad_length"
    yield from bad_sealed()


def bad_sealed() -> Iterator[tuple[bytes, str]]:
    """Sealed packets whose length is wrong, each with the expert item that it must carry."""
    for kind in SEALABLE:
        whole = build(kind, association=ASSOCIATION)
        if kind != "first":
            yield whole + b"\0", "bad_length"
        yield whole[:-24], "bad_length" if kind == "data" else "short"
        yield whole[:39], "short"  # the header and a trailer have 40 bytes
        yield whole[:40], "short"
    yield build("first", association=ASSOCIATION)[:-1], "short"
    yield build("data", association=ASSOCIATION)[:79], "short"
    yield build("data", association=ASSOCIATION, payload=DATA_PAYLOAD[:-1]), "bad_length"
    yield build("cntl", association=ASSOCIATION)[:199], "short"
    yield build("cntl", association=ASSOCIATION, change={"span_count": 3}), "short"
    yield build("cntl", association=ASSOCIATION, change={"span_count": 1}), "bad_length"
    yield build("data", 0x10, association=ASSOCIATION), "bad_flags"
    yield build("data", association=ASSOCIATION, change={"key": 0}), "bad_field"


def bad_run(folder: str) -> int:
    """Checks that each bad packet carries its expert item; returns their number."""
    path, sent = os.path.join(folder, "bad.pcap"), list(bad_packets())
    pcap_write(path, [frame(data) for data, _ in sent])
    packets = dissect(path)
    expect(len(packets) == len(sent), f"{len(packets)} packets of {len(sent)}")
    for packet, (data, verdict) in zip(packets, sent):
        _, fields = sluice_of(packet)
        found = {f.get("name") for f in fields}
        expect("sluice." + verdict in found, f"{data[:64].hex()}: no {verdict} in {found}")
        expect("_ws.malformed" not in ElementTree.tostring(packet, "unicode"),
               f"{data[:64].hex()}: the dissector read past the end")
    return len(sent)


def grants_run(folder: str) -> int:
    """A changed grant must be shown next to the newest grant before it, of the same sender."""
    path, rate, seq = os.path.join(folder, "grants.pcap"), 125000000, 0xffffffff
    steps: list[tuple[Change, int | None]] = [
        ({"seq": seq}, None), ({"seq": 1, "rate": 1000}, rate),  # the numbers wrap
        ({"seq": seq - 1}, None),  # late
        ({"seq": 1, "rate": 1000}, None), ({"seq": 2, "rate": 1000}, None),
        ({"seq": 1, "own_key": 7}, None),  # another connection
        ({"seq": 3, "rate": 1000, "burst": 9}, 1000), ({"seq": 4, "rate": rate}, 1000)]
    pcap_write(path, [frame(build("cntl", change=change, association=i % 3)) for i, (change, _) in enumerate(steps)])
    for args in ((), ("-2",)):
        for i, (packet, (_, before)) in enumerate(zip(dissect(path, *args), steps)):
            _, fields = sluice_of(packet)
            shown = [f.get("show") for f in fields if f.get("name") == "sluice.cntl.rate_before"]
            flagged = "sluice.grant_change" in {f.get("name") for f in fields}
            expect(shown == ([] if before is None else [str(before)]), f"grant {i}: before {shown}")
            expect(flagged == (before is not None), f"grant {i}: flagged {flagged}")
    return len(steps)


def edges_run(folder: str) -> None:
    """Checks a request of no bytes, a capture that is cut short, the longest units, and another port."""
    path = os.path.join(folder, "edges.pcap")
    empty = build("data", change={"unit": 0, "request_len": 0}, payload=b"")
    pcap_write(path, [frame(empty)])
    _, fields = sluice_of(dissect(path)[0])
    units = [f.get("show") for f in fields if f.get("name") == "sluice.data.units"]
    expect(units == ["1"], f"an empty request has {units} units")
    expect(not {"sluice.bad_length", "sluice.bad_field"} & {f.get("name") for f in fields},
           "an empty request is called bad")
    pcap_write(path, [frame(build("data"))], [14 + 20 + 8 + 56 + 10])
    _, fields = sluice_of(dissect(path)[0])
    found = {f.get("name") for f in fields}
    expect("sluice.data.payload" in found and "sluice.bad_length" not in found,
           f"a cut capture is called bad: {found}")
    cut_run(path)
    for family, most in (("v4", 65451), ("v6", 65471)):  # a UDP datagram carries no longer unit
        change = {"unit": 1, "unit_bytes": most, "request_len": 3 * most}
        pcap_write(path, [frame(build("data", change=change, payload=bytes(most)), family)])
        _, fields = sluice_of(dissect(path)[0])
        named = {f.get("name"): f for f in fields}
        expect(not {"sluice.bad_length", "sluice.bad_field"} & set(named), f"a unit of {most} bytes is called bad")
        expect(named["sluice.data.payload"].get("size") == str(most) and
               named["sluice.data.offset"].get("show") == str(most), f"a unit of {most} bytes is not whole")
    pcap_write(path, [frame(build("rcntl") + bytes.fromhex("a1a2a3a4a5a6a7a8"))])
    _, fields = sluice_of(dissect(path)[0])
    expect([number_of(f) for f in fields if f.get("name") == PROOF] == [0xa1a2a3a4a5a6a7a8], "a proof is not shown")
    expect("sluice.bad_length" not in {f.get("name") for f in fields}, "a proof is called bad")
    pcap_write(path, [frame(build("first", association=number) + bytes(pad)) for number in (0, ASSOCIATION) for pad in (1, 1000)])
    for packet in dissect(path):
        named = {f.get("name"): f for f in sluice_of(packet)[1]}
        expect("sluice.first.answer_request" in named and not {"sluice.bad_length", "sluice.short"} & set(named),
               f"a padded FIRST is shown as {sorted(str(name) for name in named)}")
    pcap_write(path, [frame(build("rcntl"), dport=5000)])
    _, fields = sluice_of(dissect(path, "-o", "sluice.ports:5000")[0])
    expect("sluice.rcntl.hop" in {f.get("name") for f in fields}, "the port preference is ignored")


def cut_run(path: str) -> None:
    """A capture that holds only the first bytes of its packets must show those, and call nothing bad."""
    cases = []
    for kind, association in ((k, a) for k in TYPES for a in (0, ASSOCIATION) if a == 0 or k in SEALABLE):
        whole = build(kind, association=association)
        for kept in sorted({3, 16, 30, 60, len(whole) - 30, len(whole) - 20, len(whole) - 16, len(whole) - 1}):
            cases.append((kind, association, whole, kept))
    pcap_write(path, [frame(whole) for _, _, whole, _ in cases], [14 + 20 + 8 + kept for *_, kept in cases])
    for packet, (kind, association, whole, kept) in zip(dissect(path), cases):
        _, fields = sluice_of(packet)
        found = {f.get("name", "") for f in fields}
        bad = found & {"sluice." + v for v in VERDICTS}
        expect(not bad, f"{kind}, of which {kept} bytes are captured, is called {bad}")
        expect("_ws.malformed" not in ElementTree.tostring(packet, "unicode"), f"{kind}, {kept} bytes: malformed")
        expect(("sluice.trailer.number" in found) == (association != 0 and kept >= len(whole) - 16),
               f"{kind}, {kept} bytes: the trailer")


def lua_works(folder: str) -> bool:
    """Whether this tshark runs Lua scripts."""
    path = os.path.join(folder, "probe.pcap")
    pcap_write(path, [frame(build("rcntl"))])
    probe = os.path.join(folder, "probe.lua")
    with open(probe, "w", encoding="utf-8") as f:
        f.write('local p = Proto("probe_sluice", "probe")\n'
                "function p.dissector(tvb, pinfo, tree) tree:add(p, tvb()) end\n"
                f'DissectorTable.get("udp.port"):add({PORT}, p)\n')
    done = tshark.run(probe, path, "-T", "pdml")
    return "probe_sluice" in done.stdout


def judged(run: Callable[[str], str]) -> int:
    """The exit status of a test of the dissector. run: takes a new folder, returns what was right, or raises Wrong."""
    if not tshark.there():
        print("skipped: tshark is not installed; scripts/setup installs it")
        return 77
    with tempfile.TemporaryDirectory(prefix="sluice-dissector-") as folder:
        if not lua_works(folder):
            print("skipped: this tshark runs no Lua scripts")
            return 77
        try:
            print(f"right: {run(folder)}")
        except Wrong as wrong:
            print(f"wrong: {wrong}", file=sys.stderr)
            return 1
    return 0


def all_run(folder: str) -> str:
    good, bad = good_run(folder), bad_run(folder)
    grants_run(folder)
    edges_run(folder)
    return f"{good} good packets, every byte named; {bad} bad ones, every verdict shown"


if __name__ == "__main__":
    sys.exit(judged(all_run))
