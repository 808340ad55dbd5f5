#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""filter_test.py FILTER_WALK: what takes part in a sync, by patterns that are drawn, compared with the real rsync.

SLUICE_SEED runs the same again; SLUICE_FILTER_ROUNDS says how many trees are drawn, each with 10 lists of rules.
"""
import os
import random
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
ROUNDS = int(os.environ.get("SLUICE_FILTER_ROUNDS") or "12")
NAMES = ("a", "b", "c", "ab", "abc", "a.o", "b.o", ".x", "a b", "[a]", "a*", "a\\b", "\u00e9", "-a", "a]", "Z", "1")
PIECES = (*NAMES, "*", "*", "*", "**", "**", "***", "?", "??", "[ab]", "[!a]", "[^a]", "[a-c]", "[c-a]", "[]a]", "[!]a]",
          "[a-]", "[-a]", "[\\]a]", "[[:alpha:]]", "[![:digit:]]", "[[:nope:]]", "[[:alpha:]", "[[:", "[::]", "[", "[]",
          "[a", "\\*", "\\[a\\]", "\\", "a\\b", "*.o", ".*", "/", "/", "//")


def grow(rng: random.Random, folder: str, depth: int) -> None:
    for name in rng.sample(NAMES, rng.randrange(2, 8)):
        path = os.path.join(folder, name)
        if depth > 0 and rng.random() < 0.5:
            os.mkdir(path)
            grow(rng, path, depth - 1)
        elif rng.random() < 0.1:
            os.symlink("a", path)
        else:
            with open(path, "wb"):
                pass


def below(top: str) -> list[str]:
    return [os.path.relpath(os.path.join(path, name), top)
            for path, dirs, files in os.walk(top) for name in dirs + files]


def pattern(rng: random.Random, names: list[str]) -> str:
    """Made of pieces, or of the name of something that is there."""
    if rng.random() < 0.5:
        made = "".join(rng.choice(PIECES) for _ in range(rng.randrange(1, 5)))
    else:
        parts = rng.choice(names).split("/")
        for i, part in enumerate(parts):
            if rng.random() < 0.5:
                at = rng.randrange(len(part) + 1)
                parts[i] = rng.choice(("*", "**", "?", part[:at] + "*", "*" + part[at:], part[:at] + "?" + part[at + 1:]))
        made = "/".join(parts[rng.randrange(len(parts)):] if rng.random() < 0.5 else parts)
    return rng.choice(("", "", "", "/", "**/")) + made + rng.choice(("", "", "", "/", "/***", "/**"))


def rules(rng: random.Random, names: list[str]) -> list[str]:
    return [f"{rng.choice('-+')} {pattern(rng, names)}" for _ in range(rng.randrange(1, 6))]


def with_rsync(tool: str, top: str, chosen: list[str], empty: str) -> list[str]:
    words = [("--include=" if x[0] == "+" else "--exclude=") + x for x in chosen]
    run = subprocess.run([tool, "-a", "-n", "--8-bit-output", "--out-format=%n", *words, top + "/", empty],
                         capture_output=True, text=True, check=True)
    return sorted(x for x in run.stdout.splitlines() if x != "./")


def with_ours(walk: str, top: str, chosen: list[str]) -> list[str]:
    run = subprocess.run([walk, top + "/", *chosen], capture_output=True, text=True, check=True)
    return sorted(x for x in run.stdout.splitlines() if x != "/")


def main() -> int:
    seed = int(os.environ.get("SLUICE_SEED") or str(random.randrange(1 << 32)), 0)
    tool = shutil.which("rsync")
    if tool is None:
        print("skipped: rsync is missing; apt-get install rsync")
        return SKIPPED
    print(f"SLUICE_SEED={seed}")
    rng, left_out = random.Random(seed), 0
    with tempfile.TemporaryDirectory(prefix="sluice-filter-") as folder:
        empty = os.path.join(folder, "empty")
        os.mkdir(empty)
        for number in range(ROUNDS):
            top = os.path.join(folder, str(number))
            os.mkdir(top)
            grow(rng, top, 3)
            names = below(top)
            for _ in range(10):
                chosen = rules(rng, names)
                theirs, ours = with_rsync(tool, top, chosen, empty), with_ours(sys.argv[1], top, chosen)
                if theirs != ours:
                    print(f"rules {chosen}\nof {names}\nonly rsync: {sorted(set(theirs) - set(ours))}\n"
                          f"only sluice: {sorted(set(ours) - set(theirs))}")
                    return 1
                left_out += len(names) > len(ours)
    print(f"{ROUNDS * 10} lists of rules, of which {left_out} left something out")
    return 0 if left_out >= ROUNDS else 1


if __name__ == "__main__":
    sys.exit(main())
