# SPDX-License-Identifier: BSD-3-Clause
"""Scenes: this registers them, checks their needs, and runs them with TAP lines.

A scene is a function of (testbed, context). It raises TestbedError or AssertionError if something is
wrong, and Skip if this machine cannot run it. It starts everything through the testbed, so it leaves
nothing behind.
"""
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import tap
from testbed.daemon import Build, Daemon
from testbed.net import can_netns
from testbed.process import Process, Testbed, TestbedError, until

from . import runners

HERE = os.path.dirname(os.path.abspath(__file__))

SCENE_S = 600  # a scene that takes longer hangs: the slowest takes a tenth of this


class Skip(Exception):
    """This machine cannot run the scene; the message says why."""


def need(lack: str | None) -> None:
    """Skips the scene if lack names something that this machine has not. The answer must not come from the
    program under test: its fault would then skip the scene."""
    if lack is not None:
        raise Skip(lack)


@dataclass
class Context:
    """The builds under test; seconds: duration of the long scenes."""
    build: Build
    asan: Build | None = None
    tsan: Build | None = None
    seconds: int = 10

    def tool(self, name: str) -> str:
        """Path of a program that belongs to the tests."""
        for folder in ("system", "unit/client", "bench"):
            path = os.path.join(self.build.dir, "test", folder, name)
            if os.access(path, os.X_OK):
                return path
        raise TestbedError(f"{name} is missing; build it: ninja -C {self.build.dir}")


SceneFunction = Callable[[Testbed, Context], None]


@dataclass
class Scene:
    """A registered scene."""
    name: str
    function: SceneFunction
    netns: bool
    memory_gb: float
    company: bool


SCENES: list[Scene] = []


def scene(name: str, netns: bool = False, memory_gb: float = 0,
          company: bool = False) -> Callable[[SceneFunction], SceneFunction]:
    """Decorator that registers a scene. netns: it needs namespaces. memory_gb: it needs this much free memory.
    company: another scene may run beside it. A scene runs alone if its bounds on speed, time or sleep
    would fail on a busy machine, if it needs both cores, or if it checks a thing that all processes share."""
    def add(function: SceneFunction) -> SceneFunction:
        SCENES.append(Scene(name, function, netns, memory_gb, company))
        return function
    return add


def available_gb() -> float:
    with open("/proc/meminfo", encoding="ascii") as f:
        for line in f:
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) / 1e6
    return 0


def _run_one(scene: Scene, context: Context, logs: str | None) -> tuple[str, list[str]]:
    """("ok" | "skip" | "not ok", lines)"""
    if scene.netns:
        lack = can_netns()
        if lack is not None:
            return "skip", [lack]
    if available_gb() < scene.memory_gb:
        return "skip", [f"needs {scene.memory_gb} GB of free memory"]
    folder = logs and os.path.join(logs, re.sub(r"[^A-Za-z0-9]+", "-", scene.name))
    try:
        with Testbed("test", keep_dir=folder) as testbed:
            scene.function(testbed, context)
    except Skip as why:
        return "skip", [str(why)]
    except (TestbedError, AssertionError) as problem:
        where = traceback.extract_tb(sys.exc_info()[2])
        mine = [f for f in where if f.filename.startswith(HERE + os.sep)][-1]
        return "not ok", [f"{os.path.basename(mine.filename)}:{mine.lineno}: {mine.line}",
                          *str(problem).splitlines()]
    except Exception:
        return "not ok", traceback.format_exc().splitlines()
    return "ok", []


def serve_runner(context: Context, logs: str | None = None) -> int:
    """Runs the scenes whose numbers come on standard input (runners.py); returns the exit status."""
    def run(number: int) -> runners.Outcome:
        start, before = time.monotonic(), os.times()
        state, lines = _run_one(SCENES[number], context, logs)
        after = os.times()
        cpu_s = sum(after[:4]) - sum(before[:4])
        return {"state": state, "lines": lines, "took": time.monotonic() - start, "cpu_s": cpu_s}

    return runners.serve(run)


def run_all(command: list[str], jobs: int, only: str | None = None, limit_s: float = SCENE_S) -> int:
    """Runs the chosen scenes; returns the exit status. command starts a runner. TAP numbers the scenes as
    they end."""
    chosen = [i for i, s in enumerate(SCENES) if only is None or re.search(only, s.name)]
    report = tap.Report(len(chosen))

    def tell(number: int, result: runners.Result) -> None:
        name, state, said = SCENES[number].name, result["state"], result["said"]
        timed = f"{name} ({result['took']:.1f} s, {result['cpu_s']:.1f} s of processor time)"
        if state == "skip":
            report.skip(name, result["lines"][0], said)
        elif state == "ok":
            report.ok(timed, said)
        else:
            report.fail(timed, result["lines"], said)

    together = [i for i in chosen if SCENES[i].company]
    runners.run_all(command, jobs, together, [i for i in chosen if i not in together], tell, limit_s)
    return report.finish()


# ---- parts that several scenes use ---------------------------------------------------------------


def perf_begin(server: Daemon, client: Daemon, host: str, *args: object, server_args: Sequence[object] = (),
               name: str = "perf") -> tuple[Process, Process]:
    """Starts one `sluice perf` test that checks every byte; returns its server and its client."""
    waiting = server.sluice(f"{name}-server", "perf", "server", "-1", "--json", *server_args)
    server.wait_listening(process=waiting)
    return waiting, client.sluice(f"{name}-client", "perf", "client", "--json", "--check", "-i", "0", *args, host)


def perf_end(waiting: Process, sending: Process, timeout_s: float = 120) -> dict[str, Any]:
    """Waits for the end of a test that perf_begin() started; returns the client's result."""
    result: dict[str, Any] = json.loads(sending.check(timeout_s))
    waiting.check(30)
    if result["wrong_bytes"] != 0:
        raise TestbedError(f"{result['wrong_bytes']} bytes of {result['bytes']} are wrong")
    return result


def perf(server: Daemon, client: Daemon, host: str, *args: object, timeout_s: float = 120,
         server_args: Sequence[object] = (), name: str = "perf") -> dict[str, Any]:
    """Runs one `sluice perf` test that checks every byte; returns the client's result."""
    return perf_end(*perf_begin(server, client, host, *args, server_args=server_args, name=name), timeout_s)


def one_line(process: Process, timeout_s: float, status: int | None, *words: str) -> None:
    """The process must end with this status (None: any but 0) and print one line with these words."""
    got = process.wait(timeout_s)
    lines = [x for x in process.err().splitlines()
             if x.strip() and not re.match(r"([\w-]+: ((error|warning): )?)?(EAL: |TELE)", x)]
    if (got != status) if status is not None else (got == 0):
        raise TestbedError(f"status {got} instead of {status}\n{process.tail()}")
    if len(lines) != 1:
        raise TestbedError(f"{len(lines)} lines instead of one\n{process.tail()}")
    for word in words:
        if not re.search(word, lines[0], re.IGNORECASE):
            raise TestbedError(f"\"{lines[0]}\" does not mention \"{word}\"")
    if not re.search(r"[:;] \w", lines[0].split(":", 1)[1]):
        raise TestbedError(f"\"{lines[0]}\" names no cure")


def transfer_works(sender: Daemon, receiver: Daemon, host: str, size: str = "8M", timeout_s: float = 60) -> None:
    """A small transfer must work; every byte is checked."""
    result = perf(receiver, sender, host, "-n", size, timeout_s=timeout_s, name="after")
    if result["bytes"] == 0:
        raise TestbedError("nothing was transferred")


def file_works(testbed: Testbed, sender: Daemon, receiver: Daemon, address: str, size: int = 3_000_001,
               data: bytes | None = None) -> None:
    """Sends a file from one to the other, whose hash the receiver checks, and compares both copies. data: what is in
    it; else size random bytes."""
    folder = tempfile.mkdtemp(prefix=f"to-{receiver.name}-", dir=testbed.dir)
    source = testbed.path(f"from-{sender.name}")
    with open(source, "wb") as f:
        f.write(os.urandom(size) if data is None else data)
    receiving = receiver.sluice("recv", "recv", "--once", "-o", folder)
    receiver.wait_listening(process=receiving)
    sender.sluice("send", "send", source, address, timeout_s=60)
    receiving.check(60)
    with open(source, "rb") as a, open(os.path.join(folder, os.path.basename(source)), "rb") as b:
        if a.read() != b.read():
            raise TestbedError("the file is not the same")


def data_flow(daemon: Daemon, key: str = "tx_bytes", more: int = 4 << 20, timeout_s: float = 20) -> None:
    """Waits until one connection has moved this many bytes more. A connection that ended before moves none."""
    first: dict[tuple[Any, Any, Any], int] = {}

    def moved() -> bool:
        return any(c[key] - first.setdefault((c["port"], c["worker"], c["conn"]), c[key]) > more
                   for c in daemon.show("conns"))

    until(moved, timeout_s, "data flow")


def run_script(testbed: Testbed, name: str, env: dict[str, str], timeout_s: float = 300) -> None:
    """Runs a test script below this folder, which must end with status 0, or with 77 to be skipped."""
    process = testbed.start(os.path.basename(name), [sys.executable, "-B", os.path.join(HERE, name + ".py")], env=env)
    status = process.wait(timeout_s)
    if status == 77:
        raise Skip((process.out().strip().splitlines() or ["it does not say why"])[-1])
    if status != 0:
        raise TestbedError(f"status {status}\n{process.tail(60)}")


def script_exists(name: str) -> bool:
    return os.path.exists(os.path.join(HERE, name + ".py"))


def sh(*args: object, timeout_s: float = 60) -> str:
    """Runs a tool; returns its output."""
    done = subprocess.run([str(a) for a in args], capture_output=True, text=True, timeout=timeout_s,
                          check=False)
    if done.returncode != 0:
        raise TestbedError(f"{' '.join(str(a) for a in args)}: status {done.returncode}\n"
                           f"{done.stdout}{done.stderr}")
    return done.stdout
