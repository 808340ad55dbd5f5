# SPDX-License-Identifier: BSD-3-Clause
"""One thread of a process: found by its name, and made to stand still."""
import contextlib
import ctypes
import os

from .harness import Skip, TestbedError

PTRACE_INTERRUPT, PTRACE_SEIZE, PTRACE_DETACH = 0x4207, 0x4206, 17
WALL = 0x40000000  # __WALL: threads, too


def thread_named(pid, words):
    """The number of a thread with these words in its name."""
    for tid in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{tid}/comm", encoding="utf-8") as f:
            if words in f.read():
                return int(tid)
    raise TestbedError(f"no thread is called {words}")


def control_thread(pid):
    """The thread that runs control: one of its own where the main lcore works, else the first."""
    try:
        return thread_named(pid, "sluiced-control")
    except TestbedError:
        return pid


@contextlib.contextmanager
def stopped(tid):
    """It stands still."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p]

    def trace(request):
        if libc.ptrace(request, tid, None, None) != 0:
            raise Skip(f"no thread can be stopped here: {os.strerror(ctypes.get_errno())}")

    trace(PTRACE_SEIZE)
    trace(PTRACE_INTERRUPT)
    os.waitpid(tid, WALL)
    try:
        yield
    finally:
        trace(PTRACE_DETACH)
