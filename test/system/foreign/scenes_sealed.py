# SPDX-License-Identifier: BSD-3-Clause
"""The daemon and a host in Python, which was written from doc/protocol.md alone: associations and sealed connections."""
import base64
import itertools
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import wire
from association import CIPHERS, LACK, Identity, Initiator, Unreadable
from connection import INITIAL_REQUEST, UNIT_BYTES, Options
from endpoint import Endpoint
from testbed.keys import peer_section
from testbed.process import Testbed
from wire import Cntl, Data, First, Header, Rcntl

from .application import CONNECT, RECV
from .scenes_plain import router_limits
from .setting import HOST, SERVICE, Loss, Setting, accepted, exchange, expect, setting
from ..harness import Context, Skip, need, scene

CIPHER_NAMES = ("AES-128-GCM", "AES-256-GCM", "ChaCha20-Poly1305")
QUIET_S = 0.4  # without an answer for this long, none comes


def new_identity() -> Identity:
    need(LACK)
    return Identity(os.urandom(32))


def _handshakes(s: Setting, name: str) -> int:
    """A counter of the daemon's handshakes."""
    return int(s.daemon.show("ports")[0]["handshakes"][name])


def _refused(s: Setting, counter: Callable[[str], int], name: str, send: Callable[[], object]) -> None:
    """What send() sends must get no answer, and must be counted."""
    before, heard = counter(name), len(s.foreign.heard)
    send()
    s.until(lambda: counter(name) > before, f"{name} counts it")
    s.foreign.rest(QUIET_S)
    answers = [h.data[:16].hex() for h in s.foreign.heard[heard:]]
    expect(not answers, f"{name} counts it, but {answers} came")


def _all_sealed(packets: list[bytes]) -> None:
    for data in packets:
        header = Header.parse(data)
        expect(header.kind >= wire.INIT or header.association != 0, f"a plain packet: {data[:64].hex()}")


# ---- handshakes ----------------------------------------------------------------------------------


def _initiates(cipher: int, v6: bool) -> None:
    name = CIPHER_NAMES[cipher] + (", IPv6" if v6 else "")

    @scene(f"foreign host, sealed: asks for an association, {name}", netns=True, company=True)
    def initiates(testbed: Testbed, context: Context) -> None:
        with setting(testbed, context, v6=v6, identity=new_identity()) as s:
            association = s.foreign.associate(s.public, s.remote, 1 << cipher)
            expect(association.cipher == cipher, f"cipher {association.cipher}")
            exchange(s, sealed=True)
            exchange(s, sealed=True)
            _all_sealed([h.data for h in s.foreign.heard])

    @scene(f"foreign host, sealed: answers INIT, {name}", netns=True, company=True)
    def responds(testbed: Testbed, context: Context) -> None:
        with setting(testbed, context, v6=v6, identity=new_identity()) as s:
            s.keys.responder.ciphers = (cipher,)
            exchange(s, opener_is_foreign=False, sealed=True)
            exchange(s, opener_is_foreign=False, sealed=True)
            _all_sealed([h.data for h in s.foreign.heard])
            expect([a.cipher for a in s.keys.associations.values()] == [cipher], "another cipher was used")


for _cipher in CIPHERS:
    _initiates(_cipher, False)
_initiates(0, True)


@scene("foreign host, sealed: an INIT ends the rest of the daemon's control", netns=True, company=True)
def rested(testbed: Testbed, context: Context) -> None:
    """At rest control looks ten times less often, here once a second. Its usual interval is a tenth of that."""
    with setting(testbed, context, daemon_keys={"control_interval": "100ms"}, identity=new_identity()) as s:
        took_s = []
        for _ in range(5):
            time.sleep(1.5)
            start = time.monotonic()
            s.foreign.associate(s.public, s.remote)
            took_s.append(time.monotonic() - start)
        print(f"#   RESPONSE came after {', '.join(f'{t * 1000:.0f}' for t in sorted(took_s))} ms")
        expect(sorted(took_s)[2] < 0.35, f"an INIT waits until control looks by itself: {took_s}")


@scene("foreign host, sealed: opens and accepts at the same time", netns=True, company=True)
def both(testbed: Testbed, context: Context) -> None:
    with setting(testbed, context, identity=new_identity()) as s:
        s.foreign.associate(s.public, s.remote)
        exchange(s, opener_is_foreign=False, sealed=True)
        exchange(s, sealed=True)
        expect(len(s.keys.associations) == 2, "one association serves both ways")


@scene("foreign host, sealed: a shared key", netns=True, company=True)
def shared_keys(testbed: Testbed, context: Context) -> None:
    one, other = os.urandom(32), os.urandom(32)
    with setting(testbed, context, identity=new_identity(), shared_keys=(one, one)) as s:
        s.foreign.associate(s.public, s.remote)
        exchange(s, sealed=True)
        exchange(s, opener_is_foreign=False, sealed=True)
        s.keys.identity.peers[s.public] = other
        try:
            s.foreign.associate(s.public, s.remote)
            expect(False, "the foreign host has another shared key, and can read the RESPONSE")
        except Unreadable:
            pass


@scene("foreign host, sealed: the daemon opens nothing where the shared keys differ", netns=True, company=True)
def shared_keys_differ(testbed: Testbed, context: Context) -> None:
    one, other = os.urandom(32), os.urandom(32)
    with setting(testbed, context, identity=new_identity(), shared_keys=(one, other)) as s:
        s.foreign.accept(Options())
        s.application.connect(f"{s.name}:{SERVICE}")
        s.until(lambda: _handshakes(s, "drop_response") > 0, "the daemon cannot read the RESPONSE")
        expect(not s.foreign.connections, "FIRST came")


@scene("foreign host, sealed: asks the daemon for a cookie", netns=True, company=True)
def asks_cookie(testbed: Testbed, context: Context) -> None:
    with setting(testbed, context, identity=new_identity()) as s:
        s.keys.pressed = True
        exchange(s, opener_is_foreign=False, sealed=True)
        inits = s.keys.inits
        expect(len({x[:144] for x in inits}) == 1, "the INIT with the cookie is another one")
        expect(inits[0][144:] == bytes(16) and inits[-1][144:] != bytes(16), "mac2 is wrong")


@scene("foreign host, sealed: needs a cookie while many ask", netns=True, company=True)
def needs_cookie(testbed: Testbed, context: Context) -> None:
    with setting(testbed, context, identity=new_identity()) as s:
        many, fresh = s.foreign.initiator(s.public), s.foreign.initiator(s.public)
        cookies: list[bytes] = []

        def flood(condition: Callable[[], bool]) -> bool:
            """Sends many INIT without a cookie, one with the cookie in their midst, and looks at the answers."""
            for i in range(40):
                s.foreign.udp.sendto(fresh.init(cookies[0]) if cookies and i == 20 else many.init(), s.remote)
            return condition()

        def answered(kind: int, initiator: Initiator) -> bool:
            return any(h.data[0] & 15 == kind and Header.parse(h.data).key == initiator.key for h in s.foreign.heard)

        s.until(lambda: flood(lambda: answered(wire.COOKIE, many)), "COOKIE comes")
        s.foreign.rest(QUIET_S)
        cookies += [many.cookie(h.data) for h in s.foreign.heard if h.data[0] & 15 == wire.COOKIE]
        expect(len(set(cookies)) == 1, "one address has several cookies")
        s.until(lambda: flood(lambda: answered(wire.RESPONSE, fresh)), "an INIT with the cookie is answered")
        expect(not answered(wire.COOKIE, fresh), "an INIT with the cookie was asked for a cookie")


@scene("foreign host, sealed: must show its address when its clock goes back", netns=True, company=True)
def clock(testbed: Testbed, context: Context) -> None:
    with setting(testbed, context, identity=new_identity()) as s:
        s.foreign.associate(s.public, s.remote)
        initiator = s.foreign.initiator(s.public)

        def asked(time_ns: int, cookie: bytes | None = None) -> tuple[int, bytes]:
            """(type, bytes) of the answer to an INIT with this time; (0, "") if there is none."""
            nonlocal initiator
            if cookie is None:
                initiator = s.foreign.initiator(s.public, time_ns=time_ns)
            heard = len(s.foreign.heard)
            s.foreign.send(initiator.init(cookie), s.remote)
            s.foreign.rest(QUIET_S)
            # associate() may have asked twice: the answer to that INIT has another key
            answers = [a.data for a in s.foreign.heard[heard:] if Header.parse(a.data).key == initiator.key]
            return (answers[0][0] & 15, answers[0]) if answers else (0, b"")

        past = time.time_ns() - 3600_000_000_000
        kind, data = asked(past)
        expect(kind == wire.COOKIE, f"type {kind} answers an INIT of an hour ago")
        kind, data = asked(past, initiator.cookie(data))
        expect(kind == wire.RESPONSE, "the INIT with the cookie is not answered")
        asking = initiator
        expect(asked(past + 1)[0] == wire.COOKIE, "the time went back before the association was used")
        s.foreign.install(asking.finish(data), s.remote)
        exchange(s, sealed=True)
        expect(asked(past)[0] == 0, "another INIT of the same time is answered")
        expect(asked(past + 1)[0] == wire.RESPONSE, "the time did not go back")


@scene("foreign host, sealed: an INIT that comes again gets the same RESPONSE, until it has served", netns=True,
       company=True)
def init_again(testbed: Testbed, context: Context) -> None:
    with setting(testbed, context, identity=new_identity()) as s:
        initiator = s.foreign.initiator(s.public)
        for _ in range(2):
            s.foreign.send(initiator.init(), s.remote)
            s.foreign.rest(0.1)
        s.until(lambda: len(s.foreign.heard) == 2, "both are answered")
        expect(s.foreign.heard[0].data == s.foreign.heard[1].data, "the answers differ")
        other = s.socket()
        _refused(s, lambda n: _handshakes(s, n), "drop_replay", lambda: other.sendto(initiator.init(), s.remote))
        other.close()
        s.foreign.install(initiator.finish(s.foreign.heard[0].data), s.remote)
        exchange(s, sealed=True)
        _refused(s, lambda n: _handshakes(s, n), "drop_replay", lambda: s.foreign.send(initiator.init(), s.remote))


@scene("foreign host, sealed: gets no answer without the right keys and address", netns=True, company=True)
def strangers(testbed: Testbed, context: Context) -> None:
    with setting(testbed, context, identity=new_identity()) as s:
        def handshakes(name: str) -> int:
            return _handshakes(s, name)

        stranger = Endpoint(s.socket(), new_identity())
        _refused(s, handshakes, "drop_stranger", lambda: s.foreign.send(stranger.initiator(s.public).init(), s.remote))
        _refused(s, s.daemon.counters, "drop_handshake_mac",
                 lambda: s.foreign.send(s.foreign.initiator(new_identity().public).init(), s.remote))
        init = s.foreign.initiator(s.public).init()
        _refused(s, s.daemon.counters, "drop_handshake_mac",
                 lambda: s.foreign.send(init[:20] + bytes([init[20] ^ 1]) + init[21:], s.remote))
        for packet in (First(wire.EARLY, 7), Cntl(0, 7, own_key=9, seq=1), Rcntl(0, 7, rate=5, expiry=1)):
            _refused(s, s.daemon.counters, "drop_plain", partial(s.foreign.send, packet.pack(), s.remote))
        expect(not stranger.heard, "the stranger was answered")
        stranger.close()
        s.foreign.associate(s.public, s.remote)
        exchange(s, sealed=True)


@scene("foreign host, sealed: gets no answer from a network that is not its own", netns=True, company=True)
def elsewhere(testbed: Testbed, context: Context) -> None:
    with setting(testbed, context, identity=new_identity()) as s:
        def refused(counter: Callable[[str], int], name: str) -> None:
            """A new INIT must be dropped, once the daemon has taken the new sections over."""
            def dropped() -> bool:
                init()
                return counter(name) > 0

            s.until(dropped, f"{name} counts an INIT")
            s.foreign.rest(QUIET_S)
            _refused(s, counter, name, init)

        def init() -> None:
            s.foreign.send(s.foreign.initiator(s.public).init(), s.remote)

        s.daemon.peers = s.daemon.peers.replace(f"{HOST}/32", "10.90.0.77/32")
        s.daemon.reload()
        refused(s.daemon.counters, "drop_handshake_address")
        other = base64.b64encode(new_identity().public).decode()
        s.daemon.peers += peer_section("other", [f"{HOST}/32"], other)
        s.daemon.reload()
        refused(lambda name: _handshakes(s, name), "drop_from")


# ---- renewal -------------------------------------------------------------------------------------


@scene("foreign host, sealed: renews its association in mid-connection", netns=True, company=True)
def renews(testbed: Testbed, context: Context) -> None:
    with setting(testbed, context, identity=new_identity()) as s:
        associations = [s.foreign.associate(s.public, s.remote)]
        conn, connection = accepted(s, Options(buffers=(1 << 20, 1 << 20)), (1 << 20,), sealed=True)
        data, back = os.urandom(200_000), os.urandom(200_000)
        connection.send(data)
        s.until(lambda: s.application.received(0) == data, "the first request is received")
        associations.append(s.foreign.associate(s.public, s.remote))
        first, second = associations
        turns = itertools.count()
        s.application.recv(conn, 1)
        s.application.send(conn, back, 1)
        connection.send(data)

        def mixed() -> bool:  # each turn seals under the other association
            s.keys.current[s.remote[0]] = associations[next(turns) % 2]
            return s.application.received(1) == data and len(connection.receiver.done) == 1

        s.until(mixed, "requests under both associations")
        s.keys.current[s.remote[0]] = second
        connection.want_cntl = connection.answer_me = True
        s.until(lambda: second.opened > 0, "an answer comes under the new association")
        s.foreign.rest(0.3)
        opened = first.opened
        s.application.send(conn, back, 2)
        s.until(lambda: len(connection.receiver.done) == 2, "a request under the new association")
        expect(first.opened == opened, "the daemon still seals under the old association")
        expect(list(connection.receiver.done.values()) == [back, back], "other bytes came")


@scene("foreign host, sealed: the daemon asks again when the foreign host was restarted", netns=True, company=True)
def restarted(testbed: Testbed, context: Context) -> None:
    with setting(testbed, context, identity=new_identity()) as s:
        exchange(s, opener_is_foreign=False, sealed=True)
        time.sleep(1)
        s.keys.associations.clear()
        s.keys.answered.clear()
        s.foreign.connections.clear()
        exchange(s, opener_is_foreign=False, sealed=True)
        expect(s.foreign.dropped["an association that is not known"] >= 2, "FIRST was not sent under the old association")


@scene("foreign host, sealed: the daemon renews an association after two minutes", netns=True, company=True)
def renewed(testbed: Testbed, context: Context) -> None:
    if context.seconds < 60:
        raise Skip("this takes more than two minutes: --seconds 60 or more")
    with setting(testbed, context, identity=new_identity()) as s:
        s.foreign.accept(Options(rate=200_000, burst=4000, buffers=(1 << 26,)))
        conn = s.application.connect(f"{s.name}:{SERVICE}")
        s.application.send(conn, bytes(1 << 26), 0)
        s.until(lambda: s.application.status(CONNECT) == "ok", "the connection is open")
        start = time.monotonic()
        s.until(lambda: len(s.keys.associations) == 2, "a second INIT", 150)
        expect(115 < time.monotonic() - start < 140, f"it came after {time.monotonic() - start:.0f} s")
        new = list(s.keys.associations.values())[1]
        s.until(lambda: new.opened > 100, "data under the new association")


# ---- sealed connections --------------------------------------------------------------------------


@scene("foreign host, sealed: early data complete at once", netns=True, company=True)
def early(testbed: Testbed, context: Context) -> None:
    with setting(testbed, context, identity=new_identity()) as s:
        s.foreign.associate(s.public, s.remote)
        s.application.listen(SERVICE)
        conn = s.application.accept(SERVICE)
        s.application.recv(conn, 0)
        data = os.urandom(9000)
        connection = s.foreign.open(s.remote, Options(ahead=1, unit_max=1000), True)
        connection.losing = lambda packet: isinstance(packet, Cntl)  # there is no proof
        connection.send(data)
        s.until(lambda: s.application.received(0) == data, "the receive completes")


@scene("foreign host, sealed: loses units, and gets them again", netns=True, company=True)
def loss(testbed: Testbed, context: Context) -> None:
    with setting(testbed, context, identity=new_identity()) as s:
        s.foreign.associate(s.public, s.remote)
        conn, connection = accepted(s, Options(buffers=(1 << 20,)), (1 << 20,), sealed=True)
        inward = Loss(*((connection.receiver.initial_request, unit) for unit in (3, 7, 8)))
        outward = Loss(*((INITIAL_REQUEST, unit) for unit in (5, 6, 20)))
        connection.missing, connection.losing = inward, outward
        there, back = os.urandom(100_000), os.urandom(100_000)
        connection.send(there)
        s.application.send(conn, back, 0)
        s.until(lambda: s.application.received(0) == there and list(connection.receiver.done.values()) == [back],
                "both requests are received")
        expect(not inward.left and not outward.left, f"nothing was lost: {inward.left}, {outward.left}")
        repeats = {p.unit for p in connection.heard if isinstance(p, Data) and p.flags & wire.REPEAT}
        expect({3, 7, 8} <= repeats, f"units {repeats} came again")
        units = {p.unit_bytes for p in connection.heard if isinstance(p, Data)}
        expect(max(units) <= UNIT_BYTES - 24, f"units of {units} bytes came")


@scene("foreign host, sealed: is refused, aborts and hears of an abort", netns=True, company=True)
def ends(testbed: Testbed, context: Context) -> None:
    with setting(testbed, context, identity=new_identity()) as s:
        s.foreign.associate(s.public, s.remote)
        connection = s.foreign.open(s.remote, Options(service=4711), True)
        s.until(lambda: connection.ended == wire.END_NOBODY, "the refusal")
        s.application.connect(f"{s.name}:4712")
        s.until(lambda: s.application.status(CONNECT) == "ECONNREFUSED", "the application is refused")
        _, connection = accepted(s, Options(), (1 << 20,), sealed=True)
        connection.abort()
        s.until(lambda: s.application.status(RECV, 0) == "ECONNRESET", "the application hears of the abort")
        s.until(lambda: connection.ended is not None, "END is answered")
        conn = s.application.accept(SERVICE)
        connection = s.foreign.open(s.remote, Options(), True)
        s.until(lambda: connection.known, "the connection is open")
        s.application.close_conn(conn)
        s.until(lambda: connection.ended == wire.END_ABORT, "the foreign host hears of the abort")
        _all_sealed([h.data for h in s.foreign.heard])


# ---- what has no effect --------------------------------------------------------------------------


def _flipped(data: bytes, skip: range = range(0)) -> Iterator[bytes]:
    """The packet with a bit changed, once in each byte."""
    for i in range(len(data)):
        if i not in skip:
            yield data[:i] + bytes([data[i] ^ 1 << i % 8]) + data[i + 1:]


def _sent_slowly(s: Setting, packets: Iterator[bytes]) -> int:
    """Sends packets, and waits until the daemon has taken them; returns their number."""
    before, count = s.daemon.counters("rx_frames"), 0
    for packet in packets:
        s.foreign.udp.sendto(packet, s.remote)
        count += 1
        if count % 50 == 0:
            time.sleep(0.01)
    s.until(lambda: s.daemon.counters("rx_frames") >= before + count, "the daemon takes them")
    return count


@scene("foreign host, sealed: no bit of FIRST, CNTL and DATA can be changed, but for the routers'", netns=True,
       company=True)
def flipped(testbed: Testbed, context: Context) -> None:
    with setting(testbed, context, identity=new_identity()) as s:
        s.foreign.associate(s.public, s.remote)
        s.application.listen(SERVICE)
        conn = s.application.accept(SERVICE)
        s.application.recv(conn, 0)
        connection = s.foreign.open(s.remote, Options(), True)
        connection.quiet = True
        s.daemon.wait_listening(SERVICE)
        first = s.foreign.sealed(connection, connection.first)
        _sent_slowly(s, _flipped(first))
        other = s.socket()
        other.sendto(first, s.remote)  # from another port
        other.close()
        s.foreign.rest(QUIET_S)
        expect(s.daemon.counters("conns_accepted") == 0 and not any(h.data[0] & 15 == wire.CNTL for h in s.foreign.heard),
               "a changed FIRST was taken")
        seals = s.daemon.counters("drop_seal")
        expect(seals >= 200, f"drop_seal counts {seals}")
        s.foreign.send(first, s.remote)
        s.until(lambda: connection.known, "the right FIRST is taken")
        assert connection.peer_key is not None
        end = replace(connection.cntl(s.foreign.now()), flags=wire.END, end=wire.END_ABORT)
        routers = range(wire.HOP_OFFSET, wire.HOP_OFFSET + wire.HOP_BYTES)
        _sent_slowly(s, _flipped(s.foreign.sealed(connection, end), routers))
        unit = Data(0, connection.peer_key, packet=0, time=s.foreign.now(), request=INITIAL_REQUEST, request_len=100,
                    unit_bytes=128, payload=os.urandom(100))
        sealed = s.foreign.sealed(connection, unit)
        expect(unit.payload not in sealed, "the payload can be read")
        _sent_slowly(s, _flipped(sealed))
        s.foreign.rest(QUIET_S)
        expect(s.application.status(RECV, 0) is None, "a changed packet was taken")
        s.foreign.send(sealed, s.remote)
        s.until(lambda: s.application.received(0) == unit.payload, "the right unit is taken")
        passed = bytearray(s.foreign.sealed(connection, connection.cntl(s.foreign.now())))
        passed[routers.start:routers.stop] = (100_000).to_bytes(8, "big") + bytes(8)
        taken = s.daemon.counters("rx_cntl")
        s.foreign.send(bytes(passed), s.remote)
        s.until(lambda: s.counted("rx_cntl", taken), "a CNTL that a router has lowered is taken")


@scene("foreign host, sealed: a FIRST is taken once", netns=True, company=True)
def replayed(testbed: Testbed, context: Context) -> None:
    with setting(testbed, context, identity=new_identity()) as s:
        association = s.foreign.associate(s.public, s.remote)
        association.count = 200
        exchange(s, sealed=True)
        firsts = [data for data in s.foreign.sent if data[0] & 15 == wire.FIRST]
        s.application.listen(SERVICE)
        s.application.accept(SERVICE)
        s.daemon.wait_listening(SERVICE)

        def dropped(data: bytes) -> None:
            _refused(s, s.daemon.counters, "drop_replay", lambda: s.foreign.send(data, s.remote))

        dropped(firsts[0])
        highest = int.from_bytes(firsts[-1][-24:-16], "big") & (1 << 55) - 1
        ends = s.foreign.ends(s.remote, True)

        def numbered(count: int, part: int = 0, first: int = 1) -> bytes:
            packet = First(wire.EARLY, int.from_bytes(os.urandom(8), "big") | 1, unit_max=UNIT_BYTES - 24)
            return association.seal(packet.pack(), ends, part << 56 | first << 55 | count)

        for wrong in (numbered(highest - 24), numbered(highest - 30), numbered(highest + 1, first=0),
                      numbered(1, part=32), numbered(0, part=1)):
            dropped(wrong)
        before = s.daemon.counters("conns_accepted")
        inside = numbered(highest - 23)
        s.foreign.send(inside, s.remote)
        s.until(lambda: s.counted("conns_accepted", before), "one of the 23 before the highest is taken")
        drops = s.daemon.counters("drop_replay")
        s.foreign.send(inside, s.remote)
        s.until(lambda: s.counted("drop_replay", drops), "it is taken once")
        s.application.accept(SERVICE)
        s.daemon.wait_listening(SERVICE)
        s.foreign.send(numbered(1, part=31), s.remote)
        s.until(lambda: s.counted("conns_accepted", before + 1), "another part has its own count")


@scene("foreign host, sealed: may not open under the daemon's association, nor send its packets back", netns=True,
       company=True)
def direction(testbed: Testbed, context: Context) -> None:
    with setting(testbed, context, identity=new_identity()) as s:
        exchange(s, opener_is_foreign=False, sealed=True)
        s.application.listen(SERVICE)
        s.application.accept(SERVICE)
        s.daemon.wait_listening(SERVICE)
        [association] = s.keys.associations.values()
        first = association.seal(First(wire.EARLY, 77).pack(), s.foreign.ends(s.remote, True))
        before = len(s.foreign.heard)
        s.foreign.send(first, s.remote)
        for heard in s.foreign.heard[:before]:
            s.foreign.send(heard.data, s.remote)
        s.foreign.rest(QUIET_S)
        expect(len(s.foreign.heard) == before and s.daemon.counters("conns_accepted") == 0, "an answer came")


@scene("foreign host, sealed: plain packets change nothing in a sealed connection", netns=True, company=True)
def plain_in_sealed(testbed: Testbed, context: Context) -> None:
    with setting(testbed, context, {"security": "offered"}, identity=new_identity()) as s:
        s.foreign.associate(s.public, s.remote)
        _, connection = accepted(s, Options(), (1 << 20,), sealed=True)
        connection.quiet = True
        assert connection.peer_key is not None
        end = replace(connection.cntl(s.foreign.now()), flags=wire.END, end=wire.END_ABORT)
        for packet in (end, Rcntl(0, connection.peer_key, rate=1, expiry=60_000, time=1)):
            before = s.daemon.counters("drop_plain")
            s.foreign.send(packet.pack(), s.remote)
            s.grows("drop_plain", before, str(packet))
        connection.quiet = False
        connection.send(b"right")
        s.until(lambda: s.application.received(0) == b"right", "the connection lives")


@scene("foreign host, sealed: a router's limits hold, by RCNTL that quotes a CNTL, and in CNTL", netns=True, company=True)
def routers(testbed: Testbed, context: Context) -> None:
    with setting(testbed, context, identity=new_identity()) as s:
        s.foreign.associate(s.public, s.remote)
        router_limits(s, True)
        expect(not s.counted("drop_rcntl_proof"), "an RCNTL that quotes a CNTL is dropped")


@scene("foreign host, sealed: offered: peers with a key are talked to sealed, strangers plain", netns=True, company=True)
def offered(testbed: Testbed, context: Context) -> None:
    identity = new_identity()
    with setting(testbed, context, {"security": "offered"}, identity=identity) as s:
        s.foreign.associate(s.public, s.remote)
        exchange(s, sealed=True)
        exchange(s, opener_is_foreign=False, sealed=True)
        s.daemon.peers = s.daemon.peers.replace(f"{HOST}/32", "10.90.0.77/32")
        s.daemon.reload()
        exchange(s)
        exchange(s, opener_is_foreign=False)


@scene("foreign host, sealed: offered: a peer with a key opens no plain connection", netns=True, company=True)
def offered_plain(testbed: Testbed, context: Context) -> None:
    with setting(testbed, context, {"security": "offered"}, identity=new_identity()) as s:
        s.application.listen(SERVICE)
        s.application.accept(SERVICE)
        s.daemon.wait_listening(SERVICE)
        connection = s.foreign.open(s.remote, Options())
        s.foreign.rest(QUIET_S)
        expect(not connection.known and not s.foreign.heard, "a peer with a key opened a plain connection")
