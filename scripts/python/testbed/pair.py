# SPDX-License-Identifier: BSD-3-Clause
"""Two daemons, A and B, joined by a memif or by a veth pair between two namespaces.

A is 10.90.0.1 and fd90::1, B is 10.90.0.2 and fd90::2.
"""
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ParamSpec, Protocol

from . import net
from .daemon import Build, Daemon, af_packet, af_xdp, memif
from .keys import introduce
from .process import Testbed, cpus

ADDR_A, ADDR_B = "10.90.0.1", "10.90.0.2"
ADDR6_A, ADDR6_B = "fd90::1", "fd90::2"
NETWORKS = ((f"{ADDR_A}/32", f"{ADDR6_A}/128"), (f"{ADDR_B}/32", f"{ADDR6_B}/128"))  # of A, and of B

Plan = tuple[tuple[int, int], tuple[int, int]]  # (worker's CPU, control's CPU) of A, and of B
Keys = Mapping[str, object] | None
P = ParamSpec("P")


def pair_cpus() -> Plan:
    """The workers are on different CPUs where there are two. A control shares the CPU of the other daemon's
    worker, or of no worker where there are four CPUs."""
    have = cpus()
    if len(have) >= 4:
        return (have[0], have[2]), (have[1], have[3])
    if len(have) >= 2:
        return (have[0], have[1]), (have[1], have[0])
    return (have[0], have[0]), (have[0], have[0])


def station(number: int) -> dict[str, object]:
    """Keys of host A (1) or B (2). Where all processes share two cores, a host can be silent for 3 s."""
    return {"address": f"10.90.0.{number}/24", "address6": f"fd90::{number}/64", "silence": "10s"}


class _Pair(Protocol):
    def start(self) -> list[Daemon]:
        ...


def _started(pair: Callable[P, _Pair]) -> Callable[P, list[Daemon]]:
    """A function that makes a pair from the same parameters and starts it."""
    def start(*args: P.args, **kwargs: P.kwargs) -> list[Daemon]:
        return pair(*args, **kwargs).start()
    return start


@dataclass
class MemifPair:
    """Two daemons joined by a memif."""
    testbed: Testbed
    build: Build
    mtu: int = 9000
    keys: Keys = None  # in both [port] sections
    a_keys: Keys = None  # only in that of A
    b_keys: Keys = None  # only in that of B
    daemon_keys: Keys = None  # in both [daemon] sections
    memory_mb: int = 512
    workers: int = 1
    rsize: int = 8
    name: str = ""  # comes before the names of both; another pair of the testbed has another
    b_extra: str = ""  # further arguments of B's memif
    b_eal: Sequence[str] = ()  # further arguments of B's EAL
    env: Mapping[str, str] | None = None
    telemetry: bool = False
    secured: bool = False  # each has a key and knows that of the other
    peer_keys: Sequence[Keys] = (None, None)  # further keys of the [peer] sections of A, and of B

    def start(self) -> list[Daemon]:
        """Starts them and waits for the link."""
        link = self.testbed.path(f"{self.name}memif.sock")
        a, b = pair_cpus()
        daemons = [self._daemon(link, 1, a, self.a_keys), self._daemon(link, 2, b, self.b_keys)]
        if self.secured:
            introduce(daemons, NETWORKS, self.peer_keys)
        for daemon in daemons:
            daemon.start()
        for daemon in daemons:
            daemon.wait_link()
        return daemons

    def _daemon(self, link: str, number: int, plan: tuple[int, int], own: Keys) -> Daemon:
        second = number == 2
        mtus = [int(str(keys["mtu"])) for keys in (self.a_keys, self.b_keys) if keys and "mtu" in keys]
        port = memif(link, "client" if second else "server", self.rsize, extra=self.b_extra if second else "",
                     mtu=max([self.mtu, *mtus]))
        port.keys = {**station(number), "mtu": self.mtu, "workers": self.workers, **(self.keys or {}), **(own or {})}
        return Daemon(self.testbed, self.build, self.name + "ab"[number - 1], [port], [plan[0]] * self.workers, plan[1],
                      daemon_keys=self.daemon_keys, memory_mb=self.memory_mb, env=self.env,
                      eal=self.b_eal if second else (), telemetry=self.telemetry)


@dataclass
class VethPair:
    """Two daemons in namespaces of their own, joined by a veth pair, through AF_PACKET or AF_XDP. Each daemon has
    .ns and .device."""
    testbed: Testbed
    build: Build
    mtu: int = 1500
    xdp: bool = False
    keys: Keys = None  # in both [port] sections
    b_keys: Keys = None  # only in that of B
    daemon_keys: Keys = None  # in both [daemon] sections
    a_daemon: Keys = None  # only in that of A
    plan: Plan | None = None
    tapped: bool = False  # packet sockets see the packets that the daemons send through AF_PACKET
    telemetry: bool = False
    secured: bool = False  # each has a key and knows that of the other

    def start(self) -> list[Daemon]:
        """Starts them; does not wait for the link."""
        spaces = [net.namespace(self.testbed, name) for name in "ab"]
        for ns in spaces:
            net.quiet(ns)
        net.veth(spaces[0], "sla", spaces[1], "slb", self.mtu)
        plan = self.plan or pair_cpus()
        daemons = [self._daemon(i, spaces[i], plan[i]) for i in (0, 1)]
        if self.secured:
            introduce(daemons, NETWORKS)
        for daemon in daemons:
            daemon.start()
        return daemons

    def _daemon(self, index: int, ns: str, plan: tuple[int, int]) -> Daemon:
        device, first = ("sla", "slb")[index], index == 0
        port = af_xdp(device) if self.xdp else af_packet(device, self.mtu,
                                                         extra=",qdisc_bypass=0" if self.tapped else "")
        port.keys = {**station(index + 1), "mtu": self.mtu, **(self.keys or {}),
                     **((None if first else self.b_keys) or {})}
        daemon = Daemon(self.testbed, self.build, "ab"[index], [port], [plan[0]], plan[1], ns=ns,
                        daemon_keys={**(self.daemon_keys or {}), **((self.a_daemon if first else None) or {})},
                        telemetry=self.telemetry)
        daemon.device = device
        return daemon


memif_pair = _started(MemifPair)
veth_pair = _started(VethPair)
