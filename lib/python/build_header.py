# SPDX-License-Identifier: BSD-3-Clause
"""Makes the module sluice._header from the public header, so that the two cannot differ.

Usage: build_header.py SLUICE_H OUTPUT

cffi reads C declarations, but no comments and only the simplest lines of the preprocessor. This leaves out what it
cannot read, and fails at a line that it does not know. The module has the declarations in cffi's compact form: to load it,
a program needs cffi's runtime (_cffi_backend), and neither a compiler nor a parser of C.
"""
import os
import re
import sys
from typing import Any

import cffi

HEADER = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "client", "sluice.h")
MODULE = "sluice._header"
LIBC = "void free(void *memory);\n"  # the text of sluice_show() is the caller's to free
_NUMBER = re.compile(r"^#define\s+(\w+)\s+(\(?\d+(?:ull\s*<<\s*\d+)?\)?)$")
_IGNORED = re.compile(r"^#(?:include\s|ifndef SLUICE_H$|define SLUICE_H$|define SLUICE_SOCKET_DEFAULT\s|endif$)")


def _constant(text: str) -> int:
    """The value of 7000, (7000) or (1ull << 32)."""
    number, _, shift = text.strip("()").replace("ull", "").partition("<<")
    return int(number) << int(shift or 0)


def declarations(header: str) -> str:
    """What cffi can read of a public header: declarations, and constants as numbers. An inline function is not in the
    library."""
    text = re.sub(r"/\*.*?\*/", " ", header, flags=re.DOTALL)
    text = re.sub(r"^static inline .*?^\}$", "", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"^#ifdef __cplusplus\n.*?^#endif$", "", text, flags=re.DOTALL | re.MULTILINE)
    lines = []
    for line in (line.rstrip() for line in text.split("\n")):
        number = _NUMBER.match(line)
        if number:
            lines.append(f"#define {number.group(1)} {_constant(number.group(2))}")
        elif line.startswith("#"):
            if not _IGNORED.match(line):
                raise ValueError(f"sluice.h: cffi cannot read \"{line}\"; teach build_header.py to translate it")
        elif line:
            lines.append(line)
    return "\n".join(lines) + "\n"


def ffi(path: str = HEADER) -> cffi.FFI:
    """A builder of the module; setup.py calls it, too."""
    with open(path, encoding="utf-8") as f:
        builder = cffi.FFI()
        builder.cdef(declarations(f.read()) + LIBC)
    no_source: Any = None  # ABI mode: nothing is compiled
    builder.set_source(MODULE, no_source)
    return builder


if __name__ == "__main__":
    ffi(sys.argv[1]).emit_python_code(sys.argv[2])
