"""The model against the engine: traces worked by hand, the forty rows on the engine, evaluation of claims."""

import csv
import math
import re
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dumbbell
from dumbbell import Job, claims, papers
from dumbbell.models import altman

ROOT = Path(__file__).resolve().parents[2]
PAPER = papers.load("altman", ROOT / "papers")
MODULE = type(PAPER).__module__


def part(name):
    return sys.modules[f"{MODULE}.{name}"]


grid, scenarios, traces = part("grid"), part("scenarios"), part("traces")
plan, evidence_of, register = part("plan"), part("evidence"), part("register")
BASE = part("assumptions").Assumptions()


def made(scenario, runs=1):
    """Return the reduction of runs of scenarios."""
    listed = scenario if isinstance(scenario, list) else [scenario]
    jobs = [Job(one, seed=3, run=run) for one in listed for run in range(runs)]
    return PAPER.reduce(dumbbell.run_many(jobs, threads=1, progress=False))


# The grid and the plan


def test_the_grid_is_that_of_the_models_tests():
    with (ROOT / "tests" / "data" / "altman-grid.csv").open() as file:
        rows = list(csv.DictReader(file))
    names = (
        "service_rate",
        "exogenous_rate",
        "fixed_delay",
        "buffer",
        "alpha",
        "beta",
        "gamma",
    )
    for row, setting in zip(rows, grid.GRID, strict=True):
        assert row["id"] == setting.id
        assert [float(row[name]) for name in names] == [getattr(setting, name) for name in names]


def test_the_runs_of_a_row_spread_its_delay_over_one_service_time():
    row = grid.by_id("A28")
    delays = [scenarios.of_phase(row, run, 4, BASE).fixed_delay for run in range(4)]
    # 1/250 s in four parts: 0.2 s less 1.5 ms, less 0.5 ms, and so on.
    assert delays == pytest.approx([0.1985, 0.1995, 0.2005, 0.2015])
    given = replace(BASE, phase="as given")
    assert scenarios.of_phase(row, 0, 4, given) == row


def test_every_run_is_planned_once_and_every_variation_has_runs(monkeypatch):
    quick = plan.plan(papers.Settings(quick=True))
    assert {run.key.split("|")[0] for run in quick} == {plan.BASE}
    few = replace(plan.replications(papers.Settings()), grid=2, threshold=2, video=2, law=2, moved=2)
    monkeypatch.setattr(plan, "replications", lambda _: few)
    planned = plan.plan(papers.Settings())
    assert len({(run.key, run.run) for run in planned}) == len(planned)
    groups = {run.key.split("|")[0] for run in planned}
    assert groups == {plan.BASE} | {moved.name for moved in part("assumptions").VARIATIONS if moved.kinds}
    kinds = {str(run.scenario.name).split()[0] for run in planned}
    assert kinds == set(part("reduction").READINGS)


def test_the_film_has_its_mean_rate_in_whole_packets():
    sizes = [int(size.removesuffix(" bytes")) for size in part("film").film(7)]
    assert len(sizes) == 7200
    assert sum(sizes) == 300 * 100 * 500
    assert all(size % 500 == 0 for size in sizes)
    assert np.mean(sizes[::12]) > 2.0 * np.mean(sizes[1::12])


# Traces


def test_a_cut_is_a_decrease_by_more_than_a_quarter():
    times = np.array([0.0, 1.0, 2.0, 3.0])
    assert traces.is_cut_after(times, np.array([10.0, 11.0, 5.0, 6.0]), 1.5)
    assert not traces.is_cut_after(times, np.array([10.0, 5.0, 6.0, 7.0]), 1.5)
    assert not traces.is_cut_after(times, np.array([10.0, 9.0, 8.0, 7.0]), 0.0)


def test_cycles_count_packets_behind_a_loss_as_arrived():
    # A window of 8 loses a packet: after the reduction to 4, 8 remain outstanding, each duplicate acknowledgement adds one to the
    # window, and recovery ends with 8 acknowledged at once. Then 4 to 8 by ones, a sample and as many packets each.
    one = [(7, 8), (8, 8), (10, 8), (12, 8), (4, 4), (5, 5), (6, 6), (7, 7), (8, 8)]
    window, flight, acked, ssthresh = [], [], [], []
    total = 0
    for _ in range(6):
        for index, (size, outstanding) in enumerate(one):
            total += 9 if index == 4 else 4 if index > 4 else 0
            window.append(float(size))
            flight.append(float(outstanding))
            acked.append(float(total))
            ssthresh.append(4.0)
    found = traces.cycles(*map(np.array, (window, flight, acked, ssthresh)), period=0.5, skip=1)
    assert found.count == 4
    assert found.duration == 4.5
    assert found.packets == 9 + 4 * 4
    assert found.throughput == pytest.approx(25 / 4.5)
    assert (found.loss_window, found.low) == (8.0, 4.0)
    # Under way in recovery: 8 - (7 - 4), 8 - 4, 8 - 6, 8 - 8; outside: 4, 5, 6, 7, 8. That is 41 half seconds for 25 packets.
    assert found.rtt == pytest.approx(41 * 0.5 / 25)
    assert (
        traces.cycles(*map(np.array, (window[:9], flight[:9], acked[:9], ssthresh[:9])), period=0.5) is None
    )


def test_generations_are_what_acknowledgements_release():
    # Window 1, 2, 3, then 4: each acknowledgement releases one packet, the last of a generation two. Round-trip time 10.
    sent = [0, 10, 10, 20, 21, 21, 30, 31, 32, 32, 40, 41, 42, 43, 43]
    acked = [10, 20, 21, 30, 31, 32, 40, 41, 42, 43, 50, 51, 52, 53, 54]
    number = np.arange(len(sent), dtype=float)
    found = traces.generations(
        np.array(sent, float), 100.0 * number, np.array(acked, float), 100.0 * (number + 1.0), 100.0
    )
    assert found.windows.tolist() == [1.0, 2.0, 3.0]
    assert found.ends.tolist() == [10.0, 21.0, 32.0]
    assert found.durations.tolist() == [10.0, 11.0, 11.0]
    # Generation 1: sent at 10 and 10, acknowledged at 20 and 21. Generation 2: at 20, 21, 21; at 30, 31, 32.
    assert found.rtts == pytest.approx([10.0, 10.5, 31.0 / 3.0])


# Packets 0, 1 and 2; packet 1 is lost and retransmitted at 20; its acknowledgement at 30 covers packet 2 as well.
SENT_TIMES, SENT = np.array([0.0, 10.0, 11.0, 20.0, 30.0, 30.0]), np.array([0.0, 1.0, 2.0, 1.0, 3.0, 4.0])
ACKED_TIMES, ACKED = np.array([10.0, 30.0, 40.0, 41.0]), np.array([1.0, 3.0, 4.0, 5.0])


def test_a_packet_after_a_loss_gives_no_round_trip_time():
    sent_times, sent = np.append(SENT_TIMES, [40.0, 41.0, 50.0]), np.append(SENT, [5.0, 6.0, 7.0])
    acked_times, acked = np.append(ACKED_TIMES, [50.0, 51.0, 60.0]), np.append(ACKED, [6.0, 7.0, 8.0])
    found = traces.generations(sent_times, sent, acked_times, acked, 1.0)
    assert found.windows.tolist() == [1.0, 2.0, 2.0]
    # Packets 3 and 4: from 30 to 40 and 41.
    assert found.rtts[[0, 2]].tolist() == [10.0, 10.5]
    assert math.isnan(found.rtts[1])


def test_the_window_is_shown_as_it_is_after_recovery():
    times = np.array([0.0, 12.0, 13.0, 30.0, 40.0])
    window = np.array([4.0, 2.5, 3.5, 2.0, 2.5])
    shown = traces.without_inflation(times, window, SENT_TIMES, SENT, ACKED_TIMES, ACKED)
    assert shown.tolist() == [4.0, 2.0, 2.0, 2.0, 2.5]
    untouched = np.array([4.0, 5.0, 5.5, 5.0, 4.0])
    shown = traces.without_inflation(times, untouched, SENT_TIMES, SENT, ACKED_TIMES, ACKED)
    assert shown.tolist() == untouched.tolist()


# The engine


def test_vegas_stands_where_the_model_says_on_the_whole_grid():
    places = [scenarios.of_phase(row, 0, 2, BASE) for row in grid.GRID]
    frame = made([scenarios.steady(place, BASE) for place in places])
    for place, row in zip(places, frame.itertuples(), strict=True):
        assert place.stable.low - 1e-6 <= row.window <= place.stable.high + 1e-6
        assert row.throughput == pytest.approx(place.link.available_rate, rel=1e-3)
        assert row.rtt == pytest.approx(row.window / place.link.available_rate, rel=2e-3)
        assert row.losses == 0
    # A window between two whole numbers of packets may move with the phase: it does in three rows.
    assert (frame["window_low"] == frame["window_high"]).sum() == 37
    at_once = replace(BASE, increase="at-once")
    whole = made([scenarios.steady(place, at_once) for place in places])
    assert (whole["window_low"] == whole["window_high"]).all()


@pytest.mark.parametrize("name", ["A00", "A08", "A14", "A25"])
def test_reno_goes_through_the_cycles_of_the_recursion(name):
    # The recursion has no phase; equal distances of the exogenous packets have one.
    jittered = replace(BASE, exogenous="jittered")
    place = scenarios.of_phase(grid.by_id(name), 0, 4, jittered)
    row = made(scenarios.cycles(place, jittered, 3)).iloc[0]
    expected = place.fluid_reno
    assert row["cycles"] >= 3
    assert row["throughput"] == pytest.approx(expected.throughput, rel=0.01)
    assert row["loss_window"] == pytest.approx(expected.loss_window, abs=1.0)
    assert row["rtt"] == pytest.approx(expected.rtt, rel=0.03)
    assert row["cycle_s"] == pytest.approx(expected.duration, rel=0.05)
    assert row["window_low"] == pytest.approx(expected.loss_window / 2.0, abs=1.0)


def test_vegas_goes_on_losing_below_the_critical_buffer_only():
    place = scenarios.of_phase(grid.by_id("A13"), 1, 4, BASE)
    assert place.critical_buffer == 4.0
    frame = made([scenarios.threshold(place, BASE, buffer) for buffer in (3, 11)], runs=2)
    assert frame["still_loses"].tolist() == [1.0, 1.0, 0.0, 0.0]
    assert (frame["losses"] > 0).tolist()[:2] == [True, True]


def test_a_window_limited_by_the_receiver_has_the_round_trip_time_of_theorem_1():
    place = scenarios.of_phase(grid.by_id("A14"), 1, 4, BASE)
    frame = made([scenarios.standing(place, BASE, window) for window in (13, 51)])
    for window, row in zip((13, 51), frame.itertuples(), strict=True):
        late = row.rtts[len(row.rtts) // 2 :]
        assert set(row.windows[len(row.windows) // 2 :]) == {float(window)}
        assert late.mean() == pytest.approx(altman.mini_slot(place.link, float(window)).rtt, rel=0.02)


def test_a_part_of_a_packet_in_the_window_is_not_in_flight():
    steps = part("reduction").StepFunction(np.array([0.0, 1.0]), np.array([14.0, 14.0 - 1e-10]))
    recorded = part("reduction").Recorded(
        flows={"s": {"goodput_bps": 0.0}},
        traces={("cwnd", "s"): steps, ("srtt", "s"): steps},
        duration=2.0,
        measured_from=0.0,
    )
    # 14 for one second, and 13 for the other.
    assert part("reduction")._steady(recorded)["window"] == 13.5


def test_slow_start_of_vegas_doubles_in_every_other_mini_slot():
    place = scenarios.of_phase(grid.by_id("A08"), 1, 4, BASE)
    row = made(scenarios.start(place, BASE, "vegas-slow-start")).iloc[0]
    assert row["windows"][:9].tolist() in ([1, 2, 2, 4, 4, 8, 8, 16, 16], [1, 1, 2, 2, 4, 4, 8, 8, 16])
    row = made(scenarios.start(place, BASE, "reno-slow-start")).iloc[0]
    assert row["windows"][:6].tolist() == [1, 2, 4, 8, 16, 32]


def test_both_flows_beside_video_are_reduced():
    setting = plan.video_setting(300.0, 40)
    film = part("film").film(1)
    frame = made([scenarios.video(setting, BASE, variant, film) for variant in ("vegas", "reno")])
    assert (frame["throughput"] > 100.0).all()
    assert frame["losses"][0] < frame["losses"][1]
    assert len(frame["curve"][0]) == 1500


# Claims


def tables(factor=1.0):
    """Return results equal to the model, with round-trip times and windows of Reno changed by a factor."""
    rows = []
    for row in grid.GRID:
        for run in range(2):
            place = scenarios.of_phase(row, run, 2, BASE)
            rate = place.link.available_rate
            window = altman.stable_window_reached(place.link, alpha=row.alpha, beta=row.beta)
            steady = {
                "throughput": rate,
                "window": window,
                "window_low": window,
                "window_high": window,
                "rtt": window / rate,
                "slow_start_window": altman.slow_start_threshold(row.link, gamma=row.gamma).window,
                "losses": 0.0,
            }
            fluid = place.fluid_reno
            peak = fluid.loss_window * factor
            cycles = {
                "throughput": rate if not row.cycle.queue_empties else fluid.throughput,
                "rtt": fluid.rtt * factor,
                "loss_window": peak,
                "window_low": peak / 2.0,
                "cycle_s": fluid.duration,
                "cycle_packets": 3.0 / 8.0 * peak * (peak + 2.0) * (1.0 + 2.7 / peak),
                "detections": 5.0,
                "losses": 5.0,
            }
            for kind, columns in (("steady", steady), ("cycles", cycles)):
                key = f"{plan.BASE}|{kind}/{row.id}"
                rows.append(dict.fromkeys(PAPER.columns, math.nan) | columns | {"key": key, "run": run})
    return pd.DataFrame(rows)


def verdicts(results):
    found = claims.judge(PAPER.claims(), evidence_of.Evidence(results))
    return {finding.claim.id: finding.verdict for finding in found}


def test_every_claim_of_the_table_has_a_measure():
    assert [claim.id for claim in PAPER.claims()] == [f"ALT-{number:02d}" for number in range(1, 39)]


def test_claims_on_the_tables_follow_the_results():
    good = verdicts(tables())
    on_tables = ["ALT-06", "ALT-07", "ALT-09", "ALT-10", "ALT-11", "ALT-12", "ALT-13", "ALT-14", "ALT-16"]
    on_tables += ["ALT-17", "ALT-18", "ALT-19", "ALT-27", "ALT-32", "ALT-33", "ALT-34", "ALT-35", "ALT-36"]
    assert {name: good[name] for name in on_tables} == dict.fromkeys(on_tables, "reproduced")
    bad = verdicts(tables(factor=0.7))
    # Round-trip times below the ideal cycle's, smaller loss windows, and the same throughput.
    turned = ["ALT-15", "ALT-16", "ALT-27", "ALT-32"]
    assert {name: bad[name] for name in turned} == dict.fromkeys(turned, "not-reproduced")
    assert bad["ALT-13"] == "reproduced"


@pytest.mark.parametrize(
    ("last_share", "step", "verdict"),
    [(0.1, 5.0, "reproduced"), (0.8, 1.0, "reproduced"), (0.8, 2.0, "not-reproduced")],
)
def test_the_window_of_vegas_is_constant_if_it_does_not_change_late_in_the_run(last_share, step, verdict):
    # The last of two changes, however early, is not what "late" is measured by.
    last = last_share * scenarios.evolution_seconds(plan.EVOLUTION)
    evolution = {
        "key": f"{plan.BASE}|evolution/vegas",
        "run": 0,
        "curve_times": np.array([0.0, 0.85 * last, last]),
        "curve": np.array([1.0, 20.0, 20.0 + step]),
    }
    results = pd.concat(
        [tables(), pd.DataFrame([dict.fromkeys(PAPER.columns, math.nan) | evolution])], ignore_index=True
    )
    assert verdicts(results)["ALT-26"] == verdict


def test_claims_without_runs_are_not_checkable():
    found = verdicts(tables())
    missing = ["ALT-01", "ALT-05", "ALT-20", "ALT-24", "ALT-28", "ALT-31"]
    assert {name: found[name] for name in missing} == dict.fromkeys(missing, "not-checkable")


def test_the_other_reading_of_the_smallest_round_trip_time_moves_the_model():
    evidence = evidence_of.Evidence(tables())
    moved = evidence.of_group("nu")
    rows = [grid.by_id("A19")]
    usual, other = (
        one.model("steady", lambda row: row.link.base_rtt, rows).mean() for one in (evidence, moved)
    )
    # 1/20 s of service instead of 1/100 s.
    assert other - usual == pytest.approx(0.04)


def test_a_sweep_ends_with_the_buffer_from_which_less_than_half_lose():
    sweep = evidence_of.Sweep(4.0, {3: 1.0, 4: 1.0, 5: 0.25, 6: 0.5, 7: 0.0, 8: 0.25})
    assert (sweep.predicted, sweep.smallest_stable, sweep.is_cut_off) == (5, 7, False)
    assert evidence_of.Sweep(4.0, {3: 1.0, 4: 1.0}).is_cut_off
    assert evidence_of.Sweep(4.0, {3: 0.0, 4: 0.0}).smallest_stable == 3


REPORT = (ROOT / "papers" / "altman" / "report.md").read_text("utf-8")


def test_every_table_and_figure_that_the_report_names_exists():
    assert set(re.findall(r"\{rows (\w+)\}", REPORT)) <= set(vars(part("tables")))
    assert set(re.findall(r"\(figure (\w+)\)", REPORT)) <= set(vars(part("figures")))


def test_examined_misses_are_claims_of_the_register():
    looked_into = set(re.findall(r'examined\("([\w-]+)"', REPORT))
    assert looked_into
    assert looked_into <= {claim.id for claim in PAPER.claims()}
