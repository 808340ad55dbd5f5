# SPDX-License-Identifier: BSD-3-Clause
"""The tutorials of doc/tutorials, run as their text has them."""
