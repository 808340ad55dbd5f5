# SPDX-License-Identifier: BSD-3-Clause
"""One of the two hosts of [live tcp]. It is a separate program because it runs in a network namespace.

Usage: live_peer.py left|right FLOWS.json

left sends endless data and probes on each flow, until the flow's end; right receives them until SIGTERM. At its
end each prints its observations of each flow as JSON. Arrival times are in ns; those of probes are the kernel's.
"""
import json
import selectors
import signal
import socket
import struct
import sys
import time
from collections.abc import Sequence
from typing import Any

DATA, PROBES = 5301, 5302
SO_TIMESTAMPNS = 35
TCP_CONGESTION = 13  # socket has it, but not its types in mypy 1.0
UDP_HEADERS = 28
CHUNK = bytes(1 << 16)
SAMPLE_NS = 100_000_000

Flow = dict[str, Any]  # the keys of [live tcp], and the address


def now_ns() -> int:
    return time.clock_gettime_ns(time.CLOCK_REALTIME)


class Right:
    """The receiver of one flow."""

    def __init__(self, flow: Flow, selector: selectors.BaseSelector) -> None:
        self.reads: list[tuple[int, int]] = []  # (ns, bytes)
        self.probes: list[tuple[int, int, int]] = []  # (number, ns when sent, ns under way)
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # Before listen(): the first window that TCP offers depends on it.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, flow["rcvbuf"])
        listener.bind((flow["address"], DATA))
        listener.listen()
        probes = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        probes.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        probes.bind((flow["address"], PROBES))
        self.selector = selector
        for s, function in ((listener, self.accept), (probes, self.probe)):
            s.setblocking(False)
            selector.register(s, selectors.EVENT_READ, function)

    def accept(self, listener: socket.socket) -> None:
        conn = listener.accept()[0]
        conn.setblocking(False)
        self.selector.register(conn, selectors.EVENT_READ, self.read)

    def read(self, conn: socket.socket) -> None:
        try:
            data = conn.recv(len(CHUNK))
        except ConnectionResetError:
            data = b""
        if data:
            self.reads.append((now_ns(), len(data)))
        else:
            self.selector.unregister(conn)
            conn.close()

    def probe(self, s: socket.socket) -> None:
        data, extra, _, _ = s.recvmsg(2048, 64)
        number, sent = struct.unpack_from("!IQ", data)
        seconds, part = next((struct.unpack("qq", v) for level, kind, v in extra
                              if (level, kind) == (socket.SOL_SOCKET, SO_TIMESTAMPNS)), divmod(now_ns(), 10**9))
        self.probes.append((number, sent, seconds * 10**9 + part - sent))

    def observations(self) -> dict[str, Any]:
        return {"reads": self.reads, "probes": self.probes}


class Left:
    """The sender of one flow."""

    def __init__(self, flow: Flow, selector: selectors.BaseSelector, zero: int) -> None:
        self.flow, self.selector, self.zero = flow, selector, zero
        self.data: socket.socket | None = None
        self.repeats = 0
        self.flight: list[tuple[float, int]] = []  # (s, segments)
        self.sent: list[tuple[int, int]] = []  # (number of the probe, ns)
        self.probes = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.begin_at = zero + int(flow["start"] * 1e9)
        self.probe_at, self.sample_at = zero, self.begin_at + SAMPLE_NS

    def begin(self) -> None:
        data = self.data = socket.socket()
        data.setsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, self.flow["congestion"].encode())
        data.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, self.flow["sndbuf"])
        data.setblocking(False)
        data.connect_ex((self.flow["address"], DATA))
        self.selector.register(data, selectors.EVENT_WRITE, self.write)

    def write(self, data: socket.socket) -> None:
        try:
            while data.send(CHUNK) > 0:
                pass
        except BlockingIOError:
            pass

    def info(self, data: socket.socket) -> tuple[int, ...]:
        """The u32 fields of struct tcp_info, which begin after 8 bytes."""
        return struct.unpack_from("=24I", data.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104), 8)

    def turn(self, now: int) -> int:
        """Does what is due, and returns the time of the next call."""
        if self.data is None and now >= self.begin_at:
            self.begin()
        if now >= self.probe_at:
            number = len(self.sent)
            length = self.flow["lengths"][number % 2] - UDP_HEADERS
            at = now_ns()
            self.sent.append((number, at))
            self.probes.sendto(struct.pack("!IQ", number, at).ljust(length, b"\0"), (self.flow["address"], PROBES))
            self.probe_at += int(self.flow["every"] * 1e9)
        if self.data is not None and now >= self.sample_at:
            fields = self.info(self.data)
            self.flight.append(((now - self.zero) / 1e9, fields[4]))  # tcpi_unacked
            self.repeats = fields[23]  # tcpi_total_retrans
            self.sample_at += SAMPLE_NS
        return min(self.probe_at, self.sample_at, self.begin_at if self.data is None else self.probe_at)

    def observations(self) -> dict[str, Any]:
        return {"zero_ns": self.zero, "repeats": self.repeats, "flight": self.flight, "probes": self.sent}


def serve(selector: selectors.BaseSelector, timeout_s: float) -> None:
    for key, _ in selector.select(max(0, timeout_s)):
        key.data(key.fileobj)


def on_right(flows: list[Flow]) -> list[Right]:
    selector = selectors.DefaultSelector()
    mine = [Right(f, selector) for f in flows]
    over: list[bool] = []
    signal.signal(signal.SIGTERM, lambda *_: over.append(True))
    print("listening", file=sys.stderr, flush=True)
    while not over:
        serve(selector, 0.2)
    return mine


def on_left(flows: list[Flow]) -> list[Left]:
    selector = selectors.DefaultSelector()
    zero = now_ns()
    mine = [Left(f, selector, zero) for f in flows]
    # Spread, so that the flows do not send their probes at the same moment.
    for i, m in enumerate(mine):
        m.probe_at += int(m.flow["every"] * 1e9) * i // len(mine)
    end = zero + int(flows[0]["until"] * 1e9)
    while (now := now_ns()) < end:
        serve(selector, (min([end] + [m.turn(now) for m in mine]) - now_ns()) / 1e9)
    time.sleep(2)  # for packets that are under way
    return mine


def main() -> int:
    with open(sys.argv[2], encoding="utf-8") as f:
        flows = json.load(f)
    mine: Sequence[Right | Left]
    if sys.argv[1] == "right":
        mine = on_right(flows)
    else:
        mine = on_left(flows)
    print(json.dumps([m.observations() for m in mine]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
