# SPDX-License-Identifier: BSD-3-Clause
"""Other programs that do the work of a transfer: cp and, where it is installed, rsync within the machine;
iperf3 from one namespace to another, and scp to dropbear there, with a key of its own and a home that it
alone sees."""
import json
import os
import pwd
import select
import shutil
import time
from dataclasses import dataclass

from . import net
from .pair import ADDR_A, ADDR_B
from .process import TestbedError, until

PORT, IPERF_PORT = 2222, 5201
# The server looks for keys at home: one of its own is put over root's, which it alone sees. Its window is
# OpenSSH's; its own of 24 kB would be the limit.
SERVER = """
exec 3<"$2" 4<"$3"
mount -t tmpfs -o mode=700 none "$1" && mkdir "$1/.ssh" && cat <&3 >"$1/.ssh/authorized_keys" &&
    cat <&4 >"$1/host" || exit
exec dropbear -F -E -m -s -j -k -W 1048576 -r "$1/host" -P "$1/pid" -p "$4"
"""
# scp gives its own options, the host and, last, the command.
SHELL = """#!/bin/sh
for last; do :; done
exec dbclient -y -y -i {key} -p {port} root@{address} "$last"
"""


# ---- how long processes take ------------------------------------------------------------------


def wait_all(processes, limit_s, began, look=None, look_s=0.1):
    """Seconds from then until the last of them has ended; None: not within the limit. look(): called
    each look_s meanwhile."""
    poll, fds = select.poll(), {}
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


def ended_well(processes):
    """None, or what the first that did not says."""
    for process in processes:
        if process.wait(10) != 0:
            return f"{process.name} ended with status {process.wait(1)}: " + \
                " ".join(process.err().split("\n")[-3:]).strip()
    return None


def took(processes, limit_s, began):
    """As wait_all(); TestbedError where they fail, and they are stopped."""
    seconds = wait_all(processes, limit_s, began)
    why = f"not within {limit_s:g} s" if seconds is None else ended_well(processes)
    if why is not None:
        for process in processes:
            process.stop()
        raise TestbedError(f"{processes[0].name}: {why}")
    return seconds


# ---- within the machine ---------------------------------------------------------------------


class Baseline:
    """A command that copies {source} to {target}."""

    def __init__(self, name, args, **kwargs):
        self.name, self.args, self.kwargs = name, args, kwargs

    def run(self, testbed, source, target, limit_s):
        """Seconds."""
        words, began = [a.format(source=source, target=target) for a in self.args], time.monotonic()
        return took([testbed.start(self.name, words, **self.kwargs)], limit_s, began)


def copy(testbed, source, target, limit_s):
    """Seconds of `cp -r`, which for a file is `cp`."""
    return Baseline("cp", ["cp", "-r", "{source}", "{target}"]).run(testbed, source, target, limit_s)


def missing(*tools):
    return any(shutil.which(tool) is None for tool in tools)


def local_rsync():
    """None: there is no rsync."""
    return None if missing("rsync") else Baseline("rsync", ["rsync", "{source}", "{target}"])


# ---- through the kernel, from one namespace to another --------------------------------------


def kernel_pair(testbed):
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
    """`iperf3 -F` of a file, or so many bytes from memory."""
    size: int
    source: str = None
    target: str = None
    congestion: str = "cubic"

    def run(self, testbed, spaces, limit_s):
        """Seconds: until both have ended, of a file; from memory, as iperf3 itself says."""
        def listens():
            return f":{IPERF_PORT} " in testbed.run("ss", ["ss", "-Hltn"], ns=spaces[1])

        give, take = (["-F", self.source], ["-F", self.target]) if self.source else ([], [])
        server = testbed.start("iperf3-server", ["iperf3", "-s", "-1", "-p", IPERF_PORT, *take], ns=spaces[1])
        until(listens, 20, "iperf3 listens")
        began = time.monotonic()
        client = testbed.start("iperf3", ["iperf3", "-c", ADDR_B, "-p", IPERF_PORT, "-n", self.size, "-C",
                                      self.congestion, "-J", *give], ns=spaces[0])
        seconds = took([client, server], limit_s, began)
        report = json.loads(client.out())
        if "error" in report:
            raise TestbedError(f"iperf3: {report['error']}")
        return seconds if self.source else report["end"]["sum_received"]["seconds"]


def ssh_key(testbed, name):
    """A new key: its file, and one with its public half."""
    path = testbed.path(name)
    text = testbed.run("dropbearkey", ["dropbearkey", "-t", "ed25519", "-f", path])
    with open(path + ".pub", "w", encoding="utf-8") as f:
        f.write(next(line for line in text.splitlines() if line.startswith("ssh-")) + "\n")
    return path, path + ".pub"


def ssh_server(testbed, ns, public, host):
    """dropbear in a namespace, for root, with that key; listening."""
    server = testbed.start("dropbear", ["unshare", "--mount", "sh", "-c", SERVER, "-",
                                    pwd.getpwuid(os.geteuid()).pw_dir, public, host, PORT], ns=ns)
    until(lambda: f":{PORT} " in testbed.run("ss", ["ss", "-Hltn"], ns=ns) or not server.running(), 20,
          "dropbear listens")
    return server


def scp_over(testbed, spaces, address):
    """From the first namespace to the second one; None: something for it is not installed."""
    if missing("scp", "dropbear", "dbclient", "dropbearkey"):
        return None
    (key, public), (host, _) = ssh_key(testbed, "mine"), ssh_key(testbed, "host")
    ssh_server(testbed, spaces[1], public, host)
    shell = testbed.path("scp-shell")
    with open(shell, "w", encoding="utf-8") as f:
        f.write(SHELL.format(key=key, port=PORT, address=address))
    os.chmod(shell, 0o700)
    return Baseline("scp", ["scp", "-q", "-O", "-S", shell, "{source}", f"root@{address}:{{target}}"],
                 ns=spaces[0], env={"HOME": testbed.dir})
