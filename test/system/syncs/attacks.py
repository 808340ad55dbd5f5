# SPDX-License-Identifier: BSD-3-Clause
"""Cases of syncs_test.py: a far end that sends what no sender would. Nothing outside of the target may change."""
import os
import struct

from .. import files_raw as raw
from ..copies.cases import noted, notes, receiver_service
from ..files_cases import SOCK_A, SOCK_B, attacker, case, make, wait_for
from .adorned import kept
from .cases import sync
from .trees import snapshot

BEGIN, LINK, NAME, ASK, TOKEN, ATTR, HARD, NAMED = 1, 14, 15, 10, 9, 18, 19, 20
NUMBER, OWNER, GROUP, ACL, XATTR = 1, 2, 3, 4, 6  # items of an ATTR
TIME = (10**9).to_bytes(8, "big") + bytes(16)


def _flagged(record: bytes, flags: int) -> bytes:
    return record[:6] + flags.to_bytes(2, "big") + record[8:]


def _directory(number: int, name: bytes, flags: int = 0) -> bytes:
    return _flagged(raw.record(raw.DIR, number, name, mode=0o777, tail=TIME), flags)


def _link(number: int, name: bytes, target: bytes) -> bytes:
    return raw.record(LINK, number, name + b"\0" + target, tail=TIME)


def _file(number: int, name: bytes) -> bytes:
    return raw.record(raw.OFFER, number, name, mode=0o666, size=4, tail=TIME) + raw.record(raw.DATA, number, b"evil")


def _whole(number: int, name: bytes) -> bytes:
    """An empty file that arrives."""
    empty = bytes.fromhex("99aa06d3014798d86001c324468d497f")  # XXH3-128 of nothing
    return raw.record(raw.OFFER, number, name, mode=0o6777, tail=TIME) + raw.record(
        raw.END_FILE, number, tail=empty + bytes(8))


def _hard(number: int, name: bytes, link: int) -> bytes:
    return raw.record(HARD, number, name, mode=0o666, offset=link, tail=TIME)


def _item(kind: int, value: bytes, name: bytes = b"") -> bytes:
    return struct.pack(">BBHI", kind, len(name), 0, len(value)) + name + value


def _attr(*items: bytes, flags: int = 0) -> bytes:
    return _flagged(raw.record(ATTR, 0, b"".join(items)), flags)


def _attacked(folder: str, source: str, records: list[bytes], *options: str) -> str:
    """Has an attacker send this where the far end was to; returns what the near end says."""
    for name in ("token", "go"):
        if os.path.exists(os.path.join(notes(folder), name)):
            os.remove(os.path.join(notes(folder), name))
    run = sync(folder, *options, source, os.path.join(folder, "in"), fault="late")
    token = bytes.fromhex(noted(folder, "token"))
    wait_for("a receiver", lambda: receiver_service(SOCK_A))
    enemy = attacker(SOCK_B)
    enemy.connect(f"{os.environ['SLUICE_ADDR_A']}:{receiver_service(SOCK_A)}")
    enemy.send(raw.record(TOKEN, tail=token + bytes(8)) + b"".join(records))
    enemy.wait(raw.OP_RECV, 2)
    enemy.close()
    make(notes(folder), "go", b"")
    run.wait()
    return run.err


def _place(folder: str) -> tuple[str, str]:
    """A target with a link to a folder outside of it, and that folder."""
    outside, target = os.path.join(folder, "outside"), os.path.join(folder, "in")
    os.mkdir(outside)
    make(outside, "f", b"safe")
    os.chmod(outside, 0o750)
    os.chmod(os.path.join(outside, "f"), 0o640)
    os.mkdir(target)
    os.symlink(outside, os.path.join(target, "dir"))
    make(target, "mine", b"mine")
    return outside, target


@case("hostile: names outside, and links on the way, reach nothing outside of the target")
def outside_names(folder: str) -> None:
    outside, target = _place(folder)
    safe = snapshot(outside)
    stat = os.stat(os.path.join(outside, "f"))
    seconds, ns = divmod(stat.st_mtime_ns, 10**9)
    same = seconds.to_bytes(8, "big") + ns.to_bytes(4, "big") + bytes(12)
    attacks = [
        [_link(1, b"l", os.fsencode(outside)), _file(2, b"l/f"), _file(2, b"l/new")],
        [_link(1, b"../l", b"x")], [_directory(1, b"..", BEGIN)], [_directory(1, b"../x", BEGIN)], [_directory(1, b"..")],
        [_file(1, b"../x")], [_file(1, b"/" + os.fsencode(outside) + b"/f")], [_link(1, b"/l", b"x")],
        [_directory(1, b"dir")], [_directory(1, b"dir/sub", BEGIN)], [_link(1, b"dir/l", b"x")], [_file(1, b"dir/f")],
        [raw.record(ASK, 1, b"dir/f", mode=0o777, size=4, tail=same)],
        [raw.record(ASK, 1, b"dir", mode=0o777, size=4, tail=same)],
        [_link(1, b"l2", os.fsencode(outside)), _directory(2, b"l2")],
        [raw.record(NAME, 0, b"../../x")],
        [_link(1, b"only-a-name", b"")],
        [raw.record(LINK, 1, b"no-target", tail=TIME)], [raw.record(LINK, 1, b"a\0b\0c", tail=TIME)],
        [raw.record(LINK, 1, b"\0target", tail=TIME)],
        [_flagged(raw.record(raw.END_ALL), 2)], [_directory(1, b"x", 2)],
    ]
    for records in attacks:
        _attacked(folder, "me@far:src/", records, "-q")
        assert snapshot(outside) == safe, records
        found = snapshot(target)
        assert found["mine"][3] == b"mine" and not any(".part-" in n for n in found), found
        assert sorted(os.listdir(folder)) == ["home", "in", "outside", "rsh-log"], records


@case("hostile: --delete reaches nothing outside of the target, and nothing that was not asked for")
def outside_deleted(folder: str) -> None:
    outside, target = _place(folder)
    safe = snapshot(outside)
    end = raw.record(raw.END_ALL, size=2)
    before = snapshot(target)
    _attacked(folder, "me@far:src", [_directory(1, b".", BEGIN), _directory(2, b"other", BEGIN), end], "-q", "--delete")
    assert snapshot(target) == before, "only src was asked for"
    _attacked(folder, "me@far:src", [_directory(1, b"src", BEGIN), _directory(2, b"src"), end], "-q", "--delete")
    assert snapshot(target)["mine"] == before["mine"] and "dir" in snapshot(target)
    _attacked(folder, "me@far:src/", [_directory(1, b".", BEGIN), _directory(2, b".")], "-q", "--delete")
    assert snapshot(target)["mine"] == before["mine"], "without END_ALL, nothing is deleted"
    _attacked(folder, "me@far:src/", [_directory(1, b".", BEGIN), _directory(2, b"."), end], "-q", "--delete", "-n")
    assert snapshot(target)["mine"] == before["mine"], "a dry run"
    _attacked(folder, "me@far:src/", [_file(1, b"new")], "-q", "-n")
    assert "new" not in snapshot(target), "a dry run"
    _attacked(folder, "me@far:src/", [_directory(1, b".", BEGIN), _directory(2, b"."), end], "-q", "--delete")
    assert sorted(snapshot(target)) == ["."] and snapshot(outside) == safe


@case("hostile: --delete-before reaches nothing outside of the target, and nothing that was not asked for")
def outside_deleted_before(folder: str) -> None:
    outside, target = _place(folder)
    safe, before = snapshot(outside), snapshot(target)

    def names(*directories: bytes) -> list[bytes]:
        return [*(_flagged(raw.record(NAME, 0, x), BEGIN) for x in directories), raw.record(NAMED)]
    end = raw.record(raw.END_ALL)
    attacks: list[tuple[str, list[bytes], list[str]]] = [
        ("me@far:src", names(b".", b"other", b"dir"), []),  # only src was asked for
        ("me@far:src", [*names(b"src"), end], []),
        ("me@far:src/", names(b"..", b"../outside", b"dir", b"dir/../.."), []),
        ("me@far:src/", [_flagged(raw.record(NAME, 0, b"."), BEGIN), end], []),  # not all names were told
        ("me@far:src/", [*names(b"."), end], ["-n"]),
        ("me@far:src/", [_flagged(raw.record(NAME, 0, b"."), BEGIN), _flagged(raw.record(NAMED), 1), end], [])]
    for source, records, options in attacks:
        _attacked(folder, source, records, "-q", "--delete-before", *options)
        assert snapshot(target) == before and snapshot(outside) == safe, (source, records)
    _attacked(folder, "me@far:src/", names(b".", b"dir"), "-q", "--delete")
    assert snapshot(target) == before, "names that nobody asked for"
    _attacked(folder, "me@far:src/", [*names(b"."), end], "-q", "--delete-before")
    assert sorted(snapshot(target)) == ["."] and snapshot(outside) == safe


@case("hostile: attributes and further names reach nothing outside of the target")
def outside_attributes(folder: str) -> None:
    outside, target = _place(folder)
    safe, about = snapshot(outside), kept(outside)
    link = _attr(_item(NUMBER, struct.pack(">Q", 1)))
    owner, group = (_item(kind, struct.pack(">I", 12345)) for kind in (OWNER, GROUP))
    mine = _item(XATTR, b"evil", b"user.evil")
    entry = _item(ACL, struct.pack(">HHI", 1, 7, 0))
    here = link + _whole(1, b"new")
    attacks = [
        # further names: of what has not come, outside, through links, of directories, and with no number
        [_hard(1, b"h", 1)], [link, _whole(1, b"new"), _hard(2, b"h", 2)], [here, _hard(2, b"../h", 1)],
        [here, _hard(2, b"dir/h", 1)], [here, _hard(2, b"/h", 1)], [here, _hard(2, b"..", 1)],
        [link + _whole(1, b"dir/f"), _hard(2, b"h", 1)], [link + _whole(1, b"../outside/f"), _hard(2, b"h", 1)],
        [here, _link(2, b"l", os.fsencode(outside)), _hard(3, b"l/h", 1)],
        [link + _directory(1, b"new", BEGIN)], [_attr(_item(NUMBER, struct.pack(">Q", 2)))], [_hard(1, b"h", 0)],
        # attributes of nothing, of what is outside, of what a link leads to, and wrong ones
        [_attr(owner), raw.record(raw.END_ALL)], [_attr(owner), _attr(owner)], [_attr(owner) + raw.record(NAME, 0, b"x")],
        [_attr(owner, group, mine, flags=2) + _directory(1, b"dir")], [_attr(owner) + _directory(1, b"..")],
        [_attr(owner, group) + raw.record(ASK, 1, b"dir/f", mode=0o6777, size=4, tail=TIME)],
        [_attr(owner, group, flags=2) + raw.record(ASK, 1, b"dir", mode=0o6777, size=4, tail=TIME)],
        [_attr(mine, flags=2) + _link(1, b"l", os.fsencode(outside) + b"/f")],
        [_attr(group, owner)], [_attr(owner, owner)], [_attr(mine, mine)], [_attr(b"\6")], [_attr(mine[:-1])],
        [_attr(entry, flags=1)], [_attr(_item(XATTR, b"", b"system.posix_acl_access"))], [_attr(flags=4)],
        [_attr(_item(XATTR, bytes(65537), b"user.long"))], [_attr(_item(9, b""))],
        [raw.record(ATTR, 0, bytes((1 << 20) + 1))],
    ]
    for records in attacks:
        _attacked(folder, "me@far:src/", records, "-q", "-aHAX")
        assert (snapshot(outside), kept(outside)) == (safe, about), records
        found = snapshot(target)
        assert found["mine"][3] == b"mine" and not any(".part-" in n for n in found), found
        assert sorted(os.listdir(folder)) == ["home", "in", "outside", "rsh-log"], records
    for options in ("-a", "-H", "-A", "-X", "-i"):
        for wrong in (_attr(owner), link, _attr(entry, flags=1), _attr(mine, flags=2)):
            asked = {"-a": _attr(owner), "-H": link, "-A": b"", "-X": _attr(mine, flags=2), "-i": b""}[options]
            said = _attacked(folder, "me@far:src/", [wrong + _whole(1, b"x")], "-q", options)
            assert wrong == asked or "invalid data" in said, f"{options} {wrong!r}: {said}"
    assert (snapshot(outside), kept(outside)) == (safe, about)


@case("hostile: a sender gives no set-user-ID, and no attributes, that were not asked for")
def privileges(folder: str) -> None:
    _, target = _place(folder)
    for options in ("-q", "-qo", "-qg", "-qHAX"):
        _attacked(folder, "me@far:src/", [_whole(1, b"evil")], options)
        assert os.stat(os.path.join(target, "evil")).st_mode & 0o7000 == 0, options
        os.remove(os.path.join(target, "evil"))
