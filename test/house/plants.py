#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Plants each fault of planted.FAULTS in a copy of the tree; the command of the fault must notice it.

Usage: plants.py [--only REGEX] [--folder DIR] [--list]

The copy and its build folders stay in DIR (build-plants of this tree), so the next run builds only
what has changed. First each command must pass without a fault. If a command skips a case then, it
cannot judge, and its faults are skipped. Then each fault in turn is planted, built, judged and removed.

Reports each fault as TAP and ends with "N passed, N failed"; exit status 1 if one is not noticed.
Some commands need root and namespaces, as `scripts/test system` does. With hugepages they take less time.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator

sys.dont_write_bytecode = True

import planted  # noqa: E402 (imported after dont_write_bytecode is set)
import tap  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
LINES_SHOWN = 30
COMMAND_TIMEOUT_S = 900
HUGE_MB = 1792  # of hugepages, which the scenes need


def huge() -> str:
    """The option --huge for commands that start daemons, or "" if too few hugepages are free."""
    try:
        with open("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", encoding="ascii") as f:
            return "--huge" if int(f.read()) * 2 >= HUGE_MB else ""
    except OSError:
        return ""


class Problem(Exception):
    """The reason that a fault could not be judged or was not noticed."""


class Skip(Exception):
    """The reason that this machine cannot run the command."""


def tree_paths(root: str) -> Iterator[str]:
    """All files and links of a tree, without those of git and of builds."""
    for folder, dirs, names in os.walk(root):
        top = os.path.samefile(folder, root)
        dirs[:] = [d for d in dirs if d not in (".git", ".venv", "__pycache__") and
                   not (top and re.match(r"build(-|$)|lab-out$", d))]
        for name in set(names) - {".git"}:
            yield os.path.relpath(os.path.join(folder, name), root)


def same(a: str, b: str) -> bool:
    if os.path.islink(a) or os.path.islink(b):
        return os.path.islink(a) and os.path.islink(b) and os.readlink(a) == os.readlink(b)
    with open(a, "rb") as one, open(b, "rb") as other:
        return one.read() == other.read()


def copy_tree(source: str, target: str) -> None:
    """Makes target equal to source. Only files that differ get a new time, so ninja builds only those again."""
    os.makedirs(target, exist_ok=True)
    wanted = set(tree_paths(source))
    for path in set(tree_paths(target)) - wanted:
        os.remove(os.path.join(target, path))
    for path in wanted:
        a, b = os.path.join(source, path), os.path.join(target, path)
        if os.path.lexists(b):
            if same(a, b):
                continue
            os.remove(b)
        os.makedirs(os.path.dirname(b), exist_ok=True)
        shutil.copy(a, b, follow_symlinks=False)


def write(tree: str, path: str, text: str) -> None:
    with open(os.path.join(tree, path), "w", encoding="utf-8") as f:
        f.write(text)


def tail(text: str) -> str:
    return "\n".join(text.splitlines()[-LINES_SHOWN:])


class Copy:
    """A copy of the tree with build folders of its own."""

    def __init__(self, folder: str, source: str = ROOT) -> None:
        self.root = folder
        copy_tree(source, folder)

    def run(self, command: str, timeout_s: float = COMMAND_TIMEOUT_S) -> tuple[int, str]:
        """(status, output) of a shell command in the copy; at the time limit, all that it started is killed."""
        with subprocess.Popen(["bash", "-c", command], cwd=self.root, env={**os.environ, "HUGE": huge()},
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors="replace", start_new_session=True) as process:
            try:
                out = process.communicate(timeout=timeout_s)[0]
                return process.returncode, out
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, 9)
                raise Problem(f"{command}: no end within {timeout_s} s\n{tail(process.communicate()[0])}") from None

    def build(self, targets: Iterable[str]) -> None:
        """Builds lines "FOLDER: TARGETS"; scripts/lib.sh defines the folders."""
        for line in targets:
            folder, words = line.split(":")
            command = f". scripts/lib.sh; BUILD_TARGETS=({words}); build_variant {folder}"
            status, out = self.run(command, 3600)
            if status != 0:
                raise Problem(f"{line}: does not build\n{tail(out)}")


def judge_without(copy: Copy, fault: planted.Fault) -> None:
    """The command must pass without the fault; else raises Problem or Skip."""
    copy.build(fault.build)
    status, out = copy.run(fault.command)
    if status != 0:
        raise Problem(f"{fault.command}: status {status} without a fault\n{tail(out)}")
    skipped = re.search(r"^ok .*# SKIP (.*)", out, re.MULTILINE)
    if skipped:
        raise Skip(skipped.group(1))


def judge_with(copy: Copy, fault: planted.Fault) -> None:
    """The command must fail with the fault and name the error; else raises Problem."""
    with open(os.path.join(copy.root, fault.file), encoding="utf-8") as f:
        before = f.read()
    problem = planted.fault_problem(fault, before)
    if problem:
        raise Problem(problem)
    write(copy.root, fault.file, before.replace(fault.old, fault.new))
    try:
        copy.build(fault.build)
        status, out = copy.run(fault.command)
    finally:
        write(copy.root, fault.file, before)
    if status == 0:
        raise Problem(f"{fault.command}: does not notice the fault\n{tail(out)}")
    if not re.search(fault.says, out):
        raise Problem(f"{fault.command}: status {status}, but \"{fault.says}\" is not in the output\n{tail(out)}")


class Judge:
    """Judges faults; runs each command once without a fault."""

    def __init__(self, copy: Copy) -> None:
        self.copy = copy
        self.known: dict[tuple[tuple[str, ...], str], Problem | Skip | None] = {}

    def without(self, fault: planted.Fault) -> None:
        key = (fault.build, fault.command)
        if key not in self.known:
            try:
                judge_without(self.copy, fault)
                self.known[key] = None
            except (Problem, Skip) as e:
                self.known[key] = e
        known = self.known[key]
        if known is not None:
            raise known

    def judge(self, fault: planted.Fault) -> tuple[str, str]:
        """("ok" | "not ok" | "skip", reason)"""
        try:
            self.without(fault)
            judge_with(self.copy, fault)
        except Skip as why:
            return "skip", str(why)
        except Problem as problem:
            return "not ok", str(problem)
        return "ok", ""


def run(copy: Copy, faults: list[planted.Fault]) -> int:
    """Judges and reports each fault. Returns the exit status."""
    judge, report = Judge(copy), tap.Report(len(faults))
    for fault in faults:
        state, why = judge.judge(fault)
        if state == "skip":
            report.skip(fault.name, why)
        elif state == "ok":
            report.ok(fault.name)
        else:
            report.fail(fault.name, [why])
    status = report.finish()
    print(f"{report.passed} passed, {report.failed} failed" + (f", {report.skipped} skipped" if report.skipped else ""))
    return status


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--only", default="", help="only faults whose name matches")
    parser.add_argument("--folder", default=os.path.join(ROOT, "build-plants"))
    parser.add_argument("--list", action="store_true", help="print the faults, and stop")
    args = parser.parse_args()
    faults = [f for f in planted.FAULTS if re.search(args.only, f.name)]
    if args.list:
        for fault in faults:
            print(f"{fault.name}: {fault.file}: {fault.command}")
        return 0
    if not faults:
        parser.error(f"--only {args.only}: no name of a fault matches; see --list")
    return 1 if run(Copy(os.path.abspath(args.folder)), faults) else 0


if __name__ == "__main__":
    sys.exit(main())
