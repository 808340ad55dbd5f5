# SPDX-License-Identifier: BSD-3-Clause
"""The tables that README quotes, in Markdown: goodputs, and ours divided by the best of the others."""
from . import report
from .judge import COMPARISONS
from .report import Document
from .tool import OURS


def markdown(document: Document) -> str:
    names = [p["name"] for p in document["paths"]]
    lines = [*_head("goodput, Mbit/s", names), *_goodputs(document, names)]
    ratios = _ratios(document, names)
    if ratios:
        lines += ["", *_head("ours, divided by the best of the others", names), *ratios]
    paths = "; ".join(f"`{p['name']}`: {p['title']}" for p in document["paths"])
    machine = document["machine"]
    return "\n".join([*lines, "", f"Paths: {paths}.", "",
                      f"Medians of {document['runs']} turns, {machine['date']}, {machine['processor']}, "
                      f"{machine['CPUs used']} CPUs, {machine['kernel']}."]) + "\n"


def _head(first: str, names: list[str]) -> list[str]:
    return [f"| {first} | " + " | ".join(names) + " |", "|---|" + "---|" * len(names)]


def _goodputs(document: Document, names: list[str]) -> list[str]:
    lines = []
    for tool in document["tools"]:
        if tool["lack"] is not None:
            continue
        found = [report.measured(document, name, tool["name"], "goodput_Mbps") for name in names]
        title = f"{tool['title']}, {report.what_text(tool)}"
        title = f"**{title}**" if tool["kind"] == OURS else title
        lines.append(f"| {title} | " + " | ".join("" if f is None else report.number(f.value) for f in found) + " |")
    return lines


def _ratios(document: Document, names: list[str]) -> list[str]:
    """Each with its verdict, if it is not that the bar holds."""
    rows = {row["name"]: row for row in document["rows"] if row["ratio"] is not None and row["verdict"] is not None}
    lines = []
    for comparison in COMPARISONS:
        found = [rows.get(comparison.row(name)) for name in names]
        if not any(found):
            continue
        cells = ["" if r is None else f"{r['ratio']:.2f}" + ("" if r["verdict"] == "holds" else f" ({r['verdict']})")
                 for r in found]
        lines.append(f"| {comparison.label}; at least {comparison.bar:g} | " + " | ".join(cells) + " |")
    return lines
