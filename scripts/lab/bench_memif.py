# SPDX-License-Identifier: BSD-3-Clause
"""Goodput of `sluice perf` over memif, one connection, 9000 bytes MTU, 1 GiB of memory on each side.

The reference is the lower of two things that the same cores can do at most: the best testpmd
(txonly -> rxonly on the same vdevs; frames, headers included, whose payload nobody touches) and
glibc's memcpy on one core (1 GiB to 1 GiB, both cold, in pieces of a unit). All in the same run,
taking turns; medians.
"""
import json
import os
import re
import statistics
import time

from .bench_micro import medians
from .daemon import Build
from .pair import ADDR_B, memif_pair, pair_cpus
from .process import LabError, until
from .table import rate_text

BAR = 0.6
FRAME_BYTES = 9014  # an IP packet of 9000 bytes with its Ethernet header
# (rsize, bsize, receiver's mbuf): one buffer a frame, and chains of small ones.
TESTPMD = ((8, 9216, 9472), (11, 2048, 2176))


def options(parser):
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=4.0, help="of each measurement")
    parser.add_argument("--rsize", type=int, default=8)
    parser.add_argument("--no-zero-copy", action="store_true",
                        help="the receiving end of the memif copies as well")
    parser.add_argument("--idle", default="poll", help="of the daemons")
    parser.add_argument("--bar", type=float, default=BAR)


def _testpmd_args(lab, tag, role, socket, rsize, bsize, mbuf, mode, cpu, control, huge):
    prefix = f"sluice-{os.getpid()}-pmd-{tag}-{role}"
    memory = ["--in-memory"] if huge else ["--no-huge", "--no-shconf"]
    vdev = (f"net_memif0,role={role},id=0,socket-abstract=no,socket={socket},rsize={rsize},"
            f"bsize={bsize}")
    return ["dpdk-testpmd", "--lcores", f"0@{control},1@{cpu}", *memory, "-m", "512", "--no-pci",
            "--no-telemetry", "--file-prefix", prefix, "--vdev", vdev, "--", f"--forward-mode={mode}",
            f"--mbuf-size={mbuf}", "--total-num-mbufs=8192", f"--txpkts={FRAME_BYTES}",
            "--stats-period=1", "--auto-start", "--no-mlockall"]


def testpmd_bps(lab, args, config, tag):
    """Median of the receiver's 1 s readings, bits/s of Ethernet frames."""
    rsize, bsize, rx_mbuf = config
    (wa, ca), (wb, cb) = pair_cpus()
    socket = lab.path(f"pmd-{tag}.sock")
    sender = lab.start("testpmd-tx", _testpmd_args(lab, tag, "server", socket, rsize, bsize, 9472,
                                                   "txonly", wa, ca, args.huge))
    until(lambda: os.path.exists(socket), 30, "testpmd makes its memif")
    receiver = lab.start("testpmd-rx", _testpmd_args(lab, tag, "client", socket, rsize, bsize, rx_mbuf,
                                                     "rxonly", wb, cb, args.huge))

    def readings():
        # In bits/s since the last reading; the first two are of the start.
        return [int(x) for x in re.findall(r"Rx-bps:\s+(\d+)", receiver.out()) if int(x) > 0][2:]

    def enough():
        for process in (sender, receiver):
            if not process.running():
                raise LabError(f"testpmd ended\n{process.tail()}")
        return len(readings()) >= max(3, int(args.seconds))

    until(enough, 60 + args.seconds, "testpmd moves packets", 0.2)
    value = statistics.median(readings())
    for process in (receiver, sender):
        process.stop()
    return value


def sluice_result(lab, args, round_number):
    """`sluice perf` with daemons of their own, as testpmd has."""
    extra = "" if args.no_zero_copy or not args.huge else ",zero-copy=yes"
    eal = ("--single-file-segments",) if extra else ()
    a, b = memif_pair(lab, Build(args.build, args.huge), rsize=args.rsize, b_extra=extra,
                      b_eal=eal, daemon_keys={"idle": args.idle}, memory_mb=256)
    server = b.sluice("server", "perf", "server", "-1", "--json", "--memory", "1G")
    b.wait_listening()
    client = a.sluice("client", "perf", "client", "--json", "-i", "0", "-t", f"{args.seconds:g}",
                      "--memory", "1G", ADDR_B)
    result = json.loads(client.check(args.seconds * 4 + 60))
    server.check(30)
    if result["config"]["memory_bytes"] < 1 << 30 or result["config"]["peer_memory_bytes"] < 1 << 30:
        raise LabError(f"perf did not use 1 GiB on each side: {result['config']}")
    for daemon in (a, b):
        daemon.stop()
    return result


def run(lab, args, results):
    pmd = {config: [] for config in TESTPMD}
    copies, goodputs, result = [], [], None
    cpu = pair_cpus()[1][0]
    for i in range(args.rounds):
        for config in TESTPMD:
            pmd[config].append(testpmd_bps(lab, args, config, f"{i}-{config[0]}"))
        row = medians(lab, args, "memcpy_bench", 3, cpu)[0]
        copies.append(row["bytes_per_second"] * 8)
        result = sluice_result(lab, args, i)
        goodputs.append(result["goodput_bps"])
        print(f"round {i + 1}: testpmd " + ", ".join(rate_text(v[-1]) for v in pmd.values()) +
              f"; memcpy {rate_text(copies[-1])}; sluice {rate_text(goodputs[-1])}", flush=True)
        time.sleep(0.2)
    best = 0.0
    for (rsize, bsize, _), values in pmd.items():
        value = statistics.median(values)
        best = max(best, value)
        results.add(f"testpmd rsize {rsize} bsize {bsize}", value / 1e9, "Gb/s")
    copy = statistics.median(copies)
    results.add("glibc memcpy, one core, cold", copy / 1e9, "Gb/s")
    results.add("packets sent again, last round", result["repeats"], "packets")
    results.add("goodput", statistics.median(goodputs) / 1e9, "Gb/s", min(best, copy) / 1e9, args.bar)
