# SPDX-License-Identifier: BSD-3-Clause
"""Functions that the cases of copies_test.py share: they run `sluice cp` from A, with B as the other host."""
import os
import re
import subprocess
import sys
from collections.abc import Sequence

from ..files_cases import OK, SLUICE, SOCK_A, SOCK_B, Run, conns, parts, wait_for

RSH = f"{sys.executable} -B {os.path.join(os.path.dirname(os.path.abspath(__file__)), 'rsh.py')}"
HOST = "me@far"  # as messages name the other host
ODD = ["with blanks  in it", "new\nline", "it's \"quoted\"", "$(touch hacked)", "`touch hacked`", "a;b & c|d", "-rf",
       "~", "#x", "*", "tab\there", "back\\slash", "\udcff\udcfe"]


def home(folder: str) -> str:
    """The home directory at the far end."""
    path = os.path.join(folder, "home")
    os.makedirs(path, exist_ok=True)
    return path


def notes(folder: str) -> str:
    """The folder of what rsh.py has logged."""
    path = os.path.join(folder, "rsh-log")
    os.makedirs(path, exist_ok=True)
    return path


def environment(folder: str, fault: str = "", far_sock: str = SOCK_B, rsh: str = RSH) -> list[str]:
    """Words before a command that tell it of the remote shell, and that of what it is to do."""
    env = {"RSH_SOCKET": far_sock, "RSH_HOME": home(folder), "RSH_LOG": notes(folder), "RSH_FAULT": fault,
           "SLUICE_RSH": rsh}
    return ["env", *(f"{k}={v}" for k, v in env.items())]


def operands(args: Sequence[object]) -> list[object]:
    """The arguments, with the program of the far end unless they name it."""
    return [*([] if "--remote-path" in args else ["--remote-path", os.path.abspath(SLUICE)]), *args]


def cp(folder: str, *args: object, fault: str = "", far_sock: str = SOCK_B, near_sock: str = SOCK_A, rsh: str = RSH,
       stdin: int = subprocess.DEVNULL) -> Run:
    """Starts `sluice cp`. The remote shell comes from the environment."""
    return Run("cp", *operands(args), sock=near_sock, prefix=environment(folder, fault, far_sock, rsh), stdin=stdin)


def copy(folder: str, *args: object) -> Run:
    """A copy that must work, silently; returns it."""
    run = cp(folder, *args)
    run.expect(OK)
    assert run.err == "", run.err
    assert not parts(folder), parts(folder)
    return run


def noted(folder: str, name: str) -> str:
    """What rsh.py has logged under this name, once it is there."""
    return noted_in(notes(folder), name)


def noted_in(log: str, name: str) -> str:
    """The same, of an rsh.py that logs in another folder."""
    path = os.path.join(log, name)
    wait_for(name, lambda: os.path.exists(path))
    with open(path, encoding="utf-8") as f:
        return f.read()


def gone(pid: int) -> bool:
    """Whether the process has ended, with all its threads: until then, its files are open."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as f:
            return re.search(r"\) [ZX] ", f.read()) is not None and len(os.listdir(f"/proc/{pid}/task")) == 1
    except OSError:
        return True


def receiver_service(sock: str) -> int:
    """The service that a receiver with any free one waits on; 0: none does."""
    return next((c["service"] for c in conns(sock) if c["state"] == "waiting" and c["service"] >= 49152), 0)
