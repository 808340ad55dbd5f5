# SPDX-License-Identifier: BSD-3-Clause
"""Wireshark's dissector; a daemon writes the keys of its associations down, and tshark decrypts with them what two
daemons said to each other."""
import os
import shutil
import time
from typing import NamedTuple

from testbed import tshark
from testbed.daemon import Daemon
from testbed.pair import ADDR6_A, ADDR_B, veth_pair
from testbed.process import Process, Testbed, until

from .dissector_test import SCRIPT
from ..harness import Context, Skip, TestbedError, file_works, run_script, scene

COLUMNS = ("ip.src", "ipv6.src", "sluice.type", "sluice.trailer.tag_right", "sluice.data.request",
           "sluice.data.offset", "sluice.data.request_len", "sluice.data.payload", "sluice.wrong_key", "sluice.no_key")
FIRST, DATA, CNTL = "1", "2", "3"
SIZE = 300_007


@scene("Wireshark's dissector names every byte", company=True)
def dissector(testbed: Testbed, context: Context) -> None:
    run_script(testbed, "wireshark/dissector_test", dict(os.environ, TMPDIR=testbed.dir))


@scene("Wireshark's dissector decrypts with a key log", company=True)
def decrypt(testbed: Testbed, context: Context) -> None:
    run_script(testbed, "wireshark/decrypt_test", dict(os.environ, TMPDIR=testbed.dir))


class Packet(NamedTuple):
    """A sealed packet, as tshark shows it."""
    source: str
    kind: str
    right: str
    request: str
    offset: str
    request_len: str
    payload: bytes
    wrong_key: bool  # these two: the packet carries the remark
    no_key: bool


def _capture(testbed: Testbed, daemon: Daemon, path: str) -> Process:
    """tcpdump of all that the daemon's device sends and receives."""
    process = testbed.start("tcpdump", ["tcpdump", "-i", daemon.device, "-U", "-w", path, "-s", "0", "-B", "16384",
                                        "--immediate-mode", "-Z", "root"], ns=daemon.ns)
    until(lambda: "listening on" in process.err(), 20, "tcpdump listens", process=process)
    return process


def _stop(tcpdump: Process, path: str) -> None:
    """Stops tcpdump once it has written what it had taken."""
    sizes = [-1, os.path.getsize(path)]
    while sizes[-1] != sizes[-2]:
        time.sleep(1)
        sizes.append(os.path.getsize(path))
    tcpdump.stop()


def _sealed(capture: str, key_log: str) -> list[Packet]:
    """The sealed packets of a capture."""
    done = tshark.run(SCRIPT, capture, "-Y", "sluice.association != 0", "-T", "fields", "-E", "separator=;",
                      *(a for name in COLUMNS for a in ("-e", name)), key_log=key_log)
    if done.returncode != 0 or "Lua" in done.stderr:
        raise TestbedError(f"tshark: {done.stderr}")
    packets = []
    for line in done.stdout.splitlines():
        v4, v6, kind, right, request, offset, length, payload, wrong_key, no_key = line.split(";")
        packets.append(Packet(v4 or v6, kind, right, request, offset, length, bytes.fromhex(payload.replace(":", "")),
                              wrong_key != "", no_key != ""))
    return packets


def _requests(packets: list[Packet]) -> list[bytes]:
    """The requests that DATA packets carry, put together. Each connection of the scene has addresses, or first numbers
    of requests, of its own."""
    found: dict[tuple[str, str], bytearray] = {}
    for p in packets:
        if p.kind == DATA and p.payload:
            request = found.setdefault((p.source, p.request), bytearray(int(p.request_len)))
            request[int(p.offset):int(p.offset) + len(p.payload)] = p.payload
    return [bytes(r) for r in found.values()]


def _lines(path: str) -> list[list[str]]:
    """The words of a key log's lines, without remarks."""
    with open(path, encoding="ascii") as f:
        return [line.split() for line in f if line.startswith("KEY ")]


def _wrong_log(testbed: Testbed, path: str) -> str:
    """A key log with the same associations and other keys."""
    wrong = testbed.path("wrong.log")
    with open(wrong, "w", encoding="ascii") as f:
        f.writelines(" ".join([*words[:-1], os.urandom(len(words[-1]) // 2).hex()]) + "\n" for words in _lines(path))
    return wrong


def _needs_restart(daemon: Daemon, path: str) -> None:
    """A key log cannot be switched on while the daemon runs."""
    daemon.keys["key_log_file"] = path
    daemon.reload()
    until(lambda: "reload: [daemon] key_log_file: needs a restart" in daemon.process.err(), 5, "the reload names the key")
    if os.path.exists(path):
        raise TestbedError("a reload has made a key log")


@scene("key log: tshark decrypts with it what two daemons said, both families; with other keys nothing", netns=True)
def decrypts(testbed: Testbed, context: Context) -> None:
    for tool in ("tshark", "tcpdump"):
        if shutil.which(tool) is None:
            raise Skip(f"no {tool} here; scripts/setup installs it")
    log, capture = testbed.path("keys.log"), testbed.path("all.pcap")
    a, b = veth_pair(testbed, context.build, secured=True, tapped=True, a_daemon={"key_log_file": log})
    warned = ["warning: keys are logged" in d.process.err() for d in (a, b)]
    if warned != [True, False] or os.stat(log).st_mode & 0o7777 != 0o600:
        raise TestbedError(f"warned {warned}, mode {os.stat(log).st_mode:o}\n{a.process.tail()}")
    tcpdump = _capture(testbed, a, capture)
    sent, back = os.urandom(SIZE), os.urandom(SIZE)
    file_works(testbed, a, b, ADDR_B, data=sent)
    file_works(testbed, b, a, f"[{ADDR6_A}]", data=back)
    _stop(tcpdump, capture)
    if len(_lines(log)) != 4:  # each host has asked for an association
        raise TestbedError(f"{len(_lines(log))} keys were logged")

    packets = _sealed(capture, log)
    bad = [p for p in packets if p.right not in ("1", "True") or p.wrong_key or p.no_key]
    if {p.kind for p in packets} != {FIRST, DATA, CNTL} or bad:
        raise TestbedError(f"{len(packets)} packets, {len(bad)} not opened: {str(bad[:3])[:2000]}")
    requests = _requests(packets)
    for data in (sent, back):
        if not any(data in request for request in requests):
            raise TestbedError(f"a file is in none of {len(requests)} requests, {[len(r) for r in requests]} bytes")

    packets = _sealed(capture, _wrong_log(testbed, log))
    bad = [p for p in packets if p.right in ("1", "True") or p.payload or not p.wrong_key]
    if not packets or bad:
        raise TestbedError(f"{len(bad)} of {len(packets)} packets seem right with other keys: {str(bad[:3])[:2000]}")

    for daemon in (a, b):
        for words in _lines(log):
            if words[-1] in daemon.process.err() + daemon.process.out():
                raise TestbedError(f"{daemon.name} has said a key")
    _needs_restart(b, testbed.path("b.log"))
    for daemon in (a, b):
        daemon.stop()
    with open(log, "rb") as f:
        text = f.read()
    a.start()  # takes the file that is there
    a.stop()
    with open(log, "rb") as f:
        if f.read() != text:
            raise TestbedError("the next start has changed the log")
