# SPDX-License-Identifier: BSD-3-Clause
"""Pacing on one core: lib/pace's pacer against rte_sched, rte_timer and wheels after Carousel and Eiffel.

One program (test/bench/pace_compare.c) gives all engines the same work. They take turns, in an order
that the seed draws, and only windows of one round are compared.

Top: the highest load at which at least 98 % of the packets left on schedule. Time in which another
thread had the core does not count, for any engine. Each wheel has the slot width that suits it best.

Gap error: the distance of the time between two packets of a flow from the flow's period. It is
measured at half of the slowest engine's top, in real time. Gaps with packets that were late because
the core was away are left out. The table has the share of the gaps left out. If this share is above
5 % for Sluice, the row is too noisy.

A wheel is an honest reference if it reaches at least 80 % of the speed of its prototype.

Two more engines do not pace, but show the limits of this machine. "floor" does the same work for each
packet as the pacer, but without a wheel, in an order made beforehand. If it is below a bar, no pacer
with a cache line for each flow can reach that bar on this machine. "a bare loop" only reads the clock:
its gap errors are those of packets that leave at the first look at the clock after they are due.

A window is a search for the top. It tries each load for 0.2 s, or for two periods of the slowest flow
if that is longer. The whole bench takes most of an hour; --flows and --engines choose a part.
"""
import argparse
import json
import os
import statistics
import time
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from . import paired
from .micro import program
from .paired import Bar
from .results import Results
from testbed.process import Testbed, TestbedError, cpus

SIZES = (1, 1000, 32768, 131072, 1048576)
SLUICE, SCHED, TIMER, CAROUSEL, EIFFEL = "sluice", "rte_sched", "rte_timer", "carousel", "eiffel"
FLOOR = "floor"  # no pacer: finding the next flow costs nothing (test/bench/pace_floor.c)
BARE = "a bare loop"  # test/bench/pace_gap.c
ENGINES = (SLUICE, CAROUSEL, EIFFEL, TIMER, SCHED)
MEMORY_MB = 4000
TIMEOUT_S = 3 * 3600

# {flows: bars on the pacer's top, divided by that of rte_sched, of rte_timer, of the better wheel}
BARS: dict[int, tuple[float | None, ...]] = {
    1: (4, 1, 1), 1000: (20, 15, 1), 32768: (15, 35, 1.2), 131072: (8, 25, 1.3), 1048576: (None, 12, 1.5)}
# {flows: Mpps of the prototype}, and the share of it that an honest wheel reaches
PROTOTYPE = {1000: 102, 32768: 48, 131072: 18}
HONEST = 0.8
LINES_BAR = 1.5     # time of a packet with the most flows, divided by that of a random cache line
GAP_BARS = {TIMER: 1.0, SCHED: 0.01}
LEFT_OUT_MAX = 0.05
SCHED_FLOWS_MAX = 500000  # with more flows, rte_sched has one window, and is not compared (pace_compare.c)
WHEELS, BETTER = (CAROUSEL, EIFFEL), "the better wheel"


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--pairs", type=int, default=paired.PAIRS_MIN,
                        help=f"number of rounds; each engine has one window in each, at least {paired.PAIRS_MIN}")
    parser.add_argument("--window", type=float, default=paired.WINDOW_MIN_S, metavar="SECONDS",
                        help="shortest time for which a load is tried")
    parser.add_argument("--seed", type=int, default=1, help="draws the order within each round")
    parser.add_argument("--flows", default=",".join(str(n) for n in SIZES),
                        help="numbers of flows, separated by commas")
    parser.add_argument("--engines", default=",".join((*ENGINES, FLOOR)), help="engines, separated by commas")
    parser.add_argument("--slots", default="256,1024,4096",
                        help="slot widths in cycles; carousel and eiffel each take the best one")
    parser.add_argument("--from", dest="lines", metavar="FILE",
                        help="do not measure: judge pace.jsonl of an earlier run with the same --flows")


def flows_text(n: int) -> str:
    for scale, unit in ((1000000, "M"), (1000, "k")):
        if n >= scale:
            return f"{n // (scale if n % scale == 0 else 1 << (20 if unit == 'M' else 10))}{unit}"
    return str(n)


class Figures:
    """The lines that pace_compare printed."""

    def __init__(self, rows: Sequence[Mapping[str, Any]]) -> None:
        self.rows = rows
        self.sizes: list[int] = sorted({r["flows"] for r in rows if r["kind"] == "top"})

    def find(self, kind: str, **keys: object) -> list[Mapping[str, Any]]:
        return [r for r in self.rows
                if r["kind"] == kind and all(r.get(k) == v for k, v in keys.items())]

    def tops(self, flows: int, engine: str) -> list[Mapping[str, Any]]:
        """Round 0 finds the range to search, and counts only if there is no other round."""
        found = self.find("top", flows=flows, engine=engine)
        return [r for r in found if r["round"] > 0] or found

    def mpps(self, flows: int, engine: str) -> float | None:
        found = self.tops(flows, engine)
        return statistics.median(r["pps"] for r in found) / 1e6 if found else None

    def gap_ns(self, flows: int, engine: str, quantile: str) -> float | None:
        found = self.find("gap", flows=flows, engine=engine)
        return statistics.median(r[quantile] for r in found) if found else None

    def rounds(self, kind: str, flows: int, engine: str, field: str) -> dict[int, float]:
        """{round: value} of the rounds that count."""
        found = self.tops(flows, engine) if kind == "top" else self.find(kind, flows=flows, engine=engine)
        return {r["round"]: r[field] for r in found}

    def better_wheel(self, flows: int) -> dict[int, float] | None:
        """{round: packets a second} of the wheel whose best() is higher; None: there is no wheel."""
        have = [self.rounds("top", flows, e, "pps") for e in WHEELS]
        have = [h for h in have if h]
        return max(have, key=lambda h: paired.best(list(h.values()))) if have else None

    def left_out(self, flows: int, engine: str) -> float:
        """Median share of the gaps that were left out because the core was away."""
        found = self.find("gap", flows=flows, engine=engine)
        return statistics.median(r["interrupted"] / max(1, r["interrupted"] + r["gaps"]) for r in found)


def compare(results: Results, name: str, ours: Mapping[int, float], reference: Mapping[int, float],
            bar: Bar | float | None, unit: str = "Mpps", scale: float = 1e-6) -> None:
    """ours, reference: {round: value}; the rounds that both have are compared. If there is none, the row is
    missing."""
    both = sorted(set(ours) & set(reference))
    bar = paired.bar_of(bar)
    if len(both) >= paired.PAIRS_MIN:
        results.windows(name, [ours[i] for i in both], unit, [reference[i] for i in both], bar, scale)
    elif both and bar.value is not None:
        # In some rounds the search found no load.
        results.noisy(name, len(both), f"rounds of {paired.PAIRS_MIN}", bar)


def measure(testbed: Testbed, args: argparse.Namespace) -> str:
    """The output of pace_compare. Prints a line for each window, since it takes minutes."""
    cpu = cpus()[0]
    memory = ["--in-memory"] if args.huge else ["--no-huge", "--no-shconf"]
    command = [program(args, "pace_compare"), "--lcores", f"0@{cpu}", *memory, "-m", str(MEMORY_MB),
               "--no-pci", "--no-telemetry", "--log-level=4", "--file-prefix",
               f"sluice-{os.getpid()}-pace", "--", "--flows", args.flows, "--rounds",
               str(args.pairs), "--seconds", str(args.window), "--slots", args.slots, "--seed",
               str(args.seed), "--engines", args.engines]
    process = testbed.start("pace_compare", command, cpus=[cpu])
    shown, end = 0, time.monotonic() + TIMEOUT_S
    while process.running() and time.monotonic() < end:
        time.sleep(1)
        shown = progress(process.out(), shown)
    process.check(1)
    return process.out()


def progress(text: str, shown: int) -> int:
    """Prints the complete lines after the first `shown` ones; returns how many there are."""
    lines = text[:text.rfind("\n") + 1].splitlines()
    for line in lines[shown:]:
        r = json.loads(line)
        if r["kind"] == "top":
            result = f"{r['pps'] / 1e6:8.2f} Mpps"
        elif r["kind"] == "gap":
            result = f"{r['p50_ns']:8} ns median gap error, 99 % {r['p99_ns']} ns"
        else:
            continue
        where = f"round {r['round']}"
        print(f"{where:8} {flows_text(r['flows']):>6} {r['engine']:10} {result}", flush=True)
    return len(lines)


def rows_of(flows: int) -> dict[str, tuple[str, ...]]:
    """The rows that need a verdict with this number of flows: {name: engines that the row needs}."""
    name = f"{flows_text(flows)} flows"
    rows: dict[str, tuple[str, ...]] = {}
    for other, bar in zip((SCHED, TIMER, BETTER), BARS.get(flows, ())):
        if bar is not None:
            rows[f"{name}: sluice, against {other}"] = (SLUICE, *(WHEELS if other == BETTER else (other,)))
    if flows in PROTOTYPE:
        for engine in WHEELS:
            rows[f"{name}: {engine}, against the prototype"] = (engine,)
    for engine in GAP_BARS:
        if engine != SCHED or flows <= SCHED_FLOWS_MAX:
            rows[f"{name}: 99 % of gap errors: sluice, against {engine}"] = (SLUICE, engine)
    return rows


def lines_row(flows: int) -> str:
    return f"{flows_text(flows)} flows: {SLUICE}, a packet, in random cache lines"


def numbers(args: argparse.Namespace) -> tuple[list[int], list[str]]:
    """(flows, engines) of the options."""
    try:
        flows = [int(n) for n in args.flows.split(",")]
    except ValueError:
        raise TestbedError(f"--flows {args.flows}: give numbers, separated by commas") from None
    engines = args.engines.split(",")
    unknown = set(engines) - {*ENGINES, FLOOR}
    if unknown:
        raise TestbedError(f"there is no engine {', '.join(sorted(unknown))}; there are "
                       f"{', '.join((*ENGINES, FLOOR))}")
    return flows, engines


def demand(results: Results, flows: Sequence[int], engines: Collection[str]) -> None:
    for n in flows:
        results.demand(*(row for row, needs in rows_of(n).items() if set(needs) <= set(engines)))
    if SLUICE in engines and max(flows) >= SIZES[-1]:
        results.demand(lines_row(max(flows)))


def run(testbed: Testbed, args: argparse.Namespace, results: Results) -> None:
    if args.pairs < paired.PAIRS_MIN:
        raise TestbedError(f"--pairs {args.pairs} is too few to judge; give {paired.PAIRS_MIN} or more")
    flows, engines = numbers(args)
    demand(results, flows, engines)
    os.makedirs(args.out, exist_ok=True)
    path = os.path.join(args.out, "pace.jsonl")
    if args.lines:
        with open(args.lines, encoding="utf-8") as f:
            text = f.read()
    else:
        text = measure(testbed, args)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
    figures = Figures([json.loads(line) for line in text.splitlines()])
    judge(results, figures, engines)
    show_stalls(figures)
    from .plot_pace import draw
    draw(figures, os.path.join(args.out, "pace.png"))


def judge(results: Results, figures: Figures, engines: Sequence[str]) -> None:
    if not figures.sizes:
        raise TestbedError("pace_compare measured nothing")
    for flows in figures.sizes:
        for engine in engines:
            if not figures.tops(flows, engine):
                raise TestbedError(f"{engine} took no load with {flows} flows; see its output in the logs")
        add_tops(figures, flows, results)
    add_lines(figures, results)
    for flows in figures.sizes:
        add_gaps(figures, flows, results)
    add_long_turns(figures, results)


def add_tops(figures: Figures, flows: int, results: Results) -> None:
    name = f"{flows_text(flows)} flows"
    bars = dict(zip((SCHED, TIMER, BETTER), BARS.get(flows, (None, None, None))))
    ours = figures.rounds("top", flows, SLUICE, "pps")
    floor = figures.rounds("top", flows, FLOOR, "pps")
    for engine in (*ENGINES, FLOOR):
        mpps = figures.mpps(flows, engine)
        if mpps:
            results.figure(f"{name}: {engine}", mpps, "Mpps")
    for engine in WHEELS:
        top = figures.rounds("top", flows, engine, "pps")
        if top:
            results.figure(f"{name}: {engine}'s slots", figures.tops(flows, engine)[-1]["slot_tsc"], "cycles")
        if top and flows in PROTOTYPE:
            compare(results, f"{name}: {engine}, against the prototype", top,
                    dict.fromkeys(top, PROTOTYPE[flows] * 1e6), HONEST)
    for other, bar in bars.items():
        theirs = figures.better_wheel(flows) if other == BETTER else figures.rounds("top", flows, other, "pps")
        if not theirs:
            continue
        compare(results, f"{name}: sluice, against {other}", ours, theirs, bar)
        if bar:  # shows whether the bar is within reach on this machine
            compare(results, f"{name}: {FLOOR}, against {other}", floor, theirs, None)


def add_lines(figures: Figures, results: Results) -> None:
    """The time of a packet with the most flows, divided by that of a random load over as many bytes."""
    flows = figures.sizes[-1]
    found = figures.find("lines", flows=flows)
    if not found:
        return
    size = f"over {found[-1]['bytes'] / 1e6:.0f} MB"
    dependent = {r["round"]: r["dependent_ns"] for r in found}
    results.figure(f"random cache line {size}, one after the other", statistics.median(dependent.values()),
                   "ns")
    results.figure(f"random cache line {size}, many at a time",
                   statistics.median(r["independent_ns"] for r in found), "ns")
    for engine in ENGINES:
        took = {i: 1e9 / pps for i, pps in figures.rounds("top", flows, engine, "pps").items()}
        judged = engine == SLUICE and flows >= SIZES[-1]
        compare(results, f"{flows_text(flows)} flows: {engine}, a packet, in random cache lines", took,
                dependent, Bar(LINES_BAR if judged else None, at_most=True), "ns", 1)


def add_gaps(figures: Figures, flows: int, results: Results) -> None:
    have = [e for e in ENGINES if figures.find("gap", flows=flows, engine=e)]
    if not have:
        return
    pps = figures.find("gap", flows=flows)[0]["pps"]
    name = f"{flows_text(flows)} flows, {pps / 1e6:.2f} Mpps: gap error"
    for engine in have:
        for quantile, text in (("p50_ns", "median"), ("p99_ns", "99 %")):
            gap_ns = figures.gap_ns(flows, engine, quantile)
            assert gap_ns is not None  # the engine has gaps
            results.figure(f"{name}, {text}: {engine}", gap_ns, "ns")
        results.figure(f"{name}, gaps left out: {engine}", 100 * figures.left_out(flows, engine), "%")
    results.figure(f"{name}, 99 %: {BARE}", statistics.median(
        r["p99_ns"] for r in figures.find("spin", flows=flows)), "ns")
    if SLUICE not in have:
        return
    ours = figures.rounds("gap", flows, SLUICE, "p99_ns")
    for engine, bar in GAP_BARS.items():
        if engine not in have:
            continue
        row = f"{flows_text(flows)} flows: 99 % of gap errors: sluice, against {engine}"
        if figures.left_out(flows, SLUICE) > LEFT_OUT_MAX:
            results.noisy(row, statistics.median(ours.values()), "ns", Bar(bar, at_most=True))
        else:
            compare(results, row, ours, figures.rounds("gap", flows, engine, "p99_ns"),
                    Bar(bar, at_most=True), "ns", 1)


def add_long_turns(figures: Figures, results: Results) -> None:
    """The share of time in turns above 10 us, which counts in full; and the share that a bare loop lost."""
    for engine in ENGINES:
        shares = [r["long_share"] for n in figures.sizes for r in figures.tops(n, engine)]
        if shares:
            results.figure(f"{engine}: time in turns above 10 us, median", 100 * statistics.median(shares), "%")
    shares = [r["lost_share"] for r in figures.find("spin")]
    if shares:
        results.figure("a loop that does nothing: time it lost, median", 100 * statistics.median(shares), "%")


def blame(stall: Mapping[str, Any]) -> str:
    """The probable cause of a stall."""
    if stall["off_cpu_s"] > 0.5 * stall["length_s"]:
        return "another thread had the core"
    if stall["where"] in ("between", "spin"):
        return "the kernel or the host; no engine was called"
    return "the call itself, or the kernel or the host"


def show_stalls(figures: Figures) -> None:
    """Prints each time for which no packet was pulled for more than 1 ms."""
    for flows in figures.sizes:
        spins = figures.find("spin", flows=flows)
        for engine in ENGINES:
            found = figures.find("gap", flows=flows, engine=engine)
            count = sum(r["stalls"] for r in found)
            if count == 0:
                continue
            print(f"{flows_text(flows)} flows, {engine}: {count} stalls above 1 ms; a loop that does "
                  f"nothing had {sum(s['stalls'] for s in spins)} in "
                  f"{sum(s['seconds'] for s in spins):.1f} s")
            if engine != SLUICE:
                continue
            for r in found:
                for s in r["trace"]:
                    print(f"  at {s['at_s']:9.6f} s for {1e3 * s['length_s']:7.3f} ms in {s['where']}, "
                          f"{s['packets']} packets: {blame(s)}")
