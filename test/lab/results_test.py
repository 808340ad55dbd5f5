#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests of what sluice-lab keeps in its folders and makes of it, and of the mistakes of users around that.

Usage: results_test.py SLUICE-LAB SOURCE_ROOT [REGEX]      TAP on standard output; REGEX: selects checks by name
"""
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import common  # noqa: E402
from common import LAB, ROOT, SMALL, Check, lab, need, read, rows, small  # noqa: E402


def check_old_figures(folder: str) -> None:
    """A report has no figure of other rows than those that it judges."""
    path = small(folder, lambda t: t.replace("10\n\n[figure", "1000\n\n[figure"))
    for again in (("run", path, "--set", "rate=77", "--no-figures"), ("sweep", path)):
        need(lab("run", path, "--out", folder).returncode == 0, "run")
        need({"rate.png", "rate.svg"} <= set(os.listdir(os.path.join(folder, "small"))), "no figures")
        done = lab(*again, "--out", folder)
        need(done.returncode in (0, 3), done.stderr)
        need(not [f for f in os.listdir(os.path.join(folder, "small")) if f.startswith("rate.")], "figures are left")
        need(lab("report", "--out", folder).returncode in (0, 3), "report")
        need("<img" not in read(folder, "report.html"), "the report has a figure of other rows")


def check_other_shards(folder: str) -> None:
    """merge does not mix runs of other texts, or files of other numbers of shards."""
    def shard(i: str, change: Callable[[str], str] = lambda text: text) -> None:
        done = lab("sweep", small(folder, change), "--out", folder, "--shard", i)
        need(done.returncode == 0, done.stderr)

    def merged(status: int, why: str) -> None:
        done = lab("merge", folder, "--out", os.path.join(folder, "whole"), "--no-figures")
        need(done.returncode == status and re.search(why, done.stderr), f"{why}: {done.returncode}: {done.stderr}")
        need(status == 0 or len(done.stderr.splitlines()) == 1, done.stderr)

    shard("0/2")
    shard("1/2", lambda t: t.replace("delay 1ms", "delay 150ms"))
    merged(2, "rows-1-of-2.jsonl: belongs to another sweep than .*rows-0-of-2.jsonl, or the experiment")
    shard("1/2", lambda t: t.replace("What the path", "All that the path"))
    merged(0, "written")
    shard("1/3")
    merged(2, "rows-1-of-3.jsonl: has run 1, and so has .*rows-1-of-2.jsonl, of another number of shards; remove")
    os.remove(os.path.join(folder, "small", "rows-1-of-3.jsonl"))
    small(folder, lambda t: t.replace("delay 1ms", "delay 150ms"))
    merged(2, "small.conf: its runs have changed since the shards were run; ")


def check_shared_folder(folder: str) -> None:
    """The jobs of an array begin in one folder at once."""
    sys.path.insert(0, os.path.join(ROOT, "app", "lab"))
    from sluice_lab import store

    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: store.folder_make(folder, "small"), range(2000)))
    need(set(made) == {os.path.join(folder, "small")} and os.listdir(made[0]) == [], "the folder is not empty")


def check_grid_without_its_file(folder: str) -> None:
    """The shards of a grid are joined on a machine that does not have the experiment."""
    path = small(folder)
    for shard in ("0/2", "1/2"):
        done = lab("sweep", path, "--grid", "rate=5,9", "--out", folder, "--shard", shard)
        need(done.returncode == 0, done.stderr)
    os.remove(path)
    done = lab("merge", folder, "--out", os.path.join(folder, "whole"))
    need(done.returncode == 0, done.stderr)
    need(len(rows(os.path.join(folder, "whole"), "small")) == 2, "rows are missing")


def limited(size: int, *args: str) -> subprocess.CompletedProcess[str]:
    """sluice-lab, which can write files of so many bytes at most, as on a full disk."""
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    return subprocess.run([LAB, *args], capture_output=True, text=True, timeout=280, check=False, preexec_fn=limit)


def said(done: subprocess.CompletedProcess[str], why: str, lines: int = 1) -> None:
    """It has ended for this reason, with one line about it."""
    need(done.returncode == 2 and re.search(why, done.stderr), f"{why}: {done.returncode}: {done.stderr}")
    need(len(done.stderr.splitlines()) == lines, done.stderr)


def check_full_disk(folder: str) -> None:
    """No room is a mistake, and does not look like a finding that does not hold; seen before the runs if it can be."""
    path = small(folder)
    said(limited(0, "run", path, "--out", folder, "--no-figures"), r"small/\.test-\w+: cannot be written: .*; make room")
    need(lab("sweep", path, "--out", folder, "--shard", "0/1", "--quiet").returncode == 0, "sweep")
    out = os.path.join(folder, "whole")
    said(limited(2000, "merge", folder, "--out", out), r"small/rows\.jsonl: cannot be written: .*; make room")
    need(not os.listdir(os.path.join(out, "small")), "a part of a file is left")
    with open("/dev/full", "w", encoding="ascii") as full:
        done = subprocess.run([LAB, "list"], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    said(done, "standard output, or a file: No space left on device; ")


def check_numbers(folder: str) -> None:
    """Neither a value nor the place of a figure is infinite, or no number."""
    for value in ("nan", "inf", "1e999"):
        said(lab("run", small(folder), "--out", folder, "--set", f"rate={value}"), r"small\.conf:14: \[host a\] up: .*")
        said(lab("run", small(folder, lambda t: t.replace("${rate}", "${rate * 2}")), "--out", folder,
                 "--set", f"rate={value}"), r"small\.conf:14: .*correct it")
    said(lab("run", small(folder, lambda t: t.replace("${rate}", "${1e308 * 10}")), "--out", folder),
         r"small\.conf:14: .*the value is inf, not a number")
    for line, why in (("x range = low high", "is not two numbers"), ("x range = 9 1", "is not two numbers"),
                      ("y range = 1", "is not two numbers"), ("y range = 0 inf", "is not two numbers"),
                      ("x per = 0", "by 0"), ("since = now", "is not a number"), ("x scale = logarithm", "log, linear"),
                      ("kind = line", "lines, course"), ("mark x = here: there", "is not a number")):
        done = lab("run", small(folder, lambda t: t + line + "\n"), "--out", folder, "--quiet")
        said(done, rf"small\.conf:37: \[figure rate\] {line.split(' =')[0]}: .*{why}.*; ")


def check_latin_1(folder: str) -> None:
    path = os.path.join(folder, "small.conf")
    with open(path, "wb") as f:
        f.write(SMALL.replace("Small", "Caf\u00e9").encode("latin-1"))
    said(lab("run", path, "--out", folder), r"small\.conf:3: is not text in UTF-8; convert it")


def check_gone_experiment(folder: str) -> None:
    """A report of the others; and a folder's name may have brackets."""
    out = os.path.join(folder, "b[1]")
    path = small(folder)
    other = os.path.join(folder, "other.conf")
    shutil.copy(path, other)
    for name in (path, other):
        need(lab("run", name, "--out", out, "--no-figures").returncode == 0, "run")
    os.remove(other)
    done = lab("report", "--out", out)
    need(done.returncode == 0, done.stderr)
    need(re.search(r"other: left out: .*other\.conf: cannot be read: .*; name", done.stderr), done.stderr)
    need(read(out, "report.html").count("<h2 ") == 1, "chapters")
    need(lab("sweep", path, "--out", out, "--shard", "0/1").returncode == 0, "sweep")
    done = lab("merge", out, "--out", out, "--no-figures")
    need(done.returncode == 0, done.stderr)
    os.remove(path)
    said(lab("report", "--out", out), "there are no results", 3)


def check_empty_grids(folder: str) -> None:
    """A sweep of nothing is a mistake, which leaves the rows that are there."""
    path = small(folder)
    need(lab("sweep", path, "--out", folder, "--grid", "rate=5", "--grid", "until=1.1,1.2").returncode == 0, "sweep")
    before = read(folder, "small", "rows.jsonl")
    for args, why in ((("--grid", "rate=9..5"), "--grid rate: \"9..5\" has no values; "),
                      (("--grid", "rate="), "--grid rate: \"\" has no values"),
                      (("--grid", "rate=1..2,lin,0"), "--grid rate: \"1..2 lin 0\" has no values"),
                      (("--grid", "rate=-1..2,log,5"), "--grid rate: .* is not a range"),
                      (("--grid", "rate=5", "--repeat", "0"), "--repeat 0: not a number of runs"),
                      (("--repeat", "2"), "--repeat: it goes with --grid")):
        said(lab("sweep", path, "--out", folder, *args), why)
    said(lab("sweep", small(folder, lambda t: t.replace("rate = 5 10 20", "rate = 9..5")), "--out", folder),
         r"small\.conf:22: \[sweep rates\] rate: \"9..5\" has no values")
    need(read(folder, "small", "rows.jsonl") == before, "other rows")


CASES = """[experiment]
title = Cases
[parameters]
load = 1
twice = ${2 * load}
kind = one
x = 10
[case load=5]
x = 20
kind = five
[case twice=4]
x = 30
[case kind=five]
until = 5
[world]
"""


def check_cases(_folder: str) -> None:
    """A case holds for the value in effect, as a number."""
    sys.path.insert(0, os.path.join(ROOT, "app", "lab"))
    from sluice_lab import conf
    with tempfile.NamedTemporaryFile("w", suffix=".conf", encoding="utf-8") as f:
        f.write(CASES.replace("x = 10\n", "x = 10\nuntil = 1\n"))
        f.flush()
        e = conf.Experiment(f.name)
    due: list[tuple[dict[str, str], str, str]] = [
        ({}, "10", "1"), ({"load": "5"}, "20", "5"), ({"load": "5.0"}, "20", "5"), ({"load": "2"}, "30", "1"),
        ({"kind": "five"}, "10", "5"), ({"load": "5", "x": "7"}, "7", "5")]
    for given, x, until in due:
        found = e.resolve(given)
        need((found["x"], found["until"]) == (x, until), f"{given}: {found}")


def check_all(folder: str) -> None:
    """--set of `all` holds for the experiments that have the parameter; it writes the report, without figures, too."""
    places = re.sub(r"experiments = .*", f"experiments = [{folder!r}]", read(LAB))
    small(folder)
    with open(os.path.join(folder, "other.conf"), "w", encoding="utf-8") as f:
        f.write(SMALL.replace("${rate}", "10").replace("rate = 10\n", "").replace("rate = 5 10 20\n", "until = 2\n")
                .replace(", rate=10", "").replace("x = rate", "x = until"))
    command = [sys.executable, "-B", "-c", "import sys; exec(sys.argv.pop(1))", places, "all", "--out", folder,
               "--no-figures", "--quiet"]
    done = subprocess.run([*command, "--set", "rate=10", "--set", "until=1.5"], capture_output=True, text=True,
                          timeout=280, check=False)
    need(done.returncode == 0 and "2 of 2 findings hold" in done.stdout, done.stdout + done.stderr)
    need("other has no parameter rate; it is run without" in done.stderr, done.stderr)
    need("small has no" not in done.stderr, done.stderr)
    need([r["set"]["rate"] for r in rows(folder, "small")] == ["10", "10"], "rows")
    need("✓ holds" in read(folder, "report.html"), "report")
    done = subprocess.run([*command, "--set", "rat=1"], capture_output=True, text=True, timeout=280, check=False)
    said(done, "--set: no experiment has a parameter rat; there are: rate, until")


def main() -> int:
    checks: dict[str, Check] = {f.__name__[6:].replace("_", " "): f for f in
                                (check_old_figures, check_other_shards, check_shared_folder,
                                 check_grid_without_its_file, check_full_disk, check_numbers,
                                 check_latin_1, check_gone_experiment, check_empty_grids, check_cases, check_all)}
    return common.run(checks)


if __name__ == "__main__":
    sys.exit(main())
