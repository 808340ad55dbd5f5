# SPDX-License-Identifier: BSD-3-Clause
"""A daemon on its machine: links that go down, the service manager, capabilities, CPUs, sleep."""
import json
import os
import re
import signal
import socket
import time

from . import ROOT
from .harness import Context, Skip, TestbedError, need, perf, scene
from testbed import net
from testbed.daemon import Daemon, Port, af_packet, af_xdp, memif
from testbed.pair import ADDR_B, pair_cpus, station, veth_pair
from testbed.process import Testbed, until
from .thread import stopped, thread_named


@scene("a link goes down in mid-transfer and comes back", netns=True)
def link_down(testbed: Testbed, context: Context) -> None:
    a, b = veth_pair(testbed, context.build, keys={"capacity": "40Mbit"})
    waiting = b.sluice("server", "perf", "server", "-1", "--json")
    b.wait_listening(process=waiting)
    sending = a.sluice("client", "perf", "client", "--json", "--check", "-i", "0", "-n", "12M", ADDR_B)

    def received() -> int:
        return b.counters("rx_data")

    for daemon in (b, a):  # nothing passes for 0.7 s: first the receiver's link is down, then the sender's
        before = received()
        until(lambda: received() > before + 200, 30, "data flow")
        assert daemon.ns is not None
        net.ip(daemon.ns, "link", "set", daemon.device, "down")
        time.sleep(0.2)
        still = received()
        time.sleep(0.5)
        if received() > still + 40 or not sending.running():
            raise TestbedError("data flow over a link that is down, or the client has ended")
        net.ip(daemon.ns, "link", "set", daemon.device, "up")
    result = json.loads(sending.check(90))
    waiting.check(30)
    if result["wrong_bytes"] != 0 or result["bytes"] != 12 << 20:
        raise TestbedError(f"{result['bytes']} bytes, {result['wrong_bytes']} of them wrong")
    for daemon in (a, b):
        daemon.stop()


@scene("the service manager is told of ready and stopping, and gets pings only while workers run", company=True)
def notify(testbed: Testbed, context: Context) -> None:
    manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    manager.bind(testbed.path("notify"))
    testbed.undo(manager.close)
    heard: list[str] = []

    def hear(seconds: float) -> list[str]:
        manager.settimeout(0.05)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                heard.append(manager.recv(4096).decode())
            except TimeoutError:
                pass
        return heard

    port = memif(testbed.path("memif.sock"), "server")
    port.keys = station(1)
    worker, control = pair_cpus()[0]
    daemon = Daemon(testbed, context.build, "a", [port], [worker], control, daemon_keys={"idle": "sleep"},
                    env={"NOTIFY_SOCKET": testbed.path("notify"), "WATCHDOG_USEC": "600000"})
    daemon.start()
    until(lambda: hear(0.1).count("WATCHDOG=1\n") >= 3, 30, "pings")
    if heard[0] != "READY=1\n":
        raise TestbedError(f"the first notification is {heard[0]}")
    status = f"STATUS=0 of 1 port up ({port.name} is down), 0 connections\n"
    if [x for x in heard if x.startswith("STATUS=")] != [status]:
        raise TestbedError(f"the status is not told once: {heard}")
    with stopped(thread_named(daemon.pid(), "worker")):
        hear(1)  # the worker ran shortly before, so one more ping may come
        heard.clear()
        hear(2)
        if heard:
            raise TestbedError(f"a worker stands still, but {heard} came")
    until(lambda: "WATCHDOG=1\n" in hear(0.1), 30, "pings again")
    daemon.stop()
    if hear(0.2)[-1] != "STOPPING=1\n":
        raise TestbedError(f"the last notification is {heard[-1]}")


@scene("the service manager hears of reloads, links and connections, each time they change", company=True)
def notify_status(testbed: Testbed, context: Context) -> None:
    name = f"sluice-notify-{os.getpid()}"
    manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    manager.bind(f"\0{name}")  # abstract, as in containers
    manager.settimeout(20)
    testbed.undo(manager.close)

    def hear(what: str) -> str:
        heard = manager.recv(4096).decode()
        if not re.fullmatch(what, heard):
            raise TestbedError(f"{what!r} was due, {heard!r} came")
        return heard

    link = testbed.path("memif.sock")
    daemons = []
    for number, role in ((1, "server"), (2, "client")):
        port = memif(link, role)
        port.keys = station(number)
        worker, control = pair_cpus()[number - 1]
        daemons.append(Daemon(testbed, context.build, "ab"[number - 1], [port], [worker], control,
                              env={"NOTIFY_SOCKET": f"@{name}"} if number == 1 else None))
    a, b = daemons
    a.start()
    hear("READY=1\n")
    hear(r"STATUS=0 of 1 port up \(net_memif0 is down\), 0 connections\n")
    b.start()
    hear("STATUS=1 of 1 port up, 0 connections\n")
    b.sluice("server", "perf", "server", "-1")
    b.wait_listening()
    a.sluice("client", "perf", "client", "-t", "3", "-i", "0", "-P", "2", ADDR_B, timeout_s=60)
    hear("STATUS=1 of 1 port up, [12] connections?\n")
    while "0 connections" not in hear(r"STATUS=1 of 1 port up, \d connections?\n"):
        pass
    for good in (True, False):
        a.keys["quota"] = "2G" if good else "much"
        a.write_config()
        before = time.monotonic_ns() // 1000
        a.process.signal(signal.SIGHUP)
        begun = int(hear(r"RELOADING=1\nMONOTONIC_USEC=\d+\n").split("=")[2])
        if not before <= begun <= time.monotonic_ns() // 1000:
            raise TestbedError(f"the reload began at {begun}, and was asked for at {before}")
        hear("READY=1\n")
    hear(r"STATUS=1 of 1 port up, 0 connections; the last reload failed \(sluice show reload\)\n")
    manager.settimeout(2.5)
    try:
        raise TestbedError(f"nothing has changed, but {manager.recv(4096)!r} came")
    except TimeoutError:
        manager.settimeout(20)
    b.stop()
    hear(r"STATUS=0 of 1 port up .*; the last reload failed .*\n")
    a.stop()
    hear("STATUS=stops: .*\n")
    hear("STOPPING=1\n")


NOBODY = 65534


def unit_capabilities() -> list[str]:
    with open(os.path.join(ROOT, "config", "systemd", "sluiced.service.in"), encoding="utf-8") as f:
        text = f.read()
    found = re.findall(r"^(?:CapabilityBoundingSet|AmbientCapabilities)=(.*)", text, re.MULTILINE)
    assert len(found) == 2 and found[0] == found[1], "sluiced.service has no capabilities, or different ones"
    return found[0].split()


@scene("a daemon without root may use packet sockets and a TAP, with the unit's capabilities", netns=True, company=True)
def capabilities(testbed: Testbed, context: Context) -> None:
    if context.build.units:
        raise Skip("the unit makes the daemon's user and capabilities")
    names = ",".join("+" + c.removeprefix("CAP_").lower() for c in unit_capabilities())
    only = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups",
            "--no-new-privs", f"--inh-caps=-all,{names}", f"--ambient-caps=-all,{names}", f"--bounding-set=-all,{names}"]
    run = testbed.path("run")
    os.mkdir(run)
    for folder in (run, testbed.dir):
        os.chown(folder, NOBODY, NOBODY)
    a, b = veth_pair(testbed, context.build)
    b.stop()
    port = af_packet(b.device, 1500)
    port.keys = {**station(2), "exception": "sltap"}
    worker, control = pair_cpus()[1]
    less = Daemon(testbed, context.build, "less", [port], [worker], control, ns=b.ns,
                  daemon_keys={"lock": "no"})  # the unit lifts the limit of locked memory
    less.wrap = only
    less.env = {"RUNTIME_DIRECTORY": run}
    less.start()
    with open(f"/proc/{less.pid()}/status", encoding="ascii") as f:
        status = f.read()
    if not re.search(rf"^Uid:\s*{NOBODY}\s+{NOBODY}", status, re.MULTILINE):
        raise TestbedError("the daemon is root")
    for kind in ("CapBnd", "CapEff"):
        found = re.search(rf"{kind}:\s*(\w+)", status)
        assert found is not None, "/proc names no capabilities"
        if int(found.group(1), 16).bit_count() != len(unit_capabilities()):
            raise TestbedError(f"the daemon's {kind} is {found.group(1)}, not what the unit says")
    perf(less, a, ADDR_B, "-n", "4M")
    for daemon in (a, less):
        daemon.stop()


@scene("the daemon warns of workers and control that share a CPU")
def placement(testbed: Testbed, context: Context) -> None:
    port = memif(testbed.path("memif.sock"), "server")
    port.keys = {**station(1), "workers": 2}
    cpu = pair_cpus()[0][0]
    daemon = Daemon(testbed, context.build, "a", [port], [cpu, cpu], cpu, daemon_keys={"idle": "pause"})
    daemon.start()
    daemon.stop()
    for words in (rf"lcores 1 and 2 share CPU {cpu}", r"control another \(control_lcore\)"):
        if not re.search(rf"warning: .*{words}", daemon.process.err()):
            raise TestbedError(f"no warning of \"{words}\"\n{daemon.process.tail()}")


def _sleeping(testbed: Testbed, context: Context, port: Port, space: str) -> Daemon:
    """A daemon whose idle worker sleeps and is woken by frames."""
    port.keys = {**station(2), "mtu": 1500}
    worker, control = pair_cpus()[1]
    daemon = Daemon(testbed, context.build, "b", [port], [worker], control, ns=space,
                    daemon_keys={"idle": "sleep"}).start()
    if "arriving frames wake it" not in daemon.process.err():
        raise TestbedError(f"the daemon does not say that frames wake its worker\n{daemon.process.tail()}")
    return daemon


def _wakes(testbed: Testbed, daemon: Daemon, space: str) -> None:
    """Checks that echo requests of the kernel in `space` wake the worker, and that its naps are long otherwise."""
    before = daemon.show("workers")[0]
    testbed.run("ping", ["ping", "-n", "-c", "20", "-i", "0.1", "-W", "5", ADDR_B], ns=space, timeout_s=60)
    wakeups = daemon.show("workers")[0]["wakeups"] - before["wakeups"]
    if wakeups < 15:
        raise TestbedError(f"20 echo requests, 0.1 s apart, woke the worker only {wakeups} times")
    before = daemon.show("workers")[0]["naps"]
    time.sleep(2)
    naps = daemon.show("workers")[0]["naps"] - before
    if naps > 800:  # a nap takes 10 ms, the first ones less; a worker that nothing wakes takes 600 a second
        raise TestbedError(f"{naps} naps in 2 s are too many for a worker that frames wake")
    listening = daemon.sluice("listening", "recv", "-o", testbed.path("got"))
    daemon.wait_listening(process=listening)
    before = daemon.show("workers")[0]["naps"]
    time.sleep(2)
    naps = daemon.show("workers")[0]["naps"] - before
    if naps > 800:
        raise TestbedError(f"{naps} naps in 2 s are too many for a worker that its clients wake, too")
    listening.stop()
    testbed.run("ping", ["ping", "-n", "-c", "3", "-i", "0.1", "-W", "5", ADDR_B], ns=space, timeout_s=60)
    daemon.stop()


@scene("frames wake a worker that sleeps: by receive interrupts", netns=True)
def interrupts_wake(testbed: Testbed, context: Context) -> None:
    space = net.namespace(testbed, "kernel")
    net.quiet(space)
    daemon = _sleeping(testbed, context, Port("net_tap0", "net_tap0,iface=sltap"), space)
    net.address(space, "sltap", "10.90.0.9/24")
    _wakes(testbed, daemon, space)


def _socket_wakes(testbed: Testbed, context: Context, port: Port) -> None:
    spaces = [net.namespace(testbed, name) for name in ("kernel", "daemon")]
    net.quiet(spaces[1])
    net.veth(spaces[0], "slk", spaces[1], "sld")
    daemon = _sleeping(testbed, context, port, spaces[1])
    net.address(spaces[0], "slk", "10.90.0.9/24")
    _wakes(testbed, daemon, spaces[0])


@scene("frames wake a worker that sleeps: by the socket of AF_PACKET", netns=True)
def packets_wake(testbed: Testbed, context: Context) -> None:
    _socket_wakes(testbed, context, af_packet("sld", 1500))


@scene("frames wake a worker that sleeps: by the socket of AF_XDP", netns=True)
def xdp_wakes(testbed: Testbed, context: Context) -> None:
    need(net.lack_xdp())
    _socket_wakes(testbed, context, af_xdp("sld"))


@scene("a link that goes down leaves a worker asleep, and wakes it when it comes back", netns=True)
def down_asleep(testbed: Testbed, context: Context) -> None:
    spaces = [net.namespace(testbed, name) for name in ("kernel", "daemon")]
    net.quiet(spaces[1])
    net.veth(spaces[0], "slk", spaces[1], "sld")
    daemon = _sleeping(testbed, context, af_packet("sld", 1500), spaces[1])
    net.address(spaces[0], "slk", "10.90.0.9/24")
    net.ip(spaces[1], "link", "set", "sld", "down")
    time.sleep(0.2)
    before = daemon.show("workers")[0]["wakeups"]
    time.sleep(1)
    wakeups = daemon.show("workers")[0]["wakeups"] - before
    if wakeups > 200:
        raise TestbedError(f"a link that is down woke the worker {wakeups} times in a second")
    net.ip(spaces[1], "link", "set", "sld", "up")
    _wakes(testbed, daemon, spaces[0])


def _naps_between(testbed: Testbed, context: Context, xdp: bool) -> None:
    """Units of 150 Mbit/s come every 75 us. A worker that nothing wakes would poll all the while."""
    a, b = veth_pair(testbed, context.build, xdp=xdp, keys={"capacity": "150Mbit"}, daemon_keys={"idle": "sleep"})
    perf(b, a, ADDR_B, "-n", "12M")
    for daemon, count in ((a, "tx_data"), (b, "rx_data")):
        naps, units = daemon.show("workers")[0]["naps"], daemon.counters(count)
        if naps < units / 4:
            raise TestbedError(f"daemon {daemon.name} took {naps} naps in a transfer of {units} units")
        daemon.stop()


@scene("a worker naps between the packets of a slow transfer: AF_PACKET", netns=True)
def naps_packet(testbed: Testbed, context: Context) -> None:
    _naps_between(testbed, context, xdp=False)


@scene("a worker naps between the packets of a slow transfer: AF_XDP", netns=True)
def naps_xdp(testbed: Testbed, context: Context) -> None:
    need(net.lack_xdp())
    _naps_between(testbed, context, xdp=True)
