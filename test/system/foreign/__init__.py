# SPDX-License-Identifier: BSD-3-Clause
"""The daemon and a host in Python (test/interop/endpoint.py), which was written from doc/protocol.md alone."""
