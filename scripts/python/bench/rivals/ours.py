# SPDX-License-Identifier: BSD-3-Clause
"""Sluice as one of the tools: a daemon at each end, started for the turn, and `sluice` in between."""
from dataclasses import dataclass

from testbed import baselines, net
from testbed.daemon import Build, Daemon, Port, af_packet, af_xdp
from testbed.process import TestbedError, Process

from ..whys import Whys
from . import outputs
from .paths import MTU
from .tool import FILE, LOOK_S, MEMORY, OURS, Outcome, Place, Tool, stop, transferred

ADDRESSES = {"left": "10.91.0.11", "right": "10.91.0.12"}
PORTS = ("auto", "xdp", "packet")


@dataclass(kw_only=True)
class Sluice(Tool):
    """what: MEMORY (`sluice perf`) or FILE (`sluice send` and `recv`). port: of PORTS."""
    build: Build
    port: str

    def cure(self) -> str:
        return "give --port packet"

    def lack(self) -> str | None:
        return net.lack_xdp() if self.port == "xdp" else None

    def version(self) -> str:
        return f"this tree; AF_XDP: {net.lack_xdp() or 'yes'}"

    def run(self, place: Place) -> Outcome:
        xdp = self._xdp(place)
        a, b = (self._daemon(place, side, xdp) for side in ("left", "right"))
        for daemon in (a, b):
            daemon.wait_link()
        whys = Whys(b)
        try:
            outcome = self._memory(place, a, b, whys) if self.what == MEMORY else self._file(place, a, b, whys)
        finally:
            whys.close()
        outcome.whys = whys.seen
        for daemon in (a, b):
            daemon.stop()
        return outcome

    def _xdp(self, place: Place) -> bool:
        """An AF_XDP socket takes all that arrives, so a TCP beside it would get nothing."""
        return not place.path.competitor and (self.port == "xdp" or (self.port == "auto" and net.lack_xdp() is None))

    def _daemon(self, place: Place, side: str, xdp: bool) -> Daemon:
        device = f"sl{side}"
        port: Port = af_xdp(device) if xdp else af_packet(device, MTU)
        port.keys = {"address": f"{ADDRESSES[side]}/24", "mtu": MTU, "silence": "10s"}
        have = place.ends.cpus
        worker = have[0] if side == "left" else have[-1]
        daemon = Daemon(place.testbed, self.build, side, [port], [worker], have[-1] if side == "left" else have[0],
                        ns=place.ends.spaces[side], telemetry=True)
        daemon.wrap = place.group.words()
        place.commands.append(f"{side}# sluiced, {'AF_XDP' if xdp else 'AF_PACKET'}, MTU {MTU}, idle = sleep, "
                              f"no capacity configured")
        return daemon.start()

    def _look(self, whys: Whys) -> None:
        try:
            whys.look()
        except (TimeoutError, OSError):
            pass  # the daemon was too busy to answer

    def _again(self, sender: Daemon) -> float | None:
        """The units of open connections that were sent again, in per cent."""
        conns = [c for c in sender.show("conns") if c["state"] == "open"]
        return outputs.percent(sum(c["tx_repeats"] for c in conns), sum(c["tx_units"] for c in conns))

    def _memory(self, place: Place, a: Daemon, b: Daemon, whys: Whys) -> Outcome:
        server = self._client(place, b, "right", "perf", "server", "-1", "--json")
        b.wait_listening(process=server)
        place.begin()
        # Requests that are under way at the end are completed, so large ones on a slow link would take long.
        length = place.path.request_bytes()
        client = self._client(place, a, "left", "perf", "client", "--json", "-i", "0", "-t", place.seconds,
                              *(("-l", length) if length is not None else ()), ADDRESSES["right"])
        seconds = baselines.wait_all([client, server], place.limit_s, place.began, lambda: self._look(whys), LOOK_S)
        if seconds is None:
            arrived = sum(c["rx_bytes"] for c in b.show("conns") if c["state"] == "open")
            outcome = place.end(Outcome(arrived, place.limit_s, note=f"cut off after {place.limit_s:g} s",
                                        failed=arrived == 0, again_percent=self._again(a)))
            stop([client, server])
            return outcome
        outcome = place.end(Outcome())
        why = baselines.ended_well([client, server])
        if why is not None:
            raise TestbedError(why)
        said = outputs.sluice_perf(client.out(), server.out())
        outcome.bytes, outcome.seconds, outcome.again_percent = said.bytes, said.seconds, said.again_percent
        return outcome

    def _file(self, place: Place, a: Daemon, b: Daemon, whys: Whys) -> Outcome:
        receiver = self._client(place, b, "right", "recv", "-o", place.target, "--once", "--json")
        b.wait_listening(process=receiver)
        place.begin()
        sender = self._client(place, a, "left", "send", "--json", place.source, ADDRESSES["right"])
        outcome = transferred(place, [sender, receiver], lambda: self._look(whys), lambda: self._again(a))
        if not outcome.note:
            outcome.again_percent = outputs.sluice_send(sender.out())
        return outcome

    def _client(self, place: Place, daemon: Daemon, side: str, *args: object) -> Process:
        """A client speaks to its daemon through a socket of the file system, so it needs no namespace."""
        process = place.start(f"sluice-{args[0]}", daemon.command(*args))
        place.commands[-1] = f"{side}{place.commands[-1]}"
        return process


def tools(build: Build, port: str) -> list[Tool]:
    return [Sluice(name=name, title="Sluice", what=what, kind=OURS, offloads=False, build=build, port=port)
            for name, what in (("sluice", MEMORY), ("sluice-file", FILE))]
