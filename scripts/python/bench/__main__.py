# SPDX-License-Identifier: BSD-3-Clause
"""The benchmarks behind scripts/bench: which there are, and running one."""
import argparse
import os
import sys
import traceback

from . import beside, emu, exception, files, idle, memif, micro, pace, paced, paths, roads, share, shares, tcp
from . import paired
from testbed.process import Testbed, TestbedError
from .results import Results

# name -> (module with run(testbed, args, results) and options(parser), hugepages in MB, what it measures)
BENCHES = {
    "memif": (memif, 3600, "goodput from memory to memory over memif, against testpmd and memcpy"),
    "pace": (pace, 4100, "a million paced flows on one core, against rte_sched, rte_timer and wheels"),
    "paced": (paced, 1280, "payload on a veth against the grant, as tcpdump sees it"),
    "emu": (emu, 7800, "the path emulator on one core against testpmd, and its delay error"),
    "tcp": (tcp, 1280, "Linux TCP (cubic, bbr, reno) through a link of the emulator"),
    "exception": (exception, 0, "a transfer beside iperf3 through the exception ports"),
    "files": (files, 1800, "files and memory over memif, AF_XDP and AF_PACKET, against cp and iperf3 -F"),
    "idle": (idle, 0, "a daemon at rest: its CPU, and how long the first packet after a pause waits"),
    "share": (share, 0, "sharing the capacity among a million connections, against plain passes"),
    "shares": (shares, 1800, "four senders into one daemon, one of which pauses: who gets what"),
    "paths": (paths, 0, "60 paths that nobody described, one flow and two, in virtual time"),
    "roads": (roads, 0, "roads drawn at random, each with bars that follow from it, in virtual time"),
    "beside": (beside, 1800, "a link of which nothing is known: alone, and beside one TCP cubic"),
    "path": (micro.Micro("path"), 1200, "lib/path alone: ns a burst of 32 packets"),
    "credit": (micro.Micro("credit"), 0, "the credit rule: ns per decision"),
    "wheel": (micro.Micro("wheel"), 0, "the timing wheel: ns per release"),
}


def show_list():
    for name, (_, _, what) in BENCHES.items():
        print(f"{name:9} {what}")
    print(f"\n{paired.STATUS_HELP}")


def find(name):
    if name not in BENCHES:
        print(f"bench: there is no \"{name}\"; there are: {', '.join(BENCHES)}", file=sys.stderr)
        sys.exit(paired.ERROR)
    return BENCHES[name]


def run(name, bench, args):
    """Exit status. Whatever keeps it from measuring is an ERROR, never a bar that was missed."""
    results = Results(name)
    results.seed = getattr(args, "seed", results.seed)
    try:
        with Testbed("bench", keep_dir=os.path.join(args.out, f"{name}-logs")) as testbed:
            bench.run(testbed, args, results)
    except TestbedError as problem:
        print(f"bench: {problem}", file=sys.stderr)
        return paired.ERROR
    except Exception:  # Python's own status for it, 1, says that a bar was missed
        traceback.print_exc()
        return paired.ERROR
    results.show()
    print(f"written: {os.path.relpath(results.write(args.out))}")
    return results.status()


def main():
    if sys.argv[1:] == ["--list"]:
        show_list()
        return 0
    if len(sys.argv) == 3 and sys.argv[1] == "--huge-mb":
        print(find(sys.argv[2])[1])
        return 0
    name = sys.argv[1]
    bench, _, what = find(name)
    parser = argparse.ArgumentParser(prog=f"scripts/bench {name}", description=what,
                                     epilog=paired.STATUS_HELP,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--out", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--huge", action="store_true", help=argparse.SUPPRESS)
    bench.options(parser)
    return run(name, bench, parser.parse_args(sys.argv[2:]))


if __name__ == "__main__":
    sys.exit(main())
