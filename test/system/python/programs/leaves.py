# SPDX-License-Identifier: BSD-3-Clause
"""leaves.py HOST: a child that ends as Python programs do leaves its parent's session alone. Then this process ends, and
closes nothing: a connection is open, a buffer is posted, a view is alive.
"""
import os
import sys

import sluice

host = sys.argv[1]
session = sluice.Session()
view = session.alloc(1 << 16)
connection = session.connect(host)
request = connection.recv(view)
listener = session.listen(7010)
child = os.fork()
if child == 0:
    try:
        connection.send(view)
    except sluice.Closed:
        with session, connection, listener:
            sys.exit(5)
    sys.exit(1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 5, "the child ended otherwise"
assert session.show("conns")["conns"], "the session is gone"
connection.send(session.alloc(5))
print("leaving", flush=True)
