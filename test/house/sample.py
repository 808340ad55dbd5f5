#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Draws comments of lib, app and drivers from a seed, with the lines that follow them, for somebody to read.

Usage: sample.py [--seed N] [--count N] [--words N] [--only REGEX]

Who reads asks of each: is it understood at first reading, by somebody who has not written the file? If not,
it is rewritten. Comments of fewer than --words words are not drawn. The seed is printed, so that a draw can
be shown and repeated."""
import argparse
import os
import random
import re
import sys

sys.dont_write_bytecode = True

import checks  # noqa: E402 (without leaving byte code in the tree)
import source  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LINES_AFTER = 3


def comments(only, words):
    """(path, line, text, the lines behind it) of comments that say something."""
    tree = checks.Tree(ROOT)
    for path in tree.product():
        if not re.search(only, path):
            continue
        text = tree.text(path)
        lines = text.split("\n")
        for line, comment in source.comments(text):
            if "SPDX" not in comment and len(re.findall(r"[A-Za-z]+", comment)) >= words:
                last = line + comment.count("\n")
                yield path, line, comment, lines[last:last + LINES_AFTER]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    parser.add_argument("--count", type=int, default=50)
    parser.add_argument("--words", type=int, default=6)
    parser.add_argument("--only", default="", metavar="REGEX", help="of paths")
    args = parser.parse_args()
    found = list(comments(args.only, args.words))
    drawn = random.Random(args.seed).sample(found, min(args.count, len(found)))
    print(f"seed {args.seed}: {len(drawn)} of {len(found)} comments")
    for i, (path, line, comment, after) in enumerate(drawn, 1):
        print(f"\n{i}. {path}:{line}\n{comment}")
        print("\n".join(f"    | {x}" for x in after))


if __name__ == "__main__":
    main()
