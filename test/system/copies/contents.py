# SPDX-License-Identifier: BSD-3-Clause
"""Cases of copies_test.py: files arrive as they were, under the names that were meant."""
import json
import os
import random

from .cases import ODD, RSH, copy, cp, home, noted
from ..files_cases import ADDR_B, LOCAL, MIB, OK, REMOTE, SOCK_B, Run, case, listing, make, parts, same_file


@case("push and pull of a file: content, mode, time")
def one_file(folder: str) -> None:
    path = make(folder, "f", random.Random(1).randbytes(9 * MIB + 17))
    os.chmod(path, 0o640)
    os.utime(path, ns=(1, 1_234_567_890_123_456_789))
    target, back = os.path.join(home(folder), "in"), os.path.join(folder, "back")
    os.mkdir(target)
    os.mkdir(back)
    copy(folder, "-p", path, "me@far:in")
    copy(folder, "me@far:in/f", back)
    for there in (target, back):
        assert same_file(path, os.path.join(there, "f"))
        st = os.stat(os.path.join(there, "f"))
        assert (st.st_mode & 0o777, st.st_mtime_ns) == (0o640, 1_234_567_890_123_456_789), st


@case("push and pull of trees and several sources")
def trees(folder: str) -> None:
    tree = os.path.join(folder, "tree")
    os.makedirs(os.path.join(tree, "a", "b"))
    os.mkdir(os.path.join(tree, "empty"))
    for i in range(40):
        make(os.path.join(tree, "a", "b"), f"f{i}", bytes([i]) * (i * 999))
    single = make(folder, "single", b"one more")
    back = os.path.join(folder, "back")
    os.mkdir(back)
    os.mkdir(os.path.join(home(folder), "in"))
    copy(folder, "-r", tree, single, "far:in/")
    copy(folder, "-r", "far:in/tree", "far:in/single", back)
    for there in (os.path.join(home(folder), "in"), back):
        assert listing(os.path.join(there, "tree")) == listing(tree)
        assert same_file(single, os.path.join(there, "single"))
    other = os.path.join(folder, "other")
    os.mkdir(other)
    copy(folder, "-r", "far:in/tree/.", other)
    assert listing(other) == listing(tree)


@case("names mean what they say, at both ends: no shell reads them")
def odd_names(folder: str) -> None:
    back = os.path.join(folder, "back")
    os.mkdir(back)
    os.mkdir(os.path.join(home(folder), "in"))
    for name in ODD:
        make(folder, name, os.fsencode(name))
    copy(folder, *(os.path.join(folder, n) for n in ODD), "far:in")
    copy(folder, *("far:in/" + n for n in ODD), back)
    for name in ODD:
        copy(folder, os.path.join(folder, name), f"far:./{name}")  # as the name of the target
        copy(folder, f"far:{'./' if name[0] == '~' else ''}{name}", os.path.join(back, "again " + name))
        for there in (os.path.join(home(folder), "in", name), os.path.join(home(folder), name),
                      os.path.join(back, name), os.path.join(back, "again " + name)):
            assert same_file(there, os.path.join(folder, name)), there
    assert len(os.listdir(os.path.join(home(folder), "in"))) == len(ODD)
    assert len(os.listdir(home(folder))) == len(ODD) + 1, os.listdir(home(folder))
    for name in ODD:
        assert name not in noted(folder, "argv"), noted(folder, "argv")


@case("where a path starts: home directories, and targets that are a name")
def places(folder: str) -> None:
    path = make(folder, "f", b"content")
    copy(folder, path, "far:")
    copy(folder, path, "far:~/second")
    copy(folder, path, "far:third:x")
    copy(folder, path, "far:" + os.path.join(folder, "fourth"))
    for there in (os.path.join(home(folder), "f"), os.path.join(home(folder), "second"),
                  os.path.join(home(folder), "third:x"), os.path.join(folder, "fourth")):
        assert same_file(path, there), there
    for source in ("far:~/", "far:", "far:~"):
        back = os.path.join(folder, "back" + source[4:].replace("/", "s"))
        os.mkdir(back)
        copy(folder, "-r", source, back)
        assert sorted(os.listdir(back)) == ["f", "second", "third:x"], os.listdir(back)
    copy(folder, "far:third:x", os.path.join(folder, "local"))
    copy(folder, "far:f", os.path.join(folder, "a:b"))
    assert same_file(path, os.path.join(folder, "local")) and same_file(path, os.path.join(folder, "a:b"))


@case("standard input and output, here only")
def streams(folder: str) -> None:
    reader, writer = os.pipe()
    run = cp(folder, "-", "far:stream", stdin=reader)
    os.close(reader)
    os.write(writer, b"through a pipe")
    os.close(writer)
    run.expect(OK)
    with open(os.path.join(home(folder), "stream"), "rb") as f:
        assert f.read() == b"through a pipe"
    run = cp(folder, "far:stream", "-")
    run.expect(OK)
    assert run.out == "through a pipe", run.out
    copy(folder, make(folder, "f", b"a file"), "far:-")
    copy(folder, "far:-", os.path.join(folder, "dash"))
    with open(os.path.join(folder, "dash"), "rb") as f:
        assert f.read() == b"a file"
    assert sorted(os.listdir(home(folder))) == ["-", "stream"]
    copy(folder, "far:/dev/stdin", os.path.join(folder, "nothing"))  # and not what the two ends say to each other
    assert os.path.getsize(os.path.join(folder, "nothing")) == 0


@case("existing files are kept, or replaced with --overwrite")
def existing(folder: str) -> None:
    path = make(folder, "f", b"new")
    make(folder, "g", b"g")
    os.mkdir(os.path.join(folder, "back"))
    for name in (os.path.join(home(folder), "f"), os.path.join(folder, "back", "f")):
        make(os.path.dirname(name), "f", b"old")
    run = cp(folder, path, os.path.join(folder, "g"), "me@far:")
    run.expect(REMOTE, "me@far: f: ", "kept", "--overwrite")
    run = cp(folder, "me@far:f", "me@far:g", os.path.join(folder, "back"))
    run.expect(LOCAL, "sluice: f: ", "kept", "--overwrite")
    cp(folder, path, "me@far:f").expect(REMOTE, "me@far: f: ", "File exists", "--overwrite")
    cp(folder, "me@far:g", os.path.join(folder, "back", "f")).expect(LOCAL, "File exists", "--overwrite")
    for there in (home(folder), os.path.join(folder, "back")):
        with open(os.path.join(there, "f"), "rb") as f:
            assert f.read() == b"old"
        with open(os.path.join(there, "g"), "rb") as f:
            assert f.read() == b"g"
    copy(folder, "--overwrite", path, "far:")
    copy(folder, "--overwrite", "far:f", os.path.join(folder, "back"))
    for there in (home(folder), os.path.join(folder, "back")):
        assert same_file(path, os.path.join(there, "f"))


@case("final line, JSON and silence, for push and pull alike")
def reports(folder: str) -> None:
    path = make(folder, "f", bytes(MIB))
    for direction, source, target, line in (("push", path, "far:f1", "sent 1 file"),
                                            ("pull", "far:f1", os.path.join(folder, "f2"), "received 1 file")):
        run = cp(folder, "-v", source, target, "--overwrite")
        run.expect(OK, line, "1048576 bytes")
        assert len(run.err.splitlines()) == 1, run.err
        run = cp(folder, "--json", source, target, "--overwrite")
        run.expect(OK)
        result = json.loads(run.out)
        assert (result["command"], result["direction"], result["exit"], result["files"],
                result["bytes"]) == ("cp", direction, 0, 1, MIB), result
        assert run.err == "", run.err
        rates = os.path.join(folder, "rates")
        run = cp(folder, "-q", "--rates", rates, source, target, "--overwrite")
        run.expect(OK)
        assert run.err == run.out == "" and os.path.getsize(rates) > 20, run.err
    link = os.path.join(home(folder), "dir")
    os.mkdir(link)
    os.symlink("nowhere", os.path.join(link, "link"))
    run = cp(folder, "-r", "me@far:dir", folder)
    run.expect(OK, lines=1)
    assert run.err.startswith("sluice: me@far: dir/link: a symbolic link: not sent"), run.err
    run = cp(folder, "-rq", "me@far:dir", folder)
    run.expect(OK)


@case("options reach the end that they concern")
def options(folder: str) -> None:
    path = make(folder, "f", bytes([7]) * 9000)
    cp(folder, "--max-size", "8K", path, "me@far:").expect(REMOTE, "me@far: f: ", "larger", "--max-size")
    cp(folder, "--max-size", "8K", "me@far:" + path, home(folder)).expect(LOCAL, "f: ", "larger", "--max-size")
    for more in (["--fsync", "--buffers", "1", "--go-back-N"], ["--address", ADDR_B], ["--port", "23456"],
                 ["-e", RSH]):
        copy(folder, *more, "--overwrite", path, "far:")
    address_a = os.environ["SLUICE_ADDR_A"]
    for more in (["--fsync", "--buffers", "1", "--go-back-N"], ["--address", address_a], ["--port", "23456"]):
        copy(folder, *more, "--overwrite", "far:f", os.path.join(folder, "g"))
    assert same_file(path, os.path.join(folder, "g"))


@case("two copies at once, and two receivers with any free service")
def side_by_side(folder: str) -> None:
    paths = [make(folder, f"f{i}", random.Random(i).randbytes(5 * MIB)) for i in range(3)]
    runs = [cp(folder, path, "far:") for path in paths]
    for run in runs:
        run.expect(OK)
    for path in paths:
        assert same_file(path, os.path.join(home(folder), os.path.basename(path)))
    receivers = [Run("recv", "-p", "0", "--once", "--json", "-o", home(folder), "--overwrite", sock=SOCK_B)
                 for _ in range(2)]
    for receiver, path in zip(receivers, paths):
        receiver.ready()
        first = json.loads(receiver.out.splitlines()[0])
        assert first["command"] == "recv" and first["port"] >= 49152, first
        assert f"waiting on port {first['port']}\n" in receiver.err
        Run("send", path, f"{ADDR_B}:{first['port']}", sock=os.environ["SLUICE_SOCK_A"]).expect(OK)
        receiver.expect(OK)
    assert not parts(folder)
