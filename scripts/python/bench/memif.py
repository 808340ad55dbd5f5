# SPDX-License-Identifier: BSD-3-Clause
"""Goodput of `sluice perf` over memif, one connection, 9000 bytes MTU, 1 GiB of memory on each side.

The reference is the lower of two things that the same cores can do at most: testpmd (txonly ->
rxonly on the same vdevs; frames, headers included, whose payload nobody touches), with the better
of two kinds of rings, and glibc's memcpy on one core (1 GiB to 1 GiB, both cold, in pieces of a
unit). Which one is the lower is told by their best windows (paired.lower()); where that cannot be
told, both must give the same verdict. A testpmd that a transfer outruns does not count.
"""
import json
import os
import signal
import subprocess

from . import paired
from .micro import program
from testbed.daemon import Build
from testbed.pair import ADDR_B, memif_pair, pair_cpus
from testbed.process import TestbedError, until
from testbed.table import rate_text
from testbed.telemetry import Telemetry

BAR = 0.6
FRAME_BYTES = 9014  # an IP packet of 9000 bytes with its Ethernet header
UNIT_BYTES = 8896
# (rsize, bsize, receiver's mbuf): one buffer a frame, and chains of small ones.
TESTPMD = ((8, 9216, 9472), (11, 2048, 2176))
TESTPMD_MB = 192
MEMCPY, SLUICE, GOODPUT = "memcpy", "sluice", "goodput"
# After it stood still, a connection is granted its full rate again within this time.
SLUICE_SETTLE_S = 0.3


def options(parser):
    paired.options(parser)
    parser.add_argument("--rsize", type=int, default=8)
    parser.add_argument("--no-zero-copy", action="store_true",
                        help="the receiving end of the memif copies as well")
    parser.add_argument("--idle", default="poll", help="of the daemons")
    parser.add_argument("--bar", type=float, default=BAR)


def _testpmd_args(prefix, role, socket, rsize, bsize, mbuf, mode, cpu, control, huge):
    memory = ["--in-memory"] if huge else ["--no-huge", "--no-shconf"]
    vdev = (f"net_memif0,role={role},id=0,socket-abstract=no,socket={socket},rsize={rsize},"
            f"bsize={bsize}")
    return ["dpdk-testpmd", "--lcores", f"0@{control},1@{cpu}", *memory, "-m", str(TESTPMD_MB),
            "--no-pci", "--file-prefix", prefix, "--vdev", vdev, "--", f"--forward-mode={mode}",
            f"--mbuf-size={mbuf}", "--total-num-mbufs=8192", f"--txpkts={FRAME_BYTES}",
            "--stats-period=3600", "--auto-start", "--no-mlockall"]


def _eal_folder():
    return os.path.join("/var/run" if os.geteuid() == 0 else os.environ.get("XDG_RUNTIME_DIR", "/tmp"),
                        "dpdk")


def _testpmd(testbed, args, config):
    """f(seconds): bits/s of Ethernet frames that arrive."""
    rsize, bsize, rx_mbuf = config
    (wa, ca), (wb, cb) = pair_cpus()
    socket = testbed.path(f"pmd-{rsize}.sock")
    prefix = f"sluice-{os.getpid()}-pmd-{rsize}"
    processes = []
    for mode, role, mbuf, worker, control in (("txonly", "server", 9472, wa, ca),
                                              ("rxonly", "client", rx_mbuf, wb, cb)):
        testbed.undo_folder(os.path.join(_eal_folder(), f"{prefix}-{mode}"))
        processes.append(testbed.start(f"testpmd-{mode}", _testpmd_args(
            f"{prefix}-{mode}", role, socket, rsize, bsize, mbuf, mode, worker, control, args.huge)))
        until(lambda: os.path.exists(socket), 30, "testpmd makes its memif")
    path = os.path.join(_eal_folder(), f"{prefix}-rxonly", "dpdk_telemetry.v2")
    until(lambda: os.path.exists(path), 30, "testpmd makes its telemetry socket")
    telemetry = Telemetry(path)

    def received():
        return telemetry.ask("/ethdev/stats,0")["ibytes"]

    def moving():
        for process in processes:
            if not process.running():
                raise TestbedError(f"testpmd ended\n{process.tail()}")
        return received() > 0

    until(moving, 60, "testpmd moves packets", 0.1)
    group = paired.Group(testbed, processes)

    def window(seconds):
        with group:
            return 8 * paired.growth(received, seconds)
    return window


def _memcpy(testbed, args, cpu):
    process = testbed.start("memcpy", [program(args, "memcpy_bench"), UNIT_BYTES], cpus=[cpu],
                        stdin=subprocess.PIPE)
    asked = paired.Asked(process)
    asked.next_answer()

    def window(seconds):
        row = json.loads(asked.ask(f"{seconds:g}"))
        return 8 * row["bytes"] / row["seconds"]
    return window


def _sluice(testbed, args):
    """(f(seconds): bits/s of payload that arrive, what the transfer says of itself, its group)"""
    extra = "" if args.no_zero_copy or not args.huge else ",zero-copy=yes"
    eal = ("--single-file-segments",) if extra else ()
    a, b = memif_pair(testbed, Build(args.build, args.huge), rsize=args.rsize, b_extra=extra, b_eal=eal,
                      daemon_keys={"idle": args.idle}, memory_mb=256, telemetry=True,
                      keys={"silence": "60s"})
    server = b.sluice("server", "perf", "server", "-1", "--json", "--memory", "1G")
    b.wait_listening()
    client = a.sluice("client", "perf", "client", "--json", "-i", "0", "-t", "3600", "--memory", "1G",
                      ADDR_B)
    telemetry = Telemetry(b.telemetry_socket)

    def conn():
        for name in telemetry.ask("/sluice/conns"):
            found = telemetry.ask(f"/sluice/conn,{name}")
            if found and found["state"] == "open":
                return found
        return None

    def received():
        found = conn()
        if found is None:
            raise TestbedError(f"the connection is gone\n{client.tail()}\n{server.tail()}")
        return found["rx_bytes"]

    until(lambda: (conn() or {"rx_bytes": 0})["rx_bytes"] > 1 << 30, 60, "sluice perf moves 1 GiB", 0.1)
    group = paired.Group(testbed, [a.process, b.process, server, client], SLUICE_SETTLE_S,
                         [a.process, b.process])

    def window(seconds):
        with group:
            return 8 * paired.growth(received, seconds)

    def end():
        group.release()
        client.signal(signal.SIGINT)
        for process in (client, server):
            process.wait(30)  # not with status 0: it was interrupted
        try:
            result = json.loads(client.out())
        except ValueError:
            raise TestbedError(f"perf tells nothing of its transfer\n{client.tail()}") from None
        for daemon in (a, b):
            daemon.stop()
        return result
    return window, end, group


def judge(results, testpmd, copies, goodputs, bar):
    """testpmd: {name: values}; all from the same rounds."""
    for name, values in testpmd.items():
        results.windows(name, values, "Gb/s", scale=1e-9)
    results.windows("glibc memcpy, one core, cold", copies, "Gb/s", scale=1e-9)
    best = max(testpmd, key=lambda name: paired.best(testpmd[name]))
    candidates = {best: testpmd[best], MEMCPY: copies}
    # testpmd does a part of what a transfer does. Where it does less in the same time, it was kept
    # from its work, and is no limit of anything.
    if paired.best(goodputs) > paired.best(testpmd[best]):
        del candidates[best]
    references = {name: candidates[name] for name in paired.lower(candidates, results.seed)}
    results.windows_each(GOODPUT, goodputs, "Gb/s", references, bar, scale=1e-9)


def run(testbed, args, results):
    paired.check_options(args)
    results.demand(GOODPUT)
    names = {config: f"testpmd rsize {config[0]} bsize {config[1]}" for config in TESTPMD}
    contenders = {names[config]: _testpmd(testbed, args, config) for config in TESTPMD}
    contenders[MEMCPY] = _memcpy(testbed, args, pair_cpus()[1][0])
    contenders[SLUICE], end, group = _sluice(testbed, args)

    def show(i, values):
        print(f"round {i}: " + ", ".join(f"{n} {rate_text(v)}" for n, v in values.items()), flush=True)

    values = paired.rounds(contenders, args, show)
    result = end()
    if result["config"]["memory_bytes"] < 1 << 30:
        raise TestbedError(f"perf did not use 1 GiB: {result['config']}")
    results.figure("packets sent again", result["repeats"], "packets")
    results.disturbed([group])
    judge(results, {n: values[n] for n in names.values()}, values[MEMCPY], values[SLUICE], args.bar)
