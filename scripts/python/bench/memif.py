# SPDX-License-Identifier: BSD-3-Clause
"""Goodput of `sluice perf` over memif: one connection, MTU 9000 (`--mtu`), 1 GiB of memory on each side.

The reference is the lower of two upper bounds for the same cores. One is testpmd (txonly -> rxonly on
the same vdevs) with the better of two kinds of rings; its frames count with their headers, and no
program touches their payload. The other is glibc's memcpy on one core: 1 GiB to 1 GiB, both cold, in
pieces of a unit. Their best windows decide which of the two is the lower one (paired.lower()). If that
is uncertain, both must give the same verdict. A testpmd that a transfer outruns does not count. With
`--against` there is one reference, whatever its speed.
"""
import argparse
import json
import os
import signal
import statistics
import subprocess
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from . import paired
from .micro import program
from .results import Results
from testbed.asked import Asked
from testbed.daemon import Build, Daemon
from testbed.pair import ADDR_B, memif_pair, pair_cpus
from testbed.process import Process, Testbed, TestbedError, status_kb, until
from testbed.table import rate_text
from testbed.telemetry import Telemetry


class Rings(NamedTuple):
    rsize: int
    bsize: int
    rx_mbuf: int

    @property
    def name(self) -> str:
        return f"testpmd rsize {self.rsize} bsize {self.bsize}"


Window = Callable[[float], float]  # f(seconds): bits/s

BAR = 0.6
ETHERNET_BYTES = 14
MTU_MIN, MTU_MAX = 576, 9000
UNIT_HEAD_BYTES = 92  # of IPv4, UDP and DATA
UNIT_STEP_BYTES = 64
# One buffer for each frame, and chains of small ones.
TESTPMD = (Rings(8, 9216, 9472), Rings(11, 2048, 2176))
TX_MBUF = 9472
TESTPMD_MB = 192
MEMCPY, SLUICE, GOODPUT = "memcpy", "sluice", "goodput"
LOWER, TESTPMD_NAME = "lower", "testpmd"  # beside MEMCPY, what --against names
# A connection that was stopped is granted its full rate again within this time.
SLUICE_SETTLE_S = 0.3


def options(parser: argparse.ArgumentParser) -> None:
    paired.options(parser)
    parser.add_argument("--rsize", type=int, default=8, help="log2 of the number of descriptors of a memif ring")
    parser.add_argument("--no-zero-copy", action="store_true",
                        help="the receiving end of the memif copies, too")
    parser.add_argument("--idle", default="poll", help="key `idle` of both daemons")
    parser.add_argument("--mtu", type=int, default=9000, help="of both ports, up to 9000 (default: %(default)s)")
    parser.add_argument("--against", choices=(LOWER, TESTPMD_NAME, MEMCPY), default=LOWER,
                        help="the reference; %(default)s: see doc/measuring.md")
    parser.add_argument("--bar", type=float, default=BAR, help="smallest ratio to the reference that holds")


def unit_bytes(mtu: int) -> int:
    """Bytes of a unit that `sluice perf` sends in a packet of this size, where it chooses the size."""
    return (mtu - UNIT_HEAD_BYTES) // UNIT_STEP_BYTES * UNIT_STEP_BYTES


def _testpmd_args(args: argparse.Namespace, prefix: str, mode: str, vdev: str, mbuf: int,
                  cpus: tuple[int, int]) -> list[str]:
    """cpus: of the worker and of the main lcore."""
    memory = ["--in-memory"] if args.huge else ["--no-huge", "--no-shconf"]
    return ["dpdk-testpmd", "--lcores", f"0@{cpus[1]},1@{cpus[0]}", *memory, "-m", str(TESTPMD_MB),
            "--no-pci", "--file-prefix", prefix, "--vdev", vdev, "--", f"--forward-mode={mode}",
            f"--mbuf-size={mbuf}", "--total-num-mbufs=8192", f"--txpkts={args.mtu + ETHERNET_BYTES}",
            "--stats-period=3600", "--auto-start", "--no-mlockall"]


def _eal_folder() -> str:
    return os.path.join("/var/run" if os.geteuid() == 0 else os.environ.get("XDG_RUNTIME_DIR", "/tmp"),
                        "dpdk")


def _testpmd(testbed: Testbed, args: argparse.Namespace, rings: Rings) -> Window:
    """Measures the Ethernet frames that arrive."""
    cpus_a, cpus_b = pair_cpus()
    socket = testbed.path(f"pmd-{rings.rsize}.sock")
    prefix = f"sluice-{os.getpid()}-pmd-{rings.rsize}"
    processes = []
    for mode, role, mbuf, cpus in (("txonly", "server", TX_MBUF, cpus_a),
                                   ("rxonly", "client", rings.rx_mbuf, cpus_b)):
        testbed.undo_folder(os.path.join(_eal_folder(), f"{prefix}-{mode}"))
        vdev = (f"net_memif0,role={role},id=0,socket-abstract=no,socket={socket},rsize={rings.rsize},"
                f"bsize={rings.bsize}")
        processes.append(testbed.start(f"testpmd-{mode}", _testpmd_args(args, f"{prefix}-{mode}", mode, vdev,
                                                                        mbuf, cpus)))
        until(lambda: os.path.exists(socket), 30, "testpmd makes its memif")
    path = os.path.join(_eal_folder(), f"{prefix}-rxonly", "dpdk_telemetry.v2")
    until(lambda: os.path.exists(path), 30, "testpmd makes its telemetry socket")
    telemetry = Telemetry(path)

    def received() -> float:
        return float(telemetry.ask("/ethdev/stats,0")["ibytes"])

    def moving() -> bool:
        for process in processes:
            process.must_run()
        return received() > 0

    until(moving, 60, "testpmd moves packets", 0.1)
    group = paired.Group(testbed, processes)

    def window(seconds: float) -> float:
        with group:
            return 8 * paired.growth(received, seconds)
    return window


def _memcpy(testbed: Testbed, args: argparse.Namespace, cpu: int) -> Window:
    process = testbed.start("memcpy", [program(args, "memcpy_bench"), unit_bytes(args.mtu)], cpus=[cpu],
                            stdin=subprocess.PIPE)
    asked = Asked(process)
    asked.next_answer()

    def window(seconds: float) -> float:
        row = json.loads(asked.ask(f"{seconds:g}"))
        return 8 * float(row["bytes"]) / float(row["seconds"])
    return window


def moving(testbed: Testbed, pair: Sequence[Daemon], server: Process, client: Process,
           settle_s: float = SLUICE_SETTLE_S) -> tuple[Window, paired.Group]:
    """A transfer without an end, from the client of the first daemon to the server of the second one, whose telemetry is on:
    (measures the payload that arrives, the group of all four)."""
    a, b = pair
    telemetry = Telemetry(b.telemetry_socket)

    def conn_bytes() -> int | None:
        for name in telemetry.ask("/sluice/conns"):
            found = telemetry.ask(f"/sluice/conn,{name}")
            if found and found["state"] == "open":
                return int(found["rx_bytes"])
        return None

    def received() -> float:
        found = conn_bytes()
        if found is None:
            raise TestbedError(f"the connection is gone\n{client.tail()}\n{server.tail()}")
        return float(found)

    until(lambda: (conn_bytes() or 0) > 1 << 30, 60, "sluice perf moves 1 GiB", 0.1)
    group = paired.Group(testbed, [a.process, b.process, server, client], settle_s,
                         [a.process, b.process])

    def window(seconds: float) -> float:
        with group:
            return 8 * paired.growth(received, seconds)
    return window, group


def same_pages(groups: Mapping[str, paired.Group]) -> None:
    """Checks that the clients of these transfers have as much memory in hugepages. If the last ones have less, the
    comparison is one of pages."""
    kb = {name: sum(status_kb(process.pid, "HugetlbPages") // 100_000 for process in group.processes[2:])
          for name, group in groups.items()}
    if len(set(kb.values())) > 1:
        shown = ", ".join(f"{name} {n / 10:g} GB" for name, n in kb.items())
        raise TestbedError(f"different clients have different shares of their memory in hugepages ({shown}), so they do not "
                           "compare; free some memory")


def sluice(testbed: Testbed, args: argparse.Namespace, rsize: int, mtu: int = 9000, name: str = "",
           settle_s: float = SLUICE_SETTLE_S,
           seal: Mapping[str, object] | None = None) -> tuple[Window, Callable[[], dict[str, Any]], paired.Group]:
    """(measures the payload that arrives, ends the transfer and returns the client's JSON, the group); name: of the
    pair of daemons, if there are several pairs. seal: packets are sealed; keys of [daemon] that say how."""
    extra = "" if args.no_zero_copy or not args.huge else ",zero-copy=yes"
    eal = ("--single-file-segments",) if extra else ()
    a, b = memif_pair(testbed, Build(args.build, args.huge), rsize=rsize, mtu=mtu, name=name, b_extra=extra,
                      b_eal=eal, daemon_keys={"idle": args.idle, **(seal or {})}, memory_mb=256, telemetry=True,
                      secured=seal is not None,
                      keys={"silence": "60s"})
    server = b.sluice(f"{name}server", "perf", "server", "-1", "--json", "--memory", "1G")
    b.wait_listening()
    client = a.sluice(f"{name}client", "perf", "client", "--json", "-i", "0", "-t", "3600", "--memory", "1G",
                      ADDR_B)
    window, group = moving(testbed, (a, b), server, client, settle_s)

    def end() -> dict[str, Any]:
        group.release()
        client.signal(signal.SIGINT)
        for process in (client, server):
            process.wait(30)  # the status is not 0 after SIGINT
        try:
            result: dict[str, Any] = json.loads(client.out())
        except ValueError:
            raise TestbedError(f"sluice perf printed no report of its transfer\n{client.tail()}") from None
        for daemon in (a, b):
            daemon.stop()
        return result
    return window, end, group


def judge(results: Results, testpmd: Mapping[str, Sequence[float]], copies: Sequence[float],
          goodputs: Sequence[float], bar: float, against: str = LOWER) -> None:
    """testpmd: {name: values}. All values are of the same rounds. against: as --against."""
    for name, values in testpmd.items():
        results.windows(name, values, "Gb/s", scale=1e-9)
    results.windows("glibc memcpy, one core, cold", copies, "Gb/s", scale=1e-9)
    best = max(testpmd, key=lambda name: paired.best(testpmd[name]))
    candidates = {best: testpmd[best], MEMCPY: copies}
    # testpmd does only a part of a transfer's work. If it does less in the same time, it had lost its
    # core, and is no upper bound.
    if paired.best(goodputs) > paired.best(testpmd[best]):
        del candidates[best]
    if against == MEMCPY:
        names = [MEMCPY]
    elif against == TESTPMD_NAME:
        names = [best] if best in candidates else []
    else:
        names = paired.lower(candidates, results.seed)
    references = {name: candidates[name] for name in names}
    if not references:
        results.noisy(GOODPUT, statistics.median(goodputs) * 1e-9, "Gb/s", bar)
        return
    results.windows_each(GOODPUT, goodputs, "Gb/s", references, bar, scale=1e-9)


def run(testbed: Testbed, args: argparse.Namespace, results: Results) -> None:
    paired.check_options(args)
    if not MTU_MIN <= args.mtu <= MTU_MAX:
        raise TestbedError(f"--mtu {args.mtu}: testpmd's rings hold packets of {MTU_MIN} to {MTU_MAX} bytes")
    results.demand(GOODPUT)
    contenders = {rings.name: _testpmd(testbed, args, rings) for rings in TESTPMD}
    contenders[MEMCPY] = _memcpy(testbed, args, pair_cpus()[1][0])
    contenders[SLUICE], end, group = sluice(testbed, args, args.rsize, args.mtu)

    def show(i: int, values: dict[str, float]) -> None:
        print(f"round {i}: " + ", ".join(f"{n} {rate_text(v)}" for n, v in values.items()), flush=True)

    values = paired.rounds(contenders, args, show)
    result = end()
    if result["config"]["memory_bytes"] < 1 << 30:
        raise TestbedError(f"sluice perf did not use 1 GiB: {result['config']}")
    results.figure("packets sent again", result["repeats"], "packets")
    results.disturbed([group])
    judge(results, {rings.name: values[rings.name] for rings in TESTPMD}, values[MEMCPY], values[SLUICE], args.bar,
          args.against)
