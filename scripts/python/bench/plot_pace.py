# SPDX-License-Identifier: BSD-3-Clause
"""The picture of scripts/bench pace: top load and gap error of each engine over the number of flows."""
import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # pace.py imports this file
    from .pace import Figures

# Okabe and Ito's colours, which colour-blind people can distinguish; they differ in grey, too.
STYLES = {"sluice": ("#D55E00", "o", 2.6), "carousel": ("#0072B2", "s", 1.6),
          "eiffel": ("#56B4E9", "D", 1.6), "rte_timer": ("#009E73", "^", 1.6),
          "rte_sched": ("#555555", "v", 1.6), "floor": ("#bbbbbb", "x", 1.2)}
NAMES = {"floor": "no wheel at all", "sluice": "Sluice", "carousel": "Carousel-style", "eiffel": "Eiffel-style"}


def flows_label(n: int) -> str:
    if n >= 1 << 20 and n % (1 << 20) == 0:
        return f"{n >> 20}M"
    if n >= 1000:
        return f"{n >> 10 if n % 1024 == 0 else n // 1000}k"
    return str(n)


def series(figures: "Figures", engine: str, value: Callable[[int, str], float | None]) -> list[tuple[int, float]]:
    points = [(n, value(n, engine)) for n in figures.sizes]
    return [(n, v) for n, v in points if v]


def labels(axes: Any, ends: Iterable[tuple[float, str, str]]) -> None:
    """Names at the lines' right ends, moved apart where they would overlap. ends: (value, name, colour)."""
    import math
    low, high = (math.log10(v) for v in axes.get_ylim())
    least = 0.055 * (high - low)
    at = low - 1
    for value, name, colour in sorted(ends):
        at = max(math.log10(value), at + least)
        axes.annotate(name, (1.02, (at - low) / (high - low)), xycoords="axes fraction", color=colour,
                      va="center", fontsize=9, annotation_clip=False)


def finish(axes: Any, figures: "Figures", title: str, unit: str) -> None:
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xticks(figures.sizes, [flows_label(n) for n in figures.sizes])
    axes.minorticks_off()
    axes.set_xlabel("flows")
    axes.set_ylabel(unit)
    axes.set_title(title, loc="left", fontsize=11)
    axes.grid(True, which="major", color="#dddddd", linewidth=0.8)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def draw(figures: "Figures", path: str) -> None:
    try:
        import matplotlib
        matplotlib.use("Agg")
        import matplotlib.pyplot as plt
        from matplotlib.lines import Line2D
        from matplotlib.ticker import FuncFormatter
    except ImportError:
        print("no picture: Python's matplotlib is missing; run scripts/setup", file=sys.stderr)
        return
    figure, (left, right) = plt.subplots(1, 2, figsize=(13, 5), constrained_layout=True)
    ends: dict[Any, list[tuple[float, str, str]]] = {left: [], right: []}
    for engine, (colour, marker, width) in STYLES.items():
        name = NAMES.get(engine, engine)
        for axes, value, dashes in (
                (left, figures.mpps, "-"),
                (right, lambda n, e: figures.gap_ns(n, e, "p99_ns"), "-"),
                (right, lambda n, e: figures.gap_ns(n, e, "p50_ns"), ":")):
            points = series(figures, engine, value)
            if not points:
                continue
            axes.plot(*zip(*points), color=colour, marker=marker, markersize=5, linewidth=width,
                      linestyle=dashes, zorder=3 if engine == "sluice" else 2)
            if dashes == "-":
                ends[axes].append((points[-1][1], name, colour))
    finish(left, figures, "Highest load with 98 % on schedule, one core", "million packets per second")
    finish(right, figures, "Gap error at half of the slowest engine's top load", "gap error")
    left.yaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))
    right.yaxis.set_major_formatter(FuncFormatter(
        lambda v, _: f"{v:g} ns" if v < 1e3 else f"{v / 1e3:g} µs" if v < 1e6 else f"{v / 1e6:g} ms"))
    for axes, found in ends.items():
        labels(axes, found)
    right.legend(handles=[Line2D([], [], color="#333333", linestyle="-", label="99 %"),
                          Line2D([], [], color="#333333", linestyle=":", label="median")],
                 frameon=False, loc="upper left")
    figure.savefig(path, dpi=120)
    plt.close(figure)
