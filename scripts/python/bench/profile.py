# SPDX-License-Identifier: BSD-3-Clause
"""Where the time of a packet goes: a profile of the two workers of a transfer over memif.

`perf record` samples the worker of each daemon while `sluice perf` runs; it takes the kernel's clock, as many virtual
machines have no counters of cycles. A step's share of the samples, times the time for which the worker had its core,
over the packets that it handled meanwhile, is the time of this step for a packet. A poller has no idle time: whichever
worker is the faster one waits for the other in the step "loop and rings of clients", or offers frames in vain to a
full ring ("bursts that the port refused").
"""
import argparse
import collections
import json
import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from . import paired
from .results import Results
from testbed.daemon import MEMIF_MTU_MAX, Build, Daemon
from testbed.pair import ADDR_B, memif_pair
from testbed.process import Testbed, TestbedError, until

SAMPLES_HZ = 9973  # a prime number, so that samples do not follow a period of the worker
# A step, and a pattern for "SYMBOL FILE": the source file of a function of the daemon, else the library. The first
# that matches counts.
STEPS = (
    ("kernel: interrupts, other processes", r"\[kernel|\[guest|\[vdso"),
    ("memif: copy into the ring, descriptors", r"librte_net_memif"),
    ("placement: copy into the application's memory", r"lib/(vt/place|base/stream)\."),
    ("buffers", r"^(__)?rte_(pktmbuf|mbuf|mempool)|librte_(mbuf|mempool)"),
    ("packet formats: parse, write", r"lib/wire/"),
    ("units: next to send, received so far", r"lib/vt/"),
    ("path and capacity", r"lib/control/|lib/host/(path|grant|pathrate|occupancy)"),
    ("pacing and timers", r"lib/pace/|lib/host/(pacing|timer)"),
    ("connections: receive and transmit walk", r"lib/host/"),
    ("loop and rings of clients", r"app/|lib/base/|lib/client/"),
)
OTHER = "other"


class Sample(NamedTuple):
    symbol: str
    file: str  # program or library


class Run(NamedTuple):
    """What a worker did while it was sampled."""
    packets: int
    ran_ns: int
    refused: int  # bursts of which the port did not take all


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--mtu", type=int, default=9000, help="of both ports (default: %(default)s)")
    parser.add_argument("--rsize", type=int, default=8, help="log2 of the number of descriptors of a memif ring")
    parser.add_argument("--seconds", type=float, default=5.0, help="for which each worker is sampled")
    parser.add_argument("--functions", action="store_true", help="also print the functions of each step")


def samples(text: str) -> collections.Counter[Sample]:
    """Of what `perf script -F ip,sym,dso` prints."""
    found: collections.Counter[Sample] = collections.Counter()
    for line in text.splitlines():
        match = re.fullmatch(r"\s*[0-9a-f]+ (\S.*?) \((.*)\)\s*", line)
        if match:
            found[Sample(match[1], match[2])] += 1
    return found


def sources(text: str) -> dict[str, str]:
    """{function: source file} of what `nm -l` prints; a name that several files have has one of them."""
    found = {}
    for line in text.splitlines():
        match = re.fullmatch(r"\S+ [tTiW] (\S+)\t(.*):\d+", line)
        if match:
            found[match[1].partition(".")[0]] = match[2]
    return found


def step_of(sample: Sample, files: Mapping[str, str]) -> str:
    """The name of the step; files: of the daemon's functions."""
    file = sample.file
    if file.endswith("/sluiced"):
        file = files.get(sample.symbol.partition(".")[0], file)
    return next((name for name, pattern in STEPS if re.search(pattern, f"{sample.symbol} {file}")), OTHER)


def per_packet(counts: Mapping[Sample, int], files: Mapping[str, str], run: Run) -> dict[str, float]:
    """{step: ns a packet}, the longest first."""
    total = sum(counts.values())
    if total == 0 or run.packets == 0:
        raise TestbedError(f"{total} samples of {run.packets} packets make no profile; does the transfer run?")
    steps: collections.Counter[str] = collections.Counter()
    for sample, count in counts.items():
        steps[step_of(sample, files)] += count
    return {name: count / total * run.ran_ns / run.packets for name, count in steps.most_common()}


def tsc_ghz(cpuinfo: str) -> float | None:
    """Of x86, whose "bogomips" is twice the rate of the TSC; None elsewhere."""
    match = re.search(r"^bogomips\s*: ([0-9.]+)$", cpuinfo, re.MULTILINE)
    x86 = re.search(r"^vendor_id", cpuinfo, re.MULTILINE)  # other architectures have no such line
    return float(match[1]) / 2000 if match and x86 else None


def _worker(daemon: Daemon) -> int:
    """The thread that ran longest, which is the poller."""
    times = paired.thread_times_ns(daemon.pid())
    return max(times, key=lambda tid: times[tid][0])


def _counters(daemon: Daemon, kind: str) -> tuple[int, int]:
    worker = daemon.show("ports")[0]["workers"][0]
    return int(worker["host"][kind]), int(worker["tx_refused"])


def _sampled(testbed: Testbed, daemon: Daemon, kind: str, seconds: float) -> tuple[collections.Counter[Sample], Run]:
    """kind: the counter of its packets."""
    tid, path = _worker(daemon), testbed.path(f"{daemon.name}.perf")
    ran, (packets, refused) = paired.thread_times_ns(daemon.pid())[tid][0], _counters(daemon, kind)
    testbed.run("perf-record", ["perf", "record", "-q", "-e", "cpu-clock", "-F", SAMPLES_HZ, "-t", tid, "-o", path,
                                "sleep", f"{seconds:g}"], seconds + 60)
    after, (packets_after, refused_after) = paired.thread_times_ns(daemon.pid())[tid][0], _counters(daemon, kind)
    text = testbed.run("perf-script", ["perf", "script", "-i", path, "-F", "ip,sym,dso"], 120)
    return samples(text), Run(packets_after - packets, after - ran, refused_after - refused)


def _transfer(testbed: Testbed, args: argparse.Namespace) -> list[Daemon]:
    """Two daemons, and a transfer from the first to the second, which goes on."""
    extra, eal = (",zero-copy=yes", ("--single-file-segments",)) if args.huge else ("", ())
    a, b = memif_pair(testbed, Build(args.build, args.huge), rsize=args.rsize, mtu=args.mtu, b_extra=extra, b_eal=eal,
                      daemon_keys={"idle": "poll"}, memory_mb=256, keys={"silence": "60s"})
    b.sluice("server", "perf", "server", "-1", "-q", "--memory", "1G")
    b.wait_listening()
    client = a.sluice("client", "perf", "client", "-q", "-i", "0", "-t", "3600", "--memory", "1G", ADDR_B)
    until(lambda: _counters(b, "rx_data")[0] * args.mtu > 1 << 30, 60, "sluice perf moves 1 GiB", 0.1, client)
    return [a, b]


def _show(side: str, counts: Mapping[Sample, int], files: Mapping[str, str], run: Run) -> None:
    total = sum(counts.values())
    print(f"{side}:")
    for sample, count in sorted(counts.items(), key=lambda item: -item[1]):
        if count >= total / 500:
            print(f"  {count / total * run.ran_ns / run.packets:7.1f} ns  {step_of(sample, files)}: {sample.symbol}")


def run(testbed: Testbed, args: argparse.Namespace, results: Results) -> None:
    if not 576 <= args.mtu <= MEMIF_MTU_MAX:
        raise TestbedError(f"a memif has no MTU of {args.mtu}; give 576 to {MEMIF_MTU_MAX}")
    for tool, package in (("perf", "linux-perf"), ("nm", "binutils")):
        if shutil.which(tool) is None:
            raise TestbedError(f"{tool} is not installed; as root: apt-get install {package}")
    with open("/proc/cpuinfo", encoding="utf-8") as f:
        ghz = tsc_ghz(f.read())
    unit = "ns" if ghz is None else "cycles of the TSC"
    files = sources(subprocess.run(["nm", "-l", Build(args.build).program("sluiced")], capture_output=True, text=True,
                                   check=True).stdout)
    record: dict[str, Any] = {"mtu": args.mtu, "tsc_ghz": ghz}
    for side, daemon, kind in zip(("sender", "receiver"), _transfer(testbed, args), ("tx_data", "rx_data")):
        counts, done = _sampled(testbed, daemon, kind, args.seconds)
        steps = per_packet(counts, files, done)
        results.figure(f"{side}: all", (ghz or 1) * sum(steps.values()), unit)
        for name, ns in steps.items():
            results.figure(f"{side}: {name}", (ghz or 1) * ns, unit)
        results.figure(f"{side}: bursts that the port refused", 1000 * done.refused / done.packets,
                       "for 1000 packets")
        record[side] = {"packets": done.packets, "samples": sum(counts.values()), "steps_ns": steps}
        if args.functions:
            _show(side, counts, files, done)
    print(json.dumps(record))
