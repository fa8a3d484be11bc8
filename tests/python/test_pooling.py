"""Percentiles are pooled over the values of all runs, by nearest rank, with the bootstrap over runs."""

from __future__ import annotations

import math

import numpy as np
import pytest

import dumbbell
from dumbbell import Flow, Incast, Probe, Uniform, topologies
from dumbbell.errors import ScenarioError
from dumbbell.judge.estimate import NotMeasured
from dumbbell.judge.pooled import percentile, pooled


def test_a_pooled_percentile_is_the_nearest_rank_of_all_values():
    # Of 1 to 20 in two runs: 95 % of 20 is the 19th value; half is the 10th.
    runs = [[*range(1, 8)], [*range(8, 21)]]
    assert [float(pooled(runs, share)[0]) for share in (0.95, 0.5, 1.0, 0.01)] == [19.0, 10.0, 20.0, 1.0]
    # Half of 19 values is 9.5, which nine values do not reach.
    assert float(pooled([[*range(1, 20)]], 0.5)[0]) == 10.0


def test_the_mean_of_percentiles_is_not_the_pooled_one():
    # A run of 99 small values and one of a single large value: the median of each is 1 and 100.
    assert float(pooled([[1.0] * 99, [100.0]], 0.5)[0]) == 1.0


def test_resamples_draw_whole_runs():
    # Two runs of one value each: a resample has one of them twice, or both.
    found = pooled([[1.0], [3.0]], 0.5)
    assert set(found.tolist()) == {1.0, 3.0}
    # P(both from the second run) is 1/4; the median of a mixed resample is the smaller value.
    assert np.mean(found[1:] == 3.0) == pytest.approx(0.25, abs=0.08)


def test_one_run_has_no_interval_and_no_value_is_not_measured():
    alone = percentile([[1.0, 2.0, 3.0]], 0.5)
    assert (alone.measured, math.isnan(alone.low)) == (2.0, True)
    with pytest.raises(NotMeasured):
        pooled([[], []], 0.5)
    with pytest.raises(ValueError, match="share = 0"):
        pooled([[1.0]], 0)


@pytest.fixture(scope="module")
def scenario():
    shape = topologies.dumbbell(pairs=2, rate="4 Mbit/s", delay="10 ms")
    start = Uniform(uniform=("0 s", "0.5 s"))
    flows = [
        Flow(name="fg", from_="s1", to="d1", tcp="cubic", start=start),
        Flow(
            name="in", from_="s2", to="d2", tcp="cubic",
            source=Incast(senders=3, sizes={"kind": "fixed", "size": "5 kB"}, pause="100 ms"),
        ),
    ]  # fmt: skip
    probes = [
        Probe(flows=["fg"], quantities=["rtt"]),
        Probe(flows=["in"], quantities=["transfers"]),
        Probe(links=["r1-r2"], quantities=["wait"]),
    ]
    made = shape.scenario(
        duration="6 s",
        measure_from="2 s",
        measure_until="5 s",
        flows=flows,
        probes=probes,
        delay_percentiles=True,
    )
    return made.with_values({"links.r1-r2.wait_percentiles": True})


def test_those_of_one_run_are_its_columns(scenario):
    """Of one run, the pooled percentile is the column of the engine, whose histogram is within 0.8 %."""
    runs = dumbbell.run_many(scenario, progress=False)
    flows, links = runs.flows.set_index("name"), runs.links.set_index("name")
    for quantity, row, stem in (
        ("rtt", flows.loc["fg"], "rtt"),
        ("transfers.completion_s", flows.loc["in"], "fct"),
        ("wait", links.loc["r1-r2"], "wait"),
    ):
        found = runs.percentiles(quantity).iloc[0]
        for name in ("p50", "p95", "p99"):
            assert found[name] == pytest.approx(row[f"{stem}_{name}_s"], rel=0.008), (quantity, name)


def test_values_of_all_runs_count(scenario):
    runs = dumbbell.run_many(scenario, runs=3, progress=False)
    found = runs.percentiles("rtt", [0.95]).iloc[0]
    trace = runs.traces["rtt"]
    inside = np.sort(trace[(trace.time_s >= 2) & (trace.time_s <= 5)].value.to_numpy())
    assert found.p95 == inside[math.ceil(0.95 * len(inside)) - 1]
    assert (found.runs, found.n) == (3, len(inside))
    assert found.p95_low <= found.p95 <= found.p95_high


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("rtts",), 'of: "rtts" is no column'),
        (("rtt", [0.0]), "numbers above 0, at most 1"),
        (("rtt", [95]), "numbers above 0, at most 1"),
    ],
)
def test_what_is_not_accepted_is_named(scenario, arguments, message):
    runs = dumbbell.run_many(scenario, progress=False)
    with pytest.raises(ScenarioError, match=message):
        runs.percentiles(*arguments)
    with pytest.raises(ScenarioError, match='names: "fh" is not accepted; expected fg'):
        runs.percentiles("rtt", names=["fh"])


def test_what_was_not_recorded_and_several_scenarios_are_refused(scenario):
    plain = scenario.with_values({"probes": None})
    with pytest.raises(ScenarioError, match='of: "rtt"'):
        dumbbell.run_many(plain, progress=False).percentiles("rtt")
    both = dumbbell.run_many([scenario, scenario.with_values({"duration": "5.5 s"})], progress=False)
    with pytest.raises(ScenarioError, match="replications of one scenario"):
        both.percentiles("rtt")
