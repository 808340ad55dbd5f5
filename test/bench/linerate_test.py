#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""bench.linerate on made searches and a made generator: its verdicts, and what it counts as lost."""
import argparse
import contextlib
import os
import random
import sys
import unittest
from collections.abc import Mapping, Sequence
from typing import cast

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../scripts/python"))
from bench import linerate, paired  # noqa: E402
from bench.generator import Offer, Profile  # noqa: E402
from bench.linerate import EACH, IMPAIRED, JITTER, LIMITS, REPEAT, TESTPMD, WIRE, Forwarder, ForwarderDevice, Key  # noqa: E402
from bench.results import Results  # noqa: E402
from bench.search import Found, GoalResult, Trial  # noqa: E402
from testbed import box  # noqa: E402
from testbed.process import Process, TestbedError  # noqa: E402

HOLDS, MISSED, ERROR, NOISY = paired.HOLDS, paired.MISSED, paired.ERROR, paired.NOISY
NDR, PDR = linerate.goals(linerate.TRIAL_S)
KEYS: Sequence[Key] = [(TESTPMD, 64), (TESTPMD, 1518), (WIRE, 64), (WIRE, 1518), (IMPAIRED, 64), (JITTER, 64), (EACH, 64)]


def found(ndr_fps: float | None, starved: bool = False) -> Found:
    """A search with this NDR. starved: the frames that are missing at the upper bound were not sent."""
    upper = ndr_fps * 1.01 if ndr_fps else LIMITS.min_fps
    sent = int(upper)
    lost = Trial(1, upper, sent - 1000, sent - 1000, 1000) if starved else Trial(1, upper, sent, sent - 1000)
    results = {g.name: GoalResult(g, ndr_fps, upper, ndr_fps) for g in (NDR, PDR)}
    return Found(results, [lost], 1.0)


def status(ratios: Mapping[Key, float], noise: float = 0.005, starved: bool = False, repeat: int = REPEAT,
           keys: Sequence[Key] = KEYS) -> Results:
    """The judgement of searches whose NDRs are these parts of testpmd's 5 Mpps."""
    dice = random.Random(1)
    results = Results("linerate")
    linerate.demand(results, KEYS, repeat)
    linerate.judge(results, {key: [found(5e6 * ratios.get(key, 1) * (1 + dice.uniform(-noise, noise)),
                                         starved and key[0] == TESTPMD) for _ in range(repeat)] for key in keys})
    return results


GOOD = {(WIRE, 64): 0.97, (WIRE, 1518): 0.97, (IMPAIRED, 64): 0.7, (JITTER, 64): 0.6, (EACH, 64): 0.6}


class Generators(unittest.TestCase):
    """Two generators on one device."""

    def judged(self, ratio: float, noise: float = 0.002) -> dict[str, str]:
        by_pktgen = (TESTPMD + linerate.BY_PKTGEN, 64)
        results = status({**GOOD, by_pktgen: ratio}, noise, keys=[*KEYS, by_pktgen])
        return {r["name"].split(": ")[1].split(" that")[0]: r["verdict"] for r in results.rows if "that by" in r["name"]}

    def test_they_agree(self) -> None:
        self.assertEqual(self.judged(1.0), {"at least": "holds", "at most": "holds"})

    def test_one_finds_more(self) -> None:
        self.assertEqual(self.judged(1.05), {"at least": "holds", "at most": "missed"})
        self.assertEqual(self.judged(0.95), {"at least": "missed", "at most": "holds"})

    def test_noise_is_told(self) -> None:
        self.assertIn("too noisy", self.judged(1.0, noise=0.2).values())

    def test_what_each_drives(self) -> None:
        names = list(linerate.DEVICES)
        self.assertEqual(linerate.wanted(names, linerate.SLUICE_LOAD), [TESTPMD, *names])
        self.assertNotIn(EACH, linerate.wanted(names, linerate.PKTGEN))
        self.assertEqual(linerate.wanted(names, linerate.BOTH)[-2:], [x + linerate.BY_PKTGEN for x in (TESTPMD, WIRE)])


class Verdicts(unittest.TestCase):
    def test_holds(self) -> None:
        self.assertEqual(status(GOOD).status(), HOLDS)

    def test_each_bar_can_be_missed(self) -> None:
        self.assertEqual(linerate.bars([(linerate.DAEMON, 64)]), {(linerate.DAEMON, 64): None})
        for key, bar in linerate.bars(KEYS).items():
            assert bar is not None, key
            results = status({**GOOD, key: bar - 0.05})
            self.assertEqual(results.status(), MISSED, key)
            self.assertEqual([r["name"] for r in results.rows if r["verdict"] == "missed"],
                             [linerate.NDR_ROW.format(*key)])

    def test_the_bars_of_the_issue(self) -> None:
        self.assertEqual(linerate.bars(KEYS), {(WIRE, 64): 0.9, (WIRE, 1518): 0.9, (IMPAIRED, 64): 0.6,
                                               (JITTER, 64): 0.5, (EACH, 64): 0.5})

    def test_spread(self) -> None:
        results = status(GOOD, noise=0.03)
        verdicts = {r["name"]: r["verdict"] for r in results.rows}
        self.assertEqual(verdicts[linerate.SPREAD_ROW.format(TESTPMD, 64)], "too noisy")
        self.assertEqual(results.status(), NOISY)
        self.assertTrue(all(r["value"] <= 3 for r in status(GOOD).rows if r["name"].startswith("spread")))

    def test_a_noisy_machine(self) -> None:
        self.assertEqual(status(GOOD, noise=0.9).status(), NOISY)

    def test_a_generator_that_is_the_limit_proves_nothing(self) -> None:
        results = status(GOOD, starved=True)
        verdicts = {r["name"]: r["verdict"] for r in results.rows}
        self.assertEqual(verdicts[linerate.NDR_ROW.format(WIRE, 64)], "too noisy")
        # below the bar even then
        self.assertEqual(status({**GOOD, (WIRE, 64): 0.8}, starved=True).status(), MISSED)

    def test_a_device_that_is_missing(self) -> None:
        self.assertEqual(status(GOOD, keys=KEYS[:-1]).status(), ERROR)

    def test_few_rounds_are_not_judged(self) -> None:
        results = status(GOOD, repeat=REPEAT - 1)
        self.assertEqual({r["verdict"] for r in results.rows}, {None})
        self.assertEqual(results.status(), HOLDS)

    def test_no_lower_bound(self) -> None:
        """The NDR is then below the smallest load. Where that is so for all devices, nothing is judged."""
        self.assertEqual(linerate.ndr_of(found(None)), LIMITS.min_fps)
        results = Results("linerate")
        linerate.demand(results, KEYS, REPEAT)
        linerate.judge(results, {key: [found(None)] * REPEAT for key in KEYS})
        self.assertEqual({r["verdict"] for r in results.rows}, {"too noisy"})

    def test_a_device_that_passes_nothing(self) -> None:
        results = Results("linerate")
        linerate.demand(results, KEYS, REPEAT)
        linerate.judge(results, {key: [found(None if key[0] == JITTER else 5e6)] * REPEAT for key in KEYS})
        verdicts = {r["name"]: r["verdict"] for r in results.rows}
        self.assertEqual(verdicts[linerate.NDR_ROW.format(JITTER, 64)], "missed")


# ---- what is counted -------------------------------------------------------------------------


class MadeGenerator:
    """Offers these parts of the load, one after the other, and receives all of it but `lost`."""

    def __init__(self, parts: Sequence[float], lost: int = 0, link_bps: float | None = None) -> None:
        self.parts, self.lost, self.warmed, self.link_bps = list(parts), lost, 0, link_bps

    def warm(self, _profile: Profile, _load_fps: float, _seconds: float, _linger_s: float) -> None:
        self.warmed += 1

    def offer(self, _profile: Profile, load_fps: float, seconds: float, _linger_s: float) -> Offer:
        owed = round(load_fps * seconds)
        offered = round(owed * self.parts.pop(0))
        return Offer(owed, offered, max(offered - self.lost, 0))


class MadeProcess:
    name = "made"

    def tail(self) -> str:
        return ""


class MadeGroup(contextlib.nullcontext[None]):
    processes: Sequence[object] = ()


def device(generator: MadeGenerator, told: Sequence[int] = ()) -> ForwarderDevice:
    counts = iter(told)
    forwarder = Forwarder(cast(paired.Group, MadeGroup()), generator, 0.0, (lambda: next(counts)) if told else None)
    return ForwarderDevice(forwarder, Profile(60))


class Counts(unittest.TestCase):
    def test_a_loss(self) -> None:
        trial = device(MadeGenerator([1.0], lost=5)).measure(1, 1000)
        self.assertEqual((trial.expected, trial.received, trial.unsent), (1000, 995, 0))

    def test_what_the_path_is_told_to_lose(self) -> None:
        self.assertEqual(device(MadeGenerator([1.0], lost=5), told=[100, 105]).measure(1, 1000).loss_ratio, 0)
        self.assertAlmostEqual(device(MadeGenerator([1.0], lost=5), told=[100, 104]).measure(1, 1000).loss_ratio, 1 / 996)

    def test_a_generator_that_was_away(self) -> None:
        generator = MadeGenerator([0.95, 0.97, 0.99])
        trial = device(generator).measure(1, 1000)
        self.assertEqual((trial.expected, trial.unsent, generator.warmed), (990, 0, 3))
        trial = device(MadeGenerator([0.95, 0.95, 0.95])).measure(1, 1000)
        self.assertEqual((trial.expected, trial.unsent), (950, 50))

    def test_a_generator_that_cannot(self) -> None:
        generator = MadeGenerator([0.3])
        trial = device(generator).measure(1, 1000)
        self.assertEqual((trial.expected, trial.unsent, generator.warmed), (300, 700, 1))

    def test_frames_of_the_trial_before(self) -> None:
        with self.assertRaisesRegex(TestbedError, "11 frames more came than were sent: .*linger"):
            device(MadeGenerator([1.0] * 3, lost=-11)).measure(1, 1000)
        generator = MadeGenerator([1.0] * 3, lost=-5)
        self.assertEqual(device(generator).measure(1, 1000).loss_ratio, 0)
        self.assertEqual(generator.warmed, 3)

    def test_a_device_that_forwards_nothing(self) -> None:
        away, dead = [MadeGenerator([1.0] * linerate.AWAKE_TRIES, lost=10**6) for _ in range(2)]
        under_test = device(away)
        self.assertEqual(under_test.measure(1, 1000).loss_ratio, 1)
        away.lost = 0
        under_test.must_forward()
        under_test = device(dead)
        under_test.forwarder.group.processes = [cast(Process, MadeProcess())]
        with self.assertRaisesRegex(TestbedError, "made forwards nothing"):
            under_test.must_forward()

    def test_sizes_count_the_crc(self) -> None:
        devices = linerate.devices({name: device(MadeGenerator([])).forwarder for name in (TESTPMD, WIRE, EACH)}, [64, 1518])
        self.assertEqual(sorted(devices), sorted([(TESTPMD, 64), (TESTPMD, 1518), (WIRE, 64), (WIRE, 1518), (EACH, 64)]))
        self.assertEqual({key: (d.profile.frame_bytes, d.profile.flows) for key, d in devices.items()}[EACH, 64], (60, 1000))

    def test_no_load_is_above_the_generators_link(self) -> None:
        self.assertEqual(linerate.limits_of(device(MadeGenerator([]))), LIMITS)
        limits = linerate.limits_of(device(MadeGenerator([], link_bps=84e6)))  # 64 bytes are 84 on the line
        self.assertEqual((limits.min_fps, limits.max_fps), (LIMITS.min_fps, 125e3))
        self.assertEqual(linerate.limits_of(device(MadeGenerator([], link_bps=1e12))), LIMITS)
        limits = linerate.limits_of(device(MadeGenerator([], link_bps=1e8)))
        self.assertEqual(limits.max_fps, 148809, "nor is it when it is written with fewer digits")


# What sluice-emu's console said.
STATS = """\
forward, net_null0 to net_null1: loss 0.1% rate 1gbit limit 1000 delay 100ms loss 1%
  element                                      in          out    dropped            delay, and longest queue
  loss 0.1%                                 19911        19892         19   0.0954%
  rate 1gbit limit 1000                     19892         4096      15796  79.4088%  371.477 us mean, 510.424 us, 510.424 us 99%; queue 1001
  delay 100ms                                4096            0          0   0.0000%  100 ms mean, 100 ms, 100 ms 99%; queue 4096
  loss 1%                                       0            0          2   0.0000%
  box                                      155904            0     135993            held 4096; beyond --packets 135993
reverse, net_null1 to net_null0: loss 5%
  element                                      in          out    dropped            delay, and longest queue
  loss 5%                                  156096       156032         64   0.0410%
  box                                      156096       156032          0            held 0; late 211 ns, 1.698 us 99%
"""


class Console(unittest.TestCase):
    def test_drops(self) -> None:
        forward = box.stats_forward("sluice-emu: ready\n" + STATS)
        self.assertEqual(box.stats_dropped(forward, "loss"), 21)
        self.assertEqual(box.stats_dropped(forward, "rate"), 15796)
        with self.assertRaisesRegex(TestbedError, "no element police forward"):
            box.stats_dropped(forward, "police")

    def test_not_yet_all(self) -> None:
        for cut in range(len(STATS)):
            self.assertEqual(box.stats_forward(STATS[:cut]), "", cut)


class Options(unittest.TestCase):
    def options(self, *words: str) -> argparse.Namespace:
        parser = argparse.ArgumentParser()
        linerate.options(parser)
        return parser.parse_args(words)

    def test_right(self) -> None:
        for line in ("", "--sizes 2048", "--sizes 64,9000", "--sizes 9000 --only sluiced",
                     "--only wire|sluiced --sizes 9000"):
            linerate.check_options(self.options(*line.split()))
        self.assertEqual(linerate.sizes_of("1518,64"), [64, 1518])
        self.assertEqual(linerate.sizes_of("all"), list(linerate.SIZES))

    def test_wrong(self) -> None:
        for words in (["--repeat", "0"], ["--trial", "0.001"], ["--soak", "-1"], ["--only", "wires"],
                      ["--sizes", "2049"]):
            with self.subTest(words), self.assertRaisesRegex(TestbedError, words[0]):
                linerate.check_options(self.options(*words))
        for text in ("", "60", "64,x", "9300"):
            with self.subTest(text), self.assertRaisesRegex(TestbedError, "--sizes"):
                linerate.sizes_of(text)


if __name__ == "__main__":
    unittest.main()
