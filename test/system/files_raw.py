# SPDX-License-Identifier: BSD-3-Clause
"""libsluice through ctypes: files_test.py sends records with it that `sluice` never sends."""
import ctypes
import glob
import json
import os
import struct
import time

OFFER, DATA, HOLE, END_FILE, DROP_FILE, DIR, END_ALL, RESULT = range(1, 9)
OP_CONNECT, OP_ACCEPT, OP_SEND, OP_RECV, OP_SHUTDOWN = range(5)
REQUEST_MAX = 64 + (4 << 20)


def record(kind: int, file: int = 0, data: bytes = b"", mode: int = 0, offset: int = 0, size: int = 0,
           tail: bytes = bytes(24)) -> bytes:
    """A record's bytes; the values may be wrong."""
    head = struct.pack(">IBBHIIQQQ", 0x534c5546, 2, kind, 0, len(data), mode, file, offset, size)
    return head + tail + data


class Completion(ctypes.Structure):
    _fields_ = [("user", ctypes.c_uint64), ("len", ctypes.c_uint64), ("conn", ctypes.c_void_p),
                ("status", ctypes.c_int), ("op", ctypes.c_int)]
    len: int
    status: int
    op: int


def library(build: str) -> ctypes.CDLL:
    """Loads libsluice.so of the build; OSError if it cannot be loaded."""
    with open(os.path.join(build, "meson-info", "intro-buildoptions.json"), encoding="utf-8") as f:
        options = {o["name"]: o["value"] for o in json.load(f)}
    if options["b_sanitize"] != "none":
        raise OSError("a build with a sanitizer cannot be loaded into Python")
    paths = sorted(glob.glob(os.path.join(build, "lib", "client", "libsluice.so*")))
    paths = [p for p in paths if not p.endswith(".p")]
    lib = ctypes.CDLL(paths[0])
    lib.sluice_alloc.restype = ctypes.c_void_p
    lib.sluice_alloc.argtypes = [ctypes.c_void_p, ctypes.c_uint64]
    lib.sluice_open.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t]
    lib.sluice_close.argtypes = [ctypes.c_void_p]
    lib.sluice_close.restype = None
    lib.sluice_error.restype = ctypes.c_char_p
    lib.sluice_error.argtypes = [ctypes.c_void_p]
    lib.sluice_connect.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_uint32,
                                   ctypes.c_uint64, ctypes.c_void_p]
    lib.sluice_listen.argtypes = [ctypes.c_void_p, ctypes.c_uint16]
    lib.sluice_accept.argtypes = [ctypes.c_void_p, ctypes.c_uint16, ctypes.c_uint32,
                                  ctypes.c_uint64, ctypes.c_void_p]
    for name in ("sluice_send", "sluice_recv"):
        getattr(lib, name).argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint64,
                                       ctypes.c_uint64]
    lib.sluice_shutdown.argtypes = [ctypes.c_void_p, ctypes.c_uint64]
    lib.sluice_poll_sized.argtypes = [ctypes.c_void_p, ctypes.POINTER(Completion), ctypes.c_size_t,
                                      ctypes.c_uint32, ctypes.c_int]
    return lib


class Raw:
    """A session with at most one connection. done: (operation, status) of completions that nothing waited for."""

    def __init__(self, lib: ctypes.CDLL, sock: str) -> None:
        self.lib = lib
        handle, err = ctypes.c_void_p(), ctypes.create_string_buffer(512)
        if lib.sluice_open(ctypes.byref(handle), sock.encode(), err, len(err)) < 0:
            raise RuntimeError(err.value.decode())
        self.session = handle.value
        self.memory: int = lib.sluice_alloc(self.session, 16 << 20)
        self.conn = ctypes.c_void_p()
        self.done: list[tuple[int, int]] = []
        self.answers = b""

    def check(self, status: int) -> None:
        if status < 0:
            raise RuntimeError(f"{status}: {self.lib.sluice_error(self.session).decode()}")

    def connect(self, host: str) -> None:
        self.check(self.lib.sluice_connect(self.session, host.encode(), 0, 0,
                                           ctypes.byref(self.conn)))
        self.check(self.lib.sluice_recv(self.conn, self.memory, REQUEST_MAX, 1))

    def accept(self, port: int) -> None:
        self.check(self.lib.sluice_listen(self.session, port))
        self.check(self.lib.sluice_accept(self.session, port, 0, 0, ctypes.byref(self.conn)))
        self.check(self.lib.sluice_recv(self.conn, self.memory, REQUEST_MAX, 1))

    def send(self, data: bytes) -> int | None:
        """Sends one request and waits until it is complete; returns its status, as wait() does."""
        at = self.memory + (8 << 20)
        ctypes.memmove(at, data, len(data))
        self.check(self.lib.sluice_send(self.conn, at, len(data), 2))
        return self.wait(OP_SEND)

    def poll(self, timeout_ms: int = 100) -> None:
        c = Completion()
        n = self.lib.sluice_poll_sized(self.session, ctypes.byref(c), ctypes.sizeof(c), 1, timeout_ms)
        self.check(n)
        if n == 1:
            if c.op == OP_RECV and c.status == 0:
                self.answers += ctypes.string_at(self.memory, c.len)
                self.check(self.lib.sluice_recv(self.conn, self.memory, REQUEST_MAX, 1))
            self.done.append((c.op, c.status))

    def wait(self, op: int, timeout_s: float = 15) -> int | None:
        """Waits until an operation of this kind completes; returns its status, or None if there is none in time."""
        end = time.monotonic() + timeout_s
        while time.monotonic() < end:
            for i, (kind, status) in enumerate(self.done):
                if kind == op:
                    del self.done[i]
                    return status
            self.poll()
        return None

    def shutdown(self) -> None:
        self.check(self.lib.sluice_shutdown(self.conn, 3))

    def close(self) -> None:
        self.lib.sluice_close(self.session)
