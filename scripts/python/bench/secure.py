# SPDX-License-Identifier: BSD-3-Clause
"""Goodput of `sluice perf` over memif with sealed packets, one connection, against the same with plain ones.

The second reference is what one core seals, or opens, in a bare loop of the same library over as much memory
(test/bench/seal_bench.c): the slower of the two, because a transfer's sender seals and its receiver opens. The kinds are
measured one after the other, each beside a plain transfer with the same MTU; only the first one is judged.
"""
import argparse
import json
import subprocess
from collections.abc import Callable
from typing import NamedTuple

from . import memif, paired
from .micro import program
from .results import Results
from testbed.asked import Asked
from testbed.pair import pair_cpus
from testbed.process import Process, Testbed, TestbedError
from testbed.table import rate_text

PLAIN_BAR, BARE_BAR = 0.6, 0.85
IPSEC_MB, LIBCRYPTO = "libipsec-mb", "libcrypto"
RSIZE = 8


class Kind(NamedTuple):
    cipher: str  # as in the configuration
    library: str
    mtu: int

    @property
    def name(self) -> str:
        return f"{self.cipher} {self.library} {self.mtu}"

    @property
    def proper_name(self) -> str:
        """The cipher as crypto/aead.h names it."""
        return {"aes-128-gcm": "AES-128-GCM", "aes-256-gcm": "AES-256-GCM"}.get(self.cipher, "ChaCha20-Poly1305")


KINDS = (Kind("aes-128-gcm", IPSEC_MB, 9000), Kind("aes-128-gcm", IPSEC_MB, 1500), Kind("aes-256-gcm", IPSEC_MB, 9000),
         Kind("chacha20-poly1305", IPSEC_MB, 9000), Kind("aes-128-gcm", LIBCRYPTO, 9000))


def options(parser: argparse.ArgumentParser) -> None:
    paired.options(parser)
    parser.add_argument("--only", default="", help="run the kinds whose names contain this: " +
                        ", ".join(kind.name for kind in KINDS))
    parser.add_argument("--no-zero-copy", action="store_true", help="the receiving end of the memif copies, too")
    parser.add_argument("--idle", default="poll", help="key `idle` of both daemons")


def _bare(testbed: Testbed, args: argparse.Namespace, kind: Kind) -> tuple[dict[str, Callable[[float], float]], Process]:
    """Windows of the bare loop: bits/s that it seals, and that it opens; and its process."""
    process = testbed.start("seal-bench", [program(args, "seal_bench"), memif.unit_bytes(kind.mtu), kind.library,
                                           kind.proper_name], cpus=[pair_cpus()[1][0]], stdin=subprocess.PIPE)
    asked = Asked(process)
    asked.next_answer()

    def window(what: str) -> Callable[[float], float]:
        def measure(seconds: float) -> float:
            row = json.loads(asked.ask(f"{what} {seconds:g}"))
            return 8 * float(row["bytes"]) / float(row["seconds"])
        return measure
    return {f"bare {what}": window(what) for what in ("seal", "open")}, process


def _kind(testbed: Testbed, args: argparse.Namespace, results: Results, kind: Kind, judged: bool) -> None:
    number = KINDS.index(kind)
    bare, process = _bare(testbed, args, kind)
    seal = {"cipher": kind.cipher, "cipher_library": kind.library}
    plain, plain_end, plain_group = memif.sluice(testbed, args, RSIZE, kind.mtu, f"plain-{number}-")
    sealed, sealed_end, sealed_group = memif.sluice(testbed, args, RSIZE, kind.mtu, f"sealed-{number}-", seal=seal)
    memif.same_pages({"plain": plain_group, "sealed": sealed_group})

    def show(i: int, values: dict[str, float]) -> None:
        print(f"{kind.name}, round {i}: " + ", ".join(f"{n} {rate_text(v)}" for n, v in values.items()), flush=True)

    values = paired.rounds({"plain": plain, "sealed": sealed, **bare}, args, show)
    for end in (plain_end, sealed_end):
        end()
    process.stop()  # its 2 GB of hugepages are for the next kind
    results.disturbed([plain_group, sealed_group], f"{kind.name}: ")
    for name in ("plain", *bare):
        results.windows(f"{kind.name}: {name}", values[name], "Gb/s", scale=1e-9)
    results.windows(f"{kind.name}: sealed, to plain", values["sealed"], "Gb/s", values["plain"],
                    paired.Bar(PLAIN_BAR if judged else None), scale=1e-9)
    slower = paired.lower({name: values[name] for name in bare}, results.seed)
    name = f"{kind.name}: sealed, to the slower bare loop"
    if judged:
        results.windows_each(name, values["sealed"], "Gb/s", {n: values[n] for n in slower}, BARE_BAR, scale=1e-9)
    else:
        results.windows(name, values["sealed"], "Gb/s", values[slower[0]], scale=1e-9)


def run(testbed: Testbed, args: argparse.Namespace, results: Results) -> None:
    kinds = [kind for kind in KINDS if args.only in kind.name]
    if not kinds:
        raise TestbedError(f"no kind has \"{args.only}\" in its name; there are {', '.join(k.name for k in KINDS)}")
    if kinds[0] == KINDS[0]:
        results.demand(f"{KINDS[0].name}: sealed, to plain", f"{KINDS[0].name}: sealed, to the slower bare loop")
    for kind in kinds:
        _kind(testbed, args, results, kind, kind == KINDS[0])
