"""Quantities, estimates and rules: how sure a measured value is, and whether it holds."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from dumbbell.judge.agreement import Agreed, compared
from dumbbell.judge.bound import Bound
from dumbbell.judge.criterion import at_most, counted, criteria_table, not_measured
from dumbbell.judge.estimate import (
    NotMeasured,
    Outcome,
    above,
    farthest,
    held,
    listing,
    mean_of,
    ordering,
    quotient,
    resampled,
)
from dumbbell.judge.quantity import Quantity
from dumbbell.judge.rule import Rule, Share, Within
from dumbbell.judge.runs import KeyedRuns
from dumbbell.statistics import Interval, mean_interval, paired_ratio, resample_weights


@pytest.mark.parametrize(
    ("values", "low", "high"),
    [([0.0, 0.0, 0.003], 0.0, 0.0039), ([1.0, 1.0, 0.97], 0.9608, 1.0), ([0.4, 0.5, 0.6], 0.3314, 0.6686)],
)
def test_the_interval_of_a_bounded_quantity_stays_in_its_bounds(values, low, high):
    share = Quantity(column="x", label="share", most=1.0)
    found = share.mean(pd.DataFrame({"x": values}))
    assert (found.low, found.high) == pytest.approx((low, high), abs=1e-4)
    assert found.estimate == pytest.approx(np.mean(values))


def test_an_unbounded_quantity_keeps_its_interval():
    change = Quantity(column="x", label="change", least=-math.inf)
    assert change.bounded(Interval(estimate=0, low=-2, high=2, confidence=0.9, n=3)).low == -2


@pytest.mark.parametrize("values", [[1.0], [1.0, math.nan], [1.0, math.inf]])
def test_a_mean_needs_two_replications_that_have_the_value(values):
    assert Quantity(column="x", label="x").mean(pd.DataFrame({"x": values})) is None


def test_means_leave_out_groups_that_lack_a_value():
    rows = pd.DataFrame({"at": ["a", "a", "b", "b"], "x": [1.0, 3.0, 1.0, math.nan]})
    found = Quantity(column="x", label="x").means(rows, "at")
    assert list(found) == ["a"]
    assert found["a"].estimate == 2.0


def test_a_mean_has_students_interval_and_a_ratio_that_of_fieller():
    above_, below = np.array([1.0, 2.0, 4.0]), np.array([10.0, 11.0, 12.0])
    mean, ratio = mean_of(above_), quotient(above_, below)
    assert (mean.low, mean.high) == (mean_interval(above_).low, mean_interval(above_).high)
    assert (ratio.low, ratio.high) == (paired_ratio(above_, below).low, paired_ratio(above_, below).high)


@pytest.mark.parametrize(
    "outcome",
    [
        mean_of([2.0, 2.0]),
        mean_of([2.0]),
        quotient([4.0, 4.0], [2.0, 2.0]),
        resampled(np.full(5, 2.0)),
        ordering([2.0, 2.0], lambda value: value > 1),
    ],
)
def test_runs_that_do_not_differ_have_no_interval(outcome):
    assert outcome.measured == 2.0
    assert math.isnan(outcome.low)
    assert math.isnan(outcome.support)


@pytest.mark.parametrize(
    "estimate", [mean_of, lambda x: quotient(x, [1.0, 1.0]), lambda x: ordering(x, np.isfinite)]
)
def test_a_run_without_a_value_makes_an_estimate_not_measured(estimate):
    with pytest.raises(NotMeasured, match=r"^A run has no value\.$"):
        estimate([1.0, math.nan])


def test_an_unbounded_ratio_has_no_interval():
    assert math.isnan(quotient([1.0, 2.0], [-1.0, 1.5]).low)


def test_resamples_give_the_interval_and_the_support():
    values = np.array([0.5, *np.linspace(0.0, 1.0, 101)])
    found = resampled(values, holds=values > 0.25)
    assert (found.low, found.high) == pytest.approx((0.05, 0.95))
    assert (found.holds, found.support) == (True, pytest.approx(75 / 101))


def test_the_smallest_margin_decides_several_inequalities():
    found = above([np.array([3.0, 2.0]), np.array([1.5, 2.5])], limit=1.0)
    assert (found.measured, found.holds, found.support) == (1.5, True, 1.0)


def test_statements_that_do_not_hold_are_named():
    found = held({"a": True, "b": False}, "of two")
    assert (found.measured, found.holds, found.note) == (1.0, False, "1 of 2; not: b; of two")


def test_the_ratio_farthest_from_one_stands_for_several_values():
    found = farthest({"a": (1.1, 1.0), "b": (3.0, 2.0)})
    assert found.measured == 1.5
    assert found.note == "a: 1.1 (expected 1), b: 3 (expected 2)"


def test_values_are_listed_with_their_names():
    assert listing(["a", "b"], [np.array([1.0, 9.0]), 2.0], "{:.0f}") == "a: 1, b: 2"


@pytest.mark.parametrize(
    ("low", "high", "measured", "verdict"),
    [
        (95, 105, 100, "holds"),
        (85, 105, 100, "undecided"),
        (111, 120, 115, "does not hold"),
        (80, 120, 111, "undecided"),
        (105, 120, 111, "undecided"),
        (math.nan, math.nan, 111, "does not hold"),
    ],
)
def test_a_tolerance_is_decided_by_the_whole_interval(low, high, measured, verdict):
    rule = Within(value=100.0, tolerance=0.1, relative=True)
    assert rule.judge(Outcome(measured=measured, low=low, high=high)).verdict == verdict


@pytest.mark.parametrize(
    ("support", "holds", "verdict"),
    [
        (0.95, True, "holds"),
        (0.94, True, "undecided"),
        (0.05, False, "does not hold"),
        (0.06, False, "undecided"),
        (0.99, False, "undecided"),
        (0.01, True, "undecided"),
        (math.nan, False, "does not hold"),
    ],
)
def test_an_inequality_is_decided_by_nearly_all_resamples(support, holds, verdict):
    assert Rule().judge(Outcome(measured=1.0, holds=holds, support=support)).verdict == verdict


def test_a_share_of_points_must_be_reached():
    rule = Share(least=0.9)
    assert rule.judge(Outcome.share([True] * 9 + [False])).verdict == "holds"
    missed = rule.judge(Outcome.share([True] * 8 + [False] * 2))
    assert missed.verdict == "does not hold"
    assert (
        missed.why
        == "It holds at 80 % of the points; accepted in at least 90 % of the points; it holds in 8 of 10."
    )


def runs() -> KeyedRuns:
    return KeyedRuns(
        pd.DataFrame(
            {
                "key": ["base|a", "base|a", "base|b", "moved|a"],
                "run": [0, 1, 0, 0],
                "x": [1.0, 2.0, 3.0, 4.0],
            }
        ),
        "base",
        resamples=2,
    )


def test_a_group_lacks_runs_that_the_base_has():
    moved = runs().of_group("moved")
    assert [row["x"] for row in moved.records("a")] == [4.0]
    assert list(moved.frame("b")["x"]) == [3.0]
    assert (moved.has_runs("moved", "a"), moved.has_runs("moved", "b")) == (True, False)
    assert runs().names() == ["a", "b"]


def test_a_configuration_without_runs_is_not_measured():
    with pytest.raises(NotMeasured, match="There are no runs of fig-1, vegas"):
        runs().records("fig-1|vegas")


def test_a_limited_group_has_the_first_runs_of_each_configuration():
    assert [row["run"] for row in runs().of_group("base", 1).records("a")] == [0]


def test_means_over_runs_share_their_resamples():
    found = runs().mean(np.array([[1.0, 2.0], [2.0, 4.0]]))
    weights = resample_weights(2, seed=(1, 2), resamples=2)
    assert found.tolist() == (weights @ np.array([[1.0, 2.0], [2.0, 4.0]]).T).tolist()


def sides(ours: list[float], peer: list[float]) -> pd.DataFrame:
    rows = [
        {"key": f"{run}", "point": "p", "side": side, "x": value}
        for side, values in (("ours", ours), ("peer", peer))
        for run, value in enumerate(values)
    ]
    return pd.DataFrame(rows)


@pytest.mark.parametrize(
    ("given", "ours", "peer", "agrees"),
    [
        ({"bound": 0.1}, [10.9, 10.9], [10.0, 10.0], True),
        ({"bound": 0.1}, [11.2, 11.2], [10.0, 10.0], False),
        ({"bound": 0.1, "floor": 2.0}, [11.2, 11.2], [10.0, 10.0], True),
        ({"bound": 0.1, "intervals": "equal"}, [5.0, 20.0], [10.0, 10.0], True),
        ({"bound": 0.1, "intervals": "overlap"}, [10.5, 10.5], [10.0, 10.0], False),
        ({"bound": 1.0, "kind": "difference"}, [10.9, 10.9], [10.0, 10.0], True),
    ],
)
def test_both_sides_agree_within_a_bound_or_a_floor_or_by_their_intervals(given, ours, peer, agrees):
    measure = Agreed(column="x", label="x", **given)
    assert compared(sides(ours, peer), measure, factors=())["agrees"].tolist() == [agrees]


def test_a_missed_aim_never_looks_reached():
    missed = counted("x", 9499, 10000, aim=0.95)
    assert (missed.measured, missed.holds) == ("94.9 % (9499 of 10000 samples)", False)
    assert not counted("x", 0, 0, aim=0.0).holds


def test_criteria_are_shown_with_their_answers():
    table = criteria_table([at_most("cost", 2.0, 1.5), not_measured("gain", "at least 1", "one core")])
    assert [[str(getattr(cell, "text", cell)) for cell in row] for row in table.rows] == [
        ["cost", "at most 1.5", "2.00", "no"],
        ["gain", "at least 1", "not measured: one core", "–"],
    ]


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        ("> 0", [1e-12, 3.0], [0.0, -1.0]),
        (">= 0 in all", [0.0, 1.0], [-0.1]),
        ("at least 38", [38.0], [37.9]),
        ("at most 3.05", [3.05, -1.0], [3.06]),
        ("< −0.8", [-0.9], [-0.8, 0.0]),
        ("= 1", [1.0], [0.0, -1.0]),
        ("1 to 5", [1.0, 5.0], [0.9, 5.1]),
        ("> 1 and at most 3.05", [2.0, 3.05], [1.0, 3.1]),
    ],
)
def test_a_bound_judges_by_the_words_it_prints(text, inside, outside):
    bound = Bound.of(text, "s")
    assert bound.words() == text
    assert [bound.accepts(value) for value in (*inside, *outside)] == [True] * len(inside) + [False] * len(
        outside
    )


@pytest.mark.parametrize(
    "text", ["", "all hold", "> 0, and fewer drops", "at most 5 %", "3 within a factor of 2", "> x"]
)
def test_words_that_only_describe_are_no_bound(text):
    assert Bound.of(text) is None


def test_a_bound_is_judged_on_the_resamples_whatever_the_measure_says():
    bound = Bound.of("> 0")
    values = np.array([1.0, *[1.0] * 90, *[-1.0] * 10])
    judgement = bound.judge(Outcome.of(values, holds=values < 0))
    assert (judgement.holds, judgement.verdict) == (True, "undecided")
    assert bound.judge(Outcome.of(-1.0, holds=True)).verdict == "does not hold"
    assert "accepted > 0" in bound.judge(Outcome.of(-1.0)).why
