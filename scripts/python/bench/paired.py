# SPDX-License-Identifier: BSD-3-Clause
"""The one way in which scripts/bench measures and judges (doc/measuring.md).

A machine that others use gives a program ten times less from one second to the next. So nothing
here is measured once for long: every contender is measured in short windows, the contenders take
turns in an order that a seed draws anew for each round, and what is judged is the ratio of two
windows of the same round.

Two statistics are judged, each with its bootstrap interval: the median of the rounds' ratios, and
the ratio of the better quartiles, which is what both reach while the machine leaves them alone.
An interval that is wider than the distance from its statistic to the bar says nothing; where one
says nothing, or the two contradict each other, the verdict is "too noisy".
"""
import functools
import os
import random
import signal
import time
from dataclasses import dataclass

import numpy
from scipy import stats

from testbed.process import TestbedError

# Exit statuses of scripts/bench, and verdicts of rows.
HOLDS, MISSED, ERROR, NOISY = 0, 1, 2, 3
WORDS = {HOLDS: "holds", MISSED: "missed", ERROR: "error", NOISY: "too noisy"}
STATUS_HELP = """\
Exit status:
  0  every bar holds
  1  a bar is missed
  2  nothing can be said: a program did not start or ended early, a row is missing, a bad option
  3  no bar is missed, but at least one could not be judged: the machine was too noisy"""

PAIRS_MIN = 30
WINDOW_S, WINDOW_LEAST_S, WINDOW_MOST_S = 0.3, 0.2, 0.5
CONFIDENCE = 0.95
# A poller that waits for its core for more than this share of its time does not show what it can.
WAITS_MAX = 0.1
# With fewer the ends of a 95 % interval themselves vary by a tenth of its width.
RESAMPLES = 2000
BEST = 0.9


def options(parser, window=WINDOW_S):
    """The options that every bench with windows has."""
    parser.add_argument("--pairs", type=int, default=PAIRS_MIN,
                        help=f"rounds in which each contender has a window, at least {PAIRS_MIN}")
    parser.add_argument("--window", type=float, default=window, metavar="SECONDS",
                        help=f"of a window, {WINDOW_LEAST_S:g} to {WINDOW_MOST_S:g}")
    parser.add_argument("--seed", type=int, default=1, help="draws the order within each round")


def check_options(args):
    if args.pairs < PAIRS_MIN:
        raise TestbedError(f"--pairs {args.pairs} is too few to judge by; give {PAIRS_MIN} or more")
    if not WINDOW_LEAST_S <= args.window <= WINDOW_MOST_S:
        raise TestbedError(f"--window must be from {WINDOW_LEAST_S:g} to {WINDOW_MOST_S:g} s")


# ---- measuring ------------------------------------------------------------------------------


class Group:
    """Processes that run only inside `with group:` and stand still (SIGSTOP) outside of it.

    So contenders whose start would take longer than a window stay ready, and no two of them poll
    on one core at the same time. Make it when they are ready; they stand still from then on.
    settle_s: they run for so long before the window begins. pollers: those of them whose threads
    should have a core all the time; waits: of each window, the share for which one waited for it.
    """

    def __init__(self, testbed, processes, settle_s=0.1, pollers=()):
        self.processes, self.settle_s = list(processes), settle_s
        self.pollers, self.waits, self.before = list(pollers), [], {}
        testbed.undo(self.release)  # so that they can end
        self._signal(signal.SIGSTOP)

    def _signal(self, number):
        for process in self.processes:
            process.signal(number)

    def release(self):
        """They run from now on."""
        self._signal(signal.SIGCONT)

    def __enter__(self):
        for process in self.processes:
            if not process.running():
                raise TestbedError(f"{process.name} ended while it was measured, with status "
                               f"{process.wait(1)}\n{process.tail()}")
        self._signal(signal.SIGCONT)
        time.sleep(self.settle_s)
        self.before = self._times()
        return self

    def __exit__(self, *_):
        times = self._times()
        self._signal(signal.SIGSTOP)
        if self.pollers:
            self.waits.append(waited(self.before, times))

    def _times(self):
        """{thread: (ns that it ran, ns that it waited for its core)}"""
        return {tid: t for process in self.pollers if process.running()
                for tid, t in thread_times_ns(process.pid).items()}


class Asked:
    """A program that does nothing until a line tells it what to do, and answers with a line."""

    def __init__(self, process, timeout_s=60):
        self.process, self.timeout_s = process, timeout_s
        self.answers = 0

    def ask(self, line):
        self.process.popen.stdin.write((line + "\n").encode())
        self.process.popen.stdin.flush()
        return self.next_answer()

    def next_answer(self):
        """The next line that it says, also of its own accord, such as that it is ready."""
        end = time.monotonic() + self.timeout_s
        while True:
            text = self.process.out()
            lines = text[:text.rfind("\n") + 1].splitlines()
            if len(lines) > self.answers:
                self.answers += 1
                return lines[self.answers - 1]
            if not self.process.running():
                raise TestbedError(f"{self.process.name} ended with status {self.process.wait(1)}\n"
                               f"{self.process.tail()}")
            if time.monotonic() > end:
                raise TestbedError(f"{self.process.name} does not answer within {self.timeout_s:g} s\n"
                               f"{self.process.tail()}")
            time.sleep(0.005)


def growth(read, seconds):
    """What the counter that read() reads grows by in a second; read() may take a while."""
    def look():
        before = time.monotonic()
        value = read()
        return value, (before + time.monotonic()) / 2

    first, begin = look()
    time.sleep(seconds)
    last, end = look()
    return (last - first) / (end - begin)


def rounds(contenders, args, show=None):
    """{name: [value of each round]} of contenders {name: f(seconds)}, each once in a round.

    show(round, values of this round): called after each.
    """
    check_options(args)
    return turns({name: functools.partial(f, args.window) for name, f in contenders.items()}, args.pairs,
                 args.seed, show)


def turns(contenders, count, seed, show=None, fewer=None):
    """{name: [value of each round]} of contenders {name: f()}, in an order that is drawn anew for each of
    count rounds. fewer: {name: in so many of the first rounds only}."""
    dice = random.Random(seed)
    values = {name: [] for name in contenders}
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
class Estimate:
    """A statistic and its bootstrap interval."""
    value: float
    low: float
    high: float

    def within(self, most):
        """Is it closer than that to 1? A verdict as of side()."""
        sides = (self.side(1 - most, False), self.side(1 + most, True))
        return MISSED if MISSED in sides else agree(sides)

    def side(self, bar, at_most):
        """HOLDS or MISSED; NOISY where the interval is wider than the distance to the bar."""
        if self.high - self.low > abs(self.value - bar):
            return NOISY
        return HOLDS if (self.value <= bar if at_most else self.value >= bar) else MISSED


@dataclass(frozen=True)
class Judgement:
    """ratio: median of pair ratios; quartiles: ratio of the better quartiles; verdict: None
    without a bar."""
    ours: float       # median
    reference: float  # median
    ratio: Estimate
    quartiles: Estimate
    pairs: int
    verdict: int


def _numbers(values, what, least=PAIRS_MIN):
    numbers = numpy.asarray(values, dtype=float)
    if len(numbers) < least:
        raise TestbedError(f"{what} has {len(numbers)} windows; {least} are needed to judge")
    if not numpy.isfinite(numbers).all():
        raise TestbedError(f"{what} has a window without a number")
    return numbers


def _estimate(statistic, samples, seed):
    found = stats.bootstrap(samples, statistic, paired=True, vectorized=True, axis=-1,
                            n_resamples=RESAMPLES, confidence_level=CONFIDENCE,
                            method="percentile", random_state=numpy.random.default_rng(seed))
    interval = found.confidence_interval
    return Estimate(float(statistic(*samples, axis=-1)), float(interval.low), float(interval.high))


def judge(ours, reference, bar=None, at_most=False, seed=1, name="a row", within=False,
          least=PAIRS_MIN):
    """ours / reference against the bar, from windows of the same rounds in the same order, so many at
    least.

    reference: a sequence as long as ours, or a number where it is known and not measured. at_most:
    less is better, as of times, so the better quartile is the lower one. within: the ratio may be
    so far from 1; as no quartile is the better one then, only the median is judged.
    """
    ours = _numbers(ours, name, least)
    if numpy.ndim(reference) == 0:
        reference = numpy.full(len(ours), float(reference))
    reference = _numbers(reference, f"the reference of {name}", least)
    if len(reference) != len(ours):
        raise TestbedError(f"{name} has {len(ours)} windows, its reference {len(reference)}")
    if (reference <= 0).any():
        raise TestbedError(f"the reference of {name} has a window in which nothing was measured")
    part = 0.25 if at_most else 0.75

    def ratio(a, b, axis):
        return numpy.median(a / b, axis=axis)

    def quartiles(a, b, axis):
        return numpy.quantile(a, part, axis=axis) / numpy.quantile(b, part, axis=axis)

    pair = (ours, reference)
    one, two = _estimate(ratio, pair, seed), _estimate(quartiles, pair, seed)
    verdict = None
    if bar is not None and within:
        verdict = one.within(bar)
    elif bar is not None:
        verdict = agree([e.side(bar, at_most) for e in (one, two)])
    return Judgement(float(numpy.median(ours)), float(numpy.median(reference)), one, two, len(ours),
                     verdict)


def agree(verdicts):
    """What all say; NOISY where they differ."""
    return verdicts[0] if len(set(verdicts)) == 1 else NOISY


def best(values):
    """What a contender can do while the machine leaves it alone: of ten windows the best but one or
    so. The very best may be a slip of the clock."""
    return float(numpy.quantile(values, BEST))


def lower(candidates, seed=1):
    """Which of {name: values} is the lower one: names, more than one where it cannot be told.

    By what each can do at best. A median, or the least of each round, would be whatever the noise
    makes of the noisier one.
    """
    least = min(candidates, key=lambda name: best(candidates[name]))
    found = [least]

    def ratio(a, b, axis):
        return numpy.quantile(a, BEST, axis=axis) / numpy.quantile(b, BEST, axis=axis)

    for name, values in candidates.items():
        if name == least:
            continue
        pair = (_numbers(candidates[least], least), _numbers(values, name))
        if _estimate(ratio, pair, seed).high >= 1:
            found.append(name)
    return found


def overall(verdicts):
    """Exit status for these verdicts: the worst of them."""
    for status in (ERROR, MISSED, NOISY):
        if status in verdicts:
            return status
    return HOLDS


def thread_times_ns(pid):
    """{thread: (ns that it ran, ns that it waited for its core)} of a process."""
    times = {}
    for tid in os.listdir(f"/proc/{pid}/task"):
        try:
            with open(f"/proc/{pid}/task/{tid}/schedstat", encoding="ascii") as f:
                times[int(tid)] = tuple(int(x) for x in f.read().split()[:2])
        except FileNotFoundError:
            continue  # it has ended
    return times


def cpu_ns(pid):
    """ns of CPU that the threads of a process have had."""
    return sum(ran for ran, _ in thread_times_ns(pid).values())


def waited(before, after):
    """The largest share of its time for which a poller waited for its core, between two times.

    Pollers are those threads that ran or waited for at least half of what the busiest one did.
    """
    grown = {tid: (ran - before[tid][0], wait - before[tid][1])
             for tid, (ran, wait) in after.items() if tid in before}
    most = max((sum(t) for t in grown.values()), default=0)
    return max((wait / (ran + wait) for ran, wait in grown.values() if 2 * (ran + wait) >= most > 0),
               default=0.0)
