"""Figures of many runs: the marks, the axes, the intervals, and what is refused."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest

import dumbbell
from dumbbell import Job, Probe, ScenarioError
from dumbbell.judge.estimate import mean_of
from dumbbell.plots import axis, estimates, naming, sheets
from dumbbell.plots.picture import tex_system

LIMIT = "links.r1-r2.queue.limit"
TCP = "flows.fg.tcp"
RANDOM = {"flows.fg.start": {"uniform": ["0 s", "1 s"]}, "duration": "3 s"}


class Halving(dumbbell.Control):
    """A control of the user's."""

    keep: float = 0.5

    def on_ack(self, ack):
        self.cwnd = ack.grown(self.cwnd, ack.mss * ack.mss / self.cwnd)

    def on_congestion(self, congestion):
        self.cwnd = congestion.loss_window


@pytest.fixture(scope="module")
def base(two_hosts):
    return two_hosts.with_values(
        RANDOM
        | {"links.r1-r2.impairments": [{"kind": "bernoulli", "probability": 0.005}]}
        | {"probes": [{"flows": ["fg"], "quantities": ["cwnd_base", "delivered", "rtt"]}]}
    )


@pytest.fixture(scope="module")
def runs(base):
    axes = {LIMIT: ["2 packets", "10 packets", "50 packets"], TCP: ["reno", "vegas"]}
    return dumbbell.sweep(base, axes, runs=3, progress=False)


@pytest.fixture(scope="module")
def paths(base):
    """Three parameters."""
    axes = {
        LIMIT: ["2 packets", "20 packets"],
        TCP: ["reno", "vegas"],
        "links.r1-r2.rate": ["800 kbit/s", "1.6 Mbit/s"],
    }
    return dumbbell.sweep(base, axes, runs=2, progress=False)


@pytest.fixture(scope="module")
def single(two_hosts):
    return dumbbell.sweep(two_hosts, {LIMIT: ["2 packets", "10 packets"]}, progress=False)


def only(picture):
    (panel,) = picture.panels
    return panel


# Axes


def test_an_axis_of_quantities_is_numeric_with_its_unit_and_a_name_of_people(runs):
    panel = only(runs.plot())
    assert panel.labels == ("buffer [packets]", "goodput [Mbit/s]")
    assert panel.series["reno"][0].tolist() == [2.0, 10.0, 50.0]
    assert not panel.ticks


@pytest.mark.parametrize(
    ("values", "unit", "places"),
    [
        (["0.5 BDP", "1 BDP", "2 BDP"], "BDP", [0.5, 1.0, 2.0]),
        (["1 packet", "10 packets"], "packets", [1.0, 10.0]),
        (["20 Mbit/s", "5 Mbit/s"], "Mbit/s", [20.0, 5.0]),
        (["900 kbit/s", "2 Mbit/s"], "Mbit/s", [0.9, 2.0]),
        (["500 us", "50 ms", "1 s"], "s", [0.0005, 0.05, 1.0]),
        (["2 ms", "50 ms"], "ms", [2.0, 50.0]),
        ([0.1, 1], None, [0.1, 1.0]),
    ],
)
def test_quantities_become_numbers(values, unit, places):
    found = axis.axis_of("axis", values)
    assert found.is_numeric
    assert found.unit == unit
    assert [found.places[value] for value in values] == pytest.approx(places)


@pytest.mark.parametrize(
    "values",
    [
        ["reno", "vegas"],
        ["10 packets", "unlimited"],
        ["1 BDP", "10 packets"],
        [True, False],
        ["2 reno", "3 reno"],
    ],
)
def test_what_is_no_quantity_is_a_category_in_its_order(values):
    found = axis.axis_of("axis", values)
    assert not found.is_numeric
    assert [found.places[value] for value in values] == [0.0, 1.0]


def test_the_suffix_of_a_parameter_is_the_unit_of_its_axis():
    assert axis.axis_of("delay_ms", [1, 2]).unit == "ms"
    assert naming.label_of("delay_ms") == "delay"
    # Its numbers are in that unit already.
    assert naming.quantity_of("delay_ms", 5.0).scale == 1.0


@pytest.mark.parametrize(
    ("values", "is_even"),
    [
        ([0.1, 0.5, 1, 2, 5, 10], True),
        ([33, 100, 300, 900], True),
        ([1, 5, 10, 15, 20], False),
        ([1, 2, 4], False),
        ([0, 1, 100], False),
        ([1, 100], False),
    ],
)
def test_an_axis_is_logarithmic_where_values_span_a_decade_in_steps_even_by_ratio(values, is_even):
    assert axis.is_even_in_logarithm(values) is is_even


def test_the_axis_of_a_sweep_over_decades_is_logarithmic_unless_asked_otherwise(runs):
    assert only(runs.plot()).log_x
    assert runs.plot().figure.axes[0].get_xscale() == "log"
    assert not only(runs.plot(logx=False)).log_x
    assert only(runs.plot(logy=True)).log_y


@pytest.mark.parametrize(
    ("column", "label"),
    [
        ("goodput_bps", "goodput"),
        ("rtt_p95_s", "95th percentile of RTT"),
        ("links.a-b.queue.limit", "buffer"),
        ("links.a.b.queue", "queue discipline"),
        ("flows.x.tcp", "congestion control"),
        ("flows.x.tcp.window.cap", "cap"),
        ("segments_lost", "segments lost"),
        ("more_ms", "more"),
    ],
)
def test_columns_and_addresses_have_names_of_people(column, label):
    assert naming.label_of(column) == label


def test_labels_that_would_be_equal_name_the_link():
    found = naming.labels_of(["links.a-b.rate", "links.b-c.rate", "flows.f.tcp"])
    assert list(found.values()) == ["link rate of a-b", "link rate of b-c", "congestion control"]


def test_every_column_of_the_results_has_a_label_and_a_unit():
    from dumbbell.results import COLUMNS

    for table in ("flows", "links"):
        for column in COLUMNS[table]:
            found = naming.quantity_of(column.name, 1.0)
            assert "_" not in found.title
            assert found.title.count("[") <= 1
    assert naming.quantity_of("goodput_bps", 2e9).title == "goodput [Gbit/s]"
    assert naming.quantity_of("wait_mean_s", 0.0002).title == "mean queueing delay [µs]"
    assert naming.quantity_of("utilization", 1.0).title == "utilization [%]"
    assert naming.quantity_of("timeouts", 9.0).title == "timeouts"


def test_a_table_on_an_axis_is_named_by_its_kind_and_where_it_differs(base):
    axes = {TCP: [Halving(), Halving(keep=0.7), "reno", {"variant": "sack", "initial_window": "4 segments"}]}
    runs = dumbbell.sweep(base, axes, progress=False, threads=1)
    panel = only(runs.plot())
    assert len(panel.ticks) == 4
    assert panel.ticks[0].startswith("Halving")
    assert "0.7" in panel.ticks[1]
    assert list(panel.ticks[2:]) == ["reno", "sack (initial_window = 4 segments)"]
    assert not any("{" in tick for tick in panel.ticks)
    figure = runs.plot(style="paper").figure
    assert figure.axes[0].get_window_extent().width > 0.6 * figure.bbox.width


# Means and intervals


def test_means_have_the_intervals_of_the_rule_of_verdicts_and_the_note_names_them(runs):
    picture = runs.plot(y="rtt_mean_s")
    panel = only(picture)
    chosen = (runs.flows[LIMIT] == "10 packets") & (runs.flows[TCP] == "reno")
    expected = mean_of(runs.flows[chosen].rtt_mean_s.to_numpy())
    low, high = panel.intervals["reno"]
    assert panel.series["reno"][1][1] == pytest.approx(expected.measured * 1e3)
    assert (low[1], high[1]) == pytest.approx((expected.low * 1e3, expected.high * 1e3))
    assert picture.note == "Means of 3 runs; bands: 90 % intervals of the mean (Student's\u00a0t)."


def test_single_runs_have_no_intervals_and_the_note_says_so(single):
    picture = single.plot()
    assert not only(picture).intervals
    assert picture.note == "Single runs, without intervals."
    assert not picture.figure.axes[0].collections


def test_an_interval_stays_inside_the_bounds_of_its_quantity():
    quantity = naming.quantity_of("utilization", 1.0)
    found = estimates.estimate([1.0, 1.0, 0.9], quantity)
    assert found.high == 100.0
    assert found.low < found.mean < 100.0


def test_equal_runs_have_no_interval():
    found = estimates.estimate([2.0, 2.0, 2.0], naming.quantity_of("timeouts", 2.0))
    assert np.isnan(found.low)
    assert found.mean == 2.0


def test_a_point_where_a_run_has_no_value_is_a_gap_that_the_note_counts():
    tally, quantity = estimates.Tally(), naming.quantity_of("completion_s", 1.0)
    tally.add(estimates.estimate([1.0, 2.0], quantity))
    assert not tally.add(estimates.estimate([1.0, np.nan], quantity)).is_measured
    assert tally.note("bands").endswith("Not drawn: 1 point where a run has no value.")


def test_a_column_without_any_value_is_refused(runs):
    with pytest.raises(ScenarioError, match='y: "completion_s" has no value in any run'):
        runs.plot(y="completion_s")


def test_means_never_mix_the_values_of_another_parameter(paths):
    # Everything that varies is shown.
    picture = paths.plot()
    assert [panel.title for panel in picture.panels] == ["link rate 800 kbit/s", "link rate 1.6 Mbit/s"]
    with pytest.raises(ScenarioError, match=r'where: "links.r1-r2.rate" varies too'):
        paths.plot(x=LIMIT, hue=TCP, col="name", row="seed")
    panel = only(paths.plot(where={"links.r1-r2.rate": "800 kbit/s"}))
    assert panel.y_unit == "kbit/s"
    assert panel.series["reno"][1].max() < 800


def test_bands_are_drawn_over_numbers_and_bars_over_categories(runs):
    ax = runs.plot().figure.axes[0]
    assert {type(one).__name__ for one in ax.collections} == {"FillBetweenPolyCollection"}
    picture = runs.plot(x=TCP, hue=LIMIT)
    assert {type(one).__name__ for one in picture.figure.axes[0].collections} == {"LineCollection"}
    assert "; bars: 90 % intervals" in picture.note


def test_categories_are_not_joined_by_a_line(runs):
    for line in runs.plot(x=TCP, hue=LIMIT).figure.axes[0].lines:
        assert line.get_linestyle() == "None"
    assert {line.get_linestyle() for line in runs.plot().figure.axes[0].lines} == {"-"}


# Kinds


def test_a_scatter_has_a_point_for_each_run(runs):
    panel = only(runs.plot(x="rtt_mean_s", kind="scatter", hue=TCP))
    assert panel.labels == ("mean RTT [ms]", "goodput [Mbit/s]")
    assert sum(len(x) for x, _ in panel.series.values()) == len(runs)
    assert not panel.intervals


def test_a_cdf_rises_from_0_to_1_and_counts_its_values(runs):
    picture = runs.plot(x="rtt_mean_s", kind="cdf", hue=TCP)
    x, y = only(picture).series["reno"]
    assert (y[0], y[-1]) == (0.0, 1.0)
    assert (np.diff(x) >= 0).all()
    assert "9 values per curve, one per run and flow" in picture.note


def test_a_cdf_of_packets_needs_their_probe(runs, single):
    picture = runs.plot(x="rtt", kind="cdf", hue=TCP)
    assert only(picture).labels[0].startswith("RTT [")
    assert "one per packet" in picture.note
    with pytest.raises(ScenarioError, match='x: "rtt" is no column'):
        single.plot(x="rtt", kind="cdf")


def test_boxes_have_the_quartiles_of_the_runs(runs):
    picture = runs.plot(kind="box", hue=TCP)
    panel = only(picture)
    chosen = runs.flows[(runs.flows[LIMIT] == "50 packets") & (runs.flows[TCP] == "vegas")].goodput_bps / 1e6
    assert panel.series["vegas"][1][2] == pytest.approx(chosen.median())
    assert list(panel.ticks) == ["2", "10", "50"]
    assert len(picture.figure.axes[0].patches) == 6
    assert "whiskers" in picture.note


def test_bars_begin_at_zero_and_stand_side_by_side(runs):
    ax = runs.plot(kind="bar").figure.axes[0]
    assert ax.get_ylim()[0] == 0.0
    lefts = sorted((bar.get_x(), bar.get_x() + bar.get_width()) for bar in ax.patches)
    assert len(lefts) == 6
    assert all(left >= right for (_, right), (left, _) in itertools.pairwise(lefts))


def test_cells_are_means_and_the_colour_bar_names_them(paths):
    picture = paths.plot(x=LIMIT, y="links.r1-r2.rate", kind="heat", col=TCP)
    first, second = picture.panels
    chosen = (
        (paths.flows[LIMIT] == "20 packets")
        & (paths.flows["links.r1-r2.rate"] == "1.6 Mbit/s")
        & (paths.flows[TCP] == "reno")
    )
    assert first.series["1.6"][1][1] == pytest.approx(paths.flows[chosen].goodput_bps.mean() / 1e6)
    assert first.z_range == second.z_range
    assert [ax.get_ylabel() for ax in picture.figure.axes].count("goodput [Mbit/s]") >= 1
    assert first.labels == ("buffer [packets]", "link rate [Mbit/s]")


def test_a_time_series_is_the_mean_over_runs_with_pointwise_intervals(runs):
    picture = runs.plot(y="cwnd_base", kind="timeseries", where={LIMIT: "10 packets"})
    panel = only(picture)
    assert panel.labels == ("time [s]", "congestion window [segments]")
    assert set(panel.series) == set(panel.intervals) == {"reno", "vegas"}
    assert "of the mean at each time" in picture.note


def test_goodput_over_time_adds_up_and_never_exceeds_the_link(runs):
    panel = only(runs.plot(y="goodput", kind="timeseries", where={LIMIT: "10 packets", TCP: "reno"}))
    ((x, y),) = panel.series.values()
    assert panel.y_unit in ("Mbit/s", "kbit/s")
    scale = 1e6 if panel.y_unit == "Mbit/s" else 1e3
    assert y.max() * scale < 1.6e6
    traces = runs.traces["delivered"]
    chosen = traces[(traces[LIMIT] == "10 packets") & (traces[TCP] == "reno")]
    delivered = chosen.groupby("job").value.max().mean()
    assert (y * scale).sum() * (x[1] - x[0]) / 8 == pytest.approx(delivered, rel=0.02)


# Panels and legends


def test_panels_share_their_limits_and_only_outer_ones_are_labelled(paths):
    picture = paths.plot(col="links.r1-r2.rate", row=TCP)
    axes = picture.figure.axes
    assert len(axes) == 4
    assert len({ax.get_ylim() for ax in axes}) == len({ax.get_xlim() for ax in axes}) == 1
    assert [bool(ax.get_xlabel()) for ax in axes] == [False, False, True, True]
    assert [bool(ax.get_ylabel()) for ax in axes] == [True, False, True, False]


@pytest.mark.parametrize(
    ("style", "kind"),
    [("screen", "line"), ("paper", "line"), ("slides", "line"), ("paper", "box"), ("slides", "bar")],
)
def test_nothing_overlaps_and_nothing_is_cut(runs, style, kind):
    picture = runs.plot(kind=kind, style=style)
    figure = picture.figure
    figure.draw_without_rendering()
    (legend,) = figure.legends
    (ax,) = figure.axes
    box, axes = legend.get_window_extent(), ax.get_tightbbox()
    assert box.y0 >= axes.y1 - 0.5
    note = figure._supxlabel.get_window_extent()
    assert note.y1 <= axes.y0 + 0.5
    for one in (box, axes, note):
        assert one.x0 >= -0.5
        assert one.y0 >= -0.5
        assert one.x1 <= figure.bbox.width + 0.5
        assert one.y1 <= figure.bbox.height + 0.5


@pytest.mark.parametrize("style", ["screen", "paper", "slides"])
def test_a_legend_and_a_note_make_the_figure_higher_and_not_the_axes_smaller(runs, style):
    def height(**arguments):
        figure = runs.plot(style=style, logx=False, **arguments).figure
        figure.draw_without_rendering()
        return figure.axes[0].get_window_extent().height

    bare = height(where={TCP: "reno"}, labels={"note": ""})
    assert height() > 0.95 * bare


def test_a_legend_says_what_its_names_are(runs):
    (legend,) = runs.plot(x=TCP, hue=LIMIT).figure.legends
    assert legend.get_title().get_text() == "buffer"
    assert [text.get_text() for text in legend.get_texts()] == ["2 packets", "10 packets", "50 packets"]


def test_labels_replace_names_of_columns_categories_and_the_note(runs):
    labels = {LIMIT: "queue size", "vegas": "TCP Vegas", "goodput_bps": "rate", "note": "By us."}
    picture = runs.plot(labels=labels)
    panel = only(picture)
    assert panel.labels == ("queue size [packets]", "rate [Mbit/s]")
    assert set(panel.series) == {"reno", "TCP Vegas"}
    assert picture.note == "By us."
    # An algorithm keeps its colour whatever it is called.
    by_label = {line.get_label(): line.get_color() for line in picture.figure.axes[0].lines}
    assert by_label["TCP Vegas"] == dumbbell.plots.style("vegas").colour


# Styles


def test_paper_is_as_wide_as_a_column_and_embeds_its_fonts(runs, tmp_path):
    picture = runs.plot(style="paper")
    assert picture.figure.get_size_inches()[0] == pytest.approx(3.3)
    picture.save(tmp_path / "figure.pdf")
    content = (tmp_path / "figure.pdf").read_bytes()
    assert b"/FontFile2" in content
    assert b"/Type3" not in content
    assert b"/TrueType" in content or b"/CIDFontType2" in content


def test_curves_are_visible_on_a_dark_ground():
    sheet = sheets.SHEETS["dark"]
    for colour in dumbbell.plots.COLOURS:
        assert sheets.contrast(sheets.lightened(colour, sheet.ground), sheet.ground) >= 4.5
    assert sheets.contrast(sheet.ink, sheet.ground) > 7.0


def test_the_background_of_a_dark_figure_is_dark(runs):
    figure = runs.plot(style="dark").figure
    assert figure.get_facecolor()[:3] == pytest.approx((0x14 / 255, 0x18 / 255, 0x1E / 255))


def test_a_dark_page_is_dark(runs):
    text = runs.plot(kind="bar", style="dark").to_html()
    ground = sheets.SHEETS["dark"].ground
    assert f"body{{background:{ground}" in text
    assert f'"border_fill_color":"{ground}"' in text


def test_pgf_needs_a_tex_system(runs, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(
        ScenarioError, match=r'"pgf" needs a program that is missing; expected one of .*lualatex'
    ):
        runs.plot().save(tmp_path / "figure.pgf")
    program = tmp_path / "xelatex"
    program.touch(mode=0o755)
    assert tex_system() == "xelatex"
    assert list(tmp_path.iterdir()) == [program]


@pytest.mark.parametrize("kind", ["line", "scatter", "bar", "box", "heat", "timeseries", "cdf"])
def test_every_kind_is_drawn_as_a_page_and_in_the_terminal(runs, kind):
    arguments = {
        "cdf": {"x": "rtt_mean_s"},
        "heat": {"x": LIMIT, "y": TCP},
        "timeseries": {"y": "cwnd_base", "where": {LIMIT: "10 packets"}},
    }.get(kind, {})
    picture = runs.plot(kind=kind, **arguments)
    assert picture.note in picture.to_html().replace("&#x27;", "'")
    assert picture.note.split()[0] in str(picture)


# What is refused


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"kind": "lines"}, ("kind: ", "did you mean `line`")),
        ({"style": "papers"}, ("style: ", "did you mean `paper`")),
        ({"col": "flows.fg.tpc"}, ("col: ", "is no column", f"did you mean `{TCP}`")),
        ({"row": 3}, ("row: ", "the name of a column")),
        ({"kind": "cdf", "y": "rtt_mean_s"}, ("y: ", 'has no effect with kind "cdf"', "x, which is")),
        ({"kind": "bar", "logx": True}, ("logx: ", "has no effect", "bars stand")),
        ({"kind": "timeseries", "x": LIMIT}, ("x: ", "has no effect", "time")),
        ({"kind": "heat", "logy": True}, ("logy: ", "has no effect")),
        ({"kind": "timeseries", "y": "cwnd"}, ("y: ", "was not recorded", "cwnd_base", "Probe")),
        ({"x": TCP, "logx": True}, ("logx: ", "categories")),
        ({"logx": "yes"}, ("logx: ", "true, false")),
        ({"x": LIMIT, "hue": LIMIT}, ("hue: ", "is x already")),
        ({"labels": {"vegaz": "V"}}, ("labels.vegaz", "did you mean `vegas`")),
        ({"labels": {"vegas": 3}}, ("labels.vegas", "a text")),
        ({"labels": ["vegas"]}, ("labels: ", "a table")),
        ({"where": {TCP: "cubic"}}, (f"where.{TCP}", "reno, vegas")),
        ({"where": {"tcp": "reno"}}, ("where.tcp",)),
        ({"kind": "heat", "where": {TCP: "reno"}}, ("kind: ", "two parameters")),
        ({"kind": "scatter", "x": "nme"}, ("x: ", "did you mean `name`")),
    ],
)
def test_a_wrong_argument_is_refused_with_what_is_accepted(runs, arguments, words):
    with pytest.raises(ScenarioError) as refused:
        runs.plot(**arguments)
    for word in words:
        assert word in str(refused.value)


# Percentiles


def test_percentiles_pool_the_packets_of_runs_by_the_nearest_rank(runs):
    found = runs.percentiles("rtt", [0.5, 0.99], by=TCP)
    values = runs.traces["rtt"].query(f"`{TCP}` == 'reno'").value.sort_values().to_numpy()
    row = found[found[TCP] == "reno"].iloc[0]
    assert row.n == len(values)
    assert row.p50 == values[int(np.ceil(0.5 * len(values))) - 1]
    assert row.p99 == values[int(np.ceil(0.99 * len(values))) - 1]
    assert len(runs.percentiles("goodput_bps")) == 6


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"of": "wait"}, "of: "),
        ({"of": "rtt", "shares": [95]}, "shares: 95 .* at most 1"),
        ({"of": "rtt", "by": "tpc"}, "by: "),
        ({"of": "name"}, "a column of numbers"),
    ],
)
def test_wrong_percentiles_are_refused(runs, arguments, words):
    with pytest.raises(ScenarioError, match=words):
        runs.percentiles(**arguments)


# One value for each run


def test_the_value_of_a_run_is_missing_if_one_of_its_flows_has_none():
    frame = pd.DataFrame(
        {
            "job": [0, 0, 1, 1, 0, 1],
            "name": ["a", "b", "a", "b", "datagrams", "datagrams"],
            "tcp": ["reno"] * 6,
            "rtt": [1.0, 3.0, 2.0, np.nan, np.nan, np.nan],
        }
    )
    # A flow without a value in any run does not count.
    found = estimates.by_run(frame, ["tcp"], "rtt").set_index("job").rtt
    assert found[0] == 2.0
    assert np.isnan(found[1])


# Tables


def test_a_table_has_means_with_intervals_and_units(runs):
    table = runs.table(["goodput_bps", "segments_lost"], where={LIMIT: ["10 packets", "2 packets"]})
    assert list(table.text.columns) == ["buffer", "congestion control", "goodput [Mbit/s]", "segments lost"]
    assert len(table.frame) == 4
    row = table.frame.iloc[0]
    assert row.goodput_bps_low < row.goodput_bps < row.goodput_bps_high
    assert row.goodput_bps_n == 3
    assert table.note.startswith(
        "Means of 3 runs; in brackets: 90 % intervals of the mean (Student's\u00a0t)."
    )
    assert "goodput [Mbit/s]" in str(table)


def test_a_table_for_latex_has_rules_of_booktabs_and_escaped_cells(runs, tmp_path):
    text = runs.table(labels={TCP: "control & recovery"}).to_latex(label="tab:one")
    for rule in (
        r"\toprule",
        r"\midrule",
        r"\bottomrule",
        r"\label{tab:one}",
        r"control \& recovery",
        r"90 \% ",
    ):
        assert rule in text
    runs.table().save(tmp_path / "table.tex")
    runs.table().save(tmp_path / "table.csv")
    assert r"\toprule" in (tmp_path / "table.tex").read_text("utf-8")
    assert "goodput_bps_low" in (tmp_path / "table.csv").read_text("utf-8")
    with pytest.raises(ScenarioError, match=r"table: .* a name that ends in \.tex, \.csv"):
        runs.table().save(tmp_path / "table.txt")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"y": "godput_bps"}, ("y: ", "did you mean `goodput_bps`")),
        ({"y": "name"}, ("y: ", "numbers")),
        ({"by": "flows.fg.tpc"}, ("by: ", f"did you mean `{TCP}`")),
        ({"by": TCP}, ("by: ", "varies too")),
        ({"labels": {"x": "y"}}, ("labels.x",)),
    ],
)
def test_a_wrong_table_is_refused(runs, arguments, words):
    with pytest.raises(ScenarioError) as refused:
        runs.table(**arguments)
    for word in words:
        assert word in str(refused.value)


def test_tables_of_a_notebook_have_units_and_no_exponents(runs, two_hosts):
    for shown in (runs._repr_html_(), dumbbell.run(two_hosts)._repr_html_()):
        tables = shown[shown.index("<table") :]
        assert "e+0" not in tables
        assert "goodput [" in tables
        assert "goodput_bps" not in tables


def test_jobs_with_parameters_of_ones_own_are_drawn_by_them(base):
    jobs = [
        Job(base.with_values({"links.r1-r2.delay": f"{ms} ms"}), run=run, parameters={"delay_ms": ms})
        for ms in (5, 50, 500)
        for run in range(2)
    ]
    panel = only(dumbbell.run_many(jobs, progress=False).plot())
    assert panel.labels[0] == "delay [ms]"
    assert panel.log_x


def test_probes_are_needed_for_a_time_series(single, two_hosts):
    silent = dumbbell.run_many(two_hosts.with_values({"probes": None}), progress=False)
    with pytest.raises(ScenarioError, match=r"kind: .* needs traces, and none was recorded"):
        silent.plot(kind="timeseries")
    assert Probe is not None
    assert only(single.plot(kind="timeseries", y="cwnd", where={LIMIT: "10 packets"})).steps


# Several flows or links in one figure


@pytest.mark.parametrize("kind", ["line", "bar", "box", "scatter", "cdf"])
def test_values_of_several_links_are_never_mixed(runs, kind):
    asked = {"kind": kind, "hue": TCP} | ({"x": "utilization"} if kind == "cdf" else {"y": "utilization"})
    with pytest.raises(ScenarioError, match=r"^names: 6 links would be mixed; expected one of .*r1-r2"):
        runs.plot(**asked)
    assert only(runs.plot(**asked, names=["r1-r2"])).series.keys() == {"reno", "vegas"}
    assert "r2-r1" in only(runs.plot(**asked | {"hue": "name"}, where={TCP: "reno"})).series


def test_the_note_names_flows_that_are_drawn_together():
    shape = dumbbell.topologies.dumbbell(pairs=2, rate="2 Mbit/s", delay="10 ms")
    flows = [dumbbell.Flow(name=f"f{n}", from_=f"s{n}", to=f"d{n}", tcp="reno") for n in (1, 2)]
    probes = [Probe(flows=["f1", "f2"], quantities=["rtt"])]
    base = shape.scenario(duration="2 s", flows=flows, probes=probes)
    several = dumbbell.sweep(base, {LIMIT: ["5 packets", "20 packets"]}, progress=False)
    pooled = several.plot(x="rtt", kind="cdf", hue=LIMIT)
    assert pooled.note.endswith("The flows together: f1, f2.")
    # With a single parameter, the flows have the colours.
    assert set(only(several.plot()).series) == {"f1", "f2"}
    assert several.plot(hue=LIMIT, x="name").note == "Single runs, without intervals."
    chosen = several.plot(x="rtt", kind="cdf", hue=LIMIT, names=["f2"])
    assert "together" not in chosen.note


def test_columns_of_flows_and_links_are_told_apart(runs):
    with pytest.raises(ScenarioError, match="is a column of flows; expected a column of the table"):
        runs.table(["goodput_bps", "utilization"])
    with pytest.raises(ScenarioError, match="completion_s, of single transfers"):
        runs.percentiles("transfers.completion_s")
