# SPDX-License-Identifier: BSD-3-Clause
"""Ordinary users at a daemon: access by socket_group, and the quota of all of them together."""
import os
import re
import shutil

from .harness import Context, Skip, TestbedError, scene
from testbed.pair import memif_pair
from testbed.process import Process, Testbed

# Users and group need no names.
GROUP = 54321
USERS = (54331, 54332, 54333)
MIB = 1 << 20
RESOURCE = 7


@scene("ordinary users: socket_group lets them in, three share quota_total", memory_gb=1, company=True)
def users(testbed: Testbed, context: Context) -> None:
    if os.geteuid() != 0:
        raise Skip("only root can start processes as other users")
    # Each receiver takes 64 requests of 4 MiB and a little more, so two users fit into the total.
    quota, total = 300 * MIB, 640 * MIB
    a, b = memif_pair(testbed, context.build, daemon_keys={"socket_group": GROUP, "quota": quota,
                                                       "quota_total": total}, memory_mb=256)
    sluice = shared(testbed, context)
    config = testbed.path("none.conf")
    with open(config, "w", encoding="ascii") as f:
        f.write("[daemon]\n")
    os.chmod(config, 0o644)

    def start(name: str, uid: int, gid: int, *args: str) -> Process:
        return testbed.start(name, ["setpriv", f"--reuid={uid}", f"--regid={gid}", "--clear-groups",
                                sluice, *args, "--socket", b.socket])

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
    for number, uid in enumerate(USERS):
        home = testbed.path(f"home{number}")
        os.mkdir(home)
        os.chown(home, uid, GROUP)
        receivers.append(start(f"user{number}", uid, GROUP, "recv", "-v", "-p", str(7100 + number),
                               "--buffers", "64", "-o", home))
        if number < 2:
            b.wait_listening(7100 + number, receivers[-1])
    if receivers[2].wait(60) != RESOURCE or "all users together" not in receivers[2].err():
        raise TestbedError(f"the third user is not refused for the total\n{receivers[2].tail()}")
    locked = b.holdings()["locked_kB"]
    for client in b.show("clients"):
        if client["user_bytes"] > quota:
            raise TestbedError(f"a user has more than the quota: {client}")
    print(f"#   {locked} kB are locked, the total is {total >> 10} kB")
    if locked > total >> 10:
        raise TestbedError(f"{locked} kB are locked, the total is {total >> 10} kB")
    for daemon in (a, b):
        daemon.stop()


def shared(testbed: Testbed, context: Context) -> str:
    """The path of a copy of the command that users other than root may run."""
    os.chmod(testbed.dir, 0o755)
    copy = testbed.path("sluice-for-users")
    shutil.copy(context.build.program("sluice"), copy)
    os.chmod(copy, 0o755)
    return copy
