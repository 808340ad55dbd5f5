# SPDX-License-Identifier: BSD-3-Clause
"""The log: levels, JSON, and priorities in systemd's journal."""
import json
import re
import signal
import subprocess
from collections.abc import Iterable
from typing import Any

from .harness import Context, TestbedError, scene
from testbed.box import Box
from testbed.daemon import Daemon, memif
from testbed.pair import ADDR_B, memif_pair, pair_cpus, station
from testbed.process import Testbed, until

LEVELS = ["error", "warning", "notice", "info", "debug"]
# Gives the program a stderr that JOURNAL_STREAM names, as systemd does.
JOURNAL = ["sh", "-c", 'JOURNAL_STREAM=$(stat -L -c %d:%i /proc/self/fd/2) exec "$@"', "sh"]


def _objects(text: str, program: str) -> list[dict[str, Any]]:
    """The lines of a log in JSON. Each must be one object, with what every object has."""
    found = []
    for line in text.splitlines():
        try:
            found.append(json.loads(line))
        except ValueError:
            raise TestbedError(f"not an object: {line}") from None
        o = found[-1]
        if (not re.fullmatch(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", o["time"]) or o["level"] not in LEVELS or
                o["program"] != program or not o["message"]):
            raise TestbedError(f"an object of the log is {o}")
    return found


def _expect(objects: Iterable[dict[str, Any]], **fields: str) -> dict[str, Any]:
    """The first object with these fields; a value is a regular expression."""
    for o in objects:
        if all(re.fullmatch(v, o.get(k, "")) for k, v in fields.items()):
            return o
    raise TestbedError(f"no line of the log has {fields}")


@scene("the log in JSON: each line is an object, from the daemon, DPDK and the box; at debug with connections")
def log_json(testbed: Testbed, context: Context) -> None:
    a, b = memif_pair(testbed, context.build, daemon_keys={"log_format": "json", "log_level": "debug"})
    receiver = b.sluice("receiver", "perf", "server", "-1")
    b.wait_listening()
    a.sluice("sender", "perf", "client", "-n", "4M", "-i", "0", ADDR_B, timeout_s=60)
    receiver.check(30)
    b.keys["log_level"] = "notice"
    b.reload()
    until(lambda: "[daemon] log_level" in b.process.err(), 10, "the reload is logged")
    b.sluice("changed", "exec", "set", "capacity", "1Gbit", timeout_s=10)
    for daemon in (a, b):
        daemon.stop()
    for daemon, peer in ((a, "10.90.0.2"), (b, "10.90.0.1")):
        log = _objects(daemon.process.err(), "sluiced")
        _expect(log, level="notice", message="ready")
        _expect(log, level="notice", message="link up", port="net_memif0")
        _expect(log, level="debug", message=r"worker 0: conn \d+ opened .*", port="net_memif0",
                connection=r"net_memif0/0/\d+", peer=re.escape(peer))
        # Of a connection whose number is free again, the peer is not known any more.
        _expect(log, level="debug", message=r"worker 0: conn \d+ ended .*", port="net_memif0",
                connection=r"net_memif0/0/\d+")
        _expect(log, level="debug", message=".*(EAL|memif|telemetry|ethdev|VFIO|TSC|huge).*")  # DPDK's
    after = log[log.index(_expect(log, message=r"reload: \[daemon\] log_level: taken over")):]
    _expect(after, level="notice", message="console: set capacity 1Gbit")
    if any(o["level"] in ("info", "debug") for o in after):
        raise TestbedError(f"after log_level = notice: {after}")


@scene("the log in JSON: mistakes at the start, and a box", company=True)
def log_json_starts(testbed: Testbed, context: Context) -> None:
    program = context.build.program("sluiced")
    config = testbed.path("wrong.conf")
    with open(config, "w", encoding="ascii") as f:
        f.write("[daemon]\nlog_level = \"lo\x7fud\"\n")
    for args, status, message in (
            (["--", "--log-format", "json", "--sockt"], 2, "unknown argument --sockt; did you mean --socket\\?"),
            (["--", "--log-format=json", "-c", testbed.path("none.conf")], 3, ".*none.conf.*"),
            (["--", "--log-format=json", "-c", config], 3, '.*"lo\\?ud".*')):
        done = subprocess.run([program, *args], capture_output=True, text=True, timeout=30, check=False)
        if done.returncode != status:
            raise TestbedError(f"{args}: status {done.returncode}")
        _expect(_objects(done.stderr, "sluiced"), level="error", message=message)
    box = Box(testbed, context.build, [memif(testbed.path(f"{i}.sock"), "server", number=i).vdev for i in (0, 1)],
              options=["--log-format", "json", "--interval", "200ms"])
    until(lambda: "Mpps" in box.process.err(), 20, "a report")
    box.process.signal(signal.SIGTERM)
    box.process.wait(20)
    log = _objects(box.process.err(), "sluice-emu")
    _expect(log, level="notice", message="ready: .*")
    _expect(log, level="info", message=r"forward: in \d.*Mpps.*")
    _expect(log, level="info", message=r"lcore 1 polls .*")


@scene("in the journal, lines begin with their priority", company=True)
def log_journal(testbed: Testbed, context: Context) -> None:
    worker, control = pair_cpus()[0]
    for form in ("text", "json"):
        port = memif(testbed.path(f"{form}.sock"), "client")
        port.keys = station(1)
        daemon = Daemon(testbed, context.build, form, [port], [worker], control, daemon_keys={"log_format": form})
        daemon.wrap = JOURNAL
        daemon.start()
        daemon.keys["sessions"] = 99
        daemon.reload()
        until(lambda: "sessions" in daemon.process.err(), 10, "the reload is logged")
        daemon.stop()
        lines = daemon.process.err().splitlines()
        shown = [line[3:] if form == "text" else json.loads(line[3:])["message"] for line in lines]
        for line in lines:
            if not re.match(r"<[3-7]>\w" if form == "text" else r'<[3-7]>{"time"', line):
                raise TestbedError(f"a line in the journal is {line}")
            if form == "json" and LEVELS.index(json.loads(line[3:])["level"]) != int(line[1]) - 3:
                raise TestbedError(f"a line in the journal has two levels: {line}")
        for priority, message in ((5, "ready"), (4, "reload: [daemon] sessions: needs a restart"), (5, "stopping")):
            if lines[shown.index(message)][:3] != f"<{priority}>":
                raise TestbedError(f"{message} is logged as {lines[shown.index(message)]}")
