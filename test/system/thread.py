# SPDX-License-Identifier: BSD-3-Clause
"""Finds one thread of a process by its name, and stops it for a while."""
import contextlib
import ctypes
import os
from collections.abc import Iterator

from .harness import Skip, TestbedError

PTRACE_INTERRUPT, PTRACE_SEIZE, PTRACE_DETACH = 0x4207, 0x4206, 17
WALL = 0x40000000  # __WALL: waitpid() waits for threads, too


def thread_named(pid: int, words: str) -> int:
    """Number of a thread whose name contains these words."""
    for tid in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{tid}/comm", encoding="utf-8") as f:
            if words in f.read():
                return int(tid)
    raise TestbedError(f"process {pid} has no thread with \"{words}\" in its name")


def control_thread(pid: int) -> int:
    """The thread that runs control: one of its own if the main lcore is a worker, else the first thread."""
    try:
        return thread_named(pid, "sluiced-control")
    except TestbedError:
        return pid


@contextlib.contextmanager
def stopped(tid: int) -> Iterator[None]:
    """The thread does not run inside the `with` block."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p]

    def trace(request: int) -> None:
        if libc.ptrace(request, tid, None, None) != 0:
            raise Skip(f"this machine lets no thread be stopped: {os.strerror(ctypes.get_errno())}")

    trace(PTRACE_SEIZE)
    trace(PTRACE_INTERRUPT)
    os.waitpid(tid, WALL)
    try:
        yield
    finally:
        trace(PTRACE_DETACH)
