#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""scripts/plot-rate: what it draws, and what it says of files that it cannot draw.

Usage: plot_rate_test.py      TAP on standard output
"""
import importlib.util
import os
import subprocess
import sys
import tempfile

import tap

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HEAD = "t_s,rx_bytes,tx_bytes,rate_Bps,momentary_Bps\n"
ROWS = "".join(f"{i * 0.01:.2f},{i * 10000},0,2000000,1000000\n" for i in range(40))
# {name: (text of the file; None: there is none, part of the only line about it; "": it is drawn)}
CASES: dict[str, tuple[str | None, str]] = {
    "a transfer": (HEAD + ROWS, ""),
    "a last line that is cut": (HEAD + ROWS + "0.40,400000,0,20", ""),
    "a last line that is cut in its first number": (HEAD + ROWS + "0.", ""),
    "a transfer shorter than a window": (HEAD + "0,0,0,1000,0\n0.005,10,0,1000,0\n0.01,20,0,1000,0\n", ""),
    "a receiver that grants nothing": (HEAD + ROWS.replace("2000000", "0"), ""),
    "nothing moved": (HEAD + "".join(f"0.0{i},500,0,1000,0\n" for i in range(9)), "nothing was moved"),
    "no file": (None, "cannot be read: No such file"),
    "few rows": (HEAD + "0,0,0,0,0\n", "fewer than 3 rows"),
    "another table": ("a,b\n1,2\n3,4\n5,6\n", "lacks the columns"),
    "a line of words": (HEAD + ROWS + "a,b,c,d,e\n", ":42: not numbers"),
    "a picture": ("\x89PNG", "not a CSV file"),
}


def judge(folder: str, text: str | None, why: str) -> list[str]:
    rates, picture = os.path.join(folder, "rates.csv"), os.path.join(folder, "rates.png")
    if text is not None:
        with open(rates, "w", encoding="latin-1") as f:
            f.write(text)
    done = subprocess.run([sys.executable, "-B", os.path.join(ROOT, "scripts/plot-rate"), rates, picture],
                          capture_output=True, text=True, timeout=120, check=False)
    if why:
        told = done.returncode == 1 and len(done.stderr.splitlines()) == 1 and why in done.stderr
        return [] if told and not os.path.exists(picture) else [f"status {done.returncode}", *done.stderr.splitlines()]
    drawn = done.returncode == 0 and not done.stderr and os.path.exists(picture)
    return [] if drawn else done.stderr.splitlines() or ["nothing is drawn"]


def main() -> int:
    report = tap.Report(len(CASES))
    if importlib.util.find_spec("matplotlib") is None:
        report.skip_all(CASES, "python3-matplotlib is missing; scripts/setup installs it")
        return report.finish()
    for name, (text, why) in CASES.items():
        with tempfile.TemporaryDirectory() as folder:
            report.case(name, judge(folder, text, why))
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
