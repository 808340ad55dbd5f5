# SPDX-License-Identifier: BSD-3-Clause
"""vhost-user and virtio-user, without a virtual machine: they speak to each other as the daemon of a host
and the virtio NIC of a virtual machine do, with all defaults."""
import json
import os
import time
from typing import Any

from .harness import Context, TestbedError, file_works, perf, scene, transfer_works
from .thread import stopped, thread_named
from testbed.daemon import Daemon, Port
from testbed.pair import ADDR6_A, ADDR6_B, ADDR_A, ADDR_B, pair_cpus, station
from testbed.process import Testbed, until

VIRTIO_MTU_MAX = 9698  # DPDK's driver takes frames of 9728 bytes, headers included


def _vhost(path: str) -> Port:
    return Port("net_vhost0", f"net_vhost0,iface={path},queues=1")


def _virtio(path: str) -> Port:
    return Port("net_virtio_user0", f"net_virtio_user0,path={path},queue_size=1024")


def _daemon(testbed: Testbed, context: Context, name: str, number: int, port: Port,
            keys: dict[str, Any] | None = None) -> Daemon:
    worker, control = pair_cpus()[number - 1]
    port.keys = {**station(number), **(keys or {})}
    # The daemon with the virtio NIC shares its memory by file descriptors; virtio-user can pass only a few.
    eal = ["--single-file-segments"] if port.name.startswith("net_virtio") else []
    return Daemon(testbed, context.build, name, [port], [worker], control, eal=eal).start()


def _host_and_machine(testbed: Testbed, context: Context, machine_keys: dict[str, Any] | None = None,
                      host_keys: dict[str, Any] | None = None) -> tuple[Daemon, Daemon]:
    """(host with vhost, machine with virtio), linked."""
    path = testbed.path("vhost.sock")
    host = _daemon(testbed, context, "host", 1, _vhost(path), host_keys)
    until(lambda: os.path.exists(path), 10, "vhost listens")
    machine = _daemon(testbed, context, "machine", 2, _virtio(path), machine_keys)
    for daemon in (host, machine):
        daemon.wait_link()
    return host, machine


def _nothing_wrong(*daemons: Daemon) -> None:
    for daemon in daemons:
        for counter in ("drop_sum", "drop_no_sum"):
            if daemon.counters(counter):
                raise TestbedError(f"{daemon.name}: {counter} is {daemon.counters(counter)}")


@scene("virtio: files between a host and a machine, both ways, with defaults", company=True)
def defaults(testbed: Testbed, context: Context) -> None:
    host, machine = _host_and_machine(testbed, context)
    for daemon in (host, machine):
        if daemon.show("ports")[0]["checksum"] != "offload":
            raise TestbedError(f"{daemon.name}: checksum {daemon.show('ports')[0]['checksum']}")
    for address in (ADDR_B, ADDR6_B):
        file_works(testbed, host, machine, address)
    for address in (ADDR_A, ADDR6_A):
        file_works(testbed, machine, host, address)
    _nothing_wrong(host, machine)
    for daemon in (machine, host):
        daemon.stop()


@scene("virtio: machines that leave checksums to the device, compute them, and send none", company=True)
def machines(testbed: Testbed, context: Context) -> None:
    for checksum in ("offload", "software", "none"):
        host, machine = _host_and_machine(testbed, context, machine_keys={"checksum": checksum})
        transfer_works(host, machine, ADDR_B)
        transfer_works(machine, host, ADDR_A)
        _nothing_wrong(host, machine)
        for daemon in (machine, host):
            daemon.stop()


@scene("virtio: a host with the longest packets, a machine with the longest of its driver", memory_gb=2)
def long_packets(testbed: Testbed, context: Context) -> None:
    """vhost takes 65535 bytes, in two buffers; DPDK's virtio driver ends at 9698."""
    host, machine = _host_and_machine(testbed, context, {"mtu": VIRTIO_MTU_MAX}, {"mtu": 65535, "queue_size": 512})
    file_works(testbed, host, machine, ADDR_B)
    file_works(testbed, machine, host, ADDR_A)
    result = perf(host, machine, ADDR_A, "-n", "16M")
    if result["unit_bytes"] != (VIRTIO_MTU_MAX - 84) // 64 * 64:
        raise TestbedError(f"units of {result['unit_bytes']} bytes")
    _nothing_wrong(host, machine)
    for daemon in (machine, host):
        daemon.stop()


QUEUES = 4
STALLED = 2  # the lcore whose worker is stopped; it has queue 1


def _queues_pair(testbed: Testbed, context: Context) -> tuple[Daemon, Daemon]:
    """(host, machine), linked by four queues, with four worker lcores each. Nothing in their configuration asks for
    several workers: the devices do."""
    path = testbed.path("vhost.sock")
    ports = (Port("net_vhost0", f"net_vhost0,iface={path},queues={QUEUES}"),
             Port("net_virtio_user0", f"net_virtio_user0,path={path},queues={QUEUES},queue_size=512"))
    daemons = []
    for number, (name, port) in enumerate(zip(("host", "machine"), ports), 1):
        worker, control = pair_cpus()[number - 1]
        port.keys = {**station(number), "queue_size": 512}
        daemons.append(Daemon(testbed, context.build, name, [port], [worker, control] * (QUEUES // 2), control,
                              eal=["--single-file-segments"] if name == "machine" else []).start())
        until(lambda: os.path.exists(path), 10, "vhost listens")
    for daemon in daemons:
        daemon.wait_link()
        if daemon.show("ports")[0]["queues"] != QUEUES:
            raise TestbedError(f"{daemon.name} has {daemon.show('ports')[0]['queues']} queues")
    return daemons[0], daemons[1]


def _moved(daemon: Daemon, seconds: float) -> list[float]:
    """Bytes a second that the connections of each worker receive."""
    def sums() -> list[int]:
        got = [0] * QUEUES
        for conn in daemon.show("conns"):
            got[conn["worker"]] += conn["rx_bytes"]
        return got

    start, before = time.monotonic(), sums()
    time.sleep(seconds)
    after, took = sums(), time.monotonic() - start
    return [(b - a) / took for a, b in zip(before, after)]


@scene("virtio: four queues by default, none hands packets over, and a worker that stops harms no other")
def queues(testbed: Testbed, context: Context) -> None:
    host, machine = _queues_pair(testbed, context)
    perf(host, machine, ADDR_A, "-n", "4M", "-P", "16", "--bidir", "--memory", "8M", name="first")
    data = [w["host"]["rx_data"] for daemon in (host, machine) for w in daemon.show("ports")[0]["workers"]]
    if min(data) == 0:
        raise TestbedError(f"connections are not spread over the workers: {data} packets")
    waiting = host.sluice("server", "perf", "server", "-1", "--json")
    host.wait_listening(process=waiting)
    sending = machine.sluice("client", "perf", "client", "--json", "--check", "-i", "0", "-t", "10", "-P", "16",
                             "--bidir", "--memory", "8M", ADDR_A)
    until(lambda: min(_moved(machine, 0.2)) > 0, 10, "all workers receive", process=sending)
    before = _moved(machine, 1)
    with stopped(thread_named(host.pid(), f"sl-worker-{STALLED}")):
        time.sleep(0.3)  # what was under way arrives
        during = _moved(machine, 1.5)
    until(lambda: min(_moved(machine, 0.2)) > 0, 10, "all workers receive again", process=sending)
    queue = STALLED - 1
    others = [[rate for q, rate in enumerate(rates) if q != queue] for rates in (before, during)]
    if during[queue] > 0.01 * before[queue]:
        raise TestbedError(f"the worker was not stopped: {before} bytes/s before, {during} meanwhile")
    if min(others[1]) == 0 or sum(others[1]) < 0.5 * sum(others[0]):
        raise TestbedError(f"a stopped worker harms the others: {before} bytes/s before, {during} meanwhile")
    result = json.loads(sending.check(60))
    waiting.check(30)
    if result["wrong_bytes"] != 0:
        raise TestbedError(f"{result['wrong_bytes']} bytes are wrong")
    for daemon in (machine, host):
        # Workers pass news of neighbours on to each other, and nothing else.
        foreign, news = daemon.counters("rx_foreign"), daemon.counters("rx_neighbor")
        if foreign > news:
            raise TestbedError(f"{daemon.name}: {foreign} packets were handed over, but there were {news} of neighbours")
        daemon.stop()
