# SPDX-License-Identifier: BSD-3-Clause
"""Daemons under test: configuration, start and state, and the check that they leak nothing."""
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from . import service
from .process import Process, Testbed, TestbedError, status_kb, until

START_TIMEOUT_S = 30


@dataclass
class Build:
    """A build folder; huge: its programs run with 2 MB pages, which are free. units: systemd starts daemons by the
    shipped unit (service.py)."""
    dir: str
    huge: bool = False
    units: bool = False

    def program(self, name: str) -> str:
        """The path of a program."""
        path = os.path.join(self.dir, "app", {"sluice-emu": "emu", "sluice-load": "load"}.get(name, name), name)
        if not os.access(path, os.X_OK):
            raise TestbedError(f"{path} is missing; build it: ninja -C {self.dir}")
        return path

    def package(self) -> str:
        """The folder that has the Python package."""
        path = os.path.join(self.dir, "lib/python")
        if not os.path.exists(os.path.join(path, "sluice/_header.py")):
            raise TestbedError(f"{path} has no Python package: run scripts/setup, then meson setup --wipe {self.dir} and ninja")
        return path


@dataclass
class Port:
    """A [port] section; keys: its other lines. Without vdev, an argument of the EAL makes the device."""
    name: str
    vdev: str
    keys: dict[str, object] = field(default_factory=dict)


MEMIF_MTU_MAX = 65385  # what one mbuf holds beside the headers


def memif_bsize(mtu: int) -> int:
    """Bytes of a slot that holds a frame with mtu bytes of IP; 9216 or more."""
    return min(max(9216, -(-(mtu + 18) // 1024) * 1024), 65407)


def memif(socket: str, role: str, rsize: int = 8, number: int = 0, extra: str = "", mtu: int = 9000) -> Port:
    """rsize: the ring has 2^rsize slots. extra: further arguments of the device, each after a comma. mtu: the
    larger one of both ends."""
    name = f"net_memif{number}"
    return Port(name, f"{name},role={role},id=0,socket-abstract=no,socket={socket},rsize={rsize},"
                      f"bsize={memif_bsize(mtu)}{extra}")


def af_packet(device: str, mtu: int, number: int = 0, extra: str = "") -> Port:
    """The frame size of the ring is a power of two; a block holds 8 frames."""
    name, frame = f"net_af_packet{number}", 2048
    while frame < mtu + 128:
        frame *= 2
    return Port(name, f"{name},iface={device},blocksz={max(8 * frame, 65536)},framesz={frame},"
                      f"framecnt=1024{extra}")


def af_xdp(device: str, number: int = 0) -> Port:
    name = f"net_af_xdp{number}"
    return Port(name, f"{name},iface={device},start_queue=0,queue_count=1")


def locking() -> dict[str, str]:
    """Keys of [daemon]: the daemon locks no memory where RLIMIT_MEMLOCK is too low for it."""
    limit = resource.getrlimit(resource.RLIMIT_MEMLOCK)[1]
    privileged = os.geteuid() == 0
    return {} if privileged or limit == resource.RLIM_INFINITY or limit >= 4 << 30 else {"lock": "no"}


@dataclass(eq=False)
class Daemon:
    """One sluiced. Its control runs on CPU control_cpu, worker i on worker_cpus[i]."""
    testbed: Testbed
    build: Build
    name: str
    ports: list[Port]
    worker_cpus: Sequence[int]
    control_cpu: int
    ns: str | None = None
    daemon_keys: Mapping[str, object] | None = None  # other lines of [daemon]
    memory_mb: int = 512
    env: Mapping[str, str] | None = None
    eal: Sequence[str] = ()
    huge_dir: str | None = None  # a hugetlbfs: with it, other DPDK processes can map the daemon's memory
    telemetry: bool = False  # whether DPDK's telemetry socket is there
    peers: str = ""  # sections [peer NAME]
    # Set when the process starts.
    process: Process = field(init=False)
    prefix: str = field(init=False)
    runtime_dir: str = field(init=False)  # the EAL's folder for all processes is dpdk/ in it
    device: str = field(init=False)  # only of a veth_pair(): the name of its device

    def __post_init__(self) -> None:
        self.socket = self.testbed.path(f"{self.name}.sock")
        self.config = self.testbed.path(f"{self.name}.conf")
        self.keys: dict[str, object] = {"idle": "sleep", **locking(), **(self.daemon_keys or {})}
        self.wrap: list[str] = []  # a program with its arguments that starts sluiced in its own place
        self.starts = 0

    def config_text(self) -> str:
        lines = ["[daemon]", f"socket = {self.socket}"]
        lines += [f"{k} = {v}" for k, v in self.keys.items()]
        for port in self.ports:
            lines += ["", f"[port {port.name}]", *([f"vdev = {port.vdev}"] if port.vdev else [])]
            lines += [f"{k} = {v}" for k, v in port.keys.items()]
        return "\n".join(lines) + "\n" + self.peers

    def args(self) -> list[object]:
        lcores = [f"0@{self.control_cpu}"] + [f"{i + 1}@{c}" for i, c in enumerate(self.worker_cpus)]
        memory = ["--in-memory"] if self.build.huge else ["--no-huge", "--no-shconf"]
        if self.huge_dir:
            memory = ["--huge-dir", self.huge_dir]
        # EAL keeps a folder for each prefix, and leaves it behind.
        prefix = self.prefix = f"sluice-{os.getpid()}-{self.name}-{self.starts}"
        for run in ("/var/run/dpdk", os.environ.get("XDG_RUNTIME_DIR", "/tmp") + "/dpdk"):
            self.testbed.undo(shutil.rmtree, os.path.join(run, prefix), ignore_errors=True)
        self.runtime_dir = "/var/run" if os.geteuid() == 0 else os.environ.get("XDG_RUNTIME_DIR", "/tmp")
        quiet = [] if self.telemetry else ["--no-telemetry"]
        return [*self.wrap, self.build.program("sluiced"), "--lcores", ",".join(lcores), *memory,
                "-m", self.memory_mb, "--no-pci", *quiet, "--file-prefix", prefix, *self.eal,
                "--", "-c", self.config]

    @property
    def telemetry_socket(self) -> str:
        return os.path.join(self.runtime_dir, "dpdk", self.prefix, "dpdk_telemetry.v2")

    def write_config(self) -> None:
        with open(self.config, "w", encoding="utf-8") as f:
            f.write(self.config_text())
        if self.build.units:
            service.give(self.testbed)

    def launch(self) -> Process:
        """Starts it; does not wait."""
        self.write_config()
        self.starts += 1
        by_unit = self.build.units and not self.wrap
        self.process = service.start(self.testbed, "sluiced" if by_unit else None, f"sluiced-{self.name}", self.args(),
                                     self.ns, self.env, self._drop_ins() if by_unit else ())
        if isinstance(self.process, service.UnitProcess):
            self.runtime_dir = self.process.runtime_dir
        return self.process

    def _drop_ins(self) -> list[str]:
        """What the shipped unit wants besides for these ports and keys; its comments say so."""
        lines: list[str] = []
        if any("af_xdp" in p.name for p in self.ports):
            lines += service.drop_in("sluiced", "AF_XDP")
        if "socket_group" in self.keys:
            lines += service.group_lines(self.keys["socket_group"])
        return lines

    def start(self) -> "Daemon":
        """Starts it and waits until it answers."""
        self.launch()
        self.wait_ready()
        return self

    def wait_ready(self) -> None:
        until(lambda: self.try_show("ports") is not None, START_TIMEOUT_S, f"sluiced {self.name} answers", 0.05,
              self.process)

    def try_show(self, what: str) -> Any:
        """The answer of `sluice show`, or None."""
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

    def show(self, what: str) -> Any:
        """The answer of `sluice show`; TestbedError where there is none."""
        found = self.try_show(what)
        if found is None:
            raise TestbedError(f"sluice show {what} fails on {self.name}\n{self.process.tail()}")
        return found

    def wait_link(self) -> None:
        until(lambda: all(p["link"] == "up" for p in self.show("ports")), 20,
              f"link of {self.name} comes up")

    def wait_listening(self, service: int = 7000, process: Process | None = None, count: int = 1) -> None:
        """Waits until a client waits for so many connections to this service. process: the client; its end is an
        error."""
        def waiting() -> int:
            return sum(c["state"] == "waiting" and c["service"] == service for c in self.show("conns"))
        until(lambda: waiting() >= count, 30, f"service {service} on {self.name}", process=process)

    def pid(self) -> int:
        """The pid of sluiced, also in a namespace: `ip netns exec` replaces itself by the program."""
        return self.process.pid

    def kill(self) -> None:
        self.process.signal(signal.SIGKILL)
        self.process.wait(10)

    def stop(self) -> None:
        """Stops it cleanly; the exit status must be 0."""
        self.process.signal(signal.SIGTERM)
        status = self.process.wait(20)
        if status != 0:
            raise TestbedError(f"sluiced {self.name} stopped with status {status}\n{self.process.tail()}")

    def command(self, *args: object) -> list[str]:
        """The command line of `sluice` with these arguments, for this daemon."""
        return [self.build.program("sluice"), *(str(a) for a in args), "--socket", self.socket]

    def sluice(self, name: str, *args: object, timeout_s: float | None = None,
               cpus: Collection[int] | None = None) -> Process:
        """Starts `sluice` for this daemon. With timeout_s, waits until it has ended with status 0."""
        process = self.testbed.start(name, self.command(*args), cpus)
        if timeout_s is not None:
            process.check(timeout_s)
        return process

    def client_env(self) -> dict[str, str]:
        """Variables for a program that uses libsluice and `sluice` of this build, and this daemon."""
        return {"LD_LIBRARY_PATH": os.path.join(self.build.dir, "lib/client"), "SLUICE_SOCKET": self.socket,
                "PATH": f"{os.path.dirname(self.build.program('sluice'))}:{os.environ['PATH']}"}

    def python(self, name: str, script: str, *args: object) -> Process:
        """Starts a script that uses the Python package, for this daemon."""
        return self.testbed.start(name, [sys.executable, "-B", script, *args],
                                  env={"PYTHONPATH": self.build.package(), **self.client_env()})

    def reload(self) -> None:
        """Makes the running daemon take over what its fields say now."""
        self.write_config()
        self.sluice("reload", "reload", timeout_s=30)

    # ---- leaks --------------------------------------------------------------------------------

    def counters(self, name: str) -> int:
        """The sum of a counter over the hosts of all ports and workers."""
        return sum(w["host"].get(name, 0) for p in self.show("ports") for w in p["workers"])

    def holdings(self) -> dict[str, int]:
        """The resources that the daemon holds. At rest they are always the same, unless it leaks."""
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

    def check_holdings(self, before: Mapping[str, int], timeout_s: float = 8.0, rss_slack_kb: int = 16384,
                       maps_slack: int = 40) -> None:
        """Waits until it holds no more than before: mbufs, descriptors, connections, locked memory, mappings."""
        exact = ("mbufs", "fds", "conns", "locked_kB", "file_maps", "maps")

        def same() -> bool:
            now = self.holdings()
            # malloc may keep one arena more than before, and libc the stacks of 16 threads (fd_closer.c).
            return (all(now[k] <= before[k] + (maps_slack if k == "maps" else 0) for k in exact) and
                    now["rss_kB"] <= before["rss_kB"] + rss_slack_kb)

        try:
            until(same, timeout_s, "rest", 0.1)
        except TestbedError:
            raise TestbedError(f"sluiced {self.name} leaks: before {before}, "
                           f"{timeout_s:g} s after {self.holdings()}") from None
