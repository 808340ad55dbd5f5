# SPDX-License-Identifier: BSD-3-Clause
"""Draws trees of files, directories and symbolic links, changes them, and says what they are."""
import os
import random
import shutil
import stat

NAMES = ("a", "b", "c", "dd", "e.txt", "f.o", "g h", ".hid", "x*y", "z[1]", "Ä", "it's")
MODES: tuple[int, ...] = (0o644, 0o600, 0o755, 0o444, 0o777, 0o640, 0o000)
TARGETS = ("a", "../a", "nowhere", "/nonexistent", "dd/b", "..")
SECONDS_0 = 1_000_000_000
MIB = 1 << 20

What = tuple[str, int, int, bytes]  # kind, mode, mtime in ns, content or target


def snapshot(top: str) -> dict[str, What]:
    """All that is in the folder, and "." for the folder itself."""
    found: dict[str, What] = {}
    for path, dirs, files in os.walk(top):
        for name in [*dirs, *files, *(["."] if path == top else [])]:
            full = os.path.join(path, name)
            st = os.lstat(full)
            kind, content = "?", b""
            if stat.S_ISDIR(st.st_mode):
                kind = "d"
            elif stat.S_ISLNK(st.st_mode):
                kind, content = "l", os.fsencode(os.readlink(full))
            elif stat.S_ISREG(st.st_mode):
                kind = "f"
                with open(full, "rb") as f:
                    content = f.read()
            mode = 0 if kind == "l" else st.st_mode & 0o7777
            found[os.path.relpath(full, top)] = (kind, mode, st.st_mtime_ns, content)
    return found


def differences(a: dict[str, What], b: dict[str, What]) -> list[str]:
    """Names of what differs, with how, for people."""
    def shown(w: What | None) -> str:
        return "-" if w is None else f"{w[0]} {w[1]:o} {w[2]} {len(w[3])} B {w[3][:16]!r}"
    return [f"{name}: {shown(a.get(name))} | {shown(b.get(name))}"
            for name in sorted(a.keys() | b.keys()) if a.get(name) != b.get(name)]


def _remove(path: str) -> None:
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    elif os.path.lexists(path):
        os.remove(path)


class Trees:
    """Draws from one seed. Each time that it sets has seconds of its own, so that no two are equal by accident: rsync
    compares seconds only."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.seconds = SECONDS_0
        self.modes = MODES
        self.folder_modes: tuple[int, ...] = (0o755, 0o700, 0o555, 0o775)

    def stamp(self, path: str) -> None:
        self.seconds += 1
        ns = self.seconds * 1_000_000_000 + self.rng.choice((0, self.rng.randrange(1_000_000_000)))
        os.utime(path, ns=(ns, ns), follow_symlinks=False)

    def content(self) -> bytes:
        size = self.rng.choice((0, 1, self.rng.randrange(200), self.rng.randrange(20_000)))
        if self.rng.random() < 0.06:
            size = self.rng.randrange(MIB, 4 * MIB)
        return self.rng.randbytes(size)

    def thing(self, path: str, depth: int) -> None:
        """Makes something of this name: a file, a link, or a directory with what is in it."""
        kind = self.rng.random()
        if kind < 0.15:
            os.symlink(self.rng.choice(TARGETS), path)
        elif kind < 0.4 and depth > 0:
            os.mkdir(path)
            self.fill(path, depth - 1)
            os.chmod(path, self.rng.choice(self.folder_modes))
        else:
            with open(path, "wb") as f:
                f.write(self.content())
            os.chmod(path, self.rng.choice(self.modes))
        self.stamp(path)

    def fill(self, folder: str, depth: int) -> None:
        for name in self.rng.sample(NAMES, self.rng.randrange(len(NAMES) * 2 // 3)):
            if not os.path.lexists(os.path.join(folder, name)):
                self.thing(os.path.join(folder, name), depth)
        self.stamp(folder)

    def change(self, top: str) -> None:
        """Changes some of what is in the folder."""
        for path, dirs, files in list(os.walk(top)):
            for name in dirs + files:
                full = os.path.join(path, name)
                if os.path.lexists(full) and self.rng.random() < 0.4:
                    self._change(full)
            if os.path.isdir(path) and not os.path.islink(path):
                for name in self.rng.sample(NAMES, self.rng.randrange(3)):
                    if not os.path.lexists(os.path.join(path, name)):
                        self.thing(os.path.join(path, name), 2)
                if self.rng.random() < 0.5:
                    self.stamp(path)

    def _change(self, path: str) -> None:
        st = os.lstat(path)
        how = self.rng.randrange(6)
        if how == 0:
            _remove(path)
        elif how == 1:  # maybe of another kind
            _remove(path)
            self.thing(path, 2)
        elif how == 2 and not stat.S_ISLNK(st.st_mode):
            os.chmod(path, self.rng.choice((0o644, 0o755, 0o711)))
        elif how == 3:
            self.stamp(path)
        elif stat.S_ISREG(st.st_mode):
            with open(path, "r+b") as f:
                content = bytearray(f.read())
                f.seek(0)
                f.truncate()
                for _ in range(self.rng.randrange(4)):
                    if content:
                        content[self.rng.randrange(len(content))] ^= 1 + self.rng.randrange(255)
                f.write(content + self.rng.choice((b"", b"", self.rng.randbytes(self.rng.randrange(2000)))))
            if how == 4:
                self.stamp(path)
            else:  # of the same size and time, this is no change but with --checksum
                os.utime(path, ns=(st.st_mtime_ns, st.st_mtime_ns))


def unblock(source: str, targets: list[str]) -> None:
    """Removes directories that are where the source has something else: without --delete, they would be in the way.
    Nothing is removed behind a link."""
    for name, what in snapshot(source).items():
        for target in targets:
            path = os.path.join(target, name)
            above = os.path.join(os.path.realpath(target), os.path.dirname(name)).rstrip("/")
            linked = os.path.islink(path) or os.path.realpath(os.path.dirname(path)) != above
            if what[0] != "d" and os.path.isdir(path) and not linked:
                shutil.rmtree(path)
