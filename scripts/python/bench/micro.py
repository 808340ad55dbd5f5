# SPDX-License-Identifier: BSD-3-Clause
"""Benchmarks that are one Google Benchmark program, in windows; with --against, the same program of
another build folder takes turns with it, and each of its benchmarks must not have become slower."""
import json
import os

from . import paired
from testbed.process import TestbedError, cpus

BAR = 1.05  # times what the other build takes
UNITS_NS = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}


def program(args, name, build=None):
    path = os.path.join(build or args.build, "test", "bench", name)
    if not os.access(path, os.X_OK):
        raise TestbedError(f"{path} is missing; is libbenchmark-dev installed? run scripts/setup, and "
                       f"build the target \"benchmarks\"")
    return path


def names(testbed, path):
    """Of the benchmarks in a program, in order."""
    return testbed.run("names", [path, "--benchmark_list_tests=true"]).split()


def window_ns(testbed, path, name, seconds, cpu):
    """ns of CPU that an iteration takes, in a window of about that length."""
    text = testbed.run("window", [path, "--benchmark_format=json", f"--benchmark_filter=^{name}$",
                              f"--benchmark_min_time={seconds:g}"], timeout_s=300, cpus=[cpu])
    rows = json.loads(text)["benchmarks"]
    if len(rows) != 1 or rows[0].get("error_occurred"):
        raise TestbedError(f"{path} measures no {name}: {rows}")
    return rows[0]["cpu_time"] * UNITS_NS[rows[0]["time_unit"]]


class Micro:
    def __init__(self, name):
        self.name = name

    @staticmethod
    def options(parser):
        paired.options(parser, paired.WINDOW_LEAST_S)
        parser.add_argument("--only", default="", help="a part of the benchmarks' names")
        parser.add_argument("--against", metavar="BUILD", help="another build folder, for a verdict")

    def run(self, testbed, args, results):
        ours = program(args, f"{self.name}_bench")
        other = args.against and program(args, f"{self.name}_bench", args.against)
        chosen = [n for n in names(testbed, ours) if args.only in n]
        if not chosen:
            raise TestbedError(f"no benchmark has \"{args.only}\" in its name: {names(testbed, ours)}")
        results.demand(*(chosen if other else ()))
        for name in chosen:
            contenders = {path: (lambda seconds, path=path: window_ns(testbed, path, name, seconds, cpus()[0]))
                          for path in ([ours, other] if other else [ours])}
            values = paired.rounds(contenders, args)
            results.windows(name, values[ours], "ns", values[other] if other else None,
                            BAR if other else None, at_most=True)
            print(f"{name}: {results.rows[-1]['value']:.1f} ns", flush=True)
