#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests of what sluice-lab's engine measures in worlds, where the result is known, and of its messages.

Usage: world_test.py SLUICE-LAB SOURCE_ROOT [REGEX]      TAP on standard output; REGEX: selects checks by name
"""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import common  # noqa: E402
from common import Check, lab, need, rows, small, values  # noqa: E402


def check_from_behind_the_last_sample(folder: str) -> None:
    """Observation begins at `from`, also where no sample follows."""
    path = small(folder, lambda t: t.replace("from = 1s", "from = 1.5s\nsample = 10s"))
    done = lab("run", path, "--out", folder, "--no-figures")
    need(done.returncode == 0, done.stdout + done.stderr)
    need(all(r["values"]["throughput.bulk"] <= 1e6 * float(r["set"]["rate"]) for r in rows(folder, "small")),
         [r["values"]["throughput.bulk"] for r in rows(folder, "small")])


def check_trial_with_many_frames(folder: str) -> None:
    """The engine is given the memory that a trial's buffers take, with a host behind the path, too."""
    for service, frame in (("0", 60), ("8gbit", 1514)):
        found = values(folder, "[trial]\nrate = 10000\nfor = 100ms\nframes = 100000\npath = delay 1ms\n"
                               f"service = {service}\nframe = {frame}\n")
        need(found["sent"] == found["received"] == 1000, found)


STREAM = "[stream]\npath = {}\nrate = 135mbit\nframes = 20000\n"


def check_streams(folder: str) -> None:
    """A path that loses nothing loses nothing of a stream, however long it is; copies count once."""
    for path in ("delay 1ms", "delay 50ms", "delay 20ms duplicate 10%"):
        found = values(folder, STREAM.format(path))
        need(found["cells"] == 25000 and found["lost"] == 0, f"{path}: {found}")
        found = values(folder, STREAM.format(path) + "frame = 1000\nskip = 100\n")
        need(found["whole"] == 1, f"frames through {path}: {found}")
    found = values(folder, STREAM.format("delay 1ms 100us"))
    need(0 < found["lost"] < 25000, f"a path that reorders: {found}")
    for more in ("", "frame = 100\nskip = 4000000000\n", "frame = 100\n"):
        found = values(folder, STREAM.format("corrupt 50%") + more)
        need(found["lost"] < 12500 and (found.get("whole") or 0) <= 1, f"numbers that change, {more}: {found}")


OWD = "[host a]\nup = {}\n[host b]\n[owd p]\nfrom = a\nto = b\nreflect = yes\n"


def check_doubled_probes(folder: str) -> None:
    """A copy of a probe does not make up for one that is lost."""
    found = values(folder, "[world]\nuntil = 20s\nfrom = 1s\n" + OWD.format("delay 1ms duplicate 20%"))
    need([found[f"probes_lost.p.{c}"] for c in ("first", "second")] == [0, 0], found)
    found = values(folder, "[world]\nuntil = 20s\nfrom = 1s\n" + OWD.format("loss 30% duplicate 100%"))
    need(all(15 < found[f"probes_lost.p.{c}"] < 45 for c in ("first", "second")), found)


def check_long_probes(folder: str) -> None:
    """Buffers hold the frames of models, too, which may be longer than the hosts' mtu."""
    found = values(folder, "[world]\nuntil = 2s\nframes = 8000\n" + OWD.format("delay 1ms") + "lengths = 46 9000\n"
                   "[tcp93 t]\nfrom = a\nto = b\nmss = 20000\n")
    need([found[f"probes_lost.p.{c}"] for c in ("first", "second")] == [0, 0], found)
    need(found["throughput.t"] > 1e6, found)


def main() -> int:
    checks: dict[str, Check] = {f.__name__[6:].replace("_", " "): f for f in
                                (check_from_behind_the_last_sample, check_trial_with_many_frames,
                                 check_streams, check_doubled_probes, check_long_probes)}
    return common.run(checks)


if __name__ == "__main__":
    sys.exit(main())
