# SPDX-License-Identifier: BSD-3-Clause
"""The benchmarks behind scripts/bench: which there are, and running one."""
import argparse
import os
import sys
import traceback

from . import bench_beside, bench_emu, bench_exception, bench_files, bench_idle, bench_memif, bench_micro, bench_pace, bench_paced, bench_paths, bench_roads, bench_share, bench_shares, bench_tcp
from . import paired
from .process import Lab, LabError
from .results import Results

# name -> (module with run(lab, args, results) and options(parser), hugepages in MB, what it measures)
BENCHES = {
    "memif": (bench_memif, 3600, "goodput from memory to memory over memif, against testpmd and memcpy"),
    "pace": (bench_pace, 4100, "a million paced flows on one core, against rte_sched, rte_timer and wheels"),
    "paced": (bench_paced, 1280, "payload on a veth against the grant, as tcpdump sees it"),
    "emu": (bench_emu, 7800, "the path emulator on one core against testpmd, and its delay error"),
    "tcp": (bench_tcp, 1280, "Linux TCP (cubic, bbr, reno) through a link of the emulator"),
    "exception": (bench_exception, 0, "a transfer beside iperf3 through the exception ports"),
    "files": (bench_files, 1800, "files and memory over memif, AF_XDP and AF_PACKET, against cp and iperf3 -F"),
    "idle": (bench_idle, 0, "a daemon at rest: its CPU, and how long the first packet after a pause waits"),
    "share": (bench_share, 0, "sharing the capacity among a million connections, against plain passes"),
    "shares": (bench_shares, 1800, "four senders into one daemon, one of which pauses: who gets what"),
    "paths": (bench_paths, 0, "60 paths that nobody described, one flow and two, in virtual time"),
    "roads": (bench_roads, 0, "roads drawn at random, each with bars that follow from it, in virtual time"),
    "beside": (bench_beside, 1800, "a link of which nothing is known: alone, and beside one TCP cubic"),
    "path": (bench_micro.Micro("path"), 1200, "lib/path alone: ns a burst of 32 packets"),
    "credit": (bench_micro.Micro("credit"), 0, "the credit rule: ns per decision"),
    "wheel": (bench_micro.Micro("wheel"), 0, "the timing wheel: ns per release"),
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
        with Lab("bench", keep_dir=os.path.join(args.out, f"{name}-logs")) as lab:
            bench.run(lab, args, results)
    except LabError as problem:
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
