# SPDX-License-Identifier: BSD-3-Clause
"""Functions that the cases of syncs_test.py share."""
import json
import os
from collections.abc import Sequence

from ..copies.cases import environment, home, operands
from ..files_cases import OK, SOCK_A, Run, parts


def sync(folder: str, *args: object, fault: str = "", prefix: Sequence[str] = ()) -> Run:
    """Starts `sluice sync` from A, with B as the other host. prefix: words in front of both its ends."""
    return Run("sync", *operands(args), sock=SOCK_A, prefix=[*prefix, *environment(folder, fault)])


def synced(folder: str, *args: object) -> list[str]:
    """A sync that must work, and leave nothing; returns the lines of --itemize."""
    run = sync(folder, *args)
    run.expect(OK)
    assert not parts(folder), parts(folder)
    return run.out.splitlines()


def counted(folder: str, *args: object) -> dict[str, int]:
    """The same; returns what --json says."""
    run = sync(folder, "--json", *args)
    run.expect(OK)
    assert not parts(folder), parts(folder)
    said: dict[str, int] = json.loads(run.out)
    return said


def there(folder: str) -> str:
    """The folder "in" at the far end."""
    return os.path.join(home(folder), "in")
