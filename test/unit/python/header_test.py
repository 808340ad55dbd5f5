# SPDX-License-Identifier: BSD-3-Clause
"""Does Python see sluice.h as a C compiler does?

Usage: header_test.py COMPILER [ARGUMENT...]
"""
import os
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")
CLIENT = os.path.join(ROOT, "lib", "client")
sys.path.append(os.path.join(ROOT, "lib", "python"))  # after the built package

import build_header  # noqa: E402 (found by the path above)
import sluice  # noqa: E402
from sluice._handle import lib  # noqa: E402
from sluice._header import ffi  # noqa: E402

COMPILER: list[str] = []
FUNCTIONS = 24  # or more


def header() -> str:
    """Without comments."""
    with open(os.path.join(CLIENT, "sluice.h"), encoding="utf-8") as f:
        return re.sub(r"/\*.*?\*/", " ", f.read(), flags=re.DOTALL)


def by_compiler(expressions: list[str]) -> list[int]:
    """The values of C expressions."""
    prints = "".join(f'    printf("%llu\\n", (unsigned long long)({e}));\n' for e in expressions)
    with tempfile.TemporaryDirectory() as folder:
        source, program = os.path.join(folder, "layout.c"), os.path.join(folder, "layout")
        with open(source, "w", encoding="utf-8") as f:
            f.write(f"#include <stddef.h>\n#include <stdio.h>\n#include <sluice.h>\nint main(void)\n{{\n{prints}}}\n")
        subprocess.run([*COMPILER, "-I", CLIENT, "-o", program, source], check=True)
        done = subprocess.run([program], capture_output=True, text=True, check=True)
    return [int(line) for line in done.stdout.split()]


def by_cffi() -> dict[str, int]:
    """{C expression: value} for every struct, field, enumerator and constant of the header."""
    found: dict[str, int] = {}
    typedefs, structs, unions = ffi.list_types()
    assert not unions and not typedefs, f"this test has to learn {unions + typedefs}"
    for name in structs:
        kind = ffi.typeof(f"struct {name}")
        try:
            found[f"sizeof(struct {name})"] = ffi.sizeof(kind)
        except (ffi.error, ValueError):  # it is opaque
            continue
        for field, about in kind.fields:
            found[f"offsetof(struct {name}, {field})"] = about.offset
            found[f"sizeof(((struct {name} *)0)->{field})"] = ffi.sizeof(about.type)
    for name in re.findall(r"\b(SLUICE_(?!H\b|SOCKET_DEFAULT\b)\w+)\b(?=\s*[=,}]|\s+\(?\d)", header()):
        found[name] = getattr(lib, name)
    return found


class Header(unittest.TestCase):
    def test_layout(self) -> None:
        seen = by_cffi()
        self.assertIn("offsetof(struct sluice_completion, status)", seen)
        self.assertIn("offsetof(struct sluice_stats, peer)", seen)
        for name in ("SLUICE_REQUEST_MAX", "SLUICE_PORT_DEFAULT", "SLUICE_PEER_MAX", "SLUICE_GO_BACK_N", "SLUICE_OP_SHUTDOWN"):
            self.assertIn(name, seen)
        self.assertEqual(seen, dict(zip(seen, by_compiler(list(seen)))))

    def test_functions(self) -> None:
        """Python has every function that the header declares, and the library exports it."""
        names = set(re.findall(r"^(?!static |\s)[\w ]+[ *](sluice_\w+)\(", header(), re.MULTILINE))
        self.assertGreaterEqual(len(names), FUNCTIONS)
        for name in names:
            self.assertTrue(callable(getattr(lib, name)), name)

    def test_stats(self) -> None:
        """Stats has the fields of struct sluice_stats."""
        fields = {name for name, _ in ffi.typeof("struct sluice_stats").fields}
        self.assertEqual(set(sluice.Stats.__dataclass_fields__), fields)

    def test_ops(self) -> None:
        ops = set(re.findall(r"SLUICE_OP_(\w+),", header()))
        self.assertEqual({op.name for op in sluice.Op}, ops)

    def test_unknown_line(self) -> None:
        """A line that cffi cannot read fails the build; it is not left out."""
        for line in ("#define SLUICE_TWICE(n) (2 * (n))", "#if 1", "#define SLUICE_NAME \"x\"", "#pragma once"):
            with self.assertRaisesRegex(ValueError, "teach build_header.py"):
                build_header.declarations(header() + line + "\n")


if __name__ == "__main__":
    COMPILER = sys.argv[1:]
    unittest.main(argv=sys.argv[:1])
