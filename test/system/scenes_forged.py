# SPDX-License-Identifier: BSD-3-Clause
"""Forged and random frames at a daemon in mid-transfer: none is believed, each is counted."""
import json
import os
import socket
import struct
import sys
from typing import Any

from .harness import Context, TestbedError, data_flow, scene
from testbed.daemon import Daemon
from testbed.pair import ADDR_A, ADDR_B, veth_pair
from testbed.process import Testbed, until

FRAMES = 1000000
SECONDS = 15
# At this rate the transfer's own bursts do not fill the ring that the forged frames wait in.
TRANSFER = "200Mbit"
# The part of the forged frames that may be missing: a ring that overflows while its worker is away loses
# some, and random frames that happen to be, say, valid ARP are counted as such.
MISSING_MAX = 0.01
OTHER = "10.90.0.66"
# Each of these must have counted something, as forge.c makes all kinds. drop_fragment is not among them:
# the kernel reassembles fragments before AF_PACKET's sockets see them (the test in virtual time counts them).
COUNTERS = ("drop_other", "drop_ip", "drop_udp", "drop_vlan", "drop_not_ours",
            "drop_port", "drop_no_sum", "drop_sum", "drop_wire_short", "drop_wire_version",
            "drop_wire_type", "drop_wire_security", "drop_wire_flags", "drop_wire_field",
            "drop_unknown_key", "drop_unknown_early", "drop_address", "drop_no_listener")
KINDS = ("rx_arp", "rx_echo", "rx_neighbor", "rx_first", "rx_data", "rx_cntl", "rx_rcntl")


def _counters(daemon: Daemon) -> dict[str, Any]:
    return daemon.show("ports")[0]["workers"][0]["host"]


@scene("a million forged frames in mid-transfer", netns=True)
def forged(testbed: Testbed, context: Context) -> None:
    a, b = veth_pair(testbed, context.build, tapped=True, b_keys={"capacity": TRANSFER})
    before = _counters(b)
    server = b.sluice("server", "perf", "server", "-1", "--json")
    b.wait_listening()
    client = a.sluice("client", "perf", "client", "--check", "-i", "0", "-t", SECONDS + 10, "--json",
                      ADDR_B)
    data_flow(a)
    seed = os.environ.get("SLUICE_SEED", str(int.from_bytes(os.urandom(4), "little")))
    forge = testbed.start("forge", [context.tool("forge"), a.device, FRAMES, SECONDS, seed, ADDR_A,
                                ADDR_B, OTHER], ns=a.ns)
    made = {k: int(v) for k, v in (x.split() for x in forge.check(SECONDS * 6).splitlines())}
    # On a machine too slow for the frames, the client ends before them.
    if not client.running():
        raise TestbedError(f"seed {seed}: the transfer ended before the frames did")
    result = json.loads(client.check(SECONDS + 120))
    server.check(30)
    after = _counters(b)
    gained = {k: after[k] - before[k] for k in after}
    if result["wrong_bytes"] != 0 or result["peer_rx"]["wrong_bytes"] != 0:
        raise TestbedError(f"seed {seed}: {result['wrong_bytes']} bytes are wrong")
    if result["bytes"] == 0 or result["peer_rx"]["bytes"] != result["tx"]["bytes"]:
        raise TestbedError(f"seed {seed}: sent {result['tx']}, received {result['peer_rx']}")
    never = [k for k in COUNTERS if gained[k] == 0]
    if never:
        raise TestbedError(f"seed {seed}: {never} counted nothing; forged were {made}")
    drops = sum(v for k, v in gained.items() if k.startswith("drop_"))
    counted = drops + sum(gained[k] for k in KINDS)
    if counted < gained["rx_frames"]:
        raise TestbedError(f"seed {seed}: {gained['rx_frames']} frames came, {counted} were counted")
    due = sum(made.values()) - made["fragment"]  # AF_PACKET's fanout makes the kernel reassemble these
    if drops < due * (1 - MISSING_MAX):
        raise TestbedError(f"seed {seed}: of {due} forged frames that are no fragments {drops} were counted")
    print(f"#   seed {seed}: {sum(made.values())} forged, {due} no fragments, {drops} drops counted, "
          f"{result['bytes']} bytes right")
    a.stop()
    b.stop()


# Sends the frames, given in hex, on the interface.
SEND = """
import socket, sys
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
s.bind((sys.argv[1], 0))
for frame in sys.argv[2:]:
    s.send(bytes.fromhex(frame))
"""


def _sum(data: bytes) -> int:
    """RFC 1071."""
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total > 0xffff:
        total = (total & 0xffff) + (total >> 16)
    return total ^ 0xffff


def _first(mac: bytes, src: str, dst: str, key: int, service: int) -> bytes:
    """A frame with a FIRST (doc/protocol.md, section 4)."""
    first = struct.pack(">BB6xQIIHHIQQQQII120x", 0x11, 0x40, key, 100, 1400, service, 0, 4, 10 ** 6,
                        10 ** 4, 1, 0, 3000, 500)
    addresses = socket.inet_aton(src) + socket.inet_aton(dst)
    udp = struct.pack(">HHHH", 47800, 47800, 8 + len(first), 0)
    udp_sum = _sum(addresses + struct.pack(">HH", 17, 8 + len(first)) + udp + first)
    udp = udp[:6] + struct.pack(">H", udp_sum or 0xffff)
    ip = struct.pack(">BBHHHBBH", 0x45, 0, 28 + len(first), 0, 0x4000, 64, 17, 0) + addresses
    ip = ip[:10] + struct.pack(">H", _sum(ip)) + ip[12:]
    return mac + bytes.fromhex("02000000feed0800") + ip + udp + first


@scene("forged openings end no receiver: the sender that comes after them succeeds", netns=True)
def openings(testbed: Testbed, context: Context) -> None:
    a, b = veth_pair(testbed, context.build)
    mac = bytes.fromhex(b.show("ports")[0]["mac"].replace(":", ""))
    source = testbed.path("source")
    with open(source, "wb") as f:
        f.write(os.urandom(3 << 20))
    with open(source, "rb") as f:
        want = f.read()
    folder = testbed.path("folder")
    os.mkdir(folder)
    ways = (("-o", testbed.path("file")), ("-o", "-"), ("-o", folder, "--once"),
            ("-o", folder, "--overwrite", "--once", "--senders", "1"))
    for number, way in enumerate(ways):
        receiver = b.sluice(f"receiver{number}", "recv", "-v", *way)
        b.wait_listening(process=receiver)
        before = b.counters("conns_accepted")
        frames = [_first(mac, OTHER, ADDR_B, 1000 + number * 100 + i, 7000).hex() for i in range(20)]
        testbed.run("send", [sys.executable, "-c", SEND, a.device, *frames], ns=a.ns)
        until(lambda: b.counters("conns_accepted") > before, 10, "a forged opening that is accepted")
        a.sluice(f"sender{number}", "send", source, ADDR_B).check(30)
        receiver.check(30)
        got = testbed.path("file") if number == 0 else os.path.join(folder, "source")
        with open(receiver.out_path if number == 1 else got, "rb") as f:
            data = f.read()
        if data != want:
            raise TestbedError(f"recv {' '.join(way)}: {len(data)} bytes arrived, not those that were sent")
        if receiver.err().count("sluice: received") != 1:
            raise TestbedError(f"recv {' '.join(way)} took a forged opening for a sender\n{receiver.tail()}")
    a.stop()
    b.stop()
