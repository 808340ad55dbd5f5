# SPDX-License-Identifier: BSD-3-Clause
"""A Sluice sender behind a link that nobody told it of, through the emulator, with a queue of one
bandwidth-delay product: alone, and beside one Linux TCP (cubic). What each gets is read every 100 ms
and drawn, with the queue's delay as ping finds it while Sluice is alone.

Both need seconds to find their rates, so the windows of a phase follow each other; the reference is
a number, what the link carries.
"""
import json
import os
import re
import time

from . import paired
from .emu import args_build
from testbed.box import ADDR, element, kernel_box
from testbed.daemon import Daemon, af_packet
from testbed.pair import pair_cpus
from testbed.process import TestbedError, cpus, until
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


def options(parser):
    paired.options(parser, paired.WINDOW_MOST_S)
    parser.add_argument("--settle", type=float, default=15.0, metavar="SECONDS",
                        help="of each phase, before its windows")
    parser.add_argument("--rate", type=float, default=100.0, help="of the link, Mbit/s")
    parser.add_argument("--congestion", default="cubic")


def _daemon(testbed, args, side, spaces):
    port = af_packet(f"sl{side}", 1500)
    port.keys = {"address": f"{OURS[side]}/24", "mtu": 1500, "silence": "10s"}
    worker, control = pair_cpus()[1]
    return Daemon(testbed, args_build(args), side, [port], [worker], control, ns=spaces[side],
                  telemetry=True).start()


def _received(telemetry):
    for name in telemetry.ask("/sluice/conns"):
        conn = telemetry.ask(f"/sluice/conn,{name}")
        if conn and conn["state"] == "open":
            return conn["rx_bytes"]
    raise TestbedError("there is no transfer, or it has ended")


def _open(telemetry):
    try:
        return _received(telemetry) > 0
    except TestbedError:
        return False


def _watch(telemetry, seconds):
    """[(time, bytes received)]"""
    looks, end = [], time.monotonic() + seconds
    while time.monotonic() < end:
        asked = time.monotonic()
        received = _received(telemetry)
        looks.append(((asked + time.monotonic()) / 2, received))
        time.sleep(STEP_S)
    return looks


def windows(looks, seconds, pairs):
    """Bytes a second of the last windows, one after the other."""
    found, last = [], looks[-1]
    for look in reversed(looks[:-1]):
        if last[0] - look[0] >= seconds:
            found.append((last[1] - look[1]) / (last[0] - look[0]))
            last = look
    if len(found) < pairs:
        raise TestbedError(f"{len(found)} windows were looked at instead of {pairs}; is the machine so busy?")
    return found[:pairs][::-1]


def _ping(testbed, ns, seconds):
    return testbed.start("ping", ["ping", "-i", "0.2", "-w", str(max(1, int(seconds))), ADDR["right"][0]],
                     ns=ns)


def _times_ms(ping):
    return [float(x) for x in re.findall(r"time=([\d.]+) ms", ping.check(30))]


def draw(path, series, marks, link_Bps):
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
    axes.set_title("A link that nobody described, shared with TCP")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14), frameon=False, ncols=2)
    figure.savefig(path, dpi=120)
    plt.close(figure)


def _per_step(looks, mean_over=5):
    return [((a[0] + b[0]) / 2, (b[1] - a[1]) / (b[0] - a[0]))
            for a, b in zip(looks[::mean_over], looks[mean_over::mean_over])]


def judge_alone(results, rates, pings_ms, link_Bps):
    results.windows(ALONE, rates, "share", bar=ALONE_BAR, scale=1 / link_Bps)
    results.windows(QUEUE, [ms - RTT_S * 1e3 for ms in pings_ms], "ms", bar=QUEUE_BAR_MS, at_most=True)


def judge_beside(results, congestion, ours, theirs):
    """Shares of the link, by windows of both at the same time."""
    results.windows(OURS_ROW.format(congestion), ours, "of the link", bar=BAR)
    results.windows(THEIRS_ROW.format(congestion), theirs, "of the link", bar=BAR)
    results.windows(BOTH, [a + b for a, b in zip(ours, theirs)], "of the link", bar=BOTH_BAR)


def _beside(testbed, args, spaces, telemetry, seconds):
    """(iperf3's report, looks at Sluice, when iperf3 began)"""
    server = testbed.start("iperf3-server", ["iperf3", "-s", "-1", "-p", "5201"], ns=spaces["right"])
    time.sleep(0.5)
    began = time.monotonic()
    tcp = testbed.start("iperf3-client", ["iperf3", "-c", ADDR["right"][0], "-t", str(int(seconds + 1)),
                                      "-C", args.congestion, "-J", "-i", f"{args.window:g}"],
                    ns=spaces["left"], cpus=cpus())
    looks = _watch(telemetry, seconds)
    report = json.loads(tcp.check(60))
    server.stop()
    if "error" in report:
        raise TestbedError(f"iperf3: {report['error']}")
    return report, looks, began


def run(testbed, args, results):
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
        raise TestbedError(f"iperf3 tells of {len(theirs)} windows instead of {args.pairs}")
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
