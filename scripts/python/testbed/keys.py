# SPDX-License-Identifier: BSD-3-Clause
"""Keys of daemons that know each other: packets between them are sealed."""
import os
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from .daemon import Build, Daemon
from .process import Testbed


class KeyPair(NamedTuple):
    file: str  # of the private key
    public: str


def _sluice_key(testbed: Testbed, build: Build, *args: str) -> str:
    return testbed.run("key", [build.program("sluice"), "key", *args]).strip()


def key_pair(testbed: Testbed, build: Build, name: str) -> KeyPair:
    """A new key pair; name: of its file."""
    file = testbed.path(f"{name}.key")
    return KeyPair(file, _sluice_key(testbed, build, "generate", file))


def shared_key(testbed: Testbed, build: Build, name: str) -> str:
    """The file of a new shared key."""
    file = testbed.path(f"{name}.psk")
    _sluice_key(testbed, build, "shared", file)
    return file


def key_file(testbed: Testbed, name: str, text: str) -> str:
    """A file of this name with this key; nobody else may read it."""
    file = testbed.path(name)
    with open(os.open(file, os.O_CREAT | os.O_WRONLY, 0o600), "w", encoding="ascii") as f:
        f.write(text + "\n")
    return file


def peer_section(name: str, addresses: Sequence[str], public: str, keys: Mapping[str, object] | None = None) -> str:
    """A [peer] section. addresses: one of each family at most."""
    lines = [f"[peer {name}]", *(f"address{'6' if ':' in a else ''} = {a}" for a in addresses), f"public_key = {public}",
             *(f"{k} = {v}" for k, v in (keys or {}).items())]
    return "\n".join(lines) + "\n"


def introduce(daemons: Sequence[Daemon], addresses: Sequence[Sequence[str]],
              peer_keys: Sequence[Mapping[str, object] | None] = (None, None)) -> None:
    """Gives each daemon, before it starts, a key pair, and makes it known to the others. addresses[i]: networks of
    daemon i; peer_keys[i]: further keys of its [peer] sections."""
    pairs = [key_pair(d.testbed, d.build, d.name) for d in daemons]
    for daemon, own, keys in zip(daemons, pairs, peer_keys, strict=True):
        daemon.keys["private_key_file"] = own.file
        for port in daemon.ports:
            port.keys.setdefault("security", "required")
        daemon.peers = "".join(peer_section(other.name, where, pair.public, keys)
                               for other, where, pair in zip(daemons, addresses, pairs) if other is not daemon)
