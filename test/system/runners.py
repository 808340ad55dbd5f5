# SPDX-License-Identifier: BSD-3-Clause
"""Runs scenes in runners: a runner is a process that runs one scene at a time.

Scenes that may run beside others run in all runners at once; then the others run one by one. A runner is a
process because a Testbed takes over the signals of its process and puts the process's number into names.
Invariant: every scene has one result. It says so if the runner died or the scene took too long.
"""
import contextlib
import faulthandler
import io
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import TypedDict

from testbed.process import set_death_signal

CLEAN_UP_S = 60  # a Testbed may take this long to put back what its scene changed


class Outcome(TypedDict):
    """The end of a scene; state: "ok", "skip" or "not ok"."""
    state: str
    lines: list[str]
    took: float
    cpu_s: float


class Result(Outcome):
    """said: the lines that the scene printed."""
    said: list[str]


def serve(run: Callable[[int], Outcome]) -> int:
    """The runner's part: it reads numbers of scenes from standard input and answers each with run(number), as a
    line of JSON. The answer holds the output of the scene, so that the output of two runners does not mix."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # the output of a stray child is no answer
    faulthandler.register(signal.SIGUSR1)  # prints the runner's stack to standard error
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # ends an idle runner; a Testbed sets its own handler
    for line in sys.stdin:
        said = io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            result = run(int(line))
        answers.write(json.dumps({**result, "said": said.getvalue().splitlines()}) + "\n")
        answers.flush()
    return 0


class _Runner:
    """A runner, as run.py sees it. number: the scene that it runs; since: its start."""

    def __init__(self, command: list[str]) -> None:
        # If run.py is killed, the runner still puts back what its scene changed.
        self.popen = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                      preexec_fn=lambda: set_death_signal(signal.SIGTERM))
        assert self.popen.stdin is not None and self.popen.stdout is not None
        self.stdin, self.stdout = self.popen.stdin, self.popen.stdout
        self.number: int | None = None
        self.answer, self.since = b"", 0.0

    def give(self, number: int) -> None:
        self.number, self.answer, self.since = number, b"", time.monotonic()
        with contextlib.suppress(BrokenPipeError):  # the runner is dead; take() finds that out
            self.stdin.write(b"%d\n" % number)
            self.stdin.flush()

    def take(self) -> Result | None:
        """The result, or None while its line is not whole. Call it when there is something to read."""
        part = os.read(self.stdout.fileno(), 1 << 16)
        self.answer += part
        if self.answer.endswith(b"\n"):
            result: Result = json.loads(self.answer)
            return result
        if part:
            return None
        status = self.popen.wait()
        return {"state": "not ok", "said": [], "took": 0, "cpu_s": 0,
                "lines": [f"the runner ended with status {status}"]}

    def give_up(self, limit_s: float) -> Result:
        """Ends a runner whose scene does not end; returns a result for it."""
        self.popen.send_signal(signal.SIGUSR1)
        self.end()
        return {"state": "not ok", "said": [], "took": time.monotonic() - self.since, "cpu_s": 0,
                "lines": [f"does not end within {limit_s:g} s; its stack is printed above"]}

    def end(self) -> None:
        if self.popen.poll() is None:
            self.popen.terminate()
            try:
                self.popen.wait(CLEAN_UP_S)
            except subprocess.TimeoutExpired:
                self.popen.kill()
                self.popen.wait()
        for pipe in (self.stdin, self.stdout):
            with contextlib.suppress(BrokenPipeError):
                pipe.close()


def _results(busy: list[_Runner], limit_s: float) -> Iterator[tuple[_Runner, Result]]:
    """(runner, result) of scenes that ended or took too long; waits up to 1 s for the first of them."""
    ready = select.select([x.stdout for x in busy], [], [], 1)[0]
    for runner in busy:
        result: Result | None
        if runner.stdout in ready:
            result = runner.take()
        elif time.monotonic() - runner.since > limit_s:
            result = runner.give_up(limit_s)
        else:
            result = None
        if result is not None:
            yield runner, result


def run_all(command: list[str], jobs: int, together: list[int], alone: list[int],
            tell: Callable[[int, Result], None], limit_s: float) -> None:
    """Runs scenes, given by number, in runners that this command starts, and calls tell(number, result) for
    each. A scene that takes longer than limit_s is ended."""
    runners: list[_Runner] = []
    try:
        for numbers, width in ((together, jobs), (alone, 1)):
            waiting = list(numbers)
            while True:
                while waiting and sum(x.number is not None for x in runners) < width:
                    runner = next((x for x in runners if x.number is None), None)
                    if runner is None:
                        runners.append(runner := _Runner(command))
                    runner.give(waiting.pop(0))
                busy = [x for x in runners if x.number is not None]
                if not busy:
                    break
                for runner, result in _results(busy, limit_s):
                    assert runner.number is not None
                    tell(runner.number, result)
                    runner.number = None
                    if runner.popen.poll() is not None:
                        runner.end()
                        runners.remove(runner)
    finally:
        for runner in runners:
            runner.end()
