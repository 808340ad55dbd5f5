# SPDX-License-Identifier: BSD-3-Clause
"""Programs that forward from one memif to another, as devices under test: testpmd's io forwarding and the path emulator.
They are the servers of both memifs; a generator is the client (generator.py). All are started at the beginning, and
poll on the first CPU of pair_cpus()."""
import os
from collections.abc import Sequence

from testbed.box import Box
from testbed.daemon import Build
from testbed.pair import pair_cpus
from testbed.process import Process, Testbed, until


def vdevs(testbed: Testbed, role: str, tag: str, ring: str) -> list[str]:
    """Two memifs; tag: of the forwarder, and of its generator. ring: their sizes, as memif's options."""
    return [f"net_memif{i},role={role},id=0,socket-abstract=no,socket={testbed.path(f'{tag}{i}.sock')},{ring}"
            for i in range(2)]


def memory_options(build: Build, mb: int) -> list[str]:
    return (["--in-memory"] if build.huge else ["--no-huge", "--no-shconf"]) + ["-m", str(mb)]


def testpmd(testbed: Testbed, build: Build, tag: str, ring: str) -> Process:
    worker, control = pair_cpus()[0]
    command = ["dpdk-testpmd", "--lcores", f"0@{control},1@{worker}", *memory_options(build, 512), "--no-pci",
               "--no-telemetry", "--file-prefix", f"sluice-{os.getpid()}-{tag}"]
    for vdev in vdevs(testbed, "server", tag, ring):
        command += ["--vdev", vdev]
    process = testbed.start("testpmd", command + [
        "--", "--forward-mode=io", "--auto-start", "--no-mlockall", "--total-num-mbufs=16384",
        "--nb-cores=1", "--stats-period=3600"])
    until(lambda: os.path.exists(testbed.path(f"{tag}1.sock")), 30, "testpmd makes its memifs", process=process)
    return process


def box_memory_mb(packets: int, huge: bool) -> int:
    """What a path emulator needs that can hold so many packets: in buffers, and as bytes where queues are long. Without
    hugepages, each buffer has a page of its own."""
    buffer = 2600 if huge else 4400
    return 256 + (packets + 8192) * (buffer + (250 if packets > 100000 else 0)) // (1 << 20)


def box(testbed: Testbed, build: Build, spec: str, tag: str, ring: str, packets: int = 4096,
        options: Sequence[str] = ()) -> Box:
    """A path emulator, quiet; with its console if it is not to write reports."""
    return Box(testbed, build, vdevs(testbed, "server", tag, ring), spec, "",
               ("--packets", f"{packets},64", "--quiet", *options), box_memory_mb(packets, build.huge),
               console="--interval" not in options, name=tag)
