# SPDX-License-Identifier: BSD-3-Clause
"""The check of links in Markdown. As those of checks.py, it takes a Tree and returns violations."""
import os
import re
from collections.abc import Callable, Iterator

from source import Tree

_FENCE = re.compile(r" {0,3}(```+|~~~+)")
_LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)(?:\s+\"[^\"]*\")?\)")
_EXTERNAL = re.compile(r"[a-z][a-z0-9+.-]*:|//", re.IGNORECASE)


def prose(text: str) -> Iterator[tuple[int, str]]:
    """(number, line) of the lines outside fenced blocks; numbers from 1."""
    fence = None
    for number, line in enumerate(text.split("\n"), 1):
        mark = _FENCE.match(line)
        if fence is not None:
            if mark and mark[1].startswith(fence) and not line.strip(" `~"):
                fence = None
        elif mark:
            fence = mark[1]
        else:
            yield number, line


def anchors(text: str) -> set[str]:
    """The anchors of a document's headings, as forges make them: small letters, hyphens for blanks, and a number at
    the second of two that are the same."""
    found: dict[str, int] = {}
    for _, line in prose(text):
        heading = re.match(r"#{1,6}\s+(.*?)\s*#*$", line)
        if heading:
            words = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading[1])
            slug = re.sub(r"[^\w\- ]", "", words.lower()).replace(" ", "-")
            count = found.get(slug, 0)
            found[slug] = count + 1
            if count:
                found[f"{slug}-{count}"] = 1
    return set(found)


def _problem(tree: Tree, path: str, link: str) -> str | None:
    """What is wrong with a link of the document, or None."""
    name, _, anchor = link.partition("#")
    there = os.path.normpath(os.path.join(os.path.dirname(path), name)) if name else path
    if there.startswith("../") or not os.path.exists(os.path.join(tree.root, there)):
        return f"links to {link}, but there is no {there}; correct the path"
    if anchor and there.endswith(".md") and anchor not in anchors(tree.text(there)):
        return f"links to {link}, but {there} has no heading for #{anchor}; correct the anchor"
    return None


def check_links(tree: Tree) -> list[str]:
    """A link of Markdown to a file or a heading leads there."""
    bad = []
    for path in tree.files:
        if not path.endswith(".md"):
            continue
        for number, line in prose(tree.text(path)):
            for link in _LINK.findall(re.sub(r"`[^`]*`", "", line)):
                problem = None if _EXTERNAL.match(link) else _problem(tree, path, link)
                bad += [f"{path}:{number}: {problem}"] if problem else []
    return bad


ALL: dict[str, Callable[[Tree], list[str]]] = {"links of documents lead somewhere": check_links}
