#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Plants each fault of planted.FAULTS in a copy of the tree, and demands that its command notices.

Usage: plants.py [--only REGEX] [--folder DIR] [--list]

The copy and its build folders stay in DIR (build-plants of this tree), so the next run builds only
what has changed. First each command must pass without a fault; one that skips there cannot judge,
and its faults are skipped. Then one fault after the other is planted, built, judged and taken out.

Reports each fault as TAP and closes with "N passed, N failed"; exit status 1 if one is not noticed.
Some commands need root and namespaces, as `scripts/test system` does; with hugepages they take less time.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True

import planted  # noqa: E402 (without leaving byte code in the tree)

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
LINES_SHOWN = 30
COMMAND_TIMEOUT_S = 900
HUGE_MB = 1792  # what the scenes need


def huge():
    """Words for commands that start daemons: whether hugepages are free."""
    try:
        with open("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", encoding="ascii") as f:
            return "--huge" if int(f.read()) * 2 >= HUGE_MB else ""
    except OSError:
        return ""


class Problem(Exception):
    """Why a fault could not be judged, or was not noticed."""


class Skip(Exception):
    """This machine cannot run the command; says why."""


def tree_paths(root):
    """All files and links of a tree, without git's and those of builds."""
    for folder, dirs, names in os.walk(root):
        top = os.path.samefile(folder, root)
        dirs[:] = [d for d in dirs if d not in (".git", "__pycache__") and
                   not (top and re.match(r"build(-|$)|lab-out$", d))]
        for name in set(names) - {".git"}:
            yield os.path.relpath(os.path.join(folder, name), root)


def same(a, b):
    if os.path.islink(a) or os.path.islink(b):
        return os.path.islink(a) and os.path.islink(b) and os.readlink(a) == os.readlink(b)
    with open(a, "rb") as one, open(b, "rb") as other:
        return one.read() == other.read()


def copy_tree(source, target):
    """Makes target what source is. A file that is the same keeps its time, so ninja leaves it alone;
    any other gets a new one."""
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


def write(tree, path, text):
    with open(os.path.join(tree, path), "w", encoding="utf-8") as f:
        f.write(text)


def tail(text):
    return "\n".join(text.splitlines()[-LINES_SHOWN:])


class Copy:
    """A copy of the tree with build folders of its own."""

    def __init__(self, folder, source=ROOT):
        self.root = folder
        copy_tree(source, folder)

    def run(self, command, timeout_s=COMMAND_TIMEOUT_S):
        """(status, output) of a shell command in the copy; whatever it started ends with it."""
        with subprocess.Popen(["bash", "-c", command], cwd=self.root, env={**os.environ, "HUGE": huge()},
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors="replace", start_new_session=True) as process:
            try:
                out = process.communicate(timeout=timeout_s)[0]
                return process.returncode, out
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, 9)
                raise Problem(f"{command}: no end within {timeout_s} s\n{tail(process.communicate()[0])}") from None

    def build(self, targets):
        """Builds "FOLDER: TARGETS" lines; what FOLDER is, scripts/lib.sh knows."""
        for line in targets:
            folder, words = line.split(":")
            command = f". scripts/lib.sh; BUILD_TARGETS=({words}); build_variant {folder}"
            status, out = self.run(command, 3600)
            if status != 0:
                raise Problem(f"{line}: does not build\n{tail(out)}")


def judge_without(copy, fault):
    """The command must pass as the tree is; Problem or Skip if it does not."""
    copy.build(fault.build)
    status, out = copy.run(fault.command)
    if status != 0:
        raise Problem(f"{fault.command}: status {status} without a fault\n{tail(out)}")
    skipped = re.search(r"^ok .*# SKIP (.*)", out, re.MULTILINE)
    if skipped:
        raise Skip(skipped.group(1))


def judge_with(copy, fault):
    """The command must fail with the fault, and say what is wrong; Problem if it does not."""
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
        raise Problem(f"{fault.command}: does not notice\n{tail(out)}")
    if not re.search(fault.says, out):
        raise Problem(f"{fault.command}: status {status}, but nothing of \"{fault.says}\"\n{tail(out)}")


class Judge:
    """What comes of faults; what a command says without one is asked once."""

    def __init__(self, copy):
        self.copy, self.known = copy, {}

    def without(self, fault):
        key = (tuple(fault.build), fault.command)
        if key not in self.known:
            try:
                judge_without(self.copy, fault)
                self.known[key] = None
            except (Problem, Skip) as e:
                self.known[key] = e
        if self.known[key] is not None:
            raise self.known[key]

    def judge(self, fault):
        """("ok" | "not ok" | "skip", why)"""
        try:
            self.without(fault)
            judge_with(self.copy, fault)
        except Skip as why:
            return "skip", str(why)
        except Problem as problem:
            return "not ok", str(problem)
        return "ok", ""


def run(copy, faults):
    """Reports; the number of faults that nobody noticed."""
    counts = {"ok": 0, "not ok": 0, "skip": 0}
    judge = Judge(copy)
    print(f"1..{len(faults)}", flush=True)
    for i, fault in enumerate(faults, 1):
        state, why = judge.judge(fault)
        counts[state] += 1
        if state == "skip":
            print(f"ok {i} - {fault.name} # SKIP {why}")
        else:
            print(f"{state} {i} - {fault.name}")
            print("".join(f"#   {line}\n" for line in why.splitlines()), end="")
        sys.stdout.flush()
    print(f"{counts['ok']} passed, {counts['not ok']} failed" +
          (f", {counts['skip']} skipped" if counts["skip"] else ""))
    return counts["not ok"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--only", default="", help="faults whose name matches")
    parser.add_argument("--folder", default=os.path.join(ROOT, "build-plants"))
    parser.add_argument("--list", action="store_true")
    args = parser.parse_args()
    faults = [f for f in planted.FAULTS if re.search(args.only, f.name)]
    if args.list:
        for fault in faults:
            print(f"{fault.name}: {fault.file}: {fault.command}")
        return 0
    if not faults:
        parser.error(f"--only {args.only}: no fault has such a name; see --list")
    return 1 if run(Copy(os.path.abspath(args.folder)), faults) else 0


if __name__ == "__main__":
    sys.exit(main())
