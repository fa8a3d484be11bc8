"""The first screen of a report: one denominator, and the hits and misses that tell most."""

from __future__ import annotations

import re

import pytest

from dumbbell.claims import Claim, Finding, judge, measured_score
from dumbbell.judge.estimate import Outcome
from dumbbell.papers import nulls
from dumbbell.papers.opening import MOST_TELLING, opening
from dumbbell.papers.page import arranged
from dumbbell.report import Column, Figure, Opening, Section, Table, Text, render
from dumbbell.report.opening import Point, against


def findings(*values: tuple[str, str, float, float, float]) -> list[Finding]:
    """Return findings on values: name, source, number of the paper, relative tolerance, our number."""
    return judge(
        [
            Claim(
                id=name,
                source=source,
                kind="value",
                statement=f"statement of {name}",
                measure=lambda _evidence, ours=ours: Outcome(measured=ours),
                paper_value=paper,
                tolerance_kind="rel",
                tolerance=tolerance,
            )
            for name, source, paper, tolerance, ours in values
        ],
        None,
    )


def opened(judged: list[Finding]) -> Opening:
    found = opening("Why?", judged, measured_score([judged]), nulls.passed(judged))
    assert found is not None
    return found


JUDGED = (
    ("loose", "table 1", 10.0, 0.2, 11.0),
    ("tight", "table 1", 20.0, 0.01, 20.1),
    ("other", "table 2", 30.0, 0.1, 31.0),
    ("near", "table 2", 40.0, 0.1, 46.0),
    ("far", "table 3", 50.0, 0.1, 99.0),
    ("rough", "table 3", 60.0, 0.5, 61.0),
)


def test_bar_and_shares_count_the_printed_claims() -> None:
    found = opened(findings(*JUDGED))
    assert found.counts == (3, 0, 2)
    assert [number.value for number in found.numbers][:2] == ["–", "60 %"]
    assert found.numbers[1].detail.startswith("3 of 5 printed claims")
    assert found.note == "1 of 1 claims of other classes hold, too."


def test_the_tightest_hits_and_the_farthest_misses_come_first_one_of_each_source() -> None:
    found = opened(findings(*JUDGED))
    assert [each.id for each in found.hits] == ["tight", "other", "loose"]
    assert [each.id for each in found.misses] == ["far", "near"]
    assert found.misses[0].anchor == "claim-far"
    many = [(f"c{index}", "table 1", 10.0, 0.01 * index, 10.0) for index in range(1, 9)]
    assert [each.id for each in opened(findings(*many)).hits] == ["c1", "c2", "c3"][:MOST_TELLING]


def test_numbers_of_a_table_are_drawn_against_ours_where_there_are_enough() -> None:
    three = findings(*((f"v{index}", "table 4", float(index), 0.1, index + 0.01) for index in (1, 2, 3)))
    assert [panel.caption for panel in opened(three).panels] == ["table 4"]
    assert opened(findings(*JUDGED)).panels == []


@pytest.mark.parametrize(("most", "is_log"), [(19.0, False), (100.0, True)])
def test_equal_numbers_lie_on_the_diagonal(most: float, is_log: bool) -> None:
    def point(value: float) -> Point:
        return Point(paper=value, ours=value, low=value, high=value, verdict="reproduced", name="<a>")

    drawn = against([point(1.0), point(4.0), point(most)])
    assert (" log<" in drawn) is is_log
    places = re.findall(r'<circle class="reproduced" cx="([\d.]+)" cy="([\d.]+)"', drawn)
    assert len(places) == 3
    for x, y in places:
        assert float(x) - 14 == pytest.approx(150 - float(y), abs=0.11)
    assert "&lt;a&gt;" in drawn


def test_results_keep_their_order_and_the_set_up_follows_the_claims() -> None:
    sections = [
        Section(anchor=name, title=name, blocks=[]) for name in ("misses", "set-up", "b", "sensitivity", "a")
    ]
    results, appendix = arranged(sections)
    assert [section.anchor for section in results] == ["b", "a", "misses"]
    assert [section.anchor for section in appendix] == ["sensitivity", "set-up"]


def test_a_figure_with_a_short_caption_is_on_the_first_screen_and_facts_are_last() -> None:
    figures = [
        Figure(svg='<svg viewBox="0 0 40 30"></svg>', caption="long", short=short)
        for short in ("", "few words")
    ]
    html = render(
        title="t",
        subtitle="",
        facts=[("run time", "1 s")],
        scoreboard={"groups": [], "kinds": [], "sources": [], "note": ""},
        claims=[],
        sections=[Section(anchor="a", title="A", blocks=[Text(paragraphs=["words"]), *figures])],
        opening=opened(findings(*JUDGED)),
    )
    assert html.count('<svg id="shown-1-drawing"') == 1
    assert (
        html.index('href="#shown-1-drawing"') < html.index("few words") < html.index('id="shown-1-drawing"')
    )
    assert (
        html.index("Why?")
        < html.index('<section id="a">')
        < html.index('id="claims"')
        < html.index("run time")
    )


def test_cells_are_named_by_group_and_heading() -> None:
    table = Table(
        caption="", columns=Column.numbers("k", "mean", "sd"), rows=[], groups=[("", 1), ("low", 2)]
    )
    assert table.labels == ["k", "low, mean", "low, sd"]
    assert table.extent == "some"
