# SPDX-License-Identifier: BSD-3-Clause
"""Two daemons joined by a memif: many connections, workers, families, sizes of requests, files."""
import os

from .harness import TestbedError, perf, run_script, scenario, script_exists
from testbed.pair import ADDR6_B, ADDR_B, memif_pair


def _both_rest(daemons, before):
    for daemon, was in zip(daemons, before):
        daemon.check_holdings(was)


def _pair(testbed, context, **kwargs):
    """Daemons and what they hold after a first small test, when all lazy things are made."""
    a, b = memif_pair(testbed, context.build, **kwargs)
    perf(b, a, ADDR_B, "-n", "1M", name="first")
    return (a, b), [a.holdings(), b.holdings()]


def _stop(daemons):
    """Stopping cleanly includes that all mbufs came back."""
    for daemon in daemons:
        daemon.stop()


@scenario("100 connections at once in both directions", memory_gb=4)
def many_connections(testbed, context):
    daemons, before = _pair(testbed, context)
    a, b = daemons
    result = perf(b, a, ADDR_B, "-P", "100", "--bidir", "-t", context.seconds, "-l", "128K",
                  "--memory", "1M", timeout_s=context.seconds * 3 + 60)
    if len(result["streams"]) != 100:
        raise TestbedError(f"{len(result['streams'])} connections")
    for i, stream in enumerate(result["streams"]):
        if stream["tx"]["bytes"] == 0 or stream["rx"]["bytes"] == 0:
            raise TestbedError(f"connection {i} moved nothing in one direction: {stream}")
    _both_rest(daemons, before)
    _stop(daemons)


@scenario("two workers on a memif")
def two_workers(testbed, context):
    daemons, before = _pair(testbed, context, workers=2)
    a, b = daemons
    result = perf(b, a, ADDR_B, "-P", "8", "--bidir", "-t", "4", timeout_s=60)
    for stream in result["streams"]:
        if stream["tx"]["bytes"] == 0 or stream["rx"]["bytes"] == 0:
            raise TestbedError(f"a connection moved nothing in one direction: {stream}")
    for daemon in daemons:
        idle = [w["worker"] for p in daemon.show("ports") for w in p["workers"]
                if w["tx_frames"] < 100]
        if idle:
            raise TestbedError(f"worker {idle} of {daemon.name} had nothing to do")
    _both_rest(daemons, before)
    _stop(daemons)


@scenario("IPv6")
def ipv6(testbed, context):
    (a, b), before = _pair(testbed, context)
    result = perf(b, a, f"[{ADDR6_B}]", "-t", "2", "--bidir")
    if not result["peer"].startswith("["):
        raise TestbedError(f"the peer is {result['peer']}")
    _both_rest((a, b), before)
    _stop((a, b))


@scenario("VLAN")
def vlan(testbed, context):
    (a, b), before = _pair(testbed, context, keys={"vlan": 100})
    perf(b, a, ADDR_B, "-t", "2", "--bidir")
    _both_rest((a, b), before)
    _stop((a, b))


@scenario("hosts in different VLANs do not hear each other", company=True)
def vlan_apart(testbed, context):
    a, b = memif_pair(testbed, context.build, a_keys={"vlan": 100}, b_keys={"vlan": 101},
                      keys={"silence": "1s"})
    b.sluice("server", "perf", "server", "-1")
    b.wait_listening()
    client = a.sluice("client", "perf", "client", "-t", "1", ADDR_B)
    if client.wait(20) != 4:
        raise TestbedError(f"status 4 was due\n{client.tail()}")
    if b.counters("drop_vlan") == 0:
        raise TestbedError("no drop was counted")
    _stop((a, b))


@scenario("one request of 4 GiB", memory_gb=11)
def huge_request(testbed, context):
    daemons, before = _pair(testbed, context, daemon_keys={"quota": "6G", "quota_total": "6G"})
    a, b = daemons
    result = perf(b, a, ADDR_B, "-n", "4G", "-l", "4G", "--memory", "4G", "--outstanding", "1",
                  server_args=("--memory", "4G"), timeout_s=200)
    if result["bytes"] != 1 << 32 or result["peer_rx"]["requests"] != 1:
        raise TestbedError(f"{result['bytes']} bytes in {result['peer_rx']['requests']} requests")
    _both_rest(daemons, before)
    _stop(daemons)


@scenario("requests of 0 bytes and of 1 byte")
def tiny_requests(testbed, context):
    daemons, before = _pair(testbed, context)
    a, b = daemons
    for length in ("0", "1"):
        result = perf(b, a, ADDR_B, "-t", "1", "-l", length, "--bidir", name=f"tiny{length}")
        both = (result["peer_rx"], result["peer_tx"])
        if any(side["requests"] < 10 for side in both):
            raise TestbedError(f"requests of {length} bytes: {both}")
        if any(side["bytes"] != int(length) * side["requests"] for side in both):
            raise TestbedError(f"requests of {length} bytes: {both}")
    _both_rest(daemons, before)
    _stop(daemons)


@scenario("go-back-N and synchronous sends")
def other_modes(testbed, context):
    daemons, before = _pair(testbed, context)
    a, b = daemons
    perf(b, a, ADDR_B, "-n", "64M", "--go-back-N", name="gbn")
    perf(b, a, ADDR_B, "-n", "16M", "-l", "64K", "--sync", name="sync")
    perf(b, a, ADDR_B, "-n", "64M", "--reverse", name="reverse")
    _both_rest(daemons, before)
    _stop(daemons)


@scenario("the smallest MTU of IPv6")
def small_mtu(testbed, context):
    (a, b), before = _pair(testbed, context, mtu=1280)
    result = perf(b, a, ADDR_B, "-n", "16M")
    if not 1000 < result["unit_bytes"] < 1280:
        raise TestbedError(f"units of {result['unit_bytes']} bytes")
    _both_rest((a, b), before)
    _stop((a, b))


@scenario("different MTUs: the smaller one counts")
def two_mtus(testbed, context):
    a, b = memif_pair(testbed, context.build, a_keys={"mtu": 9000}, b_keys={"mtu": 1500})
    for host, server, client in ((ADDR_B, b, a), ("10.90.0.1", a, b)):
        result = perf(server, client, host, "-n", "8M", name=f"to-{server.name}")
        if not 1200 < result["unit_bytes"] < 1500:
            raise TestbedError(f"units of {result['unit_bytes']} bytes towards {host}")
    _stop((a, b))


@scenario("50 connections one after the other leave nothing behind")
def one_after_the_other(testbed, context):
    daemons, before = _pair(testbed, context)
    a, b = daemons
    server = b.sluice("server", "perf", "server", "--json")
    b.wait_listening()
    for i in range(50):
        client = a.sluice(f"client{i}", "perf", "client", "--check", "-n", "100K", ADDR_B)
        client.check(30)
    server.stop()
    _both_rest(daemons, before)
    _stop(daemons)


def _script_env(testbed, context):
    a, b = memif_pair(testbed, context.build)
    return {"SLUICE_BUILD": context.build.dir, "SLUICE_SOCK_A": a.socket, "SLUICE_SOCK_B": b.socket,
            "SLUICE_ADDR_A": "10.90.0.1", "SLUICE_ADDR_B": ADDR_B, "TMPDIR": testbed.dir}, (a, b)


if script_exists("files_test"):
    @scenario("files: names, holes, pipes, sizes, errors")
    def files(testbed, context):
        env, daemons = _script_env(testbed, context)
        run_script(testbed, "files_test", env, timeout_s=600)
        _stop(daemons)


if script_exists("dissector_test"):
    @scenario("Wireshark's dissector names every byte", company=True)
    def dissector(testbed, context):
        run_script(testbed, "dissector_test", dict(os.environ, TMPDIR=testbed.dir))
