"""Limits of evaluations against baselines."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from dumbbell.evaluation.item import decided, verdict_of
from dumbbell.evaluation.items.competing import COEXISTENCE
from dumbbell.judge.baseline import compared
from small_evaluation import LIMIT, one_comparison, table


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
