#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs scripts/test with stand-ins for the tools that it calls: exit status and last lines must say what happened.

Usage: stages_test.py [ROOT]      TAP on standard output
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

import tap

ROOT = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(__file__), "../.."))

PASSED = "[ RUN      ] A.b\n[       OK ] A.b (0 ms)\n"
SKIPPED = "".join(f"[ RUN      ] A.{c}\n../a.cc:27: Skipped\nneeds a device\n\n[  SKIPPED ] A.{c} (0 ms)\n"
                  for c in "cd")
# Kills the shell that makes things beside: the parent is timeout(1), whose parent is that shell.
KILL_SHELL = ("import os\nwith open(f'/proc/{os.getppid()}/stat') as f:\n"
              "    os.kill(int(f.read().split()[3]), 9)\n")
GIVES_WAY = ("import os\npath = '/proc/self/autogroup'\n"
             "if os.sched_getscheduler(0) != os.SCHED_IDLE and os.getpriority(os.PRIO_PROCESS, 0) != 19:\n    exit(4)\n"
             "if os.path.exists(path) and 'nice 19' not in open(path).read():\n    exit(3)\n")
TAP_KILLED = "import os\nprint('1..1\\nok 1 - a', flush=True)\nos.kill(os.getpid(), 9)\n"
TAP_SKIPS = "print('1..2\\nok 1 - a\\nok 2 - b # SKIP needs root')\n"
TAP_ARGUMENTS = "import sys\nassert sys.argv[-2:] == ['{}', '{}']\nprint('1..1\\nok 1 - a')\n"
# A run.py of four scenes. a and b wait for each other, so they must run at once; c and d fail beside b or each other.
SCENES = """
import os, sys, time
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
from system import harness


def meet(mine, other):
    open(os.path.join(HERE, mine), "w").close()
    harness.until(lambda: os.path.exists(os.path.join(HERE, other)), 20, "the other")
    os.unlink(os.path.join(HERE, other))


@harness.scene("a", company=True)
def a(testbed, context):
    meet("a", "b")
    FIRST


def alone(*_):
    if os.path.exists(os.path.join(HERE, "beside")):
        raise harness.TestbedError("another one is there")
    with_beside()


def with_beside():
    open(os.path.join(HERE, "beside"), "w").close()
    time.sleep(0.5)
    os.unlink(os.path.join(HERE, "beside"))


harness.scene("c")(alone)


@harness.scene("b", company=True)
def b(testbed, context):
    meet("b", "a")
    with_beside()


harness.scene("d")(alone)
if "--runner" in sys.argv:
    sys.exit(harness.serve_runner(None))
sys.exit(harness.run_all([sys.executable, "-B", *sys.argv, "--runner"], 2))
"""


def meson(text: str, result: str, end: str) -> str:
    """A script in place of meson that has run one program; with --wrapper, it names its log as meson does."""
    log = json.dumps({"name": "a", "stdout": text, "result": result})
    return ("#!/bin/sh\nname=$(echo \"$*\" | sed 's/.*--logbase \\([^ ]*\\) .*/\\1/')\n"
            "wrapper=$(echo \"$*\" | sed -n 's/.*--wrapper *\\([^ ]*\\).*/\\1/p')\n"
            "[ -z \"$wrapper\" ] || name=$name-$(basename \"$wrapper\")\n"
            "mkdir -p \"$3/meson-logs\"\ncat >\"$3/meson-logs/$name.json\" <<'EOF'\n"
            f"{log}\nEOF\n{end}\n")


# A machine that can cross-build for arm64 and emulate it: what would run in the other root runs here.
HERE_AMD64 = {"dpkg": "#!/bin/sh\necho amd64\n", "id": "#!/bin/sh\necho 0\n", "mmdebstrap": "#!/bin/sh\n"}
SWARM = "#!/bin/sh\necho 1 ffffffffffffffff\n"
EMULATED = {**HERE_AMD64, "unshare": "#!/bin/bash\neval \"${@: -2:1}\"\n", "ninja": "#!/bin/sh\n",
            "qemu-aarch64-static": "#!/bin/sh\nexec \"$@\"\n", "meson": meson(PASSED, "OK", "exit 0")}
# {BUILD} stands for the build folder.
CROSS_TESTS = [{"name": "a", "suite": ["sluice:unit"], "cmd": ["{BUILD}/test/a"]},
               {"name": "b", "suite": ["sluice:unit"], "cmd": ["a_test.py", "{BUILD}/test/a"]},
               {"name": "c", "suite": ["sluice:sim", "sluice:paths"], "cmd": ["{BUILD}/test/c"]},
               {"name": "d", "suite": ["sluice:sim"], "cmd": ["{BUILD}/test/d"]}]
CROSS = {"scripts/stages/cross": "#!/bin/sh\n", "build-arm64/build.ninja": "", "build-arm64/test/sim/swarm": SWARM,
         "build-arm64/meson-info/intro-tests.json": json.dumps(CROSS_TESTS)}

# Stage, {file of bin: text}, {file of the tree: text}, exit status, regular expression of the last lines.
Case = tuple[str, dict[str, str], dict[str, str], int, str]

CASES: dict[str, Case] = {
    "all passed": ("unit", {"meson": meson(PASSED, "OK", "exit 0")}, {}, 0, r"\n1 passed, 0 failed\n$"),
    "a case failed": ("unit", {"meson": meson(PASSED + "[ RUN      ] A.e\n", "FAIL", "exit 1")}, {}, 1,
                      r"\n1 passed, 1 failed\n$"),
    "what a failed case said is shown, however much others say after it": (
        "unit", {"meson": meson("[ RUN      ] A.e\na.cc:1: Failure\nactual: 3\n[  FAILED  ] A.e (0 ms)\n" +
                                PASSED + "noise\n" * 200, "FAIL", "exit 1")}, {}, 1,
        r"\n +a.cc:1: Failure\n +actual: 3\n(.*\n)*1 passed, 1 failed\n$"),
    "what a sanitizer said of cases that passed is shown, without their names": (
        "unit", {"meson": meson("[==========] Running\nWARNING: a data race\n" + PASSED * 200, "FAIL", "exit 1")}, {}, 1,
        r"---- a \(FAIL\)\n +WARNING: a data race\n(.*\n)*200 passed, 1 failed\n$"),
    "meson test is killed between two programs": (
        "unit", {"meson": meson(PASSED, "OK", "kill -9 $$")}, {}, 1, r"\n1 passed, 1 failed\n$"),
    "meson test is killed before the first": (
        "unit", {"meson": "#!/bin/sh\nkill -9 $$\n"}, {}, 1, r"\n0 passed, 1 failed\n$"),
    "no test is in the suite": (
        "unit", {"meson": "#!/bin/sh\necho 'No suitable tests defined.'\n"}, {}, 1, r"\n0 passed, 1 failed\n$"),
    "skips say why": ("unit", {"meson": meson(PASSED + SKIPPED, "OK", "exit 0")}, {}, 0,
                      r"\nskipped in unit: needs a device \(A\.c; A\.d\)\n1 passed, 0 failed, 2 skipped\n$"),
    "a program that skips says why": (
        "unit", {"meson": meson("no device here\n", "SKIP", "exit 0")}, {}, 0,
        r"\nskipped in unit: no device here \(a\)\n0 passed, 0 failed, 1 skipped\n$"),
    "a suite beside has passed": ("sim", {"meson": meson(PASSED, "OK", "exit 0")}, {}, 0, r"\n1 passed, 0 failed\n$"),
    "a suite beside is killed between two programs": (
        "sim", {"meson": meson(PASSED, "OK", "kill -9 $$")}, {}, 1, r"\n1 passed, 1 failed\n$"),
    "the swarm is killed": (
        "swarm", {}, {"build/test/sim/swarm": "#!/bin/sh\nkill -9 $$\n"}, 1, r"\n0 passed, 1 failed\n$"),
    "the system tests are killed after the last scene": (
        "system", {}, {"test/system/run.py": TAP_KILLED}, 1, r"\n1 passed, 1 failed\n$"),
    "scenes that bear company run at once, the others alone": (
        "system", {}, {"test/system/run.py": SCENES.replace("FIRST", "pass")}, 0, r"\n4 passed, 0 failed\n$"),
    "the process of a scene is killed": (
        "system", {}, {"test/system/run.py": SCENES.replace("FIRST", "os.kill(os.getpid(), 9)")}, 1,
        r"not ok \d - a[^\n]*\n(.*\n)*3 passed, 1 failed\n$"),
    "a scene fails beside another": (
        "system", {}, {"test/system/run.py": SCENES.replace("FIRST", "raise harness.TestbedError('one\\ntwo')")}, 1,
        r"not ok \d - a[^\n]*\n +#   run.py:[^\n]*\n +#   one\n +#   two\n(.*\n)*3 passed, 1 failed\n$"),
    "a scene that hangs is ended, says where it stood, and the others run": (
        "system", {},
        {"test/system/run.py": SCENES.replace("FIRST", "time.sleep(999)").replace("], 2", "], 2, limit_s=2")}, 1,
        r"File \"[^\n]*run.py\", line \d+ in a\n(.*\n)*.*not ok \d - a[^\n]*\n +#   does not end within 2 s[^\n]*\n"
        r"(.*\n)*3 passed, 1 failed\n$"),
    "scenes that skip say why": (
        "system", {}, {"test/system/run.py": TAP_SKIPS}, 0,
        r"\nskipped in system: needs root \(b\)\n1 passed, 0 failed, 1 skipped\n$"),
    "what is made beside is killed": (
        "tidy", {}, {"scripts/stages/tidy.py": KILL_SHELL}, 1, r"\n0 passed, 1 failed\n$"),
    "what is made beside gives way to all sessions": (
        "tidy", {}, {"scripts/stages/tidy.py": GIVES_WAY}, 0, r"\n1 passed, 0 failed\n$"),
    "a test that runs beside gives way to all sessions": (
        "sim", {"meson": meson(PASSED, "OK", "case \"$*\" in *--wrapper*/background*) exit 0 ;; esac; exit 1")}, {}, 0,
        r"\n1 passed, 0 failed\n$"),
    "install takes one Debian, and only Debian 12 makes the image": (
        "install:trixie", {}, {"test/install/packages_test.py": TAP_ARGUMENTS.format("--suite", "trixie")}, 0, r"\n1 passed, 0 failed\n$"),
    "a mirror without arm64 is said": (
        "arm64", HERE_AMD64, {"scripts/stages/cross": "#!/bin/sh\necho making\necho 'the mirror has no arm64'\nexit 77\n"}, 0,
        r"\nskipped in arm64: the mirror has no arm64 \(all of it\)\n0 passed, 0 failed, 1 skipped\n$"),
    "on arm64, programs run, and what does not run is said": (
        "arm64", EMULATED, {**CROSS, "build/test/sim/swarm": SWARM}, 0,
        r"\nskipped in arm64: is a script[^\n]* \(b\)\nskipped in arm64: repeats at scale[^\n]* \(c; Atm.*\)\n(skipped in arm64: [^\n]*\n)+5 passed, 0 failed, 10 skipped\n$"),
    "another world on arm64 is a failure": (
        "arm64", EMULATED, {**CROSS, "build/test/sim/swarm": SWARM.replace("f", "e")}, 1, r"\n4 passed, 1 failed, 10 skipped\n$"),
    "what is made beside fails": ("tidy", {}, {"scripts/stages/tidy.py": "exit(3)\n"}, 1, r"\n0 passed, 1 failed\n$"),
}


def write(path: str, text: str, mode: int = 0o644) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    os.chmod(path, mode)


def run(folder: str, stage: str, tools: dict[str, str], files: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Runs one stage of scripts/test in folder, with tools first in PATH."""
    for name in ("scripts/test", "scripts/lib.sh", "scripts/stages/background", "scripts/stages/cases.py",
                 "scripts/stages/cross_tests.py",
                 *(f"scripts/python/testbed/{x}.py" for x in ("__init__", "daemon", "manager", "net", "process", "service")),
                 *(f"test/system/{x}.py" for x in ("__init__", "harness", "runners")), "test/house/tap.py"):
        target = os.path.join(folder, name)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        shutil.copy(os.path.join(ROOT, name), target)
    with open(os.path.join(folder, "scripts/lib.sh"), "a", encoding="utf-8") as f:
        f.write("hugepages_want() { false; }\n")  # leaves the machine's hugepages alone
    write(os.path.join(folder, "build/build.ninja"), "")
    for name, text in tools.items():
        write(os.path.join(folder, "bin", name), text, 0o755)
    for name, text in files.items():
        write(os.path.join(folder, name), text.replace("{BUILD}", os.path.join(folder, "build-arm64")), 0o755)
    path = os.path.join(folder, "bin") + os.pathsep + os.environ["PATH"]
    scratch = os.path.join(folder, "tmp")  # a killed stage leaves a folder there
    os.mkdir(scratch)
    return subprocess.run([os.path.join(folder, "scripts/test"), stage],
                          env={**os.environ, "PATH": path, "TMPDIR": scratch},
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=60, start_new_session=True, check=False)


def main() -> int:
    report = tap.Report(len(CASES))
    for what, (stage, tools, files, status, last) in CASES.items():
        with tempfile.TemporaryDirectory(prefix="sluice-stages-test.") as folder:
            done = run(folder, stage, tools, files)
        if done.returncode == status and re.search(last, done.stdout) is not None:
            report.ok(what)
        else:
            report.fail(what, [f"expected status {status} and last lines {last!r}; the status is {done.returncode}, the output:",
                               *done.stdout.splitlines()[-20:]])
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
