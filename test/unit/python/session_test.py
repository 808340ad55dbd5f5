# SPDX-License-Identifier: BSD-3-Clause
"""Opening a session where there is no daemon, and the lifetime of memory that Python sees.

The memory is the test's own: a library in Python stands in for libsluice, and fills each piece with a mark when it is
freed. So a view of memory that was freed too early is seen, not a crash.
"""
import asyncio
import contextlib
import ctypes
import errno
import gc
import os
import socket
import sys
import tempfile
import threading
import time
import unittest
import unittest.mock
from collections.abc import Callable
from typing import Any

import sluice
import sluice.aio
from sluice import _handle
from sluice._header import ffi

FREED = 0xEE
LENGTH = 4096


class FakeLibrary:
    """As much of libsluice as a Handle needs, and a session with one connection."""

    def __init__(self) -> None:
        self.pieces: dict[int, Any] = {}
        self.freed: list[int] = []
        self.closed = self.freeing = False
        self.free_s = 0.0  # how long sluice_free() takes
        self.users: list[int] = []  # of requests under way
        self.holds = False  # they do not end
        self.status = 0  # with which they end
        self.fd = -1
        self.closes = 0  # of connections
        self.limits: list[tuple[int, int]] = []

    def sluice_open(self, session: Any, path: Any, why: Any, length: int) -> int:
        session[0] = ffi.cast("struct sluice *", 8)
        return 0

    def sluice_alloc(self, s: Any, length: int) -> Any:
        assert not self.closed and not self.freeing, "the session is closed, or in use"
        piece = ctypes.create_string_buffer(length)
        self.pieces[ctypes.addressof(piece)] = piece
        return ffi.cast("void *", ctypes.addressof(piece))

    def sluice_free(self, s: Any, memory: Any) -> int:
        assert not self.closed, "the session is closed"
        self.freeing = True
        time.sleep(self.free_s)
        self.freeing = False
        address = int(ffi.cast("uintptr_t", memory))
        ctypes.memset(address, FREED, len(self.pieces[address]))
        self.freed.append(address)
        return 0

    def sluice_connect(self, s: Any, peer: Any, flags: int, user: int, out: Any) -> int:
        self.users.append(user)
        out[0] = ffi.cast("struct sluice_conn *", 8)
        return 0

    def sluice_recv(self, conn: Any, data: Any, length: int, user: int) -> int:
        self.users.append(user)
        return 0

    def sluice_shutdown(self, conn: Any, user: int) -> int:
        self.users.append(user)
        return 0

    def sluice_limit(self, conn: Any, tx_Bps: int, rx_Bps: int) -> int:
        self.limits.append((tx_Bps, rx_Bps))
        return -errno.EAGAIN if tx_Bps == 1 else 0

    def sluice_error(self, s: Any) -> Any:
        return ffi.new("char[]", b"take completions first")

    def sluice_fd(self, s: Any) -> int:
        return self.fd

    def sluice_poll_sized(self, s: Any, out: Any, size: int, most: int, timeout_ms: int) -> int:
        """Every request has ended, or none."""
        if self.holds:
            return 0
        n = len(self.users)
        for done, user in zip(out, self.users):
            done.user, done.len, done.status = user, 5, self.status
        self.users.clear()
        return n

    def sluice_status_text(self, status: int) -> Any:
        return ffi.new("char[]", os.strerror(-status).encode())

    def sluice_conn_close(self, conn: Any) -> int:
        assert conn is not None, "cffi would refuse it"
        self.closes += 1
        return 0

    def sluice_close(self, s: Any) -> None:
        assert not self.closed, "it was closed twice"
        self.closed = True


class User:
    """An object of somebody's, in a circle, that uses a view when it is freed."""

    def __init__(self, view: memoryview | None = None, saves: bool = False) -> None:
        self.view, self.saves, self.circle = view, saves, self

    def __del__(self) -> None:
        assert self.view is not None
        seen.append(self.view[0])
        if self.saves:
            saved.append(self)


seen: list[int] = []  # what users saw in their last moment
saved: list[User] = []


class Memory(unittest.TestCase):
    def setUp(self) -> None:
        self.library = FakeLibrary()
        true = _handle.lib
        _handle.lib = self.library
        self.addCleanup(setattr, _handle, "lib", true)
        self.handle = _handle.Handle("/nowhere")
        seen.clear()
        saved.clear()

    def test_freed_with_the_last_view(self) -> None:
        view = self.handle.alloc(LENGTH)
        self.assertEqual((view.format, len(view), view.readonly), ("B", LENGTH, False))
        part = view[100:200]
        del view
        self.assertEqual(self.library.freed, [])
        part[0] = 5
        del part
        self.assertEqual(len(self.library.freed), 1)

    def test_released(self) -> None:
        with self.handle.alloc(LENGTH) as view:
            view[0] = 1
            self.assertEqual(self.library.freed, [])
        self.assertEqual(len(self.library.freed), 1)

    def test_views_outlive_the_session(self) -> None:
        views = [self.handle.alloc(LENGTH) for _ in range(3)]
        views.pop()
        self.handle.close()
        self.assertFalse(self.library.closed)
        self.assertRaises(sluice.Closed, self.handle.alloc, LENGTH)
        views.pop()
        self.assertEqual(len(self.library.freed), 2)
        self.assertFalse(self.library.closed)
        views[0][0] = 7
        views.pop()
        self.assertTrue(self.library.closed)

    def test_close_without_views(self) -> None:
        self.handle.close()
        self.handle.close()
        self.assertTrue(self.library.closed)

    def test_garbage_uses_its_view(self) -> None:
        """The garbage collector runs finalizers of a circle in any order: one that is older than the view, one younger."""
        older = User()
        older.view = self.handle.alloc(LENGTH)
        younger = User(older.view)
        older.circle, younger.circle = younger, older
        del older, younger
        gc.collect()
        self.assertEqual(seen, [0, 0])
        self.assertEqual(len(self.library.freed), 1)

    def test_garbage_is_saved(self) -> None:
        User(self.handle.alloc(LENGTH), saves=True)
        gc.collect()
        self.assertEqual((seen, self.library.freed), ([0], []))
        self.handle.close()
        view = saved[0].view
        assert view is not None
        self.assertEqual(view[0], 0)
        del view
        saved.clear()
        gc.collect()
        self.assertEqual(len(self.library.freed), 1)
        self.assertTrue(self.library.closed)

    def test_freed_after_an_error(self) -> None:
        """The error of a request, or of a listener, does not keep the views of the functions that it has left."""
        session = unittest.mock.Mock()
        request = sluice.Request(session, sluice.Op.RECV)
        request._end(0, sluice.Reset(errno.ECONNRESET, "the peer gave up"))
        fake = FakeSession(0)
        with unittest.mock.patch("sluice.session.lib", sluice_listen=lambda s, port: 0):
            listener = sluice.Listener(fake, 7000, 0)  # type: ignore[arg-type]

        def fails(call: Callable[[], object]) -> None:
            view = self.handle.alloc(LENGTH)
            call()
            del view

        def lacks() -> None:
            listener._lack = sluice.OutOfResources(errno.EMFILE, "too many: close some")
            listener.take()

        def broken() -> None:
            listener._error = sluice.NotAllowed(errno.EACCES, "not for you")
            listener.take()

        def asks() -> None:
            raise request.error() or AssertionError("the request has no error")

        calls: list[Callable[[], object]] = [request.wait, request.result, asks, lacks, broken]
        gc.disable()
        self.addCleanup(gc.enable)
        for i, call in enumerate(calls):
            try:
                fails(call)
                self.fail("no error")
            except sluice.SluiceError:
                pass
            self.assertEqual(len(self.library.freed), i + 1)

    def test_freed_while_in_use(self) -> None:
        """A view that another thread drops while a call is under way is freed after the call."""
        views = [self.handle.alloc(LENGTH)]
        with self.handle:
            thread = threading.Thread(target=views.clear)
            thread.start()
            thread.join()
            self.assertEqual((views, self.library.freed), ([], []))
        self.assertEqual(len(self.library.freed), 1)

    def test_user_waits_for_the_free(self) -> None:
        """A thread that drops the last view, and so calls the library, does not count as another user."""
        views = [self.handle.alloc(LENGTH)]
        self.library.free_s = 0.3
        thread = threading.Thread(target=views.clear)
        thread.start()
        while not self.library.freeing:
            time.sleep(0.01)
        self.handle.alloc(LENGTH)
        self.assertFalse(self.library.freeing)
        thread.join()

    def test_threads(self) -> None:
        """Two threads cannot be in libsluice with one session."""
        raised: list[BaseException] = []

        def alloc() -> None:
            try:
                self.handle.alloc(LENGTH)
            except sluice.OtherThread as problem:
                raised.append(problem)

        with self.handle:
            thread = threading.Thread(target=alloc, daemon=True)
            thread.start()
            thread.join(10)
            self.assertFalse(thread.is_alive(), "the thread waits")
        self.assertEqual(len(raised), 1)
        self.handle.alloc(LENGTH)

    def test_fork(self) -> None:
        """A child cannot use its parent's session, nor end it; it may see the memory."""
        view = self.handle.alloc(LENGTH)
        view[0] = 9
        child = os.fork()
        if child == 0:
            try:
                self.handle.alloc(1)
            except sluice.Closed:
                self.handle.close()
                kept = view[0] == 9
                del view
                os._exit(0 if kept and not self.library.closed and not self.library.freed else 2)
            os._exit(1)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)
        self.assertFalse(self.handle.closed)


class Sessions(unittest.TestCase):
    def setUp(self) -> None:
        self.library = FakeLibrary()
        for module in ("sluice._handle", "sluice.session"):
            self.enterContext(unittest.mock.patch(module + ".lib", self.library))
        self.library.fd, writer = os.pipe()
        os.write(writer, b"5")  # nobody reads it, so a loop always has something to take
        for fd in (self.library.fd, writer):
            self.addCleanup(os.close, fd)

    def test_finish_fails(self) -> None:
        """When the peer resets a connection, finish() of asyncio raises that, and asyncio complains of nothing else."""
        complaints: list[dict[str, Any]] = []

        async def finish() -> None:
            asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
            async with sluice.aio.Session("/nowhere") as session:
                connection = await session.connect("192.0.2.20")
                self.library.status = -errno.ECONNRESET
                with self.assertRaises(sluice.Reset):
                    await connection.finish()
                await asyncio.sleep(0.01)
                gc.collect()

        asyncio.run(finish())
        self.assertEqual(complaints, [])

    def test_finish_again(self) -> None:
        """After finish() of asyncio was cancelled, the next one waits for the requests that the first one submitted."""
        async def finish() -> None:
            async with sluice.aio.Session("/nowhere") as session:
                connection = await session.connect("192.0.2.20")
                self.library.holds = True
                for _ in range(2):
                    with self.assertRaises(TimeoutError):
                        await asyncio.wait_for(connection.finish(), 0.05)
                    self.assertEqual(len(self.library.users), 2)

        asyncio.run(finish())

    def test_limit(self) -> None:
        """A limit is the library's; one that it refuses is an error, and so is one of a closed connection."""
        with sluice.Session("/nowhere") as session:
            connection = session.connect("192.0.2.20")
            connection.limit(tx_Bps=1000)
            connection.limit(rx_Bps=2000)
            connection.limit()
            self.assertRaisesRegex(sluice.SluiceError, "take completions first", connection.limit, 1)
            sluice.aio.Connection(unittest.mock.Mock(), connection).limit(5, 6)
            connection.close()
            self.assertRaises(sluice.Closed, connection.limit, 1)
        self.assertEqual(self.library.limits, [(1000, 0), (0, 2000), (0, 0), (1, 0), (5, 6)])

    def test_nobody_waits(self) -> None:
        """accept() would say that no peer has come, although none can."""
        with sluice.Session("/nowhere") as session:
            for waiting in (0, -1):
                self.assertRaisesRegex(ValueError, "at least 1", session.listen, 7000, waiting)

    def test_callback_fails(self) -> None:
        """A session closes even if a callback raises."""
        session = sluice.Session("/nowhere")
        opened = [session.connect("192.0.2.20").opened for _ in range(3)]
        for request in opened:
            request.add_done_callback(lambda _: 1 // 0)
        self.assertRaises(ZeroDivisionError, session.close)
        self.assertTrue(session.closed and self.library.closed)
        self.assertTrue(all(isinstance(request.error(), sluice.Canceled) for request in opened))

    def test_closed_by_two(self) -> None:
        """A connection that another thread closes just before this one is closed once."""
        with sluice.Session("/nowhere") as session:
            connection = session.connect("192.0.2.20")
            enter, closes = _handle.Handle.__enter__, [connection.close]

            def late(handle: _handle.Handle) -> Any:
                if closes:
                    closes.pop()()
                return enter(handle)

            with unittest.mock.patch.object(_handle.Handle, "__enter__", late):
                connection.close()
            self.assertEqual((connection.closed, self.library.closes), (True, 1))

    def test_closed_meanwhile(self) -> None:
        """Another thread may close a connection as soon as the one that takes completions leaves libsluice."""
        with sluice.Session("/nowhere") as session:
            connection = session.connect("192.0.2.20")
            view = session.alloc(LENGTH)
            request = connection.recv(view)
            with unittest.mock.patch.object(session._handle, "_free_dead", connection.close):
                self.assertEqual(session.poll(0), [connection.opened, request])
            self.assertEqual((request.result(), connection.closed), (5, True))


class FakeSession:
    """Sessions of which at most `limit` connections can be open; a peer comes whenever somebody waits for one."""
    channels = 1

    def __init__(self, limit: int) -> None:
        self.limit, self._handle = limit, contextlib.nullcontext()
        self.requests: list[sluice.Request] = []
        self.count = 0
        self.closed, self._listeners = False, set[sluice.Listener]()

    def _open(self, request: sluice.Request, _call: object) -> sluice.Connection:
        if self.count == self.limit:
            raise sluice.OutOfResources(errno.EMFILE, "too many: close some")
        self.count += 1
        request.connection = sluice.Connection(self, object(), request)  # type: ignore[arg-type]
        self.requests.append(request)
        return request.connection

    def _advance(self, until: Callable[[], object], _timeout: float | None) -> None:
        while not until():
            request = self.requests.pop(0)
            request._end(0, None)
            request._call_back()


class Listening(unittest.TestCase):
    def test_out_of_connections(self) -> None:
        """A listener says that there are no more connections, and goes on when there are."""
        fake = FakeSession(2)
        with unittest.mock.patch("sluice.session.lib", sluice_listen=lambda s, port: 0):
            listener = sluice.Listener(fake, 7000, 1)  # type: ignore[arg-type]
        first = listener.accept(0)
        self.assertIsNot(listener.accept(0), first)
        for _ in range(2):
            self.assertRaises(sluice.OutOfResources, listener.accept, 0)
        fake.count -= 1
        listener.accept(0)
        self.assertRaises(sluice.OutOfResources, listener.accept, 0)

    def test_closed(self) -> None:
        """A listener that was closed while connections were missing opens none any more."""
        fake = FakeSession(1)
        with unittest.mock.patch("sluice.session.lib", sluice_listen=lambda s, port: 0, sluice_unlisten=lambda s, port: 0):
            listener = sluice.Listener(fake, 7000, 1)  # type: ignore[arg-type]
            listener.accept(0)
            listener.close()
        fake.count -= 1
        self.assertRaises(sluice.Closed, listener.accept, 0)
        self.assertEqual(fake.count, 0)


class Opening(unittest.TestCase):
    def test_no_daemon(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "no.sock")
            with self.assertRaises(sluice.NoDaemon) as caught:
                sluice.Session(path)
            self.assertEqual(caught.exception.errno, errno.ENOENT)
            self.assertIn(path, str(caught.exception))
            with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
                s.bind(path)
            with self.assertRaises(sluice.NoDaemon) as caught:
                sluice.Session(path)
            self.assertEqual(caught.exception.errno, errno.ECONNREFUSED)

    def test_wrong_name(self) -> None:
        """A name that Python cannot encode for a name server is unreachable, as libsluice would say."""
        async def begin(name: str) -> None:
            session = object.__new__(sluice.aio.Session)
            session._loop = asyncio.get_running_loop()
            await session.begin(name)

        for name in ("a" * 64 + ".example", "a..example:7000"):
            with self.assertRaisesRegex(sluice.Unreachable, "^a.*check the name$"):
                asyncio.run(begin(name))

    def test_wrong_path(self) -> None:
        with self.assertRaises(sluice.SluiceError) as caught:
            sluice.Session("x" * 200)
        self.assertEqual(caught.exception.errno, errno.ENAMETOOLONG)

    def test_path_with_nul(self) -> None:
        """C would read an empty path, which means the default."""
        self.assertRaisesRegex(ValueError, "NUL", sluice.Session, "\0x")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
