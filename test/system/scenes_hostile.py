# SPDX-License-Identifier: BSD-3-Clause
"""Hostile clients: one writes lies into its rings, at a daemon under AddressSanitizer that serves another
client, too; one hands over descriptors that are slow to close."""
import os
import pwd
import re
import subprocess
import sys

from .harness import Context, Skip, TestbedError, perf, scene
from testbed.daemon import Daemon
from testbed.pair import ADDR_A, memif_pair
from testbed.process import Testbed

# By default AddressSanitizer keeps 256 MB of freed memory, which would hide a leak of that size.
ENV = {"ASAN_OPTIONS": "abort_on_error=0:exitcode=99:detect_leaks=0:quarantine_size_mb=2",
       "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1:exitcode=99"}

WARM_S, ATTACK_S = 15, 60
RSS_SLACK_KB = 8192


@scene("hostile client: the other one's transfer is right, no report, quota held", memory_gb=3)
def hostile(testbed: Testbed, context: Context) -> None:
    if context.asan is None:
        raise Skip("no build with AddressSanitizer is given")
    quota = 256 << 20
    a, b = memif_pair(testbed, context.asan, daemon_keys={"quota": quota}, env=ENV)
    perf(b, a, "10.90.0.2", "-n", "1M", "--memory", "1M", name="first")
    seed = os.environ.get("SLUICE_SEED", str(int.from_bytes(os.urandom(4), "little")))
    attack(context, testbed, (a, b), WARM_S, seed)  # now both hold what they keep for later sessions
    before = [a.holdings(), b.holdings()]
    peak_kb = attack(context, testbed, (a, b), max(ATTACK_S, context.seconds), seed)
    if peak_kb * 1024 > quota + (8 << 20):
        raise TestbedError(f"seed {seed}: {peak_kb} kB are locked, the quota is {quota >> 10} kB")
    for daemon, was in ((a, before[0]), (b, before[1])):
        # AddressSanitizer keeps the stacks that it saw in anonymous mappings, which become more and more.
        # The resident memory bounds them.
        daemon.check_holdings(was, rss_slack_kb=RSS_SLACK_KB, maps_slack=was["maps"])
    for daemon in (a, b):
        print(f"#   {daemon.name}: before {before[daemon is b]}, after {daemon.holdings()}")
        daemon.stop()
        report(daemon, seed)


def attack(context: Context, testbed: Testbed, daemons: tuple[Daemon, Daemon], seconds: int, seed: str) -> int:
    """Attacks for this long, and checks an honest client's transfers meanwhile; returns the maximum kB that
    the second daemon locked."""
    a, b = daemons
    attacker = testbed.start("hostile", [context.tool("hostile"), b.socket, seconds, seed])
    rounds, peak_kb = 0, 0
    while attacker.running():
        rounds += 1
        result = perf(a, b, ADDR_A, "-t", "2", "--bidir", "--memory", "4M", name=f"honest{rounds}")
        if result["tx"]["bytes"] == 0 or result["rx"]["bytes"] == 0:
            raise TestbedError(f"seed {seed}: the honest client moved nothing: {result}")
        peak_kb = max(peak_kb, b.holdings()["locked_kB"])
        for daemon in daemons:
            report(daemon, seed)
    print(f"#   seed {seed}, {rounds} honest transfers; {' '.join(attacker.out().split(chr(10))[1:2])}")
    if attacker.wait(10) != 0:
        raise TestbedError(f"seed {seed}\n{attacker.tail()}\n{b.process.tail()}")
    return peak_kb


# Sends as many sockets as one message takes. Each lingers: it holds data that its peer never reads.
LINGERING = r"""
import os, socket, struct, sys
path, uid, gid, messages, each = sys.argv[1], *map(int, sys.argv[2:])
os.setgroups([])
os.setgid(gid)
os.setuid(uid)
sink = socket.socket()
sink.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
sink.bind(("127.0.0.1", 0))
sink.listen(1024)
def lingering():
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    s.connect(sink.getsockname())
    s.setblocking(False)
    try:
        while True:
            s.send(bytes(65536))
    except BlockingIOError:
        pass
    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 60))
    return s
sent = 0
for i in range(messages):
    sockets = [lingering() for _ in range(each)]
    client = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    client.settimeout(5)
    try:
        client.connect(path)
        socket.send_fds(client, [b"x"], [s.fileno() for s in sockets])
        sent += each
    except OSError as e:
        print("refused:", e, flush=True)
    client.close()
    for s in sockets:
        s.close()
print("sent", sent, flush=True)
sys.stdin.read()
"""


@scene("hostile descriptors: another user's sockets that linger hold up no session", memory_gb=2)
def descriptors(testbed: Testbed, context: Context) -> None:
    a, b = memif_pair(testbed, context.build)
    nobody = pwd.getpwnam("nobody")
    os.chown(b.socket, -1, nobody.pw_gid)
    os.chmod(os.path.dirname(b.socket), 0o711)
    attacker = subprocess.Popen([sys.executable, "-c", LINGERING, b.socket, str(nobody.pw_uid),
                                 str(nobody.pw_gid), "20", "50"],
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert attacker.stdin is not None and attacker.stdout is not None
    try:
        line = attacker.stdout.readline()
        if line.strip() != "sent 1000":
            raise TestbedError(f"the hostile client could not send its sockets: {line}")
        for i in range(3):  # each is a new session at both daemons
            result = perf(a, b, ADDR_A, "-t", "1", "--bidir", "--memory", "4M", name=f"honest{i}")
            if result["tx"]["bytes"] == 0 or result["rx"]["bytes"] == 0:
                raise TestbedError(f"the honest client moved nothing: {result}")
    finally:
        attacker.stdin.close()
        attacker.wait(10)
    for daemon in (a, b):
        daemon.stop()


def report(daemon: Daemon, seed: str) -> None:
    """Raises TestbedError with the report of a sanitizer, or of a broken invariant, if there is one."""
    text = daemon.process.err()
    if re.search(r"Sanitizer|runtime error:|broken invariant", text) or not daemon.process.running() \
            and daemon.process.wait(1) != 0:
        raise TestbedError(f"seed {seed}: {daemon.name}\n{daemon.process.tail(60)}")
