#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs clang-tidy on the product's sources, except on those that were clean before and have not changed.

Usage: tidy.py BUILD_DIR [JOBS [REGEX]]     (REGEX: the sources to check)

A source has not changed if all that clang-tidy reads is as before: its text, the headers which the compiler
read (ninja knows them), its command line, .clang-tidy and clang-tidy itself. The hash of all these names an
empty file in BUILD_DIR/tidy; a hash that was not used for a month is removed. A new build folder has no
hashes, so all sources are checked there. The exit status is 1 if clang-tidy complains.
"""
import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
EXTRA = ["-quiet", "-extra-arg=-Wno-unknown-warning-option"]
# Two commands for a source that differ only in these macros give the same warnings.
HARMLESS = ("-DGTEST_", "-DSLUICE_VERSION=")
KEEP_S = 30 * 86400

Entry = dict[str, Any]  # of compile_commands.json


def commands(build: str, only: str = "") -> dict[str, list[Entry]]:
    """The compiler's commands for each of the product's sources. Where several programs have a source, it has one
    command for each set of macros."""
    found: dict[str, dict[tuple[str, ...], Entry]] = {}
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as f:
        entries = json.load(f)
    for entry in entries:
        path = os.path.relpath(os.path.join(entry["directory"], entry["file"]), ROOT)
        if re.fullmatch(r"(lib|app|drivers)/.*\.c", path) and re.search(only, path):
            words = shlex.split(entry["command"])
            macros = tuple(sorted(w for w in words if w.startswith("-D") and not w.startswith(HARMLESS)))
            found.setdefault(path, {}).setdefault(macros, entry)
    return {path: list(by_macros.values()) for path, by_macros in found.items()}


def read_headers(build: str) -> dict[str, list[str]]:
    """{object: files it was made of}, of the objects that are up to date."""
    text = subprocess.run(["ninja", "-C", build, "-t", "deps"], capture_output=True, text=True, check=True).stdout
    found = {}
    for block in text.split("\n\n"):
        lines = block.splitlines()
        head = re.match(r"(.*): #deps \d+, .*\(VALID\)", next((x for x in lines if "#deps" in x), ""))
        if head:
            found[head.group(1)] = [x.strip() for x in lines if x.startswith("    ")]
    return found


class Hasher:
    """Hashes of all that a source's verdict depends on; each header is read once."""

    def __init__(self, build: str) -> None:
        self.build = build
        self.known: dict[str, str] = {}
        self.headers = read_headers(build)
        version = subprocess.run(["clang-tidy", "--version"], capture_output=True, text=True, check=True).stdout
        with open(os.path.join(ROOT, ".clang-tidy"), encoding="utf-8") as f:
            self.common = version + f.read() + repr(EXTRA)

    def text(self, path: str) -> str:
        """The hash of a file's text."""
        if path not in self.known:
            with open(path, "rb") as f:
                self.known[path] = hashlib.sha256(f.read()).hexdigest()
        return self.known[path]

    def key(self, entries: list[Entry]) -> str | None:
        """The hash for a source; None: ninja does not know its headers."""
        parts = [self.common]
        for entry in entries:
            headers = self.headers.get(entry["output"])
            if headers is None:
                return None
            parts.append(entry["command"])
            parts += [h + self.text(os.path.join(self.build, h)) for h in sorted(headers)]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def check(entries: list[Entry]) -> str | None:
    """The complaints of clang-tidy about one source, or None."""
    for entry in entries:
        # With the command's own words: compile_commands.json has a source twice if two programs have it.
        words = [w for w in shlex.split(entry["command"])[1:] if w != entry["file"]]
        if "ccache" in entry["command"].split()[0]:
            words = words[1:]
        done = subprocess.run(["clang-tidy", *EXTRA, entry["file"], "--", *words], cwd=entry["directory"],
                              capture_output=True, text=True, check=False)
        if done.returncode != 0:
            return done.stdout or done.stderr
    return None


def main() -> int:
    if len(sys.argv) not in (2, 3, 4):
        sys.exit(__doc__)
    build = os.path.abspath(sys.argv[1])
    jobs = int(sys.argv[2]) if len(sys.argv) > 2 else 2
    only = sys.argv[3] if len(sys.argv) == 4 else ""
    folder = os.path.join(build, "tidy")
    os.makedirs(folder, exist_ok=True)
    hasher, before = Hasher(build), 0
    todo: list[tuple[str, list[Entry], str | None]] = []
    for path, entries in commands(build, only).items():
        key = hasher.key(entries)
        mark = key and os.path.join(folder, key)
        if mark and os.path.exists(mark):
            os.utime(mark)
            before += 1
        else:
            todo.append((path, entries, mark))
    # The largest first, so that both jobs end together.
    todo.sort(key=lambda item: -os.path.getsize(os.path.join(ROOT, item[0])))
    bad = 0
    with ThreadPoolExecutor(jobs) as pool:
        for (path, _, mark), complaint in zip(todo, pool.map(lambda item: check(item[1]), todo)):
            if complaint is not None:
                bad += 1
                print(f"{path}:\n{complaint}", flush=True)
            elif mark:
                with open(mark, "w", encoding="utf-8"):
                    pass
    for name in os.listdir(folder):
        if os.path.getmtime(os.path.join(folder, name)) < time.time() - KEEP_S:
            os.remove(os.path.join(folder, name))
    print(f"{len(todo)} files checked, {before} unchanged; {bad} with complaints")
    return 1 if bad or not todo and not before else 0


if __name__ == "__main__":
    sys.exit(main())
