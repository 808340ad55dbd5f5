# SPDX-License-Identifier: BSD-3-Clause
"""The libraries as they are installed: programs compile, link and run with what pkg-config says, in a folder that has no
other file of Sluice.

Usage: pkg_config_test.py BUILD COMPILER...
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

UNIT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
TIMEOUT_S = 60
WARNINGS = ("-Wall", "-Wextra", "-Werror")  # our headers have none
build, *compiler = sys.argv[1:]


def run(*command: str, status: int = 0, env: dict[str, str] | None = None) -> str:
    """What a command says, which must end with this status."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, timeout=TIMEOUT_S,
                          env={**os.environ, **(env or {})})
    if done.returncode != status:
        raise AssertionError(f"{' '.join(command)}\nended with {done.returncode}\n{done.stdout}")
    return done.stdout


class Installed(unittest.TestCase):
    root: str
    folder: str  # of libraries

    @classmethod
    def setUpClass(cls) -> None:
        cls.root = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.root)
        run("meson", "install", "-C", build, "--no-rebuild", "--tags", "devel,runtime", "--destdir", cls.root)
        (cls.folder,) = [folder for folder, _, names in os.walk(cls.root) if "libsluice.so" in names]

    def flags(self, package: str, *options: str) -> list[str]:
        """What pkg-config says, with the paths below root."""
        env = {"PKG_CONFIG_PATH": os.path.join(self.folder, "pkgconfig")}
        prefix = run("pkg-config", "--variable=prefix", package, env=env).strip()
        return run("pkg-config", f"--define-variable=prefix={self.root}{prefix}", "--cflags", "--libs", *options, package,
                   env=env).split()

    def program(self, source: str, *flags: str) -> str:
        name = os.path.splitext(source)[0]
        copy = shutil.copy(os.path.join(UNIT, source), self.root)
        path = os.path.join(self.root, os.path.basename(name))
        run(*compiler, "-o", path, copy, *flags)
        return path

    def test_libsluice(self) -> None:
        """The program of libsluice(3), as far as it comes without a daemon."""
        env = {"LD_LIBRARY_PATH": self.folder, "SLUICE_SOCKET": os.path.join(self.root, "no-socket")}
        program = self.program("client/example.c", *WARNINGS, *self.flags("libsluice"))
        self.assertIn("start sluiced", run(program, status=1, env=env))
        needed = run("readelf", "--dynamic", program)
        self.assertIn("[libsluice.so.0]", needed)
        static = self.program("client/example.c", *self.flags("libsluice", "--static"), "-static")
        self.assertIn("start sluiced", run(static, status=1, env=env))

    def test_pacer(self) -> None:
        """Without DPDK."""
        said = run(self.program("pace/virtual.c", *WARNINGS, *self.flags("sluice-pacer")))
        found = re.fullmatch(r"100 packets in (\d+) ms\n", said)
        assert found is not None, said
        self.assertAlmostEqual(int(found[1]), 990, delta=15)  # 10 ms each, and a burst less

    def test_pacer_with_dpdk(self) -> None:
        """The program of doc/pacing.md; pace/example_test.py runs it."""
        self.program("pace/example.c", "-D_GNU_SOURCE", *self.flags("sluice-pacer"),
                     *run("pkg-config", "--cflags", "--libs", "libdpdk").split())

    def test_version(self) -> None:
        for package in ("libsluice", "sluice-pacer"):
            env = {"PKG_CONFIG_PATH": os.path.join(self.folder, "pkgconfig")}
            self.assertIn(f"libsluice.so.{run('pkg-config', '--modversion', package, env=env).strip()}", os.listdir(self.folder))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
