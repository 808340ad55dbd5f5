#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""sluice send and recv between two running daemons: contents, errors, attacks.

The daemons are started by others. Environment: SLUICE_BUILD (build folder), SLUICE_SOCK_A and
SLUICE_SOCK_B (their sockets), SLUICE_ADDR_B (address of B). Arguments choose cases by words in
their names. Prints TAP, then "N passed, N failed"; exit status 1 if any failed.
"""
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time

from files_lab import (ADDR_B, BUILD, DAEMON, INTERRUPT, LOCAL, OK, PEER, REMOTE, RESOURCE, SOCK_A,
                       SOCK_B, TRANSFER, USAGE, Run, Skip, case, feeding, listing, main, parts, port,
                       recv, same_file, send, wait_for)
import files_raw as raw

MIB = 1 << 20
SEED = int(os.environ.get("SLUICE_SEED") or str(random.randrange(1 << 32)), 0)
print(f"# SLUICE_SEED={SEED}")


def make(folder, name, content):
    path = os.path.join(folder, name)
    with open(path, "wb") as f:
        f.write(content)
    return path


def to_folder(folder, *paths, options=(), code=OK, recv_code=OK):
    """Sends paths into folder/in; both processes."""
    target = os.path.join(folder, "in")
    os.makedirs(target, exist_ok=True)
    receiver, host = recv(target)
    sender = send(*options, *paths, host)
    sender.expect(code)
    receiver.expect(recv_code)
    assert not parts(target), parts(target)
    return target


# ---- contents ---------------------------------------------------------------------------------

@case("an empty file")
def empty(folder):
    target = to_folder(folder, make(folder, "empty", b""))
    assert os.path.getsize(os.path.join(target, "empty")) == 0


@case("one byte")
def one_byte(folder):
    target = to_folder(folder, make(folder, "one", b"x"))
    assert open(os.path.join(target, "one"), "rb").read() == b"x"


@case("sizes around a chunk")
def chunks(folder):
    rng = random.Random(SEED)
    paths = [make(folder, f"f{n}", rng.randbytes(n))
             for n in (4 * MIB - 1, 4 * MIB, 4 * MIB + 1, 8 * MIB, 63, 64, 65)]
    target = to_folder(folder, *paths)
    for path in paths:
        assert same_file(path, os.path.join(target, os.path.basename(path))), path


@case("300 MiB of random bytes, with its hash told on both sides")
def large(folder):
    path = os.path.join(folder, "large")
    rng = random.Random(SEED)
    with open(path, "wb") as f:
        for _ in range(300):
            f.write(rng.randbytes(MIB))
    target = os.path.join(folder, "in")
    os.mkdir(target)
    receiver, host = recv(target, "--json")
    sender = send("--json", path, host)
    sender.expect(OK)
    receiver.expect(OK)
    there, here = json.loads(receiver.out), json.loads(sender.out)
    assert here["hash"] == there["hash"] and len(here["hash"]) == 32, (here, there)
    for figures in (here, there):
        assert figures["bytes"] == 300 * MIB and figures["files"] == 1 and figures["exit"] == 0
        assert figures["seconds"] > 0 and figures["goodput_bps"] > 0 and figures["rtt_ns"] > 0
        assert figures["packets"] >= 300 * MIB // figures["unit_bytes"] and figures["repeats"] >= 0
        assert figures["rate_grant_Bps"] > 0
    assert same_file(path, os.path.join(target, "large"))


@case("holes: at the start, in between, at the end, nothing else")
def holes(folder):
    path = os.path.join(folder, "sparse")
    with open(path, "wb") as f:
        for at in (200 * MIB, 200 * MIB + 5000, 900 * MIB):
            f.seek(at)
            f.write(b"data")
        f.truncate(1000 * MIB + 7)
    hollow = os.path.join(folder, "hollow")
    with open(hollow, "wb") as f:
        f.truncate(150 * MIB)
    target = to_folder(folder, path, hollow)
    for name in ("sparse", "hollow"):
        copy = os.path.join(target, name)
        assert same_file(os.path.join(folder, name), copy), name
        assert os.stat(copy).st_blocks * 512 < MIB, "the holes were filled"


@case("from standard input to standard output, holes as zeros")
def pipes(folder):
    content = random.Random(SEED).randbytes(10 * MIB + 3)
    receiver, host = recv("-")
    sender, pipe = feeding("-", host)
    with os.fdopen(pipe, "wb") as f:
        f.write(content)
    sender.expect(OK)
    receiver.expect(OK)
    receiver.out_file.seek(0)
    assert receiver.out_file.read() == content
    path = os.path.join(folder, "sparse")
    with open(path, "wb") as f:
        f.seek(3 * MIB)
        f.write(b"end")
    receiver, host = recv("-")
    send(path, host).expect(OK)
    receiver.expect(OK)
    receiver.out_file.seek(0)
    assert receiver.out_file.read() == bytes(3 * MIB) + b"end"


@case("standard input arrives while it is still open, under the name it is given")
def live(folder):
    receiver, host = recv("-")
    sender, pipe = feeding("-", host)
    os.write(pipe, b"first")
    wait_for("first", lambda: receiver.out == "first")
    os.write(pipe, b"second")
    wait_for("second", lambda: receiver.out == "firstsecond")
    os.close(pipe)
    sender.expect(OK)
    receiver.expect(OK)
    target = os.path.join(folder, "in")
    os.mkdir(target)
    receiver, host = recv(target)
    sender, pipe = feeding("--name", "a/b", "-", host)
    os.close(pipe)
    sender.expect(OK)
    receiver.expect(OK)
    assert os.path.getsize(os.path.join(target, "a", "b")) == 0


def make_tree(folder, count):
    rng = random.Random(SEED)
    root = os.path.join(folder, "tree")
    dirs = [root]
    os.mkdir(root)
    for i in range(20):
        path = os.path.join(rng.choice(dirs), f"d{i}")
        os.mkdir(path)
        dirs.append(path)
    odd = ["with space", "new\nline", "\u00e4\u20ac", ".hidden", "-rf", "..."]
    for i in range(count):
        name = odd[i] if i < len(odd) else f"f{i}"
        path = make(rng.choice(dirs), name, rng.randbytes(rng.choice((0, 1, 100, 5000, 70000))))
        os.chmod(path, rng.choice((0o644, 0o600, 0o755, 0o444, 0o400, 0o666)))
        os.utime(path, ns=(0, rng.randrange(10 ** 18)))
    for path in reversed(dirs):
        os.chmod(path, rng.choice((0o755, 0o700, 0o555)))
        os.utime(path, ns=(0, rng.randrange(10 ** 18)))
    return root


def same_tree(a, b):
    here, there = listing(a), listing(b)
    assert here == there, sorted(set(here.items()) ^ set(there.items()))[:6]
    for name, (is_dir, _, _, _) in here.items():
        assert is_dir or same_file(os.path.join(os.fsencode(a), name),
                                   os.path.join(os.fsencode(b), name)), name


@case("a tree of 500 small files: contents, modes, times, odd names, empty directories")
def tree(folder):
    root = make_tree(folder, 500)
    began = time.monotonic()
    target = to_folder(folder, root, options=("-r",))
    took = time.monotonic() - began
    same_tree(root, os.path.join(target, "tree"))
    assert os.stat(root).st_mode == os.stat(os.path.join(target, "tree")).st_mode
    assert took < 30, f"{took} s: a round trip for each?"


@case("the content of a directory named with a dot; links and pipes are left out")
def dotted(folder):
    root = make_tree(folder, 10)
    os.chmod(root, 0o755)
    os.symlink("nowhere", os.path.join(root, "link"))
    os.mkfifo(os.path.join(root, "pipe"))
    target = os.path.join(folder, "in")
    os.mkdir(target)
    receiver, host = recv(target)
    sender = send("-r", root + "/.", host)
    assert sender.wait() == OK, sender.err
    receiver.expect(OK)
    assert len(sender.errors) == 2 and all("not sent" in x for x in sender.errors), sender.err
    os.unlink(os.path.join(root, "link"))
    os.unlink(os.path.join(root, "pipe"))
    same_tree(root, target)


@case("an older file is replaced, mode and time are kept, -o FILE gives another name")
def replace(folder):
    path = make(folder, "new", b"new content")
    os.chmod(path, 0o751)
    os.utime(path, ns=(0, 981173106789000000))
    old = make(folder, "old", b"old")
    receiver, host = recv(old)
    send(path, host).expect(OK)
    receiver.expect(OK)
    assert open(old, "rb").read() == b"new content"
    assert os.stat(old).st_mode & 0o7777 == 0o751
    assert os.stat(old).st_mtime_ns == 981173106789000000


@case("four senders at the same time, then another after a failed one")
def several(folder):
    rng = random.Random(SEED)
    target = os.path.join(folder, "in")
    os.mkdir(target)
    receiver, host = recv(target, "--count", "4", "--json", once=False)
    paths = [make(folder, f"f{i}", rng.randbytes(20 * MIB)) for i in range(4)]
    senders = [send(p, host) for p in paths]
    for sender in senders:
        sender.expect(OK)
    receiver.expect(OK)
    assert len(receiver.out.splitlines()) == 4
    for path in paths:
        assert same_file(path, os.path.join(target, os.path.basename(path)))
    receiver, host = recv(target, once=False)
    sender, pipe = feeding("-", host)
    os.write(pipe, b"x" * 70000)
    wait_for("a part", lambda: parts(target))
    sender.signal(signal.SIGKILL)
    sender.wait()
    os.close(pipe)
    wait_for("the part's end", lambda: not parts(target))
    send(paths[0], host).expect(OK)
    receiver.signal(INTERRUPT)
    receiver.expect(TRANSFER)


@case("a course of the rates, and figures on a closed terminal's behalf")
def rates(folder):
    path = make(folder, "f", random.Random(SEED).randbytes(50 * MIB))
    here, there = os.path.join(folder, "here.csv"), os.path.join(folder, "there.csv")
    receiver, host = recv(os.path.join(folder, "copy"), "--rates", there)
    send("--rates", here, path, host).expect(OK)
    receiver.expect(OK)
    for file, column in ((here, 2), (there, 1)):
        lines = open(file, encoding="ascii").read().splitlines()
        assert lines[0] == "t_s,rx_bytes,tx_bytes,rate_Bps,momentary_Bps", lines[0]
        rows = [[float(x) for x in line.split(",")] for line in lines[1:]]
        assert rows and all(len(r) == 5 for r in rows)
        for i in (0, column):
            assert all(a[i] <= b[i] for a, b in zip(rows, rows[1:])), f"column {i} falls"


# ---- errors -----------------------------------------------------------------------------------

@case("missing file: nothing is sent")
def missing(folder):
    there = make(folder, "there", b"x")
    send(there, os.path.join(folder, "missing"), f"{ADDR_B}:{port()}").expect(
        LOCAL, "missing", "No such file")


@case("a directory without -r")
def not_recursive(folder):
    send(folder, f"{ADDR_B}:{port()}").expect(LOCAL, "is a directory", "-r")


def without_override():
    """Words before a command that make even root obey permissions."""
    tool = shutil.which("setpriv", path="/usr/bin:/bin")
    if os.geteuid() != 0:
        return ()
    if tool is None:
        raise Skip("setpriv is missing")
    return (tool, "--bounding-set", "-dac_override,-dac_read_search", "--inh-caps", "-all")


@case("an unreadable file, an unreadable directory in a tree: the rest arrives")
def unreadable(folder):
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
        send(secret, f"{ADDR_B}:{port()}", prefix=prefix).expect(LOCAL, "secret", "Permission denied")
        receiver, host = recv(target)
        send("-r", root, host, prefix=prefix).expect(LOCAL, "closed", "secret", "Permission denied",
                                                     lines=2)
        receiver.expect(OK)
        assert os.listdir(os.path.join(target, "tree")) == ["good"]
    finally:
        os.chmod(os.path.join(root, "closed"), 0o700)


@case("a file that shrinks while it is sent")
def shrinks(folder):
    path = make(folder, "shrinks", bytes([1]) * (100 * MIB))
    reader, writer = os.pipe()
    receiver, host = recv("-", stdout=os.fdopen(writer, "wb"))
    receiver.out_file.close()
    sender = send("--buffers", "1", path, host)
    os.read(reader, 100)  # under way, and now nobody reads
    with open(path, "r+b") as f:
        f.truncate(50 * MIB)
    while os.read(reader, MIB):
        pass
    sender.expect(LOCAL, "shrank")
    assert receiver.wait() == TRANSFER, receiver.err
    os.close(reader)


@case("nobody receives, a port that nobody has, an unknown host")
def nobody(folder):
    path = make(folder, "f", b"x")
    send(path, f"{ADDR_B}:{port()}").expect(PEER, "nobody receives")
    send(path, "no-such-host.invalid").expect(PEER, "no-such-host.invalid")
    send(path, f"{ADDR_B}:70000").expect(PEER, "70000")
    send(path, "[::1").expect(PEER)


@case("a port that is taken")
def taken(folder):
    receiver, host = recv(folder, once=False)
    number = host.rsplit(":", 1)[1]
    Run("recv", "-o", folder, "-p", number, sock=SOCK_B).expect(RESOURCE, number)
    receiver.signal(signal.SIGTERM)
    receiver.expect(OK)


@case("no daemon")
def no_daemon(folder):
    path = make(folder, "f", b"x")
    nowhere = os.path.join(folder, "nowhere.sock")
    for args in (("send", path, ADDR_B), ("recv", "-o", folder), ("show", "conns"),
                 ("perf", "server"), ("perf", "client", ADDR_B)):
        Run(*args, sock=nowhere).expect(DAEMON, "nowhere.sock")
    Run("show", "conns", env=dict(os.environ, SLUICE_SOCKET=nowhere)).expect(DAEMON, "nowhere.sock")


@case("wrong command lines")
def usage(folder):
    path = make(folder, "f", b"x")
    for args in (("frobnicate",), ("send",), ("send", path), ("send", "--frob", path, ADDR_B),
                 ("send", "--buffers", "0", path, ADDR_B), ("send", "--buffers", "x", path, ADDR_B),
                 ("send", "--name", "../x", "-", ADDR_B), ("send", "-", "-", ADDR_B),
                 ("send", "--buffers"), ("recv", "name"), ("recv", "-p", "0"), ("recv", "-p", "65536"),
                 ("recv", "--count", "0"), ("show",), ("show", "nonsense"), ("perf",),
                 ("perf", "client"), ("perf", "client", "-t", "1", "-n", "1", ADDR_B),
                 ("perf", "client", "-l", "5G", ADDR_B), ("perf", "client", "--sync", "-P", "2", ADDR_B),
                 ("perf", "server", "-t", "1"), ("perf", "client", "-l", "0", "-n", "1", ADDR_B)):
        Run(*args).expect(USAGE)
    run = Run()
    assert run.wait() == USAGE and "usage" in run.err


@case("help and version")
def helps(_folder):
    for args in (("--help",), ("send", "--help"), ("recv", "--help"), ("perf", "--help"),
                 ("perf", "client", "--help"), ("perf", "server", "-h"), ("show", "--help")):
        run = Run(*args)
        run.expect(OK)
        lines = run.out.splitlines()
        assert "usage: sluice" in lines[0] and len(lines) <= 34, args
        assert all(len(x) <= 100 for x in lines), args
    run = Run("--version")
    run.expect(OK)
    assert run.out.startswith("sluice ")


@case("places that cannot be written")
def unwritable(folder):
    Run("recv", "-o", os.path.join(folder, "no", "such"), sock=SOCK_B).expect(LOCAL, "No such file")
    Run("recv", "-o", folder + "/missing/", sock=SOCK_B).expect(LOCAL)
    prefix = without_override()
    closed = os.path.join(folder, "closed")
    os.mkdir(closed, 0o555)
    Run("recv", "-o", closed, sock=SOCK_B, prefix=prefix).expect(LOCAL, "Permission denied")
    path = make(folder, "f", b"x")
    Run("send", "--rates", "/nonexistent/x", path, ADDR_B, sock=SOCK_A).expect(LOCAL, "--rates")


@case("something else has the file's name")
def in_the_way(folder):
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
def full_disk(folder):
    target = os.path.join(folder, "small")
    os.mkdir(target)
    tool = shutil.which("mount", path="/usr/bin:/bin:/usr/sbin:/sbin")
    if tool is None or subprocess.run([tool, "-t", "tmpfs", "-o", "size=3m", "sluice-test", target],
                                      check=False, stderr=subprocess.DEVNULL).returncode != 0:
        raise Skip("no right to mount")
    try:
        paths = [make(folder, f"f{i}", random.Random(i).randbytes(2 * MIB)) for i in range(3)]
        receiver, host = recv(target)
        send(*paths, host).expect(REMOTE, "f1: at the receiver", "No space left")
        assert receiver.wait() == LOCAL, receiver.err
        assert "f1: " in receiver.err and "No space left" in receiver.err, receiver.err
        assert os.listdir(target) == ["f0"], os.listdir(target)
        assert same_file(paths[0], os.path.join(target, "f0"))
    finally:
        subprocess.run([shutil.which("umount", path="/usr/bin:/bin:/usr/sbin:/sbin"), target],
                       check=True)


@case("full disk and a closed reader behind standard output")
def full_output(folder):
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


# ---- ends in the middle -----------------------------------------------------------------------

def under_way(folder):
    """A transfer that has begun and does not go on: sender, its pipe, receiver, target."""
    target = os.path.join(folder, "in")
    os.makedirs(target, exist_ok=True)
    receiver, host = recv(target)
    sender, pipe = feeding("-", host)
    os.write(pipe, b"x" * 60000)
    wait_for("a part", lambda: parts(target))
    return sender, pipe, receiver, target


@case("kill -9 of the sender: the receiver removes the part and says so")
def sender_killed(folder):
    sender, pipe, receiver, target = under_way(folder)
    sender.signal(signal.SIGKILL)
    sender.wait()
    began = time.monotonic()
    receiver.expect(TRANSFER, "stdin", "removed")
    assert time.monotonic() - began < 10
    assert not os.listdir(target), os.listdir(target)
    os.close(pipe)


@case("kill -9 of the receiver: the sender gets a clear error")
def receiver_killed(folder):
    sender, pipe, receiver, _ = under_way(folder)
    receiver.signal(signal.SIGKILL)
    receiver.wait()
    began = time.monotonic()
    sender.expect(TRANSFER, ADDR_B)
    assert time.monotonic() - began < 10
    os.close(pipe)


@case("SIGINT and SIGTERM remove parts")
def interrupted(folder):
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


# ---- attacks ----------------------------------------------------------------------------------

def attacker(sock):
    try:
        return raw.Raw(raw.library(BUILD), sock)
    except (OSError, IndexError) as why:
        raise Skip(f"libsluice.so cannot be loaded: {why}") from why


EMPTY_HASH = bytes.fromhex("99aa06d3014798d86001c324468d497f") + bytes(8)


def attack(folder, requests, name="in", end=True):
    """Sends raw requests to a receiver in folder/in; it and the answers."""
    target = os.path.join(folder, name)
    os.makedirs(target, exist_ok=True)
    enemy = attacker(SOCK_A)
    receiver, host = recv(target)
    enemy.connect(host)
    for request in requests:
        enemy.send(request)
    if end:
        enemy.shutdown()
        enemy.wait(raw.OP_RECV)
    return receiver, enemy


@case("hostile names write nothing outside, and are refused one by one")
def hostile_names(folder):
    target = os.path.join(folder, "in")
    outside = os.path.join(folder, "outside")
    os.mkdir(outside)
    os.mkdir(target)
    os.symlink(outside, os.path.join(target, "link"))
    os.symlink(os.path.join(outside, "victim"), os.path.join(target, "file-link"))
    names = [b"../evil", b"..", b".", b"/" + outside.encode()[1:] + b"/evil", b"a/../../evil",
             b"link/evil", b"a//b", b"a/", b"./a", b"x\0y", b"n" * 256]
    requests, number = [], 0
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
    assert not os.path.islink(os.path.join(target, "file-link"))
    assert len(receiver.errors) == number - 1, receiver.err


@case("broken records end the sender's connection, and only it")
def broken_records(folder):
    offer = raw.record(raw.OFFER, 1, b"f", size=4)
    bad = {
        "garbage": [b"G" * 1000],
        "nothing": [b""],
        "short header": [offer[:63]],
        "longer than its request": [raw.record(raw.OFFER, 1, b"f", length=500)],
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


def struct_perf():
    return b"SLUP\1\1\0\0" + bytes(184)


@case("wrong size and wrong hash leave nothing")
def wrong_hash(folder):
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
def hostile_receiver(folder):
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


# ---- show and perf ----------------------------------------------------------------------------

@case("show: tables and JSON")
def shows(_folder):
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
def perf(_folder):
    number = port()
    server = Run("perf", "server", "--json", "-v", "-p", number, sock=SOCK_B)
    server.ready()
    for options in (("-n", "40M", "-P", "3", "--bidir"), ("-n", "20M", "--reverse"), ("-n", "1", "-l", "1"),
                    ("-t", "300ms", "-l", "100000", "--go-back-N"), ("-n", "10M", "-l", "64K", "--sync")):
        client = Run("perf", "client", "--check", "--json", *options, f"{ADDR_B}:{number}", sock=SOCK_A)
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


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
