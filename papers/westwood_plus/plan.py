"""Which runs the paper needs: every experiment under a key, its replications, and the readings that are compared.

A key is a path such as ``fig-12/newreno/20``; a run of another reading has its name in front, ``impatient|fig-12/newreno/20``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from dumbbell import Scenario
from dumbbell.papers import PlannedRun, Settings
from dumbbell.papers.real_time import simulated

from . import linux, scenarios
from .assumptions import CONNECTION, HOPS, LITERAL, MANY_FLOWS, VARIATIONS, WIRELESS, Assumptions

VARIANTS = ("newreno", "vegas", "westwoodp")
"""The three that the paper compares."""

CONNECTION_VARIANTS = {
    "newreno": ("newreno", "newreno"),
    "vegas": ("vegas", "newreno"),
    "westwoodp": ("westwoodp", "newreno"),
    "vegas-vegas": ("vegas", "vegas"),
    "reno": ("reno", "newreno"),
}
"""TCP of the single connection and of the senders on the reverse path, by figure: 4, 6, 5, 7, 8."""

DELAYED, EACH = "delayed", "each"

LITERAL_GROUP = "literal"
"""Name of the literal reading in keys."""

LOSSY_VARIANTS = (
    ("westwoodp", DELAYED),
    ("newreno", DELAYED),
    ("westwoodp", EACH),
    ("newreno", EACH),
    ("sack", EACH),
)
"""What runs over lossy links: a variant, and whether acknowledgements are delayed or sent for each segment."""

BAD_S = (1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 1e-2, 2e-2, 5e-2, 1e-1)
"""Dwell times of the bad state with a wireless last hop, s. The paper gives the ends. [grieco2004 §3.4.1]"""

SATELLITE_BAD_S = (1e-3, 3e-3, 1e-2, 3e-2, 1e-1, 3e-1, 1.0)
"""Dwell times of the bad state over the satellite, s. The paper gives the upper end. [grieco2004 §3.4.2]"""

FEW_HOPS = 5
"""Over so few hops, the goodput of a connection differs most between runs, and runs cost least."""

LOSSES = (3e-4, 1e-3, 3e-3, 1e-2)
RTTS_MS = (40.0, 70.0, 125.0, 250.0)
QUEUEING_MS = (20.0, 40.0)
"""Losses, round-trip times and queueing times that eqs. 2 and 3 are tried on; twice the first queueing time only from 70 ms."""


@dataclass(frozen=True, kw_only=True)
class Size:
    """The extent of the runs.

    Parameters
    ----------
    connection, many_flows, hops, wireless, shared, satellite, models
        Replications of Table I and figs. 4-8, of figs. 12-16, 18-25, 27, 30, 32, and of eqs. 2 and 3.
    few_hops
        Replications of figs. 18-25 up to `FEW_HOPS`.
    flows
        Numbers of connections, M, of figs. 12 and 13.
    hop_counts
        Numbers of hops, N, of figs. 18 to 25.
    bad_s, satellite_bad_s
        Dwell times of the bad state.
    readings
        Replications of the readings that are compared; the networks of many flows have fewer.
    """

    connection: int
    many_flows: int
    hops: int
    few_hops: int
    wireless: int
    shared: int
    satellite: int
    models: int
    flows: tuple[int, ...]
    hop_counts: tuple[int, ...]
    bad_s: tuple[float, ...]
    satellite_bad_s: tuple[float, ...]
    readings: int


FULL = Size(
    connection=100,
    many_flows=5,
    hops=5,
    few_hops=20,
    wireless=10,
    shared=10,
    satellite=10,
    models=4,
    flows=(10, 20, 40, 60, 80, 100, 120, 140, 160, 180, 200),
    hop_counts=tuple(range(1, 11)),
    bad_s=BAD_S,
    satellite_bad_s=SATELLITE_BAD_S,
    readings=5,
)

QUICK = Size(
    connection=4,
    many_flows=2,
    hops=1,
    few_hops=1,
    wireless=3,
    shared=2,
    satellite=2,
    models=1,
    flows=(10, 20, 40, 60, 200),
    hop_counts=(1, 2, 4, 6),
    bad_s=(1e-4, 1e-3, 1e-2, 2e-2, 5e-2, 1e-1),
    satellite_bad_s=(1e-2, 3e-2, 1e-1, 3e-1, 1.0),
    readings=2,
)


def size(settings: Settings) -> Size:
    """Return the extent of the runs."""
    chosen = QUICK if settings.quick else FULL
    if settings.runs is not None:
        runs = settings.runs
        chosen = replace(
            chosen,
            connection=runs,
            many_flows=runs,
            hops=runs,
            few_hops=runs,
            wireless=runs,
            shared=runs,
            satellite=runs,
            models=runs,
        )
    return chosen


def bad_name(bad_s: float) -> str:
    """Return a dwell time in ms, in the form used in keys."""
    return f"{bad_s * 1e3:g}"


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """A scenario under its key, with its stage and its number of replications."""

    key: str
    scenario: Scenario
    stage: str
    runs: int


def _connection(usual: Assumptions, chosen: Size) -> Iterator[Experiment]:
    for name, (variant, reverse) in CONNECTION_VARIANTS.items():
        yield Experiment(
            key=f"table-1/{name}",
            scenario=scenarios.connection(variant, usual, reverse=reverse, traced=True),
            stage="single connection",
            runs=chosen.connection,
        )


def _algorithm(usual: Assumptions, chosen: Size) -> Iterator[Experiment]:
    """Yield fig. 2, the runs that show the rules of Westwood+, and those eqs. 2 and 3 are tried on."""
    # A pipe below two segments, whose threshold has to stay at two; a whole window lost, which only a timeout repairs;
    # single losses, and two in one window, for the counting of acknowledgements. An early loss ends slow start there.
    alone = {
        "fig-2/westwoodp": scenarios.one_flow("westwoodp", usual),
        "alg/small-pipe": scenarios.one_flow("westwoodp", usual, rtt_ms=10.0, queue=10, duration_s=60.0),
        "alg/timeout": scenarios.one_flow(
            "westwoodp",
            usual,
            rtt_ms=100.0,
            queue=60,
            delayed_ack=False,
            forced=[40, *range(500, 530)],
            duration_s=40.0,
        ),
        "alg/counting": scenarios.one_flow(
            "westwoodp",
            usual,
            queue=200,
            delayed_ack=False,
            forced=[40, 600, 900, 1300, 1304],
            duration_s=30.0,
        ),
    }
    for key, scenario in alone.items():
        yield Experiment(key=key, scenario=scenario, stage="algorithm", runs=1)
    for variant in ("newreno", "westwoodp"):
        for loss in LOSSES:
            for rtt_ms in RTTS_MS:
                for queueing_ms in QUEUEING_MS:
                    if queueing_ms > QUEUEING_MS[0] and rtt_ms < RTTS_MS[1]:
                        continue
                    yield Experiment(
                        key=f"eq/{variant}/{loss:g}/{rtt_ms:g}/{queueing_ms:g}",
                        scenario=scenarios.lossy(variant, loss, rtt_ms, queueing_ms, usual),
                        stage="algorithm",
                        runs=chosen.models,
                    )


def _many_flows(usual: Assumptions, chosen: Size) -> Iterator[Experiment]:
    stage = "many connections"
    for variant in ("westwoodp", "westwood"):
        yield Experiment(
            key=f"fig-1/{variant}",
            scenario=scenarios.many_flows(variant, 20, usual, estimates=True),
            stage=stage,
            runs=min(3, chosen.many_flows),
        )
    for variant in VARIANTS:
        yield Experiment(
            key=f"fig-14/{variant}",
            scenario=scenarios.many_flows(variant, 20, usual, lines=True),
            stage=stage,
            runs=1,
        )
        for flows in chosen.flows:
            yield Experiment(
                key=f"fig-12/{variant}/{flows}",
                scenario=scenarios.many_flows(variant, flows, usual),
                stage=stage,
                runs=chosen.many_flows,
            )


def _hops(usual: Assumptions, chosen: Size) -> Iterator[Experiment]:
    for cross in VARIANTS:
        for c1 in VARIANTS:
            for count in chosen.hop_counts:
                yield Experiment(
                    key=f"fig-18/{cross}/{c1}/{count}",
                    scenario=scenarios.hops(c1, cross, count, usual),
                    stage="several hops",
                    runs=chosen.few_hops if count <= FEW_HOPS else chosen.hops,
                )


def _wireless(usual: Assumptions, chosen: Size) -> Iterator[Experiment]:
    for variant in ("westwoodp", "newreno"):
        yield Experiment(
            key=f"fig-28/{variant}",
            scenario=scenarios.wireless(variant, 0.01, usual, delayed_ack=True, traced=True),
            stage="wireless",
            runs=chosen.wireless,
        )
    for variant, acks in LOSSY_VARIANTS:
        delayed = acks == DELAYED
        for bad_s in chosen.bad_s:
            name = f"{variant}/{acks}/{bad_name(bad_s)}"
            yield Experiment(
                key=f"fig-27/{name}",
                scenario=scenarios.wireless(variant, bad_s, usual, delayed_ack=delayed),
                stage="wireless",
                runs=chosen.wireless,
            )
            yield Experiment(
                key=f"fig-30/{name}",
                scenario=scenarios.wireless(variant, bad_s, usual, delayed_ack=delayed, shared=True),
                stage="wireless, shared",
                runs=chosen.shared,
            )
        for bad_s in chosen.satellite_bad_s:
            yield Experiment(
                key=f"fig-32/{variant}/{acks}/{bad_name(bad_s)}",
                scenario=scenarios.satellite(variant, bad_s, usual, delayed_ack=delayed),
                stage="satellite",
                runs=chosen.satellite,
            )


def _moved(group: str, moved: Assumptions, chosen: Size, quick: bool) -> Iterator[Experiment]:
    """Yield the experiments of a group that a reading is compared on: a part of the usual ones."""
    few = max(1, chosen.readings // 2)
    if group == CONNECTION:
        for variant in VARIANTS:
            yield Experiment(
                key=f"table-1/{variant}",
                scenario=scenarios.connection(variant, moved),
                stage="readings",
                runs=chosen.readings,
            )
    if quick:
        return
    part = replace(
        chosen,
        many_flows=few,
        hops=few,
        few_hops=few,
        wireless=chosen.readings,
        shared=few,
        satellite=few,
        flows=(10, 20, 40, 60),
        hop_counts=(1, 4, 6),
        bad_s=(1e-3, 1e-2, 5e-2, 1e-1),
        satellite_bad_s=(3e-2, 1e-1, 1.0),
    )
    made = {MANY_FLOWS: _many_flows, HOPS: _hops, WIRELESS: _wireless}
    if group in made:
        for experiment in made[group](moved, part):
            if not experiment.key.startswith("fig-14"):
                yield replace(experiment, stage="readings")


def plan(settings: Settings) -> list[PlannedRun]:
    """Return the runs of the paper."""
    chosen = size(settings)
    usual = Assumptions()
    experiments: list[Experiment] = []
    for make in (_algorithm, _connection, _many_flows, _hops, _wireless):
        experiments += make(usual, chosen)
    if settings.sensitivity and not settings.quick:
        experiments += [
            replace(experiment, key=f"{LITERAL_GROUP}|{experiment.key}", stage="literal reading")
            for experiment in _wireless(LITERAL, chosen)
        ]
    for reading in VARIATIONS if settings.sensitivity else ():
        for group in reading.groups:
            experiments += [
                replace(experiment, key=f"{reading.name}|{experiment.key}")
                for experiment in _moved(group, reading.assumptions(), chosen, settings.quick)
            ]
    runs = [
        PlannedRun(
            key=experiment.key,
            scenario=experiment.scenario,
            seed=settings.seed,
            run=run,
            stage=experiment.stage,
        )
        for experiment in experiments
        for run in range(experiment.runs)
    ]
    # The plan for the kernel has few sessions in quick mode; its record has all.
    few = settings.runs or (2 if settings.quick else None)
    return runs + simulated(linux.plan(replace(settings, quick=False, runs=few)))
