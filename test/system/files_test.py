#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""sluice between two running daemons: contents, errors, attacks, figures.

The daemons are started by others. Environment: SLUICE_BUILD (build folder), SLUICE_SOCK_A and
SLUICE_SOCK_B (their sockets), SLUICE_ADDR_B (address of B). Arguments choose cases by words in
their names. Prints TAP, then "N passed, N failed"; exit status 1 if any failed.
"""
import os
import sys

sys.dont_write_bytecode = True

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from system import files_attacks, files_contents, files_errors, files_figures  # noqa: E402,F401 (each registers its cases)
from system.files_cases import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
