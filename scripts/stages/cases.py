#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Counts test cases, shows what failed, and says what was skipped and why.

Usage: cases.py meson FILE   from a log of `meson test`, BUILD_DIR/meson-logs/testlog.json for one
       cases.py tap FILE     from the TAP lines of a file

Prints "passed failed skipped" on stdout, then a line "case<TAB>reason" for each case that was skipped;
the output of what failed goes to stderr. A GoogleTest program counts as its cases, a TAP program as its
lines, any other as one.
"""
import json
import re
import sys

LINES_SHOWN = 60
CASES_SHOWN = 4


def tap_skips(text):
    """[(case, reason)]"""
    return re.findall(r"^ok\b[ \d-]*(.*?) *# SKIP *([^\n]*)", text, re.MULTILINE)


def count_tap(text):
    """(passed, failed, skipped), or None if this is no TAP."""
    cases = re.findall(r"^(not ok|ok)\b", text, re.MULTILINE)
    plan = re.search(r"^1\.\.(\d+)", text, re.MULTILINE)
    if not cases or not plan:
        return None
    skipped = len(tap_skips(text))
    failed = cases.count("not ok")
    missing = max(0, int(plan.group(1)) - len(cases))
    return len(cases) - failed - skipped, failed + missing, skipped


def gtest_skips(text):
    """[(case, reason)]: what it said since it began, without the place in the source."""
    found = []
    for name, said in re.findall(r"^\[ RUN      \] (\S+)\n((?:(?!\[ RUN)[^\n]*\n)*?)\[  SKIPPED \] \S+ \(", text, re.MULTILINE):
        lines = [x for x in said.splitlines() if x.strip() and not re.search(r":\d+: Skipped$", x)]
        found.append((name, " ".join(lines)))
    return found


def count_gtest(text):
    """The same for GoogleTest; a case that began and did not end has failed."""
    begun = len(re.findall(r"^\[ RUN      \] ", text, re.MULTILINE))
    if begun == 0:
        return None
    passed = len(re.findall(r"^\[       OK \] ", text, re.MULTILINE))
    skipped = len(gtest_skips(text))
    return passed, begun - passed - skipped, skipped


def gtest_failures(text):
    """What was said in each case that failed, or did not end."""
    said = re.split(r"^(?=\[ RUN      \] )", text, flags=re.MULTILINE)[1:]
    return [x for x in said if not re.search(r"^\[(       OK|  SKIPPED) \] ", x, re.MULTILINE)]


def show_failure(name, text, out=sys.stderr):
    """The ends of the first cases that failed: a program may say much after them. Else the end of all."""
    print(f"---- {name}", file=out)
    for said in gtest_failures(text)[:CASES_SHOWN] or [text]:
        lines = [x for x in said.splitlines() if not x.startswith(("[       OK", "ok "))]
        for line in lines[-LINES_SHOWN:]:
            print(f"     {line}", file=out)


def count_test(test):
    """(counts, skips) of one entry of meson's log."""
    text = test.get("stdout", "")
    counts = count_gtest(text) or count_tap(text) or (0, 0, 0)
    skips = gtest_skips(text) + tap_skips(text)
    passed, failed, skipped = counts
    result = test["result"]
    if result in ("SKIP", "IGNORED"):
        if sum(counts):
            return counts, skips
        return (0, 0, 1), [(test["name"], (text.strip().splitlines() or ["does not say why"])[-1])]
    if result in ("OK", "EXPECTEDFAIL"):
        return (counts if sum(counts) else (1, 0, 0)), skips
    # Timeouts, signals, leaks found at exit: not the fault of one case.
    return (passed, max(failed, 1), skipped), skips


def meson(path):
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


def tap(path):
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


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in ("meson", "tap"):
        sys.exit(__doc__)
    counts, skips = (meson if sys.argv[1] == "meson" else tap)(sys.argv[2])
    print(*counts)
    for name, why in skips:
        print(f"{name}\t{why or 'does not say why'}")


if __name__ == "__main__":
    main()
