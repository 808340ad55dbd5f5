# SPDX-License-Identifier: BSD-3-Clause
"""The report: one page of HTML with all in it, to be read in a browser or printed."""
import base64
import html
import os
import time

from . import finding

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


def esc(text):
    return html.escape(str(text))


def verdict(holds):
    if holds is None:
        return '<span class="soft">not judged</span>'
    return '<span class="holds">✓ holds</span>' if holds else '<span class="fails">✗ does not hold</span>'


def table_of(findings):
    rows = []
    for f in findings:
        unit = f" {f['unit']}" if f["unit"] else ""
        paper = "" if f["paper"] is None else finding.text(f["paper"]) + unit
        why = f'<div class="note"><b>Why not</b> ({esc(f["known"])})<b>:</b> {esc(f["differs"])}</div>' if f["differs"] else ""
        why += f'<div class="note">Not judged: {esc(f["why"])}</div>' if f["why"] else ""
        if f["known"] and not f["differs"]:
            why += f'<div class="note"><b>Not as it is known to differ</b> ({esc(f["known"])})</div>'
        note = f'<div class="note">{esc(f["note"])}</div>' if f["note"] else ""
        rows.append(f'<tr><td>{esc(f["says"])}{note}{why}</td><td class="n">{esc(paper)}</td>'
                    f'<td class="n">{esc(finding.text(f["ours"]) + unit)}</td><td class="soft">{esc(f["wanted"])}</td>'
                    f'<td>{verdict(f["holds"])}</td></tr>')
    return ('<table><tr><th>Finding</th><th class="n">Paper</th><th class="n">Ours</th><th>Wanted</th>'
            f'<th>Verdict</th></tr>{"".join(rows)}</table>')


def picture(section, path):
    with open(path + ".svg", "rb") as f:
        data = base64.b64encode(f.read()).decode()
    title, caption = section.need("title"), section.get("caption", "")
    return (f'<figure><img alt="{esc(title)}" src="data:image/svg+xml;base64,{data}">'
            f'<figcaption><b>{esc(title)}.</b> {esc(caption)}</figcaption></figure>')


def chapter(e, folder, head, findings):
    parts = [f'<h2 id="{esc(e.name)}">{esc(e.title)}</h2>']
    quick = " A quick form: fewer points than the whole experiment." if head.get("quick") else ""
    parts.append(f'<p class="soft">{esc(e.paper)}</p><p>{esc(e.about)}</p>')
    if head.get("live"):
        parts.append(f'<p class="soft">Live, in real time: {esc(head["live"])}.</p>')
    for s in e.all("figure"):
        if os.path.exists(os.path.join(folder, s.name + ".svg")):
            parts.append(picture(s, os.path.join(folder, s.name)))
    parts.append(table_of(findings))
    again = " ".join(f"--set {k}={v}" for k, v in head.get("given", {}).items())
    parts.append(f'<p class="soft">{head["points"]} runs, seed {head["seed"]}.{quick} Again: <code>sluice-lab run '
                 f'{esc(e.name)}{" --quick" if head.get("quick") else ""} --seed {head["seed"]} {esc(again)}</code></p>')
    return "\n".join(parts)


def page(chapters):
    """chapters: [(experiment, folder, head, findings)]"""
    every = [f for _, _, _, findings in chapters for f in findings]
    good = sum(f["holds"] is True for f in every)
    rows = "".join(
        f'<tr><td><a href="#{esc(e.name)}">{esc(e.title)}</a></td><td class="n">{sum(f["holds"] is True for f in fs)} of '
        f'{len(finding.judged(fs))}</td></tr>' for e, _, _, fs in chapters)
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>The lab: five papers on rate-based transport, reproduced</title><style>{STYLE}</style></head><body>
<h1>The lab</h1>
<p class="soft">Five papers on rate-based transport (1992–1996), reproduced with Sluice: in virtual time, and live where it says so</p>
<p>Every figure below is drawn from runs of the product's own code: its hosts, its paths, its control. What the
papers' peers were is modelled, and named so. Beside each finding of a paper stands what came out here, and a verdict:
<b>{good} of {len(finding.judged(every))}</b> findings hold.</p>
<nav><table><tr><th>Experiment</th><th class="n">Findings that hold</th></tr>{rows}</table></nav>
{"".join(chapter(*c) for c in chapters)}
<footer><p>Written by sluice-lab, {time.strftime("%Y-%m-%d", time.gmtime())}.</p></footer>
</body></html>
"""
