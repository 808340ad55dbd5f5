# SPDX-License-Identifier: BSD-3-Clause
"""The Python package and the examples, over live daemons. The programs in its folder use the package under test."""
