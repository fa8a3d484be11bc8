import doctest
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.multitest import multipletests

from dumbbell import statistics

# How long an example takes says nothing on a busy machine.
unhurried = settings(deadline=None)
finite = st.floats(-1e6, 1e6, allow_nan=False)
samples = st.lists(finite, min_size=2, max_size=30)


def test_mean_interval_of_a_hand_worked_sample():
    # Mean 10, variance ((-1)^2 + 0 + 1^2) / 2 = 1, standard error 1 / sqrt(3), t[0.95; 2] = 2.919986.
    interval = statistics.mean_interval([9.0, 10.0, 11.0], confidence=0.90)
    assert interval.estimate == pytest.approx(10.0)
    assert interval.half_width == pytest.approx(2.919986 / math.sqrt(3.0), rel=1e-6)
    assert interval.n == 3
    assert 11.6 in interval
    assert 11.7 not in interval
    assert interval.excludes(0.0)


@unhurried
@given(samples, st.floats(0.5, 0.999))
def test_mean_interval_agrees_with_scipy(values, confidence):
    interval = statistics.mean_interval(values, confidence=confidence)
    standard_error = np.std(values, ddof=1) / math.sqrt(len(values))
    low, high = np.mean(values) + standard_error * np.array(
        stats.t.interval(confidence, len(values) - 1),
    )
    assert interval.low == pytest.approx(low, rel=1e-9, abs=1e-9)
    assert interval.high == pytest.approx(high, rel=1e-9, abs=1e-9)


def test_differences_agree_with_scipy():
    rng = np.random.default_rng(7)
    a, b = rng.normal(10.0, 1.0, 12), rng.normal(9.0, 3.0, 12)
    paired = stats.ttest_rel(a, b).confidence_interval(0.90)
    ours = statistics.paired_difference(a, b)
    assert (ours.low, ours.high) == pytest.approx((paired.low, paired.high), rel=1e-12)
    welch = stats.ttest_ind(a, b[:7], equal_var=False).confidence_interval(0.90)
    ours = statistics.mean_difference(a, b[:7])
    assert (ours.low, ours.high) == pytest.approx((welch.low, welch.high), rel=1e-12)
    assert ours.n == 7


def test_ratio_to_a_constant_is_the_scaled_mean():
    a = np.array([9.0, 10.0, 11.0])
    mean = statistics.mean_interval(a)
    for ratio in (
        statistics.paired_ratio(a, [2.0, 2.0, 2.0]),
        statistics.mean_ratio(a, [2.0, 2.0, 2.0]),
    ):
        assert ratio.estimate == pytest.approx(5.0)
        assert ratio.low == pytest.approx(mean.low / 2.0)
        assert ratio.high == pytest.approx(mean.high / 2.0)


def test_ratio_of_proportional_pairs_is_exact():
    b = np.array([3.0, 5.0, 9.0])
    interval = statistics.paired_ratio(1.5 * b, b)
    assert (interval.low, interval.estimate, interval.high) == pytest.approx((1.5, 1.5, 1.5))


def test_bounds_of_a_ratio_solve_fieller_s_equation():
    rng = np.random.default_rng(3)
    b = rng.normal(5.0, 1.0, 15)
    a = 2.0 * b + rng.normal(0.0, 1.0, 15)
    interval = statistics.paired_ratio(a, b)
    # At a bound x, the mean of a - x b lies exactly t standard errors from zero.
    for bound in (interval.low, interval.high):
        contrast = a - bound * b
        t = contrast.mean() / (contrast.std(ddof=1) / math.sqrt(15.0))
        assert abs(t) == pytest.approx(stats.t.ppf(0.95, 14), rel=1e-9)


def test_ratio_intervals_cover_as_often_as_they_say():
    rng = np.random.default_rng(11)
    covered = {"paired": 0, "independent": 0}
    for _ in range(1000):
        shared = rng.normal(0.0, 1.0, 20)
        b = 6.0 + shared + rng.normal(0.0, 0.5, 20)
        covered["paired"] += 1.5 in statistics.paired_ratio(9.0 + shared + rng.normal(0.0, 0.5, 20), b)
        covered["independent"] += 1.5 in statistics.mean_ratio(9.0 + rng.normal(0.0, 3.0, 10), b)
    # The standard deviation of a share of 0.90 over 1,000 intervals is 0.0095.
    for share in covered.values():
        assert share / 1000 == pytest.approx(0.90, abs=0.03)


def test_a_ratio_to_something_near_zero_has_no_bounds():
    interval = statistics.paired_ratio([1.0, 2.0, 3.0], [-1.0, 1.0, 0.3])
    assert interval.low == -math.inf
    assert interval.high == math.inf
    assert not interval.excludes(1e9)
    with pytest.raises(ValueError, match=r"mean\(b\) = 0.0; accepted: a sample whose mean is not zero"):
        statistics.mean_ratio([1.0, 2.0], [-1.0, 1.0])


def test_an_interval_of_nan_neither_excludes_nor_contains_a_value():
    interval = statistics.Interval(estimate=1.0, low=math.nan, high=math.nan, confidence=0.9, n=1)
    assert not interval.excludes(0.0)
    assert 1.0 not in interval


def test_the_bounds_belong_to_an_interval():
    interval = statistics.Interval(estimate=1.5, low=1.0, high=2.0, confidence=0.9, n=2)
    for bound, beyond in ((1.0, 0.0), (2.0, 3.0)):
        outside = math.nextafter(bound, beyond)
        assert bound in interval
        assert outside not in interval
        assert not interval.excludes(bound)
        assert interval.excludes(outside)


def test_a_difference_from_a_sample_without_variance_varies_as_the_other_sample():
    # Welch's degrees of freedom are then those of the sample that varies.
    varying, mean = [1.0, 2.0, 4.0], statistics.mean_interval([1.0, 2.0, 4.0])
    above = statistics.mean_difference(varying, [1.0, 1.0])
    below = statistics.mean_difference([1.0, 1.0], varying)
    assert (above.low, above.high) == pytest.approx((mean.low - 1.0, mean.high - 1.0))
    assert (below.low, below.high) == pytest.approx((1.0 - mean.high, 1.0 - mean.low))


def test_samples_without_variance_have_intervals_without_width():
    difference = statistics.mean_difference([3.0, 3.0], [1.0, 1.0, 1.0])
    ratio = statistics.mean_ratio([3.0, 3.0], [2.0, 2.0, 2.0])
    assert (difference.low, difference.estimate, difference.high) == (2.0, 2.0, 2.0)
    assert (ratio.low, ratio.estimate, ratio.high) == (1.5, 1.5, 1.5)


def test_a_denominator_whose_interval_just_reaches_zero_has_no_bounds():
    # For two values t - 1 and t + 1, the mean is t standard errors above zero.
    t = stats.t.ppf(0.95, 1)
    interval = statistics.paired_ratio([3.0, 5.0], [t - 1.0, t + 1.0], confidence=0.90)
    assert (interval.low, interval.high) == (-math.inf, math.inf)
    bounded = statistics.paired_ratio([3.0, 5.0], [t - 0.999, t + 1.001], confidence=0.90)
    assert bounded.high < math.inf


def test_rounding_leaves_the_bounds_of_an_exact_ratio_real():
    rng = np.random.default_rng(5)
    for b in rng.uniform(1.0, 2.0, (200, 8)):
        interval = statistics.paired_ratio(b / 3.0, b)
        assert [type(bound) for bound in (interval.low, interval.high)] == [float, float]
        assert (interval.low, interval.high) == pytest.approx((1.0 / 3.0, 1.0 / 3.0), rel=1e-6)


def test_an_interval_of_two_samples_counts_the_smaller_one():
    few, many = [1.0, 2.0, 4.0], [1.0, 2.0, 3.0, 4.0, 6.0]
    for compared in (statistics.mean_difference, statistics.mean_ratio):
        assert compared(few, many).n == compared(many, few).n == 3


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: statistics.mean_interval([1.0]), r"values has the shape \(1,\); accepted: .*at least 2"),
        (lambda: statistics.mean_interval([[1.0, 2.0]]), r"values has the shape \(1, 2\)"),
        (lambda: statistics.mean_interval([1.0, math.nan]), r"values\[1\] = nan; accepted: finite"),
        (lambda: statistics.paired_difference([1.0, 2.0], [1.0, 2.0, 3.0]), "b has 3 values; accepted: 2"),
        (
            lambda: statistics.mean_interval([1.0, 2.0], confidence=90),
            "confidence = 90; accepted: .*between 0 and 1",
        ),
        (lambda: statistics.jain_index([]), r"allocations has the shape \(0,\); accepted: at least one flow"),
        (
            lambda: statistics.jain_index([[1.0, 2.0], [3.0, -1.0]]),
            r"allocations\[1, 1\] = -1.0; accepted: finite",
        ),
        (lambda: statistics.adjust_p_values([0.1], "fdr"), "method = 'fdr'; accepted: 'holm', 'bh'"),
        (lambda: statistics.adjust_p_values([1.5]), r"p_values = \[1.5\]; accepted: .*between 0 and 1"),
    ],
)
def test_errors_name_the_argument_the_value_and_what_is_accepted(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("confidence", [0.0, 1.0, -0.1, math.nan])
@pytest.mark.parametrize(
    "interval",
    [
        statistics.mean_difference,
        statistics.mean_ratio,
        statistics.paired_difference,
        statistics.paired_ratio,
        lambda a, _, confidence: statistics.mean_interval(a, confidence=confidence),
    ],
)
def test_no_interval_has_a_confidence_of_0_or_1_or_beyond(interval, confidence):
    with pytest.raises(ValueError, match=r"confidence = .*; accepted: a number between 0 and 1"):
        interval([1.0, 2.0, 4.0], [1.0, 2.0, 3.0], confidence=confidence)


def test_jain_index_of_known_shares():
    # (1 + 2 + 3)^2 / (3 (1 + 4 + 9)) = 36 / 42.
    assert statistics.jain_index([1.0, 2.0, 3.0]) == pytest.approx(36.0 / 42.0)
    assert statistics.jain_index([5.0]) == 1.0
    assert statistics.jain_index([1e300, 1e300]) == 1.0
    by_run = statistics.jain_index([[1.0, 1.0], [1.0, 0.0], [0.0, 0.0]])
    assert by_run.tolist()[:2] == [1.0, 0.5]
    assert math.isnan(by_run[2])
    assert statistics.jain_index([[1.0, 1.0], [1.0, 0.0]], axis=0).tolist() == [1.0, 0.5]


@unhurried
@given(st.lists(st.floats(0.001, 1e6), min_size=1, max_size=20), st.floats(0.001, 1e3))
def test_jain_index_is_bounded_and_free_of_units(shares, unit):
    index = statistics.jain_index(shares)
    assert 1.0 / len(shares) - 1e-12 <= index <= 1.0 + 1e-12
    assert statistics.jain_index([unit * x for x in shares]) == pytest.approx(index, rel=1e-9)
    assert statistics.jain_index(shares[::-1]) == pytest.approx(index, rel=1e-9)


@settings(deadline=None, max_examples=10)
@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=40))
def test_adjusted_p_values_agree_with_statsmodels(p_values):
    for method, theirs in (("holm", "holm"), ("bh", "fdr_bh")):
        ours = statistics.adjust_p_values(p_values, method)
        np.testing.assert_allclose(ours, multipletests(p_values, method=theirs)[1], rtol=1e-12)


def test_a_test_that_cannot_be_computed_is_not_counted():
    assert statistics.adjust_p_values([0.02, math.nan, 0.5], "holm").tolist()[::2] == [0.04, 0.5]
    assert np.isnan(statistics.adjust_p_values([math.nan], "bh")).all()


def test_the_examples_of_the_documentation_hold():
    results = doctest.testmod(statistics)
    assert results.attempted > 4
    assert results.failed == 0
