# SPDX-License-Identifier: BSD-3-Clause
"""The sharing of a host's capacity: a recompute with all rules against three passes over the same
array of which one writes, and that its cost grows no faster than the number of connections."""
from . import paired
from .micro import program, window_ns
from testbed.process import cpus

LARGE, SMALL = 1_000_000, 10_000
PASSES_BAR, GROWTH_BAR = 5, 1.25
PASSES = "recompute of 1M, in three passes"
GROWTH = "growth from 10k to 1M, in that of three passes"


def options(parser):
    paired.options(parser)


def judge(results, values):
    """values: {"recompute/N" or "three_passes/N": ns of each round}"""
    for name, times in values.items():
        n = int(name.split("/")[1])
        results.windows(f"{name}: a connection", times, "ns", at_most=True, scale=1 / n)
    results.windows(PASSES, values[f"recompute/{LARGE}"], "ms", values[f"three_passes/{LARGE}"],
                    PASSES_BAR, at_most=True, scale=1e-6)
    # What does not fit into the cache costs more a connection, in plain passes as well.
    grows, plain = ([a / b for a, b in zip(values[f"{what}/{LARGE}"], values[f"{what}/{SMALL}"])]
                    for what in ("recompute", "three_passes"))
    results.windows(GROWTH, grows, "times", plain, GROWTH_BAR, at_most=True)


def run(testbed, args, results):
    results.demand(PASSES, GROWTH)
    path = program(args, "share_bench")
    contenders = {f"{what}/{n}": (lambda seconds, name=f"{what}/{n}":
                                  window_ns(testbed, path, name, seconds, cpus()[0]))
                  for what in ("recompute", "three_passes") for n in (SMALL, LARGE)}

    def show(i, values):
        if i % 10 == 0:
            print(f"round {i}: recompute of 1M {values[f'recompute/{LARGE}'] / 1e6:.1f} ms, three "
                  f"passes {values[f'three_passes/{LARGE}'] / 1e6:.1f} ms", flush=True)

    judge(results, paired.rounds(contenders, args, show))
