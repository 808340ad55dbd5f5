# SPDX-License-Identifier: BSD-3-Clause
"""The rows of one benchmark, and its exit status.

Invariant: a bench first names the rows that must get a verdict (demand()). If one of them has none
at the end, the status is ERROR. So a row that was not measured never counts as one that holds.
"""
import dataclasses
import json
import os
import re
import statistics
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TextIO

from . import paired
from .paired import Bar
from testbed.process import TestbedError
from testbed.table import print_table


def matching(only: str, names: Sequence[str], what: str) -> list[str]:
    """The names in which the option --only, a regular expression, is found. what: that they are names of, in messages."""
    try:
        found = [name for name in names if re.search(only, name)]
    except re.error as problem:
        raise TestbedError(f"--only {only} is no regular expression: {problem}") from None
    if not found:
        raise TestbedError(f"no {what} matches --only {only}; a name is, for example, {names[0]}")
    return found


class Results:
    """Rows of {name, value, unit, reference, ratio, ratio_low, ratio_high, quartiles,
    quartiles_low, quartiles_high, windows, bar, bar_is, verdict}; null where there is none. bar_is:
    least, most, or within: how far from 1 the ratio may be."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.rows: list[dict[str, Any]] = []
        self.demanded: list[str] = []
        self.seed, self.waits = 1, 0.0
        self.document: dict[str, Any] | None = None  # what is written instead of the rows; it holds them

    def demand(self, *names: str) -> None:
        """These rows must be there at the end, each with a verdict."""
        self.demanded += [n for n in names if n not in self.demanded]

    def _row(self, name: str, value: float, unit: str, bar: Bar | float | None = None,
             verdict: int | None = None, **rest: float | None) -> None:
        bar = paired.bar_of(bar)
        row = dict.fromkeys(("reference", "ratio", "ratio_low", "ratio_high", "quartiles",
                             "quartiles_low", "quartiles_high", "windows"))
        self.rows.append({"name": name, "value": value, "unit": unit, **row, **rest, "bar": bar.value,
                          "bar_is": None if bar.value is None else
                          "within" if bar.within else "most" if bar.at_most else "least",
                          "verdict": None if verdict is None else paired.WORDS[verdict]})

    def disturbed(self, groups: Iterable[paired.Group], where: str = "") -> None:
        """Notes how long the pollers of these groups waited for their cores. If that was long, a bar that
        is missed afterwards says nothing: other processes had the cores. where: names these groups."""
        shares = [share for group in groups for share in group.waits]
        self.waits = statistics.median(shares) if shares else 0.0
        self.figure(f"{where}time for which a poller waited for its core", 100 * self.waits, "%")

    def figure(self, name: str, value: float, unit: str) -> None:
        """A number for information, without a bar."""
        self._row(name, value, unit)

    def exact(self, name: str, value: float, unit: str, bar: Bar | float) -> None:
        """A number without noise (a count, virtual time) against its bar."""
        bar = paired.bar_of(bar)
        assert bar.value is not None, f"{name} has no bar"
        holds = value <= bar.value if bar.at_most else value >= bar.value
        self._row(name, value, unit, bar, paired.HOLDS if holds else paired.MISSED)

    def noisy(self, name: str, value: float, unit: str, bar: Bar | float) -> None:
        """A row that the caller found too noisy to judge."""
        self._row(name, value, unit, bar, paired.NOISY)

    def windows(self, name: str, ours: Sequence[float], unit: str,
                reference: Sequence[float] | float | None = None, bar: Bar | float | None = None,
                scale: float = 1.0) -> paired.Judgement:
        """Windows against those of the reference in the same rounds, or against a number, as
        paired.judge() does it. Without a reference the bar is for the values themselves. scale: the
        values times this are in the unit."""
        bar, alone = paired.bar_of(bar), reference is None
        j = paired.judge(ours, 1.0 / scale if reference is None else reference, bar, self.seed, name)
        if j.verdict == paired.MISSED and self.waits > paired.WAITS_MAX:
            j = dataclasses.replace(j, verdict=paired.NOISY)
        self._row(name, j.ours * scale, unit, bar, j.verdict,
                  reference=None if alone else j.reference * scale, ratio=j.ratio.value,
                  ratio_low=j.ratio.low, ratio_high=j.ratio.high, quartiles=j.quartiles.value,
                  quartiles_low=j.quartiles.low, quartiles_high=j.quartiles.high, windows=j.pairs)
        return j

    def windows_each(self, name: str, ours: Sequence[float], unit: str,
                     references: Mapping[str, Sequence[float]], bar: float, scale: float = 1.0) -> None:
        """As windows(), against each of {name: values}, where it is uncertain which of them counts. There
        is a verdict only if all give the same."""
        verdicts = []
        for other, values in references.items():
            verdict = self.windows(f"{name}, against {other}", ours, unit, values, bar, scale).verdict
            assert verdict is not None  # there is a bar
            verdicts.append(verdict)
        if paired.agree(verdicts) == paired.NOISY:
            for row in self.rows[-len(verdicts):]:
                row["verdict"] = paired.WORDS[paired.NOISY]
        self.demanded = [n for n in self.demanded if n != name]
        self.demand(*(f"{name}, against {other}" for other in references))

    def missing(self) -> list[str]:
        """Names of demanded rows that have no verdict."""
        have = {row["name"] for row in self.rows if row["verdict"] is not None}
        return [n for n in self.demanded if n not in have]

    def status(self) -> int:
        """Exit status. It is ERROR, too, if there is no row at all, or a verdict that was not demanded."""
        words = {word: number for number, word in paired.WORDS.items()}
        judged = {row["name"]: words[row["verdict"]] for row in self.rows
                  if row["verdict"] is not None}
        if not self.rows or self.missing() or set(judged) - set(self.demanded):
            return paired.ERROR
        # Two rows of one name would hide one of them.
        if len({row["name"] for row in self.rows}) < len(self.rows):
            return paired.ERROR
        return paired.overall(judged.values())

    def show(self, out: TextIO | None = None) -> None:
        def number(x: float | None) -> str:
            return "" if x is None else f"{x:.4g}"

        def interval(row: dict[str, Any], statistic: str) -> str:
            if row[statistic] is None:
                return ""
            return f"{row[statistic]:.3g} [{row[statistic + '_low']:.3g}, {row[statistic + '_high']:.3g}]"

        def bar(row: dict[str, Any]) -> str:
            if row["bar"] is None:
                return ""
            return {"least": ">= ", "most": "<= ", "within": "1 +- "}[row["bar_is"]] + number(row["bar"])

        print_table(["name", "value", "unit", "reference", "ratio, median", "better quartiles", "bar",
                     "verdict"],
                    [[r["name"], number(r["value"]), r["unit"], number(r["reference"]),
                      interval(r, "ratio"), interval(r, "quartiles"), bar(r), r["verdict"] or ""]
                     for r in self.rows], out)
        for name in self.missing():
            print(f"bench: there is no verdict on \"{name}\"", file=sys.stderr)
        if not self.demanded:
            print("there are no bars here, so there is no verdict", file=out)
        else:
            print(f"verdict: {paired.WORDS[self.status()]}", file=out)

    def write(self, folder: str) -> str:
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, f"{self.name}.json")
        with open(path, "w", encoding="utf-8") as f:
            json.dump(self.rows if self.document is None else self.document, f, indent=1)
            f.write("\n")
        return path
