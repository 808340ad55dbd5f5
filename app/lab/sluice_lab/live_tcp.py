# SPDX-License-Identifier: BSD-3-Clause
"""[live tcp]: the kernel's TCP from one network namespace to another through sluice-emu, and probes beside it.

  there, back     paths (doc/path.md), one line each
  sndbuf, rcvbuf  bytes of the socket buffers, as given to setsockopt()
  congestion      the kernel's algorithm
  start           s, when data begin to flow; probes are sent from the beginning
  from, until     s, the observed time
  every           s between probes
  lengths, names  of the two classes of probes: bytes of IP, and names
  sample          s, interval of series

All runs go at the same time, through one box. Each has a separate address, and the box has a separate chain for
each address, so runs do not affect one another.
"""
import bisect
import json
import os
import statistics
import sys
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict

from .conf import Section
from .engine import Answer, Done
from .store import Series

if TYPE_CHECKING:
    from testbed.daemon import Build
    from testbed.process import Testbed

GROUPS, ADDRESSES = 3, 60  # each group has a /26 of addresses, after those of the two hosts
PEER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "live_peer.py")

# Not a class, for `from` is a word of Python.
Keys = TypedDict("Keys", {
    "there": str, "back": str, "sndbuf": int, "rcvbuf": int, "congestion": str, "start": float, "from": float,
    "until": float, "every": float, "lengths": list[int], "names": list[str], "sample": float})
Task = tuple[int, Keys, int]  # key, keys, seed
Batch = dict[tuple[str, str], list[Task]]  # the runs of each pair of paths, there and back


class Played(NamedTuple):
    """A run, and what was observed."""
    key: int
    keys: Keys
    sent: dict[str, Any]  # of the left host (live_peer.py)
    came: dict[str, Any]  # of the right host
    dropped: int  # frames that the path there dropped


def lack() -> str | None:
    from testbed import net

    why = net.can_netns()
    return None if why is None else f"{why}; run it as root, where namespaces can be made"


def read(section: Section, keys: dict[str, str]) -> Keys:
    from .live import Reader

    r = Reader(section, keys)
    section.only(*Keys.__annotations__)
    names, lengths = r.word("names", "first second").split(), r.word("lengths", "46 68").split()
    if len(names) != 2 or len(lengths) != 2 or not all(n.isdigit() for n in lengths):
        section.error("names", "there are two classes of probes; write \"names = short long\" and \"lengths = 46 68\"")
    found: Keys = {
        "there": r.word("there", ""), "back": r.word("back", ""), "congestion": r.word("congestion", "reno"),
        "sndbuf": int(r.number("sndbuf", 65536, 1)), "rcvbuf": int(r.number("rcvbuf", 65536, 1)),
        "start": r.number("start", 3), "from": r.number("from", 5), "until": r.number("until", 15),
        "every": r.number("every", 0.1, 0.001), "sample": r.number("sample", 0.25, 0.01),
        "names": names, "lengths": [int(n) for n in lengths]}
    if not all(42 <= n <= 1500 for n in found["lengths"]):
        section.error("lengths", "a probe has 42 to 1500 bytes, its IP header included; correct it")
    if not 0 < found["start"] <= found["from"] < found["until"]:
        section.error("from", "0 < start <= from < until must hold; correct them")
    return found


def batches(tasks: list[Task]) -> list[Batch]:
    """Runs that can go at the same time: they start and end together, and have at most GROUPS pairs of paths."""
    out: list[tuple[tuple[float, float], Batch]] = []
    for task in tasks:
        keys = task[1]
        paths, times = (keys["there"], keys["back"]), (keys["start"], keys["until"])
        for its_times, batch in out:
            if its_times != times or (paths not in batch and len(batch) == GROUPS):
                continue
            group = batch.setdefault(paths, [])
            if len(group) < ADDRESSES:
                break
        else:
            batch = {paths: []}
            out.append((times, batch))
        batch[paths].append(task)
    return [batch for _, batch in out]


def address(group: int, i: int) -> str:
    return f"10.91.0.{64 * (group + 1) + 2 + i}"


def specs(paths: Batch) -> list[str]:
    """[forward, reverse] of the box: each group has its path, and each address a separate instance of it."""
    rules = []
    for side, which in (("dst", 0), ("src", 1)):
        parts = [f"{side} 10.91.0.{64 * (g + 1)}/26 ( each {side} max {ADDRESSES} ( {path[which]} ) )"
                 for g, path in enumerate(paths)]
        rules.append("match " + " or ".join(parts))
    return rules


def drops(direction: dict[str, Any]) -> list[dict[int, int]]:
    """[{instance: frames dropped}], for each group, from the box's report. Each flow has an instance; they are
    numbered in the order of the flows' first packets."""
    groups: list[dict[int, int]] = []
    for e in direction["elements"]:
        if e["kind"] == "each":
            groups.append({})
        elif e["depth"] > 1:
            groups[-1][e["instance"]] = groups[-1].get(e["instance"], 0) + e["dropped"]
    return groups


def play(testbed: "Testbed", build: "Build", paths: Batch) -> list[Played]:
    from testbed import net, process
    from testbed.box import kernel_box
    from testbed.pair import pair_cpus

    flows: list[dict[str, Any]] = [{"address": address(g, i), **keys} for g, group in enumerate(paths.values())
                                   for i, (_, keys, _) in enumerate(group)]
    seed = next(iter(paths.values()))[0][2]
    forward, reverse = specs(paths)
    spaces, box = kernel_box(testbed, build, forward, reverse, options=("--seed", seed))
    mac = net.mac(spaces["right"], "slright")
    for flow in flows:
        net.address(spaces["right"], "slright", flow["address"] + "/24")
        # Static, so that no ARP comes first: drops() needs the first packets in the order of the flows.
        net.ip(spaces["left"], "neigh", "add", flow["address"], "lladdr", mac, "dev", "slleft", "nud", "permanent")
    for ns in spaces.values():
        # Segments have 1460 bytes, as in 1993, and a flow inherits nothing from earlier ones.
        for name, value in (("tcp_timestamps", 0), ("tcp_no_metrics_save", 1)):
            testbed.run("sysctl", ["sh", "-c", f"echo {value} >/proc/sys/net/ipv4/{name}"], ns=ns)
    plan = testbed.path("flows.json")
    with open(plan, "w", encoding="utf-8") as f:
        json.dump(flows, f)
    cpus = [pair_cpus()[1][0]]  # not the box's
    right = testbed.start("right", [sys.executable, "-B", PEER, "right", plan], ns=spaces["right"], cpus=cpus)
    process.until(lambda: "listening" in right.err(), 20, "the receiver listens", process=right)
    left = testbed.start("left", [sys.executable, "-B", PEER, "left", plan], ns=spaces["left"], cpus=cpus)
    sent = json.loads(left.check(flows[0]["until"] + 60))
    if right.stop() != 0:
        raise process.TestbedError(f"the receiver ended badly\n{right.tail()}")
    came = json.loads(right.out())
    dropped = [n[i] for n, group in zip(drops(box.stop()["forward"]), paths.values()) for i in range(len(group))]
    ordered = [t for group in paths.values() for t in group]
    return [Played(key, keys, s, c, n) for (key, keys, _), s, c, n in zip(ordered, sent, came, dropped)]


def increments(keys: Keys, sent: dict[str, Any], came: dict[str, Any]) -> dict[str, list[tuple[float, float]]]:
    """{class: [(s, increment in s)]}; an increment is the delay beyond the least one before data flowed."""
    out = {}
    for k, name in enumerate(keys["names"]):
        mine = [(at - sent["zero_ns"], took) for number, at, took in came["probes"] if number % 2 == k]
        base = [took for at, took in mine if at < keys["start"] * 1e9] or [took for _, took in mine]
        out[name] = [(at / 1e9, (took - min(base)) / 1e9) for at, took in mine]
    return out


def answer(played: Played) -> Answer:
    _, keys, sent, came, dropped = played
    zero, since, until = sent["zero_ns"], keys["from"], keys["until"]
    reads = [((t - zero) / 1e9, n) for t, n in came["reads"]]
    values: dict[str, float | None] = {
        "throughput.tcp": 8 * sum(n for t, n in reads if since <= t < until) / (until - since),
        "repeats.tcp": sent["repeats"], "dropped.there": dropped, "observed": until - since}
    units = {"throughput.tcp": "bit/s", "repeats.tcp": "segments", "dropped.there": "packets", "observed": "s"}
    flight = [n for t, n in sent["flight"] if since <= t < until]
    values["flight.tcp"] = max(flight, default=None)
    units["flight.tcp"] = "segments"
    rates: list[float | None] = []
    cumulated, total = [], 0
    for _, n in reads:
        total += n
        cumulated.append(total)
    times, last = [t for t, _ in reads], 0
    ends = [i * keys["sample"] for i in range(1, int(until / keys["sample"]) + 1)]
    for at in ends:
        n = bisect.bisect_left(times, at)
        now = cumulated[n - 1] if n else 0
        rates.append(8 * (now - last) / keys["sample"])
        last = now
    series: dict[str, Series] = {"throughput.tcp": {"unit": "bit/s", "t": ends, "v": rates}}
    for name, points in increments(keys, sent, came).items():
        mine = [v for t, v in points if since <= t < until]
        k = keys["names"].index(name)
        out = sum(number % 2 == k and since <= (t - zero) / 1e9 < until for number, t in sent["probes"])
        found = {"increment_median": statistics.median(mine) if mine else None,
                 "increment_max": max(mine, default=None)}
        values.update({f"{m}.owd.{name}": v for m, v in found.items()})
        units.update({f"{m}.owd.{name}": "s" for m in found})
        values[f"probes_lost.owd.{name}"] = out - len(mine)
        units[f"probes_lost.owd.{name}"] = "packets"
        series[f"increment.owd.{name}"] = {"unit": "s", "t": [t for t, _ in points], "v": [v for _, v in points]}
    return {"values": values, "units": units, "series": series}


def run(testbed: "Testbed", build: "Build", tasks: list[Task], done: Done) -> None:
    for paths in batches(tasks):
        mark = testbed.mark()
        played = play(testbed, build, paths)
        testbed.close_to(mark)
        for p in played:
            done(p.key, answer(p))
