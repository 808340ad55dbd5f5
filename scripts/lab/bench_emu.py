# SPDX-License-Identifier: BSD-3-Clause
"""The path emulator on one core against testpmd's io forwarding: same vdevs, same generator.

One generator lcore sends frames into the first memif and drains the second; the forwarder in between
has the other core. Taking turns in one run, medians. "impaired" is 100 ms of delay, 0.1 % of loss and
a rate limit, with at least 10^6 packets in flight: what the link's queue holds, and what the delay
does. There is room for more, so that what the machine takes away for a moment does not count.

The delay error is measured in the box: from the TSC read right after rx_burst to the one read right
before tx_burst, less the configured delay, at half of the top load. Its 99 % quantile must be below
5 us, or, where a loop that does nothing is away from its core for longer (spin.c, by turns with the
box, with another one on the generator's core), below 1.5 times that.
"""
import json
import os
import statistics

from .box import Box
from .pair import pair_cpus
from .process import LabError, until

RING = "rsize=9,bsize=2048"
DELAY = "1ms"
IN_FLIGHT = 1_000_000
ROOM = 600_000


def options(parser):
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0, help="of each measurement")


def _vdevs(lab, role, tag):
    return [f"net_memif{i},role={role},id=0,socket-abstract=no,socket={lab.path(f'{tag}{i}.sock')},{RING}"
            for i in range(2)]


def _memory(args, mb):
    return (["--in-memory"] if args.huge else ["--no-huge", "--no-shconf"]) + ["-m", str(mb)]


def _load(lab, args, tag, frame, pps=0, warmup=1.0, seconds=None):
    """What the generator counted."""
    cpu = pair_cpus()[1][0]
    command = [os.path.join(args.build, "test", "bench", "load"), "--lcores", f"0@{cpu}",
               *_memory(args, 256), "--no-pci", "--no-telemetry", "--file-prefix",
               f"sluice-{os.getpid()}-load"]
    for vdev in _vdevs(lab, "client", tag):
        command += ["--vdev", vdev]
    seconds = seconds or args.seconds
    out = lab.run("load", [*command, "--", str(frame), str(seconds), str(pps), str(warmup)],
                  60 + 4 * (seconds + warmup))
    return json.loads(out.strip().splitlines()[-1])


def testpmd(lab, args, tag, frame):
    worker, control = pair_cpus()[0]
    command = ["dpdk-testpmd", "--lcores", f"0@{control},1@{worker}", *_memory(args, 512), "--no-pci",
               "--no-telemetry", "--file-prefix", f"sluice-{os.getpid()}-pmd"]
    vdevs = _vdevs(lab, "server", tag)
    for vdev in vdevs:
        command += ["--vdev", vdev]
    process = lab.start("testpmd", command + [
        "--", "--forward-mode=io", "--auto-start", "--no-mlockall", "--total-num-mbufs=16384",
        "--nb-cores=1", "--stats-period=60"])
    until(lambda: os.path.exists(lab.path(f"{tag}1.sock")), 30, "testpmd makes its memifs")
    result = _load(lab, args, tag, frame)
    process.stop()
    if result["drained"] == 0:
        raise LabError(f"testpmd forwards nothing\n{process.tail()}")
    return result["drained_pps"]


def emulator(lab, args, tag, frame, spec, packets=4096, pps=0, warmup=1.0):
    """(packets a second, report of the forward direction)"""
    memory = 256 + (packets + 8192) * (2600 + (250 if packets > 100000 else 0)) // (1 << 20)
    box = Box(lab, args_build(args), _vdevs(lab, "server", tag), spec, "",
              ("--packets", f"{packets},64", "--quiet"), memory)
    result = _load(lab, args, tag, frame, pps, warmup)
    return result["drained_pps"], box.stop()["forward"]


def args_build(args):
    from .daemon import Build
    return Build(args.build, args.huge)


def _impaired_spec(rate_pps, frame):
    """In flight: 100 ms of the rate, and the rest in the queue."""
    waits = IN_FLIGHT + ROOM - int(rate_pps * 0.1)
    return f"loss 0.1% rate {int(rate_pps * frame * 8)}bit limit {max(waits, 1000)} delay 100ms"


def run(lab, args, results):
    frames = (60, 1496)
    pmd = {f: [] for f in frames}
    wire = {f: [] for f in frames}
    impaired, held = [], []
    for i in range(args.rounds):
        for frame in frames:
            pmd[frame].append(testpmd(lab, args, f"p{i}-{frame}-", frame))
            wire[frame].append(emulator(lab, args, f"w{i}-{frame}-", frame, "")[0])
        # a link that is full: below what the box can do, above what it must
        spec = _impaired_spec(0.51 * pmd[60][-1], 60)
        pps, report = emulator(lab, args, f"i{i}-", 60, spec, IN_FLIGHT + ROOM + 200_000, warmup=5.0)
        impaired.append(pps)
        held.append(report["held_packets"])
        print(f"round {i + 1}: testpmd " +
              ", ".join(f"{pmd[f][-1] / 1e6:.2f}" for f in frames) + " Mpps; emulator " +
              ", ".join(f"{wire[f][-1] / 1e6:.2f}" for f in frames) +
              f"; impaired {impaired[-1] / 1e6:.2f} with {held[-1]} in flight", flush=True)
    for frame in frames:
        results.add(f"pass-through, {frame + 4} B", statistics.median(wire[frame]) / 1e6, "Mpps",
                    statistics.median(pmd[frame]) / 1e6, 0.8)
    ratios = [v / p for v, p in zip(impaired, pmd[60])]
    results.add("delay 100 ms, loss 0.1 %, rate, 64 B", statistics.median(impaired) / 1e6, "Mpps",
                statistics.median(impaired) / statistics.median(ratios) / 1e6, 0.5)
    results.add("packets in flight then", statistics.median(held), "packets", bar=IN_FLIGHT)
    for frame in frames:
        top = emulator(lab, args, f"t{frame}-", frame, f"delay {DELAY}", 100_000)[0]
        delay_error(lab, args, results, frame, top / 2)


def histogram_show(h):
    """A bar for each doubling."""
    octaves = {}
    for value, n in h["buckets"]:
        octaves[int(value).bit_length()] = octaves.get(int(value).bit_length(), 0) + n
    for bits, n in sorted(octaves.items()):
        print(f"  below {1 << bits:>10} ns {n:>10} {'#' * round(60 * n / h['count'])}")


def core_away(lab, args):
    """What this core is away from a bare loop while another runs on the generator's: p99, in ns."""
    spin = [os.path.join(args.build, "test", "bench", "spin"), str(args.seconds)]
    (worker, _), (other, _) = pair_cpus()
    beside = lab.start("beside", spin, cpus=[other])
    alone = json.loads(lab.run("spin", spin, 60, cpus=[worker]))
    beside.stop()
    return alone["p99_ns"]


def delay_error(lab, args, results, frame, pps):
    """At half of the top load."""
    late, loop, away = [], [], []
    for i in range(args.rounds):
        report = emulator(lab, args, f"d{frame}-{i}-", frame, f"delay {DELAY}", 100_000, pps)[1]
        if report["late_ns"]["count"] == 0:
            raise LabError("the box sent nothing")
        late.append(report["late_ns"])
        loop.append(report["round_ns"]["p50"])
        away.append(core_away(lab, args))
    name = f"delay error, {frame + 4} B, {pps / 1e6:.2f} Mpps"
    print(f"{name}: histogram of the median run")
    histogram_show(sorted(late, key=lambda h: h["p50"])[len(late) // 2])
    median_round, median_away = statistics.median(loop), statistics.median(away)
    results.add(f"{name}: earliest", min(h["min"] for h in late), "ns", bar=0)
    results.add(f"{name}: median", statistics.median(h["p50"] for h in late), "ns",
                bar=min(max(100, 0.6 * median_round), 1000), at_most=True)
    # 5 us, where the core itself is not away for longer
    results.add(f"this core away from a bare loop, at {pps / 1e6:.2f} Mpps: 99 %", median_away, "ns")
    results.add(f"{name}: 99 %", statistics.median(h["p99"] for h in late), "ns",
                bar=max(5000, 1.5 * median_away), at_most=True)
    results.add(f"{name}: median round", median_round, "ns")
