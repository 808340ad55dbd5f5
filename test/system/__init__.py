# SPDX-License-Identifier: BSD-3-Clause
"""The system tests run real daemons and clients. run.py starts them."""
import os
import sys

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
sys.path.insert(0, os.path.join(ROOT, "scripts/python"))  # for testbed
sys.path.insert(0, os.path.join(ROOT, "test/house"))  # for tap
sys.path.insert(0, os.path.join(ROOT, "test/interop"))  # for the host in Python
