# SPDX-License-Identifier: BSD-3-Clause
"""Ports on Linux interfaces, and Linux as a neighbour: ping, captures, duplicate addresses, a gateway."""
import json
import os
import re
import time

from .harness import Context, Skip, TestbedError, data_flow, need, perf, scene, sh
from testbed import net
from testbed.daemon import Daemon, af_packet
from testbed.pair import ADDR6_B, ADDR_B, pair_cpus, veth_pair
from testbed.process import Testbed, until


@scene("AF_PACKET on veth, both families", netns=True)
def packet_sockets(testbed: Testbed, context: Context) -> None:
    a, b = veth_pair(testbed, context.build)
    perf(b, a, ADDR_B, "-t", "2", name="v4")
    before = [a.holdings(), b.holdings()]
    perf(b, a, f"[{ADDR6_B}]", "-t", "2", "--bidir", name="v6")
    for daemon, was in zip((a, b), before):
        daemon.check_holdings(was)
    a.stop()
    b.stop()


@scene("AF_PACKET on veth with jumbo frames", netns=True)
def jumbo_packet_sockets(testbed: Testbed, context: Context) -> None:
    a, b = veth_pair(testbed, context.build, mtu=9000)
    result = perf(b, a, ADDR_B, "-t", "2")
    if result["unit_bytes"] < 8800:
        raise TestbedError(f"units of {result['unit_bytes']} bytes")
    a.stop()
    b.stop()


@scene("AF_XDP on veth", netns=True)
def xdp_sockets(testbed: Testbed, context: Context) -> None:
    need(net.lack_xdp())
    a, b = veth_pair(testbed, context.build, xdp=True)
    perf(b, a, ADDR_B, "-t", "2")
    a.stop()
    b.stop()


def _kernel_neighbour(testbed: Testbed, context: Context, vlan: int | None = None,
                      mtu: int = 1500) -> tuple[str, Daemon]:
    """(ns, daemon): a daemon B on one end of a veth, and the kernel of ns with an address on the other."""
    ns_b, ns_k = net.namespace(testbed, "b"), net.namespace(testbed, "kernel")
    net.quiet(ns_b)
    net.veth(ns_k, "slk", ns_b, "slb", mtu=mtu)
    device = "slk"
    if vlan is not None:
        device = f"slk.{vlan}"
        try:
            net.ip(ns_k, "link", "add", "link", "slk", "name", device, "type", "vlan", "id", vlan)
        except TestbedError as problem:
            raise Skip(f"this kernel has no VLAN devices ({problem})") from None
        net.ip(ns_k, "link", "set", device, "up")
    net.address(ns_k, device, "10.90.0.9/24")
    net.address(ns_k, device, "fd90::9/64")
    port = af_packet("slb", 1500)
    port.keys = {"address": "10.90.0.2/24", "address6": "fd90::2/64", "mtu": mtu}
    if vlan is not None:
        port.keys["vlan"] = vlan
    worker, control = pair_cpus()[1]
    return ns_k, Daemon(testbed, context.build, "b", [port], [worker], control, ns=ns_b).start()


def _ping(ns: str, address: str, *args: object, count: int = 5) -> None:
    family = "-6" if ":" in address else "-4"
    text = sh("ip", "netns", "exec", ns, "ping", family, "-c", count, "-i", "0.1", "-W", "3", *args,
              address)
    if f"{count} received, 0% packet loss" not in text or "DUP" in text:
        raise TestbedError(text)


@scene("AF_PACKET: frames as long as a frame of the ring holds", netns=True, company=True)
def longest_packets(testbed: Testbed, context: Context) -> None:
    mtu = 2048 - 66 - 14  # framesz, less what the kernel writes before a frame, less the Ethernet header
    ns, b = _kernel_neighbour(testbed, context, mtu=mtu)
    _ping(ns, ADDR_B, "-M", "do", "-s", mtu - 28)
    b.stop()


@scene("Linux pings a host: ARP, ND, echo of all sizes", netns=True, company=True)
def ping(testbed: Testbed, context: Context) -> None:
    ns, b = _kernel_neighbour(testbed, context)
    for address in (ADDR_B, ADDR6_B):
        _ping(ns, address)
        for size in (0, 1, 63, 1452):
            _ping(ns, address, "-s", size, "-p", "a55a", count=2)
    table = net.ip(ns, "neigh", "show")
    mac = b.show("ports")[0]["mac"]
    for address in (ADDR_B, ADDR6_B):
        if not re.search(rf"^{re.escape(address)} .*{mac} .*REACHABLE", table, re.MULTILINE):
            raise TestbedError(f"the kernel does not know {address} as {mac}:\n{table}")
    # The daemon must not answer for addresses that it does not have.
    for address in ("10.90.0.3", "fd90::3"):
        done = testbed.start("nobody", ["ip", "netns", "exec", ns, "ping", "-c", "1", "-W", "1", address])
        if done.wait(15) == 0:
            raise TestbedError(f"an answer comes from {address}, which no host has")
    b.stop()


@scene("Linux pings a host in a VLAN", netns=True, company=True)
def ping_vlan(testbed: Testbed, context: Context) -> None:
    ns, b = _kernel_neighbour(testbed, context, vlan=77)
    for address in (ADDR_B, ADDR6_B):
        _ping(ns, address)
    b.stop()


@scene("a host answers each echo request of a flood at most once", netns=True, company=True)
def ping_flood(testbed: Testbed, context: Context) -> None:
    ns, b = _kernel_neighbour(testbed, context)
    before = b.holdings()
    # Echo requests as fast as ping can: each is answered at most once.
    text = sh("ip", "netns", "exec", ns, "ping", "-f", "-c", "2000", "-w", "20", ADDR_B, timeout_s=40)
    if re.search(r"duplicates", text):
        raise TestbedError(text)
    b.check_holdings(before)
    b.stop()


@scene("captured frames have VLAN tag, DF, UDP port and right checksums", netns=True)
def captured(testbed: Testbed, context: Context) -> None:
    a, b = veth_pair(testbed, context.build, keys={"vlan": 100})
    path = testbed.path("capture.pcap")
    tcpdump = testbed.start("tcpdump", ["tcpdump", "-i", b.device, "-s", "96", "-U", "-w", path], ns=b.ns)
    until(lambda: "listening" in tcpdump.err(), 10, "tcpdump listens")
    perf(b, a, ADDR_B, "-n", "2M")
    time.sleep(0.3)
    tcpdump.stop()
    text = sh("tcpdump", "-nn", "-e", "-v", "-r", path, "udp port 47800 or (vlan and udp port 47800)")
    frames = text.count("ethertype 802.1Q (0x8100), length")
    tagged = len(re.findall(r"vlan 100\b", text))
    dont = len(re.findall(r"flags \[DF\]", text))
    if frames < 1000 or tagged < frames or dont < frames:
        raise TestbedError(f"{frames} frames, {tagged} in VLAN 100, {dont} with DF")
    if re.search(r"bad udp cksum", text) and not os.environ.get("SLUICE_SNAP"):
        raise TestbedError("a UDP checksum is wrong")
    a.stop()
    b.stop()


@scene("an address that Linux has is not used before Linux gives it up", netns=True, company=True)
def duplicate_address(testbed: Testbed, context: Context) -> None:
    ns, b = _kernel_neighbour(testbed, context)
    b.stop()
    for text in (f"{ADDR_B}/24", f"{ADDR6_B}/64"):
        net.address(ns, "slk", text)
    b.start()

    def conflict() -> str:
        return b.show("ports")[0]["conflict"]

    until(lambda: ADDR_B in conflict() and ADDR6_B in conflict(), 20, "both addresses are disputed")
    if conflict().count("not used, it is at " + net.mac(ns, "slk")) != 2:
        raise TestbedError(f"show does not name the station that has both addresses: {conflict()}")
    until(lambda: b.process.err().count("is not used: the station at") >= 2, 10, "the daemon says so")
    doctor = testbed.start("doctor", b.command("doctor", "--config", b.config))
    doctor.wait(30)
    if not re.search(rf"^bad +addresses: .*{re.escape(ADDR_B)} not used, it is at .*\n +cure: .*address",
                     doctor.out(), re.MULTILINE):
        raise TestbedError(f"the doctor does not report the address\n{doctor.tail()}")
    for text in (f"{ADDR_B}/24", f"{ADDR6_B}/64"):
        net.ip(ns, "address", "del", text, "dev", "slk")
    until(lambda: "not used" not in conflict(), 40, "the addresses are used")
    for address in (ADDR_B, ADDR6_B):
        _ping(ns, address)
    b.stop()


def _routed(testbed: Testbed, context: Context) -> tuple[str, list[Daemon]]:
    """(router, daemons): A and B in networks of their own, and the kernel of the namespace between them."""
    router, daemons = net.namespace(testbed, "router"), []
    for i, name in enumerate(("a", "b")):
        ns = net.namespace(testbed, name)
        net.quiet(ns)
        net.veth(router, f"slr{name}", ns, f"sl{name}")
        net.address(router, f"slr{name}", f"10.91.{i}.254/24")
        port = af_packet(f"sl{name}", 1500)
        port.keys = {"address": f"10.91.{i}.1/24", "gateway": f"10.91.{i}.254",
                     "capacity": "320Mbit"}
        worker, control = pair_cpus()[i]
        daemons.append(Daemon(testbed, context.build, name, [port], [worker], control, ns=ns).start())
    sh("ip", "netns", "exec", router, "sysctl", "-qw", "net.ipv4.ip_forward=1")
    return router, daemons


@scene("a gateway's MAC addresses change in mid-transfer, on both sides", netns=True)
def gateway_moves(testbed: Testbed, context: Context) -> None:
    router, (a, b) = _routed(testbed, context)
    path = testbed.path("routed.pcap")
    tcpdump = testbed.start("tcpdump", ["tcpdump", "-i", "slrb", "-s", "64", "-U", "-w", path,
                                    "src 10.91.0.1 and greater 1000"], ns=router)
    until(lambda: "listening" in tcpdump.err(), 10, "tcpdump listens")
    waiting = b.sluice("server", "perf", "server", "-1", "--json")
    b.wait_listening(process=waiting)
    sending = a.sluice("client", "perf", "client", "--json", "--check", "-i", "0", "-t", "12",
                       "10.91.1.1")
    data_flow(a)
    moves = []
    for i in range(4):
        time.sleep(1.5)
        for name in ("a", "b"):
            net.ip(router, "link", "set", f"slr{name}", "address", f"02:00:00:91:{i:02x}:0{name}")
        moves.append(time.time())
    result = json.loads(sending.check(60))
    waiting.check(30)
    tcpdump.stop()
    if result["wrong_bytes"] != 0 or result["bytes"] == 0:
        raise TestbedError(f"{result['wrong_bytes']} bytes of {result['bytes']} are wrong")
    # The longest pause around each move, in what B was sent. A busy machine makes some pauses longer, but
    # never all of them shorter.
    times = [float(x.split(" ", 1)[0]) for x in sh("tcpdump", "-tt", "-n", "-r", path).splitlines()]
    pauses = [max(later - earlier for earlier, later in zip(times, times[1:])
                  if move - 0.5 < later and earlier < move + 0.2) for move in moves]
    if min(pauses) > 0.3 or max(pauses) > 1.4:
        raise TestbedError(f"pauses of {[round(x, 3) for x in pauses]} s; the shortest may take 0.3 s, each 1.4 s")
    a.stop()
    b.stop()
