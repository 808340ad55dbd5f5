# SPDX-License-Identifier: BSD-3-Clause
"""Why a receiver granted what it did while a transfer ran: what `sluice show path` has under WHY, looked at
again and again through the telemetry socket, which costs a daemon less than a command each time."""
from collections import Counter

from testbed.table import rate_text
from testbed.telemetry import Telemetry

# What people are told of a reason (doc/control.md).
MEANS = {
    "default": "nothing was known of path and host yet",
    "newcomer": "an equal part, for it had just begun",
    "capacity": "the receiving host takes no more, as it was told or has measured",
    "loss": "packets got lost",
    "probe": "more was granted than ever came: the hosts were the limit, not the grant",
    "idle": "nothing came for a while: a source or a target was waited for",
    "ceiling": "the configuration allows no more",
    "minimum": "the configuration reserves it",
    "demand": "the sender sent no more: a source or a target was slow, not the path",
    "queue": "packets came late, which path control took for a queue on a slow link",
    "competing": "packets came late, which path control took for a queue that others fill",
    "occupancy": "buffers or delay came to their thresholds",
    "ecn": "a router marked packets",
}


class Whys:
    """Of one receiving daemon, from now on: how often each reason was seen, and the grant with it."""

    def __init__(self, daemon):
        self.telemetry = Telemetry(daemon.telemetry_socket)
        self.seen, self.granted_Bps = Counter(), Counter()

    def look(self):
        """Once, of the connection that has received most."""
        conns = [c for name in self.telemetry.ask("/sluice/conns") or ()
                 if (c := self.telemetry.ask(f"/sluice/conn,{name}")) and c["state"] == "open"]
        most = max(conns, key=lambda c: c["rx_bytes"], default=None)
        if most is None or most["rx_bytes"] == 0:
            return
        self.seen[most["rx_why"]] += 1
        self.granted_Bps[most["rx_why"]] += most["rx_rate_Bps"]

    def explain(self):
        """In a line, with the reasons that were seen in a tenth of the looks at least."""
        if not self.seen:
            return "was over before anybody looked"
        parts = [f"{why} {100 * share:.0f} % (granted {rate_text(8 * self.granted_Bps[why] / self.seen[why])}; "
                 f"{MEANS.get(why, 'see doc/control.md')})" for why, share in shares(self.seen) if share >= 0.1]
        return ", ".join(parts)

    def close(self):
        self.telemetry.close()


def shares(seen):
    """[(reason, share of the looks)], the most frequent first."""
    total = sum(seen.values())
    return [(why, n / total) for why, n in sorted(seen.items(), key=lambda x: (-x[1], x[0]))]


def words(seen):
    """As "queue 83 %, demand 17 %"."""
    return ", ".join(f"{why} {100 * share:.0f} %" for why, share in shares(seen)) or "not seen"
