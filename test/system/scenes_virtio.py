# SPDX-License-Identifier: BSD-3-Clause
"""Virtual machines without one: vhost-user and virtio-user, which speak to each other as the
daemon of a host and the virtio NIC of a machine do, with all defaults."""
import os

from .harness import TestbedError, scenario, transfer_works
from testbed.daemon import Daemon, Port
from testbed.pair import ADDR6_A, ADDR6_B, ADDR_A, ADDR_B, pair_cpus, station
from testbed.process import until


def _vhost(path):
    return Port("net_vhost0", f"net_vhost0,iface={path},queues=1")


def _virtio(path):
    return Port("net_virtio_user0", f"net_virtio_user0,path={path},queue_size=1024")


def _daemon(testbed, context, name, number, port, keys=None):
    worker, control = pair_cpus()[number - 1]
    port.keys = {**station(number), **(keys or {})}
    # a virtio NIC's memory is shared with the host's daemon, by the descriptors of its pages
    eal = ["--single-file-segments"] if port.name.startswith("net_virtio") else []
    return Daemon(testbed, context.build, name, [port], [worker], control, eal=eal).start()


def _host_and_machine(testbed, context, keys_a=None, keys_b=None):
    """(host with vhost, machine with virtio), linked."""
    path = testbed.path("vhost.sock")
    host = _daemon(testbed, context, "host", 1, _vhost(path), keys_a)
    until(lambda: os.path.exists(path), 10, "vhost listens")
    machine = _daemon(testbed, context, "machine", 2, _virtio(path), keys_b)
    for daemon in (host, machine):
        daemon.wait_link()
    return host, machine


def _nothing_wrong(*daemons):
    for daemon in daemons:
        for counter in ("drop_sum", "drop_no_sum"):
            if daemon.counters(counter):
                raise TestbedError(f"{daemon.name}: {counter} is {daemon.counters(counter)}")


def _file(testbed, sender, receiver, address):
    """A file from one to the other; both are checked by the command's own hash."""
    folder = testbed.path(f"to-{receiver.name}-{address.replace(':', '-')}")
    source = testbed.path(f"from-{sender.name}")
    os.mkdir(folder)
    with open(source, "wb") as f:
        f.write(os.urandom(3_000_001))
    receiving = receiver.sluice("recv", "recv", "--once", "-o", folder)
    receiver.wait_listening(process=receiving)
    sender.sluice("send", "send", source, address, timeout_s=60)
    receiving.check(60)
    with open(source, "rb") as a, open(os.path.join(folder, os.path.basename(source)), "rb") as b:
        if a.read() != b.read():
            raise TestbedError("the file is not the same")


@scenario("virtio: files between a host and a machine, both ways, with defaults", company=True)
def defaults(testbed, context):
    host, machine = _host_and_machine(testbed, context)
    for daemon in (host, machine):
        if daemon.show("ports")[0]["checksum"] != "offload":
            raise TestbedError(f"{daemon.name}: checksum {daemon.show('ports')[0]['checksum']}")
    for address in (ADDR_B, ADDR6_B):
        _file(testbed, host, machine, address)
    for address in (ADDR_A, ADDR6_A):
        _file(testbed, machine, host, address)
    _nothing_wrong(host, machine)
    for daemon in (machine, host):
        daemon.stop()


@scenario("virtio: machines that leave checksums to the device, compute them, and send none", company=True)
def machines(testbed, context):
    for checksum in ("offload", "software", "none"):
        host, machine = _host_and_machine(testbed, context, keys_b={"checksum": checksum})
        transfer_works(host, machine, ADDR_B)
        transfer_works(machine, host, ADDR_A)
        _nothing_wrong(host, machine)
        for daemon in (machine, host):
            daemon.stop()
