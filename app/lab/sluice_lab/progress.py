# SPDX-License-Identifier: BSD-3-Clause
"""The progress of a run: on a terminal one line that is written over, elsewhere a line every few seconds."""
import sys
import time
from typing import TextIO


class Progress:
    def __init__(self, quiet: bool = False, out: TextIO = sys.stderr) -> None:
        self.out, self.quiet = out, quiet
        self.terminal = out.isatty()

    def begin(self, name: str, total: int, at_once: bool = False) -> None:
        """at_once: all runs go at the same time, so the time of the first does not predict that of the rest."""
        self.name, self.total, self.n, self.at_once = name, total, 0, at_once
        self.where = ""
        self.start = self.told = time.monotonic()

    def step(self) -> None:
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

    def tell(self, text: str) -> None:
        """A separate line, which is printed with --quiet, too."""
        self.end()
        self.out.write(f"sluice-lab: {text}\n")
        self.out.flush()

    def end(self) -> None:
        if not self.quiet and self.terminal:
            self.out.write("\r\033[K")
            self.out.flush()
