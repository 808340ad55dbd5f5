# SPDX-License-Identifier: BSD-3-Clause
"""Reads a tree of sources: lists its files, strips C of comments and strings, finds functions."""
import ast
import functools
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass

SKIP_DIRS = {".git", ".venv", "__pycache__", ".mypy_cache", "subprojects"}


@dataclass
class Function:
    name: str
    first: int  # line of the opening brace or of "def", from 1
    lines: int
    parameters: int = 0  # counted in Python only


def tree_files(root: str) -> list[str]:
    """Paths of all text files below root, relative and sorted, without those of build folders."""
    found = []
    for folder, dirs, names in os.walk(root):
        rel = os.path.relpath(folder, root)
        dirs[:] = sorted(d for d in dirs if d not in SKIP_DIRS and
                         not (rel == "." and (d == "build" or d.startswith("build-"))))
        for name in names:
            path = os.path.normpath(os.path.join(rel, name))
            # In a linked worktree .git is a file.
            if name == ".git" or name.endswith((".pyc", ".png", ".pcap", ".pcapng", ".bin")):
                continue
            if not os.path.islink(os.path.join(root, path)):
                found.append(path)
    return sorted(found)


def read(root: str, path: str) -> str:
    with open(os.path.join(root, path), encoding="utf-8") as f:
        return f.read()


class Tree:
    """A tree of sources to judge; build: its meson build folder, or None."""

    def __init__(self, root: str, build: str | None = None) -> None:
        self.root, self.build = root, build
        self.files = tree_files(root)
        self._text: dict[str, str] = {}

    def text(self, path: str) -> str:
        if path not in self._text:
            self._text[path] = read(self.root, path)
        return self._text[path]

    def sources(self, *tops: str, endings: tuple[str, ...] = (".c", ".h")) -> list[str]:
        return [p for p in self.files if p.startswith(tuple(top + "/" for top in tops)) and p.endswith(endings)]

    def product(self, endings: tuple[str, ...] = (".c", ".h")) -> list[str]:
        """The sources that programs and libraries are made of."""
        return self.sources("lib", "app", "drivers", endings=endings)


_TOKEN = re.compile(
    r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)


def _blank(match: re.Match[str]) -> str:
    text = match.group(0)
    if text[0] in "\"'":
        return text[0] + text[0]
    return " " + "\n" * text.count("\n")


def strip_c(text: str) -> str:
    """C or C++ without comments and the contents of strings; line numbers stay the same."""
    return _TOKEN.sub(_blank, text)


def comments(text: str) -> list[tuple[int, str]]:
    """[(line, text)] of the comments of C or C++; line from 1."""
    return [(text.count("\n", 0, m.start()) + 1, m.group(0)) for m in _TOKEN.finditer(text)
            if m.group(0).startswith("/")]


def comment_lines(text: str) -> list[tuple[int, str]]:
    """[(line, words)] of each line of each comment; line from 1."""
    return [(line + i, words) for line, comment in comments(text) for i, words in enumerate(comment.split("\n"))]


_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:<([^>]+)>|"([^"]+)")', re.MULTILINE)


def includes(text: str) -> list[tuple[int, str, bool]]:
    """[(line, name, quoted)] of the #include lines outside comments; line from 1."""
    bare = re.sub(r"//[^\n]*|/\*.*?\*/", _blank, text, flags=re.DOTALL)
    return [(bare.count("\n", 0, m.start()) + 1, m.group(1) or m.group(2), m.group(2) is not None)
            for m in _INCLUDE.finditer(bare)]


def _signature_name(lines: list[str], brace: int) -> str | None:
    """Name of the function whose opening brace stands alone in line `brace` (from 0), or None."""
    above: list[str] = []
    for i in range(brace - 1, max(-1, brace - 12), -1):
        line = lines[i].strip()
        if not line or line.endswith((";", "}", "{")) or line.startswith("#"):
            break
        above.insert(0, line)
    head = " ".join(above)
    if not head or re.match(r"(?:extern|namespace|struct|union|enum|class|if|for|while|switch|do|"
                            r"else)\b[^(]*$", head) or "=" in head.split("(")[0]:
        return None
    m = re.search(r"([\w:~]+)\s*\(", head)
    if m and m.group(1) in ("if", "for", "while", "switch"):
        return None
    if m and m.group(1).startswith(("TEST", "__attribute__")):
        rest = head[m.end():]
        if m.group(1).startswith("TEST"):
            return m.group(1) + "(" + rest
        m = re.search(r"(\w+)\s*\((?!\()", head[m.end() + 1:]) or m
    return m.group(1) if m else None


def c_functions(text: str) -> list[Function]:
    """Functions of a C or C++ source in the house's style: each function's braces are on their own lines."""
    lines = strip_c(text).split("\n")
    found = []
    for i, line in enumerate(lines):
        if line.strip() != "{":
            continue
        indent = line[:len(line) - len(line.lstrip())]
        name = _signature_name(lines, i)
        if name is None:
            continue
        for j in range(i + 1, len(lines)):
            if lines[j].rstrip() in (indent + "}", indent + "};"):
                found.append(Function(name, i + 1, j - i + 1))
                break
    return found


@functools.cache
def python_functions(text: str) -> list[Function]:
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            assert node.end_lineno is not None
            found.append(Function(node.name, node.lineno, node.end_lineno - node.lineno + 1, _parameters(node.args)))
    return found


def _parameters(args: ast.arguments) -> int:
    stars = [star for star in (args.vararg, args.kwarg) if star is not None]
    return len(args.posonlyargs + args.args + args.kwonlyargs + stars)


def function_at(functions: Sequence[Function], line: int) -> str:
    """Name of the function that has the line, or ""."""
    for f in functions:
        if f.first <= line < f.first + f.lines:
            return f.name
    return ""
