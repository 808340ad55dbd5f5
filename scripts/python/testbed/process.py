# SPDX-License-Identifier: BSD-3-Clause
"""Child processes that never outlive the testbed, and the list of what the testbed undoes when it closes.

Invariant: everything that a Testbed starts or changes is registered with Testbed.undo(). It is undone, last
first, when the `with` block is left: at its end, on an exception, on SIGINT, SIGTERM or SIGHUP. If the
testbed itself is killed, the kernel sends SIGKILL to its children.
"""
import ctypes
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from types import FrameType, TracebackType
from typing import IO, Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

PR_SET_PDEATHSIG = 1
KILLED_S = 60  # within this a process has ended that was killed
_libc = ctypes.CDLL(None, use_errno=True)


class TestbedError(Exception):
    """Something that must work did not. The message names the cause and the cure."""


def set_death_signal(number: int) -> None:
    """The kernel sends this signal to the calling process when its parent ends."""
    _libc.prctl(PR_SET_PDEATHSIG, number)


def _on_signal(number: int, _frame: FrameType | None) -> None:
    # A second signal must not interrupt the clean-up.
    for other in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(other, signal.SIG_IGN)
    sys.exit(128 + number)


class Process:
    """A process whose output goes to files; its class says how to look at it: pid, ended() and send()."""

    def __init__(self, path: str, args: Iterable[object]) -> None:
        """path: of the output files, without ".out" and ".err"; its last part is the name."""
        self.name, self.args = os.path.basename(path), [str(a) for a in args]
        self.out_path, self.err_path = path + ".out", path + ".err"

    @property
    def pid(self) -> int:
        raise NotImplementedError

    def ended(self, timeout_s: float = 0) -> int | None:
        """Waits for the end; returns the exit status, which is negative if a signal ended the process. None: it runs."""
        raise NotImplementedError

    def send(self, number: int) -> None:
        """Sends a signal to a process that runs."""
        raise NotImplementedError

    def out(self) -> str:
        with open(self.out_path, encoding="utf-8", errors="replace") as f:
            return f.read()

    def err(self) -> str:
        with open(self.err_path, encoding="utf-8", errors="replace") as f:
            return f.read()

    def running(self) -> bool:
        return self.ended() is None

    def must_run(self) -> None:
        """TestbedError if it has ended."""
        status = self.ended()
        if status is not None:
            raise TestbedError(f"{self.name} ended with status {status}\n{self.tail()}")

    def wait(self, timeout_s: float) -> int:
        """Returns the exit status. Raises TestbedError if the process does not end in time."""
        status = self.ended(timeout_s)
        if status is None:
            raise TestbedError(f"{self.name} does not end within {timeout_s:g} s\n{self.tail()}")
        return status

    def check(self, timeout_s: float) -> str:
        """Waits for exit status 0; returns the standard output."""
        status = self.wait(timeout_s)
        if status != 0:
            raise TestbedError(f"{self.name} ended with status {status}\n{self.tail()}")
        return self.out()

    def tail(self, lines: int = 30) -> str:
        """The last lines of its output, for an error message."""
        text = (self.out() + self.err()).splitlines()[-lines:]
        return "\n".join(f"  {self.name}: {line}" for line in text)

    def signal(self, number: int) -> None:
        if self.running():
            self.send(number)

    def stop(self, timeout_s: float = 5.0) -> int:
        """Sends SIGTERM, then SIGKILL. Returns the exit status; it is negative if a signal ended the process."""
        self.signal(signal.SIGTERM)
        status = self.ended(timeout_s)
        if status is None:
            self.signal(signal.SIGKILL)
            status = self.wait(KILLED_S)
        return status


class Child(Process):
    """A child process."""

    def __init__(self, path: str, args: Iterable[object], cpus: Collection[int] | None = None,
                 ns: str | None = None, env: Mapping[str, str] | None = None,
                 stdin: int | IO[bytes] | None = None) -> None:
        """cpus: the CPUs that the child may use. ns: its network namespace. env: variables to add."""
        super().__init__(path, args)
        command = list(self.args)
        if ns is not None:
            command = ["ip", "netns", "exec", ns] + command

        def before() -> None:
            set_death_signal(signal.SIGKILL)
            if cpus:
                os.sched_setaffinity(0, cpus)

        with open(self.out_path, "wb") as out, open(self.err_path, "wb") as err:
            self.popen = subprocess.Popen(
                command, stdin=stdin if stdin is not None else subprocess.DEVNULL, stdout=out,
                stderr=err, env={**os.environ, **(env or {})}, preexec_fn=before)

    @property
    def pid(self) -> int:
        return self.popen.pid

    def ended(self, timeout_s: float = 0) -> int | None:
        try:
            return self.popen.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return None

    def send(self, number: int) -> None:
        self.popen.send_signal(number)


class Testbed:
    """A scratch folder, children, and the list of what to undo."""
    dir: str

    def __init__(self, name: str, keep_dir: str | None = None) -> None:
        """keep_dir: if the testbed ends with an exception, it copies the logs there."""
        self.name, self.keep_dir = name, keep_dir
        self._undo: list[tuple[Callable[..., object], tuple[Any, ...], dict[str, Any]]] = []
        self._count = 0

    def __enter__(self) -> "Testbed":
        self._old = {n: signal.signal(n, _on_signal)
                     for n in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
        self.dir = tempfile.mkdtemp(prefix=f"sluice-{self.name}.")
        self.undo(shutil.rmtree, self.dir, ignore_errors=True)
        return self

    def __exit__(self, kind: type[BaseException] | None, _value: BaseException | None,
                 _trace: TracebackType | None) -> None:
        if kind is not None and self.keep_dir is not None:
            self.keep_logs(self.keep_dir)
        self.close()

    def mark(self) -> int:
        """A mark for close_to()."""
        return len(self._undo)

    def close_to(self, mark: int) -> None:
        """Undoes everything that was registered after the mark."""
        while len(self._undo) > mark:
            function, args, kwargs = self._undo.pop()
            function(*args, **kwargs)

    def close(self) -> None:
        for number in self._old:
            signal.signal(number, signal.SIG_IGN)
        while self._undo:
            function, args, kwargs = self._undo.pop()
            try:
                function(*args, **kwargs)
            except Exception as problem:  # the rest must be undone nevertheless
                print(f"clean-up: {function.__name__}: {problem}", file=sys.stderr)
        for number, handler in self._old.items():
            signal.signal(number, handler)

    def undo(self, function: Callable[P, object], *args: P.args, **kwargs: P.kwargs) -> None:
        """Registers a call that the testbed makes when it closes."""
        self._undo.append((function, args, kwargs))

    def undo_folder(self, path: str) -> None:
        """Registers a folder for removal that a child will make, such as EAL's for each --file-prefix."""
        self.undo(shutil.rmtree, path, ignore_errors=True)

    def keep_logs(self, folder: str) -> None:
        os.makedirs(folder, exist_ok=True)
        for name in os.listdir(self.dir):
            if name.endswith((".out", ".err", ".conf")):
                shutil.copy(os.path.join(self.dir, name), folder)

    def path(self, name: str) -> str:
        """A path in the scratch folder."""
        return os.path.join(self.dir, name)

    def output_path(self, name: str) -> str:
        """A path that no other process has, for the output of one (see Process)."""
        self._count += 1
        return self.path(f"{name}-{self._count}")

    def start(self, name: str, args: Iterable[object], cpus: Collection[int] | None = None,
              ns: str | None = None, env: Mapping[str, str] | None = None,
              stdin: int | IO[bytes] | None = None) -> Child:
        """Starts a child. The testbed stops it when it closes."""
        process = Child(self.output_path(name), args, cpus, ns, env, stdin)
        self.undo(process.stop)
        return process

    def run(self, name: str, args: Iterable[object], timeout_s: float = 60,
            cpus: Collection[int] | None = None, ns: str | None = None) -> str:
        """Runs a child until it ends with status 0; returns its standard output."""
        return self.start(name, args, cpus, ns).check(timeout_s)


def until(condition: Callable[[], T | None], timeout_s: float, what: str, step_s: float = 0.02,
          process: Process | None = None) -> T:
    """Waits until condition() is true; returns its value. what: for the error message, what was waited for.
    process: it makes the condition true; its end is an error."""
    end = time.monotonic() + timeout_s
    while True:
        value = condition()
        if value:
            return value
        if process is not None and not process.running():
            value = condition()  # what the process did before it ended counts
            if value:
                return value
            process.must_run()
        if time.monotonic() > end:
            tail = "" if process is None else f"\n{process.tail()}"
            raise TestbedError(f"{what}: not within {timeout_s:g} s{tail}")
        time.sleep(step_s)


def wait_listening(testbed: Testbed, ns: str, port: int, process: Process, udp: bool = False) -> None:
    """Waits until somebody listens on this port of the kernel's, in this namespace. process: it is to listen."""
    def there() -> bool:
        return f":{port} " in testbed.run("ss", ["ss", "-Hlnu" if udp else "-Hlnt"], ns=ns)

    until(there, 20, f"{process.name} listens", process=process)


def cpu_seconds(pid: int) -> float:
    """User and system time of a process with all its threads."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def status_kb(pid: int, key: str) -> int:
    """A field of /proc/PID/status in kB."""
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        for line in f:
            if line.startswith(key + ":"):
                return int(line.split()[1])
    raise TestbedError(f"/proc/{pid}/status has no {key}")


def cpus() -> list[int]:
    """The CPUs that this process may use, in order."""
    return sorted(os.sched_getaffinity(0))
