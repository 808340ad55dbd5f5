# SPDX-License-Identifier: BSD-3-Clause
"""The benchmarks and the demo: what they run, how windows are compared, and what is drawn of them."""
