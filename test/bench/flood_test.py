#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""What `scripts/bench flood` says of made measurements: one frame that is not counted is a miss, and a transfer below
its grant is one only if it has its grant without the flood."""
import os
import re
import sys
import unittest

sys.dont_write_bytecode = True
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
sys.path.insert(0, os.path.join(ROOT, "scripts/python"))
from bench import flood, paired  # noqa: E402
from bench.flood import FORGERS, STRANGERS, Kind, Turn  # noqa: E402
from bench.results import Results  # noqa: E402

HOLDS, MISSED, ERROR, NOISY = paired.HOLDS, paired.MISSED, paired.ERROR, paired.NOISY
GRANT = 10e9
FULL = {"rx_frames": 1500, "drop_port": 500, **dict.fromkeys(flood.FORGED_COUNTERS, 0)}


def status(alone: float, beside: float, waits: float = 0.0, had_core: float = 1.0) -> int:
    """Of windows around these rates. waits, had_core: of the receiver; of the sender, beside the flood."""
    results = Results("flood")
    results.demand(STRANGERS.goodput)
    results.waits = waits
    turns = {name: [Turn(rate * (1 + 0.001 * (i % 5)), 1e6, core) for i in range(30)]
             for name, rate, core in ((flood.ALONE, alone, 1.0), (flood.BESIDE, beside, had_core))}
    flood.judge(results, STRANGERS, turns, GRANT, flood.BAR)
    return results.status()


def counted(kind: Kind, sent: tuple[int, int], **gained: int) -> dict[str, str]:
    results = Results("flood")
    flood.count(results, kind, sent, {**FULL, **gained})
    return {row["name"]: row["verdict"] for row in results.rows if row["verdict"] is not None}


class Goodput(unittest.TestCase):
    def test_a_transfer_with_its_grant_holds(self) -> None:
        self.assertEqual(status(GRANT, 0.98 * GRANT), HOLDS)

    def test_a_transfer_that_a_flood_slows_misses(self) -> None:
        self.assertEqual(status(GRANT, 0.9 * GRANT), MISSED)

    def test_a_transfer_without_its_grant_even_alone_is_no_miss(self) -> None:
        self.assertEqual(status(0.8 * GRANT, 0.8 * GRANT), NOISY)

    def test_a_receiver_that_lacks_its_core_is_no_miss(self) -> None:
        self.assertEqual(status(GRANT, 0.9 * GRANT, waits=0.2), NOISY)

    def test_what_a_sender_cannot_send_does_not_count(self) -> None:
        self.assertEqual(status(GRANT, 0.88 * GRANT, had_core=0.9), HOLDS)
        self.assertEqual(status(GRANT, 0.8 * GRANT, had_core=0.9), MISSED)
        self.assertEqual(status(GRANT, 0.1 * GRANT, had_core=0.1), MISSED)

    def test_without_windows_there_is_no_verdict(self) -> None:
        results = Results("flood")
        results.demand(STRANGERS.goodput)
        self.assertEqual(results.status(), ERROR)


class Counts(unittest.TestCase):
    def test_every_frame_is_counted(self) -> None:
        self.assertEqual(set(counted(STRANGERS, (1000, 500)).values()), {"holds"})

    def test_one_frame_too_few_or_too_many_is_a_miss(self) -> None:
        for drops in (499, 501):
            rows = counted(STRANGERS, (1000, 500), drop_port=drops)
            self.assertEqual(rows, {STRANGERS.unreceived: "holds", STRANGERS.uncounted: "missed"})
        rows = counted(STRANGERS, (1001, 500))
        self.assertEqual(rows, {STRANGERS.unreceived: "missed", STRANGERS.uncounted: "holds"})

    def test_forgeries_have_counters_of_their_own(self) -> None:
        rows = counted(FORGERS, (1000, 500), drop_port=0, drop_unknown_key=400, drop_wire_short=100)
        self.assertEqual(set(rows.values()), {"holds"})
        rows = counted(FORGERS, (1000, 500), drop_port=0, drop_unknown_key=400, drop_duplicate=100)
        self.assertEqual(rows[FORGERS.uncounted], "missed")

    def test_the_counters_exist(self) -> None:
        with open(os.path.join(ROOT, "doc/counters.md"), encoding="utf-8") as f:
            known = set(re.findall(r"`(drop_\w+)`", f.read()))
        self.assertLessEqual({*FORGERS.counters, *STRANGERS.counters}, known)


if __name__ == "__main__":
    unittest.main()
