# SPDX-License-Identifier: BSD-3-Clause
"""What can go wrong. Each error is a SluiceError, with errno and libsluice's line, which names the cause and the cure.

SluiceError is an OSError. Where Python has an error of the same meaning, the class is one of those, too: a peer that
refuses raises Refused, which is also a ConnectionRefusedError.
"""
import errno
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .files import Transfer


class SluiceError(OSError):
    """Any failure; errno has the number and strerror the line."""

    def __init__(self, number: int, text: str) -> None:
        super().__init__(number, text)

    def __str__(self) -> str:
        return str(self.strerror)


class NoDaemon(SluiceError, ConnectionError):
    """Our daemon does not run, or has ended."""


class NotAllowed(SluiceError, PermissionError):
    """Our daemon does not let this user do that."""


class Closed(SluiceError, ValueError):
    """This program has closed the session, the connection or the listener."""


class OtherThread(SluiceError, RuntimeError):
    """Another thread is using the session at this moment. Each thread needs a session of its own."""


class WaitTimeout(SluiceError, TimeoutError):
    """What was waited for has not come yet. A request stays under way: a send, for example, waits for as long as its
    peer posts no buffer."""


class Canceled(SluiceError):
    """This side closed the connection, or gave back the service."""


class EndOfData(SluiceError, EOFError):
    """The peer sends no more: it shut down, and everything that it sent has come."""


class Refused(SluiceError, ConnectionRefusedError):
    """No application of the peer's receives there."""


class Reset(SluiceError, ConnectionResetError):
    """The peer, or its daemon, closed the connection or died; or this connection was lost otherwise."""


class Shut(SluiceError, BrokenPipeError):
    """The peer receives no more, or sending was shut down on this side."""


class PeerSilent(SluiceError, TimeoutError):
    """The peer was silent for too long."""


class Unreachable(SluiceError):
    """No host answers at that address, or the path carries no data."""


class TooLong(SluiceError):
    """A request is longer than the buffer that was posted for it, or than any may be."""


class NotOurs(SluiceError):
    """The data are not within one piece of memory of Session.alloc()."""


class Full(SluiceError, BlockingIOError):
    """Too many requests are under way: wait for some to end."""


class Taken(SluiceError):
    """Another application has the service."""


class OutOfResources(SluiceError):
    """Memory, connections, sessions or a quota are used up."""


class NoProgram(SluiceError, FileNotFoundError):
    """The program `sluice`, which moves files, is not installed, or not there."""


class TransferFailed(SluiceError):
    """Files did not all arrive. errors: the program's lines, each with cause and cure; transfers: what it says of what did
    arrive."""
    errors: "tuple[str, ...]" = ()
    transfers: "tuple[Transfer, ...]" = ()


class NoReceiver(TransferFailed, ConnectionError):
    """The receiving host is not known, not reachable or silent, or nobody receives files there."""


class LocalFile(TransferFailed):
    """A file or folder on this side is missing, cannot be read or written, is there already, or the disk is full."""


class PeerFile(TransferFailed):
    """The same, on the other side."""


_CLASSES: dict[int, type[SluiceError]] = {
    errno.EACCES: NotAllowed,
    errno.EPERM: NotAllowed,
    errno.ECANCELED: Canceled,
    errno.ENODATA: EndOfData,
    errno.ECONNREFUSED: Refused,
    errno.ECONNRESET: Reset,
    errno.ESHUTDOWN: Reset,
    errno.ENOTCONN: Reset,
    errno.EPIPE: Shut,
    errno.ETIMEDOUT: PeerSilent,
    errno.EHOSTUNREACH: Unreachable,
    errno.ENETUNREACH: Unreachable,
    errno.ECOMM: Unreachable,
    errno.EMSGSIZE: TooLong,
    errno.EFAULT: NotOurs,
    errno.EAGAIN: Full,
    errno.ENOBUFS: Full,
    errno.EADDRINUSE: Taken,
    errno.EDQUOT: OutOfResources,
    errno.EUSERS: OutOfResources,
    errno.ENOMEM: OutOfResources,
    errno.EMFILE: OutOfResources,
    errno.ENOSPC: OutOfResources,
}
_OF_OPENING: dict[int, type[SluiceError]] = {
    errno.ENOENT: NoDaemon,
    errno.ECONNREFUSED: NoDaemon,
    errno.ENOTCONN: NoDaemon,
    errno.ETIMEDOUT: NoDaemon,
}


def error_of(status: int, text: str) -> SluiceError:
    """The error for a negative errno of a call, or of a request."""
    return _CLASSES.get(-status, SluiceError)(-status, text)


def error_of_opening(status: int, text: str) -> SluiceError:
    """The error for a negative errno of sluice_open(), where the other side is our daemon."""
    return _OF_OPENING.get(-status, _CLASSES.get(-status, SluiceError))(-status, text)
