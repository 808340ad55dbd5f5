# SPDX-License-Identifier: BSD-3-Clause
"""Makes a wheel of a copy of the sources, and imports the package from it."""
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile

import sluice

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")
NEEDS = ("pip", "setuptools", "wheel")
MODULES = {"__init__.py", "_handle.py", "_header.py", "_header.pyi", "aio.py", "aio_files.py", "errors.py", "files.py", "session.py",
           "py.typed"}


class Wheel(unittest.TestCase):
    def test_version(self) -> None:
        """The package has the version of the project, and so has the library that was built with it."""
        versions = []
        for path in ("meson.build", "lib/python/pyproject.toml"):
            with open(os.path.join(ROOT, path), encoding="utf-8") as f:
                found = re.search(r"^\s*version *[:=] *['\"]([\d.]+)", f.read(), re.MULTILINE)
            assert found is not None, path
            versions.append(found.group(1))
        self.assertEqual(versions[0], versions[1])
        self.assertEqual(sluice.__version__, versions[0])

    def test_wheel(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            tree = os.path.join(folder, "lib")
            shutil.copytree(os.path.join(ROOT, "lib", "python"), os.path.join(tree, "python"))
            os.mkdir(os.path.join(tree, "client"))
            shutil.copy(os.path.join(ROOT, "lib", "client", "sluice.h"), os.path.join(tree, "client"))
            done = subprocess.run([sys.executable, "-m", "pip", "wheel", "--no-index", "--no-deps", "--no-build-isolation",
                                   "--wheel-dir", folder, os.path.join(tree, "python")], capture_output=True, text=True,
                                  check=False)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            wheel = [name for name in os.listdir(folder) if name.endswith(".whl")]
            self.assertEqual(len(wheel), 1)
            self.assertRegex(wheel[0], r"^sluice-[\d.]+-py3-none-any\.whl$")
            with zipfile.ZipFile(os.path.join(folder, wheel[0])) as z:
                inside = {os.path.basename(n) for n in z.namelist() if n.startswith("sluice/")}
                z.extractall(os.path.join(folder, "installed"))
            self.assertEqual(inside, MODULES)
            subprocess.run([sys.executable, "-B", "-c", "import sluice, sluice.aio; assert 'installed' in sluice.__file__"],
                           env={**os.environ, "PYTHONPATH": os.path.join(folder, "installed")}, check=True)


if __name__ == "__main__":
    lack = [name for name in NEEDS if importlib.util.find_spec(name) is None]
    if lack:
        print(f"Python has no {' and no '.join(lack)}: run scripts/setup")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
