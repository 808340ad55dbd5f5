#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs test/install/packages_test.py with stand-ins for the tools that it calls: it mounts parts of this machine, and
must remove nothing of them, however it ends.

Usage: install_test.py      TAP on standard output

Needs root. Instead of /proc and /dev, a folder of this test is mounted.
"""
import os
import shutil
import subprocess
import sys
import tempfile

import tap

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
sys.path.insert(0, os.path.join(ROOT, "scripts/python"))
from testbed import manager  # noqa: E402

TOOLS = {
    "meson": "echo '[{\"name\": \"prefix\", \"value\": \"/usr\"}]'\n",
    "dh": "",
    "dpkg-query": "",
    # The last thing to be mounted; then END comes.
    "mount": "case $* in\n"
             "*overlay*) ;;\n"
             "--rbind*) mkdir -p \"$3\" && /usr/bin/mount --bind \"$VICTIM\" \"$3\" || exit 1 ;;\n"
             "*) exec /usr/bin/mount \"$@\" ;;\n"
             "esac\n"
             "case $* in\n"
             "*/dev*) touch \"$VICTIM/mounted\"; eval \"$END\" ;;\n"
             "esac\n",
    "umount": "exit 1\n",
}
# How it ends, and by what.
CASES = (("packages that are missing, and a mount that stays", ":"),
         ("an interrupt", "kill -INT $PPID; exec sleep 10"),
         ("a signal to end", "kill -TERM $PPID; exec sleep 10"),
         ("a signal to end that its parent gets", 'kill -TERM $(cut -d" " -f4 /proc/$PPID/stat); exec sleep 10'),
         ("SIGKILL", "kill -KILL $PPID"))


def put(path: str, text: str) -> None:
    """A script for the shell."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        f.write("#!/bin/sh\n" + text)
    os.chmod(path, 0o755)


def judge(folder: str, end: str) -> list[str]:
    """Returns what is wrong."""
    tree, victim, temporary = (os.path.join(folder, name) for name in ("tree", "victim", "temporary"))
    for path in (f"{tree}/test/install", f"{tree}/scripts", victim, temporary):
        os.makedirs(path)
    shutil.copy(f"{ROOT}/test/install/packages_test.py", f"{tree}/test/install")
    for path in ("scripts/python", "test/house"):
        os.symlink(f"{ROOT}/{path}", f"{tree}/{path}")
    put(f"{tree}/scripts/package", "")
    for name, text in TOOLS.items():
        put(f"{folder}/tools/{name}", text)
    with open(f"{victim}/file", "w", encoding="utf-8") as f:
        f.write("of this machine")
    done = subprocess.run([sys.executable, "-B", f"{tree}/test/install/packages_test.py", "--build", folder], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, timeout=50,
                          env={**os.environ, "PATH": f"{folder}/tools:{os.environ['PATH']}", "TMPDIR": temporary, "VICTIM": victim,
                               "END": end})
    wrong = []
    if not os.path.exists(f"{victim}/file"):
        wrong.append("it removes what is mounted")
    elif not os.path.exists(f"{victim}/mounted"):
        wrong.append("it has mounted nothing")
    if os.listdir(temporary):
        wrong.append(f"it leaves {os.listdir(temporary)}")
    if done.returncode == 0:
        wrong.append("it says that all is well")
    return wrong + done.stdout.splitlines() if wrong else []


def main() -> int:
    why = manager.lack() or ("Sluice is configured on this machine" if os.path.exists("/etc/sluice") else None)
    if why is not None:
        return tap.skip_program("packages", why)
    report = tap.Report()
    for name, end in CASES:
        with tempfile.TemporaryDirectory(prefix="sluice-install-test.") as folder:
            report.case(name, judge(folder, end))
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
