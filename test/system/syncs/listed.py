# SPDX-License-Identifier: BSD-3-Clause
"""Cases of syncs_test.py: manifests (--manifest), and checks against them (sluice verify)."""
import json
import os
import random
import shutil
import subprocess
from collections.abc import Sequence

from ..copies.cases import ODD, cp
from ..files_cases import LOCAL, MIB, OK, REMOTE, SEED, TRANSFER, USAGE, Run, Skip, case, make, parts, recv, send
from .cases import sync, synced, there


def _verify(*args: object, code: int = OK) -> list[str]:
    """The lines that the check prints, without an error. It needs no daemon."""
    run = Run("verify", *args)
    assert run.wait() == code, run.err
    assert not [x for x in run.errors if " right, " not in x], run.err
    return run.out.splitlines()


def _listed(manifest: str) -> dict[str, str]:
    """{name: hash} of the files that the manifest has, but for names with escapes."""
    with open(manifest, encoding="utf-8", errors="surrogateescape", newline="\n") as f:
        lines = f.read().split("\n")
    return {x[34:]: x[:32] for x in lines if x and x[0] not in "#\\"}


def _tree(folder: str, rng: random.Random) -> str:
    """A tree with odd names, links, an empty file and a large one."""
    top = os.path.join(folder, "src")
    os.makedirs(os.path.join(top, "d", "e"))
    for name in ODD:
        make(top, name, os.fsencode(name))
    make(top, "d/large", rng.randbytes(3 * MIB + 5))
    make(top, "d/e/empty", b"")
    os.symlink("d/large", os.path.join(top, "link > -> there"))
    os.symlink("nowhere", os.path.join(top, "d", "dangling"))
    os.link(os.path.join(top, "d", "large"), os.path.join(top, "d", "other"))
    return top


def _spoil(path: str, at: int) -> None:
    """Changes one bit; size and time stay."""
    times = os.stat(path)
    with open(path, "r+b") as f:
        f.seek(at)
        byte = f.read(1)[0]
        f.seek(at)
        f.write(bytes([byte ^ 0x10]))
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


@case("a manifest of a copy, of either end, lists what was moved; a check finds each flaw")
def of_copies(folder: str) -> None:
    manifest, pulled, back = (os.path.join(folder, x) for x in ("m", "n", "back"))
    top = _tree(folder, random.Random(SEED))
    os.mkdir(there(folder))
    os.mkdir(back)
    cp(folder, "-q", "-r", "--manifest", manifest, top, "me@far:in").expect(OK)
    assert len(_verify(manifest, there(folder), "--extra", "-v")) == len(ODD) + 3
    assert _verify(manifest, folder) == [], "names are those at the target, and so at the source"
    cp(folder, "-q", "-r", "--manifest", pulled, "me@far:in/src", back).expect(OK)
    with open(manifest, "rb") as a, open(pulled, "rb") as b:
        assert a.read() == b.read(), "both ends list the same"
    assert _verify(pulled, back, "--extra") == []

    spoilt = os.path.join(back, "src", "d", "large")
    _spoil(spoilt, 2 * MIB + 17)
    assert _verify(pulled, back, code=TRANSFER) == ["differs  src/d/large"]
    os.remove(spoilt)
    os.remove(os.path.join(back, "src", "new\nline"))
    make(back, "more", b"")
    assert _verify(pulled, back, "--extra", code=TRANSFER) == ["missing  src/d/large", "\\missing  src/new\\nline",
                                                               "extra    more"]
    run = Run("verify", "--json", pulled, back)
    assert run.wait() == TRANSFER
    said = json.loads(run.out)
    assert (said["exit"], said["missing"], said["differ"], said["right"]) == (TRANSFER, 2, 0, len(ODD) + 1), said


@case("a manifest of a sync also lists what was there already: files, links, further names")
def of_syncs(folder: str) -> None:
    manifest, pulled, back = (os.path.join(folder, x) for x in ("m", "n", "back"))
    rng = random.Random(SEED)
    top = _tree(folder, rng)
    entries = len(ODD) + 5  # large, other, empty and two links
    rounds: list[list[str]] = [[], ["-H"], ["-c"], ["-H", "-c"], []]
    for round_number, options in enumerate(rounds):
        if round_number == 3:
            make(top, "d/large", rng.randbytes(2 * MIB))
            os.remove(os.path.join(top, "d", "dangling"))
            entries -= 1
        synced(folder, "-q", "--delete", *options, "--manifest", manifest, top + "/", "me@far:in")
        assert len(_verify(manifest, there(folder), "--extra", "-v")) == entries, options
        assert _verify(manifest, top, "--extra") == []
        synced(folder, "-q", "--delete", *options, "--manifest", pulled, "me@far:in/", back)
        assert len(_verify(pulled, back, "--extra", "-v")) == entries, options
        with open(manifest, "rb") as a, open(pulled, "rb") as b:
            assert a.read() == b.read()
    # A sync by time passes over a file that was spoilt; the manifest of the source has the right hash.
    _spoil(os.path.join(there(folder), "d", "large"), 99)
    synced(folder, "-q", "--manifest", manifest, top + "/", "me@far:in")
    assert _verify(manifest, there(folder), code=TRANSFER) == ["differs  d/large", "differs  d/other"]
    synced(folder, "-q", "-c", "--manifest", manifest, top + "/", "me@far:in")
    assert _verify(manifest, there(folder)) == []


@case("a run that fails leaves the manifest as it was, and lists beside it what arrived")
def of_failures(folder: str) -> None:
    manifest, target = os.path.join(folder, "m"), there(folder)
    source = os.path.join(folder, "src")
    os.mkdir(source)
    os.makedirs(os.path.join(target, "b", "full"))
    for name in "abc":
        make(source, name, name.encode() * 1000)
    make(folder, "m", b"as it was")
    run = sync(folder, "-q", "--manifest", manifest, source + "/", "me@far:in")
    run.expect(REMOTE, "b")
    with open(manifest, "rb") as f:
        assert f.read() == b"as it was"
    incomplete = manifest + ".incomplete"
    assert sorted(_listed(incomplete)) == ["a", "c"]
    with open(incomplete, "rb") as f:
        assert f.read().endswith(b"\n# incomplete: files 2, links 0, bytes 2000\n")
    assert _verify("-q", incomplete, target, code=TRANSFER) == []
    assert not parts(folder), parts(folder)
    os.rmdir(os.path.join(target, "b", "full"))
    synced(folder, "-q", "--manifest", manifest, source + "/", "me@far:in")
    assert sorted(_listed(manifest)) == ["a", "b", "c"] and not os.path.exists(incomplete)
    cp(folder, "--manifest", os.path.join(folder, "none", "m"), source, "far:in").expect(LOCAL, "--manifest")
    sync(folder, "-n", "--manifest", manifest, source, "far:in").expect(USAGE, "dry run")


@case("manifests of send and recv, of several senders, of standard input, and of one file")
def of_plain_transfers(folder: str) -> None:
    ours, theirs, target = (os.path.join(folder, x) for x in ("m", "n", "in"))
    os.mkdir(target)
    receiver, host = recv(target, "--count", 2, "--manifest", theirs, once=False)
    send("--manifest", ours, make(folder, "a", b"alpha"), host).expect(OK)
    send("--name", "typed", "-", host, stdin=os.open(make(folder, "b", b"beta"), os.O_RDONLY)).expect(OK)
    receiver.expect(OK)
    assert _listed(theirs).keys() == {"a", "typed"} and _listed(ours) == {"a": _listed(theirs)["a"]}
    assert _verify(theirs, target, "--extra") == [] and _verify(ours, target) == []

    single = os.path.join(folder, "single")
    receiver, host = recv(single, "--manifest", theirs)
    send(os.path.join(folder, "a"), host).expect(OK)
    receiver.expect(OK)
    assert _verify(theirs, folder, "-v") == ["ok       single"], "under the name that it got here"

    # A signal is the usual end of a receiver that counts nothing. What a sender finds there is listed, too.
    receiver, host = recv(target, "--manifest", theirs, once=False)
    send("--resume", os.path.join(folder, "a"), make(folder, "c", b"gamma"), host).expect(OK)
    receiver.signal(2)
    assert receiver.wait() == OK and "1 file of 5 B was there" in receiver.err, receiver.err
    assert _listed(theirs).keys() == {"a", "c"} and _verify(theirs, target) == []


def _xxhsum(manifest: str, folder: str) -> list[str]:
    """What `xxhsum -c` says of each name, and its exit code."""
    tool = shutil.which("xxhsum")
    if tool is None:
        raise Skip("xxhsum is missing")
    done = subprocess.run([tool, "-c", manifest], cwd=folder, capture_output=True, check=False, timeout=60)
    lines = os.fsdecode(done.stdout).splitlines()
    return [*(x for x in lines if x.endswith(": OK") or ": FAILED" in x), f"exit {done.returncode}"]


@case("xxhsum checks a manifest, and its own lists are checked")
def of_others(folder: str) -> None:
    manifest = os.path.join(folder, "m")
    top = os.path.join(folder, "src")
    os.mkdir(top)
    names: Sequence[str] = [x for x in ODD if "\n" not in x]
    for name in names:
        make(top, name, os.fsencode(name))
    synced(folder, "-q", "--manifest", manifest, top + "/", "far:in")
    assert sorted(_xxhsum(manifest, there(folder))) == sorted([*(x + ": OK" for x in names), "exit 0"])
    _spoil(os.path.join(there(folder), "-rf"), 0)
    assert [x for x in _xxhsum(manifest, there(folder)) if not x.endswith(": OK")] == ["-rf: FAILED", "exit 1"]
    with open(os.path.join(folder, "others"), "wb") as f:
        subprocess.run(["xxhsum", "-H2", *("./" + x for x in names)], cwd=top, stdout=f, check=True,
                       stderr=subprocess.DEVNULL)
    assert _verify(f.name, top, "--extra") == []
    assert _verify(f.name, there(folder), code=TRANSFER) == ["differs  -rf"]
