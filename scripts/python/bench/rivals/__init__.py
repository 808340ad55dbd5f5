# SPDX-License-Identifier: BSD-3-Clause
"""Sluice beside other programs, on the same paths, by turns; writes a report (doc/measuring.md)."""
import argparse
import functools
import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence

from testbed import net
from testbed.daemon import Build
from testbed.process import Testbed, TestbedError

from .. import paired
from ..demo import noise_write
from ..results import Results
from . import judge, machine, ours, over_tcp, over_udp, page, readme, report
from .paths import PATHS, Path, chosen
from .report import Document
from .tool import MEMORY, Tool
from .turn import Plan, Turn, take, udp_buffers

LIMIT = 3  # times --seconds
ROOM_BYTES = 3 << 30


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--paths", default="", metavar="NAMES", help=f"with commas, some of: {', '.join(PATHS)}")
    parser.add_argument("--tools", default="", metavar="NAMES",
                        help=f"with commas, some of: {', '.join(t.name for t in tools(Build(''), 'auto'))}")
    parser.add_argument("--runs", type=int, default=judge.RUNS_MIN,
                        help=f"rounds of each path ({judge.RUNS_MIN}); each tool has one turn in each. With fewer than "
                        f"{judge.RUNS_MIN} there is no verdict")
    parser.add_argument("--seconds", type=int, default=4,
                        help="how long a tool sends (4); files have the size that takes so long at the path's rate")
    parser.add_argument("--limit", type=float, metavar="SECONDS",
                        help=f"a transfer that takes longer is cut off, and what has arrived counts ({LIMIT} times "
                        "--seconds)")
    parser.add_argument("--port", choices=ours.PORTS, default="auto",
                        help="how Sluice uses the veth: AF_XDP, AF_PACKET, or AF_XDP where it can (auto)")
    parser.add_argument("--folder", default="/dev/shm", help="a tmpfs with 3 GiB of room for files")
    parser.add_argument("--seed", type=int, default=1, help="draws the order of each round, and the losses")
    parser.add_argument("--from", dest="saved", metavar="FILE",
                        help="measure nothing: judge and draw what a rivals.json has")


def tools(build: Build, port: str) -> list[Tool]:
    """Those from memory first."""
    every = [*ours.tools(build, port), *over_udp.tools(), *over_tcp.tools()]
    return sorted(every, key=lambda tool: tool.what != MEMORY)


def selected(every: Sequence[Tool], names: str) -> list[Tool]:
    """The tools of a list with commas; an empty one is all of them."""
    wanted = [name for name in names.split(",") if name]
    known = [tool.name for tool in every]
    for name in wanted:
        if name not in known:
            raise TestbedError(f"--tools: there is no tool \"{name}\"; there are {', '.join(known)}")
    return [tool for tool in every if not wanted or tool.name in wanted]


def check_options(args: argparse.Namespace) -> None:
    if args.runs < 1 or args.seconds < 1:
        raise TestbedError("--runs and --seconds must be 1 or more")
    if args.limit is not None and args.limit <= args.seconds:
        raise TestbedError(f"--limit {args.limit:g} must be more than --seconds {args.seconds}")
    if not os.path.isdir(args.folder):
        raise TestbedError(f"--folder {args.folder}: there is no such folder; give a tmpfs, such as /dev/shm")
    lack = net.can_netns()
    if lack is not None:
        raise TestbedError(lack)
    if shutil.disk_usage(args.folder).free < ROOM_BYTES:
        raise TestbedError(f"{args.folder} has less than {ROOM_BYTES >> 30} GiB of room; give another tmpfs with "
                           "--folder")


def run_path(testbed: Testbed, args: argparse.Namespace, path: Path, able: Sequence[Tool],
             folder: str) -> list[Turn]:
    """All turns on this path; each has its round."""
    source = os.path.join(folder, "source")
    noise_write(source, path.file_bytes(args.seconds))
    plan = Plan(Build(args.build, args.huge), args.seconds, args.limit or LIMIT * args.seconds, source,
                os.path.join(folder, "in"))
    seeds = {tool.name: args.seed * 1000 for tool in able}

    def one(tool: Tool) -> Turn:
        seeds[tool.name] += 1  # all tools of a round meet the same losses
        found = take(testbed, plan, path, tool, seeds[tool.name])
        print(f"{path.name} {tool.name}: {found['goodput_Mbps']:.1f} Mbit/s {found['note']}".rstrip(), flush=True)
        return found

    def show(i: int, _values: Mapping[str, Turn]) -> None:
        print(f"{path.name}: round {i} of {args.runs}", flush=True)

    values = paired.turns({tool.name: functools.partial(one, tool) for tool in able}, args.runs, args.seed, show)
    os.unlink(source)
    return [{"path": path.name, "round": i + 1, **turn} for turns in values.values() for i, turn in enumerate(turns)]


def measure(testbed: Testbed, args: argparse.Namespace) -> Document:
    check_options(args)
    paths, wanted = chosen(args.paths), selected(tools(Build(args.build, args.huge), args.port), args.tools)
    lacks = {tool.name: tool.lack() for tool in wanted}
    able = [tool for tool in wanted if lacks[tool.name] is None]
    for tool in wanted:
        if lacks[tool.name] is not None:
            print(f"skipped: {tool.title}: {lacks[tool.name]}; {tool.cure()}", flush=True)
    if not able:
        raise TestbedError("none of the tools can run here")
    folder = tempfile.mkdtemp(prefix="sluice-rivals.", dir=args.folder)
    testbed.undo(shutil.rmtree, folder, ignore_errors=True)
    udp_buffers(testbed)
    document = report.begin(args, machine.describe(), wanted, lacks)
    for path in paths:
        document["turns"] += run_path(testbed, args, path, able, folder)
        document["paths"].append(report.path_entry(path, args.seconds))
        report.save(document, args.out)  # a run that is ended later has not been in vain
    return document


def run(testbed: Testbed, args: argparse.Namespace, results: Results) -> None:
    document = measure(testbed, args) if args.saved is None else report.load(args.saved)
    judge.judge(results, document)
    report.show(document)
    os.makedirs(args.out, exist_ok=True)
    document["rows"] = results.rows
    results.document = document
    for name, text in (("rivals.html", page.page(document)), ("rivals.md", readme.markdown(document))):
        where = os.path.join(args.out, name)
        with open(where, "w", encoding="utf-8") as f:
            f.write(text)
        print(f"written: {os.path.relpath(where)}")
