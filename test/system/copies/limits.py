# SPDX-License-Identifier: BSD-3-Clause
"""Cases of copies_test.py: --bwlimit and --rate, of the end that sends and of the end that receives.

The machine may be slow, so only the least time is a bar: what is allowed in it is known. Where more is allowed later, the
transfer must end long before it could at the first rate.
"""
import json
import os
import random
import subprocess
import time

from .cases import RSH, cp, environment, home, operands
from ..files_cases import MIB, OK, REMOTE, SLUICE, SOCK_A, SOCK_B, USAGE, Run, case, make, recv, same_file, send

LIMIT_BPS = 10_000_000  # 80 Mbit/s
BYTES = 24 * MIB
LEAST_S = BYTES / LIMIT_BPS * 0.98


def _limited_s(run: Run) -> dict[str, float]:
    """Of a run with --json: what has limited it, for how long."""
    seconds: dict[str, float] = json.loads(run.out.splitlines()[-1])["limited_seconds"]
    return seconds


def _timed(run: Run) -> float:
    """Waits until it has ended, without an error; returns how long that took."""
    begin = time.monotonic()
    run.expect(OK)
    return time.monotonic() - begin


@case("limits: a push and a pull with --bwlimit, and what limited them")
def bwlimit(folder: str) -> None:
    path = make(folder, "f", random.Random(1).randbytes(BYTES))
    target, back = os.path.join(home(folder), "f"), os.path.join(folder, "back")
    for source, to, there in ((path, "far:f", target), ("far:f", back, back)):
        run = cp(folder, "--json", "--bwlimit", "80Mbit", source, to)
        took = _timed(run)
        assert same_file(path, there)
        assert took >= LEAST_S, f"{source}: {BYTES} bytes in {took:.2f} s"
        seconds = _limited_s(run)
        assert max(seconds, key=seconds.__getitem__) == "bwlimit", seconds
    os.unlink(back)
    run = cp(folder, "-v", "--bwlimit", "80Mbit", "far:f", back)
    run.expect(OK)
    assert "of the time by --bwlimit or --rate" in run.err, run.err


@case("limits: one --bwlimit for all senders of a receiver")
def together(folder: str) -> None:
    paths = [make(folder, f"f{i}", random.Random(i).randbytes(BYTES // 2)) for i in range(2)]
    into = os.path.join(folder, "in")
    os.mkdir(into)
    receiver, host = recv(into, "--bwlimit", "10MB/s", "--count", "2", once=False)
    begin = time.monotonic()
    senders = [send("-v", path, host) for path in paths]
    for sender in senders:
        sender.expect(OK)
    receiver.expect(OK)
    took = time.monotonic() - begin
    # Each may have begun as if it were alone, until the receiver has noticed the other one.
    assert took >= LEAST_S * 0.8, f"{BYTES} bytes in {took:.2f} s"
    for path in paths:
        assert same_file(path, os.path.join(into, os.path.basename(path)))
    assert any("what the receiver allows" in sender.err for sender in senders), senders[0].err


@case("limits: --rate changes in the midst of a copy")
def calendar(folder: str) -> None:
    first_s, first_Bps = 3, 2_000_000
    path = make(folder, "f", random.Random(1).randbytes(8 * BYTES))
    now = time.gmtime()
    # A time zone in which it is nearly eight.
    ahead = (8 * 3600 - first_s - (now.tm_hour * 3600 + now.tm_min * 60 + now.tm_sec)) % 86400
    zone = f"XXX-{ahead // 3600}:{ahead // 60 % 60:02}:{ahead % 60:02}"
    rate = f"{8 * first_Bps}bit until 08:00, then unlimited until 07:00, then 1kbit until 7:30"
    args = operands(["--rate", rate, path, "far:f"])
    took = _timed(Run("cp", *args, sock=SOCK_A, prefix=[*environment(folder, rsh=RSH), f"TZ={zone}"]))
    assert same_file(path, os.path.join(home(folder), "f"))
    assert took >= first_s - 1, f"over after {took:.2f} s: what was allowed first did not hold"
    assert took < 8 * BYTES / first_Bps / 2, f"over after {took:.2f} s: what was allowed later did not hold"


def _capacity(sock: str, rate: str) -> None:
    """Sets the capacity of the daemon's ports."""
    subprocess.run([SLUICE, "exec", "set", "capacity", rate, "--socket", sock], check=True, timeout=30,
                   stdout=subprocess.DEVNULL)


@case("limits: a share of the port, and of one that says nothing of itself")
def share(folder: str) -> None:
    path = make(folder, "f", random.Random(1).randbytes(BYTES))
    back = os.path.join(folder, "back")
    for rate in ("50%", "1Gbit until 12:00, then 50%", "50% until 12:00, then 1Gbit"):
        cp(folder, "--rate", rate, path, "far:f").expect(USAGE, 'set "capacity" of the port', "--rate: ")
    for source, to in ((path, "far:f"), ("far:f", back)):
        _capacity(SOCK_A, "160Mbit")
        try:
            took = _timed(cp(folder, "--rate", "50%", source, to))
        finally:
            _capacity(SOCK_A, "none")
        assert took >= LEAST_S, f"{source}: {BYTES} bytes in {took:.2f} s"
    assert same_file(path, back)


@case("limits: what is wrong with --bwlimit and --rate")
def wrong(folder: str) -> None:
    path = make(folder, "f", b"x")
    for words, why in ((("--bwlimit", "100"), "rsync's N is NKiB/s"),
                       (("--bwlimit", "80%"), "its unit is none of"),
                       (("--bwlimit", "1Mbit", "--rate", "1Mbit"), "give one of them"),
                       (("--rate", "80% until 8, then 10%"), "character 11: a time is missing"),
                       (("--rate", ""), "character 1: a rate is missing")):
        cp(folder, *words, path, "far:f").expect(USAGE, why)
        send(*words, path, "10.90.0.2").expect(USAGE, why)
        Run("recv", *words, "-o", folder, sock=SOCK_B).expect(USAGE, why)
    cp(folder, "--bwlimit", "0", path, "far:f").expect(OK)


@case("lines of JSON: progress, each file, what failed, and the end")
def lines(folder: str) -> None:
    names = ["a", "quo\"ted\nb", "\udcff"]
    source = os.path.join(folder, "src")
    os.mkdir(source)
    for name in names:
        make(source, name, random.Random(1).randbytes(2 * MIB))
    back = os.path.join(folder, "back")
    os.mkdir(back)
    os.mkdir(os.path.join(home(folder), "src"))
    with open(os.path.join(home(folder), "src", "a"), "wb") as f:
        f.write(b"in the way")
    runs: list[tuple[str, str, list[str], int]] = [(source, "far:", ["src/a"], REMOTE), ("far:src", back, [], OK)]
    for source_name, to, failed, code in runs:
        run = cp(folder, "--json-stream", "-r", "--bwlimit", "40Mbit", source_name, to)
        run.expect(code)
        events = [json.loads(line) for line in run.out.splitlines()]
        kinds = [e["event"] for e in events]
        assert kinds[-1] == "end" and kinds.count("end") == 1 and kinds.count("progress") >= 2, kinds
        assert events[-1]["files"] == kinds.count("file") == 3 - len(failed), events
        assert events[-1]["exit"] == code
        assert [e["name"] for e in events if e["event"] == "failed"] == failed, events
        moved = [e["bytes"] for e in events if e["event"] == "progress"]
        assert moved == sorted(moved) and moved[-1] <= 3 * 2 * MIB, moved
        found = {bytes.fromhex(e["name_hex"]).decode(errors="surrogateescape") if "name_hex" in e else e["name"]
                 for e in events if e["event"] == "file"}
        assert {f"src/{n}" for n in names} - set(failed) == found, found
