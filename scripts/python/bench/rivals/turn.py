# SPDX-License-Identifier: BSD-3-Clause
"""One turn: a path is made, a tool makes one transfer over it, and all is undone."""
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from testbed.cgroup import CpuGroup
from testbed.daemon import Build
from testbed.process import Testbed, TestbedError

from .paths import Ends, Path, Queue
from .tool import USER, Outcome, Place, Tool

# Room for a bandwidth-delay product of each path, so that no buffer of the kernel is what limits a tool.
BUFFER_MAX_BYTES = 32 << 20
TCP_SYSCTLS = {"net/ipv4/tcp_rmem": f"4096 131072 {BUFFER_MAX_BYTES}",
               "net/ipv4/tcp_wmem": f"4096 65536 {BUFFER_MAX_BYTES}"}
UDP_SYSCTLS = ("net/core/rmem_max", "net/core/wmem_max")

Turn = dict[str, Any]  # of rivals.json


@dataclass(frozen=True)
class Plan:
    """seconds, limit_s: of a turn on a path that is not stretched. source, folder: on a tmpfs."""
    build: Build
    seconds: int
    limit_s: float
    source: str
    folder: str


def _sysctl_write(name: str, value: str) -> None:
    with open(f"/proc/sys/{name}", "w", encoding="ascii") as f:
        f.write(value)


def udp_buffers(testbed: Testbed) -> None:
    """Lets programs have large buffers for UDP until the testbed closes."""
    for name in UDP_SYSCTLS:
        with open(f"/proc/sys/{name}", encoding="ascii") as f:
            before = f.read().strip()
        if int(before) < BUFFER_MAX_BYTES:
            testbed.undo(_sysctl_write, name, before)
            _sysctl_write(name, str(BUFFER_MAX_BYTES))


def tcp_buffers(testbed: Testbed, spaces: Mapping[str, str]) -> None:
    for ns in spaces.values():
        for name, value in TCP_SYSCTLS.items():
            testbed.run("sysctl", ["sh", "-c", f"echo '{value}' >/proc/sys/{name}"], ns=ns)


def take(testbed: Testbed, plan: Plan, path: Path, tool: Tool, seed: int) -> Turn:
    """A turn of this tool. If it fails, the turn tells the reason."""
    mark, commands = testbed.mark(), []
    queue = Queue()
    os.mkdir(plan.folder)
    try:
        ends = Ends(testbed, plan.build, path, tool.offloads, tool.kind != USER, seed).make()
        tcp_buffers(testbed, ends.spaces)
        place = Place(testbed, ends, path, CpuGroup(testbed, f"{tool.name}-{seed}"), plan.source, plan.folder,
                      plan.seconds * path.stretch, plan.limit_s * path.stretch)
        commands = place.commands
        if path.competitor:
            place.compete()
        outcome = tool.run(place)
        queue = ends.queue()
    except TestbedError as problem:
        outcome = Outcome(note=str(problem).split("\n", 1)[0], failed=True)
    finally:
        testbed.close_to(mark)
        shutil.rmtree(plan.folder)
    return record(tool, outcome, queue, commands)


def record(tool: Tool, outcome: Outcome, queue: Queue, commands: list[str]) -> Turn:
    goodput_bps = 0.0 if outcome.failed else outcome.goodput_bps()
    gigabytes = outcome.bytes / 1e9
    known = outcome.cpu_s is not None and gigabytes > 0 and not outcome.failed
    return {"tool": tool.name, "goodput_Mbps": goodput_bps / 1e6, "bytes": outcome.bytes, "seconds": outcome.seconds,
            "cpu_s": outcome.cpu_s, "cpu_s_per_GB": outcome.cpu_s / gigabytes if known and outcome.cpu_s else None,
            "queue_mean_ms": queue.mean_ms, "queue_max_ms": queue.max_ms, "queue_dropped": queue.dropped,
            "again_percent": outcome.again_percent,
            "competitor_Mbps": None if outcome.competitor_bps is None else outcome.competitor_bps / 1e6,
            "waited": outcome.waited, "whys": dict(outcome.whys), "note": outcome.note, "failed": outcome.failed,
            "commands": commands}
