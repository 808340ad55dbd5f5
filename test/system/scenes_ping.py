# SPDX-License-Identifier: BSD-3-Clause
"""sluice ping and doctor --peer: is a daemon there, and if not, why?"""
import json
import os
import random
import re
import signal
import subprocess
from typing import Any

from .harness import Context, TestbedError, scene
from testbed.daemon import Daemon
from testbed.pair import ADDR6_B, ADDR_B, memif_pair, veth_pair
from testbed.process import Testbed, until

PEER = 4  # exit status: no answer


def _ping(daemon: Daemon, *args: object, status: int = 0) -> dict[str, Any]:
    """The result of `sluice ping`, as JSON."""
    done = subprocess.run(daemon.command("ping", "--json", *args), capture_output=True, text=True, timeout=60, check=False)
    if done.returncode != status:
        raise TestbedError(f"ping {args}: status {done.returncode} instead of {status}\n{done.stdout}{done.stderr}")
    return json.loads(done.stdout)


def _silent(daemon: Daemon, host: str, text: str, cure: str) -> None:
    """Ping and doctor must give this reason, and this cure (regular expressions)."""
    result = _ping(daemon, "-c", "1", "-W", "1500ms", host, status=PEER)
    done = subprocess.run(daemon.command("doctor", "--peer", host, "--config", daemon.config, "--json"),
                          capture_output=True, text=True, timeout=120, check=False)
    finding = [f for f in json.loads(done.stdout)["findings"] if f["check"] == "peer"]
    if len(finding) != 1 or finding[0]["level"] != "bad" or done.returncode != 1:
        raise TestbedError(f"the doctor finds {finding}, status {done.returncode}")
    for said in (result, finding[0]):
        if not re.search(text, said["text"]) or not re.search(cure, said["cure"]):
            raise TestbedError(f"{host}: {text!r} and {cure!r} were due, {said} came")


@scene("ping: a daemon answers; none is there, nobody has the address, or no way leads to it")
def ping(testbed: Testbed, context: Context) -> None:
    a, b = memif_pair(testbed, context.build, keys={"silence": "2s"})
    result = _ping(a, "-c", "5", "-i", "10ms", ADDR_B)
    if (result["pings"], result["answers"]) != (5, 5) or not 0 < result["min_ns"] <= result["mean_ns"] <= result["max_ns"]:
        raise TestbedError(f"five pings came to {result}")
    if result["min_ns"] > 500e6 or b.counters("drop_no_listener") < 5 or result["text"]:
        raise TestbedError(f"{result}; {b.counters('drop_no_listener')} refusals")
    for host in ("fd90::2", "[fd90::2]:7", f"{ADDR_B}:7"):
        _ping(a, "-c", "1", host)
    if _ping(b, "-c", "2", "-i", "1ms", "10.90.0.1")["answers"] != 2:
        raise TestbedError("the server of the memif gets no answer")
    endless = a.sluice("endless", "ping", "-i", "10ms", ADDR_B)
    until(lambda: endless.out().count("a daemon answers, after") >= 3, 20, "three answers", process=endless)
    endless.signal(signal.SIGINT)
    if endless.wait(10) != 0 or not re.search(r"(\d+) of \1 pings answered; round trip min ", endless.out()):
        raise TestbedError(f"an endless ping ended so:\n{endless.tail()}")
    good = a.sluice("doctor", "doctor", "--peer", ADDR_B, "--config", a.config)
    good.wait(30)
    if not re.search(rf"good +peer: {ADDR_B}: a daemon answers, after", good.out()):
        raise TestbedError(f"the doctor says\n{good.tail()}")

    _silent(a, "10.90.0.77", "no host answers ARP", "address, the VLAN")
    _silent(a, "192.0.2.1", "our daemon does not try: .*", "")
    _silent(a, "10.90.0.1", "our daemon does not try: .*", "")
    _silent(a, "caf\udce9", r"our daemon does not try: .*caf\?", "")  # bytes that are no UTF-8
    b.kill()
    one = subprocess.run(a.command("ping", "-c", "1", ADDR_B, "-W", "x"), capture_output=True, text=True, timeout=60, check=False)
    if one.returncode != 2 or "-W x" not in one.stderr:
        raise TestbedError(f"a wrong time: {one}")
    patient = a.sluice("patient", "ping", "-i", "1h", "10.90.0.77")
    until(lambda: "no answer" in patient.out(), 20, "a ping without an answer", process=patient)
    a.kill()
    if patient.wait(10) != 3 or "our daemon is gone" not in patient.err():
        raise TestbedError(f"a ping whose daemon died ended so:\n{patient.tail()}")
    one = subprocess.run(a.command("ping", "-c", "1", ADDR_B), capture_output=True, text=True, timeout=60, check=False)
    if one.returncode != 3:
        raise TestbedError(f"without a daemon here: {one}")


@scene("ping: another UDP port, security, unknown keys and other shared keys are told apart")
def ping_refused(testbed: Testbed, context: Context) -> None:
    quick = {"silence": "1s"}
    a, b = memif_pair(testbed, context.build, keys=quick, b_keys={"udp_port": 47999})
    _silent(a, ADDR_B, "nothing comes back, though the host answers ARP", "UDP port 47800 through firewalls")
    for daemon in (a, b):
        daemon.stop()
    a, b = memif_pair(testbed, context.build, keys=quick, secured=True, name="sealed")
    if _ping(a, "-c", "2", "-i", "1ms", ADDR_B)["answers"] != 2:
        raise TestbedError("a secured peer does not answer")
    b.peers = re.sub(r"public_key = .*", "public_key = hSDwCYkwp1R0i33ctD73Wg2/Og0mOBr066SpjqqbTmo=", b.peers)
    b.reload()
    _silent(a, ADDR_B, "does not answer our handshake|nothing comes back under the keys", "the other's public_key")
    for daemon in (a, b):
        daemon.stop()


MTU, ETHERNET_BYTES = 9000, 14


def _size(daemon: Daemon, host: str, expected: int, bound: bool) -> None:
    """Ping must find this length, and whether the port's MTU is the bound."""
    result = _ping(daemon, "-c", "1", host)
    if (result["packet_bytes"], result["mtu_bound"]) != (expected, bound):
        raise TestbedError(f"{host}: packets of {expected} bytes come through (bound {bound}), and ping says {result}")


def _narrow(testbed: Testbed, context: Context, size: int, secured: bool) -> None:
    """Daemons on a path that drops packets longer than size, and others by chance."""
    path = f"match length {size + ETHERNET_BYTES + 1}-65535 ( loss 100% ) else ( loss 10% )"
    a, b = memif_pair(testbed, context.build, mtu=MTU, keys={"checksum": "software"}, a_keys={"wire_out": path}, secured=secured,
                      name=f"narrow{size}")
    _size(a, ADDR_B, size, False)
    _size(a, ADDR6_B, size, False)
    _size(b, "10.90.0.1", MTU, True)  # the way back carries all
    if secured:
        for daemon in (a, b):
            daemon.stop()
        return
    said = subprocess.run(a.command("doctor", "--peer", ADDR_B, "--config", a.config, "--json"), capture_output=True, text=True,
                          timeout=120, check=False).stdout
    finding = [f for f in json.loads(said)["findings"] if f["check"] == "path"]
    if len(finding) != 1 or finding[0]["level"] != "warning" or f"packets of {size} bytes" not in finding[0]["text"] or \
            f"set mtu = {size}" not in finding[0]["cure"]:
        raise TestbedError(f"the doctor finds {finding}")
    said = subprocess.run(a.command("ping", "-c", "2", "-i", "1ms", ADDR_B), capture_output=True, text=True, timeout=60, check=True).stdout
    if said.count(f"packets of {size} bytes come through, and no longer ones") != 1:
        raise TestbedError(f"ping says {said}")
    for daemon in (a, b):
        daemon.stop()


@scene("ping: finds the longest packet that a path carries, to the byte", netns=True)
def ping_size(testbed: Testbed, context: Context) -> None:
    seed = int(os.environ.get("SLUICE_SEED", "0"), 0) or random.SystemRandom().randrange(1 << 32)
    print(f"# ping: seed {seed}", flush=True)
    draw = random.Random(seed)
    for secured in (False, True):
        _narrow(testbed, context, draw.randrange(1280, MTU), secured)
    a, b = veth_pair(testbed, context.build, mtu=MTU)  # where packets are copied
    for daemon in (a, b):
        daemon.wait_link()
    _size(a, ADDR_B, MTU, True)
    if b.counters("drop_wire_length") + b.counters("drop_sum") > 0:
        raise TestbedError(f"padded packets are dropped: {b.counters('drop_wire_length')}, {b.counters('drop_sum')}")
    for daemon in (a, b):
        daemon.stop()
