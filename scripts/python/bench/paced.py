# SPDX-License-Identifier: BSD-3-Clause
"""Is payload on the wire what the receiver granted? tcpdump, a stranger, sees it arrive.

The receiver's capacity is set to 1 Gb/s of payload. Every window of 100 ms, beginning at every
packet, must carry rate * 100 ms within 1 %. The sender's poller has a core to itself; everything else
is on the other ones.

A machine that takes the core away makes a hole which, by the credit rules, must not be filled up
later. A witness on that core says when this was so. No window is left out for it: each must carry
rate * (100 ms - the time that the core was away within it), and none may carry more than rate * 100
ms. Where the core was away for more than a tenth of the time, that says little of Sluice, and too
little in a window counts as too noisy.
"""
import bisect
import os
import time
from dataclasses import dataclass

from . import paired, witness
from .capture import CNTL, DATA, packets
from testbed.daemon import Build
from testbed.pair import ADDR_B, veth_pair
from testbed.process import TestbedError, cpus, until
from testbed.table import rate_text

WINDOW_S = 0.1
BAR = 0.01
AWAY_MAX = 0.1
# The first grant is the host's; the transfer settles to it at once, the machine perhaps not.
SKIP_S = 0.3
GRANTS, MEAN, LEAST, MOST, ENVELOPE = (
    "different grants while steady", "payload of a window, time away left out",
    "emptiest window of 100 ms, time away left out", "fullest window of 100 ms",
    "fullest window against the credit rule's envelope")


def options(parser):
    paired.options(parser)
    parser.add_argument("--capacity", default="1Gbit")
    parser.add_argument("--mtu", type=int, default=9000)
    parser.add_argument("--xdp", action="store_true", help="AF_XDP instead of AF_PACKET")
    parser.add_argument("--idle", default="poll", help="of the sending daemon")


def _plan():
    """The sender's worker alone on the first CPU."""
    have = cpus()
    rest = have[1:] or have
    return (have[0], rest[0]), (rest[-1], rest[0]), rest


def _capture(testbed, args):
    plan_a, plan_b, rest = _plan()
    a, b = veth_pair(testbed, Build(args.build, args.huge), mtu=args.mtu, xdp=args.xdp,
                     b_keys={"capacity": args.capacity}, a_daemon={"idle": args.idle},
                     plan=(plan_a, plan_b), tapped=True)
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
        raise TestbedError(f"tcpdump lost packets, so it proves nothing\n{tcpdump.tail()}")
    for daemon in (a, b):
        daemon.stop()
    return packets(path), witness.stalls(watcher)


class Away:
    """How long the sender's core was away, from the witness's [(start, end)]."""

    def __init__(self, stalls):
        self.starts, self.ends, self.before = [], [], [0.0]
        for start, end in sorted(stalls):
            if self.ends and start <= self.ends[-1]:
                end = max(end, self.ends.pop())
                start = self.starts.pop()
                self.before.pop()
            self.starts.append(start)
            self.ends.append(end)
            self.before.append(self.before[-1] + end - start)

    def _until(self, at):
        i = bisect.bisect_right(self.starts, at)
        if i == 0:
            return 0.0
        return self.before[i - 1] + min(at, self.ends[i - 1]) - self.starts[i - 1]

    def seconds(self, start, end):
        return self._until(end) - self._until(start)


@dataclass
class Windows:
    """Payload of windows of WINDOW_S, in parts of what is due: those that begin with a packet carry
    the most, those that begin right behind one the least. least: with what was due while the core
    was away."""
    least: float = None
    most: float = None


class Capture:
    """times: of packets in seconds, in order; payload: of each in bytes."""

    def __init__(self, times, payload, stalls):
        self.times, self.away = times, Away(stalls)
        self.sums = [0]
        for n in payload:
            self.sums.append(self.sums[-1] + n)

    def sliding(self, start, end, grant_Bps):
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
            w.most = most / due if w.most is None else max(w.most, most / due)
            w.least = least / due if w.least is None else min(w.least, least / due)
            i += 1
        if w.most is None:
            raise TestbedError("the transfer was shorter than a window; use --pairs")
        return w

    def apart(self, start, end, grant_Bps, seconds):
        """Of windows one after the other: payload over what was due while the core was there."""
        found = []
        while start + seconds <= end:
            first, last = (bisect.bisect_left(self.times, t) for t in (start, start + seconds))
            there = seconds - self.away.seconds(start, start + seconds)
            if there > seconds / 2:
                found.append((self.sums[last] - self.sums[first]) / (grant_Bps * there))
            start += seconds
        return found


def judge(results, capture, start, end, grant_Bps, envelope_bytes, args):
    """envelope_bytes: the most that the credit rule allows in a window of WINDOW_S."""
    due = grant_Bps * WINDOW_S
    away = capture.away.seconds(start, end) / (end - start)
    results.figure("time that the sender's core was away", 100 * away, "%")
    apart = capture.apart(start, end, grant_Bps, args.window)
    if len(apart) >= args.pairs:
        results.windows(MEAN, apart[:args.pairs], "of the grant", 1.0, BAR, within=True)
    else:
        results.noisy(MEAN, len(apart), "windows in which the core was there", args.pairs)
    w = capture.sliding(start, end, grant_Bps)
    results.exact(MOST, w.most, "of the grant", 1 + BAR, at_most=True)
    if away > AWAY_MAX and w.least < 1 - BAR:
        results.noisy(LEAST, w.least, "of the grant", 1 - BAR)
    else:
        results.exact(LEAST, w.least, "of the grant", 1 - BAR)
    results.exact(ENVELOPE, w.most * due / envelope_bytes, "of it", 1.0, at_most=True)


def run(testbed, args, results):
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
    results.exact(GRANTS, len(steady), "grants", 1, at_most=True)
    envelope = grant * WINDOW_S + 2 * burst + max(p.payload for p in data)
    capture = Capture([p.time_s for p in data], [p.payload for p in data], stalls)
    judge(results, capture, start, end, grant, envelope, args)
