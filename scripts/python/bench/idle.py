# SPDX-License-Identifier: BSD-3-Clause
"""A daemon at rest: how much CPU it takes, and how long the first packet after a pause waits.

One daemon for each kind of rest on a veth with an exception port, as a NIC's would have, which a
packet socket wakes; and one on a TAP, whose driver has receive interrupts, as NICs' have. They take
turns, and all but one stand still. In a window, first the CPU of its threads is counted while
nothing comes; then a kernel in another namespace sends it single echo requests, a tenth of a second
apart, which the worker answers. Beside them stands what a thread takes that only naps or waits
(nap.c): waking up is most of what rest costs, and differs much between machines. Where it alone
takes most of 0.1 ms, a packet that wakes the worker may take as long as one that finds it polling,
and a bare thread's waking up.
"""
import os
import re
import statistics

from testbed import net

from . import paired
from testbed.daemon import Build, Daemon, Port, af_packet
from testbed.pair import ADDR_B, pair_cpus, station
from testbed.process import TestbedError

CPU_BAR, WAIT_BAR_MS, RUNG_BAR_MS = 2.0, 1.0, 0.1
KERNEL = "10.90.0.9/24"
POLL, SLEEP, WOKEN = "poll", "sleep", "sleep, on a port that interrupts"
KINDS = (POLL, "pause", SLEEP, WOKEN)
BARE = "a thread that only naps"
PINGS = 3  # of a window
# After it stood still a worker that sleeps needs this long until its naps are as long as they get.
SETTLE_S = 0.2
CPU, WAIT = "{}: CPU of the daemon", "{}: first packet"


def options(parser):
    paired.options(parser)


def _resting(testbed, args, idle, number):
    """(kernel's namespace, daemon)"""
    spaces = [net.namespace(testbed, f"{name}{number}") for name in ("kernel", "daemon")]
    net.quiet(spaces[1])
    net.veth(spaces[0], "slk", spaces[1], "sld")
    net.address(spaces[0], "slk", KERNEL)
    port = af_packet("sld", 1500)
    port.keys = {**station(2), "exception": "sltap"}
    worker, control = pair_cpus()[1]
    return spaces[0], Daemon(testbed, Build(args.build, args.huge), f"b{number}", [port], [worker], control,
                             ns=spaces[1], daemon_keys={"idle": idle}, memory_mb=256).start()


def _interrupting(testbed, args, number):
    """The same on a TAP."""
    space = net.namespace(testbed, f"kernel{number}")
    net.quiet(space)
    port = Port("net_tap0", "net_tap0,iface=sltap")
    port.keys = {**station(2), "mtu": 1500}
    worker, control = pair_cpus()[1]
    daemon = Daemon(testbed, Build(args.build, args.huge), f"b{number}", [port], [worker], control, ns=space,
                    daemon_keys={"idle": "sleep"}, memory_mb=256).start()
    net.address(space, "sltap", KERNEL)
    return space, daemon


def _wait_ms(testbed, ns):
    """Median of a few; the first one asks for the neighbour, too, and does not count."""
    text = testbed.run("ping", ["ping", "-n", "-c", PINGS + 1, "-i", "0.1", ADDR_B], ns=ns, timeout_s=30)
    times = [float(x) for x in re.findall(r"time=([0-9.]+) ms", text)][1:]
    if len(times) < PINGS:
        raise TestbedError(f"of {PINGS} echo requests {len(times)} are answered")
    return statistics.median(times)


def _contender(testbed, args, kind, number):
    """f(seconds): (% of a core, ms that a packet waits)"""
    ns, daemon = _interrupting(testbed, args, number) if kind == WOKEN else _resting(testbed, args, kind, number)
    group = paired.Group(testbed, [daemon.process], SETTLE_S)

    def window(seconds):
        with group:
            used = paired.growth(lambda: paired.cpu_ns(daemon.pid()), seconds)
            return 100 * used * 1e-9, _wait_ms(testbed, ns)
    return window


def _bare(testbed, args):
    """f(seconds): (% of a core that napping takes, ms until a thread that waits runs)"""
    cpu = pair_cpus()[1][0]
    other = next((c for c in sorted(os.sched_getaffinity(0)) if c != cpu), cpu)

    def window(seconds):
        text = testbed.run("nap", [os.path.join(args.build, "test", "bench", "nap"), seconds, cpu, other,
                               PINGS], timeout_s=60)
        return float(text.split()[1]), float(text.split()[2]) / 1e3
    return window


def judge(results, values):
    """values: {kind: [(% of a core, ms)]}"""
    cpu, wait = ({kind: [v[i] for v in pairs] for kind, pairs in values.items()} for i in range(2))
    results.windows(f"{BARE}: CPU", cpu[BARE], "% of a core", at_most=True)
    results.windows("a thread that only waits: runs after", wait[BARE], "ms", at_most=True)
    for kind in KINDS:
        rests = kind in (SLEEP, WOKEN)
        results.windows(CPU.format(kind), cpu[kind], "% of a core", bar=CPU_BAR if rests else None,
                        at_most=True)
        if kind == WOKEN:
            most = [max(RUNG_BAR_MS, a + b) for a, b in zip(wait[POLL], wait[BARE])]
            results.windows(WAIT.format(kind), wait[kind], "ms", most, 1.0, at_most=True)
        else:
            results.windows(WAIT.format(kind), wait[kind], "ms",
                            bar=WAIT_BAR_MS if kind == SLEEP else None, at_most=True)


def run(testbed, args, results):
    paired.check_options(args)
    results.demand(*(what.format(kind) for kind in (SLEEP, WOKEN) for what in (CPU, WAIT)))
    contenders = {BARE: _bare(testbed, args)}
    for number, kind in enumerate(KINDS):
        contenders[kind] = _contender(testbed, args, kind, number)

    def show(i, values):
        print(f"round {i}: " + ", ".join(f"{kind} {cpu:.2f} % {wait:.3f} ms"
                                         for kind, (cpu, wait) in values.items()), flush=True)

    judge(results, paired.rounds(contenders, args, show))
