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


def resident_peak() -> int:
    """The most bytes of memory that the process has had since reset_peak()."""
    with open("/proc/self/status", encoding="ascii") as f:
        for line in f:
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    raise AssertionError("/proc/self/status has no VmHWM")


def reset_peak() -> None:
    with open("/proc/self/clear_refs", "w", encoding="ascii") as f:
        f.write("5")
