# SPDX-License-Identifier: BSD-3-Clause
"""An application of a daemon in this process: libsluice, called through ctypes. Nothing here waits."""
import ctypes
import errno
import os
from dataclasses import dataclass

from testbed.daemon import Daemon
from testbed.process import TestbedError

CONNECT, ACCEPT, SEND, RECV, SHUTDOWN = range(5)  # enum sluice_op
BUFFER_BYTES = 1 << 20


class _Completion(ctypes.Structure):
    """struct sluice_completion."""
    _fields_ = [("user", ctypes.c_uint64), ("len", ctypes.c_uint64), ("conn", ctypes.c_void_p),
                ("status", ctypes.c_int), ("op", ctypes.c_int)]


@dataclass(frozen=True)
class Completion:
    """status: "ok" or the name of an errno."""
    operation: int
    user: int
    len: int
    status: str


def _library(daemon: Daemon) -> ctypes.CDLL:
    library = ctypes.CDLL(os.path.join(daemon.build.dir, "lib/client/libsluice.so"))
    pointer, u64 = ctypes.c_void_p, ctypes.c_uint64
    library.sluice_alloc.restype = pointer
    library.sluice_error.restype = ctypes.c_char_p
    for name, types in {
            "open": [pointer, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t], "close": [pointer],
            "error": [pointer], "alloc": [pointer, u64], "listen": [pointer, ctypes.c_uint16],
            "unlisten": [pointer, ctypes.c_uint16],
            "connect": [pointer, ctypes.c_char_p, ctypes.c_uint32, u64, pointer],
            "accept": [pointer, ctypes.c_uint16, ctypes.c_uint32, u64, pointer],
            "send": [pointer, pointer, u64, u64], "recv": [pointer, pointer, u64, u64],
            "shutdown": [pointer, u64], "conn_close": [pointer],
            "poll_sized": [pointer, pointer, ctypes.c_size_t, ctypes.c_uint32, ctypes.c_int]}.items():
        getattr(library, "sluice_" + name).argtypes = types
    return library


class Application:
    """A session. Each receive has a buffer of its own, found by its `user`."""

    def __init__(self, daemon: Daemon) -> None:
        self.library = _library(daemon)
        self.session = ctypes.c_void_p()
        text = ctypes.create_string_buffer(256)
        if self.library.sluice_open(ctypes.byref(self.session), daemon.socket.encode(), text, len(text)) < 0:
            raise TestbedError(text.value.decode())
        self.memory: dict[int, int] = {}  # user -> address
        self.done: list[Completion] = []

    def close(self) -> None:
        self.library.sluice_close(self.session)

    def __enter__(self) -> "Application":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _check(self, status: int) -> None:
        if status < 0:
            raise TestbedError(self.library.sluice_error(self.session).decode())

    def connect(self, peer: str, go_back_n: bool = False) -> ctypes.c_void_p:
        conn = ctypes.c_void_p()
        self._check(self.library.sluice_connect(self.session, peer.encode(), go_back_n, 0, ctypes.byref(conn)))
        return conn

    def listen(self, service: int = 7000) -> None:
        self._check(self.library.sluice_listen(self.session, service))

    def unlisten(self, service: int = 7000) -> None:
        self._check(self.library.sluice_unlisten(self.session, service))

    def accept(self, service: int = 7000) -> ctypes.c_void_p:
        conn = ctypes.c_void_p()
        self._check(self.library.sluice_accept(self.session, service, 0, 0, ctypes.byref(conn)))
        return conn

    def send(self, conn: ctypes.c_void_p, data: bytes, user: int) -> None:
        address = self.library.sluice_alloc(self.session, max(1, len(data)))
        ctypes.memmove(address, data, len(data))
        self._check(self.library.sluice_send(conn, address, len(data), user))

    def recv(self, conn: ctypes.c_void_p, user: int, size: int = BUFFER_BYTES) -> None:
        self.memory[user] = self.library.sluice_alloc(self.session, size)
        self._check(self.library.sluice_recv(conn, self.memory[user], size, user))

    def shutdown(self, conn: ctypes.c_void_p) -> None:
        self._check(self.library.sluice_shutdown(conn, 0))

    def close_conn(self, conn: ctypes.c_void_p) -> None:
        self._check(self.library.sluice_conn_close(conn))

    def poll(self) -> list[Completion]:
        """All completions so far, the new ones too."""
        some = (_Completion * 32)()
        count = self.library.sluice_poll_sized(self.session, some, ctypes.sizeof(_Completion), len(some), 0)
        self._check(count)
        self.done += [Completion(c.op, c.user, c.len, errno.errorcode[-c.status] if c.status else "ok")
                      for c in some[:count]]
        return self.done

    def status(self, operation: int, user: int = 0) -> str | None:
        """How an operation ended; None: not yet."""
        return next((c.status for c in self.poll() if (c.operation, c.user) == (operation, user)), None)

    def received(self, user: int) -> bytes | None:
        """What a receive got; None: it is not complete."""
        done = next((c for c in self.poll() if (c.operation, c.user, c.status) == (RECV, user, "ok")), None)
        return None if done is None else ctypes.string_at(self.memory[user], done.len)
