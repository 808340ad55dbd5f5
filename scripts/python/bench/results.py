# SPDX-License-Identifier: BSD-3-Clause
"""The rows of one benchmark, and its exit status.

Invariant: a bench first names the rows that must get a verdict (demand()). If one of them has none
at the end, the status is ERROR, so what was not measured is never taken for what holds.
"""
import dataclasses
import json
import os
import statistics
import sys

from . import paired
from testbed.table import print_table


class Results:
    """Rows of {name, value, unit, reference, ratio, ratio_low, ratio_high, quartiles,
    quartiles_low, quartiles_high, windows, bar, bar_is, verdict}; null where there is none. bar_is:
    least, most, or within: how far the ratio may be from 1."""

    def __init__(self, name):
        self.name, self.rows, self.demanded = name, [], []
        self.seed, self.waits = 1, 0.0

    def demand(self, *names):
        """These rows must be there at the end, each with a verdict."""
        self.demanded += [n for n in names if n not in self.demanded]

    def _row(self, name, value, unit, bar=None, at_most=False, verdict=None, within=False, **rest):
        row = dict.fromkeys(("reference", "ratio", "ratio_low", "ratio_high", "quartiles",
                             "quartiles_low", "quartiles_high", "windows"))
        self.rows.append({"name": name, "value": value, "unit": unit, **row, **rest, "bar": bar,
                          "bar_is": None if bar is None else
                          "within" if within else "most" if at_most else "least",
                          "verdict": None if verdict is None else paired.WORDS[verdict]})
        return verdict

    def disturbed(self, groups):
        """Pollers of these paired.Group waited for their cores. Where they did for long, a bar that
        is missed afterwards says nothing: others had the cores."""
        shares = [share for group in groups for share in group.waits]
        self.waits = statistics.median(shares) if shares else 0.0
        self.figure("time for which a poller waited for its core", 100 * self.waits, "%")

    def figure(self, name, value, unit):
        """A number to know; nothing is asked of it."""
        self._row(name, value, unit)

    def exact(self, name, value, unit, bar, at_most=False):
        """What noise does not touch (a count, virtual time) against its bar."""
        holds = value <= bar if at_most else value >= bar
        return self._row(name, value, unit, bar, at_most, paired.HOLDS if holds else paired.MISSED)

    def noisy(self, name, value, unit, bar, at_most=False):
        """What could not be judged, and the caller knows why."""
        return self._row(name, value, unit, bar, at_most, paired.NOISY)

    def windows(self, name, ours, unit, reference=None, bar=None, at_most=False, scale=1.0,
                within=False, least=paired.PAIRS_MIN):
        """Windows against those of the reference in the same rounds (or against a number), with
        paired.judge(). Without a reference the bar is for the values themselves. scale: makes the
        unit of the values. Returns the Judgement."""
        alone = reference is None
        j = paired.judge(ours, 1.0 / scale if alone else reference, bar, at_most, self.seed, name,
                         within, least)
        if j.verdict == paired.MISSED and self.waits > paired.WAITS_MAX:
            j = dataclasses.replace(j, verdict=paired.NOISY)
        self._row(name, j.ours * scale, unit, bar, at_most, j.verdict, within,
                  reference=None if alone else j.reference * scale, ratio=j.ratio.value,
                  ratio_low=j.ratio.low, ratio_high=j.ratio.high, quartiles=j.quartiles.value,
                  quartiles_low=j.quartiles.low, quartiles_high=j.quartiles.high, windows=j.pairs)
        return j

    def windows_each(self, name, ours, unit, references, bar, at_most=False, scale=1.0):
        """As windows(), against each of {name: values}, for where it cannot be told which is the
        one that counts: a verdict only where all say the same."""
        verdicts = [self.windows(f"{name}, against {other}", ours, unit, values, bar, at_most,
                                 scale).verdict for other, values in references.items()]
        verdict = paired.agree(verdicts)
        if verdict == paired.NOISY:
            for row in self.rows[-len(verdicts):]:
                row["verdict"] = paired.WORDS[paired.NOISY]
        self.demanded = [n for n in self.demanded if n != name]
        self.demand(*(f"{name}, against {other}" for other in references))
        return verdict

    def missing(self):
        """Names of demanded rows that have no verdict."""
        have = {row["name"] for row in self.rows if row["verdict"] is not None}
        return [n for n in self.demanded if n not in have]

    def status(self):
        """Exit status. Nothing measured at all, or a bar that nobody demanded, is an ERROR, too."""
        words = {word: number for number, word in paired.WORDS.items()}
        judged = {row["name"]: words[row["verdict"]] for row in self.rows
                  if row["verdict"] is not None}
        if not self.rows or self.missing() or set(judged) - set(self.demanded):
            return paired.ERROR
        # Two rows of one name would hide one of them.
        if len({row["name"] for row in self.rows}) < len(self.rows):
            return paired.ERROR
        return paired.overall(judged.values())

    def show(self, out=None):
        def number(x):
            return "" if x is None else f"{x:.4g}"

        def interval(row, what):
            if row[what] is None:
                return ""
            return f"{row[what]:.3g} [{row[what + '_low']:.3g}, {row[what + '_high']:.3g}]"

        print_table(["name", "value", "unit", "reference", "ratio, median", "better quartiles", "bar",
                     "verdict"],
                    [[r["name"], number(r["value"]), r["unit"], number(r["reference"]),
                      interval(r, "ratio"), interval(r, "quartiles"),
                      "" if r["bar"] is None else {"least": ">= ", "most": "<= ", "within": "1 +- "}[r["bar_is"]] + number(r["bar"]),
                      r["verdict"] or ""] for r in self.rows], out)
        for name in self.missing():
            print(f"bench: there is no verdict on \"{name}\"", file=sys.stderr)
        if not self.demanded:
            print("no bars here: nothing was judged", file=out)
        else:
            print(f"verdict: {paired.WORDS[self.status()]}", file=out)

    def write(self, folder):
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, f"{self.name}.json")
        with open(path, "w", encoding="utf-8") as f:
            json.dump(self.rows, f, indent=1)
            f.write("\n")
        return path
