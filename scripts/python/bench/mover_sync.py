# SPDX-License-Identifier: BSD-3-Clause
"""The cases of `scripts/bench mover` in which the target is there already: `sluice sync` beside `rsync -a`.

Nothing has changed in a tree of many small files; bytes of a large file were changed in place; bytes were put into it and
taken out of it; in some files of a source tree lines were added or removed. Both sides have time and bytes on the link,
in both directions: ours as the port of a daemon counts them, with all headers; rsync's as it counts them itself, without
those of TCP and IP.
"""
import argparse
import filecmp
import os
import random
import re
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass

from testbed import baselines
from testbed.process import Testbed, TestbedError

from .demo import noise_write

LIMIT_S = 300.0
PLACES = 100
OLD_S = 10**9  # modification time of what has not changed
EDITED = 0.02  # share of the files in which lines change
RSH = """#!/bin/sh
# A remote shell to this machine, for the daemon at the other end.
shift
export SLUICE_SOCKET={socket}
exec sh -c "$*"
"""
COUNTED = re.compile(r"^Total bytes (?:sent|received): ([0-9,]+)$", re.MULTILINE)
Edit = Callable[[str, random.Random], None]


@dataclass
class Turn:
    seconds: float
    link_bytes: int


def remote_shell(path: str, socket: str) -> None:
    with open(path, "w", encoding="utf-8") as f:
        f.write(RSH.format(socket=socket))
    os.chmod(path, 0o755)


def rsync(testbed: Testbed, ns: str, source: str, url: str) -> Turn:
    began = time.monotonic()
    process = testbed.start("rsync", ["rsync", "-a", "--stats", source, url], ns=ns)
    seconds = baselines.took([process], LIMIT_S, began)
    counts = [int(n.replace(",", "")) for n in COUNTED.findall(process.out())]
    if len(counts) != 2:
        raise TestbedError("rsync --stats has not said what it sent and received")
    return Turn(seconds, sum(counts))


# ---- what has changed ---------------------------------------------------------------------------


def places(path: str, dice: random.Random) -> None:
    """Changes 16 bytes at each of some places."""
    size = os.path.getsize(path)
    with open(path, "r+b") as f:
        for _ in range(PLACES):
            f.seek(dice.randrange(size))
            f.write(dice.randbytes(16))


def moved(path: str, dice: random.Random) -> None:
    """Puts up to 1000 bytes in at some places, and takes as many out at others."""
    size = os.path.getsize(path)
    cuts = sorted(dice.randrange(size) for _ in range(PLACES))
    with open(path, "rb") as old, open(path + ".new", "wb") as new:
        for i, cut in enumerate([*cuts, size]):
            while old.tell() < cut and (piece := old.read(min(1 << 20, cut - old.tell()))):
                new.write(piece)
            if i % 2 == 0:
                new.write(dice.randbytes(dice.randint(1, 1000)))
            else:
                old.seek(dice.randint(1, 1000), os.SEEK_CUR)
    os.rename(path + ".new", path)


def edited(top: str, dice: random.Random) -> None:
    """Puts a line into some files, and takes one out of others."""
    paths = sorted(os.path.join(folder, name) for folder, _, names in os.walk(top) for name in names)
    for path in dice.sample(paths, max(1, round(EDITED * len(paths)))):
        with open(path, "rb") as f:
            text = f.read()
        at, length = dice.randrange(len(text) + 1), dice.randint(1, 80)
        text = text[:at] + (dice.randbytes(length) + text[at:] if dice.random() < 0.5 else text[at + length:])
        with open(path, "wb") as f:
            f.write(text)


@dataclass(frozen=True)
class Change:
    """large: it is made to one large file, else to a tree."""
    name: str
    edit: Edit
    large: bool


CHANGES = (Change("places", places, True), Change("moved", moved, True), Change("edited", edited, False))


def make_pair(change: Change, args: argparse.Namespace, source: str, old: str,
              make_tree: Callable[[str], None]) -> None:
    """Makes the old state, and the new one, `source`."""
    if change.large:
        os.mkdir(old)
        noise_write(os.path.join(old, "file"), args.delta_size)
    else:
        make_tree(old)
    for folder, _, names in os.walk(old):  # a program that compares whole seconds must see what has changed
        for name in names:
            os.utime(os.path.join(folder, name), (OLD_S, OLD_S))
    shutil.copytree(old, source)
    change.edit(os.path.join(source, "file") if change.large else source, random.Random(args.seed))


def same(a: str, b: str) -> bool:
    """Whether two trees have the same names and contents."""
    def walk(top: str) -> list[str]:
        return sorted(os.path.relpath(os.path.join(folder, name), top)
                      for folder, _, names in os.walk(top) for name in names)
    names = walk(a)
    filecmp.clear_cache()  # a file of one size and time is another one in the next round
    return names == walk(b) and not any(filecmp.cmpfiles(a, b, names, shallow=False)[1:])
