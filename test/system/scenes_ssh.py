# SPDX-License-Identifier: BSD-3-Clause
"""ssh through the exception port: so an administrator reaches a machine whose only NIC the daemon has. ssh as the
remote shell of `sluice cp`."""
import hashlib
import json
import os
import shutil
import signal
import threading

from testbed import net
from .harness import Context, Skip, TestbedError, scene
from testbed.baselines import PORT, ssh_key, ssh_server
from testbed.pair import ADDR_B, memif_pair
from testbed.process import Process, Testbed, until
from .scenes_exception import VETH, pair

SESSION_BYTES = 2 << 20


def _login(testbed: Testbed, ns: str, key: str) -> tuple[Process, int]:
    """A session that prints the SHA-256 of its input, and the pipe to that input."""
    there, here = os.pipe()
    ssh = testbed.start("ssh", ["dbclient", "-y", "-y", "-i", key, "-p", PORT, f"root@{ADDR_B}",
                            "echo logged in; sha256sum; exit 7"], ns=ns, env={"HOME": testbed.dir}, stdin=there)
    os.close(there)
    until(lambda: "logged in" in ssh.out(), 60, "ssh logs in", process=ssh)
    return ssh, here


def _give(pipe: int, data: bytes) -> None:
    with os.fdopen(pipe, "wb") as f:
        f.write(data)


def _need_dropbear() -> None:
    for tool in ("dropbear", "dbclient", "dropbearkey"):
        if shutil.which(tool) is None:
            raise Skip(f"{tool} is missing; scripts/setup installs it")


@scene("exception port: ssh to its kernel while a transfer runs", netns=True)
def ssh_beside_transfer(testbed: Testbed, context: Context) -> None:
    _need_dropbear()
    (a, b), (ka, kb) = pair(testbed, context, VETH, keys={"capacity": "40Mbit"})
    (mine, public), (host, _) = ssh_key(testbed, "mine"), ssh_key(testbed, "host")
    ssh_server(testbed, kb, public, host)
    ssh, pipe = _login(testbed, ka, mine)
    waiting = b.sluice("server", "perf", "server", "-1", "--json")
    b.wait_listening(process=waiting)
    sending = a.sluice("client", "perf", "client", "--json", "--check", "-i", "0", "-n", "16M", ADDR_B)
    until(lambda: b.counters("rx_data") > 200, 30, "data flow")
    data = os.urandom(SESSION_BYTES)
    threading.Thread(target=_give, args=(pipe, data), daemon=True).start()
    status = ssh.wait(90)
    if status != 7 or hashlib.sha256(data).hexdigest() not in ssh.out():
        raise TestbedError(f"ssh: status {status}\n{ssh.tail()}")
    result = json.loads(sending.check(90))
    waiting.check(30)
    if result["wrong_bytes"] != 0 or result["bytes"] != 16 << 20:
        raise TestbedError(f"{result['bytes']} bytes, {result['wrong_bytes']} of them wrong")
    for daemon in (a, b):
        daemon.stop()


def _copied(path: str, data: bytes) -> None:
    with open(path, "rb") as copy:
        if copy.read() != data:
            raise TestbedError(f"{path}: another file has arrived")


@scene("sluice cp over ssh: push, pull, between two others, and a far end that ends with its session", netns=True)
def copies_over_ssh(testbed: Testbed, context: Context) -> None:
    _need_dropbear()
    a, b = memif_pair(testbed, context.build)
    ns = net.namespace(testbed, "ssh")
    (mine, public), (host, _) = ssh_key(testbed, "mine"), ssh_key(testbed, "host")
    server = ssh_server(testbed, ns, public, host)
    program = os.path.abspath(context.build.program("sluice"))

    # The server of this host is two others: what it is called at decides which daemon is there.
    there_is = f"case $SSH_CONNECTION in *' 127.0.0.2 '*) s={a.socket};; *) s={b.socket};; esac; SLUICE_SOCKET=$s"

    def cp(*args: str, stdin: int | None = None, socket: str = a.socket) -> Process:
        return testbed.start("cp", [program, "cp", "--socket", socket, "-e", f"dbclient -y -y -i {mine} -p {PORT}",
                                    "--remote-path", f"{there_is} {program}", *args], ns=ns,
                             env={"HOME": testbed.dir}, stdin=stdin)

    name, data = testbed.path("it's a $(file)"), os.urandom(SESSION_BYTES)
    with open(name, "wb") as f:
        f.write(data)
    there, back = testbed.path("there and"), testbed.path("back")
    cp(name, f"root@127.0.0.1:{there}").check(60)
    cp(f"root@127.0.0.1:{there}", back).check(60)
    _copied(back, data)
    cp(f"root@127.0.0.2:{there}", f"root@127.0.0.1:{testbed.path('other')}", socket="/nonexistent").check(60)
    _copied(testbed.path("other"), data)
    reading, writing = os.pipe()
    copying = cp("-", f"root@127.0.0.1:{testbed.path('unfinished')}", stdin=reading)
    os.close(reading)
    os.write(writing, data[:60000])
    until(lambda: any(x.startswith(".unfinished.part-") for x in os.listdir(testbed.dir)), 30, "a part",
          process=copying)
    copying.signal(signal.SIGKILL)
    until(lambda: not any("unfinished" in x for x in os.listdir(testbed.dir)), 30, "the far end removes the part")
    os.close(writing)
    server.signal(signal.SIGTERM)
    server.wait(10)
    if cp(name, f"root@127.0.0.1:{there}").wait(60) != 4:
        raise TestbedError("nobody can log in, but the exit status is not 4")
    for daemon in (a, b):
        daemon.stop()
