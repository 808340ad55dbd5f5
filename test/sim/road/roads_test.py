#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The program `roads`: a seed gives the same roads and results with any number of processes; a printed line
replays its road; a fault of path control makes a road fail by the bar that it breaks; wrong lines are
rejected. scripts/bench roads judges how many roads hold.

Usage: roads_test.py ROADS ROADS_WITH_FAULTS
"""
import os
import re
import subprocess
import sys
import unittest

FEW = ["--count", "10", "--seed", "7", "--packets", "60000"]
CALM = "rate_bps=100000000 rtt_ns=10000000 queue_bytes=125000"
TWO = "rate_bps=20000000 rtt_ns=5000000 queue_bytes=12500 flows=2"


def run(program: str, *args: str, fault: str | None = None) -> tuple[int, str, str]:
    """(status, standard output, standard error)"""
    env = {**os.environ, **({"ROADS_FAULT": fault} if fault else {})}
    done = subprocess.run([program, *args], env=env, text=True, capture_output=True, check=False)
    return done.returncode, done.stdout, done.stderr


def match(pattern: str, text: str) -> re.Match[str]:
    found = re.match(pattern, text)
    assert found is not None, text
    return found


def bars(text: str) -> tuple[str, list[str]]:
    """The verdict of the first road, and the bars that it missed."""
    lines = text.splitlines()
    verdict = match(r"\s*\d+ (\S+)", lines[1]).group(1)
    return verdict, re.findall(r"(\w[\w-]*)(?:@\w+)? \S+ \(bar", lines[2]) if verdict == "NO" else []


class Roads(unittest.TestCase):
    few: tuple[int, str, str]

    @classmethod
    def setUpClass(cls) -> None:
        cls.few = run(ROADS, *FEW, "--jobs", "1")

    def test_a_seed_gives_the_same_however_many_processes(self) -> None:
        status, text, _ = self.few
        self.assertIn(status, (0, 1), text)
        self.assertEqual((status, text), run(ROADS, *FEW, "--jobs", "3")[:2])
        self.assertIn("10 roads,", text)
        self.assertNotEqual(text, run(ROADS, *FEW[:3], "8", *FEW[4:], "--list")[1])

    def test_a_printed_line_replays_its_road(self) -> None:
        listed = run(ROADS, *FEW, "--list")[1].splitlines()[1:]
        self.assertEqual(len(listed), 10)
        number, line = next((match(r"\s*(\d+)", one).group(1), one.split(": ", 1)[1])
                            for one in listed if "jitter" in one)
        drawn = next(one for one in self.few[1].splitlines() if re.match(rf"\s*{number} (holds|NO)", one))
        again = run(ROADS, "--packets", "60000", "--replay", line)[1].splitlines()[1]
        self.assertEqual(drawn.split(None, 1)[1], again.split(None, 1)[1])

    def test_without_a_fault_calm_roads_hold(self) -> None:
        for line in (CALM, TWO):
            status, text, _ = run(PLANTED, "--replay", line)
            self.assertEqual((status, bars(text)), (0, ("holds", [])), text)

    def test_each_fault_fails_by_its_bar(self) -> None:
        for fault, line, bar in (("low", CALM, "used"), ("greedy", CALM, "queue"), ("unfair", TWO, "Jain")):
            with self.subTest(fault):
                status, text, _ = run(PLANTED, "--replay", line, fault=fault)
                self.assertEqual(status, 1, text)
                self.assertIn(bar, bars(text)[1], text)
                self.assertIn(f'--replay "seed=1 {line}"', text)

    def test_wrong_lines_are_told(self) -> None:
        for line, complaint in (("rate=5", '"rate=5" is no NAME=VALUE'), ("mtu=fast", "no number"),
                                ("loss=2", "not within 0 and 0.5"), ("flows=2 late=2", "late=2"),
                                ("jitter_ns=9e6", "one way's delay"), ("stall_rx_ns=5", "a stall has a gap")):
            with self.subTest(line):
                status, _, error = run(ROADS, "--replay", line)
                self.assertEqual(status, 2)
                self.assertIn(complaint, error)
        self.assertEqual(run(ROADS, "--count", "0")[0], 2)
        self.assertEqual(run(ROADS, "--only", "nothing-is-called-so")[0], 2)

    def test_a_trace_has_each_sample_of_each_flow(self) -> None:
        path = os.path.join(os.environ.get("TMPDIR", "/tmp"), f"roads-test-{os.getpid()}.csv")
        try:
            run(ROADS, "--replay", TWO, "--trace", path)
            with open(path, encoding="ascii") as f:
                lines = f.read().splitlines()
        finally:
            os.unlink(path)
        self.assertEqual(lines[0].split(",")[0], "at_ms")
        rows = [line.split(",") for line in lines[1:]]
        self.assertEqual([row[5] for row in rows], ["0", "1"] * (len(rows) // 2))
        self.assertGreater(len(rows), 1000)
        self.assertEqual({row[1] for row in rows}, {"20000000"})


if __name__ == "__main__":
    ROADS, PLANTED = sys.argv[1:3]
    unittest.main(argv=[sys.argv[0]] + sys.argv[3:])
