# SPDX-License-Identifier: BSD-3-Clause
"""The commands of sluice-lab. Manual: sluice-lab(1)."""
import argparse
import contextlib
import glob
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import NoReturn

from . import LabError, Places, cluster, conf, engine, figure, finding, live, progress, report, store, sweep

Command = Callable[[Places, argparse.Namespace], int]


def experiment_paths(places: Places) -> dict[str, str]:
    found: dict[str, str] = {}
    for folder in places.experiments:
        for path in sorted(glob.glob(os.path.join(glob.escape(folder), "*.conf"))):
            found.setdefault(os.path.splitext(os.path.basename(path))[0], path)
    return found


def open_experiment(places: Places, name: str) -> conf.Experiment:
    if "/" in name or name.endswith(".conf"):
        return conf.Experiment(name)
    paths = experiment_paths(places)
    if name not in paths:
        raise LabError(f"there is no experiment \"{name}\"; there are: {', '.join(paths)}; or name a file, "
                       "as in ./mine.conf")
    return conf.Experiment(paths[name])


def settings(words: Iterable[str] | None, option: str) -> dict[str, str]:
    """The values of an option that is KEY=VALUE and may be repeated."""
    found = {}
    for word in words or []:
        key, equal, value = word.partition("=")
        if not equal or not key.strip():
            raise LabError(f"{option} {word}: not KEY=VALUE; write for example {option} load=5")
        found[key.strip()] = value.strip()
    return found


@contextlib.contextmanager
def pool_of(places: Places, args: argparse.Namespace) -> Iterator[engine.AnyPool]:
    """A pool here, or with --dask a cluster."""
    if args.jobs is not None and args.jobs < 1:
        raise LabError(f"--jobs {args.jobs}: not a number of runs; write for example --jobs 2")
    pool: engine.AnyPool
    if args.dask:
        pool = cluster.Cluster(args.dask, places.engine, args.jobs)
    else:
        pool = engine.Pool(places.engine, args.jobs or engine.jobs_default())
    try:
        yield pool
    finally:
        pool.close()


def head_of(places: Places, e: conf.Experiment, args: argparse.Namespace, given: dict[str, str],
            points: int) -> store.Head:
    return {"experiment": e.name, "file": os.path.abspath(e.path), "seed": args.seed, "given": given,
            "quick": bool(getattr(args, "quick", False)), "grid": getattr(args, "grid", None), "points": points,
            "live": live.machine() if e.live else None, "runs": e.runs_digest(), "version": places.version}


def rows_write(e: conf.Experiment | None, head: store.Head, rows: list[store.Row], out: str) -> str:
    """Writes complete rows, and removes the figures of earlier ones, if the experiment's file is there. The folder."""
    folder = store.folder_make(out, head["experiment"])
    if e is not None:
        figure.remove_all(e, folder)
    store.write_rows(folder, head, rows)
    return folder


def finish(e: conf.Experiment, head: store.Head, rows: list[store.Row],
           args: argparse.Namespace) -> list[finding.Verdict]:
    """Writes complete rows, their findings and figures."""
    folder = rows_write(e, head, rows, args.out)
    lenient = bool(head["given"])
    findings = finding.judge_all(e, rows, head["quick"], lenient)
    store.write_text(os.path.join(folder, "findings.json"), json.dumps(findings, indent=1) + "\n")
    if not args.no_figures:
        figure.draw_all(e, rows, folder, lenient)
    return findings


def run_experiment(places: Places, e: conf.Experiment, args: argparse.Namespace, pool: engine.AnyPool,
                   given: dict[str, str]) -> list[finding.Verdict]:
    chosen = sweep.points(e, given, args.seed, args.quick)
    store.folder_make(args.out, e.name)  # minutes before its rows are there
    rows = sweep.run(e, chosen, places, pool, progress.Progress(args.quiet))
    return finish(e, head_of(places, e, args, given, len(chosen)), rows, args)


def on_list(places: Places, args: argparse.Namespace) -> int:
    for name, path in experiment_paths(places).items():
        e = conf.Experiment(path)
        print(f"{name:18} {e.title}{' (live)' if e.live else ''}")
    return 0


def tell(e: conf.Experiment, findings: list[finding.Verdict], args: argparse.Namespace) -> int:
    """Prints the findings; returns the exit status."""
    if args.json:
        print(json.dumps(findings, indent=1))
    else:
        print(f"{e.name}: {e.title}")
        finding.show(findings, sys.stdout)
        print(f"written: {os.path.join(args.out, e.name)}/", file=sys.stderr)
    return finding.status(findings)


def on_run(places: Places, args: argparse.Namespace) -> int:
    with pool_of(places, args) as pool:
        e = open_experiment(places, args.name)
        findings = run_experiment(places, e, args, pool, settings(args.set, "--set"))
    return tell(e, findings, args)


def grid_of(e: conf.Experiment, args: argparse.Namespace) -> dict[str, list[str]] | None:
    """The values of --grid; None: the experiment's own sweeps."""
    if args.repeat is not None and args.repeat < 1:
        raise LabError(f"--repeat {args.repeat}: not a number of runs; write for example --repeat 3")
    if not args.grid:
        if args.repeat is not None:
            raise LabError("--repeat: it goes with --grid; the experiment's own sweeps have their \"repeat\"")
        return None
    grid = {}
    for key, values in settings(args.grid, "--grid").items():
        def wrong(why: str, key: str = key) -> NoReturn:
            raise LabError(f"--grid {key}: {why}")
        e.check_parameter(key, "--grid")
        grid[key] = conf.axis(values.replace(",", " "), wrong)
    return grid


def on_sweep(places: Places, args: argparse.Namespace) -> int:
    e = open_experiment(places, args.name)
    given = settings(args.set, "--set")
    grid = grid_of(e, args)
    points = sweep.points(e, given, args.seed, args.quick, grid, args.repeat or 1)
    chosen = sweep.shard_of(points, args.shard)
    folder = store.folder_make(args.out, e.name)  # minutes before its rows are there
    with pool_of(places, args) as pool:
        rows = sweep.run(e, chosen, places, pool, progress.Progress(args.quiet))
    if args.shard is None:
        figure.remove_all(e, folder)
    store.write_rows(folder, head_of(places, e, args, given, len(points)), rows, args.shard)
    print(f"{len(rows)} of {len(points)} runs written: {os.path.join(folder, store.rows_file(args.shard))}",
          file=sys.stderr)
    return 0


def merge_grid(e: conf.Experiment | None, head: store.Head, rows: list[store.Row], args: argparse.Namespace) -> int:
    """e: None if its file is not there."""
    folder = rows_write(e, head, rows, args.out)
    print(f"{len(rows)} runs written: {os.path.join(folder, 'rows.jsonl')}", file=sys.stderr)
    return 0


def on_merge(places: Places, args: argparse.Namespace) -> int:
    head, rows = store.merge(args.folders)
    if head["grid"] is not None and not os.path.exists(head["file"]):
        return merge_grid(None, head, rows, args)  # perhaps on another machine
    e = conf.Experiment(head["file"])
    if "runs" not in head:
        raise LabError(f"{head['file']}: the shards are of an older sluice-lab, which did not note what they ran; run "
                       "them again")
    if head["runs"] != e.runs_digest():
        raise LabError(f"{head['file']}: its runs have changed since the shards were run; run them again, or put back "
                       "the text of then (findings and figures may change)")
    if head["grid"] is not None:
        return merge_grid(e, head, rows, args)
    return tell(e, finish(e, head, rows, args), args)


def write_report(places: Places, args: argparse.Namespace) -> int:
    chapters: list[report.Chapter] = []
    for path in sorted(glob.glob(os.path.join(glob.escape(args.out), "*", "findings.json"))):
        folder = os.path.dirname(path)
        head, rows = store.read_rows(os.path.join(folder, "rows.jsonl"))
        if head["grid"] is not None:
            print(f"sluice-lab: {folder}: left out, for its rows are those of --grid; run it again", file=sys.stderr)
            continue
        try:
            e = conf.Experiment(head["file"])
            findings = finding.judge_all(e, rows, head["quick"], bool(head["given"]))
        except LabError as problem:
            print(f"sluice-lab: {folder}: left out: {problem}", file=sys.stderr)
            continue
        chapters.append(report.Chapter(e, folder, head, findings))
    if not chapters:
        raise LabError(f"{args.out}: there are no results; run \"sluice-lab all --out {args.out}\" first")
    order = {name: i for i, name in enumerate(experiment_paths(places))}
    chapters.sort(key=lambda c: order.get(c.experiment.name, len(order)))
    path = os.path.join(args.out, "report.html")
    store.write_text(path, report.page(chapters))
    print(f"written: {path}", file=sys.stderr)
    return finding.status([f for c in chapters for f in c.findings])


def on_report(places: Places, args: argparse.Namespace) -> int:
    return write_report(places, args)


def left_out(e: conf.Experiment, args: argparse.Namespace, pool: engine.AnyPool) -> str | None:
    """Why `all` does not run this experiment; None: it does."""
    if not e.live:
        return None
    if args.no_live:
        return "--no-live"
    return live.lack(e) if pool.here else sweep.live_refused(e)


def given_everywhere(experiments: Iterable[conf.Experiment], args: argparse.Namespace) -> dict[str, str]:
    """--set of `all`, where each experiment takes the parameters that it has."""
    given = settings(args.set, "--set")
    known = {name for e in experiments for name in e.defaults}
    for name in given:
        if name not in known:
            raise LabError(f"--set: no experiment has a parameter {name}; there are: {', '.join(sorted(known))}")
    return given


def run_all(places: Places, args: argparse.Namespace, pool: engine.AnyPool) -> tuple[list[finding.Verdict], bool]:
    """Runs all experiments, and prints the findings of each when it is done. (findings, whether one did not run)"""
    everything: list[finding.Verdict] = []
    broken = False
    experiments = [open_experiment(places, name) for name in experiment_paths(places)]
    given = given_everywhere(experiments, args)
    for e in experiments:
        why = left_out(e, args, pool)
        if why:
            print(f"{e.name}: left out: {why}")
            continue
        its = {name: value for name, value in given.items() if name in e.defaults}
        lacks = [name for name in given if name not in its]
        if lacks:
            print(f"sluice-lab: {e.name} has no parameter {', '.join(lacks)}; it is run without", file=sys.stderr)
        try:
            findings = run_experiment(places, e, args, pool, its)
        except LabError as problem:
            if not e.live:
                raise
            # A live experiment can fail because of this machine; the others do not depend on that.
            print(f"sluice-lab: {problem}", file=sys.stderr)
            broken = True
            continue
        everything += findings
        print(f"{e.name}: {e.title}")
        finding.show(findings, sys.stdout)
        sys.stdout.flush()
    return everything, broken


def on_all(places: Places, args: argparse.Namespace) -> int:
    with pool_of(places, args) as pool:
        everything, broken = run_all(places, args, pool)
    good, judged = sum(f["holds"] is True for f in everything), finding.judged(everything)
    print(f"{good} of {len(judged)} findings hold" +
          (f", {len(everything) - len(judged)} were not judged" if len(judged) < len(everything) else ""))
    failed = write_report(places, args)
    return 1 if broken else failed


def parser_make(places: Places) -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(
        prog="sluice-lab", description="Runs experiments, in virtual time or live, compares their results with those "
        "of papers, and draws them. Manual: sluice-lab(1).")
    p.add_argument("--version", action="version", version=f"sluice-lab {places.version}")
    commands = p.add_subparsers(dest="command", metavar="COMMAND", required=True)

    def command(name: str, function: Command, text: str) -> argparse.ArgumentParser:
        c = commands.add_parser(name, help=text, description=text)
        c.set_defaults(function=function)
        return c

    def running(c: argparse.ArgumentParser) -> None:
        c.add_argument("--set", action="append", metavar="KEY=VALUE", help="set a parameter; may be repeated")
        c.add_argument("--seed", type=int, default=1, help="seed of everything random (default 1)")
        c.add_argument("--quick", action="store_true", help="run the short form, as the tests do")
        c.add_argument("--jobs", type=int, help="runs at a time (default: all cores, here or the cluster's)")
        c.add_argument("--dask", metavar="ADDRESS", help="run on the workers of this Dask scheduler, tcp://HOST:PORT")
        c.add_argument("--quiet", action="store_true", help="print no progress")

    def writing(c: argparse.ArgumentParser, json_too: bool = True) -> None:
        c.add_argument("--out", default="lab-out", metavar="DIR", help="folder for the results (default lab-out)")
        c.add_argument("--no-figures", action="store_true", help="draw nothing")
        if json_too:
            c.add_argument("--json", action="store_true", help="print the findings as JSON on standard output")

    command("list", on_list, "Lists the experiments.")
    c = command("run", on_run, "Runs one experiment and prints its findings. Exit status: 1 if one does not hold, 3 "
                "if one could not be judged.")
    c.add_argument("name", metavar="NAME", help="an experiment that \"sluice-lab list\" shows, or a file")
    running(c)
    writing(c)
    c = command("sweep", on_sweep, "Runs a grid over parameters, or the experiment's own sweeps, and writes rows only.")
    c.add_argument("name", metavar="NAME", help="an experiment that \"sluice-lab list\" shows, or a file")
    running(c)
    writing(c, False)
    c.add_argument("--grid", action="append", metavar="KEY=VALUES",
                   help="values of a parameter: a list (1,2,5), or 1..9, 1..2,lin,5, 1..100,log,5; may be repeated")
    c.add_argument("--repeat", type=int, help="runs of each point of the grid, each with another seed")
    c.add_argument("--shard", metavar="I/N", help="run only every N-th run, from I on; I counts from 0")
    c = command("merge", on_merge, "Joins the parts of a sweep. If it was the experiment's own, judges and draws it.")
    c.add_argument("folders", nargs="+", metavar="DIR", help="a folder with parts")
    writing(c)
    c = command("all", on_all, "Runs all experiments and writes the report.")
    running(c)
    writing(c, False)
    c.add_argument("--no-live", action="store_true", help="leave out live experiments")
    c = command("report", on_report, "Writes DIR/report.html from the results there.")
    c.add_argument("--out", default="lab-out", metavar="DIR", help="folder with the results (default lab-out)")
    return p


def main(places: Places) -> int:
    args = parser_make(places).parse_args()
    try:
        function: Command = args.function
        status = function(places, args)
        sys.stdout.flush()
        return status
    except LabError as problem:
        print(f"sluice-lab: {problem}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("sluice-lab: interrupted; nothing was written", file=sys.stderr)
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except (OSError, UnicodeError) as problem:
        # What comes here was not foreseen where it happened; a finding that does not hold has another status.
        what = getattr(problem, "filename", None) or "standard output, or a file"
        print(f"sluice-lab: {what}: {getattr(problem, 'strerror', None) or problem}; make room, or name other files",
              file=sys.stderr)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 2
