# SPDX-License-Identifier: BSD-3-Clause
"""sluice.files for asyncio. What is cancelled, ends the program that it has started."""
import asyncio
import errno
from collections.abc import AsyncIterator
from types import TracebackType
from typing import Self

from .errors import Closed, SluiceError
from .files import COMMAND, STOP_S, Command, Path, Receiving, Said, Sending, Transfer
from .session import PORT_DEFAULT

_LINE_MAX = 1 << 20


class _Child:
    """The program, while it runs. Two tasks read what it says."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.said = Said()
        self.found: asyncio.Queue[Transfer | None] = asyncio.Queue()
        self.ready = asyncio.Event()  # it says its port, or has ended
        self._process = process
        self._reading = asyncio.gather(self._results(), self._remarks())
        self._reading.add_done_callback(lambda _: self._over())

    @classmethod
    async def start(cls, command: list[str]) -> Self:
        return cls(await asyncio.create_subprocess_exec(
            *command, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
            limit=_LINE_MAX))

    async def _results(self) -> None:
        assert self._process.stdout is not None
        async for line in self._process.stdout:
            transfer = self.said.result(line.decode(errors="replace"))
            if transfer is not None:
                self.found.put_nowait(transfer)

    async def _remarks(self) -> None:
        assert self._process.stderr is not None
        async for line in self._process.stderr:
            self.said.remark(line.decode(errors="replace").rstrip("\n"))
            if self.said.port is not None:
                self.ready.set()

    def _over(self) -> None:
        self.found.put_nowait(None)
        self.ready.set()

    async def error(self) -> SluiceError | None:
        """How the program has ended, once `found` had None."""
        await self._reading
        return self.said.error(await self._process.wait())

    async def stop(self) -> None:
        """Ends the program, if it still runs."""
        if self._process.returncode is None:
            self._process.terminate()
            try:
                await asyncio.wait_for(self._process.wait(), STOP_S)
            except TimeoutError:
                self._process.kill()
                await self._process.wait()
        await self._reading


async def send_files(host: str, *paths: Path, recursive: bool = False, resume: bool = False, wait: float | None = None,
                     command: Command = COMMAND) -> Transfer:
    """As sluice.send_files(). Cancelling it ends the transfer."""
    child = await _Child.start(Sending(host, paths, recursive, resume, wait).line(command))
    try:
        while await child.found.get() is not None:
            pass
        error = await child.error()
    finally:
        await child.stop()
    if error is not None:
        raise error
    return child.said.transfers[-1]


class FileReceiver:
    """As sluice.FileReceiver: `async with FileReceiver(folder) as receiver:` waits until senders may come, and
    `async for transfer in receiver:` yields each sender's."""

    def __init__(self, folder: Path, port: int = PORT_DEFAULT, count: int | None = None, overwrite: bool = False,
                 max_size: int | None = None, command: Command = COMMAND) -> None:
        self.port = port
        self._line = Receiving(folder, port, count, overwrite, max_size).line(command)
        self._child: _Child | None = None
        self._done = False

    async def __aenter__(self) -> Self:
        child = self._child = await _Child.start(self._line)
        try:
            await child.ready.wait()
            if child.said.port is None:
                await self._end(child)
        except BaseException:
            await self.close()
            raise
        self.port = child.said.port or self.port
        return self

    async def __aexit__(self, kind: type[BaseException] | None, value: BaseException | None,
                        trace: TracebackType | None) -> None:
        await self.close()

    async def next(self) -> Transfer | None:
        """As sluice.FileReceiver.next()."""
        child = self._child
        if child is None:
            raise Closed(errno.EBADF, "the receiver is closed, or was not entered: async with")
        found = None if self._done else await child.found.get()
        if found is None:
            await self._end(child)
        return found

    async def close(self) -> None:
        """As sluice.FileReceiver.close()."""
        if self._child is not None:
            await self._child.stop()
        self._child = None

    async def _end(self, child: _Child) -> None:
        if self._done:
            return
        self._done = True
        error = await child.error()
        if error is not None:
            raise error

    async def __aiter__(self) -> AsyncIterator[Transfer]:
        while (found := await self.next()) is not None:
            yield found


async def recv_files(folder: Path, port: int = PORT_DEFAULT, count: int = 1, overwrite: bool = False,
                     max_size: int | None = None, command: Command = COMMAND) -> list[Transfer]:
    """As sluice.recv_files(). Cancelling it ends receiving."""
    async with FileReceiver(folder, port, count, overwrite, max_size, command) as receiver:
        return [transfer async for transfer in receiver]
