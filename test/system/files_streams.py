# SPDX-License-Identifier: BSD-3-Clause
"""Cases of files_test.py: a transfer that several connections share (--streams)."""
import json
import os
import random
import signal
import time

from . import files_raw as raw
from .files_cases import (ADDR_B, MIB, OK, SEED, SOCK_A, SOCK_B, TRANSFER, Run, attacker, case, conns, listing,
                          make, make_large, part_bytes, parts, port, recv, same_file, send, wait_for)

STREAMS, JOIN = 21, 22
TOKEN = bytes(range(16))


def numbered(number: int, kind: int, file: int = 0, data: bytes = b"", size: int = 0, mode: int = 0,
             hashed: bytes = bytes(16)) -> bytes:
    """A record that begins a request of this number."""
    return raw.record(kind, file, data, size=size, mode=mode, tail=hashed + number.to_bytes(8, "big"))


@case("streams: a large file crosses several connections, and both sides say how many")
def several(folder: str) -> None:
    path = make_large(folder, "large", 150)
    for wanted in (2, 5, 16):
        target = os.path.join(folder, f"in{wanted}")
        receiver, host = recv(target, "--json", "--bwlimit", "1Gbit")  # so slow that all can be opened
        sender = send("-P", wanted, "--json", path, host)
        sender.expect(OK)
        receiver.expect(OK)
        there, here = json.loads(receiver.out), json.loads(sender.out)
        assert here["streams"] == there["streams"] == wanted, (wanted, here, there)
        assert here["hash"] == there["hash"] and here["bytes"] == there["bytes"] == 150 * MIB, (here, there)
        assert here["packets"] >= 150 * MIB // here["unit_bytes"], here
        assert same_file(path, target)
    wait_for("no connection is left", lambda: not conns(SOCK_A) and not conns(SOCK_B))


@case("streams: a tree of files of all sizes, several senders at a time")
def trees(folder: str) -> None:
    rng = random.Random(SEED)
    here, target = os.path.join(folder, "tree"), os.path.join(folder, "in")
    os.mkdir(target)
    for i in range(400):
        size = rng.choice((0, 1, 1000, 70_000, 5 * MIB if i % 40 == 0 else 300_000))
        place = os.path.join(here, f"d{i % 3}", "s" * (i % 4 + 1))
        os.makedirs(place, exist_ok=True)
        make(place, f"f{i}", rng.randbytes(size))
    number = port()
    receiver = Run("recv", "-v", "-p", number, "-o", target, "--count", 3, sock=SOCK_B)
    receiver.ready()
    senders = [send("-r", "-P", n, os.path.join(here, d), f"{ADDR_B}:{number}")
               for n, d in ((4, "d0"), (3, "d1"), (1, "d2"))]
    for sender in senders:
        sender.expect(OK)
    receiver.expect(OK)
    for d in ("d0", "d1", "d2"):
        assert listing(os.path.join(here, d)) == listing(os.path.join(target, d)), d


@case("streams: a killed sender's part is completed, with as many connections or another number of them")
def resumed(folder: str) -> None:
    path = make_large(folder, "large", 200)
    target = os.path.join(folder, "in")
    os.mkdir(target)
    for wanted in (4, 2):
        before = part_bytes(target)
        receiver, host = recv(target, "--bwlimit", "1Gbit")
        sender = send("-P", wanted, "--resume", path, host)
        wait_for("some of it has come", lambda: part_bytes(target) > before + 20 * MIB)  # noqa: B023
        sender.signal(signal.SIGKILL)
        sender.wait()
        assert receiver.wait() == TRANSFER, receiver.err
    receiver, host = recv(target, "--json")
    send("-P", 3, "--resume", path, host).expect(OK)
    receiver.expect(OK)
    assert json.loads(receiver.out)["kept_bytes"] > 10 * MIB, receiver.out
    assert same_file(path, os.path.join(target, "large"))
    assert not parts(target), os.listdir(target)


@case("streams: a receiver that is stopped ends all of them")
def stopped(folder: str) -> None:
    path = make_large(folder, "large", 100)
    target = os.path.join(folder, "in")
    os.mkdir(target)
    receiver, host = recv(target, "--bwlimit", "200Mbit")
    sender = send("-P", 4, path, host)
    wait_for("all are there", lambda: len(conns(SOCK_B)) >= 4)
    receiver.signal(signal.SIGINT)
    receiver.wait()
    sender.expect(TRANSFER, "gave up")
    wait_for("no connection is left", lambda: not conns(SOCK_A) and not conns(SOCK_B))


@case("streams: --bwlimit holds for all of them together, at either end")
def limited(folder: str) -> None:
    path = make_large(folder, "large", 24)
    for at_sender in (True, False):
        target = os.path.join(folder, f"in{at_sender}")
        limit = ["--bwlimit", "200Mbit"]
        receiver, host = recv(target, "--json", *([] if at_sender else limit))
        sender = send("-P", 4, path, host, *(limit if at_sender else []))
        sender.expect(OK)
        receiver.expect(OK)
        rate = json.loads(receiver.out)["goodput_bps"]
        assert rate < 230e6, f"{rate / 1e6:.0f} Mb/s, limited at the {'sender' if at_sender else 'receiver'}"


class Enemy:
    """A sender that writes its own records, on any number of connections."""

    def __init__(self, target: str, folder: str) -> None:
        self.receiver, self.host = recv(target)
        self.all: list[raw.Raw] = []
        self.folder = folder
        self.add()

    def add(self) -> raw.Raw:
        enemy = attacker(SOCK_A)
        enemy.connect(self.host)
        self.all.append(enemy)
        return enemy

    def end(self, status: int, word: str = "") -> None:
        for enemy in self.all:
            enemy.shutdown()
        assert self.receiver.wait() == status, self.receiver.err
        assert word in self.receiver.err, self.receiver.err
        for enemy in self.all:
            enemy.close()


def answered(enemy: raw.Raw, len_bytes: int) -> None:
    """Waits until the receiver has answered so much."""
    def enough() -> bool:
        enemy.poll(10)
        return len(enemy.answers) >= len_bytes
    wait_for("answers", enough)


@case("streams: requests in a wrong order, or without their number, end the transfer")
def disorder(folder: str) -> None:
    target = os.path.join(folder, "in")
    os.mkdir(target)
    ask = numbered(1, STREAMS, size=2, hashed=TOKEN)
    offer = raw.record(raw.OFFER, 1, b"f", size=4)
    bad: dict[str, tuple[list[bytes], str]] = {
        "twice the same number": ([ask, numbered(1, raw.OFFER, 1, b"f", size=4)], "out of order"),
        "no number": ([ask, offer], "out of order"),
        "a first request with number 2": ([numbered(2, raw.OFFER, 1, b"f", size=4)], "out of order"),
        "a number, though nobody has asked": ([offer, numbered(2, raw.DATA, 1, b"xxxx")], "out of order"),
        "a number within a request": ([ask + numbered(2, raw.OFFER, 1, b"f", size=4)], "within a request"),
        "asked twice": ([ask, numbered(2, STREAMS, size=2, hashed=TOKEN)], "after the first record"),
        "asked without a number": ([raw.record(STREAMS, size=2, tail=TOKEN + bytes(8))], "without a number"),
        "a hundred connections": ([numbered(1, STREAMS, size=100, hashed=TOKEN)], "out of range"),
        "it joins itself": ([ask, raw.record(JOIN, size=2, tail=TOKEN + bytes(8))], "out of order"),
        "a number that never comes": ([ask, numbered(3, raw.OFFER, 1, b"f", size=4)], ""),
    }
    for what, (requests, word) in bad.items():
        enemy = Enemy(target, folder)
        for request in requests:
            enemy.all[0].send(request)
        try:
            enemy.end(TRANSFER, word)
        except AssertionError as e:
            raise AssertionError(f"{what}: {e}") from e
        assert not os.listdir(target), f"{what}: {os.listdir(target)}"


@case("streams: only a connection with the token joins, and it is read in turn")
def joining(folder: str) -> None:
    target = os.path.join(folder, "in")
    os.mkdir(target)
    enemy = Enemy(target, folder)
    first = enemy.all[0]
    first.send(numbered(1, STREAMS, size=2, hashed=TOKEN))
    answered(first, 64)
    assert first.answers[5] == STREAMS and first.answers[39] == 2, first.answers
    stranger = enemy.add()
    stranger.send(raw.record(JOIN, size=2, tail=bytes(24)))
    assert stranger.wait(raw.OP_RECV) not in (0, None), "the stranger was let in"
    second = enemy.add()
    second.send(raw.record(JOIN, size=2, tail=TOKEN + bytes(8)))
    second.send(numbered(3, raw.END_FILE, 1, hashed=bytes.fromhex("99aa06d3014798d86001c324468d497f")))
    time.sleep(0.2)
    assert len(first.answers) == 64, "request 3 was read before request 2"
    first.send(numbered(2, raw.OFFER, 1, b"f", mode=0o644))
    answered(first, 128)
    second.send(numbered(4, raw.END_ALL, size=1))
    enemy.end(OK)
    assert os.listdir(target) == ["f"], os.listdir(target)
