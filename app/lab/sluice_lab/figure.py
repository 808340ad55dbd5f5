# SPDX-License-Identifier: BSD-3-Clause
"""Figures, from the rows of an experiment. A [figure] has

  title, caption    texts
  kind              lines (default), surface, course (a series over time), cumulated (of a series)
  sweep, where      which rows: sweeps' names; PARAMETER=VALUE[,VALUE...] ...
  x, y              parameter, measures; surface: z is a measure over the parameters x and y
  series            one name or more, for course and cumulated
  by                a line for each value of this parameter
  x scale, y scale  log
  x label, y label, z label: texts;  x range, y range: LOW HIGH
  x per, y per      values are divided by this number: 1e6 for Mbit/s
  since             seconds: series begin there
  mark x, mark y    VALUE: TEXT; VALUE: TEXT ... lines across the figure, for values of the paper
  names             VALUE: TEXT; ... the names of lines
"""
import os
import statistics
from collections.abc import Collection, Sequence
from typing import Any

from . import LabError, NoRuns, store
from .conf import Experiment, Section
from .expr import number
from .finding import Table
from .store import Row

ENDINGS = (".png", ".svg")
# Okabe and Ito's colours, which colour-blind people can tell apart. Dashes and markers differ in grey.
STYLES: list[tuple[str, str | tuple[int, tuple[int, ...]], str]] = [
    ("#0072B2", "-", "o"), ("#D55E00", "--", "s"), ("#009E73", "-.", "^"), ("#CC79A7", ":", "D"),
    ("#E69F00", (0, (6, 1, 1, 1, 1, 1)), "v"), ("#56B4E9", (0, (4, 1)), "P"), ("#555555", (0, (1, 1)), "X")]


def plots() -> Any:
    """matplotlib.pyplot"""
    try:
        import matplotlib
        matplotlib.use("Agg")
        import matplotlib.pyplot as plt
    except ImportError:
        raise LabError("Python's matplotlib is missing; install python3-matplotlib, or use --no-figures") from None
    plt.rcParams.update({"font.size": 10, "font.family": "DejaVu Sans", "axes.spines.top": False,
                         "axes.spines.right": False, "axes.grid": True, "grid.color": "#dddddd",
                         "grid.linewidth": 0.6, "axes.axisbelow": True, "svg.hashsalt": "sluice-lab"})
    return plt


def filters_of(section: Section) -> dict[str, list[str]]:
    found = {}
    for word in section.get("where", "").split():
        name, equal, values = word.partition("=")
        if not equal:
            section.error("where", f"\"{word}\" is not a filter; write PARAMETER=VALUE,VALUE")
        found[name] = values.split(",")
    return found


class Drawing:
    def __init__(self, section: Section, rows: Sequence[Row]) -> None:
        self.section = section
        self.table = Table(rows)
        try:
            self.rows = self.table.select(section.get("sweep", "").split() or None, **filters_of(section))
        except ValueError as e:
            section.error("where", f"{e}; correct it")
        if not self.rows:
            raise NoRuns("no run fits")
        self.names = dict(section.pairs("names"))
        self.per, self.x_per = section.number("y per", 1.0), section.number("x per", 1.0)

    def check(self, key: str, known: Collection[str], what: str) -> str:
        """The value of the key, which must be one of these. what: a noun for them."""
        name = self.section.need(key)
        if name not in known:
            self.section.error(key, f"there is no {what} {name}; there are: {', '.join(sorted(known))}")
        return name

    def groups(self) -> list[tuple[str | None, list[Row]]]:
        """[(name, rows)], in the order of the rows."""
        by = self.section.get("by")
        if by is None:
            return [(None, self.rows)]
        self.check("by", self.rows[0]["set"], "parameter")
        found: dict[str, list[Row]] = {}
        for r in self.rows:
            found.setdefault(r["set"][by], []).append(r)
        return [(self.names.get(k, k), rows) for k, rows in found.items()]

    def coordinate(self, key: str, text: str) -> float:
        """A value of the parameter that is x or y."""
        value = number(text)
        if isinstance(value, str):
            self.section.error(key, f"{self.section.need(key)} has the value \"{text}\", which is not a number; "
                                    "choose another parameter")
        return value

    def curves(self) -> list[tuple[str | None, dict[float, list[float]]]]:
        """[(label, {x: [values of the runs]})], for each measure and group."""
        x = self.check("x", self.rows[0]["set"], "parameter")
        measures = self.section.need("y").split()
        for y in measures:
            if y not in self.rows[0]["values"]:
                self.section.error("y", f"there is no measure {y}; there are: "
                                        f"{', '.join(sorted(self.rows[0]['values']))}")
        out = []
        for y in measures:
            for name, rows in self.groups():
                found: dict[float, list[float]] = {}
                for r in rows:
                    value = r["values"].get(y)
                    if value is not None:
                        at = self.coordinate("x", r["set"][x]) / self.x_per
                        found.setdefault(at, []).append(value / self.per)
                out.append((self.label(y, name, len(measures)), found))
        return out

    def label(self, what: str, group: str | None, of: int) -> str | None:
        """The label of a line: its group, and the measure or series if the figure has several (of)."""
        if of == 1:
            return group
        what = self.names.get(what, what)
        return what if group is None else f"{group}: {what}"

    def lines(self, axes: Any) -> None:
        for i, (label, found) in enumerate(self.curves()):
            colour, dashes, marker = STYLES[i % len(STYLES)]
            at = sorted(found)
            axes.plot(at, [statistics.fmean(found[v]) for v in at], color=colour, linestyle=dashes, marker=marker,
                      markersize=5, linewidth=1.8, label=label)
            if any(len(found[v]) > 2 for v in at):
                axes.errorbar(at, [statistics.fmean(found[v]) for v in at], fmt="none", ecolor=colour, alpha=0.45,
                              elinewidth=1, capsize=2,
                              yerr=[statistics.stdev(found[v]) if len(found[v]) > 1 else 0 for v in at])

    def series_names(self) -> list[str]:
        wanted = self.section.need("series").split()
        for name in wanted:
            if not any(name in r["series"] for r in self.rows):
                self.section.error("series", f"no run has kept {name}; name it in \"series\" of its [sweep]")
        return wanted

    def series(self) -> list[tuple[str | None, list[float], list[float | None]]]:
        """[(label, t, v)], of one run of each group; more would hide each other."""
        out = []
        wanted, since = self.series_names(), self.section.number("since", 0.0)
        for group, rows in self.groups():
            for name in wanted:
                s = next((r["series"][name] for r in rows if name in r["series"]), None)
                if s is None:
                    continue
                label = self.label(name, group, len(wanted))
                points = [(t, None if v is None else v / self.per) for t, v in zip(s["t"], s["v"]) if t >= since]
                out.append((label, [p[0] for p in points], [p[1] for p in points]))
        return out

    def course(self, axes: Any) -> None:
        for i, (label, t, v) in enumerate(self.series()):
            colour, dashes, _ = STYLES[i % len(STYLES)]
            axes.plot(t, [float("nan") if y is None else y for y in v], color=colour, linestyle=dashes, linewidth=1.6,
                      label=label)

    def cumulated(self, axes: Any) -> None:
        for i, (label, _, v) in enumerate(self.series()):
            colour, dashes, _ = STYLES[i % len(STYLES)]
            values = sorted(y for y in v if y is not None)
            axes.step(values, [(k + 1) / len(values) for k in range(len(values))], where="post", color=colour,
                      linestyle=dashes, linewidth=1.8, label=label)

    def surface(self, figure: Any, axes_list: list[Any]) -> None:
        """A map for each group. All have one scale of colours and the same contour lines."""
        x = self.check("x", self.rows[0]["set"], "parameter")
        y = self.check("y", self.rows[0]["set"], "parameter")
        z = self.check("z", self.rows[0]["values"], "measure")
        groups = self.groups()
        means = [Table(rows).groups(z, [x, y]) for _, rows in groups]
        low = min(v for m in means for v in m.values()) / self.per
        high = max(v for m in means for v in m.values()) / self.per
        for axes, (name, _), m in zip(axes_list, groups, means):
            heights = {(self.coordinate("x", k[0]), self.coordinate("y", k[1])): v / self.per for k, v in m.items()}
            xs = sorted({a for a, _ in heights})
            ys = sorted({b for _, b in heights})
            grid = [[heights.get((a, b), float("nan")) for a in xs] for b in ys]
            shown = axes.pcolormesh(xs, ys, grid, cmap="cividis", vmin=low, vmax=high, shading="nearest")
            if len(xs) > 2 and len(ys) > 2 and low < high:
                lines = axes.contour(xs, ys, grid, colors="white", linewidths=0.8,
                                     levels=[low + (high - low) * f for f in (0.25, 0.5, 0.75, 0.9)])
                axes.clabel(lines, fmt="%.3g", fontsize=7)
            axes.grid(False)
            self.dress(axes, name or "")
        bar = figure.colorbar(shown, ax=axes_list)
        bar.set_label(self.section.get("z label", z))

    def dress(self, axes: Any, title: str) -> None:
        """Adds marks, scales, ranges, labels and the title."""
        s = self.section
        for key, line in (("mark x", axes.axvline), ("mark y", axes.axhline)):
            for i, (value, label) in enumerate(s.pairs(key)):
                line(float(value), color="#888888", linestyle=(0, (2, 2)), linewidth=1)
                if key == "mark x":
                    axes.annotate(label, (float(value), 1 - 0.07 * i), xycoords=("data", "axes fraction"), fontsize=8,
                                  color="#555555", xytext=(3, -3), textcoords="offset points", va="top")
                else:
                    axes.annotate(label, (1, float(value)), xycoords=("axes fraction", "data"), fontsize=8,
                                  color="#555555", xytext=(-3, 3), textcoords="offset points", ha="right")
        for name, scale, limits in (("x", axes.set_xscale, axes.set_xlim), ("y", axes.set_yscale, axes.set_ylim)):
            if s.get(f"{name} scale"):
                scale(s.get(f"{name} scale"))
                side = axes.xaxis if name == "x" else axes.yaxis
                if s.get("kind") != "surface":
                    side.set_major_formatter(lambda v, _: f"{v:g}")
            ends = s.limits(f"{name} range")
            if ends is not None:
                limits(*ends)
        course = s.get("kind") == "course"
        axes.set_xlabel(s.get("x label", "time (s)" if course else s.get("x", "")))
        axes.set_ylabel(s.get("y label", s.get("y", s.get("series", ""))))
        axes.set_title(title, loc="left", fontsize=10.5, fontweight="bold")


def draw(section: Section, rows: Sequence[Row], folder: str) -> str:
    """Writes NAME.png and NAME.svg; returns their path without the ending."""
    plt = plots()
    drawing = Drawing(section, rows)
    kind = section.get("kind", "lines")
    kinds = {"lines": drawing.lines, "course": drawing.course, "cumulated": drawing.cumulated}
    if kind == "surface":
        n = len(drawing.groups())
        figure, axes = plt.subplots(1, n, figsize=(1.5 + 3.8 * n, 3.7), constrained_layout=True, squeeze=False,
                                    sharey=True)
        drawing.surface(figure, list(axes[0]))
    else:
        figure, axes = plt.subplots(figsize=(7.2, 3.9), constrained_layout=True)
        kinds[kind](axes)
        drawing.dress(axes, section.need("title"))
        if len(axes.get_legend_handles_labels()[1]) > 0:
            axes.legend(frameon=False, fontsize=9, loc="center left", bbox_to_anchor=(1.01, 0.5))
    path = os.path.join(folder, section.name)
    with store.whole(path + ".png") as part:
        figure.savefig(part, format="png", dpi=150, metadata={"Software": None})
    with store.whole(path + ".svg") as part:
        figure.savefig(part, format="svg", metadata={"Date": None, "Creator": None})
    plt.close(figure)
    return path


def remove_all(experiment: Experiment, folder: str) -> None:
    """Removes the figures of earlier rows, which the report would show beside the verdicts of others."""
    for s in experiment.all("figure"):
        for ending in ENDINGS:
            store.remove(os.path.join(folder, s.name + ending))


def draw_all(experiment: Experiment, rows: Sequence[Row], folder: str, lenient: bool = False) -> None:
    """lenient: a figure without runs is left out."""
    for s in experiment.all("figure"):
        try:
            draw(s, rows, folder)
        except NoRuns as e:
            if not lenient:
                s.error("where", f"{e}; correct sweep or where")
