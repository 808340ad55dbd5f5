#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Builds the site of Sluice's documents: Markdown by Sphinx and MyST, manual pages by mandoc.

Usage: build.py [--root DIR] [--depfile FILE] OUTPUT

OUTPUT is a folder, which is replaced once the site is complete. Nothing is fetched. A link to a file or an anchor
that is not there is an error, and so is a page that would load something from elsewhere. Links to other sites are
listed, not followed. --depfile: a file for ninja, which lists what the site was made from.

Exit status: 0, 1 after an error, 77 if a program or a module that it needs is missing.
"""
import argparse
import glob
import html.parser
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.parse

MODULES = {"sphinx": "python3-sphinx", "myst_parser": "python3-myst-parser", "furo": "furo"}
# What the documents link to. Build folders may be in the tree as well, so the rest of it stays out.
STAGED = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "LICENSE", "app", "config", "doc", "drivers",
          "examples", "lib", "scripts", "test")
MANUAL = "doc/man/*.[1-8]"
SOURCES = ("*.md", "doc/*.md", "doc/*/*.md", "doc/images/*", "doc/site/*.*", "doc/site/static/*", MANUAL)
DIRECTIVE = "\n.. raw:: html\n   :file: {0}.html\n"


class SiteError(Exception):
    """The site is wrong. Each line of the message names a cause."""


def lack() -> str | None:
    """What this machine lacks for the site, or None."""
    missing = [package for module, package in MODULES.items() if importlib.util.find_spec(module) is None]
    missing += [] if shutil.which("mandoc") else ["mandoc"]
    return f"{', '.join(missing)} missing; scripts/setup installs what the site needs" if missing else None


def tidy_page(text: str, own: set[str], root: str) -> str:
    """A manual page in HTML, whose links stay in the site."""
    def reference(link: re.Match[str]) -> str:
        return link[0] if link[1] in own else link[2]

    def document(name: re.Match[str]) -> str:
        page = name[1].removesuffix(".md")
        there = os.path.exists(os.path.join(root, name[1]))
        return f'<a href="../{page}.html">{name[0]}</a>' if there else name[0]

    text = re.sub(r'<a class="Xr" href="([^"]+)\.html">([^<]*)</a>', reference, text)
    return re.sub(r'<span class="Pa">(doc/[\w/-]+\.md)</span>', document, text)


def stage_manual(root: str, folder: str) -> None:
    """Writes a page for each manual page: a title for Sphinx around what mandoc makes."""
    os.makedirs(folder)
    pages = sorted(glob.glob(os.path.join(root, MANUAL)))
    own = {os.path.basename(page) for page in pages}
    for page in pages:
        name = os.path.basename(page)
        done = subprocess.run(["mandoc", "-T", "html", "-O", "fragment,man=%N.%S.html", page], capture_output=True,
                              text=True, check=False)
        if done.returncode != 0:
            raise SiteError(f"{page}: {(done.stderr or done.stdout).strip()}")
        title = "{0}({1})".format(*name.rsplit(".", 1))
        with open(os.path.join(folder, f"{name}.rst"), "w", encoding="utf-8") as f:
            f.write(f"{title}\n{'=' * len(title)}\n{DIRECTIVE.format(name)}")
        with open(os.path.join(folder, f"{name}.html"), "w", encoding="utf-8") as f:
            f.write(tidy_page(done.stdout, own, root))


def stage(root: str, folder: str) -> None:
    """Lays the sources of the site below folder as the tree has them, so that their links are right."""
    os.makedirs(folder)
    for name in STAGED:
        if os.path.exists(os.path.join(root, name)):
            os.symlink(os.path.join(root, name), os.path.join(folder, name))
    site = os.path.join(root, "doc/site")
    for name in ("conf.py", "index.rst"):
        shutil.copy(os.path.join(site, name), folder)
    shutil.copytree(os.path.join(site, "static"), os.path.join(folder, "static"))
    stage_manual(root, os.path.join(folder, "man"))


def run_sphinx(source: str, output: str, scratch: str) -> None:
    done = subprocess.run([sys.executable, "-B", "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html", "-d", scratch,
                           source, output], capture_output=True, text=True, check=False, env={**os.environ, "LC_ALL": "C.UTF-8"})
    if done.returncode != 0:
        raise SiteError((done.stderr + done.stdout).replace(source + "/", "").strip() or "sphinx fails silently")


class Page(html.parser.HTMLParser):
    """The anchors of a page, its links, and what a browser loads with it."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []
        with open(path, encoding="utf-8") as f:
            self.feed(f.read())

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        for name, value in attributes:
            if value is None:
                continue
            if name == "id" or (tag == "a" and name == "name"):
                self.anchors.add(value)
            elif name == "src" or (name == "href" and tag == "link"):
                self.loads.append(value)
            elif name == "href":
                self.links.append(value)


def is_external(link: str) -> bool:
    return bool(re.match(r"[a-z][a-z0-9+.-]*:|//", link, re.IGNORECASE)) and not link.startswith("data:")


def check_site(folder: str) -> list[str]:
    """Checks all links of the site. Returns those that lead elsewhere."""
    paths = glob.glob(os.path.join(folder, "**/*.html"), recursive=True)
    pages = {os.path.normpath(path): Page(path) for path in sorted(paths)}
    bad: list[str] = []
    external: set[str] = set()
    for path, page in pages.items():
        name = os.path.relpath(path, folder)
        bad += [f"{name}: loads {link} from elsewhere; put it into doc/site/static" for link in page.loads if is_external(link)]
        external |= {link for link in page.links if is_external(link)}
        for link in page.links + page.loads:
            if is_external(link) or link.startswith("data:"):
                continue
            parts = urllib.parse.urlsplit(link)
            there = os.path.normpath(os.path.join(os.path.dirname(path), urllib.parse.unquote(parts.path))) if parts.path else path
            anchor = urllib.parse.unquote(parts.fragment)
            if not os.path.isfile(there):
                bad.append(f"{name}: links to {link}, which is not there")
            elif anchor and there in pages and anchor not in pages[there].anchors:
                bad.append(f"{name}: links to {link}, but that page has no such anchor")
    for path in glob.glob(os.path.join(folder, "**/*.css"), recursive=True):
        with open(path, encoding="utf-8") as f:
            found = re.findall(r"(?:url\(|@import)\s*[\"']?((?:https?:)?//[^\"')\s]+)", f.read())
        bad += [f"{os.path.relpath(path, folder)}: loads {link} from elsewhere" for link in found]
    if bad:
        raise SiteError("\n".join(bad))
    return sorted(external)


def build(root: str, output: str) -> list[str]:
    """Builds the site. Returns the links that lead elsewhere."""
    with tempfile.TemporaryDirectory(prefix="sluice-site.") as scratch:
        source, site = os.path.join(scratch, "source"), os.path.join(scratch, "site")
        stage(root, source)
        run_sphinx(source, site, os.path.join(scratch, "trees"))
        os.unlink(os.path.join(site, ".buildinfo"))
        external = check_site(site)
        shutil.rmtree(output, ignore_errors=True)
        shutil.copytree(site, output)
    return external


def write_depfile(path: str, output: str, root: str) -> None:
    made_from = sorted(file for pattern in SOURCES for file in glob.glob(os.path.join(root, pattern)))
    with open(path, "w", encoding="utf-8") as f:
        f.write(f"{output}: {' '.join(file.replace(' ', chr(92) + ' ') for file in made_from)}\n")


def main() -> int:
    here = os.path.dirname(os.path.abspath(__file__))
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--root", default=os.path.dirname(os.path.dirname(here)), help="the tree whose documents it takes")
    parser.add_argument("--depfile", help="file for ninja")
    parser.add_argument("output", metavar="OUTPUT")
    args = parser.parse_args()
    missing = lack()
    if missing is not None:
        print(f"site: {missing}")
        return 77
    root = os.path.abspath(args.root)
    try:
        external = build(root, args.output)
    except SiteError as problem:
        print(f"site: not built; correct these:\n{problem}", file=sys.stderr)
        return 1
    if args.depfile:
        write_depfile(args.depfile, args.output, root)
    print("\n".join([f"site: {args.output}/index.html; links to other sites, not followed:", *external]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
