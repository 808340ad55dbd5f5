# SPDX-License-Identifier: BSD-3-Clause
"""Tables and numbers as text."""
from collections.abc import Sequence
from typing import TextIO


def rate_text(bps: float) -> str:
    for scale, unit in ((1e9, "Gb/s"), (1e6, "Mb/s"), (1e3, "kb/s")):
        if abs(bps) >= scale:
            return f"{bps / scale:.3g} {unit}" if bps / scale < 100 else f"{bps / scale:.0f} {unit}"
    return f"{bps:.0f} b/s"


def bytes_text(n: int) -> str:
    for scale, unit in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if n >= scale:
            return f"{n / scale:.3g} {unit}"
    return f"{n} B"


def print_table(header: Sequence[object], rows: Sequence[Sequence[object]], out: TextIO | None = None) -> None:
    """The first column is aligned to the left; a column of numbers to the right."""
    table = [[str(c) for c in row] for row in [header, *rows]]
    widths = [max(len(row[i]) for row in table) for i in range(len(header))]
    right = [i > 0 and all(not row[i] or row[i][0] in "0123456789-<>=+" for row in table[1:])
             for i in range(len(header))]
    for n, row in enumerate(table):
        cells = [c.rjust(w) if r else c.ljust(w) for c, w, r in zip(row, widths, right)]
        print("  ".join(cells).rstrip(), file=out)
        if n == 0:
            print("  ".join("-" * w for w in widths), file=out)
