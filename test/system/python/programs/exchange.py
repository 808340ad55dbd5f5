# SPDX-License-Identifier: BSD-3-Clause
"""exchange.py HOST PIECES PIECE_BYTES SEED: sends random bytes to echo.py, and compares what comes back.

Neither direction may copy: the process needs no more memory while all these bytes pass, and they arrive in the very memory
that the array has had from the start.
"""
import sys
import tracemalloc

import numpy

import sluice
from checked import memory_peak, reset_peak

SLACK_BYTES = 4 << 20  # by which its memory may grow meanwhile: less than one request
PYTHON_BYTES = 1 << 20  # of Python's own objects

host, pieces, length, seed = sys.argv[1], *(int(word) for word in sys.argv[2:])
with sluice.Session() as session:
    out = numpy.frombuffer(session.alloc(pieces * length), dtype=numpy.uint8)
    back = numpy.frombuffer(session.alloc(pieces * length), dtype=numpy.uint8)
    address = back.__array_interface__["data"][0]
    for i in range(pieces):
        out[i * length:(i + 1) * length] = numpy.frombuffer(numpy.random.default_rng(seed + i).bytes(length), dtype=numpy.uint8)
    assert length > SLACK_BYTES
    connection = session.connect(host)
    connection.opened.wait(60)
    assert connection.address.startswith(host + ":"), connection.address
    assert connection.peer is None, "the connection is plain"
    tracemalloc.start()
    reset_peak()
    before = memory_peak()
    received = [connection.recv(back[i * length:(i + 1) * length]) for i in range(pieces)]
    sent = [connection.send(out[i * length:(i + 1) * length]) for i in range(pieces)]
    under_way = memory_peak()  # while all requests are under way, as far as this process has noticed
    for request in sent + received:
        assert request.wait(60) == length
    grown, python = max(under_way, memory_peak()) - before, tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert grown < SLACK_BYTES, f"the process grew by {grown} bytes"
    assert python < PYTHON_BYTES, f"Python's objects took {python} bytes"
    assert back.__array_interface__["data"][0] == address
    assert numpy.array_equal(out, back), f"bytes differ; seed {seed}"
    stats = connection.stats()
    assert stats.state == sluice.State.OPEN and stats.rx_bytes >= len(back), stats
    connection.finish(60)
