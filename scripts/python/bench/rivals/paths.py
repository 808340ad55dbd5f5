# SPDX-License-Identifier: BSD-3-Clause
"""The paths on which the tools of `scripts/bench rivals` take turns, and the namespaces at their ends."""
from dataclasses import dataclass, field
from typing import Any

from testbed import net
from testbed.box import ADDR, Box, element, kernels
from testbed.daemon import Build, af_packet
from testbed.process import Testbed, TestbedError, cpus

MTU = 1500
FRAME = 1514  # of a full packet
TCP_PAYLOAD, UNIT_PAYLOAD = 1448, 1408  # of a full packet, of TCP with timestamps and of Sluice
QUEUE_MIN_BYTES = 128 * 1024
UNLIMITED_BPS = 2e9  # a path without a link gets files as if it carried this
SUPER_PACKETS_OFF = [word for feature in ("tso", "gso", "gro", "tx-udp-segmentation") for word in (feature, "off")]
REQUEST_S = 0.05  # as `sluice perf` chooses where the grant is the link's rate; at first it is higher
COMPETITOR_S = 3.0  # how long the competing TCP runs before the turn begins


@dataclass(frozen=True)
class Path:
    """rate_bps: of the link; None: no link. box: the packets pass sluice-emu. stretch: its turns are so many times
    as long, as its flows need that time to settle."""
    name: str
    title: str
    box: bool = True
    rate_bps: float | None = None
    rtt_ms: float = 0.0
    loss_percent: float = 0.0
    competitor: bool = False
    stretch: int = 1

    def queue_bytes(self) -> int:
        """Room of the link's queue: one bandwidth-delay product, but no less than QUEUE_MIN_BYTES."""
        assert self.rate_bps is not None, f"{self.name} has no link"
        return max(int(self.rate_bps / 8 * self.rtt_ms / 1e3), QUEUE_MIN_BYTES)

    def forward(self) -> str:
        """The path that the data take, in the language of doc/path.md."""
        parts = []
        if self.rate_bps is not None:
            parts.append(f"rate {self.rate_bps / 1e6:g}mbit limit {self.queue_bytes()}B")
        if self.rtt_ms > 0:
            parts.append(f"delay {self.rtt_ms / 2:g}ms")
        if self.loss_percent > 0:
            parts.append(f"loss {self.loss_percent:g}%")
        return " ".join(parts)

    def reverse(self) -> str:
        return f"delay {self.rtt_ms / 2:g}ms" if self.rtt_ms > 0 else ""

    def link_bps(self, payload: int) -> float | None:
        """What the link can deliver of packets with so much payload, less those that get lost."""
        if self.rate_bps is None:
            return None
        return self.rate_bps * payload / FRAME * (1 - self.loss_percent / 100)

    def request_bytes(self) -> int | None:
        """A power of two of bytes that the link carries in REQUEST_S or less; None: no link."""
        if self.rate_bps is None:
            return None
        return max(1 << 16, 1 << (int(self.rate_bps / 8 * REQUEST_S).bit_length() - 1))

    def file_bytes(self, seconds: float) -> int:
        """The size of a file that takes about this time at the path's full rate."""
        rate_bps = self.link_bps(UNIT_PAYLOAD) or UNLIMITED_BPS
        return max(1 << 20, int(rate_bps / 8 * seconds * self.stretch) & ~0xffff)


GBIT, MBIT100, FAR_MS = 1e9, 1e8, 50.0
PATHS = {path.name: path for path in (
    Path("veth", "A veth pair, without the emulator", box=False),
    Path("wire", "The emulator passes all on"),
    Path("1g", "1 Gbit/s, RTT 2 ms", rate_bps=GBIT, rtt_ms=2),
    Path("100m", "100 Mbit/s, RTT 2 ms", rate_bps=MBIT100, rtt_ms=2),
    Path("1g-50ms", "1 Gbit/s, RTT 50 ms", rate_bps=GBIT, rtt_ms=FAR_MS),
    Path("100m-50ms", "100 Mbit/s, RTT 50 ms", rate_bps=MBIT100, rtt_ms=FAR_MS),
    Path("loss1", "100 Mbit/s, RTT 50 ms, 1 % lost", rate_bps=MBIT100, rtt_ms=FAR_MS, loss_percent=1),
    Path("loss5", "100 Mbit/s, RTT 50 ms, 5 % lost", rate_bps=MBIT100, rtt_ms=FAR_MS, loss_percent=5),
    Path("cubic", "100 Mbit/s, RTT 50 ms, beside a TCP cubic", rate_bps=MBIT100, rtt_ms=FAR_MS, competitor=True,
         stretch=3),
)}


def chosen(names: str) -> list[Path]:
    """The paths of a list with commas, in the order of PATHS; an empty one is all of them."""
    wanted = [name for name in names.split(",") if name]
    unknown = [name for name in wanted if name not in PATHS]
    if unknown:
        raise TestbedError(f"--paths: there is no path \"{unknown[0]}\"; there are {', '.join(PATHS)}")
    return [path for name, path in PATHS.items() if not wanted or name in wanted]


@dataclass
class Queue:
    """What the emulator saw at its link during a turn; None: the path has no link."""
    mean_ms: float | None = None
    max_ms: float | None = None
    dropped: int | None = None


def queue_of(report: dict[str, Any]) -> Queue:
    """From the emulator's last report. The delay that a packet meets at the link is its wait, and the time that the
    link takes for it."""
    try:
        link = element(report["forward"], "rate")
    except StopIteration:
        return Queue()
    delay = link["delay_ns"]
    return Queue(delay["mean"] / 1e6, delay["max"] / 1e6, link["dropped"])


@dataclass
class Ends:
    """The two ends of a path while one tool has its turn: {"left", "right"} namespaces with kernel addresses of
    ADDR, and devices slleft, slright. Data go from left to right. offloads: as Linux sets them. super_packets:
    whether the kernel may give the emulator TCP's super-packets, for which it has a larger ring, of fewer frames."""
    testbed: Testbed
    build: Build
    path: Path
    offloads: bool
    super_packets: bool
    seed: int
    spaces: dict[str, str] = field(default_factory=dict)
    box: Box | None = None
    cpus: list[int] = field(default_factory=list)  # that the tool may use

    def make(self) -> "Ends":
        have = cpus()
        if self.path.box:
            self.spaces, ns = kernels(self.testbed, MTU, self.offloads)
            vdevs = [self._vdev(f"box{side}", i) for i, side in enumerate(("left", "right"))]
            if self.offloads and not self.super_packets:
                for side, space in self.spaces.items():
                    self.testbed.run("ethtool", ["ethtool", "-K", f"sl{side}", *SUPER_PACKETS_OFF], ns=space)
            self.box = Box(self.testbed, self.build, vdevs, self.path.forward(), self.path.reverse(),
                           ("--mtu", MTU, "--seed", self.seed, "--packets", 16384, "--quiet"), ns=ns)
            self.cpus = have[1:] or have  # the emulator polls on the first one
        else:
            self.spaces = {side: net.namespace(self.testbed, side) for side in ("left", "right")}
            net.veth(self.spaces["left"], "slleft", self.spaces["right"], "slright", MTU, self.offloads)
            for side, ns in self.spaces.items():
                net.address(ns, f"sl{side}", f"{ADDR[side][0]}/24")
            self.cpus = have
        return self

    def _vdev(self, device: str, number: int) -> str:
        if self.offloads and self.super_packets:
            return f"net_af_packet{number},iface={device}"  # the emulator makes its ring large
        return af_packet(device, MTU, number).vdev

    def queue(self) -> Queue:
        """Stops the emulator, and tells what it saw."""
        return Queue() if self.box is None else queue_of(self.box.stop())
