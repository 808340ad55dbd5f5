# SPDX-License-Identifier: BSD-3-Clause
"""What a worker of a Dask cluster does for sluice-lab. Its functions are sent to it by value (cluster.py), so of
this package it need have nothing; of Sluice it needs the engine, the same file as here.

A worker kills an engine within WATCH_S after its run was cancelled or its client went away. An idle engine waits
KEEP_S for the session's next run and then ends. An engine ends with its worker.
"""
import hashlib
import os
import subprocess
import tempfile
import threading

from . import LabError
from .engine import Engine, free_mb

ENGINE_VARIABLE = "SLUICE_LAB_ENGINE"  # of a worker's environment: where its engine is, if not as here
WATCH_S = 0.2
KEEP_S = 1


def digest(path):
    with open(path, "rb") as f:
        return hashlib.sha256(f.read()).hexdigest()


def version(path):
    """What an engine says of itself."""
    try:
        said = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=10, check=False).stdout
    except (OSError, subprocess.SubprocessError, ValueError):
        said = ""
    return " ".join(said.split()[:2]).rstrip(",") or "of no known version"


def identity(path):
    """Of the engine here, which the workers' must be equal to."""
    try:
        return {"path": path, "digest": digest(path), "version": version(path)}
    except OSError as e:
        raise LabError(f"{path}: cannot be read: {e.strerror}; build it, or reinstall") from e


def engine_here(wanted):
    return os.environ.get(ENGINE_VARIABLE) or wanted["path"]


def lack(wanted):
    """Why this worker cannot run what is wanted; None: it can."""
    path = engine_here(wanted)
    try:
        found = digest(path)
    except OSError as e:
        return (f"it has no engine: {path}: {e.strerror}; install the same Sluice there, or set {ENGINE_VARIABLE} "
                "in the worker's environment")
    if found != wanted["digest"]:
        return (f"it has another engine: {path} is {version(path)}, SHA-256 {found[:12]}; here it is {wanted['version']}, "
                f"{wanted['digest'][:12]}; install the same Sluice there")
    if not os.access(path, os.X_OK):
        return f"{path} cannot be executed; correct its mode"
    return None


def survey(wanted, dask_worker):
    """What there is on this worker, which is asked before it gets a run."""
    manager = getattr(dask_worker, "memory_manager", dask_worker)
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as f:
        machine = f.read()
    return {"lack": lack(wanted), "machine": machine, "free_mb": free_mb(),
            "limit_mb": (getattr(manager, "memory_limit", None) or 0) >> 20}


def is_wanted(dask_worker, key):
    task = dask_worker.state.tasks.get(key)
    return (task is not None and task.state in ("executing", "long-running")
            and dask_worker.status.name in ("running", "paused", "closing_gracefully"))


class Bench:
    """An engine and what it says; between runs it lies among those of its session, `kept`, a list of its worker's."""

    def __init__(self, path, memory_mb):
        self.said = tempfile.TemporaryFile()
        self.engine = Engine(path, memory_mb, self.said)

    def run(self, task, watched):
        """("answer", line) or ("wrong", message); watched(): whether it is still wanted."""
        over, killed = threading.Event(), threading.Event()

        def watch():
            while not over.wait(WATCH_S):
                if not watched():
                    killed.set()
                    self.engine.stop()
                    return

        watcher = threading.Thread(target=watch, daemon=True)
        watcher.start()
        try:
            answer = "answer", self.engine.ask("run", *task)
        except LabError as e:
            killed.set()
            self.said.seek(0)
            answer = "wrong", f"{e}: {self.said.read(2000).decode(errors='replace').strip() or 'none'}"
        over.set()
        watcher.join()
        self.good = not killed.is_set()
        return answer

    def keep(self, kept):
        if not self.good:
            self.close()
            return
        kept.append(self)
        self.timer = threading.Timer(KEEP_S, self.expire, (kept,))
        self.timer.daemon = True
        self.timer.start()

    def expire(self, kept):
        try:
            kept.remove(self)
        except ValueError:
            return  # it has just been taken
        self.close()

    def close(self):
        self.engine.close()
        self.said.close()


def run(wanted, memory_mb, text, seed, file):
    """("answer", the engine's line), ("refused", why) or ("wrong", message)."""
    from distributed import get_worker

    why = lack(wanted)
    if why is not None:
        return "refused", why
    dask_worker = get_worker()
    key = dask_worker.get_current_task()
    # On the worker, for what was sent by value has no module that stays.
    kept = dask_worker.__dict__.setdefault("sluice_lab_kept", {}).setdefault((wanted["session"], memory_mb), [])
    try:
        bench = kept.pop()
        bench.timer.cancel()
    except IndexError:
        try:
            bench = Bench(engine_here(wanted), memory_mb)
        except LabError as e:
            return "refused", str(e)
    answer = bench.run((text, seed, file), lambda: is_wanted(dask_worker, key))
    bench.keep(kept)
    return answer
