# SPDX-License-Identifier: BSD-3-Clause
"""The sharing of a host's capacity: a recompute with all rules against three plain passes over the
same array, and that its cost grows no faster than the number of connections."""
import json
import statistics

from .bench_micro import program
from .process import cpus

LARGE, SMALL = 1_000_000, 10_000


def options(parser):
    parser.add_argument("--rounds", type=int, default=9)


def run(lab, args, results):
    times = {}
    for i in range(args.rounds):
        text = lab.run(f"share{i}", [program(args, "share_bench"), "--benchmark_format=json",
                                     "--benchmark_min_time=0.2"], timeout_s=300, cpus=[cpus()[0]])
        for row in json.loads(text)["benchmarks"]:
            times.setdefault(row["name"], []).append(row["cpu_time"])
    ratios = [a / b for a, b in zip(times[f"recompute/{LARGE}"], times[f"three_passes/{LARGE}"])]
    for name, values in times.items():
        n = int(name.split("/")[1])
        results.add(f"{name}: a connection", statistics.median(values) / n, "ns")
    results.add("recompute of 1M, in three passes", statistics.median(ratios), "times", bar=5,
                at_most=True)
    # what does not fit into the cache costs more a connection, in plain passes as well
    grows = [(a / b) / (c / d) for a, b, c, d in
             zip(times[f"recompute/{LARGE}"], times[f"recompute/{SMALL}"],
                 times[f"three_passes/{LARGE}"], times[f"three_passes/{SMALL}"])]
    results.add("growth from 10k to 1M, in that of three passes", statistics.median(grows), "times",
                bar=1.25, at_most=True)
