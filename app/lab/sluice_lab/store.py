# SPDX-License-Identifier: BSD-3-Clause
"""Results on disk, one folder per experiment: rows.jsonl has all of it, series too; rows.csv the values;
findings.json the verdicts; and the figures."""
import csv
import glob
import json
import os

from . import LabError


def write_text(path, text):
    """Whole or not at all."""
    part = path + ".part"
    with open(part, "w", encoding="utf-8", newline="") as f:
        f.write(text)
    os.replace(part, path)


def folder_make(out, name):
    folder = os.path.join(out, name)
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as e:
        raise LabError(f"{folder}: cannot be made: {e.strerror}; name another folder with --out DIR") from e
    return folder


def rows_file(shard):
    return "rows.jsonl" if shard is None else "rows-{}-of-{}.jsonl".format(*shard.split("/"))


def write_rows(folder, head, rows, shard=None):
    """head: what the rows are of; a line of its own, first."""
    lines = [json.dumps(head)] + [json.dumps(r) for r in rows]
    write_text(os.path.join(folder, rows_file(shard)), "\n".join(lines) + "\n")
    if shard is None:
        write_csv(folder, rows)


def write_csv(folder, rows):
    if not rows:
        return
    parameters = list(rows[0]["set"])
    measures = sorted({m for r in rows for m in r["values"]})
    units = {m: u for r in rows for m, u in r["units"].items()}
    path = os.path.join(folder, "rows.csv")
    with open(path + ".part", "w", encoding="utf-8", newline="") as f:
        out = csv.writer(f)
        out.writerow(["sweep", "index", "replica", "seed"] + parameters +
                     [f"{m} ({units[m]})" if units.get(m) else m for m in measures])
        for r in rows:
            out.writerow([r["sweep"], r["index"], r["replica"], r["seed"]] +
                         [r["set"].get(p, "") for p in parameters] +
                         ["" if r["values"].get(m) is None else r["values"][m] for m in measures])
    os.replace(path + ".part", path)


def read_rows(path):
    """(head, rows)"""
    try:
        with open(path, encoding="utf-8") as f:
            lines = [json.loads(line) for line in f if line.strip()]
    except (OSError, ValueError) as e:
        raise LabError(f"{path}: cannot be read: {e}; run the experiment again") from e
    if not lines or "experiment" not in lines[0]:
        raise LabError(f"{path}: not written by sluice-lab; run the experiment again")
    return lines[0], lines[1:]


def merge(folders):
    """(head, rows) of all shards below these folders; complete, or an error that says what lacks."""
    files = sorted({f for folder in folders for pattern in ("rows-*-of-*.jsonl", "*/rows-*-of-*.jsonl")
                    for f in glob.glob(os.path.join(folder, pattern))})
    if not files:
        raise LabError(f"{' '.join(folders)}: no rows-I-of-N.jsonl there; name the --out folders of "
                       "\"sluice-lab sweep --shard I/N\"")
    head, rows = None, {}
    for path in files:
        its_head, its_rows = read_rows(path)
        if head is not None and its_head != head:
            raise LabError(f"{path}: is of another sweep than {files[0]}; merge one sweep at a time")
        head = its_head
        for r in its_rows:
            rows[r["index"]] = r
    missing = [i for i in range(head["points"]) if i not in rows]
    if missing:
        n = len(missing)
        raise LabError(f"{n} of {head['points']} runs are missing, the first is {missing[0]}; "
                       "run the shards that lack, then merge again")
    return head, [rows[i] for i in sorted(rows)]
