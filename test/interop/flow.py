# SPDX-License-Identifier: BSD-3-Clause
"""Both halves of a connection, written from doc/protocol.md (sections 5, 9 and 10): a Sender of one direction and a
Receiver of the other. Neither touches a socket or a clock."""
from collections.abc import Iterator
from dataclasses import dataclass, field

import wire
from wire import Cntl, Data, Position, position

ASK_AGAIN_NS = 40_000_000  # a missing unit is asked for again after this time
FIRST_BYTES_MAX = 256 << 10  # user bytes that may be sent before the first grant is known


class Credit:
    """Section 10: rate and burst, as a credit of user bytes."""

    def __init__(self, rate: int, burst: int, now: int) -> None:
        self.rate, self.burst = rate, burst
        self.credit, self.refreshed = burst, now

    def grant(self, rate: int, burst: int, now: int) -> None:
        """An unchanged grant changes nothing."""
        if (rate, burst) == (self.rate, self.burst):
            return
        self._refresh(now)
        self.rate, self.burst = rate, burst
        self.credit, self.refreshed = min(self.credit, burst), now

    def _refresh(self, now: int) -> None:
        if self.burst == 0 or self.rate == 0:
            return
        period = self.burst * 1_000_000_000 // self.rate or 1
        while now - self.refreshed >= period and self.credit < self.burst:
            self.credit = self.burst if self.credit > 0 else self.credit + self.burst
            self.refreshed += period
        if self.credit == self.burst:
            self.refreshed += (now - self.refreshed) // period * period

    def allows(self, now: int) -> bool:
        if self.burst == 0:
            return True
        self._refresh(now)
        return self.rate != 0 and self.credit > 0

    def spend(self, count: int) -> None:
        if self.burst != 0:
            self.credit -= count


@dataclass
class Request:
    """A request that is sent; units are counted in unit_bytes."""
    data: bytes
    unit_bytes: int

    def units(self) -> int:
        return wire.units_of(len(self.data), self.unit_bytes)

    def payload(self, unit: int) -> bytes:
        return self.data[unit * self.unit_bytes:(unit + 1) * self.unit_bytes]


class Sender:
    """Sends requests as units. next: the position that comes next for the first time."""

    def __init__(self, initial_request: int, unit_bytes: int, ahead: int, credit: Credit) -> None:
        self.initial_request, self.unit_bytes = initial_request, unit_bytes
        self.requests: dict[int, Request] = {}
        self.end_request = initial_request  # after the last one submitted
        self.next = self.ack = position(initial_request, 0)
        self.posted = initial_request + ahead & 0xffffffff
        self.credit = credit
        self.packet = 0
        self.repeats: list[Position] = []
        self.refused: dict[int, int] = {}
        self.granted = False
        self.early_bytes = 0
        self.close = False
        self.go_back_n = False
        self.pack_at: Position | None = None  # the last unit before a copied tail

    def submit(self, data: bytes) -> int:
        """Returns the number of the request."""
        number = self.end_request
        self.requests[number] = Request(data, self.unit_bytes)
        self.end_request = number + 1 & 0xffffffff
        return number

    def split(self, parts: int) -> None:
        """Units become smaller, whatever was sent: section 5. What is not acknowledged goes again."""
        def smaller(at: Position) -> Position:
            request, unit = at >> 32, at & 0xffffffff
            return at if request not in self.requests else position(request, unit * parts)

        self.next, self.ack = smaller(self.next), smaller(self.ack)
        self.unit_bytes //= parts
        for request in self.requests.values():
            request.unit_bytes //= parts
        self.repeats = list(self._positions(self.ack, self.next))

    def restart(self, unit_bytes: int) -> None:
        """A new attempt of everything, with other units: section 5."""
        self.unit_bytes = unit_bytes
        for request in self.requests.values():
            request.unit_bytes = unit_bytes
        self.next, self.repeats = position(self.ack >> 32, 0), []

    def complete(self) -> bool:
        return self.ack == position(self.end_request, 0)

    def _positions(self, first: Position, end: Position) -> Iterator[Position]:
        """Those units of the span that exist; unit numbers that a request does not have count as passed."""
        at = first
        while wire.before(at, end, 64):
            request = self.requests.get(at >> 32)
            if request is None:
                return
            if at & 0xffffffff < request.units():
                yield at
                at += 1
            else:
                at = position((at >> 32) + 1, 0)

    def _step(self, at: Position) -> Position:
        request, unit = at >> 32, at & 0xffffffff
        return at + 1 if unit + 1 < self.requests[request].units() else position(request + 1, 0)

    def may_send(self) -> bool:
        """Whether there is a unit that was not sent yet, within what is posted."""
        return self.next >> 32 in self.requests and wire.before(self.next >> 32, self.posted)

    def take(self, cntl: Cntl, now: int) -> None:
        """What the peer says as a receiver; the CNTL is newer than all before. Without effect if it acknowledges what
        was never sent."""
        if wire.before(self.next, cntl.ack, 64):
            return
        if wire.before(self.ack, cntl.ack, 64):
            self.ack = cntl.ack
        self.posted, self.granted = cntl.posted, True
        self.credit.grant(cntl.rate, cntl.burst, now)
        for number, reason in cntl.refused:
            self.refused.setdefault(number, reason)
        for first, end in cntl.spans:
            if self.go_back_n:
                self.next, self.repeats = first, []
            else:
                self.repeats += [p for p in self._positions(first, end)
                                 if p not in self.repeats and wire.before(p, self.next, 64)]
        self.repeats = [p for p in self.repeats if not wire.before(p, self.ack, 64)]

    def poll(self, now: int) -> Data | None:
        """The next DATA that may leave now, without key, time and cntl_seen."""
        repeat = bool(self.repeats)
        if not (repeat or self.may_send()) or not self.credit.allows(now):
            return None
        if not self.granted and self.early_bytes >= FIRST_BYTES_MAX:
            return None
        at = self.repeats.pop(0) if repeat else self.next
        number, unit = at >> 32, at & 0xffffffff
        request = self.requests[number]
        out = Data(wire.REPEAT if repeat else 0, 0, packet=self.packet, request=number, unit=unit,
                   request_len=len(request.data), unit_bytes=request.unit_bytes, payload=request.payload(unit))
        self.packet += 1
        self.early_bytes += 0 if self.granted else len(out.payload)
        self.credit.spend(len(out.payload))
        if not repeat:
            self.next = self._step(at)
        if not self.repeats and not self.may_send():
            out.flags |= wire.DREQ
        if at == self.pack_at:
            out.flags |= wire.PACK
        if self.close and self._step(at) == position(self.end_request, 0):
            out.flags |= wire.WCLOSE
        return out


@dataclass
class Buffer:
    """A posted buffer, and what has been placed into it."""
    size: int
    data: bytearray = field(default_factory=bytearray)
    placed: set[int] = field(default_factory=set)
    unit_bytes: int = 0
    request_len: int = -1  # not known yet

    def complete(self) -> bool:
        return self.request_len >= 0 and len(self.placed) == wire.units_of(self.request_len, self.unit_bytes)


class Receiver:
    """Places units into posted buffers, and knows what is missing."""

    def __init__(self, initial_request: int, unit_max: int) -> None:
        self.initial_request = self.posted = initial_request
        self.unit_max = unit_max
        self.buffers: dict[int, Buffer] = {}
        self.ack = self.newest = position(initial_request, 0)  # newest: beyond all that the peer has sent
        self.done: dict[int, bytes | None] = {}  # None: refused
        self.refused: list[tuple[int, int]] = []
        self.packets: set[int] = set()
        self.ce = self.ect = 0
        self.close_request: int | None = None  # the peer's
        self.asked: dict[Position, int] = {}
        self.go_back_n = False

    def post(self, size: int) -> None:
        self.buffers[self.posted] = Buffer(size)
        self.posted = self.posted + 1 & 0xffffffff

    def highest(self) -> int:
        return max(self.packets, default=-1)

    def lost(self) -> int:
        return self.highest() + 1 - len(self.packets)

    def take(self, data: Data, ecn: int) -> bool:
        """Places a unit. False: it changes nothing."""
        if data.packet in self.packets or data.unit_bytes > self.unit_max:
            return False
        self.packets.add(data.packet)
        self.ce += ecn == 3
        self.ect += ecn in (1, 2)
        self.reach(position(data.request, data.unit) + 1)
        if data.flags & wire.WCLOSE:
            self.close_request = data.request + 1 & 0xffffffff
        if self.go_back_n and position(data.request, data.unit) != self.ack:
            return False
        buffer = self.buffers.get(data.request)
        if buffer is None:
            return False  # asked for when there is one
        if data.request_len > buffer.size:
            self._refuse(data.request)
            return True
        if buffer.request_len < 0:
            buffer.request_len, buffer.unit_bytes = data.request_len, data.unit_bytes
            buffer.data = bytearray(data.request_len)
        assert (buffer.request_len, buffer.unit_bytes) == (data.request_len, data.unit_bytes), "a unit that disagrees"
        if data.unit in buffer.placed:
            return False
        buffer.placed.add(data.unit)
        buffer.data[data.offset():data.offset() + len(data.payload)] = data.payload
        if buffer.complete():
            self.done[data.request] = bytes(buffer.data)
        self._advance()
        return True

    def _refuse(self, request: int) -> None:
        if request not in self.done:
            self.done[request] = None
            self.refused.append((request, 1))
        self._advance()

    def _advance(self) -> None:
        request = self.ack >> 32
        while request in self.done:
            request = request + 1 & 0xffffffff
            self.ack = position(request, 0)
        buffer = self.buffers.get(request)
        if buffer is not None:
            while self.ack & 0xffffffff in buffer.placed:
                self.ack += 1
        if wire.before(self.newest, self.ack, 64):
            self.newest = self.ack

    def reach(self, at: Position) -> None:
        """The peer has sent everything before this position."""
        if wire.before(self.newest, at, 64):
            self.newest = at

    def spans(self, now: int, again: bool) -> list[tuple[Position, Position]]:
        """Missing units of posted buffers; again: those asked for lately, too."""
        found: list[tuple[Position, Position]] = []
        at = self.ack
        if self.go_back_n:
            if wire.before(at, self.newest, 64):
                self._ask(found, at, self.newest, now, again)
            return found
        while wire.before(at, self.newest, 64) and len(found) < wire.SPANS_MAX:
            request, unit = at >> 32, at & 0xffffffff
            buffer = self.buffers.get(request)
            if buffer is None:
                break
            known = buffer.request_len >= 0
            if request in self.done or (known and unit >= wire.units_of(buffer.request_len, buffer.unit_bytes)):
                at = position(request + 1, 0)
                continue
            if not known and self.newest >> 32 != request:  # nothing of it has come
                first, at = at, position(request + 1, 0)
                self._ask(found, first, at, now, again)
                continue
            if unit not in buffer.placed:
                self._ask(found, at, at + 1, now, again)
            at += 1
        return found

    def _ask(self, found: list[tuple[Position, Position]], first: Position, end: Position, now: int,
             again: bool) -> None:
        if not again and now - self.asked.get(first, -ASK_AGAIN_NS) < ASK_AGAIN_NS:
            return
        self.asked[first] = now
        if found and found[-1][1] == first:
            found[-1] = (found[-1][0], end)
        else:
            found.append((first, end))

    def all_placed(self) -> bool:
        """Everything before the peer's close_request is there."""
        return self.close_request is not None and self.ack == position(self.close_request, 0)
