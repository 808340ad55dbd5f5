#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Prints comments of lib, app and drivers, drawn at random, each with its own line and those that follow.

Usage: sample.py [--seed N] [--count N] [--words N] [--only REGEX]

The reader asks of each comment: does somebody who has not written the file understand it at first reading? If
not, the comment is rewritten. Comments of fewer than --words words are not drawn. The same seed draws the same
comments from the same tree.
"""
import argparse
import os
import random
import re
import sys
from collections.abc import Iterator

sys.dont_write_bytecode = True

import source  # noqa: E402 (imported after dont_write_bytecode is set)

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LINES_AFTER = 3


def comments(only: str, words: int) -> Iterator[tuple[str, int, str, list[str]]]:
    """(path, line, text, the code on its first line and the lines that follow) of comments of at least that many words."""
    tree = source.Tree(ROOT)
    for path in tree.product():
        if not re.search(only, path):
            continue
        text = tree.text(path)
        lines = text.split("\n")
        for line, comment in source.comments(text):
            if "SPDX" not in comment and len(re.findall(r"[A-Za-z]+", comment)) >= words:
                last, before = line + comment.count("\n"), lines[line - 1].split(comment.split("\n", 1)[0], 1)[0]
                yield path, line, comment, [before] * bool(before.strip()) + lines[last:last + LINES_AFTER]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    parser.add_argument("--count", type=int, default=50)
    parser.add_argument("--words", type=int, default=6)
    parser.add_argument("--only", default="", metavar="REGEX", help="only files whose path matches")
    args = parser.parse_args()
    found = list(comments(args.only, args.words))
    drawn = random.Random(args.seed).sample(found, min(args.count, len(found)))
    print(f"seed {args.seed}: {len(drawn)} of {len(found)} comments")
    for i, (path, line, comment, after) in enumerate(drawn, 1):
        print(f"\n{i}. {path}:{line}\n{comment}")
        print("\n".join(f"    | {x}" for x in after))


if __name__ == "__main__":
    main()
