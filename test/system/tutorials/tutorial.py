# SPDX-License-Identifier: BSD-3-Clause
"""Reads a tutorial, runs its commands in a shell, and compares what they print with what the text shows.

Each fenced block of a tutorial is one of three:

- `sh`: commands. They run in the order of the text, all in one shell, and each must succeed.
- `text`: what the block of commands before it prints. Each line must appear there, in this order; other lines may stand
  between. Numbers (with their units) and the width of gaps may differ, and "..." stands for anything.
- any other, behind a paragraph that ends with "as `NAME`:": the contents of this file.

A block of no such kind is an error, so no command escapes. The shell has namespaces of its own for processes, mounts and
networks, an empty /run and an empty working folder. Whatever a tutorial starts ends with the shell.
"""
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from testbed.process import Process, Testbed, TestbedError

BLOCK = re.compile(r"(?ms)^```([^\n]*)\n(.*?)^```$")
ADDRESS = r"\d+(?:\.\d+){3}"
UNIT = r"(?: ?(?:[num]?s|[KMGT]iB(?:/s)?|[kKMG]?B(?:/s)?|[kMG]?b(?:it)?/s|%)(?!\w))?"
INSIDE = "/srv"  # where the shell sees the folder of the run, which may itself be below /run
NAMESPACES = ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"]
PROGRAMS = {"sluiced": "sluiced", "sluice": "sluice", "sluice-lab": "lab", "sluice-emu": "emu", "sluice-load": "load"}


@dataclass
class Block:
    """A fenced block. kind: "sh", "text" or "file"; name: of the file."""
    line: int
    kind: str
    text: str
    name: str = ""


def blocks(markdown: str) -> list[Block]:
    """The blocks of a tutorial, in order."""
    found: list[Block] = []
    for match in BLOCK.finditer(markdown):
        line = markdown.count("\n", 0, match.start()) + 1
        name = re.search(r"as\s+`([\w.-]+)`:\n\n\Z", markdown[:match.start()])
        if match[1] in ("sh", "text"):
            found.append(Block(line, match[1], match[2]))
        elif match[1] and name:
            found.append(Block(line, "file", match[2], name[1]))
        else:
            raise TestbedError(f"line {line}: the block is no `sh`, no `text`, and no paragraph before it ends with \"as `NAME`:\"; "
                               "say what it is, so that it is tested")
        if match[1] == "text" and (len(found) < 2 or found[-2].kind != "sh"):
            raise TestbedError(f"line {line}: what is shown here follows no commands")
    if len(re.findall(r"(?m)^[ \t>]*```", markdown)) != 2 * len(found):
        raise TestbedError("a fence is open or stands inside a list; begin and end each at the start of a line")
    return found


def plain(line: str) -> str:
    """A line without what differs between runs: widths, and numbers other than addresses."""
    words = re.sub(rf"({ADDRESS}(?:/\d+)?)|\d[\d.]*(?:e[+-]?\d+)?{UNIT}", lambda m: m[1] or "#", line)
    return " ".join(words.split())


def missing_line(shown: str, printed: str) -> str | None:
    """The first shown line that was not printed, or None."""
    left = iter([plain(line) for line in printed.splitlines()])
    for line in shown.splitlines():
        wanted = ".*".join(re.escape(part) for part in plain(line).split("..."))
        if wanted and not any(re.fullmatch(wanted, got) for got in left):
            return line
    return None


def lack() -> str | None:
    """Why this machine has no shell with namespaces of its own, or None."""
    done = subprocess.run([*NAMESPACES, "true"], capture_output=True, text=True, check=False)
    return f"no namespaces: {done.stderr.strip()}" if done.returncode != 0 else None


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


def _read(path: str) -> str:
    if not os.path.exists(path):
        return ""
    with open(path, encoding="utf-8", errors="replace") as f:
        return f.read()


def steps(found: Sequence[Block], folder: str, inside: str) -> list[str]:
    """Writes each block to a file of folder, so that no command reads the next one as its input. Returns what a shell,
    bash or another, has to do; it sees folder as inside. The file "last" there then has the number of the last block, and
    NUMBER.out what that block printed."""
    lines = []
    for number, block in enumerate(found):
        path = f"{inside}/{number}"
        if block.kind != "text":
            _write(os.path.join(folder, str(number)), block.text)
        if block.kind == "file":
            lines.append(f"cp {path} '{block.name}'")
        elif block.kind == "sh":
            lines += [f"echo {number} >{inside}/last", f". {path} </dev/null >{path}.out 2>&1"]
    return lines


def failure(block: Block, status: str, said: str) -> str:
    """What is told of a block that did not succeed."""
    return f"line {block.line}: a command of this block ends with {status}:\n{block.text}\n{said[-3000:]}"


class Run:
    """One run of a tutorial. Its steps and their output are in a folder of the testbed, its files in another."""

    def __init__(self, testbed: Testbed, build_dir: str, markdown: str) -> None:
        self.testbed, self.blocks = testbed, blocks(markdown)
        folder = tempfile.mkdtemp(prefix="tutorial-", dir=testbed.dir)
        self.steps, self.files, programs = (os.path.join(folder, name) for name in ("steps", "files", "bin"))
        for path in (self.steps, self.files, programs):
            os.makedirs(path)
        for name, where in PROGRAMS.items():
            os.symlink(os.path.join(os.path.abspath(build_dir), "app", where, name), os.path.join(programs, name))
        os.symlink(sys.executable, os.path.join(programs, "python3"))
        self.folder = folder
        self.env = {"PATH": f"{INSIDE}/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": f"{INSIDE}/files",
                    "BASH_ENV": "", "PYTHONUNBUFFERED": "1"}  # as on a terminal, lines come when they are printed

    def _script(self) -> str:
        """What the shell runs."""
        lines = ["set -eo pipefail", f"mount --bind '{self.folder}' {INSIDE}", "mount -t tmpfs tmpfs /run", "ip link set lo up",
                 f"cd {INSIDE}/files", *steps(self.blocks, self.steps, f"{INSIDE}/steps")]
        return "\n".join(lines) + "\n"

    def _logs(self) -> str:
        """The ends of the logs that the tutorial has written."""
        names = sorted(name for name in os.listdir(self.files) if name.endswith(".log"))
        return "".join(f"\n{name}: {_read(os.path.join(self.files, name))[-1500:]}" for name in names)

    def _failure(self, status: str) -> str:
        """Which block did not succeed, and what it printed."""
        last = _read(os.path.join(self.steps, "last")).strip()
        if not last:
            return f"the shell ends with {status} before the first block"
        return failure(self.blocks[int(last)], status, _read(os.path.join(self.steps, f"{last}.out")))

    def go(self, timeout_s: float, env: Mapping[str, str]) -> None:
        """Runs it. A command that fails, and a line that is shown but not printed, is a TestbedError."""
        script = os.path.join(self.steps, "script")
        _write(script, self._script())
        shell: Process = self.testbed.start("shell", [*NAMESPACES, "bash", script], env={**self.env, **env})
        try:
            status = str(shell.wait(timeout_s))
        except TestbedError:
            status = f"nothing within {timeout_s:g} s"
        if status != "0":
            raise TestbedError(self._failure(status) + shell.tail() + self._logs())
        for number, block in enumerate(self.blocks):
            printed = _read(os.path.join(self.steps, f"{number - 1}.out"))
            line = missing_line(block.text, printed) if block.kind == "text" else None
            if line is not None:
                raise TestbedError(f"line {block.line}: shows \"{line}\", but the commands before it print:\n{printed}{self._logs()}")


def run(testbed: Testbed, build_dir: str, markdown: str, env: Mapping[str, str], timeout_s: float = 300) -> None:
    """Runs a tutorial. env: variables that an installation needs none of."""
    Run(testbed, build_dir, markdown).go(timeout_s, env)


def names(folder: str) -> Sequence[str]:
    """The tutorials of the folder."""
    return sorted(name.removesuffix(".md") for name in os.listdir(folder) if name.endswith(".md"))
