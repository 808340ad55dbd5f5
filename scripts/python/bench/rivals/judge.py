# SPDX-License-Identifier: BSD-3-Clause
"""The bars of `scripts/bench rivals`: on each path, ours is compared with the best of each kind of other tools. For
a bar that is missed, the reason is sought in what was measured. Where the emulator had to wait for its core, no bar is
missed, as its delays were not those of the path.

The best one is that with the highest median. Only goodputs of the same rounds are compared.
"""
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .. import paired
from ..paired import Bar
from ..results import Results
from . import report
from .report import Document
from .tool import FILE, KERNEL, MEMORY, OURS, OVER_TCP, USER

RUNS_MIN = 5
USER_BAR, TCP_BAR = 2.0, 1.0
FULL = 0.95  # of a link, from which on it is full
BUSY = 0.9  # of the cores that a tool may use
ZERO_MBPS = 1e-9  # where nothing arrived: a ratio needs a number above 0


@dataclass(frozen=True)
class Comparison:
    """Ours, when it transfers `what`, with the best tool of this kind. offloads: whether those with offloads
    count."""
    label: str
    what: str
    kind: str
    bar: float
    offloads: bool

    def row(self, path: str) -> str:
        return f"{path}: {self.label}"

    def others(self, document: Document, path: str) -> list[str]:
        """The tools that were measured and count here."""
        return [t["name"] for t in report.able(document, path) if t["kind"] == self.kind and t["what"] == self.what and
                (self.offloads or not t["offloads"])]


COMPARISONS = (
    Comparison("memory, to the best user-space transport", MEMORY, USER, USER_BAR, True),
    Comparison("memory, to TCP without offloads", MEMORY, KERNEL, TCP_BAR, False),
    Comparison("file, to the best user-space transport", FILE, USER, USER_BAR, True),
    Comparison("file, to the best over TCP", FILE, OVER_TCP, TCP_BAR, True),
)


def _goodputs(document: Document, path: str, tool: str) -> list[float]:
    return [max(t["goodput_Mbps"], ZERO_MBPS) for t in report.turns(document, path, tool)]


def _ours(document: Document, path: str, what: str) -> str | None:
    return next((t["name"] for t in report.able(document, path) if t["kind"] == OURS and t["what"] == what), None)


def judge(results: Results, document: Document) -> None:
    """Adds a row for each comparison that the chosen tools allow, and a reason for each that is missed."""
    document["reasons"], results.seed = {}, document["seed"]
    for path in document["paths"]:
        results.waits = report.waited(document, path["name"])
        for comparison in COMPARISONS:
            ours, others = _ours(document, path["name"], comparison.what), comparison.others(document, path["name"])
            if ours is not None and others:
                _compare(results, document, path, comparison, ours, others)
    results.figure("turns", len(document["turns"]), "turns")


def _compare(results: Results, document: Document, path: dict[str, Any], comparison: Comparison, ours: str,
             others: Sequence[str]) -> None:
    row = comparison.row(path["name"])
    results.demand(row)
    found = {name: _goodputs(document, path["name"], name) for name in others}
    best = max(found, key=lambda name: statistics.median(found[name]))
    mine, theirs = _goodputs(document, path["name"], ours), found[best]
    if statistics.median(theirs) <= ZERO_MBPS:
        # What never worked here is no measure. Without a verdict the bench ends with an error.
        document["reasons"][row] = f"not judged: {best} transferred nothing: " \
            f"{report.notes(document, path['name'], best)}"
        return
    bar = Bar(comparison.bar, windows_min=RUNS_MIN)
    if len(mine) < RUNS_MIN:
        results.noisy(row, statistics.median(mine), "Mbit/s", bar)
        document["reasons"][row] = f"{len(mine)} turns are too few to judge; give --runs {RUNS_MIN}"
        return
    verdict = results.windows(row, mine, "Mbit/s", theirs, bar).verdict
    text = f"against {best}"
    if verdict == paired.MISSED:
        text += "; " + reason(document, path, ours, best, comparison.bar * statistics.median(theirs))
    document["reasons"][row] = text


def _left_Mbps(document: Document, path: str, tool: str) -> str:
    """What this tool left to the competing TCP."""
    found = report.measured(document, path, tool, "competitor_Mbps")
    return "not told" if found is None else report.number(found.value)


def reason(document: Document, path: dict[str, Any], ours: str, best: str, wanted_Mbps: float) -> str:
    """Why ours did not reach this goodput, as far as the measurements tell. best: the tool that it is compared with."""
    every = report.turns(document, path["name"], ours)
    goodput = statistics.median(t["goodput_Mbps"] for t in every)
    said = []
    failures = report.notes(document, path["name"], ours)
    if failures:
        said.append(failures)
    link = path["link_Mbps"]
    if link is not None and not path["competitor"]:
        if goodput >= FULL * link:
            said.append(f"the link is full: it carries {report.number(link)} Mbit/s of our payload, "
                        f"{report.number(wanted_Mbps)} are wanted")
    if path["competitor"]:
        said.append(f"{best} left the competing TCP {_left_Mbps(document, path['name'], best)} Mbit/s, ours "
                    f"{_left_Mbps(document, path['name'], ours)}")
    busy = [t["cpu_s"] / t["seconds"] for t in every if t["cpu_s"] and t["seconds"]]
    cores = document["cores_box"] if path["box"] else document["cores"]
    if busy and statistics.median(busy) >= BUSY * cores:
        said.append(f"the processors: both ends together used {statistics.median(busy):.2f} of {cores} cores")
    whys = [f"{word} {100 * share:.0f} %" for word, share in report.why(document, path["name"], ours).items()
            if share >= 0.1]
    if whys and not (link is not None and goodput >= FULL * link):
        said.append(f"WHY {', '.join(whys)}")
    return "; ".join(said) or "the measurements tell no reason"
