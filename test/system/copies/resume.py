# SPDX-License-Identifier: BSD-3-Clause
"""Cases of copies_test.py: copies that are cut off at drawn points, and completed by --resume."""
import fcntl
import glob
import json
import os
import random
import shutil
import signal
import time

from .. import files_raw as raw
from .cases import HOST, cp, gone, home, noted, notes
from ..files_cases import (MIB, OK, REMOTE, SEED, SOCK_A, USAGE, Run, attacker, case, feeding, make, part_bytes, parts, recv,
                           same_file, send, wait_for)

ROUNDS = int(os.environ.get("SLUICE_RESUME_ROUNDS") or "6")
AGAIN_MAX = 8 * MIB  # bytes that may be sent twice, besides what was in flight


def _tree(rng: random.Random, folder: str) -> tuple[str, int]:
    """Files of drawn sizes, among them large ones; returns their folder and the sum of their sizes."""
    top, total = os.path.join(folder, "tree"), 0
    for i, size in enumerate([*(rng.randrange(300_000) for _ in range(12)), rng.randrange(24 * MIB, 64 * MIB),
                              *(rng.randrange(9 * MIB) for _ in range(4)), rng.randrange(24 * MIB, 64 * MIB)]):
        into = os.path.join(top, f"d{i % 3}")
        os.makedirs(into, exist_ok=True)
        make(into, f"f{i:02}", rng.randbytes(size))
        total += size
    return top, total


def _whole(source: str, target: str) -> dict[str, int]:
    """Sizes of the files that are in place. Each must be right."""
    sizes = {}
    for path, _, names in os.walk(target):
        for name in names:
            if ".part-" not in name:
                there = os.path.join(path, name)
                below = os.path.relpath(there, target)
                assert same_file(there, os.path.join(source, below)), f"half of {below} has its name"
                sizes[below] = os.path.getsize(there)
    return sizes


def _whole_sizes(target: str) -> list[int]:
    """Sizes of all files in it, whole or not."""
    sizes = []
    for path, _, names in os.walk(target):
        for name in names:
            try:
                sizes.append(os.path.getsize(os.path.join(path, name)))
            except FileNotFoundError:
                continue  # it has got its name
    return sizes


def _cut(folder: str, run: Run, victim: str) -> None:
    if victim == "near":
        run.signal(signal.SIGKILL)
    elif victim == "user":
        run.signal(signal.SIGINT)
    else:
        os.kill(int(noted(folder, victim)), signal.SIGKILL)
    run.wait()
    pids = [int(noted(folder, name)) for name in ("far-pid", "rsh-pid")]
    wait_for("the end of the far end", lambda: all(gone(pid) for pid in pids))


def _resumed(folder: str, source: str, target: str, *args: object) -> dict[str, int]:
    """Runs the copy with --resume, which must work; returns what --json says."""
    run = cp(folder, "-r", "--resume", "--json", source, target, *args)
    run.expect(OK)
    said: dict[str, int] = json.loads(run.out)
    return said


@case("resume: cut off at drawn points, by kill -9 of any end, and completed")
def cut_off(folder: str) -> None:
    rng = random.Random(SEED)
    print(f"# SLUICE_SEED={SEED}", flush=True)
    source, total = _tree(rng, folder)
    for i in range(ROUNDS):
        pull, victim = i % 2 == 1, ("near", "far-pid", "rsh-pid", "user")[(i // 2 + rng.randrange(4)) % 4]
        target = os.path.join(folder, f"in{i}") if pull else os.path.join(home(folder), f"in{i}")
        os.makedirs(target)
        first, second = ("me@far:" + source + "/.", target) if pull else (source + "/.", "me@far:" + target)
        for cut in range(rng.randrange(1, 3)):
            for name in glob.glob(os.path.join(notes(folder), "*")):
                os.remove(name)
            enough = rng.randrange(total * 2 // 3)
            run = cp(folder, "-r", "--buffers", 1, *(["--resume"] if cut else []), first, second)
            noted(folder, "far-pid")
            while run.process.poll() is None and sum(_whole_sizes(target)) < enough:
                time.sleep(0.0005)
            if run.process.poll() is None:
                _cut(folder, run, victim)
        there, part = _whole(source, target), part_bytes(target)
        said = _resumed(folder, first, second)
        sent = said["bytes"] - said["kept_bytes"]
        assert _whole(source, target).keys() == _whole(source, source).keys() and not parts(target), os.listdir(target)
        assert said["there_files"] == len(there) and said["there_bytes"] == sum(there.values()), said
        assert sent <= total - sum(there.values()) - part + AGAIN_MAX, (victim, pull, total, there, part, said)
        print(f"# {'pull' if pull else 'push'}, {victim}: {sum(there.values()) >> 20} MiB in place, {part >> 20} in parts, "
              f"{sent >> 20} of {total >> 20} sent", flush=True)


# ---- parts made by hand --------------------------------------------------------------------------

CHUNK = MIB


def _left(path: str, target: str, size: int, *args: object) -> None:
    """Has a sender break off after so many bytes of the file, as if its host had died."""
    stat = os.stat(path)
    with open(path, "rb") as f:
        content = f.read(size)
    enemy = attacker(SOCK_A)
    receiver, host = recv(target, *args)
    enemy.connect(host)
    seconds, ns = divmod(stat.st_mtime_ns, 1_000_000_000)
    tail = seconds.to_bytes(8, "big") + ns.to_bytes(4, "big") + bytes(12)
    enemy.send(raw.record(raw.OFFER, 1, os.path.basename(path).encode(), mode=0o640, size=stat.st_size, tail=tail))
    for at in range(0, size, 4 * MIB):
        enemy.send(raw.record(raw.DATA, 1, content[at:at + 4 * MIB], offset=at))
    enemy.close()
    assert receiver.wait() != OK, receiver.err
    assert ("kept for --resume" in receiver.err) == bool(parts(target)), receiver.err
    assert len(receiver.errors) == 1, receiver.err


def _again(path: str, target: str, *args: object) -> dict[str, int]:
    """Sends the file with --resume, which must work; returns what both ends say."""
    receiver, host = recv(target, "--json", *args)
    sender = send("--resume", "--json", path, host)
    sender.expect(OK)
    receiver.expect(OK)
    assert same_file(path, os.path.join(target, os.path.basename(path)))
    said: dict[str, int] = json.loads(sender.out)
    there = json.loads(receiver.out)
    for name in ("bytes", "kept_bytes", "there_files", "there_bytes"):
        assert said[name] == there[name], (name, said, there)
    return said


def _file(folder: str, size: int) -> tuple[str, str]:
    """A file of random content, and an empty folder to send it to."""
    target = os.path.join(folder, "in")
    os.mkdir(target)
    return make(folder, "f", random.Random(SEED).randbytes(size)), target


@case("resume: of a part, what differs is sent again, and nothing else")
def what_differs(folder: str) -> None:
    path, target = _file(folder, 9 * CHUNK + 77)
    for spoilt in ((), (0,), (1, 4), tuple(range(6))):
        _left(path, target, 6 * CHUNK + 1000)
        (name,) = parts(target)
        with open(os.path.join(target, name), "r+b") as f:
            for chunk in spoilt:
                f.seek(chunk * CHUNK + 5)
                f.write(b"spoilt")
        said = _again(path, target)
        assert said["kept_bytes"] == (6 - len(spoilt)) * CHUNK, (spoilt, said)
        assert os.listdir(target) == ["f"], os.listdir(target)
        os.remove(os.path.join(target, "f"))


@case("resume: a part that another process holds, and one of another time, are left alone")
def other_parts(folder: str) -> None:
    path, target = _file(folder, 5 * CHUNK)
    _left(path, target, 3 * CHUNK)
    (name,) = parts(target)
    with open(os.path.join(target, name), "rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert _again(path, target)["kept_bytes"] == 0
    os.remove(os.path.join(target, "f"))
    os.utime(path, ns=(0, 981173106_000000001))
    assert _again(path, target)["kept_bytes"] == 0
    assert sorted(os.listdir(target)) == [name, "f"], os.listdir(target)
    os.utime(os.path.join(target, name), (0, 0))
    os.remove(os.path.join(target, "f"))
    _again(path, target)
    assert os.listdir(target) == ["f"], os.listdir(target)  # nobody has come back for the part in a day


@case("resume: nothing is kept with --keep-partial 0")
def not_kept(folder: str) -> None:
    path, target = _file(folder, 5 * CHUNK)
    _left(path, target, 3 * CHUNK, "--keep-partial", 0)
    assert os.listdir(target) == [], os.listdir(target)
    assert _again(path, target)["kept_bytes"] == 0


@case("resume: files that are there are not sent; others of their name are kept, or replaced if that is asked for")
def there(folder: str) -> None:
    rng = random.Random(SEED)
    source, target = os.path.join(folder, "src"), os.path.join(home(folder), "in")
    os.makedirs(os.path.join(source, "sub"))
    os.mkdir(target)
    for i in range(40):
        make(os.path.join(source, "sub") if i % 3 else source, f"f{i:02}", rng.randbytes(rng.randrange(5000)))
    run = cp(folder, "-r", "--resume", "-q", source + "/.", "me@far:in")
    run.expect(OK)
    said = _resumed(folder, source + "/.", "me@far:in")
    assert (said["files"], said["bytes"], said["there_files"]) == (0, 0, 40), said
    changed = os.path.join(source, "sub", "f01")
    make(source, "sub/f01", b"new")
    run = cp(folder, "-r", "--resume", source + "/.", "me@far:in", "-q")
    run.expect(REMOTE, HOST, "sub/f01", "--overwrite")
    said = _resumed(folder, source + "/.", "me@far:in", "--overwrite")
    assert (said["files"], said["bytes"], said["there_files"]) == (1, 3, 39), said
    assert same_file(changed, os.path.join(target, "sub", "f01"))
    os.remove(os.path.join(target, "f00"))
    os.remove(os.path.join(source, "f03"))  # the second walk and the first one need not find the same
    said = _resumed(folder, source + "/.", "me@far:in")
    assert (said["files"], said["there_files"]) == (1, 38), said


@case("resume: a sparse file keeps its holes, and a stream is sent whole")
def sparse(folder: str) -> None:
    path, target = _file(folder, 6 * CHUNK)
    with open(path, "r+b") as f:
        f.truncate(0)
        f.seek(5 * CHUNK)
        f.write(b"end")
        f.truncate(40 * CHUNK)
    _left(path, target, 3 * CHUNK)  # the zeros came as data
    said = _again(path, target)
    assert said["kept_bytes"] == 3 * CHUNK, said
    assert os.stat(os.path.join(target, "f")).st_blocks * 512 < 5 * CHUNK
    receiver, host = recv(target)
    sender, pipe = feeding("--resume", "-", host)
    os.write(pipe, b"stream")
    os.close(pipe)
    sender.expect(OK)
    receiver.expect(OK)
    with open(os.path.join(target, "stdin"), "rb") as f:
        assert f.read() == b"stream"


@case("resume: what a transfer has left in a tree is not sent, and said")
def left_in_tree(folder: str) -> None:
    source, target = os.path.join(folder, "src"), os.path.join(home(folder), "in")
    os.mkdir(source)
    os.mkdir(target)
    make(source, "f", b"whole")
    make(source, ".f.part-0123456789abcdef", b"half")
    run = cp(folder, "-r", source + "/.", "me@far:in")
    run.expect(OK, ".f.part-0123456789abcdef: an incomplete file of another transfer: not sent", lines=1)
    assert os.listdir(target) == ["f"], os.listdir(target)


@case("resume: options that are wrong")
def wrong_options(folder: str) -> None:
    cp(folder, "--keep-partial", "1week", "x", "far:").expect(USAGE, "--keep-partial", "its unit is none of")
    cp(folder, "--resume=yes", "x", "far:").expect(USAGE, "--resume")


@case("resume: of two files of one name, the last one replaces the first one, as without --resume")
def one_name(folder: str) -> None:
    target = os.path.join(home(folder), "in")
    os.mkdir(target)
    for name in ("a", "b"):
        os.mkdir(os.path.join(folder, name))
    first, last = make(folder, "a/f", b"first"), make(folder, "b/f", b"the last")
    for content in (None, first, last):  # nothing is there, or one of them, with its time
        if content is not None:
            shutil.copy2(content, os.path.join(target, "f"))
        run = cp(folder, "--resume", "--json", "-v", "--overwrite", first, last, "me@far:in")
        assert run.wait() == OK, run.err
        assert ("1 file of 5 B was there already" in run.err) == (content == first), run.err
        assert same_file(os.path.join(target, "f"), last), content
        assert json.loads(run.out)["files"] == (1 if content == first else 2), run.out


@case("resume: an interrupted receiver says that it keeps a part, but not with -q")
def quiet(folder: str) -> None:
    source, target = make(folder, "f", bytes(192 * MIB)), os.path.join(folder, "in")
    os.mkdir(target)
    for option in ("-v", "-q"):
        run = cp(folder, option, "--buffers", 1, "me@far:" + source, target)
        while run.process.poll() is None and part_bytes(target) < 2 * CHUNK:
            time.sleep(0.0005)
        run.signal(signal.SIGINT)
        run.wait()
        assert ("kept for --resume" in run.err) == (option == "-v"), (option, run.err)
        (name,) = parts(target)
        os.remove(os.path.join(target, name))
