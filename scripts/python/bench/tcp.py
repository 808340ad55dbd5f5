# SPDX-License-Identifier: BSD-3-Clause
"""Linux TCP through the emulator: iperf3 over `rate 100mbit delay 20ms` and a queue of one
bandwidth-delay product, against the link's rate.

A TCP needs seconds to find its window, so its windows of measurement follow each other in one
transfer. The reference is a number, the link's rate. The three kinds of TCP take turns in an order
that the seed draws.
"""
import argparse
import json
import random
import re
from typing import Any

from . import paired
from .emu import args_build
from .paired import Bar
from .results import Results
from testbed.box import ADDR, element, kernel_box
from testbed.pair import pair_cpus
from testbed.process import Testbed, TestbedError

RATE_BPS = 100e6
RTT_S = 0.040  # 20 ms each way
QUEUE_BYTES = int(RATE_BPS / 8 * RTT_S)
FRAME, MSS = 1514, 1448
LINK_BPS = RATE_BPS * MSS / FRAME  # payload of a full link of full frames
BEGIN_S = 3  # until TCP has found its window
BARS = {"cubic": 0.9, "bbr": 0.9, "reno": None}
# The queue holds as much as the path, so the longest round trip is two paths; 10 % are for the time
# that this machine takes.
LONGEST_S, LONGEST_BAR = 2 * RTT_S, 1.1
AGAIN_BAR = 0.95  # TCP does not send again what the last round trip lost
GOODPUT, SHORTEST, LONGEST, AGAIN = ("{}: " + x for x in (
    "goodput", "shortest RTT", "RTT", "sent again for each lost"))

Report = dict[str, Any]  # iperf3's JSON


def options(parser: argparse.ArgumentParser) -> None:
    paired.options(parser, paired.WINDOW_MAX_S)


def _iperf(testbed: Testbed, args: argparse.Namespace, spaces: dict[str, str],
           congestion: str) -> tuple[Report, Report]:
    """Reports of the client and of the server."""
    seconds = BEGIN_S + args.pairs * args.window + 1
    server = testbed.start("iperf3-server", ["iperf3", "-s", "-1", "-p", "5201", "-J", "-i",
                                             f"{args.window:g}"], ns=spaces["right"])
    client = testbed.start("iperf3-client", ["iperf3", "-c", ADDR["right"][0], "-t", str(int(seconds + 1)),
                                             "-C", congestion, "-J", "-i", f"{args.window:g}"],
                           ns=spaces["left"], cpus=[pair_cpus()[1][0]])
    sent, received = (json.loads(p.check(60 + 3 * seconds)) for p in (client, server))
    for report in (sent, received):
        if "error" in report:
            raise TestbedError(f"iperf3: {report['error']}")
    return sent, received


def windows(report: Report, pairs: int, field: str) -> list[float]:
    """This field of each window after the beginning, in the report of one side."""
    found = [i["streams"][0][field] for i in report["intervals"] if i["sum"]["start"] >= BEGIN_S]
    if len(found) < pairs:
        raise TestbedError(f"iperf3 reports {len(found)} windows instead of {pairs}")
    return found[:pairs]


def available(testbed: Testbed, ns: str) -> list[str]:
    """Congestion controls of this kernel."""
    text = testbed.run("cat", ["cat", "/proc/sys/net/ipv4/tcp_available_congestion_control"], ns=ns)
    return re.findall(r"\w+", text)


def judge(results: Results, congestion: str, client: Report, server: Report, lost: int, pairs: int) -> None:
    """lost: frames that the link's queue dropped."""
    results.windows(GOODPUT.format(congestion), windows(server, pairs, "bits_per_second"), "Mbit/s",
                    LINK_BPS, BARS[congestion], scale=1e-6)
    stream = client["end"]["streams"][0]["sender"]
    results.exact(SHORTEST.format(congestion), stream["min_rtt"] / 1e3, "ms", RTT_S * 1e3)
    results.windows(LONGEST.format(congestion), windows(client, pairs, "rtt"), "ms", LONGEST_S * 1e6,
                    Bar(LONGEST_BAR, at_most=True), scale=1e-3)
    again = sum(i["streams"][0]["retransmits"] for i in client["intervals"])
    if lost > 0:
        results.exact(AGAIN.format(congestion), again / lost, "segments", AGAIN_BAR)
    else:
        results.figure(f"{congestion}: frames lost in the queue", lost, "frames")


def run(testbed: Testbed, args: argparse.Namespace, results: Results) -> None:
    paired.check_options(args)
    for congestion, bar in BARS.items():
        results.demand(*(row.format(congestion) for row in ((GOODPUT,) if bar else ()) + (SHORTEST, LONGEST)))
    order = list(BARS)
    random.Random(args.seed).shuffle(order)
    for congestion in order:
        mark = testbed.mark()
        spaces, box = kernel_box(testbed, args_build(args), f"rate 100mbit limit {QUEUE_BYTES}B delay 20ms",
                                 "delay 20ms")
        kinds = available(testbed, spaces["left"])
        if congestion not in kinds:
            raise TestbedError(f"this kernel has no TCP {congestion}; it has {', '.join(kinds)}")
        client, server = _iperf(testbed, args, spaces, congestion)
        lost = element(box.stop()["forward"], "rate")["dropped"]
        if lost > 0:
            results.demand(AGAIN.format(congestion))
        judge(results, congestion, client, server, lost, args.pairs)
        print(f"{congestion}: measured, {lost} frames lost in the queue", flush=True)
        testbed.close_to(mark)
