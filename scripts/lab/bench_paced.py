# SPDX-License-Identifier: BSD-3-Clause
"""Is payload on the wire what the receiver granted? tcpdump, a stranger, sees it arrive.

The receiver's capacity is set to 1 Gb/s of payload. Every window of 100 ms, beginning at every
packet, must carry rate * 100 ms within 1 %. The sender's poller has a core to itself; everything else
is on the other ones.

A machine that takes the core away makes a hole which, by the credit rules, must not be filled up
later. A witness on that core says when this was so; windows that saw it must not carry too much, but
may carry too little. What share of the windows that is, is in the results.
"""
import bisect
import os
import time
from dataclasses import dataclass

from . import witness
from .capture import CNTL, DATA, packets
from .daemon import Build
from .pair import ADDR_B, veth_pair
from .process import LabError, cpus, until
from .table import rate_text

WINDOW_S = 0.1
BAR = 0.01
# The first grant is the host's; the transfer settles to it at once, the machine perhaps not.
SKIP_S = 0.3


def options(parser):
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--capacity", default="1Gbit")
    parser.add_argument("--mtu", type=int, default=9000)
    parser.add_argument("--xdp", action="store_true", help="AF_XDP instead of AF_PACKET")
    parser.add_argument("--idle", default="poll", help="of the sending daemon")


def _plan():
    """The sender's worker alone on the first CPU."""
    have = cpus()
    rest = have[1:] or have
    return (have[0], rest[0]), (rest[-1], rest[0]), rest


def _capture(lab, args):
    plan_a, plan_b, rest = _plan()
    a, b = veth_pair(lab, Build(args.build, args.huge), mtu=args.mtu, xdp=args.xdp,
                     b_keys={"capacity": args.capacity}, a_daemon={"idle": args.idle},
                     plan=(plan_a, plan_b), tapped=True)
    os.sched_setaffinity(0, rest)
    path = lab.path("capture.pcap")
    tcpdump = lab.start("tcpdump", ["tcpdump", "-i", b.device, "-s", "128", "-B", "65536",
                                    "--time-stamp-precision=nano", "-w", path, "udp"], ns=b.ns,
                        cpus=rest)
    until(lambda: "listening" in tcpdump.err(), 10, "tcpdump listens")
    server = b.sluice("server", "perf", "server", "-1", "-q", cpus=rest)
    b.wait_listening()
    watcher = witness.start(lab, a.pid(), plan_a[0])
    client = a.sluice("client", "perf", "client", "-q", "-t", f"{args.seconds:g}", "--outstanding",
                      "16", ADDR_B, cpus=rest)
    client.check(args.seconds * 3 + 60)
    watcher.stop()
    server.check(30)
    time.sleep(0.5)
    tcpdump.stop()
    if "0 packets dropped by kernel" not in tcpdump.err():
        raise LabError(f"tcpdump lost packets, so it proves nothing\n{tcpdump.tail()}")
    for daemon in (a, b):
        daemon.stop()
    return packets(path), witness.stalls(watcher)


@dataclass
class Windows:
    """Payload of windows of WINDOW_S: those that begin with a packet carry the most, those that begin
    right behind one the least. low is of those only in which the sender's core was there."""
    low: int = None
    high: int = None
    count: int = 0
    stalled: int = 0


def windows(times, sums, start, end, stalls):
    w = Windows()
    begins, ends = [s[0] for s in stalls], [s[1] for s in stalls]
    i = bisect.bisect_left(times, start)
    while i < len(times) and times[i] + WINDOW_S <= end:
        first = bisect.bisect_left(times, times[i] + WINDOW_S)
        inclusive = bisect.bisect_right(times, times[i] + WINDOW_S)
        most = sums[inclusive] - sums[i]       # this packet and the last one count
        least = sums[first] - sums[i + 1]      # neither does
        w.high = most if w.high is None else max(w.high, most)
        w.count += 1
        if bisect.bisect_left(ends, times[i]) < bisect.bisect_right(begins, times[i] + WINDOW_S):
            w.stalled += 1
        else:
            w.low = least if w.low is None else min(w.low, least)
        i += 1
    if w.count == 0:
        raise LabError("the transfer was shorter than a window; use --seconds")
    if w.low is None:
        raise LabError("the machine left no 100 ms undisturbed; measure on a quieter one")
    return w


def run(lab, args, results):
    seen, stalls = _capture(lab, args)
    data = [p for p in seen if p.type == DATA and p.payload > 0]
    source = max(set(p.src for p in data), key=[p.src for p in data[:1000]].count)
    data = [p for p in data if p.src == source]
    grants = [p for p in seen if p.type == CNTL and p.src != source and p.rate_Bps > 0]
    start, end = data[0].time_s + SKIP_S, data[-1].time_s - SKIP_S
    steady = sorted({p.rate_Bps for p in grants if start - 0.1 <= p.time_s <= end})
    if not steady:
        raise LabError("no CNTL with a grant was captured")
    grant, burst = steady[-1], max(p.burst for p in grants)
    times = [p.time_s for p in data]
    sums = [0]
    for p in data:
        sums.append(sums[-1] + p.payload)
    w = windows(times, sums, start, end, stalls)
    first, last = bisect.bisect_left(times, start), bisect.bisect_left(times, end)
    mean = (sums[last] - sums[first]) / (times[last] - times[first])
    print(f"{len(data)} units captured, granted {rate_text(8 * grant)} (burst {burst} bytes), "
          f"{len(steady)} different grants while steady")
    due = grant * WINDOW_S
    envelope = due + 2 * burst + max(p.payload for p in data)
    results.add("different grants while steady", len(steady), "grants", bar=1, at_most=True)
    results.add("mean rate, holes of the machine included", 8 * mean / 1e9, "Gb/s", 8 * grant / 1e9)
    results.add("windows in which the machine stood still", 100 * w.stalled / w.count, "%")
    results.add("emptiest other window of 100 ms", w.low / 1e6, "MB", due / 1e6)
    results.add("fullest window of 100 ms", w.high / 1e6, "MB", due / 1e6)
    results.add("worst deviation in a window", max(w.high - due, due - w.low) / due, "of the grant",
                bar=BAR, at_most=True)
    results.add("fullest window against the credit rule's envelope", w.high / 1e6, "MB",
                envelope / 1e6, bar=1.0, at_most=True)
