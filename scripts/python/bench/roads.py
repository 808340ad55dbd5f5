# SPDX-License-Identifier: BSD-3-Clause
"""Roads drawn at random, in virtual time (test/sim/road/roads_main.cc). The bars of a road follow from its
properties, and it must hold all of them. Virtual time has no noise, so each road is judged exactly. The same
seed draws the same roads."""
import argparse
import os
import re
import secrets
from collections.abc import Sequence

from .paired import Bar
from .plot_roads import Road, draw
from .results import Results
from testbed.process import Testbed, TestbedError, cpus

ROAD = re.compile(r"\s*(\d+) (holds|NO|broken)\s+(\S.*?)\s+used\s+([\d.]+) %\s+queue\s+(\S+) BDP")
MISSED = re.compile(r"(\S+) (\S+) \(bar (\S+)\)")
REPLAY = re.compile(r'\s+--replay "([^"]+)"')
TALLY = re.compile(r"(\S+)\s+(\d+)\s+(\d+)$")
LISTED = re.compile(r"\s*(\d+) (.*?): \S+=")


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--count", type=int, default=50, help="number of roads (50)")
    parser.add_argument("--seed", type=int, default=0, help="seed that draws the roads; default: a fresh one")
    parser.add_argument("--only", default="", help="regular expression for the features of roads to run")
    parser.add_argument("--issue", action="store_true",
                        help="run the roads that were known to fail, instead of drawn ones")
    parser.add_argument("--pictures", type=int, default=4, help="number of failed roads to draw (4)")


def row_name(number: int, features: str) -> str:
    return f"road {number}: {features}: bars that are missed"


def roads_of(text: str) -> list[Road]:
    """text: the output of `roads`."""
    roads: list[Road] = []
    for line in text.splitlines():
        road, replay = ROAD.match(line), REPLAY.match(line)
        if road is not None:
            roads.append({"number": int(road.group(1)), "verdict": road.group(2), "features": road.group(3),
                          "missed": [], "replay": ""})
        elif replay is not None:
            roads[-1]["replay"] = replay.group(1)
        elif roads and not roads[-1]["replay"]:
            roads[-1]["missed"] += MISSED.findall(line)
    return roads


def tallies(text: str) -> list[tuple[str, str, int, int]]:
    """Rows of the summary, below "bar holds of" and "feature holds of": [("bar" or "feature", name, holds, of)]."""
    kind: str | None = None
    rows = []
    for line in text.splitlines():
        row = TALLY.match(line)
        if re.match(r"(bar|feature)\s+holds\s+of$", line):
            kind = line.split()[0]
        elif kind is not None and row is not None:
            rows.append((kind, row.group(1), int(row.group(2)), int(row.group(3))))
    return rows


def rows(results: Results, text: str) -> None:
    """A verdict on each road that ran to its end."""
    for road in roads_of(text):
        if road["verdict"] != "broken":
            results.exact(row_name(road["number"], road["features"]), len(road["missed"]), "", Bar(0, at_most=True))
    for kind, name, holds, of in tallies(text):
        results.figure(f"{kind} {name}: holds, of {of}", holds, "roads" if kind == "feature" else "times")


def demand(results: Results, listed: str, only: str) -> None:
    """A row for each road that `roads --list` printed."""
    found = [road for line in listed.splitlines() if (road := LISTED.match(line))]
    if not found:
        raise TestbedError(f"no road matches --only {only}; features are, for example, loss, jitter, cubic, stall-rx")
    results.demand(*(row_name(int(road.group(1)), road.group(2)) for road in found))


def pictures(testbed: Testbed, program: str, args: argparse.Namespace, roads: Sequence[Road]) -> None:
    """Draws the first roads that failed, over time."""
    failed = [r for r in roads if r["verdict"] == "NO"][:max(0, args.pictures)]
    os.makedirs(args.out, exist_ok=True)
    for road in failed:
        trace = os.path.join(testbed.dir, f"road-{road['number']}.csv")
        testbed.start("roads-trace", [program, "--replay", road["replay"], "--trace", trace]).wait(600)
        picture = os.path.join(args.out, f"roads-{road['number']}.png")
        if not os.path.exists(trace):
            raise TestbedError(f"roads --trace wrote no file for \"{road['replay']}\"")
        if draw(trace, road, picture):
            print(f"drawn: {os.path.relpath(picture)}")


def run(testbed: Testbed, args: argparse.Namespace, results: Results) -> None:
    program = os.path.join(args.build, "test/sim/roads")
    if args.seed < 0 or args.count < 1:
        raise TestbedError(f"--seed {args.seed} --count {args.count}: a seed must be above 0 (0 draws a fresh one), "
                           f"and --count 1 or more")
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
