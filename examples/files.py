#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Moves files between two hosts. The other side may be `sluice recv` or `sluice send` as well.

Usage: files.py receive FOLDER SENDERS   waits for so many senders, and says what each has sent
       files.py send HOST PATH...        sends files, and folders with all that they hold

The receiver may run under any daemon that the sender's daemon reaches. Each program uses the daemon of $SLUICE_SOCKET.
"""
import asyncio
import sys

import sluice.aio


async def receive(folder: str, senders: int) -> None:
    async with sluice.aio.FileReceiver(folder, count=senders) as receiver:
        async for transfer in receiver:
            print(f"{transfer.peer}: {transfer.files} files, {transfer.bytes} bytes, hash {transfer.hash}", flush=True)


def send(host: str, paths: list[str]) -> None:
    try:
        transfer = sluice.send_files(host, *paths, recursive=True)
    except sluice.PeerFile as problem:  # it is there already, for example; the others have arrived
        sys.exit("\n".join(problem.errors))
    print(f"{transfer.files} files, {transfer.bytes} bytes, hash {transfer.hash}")


if __name__ == "__main__":
    if len(sys.argv) == 4 and sys.argv[1] == "receive" and sys.argv[3].isdigit():
        asyncio.run(receive(sys.argv[2], int(sys.argv[3])))
    elif len(sys.argv) >= 4 and sys.argv[1] == "send":
        send(sys.argv[2], sys.argv[3:])
    else:
        sys.exit(__doc__)
