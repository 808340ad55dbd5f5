# SPDX-License-Identifier: BSD-3-Clause
"""DPDK's telemetry socket: it tells the same as `sluice show`, and harms neither daemon nor clients."""
import os
import signal
import subprocess
import threading
import time
from typing import Any

from .harness import Context, TestbedError, data_flow, perf, scene
from testbed.daemon import Daemon
from testbed.pair import ADDR_B, memif_pair
from testbed.process import Testbed, until
from testbed.telemetry import Telemetry
from .thread import control_thread, stopped


def between(what: str, before: dict[str, Any], told: dict[str, Any], after: dict[str, Any]) -> None:
    """Checks that each figure equals the one shown before or after, or lies between them."""
    for key, value in told.items():
        if isinstance(value, dict):
            between(f"{what}.{key}", before[key], value, after[key])
            continue
        first, last = int(before[key]) if isinstance(before[key], bool) else before[key], after[key]
        fair = value in (first, last) if isinstance(value, str) else first <= value <= last
        if not fair and not (isinstance(value, int) and last <= value <= first):
            raise TestbedError(f"{what}: {key} is {value}; shown {first} before, {last} after")
    missing = {k for k, v in before.items() if not isinstance(v, list)} - set(told)
    if missing:
        raise TestbedError(f"{what}: {missing} are shown, but not told")


def _steady(rows: dict[str, Any]) -> dict[str, Any]:
    """Without the figures that may both rise and fall within a moment."""
    moving = {"mbufs_in_use", "rx_momentary_Bps", "rtt_ns", "backlog_bytes", "rx_rate_Bps",
              "rx_burst_bytes", "tx_rate_Bps", "tx_burst_bytes", "tx_reason", "tx_why", "rx_reason", "rx_why",
              "tx_app_limited_ns", "tx_peer_limited_ns", "tx_rate_limited_ns",
              "granted_Bps", "shared_Bps", "measured_Bps", "measured_why", "open_conns",
              "received_bytes"}
    return {k: v for k, v in rows.items() if k not in moving}


def _compare(daemon: Daemon, telemetry: Telemetry) -> dict[str, Any]:
    """Compares every object of this daemon with the one shown; returns the answers by command."""
    shown: dict[str, list[dict[str, Any]]] = {}

    def show() -> None:
        for port in daemon.show("ports"):
            shown.setdefault(f"/sluice/port,{port['name']}", []).append(port)
            for queue in port["workers"]:
                name = f"/sluice/counters,{queue['port']}/{queue['worker']}"
                shown.setdefault(name, []).append(queue)
        for worker in daemon.show("workers"):
            shown.setdefault(f"/sluice/worker,{worker['lcore']}", []).append(worker)
        for port in daemon.show("capacity"):
            shown.setdefault(f"/sluice/capacity,{port['port']}", []).append(port)
        for conn in daemon.show("conns"):
            name = f"/sluice/conn,{conn['port']}/{conn['worker']}/{conn['conn']}"
            shown.setdefault(name, []).append(conn)

    show()
    told = {command: telemetry.ask(command) for command in shown}
    show()
    for command, answer in told.items():
        if len(shown[command]) == 2 and answer is not None:
            between(command, _steady(shown[command][0]), _steady(answer), _steady(shown[command][1]))
    lost = [c for c, answer in told.items() if answer is None and not c.startswith("/sluice/conn,")]
    if lost:
        raise TestbedError(f"no answer to {lost}")
    return told


@scene("telemetry tells what show tells")
def telemetry_tells(testbed: Testbed, context: Context) -> None:
    a, b = memif_pair(testbed, context.build, telemetry=True)
    with Telemetry(a.telemetry_socket) as at_a, Telemetry(b.telemetry_socket) as at_b:
        receiver = b.sluice("receiver", "perf", "server", "-1")
        b.wait_listening()
        sender = a.sluice("sender", "perf", "client", "-t", "600", "-i", "0", "-P", "2", ADDR_B)
        data_flow(b, "rx_bytes")
        for _ in range(5):
            told = _compare(b, at_b)
            _compare(a, at_a)
        conns = at_b.ask("/sluice/conns")
        if not {c.split(",")[1] for c in told if c.startswith("/sluice/conn,")} & set(conns):
            raise TestbedError(f"none of the connections shown is among {conns}")
        if at_b.ask(f"/sluice/conns,{conns[1]}") != conns[2:]:
            raise TestbedError("the list does not go on after the connection that is named")
        client = at_b.ask(f"/sluice/client,{at_b.ask('/sluice/clients')[0]}")
        if client["pid"] != receiver.pid or client["region_bytes"] == 0 or client["services"] != 1:
            raise TestbedError(f"client {receiver.pid} is told as {client}")
        sender.signal(signal.SIGINT)
        sender.wait(20)
        receiver.wait(20)
        history = at_b.ask("/sluice/history,net_memif0")
        newest = b.show("history")[-1]["number"]
        if not 0 <= newest - max(int(n) for n in history) <= 1000 or len(history) != 32:
            raise TestbedError(f"{len(history)} decisions, {list(history)}; the newest is {newest}")
        first = b.show("history")[0]
        again = at_b.ask(f"/sluice/history,net_memif0,{first['number']}")[str(first["number"])]
        if {**again, "ago_ns": 0} != {**first, "ago_ns": 0}:
            raise TestbedError(f"decision {first} is told as {again}")
    tool = subprocess.run(["dpdk-telemetry.py", "-f", os.path.basename(os.path.dirname(
        b.telemetry_socket))], input="/sluice/ports\nquit\n", capture_output=True, text=True,
        timeout=30, check=False, env={**os.environ, "RUNTIME_DIRECTORY": b.runtime_dir})
    if "net_memif0" not in tool.stdout:
        raise TestbedError(f"dpdk-telemetry.py: {tool.stdout}{tool.stderr}")
    a.stop()
    b.stop()


WRONG = ["", ",", ",x", ",net_memif0/0/", ",net_memif0/99", ",net_memif0/0/-1", ",net_memif0/0/256",
         ",net_memif0/0/99999999999999999999999", ",net_memif0,", ",net_memif0,x", ",-1", ",1e3",
         ",/", "," + "x" * 900, ",net_memif0/0/0/0", ",4294967296", ",%s%n"]


@scene("telemetry: wrong words, control that stands still, a daemon that stops")
def telemetry_while_stalled(testbed: Testbed, context: Context) -> None:
    build = context.asan or context.build
    a, b = memif_pair(testbed, build, telemetry=True)
    failed: list[ValueError] = []
    with Telemetry(b.telemetry_socket) as telemetry:
        commands = [c for c in telemetry.ask("/") if c.startswith("/sluice/")]
        if len(commands) != 14:
            raise TestbedError(f"commands are {commands}")
        for command in commands:
            for words in WRONG:
                telemetry.ask(command + words)
        with stopped(control_thread(b.pid())):
            if telemetry.ask("/sluice/capacity,net_memif0") is not None:
                raise TestbedError("the capacity is told while control stands still")
            if telemetry.ask("/sluice/counters,net_memif0/0") is None:
                raise TestbedError("the counters are not told while control stands still")
        until(lambda: telemetry.ask("/sluice/capacity,net_memif0"), 10, "an answer of control")

    def hammer() -> None:
        try:
            with Telemetry(b.telemetry_socket) as telemetry:
                while True:
                    for command in ("/sluice/conns", "/sluice/clients", "/sluice/port,net_memif0",
                                    "/sluice/history,net_memif0", "/sluice/capacity,net_memif0", "/sluice/totals,net_memif0"):
                        telemetry.ask(command)
        except OSError:
            pass  # the daemon has gone
        except ValueError as problem:
            failed.append(problem)

    threads = [threading.Thread(target=hammer) for _ in range(3)]
    for thread in threads:
        thread.start()
    perf(b, a, ADDR_B, "-n", "8M", "-P", "2", "--bidir", "--memory", "1M", name="hammered")
    time.sleep(0.2)
    b.stop()
    for thread in threads:
        thread.join(30)
    a.stop()
    if failed:
        raise TestbedError(f"an answer is no JSON: {failed[0]}")
    if any(t.is_alive() for t in threads):
        raise TestbedError("a client of telemetry hangs after the daemon has gone")
