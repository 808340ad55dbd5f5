# SPDX-License-Identifier: BSD-3-Clause
"""Engines that run worlds; and a pool of them on this machine, each fed from one queue, as many as memory is
there for. A pool has run_all(tasks, done, progress), and `here`: whether what is run live is run beside it.
The other kind of pool is cluster.py's, whose rows are the same."""
import collections
import json
import os
import queue
import subprocess
import sys
import threading

from . import LabError


MEMORY_MIN_MB = 512  # what an engine is given at least
EAL_MB = 64  # its own, and what lies between


# One run. key: the caller's; text: of the world, which is of `file`; name: for people.
Task = collections.namedtuple("Task", "key text seed file name")


class Engine:
    def __init__(self, program, memory_mb=MEMORY_MIN_MB, stderr=None):
        """stderr: a file for its messages; the caller's own unless given."""
        self.told = "its message is above" if stderr is None else "its message follows"
        try:
            self.process = subprocess.Popen([program, str(memory_mb)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                            stderr=stderr)
        except OSError as e:
            raise LabError(f"{program}: cannot be started: {e.strerror}; build it, or reinstall") from e

    def run(self, text, seed, file):
        return self._ask("run", text, seed, file)

    def size_mb(self, text, file):
        """(MB that a run of the world uses at most, MB that its engine must be given)"""
        answer = self._ask("size", text, 0, file)
        return tuple(-(-answer[key] // (1 << 20)) for key in ("used_bytes", "reserved_bytes"))

    def _ask(self, what, text, seed, file):
        return answer_of(self.ask(what, text, seed, file))

    def ask(self, what, text, seed, file):
        """Its answer as it came: a line of JSON, which may be an error."""
        body = text.encode()
        try:
            self.process.stdin.write(f"{what} {len(body)} {seed} {file}\n".encode() + body)
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except OSError:
            line = b""
        if not line:
            status = self.process.wait()
            raise LabError(f"{file}: the engine ended with status {status}; {self.told}")
        return line

    def close(self):
        try:
            self.process.stdin.close()
        except OSError:
            pass  # it has ended before it read all, which run() has told
        self.process.stdout.close()
        self.process.wait()

    def stop(self):
        self.process.kill()


def answer_of(line):
    """What an engine's line says."""
    try:
        answer = json.loads(line)
    except ValueError as e:
        raise LabError(f"the engine's answer is garbled: {e}; reinstall it") from e
    if "error" in answer:
        raise LabError(answer["error"])
    return answer


def free_mb():
    with open("/proc/meminfo", encoding="ascii") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("MemAvailable:")) >> 10


def memory_of(program, tasks):
    """(MB that a run uses at most, MB that its engine must be given) of the largest of these runs."""
    sizer, need, reserved = Engine(program), 0, 0
    try:
        for task in tasks:
            sizes = sizer.size_mb(task.text, task.file)
            need, reserved = max(need, sizes[0]), max(reserved, sizes[1])
    finally:
        sizer.close()
    reserved += reserved // 8 + EAL_MB
    return need, max(reserved, MEMORY_MIN_MB)


def fit(program, tasks, jobs):
    """(runs at a time, MB that each may use): what memory is there for, said before it is taken."""
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
    """At most `jobs` engines of this machine."""

    here = True

    def __init__(self, program, jobs):
        self.program, self.jobs = program, jobs

    def run_all(self, tasks, done, _progress):
        """done(key, answer) for each task, in the caller's thread, in order of completion. The first error
        stops all."""
        todo, results = queue.SimpleQueue(), queue.SimpleQueue()
        for task in tasks:
            todo.put(task)
        jobs, memory_mb = fit(self.program, tasks, max(1, min(self.jobs, len(tasks))))
        engines = [Engine(self.program, memory_mb) for _ in range(jobs)]

        def work(engine):
            try:
                while True:
                    task = todo.get_nowait()
                    results.put((task.key, engine.run(task.text, task.seed, task.file)))
            except queue.Empty:
                pass
            except LabError as e:
                results.put((None, e))

        threads = [threading.Thread(target=work, args=(e,), daemon=True) for e in engines]
        try:
            for t in threads:
                t.start()
            for _ in range(len(tasks)):
                key, answer = results.get()
                if key is None:
                    raise answer
                done(key, answer)
        except BaseException:
            for e in engines:
                e.stop()
            raise
        finally:
            for t in threads:
                t.join(5)
            for e in engines:
                e.close()

    def close(self):
        pass


def jobs_default():
    return len(os.sched_getaffinity(0))
