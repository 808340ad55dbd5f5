# SPDX-License-Identifier: BSD-3-Clause
"""Finds the runs of an experiment, runs them, and makes their rows."""
import functools
import itertools
import zlib
from dataclasses import dataclass
from typing import Any

from . import LabError, Places, conf, engine, live
from .progress import Progress
from .store import Row


@dataclass
class Point:
    """One run."""
    index: int  # in the order of all runs
    sweep: str
    given: dict[str, str]  # parameters that --set, --quick or the sweep sets
    replica: int
    seed: int
    series: list[str]  # to keep


def seed_of(seed: int, given: dict[str, str], replica: int) -> int:
    """32 bits that depend on nothing else of a sweep, so that its other points can change."""
    text = f"{seed} {replica} " + " ".join(f"{k}={v}" for k, v in sorted(given.items()))
    return zlib.crc32(text.encode())


def quick_of(experiment: conf.Experiment) -> dict[str, str]:
    section = experiment.one("quick")
    return dict(section.keys) if section else {}


def sweeps_of(experiment: conf.Experiment, quick: bool) -> list[tuple[str, dict[str, list[str]], int, list[str]]]:
    """[(name, {parameter: values}, repeat, series)]"""
    found = []
    instead = quick_of(experiment) if quick else {}
    for s in experiment.all("sweep"):
        keys = {**s.keys, **{k.split(".", 1)[1]: v for k, v in instead.items()
                             if k.startswith(s.name + ".")}}
        repeat = keys.pop("repeat", "1")
        series = keys.pop("series", "").split()
        if not repeat.isdigit() or int(repeat) < 1:
            s.error("repeat", f"\"{repeat}\" is not a number of runs; write for example 20")
        axes = {k: conf.axis(v, functools.partial(s.error, k)) for k, v in keys.items()}
        found.append((s.name, axes, int(repeat), series))
    return found or [("run", {}, 1, ["*"])]


def points(experiment: conf.Experiment, given: dict[str, str], seed: int, quick: bool = False,
           grid: dict[str, list[str]] | None = None, repeat: int = 1) -> list[Point]:
    """All runs. grid: {parameter: values}, instead of the experiment's own sweeps."""
    base = {k: v for k, v in quick_of(experiment).items() if "." not in k} if quick else {}
    base.update(given)
    for name in base:
        experiment.check_parameter(name, "--set" if name in given else experiment.path)
    sweeps = sweeps_of(experiment, quick) if grid is None else [("grid", grid, repeat, [])]
    out: list[Point] = []
    for name, axes, times, series in sweeps:
        # A parameter that --set gives is not swept.
        axes = {k: v for k, v in axes.items() if k not in given}
        for values in itertools.product(*axes.values()):
            here = {**base, **dict(zip(axes, values))}
            for replica in range(times):
                every = {**here}
                if "replica" in experiment.defaults:
                    every["replica"] = str(replica)
                if "replicas" in experiment.defaults:
                    every["replicas"] = str(times)
                out.append(Point(len(out), name, every, replica, seed_of(seed, here, replica), series))
    return out


def shard_of(all_points: list[Point], shard: str | None) -> list[Point]:
    """shard: "i/n", i from 0."""
    if shard is None:
        return all_points
    try:
        i, n = (int(part) for part in shard.split("/"))
        if not 0 <= i < n:
            raise ValueError
    except ValueError as e:
        raise LabError(f"--shard {shard}: not i/n with 0 <= i < n; write for example 0/4") from e
    return [p for p in all_points if p.index % n == i]


def kept(series: dict[str, Any], wanted: list[str]) -> dict[str, Any]:
    """The wanted ones of an answer's series, by their full names or first words."""
    if "*" in wanted:
        return series
    return {k: v for k, v in series.items() if any(k == w or k.startswith(w + ".") for w in wanted)}


def name_of(point: Point) -> str:
    """Identifies the run in messages."""
    words = [f"{k}={v}" for k, v in point.given.items() if k not in ("replica", "replicas")]
    return f"run {point.index} of sweep {point.sweep} ({', '.join(words + [f'replica {point.replica}'])})"


def live_refused(experiment: conf.Experiment) -> str:
    return f"{experiment.name} is run live, with processes of this machine, and not by a cluster; leave out --dask"


def run(experiment: conf.Experiment, chosen: list[Point], places: Places, pool: engine.AnyPool,
        progress: Progress) -> list[Row]:
    """The rows, in the order of the points."""
    if experiment.live and not pool.here:
        raise LabError(live_refused(experiment))
    rows: dict[int, Row] = {
        p.index: {"index": p.index, "sweep": p.sweep, "replica": p.replica, "seed": p.seed,
                  "set": experiment.resolve(p.given), "values": {}, "units": {}, "series": {}} for p in chosen}
    by_index = {p.index: p for p in chosen}

    def done(index: int, answer: engine.Answer) -> None:
        row = rows[index]
        row["values"], row["units"] = answer["values"], answer["units"]
        row["series"] = kept(answer["series"], by_index[index].series)
        progress.step()

    progress.begin(experiment.name, len(chosen), bool(experiment.live))
    if experiment.live:
        live.run_all(experiment, places,
                     [(p.index, experiment.live_keys(rows[p.index]["set"]), p.seed) for p in chosen], done)
    else:
        pool.run_all([engine.Task(p.index, experiment.world(rows[p.index]["set"]), p.seed, experiment.path, name_of(p))
                      for p in chosen], done, progress)
    progress.end()
    return [rows[p.index] for p in chosen]
