#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The scripts of config/pktgen, on a Pktgen without packets (pktgen_fake.lua) that has either of its Lua APIs."""
import csv
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
from collections.abc import Mapping
from types import SimpleNamespace

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../../scripts/python"))
from bench import generator, paired, pktgen  # noqa: E402
from testbed.process import TestbedError  # noqa: E402

SCRIPTS = os.path.join(HERE, "../../config/pktgen")
FAKE = os.path.join(HERE, "pktgen_fake.lua")
LUA = shutil.which("lua5.3")
APIS = ("old", "new")
CAPACITY_PPS = 1e6


@unittest.skipIf(LUA is None, "no lua5.3; install it with scripts/setup")
class Scripts(unittest.TestCase):
    def setUp(self) -> None:
        self.dir = self.enterContext(tempfile.TemporaryDirectory())
        self.out = os.path.join(self.dir, "out")

    def play(self, api: str, script: str, env: Mapping[str, str]) -> tuple[str, str]:
        """Returns (what the script wrote to its results, its messages)."""
        assert LUA is not None
        done = subprocess.run([LUA, FAKE, api, os.path.join(SCRIPTS, script), str(CAPACITY_PPS)],
                              env={**os.environ, "OUT": self.out, **env}, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(self.out, encoding="utf-8") as f:
            return f.read(), done.stderr

    def rows(self, api: str, script: str, env: Mapping[str, str]) -> list[dict[str, str]]:
        text, said = self.play(api, script, env)
        self.assertEqual(said, "")
        return list(csv.DictReader(io.StringIO(text)))

    def test_sweep_ends_at_the_capacity(self) -> None:
        for api in APIS:
            rows = self.rows(api, "sweep.lua", {"SIZES": "64,512", "FROM": "4e5", "STEP": "2", "SECONDS": "1"})
            self.assertEqual([(r["size_bytes"], r["asked_pps"]) for r in rows],
                             [(size, pps) for size in ("64", "512") for pps in ("400000", "800000", "1600000")])
            for row in rows:
                sent = int(row["asked_pps"])
                self.assertEqual(int(row["sent"]), sent)
                self.assertAlmostEqual(int(row["lost"]) / sent, max(0, 1 - CAPACITY_PPS / sent), 2)

    def test_sweep_of_two_ports(self) -> None:
        rows = self.rows("old", "sweep.lua", {"SIZES": "64", "FROM": "5e5", "STEP": "1e3", "RX": "1", "FAKE_PEER": "1"})
        self.assertEqual([(r["sent"], r["lost"]) for r in rows], [("1000000", "0")])

    def test_sweep_of_a_mix_has_its_mean_size(self) -> None:
        for api in APIS:
            row = self.rows(api, "sweep.lua", {"MIX": "imix", "FROM": "5e5", "STEP": "1e3"})[0]
            self.assertEqual(row["size_bytes"], "362")  # (7 * 64 + 4 * 594 + 1518) / 12
            _, said = self.play(api, "sweep.lua", {"MIX": "imix", "FROM": "5e5", "STEP": "1e3", "FAKE_SIZES": "1"})
            self.assertEqual(sorted(map(int, said.split())), [64] * 7 + [594] * 4 + [1518])

    def test_latency(self) -> None:
        rows = self.rows("old", "latency.lua", {"LOADS": "1e5,5e5", "SECONDS": "1"})
        self.assertEqual([(r["sent"], r["stamped"], r["min_us"], r["max_us"]) for r in rows],
                         [("100000", "7", "1.50", "9.25"), ("500000", "7", "1.50", "9.25")])
        text, said = self.play("new", "latency.lua", {})
        self.assertIn("23.03 to 25.08 do", said)
        self.assertIn("error: ", text)

    def test_strangers_need_an_address(self) -> None:
        text, said = self.play("old", "strangers.lua", {})
        self.assertIn("set DST_MAC and DST_IP", said)
        self.assertIn("error: ", text)
        host = {"DST_MAC": "02:00:00:00:00:01", "DST_IP": "10.0.0.2", "PPS": "1e5", "SECONDS": "2"}
        for api in APIS:
            self.assertEqual(self.rows(api, "strangers.lua", host)[0]["sent"], "200000")

    def test_bad_settings_are_named(self) -> None:
        for env, message in (({"STEP": "x"}, "STEP=x is not a number"), ({"STEP": "1"}, "STEP=1"),
                             ({"SIZES": "64,y"}, "y is not a number"), ({"MIX": "all"}, "MIX=all")):
            text, said = self.play("old", "sweep.lua", env)
            self.assertIn(message, said)
            self.assertIn(message, text)

    def serve(self, api: str, lines: str) -> list[dict[str, object]]:
        path = os.path.join(self.dir, "in")
        with open(path, "w", encoding="utf-8") as f:
            f.write(lines)
        text, said = self.play(api, "serve.lua", {"SLUICE_PKTGEN_IN": path, "SLUICE_PKTGEN_OUT": self.out})
        self.assertEqual(said, "")
        return [json.loads(line) for line in text.splitlines()]

    def test_serve(self) -> None:
        for api in APIS:
            ready, first, second = self.serve(api, "size=64 pps=777777 seconds=1\nsize=1518 pps=2e6 seconds=0.5\n")
            self.assertEqual((ready["ready"], ready["link_bps"]), (True, 100000000000))
            self.assertEqual((first["size"], first["sent"], first["received"]), (64, 777777, 777777))
            # A step is one cycle of a burst.
            self.assertAlmostEqual(float(str(first["set_pps"])) / 777777, 1, 4)
            self.assertEqual(second["sent"], 1000000)
            self.assertAlmostEqual(int(str(second["received"])) / 500000, 1, 2)

    def test_serve_says_what_it_cannot_use(self) -> None:
        _, *answers = self.serve("old", 'size=x\nspeed=1\nsize=20\npps=1e9\nseconds="\nsize=64 pps=1000 seconds=1\n')
        self.assertEqual(len(answers), 6)
        for answer, message in zip(answers, ("size=x", "speed=1", "size=20", "of its link", "seconds='")):
            self.assertIn(message, str(answer["error"]))
        self.assertEqual(answers[-1]["sent"], 1000)


def offered(seconds: float, sent: int, received: int, flows: int = 1) -> generator.Offer:
    """What a search is told of a window of 1e6 frames a second for half a second that took so long."""
    window = pktgen.Window(seconds, 1e6, 1e6, sent, received, 0, 0)
    signals: list[int] = []
    driven = pktgen.PktgenGenerator.__new__(pktgen.PktgenGenerator)
    process = SimpleNamespace(signal=signals.append, running=lambda: True)
    driven.pktgen = SimpleNamespace(window=lambda *_: window)  # type: ignore
    driven.group = paired.Group(SimpleNamespace(undo=lambda _: None), [process], 0)  # type: ignore
    signals.clear()
    driven.beside_s = 0.1
    offer = driven.offer(generator.Profile(60, flows), 1e6, 0.5, 0)
    assert signals == [signal.SIGCONT, signal.SIGSTOP], "it runs in its windows only"
    return offer


class Offers(unittest.TestCase):
    def test_a_load_that_was_reached(self) -> None:
        for seconds in (0.55, 0.6, 0.61):  # the clock has ticks
            offer = offered(seconds, 500000, 499000)
            self.assertEqual((offer.owed, offer.offered, offer.received), (500000, 500000, 499000))

    def test_a_window_that_took_too_long_had_a_lower_load(self) -> None:
        offer = offered(1.11, 500000, 500000)
        self.assertAlmostEqual(offer.owed, 1000000, -1)
        self.assertEqual(offer.offered, 500000)

    def test_flows_are_refused(self) -> None:
        with self.assertRaisesRegex(TestbedError, "one flow"):
            offered(0.6, 1, 1, flows=1000)

    def test_answers(self) -> None:
        line = '{"size": 64, "seconds": 1.5, "requested_pps": 1, "set_pps": 1, "sent": 2, "received": 1, "missed": 0, "errors": 0}'
        self.assertEqual(pktgen.window_parse(line).received, 1)
        with self.assertRaisesRegex(TestbedError, "pktgen: port 0: down"):
            pktgen.window_parse('{"error": "port 0: down"}')
        for wrong in ("", "{}", "[1]", "ready"):
            with self.assertRaisesRegex(TestbedError, "no window"):
                pktgen.window_parse(wrong)


if __name__ == "__main__":
    unittest.main()
