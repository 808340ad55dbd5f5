# SPDX-License-Identifier: BSD-3-Clause
"""A daemon's life on its machine: links that go, the service manager, its rights, its CPUs."""
import json
import os
import re
import socket
import time

from .harness import ROOT, TestbedError, perf, scenario
from testbed import net
from testbed.daemon import Daemon, Port, af_packet, memif
from testbed.pair import ADDR_B, pair_cpus, station, veth_pair
from testbed.process import until
from .thread import stopped, thread_named


@scenario("a link goes down in mid-transfer and comes back", netns=True)
def link_down(testbed, context):
    a, b = veth_pair(testbed, context.build, keys={"capacity": "40Mbit"})
    waiting = b.sluice("server", "perf", "server", "-1", "--json")
    b.wait_listening(process=waiting)
    sending = a.sluice("client", "perf", "client", "--json", "--check", "-i", "0", "-n", "12M", ADDR_B)

    def received():
        return b.counters("rx_data")

    for daemon in (b, a):  # of the receiver, then of the sender: 0.7 s in which nothing passes
        before = received()
        until(lambda before=before: received() > before + 200, 30, "data flow")
        net.ip(daemon.ns, "link", "set", daemon.device, "down")
        time.sleep(0.2)
        still = received()
        time.sleep(0.5)
        if received() > still + 40 or not sending.running():
            raise TestbedError("data flow over a link that is down")
        net.ip(daemon.ns, "link", "set", daemon.device, "up")
    result = json.loads(sending.check(90))
    waiting.check(30)
    if result["wrong_bytes"] != 0 or result["bytes"] != 12 << 20:
        raise TestbedError(f"{result['bytes']} bytes, {result['wrong_bytes']} of them wrong")
    for daemon in (a, b):
        daemon.stop()


@scenario("the service manager hears of ready and stopping, and pings only while workers go on", company=True)
def notify(testbed, context):
    manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    manager.bind(testbed.path("notify"))
    testbed.undo(manager.close)
    heard = []

    def hear(seconds):
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
        raise TestbedError(f"first comes {heard[0]}")
    with stopped(thread_named(daemon.pid(), "worker")):
        hear(1)  # one more may be due to what it did before
        heard.clear()
        hear(2)
        if heard:
            raise TestbedError(f"{heard} although a worker stands still")
    until(lambda: "WATCHDOG=1\n" in hear(0.1), 30, "pings again")
    daemon.stop()
    if hear(0.2)[-1] != "STOPPING=1\n":
        raise TestbedError(f"last comes {heard[-1]}")


def unit_capabilities():
    with open(os.path.join(ROOT, "config", "sluiced.service"), encoding="utf-8") as f:
        return re.search(r"^CapabilityBoundingSet=(.*)", f.read(), re.MULTILINE).group(1).split()


@scenario("the unit's capabilities are enough for packet sockets and a TAP", netns=True, company=True)
def capabilities(testbed, context):
    names = ",".join("+" + c.removeprefix("CAP_").lower() for c in unit_capabilities())
    only = ["setpriv", "--no-new-privs", "--inh-caps=-all", f"--bounding-set=-all,{names}"]
    a, b = veth_pair(testbed, context.build)
    b.stop()
    port = af_packet(b.device, 1500)
    port.keys = {**station(2), "exception": "sltap"}
    worker, control = pair_cpus()[1]
    less = Daemon(testbed, context.build, "less", [port], [worker], control, ns=b.ns)
    less.wrap = only
    less.start()
    with open(f"/proc/{less.pid()}/status", encoding="ascii") as f:
        bounding = int(re.search(r"CapBnd:\s*(\w+)", f.read()).group(1), 16)
    if bounding.bit_count() != len(unit_capabilities()):
        raise TestbedError(f"it has capabilities {bounding:x}")
    perf(less, a, ADDR_B, "-n", "4M")
    for daemon in (a, less):
        daemon.stop()


@scenario("workers and control that share a CPU are told of")
def placement(testbed, context):
    port = memif(testbed.path("memif.sock"), "server")
    port.keys = {**station(1), "workers": 2}
    cpu = pair_cpus()[0][0]
    daemon = Daemon(testbed, context.build, "a", [port], [cpu, cpu], cpu, daemon_keys={"idle": "pause"})
    daemon.start()
    daemon.stop()
    for words in (rf"lcores 1 and 2 share CPU {cpu}", r"control another \(control_lcore\)"):
        if not re.search(rf"warning: .*{words}", daemon.process.err()):
            raise TestbedError(f"no warning of \"{words}\"\n{daemon.process.tail()}")


def _sleeping(testbed, context, port, space):
    port.keys = {**station(2), "mtu": 1500}
    worker, control = pair_cpus()[1]
    daemon = Daemon(testbed, context.build, "b", [port], [worker], control, ns=space,
                    daemon_keys={"idle": "sleep"}).start()
    if "what comes wakes it" not in daemon.process.err():
        raise TestbedError(f"it does not say that it is woken\n{daemon.process.tail()}")
    return daemon


def _wakes(testbed, daemon, space):
    """The kernel of that namespace does, with echo requests."""
    before = daemon.show("workers")[0]
    testbed.run("ping", ["ping", "-n", "-c", "20", "-i", "0.1", "-W", "5", ADDR_B], ns=space, timeout_s=60)
    wakeups = daemon.show("workers")[0]["wakeups"] - before["wakeups"]
    if wakeups < 15:
        raise TestbedError(f"20 echo requests, a tenth of a second apart, woke it {wakeups} times")
    before = daemon.show("workers")[0]["naps"]
    time.sleep(2)
    naps = daemon.show("workers")[0]["naps"] - before
    if naps > 800:  # of 10 ms; some shorter ones first. Who is not woken takes 600 a second
        raise TestbedError(f"{naps} naps in 2 s are too many for who is woken")
    listening = daemon.sluice("listening", "recv", "-o", testbed.path("got"))
    daemon.wait_listening(process=listening)
    before = daemon.show("workers")[0]["naps"]
    time.sleep(2)
    naps = daemon.show("workers")[0]["naps"] - before
    if naps > 800:
        raise TestbedError(f"{naps} naps in 2 s are too many for who is woken by its clients, too")
    listening.stop()
    testbed.run("ping", ["ping", "-n", "-c", "3", "-i", "0.1", "-W", "5", ADDR_B], ns=space, timeout_s=60)
    daemon.stop()


@scenario("what comes wakes a worker that sleeps: by receive interrupts", netns=True)
def interrupts_wake(testbed, context):
    space = net.namespace(testbed, "kernel")
    net.quiet(space)
    daemon = _sleeping(testbed, context, Port("net_tap0", "net_tap0,iface=sltap"), space)
    net.address(space, "sltap", "10.90.0.9/24")
    _wakes(testbed, daemon, space)


@scenario("what comes wakes a worker that sleeps: by a packet socket on the port's interface", netns=True)
def packets_wake(testbed, context):
    spaces = [net.namespace(testbed, name) for name in ("kernel", "daemon")]
    net.quiet(spaces[1])
    net.veth(spaces[0], "slk", spaces[1], "sld")
    daemon = _sleeping(testbed, context, af_packet("sld", 1500), spaces[1])
    net.address(spaces[0], "slk", "10.90.0.9/24")
    _wakes(testbed, daemon, spaces[0])
