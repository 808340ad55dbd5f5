# SPDX-License-Identifier: BSD-3-Clause
"""`sluice sync` between two daemons, with a remote shell that runs the far end here (../copies/rsh.py)."""
