# SPDX-License-Identifier: BSD-3-Clause
"""The checks of how the tree is laid out: sizes of folders, links of programs, calls between files, and words and
names in comments. As in checks.py, each check takes a Tree and returns its violations."""
import collections
import functools
import json
import os
import re
import subprocess
from collections.abc import Callable, Iterator, Mapping

import rules
import source
from source import Tree

Symbols = tuple[set[str], set[str]]  # names that an object defines for others, and names that it needs


def check_folders(tree: Tree) -> list[str]:
    """A folder holds few files."""
    count = collections.Counter(os.path.dirname(p) for p in tree.files)
    bad = []
    for folder, n in sorted(count.items()):
        deep = folder.startswith("app/") and folder.count("/") >= 2
        files_max = rules.FOLDER_FILES_MAX_APP if deep else rules.FOLDER_FILES_MAX
        if n > files_max:
            bad.append(f"{folder}: {n} files; at most {files_max}, group them by purpose in folders")
    return bad


def _room(path: str) -> str:
    """lib/host/rx.c: "host"; app/sluiced/port/tap_signals.c: "sluiced/port"; drivers/cable.c: "drivers"."""
    top, *folders = os.path.dirname(path).split("/")
    return "drivers" if top == "drivers" else "/".join(folders)


def _within(room: str, allowed: set[str]) -> bool:
    return any(room == a or room.startswith(a + "/") for a in allowed)


def check_programs(tree: Tree) -> list[str]:
    """A program includes and links only what PROGRAMS allows; links are checked only where there is a build."""
    bad = []
    for program, (home, allowed) in rules.PROGRAMS.items():
        rooms = {home} | allowed
        for path in tree.sources("app"):
            if not _within(_room(path), {home}):
                continue
            for line, name, quoted in source.includes(tree.text(path)):
                if quoted and not _within(os.path.dirname(name), rooms):
                    bad.append(f"{path}:{line}: {program} may not include {name}; see PROGRAMS in test/house/rules.py")
    if tree.build is not None:
        bad += _linked(tree)
    return bad


@functools.lru_cache(maxsize=1)
def _objects(tree: Tree) -> list[tuple[str, set[str], set[str]]]:
    """[(source, names that it defines for others, names that it needs)] of each compiled source of lib, app and
    drivers."""
    assert tree.build is not None
    found = []
    with open(os.path.join(tree.build, "compile_commands.json"), encoding="utf-8") as f:
        for entry in json.load(f):
            path = os.path.relpath(os.path.join(entry["directory"], entry["file"]), tree.root)
            built = os.path.join(entry["directory"], entry["output"])
            if path.startswith(("lib/", "app/", "drivers/")) and os.path.exists(built):
                found.append((path, built))
    symbols = _symbols(sorted({built for _, built in found}))
    return [(path, *symbols[built]) for path, built in found]


def _symbols(files: list[str]) -> dict[str, Symbols]:
    """The symbols of each file, an object or a program."""
    out: dict[str, Symbols] = {f: (set(), set()) for f in files}
    for i in range(0, len(files), 200):
        done = subprocess.run(["nm", "-A", *files[i:i + 200]], capture_output=True, text=True, check=True)
        for line in done.stdout.splitlines():
            m = re.match(r"(.*?):\s*[0-9a-f]*\s+([A-Za-z]) (\S+)", line)
            if m and m.group(2) in "TDBRC":
                out[m.group(1)][0].add(m.group(3))
            elif m and m.group(2) == "U":
                out[m.group(1)][1].add(m.group(3))
    return out


def _linked(tree: Tree) -> list[str]:
    """Violations by programs that link functions of a room that PROGRAMS does not allow them."""
    assert tree.build is not None
    rooms: dict[str, set[str]] = collections.defaultdict(set)  # function -> rooms that define it
    for path, defined, _ in _objects(tree):
        for name in defined - {"main"}:
            rooms[name].add(_room(path))
    bad = []
    for program, (home, allowed) in rules.PROGRAMS.items():
        path = os.path.join(tree.build, "app", home, program)
        if not os.path.exists(path):
            continue
        found: dict[str, list[str]] = collections.defaultdict(list)
        for name in _symbols([path])[path][0]:
            if len(rooms[name]) == 1 and not _within(min(rooms[name]), {home} | allowed):
                found[min(rooms[name])].append(name)
        for r, names in sorted(found.items()):
            bad.append(f"{program}: links {r} ({min(names)}); see PROGRAMS in test/house/rules.py")
    return bad


def check_circles(tree: Tree) -> list[str]:
    """Files of one folder do not call each other in a circle."""
    home: dict[tuple[str, str], str] = {}
    for path, defined, _ in _objects(tree):
        for name in defined:
            home.setdefault((os.path.dirname(path), name), path)
    calls: dict[str, dict[str, str]] = collections.defaultdict(dict)  # caller -> {called file: a function of it}
    for path, _, needed in _objects(tree):
        for name in needed:
            other = home.get((os.path.dirname(path), name))
            if other is not None and other != path:
                calls[path].setdefault(other, name)
    return [f"{c[0]}:1: calls in a circle: " + ", ".join(_edges(c, calls)) + "; move what both need to a third file"
            for c in _circles(calls)]


def _edges(circle: tuple[str, ...], calls: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    for path in circle:
        for other, name in sorted(calls[path].items()):
            if other in circle:
                yield f"{os.path.basename(path)} needs {name}() of {os.path.basename(other)}"


def _circles(calls: Mapping[str, Mapping[str, str]]) -> list[tuple[str, ...]]:
    """Sets of files that reach each other, and so themselves: the strongly connected components. The graphs are
    small, so all files that a file reaches are listed."""
    def reach(start: str) -> set[str]:
        seen: set[str] = set()
        todo = [start]
        while todo:
            for other in calls.get(todo.pop(), {}):
                if other not in seen:
                    seen.add(other)
                    todo.append(other)
        return seen

    reached = {path: reach(path) for path in sorted(calls)}
    return sorted({tuple(sorted(p for p in reached[path] if path in reached.get(p, ()))) for path in reached
                   if path in reached[path]})


def check_contracts(tree: Tree) -> list[str]:
    """A header begins with a comment that says what it is."""
    bad = []
    for path in tree.product((".h",)):
        before = tree.text(path).split("#ifndef", 1)[0].split("\n", 1)[1]
        if len(re.findall(r"[A-Za-z]+", before)) < rules.CONTRACT_WORDS_MIN:
            bad.append(f"{path}:2: does not say what it is; add a comment before the include guard")
    return bad


def check_nouns(tree: Tree) -> list[str]:
    """No name is a word that the glossary of CONTRIBUTING.md has retired."""
    bad = []
    for path in tree.files:
        if not path.endswith((".c", ".h", ".cc", ".hh", ".py", ".build")) or path in rules.NOUNS_ALLOWED:
            continue
        for i, line in enumerate(tree.text(path).split("\n")):
            m = re.search(rules.RETIRED_WORDS, line)
            if m is None and path.endswith((".c", ".h")):
                m = re.search(rules.RETIRED_PARTS, re.sub(r'"(?:[^"\\]|\\.)*"', '""', line))
            if m:
                bad.append(f'{path}:{i + 1}: "{m.group(0)}" is a retired word; CONTRIBUTING.md, Words, has the new one')
    return bad


def check_references(tree: Tree) -> list[str]:
    """doc/references.md lists each paper that a comment cites."""
    page = "doc/references.md"
    known = set(re.findall(rules.REFERENCE, tree.text(page))) if page in tree.files else set()
    bad = []
    for path in tree.sources("lib", "drivers", "test/unit", "test/sim", endings=(".c", ".h", ".cc", ".hh")):
        for line, words in source.comment_lines(tree.text(path)):
            bad += [f"{path}:{line}: {key} is not in {page}; add the paper"
                    for key in re.findall(rules.REFERENCE, words) if key not in known]
            if re.search(r'\bspec "', words):
                bad.append(f"{path}:{line}: cites a specification that is not public; cite a paper of {page}")
    return bad


def check_names(tree: Tree) -> list[str]:
    """A file that a comment names exists."""
    there = {os.path.basename(p) for p in tree.files}
    ends = tuple("/" + p for p in tree.files)
    bad = []
    for path in tree.product():
        for line, words in source.comment_lines(tree.text(path)):
            for name in re.findall(rules.FILE_NAME, words):
                known = any(p.endswith("/" + name) for p in ends) if "/" in name else name in there
                if not known and not re.search(rules.OTHERS_FILES, "/" + name):
                    bad.append(f"{path}:{line}: {name} does not exist; name the file that replaced it")
    return bad


ALL: dict[str, Callable[[Tree], list[str]]] = {
    "folders hold few files": check_folders,
    "programs link what they use": check_programs,
    "no files call each other in a circle": check_circles,
    "headers say what they are": check_contracts,
    "retired words are no names": check_nouns,
    "literature is listed": check_references,
    "files that comments name are there": check_names,
}
NEED_BUILD = {"no files call each other in a circle"}
