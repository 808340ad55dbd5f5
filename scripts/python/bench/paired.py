# SPDX-License-Identifier: BSD-3-Clause
"""How scripts/bench measures and judges (doc/measuring.md).

On a machine with neighbours, the speed of a program can change tenfold from one second to the next.
So no contender is measured once for a long time. Each has short windows. The contenders take turns,
in an order that is drawn for each round from the seed. The ratio of two windows of one round is judged.

Two statistics are judged, each with its bootstrap interval: the median of the rounds' ratios, and
the ratio of the better quartiles. Both contenders reach their better quartile while the machine
leaves them alone. A statistic whose interval is wider than its distance to the bar says nothing. If
one statistic says nothing, or the two contradict each other, the verdict is "too noisy".
"""
import argparse
import functools
import os
import random
import signal
import time
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self, TypeVar

import numpy
from numpy.typing import NDArray
from scipy import stats

from testbed.process import Process, Testbed, TestbedError

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")
Number = TypeVar("Number", float, complex)
Array = NDArray[numpy.float64]
# {thread: (ns that it ran, ns that it waited for its core)}
Times = dict[int, tuple[int, int]]

# Exit statuses of scripts/bench, and verdicts of rows.
HOLDS, MISSED, ERROR, NOISY = 0, 1, 2, 3
WORDS = {HOLDS: "holds", MISSED: "missed", ERROR: "error", NOISY: "too noisy"}
STATUS_HELP = """\
Exit status:
  0  every bar holds
  1  a bar is missed
  2  there is no result: a program did not start or ended early, a row is missing, an option is wrong
  3  no bar is missed, but the machine was too noisy to judge one or more"""

PAIRS_MIN = 30
WINDOW_S, WINDOW_MIN_S, WINDOW_MAX_S = 0.3, 0.2, 0.5
CONFIDENCE = 0.95
# A poller that waits for its core for more than this share of its time does not show its full speed.
WAITS_MAX = 0.1
# With fewer, the ends of a 95 % interval vary by a tenth of its width.
RESAMPLES = 2000
BEST = 0.9


def options(parser: argparse.ArgumentParser, window: float = WINDOW_S) -> None:
    """The options that every bench with windows has."""
    parser.add_argument("--pairs", type=int, default=PAIRS_MIN,
                        help=f"number of rounds; each contender has one window in each, at least {PAIRS_MIN}")
    parser.add_argument("--window", type=float, default=window, metavar="SECONDS",
                        help=f"length of a window, {WINDOW_MIN_S:g} to {WINDOW_MAX_S:g}")
    parser.add_argument("--seed", type=int, default=1, help="draws the order within each round")


def check_options(args: argparse.Namespace) -> None:
    if args.pairs < PAIRS_MIN:
        raise TestbedError(f"--pairs {args.pairs} is too few to judge; give {PAIRS_MIN} or more")
    if not WINDOW_MIN_S <= args.window <= WINDOW_MAX_S:
        raise TestbedError(f"--window must be from {WINDOW_MIN_S:g} to {WINDOW_MAX_S:g} s")


# ---- measuring ------------------------------------------------------------------------------


class Group:
    """Processes that run only inside `with group:` and are stopped (SIGSTOP) outside of it.

    A contender that takes longer to start than a window lasts stays ready this way, and no two
    contenders poll on one core at the same time. The processes must be ready when the group is made.
    It stops them at once.
    settle_s: the processes run for this time before the window begins.
    pollers: those of the processes whose threads need a core all the time.
    waits: for each window, the largest share of it for which a poller waited for its core.
    """

    def __init__(self, testbed: Testbed, processes: Iterable[Process], settle_s: float = 0.1,
                 pollers: Iterable[Process] = ()) -> None:
        self.processes, self.settle_s = list(processes), settle_s
        self.pollers = list(pollers)
        self.waits: list[float] = []
        self.before: Times = {}
        testbed.undo(self.release)  # a stopped process cannot end
        self._signal(signal.SIGSTOP)

    def _signal(self, number: int) -> None:
        for process in self.processes:
            process.signal(number)

    def release(self) -> None:
        """The processes run from now on."""
        self._signal(signal.SIGCONT)

    def __enter__(self) -> Self:
        for process in self.processes:
            if not process.running():
                raise TestbedError(f"{process.name} ended while it was measured, with status "
                               f"{process.wait(1)}\n{process.tail()}")
        self._signal(signal.SIGCONT)
        time.sleep(self.settle_s)
        self.before = self._times()
        return self

    def __exit__(self, *_: object) -> None:
        times = self._times()
        self._signal(signal.SIGSTOP)
        if self.pollers:
            self.waits.append(waited(self.before, times))

    def _times(self) -> Times:
        return {tid: t for process in self.pollers if process.running()
                for tid, t in thread_times_ns(process.pid).items()}


def growth(read: Callable[[], Number], seconds: float) -> Number:
    """How much the counter that read() reads grows in a second; read() may take a while."""
    def look() -> tuple[Number, float]:
        before = time.monotonic()
        value = read()
        return value, (before + time.monotonic()) / 2

    first, begin = look()
    time.sleep(seconds)
    last, end = look()
    return (last - first) / (end - begin)


def rounds(contenders: Mapping[Key, Callable[[float], Value]], args: argparse.Namespace,
           show: Callable[[int, dict[Key, Value]], None] | None = None) -> dict[Key, list[Value]]:
    """{name: [value of each round]} of contenders {name: f(seconds)}. Each has one window in a round.

    show(round, values of this round) is called after each round.
    """
    check_options(args)
    return turns({name: functools.partial(f, args.window) for name, f in contenders.items()}, args.pairs,
                 args.seed, show)


def turns(contenders: Mapping[Key, Callable[[], Value]], count: int, seed: int,
          show: Callable[[int, dict[Key, Value]], None] | None = None,
          fewer: Mapping[Key, int] | None = None) -> dict[Key, list[Value]]:
    """{name: [value of each round]} of contenders {name: f()}, for count rounds. The order of
    each round is drawn from the seed. fewer: {name: n} for a contender that has turns only in the first n rounds."""
    dice = random.Random(seed)
    values: dict[Key, list[Value]] = {name: [] for name in contenders}
    for i in range(count):
        order = [name for name in contenders if i < (fewer or {}).get(name, count)]
        dice.shuffle(order)
        for name in order:
            values[name].append(contenders[name]())
        if show is not None:
            show(i + 1, {name: values[name][-1] for name in contenders if name in order})
    return values


# ---- judging --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Bar:
    """A ratio must be at least `value`. With at_most it must be at most that, and less is better, as of
    times. With within its distance to 1 must be at most that. windows_min: with fewer windows there is
    no verdict. A value of None makes no verdict."""
    value: float | None
    at_most: bool = False
    within: bool = False
    windows_min: int = PAIRS_MIN


def bar_of(bar: Bar | float | None) -> Bar:
    """A plain number is a bar for "at least"."""
    return bar if isinstance(bar, Bar) else Bar(bar)


@dataclass(frozen=True)
class Estimate:
    """A statistic and its bootstrap interval."""
    value: float
    low: float
    high: float

    def within(self, distance: float) -> int:
        """Whether it is within this distance of 1; a verdict as that of side()."""
        sides = (self.side(1 - distance, False), self.side(1 + distance, True))
        return MISSED if MISSED in sides else agree(sides)

    def side(self, bar: float, at_most: bool) -> int:
        """HOLDS or MISSED; NOISY where the interval is wider than the distance to the bar."""
        if self.high - self.low > abs(self.value - bar):
            return NOISY
        return HOLDS if (self.value <= bar if at_most else self.value >= bar) else MISSED


@dataclass(frozen=True)
class Judgement:
    """ratio: median of the rounds' ratios; quartiles: ratio of the better quartiles; verdict: None
    without a bar."""
    ours: float       # median
    reference: float  # median
    ratio: Estimate
    quartiles: Estimate
    pairs: int
    verdict: int | None


def _numbers(values: Sequence[float] | Array, name: str, windows_min: int = PAIRS_MIN) -> Array:
    numbers = numpy.asarray(values, dtype=float)
    if len(numbers) < windows_min:
        raise TestbedError(f"{name} has {len(numbers)} windows; a verdict needs {windows_min}")
    if not numpy.isfinite(numbers).all():
        raise TestbedError(f"{name} has a window without a number")
    return numbers


def _estimate(statistic: Callable[..., Any], samples: tuple[Array, Array], seed: int) -> Estimate:
    found = stats.bootstrap(samples, statistic, paired=True, vectorized=True, axis=-1,
                            n_resamples=RESAMPLES, confidence_level=CONFIDENCE,
                            method="percentile", random_state=numpy.random.default_rng(seed))
    interval = found.confidence_interval
    return Estimate(float(statistic(*samples, axis=-1)), float(interval.low), float(interval.high))


def judge(ours: Sequence[float], reference: Sequence[float] | float, bar: Bar | float | None = None,
          seed: int = 1, name: str = "a row") -> Judgement:
    """ours / reference against the bar, from windows of the same rounds in the same order.

    reference: a sequence as long as ours, or a number if it is known and not measured. With bar.at_most
    the better quartile is the lower one. With bar.within no quartile is the better one, so only the
    median is judged.
    """
    bar = bar_of(bar)
    a = _numbers(ours, name, bar.windows_min)
    if isinstance(reference, (int, float)):
        reference = [float(reference)] * len(a)
    b = _numbers(reference, f"the reference of {name}", bar.windows_min)
    if len(a) != len(b):
        raise TestbedError(f"{name} has {len(a)} windows, its reference {len(b)}")
    if (b <= 0).any():
        raise TestbedError(f"the reference of {name} has a window in which nothing was measured")
    part = 0.25 if bar.at_most else 0.75

    def ratio(a: Array, b: Array, axis: int) -> Any:
        return numpy.median(a / b, axis=axis)

    def quartiles(a: Array, b: Array, axis: int) -> Any:
        return numpy.quantile(a, part, axis=axis) / numpy.quantile(b, part, axis=axis)

    one, two = _estimate(ratio, (a, b), seed), _estimate(quartiles, (a, b), seed)
    verdict = None
    if bar.value is not None and bar.within:
        verdict = one.within(bar.value)
    elif bar.value is not None:
        verdict = agree([e.side(bar.value, bar.at_most) for e in (one, two)])
    return Judgement(float(numpy.median(a)), float(numpy.median(b)), one, two, len(a), verdict)


def agree(verdicts: Sequence[int]) -> int:
    """The verdict that all give; NOISY where they differ."""
    return verdicts[0] if len(set(verdicts)) == 1 else NOISY


def best(values: Sequence[float]) -> float:
    """The speed that a contender reaches while the machine leaves it alone: the best but one or so of ten
    windows. The very best may be an error of the clock."""
    return float(numpy.quantile(values, BEST))


def lower(candidates: Mapping[str, Sequence[float]], seed: int = 1) -> list[str]:
    """Which of {name: values} is the lower one: its name, or more than one where that is uncertain.

    Their best() are compared. Medians, or the minimum of each round, would follow the noise of the
    noisier candidate.
    """
    lowest = min(candidates, key=lambda name: best(candidates[name]))
    found = [lowest]

    def ratio(a: Array, b: Array, axis: int) -> Any:
        return numpy.quantile(a, BEST, axis=axis) / numpy.quantile(b, BEST, axis=axis)

    for name, values in candidates.items():
        if name == lowest:
            continue
        pair = (_numbers(candidates[lowest], lowest), _numbers(values, name))
        if _estimate(ratio, pair, seed).high >= 1:
            found.append(name)
    return found


def overall(verdicts: Collection[int]) -> int:
    """Exit status for these verdicts: the worst of them."""
    for status in (ERROR, MISSED, NOISY):
        if status in verdicts:
            return status
    return HOLDS


def thread_times_ns(pid: int) -> Times:
    """Times of the threads of a process."""
    times = {}
    for tid in os.listdir(f"/proc/{pid}/task"):
        try:
            with open(f"/proc/{pid}/task/{tid}/schedstat", encoding="ascii") as f:
                ran, waits = f.read().split()[:2]
        except (FileNotFoundError, ProcessLookupError):
            continue  # the thread has ended
        times[int(tid)] = int(ran), int(waits)
    return times


def cpu_ns(pid: int) -> int:
    """ns of CPU that the threads of a process have used."""
    return sum(ran for ran, _ in thread_times_ns(pid).values())


def waited(before: Times, after: Times) -> float:
    """The largest share of its time, between two looks, for which a poller waited for its core.

    A thread is a poller if it ran or waited for at least half as long as the busiest one.
    """
    grown = {tid: (ran - before[tid][0], wait - before[tid][1])
             for tid, (ran, wait) in after.items() if tid in before}
    most = max((sum(t) for t in grown.values()), default=0)
    return max((wait / (ran + wait) for ran, wait in grown.values() if 2 * (ran + wait) >= most > 0),
               default=0.0)
