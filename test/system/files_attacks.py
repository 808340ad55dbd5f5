# SPDX-License-Identifier: BSD-3-Clause
"""Cases of files_test.py: peers that break the protocol."""
import os

from . import files_raw as raw
from .files_cases import (ADDR_B, LOCAL, REMOTE, SOCK_A, SOCK_B, TRANSFER, Run, attacker, case, make, port, recv,
                          send)


EMPTY_HASH = bytes.fromhex("99aa06d3014798d86001c324468d497f") + bytes(8)


def attack(folder: str, requests: list[bytes]) -> tuple[Run, raw.Raw]:
    """Sends raw requests to a receiver in folder/in, then ends the stream; returns the receiver and the sender."""
    target = os.path.join(folder, "in")
    os.makedirs(target, exist_ok=True)
    enemy = attacker(SOCK_A)
    receiver, host = recv(target)
    enemy.connect(host)
    for request in requests:
        enemy.send(request)
    enemy.shutdown()
    enemy.wait(raw.OP_RECV)
    return receiver, enemy


@case("hostile names write nothing outside, and are refused one by one")
def hostile_names(folder: str) -> None:
    target = os.path.join(folder, "in")
    outside = os.path.join(folder, "outside")
    os.mkdir(outside)
    os.mkdir(target)
    os.symlink(outside, os.path.join(target, "link"))
    os.symlink(os.path.join(outside, "victim"), os.path.join(target, "file-link"))
    names = [b"../evil", b"..", b".", b"/" + outside.encode()[1:] + b"/evil", b"a/../../evil",
             b"link/evil", b"a//b", b"a/", b"./a", b"x\0y", b"n" * 256]
    requests: list[bytes] = []
    number = 0
    for name in names:
        for kind in (raw.OFFER, raw.DIR):
            number += 1
            requests.append(raw.record(kind, number, name, mode=0o777))
            if kind == raw.OFFER:
                requests.append(raw.record(raw.DATA, number, b"evil") +
                                raw.record(raw.END_FILE, number, size=4, tail=EMPTY_HASH))
    number += 1
    requests += [raw.record(raw.OFFER, number, b"file-link", mode=0o644),
                 raw.record(raw.END_FILE, number, tail=EMPTY_HASH),
                 raw.record(raw.END_ALL, size=number)]
    receiver, enemy = attack(folder, requests)
    assert receiver.wait() in (TRANSFER, LOCAL), receiver.err
    enemy.close()
    assert os.listdir(outside) == [], os.listdir(outside)
    assert sorted(os.listdir(folder)) == ["in", "outside"], os.listdir(folder)
    assert sorted(os.listdir(target)) == ["file-link", "link"], os.listdir(target)
    assert os.path.islink(os.path.join(target, "file-link"))
    assert len(receiver.errors) == number, receiver.err


@case("broken records end the sender's connection, and only it")
def broken_records(folder: str) -> None:
    offer = raw.record(raw.OFFER, 1, b"f", size=4)
    bad: dict[str, list[bytes]] = {
        "garbage": [b"G" * 1000],
        "nothing": [b""],
        "short header": [offer[:63]],
        "longer than its request": [raw.record(raw.OFFER, 1, b"f" * 500)[:65]],
        "too long a name": [raw.record(raw.OFFER, 1, b"n" * 4096)],
        "data before a file": [raw.record(raw.DATA, 1, b"x")],
        "wrong place": [offer, raw.record(raw.DATA, 1, b"x", offset=1)],
        "far away": [offer, raw.record(raw.DATA, 1, b"x", offset=(1 << 63) - 1)],
        "endless hole": [offer, raw.record(raw.HOLE, 1, size=1 << 62)],
        "two files at once": [offer, raw.record(raw.OFFER, 2, b"g")],
        "a result": [raw.record(raw.RESULT, 1)],
        "too few files": [raw.record(raw.END_ALL, size=1)],
        "after the end": [raw.record(raw.END_ALL) + offer],
        "perf's control record": [struct_perf()],
        "no END_ALL": [],
        "end in the middle": [offer, raw.record(raw.DATA, 1, b"xxxx")],
    }
    for what, requests in bad.items():
        receiver, enemy = attack(folder, requests)
        status = receiver.wait()
        assert status == TRANSFER, f"{what}: exit {status}\n{receiver.err}"
        assert len(receiver.errors) == 1, f"{what}: {receiver.err}"
        enemy.close()
        left = os.listdir(os.path.join(folder, "in"))
        assert left == [], f"{what}: {left}"


def struct_perf() -> bytes:
    return b"SLUP\1\1\0\0" + bytes(184)


@case("wrong size and wrong hash leave nothing")
def wrong_hash(folder: str) -> None:
    for end in (raw.record(raw.END_FILE, 1, size=4, tail=EMPTY_HASH),
                raw.record(raw.END_FILE, 1, size=3, tail=EMPTY_HASH)):
        receiver, enemy = attack(folder, [raw.record(raw.OFFER, 1, b"f", size=4),
                                          raw.record(raw.DATA, 1, b"xxxx") + end,
                                          raw.record(raw.END_ALL, size=1)])
        receiver.expect(TRANSFER, "f: ")
        assert len(enemy.answers) > 64 and enemy.answers[5] == raw.RESULT
        assert enemy.answers[15] == 6, enemy.answers
        enemy.close()
        assert not os.listdir(os.path.join(folder, "in"))


@case("a receiver that answers nonsense, or too little")
def hostile_receiver(folder: str) -> None:
    path = make(folder, "f", b"content")
    for answer in (b"G" * 100, raw.record(raw.RESULT, 2), raw.record(raw.RESULT, 1, mode=99),
                   raw.record(raw.OFFER, 1, b"f"), b"", None):
        number = port()
        enemy = attacker(SOCK_B)
        enemy.accept(number)
        sender = send(path, f"{ADDR_B}:{number}")
        assert enemy.wait(raw.OP_RECV) == 0
        if answer is not None:
            enemy.send(answer)
        enemy.shutdown()
        sender.expect(TRANSFER, ADDR_B)
        enemy.close()
    number = port()
    enemy = attacker(SOCK_B)
    enemy.accept(number)
    sender = send(path, f"{ADDR_B}:{number}")
    enemy.wait(raw.OP_RECV)
    enemy.send(raw.record(raw.RESULT, 1, b"\x1b[2J\nsluice: all is well", mode=4))
    enemy.shutdown()
    sender.expect(REMOTE)
    assert "\x1b" not in sender.err
    enemy.close()
