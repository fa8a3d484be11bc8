"""Reproducing all papers: their order, the page that leads to them, and what a paper that fails does to the others."""

import json
import re

import pytest
from typer.testing import CliRunner

from dumbbell import papers
from dumbbell.cli import app
from small_paper import SMALL, forget_papers, write_paper

SECOND = (
    SMALL.replace("small-paper", "second-paper")
    .replace("A small paper", "A second paper")
    .replace("order = 9", "order = 2")
    .replace('NotMeasured("nobody looked")', 'AwaitsTestbed("real stacks")')
    .replace("NotMeasured,", "AwaitsTestbed,")
)


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "papers"
    write_paper(place, "small-paper", SMALL)
    write_paper(place, "second-paper", SECOND)
    yield place
    forget_papers()


@pytest.fixture
def reproduce(folder, tmp_path):
    return lambda **options: papers.reproduce_all(
        papers=folder, output=tmp_path / "out", **({"quiet": True, "seeds": 1} | options)
    )


def test_all_papers_are_reproduced_in_their_order(reproduce, tmp_path):
    done = reproduce()
    assert [one.paper for one in done.reproductions] == ["second-paper", "small-paper"]
    assert done.failures == {}
    html = done.index.read_text(encoding="utf-8")
    assert html.index("A second paper") < html.index("A small paper")
    for link in re.findall(r'href="([^"#]+)"', html):
        assert (tmp_path / "out" / link).is_file()
    assert 'href="../index.html"' in done.reproductions[0].report.read_text(encoding="utf-8")
    assert not re.search(r'(src|href)="https?:', html)


def test_the_counts_are_those_of_the_papers(reproduce):
    done = reproduce()
    data = json.loads(done.results.read_text(encoding="utf-8"))
    assert data["score"]["all"] == {
        "reproduced": 2,
        "undecided": 0,
        "missed": 2,
        "holding": 2,
        "share": 50.0,
        "other": 0,
        "refuted": 0,
        "awaiting": 1,
        "unchecked": 1,
    }
    assert [paper["paper"] for paper in data["papers"]] == ["second-paper", "small-paper"]
    for paper, one in zip(data["papers"], done.reproductions, strict=True):
        assert paper["score"] == one.data["score"]
        assert paper["runs"] == 3
    assert data["runs"] == 6
    assert data["awaiting_testbed"] == [{"paper": "second-paper", "claim": "C", "why": "real stacks"}]
    assert done.index.read_text(encoding="utf-8").count("real stacks") == 1


def test_a_second_reproduction_of_all_repeats_no_run(reproduce):
    first, second = reproduce(), reproduce()
    assert (first.data["runs_kept_from_before"], second.data["runs_kept_from_before"]) == (0, 6)
    assert first.data["score"] == second.data["score"]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (
            "import nothing_of_that_name",
            "ModuleNotFoundError: No module named 'nothing_of_that_name' (line 1 of",
        ),
        (
            SMALL.replace("count = settings.runs or 3", "count = 1 / 0"),
            "ZeroDivisionError: division by zero (line",
        ),
        (SMALL.replace('mean = float(results["goodput"].mean())', "mean = results.none"), "AttributeError"),
    ],
)
def test_a_paper_that_fails_is_named_and_the_others_are_reproduced(folder, tmp_path, text, named):
    write_paper(folder, "spoilt-paper", text.replace("small-paper", "spoilt-paper"))
    arguments = ["reproduce", "all", "--papers", folder, "--output", tmp_path / "out", "--json"]
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == 2
    errors = [line for line in result.stderr.splitlines() if line.startswith("error: ")]
    assert len(errors) == 1
    assert "spoilt-paper" in errors[0]
    assert named in errors[0]
    assert "Traceback" not in result.stderr
    data = json.loads(result.stdout)
    assert [paper["paper"] for paper in data["papers"]] == ["second-paper", "small-paper"]
    assert list(data["failures"]) == ["spoilt-paper"]
    assert named.split(" (")[0] in (tmp_path / "out" / "index.html").read_text(encoding="utf-8").replace(
        "&#39;", "'"
    )


def test_an_interruption_says_what_is_kept(reproduce, folder, monkeypatch):
    def interrupted(self, settings, results, observed):
        raise KeyboardInterrupt

    paper = papers.load("small-paper", folder)
    monkeypatch.setattr(type(paper), "evaluate", interrupted)
    with pytest.raises(
        papers.Interrupted, match=r"6 of 6 runs are kept in .*cache, and the same command resumes"
    ):
        reproduce()


def test_progress_in_a_log_is_a_line_for_each_paper(reproduce, capsys):
    reproduce(quiet=False)
    out, err = capsys.readouterr()
    assert [line.split(":")[0] for line in err.splitlines()] == ["second-paper", "small-paper"]
    assert [line.split(":")[0] for line in out.splitlines()] == [
        "second-paper", "small-paper", "all papers", "index",
    ]  # fmt: skip
