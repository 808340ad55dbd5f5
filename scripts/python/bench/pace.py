# SPDX-License-Identifier: BSD-3-Clause
"""Pacing on one core: lib/pace's pacer against rte_sched, rte_timer and wheels after Carousel and Eiffel.

One program (test/bench/pace_compare.c) runs all engines at the same work, taking turns in an order
that a seed draws; rounds are compared one by one. Top: the highest load of which at least 98 % left
on schedule. Time that something else had is cut out for none of them. The wheels have slots as wide
as suits them best. Gap error: between two packets of a flow, less its period, at half of the slowest
engine's top, in real time and without packets that were late because something else had the core;
what share of the gaps that leaves out is in the table, and where it is more than 5 % of Sluice's,
its gaps count as too noisy to judge.
The engines to compare with are honest if they reach what a prototype of them did, less 20 %.
Two more do not pace, but show what can be had here. "floor" does per packet what the pacer does but
for the wheel, in an order made beforehand: where that is less than a bar asks for, no pacer with a
line for each flow can reach it on this machine. "a bare loop" only reads the clock: what its gap
errors would be if each packet left at the first look after it is due.

A window is a search for the top, of some 0.2 s each, or as much longer as two periods of a million
flows take. So all of it takes the better part of an hour; --flows and --engines choose.
"""
import json
import os
import statistics
import time

from . import paired
from .micro import program
from testbed.process import TestbedError, cpus

SIZES = (1, 1000, 32768, 131072, 1048576)
SLUICE, SCHED, TIMER, CAROUSEL, EIFFEL = "sluice", "rte_sched", "rte_timer", "carousel", "eiffel"
FLOOR = "floor"  # no pacer: who is next costs nothing (test/bench/pace_floor.c)
BARE = "a bare loop"  # test/bench/pace_gap.c
ENGINES = (SLUICE, CAROUSEL, EIFFEL, TIMER, SCHED)
MEMORY_MB = 4000
TIMEOUT_S = 3 * 3600

# flows -> what the pacer's top must be at least of that of rte_sched, rte_timer, the better wheel
BARS = {1: (4, 1, 1), 1000: (20, 15, 1), 32768: (15, 35, 1.2), 131072: (8, 25, 1.3),
        1048576: (None, 12, 1.5)}
# flows -> Mpps of the prototype; share of it that makes the wheels honest
PROTOTYPE = {1000: 102, 32768: 48, 131072: 18}
HONEST = 0.8
LINES_BAR = 1.5     # a packet at the most flows over a random cache line
GAP_BARS = {TIMER: 1.0, SCHED: 0.01}
LEFT_OUT_MAX = 0.05
SCHED_FLOWS_MAX = 500000  # of more, rte_sched is asked once, and not compared (pace_compare.c)
WHEELS, BETTER = (CAROUSEL, EIFFEL), "the better wheel"


def options(parser):
    parser.add_argument("--pairs", type=int, default=paired.PAIRS_MIN,
                        help=f"rounds in which each engine has a window, at least {paired.PAIRS_MIN}")
    parser.add_argument("--window", type=float, default=paired.WINDOW_LEAST_S, metavar="SECONDS",
                        help="of a load that is tried, at least")
    parser.add_argument("--seed", type=int, default=1, help="draws the order within each round")
    parser.add_argument("--flows", default=",".join(str(n) for n in SIZES))
    parser.add_argument("--engines", default=",".join((*ENGINES, FLOOR)), help="with commas between")
    parser.add_argument("--slots", default="256,1024,4096",
                        help="widths in cycles, of which carousel and eiffel each take their best")
    parser.add_argument("--from", dest="lines", metavar="FILE",
                        help="make the table of what an earlier run wrote, with the same --flows")


def flows_text(n):
    for scale, unit in ((1000000, "M"), (1000, "k")):
        if n >= scale:
            return f"{n // (scale if n % scale == 0 else 1 << (20 if unit == 'M' else 10))}{unit}"
    return str(n)


class Figures:
    """What pace_compare printed."""

    def __init__(self, rows):
        self.rows = rows
        self.sizes = sorted({r["flows"] for r in rows if r["kind"] == "top"})

    def find(self, kind, **keys):
        return [r for r in self.rows
                if r["kind"] == kind and all(r.get(k) == v for k, v in keys.items())]

    def tops(self, flows, engine):
        """Round 0 only looks where to look, and counts where it was the only one."""
        found = self.find("top", flows=flows, engine=engine)
        return [r for r in found if r["round"] > 0] or found

    def mpps(self, flows, engine):
        found = self.tops(flows, engine)
        return statistics.median(r["pps"] for r in found) / 1e6 if found else None

    def gap_ns(self, flows, engine, quantile):
        found = self.find("gap", flows=flows, engine=engine)
        return statistics.median(r[quantile] for r in found) if found else None

    def rounds(self, kind, flows, engine, field):
        """{round: value} of those that count."""
        found = self.tops(flows, engine) if kind == "top" else self.find(kind, flows=flows, engine=engine)
        return {r["round"]: r[field] for r in found}

    def better_wheel(self, flows):
        """{round: packets a second} of the wheel that does more while nothing is in its way; None."""
        have = [self.rounds("top", flows, e, "pps") for e in WHEELS]
        have = [h for h in have if h]
        return max(have, key=lambda h: paired.best(list(h.values()))) if have else None

    def left_out(self, flows, engine):
        """Median share of the gaps that were not counted, since something else had the core."""
        found = self.find("gap", flows=flows, engine=engine)
        shares = [r["interrupted"] / max(1, r["interrupted"] + r["gaps"]) for r in found]
        return statistics.median(shares) if shares else None


def compare(results, name, ours, reference, bar, at_most=False, unit="Mpps", scale=1e-6):
    """Of {round: value} each, those that both have. Nothing to compare leaves the row missing."""
    both = sorted(set(ours) & set(reference))
    if len(both) >= paired.PAIRS_MIN:
        results.windows(name, [ours[i] for i in both], unit, [reference[i] for i in both], bar, at_most,
                        scale)
    elif both and bar is not None:
        # A search that found no load in some rounds.
        results.noisy(name, len(both), f"rounds of {paired.PAIRS_MIN}", bar, at_most)


def measure(testbed, args):
    """Runs it; prints a line for each round, since it takes minutes."""
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


def progress(text, shown):
    """Lines that are whole; returns how many."""
    lines = text[:text.rfind("\n") + 1].splitlines()
    for line in lines[shown:]:
        r = json.loads(line)
        if r["kind"] == "top":
            what = f"{r['pps'] / 1e6:8.2f} Mpps"
        elif r["kind"] == "gap":
            what = f"{r['p50_ns']:8} ns median gap error, 99 % {r['p99_ns']} ns"
        else:
            continue
        where = f"round {r['round']}"
        print(f"{where:8} {flows_text(r['flows']):>6} {r['engine']:10} {what}", flush=True)
    return len(lines)


def rows_of(flows):
    """What must be judged with so many flows: {name: engines that it needs}."""
    name, rows = f"{flows_text(flows)} flows", {}
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


def lines_row(flows):
    return f"{flows_text(flows)} flows: {SLUICE}, a packet, in random cache lines"


def numbers(args):
    """(flows, engines) that were asked for."""
    try:
        flows = [int(n) for n in args.flows.split(",")]
    except ValueError:
        raise TestbedError(f"--flows {args.flows}: numbers with commas between") from None
    engines = args.engines.split(",")
    unknown = set(engines) - {*ENGINES, FLOOR}
    if unknown:
        raise TestbedError(f"there is no engine {', '.join(sorted(unknown))}; there are "
                       f"{', '.join((*ENGINES, FLOOR))}")
    return flows, engines


def demand(results, flows, engines):
    for n in flows:
        results.demand(*(row for row, needs in rows_of(n).items() if set(needs) <= set(engines)))
    if SLUICE in engines and max(flows) >= SIZES[-1]:
        results.demand(lines_row(max(flows)))


def run(testbed, args, results):
    if args.pairs < paired.PAIRS_MIN:
        raise TestbedError(f"--pairs {args.pairs} is too few to judge by; give {paired.PAIRS_MIN} or more")
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


def judge(results, figures, engines):
    if not figures.sizes:
        raise TestbedError("pace_compare measured nothing")
    for flows in figures.sizes:
        for engine in engines:
            if not figures.tops(flows, engine):
                raise TestbedError(f"{engine} took no load with {flows} flows; what it said is in the logs")
        add_tops(figures, flows, results)
    add_lines(figures, results)
    for flows in figures.sizes:
        add_gaps(figures, flows, results)
    add_long_turns(figures, results)


def add_tops(figures, flows, results):
    name = f"{flows_text(flows)} flows"
    bars = dict(zip((SCHED, TIMER, BETTER), BARS.get(flows, (None, None, None))))
    ours = figures.rounds("top", flows, SLUICE, "pps")
    floor = figures.rounds("top", flows, FLOOR, "pps")
    for engine in (*ENGINES, FLOOR):
        if figures.mpps(flows, engine):
            results.figure(f"{name}: {engine}", figures.mpps(flows, engine), "Mpps")
    for engine in WHEELS:
        top = figures.rounds("top", flows, engine, "pps")
        if top:
            results.figure(f"{name}: {engine}'s slots", figures.tops(flows, engine)[-1]["slot_tsc"], "cycles")
        if top and flows in PROTOTYPE:
            compare(results, f"{name}: {engine}, against the prototype", top,
                    dict.fromkeys(top, PROTOTYPE[flows] * 1e6), HONEST)
    for other, bar in bars.items():
        top = figures.better_wheel(flows) if other == BETTER else figures.rounds("top", flows, other, "pps")
        if not top:
            continue
        compare(results, f"{name}: sluice, against {other}", ours, top, bar)
        if bar:  # what would be left of a pacer that had less to do
            compare(results, f"{name}: {FLOOR}, against {other}", floor, top, None)


def add_lines(figures, results):
    """What a packet costs with the most flows, in random loads over as many bytes."""
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
                dependent, LINES_BAR if judged else None, at_most=True, unit="ns", scale=1)


def add_gaps(figures, flows, results):
    have = [e for e in ENGINES if figures.find("gap", flows=flows, engine=e)]
    if not have:
        return
    pps = figures.find("gap", flows=flows)[0]["pps"]
    name = f"{flows_text(flows)} flows, {pps / 1e6:.2f} Mpps: gap error"
    for engine in have:
        for quantile, text in (("p50_ns", "median"), ("p99_ns", "99 %")):
            results.figure(f"{name}, {text}: {engine}", figures.gap_ns(flows, engine, quantile), "ns")
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
            results.noisy(row, figures.gap_ns(flows, SLUICE, "p99_ns"), "ns", bar, at_most=True)
        else:
            compare(results, row, ours, figures.rounds("gap", flows, engine, "p99_ns"), bar,
                    at_most=True, unit="ns", scale=1)


def add_long_turns(figures, results):
    """Time in turns of more than 20 us, which counts for each engine; and what a bare loop lost."""
    for engine in ENGINES:
        shares = [r["long_share"] for n in figures.sizes for r in figures.tops(n, engine)]
        if shares:
            results.figure(f"{engine}: time in turns above 10 us, median", 100 * statistics.median(shares), "%")
    shares = [r["lost_share"] for r in figures.find("spin")]
    if shares:
        results.figure("a loop that does nothing: time it lost, median", 100 * statistics.median(shares), "%")


def blame(stall):
    """Whose doing a stall was, as far as one can tell."""
    if stall["off_cpu_s"] > 0.5 * stall["length_s"]:
        return "another thread had the core"
    if stall["where"] in ("between", "spin"):
        return "the kernel or the host: nothing was called"
    return "the call itself, or the kernel or the host"


def show_stalls(figures):
    """Each time that nothing was pulled for more than 1 ms."""
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
