# SPDX-License-Identifier: BSD-3-Clause
"""Programs that forward from one memif to another, as devices under test: testpmd's io forwarding, the path emulator, and
the daemon with an exception port. They are the servers of both memifs; a generator is the client (generator.py). All are
started at the beginning, and poll on the first CPU of pair_cpus()."""
import os
from collections.abc import Sequence
from dataclasses import dataclass

from testbed.box import Box
from testbed.daemon import Build, Daemon, Port
from testbed.load import memif_vdevs
from testbed.pair import pair_cpus, station
from testbed.process import Process, Testbed, until

BUFFER, BUFFER_LARGE = 2048, 9216  # bytes of a slot of a memif: a frame fits into one
CLIENT_MACS = ("02:00:00:00:01:00", "02:00:00:00:01:01")  # of the generator's ports; it sends to the second


@dataclass(frozen=True)
class Rings:
    """Of both memifs: so many slots, as a power of two, for frames of up to so many bytes with CRC."""
    rsize: int
    size: int

    @property
    def slot(self) -> int:
        return BUFFER if self.size <= BUFFER else BUFFER_LARGE

    @property
    def mtu(self) -> int:
        """The longest IP packet."""
        return max(self.size - 18, 1500)


def vdevs(testbed: Testbed, role: str, tag: str, rings: Rings) -> list[str]:
    """Two memifs; tag: of the forwarder, and of its generator."""
    macs = [f",mac={mac}" if role == "client" else "" for mac in CLIENT_MACS]
    return [f"{vdev},bsize={rings.slot}{mac}"
            for vdev, mac in zip(memif_vdevs(testbed, role, [f"{tag}0", f"{tag}1"], rings.rsize), macs)]


def memory_options(build: Build, mb: int) -> list[str]:
    return (["--in-memory"] if build.huge else ["--no-huge", "--no-shconf"]) + ["-m", str(mb)]


def testpmd(testbed: Testbed, build: Build, tag: str, rings: Rings) -> Process:
    worker, control = pair_cpus()[0]
    command = ["dpdk-testpmd", "--lcores", f"0@{control},1@{worker}", *memory_options(build, 512), "--no-pci",
               "--no-telemetry", "--file-prefix", f"sluice-{os.getpid()}-{tag}"]
    for vdev in vdevs(testbed, "server", tag, rings):
        command += ["--vdev", vdev]
    process = testbed.start("testpmd", command + [
        "--", "--forward-mode=io", "--auto-start", "--no-mlockall", "--total-num-mbufs=16384",
        "--nb-cores=1", "--stats-period=3600", *([f"--mbuf-size={rings.slot + 128}"] if rings.slot > BUFFER else [])])
    until(lambda: os.path.exists(testbed.path(f"{tag}1.sock")), 30, "testpmd makes its memifs", process=process)
    return process


def box_memory_mb(packets: int, huge: bool) -> int:
    """What a path emulator needs that can hold so many packets: in buffers, and as bytes where queues are long. Without
    hugepages, each buffer has a page of its own."""
    buffer = 2600 if huge else 4400
    return 256 + (packets + 8192) * (buffer + (250 if packets > 100000 else 0)) // (1 << 20)


def box(testbed: Testbed, build: Build, spec: str, tag: str, rings: Rings, packets: int = 4096,
        options: Sequence[str] = ()) -> Box:
    """A path emulator, quiet; with its console if it is not to write reports."""
    return Box(testbed, build, vdevs(testbed, "server", tag, rings), spec, "",
               ("--packets", f"{packets},64", "--mtu", str(rings.mtu), "--quiet", *options),
               rings.slot // BUFFER * box_memory_mb(packets, build.huge),
               console="--interval" not in options, name=tag)


def daemon(testbed: Testbed, build: Build, tag: str, rings: Rings) -> Daemon:
    """A daemon that takes the generator's frames for its kernel's: the second memif is its exception port."""
    worker, control = pair_cpus()[0]
    port, kernel = vdevs(testbed, "server", tag, rings)
    keys = {**station(1), "mac": CLIENT_MACS[1], "mtu": rings.mtu, "exception": kernel}
    return Daemon(testbed, build, tag, [Port("net_memif0", port, keys)], [worker], control,
                  daemon_keys={"idle": "poll"}, memory_mb=1024).start()
