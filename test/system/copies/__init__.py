# SPDX-License-Identifier: BSD-3-Clause
"""`sluice cp` between two daemons, with a remote shell that runs the far end here (rsh.py)."""
