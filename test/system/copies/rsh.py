#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""rsh.py HOST WORD...: a remote shell for tests, which runs the words here, for the daemon of another socket.

As ssh does, it joins the words with blanks, has a shell read them, relays standard input and output, and ends with
the status of the command. The command ends if this process is killed. Environment:

RSH_SOCKET  socket of the far daemon
RSH_HOME    home directory of the far end
RSH_LOG     folder for "argv", "far-pid", "rsh-pid" and "token" (as hexadecimal digits)
RSH_FAULT   what goes wrong: "login" (status 255), "chatter" (the shell prints something first), "version-far",
            "version-near" (that end has another version), "token" (the far end gets another token), "garbage" (after
            the far end's HELLO), "address" (the ports of the receiver are in networks that the sender has not),
            "late" (the far end hears nothing until RSH_LOG has a file "go"), "other" (the far end hears of the path
            "another" instead of "asked-f")
RSH_HOSTS   of several hosts: JSON, {HOST: {name of one of these: value}}; what a host has not holds for all
"""
import json
import os
import subprocess
import sys
import threading
import time

HEADER, TOKEN = 8, 16
os.environ.update(json.loads(os.environ.get("RSH_HOSTS", "{}")).get("".join(sys.argv[1:2]), {}))
FAULT = os.environ.get("RSH_FAULT", "")


def log(name: str, text: str) -> None:
    folder = os.environ.get("RSH_LOG")
    if folder:
        new = os.path.join(folder, f"{name}.{os.getpid()}")
        with open(new, "w", encoding="utf-8") as f:
            f.write(text)
        os.rename(new, os.path.join(folder, name))


def relay(source: int, target: int, change: bytes = b"") -> None:
    """Copies until the end. change: what replaces the first bytes, or b"" for none."""
    while data := os.read(source, 1 << 16):
        if FAULT == "address":
            data = data.replace(b"\x0a\x5a\0", b"\x0a\x5b\0").replace(b"\xfd\x90\0", b"\xfd\x91\0")
        if FAULT == "other":
            data = data.replace(b"asked-f", b"another")
        data, change = change + data[len(change):], b""
        try:
            while data:
                data = data[os.write(target, data):]
        except BrokenPipeError:
            break
    os.close(target)


def to_far(target: int) -> None:
    start = b""
    while len(start) < HEADER + TOKEN and (more := os.read(0, HEADER + TOKEN - len(start))):
        start += more
    if len(start) == HEADER + TOKEN:
        log("token", start[HEADER:].hex())
    if FAULT == "token":
        start = start[:HEADER] + bytes(x ^ 1 for x in start[HEADER:])
    if FAULT == "version-near":
        start = start[:4] + b"\7" + start[5:]
    while FAULT == "late" and not os.path.exists(os.path.join(os.environ["RSH_LOG"], "go")):
        time.sleep(0.05)
    try:
        os.write(target, start)
    except BrokenPipeError:
        return
    relay(0, target)


def main() -> int:
    log("argv", "\0".join(sys.argv))
    log("rsh-pid", str(os.getpid()))
    if FAULT == "login":
        print("ssh: connect to host: Connection refused", file=sys.stderr)
        return 255
    if FAULT == "chatter":
        os.write(1, b"Welcome to this host!\n")
    env = {**os.environ, "SLUICE_SOCKET": os.environ["RSH_SOCKET"], "HOME": os.environ["RSH_HOME"]}
    command = subprocess.Popen(["sh", "-c", "exec " + " ".join(sys.argv[2:])], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, env=env, cwd=env["HOME"])
    assert command.stdin is not None and command.stdout is not None
    log("far-pid", str(command.pid))
    threading.Thread(target=to_far, args=(os.dup(command.stdin.fileno()),), daemon=True).start()
    command.stdin.close()
    hello = os.read(command.stdout.fileno(), 1 << 16)
    if FAULT == "version-far":
        hello = hello[:4] + b"\7" + hello[5:]
    try:
        os.write(1, hello + (b"garbage!" if FAULT == "garbage" else b""))
        relay(command.stdout.fileno(), 1)
    except BrokenPipeError:
        pass
    status = command.wait()
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    sys.exit(main())
