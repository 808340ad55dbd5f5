#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""bench.paired and bench.results on made samples: right verdicts on a quiet machine, few wrong ones on a
machine whose speed changes tenfold, and no verdict where nothing was measured."""
import argparse
import math
import os
import random
import sys
import tempfile
import types
import unittest
from collections.abc import Callable

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../scripts/python"))
from bench import __main__ as bench, paired  # noqa: E402
from testbed.process import Testbed, TestbedError  # noqa: E402
from bench.results import Results  # noqa: E402

Bar = paired.Bar
HOLDS, MISSED, ERROR, NOISY = paired.HOLDS, paired.MISSED, paired.ERROR, paired.NOISY
WINDOW_S, PAUSE_S = 0.3, 0.1


class Machine:
    """A machine whose speed, from 1/swing to 1, is drawn again after mode_s on average. A window sees the mean
    speed while it lasts, with 5 % of other noise."""

    def __init__(self, seed: int, mode_s: float = 2.0, swing: float = 10.0) -> None:
        self.dice, self.mode_s, self.swing = random.Random(seed), mode_s, swing
        self.left_s, self.speed = 0.0, 1.0

    def spend(self, seconds: float) -> float:
        """The mean speed over this time."""
        done = 0.0
        rest = seconds
        while rest > 0:
            if self.left_s <= 0:
                self.left_s = self.dice.expovariate(1 / self.mode_s)
                self.speed = self.swing ** -self.dice.random()
            step = min(rest, self.left_s)
            done += step * self.speed
            rest -= step
            self.left_s -= step
        return done / seconds

    def window(self, able: float) -> float:
        self.spend(PAUSE_S)
        return able * self.spend(WINDOW_S) * math.exp(self.dice.gauss(0, 0.05))


def measured(ratio: float, seed: int, **machine: float) -> tuple[list[float], list[float]]:
    """(ours, reference) of a contender that is `ratio` times as fast as its reference."""
    m = Machine(seed, **machine)
    args = argparse.Namespace(pairs=paired.PAIRS_MIN, window=WINDOW_S, seed=seed)
    values = paired.rounds({"ours": lambda _: m.window(ratio), "reference": lambda _: m.window(1.0)}, args)
    return values["ours"], values["reference"]


def verdicts(ratio: float, bar: float, runs: int = 100, at_most: bool = False, **machine: float) -> dict[int, int]:
    """{verdict: how often}. at_most: costs are judged; a cost is the inverse of a speed."""
    found = {HOLDS: 0, MISSED: 0, NOISY: 0}
    for seed in range(runs):
        ours, reference = measured(1 / ratio if at_most else ratio, seed, **machine)
        if at_most:
            ours, reference = [1 / x for x in ours], [1 / x for x in reference]
        verdict = paired.judge(ours, reference, Bar(bar, at_most=at_most), seed=seed).verdict
        assert verdict is not None
        found[verdict] += 1
    return found


class FalseVerdicts(unittest.TestCase):
    """On a machine whose speed changes tenfold, at most 1 in 100 verdicts is wrong; the seeds are fixed."""

    def test_above_the_bar_is_not_missed(self) -> None:
        for ratio in (0.62, 0.66, 0.9):
            self.assertLessEqual(verdicts(ratio, 0.6)[MISSED], 1, ratio)

    def test_below_the_bar_does_not_hold(self) -> None:
        for ratio in (0.58, 0.54, 0.4):
            self.assertLessEqual(verdicts(ratio, 0.6)[HOLDS], 1, ratio)

    def test_at_the_bar_it_is_too_noisy(self) -> None:
        found = verdicts(0.6, 0.6)
        self.assertGreaterEqual(found[NOISY], 98, found)

    def test_costs(self) -> None:
        self.assertLessEqual(verdicts(1.05, 1.0, at_most=True)[HOLDS], 1)
        self.assertLessEqual(verdicts(0.95, 1.0, at_most=True)[MISSED], 1)

    def test_short_and_long_modes(self) -> None:
        for mode_s in (0.3, 10.0):
            self.assertLessEqual(verdicts(0.54, 0.6, mode_s=mode_s)[HOLDS], 1, mode_s)
            self.assertLessEqual(verdicts(0.66, 0.6, mode_s=mode_s)[MISSED], 1, mode_s)

    def test_five_runs_do_not_contradict_each_other(self) -> None:
        for able in range(50, 75, 4):
            found = {paired.judge(*measured(able / 100, seed), bar=0.6).verdict
                     for seed in range(1000, 1005)}
            self.assertFalse({HOLDS, MISSED} <= found, able)


class Power(unittest.TestCase):
    """There is a verdict where the machine allows one."""

    def test_quiet(self) -> None:
        self.assertGreaterEqual(verdicts(0.7, 0.6, runs=50, swing=1.0)[HOLDS], 50)
        self.assertGreaterEqual(verdicts(0.5, 0.6, runs=50, swing=1.0)[MISSED], 50)
        self.assertGreaterEqual(verdicts(1.2, 1.0, runs=50, swing=1.0, at_most=True)[MISSED], 50)

    def test_far_from_the_bar_in_long_modes(self) -> None:
        found = verdicts(2.0, 0.6, runs=50, mode_s=4.0)
        self.assertGreaterEqual(found[HOLDS], 20, found)


class Judge(unittest.TestCase):
    def test_equal_windows_have_no_interval(self) -> None:
        j = paired.judge([6.0] * 30, [10.0] * 30, 0.6)
        self.assertEqual((j.ratio.value, j.ratio.low, j.ratio.high), (0.6, 0.6, 0.6))
        self.assertEqual(j.verdict, HOLDS)

    def test_a_number_as_the_reference(self) -> None:
        self.assertEqual(paired.judge([99.0, 101.0] * 15, 100.0, 0.9).verdict, HOLDS)
        self.assertEqual(paired.judge([99.0, 101.0] * 15, 100.0, 1.2).verdict, MISSED)

    def test_an_interval_wider_than_the_distance_says_nothing(self) -> None:
        self.assertEqual(paired.Estimate(0.7, 0.64, 0.76).side(0.6, False), NOISY)
        self.assertEqual(paired.Estimate(0.7, 0.66, 0.74).side(0.6, False), HOLDS)
        self.assertEqual(paired.Estimate(0.7, 0.66, 0.74).side(0.6, True), MISSED)

    def test_statistics_that_contradict_each_other_say_nothing(self) -> None:
        # Ours is faster in two rounds of three, but the better quartile of the reference is ten times faster.
        ours, reference = [10.0] * 30, [5.0] * 20 + [100.0] * 10
        j = paired.judge(ours, reference, 1.0)
        self.assertGreater(j.ratio.value, 1)
        self.assertLess(j.quartiles.value, 1)
        self.assertEqual(j.verdict, NOISY)

    def test_within_is_two_bars(self) -> None:
        for value, verdict in ((1.0, HOLDS), (1.01, HOLDS), (1.05, MISSED), (0.95, MISSED)):
            self.assertEqual(paired.judge([value] * 30, 1.0, Bar(0.02, within=True)).verdict, verdict)
        self.assertEqual(paired.judge([0.9, 1.1] * 15, 1.0, Bar(0.02, within=True)).verdict, NOISY)

    def test_the_seed_decides_all(self) -> None:
        ours, reference = measured(0.6, 7)
        self.assertEqual(paired.judge(ours, reference, 0.6, seed=3),
                         paired.judge(ours, reference, 0.6, seed=3))

    def test_too_few_or_broken_windows_are_errors(self) -> None:
        broken: list[tuple[list[float], list[float] | float]] = [
            ([1.0] * 29, [1.0] * 29), ([1.0] * 30, [1.0] * 31), ([1.0] * 29 + [math.nan], 1.0),
            ([1.0] * 30, [1.0] * 29 + [0.0])]
        for ours, reference in broken:
            with self.assertRaises(TestbedError):
                paired.judge(ours, reference, 0.5)

    def test_lower_is_not_fooled_by_slow_windows(self) -> None:
        quiet, noisy = [81.0] * 30, [18.0] * 15 + [280.0] * 15
        self.assertEqual(paired.lower({"testpmd": noisy, "memcpy": quiet}), ["memcpy"])
        self.assertEqual(paired.lower({"testpmd": [50.0] * 30, "memcpy": quiet}), ["testpmd"])

    def test_lower_names_both_where_it_cannot_be_told(self) -> None:
        mixed = [40.0, 160.0] * 15
        self.assertEqual(sorted(paired.lower({"a": mixed, "b": mixed[::-1]})), ["a", "b"])


def seen_by(seen: list[str], name: str) -> Callable[..., int]:
    """A contender that adds its name to the list; its value is the length of the list then."""
    def window(*_: float) -> int:
        seen.append(name)
        return len(seen)
    return window


class Rounds(unittest.TestCase):
    def test_each_once_a_round_in_an_order_that_a_seed_draws(self) -> None:
        def order(seed: int) -> list[str]:
            seen: list[str] = []
            args = argparse.Namespace(pairs=40, window=0.2, seed=seed)
            paired.rounds({n: seen_by(seen, n) for n in "ab"}, args)
            return seen

        seen = order(1)
        self.assertTrue(all(set(seen[i:i + 2]) == {"a", "b"} for i in range(0, 80, 2)))
        first = seen[::2].count("a")
        self.assertTrue(8 < first < 32, first)
        self.assertEqual(seen, order(1))
        self.assertNotEqual(seen, order(2))

    def test_some_have_fewer_turns(self) -> None:
        seen: list[str] = []
        values = paired.turns({n: seen_by(seen, n) for n in "abc"}, 5, 1, fewer={"c": 2})
        self.assertEqual([len(values[n]) for n in "abc"], [5, 5, 2])
        self.assertNotIn("c", seen[6:])

    def test_options_are_checked(self) -> None:
        for pairs, window in ((29, 0.3), (30, 0.1), (30, 1.0)):
            with self.assertRaises(TestbedError):
                paired.check_options(argparse.Namespace(pairs=pairs, window=window))


class Waits(paired.Group):
    """A group without processes, of which only the waits are known."""

    def __init__(self, waits: list[float]) -> None:
        self.waits = waits


class Rows(unittest.TestCase):
    def test_nothing_measured_is_an_error(self) -> None:
        self.assertEqual(Results("x").status(), ERROR)

    def test_a_missing_row_is_an_error(self) -> None:
        r = Results("x")
        r.demand("a", "b")
        r.exact("a", 2, "", 1)
        self.assertEqual(r.status(), ERROR)
        r.exact("b", 2, "", 1)
        self.assertEqual(r.status(), HOLDS)

    def test_a_figure_is_no_verdict(self) -> None:
        r = Results("x")
        r.demand("a")
        r.figure("a", 2, "")
        self.assertIsNone(r.rows[0]["verdict"])
        self.assertEqual(r.status(), ERROR)

    def test_a_bar_that_nobody_demanded_is_an_error(self) -> None:
        r = Results("x")
        r.exact("a", 2, "", 1)
        self.assertEqual(r.status(), ERROR)

    def test_two_rows_of_one_name_are_an_error(self) -> None:
        r = Results("x")
        r.demand("a")
        r.exact("a", 0, "", 1)
        r.exact("a", 2, "", 1)
        self.assertEqual(r.status(), ERROR)

    def test_the_worst_counts(self) -> None:
        self.assertEqual(paired.overall([HOLDS, NOISY]), NOISY)
        self.assertEqual(paired.overall([HOLDS, NOISY, MISSED]), MISSED)
        self.assertEqual(paired.overall([ERROR, NOISY, MISSED]), ERROR)
        r = Results("x")
        r.demand("a", "b")
        r.exact("a", 2, "", 1)
        r.noisy("b", 2, "", 1)
        self.assertEqual(r.status(), NOISY)

    def test_a_miss_of_pollers_that_waited_says_nothing(self) -> None:
        for share, value, verdict in ((0.02, 0.5, MISSED), (0.3, 0.5, NOISY), (0.3, 0.7, HOLDS)):
            r = Results("x")
            r.demand("a")
            r.disturbed([Waits([share] * 30)])
            r.windows("a", [value] * 30, "", 1.0, 0.6)
            self.assertEqual(r.status(), verdict)

    def test_waits_of_pollers(self) -> None:
        before = {1: (0, 0), 2: (0, 0), 3: (0, 0)}
        self.assertAlmostEqual(paired.waited(before, {1: (90, 10), 2: (60, 40), 3: (1, 9)}), 0.4)
        self.assertEqual(paired.waited({}, {}), 0.0)

    def test_windows_scale_and_bars_of_values(self) -> None:
        r = Results("x")
        r.demand("time")
        r.windows("time", [2e6, 2.1e6] * 15, "ms", bar=Bar(3, at_most=True), scale=1e-6)
        self.assertEqual(r.status(), HOLDS)
        self.assertAlmostEqual(r.rows[0]["value"], 2.05)
        self.assertAlmostEqual(r.rows[0]["ratio"], 2.05)

    def test_each_reference_must_say_the_same(self) -> None:
        r = Results("x")
        r.demand("goodput")
        r.windows_each("goodput", [60.0] * 30, "", {"a": [50.0] * 30, "b": [200.0] * 30}, 0.6)
        self.assertEqual(r.status(), NOISY)
        self.assertEqual([row["verdict"] for row in r.rows], ["too noisy"] * 2)


class Program(unittest.TestCase):
    """Exit statuses of a bench."""

    def status(self, run: Callable[[Testbed, argparse.Namespace, Results], object]) -> int:
        with tempfile.TemporaryDirectory() as out:
            sys.stdout, sys.stderr = (open(os.devnull, "w", encoding="utf-8") for _ in range(2))
            try:
                module = types.ModuleType("x")
                setattr(module, "run", run)
                return bench.run("x", module, argparse.Namespace(out=out))
            finally:
                sys.stdout.close()
                sys.stderr.close()
                sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__

    def test_statuses(self) -> None:
        def judged(value: float) -> Callable[[Testbed, argparse.Namespace, Results], None]:
            def run(_testbed: Testbed, _args: argparse.Namespace, results: Results) -> None:
                results.demand("a")
                results.exact("a", value, "", 1)
            return run

        def broken(*_: object) -> None:
            raise TestbedError("does not start")

        def wrong(*_: object) -> None:
            raise KeyError("nonsense")

        self.assertEqual(self.status(judged(1)), HOLDS)
        self.assertEqual(self.status(judged(0)), MISSED)
        self.assertEqual(self.status(broken), ERROR)
        self.assertEqual(self.status(wrong), ERROR)
        self.assertEqual(self.status(lambda *_: None), ERROR)


if __name__ == "__main__":
    unittest.main()
