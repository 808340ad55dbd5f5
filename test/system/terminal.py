# SPDX-License-Identifier: BSD-3-Clause
"""A program on a terminal of its own, a pty with a size, and somebody who types and reads: lines
(Terminal), or pages (Screen)."""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time

from .harness import TestbedError

# What a terminal would not show: cursor movements, colours, bells.
UNSEEN = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[ME]|\x1b[()][A-Z0-9]|[\x07\x0f]")
LEAVE = "\033[?7h\033[?25h\033[?1049l\033[0m"


class Terminal:
    """args run as a session of its own, with stdin, stdout and stderr on a terminal; undone with the
    lab."""

    def __init__(self, testbed, args, rows=24, columns=200, env=None):
        self.fd, self.other = pty.openpty()
        os.set_blocking(self.fd, False)
        self.resize(rows, columns)
        self.before = termios.tcgetattr(self.other)
        self.raw = ""  # everything so far
        self.seen = 0  # up to here expect() has looked, in text()
        self.popen = subprocess.Popen([str(a) for a in args], stdin=self.other, stdout=self.other,
                                      stderr=self.other, start_new_session=True,
                                      preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
                                      env={**os.environ, "TERM": "xterm", **(env or {})})
        testbed.undo(self.close)

    def close(self):
        if self.popen.poll() is None:
            try:
                os.killpg(self.popen.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            self.popen.kill()
        self.popen.wait()
        for fd in (self.fd, self.other):
            if fd >= 0:
                os.close(fd)
        self.fd = self.other = -1

    def resize(self, rows, columns):
        self.rows, self.columns = rows, columns
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def text(self):
        return UNSEEN.sub("", self.raw).replace("\r", "")

    def shown(self):
        """For messages."""
        return self.text()[self.seen:][-2000:]

    def read(self, seconds):
        """What comes within so much time; False: nothing did."""
        if not select.select([self.fd], [], [], seconds)[0]:
            return False
        self.raw += os.read(self.fd, 65536).decode("utf-8", "replace")
        return True

    def type(self, text, timeout_s=30):
        """Reads meanwhile: a program that cannot write does not read, either. A program that has ended, or
        stands still, reads nothing: this raises TestbedError once the terminal holds no more."""
        left, end = text.encode(), time.monotonic() + timeout_s
        while left:
            if select.select([], [self.fd], [], 0.1)[1]:
                left = left[os.write(self.fd, left):]
                end = time.monotonic() + timeout_s
            elif not self.read(0) and (self.popen.poll() is not None or time.monotonic() > end):
                raise TestbedError(f"nobody reads {left[:80]!r}; the terminal:\n{self.shown()}")

    def skip(self):
        """Reads what has come, and looks at it no more."""
        while self.read(0):
            pass
        self.raw = self.raw[-4096:]
        self.seen = 0

    def until(self, holds, what, timeout_s=30):
        """Reads until holds() is true; its value."""
        end = time.monotonic() + timeout_s
        while True:
            found = holds()
            if found:
                return found
            ended = self.popen.poll() is not None
            if not self.read(0.1) and (ended or time.monotonic() > end):
                why = "the program has ended" if ended else f"not within {timeout_s} s"
                raise TestbedError(f"{what}: {why}; the terminal:\n{self.shown()}")

    def expect(self, pattern, timeout_s=30):
        """Waits for a regular expression in what was not looked at yet; the match."""
        wanted = re.compile(pattern, re.MULTILINE)
        found = self.until(lambda: wanted.search(self.text(), self.seen), f"\"{pattern}\"", timeout_s)
        self.seen = found.end()
        return found

    def wait(self, timeout_s=20):
        """Exit status, once all that it wrote is read."""
        self.until(lambda: self.popen.poll() is not None, "the end", timeout_s)
        while self.read(0.05):
            pass
        return self.popen.returncode

    def check_modes(self, what):
        """The terminal is as it was."""
        if termios.tcgetattr(self.other) != self.before:
            raise TestbedError(f"{what}: the terminal's modes are not put back")


class Screen(Terminal):
    """One that shows pages."""

    def __init__(self, testbed, args, rows=24, columns=80, env=None):
        super().__init__(testbed, args, rows, columns, {"LC_ALL": "C.UTF-8", "NO_COLOR": "1", **(env or {})})

    def shown(self):
        return "\n".join(self.page() or [repr(self.raw[-2000:])])

    def page(self):
        """Lines of the last whole page, without colours; None: there is none."""
        pages = re.findall(r"\033\[H(?!.*\033\[H)(.*?)\033\[K\033\[J", self.raw, re.DOTALL)
        if not pages:
            return None
        return [re.sub(r"\033\[[0-9;]*[mK]", "", x.rstrip("\r")) for x in pages[-1].split("\n")]

    def until_page(self, fits, what, timeout_s=30):
        """A page that was begun after this call and fits(lines)."""
        self.raw = ""

        def holds():
            page = self.page()
            return page if page is not None and fits(page) else None
        return self.until(holds, what, timeout_s)

    def check_restored(self, what):
        """The same, and the page is away."""
        self.check_modes(what)
        if LEAVE not in self.raw:
            raise TestbedError(f"{what}: the page is not taken away: {self.raw[-200:]!r}")
