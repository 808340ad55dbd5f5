# SPDX-License-Identifier: BSD-3-Clause
"""One of the two hosts of [live tcp], a program of its own, for it lives in a network namespace.

Usage: live_peer.py left|right FLOWS.json

left sends data without end and probes on each flow, until its end; right takes them until SIGTERM. Each
prints what it saw of each flow, as JSON, when it ends. Times are the kernel's, of arrival, in ns.
"""
import json
import selectors
import signal
import socket
import struct
import sys
import time

DATA, PROBES = 5301, 5302
SO_TIMESTAMPNS = 35
UDP_HEADERS = 28
CHUNK = bytes(1 << 16)
SAMPLE_NS = 100_000_000


def now_ns():
    return time.clock_gettime_ns(time.CLOCK_REALTIME)


class Right:
    """The receiver of one flow."""

    def __init__(self, flow, selector):
        self.reads, self.probes = [], []
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # Before listen(): it is what the first window is offered from.
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

    def accept(self, listener):
        conn = listener.accept()[0]
        conn.setblocking(False)
        self.selector.register(conn, selectors.EVENT_READ, self.read)

    def read(self, conn):
        try:
            data = conn.recv(len(CHUNK))
        except ConnectionResetError:
            data = b""
        if data:
            self.reads.append((now_ns(), len(data)))
        else:
            self.selector.unregister(conn)
            conn.close()

    def probe(self, s):
        data, extra, _, _ = s.recvmsg(2048, 64)
        number, sent = struct.unpack_from("!IQ", data)
        seconds, part = next((struct.unpack("qq", v) for level, kind, v in extra
                              if (level, kind) == (socket.SOL_SOCKET, SO_TIMESTAMPNS)), divmod(now_ns(), 10**9))
        self.probes.append((number, sent, seconds * 10**9 + part - sent))

    def tell(self):
        return {"reads": self.reads, "probes": self.probes}


class Left:
    """The sender of one flow."""

    def __init__(self, flow, selector, zero):
        self.flow, self.selector, self.zero = flow, selector, zero
        self.data, self.repeats, self.flight, self.sent = None, 0, [], []
        self.probes = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.begin_at = zero + int(flow["start"] * 1e9)
        self.probe_at, self.sample_at = zero, self.begin_at + SAMPLE_NS

    def begin(self):
        self.data = socket.socket()
        self.data.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, self.flow["congestion"].encode())
        self.data.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, self.flow["sndbuf"])
        self.data.setblocking(False)
        self.data.connect_ex((self.flow["address"], DATA))
        self.selector.register(self.data, selectors.EVENT_WRITE, self.write)

    def write(self, data):
        try:
            while data.send(CHUNK) > 0:
                pass
        except BlockingIOError:
            pass

    def info(self):
        """u32 fields of struct tcp_info, behind its eight bytes."""
        return struct.unpack_from("=24I", self.data.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104), 8)

    def turn(self, now):
        """What is due; when to come again."""
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
            fields = self.info()
            self.flight.append(((now - self.zero) / 1e9, fields[4]))
            self.repeats = fields[23]
            self.sample_at += SAMPLE_NS
        return min(self.probe_at, self.sample_at, self.begin_at if self.data is None else self.probe_at)

    def tell(self):
        return {"zero_ns": self.zero, "repeats": self.repeats, "flight": self.flight, "probes": self.sent}


def serve(selector, timeout_s):
    for key, _ in selector.select(max(0, timeout_s)):
        key.data(key.fileobj)


def on_right(flows):
    selector = selectors.DefaultSelector()
    mine = [Right(f, selector) for f in flows]
    over = []
    signal.signal(signal.SIGTERM, lambda *_: over.append(True))
    print("listening", file=sys.stderr, flush=True)
    while not over:
        serve(selector, 0.2)
    return mine


def on_left(flows):
    selector = selectors.DefaultSelector()
    zero = now_ns()
    # Spread, so that probes of all flows do not go at the same moment.
    mine = [Left(f, selector, zero) for f in flows]
    for i, m in enumerate(mine):
        m.probe_at += int(m.flow["every"] * 1e9) * i // len(mine)
    end = zero + int(flows[0]["until"] * 1e9)
    while (now := now_ns()) < end:
        serve(selector, (min([end] + [m.turn(now) for m in mine]) - now_ns()) / 1e9)
    time.sleep(2)  # what is under way
    return mine


def main():
    with open(sys.argv[2], encoding="utf-8") as f:
        flows = json.load(f)
    mine = on_right(flows) if sys.argv[1] == "right" else on_left(flows)
    print(json.dumps([m.tell() for m in mine]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
