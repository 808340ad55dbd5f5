# SPDX-License-Identifier: BSD-3-Clause
"""Cases of syncs_test.py: what is sent, kept, deleted and refused."""
import functools
import glob
import math
import os
import random
import shutil
import signal
import subprocess
import time

from ..copies.cases import HOST, gone, home, noted, notes
from ..files_cases import (LOCAL, MIB, OK, REMOTE, SEED, USAGE, case, make, part_bytes, same_file, small_disk, wait_for,
                           without_override)
from .cases import counted, sync, synced, there
from .trees import snapshot

CHUNK = MIB


def _folders(folder: str) -> tuple[str, str]:
    """An empty source, and an empty target at the far end."""
    source, target = os.path.join(folder, "src"), there(folder)
    os.mkdir(source)
    os.mkdir(target)
    return source, target


def _edited(content: bytes, rng: random.Random, edits: int) -> bytes:
    """Bytes are changed, put in and taken out, and pieces are moved to other places."""
    for _ in range(edits):
        at, length = rng.randrange(len(content) + 1), rng.randint(1, 300)
        what = rng.randrange(4)
        if what == 0:
            content = content[:at] + rng.randbytes(length) + content[at + length:]
        elif what == 1:
            content = content[:at] + rng.randbytes(length) + content[at:]
        elif what == 2:
            content = content[:at] + content[at + length:]
        else:
            to = rng.randrange(len(content) + 1)
            content = content[:to] + content[at:at + rng.randint(1, 200_000)] + content[to:]
    return content


@case("of a changed file, only what the target does not have is sent, wherever it has it")
def changed_places(folder: str) -> None:
    source, target = _folders(folder)
    rng = random.Random(SEED)
    for size, edits in ((20_000, 1), (300_000, 3), (2_000_000, 8), (9 * MIB + 77, 20), (9 * MIB, 0)):
        content = rng.randbytes(size)
        copy = make(target, "f", content)
        os.utime(copy, ns=(0, 0))
        inode = os.stat(copy).st_ino
        path = make(source, "f", _edited(content, rng, edits))
        said = counted(folder, source + "/", "me@far:in")
        assert same_file(path, copy) and os.stat(copy).st_ino != inode, "a new file takes the place"
        block = max(512, math.isqrt(size * 11 // 20) + 512)
        # An edit spoils the blocks that it touches, at most two, and is sent itself; a piece that was put somewhere
        # else has a block more at either end. The end of the file, which is no block, is sent.
        most = edits * (5 * block + 300) + block
        assert said["bytes"] - said["kept_bytes"] <= most, (size, edits, most, said)
    os.truncate(path, 4 * MIB + 1)
    said = counted(folder, source + "/", "me@far:in")
    assert said["kept_bytes"] >= 4 * MIB - 4096 and same_file(path, copy), said
    make(source, "f", rng.randbytes(100_000))
    assert counted(folder, source + "/", "me@far:in")["kept_bytes"] == 0
    os.utime(path, ns=(0, 0))
    assert counted(folder, "-W", source + "/", "me@far:in")["kept_bytes"] == 0


@case("holes of a changed file stay holes, and are where they were")
def changed_holes(folder: str) -> None:
    source, target = _folders(folder)
    rng = random.Random(SEED)
    path, copy = os.path.join(source, "f"), os.path.join(target, "f")
    with open(path, "wb") as f:
        for _ in range(20):
            f.seek(rng.randrange(16) * MIB + rng.randrange(256) * 4096)
            f.write(rng.randbytes(rng.randint(1, 60_000)))
        f.truncate(1 << 30)
    synced(folder, source + "/", "me@far:in")
    with open(path, "r+b") as f:
        f.seek(rng.randrange(16 * MIB))
        f.write(b"changed")
        f.seek(rng.randrange(64) * 16 * MIB)
        f.write(bytes(8192))  # zeros, where a hole was
    said = counted(folder, source + "/", "me@far:in")
    assert same_file(path, copy), said
    assert said["bytes"] - said["kept_bytes"] - said["hole_bytes"] < 400_000, said
    more = os.stat(copy).st_blocks * 512 - os.stat(path).st_blocks * 512
    assert more <= 2 * 65536, (os.stat(path).st_blocks, os.stat(copy).st_blocks)


@case("a basis that is no file of its own is not read, and links of it are left alone")
def odd_basis(folder: str) -> None:
    source, target = _folders(folder)
    secret = make(folder, "secret", bytes(3 * CHUNK))
    path = make(source, "f", bytes(3 * CHUNK))
    os.symlink(secret, os.path.join(target, "f"))
    os.utime(secret, ns=(0, 0))
    said = counted(folder, source + "/", "me@far:in")
    assert said["kept_bytes"] == 0 and same_file(path, os.path.join(target, "f")), said
    assert os.stat(secret).st_mtime_ns == 0 and not os.path.islink(os.path.join(target, "f"))
    os.remove(os.path.join(target, "f"))
    os.link(secret, os.path.join(target, "f"))
    with open(path, "r+b") as f:
        f.write(b"new")
    said = counted(folder, source + "/", "me@far:in")
    assert 2.9 * CHUNK < said["kept_bytes"] < 3 * CHUNK, said
    with open(secret, "rb") as f:
        assert f.read(3) == bytes(3), "the other name of the basis has been written to"


@case("with --checksum, content decides, and a file of another time only gets that")
def checksum(folder: str) -> None:
    source, target = _folders(folder)
    make(source, "same", b"content")
    make(source, "other", b"content")
    make(target, "same", b"content")
    make(target, "other", b"CONTENT")
    for name in ("same", "other"):
        os.utime(os.path.join(source, name), ns=(0, 10**18))
    os.utime(os.path.join(target, "same"), ns=(0, 5 * 10**17))
    os.utime(os.path.join(target, "other"), ns=(0, 10**18))
    inode = os.stat(os.path.join(target, "same")).st_ino
    said = counted(folder, "--checksum", source + "/", "me@far:in")
    assert (said["files"], said["bytes"], said["there_files"]) == (1, 7, 1), said
    assert snapshot(target)["other"] == snapshot(source)["other"] and snapshot(target)["same"] == snapshot(source)["same"]
    assert os.stat(os.path.join(target, "same")).st_ino == inode


@case("what SRC/, SRC and DST mean")
def operands(folder: str) -> None:
    source, _ = _folders(folder)
    make(source, "f", b"1")
    os.symlink("src", os.path.join(folder, "link"))
    synced(folder, "-rlpt", source + "/", "me@far:in/contents")  # made, as it is missing
    synced(folder, source, "me@far:in")
    synced(folder, os.path.join(folder, "link"), "me@far:in")
    synced(folder, os.path.join(folder, "link") + "/", "me@far:in/followed")
    synced(folder, os.path.join(source, "f"), source + "/.", "me@far:in/two")
    back = os.path.join(folder, "back")
    synced(folder, "me@far:in/contents/", "me@far:in/src", back)
    found = snapshot(there(folder))
    assert sorted(found) == [".", "contents", "contents/f", "followed", "followed/f", "link", "src", "src/f", "two",
                             "two/f"], found
    assert found["link"][0] == "l", found["link"]
    assert sorted(snapshot(back)) == [".", "f", "src", "src/f"], snapshot(back)
    path = make(folder, "file", b"x")
    sync(folder, source + "/", "me@far:nowhere/in").expect(REMOTE, HOST, "mkdir -p")
    sync(folder, "me@far:in/", path).expect(LOCAL, path, "directory")
    sync(folder, path + "/", "me@far:in").expect(LOCAL, path)
    sync(folder, "-", "me@far:in").expect(USAGE, "sync: ", "./-")
    sync(folder, source, os.path.join(folder, "x")).expect(USAGE, "sync: ", "rsync(1)")
    sync(folder, "--resume", source, "me@far:in").expect(USAGE, "--resume")
    sync(folder, "-avz", source, "me@far:in").expect(USAGE, "nothing is compressed")


@case("the first of two sources that have a name counts")
def first_source(folder: str) -> None:
    source, target = _folders(folder)
    other = os.path.join(folder, "other")
    os.mkdir(other)
    for where, content in ((source, b"first"), (other, b"second")):
        make(where, "f", content)
        make(where, content.decode(), b"")
    for _ in range(2):
        synced(folder, "--delete", source + "/", other + "/", "me@far:in")
        assert sorted(os.listdir(target)) == ["f", "first", "second"]
        assert same_file(os.path.join(target, "f"), os.path.join(source, "f"))


@case("--delete-before deletes first, so that what is sent has room, and says the same as --delete")
def deleted_before(folder: str) -> None:
    source = os.path.join(folder, "src")
    for name in ("d", "e"):
        os.makedirs(os.path.join(source, name))
    for i in range(3):
        make(os.path.join(source, "d"), f"f{i}", random.Random(i).randbytes(600_000))
    os.mkfifo(os.path.join(source, "e", "pipe"))
    with small_disk(folder) as small:
        target = os.path.join(small, "in")
        options = ("-i", "--exclude", "*.o", source + "/", "me@far:" + target)
        for option in ("--delete", ""):
            shutil.rmtree(target, ignore_errors=True)
            for name in ("old/deep", "e", "d"):
                os.makedirs(os.path.join(target, name))
            make(os.path.join(target, "old", "deep"), "x", random.Random(9).randbytes(2_000_000))
            for name in ("e/pipe", "kept.o", "d/gone", "old/y.o"):
                make(target, name, b"x")
            full = sync(folder, option, *options) if option else None
            assert full is None or (full.wait() == REMOTE and "No space left" in full.err), full.err
        run = sync(folder, "-n", "--delete-before", *options)
        run.expect(OK, lines=2)  # notes: old/ stays, for y.o is excluded, and the pipe is not sent
        foretold = run.out.splitlines()
        first = ["*deleting   d/gone", "*deleting   old/deep/x", "*deleting   old/deep/"]
        assert foretold[:3] == first and not any("deleting" in x for x in foretold[3:]), foretold
        assert os.path.exists(os.path.join(target, "d", "gone"))
        run = sync(folder, "--delete-before", *options)
        assert run.wait() == OK, run.err
        assert run.out.splitlines()[:3] == first, run.out
        for i in range(3):
            assert same_file(os.path.join(source, "d", f"f{i}"), os.path.join(target, "d", f"f{i}"))
        assert sorted(os.listdir(target)) == ["d", "e", "kept.o", "old"], os.listdir(target)
        assert os.listdir(os.path.join(target, "e")) == ["pipe"], "what is not sent stays"
        assert os.listdir(os.path.join(target, "old")) == ["y.o"]
    os.remove(os.path.join(source, "e", "pipe"))
    back = os.path.join(home(folder), "back")
    os.makedirs(os.path.join(back, "src", "old"))
    make(back, "beside", b"x")
    lines = synced(folder, "-i", "--delete-before", source, source + "/d", "me@far:back")
    assert "*deleting   src/old/" in lines and os.path.exists(os.path.join(back, "beside")), lines
    here = os.path.join(folder, "here")
    os.mkdir(here)
    make(here, "old", b"x")
    assert synced(folder, "-i", "--delete-before", "me@far:back/src/", here)[0] == "*deleting   old"
    sync(folder, "--files-from", make(folder, "names", b"d\n"), "--delete-before", source,
         "me@far:in").expect(USAGE, "--files-from", "--delete")


@case("nothing is deleted if not all of the source can be read")
def unread(folder: str) -> None:
    source, target = _folders(folder)
    make(source, "f", b"1")
    os.chmod(make(source, "unreadable", b"2"), 0)
    kept = make(target, "kept", b"3")
    prefix = without_override()
    for option in ("--delete", "--delete-before"):
        run = sync(folder, "-q", option, source + "/", "me@far:in", prefix=prefix)
        run.expect(LOCAL, "unreadable")
        assert os.path.exists(kept) and os.path.exists(os.path.join(target, "f"))
        run = sync(folder, option, source + "/", "me@far:in", prefix=prefix)
        run.wait()
        assert run.err.count("nothing was deleted") == 1, run.err
        os.remove(os.path.join(target, "f"))
    os.chmod(os.path.join(source, "unreadable"), 0o600)
    synced(folder, "--delete", source + "/", "me@far:in")
    assert not os.path.exists(kept)


@case("nothing is deleted beside what was synced, nor through links, nor by a sync that is cut off")
def not_deleted(folder: str) -> None:
    source, target = _folders(folder)
    outside = os.path.join(folder, "outside")
    os.mkdir(outside)
    make(outside, "precious", b"!")
    make(source, "f", b"1")
    make(target, "beside", b"2")
    os.mkdir(os.path.join(target, "src"))
    os.mkdir(os.path.join(target, "src", "old"))
    os.symlink(outside, os.path.join(target, "src", "old", "link"))
    os.symlink(outside, os.path.join(target, "src", "link"))
    lines = synced(folder, "-i", "--delete", source, "me@far:in")
    assert sorted(x for x in lines if x[0] == "*") == [
        "*deleting   src/link", "*deleting   src/old/", "*deleting   src/old/link"], lines
    assert sorted(snapshot(target)) == [".", "beside", "src", "src/f"], snapshot(target)
    assert os.listdir(outside) == ["precious"]
    make(target, "src/old", b"3")
    big = os.path.join(source, "big")
    with open(big, "wb") as f:
        f.truncate(64 * MIB)
        f.write(bytes(8 * MIB))
    sync(folder, "--delete", "--max-size", "1M", source, "me@far:in").expect(REMOTE, HOST, "big", "--max-size")
    assert sorted(os.listdir(os.path.join(target, "src"))) == ["f"]  # that one could be read
    os.remove(big)


@case("a sync that is cut off leaves the old file or the new one, deletes nothing, and the next one goes on")
def cut_off(folder: str) -> None:
    source, target = _folders(folder)
    rng = random.Random(SEED)
    print(f"# SLUICE_SEED={SEED}", flush=True)
    path, copy = os.path.join(source, "f"), os.path.join(target, "f")
    for victim in ("near", "far-pid", "rsh-pid"):
        content = bytearray(rng.randbytes(96 * CHUNK))
        make(source, "f", bytes(content))
        for chunk in range(48, 96, 2):
            content[chunk * CHUNK + rng.randrange(CHUNK)] ^= 1
        old = make(target, "f", bytes(content))
        os.utime(old, ns=(0, 0))
        make(target, "gone", b"")
        for name in glob.glob(os.path.join(notes(folder), "*")):
            os.remove(name)
        run = sync(folder, "--buffers", 1, "--delete", source + "/", "me@far:in")
        far = [int(noted(folder, name)) for name in ("far-pid", "rsh-pid")]
        enough = rng.randrange(2 * CHUNK, 90 * CHUNK)
        while run.process.poll() is None and part_bytes(target) < enough:
            time.sleep(0.0005)
        if run.process.poll() is None:
            os.kill(run.process.pid if victim == "near" else int(noted(folder, victim)), signal.SIGKILL)
        over = run.wait() == OK
        for pid in far:
            wait_for("the end of the far end", functools.partial(gone, pid))
        part = part_bytes(target) // CHUNK * CHUNK
        # The sender is ahead: it may have said all that the receiver has to copy, and then be killed.
        over = over or same_file(path, copy)
        with open(copy, "rb") as f:
            assert over or f.read() == bytes(content), "the old file has changed"
        assert over or os.path.exists(os.path.join(target, "gone"))
        said = counted(folder, "--delete", source + "/", "me@far:in")
        assert over or said["kept_bytes"] >= max(part, 72 * CHUNK), (victim, part, said)
        assert snapshot(target) == snapshot(source), victim
        print(f"# {victim}: {part // CHUNK} MiB of 96 in a part, {said['kept_bytes'] // CHUNK} kept", flush=True)
    assert same_file(path, copy)


@case("what changes while another file is sent is not passed over, and no name gets the content of another")
def changed_meanwhile(folder: str) -> None:
    source, target = _folders(folder)
    make(source, "a", random.Random(SEED).randbytes(24 * MIB))
    there_already = make(source, "z", b"old")
    shutil.copy2(there_already, target)
    for name in ("x", "u"):
        make(source, name, b"first")
    os.link(os.path.join(source, "x"), os.path.join(source, "y"))
    shutil.copy2(os.path.join(source, "u"), target)
    run = sync(folder, "-aH", "--buffers", 1, "--bwlimit", "80Mbit", source + "/", "me@far:in")
    wait_for("a file is being sent", lambda: part_bytes(target) > 0)
    make(source, "z", b"newer")
    os.rename(make(source, "new", b"another"), os.path.join(source, "x"))
    run.expect(OK)

    def content(name: str) -> bytes:
        with open(os.path.join(target, name), "rb") as f:
            return f.read()
    assert content("z") == b"newer" and content("u") == b"first", (content("z"), content("u"))
    assert content("x") == b"another" and content("y") == b"first", (content("x"), content("y"))
    assert os.stat(os.path.join(target, "y")).st_nlink == 1


@case("a name that is a file in one source and a directory in another: the first one counts, with an error")
def clashes(folder: str) -> None:
    for first, second in (("a", "b"), ("b", "a")):
        target = there(folder)
        shutil.rmtree(target, ignore_errors=True)
        os.mkdir(target)
        for top in ("a", "b"):
            shutil.rmtree(os.path.join(folder, top), ignore_errors=True)
            os.makedirs(os.path.join(folder, top, "both"))
            make(os.path.join(folder, top, "both"), top, b"")
            make(os.path.join(folder, top), "only-" + top, b"")
        os.mkdir(os.path.join(folder, "a", "d"))
        make(os.path.join(folder, "a", "d"), "inside", b"x")
        make(os.path.join(folder, "b"), "d", b"file")
        run = sync(folder, "--delete", *(os.path.join(folder, top) + "/" for top in (first, second)), "me@far:in")
        said = {"a": "a directory", "b": "a file"}[first]
        run.expect(LOCAL, f"{second}/d: an earlier source has {said} of this name", "nothing was deleted", lines=2)
        assert os.path.isdir(os.path.join(target, "d")) == (first == "a")
        assert os.path.exists(os.path.join(target, "d", "inside")) == (first == "a")
        assert sorted(os.listdir(target)) == ["both", "d", "only-a", "only-b"], os.listdir(target)
        assert sorted(os.listdir(os.path.join(target, "both"))) == ["a", "b"]


@case("a pipe of the source is not sent, and what has its name stays")
def pipes(folder: str) -> None:
    source, target = _folders(folder)
    os.mkfifo(os.path.join(source, "pipe"))
    make(target, "pipe", b"stays")
    run = sync(folder, "--delete", source + "/", "me@far:in")
    run.expect(OK, "pipe: neither a file nor a directory: not sent", lines=1)
    assert os.listdir(target) == ["pipe"]


@case("a directory that is not empty gives way only with --delete")
def in_the_way(folder: str) -> None:
    source, target = _folders(folder)
    make(source, "x", b"1")
    os.symlink("x", os.path.join(source, "y"))
    for name in ("x", "y"):
        os.mkdir(os.path.join(target, name))
        make(target, name + "/kept", b"2")
    run = sync(folder, source + "/", "me@far:in")
    run.expect(REMOTE, HOST, lines=2)
    assert sorted(snapshot(target)) == [".", "x", "x/kept", "y", "y/kept"]
    synced(folder, "--delete", source + "/", "me@far:in")
    assert snapshot(target) == snapshot(source)


@case("directories that nobody may write to are synced, as a user without privileges")
def read_only(folder: str) -> None:
    source, target = _folders(folder)
    prefix = without_override()
    deep = os.path.join(source, "ro", "deep")
    os.makedirs(deep)
    for i in range(3):
        make(deep, f"f{i}", b"1")
        subprocess.run(["chmod", "555", deep, os.path.dirname(deep)], check=True)
        sync(folder, "--delete", source + "/", "me@far:in", prefix=prefix).expect(OK)
        assert snapshot(target) == snapshot(source)
        os.chmod(deep, 0o755)
        os.remove(os.path.join(deep, f"f{i}"))


@case("a tree of many files that is there is not sent")
def unchanged(folder: str) -> None:
    source, target = _folders(folder)
    rng = random.Random(SEED)
    for i in range(60):
        os.mkdir(os.path.join(source, f"d{i}"))
        for k in range(100):
            make(source, f"d{i}/f{k}", rng.randbytes(rng.randrange(300)))
    assert counted(folder, source + "/", "me@far:in")["files"] == 6000
    said = counted(folder, "--delete", source + "/", "me@far:in")
    assert (said["files"], said["bytes"], said["there_files"]) == (0, 0, 6000), said
    assert snapshot(target) == snapshot(source)
    assert os.path.isdir(home(folder))


@case("what is excluded is neither sent nor deleted, whoever sends")
def excluded(folder: str) -> None:
    source, target = _folders(folder)
    back = os.path.join(folder, "back")
    for where in (source, target, back):
        os.makedirs(os.path.join(where, "build"))
        make(where, "build/x", os.path.basename(where).encode())
        make(where, "f.o", os.path.basename(where).encode())
    make(source, "f.c", b"source")
    make(source, "kept.o", b"source")
    for where in (target, back):
        make(where, "gone", b"")
    rules = make(folder, "rules", b"# what is built\n\n+ kept.o\n*.o\n; and\n/build/\n")
    for first, second in ((source + "/", "me@far:in"), ("me@far:" + source + "/", back)):
        lines = synced(folder, "-i", "--delete", "--exclude-from", rules, first, second)
        assert sorted(x[12:] for x in lines) == ["./", "f.c", "gone", "kept.o"], lines
    for where in (target, back):
        assert sorted(snapshot(where)) == [".", "build", "build/x", "f.c", "f.o", "kept.o"]
        with open(os.path.join(where, "build", "x"), encoding="utf-8") as f:
            assert f.read() == os.path.basename(where), "it is not that of the source"
    sync(folder, "--exclude-from", folder + "/none", source, "me@far:in").expect(LOCAL, "none", "can be read")
    sync(folder, "--exclude=", source, "me@far:in").expect(USAGE, "--exclude: no pattern")


@case("--files-from: names that are not there, or that lead out of the source")
def names_of_a_list(folder: str) -> None:
    source, target = _folders(folder)
    make(source, "f", b"1")
    make(folder, "secret", b"2")
    names = make(folder, "names", b"f\nmissing\n")
    for first in (source, "me@far:" + source):
        second = os.path.join(folder, "back") if first != source else "me@far:in"
        sync(folder, "--files-from", names, first, second).expect(REMOTE if first != source else LOCAL, "missing", "--files-from")
    assert os.listdir(target) == ["f"] and os.listdir(os.path.join(folder, "back")) == ["f"]
    for bad in (b"../secret\n", b"a/../../secret\n"):
        make(folder, "names", bad)
        sync(folder, "--files-from", names, source, "me@far:in").expect(USAGE, names, "..")
    make(folder, "names", b"f\n")
    sync(folder, "--files-from", names, "--delete", source, "me@far:in").expect(USAGE, "--files-from", "--delete")
    sync(folder, "--files-from", names, source, source, "me@far:in").expect(USAGE, "--files-from")


@case("--delete-before: a name that cannot be told is an error, even if nothing is to be sent")
def untold(folder: str) -> None:
    prefix = without_override()
    source, target = _folders(folder)
    make(source, "f", b"same")
    make(source, "g", b"more")
    synced(folder, source + "/", "me@far:in")
    old = make(target, "old", b"x")
    os.chmod(os.path.join(source, "f"), 0)
    run = sync(folder, "-q", "--delete-before", source + "/", "me@far:in", prefix=prefix)
    run.expect(LOCAL, "src/f: ", "nothing was deleted")
    assert os.path.exists(old)
    os.chmod(os.path.join(source, "f"), 0o644)
    synced(folder, "--delete-before", source + "/", "me@far:in")
    assert not os.path.exists(old)


@case("a sync that is stopped deletes nothing more, at either end")
def stopped_deletion(folder: str) -> None:
    source, target = _folders(folder)
    make(source, "f", b"x")
    for way, options in (("push", ("--delete",)), ("push", ("--delete-before",)), ("pull", ("--delete",))):
        old = os.path.join(target, "old")
        for i in range(300):
            os.makedirs(os.path.join(old, f"{i:03}"))
            for j in range(100):
                open(os.path.join(old, f"{i:03}", f"{j}"), "wb").close()
        home_source = os.path.join(home(folder), "src")
        if way == "pull" and not os.path.exists(home_source):
            shutil.copytree(source, home_source)
        args = (source + "/", "me@far:in") if way == "push" else ("me@far:src/", target)
        run = sync(folder, "-q", *options, *args)
        wait_for("the first is gone", lambda: not os.path.exists(os.path.join(old, "000", "0")))
        run.signal(signal.SIGINT)
        assert run.wait() == 128 + signal.SIGINT, run.err
        time.sleep(0.3)
        left = len(os.listdir(old)) if os.path.exists(old) else 0
        assert left > 0, f"{way} {options}: all was deleted"
        time.sleep(0.3)
        assert len(os.listdir(old)) == left, f"{way} {options}: it goes on"
        shutil.rmtree(old)
