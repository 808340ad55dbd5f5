# SPDX-License-Identifier: BSD-3-Clause
"""The C session, and the memory that Python sees of it.

Invariants:
- One thread at a time calls libsluice for a session. cffi releases the interpreter's lock during a call, so another thread
  can run; it gets OtherThread if it tries to use the session.
- A piece of memory is unmapped when no object refers to it any more: no memoryview, no slice of one, no NumPy array, no
  request under way. A session that is closed keeps its C session until then, so no view ever points to nothing.
"""
import collections
import ctypes
import errno
import os
import threading
import weakref
from types import TracebackType
from typing import Any

from .errors import Closed, NoDaemon, OtherThread, SluiceError, error_of, error_of_opening

try:
    from ._header import ffi
except ModuleNotFoundError as missing:  # of _header, or of cffi's _cffi_backend
    raise ImportError(f"{missing}: install cffi, and build the package (doc/python.md)") from None

LIBRARY = "libsluice.so.0"
ERROR_BYTES = 512

try:
    lib: Any = ffi.dlopen(LIBRARY)
except OSError as problem:
    raise ImportError(f"{problem}: install libsluice, or add its folder to LD_LIBRARY_PATH") from None


def chars_of(text: bytes) -> Any:
    """A C string. C would read no further than a NUL, and so would use something else than the caller has checked."""
    if b"\0" in text:
        raise ValueError(f"{text!r}: a text for libsluice cannot have a NUL in it")
    return ffi.new("char[]", text)


def text_of(chars: Any) -> str:
    """A C string that a peer or a daemon may have filled."""
    return bytes(ffi.string(chars)).decode("utf-8", "replace")


class _Token:
    """What each view of a piece of memory keeps alive; `handle` hears when it is gone.

    __del__() alone would be too early: when the garbage collector frees a circle of objects, it runs all their
    finalizers first, and another one may still use the view, or even keep it. The weak reference that __del__() makes is
    cleared when the token is freed.
    """
    __slots__ = ("handle", "address", "__weakref__")

    def __init__(self, handle: "Handle", address: int) -> None:
        self.handle, self.address = handle, address

    def __del__(self) -> None:
        self.handle.token_dying(self)


class Handle:
    """The C session of a Session. `with handle as s:` lets this thread call libsluice with s."""

    def __init__(self, path: str | os.PathLike[str] | None) -> None:
        self._use = threading.Lock()  # held by the thread that uses the session
        # Held around calls. A thread that does not use the session may free the last view of its memory; the user then
        # waits for it. The garbage collector may do so in the midst of anything else, so this lock is reentrant.
        self._calls = threading.RLock()
        self._closed = True
        self._pieces = 0  # pieces of memory that are mapped
        self._dying: dict[int, weakref.ref[_Token]] = {}  # {address: token}
        self._dead: collections.deque[int] = collections.deque()  # addresses to free
        self._s: Any = None
        session = ffi.new("struct sluice **")
        why = ffi.new("char[]", ERROR_BYTES)
        name = ffi.NULL if path is None else chars_of(os.fsencode(path))
        status = lib.sluice_open(session, name, why, ERROR_BYTES)
        if status < 0:
            raise error_of_opening(status, text_of(why))
        self._s = session[0]
        self._closed = False
        _handles.add(self)

    @property
    def closed(self) -> bool:
        return self._closed

    def __enter__(self) -> Any:
        if not self._use.acquire(blocking=False):
            raise OtherThread(errno.EBUSY, "another thread uses this session: give each thread a session of its own")
        self._calls.acquire()
        if self._closed:
            self._release()
            raise Closed(errno.EBADF, "the session is closed: open another one")
        return self._s

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None,
                 trace: TracebackType | None) -> None:
        self._release()
        self._free_dead()

    def _release(self) -> None:
        self._calls.release()
        self._use.release()

    def error(self, status: int) -> SluiceError:
        """The error of a call that has just failed, of this session."""
        text = text_of(lib.sluice_error(self._s))
        if status in (-errno.ENOTCONN, -errno.ETIMEDOUT):  # a call, unlike a request, fails so only for the daemon's sake
            return NoDaemon(-status, text)
        return error_of(status, text)

    # ---- memory --------------------------------------------------------------------------------

    def alloc(self, length: int) -> memoryview:
        """A view of zeroed memory of the C session."""
        with self as s:
            memory = lib.sluice_alloc(s, length)
            if memory == ffi.NULL:
                raise self.error(-ffi.errno)
            self._pieces += 1
        address = int(ffi.cast("uintptr_t", memory))
        array = (ctypes.c_ubyte * length).from_address(address)
        array.token = _Token(self, address)  # type: ignore[attr-defined]
        return memoryview(array).cast("B")

    def token_dying(self, token: _Token) -> None:
        """Its memory is to be freed once the token is dead. A finalizer may yet save it."""
        address = token.address

        def dead(_ref: object) -> None:
            self._dying.pop(address, None)
            self._dead.append(address)
            self._free_dead()

        self._dying[address] = weakref.ref(token, dead)

    def _free_dead(self) -> None:
        """Frees what nothing refers to any more, unless another thread is calling, which will do it then."""
        while self._dead and self._calls.acquire(blocking=False):
            try:
                self._free_locked()
            finally:
                self._calls.release()

    def _free_locked(self) -> None:
        while True:
            try:
                address = self._dead.popleft()
            except IndexError:
                break
            self._pieces -= 1
            if self._s is not None:
                lib.sluice_free(self._s, ffi.cast("void *", address))
        if self._closed and self._pieces == 0 and self._s is not None:
            s, self._s = self._s, None
            lib.sluice_close(s)

    # ---- the end -------------------------------------------------------------------------------

    def close(self) -> None:
        """Ends the C session, or lets it end with the last view of its memory."""
        if self._closed:
            return
        with self:
            self._closed = True
            self._free_locked()

    def abandon(self) -> None:
        """In a child after fork(): the session is the parent's. The child may see its memory, but not call it."""
        self._use, self._calls = threading.Lock(), threading.RLock()
        self._closed = True
        self._s = None


_handles: "weakref.WeakSet[Handle]" = weakref.WeakSet()


def _after_fork() -> None:
    for handle in list(_handles):
        handle.abandon()


os.register_at_fork(after_in_child=_after_fork)
