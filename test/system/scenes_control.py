# SPDX-License-Identifier: BSD-3-Clause
"""The control core: it stands still, and workers go on; it says what it decided."""
import signal
import time

from .harness import TestbedError, data_flow, scenario, transfer_works
from testbed.pair import ADDR_A, ADDR_B, memif_pair
from testbed.process import until
from .thread import control_thread, stopped

STALL_S = 2.0


@scenario("control stands still: data flow on, and it is said")
def control_stalls(testbed, context):
    a, b = memif_pair(testbed, context.build, keys={"silence": "1s"})
    transfer_works(a, b, ADDR_B)
    receiver = b.sluice("receiver", "perf", "server", "-1")
    b.wait_listening()
    sender = a.sluice("sender", "perf", "client", "-t", "600", "-i", "0", ADDR_B)
    data_flow(a)

    def sent():
        return sum(c["tx_acked_bytes"] for c in a.show("conns"))

    with stopped(control_thread(b.pid())):
        until(lambda: "control does not run" in b.process.err(), STALL_S, "the line that says so")
        before = sent()
        time.sleep(STALL_S)
        if sent() - before < 4 << 20:
            raise TestbedError(f"only {sent() - before} bytes moved while control stood still")
    until(lambda: "control runs again" in b.process.err(), STALL_S, "the line that it is over")
    if not any(w["control_stalls"] > 0 for w in b.show("workers")):
        raise TestbedError("no worker counts it")
    sender.signal(signal.SIGINT)
    sender.wait(20)
    receiver.wait(20)
    transfer_works(a, b, ADDR_B)
    a.stop()
    b.stop()


@scenario("the history tells what was granted")
def history_tells(testbed, context):
    a, b = memif_pair(testbed, context.build, keys={"capacity": "500Mbit"})
    transfer_works(a, b, ADDR_B)
    history = b.show("history")
    grants = [d for d in history if d["decided"] == "grant"]
    if not any(d["rate_Bps"] == 62500000 and d["peer"] == ADDR_A and d["why"] for d in grants):
        raise TestbedError(f"no grant of all of the capacity among {grants}")
    numbers = [d["number"] for d in history]
    if numbers != list(range(numbers[0], numbers[0] + len(numbers))):
        raise TestbedError(f"not in order: {numbers}")
    b.sluice("table", "show", "history", timeout_s=20)
    a.stop()
    b.stop()
