# SPDX-License-Identifier: BSD-3-Clause
"""Transfers as users make them: of a file from tmpfs to tmpfs (`sluice send`, `sluice recv`), and of the same
size from memory to memory (`sluice perf`). They run over a memif, AF_XDP and AF_PACKET on a veth pair, with
workers that poll and workers that sleep, on a quiet machine and beside a busy process on each core.

Ours and the reference take turns. The reference over a memif is `cp` of the file. Over a veth it is
`iperf3 -F`, or iperf3 from its memory, on a veth pair of its own, also without offloads. rsync and scp have
turns in the first rounds if they are installed. The time of a file runs from the start of the command to the
end of its last process. A transfer from memory first makes its memory, so its time is what the program
reports. A transfer that fails or takes longer than --limit counts as having taken that long, and its row is
missed.
"""
import argparse
import functools
import json
import os
import shutil
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from testbed import baselines, net

from . import paired
from testbed.daemon import Build
from .demo import noise_write, size_bytes
from .paired import Bar
from .results import Results, matching
from testbed.pair import ADDR_B, memif_pair, veth_pair
from testbed.process import Process, Testbed, TestbedError, cpus
from .whys import Whys, words

LINKS = {"memif": "cp", "xdp": "iperf3", "packet": "iperf3"}
IDLES, LOADS, WHATS = ("poll", "sleep"), ("quiet", "busy"), ("file", "memory")
OURS = "sluice"
RUNS_MIN = 20
MEDIAN_BAR, WORST_BAR, AGAIN_BAR = 1.0, {"memif": 2.0, "xdp": 1.5, "packet": 1.5}, 0.5
LOOK_S = 0.02
TIME, WORST, FAILED, QUEUE, AGAIN = ("{}: " + x for x in (
    "time", "longest, to the reference's median", "failed, or beyond the limit", "looks that saw WHY queue",
    "units sent again"))


@dataclass(frozen=True)
class Case:
    link: str
    idle: str
    load: str
    what: str

    @property
    def name(self) -> str:
        return f"{self.link}-{self.idle}-{self.load}-{self.what}"


@dataclass
class Seen:
    """The reports of the transfers of a case, added up."""
    failed: list[str] = field(default_factory=list)  # the reason of each failure
    whys: Counter[str] = field(default_factory=Counter)
    packets: int = 0
    repeats: int = 0


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--runs", type=int, default=RUNS_MIN,
                        help=f"number of rounds of each case; with fewer than {RUNS_MIN} a bar can be missed, but "
                        "never holds")
    parser.add_argument("--size", type=size_bytes, default=2 << 30, help="bytes of a transfer (2G)")
    parser.add_argument("--only", default="", metavar="PATTERN",
                        help="regular expression for the names of cases to run; a name is LINK-IDLE-LOAD-WHAT, such as "
                        "memif-sleep-busy-file (memif, xdp, packet; poll, sleep; quiet, busy; file, memory)")
    parser.add_argument("--limit", type=float, default=60.0, metavar="SECONDS", help="time limit of a transfer")
    parser.add_argument("--baselines", type=int, default=3, metavar="N",
                        help="number of rounds in which rsync and scp have a turn, if they are installed")
    parser.add_argument("--congestion", default="cubic", help="congestion control of iperf3's TCP")
    parser.add_argument("--folder", default="/dev/shm", help="a tmpfs with room for three times the file")
    parser.add_argument("--seed", type=int, default=1, help="draws the order within each round")


def cases(only: str) -> list[Case]:
    """The cases whose names match."""
    every = [Case(link, idle, load, what) for link in LINKS for idle in IDLES for load in LOADS
             for what in WHATS]
    names = matching(only, [c.name for c in every], "case")
    return [c for c in every if c.name in names]


def check_options(args: argparse.Namespace) -> None:
    if args.runs < 1 or args.limit <= 0 or args.size < 1 << 20 or args.baselines < 0:
        raise TestbedError("--runs must be 1 or more, --limit above 0, --size 1M or more, --baselines 0 or more")
    free, need = shutil.disk_usage(args.folder).free, 3 * args.size
    if free < need:
        raise TestbedError(f"{args.folder} has room for {free >> 20} MiB, and {need >> 20} are needed; give a "
                           "smaller --size, or another tmpfs with --folder")


# ---- measuring ------------------------------------------------------------------------------


def timed(case: Case, seen: Seen, args: argparse.Namespace, processes: Sequence[Process], began: float,
          look: Callable[[], None] | None = None) -> tuple[float, bool]:
    """(seconds of our transfer, or the limit if it failed; whether it succeeded)"""
    seconds = baselines.wait_all(processes, args.limit, began, look, LOOK_S)
    why = f"not within {args.limit:g} s" if seconds is None else baselines.ended_well(processes)
    if seconds is not None and why is None:
        return seconds, True
    assert why is not None  # it is set where there are no seconds
    seen.failed.append(why)
    print(f"{case.name}: {why}", flush=True)
    for process in processes:
        process.stop()
    return args.limit, False


class Ours:
    """Our side of a case: two daemons that are stopped outside of their transfers."""

    def __init__(self, testbed: Testbed, args: argparse.Namespace, case: Case, source: str, target: str) -> None:
        self.args, self.case, self.source, self.target = args, case, source, target
        self.testbed, self.seen = testbed, Seen()
        build, keys = Build(args.build, args.huge), {"idle": case.idle}
        if case.link == "memif":
            self.a, self.b = memif_pair(testbed, build, daemon_keys=keys, telemetry=True)
        else:
            self.a, self.b = veth_pair(testbed, build, xdp=case.link == "xdp", daemon_keys=keys, telemetry=True)
            for daemon in (self.a, self.b):
                daemon.wait_link()
        self.whys = Whys(self.b)
        self.group = paired.Group(testbed, [self.a.process, self.b.process])

    def transfer(self) -> float:
        """The seconds that it took."""
        with self.group:
            if self.case.what == "file":
                return self._file()
            return self._memory()

    def end(self) -> None:
        """Stops both daemons; a daemon that does not stop properly counts as a failure."""
        self.whys.close()
        self.group.release()
        for daemon in (self.a, self.b):
            try:
                daemon.stop()
            except TestbedError as problem:
                self.seen.failed.append(str(problem).split("\n", 1)[0])
                print(f"{self.case.name}: {self.seen.failed[-1]}", flush=True)

    def _took(self, sender: Process, receiver: Process, began: float) -> tuple[float, dict[str, Any] | None]:
        """(seconds, the sender's JSON; None if the transfer failed)"""
        seconds, whole = timed(self.case, self.seen, self.args, [sender, receiver], began, self._look)
        self.seen.whys, self.whys.seen = self.seen.whys + self.whys.seen, Counter()
        if not whole:
            return seconds, None
        said: dict[str, Any] = json.loads(sender.out())
        self.seen.packets += said["packets"]
        self.seen.repeats += said["repeats"]
        return seconds, said

    def _look(self) -> None:
        try:
            self.whys.look()
        except TimeoutError:
            pass  # the daemon was too busy to answer

    def _file(self) -> float:
        receiver = self.b.sluice("recv", "recv", "-o", self.target, "--once", "--json")
        self.b.wait_listening(process=receiver)
        began = time.monotonic()
        sender = self.a.sluice("send", "send", "--json", self.source, ADDR_B)
        seconds, said = self._took(sender, receiver, began)
        if said is not None and os.path.getsize(self.target) != self.args.size:
            raise TestbedError(f"{self.target} is incomplete, though both processes succeeded")
        return seconds

    def _memory(self) -> float:
        receiver = self.b.sluice("server", "perf", "server", "-1", "--json")
        self.b.wait_listening(process=receiver)
        began = time.monotonic()
        sender = self.a.sluice("client", "perf", "client", "--json", "-i", "0", "-n", str(self.args.size),
                               ADDR_B)
        seconds, said = self._took(sender, receiver, began)
        return seconds if said is None else float(said["seconds"])


def baseline_turn(testbed: Testbed, args: argparse.Namespace, baseline: baselines.Baseline, source: str,
                  target: str) -> float:
    """The seconds that it took; the limit if it failed or took longer."""
    try:
        return baseline.run(testbed, source, target, args.limit)
    except TestbedError as problem:
        print(problem, flush=True)
        return args.limit


def contenders(testbed: Testbed, args: argparse.Namespace, case: Case, source: str,
               target: str) -> tuple[dict[str, Callable[[], float]], Ours]:
    """({name: f()} with ours first and the reference second, Ours)"""
    ours, spaces = Ours(testbed, args, case, source, target), None
    patience_s = 10 * args.limit  # a reference that exceeds --limit is still measured
    found: dict[str, Callable[[], float]] = {OURS: ours.transfer}
    if case.link == "memif":
        found["cp"] = functools.partial(baselines.copy, testbed, source, target, patience_s)
    else:
        spaces = baselines.kernel_pair(testbed)
        work = baselines.Iperf(args.size, source if case.what == "file" else None, target, args.congestion)
        found["iperf3"] = functools.partial(work.run, testbed, spaces, patience_s)
    if case.what == "file" and args.baselines > 0:
        baseline = baselines.scp_over(testbed, spaces, ADDR_B) if spaces else baselines.local_rsync()
        if baseline is not None:
            found[baseline.name] = functools.partial(baseline_turn, testbed, args, baseline, source, target)

    def clean(f: Callable[[], float]) -> Callable[[], float]:
        def alone() -> float:
            try:
                return f()
            finally:
                if os.path.exists(target):
                    os.unlink(target)
        return alone
    return {name: clean(f) for name, f in found.items()}, ours


def busy_cores(testbed: Testbed) -> None:
    for cpu in cpus():
        testbed.start(f"busy-{cpu}", ["/usr/bin/python3", "-c", "while True: pass"], cpus=[cpu])


# ---- judging --------------------------------------------------------------------------------


def demand(results: Results, chosen: Sequence[Case]) -> None:
    for case in chosen:
        results.demand(*(row.format(case.name) for row in (TIME, WORST, FAILED)),
                       (QUEUE if case.link == "memif" else AGAIN).format(case.name))


def worst_verdict(ours_s: Sequence[float], reference_s: Sequence[float], bar: float) -> tuple[float, int]:
    """(our longest time, divided by the reference's median; verdict). The verdict is NOISY, not MISSED, if the
    reference's longest time exceeds the bar, too, and ours is at most `bar` times that one."""
    median = statistics.median(reference_s)
    ratio = max(ours_s) / median
    if ratio <= bar:
        return ratio, paired.HOLDS
    swings = max(reference_s) / median > bar and max(ours_s) <= bar * max(reference_s)
    return ratio, paired.NOISY if swings else paired.MISSED


def judge(results: Results, case: Case, ours_s: Sequence[float], reference_s: Sequence[float], seen: Seen) -> None:
    """ours_s, reference_s: seconds, of the same rounds."""
    median_bar = Bar(MEDIAN_BAR, at_most=True, windows_min=RUNS_MIN)
    enough = len(ours_s) >= RUNS_MIN
    name = TIME.format(case.name)
    if enough:
        results.windows(name, ours_s, "s", reference_s, median_bar)
    else:
        results.noisy(name, statistics.median(ours_s), "s", median_bar)

    def most(row: str, value: float, unit: str, bar: float, verdict: int) -> None:
        """Few runs can show that a bar is missed, but not that it holds."""
        row = row.format(case.name)
        if verdict == paired.NOISY or (verdict == paired.HOLDS and not enough):
            results.noisy(row, value, unit, Bar(bar, at_most=True))
        else:
            results.exact(row, value, unit, Bar(bar, at_most=True))

    bar = WORST_BAR[case.link]
    ratio, verdict = worst_verdict(ours_s, reference_s, bar)
    most(WORST, ratio, "", bar, verdict)
    most(FAILED, len(seen.failed), "transfers", 0, paired.MISSED if seen.failed else paired.HOLDS)
    looks, again = sum(seen.whys.values()), 100 * seen.repeats / max(seen.packets, 1)
    queue = 100 * seen.whys["queue"] / max(looks, 1)
    if case.link == "memif":
        # Without a look, nothing is known of WHY.
        verdict = paired.MISSED if queue > 0 else paired.HOLDS if looks > 0 else paired.NOISY
        most(QUEUE, queue, "%", 0, verdict)
        results.figure(AGAIN.format(case.name), again, "%")
    else:
        most(AGAIN, again, "%", AGAIN_BAR, paired.HOLDS if again <= AGAIN_BAR else paired.MISSED)
        results.figure(QUEUE.format(case.name), queue, "%")


def run_case(testbed: Testbed, args: argparse.Namespace, results: Results, case: Case, source: str,
             target: str) -> dict[str, Any]:
    """Every single measurement, for files-runs.json."""
    reference = LINKS[case.link]
    if case.load == "busy":
        busy_cores(testbed)
    found, ours = contenders(testbed, args, case, source, target)

    def show(i: int, values: Mapping[str, float]) -> None:
        print(f"{case.name} {i}: " + ", ".join(f"{n} {v:.2f} s" for n, v in values.items()), flush=True)

    others = {name: args.baselines for name in found if name not in (OURS, reference)}
    values = paired.turns(found, args.runs, args.seed, show, others)
    ours.end()
    print(f"{case.name}: WHY {words(ours.seen.whys)}", flush=True)
    judge(results, case, values[OURS], values[reference], ours.seen)
    for name in others:
        results.figure(f"{case.name}: {name}", statistics.median(values[name]), "s")
    return {"seconds": values, "whys": ours.seen.whys, "failed": ours.seen.failed,
            "packets": ours.seen.packets, "repeats": ours.seen.repeats}


def run(testbed: Testbed, args: argparse.Namespace, results: Results) -> None:
    check_options(args)
    chosen = cases(args.only)
    if any(case.link != "memif" for case in chosen):
        lack = net.can_netns() or (net.lack_xdp() if any(c.link == "xdp" for c in chosen) else None)
        if lack is not None:
            raise TestbedError(f"{lack}; choose other cases with --only")
    demand(results, chosen)
    folder = tempfile.mkdtemp(prefix="sluice-files.", dir=args.folder)
    testbed.undo(shutil.rmtree, folder, ignore_errors=True)
    source, target = os.path.join(folder, "source"), os.path.join(folder, "target")
    noise_write(source, args.size)
    runs = {}
    for case in chosen:
        mark = testbed.mark()
        runs[case.name] = run_case(testbed, args, results, case, source, target)
        testbed.close_to(mark)
    os.makedirs(args.out, exist_ok=True)
    with open(os.path.join(args.out, "files-runs.json"), "w", encoding="utf-8") as f:
        json.dump(runs, f, indent=1)
