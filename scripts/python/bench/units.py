# SPDX-License-Identifier: BSD-3-Clause
"""What larger packets are worth over memif: goodput of `sluice perf` with an MTU of 40960 against 9000.

Both transfers are those of `memif`: one connection, 1 GiB of memory on each side. Each has two daemons of its own,
with slots that hold one frame. Rings of about the same memory stay in the CPU's cache alike.
"""
import argparse

from . import memif, paired
from .results import Results
from testbed.daemon import MEMIF_MTU_MAX
from testbed.process import Testbed, TestbedError
from testbed.table import rate_text

BAR = 1.1
SMALL, LARGE = "small", "large"
GOODPUT = "goodput with large packets"
SETTLE_S = 1.0  # twice as many turns stop each connection, so it needs longer on a busy machine


def options(parser: argparse.ArgumentParser) -> None:
    paired.options(parser)
    parser.add_argument("--mtu", type=int, default=40960, help="of the large packets")
    parser.add_argument("--rsize", type=int, default=6, help="log2 of the number of slots of their ring")
    parser.add_argument("--small-mtu", type=int, default=9000, help="of the small packets")
    parser.add_argument("--small-rsize", type=int, default=8, help="log2 of the number of slots of their ring")
    parser.add_argument("--no-zero-copy", action="store_true",
                        help="the receiving end of the memif copies, too")
    parser.add_argument("--idle", default="poll", help="key `idle` of all daemons")
    parser.add_argument("--bar", type=float, default=BAR, help="smallest ratio to the small packets that holds")


def run(testbed: Testbed, args: argparse.Namespace, results: Results) -> None:
    paired.check_options(args)
    for mtu in (args.mtu, args.small_mtu):
        if not 576 <= mtu <= MEMIF_MTU_MAX:
            raise TestbedError(f"a memif has no MTU of {mtu}; give 576 to {MEMIF_MTU_MAX}")
    results.demand(GOODPUT)
    contenders, ends, groups = {}, {}, []
    for name, rsize, mtu in ((SMALL, args.small_rsize, args.small_mtu), (LARGE, args.rsize, args.mtu)):
        contenders[name], ends[name], group = memif.sluice(testbed, args, rsize, mtu, name, SETTLE_S)
        groups.append(group)

    def show(i: int, values: dict[str, float]) -> None:
        print(f"round {i}: " + ", ".join(f"{n} {rate_text(v)}" for n, v in values.items()), flush=True)

    values = paired.rounds(contenders, args, show)
    for name, end in ends.items():
        result = end()
        results.figure(f"unit of {name} packets", result["unit_bytes"], "bytes")
        results.figure(f"{name} packets sent again", result["repeats"], "packets")
    results.disturbed(groups)
    results.windows(SMALL, values[SMALL], "Gb/s", scale=1e-9)
    results.windows_each(GOODPUT, values[LARGE], "Gb/s", {SMALL: values[SMALL]}, args.bar, scale=1e-9)
