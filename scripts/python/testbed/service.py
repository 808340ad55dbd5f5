# SPDX-License-Identifier: BSD-3-Clause
"""Processes that systemd starts by a shipped unit, under its limits (manager.py runs the systemd).

Only what a test needs is another: the program and its arguments, where the output goes, a network namespace,
and that the program may write into the test's folder. Restarts and the watchdog are off, because tests stop
and kill what they start.
"""
import os
import re
import resource
import shutil
import subprocess
import time
from collections.abc import Iterable, Mapping

from . import manager
from .process import Process, Testbed, TestbedError

SYSTEMD_FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "config", "systemd")
REPLACED = ("ExecStart", "ExecReload", "EnvironmentFile", "Restart", "RestartPreventExitStatus", "RuntimeDirectory",
            "WatchdogSec")
PROGRAMS = "/run/programs"
CODE_EXITED = 1  # CLD_EXITED
SYSTEMCTL_S = 180  # a scene's pollers may have all processors
IDS = (manager.USER_ID, manager.USER_ID)


def service_lines(unit: str) -> list[str]:
    """The lines of the section [Service] of a shipped unit."""
    with open(os.path.join(SYSTEMD_FOLDER, unit + ".service.in"), encoding="utf-8") as f:
        section = f.read().split("[Service]\n")[1].split("\n[")[0]
    return [line for line in section.splitlines() if line and not line.startswith("#")]


def drop_in(unit: str, kind: str) -> list[str]:
    """The lines of the drop-in that the unit's comment names for this kind of port."""
    with open(os.path.join(SYSTEMD_FOLDER, unit + ".service.in"), encoding="utf-8") as f:
        text = re.sub(r"\n#   +", " ", f.read())
    found = re.search(rf"^# - {kind}: (.*)$", text, re.MULTILINE)
    if found is None:
        raise TestbedError(f"{unit}.service.in names no drop-in for {kind}")
    return found.group(1).split(", ")


def group_lines(group: object) -> list[str]:
    """The drop-in for a socket_group other than the unit's own, which is then a group of this namespace's."""
    with open("/etc/group", "r+", encoding="utf-8") as f:
        if f":{group}:" not in f.read():
            f.write(f"sluice-{group}:x:{group}:\n")
    return [f"SupplementaryGroups={group}", "SystemCallFilter=chown"]


def locked_memory_lines() -> list[str]:
    """Where root may not raise limits, a capability has the effect of LimitMEMLOCK=infinity."""
    limit = resource.getrlimit(resource.RLIMIT_MEMLOCK)[1]
    try:
        resource.setrlimit(resource.RLIMIT_MEMLOCK, (limit, resource.RLIM_INFINITY))
    except (OSError, ValueError):
        return ["AmbientCapabilities=CAP_IPC_LOCK", "CapabilityBoundingSet=CAP_IPC_LOCK"]
    return []


def as_daemon() -> list[str]:
    """Words before a program that make the daemon's user run it."""
    return ["setpriv", f"--reuid={manager.USER}", f"--regid={manager.USER}", "--clear-groups"]


def _quoted(word: object) -> str:
    text = str(word).replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{text}"'


def _program(path: str) -> str:
    """A copy of the program where every user finds it, also if the build is in somebody's home."""
    copy = os.path.join(PROGRAMS, os.path.basename(os.path.dirname(os.path.dirname(path))), os.path.basename(path))
    if not os.path.exists(copy):
        os.makedirs(os.path.dirname(copy), exist_ok=True)
        shutil.copy(path, copy + f".{os.getpid()}")
        os.rename(copy + f".{os.getpid()}", copy)
    return copy


class UnitProcess(Process):
    """A process that systemd started by a unit; it behaves as a child of the test would."""

    def __init__(self, name: str, path: str, args: Iterable[object]) -> None:
        """name: of the unit, which is there, and of its RuntimeDirectory."""
        super().__init__(path, args)
        for output in (self.out_path, self.err_path):
            open(output, "wb").close()  # systemd makes them later, or not at all
        self.unit, self.runtime_dir = f"{name}.service", f"/run/{name}"
        self.main_pid = 0
        self.status: int | None = None
        subprocess.run(["systemctl", "start", "--no-block", self.unit], check=True, timeout=SYSTEMCTL_S)
        while self.main_pid == 0 and self.status is None:
            self._look()

    def _look(self) -> None:
        wanted = "ActiveState,MainPID,ExecMainCode,ExecMainStatus,Job"
        done = subprocess.run(["systemctl", "show", self.unit, "-p", wanted], capture_output=True, text=True,
                              check=True, timeout=SYSTEMCTL_S)
        state = dict(line.split("=", 1) for line in done.stdout.splitlines())
        self.main_pid = int(state["MainPID"]) or self.main_pid
        if state["ActiveState"] in ("inactive", "failed") and state.get("Job", "0") in ("", "0"):
            status = int(state["ExecMainStatus"])
            self.status = status if int(state["ExecMainCode"]) == CODE_EXITED else -status

    @property
    def pid(self) -> int:
        return self.main_pid

    def ended(self, timeout_s: float = 0) -> int | None:
        end = time.monotonic() + timeout_s
        while self.status is None:
            self._look()
            if time.monotonic() >= end:
                break
            time.sleep(0.02)
        return self.status

    def send(self, number: int) -> None:
        os.kill(self.main_pid, number)


def give(testbed: Testbed) -> None:
    """What the test, as root, made for its daemons becomes the property of their user."""
    for folder, _, files in os.walk(testbed.dir):
        for made in (folder, *(os.path.join(folder, f) for f in files)):
            if os.lstat(made).st_uid == 0:
                os.chown(made, *IDS, follow_symlinks=False)
    os.chmod(testbed.dir, 0o755)  # for clients of other users, as /run is


def start(testbed: Testbed, unit: str | None, name: str, args: Iterable[object], ns: str | None = None,
          env: Mapping[str, str] | None = None, drop_ins: Iterable[str] = ()) -> Process:
    """Starts args as a child, or by the shipped unit with further lines of it."""
    if unit is None:
        return testbed.start(name, args, ns=ns, env=env)
    program, *rest = [str(a) for a in args]
    path = testbed.output_path(name)
    own = f"{os.path.basename(testbed.dir)}-{os.path.basename(path)}"
    shipped = service_lines(unit)
    lines = [x for x in shipped if x.split("=", 1)[0] not in REPLACED]
    lines += drop_ins
    if "LimitMEMLOCK=infinity" in lines:
        lines += locked_memory_lines()
    lines += [f"ExecStart={_quoted(_program(program))} {' '.join(_quoted(a) for a in rest)}",
              "LimitCORE=0", f"ReadWritePaths={testbed.dir}", f"StandardOutput=truncate:{path}.out", f"StandardError=truncate:{path}.err"]
    lines += [f"RuntimeDirectory={own}" for x in shipped if x.startswith("RuntimeDirectory=")]
    lines += [f"Environment={_quoted(f'{k}={v}')}" for k, v in (env or {}).items()]
    if ns is not None:
        lines.append(f"NetworkNamespacePath=/run/netns/{ns}")
    file = f"{manager.UNITS}/{own}.service"
    with open(file, "w", encoding="utf-8") as f:
        f.write("\n".join(["[Unit]", "DefaultDependencies=no", "[Service]", *lines]) + "\n")
    testbed.undo(os.unlink, file)
    give(testbed)
    subprocess.run(["systemctl", "daemon-reload"], check=True, timeout=SYSTEMCTL_S)
    process = UnitProcess(own, path, args)
    testbed.undo(process.stop)
    return process
