# SPDX-License-Identifier: BSD-3-Clause
"""version_test.py SLUICE VERSION: `sluice --version` says the version of the project."""
import subprocess
import sys

program, version = sys.argv[1:]
said = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
if said != f"sluice {version}\n":
    sys.exit(f"{program} says {said!r}, not {version}")
