# SPDX-License-Identifier: BSD-3-Clause
"""Control: workers go on while it does not run, and it records its decisions."""
import signal
import time

from .harness import Context, TestbedError, data_flow, scene, transfer_works
from testbed.pair import ADDR_A, ADDR_B, memif_pair
from testbed.process import Testbed, until
from .thread import control_thread, stopped

STALL_S = 2.0


@scene("control stands still: data flow on, and it is said")
def control_stalls(testbed: Testbed, context: Context) -> None:
    a, b = memif_pair(testbed, context.build, keys={"silence": "1s"})
    transfer_works(a, b, ADDR_B)
    receiver = b.sluice("receiver", "perf", "server", "-1")
    b.wait_listening()
    sender = a.sluice("sender", "perf", "client", "-t", "600", "-i", "0", ADDR_B)
    data_flow(a)

    def sent() -> int:
        return sum(c["tx_acked_bytes"] for c in a.show("conns"))

    with stopped(control_thread(b.pid())):
        until(lambda: "control does not run" in b.process.err(), STALL_S, "the line that control does not run")
        before = sent()
        time.sleep(STALL_S)
        if sent() - before < 4 << 20:
            raise TestbedError(f"only {sent() - before} bytes moved while control stood still")
    until(lambda: "control runs again" in b.process.err(), STALL_S, "the line that control runs again")
    if not any(w["control_stalls"] > 0 for w in b.show("workers")):
        raise TestbedError("no worker counts the stall")
    sender.signal(signal.SIGINT)
    sender.wait(20)
    receiver.wait(20)
    transfer_works(a, b, ADDR_B)
    a.stop()
    b.stop()


@scene("the history tells what was granted")
def history_tells(testbed: Testbed, context: Context) -> None:
    a, b = memif_pair(testbed, context.build, keys={"capacity": "500Mbit"})
    transfer_works(a, b, ADDR_B)
    history = b.show("history")
    grants = [d for d in history if d["decided"] == "grant"]
    if not any(d["rate_Bps"] == 62500000 and d["peer"] == ADDR_A and d["why"] for d in grants):
        raise TestbedError(f"no grant of all of the capacity among {grants}")
    numbers = [d["number"] for d in history]
    if numbers != list(range(numbers[0], numbers[0] + len(numbers))):
        raise TestbedError(f"the history is not in order: {numbers}")
    b.sluice("table", "show", "history", timeout_s=20)
    a.stop()
    b.stop()
