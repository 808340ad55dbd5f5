# SPDX-License-Identifier: BSD-3-Clause
"""The benchmarks and the demo: their processes, the judging of their windows, and their pictures."""
