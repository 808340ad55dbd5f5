# SPDX-License-Identifier: BSD-3-Clause
"""Frames that are not Sluice's go through the exception port to the kernel, and back.

A veth joins two daemons. The TAP of each is moved to a namespace of its own, so that frames reach that
kernel only through its daemon:

  kernel A [tap] = daemon A = [sla] veth [slb] = daemon B = [tap] kernel B
"""
import concurrent.futures
import json
import re
import signal
import statistics
import sys
import time
from collections.abc import Iterable
from typing import Any

from .harness import Context, TestbedError, perf, scene, sh
from testbed import net
from testbed.baselines import IPERF_PORT
from testbed.daemon import Daemon, Port, af_packet, memif
from testbed.load import Load, load_process, memif_vdevs
from testbed.pair import ADDR6_B, ADDR_B, pair_cpus, station
from testbed.process import Testbed, until, wait_listening

TAPS = {"a": "slta", "b": "sltb"}
VETH = None  # the ports of pair(): packet sockets on a veth
# Addresses that the kernels do not share with their daemons.
OWN = {"a": ("10.90.0.11", "fd90::11"), "b": ("10.90.0.12", "fd90::12")}


def tap_to(testbed: Testbed, daemon: Daemon, tap: str, addresses: Iterable[str], name: str) -> str:
    """Moves the TAP to a new namespace; returns its name."""
    assert daemon.ns is not None
    kernel = net.namespace(testbed, name)
    net.ip(daemon.ns, "link", "set", tap, "netns", kernel)
    net.offloads_off(kernel, tap)
    for text in addresses:
        net.address(kernel, tap, f"{text}/{64 if ':' in text else 24}")
    net.ip(kernel, "link", "set", tap, "up")
    return kernel


def pair(testbed: Testbed, context: Context, ports: list[Port] | None, keys: dict[str, Any] | None = None,
         workers: int = 1) -> tuple[list[Daemon], list[str]]:
    """(daemons, kernels) of A and B, on these ports. Each kernel has its daemon's addresses, and others
    of its own."""
    spaces = [net.namespace(testbed, name) for name in ("a", "b")]
    for ns in spaces:
        net.quiet(ns)
    if ports is VETH:
        net.veth(spaces[0], "sla", spaces[1], "slb")
        ports = [af_packet("sla", 1500), af_packet("slb", 1500)]
    daemons, kernels = [], []
    for number, (name, port) in enumerate(zip("ab", ports), 1):
        port.keys = {**station(number), "exception": TAPS[name], "workers": workers, **(keys or {})}
        worker, control = pair_cpus()[number - 1]
        daemons.append(Daemon(testbed, context.build, name, [port], [worker] * workers, control,
                              ns=spaces[number - 1]).start())
    for number, (daemon, name) in enumerate(zip(daemons, "ab"), 1):
        daemon.wait_link()
        shared = (f"10.90.0.{number}", f"fd90::{number}")
        kernels.append(tap_to(testbed, daemon, TAPS[name], (*OWN[name], *shared), f"k{name}"))
    return daemons, kernels


def memif_ports(testbed: Testbed) -> list[Port]:
    link = testbed.path("memif.sock")
    return [memif(link, "server"), memif(link, "client")]


def ping(ns: str, address: str, *args: str, count: int = 4) -> None:
    """Pings until this many answers have come, none of them twice. On a busy machine an answer may be so
    late that ping has asked once more, and gets more answers."""
    family = "-6" if ":" in address else "-4"
    text = sh("ip", "netns", "exec", ns, "ping", family, "-c", count, "-i", "0.05", "-w", "20", *args,
              address)
    received = re.search(r" (\d+) received", text)
    if received is None or int(received.group(1)) < count or "DUP" in text:
        raise TestbedError(text)


def exception(daemon: Daemon) -> dict[str, int]:
    """Counters of the exception port, summed over all workers."""
    total: dict[str, int] = {}
    for worker in daemon.show("ports")[0]["workers"]:
        for name, value in worker["exception"].items():
            total[name] = total.get(name, 0) + value
    return total


def link_local(ns: str, device: str) -> str:
    found = re.search(r"inet6 (fe80::\S+)/64", net.ip(ns, "addr", "show", "dev", device))
    assert found is not None, f"{device} has no link-local address"
    return found.group(1)


def answers(path: str) -> dict[str, tuple[int, int]]:
    """(questions, answers) about neighbours in a capture, for ARP and for ND of ordinary addresses. Frames
    with which a station claims its own address do not count: they come from no address or from the claimed
    one, or go to all nodes."""
    text = sh("tcpdump", "-nn", "-r", path, "arp or icmp6")
    asked = re.findall(r"ARP, Request who-has (\S+)(?: \S+)? tell (\S+),", text)
    return {"arp": (sum(sender not in ("0.0.0.0", target) for target, sender in asked), text.count("ARP, Reply")),
            "nd": (len(re.findall(r"IP6 (?!:: )\S+ > \S+ ICMP6, neighbor solicitation, who has fd90", text)),
                   len(re.findall(r"IP6 \S+ > (?!ff02)\S+ ICMP6, neighbor advertisement, tgt is fd90", text)))}


def settled(kernels: Iterable[str]) -> None:
    """Waits until the kernels have found their link-local addresses unique: until then they may lose frames."""
    for ns, tap in zip(kernels, TAPS.values()):
        until(lambda: "tentative" not in net.ip(ns, "addr", "show", "dev", tap), 10,
              "link-local addresses in use")


def nothing_lost(daemon: Daemon, refused: int) -> dict[str, int]:
    """Checks that all frames that the host hands over reach the kernel, except `refused` of them that came
    before the TAP was up; returns the counters."""
    def sums() -> bool:
        got = exception(daemon)
        return daemon.counters("rx_exception") == sum(got[k] for k in (
            "to_kernel_frames", "to_kernel_refused", "to_kernel_full"))

    until(sums, 10, f"counters of all that {daemon.name} hands over")
    got = exception(daemon)
    if got["to_kernel_full"] or got["to_kernel_refused"] > refused or \
            daemon.counters("drop_exception_full"):
        raise TestbedError(f"{daemon.name}: the exception port loses frames: {got}")
    return got


@scene("exception port: kernels ping through it, each question answered once", netns=True, company=True)
def ping_kernels(testbed: Testbed, context: Context) -> None:
    (a, b), (ka, kb) = pair(testbed, context, VETH)
    settled((ka, kb))
    refused = [exception(d)["to_kernel_refused"] for d in (a, b)]
    path = testbed.path("neighbours.pcap")
    tcpdump = testbed.start("tcpdump", ["tcpdump", "-i", TAPS["a"], "--immediate-mode", "-U", "-w", path,
                                        "arp or icmp6"], ns=ka)
    until(lambda: "listening" in tcpdump.err(), 10, "tcpdump listens")
    mac = b.show("ports")[0]["mac"]
    if net.mac(kb, TAPS["b"]) != mac:
        raise TestbedError("the TAP has another MAC address than the port")
    for address in (*OWN["b"], ADDR_B, ADDR6_B):
        ping(ka, address)
        if mac not in net.ip(ka, "neigh", "show", address):
            raise TestbedError(f"{address} does not have the MAC address of port B\n{net.ip(ka, 'neigh', 'show')}")
    ping(ka, f"{link_local(kb, TAPS['b'])}%{TAPS['a']}")
    tcpdump.stop()
    for kind, (asked, answered) in answers(path).items():
        # A busy machine may answer after a second; by then the kernel has asked again.
        if answered == 0 or answered > asked:
            raise TestbedError(f"{answered} answers to {asked} questions of {kind}")
    for daemon, before in zip((a, b), refused):
        got = nothing_lost(daemon, before)
        if min(got["to_kernel_frames"], got["from_kernel_frames"]) < 16:
            raise TestbedError(f"{daemon.name}: fewer than 16 frames in one direction: {got}")
    perf(b, a, ADDR_B, "-n", "1M")
    for daemon in (a, b):
        daemon.stop()


@scene("exception port: another program behind a memif takes the kernel's place", company=True)
def instead_of_the_kernel(testbed: Testbed, context: Context) -> None:
    """The frames of a sluice-load go through the daemon in both directions, also those that came while it stood still."""
    links = ["outside", "inside"]
    outside, inside = memif_vdevs(testbed, "server", links)
    (worker, control), (cpu, _) = pair_cpus()
    daemon = Daemon(testbed, context.build, "a", [Port("net_memif0", outside, {**station(1), "exception": inside})],
                    [worker], control).start()
    daemon.kill()
    daemon.start()  # the sockets of the dead one are in its way
    load = Load(load_process(testbed, context.build, "load", memif_vdevs(testbed, "client", links), [cpu],
                             ["--interactive", "--both"]))
    mac = daemon.show("ports")[0]["mac"]
    got = load.window(size=60, rate="1000pps", seconds=0.5, wait=1, dst_mac=mac)
    if min(got["sent"], got["received"]) < 900 or got["lost"] or got["refused"]:
        raise TestbedError(f"of 500 frames in each direction, not all came: {got}")
    kernel = nothing_lost(daemon, 0)
    if min(kernel["to_kernel_frames"], kernel["from_kernel_frames"]) < 450:
        raise TestbedError(f"fewer than 450 frames in one direction: {kernel}")
    daemon.process.signal(signal.SIGSTOP)
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        window = pool.submit(load.window, size=60, rate="5000pps", seconds=0.16, wait=2, dst_mac=mac)
        time.sleep(0.5)
        daemon.process.signal(signal.SIGCONT)
        got = window.result()
    if got["lost"] or min(got["sent"], got["received"]) < 1500:
        raise TestbedError(f"of 800 frames in each direction, which came while the daemon stood still, not all left: {got}")
    nothing_lost(daemon, 0)
    daemon.stop()


SEND_VLAN = """
import socket, sys
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
s.bind((sys.argv[1], 0))
mac = [bytes.fromhex(m.replace(":", "")) for m in sys.argv[2:4]]
for i in range(8):
    s.send(mac[1] + mac[0] + bytes.fromhex("8100004d88b5") + bytes(46 + i))
"""


@scene("exception port: fragments, other VLANs and unknown protocols, by two workers", netns=True, company=True)
def other_frames(testbed: Testbed, context: Context) -> None:
    # Not over packet sockets, which reassemble fragments of IPv4.
    (a, b), (ka, kb) = pair(testbed, context, memif_ports(testbed), workers=2)
    settled((ka, kb))
    refused = [exception(d)["to_kernel_refused"] for d in (a, b)]
    for address in (*OWN["b"], ADDR_B, ADDR6_B):
        ping(ka, address, "-s", "4000")
    tcpdump = testbed.start("tcpdump", ["tcpdump", "-i", TAPS["b"], "--immediate-mode", "-e", "-nn", "-l",
                                        "ether[12:2] == 0x88b5 or vlan 77"], ns=kb)
    until(lambda: "listening" in tcpdump.err(), 10, "tcpdump listens")
    macs = [d.show("ports")[0]["mac"] for d in (a, b)]
    testbed.run("vlan", [sys.executable, "-c", SEND_VLAN, TAPS["a"], *macs], ns=ka)
    until(lambda: tcpdump.out().count("vlan 77") == 8, 10, "8 frames of VLAN 77")
    tcpdump.stop()
    for daemon, before in zip((a, b), refused):
        nothing_lost(daemon, before)
    perf(b, a, ADDR_B, "-n", "8M")
    for daemon in (a, b):
        daemon.stop()


ECHO = """
import socket, sys, time
if sys.argv[1] == "server":
    s = socket.create_server(("0.0.0.0", 2222))
    print("listens", flush=True)
    c = s.accept()[0]
    while (got := c.recv(4096)):
        c.sendall(got)
else:
    c = socket.create_connection((sys.argv[2], 2222))
    c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for i in range(100):
        begin = time.monotonic()
        c.sendall(b"k" * 48)
        left = 48
        while left > 0:
            left -= len(c.recv(left))
        print((time.monotonic() - begin) * 1e3)
"""


@scene("exception port: a kernel on a veth leaves its checksums to a device", netns=True)
def partial_sums(testbed: Testbed, context: Context) -> None:
    spaces = [net.namespace(testbed, name) for name in ("x", "b")]
    for ns in spaces:
        net.quiet(ns)
    net.veth(spaces[0], "slx", spaces[1], "slb", offloads=True)
    net.address(spaces[0], "slx", f"{OWN['a'][0]}/24")
    port = af_packet("slb", 1500)
    port.keys = {**station(2), "exception": TAPS["b"]}
    worker, control = pair_cpus()[1]
    daemon = Daemon(testbed, context.build, "b", [port], [worker], control, ns=spaces[1]).start()
    daemon.wait_link()
    kernel = tap_to(testbed, daemon, TAPS["b"], OWN["b"], "kb")
    echo = testbed.start("echo-server", [sys.executable, "-c", ECHO, "server"], ns=kernel)
    until(lambda: "listens" in echo.out(), 20, "the echo server listens")
    testbed.run("echo-client", [sys.executable, "-c", ECHO, "client", OWN["b"][0]], ns=spaces[0], timeout_s=60)
    echo.check(20)
    if exception(daemon)["to_kernel_summed"] < 100:
        raise TestbedError(f"100 TCP segments came without a checksum; completed are {exception(daemon)}")
    daemon.stop()


def kernel_load(testbed: Testbed, ka: str, kb: str, seconds: int) -> tuple[float, float]:
    """iperf3, and keystrokes as of a terminal, from kernel A to B: (Mbit/s, median ms of a keystroke)."""
    server = testbed.start("iperf3-server", ["iperf3", "-s", "-1"], ns=kb)
    echo = testbed.start("echo-server", [sys.executable, "-c", ECHO, "server"], ns=kb)
    until(lambda: "listens" in echo.out(), 20, "the echo server listens")
    wait_listening(testbed, kb, IPERF_PORT, server)
    client = testbed.start("iperf3", ["iperf3", "-c", ADDR_B, "-t", seconds, "-b", "10M", "-J"], ns=ka)
    keys = testbed.run("keys", [sys.executable, "-c", ECHO, "client", ADDR_B], ns=ka, timeout_s=60)
    result = json.loads(client.check(60 + 5 * seconds))
    server.check(20)
    echo.check(20)
    return (result["end"]["sum_received"]["bits_per_second"] / 1e6,
            statistics.median(float(x) for x in keys.split()))


@scene("exception port: iperf3 and a terminal's TCP while a transfer runs", netns=True)
def beside_transfer(testbed: Testbed, context: Context) -> None:
    (a, b), (ka, kb) = pair(testbed, context, VETH, keys={"capacity": "50Mbit"})
    alone = perf(b, a, ADDR_B, "-t", "3")["goodput_bps"] / 1e6
    waiting = b.sluice("beside-server", "perf", "server", "-1", "--json")
    b.wait_listening(process=waiting)
    sending = a.sluice("beside", "perf", "client", "--json", "--check", "-i", "0", "-t", "5", ADDR_B)
    rate, key_ms = kernel_load(testbed, ka, kb, 3)
    result = json.loads(sending.check(60))
    waiting.check(30)
    if result["wrong_bytes"] != 0 or rate <= 0:
        raise TestbedError(f"{result['wrong_bytes']} bytes are wrong; iperf3 reaches {rate} Mbit/s")
    beside = result["goodput_bps"] / 1e6
    print(f"# Sluice {beside:.1f} Mbit/s beside iperf3's {rate:.1f}, {alone:.1f} alone: "
          f"{beside / alone:.3f}; a keystroke takes {key_ms:.1f} ms", flush=True)
    for daemon in (a, b):
        daemon.stop()
