#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs `sluice cp` between two daemons, with rsh.py as the remote shell: contents, names, errors, faults, limits.

The caller starts the daemons. Environment and output: as those of files_test.py.
"""
import os
import sys

sys.dont_write_bytecode = True

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
from system.copies import between, contents, errors, faults, limits, resume  # noqa: E402,F401 (each registers its cases)
from system.files_cases import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
