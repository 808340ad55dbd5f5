#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""sluice-lab --dask, with a scheduler and workers of its own on loopback.

Usage: dask_test.py SLUICE-LAB SOURCE_ROOT [REGEX]      TAP on standard output; REGEX: of the names of checks

Dask's processes are forked from this one, which has its modules loaded, so that they cost no start of Python
each. All die with this one, whatever becomes of it.
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

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import common  # noqa: E402
from common import LAB, Skip, lab, need  # noqa: E402

ENGINE = os.path.join(os.path.dirname(LAB), "sluice-lab-engine")
PATIENCE_S = 60
PR_SET_PDEATHSIG = 1
# Of common.SMALL: shorter, with delays that are drawn.
SHORT = (("until = 2\n", "until = 0.2\n"), ("from = 1s", "frames = 4000"), ("delay 1ms", "delay 1ms 1ms"),
         ("holds = 8 <= ours", "holds = 0 < ours"))


def wait_for(what, condition):
    """The condition's first value that is true."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError(f"after {PATIENCE_S} s: {what}")


def children(pid, name):
    """Processes of this name that a process, or one of its, has started."""
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


def gone(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as f:
            return f.read().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def serve(make, tell):
    """A process of Dask's: make() gives what it is, whose address goes through the pipe."""
    async def life():
        async with make() as server:
            os.write(tell, server.address.encode() + b"\n")
            await server.finished()

    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    asyncio.run(life())


class Cluster:
    """A scheduler, and workers as they are wanted."""

    def __init__(self, folder):
        self.folder, self.workers = folder, {}
        self.log = os.path.join(folder, "dask.log")
        self.scheduler, self.address = self.start(lambda: distributed.Scheduler(
            host="127.0.0.1", port=0, dashboard=False, dashboard_address="127.0.0.1:0"))

    def start(self, make, **environment):
        ends = os.pipe()
        sys.stdout.flush()
        pid = os.fork()
        if pid == 0:
            try:
                log = os.open(self.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
                os.dup2(log, 1), os.dup2(log, 2), os.close(ends[0])
                os.environ.update(environment)
                serve(make, ends[1])
            except BaseException:  # whatever it is, this process must not go on as the test
                traceback.print_exc()
            finally:
                os._exit(0)
        os.close(ends[1])
        with os.fdopen(ends[0], encoding="ascii") as f:
            address = f.readline().strip()
        need(address, f"Dask did not start: {self.said()}")
        return pid, address

    def worker(self, threads=1, **environment):
        """Its address."""
        pid, address = self.start(lambda: distributed.Worker(
            self.address, nthreads=threads, host="127.0.0.1", dashboard=False, dashboard_address="127.0.0.1:0",
            local_directory=self.folder), **environment)
        self.workers[address] = pid
        return address

    def kill(self, address):
        self.end(self.workers.pop(address))

    @staticmethod
    def end(pid):
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)

    def end_scheduler(self):
        if self.scheduler is not None:
            self.end(self.scheduler)
            self.scheduler = None

    def engines(self):
        """{address of a worker: engines that it has}, of those that have any"""
        found = {a: children(pid, "sluice-lab-engine") for a, pid in self.workers.items()}
        return {a: pids for a, pids in found.items() if pids}

    def said(self):
        with open(self.log, encoding="utf-8", errors="replace") as f:
            return f.read()[-2000:]

    def close(self):
        self.end_scheduler()
        for pid in self.workers.values():
            self.end(pid)
        self.workers.clear()


@contextlib.contextmanager
def cluster(folder):
    made = Cluster(folder)
    try:
        yield made
    finally:
        made.close()


@contextlib.contextmanager
def started(*args):
    """sluice-lab while it runs; killed if it still does in the end."""
    with subprocess.Popen([LAB, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def ended(process):
    """(exit status, standard error)"""
    _, told = process.communicate(timeout=PATIENCE_S)
    return process.returncode, told


def small(folder, *changes):
    def change(text):
        for old, new in SHORT + changes:
            need(old in text, f"the test does not fit its file: {old}")
            text = text.replace(old, new)
        return text

    return common.small(folder, change)


def rows(out):
    """Each file of rows, byte for byte."""
    found = {}
    for name in ("rows.jsonl", "rows.csv"):
        with open(os.path.join(out, "small", name), "rb") as f:
            found[name] = f.read()
    return found


def here(folder, path, *args):
    """The rows that this machine makes of it."""
    out = os.path.join(folder, "here")
    done = lab("sweep", path, "--jobs", "2", "--quiet", "--out", out, *args)
    need(done.returncode == 0, done.stderr)
    return rows(out)


def check_no_package(folder):
    """A word of which package it is, or of its release, and none of it where --dask is not wanted."""
    program = "import importlib.metadata, sys; {}; sys.argv[:1] = []; exec(open(sys.argv[0]).read())"
    gone = "sys.modules['distributed'] = None"
    newer = "importlib.metadata.version = lambda name: '2024.12.1'"
    path, wanted = small(folder), ["--dask", "tcp://127.0.0.1:1"]
    for change, args, status, told in ((gone, wanted, 2, "install python3-distributed"), (gone, [], 0, "6 of 6 runs"),
                                       (newer, wanted, 2, "does not work with Dask 2024.12.1 yet")):
        if change == newer and distributed is None:
            continue
        done = subprocess.run([sys.executable, "-B", "-c", program.format(change), LAB, "sweep", path, "--out", folder, *args],
                              capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        need(done.returncode == status and told in done.stderr, f"{done.returncode}: {done.stderr}")
        need(len(done.stderr.strip().splitlines()) == 1, done.stderr)


def check_no_scheduler(folder):
    """No process listens; one listens that is no scheduler; the address is malformed; the experiment is live."""
    with socket.socket() as closed, socket.socket() as silent:
        closed.bind(("127.0.0.1", 0)), silent.bind(("127.0.0.1", 0)), silent.listen()
        for port in (closed.getsockname()[1], silent.getsockname()[1]):
            done = lab("sweep", small(folder), "--out", folder, "--dask", f"tcp://127.0.0.1:{port}")
            need(done.returncode == 2 and f"tcp://127.0.0.1:{port}: no Dask scheduler answers there; start one" in done.stderr,
                 f"{done.returncode}: {done.stderr}")
            need(len(done.stderr.strip().splitlines()) == 1, done.stderr)
    done = lab("sweep", small(folder), "--out", folder, "--dask", "127.0.0.1")
    need(done.returncode == 2 and "--dask 127.0.0.1: not the address of a scheduler; " in done.stderr, done.stderr)
    done = lab("run", "vt-size-live", "--out", folder, "--dask", "tcp://127.0.0.1:1")
    need(done.returncode == 2 and "vt-size-live is run live" in done.stderr and "leave out --dask" in done.stderr, done.stderr)


def check_engines(folder):
    """A worker without the engine, and one with another, are named and get no run; another makes the same rows,
    wherever it has the same engine."""
    path, other, same = small(folder), os.path.join(folder, "other"), os.path.join(folder, "same")
    wanted = here(folder, path)
    with cluster(folder) as c:
        none = c.worker(SLUICE_LAB_ENGINE=other)
        done = lab("sweep", path, "--quiet", "--out", folder, "--dask", c.address)
        need(done.returncode == 2 and f"worker {none} is not used: it has no engine: {other}: No such file" in done.stderr
             and "no worker can run this" in done.stderr, done.stderr)
        c.kill(none)
        for copy in (other, same):
            shutil.copy(ENGINE, copy)
        with open(other, "ab") as f:
            f.write(b"\0")
        bad, good = c.worker(SLUICE_LAB_ENGINE=other), c.worker(2, SLUICE_LAB_ENGINE=same)
        done = lab("run", path, "--quiet", "--no-figures", "--out", folder, "--dask", c.address)
        need(done.returncode == 0 and "holds" in done.stdout, done.stderr)
        need(re.search(rf"worker {bad} is not used: it has another engine: {other} is sluice-lab-engine \S+, SHA-256 .*; here it is "
                       r"sluice-lab-engine \S+, ", done.stderr), done.stderr)
        need(good not in done.stderr and len(done.stderr.splitlines()) == 2, done.stderr)
        need(rows(folder) == wanted, "other rows")
        c.kill(bad)
        check_told(folder, c.address)


def check_told(folder, address):
    """A mistake in a world is told as here. What a run takes is told beforehand, and no worker gets more of them
    than it has memory for."""
    path = small(folder, ("[host b]", "[host b]\nmtv = 1500"))
    told = [lab("sweep", path, "--quiet", "--out", folder, *args) for args in (("--jobs", "2"), ("--dask", address))]
    need([t.returncode for t in told] == [2, 2] and told[0].stderr == told[1].stderr and "did you mean mtu" in told[1].stderr, told)
    path = small(folder, ("frames = 4000", "frames = 100000"))
    done = lab("sweep", path, "--quiet", "--out", folder, "--dask", address, "--grid", "rate=5")
    told = re.findall(r"small\.conf: a run takes \d+ MB of memory; tcp://\S+: (\d+) at a time, of \d+ MB that are free", done.stderr)
    need(done.returncode == 0 and told and all(1 <= int(n) <= 2 for n in told), done.stderr)
    path = small(folder, ("frames = 4000", "frames = 4000000"), ("[host b]", "[host b]\nmtu = 16384"))
    with open("/proc/meminfo", encoding="ascii") as f:
        if int(f.readline().split()[1]) > 70 << 20:
            return  # of kB: such a machine may have it
    done = lab("sweep", path, "--quiet", "--out", folder, "--dask", address)
    need(done.returncode == 2 and re.search(r"worker tcp://\S+ is not used: .*a run takes \d+ MB of memory, and \d+ MB are free",
                                            done.stderr), done.stderr)


def check_killed(folder):
    """A worker is killed in the middle; its runs are run elsewhere, its engine is gone, the rows are the same."""
    path = small(folder, ("until = 0.2", "until = 2"))
    wanted = here(folder, path)
    with cluster(folder) as c:
        c.worker(), c.worker()
        with started("sweep", path, "--out", folder, "--quiet", "--dask", c.address) as process:
            wait_for("no run on both workers", lambda: len(c.engines()) == 2)
            victim, engines = next(iter(c.engines().items()))
            c.kill(victim)
            wait_for("its engine outlives it", lambda: all(map(gone, engines)))
            status, told = ended(process)
        need(status == 0 and re.search(rf"worker {victim} was lost; what it ran is run again: run \d of sweep rates \(rate=\d+, "
                                       r"replica \d\)", told), told)
        need(rows(folder) == wanted, "other rows")


def check_killer(folder):
    """A run whose workers die is run again, thrice in all, and named; those beside it are not to blame, for
    after the first death each runs alone, though others wait."""
    path = small(folder, ("until = 0.2", "until = ${100000 if rate > 10 else 0.2}"), ("rate = 5 10 20\nrepeat = 2", "rate = 5 10 20 6 7"))
    with cluster(folder) as c:
        lost = []

        def alone():
            engines = c.engines().get(lost[-1], [])
            need(len(engines) <= 1, "a suspect is not alone")
            # After the second death for longer than cluster.py waits until it looks what to send.
            return any(busy(pid, 1.5 if len(lost) == 2 else 0.3) for pid in engines) and engines

        with started("sweep", path, "--out", folder, "--quiet", "--dask", c.address) as process:
            for death in range(3):
                lost.append(c.worker(3))
                engines = wait_for("no run there", alone if death else lambda: len(c.engines().get(lost[0], ())) == 3 and
                                   c.engines()[lost[0]])
                c.kill(lost[-1])
                wait_for("an engine outlives its worker", lambda pids=engines: all(map(gone, pids)))
            status, told = ended(process)
    need(status == 2 and f"small.conf: run 2 of sweep rates (rate=20, replica 0) failed: 3 workers were lost while they ran it: "
         f"{', '.join(lost)}; " in told, f"{status}: {told}")
    need(not os.path.exists(os.path.join(folder, "small", "rows.jsonl")), "rows were written")


def busy(pid, least_s):
    """Whether it has taken so much of a processor, as only the long run does."""
    with contextlib.suppress(OSError), open(f"/proc/{pid}/stat", encoding="ascii") as f:
        return int(f.read().rpartition(")")[2].split()[11]) >= least_s * os.sysconf("SC_CLK_TCK")
    return False


def check_interrupted(folder):
    """Ctrl-C cancels what is queued, and no engine goes on; nor does one if sluice-lab itself is killed, or if
    its scheduler is."""
    path = small(folder, ("until = 0.2", "until = 100000"))  # minutes of a processor
    with cluster(folder) as c:
        worker = c.worker(2)

        def interrupt(process):
            process.send_signal(signal.SIGINT)
            status, told = ended(process)
            need(status == 130 and told == "sluice-lab: interrupted; nothing was written\n", f"{status}: {told}")

        for stop in (interrupt, lambda process: process.kill(), lambda _: c.end_scheduler()):
            with started("sweep", path, "--out", folder, "--quiet", "--dask", c.address) as process:
                engines = wait_for("no two runs", lambda: len(c.engines().get(worker, ())) == 2 and c.engines()[worker])
                stop(process)
                wait_for("an engine goes on", lambda: all(map(gone, engines)))
                time.sleep(0.3)
                need(not c.engines(), "what was queued is run")
                if process.poll() is None:
                    status, told = ended(process)
                    need(status in (2, -signal.SIGKILL), f"{status}: {told}")
                    need(status != 2 or "the scheduler does not answer any more; nothing was written" in told, told)
    need(not os.path.exists(os.path.join(folder, "small", "rows.jsonl")), "rows were written")


def unusable():
    """Why Dask cannot be tried here, as sluice-lab itself says."""
    with tempfile.TemporaryDirectory() as folder:
        done = lab("sweep", small(folder), "--out", folder, "--dask", "tcp://127.0.0.1:1")
    found = re.search(r"install python3-distributed|does not work with Dask [^;]*", done.stderr)
    return found and found.group()


def skipped(why):
    def check(_folder):
        raise Skip(why)

    return check


def main():
    checks = {f.__name__[6:].replace("_", " "): f for f in
              (check_no_package, check_no_scheduler, check_engines, check_killed, check_killer, check_interrupted)}
    why = unusable()
    if why:
        checks = {name: check if check is check_no_package else skipped(why) for name, check in checks.items()}
    return common.run(checks)


if __name__ == "__main__":
    try:
        import distributed
    except ImportError:
        distributed = None
    sys.exit(main())
