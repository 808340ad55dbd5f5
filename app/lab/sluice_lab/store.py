# SPDX-License-Identifier: BSD-3-Clause
"""Results on disk. The folder of an experiment has rows.jsonl with everything, rows.csv with the values,
findings.json with the verdicts, and the figures."""
import contextlib
import csv
import glob
import json
import os
import uuid
from collections.abc import Iterator, Sequence
from typing import Any, TypedDict, cast

from . import LabError


class Series(TypedDict):
    unit: str
    t: list[float]
    v: list[float | None]


class Row(TypedDict):
    """One run."""
    index: int
    sweep: str
    replica: int
    seed: int
    set: dict[str, str]  # the parameters
    values: dict[str, float | None]
    units: dict[str, str]
    series: dict[str, Series]


class Head(TypedDict):
    """The first line of rows.jsonl, which identifies the experiment and its runs."""
    experiment: str
    file: str
    seed: int
    given: dict[str, str]
    quick: bool
    grid: list[str] | None  # of --grid; None: the experiment's own sweeps
    points: int
    live: str | None  # the machine
    runs: str  # a digest of the text of the runs
    version: str  # of the engine


@contextlib.contextmanager
def whole(path: str) -> Iterator[str]:
    """Gives the name of a file to write, which becomes `path` as a whole or not at all."""
    part = path + ".part"
    try:
        yield part
        os.replace(part, path)
    except BaseException as e:
        with contextlib.suppress(OSError):
            os.remove(part)
        if isinstance(e, OSError):
            raise LabError(f"{path}: cannot be written: {e.strerror or e}; make room there, or name another folder "
                           "with --out DIR") from e
        raise


def write_text(path: str, text: str) -> None:
    with whole(path) as part, open(part, "w", encoding="utf-8", newline="") as f:
        f.write(text)


def remove(path: str) -> None:
    """Removes the file, if it is there."""
    try:
        os.remove(path)
    except FileNotFoundError:
        pass
    except OSError as e:
        raise LabError(f"{path}: cannot be removed: {e.strerror}; remove it, or name another folder "
                       "with --out DIR") from e


def folder_make(out: str, name: str) -> str:
    """The folder, in which files can be made."""
    folder = os.path.join(out, name)
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as e:
        raise LabError(f"{folder}: cannot be made: {e.strerror}; name another folder with --out DIR") from e
    # In bytes that a full disk refuses, too, and under a name of its own: the jobs of an array share the folder.
    test = os.path.join(folder, f".test-{uuid.uuid4().hex}")
    write_text(test, "a file can be written here\n")
    remove(test)
    return folder


def rows_file(shard: str | None) -> str:
    return "rows.jsonl" if shard is None else "rows-{}-of-{}.jsonl".format(*shard.split("/"))


def shards_of(path: str) -> str:
    """N of rows-I-of-N.jsonl."""
    return os.path.basename(path).removesuffix(".jsonl").rpartition("-")[2]


def write_rows(folder: str, head: Head, rows: Sequence[Row], shard: str | None = None) -> None:
    lines = [json.dumps(head)] + [json.dumps(r) for r in rows]
    write_text(os.path.join(folder, rows_file(shard)), "\n".join(lines) + "\n")
    if shard is None:
        write_csv(folder, rows)


def write_csv(folder: str, rows: Sequence[Row]) -> None:
    if not rows:
        return
    parameters = list(rows[0]["set"])
    measures = sorted({m for r in rows for m in r["values"]})
    units = {m: u for r in rows for m, u in r["units"].items()}
    with whole(os.path.join(folder, "rows.csv")) as part, open(part, "w", encoding="utf-8", newline="") as f:
        out = csv.writer(f)
        out.writerow(["sweep", "index", "replica", "seed"] + parameters +
                     [f"{m} ({units[m]})" if units.get(m) else m for m in measures])
        for r in rows:
            out.writerow([r["sweep"], r["index"], r["replica"], r["seed"]] +
                         [r["set"].get(p, "") for p in parameters] +
                         ["" if r["values"].get(m) is None else r["values"][m] for m in measures])


def read_rows(path: str) -> tuple[Head, list[Row]]:
    try:
        with open(path, encoding="utf-8") as f:
            lines: list[Any] = [json.loads(line) for line in f if line.strip()]
    except (OSError, ValueError) as e:
        raise LabError(f"{path}: cannot be read: {e}; run the experiment again") from e
    if not lines or not isinstance(lines[0], dict) or "experiment" not in lines[0]:
        raise LabError(f"{path}: not written by sluice-lab; run the experiment again")
    return cast(Head, lines[0]), lines[1:]


def merge(folders: list[str]) -> tuple[Head, list[Row]]:
    """Joins all shards below these folders. Missing rows are an error that says how many are missing."""
    files = sorted({f for folder in folders for pattern in ("rows-*-of-*.jsonl", "*/rows-*-of-*.jsonl")
                    for f in glob.glob(os.path.join(glob.escape(folder), pattern))})
    if not files:
        raise LabError(f"{' '.join(folders)}: there is no rows-I-of-N.jsonl; name the --out folders of "
                       "\"sluice-lab sweep --shard I/N\"")
    head: Head | None = None
    rows: dict[int, Row] = {}
    found: dict[int, str] = {}
    for path in files:
        its_head, its_rows = read_rows(path)
        if head is not None and its_head != head:
            raise LabError(f"{path}: belongs to another sweep than {files[0]}, or the experiment or sluice-lab has "
                           "changed between them; merge one sweep at a time, or run the older shards again")
        head = its_head
        for r in its_rows:
            before = found.setdefault(r["index"], path)
            if shards_of(before) != shards_of(path):
                raise LabError(f"{path}: has run {r['index']}, and so has {before}, of another number of shards; "
                               "remove the files of one of the two")
            rows[r["index"]] = r
    assert head is not None
    missing = [i for i in range(head["points"]) if i not in rows]
    if missing:
        n = len(missing)
        raise LabError(f"{n} of {head['points']} runs are missing, the first is {missing[0]}; "
                       "run the missing shards, then merge again")
    return head, [rows[i] for i in sorted(rows)]
