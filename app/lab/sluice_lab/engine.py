# SPDX-License-Identifier: BSD-3-Clause
"""Engines that run worlds, several at a time, each fed from one queue."""
import json
import os
import queue
import subprocess
import threading

from . import LabError


class Engine:
    def __init__(self, program):
        try:
            self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        except OSError as e:
            raise LabError(f"{program}: cannot be started: {e.strerror}; build it, or reinstall") from e

    def run(self, text, seed, file):
        body = text.encode()
        try:
            self.process.stdin.write(f"run {len(body)} {seed} {file}\n".encode() + body)
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except OSError:
            line = b""
        if not line:
            status = self.process.wait()
            raise LabError(f"{file}: the engine ended with status {status}; its message is above")
        answer = json.loads(line)
        if "error" in answer:
            raise LabError(answer["error"])
        return answer

    def close(self):
        try:
            self.process.stdin.close()
        except OSError:
            pass  # it has ended before it read all, which run() has told
        self.process.stdout.close()
        self.process.wait()

    def stop(self):
        self.process.kill()


def run_all(program, tasks, jobs, done):
    """Runs (key, text, seed, file); done(key, answer) for each, in the caller's thread, in order of
    completion. The first error stops all."""
    todo, results = queue.SimpleQueue(), queue.SimpleQueue()
    for task in tasks:
        todo.put(task)
    jobs = max(1, min(jobs, len(tasks)))
    engines = [Engine(program) for _ in range(jobs)]

    def work(engine):
        try:
            while True:
                key, text, seed, file = todo.get_nowait()
                results.put((key, engine.run(text, seed, file)))
        except queue.Empty:
            pass
        except (LabError, ValueError) as e:
            results.put((None, e))

    threads = [threading.Thread(target=work, args=(e,), daemon=True) for e in engines]
    try:
        for t in threads:
            t.start()
        for _ in range(len(tasks)):
            key, answer = results.get()
            if key is None:
                raise answer if isinstance(answer, LabError) else LabError(f"the engine's answer is garbled: {answer}")
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


def jobs_default():
    return len(os.sched_getaffinity(0))
