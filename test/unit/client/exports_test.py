# SPDX-License-Identifier: BSD-3-Clause
"""exports_test.py LIBRARY: libsluice.so exports the functions that sluice.h declares, and nothing else. The manual page and
Debian's list of symbols have the same ones.
"""
import os
import re
import subprocess
import sys
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")
LIBRARY = sys.argv[1]
FUNCTIONS_MIN = 20  # the header's declarations were found


def text_of(path: str) -> str:
    with open(os.path.join(ROOT, path), encoding="utf-8") as f:
        return f.read()


def in_header(start: str) -> set[str]:
    """Functions of sluice.h whose first line has this start."""
    bare = re.sub(r"/\*.*?\*/", " ", text_of("lib/client/sluice.h"), flags=re.DOTALL)
    return set(re.findall(rf"^{start}(?!\s)[\w ]+[ *](sluice_\w+)\(", bare, re.MULTILINE))


def declared() -> set[str]:
    """What sluice.h declares. An inline function is not in the library."""
    return in_header("(?!static )")


def exported() -> set[str]:
    """What the library exports, as "name@VERSION"."""
    done = subprocess.run(["nm", "--dynamic", "--defined-only", "--with-symbol-versions", LIBRARY], capture_output=True,
                          text=True, check=True)
    symbols = [line.split()[-2:] for line in done.stdout.splitlines()]
    return {name.replace("@@", "@") for kind, name in symbols if kind != "A"}  # A: the name of a version


class Exports(unittest.TestCase):
    def setUp(self) -> None:
        self.assertGreaterEqual(len(declared()), FUNCTIONS_MIN)

    def test_library(self) -> None:
        names = {symbol.split("@")[0] for symbol in exported()}
        self.assertEqual(declared() - names, set(), "sluice.h declares these: add them to libsluice.map")
        self.assertEqual(names - declared(), set(), "sluice.h does not declare these: take them out of libsluice.map")

    def test_versions(self) -> None:
        """Each function has a version: a program finds out when it starts that it needs a newer library."""
        for symbol in exported():
            self.assertRegex(symbol, r"^sluice_\w+@SLUICE_0(\.\d+)*$")

    def test_debian(self) -> None:
        """The packages of programs then depend on the version that brought their functions."""
        listed = set(re.findall(r"^ (sluice_\w+@\S+) \d\S*$", text_of("config/debian/libsluice0.symbols"), re.MULTILINE))
        self.assertEqual(listed, exported(), "correct config/debian/libsluice0.symbols")

    def test_manual(self) -> None:
        synopsis = text_of("doc/man/libsluice.3").partition(".Sh SYNOPSIS")[2].partition(".Sh ")[0]
        self.assertEqual(set(re.findall(r"^\.Fn (sluice_\w+)", synopsis, re.MULTILINE)), declared() | in_header("static inline "))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
