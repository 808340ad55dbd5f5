# SPDX-License-Identifier: BSD-3-Clause
"""A daemon at rest: how much CPU it takes, and how long the first packet after a pause waits.

One daemon on a veth with an exception port, as a NIC's would have, which a packet socket wakes; and one
on a TAP, whose driver has receive interrupts, as NICs' have. CPU is the time of its threads in
/proc; the wait is the round trip of single echo requests, which the worker answers, from a kernel in
another namespace, a tenth of a second apart. Beside it stands what a thread takes that only naps or
waits (nap.c): waking up is most of what rest costs, and differs much between machines. Where it alone
takes most of 0.1 ms, a packet that wakes the worker may take as long as one that finds it polling, and
a bare thread's waking up.
"""
import os
import re
import statistics
import time

from . import net
from .daemon import Build, Daemon, Port, af_packet
from .pair import ADDR_B, pair_cpus, station
from .process import LabError, thread_cpu_seconds

CPU_BAR, WAIT_BAR_MS, RUNG_BAR_MS = 2.0, 1.0, 0.1
KERNEL = "10.90.0.9/24"
RUNG = "sleep, on a port that interrupts"


def options(parser):
    parser.add_argument("--seconds", type=float, default=10.0, help="of rest, for each kind of it")
    parser.add_argument("--pings", type=int, default=100)


def _resting(lab, args, idle):
    """(kernel's namespace, daemon)"""
    spaces = [net.namespace(lab, name) for name in ("kernel", "daemon")]
    net.quiet(spaces[1])
    net.veth(spaces[0], "slk", spaces[1], "sld")
    net.address(spaces[0], "slk", KERNEL)
    port = af_packet("sld", 1500)
    port.keys = {**station(2), "exception": "sltap"}
    worker, control = pair_cpus()[1]
    return spaces[0], Daemon(lab, Build(args.build, args.huge), "b", [port], [worker], control,
                             ns=spaces[1], daemon_keys={"idle": idle}).start()


def _ringing(lab, args):
    """The same on a TAP."""
    space = net.namespace(lab, "kernel")
    net.quiet(space)
    port = Port("net_tap0", "net_tap0,iface=sltap")
    port.keys = {**station(2), "mtu": 1500}
    worker, control = pair_cpus()[1]
    daemon = Daemon(lab, Build(args.build, args.huge), "b", [port], [worker], control, ns=space,
                    daemon_keys={"idle": "sleep"}).start()
    net.address(space, "sltap", KERNEL)
    return space, daemon


def _cpu(daemon, seconds):
    """Per cent of a core, by thread."""
    time.sleep(2)  # what starting leaves to do
    before, begin = thread_cpu_seconds(daemon.pid()), time.monotonic()
    time.sleep(seconds)
    after, took = thread_cpu_seconds(daemon.pid()), time.monotonic() - begin
    return {name: 100 * (used - before.get((tid, name), 0)) / took
            for (tid, name), used in after.items()}


def _waits(lab, ns, count):
    """ms, sorted; the first one asks for the neighbour, too."""
    text = lab.run("ping", ["ping", "-n", "-c", count + 1, "-i", "0.1", ADDR_B], ns=ns,
                   timeout_s=60 + count)
    times = [float(x) for x in re.findall(r"time=([0-9.]+) ms", text)][1:]
    if len(times) < count // 2:
        raise LabError(f"{len(times)} of {count} are answered")
    return sorted(times)


def run(lab, args, results):
    cpu, others = pair_cpus()[1][0], sorted(os.sched_getaffinity(0))
    naps, used, woken_us = lab.run(
        "nap", [os.path.join(args.build, "test", "bench", "nap"), args.seconds, cpu,
                next((c for c in others if c != cpu), cpu)], timeout_s=60 + args.seconds).split()
    results.add("a thread that only naps: CPU", float(used), "% of a core")
    results.add("a thread that only naps: wake-ups", float(naps), "a second")
    results.add("a thread that only waits: runs after, median", float(woken_us) / 1e3, "ms")
    rung_bar = RUNG_BAR_MS
    for idle in ("poll", "pause", "sleep", RUNG):
        mark = lab.mark()
        ns, daemon = _ringing(lab, args) if idle == RUNG else _resting(lab, args, idle)
        cpu = _cpu(daemon, args.seconds)
        waits = _waits(lab, ns, args.pings)
        daemon.stop()
        lab.close_to(mark)
        print(f"{idle}: " + ", ".join(f"{name} {used:.2f} %" for name, used in cpu.items()
                                      if used > 0), flush=True)
        if idle == "poll":
            rung_bar = max(RUNG_BAR_MS, statistics.median(waits) + float(woken_us) / 1e3)
        bars = {"sleep": (CPU_BAR, WAIT_BAR_MS), RUNG: (CPU_BAR, rung_bar)}.get(idle, (None, None))
        results.add(f"{idle}: CPU of the daemon", sum(cpu.values()), "% of a core", bar=bars[0],
                    at_most=True)
        results.add(f"{idle}: first packet, median", statistics.median(waits), "ms", bar=bars[1],
                    at_most=True)
        results.add(f"{idle}: first packet, 99 of 100", waits[len(waits) * 99 // 100], "ms")
