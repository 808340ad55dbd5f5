# SPDX-License-Identifier: BSD-3-Clause
"""Bar charts as inline SVG. Their colours come from the page's classes, so they follow its light or dark theme."""
import html
import math
from collections.abc import Sequence
from dataclasses import dataclass

from .report import Figure, number

WIDTH, LABEL, GAP, ROW, TOP, BOTTOM = 1120, 236, 24, 22, 40, 24
WIDER = 2.2  # the first panel, compared with each of the others
VALUE_ROOM = 46  # behind the longest bar, for its number


@dataclass(frozen=True)
class Panel:
    """One measure of all tools. values: in the order of the labels; None: not told. link: a line is drawn there."""
    title: str
    unit: str
    values: Sequence[Figure | None]
    link: float | None = None

    def top(self) -> float:
        """The end of the axis."""
        return round_up(max([v.high for v in self.values if v is not None] + [self.link or 0.0], default=0.0))


def round_up(x: float) -> float:
    """The next of some round numbers."""
    if x <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(x))
    return next(step * power for step in (1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10) if step * power >= x * (1 - 1e-9))


def _text(x: float, y: float, words: str, classes: str = "", anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{classes}" text-anchor="{anchor}">{html.escape(words)}</text>'


def _line(x1: float, y1: float, x2: float, y2: float, classes: str) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{classes}"/>'


def _tick(x: float) -> str:
    return f"{x:g}" if x < 10000 else f"{x / 1000:g}k"


def _bar(panel: Panel, figure: Figure | None, left: float, scale: float, y: float, classes: str) -> list[str]:
    middle = y + ROW / 2
    if figure is None:
        return [_text(left + 4, middle + 4, "not told", "quiet n")]
    width = figure.value * scale
    parts = [f'<rect x="{left:.1f}" y="{y + 4:.1f}" width="{max(width, 0.8):.1f}" height="{ROW - 8}" rx="1.5" '
             f'class="bar {classes}"><title>{html.escape(f"{figure.text()} {panel.unit}")}</title></rect>']
    if figure.high > figure.low:
        parts.append(_line(left + figure.low * scale, middle, left + figure.high * scale, middle, "range"))
    parts.append(_text(left + max(width, figure.high * scale) + 5, middle + 4, number(figure.value), "n"))
    return parts


def _panel(panel: Panel, classes: Sequence[str], left: float, width: float, bottom: float) -> list[str]:
    top = panel.top()
    scale = (width - VALUE_ROOM) / top
    parts = [_text(left, 14, panel.title, "title"), _text(left, 29, panel.unit, "quiet n")]
    for part in (0, 0.5, 1):
        x = left + part * top * scale
        parts += [_line(x, TOP - 4, x, bottom, "grid"), _text(x, bottom + 15, _tick(part * top), "quiet n", "middle")]
    if panel.link is not None:
        x = left + panel.link * scale
        parts.append(_line(x, TOP - 4, x, bottom, "link"))
    for i, (figure, name) in enumerate(zip(panel.values, classes)):
        parts += _bar(panel, figure, left, scale, TOP + i * ROW, name)
    return parts


def panels(every: Sequence[Panel], labels: Sequence[tuple[str, str]]) -> str:
    """Panels side by side that share their rows. labels: (text, class) of each row."""
    bottom = TOP + ROW * len(labels)
    unit = (WIDTH - LABEL - GAP * len(every)) / (WIDER + len(every) - 1)
    parts, left = [], float(LABEL)
    for i, (words, name) in enumerate(labels):
        parts.append(_text(LABEL - 12, TOP + i * ROW + ROW / 2 + 4, words, f"label {name}", "end"))
    for i, panel in enumerate(every):
        width = unit * (WIDER if i == 0 else 1)
        parts += _panel(panel, [name for _, name in labels], left, width, bottom)
        left += width + GAP
    words = ", ".join(f"{p.title} in {p.unit}" for p in every)
    return f'<svg viewBox="0 0 {WIDTH} {bottom + BOTTOM}" role="img" aria-label="{html.escape(words)}">' + \
        "\n".join(parts) + "</svg>"
