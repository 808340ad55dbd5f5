# SPDX-License-Identifier: BSD-3-Clause
"""A real Prometheus scrapes sluice-exporter; Grafana's board names only metrics that exist."""
import json
import os
import re
import runpy
import shutil
import signal
import socket
import time
import urllib.parse
import urllib.request
from collections.abc import Iterable, Iterator, Sequence
from types import SimpleNamespace
from typing import Any

from . import ROOT
from .harness import Context, Skip, TestbedError, data_flow, perf, scene, transfer_works
from testbed.daemon import Daemon
from testbed.pair import ADDR_B, memif_pair
from testbed.process import Testbed, until
from testbed.service import start

EXPORTER = os.path.join(ROOT, "app", "exporter", "sluice-exporter")
BOARD = os.path.join(ROOT, "config", "grafana", "sluice.json")
CONFIG = """\
global:
  scrape_interval: 1s
  scrape_timeout: 1s
scrape_configs:
  - job_name: sluice
    static_configs:
      - targets: ["127.0.0.1:{port}"]
"""

Sample = tuple[str, tuple[tuple[str, str], ...]]  # name, (label, value), ...
Shown = dict[Sample, tuple[float, str]]  # value, kind


def _exporter() -> Any:
    """The program, used as a module: what it defines."""
    try:
        return SimpleNamespace(**runpy.run_path(EXPORTER))
    except SystemExit as why:
        raise Skip(f"{why}: scripts/setup installs it") from None


def _free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Prometheus:
    """A server of its own, for one target."""

    def __init__(self, testbed: Testbed, target_port: int) -> None:
        if shutil.which("prometheus") is None:
            raise Skip("prometheus is missing; scripts/setup installs it")
        self.url = f"http://127.0.0.1:{_free_port()}"
        config = testbed.path("prometheus.yml")
        with open(config, "w", encoding="ascii") as f:
            f.write(CONFIG.format(port=target_port))
        self.process = testbed.start("prometheus", [
            "prometheus", f"--config.file={config}", f"--storage.tsdb.path={testbed.path('tsdb')}",
            f"--web.listen-address={self.url[7:]}"])

    def samples(self) -> dict[Sample, tuple[float, float]]:
        """{(name, labels without job and instance): (time, value)}, the newest of each."""
        query = urllib.parse.urlencode({"query": '{__name__=~"sluice_.*"}[30s]'})
        try:
            with urllib.request.urlopen(f"{self.url}/api/v1/query?{query}", timeout=20) as answer:
                rows = json.load(answer)["data"]["result"]
        except OSError:
            if not self.process.running():
                raise TestbedError(f"prometheus ended\n{self.process.tail()}") from None
            return {}
        found: dict[Sample, tuple[float, float]] = {}
        for row in rows:
            labels = {k: v for k, v in row["metric"].items() if k not in ("__name__", "job", "instance")}
            when, value = row["values"][-1]
            found[row["metric"]["__name__"], tuple(sorted(labels.items()))] = (when, float(value))
        return found

    def scraped_after(self, begin: float) -> dict[Sample, float]:
        """The samples of the newest scrape, which began after `begin`."""
        def look() -> dict[Sample, float] | None:
            samples = self.samples()
            when, _ = samples.get(("sluice_up", ()), (0, 0))
            # The first answer may end with a scrape that is stored in part; the second one has it whole.
            again = self.samples()
            whole = when > begin and again.get(("sluice_up", ()), (0, 0))[0] == when
            return {k: v for k, (t, v) in again.items() if t == when} if whole else None

        return until(look, 60, "a scrape", 0.1)


def _shown(daemon: Daemon, module: Any) -> Shown:
    """All that the daemon itself shows, by the exporter's tables."""
    found: Shown = {}

    def put(metrics: Iterable[Any], labels: Sequence[Any], row: dict[str, Any]) -> None:
        for m in metrics:
            name = m.name + ("_total" if m.kind == "counter" else "")
            key = tuple(sorted(zip(m.labels, map(str, labels))))
            found[name, key] = (row[m.field] * m.scale, m.kind)

    for port in daemon.show("ports"):
        put(module.PORTS, [port["name"]], port)
        for queue in port["workers"]:
            labels = [queue["port"], queue["worker"]]
            put(module.QUEUES, labels, queue)
            put(module.HOSTS, labels, queue["host"])
            for name in queue["host"]:
                if name.startswith("drop_"):
                    key = tuple(sorted({**dict(zip(module.QUEUE, map(str, labels))),
                                        "reason": name[5:]}.items()))
                    found["sluice_host_dropped_frames_total", key] = (queue["host"][name], "counter")
    for worker in daemon.show("workers"):
        put(module.WORKERS, [worker["lcore"]], worker)
    for port in daemon.show("capacity"):
        put(module.CAPACITY, [port["port"]], port)
    for conn in daemon.show("conns"):
        if conn["state"] == "open":
            put(module.CONNS, [conn[k] for k in module.CONN], conn)
    return found


def _compare(prometheus: Prometheus, daemon: Daemon, module: Any,
             count_min: int) -> tuple[Shown, dict[Sample, float], Shown]:
    """Checks that each counter of a scrape, of at least count_min, lies between those that the daemon shows
    before and after it; returns all three."""
    begin = time.time()
    before = _shown(daemon, module)
    scraped = prometheus.scraped_after(begin)
    after = _shown(daemon, module)
    looked = 0
    for key, (first, kind) in before.items():
        if kind != "counter" or key not in after:
            continue
        if key not in scraped:
            raise TestbedError(f"the scrape lacks {key}; it has {len(scraped)} samples")
        looked += 1
        slack = 1e-9 * abs(first)  # for numbers that were text
        if not first - slack <= scraped[key] <= after[key][0] + slack:
            raise TestbedError(f"{key}: {first} before, {scraped[key]} scraped, {after[key][0]} after")
    if looked < count_min:
        raise TestbedError(f"only {looked} counters were compared")
    return before, scraped, after


@scene("Prometheus scrapes during a transfer: counters are the daemon's")
def prometheus_scrapes(testbed: Testbed, context: Context) -> None:
    module = _exporter()
    a, b = memif_pair(testbed, context.build, telemetry=True)
    port = _free_port()
    exporter = start(testbed, "sluice-exporter" if context.build.units else None, "exporter",
                     [EXPORTER, "--listen", f"127.0.0.1:{port}", "--socket", b.telemetry_socket, "--per-connection"])
    prometheus = Prometheus(testbed, port)
    receiver = b.sluice("receiver", "perf", "server", "-1")
    b.wait_listening()
    sender = a.sluice("sender", "perf", "client", "-t", "600", "-i", "0", "-P", "2", ADDR_B)
    data_flow(b, "rx_bytes")
    _, moved, _ = _compare(prometheus, b, module, 90)
    came = [v for (name, _), v in moved.items() if name == "sluice_conn_receive_bytes_total"]
    if not any(v > 0 for v in came):
        raise TestbedError(f"no connection received anything in this scrape: {came}")
    sender.signal(signal.SIGINT)
    sender.wait(20)
    receiver.wait(20)
    until(lambda: all(c["state"] != "open" for c in b.show("conns")), 30, "all connections end")
    before, scraped, after = _compare(prometheus, b, module, 60)
    key = ("sluice_host_receive_data_total", (("port", "net_memif0"), ("worker", "0")))
    if not before[key][0] == scraped[key] == after[key][0] > 0:
        raise TestbedError(f"DATA at rest: {before[key]}, {scraped[key]} scraped, {after[key]}")
    b.stop()
    begin = time.time()
    gone = prometheus.scraped_after(begin)
    if gone["sluice_up", ()] != 0 or len(gone) != 1:
        raise TestbedError(f"without a daemon, Prometheus must know sluice_up only: {gone}")
    if "no answer" not in exporter.err():
        raise TestbedError(f"the exporter does not say that the daemon is gone\n{exporter.tail()}")
    b.start()
    b.wait_link()
    transfer_works(a, b, ADDR_B)
    a.stop()
    b.stop()


def _once(testbed: Testbed, daemon: Daemon) -> dict[str, float]:
    """{series: value} of one scrape."""
    text = testbed.run("once", [EXPORTER, "--once", "--socket", daemon.telemetry_socket])
    rows = [line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#")]
    return {name: float(value) for name, value in rows}


@scene("transfers between two scrapes are counted to the byte, per port and per peer")
def short_transfers(testbed: Testbed, context: Context) -> None:
    _exporter()
    a, b = memif_pair(testbed, context.build, telemetry=True)
    host, peer = 'port="net_memif0",worker="0"', 'peer="10.90.0.{}",port="net_memif0"'

    def counted() -> list[list[float]]:
        """[receiver's, sender's] payload bytes, each per port and per peer."""
        at_a, at_b = _once(testbed, a), _once(testbed, b)
        found = [[at_b.get(f"sluice_host_receive_payload_bytes_total{{{host}}}", 0),
                  at_b.get(f"sluice_peer_receive_bytes_total{{{peer.format(1)}}}", 0)],
                 [at_a.get(f"sluice_host_transmit_acked_bytes_total{{{host}}}", 0),
                  at_a.get(f"sluice_peer_transmit_acked_bytes_total{{{peer.format(2)}}}", 0)]]
        if len({x for pair in found for x in pair}) != 1:
            raise TestbedError(f"four counters of the same bytes are {found}")
        return found

    moved = perf(b, a, ADDR_B, "-t", "1", "--memory", "1M", name="first")["bytes"]
    first = counted()[0][0]
    own = first - moved  # bytes of perf's own messages, in each run
    if not 0 < own < 4096:
        raise TestbedError(f"{moved} bytes were moved, {first} counted")
    moved = sum(perf(b, a, ADDR_B, "-t", "1", "--memory", "1M", name=f"short{i}")["bytes"] for i in range(10))
    more = counted()[0][0] - first
    if more != moved + 10 * own:
        raise TestbedError(f"{moved} bytes and 10 times {own:.0f} were moved, {more:.0f} counted")
    for daemon, number in ((a, 2), (b, 1)):
        series = _once(testbed, daemon)
        conns = [series[f"sluice_peer_{what}{{{peer.format(number)}}}"]
                 for what in ("connections_total", "connections_failed_total", "open_connections")]
        if conns != [11, 0, 0]:
            raise TestbedError(f"connections that began, failed, are open: {conns}")
    a.stop()
    b.stop()


def _board_queries(node: Any) -> Iterator[str]:
    """Every "expr" and "query" in the board."""
    if isinstance(node, dict):
        for key, value in node.items():
            if key in ("expr", "query") and isinstance(value, str):
                yield value
            else:
                yield from _board_queries(value)
    elif isinstance(node, list):
        for value in node:
            yield from _board_queries(value)


@scene("Grafana's board names what the exporter tells, with its labels", company=True)
def board_names(testbed: Testbed, context: Context) -> None:
    _exporter()
    told = {}
    for line in testbed.run("list", [EXPORTER, "--list", "--per-connection"]).splitlines():
        name, _, labels, meaning = line.split("\t")
        told[name] = set(filter(None, labels.split(",")))
        if not meaning:
            raise TestbedError(f"{name} has no meaning")
    with open(BOARD, encoding="utf-8") as f:
        queries = list(_board_queries(json.load(f)))
    named = 0
    for query in queries:
        for name, labels in re.findall(r"(sluice_\w+)(?:\{([^}]*)\})?", query):
            named += 1
            wrong = set(re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", labels)) - told.get(name, set()) - {"instance", "job"}
            if name not in told or wrong:
                raise TestbedError(f"the board asks for {name} {wrong or ''}, which the exporter lacks: {query}")
    if named < 20:
        raise TestbedError(f"the board names only {named} metrics")
    a, b = memif_pair(testbed, context.build, telemetry=True)
    text = testbed.run("once", [EXPORTER, "--once", "--per-connection", "--socket", b.telemetry_socket])
    families = set(re.findall(r"^# TYPE (\S+) ", text, re.MULTILINE))
    if families != set(told):
        raise TestbedError(f"--list and the metrics that are served differ in {families ^ set(told)}")
    a.stop()
    b.stop()
