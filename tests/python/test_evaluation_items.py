"""Items of an evaluation: what they measure, their traffic, their cases, and what is stored of a run."""

from __future__ import annotations

import dataclasses
import hashlib
import importlib
import json
import os
import pkgutil
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from conftest import ROOT
from dumbbell import evaluation
from dumbbell.evaluation import ITEMS
from dumbbell.evaluation.algorithm import algorithm
from dumbbell.evaluation.items.alone import converged_s
from dumbbell.evaluation.items.competing import COEXISTENCE, mean_harm
from dumbbell.evaluation.items.suite import EDGE_RTTS, mean_of_unit, sizes
from dumbbell.evaluation.means import Need, missing
from dumbbell.evaluation.page import command
from dumbbell.evaluation.record import Record
from dumbbell.evaluation.reduction import FLOW_FIELDS, LINK_FIELDS, _delays
from dumbbell.evaluation.study import SUBJECT, bdp_packets, greedy
from small_evaluation import record, run_with, study

# --- measures ---


def test_harm_is_the_lost_share():
    # Two Reno flows: each has half of what one has alone.
    assert mean_harm(48.0, 24.0, more_is_better=True) == pytest.approx(0.5)
    # A delay that grows from 20 to 80 ms: 60 of the 80 ms are added.
    assert mean_harm(0.02, 0.08, more_is_better=False) == pytest.approx(0.75)
    assert mean_harm(10.0, 12.0, more_is_better=True) == 0.0


def test_starvation_is_the_longest_run_of_intervals_below_the_floor():
    run = record([[10, 0, 0, 10, 0, 0, 0, 10]])
    assert run.longest_below_s("a", 5.0, begin=0.0, end=8.0, step=1.0) == 3.0
    assert run.longest_below_s("a", 5.0, begin=0.0, end=6.0, step=1.0) == 2.0


def test_convergence_counts_to_the_first_fair_interval():
    run = record([[90, 80, 60, 52, 50], [10, 20, 40, 48, 50]])
    # 48/52 is the first ratio of at least 0.818.
    assert converged_s(run, 0.0, step=1.0, hold=1, share=0.9 / 1.1) == 4.0
    assert converged_s(run, 0.0, step=1.0, hold=3, share=0.9 / 1.1) == 5.0


def test_the_time_to_a_share_ends_with_the_interval_that_reaches_it():
    # 1000 bytes per second are 8 kbit/s, and 90 % of the payload of 8 kbit/s is 876 bytes.
    run = record([[100, 500, 900, 1000]])
    assert run.time_to_share_s("a", 0.9, 8000.0, begin=0.0, step=1.0) == 3.0
    assert run.time_to_share_s("a", 0.9, 80_000.0, begin=1.0, step=1.0) == 3.0


def test_a_transfer_that_does_not_end_counts_with_its_age():
    flows = [
        {"name": "short0", "completion_s": 1.5, "start_s": 2.0},
        {"name": "short1", "completion_s": None, "start_s": 6.0},
    ]
    run = run_with(flows, duration_s=10.0)
    assert run.completion_s("short").tolist() == [1.5, 4.0]


def test_the_bdp_is_in_full_packets():
    # 20 Mbit/s * 40 ms = 800 kbit = 66.7 packets of 12 kbit.
    assert bdp_packets(20e6, 0.04) == 67
    assert bdp_packets(20e6, 0.04, 0.5) == 33
    assert bdp_packets(1e4, 0.01) == 1


# --- traffic ---


def test_edges_have_the_nine_round_trip_times_of_the_suite():
    assert [round(1e3 * rtt) for rtt in EDGE_RTTS] == [4, 28, 54, 74, 98, 124, 150, 174, 200]


def test_sizes_of_sessions_have_their_mean():
    drawn = sizes(1000.0, np.random.Generator(np.random.PCG64(1)), 400_000)
    assert np.mean(drawn) == pytest.approx(1000.0, rel=0.02)
    # The smallest by the mean is one by the mean of the distribution that starts at 1.
    assert min(drawn) == pytest.approx(1000.0 / mean_of_unit(), rel=0.001)


def test_drawn_traffic_is_the_same_for_all_algorithms():
    def drawn(name, run):
        flows = study(name).transfers(
            "short",
            run,
            load_bps=1e6,
            begin=1.0,
            end=9.0,
            tcp=algorithm(name).tcp(),
            sizes=lambda random, count: random.uniform(1e3, 1e4, count),
            mean_bytes=5.5e3,
        )
        return [(flow.start, flow.source.size) for flow in flows]

    assert drawn("vegas", 0) == drawn("reno", 0)
    assert drawn("vegas", 0) != drawn("vegas", 1)


# --- items ---


def test_items_have_different_names_and_only_known_references():
    names = [item.name for item in ITEMS]
    assert len(set(names)) == len(names)
    assert all(set(item.summarizes) <= set(names) for item in ITEMS)


@pytest.mark.parametrize("quick", [True, False], ids=["quick", "full"])
@pytest.mark.parametrize(
    "item",
    [item for item in ITEMS if not (item.refers or item.summarizes or item.lacks or missing(item.needs))],
    ids=lambda item: item.name,
)
def test_every_point_has_the_subject_and_its_baseline(item, quick):
    roles: dict[str, list[str]] = {}
    for case in item.cases(study(quick=quick)):
        roles.setdefault(case.point, []).append(case.role)
    assert roles
    for point, listed in roles.items():
        assert sorted(role for role in listed if not role.startswith("_")) == ["reno", SUBJECT], point
        assert len(set(listed)) == len(listed), point


def of_item(name, point="", *, role=SUBJECT, quick=True):
    """Return an item and its first case at a point."""
    item = next(item for item in ITEMS if item.name == name)
    cases = item.cases(study(quick=quick))
    return item, next(case for case in cases if point in case.point and case.role == role)


def recorded_case(case):
    """Return a case as plain data, with the scenario of its first replication."""
    return [case.point, case.role, case.x, case.panel, case.facts, first_scenario(case).to_dict()]


def first_scenario(case):
    """Return the scenario of the first replication of a case."""
    return case.scenario(0) if callable(case.scenario) else case.scenario


@pytest.mark.parametrize("scale", ["quick", "full"])
@pytest.mark.parametrize("item", ITEMS, ids=lambda item: item.name)
def test_the_cases_of_an_item_are_the_recorded_ones(item, scale):
    # What an item runs decides its verdicts. Record a change by `DUMBBELL_BLESS=1 pytest tests/python/test_evaluation_items.py`.
    cases = [recorded_case(case) for case in item.cases(study(quick=scale == "quick"))]
    digest = hashlib.sha256(json.dumps(cases, sort_keys=True).encode()).hexdigest()[:16]
    place = ROOT / "tests" / "evaluation-cases.csv"
    recorded = pd.read_csv(place, index_col=["item", "scale"])
    if os.environ.get("DUMBBELL_BLESS"):
        recorded.loc[(item.name, scale), :] = [len(cases), digest]
        recorded.astype({"cases": int}).to_csv(place)
    assert recorded.loc[(item.name, scale)].tolist() == [len(cases), digest]
    assert set(recorded.index.get_level_values("item")) == {item.name for item in ITEMS}


def test_a_point_on_a_percent_axis_lies_at_its_percentage():
    found = 0
    for item in ITEMS:
        if "[%" in item.x_label:
            for case in item.cases(study()):
                stated = re.search(r"([\d.]+) ?%", case.point)
                found += stated is not None
                assert stated is None or case.x == pytest.approx(float(stated[1])), case.point
    assert found > 20


def measured(record, name, point="", **rest):
    """Return what an item measures in a run of its first case at a point."""
    item, case = of_item(name, point, **rest)
    return item.measure(case, record)


def full_record(*names):
    """Return a run of 60 s in which flows of some names deliver 1.6 Mbit/s."""
    times = np.arange(0.0, 60.0, 0.1)
    rising = {"time_s": times.tolist(), "value": (times * 2e5).tolist()}
    flow = dict.fromkeys(FLOW_FIELDS, 2.0) | {"start_s": 0.0}
    return Record(
        flows=[flow | {"name": name} for name in names],
        links=[dict.fromkeys(LINK_FIELDS, 0.5) | {"packets": 1000.0, "name": "r1-r2"}],
        delay_s=[0.01] * 6,
        traces=[
            {"quantity": quantity, "name": name} | rising
            for quantity in ("delivered", "cwnd", "seq_sent")
            for name in names
        ],
        duration_s=60.0,
    )


@pytest.mark.parametrize("item", [item for item in ITEMS if item.limits], ids=lambda item: item.name)
def test_an_item_measures_the_quantities_of_its_limits_and_reports(item):
    rows = []
    for case in item.cases(study()):
        run = full_record(*(flow["name"] for flow in first_scenario(case).to_dict()["flows"]))
        place = {"point": case.point, "x": case.x, "panel": case.panel, "role": case.role}
        rows.append(place | {"run": 0} | dict(item.measure(case, run)))
    results = pd.DataFrame(rows) if item.derive is None else item.derive(pd.DataFrame(rows))
    assert {one.column for one in (*item.limits, *item.reports)} <= set(results.columns)


def test_segments_at_the_highest_partial_loss_are_counted_from_its_beginning_to_its_end():
    # In quick mode the loss is 90 % from 30 to 40 s and total until 100 s; a round trip is 40 ms.
    sent = [29.0, 30.0, 30.5, 39.0, 40.0, 41.0, 45.0, 53.0, 69.0]
    at = {"quantity": "seq_sent", "name": "a0", "time_s": sent, "value": [0.0] * len(sent)}
    arrived = {"quantity": "delivered", "name": "a0", "time_s": [0.0, 35.0, 99.0, 110.0, 120.0]}
    arrived |= {"value": [0.0, 5.0, 5.0, 5.0, 6.0]}
    run = run_with(traces=[at, arrived], duration_s=170.0)
    found = measured(run, "collapse", "loss rising")
    # Three segments in 250 round trips: those at 30.5, 39 and 40 s.
    assert found["per_rtt"] == pytest.approx(3 / 250)
    # Gaps of 8 and 16 s after the first two seconds of total loss.
    assert found["backoff"] == pytest.approx(2.0)
    # The first new data after the total loss arrive 20 s after its end.
    assert found["resumes"] == pytest.approx(20.0)


def test_useful_data_are_those_that_arrive_by_those_that_the_bottleneck_carries():
    run = replace(full_record("a0"), flows=[{"name": "a0", "bytes_delivered": 730_000.0}])
    assert measured(run, "collapse", "100 flows") == {"useful": pytest.approx(0.5)}


def test_flows_have_converged_if_both_are_within_a_tenth_of_the_mean():
    # 1.1 to 0.9 is fair, 1.11 to 0.89 is not; the second flow begins at 10 s, intervals have 2 s.
    shares = [[50] * 5 + [111, 111, 110] + [110] * 37, [0] * 5 + [89, 89, 90] + [90] * 37]
    assert measured(record(shares, period=2.0), "own-fairness", "starts late") == {"converged": 6.0}


def test_fairness_among_own_flows_has_an_index_and_the_smallest_by_the_largest():
    def fairness(*goodputs):
        flows = [{"name": f"a{number}", "goodput_bps": value} for number, value in enumerate(goodputs)]
        return measured(run_with(flows), "own-fairness")

    assert fairness(1e6, 3e6) == {"jain": pytest.approx(0.8), "epsilon": pytest.approx(1 / 3)}
    assert fairness(0.0, 0.0) == {"jain": 1.0, "epsilon": 1.0}


def test_shares_of_old_and_new_flows_are_by_the_mean_of_all():
    flows = [{"name": name, "goodput_bps": bps} for name, bps in (("a0", 3e6), ("a1", 5e6), ("b0", 1e6))]
    run = run_with(flows)
    assert measured(run, "deployment", "10 % new") == pytest.approx({"share": 4 / 3, "share_other": 1 / 3})


def test_a_rate_is_regained_only_where_it_becomes_free():
    run = full_record("a0", "crowd0", "cbr")
    assert "regained" not in measured(run, "transients", "flash crowd")
    assert "regained" not in measured(run, "transients", "is taken")
    # Of 20 Mbit/s, 1.6 Mbit/s are never enough: the rest of the run after 15 s.
    assert measured(run, "transients", "becomes free")["regained"] == 45.0


def test_what_the_registry_lacks_is_named():
    assert missing([Need("queues", ("codel", "nonsuch"), "a queue")]) == ""
    assert missing([Need("queues", ("nonsuch",), "nonsuch")]) == "nonsuch is not registered under queues"
    assert "none of this, that" in missing([Need("queues", ("this", "that"), "a queue")])
    assert missing([Need("no such section", ("codel",), "a queue")])


def test_every_item_is_documented():
    text = (ROOT / "docs" / "evaluate.md").read_text(encoding="utf-8")
    for item in ITEMS:
        (row,) = [
            line for line in text.splitlines() if line.startswith(f"| `{item.name}` | {item.section} |")
        ]
        assert row.endswith(f"| {item.criterion or '–'} |")


def test_the_command_of_an_item_states_what_differs_from_the_defaults():
    assert command(study("vegas:alpha=2"), COEXISTENCE) == (
        "dumbbell evaluate vegas:alpha=2 --against reno --quick --only coexistence"
    )
    plain = replace(study(), quick=False, runs=7, seed=3, against=())
    assert command(plain, COEXISTENCE) == "dumbbell evaluate vegas --seed 3 --seeds 7 --only coexistence"


# --- what is stored of a run ---


def test_deliveries_count_from_the_first_sample_and_the_floor_is_of_each_interval():
    run = record([[10, 0, 20]])
    assert run.delivered("a", np.array([-1.0, 0.0, 1.0, 3.0])).tolist() == [[0.0, 10.0, 20.0]]
    late = {"quantity": "delivered", "name": "a0", "time_s": [1.0, 2.0], "value": [50.0, 60.0]}
    late_run = run_with(traces=[late], duration_s=2.0)
    assert late_run.delivered("a", np.array([0.0, 1.0, 2.0])).tolist() == [[50.0, 10.0]]


def test_the_delay_is_that_of_the_backlog_at_the_rate_of_the_link_from_the_start_of_measurement():
    scenario = study().path().scenario(greedy(algorithm("reno"), 1, "a"), duration=10.0, measure_from=5.0)
    # 5 packets of 12 kbit at 20 Mbit/s are 3 ms.
    backlog = pd.DataFrame({"name": "r1-r2", "time_s": [1.0, 5.0, 6.0], "value": [100.0, 5.0, 15.0]})
    assert _delays(backlog, scenario) == pytest.approx([0.006, 0.003, 0.006, 0.0087, 0.00894, 0.009])
    assert _delays(backlog[:1], scenario) == []


def test_nothing_that_describes_an_evaluation_can_be_changed():
    found = 0
    for module in pkgutil.walk_packages(evaluation.__path__, "dumbbell.evaluation."):
        for made in vars(importlib.import_module(module.name)).values():
            if isinstance(made, type) and dataclasses.is_dataclass(made):
                found += 1
                assert made.__dataclass_params__.frozen, made
    assert found > 10
