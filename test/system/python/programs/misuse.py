# SPDX-License-Identifier: BSD-3-Clause
"""misuse.py peer: waits for peers on the services below, and treats each as its service says.
misuse.py HOST: meets each of these, misuses the package, and then waits until its daemon dies.

Every failure must be an error with its own class. Nothing may crash.
"""
import errno
import gc
import sys
import threading
import time
from collections.abc import Callable

import numpy

import sluice
from checked import raises

LATE, SHORT, ABORTS, ENDS = 7001, 7002, 7003, 7004  # posts late, posts too short a buffer, aborts, shuts down
NOBODY, SPARE = 7009, 7010
LATE_S = 1.0
LENGTH = 1 << 16
QUOTA_BYTES = 64 << 20  # as the scene configures the daemon


def peer() -> None:
    with sluice.Session() as session:
        listeners = [session.listen(port) for port in (LATE, SHORT, ABORTS, ENDS)]
        raises(sluice.Taken, errno.EADDRINUSE, lambda: session.listen(LATE))
        late, short, aborts, ends = (listener.accept for listener in listeners)
        memory = session.alloc(LENGTH)
        connection = late(60)
        time.sleep(LATE_S)
        assert connection.recv(memory).wait(60) == LENGTH
        connection.finish(60)
        connection = short(60)
        raises(sluice.TooLong, errno.EMSGSIZE, lambda: connection.recv(memory[:10]).wait(60))
        connection.finish(60)
        connection = aborts(60)
        assert connection.recv(memory).wait(60) == 1
        connection.close()
        connection = ends(60)
        connection.finish(60)


def others_faults(session: sluice.Session, host: str, memory: memoryview) -> None:
    connection = session.connect(f"{host}:{LATE}")
    raises(sluice.Closed, errno.EBADF, connection_closed_twice(session, host).stats)
    sending = connection.send(memory)
    raises(sluice.WaitTimeout, errno.ETIME, lambda: sending.wait(LATE_S / 4))  # the peer has posted nothing
    raises(sluice.WaitTimeout, errno.ETIME, sending.result)
    raises(sluice.WaitTimeout, errno.ETIME, lambda: connection.finish(LATE_S / 4))
    assert sending.wait(60) == LENGTH  # now it has
    connection.finish(60)
    connection = session.connect(f"{host}:{SHORT}")
    raises(sluice.TooLong, errno.EMSGSIZE, lambda: connection.send(memory).wait(60))
    connection.finish(60)
    connection = session.connect(f"{host}:{ABORTS}")
    posted = connection.recv(memory)
    connection.send(memory[:1]).wait(60)
    raises(sluice.Reset, errno.ECONNRESET, lambda: posted.wait(60))
    connection.close()
    connection = session.connect(f"{host}:{ENDS}")
    raises(sluice.EndOfData, errno.ENODATA, lambda: connection.recv(memory).wait(60))
    connection.shutdown().wait(60)
    connection.finish(60)
    connection = session.connect(f"{host}:{NOBODY}")
    raises(sluice.Refused, errno.ECONNREFUSED, lambda: connection.opened.wait(60))
    connection.close()


def connection_closed_twice(session: sluice.Session, host: str) -> sluice.Connection:
    """Its requests are canceled."""
    connection = session.connect(f"{host}:{NOBODY}")
    request = connection.recv(session.alloc(1))
    connection.close()
    connection.close()
    raises(sluice.Canceled, errno.ECANCELED, request.result)
    raises(sluice.Canceled, errno.ECANCELED, lambda: connection.opened.wait(60))
    return connection


def own_faults(session: sluice.Session, host: str, memory: memoryview) -> None:
    connection = session.connect(f"{host}:{NOBODY}")
    for data in (b"bytes of Python", numpy.zeros(8), bytearray(5)):
        raises(sluice.NotOurs, errno.EFAULT, lambda: connection.send(data))  # type: ignore[arg-type]
    raises(sluice.NotOurs, errno.EFAULT, lambda: connection.recv(numpy.zeros(8)))
    for wrong in (numpy.frombuffer(memory, dtype=numpy.uint8)[::2], memory.toreadonly(), "text", 5, None):
        try:
            connection.recv(wrong)  # type: ignore[arg-type]
        except (TypeError, ValueError, BufferError):
            continue
        raise AssertionError(f"{wrong!r} was taken as a buffer")
    connection.recv(memory)
    try:
        memory.release()
        raise AssertionError("memory was released while the daemon had it")
    except BufferError:
        pass
    connection.close()
    raises(sluice.Unreachable, errno.EHOSTUNREACH, lambda: session.connect("203.0.113.1"))
    raises(sluice.SluiceError, errno.EINVAL, lambda: session.connect(f"{host}:99999"))
    raises(sluice.SluiceError, errno.EINVAL, lambda: session.alloc(0))
    try:
        session.listen(SPARE, 1.5)  # type: ignore[arg-type]
        raise AssertionError("a fraction was taken as a number of connections")
    except TypeError:
        session.listen(SPARE).close()  # the service is free again
    for length in (-1, 1 << 70, "5", None):
        try:
            session.alloc(length)  # type: ignore[arg-type]
        except (OverflowError, TypeError):
            continue
        raise AssertionError(f"alloc({length!r}) returned memory")
    for call in (lambda: session.connect(f"{host}\0.example.com"), lambda: session.show("conns\0"),
                 lambda: session.command("set capacity 5Gbit\0")):
        try:
            call()
        except ValueError:
            continue
        raise AssertionError("a text was read only up to its NUL")
    raises(sluice.OutOfResources, errno.EDQUOT, lambda: session.alloc(QUOTA_BYTES * 2))
    crowded = session.connect(f"{host}:{LATE}")
    posted = [crowded.recv(memory[:1]) for _ in range(session.depth)]
    raises(sluice.Full, errno.EAGAIN, lambda: crowded.recv(memory[:1]))
    crowded.close()
    assert all(isinstance(request.error(), sluice.Canceled) for request in posted)


def other_thread(session: sluice.Session) -> None:
    """While one thread waits, another one gets an error, and not the first one's state."""
    found: list[BaseException] = []

    def use() -> None:
        time.sleep(0.3)
        try:
            session.alloc(1)
        except sluice.SluiceError as problem:
            found.append(problem)

    thread = threading.Thread(target=use)
    thread.start()
    assert session.poll(1) == []
    thread.join()
    assert len(found) == 1 and type(found[0]) is sluice.OtherThread, found


def closed(host: str) -> None:
    """Everything of a session that is closed raises; its memory stays."""
    session = sluice.Session()
    view = session.alloc(LENGTH)
    view[5] = 77
    connection, listener = session.connect(f"{host}:{NOBODY}"), session.listen(SPARE)
    request = connection.recv(view)
    session.close()
    session.close()
    calls: list[Callable[[], object]] = [
        lambda: session.alloc(1), lambda: session.connect(host), lambda: session.poll(0), session.fileno,
        lambda: session.show("conns"), connection.stats, lambda: connection.send(view), listener.accept]
    for call in calls:
        raises(sluice.Closed, errno.EBADF, call)
    raises(sluice.Canceled, errno.ECANCELED, request.result)
    assert view[5] == 77
    del view
    gc.collect()
    left = sluice.Session()  # is not closed: the garbage collector does it, with a warning
    left.connect(f"{host}:{NOBODY}").recv(left.alloc(5))
    del left
    gc.collect()


def dead_daemon(session: sluice.Session, host: str, memory: memoryview) -> None:
    connection, listener = session.connect(f"{host}:{NOBODY}"), session.listen(7011)
    memory[0] = 33
    print("waiting for the daemon's end", flush=True)
    error = raises(sluice.NoDaemon, errno.ENOTCONN, lambda: listener.accept(60))
    assert "gone" in str(error), error
    for call in (lambda: session.alloc(1), lambda: session.connect(host), lambda: session.poll(0),
                 lambda: session.show("conns"), lambda: session.listen(7012), lambda: connection.recv(memory)):
        raises(sluice.NoDaemon, errno.ENOTCONN, call)
    assert memory[0] == 33


def client(host: str) -> None:
    with sluice.Session() as session:
        memory = session.alloc(LENGTH)
        others_faults(session, host, memory)
        own_faults(session, host, memory)
        other_thread(session)
        closed(host)
        assert session.show("conns")["conns"], "the daemon shows no connections"
        dead_daemon(session, host, memory)
        try:
            sluice.Session()
            raise AssertionError("there is no daemon to open a session with")
        except sluice.NoDaemon:  # its errno says whether the socket is still there
            pass


if __name__ == "__main__":
    if sys.argv[1] == "peer":
        peer()
    else:
        client(sys.argv[1])
