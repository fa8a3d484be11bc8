"""Reproducing a paper: what is kept, what resumes, what is refused, what is written."""

import json
import re
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from dumbbell import ScenarioError, papers, report
from small_paper import SMALL, forget_papers, write_paper


@pytest.fixture
def folder(tmp_path):
    write_paper(tmp_path / "papers", "small-paper", SMALL)
    yield tmp_path / "papers"
    forget_papers()


def test_a_reproduction_writes_a_report_and_findings(folder, tmp_path, capsys):
    done = papers.reproduce(
        "small-paper", papers=folder, output=tmp_path / "out", quiet=True, json_output=True
    )
    printed = json.loads(capsys.readouterr().out)
    assert printed == json.loads(done.results.read_text(encoding="utf-8"))
    assert [claim["verdict"] for claim in printed["claims"]] == [
        "reproduced",
        "not-reproduced",
        "not-checkable",
    ]
    for claim in printed["claims"]:
        assert {"id", "kind", "verdict", "measured", "low", "high", "paper_value", "why"} <= set(claim)
    assert printed["paper"] == "small-paper"
    html = done.report.read_text(encoding="utf-8")
    assert "One &lt;section&gt;" in html
    assert "<code>code</code> &amp; text" in html
    assert not re.search(r'(src|href)="https?:', html)


def test_a_second_reproduction_runs_nothing_again_and_a_fresh_one_everything(folder, tmp_path):
    def again(**options):
        return papers.reproduce("small-paper", papers=folder, output=tmp_path / "out", quiet=True, **options)

    first = again()
    reduced = sys.modules["dumbbell_paper_small_paper"].REDUCED
    assert reduced == [3]
    second = again()
    assert reduced == [3]
    assert second.data["runs_kept_from_before"] == 3
    assert second.data["claims"] == first.data["claims"]
    again(runs=5)
    assert reduced == [3, 2]
    again(fresh=True)
    assert reduced == [3, 2, 3]


def test_an_interruption_keeps_what_is_done(folder, tmp_path, monkeypatch):
    paper = papers.load("small-paper", folder)
    reduce, calls = type(paper).reduce, []

    def interrupted(self, runs):
        calls.append(len(runs))
        if len(calls) == 2:
            raise KeyboardInterrupt
        return reduce(self, runs)

    monkeypatch.setattr(type(paper), "reduce", interrupted)
    plan = type(paper).plan

    def in_two_stages(self, settings):
        planned = plan(self, settings)
        return [replace(run, stage="second" if run.run >= 2 else "first") for run in planned]

    monkeypatch.setattr(type(paper), "plan", in_two_stages)
    with pytest.raises(papers.Interrupted, match=r"2 of 6 runs are kept"):
        papers.reproduce("small-paper", papers=folder, output=tmp_path / "out", quiet=True, runs=6)
    done = papers.reproduce("small-paper", papers=folder, output=tmp_path / "out", quiet=True, runs=6)
    assert done.data["runs_kept_from_before"] == 2
    assert calls == [2, 4, 4]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"name": "small-papre"}, "did you mean `small-paper`"),
        ({"runs": 1}, "runs"),
        ({"seed": -1}, "seed"),
        ({"threads": 0}, "threads"),
        ({"papers": "no/such/folder"}, "is no folder"),
    ],
)
def test_impossible_requests_are_refused(folder, tmp_path, options, message):
    request = {"name": "small-paper", "papers": folder, "output": tmp_path, "quiet": True} | options
    with pytest.raises(ScenarioError, match=re.escape(message)):
        papers.reproduce(request.pop("name"), **request)


def test_a_column_may_hold_lists(folder, tmp_path, monkeypatch):
    paper = papers.load("small-paper", folder)
    seen = []

    def reduce(self, runs):
        return pd.DataFrame(
            {
                "goodput": runs.flows["goodput_bps"],
                # Nothing at all in the first run, lists of several lengths in the others.
                "window": [[float(number) for number in range(job.run)] or None for job in runs.jobs],
                "pairs": [[[1.0, 2.0], []], np.ones((2, 3)), [np.zeros(2)]],
            }
        )

    def evaluate(self, settings, results, observed):
        seen.append(results)
        return []

    monkeypatch.setattr(type(paper), "columns", ("goodput", "window", "pairs"))
    monkeypatch.setattr(type(paper), "reduce", reduce)
    monkeypatch.setattr(type(paper), "evaluate", evaluate)
    for _ in range(2):
        papers.reproduce("small-paper", papers=folder, output=tmp_path / "out", quiet=True)
    for results in seen:
        assert results["window"][0] is None
        assert [list(window) for window in results["window"][1:]] == [[0.0], [0.0, 1.0]]
        assert sorted([len(pair) for pair in results["pairs"]]) == [1, 2, 2]
        assert all(isinstance(part, np.ndarray) for pair in results["pairs"] for part in pair)


def test_a_paper_may_need_no_run_at_all(folder, tmp_path, monkeypatch):
    paper = papers.load("small-paper", folder)
    seen = []

    def evaluate(self, settings, results, observed):
        seen.append(results)
        return []

    monkeypatch.setattr(type(paper), "plan", lambda _self, _settings: [])
    monkeypatch.setattr(type(paper), "evaluate", evaluate)
    papers.reproduce("small-paper", papers=folder, output=tmp_path / "out", quiet=True)
    assert list(seen[0].columns) == ["key", "stage", "hash", "seed", "run", "goodput"]
    assert seen[0].empty


@pytest.mark.parametrize(
    ("columns", "rows", "message"),
    [
        (["goodput", "more"], 3, "columns ['goodput', 'more'] instead of ['goodput']"),
        (["goodput"], 2, "2 rows for 3 runs"),
    ],
)
def test_a_reduction_that_does_not_fit_is_an_error(folder, tmp_path, monkeypatch, columns, rows, message):
    paper = papers.load("small-paper", folder)
    monkeypatch.setattr(
        type(paper),
        "reduce",
        lambda _self, _runs: pd.DataFrame(np.zeros((rows, len(columns))), columns=columns),
    )
    with pytest.raises(ValueError, match=re.escape(message)):
        papers.reproduce("small-paper", papers=folder, output=tmp_path / "out", quiet=True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "import nothing_of_that_name",
            "ModuleNotFoundError: No module named 'nothing_of_that_name' (line 1 of",
        ),
        ("x = (", "SyntaxError"),
        ("", "has no PAPER"),
        ("class PAPER:\n    name = title = citation = 'x'", "has no order, columns, plan"),
    ],
)
def test_a_paper_that_cannot_be_loaded_is_named(folder, tmp_path, text, message):
    write_paper(folder, "spoilt-paper", text)
    with pytest.raises(ScenarioError, match='paper: "spoilt-paper"') as caught:
        papers.load("spoilt-paper", folder)
    assert message in str(caught.value)
    papers.load("small-paper", folder)


def test_a_table_keeps_its_cells_and_escapes_them():
    section = report.Section(
        anchor="t",
        title="T",
        blocks=[
            report.Table(
                caption="c",
                columns=[report.Column(title="a", align="left"), report.Column(title="b")],
                rows=[["<b>", report.Cell(text="1", detail="paper 2", tone="good")]],
            ),
            report.Details(title="more", blocks=[report.Figure(svg="<?xml?><svg></svg>", caption="drawn")]),
        ],
    )
    html = report.render(
        title="t", subtitle="", facts=[], scoreboard={"groups": [], "kinds": [], "sources": [], "note": ""},
        claims=[], sections=[section],
    )  # fmt: skip
    assert "&lt;b&gt;" in html
    assert "<small>paper 2</small>" in html
    assert "<?xml" not in html
