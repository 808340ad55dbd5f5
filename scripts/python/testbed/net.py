# SPDX-License-Identifier: BSD-3-Clause
"""Network namespaces joined by veth pairs. Their names hold the pid of this process; the testbed removes them."""
import contextlib
import ctypes
import glob
import os
import platform
import socket
import struct
import subprocess
from collections.abc import Iterator

from .process import Testbed, TestbedError


def _ip(*args: object) -> str:
    done = subprocess.run(["ip"] + [str(a) for a in args], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise TestbedError(f"ip {' '.join(str(a) for a in args)}: {done.stderr.strip()}")
    return done.stdout


def can_netns() -> str | None:
    """None, or why this machine makes no network namespaces."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    probe = f"sluice-{os.getpid()}-probe"
    try:
        _ip("netns", "add", probe)
        try:
            _ip("-n", probe, "link", "set", "lo", "up")
        finally:
            _ip("netns", "del", probe)
    except TestbedError as problem:
        return f"this machine makes no network namespaces: {problem}"
    return None


def _dpdk_has(driver: str) -> bool:
    """Whether this DPDK was built with this driver."""
    folder = subprocess.run(["pkg-config", "--variable=libdir", "libdpdk"], capture_output=True, text=True,
                            check=False).stdout.strip()
    return any(glob.glob(os.path.join(folder, where, f"librte_{driver}.*")) for where in ("", "dpdk/pmds-*"))


def lack_xdp() -> str | None:
    """None, or why no program can use AF_XDP here. The kernel is asked, not the program under test: if that
    one crashes on AF_XDP, the test must fail, not be skipped."""
    if not _dpdk_has("net_af_xdp"):
        return "this DPDK has no driver for AF_XDP"
    try:
        socket.socket(44, socket.SOCK_RAW).close()  # AF_XDP has no name in Python 3.11
    except OSError as problem:
        return f"this kernel makes no AF_XDP socket: {problem.strerror}"
    # The driver loads a program into the kernel, which a container may forbid. A process that may load one may
    # also make a map.
    number = {"x86_64": 321, "aarch64": 280}.get(platform.machine())
    if number is not None:
        libc = ctypes.CDLL(None, use_errno=True)
        array = struct.pack("IIIII", 2, 4, 4, 1, 0).ljust(120, b"\0")  # BPF_MAP_TYPE_ARRAY with one entry
        made = libc.syscall(number, 0, array, len(array))
        if made < 0:
            return f"this kernel does not allow BPF: {os.strerror(ctypes.get_errno())}"
        os.close(made)
    return None


def lack_tap() -> str | None:
    """None, or why no program can have a TAP device here."""
    try:
        os.close(os.open("/dev/net/tun", os.O_RDWR))
    except OSError as problem:
        return f"this kernel has no TAP devices: /dev/net/tun: {problem.strerror}"
    return None


def namespace(testbed: Testbed, name: str) -> str:
    """Makes a namespace with its loopback up; returns its full name."""
    full = f"sluice-{os.getpid()}-{name}"
    _ip("netns", "add", full)
    testbed.undo(_ip, "netns", "del", full)
    _ip("-n", full, "link", "set", "lo", "up")
    return full


CLONE_NEWNET = 0x40000000


@contextlib.contextmanager
def inside(ns: str) -> Iterator[None]:
    """The calling thread is in the namespace. Sockets that it makes there stay there."""
    libc = ctypes.CDLL(None, use_errno=True)
    with open("/proc/thread-self/ns/net", "rb") as before, open(f"/var/run/netns/{ns}", "rb") as there:
        if libc.setns(there.fileno(), CLONE_NEWNET) != 0:
            raise TestbedError(f"cannot enter namespace {ns}: {os.strerror(ctypes.get_errno())}")
        try:
            yield
        finally:
            libc.setns(before.fileno(), CLONE_NEWNET)


def quiet(ns: str) -> None:
    """The kernel sends nothing by itself from this namespace: no router solicitations, no DAD."""
    for scope in ("default", "all"):
        subprocess.run(["ip", "netns", "exec", ns, "sh", "-c",
                        f"echo 1 >/proc/sys/net/ipv6/conf/{scope}/disable_ipv6"],
                       capture_output=True, check=False)


def offloads_off(ns: str, device: str) -> None:
    """No super-packets, and no checksums left to hardware: the packets on the wire are those that were sent."""
    for feature in ("tso", "gso", "gro", "tx", "rx", "txvlan", "rxvlan"):
        subprocess.run(["ip", "netns", "exec", ns, "ethtool", "-K", device, feature, "off"],
                       capture_output=True, check=False)


def veth(ns_a: str, dev_a: str, ns_b: str, dev_b: str, mtu: int = 1500, offloads: bool = False) -> None:
    """A pair of devices, one in each namespace, up, without addresses; it ends with its namespaces.
    offloads: as Linux sets them, so that super-packets and partial checksums pass."""
    _ip("link", "add", dev_a, "netns", ns_a, "mtu", mtu, "type", "veth", "peer", "name", dev_b,
        "netns", ns_b, "mtu", mtu)
    for ns, dev in ((ns_a, dev_a), (ns_b, dev_b)):
        if not offloads:
            offloads_off(ns, dev)
        _ip("-n", ns, "link", "set", dev, "up")


def address(ns: str, device: str, text: str) -> None:
    """Adds an address; with nodad, IPv6 can use it at once."""
    _ip("-n", ns, "addr", "add", text, "dev", device, *(["nodad"] if ":" in text else []))


def mac(ns: str, device: str) -> str:
    return _ip("-n", ns, "-o", "link", "show", "dev", device).split("link/ether ")[1].split()[0]


def ip(ns: str, *args: object) -> str:
    return _ip("-n", ns, *args)
