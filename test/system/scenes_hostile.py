# SPDX-License-Identifier: BSD-3-Clause
"""A client that lies in its rings, at a daemon under AddressSanitizer that serves another one."""
import os
import re

from harness import LabError, Skip, perf, scenario
from lab.pair import ADDR_A, memif_pair

ENV = {"ASAN_OPTIONS": "abort_on_error=0:exitcode=99:detect_leaks=0",
       "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1:exitcode=99"}


@scenario("hostile client: the other one's transfer is right, no report, quota held", memory_gb=3)
def hostile(lab, context):
    if context.asan is None:
        raise Skip("no build with AddressSanitizer is given")
    quota = 256 << 20
    a, b = memif_pair(lab, context.asan, daemon_keys={"quota": quota}, env=ENV)
    perf(b, a, "10.90.0.2", "-n", "1M", "--memory", "1M", name="first")
    before = [a.holdings(), b.holdings()]
    seed = os.environ.get("SLUICE_SEED", str(int.from_bytes(os.urandom(4), "little")))
    attacker = lab.start("hostile", [context.tool("hostile"), b.socket, context.seconds, seed])
    rounds, peak_kb = 0, 0
    while attacker.running():
        rounds += 1
        result = perf(a, b, ADDR_A, "-t", "2", "--bidir", "--memory", "4M", name=f"honest{rounds}")
        if result["tx"]["bytes"] == 0 or result["rx"]["bytes"] == 0:
            raise LabError(f"seed {seed}: the honest client moved nothing: {result}")
        peak_kb = max(peak_kb, b.holdings()["locked_kB"])
        for daemon in (a, b):
            report(daemon, seed)
    print(f"#   seed {seed}, {rounds} honest transfers; {' '.join(attacker.out().split(chr(10))[1:2])}")
    if attacker.wait(10) != 0:
        raise LabError(f"seed {seed}\n{attacker.tail()}\n{b.process.tail()}")
    if peak_kb * 1024 > quota + (8 << 20):
        raise LabError(f"seed {seed}: {peak_kb} kB are locked, the quota is {quota >> 10} kB")
    # AddressSanitizer keeps what was freed, a map here and there; each session would leave several.
    for daemon, was in ((a, before[0]), (b, before[1])):
        daemon.check_holdings(was, rss_slack_kb=1 << 20, maps_slack=200)
    for daemon in (a, b):
        daemon.stop()
        report(daemon, seed)


def report(daemon, seed):
    """Raises what a sanitizer, or a broken invariant, said."""
    text = daemon.process.err()
    if re.search(r"Sanitizer|runtime error:|broken invariant", text) or not daemon.process.running() \
            and daemon.process.wait(1) != 0:
        raise LabError(f"seed {seed}: {daemon.name}\n{daemon.process.tail(60)}")
