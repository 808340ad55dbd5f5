# SPDX-License-Identifier: BSD-3-Clause
"""The daemon's console, from a terminal, a pipe, a file and a shell, and the one of `sluiced -i`."""
import glob
import json
import os
import random
import re
import signal
import subprocess
from typing import Any

from .harness import Context, TestbedError, perf, scene, sh
from testbed.daemon import Daemon, memif
from testbed.pair import ADDR_A, ADDR_B, memif_pair, pair_cpus, station
from testbed.process import Testbed, until
from testbed.terminal import Terminal

PROMPT = r"sluice> "
TREE = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))


def run(daemon: Daemon, *args: str, stdin: str | None = None, timeout_s: float = 60,
        user: int | None = None) -> tuple[int, str, str]:
    """(status, stdout, stderr) of the command."""
    done = subprocess.run(daemon.command(*args), input=stdin, capture_output=True, text=True,
                          errors="replace", timeout=timeout_s, check=False, user=user)
    return done.returncode, done.stdout, done.stderr


def say(daemon: Daemon, command: str, status: int = 0, words: str = "") -> str:
    """Runs one command, which must end with this status and print these words; returns its output."""
    got, out, err = run(daemon, "exec", command)
    if got != status or words not in out + err:
        raise TestbedError(f"{command}: status {got}, not {status} with \"{words}\"\n{out}{err}")
    return out


def alone(testbed: Testbed, context: Context, name: str = "a", keys: dict[str, Any] | None = None) -> Daemon:
    """A daemon without a peer."""
    (worker, control), _ = pair_cpus()
    port = memif(testbed.path(f"{name}-memif.sock"), "server")
    port.keys = {**station(1), **(keys or {})}
    return Daemon(testbed, context.build, name, [port], [worker], control)


def patterns(daemon: Daemon) -> list[str]:
    """The commands as help lists them."""
    out = say(daemon, "help").split("Values,")[0]
    return [line.split("  ")[1].strip() for line in out.splitlines()]


def lines_of(pattern: str) -> list[str]:
    """All lines that a pattern stands for."""
    values = {"CONN": "99", "PORT": "net_memif0", "RATE": "1Gbit", "SIZE": "64k", "WEIGHT": "2",
              "PEER": ADDR_B, "OPTIONS": "--memory 64M", "SPEC": "delay 1ms", "FILE": "/nonexistent", "TOPIC": "show"}
    lines = [""]
    for word in pattern.split():
        more = [values.get(w, w) for w in word.strip("[]").split("|")]
        lines = [f"{line} {w}".strip() for line in lines for w in more]
    return lines


def seeded() -> random.Random:
    seed = int(os.environ.get("SLUICE_SEED", "0"), 0) or random.SystemRandom().randrange(1 << 32)
    print(f"# console: seed {seed}", flush=True)
    return random.Random(seed)


def at_console(testbed: Testbed, context: Context, columns: int = 200) -> tuple[Daemon, Terminal]:
    """A daemon, and a terminal with its console."""
    daemon = alone(testbed, context).start()
    t = Terminal(testbed, daemon.command("console"), columns=columns)
    t.expect(PROMPT)
    return daemon, t


def left(t: Terminal, daemon: Daemon, status: int = 0) -> None:
    """Waits for the console to end with this status, then stops the daemon."""
    if t.wait() != status:
        raise TestbedError(f"the console ended with status {t.popen.returncode}, not {status}")
    t.check_modes("the console's end")
    daemon.stop()


@scene("console: every command on a terminal, completion, history, wrong words", company=True)
def terminal(testbed: Testbed, context: Context) -> None:
    daemon, t = at_console(testbed, context)
    all_lines = [line for p in patterns(daemon) for line in lines_of(p) if line != "quit"]
    if len(all_lines) < 25:
        raise TestbedError(f"help lists only {all_lines}")
    for line in all_lines:
        t.type(line + "\n")
        begun = t.expect(re.escape(line)).end()
        end = t.expect(PROMPT).start()
        got = t.text()[begun:end]
        if "not known here" in got or "not complete" in got or "unrecognized" in got:
            raise TestbedError(f"{line}: {got}")
    t.type("sh\tcap\t\n")  # "show capacity "
    t.expect(r"show capacity\s*\n(.*\n)*PORT +CEILING")
    t.expect(PROMPT)
    t.type("show \t")  # several words fit, so they are listed
    t.expect(r"conns +conn +grants +spread +capacity +history +trace")
    t.type("port stats n\t\n")  # the daemon gives the port's name
    t.expect(r"show port stats net_memif0\s*\n(.*\n)*PORT +RX PACKETS")
    t.expect(PROMPT)
    t.type("set capacity \t")
    t.expect(r"RATE, such as 2.5Gbit")
    t.type("\x03")  # Ctrl-C drops the line
    t.expect(r"\^C\n")
    t.type("shwo conns\n")
    t.expect(r'word 1, "shwo": not known here; did you mean "show"\?')
    t.type("\x1b[A\x1b[A\n")  # the line before the last, from the history
    t.expect(r"PORT +RX PACKETS")
    t.expect(PROMPT)
    t.type("load /etc/hostn\t\n")
    t.expect(r"load /etc/hostname")
    t.expect(r"/etc/hostname:1: word 1")
    t.type("x" * 3000 + "\n")
    t.expect(r"a line of 3000 bytes is longer than 2048; shorten it")
    t.expect(PROMPT)
    t.type("quit\n")
    left(t, daemon)


@scene("console: keys of the line editor; what it cannot take is refused, the terminal is put back", company=True)
def keys(testbed: Testbed, context: Context) -> None:
    daemon, t = at_console(testbed, context)

    def gives(typed: str, expected: str) -> None:
        t.type(typed)
        t.expect(expected)
        t.expect(PROMPT)
    gives("show capacity\n", "PORT +CEILING")
    gives("show workers\n", "LCORE")
    gives("apacity\x1b[Hshow c\x1b[F\n", "PORT +CEILING")  # Home, End
    gives("nonsense\x15show workers\n", "LCORE")  # Ctrl-U
    gives("show workers capac\x1b[1;5D\x17\x05ity\n", "PORT +CEILING")  # a word back, Ctrl-W, Ctrl-E
    gives("show ca\x1b[D\x1b[D\x1b[3~\x1b[3~\x1b[Cwork\t\n", "LCORE")
    gives("workers\x12\n", "LCORE")  # Ctrl-R: the newest line that contains it
    gives("sh\x12\x12\n", "PORT +CEILING")  # twice: the one before that
    gives("nowhere\x12\n", "word 1, \"nowhere\": not known")  # no line contains it: the typed one stays
    gives("show ?\x15\n", r"conns +conn +grants")
    gives("show wor\x1bzke\x1b[15~r\x1b[1;2;3;4;5;6Zs\n", "LCORE")  # unknown keys do nothing
    gives("show workers\x1b\n", "LCORE")  # an unfinished key sequence
    gives("show workers\x1b[1\n", "LCORE")
    gives("load /nonexistent/\u00fc\u65e5\U0001f600\n", "/nonexistent/\u00fc\u65e5\U0001f600: No such file")
    gives("load /nonexistent/\u00e4\u65e5\x7fz\x1b[D\x1b[D\x1b[3~\n", "/nonexistent/z: No such file")  # whole characters
    gives("load /nonexistent/\u0085\n", "/nonexistent/\ufffd: No such file")  # would control the terminal
    t.type_bytes(b"load /nonexistent/\xff\xe6\x97\n")  # not UTF-8, and the newline ends a character
    t.expect("/nonexistent/\ufffd\ufffd: No such file")
    t.expect(PROMPT)
    gives("x" * 2048 + "\n", "word 1")
    gives("x" * 2049 + "\n", "a line of 2049 bytes is longer than 2048")
    gives("\x1b[A\x7f\n", "word 1")  # too long, but not lost
    os.kill(t.popen.pid, signal.SIGSTOP)
    os.kill(t.popen.pid, signal.SIGCONT)
    gives("show workers\n", "LCORE")
    t.type("show wor")
    os.kill(t.popen.pid, signal.SIGTERM)
    left(t, daemon, -signal.SIGTERM)


def remembers(testbed: Testbed, command: list[str]) -> None:
    """A console takes a line of 2000 bytes, in UTF-8, on a terminal with fewer rows; what was typed is there the next
    time, also what another console was told at once; and only so much is kept."""
    state = testbed.path("state")
    kept = os.path.join(state, "sluice/sluice.history")

    def opened(folder: str = state) -> Terminal:
        t = Terminal(testbed, command, columns=80, env={"XDG_STATE_HOME": folder})
        t.expect(PROMPT)
        return t

    def gives(t: Terminal, typed: str, expected: str) -> None:
        t.type(typed)
        t.expect(expected)
        t.expect(PROMPT)

    def left(t: Terminal) -> None:
        t.type("\x04")
        if t.wait() != 0:
            raise TestbedError(f"status {t.popen.returncode}")

    def lines() -> list[str]:
        with open(kept, encoding="utf-8") as f:
            return f.read().splitlines()
    path = testbed.path("\u00fc\u65e5\U0001f600.cmd")
    with open(path, "w", encoding="utf-8") as f:
        f.write("show workers\n")
    blanks = 2000 - len(f"load {path}".encode())
    long = f"load {os.path.dirname(path)}{'/.' * (blanks // 2)}{'/' * (blanks % 2)}/{os.path.basename(path)}"
    if len(long.encode()) != 2000:
        raise TestbedError(f"the line has {len(long.encode())} bytes")
    one, other = opened(), opened()
    gives(one, long + "\n", "LCORE")
    gives(other, "show capacity\n", "CEILING")
    gives(one, "show  neigh \n", "ADDRESS")
    gives(one, "show  neigh\n", "ADDRESS")
    left(one)
    left(other)
    if lines() != [long, "show capacity", "show  neigh"] or os.stat(kept).st_mode & 0o777 != 0o600:
        raise TestbedError(f"{kept} has mode {os.stat(kept).st_mode:o} and {lines()}")
    t = opened()
    gives(t, "\x1b[A" * 3 + "\n", "LCORE")
    gives(t, "\x10\x10" + "\x7f" * 5 + "neigh\n", "ADDRESS")  # "show  neigh", as typed before
    left(t)
    with open(kept, "a", encoding="latin-1") as more:
        more.write("\x1b[2J\xff\n" + "".join(f"show neigh {i}\n" for i in range(2001)))
    t = opened()
    gives(t, "\x10\n", 'word 3, "2000"')
    left(t)
    if lines() != [f"show neigh {i}" for i in range(1001, 2001)]:
        raise TestbedError(f"{len(lines())} lines are kept: {lines()[:2]} to {lines()[-2:]}")
    os.chmod(kept, 0o644)
    left(opened())
    if os.stat(kept).st_mode & 0o777 != 0o600:
        raise TestbedError(f"others may still read {kept}: mode {os.stat(kept).st_mode:o}")
    os.unlink(kept)
    os.mkfifo(kept)
    t = opened()  # nobody reads or writes there
    gives(t, "show workers\n", "LCORE")
    left(t)
    t = opened("/proc/nonexistent")  # there is history, but no file
    gives(t, "show workers\n", "LCORE")
    gives(t, "\x10\n", "LCORE")
    left(t)


@scene("console: lines of 2000 bytes, and a history that outlives it", company=True)
def remembered(testbed: Testbed, context: Context) -> None:
    daemon = alone(testbed, context).start()
    remembers(testbed, daemon.command("console"))
    daemon.stop()


@scene("console: of a client that is built where there is no DPDK", company=True)
def client(testbed: Testbed, context: Context) -> None:
    """DPDK is hidden: pkg-config finds the other packages only, and no other way leads to DPDK's headers."""
    found = testbed.path("pkgconfig")
    os.mkdir(found)
    for name in ("libedit", "jansson", "libcrypto", "libxxhash"):
        folder = sh("pkg-config", "--variable=pcfiledir", name).strip()
        os.symlink(os.path.join(folder, f"{name}.pc"), os.path.join(found, f"{name}.pc"))
    build, installed = testbed.path("build"), testbed.path("installed")

    def run_meson(*words: str, status: int = 0) -> str:
        done = subprocess.run(["meson", *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              check=False, timeout=500, env={**os.environ, "PKG_CONFIG_LIBDIR": found, "DESTDIR": installed})
        if done.returncode != status:
            raise TestbedError(f"meson {' '.join(words)}: status {done.returncode}\n{done.stdout[-3000:]}")
        return done.stdout
    setup = ("setup", "--prefix=/usr", "-Dpython=disabled", "-Dtests=false", build, TREE)
    if "-Ddaemon=false -Dlab=false" not in run_meson(*setup, status=1):
        raise TestbedError("without DPDK, meson does not say how to build the client")
    run_meson(*setup, "-Ddaemon=false", "-Dlab=false")
    with open(os.path.join(build, "meson-logs/meson-log.txt"), encoding="utf-8") as f:
        if "libdpdk" in f.read():
            raise TestbedError("meson has looked for DPDK")
    run_meson("compile", "-C", build)
    run_meson("install", "-C", build)
    program = os.path.join(installed, "usr/bin/sluice")
    libraries = [program, *glob.glob(os.path.join(installed, "usr/lib/**/libsluice.so"), recursive=True)]
    needed = [sh("ldd", x) for x in libraries]
    if len(needed) != 2 or "libedit" not in needed[0] or any("librte" in x or "not found" in x for x in needed):
        raise TestbedError(f"{libraries} need {needed}")
    others = [x for x in glob.glob(os.path.join(installed, "usr/**"), recursive=True)
              if re.search(r"/bin/sluice.|/systemd/|/(sysusers|rules)\.d/|/man/man8/|-lab|/(grafana|prometheus)/", x)]
    if others:
        raise TestbedError(f"installed, but not of the client: {others}")
    if "sluice COMMAND" not in sh(program, "--help"):
        raise TestbedError(sh(program, "--help"))
    daemon = alone(testbed, context).start()
    remembers(testbed, [program, "console", "--socket", daemon.socket])
    daemon.stop()


@scene("console: 50,000 random keys on a terminal", company=True)
def random_keys(testbed: Testbed, context: Context) -> None:
    daemon, t = at_console(testbed, context, columns=80)
    draw = seeded()
    some = ["\t", "?", "\n", "\x1b[A", "\x1b[B", "\x1b[C", "\x1b[D", "\x1b[3~", "\x1b", "\x0b", "\x19", "\x12",
            "\x17", "\x15", "show ", "capacity", "x" * 100, "set ", "conn ", " "]
    never = "\x03\x04\x11\x13\x16\x1a\x1cq"  # signals, end of file, flow control; q and a tab make quit
    for _ in range(50_000 // 50):
        typed = "".join(draw.choice(some) if draw.random() < 0.7 else chr(draw.randrange(256)) for _ in range(50))
        t.type("".join(c for c in typed if c not in never))
        t.skip()
    t.type("\x15\nshow workers\n")
    t.expect("LCORE", timeout_s=60)
    t.type("\x15\x04")
    left(t, daemon)


@scene("console: one-shot commands, pipes, files: what they show, do, and return", company=True)
def shots(testbed: Testbed, context: Context) -> None:
    daemon = alone(testbed, context, keys={"wire": "delay 1ms"}).start()
    say(daemon, "show prt info all", 2, 'did you mean "port"?')
    say(daemon, "show port info 7", 1, "no such port")
    say(daemon, "show conn 3", 1, "no such connection")
    say(daemon, "set conn 3 weight 2", 1, "no open connection 3")
    say(daemon, "set capacity 3Gbit nowhere", 1, "no port nowhere")
    say(daemon, "load /nonexistent", 5, "/nonexistent: No such file")
    say(daemon, "set capacity 3Gbit")
    if daemon.show("capacity")[0]["capacity_Bps"] != 375_000_000:
        raise TestbedError(f"capacity: {daemon.show('capacity')}")
    say(daemon, "set capacity none net_memif0")
    if daemon.show("ports")[0]["capacity_Bps"] != 0:
        raise TestbedError("set capacity none leaves a capacity")
    say(daemon, "set path 0 forward delay 3ms")
    say(daemon, "set path net_memif0 both dely 3ms", 1, 'did you mean "delay"?')
    say(daemon, "set path 1 both wire", 1, "no port 1")
    status, out, _ = run(daemon, "exec", "--json", "show", "port", "info", "0")
    if status != 0 or json.loads(out)["ports"][0]["name"] != "net_memif0":
        raise TestbedError(out)
    status, out, err = run(daemon, "console", stdin="show workers\nshow nonsense\nshow capacity\n")
    if status != 2 or "LCORE" not in out or "CEILING" not in out or "nonsense" not in err:
        raise TestbedError(f"{status}: {out}{err}")
    with open("/dev/full", "w", encoding="ascii") as full:
        done = subprocess.run(daemon.command("exec", "show port xstats all"), stdout=full,
                              stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    if done.returncode != 5 or "standard output: " not in done.stderr:
        raise TestbedError(f"the full disk is not reported: {done}")
    path = testbed.path("good.cmd")
    with open(path, "w", encoding="utf-8") as f:
        f.write("# evening\n\nset capacity 2Gbit\nset capacity 1foo\nset capacity 4Gbit\n")
    say(daemon, f"load {path}", 2, f"{path}:4: word 3, \"1foo\"")
    if daemon.show("capacity")[0]["capacity_Bps"] != 250_000_000:
        raise TestbedError("load must run all that stands before the error, and nothing after it")
    loop = testbed.path("loop.cmd")
    with open(loop, "w", encoding="utf-8") as f:
        f.write(f"load {loop}\n")
    say(daemon, f"load {loop}", 5, "load each other")
    if os.geteuid() == 0:
        other_user(daemon)
    daemon.stop()
    say(daemon, "show conns", 3, "no daemon")


def other_user(daemon: Daemon) -> None:
    """Another user who can open the socket may read the state, but not change it."""
    os.chmod(os.path.dirname(daemon.socket), 0o755)
    os.chmod(daemon.socket, 0o666)
    status, out, err = run(daemon, "exec", "set capacity 1Gbit", user=65534)
    if status == 3 and "ermission" in err:
        return  # this user may not enter the folder of the programs
    if status != 1 or "only root" not in err:
        raise TestbedError(f"{status}: {out}{err}")
    if run(daemon, "exec", "show capacity", user=65534)[0] != 0:
        raise TestbedError("another user may not read the capacity")


@scene("console: `set conn` holds while the connection sends")
def overridden(testbed: Testbed, context: Context) -> None:
    a, b = memif_pair(testbed, context.build)
    server = b.sluice("server", "perf", "server", "-1", "--json")
    b.wait_listening(process=server)
    client = a.sluice("client", "perf", "client", "-t", "30", "--json", "-i", "0", ADDR_B)

    def grant() -> list[dict[str, Any]]:
        return [c for c in b.show("conns") if c["state"] == "open"]

    until(lambda: grant() and grant()[0]["rx_bytes"] > 1_000_000, 30, "data come")
    number = grant()[0]["conn"]
    say(b, f"set conn {number} ceiling 80Mbit")
    until(lambda: grant()[0]["rx_rate_Bps"] <= 10_000_000, 10, "the ceiling holds")
    if grant()[0]["set_ceiling_Bps"] != 10_000_000:
        raise TestbedError(f"{grant()}")
    say(b, f"set conn {number}@net_memif0/0 rate 40Mbit")
    until(lambda: grant()[0]["rx_rate_Bps"] == 5_000_000, 10, "the rate is granted")
    say(b, f"set conn {number} burst 32k")
    until(lambda: grant()[0]["rx_burst_bytes"] == 32768, 10, "the burst is granted")
    say(b, "set capacity 100Mbit")
    say(b, f"set conn {number} rate 200Mbit", 1, "exceed the port's capacity")
    if not re.search(r"^set_rate_Bps +40\.0 Mb/s$", say(b, f"show conn {number}"), re.MULTILINE):
        raise TestbedError(say(b, f"show conn {number}"))
    if "40.0 Mb/s" not in say(b, "show grants"):
        raise TestbedError(say(b, "show grants"))
    for what in ("rate", "ceiling", "burst", "weight"):
        say(b, f"set conn {number} {what} auto")
    until(lambda: "set_rate_Bps" not in grant()[0] and grant()[0]["rx_rate_Bps"] > 6_000_000, 10,
          "it is as it was")
    neighbours = [n["address"] for n in a.show("neigh") if n["mac"]]
    if ADDR_B not in neighbours:
        raise TestbedError(f"{ADDR_B} is not among {neighbours}")
    users = [x["pid"] for x in b.show("clients")]
    if server.pid not in users:
        raise TestbedError(f"{server.pid} is not among {users}")
    before = b.show("ports")[0]["rx_packets"]
    say(b, "clear port stats all")
    stats = b.show("port-stats")[0]
    if stats["rx_packets"] >= before or b.show("ports")[0]["rx_packets"] < before:
        raise TestbedError(f"clear must reset port-stats only: {before} packets before, then {stats}")
    client.stop()
    server.stop()
    perf(b, a, ADDR_B, "-n", "1M", name="after")
    a.stop()
    b.stop()


def paths(daemon: Daemon) -> None:
    """Checks what `show path` tells of two connections that receive."""
    path = json.loads(run(daemon, "exec", "show path", "--json")[1])["path"]
    shown = {c["conn"]: c for c in daemon.show("conns") if c["state"] == "open"}
    if len(path) != 2 or {p["conn"] for p in path} != set(shown):
        raise TestbedError(f"two paths were due: {path}, connections {shown}")
    for p in path:
        if p["peer"] != ADDR_A or p["rtt_ns"] <= 0 or \
                not 0 < p["unit_bytes"] <= shown[p["conn"]]["unit_bytes"]:
            raise TestbedError(f"the path of {shown[p['conn']]} is {p}")
        if ("rx_path_Bps" in p) != (p["rx_why"] in ("loss", "queue", "competing", "ecn")) or p["rx_lost_ppm"] > 1e6:
            raise TestbedError(f"rx_why contradicts the other fields: {p}")


@scene("console: perf in its background: goes, is shown, is stopped, fails, ends with it", company=True)
def background(testbed: Testbed, context: Context) -> None:
    a, b = memif_pair(testbed, context.build)
    here, there = (Terminal(testbed, x.command("console")) for x in (a, b))

    def ask(t: Terminal, line: str, pattern: str, timeout_s: float = 30) -> None:
        t.type(line + "\n")
        t.expect(re.escape(line))
        t.expect(pattern, timeout_s)
        t.expect(PROMPT)

    def clients(daemon: Daemon) -> set[int]:
        return {c["pid"] for c in daemon.show("clients")}

    for t in (here, there):
        t.expect(PROMPT)
    ask(here, "stop perf", "no perf was started here")
    ask(there, "start perf server", "")
    b.wait_listening()
    ask(here, f"start perf {ADDR_B} --nonsense", r"--nonsense: no such option[^\n]*\n.*ended with status 2")
    here.type("start perf \t")  # known peers are listed, and server
    here.expect(r"server")
    here.type(f"{ADDR_B} -t 600 -P 2\n")
    here.expect(PROMPT)
    until(lambda: sum(c["tx_acked_bytes"] for c in a.show("conns")) > 8 << 20, 30, "data flow")
    ask(here, "show perf", rf"perf {ADDR_B}: process \d+, for [^\n]*\nPORT [^\n]*\n(net_memif0 +0 +\d+ +open "
                           rf"+{ADDR_B} [^\n]*MiB|net_memif0 [^\n]*GiB)[^\n]*\nnet_memif0")
    ask(here, f"start perf {ADDR_B}", rf"perf {ADDR_B} is running; stop perf first")
    paths(b)
    ask(there, "show path", rf"PATH RATE [^\n]*\nnet_memif0 +0 +\d+ +{ADDR_A} +[\d.]+ [mu]s +\d+ +[\d.]+ .b/s")
    ask(here, "stop perf", rf"sent, here\n{re.escape(ADDR_B)}:\d+: 2 streams, granted")
    until(lambda: len(clients(a)) == 2, 10, "its session ends")  # the console's session and that of this question
    ask(here, "show perf", "no perf was started here")
    ask(here, f"start perf {ADDR_B} -n 1M", "")

    def told() -> bool:
        begun = here.seen
        ask(here, "show neigh", "ADDRESS")
        return f"perf {ADDR_B} has ended, status 0" in here.text()[begun:]

    until(told, 30, "a test that ends by itself")
    ask(here, "show perf", rf"perf {ADDR_B}: ended .* ago, status 0\n(.*\n)*.*1 stream, granted")
    ask(here, "stop perf", r"1.00 MiB .* received, there\n.*1 stream, granted")
    begun = here.seen
    ask(here, f"start perf {ADDR_B}:9 -t 5", "")  # no server listens there
    until(lambda: len(clients(a)) == 2, 60, "a refusal")
    ask(here, "stop perf", "")  # start itself may have shown the end already
    if not re.search(rf"sluice: {ADDR_B}:9: [^\n]*\n.*ended with status 4", here.text()[begun:]):
        raise TestbedError(here.text()[begun:])
    ask(here, f"start perf {ADDR_B} -t 600", "")
    until(lambda: any(c["state"] == "open" for c in a.show("conns")), 30, "a connection")
    started = [(x, clients(x) - {t.popen.pid}) for x, t in ((a, here), (b, there))]
    here.popen.kill()  # perf must end with its console even then
    there.type("quit\n")
    there.expect("received, here|the peer gave up|sent, here")
    if there.wait() != 0:
        raise TestbedError(f"status {there.popen.returncode}\n{there.text()[-2000:]}")
    for daemon, pids in started:
        until(lambda: not pids & clients(daemon), 20, "perf ends with its console")
    say(a, f"start perf {ADDR_B}", 1, f"in a shell: sluice perf client {ADDR_B}")
    status, out, _ = run(a, "console", "--json", stdin="start perf server\nshow perf\nstop perf\n")
    if status != 0 or json.loads(out.splitlines()[0])["perf"][0]["whom"] != "server":
        raise TestbedError(f"status {status}: {out}")
    a.stop()
    b.stop()


@scene("console: the daemon's own, and its file of commands", company=True)
def own(testbed: Testbed, context: Context) -> None:
    daemon = alone(testbed, context)
    good, bad, late = (testbed.path(n) for n in ("good.cmd", "bad.cmd", "late.cmd"))
    for path, text in ((good, "set capacity 4Gbit\n"), (bad, "set capacity\n"),
                       (late, "set capacity 4Gbit 9\n")):
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
    daemon.write_config()
    t = Terminal(testbed, [*daemon.args(), "-i", "--cmdline-file", good])
    t.expect(r"sluiced> ")
    t.type("show capacity\n")
    t.expect(r"net_memif0 +4.00 Gb/s")
    t.type("show \t")
    t.expect(r"conns +conn +grants")
    t.type("neigh\n")
    t.expect(r"ADDRESS")
    t.expect(r"sluiced> ")
    t.type("start perf server\nshow perf\n")
    server = int(t.expect(r"perf server: process (\d+), for ").group(1))
    t.expect(r"sluiced> ")
    t.type("quit\n")
    if t.wait() != 0:
        raise TestbedError(f"status {t.popen.returncode}\n{t.text()}")
    t = Terminal(testbed, [*daemon.args(), "-i"])
    t.expect(r"sluiced> ")
    t.type("start perf server\nshow perf\n")
    servers = [server, int(t.expect(r"perf server: process (\d+), for ").group(1))]
    t.type("\x03")  # Ctrl-C is the daemon's
    if t.wait() != 0:
        raise TestbedError(f"status {t.popen.returncode}\n{t.text()}")
    if any(os.path.exists(f"/proc/{pid}") for pid in servers):
        raise TestbedError(f"one of the servers {servers} still runs")
    for path, status, words in ((bad, 2, "bad.cmd:1: the command is not complete"),
                                (late, 1, "late.cmd:1: no port 9")):
        process = testbed.start(f"file-{status}", [*daemon.args(), "--cmdline-file", path])
        if process.wait(30) != status or words not in process.err():
            raise TestbedError(f"status {process.popen.returncode}, not {status}\n{process.tail()}")


@scene("console: 100,000 random lines, and the daemon lives", company=True)
def lines(testbed: Testbed, context: Context) -> None:
    daemon = alone(testbed, context, keys={"wire": "delay 1ms"}).start()
    draw = seeded()
    words = sorted({w for p in patterns(daemon) for w in re.split(r"[ |\[\]]", p) if w}) + [
        "net_memif0", "0", "1Gbit", "64k", "3", "1@net_memif0/0", "delay 1ms", "auto", "none", "all"]
    words.remove("quit")
    text = []
    for _ in range(100_000):
        line = " ".join(draw.choice(words) for _ in range(draw.randrange(1, 7)))
        if draw.random() < 0.2:
            at = draw.randrange(len(line))
            line = line[:at] + chr(draw.randrange(1, 256)) + line[at:]
        text.append(line.replace("\n", " "))
    text += ["stop perf", "show workers"]  # a random line may have started perf
    status, out, err = run(daemon, "console", stdin="\n".join(text) + "\n", timeout_s=300)
    if status not in (1, 2, 5) or not out.rstrip().splitlines()[-2].startswith("LCORE"):
        raise TestbedError(f"status {status}\n{out[-500:]}{err[-500:]}")
    if err.count("sluice: ") < 50_000:
        raise TestbedError(f"only {err.count('sluice: ')} lines were refused")
    daemon.show("conns")
    daemon.stop()


@scene("console: long output comes whole, on a terminal and through a pipe", company=True)
def long(testbed: Testbed, context: Context) -> None:
    daemon = alone(testbed, context, keys={"connections": 1024}).start()
    listener = daemon.sluice("listener", "perf", "server")
    daemon.wait_listening(process=listener)
    t = Terminal(testbed, daemon.command("console"))
    t.expect(PROMPT)
    for _ in range(40):
        t.type("show port xstats all\nshow conns\nhelp\n")
    for _ in range(40):
        t.expect(r"tx_q0_bytes +\d+")
        t.expect(r"waiting")
        t.expect(r"quit +leaves")
    t.type("show capacity\n")
    t.expect(r"CEILING")
    t.type("\x04")
    if t.wait() != 0:
        raise TestbedError(f"status {t.popen.returncode}")
    status, out, _ = run(daemon, "console", stdin="show port xstats all\n" * 500)
    if status != 0 or out.count("tx_q0_bytes") != 500:
        raise TestbedError(f"status {status}, {out.count('tx_q0_bytes')} of 500 outputs")
    listener.stop()
    daemon.stop()


@scene("console: the emulator's own, on a terminal", company=True)
def emulator(testbed: Testbed, context: Context) -> None:
    (worker, control), _ = pair_cpus()
    t = Terminal(testbed, [context.build.program("sluice-emu"), "--lcores", f"0@{control},1@{worker}",
                       "--no-huge", "--no-shconf", "-m", "256", "--no-pci", "--no-telemetry",
                       "--file-prefix", f"sluice-{os.getpid()}-emu-console",
                       "--vdev", "net_null0,no-rx=1", "--vdev", "net_null1,no-rx=1",
                       "--", "-i", "--packets", "1024"])
    t.expect(r"sluice-emu> ", 60)
    t.type("set pa\t\tfor\tdelay 7ms\n")  # 0 is the only port
    t.expect(r"set path 0 forward delay 7ms")
    t.expect(r"sluice-emu> ")
    t.type("show path\n")
    t.expect(r"path 0 forward delay 7ms\npath 0 reverse")
    t.type("show capacity\n")
    t.expect(r'word 2, "capacity": not known here')
    t.type("show stats\n")
    t.expect(r"delay 7ms")
    t.type("help\n")
    t.expect(r"show path +")
    t.expect(r"quit +leaves")
    t.expect(r"sluice-emu> ")
    t.type("quit\n")
    if t.wait() != 0:
        raise TestbedError(f"status {t.popen.returncode}\n{t.text()[-2000:]}")
