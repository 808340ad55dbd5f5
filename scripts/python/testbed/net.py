# SPDX-License-Identifier: BSD-3-Clause
"""Network namespaces joined by veth pairs, named after this process; they go with the testbed."""
import ctypes
import glob
import os
import platform
import socket
import struct
import subprocess

from .process import TestbedError


def _ip(*args):
    done = subprocess.run(["ip"] + [str(a) for a in args], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise TestbedError(f"ip {' '.join(str(a) for a in args)}: {done.stderr.strip()}")
    return done.stdout


def can_netns():
    """None, or what is missing."""
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


def _dpdk_has(driver):
    """Whether this DPDK was built with this driver."""
    folder = subprocess.run(["pkg-config", "--variable=libdir", "libdpdk"], capture_output=True, text=True,
                            check=False).stdout.strip()
    return any(glob.glob(os.path.join(folder, where, f"librte_{driver}.*")) for where in ("", "dpdk/pmds-*"))


def lack_xdp():
    """None, or why no program can use AF_XDP here. The kernel is asked, not the program under test: one
    that crashes on AF_XDP has a fault, not a machine without it."""
    if not _dpdk_has("net_af_xdp"):
        return "this DPDK has no driver for AF_XDP"
    try:
        socket.socket(44, socket.SOCK_RAW).close()  # 44: AF_XDP, which Python 3.11 has no name for
    except OSError as problem:
        return f"this kernel makes no AF_XDP socket: {problem.strerror}"
    # The driver loads a program into the kernel; a container may be forbidden to. A map is the least of it.
    number = {"x86_64": 321, "aarch64": 280}.get(platform.machine())
    if number is not None:
        libc = ctypes.CDLL(None, use_errno=True)
        array = struct.pack("IIIII", 2, 4, 4, 1, 0).ljust(120, b"\0")  # BPF_MAP_TYPE_ARRAY of one
        made = libc.syscall(number, 0, array, len(array))
        if made < 0:
            return f"this kernel gives no right to load BPF: {os.strerror(ctypes.get_errno())}"
        os.close(made)
    return None


def lack_tap():
    """None, or why no program can have a TAP device here."""
    try:
        os.close(os.open("/dev/net/tun", os.O_RDWR))
    except OSError as problem:
        return f"this kernel has no TAP devices: /dev/net/tun: {problem.strerror}"
    return None


def namespace(testbed, name):
    """Makes a namespace with its loopback up; returns its full name."""
    full = f"sluice-{os.getpid()}-{name}"
    _ip("netns", "add", full)
    testbed.undo(_ip, "netns", "del", full)
    _ip("-n", full, "link", "set", "lo", "up")
    return full


def quiet(ns):
    """The kernel of this namespace sends nothing by itself: no router solicitations, no DAD."""
    for scope in ("default", "all"):
        subprocess.run(["ip", "netns", "exec", ns, "sh", "-c",
                        f"echo 1 >/proc/sys/net/ipv6/conf/{scope}/disable_ipv6"],
                       capture_output=True, check=False)


def offloads_off(ns, device):
    """No super-packets and no checksums left to hardware: what is on the wire is what was sent."""
    for feature in ("tso", "gso", "gro", "tx", "rx", "txvlan", "rxvlan"):
        subprocess.run(["ip", "netns", "exec", ns, "ethtool", "-K", device, feature, "off"],
                       capture_output=True, check=False)


def veth(ns_a, dev_a, ns_b, dev_b, mtu=1500, offloads=False):
    """A pair of devices, one in each namespace, up, without addresses; goes with its namespaces.
    offloads: as Linux makes it, so that super-packets and partial checksums pass."""
    _ip("link", "add", dev_a, "netns", ns_a, "mtu", mtu, "type", "veth", "peer", "name", dev_b,
        "netns", ns_b, "mtu", mtu)
    for ns, dev in ((ns_a, dev_a), (ns_b, dev_b)):
        if not offloads:
            offloads_off(ns, dev)
        _ip("-n", ns, "link", "set", dev, "up")


def address(ns, device, text):
    """nodad: usable at once."""
    _ip("-n", ns, "addr", "add", text, "dev", device, *(["nodad"] if ":" in text else []))


def mac(ns, device):
    return _ip("-n", ns, "-o", "link", "show", "dev", device).split("link/ether ")[1].split()[0]


def ip(ns, *args):
    return _ip("-n", ns, *args)
