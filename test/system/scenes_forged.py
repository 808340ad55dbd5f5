# SPDX-License-Identifier: BSD-3-Clause
"""Forged and random frames at a daemon in mid-transfer: none is believed, each is counted."""
import json
import os
import socket
import struct
import sys

from .harness import TestbedError, data_flow, scenario
from testbed.pair import ADDR_A, ADDR_B, veth_pair
from testbed.process import until

FRAMES = 1000000
SECONDS = 15
# The transfer's own bursts must not fill the ring that the forged frames wait in.
TRANSFER = "200Mbit"
# Of the forged frames: what a ring that overflowed while its worker was away may have lost, and noise
# that happens to be an ARP message or the like, which is counted as what it is.
MISSING_MAX = 0.01
OTHER = "10.90.0.66"
# What must have been counted, by the kinds of forge.c. Not drop_fragment: the kernel keeps fragments
# from AF_PACKET's sockets, to reassemble them (the test in virtual time counts them).
COUNTERS = ("drop_other", "drop_ip", "drop_udp", "drop_vlan", "drop_not_ours",
            "drop_port", "drop_no_sum", "drop_sum", "drop_wire_short", "drop_wire_version",
            "drop_wire_type", "drop_wire_security", "drop_wire_flags", "drop_wire_field",
            "drop_unknown_key", "drop_unknown_early", "drop_address", "drop_no_listener")
KINDS = ("rx_arp", "rx_echo", "rx_neighbor", "rx_first", "rx_data", "rx_cntl", "rx_rcntl")


def _counters(daemon):
    return daemon.show("ports")[0]["workers"][0]["host"]


@scenario("a million forged frames in mid-transfer", netns=True)
def forged(testbed, context):
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
    # The client may have ended before, if the machine was too slow for the frames.
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
        raise TestbedError(f"seed {seed}: never counted: {never}; made {made}")
    drops = sum(v for k, v in gained.items() if k.startswith("drop_"))
    counted = drops + sum(gained[k] for k in KINDS)
    if counted < gained["rx_frames"]:
        raise TestbedError(f"seed {seed}: {gained['rx_frames']} frames came, {counted} were counted")
    due = sum(made.values()) - made["fragment"]  # AF_PACKET's fanout has the kernel reassemble those
    if drops < due * (1 - MISSING_MAX):
        raise TestbedError(f"seed {seed}: of {due} forged frames that are no fragments {drops} were counted")
    print(f"#   seed {seed}: {sum(made.values())} forged, {due} no fragments, {drops} drops counted, "
          f"{result['bytes']} bytes right")
    a.stop()
    b.stop()


# Sends each frame given as hex on the interface.
SEND = """
import socket, sys
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
s.bind((sys.argv[1], 0))
for frame in sys.argv[2:]:
    s.send(bytes.fromhex(frame))
"""


def _sum(data):
    """RFC 1071."""
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total > 0xffff:
        total = (total & 0xffff) + (total >> 16)
    return total ^ 0xffff


def _first(mac, src, dst, key, service):
    """A whole FIRST (doc/protocol.md, section 4)."""
    first = struct.pack(">BB6xQIIHHIQQQQII120x", 0x11, 0x40, key, 100, 1400, service, 0, 4, 10 ** 6,
                        10 ** 4, 1, 0, 3000, 500)
    addresses = socket.inet_aton(src) + socket.inet_aton(dst)
    udp = struct.pack(">HHHH", 47800, 47800, 8 + len(first), 0)
    udp_sum = _sum(addresses + struct.pack(">HH", 17, 8 + len(first)) + udp + first)
    udp = udp[:6] + struct.pack(">H", udp_sum or 0xffff)
    ip = struct.pack(">BBHHHBBH", 0x45, 0, 28 + len(first), 0, 0x4000, 64, 17, 0) + addresses
    ip = ip[:10] + struct.pack(">H", _sum(ip)) + ip[12:]
    return mac + bytes.fromhex("02000000feed0800") + ip + udp + first


@scenario("forged openings end no receiver: the sender that comes after them succeeds", netns=True)
def openings(testbed, context):
    a, b = veth_pair(testbed, context.build)
    mac = bytes.fromhex(b.show("ports")[0]["mac"].replace(":", ""))
    source = testbed.path("source")
    with open(source, "wb") as f:
        f.write(os.urandom(3 << 20))
    want = open(source, "rb").read()
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
        until(lambda: b.counters("conns_accepted") > before, 10, "a forged opening that is taken")
        a.sluice(f"sender{number}", "send", source, ADDR_B).check(30)
        receiver.check(30)
        got = testbed.path("file") if number == 0 else os.path.join(folder, "source")
        data = open(receiver.out_path if number == 1 else got, "rb").read()
        if data != want:
            raise TestbedError(f"recv {' '.join(way)}: {len(data)} bytes, not what was sent")
        if receiver.err().count("sluice: received") != 1:
            raise TestbedError(f"recv {' '.join(way)} saw another sender\n{receiver.tail()}")
    a.stop()
    b.stop()
