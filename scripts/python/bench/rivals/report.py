# SPDX-License-Identifier: BSD-3-Clause
"""The document that rivals.json holds, its figures as medians with intervals, and its tables as text.

Invariant: tables, page and verdicts are made from the document alone, so --from makes the same ones again.
"""
import argparse
import json
import os
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TextIO

import numpy

from testbed.process import TestbedError, cpus
from testbed.table import print_table

from ..paired import WAITS_MAX
from .paths import TCP_PAYLOAD, UNIT_PAYLOAD, Path
from .tool import MEMORY, Tool

Document = dict[str, Any]
FORMAT = 1
RESAMPLES = 2000
MEASURES = {  # {field of a turn: (heading, unit)}
    "goodput_Mbps": ("goodput", "Mbit/s"),
    "cpu_s_per_GB": ("CPU", "s/GB"),
    "queue_mean_ms": ("queue, mean", "ms"),
    "queue_max_ms": ("queue, longest", "ms"),
    "again_percent": ("sent twice", "%"),
    "competitor_Mbps": ("competing TCP", "Mbit/s"),
}


def path_entry(path: Path, seconds: int) -> dict[str, Any]:
    """seconds: of a turn, as --seconds gives them."""
    link, tcp = path.link_bps(UNIT_PAYLOAD), path.link_bps(TCP_PAYLOAD)
    return {"name": path.name, "title": path.title, "forward": path.forward(), "reverse": path.reverse(),
            "box": path.box, "rtt_ms": path.rtt_ms, "competitor": path.competitor,
            "file_bytes": path.file_bytes(seconds), "link_Mbps": None if link is None else link / 1e6,
            "tcp_Mbps": None if tcp is None else tcp / 1e6}


def begin(args: argparse.Namespace, machine: Mapping[str, str], tools: Sequence[Tool],
          lacks: Mapping[str, str | None]) -> Document:
    """A document without paths and turns. lacks: {tool: why it cannot run here, or None}"""
    return {
        "format": FORMAT, "machine": dict(machine), "seed": args.seed, "runs": args.runs, "seconds": args.seconds,
        "paths": [],
        "tools": [{"name": t.name, "title": t.title, "what": t.what, "kind": t.kind, "offloads": t.offloads,
                   "version": "" if lacks[t.name] is not None else t.version(), "lack": lacks[t.name],
                   "cure": "" if lacks[t.name] is None else t.cure()} for t in tools],
        "cores": len(cpus()), "cores_box": len(cpus()[1:]) or 1, "turns": [], "rows": [], "reasons": {}}


def save(document: Document, folder: str) -> None:
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "rivals.json"), "w", encoding="utf-8") as f:
        json.dump(document, f, indent=1)
        f.write("\n")


def load(path: str) -> Document:
    """A document that was written earlier."""
    try:
        with open(path, encoding="utf-8") as f:
            found = json.load(f)
    except (OSError, ValueError) as problem:
        raise TestbedError(f"--from {path}: {problem}; give a rivals.json of scripts/bench rivals") from None
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise TestbedError(f"--from {path}: this is no rivals.json of this version (format {FORMAT})")
    return found


# ---- figures --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Figure:
    """A median of the turns of a tool on a path, and its 95 % interval."""
    value: float
    low: float
    high: float

    def text(self) -> str:
        if self.low == self.high:
            return number(self.value)
        return f"{number(self.value)} [{number(self.low)}, {number(self.high)}]"


def number(x: float) -> str:
    """Three digits, without an exponent."""
    return f"{x:.0f}" if abs(x) >= 100 else f"{x:.1f}" if abs(x) >= 10 else f"{x:.2f}"


def figure(values: Sequence[float], seed: int = 1) -> Figure | None:
    """None: there is no value."""
    if not values:
        return None
    samples = numpy.asarray(values, dtype=float)
    dice = numpy.random.default_rng(seed)
    medians = numpy.median(dice.choice(samples, (RESAMPLES, len(samples))), axis=1)
    low, high = numpy.quantile(medians, (0.025, 0.975))
    return Figure(float(numpy.median(samples)), float(low), float(high))


def turns(document: Document, path: str, tool: str) -> list[dict[str, Any]]:
    """In the order of the rounds."""
    return sorted((t for t in document["turns"] if t["path"] == path and t["tool"] == tool), key=lambda t: t["round"])


def measured(document: Document, path: str, tool: str, measure: str) -> Figure | None:
    """Of the turns that tell it. A turn that failed had no goodput, which counts as 0."""
    return figure([t[measure] for t in turns(document, path, tool) if t[measure] is not None], document["seed"])


def best(document: Document, path: str, what: str) -> float | None:
    """The highest median goodput of the tools that transfer `what`, in Mbit/s."""
    found = (measured(document, path, t["name"], "goodput_Mbps") for t in able(document, path) if t["what"] == what)
    return max((f.value for f in found if f is not None), default=None)


def notes(document: Document, path: str, tool: str) -> str:
    """What went wrong, and how often."""
    every = turns(document, path, tool)
    said = [t["note"] for t in every if t["note"]]
    return "; ".join(f"{note} ({said.count(note)} of {len(every)})" for note in dict.fromkeys(said))


def skipped(document: Document) -> list[dict[str, Any]]:
    return [t for t in document["tools"] if t["lack"] is not None]


def able(document: Document, path: str) -> list[dict[str, Any]]:
    """The tools with turns on this path."""
    return [t for t in document["tools"] if turns(document, path, t["name"])]


def waited(document: Document, path: str) -> float:
    """The share of the time for which the emulator waited for its core: the median of all turns on this path."""
    shares = [t["waited"] for t in document["turns"] if t["path"] == path and t["waited"] is not None]
    return statistics.median(shares) if shares else 0.0


def waited_text(document: Document, path: str) -> str:
    share = waited(document, path)
    said = f"the emulator waited for its core for {100 * share:.0f} % of the time"
    return said + ("; other processes had it, so nothing here is judged as missed" if share > WAITS_MAX else "")


def why(document: Document, path: str, tool: str) -> dict[str, float]:
    """{reason of the receiver's grants: share of the samples}"""
    total: dict[str, float] = {}
    for turn in turns(document, path, tool):
        for word, count in turn["whys"].items():
            total[word] = total.get(word, 0) + count
    looks = sum(total.values())
    return {word: count / looks for word, count in sorted(total.items(), key=lambda x: -x[1])} if looks else {}


def what_text(tool: Mapping[str, Any]) -> str:
    return "memory" if tool["what"] == MEMORY else "file"


# ---- tables ---------------------------------------------------------------------------------


def cells(document: Document, path: str, tool: str, names: Sequence[str]) -> list[str]:
    found = (measured(document, path, tool, name) for name in names)
    return ["not told" if f is None else f.text() for f in found]


def fields(path: Mapping[str, Any]) -> list[str]:
    """The measures that this path has."""
    return [name for name in MEASURES if (path["link_Mbps"] is not None or not name.startswith("queue")) and
            (path["competitor"] or name != "competitor_Mbps")]


def show(document: Document, out: TextIO | None = None) -> None:
    """The tables for the terminal."""
    for path in document["paths"]:
        names, where = fields(path), (path["forward"] or "a wire") if path["box"] else "no emulator"
        print(f"\n{path['name']}: {path['title']} ({where})", file=out)
        print_table(["tool", "what", *(f"{MEASURES[n][0]}, {MEASURES[n][1]}" for n in names), "note"],
                    [[tool["title"], what_text(tool), *cells(document, path["name"], tool["name"], names),
                      notes(document, path["name"], tool["name"])] for tool in able(document, path["name"])], out)
        if path["box"]:
            print(f"({waited_text(document, path['name'])})", file=out)
    for tool in skipped(document):
        print(f"skipped: {tool['title']}: {tool['lack']}; {tool['cure']}", file=out)
    print(f"(medians of {document['runs']} turns, with 95 % intervals; CPU: of both ends, for 10^9 bytes; not told: "
          "the tool does not tell it, or the path has none)\n", file=out)
    for row, reason in document["reasons"].items():
        print(f"{row}: {reason}", file=out)
