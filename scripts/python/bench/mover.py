# SPDX-License-Identifier: BSD-3-Clause
"""What people move, beside what they move it with today, in a tmpfs. By `sluice send` and `recv`: one large file
(`cp`); many files of 1 kB, and a tree with the sizes of a source tree (`tar | tar`, and `rsync -a` to a daemon of its own
on the loopback). By `sluice sync` (`rsync -a`): a tree once more, unchanged; and files and a tree that have changed
(mover_sync.py).

Ours goes through two daemons that share a memif. All contenders take turns. A time runs from the start of the command to
the end of its last process. What a turn has made is removed before the next one.
"""
import argparse
import json
import math
import os
import random
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from testbed import baselines, net
from testbed.daemon import Build, Daemon
from testbed.pair import ADDR_B, memif_pair
from testbed.process import Testbed, TestbedError, wait_listening

from . import mover_sync, paired
from .demo import noise_write, size_bytes
from .paired import Bar
from .results import Results

OURS, TAR, RSYNC, CP = "sluice", "tar", "rsync", "cp"
RUNS_MIN = 10
LIMIT_S = 300.0
RSYNC_PORT = 18730
PER_FOLDER = 500
# Sizes of the files of Linux 6.1: half have less than 4.6 kB, and the mean is 14 kB.
SIZE_MEDIAN, SIZE_SIGMA, SIZE_MAX = 4600, 1.5, 4 << 20
RSYNC_CONF = """address = 127.0.0.1
port = {port}
use chroot = no
uid = {uid}
gid = {gid}
[all]
path = {path}
read only = no
"""
SENT_AGAIN = "again: bytes of files sent"
DELTA_TIME, DELTA_BYTES = "{}: time, to rsync", "{}: bytes on the link, to rsync"
DELTA_TIME_BAR, DELTA_TREE_TIME_BAR, DELTA_BYTES_BAR = 0.5, 1.0, 1.2


@dataclass(frozen=True)
class Case:
    """again: the target is there already, and the same. bars: {reference: how much of its time is allowed}."""
    name: str
    bars: Mapping[str, float]
    again: bool = False

    def row(self, reference: str) -> str:
        return f"{self.name}: time, to {reference}"


CASES = (Case("file", {CP: 1.5}), Case("small", {TAR: 1.25, RSYNC: 0.5}), Case("tree", {TAR: 1.25, RSYNC: 0.5}),
         Case("again", {RSYNC: 1.0}, again=True))


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--runs", type=int, default=RUNS_MIN,
                        help=f"number of rounds of each case, at least {RUNS_MIN} for a verdict")
    parser.add_argument("--size", type=size_bytes, default=4 << 30, help="bytes of the large file (4G)")
    parser.add_argument("--files", type=int, default=100_000, help="number of files of 1 kB")
    parser.add_argument("--tree-files", type=int, default=80_000, help="number of files in the source tree")
    parser.add_argument("--delta-size", type=size_bytes, default=2 << 30, help="bytes of the file that has changed (2G)")
    parser.add_argument("--only", choices=[*(c.name for c in CASES), *(c.name for c in mover_sync.CHANGES)], action="append",
                        help="run this case; may be repeated")
    parser.add_argument("--idle", default="sleep", help="key `idle` of both daemons")
    parser.add_argument("--folder", default="/dev/shm", help="a tmpfs with room for four times the files")
    parser.add_argument("--seed", type=int, default=1, help="draws the sizes, and the order within each round")


# ---- what is moved ------------------------------------------------------------------------------


def _files(folder: str, sizes: list[int], dice: random.Random) -> None:
    noise = dice.randbytes(2 * SIZE_MAX)
    for i, size in enumerate(sizes):
        if i % PER_FOLDER == 0:
            inside = os.path.join(folder, f"d{i // PER_FOLDER % 10}", f"d{i // PER_FOLDER:04}")
            os.makedirs(inside)
        at = dice.randrange(SIZE_MAX)
        with open(os.path.join(inside, f"file{i:06}.c"), "wb") as f:
            f.write(noise[at:at + size])


def make(case: Case, args: argparse.Namespace, source: str) -> None:
    """Makes the source of a case: a file, or a folder."""
    dice = random.Random(args.seed)
    if case.name == "file":
        noise_write(source, args.size)
        return
    os.mkdir(source)
    if case.name == "small":
        _files(source, [1000] * args.files, dice)
        return
    sizes = [min(int(dice.lognormvariate(math.log(SIZE_MEDIAN), SIZE_SIGMA)), SIZE_MAX)
             for _ in range(args.tree_files if case.name == "tree" else args.files)]
    _files(source, sizes, dice)


# ---- who moves it -------------------------------------------------------------------------------


class Movers:
    """The contenders: each moves source to target, and returns the seconds that it took."""

    def __init__(self, testbed: Testbed, daemons: Sequence[Daemon], folder: str) -> None:
        self.testbed, self.folder = testbed, folder
        self.a, self.b = daemons
        self.group = paired.Group(testbed, [self.a.process, self.b.process])
        self.sent_bytes = 0  # of files, by our newest turn
        self.ns: str | None = None  # where rsync's daemon runs; None: it does not run yet

    def sync(self, source: str, target: str) -> mover_sync.Turn:
        """`sluice sync`. Both are folders."""
        shell = self.testbed.path("mover-rsh")
        mover_sync.remote_shell(shell, self.b.socket)
        with self.group:
            before = self._link_bytes()
            began = time.monotonic()
            process = self.a.sluice("sync", "sync", "--json", "-e", shell, "--remote-path",
                                    os.path.abspath(self.a.build.program("sluice")), source + "/", f"far:{target}")
            seconds = baselines.took([process], LIMIT_S, began)
            link_bytes = self._link_bytes() - before
        said = json.loads(process.out())
        self.sent_bytes = said["bytes"] - said["kept_bytes"]
        return mover_sync.Turn(seconds, link_bytes)

    def _link_bytes(self) -> int:
        return sum(p["rx_bytes"] + p["tx_bytes"] for p in self.a.show("ports"))

    def ours(self, case: Case, source: str, target: str) -> float:
        if case.again:
            return self.sync(source, target).seconds
        tree = os.path.isdir(source)
        with self.group:
            if tree:
                os.makedirs(target, exist_ok=True)
            receiver = self.b.sluice("recv", "recv", "-o", target, "--once", "--json")
            self.b.wait_listening(process=receiver)
            began = time.monotonic()
            sender = self.a.sluice("send", "send", "--json", "-r", source + "/." if tree else source, ADDR_B)
            seconds = baselines.took([sender, receiver], LIMIT_S, began)
        said = json.loads(sender.out())
        self.sent_bytes = said["bytes"] - said["kept_bytes"]
        return seconds

    def tar(self, _case: Case, source: str, target: str) -> float:
        os.makedirs(target, exist_ok=True)
        pipe = ["sh", "-c", 'tar -C "$1" -cf - . | tar -C "$2" -xf -', "-", "{source}", "{target}"]
        return baselines.Baseline(TAR, pipe).run(self.testbed, source, target, LIMIT_S)

    def rsync_url(self, target: str) -> str:
        """Where rsync's daemon has the target. Starts it at the first time."""
        if self.ns is None:
            self.ns = net.namespace(self.testbed, "mover")
            config = self.testbed.path("rsyncd.conf")
            with open(config, "w", encoding="utf-8") as f:
                f.write(RSYNC_CONF.format(port=RSYNC_PORT, uid=os.geteuid(), gid=os.getegid(), path=self.folder))
            server = self.testbed.start("rsyncd", ["rsync", "--daemon", "--no-detach", f"--config={config}"],
                                        ns=self.ns)
            wait_listening(self.testbed, self.ns, RSYNC_PORT, server)
        return f"rsync://127.0.0.1:{RSYNC_PORT}/all/{os.path.basename(target)}/"

    def rsync(self, _case: Case, source: str, target: str) -> float:
        words = [RSYNC, "-a", "{source}/", self.rsync_url(target)]
        return baselines.Baseline(RSYNC, words, self.ns).run(self.testbed, source, target, LIMIT_S)

    def cp(self, _case: Case, source: str, target: str) -> float:
        return baselines.copy(self.testbed, source, target, LIMIT_S)

    def end(self) -> None:
        self.group.release()
        for daemon in (self.a, self.b):
            daemon.stop()


# ---- judging ------------------------------------------------------------------------------------


def _remove(path: str) -> None:
    if os.path.isdir(path):
        shutil.rmtree(path)
    elif os.path.exists(path):
        os.unlink(path)


def _check_copy(source: str, target: str) -> None:
    """A copy that is not whole is no measurement."""
    def sizes(top: str) -> dict[str, int]:
        if os.path.isfile(top):
            return {"": os.path.getsize(top)}
        return {os.path.relpath(os.path.join(path, name), top): os.path.getsize(os.path.join(path, name))
                for path, _, names in os.walk(top) for name in names}
    if sizes(source) != sizes(target):
        raise TestbedError(f"{target} is no copy of {source}, though all processes succeeded")


def run_case(movers: Movers, case: Case, args: argparse.Namespace, results: Results) -> None:
    source = os.path.join(movers.folder, "source")
    make(case, args, source)
    found: dict[str, Callable[[Case, str, str], float]] = {OURS: movers.ours, TAR: movers.tar, RSYNC: movers.rsync,
                                                           CP: movers.cp}
    sent: list[int] = []

    def turn(name: str) -> Callable[[], float]:
        target = os.path.join(movers.folder, f"target-{name}" if case.again else "target")

        def move() -> float:
            seconds = found[name](case, source, target)
            if name == OURS:
                sent.append(movers.sent_bytes)
            _check_copy(source, target)
            if not case.again:
                _remove(target)
            return seconds
        return move

    contenders = {name: turn(name) for name in (OURS, *case.bars)}
    if case.again:  # the first copies are not measured
        for name in contenders:
            contenders[name]()
        sent.clear()

    def show(i: int, values: Mapping[str, float]) -> None:
        print(f"{case.name} {i}: " + ", ".join(f"{n} {v:.2f} s" for n, v in values.items()), flush=True)

    values = paired.turns(contenders, args.runs, args.seed, show)
    for reference, bar in case.bars.items():
        at_most = Bar(bar, at_most=True, windows_min=RUNS_MIN)
        results.windows(case.row(reference), values[OURS], "s", values[reference], at_most)
    if case.again:
        results.exact(SENT_AGAIN, max(sent), "B", Bar(0, at_most=True))
    for name in os.listdir(movers.folder):
        _remove(os.path.join(movers.folder, name))


def run_change(movers: Movers, change: mover_sync.Change, args: argparse.Namespace, results: Results) -> None:
    source, old, target = (os.path.join(movers.folder, name) for name in ("source", "old", "target"))
    link_bytes: dict[str, list[int]] = {OURS: [], RSYNC: []}

    def tree(path: str) -> None:
        make(Case("tree", {}), args, path)

    def turn(name: str) -> Callable[[], float]:
        def move() -> float:
            shutil.copytree(old, target)
            if name == OURS:
                done = movers.sync(source, target)
            else:
                url = movers.rsync_url(target)
                assert movers.ns is not None
                done = mover_sync.rsync(movers.testbed, movers.ns, source + "/", url)
            if not mover_sync.same(source, target):
                raise TestbedError(f"{target} is not as {source}, though {name} succeeded")
            _remove(target)
            link_bytes[name].append(done.link_bytes)
            return done.seconds
        return move

    def show(i: int, values: Mapping[str, float]) -> None:
        print(f"{change.name} {i}: " + ", ".join(f"{n} {v:.2f} s {link_bytes[n][-1] / 1e6:.2f} MB"
                                                 for n, v in values.items()), flush=True)

    mover_sync.make_pair(change, args, source, old, tree)
    values = paired.turns({name: turn(name) for name in (OURS, RSYNC)}, args.runs, args.seed, show)
    results.windows(DELTA_TIME.format(change.name), values[OURS], "s", values[RSYNC],
                    Bar(DELTA_TIME_BAR if change.large else DELTA_TREE_TIME_BAR, at_most=True, windows_min=RUNS_MIN))
    # Of a tree, most bytes are about files that have not changed. That is no question of differences, and has no bar.
    results.windows(DELTA_BYTES.format(change.name), [float(n) for n in link_bytes[OURS]], "B",
                    [float(n) for n in link_bytes[RSYNC]],
                    Bar(DELTA_BYTES_BAR if change.large else None, at_most=True, windows_min=RUNS_MIN))
    for name in os.listdir(movers.folder):
        _remove(os.path.join(movers.folder, name))


def run(testbed: Testbed, args: argparse.Namespace, results: Results) -> None:
    if args.runs < RUNS_MIN or min(args.size, args.files, args.tree_files, args.delta_size) < 1:
        raise TestbedError(f"--runs must be {RUNS_MIN} or more, and --size, --files, --tree-files and --delta-size 1 or "
                           "more")
    chosen = [c for c in CASES if args.only is None or c.name in args.only]
    for case in chosen:
        results.demand(*(case.row(reference) for reference in case.bars), *([SENT_AGAIN] if case.again else []))
    changes = [c for c in mover_sync.CHANGES if args.only is None or c.name in args.only]
    for change in changes:
        results.demand(DELTA_TIME.format(change.name), *([DELTA_BYTES.format(change.name)] if change.large else []))
    if (changes or any(RSYNC in case.bars for case in chosen)) and (lack := net.can_netns()):
        raise TestbedError(f"{lack}; leave rsync's cases out with --only")
    if baselines.missing("rsync"):
        raise TestbedError("rsync is not installed (apt-get install rsync)")
    folder = tempfile.mkdtemp(prefix="sluice-mover.", dir=args.folder)
    testbed.undo(shutil.rmtree, folder, ignore_errors=True)
    movers = Movers(testbed, memif_pair(testbed, Build(args.build, args.huge), daemon_keys={"idle": args.idle}), folder)
    for case in chosen:
        run_case(movers, case, args, results)
    for change in changes:
        run_change(movers, change, args, results)
    movers.end()
