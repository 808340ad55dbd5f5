#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs `sluice` between two daemons: contents, errors, attacks, figures.

The caller starts the daemons. Environment: SLUICE_BUILD (build folder), SLUICE_SOCK_A and SLUICE_SOCK_B
(their sockets), SLUICE_ADDR_B (address of B). Arguments choose cases by words in their names. Prints
TAP, then "N passed, N failed"; the exit status is 1 if a case failed.
"""
import os
import sys

sys.dont_write_bytecode = True

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from system import (  # noqa: E402,F401 (each registers its cases)
    files_attacks, files_contents, files_errors, files_figures, files_streams)
from system.files_cases import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
