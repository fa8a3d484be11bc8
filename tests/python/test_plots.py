"""Plots: content, colours and axis labels."""

import itertools
import re

import numpy as np
import pandas as pd
import pytest

from dumbbell import ScenarioError, engine, factorial, plots
from dumbbell.statistics import Interval

KNOWN = engine.catalogue()
REGISTERED = list(dict.fromkeys(known["name"] for known in [*KNOWN["variants"], *KNOWN["algorithms"]]))


@pytest.fixture
def analysis():
    rng = np.random.default_rng(1)
    means = factorial.cells_from_effects(
        {"mean": 80.0, "ss": 7.0, "ca": 2.0, "ss:rec": 1.0}, ["ss", "ca", "rec"]
    )
    return factorial.analyse(means.to_numpy()[:, None] + rng.normal(size=(8, 10)), ["ss", "ca", "rec"])


@pytest.mark.registry
def test_an_algorithm_has_the_style_of_its_position_in_the_registry():
    looks = plots.styles(REGISTERED[::-1])
    for place, name in enumerate(REGISTERED):
        expected = plots.COLOURS[place % len(plots.COLOURS)], plots.MARKERS[place % len(plots.MARKERS)]
        assert looks[name] == plots.style(name) == expected
    # Other labels never look like an algorithm, nor like each other.
    looks = plots.styles([*REGISTERED, "alpha = 1", "alpha = 2"])
    assert len(set(looks.values())) == len(REGISTERED) + 2
    assert (looks["alpha = 1"].colour, looks["alpha = 2"].colour) == plots.COLOURS[:2]
    # Every pair of colour and marker comes once before any comes again.
    pairs = len(plots.COLOURS) * len(plots.MARKERS)
    assert len(set(plots.styles(map(str, range(pairs))).values())) == pairs == 312


@pytest.mark.registry
def test_styles_are_unique_and_colours_and_markers_are_reused_last():
    looks = plots.styles(REGISTERED)
    assert {"tahoe", "reno", "newreno", "sack", "vegas", "westwoodp"} <= set(looks)
    assert len(set(looks.values())) == len(looks)
    assert len({look.colour for look in looks.values()}) == min(len(looks), len(plots.COLOURS))
    assert len({look.marker for look in looks.values()}) == min(len(looks), len(plots.MARKERS))
    assert len(set(plots.COLOURS)) == len(plots.COLOURS)
    assert len(set(plots.MARKERS)) == len(plots.MARKERS)


def test_markers_have_different_outlines():
    from matplotlib.markers import MarkerStyle

    def outline(marker):
        style = MarkerStyle(marker)
        return style.get_path().transformed(style.get_transform()).vertices.round(3).tobytes()

    assert all(MarkerStyle(marker).is_filled() for marker in plots.MARKERS)
    assert len({outline(marker) for marker in plots.MARKERS}) == len(plots.MARKERS)


# Colours as seen by a reader without one kind of cones, in linear RGB (Machado, Oliveira and Fernandes, 2009,
# severity 1).
SIGHTS = {
    "all": np.eye(3),
    "no long": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "no medium": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "no short": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}  # fmt: skip


def lab(colour, sight):
    """CIE L*a*b* of an sRGB colour as a reader sees it, for the white of sRGB."""
    encoded = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    linear = np.where(encoded <= 0.04045, encoded / 12.92, ((encoded + 0.055) / 1.055) ** 2.4)
    seen = np.clip(np.array(sight) @ linear, 0.0, 1.0)
    to_xyz = [
        [0.4124564, 0.3575761, 0.1804375],
        [0.2126729, 0.7151522, 0.0721750],
        [0.0193339, 0.1191920, 0.9503041],
    ]
    x, y, z = (
        np.cbrt(part) if part > 216 / 24389 else (24389 / 27 * part + 16) / 116
        for part in np.array(to_xyz) @ seen / [0.95047, 1.0, 1.08883]
    )
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize(
    ("sight", "least"), [("all", 25), ("no long", 15), ("no medium", 15), ("no short", 15)]
)
def test_colours_are_distinguishable_with_any_colour_vision(sight, least):
    # A difference of 2.3 is just noticeable side by side; lines and markers need several times as much.
    seen = {colour: lab(colour, SIGHTS[sight]) for colour in plots.COLOURS}
    apart = {
        (one, two): np.linalg.norm(seen[one] - seen[two])
        for one, two in itertools.combinations(plots.COLOURS, 2)
    }
    assert {pair: distance for pair, distance in apart.items() if distance < least} == {}
    # All are visible on white paper.
    assert all(100.0 - place[0] > 20.0 for place in seen.values())


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


@pytest.mark.parametrize("names", [2, 7, 13, 30, 60])
def test_legends_are_complete_with_any_number_of_names(names):
    labels = [f"a label of some length, number {number}" for number in range(names)]
    times, zeros = [0.0, 1.0], [0.0, 0.0]
    trace = pd.concat(pd.DataFrame({"time_s": times, "name": label, "value": zeros}) for label in labels)
    drawn = [
        plots.trace_figure("cwnd", trace).axes[0],
        plots.lines(dict.fromkeys(labels, (times, zeros)), x_label="x", y_label="y"),
        plots.sweep(dict.fromkeys(labels, (times, zeros, zeros, zeros)), x_label="x", y_label="y"),
        plots.scatter_against(range(names), range(names), label="x", by=labels),
    ]
    for ax in drawn:
        figure = ax.get_figure()
        figure.canvas.draw()
        legend = ax.get_legend().get_window_extent()
        assert legend.x0 >= 0.0
        assert legend.y0 >= 0.0
        assert legend.x1 <= figure.bbox.width + 0.5
        assert legend.y1 <= figure.bbox.height + 0.5
        # The legend does not reduce the plot: the figure grows.
        assert ax.get_window_extent().width > 250.0


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


def curve(x, mean, half):
    mean = np.array(mean, dtype=float)
    return x, mean, mean - half, mean + half


def test_a_sweep_draws_means_and_intervals_in_the_look_of_the_algorithm():
    ax = plots.sweep(
        {
            "newreno": curve([1, 2, 4], [3, 4, 5], 0.5),
            "vegas": curve([1, 2, 4], [1, 1, 1], [0.1, np.nan, np.inf]),
        },
        x_label="connections",
        y_label="goodput",
        y_unit="Mbit/s",
        title="a sweep",
        log_x=True,
    )
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_title()) == (
        "connections",
        "goodput [Mbit/s]",
        "a sweep",
    )
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "linear")
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["newreno", "vegas"]
    curves = {line.get_label(): line for line in ax.lines}
    for name in ("newreno", "vegas"):
        assert (curves[name].get_color(), curves[name].get_marker()) == plots.style(name)
    # Where there is no finite interval, none is drawn.
    bars = [[tuple(segment[:, 1]) for segment in bar.get_segments()] for bar in ax.collections]
    assert bars == [[(2.5, 3.5), (3.5, 4.5), (4.5, 5.5)], [(0.9, 1.1)]]


def test_curves_of_one_algorithm_differ_by_their_lines():
    series = {
        ("delayed ACK", "reno"): curve([1, 2], [1, 2], 0.1),
        ("no delay", "reno"): curve([1, 2], [2, 3], 0.1),
    }
    ax = plots.sweep(series, x_label="load", y_label="goodput", drawn="bands", log_y=True)
    assert [line.get_color() for line in ax.lines] == [plots.style("reno").colour] * 2
    assert [line.get_linestyle() for line in ax.lines] == ["-", "--"]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["delayed ACK", "no delay"]
    assert len(ax.collections) == 2
    assert ax.get_yscale() == "log"


def test_published_values_are_hollow_markers_beside_a_sweep():
    ax = plots.sweep(
        {"reno": curve([1, 2], [1, 2], 0.1)},
        paper={"reno": ([1, 2], [1.1, 1.9])},
        x_label="n",
        y_label="goodput",
    )
    (paper,) = (line for line in ax.lines if line.get_label() == "reno, paper")
    assert (paper.get_markerfacecolor(), paper.get_linestyle()) == ("none", "None")
    assert (paper.get_color(), paper.get_marker()) == plots.style("reno")


def test_a_long_legend_is_beside_the_plot():
    def legend(count):
        series = {f"curve {n}": curve([1, 2], [n, n], 0.1) for n in range(count)}
        return plots.sweep(series, x_label="n", y_label="goodput").get_legend()

    assert legend(1) is None
    assert legend(2).get_bbox_to_anchor().x0 < legend(7).get_bbox_to_anchor().x0


@pytest.mark.parametrize(
    ("most", "written"), [(20, {"1", "2", "5", "10", "20"}), (10000, {"1", "10", "100", "1000", "10000"})]
)
def test_ticks_of_a_logarithmic_axis_are_plain_numbers(most, written):
    ax = plots.sweep({"reno": curve([1, most], [1, 2], 0.1)}, x_label="n", y_label="goodput", log_x=True)
    ax.figure.canvas.draw()
    (low, high), axis = ax.get_xlim(), ax.xaxis
    ticks = [
        tick
        for minor in (False, True)
        for tick in zip(axis.get_ticklocs(minor=minor), axis.get_ticklabels(minor=minor), strict=True)
    ]
    assert {text.get_text() for at, text in ticks if low <= at <= high} - {""} == written


def test_a_sweep_of_unequal_columns_is_refused():
    with pytest.raises(
        ScenarioError, match=r"series\['reno'\]: arrays of shapes .* expected x, mean, low, high of one"
    ):
        plots.sweep({"reno": ([1, 2], [1], [1], [1])}, x_label="n", y_label="goodput")
    with pytest.raises(ScenarioError, match='drawn: "boxes" is not accepted; expected "bars" or "bands"'):
        plots.sweep({}, x_label="n", y_label="goodput", drawn="boxes")


def test_a_model_is_drawn_against_the_simulation_with_its_errors():
    ax = plots.scatter_against(
        [10.0, 22.0, 27.0, 5.0],
        [10.0, 20.0, 30.0, 0.0],
        low=[9.0, np.nan, 29.0, 0.0],
        high=[11.0, 21.0, 31.0, 0.0],
        by=["vegas", "reno", "vegas", "reno"],
        label="throughput",
        unit="packets/s",
    )
    assert ax.get_xlabel() == "throughput, simulated [packets/s]"
    assert ax.get_ylabel() == "throughput, model [packets/s]"
    # Errors of 0, 10 and 10 per cent; a simulated value of zero has none.
    assert ax.texts[0].get_text() == "relative error of the model\nmedian 10 %, largest 10 % (n = 3)"
    points = {line.get_label(): line for line in ax.lines}
    assert (points["vegas"].get_color(), points["vegas"].get_marker()) == plots.style("vegas")
    assert list(points["vegas"].get_xdata()) == [10.0, 30.0]
    diagonal = ax.lines[-1]
    assert list(diagonal.get_xdata()) == list(diagonal.get_ydata()) == [0.0, 30.0]
    ax = plots.scatter_against([1.0, 2.0], [0.0, 4.0], label="queue", log=True, title="logarithmic")
    assert (ax.get_xscale(), ax.get_legend(), ax.get_title()) == ("log", None, "logarithmic")
    assert list(ax.lines[-1].get_xdata()) == [1.0, 4.0]
    assert "no relative error" in plots.scatter_against([1.0], [0.0], label="queue").texts[0].get_text()
    with pytest.raises(ScenarioError, match="points: arrays of shapes"):
        plots.scatter_against([1.0], [1.0, 2.0], label="queue")
    with pytest.raises(ScenarioError, match="by: 1 names is not accepted; expected one for each"):
        plots.scatter_against([1.0, 2.0], [1.0, 2.0], by=["reno"], label="queue")


def test_effects_are_drawn_with_the_requested_half_widths(analysis):
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


def test_residual_checks_draw_every_residual_and_show_the_p_values(analysis):
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
