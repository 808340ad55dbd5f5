# SPDX-License-Identifier: BSD-3-Clause
"""Which runs an experiment consists of, running them, and the rows that come of it."""
import itertools
import zlib

from . import LabError, conf, engine, live


class Point:
    """One run: its place in the order of all, what is set, its seed."""

    def __init__(self, index, sweep, given, replica, seed, series):
        self.index, self.sweep, self.given, self.replica = index, sweep, given, replica
        self.seed, self.series = seed, series


def seed_of(seed, given, replica):
    """The same for the same settings, whatever else a sweep has: 32 bits."""
    text = f"{seed} {replica} " + " ".join(f"{k}={v}" for k, v in sorted(given.items()))
    return zlib.crc32(text.encode())


def quick_of(experiment):
    section = experiment.one("quick")
    return dict(section.keys) if section else {}


def sweeps_of(experiment, quick):
    """[(name, {parameter: [values]}, repeat, [series])]"""
    found = []
    instead = quick_of(experiment) if quick else {}
    for s in experiment.all("sweep"):
        keys = {**s.keys, **{k.split(".", 1)[1]: v for k, v in instead.items()
                             if k.startswith(s.name + ".")}}
        repeat = keys.pop("repeat", "1")
        series = keys.pop("series", "").split()
        if not repeat.isdigit() or int(repeat) < 1:
            s.error("repeat", f"\"{repeat}\" is no number of runs; write for example 20")
        found.append((s.name, {k: conf.axis(s, k, v) for k, v in keys.items()}, int(repeat), series))
    return found or [("run", {}, 1, ["*"])]


def points(experiment, given, seed, quick=False, grid=None, repeat=1):
    """All runs; grid: {parameter: [values]} instead of the experiment's own sweeps."""
    base = {k: v for k, v in quick_of(experiment).items() if "." not in k} if quick else {}
    base.update(given)
    for name in base:
        experiment.check_parameter(name, "--set" if name in given else experiment.path)
    sweeps = sweeps_of(experiment, quick) if grid is None else [("grid", grid, repeat, [])]
    out = []
    for name, axes, times, series in sweeps:
        # What the user has set is not swept.
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


def shard_of(all_points, shard):
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


def kept(series, wanted):
    if "*" in wanted:
        return series
    return {k: v for k, v in series.items() if any(k == w or k.startswith(w + ".") for w in wanted)}


def name_of(point):
    """For messages: which of the runs it is."""
    words = [f"{k}={v}" for k, v in point.given.items() if k not in ("replica", "replicas")]
    return f"run {point.index} of sweep {point.sweep} ({', '.join(words + [f'replica {point.replica}'])})"


def live_refused(experiment):
    return f"{experiment.name} is run live, with processes of this machine, and not by a cluster; leave out --dask"


def run(experiment, chosen, places, pool, progress):
    """Rows in the order of the points."""
    if experiment.live and not pool.here:
        raise LabError(live_refused(experiment))
    tasks, rows = [], {}
    for p in chosen:
        values = experiment.resolve(p.given)
        tasks.append((p.index, experiment.live_keys(values), p.seed) if experiment.live else
                     engine.Task(p.index, experiment.world(values), p.seed, experiment.path, name_of(p)))
        rows[p.index] = {"index": p.index, "sweep": p.sweep, "replica": p.replica, "seed": p.seed, "set": values}

    by_index = {p.index: p for p in chosen}

    def done(index, answer):
        rows[index].update(values=answer["values"], units=answer["units"],
                           series=kept(answer["series"], by_index[index].series))
        progress.step()

    progress.begin(experiment.name, len(tasks), bool(experiment.live))
    if experiment.live:
        live.run_all(experiment, places, tasks, done)
    else:
        pool.run_all(tasks, done, progress)
    progress.end()
    return [rows[p.index] for p in chosen]
