# SPDX-License-Identifier: BSD-3-Clause
"""Two daemons joined by a memif: many connections, workers, families, sizes of requests, files."""
from collections.abc import Iterable
from typing import Any

from .harness import Context, TestbedError, file_works, perf, run_script, scene, script_exists
from testbed.daemon import MEMIF_MTU_MAX, Daemon
from testbed.pair import ADDR6_B, ADDR_A, ADDR_B, memif_pair
from testbed.process import Testbed

LONG_UNIT_BYTES = 65280  # MEMIF_MTU_MAX less 84 bytes of headers, in whole cache lines; with IPv6 likewise
LONG_MB = 768  # the memory of a daemon with buffers so long
LONG_POOL_KB = 65536  # of receive buffers: the first use of each takes its pages


def _both_rest(daemons: Iterable[Daemon], before: Iterable[dict[str, int]]) -> None:
    for daemon, was in zip(daemons, before):
        daemon.check_holdings(was)


def _pair(testbed: Testbed, context: Context, **kwargs: Any) -> tuple[list[Daemon], list[dict[str, int]]]:
    """Two daemons, and their holdings after a first small test, which has them make all that they make late."""
    a, b = memif_pair(testbed, context.build, **kwargs)
    perf(b, a, ADDR_B, "-n", "1M", name="first")
    return [a, b], [a.holdings(), b.holdings()]


def _stop(daemons: Iterable[Daemon]) -> None:
    """Stops them; a clean stop includes that all mbufs came back."""
    for daemon in daemons:
        daemon.stop()


@scene("100 connections at once in both directions", memory_gb=4)
def many_connections(testbed: Testbed, context: Context) -> None:
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


@scene("two workers on a memif")
def two_workers(testbed: Testbed, context: Context) -> None:
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
            raise TestbedError(f"workers {idle} of {daemon.name} sent next to nothing")
    _both_rest(daemons, before)
    _stop(daemons)


@scene("IPv6")
def ipv6(testbed: Testbed, context: Context) -> None:
    (a, b), before = _pair(testbed, context)
    result = perf(b, a, f"[{ADDR6_B}]", "-t", "2", "--bidir")
    if not result["peer"].startswith("["):
        raise TestbedError(f"the peer is {result['peer']}")
    _both_rest((a, b), before)
    _stop((a, b))


@scene("VLAN")
def vlan(testbed: Testbed, context: Context) -> None:
    (a, b), before = _pair(testbed, context, keys={"vlan": 100})
    perf(b, a, ADDR_B, "-t", "2", "--bidir")
    _both_rest((a, b), before)
    _stop((a, b))


@scene("hosts in different VLANs do not hear each other", company=True)
def vlan_apart(testbed: Testbed, context: Context) -> None:
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


@scene("one request of 4 GiB", memory_gb=11)
def huge_request(testbed: Testbed, context: Context) -> None:
    daemons, before = _pair(testbed, context, daemon_keys={"quota": "6G", "quota_total": "6G"})
    a, b = daemons
    result = perf(b, a, ADDR_B, "-n", "4G", "-l", "4G", "--memory", "4G", "--outstanding", "1",
                  server_args=("--memory", "4G"), timeout_s=200)
    if result["bytes"] != 1 << 32 or result["peer_rx"]["requests"] != 1:
        raise TestbedError(f"{result['bytes']} bytes in {result['peer_rx']['requests']} requests")
    _both_rest(daemons, before)
    _stop(daemons)


@scene("requests of 0 bytes and of 1 byte")
def tiny_requests(testbed: Testbed, context: Context) -> None:
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


@scene("go-back-N and synchronous sends")
def other_modes(testbed: Testbed, context: Context) -> None:
    daemons, before = _pair(testbed, context)
    a, b = daemons
    perf(b, a, ADDR_B, "-n", "64M", "--go-back-N", name="gbn")
    perf(b, a, ADDR_B, "-n", "16M", "-l", "64K", "--sync", name="sync")
    perf(b, a, ADDR_B, "-n", "64M", "--reverse", name="reverse")
    _both_rest(daemons, before)
    _stop(daemons)


@scene("the smallest MTU of IPv6")
def small_mtu(testbed: Testbed, context: Context) -> None:
    (a, b), before = _pair(testbed, context, mtu=1280)
    result = perf(b, a, ADDR_B, "-n", "16M")
    if not 1000 < result["unit_bytes"] < 1280:
        raise TestbedError(f"units of {result['unit_bytes']} bytes")
    _both_rest((a, b), before)
    _stop((a, b))


@scene("different MTUs: the smaller one counts")
def two_mtus(testbed: Testbed, context: Context) -> None:
    a, b = memif_pair(testbed, context.build, a_keys={"mtu": 9000}, b_keys={"mtu": 1500})
    for host, server, client in ((ADDR_B, b, a), ("10.90.0.1", a, b)):
        result = perf(server, client, host, "-n", "8M", name=f"to-{server.name}")
        if not 1200 < result["unit_bytes"] < 1500:
            raise TestbedError(f"units of {result['unit_bytes']} bytes towards {host}")
    _stop((a, b))


@scene("64 kB: the largest MTU of a memif moves files, both ways and in both families", memory_gb=2)
def largest_memif(testbed: Testbed, context: Context) -> None:
    a, b = memif_pair(testbed, context.build, mtu=MEMIF_MTU_MAX, memory_mb=LONG_MB)
    before = [d.holdings() for d in (a, b)]
    for address in (ADDR_B, ADDR6_B):
        file_works(testbed, a, b, address, 30_000_001)
    file_works(testbed, b, a, ADDR_A, 30_000_001)
    for address in (ADDR_B, ADDR6_B):
        result = perf(b, a, address, "-n", "256M", "-l", "1M", name=f"perf-{len(address)}")
        if result["unit_bytes"] != LONG_UNIT_BYTES:
            raise TestbedError(f"units of {result['unit_bytes']} bytes to {address}")
        if result["bytes"] != 256 << 20:
            raise TestbedError(f"{result['bytes']} bytes to {address}")
    for daemon, was in zip((a, b), before):
        daemon.check_holdings(was, rss_slack_kb=LONG_POOL_KB)
        daemon.stop()


@scene("64 kB: with software checksums, over a wire that loses and corrupts", memory_gb=2)
def lossy_wire(testbed: Testbed, context: Context) -> None:
    a, b = memif_pair(testbed, context.build, mtu=MEMIF_MTU_MAX, memory_mb=LONG_MB, keys={"checksum": "software"},
                      a_keys={"wire": "loss 1% corrupt 1% duplicate 1% delay 100us", "wire_packets": 512})
    result = perf(b, a, ADDR_B, "-n", "64M")
    if result["unit_bytes"] != LONG_UNIT_BYTES or b.counters("drop_sum") == 0:
        raise TestbedError(f"units of {result['unit_bytes']} bytes, {b.counters('drop_sum')} of them corrupt")
    for daemon in (a, b):
        daemon.stop()


@scene("64 kB: one side has an MTU of 9000, the other of 65385", memory_gb=2)
def mixed(testbed: Testbed, context: Context) -> None:
    a, b = memif_pair(testbed, context.build, memory_mb=LONG_MB, a_keys={"mtu": MEMIF_MTU_MAX},
                      b_keys={"mtu": 9000})
    file_works(testbed, a, b, ADDR_B)
    file_works(testbed, b, a, ADDR_A)
    for host, server, client in ((ADDR_B, b, a), (ADDR_A, a, b)):
        result = perf(server, client, host, "-n", "32M", name=f"to-{server.name}")
        if result["unit_bytes"] != 8896:
            raise TestbedError(f"units of {result['unit_bytes']} bytes towards {host}")
    for daemon in (a, b):
        daemon.stop()


@scene("50 connections one after the other leave nothing behind")
def one_after_the_other(testbed: Testbed, context: Context) -> None:
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


def _script(testbed: Testbed, context: Context, name: str) -> None:
    a, b = memif_pair(testbed, context.build)
    env = {"SLUICE_BUILD": context.build.dir, "SLUICE_SOCK_A": a.socket, "SLUICE_SOCK_B": b.socket,
           "SLUICE_ADDR_A": "10.90.0.1", "SLUICE_ADDR_B": ADDR_B, "TMPDIR": testbed.dir}
    run_script(testbed, name, env, timeout_s=600)
    _stop([a, b])


if script_exists("files_test"):
    @scene("files: names, holes, pipes, sizes, errors")
    def files(testbed: Testbed, context: Context) -> None:
        _script(testbed, context, "files_test")


if script_exists("copies/copies_test"):
    @scene("files: copies to and from another host, over a remote shell")
    def copies(testbed: Testbed, context: Context) -> None:
        _script(testbed, context, "copies/copies_test")


if script_exists("syncs/syncs_test"):
    @scene("files: syncs with another host, compared with rsync")
    def syncs(testbed: Testbed, context: Context) -> None:
        _script(testbed, context, "syncs/syncs_test")
