#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compares doc/conformance.md with section 11 of doc/protocol.md and with the tests that it names.

Each sentence of the section that demands something is quoted by a row, each quotation is in the section, and each
test exists. Writes TAP."""
from __future__ import annotations

import glob
import os
import re
import sys

import tap

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DEMANDS = (r"\b(must|drops|dropped|never|ignores?|ignored|exactly|no host|not taken|no effect|not 0|differs|cannot|"
           r"replaces only|only when|wipes)\b")
HEADINGS = ("## 11. Security", "### Without keys")  # the section, without what holds where there are no keys


def read(path: str) -> str:
    with open(os.path.join(ROOT, path), encoding="utf-8") as f:
        return f.read()


def section() -> str:
    text = read("doc/protocol.md")
    return text[text.index(HEADINGS[0]):text.index(HEADINGS[1])]


def joined(text: str) -> str:
    return " ".join(text.split())


def sentences(text: str) -> list[str]:
    """Sentences of paragraphs and lists; rows of tables."""
    found: list[str] = []
    for block in re.split(r"\n\n+|\n(?=[-|] )", text):
        if block.startswith("|"):
            found.append(block)
        else:
            found += re.split(r"(?<=[.;]) (?=[A-Z`])", joined(block.removeprefix("- ")))
    return found


def rows(page: str) -> list[tuple[str, str, str]]:
    """(number, quotation, the tests' cell) of each row."""
    return re.findall(r'^\| (\d+) \| "(.*)" \| (.*) \|$', page, re.MULTILINE)


def missing_quotations(text: str, page: str) -> list[str]:
    whole = joined(text)
    return [f"row {number}: section 11 does not say: {quotation}" for number, quotation, _ in rows(page)
            if joined(quotation) not in whole]


def missing_rows(text: str, page: str) -> list[str]:
    quotations = [quotation for _, quotation, _ in rows(page)]
    return [f"no row of doc/conformance.md breaks: {sentence}" for sentence in sentences(text)
            if re.search(DEMANDS, sentence) and not any(q in sentence or sentence in q for q in quotations)]


def known_tests() -> set[str]:
    """Suite.Case of GoogleTest, and the titles of scenes."""
    known: set[str] = set()
    for path in glob.glob(os.path.join(ROOT, "test", "**", "*.cc"), recursive=True):
        known |= {f"{a}.{b}" for a, b in re.findall(r"^TEST(?:_[FP])?\((\w+), (\w+)\)", read(path), re.MULTILINE)}
    for path in glob.glob(os.path.join(ROOT, "test", "system", "**", "scenes_*.py"), recursive=True):
        known |= set(re.findall(r'@scene\("(.*?)"', read(path)))
    return known


def missing_tests(page: str) -> list[str]:
    known, bad = known_tests(), []
    for number, _, cell in rows(page):
        names = re.findall(r"`(\w+\.\w+)`", cell) + re.findall(r'"(.*?)"', cell)
        bad += [f"row {number}: there is no test {name}" for name in names if name not in known]
        if not names:
            bad.append(f"row {number}: names no test")
    return bad


def main() -> None:
    page, text = read("doc/conformance.md"), section()
    cases = {
        "each quotation is in section 11": missing_quotations(text, page),
        "each sentence that demands something has a row": missing_rows(text, page),
        "each test exists": missing_tests(page),
        "rows are numbered from 1 on": [f"row {number} is the {i}th" for i, (number, _, _) in enumerate(rows(page), 1)
                                        if int(number) != i],
    }
    if len(rows(page)) != len(re.findall(r"^\| \d", page, re.MULTILINE)):
        cases["each row can be read"] = ['a row is not: | number | "quotation" | tests |']
    report = tap.Report(len(cases))
    for name, bad in cases.items():
        report.case(name, bad)
    sys.exit(report.finish())


if __name__ == "__main__":
    main()
