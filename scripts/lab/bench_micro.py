# SPDX-License-Identifier: BSD-3-Clause
"""Benchmarks that are one Google Benchmark program: medians of its repetitions."""
import json
import os

from .process import LabError, cpus


def program(args, name):
    path = os.path.join(args.build, "test", "bench", name)
    if not os.access(path, os.X_OK):
        raise LabError(f"{path} is missing; is libbenchmark-dev installed? run scripts/setup")
    return path


def medians(lab, args, name, repetitions, cpu):
    """The JSON rows of the medians of a Google Benchmark program."""
    text = lab.run(name, [program(args, name), "--benchmark_format=json",
                          f"--benchmark_repetitions={repetitions}",
                          "--benchmark_report_aggregates_only=true"], timeout_s=1800, cpus=[cpu])
    return [row for row in json.loads(text)["benchmarks"] if row["aggregate_name"] == "median"]


class Micro:
    def __init__(self, name):
        self.name = name

    @staticmethod
    def options(parser):
        parser.add_argument("--repetitions", type=int, default=5)

    def run(self, lab, args, results):
        for row in medians(lab, args, f"{self.name}_bench", args.repetitions, cpus()[0]):
            unit = {"ns": 1, "us": 1e3, "ms": 1e6}[row["time_unit"]]
            results.add(row["run_name"], row["cpu_time"] * unit, "ns")
