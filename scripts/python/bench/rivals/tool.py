# SPDX-License-Identifier: BSD-3-Clause
"""What all tools of `scripts/bench rivals` have in common: a turn of one of them on one path, and what came out."""
import filecmp
import os
import shlex
import shutil
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

from testbed import baselines
from testbed.box import ADDR
from testbed.cgroup import CpuGroup
from testbed.process import Process, Testbed, TestbedError, until, wait_listening

from .. import paired
from . import outputs
from .paths import COMPETITOR_S, Ends, Path

MEMORY, FILE = "memory", "file"  # what a tool transfers
OURS, KERNEL, USER, OVER_TCP = "ours", "kernel TCP", "user-space transport", "files over kernel TCP"
COMPETITOR_PORT = 5202
LOOK_S = 0.05
LEFT, RIGHT = ADDR["left"][0], ADDR["right"][0]


@dataclass
class Outcome:
    """What one turn showed. bytes and seconds give the goodput. note: why it failed or was cut off. again_percent,
    competitor_bps: None, not known. waited: the share of the time for which the emulator waited for its core."""
    bytes: int = 0
    seconds: float = 0.0
    cpu_s: float | None = None
    again_percent: float | None = None
    competitor_bps: float | None = None
    waited: float | None = None
    whys: Counter[str] = field(default_factory=Counter)
    note: str = ""
    failed: bool = False

    def goodput_bps(self) -> float:
        return 8 * self.bytes / self.seconds if self.seconds > 0 else 0.0


@dataclass
class Place:
    """Where a tool has its turn. seconds: how long a tool that can choose sends; limit_s: it is cut off then.
    commands: what was started, for the report."""
    testbed: Testbed
    ends: Ends
    path: Path
    group: CpuGroup
    source: str
    folder: str  # empty; files arrive here
    seconds: int
    limit_s: float
    commands: list[str] = field(default_factory=list)
    began: float = 0.0
    _cpu_s: float = 0.0
    _acked: int = 0
    _times: paired.Times = field(default_factory=dict)

    @property
    def target(self) -> str:
        return os.path.join(self.folder, "target")

    def size(self) -> int:
        return os.path.getsize(self.source)

    def start(self, name: str, args: Sequence[object], side: str | None = None) -> Process:
        """Starts a process of the tool at this side: in its namespace, or, without one, in that of the testbed."""
        words = [str(a) for a in args]
        where = f"{side}# " if side is not None else "# "
        self.commands.append(where + self._short(words))
        return self.testbed.start(name, [*self.group.words(), *words], self.ends.cpus,
                                  None if side is None else self.ends.spaces[side])

    def _short(self, words: Sequence[str]) -> str:
        """The command line without the paths of the scratch folders."""
        text = shlex.join([os.path.basename(words[0]), *words[1:]])
        return text.replace(self.folder, "IN").replace(os.path.dirname(self.source), "OUT").replace(
            self.testbed.dir, "TMP")

    def listens(self, side: str, port: int, process: Process, udp: bool = False) -> None:
        wait_listening(self.testbed, self.ends.spaces[side], port, process, udp)

    def begin(self) -> None:
        """The transfer begins now."""
        self._acked = self.acked()
        self._times = self._emulator()
        self._cpu_s = self.group.seconds()
        self.began = time.monotonic()

    def end(self, outcome: Outcome) -> Outcome:
        """The transfer has ended: fills in what is measured from outside."""
        elapsed = time.monotonic() - self.began
        outcome.cpu_s = self.group.seconds() - self._cpu_s
        if self.path.box:
            outcome.waited = paired.waited(self._times, self._emulator())
        if self.path.competitor:
            outcome.competitor_bps = 8 * (self.acked() - self._acked) / elapsed
        return outcome

    def _emulator(self) -> paired.Times:
        box = self.ends.box if self.path.box else None
        return paired.thread_times_ns(box.process.pid) if box is not None else {}

    # ---- the competing TCP ------------------------------------------------------------------

    def compete(self) -> None:
        """Starts a TCP cubic from left to right. It is not in the tool's group."""
        spaces = self.ends.spaces
        server = self.testbed.start("competitor", ["iperf3", "-s", "-1", "-p", COMPETITOR_PORT], self.ends.cpus,
                                    spaces["right"])
        self.listens("right", COMPETITOR_PORT, server)
        client = self.testbed.start("competitor", ["iperf3", "-c", RIGHT, "-p", COMPETITOR_PORT, "-t", 3600, "-C",
                                                   "cubic", "-i", 0], self.ends.cpus, spaces["left"])
        until(lambda: self.acked() > 1 << 20, 30, "the competing TCP sends", process=client)
        time.sleep(COMPETITOR_S)

    def acked(self) -> int:
        if not self.path.competitor:
            return 0
        return outputs.acked_bytes(self.testbed.run(
            "ss", ["ss", "-Htin", f"dport = :{COMPETITOR_PORT}"], ns=self.ends.spaces["left"]))

    def snmp(self) -> str:
        return self.testbed.run("snmp", ["cat", "/proc/net/snmp"], ns=self.ends.spaces["left"])


@dataclass(kw_only=True)
class Tool:
    """One row of the report. what: MEMORY or FILE. offloads: those of the devices are as Linux sets them."""
    name: str
    title: str
    what: str
    kind: str
    offloads: bool = True

    def lack(self) -> str | None:
        """None, or why it cannot run here."""
        raise NotImplementedError

    def cure(self) -> str:
        """What to do about a lack."""
        raise NotImplementedError

    def version(self) -> str:
        raise NotImplementedError

    def run(self, place: Place) -> Outcome:
        """One transfer. TestbedError if it failed."""
        raise NotImplementedError


def debian(*packages: str) -> str:
    """The versions of these packages."""
    said = []
    for package in packages:
        done = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", package], capture_output=True, text=True,
                              check=False)
        said.append(f"{package} {done.stdout.strip() or 'not from Debian'}")
    return ", ".join(said)


@dataclass(kw_only=True)
class Program(Tool):
    """A tool that consists of installed programs."""
    needs: Sequence[str]
    package: str  # Debian's

    def cure(self) -> str:
        return f"apt-get install {self.package}"

    def lack(self) -> str | None:
        missing = [program for program in self.needs if shutil.which(program) is None]
        return f"{missing[0]} is not installed" if missing else None

    def version(self) -> str:
        return debian(*self.package.split())


# ---- files ----------------------------------------------------------------------------------


def arrived_bytes(folder: str) -> int:
    """The bytes that have been written below a folder of a tmpfs: its files may have any length from the start."""
    total = 0
    for where, _, names in os.walk(folder):
        for name in names:
            try:
                total += 512 * os.stat(os.path.join(where, name)).st_blocks
            except FileNotFoundError:
                pass  # it was renamed meanwhile
    return total


def transferred(place: Place, processes: Sequence[Process], look: Callable[[], None] | None = None,
                again: Callable[[], float | None] | None = None) -> Outcome:
    """Waits until the processes of a transfer of place.source have ended, and checks what has arrived. If they take
    too long, the transfer is cut off, and what has arrived by then counts. look() is called meanwhile; again() tells,
    of a transfer that is cut off, what was sent again in per cent."""
    seconds = baselines.wait_all(processes, place.limit_s, place.began, look, LOOK_S)
    if seconds is None:
        outcome = place.end(Outcome(arrived_bytes(place.folder), place.limit_s,
                                    note=f"cut off after {place.limit_s:g} s"))
        outcome.failed = outcome.bytes == 0
        outcome.again_percent = None if again is None else again()
        stop(processes)
        return outcome
    outcome = place.end(Outcome(place.size(), seconds))
    why = baselines.ended_well(processes)
    if why is not None:
        raise TestbedError(outputs.reason([outputs.last_line(p.err() + p.out()) for p in processes]) + f" ({why})")
    if not os.path.exists(place.target) or not filecmp.cmp(place.source, place.target, shallow=False):
        raise TestbedError("the program succeeded, but the file that arrived is another one")
    return outcome


def stop(processes: Collection[Process]) -> None:
    for process in processes:
        process.stop()
