# SPDX-License-Identifier: BSD-3-Clause
"""The commands of sluice-lab. Manual: sluice-lab(1)."""
import argparse
import contextlib
import glob
import json
import os
import sys

from . import LabError, cluster, conf, engine, figure, finding, live, progress, report, store, sweep


def experiment_paths(places):
    found = {}
    for folder in places.experiments:
        for path in sorted(glob.glob(os.path.join(folder, "*.conf"))):
            found.setdefault(os.path.splitext(os.path.basename(path))[0], path)
    return found


def open_experiment(places, name):
    if "/" in name or name.endswith(".conf"):
        return conf.Experiment(name)
    paths = experiment_paths(places)
    if name not in paths:
        raise LabError(f"there is no experiment \"{name}\"; there are: {', '.join(paths)}; or name a file, "
                       "as in ./mine.conf")
    return conf.Experiment(paths[name])


def settings(words, option):
    found = {}
    for word in words or []:
        key, equal, value = word.partition("=")
        if not equal or not key.strip():
            raise LabError(f"{option} {word}: not KEY=VALUE; write for example {option} load=5")
        found[key.strip()] = value.strip()
    return found


@contextlib.contextmanager
def pool_of(places, args):
    """Where runs are run: here, or by a cluster."""
    if args.jobs is not None and args.jobs < 1:
        raise LabError(f"--jobs {args.jobs}: not a number of runs; write for example --jobs 2")
    pool = (cluster.Cluster(args.dask, places.engine, args.jobs) if args.dask else
            engine.Pool(places.engine, args.jobs or engine.jobs_default()))
    try:
        yield pool
    finally:
        pool.close()


def head_of(e, args, given, points):
    return {"experiment": e.name, "file": os.path.abspath(e.path), "seed": args.seed, "given": given,
            "quick": bool(getattr(args, "quick", False)), "grid": getattr(args, "grid", None), "points": points,
            "live": live.machine() if e.live else None}


def finish(e, head, rows, args):
    """Findings and figures of rows that are complete; the findings."""
    folder = store.folder_make(args.out, e.name)
    store.write_rows(folder, head, rows)
    lenient = bool(head["given"])
    findings = finding.judge_all(e, rows, head["quick"], lenient)
    store.write_text(os.path.join(folder, "findings.json"), json.dumps(findings, indent=1) + "\n")
    if not args.no_figures:
        figure.draw_all(e, rows, folder, lenient)
    return findings


def run_experiment(places, name, args, pool):
    e = open_experiment(places, name)
    given = settings(args.set, "--set")
    chosen = sweep.points(e, given, args.seed, args.quick)
    rows = sweep.run(e, chosen, places, pool, progress.Progress(args.quiet))
    return e, finish(e, head_of(e, args, given, len(chosen)), rows, args)


def on_list(places, args):
    for name, path in experiment_paths(places).items():
        e = conf.Experiment(path)
        print(f"{name:18} {e.title}{' (live)' if e.live else ''}")
    return 0


def tell(e, findings, args):
    if args.json:
        print(json.dumps(findings, indent=1))
    else:
        print(f"{e.name}: {e.title}")
        finding.show(findings, sys.stdout)
        print(f"written: {os.path.join(args.out, e.name)}/", file=sys.stderr)
    return finding.status(findings)


def on_run(places, args):
    with pool_of(places, args) as pool:
        done = run_experiment(places, args.name, args, pool)
    return tell(*done, args)


def on_sweep(places, args):
    e = open_experiment(places, args.name)
    given = settings(args.set, "--set")
    grid = None
    if args.grid:
        grid = {}
        for key, values in settings(args.grid, "--grid").items():
            e.check_parameter(key, "--grid")
            grid[key] = conf.axis(e.parameters, key, values.replace(",", " "))
    points = sweep.points(e, given, args.seed, args.quick, grid, args.repeat)
    chosen = sweep.shard_of(points, args.shard)
    with pool_of(places, args) as pool:
        rows = sweep.run(e, chosen, places, pool, progress.Progress(args.quiet))
    folder = store.folder_make(args.out, e.name)
    store.write_rows(folder, head_of(e, args, given, len(points)), rows, args.shard)
    print(f"{len(rows)} of {len(points)} runs written: {os.path.join(folder, store.rows_file(args.shard))}",
          file=sys.stderr)
    return 0


def on_merge(places, args):
    head, rows = store.merge(args.folders)
    if head["grid"] is not None:
        folder = store.folder_make(args.out, head["experiment"])
        store.write_rows(folder, head, rows)
        print(f"{len(rows)} runs written: {os.path.join(folder, 'rows.jsonl')}", file=sys.stderr)
        return 0
    e = conf.Experiment(head["file"])
    return tell(e, finish(e, head, rows, args), args)


def write_report(places, args):
    chapters = []
    for path in sorted(glob.glob(os.path.join(args.out, "*", "findings.json"))):
        folder = os.path.dirname(path)
        head, rows = store.read_rows(os.path.join(folder, "rows.jsonl"))
        if head["grid"] is not None:
            print(f"sluice-lab: {folder}: left out, for its rows are those of --grid by now; run it again", file=sys.stderr)
            continue
        e = conf.Experiment(head["file"])
        chapters.append((e, folder, head, finding.judge_all(e, rows, head["quick"], bool(head["given"]))))
    if not chapters:
        raise LabError(f"{args.out}: there are no results; run \"sluice-lab all --out {args.out}\" first")
    order = list(experiment_paths(places))
    chapters.sort(key=lambda c: order.index(c[0].name) if c[0].name in order else len(order))
    path = os.path.join(args.out, "report.html")
    store.write_text(path, report.page(chapters))
    print(f"written: {path}", file=sys.stderr)
    return finding.status([f for c in chapters for f in c[3]])


def on_report(places, args):
    return write_report(places, args)


def run_all(places, args, pool):
    """(findings, whether one was broken off) of all experiments, told as they are done."""
    everything, broken = [], False
    for name in experiment_paths(places):
        e = open_experiment(places, name)
        why = e.live and ("--no-live" if args.no_live else live.lack(e) if pool.here else sweep.live_refused(e))
        if why:
            print(f"{name}: left out: {why}")
            continue
        try:
            e, findings = run_experiment(places, name, args, pool)
        except LabError as problem:
            if not e.live:
                raise
            # What this machine did not let it do; the others need nothing of that.
            print(f"sluice-lab: {problem}", file=sys.stderr)
            broken = True
            continue
        everything += findings
        print(f"{e.name}: {e.title}")
        finding.show(findings, sys.stdout)
        sys.stdout.flush()
    return everything, broken


def on_all(places, args):
    with pool_of(places, args) as pool:
        everything, broken = run_all(places, args, pool)
    good, judged = sum(f["holds"] is True for f in everything), finding.judged(everything)
    print(f"{good} of {len(judged)} findings hold" +
          (f", {len(everything) - len(judged)} were not judged" if len(judged) < len(everything) else ""))
    failed = write_report(places, args) if not args.no_figures else finding.status(everything)
    return 1 if broken else failed


def parser_make(places):
    p = argparse.ArgumentParser(prog="sluice-lab", description="Runs experiments, in virtual time or live where "
                                "they say so, judges what comes out against what papers found, draws it. Manual: sluice-lab(1).")
    p.add_argument("--version", action="version", version=f"sluice-lab {places.version}")
    commands = p.add_subparsers(dest="command", metavar="COMMAND", required=True)

    def command(name, function, text):
        c = commands.add_parser(name, help=text, description=text)
        c.set_defaults(function=function)
        return c

    def running(c):
        c.add_argument("--set", action="append", metavar="KEY=VALUE", help="a parameter; may be repeated")
        c.add_argument("--seed", type=int, default=1, help="of all that is random (default 1)")
        c.add_argument("--quick", action="store_true", help="the short form that the tests run")
        c.add_argument("--jobs", type=int, help="runs at a time (default: all cores, here or the cluster's)")
        c.add_argument("--dask", metavar="ADDRESS", help="run on the workers of this Dask scheduler, tcp://HOST:PORT")
        c.add_argument("--quiet", action="store_true", help="no progress")

    def writing(c, json_too=True):
        c.add_argument("--out", default="lab-out", metavar="DIR", help="where results go (default lab-out)")
        c.add_argument("--no-figures", action="store_true", help="draw nothing")
        if json_too:
            c.add_argument("--json", action="store_true", help="the findings as JSON on standard output")

    command("list", on_list, "Lists the experiments.")
    c = command("run", on_run, "Runs one experiment, prints its findings; exit status 1 if one does not hold, 3 if "
                "one could not be judged.")
    c.add_argument("name", metavar="NAME", help="of \"sluice-lab list\", or a file")
    running(c), writing(c)
    c = command("sweep", on_sweep, "Runs a grid over parameters, or the experiment's own sweeps; writes rows only.")
    c.add_argument("name", metavar="NAME")
    running(c), writing(c, False)
    c.add_argument("--grid", action="append", metavar="KEY=V,V", help="a list, or 1..9, or 1..2 lin 5, or 1..9 log 5")
    c.add_argument("--repeat", type=int, default=1, help="runs of each point of the grid, with other seeds")
    c.add_argument("--shard", metavar="I/N", help="only the I-th of N parts, I from 0")
    c = command("merge", on_merge, "Joins the parts of a sweep; findings and figures if it was the experiment's own.")
    c.add_argument("folders", nargs="+", metavar="DIR")
    writing(c)
    c = command("all", on_all, "Runs all experiments and writes the report.")
    running(c), writing(c, False)
    c.add_argument("--no-live", action="store_true", help="leaves out what is run live, not in virtual time")
    c = command("report", on_report, "Writes DIR/report.html from the results there.")
    c.add_argument("--out", default="lab-out", metavar="DIR")
    return p


def main(places):
    args = parser_make(places).parse_args()
    try:
        return args.function(places, args)
    except LabError as problem:
        print(f"sluice-lab: {problem}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("sluice-lab: interrupted; nothing was written", file=sys.stderr)
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
