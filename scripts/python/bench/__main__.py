# SPDX-License-Identifier: BSD-3-Clause
"""Lists the benchmarks of scripts/bench, and runs one."""
import argparse
import os
import sys
import traceback
from typing import Protocol

from . import (beside, emu, exception, files, flood, idle, known, linerate, memif, micro, mover, pace, paced, paths,
               profile, python, rivals, roads, secure, share, shares, tcp, units)
from . import paired
from testbed.process import Testbed, TestbedError
from .results import Results


class Bench(Protocol):
    """A module of this folder, or an object."""

    def options(self, parser: argparse.ArgumentParser) -> None:
        """Adds the options of this bench."""

    def run(self, testbed: Testbed, args: argparse.Namespace, results: Results) -> None:
        """Measures and judges."""


# {name: (bench, hugepages in MB, description)}
BENCHES: dict[str, tuple[Bench, int, str]] = {
    "memif": (memif, 3600, "goodput from memory to memory over memif, against testpmd and memcpy"),
    "profile": (profile, 2800, "where the time of a packet goes over memif, step by step, by perf's samples"),
    "units": (units, 6000, "goodput over memif with an MTU of 40960, against 9000"),
    "secure": (secure, 7700, "goodput over memif with sealed packets, against plain ones and a bare loop of the cipher"),
    "python": (python, python.HUGE_MB, "goodput of the Python package over memif, against sluice perf"),
    "pace": (pace, 4100, "a million paced flows on one core, against rte_sched, rte_timer and wheels"),
    "paced": (paced, 1280, "payload on a veth, as tcpdump captures it, against the grant"),
    "emu": (emu, 7800, "the path emulator on one core against testpmd, and its delay error"),
    "tcp": (tcp, 1280, "Linux TCP (cubic, bbr, reno) through a link of the emulator"),
    "exception": (exception, 0, "a transfer beside iperf3 through the exception ports"),
    "flood": (flood, 1900, "a paced transfer while strangers and forgers send to the same port"),
    "files": (files, 1800, "files and memory over memif, AF_XDP and AF_PACKET, against cp and iperf3 -F"),
    "mover": (mover, 1800, "files and trees over memif, against cp, tar and rsync; again, unchanged and changed"),
    "idle": (idle, 0, "a daemon at rest: its CPU, and the wait of the first packet after a pause"),
    "share": (share, 0, "sharing the capacity among a million connections, against plain passes over an array"),
    "shares": (shares, 1800, "shares of four senders into one daemon, while one of them pauses"),
    "paths": (paths, 0, "60 paths of unknown properties, with one flow and with two, in virtual time"),
    "roads": (roads, 0, "roads drawn at random, in virtual time, with bars that follow from each road"),
    "linerate": (linerate, 6200, "NDR and PDR of the path emulator and the daemon on one core, against testpmd"),
    "known": (known, 0, "the throughput search on devices whose throughput is known, in virtual time"),
    "beside": (beside, 1800, "a link of unknown rate and delay: alone, and beside one TCP cubic"),
    "rivals": (rivals, 1800, "beside iperf3, rsync, scp, rclone, uftp and quinn on nine paths, as a page"),
    "path": (micro.Micro("path"), 1200, "lib/path alone: ns for a burst of 32 packets"),
    "credit": (micro.Micro("credit"), 0, "the credit rule: ns for a decision"),
    "wheel": (micro.Micro("wheel"), 0, "the timing wheel: ns for a release"),
}


def show_list() -> None:
    for name, (_, _, description) in BENCHES.items():
        print(f"{name:9} {description}")
    print(f"\n{paired.STATUS_HELP}")


def find(name: str) -> tuple[Bench, int, str]:
    if name not in BENCHES:
        print(f"bench: there is no benchmark \"{name}\"; there are {', '.join(BENCHES)}", file=sys.stderr)
        sys.exit(paired.ERROR)
    return BENCHES[name]


def run(name: str, bench: Bench, args: argparse.Namespace) -> int:
    """Exit status. Whatever keeps it from measuring is an ERROR, never a missed bar."""
    results = Results(name)
    results.seed = getattr(args, "seed", results.seed)
    try:
        with Testbed("bench", keep_dir=os.path.join(args.out, f"{name}-logs")) as testbed:
            bench.run(testbed, args, results)
    except TestbedError as problem:
        print(f"bench: {problem}", file=sys.stderr)
        return paired.ERROR
    except Exception:  # Python would exit with 1, which means a missed bar
        traceback.print_exc()
        return paired.ERROR
    results.show()
    print(f"written: {os.path.relpath(results.write(args.out))}")
    return results.status()


def main() -> int:
    if sys.argv[1:] == ["--list"]:
        show_list()
        return 0
    if len(sys.argv) == 3 and sys.argv[1] == "--huge-mb":
        print(find(sys.argv[2])[1])
        return 0
    name = sys.argv[1]
    bench, _, description = find(name)
    parser = argparse.ArgumentParser(prog=f"scripts/bench {name}", description=description,
                                     epilog=paired.STATUS_HELP,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--out", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--huge", action="store_true", help=argparse.SUPPRESS)
    bench.options(parser)
    return run(name, bench, parser.parse_args(sys.argv[2:]))


if __name__ == "__main__":
    sys.exit(main())
