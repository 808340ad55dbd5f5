# SPDX-License-Identifier: BSD-3-Clause
"""A program on a terminal of its own: a pty with a size, keys, and the pages that it shows."""
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

from harness import LabError

LEAVE = "\033[?7h\033[?25h\033[?1049l\033[0m"


class Screen:
    """args run as a session of its own with the pty as its terminal."""

    def __init__(self, lab, args, rows=24, columns=80, env=None):
        self.master, self.slave = pty.openpty()
        self.resize(rows, columns)
        self.before = termios.tcgetattr(self.slave)
        self.text = ""
        slave = self.slave

        def child():
            os.setsid()
            fcntl.ioctl(slave, termios.TIOCSCTTY, 0)

        self.popen = subprocess.Popen(
            [str(a) for a in args], stdin=slave, stdout=slave, stderr=slave, preexec_fn=child,
            env={**os.environ, "TERM": "xterm", "LC_ALL": "C.UTF-8", "NO_COLOR": "1", **(env or {})})
        lab.undo(self.close)

    def close(self):
        if self.popen.poll() is None:
            try:
                os.killpg(self.popen.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            self.popen.kill()
            self.popen.wait()
        for fd in (self.master, self.slave):
            if fd >= 0:
                os.close(fd)
        self.master = self.slave = -1

    def resize(self, rows, columns):
        self.rows, self.columns = rows, columns
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def type(self, keys):
        os.write(self.master, keys.encode())

    def read(self, seconds):
        """What comes in so much time, at least until there is something."""
        if select.select([self.master], [], [], seconds)[0]:
            self.text += os.read(self.master, 65536).decode("utf-8", "replace")

    def until(self, holds, what, timeout_s=30):
        """Reads until holds() does."""
        end = time.monotonic() + timeout_s
        while True:
            found = holds()
            if found:
                return found
            if time.monotonic() > end:
                raise LabError(f"{what}: not within {timeout_s} s; the screen:\n"
                               + "\n".join(self.page() or [repr(self.text[-2000:])]))
            self.read(0.1)

    def page(self):
        """Lines of the last whole page, without colours; None: there is none."""
        pages = re.findall(r"\033\[H(?!.*\033\[H)(.*?)\033\[K\033\[J", self.text, re.DOTALL)
        if not pages:
            return None
        return [re.sub(r"\033\[[0-9;]*[mK]", "", x.rstrip("\r")) for x in pages[-1].split("\n")]

    def until_page(self, fits, what, timeout_s=30):
        """A page that was begun after this call and fits(lines)."""
        self.text = ""

        def holds():
            page = self.page()
            return page if page is not None and fits(page) else None
        return self.until(holds, what, timeout_s)

    def wait(self, timeout_s=20):
        """Exit status, once all has been read."""
        self.until(lambda: self.popen.poll() is not None, "the end", timeout_s)
        while select.select([self.master], [], [], 0.05)[0]:
            self.read(0)
        return self.popen.returncode

    def check_restored(self, what):
        """The terminal is as it was, and the page is away."""
        if termios.tcgetattr(self.slave) != self.before:
            raise LabError(f"{what}: the terminal's modes are not put back")
        if LEAVE not in self.text:
            raise LabError(f"{what}: the page is not taken away: {self.text[-200:]!r}")
