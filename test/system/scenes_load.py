# SPDX-License-Identifier: BSD-3-Clause
"""The load generator with real neighbours over memif: exact counts, and those of the path emulator beside them."""
import functools
import json
import signal
import time
from collections.abc import Sequence
from typing import Any

from .harness import Context, TestbedError, scene
from testbed.box import Box, element
from testbed.load import Load, load_process, memif_vdevs
from testbed.pair import pair_cpus
from testbed.process import Process, Testbed, until


def equal(result: dict[str, Any], **expected: object) -> None:
    """Each of these values of a result must be as expected."""
    for key, value in expected.items():
        if result[key] != value:
            raise TestbedError(f"{key} is {result[key]}, not {value}: {json.dumps(result)}")


def other_end(testbed: Testbed, context: Context, options: Sequence[object], tag: str = "link") -> Process:
    """A sluice-load on the other side of a memif; it reflects or listens."""
    process = load_process(testbed, context.build, "other", memif_vdevs(testbed, "server", [tag]),
                           [pair_cpus()[1][0]], [*options, "--json"])
    return process


def tester(testbed: Testbed, context: Context, tags: Sequence[str], options: Sequence[object] = ()) -> Load:
    return Load(load_process(testbed, context.build, "tester", memif_vdevs(testbed, "client", tags),
                             [pair_cpus()[0][0]], ["--interactive", *options]))


COUNTS = ("sent", "refused", "received", "lost", "duplicates", "reordered", "beyond", "corrupt", "foreign", "earlier")


def enough(load: Load, frames: int, **keys: object) -> dict[str, Any]:
    """Runs windows until this many frames are sent, as a busy machine may leave a window next to nothing. Returns
    the last answer, with the sums of all counts."""
    sums = dict.fromkeys(COUNTS, 0)
    for _ in range(50):
        result = load.window(**keys)
        for key in COUNTS:
            sums[key] += result[key]
        if sums["sent"] >= frames:
            return result | sums
    raise TestbedError(f"{sums['sent']} of {frames} frames were sent in 50 windows")


def last_json(process: Process) -> dict[str, Any]:
    """Ends it by a signal; returns its last line."""
    process.signal(signal.SIGINT)
    if process.wait(20) != 0:
        raise TestbedError(process.tail())
    result: dict[str, Any] = json.loads(process.out().splitlines()[-1])
    return result


WINDOWS: Sequence[dict[str, object]] = (
    {"size": 60, "rate": "20kpps", "seconds": 0.3, "flows": 1},
    {"size": "imix", "rate": "10kpps", "flows": 1000, "warmup": 0.1},
    {"size": "64+1518", "vlan": 9, "rate": "100Mbit/line", "flows": 7, "warmup": 0},
    {"size": "80+1514", "vlan": "none", "src": "fd00::1+16", "dst": "fd01::1", "rate": "20Mbit/l2", "flows": 20000},
    {"size": 1514, "rate": "max", "flows": 3, "seconds": 0.2},
)


@scene("sluice-load against sluice-load --reflect: every frame is accounted for", company=True)
def reflect(testbed: Testbed, context: Context) -> None:
    mirror = other_end(testbed, context, ["--reflect"])
    load = tester(testbed, context, ["link"], ["--verify"])
    keys: dict[str, object] = {}
    sent = came = lost = 0
    for window in WINDOWS:
        keys |= window
        result = enough(load, 100, **keys)
        equal(result, duplicates=0, reordered=0, beyond=0, corrupt=0, foreign=0, interrupted=False,
              lost=result["sent"] - result["received"])
        if result["received"] == 0 or result["latency_ns"].get("min") == 0:
            raise TestbedError(f"nothing came back, or at once: {result}")
        if result["rate"] != "max" and result["offered_pps"] > 1.02 * result["requested_pps"] + 1000:
            raise TestbedError(f"more was offered than asked for: {result}")
        if result["lost"] == 0 and result["sent"] >= 30000 and result["flows_seen"] != result["flows"]:
            raise TestbedError(f"flows are missing: {result}")
        sent += result["sent"]
        came += result["received"]
        lost += result["lost"]
    if load.stop() != 0:
        raise TestbedError(load.process.tail())
    told = last_json(mirror)
    # The warm-up's frames went through the mirror, too; whatever it could not send back is lost.
    if told["received"] < sent or told["dropped"] != 0 or lost > told["refused"]:
        raise TestbedError(f"sent {sent}, back {came}, lost {lost}, but the mirror says {told}")


def box_between(testbed: Testbed, context: Context, forward: str, reverse: str = "") -> Box:
    return Box(testbed, context.build, memif_vdevs(testbed, "server", ["left", "right"], 10), forward, reverse,
               ("--packets", "16384", "--interval", "100ms", "--quiet"), 512)


@scene("sluice-load and sluice-emu agree on each loss, duplicate and reordered frame", company=True)
def agrees(testbed: Testbed, context: Context) -> None:
    box = box_between(testbed, context, "loss 3% delay 20ms 15ms duplicate 4%")
    load = tester(testbed, context, ["left", "right"])
    result = enough(load, 5000, size=128, rate="20kpps", seconds=1, wait=5)
    report = box.stop()["forward"]
    loss, delay, twice = (element(report, kind) for kind in ("loss", "delay", "duplicate"))
    if report["drop_full"] + report["tx_dropped"] + report["drop_no_mbuf"] + report["held_packets"] != 0:
        raise TestbedError(f"the box itself lost frames: {report}")
    equal(result, sent=report["rx_packets"], lost=loss["dropped"], duplicates=twice["copied"],
          reordered=delay["reordered"], corrupt=0, foreign=0, beyond=0, earlier=0,
          received=report["tx_packets"] - twice["copied"])
    if loss["dropped"] == 0 or twice["copied"] == 0 or delay["reordered"] == 0:
        raise TestbedError(f"the path did nothing: {report['elements']}")
    # No frame is early.
    low = delay["delay_ns"]["min"]
    if low < 4.9e6 or result["latency_ns"]["min"] < low or result["displacement"]["max"] < 10:
        raise TestbedError(f"the least delay is {low}, {result}")


@scene("sluice-load knows which frames are lost, corrupt and late", company=True)
def listed(testbed: Testbed, context: Context) -> None:
    box = box_between(testbed, context, "loss list 3,5-6,100 delay 4s gap 5")
    load = tester(testbed, context, ["left", "right"])
    result = load.window(size=60, rate="1kpps", seconds=2, wait=20, burst=4096)
    report = box.stop()["forward"]
    delay = element(report, "delay")
    equal(result, sent=report["rx_packets"], lost=4, duplicates=0, reordered=delay["reordered"])
    if result["reordered"] < 100 or delay["reordered"] == 0:
        raise TestbedError(f"every fifth frame overtakes those before it: {result}")


@scene("sluice-load counts corrupt frames apart, and believes none of their numbers", company=True)
def corrupt(testbed: Testbed, context: Context) -> None:
    box = box_between(testbed, context, "corrupt 10%")
    load = tester(testbed, context, ["left", "right"], ["--verify"])
    result = enough(load, 3000, size=1514, rate="5kpps", seconds=1, wait=5, flows=50)
    changed = element(box.stop()["forward"], "corrupt")["changed"]
    bad = result["corrupt"] + result["foreign"]
    equal(result, duplicates=0, reordered=0, beyond=0, earlier=0, sent=result["received"] + bad, lost=bad)
    # A wrong bit in a MAC address does not show: 96 of 12112 bits.
    if not 0.9 * changed <= bad <= changed or result["corrupt"] < 0.95 * bad or changed < 100:
        raise TestbedError(f"{changed} frames were changed: {result}")


@scene("sluice-load --listen at the far end of another one", company=True)
def listens(testbed: Testbed, context: Context) -> None:
    far = other_end(testbed, context, ["--listen", "--flows", 8])
    load = tester(testbed, context, ["link"], ["--wait", "0"])
    sent = 0
    for flows in (1, 8):
        result = enough(load, 1000, size=200, rate="10kpps", seconds=0.3, flows=flows, warmup=0.1)
        equal(result, received=0, lost=result["sent"], loss=1)
        sent += result["sent"]
        time.sleep(0.2)
    if load.stop() != 0:
        raise TestbedError(load.process.tail())
    time.sleep(0.5)
    told = last_json(far)
    # it counts the warm-ups, too
    equal(told, lost=0, duplicates=0, reordered=0, foreign=0, corrupt=0, interrupted=True)
    if told["received"] < sent or told["latency_ns"]["count"] != 0:
        raise TestbedError(f"{sent} frames were sent: {told}")


@scene("sluice-load refuses wrong windows, goes on, and ends as its manual says", company=True)
def mistakes(testbed: Testbed, context: Context) -> None:
    mirror = other_end(testbed, context, ["--reflect"])
    load = tester(testbed, context, ["link"], ["--max-loss", "0"])
    for line, cure in (("size=9000", "--mtu 8986"), ("rate=fast", "write max"), ("speed=1", "no such key"),
                       ("size=60 rate=1Gbit", "/l2"), ("flows=5 sport=1 src=198.18.0.1", "5 flows need")):
        error = load.say(line).get("error", "")
        if cure not in error or line.rsplit("=", 1)[1].split("+", maxsplit=1)[0] not in error and "5 flows" not in error:
            raise TestbedError(f"{line}: {error}")
    result = load.window(size=60, rate="1kpps", seconds=0.2)
    equal(result, flows=1, lost=0, size="60")
    pipe = load.process.popen.stdin
    assert pipe is not None
    pipe.write(b"seconds=60\n")
    pipe.flush()
    time.sleep(0.7)
    load.process.signal(signal.SIGINT)
    if load.process.wait(20) != 0:
        raise TestbedError(load.process.tail())
    result = json.loads(load.process.out().splitlines()[-1])
    equal(result, interrupted=True, lost=0)
    if not 0 < result["seconds"] < 30 or result["sent"] == 0:
        raise TestbedError(f"the window was not ended early: {result}")
    mirror.stop()


@scene("sluice-load: a signal ends a window also where frames are lost, or not looked at", company=True)
def ended_early(testbed: Testbed, context: Context) -> None:
    def ready(process: Process) -> bool:
        return "ready" in process.err() + process.out()

    for vdev, option in (("net_null0,no-rx=1", "--verify"), ("net_ring0", "--count")):
        process = load_process(testbed, context.build, "early", [vdev], [pair_cpus()[0][0]],
                               ["--seconds", "120", "--wait", "0.1", "--warmup", "0", "--rate", "1kpps", "--json", option])
        until(functools.partial(ready, process), 20, "it is ready", process=process)
        time.sleep(1)
        result = last_json(process)
        equal(result, interrupted=True)
        if result["sent"] == 0 or result["seconds"] > 60:
            raise TestbedError(f"{option}: {result}")


@scene("sluice-load's exit statuses", company=True)
def statuses(testbed: Testbed, context: Context) -> None:
    def run(options: Sequence[object], vdevs: Sequence[str], expected: int, says: str) -> None:
        process = load_process(testbed, context.build, "status", vdevs, [pair_cpus()[0][0]], options)
        if process.wait(30) != expected or says not in process.err() + process.out():
            raise TestbedError(f"{list(options)}: not status {expected} with \"{says}\"\n{process.tail()}")

    short: Sequence[object] = ("--seconds", "0.1", "--wait", "0.1", "--rate", "10kpps")
    run(short, ["net_ring0"], 0, "lost 0")
    run([*short, "--max-loss", "0"], ["net_ring0"], 0, "lost 0")
    run([*short, "--max-loss", "50%"], ["net_null0,no-rx=1"], 3, "(100.000000%)")
    run(["--rate", "50%", "--csv"], ["net_ring0"], 0, "latency_p999_ns")
    run(short, [], 1, "there are 0 port(s), too few")
    run([*short, "--both"], ["net_ring0"], 1, "--both needs two ports")
    run(["--size", "20"], ["net_ring0"], 2, "60 to 9600")
    run(["--size", "60", "--vlan", "1"], ["net_ring0"], 1, "send 64 or more")


@scene("sluice-load in both directions at once, through sluice-emu", company=True)
def both(testbed: Testbed, context: Context) -> None:
    box = box_between(testbed, context, "loss 2%", "duplicate 3%")
    load = tester(testbed, context, ["left", "right"], ["--both"])
    result = load.window(size="imix", rate="10kpps", seconds=2, flows=100, src="10.0.0.1+4", burst=4096)
    report = box.stop()
    there, back = result["directions"]
    equal(there, sent=report["forward"]["rx_packets"], duplicates=0, flows_seen=100,
          lost=element(report["forward"], "loss")["dropped"])
    equal(back, sent=report["reverse"]["rx_packets"], lost=0, flows_seen=100,
          duplicates=element(report["reverse"], "duplicate")["copied"])
    equal(result, sent=there["sent"] + back["sent"], lost=there["lost"], duplicates=back["duplicates"], reordered=0,
          foreign=0, earlier=0)
    if there["lost"] == 0 or back["duplicates"] == 0:
        raise TestbedError(json.dumps(result))


@scene("sluice-load on two queues, with lcores for senders and receivers", company=True)
def queues(testbed: Testbed, context: Context) -> None:
    cpus = [pair_cpus()[0][0], pair_cpus()[1][0]]
    mirror = load_process(testbed, context.build, "mirror", memif_vdevs(testbed, "server", ["link"]), [cpus[1]],
                          ["--reflect", "--queues", 2, "--json"])
    load = Load(load_process(testbed, context.build, "tester", memif_vdevs(testbed, "client", ["link"]),
                             [cpus[0], cpus[0], cpus[0], cpus[1], cpus[1]], ["--interactive", "--queues", 2]))
    result = load.window(size=60, rate="4kpps", seconds=2, flows=31, burst=4096)
    told = last_json(mirror)
    equal(result, duplicates=0, reordered=0, foreign=0, earlier=0, beyond=0, flows_seen=31,
          lost=result["sent"] - result["received"])
    if told["received"] != result["sent"] or result["lost"] != told["refused"] or result["sent"] < 100:
        raise TestbedError(f"{result}, {told}")
    if "flows=1: each of the 2 queues" not in load.say("flows=1").get("error", ""):
        raise TestbedError("a queue without a flow is not refused")
