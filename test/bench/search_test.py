#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""bench.search, the throughput search: on devices of known throughput in virtual time, on naive models of devices with
and without noise, and against the load classification and the conditional throughput of RFC 9971.

Usage: search_test.py BUILD_DIR [UNITTEST-OPTION...]

Exit status 77: the library of the search is not installed."""
import os
import random
import sys
import unittest
from collections.abc import Callable, Iterable, Mapping, Sequence
from unittest import mock

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../scripts/python"))
from bench import known, search  # noqa: E402
from bench.search import Found, Goal, GoalResult, Limits, Trial  # noqa: E402
from testbed.process import Testbed, TestbedError  # noqa: E402

BUILD = sys.argv[1] if len(sys.argv) > 1 else "build"
LIMITS = Limits(1e3, 20e6)
EXACT = Goal("NDR", 0.0, 0.0, 0.001, 1.0, 1.0)
PARTIAL = Goal("PDR", 0.005, 0.0, 0.005, 1.0, 1.0)
# Of eleven short trials, five may be bad. Sums of such durations are exact.
TOLERANT = Goal("NDR", 0.0, 0.5, 0.01, 0.125, 1.375)
STRICT = Goal("NDR", 0.0, 0.0, 0.01, 0.125, 1.375)


Measure = Callable[[float, float], Trial]


# ---- models of devices ----------------------------------------------------------------------


class Step:
    """Passes so many frames a second, and loses the others."""

    def __init__(self, able_fps: float) -> None:
        self.able_fps, self.loads = able_fps, list[float]()

    def measure(self, duration_s: float, load_fps: float) -> Trial:
        self.loads.append(load_fps)
        sent = int(duration_s * load_fps)
        return Trial(duration_s, load_fps, sent, min(sent, int(duration_s * self.able_fps)))


class Noisy(Step):
    """A Step that loses a few frames more in some trials, whatever the load is."""

    def __init__(self, able_fps: float, seed: int, bad: float) -> None:
        super().__init__(able_fps)
        self.dice, self.bad = random.Random(seed), bad

    def measure(self, duration_s: float, load_fps: float) -> Trial:
        t = super().measure(duration_s, load_fps)
        lost = self.dice.randint(1, 50) if self.dice.random() < self.bad else 0
        return Trial(t.duration_s, t.load_fps, t.expected, max(t.received - lost, 0))


class Soft(Step):
    """Loses more and more above its able_fps: the square of the excess."""

    def measure(self, duration_s: float, load_fps: float) -> Trial:
        sent = int(duration_s * load_fps)
        excess = max(0.0, load_fps / self.able_fps - 1)
        return Trial(duration_s, load_fps, sent, int(sent * (1 - min(excess * excess, 1))))


class Lazy(Step):
    """A Step whose generator offers at most so many frames a second."""

    def __init__(self, able_fps: float, offers_fps: float) -> None:
        super().__init__(able_fps)
        self.offers_fps = offers_fps

    def measure(self, duration_s: float, load_fps: float) -> Trial:
        t = super().measure(duration_s, min(load_fps, self.offers_fps))
        return Trial(duration_s, load_fps, t.expected, t.received, int(duration_s * load_fps) - t.expected)


def draws(seed: int, n: int) -> Iterable[tuple[int, float]]:
    """(number, a throughput within LIMITS, log-uniform)"""
    dice = random.Random(int(os.environ.get("SLUICE_SEED", seed)))
    for i in range(n):
        yield i, LIMITS.min_fps * 2 * (LIMITS.max_fps / LIMITS.min_fps / 4) ** dice.random()


# ---- RFC 9971, appendices A and B ------------------------------------------------------------


def classified(goal: Goal, trials: Sequence[Trial]) -> bool | None:
    """Appendix A, for full-length trials at one load: a lower bound, an upper bound, or (None) undecided. No result of
    the trials that are missing for the goal's sum could change it."""
    good = sum(t.duration_s for t in trials if t.loss_ratio <= goal.loss_ratio)
    bad = sum(t.duration_s for t in trials if t.loss_ratio > goal.loss_ratio)
    whole = max(good + bad, goal.duration_sum_s)
    if whole - good <= whole * goal.exceed_ratio:
        return True
    return False if bad > whole * goal.exceed_ratio else None


def conditional(goal: Goal, load_fps: float, trials: Sequence[Trial]) -> float:
    """Appendix B: the forwarding rate of the trial that is as bad as the goal allows."""
    rest = max(sum(t.duration_s for t in trials), goal.duration_sum_s) * (1 - goal.exceed_ratio)
    for t in sorted(trials, key=lambda t: t.loss_ratio):
        rest -= t.duration_s
        if rest <= 0:
            return load_fps * (1 - t.loss_ratio)
    return 0.0


def by_load(found: Found) -> Mapping[float, list[Trial]]:
    loads: dict[float, list[Trial]] = {}
    for t in found.trials:
        loads.setdefault(t.load_fps, []).append(t)
    return loads


class Rfc(unittest.TestCase):
    """The library follows draft 05; the results must be those of the RFC."""

    def check(self, found: Found) -> None:
        loads = by_load(found)
        for result in found.results.values():
            kinds = {load: classified(result.goal, trials) for load, trials in loads.items()}
            upper = min((load for load, lower in kinds.items() if lower is False), default=None)
            lower = max((load for load, lower in kinds.items() if lower and load < (upper or float("inf"))), default=None)
            self.assertEqual((result.lower_fps, result.upper_fps), (lower, upper))
            if lower is not None:
                self.assertAlmostEqual(result.conditional_fps or 0, conditional(result.goal, lower, loads[lower]), 3)

    def test_bounds_and_conditional_throughputs(self) -> None:
        for i, able in draws(1, 60):
            for goal in (STRICT, TOLERANT):
                with self.subTest(able=able, goal=goal):
                    self.check(search.find(Noisy(able, i, 0.3), LIMITS, [goal, PARTIAL]))
            self.check(search.find(Soft(able), LIMITS, [EXACT, PARTIAL]))


# ---- the search on models --------------------------------------------------------------------


class Models(unittest.TestCase):
    def test_step(self) -> None:
        for _, able in draws(2, 200):
            device = Step(able)
            found = search.find(device, LIMITS, [EXACT, PARTIAL])
            ndr, pdr = found.results["NDR"], found.results["PDR"]
            with self.subTest(able=able):
                assert ndr.lower_fps and ndr.upper_fps and pdr.upper_fps and pdr.conditional_fps
                self.assertTrue(ndr.regular)
                self.assertLessEqual(ndr.lower_fps, able + 1)
                self.assertGreater(ndr.upper_fps, able)
                self.assertLessEqual(1 - ndr.lower_fps / ndr.upper_fps, EXACT.width)
                self.assertLessEqual(abs(pdr.conditional_fps / able - 1), PARTIAL.width)
                self.assertLessEqual(len(found.trials), 20)
                self.assertEqual([t.load_fps for t in found.trials], device.loads)
                self.assertTrue(all(LIMITS.min_fps <= load <= LIMITS.max_fps for load in device.loads))
                self.assertFalse(found.starved("NDR"))

    def test_soft(self) -> None:
        for _, able in draws(3, 60):
            found = search.find(Soft(able), LIMITS, [EXACT, PARTIAL])
            pdr = found.results["PDR"]
            with self.subTest(able=able):
                assert pdr.lower_fps and pdr.upper_fps
                # loss is 0.5 % at 1.0707 of able; a trial counts whole frames
                self.assertTrue(pdr.lower_fps <= able * 1.075 + 2 and pdr.upper_fps >= able * 1.065 - 2)
                self.assertLessEqual(len(found.trials), 40)

    def test_noise_is_tolerated(self) -> None:
        """With a fifth of the trials bad, the tolerant goal finds the throughput; the strict one falls below it."""
        near, strict_near = 0, 0
        for i, able in draws(4, 100):
            lower = search.find(Noisy(able, i, 0.2), LIMITS, [TOLERANT]).lower("NDR")
            near += abs(lower / able - 1) <= TOLERANT.width
            strict_near += abs(search.find(Noisy(able, i, 0.2), LIMITS, [STRICT]).lower("NDR") / able - 1) <= STRICT.width
        self.assertGreaterEqual(near, 95)
        self.assertLessEqual(strict_near, 20)

    def test_irregular(self) -> None:
        found = search.find(Step(LIMITS.max_fps * 2), LIMITS, [EXACT])
        self.assertEqual((found.lower("NDR"), found.results["NDR"].upper_fps), (LIMITS.max_fps, None))
        self.assertFalse(found.results["NDR"].regular)
        self.assertTrue(found.starved("NDR"))
        found = search.find(Step(LIMITS.min_fps / 2), LIMITS, [EXACT])
        self.assertEqual((found.results["NDR"].lower_fps, found.results["NDR"].conditional_fps), (None, None))
        self.assertFalse(found.results["NDR"].regular)
        self.assertEqual(found.lower("NDR"), 0)

    def test_generator_is_the_limit(self) -> None:
        found = search.find(Lazy(9e6, 3e6), LIMITS, [EXACT])
        self.assertAlmostEqual(found.lower("NDR") / 3e6, 1, delta=EXACT.width)
        self.assertTrue(found.starved("NDR"))
        self.assertFalse(search.find(Lazy(3e6, 9e6), LIMITS, [EXACT]).starved("NDR"))

    def test_told_loss_is_no_loss(self) -> None:
        self.assertEqual(Trial(1, 1000, 990, 990).loss_ratio, 0)
        self.assertEqual(Trial(1, 1000, 990, 995).loss_ratio, 0)
        self.assertAlmostEqual(Trial(1, 1000, 990, 891).loss_ratio, 0.1)
        self.assertAlmostEqual(Trial(1, 1000, 900, 900, 100).loss_ratio, 0.1)

    def test_too_long(self) -> None:
        with self.assertRaisesRegex(TestbedError, "without a result after 3 trials"):
            search.find(Step(1e5), Limits(1e3, 1e6, 1e-9), [EXACT])

    def test_latency_and_soak(self) -> None:
        device = Step(1e5)
        self.assertEqual([round(t.load_fps) for t in search.latencies(device, 9e4, 1).values()], [9000, 45000, 81000])
        self.assertEqual([t.duration_s for t in search.soak(device, 9e4, 25)], [10, 10, 5])


class Together(unittest.TestCase):
    """Searches that take turns."""

    def devices(self) -> dict[str, Noisy]:
        return {name: Noisy(able, 7, 0.2) for name, able in (("a", 1e5), ("b", 3.3e6), ("c", 7e6))}

    def run_all(self, devices: Mapping[str, search.Device]) -> dict[str, Found]:
        return search.together(devices, dict.fromkeys(devices, LIMITS), dict.fromkeys(devices, [TOLERANT]), 1)

    def test_same_as_alone(self) -> None:
        found = self.run_all(self.devices())
        for name, device in self.devices().items():
            alone = search.find(device, LIMITS, [TOLERANT])
            self.assertEqual((found[name].results, found[name].trials), (alone.results, alone.trials))

    def test_turns(self) -> None:
        devices = self.devices()
        order: list[str] = []
        for name, device in devices.items():
            def measure(duration_s: float, load_fps: float, name: str = name,
                        plain: Measure = device.measure) -> Trial:
                order.append(name)
                return plain(duration_s, load_fps)
            setattr(device, "measure", measure)
        found = self.run_all(devices)
        rounds = min(len(f.trials) for f in found.values())
        for i in range(rounds):
            self.assertEqual(sorted(order[3 * i:3 * i + 3]), ["a", "b", "c"])
        self.assertGreater(len({tuple(order[3 * i:3 * i + 3]) for i in range(rounds)}), 1)

    def test_an_error_ends_all(self) -> None:
        class Broken(Step):
            def measure(self, duration_s: float, load_fps: float) -> Trial:
                if len(self.loads) == 3:
                    raise TestbedError("the generator ended")
                return super().measure(duration_s, load_fps)

        devices = {"a": Broken(1e5), "b": Noisy(1e6, 1, 0.4), "c": Noisy(2e6, 2, 0.4)}
        with self.assertRaisesRegex(TestbedError, "^the generator ended$"):
            self.run_all(devices)
        self.assertLessEqual(max(len(d.loads) for d in devices.values()), 4)


class Library(unittest.TestCase):
    def test_missing(self) -> None:
        with mock.patch.object(search.importlib.metadata, "version", side_effect=ImportError), \
                self.assertRaisesRegex(TestbedError, "MLRsearch 1.2.1 is not installed; scripts/setup --lab"):
            search.find(Step(1e5), LIMITS, [EXACT])

    def test_another_version(self) -> None:
        with mock.patch.object(search.importlib.metadata, "version", return_value="0.4.1"), \
                self.assertRaisesRegex(TestbedError, "is 0.4.1, .* scripts/setup --lab"):
            search.find(Step(1e5), LIMITS, [EXACT])

    def test_the_version_that_setup_installs(self) -> None:
        with open(os.path.join(search.ROOT, "scripts/lab-requirements.txt"), encoding="ascii") as f:
            self.assertIn(f"mlrsearch=={search.VERSION} ", f.read())


# ---- known devices, in virtual time ----------------------------------------------------------


class KnownDevices(unittest.TestCase):
    def test_within_a_thousandth_in_20_trials(self) -> None:
        with Testbed("search") as testbed:
            engine = known.engine_start(testbed, BUILD)
            for name, device in known.KNOWN.items():
                with self.subTest(name):
                    found = known.search(engine, device)
                    for what, error in known.errors(found, device).items():
                        self.assertLessEqual(error, known.ERROR_MAX, what)
                    self.assertLessEqual(len(found.trials), known.TRIALS_MAX)

    def test_latency(self) -> None:
        """At 90 % of its throughput, a frame waits for nothing but its own time on the link, and the delay behind it."""
        with Testbed("search") as testbed:
            engine = known.engine_start(testbed, BUILD)
            device = known.Known("path = rate 100mbit 24 limit 8 delay 3ms\nframe = 60", 148809.5)
            trials = search.latencies(known.VirtualDevice(engine, device, 1), device.ndr_fps, 0.1)
            for trial in trials.values():
                self.assertAlmostEqual(trial.latency_s["min"], 0.003 + 6.72e-6, delta=2e-9)
                self.assertAlmostEqual(trial.latency_s["max"], 0.003 + 6.72e-6, delta=2e-9)


def main() -> None:
    try:
        search.library()
    except search.LibraryMissing as missing:
        print(f"skipped: {missing}")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])


if __name__ == "__main__":
    main()
