# SPDX-License-Identifier: BSD-3-Clause
"""Forged and random frames at a daemon in mid-transfer: none is believed, each is counted."""
import json
import os

from harness import LabError, data_flow, scenario
from lab.pair import ADDR_A, ADDR_B, veth_pair

FRAMES = 1000000
SECONDS = 25
OTHER = "10.90.0.66"
# What must have been counted, by the kinds of forge.c. Not drop_fragment: the kernel keeps fragments
# from packet sockets (the test in virtual time counts them).
COUNTERS = ("drop_other", "drop_ip", "drop_udp", "drop_vlan", "drop_not_ours",
            "drop_port", "drop_no_sum", "drop_sum", "drop_wire_short", "drop_wire_version",
            "drop_wire_type", "drop_wire_security", "drop_wire_flags", "drop_wire_field",
            "drop_unknown_key", "drop_unknown_early", "drop_address", "drop_no_listener")
KINDS = ("rx_arp", "rx_echo", "rx_neighbor", "rx_first", "rx_data", "rx_cntl", "rx_rcntl")


def _counters(daemon):
    return daemon.show("ports")[0]["workers"][0]["host"]


@scenario("a million forged frames in mid-transfer", netns=True)
def forged(lab, context):
    a, b = veth_pair(lab, context.build, tapped=True)
    before = _counters(b)
    server = b.sluice("server", "perf", "server", "-1", "--json")
    b.wait_listening()
    client = a.sluice("client", "perf", "client", "--check", "-i", "0", "-t", SECONDS + 15, "--json",
                      ADDR_B)
    data_flow(a)
    seed = os.environ.get("SLUICE_SEED", str(int.from_bytes(os.urandom(4), "little")))
    forge = lab.start("forge", [context.tool("forge"), a.device, FRAMES, SECONDS, seed, ADDR_A,
                                ADDR_B, OTHER], ns=a.ns)
    made = {k: int(v) for k, v in (x.split() for x in forge.check(SECONDS * 6).splitlines())}
    # The client may have ended before, if the machine was too slow for the frames.
    if not client.running():
        raise LabError(f"seed {seed}: the transfer ended before the frames did")
    result = json.loads(client.check(SECONDS + 120))
    server.check(30)
    after = _counters(b)
    gained = {k: after[k] - before[k] for k in after}
    if result["wrong_bytes"] != 0 or result["peer_rx"]["wrong_bytes"] != 0:
        raise LabError(f"seed {seed}: {result['wrong_bytes']} bytes are wrong")
    if result["bytes"] == 0 or result["peer_rx"]["bytes"] != result["tx"]["bytes"]:
        raise LabError(f"seed {seed}: sent {result['tx']}, received {result['peer_rx']}")
    never = [k for k in COUNTERS if gained[k] == 0]
    if never:
        raise LabError(f"seed {seed}: never counted: {never}; made {made}")
    drops = sum(v for k, v in gained.items() if k.startswith("drop_"))
    counted = drops + sum(gained[k] for k in KINDS)
    if counted < gained["rx_frames"]:
        raise LabError(f"seed {seed}: {gained['rx_frames']} frames came, {counted} were counted")
    if drops < sum(made.values()) // 2:
        raise LabError(f"seed {seed}: of {sum(made.values())} forged frames {drops} arrived")
    print(f"#   seed {seed}: {sum(made.values())} forged, {drops} drops counted, "
          f"{result['bytes']} bytes right")
    a.stop()
    b.stop()
