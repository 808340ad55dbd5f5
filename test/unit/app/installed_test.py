#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""installed_test.py BUILD: what `meson install` puts where. Manual pages and units name files that are installed."""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
BUILD = sys.argv[1]
# The last part of each path, for each kind of user.
EXPECTED = {
    "bin/sluice", "bin/sluiced", "bin/sluice-emu", "bin/sluice-load", "bin/sluice-lab", "bin/sluice-exporter",
    "man/man1/sluice.1", "man/man1/sluice-lab.1", "man/man3/libsluice.3", "man/man7/sluice-console.7",
    "man/man7/sluice-path.7", "man/man8/sluiced.8", "man/man8/sluice-emu.8", "man/man8/sluice-load.8", "man/man8/sluice-exporter.8",
    "lib/systemd/system/sluiced.service", "lib/systemd/system/sluice-exporter.service", "lib/sysusers.d/sluice.conf",
    "lib/udev/rules.d/60-sluice.rules",
    "bash-completion/completions/sluice", "zsh/site-functions/_sluice", "fish/vendor_completions.d/sluice.fish",
    "doc/sluice/README.md", "doc/sluice/CHANGELOG.md", "doc/sluice/LICENSE", "doc/sluice/protocol.md",
    "doc/sluice/examples/nic.conf", "doc/sluice/examples/sluiced.default", "doc/sluice/images/transfer.png",
    "share/sluice/wireshark/sluice.lua", "share/sluice/wireshark/sluice_ciphers.lua", "share/sluice/grafana/sluice.json", "share/sluice/prometheus/sluice.rules.yml",
    "include/sluice.h", "include/sluice_version.h", "pkgconfig/libsluice.pc", "pkgconfig/sluice-pacer.pc",
}


def text_of(path: str) -> str:
    with open(path, encoding="utf-8") as f:
        return f.read()


class Installed(unittest.TestCase):
    root: str
    paths: list[str]

    @classmethod
    def setUpClass(cls) -> None:
        cls.root = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.root)
        subprocess.run(["meson", "install", "-C", BUILD, "--no-rebuild", "--destdir", cls.root], check=True,
                       stdout=subprocess.DEVNULL, timeout=300)
        cls.paths = [os.path.join(folder, name) for folder, _, names in os.walk(cls.root) for name in names]

    def one(self, end: str) -> str:
        """The installed file whose path has this end."""
        found = [p for p in self.paths if p.endswith("/" + end)]
        self.assertEqual(len(found), 1, end)
        return found[0]

    def test_everything_is_there(self) -> None:
        for end in EXPECTED:
            self.one(end)

    def test_every_example_and_document(self) -> None:
        source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../..")
        for pattern, folder, few in (("config/*.conf", "examples/", 5), ("doc/*.md", "", 5), ("doc/tutorials/*.md", "tutorials/", 2)):
            files = glob.glob(os.path.join(source, pattern))
            self.assertGreater(len(files), few)
            for file in files:
                self.one(f"doc/sluice/{folder}{os.path.basename(file)}")

    def test_manual_pages_name_installed_files(self) -> None:
        pages = [p for p in self.paths if "/man/man" in p]
        self.assertEqual(len(pages), 9)
        named = 0
        for page in pages:
            text = text_of(page)
            # An installation has no paths of the source tree.
            self.assertIsNone(re.search(r"(?<![\w/])(doc|config|scripts|test)/[a-z-]+", text), page)
            for path in re.findall(r"(/[\w./-]+/share/(?:doc/)?sluice/[\w./-]*\w)", text):
                self.assertTrue(os.path.exists(self.root + path), f"{page}: {path}")
                named += 1
        self.assertGreater(named, 15)

    def test_lab_is_whole(self) -> None:
        folder = os.path.dirname(os.path.dirname(self.one("testbed/__init__.py")))
        modules = [os.path.relpath(p, folder)[:-3].replace("/", ".") for p in self.paths
                   if p.startswith(folder + "/") and p.endswith(".py")]
        self.assertGreater(len(modules), 20)
        subprocess.run([sys.executable, "-B", "-c", "import sys, importlib\nfor m in sys.argv[1:]: importlib.import_module(m)",
                        *modules], check=True, env={**os.environ, "PYTHONPATH": folder}, cwd=self.root, timeout=120)

    def test_units_start_what_is_installed(self) -> None:
        for name in ("sluiced", "sluice-exporter"):
            unit = text_of(self.one(f"system/{name}.service"))
            self.assertIsNone(re.search(r"@[A-Z]+@", unit))
            for program in re.findall(r"^Exec\w+=(\S+)", unit, re.MULTILINE):
                self.assertTrue(os.access(self.root + program, os.X_OK), program)

    def test_the_user_is_what_sysusers_reads(self) -> None:
        lines = [x for x in text_of(self.one("sysusers.d/sluice.conf")).splitlines() if not x.startswith("#")]
        self.assertEqual(lines, ['u sluice - "Sluice daemon"'])

    @unittest.skipUnless(shutil.which("systemd-analyze"), "needs systemd-analyze")
    def test_units_are_confined(self) -> None:
        """The units run as that user, and systemd rates their exposure 2.0 or less."""
        for name in ("sluiced", "sluice-exporter"):
            unit = self.one(f"system/{name}.service")
            self.assertRegex(text_of(unit), r"(?m)^User=sluice$")
            done = subprocess.run(["systemd-analyze", "security", "--offline=true", "--threshold=20", unit], check=False,
                                  capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, 0, done.stdout[-200:] + done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
