# SPDX-License-Identifier: BSD-3-Clause
"""A daemon at rest: how much CPU it takes, and how long the first packet after a pause waits.

There is a daemon for each kind of rest, on a veth with an exception port; the driver's packet socket wakes it.
One more daemon is on a TAP, whose driver has receive interrupts, as those of NICs have. The daemons
take turns: all but one are stopped. In a window, the CPU of the daemon's threads is counted first,
while no packet comes. Then a kernel in another namespace sends it single echo requests, a tenth of a
second apart, and the worker answers them.

For comparison, nap.c measures a thread that only naps or waits. Waking up is most of the cost of rest,
and differs much between machines. On a machine where waking up alone takes most of 0.1 ms, a packet
that wakes the worker may take as long as a packet to a polling worker and the waking up of a bare
thread together.
"""
import argparse
import os
import re
import statistics
from collections.abc import Callable, Mapping, Sequence

from testbed import net

from . import paired
from .paired import Bar
from .results import Results
from testbed.daemon import Build, Daemon, Port, af_packet
from testbed.pair import ADDR_B, pair_cpus, station
from testbed.process import Testbed, TestbedError

CPU_BAR, WAIT_BAR_MS, RUNG_BAR_MS = 2.0, 1.0, 0.1
KERNEL = "10.90.0.9/24"
POLL, SLEEP, WOKEN = "poll", "sleep", "sleep, on a port that interrupts"
KINDS = (POLL, "pause", SLEEP, WOKEN)
BARE = "a thread that only naps"
PINGS = 3  # in a window
# A sleeping worker that was stopped needs this long until its naps have their full length.
SETTLE_S = 0.2
CPU, WAIT = "{}: CPU of the daemon", "{}: first packet"

Pair = tuple[float, float]  # (% of a core, ms that a packet waits)


def options(parser: argparse.ArgumentParser) -> None:
    paired.options(parser)


def _resting(testbed: Testbed, args: argparse.Namespace, idle: str, number: int) -> tuple[str, Daemon]:
    """The kernel's namespace, and a daemon on a veth."""
    spaces = [net.namespace(testbed, f"{name}{number}") for name in ("kernel", "daemon")]
    net.quiet(spaces[1])
    net.veth(spaces[0], "slk", spaces[1], "sld")
    net.address(spaces[0], "slk", KERNEL)
    port = af_packet("sld", 1500)
    port.keys = {**station(2), "exception": "sltap"}
    worker, control = pair_cpus()[1]
    return spaces[0], Daemon(testbed, Build(args.build, args.huge), f"b{number}", [port], [worker], control,
                             ns=spaces[1], daemon_keys={"idle": idle}, memory_mb=256).start()


def _interrupting(testbed: Testbed, args: argparse.Namespace, number: int) -> tuple[str, Daemon]:
    """The kernel's namespace, and a daemon on a TAP."""
    space = net.namespace(testbed, f"kernel{number}")
    net.quiet(space)
    port = Port("net_tap0", "net_tap0,iface=sltap")
    port.keys = {**station(2), "mtu": 1500}
    worker, control = pair_cpus()[1]
    daemon = Daemon(testbed, Build(args.build, args.huge), f"b{number}", [port], [worker], control, ns=space,
                    daemon_keys={"idle": "sleep"}, memory_mb=256).start()
    net.address(space, "sltap", KERNEL)
    return space, daemon


def _wait_ms(testbed: Testbed, ns: str) -> float:
    """Median of a few; the first one does not count, since the kernel resolves the address before it."""
    text = testbed.run("ping", ["ping", "-n", "-c", PINGS + 1, "-i", "0.1", ADDR_B], ns=ns, timeout_s=30)
    times = [float(x) for x in re.findall(r"time=([0-9.]+) ms", text)][1:]
    if len(times) < PINGS:
        raise TestbedError(f"the daemon answered only {len(times)} of {PINGS} echo requests")
    return statistics.median(times)


def _contender(testbed: Testbed, args: argparse.Namespace, kind: str, number: int) -> Callable[[float], Pair]:
    ns, daemon = _interrupting(testbed, args, number) if kind == WOKEN else _resting(testbed, args, kind, number)
    group = paired.Group(testbed, [daemon.process], SETTLE_S)

    def window(seconds: float) -> Pair:
        with group:
            used = paired.growth(lambda: paired.cpu_ns(daemon.pid()), seconds)
            return 100 * used * 1e-9, _wait_ms(testbed, ns)
    return window


def _bare(testbed: Testbed, args: argparse.Namespace) -> Callable[[float], Pair]:
    """f(seconds): (% of a core that napping takes, ms until a waiting thread runs)"""
    cpu = pair_cpus()[1][0]
    other = next((c for c in sorted(os.sched_getaffinity(0)) if c != cpu), cpu)

    def window(seconds: float) -> Pair:
        text = testbed.run("nap", [os.path.join(args.build, "test", "bench", "nap"), seconds, cpu, other,
                                   PINGS], timeout_s=60)
        return float(text.split()[1]), float(text.split()[2]) / 1e3
    return window


def judge(results: Results, values: Mapping[str, Sequence[Pair]]) -> None:
    cpu, wait = ({kind: [v[i] for v in pairs] for kind, pairs in values.items()} for i in range(2))
    results.windows(f"{BARE}: CPU", cpu[BARE], "% of a core", bar=Bar(None, at_most=True))
    results.windows("a thread that only waits: runs after", wait[BARE], "ms",
                    bar=Bar(None, at_most=True))
    for kind in KINDS:
        rests = kind in (SLEEP, WOKEN)
        results.windows(CPU.format(kind), cpu[kind], "% of a core",
                        bar=Bar(CPU_BAR if rests else None, at_most=True))
        if kind == WOKEN:
            most = [max(RUNG_BAR_MS, a + b) for a, b in zip(wait[POLL], wait[BARE])]
            results.windows(WAIT.format(kind), wait[kind], "ms", most, Bar(1.0, at_most=True))
        else:
            results.windows(WAIT.format(kind), wait[kind], "ms",
                            bar=Bar(WAIT_BAR_MS if kind == SLEEP else None, at_most=True))


def run(testbed: Testbed, args: argparse.Namespace, results: Results) -> None:
    paired.check_options(args)
    results.demand(*(row.format(kind) for kind in (SLEEP, WOKEN) for row in (CPU, WAIT)))
    contenders = {BARE: _bare(testbed, args)}
    for number, kind in enumerate(KINDS):
        contenders[kind] = _contender(testbed, args, kind, number)

    def show(i: int, values: dict[str, Pair]) -> None:
        print(f"round {i}: " + ", ".join(f"{kind} {cpu:.2f} % {wait:.3f} ms"
                                         for kind, (cpu, wait) in values.items()), flush=True)

    judge(results, paired.rounds(contenders, args, show))
