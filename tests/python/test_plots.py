import re

import numpy as np
import pandas as pd
import pytest

from dumbbell import engine, factorial, plots
from dumbbell.statistics import Interval


@pytest.fixture
def analysis():
    rng = np.random.default_rng(1)
    means = factorial.cells_from_effects(
        {"mean": 80.0, "ss": 7.0, "ca": 2.0, "ss:rec": 1.0}, ["ss", "ca", "rec"]
    )
    return factorial.analyse(means.to_numpy()[:, None] + rng.normal(size=(8, 10)), ["ss", "ca", "rec"])


def test_an_algorithm_has_the_look_of_its_place_in_the_registry():
    registered = [algorithm["name"] for algorithm in engine.catalogue()["algorithms"]]
    looks = plots.styles(registered[::-1])
    for place, name in enumerate(registered):
        assert looks[name] == plots.style(name) == (plots.COLOURS[place % 8], plots.MARKERS[place % 7])
    # Other labels never look like an algorithm, nor like each other.
    looks = plots.styles([*registered, "alpha = 1", "alpha = 2"])
    assert len(set(looks.values())) == len(registered) + 2
    # Every pair of colour and marker comes once before any comes again.
    assert len({plots.styles(map(str, range(56)))[str(i)] for i in range(56)}) == 56


def test_axes_of_lines_carry_quantities_and_units():
    ax = plots.lines(
        {"reno": ([0.0, 1.0], [1.0, 2.0]), "vegas": ([0.0, 1.0], [2.0, 4.0])},
        x_label="time",
        x_unit="s",
        y_label="cwnd",
        y_unit="segments",
        title="windows",
        markers=True,
    )
    assert ax.get_xlabel() == "time [s]"
    assert ax.get_ylabel() == "cwnd [segments]"
    assert ax.get_title() == "windows"
    assert [line.get_color() for line in ax.lines] == [plots.style(name).colour for name in ("reno", "vegas")]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["reno", "vegas"]


def test_a_trace_is_drawn_as_steps_of_each_flow():
    trace = pd.DataFrame({"time_s": [0.0, 1.0, 0.5], "name": ["a", "a", "b"], "value": [1.0, 2.0, 3.0]})
    (ax,) = plots.trace_figure("cwnd", trace, unit="bytes", title="one").axes
    assert [line.get_label() for line in ax.lines] == ["a", "b"]
    assert {line.get_drawstyle() for line in ax.lines} == {"steps-post"}
    assert ax.get_xlabel() == "time [s]"
    assert ax.get_ylabel() == "cwnd [bytes]"
    assert ax.get_ylim()[0] <= 0.0
    assert not plots.trace_figure("cwnd", trace.iloc[:0]).axes[0].lines


def test_intervals_are_drawn_in_rows_with_a_reference():
    data = {
        "reno": Interval(estimate=1.0, low=0.5, high=1.5, confidence=0.9, n=5),
        "vegas": Interval(estimate=2.0, low=-np.inf, high=np.inf, confidence=0.9, n=5),
    }
    ax = plots.intervals(data, label="goodput", unit="Mbit/s", reference=1.2, title="goodput")
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["reno", "vegas"]
    assert ax.get_xlabel() == "goodput [Mbit/s]"
    # A bar and a point, a point alone, and the reference.
    assert len(ax.lines) == 4


def test_effects_are_drawn_with_the_half_widths_asked_for(analysis):
    ax = plots.effects(analysis, unit="KB/s")
    assert ax.get_yticklabels()[0].get_text() == "ss"
    assert ax.get_xlabel() == "effect [KB/s]"
    one, two, _ = ax.lines[:3]
    assert np.ptp(one.get_xdata()) == pytest.approx(2.0 * analysis.hw_one_sided)
    assert np.ptp(two.get_xdata()) == pytest.approx(2.0 * analysis.hw_two_sided)
    # Two lines for each of three effects, and zero.
    assert len(plots.effects(analysis, sides="two", top=3).lines) == 7
    without_error = factorial.analyse([1.0, 2.0, 4.0, 9.0], ["a", "b"])
    assert len(plots.effects(without_error).lines) == 4
    with pytest.raises(ValueError, match="sides = 'three'; accepted: 'both', 'one', 'two'"):
        plots.effects(analysis, sides="three")
    with pytest.raises(ValueError, match="top = 0; accepted"):
        plots.effects(analysis, top=0)


def test_bars_of_the_variation_add_to_100_percent(analysis):
    for ax in (plots.pareto(analysis), plots.pareto(analysis, top=2)):
        assert sum(bar.get_width() for bar in ax.patches) == pytest.approx(100.0)
        assert ax.get_xlabel() == "share of the variation [%]"
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["ss", "ca", "other terms", "error"]
    common = factorial.analyse(analysis.responses, analysis.factors, random="common")
    assert "replications" in [tick.get_text() for tick in plots.pareto(common).get_yticklabels()]


def test_the_half_normal_plot_names_the_largest_effects_and_shows_the_noise():
    names = list("ABCDEF")
    noise = np.random.default_rng(2).normal(0.0, 8.0, 64)
    means = factorial.cells_from_effects({"A": 20.0, "B:C": -15.0}, names).to_numpy() + noise
    ax = plots.half_normal(factorial.analyse(means, names), label=2, unit="KB/s")
    assert {text.get_text() for text in ax.texts} == {"A", "B:C"}
    assert ax.get_ylabel() == "size of the effect [KB/s]"
    # The line has the standard error of an effect, 8 / sqrt(64) = 1, as its slope.
    (x0, x1), (y0, y1) = ax.lines[1].get_data()
    assert (y1 - y0) / (x1 - x0) == pytest.approx(1.0, abs=0.25)
    flat = plots.half_normal(factorial.analyse(np.ones((4, 2)), ["a", "b"]))
    assert flat.lines[1].get_ydata()[1] == 0.0


def test_main_effects_and_interactions_show_predictions(analysis):
    ax = plots.main_effects(analysis, unit="KB/s")
    np.testing.assert_allclose(
        ax.lines[0].get_ydata(),
        [analysis.mean - analysis.effects["ss"], analysis.mean + analysis.effects["ss"]],
    )
    assert ax.get_ylabel() == "mean response [KB/s]"
    ax = plots.interaction(analysis, "ss", "rec", unit="KB/s")
    assert ax.lines[1].get_ydata()[1] == pytest.approx(analysis.predict({"ss": True, "rec": True}))
    multiplicative = factorial.analyse(analysis.responses, analysis.factors, model="multiplicative")
    assert plots.interaction(multiplicative, "ss", "rec").get_yscale() == "log"
    with pytest.raises(ValueError, match="factor = 'x'; accepted: ss, ca, rec"):
        plots.interaction(analysis, "ss", "x")


def test_residual_checks_draw_every_residual_and_say_the_p_values(analysis):
    made = plots.residual_checks(analysis, unit="KB/s")
    quantiles, predicted = made.axes
    assert len(quantiles.lines[0].get_xdata()) == len(predicted.lines[0].get_xdata()) == 80
    assert quantiles.get_title() == f"Shapiro-Wilk: p = {analysis.normality().p_value:.3g}"
    assert predicted.get_xlabel() == "predicted response [KB/s]"
    # Normal residuals would lie on a line with their standard deviation as its slope.
    (x0, x1), (y0, y1) = quantiles.lines[1].get_data()
    assert (y1 - y0) / (x1 - x0) == pytest.approx(analysis.residuals.std())
    single = plots.residual_checks(factorial.analyse([1.0, 2.0, 4.0, 9.0], ["a", "b"]))
    assert "There are no errors." in single.axes[0].get_title()


def test_svg_text_is_the_same_for_the_same_figure(analysis):
    texts = [plots.to_svg(plots.effects(analysis).figure) for _ in range(2)]
    assert texts[0] == texts[1]
    assert texts[0].startswith("<svg")
    assert re.search(r"<text[^>]*>ss", texts[0])
    assert "<dc:date>" not in texts[0]
