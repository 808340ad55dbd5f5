#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs `sluice sync` between two daemons: what it makes of drawn trees, beside rsync; basis files, deletion, attacks.

The caller starts the daemons. Environment and output: as those of files_test.py. SLUICE_SYNC_ROUNDS: how many trees
are drawn.
"""
import os
import sys

sys.dont_write_bytecode = True

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
from system.files_cases import main  # noqa: E402
from system.syncs import attacks, beside, contents, kept, listed  # noqa: E402,F401 (each registers its cases)

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
