# SPDX-License-Identifier: BSD-3-Clause
"""NDR and PDR (RFC 9971) of the path emulator and the daemon on one core, against testpmd's io forwarding
(doc/linerate.md).

All forwarders are started at the beginning, each with a generator of its own, and are stopped outside of their trials.
In each round all of them are searched together: their trials take turns, so that a slow moment of the machine is a
slow moment of all. The ratio of two results of one round is judged.
"""
import argparse
import dataclasses
import functools
import json
import os
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from . import forwarder, paired, pktgen, search
from .forwarder import Rings
from .generator import Generator, Load, Profile
from .paired import Bar
from .pktgen import TRIAL_MIN_S as PKTGEN_TRIAL_MIN_S
from .pktgen import PktgenGenerator
from .results import Results, matching
from .search import Found, Goal, Limits, Trial
from testbed.daemon import Build
from testbed.process import Testbed, TestbedError
from testbed.table import print_table

RSIZE = 11
TESTPMD, WIRE, IMPAIRED, JITTER, EACH = "testpmd io", "wire", "delay, loss, rate", "jitter", "1000 flows"
DAEMON = "sluiced, exception port"
# How many packets each path holds: 100 ms, or what the jitter has under way, at more than testpmd's rate.
PATHS = {WIRE: ("", 4096), IMPAIRED: ("loss 0.1% rate 100gbit limit 100000 delay 100ms", 1_000_000),
         JITTER: ("delay 5ms 2ms", 100_000), EACH: ("each flow max 1000 ( rate 1gbit limit 100 ) delay 1ms", 50_000)}
DEVICES = (*PATHS, DAEMON)  # besides testpmd
EACH_SIZE = (TESTPMD, WIRE, DAEMON)  # have searches for each size of frames, the others only for the smallest
SLUICE_LOAD, PKTGEN, BOTH = "sluice-load", "pktgen", "both"
BY_PKTGEN = ", by Pktgen"  # behind the name of a device that has both generators
GENERATORS_APART = 0.03    # the NDRs that two generators find
LINGER_S = {IMPAIRED: 0.15, JITTER: 0.04, EACH: 0.03}  # from the last frame to the trial's end
LINGER_MIN_S = 0.02
SIZE_SMALL, SIZE_LARGE = 64, 1518
SIZES = (64, 128, 256, 512, 1024, 1280, SIZE_LARGE, 9000)  # RFC 2544, 9.1, and a jumbo frame
SIZE_MAX = forwarder.BUFFER_LARGE
LINE_BYTES = 20  # preamble and gap of a frame
WIRE_BAR, IMPAIRED_BAR, JITTER_BAR, EACH_BAR = 0.9, 0.6, 0.5, 0.5
SPREAD_MAX = 3.0  # %
REPEAT = 10
TRIAL_S, TRIAL_MIN_S, TRIAL_MAX_S = 0.0625, 0.03, 60.0
TRIALS = 5  # of a load: three of five decide
LIMITS = Limits(10e3, 15e6)
# A search has failed when all have had this many trials, each with so much time beside it.
TRIALS_MAX, BESIDE_S = 200, 1.5
PARTIAL, WIDTH = 0.005, 0.01
WARM_S, SETTLE_S = 0.03, 0.05
# A load has been offered if the generator sent this part of the frames: where it was away from its core, it sends on at
# the load's rate, and the frames of that time are missing. A trial with less, but with this much, is repeated.
OFFERED, AWAY, TRIES = 0.98, 0.9, 3
AWAKE_TRIES = 20
# Frames of the time before a trial that come in it. Single ones may, on a busy machine; more are a mistake of ours.
SURPLUS_MAX = 0.01

NDR_ROW, SPREAD_ROW = "NDR, {}, {} B", "spread of NDR, {}, {} B"
Key = tuple[str, int]  # device, size of a frame with its CRC


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--repeat", type=int, default=REPEAT,
                        help=f"number of rounds, each with one search of every device; {REPEAT} or more are judged")
    parser.add_argument("--trial", type=float, default=TRIAL_S, metavar="SECONDS",
                        help=f"length of a trial, {TRIAL_MIN_S:g} to {TRIAL_MAX_S:g}; RFC 2544 wants 60")
    parser.add_argument("--sizes", default=f"{SIZE_SMALL},{SIZE_LARGE}", metavar="N,...|all",
                        help="frame sizes in bytes, with CRC; all: those of RFC 2544, section 9.1, and 9000")
    parser.add_argument("--only", default="", metavar="REGEX", help="the devices in whose names this is found, and testpmd")
    parser.add_argument("--generator", choices=[SLUICE_LOAD, PKTGEN, BOTH], default=SLUICE_LOAD,
                        help="what sends and counts (default: %(default)s; doc/pktgen.md says where Pktgen comes from); "
                             "both: testpmd and the wire have both, whose results are compared")
    parser.add_argument("--soak", type=float, default=0, metavar="SECONDS",
                        help="send to each device at its NDR for so long, and tell what it loses")
    parser.add_argument("--seed", type=int, default=1, help="draws the order of turns")


def sizes_of(text: str) -> list[int]:
    if text == "all":
        return list(SIZES)
    try:
        sizes = sorted({int(word) for word in text.split(",")})
    except ValueError:
        sizes = []
    if not sizes or not all(SIZE_SMALL <= size <= SIZE_MAX for size in sizes):
        raise TestbedError(f"--sizes {text}: write sizes of {SIZE_SMALL} to {SIZE_MAX} bytes, such as 64,1518, or all")
    return sizes


def check_options(args: argparse.Namespace) -> None:
    if args.repeat < 1:
        raise TestbedError(f"--repeat {args.repeat}: nothing is measured; write 1 or more")
    if not TRIAL_MIN_S <= args.trial <= TRIAL_MAX_S:
        raise TestbedError(f"--trial must be from {TRIAL_MIN_S:g} to {TRIAL_MAX_S:g} s")
    if args.generator != SLUICE_LOAD and args.trial < PKTGEN_TRIAL_MIN_S:
        raise TestbedError(f"--trial {args.trial:g}: Pktgen's windows are counted in steps of 10 ms; write "
                           f"{PKTGEN_TRIAL_MIN_S:g} or more")
    if args.generator != SLUICE_LOAD and pktgen.program() is None:
        raise TestbedError("--generator: there is no pktgen; set PKTGEN to its path (doc/pktgen.md)")
    sizes = sizes_of(args.sizes)
    if any(name not in EACH_SIZE for name in matching(args.only, DEVICES, "device")) and sizes[0] > forwarder.BUFFER:
        raise TestbedError(f"--sizes {args.sizes}: paths that hold many packets want a short frame, too, or --only {WIRE}")
    if args.soak < 0:
        raise TestbedError(f"--soak {args.soak:g}: write a time above 0, or leave it out")


def goals(trial_s: float) -> list[Goal]:
    return [Goal(name, loss, 0.5, WIDTH, trial_s, TRIALS * trial_s) for name, loss in (("NDR", 0.0), ("PDR", PARTIAL))]


# ---- devices --------------------------------------------------------------------------------


@dataclass
class Forwarder:
    """A forwarder that is ready, with its generator. It runs only in trials. told: how many packets it has lost so far
    because it was told to; None: it is told to lose none."""
    group: paired.Group
    generator: Generator
    linger_s: float
    told: Callable[[], int] | None = None


@dataclass
class ForwarderDevice:
    """A forwarder with the traffic of one search."""
    forwarder: Forwarder
    profile: Profile

    def measure(self, duration_s: float, load_fps: float) -> Trial:
        trial, surplus = self._once(duration_s, load_fps)
        for _ in range(TRIES - 1):
            if surplus <= 0 and not 0 < trial.unsent < (1 - AWAY) * duration_s * load_fps:
                break
            trial, surplus = self._once(duration_s, load_fps)
        if surplus > SURPLUS_MAX * trial.expected:
            raise TestbedError(f"{surplus} frames more came than were sent: a trial was not over when the next one began; "
                               f"its linger of {self.forwarder.linger_s:g} s is too short for this path")
        return trial

    def must_forward(self) -> None:
        """TestbedError if it forwards nothing. On a busy machine that may be so for a moment."""
        if not any(self._once(TRIAL_S, LIMITS.min_fps)[0].received for _ in range(AWAKE_TRIES)):
            process = self.forwarder.group.processes[0]
            raise TestbedError(f"{process.name} forwards nothing\n{process.tail()}")

    def _once(self, duration_s: float, load_fps: float) -> tuple[Trial, int]:
        """The trial, and how many frames more came than were sent."""
        f = self.forwarder
        with f.group:
            f.generator.warm(self.profile, load_fps, WARM_S, f.linger_s)
            before = f.told() if f.told is not None else 0
            offer = f.generator.offer(self.profile, load_fps, duration_s, f.linger_s)
            told = f.told() - before if f.told is not None else 0
        unsent = max(offer.owed - offer.offered, 0)
        trial = Trial(duration_s, load_fps, offer.offered - told, offer.received,
                      unsent if offer.offered < OFFERED * offer.owed else 0, offer.latency_s)
        return trial, offer.received - offer.offered


def limits_of(device: ForwarderDevice) -> Limits:
    """Pktgen refuses a load above what its port's link carries, and memif calls itself a link of 100 Gbit/s."""
    link_bps = device.forwarder.generator.link_bps
    if link_bps is None:
        return LIMITS
    return dataclasses.replace(LIMITS, max_fps=min(LIMITS.max_fps, link_bps // (8 * (device.profile.size + LINE_BYTES))))


def wanted(names: Sequence[str], generator: str) -> list[str]:
    """testpmd and these devices, as far as the generator has traffic for them, and perhaps again by Pktgen."""
    if generator == PKTGEN:
        return [TESTPMD, *(name for name in names if name != EACH)]  # it is driven with one flow
    twice = [name + BY_PKTGEN for name in (TESTPMD, *names) if name in (TESTPMD, WIRE)]
    return [TESTPMD, *names, *(twice if generator == BOTH else [])]


def forwarders(testbed: Testbed, build: Build, names: Sequence[str], generator: str,
               sizes: Sequence[int]) -> dict[str, Forwarder]:
    """Starts them, each with a generator."""
    found = {}
    for name in wanted(names, generator):
        tag = name.replace(",", "").replace(" ", "-")
        told = None
        device = name.removesuffix(BY_PKTGEN)
        rings = Rings(RSIZE, sizes[-1] if device in EACH_SIZE else sizes[0])
        if device == TESTPMD:
            process = forwarder.testpmd(testbed, build, tag, rings)
        elif device == DAEMON:
            process = forwarder.daemon(testbed, build, tag, rings).process
        else:
            spec, packets = PATHS[device]
            box = forwarder.box(testbed, build, spec, tag, rings, packets)
            process = box.process
            told = functools.partial(box.dropped, "loss") if "loss" in spec else None
        made: Generator
        if generator == PKTGEN or name != device:
            made = PktgenGenerator(testbed, build, tag, rings)
        else:
            made = Load(testbed, build, tag, rings)
        found[name] = Forwarder(paired.Group(testbed, [process], SETTLE_S, [process]), made,
                                LINGER_S.get(device, LINGER_MIN_S), told)
    return found


def devices(forwarding: Mapping[str, Forwarder], sizes: Sequence[int]) -> dict[Key, ForwarderDevice]:
    """Those of EACH_SIZE with each size, the others with the smallest."""
    return {(name, size): ForwarderDevice(f, Profile(size - 4, 1000 if name == EACH else 1))
            for name, f in forwarding.items() for size in sizes
            if name.removesuffix(BY_PKTGEN) in EACH_SIZE or size == sizes[0]}


# ---- judging --------------------------------------------------------------------------------


def bars(keys: Sequence[Key]) -> dict[Key, float | None]:
    """The bars of the devices that are there; the ratio is to testpmd's NDR with the same frames. The daemon has none."""
    all_bars: dict[Key, float | None] = {key: None for key in keys if key[0] == DAEMON}
    all_bars |= {(WIRE, SIZE_SMALL): WIRE_BAR, (WIRE, SIZE_LARGE): WIRE_BAR, (IMPAIRED, SIZE_SMALL): IMPAIRED_BAR,
                (JITTER, SIZE_SMALL): JITTER_BAR, (EACH, SIZE_SMALL): EACH_BAR}
    return {key: bar for key, bar in all_bars.items() if key in keys}


def demand(results: Results, keys: Sequence[Key], repeat: int) -> None:
    if repeat < REPEAT:
        return  # too few to judge
    results.demand(*(NDR_ROW.format(*key) for key in bars(keys)), *(SPREAD_ROW.format(*key) for key in keys))


def ndr_of(found: Found) -> float:
    """Where even the smallest load fails, the NDR is below that load."""
    return max(found.lower("NDR"), LIMITS.min_fps)


def starved(founds: Sequence[Found]) -> float:
    """The part of the searches in which the generator was the limit."""
    return sum(f.starved("NDR") for f in founds) / len(founds)


def proves_nothing(founds: Sequence[Found]) -> bool:
    """Whether in most searches the generator was the limit, or a bound is missing."""
    return 2 * sum(f.starved("NDR") or not f.results["NDR"].regular for f in founds) > len(founds)


def judge(results: Results, founds: Mapping[Key, Sequence[Found]]) -> None:
    for key, bar in bars(list(founds)).items():
        reference = founds[TESTPMD, key[1]]
        ours, theirs = ([ndr_of(f) for f in fs] for fs in (founds[key], reference))
        if len(ours) < REPEAT:
            results.figure(NDR_ROW.format(*key), statistics.median(ours) / 1e6, "Mpps")
            continue
        row = results.windows(NDR_ROW.format(*key), ours, "Mpps", theirs, Bar(bar, windows_min=REPEAT), scale=1e-6)
        if row.verdict == paired.HOLDS and proves_nothing(reference):
            # testpmd might do more
            results.rows[-1]["verdict"] = paired.WORDS[paired.NOISY]
    for (name, size), fs in founds.items():
        own = founds.get((name.removesuffix(BY_PKTGEN), size))
        if not name.endswith(BY_PKTGEN) or own is None or len(fs) < REPEAT:
            continue
        theirs, ours = ([ndr_of(f) for f in x] for x in (fs, own))
        for word, apart in (("at least", Bar(1 - GENERATORS_APART, windows_min=REPEAT)),
                            ("at most", Bar(1 + GENERATORS_APART, at_most=True, windows_min=REPEAT))):
            results.windows(f"NDR, {name}, {size} B: {word} that by sluice-load", theirs, "Mpps", ours, apart, scale=1e-6)
    for key, fs in founds.items():
        values = [ndr_of(f) for f in fs]
        spread = 100 * (max(values) - min(values)) / statistics.median(values)
        if len(values) < REPEAT:
            continue
        if spread <= SPREAD_MAX and all(f.results["NDR"].regular for f in fs):
            results.exact(SPREAD_ROW.format(*key), spread, "%", Bar(SPREAD_MAX, at_most=True))
        else:
            results.noisy(SPREAD_ROW.format(*key), spread, "%", Bar(SPREAD_MAX, at_most=True))


def show(founds: Mapping[Key, Sequence[Found]]) -> None:
    """Medians of all rounds."""
    def median(fs: Sequence[Found], value: Callable[[Found], float | None]) -> str:
        return f"{statistics.median((value(f) or 0.0) / 1e6 for f in fs):.3f}"

    def of(goal: str, what: str) -> Callable[[Found], float | None]:
        return lambda f: getattr(f.results[goal], what)

    rows = []
    for (name, size), fs in founds.items():
        ndr = statistics.median(f.lower("NDR") for f in fs)
        rows.append([name, str(size), *(median(fs, of(goal, what)) for goal in ("NDR", "PDR")
                                        for what in ("lower_fps", "upper_fps", "conditional_fps")),
                     f"{ndr * size * 8 / 1e9:.2f}", f"{statistics.mean(len(f.trials) for f in fs):.0f}",
                     f"{100 * starved(fs):.0f} %"])
    print_table(["device", "frame", "NDR: lower", "upper", "throughput", "PDR: lower", "upper", "throughput",
                 "NDR Gbit/s", "trials", "generator's"], rows)
    print("Mpps in one direction, medians. \"throughput\": conditional throughput. \"generator's\": searches whose NDR is "
          "what\nthe generator could send. A bound that is missing counts as 0. Frames in bytes with CRC, Gbit/s without "
          "preamble and gap.")


def at_ndr(args: argparse.Namespace, results: Results, key: Key, device: ForwarderDevice, ndr_fps: float) -> None:
    """Latency at shares of the NDR, if the generator measures it; and the soak."""
    for share, trial in search.latencies(device, ndr_fps, args.trial).items():
        for what, seconds in trial.latency_s.items():
            results.figure(f"latency at {100 * share:.0f} % of NDR, {key[0]}, {key[1]} B: {what}", seconds * 1e6, "us")
    if args.soak > 0:
        trials = search.soak(device, ndr_fps, args.soak)
        lost = sum(t.loss_ratio * t.duration_s for t in trials) / args.soak
        results.figure(f"lost in {args.soak:g} s at NDR, {key[0]}, {key[1]} B", 1e6 * lost, "ppm")


def write(args: argparse.Namespace, founds: Mapping[Key, Sequence[Found]]) -> None:
    """All trials of all searches."""
    path = os.path.join(args.out, "linerate-searches.json")
    os.makedirs(args.out, exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        json.dump([{"device": name, "frame": size, "round": i + 1, **dataclasses.asdict(found)}
                   for (name, size), fs in founds.items() for i, found in enumerate(fs)], f, indent=1)
        f.write("\n")
    print(f"every trial: {os.path.relpath(path)}")


def run(testbed: Testbed, args: argparse.Namespace, results: Results) -> None:
    check_options(args)
    search.library()
    sizes = sizes_of(args.sizes)
    names = matching(args.only, DEVICES, "device")
    under_test = devices(forwarders(testbed, Build(args.build, args.huge), names, args.generator, sizes), sizes)
    demand(results, list(under_test), args.repeat)
    for device in under_test.values():
        device.must_forward()
    wall_s = TRIALS_MAX * len(under_test) * (args.trial + BESIDE_S)
    limits = {key: dataclasses.replace(limits_of(d), wall_s=wall_s) for key, d in under_test.items()}
    founds: dict[Key, list[Found]] = {key: [] for key in under_test}
    for i in range(args.repeat):
        found = search.together(under_test, limits, dict.fromkeys(under_test, goals(args.trial)), args.seed + i)
        for key in under_test:
            founds[key].append(found[key])
        print(f"round {i + 1}: NDR in Mpps: " + "; ".join(
            f"{name}, {size} B {'' if f.results['NDR'].lower_fps else 'below '}{ndr_of(f) / 1e6:.2f}"
            for (name, size), f in found.items()), flush=True)
    show(founds)
    write(args, founds)
    results.disturbed({id(d.forwarder): d.forwarder.group for d in under_test.values()}.values())
    judge(results, founds)
    for key, device in under_test.items():
        at_ndr(args, results, key, device, statistics.median(ndr_of(f) for f in founds[key]))
