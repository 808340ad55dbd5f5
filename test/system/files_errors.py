# SPDX-License-Identifier: BSD-3-Clause
"""Cases of files_test.py: errors, and transfers that end too early."""
import os
import random
import re
import signal
import time

from .files_cases import (ADDR_B, DAEMON, INTERRUPT, LOCAL, MIB, OK, PEER, REMOTE, RESOURCE, SOCK_A,
                          SOCK_B, TRANSFER, USAGE, Run, case, feeding, make, parts, port, recv,
                          same_file, send, small_disk, wait_for, without_override)


@case("missing file: nothing is sent")
def missing(folder: str) -> None:
    there = make(folder, "there", b"x")
    send(there, os.path.join(folder, "missing"), f"{ADDR_B}:{port()}").expect(
        LOCAL, "missing", "No such file")


@case("a directory without -r")
def not_recursive(folder: str) -> None:
    send(folder, f"{ADDR_B}:{port()}").expect(LOCAL, "is a directory", "-r")


@case("an unreadable file, an unreadable directory in a tree: the rest arrives")
def unreadable(folder: str) -> None:
    prefix = without_override()
    root = os.path.join(folder, "tree")
    os.makedirs(os.path.join(root, "closed"))
    make(root, "good", b"good")
    make(os.path.join(root, "closed"), "inside", b"x")
    secret = make(root, "secret", b"x")
    os.chmod(secret, 0)
    os.chmod(os.path.join(root, "closed"), 0)
    target = os.path.join(folder, "in")
    os.mkdir(target)
    try:
        send(secret, f"{ADDR_B}:{port()}", prefix=prefix).expect(LOCAL, "secret",
                                                                 "Permission denied")
        receiver, host = recv(target)
        send("-r", root, host, prefix=prefix).expect(LOCAL, "closed", "secret", "Permission denied",
                                                     lines=2)
        receiver.expect(OK)
        assert os.listdir(os.path.join(target, "tree")) == ["good"]
    finally:
        os.chmod(os.path.join(root, "closed"), 0o700)


@case("a file that shrinks while it is sent")
def shrinks(folder: str) -> None:
    path = make(folder, "shrinks", bytes([1]) * (100 * MIB))
    reader, writer = os.pipe()
    receiver, host = recv("-", stdout=os.fdopen(writer, "wb"))
    receiver.out_file.close()
    sender = send("--buffers", "1", path, host)
    os.read(reader, 100)  # it is under way, and stops here because the pipe is full
    with open(path, "r+b") as f:
        f.truncate(50 * MIB)
    while os.read(reader, MIB):
        pass
    sender.expect(LOCAL, "shrank")
    assert receiver.wait() == TRANSFER, receiver.err
    os.close(reader)


@case("nobody receives, a port that nobody has, an unknown host")
def nobody(folder: str) -> None:
    path = make(folder, "f", b"x")
    send(path, f"{ADDR_B}:{port()}").expect(PEER, "nobody receives")
    send(path, "no-such-host.invalid").expect(PEER, "no-such-host.invalid")
    send(path, f"{ADDR_B}:70000").expect(USAGE, "70000")
    send(path, "[::1").expect(USAGE)


@case("a sender waits for a receiver, and no longer than it was told to")
def waits(folder: str) -> None:
    path, target, number = make(folder, "f", bytes(MIB)), os.path.join(folder, "in"), port()
    os.mkdir(target)
    sender = send("--wait", "1min", path, f"{ADDR_B}:{number}")
    time.sleep(1)
    assert sender.process.poll() is None, sender.err
    receiver = Run("recv", "-p", number, "--once", "-o", target, sock=SOCK_B)
    sender.expect(OK)
    receiver.expect(OK)
    assert same_file(path, os.path.join(target, "f"))
    began = time.monotonic()
    send("--wait", "1", path, f"{ADDR_B}:{port()}").expect(PEER, "nobody receives")
    assert 0.9 < time.monotonic() - began < 10
    sender = send("--wait", "1min", path, f"{ADDR_B}:{port()}")
    time.sleep(0.5)
    sender.signal(signal.SIGTERM)
    assert sender.wait() == 128 + signal.SIGTERM and sender.err == "", sender.err
    send("--wait", "1", path, "10.91.0.1").expect(PEER, "10.91.0.1")


@case("a port that is taken")
def taken(folder: str) -> None:
    receiver, host = recv(folder, once=False)
    number = host.rsplit(":", 1)[1]
    Run("recv", "-o", folder, "-p", number, sock=SOCK_B).expect(RESOURCE, number)
    receiver.signal(signal.SIGTERM)
    receiver.expect(OK)


@case("no daemon")
def no_daemon(folder: str) -> None:
    path = make(folder, "f", b"x")
    nowhere = os.path.join(folder, "nowhere.sock")
    for args in (("send", path, ADDR_B), ("recv", "-o", folder), ("show", "conns"),
                 ("perf", "server"), ("perf", "client", ADDR_B)):
        Run(*args, sock=nowhere).expect(DAEMON, "nowhere.sock")
    Run("show", "conns", prefix=("env", f"SLUICE_SOCKET={nowhere}")).expect(DAEMON, "nowhere.sock")


@case("wrong command lines")
def usage(folder: str) -> None:
    path = make(folder, "f", b"x")
    for args in (("frobnicate",), ("send",), ("send", path), ("send", "--frob", path, ADDR_B),
                 ("send", "--buffers", "0", path, ADDR_B), ("send", "--buffers", "x", path, ADDR_B),
                 ("send", "--wait", "x", path, ADDR_B),
                 ("send", "--name", "../x", "-", ADDR_B), ("send", "-", "-", ADDR_B),
                 ("send", "--buffers"), ("recv", "name"), ("recv", "-p", "x"),
                 ("recv", "-p", "65536"), ("recv", "--count", "0"), ("show",),
                 ("show", "nonsense"), ("perf",), ("perf", "client"),
                 ("perf", "client", "-t", "1", "-n", "1", ADDR_B),
                 ("perf", "client", "-l", "5G", ADDR_B),
                 ("perf", "client", "--sync", "-P", "2", ADDR_B),
                 ("perf", "server", "-t", "1"), ("perf", "client", "-l", "0", "-n", "1", ADDR_B)):
        Run(*args).expect(USAGE)
    run = Run()
    assert run.wait() == USAGE and "usage" in run.err


@case("help and version")
def helps(_folder: str) -> None:
    for args in (("--help",), ("cp", "--help"), ("send", "--help"), ("recv", "--help"), ("perf", "--help"),
                 ("perf", "client", "--help"), ("perf", "server", "-h"), ("show", "--help")):
        run = Run(*args)
        run.expect(OK)
        lines = run.out.splitlines()
        assert "usage: sluice" in lines[0] and len(lines) <= 40, args
        assert all(len(x) <= 100 for x in lines), args
    run = Run("--version")
    run.expect(OK)
    assert re.fullmatch(r"sluice [\d.]+\n", run.out), run.out


@case("places that cannot be written")
def unwritable(folder: str) -> None:
    Run("recv", "-o", os.path.join(folder, "no", "such"), sock=SOCK_B).expect(LOCAL, "No such file")
    Run("recv", "-o", folder + "/missing/", sock=SOCK_B).expect(LOCAL)
    prefix = without_override()
    closed = os.path.join(folder, "closed")
    os.mkdir(closed, 0o555)
    Run("recv", "-o", closed, sock=SOCK_B, prefix=prefix).expect(LOCAL, "Permission denied")
    path = make(folder, "f", b"x")
    Run("send", "--rates", "/nonexistent/x", path, ADDR_B, sock=SOCK_A).expect(LOCAL, "--rates")


@case("something else has the file's name")
def in_the_way(folder: str) -> None:
    path = make(folder, "f", bytes(9 * MIB))
    other = make(folder, "g", b"g")
    target = os.path.join(folder, "in")
    os.makedirs(os.path.join(target, "f"))
    receiver, host = recv(target)
    send(path, other, host).expect(REMOTE, "f: at the receiver", "directory")
    receiver.expect(LOCAL, "directory")
    assert open(os.path.join(target, "g"), "rb").read() == b"g"
    receiver, host = recv(os.path.join(folder, "single"))
    send(path, other, host).expect(REMOTE, "g: at the receiver")
    receiver.expect(LOCAL)
    assert same_file(path, os.path.join(folder, "single"))


@case("full disk at the receiver")
def full_disk(folder: str) -> None:
    with small_disk(folder) as target:
        paths = [make(folder, f"f{i}", random.Random(i).randbytes(2 * MIB)) for i in range(3)]
        receiver, host = recv(target)
        send(*paths, host).expect(REMOTE, "f1: at the receiver", "No space left")
        assert receiver.wait() == LOCAL, receiver.err
        assert "f1: " in receiver.err and "No space left" in receiver.err, receiver.err
        assert os.listdir(target) == ["f0"], os.listdir(target)
        assert same_file(paths[0], os.path.join(target, "f0"))


@case("a disk that is full of an old part takes the file: the part goes first")
def old_part(folder: str) -> None:
    with small_disk(folder) as target:
        os.utime(make(target, ".f.part-0123456789abcdef", bytes(2 * MIB)), ns=(0, 0))
        path = make(folder, "f", random.Random(1).randbytes(2 * MIB))
        receiver, host = recv(target)
        send(path, host).expect(OK)
        receiver.expect(OK)
        assert os.listdir(target) == ["f"] and same_file(path, os.path.join(target, "f"))


@case("full disk and a closed reader behind standard output")
def full_output(folder: str) -> None:
    path = make(folder, "f", bytes([1]) * (30 * MIB))
    with open("/dev/full", "wb") as full:
        receiver, host = recv("-", stdout=full)
        send(path, host).expect(REMOTE, "No space left")
        assert receiver.wait() == LOCAL and "No space left" in receiver.err, receiver.err
    reader, writer = os.pipe()
    with os.fdopen(writer, "wb") as pipe:
        receiver, host = recv("-", stdout=pipe)
    sender = send(path, host)
    os.read(reader, 10)
    os.close(reader)
    sender.expect(REMOTE, "at the receiver")
    assert receiver.wait() == LOCAL and "has gone" in receiver.err, receiver.err


# ---- transfers that end early -------------------------------------------------------------------

def under_way(folder: str) -> tuple[Run, int, Run, str]:
    """Begins a transfer that then waits for input; returns sender, its pipe, receiver and target."""
    target = os.path.join(folder, "in")
    os.makedirs(target, exist_ok=True)
    receiver, host = recv(target)
    sender, pipe = feeding("-", host)
    os.write(pipe, b"x" * 60000)
    wait_for("a part", lambda: parts(target))
    return sender, pipe, receiver, target


@case("kill -9 of the sender: the receiver removes the part and says so")
def sender_killed(folder: str) -> None:
    sender, pipe, receiver, target = under_way(folder)
    sender.signal(signal.SIGKILL)
    sender.wait()
    began = time.monotonic()
    receiver.expect(TRANSFER, "stdin", "removed")
    assert time.monotonic() - began < 10
    assert not os.listdir(target), os.listdir(target)
    os.close(pipe)


@case("kill -9 of the receiver: the sender gets a clear error")
def receiver_killed(folder: str) -> None:
    sender, pipe, receiver, _ = under_way(folder)
    receiver.signal(signal.SIGKILL)
    receiver.wait()
    began = time.monotonic()
    sender.expect(TRANSFER, ADDR_B)
    assert time.monotonic() - began < 10
    os.close(pipe)


@case("SIGINT and SIGTERM remove parts")
def interrupted(folder: str) -> None:
    for number in (INTERRUPT, signal.SIGTERM):
        sender, pipe, receiver, target = under_way(folder)
        sender.signal(number)
        assert sender.wait() == 128 + number, sender.err
        receiver.expect(TRANSFER, "removed")
        assert not os.listdir(target)
        os.close(pipe)
        sender, pipe, receiver, target = under_way(folder)
        receiver.signal(number)
        assert receiver.wait() == 128 + number, receiver.err
        sender.expect(TRANSFER)
        assert not os.listdir(target), os.listdir(target)
        os.close(pipe)
