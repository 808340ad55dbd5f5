# SPDX-License-Identifier: BSD-3-Clause
"""sluice-lab: experiments that are small text files, run, judged and drawn."""


class LabError(Exception):
    """One line for the user: cause and cure."""


class NoRuns(LabError):
    """No run fits some filters, as where --set has taken the place of a sweep."""
