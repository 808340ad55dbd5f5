#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""exporter_test.py: sluice-exporter at a telemetry socket that says what a busy daemon would."""
import json
import os
import re
import runpy
import socket
import subprocess
import sys
import tempfile
import threading
import unittest
from types import SimpleNamespace
from typing import Any

sys.dont_write_bytecode = True
ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../.."))
EXPORTER = os.path.join(ROOT, "app", "exporter", "sluice-exporter")
PORTS, WORKERS, CONNS, CLIENTS, PEERS = 2, 8, 1000, 600, 257
ANSWER = 16384


def exporter_module() -> Any:
    """The program, used as a module: what it defines."""
    try:
        return SimpleNamespace(**runpy.run_path(EXPORTER))
    except SystemExit as why:
        raise unittest.SkipTest(f"{why}: scripts/setup installs it") from None


def counters() -> list[str]:
    """All counters of a host."""
    with open(os.path.join(ROOT, "lib", "host", "host_internal.h"), encoding="utf-8") as f:
        return re.findall(r"X\((\w+)\)", f.read().split("#define HOST_COUNTERS(X)")[1].split("enum")[0])


class FakeDaemon:
    """Answers as sluiced does: in pages, none longer than DPDK's answers."""

    def __init__(self, path: str, module: Any) -> None:
        self.module, self.asked = module, list[str]()
        # Control stalls: what it would have to look at is not answered, of lists from this number on.
        self.stalled_from: int | None = None
        self.listening = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.listening.bind(path)
        self.listening.listen()
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                visitor, _ = self.listening.accept()
            except OSError:
                return
            visitor.send(json.dumps({"version": "fake", "pid": 1, "max_output_len": ANSWER}).encode())
            while message := visitor.recv(1024).decode():
                self.asked.append(message)
                command, *words = message.split(",")
                answer = json.dumps({command: self._answer(command, words)}).encode()
                assert len(answer) <= ANSWER, message
                visitor.send(answer)
            visitor.close()

    @staticmethod
    def _object(metrics: list[Any], **more: Any) -> dict[str, Any]:
        return {**{m.field: 7 for m in metrics}, **more}

    def _answer(self, command: str, words: list[str]) -> Any:
        m = self.module
        from_number = {"/sluice/totals": 1, "/sluice/clients": 0}.get(command)
        if from_number is not None and self.stalled_from is not None:
            if int(words[from_number] if len(words) > from_number else 0) >= self.stalled_from:
                return None
        if command == "/sluice/conns":
            first = int(words[0].rsplit("/", 1)[1]) + 1 if words else 0
            return [f"p0/0/{i}" for i in range(first, min(CONNS, first + 512))]
        if command == "/sluice/clients":
            first = int(words[0]) if words else 0
            return list(range(first, min(CLIENTS, first + 512)))
        if command == "/sluice/totals":
            first = int(words[1])
            return {str(i): self._object(m.PEERS, peer="other" if i == 0 else f"10.0.{i // 256}.{i % 256}",
                                         rx_bytes=10**18 + i) for i in range(first, min(PEERS, first + 32))}
        if command == "/sluice/counters" and words:
            port, worker = words[0].split("/")
            return self._object(m.QUEUES, port=port, worker=int(worker), host={c: 3 for c in counters()})
        if command == "/sluice/spread":
            return {k: v for metric, _, unit in m.SPREADS
                    for k, v in ((metric.field, [1] * 48), (f"{metric.field}_sum{unit}", 48))}
        return {
            "/sluice/info": lambda: self._object(m.DAEMON, version="1.2", dpdk="DPDK 22.11"),
            "/sluice/ports": lambda: [f"p{i}" for i in range(PORTS)],
            "/sluice/port": lambda: self._object(m.PORTS, link="up"),
            "/sluice/capacity": lambda: self._object(m.CAPACITY),
            "/sluice/counters": lambda: [f"p{i % PORTS}/{i // PORTS}" for i in range(WORKERS)],
            "/sluice/workers": lambda: list(range(WORKERS)),
            "/sluice/worker": lambda: self._object(m.WORKERS),
            "/sluice/client": lambda: self._object(m.CLIENTS, pid=100 + int(words[0]), uid=0),
            "/sluice/conn": lambda: self._object(m.CONNS, port="p0", worker=0, conn=int(words[0].rsplit("/", 1)[1]),
                                                 peer=words[0], service=7, state="open"),
        }[command]()


class Exporter(unittest.TestCase):
    def setUp(self) -> None:
        self.module = exporter_module()
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.socket = os.path.join(self.folder.name, "telemetry")
        self.daemon = FakeDaemon(self.socket, self.module)
        self.addCleanup(self.daemon.listening.close)

    def once(self, *options: str) -> dict[str, float]:
        """{series: value} of one scrape."""
        done = subprocess.run([sys.executable, "-B", EXPORTER, "--once", "--socket", self.socket, *options],
                              capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.families = set(re.findall(r"^# TYPE (\S+)", done.stdout, re.MULTILINE))
        rows = [line.rsplit(" ", 1) for line in done.stdout.splitlines() if not line.startswith("#")]
        series = {name: float(value) for name, value in rows}
        self.assertEqual(len(series), len(rows), "a series comes twice")
        return series

    def test_few_series(self) -> None:
        series = self.once()
        self.assertLess(len(series), 5000)
        self.assertGreater(len(series), 1000)
        self.assertFalse([s for s in series if re.match(r"sluice_(conn|client)_", s)])
        self.assertFalse([f for f in self.families if re.match(r"sluice_(conn|client)_", f)])
        # What a scrape costs does not depend on connections, either.
        self.assertFalse([a for a in self.daemon.asked if re.match(r"/sluice/(conns?|spread|client)\b", a)])

    def test_nothing_is_cut(self) -> None:
        series = self.once()
        self.assertEqual(series["sluice_clients"], CLIENTS)
        for port in range(PORTS):
            peers = [s for s in series if s.startswith("sluice_peer_receive_bytes_total") and f'port="p{port}"' in s]
            self.assertEqual(len(peers), PEERS)
        self.assertEqual(series['sluice_peer_receive_bytes_total{peer="10.0.1.0",port="p1"}'], 10**18 + 256)
        self.assertEqual(series['sluice_host_receive_payload_bytes_total{port="p1",worker="3"}'], 3)
        dropped = {c[5:] for c in counters() if c.startswith("drop_")}
        for reason in dropped:
            self.assertEqual(series[f'sluice_host_dropped_frames_total{{port="p0",reason="{reason}",worker="0"}}'], 3)

    def test_stalled_control(self) -> None:
        """Without an answer there is no sample: neither 0 clients, nor some of them, nor some of the peers."""
        for first in (0, 20):
            self.daemon.stalled_from = first
            series = self.once()
            self.assertEqual(series["sluice_up"], 1)
            self.assertFalse([s for s in series if s.startswith(("sluice_clients", "sluice_peer_"))])
            self.assertGreater(len(series), 100)

    def test_build_info(self) -> None:
        self.assertEqual(self.once()['sluice_build_info{dpdk="DPDK 22.11",version="1.2"}'], 1)

    def test_per_connection(self) -> None:
        series = self.once("--per-connection")
        self.assertEqual(len([s for s in series if s.startswith("sluice_conn_receive_bytes_total")]), CONNS)
        self.assertEqual(len([s for s in series if s.startswith("sluice_client_services")]), CLIENTS)
        self.assertEqual(series['sluice_conns{port="p0",state="open",worker="0"}'], CONNS)
        some = self.once("--per-connection", "--conns", "10")
        self.assertEqual(len([s for s in some if s.startswith("sluice_conn_receive_bytes_total")]), 10)
        self.assertEqual(some['sluice_conns{port="p0",state="open",worker="0"}'], CONNS)
        self.assertLess(self.once().keys(), series.keys())

    def test_list(self) -> None:
        def names(*options: str) -> set[str]:
            done = subprocess.run([sys.executable, "-B", EXPORTER, "--list", *options], capture_output=True, text=True,
                                  timeout=60, check=True)
            return {line.split("\t")[0] for line in done.stdout.splitlines()}

        options: tuple[str, ...]
        for options in ((), ("--per-connection",)):
            exported = {re.sub(r"_(bucket|sum|count)$", "", s.split("{")[0]) if "conn_" in s else s.split("{")[0]
                        for s in self.once(*options)}
            self.assertEqual(names(*options), exported)


if __name__ == "__main__":
    unittest.main(verbosity=2)
