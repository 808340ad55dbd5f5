# SPDX-License-Identifier: BSD-3-Clause
"""Two devices as one port, through DPDK's bonding driver, as in config/bond.conf."""
import re

from .harness import Context, TestbedError, scene, sh, transfer_works
from testbed import net
from testbed.daemon import Build, Daemon, Port, af_packet
from testbed.pair import ADDR_A, ADDR_B, pair_cpus, station
from testbed.process import Testbed


def _member(build: Build) -> str:
    """The driver's word for one of its devices, which DPDK 23.11 has changed."""
    version = re.search(r"DPDK (\d+)\.(\d+)", sh(build.program("sluiced"), "--version"))
    assert version is not None
    return "member" if (int(version[1]), int(version[2])) >= (23, 11) else "slave"


@scene("a port of two bonded devices", netns=True, company=True)
def bonded(testbed: Testbed, context: Context) -> None:
    (wa, ca), (wb, cb) = pair_cpus()
    spaces = [net.namespace(testbed, name) for name in ("a", "b")]
    for ns in spaces:
        net.quiet(ns)
    for i in (0, 1):
        net.veth(spaces[0], f"sla{i}", spaces[1], f"slb{i}", 1500)
    # The other end is a switch, and the daemon is behind it.
    sh("ip", "-n", spaces[1], "link", "add", "slbr", "type", "bridge")
    for i in (0, 1):
        sh("ip", "-n", spaces[1], "link", "set", f"slb{i}", "master", "slbr")
    sh("ip", "-n", spaces[1], "link", "set", "slbr", "up")
    one = _member(context.build)
    bond = Port("net_bonding0", f"net_bonding0,mode=1,{one}=net_af_packet0,{one}=net_af_packet1,"
                "primary=net_af_packet1", {**station(1), "mtu": 1500})
    eal = [x for i in (0, 1) for x in ("--vdev", af_packet(f"sla{i}", 1500, number=i).vdev)]
    other = af_packet("slbr", 1500)
    other.keys = {**station(2), "mtu": 1500}
    a = Daemon(testbed, context.build, "a", [bond], [wa], ca, ns=spaces[0], eal=eal).start()
    b = Daemon(testbed, context.build, "b", [other], [wb], cb, ns=spaces[1]).start()
    a.wait_link()
    transfer_works(a, b, ADDR_B)
    transfer_works(b, a, ADDR_A)
    sent = [int(sh("ip", "netns", "exec", spaces[0], "cat", f"/sys/class/net/sla{i}/statistics/tx_bytes"))
            for i in (0, 1)]
    if sent[1] < 8 << 20 or sent[0] > 1 << 20:
        raise TestbedError(f"the second device is the primary one and must send: bytes sent are {sent}")
    for daemon in (a, b):
        daemon.stop()


@scene("a port of two bonded devices that take buffers in advance", netns=True, company=True)
def bonded_taps(testbed: Testbed, context: Context) -> None:
    (wa, ca), (wb, cb) = pair_cpus()
    ns, one = net.namespace(testbed, "ab"), _member(context.build)
    net.quiet(ns)
    eal = [x for i in (0, 1) for x in ("--vdev", f"net_tap{i},iface=slt{i}")]
    bond = Port("net_bonding0", f"net_bonding0,mode=1,{one}=net_tap0,{one}=net_tap1,primary=net_tap1",
                {**station(1), "queue_size": 1024})
    a = Daemon(testbed, context.build, "a", [bond], [wa], ca, ns=ns, eal=eal).start()
    other = af_packet("slt1", 1500)
    other.keys = station(2)
    b = Daemon(testbed, context.build, "b", [other], [wb], cb, ns=ns).start()
    a.wait_link()
    transfer_works(a, b, ADDR_B)
    transfer_works(b, a, ADDR_A)
    for daemon in (a, b):
        daemon.stop()
