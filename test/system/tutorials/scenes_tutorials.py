# SPDX-License-Identifier: BSD-3-Clause
"""Each tutorial of doc/tutorials runs as its text has it."""
import importlib.util
import os
import shutil

from .. import ROOT
from ..harness import Context, Skip, TestbedError, need, scene
from . import tutorial
from testbed.process import Testbed

FOLDER = os.path.join(ROOT, "doc/tutorials")
# What a tutorial needs besides the programs: modules of Python and tools, and Debian's packages that have them.
TOOLS = {"container": {"bwrap": "bubblewrap"}}
MODULES = {"lab": {"matplotlib": "python3-matplotlib"}, "python": {"_cffi_backend": "python3-cffi", "numpy": "python3-numpy"}}
# A NIC needs a machine of its own: scripts/test-nic --tutorial.
ELSEWHERE = {"nic"}
# (what is wrong, the tutorial, what the error says)
WRONG = [
    ("a command that fails", "```sh\ntrue\nfalse\ntrue\n```\n", "ends with 1:"),
    ("a command that does not exist", "```sh\nsluice-none\n```\n", "ends with 127:"),
    ("a command that fails inside a pipe", "```sh\nfalse | true\n```\n", "ends with 1:"),
    ("a background command that fails", "```sh\nfalse &\nwait $!\n```\n", "ends with 1:"),
    ("output that does not come", "```sh\necho one 17 s\necho two\n```\n\n```text\none 3.5 ms\nthree\n```\n", "shows \"three\""),
    ("output in another order", "```sh\necho one\necho two\n```\n\n```text\ntwo\none\n```\n", "shows \"one\""),
    ("another address", "```sh\necho 192.0.2.1\n```\n\n```text\n192.0.2.2\n```\n", "shows \"192.0.2.2\""),
    ("commands that are not marked as such", "```\nfalse\n```\n", "line 1: the block is no"),
    ("commands inside a list", "- first\n\n  ```sh\n  false\n  ```\n", "a fence is open or stands inside a list"),
]
RIGHT = ("Save this as `a.txt`:\n\n```ini\nfirst 192.0.2.1\n```\n\n```sh\nVALUE=7\n```\n\n```sh\ncat a.txt; echo between\n"
         "echo \"some   words $VALUE\"; echo key a+b=\n```\n\n```text\nfirst 192.0.2.1\nsome words 1.5 GiB\nkey ...=\n```\n")


def _run(testbed: Testbed, context: Context, name: str) -> None:
    need(tutorial.lack())
    for module, package in MODULES.get(name, {}).items():
        if importlib.util.find_spec(module) is None:
            raise Skip(f"Python has no {module}: run scripts/setup, which installs {package}")
    for tool, package in TOOLS.get(name, {}).items():
        if shutil.which(tool) is None:
            raise Skip(f"{tool} is missing: run scripts/setup, which installs {package}")
    with open(os.path.join(FOLDER, name + ".md"), encoding="utf-8") as f:
        text = f.read()
    build = os.path.abspath(context.build.dir)
    packages = os.path.abspath(context.build.package()) if name == "python" else ""
    tutorial.run(testbed, build, text, {"PYTHONPATH": packages, "LD_LIBRARY_PATH": os.path.join(build, "lib/client")})


def _register(name: str) -> None:
    scene(f"tutorial: {name}", netns=True, company=True)(lambda testbed, context: _run(testbed, context, name))


for each in tutorial.names(FOLDER):
    if each not in ELSEWHERE:
        _register(each)


@scene("tutorials: a wrong command and another output are noticed", netns=True, company=True)
def noticed(testbed: Testbed, context: Context) -> None:
    need(tutorial.lack())
    for what, text, words in [("nothing is wrong", RIGHT, ""), *WRONG]:
        try:
            tutorial.run(testbed, context.build.dir, text, {}, 20)
            said = ""
        except TestbedError as problem:
            said = str(problem)
        if words not in said or bool(words) != bool(said):
            raise TestbedError(f"{what}: the error is \"{said}\"")
