# SPDX-License-Identifier: BSD-3-Clause
"""A client or a daemon ends in mid-transfer: the other side learns of it in time, and the rest goes on."""
import json
import os
import re
import shutil
import signal
import tempfile
import time
from collections.abc import Iterable
from typing import Any

from .harness import Context, TestbedError, data_flow, scene, transfer_works
from testbed.daemon import MEMIF_MTU_MAX, Daemon
from testbed.pair import ADDR_A, ADDR_B, memif_pair
from testbed.process import Process, Testbed, until

SILENCE_S = 1.0
# The configured silence, and time for the check, for the answer to the client and for a busy machine.
NOTICE_S = SILENCE_S + 3.0
FILE_BYTES = 96 << 20
CHUNK_BYTES = 1 << 20  # of what an interrupted transfer has left


def _running(testbed: Testbed, context: Context) -> tuple[list[Daemon], list[dict[str, int]], Process, Process]:
    """A sends to B's receiver without end; ([a, b], their holdings before, sender, receiver) once data flow."""
    a, b = memif_pair(testbed, context.build, keys={"silence": f"{SILENCE_S:g}s"})
    transfer_works(a, b, ADDR_B)
    before = [a.holdings(), b.holdings()]
    receiver = b.sluice("receiver", "perf", "server", "-1")
    b.wait_listening()
    sender = a.sluice("sender", "perf", "client", "-t", "600", "-i", "0", ADDR_B)
    data_flow(a)
    return [a, b], before, sender, receiver


def _error_in_time(process: Process, since: float, *statuses: int) -> None:
    status = process.wait(NOTICE_S + 10)
    took = time.monotonic() - since
    if status not in statuses:
        raise TestbedError(f"status {status} instead of {statuses}\n{process.tail()}")
    if took > NOTICE_S:
        raise TestbedError(f"it ended after {took:.1f} s, at most {NOTICE_S:g} s are allowed\n{process.tail()}")
    lines = [x for x in process.err().splitlines() if x.startswith("sluice")]
    if not lines or not re.search(r"[:;] \w", lines[-1].split(":", 1)[1]):
        raise TestbedError(f"the last line names no cause and cure\n{process.tail()}")


def _survive(daemons: Iterable[Daemon], before: Iterable[dict[str, int]]) -> None:
    a, b = daemons
    for daemon, was in zip(daemons, before):
        daemon.check_holdings(was)
    transfer_works(a, b, ADDR_B)
    a.stop()
    b.stop()


@scene("kill -9 of the sending client")
def kill_sender(testbed: Testbed, context: Context) -> None:
    daemons, before, sender, receiver = _running(testbed, context)
    since = time.monotonic()
    sender.signal(signal.SIGKILL)
    _error_in_time(receiver, since, 1)
    _survive(daemons, before)


@scene("kill -9 of the receiving client")
def kill_receiver(testbed: Testbed, context: Context) -> None:
    daemons, before, sender, receiver = _running(testbed, context)
    since = time.monotonic()
    receiver.signal(signal.SIGKILL)
    _error_in_time(sender, since, 1)
    _survive(daemons, before)


def _kill_daemon(testbed: Testbed, context: Context, index: int) -> None:
    daemons, before, sender, receiver = _running(testbed, context)
    victim, survivor = daemons[index], daemons[1 - index]
    near, far = (sender, receiver) if index == 0 else (receiver, sender)
    since = time.monotonic()
    victim.kill()
    _error_in_time(near, since, 3)
    _error_in_time(far, since, 1)
    survivor.check_holdings(before[1 - index])
    victim.start()
    for daemon in daemons:
        daemon.wait_link()
    transfer_works(daemons[0], daemons[1], ADDR_B)
    transfer_works(daemons[1], daemons[0], ADDR_A)
    survivor.check_holdings(before[1 - index])
    for daemon in daemons:
        daemon.stop()


@scene("kill -9 of the sending daemon")
def kill_sending_daemon(testbed: Testbed, context: Context) -> None:
    _kill_daemon(testbed, context, 0)


@scene("kill -9 of the receiving daemon")
def kill_receiving_daemon(testbed: Testbed, context: Context) -> None:
    _kill_daemon(testbed, context, 1)


def _part_bytes(folder: str) -> int:
    return sum(e.stat().st_size for e in os.scandir(folder) if ".part-" in e.name)


@scene("kill -9 of a daemon in a transfer of a file: sluice send --resume sends the rest")
def resume_after_daemon(testbed: Testbed, context: Context) -> None:
    a, b = daemons = memif_pair(testbed, context.build, keys={"silence": f"{SILENCE_S:g}s"})
    # Files in the testbed's own folder become the daemon's when one is started by its unit.
    source, target = testbed.path("file"), tempfile.mkdtemp(prefix="sluice-in.")
    testbed.undo(shutil.rmtree, target, ignore_errors=True)
    data = os.urandom(FILE_BYTES)
    with open(source, "wb") as f:
        f.write(data)
    for victim in daemons:
        receiver = b.sluice("receiver", "recv", "--once", "-o", target)
        b.wait_listening(7000)
        sender = a.sluice("sender", "send", "--buffers", "1", source, ADDR_B)
        until(lambda: _part_bytes(target) > FILE_BYTES // 8, 30, "a part", 0.0005, process=sender)
        victim.kill()
        for end in (sender, receiver):
            if end.wait(NOTICE_S + 10) == 0:
                raise TestbedError(f"it succeeds without a daemon\n{end.tail()}")
        part = _part_bytes(target)
        victim.start()
        for daemon in daemons:
            daemon.wait_link()
        receiver = b.sluice("receiver", "recv", "--once", "-o", target)
        b.wait_listening(7000)
        sender = a.sluice("sender", "send", "--resume", "--json", source, ADDR_B)
        sender.check(60)
        receiver.check(30)
        kept = json.loads(sender.out())["kept_bytes"]
        if kept != part - part % CHUNK_BYTES or kept == 0:
            raise TestbedError(f"{kept} of {part} bytes in the part are kept")
        with open(os.path.join(target, "file"), "rb") as f:
            if f.read() != data or os.listdir(target) != ["file"]:
                raise TestbedError(f"the file is wrong, or not alone: {os.listdir(target)}")
        os.remove(os.path.join(target, "file"))
    for daemon in daemons:
        daemon.stop()


@scene("the sending daemon is stopped in mid-transfer")
def stop_sending_daemon(testbed: Testbed, context: Context) -> None:
    daemons, before, sender, receiver = _running(testbed, context)
    since = time.monotonic()
    daemons[0].stop()
    _error_in_time(sender, since, 1, 3)
    _error_in_time(receiver, since, 1)
    daemons[1].check_holdings(before[1])
    daemons[1].stop()


@scene("the receiving daemon is stopped in mid-transfer")
def stop_receiving_daemon(testbed: Testbed, context: Context) -> None:
    daemons, before, sender, receiver = _running(testbed, context)
    since = time.monotonic()
    daemons[1].stop()
    _error_in_time(receiver, since, 1, 3)
    _error_in_time(sender, since, 1)
    daemons[0].check_holdings(before[0])
    daemons[0].stop()


@scene("a client stands still: the others go on")
def stopped_client(testbed: Testbed, context: Context) -> None:
    daemons, before, sender, receiver = _running(testbed, context)
    a, b = daemons
    receiver.signal(signal.SIGSTOP)
    b_after = b.sluice("other-server", "perf", "server", "-1", "-p", "7001")
    b.wait_listening(7001)
    other = a.sluice("other", "perf", "client", "--check", "-n", "8M", ADDR_B + ":7001")
    other.check(60)
    b_after.check(30)
    receiver.signal(signal.SIGCONT)
    sender.signal(signal.SIGINT)
    sender.wait(20)
    receiver.wait(20)
    _survive(daemons, before)


@scene("a sender gives up: the peer's receives end with the reason, not as after an orderly end", company=True)
def give_up(testbed: Testbed, context: Context) -> None:
    a, b = memif_pair(testbed, context.build)
    program = context.tool("giveup")
    for how, status in (("close", "ECONNRESET"), ("exit", "ECONNRESET"), ("shutdown", "ENODATA")):
        receiver = testbed.start(f"receive-{how}", [program, "receive", b.socket])
        b.wait_listening(process=receiver)
        testbed.start(f"send-{how}", [program, "send", a.socket, ADDR_B, how]).check(40)
        receiver.check(40)
        got = receiver.out().split("\n")[:-1]
        if got != ["receive 0 ok", *(f"receive {i} {status}" for i in (1, 2, 3))]:
            raise TestbedError(f"after {how} the receiver says {got}")
    a.stop()
    b.stop()


def _narrow(testbed: Testbed, context: Context, mtu: int, limit: int, units: tuple[int, ...]) -> None:
    """A's wire drops frames longer than `limit`, so units become smaller, and `show` says so."""
    wire = f"match length {limit + 1}-65535 ( loss 100% )"
    a, b = memif_pair(testbed, context.build, mtu=mtu, keys={"checksum": "software"},
                      a_keys={"wire": wire, "wire_packets": 1024}, memory_mb=512 if mtu <= 9000 else 1024)
    receiver = b.sluice("server", "perf", "server", "-1", "--json")
    b.wait_listening(process=receiver)
    sender = a.sluice("client", "perf", "client", "--json", "--check", "-i", "0", "-t", "4", ADDR_B)

    def cut() -> list[dict[str, Any]]:
        return [c for c in a.show("conns") if c["unit_bytes"] == units[-1]]

    until(cut, 20, f"units of {units[-1]} bytes")
    for conn in cut():
        if conn["dropped_unit_bytes"] != units[-2]:
            raise TestbedError(f"dropped_unit_bytes is {conn['dropped_unit_bytes']}, not {units[-2]}")
    if not any(f"dropped_unit_bytes={units[0]} unit_bytes={units[1]}" in x["text"] for x in a.show("trace")):
        raise TestbedError("the trace does not say that units became smaller")
    result = json.loads(sender.check(90))
    receiver.check(30)
    if result["wrong_bytes"] != 0 or result["bytes"] < 1 << 20:
        raise TestbedError(f"{result['bytes']} bytes, {result['wrong_bytes']} of them wrong")
    a.stop()
    b.stop()


@scene("the path carries frames of 1400 bytes, `mtu` is 1500: units are halved, and show says so")
def narrow_path(testbed: Testbed, context: Context) -> None:
    _narrow(testbed, context, 1500, 1400, (1408, 704))


@scene("the path carries frames of 4000 bytes, `mtu` is 9000: units are halved twice")
def narrow_jumbo(testbed: Testbed, context: Context) -> None:
    _narrow(testbed, context, 9000, 4000, (8896, 4448, 2224))


@scene("the path carries frames of 9014 bytes, `mtu` is 65385: units become 16 kB, then 8 kB", memory_gb=3)
def narrow_memory(testbed: Testbed, context: Context) -> None:
    _narrow(testbed, context, MEMIF_MTU_MAX, 9014, (65280, 16320, 8160))
