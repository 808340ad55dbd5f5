# SPDX-License-Identifier: BSD-3-Clause
"""The report: one self-contained page of HTML, for a browser or for print."""
import base64
import html
import os
import time
from collections.abc import Sequence
from typing import NamedTuple

from . import finding
from .conf import Experiment, Section
from .store import Head

STYLE = """
:root { --ink: #1b1f24; --soft: #57606a; --line: #d8dee4; --good: #00664f; --bad: #a63d00; --paper: #ffffff; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e6e6; --soft: #a0a8b0; --line: #3a4149; --good: #4fc3a1;
  --bad: #ff9a5a; --paper: #16191d; } figure img { background: #fff; border-radius: 4px; } }
body { font: 16px/1.55 Georgia, 'DejaVu Serif', serif; color: var(--ink); background: var(--paper);
  max-width: 56rem; margin: 3rem auto; padding: 0 1.2rem; }
h1, h2, nav, table, .verdict, footer { font-family: 'Helvetica Neue', Arial, 'DejaVu Sans', sans-serif; }
h1 { font-size: 1.9rem; margin-bottom: .2rem; } h2 { font-size: 1.35rem; margin-top: 3.2rem; }
.soft, figcaption, footer, .note { color: var(--soft); font-size: .9rem; }
table { border-collapse: collapse; width: 100%; font-size: .88rem; margin: 1rem 0; }
th { text-align: left; border-bottom: 2px solid var(--ink); padding: .3rem .5rem; }
td { border-bottom: 1px solid var(--line); padding: .35rem .5rem; vertical-align: top; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.holds { color: var(--good); font-weight: 600; white-space: nowrap; } .fails { color: var(--bad); font-weight: 600;
  white-space: nowrap; }
figure { margin: 1.6rem 0; } figure img { width: 100%; height: auto; }
a { color: inherit; }
@media print { body { margin: 0; max-width: none; font-size: 11pt; } h2 { break-before: page; } figure, tr {
  break-inside: avoid; } nav { display: none; } }
"""


class Chapter(NamedTuple):
    """The results of one experiment."""
    experiment: Experiment
    folder: str
    head: Head
    findings: list[finding.Verdict]


def esc(text: object) -> str:
    return html.escape(str(text))


def verdict(holds: bool | None) -> str:
    if holds is None:
        return '<span class="soft">not judged</span>'
    return '<span class="holds">✓ holds</span>' if holds else '<span class="fails">✗ does not hold</span>'


def table_of(findings: Sequence[finding.Verdict]) -> str:
    rows = []
    for f in findings:
        unit = f" {f['unit']}" if f["unit"] else ""
        paper = "" if f["paper"] is None else finding.text(f["paper"]) + unit
        why = ""
        if f["differs"]:
            why += f'<div class="note"><b>Why not</b> ({esc(f["known"])})<b>:</b> {esc(f["differs"])}</div>'
        if f["why"]:
            why += f'<div class="note">Not judged: {esc(f["why"])}</div>'
        if f["known"] and not f["differs"]:
            why += f'<div class="note"><b>Not as it is known to differ</b> ({esc(f["known"])})</div>'
        note = f'<div class="note">{esc(f["note"])}</div>' if f["note"] else ""
        rows.append(f'<tr><td>{esc(f["says"])}{note}{why}</td><td class="n">{esc(paper)}</td>'
                    f'<td class="n">{esc(finding.text(f["ours"]) + unit)}</td><td class="soft">{esc(f["wanted"])}</td>'
                    f'<td>{verdict(f["holds"])}</td></tr>')
    return ('<table><tr><th>Finding</th><th class="n">Paper</th><th class="n">Ours</th><th>Wanted</th>'
            f'<th>Verdict</th></tr>{"".join(rows)}</table>')


def picture(section: Section, path: str) -> str:
    with open(path + ".svg", "rb") as f:
        data = base64.b64encode(f.read()).decode()
    title, caption = section.need("title"), section.get("caption", "")
    return (f'<figure><img alt="{esc(title)}" src="data:image/svg+xml;base64,{data}">'
            f'<figcaption><b>{esc(title)}.</b> {esc(caption)}</figcaption></figure>')


def chapter(c: Chapter) -> str:
    e, folder, head, findings = c
    parts = [f'<h2 id="{esc(e.name)}">{esc(e.title)}</h2>']
    quick = " This is the quick form, with fewer points than the whole experiment." if head["quick"] else ""
    parts.append(f'<p class="soft">{esc(e.paper)}</p><p>{esc(e.about)}</p>')
    if head["live"]:
        parts.append(f'<p class="soft">Live, in real time: {esc(head["live"])}.</p>')
    for s in e.all("figure"):
        if os.path.exists(os.path.join(folder, s.name + ".svg")):
            parts.append(picture(s, os.path.join(folder, s.name)))
    parts.append(table_of(findings))
    again = " ".join(f"--set {k}={v}" for k, v in head["given"].items())
    parts.append(f'<p class="soft">{head["points"]} runs, seed {head["seed"]}.{quick} Again: <code>sluice-lab run '
                 f'{esc(e.name)}{" --quick" if head["quick"] else ""} --seed {head["seed"]} {esc(again)}</code></p>')
    return "\n".join(parts)


def page(chapters: Sequence[Chapter]) -> str:
    every = [f for c in chapters for f in c.findings]
    good = sum(f["holds"] is True for f in every)
    rows = "".join(
        f'<tr><td><a href="#{esc(c.experiment.name)}">{esc(c.experiment.title)}</a></td>'
        f'<td class="n">{sum(f["holds"] is True for f in c.findings)} of {len(finding.judged(c.findings))}</td></tr>'
        for c in chapters)
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>The lab: five papers on rate-based transport, reproduced</title><style>{STYLE}</style></head><body>
<h1>The lab</h1>
<p class="soft">Five papers on rate-based transport (1992–1996), reproduced with Sluice, in virtual time unless a
chapter says that it was live</p>
<p>Every figure below is drawn from runs of the product's own code: its hosts, its paths, its control. The papers'
peers, such as a TCP of 1993, are models and named so. Each finding of a paper has the result of these runs beside it,
and a verdict: <b>{good} of {len(finding.judged(every))}</b> findings hold.</p>
<nav><table><tr><th>Experiment</th><th class="n">Findings that hold</th></tr>{rows}</table></nav>
{"".join(chapter(c) for c in chapters)}
<footer><p>Written by sluice-lab, {time.strftime("%Y-%m-%d", time.gmtime())}.</p></footer>
</body></html>
"""
