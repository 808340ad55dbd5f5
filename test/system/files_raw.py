# SPDX-License-Identifier: BSD-3-Clause
"""libsluice through ctypes, to send what `sluice` never would. For files_test.py."""
import ctypes
import glob
import json
import os
import struct
import time

OFFER, DATA, HOLE, END_FILE, DROP_FILE, DIR, END_ALL, RESULT = range(1, 9)
OP_CONNECT, OP_ACCEPT, OP_SEND, OP_RECV, OP_SHUTDOWN = range(5)
REQUEST_MAX = 64 + (4 << 20)


def record(kind, file=0, data=b"", flags=0, mode=0, offset=0, size=0, tail=bytes(24), length=None):
    """A record's bytes, right or wrong."""
    if length is None:
        length = len(data)
    head = struct.pack(">IBBHIIQQQ", 0x534c5546, 1, kind, flags, length, mode, file, offset, size)
    return head + tail + data


class Completion(ctypes.Structure):
    _fields_ = [("user", ctypes.c_uint64), ("len", ctypes.c_uint64), ("conn", ctypes.c_void_p),
                ("status", ctypes.c_int), ("op", ctypes.c_int)]


def library(build):
    """libsluice.so of the build; OSError where it cannot be loaded."""
    with open(os.path.join(build, "meson-info", "intro-buildoptions.json"), encoding="utf-8") as f:
        options = {o["name"]: o["value"] for o in json.load(f)}
    if options["b_sanitize"] != "none":
        raise OSError("a sanitizer wants to be loaded before Python")
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
    lib.sluice_poll.argtypes = [ctypes.c_void_p, ctypes.POINTER(Completion), ctypes.c_uint32,
                                ctypes.c_int]
    return lib


class Raw:
    """A session with at most one connection."""

    def __init__(self, lib, sock):
        self.lib = lib
        handle, err = ctypes.c_void_p(), ctypes.create_string_buffer(512)
        if lib.sluice_open(ctypes.byref(handle), sock.encode(), err, len(err)) < 0:
            raise RuntimeError(err.value.decode())
        self.session = handle.value
        self.memory = lib.sluice_alloc(self.session, 16 << 20)
        self.conn = ctypes.c_void_p()
        self.done = []
        self.answers = b""

    def check(self, status):
        if status < 0:
            raise RuntimeError(f"{status}: {self.lib.sluice_error(self.session).decode()}")

    def connect(self, host):
        self.check(self.lib.sluice_connect(self.session, host.encode(), 0, 0,
                                           ctypes.byref(self.conn)))
        self.check(self.lib.sluice_recv(self.conn, self.memory, REQUEST_MAX, 1))

    def accept(self, port):
        self.check(self.lib.sluice_listen(self.session, port))
        self.check(self.lib.sluice_accept(self.session, port, 0, 0, ctypes.byref(self.conn)))
        self.check(self.lib.sluice_recv(self.conn, self.memory, REQUEST_MAX, 1))

    def send(self, data):
        """One request; waits until it is out. The status."""
        at = self.memory + (8 << 20)
        ctypes.memmove(at, data, len(data))
        self.check(self.lib.sluice_send(self.conn, at, len(data), 2))
        return self.wait(OP_SEND)

    def poll(self, timeout_ms=100):
        c = Completion()
        n = self.lib.sluice_poll(self.session, ctypes.byref(c), 1, timeout_ms)
        self.check(n)
        if n == 1:
            if c.op == OP_RECV and c.status == 0:
                self.answers += ctypes.string_at(self.memory, c.len)
                self.check(self.lib.sluice_recv(self.conn, self.memory, REQUEST_MAX, 1))
            self.done.append((c.op, c.status))

    def wait(self, op, timeout_s=15):
        """Until an operation of this kind completes: its status; None: it does not."""
        end = time.monotonic() + timeout_s
        while time.monotonic() < end:
            for i, (kind, status) in enumerate(self.done):
                if kind == op:
                    del self.done[i]
                    return status
            self.poll()
        return None

    def shutdown(self):
        self.check(self.lib.sluice_shutdown(self.conn, 3))

    def close(self):
        self.lib.sluice_close(self.session)
