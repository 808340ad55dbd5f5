#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The house test: does the tree keep the house's rules (rules.py), and would it be noticed if not?

Usage: house_test.py [--root DIR] [--build DIR]

Reports each case as TAP; exit status 1 if one is not ok. Needs gcc, pkg-config, libdpdk, mandoc and
nothing of Python but its standard library.
"""
import argparse
import dataclasses
import os
import re
import sys
import tempfile

import checks
import planted
import plants
import source


class Report:
    """TAP lines as they become known; the plan comes last."""

    def __init__(self):
        self.count = self.failed = 0

    def case(self, name, problems):
        self.count += 1
        self.failed += bool(problems)
        print(f"{'not ok' if problems else 'ok'} {self.count} - {name}")
        for line in problems[:40]:
            print(f"#   {line}")
        if len(problems) > 40:
            print(f"#   and {len(problems) - 40} more")
        sys.stdout.flush()

    def skip(self, name, why):
        self.count += 1
        print(f"ok {self.count} - {name} # SKIP {why}")

    def finish(self):
        print(f"1..{self.count}")
        return 1 if self.failed else 0


def judge_tree(report, tree):
    for name, check in checks.ALL.items():
        if name in checks.NEED_BUILD and tree.build is None:
            report.skip(name, "no build folder given")
        else:
            report.case(name, check(tree))


def judge_clean(report):
    """The tree that violations are planted in has none itself."""
    with tempfile.TemporaryDirectory() as root:
        planted.write_tree(root, {})
        tree = checks.Tree(root, planted.build_base(root))
        problems = [f"{name}: {p}" for name, check in checks.ALL.items() for p in check(tree)]
    report.case("self-test: a clean tree passes", problems)


def judge_planted(report):
    for what, name, changes in planted.PLANTED:
        with tempfile.TemporaryDirectory() as root:
            planted.write_tree(root, changes)
            linked = "app/emu/main.c" in changes
            build = planted.build_base(root) if linked or name in checks.NEED_BUILD else None
            tree = checks.Tree(root, build)
            found = checks.ALL[name](tree)
            problems = [] if found else [f"\"{name}\" does not notice"]
        report.case(f"self-test: {what}", problems)


def fault_problems(root, faults):
    """Entries of FAULTS that do not apply to the tree, or whose names are not unique."""
    bad = []
    for i, fault in enumerate(faults):
        if not os.path.isfile(os.path.join(root, fault.file)):
            bad.append(f"{fault.name}: {fault.file} is missing")
            continue
        problem = planted.fault_problem(fault, source.read(root, fault.file))
        if problem:
            bad.append(f"{fault.name}: {problem}")
        if fault.name in {f.name for f in faults[:i]}:
            bad.append(f"{fault.name}: another has this name")
        bad += [f"{fault.name}: \"{line}\" is not FOLDER: TARGETS" for line in fault.build
                if not re.fullmatch(r"build(-[a-z]+)?:( \S+)+", line)]
    return bad


def judge_faults(report, root):
    """The faults that plants.py plants still apply; and it would be noticed if one did not."""
    report.case("each fault of FAULTS applies", fault_problems(root, planted.FAULTS))
    good = planted.Fault("good", "", "lib/base/seq.h", "int32_t)", "int64_t)", "true", "", ("build: all",))
    with tempfile.TemporaryDirectory() as folder:
        planted.write_tree(folder, {})
        report.case("self-test: a fault that applies", fault_problems(folder, [good]))
        for what, change in (("text that is gone", {"old": "int31_t"}), ("text that is there twice", {"old": "uint32_t"}),
                             ("a file that is gone", {"file": "lib/base/sec.h"}), ("nothing new", {"new": "int32_t)"}),
                             ("targets without a folder", {"build": ("all",)})):
            bad = dataclasses.replace(good, **change)
            report.case(f"self-test: a fault with {what}", [] if fault_problems(folder, [bad]) else ["is not noticed"])
        report.case("self-test: two faults of one name",
                    [] if fault_problems(folder, [good, good]) else ["are not noticed"])


def judge_plants(report):
    """The runner of the plants tells a fault that its command notices from one that it does not."""
    good = planted.Fault("good", "", "lib/base/seq.h", "int32_t)", "int64_t)",
                         "grep -q 'int32_t)' lib/base/seq.h || { echo wide; false; }", "wide")
    cases = (("that is noticed", {}, "ok"), ("that is not noticed", {"command": "true"}, "not ok"),
             ("whose command fails without it", {"command": "echo wide; false"}, "not ok"),
             ("noticed for another reason", {"says": "narrow"}, "not ok"),
             ("whose command skips", {"command": "echo 'ok 1 - x # SKIP y'"}, "skip"),
             ("in text that is gone", {"old": "int31_t"}, "not ok"))
    with tempfile.TemporaryDirectory() as folder:
        planted.write_tree(os.path.join(folder, "tree"), {})
        copy = plants.Copy(os.path.join(folder, "copy"), os.path.join(folder, "tree"))
        for what, change, wanted in cases:
            state, why = plants.Judge(copy).judge(dataclasses.replace(good, **change))
            report.case(f"self-test: a plant {what}", [] if state == wanted else [f"{state}: {why}"])
        report.case("self-test: a plant is taken out again",
                    [] if copy.run("grep -q 'int32_t)' lib/base/seq.h")[0] == 0 else ["is still there"])


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--root", default=os.path.dirname(os.path.dirname(here)))
    parser.add_argument("--build", help="meson build folder, for the look at objects")
    args = parser.parse_args()
    sys.dont_write_bytecode = True

    report = Report()
    judge_tree(report, checks.Tree(os.path.abspath(args.root),
                                   args.build and os.path.abspath(args.build)))
    judge_clean(report)
    judge_planted(report)
    judge_faults(report, os.path.abspath(args.root))
    judge_plants(report)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
