# SPDX-License-Identifier: BSD-3-Clause
"""Cases of syncs_test.py: owners, groups, hard links, ACLs and extended attributes."""
import os
import random
import shutil
import subprocess
from collections.abc import Sequence

from ..copies.cases import home, notes
from ..files_cases import LOCAL, OK, REMOTE, SEED, SOCK_A, Skip, case
from .adorned import Adorned, kept, unlike
from .beside import ROUNDS, compare, rsync
from .cases import counted, sync, there
from .trees import Trees, differences, snapshot, unblock

LETTERS = ("og", "ogHAX", "ogHAX", "H", "A", "X", "o", "g", "ogH", "ogAX", "HX")
# One draw, unless another one is asked for: rsync (3.5.0) fails at about one of ten, as at a chgrp that it should know it
# may not do (SLUICE_SEED=1376630448), or prints other letters than it means.
DRAWN = int(os.environ.get("SLUICE_SEED") or "1", 0)
USER, MEMBER, STRANGER = 1234, 4321, 4322  # an ordinary user, a group with it, one without


def _comparable(lines: list[str], odd: set[str]) -> list[str]:
    """Without the lines of `odd`, and with one mark for permissions and ACL. Where the mask of an ACL changes, and with it
    the mode, sluice prints the letters of both, and rsync (3.5.0) sometimes that of one."""
    lines = [x[:5] + ("m" if x[5:6] == "p" or x[9:10] == "a" else x[5:6]) + x[6:9] + x[9:10].replace("a", ".") + x[10:]
             for x in lines]
    return [x for x in lines if x[12:].split(" => ")[0].rstrip("/") not in odd]


def _odd(top: str) -> set[str]:
    """Names whose lines of --itemize are not compared: of files with several names, of which rsync's first one may be
    another; and with set-user-ID or the like, of which rsync (3.5.0) says nothing if a change of the group takes it
    away."""
    return {name for name, k in kept(top).items() if len(k[4]) > 1 or k[2] != 0}


def _ran(folder: str, prefix: Sequence[str], lossy: int, *args: str) -> list[str]:
    """A sync that works, or loses only what an ordinary user cannot keep; returns the lines of --itemize."""
    run = sync(folder, "-q", *args, prefix=prefix)
    code = run.wait()
    assert code == OK or (code == lossy and all("not kept" in x for x in run.errors)), f"{args}: {code} {run.err}"
    return run.out.splitlines()


class _Round:
    """One drawn tree, and its target, of which rsync gets a copy. prefix: words that make both ordinary users."""

    def __init__(self, folder: str, number: int, rng: random.Random, prefix: Sequence[str] = ()) -> None:
        self.top = os.path.join(folder, f"round{number}")
        self.folder, self.rng, self.prefix = folder, rng, prefix
        self.source, self.reference = os.path.join(self.top, "src"), os.path.join(self.top, "reference")
        self.pull = rng.random() < 0.5
        self.target = os.path.join(self.top, "in") if self.pull else there(folder)
        self.letters = rng.choice(LETTERS)
        self.options = [*(["--delete"] if rng.random() < 0.7 else ["--force"]),
                        *(["--checksum"] if rng.random() < 0.3 else [])]
        if rng.random() < 0.3 and set(self.letters) & set("ogA"):
            self.options.append("--numeric-ids")

    def make(self, adorned: Adorned, trees: Trees) -> None:
        """Fills the source; the target is a copy of it that has changed."""
        os.makedirs(self.source)
        trees.fill(self.source, 3)
        adorned.link(self.source)
        adorned.adorn(self.source, 0.6)
        shutil.rmtree(self.target, ignore_errors=True)
        subprocess.run(["cp", "-a", self.source, self.target], check=True)
        trees.change(self.target)
        if "H" in self.letters:
            self._reveal()
        unblock(self.source, [self.target])
        adorned.adorn(self.target, 0.3)
        subprocess.run(["cp", "-a", self.target, self.reference], check=True)

    def _reveal(self) -> None:
        """Gives files whose content alone has changed another time. Of a file with several names, either program takes the
        one that it comes across first for the file that is there."""
        sent = snapshot(self.source)
        for name, what in snapshot(self.target).items():
            if what[0] == "f" and name in sent and sent[name][3] != what[3]:
                os.utime(os.path.join(self.target, name), ns=(0, 1))

    def run(self) -> None:
        ours = [*(x for x in self.options if x != "--force"), "-" + self.letters]
        operands = ("me@far:" + self.source + "/", self.target) if self.pull else (self.source + "/", "me@far:in")
        what = f"{' '.join(ours)} {'pull' if self.pull else 'push'} {self.top}"
        lossy = LOCAL if self.pull else REMOTE
        odd = _odd(self.source) | _odd(self.target)
        before = snapshot(self.target), kept(self.target)
        lines = rsync(*self.options, self.source + "/", self.reference, kept="-rlpt" + self.letters, prefix=self.prefix)
        assert lines is not None
        dry = _ran(self.folder, self.prefix, lossy, "-n", *ours, *operands)
        assert (snapshot(self.target), kept(self.target)) == before, f"{what}: a dry run has changed something"
        real = _ran(self.folder, self.prefix, lossy, "-i", *ours, *operands)
        self.compare(what)
        compare(f"{what}: rsync and sluice", _comparable(lines, odd), _comparable(real, odd))
        compare(f"{what}: dry run and run", dry, real)
        again = _ran(self.folder, self.prefix, lossy, "-i", *ours, *operands)
        assert again == [], f"{what}: the second sync says {again}"
        shutil.rmtree(self.top)

    def compare(self, what: str) -> None:
        sent = snapshot(self.source)
        ends = [snapshot(self.reference), snapshot(self.target)]
        for end in ends:  # those that the source has not have the time of the latest change in there
            for name, w in end.items():
                if w[0] == "d" and name not in sent:
                    end[name] = (w[0], w[1], 0, w[3])
        differ = differences(*ends)
        assert not differ, f"{what}: rsync | sluice\n" + "\n".join(differ)
        differ = unlike(kept(self.reference), kept(self.target), ends[0])
        assert not differ, f"{what}: rsync | sluice\n" + "\n".join(differ)


@case("owners, groups, hard links, ACLs and extended attributes become what rsync makes of them")
def as_rsync_keeps(folder: str) -> None:
    if os.geteuid() != 0:
        raise Skip("only root gives files away")
    print(f"# SLUICE_SEED={DRAWN}", flush=True)
    rng = random.Random(DRAWN)
    for number in range(ROUNDS):
        r = _Round(folder, number, random.Random(rng.randrange(1 << 32)))
        r.make(Adorned(r.rng, r.letters), Trees(r.rng))
        r.run()


def _as_user(folder: str) -> list[str]:
    """Words that make an ordinary user of a command, who may come to the folder."""
    tool = shutil.which("setpriv", path="/usr/bin:/bin")
    if os.geteuid() != 0 or tool is None:
        raise Skip("only root becomes another user, with setpriv")
    above = os.path.dirname(folder)
    os.chmod(above, os.stat(above).st_mode | 0o011)
    groups = f"{os.stat(SOCK_A).st_gid},{MEMBER}"
    return [tool, f"--reuid={USER}", f"--regid={USER}", "--groups", groups, "--inh-caps", "-all"]


@case("an ordinary user keeps what rsync lets it keep, and hears of the rest")
def as_user(folder: str) -> None:
    prefix = _as_user(folder)
    print(f"# SLUICE_SEED={DRAWN}", flush=True)
    rng = random.Random(DRAWN)
    for number in range(max(2, ROUNDS // 2)):
        r = _Round(folder, number, random.Random(rng.randrange(1 << 32)), prefix)
        trees = Trees(r.rng)
        trees.modes, trees.folder_modes = (0o644, 0o664, 0o755, 0o444), (0o755, 0o775)
        r.make(Adorned(r.rng, r.letters.replace("A", ""), (USER,), ("user.a", "user.b")), trees)
        for top in (folder, home(folder), notes(folder), r.top, r.source, r.target, r.reference):
            for path, dirs, files in os.walk(top):
                for name in [*dirs, *files, "."]:
                    full = os.path.join(path, name)
                    special = os.lstat(full).st_mode & 0o7000
                    os.chown(full, USER, USER, follow_symlinks=False)
                    if not os.path.islink(full):  # a dry run does not make directories readable
                        os.chmod(full, os.lstat(full).st_mode | special | (0o700 if os.path.isdir(full) else 0))
        for path, _, files in os.walk(r.source):
            for name in files:
                full = os.path.join(path, name)
                owner = r.rng.choice((USER, USER, 0)) if os.stat(full, follow_symlinks=False).st_mode & 0o444 == 0o444 else USER
                group = r.rng.choice((USER, MEMBER, STRANGER))
                os.chown(full, owner, group, follow_symlinks=False)
                if not os.path.islink(full):  # rsync gives an ordinary user set-user-ID of files of others
                    os.chmod(full, os.stat(full).st_mode & (0o7777 if owner == USER and group != STRANGER else 0o777))
        r.run()


@case("what only root keeps is said once, with a count, and the exit status tells")
def said_once(folder: str) -> None:
    prefix = _as_user(folder)
    source, target = os.path.join(folder, "src"), there(folder)
    os.mkdir(source)
    for i in range(5):
        with open(os.path.join(source, f"f{i}"), "wb") as f:
            f.write(b"1")
        os.chown(os.path.join(source, f"f{i}"), 0, STRANGER)
        os.chmod(os.path.join(source, f"f{i}"), 0o6755)
    for path in (folder, source, home(folder), os.path.join(folder, "rsh-log")):
        os.makedirs(path, exist_ok=True)
        os.chown(path, USER, USER)
    run = sync(folder, "-a", source + "/", "me@far:in", prefix=prefix)
    run.expect(REMOTE, "f0 and of 4 others: owner not kept", "f0 and of 4 others: group not kept", "--owner", lines=2)
    for i in range(5):
        st = os.stat(os.path.join(target, f"f{i}"))
        assert (st.st_uid, st.st_gid, st.st_mode & 0o7777) == (USER, USER, 0o755), "nobody else's privileges are given"
    run = sync(folder, "-ia", source + "/", "me@far:in", prefix=prefix)
    run.expect(REMOTE, lines=2)
    assert run.out == "", run.out
    run = sync(folder, "-i", source + "/", "me@far:in", prefix=prefix)
    run.expect(OK)
    assert run.out == "", run.out


@case("a file with several names is sent once")
def sent_once(folder: str) -> None:
    source, target = os.path.join(folder, "src"), there(folder)
    os.makedirs(os.path.join(source, "d"))
    os.mkdir(target)
    with open(os.path.join(source, "a"), "wb") as f:
        f.write(random.Random(SEED).randbytes(300_000))
    for name in ("b", "d/c"):
        os.link(os.path.join(source, "a"), os.path.join(source, name))
    said = counted(folder, "-H", source + "/", "me@far:in")
    assert (said["files"], said["bytes"]) == (1, 300_000), said
    assert kept(target)["a"][4] == ("a", "b", "d/c"), kept(target)
    said = counted(folder, "-H", source + "/", "me@far:in")
    assert (said["files"], said["there_files"]) == (0, 1), said
    os.remove(os.path.join(target, "d/c"))
    os.mkdir(os.path.join(target, "d/c"))
    os.remove(os.path.join(target, "b"))
    os.symlink("a", os.path.join(target, "b"))
    said = counted(folder, "-H", source + "/", "me@far:in")
    assert said["files"] == 0 and kept(target)["a"][4] == ("a", "b", "d/c"), kept(target)
    os.utime(os.path.join(source, "a"), ns=(0, 0))
    with open(os.path.join(source, "a"), "ab") as f:
        f.write(b"more")
    said = counted(folder, "-H", source + "/", "me@far:in")
    assert said["files"] == 1 and kept(target)["a"][4] == ("a", "b", "d/c"), kept(target)
