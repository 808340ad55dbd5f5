# SPDX-License-Identifier: BSD-3-Clause
"""The path emulator under test: sluice-emu between two ports, and its report."""
import json
import os
import shutil
import subprocess

from . import net
from .daemon import af_packet
from .pair import pair_cpus
from .process import TestbedError, until

ADDR = {"left": ("10.91.0.1", "fd91::1"), "right": ("10.91.0.2", "fd91::2")}


class Box:
    """One sluice-emu; vdevs: two --vdev arguments. forward is from the first to the second."""

    def __init__(self, testbed, build, vdevs, forward="", reverse="", options=(), memory_mb=256,
                 worker=None, control=None, ns=None, console=False, name="box"):
        """name: tells it from other boxes of the testbed."""
        self.testbed, self.build = testbed, build
        if "--packets" not in options:
            options = ("--packets", "4096", *options)
        if worker is None:
            worker, control = pair_cpus()[0]
        self.json = testbed.path(f"{name}.json")
        memory = ["--in-memory"] if build.huge else ["--no-huge", "--no-shconf"]
        prefix = f"sluice-{os.getpid()}-{name}"
        for run in ("/var/run/dpdk", os.environ.get("XDG_RUNTIME_DIR", "/tmp") + "/dpdk"):
            testbed.undo(shutil.rmtree, os.path.join(run, prefix), ignore_errors=True)
        args = [build.program("sluice-emu"), "--lcores", f"0@{control},1@{worker}", *memory,
                "-m", memory_mb, "--no-pci", "--no-telemetry", "--file-prefix", prefix]
        for vdev in vdevs:
            args += ["--vdev", vdev]
        args += ["--", "--forward", forward, "--reverse", reverse, "--json", self.json, *options]
        if console:
            args.append("-i")
        self.process = testbed.start("sluice-emu", args, ns=ns,
                                 stdin=subprocess.PIPE if console else None)
        until(self._ready, 60, "sluice-emu is ready", 0.05)

    def _ready(self):
        if not self.process.running():
            raise TestbedError(f"sluice-emu ended with status {self.process.wait(1)}\n"
                           f"{self.process.tail()}")
        return "ready:" in self.process.err()

    def say(self, line):
        """To the console."""
        self.process.popen.stdin.write((line + "\n").encode())
        self.process.popen.stdin.flush()

    def report(self, timeout_s=10):
        """A report that it writes from now on; with the options --interval and --json only."""
        def latest():
            try:
                with open(self.json, encoding="utf-8") as f:
                    return json.load(f)
            except FileNotFoundError:
                return {"time_s": None}

        old = latest()["time_s"]
        until(lambda: latest()["time_s"] != old, timeout_s, "sluice-emu reports", 0.01)
        return latest()

    def stop(self):
        """A clean stop; what it did, as its JSON says."""
        self.process.signal(2)
        status = self.process.wait(20)
        if status != 0:
            raise TestbedError(f"sluice-emu stopped with status {status}\n{self.process.tail()}")
        with open(self.json, encoding="utf-8") as f:
            return json.load(f)


def element(direction, kind):
    """The first element of this kind in a direction of the report."""
    return next(e for e in direction["elements"] if e["kind"] == kind)


def kernels(testbed, mtu=1500, offloads=False):
    """Two kernels, each alone with one end of a veth pair in a namespace; the other ends are in the
    box's. Super-packets and sums left to hardware are off, unless they are wanted as Linux has them.
    ({"left": ns, "right": ns}, box's ns)"""
    box = net.namespace(testbed, "box")
    net.quiet(box)
    spaces = {}
    for side in ("left", "right"):
        spaces[side] = net.namespace(testbed, side)
        net.veth(spaces[side], f"sl{side}", box, f"box{side}", mtu, offloads)
        for text, length in zip(ADDR[side], (24, 64)):
            net.address(spaces[side], f"sl{side}", f"{text}/{length}")
    return spaces, box


def kernel_box(testbed, build, forward="", reverse="", mtu=1500, options=(), **kwargs):
    """A box between two kernels, over AF_PACKET; forward is from left to right."""
    spaces, ns = kernels(testbed, mtu)
    vdevs = [af_packet("boxleft", mtu, 0).vdev, af_packet("boxright", mtu, 1).vdev]
    return spaces, Box(testbed, build, vdevs, forward, reverse, ("--mtu", mtu, *options), ns=ns, **kwargs)
