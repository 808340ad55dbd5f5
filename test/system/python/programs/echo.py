# SPDX-License-Identifier: BSD-3-Clause
"""echo.py PIECES PIECE_BYTES: takes one connection, receives that many requests, and sends each back from where it came."""
import sys

import sluice

pieces, length = (int(word) for word in sys.argv[1:])
with sluice.Session() as session:
    memory = session.alloc(pieces * length)
    slices = [memory[i * length:(i + 1) * length] for i in range(pieces)]
    with session.listen() as listener:
        connection = listener.accept(60)
        received = [connection.recv(part) for part in slices]
        sent = []
        for part, request in zip(slices, received):
            sent.append(connection.send(part[:request.wait(60)]))
        for request in sent:
            request.wait(60)
        connection.finish(60)
