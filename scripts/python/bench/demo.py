# SPDX-License-Identifier: BSD-3-Clause
"""The demo behind scripts/demo. Two daemons transfer a large file and a folder of small ones; a table has
the results."""
import argparse
import hashlib
import json
import os
import random
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from testbed import baselines, net
from testbed.daemon import Build, Daemon
from testbed.pair import ADDR_B, memif_pair, veth_pair
from testbed.process import Process, Testbed, TestbedError, cpu_seconds
from testbed.table import bytes_text, print_table, rate_text
from .whys import Whys

SMALL_FILES = 300
MEMORY, MEMORY_S = "512M", 3
LIMIT_MEMIF, LIMIT_VETH = 10, 1  # capacity of the receiver in the last transfer, Gb/s
PATIENCE_S = 900
HOLES = ((0.20, 0.04), (0.55, 0.02), (0.90, 0.01))  # (start, length) as parts of the file
ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "../../.."))


def size_bytes(text: str) -> int:
    m = re.fullmatch(r"(\d+)([KMG]?)(?:i?B)?", text.strip(), re.IGNORECASE)
    if not m:
        raise argparse.ArgumentTypeError(f"\"{text}\" is no size; write, for example, 1G")
    return int(m.group(1)) << {"": 0, "K": 10, "M": 20, "G": 30}[m.group(2).upper()]


def noise_write(path: str, size: int, holes: Sequence[tuple[float, float]] = ()) -> None:
    """Writes a file of AES-CTR noise. holes: (start, length) as parts of the file."""
    gaps = sorted((int(size * at) & ~0xffff, int(size * part) & ~0xffff) for at, part in holes)
    stream = subprocess.Popen(
        ["openssl", "enc", "-aes-128-ctr", "-K", os.urandom(16).hex(), "-iv", "0" * 32, "-in",
         "/dev/zero"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert stream.stdout is not None
    try:
        with open(path, "wb", buffering=0) as f:
            at = 0
            for gap_at, gap_len in gaps + [(size, 0)]:
                while at < gap_at:
                    part = stream.stdout.read(min(1 << 20, gap_at - at))
                    if not part:
                        raise TestbedError("openssl writes no noise; is it installed? run scripts/setup")
                    f.write(part)
                    at += len(part)
                at += gap_len
                f.seek(at)
            f.truncate(size)
    finally:
        stream.kill()
        stream.wait()


def small_files_write(folder: str, seed: int) -> None:
    """Writes files of 0 to 64 KiB in nested folders. Their names have spaces and a letter beyond ASCII."""
    dice = random.Random(seed)
    for i in range(SMALL_FILES):
        sub = os.path.join(folder, *(f"part {dice.randrange(5)}" for _ in range(dice.randrange(4))))
        os.makedirs(sub, exist_ok=True)
        size = dice.choice((0, 1, 100, 4096, 8896, 65536)) or (0 if i % 2 else dice.randrange(65536))
        with open(os.path.join(sub, f"file {i} ä.bin"), "wb") as f:
            f.write(dice.randbytes(size))


def sha256(path: str) -> str:
    """The hash of a file, by coreutils, which share no code with Sluice."""
    done = subprocess.run(["sha256sum", "-b", path], capture_output=True, text=True, check=True)
    return done.stdout.lstrip("\\").split()[0]


def hashes_equal(a: str, b: str) -> tuple[bool, str]:
    with ThreadPoolExecutor(2) as pool:
        one, other = pool.map(sha256, (a, b))
    return one == other, one


def tree_hash(folder: str) -> dict[str, str]:
    """{relative path: hash}"""
    found = {}
    for where, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(where, name)
            with open(path, "rb") as f:
                found[os.path.relpath(path, folder)] = hashlib.sha256(f.read()).hexdigest()
    return found


class Side:
    """A daemon and its client. cores: how many cores they used from the start to stop()."""

    def __init__(self, daemon: Daemon) -> None:
        self.daemon, self.start_s = daemon, time.monotonic()
        self.start_cpu, self.cores = cpu_seconds(daemon.pid()), 0.0

    def stop(self, client_cpu_s: float) -> None:
        used = cpu_seconds(self.daemon.pid()) - self.start_cpu + client_cpu_s
        self.cores = used / (time.monotonic() - self.start_s)


@dataclass
class Done:
    """A transfer that has ended: the JSON of send (or perf client) and of recv (or perf server), the sides A
    and B, and the reasons of the receiver's grants."""
    sent: dict[str, Any]
    received: dict[str, Any]
    sides: tuple[Side, Side]
    whys: Whys

    def data_bytes(self) -> int:
        return self.sent["bytes"] - self.sent.get("hole_bytes", 0)

    def row(self, name: str, reference: str) -> list[object]:
        seconds = self.received["seconds"] or self.sent["seconds"]
        return [name, f"{seconds:.2f} s", rate_text(self.data_bytes() * 8 / seconds), reference,
                self.sent["packets"], self.sent["repeats"], rate_text(8 * self.sent["rate_grant_Bps"]),
                *(f"{100 * side.cores:.0f} %" for side in self.sides)]


def ended(sender: Process, receiver: Process, a: Daemon, b: Daemon,
          cpu_seconds_of: Callable[[dict[str, Any]], float], timeout_s: float) -> Done:
    """Waits for both clients. cpu_seconds_of(JSON): the CPU time that a client used."""
    sides, whys = (Side(a), Side(b)), Whys(b)
    baselines.wait_all([sender], timeout_s, time.monotonic(), whys.look)
    sent = json.loads(sender.check(1))
    received = json.loads(receiver.check(60))
    whys.close()
    for side, end in zip(sides, (sent, received)):
        side.stop(cpu_seconds_of(end))
    return Done(sent, received, sides, whys)


def transfer(name: str, sources: str, target: str, a: Daemon, b: Daemon, rates: str | None = None) -> Done:
    """One send and one recv. rates: a CSV to write."""
    extra = ["--rates", rates] if rates else []
    recursive = ["-r"] if os.path.isdir(sources) else []
    receiver = b.sluice(f"{name}-recv", "recv", "-o", target, "--once", "--json", *extra)
    b.wait_listening(process=receiver)
    sender = a.sluice(f"{name}-send", "send", "--json", *recursive, sources, ADDR_B)
    return ended(sender, receiver, a, b, lambda end: end["cpu_seconds"], PATIENCE_S)


def from_memory(name: str, a: Daemon, b: Daemon, rates: str) -> Done:
    """As transfer(), but with `sluice perf`, so without a disk."""
    receiver = b.sluice(f"{name}-server", "perf", "server", "--json", "-1", "--memory", MEMORY,
                        "--rates", rates)
    b.wait_listening(process=receiver)
    sender = a.sluice(f"{name}-client", "perf", "client", "--json", "-i", "0", "-t", f"{MEMORY_S}",
                      "--memory", MEMORY, ADDR_B)
    return ended(sender, receiver, a, b, lambda end: end["cpu"]["user_s"] + end["cpu"]["system_s"], 60)


def capacity_set(a: Daemon, b: Daemon, capacity: str) -> None:
    """Restarts daemon B with this capacity."""
    b.stop()
    b.ports[0].keys["capacity"] = capacity
    b.start()
    for daemon in (a, b):
        daemon.wait_link()


NO_REFERENCE = "-"


def references(testbed: Testbed, args: argparse.Namespace, source: str, folder: str, big: Done,
               few: Done) -> tuple[str, str, str]:
    """Goodput of other programs at the same work, for the rows of the large file, the small files and memory:
    of cp for a memif, of iperf3 over a veth of the kernel for a veth. NO_REFERENCE where there is none."""
    target = testbed.path("reference")

    def text(nbytes: int, seconds: float, name: str) -> str:
        return f"{rate_text(8 * nbytes / seconds)} ({name})"

    if not args.veth:
        file_s = baselines.copy(testbed, source, target, PATIENCE_S)
        os.unlink(target)
        tree_s = baselines.copy(testbed, folder, target, PATIENCE_S)
        return text(big.data_bytes(), file_s, "cp"), text(few.data_bytes(), tree_s, "cp -r"), NO_REFERENCE
    if baselines.missing("iperf3"):
        return NO_REFERENCE, NO_REFERENCE, NO_REFERENCE
    spaces = baselines.kernel_pair(testbed)
    file_s = baselines.Iperf(args.size, source, target).run(testbed, spaces, PATIENCE_S)
    os.unlink(target)
    memory_s = baselines.Iperf(args.size).run(testbed, spaces, PATIENCE_S)
    return text(args.size, file_s, "iperf3 -F"), NO_REFERENCE, text(args.size, memory_s, "iperf3")


def room_check(folder: str, size: int) -> None:
    free, need = shutil.disk_usage(folder).free, 3 * size + (64 << 20)
    if free < need:
        raise TestbedError(f"{folder} has room for {bytes_text(free)}, the demo needs "
                           f"{bytes_text(need)}; set TMPDIR to another place, or use --size")


def show(args: argparse.Namespace, transfers: tuple[Done, Done, Done, Done], others: tuple[str, str, str],
         limit: int) -> None:
    """Prints the table. transfers: the large file, the small ones, memory, memory with a limit. others: the
    references of the first three."""
    big, few, memory, limited = transfers
    names = (f"1 file, {bytes_text(args.size)}", f"{SMALL_FILES} files, {bytes_text(few.sent['bytes'])}",
             f"memory to memory, {MEMORY_S} s", f"the same, capacity {limit} Gb/s")
    print_table(["transfer", "time", "goodput", "reference", "packets", "retransmitted", "grant",
                 "CPU sender", "CPU receiver"],
                [done.row(name, other) for name, done, other in
                 zip(names, (big, few, memory, limited), (*others, NO_REFERENCE))])
    print("(CPU: daemon and client of that side together, 100 % is one core; reference: goodput of another "
          "program at the same work)")
    print("why not faster (WHY of sluice show path at the receiver, in % of all samples):")
    for name, done in zip(names, transfers):
        print(f"  {name}: {done.whys.explain()}")


def run(testbed: Testbed, args: argparse.Namespace) -> int:
    room_check(testbed.dir, args.size)
    out = os.path.join(args.build, "demo")
    os.makedirs(out, exist_ok=True)
    build = Build(args.build, args.huge)
    print(f"demo: writes a file of {bytes_text(args.size)} with holes, and {SMALL_FILES} small ones",
          flush=True)
    source, folder = testbed.path("source"), testbed.path("folder")
    noise_write(source, args.size, HOLES)
    small_files_write(folder, 1)
    if args.veth:
        a, b = veth_pair(testbed, build, xdp=args.af_xdp, telemetry=True)
        way = "two namespaces, veth, " + ("AF_XDP" if args.af_xdp else "AF_PACKET")
    else:
        a, b = memif_pair(testbed, build, telemetry=True)
        way = "two daemons, memif, MTU 9000"
    print(f"demo: transfers them ({way})", flush=True)
    large, small = testbed.path("received"), testbed.path("received-folder")
    os.mkdir(small)
    csv = os.path.join(out, "rate.csv")
    big = transfer("file", source, large, a, b, rates=csv)
    few = transfer("folder", folder, small, a, b)
    csv_memory, csv_limited = os.path.join(out, "memory.csv"), os.path.join(out, "limited.csv")
    memory = from_memory("memory", a, b, csv_memory)
    limit = LIMIT_VETH if args.veth else LIMIT_MEMIF
    capacity_set(a, b, f"{limit}Gbit")
    limited = from_memory("limited", a, b, csv_limited)
    print("demo: compares hashes", flush=True)
    equal, value = hashes_equal(source, large)
    same_tree = tree_hash(folder) == tree_hash(os.path.join(small, "folder"))
    for daemon in (a, b):
        daemon.stop()
    os.unlink(large)
    print("demo: measures other programs at the same work", flush=True)
    others = references(testbed, args, source, folder, big, few)
    print()
    show(args, (big, few, memory, limited), others, limit)
    picture = os.path.join(out, "rate.png")
    subprocess.run([sys.executable, os.path.join(ROOT, "scripts", "plot-rate"), csv, csv_memory,
                    csv_limited, picture, "--title", f"File of {bytes_text(args.size)}, disk to disk",
                    "--title", "Memory to memory", "--title",
                    f"Receiver's capacity set to {limit} Gb/s", "--note", way], check=True)
    print(f"SHA-256 of the file: {'equal' if equal else 'DIFFERENT'}, {value}")
    print(f"SHA-256 of the {SMALL_FILES} small files: {'equal' if same_tree else 'DIFFERENT'}")
    print(f"momentary rate over time: {os.path.relpath(picture)} (and .csv)")
    return 0 if equal and same_tree else 1


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/demo")
    parser.add_argument("--build", required=True)
    parser.add_argument("--huge", action="store_true")
    parser.add_argument("--veth", action="store_true")
    parser.add_argument("--af-xdp", action="store_true")
    parser.add_argument("--size", type=size_bytes, default=1 << 30)
    args = parser.parse_args()
    if args.af_xdp and not args.veth:
        parser.error("--af-xdp needs --veth")
    if args.veth:
        lack = net.can_netns()
        if lack is not None:
            print(f"demo: --veth does not work here: {lack}; run it without --veth", file=sys.stderr)
            return 1
    try:
        with Testbed("demo", keep_dir=os.path.join(args.build, "demo", "logs")) as testbed:
            return run(testbed, args)
    except (TestbedError, OSError) as problem:
        print(f"demo: {problem}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
