# SPDX-License-Identifier: BSD-3-Clause
"""Cases of files_test.py: perf and show."""
import json
import os
import threading
import time

from .files_cases import (ADDR_B, INTERRUPT, LOCAL, MIB, OK, SOCK_A, SOCK_B, Run, case, feeding, make, port, recv,
                          send)


@case("show: tables and JSON")
def shows(_folder: str) -> None:
    for what in ("conns", "ports", "workers", "capacity"):
        run = Run("show", what, sock=SOCK_A)
        run.expect(OK)
        assert run.out.splitlines()[0].split(), run.out
        run = Run("show", what, "--json", sock=SOCK_A)
        run.expect(OK)
        assert isinstance(json.loads(run.out)[what], list), run.out
    with open("/dev/full", "wb") as full:
        Run("show", "ports", sock=SOCK_A, stdout=full).expect(LOCAL, "No space left")


@case("perf: both directions, every byte looked at, both sides' figures")
def perf(_folder: str) -> None:
    number = port()
    server = Run("perf", "server", "--json", "-v", "-p", number, sock=SOCK_B)
    server.ready()
    for options in (("-n", "40M", "-P", "3", "--bidir"), ("-n", "20M", "--reverse"),
                    ("-n", "1", "-l", "1"), ("-t", "300ms", "-l", "100000", "--go-back-N"),
                    ("-n", "10M", "-l", "64K", "--sync")):
        client = Run("perf", "client", "--check", "--json", *options, f"{ADDR_B}:{number}",
                     sock=SOCK_A)
        client.expect(OK)
        figures = json.loads(client.out)
        sent, received = figures["tx"]["bytes"], figures["peer_rx"]["bytes"]
        assert sent == received, figures
        assert figures["rx"]["bytes"] == figures["peer_tx"]["bytes"], figures
        assert figures["wrong_bytes"] == 0 and figures["peer_rx"]["wrong_bytes"] == 0
        if options[0] == "-n" and options[1] != "1":
            directions = 2 if "--bidir" in options else 1
            assert figures["bytes"] == directions * int(options[1][:-1]) * MIB, figures
    server.signal(INTERRUPT)
    server.expect(OK)
    results = [json.loads(x) for x in server.out.splitlines()]
    assert len(results) == 5 and all(r["exit"] == 0 for r in results), server.out


def limited_most(run: Run) -> str:
    """What limited the transfer longest, by the JSON of one of its ends."""
    seconds = json.loads(run.out)["limited_seconds"]
    return max(seconds, key=lambda name: seconds[name])


def drain(reader: int, rate_Bps: float) -> None:
    """Reads the pipe to its end, at this rate."""
    with os.fdopen(reader, "rb") as f:
        while data := f.read(MIB):
            time.sleep(len(data) / rate_Bps)


@case("what limits a transfer is told at both ends: standard input, standard output, the grant")
def limits(folder: str) -> None:
    receiver, host = recv(folder, "--json")
    sender, pipe = feeding("--json", "-v", "--name", "slow", "-", host)
    for _ in range(10):
        os.write(pipe, bytes(60000))
        time.sleep(0.2)
    os.close(pipe)
    sender.expect(OK, "by the program that writes to standard input")
    receiver.expect(OK, "by the sender")
    assert (limited_most(sender), limited_most(receiver)) == ("input", "peer"), sender.out + receiver.out

    path = make(folder, "file", bytes(120 * MIB))
    reader, writer = os.pipe()
    with os.fdopen(writer, "wb") as f:
        receiver, host = recv("-", stdout=f)
    drains = threading.Thread(target=drain, args=(reader, 40 * MIB))
    drains.start()
    sender = send("--json", "-v", path, host)
    sender.expect(OK, "by the receiver")
    receiver.expect(OK, "by the program that reads standard output")
    drains.join()
    assert limited_most(sender) == "peer", sender.out

    path = make(folder, "small", bytes(15 * MIB))
    Run("exec", "set capacity 50Mbit", sock=SOCK_B).expect(OK)
    try:
        receiver, host = recv(folder, "--json", "--overwrite")
        sender = send("--json", "-v", path, host)
        sender.expect(OK, "by the grant (")
        receiver.expect(OK, "by the grant (")
        assert (limited_most(sender), limited_most(receiver)) == ("grant", "grant"), sender.out + receiver.out
    finally:
        Run("exec", "set capacity none", sock=SOCK_B).expect(OK)
