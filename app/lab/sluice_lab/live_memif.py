# SPDX-License-Identifier: BSD-3-Clause
"""[live memif]: two daemons joined by a memif, and `sluice perf` from the memory of one to that of the other.

  size      bytes of a request
  way       copy: synchronous writes with partial copy; wait: one write, then waits for its acknowledgement
  seconds   of sending
  idle      of the daemons: sleep, poll
  mtu       bytes, at most 65385
  wire      path (doc/path.md) in each direction, in real time, in the sending daemon; default none
  rate      first rate of the daemons

CPU time covers all threads of the daemon, from /proc, and the command, from getrusage(), for each 10^9 bytes
of payload. A daemon that polls always uses its whole core, so its work is the time of its workers' rounds that
did something.
"""
import json
import os
from typing import TYPE_CHECKING, TypedDict

from .conf import Section
from .engine import Answer, Done

if TYPE_CHECKING:
    from testbed.daemon import Build, Daemon
    from testbed.process import Testbed


class Keys(TypedDict):
    size: int
    way: str
    seconds: float
    idle: str
    mtu: int
    wire: str
    rate: str


def lack() -> str | None:
    return None


def read(section: Section, keys: dict[str, str]) -> Keys:
    from .live import Reader

    r = Reader(section, keys)
    section.only(*Keys.__annotations__)
    return {"size": int(r.number("size", 131072, 1)), "way": r.word("way", "copy", "copy", "wait"),
            "seconds": r.number("seconds", 1, 0.1), "idle": r.word("idle", "sleep", "sleep", "poll"),
            "mtu": int(r.number("mtu", 9000, 1500, 65385)), "wire": r.word("wire", ""), "rate": r.word("rate", "")}


def cpu_s(pid: int) -> float:
    """CPU time of all threads, in ns from schedstat; the ticks of 10 ms in stat are too coarse for one second."""
    total = 0
    for tid in os.listdir(f"/proc/{pid}/task"):
        try:
            with open(f"/proc/{pid}/task/{tid}/schedstat", encoding="ascii") as f:
                total += int(f.read().split()[0])
        except FileNotFoundError:
            continue
    return total / 1e9


def busy_s(daemon: "Daemon") -> float:
    return float(sum(w["busy_ns"] for w in daemon.show("workers")) / 1e9)


def measure(testbed: "Testbed", build: "Build", keys: Keys) -> Answer:
    from testbed.pair import ADDR_B, memif_pair

    wired = keys["wire"] != ""
    first = {"first_rate": keys["rate"]} if keys["rate"] else {}
    large = keys["mtu"] > 9000  # as many bytes in fewer packets
    a, b = memif_pair(testbed, build, mtu=keys["mtu"], keys=first,
                      a_keys={"wire": keys["wire"], "wire_packets": 512 if large else 4096} if wired else None,
                      b_keys={"checksum": "software"} if wired else None,
                      daemon_keys={"idle": keys["idle"]}, memory_mb=512 if large else 256)
    server = b.sluice("server", "perf", "server", "-1", "--json", "-q", "--memory", "128M")
    b.wait_listening()
    before = [(cpu_s(d.pid()), busy_s(d)) for d in (a, b)]
    way = ["--sync"] if keys["way"] == "copy" else ["--outstanding", "1"]
    client = a.sluice("client", "perf", "client", "--json", "-q", "-i", "0", "-t", f"{keys['seconds'] * 1000:.0f}ms",
                      "-l", keys["size"], "--memory", "128M", *way, ADDR_B)
    result = json.loads(client.check(keys["seconds"] * 4 + 60))
    server.check(30)
    after = [(cpu_s(d.pid()), busy_s(d)) for d in (a, b)]
    for daemon in (a, b):
        daemon.stop()
    gb = result["peer_rx"]["bytes"] / 1e9
    values: dict[str, float | None] = {
        "throughput.perf": result["goodput_bps"], "bytes.perf": result["peer_rx"]["bytes"],
        "repeats.perf": result["repeats"], "rtt.perf": result["rtt_ns"] / 1e9, "hugepages": int(build.huge)}
    units = {"throughput.perf": "bit/s", "bytes.perf": "bytes", "repeats.perf": "units", "rtt.perf": "s"}
    for i, (side, command) in enumerate((("sender", result["cpu"]), ("receiver", result["peer_cpu"]))):
        parts = {"daemon": after[i][0] - before[i][0], "command": command["user_s"] + command["system_s"]}
        found = {f"cpu.{side}": sum(parts.values()), f"work.{side}": after[i][1] - before[i][1],
                 **{f"cpu.{side}.{part}": v for part, v in parts.items()}}
        values.update({name: v / gb if gb > 0 else None for name, v in found.items()})
        units.update({name: "s/GB" for name in found})
    return {"values": values, "units": units, "series": {}}


def run(testbed: "Testbed", build: "Build", tasks: list[tuple[int, Keys, int]], done: Done) -> None:
    for key, keys, _ in tasks:
        mark = testbed.mark()
        answer = measure(testbed, build, keys)
        testbed.close_to(mark)
        done(key, answer)
