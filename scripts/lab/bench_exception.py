# SPDX-License-Identifier: BSD-3-Clause
"""What the kernel's traffic through exception ports takes from a transfer on the same link.

Two daemons on a veth, each with a TAP that is alone in its kernel; --link has what A sends pass an
emulated link. By turns, the transfer from A to B runs alone, and beside iperf3 between the kernels. The bar
is on what the transfer lost beyond the bandwidth that iperf3 had: at most 5 % of what it has alone.
"""
import json
import statistics

from . import net
from .daemon import Build, Daemon, af_packet
from .pair import ADDR_B, pair_cpus, station
from .process import LabError, until

FRAME_OF_TCP = 1514 / 1448  # bytes on the link for a byte of iperf3's
FRAME_OF_UNIT = 1514 / 1408  # and for one of Sluice's, about
BAR = 0.05


def options(parser):
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--link", help="rate of an emulated link, as in sluice-path(7)")
    parser.add_argument("--capacity", default="200Mbit", help="what the receiver grants")
    parser.add_argument("--tcp", default="20M", help="what iperf3 sends (-b)")


def _daemons(lab, args):
    """(A, B, kernel A, kernel B)"""
    spaces = [net.namespace(lab, name) for name in ("a", "b")]
    for ns in spaces:
        net.quiet(ns)
    net.veth(spaces[0], "sla", spaces[1], "slb")
    daemons, kernels = [], []
    for number, name in enumerate("ab", 1):
        port = af_packet(f"sl{name}", 1500)
        port.keys = {**station(number), "exception": f"slt{name}", "capacity": args.capacity}
        if name == "a" and args.link:
            port.keys |= {"wire_out": f"rate {args.link} limit 128kB", "wire_in": "delay 0ms"}
        worker, control = pair_cpus()[number - 1]
        daemons.append(Daemon(lab, Build(args.build, args.huge), name, [port], [worker], control,
                              ns=spaces[number - 1]).start())
        kernels.append(net.namespace(lab, f"k{name}"))
        net.ip(spaces[number - 1], "link", "set", f"slt{name}", "netns", kernels[-1])
        net.address(kernels[-1], f"slt{name}", f"10.90.0.{number}/24")
        net.ip(kernels[-1], "link", "set", f"slt{name}", "up")
    return (*daemons, *kernels)


def _transfer(a, b, seconds):
    waiting = b.sluice("server", "perf", "server", "-1", "--json")
    b.wait_listening(process=waiting)
    return waiting, a.sluice("client", "perf", "client", "--json", "-i", "0", "-t", seconds, ADDR_B)


def _goodput(waiting, sending, seconds):
    result = json.loads(sending.check(60 + 3 * seconds))
    waiting.check(30)
    return result["goodput_bps"] / 1e6


def _tcp(lab, args, ka, kb, transfer):
    """(Sluice's, iperf3's) Mbit/s; the transfer covers iperf3's time, and begins first."""
    server = lab.start("iperf3-server", ["iperf3", "-s", "-1"], ns=kb)
    until(lambda: ":5201" in lab.run("ss", ["ss", "-Hltn"], ns=kb), 20, "iperf3 listens")
    pair = transfer()
    client = lab.start("iperf3", ["iperf3", "-c", ADDR_B, "-t", args.seconds, "-b", args.tcp, "-J"],
                       ns=ka)
    goodput = _goodput(*pair, args.seconds)
    result = json.loads(client.check(60 + 5 * args.seconds))
    server.check(20)
    if "error" in result:
        raise LabError(f"iperf3: {result['error']}")
    return goodput, result["end"]["sum_received"]["bits_per_second"] / 1e6


def run(lab, args, results):
    a, b, ka, kb = _daemons(lab, args)

    def transfer():
        return _transfer(a, b, args.seconds)

    alone, beside, tcp = [], [], []
    for i in range(args.rounds):
        alone.append(_goodput(*transfer(), args.seconds))
        goodput, rate = _tcp(lab, args, ka, kb, transfer)
        beside.append(goodput)
        tcp.append(rate)
        print(f"round {i + 1}: {alone[-1]:.1f} Mbit/s alone, {goodput:.1f} beside iperf3's {rate:.1f}",
              flush=True)
    dropped = sum(w["exception"]["to_kernel_full"] for d in (a, b) for w in d.show("ports")[0]["workers"])
    for daemon in (a, b):
        daemon.stop()
    one, two, three = (statistics.median(x) for x in (alone, beside, tcp))
    taken = three * FRAME_OF_TCP / FRAME_OF_UNIT
    results.add("Sluice alone", one, "Mbit/s")
    results.add("Sluice beside iperf3", two, "Mbit/s", one)
    results.add("iperf3 beside Sluice", three, "Mbit/s")
    results.add("lost beyond iperf3's bandwidth", max(0.0, one - two - taken) / one, "of what it has alone",
                bar=BAR, at_most=True)
    results.add("frames dropped before the kernel", dropped, "frames")
