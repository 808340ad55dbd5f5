# SPDX-License-Identifier: BSD-3-Clause
"""sluice ping and doctor --peer: is a daemon there, and if not, why?"""
import json
import re
import signal
import subprocess
from typing import Any

from .harness import Context, TestbedError, scene
from testbed.daemon import Daemon
from testbed.pair import ADDR_B, memif_pair
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
