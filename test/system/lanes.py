# SPDX-License-Identifier: BSD-3-Clause
"""Running scenarios in lanes: processes of their own, each of which runs one scenario at a time.

Those that bear company run in all lanes at once, then the others, one by one, with nothing beside. A lane
is a process because a Lab takes over the signals of its process and names what it makes after it.
Invariant: every scenario has one result; that of a lane that died, or of a scenario that took too long, says so.
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

from lab.process import set_death_signal

CLEAN_UP_S = 60  # what a Lab may take to put back what its scenario changed


def serve(run):
    """The lane's part: scenario numbers come on standard input, each answered with run(number), as a line
    of JSON. What the scenario prints goes into it, so that lanes do not mix theirs."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what a stray child prints is no answer
    faulthandler.register(signal.SIGUSR1)  # says on standard error where the lane is
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # ends a lane at rest; a Lab has its own
    for line in sys.stdin:
        said = io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            result = run(int(line))
        answers.write(json.dumps({**result, "said": said.getvalue().splitlines()}) + "\n")
        answers.flush()
    return 0


class _Lane:
    """Seen from run.py."""

    def __init__(self, command):
        # Should run.py be killed, the lane still puts back what its scenario changed.
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
        """Ends a lane whose scenario does not end; its result."""
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
    """(lane, result) of those that ended, or took too long; waits a while for the first of them."""
    ready = select.select([x.popen.stdout for x in busy], [], [], 1)[0]
    for lane in busy:
        if lane.popen.stdout in ready:
            result = lane.take()
        elif time.monotonic() - lane.since > limit_s:
            result = lane.give_up(limit_s)
        else:
            result = None
        if result is not None:
            yield lane, result


def run_all(command, jobs, together, alone, tell, limit_s):
    """Runs scenarios, given by number, in lanes that this command starts; tell(number, result) for each.
    No scenario may take longer than limit_s."""
    lanes = []
    try:
        for numbers, width in ((together, jobs), (alone, 1)):
            waiting = list(numbers)
            while True:
                while waiting and sum(x.number is not None for x in lanes) < width:
                    lane = next((x for x in lanes if x.number is None), None)
                    if lane is None:
                        lanes.append(lane := _Lane(command))
                    lane.give(waiting.pop(0))
                busy = [x for x in lanes if x.number is not None]
                if not busy:
                    break
                for lane, result in _results(busy, limit_s):
                    tell(lane.number, result)
                    lane.number = None
                    if lane.popen.poll() is not None:
                        lane.end()
                        lanes.remove(lane)
    finally:
        for lane in lanes:
            lane.end()
