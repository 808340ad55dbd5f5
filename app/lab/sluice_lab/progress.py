# SPDX-License-Identifier: BSD-3-Clause
"""How far a run is: a line that renews itself on a terminal, a line now and then elsewhere."""
import sys
import time


class Progress:
    def __init__(self, quiet=False, out=sys.stderr):
        self.out, self.quiet = out, quiet
        self.terminal = out.isatty()

    def begin(self, name, total, at_once=False):
        """at_once: all runs go at the same time, so that those done tell nothing of the others."""
        self.name, self.total, self.n, self.at_once = name, total, 0, at_once
        self.where = ""
        self.start = self.told = time.monotonic()

    def step(self):
        self.n += 1
        now = time.monotonic()
        if self.quiet or now - self.told < (0.2 if self.terminal else 10):
            return
        self.told = now
        spent = now - self.start
        left = spent / self.n * (self.total - self.n)
        line = f"{self.name}: {self.n} of {self.total} runs, {spent:.0f} s"
        if not self.at_once:
            line += f", about {left:.0f} s more"
        line += self.where
        self.out.write(f"\r\033[K{line}" if self.terminal else line + "\n")
        self.out.flush()

    def tell(self, text):
        """A line of its own, which people shall see even where they want no progress."""
        self.end()
        self.out.write(f"sluice-lab: {text}\n")
        self.out.flush()

    def end(self):
        if not self.quiet and self.terminal:
            self.out.write("\r\033[K")
            self.out.flush()
