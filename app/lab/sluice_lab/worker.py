# SPDX-License-Identifier: BSD-3-Clause
"""Runs engines on a worker of a Dask cluster. The cluster (cluster.py) sends these functions to the worker by
value, so the worker needs none of this package. It needs Sluice's engine, the same file as here.

A worker kills an engine within WATCH_S after its run was cancelled or its client went away. An idle engine waits
KEEP_S for the session's next run and then ends. An engine ends with its worker.
"""
import hashlib
import os
import subprocess
import tempfile
import threading
from collections.abc import Callable
from typing import Any

from . import LabError
from .engine import Engine, free_mb

ENGINE_VARIABLE = "SLUICE_LAB_ENGINE"  # in a worker's environment: the path of its engine, if not the same as here
WATCH_S = 0.2
KEEP_S = 1

Outcome = tuple[str, str | bytes]  # "answer" and the engine's line, "refused" and the reason, "wrong" and a message


def digest(path: str) -> str:
    with open(path, "rb") as f:
        return hashlib.sha256(f.read()).hexdigest()


def version(path: str) -> str:
    """The name and version that an engine prints."""
    try:
        said = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=10, check=False).stdout
    except (OSError, subprocess.SubprocessError, ValueError):
        said = ""
    return " ".join(said.split()[:2]).rstrip(",") or "of no known version"


def identity(path: str) -> dict[str, str]:
    """The properties of the engine here. The engine of a worker must have the same digest."""
    try:
        return {"path": path, "digest": digest(path), "version": version(path)}
    except OSError as e:
        raise LabError(f"{path}: cannot be read: {e.strerror}; build it, or reinstall") from e


def engine_here(wanted: dict[str, str]) -> str:
    return os.environ.get(ENGINE_VARIABLE) or wanted["path"]


def lack(wanted: dict[str, str]) -> str | None:
    """Why this worker cannot run the wanted engine; None: it can."""
    path = engine_here(wanted)
    try:
        found = digest(path)
    except OSError as e:
        return (f"it has no engine: {path}: {e.strerror}; install the same Sluice there, or set {ENGINE_VARIABLE} "
                "in the worker's environment")
    if found != wanted["digest"]:
        return (f"it has another engine: {path} is {version(path)}, SHA-256 {found[:12]}; here it is "
                f"{wanted['version']}, {wanted['digest'][:12]}; install the same Sluice there")
    if not os.access(path, os.X_OK):
        return f"{path} cannot be executed; correct its mode"
    return None


def survey(wanted: dict[str, str], dask_worker: Any) -> dict[str, Any]:
    """Describes this worker, before it gets a run. Dask fills in dask_worker."""
    manager = getattr(dask_worker, "memory_manager", dask_worker)
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as f:
        machine = f.read()
    return {"lack": lack(wanted), "machine": machine, "free_mb": free_mb(),
            "limit_mb": (getattr(manager, "memory_limit", None) or 0) >> 20}


def is_wanted(dask_worker: Any, key: str) -> bool:
    task = dask_worker.state.tasks.get(key)
    return (task is not None and task.state in ("executing", "long-running")
            and dask_worker.status.name in ("running", "paused", "closing_gracefully"))


class Bench:
    """An engine and the file of its messages. Between runs it is in the worker's list `kept` for its session."""
    good: bool  # after run(): the engine can run again
    timer: threading.Timer  # while it is kept

    def __init__(self, path: str, memory_mb: int) -> None:
        self.said = tempfile.TemporaryFile()
        self.engine = Engine(path, memory_mb, self.said)

    def run(self, task: tuple[str, int, str], watched: Callable[[], bool]) -> Outcome:
        """task: text, seed, file; watched(): whether the run is still wanted."""
        over, killed = threading.Event(), threading.Event()

        def watch() -> None:
            while not over.wait(WATCH_S):
                if not watched():
                    killed.set()
                    self.engine.stop()
                    return

        watcher = threading.Thread(target=watch, daemon=True)
        watcher.start()
        try:
            outcome: Outcome = "answer", self.engine.ask("run", *task)
        except LabError as e:
            killed.set()
            self.said.seek(0)
            outcome = "wrong", f"{e}: {self.said.read(2000).decode(errors='replace').strip() or 'none'}"
        over.set()
        watcher.join()
        self.good = not killed.is_set()
        return outcome

    def keep(self, kept: "list[Bench]") -> None:
        if not self.good:
            self.close()
            return
        kept.append(self)
        self.timer = threading.Timer(KEEP_S, self.expire, (kept,))
        self.timer.daemon = True
        self.timer.start()

    def expire(self, kept: "list[Bench]") -> None:
        try:
            kept.remove(self)
        except ValueError:
            return  # run() has just taken it
        self.close()

    def close(self) -> None:
        self.engine.close()
        self.said.close()


def run(wanted: dict[str, str], memory_mb: int, text: str, seed: int, file: str) -> Outcome:
    from distributed import get_worker

    why = lack(wanted)
    if why is not None:
        return "refused", why
    dask_worker = get_worker()
    key = dask_worker.get_current_task()
    # An attribute of the worker, for a module that was sent by value does not stay.
    all_kept = dask_worker.__dict__.setdefault("sluice_lab_kept", {})
    kept: list[Bench] = all_kept.setdefault((wanted["session"], memory_mb), [])
    try:
        bench = kept.pop()
        bench.timer.cancel()
    except IndexError:
        try:
            bench = Bench(engine_here(wanted), memory_mb)
        except LabError as e:
            return "refused", str(e)
    outcome = bench.run((text, seed, file), lambda: is_wanted(dask_worker, key))
    bench.keep(kept)
    return outcome
