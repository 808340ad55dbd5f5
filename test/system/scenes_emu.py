# SPDX-License-Identifier: BSD-3-Clause
"""The path emulator with real neighbours: Linux's TCP, ping, daemons; and its console."""
import hashlib
import json
import os
import random
import re
import statistics
import sys
import time
from typing import Any

from . import ROOT
from .harness import Context, TestbedError, need, one_line, perf, perf_begin, perf_end, scene, sh
from testbed import net
from testbed.baselines import IPERF_PORT
from testbed.box import ADDR, Box, element, kernel_box, kernels
from testbed.daemon import MEMIF_MTU_MAX, Daemon, af_packet, af_xdp, memif
from testbed.load import Load, load_process, memif_vdevs
from testbed.pair import ADDR_B, pair_cpus, station
from testbed.process import Testbed, until, wait_listening

# Sends N bytes that a seed makes, or receives all and prints their hash.
TALK = """
import hashlib, random, socket, sys
role, congestion, address, amount = sys.argv[1:]
if role == "send":
    s = socket.socket()
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, congestion.encode())
    s.connect((address, 5301))
    s.sendall(random.Random(7).randbytes(int(amount)))
    s.shutdown(socket.SHUT_WR)
    s.recv(1)
else:
    l = socket.socket()
    l.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    l.bind((address, 5301))
    l.listen()
    print("listening", flush=True)
    s, h, n = l.accept()[0], hashlib.sha256(), 0
    while True:
        data = s.recv(1 << 18)
        if not data:
            break
        h.update(data)
        n += len(data)
    print(n, h.hexdigest())
"""


def tcp_hash(testbed: Testbed, spaces: dict[str, str], congestion: str, amount: int) -> tuple[int, str]:
    """Sends this many bytes from left to right; returns number and hash of the bytes that right received."""
    right = testbed.start("receiver", [sys.executable, "-c", TALK, "recv", "-", ADDR["right"][0], "0"],
                      ns=spaces["right"])
    until(lambda: "listening" in right.out(), 10, "the receiver listens")
    left = testbed.start("sender", [sys.executable, "-c", TALK, "send", congestion, ADDR["right"][0],
                                str(amount)], ns=spaces["left"])
    left.check(120)
    got, digest = right.check(20).splitlines()[1].split()
    return int(got), digest


def expected(amount: int) -> str:
    return hashlib.sha256(random.Random(7).randbytes(amount)).hexdigest()


@scene("TCP reno, cubic and bbr through the emulator's link, no byte wrong", netns=True, company=True)
def tcp(testbed: Testbed, context: Context) -> None:
    amount = 6_000_000
    spaces, box = kernel_box(testbed, context.build, "rate 100mbit limit 60kB delay 5ms loss 0.05%",
                             "delay 5ms")
    have = testbed.run("cat", ["cat", "/proc/sys/net/ipv4/tcp_available_congestion_control"],
                   ns=spaces["left"]).split()
    for congestion in ("reno", "cubic", "bbr"):
        if congestion not in have:
            continue
        start = time.monotonic()
        got, digest = tcp_hash(testbed, spaces, congestion, amount)
        took = time.monotonic() - start
        if got != amount or digest != expected(amount):
            raise TestbedError(f"{congestion}: {got} of {amount} bytes, {digest}")
        # TCP must not be faster than the link.
        if amount * 8 / took > 100e6:
            raise TestbedError(f"{congestion}: {amount} bytes in {took:.3f} s through 100 Mbit/s")
    report = box.stop()
    link, delay = element(report["forward"], "rate"), element(report["forward"], "delay")
    if link["queued_bytes_max"] > 60 * 1024 + 1514:
        raise TestbedError(f"the queue held {link['queued_bytes_max']} bytes, more than its limit")
    if delay["delay_ns"]["min"] < 5e6 or report["forward"]["late_ns"]["min"] < 0:
        raise TestbedError(f"a packet was early: {delay['delay_ns']}")
    if element(report["forward"], "loss")["dropped"] == 0:
        raise TestbedError("nothing was lost")


def ping_times(ns: str, address: str, count: int = 20, size: int = 56) -> list[float]:
    """Round-trip times in ms."""
    text = sh("ip", "netns", "exec", ns, "ping", "-c", count, "-i", "0.05", "-W", "5", "-s", size,
              address)
    return [float(x) for x in re.findall(r"time=([\d.]+) ms", text)]


@scene("ping through a delay: never early, jumbo frames, IPv6, VLAN", netns=True, company=True)
def delay(testbed: Testbed, context: Context) -> None:
    spaces, box = kernel_box(testbed, context.build, "delay 20ms", "delay 10ms", mtu=9000)
    for address in ADDR["right"]:
        for size in (56, 8900):
            times = ping_times(spaces["left"], address, size=size)
            if len(times) != 20 or min(times) < 30:
                raise TestbedError(f"{address}, {size} B: {times}")
    try:
        for side in spaces:
            net.ip(spaces[side], "link", "add", "link", f"sl{side}", "name", "v", "type", "vlan", "id", 9)
            net.ip(spaces[side], "link", "set", "v", "up")
            net.address(spaces[side], "v", "10.92.0.%d/24" % (1 + (side == "right")))
        if min(ping_times(spaces["left"], "10.92.0.2")) < 30:
            raise TestbedError("a VLAN's packet was early")
    except TestbedError as problem:
        if "link add" not in str(problem):
            raise
    box.stop()


@scene("losses as listed, duplicates, and the report of them", netns=True, company=True)
def counted(testbed: Testbed, context: Context) -> None:
    # Only ICMP is counted: ARP goes through the path, too.
    spaces, box = kernel_box(testbed, context.build, "match proto icmp ( loss list 3,5-6 duplicate 100% )")
    text = sh("ip", "netns", "exec", spaces["left"], "ping", "-c", 10, "-i", "0.05", "-W", "1",
              ADDR["right"][0])
    got = [int(x) for x in re.findall(r"icmp_seq=(\d+) .*?ms$", text, re.MULTILINE)]
    if got != [1, 2, 4, 7, 8, 9, 10] or text.count("DUP!") != 7:
        raise TestbedError(text)
    report = box.stop()["forward"]
    if element(report, "loss")["dropped"] != 3 or element(report, "duplicate")["copied"] != 7:
        raise TestbedError(json.dumps(report["elements"], indent=1))


@scene("the console changes a live path, and refuses a wrong one", netns=True, company=True)
def console(testbed: Testbed, context: Context) -> None:
    spaces, box = kernel_box(testbed, context.build, "delay 5ms", console=True)
    if min(ping_times(spaces["left"], ADDR["right"][0], 5)) < 5:
        raise TestbedError("an answer came before the delay of 5 ms was over")
    box.say("set path 0 forward delay 40ms")
    box.say("set path 0 reverse dely 3ms")
    box.say("show path")
    until(lambda: "did you mean" in box.process.err(), 10, "the console answers")
    until(lambda: "path 0 forward delay 40ms" in box.process.out(), 10, "the path is shown")
    if 'reverse path unchanged: position 1: "dely"' not in box.process.err():
        raise TestbedError(f"the refusal does not name the unknown word:\n{box.process.err()}")
    if min(ping_times(spaces["left"], ADDR["right"][0], 5)) < 40:
        raise TestbedError("the new path is not in use")
    box.say("show stats")
    until(lambda: "delay 40ms" in box.process.out().split("path 0 reverse")[-1], 10, "statistics")
    box.say("set path 1 both wire")
    until(lambda: "there is one path" in box.process.err(), 10, "another path is refused")
    box.say("show conns")
    until(lambda: 'word 2, "conns": not known here' in box.process.err(), 10,
          "the daemon's words are not the box's")
    box.say("quit")
    if box.process.wait(20) != 0:
        raise TestbedError(box.process.tail())


@scene("changes at a time, without a console", netns=True, company=True)
def schedule(testbed: Testbed, context: Context) -> None:
    spaces, box = kernel_box(testbed, context.build, "delay 1ms at 1s delay 50ms")

    def slow() -> bool:
        return min(ping_times(spaces["left"], ADDR["right"][0], 2)) >= 50

    until(slow, 15, "the change", 0.2)
    box.stop()


def readme_example() -> tuple[list[str], str, str]:
    """(devices, --forward, --reverse) of README's example of sluice-emu, with the interfaces of kernels()."""
    with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as f:
        found = re.search(r"^sluice-emu -l .*?[^\\]\n", f.read(), re.MULTILINE | re.DOTALL)
    assert found is not None, "README.md has no example of sluice-emu"
    text = found.group(0)
    forward, reverse = re.search(r"--forward '(.*?)'", text), re.search(r"--reverse '(.*?)'", text)
    assert forward is not None and reverse is not None, "README's example of sluice-emu lacks a path"
    devices = [d.replace("left", "boxleft").replace("right", "boxright") for d in re.findall(r"--vdev (\S+)", text)]
    return devices, forward.group(1), reverse.group(1)


def iperf3(testbed: Testbed, spaces: dict[str, str], congestion: str, address: str) -> float:
    """Mbit/s that arrive during 3 s of iperf3."""
    server = testbed.start("iperf3-server", ["iperf3", "-s", "-1"], ns=spaces["right"])
    wait_listening(testbed, spaces["right"], IPERF_PORT, server)
    client = testbed.start("iperf3", ["iperf3", "-c", address, "-t", "3", "-C", congestion, "-J"],
                       ns=spaces["left"])
    result = json.loads(client.check(60))
    server.check(20)
    return result["end"]["sum_received"]["bits_per_second"] / 1e6


@scene("README's example between two namespaces, with the offloads that Linux gives them", netns=True, company=True)
def readme(testbed: Testbed, context: Context) -> None:
    spaces, ns = kernels(testbed, offloads=True)
    for side, device in ((spaces["left"], "slleft"), (ns, "boxleft")):
        features = sh("ip", "netns", "exec", side, "ethtool", "-k", device)
        for feature in ("tx-checksumming: on", "generic-segmentation-offload: on",
                        "tcp-segmentation-offload: on"):
            if feature not in features:
                raise TestbedError(f"{device} lacks \"{feature}\"")
    devices, forward, reverse = readme_example()
    box = Box(testbed, context.build, devices, forward, reverse, ns=ns)
    for address in ADDR["right"]:
        times = ping_times(spaces["left"], address)
        if len(times) < 18 or min(times) < 38:  # 1 of 1000 is lost, and one of the two delays of 20 ms varies by 2
            raise TestbedError(f"{address}: {times}")
    have = testbed.run("cat", ["cat", "/proc/sys/net/ipv4/tcp_available_congestion_control"],
                   ns=spaces["left"]).split()
    for congestion in ("cubic", "bbr"):
        if congestion not in have:
            print(f"# this kernel has no {congestion}", flush=True)
            continue
        for address in ADDR["right"]:
            rate = iperf3(testbed, spaces, congestion, address)
            print(f"# {congestion} to {address}: {rate:.1f} Mbit/s", flush=True)
            # Jitter and loss slow TCP down: cubic reaches 2 of 100 Mbit/s even without offloads.
            if rate < 0.3:
                raise TestbedError(f"{congestion} to {address}: {rate} Mbit/s")
    said = box.process.err()
    report = box.stop()["forward"]["offload"]
    if report["summed"] == 0 or report["cut"] == 0 or report["segments"] < 2 * report["cut"]:
        raise TestbedError(f"the kernel left no checksums and no super-packets to the box: {report}")
    if report["drop_large"] or report["drop_truncated"] or "ethtool" in said:
        raise TestbedError(f"{report}\n{said}")


# UDP_SEGMENT (103): one call gives the kernel 20 datagrams, which a device is to cut apart.
DATAGRAMS = """
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.IPPROTO_UDP, 103, 1000)
s.sendto(bytes(20000), (sys.argv[1], 9))
"""


@scene("the box warns of packets that it cannot cut, with the interface and the cure", netns=True, company=True)
def refused(testbed: Testbed, context: Context) -> None:
    for devices, program, words in (
            (["net_af_packet0,iface=boxleft", "net_af_packet1,iface=boxright"], DATAGRAMS,
             ("not TCP", "tx-udp-segmentation off")),
            ([f"{af_packet(f'box{side}', 1500, i).vdev}" for i, side in enumerate(("left", "right"))],
             None, ("framesz", "tso off"))):
        mark = testbed.mark()
        spaces, ns = kernels(testbed, offloads=True)
        box = Box(testbed, context.build, devices, ns=ns)
        ping_times(spaces["left"], ADDR["right"][0], 3)
        if program is not None:
            testbed.run("datagrams", [sys.executable, "-c", program, ADDR["right"][0]], ns=spaces["left"])
        else:
            tcp_hash(testbed, spaces, "cubic", 300_000)
        until(lambda: "boxleft" in box.process.err(), 10, "the box warns")
        told = [line for line in box.process.err().splitlines() if "boxleft" in line]
        if len(told) != 1 or not all(word in told[0] for word in ("ethtool -K", *words)):
            raise TestbedError(f"no single warning with interface and cure:\n{box.process.err()}")
        box.stop()
        testbed.close_to(mark)


@scene("the box on AF_XDP", netns=True, company=True)
def xdp(testbed: Testbed, context: Context) -> None:
    need(net.lack_xdp())
    spaces, ns = kernels(testbed)
    box = Box(testbed, context.build, [af_xdp("boxleft", 0).vdev, af_xdp("boxright", 1).vdev],
              "delay 5ms", "delay 5ms", ("--packets", "4096"), ns=ns)
    times = ping_times(spaces["left"], ADDR["right"][0])
    if len(times) != 20 or min(times) < 10:
        raise TestbedError(f"{times}")
    box.stop()


@scene("the box on TAP devices, with a queue for each of two workers", netns=True, company=True)
def tap(testbed: Testbed, context: Context) -> None:
    need(net.lack_tap())
    ns = net.namespace(testbed, "box")
    (one, control), (two, _) = pair_cpus()
    box = Box(testbed, context.build, ["net_tap0,iface=slt0", "net_tap1,iface=slt1"], "delay 5ms",
              "delay 5ms", ("--packets", "4096"), worker=one, control=control, more_workers=[two], ns=ns)
    sides = {}
    for number, side in enumerate(("left", "right")):
        sides[side] = net.namespace(testbed, side)
        net.quiet(sides[side])  # the first side to be up must not send to the other one, which would drop it
        net.ip(ns, "link", "set", f"slt{number}", "netns", sides[side])
        net.address(sides[side], f"slt{number}", f"{ADDR[side][0]}/24")
        net.ip(sides[side], "link", "set", f"slt{number}", "up")
    times = ping_times(sides["left"], ADDR["right"][0])
    if len(times) != 20 or min(times) < 10:
        raise TestbedError(f"{times}")
    # Whichever queue Linux chooses, all of them are served.
    amount = 2_000_000
    for _ in range(4):
        if tcp_hash(testbed, sides, "cubic", amount) != (amount, expected(amount)):
            raise TestbedError("a byte is wrong")
    report = box.stop()
    if report["queues"] != 2 or report["forward"]["tx_dropped"] + report["reverse"]["tx_dropped"] > 0:
        raise TestbedError(f"{report['queues']} queues: {report['forward']}, {report['reverse']}")


def _memif_box(testbed: Testbed, context: Context, forward: str, reverse: str,
               mtu: int = 1500) -> tuple[Daemon, Daemon, Box]:
    """Two daemons with the box between them."""
    (wa, ca), (wb, cb) = pair_cpus()
    links = [testbed.path("left.sock"), testbed.path("right.sock")]
    box = Box(testbed, context.build, [memif(links[0], "server", number=0, mtu=mtu).vdev,
                                   memif(links[1], "server", number=1, mtu=mtu).vdev], forward, reverse,
              ("--mtu", str(mtu), "--packets", "4096" if mtu <= 9000 else "1024"), 256 if mtu <= 9000 else 512,
              worker=wa, control=ca)
    daemons = []
    for name, link, worker, control, number in (("a", links[0], wa, ca, 1), ("b", links[1], wb, cb, 2)):
        port = memif(link, "client", mtu=mtu)
        port.keys = {**station(number), "mtu": mtu, "checksum": "software"}
        daemons.append(Daemon(testbed, context.build, name, [port], [worker], control).start())
    for daemon in daemons:
        daemon.wait_link()
    a, b = daemons
    return a, b, box


@scene("two daemons through a bad path: loss, duplicates, corruption, reordering")
def bad_path(testbed: Testbed, context: Context) -> None:
    bad = "loss 1% duplicate 1% corrupt 0.5% delay 200us 100us"
    few = "loss 5% duplicate 5% corrupt 5% delay 200us 100us"  # only hundreds of frames take the return path
    a, b, box = _memif_box(testbed, context, bad, few)
    perf(b, a, ADDR_B, "-n", "100M")
    report = box.stop()
    for direction in ("forward", "reverse"):
        for kind, counter in (("loss", "dropped"), ("duplicate", "copied"), ("corrupt", "changed"),
                              ("delay", "reordered")):
            if element(report[direction], kind)[counter] == 0:
                raise TestbedError(f"{direction}: no packet was {counter}")
    if b.counters("drop_sum") == 0:
        raise TestbedError("no corrupt packet was noticed")
    a.stop()
    b.stop()


@scene("over a slow, long path a worker naps between packets")
def nap_between(testbed: Testbed, context: Context) -> None:
    """A packet comes each 120 us. A worker that polls makes hundreds of rounds meanwhile, as one does in the first
    round trips, when the path is not known yet, or for a while on a busy machine. So most of the time counts."""
    a, b, box = _memif_box(testbed, context, "rate 100mbit limit 500000B delay 10ms", "delay 10ms")
    server, client = perf_begin(b, a, ADDR_B, "-n", "20M")
    until(lambda: any("rx_path_Bps" in p for p in b.show("path")), 10, "the path's rate", process=client)
    ratios = []
    before = b.show("workers")[0]
    while client.running():
        time.sleep(0.1)
        after = b.show("workers")[0]
        frames = after["queues"][0]["rx_frames"] - before["queues"][0]["rx_frames"]
        if frames > 100:
            ratios.append((after["iterations"] - before["iterations"]) / frames)
        before = after
    perf_end(server, client)
    if len(ratios) < 5 or statistics.median(ratios) > 100:
        raise TestbedError(f"rounds for a frame, every 0.1 s from the time on when the path's rate was known: {ratios}")
    box.stop()
    a.stop()
    b.stop()


@scene("frames of 64 kB pass whole", memory_gb=4)
def long_frames(testbed: Testbed, context: Context) -> None:
    """The box leaves room for a second VLAN tag, so its MTU ends 4 bytes earlier than a daemon's."""
    a, b, box = _memif_box(testbed, context, "loss 0.5% duplicate 0.5% delay 200us 100us", "delay 200us",
                           MEMIF_MTU_MAX - 4)
    result = perf(b, a, ADDR_B, "-n", "64M")
    forward = box.stop()["forward"]
    if result["unit_bytes"] != 65280:
        raise TestbedError(f"units of {result['unit_bytes']} bytes")
    if forward["tx_bytes"] < 64 << 20 or forward["tx_bytes"] / forward["tx_packets"] < 32768:
        raise TestbedError(f"the frames were not passed whole: {forward}")
    for daemon in (a, b):
        daemon.stop()


@scene("a peer of the box is killed; the box goes on")
def killed(testbed: Testbed, context: Context) -> None:
    for _ in range(5):
        a, b, box = _memif_box(testbed, context, "delay 1ms", "delay 1ms")
        b.sluice("server", "perf", "server", "-1")
        b.wait_listening()
        a.sluice("client", "perf", "client", "-t", "20", ADDR_B)
        time.sleep(0.7)
        b.kill()
        time.sleep(0.3)
        box.process.must_run()
        box.stop()
        a.kill()


@scene("a daemon behind a wire of its own: one line of configuration")
def wired(testbed: Testbed, context: Context) -> None:
    (wa, ca), (wb, cb) = pair_cpus()
    link = testbed.path("memif.sock")
    daemons = []
    for name, role, worker, control, number in (("a", "server", wa, ca, 1), ("b", "client", wb, cb, 2)):
        port = memif(link, role)
        port.keys = {**station(number), "mtu": 1500}
        if name == "a":
            port.keys["wire"] = "loss 0.5% rate 800mbit delay 2ms 500us"
        else:
            port.keys["checksum"] = "software"
        daemons.append(Daemon(testbed, context.build, name, [port], [worker], control).start())
    a, b = daemons
    for daemon in daemons:
        daemon.wait_link()
    before = a.holdings()
    result = perf(b, a, ADDR_B, "-n", "20M")
    if result["goodput_bps"] > 800e6:
        raise TestbedError(f"{result['goodput_bps']} bit/s through 800 Mbit/s")
    if result["repeats"] == 0:
        raise TestbedError("no unit was repeated, so the wire lost nothing")
    a.check_holdings(before)
    a.stop()
    b.stop()


@scene("the box refuses bad input, with status and cause", company=True)
def bad_input(testbed: Testbed, context: Context) -> None:
    program = context.build.program("sluice-emu")
    memory = ["--no-huge", "--no-shconf", "-m", "64", "--no-pci", "--no-telemetry"]
    null = ["--vdev", "net_null0", "--vdev", "net_null1"]
    vhost = ["--vdev", "net_null0", "--vdev", f"net_vhost0,iface={testbed.path('v.sock')},queues=2"]
    for args, status, words in (
            ([program, "--check", "dellay 10ms"], 2, ["position 1", "did you mean", "delay"]),
            ([program, "--check", "delay 10"], 2, ["position 7", "unit"]),
            ([program, *memory, "--", "--forwrad", "x"], 2, ["--forward"]),
            ([program, *memory, "--", "--packets", "many"], 2, ["--packets"]),
            ([program, *memory, *null, "--", "--reverse", "loss 5"], 2, ["reverse path", "position 6"]),
            ([program, *memory, "--vdev", "net_null0", "--"], 5, ["too few"]),
            ([program, *memory, *null, "--", "--ports", "net_null0,net_nil"], 5, ["net_nil", "--vdev"]),
            ([program, *memory, *null, "--", "--packets", "60000"], 4, ["--packets", "MB"]),
            ([program, *memory, *null, "--", "--queues", "33"], 2, ["--queues", "1 to 32"]),
            ([program, *memory, *vhost, "--", "--queues", "4"], 5, ["net_vhost0 has 2", "--queues 2", "queues=4"])):
        process = testbed.start("sluice-emu", args)
        one_line(process, 30, status, *words)
    good = testbed.start("sluice-emu", [program, "--check", "rate 1gbit delay 1ms"])
    if good.check(30).strip() != "good":
        raise TestbedError(f"--check does not call a good path good\n{good.tail()}")
    box = [program, "--lcores", "0", *memory, *null, "--", "--packets", "100", "--time", "1s", "--json"]
    # The shell execs the box, with a full disk as standard output.
    for args, why in (([*box, "/nonexistent/x"], "No such file"),
                      (["sh", "-c", 'exec "$@" >/dev/full', "sh", *box, "-"], "No space left")):
        ended = testbed.start("sluice-emu", args)
        if ended.wait(30) != 1 or why not in ended.err() or "not written" not in ended.err():
            raise TestbedError(f"the report that could not be written is not mentioned\n{ended.tail()}")


QUEUES = 4


def queues_box(testbed: Testbed, context: Context, forward: str, options: tuple[object, ...] = (),
               vhost: bool = True, console: bool = False) -> tuple[Box, Load]:
    """A box with two workers, and a load generator with four queues at both of its ports: it sends in both
    directions at once. vhost: the ports are vhost-user's, which know how many queues they have; else memif's."""
    (one, control), (two, _) = pair_cpus()
    links = [testbed.path(f"{side}.sock") for side in ("left", "right")]
    if vhost:
        near = [f"net_vhost{i},iface={link},queues={QUEUES}" for i, link in enumerate(links)]
        far = [f"net_virtio_user{i},path={link},queues={QUEUES},queue_size=256" for i, link in enumerate(links)]
    else:
        near = memif_vdevs(testbed, "server", ["left", "right"])
        far = memif_vdevs(testbed, "client", ["left", "right"])
    box = Box(testbed, context.build, near, forward, "", ("--packets", "8192", *options), 512, worker=one,
              control=control, more_workers=[two], console=console)
    load = Load(load_process(testbed, context.build, "tester", far, [one, two],
                             ["--interactive", "--both", "--queues", QUEUES, "--packets", 3000],
                             ["--single-file-segments"] if vhost else []))
    return box, load


def queues_run(load: Load, frames: int, **keys: object) -> tuple[dict[str, int], dict[str, int]]:
    """Windows with 31 flows, until each direction has sent this many frames; each queue sends some of the flows.
    Returns what the directions count in sum. A busy machine may leave a window next to nothing."""
    sums: tuple[dict[str, int], dict[str, int]] = (
        {"sent": 0, "lost": 0, "flows_seen": 0}, {"sent": 0, "lost": 0, "flows_seen": 0})
    for _ in range(50):
        result = load.window(**({"size": 124, "rate": "4kpps", "seconds": 2, "flows": 31, "burst": 4096, "wait": 3}
                                | keys))
        for direction, total in zip(result["directions"], sums):
            for counter in ("duplicates", "reordered", "foreign", "corrupt", "beyond"):
                if direction[counter] != 0:
                    raise TestbedError(f"{counter}: {direction[counter]} of {direction['sent']}: {json.dumps(result)}")
            total["sent"] += direction["sent"]
            total["lost"] += direction["lost"]
            total["flows_seen"] = max(total["flows_seen"], direction["flows_seen"])
        if min(total["sent"] for total in sums) >= frames:
            return sums
    raise TestbedError(f"too few frames in 50 windows: {sums}")


@scene("the box on four queues of vhost: a path for each, every frame accounted for, flows in order", company=True)
def queues_each(testbed: Testbed, context: Context) -> None:
    box, load = queues_box(testbed, context, "each flow max 64 ( rate 10mbit delay 1ms )")
    said = box.process.err()
    for line in ("4 queues at each port", "forward: each queue has a path of its own",
                 "lcore 1 polls net_vhost0 queue 0, net_vhost1 queue 1, net_vhost0 queue 2, net_vhost1 queue 3",
                 "lcore 2 polls net_vhost1 queue 0, net_vhost0 queue 1, net_vhost1 queue 2, net_vhost0 queue 3"):
        if line not in said:
            raise TestbedError(f"the box does not say \"{line}\":\n{said}")
    directions = queues_run(load, 4000)
    load.stop()
    report = box.stop()
    for name, direction in zip(("forward", "reverse"), directions):
        told = report[name]
        if direction["flows_seen"] != 31 or told["paths"] != QUEUES or told["rx_packets"] != direction["sent"]:
            raise TestbedError(f"{name}: {direction}, the box got {told['rx_packets']} on {told['paths']} paths")
        if direction["lost"] != told["tx_dropped"] or told["tx_packets"] + told["tx_dropped"] != direction["sent"]:
            raise TestbedError(f"{name}: {direction}; the box sent {told['tx_packets']} and dropped {told['tx_dropped']}")
        if direction["lost"] > 0.02 * direction["sent"]:
            raise TestbedError(f"{name}: a queue is not served: {direction}")
    if element(report["forward"], "each")["in_packets"] != directions[0]["sent"]:
        raise TestbedError("the sum of an element's counters over the queues is wrong")


@scene("the box on four queues: a link is one for all of them, or with --split one for each", company=True)
def queues_link(testbed: Testbed, context: Context) -> None:
    """A link of 2 Mbit/s takes 2000 frames of 1000 bits a second; twice as many come."""
    for options, paths in ((("--queues", QUEUES), 1), (("--queues", QUEUES, "--split"), QUEUES)):
        mark = testbed.mark()
        box, load = queues_box(testbed, context, "rate 2mbit limit 1000", options)
        said = box.process.err()
        text = "--split makes one for each queue" if paths == 1 else "hold for each queue"
        if f"{QUEUES} queues at each port" not in said or text not in said:
            raise TestbedError(f"the box does not say \"{text}\":\n{said}")
        there, back = queues_run(load, 6000, size=125)
        load.stop()
        report = box.stop()
        forward, reverse, link = report["forward"], report["reverse"], element(report["forward"], "rate")
        if forward["paths"] != paths or reverse["paths"] != QUEUES or report["queues"] != QUEUES:
            raise TestbedError(f"{report['queues']} queues, {forward['paths']} and {reverse['paths']} paths")
        if (link["in_packets"] != there["sent"] or there["lost"] != link["dropped"] + forward["tx_dropped"] or
                back["lost"] != reverse["tx_dropped"]):
            raise TestbedError(f"{there}, {back}, but {forward} and {reverse['tx_dropped']}")
        # A worker that has lost its core for a second lets the queue of 1000 frames overflow.
        if (link["dropped"] > 0.15 * there["sent"]) != (paths == 1):
            raise TestbedError(f"{paths} path(s), {link['dropped']} dropped of {there['sent']}")
        testbed.close_to(mark)


@scene("the box's console sets the paths of all queues", company=True)
def queues_console(testbed: Testbed, context: Context) -> None:
    box, load = queues_box(testbed, context, "delay 1ms", ("--queues", QUEUES), vhost=False, console=True)
    if "forward: one path for all queues, as -i may set any path" not in box.process.err():
        raise TestbedError(f"a path that the console may replace is divided:\n{box.process.err()}")
    load.stop()
    box.say("quit")
    if box.process.wait(20) != 0:
        raise TestbedError(box.process.tail())
    box, load = queues_box(testbed, context, "delay 1ms", ("--queues", QUEUES, "--split"), vhost=False, console=True)
    box.say("set path 0 forward loss every 1")
    box.say("show path")
    until(lambda: "path 0 forward loss every 1" in box.process.out(), 20, "the path is shown", process=box.process)
    there, back = queues_run(load, 1000)
    if there["lost"] != there["sent"] or back["lost"] > 0.02 * back["sent"]:
        raise TestbedError(f"a queue has kept its old path: {there}, {back}")
    load.stop()
    box.say("quit")
    if box.process.wait(20) != 0:
        raise TestbedError(box.process.tail())
