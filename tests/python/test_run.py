"""Runs: results, determinism, many at once, interruption."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import dumbbell
from dumbbell import Job, RunsInterrupted, Scenario

# Most of these tests repeat one scenario for reasons other than replication; the tests of warnings check the warning.
pytestmark = pytest.mark.filterwarnings("ignore::dumbbell.IdenticalRunsWarning")

FLOW_COLUMNS = {
    "job": "uint32",
    "seed": "uint64",
    "run": "uint64",
    "fingerprint": "uint64",
    "simulated_s": "double",
    "events": "uint64",
    "name": "string",
    "goodput_bps": "double",
    "throughput_bps": "double",
    "bytes_delivered": "uint64",
    "segments_sent": "uint64",
    "segments_retransmitted": "uint64",
    "bytes_retransmitted": "uint64",
    "timeouts": "uint64",
    "fast_retransmits": "uint64",
    "completion_s": "double",
    "start_s": "double",
    "rtt_mean_s": "double",
    "rtt_min_s": "double",
    "segments_lost": "uint64",
    "connections": "uint64",
    "connections_given_up": "uint64",
    "receive_window_limited": "uint64",
    "rtt_p50_s": "double",
    "rtt_p95_s": "double",
    "rtt_p99_s": "double",
    "rtt_max_s": "double",
    "delay_mean_s": "double",
    "delay_p50_s": "double",
    "delay_p95_s": "double",
    "delay_p99_s": "double",
    "delay_max_s": "double",
    "transfers": "uint64",
    "transfers_completed": "uint64",
    "transfers_refused": "uint64",
    "fct_mean_s": "double",
    "fct_p50_s": "double",
    "fct_p95_s": "double",
    "fct_p99_s": "double",
    "fct_max_s": "double",
    "slowdown_mean": "double",
    "slowdown_p50": "double",
    "slowdown_p95": "double",
    "slowdown_p99": "double",
    "bitrate_mean_bps": "double",
    "bitrate_switches": "uint64",
    "rebuffering_s": "double",
    "startup_s": "double",
    "messages": "uint64",
    "messages_late": "uint64",
    "messages_skipped": "uint64",
}
LINK_COLUMNS = {
    "job": "uint32",
    "seed": "uint64",
    "run": "uint64",
    "name": "string",
    "utilization": "double",
    "drops_queue": "uint64",
    "drops_early": "uint64",
    "drops_policer": "uint64",
    "drops_impairment": "uint64",
    "duplicates": "uint64",
    "marks": "uint64",
    "packets": "uint64",
    "backlog_mean_packets": "double",
    "backlog_max_packets": "uint64",
    "wait_mean_s": "double",
    "wait_p50_s": "double",
    "wait_p95_s": "double",
    "wait_p99_s": "double",
    "wait_max_s": "double",
    "wait_l_mean_s": "double",
    "wait_l_p99_s": "double",
    "wait_c_mean_s": "double",
    "wait_c_p99_s": "double",
}


@pytest.fixture(scope="module")
def result(two_hosts):
    return dumbbell.run(two_hosts, seed=3, run=2)


@pytest.fixture(scope="module")
def long_scenario(two_hosts):
    """A scenario that runs for seconds of real time."""
    return two_hosts.with_values({"duration": "100000 s", "probes": []})


# One run


def test_tables_have_the_stated_columns_and_types(result):
    assert {field.name: str(field.type) for field in result.arrow_flows.schema} == FLOW_COLUMNS
    assert {field.name: str(field.type) for field in result.arrow_links.schema} == LINK_COLUMNS
    for table in result.arrow_traces.values():
        assert {field.name: str(field.type) for field in table.schema} == {
            "time_s": "double",
            "name": "large_string",
            "value": "double",
        }


def test_rows_are_found_by_name(result):
    assert 1e5 < result.flow("fg").goodput_bps < 1.6e6
    assert 0.1 < result.link("r1-r2").utilization <= 1
    assert result.flow("fg").seed == 3
    assert result.flow("fg").run == 2
    with pytest.raises(KeyError, match="fg"):
        result.flow("gf")
    with pytest.raises(KeyError, match="r1-r2"):
        result.link("r1-r9")


def test_the_summary_and_the_tables_agree(result):
    summary = result.summary
    assert {"scenario", "seed", "run", "fingerprint", "simulated_s", "events", "flows", "links"} <= set(
        summary
    )
    assert result.fingerprint == f"{int(result.flow('fg').fingerprint):016x}"
    assert result.events == result.flow("fg").events
    assert result.simulated_s == result.flow("fg").simulated_s == 5.0
    for name, row in ((entry["name"], entry) for entry in summary["flows"]):
        for key, value in row.items():
            found = result.flow(name)[key]
            assert (value is None and pd.isna(found)) or found == value
    for entry in summary["links"]:
        found = result.link(entry["name"])
        for reason, count in entry["drops"].items():
            assert count == found[f"drops_{reason}"]
        assert entry["utilization"] == found.utilization
    assert repr(result).startswith("Run('two hosts', seed=3, run=2")


def test_what_did_not_happen_is_missing(result):
    assert np.isnan(result.flow("fg").completion_s)
    assert result.flows.completion_s.dtype == np.float64


def test_bytes_are_conserved(result):
    row = result.flow("fg")
    assert row.segments_sent >= row.bytes_delivered / 1460
    assert row.bytes_retransmitted == row.segments_retransmitted * 1460
    assert row.goodput_bps <= row.throughput_bps


def test_traces_hold_what_was_probed(result):
    assert set(result.traces) == {"cwnd", "backlog"}
    window = result.traces["cwnd"]
    assert set(window.name) == {"fg"}
    assert window.time_s.is_monotonic_increasing
    assert window.value.min() >= 1
    backlog = result.traces["backlog"]
    assert backlog.value.between(0, 11).all()
    assert len(backlog) == pytest.approx(500, abs=2)
    assert np.allclose(np.diff(backlog.time_s), 0.01)


def test_numbers_reach_pandas_without_a_copy(result):
    for quantity, table in result.arrow_traces.items():
        for column in ("time_s", "value"):
            assert table[column].num_chunks == 1
            buffer = table[column].chunk(0).buffers()[1]
            array = result.traces[quantity][column].to_numpy()
            assert array.ctypes.data == buffer.address + 8 * table[column].chunk(0).offset
    column = result.arrow_flows["goodput_bps"].chunk(0)
    assert result.flows.goodput_bps.to_numpy().ctypes.data == column.buffers()[1].address


def test_the_engines_memory_outlives_the_run(two_hosts):
    table = dumbbell.run(two_hosts).arrow_traces["cwnd"]
    values = table["value"].to_numpy().copy()
    for seed in range(3):
        dumbbell.run(two_hosts, seed=seed)
    assert np.array_equal(table["value"].to_numpy(), values)
    table.validate(full=True)


def test_frames_can_be_worked_with(result):
    flows = result.flows.assign(goodput_mbps=result.flows.goodput_bps / 1e6)
    assert flows.goodput_mbps[0] == result.flows.goodput_bps[0] / 1e6
    own = result.flows.copy()
    own.loc[0, "goodput_bps"] = 0.0
    assert result.flow("fg").goodput_bps > 0


def test_the_same_seed_gives_the_same_bits_and_another_does_not(two_hosts):
    assert isinstance(two_hosts, Scenario)
    noisy = two_hosts.with_values({"links.r1-r2.impairments": [{"kind": "bernoulli", "probability": 0.01}]})
    first, again, other = (dumbbell.run(noisy, seed=1, run=run) for run in (0, 0, 1))
    assert first.fingerprint == again.fingerprint
    assert first.arrow_flows.equals(again.arrow_flows)
    assert first.arrow_traces["cwnd"].equals(again.arrow_traces["cwnd"])
    assert first.fingerprint != other.fingerprint
    assert dumbbell.run(noisy, seed=2).fingerprint != first.fingerprint


@pytest.mark.parametrize(("name", "value"), [("seed", -1), ("run", -1), ("seed", 2**64), ("run", 2**64)])
def test_seeds_are_whole_numbers_of_64_bits(two_hosts, name, value):
    with pytest.raises(ValueError, match=name):
        dumbbell.run(two_hosts, **{name: value})


def test_the_largest_seed_is_accepted(two_hosts):
    row = dumbbell.run(two_hosts, seed=2**64 - 1, run=2**64 - 1).flow("fg")
    assert int(row.seed) == 2**64 - 1


# Many


def test_rows_come_in_the_order_of_the_jobs(two_hosts):
    short = two_hosts.with_values({"duration": "1 s"})
    jobs = [Job(two_hosts, 1, 0), Job(short, 7, 3), Job(two_hosts, 1, 1)]
    runs = dumbbell.run_many(jobs, threads=2, progress=False)
    assert len(runs) == runs.completed == 3
    assert list(runs.flows.job) == [0, 1, 2]
    assert list(runs.flows.seed) == [1, 7, 1]
    assert list(runs.flows.run) == [0, 3, 1]
    assert list(runs.flows.simulated_s) == [5.0, 1.0, 5.0]
    assert list(runs.links.job) == [job for job in range(3) for _ in range(6)]
    assert repr(runs) == "Runs(3 of 3 runs)"


def test_many_runs_equal_single_runs_on_any_number_of_threads_in_any_order(two_hosts):
    noisy = two_hosts.with_values({"links.r1-r2.impairments": [{"kind": "bernoulli", "probability": 0.01}]})
    single = [dumbbell.run(noisy, seed=5, run=run).fingerprint for run in range(6)]

    def fingerprints(order, threads):
        runs = dumbbell.run_many([Job(noisy, 5, run) for run in order], threads=threads, progress=False)
        found = {
            int(run): f"{int(value):016x}"
            for run, value in zip(runs.flows.run, runs.flows.fingerprint, strict=True)
        }
        return [found[run] for run in range(6)]

    assert fingerprints(range(6), 1) == single
    assert fingerprints(range(6), 2) == single
    assert fingerprints([3, 5, 0, 2, 4, 1], 2) == single


def test_runs_with_the_same_beginning_share_it_bit_for_bit(two_hosts):
    lossy = {"links.r1-r2.impairments": [{"kind": "bernoulli", "probability": 0.01}]}
    late = two_hosts.with_values({"flows.fg.start": "2 s", "duration": "10 s", **lossy})
    variants = [late.with_values({"flows.fg.tcp": name}) for name in ("reno", "vegas", "sack")]
    # Jobs with the same beginning need not be adjacent.
    jobs = [Job(scenario, seed=3, run=number) for scenario in variants for number in range(3)]
    jobs.insert(4, Job(two_hosts, seed=3, run=0))
    alone = [dumbbell.run(job.scenario, seed=job.seed, run=job.run).flows for job in jobs]
    for threads in (1, 2, 5):
        together = dumbbell.run_many(jobs, progress=False, threads=threads).flows
        pd.testing.assert_frame_equal(
            together.drop(columns="job"), pd.concat(alone, ignore_index=True).drop(columns="job")
        )
        assert together["fingerprint"].nunique() == len(jobs)


def test_scenarios_are_replicated(two_hosts):
    short = two_hosts.with_values({"duration": "1 s"})
    runs = dumbbell.run_many(short, runs=4, seed=9, progress=False)
    assert list(runs.flows.run) == [0, 1, 2, 3]
    assert set(runs.flows.seed) == {9}
    assert [job.run for job in runs.jobs] == [0, 1, 2, 3]
    both = dumbbell.run_many([short, two_hosts], runs=2, progress=False)
    assert [job.scenario for job in both.jobs] == [short, short, two_hosts, two_hosts]
    assert len(dumbbell.run_many(short, progress=False)) == 1
    assert len(dumbbell.run_many(Job(short), progress=False)) == 1


def test_no_jobs_give_no_rows():
    runs = dumbbell.run_many([], progress=False)
    assert len(runs) == 0
    assert runs.flows.empty
    assert set(runs.flows.columns) == set(FLOW_COLUMNS)


def test_the_tables_of_many_runs_have_the_same_columns(two_hosts):
    runs = dumbbell.run_many(two_hosts, runs=2, progress=False)
    assert isinstance(runs.arrow_flows, pa.Table)
    assert {field.name: str(field.type) for field in runs.arrow_flows.schema} == FLOW_COLUMNS
    assert {field.name: str(field.type) for field in runs.arrow_links.schema} == LINK_COLUMNS


def test_many_runs_have_the_traces_of_the_single_ones(two_hosts):
    jobs = [Job(two_hosts, 1, 0), Job(two_hosts.with_values({"probes": None}), 1, 1), Job(two_hosts, 1, 2)]
    runs = dumbbell.run_many(jobs, threads=2, progress=False)
    single = dumbbell.run(two_hosts, seed=1, run=2)
    assert set(runs.traces) == set(single.traces)
    for quantity, trace in runs.traces.items():
        assert set(trace["job"]) == {0, 2}
        last = trace[trace["job"] == 2].drop(columns="job").reset_index(drop=True)
        assert last.equals(single.traces[quantity])


def test_finished_jobs_are_passed_on_once_and_then_not_returned(two_hosts):
    reported = []
    jobs = [Job(two_hosts, 1, run) for run in range(5)]
    rest = dumbbell.run_many(jobs, threads=2, progress=False, finished=reported.append)
    assert rest.completed == 5
    assert rest.flows.empty
    assert rest.traces == {}
    assert sorted(job for runs in reported for job in runs.completed_jobs) == list(range(5))
    assert sum(len(runs) for runs in reported) == 5
    assert all(runs.jobs == tuple(jobs) for runs in reported)


def test_finished_jobs_alone_are_counted_from_0(two_hosts):
    runs = dumbbell.run_many(two_hosts, runs=5, progress=False)
    kept = pa.array([1, 4], pa.uint32())

    def of_kept(table):
        return table.filter(pc.is_in(table["job"], kept))

    some = dumbbell.Runs(
        jobs=runs.jobs,
        completed=2,
        arrow_flows=of_kept(runs.arrow_flows),
        arrow_links=of_kept(runs.arrow_links),
        arrow_traces={quantity: of_kept(table) for quantity, table in runs.arrow_traces.items()},
    )
    alone = some.only_completed()
    assert alone.jobs == (runs.jobs[1], runs.jobs[4])
    assert list(alone.flows["job"]) == [0, 1]
    assert list(alone.flows["run"]) == [1, 4]
    assert set(alone.links["job"]) == {0, 1}
    assert all(set(trace["job"]) == {0, 1} for trace in alone.traces.values())
    assert alone.arrow_flows.schema == runs.arrow_flows.schema


def test_an_error_in_a_finished_callback_ends_the_batch(two_hosts):
    def refuse(runs):
        raise LookupError("no")

    with pytest.raises(LookupError, match="no"):
        dumbbell.run_many(two_hosts, runs=3, progress=False, finished=refuse)


def test_bad_requests_are_refused(two_hosts):
    with pytest.raises(ValueError, match="threads"):
        dumbbell.run_many(two_hosts, threads=0)
    with pytest.raises(ValueError, match="runs"):
        dumbbell.run_many(two_hosts, runs=0)
    with pytest.raises(ValueError, match="Job"):
        dumbbell.run_many([Job(two_hosts)], runs=2)
    with pytest.raises(FileNotFoundError, match=r"none\.toml"):
        dumbbell.run_many(["none.toml"])


def test_progress_is_reported(two_hosts):
    reported = []
    dumbbell.run_many(two_hosts, runs=20, progress=lambda done, total: reported.append((done, total)))
    assert reported
    assert reported == sorted(reported)
    assert reported[-1] == (20, 20)


def test_progress_bars_are_shown_on_terminals_only(two_hosts, capsys, monkeypatch):
    dumbbell.run_many(two_hosts, runs=2)
    assert capsys.readouterr() == ("", "")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    dumbbell.run_many(two_hosts, runs=2)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "2/2" in shown.err


def test_other_python_threads_run_meanwhile(long_scenario):
    counted = 0
    stop = threading.Event()

    def count():
        nonlocal counted
        while not stop.is_set():
            counted += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    begin = time.perf_counter()
    thread.start()
    dumbbell.run(long_scenario.with_values({"duration": "50000 s"}))
    took = time.perf_counter() - begin
    stop.set()
    thread.join()
    assert counted > 100 * took


def test_an_interrupted_batch_keeps_completed_runs(two_hosts, long_scenario):
    short = [Job(two_hosts, 1, run) for run in range(4)]
    jobs = short + [Job(long_scenario, 1, run) for run in range(4, 40)]
    seen = threading.Event()

    def progress(done, total):
        if done >= 4 and not seen.is_set():
            seen.set()
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(RunsInterrupted) as caught:
        dumbbell.run_many(jobs, threads=2, progress=progress)
    runs = caught.value.runs
    assert 4 <= runs.completed < 40
    assert set(runs.flows.job) >= {0, 1, 2, 3}
    assert len(runs.flows) == runs.completed
    assert isinstance(caught.value, KeyboardInterrupt)
    assert str(runs.completed) in str(caught.value)


def test_an_interrupt_that_comes_with_the_last_run_is_raised(two_hosts):
    def progress(done, total):
        if done == total:
            raise KeyboardInterrupt

    with pytest.raises(RunsInterrupted) as caught:
        dumbbell.run_many([Job(two_hosts, 1, run) for run in range(3)], threads=1, progress=progress)
    assert caught.value.runs.completed == 3
    assert sorted(set(caught.value.runs.flows.job)) == [0, 1, 2]


def test_an_error_in_a_progress_callback_is_raised(two_hosts):
    def progress(done, total):
        raise RuntimeError("the caller's own")

    with pytest.raises(RuntimeError, match="the caller's own"):
        dumbbell.run_many(two_hosts, runs=5, progress=progress)


@pytest.mark.slow
def test_every_standard_scenario_is_bit_identical_on_any_threads_and_in_any_order():
    examples = sorted((Path(__file__).parents[2] / "examples").glob("*.toml"))
    assert len(examples) >= 4
    jobs = [Job(Scenario.from_toml(path), 3, run) for path in examples for run in range(2)]

    def rows(order: list[int], threads: int) -> pd.DataFrame:
        flows = dumbbell.run_many([jobs[at] for at in order], threads=threads, progress=False).flows
        flows = flows.assign(job=[order[job] for job in flows["job"]])
        return flows.sort_values(["job", "name"], ignore_index=True)

    forward = list(range(len(jobs)))
    shuffled = forward[1::2] + forward[0::2][::-1]
    expected = rows(forward, 1)
    for order, threads in ((forward, 1), (forward, 2), (shuffled, 1), (shuffled, 2)):
        pd.testing.assert_frame_equal(rows(order, threads), expected, check_exact=True)


# Warnings


def identical(record):
    return [str(one.message) for one in record if one.category is dumbbell.IdenticalRunsWarning]


def test_replications_that_do_not_differ_are_reported_once_with_the_scenario_and_a_remedy(two_hosts, recwarn):
    steady = two_hosts.with_values({"name": "steady", "flows.fg.start": "1 s"})
    other = two_hosts.with_values({"name": "other", "duration": "4 s"})
    dumbbell.run_many([steady, other], runs=3, progress=False)
    (text,) = identical(recwarn)
    assert text.startswith(
        '3 runs of "steady" have only 1 distinct fingerprint, 3 runs of "other" have only 1 distinct fingerprint: identical'
    )
    assert "start=Uniform(" in text


def test_identical_runs_are_reported_when_results_are_passed_on_early(two_hosts, recwarn):
    dumbbell.run_many(two_hosts, runs=3, progress=False, finished=lambda _runs: None)
    assert len(identical(recwarn)) == 1


def test_runs_that_differ_or_repeat_a_run_give_no_warning(two_hosts, recwarn):
    uniform = {"uniform": ["0 s", "1 s"]}
    drawn = two_hosts.with_values({"flows.fg.start": uniform})
    runs = dumbbell.run_many(drawn, runs=5, progress=False)
    assert runs.flows.fingerprint.nunique() == 5
    dumbbell.run_many([Job(two_hosts), Job(two_hosts)], progress=False)
    assert identical(recwarn) == []


def test_a_scenario_with_a_field_without_effect_gives_a_warning(two_hosts):
    late = two_hosts.with_values({"flows.fg.start": "9 s"})
    assert late.warnings == ("flows.fg.start: 9 s is not before the end, 5 s; the flow never starts",)
    assert two_hosts.warnings == ()
    with pytest.warns(dumbbell.ScenarioWarning, match=r"^flows\.fg\.start: 9 s is not before the end") as one:
        dumbbell.run(late)
    assert len(one) == 1
    assert one[0].filename == __file__
    sweep = [two_hosts.with_values({"flows.fg.start": f"{second} s"}) for second in range(1, 13)]
    with pytest.warns(dumbbell.ScenarioWarning, match="and 3 more$") as one:
        dumbbell.run_many(sweep, progress=False)
    assert len(one) == 1


def test_results_are_delivered_less_often_if_taking_them_takes_long(two_hosts):
    """At most a tenth of the time of a core, and at least a second apart."""
    calls = []

    class EnoughError(Exception):
        pass

    def finished(_runs):
        begin = time.monotonic()
        time.sleep(0.2)
        calls.append((begin, time.monotonic()))
        if len(calls) > 1:
            raise EnoughError

    # More than can be done meanwhile.
    scenario = two_hosts.with_values({"duration": "100 s", "probes": []})
    jobs = [Job(scenario=scenario, seed=1, run=run) for run in range(10_000)]
    with pytest.raises(EnoughError):
        dumbbell.run_many(jobs, finished=finished, progress=False)
    (_, end), (begin, _) = calls[:2]
    assert begin - end >= 10 * 0.2
