# SPDX-License-Identifier: BSD-3-Clause
"""Reading a tree of sources: which files there are, C without comments and strings, functions."""
import ast
import os
import re
from dataclasses import dataclass

SKIP_DIRS = {".git", "__pycache__", "subprojects"}


@dataclass
class Function:
    name: str
    first: int  # line of the opening brace, from 1
    lines: int


def tree_files(root):
    """Paths of all text files below root, relative, sorted; build folders are not the tree's."""
    found = []
    for folder, dirs, names in os.walk(root):
        rel = os.path.relpath(folder, root)
        dirs[:] = sorted(d for d in dirs if d not in SKIP_DIRS and
                         not (rel == "." and (d == "build" or d.startswith("build-"))))
        for name in names:
            path = os.path.normpath(os.path.join(rel, name))
            # In a second work tree of git, .git is a file.
            if name == ".git" or name.endswith((".pyc", ".png", ".pcap", ".pcapng", ".bin")):
                continue
            if not os.path.islink(os.path.join(root, path)):
                found.append(path)
    return sorted(found)


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8") as f:
        return f.read()


_TOKEN = re.compile(
    r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)


def _blank(match):
    text = match.group(0)
    if text[0] in "\"'":
        return text[0] + text[0]
    return " " + "\n" * text.count("\n")


def strip_c(text):
    """C or C++ without comments and without what strings say; line numbers stay."""
    return _TOKEN.sub(_blank, text)


def comments(text):
    """[(line, text)] of the comments of C or C++; line from 1."""
    return [(text.count("\n", 0, m.start()) + 1, m.group(0)) for m in _TOKEN.finditer(text)
            if m.group(0).startswith("/")]


def comment_lines(text):
    """[(line, words)] of the lines of comments; line from 1."""
    return [(line + i, words) for line, comment in comments(text) for i, words in enumerate(comment.split("\n"))]


_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:<([^>]+)>|"([^"]+)")', re.MULTILINE)


def includes(text):
    """[(line, name, quoted)]; comments are gone, strings are not."""
    bare = re.sub(r"//[^\n]*|/\*.*?\*/", _blank, text, flags=re.DOTALL)
    return [(bare.count("\n", 0, m.start()) + 1, m.group(1) or m.group(2), m.group(2) is not None)
            for m in _INCLUDE.finditer(bare)]


def _signature_name(lines, brace):
    """Name of the function whose opening brace stands alone in line `brace` (from 0), or None."""
    above = []
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


def c_functions(text):
    """Functions of a C or C++ source in the house's style: braces of functions on their own line."""
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


def python_functions(text):
    return [Function(n.name, n.lineno, n.end_lineno - n.lineno + 1) for n in ast.walk(ast.parse(text))
            if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))]


def function_at(functions, line):
    for f in functions:
        if f.first <= line < f.first + f.lines:
            return f.name
    return ""
