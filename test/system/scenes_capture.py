# SPDX-License-Identifier: BSD-3-Clause
"""The packets of a running daemon, as `sluice capture` and dpdk-dumpcap capture them (doc/capture.md)."""
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import threading
import time
from typing import NamedTuple

from .harness import Context, Skip, TestbedError, file_works, need, one_line, perf, scene, sh
from .scenes_users import GROUP, USERS, as_user, shared
from testbed import tshark
from testbed.daemon import Daemon, memif
from testbed.net import lack_xdp
from testbed.pair import ADDR_B, memif_pair, pair_cpus, station, veth_pair
from testbed.process import Process, Testbed, until
from testbed.service import as_daemon

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "config", "wireshark",
                      "sluice.lua")
DATA, CNTL = "2", "3"
SLACK = 20  # frames between the start of the capture and the reading of the counters


def _huge_dir(testbed: Testbed) -> str:
    """Mounts a hugetlbfs; returns its folder."""
    path = testbed.path("huge")
    os.mkdir(path)
    done = subprocess.run(["mount", "-t", "hugetlbfs", "-o", "pagesize=2M", "none", path],
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Skip(f"no hugetlbfs can be mounted: {done.stderr.strip()}")
    testbed.undo(sh, "umount", path)
    return path


def _daemons(testbed: Testbed, context: Context, huge_dir: str) -> list[Daemon]:
    """Two daemons joined by a memif; the memory of A is in huge_dir."""
    cpus, link, made = pair_cpus(), testbed.path("memif.sock"), []
    for i, (name, role) in enumerate((("a", "server"), ("b", "client"))):
        port = memif(link, role)
        port.keys = {**station(i + 1), "mtu": 1500, "capacity": "100Mbit"}
        made.append(Daemon(testbed, context.build, name, [port], [cpus[i][0]], cpus[i][1],
                           memory_mb=192, huge_dir=huge_dir if name == "a" else None))
    for daemon in made:
        daemon.start()
    for daemon in made:
        daemon.wait_link()
    return made


def _frames(daemon: Daemon) -> tuple[int, int]:
    worker = daemon.show("ports")[0]["workers"][0]
    return worker["rx_frames"], worker["tx_frames"]


def _units(daemon: Daemon) -> int:
    host: dict[str, int] = daemon.show("ports")[0]["workers"][0]["host"]
    return host["rx_data"] + host["tx_data"]


def _types(path: str) -> list[str]:
    """Types of the packets in the capture; none may be malformed."""
    done = tshark.run(SCRIPT, path, "-T", "fields", "-e", "sluice.type", "-e", "_ws.malformed")
    if done.returncode != 0:
        raise TestbedError(f"tshark: {done.stderr}")
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    if any(row[1] for row in rows):
        raise TestbedError("malformed packets in the capture")
    return [row[0] for row in rows]


@scene("dpdk-dumpcap beside a daemon")
def dumpcap(testbed: Testbed, context: Context) -> None:
    for tool in ("dpdk-dumpcap", "tshark"):
        if shutil.which(tool) is None:
            raise Skip(f"no {tool} here; scripts/setup installs it")
    if not context.build.huge or os.geteuid() != 0:
        raise Skip("needs root and hugepages: the capture shares the daemon's memory")
    a, b = _daemons(testbed, context, _huge_dir(testbed))
    path = testbed.path("capture.pcapng")
    user = as_daemon() if context.build.units else []
    capture = testbed.start("dumpcap", [*user, "dpdk-dumpcap", f"--file-prefix={a.prefix}", "-i", "net_memif0",
                                        "-w", path], env={"RUNTIME_DIRECTORY": a.runtime_dir})
    until(lambda: "Packets captured" in capture.tail(), 60, "dpdk-dumpcap captures", 0.1, capture)
    time.sleep(1)
    before, units_before = _frames(a), _units(a)
    perf(b, a, ADDR_B, "-n", "2M")
    time.sleep(1)
    frames = sum(now - was for now, was in zip(_frames(a), before))
    units = _units(a) - units_before
    capture.stop()
    told = re.search(r"received/dropped on interface '[^']*': (\d+)/(\d+)", capture.tail())
    if told is None:
        raise TestbedError(f"dpdk-dumpcap does not say what it captured\n{capture.tail()}")
    dropped, found = int(told.group(2)), _types(path)
    if not frames <= len(found) + dropped <= frames + SLACK:
        raise TestbedError(f"{frames} frames, but {len(found)} captured and {dropped} dropped")
    if not units - dropped <= found.count(DATA) <= units or found.count(CNTL) == 0:
        raise TestbedError(f"{found.count(DATA)} units and {found.count(CNTL)} CNTL packets captured, "
                           f"of {units} units")
    perf(b, a, ADDR_B, "-n", "2M", name="after")  # the daemons work on after the capture
    a.stop()
    b.stop()


# ---- sluice capture ------------------------------------------------------------------------------


class _Block(NamedTuple):
    type: int
    body: bytes


SECTION, INTERFACE, STATS, PACKET = 0x0a0d0d0a, 1, 5, 6


def _blocks(path: str) -> list[_Block]:
    """The blocks of a pcapng file, which must be whole."""
    with open(path, "rb") as f:
        data = f.read()
    found: list[_Block] = []
    at = 0
    while at < len(data):
        kind, length = struct.unpack_from("=II", data, at)
        end = at + length
        if length < 12 or length % 4 != 0 or end > len(data) or data[end - 4:end] != data[at + 4:at + 8]:
            raise TestbedError(f"block {len(found)}, of type {kind} at byte {at}, is not whole")
        found.append(_Block(kind, data[at + 8:end - 4]))
        at = end
    return found


def _options(body: bytes, start: int) -> dict[int, bytes]:
    """The options of a block: code -> value."""
    found = {}
    while start + 4 <= len(body):
        code, length = struct.unpack_from("=HH", body, start)
        if code == 0:
            break
        found[code] = body[start + 4:start + 4 + length]
        start += 4 + (length + 3) // 4 * 4
    return found


def _packet_options(block: _Block) -> dict[int, bytes]:
    return _options(block.body, 20 + (int.from_bytes(block.body[12:16], sys.byteorder) + 3) // 4 * 4)


def _number(value: bytes) -> int:
    return int.from_bytes(value, sys.byteorder)


def _port_frames(daemon: Daemon) -> list[int]:
    """The frames that each port has received and sent."""
    return [sum(w["rx_frames"] + w["tx_frames"] for w in p["workers"]) for p in daemon.show("ports")]


def _all_frames(daemon: Daemon) -> int:
    return sum(_port_frames(daemon))


def _still(daemon: Daemon) -> int:
    """The frames of a daemon, once there are no more for half a second."""
    seen = [-1]

    def same() -> bool:
        seen.append(_all_frames(daemon))
        return seen[-1] == seen[-2]

    until(same, 30, "no more frames come", 0.5)
    return seen[-1]


def _in_out(daemon: Daemon) -> list[int]:
    """The frames that a daemon's first port has received, and sent."""
    workers = daemon.show("ports")[0]["workers"]
    return [sum(w[key] for w in workers) for key in ("rx_frames", "tx_frames")]


def _begin(daemon: Daemon, name: str, *args: object) -> Process:
    """Starts a capture, and waits until it runs."""
    before = daemon.process.err().count("captured from now on")
    capture = daemon.sluice(name, "capture", "--json", *args)
    until(lambda: daemon.process.err().count("captured from now on") > before, 20, "the capture begins", 0.05, capture)
    return capture


def _ended(daemon: Daemon, times: int = 1) -> tuple[int, int]:
    """The daemon must notice that captures of so many ports have ended. Returns the frames of the last one, and how many of
    these had no room, as the log says."""
    found: list[tuple[str, str]] = []

    def all_ended() -> bool:
        found[:] = re.findall(r"the capture of process \d+ has ended: (\d+) frames, of which it had no room for (\d+)\n",
                              daemon.process.err())
        return len(found) == times

    until(all_ended, 10, "the daemon ends the capture", 0.05)
    return int(found[-1][0]), int(found[-1][1])


def _check_file(path: str, written: int, dropped: int, name: str, began: float) -> list[_Block]:
    """A file with so many packets of one interface. Returns these."""
    blocks = _blocks(path)
    if [b.type for b in blocks[:2]] != [SECTION, INTERFACE] or blocks[-1].type != STATS:
        raise TestbedError(f"the file has the wrong blocks: {[b.type for b in blocks[:3]]} … {blocks[-1].type}")
    packets = [b for b in blocks if b.type == PACKET]
    if b"sluice " not in _options(blocks[0].body, 16)[4] or _options(blocks[1].body, 8)[2] != name.encode():
        raise TestbedError("the file names neither program nor port")
    stats = _options(blocks[-1].body, 12)
    if (_number(stats[4]), _number(stats[5]), len(packets)) != (written + dropped, dropped, written):
        raise TestbedError(f"{len(packets)} packets; the file says {_number(stats[4])} with {_number(stats[5])} dropped, "
                           f"the command {written} and {dropped}")
    times = [(_number(b.body[4:8]) << 32 | _number(b.body[8:12])) / 1e9 for b in packets]
    if times != sorted(times) or (times and not began <= times[0] <= times[-1] <= time.time()):
        raise TestbedError(f"packets from {times[0]} to {times[-1]}, now {time.time()}; sorted: {times == sorted(times)}")
    if os.stat(path).st_mode & 0o777 != 0o600:
        raise TestbedError(f"the file has mode {os.stat(path).st_mode:o}")
    return packets


def _capture_and_count(testbed: Testbed, a: Daemon, b: Daemon, name: str) -> None:
    """All that a port carries during a transfer is in the file, with its direction and queue; the dissector reads it."""
    path = testbed.path(f"{name}.pcapng")
    _still(a)
    before, began = _in_out(a), time.time()
    capture = _begin(a, name, "-i", a.ports[0].name, "-w", path)
    begun = _in_out(a)
    perf(b, a, ADDR_B, "-n", "2M", name=f"{name}-perf")
    _still(a)
    over = _in_out(a)
    capture.signal(signal.SIGINT)
    counts = json.loads(capture.check(20))
    after = _in_out(a)  # but for a kernel's frames, these are as many as before the end
    written, dropped = counts["written"], counts["ports"][0]["dropped"]
    if dropped:
        raise TestbedError(f"{dropped} of {written} are dropped")
    packets = _check_file(path, written, dropped, a.ports[0].name, began)
    options = [_packet_options(p) for p in packets]
    found = [sum(_number(o[2]) & 3 == flag for o in options) for flag in (1, 2)]
    for i, captured in enumerate(found):
        if not over[i] - begun[i] <= captured <= after[i] - before[i]:
            raise TestbedError(f"{found} packets in and out are captured; counters: {before}, {begun}, {over}, {after}")
    if {_number(o[6]) for o in options} - set(range(len(a.show("ports")[0]["workers"]))):
        raise TestbedError("packets of queues that are not there")
    if tshark.there():
        types = _types(path)
        if len(types) != written or types.count(DATA) < 1000 or types.count(CNTL) == 0:
            raise TestbedError(f"the dissector finds {len(types)} packets, {types.count(DATA)} DATA, of {written}")
    frames, without_room = _ended(a)
    if not written <= frames <= written + SLACK or without_room:
        raise TestbedError(f"{written} packets are captured, but the log says {frames}, of which {without_room} had no room")


@scene("sluice capture: every packet of a transfer, and what the daemon counts")
def capture(testbed: Testbed, context: Context) -> None:
    a, b = memif_pair(testbed, context.build, mtu=1500, keys={"capacity": "100Mbit"}, memory_mb=192)
    _capture_and_count(testbed, a, b, "one")

    # So many packets, of so many bytes; an existing file stays unless --overwrite is given.
    path = testbed.path("one.pcapng")
    one_line(a.sluice("again", "capture", "-w", path), 20, 5, "exists", "--overwrite")
    few = _begin(a, "few", "-w", path, "--overwrite", "-c", "100", "-s", "60")
    perf(b, a, ADDR_B, "-n", "2M", name="few-perf")
    if json.loads(few.check(20))["written"] != 100:
        raise TestbedError(f"-c 100 writes another number\n{few.tail()}")
    lengths = {(_number(p.body[12:16]), _number(p.body[16:20])) for p in _blocks(path) if p.type == PACKET}
    if any(captured != min(60, frame) for captured, frame in lengths) or max(frame for _, frame in lengths) < 1000:
        raise TestbedError(f"-s 60 captures {lengths}")

    # Four captures of a port at a time, and no more. Each has all packets.
    several = [f"several-{i}" for i in range(4)]
    captures = [_begin(a, name, "-w", testbed.path(name)) for name in several]
    one_line(a.sluice("fifth", "capture", "-w", testbed.path("fifth")), 20, 7, "4 captures already", "end one")
    perf(b, a, ADDR_B, "-n", "1M", name="several-perf")
    for name, one in zip(several, captures):
        one.signal(signal.SIGINT)
        counts = json.loads(one.check(20))
        if len(_check_file(testbed.path(name), counts["written"], counts["ports"][0]["dropped"], a.ports[0].name, 0)) < 700:
            raise TestbedError(f"of four captures, one has too few packets: {counts}")

    one_line(a.sluice("nothing", "capture", "-i", "eth9", "-w", testbed.path("nothing")), 20, 2, "eth9", "show ports")
    short = a.sluice("short", "capture", "-w", testbed.path("short"), "--time", "200ms", timeout_s=20)
    quiet = a.sluice("quiet", "capture", "-q", "-w", testbed.path("quiet"), "--time", "200ms", timeout_s=20)
    if "packets captured" not in short.err() or quiet.out() + quiet.err():
        raise TestbedError(f"the end is told wrongly\n{short.tail()}\n{quiet.tail()}")

    # The packets on standard output, the counts on standard error.
    output = _begin(a, "output", "-c", "100")
    perf(b, a, ADDR_B, "-n", "1M", name="output-perf")
    output.wait(20)
    found = sum(block.type == PACKET for block in _blocks(output.out_path))
    if json.loads(output.err())["written"] != found or found != 100:
        raise TestbedError(f"standard output has {found} packets\n{output.err()}")
    for daemon in (a, b):
        daemon.stop()


@scene("sluice capture: two workers of a port")
def capture_queues(testbed: Testbed, context: Context) -> None:
    a, b = memif_pair(testbed, context.build, mtu=1500, workers=2, keys={"capacity": "100Mbit"}, memory_mb=256)
    _capture_and_count(testbed, a, b, "two")
    for daemon in (a, b):
        daemon.stop()


@scene("sluice capture: several ports, and one of them")
def capture_ports(testbed: Testbed, context: Context) -> None:
    """Ports 0 and 1 carry different numbers of packets; each is an interface with its own counts."""
    daemons = []
    for number, (name, role, cpus) in enumerate(zip("ab", ("server", "client"), pair_cpus()), 1):
        ports = [memif(testbed.path(f"memif{i}.sock"), role, number=i) for i in range(2)]
        for i, port in enumerate(ports):
            port.keys = {"address": f"10.9{i}.0.{number}/24", "mtu": 1500, "silence": "10s", "capacity": "100Mbit"}
        daemons.append(Daemon(testbed, context.build, name, ports, [cpus[0]] * 2, cpus[1], memory_mb=256))
    for daemon in daemons:
        daemon.start()
    for daemon in daemons:
        daemon.wait_link()
    a, b = daemons
    names = [port.name for port in a.ports]
    paths = {name: testbed.path(name) for name in ("both", "second")}
    both = _begin(a, "both", "-w", paths["both"])
    second = _begin(a, "second", "-i", "1", "-w", paths["second"])
    begun = _port_frames(a)
    perf(b, a, ADDR_B, "-n", "1M", name="one-perf")
    perf(b, a, "10.91.0.2", "-n", "2M", name="two-perf")
    _still(a)
    over = _port_frames(a)
    for process, path, wanted in ((both, paths["both"], names), (second, paths["second"], names[1:])):
        process.signal(signal.SIGINT)
        counts = json.loads(process.check(20))["ports"]
        blocks = _blocks(path)
        interfaces = [_options(block.body, 8)[2].decode() for block in blocks if block.type == INTERFACE]
        found = [sum(b.type == PACKET and _number(b.body[:4]) == i for b in blocks) for i in range(len(wanted))]
        stats = [_number(_options(block.body, 12)[8]) for block in blocks if block.type == STATS]
        if interfaces != wanted or [port["port"] for port in counts] != wanted:
            raise TestbedError(f"{wanted} were to be captured: the file has {interfaces}, the command says {counts}")
        if not found == stats == [port["written"] for port in counts] or any(port["dropped"] for port in counts):
            raise TestbedError(f"{found} packets; the file says {stats}, the command {counts}")
        due = [over[names.index(name)] - begun[names.index(name)] for name in wanted]
        if not all(few <= n <= few + SLACK for few, n in zip(due, found)):
            raise TestbedError(f"{found} packets of {wanted} are captured; the ports carried {due}")
    one_line(a.sluice("nothing", "capture", "-i", "0", "-i", "2", "-w", testbed.path("nothing")), 20, 2, "no port 2", "show ports")
    for daemon in (a, b):
        daemon.stop()


@scene("sluice capture: AF_PACKET", netns=True)
def capture_veth(testbed: Testbed, context: Context) -> None:
    a, b = veth_pair(testbed, context.build, keys={"capacity": "100Mbit"})
    for daemon in (a, b):
        daemon.wait_link()
    _capture_and_count(testbed, a, b, "veth")
    for daemon in (a, b):
        daemon.stop()


@scene("sluice capture: AF_XDP", netns=True)
def capture_xdp(testbed: Testbed, context: Context) -> None:
    need(lack_xdp())
    a, b = veth_pair(testbed, context.build, xdp=True, keys={"capacity": "100Mbit"})
    for daemon in (a, b):
        daemon.wait_link()
    _capture_and_count(testbed, a, b, "xdp")
    for daemon in (a, b):
        daemon.stop()


@scene("sluice capture: sealed packets stay sealed in the file, and a key log opens them", netns=True)
def capture_sealed(testbed: Testbed, context: Context) -> None:
    if not tshark.there():
        raise Skip("no tshark here; scripts/setup installs it")
    log, path, sent = testbed.path("keys.log"), testbed.path("sealed"), os.urandom(64)
    a, b = veth_pair(testbed, context.build, secured=True, a_daemon={"key_log_file": log})
    for daemon in (a, b):
        daemon.wait_link()
    capturing = _begin(a, "sealed", "-w", path)
    file_works(testbed, a, b, ADDR_B, data=sent * 100)
    capturing.signal(signal.SIGTERM)
    capturing.check(20)
    with open(path, "rb") as f:
        if sent[:32] in f.read():
            raise TestbedError("payload of sealed packets stands in the file")
    payload = ["-T", "fields", "-e", "sluice.data.payload"]
    for key_log, opened in ((None, False), (log, True)):
        if (sent.hex() in tshark.run(SCRIPT, path, *payload, key_log=key_log).stdout.replace(":", "")) != opened:
            raise TestbedError(f"with the key log {key_log}, the payload is {'not ' * opened}there")
    for daemon in (a, b):
        daemon.stop()


def _full_pipe(testbed: Testbed, a: Daemon, b: Daemon) -> tuple[int, int]:
    """The reader of a pipe sleeps: copies are dropped, and counted; frames are not. Then it reads, and packets come that
    say how many are missing before them. Returns the packets, and those that were dropped."""
    fifo, path, drained = testbed.path("fifo"), testbed.path("drained"), bytearray()
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    blocked = _begin(a, "blocked", "-w", fifo, "-B", "1M")
    result = perf(b, a, ADDR_B, "-n", "4M", name="blocked-perf")
    if result["repeats"]:
        raise TestbedError(f"a capture that nobody reads costs frames: {result}")
    os.set_blocking(reader, True)

    def drain() -> None:
        while chunk := os.read(reader, 1 << 16):
            drained.extend(chunk)

    draining = threading.Thread(target=drain)
    draining.start()
    perf(b, a, ADDR_B, "-n", "200K", name="drained-perf")
    blocked.signal(signal.SIGINT)
    counts = json.loads(blocked.check(20))
    draining.join(20)
    os.close(reader)
    dropped = counts["ports"][0]["dropped"]
    if dropped == 0:
        raise TestbedError(f"nothing is dropped: {counts}")
    with open(path, "wb") as f:
        f.write(drained)
    os.chmod(path, 0o600)
    packets = _check_file(path, counts["written"], dropped, a.ports[0].name, 0)
    missing = sum(_number(_packet_options(p).get(4, b"")) for p in packets)
    if not 0 < missing <= dropped:
        raise TestbedError(f"packets say that {missing} before them are missing, of {counts}")
    return counts["written"] + dropped, dropped


def _fill(testbed: Testbed, a: Daemon, b: Daemon, name: str) -> tuple[Process, int]:
    """A capture that has filled the pipe that it writes to, and the end of the pipe that nobody reads."""
    fifo = testbed.path(f"{name}-fifo")
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    capturing = _begin(a, name, "-w", fifo, "-B", "1M")
    perf(b, a, ADDR_B, "-n", "1M", name=f"{name}-perf")
    return capturing, reader


def _reader_leaves(testbed: Testbed, a: Daemon, b: Daemon) -> None:
    """The reader has seen enough, as `| head` does: the capture ends well, whether it waits for packets or for the reader."""
    fifo = testbed.path("idle-fifo")
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    idle = _begin(a, "idle", "-w", fifo)
    os.close(reader)
    idle.check(20)
    filled, reader = _fill(testbed, a, b, "filled")
    os.close(reader)
    filled.check(20)
    if idle.err() or filled.err():
        raise TestbedError(f"the end of the reader is taken for an error\n{idle.tail()}\n{filled.tail()}")


def _second_signal(testbed: Testbed, a: Daemon, b: Daemon) -> None:
    """The first one waits until the reader of the pipe has taken all; the second one ends the command."""
    filled, reader = _fill(testbed, a, b, "signals")
    filled.signal(signal.SIGINT)
    time.sleep(0.2)
    filled.must_run()
    filled.signal(signal.SIGINT)
    if filled.wait(20) != -signal.SIGINT:
        raise TestbedError(f"the second signal does not end the command\n{filled.tail()}")
    os.close(reader)


def _full_disk(testbed: Testbed, a: Daemon, b: Daemon) -> None:
    """The error names the cause, and the file has the packets that the command counts."""
    disk = testbed.path("disk")
    os.mkdir(disk)
    sh("mount", "-t", "tmpfs", "-o", "size=300k", "none", disk)
    testbed.undo(sh, "umount", disk)
    full = _begin(a, "full", "-w", f"{disk}/x")
    perf(b, a, ADDR_B, "-n", "1M", name="full-perf")
    if full.wait(20) != 5 or "No space left" not in full.err():
        raise TestbedError(f"a full disk is not told\n{full.tail()}")
    if sum(block.type == PACKET for block in _blocks(f"{disk}/x")) != json.loads(full.out())["written"]:
        raise TestbedError("the file of a full disk has another number of packets than the command says")


@scene("sluice capture: ends whole by kill, of the client and the daemon; a full pipe or disk is told")
def capture_ends(testbed: Testbed, context: Context) -> None:
    if os.geteuid() != 0:
        raise Skip("only root can mount a small disk")
    a, b = memif_pair(testbed, context.build, mtu=1500, keys={"capacity": "100Mbit"}, memory_mb=192)
    before = a.holdings()
    killed = _begin(a, "killed", "-w", testbed.path("killed"))
    perf(b, a, ADDR_B, "-n", "1M", name="killed-perf")
    killed.signal(signal.SIGKILL)
    _ended(a, 1)
    packets, dropped = _full_pipe(testbed, a, b)
    frames, without_room = _ended(a, 2)
    if frames < packets or without_room < dropped:
        raise TestbedError(f"{dropped} of {packets} packets are dropped, but the log says {without_room} of {frames}")
    _full_disk(testbed, a, b)
    _ended(a, 3)
    _reader_leaves(testbed, a, b)
    _second_signal(testbed, a, b)
    _ended(a, 6)
    a.check_holdings(before)
    perf(b, a, ADDR_B, "-n", "2M", name="after")

    last = _begin(a, "last", "-w", testbed.path("last"))
    perf(b, a, ADDR_B, "-n", "1M", name="last-perf")
    a.kill()
    if last.wait(20) != 3 or "is gone" not in last.err():
        raise TestbedError(f"the end of the daemon is not told\n{last.tail()}")
    _check_file(testbed.path("last"), json.loads(last.out())["written"], 0, a.ports[0].name, 0)
    b.stop()


@scene("sluice capture: refused to the members of socket_group")
def capture_refused(testbed: Testbed, context: Context) -> None:
    if os.geteuid() != 0:
        raise Skip("only root can start processes as other users")
    a, b = memif_pair(testbed, context.build, daemon_keys={"socket_group": GROUP}, memory_mb=192)
    home = testbed.path("home")
    os.mkdir(home)
    os.chown(home, USERS[0], GROUP)
    member = as_user(testbed, a, shared(testbed, context), "member", USERS[0], "capture", "-w", f"{home}/x", "-c", "1")
    one_line(member, 20, 4, "only root", "packets of all users")
    if os.listdir(home) or "captured from now on" in a.process.err():
        raise TestbedError("a member of the group captures, or leaves a file")
    for daemon in (a, b):
        daemon.stop()
