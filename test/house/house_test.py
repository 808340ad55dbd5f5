#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The house test: does the tree keep the rules of rules.py, and does each check notice a violation?

Usage: house_test.py [--root DIR] [--build DIR]

Reports each case as TAP; exit status 1 if one is not ok. Needs gcc, pkg-config, libdpdk and mandoc, and
Python's standard library alone. Without mypy, the check of types is skipped.
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
import tap


def judge_tree(report: tap.Report, tree: source.Tree) -> None:
    for name, check in checks.ALL.items():
        why = checks.skip_reason(name, tree)
        if why is None:
            report.case(name, check(tree))
        else:
            report.skip(name, why)


def judge_clean(report: tap.Report) -> None:
    """The tree that violations are planted in has none itself."""
    with tempfile.TemporaryDirectory() as root:
        planted.write_tree(root, {})
        tree = source.Tree(root, planted.build_base(root))
        problems = [f"{name}: {p}" for name, check in checks.ALL.items()
                    if checks.skip_reason(name, tree) is None for p in check(tree)]
    report.case("self-test: a clean tree passes", problems)


def judge_planted(report: tap.Report) -> None:
    """Each check notices each violation of PLANTED that is its own."""
    for what, name, changes in planted.PLANTED:
        with tempfile.TemporaryDirectory() as root:
            planted.write_tree(root, changes)
            linked = "app/emu/main.c" in changes
            build = planted.build_base(root) if linked or name in checks.NEED_BUILD else None
            tree = source.Tree(root, build)
            why = checks.skip_reason(name, tree)
            if why is None:
                report.case(f"self-test: {what}", [] if checks.ALL[name](tree) else [f"\"{name}\" does not notice"])
            else:
                report.skip(f"self-test: {what}", why)


def fault_problems(root: str, faults: list[planted.Fault]) -> list[str]:
    """What keeps entries of FAULTS from being planted in the tree, and names that are not unique."""
    bad = []
    for i, fault in enumerate(faults):
        if not os.path.isfile(os.path.join(root, fault.file)):
            bad.append(f"{fault.name}: {fault.file} is missing; correct FAULTS")
            continue
        problem = planted.fault_problem(fault, source.read(root, fault.file))
        if problem:
            bad.append(f"{fault.name}: {problem}")
        if fault.name in {f.name for f in faults[:i]}:
            bad.append(f"{fault.name}: another fault has this name; rename one")
        bad += [f"{fault.name}: \"{line}\" is not FOLDER: TARGETS" for line in fault.build
                if not re.fullmatch(r"build(-[a-z]+)?:( \S+)+", line)]
    return bad


def judge_faults(report: tap.Report, root: str) -> None:
    """Each fault that plants.py plants can be planted, and one that cannot is noticed."""
    report.case("each fault of FAULTS applies", fault_problems(root, planted.FAULTS))
    good = planted.Fault("good", "", "lib/base/seq.h", "int32_t)", "int64_t)", "true", "", ("build: all",))
    with tempfile.TemporaryDirectory() as folder:
        planted.write_tree(folder, {})
        report.case("self-test: a fault that applies", fault_problems(folder, [good]))
        for what, bad in (("text that is gone", dataclasses.replace(good, old="int31_t")),
                          ("text that is there twice", dataclasses.replace(good, old="uint32_t")),
                          ("a file that is gone", dataclasses.replace(good, file="lib/base/sec.h")),
                          ("nothing new", dataclasses.replace(good, new="int32_t)")),
                          ("targets without a folder", dataclasses.replace(good, build=("all",)))):
            report.case(f"self-test: a fault with {what}",
                        [] if fault_problems(folder, [bad]) else ["it is not noticed"])
        report.case("self-test: two faults of one name",
                    [] if fault_problems(folder, [good, good]) else ["they are not noticed"])


def judge_plants(report: tap.Report) -> None:
    """plants.py tells a fault that its command notices from one that it does not notice."""
    good = planted.Fault("good", "", "lib/base/seq.h", "int32_t)", "int64_t)",
                         "grep -q 'int32_t)' lib/base/seq.h || { echo wide; false; }", "wide")
    cases = (("that is noticed", good, "ok"),
             ("that is not noticed", dataclasses.replace(good, command="true"), "not ok"),
             ("whose command fails without it", dataclasses.replace(good, command="echo wide; false"), "not ok"),
             ("noticed for another reason", dataclasses.replace(good, says="narrow"), "not ok"),
             ("whose command skips", dataclasses.replace(good, command="echo 'ok 1 - x # SKIP y'"), "skip"),
             ("in text that is gone", dataclasses.replace(good, old="int31_t"), "not ok"))
    with tempfile.TemporaryDirectory() as folder:
        planted.write_tree(os.path.join(folder, "tree"), {})
        copy = plants.Copy(os.path.join(folder, "copy"), os.path.join(folder, "tree"))
        for what, fault, wanted in cases:
            state, why = plants.Judge(copy).judge(fault)
            report.case(f"self-test: a plant {what}", [] if state == wanted else [f"{state}: {why}"])
        report.case("self-test: a plant is taken out again",
                    [] if copy.run("grep -q 'int32_t)' lib/base/seq.h")[0] == 0 else ["it is still there"])


def main() -> int:
    here = os.path.dirname(os.path.abspath(__file__))
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--root", default=os.path.dirname(os.path.dirname(here)))
    parser.add_argument("--build", help="meson build folder, for the checks of objects, programs and types")
    args = parser.parse_args()
    sys.dont_write_bytecode = True

    report = tap.Report()
    judge_tree(report, source.Tree(os.path.abspath(args.root),
                                   os.path.abspath(args.build) if args.build else None))
    judge_clean(report)
    judge_planted(report)
    judge_faults(report, os.path.abspath(args.root))
    judge_plants(report)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
