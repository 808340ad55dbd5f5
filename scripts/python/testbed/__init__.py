# SPDX-License-Identifier: BSD-3-Clause
"""What the demo, the benchmarks and the system tests share: processes, namespaces, daemons."""
