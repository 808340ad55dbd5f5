# SPDX-License-Identifier: BSD-3-Clause
"""Cases of syncs_test.py: what a sync makes of drawn trees, and what rsync makes of the same ones."""
import os
import random
import shutil
import subprocess
from collections.abc import Sequence

from ..files_cases import LOCAL, REMOTE, SEED, Skip, case
from .cases import counted, sync, synced, there
from .trees import NAMES, Trees, What, differences, snapshot, unblock

PATTERNS = (*NAMES, "*.txt", "a/", "/a", "src", "/src/b", "dd/*", "**/a/**", "?", "[a-c]/", "src/*/", "- b", "+ c", "!",
            "z\\[1]", "*")
IN_THE_WAY = 23  # rsync's status of a partial transfer
ROUNDS = int(os.environ.get("SLUICE_SYNC_ROUNDS") or "12")


def rsync(*args: str, kept: str = "-a", prefix: Sequence[str] = ()) -> list[str] | None:
    """Runs the real rsync; returns the lines of what it changes; None: a directory with something that is excluded, and
    so stays, was in the way. kept: options of what is kept; prefix: words in front of the command."""
    tool = shutil.which("rsync", path="/usr/bin:/bin:/usr/local/bin")
    if tool is None:
        raise Skip("rsync is missing; apt-get install rsync")
    run = subprocess.run([*prefix, tool, kept, "-i", "--8-bit-output", *args], capture_output=True, text=True, check=False)
    if run.returncode == IN_THE_WAY and "could not make way" in run.stderr:
        return None
    assert run.returncode == 0, run.stderr
    return [x for x in run.stdout.splitlines() if not x.startswith(("created directory ", "cannot delete non-empty"))]


def _alike(lines: list[str]) -> list[str]:
    """Lines of --itemize, in one order, and with one arrow."""
    return sorted((">" + x[1:] if x[0] == "<" else x) for x in lines)


def compare(what: str, one: list[str], other: list[str]) -> None:
    a, b = _alike(one), _alike(other)
    assert a == b, "\n".join([what, "only one:", *sorted(set(a) - set(b)), "only the other:", *sorted(set(b) - set(a))])


def _rules(rng: random.Random) -> list[str]:
    """Options that say what takes part, in half of the rounds. What is excluded is not deleted, either."""
    if rng.random() < 0.5:
        return []
    return [f"--{rng.choice(('exclude', 'exclude', 'include'))}={rng.choice(PATTERNS)}" for _ in range(rng.randrange(1, 5))]


def _timeless(end: dict[str, What], sent: set[str]) -> dict[str, What]:
    """Without the times of directories that the source has not: they are those of the latest change in there."""
    return {name: (w[0], w[1], 0, w[3]) if w[0] == "d" and name not in sent else w for name, w in end.items()}


def _round(folder: str, number: int, rng: random.Random) -> None:
    top = os.path.join(folder, f"round{number}")
    source, far = os.path.join(top, "src"), there(folder)
    near, reference = os.path.join(top, "in"), os.path.join(top, "reference")
    trees = Trees(rng)
    os.makedirs(source)
    trees.fill(source, 3)
    pull, slash, delete = rng.random() < 0.5, rng.random() < 0.6, rng.random() < 0.7
    target = near if pull else far
    shutil.rmtree(far, ignore_errors=True)
    # Where the target is missing, rsync gives its name to the only thing that it copies.
    if not slash or rng.random() < 0.9:
        os.mkdir(target)
        subprocess.run(["cp", "-a", *([source + "/."] if slash else [source]), target], check=True)
        trees.change(target)
        subprocess.run(["cp", "-a", target, reference], check=True)
    options = [rng.choice(("--delete", "--delete-before")) if delete else "--force",
               *(["--checksum"] if rng.random() < 0.3 else [])]
    options += _rules(rng)
    ours = ["-q", *(o for o in options if o != "--force")]
    first = source + ("/" if slash else "")
    operands = ("me@far:" + first, near) if pull else (first, "me@far:in")
    what = f"round {number}: {' '.join(ours)} {'pull' if pull else 'push'} {operands}"
    if not delete and os.path.isdir(reference):
        unblock(source, [reference, target] if slash else [os.path.join(x, "src") for x in (reference, target)])
    before = snapshot(target) if os.path.isdir(target) else {}
    lines = rsync(*options, first, reference)
    if lines is None:
        run = sync(folder, *ours, *operands)
        assert run.wait() == (LOCAL if pull else REMOTE), f"{what}: {run.err}"
        shutil.rmtree(top)
        return
    dry = synced(folder, "-n", *ours, *operands)
    assert (snapshot(target) if os.path.isdir(target) else {}) == before, f"{what}: a dry run has changed something"
    real = synced(folder, "-i", *ours, *operands)
    ends = [snapshot(reference), snapshot(target)]
    sent = {os.path.normpath(os.path.join("" if slash else "src", name)) for name in snapshot(source)}
    differ = differences(*(_timeless(end, sent) for end in ends))
    assert not differ, f"{what}: rsync | sluice\n" + "\n".join(differ)
    compare(f"{what}: rsync and sluice", lines, real)
    compare(f"{what}: dry run and run", dry, real)
    said = counted(folder, *ours, *operands)
    assert said["files"] == 0 and said["bytes"] == 0, f"{what}: the second sync has sent {said}"
    assert synced(folder, "-i", *ours, *operands) == [], what
    shutil.rmtree(top)


@case("drawn trees become what rsync -a makes of them, with the same lines of what has changed")
def asrsync(folder: str) -> None:
    print(f"# SLUICE_SEED={SEED}", flush=True)
    rng = random.Random(SEED)
    for number in range(ROUNDS):
        _round(folder, number, random.Random(rng.randrange(1 << 32)))


@case("--files-from takes what rsync takes")
def files_from(folder: str) -> None:
    print(f"# SLUICE_SEED={SEED}", flush=True)
    rng = random.Random(SEED)
    for number in range(max(2, ROUNDS // 4)):
        top = os.path.join(folder, f"round{number}")
        source, names, reference = (os.path.join(top, x) for x in ("src", "list", "reference"))
        os.makedirs(source)
        os.mkdir(reference)
        trees = Trees(rng)
        while len(os.listdir(source)) < 2:
            trees.fill(source, 3)
        found = [x for x in snapshot(source) if x != "."]
        chosen = rng.sample(found, min(len(found), rng.randrange(1, 8)))
        with open(names, "w", encoding="utf-8") as f:
            f.write("# names\n\n" + "".join(f"{rng.choice(('', './', '/'))}{x}\n" for x in chosen) + "; end\n")
        pull = rng.random() < 0.5
        target = os.path.join(top, "in") if pull else there(folder)
        shutil.rmtree(target, ignore_errors=True)
        os.mkdir(target)
        rsync("--files-from=" + names, source + "/", reference)
        synced(folder, "--files-from", names, *(("me@far:" + source, target) if pull else (source + "/", "me@far:in")))
        ends = [snapshot(reference), snapshot(target)]
        for end in ends:
            del end["."]
        differ = differences(*ends)
        assert not differ, f"{chosen} {'pull' if pull else 'push'}: rsync | sluice\n" + "\n".join(differ)
