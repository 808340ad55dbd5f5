# SPDX-License-Identifier: BSD-3-Clause
"""Files, moved by the program `sluice`, which these functions run: the other side may be `sluice send` or `sluice recv` as
well as another Python program. doc/python.md says why a program and no code of its own.

    transfer = sluice.send_files("192.0.2.20", "results", recursive=True)
    transfers = sluice.recv_files("incoming")

sluice.aio has the same for asyncio.
"""
import contextlib
import dataclasses
import errno
import json
import os
import re
import selectors
import shutil
import subprocess
import time
from collections.abc import Iterator
from types import TracebackType
from typing import Any, Self

from .errors import (Canceled, Closed, LocalFile, NoDaemon, NoProgram, NoReceiver, OutOfResources, PeerFile, SluiceError,
                     TransferFailed, WaitTimeout)
from .session import PORT_DEFAULT

Path = str | os.PathLike[str]
STOP_S = 10.0  # a program that is asked to end, and has not, is killed
_READY = re.compile(r"waiting on port (\d+)$")
# What it says besides errors, say_note() of app/sluice. A name may have any text before these.
_NOTE = re.compile(r"waiting on port \d+$|(received|sent) \d+ files?, |limited for \d+ % of the time by |"
                   r"\d+ files? of .* (was|were) there already$|no memory for another sender, which waits |"
                   r"--manifest .*: not written; what arrived is listed in |"
                   r".* from \S+: incomplete(, (kept for --resume|removed))?$|.*: not sent$|"
                   r".*: its file system has no direct I/O: (read|written) through the page cache$")
# The exit status of sluice(1), its class and an errno for it.
_STATUS: dict[int, tuple[type[SluiceError], int]] = {
    1: (TransferFailed, errno.EIO), 2: (SluiceError, errno.EINVAL), 3: (NoDaemon, errno.ENOTCONN),
    4: (NoReceiver, errno.ECONNREFUSED), 5: (LocalFile, errno.EIO), 6: (PeerFile, errno.EREMOTEIO),
    7: (OutOfResources, errno.ENOMEM),
}


@dataclasses.dataclass(frozen=True)
class Transfer:
    """What one sender has sent. Bytes are those of files; sluice(1) explains the fields under --json."""
    status: int  # 0: all of it is there; else as the exit status in sluice(1)
    peer: str  # address and port
    peer_name: str | None  # of the peer whose key has proved it
    files: int
    failed: int  # files that are not there at the end
    bytes: int
    kept_bytes: int  # of these, were there already: resume
    there_files: int  # whole files that were there already, which do not count above
    seconds: float
    hash: str | None  # of the file, or over the hashes of all files


def _transfer(found: dict[str, Any]) -> Transfer:
    return Transfer(found["exit"], found["peer"], found.get("peer_name"), found["files"], found["failed"], found["bytes"],
                    found["kept_bytes"], found["there_files"], found["seconds"], found["hash"])


@dataclasses.dataclass(frozen=True)
class Command:
    """The program, as a shell would start it."""
    program: Path = "sluice"
    socket: Path | None = None  # of the daemon; None: that of $SLUICE_SOCKET
    options: tuple[str, ...] = ()  # further ones of sluice(1), such as "--fsync"

    def line(self, verb: str, *words: str) -> list[str]:
        """The words of its command line."""
        name = os.fspath(self.program)
        found = shutil.which(name)
        if found is None:
            raise NoProgram(errno.ENOENT, f"{name}: no such program; install the package sluice, or name it: Command(program)")
        daemon = [] if self.socket is None else ["--socket", os.fspath(self.socket)]
        return [found, verb, "--json", *daemon, *self.options, *words]


COMMAND = Command()


@dataclasses.dataclass(frozen=True)
class Sending:
    """What send_files() is to send."""
    host: str
    paths: tuple[Path, ...]
    recursive: bool
    resume: bool
    wait: float | None

    def line(self, command: Command) -> list[str]:
        if not self.paths:
            raise SluiceError(errno.EINVAL, "no file to send: name one or more")
        words = ["-q"] + ["--recursive"] * self.recursive + ["--resume"] * self.resume
        if self.wait is not None:
            words += ["--wait", f"{round(self.wait * 1000)}ms"]
        return command.line("send", *words, "--", *(_operand(path) for path in self.paths), self.host)


@dataclasses.dataclass(frozen=True)
class Receiving:
    """What a FileReceiver is to receive."""
    folder: Path
    port: int
    count: int | None
    overwrite: bool
    max_size: int | None

    def line(self, command: Command) -> list[str]:
        if not os.path.isdir(self.folder):
            raise LocalFile(errno.ENOTDIR, f"{os.fspath(self.folder)}: is no folder; make it first")
        words = ["-v"]  # it says when it is ready
        words += ["--output", os.path.join(os.fspath(self.folder), ""), "--port", str(self.port)]
        words += ["--overwrite"] * self.overwrite
        words += [] if self.count is None else ["--count", str(self.count)]
        words += [] if self.max_size is None else ["--max-size", str(self.max_size)]
        return command.line("recv", *words)


def _operand(path: Path) -> str:
    """The program takes "-" for standard input."""
    text = os.fspath(path)
    return "./-" if text == "-" else text


class Said:
    """What the program has said so far."""

    def __init__(self) -> None:
        self.port: int | None = None  # recv: where senders may come now
        self.transfers: list[Transfer] = []
        self._errors: list[str] = []

    def result(self, line: str) -> Transfer | None:
        """Takes a line of standard output; a transfer if it tells of one."""
        found = json.loads(line)
        if "files" not in found:
            return None
        self.transfers.append(_transfer(found))
        return self.transfers[-1]

    def remark(self, line: str) -> None:
        """Takes a line of standard error."""
        text = line.removeprefix("sluice: ")
        ready = _READY.match(text)
        if ready is not None:
            self.port = int(ready[1])
        if text and _NOTE.match(text) is None:
            self._errors.append(text)

    def error(self, status: int) -> SluiceError | None:
        """The error of this exit status (negative: the signal that has ended the program), or None."""
        if status == 0:
            return None
        text = self._errors[0] if self._errors else f"sluice has ended with status {status}"
        if len(self._errors) > 1:
            text += f" (and {len(self._errors) - 1} more)"
        if status < 0 or status > 128:
            return Canceled(errno.ECANCELED, f"a signal has ended it: {text}")
        kind, number = _STATUS.get(status, (TransferFailed, errno.EIO))
        found = kind(number, text)
        if isinstance(found, TransferFailed):
            found.errors, found.transfers = tuple(self._errors), tuple(self.transfers)
        return found


class _Child:
    """The program, while it runs."""

    def __init__(self, command: list[str]) -> None:
        self.said = Said()
        self._popen = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self._selector = selectors.DefaultSelector()
        self._rest: dict[int, bytes] = {}
        for pipe in (self._popen.stdout, self._popen.stderr):
            assert pipe is not None
            self._selector.register(pipe, selectors.EVENT_READ)
            self._rest[pipe.fileno()] = b""

    def turn(self, end: float | None) -> list[Transfer] | None:
        """Waits for what the program says next; transfers that it tells of. None: it has ended."""
        if not self._rest:
            return None
        left = None if end is None else max(end - time.monotonic(), 0)
        events = self._selector.select(left)
        if not events:
            raise WaitTimeout(errno.ETIMEDOUT, "it has not ended yet")
        return [found for key, _ in events for found in self._read(key.fd)]

    def _read(self, fd: int) -> list[Transfer]:
        assert self._popen.stdout is not None
        data = os.read(fd, 65536)
        if not data:
            self._selector.unregister(fd)
            data = b"\n" if self._rest[fd] else b""
        *lines, rest = (self._rest.pop(fd) + data).split(b"\n")
        if data and fd in self._selector.get_map():
            self._rest[fd] = rest
        found = []
        for line in lines:
            text = line.decode(errors="replace")
            if fd != self._popen.stdout.fileno():
                self.said.remark(text)
            elif (transfer := self.said.result(text)) is not None:
                found.append(transfer)
        return found

    def status(self) -> int:
        """The exit status, once turn() has returned None."""
        status = self._popen.wait()
        self._close()
        return status

    def stop(self) -> None:
        """Ends the program, if it still runs."""
        if self._popen.poll() is None:
            self._popen.terminate()
            try:
                self._popen.wait(STOP_S)
            except subprocess.TimeoutExpired:
                self._popen.kill()
                self._popen.wait()
        self._close()

    def _close(self) -> None:
        self._selector.close()
        for pipe in (self._popen.stdout, self._popen.stderr):
            assert pipe is not None
            pipe.close()


def send_files(host: str, *paths: Path, recursive: bool = False, resume: bool = False, wait: float | None = None,
               timeout: float | None = None, command: Command = COMMAND) -> Transfer:
    """Sends files, and with recursive folders, to a receiver at HOST[:PORT]; returns when their hashes are right there.
    resume: only what is missing there. wait: so many seconds for a receiver that is not there yet. After timeout seconds,
    the transfer is ended with WaitTimeout."""
    end = None if timeout is None else time.monotonic() + timeout
    child = _Child(Sending(host, paths, recursive, resume, wait).line(command))
    try:
        while child.turn(end) is not None:
            pass
        error = child.said.error(child.status())
    finally:
        child.stop()
    if error is not None:
        raise error
    return child.said.transfers[-1]


class FileReceiver:
    """Receives files into a folder, from any number of senders; `for transfer in receiver:` yields each sender's, and
    `with` ends it. When it has been made, senders may come.

    port 0: any free one, which .port names. count: after so many senders it ends by itself. overwrite: files that are there
    are replaced. max_size: longer files are refused. sluice(1) has more under recv.
    """

    def __init__(self, folder: Path, port: int = PORT_DEFAULT, count: int | None = None, overwrite: bool = False,
                 max_size: int | None = None, command: Command = COMMAND) -> None:
        self._child: _Child | None = None
        self._child = _Child(Receiving(folder, port, count, overwrite, max_size).line(command))
        self._found: list[Transfer] = []
        self._done = False
        try:
            while self._child.said.port is None and self._turn(None):
                pass
        except BaseException:
            self.close()
            raise
        if self._child.said.port is None:
            self._end()
        self.port: int = self._child.said.port or port

    def next(self, timeout: float | None = None) -> Transfer | None:
        """The next sender's transfer; None: it has ended, after `count` senders. Raises the error of a transfer that
        failed at the end."""
        end = None if timeout is None else time.monotonic() + timeout
        while not self._found and self._turn(end):
            pass
        if self._found:
            return self._found.pop(0)
        self._end()
        return None

    def close(self) -> None:
        """Ends receiving at once. Of a file that is not complete, a large part stays, for resume."""
        if self._child is not None:
            self._child.stop()
        self._child = None

    def _turn(self, end: float | None) -> bool:
        if self._child is None:
            raise Closed(errno.EBADF, "the receiver is closed")
        found = None if self._done else self._child.turn(end)
        self._found += found or []
        return found is not None

    def _end(self) -> None:
        """It has ended by itself; raises what was wrong."""
        if self._child is None or self._done:
            return
        self._done = True
        error = self._child.said.error(self._child.status())
        if error is not None:
            raise error

    def __iter__(self) -> Iterator[Transfer]:
        while (found := self.next()) is not None:
            yield found

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def __del__(self) -> None:
        with contextlib.suppress(Exception):
            self.close()


def recv_files(folder: Path, port: int = PORT_DEFAULT, count: int = 1, overwrite: bool = False, max_size: int | None = None,
               timeout: float | None = None, command: Command = COMMAND) -> list[Transfer]:
    """Receives files from `count` senders into a folder. After timeout seconds it is ended with WaitTimeout. The rest is as
    for FileReceiver."""
    end = None if timeout is None else time.monotonic() + timeout
    found: list[Transfer] = []
    with FileReceiver(folder, port, count, overwrite, max_size, command) as receiver:
        while (transfer := receiver.next(None if end is None else max(end - time.monotonic(), 0))) is not None:
            found.append(transfer)
    return found
