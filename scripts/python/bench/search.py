# SPDX-License-Identifier: BSD-3-Clause
"""The throughput of a device by RFC 9971 (MLRsearch), in one search for several goals (doc/linerate.md).

The Controller of the RFC (section 4.9.2) is the library MLRsearch, which follows draft 05. It classifies loads
and computes conditional throughputs as appendices A and B of the RFC say; test/bench/search_test.py compares
that. Nothing else imports the library. `scripts/setup --lab` installs it into the folder .venv.

A Device is the RFC's Measurer (4.9.1): it performs trials, and knows nothing of searches. A load is frames a
second, in one direction.
"""
import importlib
import importlib.metadata
import os
import random
import sys
import threading
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from testbed.process import TestbedError

Key = TypeVar("Key", bound=Hashable)

VERSION = "1.2.1"
ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
VENV = os.path.join(ROOT, ".venv")
CURE = "scripts/setup --lab installs it from PyPI into .venv"
SHARES = (0.1, 0.5, 0.9)  # of the NDR, at which latency is measured
SOAK_STEP_S = 10.0


class LibraryMissing(TestbedError):
    """The library of the search is not installed."""


# ---- trials ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Trial:
    """The result of one trial (4.5.10). expected: frames that had to come back, which leaves out those that the
    device was told to lose. unsent: frames that the generator owed and did not send; they count as lost, because
    the load was not offered. latency_s: {quantile or mean: seconds}, as far as the device's generator knows."""
    duration_s: float
    load_fps: float
    expected: int
    received: int
    unsent: int = 0
    latency_s: Mapping[str, float] = field(default_factory=dict)

    @property
    def loss_ratio(self) -> float:
        owed = self.expected + self.unsent
        return 1 - min(self.received, self.expected) / owed if owed > 0 else 0.0


class Device(Protocol):
    """What performs trials."""

    def measure(self, duration_s: float, load_fps: float) -> Trial: ...


@dataclass(frozen=True)
class Goal:
    """A search goal (4.6.7). duration_s: of its full-length trials; duration_sum_s: so many seconds of them decide
    about a load; exceed_ratio: this part of them may lose more than loss_ratio; width: how far the bounds may be
    apart, in parts of the upper one."""
    name: str
    loss_ratio: float
    exceed_ratio: float
    width: float
    duration_s: float
    duration_sum_s: float


@dataclass(frozen=True)
class Limits:
    """No trial has a load outside of these. A search that takes longer than wall_s fails."""
    min_fps: float
    max_fps: float
    wall_s: float = 3600.0


# ---- results --------------------------------------------------------------------------------


@dataclass(frozen=True)
class GoalResult:
    """The relevant bounds (4.8.1, 4.8.2) and the conditional throughput (4.8.3). The result is irregular (4.8.4.2)
    where a bound is missing: lower_fps if even the smallest load fails the goal; upper_fps if even the largest
    reaches it."""
    goal: Goal
    lower_fps: float | None
    upper_fps: float | None
    conditional_fps: float | None

    @property
    def regular(self) -> bool:
        return self.lower_fps is not None and self.upper_fps is not None


@dataclass(frozen=True)
class Found:
    """results: by the goals' names. trials: all of them, in order. wall_s: what the search took, with waiting."""
    results: Mapping[str, GoalResult]
    trials: Sequence[Trial]
    wall_s: float

    def lower(self, name: str) -> float:
        """The relevant lower bound of a goal; 0 where there is none."""
        return self.results[name].lower_fps or 0.0

    def starved(self, name: str) -> bool:
        """Whether the generator, and not the device, limits this goal: of the trials at the upper bound, more than
        half lost less than the goal allows if what the generator did not send is left out."""
        result = self.results[name]
        if result.upper_fps is None:
            return True  # the device passed all that could be offered
        at = [t for t in self.trials if t.load_fps == result.upper_fps and t.loss_ratio > result.goal.loss_ratio]
        own = sum(t.received >= t.expected * (1 - result.goal.loss_ratio) for t in at)
        return 2 * own > len(at)


# ---- the search -----------------------------------------------------------------------------


def library() -> Any:
    """The module MLRsearch, from where Python finds it, or from .venv."""
    folder = os.path.join(VENV, "lib", f"python{sys.version_info[0]}.{sys.version_info[1]}", "site-packages")
    if os.path.isdir(folder) and folder not in sys.path:
        sys.path.append(folder)
        importlib.invalidate_caches()
    try:
        version = importlib.metadata.version("MLRsearch")
        found = importlib.import_module("MLRsearch")
    except ImportError:
        raise LibraryMissing(f"the library MLRsearch {VERSION} is not installed; {CURE}") from None
    if version != VERSION:
        raise LibraryMissing(f"the library MLRsearch is {version}, and the search is written for {VERSION}; {CURE}")
    return found


class _Measurer:
    """The library's view of a device."""

    def __init__(self, device: Device, make_result: Callable[..., Any]) -> None:
        self.device, self.make_result = device, make_result
        self.trials: list[Trial] = []

    def measure(self, intended_duration: float, intended_load: float) -> Any:
        t = self.device.measure(intended_duration, intended_load)
        self.trials.append(t)
        return self.make_result(intended_duration=intended_duration, intended_load=intended_load,
                                offered_count=t.expected, forwarding_count=min(t.received, t.expected),
                                intended_count=t.expected + t.unsent)


def _load(bound: Any) -> float | None:
    return None if bound is None else float(bound)


def find(device: Device, limits: Limits, goals: Sequence[Goal]) -> Found:
    """Searches for all goals at once."""
    mlr, began = library(), time.monotonic()
    sought = {g.name: mlr.SearchGoal(
        loss_ratio=g.loss_ratio, exceed_ratio=g.exceed_ratio, relative_width=g.width,
        initial_trial_duration=g.duration_s, final_trial_duration=g.duration_s, duration_sum=g.duration_sum_s,
        # All trials have one duration, which makes the result easier to explain (RFC 9971, 5.5). Where a load needs
        # several, a coarser search with single ones precedes; the library asks for that.
        preceding_targets=int(g.duration_sum_s > g.duration_s), expansion_coefficient=2, fail_fast=False)
        for g in goals}
    measurer = _Measurer(device, mlr.MeasurementResult)
    config = mlr.Config(goals=list(sought.values()), min_load=limits.min_fps, max_load=limits.max_fps,
                        search_duration_max=limits.wall_s, warmup_duration=None)
    try:
        answer = mlr.MultipleLossRatioSearch(config=config).search(measurer=measurer, debug=lambda _: None)
    except RuntimeError as e:
        raise TestbedError(f"the search ended without a result after {len(measurer.trials)} trials: {e}") from e
    results = {g.name: GoalResult(g, _load(answer[sought[g.name]].relevant_lower_bound),
                                  _load(answer[sought[g.name]].relevant_upper_bound),
                                  _load(answer[sought[g.name]].conditional_throughput)) for g in goals}
    return Found(results, measurer.trials, time.monotonic() - began)


# ---- several searches, by turns ------------------------------------------------------------


class _Turns:
    """Lets one of several threads run at a time. In each round, each has one turn, in an order drawn from the seed."""

    def __init__(self, names: Sequence[Hashable], seed: int) -> None:
        self.active, self.dice = list(names), random.Random(seed)
        self.order: list[Hashable] = []
        self.failed = False
        self.changed = threading.Condition()
        self._next()

    def _next(self) -> None:
        if not self.order:
            self.order = list(self.active)
            self.dice.shuffle(self.order)

    def begin(self, name: Hashable) -> None:
        with self.changed:
            self.changed.wait_for(lambda: self.failed or self.order[0] == name)
            if self.failed:
                raise TestbedError("another search failed")

    def end(self) -> None:
        with self.changed:
            self.order.pop(0)
            self._next()
            self.changed.notify_all()

    def leave(self, name: Hashable, failed: bool) -> None:
        with self.changed:
            self.failed = self.failed or failed
            self.active.remove(name)
            if name in self.order:
                self.order.remove(name)
            self._next()
            self.changed.notify_all()


class _TakesTurns:
    """A device whose trials wait for their turn."""

    def __init__(self, device: Device, turns: _Turns, name: Hashable) -> None:
        self.device, self.turns, self.name = device, turns, name

    def measure(self, duration_s: float, load_fps: float) -> Trial:
        self.turns.begin(self.name)
        trial = self.device.measure(duration_s, load_fps)
        self.turns.end()
        return trial


def together(devices: Mapping[Key, Device], limits: Mapping[Key, Limits], goals: Mapping[Key, Sequence[Goal]],
             seed: int) -> dict[Key, Found]:
    """{name: what find() finds}, trial by trial in turns: neighbouring trials of two devices see the same state of the
    machine. The first error ends all searches."""
    library()  # in this thread, so that a missing library is one error
    turns = _Turns(list(devices), seed)
    found: dict[Key, Found] = {}
    errors: list[BaseException] = []

    def work(name: Key) -> None:
        try:
            found[name] = find(_TakesTurns(devices[name], turns, name), limits[name], goals[name])
        except BaseException as e:  # it is raised again below
            if not turns.failed:
                errors.append(e)
            turns.leave(name, True)
        else:
            turns.leave(name, False)

    threads = [threading.Thread(target=work, args=(name,), daemon=True) for name in devices]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return found


# ---- at a load that was found --------------------------------------------------------------


def latencies(device: Device, ndr_fps: float, duration_s: float) -> dict[float, Trial]:
    """{share of the NDR: a trial at it}"""
    return {share: device.measure(duration_s, share * ndr_fps) for share in SHARES}


def soak(device: Device, load_fps: float, seconds: float) -> list[Trial]:
    """Trials at one load, one after the other, for so many seconds in all."""
    trials = []
    while seconds > 0:
        trials.append(device.measure(min(seconds, SOAK_STEP_S), load_fps))
        seconds -= SOAK_STEP_S
    return trials
