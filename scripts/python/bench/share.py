# SPDX-License-Identifier: BSD-3-Clause
"""Sharing a host's capacity among its connections. A recompute with all rules is compared with three
passes over the same array, of which one writes. A second bar is on its growth: the cost must not grow
faster than the number of connections."""
import argparse
import functools
from collections.abc import Mapping, Sequence

from . import paired
from .micro import program, window_ns
from .paired import Bar
from .results import Results
from testbed.process import Testbed, cpus

LARGE, SMALL = 1_000_000, 10_000
PASSES_BAR, GROWTH_BAR = 5, 1.25
PASSES = "recompute of 1M, in three passes"
GROWTH = "growth from 10k to 1M, in that of three passes"


def options(parser: argparse.ArgumentParser) -> None:
    paired.options(parser)


def judge(results: Results, values: Mapping[str, Sequence[float]]) -> None:
    """values: {"recompute/N" or "three_passes/N": ns of each round}"""
    for name, times in values.items():
        n = int(name.split("/")[1])
        results.windows(f"{name}: a connection", times, "ns", bar=Bar(None, at_most=True), scale=1 / n)
    results.windows(PASSES, values[f"recompute/{LARGE}"], "ms", values[f"three_passes/{LARGE}"],
                    Bar(PASSES_BAR, at_most=True), scale=1e-6)
    # Beyond the size of the cache, a connection costs more in plain passes, too.
    grows, plain = ([a / b for a, b in zip(values[f"{work}/{LARGE}"], values[f"{work}/{SMALL}"])]
                    for work in ("recompute", "three_passes"))
    results.windows(GROWTH, grows, "times", plain, Bar(GROWTH_BAR, at_most=True))


def run(testbed: Testbed, args: argparse.Namespace, results: Results) -> None:
    results.demand(PASSES, GROWTH)
    path = program(args, "share_bench")
    contenders = {name: functools.partial(window_ns, testbed, path, name, cpus()[0])
                  for name in (f"{work}/{n}" for work in ("recompute", "three_passes") for n in (SMALL, LARGE))}

    def show(i: int, values: dict[str, float]) -> None:
        if i % 10 == 0:
            print(f"round {i}: recompute of 1M {values[f'recompute/{LARGE}'] / 1e6:.1f} ms, three "
                  f"passes {values[f'three_passes/{LARGE}'] / 1e6:.1f} ms", flush=True)

    judge(results, paired.rounds(contenders, args, show))
