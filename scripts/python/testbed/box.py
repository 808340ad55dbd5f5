# SPDX-License-Identifier: BSD-3-Clause
"""The path emulator under test: sluice-emu between two ports, and its report."""
import json
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from . import net
from .daemon import Build, af_packet
from .pair import pair_cpus
from .process import Testbed, TestbedError, until

ADDR = {"left": ("10.91.0.1", "fd91::1"), "right": ("10.91.0.2", "fd91::2")}


@dataclass(eq=False)
class Box:
    """One sluice-emu; a new Box starts it. forward is the path from the first device to the second."""
    testbed: Testbed
    build: Build
    vdevs: Sequence[str]  # two arguments of --vdev
    forward: str = ""
    reverse: str = ""
    options: Sequence[object] = ()
    memory_mb: int = 256
    worker: int | None = None  # with control: their CPUs; None: as the first of a pair
    control: int | None = None
    more_workers: Sequence[int] = ()  # CPUs of further workers
    ns: str | None = None
    console: bool = False
    name: str = "box"  # unique among the boxes of the testbed

    def __post_init__(self) -> None:
        options = self.options if "--packets" in self.options else ("--packets", "4096", *self.options)
        worker, control = pair_cpus()[0] if self.worker is None else (self.worker, self.control)
        self.json = self.testbed.path(f"{self.name}.json")
        memory = ["--in-memory"] if self.build.huge else ["--no-huge", "--no-shconf"]
        prefix = f"sluice-{os.getpid()}-{self.name}"
        for run in ("/var/run/dpdk", os.environ.get("XDG_RUNTIME_DIR", "/tmp") + "/dpdk"):
            self.testbed.undo(shutil.rmtree, os.path.join(run, prefix), ignore_errors=True)
        lcores = ",".join(f"{i}@{cpu}" for i, cpu in enumerate((control, worker, *self.more_workers)))
        args: list[object] = [self.build.program("sluice-emu"), "--lcores", lcores, *memory,
                              "-m", self.memory_mb, "--no-pci", "--no-telemetry", "--file-prefix", prefix]
        for vdev in self.vdevs:
            args += ["--vdev", vdev]
        args += ["--", "--forward", self.forward, "--reverse", self.reverse, "--json", self.json, *options]
        if self.console:
            args.append("-i")
        self.process = self.testbed.start("sluice-emu", args, ns=self.ns,
                                          stdin=subprocess.PIPE if self.console else None)
        until(lambda: "ready:" in self.process.err(), 60, "sluice-emu is ready", 0.05, self.process)

    def say(self, line: str) -> None:
        """Gives a line to the console."""
        pipe = self.process.popen.stdin
        assert pipe is not None, "this box has no console; make it with console=True"
        try:
            pipe.write((line + "\n").encode())
            pipe.flush()
        except BrokenPipeError:
            status = self.process.wait(20)
            raise TestbedError(f"the box has ended with status {status} before {line!r}\n{self.process.tail()}") from None

    def report(self, timeout_s: float = 10) -> dict[str, Any]:
        """The first report that it writes from now on. It writes some only with the option --interval."""
        def latest() -> dict[str, Any]:
            try:
                with open(self.json, encoding="utf-8") as f:
                    return json.load(f)
            except FileNotFoundError:
                return {"time_s": None}

        old = latest()["time_s"]
        until(lambda: latest()["time_s"] != old, timeout_s, "sluice-emu reports", 0.01)
        return latest()

    def dropped(self, kind: str) -> int:
        """Packets that all elements of this kind, forward, have dropped so far. Asks the console."""
        before = len(self.process.out())
        self.say("show stats")
        text = until(lambda: stats_forward(self.process.out()[before:]), 10, "sluice-emu shows its counters", 0.005,
                     self.process)
        return stats_dropped(text, kind)

    def stop(self) -> dict[str, Any]:
        """Stops it cleanly; returns its last report."""
        self.process.signal(2)
        status = self.process.wait(20)
        if status != 0:
            raise TestbedError(f"sluice-emu stopped with status {status}\n{self.process.tail()}")
        with open(self.json, encoding="utf-8") as f:
            return json.load(f)


def stats_forward(text: str) -> str:
    """What the console's "show stats" says of the forward direction; empty until all of it is there."""
    whole = re.search(r"^(forward, (?:.*\n)+?)reverse, (?:.*\n)+?  box .*\n", text, re.MULTILINE)
    return whole[1] if whole else ""


def stats_dropped(text: str, kind: str) -> int:
    """Packets that the elements of this kind have dropped, in what stats_forward() returns."""
    found = re.findall(rf"^  {kind} .*?  +\d+ +\d+ +(\d+)  ", text, re.MULTILINE)
    if not found:
        raise TestbedError(f"sluice-emu has no element {kind} forward:\n{text}")
    return sum(map(int, found))


def element(direction: dict[str, Any], kind: str) -> dict[str, Any]:
    """The first element of this kind in a direction of the report."""
    return next(e for e in direction["elements"] if e["kind"] == kind)


def kernels(testbed: Testbed, mtu: int = 1500, offloads: bool = False) -> tuple[dict[str, str], str]:
    """Two kernels, each in a namespace of its own with one end of a veth pair; the other ends are in the
    namespace of the box. offloads: as for net.veth(). Returns ({"left": ns, "right": ns}, ns of the box)."""
    box = net.namespace(testbed, "box")
    net.quiet(box)
    spaces: dict[str, str] = {}
    for side in ("left", "right"):
        spaces[side] = net.namespace(testbed, side)
        net.veth(spaces[side], f"sl{side}", box, f"box{side}", mtu, offloads)
        for text, length in zip(ADDR[side], (24, 64)):
            net.address(spaces[side], f"sl{side}", f"{text}/{length}")
    return spaces, box


def kernel_box(testbed: Testbed, build: Build, forward: str = "", reverse: str = "", mtu: int = 1500,
               options: Sequence[object] = (), console: bool = False) -> tuple[dict[str, str], Box]:
    """A box between two kernels, over AF_PACKET; forward is the path from left to right."""
    spaces, ns = kernels(testbed, mtu)
    vdevs = [af_packet("boxleft", mtu, 0).vdev, af_packet("boxright", mtu, 1).vdev]
    return spaces, Box(testbed, build, vdevs, forward, reverse, ("--mtu", mtu, *options), ns=ns, console=console)
