# SPDX-License-Identifier: BSD-3-Clause
"""A paced transfer while strangers, or forgers, send to the same port as fast as they can.

The port of daemon B joins two memifs, by DPDK's failsafe driver: one port, one queue, one worker. Behind them are the
peer A, whose transfer it grants half of what it could take, and a generator: sluice-load, which sends frames of
strangers; or sluice-emu, which replays a capture of forged Sluice packets (scripts/forged-pcap) over and over. The
transfer is measured alone and beside the generator, by turns. At the end each frame that was sent must be in B's
counters. Then the same is done with the other generator.
"""
import argparse
import concurrent.futures
import contextlib
import ipaddress
import os
import statistics
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from . import forged, paired
from .paired import Bar
from .results import Results
from testbed.box import Box
from testbed.daemon import Build, Daemon, Port
from testbed.load import Load, load_process
from testbed.pair import ADDR_A, ADDR_B, pair_cpus, station
from testbed.process import Child, Process, Testbed, TestbedError, cpus, until
from testbed.table import rate_text
from testbed.telemetry import Telemetry

BAR = 0.95
ALONE, BESIDE = "alone", "beside"
MAC_B = "02:00:00:00:00:0b"
# sluice-load takes turns of many sources and ports; the daemon has no UDP port 9 (discard).
STRANGER_KEYS: dict[str, object] = {"size": 60, "rate": "max", "flows": 65536, "src": "10.90.0.128+64",
                                    "sport": "1024+1024", "dst": ADDR_B, "dst_mac": MAC_B, "dport": 9}
FORGED_FRAMES = 4000  # of all kinds by turns
# Only a packet that belongs to no connection, or is no packet of version 1, counts here.
FORGED_COUNTERS = ("drop_unknown_key", "drop_unknown_early", "drop_no_listener", "drop_no_cookie", "drop_address",
                   "drop_wire_short", "drop_wire_length", "drop_wire_version", "drop_wire_type", "drop_wire_flags",
                   "drop_wire_security", "drop_wire_field")
SETTLE_S = 0.3
HAD_CORE_MIN = 0.5  # where it had less, the machine has no room for this bench, and the transfer is below its grant
SENDER_NICE, GENERATOR_NICE = -10, 19
CAPACITY_WINDOWS = 9


@dataclass(frozen=True)
class Kind:
    """A kind of flood. counters: those of B in which only its frames count."""
    name: str
    counters: tuple[str, ...]

    @property
    def goodput(self) -> str:
        return f"goodput beside {self.name}"

    @property
    def uncounted(self) -> str:
        return f"frames of {self.name} that no drop counter has"

    @property
    def unreceived(self) -> str:
        return f"frames that the port did not receive, beside {self.name}"


STRANGERS = Kind("strangers", ("drop_port",))
FORGERS = Kind("forgers", FORGED_COUNTERS)


@dataclass(frozen=True)
class Turn:
    """One window. flood_fps: frames a second that B dropped. had_core: the part of the time in which A's worker did not
    wait for its core; it polls, so in all of that it could send."""
    goodput_bps: float
    flood_fps: float
    had_core: float = 1.0

    @property
    def paced_bps(self) -> float:
        """The goodput while the sender could send."""
        return self.goodput_bps / max(self.had_core, HAD_CORE_MIN)


class Generator(Protocol):
    kind: Kind
    process: Child

    def ready(self) -> None:
        """Waits until its link is up."""

    def flood(self, seconds: float) -> contextlib.AbstractContextManager[object]:
        """Sends meanwhile, for at least so many seconds."""

    def stop(self) -> int:
        """Ends it. Returns how many frames its port has taken since the beginning."""


class Strangers:
    kind = STRANGERS

    def __init__(self, testbed: Testbed, build: Build, socket: str, cpu: int) -> None:
        self.process = load_process(testbed, build, "load", [_server(socket)], [cpu], ["--interactive"])
        self.sent = 0

    def ready(self) -> None:
        self.load = Load(self.process)

    @contextlib.contextmanager
    def flood(self, seconds: float) -> Iterator[None]:
        line = " ".join(f"{key.replace('_', '-')}={value}" for key, value in STRANGER_KEYS.items())
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            answer = pool.submit(self.load.say, f"{line} seconds={seconds:g} wait=0.01")
            time.sleep(SETTLE_S)
            yield
            result = answer.result()
        if "error" in result:
            raise TestbedError(f"sluice-load: {result['error']}")
        self.sent += int(result["sent"])

    def stop(self) -> int:
        self.load.stop()
        return self.sent


class Forgers:
    kind = FORGERS

    def __init__(self, testbed: Testbed, build: Build, socket: str, cpu: int, capture: str) -> None:
        self.testbed = testbed
        self.box = Box(testbed, build, [f"net_pcap0,rx_pcap={capture},infinite_rx=1", _server(socket)],
                       options=("--packets", "1024,64", "--quiet", "--ports", "net_pcap0,net_memif0"), worker=cpu,
                       control=pair_cpus()[0][1], name="forgers")
        self.process = self.box.process

    def ready(self) -> None:
        self.group = paired.Group(self.testbed, [self.process], SETTLE_S)

    def flood(self, seconds: float) -> contextlib.AbstractContextManager[object]:
        return self.group

    def stop(self) -> int:
        self.group.release()
        return int(self.box.stop()["forward"]["tx_packets"])


class Poller:
    """Notes for each window how long the worker of a daemon waited for its core."""

    def __init__(self, daemon: Daemon) -> None:
        self.daemon = daemon
        self.waits: list[float] = []

    def __enter__(self) -> None:
        self.before = paired.thread_times_ns(self.daemon.pid())

    def __exit__(self, *_: object) -> None:
        self.waits.append(paired.waited(self.before, paired.thread_times_ns(self.daemon.pid())))


@dataclass
class Bench:
    a: Daemon
    b: Daemon
    generator: Generator

    def __post_init__(self) -> None:
        self.conns = Telemetry(self.b.telemetry_socket)
        self.sender, self.receiver = Poller(self.a), Poller(self.b)

    def received(self) -> complex:
        """Bytes of payload that have arrived, and frames that B has dropped, as one number."""
        for name in self.conns.ask("/sluice/conns"):
            conn = self.conns.ask(f"/sluice/conn,{name}")
            if conn and conn["state"] == "open":
                drops = sum(v for k, v in host_counters(self.b).items() if k.startswith("drop_"))
                return complex(conn["rx_bytes"], drops)
        raise TestbedError(f"the transfer has ended\n{self.b.process.tail()}")

    def _window(self, seconds: float) -> Turn:
        with self.sender, self.receiver:
            grown = paired.growth(self.received, seconds)
        return Turn(8 * grown.real, grown.imag, 1 - self.sender.waits[-1])

    def alone(self, seconds: float) -> Turn:
        time.sleep(SETTLE_S)
        return self._window(seconds)

    def beside(self, seconds: float) -> Turn:
        with self.generator.flood(seconds + 2 * SETTLE_S):
            return self._window(seconds)


def options(parser: argparse.ArgumentParser) -> None:
    paired.options(parser)
    parser.add_argument("--mtu", type=int, default=1500, help="of the transfer's packets (default: %(default)s)")
    parser.add_argument("--part", type=float, default=0.5,
                        help="what is granted, as a part of what the daemon can take (default: %(default)s)")
    parser.add_argument("--bar", type=float, default=BAR, help="smallest part of its grant that the transfer must have")


def host_counters(daemon: Daemon) -> dict[str, int]:
    counters: dict[str, int] = daemon.show("ports")[0]["workers"][0]["host"]
    return counters


def _server(socket: str) -> str:
    return f"net_memif0,role=server,socket-abstract=no,socket={socket}"


def _share(sender: Process, generator: Process) -> None:
    """Where both share a core, the sender has it whenever it needs it, as its own pace is not judged here."""
    try:
        for tid in paired.thread_times_ns(sender.pid):
            os.setpriority(os.PRIO_PROCESS, tid, SENDER_NICE)
    except PermissionError:  # not root; then the generator has what all others leave
        for tid in paired.thread_times_ns(generator.pid):
            os.setpriority(os.PRIO_PROCESS, tid, GENERATOR_NICE)


def _generator(testbed: Testbed, args: argparse.Namespace, kind: Kind, socket: str, mac_a: str) -> Generator:
    """On a core of its own where there are three, else on that of A."""
    workers = [plan[0] for plan in pair_cpus()]
    cpu = next((c for c in cpus() if c not in workers), workers[0])
    build = Build(args.build, args.huge)
    if kind == STRANGERS:
        return Strangers(testbed, build, socket, cpu)
    capture = testbed.path("forged.pcap")
    macs = (forged.mac_parse(MAC_B), forged.mac_parse(mac_a))
    forged.capture_write(capture, forged.forged(args.seed, FORGED_FRAMES, macs, ipaddress.ip_address(ADDR_A),
                                                ipaddress.ip_address(ADDR_B), list(forged.KINDS)))
    return Forgers(testbed, build, socket, cpu, capture)


def _start(testbed: Testbed, args: argparse.Namespace, kind: Kind) -> Bench:
    build, sockets = Build(args.build, args.huge), [testbed.path(f"{kind.name}{i}") for i in range(2)]
    (worker_a, control_a), (worker_b, control_b) = pair_cpus()
    keys: dict[str, object] = {"mtu": args.mtu, "checksum": "none", "silence": "60s"}
    port_a = Port("net_memif0", _server(sockets[0]), {**station(1), **keys})
    a = Daemon(testbed, build, f"{kind.name}-a", [port_a], [worker_a], control_a, daemon_keys={"idle": "poll"},
               memory_mb=256).start()
    generator = _generator(testbed, args, kind, sockets[1], a.show("ports")[0]["mac"])
    until(lambda: all(map(os.path.exists, sockets)), 30, "the senders make their memifs")
    members = ",".join(f"dev(net_memif{i},socket-abstract=no,socket={s},mac={MAC_B})" for i, s in enumerate(sockets))
    port_b = Port("net_failsafe0", "", {"address": f"{ADDR_B}/24", **keys})
    b = Daemon(testbed, build, f"{kind.name}-b", [port_b], [worker_b], control_b, daemon_keys={"idle": "poll"},
               memory_mb=256, telemetry=True, eal=["--vdev", f"net_failsafe0,{members}"]).start()
    for daemon in (a, b):
        daemon.wait_link()
    generator.ready()
    _share(a.process, generator.process)
    return Bench(a, b, generator)


def _transfer(bench: Bench) -> Process:
    bench.b.sluice("server", "perf", "server", "-q", "--memory", "256M")
    bench.b.wait_listening()
    client = bench.a.sluice("client", "perf", "client", "-q", "-i", "0", "-t", "3600", "--memory", "256M", ADDR_B)
    until(lambda: bench.b.counters("rx_data") > 100000, 60, "the transfer runs", process=client)
    return client


def grant_set(bench: Bench, args: argparse.Namespace) -> float:
    """Measures what the daemon takes, and makes a part of it the capacity. Returns that, in bit/s."""
    most = statistics.median(bench.alone(args.window).paced_bps for _ in range(CAPACITY_WINDOWS))
    grant_mbps = round(most * args.part * 1e-6)
    done = subprocess.run(bench.b.command("exec", f"set capacity {grant_mbps}Mbit"), capture_output=True, text=True,
                          timeout=60, check=False)
    if done.returncode != 0:
        raise TestbedError(f"sluice exec set capacity: {done.stderr.strip()}")
    bench.receiver.waits.clear()
    return grant_mbps * 1e6


def judge(results: Results, kind: Kind, turns: Mapping[str, Sequence[Turn]], grant_bps: float, bar: float) -> None:
    """turns: of the same rounds. There is a verdict only if the grant and the transfer alone give the same one."""
    alone, beside = ([t.paced_bps for t in turns[name]] for name in (ALONE, BESIDE))
    results.figure(f"grant, {kind.name}", grant_bps * 1e-9, "Gb/s")
    results.windows(f"goodput alone, {kind.name}", alone, "Gb/s", [grant_bps] * len(alone), scale=1e-9)
    had_core = statistics.median(t.had_core for t in turns[BESIDE])
    results.figure(f"time for which the sender had its core, beside {kind.name}", 100 * had_core, "%")
    results.windows(f"dropped frames of {kind.name}", [t.flood_fps for t in turns[BESIDE]], "Mpps", scale=1e-6)
    references = {"the grant": [grant_bps] * len(beside), "the transfer alone": alone}
    results.windows_each(kind.goodput, beside, "Gb/s", references, bar, scale=1e-9)


def count(results: Results, kind: Kind, sent: tuple[int, int], gained: Mapping[str, int]) -> None:
    """sent: frames of the transfer's sender, and of the generator. gained: by B's counters."""
    none = Bar(0, at_most=True)
    counted = sum(gained[name] for name in kind.counters)
    results.exact(kind.unreceived, abs(sum(sent) - gained["rx_frames"]), "frames", none)
    results.exact(kind.uncounted, abs(sent[1] - counted), "frames", none)
    results.figure(f"frames of {kind.name}", sent[1], "frames")


def _quiet(daemon: Daemon) -> dict[str, int] | None:
    """Its counters, if it receives nothing any more."""
    first = host_counters(daemon)
    time.sleep(SETTLE_S)
    second = host_counters(daemon)
    return second if second["rx_frames"] == first["rx_frames"] else None


def _run(testbed: Testbed, args: argparse.Namespace, kind: Kind, results: Results) -> None:
    bench = _start(testbed, args, kind)
    client = _transfer(bench)
    grant = grant_set(bench, args)

    def show(i: int, values: dict[str, Turn]) -> None:
        alone, beside = values[ALONE], values[BESIDE]
        print(f"round {i}: {rate_text(alone.goodput_bps)} alone, {rate_text(beside.goodput_bps)} beside "
              f"{beside.flood_fps * 1e-6:.2f} Mpps of {kind.name}", flush=True)

    turns = paired.rounds({ALONE: bench.alone, BESIDE: bench.beside}, args, show)
    results.waits = statistics.median(bench.receiver.waits)
    results.figure(f"time for which the receiver waited for its core, {kind.name}", 100 * results.waits, "%")
    judge(results, kind, turns, grant, args.bar)
    client.stop()
    sent = bench.generator.stop()
    gained = until(lambda: _quiet(bench.b), 30, "B receives nothing more")
    transfer = int(bench.a.show("ports")[0]["workers"][0]["tx_frames"])  # that the port has taken
    count(results, kind, (transfer, sent), gained)
    for daemon in (bench.a, bench.b):
        daemon.stop()


def run(testbed: Testbed, args: argparse.Namespace, results: Results) -> None:
    paired.check_options(args)
    if not 0 < args.part <= 1:
        raise TestbedError(f"--part {args.part:g} is no part; give one above 0, up to 1")
    for kind in (STRANGERS, FORGERS):
        results.demand(kind.goodput, kind.unreceived, kind.uncounted)
    for kind in (STRANGERS, FORGERS):
        mark = testbed.mark()
        _run(testbed, args, kind, results)
        testbed.close_to(mark)
