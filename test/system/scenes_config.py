# SPDX-License-Identifier: BSD-3-Clause
"""The configuration of a daemon: checked without starting anything, and read anew while it runs."""
import glob
import os
import subprocess

from harness import ROOT, LabError, scenario

GOOD, USAGE, CONFIG = 0, 2, 3


def _check(context, *args):
    """(status, standard output, standard error) of sluiced --check."""
    done = subprocess.run([context.build.program("sluiced"), "--check", *args], capture_output=True,
                          text=True, timeout=60, check=False)
    return done.returncode, done.stdout, done.stderr


@scenario("sluiced --check: every file of config/, and what is wrong")
def check(lab, context):
    files = sorted(glob.glob(os.path.join(ROOT, "config", "*.conf")))
    uses = [os.path.basename(f) for f in files]
    for use in ("memif-a.conf", "memif-b.conf", "veth-afxdp.conf", "nic.conf", "bond.conf", "lab.conf"):
        if use not in uses:
            raise LabError(f"config/{use} is missing")
    for file in files:
        status, out, err = _check(context, file)
        if status != GOOD or err or not out.startswith(f"{file}: good;"):
            raise LabError(f"{file}: status {status}\n{out}{err}")
    with open(os.path.join(ROOT, "config", "lab.conf"), encoding="utf-8") as f:
        lab_conf = f.read()
    mistakes = (
        ("mtu        = 9000", "mtu        = 90", "[port 0000:01:00.0] mtu: ", "too small"),
        ("capacity   = 10Gbit", "capacity   = 10Gb", "[port 0000:01:00.0] capacity: ", "unit"),
        ("[peer measured]", "[pear measured]", "[pear measured] ", "unknown section"),
        ("weight  = 4", "wait    = 4", "[peer measured] wait: ", "did you mean weight"),
        ("delay 20ms", "delai 20ms", "[port 0000:02:00.0] wire: ", 'did you mean "delay"'),
        ("limit 5MB", "limit 5MX", "[port 0000:02:00.0] wire: ", "position"),
    )
    for before, after, *parts in mistakes:
        path = lab.path("wrong.conf")
        text = lab_conf.replace(before, after)
        line = 1 + text[:text.index(after)].count("\n")
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        status, out, err = _check(context, path)
        parts.append(f"{path}:{line}: ")
        if status != CONFIG or out or err.count("\n") != 1 or any(p not in err for p in parts):
            raise LabError(f"{after}: status {status}, one line with {parts} was due\n{out}{err}")
    for args, due in ((["/nowhere.conf"], CONFIG), ([lab.dir], CONFIG), (["--sockt=x"], USAGE)):
        status, out, err = _check(context, *args)
        if status != due or out or err.count("\n") != 1:
            raise LabError(f"{args}: status {status}, {due} was due\n{out}{err}")
