# SPDX-License-Identifier: BSD-3-Clause
"""A Sluice sender behind a link that nobody told it of, through the emulator, with a queue of one
bandwidth-delay product: alone, and beside one Linux TCP (cubic). What each gets is read every 100 ms
and drawn, with the queue's delay as ping finds it while Sluice is alone.
"""
import json
import os
import re
import time

from .bench_emu import args_build
from .box import ADDR, element, kernel_box
from .daemon import Daemon, af_packet
from .pair import pair_cpus
from .process import LabError, cpus

RTT_S = 0.040
FRAME, MSS, UNIT = 1514, 1448, 1408
OURS = {"left": "10.91.0.11", "right": "10.91.0.12"}
BAR = 0.25
ALONE_BAR = 0.9
COLOURS = {"Sluice": "#0072B2", "TCP cubic": "#D55E00"}
STEP_S = 0.1


def options(parser):
    parser.add_argument("--seconds", type=float, default=30.0, help="of each phase")
    parser.add_argument("--rate", type=float, default=100.0, help="of the link, Mbit/s")
    parser.add_argument("--congestion", default="cubic")


def _daemon(lab, args, side, spaces):
    port = af_packet(f"sl{side}", 1500)
    port.keys = {"address": f"{OURS[side]}/24", "mtu": 1500, "silence": "10s"}
    worker, control = pair_cpus()[1]
    return Daemon(lab, args_build(args), side, [port], [worker], control, ns=spaces[side]).start()


def _received(daemon):
    return sum(c["rx_bytes"] for c in daemon.show("conns") if c["state"] == "open")


def _watch(daemon, seconds, looks):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        asked = time.monotonic()
        received = _received(daemon)
        looks.append(((asked + time.monotonic()) / 2, received))
        time.sleep(STEP_S)


def _rate(looks, share):
    """Bytes a second in the last part of the looks."""
    part = looks[int(len(looks) * (1 - share)):]
    return (part[-1][1] - part[0][1]) / (part[-1][0] - part[0][0])


def _ping(lab, ns, seconds):
    return lab.start("ping", ["ping", "-i", "0.2", "-w", str(max(1, int(seconds))), ADDR["right"][0]],
                     ns=ns)


def _median_ms(ping):
    times = sorted(float(x) for x in re.findall(r"time=([\d.]+) ms", ping.check(30)))
    return times[len(times) // 2]


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


def run(lab, args, results):
    rate_bps = args.rate * 1e6
    queue = int(rate_bps / 8 * RTT_S)
    spec = f"rate {args.rate:g}mbit limit {queue}B delay {RTT_S / 2 * 1e3:g}ms"
    spaces, box = kernel_box(lab, args_build(args), spec, f"delay {RTT_S / 2 * 1e3:g}ms")
    left, right = (_daemon(lab, args, side, spaces) for side in ("left", "right"))
    rest = cpus()
    link = rate_bps / 8 * UNIT / (UNIT + 98)
    right.sluice("server", "perf", "server", "-q", cpus=rest)
    right.wait_listening()
    client = left.sluice("client", "perf", "client", "-q", "-t", f"{3 * args.seconds + 10:g}",
                         "--memory", "16M", OURS["right"], cpus=rest)
    alone, both = [], []
    _watch(right, args.seconds / 2, alone)
    ping = _ping(lab, spaces["left"], args.seconds / 2)
    _watch(right, args.seconds / 2, alone)
    results.add("alone: of the link", _rate(alone, 0.5) / link, "share", bar=ALONE_BAR)
    results.add("alone: queue's delay (median of pings)", _median_ms(ping) - RTT_S * 1e3, "ms",
                RTT_S * 1e3 * 0.2, 1.0, at_most=True)
    server = lab.start("iperf3-server", ["iperf3", "-s", "-1", "-p", "5201"], ns=spaces["right"])
    time.sleep(0.5)
    began = time.monotonic()
    tcp = lab.start("iperf3-client", ["iperf3", "-c", ADDR["right"][0], "-t",
                                      str(int(2 * args.seconds)), "-C", args.congestion, "-J", "-i",
                                      "0.5"], ns=spaces["left"], cpus=rest)
    _watch(right, 2 * args.seconds, both)
    report = json.loads(tcp.check(60))
    server.stop()
    if "error" in report:
        raise LabError(f"iperf3: {report['error']}")
    sums = [i["sum"] for i in report["intervals"]]
    half = [s["bits_per_second"] / 8 for s in sums if s["start"] >= args.seconds]
    theirs = sum(half) / len(half) / (rate_bps / 8 * MSS / FRAME)
    ours = _rate(both, 0.5) / link
    results.add(f"beside {args.congestion}: Sluice", ours, "of the link", bar=BAR)
    results.add(f"beside {args.congestion}: TCP", theirs, "of the link", bar=BAR)
    results.add("both", ours + theirs, "of the link", bar=0.9)
    client.stop()
    dropped = element(box.stop()["forward"], "rate")["dropped"]
    results.add("frames dropped by the queue", dropped, "frames")
    series = {"Sluice": _per_step(alone) + _per_step(both),
              "TCP cubic": [(began + (s["start"] + s["end"]) / 2, s["bits_per_second"] / 8) for s in sums]}
    path = os.path.join(args.out, "beside.png")
    os.makedirs(args.out, exist_ok=True)
    draw(path, series, [(alone[0][0], "alone"), (began, f"TCP {args.congestion} begins")], link)
    print(f"drawn: {os.path.relpath(path)}")
