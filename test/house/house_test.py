#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The house test: does the tree keep the house's rules (rules.py), and would it be noticed if not?

Usage: house_test.py [--root DIR] [--build DIR]

Reports each case as TAP; exit status 1 if one is not ok. Needs gcc, pkg-config, libdpdk, mandoc and
nothing of Python but its standard library.
"""
import argparse
import os
import sys
import tempfile

import checks
import planted


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
            build = planted.build_base(root) if name in checks.NEED_BUILD else None
            tree = checks.Tree(root, build)
            found = checks.ALL[name](tree)
            problems = [] if found else [f"\"{name}\" does not notice"]
        report.case(f"self-test: {what}", problems)


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
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
