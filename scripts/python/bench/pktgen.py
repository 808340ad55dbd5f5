# SPDX-License-Identifier: BSD-3-Clause
"""Pktgen-DPDK as a generator: a process that config/pktgen/serve.lua makes answer to lines of input.

Pktgen is in no Debian package. $PKTGEN or PATH has it; doc/pktgen.md says where it comes from, and which version
fits which DPDK. Some versions listen on a TCP port of every address and run what they are sent, so it gets a
network namespace of its own.
"""
import json
import os
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from . import forwarder, paired
from .generator import CRC_BYTES, Offer, Profile
from testbed import net
from testbed.daemon import Build
from testbed.pair import pair_cpus
from testbed.process import Process, Testbed, TestbedError

SERVE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../config/pktgen/serve.lua")
# A port's pools have 24,576 mbufs of 10 kB for each queue, and there are several. Two ports take 3 GB, more than
# benches have in hugepages, so it gets ordinary memory.
PORT_MB = 1536
READY_S, ANSWER_S = 60.0, 30.0
BURST = 64         # frames that Pktgen sends at once
TICK_S = 0.01      # of the clock of serve.lua
TRIAL_MIN_S = 0.5  # shorter trials are mostly ticks


def program() -> str | None:
    """The path of Pktgen, or None if there is none. TestbedError if $PKTGEN names no program."""
    named = os.environ.get("PKTGEN")
    if named is None:
        return shutil.which("pktgen")
    if not os.access(named, os.X_OK):
        raise TestbedError(f"PKTGEN={named} is no program; doc/pktgen.md says how to build it")
    return named


@dataclass(frozen=True)
class Window:
    """What Pktgen counted. seconds has steps of 10 ms, and includes what Pktgen does before the first frame."""
    seconds: float
    requested_pps: float
    set_pps: float
    sent: int
    received: int
    missed: int
    errors: int


def window_parse(line: str) -> Window:
    """TestbedError if the line is an error's, or no answer of serve.lua's."""
    try:
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise TestbedError(f"pktgen: {answer['error']}")
        return Window(**{name: answer[name] for name in Window.__dataclass_fields__})
    except (ValueError, KeyError, TypeError):
        raise TestbedError(f"pktgen answers {line!r}, which is no window") from None


class Pktgen:
    """A Pktgen that is ready. It sends by port 0, and receives by port 1."""

    def __init__(self, testbed: Testbed, tag: str, eal: Sequence[str], cpu: int, dst_mac: str, jumbo: bool) -> None:
        """tag: its name in the testbed. eal: what makes the ports. dst_mac: of the device, if it looks at that; "": any.
        jumbo: it may send frames of more than 1518 bytes."""
        path = program()
        if path is None:
            raise TestbedError("there is no pktgen: set PKTGEN, or use another generator (doc/pktgen.md)")
        self.pipes = [testbed.path(f"{tag}.pipe-{name}") for name in ("in", "out")]
        for pipe in self.pipes:
            os.mkfifo(pipe)
        # Both ends are open for both directions, so that no open() waits for the other side.
        self.input, self.output = (os.open(pipe, os.O_RDWR | os.O_NONBLOCK) for pipe in self.pipes)
        testbed.undo(os.close, self.input)
        testbed.undo(os.close, self.output)
        self.unread = b""
        # The main lcore serves no ports, and mostly sleeps, so it shares the worker's core.
        self.process: Process = testbed.start(
            tag, [path, "--lcores", f"0@{cpu},1@{cpu}", "--no-huge", "--no-shconf", "-m",
                  str(2 * PORT_MB), *eal, "--no-pci", "--no-telemetry", "--log-level", "error", "--file-prefix", f"sluice-{os.getpid()}-{tag}", "--",
                  "-P", *(["-j"] if jumbo else []), "-m", "1.0,1.1", "-f", os.path.realpath(SERVE)],
            ns=net.namespace(testbed, tag),
            env={"SLUICE_PKTGEN_IN": self.pipes[0], "SLUICE_PKTGEN_OUT": self.pipes[1],
                 "SLUICE_PKTGEN_TX": "0", "SLUICE_PKTGEN_RX": "1",
                 "SLUICE_PKTGEN_DST_MAC": dst_mac, "TERM": "xterm"})
        try:
            ready = json.loads(self._line(READY_S))
            self.version, self.link_bps = str(ready["version"]), float(ready["link_bps"])
        except (ValueError, KeyError):
            raise TestbedError(f"pktgen does not start as it should\n{self.process.tail()}") from None

    def _line(self, timeout_s: float) -> str:
        end = time.monotonic() + timeout_s
        while b"\n" not in self.unread:
            try:
                self.unread += os.read(self.output, 4096)
            except BlockingIOError:
                self.process.must_run()
                if time.monotonic() > end:
                    raise TestbedError(f"pktgen does not answer within {timeout_s:g} s\n{self.process.tail()}") from None
                time.sleep(0.005)
        line, self.unread = self.unread.split(b"\n", 1)
        return line.decode(errors="replace")

    def window(self, frame_bytes: int, pps: float, seconds: float) -> Window:
        """Sends pps times seconds frames of this size without CRC; with pps 0, as many as go out."""
        words = f"size={frame_bytes + CRC_BYTES} pps={pps:.3f} seconds={seconds:.6f}\n"
        os.write(self.input, words.encode())
        return window_parse(self._line(ANSWER_S + 3 * seconds))


class PktgenGenerator:
    """Pktgen on the second CPU of pair_cpus(), as the client of a forwarder's memifs (generator.Generator). It polls
    all the time, so it is stopped outside of its windows."""

    def __init__(self, testbed: Testbed, build: Build, tag: str, rings: forwarder.Rings) -> None:
        eal = [word for vdev in forwarder.vdevs(testbed, "client", tag, rings) for word in ("--vdev", vdev)]
        self.pktgen = Pktgen(testbed, f"pktgen-{tag}", eal, pair_cpus()[1][0], forwarder.CLIENT_MACS[1],
                             rings.slot > forwarder.BUFFER)
        self.link_bps = self.pktgen.link_bps
        # What a window takes besides its frames.
        self.beside_s = min(self.pktgen.window(60, 1e6, BURST / 1e6).seconds for _ in range(3))
        self.group = paired.Group(testbed, [self.pktgen.process], 0)

    def warm(self, profile: Profile, load_fps: float, seconds: float, linger_s: float) -> None:
        """Nothing: Pktgen waits for late frames itself, and each window takes seconds more than its frames."""

    def offer(self, profile: Profile, load_fps: float, seconds: float, linger_s: float) -> Offer:
        if profile.flows != 1:
            raise TestbedError(f"Pktgen is driven with one flow, and {profile.flows} are wanted; use sluice-load")
        with self.group:
            w = self.pktgen.window(profile.frame_bytes, load_fps, seconds)
        # It sends all frames, however long that takes: if too long, the load was lower.
        took_s = w.seconds - self.beside_s - TICK_S
        return Offer(max(w.sent, int(load_fps * took_s)), w.sent, w.received)
