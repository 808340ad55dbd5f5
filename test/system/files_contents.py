# SPDX-License-Identifier: BSD-3-Clause
"""Cases of files_test.py: files arrive as they were sent."""
import json
import os
import random
import signal
import time

from .files_cases import (INTERRUPT, LOCAL, MIB, OK, REMOTE, SEED, SOCK_B, TRANSFER, Run, case, feeding,
                          make, make_large, parts, port, recv, same_file, same_tree, send, to_folder, wait_for)


@case("an empty file")
def empty(folder: str) -> None:
    target = to_folder(folder, make(folder, "empty", b""))
    assert os.path.getsize(os.path.join(target, "empty")) == 0


@case("one byte")
def one_byte(folder: str) -> None:
    target = to_folder(folder, make(folder, "one", b"x"))
    assert open(os.path.join(target, "one"), "rb").read() == b"x"


@case("sizes around a chunk")
def chunks(folder: str) -> None:
    rng = random.Random(SEED)
    paths = [make(folder, f"f{n}", rng.randbytes(n))
             for n in (4 * MIB - 1, 4 * MIB, 4 * MIB + 1, 8 * MIB, 63, 64, 65)]
    target = to_folder(folder, *paths)
    for path in paths:
        assert same_file(path, os.path.join(target, os.path.basename(path))), path


@case("300 MiB of random bytes, and both sides print the same hash")
def large(folder: str) -> None:
    path = make_large(folder, "large", 300)
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
def holes(folder: str) -> None:
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
def pipes(folder: str) -> None:
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
def live(folder: str) -> None:
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


def make_tree(folder: str, count: int) -> str:
    """Makes a tree of directories and files from the seed; returns its path."""
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


@case("a tree of 500 small files: contents, modes, times, odd names, empty directories")
def tree(folder: str) -> None:
    root = make_tree(folder, 500)
    began = time.monotonic()
    target = to_folder(folder, root, options=("-r",))
    took = time.monotonic() - began
    same_tree(root, os.path.join(target, "tree"))
    assert os.stat(root).st_mode == os.stat(os.path.join(target, "tree")).st_mode
    assert took < 30, f"{took} s; does each file wait for a round trip?"


@case("the content of a directory named with a dot; links and pipes are left out")
def dotted(folder: str) -> None:
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


@case("with --overwrite an older file is replaced, mode and time are kept, -o FILE gives another name")
def replace(folder: str) -> None:
    path = make(folder, "new", b"new content")
    os.chmod(path, 0o751)
    os.utime(path, ns=(0, 981173106789000000))
    old = make(folder, "old", b"old")
    receiver, host = recv(old, "--overwrite")
    send(path, host).expect(OK)
    receiver.expect(OK)
    assert open(old, "rb").read() == b"new content"
    assert os.stat(old).st_mode & 0o7777 == 0o751
    assert os.stat(old).st_mtime_ns == 981173106789000000


@case("a file that is there stays, both sides say so, and the others arrive")
def stays(folder: str) -> None:
    root, target = os.path.join(folder, "root"), os.path.join(folder, "home")
    os.makedirs(os.path.join(root, ".ssh"))
    os.makedirs(os.path.join(target, ".ssh"), 0o700)
    make(root, ".ssh/authorized_keys", b"a stranger's")
    make(root, "other", b"other")
    os.chmod(os.path.join(root, ".ssh"), 0o777)
    keys = make(target, ".ssh/authorized_keys", b"mine")
    receiver, host = recv(target)
    send("-r", os.path.join(root, "."), host).expect(REMOTE, "was kept", "--overwrite")
    receiver.expect(LOCAL, "authorized_keys", "was kept", "--overwrite")
    assert open(keys, "rb").read() == b"mine"
    assert os.stat(os.path.dirname(keys)).st_mode & 0o7777 == 0o700
    assert open(os.path.join(target, "other"), "rb").read() == b"other"
    Run("recv", "-o", keys, "-p", port(), sock=SOCK_B).expect(LOCAL, "File exists", "--overwrite")
    receiver, host = recv(target, "--overwrite")
    send("-r", os.path.join(root, "."), host).expect(OK)
    receiver.expect(OK)
    assert open(keys, "rb").read() == b"a stranger's"
    assert os.stat(os.path.dirname(keys)).st_mode & 0o7777 == 0o700


@case("under umask 077 nothing that arrives is for others")
def masked(folder: str) -> None:
    root, target = os.path.join(folder, "root"), os.path.join(folder, "in")
    os.makedirs(os.path.join(root, "d"))
    os.mkdir(target)
    os.chmod(make(root, "d/f", b"secret"), 0o664)
    os.chmod(os.path.join(root, "d"), 0o775)
    receiver, host = recv(target, umask=0o077)
    send("-r", os.path.join(root, "d"), host).expect(OK)
    receiver.expect(OK)
    assert os.stat(os.path.join(target, "d")).st_mode & 0o7777 == 0o700
    assert os.stat(os.path.join(target, "d", "f")).st_mode & 0o7777 == 0o600


@case("four senders at the same time, then another after a failed one")
def several(folder: str) -> None:
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
    receiver, host = recv(target, "--overwrite", once=False)
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


@case("--rates writes a table on both sides")
def rates(folder: str) -> None:
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
