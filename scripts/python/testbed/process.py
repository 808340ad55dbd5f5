# SPDX-License-Identifier: BSD-3-Clause
"""Processes that never outlive the testbed, and what is put back when it closes.

Invariant: everything a Testbed starts or changes is registered with Testbed.undo() and undone, last first,
when the `with` block is left: at its end, on an exception, on SIGINT, SIGTERM or SIGHUP. Children
get SIGKILL from the kernel should the testbed itself be killed.
"""
import ctypes
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)


class TestbedError(Exception):
    """Something that must work did not; the message names cause and cure."""


def set_death_signal(number):
    """This process gets this signal when its parent ends."""
    _libc.prctl(PR_SET_PDEATHSIG, number)


def _on_signal(number, _frame):
    # A second one must not cut the clean-up short.
    for other in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(other, signal.SIG_IGN)
    sys.exit(128 + number)


class Process:
    """A child with its output in files; cpus: list of CPUs it may use."""

    def __init__(self, testbed, name, args, cpus=None, ns=None, env=None, stdin=None, own_group=False):
        self.name, self.args = name, [str(a) for a in args]
        self.out_path = os.path.join(testbed.dir, f"{name}.out")
        self.err_path = os.path.join(testbed.dir, f"{name}.err")
        command = list(self.args)
        if ns is not None:
            command = ["ip", "netns", "exec", ns] + command

        def before():
            set_death_signal(signal.SIGKILL)
            if cpus:
                os.sched_setaffinity(0, cpus)

        with open(self.out_path, "wb") as out, open(self.err_path, "wb") as err:
            self.popen = subprocess.Popen(
                command, stdin=stdin if stdin is not None else subprocess.DEVNULL, stdout=out,
                stderr=err, env={**os.environ, **(env or {})}, preexec_fn=before,
                start_new_session=own_group)
        self.started = time.monotonic()

    @property
    def pid(self):
        return self.popen.pid

    def out(self):
        with open(self.out_path, encoding="utf-8", errors="replace") as f:
            return f.read()

    def err(self):
        with open(self.err_path, encoding="utf-8", errors="replace") as f:
            return f.read()

    def running(self):
        return self.popen.poll() is None

    def wait(self, timeout_s):
        """Exit status; TestbedError if it does not end in time."""
        try:
            return self.popen.wait(timeout_s)
        except subprocess.TimeoutExpired:
            raise TestbedError(f"{self.name} does not end within {timeout_s:g} s\n{self.tail()}") from None

    def check(self, timeout_s):
        """Waits for exit status 0; returns what it printed."""
        status = self.wait(timeout_s)
        if status != 0:
            raise TestbedError(f"{self.name} ended with status {status}\n{self.tail()}")
        return self.out()

    def tail(self, lines=30):
        text = (self.out() + self.err()).splitlines()[-lines:]
        return "\n".join(f"  {self.name}: {line}" for line in text)

    def signal(self, number):
        if self.running():
            self.popen.send_signal(number)

    def stop(self, timeout_s=5.0):
        """SIGTERM, then SIGKILL; exit status, negative if it took a signal."""
        self.signal(signal.SIGTERM)
        try:
            return self.popen.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self.popen.kill()
            return self.popen.wait()


class Testbed:
    """A scratch folder, children, and the list of what to undo."""

    def __init__(self, name, keep_dir=None):
        """keep_dir: copy the scratch folder's logs there if the testbed ends with an exception."""
        self.name, self.keep_dir = name, keep_dir
        self._undo = []
        self.dir = None
        self._count = 0

    def __enter__(self):
        self._old = {n: signal.signal(n, _on_signal)
                     for n in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
        self.dir = tempfile.mkdtemp(prefix=f"sluice-{self.name}.")
        self.undo(shutil.rmtree, self.dir, ignore_errors=True)
        return self

    def __exit__(self, kind, _value, _trace):
        if kind is not None and self.keep_dir is not None:
            self.keep_logs(self.keep_dir)
        self.close()

    def mark(self):
        """For close_to()."""
        return len(self._undo)

    def close_to(self, mark):
        """Undoes what came after the mark."""
        while len(self._undo) > mark:
            function, args, kwargs = self._undo.pop()
            function(*args, **kwargs)

    def close(self):
        for number in self._old:
            signal.signal(number, signal.SIG_IGN)
        while self._undo:
            function, args, kwargs = self._undo.pop()
            try:
                function(*args, **kwargs)
            except Exception as problem:  # the rest must be undone all the same
                print(f"clean-up: {function.__name__}: {problem}", file=sys.stderr)
        for number, handler in self._old.items():
            signal.signal(number, handler)

    def undo(self, function, *args, **kwargs):
        self._undo.append((function, args, kwargs))

    def undo_folder(self, path):
        """Removes a folder that a child will make, such as EAL's for each --file-prefix."""
        self.undo(shutil.rmtree, path, ignore_errors=True)

    def keep_logs(self, folder):
        os.makedirs(folder, exist_ok=True)
        for name in os.listdir(self.dir):
            if name.endswith((".out", ".err", ".conf")):
                shutil.copy(os.path.join(self.dir, name), folder)

    def path(self, name):
        return os.path.join(self.dir, name)

    def start(self, name, args, **kwargs):
        """Starts a child; it is stopped when the testbed closes."""
        self._count += 1
        process = Process(self, f"{name}-{self._count}", args, **kwargs)
        self.undo(process.stop)
        return process

    def run(self, name, args, timeout_s=60, **kwargs):
        """Runs a child to its end, status 0; returns its output."""
        return self.start(name, args, **kwargs).check(timeout_s)


def until(condition, timeout_s, what, step_s=0.02):
    """Waits until condition() is true; returns its value."""
    end = time.monotonic() + timeout_s
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise TestbedError(f"{what}: not within {timeout_s:g} s")
        time.sleep(step_s)


def cpu_seconds(pid):
    """User and system time of a process with all its threads."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def thread_cpu_seconds(pid):
    """{(tid, name): seconds}: pollers are threads."""
    found = {}
    for tid in os.listdir(f"/proc/{pid}/task"):
        try:
            with open(f"/proc/{pid}/task/{tid}/stat", encoding="ascii") as f:
                head, rest = f.read().rsplit(")", 1)
        except FileNotFoundError:
            continue
        fields = rest.split()
        ticks = int(fields[11]) + int(fields[12])
        found[(int(tid), head.split("(", 1)[1])] = ticks / os.sysconf("SC_CLK_TCK")
    return found


def status_kb(pid, key):
    """A field of /proc/PID/status in kB."""
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        for line in f:
            if line.startswith(key + ":"):
                return int(line.split()[1])
    raise TestbedError(f"/proc/{pid}/status has no {key}")


def cpus():
    """CPUs this process may use, in order."""
    return sorted(os.sched_getaffinity(0))
