# SPDX-License-Identifier: BSD-3-Clause
"""man_example.py PAGE PROGRAM: checks that the example in the man page is the program that is compiled."""
import difflib
import sys

page = open(sys.argv[1], encoding="utf-8").read()
program = open(sys.argv[2], encoding="utf-8").read().splitlines()[2:]
text = page.split(".Sh EXAMPLES", 1)[1].split(".Bd -literal\n", 1)[1].split(".Ed", 1)[0]
shown = [line.removeprefix("\\&").replace("\\e", "\\") for line in text.splitlines()]
for line in difflib.unified_diff(program, shown, sys.argv[2], sys.argv[1], lineterm=""):
    print(line)
sys.exit(program != shown)
