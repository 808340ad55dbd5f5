# SPDX-License-Identifier: BSD-3-Clause
"""vhost-user and virtio-user, without a virtual machine: they speak to each other as the daemon of a host
and the virtio NIC of a virtual machine do, with all defaults."""
import os
from typing import Any

from .harness import Context, TestbedError, file_works, perf, scene, transfer_works
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
