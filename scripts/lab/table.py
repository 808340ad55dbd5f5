# SPDX-License-Identifier: BSD-3-Clause
"""Tables for people, rows for machines."""
import json
import os


def rate_text(bps):
    for scale, unit in ((1e9, "Gb/s"), (1e6, "Mb/s"), (1e3, "kb/s")):
        if abs(bps) >= scale:
            return f"{bps / scale:.3g} {unit}" if bps / scale < 100 else f"{bps / scale:.0f} {unit}"
    return f"{bps:.0f} b/s"


def bytes_text(n):
    for scale, unit in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if n >= scale:
            return f"{n / scale:.3g} {unit}"
    return f"{n} B"


def print_table(header, rows, out=None):
    """The first column to the left, others with numbers to the right."""
    table = [[str(c) for c in row] for row in [header] + rows]
    widths = [max(len(row[i]) for row in table) for i in range(len(header))]
    right = [i > 0 and all(not row[i] or row[i][0] in "0123456789-<>=+" for row in table[1:])
             for i in range(len(header))]
    for n, row in enumerate(table):
        cells = [c.rjust(w) if r else c.ljust(w) for c, w, r in zip(row, widths, right)]
        print("  ".join(cells).rstrip(), file=out)
        if n == 0:
            print("  ".join("-" * w for w in widths), file=out)


class Results:
    """Rows {name, value, unit, reference, ratio, bar, holds} of one benchmark."""

    def __init__(self, name):
        self.name, self.rows = name, []

    def add(self, name, value, unit, reference=None, bar=None, at_most=False):
        """bar: what ratio (or, without a reference, value) must reach; at_most: must not exceed."""
        ratio = value / reference if reference else None
        judged = ratio if ratio is not None else value
        holds = bar is None or (judged <= bar if at_most else judged >= bar)
        self.rows.append({"name": name, "value": value, "unit": unit, "reference": reference,
                          "ratio": ratio, "bar": bar, "holds": holds})

    def holds(self):
        return all(row["holds"] for row in self.rows)

    def show(self):
        def number(x):
            return "" if x is None else f"{x:.4g}"

        print_table(["name", "value", "unit", "reference", "ratio", "bar", "holds"],
                    [[r["name"], number(r["value"]), r["unit"], number(r["reference"]),
                      number(r["ratio"]), number(r["bar"]),
                      "" if r["bar"] is None else "yes" if r["holds"] else "NO"] for r in self.rows])

    def write(self, folder):
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, f"{self.name}.json")
        with open(path, "w", encoding="utf-8") as f:
            json.dump(self.rows, f, indent=1)
            f.write("\n")
        return path
