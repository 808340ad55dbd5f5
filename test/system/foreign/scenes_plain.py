# SPDX-License-Identifier: BSD-3-Clause
"""The daemon and a host in Python, which was written from doc/protocol.md alone: plain connections."""
import ctypes
import os
import random
from collections.abc import Iterable
from dataclasses import replace

import wire
from connection import INITIAL_REQUEST, UNIT_BYTES, Connection, Options
from flow import Credit
from testbed.process import Testbed
from wire import Cntl, Data, First, Packet, Rcntl, position

from .application import ACCEPT, CONNECT, RECV, SEND
from .setting import SERVICE, Loss, Setting, accepted, exchange, expect, setting
from ..harness import Context, scene


def _connected(s: Setting, options: Options, go_back_n: bool = False) -> tuple[ctypes.c_void_p, Connection]:
    """(the application's connection, the foreign host's): open. The daemon opens it."""
    s.foreign.accept(options)
    conn = s.application.connect(f"{s.name}:{SERVICE}", go_back_n)
    s.until(lambda: s.application.status(CONNECT) == "ok", "the connection is open")
    return conn, s.foreign.connections[-1]


def _data_of(connection: Connection) -> list[Data]:
    return [p for p in connection.heard if isinstance(p, Data)]


def _cntl_of(connection: Connection) -> list[Cntl]:
    return [p for p in connection.heard if isinstance(p, Cntl)]


def _excess(units: Iterable[Data], rate: int, burst: int) -> float:
    """How many bytes more were sent than rate * W + 2 * burst + one packet, in the worst window W."""
    worst, low = 0.0, 0.0
    total, allowance = 0, 2 * burst + 1500
    start = None
    for unit in units:  # total - rate * time, against its lowest value before
        start = unit.time if start is None else start
        at = rate * (unit.time - start) / 1e9
        low = min(low, total - at)
        total += len(unit.payload)
        worst = max(worst, total - at - low - allowance)
    return worst


# ---- a whole connection --------------------------------------------------------------------------


@scene("foreign host: opens, moves requests both ways, closes in order", netns=True, company=True)
def opens(testbed: Testbed, context: Context) -> None:
    with setting(testbed, context) as s:
        exchange(s)
        exchange(s)


@scene("foreign host: opens over IPv6", netns=True, company=True)
def opens_v6(testbed: Testbed, context: Context) -> None:
    with setting(testbed, context, v6=True) as s:
        exchange(s)


@scene("foreign host: accepts, moves requests both ways, closes in order", netns=True, company=True)
def accepts(testbed: Testbed, context: Context) -> None:
    with setting(testbed, context) as s:
        exchange(s, opener_is_foreign=False)


@scene("foreign host: accepts over IPv6", netns=True, company=True)
def accepts_v6(testbed: Testbed, context: Context) -> None:
    with setting(testbed, context, v6=True) as s:
        exchange(s, opener_is_foreign=False)


# ---- opening -------------------------------------------------------------------------------------


@scene("foreign host: early data complete with the proof, not before", netns=True, company=True)
def early(testbed: Testbed, context: Context) -> None:
    with setting(testbed, context) as s:
        s.application.listen(SERVICE)
        conn = s.application.accept(SERVICE)
        s.application.recv(conn, 0)
        data = os.urandom(9000)
        connection = s.foreign.open(s.remote, Options(ahead=1))
        connection.send(data)
        connection.losing = lambda packet: isinstance(packet, Cntl)
        s.until(lambda: s.application.status(ACCEPT) == "ok" and connection.sender.complete(), "early data are placed")
        s.foreign.rest(0.3)
        expect(s.application.status(RECV, 0) is None, "a receive completed without the proof")
        sent = [wire.parse(x) for x in s.foreign.sent]
        expect(isinstance(sent[0], First) and all(p.flags & wire.EARLY for p in sent), "the packets were not early")
        connection.losing = lambda packet: False
        connection.want_cntl = True
        s.until(lambda: s.application.received(0) == data, "the receive completes")


@scene("foreign host: is refused where nobody listens", netns=True, company=True)
def refused(testbed: Testbed, context: Context) -> None:
    with setting(testbed, context) as s:
        connection = s.foreign.open(s.remote, Options(service=4711))
        s.until(lambda: connection.ended is not None, "an answer")
        expect(connection.ended == wire.END_NOBODY and connection.peer_key == connection.own_key,
               f"the answer is {connection.peer}")
        expect(s.counted("drop_no_listener"), "drop_no_listener counts nothing")


@scene("foreign host: refuses a service that it has not", netns=True, company=True)
def refuses(testbed: Testbed, context: Context) -> None:
    with setting(testbed, context) as s:
        s.application.connect(f"{s.name}:4711")
        s.until(lambda: s.application.status(CONNECT) == "ECONNREFUSED", "the application hears of it")


@scene("foreign host: gets no answer to FIRST until somebody waits", netns=True, company=True)
def unanswered(testbed: Testbed, context: Context) -> None:
    with setting(testbed, context) as s:
        s.application.listen(SERVICE)
        connection = s.foreign.open(s.remote, Options())
        s.foreign.rest(0.4)
        expect(not s.foreign.heard and connection.first_tries >= 4, f"{s.foreign.heard} came")
        expect(s.counted("drop_no_accept", 3), "drop_no_accept does not count")
        s.application.accept(SERVICE)
        s.until(lambda: connection.known, "the connection is open")


@scene("foreign host: must repeat a cookie while others are unproven", netns=True, company=True)
def cookie(testbed: Testbed, context: Context) -> None:
    with setting(testbed, context) as s:
        s.application.listen(SERVICE)
        for _ in range(2):
            s.application.accept(SERVICE)
        s.daemon.wait_listening(SERVICE, count=2)  # a FIRST that comes before is not answered, nor sent again
        unproven = s.foreign.open(s.remote, Options())
        s.until(lambda: unproven.first_tries > 0, "FIRST is sent")
        unproven.quiet = True
        s.until(lambda: unproven.known, "FIRST is answered")
        second = s.foreign.open(s.remote, Options())
        s.until(lambda: second.first_tries == 1, "FIRST is sent")
        second.quiet = True
        s.until(lambda: second.cookie != 0, "a cookie is asked for")
        # The cookie holds for nothing but this FIRST.
        other = replace(second.first, key=second.own_key ^ 1, cookie=second.cookie)
        wrong = replace(second.first, cookie=second.cookie ^ 1)
        asked = s.daemon.counters("drop_no_cookie")
        for first in (other, wrong):
            s.foreign.send(first.pack(), s.remote)
        s.until(lambda: s.counted("drop_no_cookie", asked + 1), "the wrong cookies are refused")
        expect(not second.known, "a wrong cookie opened the connection")
        second.quiet = False
        s.until(lambda: second.known, "the right cookie opens the connection")


# ---- grants --------------------------------------------------------------------------------------


@scene("foreign host: the daemon keeps to its grants, a lower one too", netns=True, company=True)
def granted(testbed: Testbed, context: Context) -> None:
    with setting(testbed, context) as s:
        rates = ((2_000_000, 30_000), (500_000, 10_000))
        conn, connection = accepted(s, Options(rate=rates[0][0], burst=rates[0][1], buffers=(1 << 20, 1 << 20)))
        connection.want_cntl = True
        s.application.send(conn, bytes(1 << 20), 0)
        s.until(lambda: len(connection.receiver.done) == 1, "the first request comes")
        lower = connection.seq + 1
        connection.grant(*rates[1])
        s.application.send(conn, bytes(1 << 20), 1)
        s.until(lambda: len(connection.receiver.done) == 2, "the second request comes")
        units = _data_of(connection)
        for (rate, burst), some in zip(rates, ([u for u in units if u.cntl_seen < lower],
                                               [u for u in units if u.cntl_seen >= lower])):
            expect(len(some) > 500, f"{len(some)} units came under the grant of {rate} bytes/s")
            excess = _excess(some, rate, burst)
            expect(excess <= 0, f"{excess:.0f} bytes more than a grant of {rate} bytes/s and {burst} bytes allows")


@scene("foreign host: a sender that keeps to its grants loses nothing, one that does not is cut", netns=True,
       company=True)
def over_grant(testbed: Testbed, context: Context) -> None:
    with setting(testbed, context, {"capacity": "1Mbit"}) as s:
        _, connection = accepted(s, Options(), (1 << 18, 1 << 22))
        connection.send(bytes(1 << 18))
        s.until(lambda: s.application.status(RECV, 0) == "ok", "the request is received")
        expect(not s.counted("drop_over_grant"), "drop_over_grant counts what was allowed")

        class Greedy(Credit):
            def allows(self, now: int) -> bool:
                return True

        connection.sender.credit = Greedy(0, 0, 0)
        connection.send(bytes(1 << 22))
        s.until(lambda: s.counted("drop_over_grant"), "what was not allowed is dropped")


def router_limits(s: Setting, sealed: bool) -> None:
    """A router limits the daemon's sending to the foreign host, by RCNTL and in CNTL."""
    conn, connection = accepted(s, Options(buffers=(1 << 20, 1 << 20)), sealed=sealed)
    rate, burst = 1_000_000, 20_000
    assert connection.peer_key is not None
    limit = Rcntl(0, connection.peer_key, rate=rate, burst=burst, expiry=20_000, hop=1, time=1, proof=connection.proof)
    s.foreign.send(limit.pack(), connection.remote)
    s.until(lambda: s.counted("rx_rcntl"), "RCNTL is taken")
    s.application.send(conn, bytes(1 << 20), 0)
    s.until(lambda: len(connection.receiver.done) == 1, "the first request comes")
    by_rcntl = _data_of(connection)
    expect(_excess(by_rcntl, rate, burst) <= 0, "RCNTL does not limit")
    lower = connection.seq + 1

    def passing(cntl: Cntl) -> None:
        cntl.hop_rate, cntl.hop_burst, cntl.hop_expiry, cntl.hop_count = rate // 2, burst // 2, 20_000, 1

    connection.change, connection.want_cntl = passing, True
    s.application.send(conn, bytes(1 << 20), 1)
    s.until(lambda: len(connection.receiver.done) == 2, "the second request comes")
    by_cntl = [u for u in _data_of(connection)[len(by_rcntl):] if u.cntl_seen >= lower]
    expect(len(by_cntl) > 500 and _excess(by_cntl, rate // 2, burst // 2) <= 0, "the limit in CNTL does not hold")


@scene("foreign host: a router's limits hold, by RCNTL and in CNTL", netns=True, company=True)
def routers(testbed: Testbed, context: Context) -> None:
    with setting(testbed, context) as s:
        router_limits(s, False)


# ---- loss ----------------------------------------------------------------------------------------


@scene("foreign host: units that it misses come again, and no others", netns=True, company=True)
def nak(testbed: Testbed, context: Context) -> None:
    with setting(testbed, context) as s:
        conn, connection = _connected(s, Options(buffers=(1 << 20,)))
        first = connection.receiver.initial_request
        loss = Loss((first, 3), (first, 7), (first, 8), (first, 211))
        connection.missing = loss
        missed = {unit for _, unit in loss.left}
        data = os.urandom(211 * UNIT_BYTES + 1)  # units 0 to 211: no longer ones than the foreign host takes
        s.application.send(conn, data, 0)
        s.until(lambda: len(connection.receiver.done) == 1, "the request comes")
        units = _data_of(connection)
        repeats = [u for u in units if u.flags & wire.REPEAT]
        expect(list(connection.receiver.done.values()) == [data], "other bytes came")
        expect({u.unit for u in repeats} == missed and len(repeats) == len(missed),
               f"units {[u.unit for u in repeats]} came again")
        expect(len({u.packet for u in units}) == len(units), "a packet number was used twice")
        marks = {(wire.Header.parse(h.data).kind, bool(h.data[1] & wire.REPEAT), h.ecn) for h in s.foreign.heard}
        expect(marks == {(wire.FIRST, False, 0), (wire.CNTL, False, 0), (wire.DATA, False, 2), (wire.DATA, True, 0)},
               f"packets by type, repetition and ECN are {marks}")


@scene("foreign host: what it loses is named in spans, the last unit too", netns=True, company=True)
def spans(testbed: Testbed, context: Context) -> None:
    with setting(testbed, context) as s:
        _, connection = accepted(s, Options(), (1 << 20,))
        data, first = os.urandom(99 * UNIT_BYTES + 1), INITIAL_REQUEST  # units 0 to 99
        connection.losing = Loss((first, 5), (first, 6), (first, 99))
        connection.send(data)
        s.until(lambda: s.application.received(0) == data and connection.sender.complete(), "the request is received")
        named = {p for cntl in _cntl_of(connection) for a, b in cntl.spans for p in range(a, min(b, position(first, 100)))}
        expect(named == {position(first, unit) for unit in (5, 6, 99)},
               f"the spans name {sorted(hex(p) for p in named)}")
        connection.want_cntl = connection.answer_me = True
        s.until(lambda: connection.peer is not None and connection.peer.lost == 3, "three packets count as lost")


@scene("foreign host: disorder and duplicates change nothing", netns=True, company=True)
def disorder(testbed: Testbed, context: Context) -> None:
    with setting(testbed, context) as s:
        _, connection = accepted(s, Options(), (1 << 20,))
        draw = random.Random(1)

        def mix(packets: list[Packet]) -> list[Packet]:
            twice = packets + [p for p in packets if draw.random() < 0.3]
            return draw.sample(twice, len(twice))

        s.foreign.disorder = mix
        data = os.urandom(500_000)
        connection.send(data)
        s.until(lambda: s.application.received(0) == data and connection.sender.complete(), "the request is received")
        expect(s.counted("drop_duplicate"), "drop_duplicate counts nothing")
        connection.want_cntl = connection.answer_me = True
        s.until(lambda: connection.peer is not None and
                connection.peer.received + connection.peer.lost == connection.sender.packet, "each packet counts once")


@scene("foreign host: units that are split, and a new attempt with other units", netns=True, company=True)
def smaller(testbed: Testbed, context: Context) -> None:
    with setting(testbed, context) as s:
        _, connection = accepted(s, Options(), (1 << 20, 1 << 20))
        data = os.urandom(100_000)
        connection.losing = lambda packet: isinstance(packet, Data) and packet.unit % 2 == 1
        connection.send(data)
        s.until(lambda: connection.sender.next == position(INITIAL_REQUEST + 1, 0), "all units were sent")
        s.foreign.rest(0.1)
        connection.losing = lambda packet: False
        connection.sender.split(2)
        s.until(lambda: s.application.received(0) == data, "the request is received in smaller units")
        s.until(connection.sender.complete, "it is acknowledged")
        data = os.urandom(100_000)
        connection.losing = lambda packet: isinstance(packet, Data) and packet.unit == 0
        connection.send(data)
        s.until(lambda: connection.sender.next == position(INITIAL_REQUEST + 2, 0), "all units were sent")
        s.foreign.rest(0.1)
        connection.losing = lambda packet: False
        connection.sender.restart(500)
        s.until(lambda: s.application.received(1) == data, "the request is received in another attempt")


@scene("foreign host: go-back-N, as sender and as receiver", netns=True, company=True)
def go_back_n(testbed: Testbed, context: Context) -> None:
    with setting(testbed, context) as s:
        data = os.urandom(140_000)
        _, connection = accepted(s, Options(capabilities=wire.GO_BACK_N), (1 << 20,))
        connection.losing = Loss((INITIAL_REQUEST, 5))
        connection.send(data)
        s.until(lambda: s.application.received(0) == data, "the request is received")
        expect(s.counted("drop_out_of_order"), "drop_out_of_order counts nothing")
        named = [cntl.spans for cntl in _cntl_of(connection) if cntl.spans]
        expect(bool(named) and all(len(x) == 1 for x in named) and named[0][0][0] == position(INITIAL_REQUEST, 5),
               f"the spans are {named}")
        conn, connection = _connected(s, Options(buffers=(1 << 20,)), go_back_n=True)
        expect(connection.first.capabilities == wire.GO_BACK_N, "FIRST does not say go-back-N")
        connection.missing = Loss((connection.receiver.initial_request, 5))
        s.application.send(conn, data, 1)
        s.until(lambda: len(connection.receiver.done) == 1, "the request comes")
        expect(list(connection.receiver.done.values()) == [data], "other bytes came")


# ---- requests ------------------------------------------------------------------------------------


@scene("foreign host: a request longer than its buffer fails alone, in both directions", netns=True, company=True)
def too_long(testbed: Testbed, context: Context) -> None:
    with setting(testbed, context) as s:
        conn, connection = accepted(s, Options(buffers=(1000, 1 << 20)), (1000, 1 << 20))
        connection.want_cntl = True
        long, short = os.urandom(5000), os.urandom(900)
        for number, data in enumerate((long, short)):
            connection.send(data)
            s.application.send(conn, data, number)
        s.until(lambda: s.application.received(1) == short and s.application.status(SEND, 1) == "ok", "short ones pass")
        expect(s.application.status(RECV, 0) == s.application.status(SEND, 0) == "EMSGSIZE",
               f"the long ones end as {s.application.done}")
        s.until(lambda: connection.sender.refused == {INITIAL_REQUEST: 1}, "the foreign host's long request is refused")
        expect(list(connection.receiver.done.values()) == [None, short], "the foreign host got other bytes")


@scene("foreign host: a provisional ACK comes before the request is complete", netns=True, company=True)
def provisional(testbed: Testbed, context: Context) -> None:
    with setting(testbed, context) as s:
        _, connection = accepted(s, Options(), (1 << 20,))
        connection.losing = lambda packet: isinstance(packet, Data) and packet.unit > 60
        connection.sender.pack_at = position(INITIAL_REQUEST, 60)
        data = os.urandom(140_000)
        connection.send(data)
        s.until(lambda: any(c.flags & wire.PACK and c.ack > position(INITIAL_REQUEST, 60)
                            for c in _cntl_of(connection)), "a provisional ACK")
        expect(s.application.status(RECV, 0) is None, "half a request is complete")
        connection.losing = lambda packet: False
        s.until(lambda: s.application.received(0) == data, "the request is received")


@scene("foreign host: short units where it takes no longer ones", netns=True, company=True)
def unit_max(testbed: Testbed, context: Context) -> None:
    with setting(testbed, context) as s:
        conn, connection = accepted(s, Options(unit_max=500, buffers=(1 << 20,)))
        connection.want_cntl = True
        data = os.urandom(50_001)
        s.application.send(conn, data, 0)
        s.until(lambda: list(connection.receiver.done.values()) == [data], "the request comes")
        expect(all(64 <= u.unit_bytes <= 500 for u in _data_of(connection)), "a unit is longer than 500 bytes")
        # An opener learns of it from the first CNTL.
        conn, connection = _connected(s, Options(unit_max=500, buffers=(1 << 20,)))
        s.application.send(conn, data, 1)
        s.until(lambda: list(connection.receiver.done.values()) == [data], "the request comes")
        expect(all(64 <= u.unit_bytes <= 500 for u in _data_of(connection) if u.cntl_seen != 0),
               "a unit is longer than 500 bytes")


# ---- the end -------------------------------------------------------------------------------------


@scene("foreign host: each direction closes alone", netns=True, company=True)
def half_closed(testbed: Testbed, context: Context) -> None:
    with setting(testbed, context) as s:
        conn, connection = accepted(s, Options(buffers=(1 << 20,)), (1 << 20,))
        connection.shutdown()
        s.until(lambda: s.application.status(RECV, 0) == "ENODATA", "the application reads the end")
        s.foreign.rest(0.2)
        expect(connection.ended is None, "one direction ended both")
        data = os.urandom(20_000)
        s.application.send(conn, data, 0)
        s.until(lambda: s.application.status(SEND, 0) == "ok", "the other direction goes on")
        s.application.shutdown(conn)
        s.ended(connection)
        conn, connection = _accepted_again(s)
        connection.flags |= wire.RCLOSE  # the reader gives up
        connection.want_cntl = True
        s.application.send(conn, data, 1)
        s.until(lambda: s.application.status(SEND, 1) not in (None, "ok"), "what is outstanding fails")
        connection.send(data)
        s.until(lambda: s.application.received(2) == data, "the other direction goes on")


def _accepted_again(s: Setting) -> tuple[ctypes.c_void_p, Connection]:
    conn = s.application.accept(SERVICE)
    s.application.recv(conn, 2)
    connection = s.foreign.open(s.remote, Options())
    s.until(lambda: connection.known, "the connection is open")
    return conn, connection


@scene("foreign host: aborts, and what comes late is answered with END", netns=True, company=True)
def aborts(testbed: Testbed, context: Context) -> None:
    with setting(testbed, context) as s:
        _, connection = accepted(s, Options(), (1 << 20,))
        connection.abort()
        s.until(lambda: s.application.status(RECV, 0) == "ECONNRESET", "the application hears of it")
        s.until(lambda: connection.ended is not None, "END is answered")
        connection.flags = 0
        assert connection.peer_key is not None
        unit = Data(0, connection.peer_key, packet=0, request=INITIAL_REQUEST, request_len=5, unit_bytes=64,
                    payload=b"later")
        late_ones: list[Packet] = [connection.cntl(s.foreign.now()), unit]
        for late in late_ones:
            connection.heard.clear()
            s.foreign.transmit(connection, late)
            s.until(lambda: bool(connection.heard), f"{late} is answered")
            expect(bool(_cntl_of(connection)[-1].flags & wire.END), "the answer is no END")
            connection.flags = 0


@scene("foreign host: hears of an abort by the application", netns=True, company=True)
def aborted(testbed: Testbed, context: Context) -> None:
    with setting(testbed, context) as s:
        conn, connection = _connected(s, Options(buffers=(1 << 20,)))
        s.application.close_conn(conn)
        s.until(lambda: connection.ended == wire.END_ABORT, "END comes")
        before = connection.cntl_count
        s.foreign.rest(0.5)
        expect(connection.cntl_count <= before + 1, "END is repeated although it was answered")


@scene("foreign host: is given up when it is silent", netns=True, company=True)
def silent(testbed: Testbed, context: Context) -> None:
    with setting(testbed, context, {"silence": "3s"}) as s:
        _, connection = accepted(s, Options(silence_ms=3000), (1 << 20,))
        connection.quiet = True
        s.until(lambda: s.application.status(RECV, 0) == "ETIMEDOUT", "the application hears of it")
        s.until(lambda: connection.ended == wire.END_SILENCE, "END comes")


# ---- what has no effect --------------------------------------------------------------------------


@scene("foreign host: each verdict has its counter", netns=True, company=True)
def verdicts(testbed: Testbed, context: Context) -> None:
    first, key = First(wire.EARLY, 7).pack(), 0x1122334455667788
    cntl = Cntl(0, key, own_key=9, seq=1).pack()
    data = Data(0, key, request_len=100, unit_bytes=64, payload=bytes(64)).pack()
    bad = {"short": [first[:15], first[:16], first[:191], cntl[:175], data[:55],
                     Cntl(0, key, own_key=9, seq=1, spans=[(0, 1)]).pack()[:-1]],
           "version": [b"\x21" + first[1:], b"\x01" + first[1:]],
           "type": [b"\x10" + first[1:], b"\x18" + first[1:], b"\x15" + bytes([0]) + first[2:160]],
           "security": [first[:4] + b"\0\0\0\1" + first[8:], b"\x14\0" + first[2:4] + b"\0\0\0\1" + first[8:40]],
           "flags": [first[:1] + b"\0" + first[2:], cntl[:1] + b"\x80" + cntl[2:], data[:1] + b"\x10" + data[2:]],
           "field": [first[:8] + bytes(8) + first[16:], First(wire.EARLY, 7, service=0).pack(),
                     Cntl(0, key, own_key=9, seq=0).pack(), Cntl(0, key, own_key=9, seq=1, rate=(1 << 48) + 1).pack(),
                     Data(0, key, request_len=100, unit=2, unit_bytes=64).pack(),
                     Rcntl(0, key, rate=5, expiry=0).pack()],
           "length": [cntl + b"\0", data[:-1], data + b"\0", Rcntl(0, key, 5, expiry=1).pack() + b"\0"]}
    with setting(testbed, context) as s:
        for verdict, packets in bad.items():
            before = s.daemon.counters(f"drop_wire_{verdict}")
            for number, packet in enumerate(packets):
                s.foreign.send(packet, s.remote)
                s.grows(f"drop_wire_{verdict}", before + number, f"{packet[:24].hex()}, of {len(packet)} bytes")
        expect(not s.foreign.heard, f"{s.foreign.heard} came")
        before = s.daemon.counters("drop_no_listener")
        s.foreign.send(first + bytes(1000), s.remote)  # padding is no fault
        s.grows("drop_no_listener", before, "a padded FIRST")


@scene("foreign host: packets with a wrong key, address or number have no effect", netns=True, company=True)
def without_effect(testbed: Testbed, context: Context) -> None:
    with setting(testbed, context) as s:
        _, connection = accepted(s, Options(), (1 << 20,))
        assert connection.peer_key is not None
        connection.quiet = True
        s.foreign.rest(0.1)
        now, cases = s.foreign.now(), []
        unit = Data(0, connection.peer_key, packet=0, time=now, request=INITIAL_REQUEST, request_len=10, unit_bytes=64,
                    payload=bytes(10))
        end = connection.cntl(now)
        end.flags, end.end = wire.END, wire.END_ABORT
        old = replace(end, seq=connection.seq - 1)
        forged = replace(end, flags=0, end=0, ack=position(41, 500))
        other = s.socket()
        for packet in (unit, end):
            cases.append(("drop_address", packet, other))
            wrong = replace(packet, key=connection.peer_key ^ 1 << 20)
            cases.append(("drop_unknown_key", wrong, s.foreign.udp))
        cases += [("drop_cntl_old", old, s.foreign.udp), ("drop_cntl_ack", forged, s.foreign.udp)]
        for counter, packet, udp in cases:
            before = s.daemon.counters(counter)
            udp.sendto(packet.pack(), s.remote)
            s.grows(counter, before, str(packet))
        other.close()
        connection.quiet = False
        connection.send(b"right")
        s.until(lambda: s.application.received(0) == b"right", "the connection lives")
