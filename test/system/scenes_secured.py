# SPDX-License-Identifier: BSD-3-Clause
"""Daemons with keys: what they say to each other, to strangers, to a peer with another key, and after a restart."""
import base64
import re
import struct
from typing import BinaryIO, NamedTuple

from .harness import Context, TestbedError, data_flow, file_works, scene, sh
from testbed import net
from testbed.daemon import Daemon
from testbed.keys import key_pair, peer_section, shared_key
from testbed.pair import ADDR6_A, ADDR_A, ADDR_B, memif_pair, veth_pair
from testbed.process import Process, Testbed, until

SECRET = b"a secret that nobody on the path may read; "
PORT = 47800


def _capture(testbed: Testbed, daemon: Daemon, path: str) -> Process:
    """tcpdump of all that the daemon's device sends and receives."""
    process = testbed.start("tcpdump", ["tcpdump", "-i", daemon.device, "-U", "-w", path, "-s", "0", "-Z", "root"],
                            ns=daemon.ns)
    until(lambda: "listening on" in process.err(), 20, "tcpdump listens", process=process)
    return process


def _payloads(path: str) -> list[bytes]:
    """The UDP payloads in a capture."""
    text = sh("tshark", "-r", path, "-T", "fields", "-e", "udp.payload", "-d", f"udp.port=={PORT},data")
    return [bytes.fromhex(line) for line in text.split()]


@scene("keys: files between two hosts, both families; nobody on the path reads a byte", netns=True)
def sealed_files(testbed: Testbed, context: Context) -> None:
    a, b = veth_pair(testbed, context.build, secured=True, tapped=True)
    path = testbed.path("all.pcap")
    tcpdump = _capture(testbed, a, path)
    file_works(testbed, a, b, ADDR_B, data=SECRET * 50000)
    file_works(testbed, b, a, f"[{ADDR6_A}]", data=SECRET * 50000)
    tcpdump.stop()
    packets = _payloads(path)
    if len(packets) < 2000:
        raise TestbedError(f"{len(packets)} packets were captured")
    kinds = {packet[0] & 15 for packet in packets}
    if kinds != {1, 2, 3, 5, 6}:
        raise TestbedError(f"types {kinds} were captured")
    for packet in packets:
        if packet[0] & 15 <= 3 and packet[4:8] == bytes(4):
            raise TestbedError(f"a plain packet: {packet[:64].hex()}")
        if SECRET[:16] in packet:
            raise TestbedError("the file can be read")
    for daemon in (a, b):
        peer = daemon.show("peers")[0]
        if peer["state"] != "secured" or peer["failures"] != 0 or peer["handshake_ago_ns"] > 60e9:
            raise TestbedError(f"show peers: {peer}")
        port = daemon.show("ports")[0]
        if port["security"] != "required" or port["handshakes"]["response_taken"] < 1:
            raise TestbedError(f"show ports: {port}")
        daemon.stop()


def _packets(number: int) -> list[bytes]:
    """One packet of each type that a stranger can make, with this number of an association."""
    def header(kind: int, flags: int = 0) -> bytes:
        return struct.pack(">BBBBIQ", 16 | kind, flags, 0, 0, number, 0x1122334455667788)
    first = header(1, 0x40) + struct.pack(">IIHHIQQQ", 1, 1408, 7000, 0, 4, 1 << 20, 1 << 16, 1) + bytes(136)
    data = header(2) + struct.pack(">QQIIQII", 1, 1, 1, 0, 64, 64, 0) + bytes(64)
    cntl = header(3, 1) + struct.pack(">QII", 5, 1, 0) + bytes(144)
    cntl = cntl[:116] + struct.pack(">I", 1408) + cntl[120:]
    rcntl = header(4) + struct.pack(">QIHHQ", 1 << 20, 0, 1000, 1, 1)
    kinds = [first, data, cntl, rcntl, header(5) + bytes(144), header(6) + bytes(64), header(7) + bytes(48)]
    trailer = struct.pack(">Q", 1) + bytes(16)
    return kinds if number == 0 else [packet + trailer for packet in kinds[:3]] + kinds[3:]


@scene("keys: a stranger gets no answer but those of ARP and neighbour discovery", netns=True)
def silent(testbed: Testbed, context: Context) -> None:
    a, b = veth_pair(testbed, context.build, secured=True, tapped=True)
    assert a.ns and b.ns
    b.sluice("server", "perf", "server")
    b.wait_listening()
    a.stop()
    net.address(a.ns, a.device, f"{ADDR_A}/24")
    sh("ip", "netns", "exec", a.ns, "ping", "-c", "1", "-W", "5", ADDR_B)  # B answers, and A's kernel knows its MAC
    before = {name: b.counters(name) for name in ("drop_plain", "drop_association", "rx_handshake", "drop_wire_security")}
    path = testbed.path("strangers.pcap")
    tcpdump = _capture(testbed, a, path)
    program = testbed.path("stranger.py")
    packets = [packet.hex() for number in (0, 1, 0xdeadbeef) for packet in _packets(number)]
    with open(program, "w", encoding="utf-8") as f:
        f.write("import socket\n"
                "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
                f"s.bind(('', {PORT}))\n"
                f"for packet in {packets!r}:\n"
                f"    s.sendto(bytes.fromhex(packet), ({ADDR_B!r}, {PORT}))\n")
    sh("ip", "netns", "exec", a.ns, "/usr/bin/python3", program)
    until(lambda: b.counters("rx_handshake") - before["rx_handshake"] >= 3, 10, "B takes all of them")
    after = {name: b.counters(name) - was for name, was in before.items()}
    tcpdump.stop()
    if after["drop_plain"] != 4 or after["drop_association"] != 6 or after["drop_wire_security"] != 8:
        raise TestbedError(f"the counters say {after}")
    handshakes = b.show("ports")[0]["handshakes"]
    if b.counters("drop_handshake_mac") != 1 or handshakes["drop_unasked"] != 2:
        raise TestbedError(f"the handshakes' counters say {handshakes}")
    mac = b.show("ports")[0]["mac"]
    said = sh("tcpdump", "-n", "-r", path, "ether", "src", mac, "and", "udp")
    if said.strip():
        raise TestbedError(f"B answered:\n{said}")
    b.stop()


@scene("keys: another shared key on one side: no transfer, and show says what may be wrong")
def shared_keys_differ(testbed: Testbed, context: Context) -> None:
    peer_keys = [{"shared_key_file": shared_key(testbed, context.build, name)} for name in ("one", "other")]
    a, b = memif_pair(testbed, context.build, secured=True, keys={"silence": "1s"}, peer_keys=peer_keys)
    b.sluice("server", "perf", "server")
    b.wait_listening()
    client = a.sluice("client", "perf", "client", "-t", "1", ADDR_B)
    if client.wait(30) == 0:
        raise TestbedError("a transfer in spite of different keys")
    state = a.show("peers")[0]
    if "shared key" not in state["state"] or state["failures"] < 1:
        raise TestbedError(f"show peers: {state}")
    for daemon in (a, b):
        daemon.stop()


@scene("keys: either host starts again, and the next transfer works; a peer that is revoked is cut off")
def restarted(testbed: Testbed, context: Context) -> None:
    a, b = memif_pair(testbed, context.build, secured=True, keys={"silence": "2s"})
    file_works(testbed, a, b, ADDR_B)
    for daemon in (b, a):
        daemon.stop()
        daemon.start()
        for each in (a, b):
            each.wait_link()
        file_works(testbed, a, b, ADDR_B)
    b.sluice("server", "perf", "server")
    b.wait_listening()
    client = a.sluice("client", "perf", "client", "-t", "600", "-i", "0", ADDR_B)
    data_flow(b, "rx_bytes", 1 << 20, 30)
    b.peers = ""
    b.reload()
    if client.wait(30) == 0:
        raise TestbedError("the transfer of a peer that was revoked went on")
    if not re.search(r"reset|abort|gave up|no answer|denied", client.err() + client.out()):
        raise TestbedError(f"the sender does not say why it ended: {client.tail()}")
    for daemon in (a, b):
        daemon.stop()


@scene("keys: offered: a peer with a key is talked to sealed, another one plain")
def offered(testbed: Testbed, context: Context) -> None:
    a, b = memif_pair(testbed, context.build, secured=True, keys={"silence": "2s", "security": "offered"})
    file_works(testbed, a, b, ADDR_B)
    if b.counters("rx_handshake") == 0:
        raise TestbedError("a peer with a key was talked to without it")
    for daemon in (a, b):
        stranger = key_pair(testbed, context.build, f"stranger-of-{daemon.name}")
        daemon.peers = peer_section("other", ["10.77.0.1/32"], stranger.public)
        daemon.reload()
    until(lambda: b.show("peers")[0]["address"] == "10.77.0.1", 10, "a reload")
    file_works(testbed, a, b, ADDR_B)
    for daemon in (a, b):
        daemon.stop()


class _Mapping(NamedTuple):
    """A mapping of a process; flags: of /proc/PID/smaps."""
    first: int
    last: int
    flags: list[str]


def _mappings(pid: int) -> list[_Mapping]:
    """The readable mappings of a process."""
    found: list[_Mapping] = []
    first = last = 0
    with open(f"/proc/{pid}/smaps", encoding="utf-8") as f:
        for line in f:
            head = re.match(r"([0-9a-f]+)-([0-9a-f]+) (r?)", line)
            if head:
                first, last = (int(head[1], 16), int(head[2], 16)) if head[3] else (0, 0)
            elif line.startswith("VmFlags:") and last > 0:
                found.append(_Mapping(first, last, line.split()[1:]))
    return found


def _holds(memory: BinaryIO, m: _Mapping, secret: bytes) -> bool:
    memory.seek(m.first)
    tail, left = b"", m.last - m.first
    while left > 0:
        piece = memory.read(min(left, 16 << 20))
        if secret in tail + piece:
            return True
        if not piece:
            return False
        tail, left = piece[-len(secret):], left - len(piece)
    return False


def _found(pid: int, secret: bytes) -> list[_Mapping]:
    """The mappings of a process that hold these bytes."""
    found = []
    with open(f"/proc/{pid}/mem", "rb") as memory:
        for m in _mappings(pid):
            try:
                if _holds(memory, m, secret):
                    found.append(m)
            except OSError:  # one of the kernel's
                pass
    return found


@scene("keys: a host's keys are only in memory that core dumps leave out")
def core_dumps(testbed: Testbed, context: Context) -> None:
    shared = shared_key(testbed, context.build, "shared")
    a, b = memif_pair(testbed, context.build, secured=True, memory_mb=128, peer_keys=[{"shared_key_file": shared}] * 2)
    file_works(testbed, a, b, ADDR_B)
    for daemon in (a, b):
        for file in (testbed.path(f"{daemon.name}.key"), shared):
            with open(file, "rb") as f:
                text = f.read().strip()
            if _found(daemon.pid(), text):
                raise TestbedError(f"{daemon.name} keeps the text of {file}")
            held = _found(daemon.pid(), base64.b64decode(text))
            if not held or any("dd" not in m.flags for m in held):
                raise TestbedError(f"{daemon.name} has {file} in memory that is dumped: {held}")
        daemon.stop()
