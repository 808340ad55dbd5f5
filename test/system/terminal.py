# SPDX-License-Identifier: BSD-3-Clause
"""A program on a terminal of its own, with somebody who types and reads."""
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time

from harness import LabError

# What a terminal would not show: cursor movements, colours, bells.
UNSEEN = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[()][A-Z0-9]|[\x07\x0f]")


class Terminal:
    """args run with stdin, stdout and stderr on a terminal; undone with the lab."""

    def __init__(self, lab, args, rows=24, columns=200, env=None):
        self.fd, other = pty.openpty()
        fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.popen = subprocess.Popen([str(a) for a in args], stdin=other, stdout=other, stderr=other,
                                      start_new_session=True,
                                      preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
                                      env={**os.environ, "TERM": "xterm", **(env or {})})
        os.close(other)
        self.raw = ""  # everything so far
        self.seen = 0  # up to here expect() has looked, in text()
        lab.undo(self.close)

    def close(self):
        if self.popen.poll() is None:
            self.popen.kill()
        self.popen.wait()
        if self.fd >= 0:
            os.close(self.fd)
        self.fd = -1

    def text(self):
        return UNSEEN.sub("", self.raw).replace("\r", "")

    def read(self, timeout_s):
        """False at the end."""
        ready, _, _ = select.select([self.fd], [], [], timeout_s)
        if not ready:
            return True
        try:
            data = os.read(self.fd, 65536)
        except OSError:
            return False
        self.raw += data.decode("utf-8", "replace")
        return bool(data)

    def type(self, text):
        os.write(self.fd, text.encode())

    def expect(self, pattern, timeout_s=30):
        """Waits for a regular expression in what was not looked at yet; the match."""
        end = time.monotonic() + timeout_s
        while True:
            found = re.compile(pattern, re.MULTILINE).search(self.text(), self.seen)
            if found:
                self.seen = found.end()
                return found
            if time.monotonic() > end or not self.read(0.2):
                raise LabError(f"\"{pattern}\" does not come within {timeout_s} s:\n"
                               f"{self.text()[self.seen:][-2000:]}")

    def wait(self, timeout_s=20):
        """Exit status; what it still writes is read."""
        end = time.monotonic() + timeout_s
        while self.popen.poll() is None:
            if time.monotonic() > end:
                raise LabError(f"does not end within {timeout_s} s\n{self.text()[-2000:]}")
            self.read(0.1)
        return self.popen.returncode
