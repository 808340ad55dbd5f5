# SPDX-License-Identifier: BSD-3-Clause
"""Four senders into one daemon whose capacity is configured: do they have equal shares of it, also
while one of them is stopped?

There are two daemons joined by a memif, and four `sluice perf client` at one of them. The receiving
daemon is asked every 50 ms how much has arrived, and the answers are drawn. All four senders are
measured in the same windows, so they need no turns. Each sender's share, divided by an equal share,
must be within 2 % of 1.
"""
import argparse
import os
import signal
import time
from collections.abc import Mapping, Sequence

from . import paired
from .results import Results
from testbed.daemon import Build
from testbed.pair import ADDR_B, memif_pair
from testbed.process import Process, Testbed, TestbedError, cpus
from testbed.telemetry import Telemetry

SENDERS = 4
STEP_S = 0.05
SETTLE_S = 2.0  # until the clients have found how much to send at once
CHANGE_S = 1.0  # left out after a change; the picture shows how long the change takes
BAR = 0.02
PHASES = (("all four", None), ("one stopped", signal.SIGSTOP), ("it goes on", signal.SIGCONT))
ROW = "{}: share of sender {}"
COLOURS = ["#D55E00", "#0072B2", "#009E73", "#CC79A7"]  # Okabe and Ito's

Look = tuple[float, dict[str, float]]  # (time, {connection: bytes received})
Rates = Mapping[str, float]            # {connection: bytes a second}


def options(parser: argparse.ArgumentParser) -> None:
    paired.options(parser)
    parser.add_argument("--capacity", default="4Gbit", help="capacity of the receiving daemon")


def _look(telemetry: Telemetry) -> Look:
    asked = time.monotonic()
    found = {}
    for name in telemetry.ask("/sluice/conns"):
        conn = telemetry.ask(f"/sluice/conn,{name}")
        if conn and conn["state"] == "open":
            found[name] = conn["rx_bytes"]
    return (asked + time.monotonic()) / 2, found


def _watch(telemetry: Telemetry, seconds: float) -> list[Look]:
    looks: list[Look] = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        looks.append(_look(telemetry))
        time.sleep(STEP_S)
    return looks


def windows(looks: Sequence[Look], seconds: float, pairs: int, busy: Sequence[str]) -> list[Rates]:
    """Rates of the busy connections, of windows that follow each other."""
    found: list[Rates] = []
    first = looks[0]
    for look in looks[1:]:
        if look[0] - first[0] >= seconds:
            found.append({i: (look[1][i] - first[1][i]) / (look[0] - first[0]) for i in busy})
            first = look
    if len(found) < pairs:
        raise TestbedError(f"only {len(found)} of {pairs} windows were sampled: the machine is too busy; try again "
                           "later")
    return found[:pairs]


def shares(rates: Sequence[Rates]) -> dict[str, list[float]]:
    """{connection: its share in each window, divided by an equal share}"""
    for r in rates:
        if sum(r.values()) == 0:
            raise TestbedError("nothing arrived in a window")
    return {i: [r[i] / sum(r.values()) * len(r) for r in rates] for i in rates[0]}


def judge(results: Results, name: str, rates: Sequence[Rates], capacity_Bps: float) -> None:
    """rates: of the windows of one phase."""
    for i, values in enumerate(shares(rates).values(), 1):
        results.windows(ROW.format(name, i), values, "equal shares", bar=paired.Bar(BAR, within=True))
    results.windows(f"{name}: of the capacity used", [sum(r.values()) for r in rates], "share",
                    scale=1 / capacity_Bps)


def draw(path: str, looks: Sequence[Look], marks: Sequence[tuple[float, str]], capacity_Bps: float) -> None:
    """marks: (time, text) of each change."""
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


def run(testbed: Testbed, args: argparse.Namespace, results: Results) -> None:
    paired.check_options(args)
    results.demand(*(ROW.format(name, i + 1) for name, sign in PHASES
                     for i in range(SENDERS - (sign == signal.SIGSTOP))))
    rest = cpus()
    phase_s = CHANGE_S + (args.pairs + 1) * (args.window + STEP_S) + 1
    a, b = memif_pair(testbed, Build(args.build, args.huge), b_keys={"capacity": args.capacity},
                      telemetry=True)
    b.sluice("server", "perf", "server", "-q", cpus=rest)
    b.wait_listening()
    telemetry = Telemetry(b.telemetry_socket)
    clients: list[Process] = []
    names: list[str] = []
    looks: list[Look] = []
    marks: list[tuple[float, str]] = []
    for i in range(SENDERS):
        clients.append(a.sluice(f"client{i}", "perf", "client", "-q", "-t", str(int(60 + 8 * phase_s)),
                                "--memory", "32M", ADDR_B, cpus=rest))
        for _ in range(200):
            new = set(_look(telemetry)[1]) - set(names)
            if new:
                break
            time.sleep(STEP_S)
        else:
            raise TestbedError(f"sender {i + 1} opens no connection\n{clients[-1].tail()}")
        names += sorted(new)
    time.sleep(SETTLE_S)
    capacity_Bps = b.show("capacity")[0]["capacity_Bps"]
    for name, sign in PHASES:
        if sign is not None:
            os.kill(clients[-1].pid, sign)
        marks.append((time.monotonic(), name))
        here = _watch(telemetry, phase_s)
        looks += here
        busy = names[:-1] if sign == signal.SIGSTOP else names
        steady = [x for x in here if x[0] >= here[0][0] + CHANGE_S]
        judge(results, name, windows(steady, args.window, args.pairs, busy), capacity_Bps)
    path = os.path.join(args.out, "shares.png")
    os.makedirs(args.out, exist_ok=True)
    draw(path, looks, marks, capacity_Bps)
    print(f"drawn: {os.path.relpath(path)}")
    for client in clients:
        client.stop()
