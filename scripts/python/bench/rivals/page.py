# SPDX-License-Identifier: BSD-3-Clause
"""The report as one page: tables and charts, without a script, and without anything that is fetched."""
import html
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from . import chart, report
from .judge import COMPARISONS
from .report import MEASURES, Document
from .tool import FILE, KERNEL, MEMORY, OURS, OVER_TCP, USER

CLASSES = {OURS: "ours", USER: "user", KERNEL: "kernel", OVER_TCP: "files"}
VERDICTS = {"holds": "good", "missed": "bad", "too noisy": "noisy"}
SIGNS = {"holds": "✓", "missed": "✗", "too noisy": "≈"}

STYLE = """
:root {
  color-scheme: light dark;
  --paper: #ffffff; --ink: #1b1f24; --quiet: #5c6670; --rule: #d8dde3; --wash: #f5f7f9;
  --ours: #0b6fb8; --user: #b4418e; --kernel: #8a6d00; --files: #23805a;
  --good: #1a7f4b; --bad: #b3261e; --noisy: #7a5b00;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #14171a; --ink: #e4e8ec; --quiet: #98a2ac; --rule: #333a41; --wash: #1c2126;
    --ours: #58b0f0; --user: #e08ac4; --kernel: #d9b64a; --files: #62c79c;
    --good: #5fd39a; --bad: #ff8a80; --noisy: #e0bf62;
  }
}
* { box-sizing: border-box; }
html { background: var(--paper); color: var(--ink); font: 15px/1.5 system-ui, "Segoe UI", "DejaVu Sans", sans-serif; }
body { max-width: 74rem; margin: 0 auto; padding: 2.5rem 1.5rem 4rem; }
h1 { font-size: 2rem; line-height: 1.2; margin: 0 0 .4rem; letter-spacing: -.01em; }
h2 { font-size: 1.3rem; margin: 3rem 0 .3rem; padding-top: 1rem; border-top: 1px solid var(--rule); }
h3 { font-size: 1rem; margin: 1.6rem 0 .4rem; }
p { margin: .4rem 0 .8rem; max-width: 52rem; }
.lead { font-size: 1.08rem; }
.quiet, figcaption { color: var(--quiet); }
code, pre { font: .86em/1.5 ui-monospace, "DejaVu Sans Mono", monospace; }
pre { background: var(--wash); padding: .7rem .9rem; border-radius: 6px; overflow-x: auto; white-space: pre-wrap;
  overflow-wrap: anywhere; margin: .3rem 0 1rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; margin: .5rem 0 1rem; width: 100%; }
th, td { padding: .32rem .7rem .32rem 0; text-align: left; vertical-align: top; border-bottom: 1px solid var(--rule); }
th { font-weight: 600; color: var(--quiet); font-size: .86rem; white-space: nowrap; }
td.n, th.n { text-align: right; white-space: nowrap; }
td.n small { color: var(--quiet); display: block; font-size: .76rem; line-height: 1.2; }
tr.ours td:first-child { font-weight: 700; color: var(--ours); }
td.best { font-weight: 700; }
.mark { display: inline-block; width: .7rem; height: .7rem; border-radius: 2px; margin-right: .4rem; }
.mark.ours { background: var(--ours); } .mark.user { background: var(--user); }
.mark.kernel { background: var(--kernel); } .mark.files { background: var(--files); }
.legend span { margin-right: 1.4rem; white-space: nowrap; }
.verdict { font-weight: 600; white-space: nowrap; }
.verdict.good { color: var(--good); } .verdict.bad { color: var(--bad); } .verdict.noisy { color: var(--noisy); }
nav { margin: 1rem 0 0; } nav a { margin-right: 1rem; white-space: nowrap; }
a { color: var(--ours); }
figure { margin: 1rem 0 .6rem; }
svg { display: block; width: 100%; height: auto; overflow: visible; }
svg text { fill: var(--ink); font: 12px system-ui, "Segoe UI", "DejaVu Sans", sans-serif; }
svg .quiet { fill: var(--quiet); } svg .title { font-weight: 600; } svg .n { font-size: 11px; }
svg .grid { stroke: var(--rule); stroke-width: 1; } svg .link { stroke: var(--ink); stroke-dasharray: 3 3; }
svg .range { stroke: var(--ink); stroke-width: 1.4; opacity: .65; }
svg .bar.ours { fill: var(--ours); } svg .bar.user { fill: var(--user); }
svg .bar.kernel { fill: var(--kernel); } svg .bar.files { fill: var(--files); }
svg .label.ours { font-weight: 700; fill: var(--ours); }
details { margin: .6rem 0; } summary { cursor: pointer; font-weight: 600; }
@media print {
  :root { --paper: #fff; --ink: #000; --quiet: #444; --rule: #bbb; --wash: #f2f2f2;
    --ours: #0b6fb8; --user: #b4418e; --kernel: #8a6d00; --files: #23805a; }
  html { font-size: 10.5px; } body { max-width: none; padding: 0; } nav { display: none; }
  h2 { margin-top: 1rem; }
  section { break-inside: avoid-page; } h2 { break-after: avoid; } figure, table, pre { break-inside: avoid; }
  svg .bar { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
}
@page { size: A4 landscape; margin: 14mm; }
"""


def text(value: object) -> str:
    """Escaped for content and for attributes."""
    return html.escape(str(value), quote=True)


def tag(name: str, content: str, **attributes: str) -> str:
    """An element; content is HTML already. A trailing underscore of an attribute's name is dropped."""
    said = "".join(f' {key.rstrip("_")}="{text(value)}"' for key, value in attributes.items() if value)
    return f"<{name}{said}>{content}</{name}>"


def table(header: Sequence[str], rows: Iterable[tuple[str, Sequence[str]]], numbers: Sequence[bool]) -> str:
    """rows: (class, cells as HTML). numbers: the columns that are aligned to the right."""
    def line(kind: str, cells: Sequence[str]) -> str:
        return "".join(tag(kind, cell, class_="n" if n else "") for cell, n in zip(cells, numbers))

    head = tag("thead", tag("tr", line("th", [text(h) for h in header])))
    body = tag("tbody", "\n".join(tag("tr", line("td", cells), class_=name) for name, cells in rows))
    return tag("div", tag("table", head + body), class_="scroll")


def _number(figure: report.Figure | None) -> str:
    if figure is None:
        return tag("span", "not told", class_="quiet")
    if figure.low == figure.high:
        return report.number(figure.value)
    return f"{report.number(figure.value)}<small>{report.number(figure.low)} – {report.number(figure.high)}</small>"


# ---- the parts of the page ------------------------------------------------------------------


def _head(document: Document) -> str:
    machine, rows = document["machine"], [r for r in document["rows"] if r["verdict"] is not None]
    counts = {word: sum(r["verdict"] == word for r in rows) for word in VERDICTS}
    said = ", ".join(tag("span", f"{n} {word}", class_=f"verdict {VERDICTS[word]}")
                     for word, n in counts.items() if n) or "none was judged"
    where = f"{machine['processor']}, {machine['CPUs used']} CPUs, {machine['kernel']}, {machine['system']}"
    links = "".join(tag("a", text(p["name"]), href=f"#{p['name']}") for p in document["paths"])
    return "\n".join([
        tag("h1", "Sluice beside other programs"),
        tag("p", f"{text(machine['date'])} · {text(where)} · seed {document['seed']} · made by "
            f"{tag('code', 'scripts/bench rivals')}", class_="quiet"),
        tag("p", f"All programs send over the same pair of veth devices and through the same emulated paths, by turns, "
            f"{document['runs']} {'turn' if document['runs'] == 1 else 'turns'} each. Numbers are medians with 95 % "
            f"intervals. Bars: {said}.", class_="lead"),
        tag("nav", tag("a", "verdicts", href="#verdicts") + links + tag("a", "programs", href="#programs") +
            tag("a", "method", href="#method"))])


def _legend(document: Document) -> str:
    kinds = list(dict.fromkeys(t["kind"] for t in document["tools"]))
    words = {OURS: "Sluice"}
    return tag("p", "".join(tag("span", tag("span", "", class_=f"mark {CLASSES[k]}") + text(words.get(k, k)))
                            for k in kinds), class_="legend")


def _overview(document: Document) -> str:
    """Goodput of each tool on each path."""
    names = [p["name"] for p in document["paths"]]
    best = {(name, what): report.best(document, name, what) for name in names for what in (MEMORY, FILE)}
    rows = []
    for tool in document["tools"]:
        if tool["lack"] is not None:
            cells = [tag("span", "skipped", class_="quiet")] * len(names)
        else:
            cells = [_plain(report.measured(document, name, tool["name"], "goodput_Mbps"),
                            best[name, tool["what"]]) for name in names]
        rows.append(("ours" if tool["kind"] == OURS else "", [_name(tool), text(report.what_text(tool)), *cells]))
    return tag("h2", "Goodput at a glance, Mbit/s", id="glance") + _legend(document) + \
        tag("p", "The highest number of each column is bold: of memory, and of files.", class_="quiet") + \
        table(["program", "what", *names], rows, [False, False, *([True] * len(names))])


def _name(tool: Mapping[str, Any]) -> str:
    return tag("span", "", class_=f"mark {CLASSES[tool['kind']]}") + text(tool["title"])


def _plain(figure: report.Figure | None, best: float | None) -> str:
    if figure is None:
        return ""
    return tag("strong" if figure.value == best else "span", report.number(figure.value))


def _path(document: Document, path: Mapping[str, Any]) -> str:
    fields, tools = report.fields(path), report.able(document, path["name"])
    where = f"forward {path['forward'] or 'a wire'}, reverse {path['reverse'] or 'a wire'}" if path["box"] else \
        "no emulator"
    drawn = chart.panels([chart.Panel(*MEASURES[f], values=[report.measured(document, path["name"], t["name"], f)
                                                          for t in tools],
                                      link=path["link_Mbps"] if f == "goodput_Mbps" else None) for f in fields],
                         [(f"{t['title']} ({report.what_text(t)})", CLASSES[t["kind"]]) for t in tools])
    caption = "Bars: medians; thin lines: 95 % intervals." + (
        " Dashed: the payload of ours that the link can carry." if path["link_Mbps"] is not None else "")
    waited = f" In this run {report.waited_text(document, path['name'])}." if path["box"] else ""
    rows = [("ours" if t["kind"] == OURS else "",
             [_name(t), text(report.what_text(t)),
              *(_number(report.measured(document, path["name"], t["name"], f)) for f in fields),
              text(report.notes(document, path["name"], t["name"]))]) for t in tools]
    header = ["program", "what", *(f"{MEASURES[f][0]}, {MEASURES[f][1]}" for f in fields), "note"]
    numbers = [False, False, *([True] * len(fields)), False]
    return tag("section", "\n".join([
        tag("h2", f"{text(path['title'])} " + tag("code", text(path["name"]), class_="quiet"), id=path["name"]),
        tag("p", tag("code", text(where)), class_="quiet"),
        tag("figure", drawn + tag("figcaption", text(caption + waited))), _path_verdicts(document, path),
        tag("details", tag("summary", "Numbers") + table(header, rows, numbers), open="open"),
        _whys(document, path), _commands(document, path)]))


def _whys(document: Document, path: Mapping[str, Any]) -> str:
    lines = []
    for tool in report.able(document, path["name"]):
        shares = report.why(document, path["name"], tool["name"])
        if shares:
            words = ", ".join(f"{word} {100 * share:.0f} %" for word, share in shares.items())
            lines.append(f"Sluice, {report.what_text(tool)}: WHY {words}")
    return tag("p", text(". ".join(lines)) + ".", class_="quiet") if lines else ""


def _commands(document: Document, path: Mapping[str, Any]) -> str:
    """Those of the first turn of each tool."""
    parts = []
    for tool in report.able(document, path["name"]):
        commands = report.turns(document, path["name"], tool["name"])[0]["commands"]
        parts.append(f"{tool['title']} ({report.what_text(tool)})\n" + "\n".join(f"  {c}" for c in commands))
    return tag("details", tag("summary", "Commands") + tag("pre", text("\n".join(parts))))


def _verdicts(document: Document) -> str:
    """All ratios in one table: a row for each bar, a column for each path."""
    names = [p["name"] for p in document["paths"]]
    found = {row["name"]: row for row in document["rows"]}
    rows = [("", [text(c.label), f"{c.bar:g}", *(_ratio(found.get(c.row(name))) for name in names)])
            for c in COMPARISONS if any(c.row(name) in found for name in names)]
    words = " ".join([
        "Goodput of ours divided by that of the best of the others: the median of the ratios of the same rounds. "
        "The best is the one with the highest median.", *(f"{sign} {word}." for word, sign in SIGNS.items()),
        "The sections of the paths tell against whom, and why a bar is missed."])
    return tag("h2", "Verdicts", id="verdicts") + tag("p", words) + table(
        ["ours", "at least", *names], rows, [False, True, *([True] * len(names))])


def _ratio(row: Mapping[str, Any] | None) -> str:
    if row is None:
        return ""
    said = "" if row["ratio"] is None else f"{row['ratio']:.2f}"
    return tag("span", f"{said} {SIGNS[row['verdict']]}", class_=f"verdict {VERDICTS[row['verdict']]}")


def _path_verdicts(document: Document, path: Mapping[str, Any]) -> str:
    rows, labels = [], {c.row(path["name"]): c.label for c in COMPARISONS}
    for row in document["rows"]:
        if row["name"] not in labels:
            continue
        ratio = "" if row["ratio"] is None else \
            f"{row['ratio']:.2f}<small>{row['ratio_low']:.2f} – {row['ratio_high']:.2f}</small>"
        rows.append(("", [text(labels[row["name"]]), report.number(row["value"]),
                          "" if row["reference"] is None else report.number(row["reference"]), ratio,
                          f"{row['bar']:g}", tag("span", text(f"{SIGNS[row['verdict']]} {row['verdict']}"),
                                                 class_=f"verdict {VERDICTS[row['verdict']]}"),
                          text(document["reasons"].get(row["name"], ""))]))
    return "" if not rows else table(["ours", "ours, Mbit/s", "best other, Mbit/s", "ratio", "at least", "verdict",
                                      "against; why"], rows, [False, True, True, True, True, False, False])


def _programs(document: Document) -> str:
    rows = [("ours" if t["kind"] == OURS else "",
             [_name(t), text(report.what_text(t)), text(t["kind"]), "yes" if t["offloads"] else "no",
              text(t["version"]) if t["lack"] is None else
              tag("span", f"skipped: {text(t['lack'])}; {text(t['cure'])}", class_="quiet")])
            for t in document["tools"]]
    machine = [("", [text(key), text(value)]) for key, value in document["machine"].items()]
    return tag("h2", "Programs and machine", id="programs") + table(
        ["program", "what", "kind", "offloads", "version"], rows, [False] * 5) + table(
        ["machine", ""], machine, [False, False])


METHOD = (
    "A turn makes two network namespaces and, unless the path is the bare veth pair, sluice-emu between them; runs one "
    "program; and removes all again. In each round each program has one turn, in an order drawn from the seed. All "
    "programs of a round meet the same random losses.",
    "Goodput is payload that arrived: as the receiver reports it for transfers from memory, and for files their size "
    "divided by the time from the command to its end. A transfer that exceeds its limit is cut off, and what had been "
    "written by then counts.",
    "CPU is user and system time of all processes of a program at both ends, its daemons included, from a control "
    "group. The emulator has the first CPU for itself; all programs share the others. Where the emulator delivers, "
    "the kernel does a part of the receiving in the emulator's time, which is in nobody's figure: compare CPU on the "
    "bare veth pair.",
    "The queue is what packets of the program, and of a competing TCP, waited at the emulated link, with the time that "
    "the link took for them. Sent twice: Sluice's units, TCP's segments (from iperf3, or from the kernel's counters), "
    "uftp's NAKs, the packets that quinn took for lost; each in per cent of what was sent.",
    "TCP and UDP may use buffers of 32 MiB, and quinn has windows of 64 MiB, so that none is limited by a default. scp "
    "and quinn encrypt; the others do not.",
)


def page(document: Document) -> str:
    """The whole page."""
    body = "\n".join([
        _head(document), tag("section", _overview(document)), tag("section", _verdicts(document)),
        *(_path(document, p) for p in document["paths"]),
        _programs(document), tag("h2", "Method", id="method"), *(tag("p", text(words)) for words in METHOD)])
    return "\n".join(["<!DOCTYPE html>", '<html lang="en">', "<head>", '<meta charset="utf-8">',
                      '<meta name="viewport" content="width=device-width, initial-scale=1">',
                      tag("title", f"Sluice beside other programs, {text(document['machine']['date'])}"),
                      f"<style>{STYLE}</style>", "</head>", tag("body", body), "</html>"]) + "\n"
