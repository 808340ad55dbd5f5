# SPDX-License-Identifier: BSD-3-Clause
"""The tools that have a transport of their own over the kernel's UDP: uftp with files, quinn (QUIC) from memory to
memory."""
import hashlib
import os
import shutil
from dataclasses import dataclass

from testbed import baselines
from testbed.process import TestbedError

from . import outputs
from .tool import FILE, LEFT, LOOK_S, MEMORY, RIGHT, USER, Outcome, Place, Program, Tool, stop, transferred

UFTP_PORT, QUINN_PORT = 1044, 4433
UFTP_SENDER, UFTP_RECEIVER = "0x0A5B0001", "0x0A5B0002"
UFTP_BLOCK = 1440  # with its headers a full packet
UFTP_SHARE = 0.97  # of the link that uftp is configured to send, headers included
QUINN_VARIABLE = "QUINN_PERF"
# Enough for the longest path, as its defaults are made for 100 Mbit/s and 100 ms.
QUINN_WINDOW = "64M"


@dataclass(kw_only=True)
class Uftp(Program):
    """To one receiver. With tfmcc it finds its rate; else the rate of the link is configured, or, where there is no
    link, it sends as fast as it can."""
    tfmcc: bool

    def run(self, place: Place) -> Outcome:
        receiver = place.start("uftpd", ["uftpd", "-d", "-q", "-D", place.folder, "-I", "slright", "-U", UFTP_RECEIVER,
                                         "-B", 8 << 20, "-c", 8 << 20], "right")
        place.listens("right", UFTP_PORT, receiver, udp=True)
        grtt_s = max(0.01, 2 * place.path.rtt_ms / 1e3)
        place.begin()
        sender = place.start("uftp", ["uftp", "-M", RIGHT, *self._rate(place), "-b", UFTP_BLOCK, "-B", 8 << 20, "-r",
                                      f"{grtt_s:g}:0.01:2", "-U", UFTP_SENDER, "-H", UFTP_RECEIVER, "-I", "slleft",
                                      "-D", "target", place.source], "left")
        try:
            outcome = transferred(place, [sender])
        except TestbedError:
            raise TestbedError(f"uftp: {outputs.uftp_reason(sender.out() + sender.err())}") from None
        if not outcome.note:
            outcome.again_percent = outputs.uftp(sender.out() + sender.err())
        return outcome

    def _rate(self, place: Place) -> list[object]:
        if self.tfmcc:
            return ["-C", "tfmcc"]
        rate = place.path.rate_bps
        return ["-R", -1 if rate is None else int(rate * UFTP_SHARE / 1e3)]


def quinn_program() -> str | None:
    """Where quinn's own program for measuring is."""
    return os.environ.get(QUINN_VARIABLE) or shutil.which("quinn-perf")


@dataclass(kw_only=True)
class Quinn(Tool):
    """quinn's perf program. The client fetches, as only what it reads has certainly arrived."""
    congestion: str

    def cure(self) -> str:
        return f"build quinn's perf program (doc/measuring.md), and set {QUINN_VARIABLE} to its path"

    def lack(self) -> str | None:
        program = quinn_program()
        if program is None:
            return f"there is no quinn-perf in PATH, and {QUINN_VARIABLE} is not set"
        return None if os.access(program, os.X_OK) else f"{program} is no program"

    def version(self) -> str:
        """It does not tell its version."""
        program = quinn_program()
        assert program is not None  # lack() has looked
        with open(program, "rb") as f:
            digest = hashlib.sha256(f.read()).hexdigest()
        return f"quinn-perf, SHA-256 {digest[:16]}"

    def run(self, place: Place) -> Outcome:
        program = quinn_program()
        windows = ["--stream-receive-window", QUINN_WINDOW, "--receive-window", QUINN_WINDOW, "--send-window",
                   QUINN_WINDOW, "--congestion", self.congestion]
        server = place.start("quinn-server", [program, "server", "--listen", f"{LEFT}:{QUINN_PORT}", "--conn-stats",
                                              *windows], "left")
        place.listens("left", QUINN_PORT, server, udp=True)
        place.begin()
        client = place.start("quinn-client", [program, "client", "--ip", LEFT, "--upload-size", "0", "--download-size",
                                              "1T", "--duration", place.seconds, "--json", "-", *windows,
                                              f"localhost:{QUINN_PORT}"], "right")
        seconds = baselines.wait_all([client], place.limit_s, place.began, None, LOOK_S)
        outcome = place.end(Outcome())
        stop([client, server])
        if seconds is None:
            raise TestbedError(f"not within {place.limit_s:g} s")
        why = baselines.ended_well([client])
        if why is not None:
            raise TestbedError(why)
        said = outputs.quinn_client(client.out())
        outcome.bytes, outcome.seconds = said.bytes, said.seconds
        outcome.again_percent = outputs.quinn_lost(server.out())
        return outcome


def tools() -> list[Tool]:
    def uftp(name: str, title: str, tfmcc: bool) -> Uftp:
        return Uftp(name=name, title=title, tfmcc=tfmcc, what=FILE, kind=USER, needs=["uftp", "uftpd"], package="uftp")

    def quinn(name: str, congestion: str) -> Quinn:
        return Quinn(name=name, title=f"quinn, {congestion}", what=MEMORY, kind=USER, congestion=congestion)

    return [quinn("quinn", "cubic"), quinn("quinn-bbr", "bbr"), uftp("uftp", "uftp, rate configured", False),
            uftp("uftp-tfmcc", "uftp, tfmcc", True)]
