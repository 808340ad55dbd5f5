# SPDX-License-Identifier: BSD-3-Clause
"""Writes a capture of forged Sluice packets, for generators that replay captures.

Each frame has the addresses that are asked for, correct lengths and correct checksums, so it passes every check
of Ethernet, IP and UDP. What makes it a forgery is the key: 64 random bits, which no connection has. A host must
count each of them, and change nothing. Written against doc/protocol.md, without lib/wire.
"""
import argparse
import ipaddress
import random
import re
import struct
from collections.abc import Callable, Iterator

SLUICE_PORT = 47800
FIRST, DATA, CNTL, RCNTL = 1, 2, 3, 4
SREQ, END, EARLY = 0x01, 0x10, 0x40
VERSION = 1
UNIT_BYTES_MAX = 1400
SNAP_BYTES = 65535
LINK_ETHERNET = 1

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def _header(rng: random.Random, kind: int, flags: int = 0, version: int = VERSION, context: int = 0) -> bytes:
    return struct.pack(">BBBBIQ", version << 4 | kind, flags, 0, 0, context, rng.getrandbits(64) | 1)


def _first(rng: random.Random) -> bytes:
    """Opens a connection to a service on which nobody listens."""
    body = struct.pack(">IIHHIQQQQII", rng.getrandbits(32), UNIT_BYTES_MAX, rng.randint(60000, 65535), 0, 1, 1 << 20,
                       1 << 16, rng.getrandbits(48), 0, 3000, rng.getrandbits(32))
    return (_header(rng, FIRST, EARLY) + body).ljust(192, b"\0")


def _data(rng: random.Random) -> bytes:
    payload = rng.randbytes(rng.randint(64, UNIT_BYTES_MAX))
    return _header(rng, DATA) + struct.pack(">QQIIQII", rng.getrandbits(32), rng.getrandbits(48), rng.getrandbits(32), 0,
                                            len(payload), UNIT_BYTES_MAX, rng.getrandbits(32)) + payload


def _control(rng: random.Random, flags: int, end: int) -> bytes:
    """A CNTL that breaks no rule but that of the key: a small grant, everything acknowledged."""
    grants = struct.pack(">QIHBBQ", 1, 1, 0, 0, 0, 0)                      # rate to peak
    progress = struct.pack(">QIIQQQ", 1 << 62, 1 << 30, 0, 0, 0, 0)          # ack to received
    clocks = struct.pack(">QQII", rng.getrandbits(48), 0, 0, UNIT_BYTES_MAX)  # time to unit_max
    rest = struct.pack(">IHHIIQQB3xIQIHH", 0, 0, end, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
    own_key = rng.getrandbits(64) | 1
    return _header(rng, CNTL, flags) + struct.pack(">QII", own_key, rng.randint(1, 1 << 31), 0) + grants + progress + \
        clocks + rest


def _starve(rng: random.Random) -> bytes:
    """A router allows a byte a second."""
    return _header(rng, RCNTL) + struct.pack(">QIHHQ", 1, 1, 65535, 1, rng.getrandbits(48))


# What a forger would try: {name: packet}. "reset" would end a connection, "starve" would all but stop it.
KINDS: dict[str, Callable[[random.Random], bytes]] = {
    "first": _first,
    "data": _data,
    "control": lambda rng: _control(rng, SREQ, 0),
    "reset": lambda rng: _control(rng, END, 1),
    "starve": _starve,
    "version": lambda rng: _header(rng, DATA, version=rng.randint(2, 15)) + rng.randbytes(80),
    "context": lambda rng: _header(rng, DATA, context=rng.randint(1, 1 << 31)) + rng.randbytes(80),
    "short": lambda rng: _header(rng, DATA) + rng.randbytes(rng.randint(0, 39)),
}


def checksum(data: bytes) -> int:
    """RFC 1071."""
    if len(data) % 2:
        data += b"\0"
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


def frame(payload: bytes, macs: tuple[bytes, bytes], source: tuple[Address, int], to: tuple[Address, int]) -> bytes:
    """macs: (to, from)"""
    udp_bytes = 8 + len(payload)
    if source[0].version == 4:
        pseudo = source[0].packed + to[0].packed + struct.pack(">HH", 17, udp_bytes)
        ip = struct.pack(">BBHHHBBH", 0x45, 0, 20 + udp_bytes, 0, 0x4000, 64, 17, 0) + source[0].packed + to[0].packed
        ip = ip[:10] + struct.pack(">H", checksum(ip)) + ip[12:]
    else:
        pseudo = source[0].packed + to[0].packed + struct.pack(">II", udp_bytes, 17)
        ip = struct.pack(">IHBB", 0x60000000, udp_bytes, 17, 64) + source[0].packed + to[0].packed
    udp = struct.pack(">HHH", source[1], to[1], udp_bytes)
    total = checksum(pseudo + udp + b"\0\0" + payload)
    return (macs[0] + macs[1] + struct.pack(">H", 0x0800 if source[0].version == 4 else 0x86dd) + ip + udp +
            struct.pack(">H", total or 0xffff) + payload).ljust(60, b"\0")


def forged(seed: int, count: int, macs: tuple[bytes, bytes], source: Address, to: Address,
           kinds: list[str]) -> Iterator[bytes]:
    """Frames of all kinds by turns. Half come from the source's own port, half from ports that openers use."""
    rng = random.Random(seed)
    for i in range(count):
        port = SLUICE_PORT if rng.random() < 0.5 else rng.randint(61440, 65535)
        yield frame(KINDS[kinds[i % len(kinds)]](rng), macs, (source, port), (to, SLUICE_PORT))


def capture_write(path: str, frames: Iterator[bytes]) -> int:
    """A classic capture, which Pktgen needs, not pcapng. Returns the number of frames."""
    count = 0
    with open(path, "wb") as f:
        f.write(struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, SNAP_BYTES, LINK_ETHERNET))
        for data in frames:
            f.write(struct.pack("<IIII", count // 1000000, count % 1000000, len(data), len(data)) + data)
            count += 1
    return count


def mac_parse(text: str) -> bytes:
    if not re.fullmatch(r"[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){5}", text):
        raise argparse.ArgumentTypeError(f"{text} is not a MAC address, such as 02:00:00:00:00:01")
    return bytes.fromhex(text.replace(":", ""))


def main() -> None:
    parser = argparse.ArgumentParser(prog="forged-pcap", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("capture", metavar="FILE.pcap", help="file to write")
    parser.add_argument("--to-mac", type=mac_parse, required=True, help="MAC address of the host under test")
    parser.add_argument("--to", type=ipaddress.ip_address, required=True, help="its IP address")
    parser.add_argument("--from-mac", type=mac_parse, default=mac_parse("02:00:00:00:00:02"))
    parser.add_argument("--from", dest="source", type=ipaddress.ip_address, required=True,
                        help="source address, such as that of a peer whose transfer runs")
    parser.add_argument("--count", type=int, default=10000, help="frames (default: %(default)s)")
    parser.add_argument("--kinds", default=",".join(KINDS), help="which, of %(default)s (default: all)")
    parser.add_argument("--seed", type=int, default=1, help="the same seed gives the same frames (default: %(default)s)")
    args = parser.parse_args()
    kinds = args.kinds.split(",")
    for kind in kinds:
        if kind not in KINDS:
            parser.error(f"--kinds: there is no {kind}; choose from {','.join(KINDS)}")
    if args.to.version != args.source.version:
        parser.error(f"--from {args.source} and --to {args.to} are not of one IP version")
    if args.count < 1:
        parser.error(f"--count {args.count}: at least 1")
    made = capture_write(args.capture, forged(args.seed, args.count, (args.to_mac, args.from_mac), args.source, args.to,
                                              kinds))
    print(f"{made} frames in {args.capture}")
