# SPDX-License-Identifier: BSD-3-Clause
"""[live tcp]: the kernel's TCP from one network namespace to another through sluice-emu, and probes beside it.

  there, back     paths (doc/path.md), as a line each
  sndbuf, rcvbuf  bytes of the socket buffers, as setsockopt() is given them
  congestion      of the kernel's
  start           s, when data begin to flow; probes go from the beginning on
  from, until     s, of what is observed
  every           s between probes; lengths: of their two classes, bytes of IP; names: of the classes
  sample          s, of series

All runs go at the same time, through one box: each has an address of its own, and a chain of its own
behind it, so that none meets another.
"""
import bisect
import json
import os
import statistics
import sys

KEYS = ("there", "back", "sndbuf", "rcvbuf", "congestion", "start", "from", "until", "every", "lengths", "names", "sample")
GROUPS, ADDRESSES = 3, 60  # of a /26 of addresses each, behind those of the two hosts
PEER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "live_peer.py")


def lack():
    from testbed import net

    why = net.can_netns()
    return why and f"{why}; run it as root, where namespaces can be made"


def read(section, keys):
    from .live import Reader

    r = Reader(section, keys)
    section.only(*KEYS)
    found = {"there": r.word("there", ""), "back": r.word("back", ""), "congestion": r.word("congestion", "reno"),
             "sndbuf": int(r.number("sndbuf", 65536, 1)), "rcvbuf": int(r.number("rcvbuf", 65536, 1)),
             "start": r.number("start", 3), "from": r.number("from", 5), "until": r.number("until", 15),
             "every": r.number("every", 0.1, 0.001), "sample": r.number("sample", 0.25, 0.01),
             "names": r.word("names", "first second").split(), "lengths": r.word("lengths", "46 68").split()}
    if len(found["names"]) != 2 or len(found["lengths"]) != 2 or not all(n.isdigit() for n in found["lengths"]):
        section.error("names", "there are two classes of probes; write \"names = short long\" and \"lengths = 46 68\"")
    found["lengths"] = [int(n) for n in found["lengths"]]
    if not all(42 <= n <= 1500 for n in found["lengths"]):
        section.error("lengths", "a probe has 42 to 1500 bytes, its IP header included; correct it")
    if not 0 < found["start"] <= found["from"] < found["until"]:
        section.error("from", "0 < start <= from < until must hold; correct them")
    return found


def batches(tasks):
    """[[(key, keys, seed, group)]]: what goes at the same time: one timing, few paths."""
    out = []
    for key, keys, seed in tasks:
        paths, times = (keys["there"], keys["back"]), (keys["start"], keys["until"])
        for batch in out:
            mine = batch["paths"]
            if batch["times"] != times or (paths not in mine and len(mine) == GROUPS):
                continue
            group = mine.setdefault(paths, [])
            if len(group) < ADDRESSES:
                break
        else:
            batch = {"times": times, "paths": {paths: []}}
            out.append(batch)
        batch["paths"][paths].append((key, keys, seed))
    return [b["paths"] for b in out]


def address(group, i):
    return f"10.91.0.{64 * (group + 1) + 2 + i}"


def specs(paths):
    """(forward, reverse) of the box: for each group its path, of which every address gets one of its own."""
    rules = []
    for side, which in (("dst", 0), ("src", 1)):
        parts = [f"{side} 10.91.0.{64 * (g + 1)}/26 ( each {side} max {ADDRESSES} ( {path[which]} ) )"
                 for g, path in enumerate(paths)]
        rules.append("match " + " or ".join(parts))
    return rules


def drops(direction):
    """[{instance: frames dropped}] of the groups' chains, from the box's report. An instance is a flow, in the
    order in which their first packets came."""
    groups = []
    for e in direction["elements"]:
        if e["kind"] == "each":
            groups.append({})
        elif e["depth"] > 1:
            groups[-1][e["instance"]] = groups[-1].get(e["instance"], 0) + e["dropped"]
    return groups


def play(testbed, build, paths):
    """[(key, keys, what left says of the flow, what right does, frames dropped on the way there)]"""
    from testbed import net, process
    from testbed.box import kernel_box
    from testbed.pair import pair_cpus

    flows = [{"address": address(g, i), **keys} for g, group in enumerate(paths.values())
             for i, (_, keys, _) in enumerate(group)]
    seed = next(iter(paths.values()))[0][2]
    forward, reverse = specs(paths)
    spaces, box = kernel_box(testbed, build, forward, reverse, options=("--seed", seed))
    mac = net.mac(spaces["right"], "slright")
    for flow in flows:
        net.address(spaces["right"], "slright", flow["address"] + "/24")
        # So that first packets come in the order of the flows, and nobody else's.
        net.ip(spaces["left"], "neigh", "add", flow["address"], "lladdr", mac, "dev", "slleft", "nud", "permanent")
    for ns in spaces.values():
        # Segments of 1460 bytes, as in 1993; nothing is remembered from flow to flow.
        for name, value in (("tcp_timestamps", 0), ("tcp_no_metrics_save", 1)):
            testbed.run("sysctl", ["sh", "-c", f"echo {value} >/proc/sys/net/ipv4/{name}"], ns=ns)
    plan = testbed.path("flows.json")
    with open(plan, "w", encoding="utf-8") as f:
        json.dump(flows, f)
    cpus = [pair_cpus()[1][0]]  # not the box's
    right = testbed.start("right", [sys.executable, "-B", PEER, "right", plan], ns=spaces["right"], cpus=cpus)
    process.until(lambda: "listening" in right.err() or not right.running(), 20, "the receiver listens")
    left = testbed.start("left", [sys.executable, "-B", PEER, "left", plan], ns=spaces["left"], cpus=cpus)
    sent = json.loads(left.check(flows[0]["until"] + 60))
    if right.stop() != 0:
        raise process.TestbedError(f"the receiver ended badly\n{right.tail()}")
    came = json.loads(right.out())
    dropped = [n[i] for n, group in zip(drops(box.stop()["forward"]), paths.values()) for i in range(len(group))]
    ordered = [t for group in paths.values() for t in group]
    return [(key, keys, s, c, n) for (key, keys, _), s, c, n in zip(ordered, sent, came, dropped)]


def increments(keys, sent, came):
    """{class: [(s, increment in s)]}: beyond the least delay before data flowed."""
    out = {}
    for k, name in enumerate(keys["names"]):
        mine = [(at - sent["zero_ns"], took) for number, at, took in came["probes"] if number % 2 == k]
        base = [took for at, took in mine if at < keys["start"] * 1e9] or [took for _, took in mine]
        out[name] = [(at / 1e9, (took - min(base)) / 1e9) for at, took in mine]
    return out


def answer(keys, sent, came, dropped):
    """As the engine's."""
    zero, since, until = sent["zero_ns"], keys["from"], keys["until"]
    reads = [((t - zero) / 1e9, n) for t, n in came["reads"]]
    values = {"throughput.tcp": 8 * sum(n for t, n in reads if since <= t < until) / (until - since),
              "repeats.tcp": sent["repeats"], "dropped.there": dropped, "observed": until - since}
    units = {"throughput.tcp": "bit/s", "repeats.tcp": "segments", "dropped.there": "packets", "observed": "s"}
    flight = [n for t, n in sent["flight"] if since <= t < until]
    values["flight.tcp"] = max(flight, default=None)
    units["flight.tcp"] = "segments"
    series = {"throughput.tcp": {"unit": "bit/s", "t": [], "v": []}}
    cumulated, total = [], 0
    for _, n in reads:
        total += n
        cumulated.append(total)
    times, last = [t for t, _ in reads], 0
    for i in range(1, int(until / keys["sample"]) + 1):
        at = i * keys["sample"]
        n = bisect.bisect_left(times, at)
        now = cumulated[n - 1] if n else 0
        series["throughput.tcp"]["t"].append(at)
        series["throughput.tcp"]["v"].append(8 * (now - last) / keys["sample"])
        last = now
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


def run(testbed, build, tasks, done):
    for paths in batches(tasks):
        mark = testbed.mark()
        played = play(testbed, build, paths)
        testbed.close_to(mark)
        for key, *seen in played:
            done(key, answer(*seen))
