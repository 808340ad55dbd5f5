# SPDX-License-Identifier: BSD-3-Clause
"""Two daemons, A and B, joined by a memif or by a veth pair between two namespaces.

A is 10.90.0.1 and fd90::1, B is 10.90.0.2 and fd90::2.
"""
from . import net
from .daemon import Daemon, af_packet, af_xdp, memif
from .process import cpus

ADDR_A, ADDR_B = "10.90.0.1", "10.90.0.2"
ADDR6_A, ADDR6_B = "fd90::1", "fd90::2"


def pair_cpus():
    """((worker, control) of A, (worker, control) of B): pollers apart, each control with the
    other's poller, or with its own where there is room."""
    have = cpus()
    if len(have) >= 4:
        return (have[0], have[2]), (have[1], have[3])
    if len(have) >= 2:
        return (have[0], have[1]), (have[1], have[0])
    return (have[0], have[0]), (have[0], have[0])


def station(number):
    """Keys of host A (1) or B (2). Where two cores do everything, 3 s of silence can happen."""
    return {"address": f"10.90.0.{number}/24", "address6": f"fd90::{number}/64", "silence": "10s"}


def memif_pair(testbed, build, mtu=9000, keys=None, a_keys=None, b_keys=None, daemon_keys=None,
               memory_mb=512, workers=1, rsize=8, bsize=9216, b_extra="", b_eal=(), build_b=None,
               env=None, telemetry=False):
    """Two daemons joined by a memif, started and linked."""
    (wa, ca), (wb, cb) = pair_cpus()
    link = testbed.path("memif.sock")
    daemons = []
    for name, role, worker, control, own in (("a", "server", wa, ca, a_keys),
                                             ("b", "client", wb, cb, b_keys)):
        port = memif(link, role, rsize, bsize, extra=b_extra if name == "b" else "")
        number = 1 if name == "a" else 2
        port.keys = {**station(number), "mtu": mtu, "workers": workers, **(keys or {}),
                     **(own or {})}
        use = build_b if name == "b" and build_b is not None else build
        daemons.append(Daemon(testbed, use, name, [port], [worker] * workers, control,
                              daemon_keys=daemon_keys, memory_mb=memory_mb, env=env,
                              eal=b_eal if name == "b" else (), telemetry=telemetry))
    for daemon in daemons:
        daemon.start()
    for daemon in daemons:
        daemon.wait_link()
    return daemons



def veth_pair(testbed, build, mtu=1500, xdp=False, keys=None, a_keys=None, b_keys=None, a_daemon=None,
              memory_mb=512, plan=None, tapped=False, daemon_keys=None, telemetry=False):
    """Two daemons in namespaces of their own, joined by a veth pair, through AF_PACKET or AF_XDP.
    Each has .ns and .device. daemon_keys: of both [daemon] sections, a_daemon: of A's besides; plan: as pair_cpus(); tapped: packet
    sockets see what the daemons send through AF_PACKET."""
    (wa, ca), (wb, cb) = plan or pair_cpus()
    spaces = [net.namespace(testbed, name) for name in ("a", "b")]
    for ns in spaces:
        net.quiet(ns)
    devices = ("sla", "slb")
    extra = ",qdisc_bypass=0" if tapped else ""
    net.veth(spaces[0], devices[0], spaces[1], devices[1], mtu)
    daemons = []
    for number, (ns, device, worker, control, own) in enumerate(
            ((spaces[0], devices[0], wa, ca, a_keys), (spaces[1], devices[1], wb, cb, b_keys)), 1):
        port = af_xdp(device) if xdp else af_packet(device, mtu, extra=extra)
        port.keys = {**station(number), "mtu": mtu, **(keys or {}), **(own or {})}
        daemon = Daemon(testbed, build, "ab"[number - 1], [port], [worker], control, ns=ns,
                        daemon_keys={**(daemon_keys or {}), **((a_daemon or {}) if number == 1 else {})},
                        memory_mb=memory_mb, telemetry=telemetry)
        daemon.device = device
        daemons.append(daemon)
    for daemon in daemons:
        daemon.start()
    return daemons
