# SPDX-License-Identifier: BSD-3-Clause
"""The same for asyncio: what waits, can be awaited.

A session belongs to the event loop in which it was made. send(), recv() and shutdown() submit their requests at once, in
the order of the calls, and return futures. A future that is cancelled leaves its request under way, and the data the
daemon's: libsluice can take back no request but by closing the connection.
"""
import asyncio
import errno
import ipaddress
import os
import socket as sockets
from types import TracebackType
from typing import Self

from . import session as plain
from .aio_files import FileReceiver, recv_files, send_files
from .errors import Canceled, EndOfData, NoDaemon, Unreachable
from .session import PORT_DEFAULT, WAITING, Data, Request, Stats

__all__ = ["Connection", "FileReceiver", "Listener", "Session", "recv_files", "send_files"]

ADDRESSES_MAX = 8  # of a name


class _Closing:
    """What `async with` closes."""

    def close(self) -> None:
        raise NotImplementedError

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, value: BaseException | None,
                        trace: TracebackType | None) -> None:
        self.close()


class Connection(_Closing):
    """A connection; `async with connection:` closes it. connection: the plain one."""

    def __init__(self, session: "Session", connection: plain.Connection) -> None:
        self.connection = connection
        self._session = session

    def send(self, data: Data) -> "asyncio.Future[int]":
        """Sends data of Session.alloc(); the result is their length."""
        return self._session.future(self.connection.send(data))

    def recv(self, data: Data) -> "asyncio.Future[int]":
        """Posts a buffer; the result is the length of what came into it."""
        return self._session.future(self.connection.recv(data))

    def shutdown(self) -> "asyncio.Future[int]":
        """Ends sending; done when the peer has everything."""
        return self._session.future(self.connection.shutdown())

    async def finish(self) -> None:
        """The clean end, as Connection.finish(). If it is cancelled, it may be called again."""
        try:
            for request in self.connection.finishing():
                await self._session.future(request)
        except EndOfData:
            self.close()

    def limit(self, tx_Bps: int = 0, rx_Bps: int = 0) -> None:
        """As Connection.limit()."""
        self.connection.limit(tx_Bps, rx_Bps)

    def stats(self) -> Stats:
        return self.connection.stats()

    @property
    def address(self) -> str:
        return self.connection.address

    @property
    def peer(self) -> str | None:
        return self.connection.peer

    def close(self) -> None:
        """As Connection.close(). The event loop stands still until the daemon has let go of the connection's buffers. It does
        not wait for the peer."""
        self.connection.close()


class Listener(_Closing):
    """A service; `async with listener:` gives it back, and `async for connection in listener:` takes peers."""

    def __init__(self, session: "Session", listener: plain.Listener) -> None:
        self.port = listener.port
        self._session, self._listener = session, listener
        self._changed = asyncio.Event()
        listener.on_change = self._changed.set

    async def accept(self) -> Connection:
        """The next peer's connection."""
        while (connection := self._listener.take()) is None:
            self._changed.clear()
            await self._changed.wait()
        return Connection(self._session, connection)

    def close(self) -> None:
        self._listener.close()

    def __aiter__(self) -> "Listener":
        return self

    async def __anext__(self) -> Connection:
        return await self.accept()


class Session(_Closing):
    """A session for the running event loop; `async with Session() as session:` closes it. session: the plain one, for what
    does not wait."""

    def __init__(self, socket: str | os.PathLike[str] | None = None) -> None:
        self._loop = asyncio.get_running_loop()
        self.session = plain.Session(socket)
        try:
            self._fd = self.session.fileno()
            self._loop.add_reader(self._fd, self._take)
        except BaseException:
            self.session.close()
            raise

    def alloc(self, length: int) -> memoryview:
        return self.session.alloc(length)

    async def connect(self, peer: str, go_back_n: bool = False) -> Connection:
        """Opens a connection to HOST[:PORT], and waits until the peer has answered. To send and to post before that, use
        begin()."""
        connection = await self.begin(peer, go_back_n)
        try:
            await self.future(connection.connection.opened)
        except BaseException:
            connection.close()
            raise
        return connection

    async def begin(self, peer: str, go_back_n: bool = False) -> Connection:
        """Opens a connection, but does not wait for the peer. It looks names up without blocking the loop."""
        *others, last = await self._addresses(peer)
        for address in others:
            try:
                return Connection(self, self.session.connect(address, go_back_n))
            except Unreachable:
                pass  # another address may do
        return Connection(self, self.session.connect(last, go_back_n))

    async def listen(self, port: int = PORT_DEFAULT, waiting: int = WAITING) -> Listener:
        """Claims a service."""
        return Listener(self, self.session.listen(port, waiting))

    def close(self) -> None:
        """As Session.close(): views of the session's memory stay valid."""
        if not self.session.closed:
            self._loop.remove_reader(self._fd)
            self.session.close()

    def future(self, request: Request) -> "asyncio.Future[int]":
        """Done when the request ends."""
        future: asyncio.Future[int] = self._loop.create_future()

        def ended(request: Request) -> None:
            error = request.error()
            if future.done():  # cancelled
                return
            if error is None:
                future.set_result(request.result())
                return
            future.set_exception(error)
            if isinstance(error, Canceled):
                future.exception()  # this program has closed the connection, and may not want to hear of it

        request.add_done_callback(ended)
        return future

    def _take(self) -> None:
        try:
            self.session.poll(0)
        except NoDaemon:  # every request has heard of it
            self._loop.remove_reader(self._fd)

    async def _addresses(self, peer: str) -> list[str]:
        """HOST[:PORT] with addresses in place of a name."""
        host, colon, port = peer.rpartition(":") if peer.count(":") == 1 else (peer, "", "")
        if not host or host.startswith("[") or _is_address(host):
            return [peer]
        try:
            found = await self._loop.getaddrinfo(host, None, type=sockets.SOCK_DGRAM)
        except OSError as why:
            raise Unreachable(errno.EHOSTUNREACH, f"{host}: {why.strerror}: check the name") from None
        except UnicodeError:
            raise Unreachable(errno.EHOSTUNREACH, f"{host}: a part of it is empty or too long: check the name") from None
        names = [f"[{address[0]}]" if family == sockets.AF_INET6 else str(address[0])
                 for family, _, _, _, address in found[:ADDRESSES_MAX]]
        return [name + colon + port for name in dict.fromkeys(names)]


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True
