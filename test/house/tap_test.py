#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""What tap.py reports is what scripts/stages/cases.py counts, and no other program here prints TAP by itself."""
import contextlib
import glob
import io
import os
import re
import sys
import unittest
from collections.abc import Callable

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(ROOT, "scripts", "stages"))
import cases  # noqa: E402
import tap  # noqa: E402

OWN_TAP = r"print\(.*(\b(not )?ok \{|\bok \d+ - |1\.\.[{\d])"  # a line of code that prints a case or a plan


def reported(work: Callable[[tap.Report], None], planned: int | None = None, first: int = 0) -> tuple[int, str]:
    """(exit status, text)"""
    with contextlib.redirect_stdout(io.StringIO()) as text:
        report = tap.Report(planned, first)
        work(report)
        status = report.finish()
    return status, text.getvalue()


def mixed(report: tap.Report) -> None:
    report.ok("one", ["noise"])
    report.skip("two", "needs root,\nand a device\n", ["noise"])
    report.fail("three", ["not ok 7 - a quotation\nok 8 - another"], ["noise"])
    report.case("four", [])
    report.case("five", [f"finding {i}" for i in range(60)])


class Report(unittest.TestCase):
    def test_counts(self) -> None:
        for planned in (5, None):
            status, text = reported(mixed, planned)
            self.assertEqual((status, cases.count_tap(text)), (1, (2, 2, 1)), text)
            self.assertEqual(cases.tap_skips(text), [("two", "needs root, and a device")])
            self.assertEqual(re.findall(r"(?m)^(?:not )?ok (\d+)", text), list("12345"))
            self.assertEqual(len(re.findall(r"(?m)^1\.\.5$", text)), 1)
            self.assertEqual(text.startswith("1..5"), planned is not None)

    def test_remarks(self) -> None:
        text = reported(mixed)[1]
        self.assertIn("not ok 3 - three\nnoise\n#   not ok 7 - a quotation\n#   ok 8 - another\n", text)
        self.assertIn("#   finding 39\n#   and 20 more\n", text)

    def test_status(self) -> None:
        for what, work, planned, status in (("passed", lambda r: r.ok("one"), 1, 0),
                                            ("passed, without a plan", lambda r: r.ok("one"), None, 0),
                                            ("skipped", lambda r: r.skip_all(("one", "two"), "why"), 2, 0),
                                            ("failed", lambda r: r.fail("one", []), 1, 1),
                                            ("one is missing", lambda r: r.ok("one"), 2, 1),
                                            ("none", lambda r: None, None, 1)):
            with self.subTest(what):
                self.assertEqual(reported(work, planned)[0], status)

    def test_skipped_program(self) -> None:
        with contextlib.redirect_stdout(io.StringIO()) as text:
            self.assertEqual(tap.skip_program("all", "needs root"), 0)
        self.assertEqual((cases.count_tap(text.getvalue()), cases.tap_skips(text.getvalue())), ((0, 0, 1), [("all", "needs root")]))

    def test_cases_of_others(self) -> None:
        for failed in (0, 1):
            def work(report: tap.Report, failed: int = failed) -> None:
                report.count_others(2, failed)
                report.ok("last")

            status, text = reported(work)
            self.assertEqual((status, text), (failed, f"ok {3 + failed} - last\n1..{3 + failed}\n"))

    def test_numbers_go_on(self) -> None:
        self.assertEqual(reported(lambda r: r.ok("one"), first=3), (0, "ok 4 - one\n1..4\n"))


class Sources(unittest.TestCase):
    def test_no_other_prints_tap(self) -> None:
        files = [path for folder in ("test", "scripts") for path in glob.glob(f"{ROOT}/{folder}/**/*.py", recursive=True)]
        self.assertGreater(len(files), 50)
        self.assertRegex('print(f"not ok {number} - {name}")', OWN_TAP)
        for path in files:
            with self.subTest(os.path.relpath(path, ROOT)), open(path, encoding="utf-8") as f:
                lines = [line.strip() for line in f if not line.startswith("TAP_")]  # those of stages_test.py
                if os.path.dirname(path) != HERE or os.path.basename(path) not in ("tap.py", "tap_test.py"):
                    self.assertEqual([line for line in lines if re.search(OWN_TAP, line)], [])


if __name__ == "__main__":
    unittest.main()
