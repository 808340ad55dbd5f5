# SPDX-License-Identifier: BSD-3-Clause
"""Sessions, connections and requests.

A session is for one thread at a time, as in libsluice. Nothing here waits for a peer but what takes a timeout (None: no
limit, 0: does not wait).
"""
import collections
import copy
import enum
import errno
import itertools
import json
import math
import os
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Protocol, Self

from ._handle import Handle, chars_of, lib, text_of
from ._header import ffi
from .errors import Canceled, Closed, EndOfData, OutOfResources, SluiceError, WaitTimeout, error_of

PORT_DEFAULT: int = lib.SLUICE_PORT_DEFAULT
REQUEST_MAX: int = lib.SLUICE_REQUEST_MAX
WAITING = 4  # connections that a listener keeps waiting on each channel
_BATCH = 64  # completions that are taken at once
_ANSWER_BYTES = 4096
_POLL_MS_MAX = 1 << 30


class Array(Protocol):
    """A NumPy array, or another object with memory of its own that speaks NumPy's protocol."""

    @property
    def __array_interface__(self) -> dict[str, Any]:
        ...


Data = memoryview | Array  # or what else has a contiguous buffer in memory of Session.alloc()


class Op(enum.IntEnum):
    """What a request does."""
    CONNECT = lib.SLUICE_OP_CONNECT
    ACCEPT = lib.SLUICE_OP_ACCEPT
    SEND = lib.SLUICE_OP_SEND
    RECV = lib.SLUICE_OP_RECV
    SHUTDOWN = lib.SLUICE_OP_SHUTDOWN


class State(enum.IntEnum):
    """Where a connection is in its life."""
    NONE = 0
    WAITING = 1
    OPENING = 2
    OPEN = 3
    CLOSED = 4


@dataclass(frozen=True)
class Stats:
    """Rates, round-trip time, counters and state of a connection, which the daemon refreshes every 10 ms or so."""
    tx_rate_Bps: int  # granted by the peer
    tx_burst_bytes: int
    rx_rate_Bps: int  # granted to the peer
    rx_burst_bytes: int
    rtt_ns: int
    tx_bytes: int  # of payload, sent
    tx_units: int
    tx_repeats: int  # units sent again
    rx_bytes: int  # of payload, placed
    rx_units: int
    rx_lost: int  # packets
    rx_momentary_Bps: int
    unit_bytes: int
    state: State
    peer: str  # address:port, "" until known
    # How long our sender waited for the application (all that it had submitted was sent), for buffers of the peer, and
    # for the peer's grant or the port.
    tx_app_limited_ns: int
    tx_peer_limited_ns: int
    tx_rate_limited_ns: int
    tx_why: str  # reason of the peer's grant, as "capacity" (doc/control.md); "" until known
    rx_why: str  # of ours
    port_Bps: int  # of payload, that the connection's port carries; 0: not known


class Request:
    """What the daemon was asked to do; it ends once. Until then it keeps its data alive, and the daemon owns them.

    The error that it has is never raised, only copies of it: an error that was raised refers to the frames that it passed.
    These refer to the request, and to views. So the memory would stay until the garbage collector finds the circle."""
    __slots__ = ("op", "connection", "_session", "_data", "_length", "_error", "_done", "_callbacks")

    def __init__(self, session: "Session", op: Op, data: Any = None) -> None:
        self.op = op
        self.connection: "Connection"  # set once there is one
        self._session = session
        self._data = data
        self._length = 0
        self._error: SluiceError | None = None
        self._done = False
        self._callbacks: list[Callable[[Request], object]] = []

    def done(self) -> bool:
        """Whether it has ended, as far as poll() and wait() have noticed."""
        return self._done

    def error(self) -> SluiceError | None:
        """Why it failed; None if it did not, or is not done."""
        return copy.copy(self._error)

    def result(self) -> int:
        """The bytes that it moved. Raises its error; WaitTimeout if it is not done."""
        if not self._done:
            raise WaitTimeout(errno.ETIME, "the request is still under way: wait longer, or close the connection")
        if self._error is not None:
            raise copy.copy(self._error)
        return self._length

    def wait(self, timeout: float | None = None) -> int:
        """Waits up to timeout seconds for the end, then returns result(). After WaitTimeout the request is still under
        way."""
        self._session._advance(lambda: self._done, timeout)
        return self.result()

    def add_done_callback(self, callback: "Callable[[Request], object]") -> None:
        """Has poll() and wait() call callback(request) when it ends; at once if it has."""
        if self._done:
            callback(self)
        else:
            self._callbacks.append(callback)

    def _end(self, length: int, error: SluiceError | None) -> None:
        self._data = None
        self._length, self._error, self._done = length, error, True

    def _call_back(self) -> None:
        """Once it has ended."""
        callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback(self)

    def __repr__(self) -> str:
        state = "under way" if not self._done else f"failed: {self._error}" if self._error else f"{self._length} bytes"
        return f"<sluice.Request {self.op.name}, {state}>"


class _Closing:
    """What `with` closes."""

    def close(self) -> None:
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()


class Connection(_Closing):
    """A connection; `with connection:` closes it. Request n sent on one side fills buffer n posted on the other."""

    def __init__(self, session: "Session", pointer: Any, opened: Request) -> None:
        self._session, self._pointer = session, pointer
        self._users: set[int] = set()  # under way
        self._shut: Request | None = None  # the first shutdown
        self._last: Request | None = None  # the receive that ends with EndOfData in finish()
        self.opened = opened  # ends when the peer has answered, or has come

    @property
    def closed(self) -> bool:
        return self._pointer is None

    def send(self, data: Data) -> Request:
        """Sends data, which must lie in memory of Session.alloc(); leave them alone until the request ends."""
        return self._submit(Op.SEND, data)

    def recv(self, data: Data) -> Request:
        """Posts a buffer for the next request of the peer; leave it alone until the request ends."""
        return self._submit(Op.RECV, data)

    def limit(self, tx_Bps: int = 0, rx_Bps: int = 0) -> None:
        """From now on sends at most tx_Bps, and grants the peer at most rx_Bps, in bytes of payload a second; 0: no limit."""
        with self._session._handle:
            status = lib.sluice_limit(self._open_pointer(), tx_Bps, rx_Bps)
            if status < 0:
                raise self._session._handle.error(status)

    def shutdown(self) -> Request:
        """Ends sending. The request ends when the peer has everything. The peer's receives then fail with EndOfData."""
        request = self._session._submit(Request(self._session, Op.SHUTDOWN), self, lib.sluice_shutdown)
        self._shut = self._shut or request
        return request

    def finish(self, timeout: float | None = None) -> None:
        """The clean end: shuts down, waits until both sides have everything and the peer has shut down, too, and closes.
        After WaitTimeout it may be called again. TooLong: the peer sent one more request."""
        try:
            for request in self.finishing():
                request.wait(timeout)
        except EndOfData:
            self.close()

    def finishing(self) -> Iterator[Request]:
        """What finish() waits for, one request after the other, until one ends with EndOfData."""
        nothing = memoryview(bytearray())
        shut = self._shut or self.shutdown()
        if self._last is None or self._last.done():
            self._last = self.recv(nothing)
        yield shut
        while True:
            yield self._last
            self._last = self.recv(nothing)  # a request without a byte came

    def stats(self) -> Stats:
        """Rates, counters and state."""
        out = ffi.new("struct sluice_stats *")
        with self._session._handle:
            lib.sluice_conn_stats_sized(self._open_pointer(), out, ffi.sizeof(out[0]))
        fields = {name: getattr(out, name) for name in Stats.__dataclass_fields__}
        fields.update(state=State(out.state), peer=text_of(out.peer), tx_why=text_of(out.tx_why),
                      rx_why=text_of(out.rx_why))
        return Stats(**fields)

    @property
    def address(self) -> str:
        """ADDRESS:PORT of the peer; "" until it is known."""
        return self.stats().peer

    @property
    def peer(self) -> str | None:
        """The name of the peer whose key has proved the connection; None on a plain one."""
        name = ffi.new("char[]", lib.SLUICE_PEER_MAX)
        with self._session._handle:
            status = lib.sluice_peer(self._open_pointer(), name, lib.SLUICE_PEER_MAX)
        return text_of(name) if status == 0 else None

    def close(self) -> None:
        """Closes the connection: cleanly if both sides have shut down, else by an abort. Requests that are under way
        fail with Canceled."""
        _call_back(self._close())

    def _close(self) -> list[Request]:
        """Closes it, and returns the requests that this has ended. Their callbacks are still to be called."""
        if self._pointer is None:
            return []
        if self._session.closed:  # after fork(): the parent has it
            self._pointer = None
            return []
        with self._session._handle:
            if self._pointer is None:  # another thread was faster
                return []
            status = lib.sluice_conn_close(self._pointer)
            if status < 0:
                raise self._session._handle.error(status)
            self._pointer = None
            return self._session._forget(self, self._users)

    def _open_pointer(self) -> Any:
        """struct sluice_conn *"""
        if self._pointer is None:
            raise Closed(errno.EBADF, "the connection is closed: open another one")
        return self._pointer

    def _submit(self, op: Op, data: Data) -> Request:
        pinned = ffi.from_buffer(data, require_writable=op == Op.RECV)
        call = lib.sluice_recv if op == Op.RECV else lib.sluice_send

        def submit(pointer: Any, user: int) -> int:
            return int(call(pointer, pinned, len(pinned), user))

        return self._session._submit(Request(self._session, op, pinned), self, submit)

    def __repr__(self) -> str:
        return f"<sluice.Connection{', closed' if self.closed else ''}>"


class Listener(_Closing):
    """A service of this session; `with listener:` gives it back."""

    def __init__(self, session: "Session", port: int, waiting: int) -> None:
        self.port = port
        self.on_change: Callable[[], object] | None = None  # called when take() may have something new
        self._session = session
        self._ready: collections.deque[Connection] = collections.deque()
        self._waiting: set[Connection] = set()
        self._missing: list[int] = []  # channels on which one more is to wait, once there are resources
        self._lack: SluiceError | None = None  # why they do not
        self._error: SluiceError | None = None
        self._closed = False
        with session._handle as s:
            status = lib.sluice_listen(s, port)
            if status < 0:
                raise session._handle.error(status)
        try:
            for _ in range(waiting):
                for channel in range(session.channels):
                    self._wait_on(channel)
        except BaseException:
            self.close()
            raise

    def accept(self, timeout: float | None = None) -> Connection:
        """The next peer's connection. Raises WaitTimeout if none comes within timeout seconds, and OutOfResources if none can:
        close some connections then.

        Its address may be forged until the first of its requests ends (libsluice(3))."""
        if not self._ready:
            self._refill()
        self._session._advance(lambda: self._ready or self._error or self._closed or not self._waiting, timeout)
        connection = self.take()
        if connection is None:
            raise WaitTimeout(errno.ETIME, f"no peer has come to service {self.port}: wait longer")
        return connection

    def take(self) -> Connection | None:
        """The connection of a peer that has come already, or None."""
        if self._ready:
            return self._ready.popleft()
        if self._closed:
            raise Closed(errno.EBADF, "the listener is closed: listen again")
        if self._error is not None:
            raise copy.copy(self._error)
        if not self._waiting and self._lack is None:
            self._refill()
        if not self._waiting and self._lack is not None:
            try:
                raise self._lack
            finally:
                self._lack = None  # the next call tries again
        return None

    def close(self) -> None:
        """Gives the service back, and closes connections that nobody has accepted."""
        if self._closed:
            return
        if self._session.closed:  # after fork(): the parent has it
            self._closed = True
            return
        with self._session._handle as s:
            self._closed = True
            lib.sluice_unlisten(s, self.port)  # fails only if the daemon is gone, and the service with it
        for connection in [*self._waiting, *self._ready]:
            connection.close()
        self._waiting.clear()
        self._ready.clear()
        self._missing.clear()
        self._session._listeners.discard(self)
        self._changed()

    def _wait_on(self, channel: int) -> None:
        request = Request(self._session, Op.ACCEPT)
        connection = self._session._open(request, lambda s, user, out: int(lib.sluice_accept(s, self.port, channel, user, out)))
        self._waiting.add(connection)
        request.add_done_callback(lambda r: self._came(r, channel))

    def _came(self, request: Request, channel: int) -> None:
        self._waiting.discard(request.connection)
        if self._closed:
            return
        error = request.error()
        if error is None:
            self._ready.append(request.connection)
            self._missing.append(channel)
            self._refill()
        else:
            request.connection.close()
            if isinstance(error, OutOfResources):
                self._missing.append(channel)
                self._lack = error
            else:
                self._error = self._error or error
        self._changed()

    def _refill(self) -> None:
        """Has as many connections wait as listen() said, or as there are resources for."""
        self._lack = None
        while self._missing:
            try:
                self._wait_on(self._missing[-1])
            except SluiceError as problem:
                self._lack = problem
                return
            self._missing.pop()

    def _changed(self) -> None:
        if self.on_change is not None:
            self.on_change()


class Session(_Closing):
    """A session with a daemon; `with Session() as session:` closes it.

    socket: the daemon's; without it $SLUICE_SOCKET, else /run/sluice/sluiced.sock.
    """

    def __init__(self, socket: str | os.PathLike[str] | None = None) -> None:
        self._handle = Handle(socket)
        self._connections: set[Connection] = set()
        self._listeners: set[Listener] = set()
        self._users = itertools.count(1)
        self._requests: dict[int, Request] = {}  # under way
        self._completions = ffi.new("struct sluice_completion[]", _BATCH)

    # ---- memory, connections, services ---------------------------------------------------------

    def alloc(self, length: int) -> memoryview:
        """Zeroed memory of the daemon's and ours, to send from and to receive into: no byte of it is copied in this
        process. It is freed when nothing refers to it any more. Ask for a few large pieces, and slice them."""
        return self._handle.alloc(length)

    def connect(self, peer: str, go_back_n: bool = False) -> Connection:
        """Opens a connection to HOST[:PORT]; does not wait for the peer, which Connection.opened does. Sends and receives
        may begin at once. go_back_n: losses are repaired by go-back-N, not selectively."""
        name = chars_of(peer.encode())
        flags = lib.SLUICE_GO_BACK_N if go_back_n else 0
        return self._open(Request(self, Op.CONNECT), lambda s, user, out: int(lib.sluice_connect(s, name, flags, user, out)))

    def listen(self, port: int = PORT_DEFAULT, waiting: int = WAITING) -> Listener:
        """Claims a service. waiting: how many peers may come at the same time, for each worker of the daemon."""
        if waiting < 1:
            raise ValueError(f"waiting is {waiting}, so no peer could come: give at least 1")
        listener = Listener(self, port, waiting)
        self._listeners.add(listener)
        return listener

    @property
    def channels(self) -> int:
        """How many workers of the daemon take peers."""
        with self._handle as s:
            return int(lib.sluice_channels(s))

    @property
    def depth(self) -> int:
        """How many requests may be under way, for each connection and direction."""
        with self._handle as s:
            return int(lib.sluice_depth(s))

    # ---- what has ended ------------------------------------------------------------------------

    def fileno(self) -> int:
        """A descriptor for an event loop: readable when poll(0) may find something. Do not read from it."""
        with self._handle as s:
            fd = int(lib.sluice_fd(s))
            if fd < 0:
                raise self._handle.error(fd)
            return fd

    def poll(self, timeout: float | None = None) -> list[Request]:
        """Waits up to timeout seconds until a request ends; returns those that have. Raises NoDaemon when the daemon is
        gone and all requests have ended."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            ended = self._take(deadline)
            if ended or (deadline is not None and time.monotonic() >= deadline):
                return ended

    def _advance(self, until: Callable[[], object], timeout: float | None) -> None:
        """Takes what ends until until() is true, or for timeout seconds."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while not until():
            ended = self._take(deadline)
            if not ended and deadline is not None and time.monotonic() >= deadline:
                return

    # ---- the daemon ----------------------------------------------------------------------------

    def show(self, what: str) -> Any:
        """What `sluice show WHAT --json` prints, as Python has it."""
        text, name = ffi.new("char **"), chars_of(what.encode())
        with self._handle as s:
            status = lib.sluice_show(s, name, text)
            if status < 0:
                raise self._handle.error(status)
            found = text_of(text[0])
            lib.free(text[0])
        return json.loads(found)

    def command(self, line: str) -> str:
        """Has the daemon make a change that sluice-console(7) lists; returns its remark, or ""."""
        answer, chars = ffi.new("char[]", _ANSWER_BYTES), chars_of(line.encode())
        with self._handle as s:
            status = lib.sluice_command(s, chars, answer, _ANSWER_BYTES)
            if status < 0:
                raise self._handle.error(status)
        return text_of(answer)

    # ---- the end -------------------------------------------------------------------------------

    @property
    def closed(self) -> bool:
        return self._handle.closed

    def close(self) -> None:
        """Closes everything that belongs to the session. Views of its memory stay valid: the daemon keeps the memory until
        the last one is gone."""
        if self.closed:
            return
        for listener in list(self._listeners):
            listener.close()
        ended: list[Request] = []
        try:
            for connection in list(self._connections):
                ended += connection._close()
            self._handle.close()
        finally:
            _call_back(ended)  # last, because a callback may raise

    def __del__(self) -> None:
        if "_handle" in self.__dict__ and not self.closed:
            warnings.warn("a sluice.Session was not closed", ResourceWarning, source=self)
            self.close()

    # ---- for connections and listeners ---------------------------------------------------------

    def _open(self, request: Request, call: Callable[[Any, int, Any], int]) -> Connection:
        """Makes a connection: call(session, user, out) submits the request that opens it."""
        out = ffi.new("struct sluice_conn **")
        user = next(self._users)
        with self._handle as s:
            status = call(s, user, out)
            if status < 0:
                raise self._handle.error(status)
            connection = Connection(self, out[0], request)
            self._begin(user, request, connection)
            self._connections.add(connection)
        return connection

    def _submit(self, request: Request, connection: Connection, call: Callable[[Any, int], int]) -> Request:
        """Submits a request on a connection: call(conn, user)."""
        user = next(self._users)
        with self._handle:
            status = call(connection._open_pointer(), user)
            if status < 0:
                raise self._handle.error(status)
            self._begin(user, request, connection)
        return request

    def _forget(self, connection: Connection, users: set[int]) -> list[Request]:
        """A connection was closed: libsluice says no more of its requests. Ends and returns them."""
        self._connections.discard(connection)
        ended = [self._requests.pop(user) for user in sorted(users)]
        users.clear()
        for request in ended:
            request._end(0, Canceled(errno.ECANCELED, "the connection was closed here"))
        return ended

    def _begin(self, user: int, request: Request, connection: Connection) -> None:
        request.connection = connection
        self._requests[user] = request
        connection._users.add(user)

    def _take(self, deadline: float | None) -> list[Request]:
        """Takes the requests that have ended, and ends them. Waits until deadline for the first."""
        found: list[tuple[int, int, int]] = []  # (user, length, status)
        gone: SluiceError | None = None
        with self._handle as s:
            n = self._poll(s, _milliseconds(deadline))
            while n > 0:
                some = [(c.user, c.len, c.status) for c in self._completions[0:n]]
                found += some
                if n < _BATCH and all(status != -errno.ENOTCONN for _, _, status in some):
                    break
                n = self._poll(s, 0)  # more of them, or word that the daemon is gone
            if n < 0 and not found:
                raise self._handle.error(n)
            if n < 0:
                gone = self._handle.error(n)
            # Before another thread, or a finalizer, can close their connections.
            ended = [self._end(user, length, status, gone) for user, length, status in found]
        _call_back(ended)
        return ended

    def _poll(self, s: Any, timeout_ms: int) -> int:
        return int(lib.sluice_poll_sized(s, self._completions, ffi.sizeof(self._completions[0]), _BATCH, timeout_ms))

    def _end(self, user: int, length: int, status: int, gone: SluiceError | None) -> Request:
        """gone: the daemon's end, if that ended it."""
        request = self._requests.pop(user)
        request.connection._users.discard(user)
        error: SluiceError | None = None
        if status == -errno.ENOTCONN and gone is not None:
            error = gone
        elif status < 0:
            error = error_of(status, text_of(lib.sluice_status_text(status)))
        request._end(length, error)
        return request


def _call_back(ended: Sequence[Request]) -> None:
    """Calls what waits for these. All of them have ended before the first call, which may close their connections."""
    problem: Exception | None = None
    for request in ended:
        try:
            request._call_back()
        except Exception as p:  # of somebody else's code: the other requests are told first
            problem = problem or p
    if problem is not None:
        raise problem


def _milliseconds(deadline: float | None) -> int:
    """Until then, rounded up; -1: no limit."""
    if deadline is None:
        return -1
    return min(max(0, math.ceil((deadline - time.monotonic()) * 1000)), _POLL_MS_MAX)
