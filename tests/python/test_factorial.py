import dataclasses
import doctest
import itertools
import math
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.anova import anova_lm

import dumbbell
from dumbbell import factorial
from dumbbell.factorial import Design, Factor, analyse, cells_from_effects, half_widths

# Effects on throughput, low load, Reno background [hengartner2000 table VI], in KB/s.
PHASES = ["ss", "ca", "rec"]
TABLE_VI = {
    "mean": 86.64,
    "ss": 7.14,
    "ca": 2.06,
    "rec": 6.64,
    "ss:ca": 0.17,
    "ss:rec": 1.09,
    "ca:rec": 0.64,
    "ss:ca:rec": -0.68,
}


def replicated(means, r=3, spread=1.0):
    """Cells with exactly these means and the same spread in each."""
    offsets = spread * (np.arange(r) - (r - 1) / 2.0)
    return np.asarray(means, dtype=float)[:, None] + offsets


def random_responses(k, r, seed):
    rng = np.random.default_rng(seed)
    return 50.0 + rng.normal(0.0, 5.0, 2**k)[:, None] + rng.normal(0.0, 2.0, (2**k, r))


def subsets(names):
    return [":".join(c) for size in range(1, len(names) + 1) for c in itertools.combinations(names, size)]


# The worked examples


def test_the_worked_prediction_of_the_paper_is_exact():
    analysis = analyse(replicated(cells_from_effects(TABLE_VI, PHASES)), PHASES)
    # ss = ca = +1, rec = -1: 86.64 + 7.14 + 2.06 - 6.64 + 0.17 - 1.09 - 0.64 + 0.68 = 88.32 KB/s.
    expected = 86.64 + 7.14 + 2.06 - 6.64 + 0.17 - 1.09 - 0.64 + 0.68
    for levels in (
        "110",
        {"ss": True, "ca": "high", "rec": -1},
        (1, np.True_, "low"),
    ):
        assert analysis.predict(levels) == pytest.approx(expected, abs=1e-9)
    assert round(analysis.predict("110"), 9) == 88.32
    for term, effect in TABLE_VI.items():
        value = analysis.mean if term == "mean" else analysis.effects[term]
        assert value == pytest.approx(effect, abs=1e-9)


def test_a_2_2_3_design_worked_by_hand():
    # Cell means: 00: (8 + 10 + 12) / 3 = 10, 01: (19 + 20 + 24) / 3 = 21, 10: (28 + 30 + 35) / 3 = 31,
    # 11: (53 + 56 + 59) / 3 = 56.
    analysis = analyse([[8, 10, 12], [19, 20, 24], [28, 30, 35], [53, 56, 59]], ["a", "b"])
    # q0 = (10 + 21 + 31 + 56) / 4 = 29.5,   qa = (-10 - 21 + 31 + 56) / 4 = 14,
    # qb = (-10 + 21 - 31 + 56) / 4 = 9,     qab = (10 - 21 - 31 + 56) / 4 = 3.5.
    assert analysis.mean == pytest.approx(29.5, abs=1e-12)
    assert analysis.effects.to_dict() == pytest.approx({"a": 14.0, "b": 9.0, "a:b": 3.5}, abs=1e-12)
    # Errors: 00: -2, 0, 2; 01: -2, -1, 3; 10: -3, -1, 4; 11: -3, 0, 3. SSE = 8 + 14 + 26 + 18 = 66.
    # SSA = 12 * 196 = 2352, SSB = 12 * 81 = 972, SSAB = 12 * 12.25 = 147; SST = 3537,
    # and alternatively: sum of squares 13980, less 12 * 29.5^2 = 10443.
    np.testing.assert_allclose(analysis.residuals[2], [-3.0, -1.0, 4.0], atol=1e-12)
    assert analysis.sse == pytest.approx(66.0)
    assert analysis.sum_of_squares.to_dict() == pytest.approx({"a": 2352.0, "b": 972.0, "a:b": 147.0})
    assert analysis.sst == pytest.approx(3537.0)
    assert analysis.percent["a"] == pytest.approx(100.0 * 2352.0 / 3537.0)
    assert analysis.percent_error == pytest.approx(100.0 * 66.0 / 3537.0)
    # s_e = sqrt(66 / (4 * 2)) = 2.872281, s_q = s_e / sqrt(12) = 0.829156; t[0.90; 8] = 1.396815 and
    # t[0.95; 8] = 1.859548 give 1.158178 and 1.541856.
    assert analysis.degrees_of_freedom == 8
    assert analysis.s_e == pytest.approx(2.872281, abs=1e-6)
    assert analysis.s_q == pytest.approx(0.829156, abs=1e-6)
    assert analysis.hw_one_sided == pytest.approx(1.158178, abs=1e-6)
    assert analysis.hw_two_sided == pytest.approx(1.541856, abs=1e-6)
    assert analysis.significant_two_sided.all()


def test_the_quantiles_of_the_paper_s_design():
    analysis = analyse(replicated(cells_from_effects(TABLE_VI, PHASES), r=50), PHASES)
    assert analysis.degrees_of_freedom == 392
    assert analysis.quantiles.one_sided == pytest.approx(1.284, abs=5e-4)
    assert analysis.quantiles.two_sided == pytest.approx(1.6487, abs=1e-4)
    assert analysis.hw_one_sided == pytest.approx(stats.t.ppf(0.90, 392) * analysis.s_q)
    assert analysis.hw_two_sided == pytest.approx(stats.t.ppf(0.95, 392) * analysis.s_q)
    # s_e = 9.18 KB/s behind the table [hengartner2000 table VI] gives its printed 0.59, and 0.76 two-sided.
    narrow, wide = half_widths(9.18, cells=8, replications=50)
    assert round(narrow, 2) == 0.59
    assert round(wide, 2) == 0.76


def test_the_two_quantiles_may_disagree_on_significance():
    # 400 responses about the means of the table, made to have s_e = 9.18 exactly: ca:rec = 0.64 lies between
    # the half-widths 0.59 and 0.76.
    errors = np.random.default_rng(1).normal(size=(8, 50))
    errors -= errors.mean(axis=1, keepdims=True)
    errors *= 9.18 / math.sqrt((errors**2).sum() / 392)
    analysis = analyse(cells_from_effects(TABLE_VI, PHASES).to_numpy()[:, None] + errors, PHASES)
    assert analysis.s_e == pytest.approx(9.18)
    flips = analysis.significant_one_sided & ~analysis.significant_two_sided
    assert list(flips.index[flips]) == ["ca:rec", "ss:ca:rec"]
    effect = analysis.effect("rec", "ca")
    assert effect.term == "ca:rec"
    assert effect.significant_one_sided is True
    assert effect.significant_two_sided is False
    assert round(effect.hw_one_sided, 2) == 0.59
    assert round(effect.hw_two_sided, 2) == 0.76


def test_the_sign_table_is_that_of_the_specification():
    table = analyse(replicated(range(8)), PHASES).sign_table()
    assert list(table.columns) == ["mean", *subsets(PHASES)]
    rows = {
        "000": "+---+++-",
        "001": "+--++--+",
        "010": "+-+--+-+",
        "011": "+-++--+-",
        "100": "++----++",
        "101": "++-+-+--",
        "110": "+++-+---",
        "111": "++++++++",
    }
    assert list(table.index) == list(rows)
    for cell, signs in rows.items():
        assert "".join("+" if sign > 0 else "-" for sign in table.loc[cell]) == signs


# Agreement with statsmodels


def ols(responses, names, order, log=False):
    """The same model as a regression on the signs, with its analysis of variance."""
    k = len(names)
    columns = {
        name: np.repeat([1.0 if i >> (k - 1 - f) & 1 else -1.0 for i in range(2**k)], responses.shape[1])
        for f, name in enumerate(names)
    }
    frame = pd.DataFrame({"y": np.log10(responses).ravel() if log else responses.ravel(), **columns})
    fitted = smf.ols("y ~ " + " + ".join(t for t in subsets(names) if t.count(":") < order), frame).fit()
    return fitted, anova_lm(fitted, typ=1)


@pytest.mark.parametrize("model", ["additive", "multiplicative"])
@pytest.mark.parametrize("k", [1, 2, 3, 4, 5])
def test_full_models_agree_with_statsmodels(k, model):
    names = [f"f{i}" for i in range(k)]
    responses = random_responses(k, 2 + k % 3, seed=k)
    analysis = analyse(responses, names, model=model)
    fitted, anova = ols(responses, names, k, log=model == "multiplicative")
    terms = list(analysis.effects.index)
    assert analysis.mean == pytest.approx(fitted.params["Intercept"], abs=1e-9)
    np.testing.assert_allclose(analysis.effects, fitted.params[terms], atol=1e-9)
    np.testing.assert_allclose(analysis.sum_of_squares, anova.loc[terms, "sum_sq"], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(analysis.sse, anova.loc["Residual", "sum_sq"], rtol=1e-9)
    assert analysis.degrees_of_freedom == anova.loc["Residual", "df"]
    np.testing.assert_allclose(analysis.s_q, fitted.bse, rtol=1e-9)
    np.testing.assert_allclose(analysis.p_values, fitted.pvalues[terms], atol=1e-9)
    np.testing.assert_allclose(analysis.p_values, anova.loc[terms, "PR(>F)"], atol=1e-9)
    np.testing.assert_allclose(analysis.residuals.ravel(), fitted.resid, atol=1e-9)
    bounds = fitted.conf_int(alpha=0.10).loc[terms]
    rows = analysis.table().iloc[1:-1]
    np.testing.assert_allclose(rows["low_two_sided"], bounds[0], atol=1e-9)
    np.testing.assert_allclose(rows["high_two_sided"], bounds[1], atol=1e-9)


@pytest.mark.parametrize(("k", "order", "r"), [(3, 1, 3), (4, 2, 2), (5, 3, 1)])
def test_models_of_lower_order_agree_with_statsmodels(k, order, r):
    names = [f"f{i}" for i in range(k)]
    responses = random_responses(k, r, seed=10 * k + order)
    analysis = analyse(responses, names, order=order)
    fitted, anova = ols(responses, names, order)
    terms = list(analysis.effects.index)
    assert max(term.count(":") for term in terms) == order - 1
    np.testing.assert_allclose(analysis.effects, fitted.params[terms], atol=1e-9)
    np.testing.assert_allclose(analysis.sse, anova.loc["Residual", "sum_sq"], rtol=1e-9)
    np.testing.assert_allclose(analysis.s_q, fitted.bse, rtol=1e-9)
    np.testing.assert_allclose(analysis.p_values, fitted.pvalues[terms], atol=1e-9)
    np.testing.assert_allclose(np.repeat(analysis.fitted, r), fitted.fittedvalues, atol=1e-9)
    cell = "1" * k
    ours = analysis.predict_interval(cell)
    theirs = fitted.get_prediction(pd.DataFrame({name: [1.0] for name in names})).conf_int(alpha=0.10)
    assert (ours.low, ours.high) == pytest.approx(tuple(theirs[0]), abs=1e-9)


def test_the_interval_of_a_cell_of_the_full_model_is_that_of_its_mean():
    analysis = analyse(random_responses(3, 4, seed=2), PHASES)
    interval = analysis.predict_interval("101", sides="one")
    # The standard error of a cell mean is s_e / sqrt(r).
    assert interval.half_width == pytest.approx(analysis.quantiles.one_sided * analysis.s_e / 2.0)
    assert interval.confidence == pytest.approx(0.80)
    assert interval.estimate == pytest.approx(analysis.cell_means["101"])


# Properties; how long an example takes says nothing on a busy machine.

unhurried = settings(deadline=None, max_examples=40)

designs = st.integers(1, 4).flatmap(
    lambda k: st.tuples(st.just(k), st.integers(1, 4), st.integers(0, 2**32 - 1))
)


@pytest.mark.slow
@unhurried
@given(designs)
def test_percentages_add_to_100(design):
    k, r, seed = design
    analysis = analyse(random_responses(k, r, seed), [f"f{i}" for i in range(k)])
    assert analysis.percent.sum() + analysis.percent_error == pytest.approx(100.0, abs=1e-9)
    assert analysis.sum_of_squares.sum() + analysis.sse == pytest.approx(analysis.sst, rel=1e-12)
    for table in (analysis.table(), analysis.table(order=1), analysis.table(top=1, sort="percent")):
        assert table["percent"].sum() == pytest.approx(100.0, abs=1e-9)


@unhurried
@given(designs, st.randoms(use_true_random=False))
def test_permuting_the_factors_permutes_the_effects(design, random):
    k, r, seed = design
    names = [f"f{i}" for i in range(k)]
    responses = random_responses(k, r, seed)
    axes = list(range(k))
    random.shuffle(axes)
    permuted = responses.reshape((2,) * k + (r,)).transpose([*axes, k]).reshape(2**k, r)
    before = analyse(responses, names)
    after = analyse(permuted, [names[i] for i in axes])
    for term in before.effects.index:
        members = term.split(":")
        assert after.effect(*members).effect == pytest.approx(before.effect(*members).effect, abs=1e-9)
        assert after.effect(*members).percent == pytest.approx(before.effect(*members).percent, abs=1e-9)


@unhurried
@given(designs, st.floats(-1e3, 1e3))
def test_adding_a_constant_shifts_only_the_mean(design, constant):
    k, r, seed = design
    names = [f"f{i}" for i in range(k)]
    before = analyse(random_responses(k, r, seed), names)
    after = analyse(random_responses(k, r, seed) + constant, names)
    assert after.mean == pytest.approx(before.mean + constant, abs=1e-9)
    np.testing.assert_allclose(after.effects, before.effects, atol=1e-9)
    np.testing.assert_allclose(after.percent, before.percent, atol=1e-9)
    np.testing.assert_allclose(after.residuals, before.residuals, atol=1e-9)


@unhurried
@given(designs, st.floats(0.01, 100.0))
def test_a_change_of_unit_shifts_only_the_mean_of_a_multiplicative_model(design, unit):
    k, r, seed = design
    names = [f"f{i}" for i in range(k)]
    before = analyse(np.abs(random_responses(k, r, seed)), names, model="multiplicative")
    after = analyse(unit * np.abs(random_responses(k, r, seed)), names, model="multiplicative")
    assert after.mean == pytest.approx(before.mean + math.log10(unit), abs=1e-9)
    np.testing.assert_allclose(after.effects, before.effects, atol=1e-9)


@unhurried
@given(designs)
def test_exchanging_the_levels_of_a_factor_inverts_the_signs_of_its_effects(design):
    k, r, seed = design
    names = [f"f{i}" for i in range(k)]
    responses = random_responses(k, r, seed)
    half = 2 ** (k - 1)
    before = analyse(responses, names)
    after = analyse(np.concatenate((responses[half:], responses[:half])), names)
    signs = [-1.0 if "f0" in term.split(":") else 1.0 for term in before.effects.index]
    np.testing.assert_allclose(after.effects, signs * before.effects, atol=1e-9)


@unhurried
@given(designs)
def test_the_full_model_predicts_the_cell_means(design):
    k, r, seed = design
    names = [f"f{i}" for i in range(k)]
    analysis = analyse(random_responses(k, r, seed), names)
    effects = {"mean": analysis.mean, **analysis.effects.to_dict()}
    np.testing.assert_allclose(cells_from_effects(effects, names), analysis.cell_means, atol=1e-9)
    for cell, mean in analysis.cell_means.items():
        assert analysis.predict(cell) == pytest.approx(mean, abs=1e-9)
    assert analysis.predict({}) == analysis.mean
    assert analysis.predict({"f0": True}) == pytest.approx(analysis.mean + analysis.effects["f0"])


# Size


def test_ten_factors_with_fifty_replications():
    names = list("ABCDEFGHIJ")
    responses = random_responses(10, 50, seed=10)
    analysis = analyse(responses, names)
    table = analysis.table()
    assert len(analysis.effects) == 1023
    assert len(table) == 1025
    assert table["percent"].sum() == pytest.approx(100.0, abs=1e-9)
    means = responses.mean(axis=1)
    level = {
        n: np.array([1.0 if i >> (9 - f) & 1 else -1.0 for i in range(1024)]) for f, n in enumerate(names)
    }
    for members in ("A", "J", "BF", "ACEG", "ABCDEFGHIJ"):
        sign = np.prod([level[n] for n in members], axis=0)
        assert analysis.effect(*members).effect == pytest.approx((sign * means).mean(), abs=1e-9)
    listed = analysis.table(order=2)
    assert len(listed) == 1 + 10 + 45 + 1 + 1
    assert listed["term"].iloc[-2] == "other interactions"
    assert listed["percent"].sum() == pytest.approx(100.0, abs=1e-9)


# The multiplicative model


def test_a_multiplicative_model_finds_the_factors_that_multiply():
    # Geometric mean 20; a multiplies by 2 when high and divides by 2 when low, b by sqrt(10).
    means = [20.0 * 2.0**a * 10.0 ** (0.5 * b) for a in (-1, 1) for b in (-1, 1)]
    analysis = analyse(np.outer(means, [0.5, 2.0]), ["a", "b"], model="multiplicative")
    assert analysis.effects.to_dict() == pytest.approx({"a": math.log10(2.0), "b": 0.5, "a:b": 0.0})
    table = analysis.table().set_index("term")
    assert table.loc["a", "ratio"] == pytest.approx(4.0)
    assert table.loc["b", "ratio"] == pytest.approx(10.0)
    assert table.loc["a", "ratio_low_two_sided"] == pytest.approx(10 ** (2 * table.loc["a", "low_two_sided"]))
    assert analysis.predict("10") == pytest.approx(20.0 * 2.0 / math.sqrt(10.0))
    assert analysis.cell_means["11"] == pytest.approx(40.0 * math.sqrt(10.0))
    interval = analysis.predict_interval("11")
    assert interval.low * interval.high == pytest.approx(interval.estimate**2)


# Common random numbers


def test_common_random_numbers_give_each_effect_its_own_interval():
    rng = np.random.default_rng(5)
    r = 12
    shared = rng.normal(0.0, 20.0, r)
    responses = 100.0 + np.array([-4.0, -2.0, 2.0, 4.0])[:, None] + shared + rng.normal(0.0, 0.5, (4, r))
    analysis = analyse(responses, ["a", "b"], random="common")
    single = (responses[2] + responses[3] - responses[0] - responses[1]) / 4.0
    expected = stats.ttest_1samp(single, 0.0)
    effect = analysis.effect("a")
    assert analysis.degrees_of_freedom == r - 1
    assert effect.effect == pytest.approx(single.mean())
    assert effect.p_value == pytest.approx(expected.pvalue)
    low, high = expected.confidence_interval(0.90)
    assert effect.hw_two_sided == pytest.approx((high - low) / 2.0)
    # The variation between replications does not blur the effects.
    assert effect.hw_two_sided < analyse(responses, ["a", "b"]).hw_two_sided / 10.0
    assert analysis.percent_replications > 90.0
    assert analysis.table()["percent"].sum() == pytest.approx(100.0, abs=1e-9)
    cell = analysis.predict_interval("11")
    by_cell = stats.ttest_1samp(responses[3], 0.0).confidence_interval(0.90)
    assert (cell.low, cell.high) == pytest.approx((by_cell.low, by_cell.high))
    with pytest.raises(ValueError, match="hw_two_sided differs from term to term with random = 'common'"):
        _ = analysis.hw_two_sided


# Degenerate designs


def test_without_replications_there_is_no_error_term_and_it_says_so():
    analysis = analyse([1.0, 2.0, 4.0, 9.0], ["a", "b"])
    assert analysis.replications == 1
    assert math.isnan(analysis.s_e)
    assert math.isnan(analysis.hw_one_sided)
    assert math.isnan(analysis.hw_two_sided)
    assert analysis.significant_two_sided.isna().all()
    assert analysis.effect("a").significant_one_sided is None
    assert analysis.p_values.isna().all()
    assert math.isnan(analysis.predict_interval("11").low)
    assert analysis.table()["percent"].sum() == pytest.approx(100.0)
    assert "one replication" in analysis.notes[0]
    assert "one replication" in str(analysis)
    assert math.isnan(analyse([1.0, 2.0, 4.0, 9.0], ["a", "b"], random="common").standard_errors["a"])


def test_a_response_that_never_varies():
    analysis = analyse(np.full((4, 3), 0.1), ["a", "b"])
    assert analysis.mean == 0.1
    assert (analysis.effects == 0.0).all()
    assert analysis.percent.isna().all()
    assert not analysis.significant_two_sided.any()
    assert (analysis.p_values == 1.0).all()
    assert "does not vary" in analysis.notes[0]


def test_effects_without_error_are_significant_unless_they_are_zero():
    analysis = analyse(np.repeat([[0.1], [0.1], [0.3], [0.3]], 50, axis=1), ["a", "b"])
    assert analysis.sse == 0.0
    assert analysis.significant_two_sided.to_dict() == {"a": True, "b": False, "a:b": False}
    assert analysis.p_values.to_dict() == {"a": 0.0, "b": 1.0, "a:b": 1.0}


def test_the_summary_of_many_factors_shows_the_largest_effects():
    analysis = analyse(random_responses(7, 2, seed=1), list("ABCDEFG"))
    assert "other terms" in str(analysis)
    assert analysis.effects.abs().idxmax() in str(analysis).splitlines()[4]


# Checks of the assumptions


def test_normal_errors_of_equal_variance_pass_and_others_fail():
    rng = np.random.default_rng(8)
    normal = analyse(rng.normal(10.0, 1.0, (8, 20)), PHASES)
    assert normal.normality().p_value > 0.05
    assert normal.normality().p_value == pytest.approx(stats.shapiro(normal.residuals.ravel()).pvalue)
    assert normal.constant_variance().p_value > 0.05
    assert normal.constant_variance("bartlett").p_value > 0.05
    skewed = analyse(rng.exponential(1.0, (8, 20)) ** 2, PHASES).normality()
    assert skewed.p_value < 1e-6
    assert skewed.measures["skewness"] > 1.0
    growing = rng.normal(0.0, 1.0, (8, 20)) * np.arange(1, 9)[:, None] + 100.0 * np.arange(8)[:, None]
    for method, theirs in (("levene", stats.levene), ("bartlett", stats.bartlett)):
        check = analyse(growing, PHASES).constant_variance(method)
        assert check.p_value < 1e-3
        assert check.p_value == pytest.approx(theirs(*growing).pvalue)
        assert check.measures["rank_correlation_with_mean"] > 0.8


def test_many_residuals_are_tested_by_another_test_with_a_warning():
    check = analyse(random_responses(8, 20, seed=3), list("ABCDEFGH")).normality()
    assert check.test == "D'Agostino-Pearson"
    assert "With 5120 residuals it finds departures too small to matter" in check.note


def test_checks_that_cannot_be_made_say_why():
    single = analyse([1.0, 2.0, 4.0, 9.0], ["a", "b"])
    assert single.normality().note == "There are no errors."
    assert "There are 1 replications" in single.constant_variance().note
    constant_cell = analyse([[1.0, 1.0, 1.0], [1.0, 2.0, 4.0]], ["a"])
    assert "Cell 0 does not vary" in constant_cell.constant_variance("bartlett").note
    assert constant_cell.constant_variance().p_value < 1.0
    assert math.isnan(analyse(np.ones((2, 5)), ["a"]).constant_variance().p_value)


def test_p_values_are_corrected_for_the_number_of_effects():
    table = analyse(random_responses(4, 3, seed=4), list("ABCD")).table()
    terms = table.iloc[1:-1]
    assert (terms["p_holm"] >= terms["p_value"]).all()
    assert (terms["p_bh"] >= terms["p_value"]).all()
    assert (terms["p_holm"] >= terms["p_bh"]).all()
    assert table.loc[[0, len(table) - 1], "p_holm"].isna().all()


# Bad input

GOOD = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: analyse(GOOD[:3], ["a", "b"]), "responses has 3 cells; accepted: 4 for 2 factors"),
        (
            lambda: analyse([*GOOD[:2], [5.0], GOOD[3]], ["a", "b"]),
            "cell 10 has 1 replications; accepted: the same",
        ),
        (lambda: analyse([[], [], [], []], ["a", "b"]), "cell 00 has 0 replications"),
        (
            lambda: analyse([GOOD[0], [3.0, math.nan], GOOD[2], GOOD[3]], ["a", "b"]),
            "cell 01, replication 1 is nan; accepted: a finite number",
        ),
        (lambda: analyse({"0": [1.0], "2": [2.0]}, ["a"]), "the cell '1' is missing"),
        (lambda: analyse({"0": [1.0], "1": [1.0], "2": [2.0]}, ["a"]), "the cell '2' is unknown"),
        (lambda: analyse(np.zeros((4, 2, 2)), ["a", "b"]), "responses has 3 dimensions; accepted: 2"),
        (
            lambda: analyse([[1.0, 2.0], [0.0, 2.0]], ["a"], model="multiplicative"),
            "cell 1, replication 0 is 0.0; accepted: positive numbers in the multiplicative model",
        ),
        (lambda: analyse(GOOD, ["a", "a"]), "factors = .*accepted: different names"),
        (lambda: analyse(GOOD, "ab"), "factors = 'ab'; accepted: a sequence"),
        (lambda: analyse(GOOD, ["a", "a:b"]), "accepted: a sequence of names without ':'"),
        (
            lambda: analyse(GOOD, ["a", "b"], model="log"),
            "model = 'log'; accepted: 'additive', 'multiplicative'",
        ),
        (lambda: analyse(GOOD, ["a", "b"], order=3), "order = 3; accepted: an integer from 1 to 2"),
        (lambda: analyse(GOOD, ["a", "b"], confidence=90), "confidence = 90; accepted"),
        (
            lambda: analyse(GOOD, ["a", "b"], random="crn"),
            "random = 'crn'; accepted: 'independent', 'common'",
        ),
        (lambda: analyse(GOOD, ["a", "b"]).effect("c"), "factor = 'c'; accepted: a, b"),
        (lambda: analyse(GOOD, ["a", "b"]).effect("a", "a"), "term = 'a:a'; accepted: each factor once"),
        (
            lambda: analyse(GOOD, ["a", "b"], order=1).effect("a", "b"),
            "term = 'a:b'; accepted: 1 to 1 factors",
        ),
        (lambda: analyse(GOOD, ["a", "b"]).predict("2"), "levels = '2'; accepted: 2 digits 0 or 1"),
        (lambda: analyse(GOOD, ["a", "b"]).predict([True]), "levels has 1 entries; accepted: 2"),
        (lambda: analyse(GOOD, ["a", "b"]).predict({"a": 0}), "level of a = 0; accepted: True, 1, 'high'"),
        (lambda: analyse(GOOD, ["a", "b"]).predict({"c": 1}), "factor = 'c'; accepted: a, b"),
        (lambda: analyse(GOOD, ["a", "b"]).predict_interval("11", sides="both"), "sides = 'both'; accepted"),
        (lambda: analyse(GOOD, ["a", "b"]).table(top=0), "top = 0; accepted: an integer of at least 1"),
        (lambda: analyse(GOOD, ["a", "b"]).table(sort="size"), "sort = 'size'; accepted: 'order', 'percent'"),
        (
            lambda: analyse(GOOD, ["a", "b"]).constant_variance("f"),
            "method = 'f'; accepted: 'levene', 'bartlett'",
        ),
        (lambda: cells_from_effects({"c": 1.0}, ["a"]), "factor = 'c'; accepted: a"),
        (lambda: half_widths(-1.0, cells=8, replications=5), "s_e = -1.0; accepted"),
        (lambda: half_widths(1.0, cells=8, replications=1), "replications = 1; accepted: at least 2"),
        (lambda: Factor("a:b", 1, 2), "factor name = 'a:b'; accepted: a word without ':'"),
        (lambda: Factor("mean", 1, 2), "factor name = 'mean'; accepted"),
        (lambda: Factor("a", 1, 1), "factor a: low = high = 1; accepted: two different levels"),
        (
            lambda: Factor("a", {"x": 1}, {"y": 2}),
            "factor a: low sets x, high sets y; accepted: the same paths",
        ),
        (lambda: Factor("a", {}, {}), "factor a: low sets nothing, high sets nothing"),
        (lambda: Factor("a", {"x": 1}, {"x": 2}, path="x"), "factor a: path = 'x' beside a mapping"),
        (lambda: Design([], 1), "factors has 0 entries; accepted: 1 to 16"),
        (lambda: Design(["a"], 1), "factors contains 'a'; accepted: Factor objects"),
        (lambda: Design([Factor("a", 1, 2)], 0), "replications = 0; accepted: an integer of at least 1"),
        (lambda: Design([Factor("a", 1, 2)], 1, random="x"), "random = 'x'; accepted"),
        (lambda: Design([Factor("a", 1, 2), Factor("a", 1, 2)], 1), "the name 'a' occurs twice"),
        (
            lambda: Design([Factor("a", 1, 2, path="x.y"), Factor("b", 1, 2, path="x")], 1),
            "factor b: path 'x' overlaps 'x.y' of factor a; accepted: factors that set different parameters",
        ),
        (lambda: Design([Factor("a", 1, 2)], 1).values("2"), "cell = '2'; accepted: 1 digits 0 or 1"),
    ],
)
def test_errors_name_the_field_the_value_and_what_is_accepted(call, message):
    with pytest.raises(ValueError, match=message):
        call()


# Designs over scenarios


class Parameters(dumbbell.Scenario):
    """A substitute for a scenario: values by path."""

    def __init__(self, by_path=()):
        object.__setattr__(self, "by_path", dict(by_path))

    def with_values(self, values):
        return Parameters({**self.by_path, **values})


@pytest.fixture
def engine(monkeypatch):
    """An engine whose goodput is 10 + 4 (delay is 50 ms) + 2 (A and B are on) + the run number / 1000."""
    calls = []

    def run_many(jobs, *, threads=None, progress=True):
        calls.append(list(jobs))
        rows = []
        for i, job in enumerate(jobs):
            v = job.scenario.by_path
            goodput = 10.0 + 4.0 * (v["delay"] == "50 ms") + 2.0 * (v["A"] and v["B"]) + job.run / 1000.0
            rows.append({"job": i, "name": "bg", "goodput_bps": 1.0, "timeouts": 0})
            rows.append({"job": i, "name": "fg", "goodput_bps": goodput, "timeouts": i})
        return SimpleNamespace(flows=pd.DataFrame(rows), jobs=tuple(jobs))

    monkeypatch.setattr(dumbbell, "run_many", run_many)
    return calls


DELAY = Factor("delay", low="20 ms", high="50 ms")
PAIR = Factor("recovery", low={"A": False, "B": False}, high={"A": True, "B": True})


def test_a_design_sets_the_values_of_each_cell():
    design = Design([DELAY, PAIR], replications=2)
    assert design.names == ("delay", "recovery")
    assert design.cells == ("00", "01", "10", "11")
    assert design.values("10") == {"delay": "50 ms", "A": False, "B": False}
    scenarios = design.scenarios(Parameters({"rate": "1.6 Mbit/s"}))
    assert [s.by_path["delay"] for s in scenarios] == ["20 ms", "20 ms", "50 ms", "50 ms"]
    assert [s.by_path["A"] for s in scenarios] == [False, True, False, True]
    assert all(s.by_path["rate"] == "1.6 Mbit/s" for s in scenarios)
    assert design.sign_table()["delay:recovery"].tolist() == [1, -1, -1, 1]


def test_runs_have_independent_or_common_random_numbers():
    independent = Design([DELAY], replications=3).jobs(Parameters(), seed=9)
    assert [(job.seed, job.run) for job in independent] == [(9, run) for run in range(6)]
    common = Design([DELAY], replications=3, random="common").jobs(Parameters(), seed=9)
    assert [(job.seed, job.run) for job in common] == [(9, run) for run in (0, 1, 2, 0, 1, 2)]
    assert common[0].scenario is common[2].scenario


def test_a_design_runs_and_is_analysed(engine):
    design = Design([DELAY, PAIR], replications=3, random="common")
    experiment = design.run(Parameters(), ("fg", "goodput_bps"), progress=False)
    assert [len(jobs) for jobs in engine] == [1, 12]
    np.testing.assert_allclose(experiment.responses["goodput_bps"][3], [16.0, 16.001, 16.002])
    analysis = experiment.analyse(confidence=0.95)
    assert analysis.random == "common"
    assert analysis.confidence == 0.95
    assert analysis.effects.to_dict() == pytest.approx({"delay": 2.0, "recovery": 1.0, "delay:recovery": 0.0})
    frame = experiment.frame()
    assert list(frame.columns) == ["cell", "delay", "recovery", "replication", "goodput_bps"]
    assert frame.loc[7].tolist() == ["10", True, False, 1, pytest.approx(14.001)]


def test_several_responses_come_from_the_same_runs(engine):
    def by_series(runs):
        fg = runs.flows[runs.flows["name"] == "fg"]
        return fg.set_index("job")["timeouts"].iloc[::-1]

    design = Design([DELAY, PAIR], replications=3)
    experiment = design.run(
        Parameters(),
        {
            "goodput": ("fg", "goodput_bps"),
            "timeouts": by_series,
            "constant": lambda runs: [1.0] * len(runs.jobs),
        },
    )
    assert [len(jobs) for jobs in engine] == [1, 12]
    assert experiment.responses["timeouts"].tolist() == np.arange(12.0).reshape(4, 3).tolist()
    assert experiment.analyse("constant").sst == 0.0
    assert experiment.extract(("bg", "goodput_bps")).tolist() == [[1.0] * 3] * 4
    with pytest.raises(ValueError, match="response = None; accepted: goodput, timeouts, constant"):
        experiment.analyse()


@pytest.mark.parametrize(
    ("response", "message", "runs"),
    [
        (("fb", "goodput_bps"), "response flow = 'fb'; accepted: bg, fg", 1),
        (("fg", "goodput"), "response column = 'goodput'; accepted: job, name, goodput_bps, timeouts", 1),
        (lambda _runs: [1.0, 2.0], r"gave the shape \(2,\); accepted: \(1,\), one for each job", 1),
        (lambda runs: runs.flows["timeouts"], "gave a Series whose index is not the jobs", 1),
        ("goodput_bps", "response = 'goodput_bps'; accepted: a pair", 0),
        ({}, "response = {}; accepted: at least one response", 0),
        ({"delay": ("fg", "goodput_bps")}, "response name = 'delay'; accepted: one that is not a factor", 0),
    ],
)
def test_a_wrong_response_costs_one_run_at_most(engine, response, message, runs):
    with pytest.raises(ValueError, match=message):
        Design([DELAY, PAIR], replications=3).run(Parameters(), response)
    assert sum(len(jobs) for jobs in engine) == runs


def test_a_flow_that_did_not_finish_is_named_by_its_cell(engine, monkeypatch):
    def incomplete(runs):
        times = np.arange(float(len(runs.jobs)))
        times[7:] = np.nan
        return times

    experiment = Design([DELAY, PAIR], replications=3).run(Parameters(), incomplete)
    with pytest.raises(ValueError, match=r"cell 10, replication 1 is nan; .*\(5 of 12 are not\)"):
        experiment.analyse()


# Documentation


def test_the_examples_of_the_documentation_hold():
    modules = {sys.modules[getattr(factorial, name).__module__] for name in factorial.__all__}
    for module in modules:
        assert doctest.testmod(module).failed == 0
    page = Path(__file__).resolve().parents[2] / "docs" / "factorial.md"
    results = doctest.testfile(str(page), module_relative=False)
    assert results.attempted > 20
    assert results.failed == 0


def test_a_factor_a_design_an_experiment_and_an_analysis_cannot_be_changed():
    for made in (Factor, Design, factorial.Experiment, factorial.Analysis):
        assert dataclasses.is_dataclass(made)
        assert made.__dataclass_params__.frozen, made
