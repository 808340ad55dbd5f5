# SPDX-License-Identifier: BSD-3-Clause
"""The trace of events: a running daemon shows it, and a daemon that crashes writes it to a file."""
import os
import re
import resource
import signal

from .harness import Context, TestbedError, scene, transfer_works
from testbed.daemon import Daemon
from testbed.pair import ADDR_A, ADDR_B, memif_pair
from testbed.process import Testbed, until
from .thread import control_thread, stopped


def _texts(daemon: Daemon, event: str) -> list[str]:
    return [e["text"] for e in daemon.show("trace") if e["event"] == event]


@scene("the trace tells of connections, grants, losses and a control that stands still")
def trace_tells(testbed: Testbed, context: Context) -> None:
    a, b = memif_pair(testbed, context.build, a_keys={"wire": "loss 1%"},
                      b_keys={"capacity": "200Mbit", "checksum": "software"})
    # The trace has only the first NAK of a while. If that one asks for a last packet, it counts no loss yet.
    for _ in range(5):
        transfer_works(a, b, ADDR_B)
        if any(re.search(r"lost=[1-9]", text) for text in _texts(b, "nak-sent")):
            break
    with stopped(control_thread(b.pid())):
        until(lambda: "control does not run" in b.process.err(), 5, "the line about control")
    until(lambda: _texts(b, "control-runs"), 5, "control that runs again")
    trace = b.show("trace")
    for event, pattern in (("opened", rf"^conn \d+ opened service=7000 peer={re.escape(ADDR_A)}$"),
                           ("grant", r"grant reason=\w+ rate_Bps=25000000 burst_bytes=\d+$"),
                           ("nak-sent", r"nak-sent spans=\d+ naks=\d+ lost=[1-9]"),
                           ("control-stalls", r"^control-stalls quiet_ns=\d{8,}$"),
                           ("ended", r"ended end=none errno=0 rx_bytes=\d+$")):
        texts = [e["text"] for e in trace if e["event"] == event]
        if not any(re.search(pattern, t) for t in texts):
            raise TestbedError(f"no event like {pattern} among {texts or trace}")
    opened = {e["conn"] for e in trace if e["event"] == "opened"}
    if opened != {e["conn"] for e in trace if e["event"] == "ended"}:
        raise TestbedError(f"not all of the opened connections {opened} have ended: {trace}")
    if not any("nak-came" in t for t in _texts(a, "nak-came")) or not _texts(a, "granted"):
        raise TestbedError(f"the sender has no NAK, or no grant: {a.show('trace')}")
    ages = [e["ago_ns"] for e in trace if "worker" in e]
    if ages != sorted(ages, reverse=True):
        raise TestbedError(f"the trace is not in order of time: {ages}")
    table = b.sluice("table", "show", "trace", timeout_s=20).check(20)
    if "control-stalls quiet_ns=" not in table:
        raise TestbedError(f"the table lacks control-stalls:\n{table}")
    a.stop()
    b.stop()


def _no_core(daemon: Daemon) -> None:
    if not daemon.build.units:  # units have LimitCORE=
        resource.prlimit(daemon.pid(), resource.RLIMIT_CORE, (0, 0))


@scene("a daemon that dies says what happened before, and leaves it in a file", company=True)
def trace_of_a_crash(testbed: Testbed, context: Context) -> None:
    a, b = memif_pair(testbed, context.build)
    _no_core(b)
    transfer_works(a, b, ADDR_B)
    known = len(b.show("trace"))
    b.process.signal(signal.SIGSEGV)
    if b.process.wait(20) != -signal.SIGSEGV:
        raise TestbedError(f"the daemon does not end with SIGSEGV\n{b.process.tail()}")
    path = b.socket + ".crash"
    with open(path, encoding="ascii") as f:
        lines = f.read().splitlines()
    line = re.compile(r"^sluiced: trace net_memif0/(\d+|control): \d+\.\d{9} s ago: (conn \d+ )?[a-z-]+( [\w-]+=\S*)*$")
    wrong = [x for x in lines if not line.match(x)]
    if wrong or len(lines) < known or os.stat(path).st_mode & 0o77:
        raise TestbedError(f"{len(lines)} lines of {known} events; wrong: {wrong[:3]}")
    for text in (f"killed by signal {signal.SIGSEGV:d}; the latest events are in {path}",
                 f"opened service=7000 peer={ADDR_A}"):
        if text not in b.process.err():
            raise TestbedError(f"the daemon does not say \"{text}\"\n{b.process.tail()}")
    a.stop()
    b.start()
    b.stop()


@scene("a daemon that dies writes to no file but its own", company=True)
def crash_file_of_others(testbed: Testbed, context: Context) -> None:
    _, b = memif_pair(testbed, context.build)
    path = b.socket + ".crash"
    other = path + ".other"
    with open(other, "w", encoding="ascii") as f:
        f.write("worth something\n")
    for make in (lambda: os.mkfifo(path), lambda: os.link(other, path), lambda: os.symlink(other, path)):
        make()
        _no_core(b)
        b.process.signal(signal.SIGSEGV)
        if b.process.wait(20) != -signal.SIGSEGV:
            raise TestbedError(f"the daemon does not end with SIGSEGV\n{b.process.tail()}")
        if f"could not be written to {path}" not in b.process.err():
            raise TestbedError(f"the daemon does not say that it left {path} alone\n{b.process.tail()}")
        os.unlink(path)
        b.start()
    with open(other, encoding="ascii") as f:
        if f.read() != "worth something\n":
            raise TestbedError("the daemon wrote to a file that is not its own, through a link")
    b.stop()
