# SPDX-License-Identifier: BSD-3-Clause
"""A control group (version 2), which adds up the CPU time of a program with all its processes, also those that it
has left behind in the background or that have ended."""
import os
import time

from .process import Testbed, TestbedError

# Enters the group, then becomes the program.
ENTER = 'echo $$ >"$0" && exec "$@"'


def _mounted() -> str | None:
    """Where the hierarchy of version 2 is mounted."""
    with open("/proc/self/mounts", encoding="utf-8") as f:
        for line in f:
            fields = line.split()
            if len(fields) > 2 and fields[2] == "cgroup2":
                return fields[1]
    return None


class CpuGroup:
    """A group in which programs start; their children stay in it. The testbed removes it."""

    def __init__(self, testbed: Testbed, name: str) -> None:
        top = _mounted()
        if top is None:
            raise TestbedError("no hierarchy of control groups (version 2) is mounted, so CPU time is not known; as "
                               "root: mount -t cgroup2 none /sys/fs/cgroup")
        self.folder = os.path.join(top, f"sluice-{os.getpid()}-{name}")
        try:
            os.mkdir(self.folder)
        except OSError as problem:
            raise TestbedError(f"{self.folder}: {problem.strerror}; CPU time needs root and a writable {top}") from None
        testbed.undo(self.remove)

    def words(self) -> list[str]:
        """The beginning of a command line; the program that follows it runs in this group, with the same pid.
        `ip netns exec` hides the hierarchy behind a /sys of its own, so the path leads through this process."""
        return ["sh", "-c", ENTER, f"/proc/{os.getpid()}/root{self.folder}/cgroup.procs"]

    def seconds(self) -> float:
        """The CPU time, user and system, of all that has run in the group so far."""
        with open(os.path.join(self.folder, "cpu.stat"), encoding="ascii") as f:
            for line in f:
                if line.startswith("usage_usec "):
                    return int(line.split()[1]) * 1e-6
        raise TestbedError(f"{self.folder}/cpu.stat tells no usage_usec")

    def kill(self) -> None:
        """Ends all processes of the group."""
        try:
            with open(os.path.join(self.folder, "cgroup.kill"), "w", encoding="ascii") as f:
                f.write("1")
        except FileNotFoundError:  # before Linux 5.14, or the group is removed
            pass

    def remove(self) -> None:
        """Ends what still runs in the group, and removes it."""
        self.kill()
        for _ in range(100):
            try:
                os.rmdir(self.folder)
                return
            except FileNotFoundError:
                return
            except OSError:  # a killed process has not ended yet
                time.sleep(0.02)
