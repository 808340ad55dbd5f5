# SPDX-License-Identifier: BSD-3-Clause
"""Do programs that were linked with the libsluice.so of the reference run with this one?

Usage: abi_test.py [--refresh] LIBRARY SLUICE_VERSION_H

Compares functions, structs and enums of the public headers with lib/client/libsluice.abi, by libabigail. --refresh writes that
file anew (ninja abi-reference). CONTRIBUTING.md, The ABI, says when to.
"""
import argparse
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as xml
from collections.abc import Callable

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", ".."))
REFERENCE = os.path.join(ROOT, "lib", "client", "libsluice.abi")
MACHINE = "x86_64"  # of the reference
SIZED = ("sluice_completion", "sluice_stats")  # may grow at their ends
DUMP = ("--drop-private-types", "--drop-undefined-syms", "--no-parameter-names", "--no-show-locs", "--no-corpus-path",
        "--no-comp-dir-path", "--no-elf-needed")
SAME, GROWN, BROKEN = "same", "grown", "broken"
ADVICE = {
    GROWN: "The ABI has grown. Programs that are linked with the reference still run. If this is wanted, run\n"
           "\"ninja -C BUILD abi-reference\" and commit lib/client/libsluice.abi (CONTRIBUTING.md, The ABI).",
    BROKEN: "Programs that are linked with the reference would break. Undo this: add a function, or a field at the end of a\n"
            f"sized struct ({', '.join(SIZED)}). After a release, what must break needs a new soname; then run\n"
            "\"ninja -C BUILD abi-reference\" and commit lib/client/libsluice.abi (CONTRIBUTING.md, The ABI).",
}
library, version_header = "", ""


def text_of(path: str) -> str:
    with open(path, encoding="utf-8") as f:
        return f.read()


def dump() -> str:
    """The library's ABI as XML. Types that no public header declares are left out."""
    with tempfile.TemporaryDirectory() as headers:
        for path in (os.path.join(ROOT, "lib", "client", "sluice.h"), version_header):
            shutil.copy(path, headers)
        done = subprocess.run(["abidw", "--headers-dir", headers, *DUMP, library], capture_output=True, text=True, check=True)
    return re.sub(r"(<abi-instr [^>]*path=')[^']*/", r"\1", done.stdout)  # the path depends on the build folder


def without_growth(old: str, new: str) -> str:
    """The new ABI without fields and enumerators behind those of the old one."""
    before, after = xml.fromstring(old), xml.fromstring(new)
    for kind, part in (("class-decl", "data-member"), ("enum-decl", "enumerator")):
        known = {one.get("name"): one for one in before.iter(kind) if one.find(part) is not None}
        for one in after.iter(kind):
            reference = known.get(one.get("name"))
            if reference is None or kind == "class-decl" and one.get("name") not in SIZED:
                continue
            for more in one.findall(part)[len(reference.findall(part)):]:
                one.remove(more)
            for size in {"size-in-bits"} & set(reference.keys()):
                one.set(size, reference.attrib[size])
    return xml.tostring(after, encoding="unicode")


def abidiff(old: str, new: str, *options: str) -> tuple[int, str]:
    with tempfile.TemporaryDirectory() as folder:
        paths = [os.path.join(folder, name) for name in ("old.abi", "new.abi")]
        for path, text in zip(paths, (old, new)):
            with open(path, "w", encoding="utf-8") as f:
                f.write(text)
        done = subprocess.run(["abidiff", "--harmless", *options, *paths], capture_output=True, text=True, check=False)
    if done.returncode & 3:  # abidiff itself failed
        raise RuntimeError(f"abidiff ends with status {done.returncode}: {done.stdout}{done.stderr}")
    return done.returncode, done.stdout


def verdict(old: str, new: str) -> tuple[str, str]:
    """(SAME, GROWN or BROKEN, what abidiff says)."""
    status, said = abidiff(old, new)
    if status == 0:
        return SAME, said
    grown = abidiff(old, without_growth(old, new), "--no-added-syms")[0] == 0
    return (GROWN if grown else BROKEN), said


# ---- changes of the reference, to see that the verdict notices them ----------------------------------


def _changed(change: Callable[[xml.Element], None]) -> str:
    tree = xml.fromstring(text_of(REFERENCE))
    change(tree)
    return xml.tostring(tree, encoding="unicode")


def _named(tree: xml.Element, kind: str, name: str) -> xml.Element:
    """The definition, where there are declarations, too."""
    return next(one for one in tree.iter(kind) if one.get("name") == name and (kind == "elf-symbol" or len(one) > 0))


def _without_function(tree: xml.Element) -> None:
    for parent in list(tree.iter()):
        for child in list(parent):
            if child.get("name") == "sluice_flush":
                parent.remove(child)


def _with_function(tree: xml.Element) -> None:
    symbols = tree.find("elf-function-symbols")
    assert symbols is not None
    xml.SubElement(symbols, "elf-symbol", {**_named(tree, "elf-symbol", "sluice_flush").attrib, "name": "sluice_new"})


def _with_field_at(place: int | None) -> Callable[[xml.Element], None]:
    """A field of 64 bits before field number `place`, or behind the last one."""

    def change(tree: xml.Element) -> None:
        struct = _named(tree, "class-decl", "sluice_stats")
        fields = struct.findall("data-member")
        start = int(struct.attrib["size-in-bits"]) if place is None else int(fields[place].attrib["layout-offset-in-bits"])
        for later in [] if place is None else fields[place:]:
            later.set("layout-offset-in-bits", str(int(later.attrib["layout-offset-in-bits"]) + 64))
        struct.set("size-in-bits", str(int(struct.attrib["size-in-bits"]) + 64))
        new = xml.Element("data-member", {"access": "public", "layout-offset-in-bits": str(start)})
        first = fields[0].find("var-decl")
        assert first is not None
        xml.SubElement(new, "var-decl", {**first.attrib, "name": "more"})
        struct.insert(len(fields) if place is None else place, new)

    return change


def _with_other_type(tree: xml.Element) -> None:
    """The last field of another type than the first gets that type, besides a field behind all."""
    struct = _named(tree, "class-decl", "sluice_stats")
    first, *others = struct.iter("var-decl")
    changed = next(one for one in reversed(others) if one.get("type-id") != first.get("type-id"))
    changed.set("type-id", first.attrib["type-id"])
    _with_field_at(None)(tree)


def _with_enumerator(tree: xml.Element) -> None:
    xml.SubElement(_named(tree, "enum-decl", "sluice_op"), "enumerator", {"name": "SLUICE_OP_NEW", "value": "5"})


class Verdict(unittest.TestCase):
    """On changes of the reference."""

    def test_changes(self) -> None:
        old = text_of(REFERENCE)
        for name, change, wanted in (("nothing", lambda tree: None, SAME),
                                     ("a function is gone", _without_function, BROKEN),
                                     ("a new function", _with_function, GROWN),
                                     ("a field at the end", _with_field_at(None), GROWN),
                                     ("a field at the start", _with_field_at(0), BROKEN),
                                     ("a field before the last", _with_field_at(-1), BROKEN),
                                     ("a field at the end, and another type of one before", _with_other_type, BROKEN),
                                     ("an enumerator at the end", _with_enumerator, GROWN)):
            with self.subTest(name):
                found, said = verdict(old, _changed(change))
                self.assertEqual(found, wanted, said)


class Library(unittest.TestCase):
    def test_programs_run_with_it(self) -> None:
        found, said = verdict(text_of(REFERENCE), dump())
        if found != SAME:
            self.fail(f"{said}\n{ADVICE[found]}")


def lack() -> str | None:
    """Why the comparison cannot be made here."""
    missing = [tool for tool in ("abidw", "abidiff") if shutil.which(tool) is None]
    if missing:
        return f"{' and '.join(missing)} missing: run scripts/setup, which installs abigail-tools"
    if platform.machine() != MACHINE:
        return f"the reference lib/client/libsluice.abi is of {MACHINE}"
    if not re.search(r"<class-decl name='sluice_stats' size-in-bits", dump()):
        return "libsluice.so has no debug information: build with meson's -Ddebug=true"
    return None


def main() -> None:
    global library, version_header
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--refresh", action="store_true", help="write the reference anew")
    parser.add_argument("library")
    parser.add_argument("version_header")
    args = parser.parse_args()
    library, version_header = args.library, args.version_header
    reason = lack()
    if reason is not None:
        print(reason)
        sys.exit(1 if args.refresh else 77)
    if args.refresh:
        with open(REFERENCE, "w", encoding="utf-8") as f:
            f.write(dump())
    else:
        unittest.main(argv=sys.argv[:1])


if __name__ == "__main__":
    main()
