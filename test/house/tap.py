# SPDX-License-Identifier: BSD-3-Clause
"""How the tests in Python report: a TAP line for each case, a plan, and an exit status.

A report fails if a case failed, if fewer cases ended than were planned, or if there was none. scripts/stages/cases.py reads it.
"""
from collections.abc import Iterable, Sequence

FINDINGS_SHOWN = 40


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _remarks(lines: Iterable[str]) -> list[str]:
    """No line of these can be taken for a case."""
    return [f"#   {part}" for line in lines for part in line.splitlines() or [""]]


class Report:
    """Prints each case when it ends. planned: how many there are, so that a reader notices if the program dies; None: the plan
    comes last. Cases have numbers from first + 1 on."""

    def __init__(self, planned: int | None = None, first: int = 0) -> None:
        self._planned, self._first = planned, first
        self.passed = self.failed = self.skipped = 0
        if planned is not None:
            print(f"1..{planned}", flush=True)

    @property
    def count(self) -> int:
        """The number of the last case."""
        return self._first + self.passed + self.failed + self.skipped

    def ok(self, name: str, said: Sequence[str] = ()) -> None:
        """said: lines that follow as they are, here and below."""
        self.passed += 1
        print("\n".join([f"ok {self.count} - {name}", *said]), flush=True)

    def fail(self, name: str, problems: Iterable[str], said: Sequence[str] = ()) -> None:
        self.failed += 1
        print("\n".join([f"not ok {self.count} - {name}", *said, *_remarks(problems)]), flush=True)

    def skip(self, name: str, why: str, said: Sequence[str] = ()) -> None:
        self.skipped += 1
        print("\n".join([f"ok {self.count} - {name} # SKIP {_one_line(why)}", *said]), flush=True)

    def case(self, name: str, findings: Sequence[str]) -> None:
        """Has passed if nothing was found. Of many findings, the first ones say enough."""
        if not findings:
            self.ok(name)
            return
        more = len(findings) - FINDINGS_SHOWN
        self.fail(name, [*findings[:FINDINGS_SHOWN], *([f"and {more} more"] if more > 0 else [])])

    def skip_all(self, names: Iterable[str], why: str) -> None:
        for name in names:
            self.skip(name, why)

    def count_others(self, passed: int, failed: int) -> None:
        """Cases that another process has reported, with the numbers that follow."""
        self.passed += passed
        self.failed += failed

    def finish(self) -> int:
        """Prints the plan, unless it stands at the beginning. Returns the exit status."""
        if self._planned is None:
            print(f"1..{self.count}", flush=True)
        ended = self.passed + self.failed + self.skipped
        return 1 if self.failed or ended == 0 or ended < (self._planned or 0) else 0


def skip_program(name: str, why: str) -> int:
    """Reports that a whole program is skipped. Returns the exit status."""
    report = Report(1)
    report.skip(name, why)
    return report.finish()
