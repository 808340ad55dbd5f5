# SPDX-License-Identifier: BSD-3-Clause
"""Records when a polling thread did not run. The witness is a process on the thread's CPU that uses nothing
of Sluice.

It sleeps for a millisecond at a time, with a higher priority than all ordinary threads. If it wakes up
late, the CPU was away: the virtual machine did not run. If the polling thread's time on the run queue
grew, another thread had the CPU. Neither is a fault of Sluice. The witness prints the times of both.
"""
import os
import sys
import time
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:  # the witness runs as a script and may not find testbed
    from testbed.process import Process, Testbed

STEP_S = 0.001
STALL_S = 0.0002


def worker_thread(pid: int) -> int:
    """Thread number of a daemon's only worker."""
    found: list[int] = []
    for tid in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{tid}/comm", encoding="utf-8") as f:
            if "worker" in f.read():
                found.append(int(tid))
    if len(found) != 1:
        raise ValueError(f"process {pid} has {len(found)} worker threads instead of one")
    return found[0]


def start(testbed: "Testbed", pid: int, cpu: int) -> "Process":
    """A witness of the worker of daemon pid, on the worker's CPU, until it is stopped; for stalls()."""
    return testbed.start("witness", [sys.executable, "-B", os.path.abspath(__file__), pid,
                                     worker_thread(pid)], cpus=[cpu])


def stalls(process: "Process") -> list[tuple[float, float]]:
    """[(start, end)] in order, in seconds of the clock that packet captures use."""
    found = []
    for line in process.out().splitlines():
        start_s, end_s = line.split()
        found.append((float(start_s), float(end_s)))
    return found


def _waited_s(f: TextIO) -> float:
    f.seek(0)
    return int(f.read().split()[1]) * 1e-9


def watch(pid: int, tid: int) -> None:
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    with open(f"/proc/{pid}/task/{tid}/schedstat", encoding="ascii", buffering=1) as f:
        before, waited = time.time(), _waited_s(f)
        while True:
            time.sleep(STEP_S)
            now, waits = time.time(), _waited_s(f)
            waits -= waited
            if now - before - STEP_S > STALL_S or waits > STALL_S:
                # The kernel counts a wait when it is over.
                print(f"{before - waits:.6f} {now:.6f}", flush=True)
            before, waited = time.time(), waited + waits


if __name__ == "__main__":
    try:
        watch(int(sys.argv[1]), int(sys.argv[2]))
    except ProcessLookupError:
        pass  # the thread has ended
