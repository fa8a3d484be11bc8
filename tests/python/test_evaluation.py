"""Evaluation by RFC 9743: algorithms by name, limits, items, the store, and the report."""

from __future__ import annotations

import dataclasses
import hashlib
import html
import importlib
import json
import math
import os
import pkgutil
import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import dumbbell
from conftest import ROOT
from dumbbell import evaluation, plots
from dumbbell.cli import app
from dumbbell.errors import ScenarioError
from dumbbell.evaluation import ITEMS, evaluating, split
from dumbbell.evaluation.algorithm import algorithm
from dumbbell.evaluation.figures import figure_of
from dumbbell.evaluation.item import Item, Judged, decided, verdict_of
from dumbbell.evaluation.items.alone import converged_s
from dumbbell.evaluation.items.competing import COEXISTENCE, mean_harm
from dumbbell.evaluation.items.suite import EDGE_RTTS, mean_of_unit, sizes
from dumbbell.evaluation.means import Need, missing, registered
from dumbbell.evaluation.page import METRICS, _digits, _metrics, _reported, command, findings, page
from dumbbell.evaluation.record import Record
from dumbbell.evaluation.reduction import FLOW_FIELDS, LINK_FIELDS, _delays
from dumbbell.evaluation.study import SUBJECT, Study, bdp_packets, greedy
from dumbbell.judge.baseline import Limit, compared
from dumbbell.judge.quantity import Quantity
from dumbbell.plots.look import GREY

HAS_AIMD = "aimd" in registered("algorithms")
UNFAIR = "aimd:decrease=0.95" if HAS_AIMD else "vegas:alpha=500,beta=1000"
TIMID = "aimd:increase=0.02" if HAS_AIMD else "vegas:alpha=0.1,beta=0.2"


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """The folder of the results of this module, so that baselines run once."""
    return tmp_path_factory.mktemp("evaluation")


def evaluated(place, name, *only, **settings):
    settings = {"against": ["reno"], "quick": True, "quiet": True} | settings
    return dumbbell.evaluate(name, only=only, output=place, **settings)


def study(name="vegas", *, quick=True, runs=3):
    return Study(
        subject=algorithm(name),
        baselines=(algorithm("reno"),),
        quick=quick,
        seed=1,
        runs=runs,
        against=("reno",),
    )


# --- algorithms ---


def test_an_algorithm_has_the_parameters_of_its_text():
    made = algorithm("vegas:alpha=2,beta=4.5")
    assert (made.name, dict(made.parameters), made.text) == (
        "vegas",
        {"alpha": 2, "beta": 4.5},
        "vegas:alpha=2,beta=4.5",
    )
    assert made == algorithm(" vegas:alpha=2,beta=4.5 ")


def test_reno_uses_sack_and_vegas_what_it_brings():
    assert algorithm("reno").tcp().recovery == "sack"
    assert algorithm("reno").recovery == "SACK"
    assert algorithm("vegas").tcp().recovery is None


def test_a_variant_is_an_algorithm():
    assert algorithm("newreno").tcp().variant == "newreno"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("vegs", "did you mean `vegas`"),
        ("mine/gradient.py", "or one of your own: python:module.Class or library:FILE"),
        ("Gradient", "or one of your own: python:module.Class or library:FILE"),
        ("vegas:alfa=1", "did you mean `alpha`"),
        ("vegas:alpha", "a name with parameters"),
        ("newreno:alpha=1", "is not a parameter"),
        ("vegas:alpha=-1", "alpha"),
        ("vegas:alpha=many", "alpha"),
    ],
)
def test_an_unknown_algorithm_or_parameter_is_refused(text, said):
    with pytest.raises(ScenarioError, match=re.escape(said)):
        algorithm(text)


def test_a_list_of_algorithms_keeps_their_parameters_together():
    assert split("reno,vegas:alpha=1,beta=2,code") == ["reno", "vegas:alpha=1,beta=2", "code"]


def test_settings_out_of_range_are_refused(place):
    with pytest.raises(ScenarioError, match="is not an item"):
        evaluated(place, "reno", "bufferblot")
    with pytest.raises(ScenarioError, match="runs"):
        evaluated(place, "reno", "iot", runs=1)
    with pytest.raises(ScenarioError, match="seed"):
        evaluated(place, "reno", "iot", seed=-1)
    with pytest.raises(ScenarioError, match="against: nothing is not accepted; expected names of algorithms"):
        evaluated(place, "reno", "iot", against=[])
    with pytest.raises(ScenarioError, match="threads: 0 is not accepted; expected a whole number from 1"):
        evaluated(place, "reno", "misbehaving", threads=0)
    assert evaluated(place, "reno", "misbehaving", threads=1).verdicts


# --- limits ---

LIMIT = Limit(column="delay", label="delay", unit="ms", factor=1.5, slack=0.01)


def table(**values):
    """Return results at one point: three values of the delay by role."""
    return pd.DataFrame(
        [
            {"point": "here", "x": 1.0, "panel": "", "role": role, "run": run, "delay": value}
            for role, column in values.items()
            for run, value in enumerate(column)
        ]
    )


def one_comparison(limit, **values):
    item = replace(COEXISTENCE, limits=(limit,))
    (found,) = compared(item.limits, table(**values), "subject")
    return found


def test_a_limit_is_broken_if_the_whole_interval_exceeds_it():
    # 1.5 * 0.02 + 0.01 = 0.04; the subject exceeds it by 0.01 in each run.
    found = one_comparison(LIMIT, subject=[0.05, 0.05, 0.05], reno=[0.02, 0.02, 0.02])
    assert (found.state, verdict_of(found)) == ("broken", "worse than the baselines")
    assert found.allowed == pytest.approx(0.04)
    assert found.excess.estimate == pytest.approx(0.01)


def test_a_limit_is_undecided_if_only_the_estimate_exceeds_it():
    # Excesses 0.05, -0.02 and 0: mean 0.01, and far from certain.
    found = one_comparison(LIMIT, subject=[0.09, 0.02, 0.04], reno=[0.02, 0.02, 0.02])
    assert (found.state, verdict_of(found)) == ("undecided", "undecided")


def test_the_most_lenient_baseline_decides():
    values = {"subject": [0.05] * 3, "reno": [0.02] * 3, "cubic": [0.04] * 3}
    found = one_comparison(LIMIT, **values)
    assert (found.state, found.against) == ("kept", "cubic")


def test_an_estimate_above_the_limit_is_more_lenient_than_a_certain_excess():
    # The subject exceeds reno's limit of 0.04 by 0.001 in each run, and that of cubic by 0.03, -0.01 and 0.01.
    values = {"subject": [0.041] * 3, "reno": [0.02] * 3, "cubic": [0.002 / 3, 0.082 / 3, 0.042 / 3]}
    found = one_comparison(LIMIT, **values)
    assert (found.state, found.against) == ("undecided", "cubic")
    assert found.excess.estimate == pytest.approx(0.01)


def test_of_baselines_in_the_same_state_the_one_with_the_smallest_excess_decides():
    for lowest in (0.01, 0.05):
        baselines = {"reno": [lowest] * 3, "cubic": [lowest + 0.01] * 3}
        for order in (baselines, dict(reversed(baselines.items()))):
            assert one_comparison(LIMIT, subject=[0.06] * 3, **order).against == "cubic"


def test_breaking_a_grave_limit_fails_also_relative_to_a_baseline():
    broken = {"subject": [0.05] * 3, "reno": [0.02] * 3}
    grave = one_comparison(replace(LIMIT, grave=True), **broken)
    assert grave.relative
    assert verdict_of(grave) == "fails"
    assert verdict_of(one_comparison(LIMIT, **broken)) == "worse than the baselines"


def test_only_roles_with_a_value_in_every_run_are_compared():
    item = replace(COEXISTENCE, limits=(LIMIT,))
    partly = [0.04, math.nan, 0.04]
    found = one_comparison(LIMIT, subject=[0.05] * 3, reno=[0.02] * 3, cubic=partly)
    assert list(found.baselines) == ["reno"]
    assert found.state == "broken"
    assert compared(item.limits, table(subject=[0.05] * 3, cubic=partly), "subject") == []
    assert compared(item.limits, table(subject=partly, reno=[0.02] * 3), "subject") == []


def test_a_subject_equal_to_its_baseline_keeps_a_limit_without_margin():
    exact = replace(LIMIT, factor=1.0, slack=0.0)
    found = one_comparison(exact, subject=[0.1, 0.2, 0.3], reno=[0.1, 0.2, 0.3])
    assert found.state == "kept"


def test_higher_values_can_be_better():
    limit = replace(LIMIT, better="higher", factor=0.5, slack=0.0)
    assert one_comparison(limit, subject=[0.4] * 3, reno=[1.0] * 3).state == "broken"
    assert one_comparison(limit, subject=[0.6] * 3, reno=[1.0] * 3).state == "kept"


def test_an_absolute_limit_gives_way_to_a_baseline_that_breaks_it():
    limit = replace(LIMIT, bound=0.03)
    alone = one_comparison(limit, subject=[0.04] * 3, reno=[0.02] * 3)
    assert (alone.state, verdict_of(alone)) == ("broken", "fails")
    # The baseline has 0.05; 10 % more is 0.055.
    both = one_comparison(limit, subject=[0.054] * 3, reno=[0.05] * 3)
    assert both.state == "kept"
    worse = one_comparison(limit, subject=[0.056] * 3, reno=[0.05] * 3)
    assert (worse.state, verdict_of(worse)) == ("broken", "worse than the baselines")


def test_the_gravest_comparison_is_the_verdict():
    kept = one_comparison(LIMIT, subject=[0.01] * 3, reno=[0.02] * 3)
    broken = one_comparison(LIMIT, subject=[0.05] * 3, reno=[0.02] * 3)
    assert decided([kept]) == "pass"
    assert decided([kept, broken]) == "worse than the baselines"
    assert decided([]) == "reported"


def test_a_strength_is_less_than_half_of_the_best_baseline():
    assert one_comparison(LIMIT, subject=[0.009] * 3, reno=[0.02] * 3, cubic=[0.03] * 3).is_strength
    assert not one_comparison(LIMIT, subject=[0.011] * 3, reno=[0.02] * 3, cubic=[0.03] * 3).is_strength


def test_a_strength_has_its_whole_interval_below_half_and_not_at_half():
    def strength(subject, **rest):
        return one_comparison(replace(LIMIT, **rest), subject=subject, reno=[0.5] * 3).is_strength

    assert strength([0.24] * 3)
    assert not strength([0.25] * 3)
    # The mean is 0.2; the interval reaches beyond 0.25.
    assert not strength([0.1, 0.2, 0.3])
    assert not strength([0.24] * 3, better="higher")


# --- measures ---


def test_harm_is_the_lost_share():
    # Two Reno flows: each has half of what one has alone.
    assert mean_harm(48.0, 24.0, more_is_better=True) == pytest.approx(0.5)
    # A delay that grows from 20 to 80 ms: 60 of the 80 ms are added.
    assert mean_harm(0.02, 0.08, more_is_better=False) == pytest.approx(0.75)
    assert mean_harm(10.0, 12.0, more_is_better=True) == 0.0


def record(values, *, period=1.0):
    """Return a run whose flows a0, a1, … deliver the given bytes per period."""
    traces = []
    for number, column in enumerate(values):
        total = np.concatenate([[0.0], np.cumsum(column)])
        times = (np.arange(total.size) * period).tolist()
        traces.append(
            {"quantity": "delivered", "name": f"a{number}", "time_s": times, "value": total.tolist()}
        )
    return Record(flows=[], links=[], delay_s=[], traces=traces, duration_s=period * len(values[0]))


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
    run = Record(flows=flows, links=[], delay_s=[], traces=[], duration_s=10.0)
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
    # What an item runs decides its verdicts. Record a change by `DUMBBELL_BLESS=1 pytest tests/python/test_evaluation.py`.
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
    run = Record(flows=[], links=[], delay_s=[], traces=[at, arrived], duration_s=170.0)
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
        return measured(Record(flows=flows, links=[], delay_s=[], traces=[], duration_s=1.0), "own-fairness")

    assert fairness(1e6, 3e6) == {"jain": pytest.approx(0.8), "epsilon": pytest.approx(1 / 3)}
    assert fairness(0.0, 0.0) == {"jain": 1.0, "epsilon": 1.0}


def test_shares_of_old_and_new_flows_are_by_the_mean_of_all():
    flows = [{"name": name, "goodput_bps": bps} for name, bps in (("a0", 3e6), ("a1", 5e6), ("b0", 1e6))]
    run = Record(flows=flows, links=[], delay_s=[], traces=[], duration_s=1.0)
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


# --- the report ---


def swept(**rest):
    """Return a judged item with two panels of points, whose estimates are 1 and 2 s."""
    limit = Limit(column="delay", label="delay", unit="ms", bound=1.5)
    item = Item(
        name="delays",
        section="§1",
        title="Delays",
        question="How long?",
        limits=(limit,),
        cases=lambda _: [],
        measure=lambda *_: {},
        **rest,
    )
    rows = [
        {"point": f"{x:g} flows", "x": x, "panel": "", "role": role, "run": run, "delay": base * x + run - 1}
        for x in (1.0, 2.0)
        for role, base in ((SUBJECT, 1.0), ("reno", 2.0))
        for run in range(3)
    ]
    results = pd.DataFrame(rows)
    return Judged(
        item=item,
        verdict="pass",
        why="",
        comparisons=compared(item.limits, results, "subject"),
        results=results,
    )


@pytest.fixture
def drawn(monkeypatch):
    """Return a function that draws the figure of an item and returns its axes."""

    def axes(one):
        made = []
        monkeypatch.setattr(plots, "to_svg", lambda figure: made.append(figure) or "<svg/>")
        assert figure_of(one, study()) is not None
        return [ax for ax in made[0].axes if ax.get_visible()]

    return axes


def test_a_row_of_a_figure_has_an_interval_and_an_estimate_of_each_algorithm_around_its_middle(drawn):
    (ax,) = drawn(swept())
    marks = [line for line in ax.get_lines() if line.get_marker() not in ("", "None")]
    spans = [line for line in ax.get_lines() if line not in marks and line.get_color() != GREY]
    found = {(float(line.get_ydata()[0]), float(line.get_xdata()[0])) for line in marks}
    # The first algorithm is above the second: rows grow downwards. In ms.
    assert found == {(-0.25, 1000.0), (0.25, 2000.0), (0.75, 2000.0), (1.25, 4000.0)}
    assert ax.yaxis_inverted()
    # t[0.95; 2] / sqrt(3) = 1.6858 s on either side; a delay is not negative.
    (first,) = [line.get_xdata() for line in spans if line.get_ydata()[0] == -0.25]
    assert list(first) == pytest.approx([0.0, 1000.0 + 1685.85], abs=0.1)
    assert ax.get_xlim()[0] <= first[0]


def test_the_axes_of_a_sweep_show_zero_and_all_values_and_are_linear_unless_stated(drawn):
    (ax,) = drawn(swept(x_label="flows"))
    assert ax.get_xscale() == "linear"
    low, high = ax.get_ylim()
    assert low <= 0.0
    assert high >= 4000.0 + 1685.85
    (logarithmic,) = drawn(swept(x_label="flows", log_x=True))
    assert logarithmic.get_xscale() == "log"


def test_the_reason_counts_the_points_of_a_broken_limit_if_there_are_several():
    def why(*excesses, point="here"):
        rows = [table(subject=[0.04 + e] * 3, reno=[0.02] * 3) for e in excesses]
        for number, part in enumerate(rows):
            part["point"] = f"{point}{number}"
        item = replace(COEXISTENCE, limits=(LIMIT,))
        listed = compared(item.limits, pd.concat(rows), "subject")
        return evaluating._why(listed, decided(listed))

    assert why(0.01).startswith("delay 50 [50, 50] ms, limit 40 (reno), here0")
    assert why(0.01, -0.01).startswith("1 of 2 points; delay 50 ")
    assert why(0.01, 0.02).startswith("2 of 2 points; delay 60 ")
    assert why(-0.01, -0.02).startswith("closest to its limit: delay 30 ")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (-1e-10, "0"),
        (9.9e-5, "9.90e-05"),
        (1e-4, "0.0001"),
        (-0.12345, "-0.123"),
        (99.96, "100"),
        (12345.6, "12346"),
        (1e5, "1.00e+05"),
    ],
)
def test_a_number_of_the_report_has_three_digits_and_an_exponent_only_if_it_is_unusual(value, text):
    assert _digits(value) == text


def test_the_report_shows_what_was_measured_by_point_and_algorithm_and_leaves_out_empty_rows():
    item = replace(swept().item, limits=(), reports=(Quantity(column="delay", label="delay", unit="s"),))
    results = swept().results
    results.loc[(results["point"] == "2 flows") & (results["role"] == "reno"), "delay"] = math.nan
    reported = _reported(study(), Judged(item=item, verdict="reported", why="", results=results))
    assert reported.caption == "Reported"
    rows = [[getattr(cell, "text", cell) for cell in row] for row in reported.rows]
    assert rows == [["1 flows", "vegas", "1"], ["1 flows", "reno", "2"], ["2 flows", "vegas", "2"]]


def test_metrics_are_those_of_the_items_that_were_run_at_their_points():
    section, name, point, measures = METRICS[-1]
    item = next(item for item in ITEMS if item.name == name)
    results = pd.DataFrame(
        [
            {"point": at, "role": role, "run": run, measures[0].column: value}
            for at, factor in (("elsewhere", 7.0), (point, 1.0))
            for role, value in ((SUBJECT, 2e6 * factor), ("reno", 4e6 * factor))
            for run in range(3)
        ]
    )
    metrics = _metrics(study(), [Judged(item=item, verdict="pass", why="", results=results)])
    ((title, own, baseline),) = metrics.rows
    assert (title.text, title.detail) == (measures[0].title, f"{section}; {name}, {point}")
    assert (own.text, baseline.text) == ("2", "4")
    missing_point = results[results["point"] != point]
    assert _metrics(study(), [Judged(item=item, verdict="pass", why="", results=missing_point)]) is None


def test_an_algorithm_is_called_unfair_by_the_first_item_that_shows_it_and_only_there():
    trait = replace(LIMIT, trait="unfair", breaks="takes more")
    broken = table(subject=[0.05] * 3, reno=[0.02] * 3)
    kept = table(subject=[0.01] * 3, reno=[0.02] * 3)
    judged = []
    for name, results in (("first", kept), ("second", broken), ("third", broken)):
        item = replace(COEXISTENCE, name=name, limits=(replace(trait),))
        listed = compared(item.limits, results, "subject")
        judged.append(Judged(item=item, verdict="fails", why="", comparisons=listed, results=results))
    (found,) = findings(study(), judged)
    assert (found.item, found.text) == ("second", "vegas is unfair: it takes more at 1 of 1 points")


# --- what is stored of a run ---


def test_deliveries_count_from_the_first_sample_and_the_floor_is_of_each_interval():
    run = record([[10, 0, 20]])
    assert run.delivered("a", np.array([-1.0, 0.0, 1.0, 3.0])).tolist() == [[0.0, 10.0, 20.0]]
    late = {"quantity": "delivered", "name": "a0", "time_s": [1.0, 2.0], "value": [50.0, 60.0]}
    late_run = Record(flows=[], links=[], delay_s=[], traces=[late], duration_s=2.0)
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


# --- evaluations ---


def test_an_unfair_algorithm_is_named_on_the_first_page(place):
    done = evaluated(place, UNFAIR, "coexistence")
    assert not done.passes
    assert done.findings[0].startswith(f"{UNFAIR} is unfair: it takes more than its share at ")
    assert "harm to the goodput of the others" in done.findings[0]
    head = done.report.read_text(encoding="utf-8").split("</header>")[0]
    assert f"{UNFAIR} is unfair" in head


def test_a_timid_algorithm_is_named_on_the_first_page(place):
    done = evaluated(place, TIMID, "coexistence")
    assert not done.passes
    assert done.findings[0].startswith(f"{TIMID} is timid: it gives way beside the baselines")
    head = done.report.read_text(encoding="utf-8").split("</header>")[0]
    assert f"{TIMID} is timid" in head


def test_reno_is_neither_unfair_nor_timid_beside_itself(place):
    done = evaluated(place, "reno", "coexistence")
    assert done.verdicts == {"coexistence": "pass"}
    assert done.findings == ()
    item = done.data["items"][0]
    harms = [one for one in item["comparisons"] if one["quantity"] == "harm"]
    # The same flows, and half of the link for each side.
    assert all(one["subject"] == one["baselines"]["reno"] for one in harms)
    assert all(0.3 < one["subject"]["estimate"] < 0.7 for one in harms)


def test_vegas_loses_to_reno_keeps_queues_short_and_is_fair_to_itself(place):
    done = evaluated(place, "vegas", "coexistence", "bufferbloat", "own-fairness")
    assert done.findings[0].startswith("vegas is timid")
    assert done.verdicts["bufferbloat"] == "pass"
    assert any("keeps queues shorter than half of the baselines'" in text for text in done.strengths)
    fairness = next(item for item in done.data["items"] if item["name"] == "own-fairness")
    same = [
        one for one in fairness["comparisons"] if one["quantity"] == "jain" and "same RTT" in one["point"]
    ]
    assert same
    assert all(one["state"] == "kept" for one in same)


def test_the_folder_of_many_items_has_a_name_that_file_systems_accept(place):
    items = [item.name for item in ITEMS if item.refers or item.lacks]
    done = evaluated(place, "reno", *(items * 10))
    assert len(done.report.parent.name) == 120
    other = evaluated(place, "reno", *(items * 11))
    assert other.report.parent != done.report.parent


def test_a_second_evaluation_reuses_the_runs(place):
    first = evaluated(place, "reno", "iot")
    again = evaluated(place, "reno", "iot")
    assert again.data["runs"] == again.data["runs_kept_from_before"] == first.data["runs"]
    assert again.data["items"] == first.data["items"]
    # The runs of the baseline serve any algorithm.
    other = evaluated(place, "vegas", "iot")
    assert other.data["runs_kept_from_before"] == first.data["runs"]
    assert other.data["runs"] == 2 * first.data["runs"]


def test_the_time_covers_the_report(place, monkeypatch):
    clock = [0.0]

    def slow(*args, **settings):
        clock[0] += 1000.0
        return page(*args, **settings)

    monkeypatch.setattr(evaluating, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    monkeypatch.setattr(evaluating, "page", slow)
    done = evaluated(place, "reno", "iot")
    assert done.run_time_s == done.data["run_time_s"] == 1000.0
    assert json.loads(done.results.read_text("utf-8"))["run_time_s"] == 1000.0


class Sound(dumbbell.Control):
    """Additive increase, multiplicative decrease."""

    def on_ack(self, ack):
        if not ack.in_recovery:
            self.cwnd = ack.grown(self.cwnd, ack.mss * ack.mss / self.cwnd)

    def on_congestion(self, congestion):
        rest = max(congestion.flight_size / 2, 2 * congestion.mss)
        self.ssthresh = min(rest, max(self.cwnd, 2 * congestion.mss))
        self.cwnd = congestion.loss_window if congestion.restarts else self.ssthresh


class Frozen(Sound):
    """Never grows."""

    def on_ack(self, ack):
        pass


class Raising(Sound):
    """Fails at the first acknowledgement."""

    def on_ack(self, ack):  # noqa: ARG002 - the signature of Control
        raise ZeroDivisionError("a bug of the user's")


@pytest.mark.parametrize(
    ("control", "text"),
    [
        (Frozen, "dumbbell.check(Frozen): Frozen: the window never grows"),
        (Raising, "dumbbell.check(Raising): ZeroDivisionError: a bug of the user's"),
    ],
)
def test_an_own_control_that_violates_a_property_is_named(place, capsys, control, text):
    # An item without runs.
    done = evaluated(place, control, "misbehaving", against=["reno", f"python:{__name__}.Sound"])
    (warning,) = done.data["warnings"]
    assert warning.startswith(text)
    assert text in " ".join(capsys.readouterr().err.split())
    assert warning in html.unescape(done.report.read_text("utf-8"))


def test_an_interrupted_evaluation_resumes(place, monkeypatch):
    from dumbbell.campaign import Interrupted, PlannedRuns

    whole = PlannedRuns.make

    def interrupted(self, make, display, title=""):
        whole(self, make, display, title)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(PlannedRuns, "make", interrupted)
        with pytest.raises(Interrupted, match="the same command resumes"):
            evaluated(place, "reno", "data-centre")
    done = evaluated(place, "reno", "data-centre")
    assert done.data["runs"] == done.data["runs_kept_from_before"]


def test_an_item_without_means_is_not_available(place):
    done = evaluated(place, "reno", "multipath", "bbr-cases", "tail-drop")
    assert done.verdicts == {
        "multipath": "not available",
        "bbr-cases": "not applicable",
        "tail-drop": "not available",
    }
    assert "a connection of the engine has one path at a time" in done.report.read_text(encoding="utf-8")


def test_an_item_that_the_engine_refuses_for_an_algorithm_is_not_applicable(place, monkeypatch):
    from dumbbell.evaluation import evaluating

    def refused(_):
        raise ScenarioError("tcp.ecn: not with this algorithm")

    item = replace(COEXISTENCE, name="refused", cases=refused)
    monkeypatch.setattr(evaluating, "ITEMS", (item,))
    done = evaluated(place, "reno")
    assert done.verdicts == {"refused": "not applicable"}
    assert "not with this algorithm" in done.data["items"][0]["why"]


def test_an_algorithm_without_sack_uses_what_it_brings_and_says_so():
    assert algorithm("reno").accepts(ecn="classic")
    assert not algorithm("reno").accepts(ecn="nonsuch")
    assert not algorithm("vegas").accepts(recovery="sack")


def test_tail_drop_has_the_gravest_verdict_of_its_items(place):
    done = evaluated(place, "vegas", "coexistence", "bufferbloat", "tail-drop")
    assert done.verdicts["bufferbloat"] == "pass"
    assert done.verdicts["tail-drop"] == done.verdicts["coexistence"] != "pass"


# --- the command ---


def invoke(*args):
    return CliRunner().invoke(app, ["evaluate", *(str(argument) for argument in args)])


def test_the_command_prints_verdicts_and_the_report(place):
    result = invoke("vegas:alpha=2", "--against", "reno", "--quick", "--only", "iot", "--output", place)
    assert result.exit_code == 0, result.output
    assert "RFC 9743 §7.4" in result.stdout
    assert "report: " in result.stdout
    again = invoke("vegas:alpha=2", "--against", "reno", "--quick", "--only", "iot", "--output", place)
    runs = json.loads(next(place.glob("evaluate-vegas-alpha=2*/results.json")).read_text("utf-8"))["runs"]
    assert f"{runs} runs, {runs} of them reused from the store, " in again.stdout
    report = next(place.glob("evaluate-vegas-alpha=2*")) / "index.html"
    text = report.read_text(encoding="utf-8")
    assert "dumbbell evaluate vegas:alpha=2 --against reno --quick --only iot" in text
    assert "<svg" in text


def test_the_command_prints_json(place):
    result = invoke("reno", "--against", "reno", "--quick", "--only", "iot", "--json", "--output", place)
    data = json.loads(result.stdout)
    assert data["algorithm"] == "reno"
    assert [item["verdict"] for item in data["items"]] == ["pass"]


def test_strict_exits_with_1_if_something_is_worse(place):
    args = ["--against", "reno", "--quick", "--strict", "--output", place]
    assert invoke("reno", *args, "--only", "iot").exit_code == 0
    assert invoke(TIMID, *args, "--only", "coexistence").exit_code == 1


def test_bad_input_is_one_line():
    for args in (["vegs"], ["vegas:alpha=-1"], ["vegas", "--only", "nothing"], ["vegas", "--against", "no"]):
        result = invoke(*args)
        assert result.exit_code == 2
        lines = result.stderr.strip().splitlines()
        assert len(lines) == 1, result.stderr
        assert lines[0].startswith("error: ")
