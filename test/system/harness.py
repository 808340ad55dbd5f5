# SPDX-License-Identifier: BSD-3-Clause
"""Scenarios: registration, what they need, and running them with TAP lines.

A scenario is a function of (testbed, context) that raises what went wrong, or Skip. Everything that it
starts goes through the testbed, so it leaves nothing behind.
"""
import json
import os
import re
import subprocess
import sys
import time
import traceback
from dataclasses import dataclass

from testbed.daemon import Build
from testbed.net import can_netns
from testbed.process import Testbed, TestbedError, until

from . import ROOT, runners

HERE = os.path.dirname(os.path.abspath(__file__))

SCENARIOS = []
SCENE_S = 600  # one that takes longer hangs: the slowest takes a tenth of it


@dataclass
class Scenario:
    name: str
    function: object
    netns: bool
    memory_gb: float
    company: bool


class Skip(Exception):
    """This machine cannot run the scenario; says why."""


def need(lack):
    """Skips the scenario where the machine lacks something; lack: what, or None. Only a question that
    the program under test does not answer may be asked so."""
    if lack is not None:
        raise Skip(lack)


@dataclass
class Context:
    """What the scenarios run with; seconds: of the long ones."""
    build: Build
    asan: Build = None
    tsan: Build = None
    seconds: int = 10

    def tool(self, name):
        """A program of the tests."""
        for folder in ("system", "unit/client", "bench"):
            path = os.path.join(self.build.dir, "test", folder, name)
            if os.access(path, os.X_OK):
                return path
        raise TestbedError(f"{name} is missing; build it: ninja -C {self.build.dir}")


def scenario(name, netns=False, memory_gb=0, company=False):
    """Decorator; netns: needs namespaces; memory_gb: of available memory. company: another scenario may
    run beside it. It may not where speed, time or sleep is judged with less room than a busy machine
    takes, where both cores are wanted, or where something is looked at that all processes share."""
    def add(function):
        SCENARIOS.append(Scenario(name, function, netns, memory_gb, company))
        return function
    return add


def available_gb():
    with open("/proc/meminfo", encoding="ascii") as f:
        for line in f:
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) / 1e6
    return 0


def _run_one(scene, context, logs):
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
        mine = [f for f in where if os.path.dirname(f.filename) == HERE][-1]
        return "not ok", [f"{os.path.basename(mine.filename)}:{mine.lineno}: {mine.line}",
                          *str(problem).splitlines()]
    except Exception:
        return "not ok", traceback.format_exc().splitlines()
    return "ok", []


def serve_runner(context, logs=None):
    """Exit status of a process that runs what it is given (runners.py)."""
    def run(number):
        start, before = time.monotonic(), os.times()
        state, lines = _run_one(SCENARIOS[number], context, logs)
        after = os.times()
        cpu_s = sum(after[:4]) - sum(before[:4])
        return {"state": state, "lines": lines, "took": time.monotonic() - start, "cpu_s": cpu_s}

    return runners.serve(run)


def run_all(command, jobs, only=None, limit_s=SCENE_S):
    """Exit status; command: what starts a runner. In TAP the scenarios are numbered as they end."""
    chosen = [i for i, s in enumerate(SCENARIOS) if only is None or re.search(only, s.name)]
    states = []
    print(f"1..{len(chosen)}", flush=True)

    def tell(number, result):
        states.append(result["state"])
        name, lines = SCENARIOS[number].name, result["said"] + [f"#   {x}" for x in result["lines"]]
        if result["state"] == "skip":
            lines = [f"ok {len(states)} - {name} # SKIP {result['lines'][0]}", *result["said"]]
        else:
            lines.insert(0, f"{result['state']} {len(states)} - {name} ({result['took']:.1f} s, "
                         f"{result['cpu_s']:.1f} s of processor time)")
        print("\n".join(lines), flush=True)

    bears = [i for i in chosen if SCENARIOS[i].company]
    runners.run_all(command, jobs, bears, [i for i in chosen if i not in bears], tell, limit_s)
    return 1 if "not ok" in states or len(states) < len(chosen) else 0


# ---- what scenarios have in common --------------------------------------------------------------


def perf(server, client, host, *args, timeout_s=120, server_args=(), name="perf"):
    """One `sluice perf` test with every byte checked; returns the client's result."""
    waiting = server.sluice(f"{name}-server", "perf", "server", "-1", "--json", *server_args)
    server.wait_listening(process=waiting)
    sending = client.sluice(f"{name}-client", "perf", "client", "--json", "--check", "-i", "0", *args,
                            host)
    result = json.loads(sending.check(timeout_s))
    waiting.check(30)
    if result["wrong_bytes"] != 0:
        raise TestbedError(f"{result['wrong_bytes']} bytes of {result['bytes']} are wrong")
    return result


def one_line(process, timeout_s, status, *words):
    """The process must end with this status (None: any but 0) and say one line with these words."""
    got = process.wait(timeout_s)
    lines = [x for x in process.err().splitlines() if x.strip() and not x.startswith(("EAL:", "TELE"))]
    if (got != status) if status is not None else (got == 0):
        raise TestbedError(f"status {got} instead of {status}\n{process.tail()}")
    if len(lines) != 1:
        raise TestbedError(f"{len(lines)} lines instead of one\n{process.tail()}")
    for word in words:
        if not re.search(word, lines[0], re.IGNORECASE):
            raise TestbedError(f"\"{lines[0]}\" says nothing of \"{word}\"")
    if not re.search(r"[:;] \w", lines[0].split(":", 1)[1]):
        raise TestbedError(f"\"{lines[0]}\" names no cure")


def transfer_works(sender, receiver, host, size="8M", timeout_s=60):
    """A small transfer, every byte checked."""
    result = perf(receiver, sender, host, "-n", size, timeout_s=timeout_s, name="after")
    if result["bytes"] == 0:
        raise TestbedError("nothing was transferred")


def data_flow(daemon, key="tx_bytes", more=4 << 20, timeout_s=20):
    """Waits until a connection moved so much since the first look: not one that ended before."""
    first = {}

    def moved():
        return any(c[key] - first.setdefault((c["port"], c["worker"], c["conn"]), c[key]) > more
                   for c in daemon.show("conns"))

    until(moved, timeout_s, "data flow")


def run_script(testbed, name, env, timeout_s=300):
    """A test script of this folder: exit status 0, or 77 to be skipped."""
    process = testbed.start(name, [sys.executable, "-B", os.path.join(HERE, name + ".py")], env=env)
    status = process.wait(timeout_s)
    if status == 77:
        raise Skip((process.out().strip().splitlines() or ["says not why"])[-1])
    if status != 0:
        raise TestbedError(f"status {status}\n{process.tail(60)}")


def script_exists(name):
    return os.path.exists(os.path.join(HERE, name + ".py"))


def sh(*args, timeout_s=60):
    """Runs a tool; its output."""
    done = subprocess.run([str(a) for a in args], capture_output=True, text=True, timeout=timeout_s,
                          check=False)
    if done.returncode != 0:
        raise TestbedError(f"{' '.join(str(a) for a in args)}: status {done.returncode}\n"
                       f"{done.stdout}{done.stderr}")
    return done.stdout
