# SPDX-License-Identifier: BSD-3-Clause
"""Ordinary users at a daemon: access by socket_group, the quota of all of them together, who may use which services
and peers, and what users see of each other."""
import json
import os
import re
import shutil
from typing import Any

from .harness import Context, Skip, TestbedError, one_line, scene
from testbed.daemon import Daemon
from testbed.pair import ADDR_B, memif_pair
from testbed.process import Process, Testbed, status_kb, until

# Users and group need no names.
GROUP = 54321
USERS = (54331, 54332, 54333)
MIB = 1 << 20
PEER, RESOURCE = 4, 7


@scene("ordinary users: socket_group lets them in, three share quota_total", memory_gb=1, company=True)
def users(testbed: Testbed, context: Context) -> None:
    if os.geteuid() != 0:
        raise Skip("only root can start processes as other users")
    # Each receiver takes two requests of 4 MiB and some more while it waits, so each user may have two or more.
    quota, total = 48 * MIB, 64 * MIB
    a, b = memif_pair(testbed, context.build, daemon_keys={"socket_group": GROUP, "quota": quota,
                                                       "quota_total": total}, memory_mb=256)
    sluice = shared(testbed, context)
    config = testbed.path("none.conf")
    with open(config, "w", encoding="ascii") as f:
        f.write("[daemon]\n")
    os.chmod(config, 0o644)

    def start(name: str, uid: int, gid: int, *args: str) -> Process:
        return as_user(testbed, b, sluice, name, uid, *args, gid=gid)

    for wanted, name in (("socket_group = sluice", config), (f"usermod -aG {GROUP} ", b.config)):
        stranger = start("stranger", USERS[0], USERS[0], "show", "conns")
        if stranger.wait(30) != 3 or "socket_group" not in stranger.err():
            raise TestbedError(f"a stranger came in, or does not learn of socket_group\n{stranger.tail()}")
        doctor = start("doctor", USERS[0], USERS[0], "doctor", "--config", name)
        doctor.wait(60)
        cure = doctor.out() + doctor.err()
        if wanted not in cure or re.search(r"-aG (root|\$\(stat)", cure):
            raise TestbedError(f"the doctor's cure is not {wanted!r}\n{cure}")
    receivers = []
    for number in range(12):
        user, service = number % len(USERS), 7100 + number
        home = testbed.path(f"home{number}")
        os.mkdir(home)
        os.chown(home, USERS[user], GROUP)
        receivers.append(start(f"user{user}", USERS[user], GROUP, "recv", "-v", "-p", str(service), "-o", home))
        if not _begun(receivers[-1]):
            break
    last = receivers.pop()
    if last.running() or last.wait(30) != RESOURCE or "all users together" not in last.err() or len(receivers) < 3:
        raise TestbedError(f"receiver {len(receivers)} is not refused for the total, or not that one\n{last.tail()}")
    locked = status_kb(b.pid(), "VmLck")
    for client in b.show("clients"):
        if client["user_bytes"] > quota:
            raise TestbedError(f"a user has more than the quota: {client}")
    print(f"#   {locked} kB are locked, the total is {total >> 10} kB")
    if locked > total >> 10:
        raise TestbedError(f"{locked} kB are locked, the total is {total >> 10} kB")
    for daemon in (a, b):
        daemon.stop()


def _begun(receiver: Process) -> bool:
    """Waits until the receiver waits for senders, or has ended. True: it waits."""
    until(lambda: not receiver.running() or "waiting on port" in receiver.err(), 30, "a receiver, or its end")
    return receiver.running()


def as_user(testbed: Testbed, daemon: Daemon, sluice: str, name: str, uid: int, *args: str, gid: int = GROUP) -> Process:
    """Starts `sluice` for the daemon as a user without further groups. sluice: from shared()."""
    return testbed.start(name, ["setpriv", f"--reuid={uid}", f"--regid={gid}", "--clear-groups",
                                sluice, *args, "--socket", daemon.socket])


def _lists(one: int, *lines: str) -> str:
    """Sections that give service 7100 to one user and 7101 to the group, and nothing else to anybody."""
    return "\n".join((f"[service 7100]\nusers = {one}", f"[service 7101]\nusers = @{GROUP}",
                      "[service *]\nusers = root", *lines)) + "\n"


class _Users:
    """Runs commands for daemons as two users, and reads what they see."""

    def __init__(self, testbed: Testbed, context: Context) -> None:
        self.testbed = testbed
        self.sluice = shared(testbed, context)

    def start(self, daemon: Daemon, user: int, *args: str) -> Process:
        return as_user(self.testbed, daemon, self.sluice, f"user{user}", USERS[user], *args)

    def receive(self, daemon: Daemon, user: int, service: int) -> Process:
        home = self.testbed.path(f"home{user}-{service}")
        os.mkdir(home)
        os.chown(home, USERS[user], GROUP)
        receiver = self.start(daemon, user, "recv", "-v", "-p", str(service), "-o", home)
        daemon.wait_listening(service, receiver)
        return receiver

    def show(self, daemon: Daemon, user: int, what: str) -> Any:
        process = self.start(daemon, user, "show", what, "--json")
        if process.wait(30) != 0:
            raise TestbedError(f"user {user} cannot see {what}\n{process.tail()}")
        top = json.loads(process.out())
        if top.get("only_uid") != (None if what in ("ports", "workers", "capacity") else USERS[user]):
            raise TestbedError(f"{what} does not say whose it is: {top}")
        return top[what]


def _hidden(users: _Users, a: Daemon, b: Daemon) -> None:
    """Each of two users, who receive on B, sees its own and nothing of the other's; root sees both."""
    for user, service in ((0, 7100), (1, 7101)):
        uids = {c["uid"] for c in users.show(b, user, "clients")}
        services = {c["service"] for c in users.show(b, user, "conns")}
        spread = users.show(b, user, "spread")
        if uids != {USERS[user]} or services != {service}:
            raise TestbedError(f"user {user} sees clients of {uids}, services {services}")
        if any("conn" in row or "peer" in row for what in ("history", "trace") for row in users.show(b, user, what)):
            raise TestbedError(f"user {user} sees changes or events of connections")
        if users.show(b, user, "neigh") or len(spread) != len(users.show(b, user, "conns")):
            raise TestbedError(f"user {user} sees neighbours, or the spread of other connections: {spread}")
        if any("changed" in row or "error" in row for row in users.show(b, user, "reload")):
            raise TestbedError("a user sees what a reload has changed")
        if not users.show(b, user, "ports") or not users.show(b, user, "capacity"):
            raise TestbedError("a user does not see totals")
    table = users.start(b, 0, "show", "clients")
    if table.wait(30) != 0 or f"only what belongs to user {USERS[0]}" not in table.err():
        raise TestbedError(f"a table does not say that it leaves something out\n{table.tail()}")
    if {c["uid"] for c in b.show("clients")} < set(USERS[:2]) or not b.show("trace") or not b.show("neigh"):
        raise TestbedError("root does not see everything")
    if [p["peer"] for p in users.show(a, 0, "peers")] != ["b"] or users.show(a, 1, "peers"):
        raise TestbedError("a user must see the peers that it may connect to, and no others")
    taken = users.start(b, 0, "recv", "-o", "-", "-p", "7101")
    one_line(taken, 30, RESOURCE, "another user")
    if str(USERS[1]) in taken.err():
        raise TestbedError(f"a user learns who has a port: {taken.err()}")


@scene("ordinary users: who may accept on a service, connect to a peer, and see what", company=True)
def access(testbed: Testbed, context: Context) -> None:
    if os.geteuid() != 0:
        raise Skip("only root can start processes as other users")
    a, b = memif_pair(testbed, context.build, secured=True, daemon_keys={"socket_group": GROUP}, memory_mb=256,
                      peer_keys=({"users": USERS[0]}, {"services": "7100 7200-7300"}))
    users, known = _Users(testbed, context), b.peers
    b.peers = known + _lists(USERS[0])
    b.reload()

    # Accepting: user 0 and user 1 by number and by group. Neither may have any other service.
    receivers = [users.receive(b, 0, 7100), users.receive(b, 1, 7101)]
    one_line(users.start(b, 1, "recv", "-o", "-", "-p", "7100"), 30, RESOURCE, str(USERS[1]), r"users in \[service 7100\]")
    for user in (0, 1):
        one_line(users.start(b, user, "recv", "-o", "-", "-p", "7200"), 30, RESOURCE, r"users in \[service \*\]")
        one_line(users.start(b, user, "perf", "server"), 30, RESOURCE, r"users in \[service \*\]")

    # Connecting: user 0 may use the peer, user 1 may not.
    file = testbed.path("file")
    with open(file, "wb") as f:
        f.write(os.urandom(100_000))
    os.chmod(file, 0o644)
    sent = users.start(a, 0, "send", "-v", file, f"{ADDR_B}:7100")
    if sent.wait(60) != 0 or f"to b ({ADDR_B}:" not in sent.err():
        raise TestbedError(f"user 0 may send, and must learn to whom\n{sent.tail()}")
    until(lambda: "from a (10.90.0.1:" in receivers[0].err(), 10, "the receiver names its peer", process=receivers[0])
    one_line(users.start(a, 1, "send", file, f"{ADDR_B}:7100"), 30, PEER, str(USERS[1]), r"users in \[peer b\]")

    # The peer may not use a service on which somebody waits. It cannot tell that from one without a listener.
    errors = []
    for service, counter in ((7101, "drop_not_allowed"), (7300, "drop_no_listener")):
        before = b.counters(counter)
        refused = users.start(a, 0, "send", file, f"{ADDR_B}:{service}")
        one_line(refused, 30, PEER, "nobody receives there")
        errors.append(refused.err().replace(str(service), "N"))
        if b.counters(counter) != before + 1:
            raise TestbedError(f"{counter} does not count service {service}")
    if errors[0] != errors[1]:
        raise TestbedError(f"a sender can tell the two refusals apart: {errors}")

    _hidden(users, a, b)

    # A reload takes service 7100 away from user 0, and gives it to user 1. User 1's receiver goes on.
    b.peers = known + _lists(USERS[1])
    b.reload()
    if receivers[0].wait(30) != 3 or "users in [service 7100]" not in receivers[0].err():
        raise TestbedError(f"user 0 keeps a service that it may not have any more\n{receivers[0].tail()}")
    users.receive(b, 1, 7100)
    receivers[1].must_run()
    for daemon in (a, b):
        daemon.stop()


def shared(testbed: Testbed, context: Context) -> str:
    """The path of a copy of the command that users other than root may run."""
    os.chmod(testbed.dir, 0o755)
    copy = testbed.path("sluice-for-users")
    shutil.copy(context.build.program("sluice"), copy)
    os.chmod(copy, 0o755)
    return copy
