#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Debian packages in clean roots: they install by one command, run as a service for the users of its group, and
leave nothing when they are purged.

Usage: packages_test.py [--suite SUITE]... [--packages DIR]
       packages_test.py --build BUILD

SUITE: of Debian (bookworm, trixie and sid); DIR/SUITE has its packages, or gets them (scripts/package --suite)
BUILD: a build folder with the prefix /usr. Its packages are made of what it has built, and installed on a copy of
       this machine's files (an overlay), which needs no mirror: less than a minute

Prints TAP. Needs root, and for clean roots mmdebstrap and a mirror of Debian. A suite that the mirror does not
serve is skipped.
"""
import argparse
import glob
import json
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator

sys.dont_write_bytecode = True
TREE = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
sys.path[:0] = [os.path.join(TREE, "scripts/python"), os.path.join(TREE, "test/house")]
import tap  # noqa: E402
from testbed import manager, service  # noqa: E402
from testbed.process import TestbedError, until  # noqa: E402

SAID = "/var/log/sluiced.err"
SUITES = ("bookworm", "trixie", "sid")
NOT_SERVED = 77  # exit status of scripts/stages/root and scripts/package
MOUNTED = "SLUICE_INSTALL_MOUNTED"  # the folder, in the environment of the process that has mounts of its own in there
POLICY = "/usr/sbin/policy-rc.d"  # tells scripts of packages that they must start nothing
ENDED = 100  # exit status of the cases in a root that all passed; more by one for each that failed
ALICE = "/opt/alice"  # a home, where purge() does not look
DATA = "/opt/data"  # everybody may read it
OURS = ("sluice", "sluiced", "libsluice0", "libsluice-dev", "python3-sluice", "sluice-lab", "wireshark-sluice")
# What dpkg, apt and systemd keep for themselves, and what any program may write.
THEIRS = ("/var/lib/dpkg/", "/var/lib/apt/", "/var/cache/", "/var/log/", "/run/", "/proc/", "/sys/", "/dev/", "/tmp/",
          "/etc/ld.so.cache", "/usr/share/man/", "/etc/.updated", "/var/.updated",
          f"{os.path.expanduser('~root')}/.ssh")  # by tmpfiles.d/provision.conf of systemd, if it was missing
CONFIG = """\
[daemon]
socket = /run/{folder}/sluiced.sock
socket_group = sluice
idle = sleep
eal = --lcores 0@{cpu},1@{worker} --no-huge --no-shconf -m 256 --file-prefix {folder}

[port net_memif0]
vdev = net_memif0,role={role},id=0,socket-abstract=no,socket=/run/sluice/memif.sock,bsize=9216
address = 10.90.0.{number}/24
"""


def sh(*words: str, status: int | None = 0, timeout_s: float = 600) -> str:
    """Runs a command; returns what it says. status None: any."""
    done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False, timeout=timeout_s, env={**os.environ, "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8"})
    if status is not None and done.returncode != status:
        raise AssertionError(f"{' '.join(words)}: status {done.returncode}, not {status}\n{done.stdout[-3000:]}")
    return done.stdout


class Skip(Exception):
    """A case that cannot be judged here, and why."""


def of_mirror(*words: str, timeout_s: float = 600) -> None:
    """Runs a script that needs a mirror of Debian."""
    done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                          timeout=timeout_s)
    if done.returncode == NOT_SERVED:
        raise Skip(done.stdout.rstrip("\n").rpartition("\n")[2])
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(words)}: status {done.returncode}\n{done.stdout[-3000:]}")


class Cases:
    """Steps that build on each other, as cases from number first + 1 on."""

    def __init__(self, first: int = 0) -> None:
        self.report = tap.Report(first=first)

    def run(self, name: str, function: Callable[[], object]) -> bool:
        start = time.monotonic()
        try:
            function()
        except Skip as why:
            self.report.skip(name, str(why))
            return False
        except (AssertionError, TestbedError, subprocess.TimeoutExpired, OSError) as problem:
            self.report.fail(name, [str(problem)])
            return False
        self.report.ok(f"{name} ({time.monotonic() - start:.1f} s)")
        return True


# ---- within the root, under its systemd ----------------------------------------------------------


def _put(path: str, text: str) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


def _as(user: str, *words: str) -> tuple[str, ...]:
    return ("setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups", *words)


def said() -> str:
    """What the daemons said."""
    with open(SAID, encoding="utf-8") as f:
        return f.read()


def is_this_version() -> None:
    """The command and the daemon, of the version of their packages."""
    for name, option in (("sluice", "--version"), ("sluiced", "--version")):
        version = sh("dpkg-query", "--show", "--showformat=${Version}", name)
        words = sh(name, option).replace(",", " ").split()
        if version not in words:
            raise AssertionError(f"{name} {option} says {' '.join(words)}, but the package has version {version}")


def units_are_right() -> None:
    wrong = sh("systemd-analyze", "verify", "--man=no", "sluiced.service", "sluice-exporter.service")
    if "sluice" in wrong:  # it speaks of the units of others as well
        raise AssertionError(wrong)


def starts_by_its_unit() -> None:
    """The daemon, and a second one by a unit that differs in names only."""
    lines = ["[Service]", f"StandardError=append:{SAID}", *service.locked_memory_lines()]
    _put("/etc/systemd/system/sluiced.service.d/said.conf", "".join(line + "\n" for line in lines))
    sh("systemctl", "daemon-reload")
    sh("systemctl", "start", "sluiced", status=1)
    if "/etc/sluice/sluiced.conf" not in said():
        raise AssertionError(f"it does not say that it has no configuration: {said()}")
    cpus = sorted(os.sched_getaffinity(0))
    for number, (folder, file, role) in enumerate((("sluice", "sluiced", "server"), ("other", "other", "client")), 1):
        _put(f"/etc/sluice/{file}.conf", CONFIG.format(folder=folder, role=role, number=number, cpu=cpus[number % len(cpus)],
                                                    worker=cpus[(number + 1) % len(cpus)]))
    unit = sh("systemctl", "cat", "sluiced")
    unit = re.sub(r"^#.*\n", "", unit, flags=re.MULTILINE).replace("sluiced.conf", "other.conf")
    _put("/etc/systemd/system/other.service", unit.replace("RuntimeDirectory=sluice", "RuntimeDirectory=other"))
    sh("systemctl", "daemon-reload")
    for name in ("sluiced", "other"):
        sh("systemctl", "reset-failed", name, status=None)
        try:
            sh("systemctl", "start", name)
        except AssertionError as problem:
            raise AssertionError(f"{problem}{said()}") from None
        pid = sh("systemctl", "show", "-P", "MainPID", name).strip()
        if os.stat(f"/proc/{pid}").st_uid == 0:
            raise AssertionError(f"{name} runs as root")


def group_decides() -> None:
    """A member of the group sends and receives; another user learns why it may not."""
    for user in ("alice", "mallory"):
        sh("useradd", "--create-home", "--home-dir", f"{os.path.dirname(ALICE)}/{user}", user)
    sh("usermod", "-aG", "sluice", "alice")
    _put(DATA, "x" * 3_000_000)
    sh(*_as("alice", "mkdir", f"{ALICE}/in"))
    receiver = subprocess.Popen(_as("alice", "sluice", "recv", "--once", "-o", f"{ALICE}/in", "--socket", "/run/other/sluiced.sock"))
    show = ("sluice", "show", "conns", "--json", "--socket", "/run/other/sluiced.sock")
    until(lambda: '"waiting"' in sh(*show, status=None), 30, "the receiver waits", 0.05)
    refused = sh(*_as("mallory", "sluice", "send", DATA, "10.90.0.2", "--socket", "/run/sluice/sluiced.sock"), status=3)
    if "socket_group" not in refused:
        raise AssertionError(f"mallory does not learn why: {refused}")
    sh(*_as("alice", "sluice", "send", DATA, "10.90.0.2", "--socket", "/run/sluice/sluiced.sock"))
    if receiver.wait(60) != 0:
        raise AssertionError(f"the receiver ends with status {receiver.returncode}")
    sh("cmp", DATA, f"{ALICE}/in/data")
    sh(*_as("alice", "/usr/bin/python3", "-c", "import sluice; sluice.Session('/run/other/sluiced.sock').close()"))


def is_stopped_by_removal() -> None:
    sh("systemctl", "stop", "other")
    sh("apt-get", "remove", "-y", "sluiced")
    state = sh("systemctl", "is-active", "sluiced", status=None).strip()
    if state == "active":
        raise AssertionError("the daemon still runs after its package was removed")


INSIDE = (("command and daemon have the version of their packages", is_this_version),
          ("systemd finds nothing wrong with the installed units", units_are_right),
          ("the installed unit starts the daemon, which is not root", starts_by_its_unit),
          ("a user in group sluice sends a file, another one is told why not", group_decides),
          ("removal stops the daemon", is_stopped_by_removal))


def inside(first: int) -> int:
    cases = Cases(first)
    for name, function in INSIDE:
        if not cases.run(name, function):
            break
    return ENDED + cases.report.failed


# ---- outside -------------------------------------------------------------------------------------


def _paths(root: str) -> Iterator[str]:
    for folder, folders, files in os.walk(root):
        for name in folders + files:
            path = os.path.join(folder, name)[len(root):]
            if not (path + "/").startswith(THEIRS) and not path.startswith(THEIRS):
                yield path


class Root:
    """A clean Debian."""

    def __init__(self, path: str, suite: str, packages: str) -> None:
        self.path, self.suite, self.packages = path, suite, packages
        self.debs: list[str] = []
        self.before: set[str] = set()

    def apt(self, *words: str) -> str:
        return sh("chroot", self.path, "apt-get", *words)

    def make(self) -> None:
        # In sid, systemd does not bring mount(8) along, which testbed/manager.py uses.
        of_mirror(os.path.join(TREE, "scripts/stages/root"), self.suite, self.path, "--variant=apt", "--include=systemd,passwd,mount",
                  timeout_s=1800)
        self.take_packages()
        self.apt("update")
        fields = [sh("dpkg-deb", "-f", deb, field) for deb in self.debs for field in ("Depends", "Pre-Depends")]
        wanted = {one.strip() for field in fields for one in field.split(",")} - {""}
        self.apt("satisfy", "-y", "--no-install-recommends", *sorted(d for d in wanted if d.split(" ")[0] not in OURS))
        self.before = self.found()

    def take_packages(self) -> None:
        """Copies them to /packages in there, where they must not start anything; systemd does that later."""
        self.debs = [p for name in OURS for p in glob.glob(f"{self.packages}/{name}_*.deb")]
        if len(self.debs) != len(OURS):
            raise AssertionError(f"{len(self.debs)} packages instead of {len(OURS)}: {self.debs}")
        _put(self.path + POLICY, "#!/bin/sh\nexit 101\n")
        os.chmod(self.path + POLICY, 0o755)
        os.mkdir(f"{self.path}/packages")
        for deb in self.debs:
            shutil.copy(deb, f"{self.path}/packages")

    def found(self) -> set[str]:
        return set(_paths(self.path))

    def install(self) -> None:
        """One command, as a user gives it."""
        self.apt("install", "-y", "--no-install-recommends", *(f"/packages/{os.path.basename(d)}" for d in self.debs))

    def run_inside(self, first: int) -> int:
        """Returns how many failed: all, if systemd did not come so far as to run them."""
        os.unlink(self.path + POLICY)
        status = manager.run(["/usr/bin/python3", "-B", os.path.abspath(__file__), "--inside", str(first)], self.path)
        if status < ENDED:
            print(f"# systemd ended with status {status} before the cases did", flush=True)
        return status - ENDED if status >= ENDED else len(INSIDE)

    def purge(self) -> None:
        self.apt("purge", "-y", *OURS)
        for made in ("/etc/sluice", "/etc/systemd/system/other.service", "/etc/systemd/system/sluiced.service.d"):  # by the test
            sh("rm", "-rf", self.path + made)
        left = {p for p in self.found() - self.before if not p.startswith(("/opt", "/var/mail", "/var/spool/mail"))}
        left -= {f"/etc/{name}-" for name in ("passwd", "group", "shadow", "gshadow", "subuid", "subgid")} | {"/etc/.pwd.lock", POLICY}
        left = {p for p in left if not (TREE + "/").startswith(p + "/")}  # where the tree was mounted
        if left:
            raise AssertionError(f"left behind: {sorted(left)[:20]}")


class Overlay(Root):
    """This machine's files. What is written goes to a file system in memory."""

    def make(self) -> None:
        if os.path.exists("/etc/sluice") or "install ok" in sh("dpkg-query", "--show", "--showformat=${Status} ", *OURS, status=None):
            raise Skip("Sluice is installed, or configured, on this machine")
        layer = os.path.dirname(self.path)
        sh("mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", layer)
        for name in ("new", "work", os.path.basename(self.path)):
            os.mkdir(os.path.join(layer, name))
        sh("mount", "-t", "overlay", "-o", f"lowerdir=/,upperdir={layer}/new,workdir={layer}/work", "overlay", self.path)
        for folder in ("proc", "dev"):
            sh("mount", "--rbind", f"/{folder}", f"{self.path}/{folder}")
        self.take_packages()
        self.before = self.found()

    def found(self) -> set[str]:
        """What this machine does not have, and what of its files was removed."""
        layer = os.path.join(os.path.dirname(self.path), "new")

        def differs(path: str) -> bool:
            mode = os.lstat(layer + path).st_mode
            return stat.S_ISCHR(mode) or not os.path.lexists(path)  # the layer has a device where a file was removed

        return {path for path in _paths(layer) if differs(path)}

    def install(self) -> None:
        """Without a network: what the packages need is here, as it is needed to build and test them."""
        sh("chroot", self.path, "dpkg", "--install", *(f"/packages/{os.path.basename(d)}" for d in self.debs))


def are_built(folder: str) -> bool:
    """Whether the folder has our packages."""
    return all(glob.glob(f"{folder}/{name}_*.deb") for name in OURS)


def build(folder: str, suite: str) -> None:
    """The build of the packages takes no warning for an error, but here it is one."""
    of_mirror(os.path.join(TREE, "scripts/package"), "--out", folder, "--suite", suite, timeout_s=7200)
    for path in glob.glob(f"{folder}/*.build"):
        with open(path, encoding="utf-8") as f:
            warnings = [line for line in f if re.match(r"\S+:\d+:\d+: warning: ", line)]
        if warnings:
            raise AssertionError("".join(warnings))


def judge(cases: Cases, root: Root, what: str) -> None:
    """The packages of a root, which has been neither made nor filled."""
    if not cases.run(what, root.make) or not cases.run(f"{root.suite}: one command installs them", root.install):
        return
    failed = root.run_inside(cases.report.count)
    cases.report.count_others(len(INSIDE) - failed, failed)
    cases.run(f"{root.suite}: purge leaves nothing behind", root.purge)


def judge_suite(cases: Cases, suite: str, packages: str) -> None:
    folder = tempfile.mkdtemp(prefix="sluice-install.")
    try:
        if are_built(packages) or cases.run(f"{suite}: the packages are built in a clean root", lambda: build(packages, suite)):
            judge(cases, Root(os.path.join(folder, "root"), suite, packages), f"{suite}: a clean root with what the packages need")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def judge_build(cases: Cases, made: str, folder: str) -> None:
    """The mounts are this process's own, and end with it."""
    layer, packages = os.path.join(folder, "layer"), os.path.join(folder, "packages")
    os.mkdir(layer)
    if cases.run("the packages are made of a build", lambda: sh(os.path.join(TREE, "scripts/package"), "--out", packages, "--build", made)):
        judge(cases, Overlay(os.path.join(layer, "root"), "here", packages), "here: an overlay on this machine's files")


def with_mounts() -> int:
    """Runs this program in a process that has mounts of its own in a folder, among them this machine's /dev. Only we
    remove the folder: for us nothing is mounted there, however that process ends, and whatever it leaves running."""
    with tempfile.TemporaryDirectory(prefix="sluice-install.") as folder:
        child = subprocess.Popen(["setpriv", "--pdeathsig", "TERM", "unshare", "--mount", "--propagation", "private", sys.executable, "-B",
                                  *sys.argv], env={**os.environ, MOUNTED: folder})
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # it gets the terminal's, too, and ends
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda *_: child.terminate())
        return child.wait()


def prefix_lack(made: str) -> str | None:
    """What is wrong with the prefix of this build, or None."""
    options = json.loads(sh("meson", "introspect", "--buildoptions", made))
    (prefix,) = (option["value"] for option in options if option["name"] == "prefix")
    return None if prefix == "/usr" else f"{made} has the prefix {prefix}, not /usr as the packages; remove it, and scripts/test makes it anew"


def lack(made: str | None) -> str | None:
    """What this machine lacks, or None."""
    if made is None and shutil.which("mmdebstrap") is None:
        return "no mmdebstrap here; as root: apt-get install mmdebstrap"
    if made is not None and shutil.which("dh") is None:
        return "no debhelper here; scripts/setup installs it"
    return manager.lack() or (None if made is None else prefix_lack(made))


def main() -> int:
    parser = argparse.ArgumentParser(description="Debian packages in clean roots.")
    parser.add_argument("--suite", action="append", metavar="SUITE", help=f"of Debian ({', '.join(SUITES)})")
    parser.add_argument("--packages", metavar="DIR", help="DIR/SUITE has the packages, or gets them")
    parser.add_argument("--build", metavar="BUILD", help="judge the packages of this build, on this machine's files")
    parser.add_argument("--inside", type=int, metavar="N", help="for this program's own use")
    args = parser.parse_args()
    if args.inside is not None:
        return inside(args.inside)
    why = lack(args.build)
    if why is not None:
        return tap.skip_program("packages", why)
    if args.build is not None and MOUNTED not in os.environ:
        return with_mounts()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # with what is to be put back
    cases = Cases()
    if args.build is not None:
        judge_build(cases, args.build, os.environ[MOUNTED])
    else:
        with tempfile.TemporaryDirectory(prefix="sluice-packages.") as folder:
            for suite in args.suite or SUITES:
                judge_suite(cases, suite, os.path.join(args.packages or folder, suite))
    return cases.report.finish()


if __name__ == "__main__":
    sys.exit(main())
