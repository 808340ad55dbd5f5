#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The judgements of each bench, on made measurements: without its rows there is no verdict, and bars are missed
where they must be."""
import argparse
import collections
import contextlib
import io
import os
import re
import sys
import time
import unittest
from collections.abc import Collection, Sequence
from typing import Any

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../scripts/python"))
from bench import (  # noqa: E402
    beside, emu, exception, files, idle, memif, pace, paced, paired, paths, roads, share, shares, tcp, whys)
from bench.results import Results  # noqa: E402
from testbed.asked import Asked  # noqa: E402
from testbed.process import Testbed, TestbedError, until  # noqa: E402

HOLDS, MISSED, ERROR, NOISY = paired.HOLDS, paired.MISSED, paired.ERROR, paired.NOISY


def rows(results: Results) -> dict[str, str]:
    """{name: verdict}"""
    return {r["name"]: r["verdict"] for r in results.rows if r["verdict"] is not None}


Span = tuple[float, float]  # (begin, end) in s


class Memif(unittest.TestCase):
    """Which reference counts: testpmd or memcpy."""

    def status(self, testpmd: list[float], copies: list[float], goodputs: list[float], against: str = "lower") -> int:
        r = Results("memif")
        r.demand(memif.GOODPUT)
        memif.judge(r, {"small rings": testpmd, "large rings": testpmd}, copies, goodputs, 0.6, against)
        return r.status()

    def test_a_noisy_testpmd_is_not_the_limit(self) -> None:
        # It happened that 19.6 held against 21, while memcpy had 81 and testpmd reached 280.
        for slow in (15, 18, 21, 27):
            noisy = [21.0] * slow + [280.0] * (30 - slow)
            self.assertNotEqual(self.status(noisy, [81.0] * 30, [19.6] * 30), HOLDS, slow)
        self.assertEqual(self.status([21.0, 280.0] * 15, [81.0] * 30, [19.6] * 30), MISSED)

    def test_a_testpmd_that_is_outrun_is_not_the_limit(self) -> None:
        self.assertEqual(self.status([2.0] * 30, [81.0] * 30, [19.6] * 30), MISSED)

    def test_the_lower_one_is_the_limit(self) -> None:
        self.assertEqual(self.status([107.0] * 30, [54.0] * 30, [62.0] * 30), HOLDS)
        self.assertEqual(self.status([54.0] * 30, [107.0] * 30, [40.0] * 30), HOLDS)
        self.assertEqual(self.status([54.0] * 30, [107.0] * 30, [30.0] * 30), MISSED)

    def test_the_one_that_is_named_is_the_reference(self) -> None:
        self.assertEqual(self.status([107.0] * 30, [54.0] * 30, [62.0] * 30, "testpmd"), MISSED)
        self.assertEqual(self.status([107.0] * 30, [54.0] * 30, [66.0] * 30, "testpmd"), HOLDS)
        self.assertEqual(self.status([60.0] * 30, [140.0] * 30, [50.0] * 30, "memcpy"), MISSED)
        self.assertEqual(self.status([2.0] * 30, [81.0] * 30, [19.6] * 30, "testpmd"), NOISY)

    def test_units_fill_whole_lines(self) -> None:
        self.assertEqual([memif.unit_bytes(mtu) for mtu in (1500, 9000)], [1408, 8896])


class Paths(unittest.TestCase):
    NAMES = ["10M-10us-q1", "1G-1ms-q1"]
    TEXT = "10M-10us-q1   99.00  98.00  1.00  2.00   99.00  1.00  0.970 0.990  holds\n"

    def judged(self, text: str, names: Sequence[str] = NAMES[:1], only: str = "",
               later: Sequence[str] = ()) -> Results:
        """text: the output for the first seed; later: for the seeds after it."""
        r = Results("paths")
        paths.demand(r, names, only, range(1, 2 + len(later)))
        for seed, printed in enumerate((text, *later), 1):
            paths.rows(r, printed, seed)
        return r

    def test_holds_and_misses(self) -> None:
        self.assertEqual(self.judged(self.TEXT).status(), HOLDS)
        self.assertEqual(self.judged(self.TEXT.replace("0.990", "0.940")).status(), MISSED)
        self.assertEqual(self.judged(self.TEXT.replace("99.00  98", "97.00  98")).status(), MISSED)

    def test_a_path_whose_child_crashed_is_an_error(self) -> None:
        r = self.judged(self.TEXT, self.NAMES)
        self.assertEqual(r.status(), ERROR)
        self.assertEqual(len(r.missing()), 3)
        self.assertEqual(self.judged("").status(), ERROR)

    def test_each_seed_counts(self) -> None:
        self.assertEqual(self.judged(self.TEXT, later=[self.TEXT]).status(), HOLDS)
        self.assertEqual(self.judged(self.TEXT, later=[self.TEXT.replace("0.990", "0.940")]).status(), MISSED)
        self.assertEqual(self.judged(self.TEXT, later=[""]).status(), ERROR)

    def test_seeds_are_fresh_unless_told(self) -> None:
        told = argparse.Namespace(seed=7, seeds=3)
        self.assertEqual(list(paths.seeds_of(told)), [7, 8, 9])
        fresh = argparse.Namespace(seed=0, seeds=2)
        self.assertGreater(len({paths.seeds_of(fresh)[0] for _ in range(20)}), 1)
        with self.assertRaises(TestbedError):
            paths.seeds_of(argparse.Namespace(seed=1, seeds=0))

    def test_a_pattern_of_nothing_is_an_error(self) -> None:
        for only in ("nonsense", "["):
            with self.assertRaises(TestbedError):
                self.judged("", self.NAMES, only)


class Roads(unittest.TestCase):
    LISTED = "seed 1\n   0 plain: seed=5 rate_bps=1000000\n   1 loss jitter: seed=6 rate_bps=2000000 loss=0.1\n"
    HOLDS_0 = "   0 holds  plain                            used  99.9 %  queue  0.024 BDP\n"
    HOLDS_1 = "   1 holds  loss jitter                      used  99.9 %  queue  0.024 BDP  Jain 0.990\n"
    MISSES_1 = ("   1 NO     loss jitter                      used  29.1 %  queue  0.420 BDP\n"
                "          used@first 0.2905 (bar 0.8011)  rise@step inf (bar 10)\n"
                "          --replay \"seed=6 rate_bps=2000000 loss=0.1\"\n")
    BROKEN_1 = ("   1 broken loss jitter                      used   0.0 %  queue  0.000 BDP\n"
                "          ended with signal 9\n")

    def judged(self, text: str, listed: str = LISTED) -> Results:
        r = Results("roads")
        roads.demand(r, listed, "")
        roads.rows(r, text)
        return r

    def test_holds_and_misses(self) -> None:
        self.assertEqual(self.judged(self.HOLDS_0 + self.HOLDS_1).status(), HOLDS)
        missed = self.judged(self.HOLDS_0 + self.MISSES_1)
        self.assertEqual(missed.status(), MISSED)
        self.assertEqual(missed.rows[1]["value"], 2)

    def test_a_road_that_does_not_end_is_an_error(self) -> None:
        self.assertEqual(self.judged(self.HOLDS_0).status(), ERROR)
        self.assertEqual(self.judged(self.HOLDS_0 + self.BROKEN_1).status(), ERROR)

    def test_no_road_at_all_is_an_error(self) -> None:
        with self.assertRaises(TestbedError):
            self.judged("", "seed 1\n")

    def test_a_failing_road_is_replayed_by_its_line(self) -> None:
        road = roads.roads_of(self.HOLDS_0 + self.MISSES_1)[1]
        self.assertEqual(road["replay"], "seed=6 rate_bps=2000000 loss=0.1")
        self.assertEqual(road["missed"], [("used@first", "0.2905", "0.8011"), ("rise@step", "inf", "10")])


class Files(unittest.TestCase):
    """Times of transfers and of their references."""

    def judged(self, ours: Sequence[float], reference: Sequence[float] = (1.0,) * 20, link: str = "memif",
               reasons: dict[str, int] | None = None, **seen: Any) -> Results:
        case, r = files.Case(link, "sleep", "busy", "file"), Results("files")
        files.demand(r, [case])
        whys_seen = collections.Counter({"probe": 100} if reasons is None else reasons)
        with contextlib.redirect_stdout(io.StringIO()):
            files.judge(r, case, list(ours), list(reference), files.Seen(whys=whys_seen, **seen))
        return r

    def status(self, ours: Sequence[float], reference: Sequence[float] = (1.0,) * 20, **seen: Any) -> int:
        return self.judged(ours, reference, **seen).status()

    def test_bars(self) -> None:
        self.assertEqual(self.status([0.7] * 20), HOLDS)
        self.assertEqual(self.status([1.3] * 20), MISSED)
        for link, bar in (("memif", 2.0), ("packet", 1.5), ("xdp", 1.5)):
            more: dict[str, Any] = {"packets": 1000, "repeats": 4, "link": link}
            self.assertEqual(self.status([0.7] * 19 + [bar - 0.1], **more), HOLDS, link)
            self.assertEqual(self.status([0.7] * 19 + [bar + 0.1], **more), MISSED, link)

    def test_queue_is_no_reason_on_a_memif(self) -> None:
        self.assertEqual(self.status([0.7] * 20, reasons={"probe": 999, "queue": 1}), MISSED)
        self.assertEqual(self.status([0.7] * 20, reasons={"probe": 999, "queue": 1}, link="xdp"), HOLDS)

    def test_where_nobody_looked_nothing_is_said_of_why(self) -> None:
        self.assertEqual(self.status([0.7] * 20, reasons={}), NOISY)

    def test_units_sent_again_count_on_a_veth(self) -> None:
        self.assertEqual(self.status([0.7] * 20, link="packet", packets=1000, repeats=6), MISSED)
        self.assertEqual(self.status([0.7] * 20, packets=1000, repeats=6), HOLDS)

    def test_a_transfer_that_failed_is_missed(self) -> None:
        self.assertEqual(self.status([0.7] * 20, failed=["status 1"]), MISSED)

    def test_few_runs_may_miss_but_not_hold(self) -> None:
        self.assertEqual(self.status([0.7] * 3, [1.0] * 3), NOISY)
        self.assertNotIn("holds", rows(self.judged([0.7] * 3, [1.0] * 3)).values())
        self.assertEqual(self.status([0.7] * 2 + [2.1], [1.0] * 3), MISSED)
        self.assertEqual(self.status([0.7] * 3, [1.0] * 3, failed=["status 1"]), MISSED)

    def test_the_longest_says_little_where_the_reference_swings(self) -> None:
        swings = [1.0] * 19 + [3.0]
        self.assertEqual(self.status([0.7] * 19 + [5.0], swings), NOISY)
        self.assertEqual(self.status([0.7] * 19 + [6.5], swings), MISSED)

    def test_a_transfer_beyond_the_limit_takes_the_limit(self) -> None:
        seen, args = files.Seen(), argparse.Namespace(limit=0.3)
        case = files.Case("memif", "poll", "quiet", "file")
        with Testbed("test") as testbed, contextlib.redirect_stdout(io.StringIO()):
            for command, took in ((["sleep", "60"], 0.3), (["false"], 0.3), (["true"], None)):
                process = testbed.start("transfer", command)
                seconds, whole = files.timed(case, seen, args, [process], time.monotonic())
                self.assertEqual(whole, took is None)
                self.assertFalse(process.running())
                if took is not None:
                    self.assertEqual(seconds, took)
        self.assertEqual(len(seen.failed), 2)

    def test_names(self) -> None:
        self.assertEqual(len(files.cases("")), 24)
        self.assertEqual([c.name for c in files.cases("xdp-poll-busy-f")], ["xdp-poll-busy-file"])
        for only in ("nonsense", "["):
            with self.assertRaises(TestbedError):
                files.cases(only)


class Why(unittest.TestCase):
    """Reasons of grants, as the demo explains them."""

    def test_each_reason_is_explained(self) -> None:
        root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
        with open(os.path.join(root, "doc", "control.md"), encoding="utf-8") as f:
            known = re.findall(r"^\| \d+ \| `(\w+)` \|", f.read(), re.MULTILINE)
        self.assertGreater(len(known), 10)
        self.assertEqual(sorted(whys.MEANS), sorted(known))

    def test_the_most_frequent_first_and_rare_ones_not(self) -> None:
        w = whys.Whys.__new__(whys.Whys)
        w.seen = collections.Counter(idle=15, queue=80, probe=5)
        w.granted_Bps = collections.Counter(idle=15_000_000_000, queue=80_000_000, probe=5_000_000_000)
        self.assertRegex(w.explain(), r"^queue 80 % \(granted 8 Mb/s; .*\), idle 15 % \(granted 8 Gb/s; [^,]*\)$")
        w.seen.clear()
        self.assertEqual(w.explain(), "was over before anybody looked")


class Share(unittest.TestCase):
    def status(self, large: float, passes: float, small: float = 0.1e6, small_passes: float = 0.02e6) -> int:
        r = Results("share")
        r.demand(share.PASSES, share.GROWTH)
        share.judge(r, {"recompute/1000000": [large] * 30, "three_passes/1000000": [passes] * 30,
                        "recompute/10000": [small] * 30, "three_passes/10000": [small_passes] * 30})
        return r.status()

    def test_bars(self) -> None:
        self.assertEqual(self.status(18e6, 5e6), HOLDS)
        self.assertEqual(self.status(26e6, 5e6), MISSED)
        self.assertEqual(self.status(18e6, 5e6, small=0.05e6), MISSED)

    def test_one_of_the_passes_writes(self) -> None:
        here = os.path.dirname(os.path.abspath(__file__))
        with open(os.path.join(here, "share_bench.cc"), encoding="utf-8") as f:
            text = f.read()
        passes = text[text.index("void three_passes"):text.index("BENCHMARK(three_passes)")]
        self.assertIn("pass < 2", passes)
        self.assertEqual(passes.count("f.grant_Bps ="), 1)
        self.assertEqual(passes.count("for (const share_flow &f"), 1)


class Shares(unittest.TestCase):
    def status(self, parts: Sequence[float]) -> int:
        r = Results("shares")
        r.demand(*(shares.ROW.format("x", i + 1) for i in range(len(parts))))
        shares.judge(r, "x", [{str(i): part for i, part in enumerate(parts)}] * 30, sum(parts))
        return r.status()

    def test_bars(self) -> None:
        self.assertEqual(self.status([1.0, 1.005, 0.995, 1.0]), HOLDS)
        self.assertEqual(self.status([1.0, 1.0, 1.0, 1.1]), MISSED)
        self.assertEqual(self.status([1.0, 1.0, 1.0, 0.9]), MISSED)

    def test_windows(self) -> None:
        looks = [(0.1 * i, {"a": 10.0 * i}) for i in range(150)]
        found = shares.windows(looks, 0.3, 30, ["a"])
        self.assertEqual(len(found), 30)
        self.assertAlmostEqual(found[0]["a"], 100)
        with self.assertRaises(TestbedError):
            shares.windows(looks[:50], 0.3, 30, ["a"])


class Exception_(unittest.TestCase):
    ARGS = argparse.Namespace(link=100.0, capacity=200.0, tcp=20.0)

    def judged(self, alone: float, beside: float, kernel: float) -> int:
        r = Results("exception")
        r.demand(exception.FILLS, exception.KERNEL, exception.LOST)
        exception.judge(r, self.ARGS, *([x * 1e6 / 8] * 30 for x in (alone, beside, kernel)))
        return r.status()

    def test_bars(self) -> None:
        self.assertEqual(self.judged(98, 78, 19), HOLDS)
        self.assertEqual(self.judged(98, 60, 19), MISSED)  # more was lost than iperf3 had

    def test_something_must_contend(self) -> None:
        self.assertEqual(self.judged(50, 50, 19), MISSED)  # the link is not full
        self.assertEqual(self.judged(98, 98, 0.1), MISSED)  # iperf3 sends nothing
        exception.contend(self.ARGS)
        for change in ({"capacity": 90.0}, {"tcp": 0.0}, {"link": 0.0}, {"link": 1000.0}):
            with self.assertRaises(TestbedError):
                exception.contend(argparse.Namespace(**{**vars(self.ARGS), **change}))


class Paced(unittest.TestCase):
    """A capture with one packet per ms; each carries 1 ms of the grant."""
    GRANT, ENVELOPE = 1e6, 0.11e6

    def judged(self, holes: Collection[Span] = (), stalls: Sequence[Span] = (), more: float = 1.0) -> Results:
        """holes: no packet is sent then; stalls: the core is away; more: each packet carries this times its due."""
        times = [i * 1e-3 for i in range(11000) if not any(a < i * 1e-3 < b for a, b in holes)]
        capture = paced.Capture(times, [self.GRANT * 1e-3 * more] * len(times), stalls)
        r = Results("paced")
        r.demand(paced.MEAN, paced.MOST, paced.LEAST, paced.ENVELOPE)
        args = argparse.Namespace(pairs=30, window=0.3)
        paced.judge(r, capture, 0.3, 10.7, self.GRANT, self.ENVELOPE, args)
        return r

    def status(self, holes: Collection[Span] = (), stalls: Sequence[Span] = (), more: float = 1.0) -> int:
        return self.judged(holes, stalls, more).status()

    def setUp(self) -> None:
        # A packet is 1 % of a window here, and two are at its edges.
        self.bar, paced.BAR = paced.BAR, 0.025

    def tearDown(self) -> None:
        paced.BAR = self.bar

    def test_even_packets_hold(self) -> None:
        self.assertEqual(self.status(), HOLDS)

    def test_too_much_is_missed(self) -> None:
        self.assertEqual(self.status(more=1.05), MISSED)

    def test_a_hole_is_missed(self) -> None:
        self.assertEqual(self.status([(5.0, 5.02)]), MISSED)

    def test_a_hole_while_the_core_was_away_holds(self) -> None:
        self.assertEqual(self.status([(5.0, 5.02)], [(5.0, 5.02)]), HOLDS)

    def test_a_short_stall_is_no_excuse_for_a_long_hole(self) -> None:
        self.assertEqual(self.status([(5.0, 5.03)], [(5.01, 5.012)]), MISSED)

    def test_a_core_that_is_mostly_away_says_little(self) -> None:
        stalls = [(i * 0.1, i * 0.1 + 0.03) for i in range(110)]
        holes = [(a, b + 0.005) for a, b in stalls]
        self.assertEqual(rows(self.judged(holes, stalls))[paced.LEAST], "too noisy")

    def test_time_away_is_added_up_once(self) -> None:
        away = paced.Away([(1.0, 2.0), (1.5, 3.0), (5.0, 6.0)])
        self.assertAlmostEqual(away.seconds(0, 10), 3.0)
        self.assertAlmostEqual(away.seconds(2.5, 5.5), 1.0)
        self.assertAlmostEqual(away.seconds(3.0, 5.0), 0.0)
        self.assertAlmostEqual(paced.Away([]).seconds(0, 1), 0.0)


class Idle(unittest.TestCase):
    def status(self, **change: tuple[float, float]) -> int:
        values = {idle.BARE: (1.0, 0.06), "poll": (100.0, 0.06), "pause": (100.0, 0.06),
                  "sleep": (1.0, 0.2), idle.WOKEN: (1.0, 0.09), **change}
        r = Results("idle")
        r.demand(*(what.format(kind) for kind in ("sleep", idle.WOKEN)
                   for what in (idle.CPU, idle.WAIT)))
        idle.judge(r, {kind: [v] * 30 for kind, v in values.items()})
        return r.status()

    def test_bars(self) -> None:
        self.assertEqual(self.status(), HOLDS)
        self.assertEqual(self.status(sleep=(3.0, 0.2)), MISSED)
        self.assertEqual(self.status(sleep=(1.0, 1.5)), MISSED)
        self.assertEqual(self.status(**{idle.WOKEN: (1.0, 0.2)}), MISSED)


class Emu(unittest.TestCase):
    LINK = 6e6

    def judged(self, **change: Any) -> Results:
        values: dict[str, Any] = {"testpmd": 10e6, "wire": 10e6, "impaired": (6e6, 1600000), "late": (300, 4000, 900),
                  "away": 5000, **change}
        by = {(name, frame): [values[name]] * 30 for name in ("testpmd", "wire", "late")
              for frame in emu.FRAMES}
        by |= {("impaired", 60): [values["impaired"]] * 30, ("away", 0): [values["away"]] * 30}
        r = Results("emu")
        emu.demand(r)
        emu.judge(r, by, self.LINK)
        for frame in emu.FRAMES:
            r.exact(emu.EARLY_ROW.format(frame + 4), 1, "ns", 0)
        return r

    def test_bars(self) -> None:
        self.assertEqual(self.judged().status(), HOLDS)
        self.assertEqual(self.judged(wire=7e6).status(), MISSED)
        self.assertEqual(self.judged(impaired=(4e6, 1600000)).status(), MISSED)
        self.assertEqual(self.judged(impaired=(6e6, 600000)).status(), MISSED)
        self.assertEqual(self.judged(late=(800, 4000, 900)).status(), MISSED)
        self.assertEqual(self.judged(late=(300, 9000, 900)).status(), MISSED)

    def test_a_queue_of_a_link_that_is_not_full_says_nothing(self) -> None:
        self.assertEqual(rows(self.judged(impaired=(5.2e6, 1000)))[emu.FLIGHT_ROW], "too noisy")

    def test_what_came_between_two_reports(self) -> None:
        before, after = {"buckets": [[10, 5], [20, 1]]}, {"buckets": [[10, 5], [20, 3], [40, 2]]}
        counts = emu.between(before, after)
        self.assertEqual(counts, {20: 2, 40: 2})
        self.assertEqual(emu.quantile(counts, 0.5), 20)
        self.assertEqual(emu.quantile(counts, 0.99), 40)
        with self.assertRaises(TestbedError):
            emu.quantile({}, 0.5)


class Tcp(unittest.TestCase):
    def judged(self, bps: float = 95e6, rtt_us: float = 70000, again: int = 10, lost: int = 10,
               shortest_us: float = 41000) -> int:
        intervals = [{"sum": {"start": 0.5 * i}, "streams": [{"bits_per_second": bps, "rtt": rtt_us,
                                                               "retransmits": again if i == 0 else 0}]}
                     for i in range(40)]
        report = {"intervals": intervals, "end": {"streams": [{"sender": {"min_rtt": shortest_us}}]}}
        r = Results("tcp")
        r.demand(*(row.format("cubic") for row in (tcp.GOODPUT, tcp.SHORTEST, tcp.LONGEST, tcp.AGAIN)))
        tcp.judge(r, "cubic", report, report, lost, 30)
        return r.status()

    def test_bars(self) -> None:
        self.assertEqual(self.judged(), HOLDS)
        self.assertEqual(self.judged(bps=70e6), MISSED)
        self.assertEqual(self.judged(rtt_us=95000), MISSED)
        self.assertEqual(self.judged(shortest_us=39000), MISSED)
        self.assertEqual(self.judged(again=5), MISSED)

    def test_too_few_windows_are_an_error(self) -> None:
        with self.assertRaises(TestbedError):
            tcp.windows({"intervals": []}, 30, "rtt")


class Beside(unittest.TestCase):
    def status(self, ours: float, theirs: float) -> int:
        r = Results("beside")
        r.demand(beside.BOTH, *(row.format("cubic") for row in (beside.OURS_ROW, beside.THEIRS_ROW)))
        beside.judge_beside(r, "cubic", [ours] * 30, [theirs] * 30)
        return r.status()

    def test_bars(self) -> None:
        self.assertEqual(self.status(0.4, 0.55), HOLDS)
        self.assertEqual(self.status(0.8, 0.15), MISSED)
        self.assertEqual(self.status(0.15, 0.8), MISSED)
        self.assertEqual(self.status(0.4, 0.3), MISSED)


class Pace(unittest.TestCase):
    """Lines as pace_compare prints them, for 1000 flows."""
    TOPS = {"sluice": 170e6, "carousel": 120e6, "eiffel": 110e6, "rte_timer": 9e6, "rte_sched": 7e6,
            "floor": 280e6}
    P99: dict[str, float] = {"sluice": 200, "carousel": 100, "eiffel": 100, "rte_timer": 900, "rte_sched": 60000}
    ENGINES = list(TOPS)

    def status(self, tops: dict[str, float] | None = None, without: Collection[tuple[str, str]] = (),
               interrupted: int = 0, rounds: int = 30, p99: dict[str, float] | None = None) -> int:
        lines: list[dict[str, Any]] = []
        for i in range(1, rounds + 1):
            for engine, pps in {**self.TOPS, **(tops or {})}.items():
                if (engine, "top") not in without:
                    lines.append({"kind": "top", "flows": 1000, "engine": engine, "round": i, "pps": pps,
                                  "slot_tsc": 256, "long_share": 0.0, "away_share": 0.0})
            for engine, ns in {**self.P99, **(p99 or {})}.items():
                if (engine, "gap") not in without:
                    lines.append({"kind": "gap", "flows": 1000, "engine": engine, "round": i, "pps": 3e6,
                                  "p50_ns": ns / 2, "p99_ns": ns, "gaps": 1000, "interrupted": interrupted,
                                  "lost_share": 0.0, "stalls": 0, "trace": []})
            lines.append({"kind": "spin", "flows": 1000, "round": i, "p99_ns": 20, "lost_share": 0.0,
                          "seconds": 1.0, "stalls": 0})
        r = Results("pace")
        pace.demand(r, [1000], self.ENGINES)
        try:
            pace.judge(r, pace.Figures(lines), self.ENGINES)
        except TestbedError:
            return ERROR
        return r.status()

    def test_bars(self) -> None:
        self.assertEqual(self.status(), HOLDS)
        self.assertEqual(self.status({"sluice": 110e6}), MISSED)
        self.assertEqual(self.status({"rte_sched": 9e6}), MISSED)
        self.assertEqual(self.status({"carousel": 70e6}), MISSED)  # the wheel is too slow for a fair comparison
        self.assertEqual(self.status(p99={"sluice": 1000}), MISSED)

    def test_an_absent_engine_is_an_error(self) -> None:
        for engine in self.TOPS:
            self.assertEqual(self.status(without={(engine, "top")}), ERROR, engine)
        for engine in ("sluice", "rte_timer", "rte_sched"):
            self.assertEqual(self.status(without={(engine, "gap")}), ERROR, engine)

    def test_too_few_rounds_say_nothing(self) -> None:
        self.assertEqual(self.status(rounds=29), NOISY)

    def test_gaps_that_are_left_out_count(self) -> None:
        self.assertEqual(self.status(interrupted=20), HOLDS)
        self.assertEqual(self.status(interrupted=200), NOISY)

    def test_the_share_left_out_is_in_the_table(self) -> None:
        r = Results("pace")
        gap = {"kind": "gap", "flows": 1000, "round": 1, "engine": "sluice", "pps": 1e6, "p50_ns": 1,
               "p99_ns": 2, "gaps": 75, "interrupted": 25}
        spin = {"kind": "spin", "flows": 1000, "p99_ns": 1}
        pace.add_gaps(pace.Figures([gap, spin]), 1000, r)
        found = [row for row in r.rows if "gaps left out: sluice" in row["name"]]
        self.assertEqual([row["value"] for row in found], [25.0])

    def test_options(self) -> None:
        for flows, engines in (("nonsense", "sluice"), ("1000", "nonsense")):
            with self.assertRaises(TestbedError):
                pace.numbers(argparse.Namespace(flows=flows, engines=engines))

    def test_nothing_is_cut_from_one_engine_alone(self) -> None:
        here = os.path.dirname(os.path.abspath(__file__))
        with open(os.path.join(here, "pace_run.c"), encoding="utf-8") as f:
            loop = f.read().split("uint64_t pace_run_until")[1].split("\n}\n")[0]
        # Only away(), which asks the kernel, may shorten a turn; it is called for each engine.
        self.assertEqual(loop.count("cost -="), 1)
        self.assertIn("cost -= lost;", loop)
        self.assertNotIn("cost = ", loop.replace("cost = now - last;", ""))
        self.assertLess(loop.index("away(r"), loop.index("real_clock ?"))


class Waiting(unittest.TestCase):
    """A program that ends, or says nothing in time, is an error that shows its last lines."""

    def test_for_an_answer(self) -> None:
        with Testbed("test") as testbed:
            asked = Asked(testbed.start("answers", ["sh", "-c", "echo; echo two; echo last >&2; exit 7"]))
            self.assertEqual([asked.next_answer(), asked.next_answer()], ["", "two"])
            with self.assertRaisesRegex(TestbedError, r"status 7\n(.*\n)*.*last"):
                asked.next_answer()

    def test_for_a_condition(self) -> None:
        with Testbed("test") as testbed:
            process = testbed.start("sleeps", ["sh", "-c", "echo here; exec sleep 60"])
            with self.assertRaisesRegex(TestbedError, r"^a miracle: not within 0.5 s\n.*here$"):
                until(lambda: False, 0.5, "a miracle", process=process)
            self.assertEqual(until(lambda: 5, 0, "a number", process=process), 5)


if __name__ == "__main__":
    unittest.main()
