# SPDX-License-Identifier: BSD-3-Clause
"""Running scenarios in runners: processes of their own, each of which runs one scenario at a time.

Those that bear company run in all runners at once, then the others, one by one, with nothing beside. A runner
is a process because a Testbed takes over the signals of its process and names what it makes after it.
Invariant: every scenario has one result; that of a runner that died, or of a scenario that took too long, says so.
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

from testbed.process import set_death_signal

CLEAN_UP_S = 60  # what a Testbed may take to put back what its scenario changed


def serve(run):
    """The runner's part: scenario numbers come on standard input, each answered with run(number), as a line
    of JSON. What the scenario prints goes into it, so that runners do not mix theirs."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what a stray child prints is no answer
    faulthandler.register(signal.SIGUSR1)  # says on standard error where the runner is
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # ends a runner at rest; a Testbed has its own
    for line in sys.stdin:
        said = io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            result = run(int(line))
        answers.write(json.dumps({**result, "said": said.getvalue().splitlines()}) + "\n")
        answers.flush()
    return 0


class _Runner:
    """Seen from run.py."""

    def __init__(self, command):
        # Should run.py be killed, the runner still puts back what its scenario changed.
        self.popen = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                      preexec_fn=lambda: set_death_signal(signal.SIGTERM))
        self.number, self.answer, self.since = None, b"", 0

    def give(self, number):
        self.number, self.answer, self.since = number, b"", time.monotonic()
        with contextlib.suppress(BrokenPipeError):  # it is dead, which take() finds out
            self.popen.stdin.write(b"%d\n" % number)
            self.popen.stdin.flush()

    def take(self):
        """Its result, or None while the line is not whole; call it when there is something to read."""
        part = os.read(self.popen.stdout.fileno(), 1 << 16)
        self.answer += part
        if self.answer.endswith(b"\n"):
            return json.loads(self.answer)
        if part:
            return None
        status = self.popen.wait()
        return {"state": "not ok", "said": [], "took": 0, "cpu_s": 0,
                "lines": [f"the process that ran it ended with status {status}"]}

    def give_up(self, limit_s):
        """Ends a runner whose scenario does not end; its result."""
        self.popen.send_signal(signal.SIGUSR1)
        self.end()
        return {"state": "not ok", "said": [], "took": time.monotonic() - self.since, "cpu_s": 0,
                "lines": [f"does not end within {limit_s:g} s; where it stood is said above"]}

    def end(self):
        if self.popen.poll() is None:
            self.popen.terminate()
            try:
                self.popen.wait(CLEAN_UP_S)
            except subprocess.TimeoutExpired:
                self.popen.kill()
                self.popen.wait()
        for pipe in (self.popen.stdin, self.popen.stdout):
            with contextlib.suppress(BrokenPipeError):
                pipe.close()


def _results(busy, limit_s):
    """(runner, result) of those that ended, or took too long; waits a while for the first of them."""
    ready = select.select([x.popen.stdout for x in busy], [], [], 1)[0]
    for runner in busy:
        if runner.popen.stdout in ready:
            result = runner.take()
        elif time.monotonic() - runner.since > limit_s:
            result = runner.give_up(limit_s)
        else:
            result = None
        if result is not None:
            yield runner, result


def run_all(command, jobs, together, alone, tell, limit_s):
    """Runs scenarios, given by number, in runners that this command starts; tell(number, result) for each.
    No scenario may take longer than limit_s."""
    runners = []
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
                    tell(runner.number, result)
                    runner.number = None
                    if runner.popen.poll() is not None:
                        runner.end()
                        runners.remove(runner)
    finally:
        for runner in runners:
            runner.end()
