# SPDX-License-Identifier: BSD-3-Clause
"""Traffic generators. Whatever sends and counts frames for a trial is behind one class with offer(), and knows nothing of
searches, nor of what the device does to frames. pktgen.py has another one."""
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from . import forwarder
from testbed import load as sluice_load
from testbed.daemon import Build
from testbed.pair import pair_cpus
from testbed.process import Testbed

CRC_BYTES = 4
LATENCIES = ("p50", "p99", "max")


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
    @property
    def link_bps(self) -> float | None:
        """No load may be above the line rate of this link; None: any may be asked for."""

    def warm(self, profile: Profile, load_fps: float, seconds: float, linger_s: float) -> None:
        """Sends at this load, and then receives until nothing comes for linger_s, without counting."""

    def offer(self, profile: Profile, load_fps: float, seconds: float, linger_s: float) -> Offer:
        """Sends for so many seconds, and then receives for linger_s."""


class Load:
    """sluice-load on the second CPU of pair_cpus(), as the client of a forwarder's memifs."""
    link_bps: float | None = None

    def __init__(self, testbed: Testbed, build: Build, tag: str, rings: forwarder.Rings) -> None:
        self.process = sluice_load.load_process(testbed, build, f"load-{tag}", forwarder.vdevs(testbed, "client", tag, rings),
                                    [pair_cpus()[1][0]], ["--interactive", "--mtu", rings.mtu])
        self.load = sluice_load.Load(self.process)

    def _window(self, profile: Profile, load_fps: float, seconds: float, linger_s: float) -> dict[str, Any]:
        return self.load.window(size=profile.frame_bytes, rate=f"{load_fps:.3f}pps", seconds=f"{seconds:.6f}",
                                flows=profile.flows, wait=f"{linger_s:.6f}")

    def warm(self, profile: Profile, load_fps: float, seconds: float, linger_s: float) -> None:
        self._window(profile, load_fps, seconds, linger_s)

    def offer(self, profile: Profile, load_fps: float, seconds: float, linger_s: float) -> Offer:
        answer = self._window(profile, load_fps, seconds, linger_s)
        latency = answer["latency_ns"]
        return Offer(int(load_fps * seconds), answer["sent"] + answer["refused"], answer["received"],
                     {name: latency[name] * 1e-9 for name in LATENCIES} if latency and latency["count"] else {})
