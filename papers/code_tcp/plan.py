"""The planned runs: points, repetitions, and varied assumptions.

[chan2010 §4]
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from dumbbell import Scenario
from dumbbell.papers import PlannedRun, Settings
from dumbbell.papers.real_time import simulated
from dumbbell.sensitivity import REPLICATIONS

from . import algorithms, linux
from .assumptions import BASE, LITERAL, LITERAL_GROUP, VARIATIONS, Assumptions
from .network import VARIANTS
from .scenarios import (
    BUFFERS,
    EPSILONS,
    GAIN_BUFFERS,
    MIXES,
    PHASE_RATES,
    PHASES,
    QUIET,
    RATES,
    RTTS,
    START_SIZES,
    TRACED,
    buffer_point,
    epsilon_point,
    homogeneous_point,
    mix_point,
    newcomer_run,
    phase_point,
    rate_point,
    rtt_point,
    short_transfer,
    solo_transfer,
    window_run,
)

RENO_START = "startup-reno"
"""Group of the short transfers of CODE with Reno's slow start."""

WITHOUT_OWN_START = "BCDEFHI"
"""The mechanisms of Vegas without those of its slow start, A and G. [chan2010 §5]"""


@dataclass(frozen=True, kw_only=True)
class Counts:
    """Replications.

    Parameters
    ----------
    sweeps
        Of each point of Figs. 9-15 and of Table 2; 20 in the paper.
    windows
        Of the scenarios with windows against time.
    short
        Of each short transfer.
    phases
        Of each pair of base round-trip times that hardly differ.
    moved
        Of each point with a varied assumption.
    rtts
        Swept round-trip times of Figs. 10-13.
    moved_rates, moved_rtts, moved_buffers, moved_mixes
        The points at which varied assumptions are evaluated.
    variations
        Names of the moves that are tried.
    """

    sweeps: int
    windows: int
    short: int
    phases: int
    moved: int
    rtts: tuple[int, ...]
    moved_rates: tuple[int, ...]
    moved_rtts: tuple[int, ...]
    moved_buffers: tuple[int, ...]
    moved_mixes: tuple[int, ...]
    variations: tuple[str, ...]


def counts(settings: Settings) -> Counts:
    """Return the replications for some settings."""
    if settings.quick:
        return Counts(
            sweeps=settings.runs or 2,
            windows=settings.runs or 4,
            short=settings.runs or 2,
            phases=2,
            moved=2,
            rtts=(50, 80, 110, 150),
            moved_rates=(10, 30),
            moved_rtts=(),
            moved_buffers=(),
            moved_mixes=(),
            variations=("quiet", "jitter-alone", "halving", "no-floor", "window-quiet"),
        )
    return Counts(
        sweeps=settings.runs or 20,
        windows=settings.runs or 60,
        short=settings.runs or 100,
        phases=5,
        moved=REPLICATIONS,
        rtts=RTTS,
        moved_rates=(5, 10, 20, 30, 40, 50),
        moved_rtts=(50, 60, 130),
        moved_buffers=(10, 20, 40, 60, 80, 100),
        moved_mixes=(1, 3, 5, 7, 9),
        variations=tuple(variation.name for variation in VARIATIONS),
    )


def _repeated(key: str, scenario: Scenario, runs: int, seed: int, stage: str) -> Iterator[PlannedRun]:
    for run in range(runs):
        yield PlannedRun(key=key, scenario=scenario, seed=seed, run=run, stage=stage)


def _sweeps(
    group: str,
    assumptions: Assumptions,
    figures: Sequence[str],
    count: Counts,
    runs: int,
    seed: int,
    stages: bool,
) -> Iterator[PlannedRun]:
    """Return the runs of Figs. 2, 3, 5, 9-18 and Table 2 for one reading."""

    def repeated(key: str, scenario: Scenario, stage: str) -> Iterator[PlannedRun]:
        return _repeated(f"{group}/{key}", scenario, runs, seed, stage if stages else "sensitivity")

    rates, rtts = (RATES, count.rtts) if stages else (count.moved_rates, count.moved_rtts)
    buffers, mixes = (BUFFERS, MIXES) if stages else (count.moved_buffers, count.moved_mixes)
    for kind in VARIANTS:
        if "fig9" in figures:
            for rate in rates:
                yield from repeated(f"fig9/{kind}/{rate}", rate_point(kind, rate, assumptions), "Fig. 9")
        if "fig14" in figures:
            for buffer in buffers:
                yield from repeated(
                    f"fig14/{kind}/{buffer}", buffer_point(kind, buffer, assumptions), "Fig. 14"
                )
        if "fig15" in figures:
            for reno in mixes:
                yield from repeated(f"fig15/{kind}/{reno}", mix_point(kind, reno, assumptions), "Fig. 15")
        if "table2" in figures and kind != "vegasa" and rates:
            for rate in rates:
                yield from repeated(
                    f"table2/{kind}/{rate}", homogeneous_point(kind, rate, assumptions), "Table 2"
                )
    traced = count.windows if stages else runs
    for figure in TRACED if "windows" in figures else ():
        yield from _repeated(
            f"{group}/{figure}",
            window_run(figure, assumptions),
            traced,
            seed,
            "windows" if stages else "sensitivity",
        )
    for figure in QUIET if "windows" in figures else ():
        yield from _repeated(
            f"{group}/{figure}-quiet",
            window_run(figure, replace(assumptions, window_cross=False)),
            traced,
            seed,
            "windows" if stages else "sensitivity",
        )
    for figure in ("fig16", "fig17-vegas", "fig17-code", "mixed") if "pairs" in figures else ():
        yield from _repeated(
            f"{group}/{figure}",
            newcomer_run(figure, assumptions),
            traced,
            seed,
            "windows" if stages else "sensitivity",
        )
    if "rtt" in figures:
        for kind in (*VARIANTS, "reno"):
            for panel in "ab":
                for rtt in rtts:
                    yield from repeated(
                        f"rtt-{panel}/{kind}/{rtt}", rtt_point(kind, panel, rtt, assumptions), "Figs. 10-13"
                    )


def _short_transfers(
    group: str, assumptions: Assumptions, runs: int, seed: int, stage: str
) -> Iterator[PlannedRun]:
    """Return the runs of short transfers for one reading."""
    for kind in ("reno", "code"):
        for size in START_SIZES:
            for beside in (False, True):
                yield from _repeated(
                    f"{group}/startup/{kind}/{size}/{'beside' if beside else 'alone'}",
                    short_transfer(kind, size, beside, assumptions),
                    runs if beside else 1,
                    seed,
                    stage,
                )


def _details(count: Counts, seed: int) -> Iterator[PlannedRun]:
    """Return the runs of the algorithms, of the analysis, and of the claims made in words."""
    for name, scenario in algorithms.scenarios().items():
        yield from _repeated(f"algorithm/{name}", scenario, 1, seed, "algorithms")
    yield from _repeated("base/together", newcomer_run("together", BASE), 1, seed, "windows")
    for kind in ("code", "reno"):
        for rate in PHASE_RATES:
            for variant_ms, reno_ms in PHASES:
                key = f"phase/{kind}/{rate}/{variant_ms:g}-{reno_ms:g}"
                scenario = phase_point(kind, rate, variant_ms, reno_ms)
                yield from _repeated(key, scenario, count.phases, seed, "phases")
    for epsilon in EPSILONS:
        yield from _repeated(f"epsilon/{epsilon}", epsilon_point(epsilon), count.sweeps, seed, "epsilon")
    for size in START_SIZES:
        for beside in (False, True):
            yield from _repeated(
                f"{RENO_START}/{size}/{'beside' if beside else 'alone'}",
                short_transfer("code", size, beside, replace(BASE, mechanisms=WITHOUT_OWN_START)),
                count.short if beside else 1,
                seed,
                "transfers",
            )
    for kind in ("reno", "vegas"):
        for buffer in GAIN_BUFFERS:
            yield from _repeated(f"gain/{kind}/{buffer}", solo_transfer(kind, buffer), 1, seed, "transfers")
    for kind in ("vegas", "newvegas", "code"):
        for rate in RATES:
            yield from _repeated(
                f"together/{kind}/{rate}",
                homogeneous_point(kind, rate, BASE, jittered=False),
                1,
                seed,
                "Table 2",
            )


def plan(settings: Settings) -> list[PlannedRun]:
    """Return the planned runs."""
    count = counts(settings)
    every = ("fig9", "rtt", "fig14", "fig15", "table2", "windows", "pairs")
    runs: list[PlannedRun] = []
    # The literal reading has runs for every claim that the main one has, in the same number.
    for group, assumptions in (("base", BASE), (LITERAL_GROUP, LITERAL)):
        runs += _sweeps(group, assumptions, every, count, count.sweeps, settings.seed, True)
        runs += _short_transfers(group, assumptions, count.short, settings.seed, "transfers")
    runs += _details(count, settings.seed)
    for variation in VARIATIONS:
        if variation.name in count.variations and settings.sensitivity:
            runs += _sweeps(
                variation.name,
                variation.assumptions,
                variation.figures,
                count,
                count.moved,
                settings.seed,
                False,
            )
            if "startup" in variation.figures and not settings.quick:
                runs += _short_transfers(
                    variation.name, variation.assumptions, count.moved, settings.seed, "sensitivity"
                )
    # The plan for the kernel has few rates in quick mode; its record has all.
    few = settings.runs or (2 if settings.quick else None)
    runs += simulated(linux.plan(replace(settings, quick=False, runs=few)))
    return runs
