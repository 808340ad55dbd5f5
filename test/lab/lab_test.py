#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests of sluice-lab: its commands, its messages, the example of doc/lab.md, the quick form of each experiment.

Usage: lab_test.py SLUICE-LAB SOURCE_ROOT [REGEX]      TAP on standard output; REGEX: selects checks by name
"""
import json
import math
import os
import re
import statistics
import subprocess
import sys
import threading
import time
from typing import Any

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import common  # noqa: E402
from common import LAB, ROOT, SMALL, Check, Skip, find, lab, need, read, small  # noqa: E402


def experiments() -> dict[str, bool]:
    """{name: it is live}"""
    return {line.split()[0]: line.endswith(" (live)") for line in lab("list").stdout.splitlines()}


def check_list(_folder: str) -> None:
    files = {f[:-5] for f in os.listdir(os.path.join(ROOT, "config/lab")) if f.endswith(".conf")}
    need(set(experiments()) == files, f"list has {experiments()}, the folder {files}")
    need([name for name, live in experiments().items() if live] == ["fr-regions-live", "vt-size-live"], experiments())


# Values that the papers print, by the first word of the experiments' names. Each value has its place in the paper; some
# values are read from a text such as "a little below".
PRINTED: dict[str, dict[float, str]] = {
    "atm": {
        569.087: "table 1: cells received, in millions", 0: "table 1: cells lost", 13: "figure 6: mean, us",
        3880: "figure 7: mean, us", 4.5: "1/4 to 1/5 of the LAN", 45: "footnote 1: Mbit/s at most",
        0.6: "footnote 1: about 60 %", 1: "UDP: no difference",
    },
    "fr": {
        181.7: "3.1: kbit/s", 0.77: "3.1: 181.7 of 236, a little below 80 %", 236: "3.1: kbit/s",
        60: "3.2: 40 to 80 ms",
        1180: "3.2: 1.18 s", 26: "3.2: MSS, right border", 2: "3.3: in the router's queue, second in the path",
        7: "5: MSS", 200: "5: about 0.2 s", 162: "5: in all", 1200: "4.1: about 1.2 s", 100: "4.1: below 0.1 s",
        1: "4.2: nearly no difference",
    },
    "occupancy": {0.61: "4.2: 1.61 s", 0.2: "4.2: 1.20 s", 3.05: "4.2: 0.61 over 0.20", 0.5: "4.2: about 1/2"},
    "vt": {50: "4.2: about 50 %"},
    "xtp": {24: "4.3.1: of 1000 packets", 75: "4.3.1: of 1000 packets", 40: "4.3.1: packets", 13: "4.3.1: packets"},
}


def check_papers(_folder: str) -> None:
    """A finding has `paper` only where the paper prints that value."""
    sys.path.insert(0, os.path.join(ROOT, "app", "lab"))
    from sluice_lab import conf
    used = set()
    for name in experiments():
        paper = name.split("-")[0]
        for section in conf.Experiment(os.path.join(ROOT, "config/lab", name + ".conf")).all("finding"):
            value = section.number("paper")
            need(value is None or value in PRINTED[paper], f"{name}: [{section.title}]: the paper has no {value}")
            used.add((paper, value))
    unused = [(p, v) for p, values in PRINTED.items() for v in values if (p, v) not in used]
    need(not unused, f"no finding has the values {unused}")


def check_run(folder: str) -> None:
    done = lab("run", small(folder), "--out", folder, "--json", "--quiet")
    need(done.returncode == 0, done.stderr)
    found = json.loads(done.stdout)
    need(len(found) == 1 and found[0]["finding"] == "carries" and found[0]["holds"], done.stdout)
    need(set(found[0]) >= {"finding", "paper", "ours", "unit", "holds"}, done.stdout)
    files = set(os.listdir(os.path.join(folder, "small")))
    need(files >= {"rows.jsonl", "rows.csv", "findings.json", "rate.png", "rate.svg"}, files)
    rows = [json.loads(line) for line in read(folder, "small", "rows.jsonl").splitlines()[1:]]
    need(len(rows) == 6 and all(len(r["series"]["throughput.bulk"]["v"]) == 20 for r in rows), "rows")
    need(len(read(folder, "small", "rows.csv").splitlines()) == 7, "csv")


def check_same_seed(folder: str) -> None:
    path = small(folder, lambda t: t.replace("delay 1ms", "delay 5ms 4ms").replace("8 <= ours", "0 < ours"))
    rows = []
    for out, jobs, seed in (("one", "1", "7"), ("two", "2", "7"), ("other", "2", "8")):
        out = os.path.join(folder, out)
        done = lab("run", path, "--out", out, "--seed", seed, "--jobs", jobs, "--no-figures")
        need(done.returncode == 0, done.stderr)
        rows.append([{**json.loads(line), "seed": 0} for line in
                     read(out, "small", "rows.jsonl").splitlines()[1:]])
    need(rows[0] == rows[1], "the same seed gave other rows")
    need(len(rows[2]) == 6 and all(a["values"] != b["values"] for a, b in zip(rows[0], rows[2])),
         "another seed gave the same rows")


def check_finding_fails(folder: str) -> None:
    path = small(folder, lambda t: t.replace("holds = 8 <= ours <= 10", "holds = ours > 1000"))
    done = lab("run", path, "--out", folder, "--no-figures")
    need(done.returncode == 1 and "FAILS" in done.stdout, done.stdout + done.stderr)


def check_known(folder: str) -> None:
    """A reason excuses a range of values; outside it the finding fails like any other."""
    for known, excused in (("8 <= ours <= 10", True), ("10 < ours <= 1000", False)):
        instead = f"holds = ours > 1000\nknown = {known}\ndiffers = So it is.\n"
        path = small(folder, lambda t: t.replace("holds = 8 <= ours <= 10\n", instead))
        done = lab("run", path, "--out", folder, "--no-figures")
        need(done.returncode == 1 and "FAILS" in done.stdout, done.stdout + done.stderr)
        need(("So it is." in done.stdout) == excused, done.stdout)
        need(("not as it is known to differ" in done.stdout) != excused, done.stdout)
        found = json.loads(read(folder, "small", "findings.json"))[0]
        need(found["holds"] is False and bool(found["differs"]) == excused and found["known"] == known, found)


def check_quantiles(_folder: str) -> None:
    sys.path.insert(0, os.path.join(ROOT, "app", "lab"))
    from sluice_lab.finding import quantile
    for n in (2, 3, 4, 10, 11, 100):
        values = [float((7 * i * i + 3) % 101) for i in range(n)]
        for cuts in (2, 4, 10):
            wanted = statistics.quantiles(values, n=cuts, method="inclusive")
            got = [quantile(values, (i + 1) / cuts) for i in range(cuts - 1)]
            need(all(math.isclose(a, b) for a, b in zip(got, wanted)), f"{values}: {got}, not {wanted}")
        need(quantile(values, 0) == min(values) and quantile(values, 1) == max(values), values)
    need(quantile([5], 0.9) == 5 and math.isnan(quantile([], 0.5)), "of one value, of none")


def check_set(folder: str) -> None:
    done = lab("run", small(folder), "--out", folder, "--set", "rate=40", "--set", "until=1.5", "--no-figures")
    rows = [json.loads(line) for line in read(folder, "small", "rows.jsonl").splitlines()[1:]]
    need(done.returncode == 3 and len(rows) == 2, done.stderr)  # the finding needs runs at 10
    need(all(20e6 < r["values"]["throughput.bulk"] < 40e6 for r in rows), rows)


SWEPT = """
[finding last]
says = The largest rate up to which nothing is dropped
ours = last(dropped.a.up, 0, rate, rate=[5, 10])
holds = ours >= 0

[finding over]
says = Throughput at other rates, divided by that at 20
ours = most_over(throughput.bulk, replica, rate, 20)
holds = ours < 1

[finding wide]
says = The part of the rates that come near the best
ours = wide(throughput.bulk, 0.9, rate, rate=[5, 10])
holds = ours > 0

[finding course]
says = The median of the series
ours = series_median(throughput.bulk, rate=10)
holds = ours > 0
"""


def check_set_instead_of_sweep(folder: str) -> None:
    """If --set replaces a sweep, findings that have no runs left are not judged, and the exit status is 3."""
    path = small(folder, lambda t: t.replace("until = 2\n", "until = 2\nreplica = 0\n") + SWEPT)
    whole = lab("run", path, "--out", folder, "--no-figures", "--json", "--quiet")
    need({f["finding"] for f in json.loads(whole.stdout)} == {"carries", "last", "over", "wide", "course"},
         whole.stderr)
    done = lab("run", path, "--out", folder, "--no-figures", "--json", "--quiet", "--set", "rate=7")
    found = json.loads(done.stdout)
    need(done.returncode == 3 and len(found) == 5, done.stdout + done.stderr)
    need(all(f["holds"] is None and f["ours"] is None and "no run" in f["why"] for f in found), found)
    told = lab("run", path, "--out", folder, "--no-figures", "--set", "rate=5")
    need(told.returncode == 3 and "What the path carries: not judged: no run" in told.stdout, told.stdout + told.stderr)
    find(r"holds +The largest rate", told.stdout)


def check_readme(folder: str) -> None:
    """The command that README.md shows."""
    name, given = find(r"sluice-lab run (\S+) --set (\S+)", read(ROOT, "README.md")).groups()
    done = lab("run", name, "--set", given, "--quick", "--no-figures", "--json", "--quiet", "--out", folder)
    found = json.loads(done.stdout)
    judged = [f for f in found if f["holds"] is not None]
    need(done.returncode in (0, 1, 3) and judged and all(f["ours"] is not None for f in judged),
         done.stdout + done.stderr)
    need(all(f["holds"] or f["differs"] for f in judged), judged)


def check_signs(folder: str) -> None:
    """\\# means #, in the engine, too."""
    done = lab("run", small(folder, lambda t: t.replace("bulk", "bulk\\#1")
                            .replace("mean(throughput.bulk\\#1, rate=10)", "8e6")), "--out", folder, "--no-figures")
    rows = read(folder, "small", "rows.jsonl") if done.returncode == 0 else ""
    need("throughput.bulk#1" in rows, done.stderr)


def check_engine_dies(folder: str) -> None:
    """The error is the engine's end, not the broken pipe."""
    sys.path.insert(0, os.path.join(ROOT, "app", "lab"))
    from sluice_lab import LabError, engine
    dead = engine.Engine("/bin/false")
    dead.process.wait()  # so that nothing reads the pipe
    try:
        dead.run("[world]\n", 1, folder)
        raise AssertionError("no error")
    except LabError as e:
        need("the engine ended with status 1" in str(e), e)
    dead.close()


def check_processors(folder: str) -> None:
    """An engine may use the processors of the process that started it, and no others."""
    sys.path.insert(0, os.path.join(ROOT, "app", "lab"))
    from sluice_lab import engine
    ours = os.sched_getaffinity(0)
    for allowed in (ours, {max(ours)}):
        os.sched_setaffinity(0, allowed)
        started = engine.Engine(os.path.join(os.path.dirname(LAB), "sluice-lab-engine"))
        try:
            started.size_mb("[host a]\n[host b]\n", folder)
            found = os.sched_getaffinity(started.process.pid)
        finally:
            started.close()
            os.sched_setaffinity(0, ours)
        need(found == allowed, f"started on {allowed}, it runs on {found}")


def check_shards(folder: str) -> None:
    path = small(folder)
    whole, parts = os.path.join(folder, "whole"), os.path.join(folder, "parts")
    need(lab("run", path, "--out", whole, "--no-figures").returncode == 0, "run")
    for i in (0, 2):
        need(lab("sweep", path, "--out", parts, "--shard", f"{i}/3").returncode == 0, f"shard {i}")
    lacking = lab("merge", parts, "--out", folder)
    need(lacking.returncode == 2 and "2 of 6 runs are missing" in lacking.stderr, lacking.stderr)
    need(lab("sweep", path, "--out", parts, "--shard", "1/3").returncode == 0, "shard 1")
    done = lab("merge", parts, "--out", folder)
    need(done.returncode == 0 and "holds" in done.stdout, done.stdout + done.stderr)
    need(read(folder, "small", "rows.jsonl") == read(whole, "small", "rows.jsonl"), "merged rows differ from a run's")


def check_grid(folder: str) -> None:
    done = lab("sweep", small(folder), "--out", folder, "--grid", "rate=1..4", "--grid", "until=1.2,1.4",
               "--repeat", "2")
    need(done.returncode == 0, done.stderr)
    need(len(read(folder, "small", "rows.csv").splitlines()) == 17, "a grid of 4 x 2, twice")


def check_report(folder: str) -> None:
    need(lab("run", small(folder), "--out", folder).returncode == 0, "run")
    done = lab("report", "--out", folder)
    page = read(folder, "report.html")
    need(done.returncode == 0, done.stderr)
    need(page.count("data:image/svg+xml;base64,") == 1 and "✓ holds" in page, "the page lacks its parts")
    need(not re.search(r"(?:src|href)=\"(?!data:|#)", page), "the page refers to other files")
    need(lab("sweep", small(folder), "--out", folder, "--grid", "rate=5").returncode == 0, "sweep")
    done = lab("report", "--out", folder)
    need("its rows are those of --grid" in done.stderr and "no results" in done.stderr, done.stderr)


def check_far(folder: str) -> None:
    """Thousands of packets are under way, and thousands are requested again: the line takes 2 s, and the buffer
    overflows."""
    path = os.path.join(folder, "far.conf")
    with open(path, "w", encoding="utf-8") as f:
        f.write("[experiment]\ntitle = Far\n[buffer]\ndelay = 2s\nlaw = 8/1e-6/1.001\nload = 50\nload for = 20s\n"
                "until = 30s\n[finding lost]\nsays = Packets that find no room\nours = mean(overflows)\n"
                "holds = ours > 4096\n")
    done = lab("run", path, "--out", folder, "--no-figures")
    need(done.returncode == 0, done.stdout + done.stderr)


TIMES = "[world]\nuntil = ${until}s\nfrom = 1s\n\n"
WORLD = "[host a]\nup = rate ${rate}mbit limit 64kB delay 1ms\n[host b]\n\n[load bulk]\nfrom = a\nto = b\n"
Mistakes = dict[str, tuple[tuple[str, str], str]]  # {name: ((old text, new text), expression for the message)}
MISTAKES: Mistakes = {
    "a key of the world": (("delay 1ms\n", "delay 1ms\nmtv = 1500\n"),
                           r"small\.conf:15: \[host a\] mtv: .*did you mean mtu"),
    "a path": (("delay 1ms", "dellay 1ms"), r"small\.conf:14: \[host a\] up: .*dellay"),
    "a host": (("to = b", "to = c"), r"small\.conf:19: \[load bulk\] to: there is no \[host c\]; "),
    "a value": (("from = 1s", "from = 1 parsec"), r"small\.conf:11: \[world\] from: .*; write for example 10ms"),
    "an expression": (("/ 1e6\n", "/ one\n"), r"small\.conf:28: \[finding carries\] ours: .*correct it"),
    "a measure": (("throughput.bulk, rate", "thruput.bulk, rate"),
                  r"there is no measure thruput\.bulk; there are: .*throughput\.bulk"),
    "a reach for Python": (("mean(throughput.bulk, rate=10)", "().__class__"), r"small\.conf:28: .*correct it"),
    "a parameter": (("${rate}", "${rat}"), r"small\.conf:14: \$\{\.\.\.\}: there is no parameter rat; "),
    "a section": (("[sweep rates]", "[swep rates]"),
                  r"small\.conf:21: \[swep rates\]: there is no such kind of section"),
    "a figure": (("x = rate", "x = size"), r"\[figure rate\] x: there is no parameter size; there are: "),
    "a host to itself": (("to = b", "to = a"), r"small\.conf:19: \[load bulk\] to: a host sends nothing to itself"),
    "no name": (("[load bulk]", "[load]"), r"small\.conf:17: \[load\] it has no name; write \[load NAME\]"),
    "a name twice": (("[load bulk]\n", "[tcp93 bulk]\nfrom = a\nto = b\n[load bulk]\n"),
                     r"small\.conf:17: \[tcp93 bulk\] \[load bulk\] has this name, too"),
    "names of probes": (("[load bulk]\n", "[owd p]\nfrom = a\nto = b\nnames = x x\n[load bulk]\n"),
                        r"small\.conf:20: .*are not two names"),
    "too many": (("[load bulk]\n", "".join(f"[owd p{i}]\nfrom = a\nto = b\n" for i in range(5)) + "[load bulk]\n"),
                 r"small\.conf:29: \[owd p4\] at most 4 sections of this kind are possible; "),
    "paths that are too long": (("rate ${rate}mbit limit 64kB delay 1ms\n[host b]\n", "delay 800ms\n" + "".join(
        f"[host {h}]\nup = delay 800ms\n" for h in "cde") + "[host b]\n" + "".join(
        f"[tcp93 {h}2]\nfrom = {h}\nto = b\nwindow = 100MB\nopen at once = yes\n" for h in "acde")),
        r"small\.conf:9: \[world\] \d+ frames were lost, .*shorten delays"),
    "a host whose long name is cut": (("from = a\n", f"from = {'送信' * 30}\n"),
                                      r"small\.conf:18: \[load bulk\] from: there is no \[host 送信.*; add it"),
    "a name that is too long": (("[load bulk]", f"[load {'ü' * 33}]"),
                                r"small\.conf:17: .* its name is above 64 bytes"),
    "a class's name that is too long": (("[load bulk]\n", f"[owd p]\nfrom = a\nto = b\nnames = {'ü' * 12} x\n"
                                         "[load bulk]\n"), r"small\.conf:20: .* a name is above 22 bytes"),
    "a packet that no frame holds": (("[host b]\n", "[host b]\nmachine = sparc1\nmachine packet = 4096\n"),
                                     r"small\.conf:17: \[host b\] machine packet: 4096 bytes .* a frame of 1514; "),
    "a trial at rate 0": ((WORLD, "[trial]\npath = delay 1ms\nrate = 0\n"),
                          r"small\.conf:15: \[trial\] rate: a trial has a rate above 0"),
    "a trial with too few buffers": ((TIMES + WORLD, "[trial]\npath = delay 1s\nrate = 10000\n"),
                                     r"small\.conf:9: \[trial\] frames: 6000 frames were lost"),
    "a stream with too few buffers": ((TIMES + WORLD, "[stream]\npath = delay 20ms\nrate = 135mbit\nframes = 6300\n"),
                                      r"small\.conf:12: \[stream\] frames: \d+ cells were lost, .* than 6300 were"),
    "cells to skip": ((TIMES + WORLD, "[stream]\npath = delay 1ms\nrate = 135mbit\nskip = 5\n"),
                      r"small\.conf:12: \[stream\] skip: it counts frames"),
    "a stream at rate 0": ((WORLD, "[stream]\npath = delay 1ms\nrate = 0\nframe = 100\n"),
                           r"small\.conf:15: \[stream\] rate: at 0 nothing comes"),
    "a reason without a range": (("holds = 8 <= ours <= 10\n", "holds = ours > 1000\ndiffers = So it is.\n"),
                                 r"small\.conf:31: \[finding carries\] differs: .*known = "),
    "a range without a reason": (("holds = 8 <= ours <= 10\n", "holds = ours > 1000\nknown = ours < 9\n"),
                                 r"small\.conf:31: \[finding carries\] known: .*known = "),
    "a law": ((WORLD, "[buffer]\nlaw = 1,7/1e-5/1.003\n"),
              r"small\.conf:14: \[buffer\] law: .*do not fit the levels; "),
    "a measure of a figure": (("y = throughput.bulk granted", "y = throughput.bulk grated"),
                              r"\[figure rate\] y: there is no measure grated\.bulk; there are: .*granted\.bulk"),
    "a key twice": (("rate = 10\n", "rate = 10\nrate = 9\n"), r"small\.conf:7: .*occurs twice, first in line 6"),
}


def check_mistakes(folder: str) -> None:
    for name, ((old, new), pattern) in MISTAKES.items():
        need(old in SMALL, f"{name}: the test does not fit its file")
        done = lab("run", small(folder, lambda t: t.replace(old, new, 1)), "--out", folder)
        need(done.returncode == 2, f"{name}: status {done.returncode}: {done.stderr}")
        need(re.search(pattern, done.stderr), f"{name}: {done.stderr}")
        need(len(done.stderr.strip().splitlines()) == 1, f"{name}: more than a line: {done.stderr}")


def check_words_as_x(folder: str) -> None:
    """A figure over a parameter whose values are words is an error, too."""
    path = small(folder, lambda t: t.replace("until = 2\n", "until = 2\nlaw = one\n").replace("x = rate", "x = law"))
    done = lab("run", path, "--out", folder)
    need(done.returncode == 2, f"status {done.returncode}: {done.stderr}")
    find(r"small\.conf:35: \[figure rate\] x: law has the value \"one\", which is not a number; ", done.stderr)


def check_hosts(folder: str) -> None:
    """256 hosts, 255 of which send to one. Each host has buffers for its own loads only."""
    path = os.path.join(folder, "many.conf")
    with open(path, "w", encoding="utf-8") as f:
        f.write("[experiment]\ntitle = Many\n[world]\nuntil = 2ms\nframes = 150000\n[host sink]\n")
        for i in range(255):
            f.write(f"[host s{i}]\nup = rate 10gbit\n[load l{i}]\nfrom = s{i}\nto = sink\ndepth = 4\nposted = 4\n")
    done = lab("run", path, "--out", folder, "--no-figures")
    need(done.returncode == 0, done.stderr)
    find(r"many.conf: a run takes \d+ MB of memory; 1 at a time, of \d+ MB that are free", done.stderr)
    row = json.loads(read(folder, "many", "rows.jsonl").splitlines()[1])["values"]
    need(all(row[f"status.l{i}"] == 0 and row[f"in.s{i}.up"] > 0 for i in range(255)), row)


def check_frames(folder: str) -> None:
    """A run may have buffers for many more frames, which do not change its rows."""
    rows = {}
    for frames in (None, 300000):
        world = "[world]" if frames is None else f"[world]\nframes = {frames}"
        path = small(folder, lambda t: t.replace("[world]", world))
        done = lab("run", path, "--out", folder, "--no-figures", "--jobs", "2")
        need(done.returncode == 0, done.stderr)
        need(("MB of memory" in done.stderr) == (frames is not None), done.stderr)
        rows[frames] = read(folder, "small", "rows.jsonl").split("\n", 1)[1]
    need(rows[None] == rows[300000], "other results with other buffers")


def check_memory(folder: str) -> None:
    """A run that needs more memory than there is: the error comes before anything runs."""
    path = small(folder, lambda t: t.replace("[world]", "[world]\nframes = 4000000", 1)
                 .replace("[host a]", "[host a]\nmtu = 16384"))
    with open("/proc/meminfo", encoding="ascii") as f:
        if int(f.readline().split()[1]) > 70 << 20:
            return  # 70 GB: on such a machine the run may fit
    done = lab("run", path, "--out", folder)
    need(done.returncode == 2 and len(done.stderr.strip().splitlines()) == 1, done.stderr)
    find(r"a run takes \d+ MB of memory, and \d+ MB are free; lower frames", done.stderr)


def check_unknown(folder: str) -> None:
    path = small(folder)
    commands: list[tuple[list[str], str]] = [
        (["run", "nothing"], "there is no experiment"), (["run", path, "--set", "x=1"], "no parameter x"),
        (["sweep", path, "--shard", "3/3"], "--shard 3/3"), (["report"], "no results"),
        (["merge", folder], "rows-I-of-N")]
    for args, text in commands:
        done = lab(*args, "--out", folder)
        need(done.returncode == 2 and text in done.stderr, f"{args}: {done.stderr}")


def check_example(folder: str) -> None:
    """The experiment in doc/lab.md, run with the command there."""
    page = read(ROOT, "doc", "lab.md")
    text = find(r"```ini\n(.*?)```", page, re.DOTALL).group(1)
    name = find(r"sluice-lab run \./(\S+\.conf)", page).group(1)
    with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
        f.write(text)
    done = lab("run", "./" + name, cwd=folder)
    need(done.returncode == 0 and "holds" in done.stdout and "FAILS" not in done.stdout, done.stdout + done.stderr)


LIVE = """[experiment]
title = Live

[parameters]
way = copy

[live memif]
way = ${way}

[finding x]
says = x
ours = mean(bytes.perf)
holds = ours > 0
"""
LIVE_MISTAKES: Mistakes = {
    "a kind": (("[live memif]", "[live wire]"),
               r"live\.conf:7: \[live wire\] there is no such kind; write \[live memif\] or"),
    "a world": (("[finding x]", "[host a]\n[finding x]"),
                r"live\.conf:10: \[host a\] does not go with \[live memif\]"),
    "a word": (("way = copy", "way = walk"),
               r"live\.conf:8: \[live memif\] way: \"walk\" is none of these: copy, wait"),
    "a key": (("way = ${way}", "weigh = 1"),
              r"live\.conf:8: \[live memif\] weigh: there is no such key here; there are: size"),
    "a number": (("way = ${way}", "size = much"), r"live\.conf:8: \[live memif\] size: \"much\" is not a number"),
    "a time": (("[live memif]\nway = ${way}", "[live tcp]\nfrom = 9\nuntil = 8"),
               r"live\.conf:8: \[live tcp\] from: .*must hold"),
}


def check_live_mistakes(folder: str) -> None:
    """Errors that come before any process is started."""
    path = os.path.join(folder, "live.conf")
    for name, ((old, new), pattern) in LIVE_MISTAKES.items():
        need(old in LIVE, f"{name}: the test does not fit its file")
        with open(path, "w", encoding="utf-8") as f:
            f.write(LIVE.replace(old, new, 1))
        done = lab("run", path, "--out", folder)
        # Without root, [live tcp] reports that first.
        told = re.search(pattern, done.stderr) or (os.geteuid() != 0 and "need root" in done.stderr)
        need(done.returncode == 2 and told, f"{name}: {done.stderr}")


def check_live_lacks(folder: str) -> None:
    """Without root `run` reports that it is needed."""
    program = "import os, sys; os.geteuid = lambda: 1000; sys.argv[:1] = []; exec(open(sys.argv[0]).read())"
    done = subprocess.run([sys.executable, "-B", "-c", program, LAB, "run", "fr-regions-live", "--out", folder],
                          capture_output=True, text=True, timeout=60, check=False)
    wanted = "fr-regions-live is run live: network namespaces need root; run it as root"
    need(done.returncode == 2 and wanted in done.stderr, f"{done.returncode}: {done.stdout}{done.stderr}")


def check_live_parts(_folder: str) -> None:
    """live_tcp puts runs together that fit, and assigns drops to flows."""
    sys.path.insert(0, os.path.join(ROOT, "app", "lab"))
    from sluice_lab import live_tcp
    runs: list[Any] = [(i, {"there": f"delay {i % 5}ms", "back": "", "start": 1, "until": 5 + (i > 70)}, 1)
                       for i in range(400)]
    batches = live_tcp.batches(runs)
    need(sorted(key for b in batches for group in b.values() for key, _, _ in group) == list(range(400)),
         "each run must occur once")
    for b in batches:
        need(len(b) <= live_tcp.GROUPS and all(len(g) <= live_tcp.ADDRESSES for g in b.values()), "too many at once")
        need(len({keys["until"] for g in b.values() for _, keys, _ in g}) == 1, "times differ")
        need(all({k["there"] for _, k, _ in g} == {path[0]} for path, g in b.items()), "a run has another path")
    rows = [("match", 0, 0, 0), ("each", 1, 0, 0), ("rate", 2, 0, 3), ("rate", 2, 1, 0), ("delay", 2, 1, 4),
            ("each", 1, 0, 0), ("rate", 2, 0, 5)]
    report = {"elements": [dict(zip(("kind", "depth", "instance", "dropped"), row)) for row in rows]}
    need(live_tcp.drops(report) == [{0: 3, 1: 4}, {0: 5}], live_tcp.drops(report))


def live_lack(name: str) -> str | None:
    """Why this machine cannot run the experiment; None: it can."""
    if not experiments()[name]:
        return None
    for folder in ("scripts/python", "app/lab"):
        sys.path.insert(0, os.path.join(ROOT, folder))
    from sluice_lab import conf, live
    return live.lack(conf.Experiment(os.path.join(ROOT, "config/lab", name + ".conf")))


class Witness:
    """A thread that sleeps 10 ms at a time. It shares two cores with pollers, and the kernel prefers it to them. So
    if it wakes late, the machine stood still, whatever the experiment did."""
    STALL_S = 0.25

    def __enter__(self) -> "Witness":
        self.worst_s, self.over = 0.0, threading.Event()
        self.thread = threading.Thread(target=self.watch, daemon=True)
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self.thread.join()

    def watch(self) -> None:
        while not self.over.is_set():
            before = time.monotonic()
            time.sleep(0.01)
            self.worst_s = max(self.worst_s, time.monotonic() - before - 0.01)

    def stalled(self) -> bool:
        return self.worst_s > self.STALL_S


def quick_run(name: str, folder: str) -> list[str]:
    """The findings that fail, but for those that fail as is known."""
    done = lab("run", name, "--quick", "--json", "--quiet", "--no-figures", "--out", folder)
    need(done.returncode in (0, 1), f"status {done.returncode}: {done.stderr}")
    found = [f for f in json.loads(done.stdout) if f["holds"] is not None]
    need(found, "no finding")
    need(done.returncode == (0 if all(f["holds"] for f in found) else 1), "exit status")
    return [f"{f['says']}: {f['ours']} {f['unit']} ({f['known'] or f['wanted']})" for f in found
            if not f["holds"] and not f["differs"]]


def check_quick(name: str) -> Check:
    def check(folder: str) -> None:
        why = live_lack(name)
        if why is not None:
            raise Skip(why)
        with Witness() as witness:
            bad = quick_run(name, folder)
        # A machine that stands still spoils a live run; only then it is repeated.
        if bad and experiments()[name] and witness.stalled():
            print(f"# {name}: the machine stood still for {witness.worst_s:.2f} s; once more, after: {'; '.join(bad)}")
            bad = quick_run(name, folder)
        need(not bad, "; ".join(bad))
    return check


def check_not_judged(findings: list[str]) -> Check:
    """A skipped check, so that scripts/test names these findings at its end."""
    def check(_folder: str) -> None:
        raise Skip(f"the quick form does not judge: {', '.join(findings)}")
    return check


def not_judged() -> dict[str, list[str]]:
    """{experiment: its findings that only a whole run judges}"""
    sys.path.insert(0, os.path.join(ROOT, "app/lab"))
    from sluice_lab import conf
    found = {}
    for name in experiments():
        sections = conf.Experiment(os.path.join(ROOT, "config/lab", name + ".conf")).all("finding")
        found[name] = [s.name for s in sections if s.get("quick", "yes") == "no"]
    return {name: findings for name, findings in found.items() if findings}


def main() -> int:
    checks: dict[str, Check] = {f.__name__[6:].replace("_", " "): f for f in
              (check_list, check_papers, check_run, check_same_seed, check_finding_fails, check_known, check_quantiles,
               check_set, check_set_instead_of_sweep, check_readme, check_signs, check_engine_dies, check_processors,
               check_shards, check_grid, check_report, check_far, check_mistakes, check_words_as_x, check_hosts,
               check_frames, check_memory, check_unknown, check_example, check_live_mistakes, check_live_lacks,
               check_live_parts)}
    checks.update({f"experiment {name}": check_quick(name) for name in experiments()})
    checks.update({f"findings of {name} that want a whole run": check_not_judged(findings)
                   for name, findings in not_judged().items()})
    return common.run(checks)


if __name__ == "__main__":
    sys.exit(main())
