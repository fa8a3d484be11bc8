"""The planned runs: every experiment of the paper, and some of them again with one assumption varied."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from dumbbell import Scenario, sensitivity
from dumbbell.papers import PlannedRun, Settings
from dumbbell.papers.real_time import simulated

from . import linux
from .assumptions import ANALYSIS, CONNECTIONS, TRAFFIC, VARIATIONS, Assumptions
from .evidence import PAPER
from .linux import VARIANTS
from .scenarios import (
    ASYMMETRIES,
    BAND_PANELS,
    OTHER_ASYMMETRIES,
    SYMMETRIES,
    alone,
    backward_load,
    head_to_head,
    keep_up,
    parking_lot,
    rerouted,
    slow_start,
    staggered,
    unequal_delays,
    window_rule,
)

Made = tuple[str, Scenario, bool]

LOADS = tuple(round(0.1 * step, 1) for step in range(11))
FEW_LOADS = (0.0, 0.2, 0.5, 0.8, 1.0)

RULES = ("ext", "unit-rule", "unit-keepup", "unit-ss")

STAGES = (
    dict.fromkeys(ANALYSIS, "asymmetric links")
    | dict.fromkeys(TRAFFIC, "traffic against the acknowledgements")
    | dict.fromkeys((*CONNECTIONS, "ctx"), "several connections")
    | dict.fromkeys(RULES, "rerouting and rules")
)
"""What progress and run times call the groups of runs, by experiment."""


@dataclass(frozen=True, kw_only=True)
class Replications:
    """Runs of each configuration that draws random numbers.

    Parameters
    ----------
    paper
        Of the paper's experiments.
    moved
        Of those with a varied assumption; 0 for none.
    loads
        The loads of Figs. 10 and 13.
    """

    paper: int
    moved: int
    loads: Sequence[float]


UNUSED_SEED = 1
"""Seed of runs that draw no random numbers."""


def replications(settings: Settings) -> Replications:
    """Return the number of runs; the paper shows one of each."""
    if settings.quick:
        return Replications(paper=settings.runs or 6, moved=0, loads=FEW_LOADS)
    moved = sensitivity.REPLICATIONS if settings.sensitivity else 0
    return Replications(paper=settings.runs or 40, moved=moved, loads=LOADS)


def experiments(
    place: Assumptions, loads: Sequence[float], only: Collection[str] | None = None
) -> Iterator[Made]:
    """Yield configurations of the paper: the key without the group, the scenario, and whether it draws random numbers.

    Parameters
    ----------
    place
        What the paper leaves open.
    loads
        The loads of Figs. 10 and 13.
    only
        Names of experiments; all when not given.
    """
    wanted = set(STAGES) if only is None else set(only)
    parts: Sequence[tuple[Sequence[str], Callable[[], Iterator[Made]]]] = (
        (ANALYSIS, lambda: _analysis(place)),
        (TRAFFIC, lambda: _traffic(place, loads)),
        ((*CONNECTIONS, "ctx"), lambda: _several(place)),
        (RULES, lambda: _rules(place)),
    )
    for names, build in parts:
        if wanted & set(names):
            yield from (made for made in build() if made[0].split("|")[0] in wanted)


def _analysis(place: Assumptions) -> Iterator[Made]:
    for figure, variant, k in (("fig-3", "vegas", 0.5), ("fig-4", "vegas", 2), ("fig-5", "rovegas", 2)):
        yield f"{figure}|{variant}", alone(figure, variant, k, place, duration_s=20), False
    for variant in VARIANTS:
        for k in sorted((*SYMMETRIES, *OTHER_ASYMMETRIES, *ASYMMETRIES)):
            yield f"ana|{variant}|{k:g}", alone("ana", variant, k, place), False


def _traffic(place: Assumptions, loads: Sequence[float]) -> Iterator[Made]:
    for variant in (*VARIANTS, "reno"):
        yield f"fig-9|{variant}", backward_load("fig-9", variant, 0.9, place, enters_s=50), True
    for variant in VARIANTS:
        for load in loads:
            yield f"fig-10|{variant}|{load:g}", backward_load("fig-10", variant, load, place), load > 0
            yield f"fig-13|{variant}|{load:g}", parking_lot("fig-13", variant, load, place), load > 0
        entering = parking_lot("fig-12", variant, 0.8, place, enters_s=(100, 200, 300), duration_s=400)
        yield f"fig-12|{variant}", entering, True
    yield "fig-10|reno|0", backward_load("fig-10", "reno", 0.0, place), False
    for variant, routers in (
        ("vegas", ()),
        ("rovegas|none", ()),
        ("rovegas|r2", ("r2",)),
        ("rovegas|all", ("r1", "r2", "r3", "r4")),
    ):
        name = variant.split("|")[0]
        yield f"fig-19|{variant}", parking_lot("fig-19", name, 0.8, place, routers=routers), True


def _several(place: Assumptions) -> Iterator[Made]:
    random = place.jitter_s > 0
    for variant in VARIANTS:
        eight = staggered("fig-15", variant, place, connections=8, apart_s=20, duration_s=180)
        yield f"fig-15|{variant}", eight, random
    for panel, (variant, equal) in BAND_PANELS.items():
        five = staggered("fig-17", variant, place, connections=5, apart_s=30, duration_s=200, equal=equal)
        yield f"fig-17|{panel}", five, random
        yield f"fig-18|{panel}", unequal_delays("fig-18", variant, place, equal=equal), random
    yield "fig-18|reno", unequal_delays("fig-18", "reno", place), random
    yield "ctx|head-to-head", head_to_head("ctx", place), random


def _rules(place: Assumptions) -> Iterator[Made]:
    for by in ("delay", "path"):
        for label, base_rtt in (("vegas", "replace"), ("rovegas", "replace"), ("rovegas-minimum", "minimum")):
            variant = label.split("-")[0]
            yield f"ext|{label}|{by}", rerouted("ext", variant, place, base_rtt=base_rtt, by=by), False
        yield (
            f"ext|vegas|shorter-{by}",
            rerouted("ext", "vegas", place, base_rtt="replace", by=by, shortens=True),
            False,
        )
    for variant in VARIANTS:
        for label, rounded in (("exact", False), ("rounded", True)):
            ruled = window_rule("unit-rule", variant, replace(place, round_diff=rounded))
            yield f"unit-rule|{variant}|{label}", ruled, False
    for k in (8, 16, 32):
        yield f"unit-keepup|rovegas|{k}", keep_up("unit-keepup", "rovegas", k, place), False
    for variant in VARIANTS:
        yield f"unit-ss|{variant}", slow_start("unit-ss", variant, place), False


def plan(settings: Settings) -> list[PlannedRun]:
    """Return every run of the reproduction."""
    counts = replications(settings)
    base = Assumptions()
    runs: list[PlannedRun] = []

    def add(group: str, key: str, scenario: Scenario, count: int) -> None:
        stage = STAGES[key.split("|")[0]] if group == PAPER else "sensitivity"
        # One seed for all: a run of a number meets the same variable-rate traffic in every configuration. A run without
        # random numbers is the same with every seed, and is made once.
        seed = settings.seed if count > 1 else UNUSED_SEED
        runs.extend(
            PlannedRun(key=f"{group}|{key}", scenario=scenario, seed=seed, run=run, stage=stage)
            for run in range(count)
        )

    for key, scenario, random in experiments(base, counts.loads):
        add(PAPER, key, scenario, counts.paper if random else 1)
    if counts.moved:
        for variation in VARIATIONS:
            moved = experiments(variation.place(base), FEW_LOADS, variation.touches)
            for key, scenario, random in moved:
                add(variation.name, key, scenario, counts.moved if random else 1)
    # The plan for the kernel has few points in quick mode; its record has all. Nothing in it is random in the simulator.
    return runs + simulated(linux.plan(replace(settings, quick=False, runs=1, seed=UNUSED_SEED)))
