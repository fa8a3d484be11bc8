"""The runs of both sides: scenarios are run, with probes of every value where percentiles are wanted."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from dumbbell import engine
from dumbbell.arguments import LARGEST_SEED, MOST_REPLICATIONS, whole_number
from dumbbell.comparison.sides import Given
from dumbbell.errors import EngineError, ScenarioError, refusal
from dumbbell.runs import Job, Runs, RunTables, run, run_many
from dumbbell.scenario import Probe, Scenario
from dumbbell.warned import warn_of_identical_runs

if TYPE_CHECKING:
    from dumbbell.watched import Progress

RUNS = 20
"""Replications of each side, unless another number is given."""


def runs_of_sides(
    sides: tuple[Given, Given],
    runs: int | None,
    seed: int | None,
    *,
    record: bool,
    threads: int | None,
    progress: bool | Progress,
) -> tuple[Runs, Runs]:
    """Return the runs of both sides; scenarios are run now, all together."""
    known = [side.runs for side in sides if side.runs is not None]
    if len(known) == 2:
        for name, value in (("runs", runs), ("seed", seed)):
            if value is not None:
                raise refusal(name, value, "none, as both sides are results")
        return known[0], known[1]
    whole_number("runs", RUNS if runs is None else runs, 1, MOST_REPLICATIONS)
    whole_number("seed", 1 if seed is None else seed, 0, LARGEST_SEED)
    pairs = (
        dict.fromkeys((job.seed, job.run) for job in known[0].jobs)
        if known and runs is None and seed is None
        else {}
    )
    wanted = list(pairs) or [
        (1 if seed is None else seed, run) for run in range(RUNS if runs is None else runs)
    ]
    scenarios = [side.scenario for side in sides if side.scenario is not None]
    record = record or any(_asks_for_percentiles(one) for one in scenarios)
    recorded = [_recorded(one) if record else one for one in scenarios]
    jobs = [Job(one, *pair) for one in recorded for pair in wanted]
    done = run_many(jobs, threads=threads, progress=progress)
    parts = iter([_part(done, len(wanted), place) for place in range(len(scenarios))])
    first, second = (next(parts) if side.runs is None else side.runs for side in sides)
    return first, second


def _asks_for_percentiles(scenario: Scenario) -> bool:
    data = json.loads(scenario.canonical_json)
    return bool(data["delay_percentiles"]) or any(link["wait_percentiles"] for link in data["links"])


def _recorded(scenario: Scenario) -> Scenario:
    """Return a scenario with probes of every value that percentiles are of; a probe changes no result."""
    found = scenario
    for name in [one["name"] for one in scenario.resolved()["flows"]]:
        for quantity in ("rtt", "transfers"):
            found = _probed(found, Probe(flows=[name], quantities=[quantity]))
    for link in scenario.resolved()["links"]:
        found = _probed(found, Probe(links=[link["name"]], quantities=["wait"]))
    return found


def _probed(scenario: Scenario, probe: Probe) -> Scenario:
    try:
        return replace(scenario, probes=[*(scenario.probes or ()), probe])
    except ScenarioError:
        # A flow without such values, or one that is recorded already.
        return scenario


def _part(done: Runs, count: int, place: int) -> Runs:
    """Return the jobs of one side out of those of both."""
    import pyarrow as pa
    import pyarrow.compute as pc

    first = place * count

    def own(table: pa.Table) -> pa.Table:
        job = table["job"]
        kept = table.filter(pc.and_(pc.greater_equal(job, first), pc.less(job, first + count)))
        return kept.set_column(0, "job", pc.subtract(kept["job"], pa.scalar(first, pa.uint32())))

    return Runs(
        jobs=done.jobs[first : first + count],
        completed=count,
        arrow_flows=own(done.arrow_flows),
        arrow_links=own(done.arrow_links),
        arrow_traces={quantity: own(table) for quantity, table in done.arrow_traces.items()},
    )


def first_of(runs: Runs) -> RunTables:
    """Return the first run of a side again, to be drawn."""
    job = runs.jobs[0]
    try:
        again = run(replace(job.scenario, probes=None), seed=job.seed, run=job.run)
    except EngineError as error:
        raise refusal("picture", str(error), "a run that can be repeated", quoted=False) from None
    if "fingerprint" in runs.arrow_flows.column_names and runs.engine != engine.identity():
        known = runs.arrow_flows["fingerprint"][0].as_py()
        if f"{known:016x}" != again.fingerprint:
            accepted = f"runs of this engine, {engine.identity()}"
            raise refusal(
                "picture",
                runs.engine,
                accepted,
                problem="is the engine that made the runs, which differ here",
            )
    return again


def warn_of_identical(runs: Runs) -> None:
    """Warn of results whose replications do not differ, as `run_many` does of those that it makes."""
    if "fingerprint" not in runs.arrow_flows.column_names:
        return
    known = dict(
        zip(runs.arrow_flows["job"].to_pylist(), runs.arrow_flows["fingerprint"].to_pylist(), strict=True)
    )
    by_scenario: dict[str, list[int]] = {}
    for number, job in enumerate(runs.jobs):
        by_scenario.setdefault(job.scenario.canonical_json, []).append(number)
    alike = [
        (runs.jobs[jobs[0]].scenario, len(jobs), distinct)
        for jobs in by_scenario.values()
        if (distinct := len({known[job] for job in jobs})) < len(jobs)
    ]
    if alike:
        warn_of_identical_runs(alike, stacklevel=4)
