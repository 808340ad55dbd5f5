# SPDX-License-Identifier: BSD-3-Clause
"""Has each failure its class, which the manual lists?"""
import errno
import os
import re
import sys
import unittest

import sluice
from sluice import errors, files

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")
PLAIN = {"EINVAL", "EPROTO", "ENOENT", "EBUSY"}  # a SluiceError, as there is nothing that a program could do about it


def read(path: str) -> str:
    with open(os.path.join(ROOT, path), encoding="utf-8") as f:
        return f.read()


class Errors(unittest.TestCase):
    def test_classes(self) -> None:
        """What libsluice(3) lists has a class of its own, but for PLAIN."""
        names = set(re.findall(r"^\.It Bq Er (\w+)", read("doc/man/libsluice.3"), re.MULTILINE))
        self.assertGreaterEqual(len(names), 20)
        for name in names:
            number = getattr(errno, name)
            error = errors.error_of(-number, "cause: cure")
            self.assertEqual(type(error) is sluice.SluiceError, name in PLAIN, name)
            self.assertEqual((error.errno, error.strerror, str(error)), (number, "cause: cure", "cause: cure"))
            self.assertIsInstance(error, OSError)

    def test_pythons_own(self) -> None:
        for number, kind in ((errno.ECONNREFUSED, ConnectionRefusedError), (errno.ECONNRESET, ConnectionResetError),
                             (errno.ETIMEDOUT, TimeoutError), (errno.EPIPE, BrokenPipeError), (errno.ENODATA, EOFError),
                             (errno.EACCES, PermissionError), (errno.EAGAIN, BlockingIOError)):
            self.assertIsInstance(errors.error_of(-number, ""), kind)

    def test_remarks_of_the_program(self) -> None:
        """What the program says of transfers that went well is no error of one that did not."""
        said = files.Said()
        for line in ("waiting on port 7000", "received 1 file, 5 bytes (5 B) in 1.000 s, 40 b/s, 0 units repeated, from 192.0.2.1:9",
                     "limited for 62 % of the time by the sender, its disk or its processor",
                     "1 file of 5 B was there already", "3 files of 1.5 GB were there already",
                     "no memory for another sender, which waits until one of 4 has ended",
                     "a b from 192.0.2.1:9: incomplete, kept for --resume", "a: an incomplete file of another transfer: not sent",
                     "a: its file system has no direct I/O: written through the page cache",
                     "--manifest m: not written; what arrived is listed in m.incomplete", "x: no space left; make room"):
            said.remark("sluice: " + line)
        error = said.error(5)
        self.assertIsInstance(error, sluice.LocalFile)
        self.assertEqual((str(error), said.port), ("x: no space left; make room", 7000))
        said = files.Said()
        said.remark("sluice: a from 192.0.2.1:9: incomplete, kept for --resume: the peer has gone")
        self.assertEqual(str(said.error(1)), "a from 192.0.2.1:9: incomplete, kept for --resume: the peer has gone")

    def test_manual(self) -> None:
        """doc/python.md lists each class of errors, and no other; the package exports them."""
        page = read("doc/python.md").split("## Errors", 1)[1].split("\n## ", 1)[0]
        listed = set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE))
        there = {name for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, errors.SluiceError)}
        self.assertEqual(listed, there - {"SluiceError"})
        self.assertLessEqual(there, set(sluice.__all__))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
