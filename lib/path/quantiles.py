#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes the tables of quantiles.h as C: quantiles.py OUTPUT

Between two entries a law is uniform. The first and the last entry are chosen so that the outermost pieces
have the means of the tails that they replace. Then the law is shifted and scaled to mean 0 and standard
deviation 1.
"""
import math
import statistics
import sys

PIECES = 4096
ONE = 1 << 25
SHAPE = 3


def tails(quantiles: list[float], low_mean: float, high_mean: float) -> list[float]:
    quantiles[0] = 2 * low_mean - quantiles[1]
    quantiles[PIECES] = 2 * high_mean - quantiles[PIECES - 1]
    return quantiles


def normal() -> list[float]:
    law = statistics.NormalDist()
    q = [0.0] + [law.inv_cdf(i / PIECES) for i in range(1, PIECES)] + [0.0]
    tail = law.pdf(q[1]) * PIECES
    return tails(q, -tail, tail)


def pareto() -> list[float]:
    q = [(1 - i / PIECES) ** (-1 / SHAPE) for i in range(PIECES)] + [0.0]
    return tails(q, (q[0] + q[1]) / 2, q[PIECES - 1] * SHAPE / (SHAPE - 1))


def standard(q: list[float]) -> list[float]:
    pieces = list(zip(q, q[1:]))
    mean = math.fsum((a + b) / 2 for a, b in pieces) / PIECES
    pieces = [(a - mean, b - mean) for a, b in pieces]
    deviation = math.sqrt(math.fsum((a * a + a * b + b * b) / 3 for a, b in pieces) / PIECES)
    return [(x - mean) / deviation for x in q]


def main() -> None:
    n, p = standard(normal()), standard(pareto())
    laws = {"normal": n, "pareto": p,
            "paretonormal": standard([a / 4 + b * 3 / 4 for a, b in zip(n, p)])}
    with open(sys.argv[1], "w", encoding="ascii") as out:
        out.write('/* SPDX-License-Identifier: BSD-3-Clause */\n/* Made by quantiles.py. */\n'
                  '#include "path/quantiles.h"\n')
        for name, q in laws.items():
            out.write(f"\nconst int32_t quantiles_{name}[LAW_PIECES + 1] = {{\n")
            for i in range(0, PIECES + 1, 8):
                out.write("    " + " ".join(f"{round(x * ONE)}," for x in q[i:i + 8]) + "\n")
            out.write("};\n")


if __name__ == "__main__":
    main()
