#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The site of the documents can be built, and a fault of a document or of the site keeps it from being built.

Usage: site_test.py [ROOT]      TAP on standard output
"""
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping

import tap

ROOT = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(__file__), "../.."))
BUILD = "doc/site/build.py"

# A small tree, whose settings are those of this one.
CLEAN: Mapping[str, str] = {
    "README.md": "# Top\n[below](doc/guide.md#a-word), [source](lib/seq.h), [folder](lib), [here](#top)\n",
    "doc/guide.md": "# Guide\n## A word\n[up](../README.md#top)\n",
    "doc/man/tool.1": '.Dd January 1, 2026\n.Dt TOOL 1\n.Os\n.Sh NAME\n.Nm tool\n.Nd a tool\n.Sh SEE ALSO\n.Xr tool 1 ,\n.Xr ip 8 ,\n'
                      ".Pa doc/guide.md\n",
    "doc/site/index.rst": "Site\n====\n\n.. toctree::\n   :glob:\n\n   README\n   doc/*\n   man/*\n",
    "lib/seq.h": "",
}
# (fault, {path: its new text}, what the message says)
FAULTS: list[tuple[str, Mapping[str, str], str]] = [
    ("a link to a file that is not there", {"README.md": "# Top\n[below](doc/guid.md)\n"}, "doc/guid.md"),
    ("a link to a heading that is not there", {"README.md": "# Top\n[below](doc/guide.md#word)\n"}, "#word"),
    ("a picture that is not there", {"doc/guide.md": "# Guide\n![a picture](images/a.png)\n"}, "images/a.png"),
    ("a document that the start page does not list", {"CHANGELOG.md": "# Changes\n"}, "CHANGELOG"),
    ("a script of another site", {"doc/guide.md": '# Guide\n## A word\n<script src="https://a.example/b.js"></script>\n'},
     "loads https://a.example/b.js from elsewhere"),
    ("a style that loads a font of another site",
     {"doc/site/static/man.css": "@import url('https://a.example/font.css');\n"}, "https://a.example/font.css"),
    ("a dead link of HTML", {"doc/guide.md": '# Guide\n## A word\n<a href="../README.html#none">a</a>\n'}, "no such anchor"),
]


def build(root: str, output: str) -> tuple[int, str]:
    """Exit status and output of build.py for the tree."""
    done = subprocess.run([sys.executable, "-B", os.path.join(ROOT, BUILD), "--root", root, output], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=120, check=False)
    return done.returncode, done.stdout


def small_tree(root: str, changes: Mapping[str, str]) -> None:
    for name in ("conf.py", "static"):
        source, target = os.path.join(ROOT, "doc/site", name), os.path.join(root, "doc/site", name)
        if os.path.isdir(source):
            shutil.copytree(source, target)
        else:
            os.makedirs(os.path.dirname(target))
            shutil.copy(source, target)
    for path, text in {**CLEAN, **changes}.items():
        os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
        with open(os.path.join(root, path), "w", encoding="utf-8") as f:
            f.write(text)


def judge_clean(folder: str) -> list[str]:
    """What is wrong with the site of the small tree."""
    small_tree(os.path.join(folder, "clean"), {})
    site = os.path.join(folder, "clean-site")
    status, said = build(os.path.join(folder, "clean"), site)
    if status != 0:
        return [f"status {status}", *said.splitlines()]
    bad = []
    for page, words in (("README.html", 'href="doc/guide.html#a-word"'), ("man/tool.1.html", 'href="tool.1.html"'),
                        ("man/tool.1.html", 'href="../doc/guide.html"'), ("index.html", 'href="man/tool.1.html"')):
        with open(os.path.join(site, page), encoding="utf-8") as f:
            bad += [] if words in f.read() else [f"{page} lacks {words}"]
    with open(os.path.join(site, "man/tool.1.html"), encoding="utf-8") as f:
        bad += ["man/tool.1.html links to ip.8.html, which another project has"] if "ip.8.html" in f.read() else []
    return bad


def judge_fault(folder: str, changes: Mapping[str, str], words: str) -> list[str]:
    """Whether the site is refused for this fault."""
    small_tree(folder, changes)
    status, said = build(folder, folder + "-site")
    bad = [] if status == 1 and words in said else [f"status {status}; the message lacks \"{words}\":", *said.splitlines()]
    return bad + ([f"{folder}-site is there"] if os.path.exists(folder + "-site") else [])


def main() -> int:
    names = ["the site can be built", "self-test: the site of a small tree", *(f"self-test: {fault[0]}" for fault in FAULTS)]
    report = tap.Report(len(names))
    with tempfile.TemporaryDirectory() as folder:
        status, said = build(ROOT, os.path.join(folder, "site"))
        if status == 77:
            report.skip_all(names, said)
            return report.finish()
        report.case(names[0], said.splitlines() if status else [])
        report.case(names[1], judge_clean(folder))
        for number, (name, (_, changes, words)) in enumerate(zip(names[2:], FAULTS)):
            report.case(name, judge_fault(os.path.join(folder, f"fault-{number}"), changes, words))
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
