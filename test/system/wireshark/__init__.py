# SPDX-License-Identifier: BSD-3-Clause
"""The Wireshark dissector, config/wireshark: with tshark, on packets made here and on those of real daemons."""
