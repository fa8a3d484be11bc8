"""The planned runs: scenarios, replications, and assumptions varied one at a time."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from dumbbell import Scenario
from dumbbell.papers import PlannedRun, Settings
from dumbbell.sensitivity import REPLICATIONS

from . import scenarios
from .assumptions import VARIATIONS, Assumptions, Mover
from .film import MEAN_RATE, film
from .grid import CONNECTIONS, GRID, Connections, Setting, by_id, of_load, with_threshold_sweep
from .scenarios import of_phase

BASE = "base"
"""Group of the runs with the assumptions as chosen."""

SLOTS = tuple(by_id(name) for name in ("A08", "A14", "A20"))
"""Rows whose mini-slots are looked at: loads of 0.2, 0.5 and 0.8."""

EVOLUTION = by_id("A14")
"""The row of Fig. 1."""

VIDEO_RATES = (150.0, 300.0, 600.0)
VIDEO_BUFFERS = (5, 10, 20, 40, 80, 160)

LAW_PROBABILITIES = (0.0005, 0.001, 0.003, 0.01, 0.02, 0.05)
"""Loss probabilities at which the laws of throughput are compared with the engine."""


IDENTITY = (
    of_load("I00", 0.0, 10.0),
    of_load("I20", 0.2, 8.0),
    of_load("I50", 0.5, 6.0),
    of_load("I80", 0.8, 5.0),
)
"""Rows whose critical buffer is large enough to compare trajectories below it."""


def identity_buffers(setting: Setting) -> tuple[int, ...]:
    """Return buffers of 0.4, 0.6 and 0.8 times the critical one."""
    return tuple(math.floor(share * setting.critical_buffer) for share in (0.4, 0.6, 0.8))


def ample_buffer(setting: Setting) -> int:
    """Return a buffer well above the critical one: 1.5 B* + 5."""
    return math.ceil(1.5 * setting.critical_buffer + 5.0)


def standing_windows(setting: Setting) -> tuple[int, ...]:
    """Return the fixed window sizes: from half to three times the bandwidth-delay product."""
    return tuple(round(share * setting.link.bdp) for share in (0.5, 0.8, 1.2, 1.5, 2.0, 3.0))


def buffers(critical: float) -> range:
    """Return the buffers of a sweep around a critical one, packets."""
    return range(max(1, math.floor(critical) - 4), math.floor(2.0 * critical) + 9)


def video_setting(service_rate: float, buffer: int) -> Setting:
    """Return rates, delay, buffer and thresholds of the runs with video."""
    return Setting(
        id=f"V{service_rate:.0f}",
        service_rate=service_rate,
        exogenous_rate=MEAN_RATE,
        fixed_delay=0.2,
        buffer=buffer,
        alpha=2.0,
        beta=4.0,
        gamma=1.0,
    )


@dataclass(frozen=True, kw_only=True)
class Replications:
    """Runs per configuration, an even number so that none has the fixed delay of the grid.

    Parameters
    ----------
    grid
        Rows of the tables, and mini-slots.
    cycles
        Whole cycles of Reno measured in each run.
    threshold
        Buffers of the sweeps.
    video
        Runs with video, each with a separate film.
    law
        Loss probabilities.
    moved
        All of these with a varied assumption.
    """

    grid: int
    cycles: int
    threshold: int
    video: int
    law: int
    moved: int


def replications(settings: Settings) -> Replications:
    """Return the number of runs of each group."""
    if settings.quick:
        grid = settings.runs or 4
        return Replications(grid=grid, cycles=4, threshold=4, video=4, law=2, moved=0)
    # With fewer phases, single rows decide on which side of its limit an error is.
    grid = settings.runs or 24
    moved = REPLICATIONS if settings.sensitivity else 0
    return Replications(grid=grid, cycles=8, threshold=8, video=24, law=6, moved=moved)


def _seed(settings: Settings, name: str) -> int:
    return int.from_bytes(hashlib.blake2b(f"{settings.seed}/{name}".encode(), digest_size=8).digest())


# Equal runs of different experiments, as of a buffer that two sweeps contain, are made once: a seed goes with the
# kind of scenario and its row, not with the claim.


def _phases(
    settings: Settings, key: str, setting: Setting, runs: int, assumptions: Assumptions
) -> Iterator[tuple[int, int, Setting]]:
    """Yield run, seed and the row with the fixed delay of each run."""
    seed = _seed(settings, key)
    for run in range(runs):
        yield run, seed, of_phase(setting, run, runs, assumptions)


class _Plan:
    """Collects planned runs."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.runs: list[PlannedRun] = []

    def add(self, key: str, stage: str, scenario: Scenario, seed: int, run: int) -> None:
        self.runs.append(PlannedRun(key=key, scenario=scenario, seed=seed, run=run, stage=stage))

    def grid(
        self,
        group: str,
        stage: str,
        kinds: Sequence[str],
        assumptions: Assumptions,
        runs: int,
        cycles: int,
        reno: Mover,
    ) -> None:
        """Add the rows of the tables."""
        for setting in GRID:
            # The exogenous packets of both sources, and of all variations, are the same.
            for run, seed, place in _phases(self.settings, setting.id, setting, runs, assumptions):
                if "steady" in kinds:
                    scenario = scenarios.steady(place, assumptions)
                    self.add(f"{group}|steady/{setting.id}", stage, scenario, seed, run)
                if "cycles" in kinds:
                    scenario = scenarios.cycles(place, assumptions, cycles, variant=reno)
                    self.add(f"{group}|cycles/{setting.id}", stage, scenario, seed, run)

    def thresholds(
        self, group: str, stage: str, kinds: Sequence[str], assumptions: Assumptions, runs: int
    ) -> None:
        """Add the buffer sweeps around the critical buffer."""
        sweeps: list[tuple[str, Connections]] = []
        if "threshold" in kinds:
            sweeps += [("threshold", Connections(flows=1, setting=row)) for row in with_threshold_sweep()]
        if "connections" in kinds:
            sweeps += [("connections", case) for case in CONNECTIONS]
        for kind, case in sweeps:
            name = f"{case.setting.id}/{case.flows}"
            for buffer in buffers(case.critical_buffer):
                for run, seed, place in _phases(self.settings, name, case.setting, runs, assumptions):
                    scenario = scenarios.connections(place, assumptions, buffer, case.flows)
                    self.add(f"{group}|{kind}/{name}/{buffer}", stage, scenario, seed, run)

    def slots(self, runs: int) -> None:
        """Add the runs that mini-slots are read from."""
        base = Assumptions()
        for setting in SLOTS:
            for run, seed, place in _phases(self.settings, f"slots/{setting.id}", setting, runs, base):
                for window in standing_windows(setting):
                    key = f"{BASE}|standing/{setting.id}/{window}"
                    self.add(key, "mini-slots", scenarios.standing(place, base, window), seed, run)
                for variant in ("growth", "growth-by-generation", "reno-slow-start", "vegas-slow-start"):
                    scenario = scenarios.start(place, base, variant)
                    self.add(f"{BASE}|{variant}/{setting.id}", "mini-slots", scenario, seed, run)

    def identity(self, runs: int, cycles: int) -> None:
        """Add Vegas and Reno below the critical buffer, and Vegas well above it."""
        base = Assumptions()
        # A window of whole packets is what is in transit.
        at_once = replace(base, increase="at-once", numerator="cwnd")
        sources: tuple[tuple[Mover, Assumptions], ...] = (
            ("vegas", at_once),
            ("generation", base),
            ("reno", base),
            ("vegas", base),
        )
        for setting in IDENTITY:
            for run, seed, place in _phases(self.settings, setting.id, setting, runs, base):
                for buffer in identity_buffers(setting):
                    for variant, assumptions in sources:
                        scenario = scenarios.cycles(
                            place,
                            assumptions,
                            cycles,
                            buffer=buffer,
                            variant=variant,
                        )
                        name = f"{variant}-{assumptions.increase}" if variant == "vegas" else variant
                        self.add(
                            f"{BASE}|identity/{name}/{setting.id}/{buffer}", "thresholds", scenario, seed, run
                        )
                ample = ample_buffer(setting)
                scenario = scenarios.threshold(place, base, ample)
                self.add(f"{BASE}|ample/{setting.id}/{ample}", "thresholds", scenario, seed, run)

    def video(self, group: str, stage: str, assumptions: Assumptions, runs: int, *, own: bool) -> None:
        """Add the runs with video."""
        films = [film(_seed(self.settings, f"film/{run}")) if own else None for run in range(runs)]
        for rate in VIDEO_RATES:
            for buffer in VIDEO_BUFFERS:
                setting = video_setting(rate, buffer)
                for run, seed, place in _phases(self.settings, "video", setting, runs, assumptions):
                    for variant in ("vegas", "reno"):
                        scenario = scenarios.video(place, assumptions, variant, films[run])
                        key = f"{group}|video/{variant}/{rate:.0f}/{buffer}"
                        self.add(key, stage, scenario, seed, run)

    def laws(self, runs: int) -> None:
        """Add Reno on a lossy link, for the laws of throughput."""
        for probability in LAW_PROBABILITIES:
            for losses in ("periodic", "random"):
                scenario = scenarios.long_transfer(probability, periodic=losses == "periodic")
                seed = _seed(self.settings, f"law/{probability}")
                for run in range(1 if losses == "periodic" else runs):
                    self.add(f"{BASE}|law/{losses}/{probability:g}", "laws", scenario, seed, run)


def plan(settings: Settings) -> list[PlannedRun]:
    """Return the planned runs."""
    counts = replications(settings)
    base = Assumptions()
    made = _Plan(settings)
    made.grid(BASE, "tables", ("steady", "cycles"), base, counts.grid, counts.cycles, "reno")
    made.slots(counts.grid)
    made.thresholds(BASE, "thresholds", ("threshold", "connections"), base, counts.threshold)
    made.identity(counts.threshold, counts.cycles)
    for variant in ("reno", "vegas"):
        place = of_phase(EVOLUTION, 0, 4, base)
        scenario = scenarios.evolution(place, base, variant)
        made.add(f"{BASE}|evolution/{variant}", "figures", scenario, _seed(settings, "evolution"), 0)
    made.video(BASE, "figures", base, counts.video, own=True)
    made.laws(counts.law)
    for variation in VARIATIONS if counts.moved else ():
        moved = variation.moved
        made.grid(
            variation.name, "sensitivity", variation.kinds, moved, counts.moved, counts.cycles, variation.reno
        )
        if "video" in variation.kinds:
            made.video(variation.name, "sensitivity", moved, counts.moved, own=variation.film)
        made.thresholds(variation.name, "sensitivity", variation.kinds, moved, counts.moved)
    return made.runs
