# SPDX-License-Identifier: BSD-3-Clause
"""Draws owners, groups, hard links, ACLs and extended attributes of a tree, and says what they are."""
import os
import random
import stat
import struct

from .trees import What, snapshot

ACCESS, DEFAULT = "system.posix_acl_access", "system.posix_acl_default"
IDS = (0, 1, 2, 3, 65534, 12345)  # the last one has no name
NO_ID = 0xffffffff
SPECIAL = (0, 0, 0o4000, 0o2000, 0o1000)
XATTRS = ("user.a", "user.b", "user.long name", "trusted.t", "security.sluice-test")

Kept = tuple[int, int, int, dict[str, bytes], tuple[str, ...]]  # owner, group, special bits, attributes, names


def acl_of(rng: random.Random) -> bytes:
    """An access control list, as the kernel takes it."""
    def perm() -> int:
        return rng.randrange(8)
    entries = [(1, perm(), NO_ID)]
    entries += [(2, perm(), i) for i in sorted(rng.sample(IDS, rng.randrange(3)))]
    entries += [(4, perm(), NO_ID)]
    entries += [(8, perm(), i) for i in sorted(rng.sample(IDS, rng.randrange(1, 3)))]
    entries += [(16, perm(), NO_ID), (32, perm(), NO_ID)]
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *e) for e in entries)


def attributes(path: str) -> dict[str, bytes]:
    names = [x for x in os.listxattr(path, follow_symlinks=False) if x != "security.selinux"]
    return {x: os.getxattr(path, x, follow_symlinks=False) for x in names}


class Adorned:
    """Draws from one seed. letters: of rsync's options, what is drawn: "o", "g", "H", "A", "X"."""

    def __init__(self, rng: random.Random, letters: str, ids: tuple[int, ...] = IDS, xattrs: tuple[str, ...] = XATTRS) -> None:
        self.rng, self.letters, self.ids, self.xattrs = rng, letters, ids, xattrs

    def adorn(self, top: str, share: float) -> None:
        """Changes so much of the tree, but neither contents nor times."""
        found = [os.path.join(path, name) for path, dirs, files in os.walk(top) for name in [*dirs, *files]]
        for full in [top, *sorted(found)]:
            if self.rng.random() < share:
                self._one(full)

    def _one(self, full: str) -> None:
        st = os.lstat(full)
        rng, mode = self.rng, stat.S_IMODE(st.st_mode)
        owner = rng.choice(self.ids) if "o" in self.letters and rng.random() < 0.5 else -1
        group = rng.choice(self.ids) if "g" in self.letters and rng.random() < 0.5 else -1
        os.chown(full, owner, group, follow_symlinks=False)
        if not stat.S_ISLNK(st.st_mode):
            if "X" in self.letters:
                self._xattrs(full)
            if "A" in self.letters:
                self._acls(full, stat.S_ISDIR(st.st_mode))
            if "o" in self.letters and "g" in self.letters:
                mode = stat.S_IMODE(os.lstat(full).st_mode) & 0o777 | rng.choice(SPECIAL)
                os.chmod(full, mode)
        os.utime(full, ns=(st.st_mtime_ns, st.st_mtime_ns), follow_symlinks=False)

    def _xattrs(self, full: str) -> None:
        for name in self.xattrs:
            draw = self.rng.random()
            if draw < 0.3:
                os.setxattr(full, name, self.rng.randbytes(self.rng.choice((0, 3, 40, 300))))
            elif draw < 0.4 and name in os.listxattr(full):
                os.removexattr(full, name)

    def _acls(self, full: str, directory: bool) -> None:
        for name in (ACCESS, DEFAULT) if directory else (ACCESS,):
            draw = self.rng.random()
            if draw < 0.4:
                os.setxattr(full, name, acl_of(self.rng))
            elif draw < 0.5 and name in os.listxattr(full):
                os.removexattr(full, name)

    def link(self, top: str) -> None:
        """Gives some files further names."""
        if "H" not in self.letters:
            return
        files = sorted(x for x, w in snapshot(top).items() if w[0] == "f")
        folders = sorted(x for x, w in snapshot(top).items() if w[0] == "d")
        for n in range(self.rng.randrange(len(files) + 1)):
            folder = os.path.normpath(os.path.join(top, self.rng.choice(folders)))
            st = os.lstat(folder)
            os.link(os.path.join(top, self.rng.choice(files)), os.path.join(folder, f"{self.rng.choice('AMz')}-link{n}"),
                    follow_symlinks=False)
            os.utime(folder, ns=(st.st_mtime_ns, st.st_mtime_ns))


def kept(top: str) -> dict[str, Kept]:
    """What of each name in the tree is kept besides content, mode and time."""
    found: dict[str, os.stat_result] = {x: os.lstat(os.path.join(top, x)) for x in snapshot(top)}
    names: dict[tuple[int, int], list[str]] = {}
    for name, st in found.items():
        names.setdefault((st.st_dev, st.st_ino), []).append(name)
    return {name: (st.st_uid, st.st_gid, st.st_mode & 0o7000, attributes(os.path.join(top, name)),
                   tuple(sorted(names[(st.st_dev, st.st_ino)])))
            for name, st in found.items()}


def unlike(a: dict[str, Kept], b: dict[str, Kept], whats: dict[str, What]) -> list[str]:
    """Names of what differs, with how, for people."""
    return [f"{name} ({whats[name][0] if name in whats else '-'}): {a.get(name)} | {b.get(name)}"
            for name in sorted(a.keys() | b.keys()) if a.get(name) != b.get(name)]
