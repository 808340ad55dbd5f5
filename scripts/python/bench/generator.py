# SPDX-License-Identifier: BSD-3-Clause
"""Traffic generators. Whatever sends and counts frames for a trial is behind one class with offer(), and knows nothing of
searches, nor of what the device does to frames. Today there is one, test/bench/load.c."""
import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from . import forwarder, paired
from testbed.daemon import Build
from testbed.pair import pair_cpus
from testbed.process import Testbed, TestbedError

CRC_BYTES = 4


@dataclass(frozen=True)
class Profile:
    """The traffic of all trials of a search (RFC 9971, 4.5.4): frames of one size, without CRC, of so many UDP flows,
    in turn. One direction."""
    frame_bytes: int
    flows: int = 1

    @property
    def size(self) -> int:
        """As RFC 2544 counts: with the CRC."""
        return self.frame_bytes + CRC_BYTES


@dataclass(frozen=True)
class Offer:
    """What a generator did. owed: frames that the load and the duration make. offered: those of them that it sent, or
    that the port refused because its ring was full. received: until the linger was over. latency_s: {quantile:
    seconds}; empty if it measures none."""
    owed: int
    offered: int
    received: int
    latency_s: Mapping[str, float] = field(default_factory=dict)


class Generator(Protocol):
    def warm(self, profile: Profile, load_fps: float, seconds: float, linger_s: float) -> None:
        """Sends at this load, and then receives until nothing comes for linger_s, without counting."""

    def offer(self, profile: Profile, load_fps: float, seconds: float, linger_s: float) -> Offer:
        """Sends for so many seconds, and then receives for linger_s."""


class Load:
    """test/bench/load.c on the second CPU of pair_cpus(), as the client of a forwarder's memifs."""

    # One frame, at once: the program sends nothing only where it receives nothing.
    IDLE_FPS = 1e-3
    DRAINS_MAX = 50

    def __init__(self, testbed: Testbed, build: Build, tag: str, ring: str) -> None:
        program = os.path.join(build.dir, "test", "bench", "load")
        if not os.access(program, os.X_OK):
            raise TestbedError(f"{program} is missing; build it: ninja -C {build.dir} benchmarks")
        command = [program, "--lcores", f"0@{pair_cpus()[1][0]}", *forwarder.memory_options(build, 256), "--no-pci",
                   "--no-telemetry", "--log-level", "error", "--file-prefix", f"sluice-{os.getpid()}-load-{tag}"]
        for vdev in forwarder.vdevs(testbed, "client", tag, ring):
            command += ["--vdev", vdev]
        self.asked = paired.Asked(testbed.start(f"load-{tag}", command, stdin=subprocess.PIPE))
        self.asked.next_answer()  # it is ready

    def _window(self, profile: Profile, load_fps: float, seconds: float) -> dict[str, Any]:
        self.asked.timeout_s = 60 + seconds
        answer: dict[str, Any] = json.loads(self.asked.ask(
            f"{profile.frame_bytes} {seconds:g} {load_fps:.6f} 0 {profile.flows}"))
        return answer

    def warm(self, profile: Profile, load_fps: float, seconds: float, linger_s: float) -> None:
        self._window(profile, load_fps, seconds)
        for _ in range(self.DRAINS_MAX):
            answer = self._window(profile, self.IDLE_FPS, linger_s)
            if answer["drained"] == answer["sent"]:
                break

    def offer(self, profile: Profile, load_fps: float, seconds: float, linger_s: float) -> Offer:
        answers = [self._window(profile, load_fps, seconds), self._window(profile, self.IDLE_FPS, linger_s)]
        offered = sum(a["sent"] + a["refused"] for a in answers)
        # with the one of the second window
        return Offer(int(load_fps * seconds) + 1, offered, sum(a["drained"] for a in answers))
