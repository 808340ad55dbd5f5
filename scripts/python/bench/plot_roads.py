# SPDX-License-Identifier: BSD-3-Clause
"""Draws a road over time: the rate of each flow and the rate that was left to them, the queue before the
link, and the reasons of the grants."""
import csv
import sys
from collections.abc import Sequence
from typing import Any, TypedDict

# Okabe and Ito's colours, which colour-blind people can distinguish.
FLOW, SUM, TCP, LEFT, QUEUE = "#56B4E9", "#0072B2", "#D55E00", "#555555", "#009E73"
WHY = {"queue": "#0072B2", "competing": "#CC79A7", "loss": "#D55E00", "ecn": "#E69F00", "capacity": "#009E73"}
OTHER = "#cccccc"
BINS = 400
FLOWS_SHOWN = 16


class Road(TypedDict):
    """A road, as `roads` printed it."""
    number: int
    verdict: str
    features: str
    missed: list[tuple[str, str, str]]  # (bar, value, limit)
    replay: str  # the argument of --replay; of roads that failed


class Trace(TypedDict):
    """A trace of a road: one value for each time, or for each flow and time."""
    at_ms: list[float]
    left: list[float]   # bit/s that were left to our flows
    queue: list[float]  # bytes
    tcp: list[float]    # bytes so far
    came: list[list[float]]  # bytes so far, of each flow
    why: list[list[str]]     # of each flow


def read(path: str) -> Trace:
    with open(path, encoding="ascii", newline="") as f:
        lines = list(csv.DictReader(f))
    flows = 1 + max(int(line["flow"]) for line in lines)
    of_first = lines[::flows]

    def number(name: str) -> list[float]:
        return [float(line[name]) for line in of_first]

    return {"at_ms": number("at_ms"), "left": number("left_bps"), "queue": number("queue_bytes"),
            "tcp": number("tcp_bytes"),
            "came": [[float(line["wire_bytes"]) for line in lines[i::flows]] for i in range(flows)],
            "why": [[line["why"] for line in lines[i::flows]] for i in range(flows)]}


def scaled(most_bps: float) -> tuple[float, str]:
    """The unit for rates up to this one: (bit/s of it, name)."""
    return next((f, u) for f, u in ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s")) if most_bps >= f or f == 1e3)


def rates(at_ms: Sequence[float], sums: Sequence[float], step: int) -> tuple[list[float], list[float]]:
    """For bins of `step` samples: (times at which they end, bit/s). sums: bytes so far at each time."""
    ends = range(step, len(sums), step)
    return ([at_ms[i] for i in ends], [8e3 * (sums[i] - sums[i - step]) / (at_ms[i] - at_ms[i - step]) for i in ends])


def strip(axes: Any, trace: Trace) -> None:
    """A line for each flow, coloured by the reason of its grant."""
    step = max(1, len(trace["at_ms"]) // BINS)
    shown = trace["why"][:FLOWS_SHOWN]
    for i, words in enumerate(shown):
        begun = 0
        for k in range(step, len(words) + step, step):
            last = k >= len(words)
            if last or words[k] != words[begun]:
                end = trace["at_ms"][min(k, len(words) - 1)]
                axes.barh(i, end - trace["at_ms"][begun], left=trace["at_ms"][begun], height=0.9,
                          color=WHY.get(words[begun], OTHER), linewidth=0)
                begun = k
    axes.set_ylim(len(shown) - 0.5, -0.5)
    axes.set_yticks(range(len(shown)), [str(i) for i in range(len(shown))], fontsize=7 if len(shown) > 6 else 9)
    axes.set_ylabel("why, by flow")


def title(road: Road) -> str:
    """Features, missed bars and replay line, broken into lines that fit."""
    missed = [f"{bar} {value} (bar {limit})" for bar, value, limit in road["missed"]]
    lines = [f"road {road['number']}: {road['features']}"]
    for i in range(0, len(missed), 4):
        lines.append("missed: " * (i == 0) + ", ".join(missed[i:i + 4]))
    words, line = road["replay"].split(), ""
    for word in words:
        if len(line) + len(word) > 130:
            lines.append(line)
            line = ""
        line += " " * bool(line) + word
    return "\n".join(lines + [line])


def draw(trace: str, road: Road, path: str) -> bool:
    """trace: the file that `roads --trace` wrote. Returns False without matplotlib."""
    try:
        import matplotlib
        matplotlib.use("Agg")
        import matplotlib.pyplot as plt
        from matplotlib.patches import Patch
    except ImportError:
        print("no picture: Python's matplotlib is missing; run scripts/setup", file=sys.stderr)
        return False
    seen = read(trace)
    at = seen["at_ms"]
    step = max(1, len(at) // BINS)
    factor, unit = scaled(max(seen["left"]))
    heights = [3, 2, 1 + 0.06 * min(FLOWS_SHOWN, len(seen["why"]))]
    figure, (top, middle, bottom) = plt.subplots(3, 1, figsize=(12, 9), sharex=True, constrained_layout=True,
                                                 gridspec_kw={"height_ratios": heights})
    top.step(at, [x / factor for x in seen["left"]], where="post", color=LEFT, linewidth=1.2, linestyle="--",
             label="left to us")
    if len(seen["came"]) > 1:
        for i, sums in enumerate(seen["came"]):
            times, bps = rates(at, sums, step)
            top.plot(times, [x / factor for x in bps], color=FLOW, linewidth=0.7, alpha=0.7,
                     label="each flow" if i == 0 else None)
    times, bps = rates(at, [sum(column) for column in zip(*seen["came"])], step)
    top.plot(times, [x / factor for x in bps], color=SUM, linewidth=1.3, label="all of ours")
    if seen["tcp"][-1] > 0:
        times, bps = rates(at, seen["tcp"], step)
        top.plot(times, [x / factor for x in bps], color=TCP, linewidth=1.3, label="TCP")
    top.set_ylabel(unit)
    top.set_ylim(0, 1.25 * max(seen["left"]) / factor)
    top.legend(loc="upper right", ncols=4, fontsize=9, frameon=False)
    ends = range(step, len(at), step)
    waits = [seen["queue"][i - step + 1:i + 1] for i in ends]
    middle.fill_between([at[i] for i in ends], [max(w) / 1000 for w in waits], color=QUEUE, alpha=0.25, linewidth=0,
                        label="maximum")
    middle.plot([at[i] for i in ends], [sum(w) / len(w) / 1000 for w in waits], color=QUEUE, linewidth=1.2,
                label="mean")
    middle.legend(loc="upper right", ncols=2, fontsize=9, frameon=False)
    middle.set_ylabel("queue, kB")
    middle.set_ylim(bottom=0)
    strip(bottom, seen)
    bottom.set_xlabel("ms")
    named = sorted({word for words in seen["why"] for word in words})
    patches = [Patch(color=WHY[w], label=w) for w in named if w in WHY]
    if set(named) - set(WHY):
        patches.append(Patch(color=OTHER, label=", ".join(w for w in named if w not in WHY)))
    bottom.legend(handles=patches, loc="upper center", bbox_to_anchor=(0.5, -0.35), ncols=8, fontsize=9, frameon=False)
    for axes in (top, middle, bottom):
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
        axes.grid(True, axis="x", color="#eeeeee")
    figure.suptitle(title(road), fontsize=9, x=0.01, ha="left")
    figure.savefig(path, dpi=110)
    plt.close(figure)
    return True
