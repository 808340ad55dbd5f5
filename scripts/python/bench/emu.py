# SPDX-License-Identifier: BSD-3-Clause
"""The path emulator on one core against testpmd's io forwarding: same vdevs, same generator.

A generator on the other core sends frames into the forwarder's first memif and drains the second.
All forwarders are up, each with a generator of its own, and stand still but in their windows.
"impaired" is 100 ms of delay, 0.1 % of loss and a rate limit, with at least 10^6 packets in flight:
what the link's queue holds, and what the delay does. There is room for more, so that what the
machine takes away for a moment does not count.

The delay error is measured in the box: from the TSC read right after rx_burst to the one read right
before tx_burst, less the configured delay, at half of the top load. Its 99 % quantile must be below
5 us, or, where a loop that does nothing is away from its core for longer (spin.c, in the same
round, with another one on the generator's core), below 1.5 times that.
"""
import json
import os
import statistics
import subprocess

from . import paired
from testbed.box import Box
from testbed.daemon import Build
from testbed.pair import pair_cpus
from testbed.process import TestbedError, until

RING = "rsize=9,bsize=2048"
DELAY = "1ms"
IN_FLIGHT = 1_000_000
ROOM = 600_000
FRAMES = (60, 1496)
PASS_BAR, IMPAIRED_BAR = 0.8, 0.5
# The impaired link's rate, of testpmd's: above what the box must carry, below what it can, so that
# the link is full.
LINK, FULL = 0.6, 0.95
WARM_S, FILL_S = 0.1, 1.0  # FILL_S: until an impaired link that stood still is full again
FIRST_WINDOWS = 5          # by which a load is chosen
REPORT_S = 0.1
LATE_NS, AWAY_TIMES = 5000, 1.5
TESTPMD, WIRE, IMPAIRED, LATE, AWAY = "testpmd", "wire", "impaired", "late", "away"

PASS_ROW = "pass-through, {} B"
IMPAIRED_ROW, FLIGHT_ROW = "delay 100 ms, loss 0.1 %, rate, 64 B", "packets in flight then"
EARLY_ROW, MEDIAN_ROW, P99_ROW = ("delay error, {} B: " + x for x in ("earliest", "median", "99 %"))


def options(parser):
    paired.options(parser)


def args_build(args):
    return Build(args.build, args.huge)


def _vdevs(testbed, role, tag):
    return [f"net_memif{i},role={role},id=0,socket-abstract=no,socket={testbed.path(f'{tag}{i}.sock')},{RING}"
            for i in range(2)]


def _memory(args, mb):
    return (["--in-memory"] if args.huge else ["--no-huge", "--no-shconf"]) + ["-m", str(mb)]


class Forwarder:
    """One that is up, with its generator; it runs in windows only."""

    def __init__(self, testbed, args, tag, process, settle_s=WARM_S):
        cpu = pair_cpus()[1][0]
        command = [os.path.join(args.build, "test", "bench", "load"), "--lcores", f"0@{cpu}",
                   *_memory(args, 256), "--no-pci", "--no-telemetry", "--log-level", "error",
                   "--file-prefix", f"sluice-{os.getpid()}-load-{tag}"]
        for vdev in _vdevs(testbed, "client", tag):
            command += ["--vdev", vdev]
        self.load = paired.Asked(testbed.start(f"load-{tag}", command, stdin=subprocess.PIPE))
        self.load.next_answer()
        self.process = process
        self.group = paired.Group(testbed, [process], 0, [process])
        self.settle_s = settle_s

    def send(self, frame, seconds, pps=0):
        """What the generator counted; the group must run."""
        warm = 0 if pps else self.settle_s
        result = json.loads(self.load.ask(f"{frame} {seconds:g} {pps:.0f} {warm:g}"))
        if result["drained"] == 0:
            raise TestbedError(f"{self.process.name} forwards nothing\n{self.process.tail()}")
        return result

    def pps(self, frame, seconds):
        with self.group:
            return self.send(frame, seconds)["drained_pps"]

    def first_pps(self, frame, seconds):
        return statistics.median(self.pps(frame, seconds) for _ in range(FIRST_WINDOWS))


def _testpmd(testbed, args):
    worker, control = pair_cpus()[0]
    command = ["dpdk-testpmd", "--lcores", f"0@{control},1@{worker}", *_memory(args, 512), "--no-pci",
               "--no-telemetry", "--file-prefix", f"sluice-{os.getpid()}-pmd"]
    for vdev in _vdevs(testbed, "server", TESTPMD):
        command += ["--vdev", vdev]
    process = testbed.start("testpmd", command + [
        "--", "--forward-mode=io", "--auto-start", "--no-mlockall", "--total-num-mbufs=16384",
        "--nb-cores=1", "--stats-period=3600"])
    until(lambda: os.path.exists(testbed.path(f"{TESTPMD}1.sock")), 30, "testpmd makes its memifs")
    return Forwarder(testbed, args, TESTPMD, process)


def _box(testbed, args, tag, spec, packets=4096, settle_s=WARM_S):
    """(Box, Forwarder)"""
    memory = 256 + (packets + 8192) * (2600 + (250 if packets > 100000 else 0)) // (1 << 20)
    reports = ("--interval", f"{REPORT_S * 1e3:g}ms") if tag != WIRE else ()
    box = Box(testbed, args_build(args), _vdevs(testbed, "server", tag), spec, "",
              ("--packets", f"{packets},64", "--quiet", *reports), memory, name=tag)
    return box, Forwarder(testbed, args, tag, box.process, settle_s)


def _impaired_spec(rate_pps, frame):
    """In flight: 100 ms of the rate, and the rest in the queue."""
    waits = IN_FLIGHT + ROOM - int(rate_pps * 0.1)
    return f"loss 0.1% rate {int(rate_pps * frame * 8)}bit limit {max(waits, 1000)} delay 100ms"


def _impaired_window(box, forwarder, frame, seconds):
    """(packets a second, in flight at the end)"""
    with forwarder.group:
        result = forwarder.send(frame, seconds)
        return result["drained_pps"], box.report()["forward"]["held_packets"]


def between(before, after):
    """{lower end of a bucket in ns: count} of what came to a histogram between two reports."""
    old = {value: n for value, n in before["buckets"]}
    grown = {value: n - old.get(value, 0) for value, n in after["buckets"]}
    return {value: n for value, n in grown.items() if n > 0}


def quantile(counts, share):
    """Lower end of the bucket that has it."""
    rest = share * sum(counts.values())
    for value in sorted(counts):
        rest -= counts[value]
        if rest <= 0:
            return value
    raise TestbedError("the box sent nothing")


def _late_window(box, forwarder, frame, pps, seconds):
    """(median delay error, its 99 % quantile, median round of the loop) in ns"""
    with forwarder.group:
        before = box.report()["forward"]
        forwarder.send(frame, seconds, pps)
        after = box.report()["forward"]
    late = between(before["late_ns"], after["late_ns"])
    return (quantile(late, 0.5), quantile(late, 0.99),
            quantile(between(before["round_ns"], after["round_ns"]), 0.5))


def _away_ns(testbed, args, seconds):
    """What this core is away from a bare loop while another runs on the generator's: p99, in ns."""
    spin = [os.path.join(args.build, "test", "bench", "spin"), str(seconds)]
    (worker, _), (other, _) = pair_cpus()
    beside = testbed.start("beside", spin, cpus=[other])
    alone = json.loads(testbed.run("spin", spin, 60, cpus=[worker]))
    beside.stop()
    return alone["p99_ns"]


def histogram_show(h):
    """A bar for each doubling."""
    octaves = {}
    for value, n in h["buckets"]:
        octaves[int(value).bit_length()] = octaves.get(int(value).bit_length(), 0) + n
    for bits, n in sorted(octaves.items()):
        print(f"  below {1 << bits:>10} ns {n:>10} {'#' * round(60 * n / h['count'])}")


def demand(results):
    results.demand(IMPAIRED_ROW, FLIGHT_ROW)
    for frame in FRAMES:
        results.demand(*(row.format(frame + 4) for row in (PASS_ROW, EARLY_ROW, MEDIAN_ROW, P99_ROW)))


def judge(results, values, link_pps):
    """values: {(contender, frame): values of each round}"""
    for frame in FRAMES:
        results.windows(PASS_ROW.format(frame + 4), values[WIRE, frame], "Mpps", values[TESTPMD, frame],
                        PASS_BAR, scale=1e-6)
    impaired = values[IMPAIRED, FRAMES[0]]
    results.windows(IMPAIRED_ROW, [v[0] for v in impaired], "Mpps", values[TESTPMD, FRAMES[0]],
                    IMPAIRED_BAR, scale=1e-6)
    held = [v[1] for v in impaired]
    if statistics.median(v[0] for v in impaired) >= FULL * link_pps:
        results.windows(FLIGHT_ROW, held, "packets", bar=IN_FLIGHT)
    else:  # a queue before a link that is not full says nothing
        results.noisy(FLIGHT_ROW, statistics.median(held), "packets", IN_FLIGHT)
    away = values[AWAY, 0]
    results.windows("this core away from a bare loop: 99 %", away, "ns", at_most=True)
    for frame in FRAMES:
        median, p99, loop = zip(*values[LATE, frame])
        results.windows(MEDIAN_ROW.format(frame + 4), median, "ns",
                        [min(max(100, 0.6 * ns), 1000) for ns in loop], 1.0, at_most=True)
        results.windows(P99_ROW.format(frame + 4), p99, "ns",
                        [max(LATE_NS, AWAY_TIMES * ns) for ns in away], 1.0, at_most=True)
        results.windows(f"a round of the loop, {frame + 4} B: median", loop, "ns", at_most=True)


def run(testbed, args, results):
    paired.check_options(args)
    demand(results)
    pmd = _testpmd(testbed, args)
    wire = _box(testbed, args, WIRE, "")[1]
    link_pps = LINK * pmd.first_pps(FRAMES[0], args.window)
    spec = _impaired_spec(link_pps, FRAMES[0])
    impaired = _box(testbed, args, IMPAIRED, spec, IN_FLIGHT + ROOM + 200_000, FILL_S)
    late = _box(testbed, args, LATE, f"delay {DELAY}", 100_000)
    contenders = {(IMPAIRED, FRAMES[0]): lambda s: _impaired_window(*impaired, FRAMES[0], s),
                  (AWAY, 0): lambda s: _away_ns(testbed, args, s)}
    for frame in FRAMES:
        half = late[1].first_pps(frame, args.window) / 2
        print(f"delay errors of {frame + 4} B: at {half / 1e6:.2f} Mpps", flush=True)
        contenders[TESTPMD, frame] = lambda s, frame=frame: pmd.pps(frame, s)
        contenders[WIRE, frame] = lambda s, frame=frame: wire.pps(frame, s)
        contenders[LATE, frame] = lambda s, frame=frame, half=half: _late_window(*late, frame, half, s)

    def show(i, values):
        print(f"round {i}: testpmd {values[TESTPMD, 60] / 1e6:.2f}, emulator "
              f"{values[WIRE, 60] / 1e6:.2f}, impaired {values[IMPAIRED, 60][0] / 1e6:.2f} Mpps with "
              f"{values[IMPAIRED, 60][1]} in flight; delay error {values[LATE, 60][0]:.0f} ns, 99 % "
              f"{values[LATE, 60][1]:.0f}", flush=True)

    values = paired.rounds(contenders, args, show)
    results.disturbed([wire.group, impaired[1].group, late[1].group])
    judge(results, values, link_pps)
    late[1].group.release()
    report = late[0].stop()["forward"]["late_ns"]
    print("delay errors, also of the first windows, at full load")
    histogram_show(report)
    for frame in FRAMES:  # one box for all frames
        results.exact(EARLY_ROW.format(frame + 4), report["min"], "ns", 0)
