#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The image of config/container: two containers of it move a file, without privileges, hugepages or a network.

Usage: container_test.py [--packages DIR]   DIR/bookworm has the packages, or gets them

No registry is needed: buildah makes the image on a Debian of mmdebstrap. An ordinary user runs containers by bubblewrap, as the
image says.

Prints TAP. Needs root, mmdebstrap, buildah, bubblewrap, two CPUs, and a mirror of Debian.
"""
import argparse
import filecmp
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable

sys.dont_write_bytecode = True
TREE = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
sys.path[:0] = [os.path.join(TREE, "scripts/python"), os.path.join(TREE, "test/house")]
import tap  # noqa: E402
from packages_test import Cases, are_built, build, of_mirror, sh  # noqa: E402
from testbed.process import Process, Testbed, TestbedError, cpus, until  # noqa: E402

FOLDER = os.path.join(TREE, "config/container")
PACKAGES = "scripts/package --out /packages"  # what the first stage does
SUITE = "bookworm"
BASE, NAME = f"docker.io/library/debian:{SUITE}-slim", "localhost/sluice"
ORDINARY = 64200  # the user who starts the containers
RUNTIME = "/run/sluice"
SIZE = 20_000_000


class Image:
    """The image that buildah makes, and its root, which is mounted."""
    env: dict[str, str]
    user: str
    command: list[str]

    def __init__(self, testbed: Testbed) -> None:
        self.testbed, self.root = testbed, testbed.path("root")
        self.store = ("--root", testbed.path("store"), "--runroot", testbed.path("store-run"), "--storage-driver", "vfs")

    def buildah(self, *words: str) -> str:
        return sh("buildah", *self.store, *words)

    def make(self, packages: str) -> None:
        """Debian comes from mmdebstrap instead of a registry; the first stage is left out, because its packages are there."""
        file = os.path.join(FOLDER, "Containerfile")
        with open(file, encoding="utf-8") as f:
            if PACKAGES not in f.read():
                raise AssertionError(f"{file} does not build packages as this test does: {PACKAGES}")
        context = self.testbed.path("context")
        shutil.copytree(packages, f"{context}/packages")
        tar = self.testbed.path("debian.tar")
        of_mirror(os.path.join(TREE, "scripts/stages/root"), SUITE, tar, "--variant=minbase")
        base = self.buildah("from", "scratch").split()[-1]
        self.buildah("add", "--quiet", base, tar, "/")
        self.buildah("commit", "--quiet", "--rm", base, BASE)
        self.buildah("build", "--pull-never", "--isolation", "chroot", "--build-context", f"packages={context}",
                     "--ignorefile", f"{FOLDER}/ignore", "--file", file, "--tag", NAME, context)
        self._read()
        # The folders of the store are closed to the ordinary user.
        os.mkdir(self.root)
        sh("mount", "--bind", self.buildah("mount", self.buildah("from", "--pull-never", NAME).split()[-1]).split()[-1], self.root)
        self.testbed.undo(sh, "umount", self.root)

    def _read(self) -> None:
        config = json.loads(self.buildah("inspect", "--type", "image", NAME))["OCIv1"]["config"]
        self.env = dict(variable.split("=", 1) for variable in config["Env"])
        self.user, self.command = config["User"], [*config["Entrypoint"], *config["Cmd"]]
        if list(config["Volumes"]) != [RUNTIME]:
            raise AssertionError(f"the volumes of the image are {config['Volumes']}, not {RUNTIME}")


class Containers:
    """Containers of an image, that all have one volume; an ordinary user starts them."""

    def __init__(self, testbed: Testbed, image: Image) -> None:
        self.testbed, self.image = testbed, image
        os.chmod(testbed.dir, 0o755)
        self.volume = testbed.path("volume")
        for folder in (self.volume, f"{self.volume}/in"):
            os.mkdir(folder)
            os.chown(folder, ORDINARY, ORDINARY)

    def start(self, name: str, command: list[str], *options: str) -> Process:
        """A container. It has no capability, no network and no hugepages, and its root is read-only."""
        user, _, group = self.image.user.partition(":")
        ordinary = ["setpriv", f"--reuid={ORDINARY}", f"--regid={ORDINARY}", "--clear-groups", "--bounding-set=-all", "--inh-caps=-all",
                    "--no-new-privs"]
        container = ["bwrap", "--ro-bind", self.image.root, "/", "--dev", "/dev", "--proc", "/proc", "--ro-bind", "/sys", "/sys",
                     "--tmpfs", "/tmp",
                     "--bind", self.volume, RUNTIME, "--unshare-all", "--uid", user, "--gid", group, "--clearenv",
                     "--die-with-parent", "--as-pid-1", "--chdir", "/"]
        env = [word for key, value in self.image.env.items() for word in ("--setenv", key, value)]
        return self.testbed.start(name, [*ordinary, *container, *env, *options, *command])

    def daemon(self, name: str) -> Process:
        config = self.testbed.path(f"config-{name}")
        os.mkdir(config)
        shutil.copy(os.path.join(FOLDER, f"{name}.conf"), os.path.join(config, "sluiced.conf"))
        process = self.start(name, self.image.command, "--ro-bind", config, "/etc/sluice")
        until(lambda: "sluiced: ready" in process.err() + process.out(), 60, f"daemon {name} is ready", 0.1, process)
        return process

    def run(self, name: str, *command: str) -> str:
        """Runs a command to its end in a container of its own."""
        return self.start(name, list(command)).check(120)


def first_process(container: Process) -> int:
    """The process in the container that is its first one, by its number outside."""
    with open(f"/proc/{container.pid}/task/{container.pid}/children", encoding="ascii") as f:
        (child,) = f.read().split()
    return int(child)


def has_no_privileges(container: Process) -> None:
    """Neither as it is seen from outside, nor, in its own namespaces, from inside."""
    pid = first_process(container)
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        status = dict(line.rstrip("\n").split(":\t", 1) for line in f if ":\t" in line)
    wrong = [f"{key} {status[key]}" for key in ("CapEff", "CapPrm", "CapBnd") if int(status[key], 16)]
    wrong += [] if status["Uid"].split()[0] == str(ORDINARY) else [f"user {status['Uid']}"]
    wrong += [] if status["NoNewPrivs"] == "1" else ["NoNewPrivs is 0"]
    wrong += [] if status["HugetlbPages"].split()[0] == "0" else [f"hugepages {status['HugetlbPages']}"]
    with open(f"/proc/{pid}/net/dev", encoding="ascii") as f:
        wrong += [f"interface {line.split(':')[0].strip()}" for line in f if ":" in line and not line.strip().startswith("lo:")]
    if wrong:
        raise AssertionError(f"{container.name}: {', '.join(wrong)}")


def moves_a_file(containers: Containers) -> None:
    """From one container to the other; each has two clients in containers of their own."""
    daemons = [containers.daemon(name) for name in ("a", "b")]
    for daemon in daemons:
        has_no_privileges(daemon)
    path = os.path.join(containers.volume, "data")
    with open(path, "wb") as f:
        f.write(os.urandom(SIZE))
    receiver = containers.start("recv", ["sluice", "recv", "--once", "-o", f"{RUNTIME}/in", "--socket", f"{RUNTIME}/b.sock"])
    containers.run("send", "sluice", "send", "--wait", "60", "--socket", f"{RUNTIME}/a.sock", f"{RUNTIME}/data", "10.90.0.2")
    receiver.check(60)
    if not filecmp.cmp(path, os.path.join(containers.volume, "in/data"), shallow=False):
        raise AssertionError("the file that arrived is another one")
    for daemon in daemons:
        os.kill(first_process(daemon), signal.SIGTERM)  # as `podman stop` does
        if daemon.wait(20) != 0:
            raise AssertionError(f"SIGTERM ends it with another status than 0\n{daemon.tail()}")


def lack() -> str | None:
    """What this machine lacks, or None."""
    if os.geteuid() != 0:
        return "needs root: mmdebstrap and buildah"
    for program, package in (("mmdebstrap", "mmdebstrap"), ("buildah", "buildah"), ("bwrap", "bubblewrap")):
        if shutil.which(program) is None:
            return f"no {program} here; as root: apt-get install {package}"
    if not {0, 1} <= set(cpus()):
        return "needs CPUs 0 and 1, which the configurations name"
    done = subprocess.run(["setpriv", f"--reuid={ORDINARY}", f"--regid={ORDINARY}", "--clear-groups", "bwrap", "--ro-bind", "/", "/",
                           "--unshare-all", "true"], capture_output=True, text=True, check=False)
    return f"no namespaces for ordinary users: {done.stderr.strip()}" if done.returncode != 0 else None


def main() -> int:
    parser = argparse.ArgumentParser(description="The image, in containers.")
    parser.add_argument("--packages", metavar="DIR", help="DIR/bookworm has the packages, or gets them")
    args = parser.parse_args()
    why = lack()
    if why is not None:
        return tap.skip_program("the image in containers", why)
    cases = Cases()
    with Testbed("container") as testbed:
        packages = os.path.join(args.packages or testbed.path("packages"), SUITE)
        image = Image(testbed)
        steps: list[tuple[str, Callable[[], object]]] = [] if are_built(packages) else [("the packages are built", lambda: build(packages, SUITE))]
        steps += [("buildah makes the image", lambda: image.make(packages)),
                  ("two containers move a file, without privileges, hugepages or a network", lambda: moves_a_file(Containers(testbed, image)))]
        for name, function in steps:
            if not cases.run(name, function):
                break
    return cases.report.finish()


if __name__ == "__main__":
    sys.exit(main())
