# SPDX-License-Identifier: BSD-3-Clause
"""A Sluice sender behind a link of the emulator whose rate and delay are not configured: alone, and beside
one Linux TCP (cubic). The link's queue holds one bandwidth-delay product. The rate of each flow is drawn,
from samples every 100 ms. While Sluice is alone, ping measures the queue's delay.

Both flows need seconds to find their rates, so the windows of a phase follow each other. The reference
is a number, the link's rate.
"""
import argparse
import json
import os
import re
import time
from collections.abc import Mapping, Sequence
from typing import Any

from . import paired
from .emu import args_build
from .paired import Bar
from .results import Results
from testbed.box import ADDR, element, kernel_box
from testbed.daemon import Daemon, af_packet
from testbed.pair import pair_cpus
from testbed.process import Process, Testbed, TestbedError, cpus, until
from testbed.telemetry import Telemetry

RTT_S = 0.040
FRAME, MSS, UNIT = 1514, 1448, 1408
OURS = {"left": "10.91.0.11", "right": "10.91.0.12"}
BAR, ALONE_BAR, BOTH_BAR = 0.25, 0.9, 0.9
QUEUE_BAR_MS = RTT_S * 1e3 * 0.2
ALONE, QUEUE, BOTH = "alone: of the link", "alone: queue's delay, of pings", "both"
OURS_ROW, THEIRS_ROW = "beside {}: Sluice", "beside {}: TCP"
COLOURS = {"Sluice": "#0072B2", "TCP cubic": "#D55E00"}
STEP_S = 0.1

Point = tuple[float, float]  # (time, bytes received) or (time, bytes a second)


def options(parser: argparse.ArgumentParser) -> None:
    paired.options(parser, paired.WINDOW_MAX_S)
    parser.add_argument("--settle", type=float, default=15.0, metavar="SECONDS",
                        help="length of the part of each phase before its windows")
    parser.add_argument("--rate", type=float, default=100.0, help="rate of the link, Mbit/s")
    parser.add_argument("--congestion", default="cubic", help="congestion control of iperf3's TCP")


def _daemon(testbed: Testbed, args: argparse.Namespace, side: str, spaces: Mapping[str, str]) -> Daemon:
    port = af_packet(f"sl{side}", 1500)
    port.keys = {"address": f"{OURS[side]}/24", "mtu": 1500, "silence": "10s"}
    worker, control = pair_cpus()[1]
    return Daemon(testbed, args_build(args), side, [port], [worker], control, ns=spaces[side],
                  telemetry=True).start()


def _received(telemetry: Telemetry) -> int:
    for name in telemetry.ask("/sluice/conns"):
        conn = telemetry.ask(f"/sluice/conn,{name}")
        if conn and conn["state"] == "open":
            return int(conn["rx_bytes"])
    raise TestbedError("there is no transfer, or it has ended")


def _open(telemetry: Telemetry) -> bool:
    try:
        return _received(telemetry) > 0
    except TestbedError:
        return False


def _watch(telemetry: Telemetry, seconds: float) -> list[Point]:
    """[(time, bytes received)]"""
    looks: list[Point] = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        asked = time.monotonic()
        received = _received(telemetry)
        looks.append(((asked + time.monotonic()) / 2, received))
        time.sleep(STEP_S)
    return looks


def windows(looks: Sequence[Point], seconds: float, pairs: int) -> list[float]:
    """Bytes a second of the last windows, which follow each other."""
    found: list[float] = []
    last = looks[-1]
    for look in reversed(looks[:-1]):
        if last[0] - look[0] >= seconds:
            found.append((last[1] - look[1]) / (last[0] - look[0]))
            last = look
    if len(found) < pairs:
        raise TestbedError(f"only {len(found)} of {pairs} windows were sampled: the machine is too busy; try again "
                           "later")
    return found[:pairs][::-1]


def _ping(testbed: Testbed, ns: str, seconds: float) -> Process:
    return testbed.start("ping", ["ping", "-i", "0.2", "-w", str(max(1, int(seconds))), ADDR["right"][0]],
                         ns=ns)


def _times_ms(ping: Process) -> list[float]:
    return [float(x) for x in re.findall(r"time=([\d.]+) ms", ping.check(30))]


def draw(path: str, series: Mapping[str, Sequence[Point]], marks: Sequence[tuple[float, str]],
         link_Bps: float) -> None:
    """series: {name: [(time, bytes a second)]}; marks: (time, text) of each change."""
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    start = min(points[0][0] for points in series.values())
    figure, axes = plt.subplots(figsize=(9, 4.2), constrained_layout=True)
    for name, points in series.items():
        axes.plot([t - start for t, _ in points], [r * 8e-6 for _, r in points], lw=1.4,
                  color=COLOURS[name], label=name)
    for at, text in marks:
        axes.axvline(at - start, color="#888888", lw=1, ls="--")
        axes.annotate(text, (at - start, 1), xycoords=("data", "axes fraction"), xytext=(4, -12),
                      textcoords="offset points", fontsize=9, color="#444444")
    axes.axhline(link_Bps * 8e-6, color="#cccccc", lw=0.8, zorder=0)
    axes.set_xlabel("seconds")
    axes.set_ylabel("payload, Mbit/s")
    axes.set_ylim(0)
    axes.set_title("A link of unknown rate and delay, shared with TCP")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14), frameon=False, ncols=2)
    figure.savefig(path, dpi=120)
    plt.close(figure)


def _per_step(looks: Sequence[Point], mean_over: int = 5) -> list[Point]:
    """[(time, bytes a second)]"""
    return [((a[0] + b[0]) / 2, (b[1] - a[1]) / (b[0] - a[0]))
            for a, b in zip(looks[::mean_over], looks[mean_over::mean_over])]


def judge_alone(results: Results, rates: Sequence[float], pings_ms: Sequence[float], link_Bps: float) -> None:
    results.windows(ALONE, rates, "share", bar=ALONE_BAR, scale=1 / link_Bps)
    results.windows(QUEUE, [ms - RTT_S * 1e3 for ms in pings_ms], "ms", bar=Bar(QUEUE_BAR_MS, at_most=True))


def judge_beside(results: Results, congestion: str, ours: Sequence[float], theirs: Sequence[float]) -> None:
    """Shares of the link, in windows at the same times."""
    results.windows(OURS_ROW.format(congestion), ours, "of the link", bar=BAR)
    results.windows(THEIRS_ROW.format(congestion), theirs, "of the link", bar=BAR)
    results.windows(BOTH, [a + b for a, b in zip(ours, theirs)], "of the link", bar=BOTH_BAR)


def _beside(testbed: Testbed, args: argparse.Namespace, spaces: Mapping[str, str], telemetry: Telemetry,
            seconds: float) -> tuple[dict[str, Any], list[Point], float]:
    """(iperf3's report, [(time, bytes received)] of Sluice, time at which iperf3 began)"""
    server = testbed.start("iperf3-server", ["iperf3", "-s", "-1", "-p", "5201"], ns=spaces["right"])
    time.sleep(0.5)
    began = time.monotonic()
    tcp = testbed.start("iperf3-client", ["iperf3", "-c", ADDR["right"][0], "-t", str(int(seconds + 1)),
                                          "-C", args.congestion, "-J", "-i", f"{args.window:g}"],
                        ns=spaces["left"], cpus=cpus())
    looks = _watch(telemetry, seconds)
    report: dict[str, Any] = json.loads(tcp.check(60))
    server.stop()
    if "error" in report:
        raise TestbedError(f"iperf3: {report['error']}")
    return report, looks, began


def run(testbed: Testbed, args: argparse.Namespace, results: Results) -> None:
    paired.check_options(args)
    results.demand(ALONE, QUEUE, BOTH, *(row.format(args.congestion) for row in (OURS_ROW, THEIRS_ROW)))
    rate_bps = args.rate * 1e6
    queue = int(rate_bps / 8 * RTT_S)
    spec = f"rate {args.rate:g}mbit limit {queue}B delay {RTT_S / 2 * 1e3:g}ms"
    spaces, box = kernel_box(testbed, args_build(args), spec, f"delay {RTT_S / 2 * 1e3:g}ms")
    left, right = (_daemon(testbed, args, side, spaces) for side in ("left", "right"))
    link = rate_bps / 8 * UNIT / (UNIT + 98)
    measure_s = (args.pairs + 1) * (args.window + STEP_S) + 1
    right.sluice("server", "perf", "server", "-q", cpus=cpus())
    right.wait_listening()
    client = left.sluice("client", "perf", "client", "-q", "-t", str(int(4 * (args.settle + measure_s) + 60)),
                         "--memory", "16M", OURS["right"], cpus=cpus())
    telemetry = Telemetry(right.telemetry_socket)
    until(lambda: _open(telemetry), 30, "the transfer begins")
    alone = _watch(telemetry, args.settle)
    ping = _ping(testbed, spaces["left"], measure_s)
    alone += _watch(telemetry, measure_s)
    judge_alone(results, windows(alone, args.window, args.pairs), _times_ms(ping), link)
    report, both, began = _beside(testbed, args, spaces, telemetry, args.settle + measure_s)
    sums = [i["sum"] for i in report["intervals"]]
    tcp_link = rate_bps / 8 * MSS / FRAME
    theirs = [s["bits_per_second"] / 8 / tcp_link for s in sums if s["start"] >= args.settle]
    if len(theirs) < args.pairs:
        raise TestbedError(f"iperf3 reports {len(theirs)} windows instead of {args.pairs}")
    ours = [rate / link for rate in windows(both, args.window, args.pairs)]
    judge_beside(results, args.congestion, ours, theirs[:args.pairs])
    client.stop()
    results.figure("frames dropped by the queue", element(box.stop()["forward"], "rate")["dropped"],
                   "frames")
    series = {"Sluice": _per_step(alone) + _per_step(both),
              "TCP cubic": [(began + (s["start"] + s["end"]) / 2, s["bits_per_second"] / 8) for s in sums]}
    path = os.path.join(args.out, "beside.png")
    os.makedirs(args.out, exist_ok=True)
    draw(path, series, [(alone[0][0], "alone"), (began, f"TCP {args.congestion} begins")], link)
    print(f"drawn: {os.path.relpath(path)}")
