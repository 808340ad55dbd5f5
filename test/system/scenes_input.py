# SPDX-License-Identifier: BSD-3-Clause
"""Bad input: the daemon and the command answer it with one line that names cause and cure, and fail."""
import os
import re
from collections.abc import Callable

from .harness import Context, TestbedError, one_line, scene, sh
from testbed.daemon import MEMIF_MTU_MAX, Build, Daemon, memif
from testbed.pair import ADDR_B, memif_pair, pair_cpus, station
from testbed.process import Testbed

USAGE, CONFIG, EAL, PORT, SOCKET = 2, 3, 4, 5, 6


def _daemon(testbed: Testbed, context: Context, name: str = "a", memory_mb: int = 512) -> Daemon:
    port = memif(testbed.path(f"{name}-memif.sock"), "server")
    port.keys = {"address": "10.90.0.1/24", "mtu": 9000}
    worker, control = pair_cpus()[0]
    return Daemon(testbed, context.build, name, [port], [worker], control, memory_mb=memory_mb)


def _refused(testbed: Testbed, daemon: Daemon, status: int, *words: str,
             edit: Callable[[str], str] | None = None) -> None:
    """Checks that this daemon does not start, with this status, and says these words."""
    text = daemon.config_text()
    with open(daemon.config, "w", encoding="utf-8") as f:
        f.write(edit(text) if edit else text)
    process = testbed.start(f"refused-{daemon.name}", daemon.args())
    one_line(process, 30, status, *words)


@scene("two daemons on one socket", company=True)
def one_socket(testbed: Testbed, context: Context) -> None:
    first = _daemon(testbed, context, "a").start()
    second = _daemon(testbed, context, "b")
    second.socket = first.socket
    process = second.launch()
    if process.wait(30) != SOCKET:
        raise TestbedError(f"status {SOCKET} was due\n{process.tail()}")
    said = [x for x in process.err().splitlines() if first.socket in x]
    if len(said) != 1:
        raise TestbedError(f"not exactly one line names the socket\n{process.tail()}")
    if first.try_show("ports") is None:
        raise TestbedError("the first daemon lost its socket")
    first.stop()
    if os.path.exists(first.socket):
        raise TestbedError("the daemon leaves its socket behind")


@scene("a stale socket is replaced", company=True)
def stale_socket(testbed: Testbed, context: Context) -> None:
    daemon = _daemon(testbed, context).start()
    daemon.kill()
    if not os.path.exists(daemon.socket):
        raise TestbedError("a killed daemon cannot remove its socket, but it is gone")
    daemon.start().stop()


@scene("configuration: unknown key, section, bad value, no file", company=True)
def wrong_config(testbed: Testbed, context: Context) -> None:
    edits: list[tuple[Callable[[str], str], tuple[str, ...]]] = [
        (lambda t: t.replace("mtu =", "mtv ="), ("mtv", "did you mean|mtu")),
        (lambda t: t.replace("mtu = 9000", "mtu = 90"), ("mtu", "576|1280")),
        (lambda t: t.replace("mtu = 9000", "capacity = 1Gb"), ("capacity", "rate|unit")),
        (lambda t: t.replace("10.90.0.1/24", "10.90.0.256/24"), ("address", "10.90.0.256")),
        (lambda t: t.replace("10.90.0.1/24", "10.90.0.1"), ("address", "prefix")),
        (lambda t: t.replace("[daemon]", "[deamon]"), ("deamon", "section")),
        (lambda t: t.replace("address =", "gateway ="), ("address",)),
        (lambda t: t.split("[port")[0], ("port",)),
        (lambda t: t + "mtu = 9000\n", ("mtu", "twice|again|already")),
    ]
    for i, (edit, words) in enumerate(edits):
        _refused(testbed, _daemon(testbed, context, f"bad{i}"), CONFIG, *words, edit=edit)
    daemon = _daemon(testbed, context, "none")
    process = testbed.start("no-file", daemon.args())
    one_line(process, 30, CONFIG, "none.conf", "no such file|cannot")


@scene("an MTU that no frame fits is refused, and the largest is named")
def long_mtu(testbed: Testbed, context: Context) -> None:
    worker, control = pair_cpus()[0]
    cases = [({"mtu": MEMIF_MTU_MAX + 1}, 9000, f"at most {MEMIF_MTU_MAX}"),
             ({"mtu": 65535}, 65535, f"at most {MEMIF_MTU_MAX}"),
             ({"mtu": 9300}, 9000, "bsize=10240"), ({"mtu": 40960}, 9000, "bsize=41984")]
    for i, (keys, slots, word) in enumerate(cases):
        port = memif(testbed.path(f"m{i}.sock"), "server", mtu=slots)
        port.keys = {**station(1), **keys}
        daemon = Daemon(testbed, context.build, f"d{i}", [port], [worker], control)
        _refused(testbed, daemon, PORT, f"mtu = {keys['mtu']}", word)
    for i, (mtu, slots, word) in enumerate(((65382, 65000, "at most 65381"), (9300, 9000, "bsize=10240"))):
        args = [context.build.program("sluice-emu"), "--lcores", f"0@{control}", "--no-huge", "--no-shconf", "-m", "64",
                "--no-pci", "--no-telemetry", "--file-prefix", f"sluice-{os.getpid()}-refused{i}"]
        for number in (0, 1):
            args += ["--vdev", memif(testbed.path(f"e{number}.sock"), "server", number=number, mtu=slots).vdev]
        process = testbed.start(f"emu{i}", [*args, "--", "--mtu", str(mtu)])
        one_line(process, 30, PORT, f"--mtu {mtu}", word)


@scene("daemon: no memory, no hugepages, no such device, bad arguments")
def daemon_resources(testbed: Testbed, context: Context) -> None:
    small = _daemon(testbed, context, "small", memory_mb=16)
    small.build = Build(context.build.dir, False)
    process = small.launch()
    if process.wait(30) not in (EAL, PORT):
        raise TestbedError(f"status {EAL} or {PORT} was due\n{process.tail()}")
    said = [x for x in process.err().splitlines() if x.startswith("sluiced:")]
    if "memory" not in said[-1]:
        raise TestbedError(f"the last line does not name the lack of memory\n{process.tail()}")

    greedy = _daemon(testbed, context, "greedy", memory_mb=8 << 20)
    greedy.build = Build(context.build.dir, True)
    _refused(testbed, greedy, EAL, "hugepages")

    unknown = _daemon(testbed, context, "unknown")
    unknown.ports[0].vdev = unknown.ports[0].vdev.replace("net_memif0", "net_nothing0")
    unknown.ports[0].name = "net_nothing0"
    process = unknown.launch()
    status, last = process.wait(30), process.err().splitlines()[-1]
    if status != PORT or not re.search("net_nothing0.*: DPDK has no driver.*librte", last):
        raise TestbedError(f"status {PORT} and the missing driver were due\n{process.tail()}")

    program = context.build.program("sluiced")
    one_line(testbed.start("argument", [program, "--", "--sokcet", "x"]), 10, USAGE, "--socket")


@scene("command: no daemon, unknown host, nobody there, nobody receiving, port taken", company=True)
def command_peers(testbed: Testbed, context: Context) -> None:
    a, b = memif_pair(testbed, context.build, keys={"silence": "1s"})
    source = testbed.path("source")
    with open(source, "wb") as f:
        f.write(os.urandom(100000))
    sluice = context.build.program("sluice")

    def run(name: str, status: int, words: tuple[str, ...], *args: str) -> None:
        one_line(testbed.start(name, [sluice, *args]), 20, status, *words)

    at_a = ("--socket", a.socket)
    run("no-daemon", 3, ("nowhere.sock",), "send", source, ADDR_B, "--socket", testbed.path("nowhere.sock"))
    run("no-daemon-show", 3, ("nowhere.sock",), "show", "ports", "--socket", testbed.path("nowhere.sock"))
    run("no-host", 4, ("no-such-host.invalid",), "send", source, "no-such-host.invalid", *at_a)
    run("no-neighbour", 4, ("10.90.0.77",), "send", source, "10.90.0.77", *at_a)
    run("no-route", 4, ("192.0.2.1",), "send", source, "192.0.2.1", *at_a)
    run("nobody", 4, (ADDR_B,), "send", source, ADDR_B, *at_a)
    run("nobody6", 4, ("fd90::2",), "send", source, "[fd90::2]:7123", *at_a)
    run("bad-port", 2, ("70000",), "send", source, ADDR_B + ":70000", *at_a)
    run("no-file", 5, ("missing",), "send", testbed.path("missing"), ADDR_B, *at_a)
    run("directory", 5, ("-r",), "send", testbed.dir, ADDR_B, *at_a)
    run("usage", 2, ("--nonsense",), "send", "--nonsense", *at_a)
    b.sluice("holder", "recv", "-o", testbed.dir, "-q")
    b.wait_listening()
    run("taken", 7, ("7000",), "recv", "-o", testbed.dir, "-q", "--socket", b.socket)
    a.stop()
    b.stop()


@scene("full disk: an error on both sides, no half-written file", netns=True, company=True)
def full_disk(testbed: Testbed, context: Context) -> None:
    a, b = memif_pair(testbed, context.build)
    disk = testbed.path("disk")
    os.mkdir(disk)
    sh("mount", "-t", "tmpfs", "-o", "size=24m", "none", disk)
    testbed.undo(sh, "umount", "-l", disk)
    with open(os.path.join(disk, "other"), "wb") as f:
        f.write(bytes(12 << 20))
    source = testbed.path("big")
    with open(source, "wb") as f:
        f.write(os.urandom(16 << 20))
    receiver = b.sluice("receiver", "recv", "-o", disk, "--once", "-q")
    b.wait_listening()
    sender = a.sluice("sender", "send", "-q", source, ADDR_B)
    one_line(sender, 30, 6, "big", "no room for its 16777216 bytes")
    one_line(receiver, 30, 5, "big", "no room for its 16777216 bytes")
    left = os.listdir(disk)
    if left != ["other"]:
        raise TestbedError(f"half-written files are left on the full disk: {left}")
    a.stop()
    b.stop()


@scene("direct I/O: files of all sizes arrive, and a file system without it is named", netns=True, company=True)
def direct_io(testbed: Testbed, context: Context) -> None:
    a, b = memif_pair(testbed, context.build)
    source, disk, ramfs = (testbed.path(name) for name in ("source", "disk", "ramfs"))
    for folder in (source, disk, ramfs):
        os.mkdir(folder)
    sh("mount", "-t", "ramfs", "none", ramfs)  # has no direct I/O
    testbed.undo(sh, "umount", "-l", ramfs)
    for size in (0, 1000, 4 << 20, (9 << 20) + 123, 16 << 20):
        with open(os.path.join(source, str(size)), "wb") as f:
            f.write(os.urandom(size))
    with open(os.path.join(source, "sparse"), "wb") as f:
        for at in range(0, 40 << 20, 10 << 20):
            f.seek(at)
            f.write(os.urandom(5 << 20))
    for i, (sources, target, words) in enumerate(((source, disk, ""), (disk, ramfs, "written through the page cache"),
                                                  (ramfs, disk, "read through the page cache"))):
        receiver = b.sluice(f"receiver{i}", "recv", "-o", target, "--once", "-v", "--direct", "--overwrite")
        b.wait_listening(process=receiver)
        sender = a.sluice(f"sender{i}", "send", "-r", "-v", "--direct", sources + "/.", ADDR_B)
        sender.check(60)
        receiver.check(30)
        said = sender.err() + receiver.err()
        if said.count("page cache") != bool(words) or words not in said:
            raise TestbedError(f"\"{words}\" is not said once: {said}")
        sh("diff", "-r", sources, target)
    a.stop()
    b.stop()
