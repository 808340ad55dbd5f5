# SPDX-License-Identifier: BSD-3-Clause
"""Compares the payload on the wire with the receiver's grant. tcpdump, an independent program, captures it.

The receiver's capacity is set to 1 Gb/s of payload. A window of 100 ms begins at every packet, and must
carry rate * 100 ms within 1 %, also if the packets are sealed (--sealed). The sender's poller has a core to
itself. All other threads are on the other cores.

If the machine takes the core away, the payload has a hole, and by the credit rules the sender must not
catch up later. A witness on that core records these times. No window is left out: each must carry at
least rate * (100 ms - the time for which the core was away in it), and at most rate * 100 ms. If the
core was away for more than a tenth of the whole time, a window with too little says nothing about
Sluice, and the row is too noisy.
"""
import argparse
import bisect
import math
import os
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from . import paired, witness
from .capture import CNTL, DATA, Packet, packets
from .paired import Bar
from .results import Results
from testbed.daemon import Build
from testbed.pair import ADDR_B, veth_pair
from testbed.process import Testbed, TestbedError, cpus, until
from testbed.table import rate_text

WINDOW_S = 0.1
BAR = 0.01
AWAY_MAX = 0.1
# Not measured at both ends: the transfer has its grant from the beginning, but the machine may need a moment.
SKIP_S = 0.3
GRANTS, MEAN, LEAST, MOST, ENVELOPE = (
    "different grants while steady", "payload of a window, time away left out",
    "emptiest window of 100 ms, time away left out", "fullest window of 100 ms",
    "fullest window against the credit rule's envelope")


Spans = Iterable[tuple[float, float]]  # (start, end)
Cpus = tuple[int, int]                 # of a worker, of a control


def options(parser: argparse.ArgumentParser) -> None:
    paired.options(parser)
    parser.add_argument("--capacity", default="1Gbit", help="capacity of the receiving daemon")
    parser.add_argument("--mtu", type=int, default=9000, help="MTU of the veth pair")
    parser.add_argument("--xdp", action="store_true", help="use AF_XDP instead of AF_PACKET")
    parser.add_argument("--sealed", action="store_true", help="seal the packets; the grant still counts the payload alone")
    parser.add_argument("--idle", default="poll", help="key `idle` of the sending daemon")


def _plan() -> tuple[Cpus, Cpus, list[int]]:
    """CPUs of sender, receiver and everything else: the sender's worker is alone on the first CPU."""
    have = cpus()
    rest = have[1:] or have
    return (have[0], rest[0]), (rest[-1], rest[0]), rest


def _capture(testbed: Testbed, args: argparse.Namespace) -> tuple[list[Packet], Spans]:
    """The packets of a transfer, and the times at which the sender's core was away."""
    plan_a, plan_b, rest = _plan()
    a, b = veth_pair(testbed, Build(args.build, args.huge), mtu=args.mtu, xdp=args.xdp,
                     b_keys={"capacity": args.capacity}, a_daemon={"idle": args.idle},
                     plan=(plan_a, plan_b), tapped=True, secured=args.sealed)
    os.sched_setaffinity(0, rest)
    path = testbed.path("capture.pcap")
    tcpdump = testbed.start("tcpdump", ["tcpdump", "-i", b.device, "-s", "128", "-B", "65536",
                                        "--time-stamp-precision=nano", "-w", path, "udp"], ns=b.ns,
                            cpus=rest)
    until(lambda: "listening" in tcpdump.err(), 10, "tcpdump listens")
    server = b.sluice("server", "perf", "server", "-1", "-q", cpus=rest)
    b.wait_listening()
    watcher = witness.start(testbed, a.pid(), plan_a[0])
    seconds = int((args.pairs + 1) * args.window + 2 * SKIP_S + 2)
    client = a.sluice("client", "perf", "client", "-q", "-t", seconds, "--outstanding", "16", ADDR_B,
                      cpus=rest)
    client.check(seconds * 3 + 60)
    watcher.stop()
    server.check(30)
    time.sleep(0.5)
    tcpdump.stop()
    if "0 packets dropped by kernel" not in tcpdump.err():
        raise TestbedError(f"tcpdump lost packets, so its capture cannot be judged\n{tcpdump.tail()}")
    for daemon in (a, b):
        daemon.stop()
    return packets(path), witness.stalls(watcher)


class Away:
    """How long the sender's core was away, from the witness's stalls."""

    def __init__(self, stalls: Spans) -> None:
        self.starts: list[float] = []
        self.ends: list[float] = []
        self.before = [0.0]
        for start, end in sorted(stalls):
            if self.ends and start <= self.ends[-1]:
                end = max(end, self.ends.pop())
                start = self.starts.pop()
                self.before.pop()
            self.starts.append(start)
            self.ends.append(end)
            self.before.append(self.before[-1] + end - start)

    def _until(self, at: float) -> float:
        i = bisect.bisect_right(self.starts, at)
        if i == 0:
            return 0.0
        return self.before[i - 1] + min(at, self.ends[i - 1]) - self.starts[i - 1]

    def seconds(self, start: float, end: float) -> float:
        return self._until(end) - self._until(start)


@dataclass
class Windows:
    """The smallest and the largest payload of windows of WINDOW_S, divided by the payload that is due. Windows
    that begin with a packet carry the most; those that begin right after one carry the least. least counts
    the payload that was due while the core was away."""
    least: float = math.inf
    most: float = -math.inf


class Capture:
    """times: seconds of each packet, in order; payload: bytes of each packet."""

    def __init__(self, times: Sequence[float], payload: Sequence[float], stalls: Spans) -> None:
        self.times, self.away = times, Away(stalls)
        self.sums: list[float] = [0]
        for n in payload:
            self.sums.append(self.sums[-1] + n)

    def sliding(self, start: float, end: float, grant_Bps: float) -> Windows:
        """Windows that begin at every packet between start and end."""
        w, due = Windows(), grant_Bps * WINDOW_S
        i = bisect.bisect_left(self.times, start)
        while i < len(self.times) and self.times[i] + WINDOW_S <= end:
            begin, over = self.times[i], self.times[i] + WINDOW_S
            first = bisect.bisect_left(self.times, over)
            inclusive = bisect.bisect_right(self.times, over)
            most = self.sums[inclusive] - self.sums[i]    # this packet and the last one count
            least = self.sums[first] - self.sums[i + 1]   # neither does
            least += grant_Bps * self.away.seconds(begin, over)
            w.most = max(w.most, most / due)
            w.least = min(w.least, least / due)
            i += 1
        if w.most < 0:
            raise TestbedError("the transfer was shorter than a window; give more --pairs")
        return w

    def apart(self, start: float, end: float, grant_Bps: float, seconds: float) -> list[float]:
        """For windows that follow each other: payload, divided by the payload due while the core was there."""
        found = []
        while start + seconds <= end:
            first, last = (bisect.bisect_left(self.times, t) for t in (start, start + seconds))
            there = seconds - self.away.seconds(start, start + seconds)
            if there > seconds / 2:
                found.append((self.sums[last] - self.sums[first]) / (grant_Bps * there))
            start += seconds
        return found


def judge(results: Results, capture: Capture, start: float, end: float, grant_Bps: float,
          envelope_bytes: float, args: argparse.Namespace) -> None:
    """envelope_bytes: the most that the credit rule allows in a window of WINDOW_S."""
    due = grant_Bps * WINDOW_S
    away = capture.away.seconds(start, end) / (end - start)
    results.figure("time that the sender's core was away", 100 * away, "%")
    apart = capture.apart(start, end, grant_Bps, args.window)
    if len(apart) >= args.pairs:
        results.windows(MEAN, apart[:args.pairs], "of the grant", 1.0, Bar(BAR, within=True))
    else:
        results.noisy(MEAN, len(apart), "windows in which the core was there", args.pairs)
    w = capture.sliding(start, end, grant_Bps)
    results.exact(MOST, w.most, "of the grant", Bar(1 + BAR, at_most=True))
    if away > AWAY_MAX and w.least < 1 - BAR:
        results.noisy(LEAST, w.least, "of the grant", 1 - BAR)
    else:
        results.exact(LEAST, w.least, "of the grant", 1 - BAR)
    results.exact(ENVELOPE, w.most * due / envelope_bytes, "of it", Bar(1.0, at_most=True))


def run(testbed: Testbed, args: argparse.Namespace, results: Results) -> None:
    paired.check_options(args)
    results.demand(GRANTS, MEAN, LEAST, MOST, ENVELOPE)
    seen, stalls = _capture(testbed, args)
    data = [p for p in seen if p.type == DATA and p.payload > 0]
    source = max(set(p.src for p in data), key=[p.src for p in data[:1000]].count)
    data = [p for p in data if p.src == source]
    grants = [p for p in seen if p.type == CNTL and p.src != source and p.rate_Bps > 0]
    start, end = data[0].time_s + SKIP_S, data[-1].time_s - SKIP_S
    steady = sorted({p.rate_Bps for p in grants if start - 0.1 <= p.time_s <= end})
    if not steady:
        raise TestbedError("no CNTL with a grant was captured")
    grant, burst = steady[-1], max(p.burst for p in grants)
    print(f"{len(data)} units captured, granted {rate_text(8 * grant)} (burst {burst} bytes), "
          f"{len(steady)} different grants while steady")
    results.exact(GRANTS, len(steady), "grants", Bar(1, at_most=True))
    envelope = grant * WINDOW_S + 2 * burst + max(p.payload for p in data)
    capture = Capture([p.time_s for p in data], [p.payload for p in data], stalls)
    judge(results, capture, start, end, grant, envelope, args)
