# SPDX-License-Identifier: BSD-3-Clause
"""many.py server COUNT: takes that many connections in one event loop, and sends back what each sends.
many.py HOST COUNT: opens them all at once, sends requests on each, compares what comes back; then waits until its daemon dies.
"""
import asyncio
import errno
import hashlib
import socket
import sys
from typing import Any

import sluice
import sluice.aio

LENGTH, REQUESTS = 1 << 16, 4
NAME = "b.example"  # stands for HOST: a name server is no part of this
NOBODY = "10.90.0.99:7009"  # in the daemon's network; it does not refuse, so the receive waits
LIMIT_S = 60


async def serve(count: int) -> None:
    async with sluice.aio.Session() as session, await session.listen() as listener:
        memory = session.alloc(count * LENGTH)

        async def echo(connection: sluice.aio.Connection, view: memoryview) -> None:
            for _ in range(REQUESTS):
                await connection.send(view[:await connection.recv(view)])
            await connection.finish()

        tasks: list[asyncio.Task[None]] = []
        async for connection in listener:
            tasks.append(asyncio.create_task(echo(connection, memory[len(tasks) * LENGTH:(len(tasks) + 1) * LENGTH])))
            if len(tasks) == count:
                break
        await asyncio.gather(*tasks)


def pattern(number: int) -> bytes:
    return hashlib.shake_128(number.to_bytes(4, "big")).digest(LENGTH)


async def one(session: sluice.aio.Session, peer: str, number: int, views: tuple[memoryview, memoryview]) -> int:
    """Returns how many requests came back right."""
    out, back = views
    right = 0
    async with await session.connect(peer) as connection:
        for i in range(REQUESTS):
            out[:] = pattern(number * REQUESTS + i)
            back[:] = bytes(LENGTH)
            coming = connection.recv(back)
            await connection.send(out)
            right += await coming == LENGTH and back == out
        await connection.finish()
    return right


async def dead_daemon(session: sluice.aio.Session, memory: memoryview) -> None:
    """A future that is cancelled leaves the memory to the daemon. The daemon's end ends all that is awaited."""
    async with await session.listen(7011) as listener:
        waiting = asyncio.create_task(listener.accept())
        connection = await session.begin(NOBODY)
        try:
            await asyncio.wait_for(connection.recv(memory), 0)
            raise AssertionError("nothing was to come")
        except TimeoutError:
            pass
        try:
            memory.release()
            raise AssertionError("the daemon has the memory")
        except BufferError:
            pass
        connection.close()
        print("waiting for the daemon's end", flush=True)
        try:
            async with asyncio.timeout(LIMIT_S):
                await waiting
        except sluice.NoDaemon as problem:
            assert problem.errno == errno.ENOTCONN
            return
        raise AssertionError("a dead daemon has accepted a connection")


async def client(host: str, count: int) -> None:
    loop = asyncio.get_running_loop()
    true = loop.getaddrinfo

    async def getaddrinfo(name: str, *args: Any, **kwargs: Any) -> Any:
        assert name == NAME, f"{name} was looked up"
        return [(socket.AF_INET, socket.SOCK_DGRAM, 17, "", ("203.0.113.1", 0)), *await true(host, *args, **kwargs)]

    loop.getaddrinfo = getaddrinfo  # type: ignore[assignment]
    async with sluice.aio.Session() as session:
        memory = session.alloc(2 * count * LENGTH)
        views = [memory[i * LENGTH:(i + 1) * LENGTH] for i in range(2 * count)]
        async with asyncio.timeout(LIMIT_S):
            right = await asyncio.gather(*(one(session, host if i % 2 else f"{NAME}:7000", i, (views[2 * i], views[2 * i + 1]))
                                           for i in range(count)))
        assert right == [REQUESTS] * count, right
        print(f"{count} connections", flush=True)
        del views
        await dead_daemon(session, memory)


if __name__ == "__main__":
    count = int(sys.argv[2])
    asyncio.run(serve(count) if sys.argv[1] == "server" else client(sys.argv[1], count))
