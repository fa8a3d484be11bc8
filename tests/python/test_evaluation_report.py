"""The report of an evaluation."""

from __future__ import annotations

import math
from dataclasses import replace

import pandas as pd
import pytest

from dumbbell import plots
from dumbbell.evaluation import ITEMS, evaluating
from dumbbell.evaluation.figures import figure_of
from dumbbell.evaluation.item import Item, Judged, decided
from dumbbell.evaluation.items.competing import COEXISTENCE
from dumbbell.evaluation.page import METRICS, _digits, _metrics, _reported, findings
from dumbbell.evaluation.study import SUBJECT
from dumbbell.judge.baseline import Limit, compared
from dumbbell.judge.quantity import Quantity
from dumbbell.plots.look import GREY
from small_evaluation import LIMIT, study, table


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
