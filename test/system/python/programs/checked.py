# SPDX-License-Identifier: BSD-3-Clause
"""What the programs of this folder share."""
import os
from collections.abc import Callable

import sluice


def raises(kind: type[sluice.SluiceError], number: int, call: Callable[[], object]) -> sluice.SluiceError:
    """The call must fail with just this class and errno, and name a cure."""
    try:
        found = call()
    except sluice.SluiceError as problem:
        assert type(problem) is kind, f"{type(problem).__name__} ({problem}) instead of {kind.__name__}"
        assert problem.errno == number, f"{kind.__name__} has errno {os.strerror(problem.errno or 0)}"
        assert len(str(problem)) > 10, f"{kind.__name__} says only \"{problem}\""
        return problem
    raise AssertionError(f"{kind.__name__} was due; the call returned {found!r}")


def memory_peak() -> int:
    """The most bytes of ordinary memory that the process has had since reset_peak(), and its hugepages of now."""
    with open("/proc/self/status", encoding="ascii") as f:
        found = {key: int(text.split()[0]) for key, _, text in (line.partition(":") for line in f)
                 if key in ("VmHWM", "HugetlbPages")}
    return (found["VmHWM"] + found["HugetlbPages"]) * 1024


def reset_peak() -> None:
    with open("/proc/self/clear_refs", "w", encoding="ascii") as f:
        f.write("5")
