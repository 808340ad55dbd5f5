# SPDX-License-Identifier: BSD-3-Clause
"""Goodput of the Python package over memif, one connection, 1 GiB of memory on each side, against `sluice perf`, each with
two daemons of its own."""
import argparse
import os

from . import memif, paired
from .results import Results
from testbed.daemon import Build
from testbed.pair import ADDR_B, memif_pair
from testbed.process import Testbed
from testbed.table import rate_text

BAR = 0.9
HUGE_MB = 7000  # for 1 GiB in each of four processes, and for four daemons
RSIZE = 8
PERF, PYTHON = "sluice perf", "python"
GOODPUT = "Python, to sluice perf"
STREAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "python_stream.py")


def options(parser: argparse.ArgumentParser) -> None:
    paired.options(parser)
    parser.add_argument("--no-zero-copy", action="store_true", help="the receiving end of the memif copies, too")
    parser.add_argument("--idle", default="poll", help="key `idle` of both daemons")


def _python(testbed: Testbed, args: argparse.Namespace) -> tuple[memif.Window, paired.Group]:
    extra = "" if args.no_zero_copy or not args.huge else ",zero-copy=yes"
    a, b = memif_pair(testbed, Build(args.build, args.huge), rsize=RSIZE, name="python-", b_extra=extra,
                      b_eal=("--single-file-segments",) if extra else (), daemon_keys={"idle": args.idle}, memory_mb=256,
                      telemetry=True, keys={"silence": "60s"})

    server = b.python("python-receive", STREAM, "receive")
    b.wait_listening(process=server)
    client = a.python("python-send", STREAM, "send", ADDR_B)
    return memif.moving(testbed, (a, b), server, client)


def run(testbed: Testbed, args: argparse.Namespace, results: Results) -> None:
    results.demand(GOODPUT)
    perf, end, perf_group = memif.sluice(testbed, args, RSIZE, name="perf-")
    python, python_group = _python(testbed, args)
    memif.same_pages({"sluice perf": perf_group, "Python": python_group})

    def show(i: int, values: dict[str, float]) -> None:
        print(f"round {i}: " + ", ".join(f"{n} {rate_text(v)}" for n, v in values.items()), flush=True)

    values = paired.rounds({PERF: perf, PYTHON: python}, args, show)
    end()
    results.disturbed([perf_group, python_group])
    results.windows(PERF, values[PERF], "Gb/s", scale=1e-9)
    results.windows(GOODPUT, values[PYTHON], "Gb/s", values[PERF], paired.Bar(BAR), scale=1e-9)
