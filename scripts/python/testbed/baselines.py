# SPDX-License-Identifier: BSD-3-Clause
"""Baselines: other programs that do the work of a transfer. Within the machine, cp and, where it is installed,
rsync; from one namespace to another, iperf3, and scp to OpenSSH's server or to dropbear."""
import json
import os
import pwd
import select
import shutil
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from . import net
from .pair import ADDR_A, ADDR_B
from .process import Process, Testbed, TestbedError, wait_listening

PORT, IPERF_PORT = 2222, 5201
# The server looks for keys in root's home. It gets a tmpfs there, in a mount namespace of its own. Its window is
# that of OpenSSH; its default of 24 kB would limit the rate.
SERVER = """
exec 3<"$2" 4<"$3"
mount -t tmpfs -o mode=700 none "$1" && mkdir "$1/.ssh" && cat <&3 >"$1/.ssh/authorized_keys" &&
    cat <&4 >"$1/host" || exit
exec dropbear -F -E -m -s -j -k -W 1048576 -r "$1/host" -P "$1/pid" -p "$4"
"""
OPENSSH = """Port {port}
ListenAddress {address}
HostKey {host}
AuthorizedKeysFile {public}
StrictModes no
UsePAM no
PermitRootLogin prohibit-password
PidFile none
"""
OPENSSH_FOLDER = "/run/sshd"  # OpenSSH's server wants it to be there
# scp calls this with options, the host and, last, the command.
SHELL = """#!/bin/sh
for last; do :; done
exec dbclient -y -y -i {key} -p {port} root@{address} "$last"
"""


# ---- the time that processes take -----------------------------------------------------------


def wait_all(processes: Sequence[Process], limit_s: float, began: float, look: Callable[[], object] | None = None,
             look_s: float = 0.1) -> float | None:
    """The seconds from began until the last process has ended; None: that exceeds the limit. look() is called
    about each look_s meanwhile."""
    poll, fds = select.poll(), {}
    now = began
    for process in processes:
        fd = os.pidfd_open(process.pid)
        fds[fd] = process
        poll.register(fd, select.POLLIN)
    try:
        while fds:
            left = began + limit_s - time.monotonic()
            if left <= 0:
                return None
            ended = poll.poll(1000 * min(left, look_s if look is not None else left))
            now = time.monotonic()
            for fd, _ in ended:
                poll.unregister(fd)
                os.close(fd)
                del fds[fd]
            if look is not None and not ended:
                look()
        return now - began
    finally:
        for fd in fds:
            os.close(fd)


def ended_well(processes: Sequence[Process]) -> str | None:
    """None, or the error of the first process that failed."""
    for process in processes:
        if process.wait(10) != 0:
            return f"{process.name} ended with status {process.wait(1)}: " + \
                " ".join(process.err().split("\n")[-3:]).strip()
    return None


def took(processes: Sequence[Process], limit_s: float, began: float) -> float:
    """As wait_all(). If a process fails or exceeds the limit, all are stopped: TestbedError."""
    seconds = wait_all(processes, limit_s, began)
    why = f"not within {limit_s:g} s" if seconds is None else ended_well(processes)
    if seconds is None or why is not None:
        for process in processes:
            process.stop()
        raise TestbedError(f"{processes[0].name}: {why}")
    return seconds


# ---- within the machine ---------------------------------------------------------------------


@dataclass
class Baseline:
    """A command that copies {source} to {target}."""
    name: str
    args: Sequence[str]
    ns: str | None = None
    env: Mapping[str, str] | None = None

    def run(self, testbed: Testbed, source: str, target: str, limit_s: float) -> float:
        """The seconds that it takes."""
        words, began = [a.format(source=source, target=target) for a in self.args], time.monotonic()
        return took([testbed.start(self.name, words, ns=self.ns, env=self.env)], limit_s, began)


def copy(testbed: Testbed, source: str, target: str, limit_s: float) -> float:
    """The seconds that `cp -r` takes, for a file or a folder."""
    return Baseline("cp", ["cp", "-r", "{source}", "{target}"]).run(testbed, source, target, limit_s)


def missing(*tools: str) -> bool:
    """Whether one of these programs is not installed."""
    return any(shutil.which(tool) is None for tool in tools)


def local_rsync() -> Baseline | None:
    """None: rsync is not installed."""
    return None if missing("rsync") else Baseline("rsync", ["rsync", "{source}", "{target}"])


# ---- through the kernel, from one namespace to another --------------------------------------


def kernel_pair(testbed: Testbed) -> list[str]:
    """Two namespaces with kernel addresses, joined by a veth pair without offloads."""
    spaces = [net.namespace(testbed, name) for name in ("ka", "kb")]
    for ns in spaces:
        net.quiet(ns)
    net.veth(spaces[0], "ska", spaces[1], "skb")
    for ns, device, address in zip(spaces, ("ska", "skb"), (ADDR_A, ADDR_B)):
        net.address(ns, device, f"{address}/24")
    return spaces


@dataclass
class Iperf:
    """`iperf3 -F` from file to file, or so many bytes from memory to memory."""
    size: int
    source: str | None = None
    target: str | None = None
    congestion: str = "cubic"

    def run(self, testbed: Testbed, spaces: Sequence[str], limit_s: float) -> float:
        """The seconds that it takes: for a file until both processes have ended; from memory as iperf3 reports."""
        give, take = (("-F", self.source), ("-F", self.target)) if self.source else ((), ())
        server = testbed.start("iperf3-server", ["iperf3", "-s", "-1", "-p", IPERF_PORT, *take], ns=spaces[1])
        wait_listening(testbed, spaces[1], IPERF_PORT, server)
        began = time.monotonic()
        client = testbed.start("iperf3", ["iperf3", "-c", ADDR_B, "-p", IPERF_PORT, "-n", self.size, "-C",
                                      self.congestion, "-J", *give], ns=spaces[0])
        seconds = took([client, server], limit_s, began)
        report = json.loads(client.out())
        if "error" in report:
            raise TestbedError(f"iperf3: {report['error']}")
        return seconds if self.source else report["end"]["sum_received"]["seconds"]


def ssh_key(testbed: Testbed, name: str) -> tuple[str, str]:
    """A key of this name, made at the first call: the file of its private half, and that of its public half."""
    path = testbed.path(name)
    if os.path.exists(path + ".pub"):
        return path, path + ".pub"
    text = testbed.run("dropbearkey", ["dropbearkey", "-t", "ed25519", "-f", path])
    with open(path + ".pub", "w", encoding="utf-8") as f:
        f.write(next(line for line in text.splitlines() if line.startswith("ssh-")) + "\n")
    return path, path + ".pub"


def ssh_server(testbed: Testbed, ns: str, public: str, host: str, wrap: Sequence[str] = (),
               cpus: Collection[int] | None = None) -> Process:
    """dropbear in a namespace; it listens, and root can log in with the key of the file public. host: the file of
    its own key. wrap: a program with its arguments that starts it in its own place. cpus: those that it may use."""
    server = testbed.start("dropbear", [*wrap, "unshare", "--mount", "sh", "-c", SERVER, "-",
                                    pwd.getpwuid(os.geteuid()).pw_dir, public, host, PORT], cpus, ns)
    wait_listening(testbed, ns, PORT, server)
    return server


def openssh_server(testbed: Testbed, ns: str, address: str, wrap: Sequence[str] = (),
                   cpus: Collection[int] | None = None) -> str:
    """OpenSSH's server in a namespace, as ssh_server(). Returns the file of the key with which root can log in."""
    keys = {name: testbed.path(f"openssh-{name}") for name in ("mine", "host")}
    for path in keys.values():
        if not os.path.exists(path):
            testbed.run("ssh-keygen", ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path])
    if not os.path.isdir(OPENSSH_FOLDER):
        os.mkdir(OPENSSH_FOLDER, 0o755)
        testbed.undo(shutil.rmtree, OPENSSH_FOLDER, ignore_errors=True)
    config, program = testbed.path("sshd.conf"), shutil.which("sshd")
    with open(config, "w", encoding="utf-8") as f:
        f.write(OPENSSH.format(port=PORT, address=address, host=keys["host"], public=keys["mine"] + ".pub"))
    server = testbed.start("sshd", [*wrap, program, "-D", "-e", "-f", config], cpus, ns)
    wait_listening(testbed, ns, PORT, server)
    return keys["mine"]


def scp_over(testbed: Testbed, spaces: Sequence[str], address: str, wrap: Sequence[str] = (),
             cpus: Collection[int] | None = None) -> Baseline | None:
    """scp from the first namespace to the second one, to OpenSSH's server, or to dropbear where there is none; None:
    a program for it is not installed. wrap, cpus: for the server."""
    if not missing("scp", "sshd", "ssh-keygen"):
        mine = openssh_server(testbed, spaces[1], address, wrap, cpus)
        return Baseline("scp", ["scp", "-q", "-O", "-F", "none", "-i", mine, "-P", str(PORT), "-o",
                                "StrictHostKeyChecking=no", "-o", f"UserKnownHostsFile={os.devnull}", "{source}",
                                f"root@{address}:{{target}}"], ns=spaces[0], env={"HOME": testbed.dir})
    if missing("scp", "dropbear", "dbclient", "dropbearkey"):
        return None
    (key, public), (host, _) = ssh_key(testbed, "mine"), ssh_key(testbed, "host")
    ssh_server(testbed, spaces[1], public, host, wrap, cpus)
    shell = testbed.path("scp-shell")
    with open(shell, "w", encoding="utf-8") as f:
        f.write(SHELL.format(key=key, port=PORT, address=address))
    os.chmod(shell, 0o700)
    return Baseline("scp", ["scp", "-q", "-O", "-S", shell, "{source}", f"root@{address}:{{target}}"],
                 ns=spaces[0], env={"HOME": testbed.dir})
