# SPDX-License-Identifier: BSD-3-Clause
"""Roads drawn at random, in virtual time (test/sim/road/roads_main.cc): each must hold all bars that follow from
what it is. Virtual time has no noise, so each road is judged exactly; the same seed is the same roads."""
import os
import re
import secrets

from .plot_roads import draw
from testbed.process import TestbedError, cpus

ROAD = re.compile(r"\s*(\d+) (holds|NO|broken)\s+(\S.*?)\s+used\s+([\d.]+) %\s+queue\s+(\S+) BDP")
MISSED = re.compile(r"(\S+) (\S+) \(bar (\S+)\)")
REPLAY = re.compile(r'\s+--replay "([^"]+)"')
TALLY = re.compile(r"(\S+)\s+(\d+)\s+(\d+)$")
LISTED = re.compile(r"\s*(\d+) (.*?): \S+=")


def options(parser):
    parser.add_argument("--count", type=int, default=50, help="so many roads (50)")
    parser.add_argument("--seed", type=int, default=0, help="which ones; a fresh seed unless told")
    parser.add_argument("--only", default="", help="a pattern of features")
    parser.add_argument("--issue", action="store_true", help="those that were known to fail, instead of drawn ones")
    parser.add_argument("--pictures", type=int, default=4, help="of so many roads that fail (4)")


def row_name(number, features):
    return f"road {number}: {features}"


def roads_of(text):
    """Of what `roads` printed: {number, verdict, features, missed: [(bar, value, limit)], replay}."""
    roads = []
    for line in text.splitlines():
        road, replay = ROAD.match(line), REPLAY.match(line)
        if road is not None:
            roads.append({"number": int(road.group(1)), "verdict": road.group(2), "features": road.group(3),
                          "missed": [], "replay": None})
        elif replay is not None:
            roads[-1]["replay"] = replay.group(1)
        elif roads and roads[-1]["replay"] is None:
            roads[-1]["missed"] += MISSED.findall(line)
    return roads


def tallies(text):
    """Rows "bar holds of" and "feature holds of" of the summary: [(bar or feature, name, holds, of)]."""
    kind, rows = None, []
    for line in text.splitlines():
        row = TALLY.match(line)
        if re.match(r"(bar|feature)\s+holds\s+of$", line):
            kind = line.split()[0]
        elif kind is not None and row is not None:
            rows.append((kind, row.group(1), int(row.group(2)), int(row.group(3))))
    return rows


def rows(results, text):
    """A verdict on each road that ran to its end."""
    for road in roads_of(text):
        if road["verdict"] != "broken":
            results.exact(row_name(road["number"], road["features"]) + ": bars that are missed", len(road["missed"]), "",
                          0, at_most=True)
    for kind, name, holds, of in tallies(text):
        results.figure(f"{kind} {name}: holds, of {of}", holds, "roads" if kind == "feature" else "times")


def demand(results, listed, only):
    """A row of each road that `roads --list` printed."""
    listed = [LISTED.match(line).groups() for line in listed.splitlines() if LISTED.match(line)]
    if not listed:
        raise TestbedError(f"no road matches --only {only}; features are such as loss, jitter, cubic, stall-rx")
    results.demand(*(row_name(number, features) + ": bars that are missed" for number, features in listed))


def pictures(testbed, program, args, roads):
    """What happened on the first roads that failed."""
    failed = [r for r in roads if r["verdict"] == "NO"][:max(0, args.pictures)]
    os.makedirs(args.out, exist_ok=True)
    for road in failed:
        trace = os.path.join(testbed.dir, f"road-{road['number']}.csv")
        testbed.start("roads-trace", [program, "--replay", road["replay"], "--trace", trace]).wait(600)
        picture = os.path.join(args.out, f"roads-{road['number']}.png")
        if not os.path.exists(trace):
            raise TestbedError(f"roads --trace wrote nothing of \"{road['replay']}\"")
        if draw(trace, road, picture):
            print(f"drawn: {os.path.relpath(picture)}")


def run(testbed, args, results):
    program = os.path.join(args.build, "test/sim/roads")
    if args.seed < 0 or args.count < 1:
        raise TestbedError(f"--seed {args.seed} --count {args.count}: a seed is above 0, and there is one road at least")
    seed = args.seed or 1 + secrets.randbelow(2**30)
    which = ["--count", str(args.count), "--seed", str(seed), "--only", args.only] + ["--issue"] * args.issue
    demand(results, testbed.run("roads-list", [program, "--list"] + which), args.only)
    roads = testbed.start("roads", [program, "--jobs", str(len(cpus()))] + which)
    status = roads.wait(6 * 3600)
    print(roads.out())
    if status not in (0, 1):
        raise TestbedError(f"roads ended with status {status}\n{roads.tail()}")
    rows(results, roads.out())
    pictures(testbed, program, args, roads_of(roads.out()))
