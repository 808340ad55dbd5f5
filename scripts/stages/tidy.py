#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""clang-tidy over the product's sources; what it found clean before, it does not look at again.

Usage: tidy.py BUILD_DIR [JOBS [REGEX]]     (REGEX: of the sources to look at)

A file is as before if nothing is different that clang-tidy reads: its text and that of the headers which
the compiler read (ninja knows them), its command line, .clang-tidy and clang-tidy itself. The hash of all
that names an empty file in BUILD_DIR/tidy; an older hash goes after a month. A new build folder has none,
so there everything is looked at. Status 1 if clang-tidy complains.
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

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
EXTRA = ["-quiet", "-extra-arg=-Wno-unknown-warning-option"]
# Macros that make no other code of a source that two programs have.
HARMLESS = ("-DGTEST_", "-DSLUICE_VERSION=")
KEEP_S = 30 * 86400


def commands(build, only=""):
    """{source: [entries]}: the compiler's commands for the product's sources. One that several programs have
    is looked at once for each set of macros that they give it."""
    found = {}
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as f:
        entries = json.load(f)
    for entry in entries:
        path = os.path.relpath(os.path.join(entry["directory"], entry["file"]), ROOT)
        if re.fullmatch(r"(lib|app|drivers)/.*\.c", path) and re.search(only, path):
            words = shlex.split(entry["command"])
            macros = tuple(sorted(w for w in words if w.startswith("-D") and not w.startswith(HARMLESS)))
            found.setdefault(path, {}).setdefault(macros, entry)
    return {path: list(by_macros.values()) for path, by_macros in found.items()}


def read_headers(build):
    """{object: files it was made of}, where that is still so."""
    text = subprocess.run(["ninja", "-C", build, "-t", "deps"], capture_output=True, text=True, check=True).stdout
    found = {}
    for block in text.split("\n\n"):
        lines = block.splitlines()
        head = lines and re.match(r"(.*): #deps \d+, .*\(VALID\)", next((x for x in lines if "#deps" in x), ""))
        if head:
            found[head.group(1)] = [x.strip() for x in lines if x.startswith("    ")]
    return found


class Hasher:
    """Of what a file's verdict depends on; each header is read once."""

    def __init__(self, build):
        self.build, self.known = build, {}
        self.headers = read_headers(build)
        version = subprocess.run(["clang-tidy", "--version"], capture_output=True, text=True, check=True).stdout
        with open(os.path.join(ROOT, ".clang-tidy"), encoding="utf-8") as f:
            self.common = version + f.read() + repr(EXTRA)

    def text(self, path):
        if path not in self.known:
            with open(path, "rb") as f:
                self.known[path] = hashlib.sha256(f.read()).hexdigest()
        return self.known[path]

    def key(self, entries):
        """None where it is not known what was read."""
        parts = [self.common]
        for entry in entries:
            headers = self.headers.get(entry["output"])
            if headers is None:
                return None
            parts.append(entry["command"])
            parts += [h + self.text(os.path.join(self.build, h)) for h in sorted(headers)]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def look(entries):
    """What clang-tidy complains of in one source; None."""
    for entry in entries:
        # Of its own words, not of the folder's list: that has a source twice if two programs have it.
        words = [w for w in shlex.split(entry["command"])[1:] if w != entry["file"]]
        if "ccache" in entry["command"].split()[0]:
            words = words[1:]
        done = subprocess.run(["clang-tidy", *EXTRA, entry["file"], "--", *words], cwd=entry["directory"],
                              capture_output=True, text=True, check=False)
        if done.returncode != 0:
            return done.stdout or done.stderr
    return None


def main():
    if len(sys.argv) not in (2, 3, 4):
        sys.exit(__doc__)
    build = os.path.abspath(sys.argv[1])
    jobs = int(sys.argv[2]) if len(sys.argv) > 2 else 2
    only = sys.argv[3] if len(sys.argv) == 4 else ""
    folder = os.path.join(build, "tidy")
    os.makedirs(folder, exist_ok=True)
    hasher, todo, before = Hasher(build), [], 0
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
        for (path, _, mark), complaint in zip(todo, pool.map(lambda item: look(item[1]), todo)):
            if complaint is not None:
                bad += 1
                print(f"{path}:\n{complaint}", flush=True)
            elif mark:
                with open(mark, "w", encoding="utf-8"):
                    pass
    for name in os.listdir(folder):
        if os.path.getmtime(os.path.join(folder, name)) < time.time() - KEEP_S:
            os.remove(os.path.join(folder, name))
    print(f"{len(todo)} files looked at, {before} as before; {bad} with complaints")
    return 1 if bad or not todo and not before else 0


if __name__ == "__main__":
    sys.exit(main())
