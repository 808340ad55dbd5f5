# SPDX-License-Identifier: BSD-3-Clause
"""A program on a terminal of its own: a pty with a size. The test types into it, and reads lines (Terminal) or
pages (Screen)."""
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
from collections.abc import Callable, Sequence
from typing import TypeVar

from .process import Testbed, TestbedError

T = TypeVar("T")

# A terminal obeys these and does not show them: cursor movements, colours, bells.
UNSEEN = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[ME]|\x1b[()][A-Z0-9]|[\x07\x0f]")
LEAVE = "\033[?7h\033[?25h\033[?1049l\033[0m"


class Terminal:
    """Runs args in a session of their own, with stdin, stdout and stderr on a terminal; it ends with the
    testbed."""

    def __init__(self, testbed: Testbed, args: Sequence[object], rows: int = 24, columns: int = 200,
                 env: dict[str, str] | None = None) -> None:
        self.fd, self.other = pty.openpty()
        os.set_blocking(self.fd, False)
        self.resize(rows, columns)
        self.before = termios.tcgetattr(self.other)
        self.raw = ""  # all output so far
        self.seen = 0  # expect() has searched text() up to here
        self.popen = subprocess.Popen([str(a) for a in args], stdin=self.other, stdout=self.other,
                                      stderr=self.other, start_new_session=True,
                                      preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
                                      env={**os.environ, "TERM": "xterm",
                                           "XDG_STATE_HOME": testbed.path("state"), **(env or {})})
        testbed.undo(self.close)

    def close(self) -> None:
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

    def resize(self, rows: int, columns: int) -> None:
        self.rows, self.columns = rows, columns
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def text(self) -> str:
        return UNSEEN.sub("", self.raw).replace("\r", "")

    def shown(self) -> str:
        """The end of the output, for messages."""
        return self.text()[self.seen:][-2000:]

    def read(self, seconds: float) -> bool:
        """Reads output that comes within this time; False: there was none."""
        if not select.select([self.fd], [], [], seconds)[0]:
            return False
        self.raw += os.read(self.fd, 65536).decode("utf-8", "replace")
        return True

    def type(self, text: str, timeout_s: float = 30) -> None:
        """Types text, and reads meanwhile: a program that cannot write does not read, either. Raises
        TestbedError if the terminal is full and the program has ended or does not read."""
        self.type_bytes(text.encode(), timeout_s)

    def type_bytes(self, left: bytes, timeout_s: float = 30) -> None:
        end = time.monotonic() + timeout_s
        while left:
            if select.select([], [self.fd], [], 0.1)[1]:
                left = left[os.write(self.fd, left):]
                end = time.monotonic() + timeout_s
            elif not self.read(0) and (self.popen.poll() is not None or time.monotonic() > end):
                raise TestbedError(f"the program does not read {left[:80]!r}; the terminal:\n{self.shown()}")

    def skip(self) -> None:
        """Reads the output that has come; expect() does not search it."""
        while self.read(0):
            pass
        self.raw = self.raw[-4096:]
        self.seen = 0

    def until(self, holds: Callable[[], T | None], what: str, timeout_s: float = 30) -> T:
        """Reads until holds() is true; returns its value."""
        end = time.monotonic() + timeout_s
        while True:
            found = holds()
            if found:
                return found
            ended = self.popen.poll() is not None
            if not self.read(0.1) and (ended or time.monotonic() > end):
                why = "the program has ended" if ended else f"not within {timeout_s} s"
                raise TestbedError(f"{what}: {why}; the terminal:\n{self.shown()}")

    def expect(self, pattern: str, timeout_s: float = 30) -> re.Match[str]:
        """Waits for a regular expression in output that was not searched yet; returns the match."""
        wanted = re.compile(pattern, re.MULTILINE)
        found = self.until(lambda: wanted.search(self.text(), self.seen), f"\"{pattern}\"", timeout_s)
        self.seen = found.end()
        return found

    def wait(self, timeout_s: float = 20) -> int:
        """Waits for the end of the program and reads the rest of its output; returns the exit status."""
        self.until(lambda: self.popen.poll() is not None, "the end", timeout_s)
        while self.read(0.05):
            pass
        return self.popen.returncode

    def check_modes(self, what: str) -> None:
        """The terminal's modes must be as they were before the program."""
        if termios.tcgetattr(self.other) != self.before:
            raise TestbedError(f"{what}: the terminal's modes are not put back")


class Screen(Terminal):
    """A terminal whose program shows pages."""

    def __init__(self, testbed: Testbed, args: Sequence[object], rows: int = 24, columns: int = 80,
                 env: dict[str, str] | None = None) -> None:
        super().__init__(testbed, args, rows, columns, {"LC_ALL": "C.UTF-8", "NO_COLOR": "1", **(env or {})})

    def shown(self) -> str:
        return "\n".join(self.page() or [repr(self.raw[-2000:])])

    def page(self) -> list[str] | None:
        """Lines of the last whole page, without colours, or None."""
        pages = re.findall(r"\033\[H(?!.*\033\[H)(.*?)\033\[K\033\[J", self.raw, re.DOTALL)
        if not pages:
            return None
        return [re.sub(r"\033\[[0-9;]*[mK]", "", x.rstrip("\r")) for x in pages[-1].split("\n")]

    def until_page(self, fits: Callable[[list[str]], bool], what: str, timeout_s: float = 30) -> list[str]:
        """Waits for a page that was begun after this call and for which fits(lines) is true; returns it."""
        self.raw = ""

        def holds() -> list[str] | None:
            page = self.page()
            return page if page is not None and fits(page) else None
        return self.until(holds, what, timeout_s)

    def check_restored(self, what: str) -> None:
        """The terminal's modes must be as they were, and the page must be taken away."""
        self.check_modes(what)
        if LEAVE not in self.raw:
            raise TestbedError(f"{what}: the page is not taken away: {self.raw[-200:]!r}")
