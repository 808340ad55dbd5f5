# SPDX-License-Identifier: BSD-3-Clause
"""Four senders into one daemon whose capacity is configured: do they have equal shares of it, also
while one of them is stopped?

Two daemons over a memif, four `sluice perf client` at one of them. What arrives is read from the
receiving daemon (`sluice show conns`) every 50 ms; shares are taken from the middle of each phase,
and drawn.
"""
import os
import signal
import time

from .daemon import Build
from .pair import ADDR_B, memif_pair
from .process import LabError, cpus

SENDERS = 4
STEP_S = 0.05
SETTLE_S = 2.0  # clients first find out how much to send at once
BAR = 0.02
COLOURS = ["#D55E00", "#0072B2", "#009E73", "#CC79A7"]  # Okabe and Ito's


def options(parser):
    parser.add_argument("--phase", type=float, default=4.0, help="seconds of each of the three phases")
    parser.add_argument("--capacity", default="4Gbit")


def _look(daemon):
    return time.monotonic(), {c["conn"]: c["rx_bytes"] for c in daemon.show("conns")
                              if c["state"] == "open"}


def _watch(daemon, seconds, looks):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        looks.append(_look(daemon))
        time.sleep(STEP_S)


def _rates(first, last):
    return {i: (last[1][i] - first[1][i]) / (last[0] - first[0])
            for i in last[1] if i in first[1]}


def _phase(results, looks, name, busy, capacity_Bps):
    """Of the phase's second half; busy: the connections that send."""
    rates = _rates(looks[len(looks) // 2], looks[-1])
    used = sum(rates.values())
    for i, number in enumerate(busy):
        results.add(f"{name}: share of sender {i + 1}", rates[number] / used, "of all")
    worst = max(abs(rates[number] / used * len(busy) - 1) for number in busy)
    results.add(f"{name}: farthest from 1/{len(busy)}", worst, "of it", bar=BAR, at_most=True)
    results.add(f"{name}: of the capacity used", used / capacity_Bps, "share")


def draw(path, looks, marks, capacity_Bps):
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    start = looks[0][0]
    figure, axes = plt.subplots(figsize=(9, 4.5), constrained_layout=True)
    numbers = sorted({i for _, conns in looks for i in conns})
    for k, number in enumerate(numbers):
        points = [(t - start, conns[number]) for t, conns in looks if number in conns]
        times = [(a[0] + b[0]) / 2 for a, b in zip(points, points[1:])]
        rates = [(b[1] - a[1]) / (b[0] - a[0]) * 8e-9 for a, b in zip(points, points[1:])]
        axes.plot(times, rates, color=COLOURS[k % len(COLOURS)], lw=4 - 0.9 * k, label=f"sender {k + 1}")
    for at, text in marks:
        axes.axvline(at - start, color="#888888", lw=1, ls="--")
        axes.annotate(text, (at - start, 1), xycoords=("data", "axes fraction"), xytext=(4, -12),
                      textcoords="offset points", fontsize=9, color="#444444")
    for share in (3, 4):
        axes.axhline(capacity_Bps * 8e-9 / share, color="#cccccc", lw=0.8, zorder=0)
        axes.annotate(f"1/{share}", (1.005, capacity_Bps * 8e-9 / share), va="center", fontsize=9,
                      xycoords=("axes fraction", "data"), color="#666666")
    axes.set_xlabel("seconds")
    axes.set_ylabel("received, Gbit/s")
    axes.set_ylim(0)
    axes.set_title("Four senders share a configured capacity; one pauses and returns")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.12), frameon=False, ncols=SENDERS)
    figure.savefig(path, dpi=120)
    plt.close(figure)


def run(lab, args, results):
    rest = cpus()
    a, b = memif_pair(lab, Build(args.build, args.huge), b_keys={"capacity": args.capacity})
    b.sluice("server", "perf", "server", "-q", cpus=rest)
    b.wait_listening()
    clients, numbers, looks, marks = [], [], [], []
    for i in range(SENDERS):
        clients.append(a.sluice(f"client{i}", "perf", "client", "-q", "-t",
                                f"{2 * SETTLE_S + 8 * args.phase:g}", "--memory", "32M", ADDR_B,
                                cpus=rest))
        for _ in range(100):
            new = set(_look(b)[1]) - set(numbers)
            if new:
                break
            time.sleep(STEP_S)
        else:
            raise LabError(f"sender {i + 1} does not come\n{clients[-1].tail()}")
        numbers += sorted(new)
    time.sleep(SETTLE_S)
    capacity_Bps = b.show("capacity")[0]["capacity_Bps"]
    phases = [("all four", None), ("one stopped", signal.SIGSTOP), ("it goes on", signal.SIGCONT)]
    for name, sign in phases:
        if sign is not None:
            os.kill(clients[-1].pid, sign)
        marks.append((time.monotonic(), name))
        here = []
        _watch(b, args.phase, here)
        looks += here
        busy = numbers[:-1] if sign == signal.SIGSTOP else numbers
        _phase(results, here, name, busy, capacity_Bps)
    path = os.path.join(args.out, "shares.png")
    os.makedirs(args.out, exist_ok=True)
    draw(path, looks, marks, capacity_Bps)
    print(f"drawn: {os.path.relpath(path)}")
    for client in clients:
        client.stop()
