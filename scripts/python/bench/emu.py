# SPDX-License-Identifier: BSD-3-Clause
"""The path emulator on one core against testpmd's io forwarding, with the same vdevs and generator.

A generator on the other core sends frames into the forwarder's first memif and drains the second.
All forwarders are started at the beginning, each with a generator of its own. Outside their windows
they are stopped. "impaired" is 100 ms of delay, 0.1 % of loss and a rate limit, with at least 10^6
packets in flight: those in the link's queue and those in the delay. There is room for more packets,
so a moment without the core does not matter.

The emulator itself measures the delay error, at half of the top load. It is the time from the TSC
read right after rx_burst to the one read right before tx_burst, less the configured delay. Its 99 %
quantile must be below 5 us, or below 1.5 times the time for which an empty loop is away from its core
if that is longer. The empty loop (spin.c) runs in the same round, beside another one on the
generator's core.
"""
import argparse
import functools
import json
import os
import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from . import forwarder, paired
from .paired import Bar
from .results import Results
from testbed.box import Box
from testbed.daemon import Build
from testbed.load import Load, load_process
from testbed.pair import pair_cpus
from testbed.process import Process, Testbed, TestbedError

RINGS = forwarder.Rings(9, 2048)
DELAY = "1ms"
IN_FLIGHT = 1_000_000
ROOM = 600_000
FRAMES = (60, 1496)
PASS_BAR, IMPAIRED_BAR = 0.8, 0.5
# The impaired link's rate is this share of testpmd's. It is above IMPAIRED_BAR and below the speed of
# the box, so the link is full.
LINK, FULL = 0.6, 0.95
WARM_S, FILL_S = 0.1, 1.0  # FILL_S: until an impaired link that was stopped is full again
FIRST_WINDOWS = 5          # their median decides the load of later windows
REPORT_S = 0.1
LATE_NS, AWAY_TIMES = 5000, 1.5
TESTPMD, WIRE, IMPAIRED, LATE, AWAY = "testpmd", "wire", "impaired", "late", "away"

PASS_ROW = "pass-through, {} B"
IMPAIRED_ROW, FLIGHT_ROW = "delay 100 ms, loss 0.1 %, rate, 64 B", "packets in flight then"
EARLY_ROW, MEDIAN_ROW, P99_ROW = ("delay error, {} B: " + x for x in ("earliest", "median", "99 %"))

# {(contender, bytes of a frame): values of each round}. A value is a float for TESTPMD, WIRE and AWAY;
# for IMPAIRED see _impaired_window(), for LATE _late_window().
Values = Mapping[tuple[str, int], Sequence[Any]]


def options(parser: argparse.ArgumentParser) -> None:
    paired.options(parser)


def args_build(args: argparse.Namespace) -> Build:
    return Build(args.build, args.huge)


class Forwarder:
    """A forwarder that is ready, with its generator. It runs only in windows."""

    def __init__(self, testbed: Testbed, args: argparse.Namespace, tag: str, process: Process,
                 settle_s: float = WARM_S) -> None:
        vdevs = forwarder.vdevs(testbed, "client", tag, RINGS)
        self.load = Load(load_process(testbed, args_build(args), f"load-{tag}", vdevs, [pair_cpus()[1][0]],
                                      ["--interactive", "--count", "--wait", "0"]))
        self.process = process
        self.group = paired.Group(testbed, [process], 0, [process])
        self.settle_s = settle_s

    def send(self, frame: int, seconds: float, pps: float = 0) -> dict[str, Any]:
        """The generator's counts. The group must be running."""
        warm = 0 if pps else self.settle_s
        result = self.load.window(size=frame, seconds=f"{seconds:g}", rate=f"{pps:.0f}pps" if pps else "max",
                                  warmup=f"{warm:g}")
        if result["arrived"] == 0:
            raise TestbedError(f"{self.process.name} forwards nothing\n{self.process.tail()}")
        return result

    def pps(self, frame: int, seconds: float) -> float:
        with self.group:
            return float(self.send(frame, seconds)["rx_pps"])

    def first_pps(self, frame: int, seconds: float) -> float:
        return statistics.median(self.pps(frame, seconds) for _ in range(FIRST_WINDOWS))


def _testpmd(testbed: Testbed, args: argparse.Namespace) -> Forwarder:
    process = forwarder.testpmd(testbed, args_build(args), TESTPMD, RINGS)
    return Forwarder(testbed, args, TESTPMD, process)


def _box(testbed: Testbed, args: argparse.Namespace, tag: str, spec: str, packets: int = 4096,
         settle_s: float = WARM_S) -> tuple[Box, Forwarder]:
    reports = ("--interval", f"{REPORT_S * 1e3:g}ms") if tag != WIRE else ()
    box = forwarder.box(testbed, args_build(args), spec, tag, RINGS, packets, reports)
    return box, Forwarder(testbed, args, tag, box.process, settle_s)


def _impaired_spec(rate_pps: float, frame: int) -> str:
    """The delay has 100 ms of the rate in flight, and the queue has the rest."""
    waits = IN_FLIGHT + ROOM - int(rate_pps * 0.1)
    return f"loss 0.1% rate {int(rate_pps * frame * 8)}bit limit {max(waits, 1000)} delay 100ms"


def _impaired_window(box: Box, loaded: Forwarder, frame: int, seconds: float) -> tuple[float, int]:
    """(packets a second, packets in flight at the end)"""
    with loaded.group:
        result = loaded.send(frame, seconds)
        return result["rx_pps"], box.report()["forward"]["held_packets"]


def between(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[int, int]:
    """{lower end of a bucket in ns: how much its count grew} of a histogram between two reports."""
    old = {value: n for value, n in before["buckets"]}
    grown = {value: n - old.get(value, 0) for value, n in after["buckets"]}
    return {value: n for value, n in grown.items() if n > 0}


def quantile(counts: Mapping[int, int], share: float) -> int:
    """Lower end of the bucket that holds this quantile."""
    rest = share * sum(counts.values())
    for value in sorted(counts):
        rest -= counts[value]
        if rest <= 0:
            return value
    raise TestbedError("the box sent nothing")


def _late_window(box: Box, loaded: Forwarder, frame: int, pps: float, seconds: float) -> tuple[int, int, int]:
    """(median delay error, its 99 % quantile, median round of the loop) in ns"""
    with loaded.group:
        before = box.report()["forward"]
        loaded.send(frame, seconds, pps)
        after = box.report()["forward"]
    late = between(before["late_ns"], after["late_ns"])
    return (quantile(late, 0.5), quantile(late, 0.99),
            quantile(between(before["round_ns"], after["round_ns"]), 0.5))


def _away_ns(testbed: Testbed, args: argparse.Namespace, seconds: float) -> float:
    """99 % quantile of the gaps, in ns, for which an empty loop on the worker's core does not run, while
    another one runs on the generator's core."""
    spin = [os.path.join(args.build, "test", "bench", "spin"), str(seconds)]
    (worker, _), (other, _) = pair_cpus()
    beside = testbed.start("beside", spin, cpus=[other])
    alone = json.loads(testbed.run("spin", spin, 60, cpus=[worker]))
    beside.stop()
    return float(alone["p99_ns"])


def histogram_show(h: Mapping[str, Any]) -> None:
    """A bar for each power of two."""
    octaves: dict[int, int] = {}
    for value, n in h["buckets"]:
        octaves[int(value).bit_length()] = octaves.get(int(value).bit_length(), 0) + n
    for bits, n in sorted(octaves.items()):
        print(f"  below {1 << bits:>10} ns {n:>10} {'#' * round(60 * n / h['count'])}")


def demand(results: Results) -> None:
    results.demand(IMPAIRED_ROW, FLIGHT_ROW)
    for frame in FRAMES:
        results.demand(*(row.format(frame + 4) for row in (PASS_ROW, EARLY_ROW, MEDIAN_ROW, P99_ROW)))


def judge(results: Results, values: Values, link_pps: float) -> None:
    for frame in FRAMES:
        results.windows(PASS_ROW.format(frame + 4), values[WIRE, frame], "Mpps", values[TESTPMD, frame],
                        PASS_BAR, scale=1e-6)
    impaired = values[IMPAIRED, FRAMES[0]]
    results.windows(IMPAIRED_ROW, [v[0] for v in impaired], "Mpps", values[TESTPMD, FRAMES[0]],
                    IMPAIRED_BAR, scale=1e-6)
    held = [v[1] for v in impaired]
    if statistics.median(v[0] for v in impaired) >= FULL * link_pps:
        results.windows(FLIGHT_ROW, held, "packets", bar=IN_FLIGHT)
    else:  # the queue of a link that is not full says nothing
        results.noisy(FLIGHT_ROW, statistics.median(held), "packets", IN_FLIGHT)
    away = values[AWAY, 0]
    results.windows("this core away from a bare loop: 99 %", away, "ns", bar=Bar(None, at_most=True))
    for frame in FRAMES:
        median, p99, loop = zip(*values[LATE, frame])
        results.windows(MEDIAN_ROW.format(frame + 4), median, "ns",
                        [min(max(100, 0.6 * ns), 1000) for ns in loop], Bar(1.0, at_most=True))
        results.windows(P99_ROW.format(frame + 4), p99, "ns",
                        [max(LATE_NS, AWAY_TIMES * ns) for ns in away], Bar(1.0, at_most=True))
        results.windows(f"a round of the loop, {frame + 4} B: median", loop, "ns", bar=Bar(None, at_most=True))


def run(testbed: Testbed, args: argparse.Namespace, results: Results) -> None:
    paired.check_options(args)
    demand(results)
    pmd = _testpmd(testbed, args)
    wire = _box(testbed, args, WIRE, "")[1]
    link_pps = LINK * pmd.first_pps(FRAMES[0], args.window)
    spec = _impaired_spec(link_pps, FRAMES[0])
    impaired = _box(testbed, args, IMPAIRED, spec, IN_FLIGHT + ROOM + 200_000, FILL_S)
    late = _box(testbed, args, LATE, f"delay {DELAY}", 100_000)
    contenders: dict[tuple[str, int], Callable[[float], Any]] = {
        (IMPAIRED, FRAMES[0]): functools.partial(_impaired_window, *impaired, FRAMES[0]),
        (AWAY, 0): functools.partial(_away_ns, testbed, args)}
    for frame in FRAMES:
        half = late[1].first_pps(frame, args.window) / 2
        print(f"delay errors of {frame + 4} B: at {half / 1e6:.2f} Mpps", flush=True)
        contenders[TESTPMD, frame] = functools.partial(pmd.pps, frame)
        contenders[WIRE, frame] = functools.partial(wire.pps, frame)
        contenders[LATE, frame] = functools.partial(_late_window, *late, frame, half)

    def show(i: int, values: dict[tuple[str, int], Any]) -> None:
        print(f"round {i}: testpmd {values[TESTPMD, 60] / 1e6:.2f}, emulator "
              f"{values[WIRE, 60] / 1e6:.2f}, impaired {values[IMPAIRED, 60][0] / 1e6:.2f} Mpps with "
              f"{values[IMPAIRED, 60][1]} in flight; delay error {values[LATE, 60][0]:.0f} ns, 99 % "
              f"{values[LATE, 60][1]:.0f}", flush=True)

    values = paired.rounds(contenders, args, show)
    results.disturbed([wire.group, impaired[1].group, late[1].group])
    judge(results, values, link_pps)
    late[1].group.release()
    report = late[0].stop()["forward"]["late_ns"]
    print("delay errors, with those of the first windows, at full load:")
    histogram_show(report)
    for frame in FRAMES:  # one box forwarded frames of both sizes
        results.exact(EARLY_ROW.format(frame + 4), report["min"], "ns", 0)
