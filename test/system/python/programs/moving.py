# SPDX-License-Identifier: BSD-3-Clause
"""Moves files between two daemons by the package, and with the program on one side. Then does what must fail.

Usage: moving.py HOST PROGRAM SOCKET_A SOCKET_B FOLDER SEED   HOST: the address of B
"""
import asyncio
import contextlib
import glob
import os
import random
import subprocess
import sys
from collections.abc import Callable

import sluice
import sluice.aio

HOST, PROGRAM, SOCKET_A, SOCKET_B, FOLDER, SEED = sys.argv[1:]
A, B = (sluice.Command(PROGRAM, socket) for socket in (SOCKET_A, SOCKET_B))
NOBODY = f"{HOST}:7077"


def check(holds: object, what: str) -> None:
    if not holds:
        sys.exit(f"{what}")


def folder(name: str) -> str:
    path = os.path.join(FOLDER, name)
    os.makedirs(path, exist_ok=True)
    return path


def made(name: str, length: int) -> str:
    """A file of random bytes, in the folder of the sender."""
    path = os.path.join(folder("from"), name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(random.randbytes(length))
    return path


def same(one: str, other: str) -> bool:
    with open(one, "rb") as f, open(other, "rb") as g:
        return f.read() == g.read()


def children() -> list[str]:
    found: list[str] = []
    for path in glob.glob("/proc/self/task/*/children"):
        with contextlib.suppress(FileNotFoundError):  # a thread has ended
            with open(path, encoding="ascii") as f:
                found += f.read().split()
    return found


def raises(kind: type[BaseException], function: Callable[[], object], words: str) -> None:
    try:
        function()
    except sluice.SluiceError as problem:
        check(type(problem) is kind and words in str(problem), f"{kind.__name__} with {words!r} was due: {problem!r}")
        return
    sys.exit(f"{kind.__name__} was due: nothing was raised")


def moves() -> None:
    """The package on both sides: a file, a tree, what is there already, what a receiver refuses."""
    sizes = [0, 1, 3_000_001]
    paths = [made(f"tree/{size}", size) for size in sizes] + [made("-", 5), made("\u00fc\u65e5", 9)]
    with sluice.FileReceiver(folder("to"), 0, command=B) as receiver:
        host = f"{HOST}:{receiver.port}"
        for path in paths[2:]:
            sent = sluice.send_files(host, path, command=A)
            came = receiver.next(60)
            check(came is not None and (sent.status, sent.files, sent.bytes, sent.hash) ==
                  (came.status, 1, os.path.getsize(path), came.hash), f"{sent} was sent, and {came} came")
            check(same(path, os.path.join(FOLDER, "to", os.path.basename(path))), f"{path} arrived otherwise")
        sent = sluice.send_files(host, os.path.join(FOLDER, "from/tree"), recursive=True, command=A)
        check((sent.files, sent.bytes, receiver.next(60).status) == (3, sum(sizes), 0), f"of the tree: {sent}")  # type: ignore[union-attr]
        sent = sluice.send_files(host, os.path.join(FOLDER, "from/tree"), recursive=True, resume=True, command=A)
        check((sent.files, sent.there_files) == (0, 3), f"sent again: {sent}")
        receiver.next(60)
        try:
            sluice.send_files(host, *paths[2:4], command=A)
            sys.exit("files are replaced")
        except sluice.PeerFile as problem:
            check(len(problem.errors) >= 2 and problem.transfers[0].failed == 2, f"{problem.errors} {problem.transfers}")
        check((refused := receiver.next(60)) is not None and refused.status == 5, f"the receiver says {refused}")
    raises(sluice.Closed, receiver.next, "closed")
    with sluice.FileReceiver(folder("to"), 0, count=2, overwrite=True, max_size=100, command=B) as receiver:
        host = f"{HOST}:{receiver.port}"
        sluice.send_files(host, *paths[3:], command=A)
        raises(sluice.PeerFile, lambda: sluice.send_files(host, paths[2], command=A), "3000001")
        try:
            found = [transfer.status for transfer in receiver]
            sys.exit(f"a refused file is no error: {found}")
        except sluice.LocalFile as problem:
            check([t.status for t in problem.transfers] == [0, 5], f"{problem.transfers}")


def programs() -> None:
    """The program on one side."""
    path = made("one", 200_000)
    with sluice.FileReceiver(folder("from program"), 7003, count=1, command=B) as receiver:
        subprocess.run([PROGRAM, "send", "--socket", SOCKET_A, path, f"{HOST}:7003"], check=True, timeout=60)
        check([t.bytes for t in receiver] == [200_000], "what the program has sent")
    with subprocess.Popen([PROGRAM, "recv", "--once", "--port", "7004", "-o", folder("to program"), "--socket", SOCKET_B]) as waiting:
        sluice.send_files(f"{HOST}:7004", path, wait=30, command=A)
        check(waiting.wait(60) == 0, "the receiving program")
    for name in ("from program", "to program"):
        check(same(path, os.path.join(FOLDER, name, "one")), f"{name}: other bytes")


def failures() -> None:
    path = made("small", 10)
    raises(sluice.NoReceiver, lambda: sluice.send_files(NOBODY, path, command=A), "start the receiver first")
    raises(sluice.LocalFile, lambda: sluice.send_files(NOBODY, "/nonexistent", command=A), "/nonexistent")
    raises(sluice.NoDaemon, lambda: sluice.send_files(NOBODY, path, command=sluice.Command(PROGRAM, "/nonexistent")), "no daemon")
    raises(sluice.NoProgram, lambda: sluice.send_files(NOBODY, path, command=sluice.Command("/nonexistent")), "install the package")
    raises(sluice.SluiceError, lambda: sluice.send_files(NOBODY, command=A), "no file to send")
    raises(sluice.SluiceError, lambda: sluice.send_files(NOBODY, path, command=sluice.Command(PROGRAM, SOCKET_A, ("--nonsense",))),
           "--nonsense")
    raises(sluice.WaitTimeout, lambda: sluice.send_files(NOBODY, path, wait=60, timeout=0.3, command=A), "not ended")
    raises(sluice.LocalFile, lambda: sluice.recv_files("/nonexistent", command=B), "is no folder")
    raises(sluice.WaitTimeout, lambda: sluice.recv_files(folder("none"), 7005, timeout=0.3, command=B), "not ended")
    with sluice.FileReceiver(folder("none"), 7005, command=B) as receiver:
        raises(sluice.OutOfResources, lambda: sluice.FileReceiver(folder("none"), 7005, command=B), "7005")
        raises(sluice.WaitTimeout, lambda: receiver.next(0.2), "not ended")
    check(not children(), f"processes are left: {children()}")


async def at_once() -> None:
    """asyncio: several senders at once; what is cancelled ends its program."""
    paths = [made(f"many{i}", 100_000 + i) for i in range(5)]
    async with sluice.aio.FileReceiver(folder("many"), 0, count=5, command=B) as receiver:
        async with asyncio.TaskGroup() as tasks:
            for path in paths:
                tasks.create_task(sluice.aio.send_files(f"{HOST}:{receiver.port}", path, command=A))
            lengths = sorted([transfer.bytes async for transfer in receiver])
    check(lengths == [100_000 + i for i in range(5)], f"lengths {lengths}")
    for task in (sluice.aio.send_files(NOBODY, paths[0], wait=60, command=A), sluice.aio.recv_files(folder("many"), 7006, command=B)):
        try:
            async with asyncio.timeout(0.3):
                await task
            sys.exit("it has ended by itself")
        except TimeoutError:
            check(not children(), f"processes are left: {children()}")
    try:
        await sluice.aio.send_files(NOBODY, paths[0], command=A)
        sys.exit("a send to nobody")
    except sluice.NoReceiver:
        pass
    async with sluice.aio.FileReceiver(folder("many"), 7007, command=B):
        try:
            await sluice.aio.recv_files(folder("many"), 7007, command=B)
            sys.exit("two receivers at one port")
        except sluice.OutOfResources:
            pass


def main() -> None:
    random.seed(int(SEED))
    moves()
    programs()
    failures()
    asyncio.run(at_once())
    check(not children(), f"processes are left: {children()}")
    print("all moved")


if __name__ == "__main__":
    main()
