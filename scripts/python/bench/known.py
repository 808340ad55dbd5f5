# SPDX-License-Identifier: BSD-3-Clause
"""The throughput search (search.py) on devices whose throughput is known, in virtual time.

The engine of sluice-lab performs the trials (the section [trial] of doc/lab.md). A device is a path, or a host
with a service speed behind one. Its throughput follows from what it is: bytes a second, over the bytes that a
frame takes there. A queue lets a trial pass that is a little above that, by its length over the trial's duration;
the queues here are short enough for the bar.
"""
import argparse
import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass

from . import paired
from .paired import Bar
from .results import Results
from .search import Found, Goal, Limits, Trial, find
from testbed.asked import Asked
from testbed.process import Child, Testbed, TestbedError

WIDTH = 0.0005  # of both goals
TRIAL_S = 1.0
# Single trials decide: what happens in virtual time happens again.
NDR = Goal("NDR", 0.0, 0.0, WIDTH, TRIAL_S, TRIAL_S)
PDR = Goal("PDR", 0.005, 0.0, WIDTH, TRIAL_S, TRIAL_S)
LIMITS = Limits(1e3, 1_488_095.0)  # the most is that of 1 Gbit/s Ethernet with 64-byte frames
ERROR_MAX, TRIALS_MAX = 0.001, 20
MEMORY_MB = 512


@dataclass(frozen=True)
class Known:
    """text: keys of [trial]. ndr_fps: its true throughput without loss. told_loss: the part of the frames that it is
    told to lose, at even distances."""
    text: str
    ndr_fps: float
    told_loss: float = 0.0


def _rate(bit_s: float, taken_bytes: float) -> float:
    return bit_s / 8 / taken_bytes


# A policer with less tolerance than a frame takes loses credit with each frame that it drops: above its rate, it
# passes less than its rate.
KNOWN: Mapping[str, Known] = {
    "100 Mbit/s Ethernet, 64 B": Known("path = rate 100mbit 24 limit 8\nframe = 60", _rate(100e6, 84)),
    "1 Gbit/s Ethernet, 1518 B": Known("path = rate 1gbit 24 limit 8\nframe = 1514", _rate(1e9, 1538)),
    "ATM, 2 cells for 64 B": Known("path = rate 149760kbit 0 48 5 limit 8\nframe = 60", _rate(149.76e6, 106)),
    "policer at 100 Mbit/s": Known("path = police pcr 100mbit cdvt 10us\nframe = 60", _rate(100e6, 60)),
    "policer at 800 kB/s": Known("path = police pcr 800kB/s cdvt 200us\nframe = 124", 800e3 / 124),
    "receiver element, 6 MB/s": Known("path = receiver 6MB/s limit 8\nframe = 60", 1e5),
    "host, 6 MB/s": Known("service = 6MB/s\nring = 16\nframe = 60", 1e5),
    "host, 25 MB/s, behind 1 Gbit/s": Known("path = rate 1gbit 24 limit 8\nservice = 25MB/s\nring = 4\nframe = 1514",
                                            25e6 / 1514),
    "1 of 1000 lost, then 100 Mbit/s": Known("path = loss every 1000 rate 100mbit 24 limit 8 delay 1ms\nframe = 60",
                                             _rate(100e6, 84) / 0.999, 0.001),
}


class VirtualDevice:
    """Performs trials of a known device in virtual time."""

    def __init__(self, engine: "Engine", known: Known, seed: int) -> None:
        self.engine, self.known, self.seed = engine, known, seed

    def measure(self, duration_s: float, load_fps: float) -> Trial:
        values = self.engine.run(f"[trial]\nrate = {load_fps!r}\nfor = {round(duration_s * 1e9)}ns\n{self.known.text}\n",
                                 self.seed)
        sent, received = (int(values[name] or 0) for name in ("sent", "received"))
        quantiles = {name: values["delay_" + name] for name in ("min", "median", "p90", "p99", "p999", "max")}
        return Trial(duration_s, load_fps, sent - int(sent * self.known.told_loss), received, latency_s={
            name: value for name, value in quantiles.items() if value is not None})


class Engine:
    """The engine of sluice-lab."""

    def __init__(self, process: Child) -> None:
        self.asked = Asked(process)

    def run(self, text: str, seed: int) -> dict[str, float | None]:
        # the text ends with the line's end, which ask() adds
        answer = json.loads(self.asked.ask(f"run {len(text.encode()) + 1} {seed} trial\n{text}"))
        if "error" in answer:
            raise TestbedError(answer["error"])
        values: dict[str, float | None] = answer["values"]
        return values


def engine_start(testbed: Testbed, build: str) -> Engine:
    program = os.path.join(build, "app", "lab", "sluice-lab-engine")
    if not os.access(program, os.X_OK):
        raise TestbedError(f"{program} is missing; build it: ninja -C {build}")
    return Engine(testbed.start("engine", [program, MEMORY_MB], stdin=subprocess.PIPE))


def search(engine: Engine, known: Known, seed: int = 1) -> Found:
    return find(VirtualDevice(engine, known, seed), LIMITS, [NDR, PDR])


def errors(found: Found, known: Known) -> dict[str, float]:
    """How far each result is from the truth, in parts of it. With a hard limit, the conditional throughput of every
    goal is the limit (RFC 9971, 5.6.1)."""
    ndr, pdr = (found.results[g.name].conditional_fps or 0.0 for g in (NDR, PDR))
    return {"NDR": abs(found.lower(NDR.name) / known.ndr_fps - 1), "NDR's conditional throughput":
            abs(ndr / known.ndr_fps - 1), "PDR's conditional throughput": abs(pdr / known.ndr_fps - 1)}


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--seed", type=int, default=1, help="of the engine")


def run(testbed: Testbed, args: argparse.Namespace, results: Results) -> None:
    engine = engine_start(testbed, args.build)
    rows = ("NDR", "NDR's conditional throughput", "PDR's conditional throughput", "trials")
    results.demand(*(f"{name}: {row}" for name in KNOWN for row in rows))
    for name, known in KNOWN.items():
        found = search(engine, known, args.seed)
        print(f"{name}: NDR {found.lower('NDR'):.1f} of {known.ndr_fps:.1f} frames a second, in {len(found.trials)} "
              f"trials and {found.wall_s:.1f} s", flush=True)
        for what, error in errors(found, known).items():
            results.exact(f"{name}: {what}", 100 * error, "% off", Bar(100 * ERROR_MAX, at_most=True))
        results.exact(f"{name}: trials", len(found.trials), "", Bar(TRIALS_MAX, at_most=True))
