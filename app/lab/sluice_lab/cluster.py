# SPDX-License-Identifier: BSD-3-Clause
"""Runs tasks on the workers of a Dask cluster, with the same rows as on this machine.

The queue is ours, not the scheduler's: a run is sent to a worker only when a thread of that worker is free. So we
know which runs a worker had when it died. They are suspects: each runs again elsewhere, alone on its worker. So a
run that kills workers is known after LOSSES_MAX of them. A worker is surveyed before it gets a run (worker.py); one
that lacks something is reported and not used. Only text goes to a worker and only the engine's line comes back, so
the machines need no shared file system.

Invariant: a run is in exactly one of: todo, suspects, flying (and its worker's `running`), done.
"""
import asyncio
import collections
import importlib.metadata
import importlib.util
import logging
import queue
import re
import socket
import sys
import time
import uuid
from types import ModuleType
from typing import Any

from . import LabError, engine
from .progress import Progress

CONNECT_S = 5
LOOK_S = 1  # between looks at the list of workers
FETCH_S = 60  # for an answer after Dask has reported it
LOSSES_MAX = 3
RELEASES_BEFORE = 2024  # 2024.12, of Debian 13, does not run functions sent by value; 2022.12, of Debian 12, does
GONE = (OSError, RuntimeError, asyncio.TimeoutError)  # Dask raises these if the scheduler does not answer


def check_package() -> None:
    """Looks for Dask without loading it, which takes half a second. Only --dask needs it."""
    for name in ("distributed", "cloudpickle"):
        if importlib.util.find_spec(name) is None:
            raise LabError(f"--dask needs Dask's package for Python, {name}, which is not here; "
                           "install python3-distributed")
    release = importlib.metadata.version("distributed")
    if int(release.split(".")[0]) >= RELEASES_BEFORE:
        raise LabError(f"--dask does not work with Dask {release} yet; "
                       f"it needs a release before {RELEASES_BEFORE}, such as Debian 12's")


def modules() -> tuple[Any, ModuleType]:
    """Dask's package and worker.py, loaded."""
    import cloudpickle
    import distributed
    from . import worker
    # By value: workers need not have this package, nor the same release of it.
    for module in (sys.modules[__package__], worker):
        cloudpickle.register_pickle_by_value(module)
    for name in ("distributed", "distributed.client", "distributed.core", "distributed.comm", "tornado", "asyncio"):
        logging.getLogger(name).setLevel(logging.CRITICAL)  # our own messages say what matters
    return distributed, worker


class Run:
    """A task, and the workers that were lost while they had it."""

    def __init__(self, task: engine.Task) -> None:
        self.task = task
        self.lost: list[str] = []


class Worker:
    def __init__(self, address: str, slots: int) -> None:
        self.address, self.slots = address, slots
        self.running: dict[str, Run] = {}  # by Dask's key
        self.alone = False  # it runs a suspect, and must get nothing else

    def free(self) -> bool:
        return not self.alone and len(self.running) < self.slots


class Cluster:
    """A pool (engine.AnyPool). jobs: the most runs at a time; None: as many as the workers have threads."""

    here = False

    def __init__(self, address: str, program: str, jobs: int | None = None) -> None:
        parts = re.fullmatch(r"(?:tcp|tls)://(?:\[([0-9a-fA-F:.]+)\]|([^\s:/\[\]]+)):(\d+)", address)
        if not parts:
            raise LabError(f"--dask {address}: not the address of a scheduler; write for example "
                           "--dask tcp://10.0.0.1:8786")
        self.host, self.port = parts[1] or parts[2], int(parts[3])
        self.address, self.program, self.jobs = address, program, jobs
        self.client: Any = None
        check_package()

    def connect(self) -> None:
        if self.client is not None:
            return
        try:
            # If nothing listens there, Dask would try again and again.
            socket.create_connection((self.host, self.port), CONNECT_S).close()
            self.distributed, self.worker = modules()
            self.client = self.distributed.Client(self.address, timeout=CONNECT_S, set_as_default=False,
                                                  name="sluice-lab")
        except (*GONE, ValueError, TypeError, OverflowError) as e:
            raise LabError(f"--dask {self.address}: no Dask scheduler answers there; start one with "
                           f"dask-scheduler, or correct the address ({reason(e)})") from e

    def run_all(self, tasks: list[engine.Task], done: engine.Done, progress: Progress) -> None:
        """See engine.AnyPool."""
        if not tasks:
            return
        memory_mb = engine.memory_of(self.program, tasks)
        self.connect()
        wanted = self.worker.identity(self.program)
        session = Session(self, wanted, memory_mb, tasks, progress)
        try:
            session.run_all(done)
        except BaseException as e:
            session.cancel()
            if isinstance(e, GONE) and not isinstance(e, BrokenPipeError):  # that one is from our standard error
                raise LabError(f"--dask {self.address}: the scheduler does not answer any more; nothing was written "
                               f"({reason(e)})") from e
            raise

    def close(self) -> None:
        if self.client is not None:
            self.client.close(timeout=CONNECT_S)
            self.client = None


def reason(problem: BaseException) -> str:
    """The first line of an exception."""
    lines = str(problem).strip().splitlines()
    return lines[0] if lines else type(problem).__name__


class Session:
    """One run_all()."""

    def __init__(self, cluster: Cluster, wanted: dict[str, str], memory_mb: tuple[int, int], tasks: list[engine.Task],
                 progress: Progress) -> None:
        self.client, self.address, self.worker = cluster.client, cluster.address, cluster.worker
        self.dead = cluster.distributed.KilledWorker
        self.jobs = len(tasks) if cluster.jobs is None else max(1, cluster.jobs)
        self.wanted, (self.need_mb, self.memory_mb) = wanted, memory_mb
        self.file, self.progress = tasks[0].file, progress
        self.todo = collections.deque(Run(t) for t in tasks)
        self.suspects: collections.deque[Run] = collections.deque()
        self.left = len(tasks)
        self.workers: dict[str, Worker] = {}  # by address
        self.refused: dict[str, str] = {}  # by address; the reason
        self.flying: dict[str, tuple[Any, Worker]] = {}  # by Dask's key; Dask's future
        self.finished: queue.SimpleQueue[Any] = queue.SimpleQueue()  # Dask's futures
        self.name, self.sent = f"sluice-lab-{uuid.uuid4().hex[:12]}", 0
        self.wanted["session"] = self.name
        self.look_at, self.waiting, self.ever = 0.0, False, False

    def run_all(self, done: engine.Done) -> None:
        while self.left > 0:
            self.look()
            self.send()
            self.take(done)

    def cancel(self) -> None:
        """Removes the queued runs. Runs that have begun are killed by their watch()."""
        futures = [future for future, _ in self.flying.values()]
        self.flying.clear()
        try:
            self.client.cancel(futures, force=True)
        except GONE:
            pass  # the scheduler is gone; its workers notice that themselves

    # ---- the list of workers ----

    def look(self) -> None:
        now = time.monotonic()
        if now < self.look_at:
            return
        self.look_at = now + LOOK_S
        threads = self.client.nthreads()
        for address in [a for a in self.workers if a not in threads]:
            self.lose(self.workers.pop(address))
        self.refused = {a: why for a, why in self.refused.items() if a in threads}
        new = {a: n for a, n in threads.items() if a not in self.workers and a not in self.refused}
        if new:
            self.survey(new)
        self.progress.where = f"; {len(self.workers)} worker{'s' if len(self.workers) != 1 else ''}"
        self.ever = self.ever or bool(self.workers)
        if self.workers:
            self.waiting = False
        elif self.refused and not self.ever:
            raise LabError(f"--dask {self.address}: no worker can run this; see above")
        elif not self.waiting:
            self.waiting = True
            self.progress.tell(f"{self.address}: there is no worker; waiting for one")

    def survey(self, new: dict[str, int]) -> None:
        """new: {address: threads}"""
        pythons = {a: v["host"]["python"] for a, v in self.client.get_versions()["workers"].items() if a in new}
        for address, python in pythons.items():
            if python.split(".")[:2] != sys.version.split(".")[:2]:
                self.refuse(address, f"it runs Python {python}, and here is {sys.version.split()[0]}; "
                                     "Dask needs the same release")
        ask = [a for a in pythons if a not in self.refused]
        found = self.client.run(self.worker.survey, self.wanted, workers=ask, on_error="return") if ask else {}
        given: collections.Counter[str] = collections.Counter()  # MB by machine: workers may share one
        for address, answer in found.items():
            if isinstance(answer, OSError):
                continue  # it has gone, or the next look() asks it again
            why = reason(answer) if isinstance(answer, Exception) else answer["lack"]
            slots = 0
            if why is None:
                slots, why = self.slots(address, new[address], answer, given)
            if why is not None:
                self.refuse(address, why)
            else:
                self.workers[address] = Worker(address, slots)

    def slots(self, address: str, threads: int, answer: dict[str, Any],
              given: collections.Counter[str]) -> tuple[int, str | None]:
        """(runs at a time, None) or (0, the reason)"""
        if self.memory_mb == engine.MEMORY_MIN_MB:
            return threads, None
        room = answer["free_mb"] - given[answer["machine"]]
        room = min(room, answer["limit_mb"] or room)
        slots = min(threads, max(room, 0) // self.need_mb)
        if slots == 0:
            return 0, f"{self.file}: a run takes {self.need_mb} MB of memory, and {room} MB are free for it there"
        given[answer["machine"]] += slots * self.need_mb
        self.progress.tell(f"{self.file}: a run takes {self.need_mb} MB of memory; {address}: {slots} at a time, "
                           f"of {room} MB that are free for it")
        return slots, None

    def refuse(self, address: str, why: str) -> None:
        self.refused[address] = why
        self.progress.tell(f"worker {address} is not used: {why}")

    def lose(self, worker: Worker) -> None:
        """The worker has died or was taken away."""
        if worker.running:
            self.progress.tell(f"worker {worker.address} was lost; its runs are repeated: "
                               + "; ".join(run.task.name for run in worker.running.values()))
        for key, run in list(worker.running.items()):
            self.land(key)
            self.suspect(run, [worker.address])

    def suspect(self, run: Run, lost: list[str]) -> None:
        """lost: addresses of workers"""
        run.lost += lost
        if len(run.lost) >= LOSSES_MAX:
            raise LabError(f"{run.task.file}: {run.task.name} failed: {len(run.lost)} workers were lost while they ran "
                           f"it: {', '.join(run.lost)}; see their logs, or run it here, without --dask")
        self.suspects.append(run)

    # ---- runs ----

    def send(self) -> None:
        reserved = len(self.suspects)
        open_to_all = []
        for worker in sorted(self.workers.values(), key=lambda w: len(w.running)):
            if worker.alone:
                continue
            if reserved == 0:
                open_to_all.append(worker)
                continue
            # Reserved for a suspect: it gets no other run, and the suspect once it is empty.
            reserved -= 1
            if not worker.running and len(self.flying) < self.jobs:
                worker.alone = True
                self.launch(self.suspects.popleft(), worker)
        while self.todo and len(self.flying) < self.jobs:
            free = [w for w in open_to_all if w.free()]
            if not free:
                break
            self.launch(self.todo.popleft(), min(free, key=lambda w: len(w.running) / w.slots))

    def launch(self, run: Run, worker: Worker) -> None:
        key = f"{self.name}-{self.sent}"
        self.sent += 1
        task = run.task
        future = self.client.submit(self.worker.run, self.wanted, self.memory_mb, task.text, task.seed, task.file,
                                    key=key, workers=[worker.address], allow_other_workers=False, pure=False)
        worker.running[key] = run
        self.flying[key] = future, worker
        future.add_done_callback(self.finished.put)

    def land(self, key: str) -> tuple[Run, Worker]:
        """The run is over, or no longer wanted there."""
        future, worker = self.flying.pop(key)
        run = worker.running.pop(key)
        worker.alone = worker.alone and bool(worker.running)
        if future.status != "finished":
            self.client.cancel([future], force=True)
        return run, worker

    def take(self, done: engine.Done) -> None:
        """Waits for one run to finish, until the next look() is due."""
        try:
            future = self.finished.get(timeout=max(0.01, self.look_at - time.monotonic()))
        except queue.Empty:
            return
        status = future.status
        if future.key not in self.flying:
            return
        if status == "finished":
            try:
                answer = future.result(timeout=FETCH_S)
            except Exception:  # Dask raises different ones if the worker died with the answer
                answer = None
        elif status == "error":
            problem = future.exception(timeout=FETCH_S)  # before land(), which releases it
        run, worker = self.land(future.key)
        if status == "error":
            if not isinstance(problem, self.dead):
                raise LabError(f"worker {worker.address}: {run.task.name}: {type(problem).__name__}: "
                               f"{reason(problem)}")
            # If a worker comes back under the same address, the scheduler repeats the run, and we do not see that.
            self.suspect(run, [worker.address] * (problem.allowed_failures + 1))
        elif self.client.status != "running":
            raise ConnectionError("the connection ended")
        elif status != "finished" or answer is None:
            self.suspect(run, [worker.address])
        else:
            self.answered(run, worker, answer, done)

    def answered(self, run: Run, worker: Worker, outcome: tuple[str, Any], done: engine.Done) -> None:
        """outcome: worker.Outcome"""
        kind, what = outcome
        if kind == "refused":
            self.workers.pop(worker.address, None)
            self.refuse(worker.address, what)
            for key, other in list(worker.running.items()):
                self.land(key)
                self.todo.appendleft(other)
            self.todo.appendleft(run)
        elif kind == "wrong":
            raise LabError(f"worker {worker.address}: {what}")
        else:
            done(run.task.key, engine.answer_of(what))
            self.left -= 1
