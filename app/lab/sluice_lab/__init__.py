# SPDX-License-Identifier: BSD-3-Clause
"""sluice-lab: runs experiments that are small text files, judges their results and draws them."""
from typing import Protocol


class LabError(Exception):
    """Its text is one line for the user: the cause and the cure."""


class NoRuns(LabError):
    """No run fits some filters, for example because --set replaced a sweep."""


class Places(Protocol):
    """Where the parts of Sluice are. The program sluice-lab knows it (app/lab/sluice-lab.in)."""
    engine: str
    build: str  # "": Sluice is installed
    programs: str
    experiments: list[str]
    version: str
