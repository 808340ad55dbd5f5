#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Counts test cases, shows the output of those that failed, and lists those that were skipped, with the reason.

Usage: cases.py meson FILE   FILE: a log of `meson test`, such as BUILD_DIR/meson-logs/testlog.json
       cases.py tap FILE     FILE: TAP lines

The first line of stdout is "passed failed skipped". A line "case<TAB>reason" follows for each case that was
skipped. The output of cases that failed goes to stderr. A GoogleTest program counts as its cases, a TAP
program as its lines, any other program as one case.
"""
import json
import re
import sys
from collections.abc import Sequence
from typing import Any, TextIO

LINES_SHOWN = 60
CASES_SHOWN = 4

Counts = tuple[int, int, int]  # passed, failed, skipped
Skip = tuple[str, str]  # case, reason


def tap_skips(text: str) -> list[Skip]:
    return re.findall(r"^ok\b[ \d-]*(.*?) *# SKIP *([^\n]*)", text, re.MULTILINE)


def count_tap(text: str) -> Counts | None:
    """None: the text is no TAP."""
    cases = re.findall(r"^(not ok|ok)\b", text, re.MULTILINE)
    plan = re.search(r"^1\.\.(\d+)", text, re.MULTILINE)
    if not cases or not plan:
        return None
    skipped = len(tap_skips(text))
    failed = cases.count("not ok")
    missing = max(0, int(plan.group(1)) - len(cases))
    return len(cases) - failed - skipped, failed + missing, skipped


def gtest_skips(text: str) -> list[Skip]:
    """The reason is the output of the case, without the place in the source."""
    found = []
    for name, said in re.findall(r"^\[ RUN      \] (\S+)\n((?:(?!\[ RUN)[^\n]*\n)*?)\[  SKIPPED \] \S+ \(", text,
                                 re.MULTILINE):
        lines = [x for x in said.splitlines() if x.strip() and not re.search(r":\d+: Skipped$", x)]
        found.append((name, " ".join(lines)))
    return found


def count_gtest(text: str) -> Counts | None:
    """None: the text is not GoogleTest's. A case that began and did not end has failed."""
    begun = len(re.findall(r"^\[ RUN      \] ", text, re.MULTILINE))
    if begun == 0:
        return None
    passed = len(re.findall(r"^\[       OK \] ", text, re.MULTILINE))
    skipped = len(gtest_skips(text))
    return passed, begun - passed - skipped, skipped


def gtest_failures(text: str) -> list[str]:
    """The output of each case that failed, or did not end."""
    said = re.split(r"^(?=\[ RUN      \] )", text, flags=re.MULTILINE)[1:]
    return [x for x in said if not re.search(r"^\[(       OK|  SKIPPED) \] ", x, re.MULTILINE)]


def show_failure(name: str, text: str, out: TextIO = sys.stderr) -> None:
    """Shows the ends of the first cases that failed, since a program may print much after them. If no case
    failed, shows the end of what it printed besides the names of cases."""
    print(f"---- {name}", file=out)
    failures = gtest_failures(text)
    of_no_use = ("[       OK", "ok ") if failures else ("[ RUN", "[       OK", "[----", "[====", "ok ")
    for said in failures[:CASES_SHOWN] or [text]:
        lines = [x for x in said.splitlines() if x.strip() and not x.startswith(of_no_use)]
        for line in lines[-LINES_SHOWN:]:
            print(f"     {line}", file=out)


def count_test(test: dict[str, Any]) -> tuple[Counts, list[Skip]]:
    """test: one entry of meson's log."""
    text = test.get("stdout", "")
    counts = count_gtest(text) or count_tap(text) or (0, 0, 0)
    skips = gtest_skips(text) + tap_skips(text)
    passed, failed, skipped = counts
    result = test["result"]
    if result in ("SKIP", "IGNORED"):
        if sum(counts):
            return counts, skips
        return (0, 0, 1), [(test["name"], (text.strip().splitlines() or ["it gives no reason"])[-1])]
    if result in ("OK", "EXPECTEDFAIL"):
        return (counts if sum(counts) else (1, 0, 0)), skips
    # A timeout, a signal, or a leak found at exit: no case failed, but the program did.
    return (passed, max(failed, 1), skipped), skips


def meson(path: str) -> tuple[Sequence[int], list[Skip]]:
    total, skips = [0, 0, 0], []
    with open(path, encoding="utf-8") as f:
        for line in f:
            test = json.loads(line)
            counts, more = count_test(test)
            total = [a + b for a, b in zip(total, counts)]
            skips += more
            if counts[1]:
                text = test.get("stdout", "")
                if not gtest_failures(text):
                    text += "\n" + test.get("stderr", "")
                show_failure(f"{test['name']} ({test['result']})", text)
    return total, skips


def tap(path: str) -> tuple[Sequence[int], list[Skip]]:
    with open(path, encoding="utf-8", errors="replace") as f:
        text = f.read()
    counts = count_tap(text)
    if counts is None:
        show_failure(path, text)
        return (0, 1, 0), []
    show = False
    for line in text.splitlines():
        if re.match(r"(not )?ok\b", line):
            show = line.startswith("not ok")
        if show:
            print(f"     {line}", file=sys.stderr)
    return counts, tap_skips(text)


def main() -> None:
    if len(sys.argv) != 3 or sys.argv[1] not in ("meson", "tap"):
        sys.exit(__doc__)
    counts, skips = (meson if sys.argv[1] == "meson" else tap)(sys.argv[2])
    print(*counts)
    for name, why in skips:
        print(f"{name}\t{why or 'it gives no reason'}")


if __name__ == "__main__":
    main()
