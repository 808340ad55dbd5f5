# SPDX-License-Identifier: BSD-3-Clause
"""Programs that answer: a line of input, a line of output."""
from .process import Child, until


class Asked:
    """A program that waits for a line of input, does what the line says, and answers with a line."""

    def __init__(self, process: Child, timeout_s: float = 60) -> None:
        self.process, self.timeout_s = process, timeout_s
        self.answers = 0

    def ask(self, line: str) -> str:
        stdin = self.process.popen.stdin
        assert stdin is not None, "the process was started without stdin=PIPE"
        stdin.write((line + "\n").encode())
        stdin.flush()
        return self.next_answer()

    def next_answer(self) -> str:
        """The next line of output. Some programs print one unasked, such as that they are ready."""
        def unread() -> list[str]:
            text = self.process.out()
            return text[:text.rfind("\n") + 1].splitlines()[self.answers:]

        line = until(unread, self.timeout_s, f"{self.process.name} answers", 0.005, self.process)[0]
        self.answers += 1
        return line
