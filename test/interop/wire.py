# SPDX-License-Identifier: BSD-3-Clause
"""Packets of Sluice, written from doc/protocol.md (sections 3 to 8) and from nothing else.

Each packet type is a dataclass with pack() and parse(). parse() checks in the order of section 8 and raises Bad with
the name of the verdict. Sealed packets come here without their trailer.
"""
import dataclasses
import struct
from dataclasses import dataclass, field
from typing import ClassVar, TypeVar

VERSION = 1
FIRST, DATA, CNTL, RCNTL, INIT, RESPONSE, COOKIE = range(1, 8)
SREQ, DREQ, WCLOSE, RCLOSE, END, PACK, EARLY, REPEAT = (1 << bit for bit in range(8))
FLAGS_OF = {FIRST: EARLY, DATA: SREQ | DREQ | WCLOSE | PACK | EARLY | REPEAT,
            CNTL: SREQ | DREQ | WCLOSE | RCLOSE | END | PACK | EARLY, RCNTL: 0, INIT: 0, RESPONSE: 0, COOKIE: 0}
SEALABLE = (FIRST, DATA, CNTL)
HEADER_BYTES, FIRST_BYTES, DATA_BYTES, CNTL_BYTES, RCNTL_BYTES, RCNTL_PROVEN_BYTES = 16, 192, 56, 176, 40, 48
UNIT_MIN, UNIT_MAX, REQUEST_MAX, RATE_MAX = 64, 65471, 1 << 32, 1 << 48
SPANS_MAX, REFUSED_MAX = 32, 8
GO_BACK_N = 1
END_CLOSE, END_ABORT, END_NOBODY, END_SILENCE, END_PROTOCOL, END_SHUTDOWN = range(6)
HOP_OFFSET, HOP_BYTES = 160, 16  # of CNTL: what routers may write

_HEADER = struct.Struct(">BBBBIQ")
Position = int  # request << 32 | unit


class Bad(Exception):
    """A packet that its receiver must drop; the message is the verdict."""


def expect(holds: bool, verdict: str) -> None:
    if not holds:
        raise Bad(verdict)


def expect_length(data: bytes, exact: int) -> None:
    expect(len(data) >= exact, "short")
    expect(len(data) == exact, "bad_length")


def position(request: int, unit: int) -> Position:
    return (request & 0xffffffff) << 32 | unit


def units_of(request_len: int, unit_bytes: int) -> int:
    return max(1, -(-request_len // unit_bytes))


def before(a: int, b: int, bits: int = 32) -> bool:
    """Whether a is before b among numbers that wrap (RFC 1982)."""
    return (a - b) % (1 << bits) >= 1 << (bits - 1)


@dataclass
class Header:
    """Section 3."""
    kind: int
    flags: int
    key: int
    association: int = 0
    path: int = 0

    def pack(self) -> bytes:
        return _HEADER.pack(VERSION << 4 | self.kind, self.flags, self.path, 0, self.association, self.key)

    @classmethod
    def parse(cls, data: bytes) -> "Header":
        expect(len(data) >= HEADER_BYTES, "short")
        first, flags, path, _, association, key = _HEADER.unpack_from(data)
        expect(first >> 4 == VERSION, "bad_version")
        kind = first & 0x0f
        expect(kind in FLAGS_OF, "bad_type")
        expect(association == 0 or kind in SEALABLE, "bad_security")
        expect(flags & ~FLAGS_OF[kind] == 0 and (kind != FIRST or bool(flags & EARLY)), "bad_flags")
        expect(key != 0, "bad_field")
        return cls(kind, flags, key, association, path)


P = TypeVar("P", bound="_Packet")


@dataclass
class _Packet:
    """What the fixed parts have in common. The fields of a packet type stand in the order of its layout."""
    LAYOUT: ClassVar[struct.Struct]
    KIND: ClassVar[int]

    flags: int
    key: int

    def pack(self) -> bytes:
        """Without the lists and the payload."""
        names = [f.name for f in dataclasses.fields(self) if f.metadata.get("wire", True)]
        values = [getattr(self, name) for name in names if name not in ("flags", "key")]
        return Header(self.KIND, self.flags, self.key).pack() + self.LAYOUT.pack(*values)

    @classmethod
    def _read(cls: type[P], data: bytes) -> P:
        expect(len(data) >= HEADER_BYTES + cls.LAYOUT.size, "short")
        head = Header.parse(data)
        return cls(head.flags, head.key, *cls.LAYOUT.unpack_from(data, HEADER_BYTES))


@dataclass
class First(_Packet):
    """Section 4."""
    LAYOUT = struct.Struct(">IIHHIQQQQII120x")
    KIND = FIRST

    initial_request: int = 0
    unit_max: int = 1400
    service: int = 7000
    capabilities: int = 0
    ahead: int = 0
    rate_req: int = 0
    burst_req: int = 0
    time: int = 0
    cookie: int = 0
    silence: int = 0
    answer_request: int = 0

    @classmethod
    def parse(cls, data: bytes) -> "First":
        found = cls._read(data)
        expect(len(data) >= FIRST_BYTES, "short")  # what is behind it is padding
        expect(found.service != 0 and UNIT_MIN <= found.unit_max <= UNIT_MAX and found.rate_req <= RATE_MAX and
               found.burst_req < 1 << 32, "bad_field")
        return found


@dataclass
class Data(_Packet):
    """Section 5."""
    LAYOUT = struct.Struct(">QQIIQII")
    KIND = DATA

    packet: int = 0
    time: int = 0
    request: int = 0
    unit: int = 0
    request_len: int = 0
    unit_bytes: int = 0
    cntl_seen: int = 0
    payload: bytes = field(default=b"", metadata={"wire": False})

    def pack(self) -> bytes:
        return super().pack() + self.payload

    @classmethod
    def parse(cls, data: bytes) -> "Data":
        found = cls._read(data)
        found.payload = data[DATA_BYTES:]
        expect(UNIT_MIN <= found.unit_bytes <= UNIT_MAX and found.request_len <= REQUEST_MAX and
               found.unit < units_of(found.request_len, found.unit_bytes), "bad_field")
        expect(len(found.payload) == min(found.unit_bytes, found.request_len - found.offset()), "bad_length")
        return found

    def offset(self) -> int:
        return self.unit * self.unit_bytes


@dataclass
class Cntl(_Packet):
    """Section 6."""
    LAYOUT = struct.Struct(">QIIQIHBBQQIIQQQQQIIIHHIIQQB3xIQIHH")
    KIND = CNTL

    own_key: int = 0
    seq: int = 0
    cntl_seen: int = 0
    rate: int = 0
    burst: int = 0
    reason: int = 0
    occupancy: int = 0
    refused_count: int = 0
    peak: int = 0
    ack: Position = 0
    posted: int = 0
    close_request: int = 0
    sent: Position = 0
    backlog: int = 0
    received: int = 0
    time: int = 0
    echo: int = 0
    echo_held: int = 0
    unit_max: int = 1400
    initial_request: int = 0
    capabilities: int = 0
    end: int = 0
    ecn_ce: int = 0
    ecn_ect: int = 0
    lost: int = 0
    cookie: int = 0
    span_count: int = 0
    silence: int = 0
    hop_rate: int = 0
    hop_burst: int = 0
    hop_expiry: int = 0
    hop_count: int = 0
    spans: list[tuple[Position, Position]] = field(default_factory=list, metadata={"wire": False})
    refused: list[tuple[int, int]] = field(default_factory=list, metadata={"wire": False})  # request, reason

    def pack(self) -> bytes:
        self.span_count, self.refused_count = len(self.spans), len(self.refused)
        return (super().pack() + b"".join(struct.pack(">QQ", *s) for s in self.spans) +
                b"".join(struct.pack(">IHxx", *r) for r in self.refused))

    @classmethod
    def parse(cls, data: bytes) -> "Cntl":
        found = cls._read(data)
        expect(found.span_count <= SPANS_MAX and found.refused_count <= REFUSED_MAX, "bad_field")
        refused_at = CNTL_BYTES + 16 * found.span_count
        expect_length(data, refused_at + 8 * found.refused_count)
        found.spans = [(first, end) for first, end in struct.iter_unpack(">QQ", data[CNTL_BYTES:refused_at])]
        found.refused = [(number, reason) for number, reason in struct.iter_unpack(">IHxx", data[refused_at:])]
        expect(found.own_key != 0 and found.seq != 0 and max(found.rate, found.peak, found.hop_rate) <= RATE_MAX and
               found.end <= END_SHUTDOWN and UNIT_MIN <= found.unit_max <= UNIT_MAX, "bad_field")
        least = 0
        for first, end in found.spans:
            start = found.spans[0][0]
            expect(least <= (first - start) % (1 << 64) < (end - start) % (1 << 64) < 1 << 63, "bad_field")
            least = (end - start) % (1 << 64)
        return found


@dataclass
class Rcntl(_Packet):
    """Section 7."""
    LAYOUT = struct.Struct(">QIHHQ")
    KIND = RCNTL

    rate: int = 0
    burst: int = 0
    expiry: int = 0
    hop: int = 0
    time: int = 0
    proof: bytes = field(default=b"", metadata={"wire": False})  # 8 bytes, for a sealed connection

    def pack(self) -> bytes:
        return super().pack() + self.proof

    @classmethod
    def parse(cls, data: bytes) -> "Rcntl":
        found = cls._read(data)
        expect(len(data) in (RCNTL_BYTES, RCNTL_PROVEN_BYTES), "bad_length")
        found.proof = data[RCNTL_BYTES:]
        expect(found.rate <= RATE_MAX and found.expiry != 0, "bad_field")
        return found


Packet = First | Data | Cntl | Rcntl


def parse(data: bytes) -> Packet:
    """A packet of types 1 to 4."""
    kind = Header.parse(data).kind
    expect(kind <= RCNTL, "bad_type")
    classes: dict[int, type[First] | type[Data] | type[Cntl] | type[Rcntl]] = {
        FIRST: First, DATA: Data, CNTL: Cntl, RCNTL: Rcntl}
    return classes[kind].parse(data)
