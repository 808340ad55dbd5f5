# SPDX-License-Identifier: BSD-3-Clause
"""Reads Sluice packets from a capture of tcpdump. The parser follows doc/protocol.md and shares no code with
the library."""
import struct
from collections.abc import Iterator
from dataclasses import dataclass

from testbed.process import TestbedError

PORT = 47800
DATA, CNTL = 2, 3
HEADER, TRAILER = 56, 24  # bytes of a DATA before its unit, and after it if the packet is sealed


@dataclass
class Packet:
    time_s: float
    type: int
    src: bytes       # IPv4 or IPv6
    payload: int     # bytes of a DATA's unit; 0 in other packets
    rate_Bps: int    # grant of a CNTL; 0 in other packets
    burst: int       # bytes, of a CNTL; 0 in other packets


def frames(path: str) -> Iterator[tuple[float, bytes]]:
    """(time, frame) of a pcap file, whose times have microseconds or nanoseconds."""
    with open(path, "rb") as f:
        data = f.read()
    magic = struct.unpack_from("<I", data)[0]
    if magic not in (0xa1b2c3d4, 0xa1b23c4d):
        raise TestbedError(f"{path} is no pcap file with this machine's byte order")
    scale = 1e-9 if magic == 0xa1b23c4d else 1e-6
    at = 24
    while at + 16 <= len(data):
        seconds, part, kept, _ = struct.unpack_from("<IIII", data, at)
        yield seconds + part * scale, data[at + 16:at + 16 + kept]
        at += 16 + kept


def parse(time_s: float, frame: bytes) -> Packet | None:
    """The packet; None if it is not one of Sluice."""
    if len(frame) < 14:
        return None
    kind, at = struct.unpack_from(">H", frame, 12)[0], 14
    if kind == 0x8100 and len(frame) >= 18:
        kind, at = struct.unpack_from(">H", frame, 16)[0], 18
    if kind == 0x0800 and len(frame) >= at + 20 and frame[at + 9] == 17:
        src, udp = frame[at + 12:at + 16], at + 4 * (frame[at] & 15)
    elif kind == 0x86dd and len(frame) >= at + 40 and frame[at + 6] == 17:
        src, udp = frame[at + 8:at + 24], at + 40
    else:
        return None
    if len(frame) < udp + 8 + 16:
        return None
    sport, dport, length = struct.unpack_from(">HHH", frame, udp)
    if PORT not in (sport, dport):
        return None
    head = frame[udp + 8:]
    if head[0] & 15 == DATA:
        sealed = head[4:8] != bytes(4)  # the association is not 0
        return Packet(time_s, DATA, src, length - 8 - HEADER - (TRAILER if sealed else 0), 0, 0)
    if head[0] & 15 == CNTL and len(head) >= 44:
        rate, burst = struct.unpack_from(">QI", head, 32)
        return Packet(time_s, CNTL, src, 0, rate, burst)
    return Packet(time_s, head[0] & 15, src, 0, 0, 0)


def packets(path: str) -> list[Packet]:
    found = []
    for time_s, frame in frames(path):
        packet = parse(time_s, frame)
        if packet is not None:
            found.append(packet)
    return found
