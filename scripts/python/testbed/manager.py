# SPDX-License-Identifier: BSD-3-Clause
"""systemd as the first process of namespaces of its own, so that tests can start programs by their units and
under their units' limits on a machine where systemd does not run, or must not be touched.

run() starts it and runs a command as one of its services. In there, /run is empty, control groups are a
branch of this machine's, and the user sluice exists. Nothing of it outlives the command: the kernel ends all
processes of a process namespace with its first one.

Needs root, and a kernel that allows namespaces. lack() says what is missing.
"""
import glob
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from typing import NoReturn

SYSTEMD = "/lib/systemd/systemd"
TREE = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", ".."))
GROUPS = "/sys/fs/cgroup"
MARK = "SLUICE_MANAGER"  # in the environment of what runs under the manager
SERVICE = "command.service"
# What services depend on by default. Ours need nothing of what these start on a machine.
TARGETS = ("sysinit", "basic", "shutdown", "network", "local-fs", "multi-user")
UNITS = "/run/systemd/system"
USER, USER_ID = "sluice", 64123


def lack() -> str | None:
    """What this machine lacks, or None."""
    if os.geteuid() != 0:
        return "needs root: systemd starts in namespaces of its own"
    if not os.access(SYSTEMD, os.X_OK):
        return f"no {SYSTEMD} here; scripts/setup installs it"
    done = subprocess.run(["unshare", "--pid", "--mount", "--cgroup", "--fork", "--mount-proc", "true"],
                          capture_output=True, text=True, check=False)
    return f"no namespaces: {done.stderr.strip()}" if done.returncode != 0 else None


def inside() -> bool:
    """Whether this process runs under such a manager."""
    return MARK in os.environ


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


def _branches(name: str) -> list[tuple[str, str]]:
    """(hierarchy of control groups, its branch of this name): one of version 2, or each of version 1."""
    single = os.path.exists(os.path.join(GROUPS, "cgroup.procs"))
    tops = [GROUPS] if single else [p for p in glob.glob(GROUPS + "/*") if os.path.exists(p + "/cgroup.procs")]
    return [(top, os.path.join(top, name)) for top in tops]


def _mount(*args: str) -> None:
    subprocess.run(["mount", *args], check=True)


def _unified(folder: str) -> list[tuple[str, str]]:
    """Mounts control groups of version 2, which every kernel has, in a folder; what _branches() returns, for these. From
    release 258 on, systemd knows no others, and this machine's may be of version 1."""
    top = os.path.join(folder, "groups")
    os.mkdir(top)
    _mount("-t", "cgroup2", "cgroup2", top)
    return [(GROUPS, os.path.join(top, os.path.basename(folder)))]


def _remove_branch(path: str) -> None:
    for folder, _, _ in os.walk(path, topdown=False):
        try:
            os.rmdir(folder)
        except OSError as problem:
            print(f"{folder}: {problem}", file=sys.stderr)


def run(command: Sequence[str], root: str | None = None) -> int:
    """Runs the command as a service; its output comes here. Returns its exit status. root: the root of another
    system, which has Python; it then sees the folder of this source tree under the same name, and its own units."""
    folder = tempfile.mkdtemp(prefix="sluice-manager.")
    branches = _branches(os.path.basename(folder)) if root is None else _unified(folder)
    fifo = os.path.join(folder, "output")
    os.mkfifo(fifo)
    # A writer of its own keeps the FIFO open while no process of the service has it.
    reader, writer = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK), os.open(fifo, os.O_WRONLY)
    os.set_blocking(reader, True)
    _write(os.path.join(folder, "state.json"), json.dumps(
        {"command": list(command), "cwd": os.getcwd() if root is None else "/", "env": {**os.environ, MARK: folder}, "output": fifo,
         "branches": branches, "root": root}))
    copying = threading.Thread(target=_copy, args=(reader,))
    copying.start()
    child = None
    try:
        for _, branch in branches:
            os.mkdir(branch)
        child = subprocess.Popen(["setpriv", "--pdeathsig", "KILL", sys.executable, "-B", os.path.abspath(__file__), "enter", folder],
                                 stdin=subprocess.DEVNULL, start_new_session=True)
        return child.wait()
    finally:
        if child is not None and child.poll() is None:
            child.send_signal(signal.SIGKILL)  # --kill-child: the first process goes, and all others with it
            child.wait()
        os.close(writer)
        copying.join()
        for _, branch in branches:
            _remove_branch(branch)
        if root is not None:
            subprocess.run(["umount", os.path.join(folder, "groups")], check=True)
        shutil.rmtree(folder, ignore_errors=True)


def _copy(reader: int) -> None:
    with os.fdopen(reader, "rb", buffering=0) as output:
        while data := output.read(65536):
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()


# ---- in the namespaces ---------------------------------------------------------------------------


def _enter(folder: str) -> NoReturn:
    """Joins the branches of control groups, and becomes unshare, whose child becomes systemd."""
    with open(os.path.join(folder, "state.json"), encoding="utf-8") as f:
        state = json.load(f)
    for _, branch in state["branches"]:
        if os.path.exists(branch + "/cpuset.cpus"):  # version 1: a new branch has no processors and no memory
            for name in ("cpuset.cpus", "cpuset.mems"):
                with open(os.path.join(os.path.dirname(branch), name), encoding="ascii") as f:
                    _write(os.path.join(branch, name), f.read())
        _write(branch + "/cgroup.procs", str(os.getpid()))
    os.execvp("unshare", ["unshare", "--pid", "--mount", "--cgroup", "--fork", "--kill-child", "--mount-proc",
                          "--propagation", "private", sys.executable, "-B", os.path.abspath(__file__), "boot", folder])


def _add_user(folder: str) -> None:
    """Binds files with our user over those of the machine, which may have that user with another number."""
    lines = {"passwd": f"{USER}:x:{USER_ID}:{USER_ID}::/nonexistent:/usr/sbin/nologin\n", "group": f"{USER}:x:{USER_ID}:\n"}
    for name, line in lines.items():
        with open(f"/etc/{name}", encoding="utf-8") as f:
            others = [x for x in f if not x.startswith(f"{USER}:")]
        copy = os.path.join(folder, name)
        _write(copy, "".join([*others, line]))
        os.chmod(copy, 0o644)
        _mount("--bind", copy, f"/etc/{name}")


def _into(root: str, folder: str) -> None:
    """Makes root the root of these namespaces. A chroot would not do: systemd could then not make the mount
    namespaces of its services."""
    _mount("--rbind", root, root)
    for path in ("/dev", "/proc", "/sys", TREE, folder):
        os.makedirs(root + path, exist_ok=True)
        _mount("--rbind", path, root + path)
    subprocess.run(["pivot_root", root, root + "/srv"], check=True)
    os.chdir("/")
    subprocess.run(["umount", "--lazy", "/srv"], check=True)


def _boot(folder: str) -> NoReturn:
    """The first process: makes what systemd needs, and becomes it."""
    with open(os.path.join(folder, "state.json"), encoding="utf-8") as f:
        state = json.load(f)
    for top, branch in state["branches"]:
        if state["root"] is None:
            _mount("--bind", branch, top)
    units = UNITS
    if state["root"] is not None:
        _into(state["root"], folder)
        _mount("-t", "cgroup2", "cgroup2", GROUPS)
        units += ":/etc/systemd/system:/usr/local/lib/systemd/system:/usr/lib/systemd/system:/lib/systemd/system"
    _mount("-t", "tmpfs", "-o", "mode=755", "tmpfs", "/run")
    if state["root"] is None:
        _mount("-t", "bpf", "bpf", "/sys/fs/bpf")
        _add_user(folder)
    os.makedirs(UNITS)
    for target in TARGETS:
        _write(f"{UNITS}/{target}.target", "[Unit]\nDefaultDependencies=no\n")
    _write(f"{UNITS}/{SERVICE}", f"""\
[Unit]
SuccessAction=exit-force
FailureAction=exit-force
[Service]
Type=exec
ExecStart={sys.executable} -B {os.path.abspath(__file__)} command {folder}
TimeoutStopSec=60
LimitNOFILE=1048576
LimitMEMLOCK=infinity
""")
    os.execve(SYSTEMD, [SYSTEMD, "--system", f"--unit={SERVICE}", "--show-status=no", "--log-target=null"],
              {"container": "sluice", "SYSTEMD_UNIT_PATH": units, "PATH": os.environ["PATH"]})


def _command(folder: str) -> NoReturn:
    """The service: becomes the command."""
    with open(os.path.join(folder, "state.json"), encoding="utf-8") as f:
        state = json.load(f)
    output = os.open(state["output"], os.O_WRONLY)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.chdir(state["cwd"])
    for name in ("NOTIFY_SOCKET", "INVOCATION_ID", "JOURNAL_STREAM"):
        os.environ.pop(name, None)
    os.execvpe(state["command"][0], state["command"], {**state["env"], "TMPDIR": "/run"})


if __name__ == "__main__":
    {"enter": _enter, "boot": _boot, "command": _command}[sys.argv[1]](sys.argv[2])
