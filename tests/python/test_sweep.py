"""Sweeps: results with parameters as columns, kept in a store, resumed and extended."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import dumbbell
from dumbbell import Campaign, Job, ScenarioError

AXES = {"links.r1-r2.rate": ["1 Mbit/s", "2 Mbit/s"], "flows.fg.tcp": ["reno", "vegas"]}


@pytest.fixture(scope="module")
def base(two_hosts):
    return two_hosts.with_values({"probes": None, "flows.fg.start": {"uniform": ["0 s", "1 s"]}})


def values(frame):
    """Return the columns of results that every run has."""
    return frame[["job", *AXES, "seed", "run", "fingerprint", "name", "goodput_bps", "segments_sent"]]


def test_a_sweep_has_a_row_per_flow_with_its_parameters(base):
    runs = dumbbell.sweep(base, AXES, runs=3, seed=7, progress=False)
    assert len(runs) == len(runs.jobs) == 12
    frame = runs.flows
    assert list(frame.columns[:5]) == ["job", *AXES, "seed", "run"]
    for row in frame.itertuples():
        point = dict(zip(AXES, row[2:4], strict=True))
        alone = dumbbell.run(base.with_values(point), seed=7, run=row.run)
        assert int(alone.fingerprint, 16) == row.fingerprint
    sizes = frame.groupby(list(AXES)).size()
    assert sizes.to_dict() == {
        (rate, tcp): 3 for rate in AXES["links.r1-r2.rate"] for tcp in ["reno", "vegas"]
    }
    assert list(runs.parameters.columns) == [*AXES, "seed", "run"]
    assert len(runs.links) == 12 * 6
    assert set(runs.links["flows.fg.tcp"]) == {"reno", "vegas"}


def test_a_store_gives_the_same_results_and_runs_only_what_is_missing(base, tmp_path, monkeypatch):
    expected = dumbbell.sweep(base, AXES, runs=3, progress=False)
    kept = dumbbell.sweep(base, AXES, runs=3, store=tmp_path, progress=False)
    pd.testing.assert_frame_equal(values(kept.flows), values(expected.flows))
    for name in ("arrow_flows", "arrow_links"):
        assert getattr(kept, name).schema.names == getattr(expected, name).schema.names
    assert [job.scenario for job in kept.jobs] == [job.scenario for job in expected.jobs]

    made = []
    compute = dumbbell.run_many

    def counted(jobs, **options):
        made.extend(jobs)
        return compute(jobs, **options)

    monkeypatch.setattr(dumbbell, "run_many", counted)
    again = dumbbell.sweep(base, AXES, runs=3, store=tmp_path, progress=False)
    assert made == []
    pd.testing.assert_frame_equal(again.flows, kept.flows)
    more = AXES | {"links.r1-r2.rate": ["1 Mbit/s", "2 Mbit/s", "3 Mbit/s"]}
    extended = dumbbell.sweep(base, more, runs=4, store=tmp_path, progress=False)
    # Two new points with four runs, and one more run of each of the four others.
    assert len(made) == 2 * 4 + 4
    assert len(extended) == 24


def test_the_results_of_an_unfinished_campaign_are_those_that_are_there(base, tmp_path):
    campaign = Campaign(base, AXES, runs=2, store=tmp_path)
    with pytest.raises(ScenarioError, match="results: nothing stored"):
        campaign.results()
    campaign.run(progress=False).add(runs=3)
    found = campaign.results()
    assert (len(found), len(found.jobs)) == (8, 12)
    assert repr(found) == "Runs(8 of 12 runs)"
    assert sorted(found.flows.run.unique()) == [0, 1]
    assert [found.jobs[job].run for job in found.flows.job] == found.flows.run.tolist()


def test_a_campaign_with_a_reduction_has_no_runs_to_return(base, tmp_path):
    campaign = Campaign(base, runs=2, store=tmp_path, reduce=share)
    with pytest.raises(ScenarioError, match="results: a reduction is not accepted"):
        campaign.results()


def share(runs):
    return pd.DataFrame({"share": np.zeros(len(runs.jobs))})


def test_jobs_carry_parameters_into_every_frame(two_hosts):
    jobs = [
        Job(two_hosts.with_values({"links.r1-r2.delay": f"{ms} ms"}), parameters={"ms": ms})
        for ms in (10, 20)
    ]
    runs = dumbbell.run_many([*jobs, Job(two_hosts, parameters={"note": ["a"]})], progress=False)
    assert runs.flows.ms.tolist()[:2] == [10, 20]
    assert np.isnan(runs.flows.ms[2])
    assert runs.flows.note.isna().tolist() == [True, True, False]
    assert runs.flows.note[2] == "[a]"
    assert set(runs.traces["cwnd"].columns) == {"job", "ms", "note", "time_s", "name", "value"}
    assert runs.only_completed().flows.ms.tolist()[:2] == [10, 20]
    # Without parameters, frames are as the engine returns them.
    plain = dumbbell.run_many(two_hosts, progress=False)
    assert list(plain.flows.columns) == plain.arrow_flows.column_names


@pytest.mark.parametrize("parameters", [3, ["a"], {1: 2}, None])
def test_parameters_are_a_table_by_name(two_hosts, parameters):
    with pytest.raises(ScenarioError, match="parameters: "):
        Job(two_hosts, parameters=parameters)


def test_a_parameter_cannot_hide_a_column_of_the_results(two_hosts):
    runs = dumbbell.run_many(Job(two_hosts, parameters={"goodput_bps": 1}), progress=False)
    with pytest.raises(ScenarioError, match='parameters: "goodput_bps"'):
        _ = runs.flows


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"axes": {"links.r1-r9.rate": ["1 Mbit/s"]}}, "r1-r9"),
        ({"axes": {"links.r1-r2.rate": ["1 Mbps"]}}, "did you mean `1 Mbit/s`"),
        ({"axes": {"links.r1-r2.rate": "1 Mbit/s"}}, "a list of values"),
        ({"axes": ["links.r1-r2.rate"]}, "a table of lists"),
        ({"axes": {}, "runs": 0}, "runs: 0"),
        ({"axes": {}, "seed": -1}, "seed: -1"),
        ({"axes": {}, "threads": 0}, "threads: 0"),
        (
            {"axes": {}, "on": "tcp://127.0.0.1:1"},
            "on: str is not accepted; expected `store` to be given as well",
        ),
        ({"axes": {}, "store": 3}, "store: 3"),
        ({"axes": {}, "base": 3}, "scenario: int"),
    ],
)
def test_a_wrong_sweep_is_refused_before_anything_runs(base, arguments, words):
    with pytest.raises(ScenarioError) as refused:
        dumbbell.sweep(**{"base": base, **arguments})
    assert words in str(refused.value)


# Beside another cluster, Dask warns of its port and leaves a socket open.
@pytest.mark.filterwarnings("ignore")
def test_a_cluster_gives_the_same_sweep(base, tmp_path):
    distributed = pytest.importorskip("distributed")
    with distributed.Client(
        processes=False, n_workers=1, threads_per_worker=1, dashboard_address=None
    ) as client:
        found = dumbbell.sweep(base, AXES, runs=2, store=tmp_path, on=client, progress=False)
    here = dumbbell.sweep(base, AXES, runs=2, progress=False)
    pd.testing.assert_frame_equal(values(found.flows), values(here.flows))
