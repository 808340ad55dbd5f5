#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""sluice-lab --dask, with a scheduler and workers of its own on loopback.

Usage: dask_test.py SLUICE-LAB SOURCE_ROOT [REGEX]      TAP on standard output; REGEX: selects checks by name

Dask's processes are forked from this one, which has already loaded Python and the modules. They die with this one,
even if it is killed.
"""
import asyncio
import contextlib
import ctypes
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import common  # noqa: E402
from common import LAB, Check, Skip, find, lab, need  # noqa: E402

try:
    import distributed  # noqa: E402
except ImportError:
    pass  # unusable() then has a reason

ENGINE = os.path.join(os.path.dirname(LAB), "sluice-lab-engine")
PATIENCE_S = 60
PR_SET_PDEATHSIG = 1
# Changes of common.SMALL: shorter, with random delays.
SHORT = (("until = 2\n", "until = 0.2\n"), ("from = 1s", "frames = 4000"), ("delay 1ms", "delay 1ms 1ms"),
         ("holds = 8 <= ours", "holds = 0 < ours"))
T = TypeVar("T")


def wait_for(what: str, condition: Callable[[], T]) -> T:
    """Waits until the condition's value is true; returns that value."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError(f"after {PATIENCE_S} s: {what}")


def children(pid: int, name: str) -> list[int]:
    """The children of a process that have this name."""
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/stat", encoding="ascii", errors="replace") as f:
                before, _, after = f.read().rpartition(")")
        except OSError:
            continue
        if before.partition("(")[2] == name[:15] and int(after.split()[1]) == pid and after.split()[0] != "Z":
            found.append(int(entry))
    return found


def gone(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as f:
            return f.read().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def serve(make: Callable[[], Any], pipe: int) -> None:
    """Runs the Dask server that make() returns, until it ends; writes its address to the pipe."""
    async def life() -> None:
        async with make() as server:
            os.write(pipe, server.address.encode() + b"\n")
            await server.finished()

    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    asyncio.run(life())


class Cluster:
    """A scheduler and its workers."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.workers: dict[str, int] = {}  # {address: pid}
        self.log = os.path.join(folder, "dask.log")
        self.scheduler: int | None
        self.scheduler, self.address = self.start(lambda: distributed.Scheduler(
            host="127.0.0.1", port=0, dashboard=False, dashboard_address="127.0.0.1:0"))

    def start(self, make: Callable[[], Any], **environment: str) -> tuple[int, str]:
        """(pid, address)"""
        ends = os.pipe()
        sys.stdout.flush()
        pid = os.fork()
        if pid == 0:
            try:
                log = os.open(self.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
                os.dup2(log, 1)
                os.dup2(log, 2)
                os.close(ends[0])
                os.environ.update(environment)
                serve(make, ends[1])
            except BaseException:  # this process must not go on as the test
                traceback.print_exc()
            finally:
                os._exit(0)
        os.close(ends[1])
        with os.fdopen(ends[0], encoding="ascii") as f:
            address = f.readline().strip()
        need(address, f"Dask did not start: {self.said()}")
        return pid, address

    def worker(self, threads: int = 1, **environment: str) -> str:
        """Starts a worker; returns its address."""
        pid, address = self.start(lambda: distributed.Worker(
            self.address, nthreads=threads, host="127.0.0.1", dashboard=False, dashboard_address="127.0.0.1:0",
            local_directory=self.folder), **environment)
        self.workers[address] = pid
        return address

    def kill(self, address: str) -> None:
        self.end(self.workers.pop(address))

    @staticmethod
    def end(pid: int) -> None:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)

    def end_scheduler(self) -> None:
        if self.scheduler is not None:
            self.end(self.scheduler)
            self.scheduler = None

    def engines(self) -> dict[str, list[int]]:
        """{address of a worker: its engines}, of the workers that have any"""
        found = {a: children(pid, "sluice-lab-engine") for a, pid in self.workers.items()}
        return {a: pids for a, pids in found.items() if pids}

    def wait_engines(self, what: str, address: str, count: int) -> list[int]:
        """Waits until a worker has this many engines; returns them."""
        def enough() -> list[int]:
            pids = self.engines().get(address, [])
            return pids if len(pids) == count else []

        return wait_for(what, enough)

    def said(self) -> str:
        with open(self.log, encoding="utf-8", errors="replace") as f:
            return f.read()[-2000:]

    def close(self) -> None:
        self.end_scheduler()
        for pid in self.workers.values():
            self.end(pid)
        self.workers.clear()


@contextlib.contextmanager
def cluster(folder: str) -> Iterator[Cluster]:
    made = Cluster(folder)
    try:
        yield made
    finally:
        made.close()


@contextlib.contextmanager
def started(*args: str) -> Iterator[subprocess.Popen[str]]:
    """sluice-lab, running; it is killed in the end."""
    with subprocess.Popen([LAB, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    """(exit status, standard error)"""
    _, told = process.communicate(timeout=PATIENCE_S)
    return process.returncode, told


def small(folder: str, *changes: tuple[str, str]) -> str:
    """common.SMALL with SHORT and these changes, as a file."""
    def change(text: str) -> str:
        for old, new in SHORT + changes:
            need(old in text, f"the test does not fit its file: {old}")
            text = text.replace(old, new)
        return text

    return common.small(folder, change)


def rows(out: str) -> dict[str, bytes]:
    """The contents of the files of rows."""
    found = {}
    for name in ("rows.jsonl", "rows.csv"):
        with open(os.path.join(out, "small", name), "rb") as f:
            found[name] = f.read()
    return found


def here(folder: str, path: str, *args: str) -> dict[str, bytes]:
    """The rows that a run on this machine gives."""
    out = os.path.join(folder, "here")
    done = lab("sweep", path, "--jobs", "2", "--quiet", "--out", out, *args)
    need(done.returncode == 0, done.stderr)
    return rows(out)


def check_no_package(folder: str) -> None:
    """--dask without the package, or with one of a newer release, is an error that names it. Without --dask the
    package is not needed."""
    program = "import importlib.metadata, sys; {}; sys.argv[:1] = []; exec(open(sys.argv[0]).read())"
    gone = "sys.modules['distributed'] = None"
    newer = "importlib.metadata.version = lambda name: '2024.12.1'"
    path, wanted = small(folder), ["--dask", "tcp://127.0.0.1:1"]
    no_words: list[str] = []
    for change, args, status, told in ((gone, wanted, 2, "install python3-distributed"),
                                       (gone, no_words, 0, "6 of 6 runs"),
                                       (newer, wanted, 2, "does not work with Dask 2024.12.1 yet")):
        if change == newer and "distributed" not in sys.modules:
            continue
        done = subprocess.run([sys.executable, "-B", "-c", program.format(change), LAB, "sweep", path, "--out", folder,
                               *args], capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        need(done.returncode == status and told in done.stderr, f"{done.returncode}: {done.stderr}")
        need(len(done.stderr.strip().splitlines()) == 1, done.stderr)


def check_no_scheduler(folder: str) -> None:
    """Four errors: nothing listens; the process that listens is not a scheduler; the address is malformed; the
    experiment is live."""
    with socket.socket() as closed, socket.socket() as silent:
        for s in (closed, silent):
            s.bind(("127.0.0.1", 0))
        silent.listen()
        for port in (closed.getsockname()[1], silent.getsockname()[1]):
            address = f"tcp://127.0.0.1:{port}"
            done = lab("sweep", small(folder), "--out", folder, "--dask", address)
            need(done.returncode == 2 and f"{address}: no Dask scheduler answers there; start one" in done.stderr,
                 f"{done.returncode}: {done.stderr}")
            need(len(done.stderr.strip().splitlines()) == 1, done.stderr)
    done = lab("sweep", small(folder), "--out", folder, "--dask", "127.0.0.1")
    need(done.returncode == 2 and "--dask 127.0.0.1: not the address of a scheduler; " in done.stderr, done.stderr)
    done = lab("run", "vt-size-live", "--out", folder, "--dask", "tcp://127.0.0.1:1")
    need(done.returncode == 2 and "vt-size-live is run live" in done.stderr and "leave out --dask" in done.stderr,
         done.stderr)


def check_engines(folder: str) -> None:
    """A worker without the engine, and one with another engine, are named and get no run. A worker that has the same
    engine at another path makes the same rows."""
    path, other, same = small(folder), os.path.join(folder, "other"), os.path.join(folder, "same")
    wanted = here(folder, path)
    with cluster(folder) as c:
        none = c.worker(SLUICE_LAB_ENGINE=other)
        done = lab("sweep", path, "--quiet", "--out", folder, "--dask", c.address)
        need(done.returncode == 2 and "no worker can run this" in done.stderr, done.stderr)
        need(f"worker {none} is not used: it has no engine: {other}: No such file" in done.stderr, done.stderr)
        c.kill(none)
        for copy in (other, same):
            shutil.copy(ENGINE, copy)
        with open(other, "ab") as f:
            f.write(b"\0")
        bad, good = c.worker(SLUICE_LAB_ENGINE=other), c.worker(2, SLUICE_LAB_ENGINE=same)
        done = lab("run", path, "--quiet", "--no-figures", "--out", folder, "--dask", c.address)
        need(done.returncode == 0 and "holds" in done.stdout, done.stderr)
        find(rf"worker {bad} is not used: it has another engine: {other} is sluice-lab-engine \S+, SHA-256 .*; "
             r"here it is sluice-lab-engine \S+, ", done.stderr)
        need(good not in done.stderr and len(done.stderr.splitlines()) == 2, done.stderr)
        need(rows(folder) == wanted, "other rows")
        c.kill(bad)
        check_told(folder, c.address)


def check_told(folder: str, address: str) -> None:
    """A mistake in a world gives the same message as here. The memory that a run takes is announced, and no worker
    gets more runs than fit into its memory."""
    path = small(folder, ("[host b]", "[host b]\nmtv = 1500"))
    both = [lab("sweep", path, "--quiet", "--out", folder, *args) for args in (("--jobs", "2"), ("--dask", address))]
    need([b.returncode for b in both] == [2, 2] and both[0].stderr == both[1].stderr, both)
    need("did you mean mtu" in both[1].stderr, both)
    path = small(folder, ("frames = 4000", "frames = 100000"))
    done = lab("sweep", path, "--quiet", "--out", folder, "--dask", address, "--grid", "rate=5")
    told = re.findall(r"small\.conf: a run takes \d+ MB of memory; tcp://\S+: (\d+) at a time, "
                      r"of \d+ MB that are free", done.stderr)
    need(done.returncode == 0 and told and all(1 <= int(n) <= 2 for n in told), done.stderr)
    path = small(folder, ("frames = 4000", "frames = 4000000"), ("[host b]", "[host b]\nmtu = 16384"))
    with open("/proc/meminfo", encoding="ascii") as f:
        if int(f.readline().split()[1]) > 70 << 20:
            return  # 70 GB: on such a machine the run may fit
    done = lab("sweep", path, "--quiet", "--out", folder, "--dask", address)
    need(done.returncode == 2, done.stderr)
    find(r"worker tcp://\S+ is not used: .*a run takes \d+ MB of memory, and \d+ MB are free", done.stderr)


def check_killed(folder: str) -> None:
    """A worker is killed during a run. Its runs are repeated elsewhere, its engine ends, the rows are the same."""
    path = small(folder, ("until = 0.2", "until = 2"))
    wanted = here(folder, path)
    with cluster(folder) as c:
        for _ in range(2):
            c.worker()
        with started("sweep", path, "--out", folder, "--quiet", "--dask", c.address) as process:
            wait_for("no run on both workers", lambda: len(c.engines()) == 2)
            victim, engines = next(iter(c.engines().items()))
            c.kill(victim)
            wait_for("its engine outlives it", lambda: all(map(gone, engines)))
            status, told = ended(process)
        need(status == 0, told)
        find(rf"worker {victim} was lost; its runs are repeated: run \d of sweep rates \(rate=\d+, replica \d\)", told)
        need(rows(folder) == wanted, "other rows")


def check_killer(folder: str) -> None:
    """A run whose workers die is tried three times in all, and named. The runs beside it are not blamed, for after
    the first death each suspect runs alone, though others wait."""
    path = small(folder, ("until = 0.2", "until = ${100000 if rate > 10 else 0.2}"),
                 ("rate = 5 10 20\nrepeat = 2", "rate = 5 10 20 6 7"))
    with cluster(folder) as c:
        lost: list[str] = []

        def alone() -> list[int]:
            engines = c.engines().get(lost[-1], [])
            need(len(engines) <= 1, "a suspect is not alone")
            # After the second death longer than LOOK_S of cluster.py, so that it could have sent another run there.
            return engines if any(busy(pid, 1.5 if len(lost) == 2 else 0.3) for pid in engines) else []

        with started("sweep", path, "--out", folder, "--quiet", "--dask", c.address) as process:
            for death in range(3):
                lost.append(c.worker(3))
                engines = wait_for("no run there", alone) if death else c.wait_engines("no run there", lost[0], 3)
                c.kill(lost[-1])
                wait_for("an engine outlives its worker", lambda: all(map(gone, engines)))
            status, told = ended(process)
    need(status == 2 and "small.conf: run 2 of sweep rates (rate=20, replica 0) failed: 3 workers were lost while they "
         f"ran it: {', '.join(lost)}; " in told, f"{status}: {told}")
    need(not os.path.exists(os.path.join(folder, "small", "rows.jsonl")), "rows were written")


def busy(pid: int, cpu_min_s: float) -> bool:
    """Whether a process has used this much CPU time, as only the long run does."""
    with contextlib.suppress(OSError), open(f"/proc/{pid}/stat", encoding="ascii") as f:
        return int(f.read().rpartition(")")[2].split()[11]) >= cpu_min_s * os.sysconf("SC_CLK_TCK")
    return False


def check_interrupted(folder: str) -> None:
    """After Ctrl-C no queued run begins and no engine goes on. The same holds if sluice-lab or the scheduler is
    killed."""
    path = small(folder, ("until = 0.2", "until = 100000"))  # minutes of CPU time
    with cluster(folder) as c:
        worker = c.worker(2)

        def interrupt(process: subprocess.Popen[str]) -> None:
            process.send_signal(signal.SIGINT)
            status, told = ended(process)
            need(status == 130 and told == "sluice-lab: interrupted; nothing was written\n", f"{status}: {told}")

        stops: list[Callable[[subprocess.Popen[str]], None]] = [
            interrupt, lambda process: process.kill(), lambda _: c.end_scheduler()]
        for stop in stops:
            with started("sweep", path, "--out", folder, "--quiet", "--dask", c.address) as process:
                engines = c.wait_engines("no two runs", worker, 2)
                stop(process)
                wait_for("an engine goes on", lambda: all(map(gone, engines)))
                time.sleep(0.3)
                need(not c.engines(), "a queued run has begun")
                if process.poll() is None:
                    status, told = ended(process)
                    need(status in (2, -signal.SIGKILL), f"{status}: {told}")
                    need(status != 2 or "the scheduler does not answer any more; nothing was written" in told, told)
    need(not os.path.exists(os.path.join(folder, "small", "rows.jsonl")), "rows were written")


def unusable() -> str | None:
    """Why Dask cannot be tried here, from a message of sluice-lab; None: it can."""
    with tempfile.TemporaryDirectory() as folder:
        done = lab("sweep", small(folder), "--out", folder, "--dask", "tcp://127.0.0.1:1")
    found = re.search(r"install python3-distributed|does not work with Dask [^;]*", done.stderr)
    return None if found is None else found.group()


def skipped(why: str) -> Check:
    def check(_folder: str) -> None:
        raise Skip(why)

    return check


def main() -> int:
    checks: dict[str, Check] = {f.__name__[6:].replace("_", " "): f for f in
              (check_no_package, check_no_scheduler, check_engines, check_killed, check_killer, check_interrupted)}
    why = unusable()
    if why:
        checks = {name: check if check is check_no_package else skipped(why) for name, check in checks.items()}
    return common.run(checks)


if __name__ == "__main__":
    sys.exit(main())
