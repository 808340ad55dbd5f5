# SPDX-License-Identifier: BSD-3-Clause
"""Daemons under ThreadSanitizer: workers, control and clients that come and go at the same time."""
import re

from harness import LabError, Skip, perf, scenario
from lab.pair import ADDR_B, memif_pair

ENV = {"TSAN_OPTIONS": "halt_on_error=0:exitcode=0"}


def _races(text):
    """Reports, without those of memory that DPDK's own libraries wrote: ThreadSanitizer does not see
    the locks inside of them."""
    reports = re.split(r"={18}\n", text)
    return [r for r in reports if "WARNING: ThreadSanitizer" in r and "(librte_" not in
            r.split("Location is")[0] and " close " not in r]


@scenario("daemons under ThreadSanitizer: no data race", memory_gb=3)
def threads(lab, context):
    if context.tsan is None:
        raise Skip("no build with ThreadSanitizer is given")
    a, b = memif_pair(lab, context.tsan, env=ENV)
    for i in range(3):
        perf(b, a, ADDR_B, "-n", "8M", "-P", "4", "--bidir", "--memory", "1M", name=f"round{i}")
        for daemon in (a, b):
            daemon.show("conns")
            daemon.show("workers")
    perf(b, a, ADDR_B, "-n", "1M", "--sync", "-l", "10K", "--memory", "1M", name="sync")
    for daemon in (a, b):
        daemon.stop()
        races = _races(daemon.process.err())
        if races:
            raise LabError(f"{len(races)} data races in {daemon.name}, for one:\n{races[0]}")
