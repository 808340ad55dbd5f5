# SPDX-License-Identifier: BSD-3-Clause
"""sluice-load under test: windows asked for on its standard input, and its other end that reflects or listens."""
import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from typing import Any

from .asked import Asked
from .daemon import Build
from .process import Child, Testbed, TestbedError


def memif_vdevs(testbed: Testbed, role: str, tags: Sequence[str], rsize: int = 10) -> list[str]:
    """Arguments of --vdev for memifs, one for each tag; the other end has the same tags and the other role."""
    return [f"net_memif{i},role={role},id=0,socket-abstract=no,socket={testbed.path(f'{tag}.sock')},rsize={rsize}"
            for i, tag in enumerate(tags)]


def load_process(testbed: Testbed, build: Build, name: str, vdevs: Sequence[str], cpus: Sequence[int],
                 options: Sequence[object], eal: Sequence[object] = ()) -> Child:
    """Starts one; lcore i runs on cpus[i]."""
    prefix = f"sluice-{os.getpid()}-{name}"
    for run in ("/var/run/dpdk", os.environ.get("XDG_RUNTIME_DIR", "/tmp") + "/dpdk"):
        testbed.undo(shutil.rmtree, os.path.join(run, prefix), ignore_errors=True)
    memory = ["--in-memory"] if build.huge else ["--no-huge", "--no-shconf"]
    args: list[object] = [build.program("sluice-load"), "--lcores", ",".join(f"{i}@{c}" for i, c in enumerate(cpus)),
                          *memory, *eal, "-m", 256, "--no-pci", "--no-telemetry", "--file-prefix", prefix]
    for vdev in vdevs:
        args += ["--vdev", vdev]
    return testbed.start(name, [*args, "--", *options], stdin=subprocess.PIPE)


class Load:
    """A sluice-load --interactive that is ready."""

    def __init__(self, process: Child) -> None:
        self.process = process
        self.asked = Asked(process)
        first = self.asked.next_answer()
        if json.loads(first) != {"ready": True}:
            raise TestbedError(f"sluice-load is not ready: {first}")

    def say(self, line: str, timeout_s: float = 60) -> dict[str, Any]:
        """The answer to a line."""
        self.asked.timeout_s = timeout_s
        answer: dict[str, Any] = json.loads(self.asked.ask(line))
        return answer

    def window(self, **keys: object) -> dict[str, Any]:
        """Runs a window; a key src_mac means src-mac."""
        result = self.say(" ".join(f"{key.replace('_', '-')}={value}" for key, value in keys.items()), 120)
        if "error" in result:
            raise TestbedError(f"sluice-load: {result['error']}")
        return result

    def stop(self) -> int:
        """Ends its input; returns its exit status."""
        pipe = self.process.popen.stdin
        assert pipe is not None
        pipe.close()
        return self.process.wait(20)
