#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Sends a NumPy array through two daemons. No byte of it is copied in either program.

Usage: array.py receive              waits for one array, and says what came
       array.py send HOST ROWS       sends an array of ROWS x 1024 numbers

The receiver may run under any daemon that the sender's daemon reaches. Each program uses the daemon of $SLUICE_SOCKET.
"""
import json
import math
import sys
from typing import Any

import numpy
from numpy.typing import NDArray

import sluice

ABOUT_BYTES = 4096  # at most, of the description that comes before an array
ARRAY_BYTES_MAX = 1 << 30
COLUMNS = 1024


def send(host: str, rows: int) -> None:
    with sluice.Session() as session:
        # The array is made in memory that the daemon sends from. An array that is somewhere else would have to be copied.
        array = numpy.frombuffer(session.alloc(rows * COLUMNS * 8), dtype=numpy.float64).reshape(rows, COLUMNS)
        array[:] = numpy.random.default_rng(rows).normal(size=array.shape)
        text = json.dumps({"dtype": array.dtype.str, "shape": array.shape}).encode()
        about = session.alloc(len(text))
        about[:] = text
        connection = session.connect(host)
        connection.send(about)
        connection.send(array).wait()
        connection.finish()
        print(f"{array.shape} {array.dtype}, sum {array.sum():.6f}")


def take(session: sluice.Session, connection: sluice.Connection) -> NDArray[Any]:
    """The array that comes next. What the peer says of it is checked before it is believed."""
    about = session.alloc(ABOUT_BYTES)
    text = bytes(about[:connection.recv(about).wait()])
    described = json.loads(text)
    dtype, shape = numpy.dtype(described["dtype"]), tuple(int(n) for n in described["shape"])
    length = math.prod(shape) * dtype.itemsize
    if not 0 < length <= ARRAY_BYTES_MAX or min(shape) <= 0:
        sys.exit(f"an array of {length} bytes; at most {ARRAY_BYTES_MAX} are taken")
    memory = session.alloc(length)
    if connection.recv(memory).wait() != length:
        sys.exit("the array is shorter than its description says")
    return numpy.frombuffer(memory, dtype=dtype).reshape(shape)


def receive() -> None:
    with sluice.Session() as session, session.listen() as listener:
        connection = listener.accept()
        array = take(session, connection)
        connection.finish()
        print(f"{array.shape} {array.dtype}, sum {array.sum():.6f}")
    # The session is closed, and the array is still there: the memory lives as long as something refers to it.
    print(f"largest {array.max():.6f}")


if __name__ == "__main__":
    if sys.argv[1:] == ["receive"]:
        receive()
    elif len(sys.argv) == 4 and sys.argv[1] == "send" and sys.argv[3].isdigit():
        send(sys.argv[2], int(sys.argv[3]))
    else:
        sys.exit(__doc__)
