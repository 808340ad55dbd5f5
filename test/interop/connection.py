# SPDX-License-Identifier: BSD-3-Clause
"""One connection, written from doc/protocol.md (sections 9 and 10). It is handed packets and the time, and it gives
packets to send; endpoint.py has the socket."""
import os
from collections.abc import Callable
from dataclasses import dataclass

import wire
from association import Association
from flow import Credit, Receiver, Sender
from wire import UNIT_MAX, Cntl, Data, First, Packet, Rcntl, position

MS = 1_000_000
FIRST_NS, FIRST_MAX_NS = 20 * MS, 640 * MS
REPEAT_NS = 10 * MS  # after the first DATA since the last CNTL
AGAIN_NS = 100 * MS  # CNTL with SREQ while something is not acknowledged
INITIAL_REQUEST, ANSWER_REQUEST = 0xfffffffe, 41  # one direction's numbers wrap soon

UNIT_BYTES = 1500 - 40 - 8 - wire.DATA_BYTES  # what IPv6 on Ethernet carries

Address = tuple[str, int]


@dataclass
class Options:
    """What a connection says of itself; grants are of its receiving half."""
    service: int = 7000
    unit_max: int = UNIT_BYTES
    rate: int = 50_000_000
    burst: int = 65536
    rate_req: int = 10_000_000
    burst_req: int = 65536
    ahead: int = 0
    silence_ms: int = 10_000
    capabilities: int = 0
    buffers: tuple[int, ...] = ()  # sizes of buffers that are posted from the beginning


class Connection:
    """now: ns. quiet: sends nothing by itself. losing, missing: packets for which it returns true are lost on their way
    from here, or to here."""

    def __init__(self, remote: Address, opener: bool, options: Options, first: First, now: int) -> None:
        """first: the FIRST that opened it, or that is to open it."""
        self.remote, self.opener, self.options, self.first = remote, opener, options, first
        self.own_key = first.key if opener else int.from_bytes(os.urandom(8), "big") or 1
        self.peer_key = None if opener else first.key
        numbers = (first.initial_request, first.answer_request)
        sends, receives = numbers if opener else numbers[::-1]
        credit = Credit(first.rate_req, first.burst_req, now) if opener else Credit(0, 1, now)
        self.sender = Sender(sends, min(options.unit_max, UNIT_MAX if opener else first.unit_max),
                             first.ahead if opener else 0, credit)
        self.receiver = Receiver(receives, options.unit_max)
        for size in options.buffers:
            self.receiver.post(size)
        self.sender.go_back_n = self.receiver.go_back_n = bool(first.capabilities & wire.GO_BACK_N)
        self.association: Association | None = None  # of an acceptor: that of the newest packet
        self.sealed = False
        self.proof = b""  # half of the tag of the CNTL sent last, if it is sealed
        self.quiet = False
        self.losing: Callable[[Packet], bool] = lambda packet: False
        self.missing: Callable[[Packet], bool] = lambda packet: False
        self.change: Callable[[Cntl], None] = lambda cntl: None  # what a router on the path does to a CNTL
        self.seq = self.cntl_seen = 0  # of CNTL: ours, and the newest of the peer
        self.peer: Cntl | None = None  # the newest CNTL
        self.cntl_count = 0
        self.echo = self.echo_at = 0
        self.known = not opener  # whether a CNTL has come
        self.cookie = 0
        self.first_tries, self.first_at = 0, now
        self.want_cntl = not opener
        self.answer_all = False  # the next CNTL names all gaps
        self.answer_me = False  # the next CNTL asks for an answer
        self.heard: list[Packet] = []
        self.data_at: int | None = None  # of the first DATA since the last CNTL
        self.news_at = now
        self.flags = 0  # WCLOSE, RCLOSE and END, once set
        self.end = 0
        self.ended: int | None = None  # the peer's reason

    # ---- what the application does ---------------------------------------------------------------

    def send(self, data: bytes) -> int:
        return self.sender.submit(data)

    def post(self, size: int) -> None:
        self.receiver.post(size)
        self.want_cntl = True

    def grant(self, rate: int, burst: int) -> None:
        self.options.rate, self.options.burst = rate, burst
        self.want_cntl = True

    def shutdown(self) -> None:
        """No more will be sent."""
        self.sender.close = True
        self.flags |= wire.WCLOSE
        self.want_cntl = True

    def abort(self) -> None:
        self.flags |= wire.END
        self.end = wire.END_ABORT
        self.want_cntl = True

    # ---- what comes ------------------------------------------------------------------------------

    def take(self, packet: Packet, ecn: int, now: int) -> None:
        """A packet for this connection, whose tag is right if it was sealed."""
        if self.missing(packet):
            return
        self.heard.append(packet)
        if self.flags & wire.END and not packet.flags & wire.END:
            self.want_cntl = True  # the peer has missed the END
            if self.ended is not None:
                return
        if isinstance(packet, Cntl):
            self._take_cntl(packet, now)
        elif isinstance(packet, Data):
            self._heard(packet.time, now)
            self._take_data(packet, ecn, now)
        elif isinstance(packet, Rcntl):
            return
        else:
            self.want_cntl = True  # a repeated FIRST
        if self.receiver.all_placed() and not self.flags & wire.RCLOSE:
            self.flags |= wire.RCLOSE
            self.want_cntl = True
        if self._closed() and not self.flags & wire.END:
            self.flags |= wire.END
            self.want_cntl = True

    def _closed(self) -> bool:
        """Both directions are closed for this side."""
        return bool(self.flags & wire.RCLOSE and self.flags & wire.WCLOSE and self.peer and
                    self.peer.flags & wire.RCLOSE)

    def _heard(self, time_ns: int, now: int) -> None:
        if time_ns > self.echo:
            self.echo, self.echo_at = time_ns, now

    def _take_cntl(self, cntl: Cntl, now: int) -> None:
        self.cntl_count += 1
        if cntl.cookie != 0 and not self.known:
            self.cookie, self.first_at = cntl.cookie, now
            return
        newer = self.cntl_seen == 0 or wire.before(self.cntl_seen, cntl.seq)
        if cntl.flags & (wire.SREQ | wire.DREQ):
            self.want_cntl = self.answer_all = True
        if not newer:
            return
        self.want_cntl |= not self.known  # the proof
        self.known, self.cntl_seen, self.peer, self.peer_key = True, cntl.seq, cntl, cntl.own_key
        self.news_at = now
        self._heard(cntl.time, now)
        if cntl.unit_max < self.sender.unit_bytes:
            self.sender.restart(cntl.unit_max)  # the peer has dropped the units that were sent before it said so
        self.sender.take(cntl, now)
        self.receiver.reach(cntl.sent)
        if cntl.flags & wire.WCLOSE:
            self.receiver.close_request = cntl.close_request
        if cntl.flags & wire.END:
            self.want_cntl |= self.ended is None and not self.flags & wire.END
            self.ended = cntl.end
            self.flags |= wire.END
        elif self.receiver.spans(now, False):
            self.receiver.asked.clear()
            self.want_cntl = True

    def _take_data(self, data: Data, ecn: int, now: int) -> None:
        if self.data_at is None:
            self.data_at = now
        new = self.receiver.take(data, ecn)
        if data.flags & (wire.SREQ | wire.DREQ | wire.PACK):
            self.want_cntl = True
            self.answer_all |= bool(data.flags & wire.SREQ)
        whole = data.request in self.receiver.done
        gap = wire.before(self.receiver.ack, position(data.request, data.unit), 64)
        self.want_cntl |= (new and whole) or (gap and not self.quiet)

    # ---- what goes out ---------------------------------------------------------------------------

    def poll(self, now: int) -> list[Packet]:
        """What is to be sent now."""
        if self.quiet:
            return []
        out: list[Packet] = []
        if self.opener and not self.known:
            if now >= self.first_at:
                out.append(self._first(now))
        elif self._cntl_due(now):
            out.append(self.cntl(now))
        if self.peer_key is None and self.first_tries == 0:
            return out
        while not self.flags & wire.END and len(out) < 64:
            data = self.sender.poll(now)
            if data is None:
                break
            self._address(data)
            data.time, data.cntl_seen = now, self.cntl_seen
            self.news_at = now
            out.append(data)
        return [packet for packet in out if not self.losing(packet)]

    def _first(self, now: int) -> First:
        self.first_at = now + min(FIRST_NS << self.first_tries, FIRST_MAX_NS)
        self.first_tries += 1
        self.first.time, self.first.cookie = now, self.cookie
        return self.first

    def _cntl_due(self, now: int) -> bool:
        if self.want_cntl or (self.data_at is not None and now - self.data_at >= REPEAT_NS):
            return True
        unproven = self.opener and (self.peer is None or self.peer.cntl_seen == 0)
        waits = not self.sender.complete() or unproven or (self.flags and self.ended is None)
        waits = waits and self.ended is None
        if waits and now - self.news_at >= AGAIN_NS:
            self.news_at = now
            self.answer_me = True
            return True
        return False

    def _address(self, packet: Packet) -> None:
        """The peer's key, or with EARLY our own."""
        packet.key = self.own_key if self.peer_key is None else self.peer_key
        packet.flags |= wire.EARLY if self.peer_key is None else 0

    def cntl(self, now: int) -> Cntl:
        """The state of both halves."""
        self.seq = self.seq % 0xffffffff + 1
        receiver, sender, options = self.receiver, self.sender, self.options
        flags = self.flags | (wire.SREQ if self.answer_me else 0)
        # No answer to FIRST is larger than FIRST.
        spans = receiver.spans(now, self.answer_all) if self.peer is not None else []
        out = Cntl(flags, 0, own_key=self.own_key, seq=self.seq, cntl_seen=self.cntl_seen, rate=options.rate,
                   burst=options.burst, ack=receiver.ack, posted=receiver.posted,
                   close_request=sender.end_request if self.flags & wire.WCLOSE else 0, sent=sender.next,
                   received=len(receiver.packets), lost=receiver.lost(), time=now, echo=self.echo,
                   echo_held=min(now - self.echo_at, 0xffffffff) if self.echo else 0, unit_max=options.unit_max,
                   initial_request=sender.initial_request, capabilities=self.first.capabilities, end=self.end,
                   ecn_ce=receiver.ce, ecn_ect=receiver.ect, silence=options.silence_ms,
                   spans=spans, refused=list(receiver.refused[:wire.REFUSED_MAX]))
        self._address(out)
        self.change(out)
        self.want_cntl = self.answer_all = self.answer_me = False
        self.data_at = None
        return out
