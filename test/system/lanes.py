# SPDX-License-Identifier: BSD-3-Clause
"""Running scenarios in lanes: processes of their own, each of which runs one scenario at a time.

Those that bear company run in all lanes at once, then the others, one by one, with nothing beside. A lane
is a process because a Lab takes over the signals of its process and names what it makes after it.
Invariant: every scenario has one result line; that of a lane that died says so.
"""
import contextlib
import io
import json
import os
import select
import signal
import subprocess
import sys

from lab.process import set_death_signal


def serve(run):
    """The lane's part: scenario numbers come on standard input, each answered with run(number), as a line
    of JSON. What the scenario prints goes into it, so that lanes do not mix theirs."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what a stray child prints is no answer
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
        self.number, self.answer = None, b""

    def give(self, number):
        self.number, self.answer = number, b""
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
        return {"state": "not ok", "said": [], "took": 0,
                "lines": [f"the process that ran it ended with status {status}"]}

    def end(self):
        if self.popen.poll() is None:
            self.popen.terminate()
            self.popen.wait()
        for pipe in (self.popen.stdin, self.popen.stdout):
            with contextlib.suppress(BrokenPipeError):
                pipe.close()


def run_all(command, jobs, together, alone, tell):
    """Runs scenarios, given by number, in lanes that this command starts; tell(number, result) for each."""
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
                busy = {x.popen.stdout: x for x in lanes if x.number is not None}
                if not busy:
                    break
                for pipe in select.select(list(busy), [], [])[0]:
                    lane = busy[pipe]
                    result = lane.take()
                    if result is None:
                        continue
                    tell(lane.number, result)
                    lane.number = None
                    if lane.popen.poll() is not None:
                        lane.end()
                        lanes.remove(lane)
    finally:
        for lane in lanes:
            lane.end()
