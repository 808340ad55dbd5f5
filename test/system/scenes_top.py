# SPDX-License-Identifier: BSD-3-Clause
"""sluice top: on a terminal of 80 x 24, with keys and signals, and once for scripts."""
import json
import shlex
import signal

from .harness import Context, TestbedError, scene, sh
from testbed.daemon import Daemon
from testbed.pair import ADDR_A, ADDR_B, memif_pair
from testbed.process import Testbed, until
from testbed.terminal import LEAVE, Screen

CAPACITY = "400Mbit"


def _transfer(testbed: Testbed, context: Context) -> tuple[Daemon, Daemon]:
    """Two daemons with a transfer of three streams, without end, from the first to the second."""
    a, b = memif_pair(testbed, context.build, b_keys={"capacity": CAPACITY})
    b.sluice("receiver", "perf", "server", "-1")
    b.wait_listening()
    a.sluice("sender", "perf", "client", "-t", "600", "-i", "0", "-P", "3", ADDR_B)
    return a, b


def _top(testbed: Testbed, daemon: Daemon, env: dict[str, str] | None = None) -> Screen:
    return Screen(testbed, daemon.command("top", "-i", "250ms"), env=env)


def _rows(page: list[str], direction: str) -> list[str]:
    return [x for x in page if x.split() and x.split()[0] == direction]


def _fits(screen: Screen, page: list[str]) -> None:
    if len(page) != screen.rows or any(len(x) > screen.columns for x in page):
        raise TestbedError(f"the page is not one of {screen.rows} x {screen.columns}:\n" + "\n".join(page))


def _moves(page: list[str]) -> bool:
    """Whether three flows come in, each with a rate and a grant. Before the data there is only the grant."""
    rows = _rows(page, "in")
    return len(rows) == 3 and all(x.count("Mb/s") == 2 and "capacity" in x for x in rows)


@scene("top: a page of 80 x 24, keys, another size", company=True)
def top_keys(testbed: Testbed, context: Context) -> None:
    _, b = _transfer(testbed, context)
    screen = _top(testbed, b)
    page = screen.until_page(_moves, "three flows with rate and reason")
    _fits(screen, page)
    for words in ("net_memif0", "400 Mb/s", "LAST MINUTE", "3 open", "sort: rate"):
        if not any(words in x for x in page):
            raise TestbedError(f"{words} is missing:\n" + "\n".join(page))
    screen.until_page(lambda p: any(c in x for x in _rows(p, "in") for c in "▁▂▃▄▅▆▇█"), "bars")
    screen.type("c")
    page = screen.until_page(lambda p: "sort: conn" in p[-1], "another order")
    numbers = [x.split()[1] for x in _rows(page, "in")]
    screen.type("c")
    page = screen.until_page(lambda p: "conn, backward" in p[-1], "backward")
    if [x.split()[1] for x in _rows(page, "in")] != numbers[::-1]:
        raise TestbedError(f"{numbers} in reverse order was due:\n" + "\n".join(page))
    screen.type("/out\r")
    screen.until_page(lambda p: not _rows(p, "in") and "/ filter: out" in p[-1], "a filter")
    screen.type("/\033")
    screen.until_page(lambda p: len(_rows(p, "in")) == 3, "no filter")
    screen.type("h")
    _fits(screen, screen.until_page(lambda p: any("Keys:" in x for x in p), "help"))
    screen.type("h ")
    screen.until_page(lambda p: "PAUSED" in p[0], "a pause")
    screen.type(" ")
    for rows, columns in ((10, 40), (40, 140), (3, 20), (24, 80)):
        screen.resize(rows, columns)
        _fits(screen, screen.until_page(lambda p: len(p) == rows and len(p[0]) == columns,
                                        f"a page of {rows} x {columns}"))
    screen.type("q")
    if screen.wait() != 0:
        raise TestbedError(f"q ends it with status {screen.popen.returncode}")
    screen.check_restored("q")


@scene("top: the terminal is put back however it ends", company=True)
def top_ends(testbed: Testbed, context: Context) -> None:
    a, b = memif_pair(testbed, context.build)
    for name, status in (("INT", 130), ("TERM", 143), ("HUP", 129), ("SEGV", -signal.SIGSEGV),
                         ("ABRT", -signal.SIGABRT)):
        screen = _top(testbed, b)
        screen.until_page(lambda p: "no connections" in "".join(p), "a page")
        screen.popen.send_signal(getattr(signal, "SIG" + name))
        if screen.wait() != status:
            raise TestbedError(f"SIG{name}: status {screen.popen.returncode} instead of {status}")
        screen.check_restored(f"SIG{name}")
    screen = _top(testbed, b)
    screen.until_page(lambda p: True, "a page")
    b.kill()
    if screen.wait() != 3 or "sluice: " not in screen.raw.split(LEAVE)[-1]:
        raise TestbedError(f"the daemon is gone: status {screen.popen.returncode}, "
                       f"{screen.raw[-300:]!r}")
    screen.check_restored("a daemon that is gone")
    once = a.sluice("once", "top", "--once", "-i", "600")
    until(lambda: len(a.show("clients")) > 1, 20, "the first look")
    a.kill()
    if once.wait(30) != 3 or "sluice: " not in once.err():  # long before its second look is due
        raise TestbedError(f"--once does not report that the daemon is gone\n{once.tail()}")


@scene("top: stopped by ^Z, and in the foreground again; ASCII and colours", company=True)
def top_stop(testbed: Testbed, context: Context) -> None:
    a, b = memif_pair(testbed, context.build)
    command = shlex.join(b.command("top", "-i", "250ms"))
    screen = Screen(testbed, ["bash", "-c", f"set -m; {command}; echo is stopped; stty -a; read; fg; "
                          "echo status $?"], env={"LC_ALL": "C"})
    screen.until_page(lambda p: True, "a page")
    screen.type("\x1a")
    screen.until(lambda: "is stopped" in screen.raw and " echo " in screen.raw, "a stop")
    if LEAVE not in screen.raw or " icanon " not in screen.raw:
        raise TestbedError(f"^Z does not put the terminal back: {screen.raw!r}")
    screen.type("\n")
    screen.until_page(lambda p: "sluice top" in p[0], "the page again")
    screen.type("q")
    screen.until(lambda: "status 0" in screen.raw, "the end")
    screen.wait()
    screen.check_restored("q after ^Z")
    colour = _top(testbed, b, env={"NO_COLOR": ""})
    colour.until(lambda: "\033[7m" in colour.raw, "colours")
    colour.type("q")
    colour.wait()
    for daemon in (a, b):
        daemon.stop()


@scene("top --once says what show says")
def top_once(testbed: Testbed, context: Context) -> None:
    a, b = _transfer(testbed, context)

    def once(daemon: Daemon, *args: str) -> str:
        return sh(*daemon.command("top", "--once", "-i", "500ms", *args))

    b.wait_link()
    screen = _top(testbed, b)
    screen.until_page(_moves, "data flow")
    screen.close()
    for daemon, peer, direction, side in ((a, ADDR_B, "out", "tx"), (b, ADDR_A, "in", "rx")):
        said = json.loads(once(daemon, "--json", "--filter", direction, "--sort", "conn"))
        conns = {c["conn"]: c for c in daemon.show("conns") if c["state"] == "open"}
        rows = [r for r in said["conns"] if r["bytes"] > 1 << 20]
        if [r["conn"] for r in rows] != sorted(conns):
            raise TestbedError(f"connections {sorted(conns)}, top has {said['conns']}")
        for row in rows:
            shown = conns[row["conn"]]
            for key, value in (("peer", peer), ("direction", direction), ("state", "open"),
                               ("service", shown["service"]), ("port", shown["port"])):
                if row[key] != value:
                    raise TestbedError(f"{key} is {row[key]} instead of {value}")
            if not 0 < row["bytes"] <= shown[side + "_bytes"]:
                raise TestbedError(f"top has {row['bytes']} bytes, show later {shown[side + '_bytes']}")
            if not 0 < row["rate_Bps"] <= 50e6 or not 0 < row["grant_Bps"] <= 50e6:
                raise TestbedError(f"rate or grant does not fit 400 Mbit/s: {row}")
    shown = b.show("capacity")[0]
    port = said["ports"][0]
    if port["capacity_Bps"] != shown["shared_Bps"] or port["open_conns"] != shown["open_conns"]:
        raise TestbedError(f"top has {port}, show {shown}")
    if not 0 < port["rx_Bps"] < 100e6:
        raise TestbedError(f"a port of 400 Mbit/s receives {port['rx_Bps']} bytes/s")
    table = once(b).splitlines()
    if not table[0].startswith("PORT") or len([x for x in table if x.startswith("in ")]) < 3:
        raise TestbedError("no tables:\n" + "\n".join(table))
