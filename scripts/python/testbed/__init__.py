# SPDX-License-Identifier: BSD-3-Clause
"""The demo, the benchmarks, the system tests and the live experiments share this: processes, namespaces, daemons."""
