# SPDX-License-Identifier: BSD-3-Clause
"""When did a polling thread not run? A witness on its CPU, which knows nothing of Sluice.

It sleeps for a millisecond at a time, before all ordinary threads. Where it wakes late, the CPU was
not there (a virtual machine that stood still); where the thread's time on the run queue grew,
another thread had the CPU. Both are the machine's doing, and are written down with their times.
"""
import os
import sys
import time

STEP_S = 0.001
STALL_S = 0.0002


def worker_thread(pid):
    """Thread number of a daemon's only worker."""
    found = []
    for tid in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{tid}/comm", encoding="utf-8") as f:
            if "worker" in f.read():
                found.append(int(tid))
    if len(found) != 1:
        raise ValueError(f"process {pid} has {len(found)} worker threads instead of one")
    return found[0]


def start(testbed, pid, cpu):
    """Watches the worker of daemon pid on its cpu until stopped; stalls(process) tells."""
    return testbed.start("witness", [sys.executable, "-B", os.path.abspath(__file__), pid,
                                 worker_thread(pid)], cpus=[cpu])


def stalls(process):
    """[(start, end)] in seconds of the clock of packet captures, in order."""
    return [tuple(float(x) for x in line.split()) for line in process.out().splitlines()]


def _waited_s(f):
    f.seek(0)
    return int(f.read().split()[1]) * 1e-9


def watch(pid, tid):
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    with open(f"/proc/{pid}/task/{tid}/schedstat", encoding="ascii", buffering=1) as f:
        before, waited = time.time(), _waited_s(f)
        while True:
            time.sleep(STEP_S)
            now, waits = time.time(), _waited_s(f)
            waits -= waited
            if now - before - STEP_S > STALL_S or waits > STALL_S:
                # A wait is added up when it is over.
                print(f"{before - waits:.6f} {now:.6f}", flush=True)
            before, waited = time.time(), waited + waits


if __name__ == "__main__":
    try:
        watch(*(int(x) for x in sys.argv[1:3]))
    except ProcessLookupError:
        pass  # it has ended
