# SPDX-License-Identifier: BSD-3-Clause
"""A host in Python on a UDP socket: connections, and associations with peers. Written from doc/protocol.md."""
import collections
import itertools
import os
import select
import socket
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import wire
from association import ALL_CIPHERS, TRAILER_BYTES, Association, Ends, Identity, Initiator, Responder, Unreadable
from connection import INITIAL_REQUEST, ANSWER_REQUEST, Address, Connection, Options
from wire import Bad, First, Header, Packet

PORT = 47800
NOT_ECT, ECT_0 = 0, 2
WAIT_S = 0.002  # the longest time without a look at the timers
INIT_S = (0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 0.64, 0.64, 0.64)


class Failed(Exception):
    """What must happen has not."""


def address_bytes(text: str) -> bytes:
    """16 bytes; IPv4 as ::ffff:a.b.c.d."""
    if ":" in text:
        return socket.inet_pton(socket.AF_INET6, text)
    return bytes(10) + b"\xff\xff" + socket.inet_aton(text)


@dataclass
class Heard:
    """A datagram that came."""
    data: bytes
    source: Address
    ecn: int


@dataclass
class Keys:
    """What an endpoint has of section 11. pressed: INIT without a cookie are answered with COOKIE."""
    identity: Identity
    responder: Responder
    associations: dict[int, Association] = field(default_factory=dict)  # by our number
    current: dict[str, Association] = field(default_factory=dict)  # host -> the newest that we asked for
    answered: dict[bytes, bytes] = field(default_factory=dict)  # INIT -> its RESPONSE
    pressed: bool = False
    deaf: bool = False  # INIT are not answered
    inits: list[bytes] = field(default_factory=list)  # those that came


class Endpoint:
    """udp: a socket that is bound to an address, and the calls that the scenes watch."""

    def __init__(self, udp: socket.socket, identity: Identity | None = None) -> None:
        self.udp = udp
        self.host, self.port = udp.getsockname()[:2]
        self.v6 = udp.family == socket.AF_INET6
        udp.setblocking(False)
        udp.setsockopt(*((socket.IPPROTO_IPV6, socket.IPV6_RECVTCLASS) if self.v6 else
                         (socket.IPPROTO_IP, socket.IP_RECVTOS)), 1)
        self.keys = Keys(identity, Responder(identity)) if identity is not None else None
        self.connections: list[Connection] = []
        self.waiting: list[Options] = []  # passive connections
        self.served: set[int] = set()  # services that were ever asked for
        self.heard: list[Heard] = []  # everything that came
        self.sent: list[bytes] = []
        self.dropped: collections.Counter[str] = collections.Counter()
        self.numbers = itertools.count(0x51000001)
        self.disorder: Callable[[list[Packet]], list[Packet]] = lambda packets: packets  # of those sent in one turn

    def close(self) -> None:
        self.udp.close()

    @staticmethod
    def now() -> int:
        return time.monotonic_ns()

    # ---- the socket ------------------------------------------------------------------------------

    def send(self, data: bytes, to: Address, ecn: int = NOT_ECT) -> None:
        self.sent.append(data)
        level = (socket.IPPROTO_IPV6, socket.IPV6_TCLASS) if self.v6 else (socket.IPPROTO_IP, socket.IP_TOS)
        try:
            self.udp.sendmsg([data], [(*level, struct.pack("i", ecn))], 0, to)
        except BlockingIOError:
            pass  # lost

    def _receive(self) -> Heard | None:
        try:
            data, ancillary, _, source = self.udp.recvmsg(65536, 64)
        except BlockingIOError:
            return None
        return Heard(data, (source[0], source[1]), next((x[2][0] & 3 for x in ancillary), 0))

    def ends(self, remote: Address, outward: bool) -> Ends:
        ours, its = address_bytes(self.host), address_bytes(remote[0])
        return Ends(ours, its, self.port, remote[1]) if outward else Ends(its, ours, remote[1], self.port)

    def run(self, condition: Callable[[], bool], what: str, timeout_s: float = 10.0) -> None:
        """Works until the condition holds."""
        end = time.monotonic() + timeout_s
        while not condition():
            if time.monotonic() > end:
                raise Failed(f"{what}: not within {timeout_s:g} s; dropped here {dict(self.dropped)}")
            self.turn()

    def rest(self, seconds: float) -> None:
        """Works for this long."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.turn()

    def turn(self) -> None:
        """Takes what has come, and sends what is due."""
        select.select([self.udp], [], [], WAIT_S)
        for _ in range(256):
            heard = self._receive()
            if heard is None:
                break
            self.heard.append(heard)
            try:
                self._take(heard)
            except (Bad, Unreadable) as problem:
                self.dropped[str(problem)] += 1
        for connection in self.connections:
            for packet in self.disorder(connection.poll(self.now())):
                self.transmit(connection, packet)

    # ---- sealing ---------------------------------------------------------------------------------

    def sealed(self, connection: Connection, packet: Packet) -> bytes:
        """The packet's bytes, sealed if its connection is."""
        data = packet.pack()
        if not connection.sealed:
            return data
        assert self.keys is not None
        association = self.keys.current[connection.remote[0]] if connection.opener else connection.association
        assert association is not None
        sealed = association.seal(data, self.ends(connection.remote, True))
        if isinstance(packet, wire.Cntl):
            connection.proof = sealed[-16:-8]
        return sealed

    def transmit(self, connection: Connection, packet: Packet) -> None:
        new_data = isinstance(packet, wire.Data) and not packet.flags & wire.REPEAT
        self.send(self.sealed(connection, packet), connection.remote, ECT_0 if new_data else NOT_ECT)

    def initiator(self, public: bytes, ciphers: int = ALL_CIPHERS, time_ns: int | None = None) -> Initiator:
        assert self.keys is not None
        return Initiator(self.keys.identity, public, next(self.numbers),
                         time.time_ns() if time_ns is None else time_ns, ciphers)

    def associate(self, public: bytes, remote: Address, ciphers: int = ALL_CIPHERS) -> Association:
        """Asks for an association, until RESPONSE comes."""
        initiator = self.initiator(public, ciphers)
        cookie: bytes | None = None
        for wait_s in INIT_S:
            start = len(self.heard)
            self.send(initiator.init(cookie), remote)
            end = time.monotonic() + wait_s
            while time.monotonic() < end:
                self.turn()
                for heard in self.heard[start:]:
                    kind = heard.data[0] & 0x0f
                    if kind == wire.COOKIE and initiator.answered_by(heard.data):
                        cookie = initiator.cookie(heard.data)
                    elif kind == wire.RESPONSE and initiator.answered_by(heard.data):
                        return self.install(initiator.finish(heard.data), remote)
        raise Failed("no RESPONSE comes")

    def install(self, association: Association, remote: Address) -> Association:
        assert self.keys is not None
        self.keys.associations[association.number] = association
        if association.initiator:
            self.keys.current[remote[0]] = association
        return association

    def _take_handshake(self, header: Header, heard: Heard) -> None:
        if self.keys is None:
            raise Bad("bad_type")
        if header.kind != wire.INIT:
            return  # associate() looks for it
        keys = self.keys
        keys.responder.check(heard.data)
        keys.inits.append(heard.data)
        source = address_bytes(heard.source[0])
        if keys.deaf:
            return
        if keys.pressed and not keys.responder.proved(heard.data, source, heard.source[1]):
            self.send(keys.responder.cookie(heard.data, source, heard.source[1]), heard.source)
            return
        if heard.data not in keys.answered:
            response, association = keys.responder.answer(heard.data, next(self.numbers))
            keys.answered[heard.data] = response
            self.install(association, heard.source)
        self.send(keys.answered[heard.data], heard.source)

    def _opened(self, header: Header, heard: Heard) -> tuple[bytes, Association | None]:
        """The packet without its trailer, and its association."""
        if header.association == 0:
            return heard.data, None
        association = self.keys.associations.get(header.association) if self.keys is not None else None
        if association is None:
            raise Unreadable("an association that is not known")
        data = heard.data
        if header.kind == wire.FIRST:  # what is behind its trailer is padding
            data = data[:wire.FIRST_BYTES + TRAILER_BYTES]
        return association.open(data, self.ends(heard.source, False)), association

    # ---- connections -----------------------------------------------------------------------------

    def open(self, remote: Address, options: Options, sealed: bool = False) -> Connection:
        """Opens a connection; FIRST goes with the next turn."""
        key = int.from_bytes(os.urandom(8), "big") or 1
        options = self._options(options, sealed)
        first = First(wire.EARLY, key, initial_request=INITIAL_REQUEST, unit_max=options.unit_max,
                      service=options.service, capabilities=options.capabilities, ahead=options.ahead,
                      rate_req=options.rate_req, burst_req=options.burst_req, silence=options.silence_ms,
                      answer_request=ANSWER_REQUEST)
        connection = Connection(remote, True, options, first, self.now())
        connection.sealed = sealed
        self.connections.append(connection)
        return connection

    def accept(self, options: Options) -> None:
        """One connection to this service may come."""
        self.served.add(options.service)
        self.waiting.append(options)

    @staticmethod
    def _options(options: Options, sealed: bool) -> Options:
        """Units of sealed connections are shorter by the trailer."""
        return replace(options, unit_max=options.unit_max - TRAILER_BYTES) if sealed else options

    def _find(self, packet: Packet, source: Address) -> Connection | None:
        for connection in self.connections:
            if packet.flags & wire.EARLY:
                if not connection.opener and (connection.first.key, connection.remote) == (packet.key, source):
                    return connection
            elif connection.own_key == packet.key:
                return connection
        return None

    def _take(self, heard: Heard) -> None:
        header = Header.parse(heard.data)
        if header.kind in (wire.INIT, wire.RESPONSE, wire.COOKIE):
            self._take_handshake(header, heard)
            return
        data, association = self._opened(header, heard)
        packet = wire.parse(data)
        connection = self._find(packet, heard.source)
        if connection is None and isinstance(packet, First):
            connection = self._accepted(packet, heard.source, association)
        if connection is None:
            raise Unreadable("of no connection")
        if connection.remote != heard.source or connection.sealed != (association is not None):
            raise Unreadable("from another address, or not sealed as its connection")
        if not connection.opener:
            connection.association = association
        connection.take(packet, heard.ecn, self.now())

    def _accepted(self, first: First, source: Address, association: Association | None) -> Connection | None:
        """The connection that a FIRST opens, if anybody waits for it."""
        found = next((o for o in self.waiting if o.service == first.service), None)
        if found is None:
            if first.service not in self.served:
                refusal = Connection(source, False, Options(), first, self.now())
                refusal.own_key, refusal.flags, refusal.end = first.key, wire.END, wire.END_NOBODY
                refusal.sealed, refusal.association = association is not None, association
                self.transmit(refusal, refusal.cntl(self.now()))
            return None
        self.waiting.remove(found)
        options = self._options(found, association is not None)
        connection = Connection(source, False, options, first, self.now())
        connection.sealed = association is not None
        self.connections.append(connection)
        return connection
