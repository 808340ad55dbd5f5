# SPDX-License-Identifier: BSD-3-Clause
"""Cases of copies_test.py: strangers, other versions, and ends that are killed."""
import glob
import json
import os
import signal
import subprocess
import time

from .. import files_raw as raw
from .cases import HOST, cp, gone, home, noted, notes, receiver_service
from ..files_cases import (MIB, OK, PEER, SLUICE, SOCK_A, SOCK_B, TRANSFER, Run, attacker, case, make, parts, same_file,
                          wait_for)

SOON_S = 10


@case("an end with another token is a stranger: nothing is copied")
def wrong_token(folder: str) -> None:
    path, back = make(folder, "f", b"secret"), os.path.join(folder, "back")
    os.mkdir(back)
    run = cp(folder, path, "me@far:", fault="token")
    assert run.wait() == TRANSFER, run.err
    assert f"{HOST}: 10.90.0.1" in run.err and "not the other end of this copy" in run.err, run.err
    wait_for("the far end ends", lambda: gone(int(noted(folder, "far-pid"))))
    run = cp(folder, "me@far:" + path, back, fault="token")
    assert run.wait() == TRANSFER, run.err
    assert "sluice: 10.90.0.2" in run.err and "not the other end of this copy" in run.err, run.err
    assert os.listdir(back) == [] and os.listdir(home(folder)) == [], os.listdir(folder)


@case("strangers that come first are refused, and the copy goes on")
def strangers(folder: str) -> None:
    make(home(folder), "f", b"the right one")
    offer = raw.record(raw.OFFER, 1, b"f", mode=0o644, size=4) + raw.record(raw.DATA, 1, b"evil")
    token = raw.record(9, tail=bytes(16) + bytes(8))
    run = cp(folder, "me@far:f", folder, fault="late")
    wait_for("a receiver", lambda: receiver_service(SOCK_A))
    noted(folder, "token")  # it waits for a sender now
    service = receiver_service(SOCK_A)
    for request in (offer, token + offer, b"garbage", token[:63], raw.record(raw.END_ALL), *[token] * 5):
        enemy = attacker(SOCK_B)
        enemy.connect(f"{os.environ['SLUICE_ADDR_A']}:{service}")
        enemy.send(request)
        enemy.wait(raw.OP_RECV, 5)
        assert enemy.answers == b"", enemy.answers
        enemy.close()
    make(notes(folder), "go", b"")
    run.expect(OK, lines=8)  # and not one for each of any number of strangers
    assert run.err.count("not the other end of this copy") == 8, run.err
    assert run.err.endswith("no others are named\n"), run.err
    with open(os.path.join(folder, "f"), "rb") as f:
        assert f.read() == b"the right one"


@case("another version, and a shell that talks")
def versions(folder: str) -> None:
    path = make(folder, "f", b"x")
    for source, target in ((path, "me@far:"), ("me@far:" + path, folder + "/g")):
        cp(folder, source, target, fault="version-far").expect(PEER, f"{HOST}: ", "version 7", "same version")
        cp(folder, source, target, fault="version-near").expect(TRANSFER, f"{HOST}: ", "version 7", "same version")
        cp(folder, source, target, fault="chatter").expect(PEER, f"{HOST}: ", "\"Welcome to this host!\"",
                                                            "startup files")
        cp(folder, source, target, fault="garbage").expect(PEER, f"{HOST}: ", "invalid message", "same version")
        wait_for("the far end ends", lambda: gone(int(noted(folder, "far-pid"))))
    assert sorted(os.listdir(folder)) == ["f", "home", "rsh-log"] and os.listdir(home(folder)) == []


def _far_end(*data: bytes) -> "subprocess.CompletedProcess[bytes]":
    """Has a far end hear this; its standard input then ends."""
    return subprocess.run([SLUICE, "cp", "--server", "--socket", SOCK_B], input=b"".join(data), capture_output=True,
                          timeout=30, check=False)


def _message(kind: int, data: bytes = b"") -> bytes:
    return b"SLCP\3" + bytes([kind]) + len(data).to_bytes(2, "big") + data


@case("a near end that breaks the protocol of messages")
def hostile_near(_folder: str) -> None:
    start = bytes(16) + (0).to_bytes(4, "big") + (8).to_bytes(4, "big") + bytes(16)
    pull = bytes(16) + (1).to_bytes(4, "big") + (8).to_bytes(4, "big") + bytes(8) + b"\x1b\x58" + bytes(6)
    sync, sync_pull = (x[:16] + (512 + n).to_bytes(4, "big") + x[20:] for x, n in ((start, 0), (pull, 1)))
    address = bytes(10) + b"\xff\xff\x0a\x5a\x00\x01\x78"
    bad: dict[str, list[bytes]] = {
        "garbage": [b"GET / HTTP/1.0\r\n\r\n"],
        "no START": [_message(3, b".")],
        "two STARTs": [_message(2, start), _message(2, start)],
        "a bad flag": [_message(2, start[:16] + b"\1" + start[17:])],
        "no path": [_message(2, start), _message(5)],
        "two targets": [_message(2, start), _message(3, b"."), _message(3, b"."), _message(5)],
        "no address": [_message(2, pull), _message(3, b"."), _message(5)],
        "a bad address": [_message(2, pull), _message(4, address[:16] + b"\x5f")],
        "a zero byte": [_message(2, start), _message(3, b"a\0b")],
        "a far end's message": [_message(2, start), _message(9, b"\0")],
        "too long": [_message(2, start), b"SLCP\3\3\xff\xff"],
        "a rule without a sync": [_message(2, start), _message(11, b"- x")],
        "no rule": [_message(2, sync), _message(11, b"xyz")],
        "a list without a sync": [_message(2, start), _message(12, b"f")],
        "a list for a receiver that deletes": [_message(2, sync[:18] + b"\x12" + sync[19:]), _message(12, b"f")],
        "a list with .. in it": [_message(2, sync_pull), _message(12, b"a/../../f")],
        "names for a sender": [_message(2, pull), _message(13, b"f")],
        "an origin for a sender": [_message(2, pull), _message(14, b"f")],
        "a limit for a receiver": [_message(2, start), _message(15, b"1Mbit")],
        "no limit": [_message(2, pull), _message(15, b"slowly")],
        "a report of a receiver": [_message(2, start[:16] + (16384).to_bytes(4, "big") + start[20:])],
        "what a far end reports": [_message(2, pull), _message(17, bytes(9))],
        "a dry run of a copy": [_message(2, start[:16] + (1024).to_bytes(4, "big") + start[20:])],
    }
    for what, messages in bad.items():
        done = _far_end(*messages)
        assert done.returncode == TRANSFER, (what, done)
        assert b"invalid message from the other host" in done.stdout, (what, done)
        assert done.stdout.endswith(_message(9, bytes([TRANSFER]))), (what, done)
    done = _far_end()
    assert done.returncode == 128 + signal.SIGHUP and done.stdout.startswith(b"SLCP\3\1"), done
    done = _far_end(_message(2, start), _message(3, b"."))
    assert done.returncode == 128 + signal.SIGHUP, done


# ---- ends that are killed -----------------------------------------------------------------------


def _under_way(folder: str, pull: bool) -> tuple[Run, int, str]:
    """Begins a copy of a pipe that stays open; returns it, the pipe, and the folder that gets the file."""
    target = os.path.join(folder, "in") if pull else home(folder)
    os.makedirs(target, exist_ok=True)
    for name in glob.glob(os.path.join(folder, "rsh-log", "*")):
        os.remove(name)
    if pull:
        pipe = os.path.join(folder, "pipe")
        if not os.path.exists(pipe):
            os.mkfifo(pipe)
        run = cp(folder, "me@far:" + pipe, target)
        writer = os.open(pipe, os.O_RDWR)  # which waits for nobody
    else:
        reader, writer = os.pipe()
        run = cp(folder, "-", "me@far:", stdin=reader)
        os.close(reader)
    os.write(writer, b"x" * 60000)
    wait_for("a part", lambda: parts(target))
    return run, writer, target


def _remove_parts(target: str) -> None:
    """Removes what a killed receiver leaves."""
    for name in parts(target):
        os.remove(os.path.join(target, name))


def _ended(folder: str, run: Run, pipe: int, target: str) -> None:
    """Both ends must have ended, or end soon, and leave nothing."""
    pids = [int(noted(folder, name)) for name in ("far-pid", "rsh-pid")]
    wait_for("the end of the far end", lambda: all(gone(pid) for pid in pids), SOON_S)
    wait_for("no part", lambda: os.listdir(target) == [], SOON_S)
    assert run.process.poll() is not None
    os.close(pipe)


@case("kill -9 of the remote shell ends both ends")
def shell_killed(folder: str) -> None:
    for pull in (False, True):
        run, pipe, target = _under_way(folder, pull)
        began = time.monotonic()
        os.kill(int(noted(folder, "rsh-pid")), signal.SIGKILL)
        run.expect(TRANSFER, HOST, timeout_s=SOON_S)
        assert time.monotonic() - began < SOON_S
        _ended(folder, run, pipe, target)


@case("kill -9 of the far end ends the near end")
def far_killed(folder: str) -> None:
    for pull in (False, True):
        run, pipe, target = _under_way(folder, pull)
        os.kill(int(noted(folder, "far-pid")), signal.SIGKILL)
        assert run.wait(SOON_S) == TRANSFER, run.err
        assert len(run.errors) == 1, run.err
        if not pull:  # else the receiver is alive, and leaves nothing
            _remove_parts(target)
        _ended(folder, run, pipe, target)


@case("kill -9 of the near end ends the far end")
def near_killed(folder: str) -> None:
    for pull in (False, True):
        run, pipe, target = _under_way(folder, pull)
        run.signal(signal.SIGKILL)
        run.wait()
        if pull:
            _remove_parts(target)
        _ended(folder, run, pipe, target)


def _killed_at_a_pipe(folder: str, source: str, target: str) -> None:
    for name in glob.glob(os.path.join(folder, "rsh-log", "*")):
        os.remove(name)
    run = cp(folder, source, target)
    noted(folder, "token")
    time.sleep(0.5)  # the far end comes as far as the pipe
    far = int(noted(folder, "far-pid"))
    assert not gone(far), run.err
    run.signal(signal.SIGKILL)
    run.wait()
    try:
        wait_for("the end of the far end", lambda: gone(far), SOON_S)
    finally:
        if not gone(far):
            os.kill(far, signal.SIGKILL)


@case("kill -9 of the near end ends a far end that waits at a pipe")
def near_killed_at_a_pipe(folder: str) -> None:
    pipe, path = os.path.join(home(folder), "pipe"), make(folder, "f", bytes(9 * MIB))
    os.mkfifo(pipe)
    _killed_at_a_pipe(folder, "far:pipe", os.path.join(folder, "back"))  # nobody else opens it
    _killed_at_a_pipe(folder, path, "far:pipe")
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)  # it never reads
    _killed_at_a_pipe(folder, path, "far:pipe")
    os.close(reader)


@case("SIGINT and SIGTERM remove parts at both ends")
def interrupted(folder: str) -> None:
    for pull in (False, True):
        for number in (signal.SIGINT, signal.SIGTERM):
            run, pipe, target = _under_way(folder, pull)
            run.signal(number)
            assert run.wait(SOON_S) == 128 + number and run.err == "", run.err
            _ended(folder, run, pipe, target)
        run, pipe, target = _under_way(folder, pull)
        os.kill(int(noted(folder, "far-pid")), signal.SIGTERM)
        assert run.wait(SOON_S) == TRANSFER and HOST in run.err, run.err
        _ended(folder, run, pipe, target)


@case("the token is on no command line, in no environment and in no output")
def token_is_secret(folder: str) -> None:
    for pull in (False, True):
        run, pipe, target = _under_way(folder, pull)
        token = noted(folder, "token")
        assert len(token) == 32 and token != "0" * 32, token
        for pid in (run.process.pid, int(noted(folder, "rsh-pid")), int(noted(folder, "far-pid"))):
            for what in ("cmdline", "environ"):
                with open(f"/proc/{pid}/{what}", "rb") as f:
                    text = f.read()
                assert bytes.fromhex(token) not in text and token.encode() not in text.lower(), (pid, what)
        run.signal(signal.SIGTERM)
        run.wait(SOON_S)
        assert token not in run.err + run.out
        _ended(folder, run, pipe, target)


@case("the daemon there goes on after all of this")
def still_there(folder: str) -> None:
    path = make(folder, "f", b"the end")
    cp(folder, path, "far:").expect(OK)
    assert same_file(path, os.path.join(home(folder), "f"))
