# SPDX-License-Identifier: BSD-3-Clause
"""Cases of copies_test.py: errors of either end reach the user, with the name of the host."""
import os
import random

from .cases import HOST, copy, cp, gone, home, noted
from ..files_cases import (DAEMON, LOCAL, MIB, PEER, REMOTE, SLUICE, USAGE, case, make, same_file, small_disk, wait_for,
                           without_override)


@case("wrong command lines")
def usage(folder: str) -> None:
    path = make(folder, "f", b"x")
    for words, *args in (("missing", path), ("missing",), ("no side names a host", path, folder),
                         ("both sides are on one host", "a:x", "a:y"),
                         ("both sides are on one host", "-r", "a:x", "a:z", "a:y"),
                         ("--manifest needs", "--manifest", folder + "/m", "a:x", "b:y"),
                         ("--rates needs", "--rates", folder + "/r", "a:x", "b:y"),
                         ("different hosts", "a:x", "b:x", folder), ("different hosts", "a:x", "b:x", "c:y"),
                         ("some sources are here", path, "a:x", "b:y"), ("some sources are here", "a:x", path, "b:y"),
                         ("some sources are here", "-", "a:x", "b:y"), ("some sources are here", path, "a:x", folder),
                         ("some sources are here", "a:x", path, folder),
                         ("option", "-r", "--", "-oProxyCommand=x:f", folder),
                         ("user or the host", path, "@h:x"), ("characters", path, "a b:x"), ("empty", path, ""),
                         ("no address", "--address", "far", path, "far:"),
                         ("no address", "--address", "10.0.0.1/24", path, "far:"),
                         ("--buffers", "--buffers", "65", path, "far:"),
                         ("--port", "--port", "65536", path, "far:"), ("--rsh", "-e", "", path, "far:"),
                         ("--rsh", "-e", "ssh 'x", path, "far:"), ("--name", "--name", "../x", "-", "far:"),
                         ("only once", "-", "-", "far:"), ("no such option", "--frob", path, "far:"),
                         ("--server", "--server", path)):
        cp(folder, *args).expect(USAGE, words)
    assert not os.path.exists(os.path.join(folder, "rsh-log", "argv")), "a remote shell was started"


@case("files and directories here")
def here(folder: str) -> None:
    path = make(folder, "f", b"x")
    cp(folder, os.path.join(folder, "missing"), "far:").expect(LOCAL, "missing: No such file")
    cp(folder, folder, "far:").expect(LOCAL, "is a directory", "-r")
    cp(folder, "far:x", os.path.join(folder, "no", "such")).expect(LOCAL, "No such file")
    cp(folder, "far:x", os.path.join(folder, "new/")).expect(LOCAL, "No such file", "mkdir")
    cp(folder, "far:x", "far:y", path).expect(LOCAL, "--overwrite")
    cp(folder, "far:x", "far:y", os.path.join(folder, "new")).expect(LOCAL, "is no directory", "mkdir")
    cp(folder, path, "far:", near_sock=os.path.join(folder, "nowhere.sock")).expect(DAEMON, "nowhere.sock")
    cp(folder, "far:f", folder, near_sock=os.path.join(folder, "nowhere.sock")).expect(DAEMON, "nowhere.sock")
    assert not os.path.exists(os.path.join(folder, "rsh-log", "argv")), "a remote shell was started"


@case("files and directories there")
def there(folder: str) -> None:
    path, back = make(folder, "f", b"x"), os.path.join(folder, "back")
    os.mkdir(back)
    os.mkdir(os.path.join(home(folder), "dir"))
    make(home(folder), "f", b"x")
    cp(folder, "me@far:missing", back).expect(REMOTE, f"{HOST}: missing: No such file")
    cp(folder, "me@far:dir", back).expect(REMOTE, f"{HOST}: dir: is a directory", "-r")
    cp(folder, "-r", "me@far:dir", back + "/new").expect(REMOTE, f"{HOST}: dir: is a directory", "mkdir")
    cp(folder, path, "me@far:no/such").expect(REMOTE, f"{HOST}: no: No such file")
    cp(folder, path, "me@far:new/").expect(REMOTE, HOST, "mkdir")
    cp(folder, path, path, "me@far:new").expect(REMOTE, f"{HOST}: new: is no directory", "mkdir")
    cp(folder, "-r", back, "me@far:new").expect(REMOTE, f"{HOST}: new: is no directory", "mkdir")
    cp(folder, path, "me@far:~nobody-has-this/x").expect(REMOTE, HOST, "no such user")
    cp(folder, path, "me@far:dir/../f").expect(REMOTE, f"{HOST}: dir/../f: File exists")
    assert os.listdir(back) == [] and sorted(os.listdir(home(folder))) == ["dir", "f"]


@case("no permission there: the rest arrives")
def permission(folder: str) -> None:
    tool = " ".join((*without_override(), os.path.abspath(SLUICE)))
    tree, back = os.path.join(home(folder), "tree"), os.path.join(folder, "back")
    os.mkdir(tree)
    os.mkdir(back)
    make(tree, "good", b"good")
    os.chmod(make(tree, "secret", b"x"), 0)
    closed = os.path.join(home(folder), "closed")
    os.mkdir(closed, 0o555)
    words = f"{HOST}: tree/secret: Permission denied"
    cp(folder, "--remote-path", tool, "-r", "me@far:tree", back).expect(REMOTE, words)
    assert os.listdir(os.path.join(back, "tree")) == ["good"], os.listdir(back)
    cp(folder, "--remote-path", tool, "me@far:tree/secret", back).expect(REMOTE, words)
    path = make(folder, "f", b"x")
    cp(folder, "--remote-path", tool, path, "me@far:closed").expect(REMOTE, HOST, "closed: Permission denied")
    os.chmod(os.path.join(home(folder), "closed"), 0o755)


@case("full disk there, and here")
def full_disk(folder: str) -> None:
    with small_disk(folder) as small:
        paths = [make(folder, f"f{i}", random.Random(i).randbytes(2 * MIB)) for i in range(3)]
        cp(folder, *paths, "me@far:" + small).expect(REMOTE, f"{HOST}: f1: ", "No space left")
        assert os.listdir(small) == ["f0"] and same_file(paths[0], os.path.join(small, "f0"))
        os.remove(os.path.join(small, "f0"))
        run = cp(folder, *("me@far:" + p for p in paths), small)
        assert run.wait() == LOCAL and "sluice: f1: " in run.err and "No space left" in run.err, run.err
        assert HOST not in run.err, run.err
        assert os.listdir(small) == ["f0"], os.listdir(small)


@case("no daemon there, no sluice there, no remote shell, no login")
def nobody(folder: str) -> None:
    path = make(folder, "f", b"x")
    nowhere = os.path.join(folder, "nowhere.sock")
    for source, target in ((path, "me@far:"), ("me@far:" + path, folder + "/g")):
        cp(folder, source, target, far_sock=nowhere).expect(PEER, f"{HOST}: ", "nowhere.sock")
        run = cp(folder, "--remote-path", "/nonexistent/sluice", source, target)
        assert run.wait() == PEER, run.err
        assert f"sluice: {HOST}: sluice is not found there" in run.err and "--remote-path" in run.err, run.err
        cp(folder, source, target, rsh="/nonexistent/ssh -x").expect(PEER, "/nonexistent/ssh: No such file", "--rsh")
        run = cp(folder, source, target, fault="login")
        assert run.wait() == PEER, run.err
        assert "ssh: connect to host" in run.err and f"{HOST}: " in run.err and "cannot log in" in run.err, run.err
        run = cp(folder, "--remote-path", os.path.abspath(SLUICE) + " no-such-command;", source, target)
        assert run.wait() == PEER and f"{HOST}: " in run.err and "before sluice there began" in run.err, run.err
        assert sorted(os.listdir(folder)) == ["f", "home", "rsh-log"]


@case("an address that cannot be reached")
def addresses(folder: str) -> None:
    path = make(folder, "f", b"x")
    run = cp(folder, "--address", "10.91.0.1", path, "me@far:")
    assert run.wait() == PEER and "sluice: no port leads to 10.91.0.1" in run.err, run.err
    run = cp(folder, "--address", "10.91.0.1", "me@far:" + path, folder + "/g")
    assert run.wait() == PEER and f"sluice: {HOST}: no port leads to 10.91.0.1" in run.err, run.err
    cp(folder, path, "me@far:", fault="address").expect(PEER, f"{HOST}: no way to its ports (10.91.0.2/24, fd91::2/64)",
                                                        "(10.90.0.1/24, fd90::1/64)", "--address")
    wait_for("the far end, which waits for a connection, ends", lambda: gone(int(noted(folder, "far-pid"))), 10)
    cp(folder, "me@far:" + path, folder + "/g", fault="address").expect(
        PEER, f"{HOST}: no way from its ports (10.90.0.2/24, fd90::2/64)", "(10.91.0.1/24, fd91::1/64)", "--address")
    assert sorted(os.listdir(folder)) == ["f", "home", "rsh-log"]


@case("what is on the command line of the remote shell")
def command_line(folder: str) -> None:
    path = make(folder, "f", b"x")
    copy(folder, path, "[fd90::1]:g")
    words = noted(folder, "argv").split("\0")
    assert words[1:] == ["fd90::1", os.path.abspath(SLUICE), "cp", "--server"], words
