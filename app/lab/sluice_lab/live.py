# SPDX-License-Identifier: BSD-3-Clause
"""Experiments that are run live: real processes on this machine, in real time. Their file has one section
[live KIND] instead of a world; what its keys are, the module of that kind says. The processes and
namespaces are the testbed's, which undoes what it did however it ends."""
import os
import platform

from . import LabError, live_memif, live_tcp

KINDS = {"memif": live_memif, "tcp": live_tcp}


def programs(places):
    """Where sluiced and the others are: a build folder, or where they are installed."""
    from testbed import daemon

    class Programs(daemon.Build):
        def program(self, name):
            if places.build:
                return super().program(name)
            path = os.path.join(places.programs, name)
            if not os.access(path, os.X_OK):
                raise LabError(f"{path} is missing; install Sluice as a whole")
            return path

    return Programs(places.build or places.programs, hugepages_free_mb() >= 1280)


def hugepages_free_mb():
    with open("/proc/meminfo", encoding="ascii") as f:
        found = {line.split(":")[0]: int(line.split()[1]) for line in f}
    return found.get("HugePages_Free", 0) * found.get("Hugepagesize", 0) // 1024


def machine():
    """What it ran on, for whoever reads its figures."""
    model = platform.machine()
    with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as f:
        for line in f:
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    return f"{len(os.sched_getaffinity(0))} CPUs, {model}, Linux {platform.release()}"


def lack(experiment):
    """Why it cannot run here; None: it can."""
    return KINDS[experiment.live.name].lack()


def run_all(experiment, places, tasks, done):
    """tasks: (key, keys of [live], seed); done(key, answer) for each, where an answer is as the engine's."""
    why = lack(experiment)
    if why is not None:
        raise LabError(f"{experiment.name} is run live: {why}")
    from testbed import process

    kind = KINDS[experiment.live.name]
    try:
        with process.Testbed("lab") as testbed:
            kind.run(testbed, programs(places), [(key, kind.read(experiment.live, keys), seed) for key, keys, seed in tasks],
                     done)
    except process.TestbedError as e:
        raise LabError(f"{experiment.name}: {e}") from e


class Reader:
    """The keys of a [live], worked out, as numbers and words."""

    def __init__(self, section, keys):
        self.section, self.keys = section, keys

    def number(self, key, default, least=0.0):
        text = self.keys.get(key, str(default))
        try:
            value = float(text)
            if value < least:
                raise ValueError
        except ValueError:
            self.section.error(key, f"\"{text}\" is no number from {least:g} on; write for example {default}")
        return value

    def word(self, key, default, *known):
        text = self.keys.get(key, default)
        if known and text not in known:
            self.section.error(key, f"\"{text}\" is none of these: {', '.join(known)}; choose one")
        return text
