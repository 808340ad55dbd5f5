# SPDX-License-Identifier: BSD-3-Clause
"""Benchmarks that are one Google Benchmark program, in windows. With --against, the same program of
another build folder takes turns with it, and each of its benchmarks must not have become slower."""
import argparse
import functools
import json
import os

from . import paired
from .results import Results
from testbed.process import Testbed, TestbedError, cpus

BAR = 1.05  # ratio to the time of the other build
UNITS_NS = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}


def program(args: argparse.Namespace, name: str, build: str | None = None) -> str:
    path = os.path.join(build or args.build, "test", "bench", name)
    if not os.access(path, os.X_OK):
        raise TestbedError(f"{path} is missing; is libbenchmark-dev installed? run scripts/setup, and "
                           f"build the target \"benchmarks\"")
    return path


def names(testbed: Testbed, path: str) -> list[str]:
    """Names of the benchmarks in a program, in order."""
    return testbed.run("names", [path, "--benchmark_list_tests=true"]).split()


def window_ns(testbed: Testbed, path: str, name: str, cpu: int, seconds: float) -> float:
    """ns of CPU that an iteration takes, in a window of about that length."""
    text = testbed.run("window", [path, "--benchmark_format=json", f"--benchmark_filter=^{name}$",
                                  f"--benchmark_min_time={seconds:g}"], timeout_s=300, cpus=[cpu])
    rows = json.loads(text)["benchmarks"]
    if len(rows) != 1 or rows[0].get("error_occurred"):
        raise TestbedError(f"{path} measures no {name}: {rows}")
    return float(rows[0]["cpu_time"]) * UNITS_NS[rows[0]["time_unit"]]


class Micro:
    def __init__(self, name: str) -> None:
        self.name = name

    @staticmethod
    def options(parser: argparse.ArgumentParser) -> None:
        paired.options(parser, paired.WINDOW_MIN_S)
        parser.add_argument("--only", default="", help="run the benchmarks whose names contain this")
        parser.add_argument("--against", metavar="BUILD", help="another build folder to compare with; gives a verdict")

    def run(self, testbed: Testbed, args: argparse.Namespace, results: Results) -> None:
        ours = program(args, f"{self.name}_bench")
        other = program(args, f"{self.name}_bench", args.against) if args.against else None
        chosen = [n for n in names(testbed, ours) if args.only in n]
        if not chosen:
            raise TestbedError(f"no benchmark has \"{args.only}\" in its name; there are "
                               f"{', '.join(names(testbed, ours))}")
        if other:
            results.demand(*chosen)
        for name in chosen:
            contenders = {path: functools.partial(window_ns, testbed, path, name, cpus()[0])
                          for path in (ours, other) if path}
            values = paired.rounds(contenders, args)
            results.windows(name, values[ours], "ns", values[other] if other else None,
                            paired.Bar(BAR if other else None, at_most=True))
            print(f"{name}: {results.rows[-1]['value']:.1f} ns", flush=True)
