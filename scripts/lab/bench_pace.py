# SPDX-License-Identifier: BSD-3-Clause
"""Pacing on one core: lib/pace's pacer against rte_sched, rte_timer and wheels after Carousel and Eiffel.

One program (test/bench/pace_compare.c) runs all engines at the same work, taking turns; what counts
are medians over its rounds. Top: the highest load of which at least 98 % left on schedule. Gap error:
between two packets of a flow, less its period, at half of the slowest engine's top, in real time
and without packets that were late because something else had the core.
The engines to compare with are honest if they reach what a prototype of them did, less 20 %.
Two more do not pace, but show what can be had here. "floor" does per packet what the pacer does but
for the wheel, in an order made beforehand: where that is less than a bar asks for, no pacer with a
line for each flow can reach it on this machine. "a bare loop" only reads the clock: what its gap
errors would be if each packet left at the first look after it is due.
"""
import json
import os
import statistics
import time

from .bench_micro import program
from .process import LabError, cpus

SIZES = (1, 1000, 32768, 131072, 1048576)
SLUICE, SCHED, TIMER, CAROUSEL, EIFFEL = "sluice", "rte_sched", "rte_timer", "carousel", "eiffel"
FLOOR = "floor"  # no pacer: who is next costs nothing (test/bench/pace_floor.c)
BARE = "a bare loop"  # test/bench/pace_gap.c
ENGINES = (SLUICE, CAROUSEL, EIFFEL, TIMER, SCHED)
MEMORY_MB = 4000
TIMEOUT_S = 3600

# flows -> what the pacer's top must be at least of that of rte_sched, rte_timer, the better wheel
BARS = {1: (4, 1, 1), 1000: (20, 15, 1), 32768: (15, 35, 1.2), 131072: (8, 25, 1.3),
        1048576: (None, 12, 1.5)}
# flows -> Mpps of the prototype; share of it that makes the wheels honest
PROTOTYPE = {1000: 102, 32768: 48, 131072: 18}
HONEST = 0.8
LINES_BAR = 1.5     # a packet at the most flows over a random cache line
GAP_TIMER_BAR = 1.0
GAP_SCHED_BAR = 0.01


def options(parser):
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.2, help="of each measurement, at least")
    parser.add_argument("--flows", default=",".join(str(n) for n in SIZES))
    parser.add_argument("--engines", help="which, with commas between; by default all")
    parser.add_argument("--slot", type=int, default=256,
                        help="width in cycles of the slots of carousel and eiffel")
    parser.add_argument("--from", dest="lines", metavar="FILE",
                        help="make the table of what an earlier run wrote")


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

    def bare_ns(self, flows, quantile):
        return statistics.median(r[quantile] for r in self.find("spin", flows=flows))

    def wheel(self, flows):
        """(name, Mpps) of the better one."""
        have = [(self.mpps(flows, e) or 0, e) for e in (CAROUSEL, EIFFEL)]
        return max(have)[1], max(have)[0]


def measure(lab, args):
    """Runs it; prints a line for each round, since it takes minutes."""
    cpu = cpus()[0]
    memory = ["--in-memory"] if args.huge else ["--no-huge", "--no-shconf"]
    command = [program(args, "pace_compare"), "--lcores", f"0@{cpu}", *memory, "-m", str(MEMORY_MB),
               "--no-pci", "--no-telemetry", "--log-level=4", "--file-prefix",
               f"sluice-{os.getpid()}-pace", "--", "--flows", args.flows, "--rounds",
               str(args.rounds), "--seconds", str(args.seconds), "--slot", str(args.slot)]
    if args.engines:
        command += ["--engines", args.engines]
    process = lab.start("pace_compare", command, cpus=[cpu])
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
        where = f"round {r['round']}" if "round" in r else "gaps"
        print(f"{where:8} {flows_text(r['flows']):>6} {r['engine']:10} {what}", flush=True)
    return len(lines)


def run(lab, args, results):
    os.makedirs(args.out, exist_ok=True)
    path = os.path.join(args.out, "pace.jsonl")
    if args.lines:
        with open(args.lines, encoding="utf-8") as f:
            text = f.read()
    else:
        text = measure(lab, args)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
    figures = Figures([json.loads(line) for line in text.splitlines()])
    if not figures.sizes:
        raise LabError("pace_compare measured nothing; is --flows or --engines wrong?")
    for flows in figures.sizes:
        add_tops(figures, flows, results)
    add_lines(figures, results)
    for flows in figures.sizes:
        add_gaps(figures, flows, results)
    add_interruptions(figures, results)
    show_stalls(figures)
    from .plot_pace import draw
    draw(figures, os.path.join(args.out, "pace.png"))


def add_tops(figures, flows, results):
    name = f"{flows_text(flows)} flows"
    for engine in (SCHED, TIMER):
        if figures.mpps(flows, engine):
            results.add(f"{name}: {engine}", figures.mpps(flows, engine), "Mpps")
    for engine in (CAROUSEL, EIFFEL):
        if figures.mpps(flows, engine):
            prototype = PROTOTYPE.get(flows)
            results.add(f"{name}: {engine}" + (", against the prototype" if prototype else ""),
                        figures.mpps(flows, engine), "Mpps", prototype, prototype and HONEST)
    pacer = figures.mpps(flows, SLUICE)
    if not pacer:
        return
    sched_bar, timer_bar, wheel_bar = BARS.get(flows, (None, None, None))
    wheel, wheel_mpps = figures.wheel(flows)
    for other, mpps, bar in ((SCHED, figures.mpps(flows, SCHED), sched_bar),
                             (TIMER, figures.mpps(flows, TIMER), timer_bar),
                             (wheel, wheel_mpps, wheel_bar)):
        if mpps:
            results.add(f"{name}: sluice, against {other}", pacer, "Mpps", mpps, bar)
            add_limit(figures, flows, results, other, mpps, bar)


def add_limit(figures, flows, results, other, mpps, bar):
    """What would be left of a pacer that had less to do; said where a bar asks for more."""
    left = figures.mpps(flows, FLOOR)
    if not left or not bar:
        return
    name = f"{flows_text(flows)} flows: {FLOOR}, against {other}"
    results.add(name + (": less than the bar" if left < bar * mpps else ""), left, "Mpps", mpps)


def add_lines(figures, results):
    """What a packet costs with the most flows, in random loads over as many bytes."""
    flows = figures.sizes[-1]
    found = figures.find("lines", flows=flows)
    if not found:
        return
    dependent = statistics.median(r["dependent_ns"] for r in found)
    independent = statistics.median(r["independent_ns"] for r in found)
    size = f"over {found[-1]['bytes'] / 1e6:.0f} MB"
    results.add(f"random cache line {size}, one after the other", dependent, "ns")
    results.add(f"random cache line {size}, many at a time", independent, "ns")
    for engine in ENGINES:
        mpps = figures.mpps(flows, engine)
        if mpps:
            results.add(f"{flows_text(flows)} flows: {engine}, a packet, in random cache lines",
                        1e3 / mpps, "ns", dependent, LINES_BAR if engine == SLUICE else None,
                        at_most=True)


def add_gaps(figures, flows, results):
    have = [e for e in ENGINES if figures.gap_ns(flows, e, "p99_ns") is not None]
    if not have:
        return
    pps = figures.find("gap", flows=flows)[0]["pps"]
    name = f"{flows_text(flows)} flows, {pps / 1e6:.2f} Mpps: gap error"
    for engine in have:
        for quantile, text in (("p50_ns", "median"), ("p99_ns", "99 %")):
            results.add(f"{name}, {text}: {engine}", figures.gap_ns(flows, engine, quantile), "ns")
    bare = figures.bare_ns(flows, "p99_ns")
    results.add(f"{name}, 99 %: {BARE}", bare, "ns")
    if SLUICE not in have:
        return
    for engine, bar in ((TIMER, GAP_TIMER_BAR), (SCHED, GAP_SCHED_BAR)):
        if engine in have:
            reference = figures.gap_ns(flows, engine, "p99_ns")
            limit = f": less than {BARE}'s" if bar * reference < bare else ""
            results.add(f"{name}, 99 %: sluice, against {engine}{limit}",
                        figures.gap_ns(flows, SLUICE, "p99_ns"), "ns", reference, bar, at_most=True)


def add_interruptions(figures, results):
    """What was cut out of the clock of those that can be told the time, and what a bare loop lost."""
    for engine in (SLUICE, CAROUSEL, EIFFEL):
        shares = [r["clipped_share"] for n in figures.sizes for r in figures.tops(n, engine)]
        if shares:
            results.add(f"{engine}: time cut out as interruptions, median", statistics.median(shares), "")
    shares = [r["lost_share"] for r in figures.find("spin")]
    if shares:
        results.add("a loop that does nothing: time it lost, median", statistics.median(shares), "")


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
