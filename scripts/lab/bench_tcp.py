# SPDX-License-Identifier: BSD-3-Clause
"""Linux TCP through the emulator: iperf3 over `rate 100mbit delay 20ms` and a queue of one
bandwidth-delay product, against the link's rate."""
import json
import re

from .bench_emu import args_build
from .box import ADDR, element, kernel_box
from .pair import pair_cpus
from .process import LabError

RATE_BPS = 100e6
RTT_S = 0.040  # 20 ms each way
QUEUE_BYTES = int(RATE_BPS / 8 * RTT_S)
FRAME, MSS = 1514, 1448
BARS = {"cubic": 0.9, "bbr": 0.9, "reno": None}


def options(parser):
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=15.0)


def iperf(lab, spaces, congestion, seconds):
    """(goodput without the first 3 s, retransmitted segments, round-trip times in ms)"""
    server = lab.start("iperf3-server", ["iperf3", "-s", "-1", "-p", "5201"], ns=spaces["right"])
    client = lab.start("iperf3-client", ["iperf3", "-c", ADDR["right"][0], "-t", str(int(seconds)),
                                         "-O", "3", "-C", congestion, "-J", "-i", "1"],
                       ns=spaces["left"], cpus=[pair_cpus()[1][0]])
    result = json.loads(client.check(60 + 3 * seconds))
    server.stop()
    if "error" in result:
        raise LabError(f"iperf3: {result['error']}")
    stream = result["end"]["streams"][0]["sender"]
    # the sums leave out what was before
    repeats = sum(i["streams"][0]["retransmits"] for i in result["intervals"])
    return (result["end"]["sum_received"]["bits_per_second"], repeats,
            (stream["min_rtt"] / 1e3, stream["mean_rtt"] / 1e3, stream["max_rtt"] / 1e3))


def available(lab, ns):
    """Congestion controls of this kernel."""
    text = lab.run("cat", ["cat", "/proc/sys/net/ipv4/tcp_available_congestion_control"], ns=ns)
    return re.findall(r"\w+", text)


def run(lab, args, results):
    link = RATE_BPS * MSS / FRAME  # payload of a full link of full frames
    kinds = None
    measured = {}
    for i in range(args.rounds):
        for congestion in BARS:
            mark = lab.mark()
            spec = f"rate 100mbit limit {QUEUE_BYTES}B delay 20ms"
            spaces, box = kernel_box(lab, args_build(args), spec, "delay 20ms")
            kinds = kinds or available(lab, spaces["left"])
            if congestion not in kinds:
                raise LabError(f"this kernel has no TCP {congestion}: it has {', '.join(kinds)}")
            goodput, repeats, rtt = iperf(lab, spaces, congestion, args.seconds)
            report = box.stop()["forward"]
            lost = element(report, "rate")["dropped"]
            measured.setdefault(congestion, []).append((goodput, repeats, lost, rtt))
            print(f"round {i + 1}, {congestion}: {goodput / 1e6:.1f} Mbit/s, {lost} frames lost in the "
                  f"queue, {repeats} segments sent again, RTT {rtt[0]:.1f} / {rtt[1]:.1f} / "
                  f"{rtt[2]:.1f} ms", flush=True)
            lab.close_to(mark)
    for congestion, runs in measured.items():
        middle = sorted(runs)[len(runs) // 2]
        results.add(f"{congestion}: goodput", middle[0] / 1e6, "Mbit/s", link / 1e6, BARS[congestion])
        results.add(f"{congestion}: shortest RTT", middle[3][0], "ms", RTT_S * 1e3, 1.0)
        # twice the path: the queue holds as much again; 10 % for this machine's own time
        results.add(f"{congestion}: longest RTT", middle[3][2], "ms", 2 * RTT_S * 1e3, 1.1, at_most=True)
        if middle[2] > 0:
            # what is lost in the last round trip is not missed any more
            results.add(f"{congestion}: sent again for each lost", middle[1], "segments", middle[2],
                        0.95)
