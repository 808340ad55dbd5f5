# SPDX-License-Identifier: BSD-3-Clause
"""Experiments that run live: real processes on this machine, in real time. Their file has one section
[live KIND] instead of a world; the module of that kind describes its keys. The testbed starts the processes and
makes the namespaces, and removes them however it ends."""
import os
import platform
from typing import TYPE_CHECKING

from . import LabError, Places, live_memif, live_tcp
from .conf import Experiment, Section
from .engine import Done

if TYPE_CHECKING:
    from testbed.daemon import Build

KINDS = {"memif": live_memif, "tcp": live_tcp}


def programs(places: Places) -> "Build":
    """Finds sluiced and the others in a build folder or where they are installed."""
    from testbed import daemon

    class Programs(daemon.Build):
        def program(self, name: str) -> str:
            if places.build:
                return super().program(name)
            path = os.path.join(places.programs, name)
            if not os.access(path, os.X_OK):
                raise LabError(f"{path} is missing; install Sluice as a whole")
            return path

    return Programs(places.build or places.programs, hugepages_free_mb() >= 1280)


def hugepages_free_mb() -> int:
    with open("/proc/meminfo", encoding="ascii") as f:
        found = {line.split(":")[0]: int(line.split()[1]) for line in f}
    return found.get("HugePages_Free", 0) * found.get("Hugepagesize", 0) // 1024


def machine() -> str:
    """Describes this machine in the report."""
    model = platform.machine()
    with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as f:
        for line in f:
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    return f"{len(os.sched_getaffinity(0))} CPUs, {model}, Linux {platform.release()}"


def lack(experiment: Experiment) -> str | None:
    """Why it cannot run here; None: it can."""
    assert experiment.live is not None
    why: str | None = KINDS[experiment.live.name].lack()
    return why


def run_all(experiment: Experiment, places: Places, tasks: list[tuple[int, dict[str, str], int]], done: Done) -> None:
    """tasks: (key, keys of [live], seed). Answers are like the engine's."""
    assert experiment.live is not None
    why = lack(experiment)
    if why is not None:
        raise LabError(f"{experiment.name} is run live: {why}")
    from testbed import process

    kind = KINDS[experiment.live.name]
    try:
        with process.Testbed("lab") as testbed:
            read = [(key, kind.read(experiment.live, keys), seed) for key, keys, seed in tasks]
            kind.run(testbed, programs(places), read, done)
    except process.TestbedError as e:
        raise LabError(f"{experiment.name}: {e}") from e


class Reader:
    """The keys of a [live KIND], evaluated, as numbers and words."""

    def __init__(self, section: Section, keys: dict[str, str]) -> None:
        self.section, self.keys = section, keys

    def number(self, key: str, default: float, low: float = 0.0, high: float = float("inf")) -> float:
        text = self.keys.get(key, str(default))
        upto = "on" if high == float("inf") else f"to {high:g}"
        try:
            value = float(text)
            if not low <= value <= high:
                raise ValueError
        except ValueError:
            self.section.error(key, f"\"{text}\" is not a number from {low:g} {upto}; write for example {default}")
        return value

    def word(self, key: str, default: str, *known: str) -> str:
        text = self.keys.get(key, default)
        if known and text not in known:
            self.section.error(key, f"\"{text}\" is none of these: {', '.join(known)}; choose one")
        return text
