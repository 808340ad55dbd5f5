# SPDX-License-Identifier: BSD-3-Clause
"""The checks. Each takes a Tree and returns its violations as lines "path:line: cause; cure"."""
import configparser
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import layout
import links
import rules
import source
from source import Tree


def room_of(path: str) -> str | None:
    parts = path.split("/")
    return parts[1] if parts[0] == "lib" and len(parts) > 2 else None


def _include_class(name: str, quoted: bool) -> int:
    if quoted:
        return 3
    return 2 if os.path.basename(name).startswith("rte_") else 1


def check_rooms(tree: Tree) -> list[str]:
    """A room includes only the rooms that the table names."""
    bad = []
    for path in tree.sources("lib"):
        room = room_of(path)
        if room is None:
            continue
        if room not in rules.ROOMS:
            bad.append(f"{path}:1: room {room} is not in ROOMS of test/house/rules.py; add it")
            continue
        for line, name, quoted in source.includes(tree.text(path)):
            if quoted:
                other = name.split("/")[0]
                if "/" not in name or not os.path.exists(os.path.join(tree.root, "lib", name)):
                    bad.append(f"{path}:{line}: \"{name}\" is not a file below lib/; write \"room/file.h\"")
                elif other != room and other not in rules.ROOMS[room]:
                    bad.append(f"{path}:{line}: {room} may not include {other}")
            elif room in rules.NO_DPDK and os.path.basename(name).startswith("rte_"):
                bad.append(f"{path}:{line}: {room} links without DPDK, but includes <{name}>")
            if room in rules.PURE and name in rules.BANNED_INCLUDES:
                bad.append(f"{path}:{line}: <{name}>: {rules.BANNED_INCLUDES[name]}")
    return bad


def _own_header(tree: Tree, path: str, first: tuple[int, str, bool]) -> str | None:
    """The header that must come first in a .c file, or None; first: the first include that the file has."""
    stem = path[:-2] + ".h"
    if os.path.exists(os.path.join(tree.root, stem)):
        return stem if path.startswith("drivers/") else stem.split("/", 1)[1]
    same_room = first[2] and first[1].split("/")[0] == path.split("/")[1]
    return first[1] if same_room else None


def check_include_order(tree: Tree) -> list[str]:
    """Includes come in the order own header, system, DPDK, project, with a blank line between these groups, and the
    project's are sorted by name."""
    bad = []
    for path in tree.product():
        found = source.includes(tree.text(path))
        if not found:
            continue
        lines = tree.text(path).split("\n")
        own = _own_header(tree, path, found[0]) if path.endswith(".c") else None
        groups: list[tuple[int, str, int]] = []
        for i, (line, name, quoted) in enumerate(found):
            kind = 0 if i == 0 and own == name else _include_class(name, quoted)
            groups.append((line, name, kind))
        if own is not None and groups[0][2] != 0:
            bad.append(f"{path}:{groups[0][0]}: the file's own header must come first; move \"{own}\" up")
        for (line0, name0, kind0), (line1, name1, kind1) in zip(groups, groups[1:]):
            blank = any(lines[k].strip() == "" for k in range(line0, line1 - 1))
            if kind1 < kind0:
                bad.append(f"{path}:{line1}: {name1} comes too late; the order is own header, system, DPDK, project")
            elif kind1 != kind0 and not blank:
                bad.append(f"{path}:{line1}: no blank line before {name1}; add one, because another group begins")
            elif kind1 == kind0 == 3 and name1 < name0:
                bad.append(f"{path}:{line1}: {name1} comes after {name0}; sort them")
            elif kind1 == kind0 and name1 == name0:
                bad.append(f"{path}:{line1}: {name1} is included twice; remove one")
    return bad


def check_calls(tree: Tree) -> list[str]:
    """State machines call no clock, port, heap or random source, and do not print."""
    bad = []
    patterns = {kind: re.compile(r"(?<![\w.>])(" + regex + r")\s*\(")
                for kind, (regex, _) in rules.BANNED_CALLS.items()}
    dpdk_heap = re.compile(r"\b(" + rules.DPDK_HEAP + r")\s*\(")
    for path in tree.sources("lib"):
        room = room_of(path)
        if room not in rules.PURE:
            continue
        bare = source.strip_c(tree.text(path))
        for kind, pattern in patterns.items():
            if (kind, path) in rules.CALL_EXCEPTIONS:
                continue
            for m in pattern.finditer(bare):
                line = bare.count("\n", 0, m.start()) + 1
                bad.append(f"{path}:{line}: {m.group(1)}(): {rules.BANNED_CALLS[kind][1]}")
        functions = source.c_functions(tree.text(path))
        for m in dpdk_heap.finditer(bare):
            line = bare.count("\n", 0, m.start()) + 1
            name = source.function_at(functions, line)
            if room not in rules.DPDK_HEAP_ROOMS:
                bad.append(f"{path}:{line}: {m.group(1)}(): memory comes from the caller")
            elif not re.search(rules.DPDK_HEAP_FUNCTIONS, name):
                bad.append(f"{path}:{line}: {m.group(1)}() in {name or '?'}(): only where a host or "
                           "world is created or destroyed")
    return bad


def check_objects(tree: Tree) -> list[str]:
    """The objects of state machines define no variable globals, and need no banned symbol."""
    assert tree.build is not None
    bad = []
    for room in sorted(rules.PURE):
        archive = os.path.join(tree.build, "lib", room, f"libsluice_{room}.a")
        if not os.path.exists(archive):
            continue
        out = subprocess.run(["nm", "-A", archive], capture_output=True, text=True, check=True).stdout
        for line in out.splitlines():
            m = re.match(r".*?:([\w.]+?)(?:\.o)?:\s*[0-9a-f]*\s+([A-Za-z]) (\S+)", line)
            if not m:
                continue
            member, kind, symbol = m.group(1), m.group(2), m.group(3)
            if kind in "bBdDCgGsS" and not symbol.startswith((".", "__")):
                bad.append(f"lib/{room} ({member}): {symbol} is a global variable; "
                           "state belongs to its owner's struct")
            elif kind == "U" and re.match(rules.BANNED_SYMBOLS, symbol):
                bad.append(f"lib/{room} ({member}): needs {symbol}(); state machines must not call it")
    return bad


def check_sizes(tree: Tree) -> list[str]:
    """A file holds one noun, a function one thought."""
    bad = []
    for path in tree.files:
        is_c = path.endswith((".c", ".h", ".cc", ".hh"))
        text = tree.text(path) if is_c or path.endswith(".py") or _is_script(tree, path) else None
        if text is None:
            continue
        lines = text.count("\n")
        if lines > (rules.TEST_LINES_MAX if str(path).startswith("test/") else rules.FILE_LINES_MAX):
            bad.append(f"{path}:1: {lines} lines; at most {rules.FILE_LINES_MAX}, split the noun")
        functions: list[source.Function] = []
        if is_c:
            functions = source.c_functions(text)
        elif path.endswith(".py") or text.startswith(("#!/usr/bin/python3", "#!/usr/bin/env python3")):
            functions = source.python_functions(text)
        for f in functions:
            if f.lines > rules.FUNCTION_LINES_MAX:
                bad.append(f"{path}:{f.first}: {f.name} has {f.lines} lines; "
                           f"at most {rules.FUNCTION_LINES_MAX}, split the thought")
    return bad


def check_parameters(tree: Tree) -> list[str]:
    """A call of a Python function can be read; self, *args and **kwargs count as one parameter each."""
    return [f"{path}:{f.first}: {f.name} takes {f.parameters} parameters; at most {rules.PARAMETERS_MAX}, pass those "
            "that belong together as one object"
            for path in tree.files if path.endswith(".py") for f in source.python_functions(tree.text(path))
            if f.parameters > rules.PARAMETERS_MAX]


def check_types(tree: Tree) -> list[str]:
    """Every Python function has types, and mypy finds no contradiction."""
    assert tree.build is not None
    config = configparser.ConfigParser()
    config.read_string(tree.text(rules.MYPY_CONFIG))
    folders = tuple(folder.strip() + "/" for folder in config["mypy"]["files"].split(","))
    bad = [f"{path}:1: mypy does not read it; add its folder to files in {rules.MYPY_CONFIG}"
           for path in tree.files if path.endswith(".py") and not path.startswith(folders)]
    done = subprocess.run(["mypy", "--config-file", rules.MYPY_CONFIG, "--cache-dir", os.path.join(tree.build, "mypy")],
                          cwd=tree.root, capture_output=True, text=True, check=False)
    errors = [line for line in done.stdout.splitlines() if ": error: " in line]
    if done.returncode != 0 and not errors:  # mypy itself failed
        errors = [f"mypy: {line}" for line in (done.stderr + done.stdout).splitlines()] or ["mypy: fails silently"]
    return bad + errors


def _is_script(tree: Tree, path: str) -> bool:
    if "." in os.path.basename(path) and not path.endswith(".sh"):
        return False
    with open(os.path.join(tree.root, path), "rb") as f:
        return f.read(2) == b"#!"


def check_spdx(tree: Tree) -> list[str]:
    """A file begins with its licence."""
    bad = []
    for path in tree.files:
        if not (path.endswith(rules.SPDX_ENDINGS) or _is_script(tree, path)):
            continue
        lines = tree.text(path).split("\n", 2)
        first = lines[1] if lines[0].startswith("#!") and len(lines) > 1 else lines[0]
        if rules.SPDX not in first:
            bad.append(f"{path}:1: \"{rules.SPDX}\" is missing from the first line; add it")
    return bad


def check_paths(tree: Tree) -> list[str]:
    """No file names a path that only one machine has."""
    bad = []
    for path in tree.files:
        try:
            text = tree.text(path)
        except UnicodeDecodeError:
            continue
        for i, line in enumerate(text.split("\n")):
            m = re.search(rules.MACHINE_PATHS, line)
            if m:
                bad.append(f"{path}:{i + 1}: names {m.group(0)}, which only one machine has; use a relative path")
    return bad


def check_device_calls(tree: Tree) -> list[str]:
    """Programs start, stop and poll their ports through drivers/device.h."""
    bad = []
    for path in tree.sources("app"):
        bare = source.strip_c(tree.text(path))
        for m in re.finditer(rf"\b({rules.DEVICE_CALLS})\s*\(", bare):
            line = bare.count("\n", 0, m.start()) + 1
            bad.append(f"{path}:{line}: {m.group(1)}(): a port may be a memif; call device_*() of drivers/device.h")
    return bad


def check_words(tree: Tree) -> list[str]:
    """Comments of the product call a flow, a thread or a host "it", not "who" or "he"."""
    bad = []
    for path in tree.product():
        for line, words in source.comment_lines(tree.text(path)):
            m = re.search(rules.PERSONS, words, re.IGNORECASE)
            if m:
                bad.append(f'{path}:{line}: "{m.group(0)}" in a comment; a flow, thread or host is "it": '
                           "name it, or say \"one that\"")
    return bad


def _cflags() -> list[str]:
    out = subprocess.run(["pkg-config", "--cflags", "libdpdk"], capture_output=True, text=True,
                         check=True).stdout
    return out.replace("-I", "-isystem").split()


def check_headers_alone(tree: Tree) -> list[str]:
    """Every header compiles alone; the public ones compile as C++, too, and without DPDK."""
    flags = ["-D_GNU_SOURCE", "-Ilib", "-Iapp", "-I.", "-Wall", "-Wextra", "-Wno-unused-parameter",
             "-Wmissing-prototypes", "-Werror"]
    dpdk = _cflags()
    jobs: list[tuple[str, list[str]]] = []
    for path in tree.product((".h",)):
        need = [] if room_of(path) in rules.NO_DPDK else dpdk
        jobs.append((path, ["gcc", "-std=gnu11", "-x", "c"] + flags + need))
    plain = [f for f in flags if f != "-Wmissing-prototypes"]
    for path in rules.PUBLIC_HEADERS:
        if path in tree.files:
            jobs.append((path, ["g++", "-std=c++17", "-x", "c++", "-pedantic"] + plain))
            jobs.append((path, ["gcc", "-std=c11", "-pedantic", "-x", "c"] + plain[1:]))

    def run(job: tuple[str, list[str]]) -> str | None:
        path, command = job
        with tempfile.NamedTemporaryFile("w", suffix=".c") as f:
            # An include, because gcc warns of #pragma once in the file that it is given.
            name = path if path.startswith("drivers/") else path.split("/", 1)[1]
            f.write(f'#include "{name}"\n')
            f.flush()
            done = subprocess.run(command + ["-fsyntax-only", f.name], cwd=tree.root,
                                  capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return None
        errors = [e for e in done.stderr.splitlines() if "error" in e]
        return f"{path}: {' '.join(command[:2])}: {(errors or ['does not compile'])[0]}"

    with tempfile.TemporaryDirectory() as made, ThreadPoolExecutor(2) as pool:
        for name in rules.MADE_HEADERS:
            with open(os.path.join(made, name), "w", encoding="utf-8"):
                pass
        return [bad for bad in pool.map(run, [(path, [*command, f"-I{made}"]) for path, command in jobs]) if bad]


def check_man_pages(tree: Tree) -> list[str]:
    """Every program has its man page, and mandoc warns of nothing."""
    bad = []
    for name in rules.MAN_PAGES:
        if not any(os.path.basename(p) == name for p in tree.files):
            bad.append(f"doc: {name} is missing; write the page")
    pages = [p for p in tree.files if p.startswith("doc/") and re.search(r"\.[1-8]$", p)]
    for path in pages:
        if shutil.which("mandoc") is None:
            bad.append(f"{path}: mandoc, which checks it, is missing; run scripts/setup")
            break
        done = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", path], cwd=tree.root,
                              capture_output=True, text=True, check=False)
        bad += [f"{path}: {line}" for line in done.stdout.splitlines() if line]
    return bad


def _counters_explained(page: str, heading: str) -> set[str]:
    """The names in the first column of the tables below a heading, up to the next one."""
    section = re.split(r"(?m)^#+ .*$", page.partition(heading + "\n")[2])[0]
    return {name for cell in re.findall(r"(?m)^\|([^|]*)\|", section) for name in re.findall(r"`(\w+)`", cell)}


def check_counters(tree: Tree) -> list[str]:
    """Each counter is explained, and each explanation has its counter."""
    bad = []
    page = tree.text(rules.COUNTERS_PAGE) if rules.COUNTERS_PAGE in tree.files else ""
    for path, macro, heading in rules.COUNTER_LISTS:
        if path not in tree.files:
            continue
        text = re.search(rf"#define {macro}\(X\)((?:[^\n]*\\\n)*[^\n]*)", tree.text(path))
        names = set(re.findall(r"X\((\w+)\)", text.group(1))) if text else set()
        known = _counters_explained(page, heading)
        bad += [f"{rules.COUNTERS_PAGE}: \"{heading}\" does not explain {n} of {path}; write what it counts"
                for n in sorted(names - known)]
        bad += [f"{rules.COUNTERS_PAGE}: \"{heading}\" explains {n}, which {path} does not count; remove it"
                for n in sorted(known - names)]
    return bad


ALL: dict[str, Callable[[Tree], list[str]]] = {
    "rooms include only what the table allows": check_rooms,
    "includes stand in order": check_include_order,
    "state machines call nothing banned": check_calls,
    "objects hold no globals": check_objects,
    "files and functions are small": check_sizes,
    "Python functions take at most 7 parameters": check_parameters,
    "Python has types that mypy believes": check_types,
    "licence comes first": check_spdx,
    "no path of one machine": check_paths,
    "programs poll ports through drivers/device.h": check_device_calls,
    "comments call things it": check_words,
    "headers compile alone": check_headers_alone,
    "man pages exist and lint": check_man_pages,
    "counters are explained": check_counters,
    **layout.ALL,
    **links.ALL,
}
NEED_BUILD = {"objects hold no globals", "Python has types that mypy believes"} | layout.NEED_BUILD
NEED_TOOL = {"Python has types that mypy believes": "mypy"}


def skip_reason(name: str, tree: Tree) -> str | None:
    """Why this check cannot run on this tree and machine, or None."""
    if name in NEED_BUILD and tree.build is None:
        return "no build folder given"
    if name in NEED_TOOL and shutil.which(NEED_TOOL[name]) is None:
        return f"{NEED_TOOL[name]} is missing; apt-get install {NEED_TOOL[name]}"
    return None
