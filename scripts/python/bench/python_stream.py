# SPDX-License-Identifier: BSD-3-Clause
"""python_stream.py receive | send HOST: moves requests without an end through the Python package, as `sluice perf` does
where it is fast: 16 MiB each, four under way, from 1 GiB of memory into 1 GiB.
"""
import collections
import itertools
import sys
from collections.abc import Callable

import sluice

REQUEST_BYTES, MEMORY_BYTES = 16 << 20, 1 << 30
SENDS, RECEIVES = 4, 8


def turn(memory: memoryview, submit: Callable[[memoryview], sluice.Request], count: int) -> None:
    """Keeps that many requests under way, slice after slice of the memory."""
    slices = [memory[at:at + REQUEST_BYTES] for at in range(0, MEMORY_BYTES, REQUEST_BYTES)]
    under_way: collections.deque[sluice.Request] = collections.deque()
    for piece in itertools.cycle(slices):
        under_way.append(submit(piece))
        if len(under_way) == count:
            under_way.popleft().wait()


with sluice.Session() as session:
    memory = session.alloc(MEMORY_BYTES)
    if sys.argv[1] == "send":
        turn(memory, session.connect(sys.argv[2]).send, SENDS)
    else:
        with session.listen() as listener:
            turn(memory, listener.accept().recv, RECEIVES)
