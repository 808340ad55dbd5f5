# SPDX-License-Identifier: BSD-3-Clause
"""One daemon, B, on a veth whose other end is the kernel's, with a host in Python on a UDP socket there
(test/interop/endpoint.py): the protocol between two implementations."""
import base64
import ctypes
import os
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from endpoint import PORT, Endpoint, Failed, Keys
from association import NO_PSK, Identity
from connection import Connection, Options
from testbed import net
from testbed.daemon import Daemon, af_packet
from testbed.keys import key_file, key_pair, peer_section
from testbed.pair import ADDR6_B, ADDR_B, pair_cpus, station
from testbed.process import Testbed, TestbedError
from wire import Data, Packet

from .application import ACCEPT, SHUTDOWN, Application
from ..harness import Context, sh

HOST, HOST6 = "10.90.0.9", "fd90::9"
SERVICE = 7000


@dataclass
class Setting:
    """foreign: the host in Python; application: a client of the daemon's."""
    daemon: Daemon
    foreign: Endpoint
    application: Application
    ns: str
    v6: bool
    public: bytes  # the daemon's public key, if it has one

    @property
    def remote(self) -> tuple[str, int]:
        """The daemon's address, for the foreign host."""
        return (ADDR6_B if self.v6 else ADDR_B, PORT)

    @property
    def keys(self) -> Keys:
        """What the foreign host has of associations, if it has an identity."""
        assert self.foreign.keys is not None
        return self.foreign.keys

    @property
    def name(self) -> str:
        """The foreign host's address, for the application."""
        return f"[{HOST6}]" if self.v6 else HOST

    def socket(self, port: int = 0) -> socket.socket:
        """Another UDP socket of the foreign host's machine."""
        return _socket(self.ns, self.v6, port)

    def until(self, condition: Callable[[], bool], what: str, timeout_s: float = 30) -> None:
        """Lets the foreign host work until the condition holds."""
        try:
            self.foreign.run(condition, what, timeout_s)
        except Failed as problem:
            raise TestbedError(f"{problem}\n{self.daemon.process.tail()}") from None

    def counted(self, name: str, before: int = 0) -> bool:
        return self.daemon.counters(name) > before

    def grows(self, name: str, before: int, what: str) -> None:
        """Waits until a counter of the daemon is higher than before."""
        self.until(lambda: self.counted(name, before), f"{name} counts {what}")

    def ended(self, *connections: Connection) -> None:
        """Both sides must close in order."""
        self.until(lambda: all(c.ended is not None for c in connections), "the connection ends")
        expect(all(c.ended == 0 for c in connections), f"ended for the reasons {[c.ended for c in connections]}")


def expect(holds: bool, message: str) -> None:
    if not holds:
        raise TestbedError(message)


def _socket(ns: str, v6: bool, port: int) -> socket.socket:
    with net.inside(ns):
        udp = socket.socket(socket.AF_INET6 if v6 else socket.AF_INET, socket.SOCK_DGRAM)
    udp.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
    udp.bind((HOST6 if v6 else HOST, port))
    return udp


def acquaint(daemon: Daemon, identity: Identity, shared_keys: tuple[bytes, bytes] | None) -> bytes:
    """Makes the daemon, before it starts, and the foreign host known to each other; security is required, unless the
    port says otherwise. shared_keys: what the daemon has and what the foreign host has. Returns the daemon's public
    key."""
    pair = key_pair(daemon.testbed, daemon.build, daemon.name)
    daemon.keys["private_key_file"] = pair.file
    daemon.ports[0].keys.setdefault("security", "required")
    more: dict[str, object] = {}
    if shared_keys is not None:
        more["shared_key_file"] = key_file(daemon.testbed, "shared.key", base64.b64encode(shared_keys[0]).decode())
    public = base64.b64decode(pair.public)
    identity.peers[public] = shared_keys[1] if shared_keys is not None else NO_PSK
    daemon.peers = peer_section("foreign", [f"{HOST}/32", f"{HOST6}/128"], base64.b64encode(identity.public).decode(),
                                more)
    return public


@contextmanager
def setting(testbed: Testbed, context: Context, keys: dict[str, object] | None = None, v6: bool = False,
            identity: Identity | None = None, shared_keys: tuple[bytes, bytes] | None = None,
            daemon_keys: dict[str, object] | None = None) -> Iterator[Setting]:
    """keys: of the daemon's port; daemon_keys: of [daemon]. identity: the foreign host's; the daemon then has keys, too. At the end the daemon
    must stop cleanly."""
    ns_b, ns = net.namespace(testbed, "b"), net.namespace(testbed, "foreign")
    net.quiet(ns_b)
    net.veth(ns, "slf", ns_b, "slb")
    net.address(ns, "slf", f"{HOST}/24")
    net.address(ns, "slf", f"{HOST6}/64")
    port = af_packet("slb", 1500)
    port.keys = {**station(2), **(keys or {})}
    worker, control = pair_cpus()[1]
    daemon = Daemon(testbed, context.build, "b", [port], [worker], control, ns=ns_b)
    daemon.keys.update(daemon_keys or {})
    public = acquaint(daemon, identity, shared_keys) if identity is not None else b""
    daemon.start()
    daemon.wait_link()
    # Each then knows the other's MAC address.
    sh("ip", "netns", "exec", ns, "ping", "-c", "1", "-W", "5", ADDR6_B if v6 else ADDR_B)
    foreign = Endpoint(_socket(ns, v6, PORT), identity)
    try:
        with Application(daemon) as application:
            yield Setting(daemon, foreign, application, ns, v6, public)
    finally:
        foreign.close()
    daemon.stop()


class Loss:
    """Loses each of these units, (request, unit), the first time."""

    def __init__(self, *units: tuple[int, int]) -> None:
        self.left = {(request & 0xffffffff, unit) for request, unit in units}

    def __call__(self, packet: Packet) -> bool:
        if not isinstance(packet, Data) or (packet.request, packet.unit) not in self.left:
            return False
        self.left.remove((packet.request, packet.unit))
        return True


def accepted(s: Setting, options: Options, receives: Sequence[int] = (),
             sealed: bool = False) -> tuple[ctypes.c_void_p, Connection]:
    """(the application's connection, the foreign host's): open. The foreign host opens it. receives: sizes of the
    application's buffers."""
    s.application.listen(SERVICE)
    conn = s.application.accept(SERVICE)
    for number, size in enumerate(receives):
        s.application.recv(conn, number, size)
    connection = s.foreign.open(s.remote, options, sealed)
    s.until(lambda: s.application.status(ACCEPT) == "ok" and connection.known, "the connection is open")
    return conn, connection


def exchange(s: Setting, opener_is_foreign: bool = True, sealed: bool = False, size: int = 100_000) -> None:
    """A connection with two requests each way, closed in order by both sides."""
    ours, theirs = [os.urandom(size), b""], [os.urandom(size + 1), os.urandom(1)]
    application, options = s.application, Options(service=SERVICE, buffers=(1 << 20, 1 << 20))
    application.done.clear()
    if opener_is_foreign:
        application.listen(SERVICE)
        conn = application.accept(SERVICE)
        connection = s.foreign.open(s.remote, options, sealed)
    else:
        s.foreign.accept(options)
        known = len(s.foreign.connections)
        conn = application.connect(f"{s.name}:{SERVICE}")
        s.until(lambda: len(s.foreign.connections) > known, "FIRST comes")
        connection = s.foreign.connections[-1]
        expect(connection.sealed == sealed, f"the connection is {'not ' if sealed else ''}sealed")
    for number, data in enumerate(theirs):
        application.recv(conn, number)
        application.send(conn, data, number)
    for data in ours:
        connection.send(data)
    s.until(lambda: application.received(1) is not None and len(connection.receiver.done) == 2, "the requests come")
    expect([application.received(n) for n in (0, 1)] == ours, "the application got other bytes")
    expect(list(connection.receiver.done.values()) == theirs, "the foreign host got other bytes")
    wrong = [why for why in s.foreign.dropped if why.startswith("a number")]
    expect(not wrong, f"the foreign host dropped packets: {wrong}")
    connection.shutdown()
    application.shutdown(conn)
    s.ended(connection)
    s.until(lambda: application.status(SHUTDOWN) == "ok", "the shutdown completes")
    application.close_conn(conn)
    if opener_is_foreign:
        application.unlisten(SERVICE)
