# SPDX-License-Identifier: BSD-3-Clause
"""Functions that the cases of files_test.py share: they run `sluice`, compare trees and run the cases."""
import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from typing import IO, Any, ClassVar

import tap

from . import files_raw as raw

BUILD = os.environ.get("SLUICE_BUILD", "build")
SOCK_A = os.environ.get("SLUICE_SOCK_A", "")
SOCK_B = os.environ.get("SLUICE_SOCK_B", "")
ADDR_B = os.environ.get("SLUICE_ADDR_B", "")
SLUICE = os.path.join(BUILD, "app", "sluice", "sluice")
PATIENCE_S = 60
SEED = int(os.environ.get("SLUICE_SEED") or str(random.randrange(1 << 32)), 0)
MIB = 1 << 20
OK, TRANSFER, USAGE, DAEMON, PEER, LOCAL, REMOTE, RESOURCE = range(8)

CaseFunction = Callable[[str], None]  # it gets an empty folder

_ports = iter(range(20000, 30000))
_cases: list[tuple[str, CaseFunction]] = []


class Skip(Exception):
    """This machine cannot run the case; the message says why."""


def case(name: str) -> Callable[[CaseFunction], CaseFunction]:
    """Decorator that registers a case."""
    def register(function: CaseFunction) -> CaseFunction:
        _cases.append((name, function))
        return function
    return register


def port() -> int:
    """A service number that no other case uses."""
    return next(_ports)


class Run:
    """A process of the command, with its output in files. prefix: words in front of the command."""
    running: ClassVar[list["Run"]] = []

    def __init__(self, *args: object, stdin: int = subprocess.DEVNULL, stdout: IO[bytes] | None = None,
                 sock: str | None = None, prefix: Sequence[str] = (), umask: int = -1) -> None:
        self.out_file: IO[bytes] = tempfile.TemporaryFile() if stdout is None else stdout
        self.err_file: IO[bytes] = tempfile.TemporaryFile()
        self.argv = [*prefix, SLUICE, *(str(a) for a in args)]
        if sock is not None:
            self.argv += ["--socket", sock]
        self.process = subprocess.Popen(self.argv, stdin=stdin, stdout=self.out_file,
                                        stderr=self.err_file, umask=umask)
        Run.running.append(self)

    @classmethod
    def end_all(cls) -> None:
        """Ends the processes that a failed case has left."""
        for run in cls.running:
            if run.process.poll() is None:
                run.process.kill()
                run.process.wait()
        cls.running.clear()

    @staticmethod
    def _text(file: IO[bytes]) -> str:
        return os.pread(file.fileno(), 1 << 20, 0).decode(errors="surrogateescape")

    @property
    def out(self) -> str:
        return self._text(self.out_file)

    @property
    def err(self) -> str:
        return self._text(self.err_file)

    @property
    def errors(self) -> list[str]:
        """Lines on stderr that are errors, not remarks."""
        return [x for x in self.err.splitlines()
                if not x.startswith(("sluice: waiting on port", "sluice: sent ", "sluice: received ",
                                     "sluice: limited for "))]

    def ready(self) -> None:
        """Waits until a receiver or server listens (-v)."""
        wait_for("ready", lambda: "waiting on port" in self.err or self.process.poll() is not None)
        assert self.process.poll() is None, f"the process has ended\n{self.err}"

    def signal(self, number: int) -> None:
        self.process.send_signal(number)

    def wait(self, timeout_s: float = PATIENCE_S) -> int:
        try:
            return self.process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise AssertionError(f"{' '.join(self.argv)}: does not end within {timeout_s} s\n"
                                 f"{self.err}") from None

    def expect(self, code: int, *words: str, lines: int | None = None, timeout_s: float = PATIENCE_S) -> None:
        """The process must end with this code. Each error must be one line that names cause and cure."""
        status = self.wait(timeout_s)
        assert status == code, f"exit {status}, not {code}\n{self.err}{self.out[-500:]}"
        errors = self.errors
        if lines is None:
            lines = 0 if code == 0 else 1
        assert len(errors) == lines, f"{lines} lines of errors are due\n{self.err}"
        for line in errors:
            assert line.startswith("sluice: ") and len(line) > 20, line
            assert ": " in line[8:] or ";" in line, f"no cause and cure: {line}"
        for word in words:
            assert word in self.err, f"{word!r} is not in\n{self.err}"


def recv(where: str, *args: object, once: bool = True, stdout: IO[bytes] | None = None,
         umask: int = 0) -> tuple[Run, str]:
    """Starts a receiver and waits until it is ready. Returns it and its host:port. By default it keeps all
    permission bits."""
    number = port()
    run = Run("recv", "-v", "-p", number, "-o", where, *(["--once"] if once else []), *args,
              sock=SOCK_B, stdout=stdout, umask=umask)
    run.ready()
    return run, f"{ADDR_B}:{number}"


def send(*args: object, stdin: int = subprocess.DEVNULL, prefix: Sequence[str] = ()) -> Run:
    return Run("send", *args, sock=SOCK_A, stdin=stdin, prefix=prefix)


def feeding(*args: object) -> tuple[Run, int]:
    """Starts a sender whose standard input stays open; returns it and the pipe into it."""
    reader, writer = os.pipe()
    run = send(*args, stdin=reader)
    os.close(reader)
    return run, writer


def attacker(sock: str) -> raw.Raw:
    """A session that may send what `sluice` never sends."""
    try:
        return raw.Raw(raw.library(BUILD), sock)
    except (OSError, IndexError) as why:
        raise Skip(f"libsluice.so cannot be loaded: {why}") from why


def without_override() -> tuple[str, ...]:
    """Words before a command that make even root obey permissions."""
    tool = shutil.which("setpriv", path="/usr/bin:/bin")
    if os.geteuid() != 0:
        return ()
    if tool is None:
        raise Skip("setpriv is missing")
    members = str(os.stat(SOCK_A).st_gid)  # who may use the daemon
    return (tool, "--bounding-set", "-dac_override,-dac_read_search", "--inh-caps", "-all", "--groups", members)


@contextlib.contextmanager
def small_disk(folder: str) -> Iterator[str]:
    """A folder in this one, on a disk of 3 MiB that no other file is on."""
    path = os.path.join(folder, "small")
    os.mkdir(path)
    mount, umount = (shutil.which(x, path="/usr/bin:/bin:/usr/sbin:/sbin") for x in ("mount", "umount"))
    if mount is None or umount is None or subprocess.run(
            [mount, "-t", "tmpfs", "-o", "size=3m", "sluice-test", path], check=False,
            stderr=subprocess.DEVNULL).returncode != 0:
        raise Skip("no right to mount")
    try:
        yield path
    finally:
        subprocess.run([umount, path], check=True)


def make(folder: str, name: str, content: bytes) -> str:
    """Makes a file; returns its path."""
    path = os.path.join(folder, name)
    with open(path, "wb") as f:
        f.write(content)
    return path


def make_large(folder: str, name: str, mib: int) -> str:
    """Makes a file of this many MiB of random bytes; returns its path."""
    path, rng = os.path.join(folder, name), random.Random(SEED)
    with open(path, "wb") as f:
        for _ in range(mib):
            f.write(rng.randbytes(MIB))
    return path


def to_folder(folder: str, *paths: str, options: Sequence[str] = ()) -> str:
    """Sends paths into folder/in, which must work; returns that folder."""
    target = os.path.join(folder, "in")
    os.makedirs(target, exist_ok=True)
    receiver, host = recv(target)
    sender = send(*options, *paths, host)
    sender.expect(OK)
    receiver.expect(OK)
    assert not parts(target), parts(target)
    return target


def parts(folder: str) -> list[str]:
    """Names of the temporary files that are left in this folder."""
    return [n for _, _, names in os.walk(folder) for n in names if ".part-" in n]


def part_bytes(folder: str) -> int:
    """Bytes of these files together."""
    return sum(os.path.getsize(os.path.join(path, n)) for path, _, names in os.walk(folder) for n in names if ".part-" in n)


def conns(sock: str) -> list[dict[str, Any]]:
    """The connections of a daemon, as `sluice show conns` has them."""
    run = Run("show", "conns", "--json", sock=sock)
    assert run.wait() == OK, run.err
    found: list[dict[str, Any]] = json.loads(run.out)["conns"]
    return found


def wait_for(what: str, condition: Callable[[], object], timeout_s: float = PATIENCE_S) -> None:
    end = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < end, f"{what}: not within {timeout_s:g} s"
        time.sleep(0.02)


def same_file(a: str | bytes, b: str | bytes) -> bool:
    with open(a, "rb") as x, open(b, "rb") as y:
        while True:
            one, two = x.read(1 << 22), y.read(1 << 22)
            if one != two:
                return False
            if not one:
                return True


def listing(folder: str) -> dict[bytes, tuple[bool, int, int, int]]:
    """{name: (is a directory, mode, mtime_ns, size)} of all that is in this folder."""
    found = {}
    for path, dirs, files in os.walk(os.fsencode(folder)):
        for name in dirs + files:
            full = os.path.join(path, name)
            st = os.lstat(full)
            is_dir = name in dirs
            found[os.path.relpath(full, os.fsencode(folder))] = (
                is_dir, st.st_mode & 0o777, st.st_mtime_ns, 0 if is_dir else st.st_size)
    return found


def same_tree(a: str, b: str) -> None:
    here, there = listing(a), listing(b)
    assert here == there, sorted(set(here.items()) ^ set(there.items()))[:6]
    for name, (is_dir, _, _, _) in here.items():
        assert is_dir or same_file(os.path.join(os.fsencode(a), name),
                                   os.path.join(os.fsencode(b), name)), name


def main(argv: list[str]) -> int:
    if not (SOCK_A and SOCK_B and ADDR_B):
        print("set SLUICE_BUILD, SLUICE_SOCK_A, SLUICE_SOCK_B and SLUICE_ADDR_B (daemons must run)")
        return 2
    print(f"# SLUICE_SEED={SEED}")
    chosen = [(n, f) for n, f in _cases if not argv or any(a in n for a in argv)]
    report = tap.Report(len(chosen))
    for name, function in chosen:
        began = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="sluice-files-") as folder:
            try:
                function(folder)
                report.ok(f"{name} ({time.monotonic() - began:.1f} s)")
            except Skip as why:
                report.skip(name, str(why))
            except Exception as error:  # whatever it is, this case has failed, and the next one runs
                report.fail(name, [f"{type(error).__name__}: {error}"])
            finally:
                Run.end_all()
    status = report.finish()
    print(f"{report.passed} passed, {report.failed} failed")
    return status


INTERRUPT = signal.SIGINT
sys.dont_write_bytecode = True
