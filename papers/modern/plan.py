"""The planned runs: every scenario that the engine has the means for, and some again with an assumption varied."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dumbbell import Scenario
from dumbbell.papers import PlannedRun, Settings

from . import means
from .assumptions import VARIATIONS, Assumptions
from .network import Case
from .scenarios import cases

BASE = "base"
"""Group of the runs with the assumptions as chosen."""

UNUSED_SEED = 1
"""Seed of runs that draw no random numbers."""

QUICK_RUNS = 3


def replications(settings: Settings) -> int:
    """Return the number of runs of a scenario with random numbers, for each seed."""
    return settings.runs or (QUICK_RUNS if settings.quick else 1)


def _runs(group: str, chosen: Sequence[Case], settings: Settings, stage: str = "") -> Iterator[PlannedRun]:
    for case in chosen:
        if means.missing(case.data):
            continue
        scenario = Scenario.from_dict(case.data)
        for run in range(replications(settings) if case.is_random else 1):
            yield PlannedRun(
                key=f"{group}|{case.key}",
                scenario=scenario,
                seed=settings.seed if case.is_random else UNUSED_SEED,
                run=run,
                stage=stage or case.stage,
            )


def plan(settings: Settings) -> list[PlannedRun]:
    """Return the planned runs."""
    made = list(_runs(BASE, cases(Assumptions(), quick=settings.quick), settings))
    if settings.quick or not settings.sensitivity:
        return made
    for variation in VARIATIONS:
        moved = [
            case for case in cases(variation.moved, quick=settings.quick) if case.stage in variation.stages
        ]
        made += _runs(variation.name, moved, settings, "sensitivity")
    return made
