# SPDX-License-Identifier: BSD-3-Clause
"""The tools over the kernel's TCP: iperf3 from memory to memory; rsync, scp and rclone with files."""
import os
from dataclasses import dataclass

from testbed import baselines
from testbed.process import Process, TestbedError

from . import outputs
from .tool import (
    FILE, KERNEL, LEFT, LOOK_S, MEMORY, OVER_TCP, RIGHT, Outcome, Place, Program, Tool, debian, stop, transferred)

RSYNC_PORT, RCLONE_PORT = 8730, 8080
RSYNCD = """use chroot = no
uid = {uid}
gid = {gid}
[in]
path = {folder}
read only = no
"""


@dataclass(kw_only=True)
class Iperf(Program):
    """A TCP from memory to memory, for place.seconds."""
    congestion: str

    def lack(self) -> str | None:
        with open("/proc/sys/net/ipv4/tcp_available_congestion_control", encoding="ascii") as f:
            kinds = f.read().split()
        return super().lack() or (None if self.congestion in kinds else f"this kernel has no TCP {self.congestion}")

    def cure(self) -> str:
        return super().cure() if super().lack() is not None else f"modprobe tcp_{self.congestion}"

    def run(self, place: Place) -> Outcome:
        port = baselines.IPERF_PORT
        server = place.start("iperf3-server", ["iperf3", "-s", "-1", "-p", port], "right")
        place.listens("right", port, server)
        place.begin()
        client = place.start("iperf3", ["iperf3", "-c", RIGHT, "-p", port, "-C", self.congestion, "-t",
                                        place.seconds, "-J"], "left")
        seconds = baselines.wait_all([client, server], place.limit_s, place.began, None, LOOK_S)
        outcome = place.end(Outcome())
        stop([client, server])
        if seconds is None:
            raise TestbedError(f"not within {place.limit_s:g} s")
        said = outputs.iperf3(client.out())
        outcome.bytes, outcome.seconds, outcome.again_percent = said.bytes, said.seconds, said.again_percent
        return outcome


class Counted(Program):
    """A file over TCP. The kernel of the left side, which sends the file, counts what it sends again."""

    def serve(self, place: Place) -> None:
        raise NotImplementedError

    def send(self, place: Place) -> Process:
        raise NotImplementedError

    def run(self, place: Place) -> Outcome:
        self.serve(place)
        before = place.snmp()
        place.begin()
        outcome = transferred(place, [self.send(place)])
        if not place.path.competitor:  # whose segments would count, too
            outcome.again_percent = outputs.retransmitted(before, place.snmp())
        return outcome


class Rsync(Counted):
    """To a daemon of rsync's own: nothing is encrypted."""

    def serve(self, place: Place) -> None:
        config = place.testbed.path("rsyncd.conf")
        with open(config, "w", encoding="utf-8") as f:
            f.write(RSYNCD.format(folder=place.folder, uid=os.geteuid(), gid=os.getegid()))
        server = place.start("rsync-daemon", ["rsync", "--daemon", "--no-detach", "--config", config, "--address",
                                              RIGHT, "--port", RSYNC_PORT], "right")
        place.listens("right", RSYNC_PORT, server)

    def send(self, place: Place) -> Process:
        return place.start("rsync", ["rsync", "--whole-file", place.source,
                                     f"rsync://{RIGHT}:{RSYNC_PORT}/in/target"], "left")


class Scp(Counted):
    """To a server with keys of its own: OpenSSH's, or dropbear where that is not installed. All is encrypted."""

    def lack(self) -> str | None:
        """Either server will do."""
        return super().lack() if baselines.missing("sshd") else None

    def cure(self) -> str:
        return "apt-get install openssh-client, and openssh-server or dropbear-bin"

    def version(self) -> str:
        return super().version() if baselines.missing("sshd") else debian("openssh-client", "openssh-server")

    def serve(self, place: Place) -> None:
        spaces = place.ends.spaces
        found = baselines.scp_over(place.testbed, [spaces["left"], spaces["right"]], RIGHT, place.group.words(),
                                   place.ends.cpus)
        assert found is not None  # lack() has looked
        self.baseline = found
        place.commands.append("right# dropbear" if baselines.missing("sshd") else "right# sshd -D")

    def send(self, place: Place) -> Process:
        words = [word.format(source=place.source, target=place.target) for word in self.baseline.args]
        return place.start("scp", ["env", f"HOME={place.testbed.dir}", *words], "left")


class Rclone(Counted):
    """From a web server of rclone's own: nothing is encrypted. Files from 250 MB on are copied in 4 streams, as
    rclone does by default when it fetches a file."""

    def serve(self, place: Place) -> None:
        server = place.start("rclone-server", ["rclone", "serve", "http", "--config", os.devnull, "--addr",
                                               f"{LEFT}:{RCLONE_PORT}", os.path.dirname(place.source)], "left")
        place.listens("left", RCLONE_PORT, server)

    def send(self, place: Place) -> Process:
        remote = f":http,url=\"http://{LEFT}:{RCLONE_PORT}\":{os.path.basename(place.source)}"
        # Without room set aside for the file, what has been written shows what has arrived.
        return place.start("rclone", ["rclone", "copyto", "--config", os.devnull, "--retries", "1",
                                      "--local-no-preallocate", remote, place.target], "right")


def tools() -> list[Tool]:
    def iperf(congestion: str, offloads: bool) -> Iperf:
        return Iperf(name=f"iperf3-{congestion}{'-off' if not offloads else ''}",
                     title=f"iperf3, {congestion}{', no offloads' if not offloads else ''}", kind=KERNEL, what=MEMORY,
                     needs=["iperf3"], package="iperf3", congestion=congestion, offloads=offloads)

    return [*(iperf(congestion, offloads) for congestion in ("cubic", "bbr") for offloads in (False, True)),
            Rsync(name="rsync", title="rsync", what=FILE, kind=OVER_TCP, needs=["rsync"], package="rsync"),
            Scp(name="scp", title="scp", what=FILE, kind=OVER_TCP,
                needs=["scp", "dropbear", "dbclient", "dropbearkey"], package="openssh-client dropbear-bin"),
            Rclone(name="rclone", title="rclone", what=FILE, kind=OVER_TCP, needs=["rclone"], package="rclone")]
