# SPDX-License-Identifier: BSD-3-Clause
"""Associations and sealed packets, as doc/protocol.md (section 11) describes them. Uses nothing of lib/."""
from __future__ import annotations

import hashlib
import hmac
import os
import struct
from collections.abc import Callable
from dataclasses import dataclass, field

import wire
from wire import Header, expect, expect_length

try:
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM, ChaCha20Poly1305

    import noise
    LACK = None
except ImportError:  # plain connections need none of it
    LACK = "python3-cryptography is missing; scripts/setup installs it"

PROLOGUE = b"Sluice 2"
INIT_BYTES, RESPONSE_BYTES, COOKIE_BYTES, TRAILER_BYTES, MAC_BYTES = 160, 80, 64, 24, 16
AES_128_GCM, AES_256_GCM, CHACHA20_POLY1305 = range(3)
CIPHERS: dict[int, Callable[[bytes], AESGCM | ChaCha20Poly1305]] = {
    AES_128_GCM: lambda key: AESGCM(key[:16]), AES_256_GCM: lambda key: AESGCM(key),
    CHACHA20_POLY1305: lambda key: ChaCha20Poly1305(key)}
ALL_CIPHERS = 0b111
PART_MAX, COUNT_MAX = 31, (1 << 55) - 1  # of the number in a trailer
FIRST_WINDOW = 64  # counts of FIRST that are told apart, the highest included
NO_PSK = bytes(32)

_OFFER = struct.Struct(">QIHH")  # the payloads of INIT and RESPONSE


class Unreadable(Exception):
    """A packet whose tag or MAC is wrong."""


@dataclass(frozen=True)
class Ends:
    """Addresses (16 bytes each) and UDP ports of a packet, in its direction."""
    source: bytes
    destination: bytes
    source_port: int
    destination_port: int

    def pack(self) -> bytes:
        return self.source + self.destination + struct.pack(">HH", self.source_port, self.destination_port)


def mac(key: bytes, data: bytes) -> bytes:
    return hmac.new(key, data, hashlib.sha256).digest()[:MAC_BYTES]


def labelled(label: bytes, public: bytes) -> bytes:
    return hashlib.sha256(label + public).digest()


@dataclass
class Association:
    """One association, at one of its ends. number: what packets to this end carry; remote: what its own carry."""
    number: int
    remote: int
    cipher: int
    send_key: bytes
    open_key: bytes
    initiator: bool
    part: int = 0
    count: int = 0
    opened: int = 0  # packets whose tag was right
    firsts: dict[int, set[int]] = field(default_factory=dict)  # part -> counts of FIRST that have come
    numbers: set[int] = field(default_factory=set)  # of all packets that have come

    def __post_init__(self) -> None:
        self._send, self._open = CIPHERS[self.cipher](self.send_key), CIPHERS[self.cipher](self.open_key)

    def next_number(self, first: bool) -> int:
        self.count += 1
        return self.part << 56 | first << 55 | self.count

    @staticmethod
    def _associated(data: bytes, ends: Ends) -> bytes:
        """Of FIRST and CNTL: the whole packet, but for what routers may write."""
        if data[0] & 0x0f == wire.CNTL:
            data = data[:wire.HOP_OFFSET] + bytes(wire.HOP_BYTES) + data[wire.HOP_OFFSET + wire.HOP_BYTES:]
        return ends.pack() + data

    def seal(self, data: bytes, ends: Ends, number: int | None = None) -> bytes:
        """Seals a packet; its bytes 4 to 7 are set here."""
        kind = data[0] & 0x0f
        data = data[:4] + struct.pack(">I", self.remote) + data[8:]
        if number is None:
            number = self.next_number(kind == wire.FIRST)
        nonce = bytes(4) + struct.pack(">Q", number)
        if kind == wire.DATA:
            head = data[:wire.DATA_BYTES]
            sealed = self._send.encrypt(nonce, data[wire.DATA_BYTES:], head)
            return head + sealed[:-16] + nonce[4:] + sealed[-16:]
        return data + nonce[4:] + self._send.encrypt(nonce, b"", self._associated(data, ends))

    def open(self, data: bytes, ends: Ends) -> bytes:
        """The packet without its trailer."""
        expect(len(data) >= wire.HEADER_BYTES + TRAILER_BYTES, "short")
        inner, number, tag = data[:-TRAILER_BYTES], data[-TRAILER_BYTES:-16], data[-16:]
        nonce = bytes(4) + number
        try:
            if inner[0] & 0x0f == wire.DATA:
                head = inner[:wire.DATA_BYTES]
                inner = head + self._open.decrypt(nonce, inner[wire.DATA_BYTES:] + tag, head)
            else:
                self._open.decrypt(nonce, tag, self._associated(inner, ends))
        except InvalidTag as problem:
            raise Unreadable("wrong tag") from problem
        self.opened += 1
        value = int.from_bytes(number, "big")
        first = inner[0] & 0x0f == wire.FIRST
        if value >> 56 > PART_MAX or (value >> 55 & 1) != first or value & COUNT_MAX == 0:
            raise Unreadable("a number that no such packet can have")
        if first and not self._first_is_new(value):
            raise Unreadable("a FIRST that has come before")
        if value in self.numbers:
            raise Unreadable("a number that was used twice")
        self.numbers.add(value)
        return inner

    def _first_is_new(self, number: int) -> bool:
        """Whether this number of a FIRST has not come before; it has now."""
        part, count = number >> 56, number & COUNT_MAX
        seen = self.firsts.setdefault(part, set())
        if count in seen or (seen and count <= max(seen) - FIRST_WINDOW):
            return False
        seen.add(count)
        return True


@dataclass
class Identity:
    """A host's key pair, and the keys that it shares with peers: public key -> psk."""
    private: bytes
    peers: dict[bytes, bytes] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.public = noise.public_of(self.private)


class Initiator:
    """Asks one responder for an association."""

    def __init__(self, self_: Identity, responder: bytes, number: int, time_ns: int, ciphers: int = ALL_CIPHERS) -> None:
        self.responder, self.number, self.ciphers = responder, number, ciphers
        self.handshake = noise.Handshake(True, self_.private, responder, self_.peers.get(responder, NO_PSK), PROLOGUE)
        self.key = int.from_bytes(os.urandom(8), "big") or 1
        payload = _OFFER.pack(time_ns, number, ciphers, 0)
        message = self.handshake.write(0, os.urandom(32), payload)
        head = Header(wire.INIT, 0, self.key).pack() + message
        self.mac1 = mac(labelled(b"mac1", responder), head)
        self._covered = head + self.mac1  # by mac2

    def init(self, cookie: bytes | None = None) -> bytes:
        return self._covered + (bytes(MAC_BYTES) if cookie is None else mac(cookie, self._covered))

    def answered_by(self, data: bytes) -> bool:
        """Whether this answers our INIT, and not one of an earlier handshake that was sent twice."""
        return Header.parse(data).key == self.key

    def cookie(self, data: bytes) -> bytes:
        """The cookie in a COOKIE."""
        header = Header.parse(data)
        expect_length(data, COOKIE_BYTES)
        if header.key != self.key:
            raise Unreadable("of another handshake")
        try:
            return AESGCM(labelled(b"cookie", self.responder)).decrypt(data[16:28], data[32:64], self.mac1)
        except InvalidTag as problem:
            raise Unreadable("wrong tag") from problem

    def finish(self, data: bytes) -> Association:
        """Takes the RESPONSE."""
        header = Header.parse(data)
        expect_length(data, RESPONSE_BYTES)
        if header.key != self.key:
            raise Unreadable("of another handshake")
        try:
            _, remote, cipher, _ = _OFFER.unpack(self.handshake.read(1, data[16:]))
        except noise.NoiseError as problem:
            raise Unreadable(str(problem)) from problem
        if remote == 0 or cipher not in CIPHERS or not self.ciphers >> cipher & 1:
            raise Unreadable("a choice that was not offered")
        send, open_ = self.handshake.split()
        return Association(self.number, remote, cipher, send, open_, True)


class Responder:
    """Answers the INIT of peers."""

    def __init__(self, self_: Identity, ciphers: tuple[int, ...] = (AES_128_GCM, AES_256_GCM, CHACHA20_POLY1305)) -> None:
        """ciphers: the preferred one first."""
        self.identity, self.ciphers = self_, ciphers
        self.secret = os.urandom(32)
        self.newest: dict[bytes, int] = {}  # public key -> time of the newest INIT that was answered

    def check(self, data: bytes) -> None:
        """Unreadable if the sender of this INIT does not know our public key."""
        expect_length(data, INIT_BYTES)
        if mac(labelled(b"mac1", self.identity.public), data[:128]) != data[128:144]:
            raise Unreadable("wrong mac1")

    def _cookie(self, source: bytes, port: int) -> bytes:
        return mac(self.secret, source + struct.pack(">H", port))

    def proved(self, data: bytes, source: bytes, port: int) -> bool:
        return mac(self._cookie(source, port), data[:144]) == data[144:]

    def cookie(self, data: bytes, source: bytes, port: int) -> bytes:
        """The COOKIE that answers an INIT."""
        nonce = os.urandom(12)
        sealed = AESGCM(labelled(b"cookie", self.identity.public)).encrypt(nonce, self._cookie(source, port),
                                                                         data[128:144])
        return Header(wire.COOKIE, 0, Header.parse(data).key).pack() + nonce + bytes(4) + sealed

    def answer(self, data: bytes, number: int) -> tuple[bytes, Association]:
        """(RESPONSE, the new association); packets to us carry this number."""
        self.check(data)
        handshake = noise.Handshake(False, self.identity.private, None, NO_PSK, PROLOGUE)
        try:
            time_ns, remote, offered, _ = _OFFER.unpack(handshake.read(0, data[16:128]))
        except noise.NoiseError as problem:
            raise Unreadable(str(problem)) from problem
        peer = handshake.peer_static
        assert peer is not None
        if peer not in self.identity.peers or time_ns <= self.newest.get(peer, 0) or remote == 0:
            raise Unreadable("a stranger, or an INIT that is not new")
        self.newest[peer] = time_ns
        handshake.psk = self.identity.peers[peer]
        cipher = next(c for c in self.ciphers if offered >> c & 1)
        message = handshake.write(1, os.urandom(32), _OFFER.pack(0, number, cipher, 0))
        send, open_ = handshake.split()
        response = Header(wire.RESPONSE, 0, Header.parse(data).key).pack() + message
        return response, Association(number, remote, cipher, send, open_, False)
