# SPDX-License-Identifier: BSD-3-Clause
"""tshark with a dissector's script. Since version 4.4, tshark silently runs no script for root, so it runs as
nobody then."""
import glob
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

TIMEOUT_S = 900  # it may get a core only while nothing else needs one


class _Ready(NamedTuple):
    """What tshark is started with. command: without a capture."""
    command: list[str]
    files: list[str]
    options: dict[str, Any]


def there() -> bool:
    return shutil.which("tshark") is not None


@contextmanager
def _ready(script: str, *files: str) -> Iterator[_Ready]:
    """For root, tshark gets copies of the files and of the scripts in the script's folder, which nobody may read."""
    root = os.geteuid() == 0  # nobody may not enter root's own temporary folder
    with tempfile.TemporaryDirectory(prefix="sluice-tshark-", dir="/tmp" if root else None) as folder:
        user: dict[str, Any] = {}
        script, found = os.path.abspath(script), [os.path.abspath(f) for f in files]

        def copied(path: str) -> str:
            copy = shutil.copyfile(path, os.path.join(folder, os.path.basename(path)))
            os.chmod(copy, 0o644)
            return copy

        if root:
            os.chmod(folder, 0o755)
            for beside in glob.glob(os.path.join(os.path.dirname(script), "*.lua")):
                copied(beside)
            script, found = copied(script), [copied(f) for f in found]
            nobody = pwd.getpwnam("nobody")
            user = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
        yield _Ready(["tshark", "-n", "-X", f"lua_script:{script}"], found,
                     {"env": {**os.environ, "HOME": folder}, "cwd": folder, **user})


def _with_log(key_log: str) -> list[str]:
    return ["-o", f"sluice.key_log_file:{key_log}"]


def run(script: str, capture: str, *args: str, key_log: str | None = None) -> subprocess.CompletedProcess[str]:
    """The ended process, with its output. key_log: of a daemon, for the dissector."""
    with _ready(script, capture, *([key_log] if key_log is not None else [])) as ready:
        log = _with_log(ready.files[1]) if key_log is not None else []
        return subprocess.run([*ready.command, *log, "-r", ready.files[0], *args], capture_output=True,
                              text=True, timeout=TIMEOUT_S, check=False, **ready.options)


@contextmanager
def live(script: str, key_log: str, *args: str) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """tshark that reads a capture from its standard input, and the path of the key log that it reads, which may
    grow."""
    with _ready(script, key_log) as ready:
        process = subprocess.Popen([*ready.command, *_with_log(ready.files[0]), "-l", "-r", "-", *args],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                   **ready.options)
        try:
            yield process, ready.files[0]
        finally:
            process.kill()
            process.communicate()
