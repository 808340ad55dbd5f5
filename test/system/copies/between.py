# SPDX-License-Identifier: BSD-3-Clause
"""Cases of copies_test.py: copies and syncs between two other hosts, from one that has no daemon."""
import json
import os
import random
import shutil
import signal
import stat
import time
from collections.abc import Sequence

from .cases import RSH, cp, gone, home, noted_in, operands
from ..files_cases import (DAEMON, LOCAL, MIB, OK, PEER, REMOTE, SEED, SOCK_A, SOCK_B, TRANSFER, USAGE, Run, case, make,
                           part_bytes, parts, same_file, same_tree, small_disk, wait_for, without_override)

FROM, TO = "me@a", "me@b"
SOON_S = 10
SLOW = ("--bwlimit", "160Mbit")
LARGE = 48 * MIB  # takes more than 2 s then


def at(folder: str, host: str) -> str:
    """The home directory of a host."""
    path = os.path.join(folder, host)
    os.makedirs(path, exist_ok=True)
    return path


def _noted(folder: str, host: str, name: str) -> str:
    """What rsh.py has logged of this host."""
    return noted_in(os.path.join(folder, f"log-{host}"), name)


def _pids(folder: str) -> list[int]:
    return [int(_noted(folder, host, name)) for host in ("a", "b") for name in ("far-pid", "rsh-pid")]


def _all_gone(folder: str) -> None:
    wait_for("the end of all", lambda: all(gone(pid) for pid in _pids(folder)), SOON_S)


def between(folder: str, *args: object, command: str = "cp", faults: dict[str, str] | None = None,
            socks: dict[str, str] | None = None, prefix: Sequence[str] = (), rsh: str = RSH) -> Run:
    """Starts a copy where there is no daemon. faults, socks: of rsh.py, by host."""
    hosts = {}
    for host, sock in (("a", SOCK_A), ("b", SOCK_B)):
        log = os.path.join(folder, f"log-{host}")
        shutil.rmtree(log, ignore_errors=True)
        os.mkdir(log)
        hosts["me@" + host] = {"RSH_SOCKET": (socks or {}).get(host, sock), "RSH_HOME": at(folder, host),
                               "RSH_LOG": log, "RSH_FAULT": (faults or {}).get(host, "")}
    env = {"RSH_HOSTS": json.dumps(hosts), "SLUICE_RSH": rsh, "SLUICE_SOCKET": "/nonexistent/sluice.sock"}
    return Run(command, *operands(args), prefix=[*prefix, "env", *(f"{k}={v}" for k, v in env.items())])


def _tree(folder: str, rng: random.Random) -> str:
    """A small tree at A; returns its path."""
    top = os.path.join(at(folder, "a"), "tree")
    for i in range(20):
        into = os.path.join(top, f"d{i % 3}")
        os.makedirs(into, exist_ok=True)
        os.utime(make(into, f"f{i:02}", rng.randbytes(rng.randrange(200_000))), ns=(i, 10**18 + i))
    return top


@case("between two other hosts: files, trees, several sources, odd names")
def files(folder: str) -> None:
    a, b = at(folder, "a"), at(folder, "b")
    top = _tree(folder, random.Random(SEED))
    odd = make(a, "it's $(a) `file`\n", b"odd")
    between(folder, f"{FROM}:{os.path.basename(odd)}", f"{TO}:g").expect(OK)
    assert same_file(odd, os.path.join(b, "g"))
    os.mkdir(os.path.join(b, "in"))
    between(folder, "-r", f"{FROM}:tree", f"{FROM}:{odd}", f"{TO}:in").expect(OK)
    same_tree(top, os.path.join(b, "in", "tree"))
    assert same_file(odd, os.path.join(b, "in", os.path.basename(odd)))
    make(a, "new", b"new")
    between(folder, "--overwrite", "--fsync", "--go-back-N", "--buffers", "2", "--port", "50123", "--address",
            "10.90.0.2", f"{FROM}:~/new", f"{TO}:~/g").expect(OK)
    assert same_file(os.path.join(a, "new"), os.path.join(b, "g"))
    between(folder, "-r", f"{FROM}:", f"{TO}:all/").expect(REMOTE, f"{TO}: all/", "mkdir")
    os.mkdir(os.path.join(b, "all"))
    between(folder, "-r", f"{FROM}:", f"{TO}:all/").expect(OK)
    same_tree(a, os.path.join(b, "all"))
    assert not parts(folder)


@case("between two other hosts: what the user is told")
def told(folder: str) -> None:
    top, b = _tree(folder, random.Random(SEED)), at(folder, "b")
    os.mkdir(os.path.join(b, "in"))
    sizes = {os.path.relpath(os.path.join(p, n), os.path.dirname(top)): os.path.getsize(os.path.join(p, n))
             for p, _, names in os.walk(top) for n in names}
    run = between(folder, "-v", "-r", f"{FROM}:tree", f"{TO}:in")
    run.expect(OK, f"sluice: sent {len(sizes)} files, {sum(sizes.values())} bytes", f"from {FROM} to {TO}, at 10.90.0.2")
    shutil.rmtree(os.path.join(b, "in", "tree"))
    run = between(folder, "--json", "-r", f"{FROM}:tree", f"{TO}:in")
    run.expect(OK)
    said = json.loads(run.out)
    assert (said["command"], said["direction"], said["from"], said["to"]) == ("cp", "between", FROM, TO), said
    assert (said["files"], said["bytes"], said["exit"]) == (len(sizes), sum(sizes.values()), 0), said
    assert said["peer"].startswith("10.90.0.2:") and said["packets"] > 0 and said["cpu_seconds"] > 0, said
    name = sorted(sizes)[0]
    os.remove(os.path.join(b, "in", name))
    make(os.path.join(at(folder, "a"), "tree"), "large", bytes(20 * MIB) + b"x")
    run = between(folder, "--json-stream", *SLOW, "-r", f"{FROM}:tree", f"{TO}:in")
    run.expect(REMOTE, lines=len(sizes) - 1)
    assert f"sluice: {TO}: {sorted(sizes)[1]}: a file of this name exists " in run.err, run.err
    events = [json.loads(line) for line in run.out.splitlines()]
    assert {e["name"]: e["bytes"] for e in events if e["event"] == "file"} == {name: sizes[name],
                                                                                "tree/large": 20 * MIB + 1}, events
    assert sorted(e["name"] for e in events if e["event"] == "failed") == sorted(sizes)[1:], events
    progress = [e for e in events if e["event"] == "progress"]
    assert len(progress) >= 2 and any(0 < e["bytes"] < 20 * MIB and e["rate_Bps"] > 0 for e in progress), progress
    assert (events[-1]["event"], events[-1]["exit"], events[-1]["failed"]) == ("end", REMOTE, len(sizes) - 1), events


@case("between two other hosts: --bwlimit and --rate are kept by the sender")
def limits(folder: str) -> None:
    make(at(folder, "a"), "f", random.Random(SEED).randbytes(16 * MIB))
    for option in (("--bwlimit", "80Mbit"), ("--rate", "80Mbit until 12:00, then 80Mbit")):
        began = time.monotonic()
        between(folder, "--overwrite", *option, f"{FROM}:f", f"{TO}:f").expect(OK)
        assert time.monotonic() - began > 1.3, "16 MiB are more than 1.6 s of 80 Mbit/s"
    run = between(folder, "--overwrite", "--rate", "50%", f"{FROM}:f", f"{TO}:f")
    assert run.wait() in (OK, USAGE), run.err  # a memif carries nothing that is known
    if run.wait() != OK:
        assert f"{FROM}: --bwlimit or --rate: " in run.err and "capacity" in run.err, run.err


@case("between two other hosts: the code says whose file it was, and the line names its host")
def errors(folder: str) -> None:
    a, b = at(folder, "a"), at(folder, "b")
    make(a, "f", b"x")
    os.mkdir(os.path.join(a, "dir"))
    make(os.path.join(a, "dir"), "good", b"good")
    between(folder, f"{FROM}:missing", f"{TO}:").expect(LOCAL, f"{FROM}: missing: No such file")
    between(folder, f"{FROM}:dir", f"{TO}:").expect(LOCAL, f"{FROM}: dir: is a directory", "-r")
    between(folder, "-r", f"{FROM}:dir", f"{TO}:new").expect(LOCAL, f"{FROM}: dir: is a directory", "mkdir")
    between(folder, f"{FROM}:f", f"{TO}:no/such").expect(REMOTE, f"{TO}: no: No such file")
    between(folder, f"{FROM}:f", f"{FROM}:f", f"{TO}:new").expect(REMOTE, f"{TO}: new: is no directory", "mkdir")
    between(folder, f"{FROM}:~nobody-has-this/x", f"{TO}:").expect(LOCAL, FROM, "no such user")
    assert os.listdir(b) == [], os.listdir(b)
    make(b, "f", b"old")
    between(folder, f"{FROM}:f", f"{TO}:").expect(REMOTE, f"{TO}: f: a file of this name exists")
    run = between(folder, "-q", "--max-size", "3", f"{FROM}:dir/good", f"{TO}:")
    run.expect(REMOTE, f"{TO}: good: ", "--max-size")
    os.chmod(make(os.path.join(a, "dir"), "secret", b"x"), 0)
    tool = " ".join((*without_override(), str(operands(())[1])))
    between(folder, "--remote-path", tool, "-r", f"{FROM}:dir", f"{TO}:").expect(
        LOCAL, f"{FROM}: dir/secret: Permission denied")
    assert os.listdir(os.path.join(b, "dir")) == ["good"]
    with small_disk(folder) as small:
        for i in range(3):
            make(a, f"f{i}", random.Random(i).randbytes(2 * MIB))
        run = between(folder, *(f"{FROM}:f{i}" for i in range(3)), f"{TO}:{small}")
        run.expect(REMOTE, f"{TO}: f1: ", "No space left")
        assert os.listdir(small) == ["f0"]
    _all_gone(folder)


@case("between two other hosts: no daemon, no sluice, no login, no way")
def nobody(folder: str) -> None:
    make(at(folder, "a"), "f", b"x")
    nowhere = os.path.join(folder, "nowhere.sock")
    for host, name in (("a", FROM), ("b", TO)):
        between(folder, f"{FROM}:f", f"{TO}:", socks={host: nowhere}).expect(
            DAEMON if host == "a" else PEER, f"{name}: ", "nowhere.sock")
        _all_gone(folder)
        run = between(folder, f"{FROM}:f", f"{TO}:", faults={host: "login"})
        assert run.wait(SOON_S) == PEER and f"sluice: {name}: " in run.err and "cannot log in" in run.err, run.err
        for fault, code, words in (("version-far", PEER, "version 7"), ("version-near", TRANSFER, "version 7"),
                                   ("chatter", PEER, "Welcome to this host!"), ("garbage", PEER, "invalid message")):
            run = between(folder, f"{FROM}:f", f"{TO}:", faults={host: fault})
            run.expect(code, f"sluice: {name}: ", words, timeout_s=SOON_S)
        _all_gone(folder)
    between(folder, "--remote-path", "/nonexistent/sluice", f"{FROM}:f", f"{TO}:").wait()
    between(folder, f"{FROM}:f", f"{TO}:", rsh="/nonexistent/ssh").expect(PEER, "/nonexistent/ssh: No such file", "--rsh")
    run = between(folder, "--address", "10.91.0.1", f"{FROM}:f", f"{TO}:")
    run.expect(PEER, f"sluice: {FROM}: no port leads to 10.91.0.1", timeout_s=SOON_S)
    between(folder, f"{FROM}:f", f"{TO}:", faults={"b": "address"}).expect(
        PEER, f"{FROM}: no way from its ports (10.90.0.1/24, fd90::1/64)", "of the receiving host (10.91.0.2/24")
    run = between(folder, f"{FROM}:f", f"{TO}:", socks={"b": SOCK_A})
    run.expect(PEER, f"{FROM}: both ends have the same daemon", "cp(1)", timeout_s=SOON_S)
    _all_gone(folder)
    assert os.listdir(at(folder, "b")) == []


@case("between two other hosts: neither end is believed")
def hostile(folder: str) -> None:
    a, b = at(folder, "a"), at(folder, "b")
    make(a, "asked-f", b"x")
    make(a, "another", b"evil")
    between(folder, f"{FROM}:asked-f", f"{TO}:.", faults={"a": "other"}).expect(
        REMOTE, f"{TO}: another: it was not asked for")
    between(folder, f"{FROM}:asked-f", f"{TO}:.", faults={"a": "other"}, command="sync").expect(
        REMOTE, f"{TO}: another: it was not asked for")
    run = between(folder, f"{FROM}:asked-f", f"{TO}:.", faults={"a": "token"})
    assert run.wait() == TRANSFER and f"{TO}: 10.90.0.1" in run.err, run.err
    assert "not the other end of this copy" in run.err, run.err
    assert os.listdir(b) == [], os.listdir(b)
    names = make(folder, "names", b"asked-f\n")
    os.mkdir(os.path.join(a, "d"))
    make(os.path.join(a, "d"), "asked-f", b"x")
    make(os.path.join(a, "d"), "another", b"evil")
    run = between(folder, "--files-from", names, f"{FROM}:d", f"{TO}:in", faults={"a": "other"}, command="sync")
    run.expect(REMOTE, f"{TO}: another: ")
    assert os.listdir(os.path.join(b, "in")) == []
    _all_gone(folder)


def _cut(folder: str, run: Run, victim: str) -> int:
    """Kills one of the processes; returns the exit code."""
    if victim in ("near", "user"):
        run.signal(signal.SIGKILL if victim == "near" else signal.SIGINT)
    else:
        host, name = victim.split()
        os.kill(int(_noted(folder, host, name)), signal.SIGKILL)
    code = run.wait(SOON_S)
    _all_gone(folder)
    return code


@case("between two other hosts: one end is killed in the middle, and --resume completes the copy")
def killed(folder: str) -> None:
    a, b = at(folder, "a"), at(folder, "b")
    path = make(a, "f", random.Random(SEED).randbytes(LARGE))
    for victim, code, words in (("a far-pid", TRANSFER, FROM), ("b far-pid", TRANSFER, TO), ("a rsh-pid", TRANSFER, FROM),
                                ("b rsh-pid", TRANSFER, TO), ("near", -signal.SIGKILL, ""),
                                ("user", 128 + signal.SIGINT, "")):
        run = between(folder, "--resume", *SLOW, f"{FROM}:f", f"{TO}:.")
        wait_for("a part", lambda: part_bytes(b) > 6 * MIB)
        ended = _cut(folder, run, victim)
        assert ended == code, (victim, ended, run.err)
        assert words in run.err and bool(words) == bool(run.errors), (victim, run.err)  # the other end may say more
        assert len(parts(b)) == 1 and part_bytes(b) >= 6 * MIB, (victim, os.listdir(b))
        run = between(folder, "--resume", "--json", f"{FROM}:f", f"{TO}:.")
        run.expect(OK)
        assert same_file(path, os.path.join(b, "f"))
        assert json.loads(run.out)["kept_bytes"] >= 6 * MIB, (victim, run.out)
        run = between(folder, "--resume", "--json", f"{FROM}:f", f"{TO}:.")
        run.expect(OK)
        assert json.loads(run.out)["there_files"] == 1, run.out
        os.remove(os.path.join(b, "f"))
        assert os.listdir(b) == [], os.listdir(b)
    run = between(folder, *SLOW, "--keep-partial", "0", f"{FROM}:f", f"{TO}:.")
    wait_for("a part", lambda: part_bytes(b) > 6 * MIB)
    assert _cut(folder, run, "a far-pid") == TRANSFER
    wait_for("no part", lambda: os.listdir(b) == [], SOON_S)


@case("between two other hosts: a sync deletes, itemizes, filters, and keeps attributes")
def synced(folder: str) -> None:
    top, b = _tree(folder, random.Random(SEED)), at(folder, "b")
    target = os.path.join(b, "in")
    os.symlink("d0/f00", os.path.join(top, "link"))
    os.link(os.path.join(top, "d0", "f00"), os.path.join(top, "d0", "again"))
    os.chmod(os.path.join(top, "d1", "f01"), 0o600)
    run = between(folder, "-n", f"{FROM}:tree/", f"{TO}:in", command="sync")
    run.expect(OK)
    assert "<f+++++++++ d0/f00" in run.out.splitlines() and not os.path.exists(target), run.out
    between(folder, "-aH", f"{FROM}:tree/", f"{TO}:in", command="sync").expect(OK)
    same_tree(top, target)
    assert os.stat(os.path.join(target, "d0", "again")).st_nlink == 2
    make(target, "extra", b"x")
    make(target, "kept.o", b"x")
    os.mkdir(os.path.join(target, "old"))
    make(os.path.join(top, "d0"), "new.o", b"x")
    make(os.path.join(top, "d0"), "new", b"x")
    run = between(folder, "-i", "--delete-before", "--exclude", "*.o", f"{FROM}:tree/", f"{TO}:in", command="sync")
    run.expect(OK)
    lines = run.out.splitlines()
    assert sorted(x for x in lines if "deleting" in x) == ["*deleting   extra", "*deleting   old/"], lines
    assert [x for x in lines if x.startswith("<f")] == ["<f+++++++++ d0/new"], lines
    assert sorted(os.listdir(target)) == ["d0", "d1", "d2", "kept.o", "link"], os.listdir(target)
    assert not os.path.exists(os.path.join(target, "d0", "new.o"))
    with open(os.path.join(top, "d0", "f00"), "ab") as f:
        f.write(b"more")
    run = between(folder, "--json", "-c", "--numeric-ids", f"{FROM}:tree/d0", f"{TO}:in", command="sync")
    run.expect(OK)
    said = json.loads(run.out)
    assert (said["command"], said["direction"], said["failed"]) == ("sync", "between", 0) and said["files"] >= 1, said
    assert said["there_files"] > 0, said
    names = make(folder, "names", b"d1/f01\n")
    between(folder, "--files-from", names, f"{FROM}:tree", f"{TO}:some", command="sync").expect(OK)
    some = os.path.join(b, "some")
    assert [os.path.relpath(os.path.join(p, n), some) for p, _, x in os.walk(some) for n in x] == ["d1/f01"]
    assert stat.S_IMODE(os.stat(os.path.join(some, "d1", "f01")).st_mode) == 0o600


@case("between two other hosts: Ctrl-C, and signals before anything is sent, end all of it")
def interrupted(folder: str) -> None:
    make(at(folder, "a"), "f", bytes(MIB))
    for number in (signal.SIGINT, signal.SIGTERM):
        for host in ("a", "b"):
            run = between(folder, f"{FROM}:f", f"{TO}:", faults={host: "late"})
            for name in ("a", "b"):
                _noted(folder, name, "far-pid")
            time.sleep(0.3)
            run.signal(number)
            assert run.wait(SOON_S) == 128 + number and run.err == "", run.err
            make(os.path.join(folder, f"log-{host}"), "go", b"")  # the relay of the test ends, too
            _all_gone(folder)
    assert os.listdir(at(folder, "b")) == []


@case("between two other hosts, to one and from one: several connections")
def streams(folder: str) -> None:
    content = random.Random(SEED).randbytes(LARGE)
    make(at(folder, "a"), "f", content)
    third = between(folder, "-P", 3, "--json", *SLOW, "me@a:f", "me@b:f")
    third.expect(OK)
    pull = cp(folder, "-P", 3, "--json", *SLOW, "far:" + os.path.join(at(folder, "b"), "f"), os.path.join(folder, "pulled"))
    pull.expect(OK)
    push = cp(folder, "-P", 3, "--json", *SLOW, os.path.join(folder, "pulled"), "far:pushed")
    push.expect(OK)
    for run in (third, pull, push):
        figures = json.loads(run.out)
        assert figures["streams"] == 3 and figures["bytes"] == LARGE, figures
    assert same_file(os.path.join(at(folder, "a"), "f"), os.path.join(home(folder), "pushed"))
