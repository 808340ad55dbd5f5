#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""completion_test.py SLUICE SOURCE_ROOT: the shells' completion of sluice, in bash and, where it is installed, in fish.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
SLUICE, ROOT = (os.path.abspath(a) for a in sys.argv[1:3])
COMMANDS = ("cp", "sync", "send", "recv", "perf", "show", "top", "console", "exec", "reload", "doctor", "ping", "key", "capture",
            "verify")


def run(*args: str, **more: str) -> str:
    done = subprocess.run(args, capture_output=True, text=True, timeout=60, check=True, env={**os.environ, **more})
    return done.stdout


def offered(*words: str) -> list[str]:
    """What sluice offers for the last word."""
    return [line.split("\t")[0] for line in run(SLUICE, "complete", *words).splitlines()]


BASH = r"""
source "$SCRIPT"
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_sluice
printf '%s\n' "${COMPREPLY[@]}"
"""


def in_bash(*words: str) -> list[str]:
    script = os.path.join(ROOT, "config/completion/sluice.bash")
    return run("bash", "--norc", "-c", BASH, "bash", SLUICE, *words, SCRIPT=script).split()


class Completion(unittest.TestCase):
    def test_commands(self) -> None:
        self.assertEqual(set(offered("")), set(COMMANDS))
        self.assertEqual(offered("re"), ["recv", "reload"])
        self.assertEqual(offered("show", "port-"), ["port-info", "port-stats", "port-xstats"])

    def test_every_option_of_every_help(self) -> None:
        for command in COMMANDS:
            text = run(SLUICE, command, "--help")
            heads = (re.match(r" +(-.*?)  +\S", line) for line in text.splitlines())
            listed = {x for m in heads if m for x in re.findall(r"(?<!\S)--?[\w-]+", m[1])}
            self.assertIn("--help", listed)
            self.assertEqual(set(offered(command, "-")) & listed, listed, command)

    def test_values_are_left_to_the_shell(self) -> None:
        self.assertEqual(offered("send", ""), [])
        self.assertEqual(offered("nonsense", ""), [])
        self.assertEqual(run(SLUICE, "complete"), "")

    def test_words_of_the_console(self) -> None:
        self.assertEqual(offered("exec", "set", "c"), ["conn", "capacity"])
        self.assertEqual(offered("exec", "show", "port", "st"), ["stats"])

    def test_bash(self) -> None:
        self.assertEqual(set(in_bash("")), set(COMMANDS))
        self.assertEqual(in_bash("show", "--j"), ["--json"])
        self.assertEqual(in_bash("send", "/tm"), [])

    @unittest.skipIf(shutil.which("fish") is None, "fish is not installed")
    def test_fish(self) -> None:
        with tempfile.TemporaryDirectory() as home:
            os.symlink(SLUICE, os.path.join(home, "sluice"))
            script = os.path.join(ROOT, "config/completion/sluice.fish")
            out = run("fish", "-N", "-c", f"source {script}; complete -C 'sluice show port-'", HOME=home,
                      PATH=home + ":" + os.environ["PATH"])
        self.assertEqual([line.split("\t")[0] for line in out.splitlines()], ["port-info", "port-stats", "port-xstats"])

    @unittest.skipIf(shutil.which("zsh") is None, "zsh is not installed")
    def test_zsh_reads_its_script(self) -> None:
        run("zsh", "-n", os.path.join(ROOT, "config/completion/sluice.zsh"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
