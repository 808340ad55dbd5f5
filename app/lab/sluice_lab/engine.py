# SPDX-License-Identifier: BSD-3-Clause
"""Engines that run worlds, and a pool of engines on this machine. The engines of a pool take runs from one
queue; the pool has as many engines as fit into memory. The other kind of pool is a cluster (cluster.py), which
gives the same rows."""
import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import IO, Any, NamedTuple, Protocol

from . import LabError
from .progress import Progress

MEMORY_MIN_MB = 512  # the least that an engine is given
EAL_MB = 64  # for EAL itself, and for gaps between its areas

Answer = dict[str, Any]  # the engine's JSON
Done = Callable[[int, Answer], None]  # gets the key of a run, and the answer


class Task(NamedTuple):
    """One run."""
    key: int  # the caller's
    text: str  # of the world
    seed: int
    file: str  # that the world is from
    name: str  # for messages


class AnyPool(Protocol):
    """Runs tasks, here or elsewhere."""
    here: bool  # live experiments can run beside it

    def run_all(self, tasks: list[Task], done: Done, progress: Progress) -> None:
        """Calls done() for each task, in the caller's thread, in order of completion. The first error ends all runs."""

    def close(self) -> None: ...


class Engine:
    def __init__(self, program: str, memory_mb: int = MEMORY_MIN_MB, stderr: IO[bytes] | None = None) -> None:
        """stderr: a file for its messages; by default the caller's standard error."""
        self.told = "its message is above" if stderr is None else "its message follows"
        try:
            self.process = subprocess.Popen([program, str(memory_mb)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                            stderr=stderr)
        except OSError as e:
            raise LabError(f"{program}: cannot be started: {e.strerror}; build it, or reinstall") from e
        assert self.process.stdin is not None and self.process.stdout is not None
        self.stdin, self.stdout = self.process.stdin, self.process.stdout

    def run(self, text: str, seed: int, file: str) -> Answer:
        return self._ask("run", text, seed, file)

    def size_mb(self, text: str, file: str) -> tuple[int, int]:
        """(MB that a run of the world uses at most, MB that its engine must be given)"""
        answer = self._ask("size", text, 0, file)
        used, reserved = (-(-answer[key] // (1 << 20)) for key in ("used_bytes", "reserved_bytes"))
        return used, reserved

    def _ask(self, what: str, text: str, seed: int, file: str) -> Answer:
        return answer_of(self.ask(what, text, seed, file))

    def ask(self, what: str, text: str, seed: int, file: str) -> bytes:
        """The answer as the engine wrote it: a line of JSON, which may be an error."""
        body = text.encode()
        try:
            self.stdin.write(f"{what} {len(body)} {seed} {file}\n".encode() + body)
            self.stdin.flush()
            line = self.stdout.readline()
        except OSError:
            line = b""
        if not line:
            status = self.process.wait()
            raise LabError(f"{file}: the engine ended with status {status}; {self.told}")
        return line

    def close(self) -> None:
        try:
            self.stdin.close()
        except OSError:
            pass  # the engine ended before it had read everything; ask() has reported that
        self.stdout.close()
        self.process.wait()

    def stop(self) -> None:
        self.process.kill()


def answer_of(line: bytes) -> Answer:
    """The answer in an engine's line. An error in it is raised."""
    try:
        answer: Answer = json.loads(line)
    except ValueError as e:
        raise LabError(f"the engine's answer is not JSON: {e}; reinstall it") from e
    if "error" in answer:
        raise LabError(answer["error"])
    return answer


def free_mb() -> int:
    with open("/proc/meminfo", encoding="ascii") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("MemAvailable:")) >> 10


def memory_of(program: str, tasks: list[Task]) -> tuple[int, int]:
    """(MB that a run uses at most, MB that its engine must be given), for the largest of these runs."""
    sizer, need, reserved = Engine(program), 0, 0
    try:
        for task in tasks:
            sizes = sizer.size_mb(task.text, task.file)
            need, reserved = max(need, sizes[0]), max(reserved, sizes[1])
    finally:
        sizer.close()
    reserved += reserved // 8 + EAL_MB
    return need, max(reserved, MEMORY_MIN_MB)


def fit(program: str, tasks: list[Task], jobs: int) -> tuple[int, int]:
    """(runs at a time that fit into memory, MB that each engine is given). Runs that take much memory are announced."""
    need, reserved = memory_of(program, tasks)
    if reserved == MEMORY_MIN_MB:
        return jobs, reserved
    file, free = tasks[0].file, free_mb()
    if need > free:
        raise LabError(f"{file}: a run takes {need} MB of memory, and {free} MB are free; "
                       f"lower frames in [world], or the number of hosts and loads, or free some memory")
    jobs = min(jobs, free // need)
    print(f"sluice-lab: {file}: a run takes {need} MB of memory; {jobs} at a time, of {free} MB that are free",
          file=sys.stderr)
    return jobs, reserved


class Pool:
    """At most `jobs` engines on this machine."""

    here = True

    def __init__(self, program: str, jobs: int) -> None:
        self.program, self.jobs = program, jobs

    def run_all(self, tasks: list[Task], done: Done, _progress: Progress) -> None:
        """See AnyPool."""
        todo: queue.SimpleQueue[Task] = queue.SimpleQueue()
        results: queue.SimpleQueue[tuple[int, Answer] | LabError] = queue.SimpleQueue()
        for task in tasks:
            todo.put(task)
        jobs, memory_mb = fit(self.program, tasks, max(1, min(self.jobs, len(tasks))))
        engines = [Engine(self.program, memory_mb) for _ in range(jobs)]

        def work(engine: Engine) -> None:
            try:
                while True:
                    task = todo.get_nowait()
                    results.put((task.key, engine.run(task.text, task.seed, task.file)))
            except queue.Empty:
                pass
            except LabError as e:
                results.put(e)

        threads = [threading.Thread(target=work, args=(e,), daemon=True) for e in engines]
        try:
            for t in threads:
                t.start()
            for _ in range(len(tasks)):
                result = results.get()
                if isinstance(result, LabError):
                    raise result
                done(*result)
        except BaseException:
            for e in engines:
                e.stop()
            raise
        finally:
            for t in threads:
                t.join(5)
            for e in engines:
                e.close()

    def close(self) -> None:
        pass


def jobs_default() -> int:
    return len(os.sched_getaffinity(0))
