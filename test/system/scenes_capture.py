# SPDX-License-Identifier: BSD-3-Clause
"""dpdk-dumpcap captures the packets of a running daemon (doc/capture.md)."""
import os
import re
import shutil
import subprocess
import time

from .harness import Context, Skip, TestbedError, perf, scene, sh
from testbed import tshark
from testbed.daemon import Daemon, memif
from testbed.pair import ADDR_B, pair_cpus, station
from testbed.process import Testbed, until
from testbed.service import as_daemon

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "config", "wireshark",
                      "sluice.lua")
DATA, CNTL = "2", "3"
SLACK = 20  # frames between the start of the capture and the reading of the counters


def _huge_dir(testbed: Testbed) -> str:
    """Mounts a hugetlbfs; returns its folder."""
    path = testbed.path("huge")
    os.mkdir(path)
    done = subprocess.run(["mount", "-t", "hugetlbfs", "-o", "pagesize=2M", "none", path],
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Skip(f"no hugetlbfs can be mounted: {done.stderr.strip()}")
    testbed.undo(sh, "umount", path)
    return path


def _daemons(testbed: Testbed, context: Context, huge_dir: str) -> list[Daemon]:
    """Two daemons joined by a memif; the memory of A is in huge_dir."""
    cpus, link, made = pair_cpus(), testbed.path("memif.sock"), []
    for i, (name, role) in enumerate((("a", "server"), ("b", "client"))):
        port = memif(link, role)
        port.keys = {**station(i + 1), "mtu": 1500, "capacity": "100Mbit"}
        made.append(Daemon(testbed, context.build, name, [port], [cpus[i][0]], cpus[i][1],
                           memory_mb=192, huge_dir=huge_dir if name == "a" else None))
    for daemon in made:
        daemon.start()
    for daemon in made:
        daemon.wait_link()
    return made


def _frames(daemon: Daemon) -> tuple[int, int]:
    worker = daemon.show("ports")[0]["workers"][0]
    return worker["rx_frames"], worker["tx_frames"]


def _units(daemon: Daemon) -> int:
    host: dict[str, int] = daemon.show("ports")[0]["workers"][0]["host"]
    return host["rx_data"] + host["tx_data"]


def _types(path: str) -> list[str]:
    """Types of the packets in the capture; none may be malformed."""
    done = tshark.run(SCRIPT, path, "-T", "fields", "-e", "sluice.type", "-e", "_ws.malformed")
    if done.returncode != 0:
        raise TestbedError(f"tshark: {done.stderr}")
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    if any(row[1] for row in rows):
        raise TestbedError("malformed packets in the capture")
    return [row[0] for row in rows]


@scene("dpdk-dumpcap beside a daemon")
def dumpcap(testbed: Testbed, context: Context) -> None:
    for tool in ("dpdk-dumpcap", "tshark"):
        if shutil.which(tool) is None:
            raise Skip(f"no {tool} here; scripts/setup installs it")
    if not context.build.huge or os.geteuid() != 0:
        raise Skip("needs root and hugepages: the capture shares the daemon's memory")
    a, b = _daemons(testbed, context, _huge_dir(testbed))
    path = testbed.path("capture.pcapng")
    user = as_daemon() if context.build.units else []
    capture = testbed.start("dumpcap", [*user, "dpdk-dumpcap", f"--file-prefix={a.prefix}", "-i", "net_memif0",
                                        "-w", path], env={"RUNTIME_DIRECTORY": a.runtime_dir})
    until(lambda: "Packets captured" in capture.tail(), 60, "dpdk-dumpcap captures", 0.1, capture)
    time.sleep(1)
    before, units_before = _frames(a), _units(a)
    perf(b, a, ADDR_B, "-n", "2M")
    time.sleep(1)
    frames = sum(now - was for now, was in zip(_frames(a), before))
    units = _units(a) - units_before
    capture.stop()
    told = re.search(r"received/dropped on interface '[^']*': (\d+)/(\d+)", capture.tail())
    if told is None:
        raise TestbedError(f"dpdk-dumpcap does not say what it captured\n{capture.tail()}")
    dropped, found = int(told.group(2)), _types(path)
    if not frames <= len(found) + dropped <= frames + SLACK:
        raise TestbedError(f"{frames} frames, but {len(found)} captured and {dropped} dropped")
    if not units - dropped <= found.count(DATA) <= units or found.count(CNTL) == 0:
        raise TestbedError(f"{found.count(DATA)} units and {found.count(CNTL)} CNTL packets captured, "
                           f"of {units} units")
    perf(b, a, ADDR_B, "-n", "2M", name="after")  # the daemons work on after the capture
    a.stop()
    b.stop()
