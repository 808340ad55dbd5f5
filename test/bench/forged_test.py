#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The captures of scripts/forged-pcap: tshark finds nothing wrong with their frames, and each packet is the one that
its kind promises."""
import contextlib
import io
import ipaddress
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../../scripts/python"))
from bench import forged  # noqa: E402

TSHARK = shutil.which("tshark")
MACS = (bytes.fromhex("020000000001"), bytes.fromhex("020000000002"))
# What the dissector says of a packet of each kind.
SAYS = {"first": "FIRST service", "data": "DATA request", "control": "CNTL seq", "reset": "[END]", "starve": "RCNTL hop 1 ",
        "version": "not a packet of version 1", "context": "sealed", "short": "DATA too short"}


class Captures(unittest.TestCase):
    def setUp(self) -> None:
        self.path = os.path.join(self.enterContext(tempfile.TemporaryDirectory()), "forged.pcap")

    def dissected(self, *addresses: str, count: int) -> list[list[str]]:
        """Writes a capture with these addresses; returns tshark's fields of each frame."""
        assert TSHARK is not None
        source, to = map(ipaddress.ip_address, addresses)
        made = forged.capture_write(self.path, forged.forged(1, count, MACS, source, to, list(forged.KINDS)))
        self.assertEqual(made, count)
        fields = ("ip.checksum.status", "udp.checksum.status", "ip.src", "udp.dstport", "_ws.col.Info")
        out = subprocess.run([TSHARK, "-X", f"lua_script:{HERE}/../../config/wireshark/sluice.lua", "-o",
                              "udp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE", "-r", self.path, "-T", "fields",
                              *(x for f in fields for x in ("-e", f))], capture_output=True, text=True, timeout=60)
        self.assertEqual(out.returncode, 0, out.stderr)
        return [line.split("\t") for line in out.stdout.splitlines()]

    @unittest.skipIf(TSHARK is None, "no tshark; install it with scripts/setup")
    def test_frames_are_correct(self) -> None:
        for addresses in (("10.0.0.1", "10.0.0.2"), ("fd00::1", "fd00::2")):
            rows = self.dissected(*addresses, count=80)
            self.assertEqual(len(rows), 80)
            for row, kind in zip(rows, list(forged.KINDS) * 10):
                self.assertEqual(row[0], "1" if addresses[0] == "10.0.0.1" else "")
                self.assertEqual(row[1], "1", kind)
                self.assertEqual(row[3], "47800")
                self.assertIn(SAYS[kind], row[4])

    def test_a_seed_is_a_capture(self) -> None:
        a, b = (ipaddress.ip_address(x) for x in ("10.0.0.1", "10.0.0.2"))
        made = [list(forged.forged(seed, 50, MACS, a, b, ["data"])) for seed in (1, 1, 2)]
        self.assertEqual(made[0], made[1])
        self.assertNotEqual(made[0], made[2])
        self.assertEqual(len(set(made[0])), 50)

    def test_bad_options_are_named(self) -> None:
        good = {"--to-mac": "02:00:00:00:00:01", "--to": "10.0.0.2", "--from": "10.0.0.1"}
        for option, value, message in (("--to-mac", "02:00", "not a MAC"), ("--from", "fd00::1", "one IP version"),
                                       ("--kinds", "data,all", "there is no all"), ("--count", "0", "at least 1")):
            words = [x for pair in {**good, option: value}.items() for x in pair]
            said = io.StringIO()
            with mock.patch.object(sys, "argv", ["forged-pcap", self.path, *words]), \
                    contextlib.redirect_stderr(said), self.assertRaises(SystemExit):
                forged.main()
            self.assertIn(message, said.getvalue())
            self.assertFalse(os.path.exists(self.path))


if __name__ == "__main__":
    unittest.main()
