# SPDX-License-Identifier: BSD-3-Clause
"""What the kernel's traffic through exception ports takes from a transfer on a link that both want.

Two daemons on a veth, each with a TAP that is alone in its kernel. What A sends passes an emulated
link, which the transfer from A to B fills when it is alone: the receiver grants more than it
carries. iperf3 between the kernels (A's to B's) wants a part of the same link, stands still in one
window and runs in the next. The bar is on what the transfer loses beyond the bandwidth that iperf3
gets: at most 5 % of what it has alone. Two more bars say that there was something to contend for:
alone the transfer fills its link, and iperf3 gets at least half of what it wants.
"""
import json
import time

from testbed import net

from . import paired
from testbed.daemon import Build, Daemon, af_packet
from testbed.pair import ADDR_B, pair_cpus, station
from testbed.process import TestbedError, cpus, until
from testbed.telemetry import Telemetry

UNIT, UNIT_FRAME = 1408, 1514  # bytes of a unit, and of its frame on the link
BAR, FILLS_BAR, KERNEL_BAR = 0.05, 0.9, 0.5
FILLS = "alone: of the link"
KERNEL = "iperf3 beside: of what it wants"
LOST = "lost beyond iperf3's bandwidth"
# After iperf3 begins or ends, the transfer finds its new rate within this time.
SETTLE_S = 1.0


def options(parser):
    paired.options(parser)
    parser.add_argument("--link", type=float, default=100.0, help="of the emulated link, Mbit/s")
    parser.add_argument("--capacity", type=float, default=200.0, help="what the receiver grants, Mbit/s")
    parser.add_argument("--tcp", type=float, default=20.0, help="what iperf3 paces itself to, Mbit/s")


def contend(args):
    """TestbedError where the options leave both as much as they want."""
    if args.link <= 0 or args.tcp <= 0 or args.capacity <= args.link:
        raise TestbedError(f"nothing contends: {args.capacity:g} Mbit/s granted and {args.tcp:g} of iperf3 "
                       f"must both be more than nothing, and the grant more than the link's "
                       f"{args.link:g} Mbit/s")


def _daemons(testbed, args):
    """(A, B, kernel A, kernel B)"""
    spaces = [net.namespace(testbed, name) for name in ("a", "b")]
    for ns in spaces:
        net.quiet(ns)
    net.veth(spaces[0], "sla", spaces[1], "slb")
    daemons, kernels = [], []
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
    return (*daemons, *kernels)


def _tcp(testbed, args, ka, kb, seconds):
    """iperf3's client, paced by the kernel: what it missed while it stood still it does not make up."""
    testbed.start("iperf3-server", ["iperf3", "-s", "-1"], ns=kb, cpus=cpus())
    until(lambda: ":5201" in testbed.run("ss", ["ss", "-Hltn"], ns=kb), 20, "iperf3 listens")
    client = testbed.start("iperf3", ["iperf3", "-c", ADDR_B, "-t", int(seconds), "--fq-rate",
                                  f"{args.tcp:g}M", "-i", "0"], ns=ka, cpus=cpus())
    until(lambda: _kernel_bytes(kb) > 100000, 20, "iperf3 sends")
    return client


def _kernel_bytes(ns):
    """Frames that B's kernel has had from its TAP, in bytes."""
    return json.loads(net.ip(ns, "-j", "-s", "link", "show", "dev", "sltb"))[0]["stats64"]["rx"]["bytes"]


def _transfer(a, b):
    """read(): payload that has arrived."""
    b.sluice("server", "perf", "server", "-q", cpus=cpus())
    b.wait_listening()
    a.sluice("client", "perf", "client", "-q", "-t", "3600", ADDR_B, cpus=cpus())
    telemetry = Telemetry(b.telemetry_socket)

    def received():
        for name in telemetry.ask("/sluice/conns"):
            conn = telemetry.ask(f"/sluice/conn,{name}")
            if conn and conn["state"] == "open":
                return conn["rx_bytes"]
        raise TestbedError("the transfer has ended")

    def begun():
        try:
            return received() > 0
        except TestbedError:
            return False
    until(begun, 30, "the transfer begins")
    return received


def judge(results, args, alone, beside, kernel):
    """Bytes a second of the link, frames included, by rounds."""
    link, wanted = args.link * 1e6 / 8, args.tcp * 1e6 / 8
    results.windows(FILLS, alone, "of it", bar=FILLS_BAR, scale=1 / link)
    results.windows("beside iperf3: of the link", beside, "of it", scale=1 / link)
    results.windows(KERNEL, kernel, "of it", bar=KERNEL_BAR, scale=1 / wanted)
    lost = [(a - b - k) / a for a, b, k in zip(alone, beside, kernel)]
    results.windows(LOST, lost, "of what it has alone", bar=BAR, at_most=True)


def run(testbed, args, results):
    contend(args)
    paired.check_options(args)
    results.demand(FILLS, KERNEL, LOST)
    a, b, ka, kb = _daemons(testbed, args)
    received = _transfer(a, b)
    rounds_s = args.pairs * 4 * (args.window + SETTLE_S) + 600
    tcp = paired.Group(testbed, [_tcp(testbed, args, ka, kb, rounds_s)], SETTLE_S)

    def both(seconds):
        """(the transfer's, the kernel's) bytes a second on the link."""
        rate = paired.growth(lambda: complex(received(), _kernel_bytes(kb)), seconds)
        return rate.real * UNIT_FRAME / UNIT, rate.imag

    def alone(seconds):
        time.sleep(SETTLE_S)
        return both(seconds)

    def beside(seconds):
        with tcp:
            return both(seconds)

    def show(i, values):
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
