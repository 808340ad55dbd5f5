# SPDX-License-Identifier: BSD-3-Clause
"""Daemons under test: their configuration, start, state, and what they must give back."""
import json
import os
import resource
import shutil
import signal
import subprocess
import time
from dataclasses import dataclass, field

from .process import TestbedError, status_kb, until

START_TIMEOUT_S = 30


@dataclass
class Build:
    """Where the programs are, and with what memory they run; huge: 2 MB pages are free."""
    dir: str
    huge: bool = False

    def program(self, name):
        path = os.path.join(self.dir, "app", {"sluice-emu": "emu"}.get(name, name), name)
        if not os.access(path, os.X_OK):
            raise TestbedError(f"{path} is missing; build it: ninja -C {self.dir}")
        return path


@dataclass
class Port:
    """A [port] section; keys: further lines."""
    name: str
    vdev: str
    keys: dict = field(default_factory=dict)


def memif(socket, role, rsize=8, bsize=9216, number=0, extra=""):
    name = f"net_memif{number}"
    return Port(name, f"{name},role={role},id=0,socket-abstract=no,socket={socket},rsize={rsize},"
                      f"bsize={bsize}{extra}")


def af_packet(device, mtu, number=0, extra=""):
    """Frames of the ring are a power of two; its blocks hold 8 of them."""
    name, frame = f"net_af_packet{number}", 2048
    while frame < mtu + 128:
        frame *= 2
    return Port(name, f"{name},iface={device},blocksz={max(8 * frame, 65536)},framesz={frame},"
                      f"framecnt=1024{extra}")


def af_xdp(device, number=0):
    name = f"net_af_xdp{number}"
    return Port(name, f"{name},iface={device},start_queue=0,queue_count=1")


def locking():
    """[daemon] keys: memory stays unlocked where the limit is too low to lock any worth mentioning."""
    limit = resource.getrlimit(resource.RLIMIT_MEMLOCK)[1]
    privileged = os.geteuid() == 0
    return {} if privileged or limit == resource.RLIM_INFINITY or limit >= 4 << 30 else {"lock": "no"}


class Daemon:
    """One sluiced. Its control runs on CPU control_cpu, worker i on worker_cpus[i]."""

    def __init__(self, testbed, build, name, ports, worker_cpus, control_cpu, ns=None, daemon_keys=None,
                 memory_mb=512, env=None, eal=(), huge_dir=None, telemetry=False):
        """huge_dir: a hugetlbfs in which its memory is for other DPDK processes to see."""
        self.testbed, self.build, self.name, self.ns = testbed, build, name, ns
        self.ports, self.env, self.eal = ports, env, list(eal)
        self.worker_cpus, self.control_cpu = list(worker_cpus), control_cpu
        self.socket = testbed.path(f"{name}.sock")
        self.config = testbed.path(f"{name}.conf")
        self.keys = {"idle": "sleep", **locking(), **(daemon_keys or {})}
        self.memory_mb = memory_mb
        self.huge_dir = huge_dir
        self.prefix = None
        self.wrap = []  # what starts it: a program with arguments that becomes it
        self.telemetry = telemetry  # whether DPDK's telemetry socket is there
        self.telemetry_socket = None
        self.process = None
        self.starts = 0

    def config_text(self):
        lines = ["[daemon]", f"socket = {self.socket}"]
        lines += [f"{k} = {v}" for k, v in self.keys.items()]
        for port in self.ports:
            lines += ["", f"[port {port.name}]", f"vdev = {port.vdev}"]
            lines += [f"{k} = {v}" for k, v in port.keys.items()]
        return "\n".join(lines) + "\n"

    def args(self):
        lcores = [f"0@{self.control_cpu}"] + [f"{i + 1}@{c}" for i, c in enumerate(self.worker_cpus)]
        memory = ["--in-memory"] if self.build.huge else ["--no-huge", "--no-shconf"]
        if self.huge_dir:
            memory = ["--huge-dir", self.huge_dir]
        # EAL keeps a folder for each prefix, and leaves it behind.
        prefix = self.prefix = f"sluice-{os.getpid()}-{self.name}-{self.starts}"
        for run in ("/var/run/dpdk", os.environ.get("XDG_RUNTIME_DIR", "/tmp") + "/dpdk"):
            self.testbed.undo(shutil.rmtree, os.path.join(run, prefix), ignore_errors=True)
        own = "/var/run" if os.geteuid() == 0 else os.environ.get("XDG_RUNTIME_DIR", "/tmp")
        self.telemetry_socket = os.path.join(own, "dpdk", prefix, "dpdk_telemetry.v2")
        quiet = [] if self.telemetry else ["--no-telemetry"]
        return [*self.wrap, self.build.program("sluiced"), "--lcores", ",".join(lcores), *memory,
                "-m", self.memory_mb, "--no-pci", *quiet, "--file-prefix", prefix, *self.eal,
                "--", "-c", self.config]

    def launch(self):
        """Starts it without waiting."""
        with open(self.config, "w", encoding="utf-8") as f:
            f.write(self.config_text())
        self.starts += 1
        self.process = self.testbed.start(f"sluiced-{self.name}", self.args(), ns=self.ns, env=self.env)
        return self.process

    def start(self):
        """Starts it and waits until it answers."""
        self.launch()
        self.wait_ready()
        return self

    def wait_ready(self):
        end = time.monotonic() + START_TIMEOUT_S
        while self.try_show("ports") is None:
            if not self.process.running():
                raise TestbedError(f"sluiced {self.name} ended with status {self.process.wait(1)}\n"
                               f"{self.process.tail()}")
            if time.monotonic() > end:
                raise TestbedError(f"sluiced {self.name} does not answer within {START_TIMEOUT_S} s\n"
                               f"{self.process.tail()}")
            time.sleep(0.05)

    def try_show(self, what):
        """What `sluice show` says, or None."""
        if not os.path.exists(self.socket):
            return None
        try:
            done = subprocess.run(self.command("show", what, "--json"), capture_output=True,
                                  text=True, timeout=60, check=False,
                                  env={**os.environ, **(self.env or {})})
        except subprocess.TimeoutExpired:
            return None
        if done.returncode != 0:
            return None
        return json.loads(done.stdout)[what]

    def show(self, what):
        found = self.try_show(what)
        if found is None:
            raise TestbedError(f"sluice show {what} fails on {self.name}\n{self.process.tail()}")
        return found

    def wait_link(self):
        until(lambda: all(p["link"] == "up" for p in self.show("ports")), 20,
              f"link of {self.name} comes up")

    def wait_listening(self, service=7000, process=None):
        """Until somebody, the process if given, waits for connections to this service."""
        def listening():
            if process is not None and not process.running():
                raise TestbedError(f"{process.name} ended with status {process.wait(1)}\n{process.tail()}")
            return any(c["state"] == "waiting" and c["service"] == service for c in self.show("conns"))

        until(listening, 30, f"service {service} on {self.name}")

    def pid(self):
        """Of the daemon itself: `ip netns exec` becomes it."""
        return self.process.pid

    def kill(self):
        self.process.signal(signal.SIGKILL)
        self.process.wait(10)

    def stop(self):
        """A clean stop; the exit status must be 0."""
        self.process.signal(signal.SIGTERM)
        status = self.process.wait(20)
        if status != 0:
            raise TestbedError(f"sluiced {self.name} stopped with status {status}\n{self.process.tail()}")

    def command(self, *args):
        """Arguments of the command against this daemon."""
        return [self.build.program("sluice"), *(str(a) for a in args), "--socket", self.socket]

    def sluice(self, name, *args, timeout_s=None, **kwargs):
        """Starts the command against this daemon."""
        process = self.testbed.start(name, self.command(*args), **kwargs)
        if timeout_s is not None:
            process.check(timeout_s)
        return process

    # ---- what must come back -----------------------------------------------------------------

    def counters(self, name):
        """Sum over ports and workers of a counter of the hosts."""
        return sum(w["host"].get(name, 0) for p in self.show("ports") for w in p["workers"])

    def holdings(self):
        """What a daemon at rest holds."""
        maps = files = 0
        with open(f"/proc/{self.pid()}/maps", encoding="utf-8") as f:
            for line in f:
                maps += 1
                files += len(line.split(maxsplit=5)) == 6 and "/" in line
        return {"mbufs": sum(p["mbufs_in_use"] for p in self.show("ports")),
                "fds": len(os.listdir(f"/proc/{self.pid()}/fd")),
                "conns": sum(c["state"] != "free" for c in self.show("conns")),
                "locked_kB": status_kb(self.pid(), "VmLck"), "maps": maps,
                "file_maps": files, "rss_kB": status_kb(self.pid(), "VmRSS")}

    def check_holdings(self, before, timeout_s=8.0, rss_slack_kb=16384, maps_slack=40):
        """Everything is as it was: mbufs, descriptors, connections, locked memory, mappings."""
        exact = ("mbufs", "fds", "conns", "locked_kB", "file_maps", "maps")

        def same():
            now = self.holdings()
            # malloc may keep an arena more than before, and libc the stacks of 16 threads (fd_closer.c).
            return (all(now[k] <= before[k] + (maps_slack if k == "maps" else 0) for k in exact) and
                    now["rss_kB"] <= before["rss_kB"] + rss_slack_kb)

        try:
            until(same, timeout_s, "rest", 0.1)
        except TestbedError:
            raise TestbedError(f"sluiced {self.name} leaks: before {before}, "
                           f"{timeout_s:g} s after {self.holdings()}") from None
