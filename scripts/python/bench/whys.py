# SPDX-License-Identifier: BSD-3-Clause
"""Samples the reason of a receiver's grant while a transfer runs: the column WHY of `sluice show path`. The
samples come through the telemetry socket, which costs the daemon less than a command for each of them."""
from collections import Counter

from testbed.daemon import Daemon
from testbed.table import rate_text
from testbed.telemetry import Telemetry

# Explanations for the reader of a report (doc/control.md).
MEANS = {
    "default": "path and host were not measured yet",
    "newcomer": "the connection had just begun, and got an equal part",
    "capacity": "the receiving host takes no more, as configured or measured",
    "loss": "packets got lost",
    "probe": "the grant was above the rate that came: the hosts were the limit, not the grant",
    "idle": "nothing came for a while: the transfer waited for a source or a target",
    "ceiling": "the configuration allows no more",
    "minimum": "the configuration reserves it",
    "demand": "the sender sent no more: a source or a target was slow, not the path",
    "queue": "packets came late, which path control took for a queue on a slow link",
    "competing": "packets came late, which path control took for a queue that competitors fill",
    "occupancy": "buffers or delay reached their thresholds",
    "ecn": "a router marked packets",
    "limit": "an application allows no more",
}


class Whys:
    """For one receiving daemon, from now on: how often each reason was seen, and the sum of its grants."""

    def __init__(self, daemon: Daemon) -> None:
        self.telemetry = Telemetry(daemon.telemetry_socket)
        self.seen: Counter[str] = Counter()
        self.granted_Bps: Counter[str] = Counter()

    def look(self) -> None:
        """Takes one sample, of the connection that has received most."""
        conns = [c for name in self.telemetry.ask("/sluice/conns") or ()
                 if (c := self.telemetry.ask(f"/sluice/conn,{name}")) and c["state"] == "open"]
        most = max(conns, key=lambda c: c["rx_bytes"], default=None)
        if most is None or most["rx_bytes"] == 0:
            return
        self.seen[most["rx_why"]] += 1
        self.granted_Bps[most["rx_why"]] += most["rx_rate_Bps"]

    def explain(self) -> str:
        """One line, with the reasons of at least a tenth of the samples."""
        if not self.seen:
            return "was over before anybody looked"
        parts = [f"{why} {100 * share:.0f} % (granted {rate_text(8 * self.granted_Bps[why] / self.seen[why])}; "
                 f"{MEANS.get(why, 'see doc/control.md')})" for why, share in shares(self.seen) if share >= 0.1]
        return ", ".join(parts)

    def close(self) -> None:
        self.telemetry.close()


def shares(seen: Counter[str]) -> list[tuple[str, float]]:
    """[(reason, share of the samples)], the most frequent first."""
    total = sum(seen.values())
    return [(why, n / total) for why, n in sorted(seen.items(), key=lambda x: (-x[1], x[0]))]


def words(seen: Counter[str]) -> str:
    """Such as "queue 83 %, demand 17 %"."""
    return ", ".join(f"{why} {100 * share:.0f} %" for why, share in shares(seen)) or "not seen"
