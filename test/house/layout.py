# SPDX-License-Identifier: BSD-3-Clause
"""How the tree is laid out: how much a folder holds, what a program links, which files call each other, and
which words are names. Each check takes a Tree and returns its violations, as those of checks.py do."""
import collections
import functools
import json
import os
import re
import subprocess

import rules
import source


def check_folders(tree):
    """A folder can be taken in at a glance."""
    count = collections.Counter(os.path.dirname(p) for p in tree.files)
    bad = []
    for folder, n in sorted(count.items()):
        deep = folder.startswith("app/") and folder.count("/") >= 2
        most = rules.FOLDER_FILES_MAX_APP if deep else rules.FOLDER_FILES_MAX
        if n > most:
            bad.append(f"{folder}: {n} files; at most {most}, sort them by what they serve")
    return bad


def _room(path):
    """lib/host/rx.c: "host"; app/sluiced/port/tap.c: "sluiced/port"; drivers/cable.c: "drivers"."""
    top, *folders = os.path.dirname(path).split("/")
    return "drivers" if top == "drivers" else "/".join(folders)


def _within(room, allowed):
    return any(room == a or room.startswith(a + "/") for a in allowed)


def check_programs(tree):
    """A program includes, and a built one has, only what the table names."""
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
def _objects(tree):
    """[(source, names that it defines for others, names that it needs)] of what was compiled for lib, app and
    drivers."""
    found = []
    with open(os.path.join(tree.build, "compile_commands.json"), encoding="utf-8") as f:
        for entry in json.load(f):
            path = os.path.relpath(os.path.join(entry["directory"], entry["file"]), tree.root)
            built = os.path.join(entry["directory"], entry["output"])
            if path.startswith(("lib/", "app/", "drivers/")) and os.path.exists(built):
                found.append((path, built))
    symbols = _symbols(sorted({built for _, built in found}))
    return [(path, *symbols[built]) for path, built in found]


def _symbols(files):
    """For each file: the names that it defines for others, and those that it needs."""
    out = {f: (set(), set()) for f in files}
    for i in range(0, len(files), 200):
        done = subprocess.run(["nm", "-A", *files[i:i + 200]], capture_output=True, text=True, check=True)
        for line in done.stdout.splitlines():
            m = re.match(r"(.*?):\s*[0-9a-f]*\s+([A-Za-z]) (\S+)", line)
            if m and m.group(2) in "TDBRC":
                out[m.group(1)][0].add(m.group(3))
            elif m and m.group(2) == "U":
                out[m.group(1)][1].add(m.group(3))
    return out


def _linked(tree):
    """Rooms whose functions a program has, though it may not."""
    rooms = collections.defaultdict(set)  # that define a function
    for path, defined, _ in _objects(tree):
        for name in defined - {"main"}:
            rooms[name].add(_room(path))
    bad = []
    for program, (home, allowed) in rules.PROGRAMS.items():
        path = os.path.join(tree.build, "app", home, program)
        if not os.path.exists(path):
            continue
        found = collections.defaultdict(list)
        for name in _symbols([path])[path][0]:
            if len(rooms[name]) == 1 and not _within(*rooms[name], {home} | allowed):
                found[min(rooms[name])].append(name)
        for r, names in sorted(found.items()):
            bad.append(f"{program}: links {r} ({min(names)}); see PROGRAMS in test/house/rules.py")
    return bad


def check_circles(tree):
    """Files of one folder do not call each other in a circle."""
    home = {}
    for path, defined, _ in _objects(tree):
        for name in defined:
            home.setdefault((os.path.dirname(path), name), path)
    calls = collections.defaultdict(dict)
    for path, _, needed in _objects(tree):
        for name in needed:
            other = home.get((os.path.dirname(path), name))
            if other not in (None, path):
                calls[path].setdefault(other, name)
    return [f"{c[0]}:1: calls in a circle: " + ", ".join(_edges(c, calls)) for c in _circles(calls)]


def _edges(circle, calls):
    for path in circle:
        for other, name in sorted(calls[path].items()):
            if other in circle:
                yield f"{os.path.basename(path)} needs {name}() of {os.path.basename(other)}"


def _circles(calls):
    """Files that reach each other, and so themselves: the strongly connected components, found by looking what
    each file reaches, for the graphs are small."""
    def reach(start):
        seen, todo = set(), [start]
        while todo:
            for other in calls.get(todo.pop(), {}):
                if other not in seen:
                    seen.add(other)
                    todo.append(other)
        return seen

    reached = {path: reach(path) for path in sorted(calls)}
    return sorted({tuple(sorted(p for p in reached[path] if path in reached.get(p, ()))) for path in reached
                   if path in reached[path]})


def check_contracts(tree):
    """A header opens with what it is."""
    bad = []
    for path in tree.product((".h",)):
        before = tree.text(path).split("#ifndef", 1)[0].split("\n", 1)[1]
        if len(re.findall(r"[A-Za-z]+", before)) < rules.CONTRACT_WORDS_MIN:
            bad.append(f"{path}:2: says nothing of what it is; a comment before the include guard does")
    return bad


def check_nouns(tree):
    """Words that the glossary of CONTRIBUTING.md retired are no names."""
    bad = []
    for path in tree.files:
        if not path.endswith((".c", ".h", ".cc", ".hh", ".py", ".build")) or path in rules.NOUNS_ALLOWED:
            continue
        for i, line in enumerate(tree.text(path).split("\n")):
            m = re.search(rules.RETIRED_WORDS, line)
            if m is None and path.endswith((".c", ".h")):
                m = re.search(rules.RETIRED_PARTS, re.sub(r'"(?:[^"\\]|\\.)*"', '""', line))
            if m:
                bad.append(f'{path}:{i + 1}: "{m.group(0)}" is no name any more; CONTRIBUTING.md, Words, has the one for it')
    return bad


def check_references(tree):
    """A key of the literature stands in doc/references.md."""
    page = "doc/references.md"
    known = set(re.findall(rules.REFERENCE, tree.text(page))) if page in tree.files else set()
    bad = []
    for path in tree.sources("lib", "drivers", "test/unit", "test/sim", endings=(".c", ".h", ".cc", ".hh")):
        for line, words in source.comment_lines(tree.text(path)):
            bad += [f"{path}:{line}: {key} is not in {page}" for key in re.findall(rules.REFERENCE, words)
                    if key not in known]
            if re.search(r'\bspec "', words):
                bad.append(f"{path}:{line}: cites a specification that nobody has; {page} has the papers")
    return bad


def check_names(tree):
    """A file that a comment names is there."""
    there = {os.path.basename(p) for p in tree.files}
    ends = tuple("/" + p for p in tree.files)
    bad = []
    for path in tree.product():
        for line, words in source.comment_lines(tree.text(path)):
            for name in re.findall(rules.FILE_NAME, words):
                known = any(p.endswith("/" + name) for p in ends) if "/" in name else name in there
                if not known and not re.search(rules.OTHERS_FILES, "/" + name):
                    bad.append(f"{path}:{line}: there is no {name}; name the file that has it now")
    return bad


ALL = {
    "folders can be taken in": check_folders,
    "programs link what they use": check_programs,
    "files call in no circle": check_circles,
    "headers say what they are": check_contracts,
    "retired words are no names": check_nouns,
    "literature is listed": check_references,
    "files that comments name are there": check_names,
}
NEED_BUILD = {"files call in no circle"}
