# SPDX-License-Identifier: BSD-3-Clause
"""The Python package, and the examples of the folder examples: two processes, each with a daemon of its own."""
import importlib.util
import os
import random
import re

from .. import ROOT
from ..harness import Context, TestbedError, need, scene
from testbed.daemon import Daemon
from testbed.pair import ADDR_B, memif_pair
from testbed.process import Process, Testbed, until

PROGRAMS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs")
EXAMPLES = os.path.join(ROOT, "examples")
CONNECTIONS = 100


def lack() -> str | None:
    """What the package under test needs and this machine has not."""
    for name, package in (("_cffi_backend", "python3-cffi"), ("numpy", "python3-numpy")):
        if importlib.util.find_spec(name) is None:
            return f"Python has no {name}: run scripts/setup, which installs {package}"
    return None


def start(daemon: Daemon, name: str, *args: object) -> Process:
    """Starts a program of the folder programs, or an example, for this daemon."""
    if not name.endswith(".py"):
        return daemon.testbed.start(name, [os.path.join(daemon.build.dir, "examples", name), *args], env=daemon.client_env())
    folder = PROGRAMS if os.path.exists(os.path.join(PROGRAMS, name)) else EXAMPLES
    return daemon.python(name, os.path.join(folder, name), *args)


def both(testbed: Testbed, context: Context, server: tuple[object, ...], client: tuple[object, ...]) -> tuple[str, str]:
    """Runs (program, argument...) on B and on A, joined by a memif, and checks that both daemons let go of everything.
    Returns what they print."""
    need(lack())
    a, b = memif_pair(testbed, context.build)
    before = [d.holdings() for d in (a, b)]
    receiving = start(b, str(server[0]), *server[1:])
    b.wait_listening(process=receiving)
    sending = start(a, str(client[0]), *client[1:])
    said = sending.check(120), receiving.check(60)
    for daemon, was in zip((a, b), before):
        daemon.check_holdings(was)
        daemon.stop()
    return said


@scene("examples: a buffer crosses two daemons, in C", company=True)
def example_c(testbed: Testbed, context: Context) -> None:
    sent, received = both(testbed, context, ("buffer", "receive"), ("buffer", "send", ADDR_B, 5_000_001))
    if sent != received or not sent.startswith("5000001 bytes, sum "):
        raise TestbedError(f"sent: {sent}received: {received}")


@scene("examples: a NumPy array crosses two daemons", company=True)
def example_numpy(testbed: Testbed, context: Context) -> None:
    sent, received = both(testbed, context, ("array.py", "receive"), ("array.py", "send", ADDR_B, 3000))
    if not received.startswith(sent) or not re.match(r"\(3000, 1024\) float64, sum -?\d", sent):
        raise TestbedError(f"sent: {sent}received: {received}")


@scene("examples: files cross two daemons", company=True)
def example_files(testbed: Testbed, context: Context) -> None:
    folder, tree = testbed.path("to"), testbed.path("from/tree")
    for path in (folder, tree):
        os.makedirs(path)
    for name in ("one", "two"):
        with open(os.path.join(tree, name), "w", encoding="ascii") as f:
            f.write(name * 1000)
    sent, received = both(testbed, context, ("files.py", "receive", folder, 1), ("files.py", "send", ADDR_B, tree))
    if not sent.startswith("2 files, 6000 bytes, hash ") or sent.strip() not in received:
        raise TestbedError(f"sent: {sent}received: {received}")


@scene("Python: files by the package and by the program, on either side; failures have classes; nothing is left", company=True)
def files(testbed: Testbed, context: Context) -> None:
    need(lack())
    seed = int(os.environ.get("SLUICE_SEED") or random.randrange(1 << 30))
    print(f"# files: seed {seed}")
    a, b = memif_pair(testbed, context.build)
    before = [d.holdings() for d in (a, b)]
    said = start(a, "moving.py", ADDR_B, context.build.program("sluice"), a.socket, b.socket, testbed.path("files"), seed).check(120)
    if "all moved" not in said:
        raise TestbedError(said)
    for daemon, was in zip((a, b), before):
        daemon.check_holdings(was)
        daemon.stop()


@scene("Python: bytes come back as they were sent, and no process copies them", memory_gb=2)
def bytes_equal(testbed: Testbed, context: Context) -> None:
    pieces, length = 16, 8 << 20
    seed = int(os.environ.get("SLUICE_SEED") or random.randrange(1 << 30))
    print(f"SLUICE_SEED={seed}")
    both(testbed, context, ("echo.py", pieces, length), ("exchange.py", ADDR_B, pieces, length, seed))


def _until_daemon_dies(a: Daemon, process: Process) -> None:
    """Kills A once the program waits for that. The program must then end well."""
    until(lambda: "waiting for the daemon's end" in process.out(), 90, "the program waits", process=process)
    a.kill()
    process.check(60)


@scene("Python: every failure is an error with a class of its own, and none is a crash", company=True)
def misuse(testbed: Testbed, context: Context) -> None:
    need(lack())
    a, b = memif_pair(testbed, context.build, daemon_keys={"quota": "64M"})
    peer = start(b, "misuse.py", "peer")
    b.wait_listening(7004, process=peer)
    client = start(a, "misuse.py", ADDR_B)
    _until_daemon_dies(a, client)
    if "ResourceWarning" in client.err() + peer.err():
        raise TestbedError(f"a warning that is off by default\n{client.tail()}\n{peer.tail()}")
    peer.check(60)
    b.stop()


@scene("Python: a program that ends without closing anything, and a child after fork(), leave nothing behind", company=True)
def leaves(testbed: Testbed, context: Context) -> None:
    need(lack())
    a, b = memif_pair(testbed, context.build)
    before = [d.holdings() for d in (a, b)]
    if "leaving" not in start(a, "leaves.py", ADDR_B).check(60):
        raise TestbedError("the program did not come to its end")
    for daemon, was in zip((a, b), before):
        daemon.check_holdings(was)
        daemon.stop()


@scene("Python: asyncio serves 100 connections at once, and hears that the daemon dies", memory_gb=2)
def many(testbed: Testbed, context: Context) -> None:
    need(lack())
    a, b = memif_pair(testbed, context.build)
    before = b.holdings()
    server = start(b, "many.py", "server", CONNECTIONS)
    b.wait_listening(process=server)
    client = start(a, "many.py", ADDR_B, CONNECTIONS)
    _until_daemon_dies(a, client)
    if f"{CONNECTIONS} connections" not in client.out():
        raise TestbedError(f"the client does not say that all connections worked\n{client.tail()}")
    server.check(60)
    b.check_holdings(before)
    b.stop()
