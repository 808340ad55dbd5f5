# SPDX-License-Identifier: BSD-3-Clause
"""How much the kernel's traffic through exception ports takes from a transfer on the same link.

Two daemons are joined by a veth. Each has a TAP, which is alone in a namespace of its own, called a
kernel below. Frames from A pass an emulated link. A transfer from A to B fills this link when it is
alone, as the receiver grants more than the link's rate. iperf3 sends from A's kernel to B's over the
same link. It is stopped in one window and runs in the next. The bar is on what the transfer loses
beyond the bandwidth that iperf3 gets: at most 5 % of what it has alone. Two more bars make sure that
the two contend: alone the transfer must fill its link, and iperf3 must get at least half of its rate.
"""
import argparse
import json
import time
from collections.abc import Callable, Sequence

from testbed import net

from . import paired
from .paired import Bar
from .results import Results
from testbed.baselines import IPERF_PORT
from testbed.daemon import Build, Daemon, af_packet
from testbed.pair import ADDR_B, pair_cpus, station
from testbed.process import Process, Testbed, TestbedError, cpus, until, wait_listening
from testbed.telemetry import Telemetry

UNIT, UNIT_FRAME = 1408, 1514  # bytes of a unit, and of the frame that carries it
BAR, FILLS_BAR, KERNEL_BAR = 0.05, 0.9, 0.5
FILLS = "alone: of the link"
KERNEL = "iperf3 beside: of what it wants"
LOST = "lost beyond iperf3's bandwidth"
# The transfer finds its new rate within this time after iperf3 begins or ends.
SETTLE_S = 1.0


def options(parser: argparse.ArgumentParser) -> None:
    paired.options(parser)
    parser.add_argument("--link", type=float, default=100.0, help="rate of the emulated link, Mbit/s")
    parser.add_argument("--capacity", type=float, default=200.0, help="rate that the receiver grants, Mbit/s")
    parser.add_argument("--tcp", type=float, default=20.0, help="rate that iperf3 is paced to, Mbit/s")


def contend(args: argparse.Namespace) -> None:
    """TestbedError if the options leave the transfer and iperf3 nothing to contend for."""
    if args.link <= 0 or args.tcp <= 0 or args.capacity <= args.link:
        raise TestbedError(f"nothing contends: --link {args.link:g} and --tcp {args.tcp:g} must be above 0, and "
                           f"--capacity {args.capacity:g} above --link")


def _daemons(testbed: Testbed, args: argparse.Namespace) -> tuple[Daemon, Daemon, str, str]:
    """Daemons A and B, namespaces of kernels A and B."""
    spaces = [net.namespace(testbed, name) for name in ("a", "b")]
    for ns in spaces:
        net.quiet(ns)
    net.veth(spaces[0], "sla", spaces[1], "slb")
    daemons: list[Daemon] = []
    kernels: list[str] = []
    for number, name in enumerate("ab", 1):
        port = af_packet(f"sl{name}", 1500)
        port.keys = {**station(number), "exception": f"slt{name}", "capacity": f"{args.capacity:g}Mbit"}
        if name == "a":
            port.keys |= {"wire_out": f"rate {args.link:g}mbit limit 128kB", "wire_in": "delay 0ms"}
        worker, control = pair_cpus()[number - 1]
        daemons.append(Daemon(testbed, Build(args.build, args.huge), name, [port], [worker], control,
                              ns=spaces[number - 1], telemetry=True).start())
        kernels.append(net.namespace(testbed, f"k{name}"))
        net.ip(spaces[number - 1], "link", "set", f"slt{name}", "netns", kernels[-1])
        net.address(kernels[-1], f"slt{name}", f"10.90.0.{number}/24")
        net.ip(kernels[-1], "link", "set", f"slt{name}", "up")
    return daemons[0], daemons[1], kernels[0], kernels[1]


def _tcp(testbed: Testbed, args: argparse.Namespace, ka: str, kb: str, seconds: float) -> Process:
    """iperf3's client. The kernel paces it, so it does not catch up after it was stopped."""
    server = testbed.start("iperf3-server", ["iperf3", "-s", "-1"], ns=kb, cpus=cpus())
    wait_listening(testbed, kb, IPERF_PORT, server)
    client = testbed.start("iperf3", ["iperf3", "-c", ADDR_B, "-t", int(seconds), "--fq-rate",
                                      f"{args.tcp:g}M", "-i", "0"], ns=ka, cpus=cpus())
    until(lambda: _kernel_bytes(kb) > 100000, 20, "iperf3 sends")
    return client


def _kernel_bytes(ns: str) -> int:
    """Bytes of the frames that B's kernel has received from its TAP."""
    return int(json.loads(net.ip(ns, "-j", "-s", "link", "show", "dev", "sltb"))[0]["stats64"]["rx"]["bytes"])


def _transfer(a: Daemon, b: Daemon) -> Callable[[], int]:
    """Starts it; the function returned reads how many bytes of payload have arrived."""
    b.sluice("server", "perf", "server", "-q", cpus=cpus())
    b.wait_listening()
    a.sluice("client", "perf", "client", "-q", "-t", "3600", ADDR_B, cpus=cpus())
    telemetry = Telemetry(b.telemetry_socket)

    def received() -> int:
        for name in telemetry.ask("/sluice/conns"):
            conn = telemetry.ask(f"/sluice/conn,{name}")
            if conn and conn["state"] == "open":
                return int(conn["rx_bytes"])
        raise TestbedError("the transfer has ended")

    def begun() -> bool:
        try:
            return received() > 0
        except TestbedError:
            return False
    until(begun, 30, "the transfer begins")
    return received


def judge(results: Results, args: argparse.Namespace, alone: Sequence[float], beside: Sequence[float],
          kernel: Sequence[float]) -> None:
    """The values are bytes of frames a second, one for each round."""
    link, wanted = args.link * 1e6 / 8, args.tcp * 1e6 / 8
    results.windows(FILLS, alone, "of it", bar=FILLS_BAR, scale=1 / link)
    results.windows("beside iperf3: of the link", beside, "of it", scale=1 / link)
    results.windows(KERNEL, kernel, "of it", bar=KERNEL_BAR, scale=1 / wanted)
    lost = [(a - b - k) / a for a, b, k in zip(alone, beside, kernel)]
    results.windows(LOST, lost, "of what it has alone", bar=Bar(BAR, at_most=True))


def run(testbed: Testbed, args: argparse.Namespace, results: Results) -> None:
    contend(args)
    paired.check_options(args)
    results.demand(FILLS, KERNEL, LOST)
    a, b, ka, kb = _daemons(testbed, args)
    received = _transfer(a, b)
    rounds_s = args.pairs * 4 * (args.window + SETTLE_S) + 600
    tcp = paired.Group(testbed, [_tcp(testbed, args, ka, kb, rounds_s)], SETTLE_S)

    def both(seconds: float) -> tuple[float, float]:
        """Bytes a second on the link, of the transfer and of the kernel."""
        rate = paired.growth(lambda: complex(received(), _kernel_bytes(kb)), seconds)
        return rate.real * UNIT_FRAME / UNIT, rate.imag

    def alone(seconds: float) -> tuple[float, float]:
        time.sleep(SETTLE_S)
        return both(seconds)

    def beside(seconds: float) -> tuple[float, float]:
        with tcp:
            return both(seconds)

    def show(i: int, values: dict[str, tuple[float, float]]) -> None:
        print(f"round {i}: {values['alone'][0] * 8e-6:.1f} Mbit/s alone, {values['beside'][0] * 8e-6:.1f} "
              f"beside iperf3's {values['beside'][1] * 8e-6:.1f}", flush=True)

    values = paired.rounds({"alone": alone, "beside": beside}, args, show)
    dropped = sum(w["exception"]["to_kernel_full"] for d in (a, b) for w in d.show("ports")[0]["workers"])
    judge(results, args, [v[0] for v in values["alone"]], [v[0] for v in values["beside"]],
          [v[1] for v in values["beside"]])
    results.figure("frames dropped before the kernel", dropped, "frames")
    tcp.release()
    for daemon in (a, b):
        daemon.stop()
