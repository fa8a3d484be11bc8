"""Reproducing a paper: storage, resumption, errors and reports."""

import json
import platform
import re
import resource
import shutil
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from dumbbell import ScenarioError, papers, report
from dumbbell.claims import Claim, judge
from dumbbell.cli import app
from dumbbell.judge.estimate import Outcome
from dumbbell.papers.runs import pooled
from small_paper import SMALL, forget_papers, write_paper


@pytest.fixture
def folder(tmp_path):
    write_paper(tmp_path / "papers", "small-paper", SMALL)
    yield tmp_path / "papers"
    forget_papers()


def test_a_reproduction_writes_a_report_and_findings(folder, tmp_path, capsys):
    done = papers.reproduce(
        "small-paper", papers=folder, output=tmp_path / "out", quiet=True, seeds=1, json_output=True
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


def test_several_seeds_are_judged_together_and_each_alone(folder, tmp_path, monkeypatch):
    paper = papers.load("small-paper", folder)
    judged = []
    evaluate = type(paper).evaluate

    def watched(self, settings, results, observed):
        judged.append((settings.seed, settings.seeds, list(results["run"]), sorted(set(results["seed"]))))
        return evaluate(self, settings, results, observed)

    monkeypatch.setattr(type(paper), "evaluate", watched)
    done = papers.reproduce(
        "small-paper", papers=folder, output=tmp_path / "out", quiet=True, seed=4, seeds=3
    )
    assert judged[0] == (4, 3, list(range(9)), [4, 5, 6])
    assert judged[1:] == [(seed, 1, [0, 1, 2], [seed]) for seed in (4, 5, 6)]
    measured = done.data["score"]["measured"]
    assert {name: row["seeds"] for name, row in measured.items()} == {"orderings": 3, "values": 3}
    assert (done.data["runs"], done.data["seeds"]) == (9, 3)
    assert {row["sd"] for row in measured.values()} == {0.0}


def test_pooled_runs_count_once_and_are_numbered():
    def table(seed, fixed):
        return pd.DataFrame(
            {
                "key": ["a", "a", "fixed"],
                "hash": "h",
                "seed": [seed, seed, fixed],
                "run": [0, 1, 0],
                "value": [seed, seed + 0.5, 9.0],
            }
        )

    both = pooled([table(1, 7), table(2, 7)])
    assert both["key"].tolist() == ["a", "a", "fixed", "a", "a"]
    assert both["run"].tolist() == [0, 1, 0, 2, 3]
    assert both["value"].tolist() == [1, 1.5, 9.0, 2, 2.5]


@pytest.mark.parametrize("seeds", [0, 101])
def test_the_number_of_seeds_is_limited(folder, tmp_path, seeds):
    with pytest.raises(ScenarioError, match=f"seeds.*{seeds}.*from 1 to 100"):
        papers.reproduce("small-paper", papers=folder, output=tmp_path / "out", seeds=seeds)


def test_a_second_reproduction_repeats_nothing_and_a_fresh_one_everything(folder, tmp_path):
    def again(**options):
        return papers.reproduce(
            "small-paper", papers=folder, output=tmp_path / "out", quiet=True, seeds=1, **options
        )

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


def test_a_changed_reduction_repeats_its_runs(folder, tmp_path):
    """A reduction is determined by its module, the imports of that module, and the data files that they name."""
    place = folder / "small_paper"
    text = (place / "__init__.py").read_text(encoding="utf-8")
    text = text.replace(
        "class Small(Paper):",
        "from . import reduction\n\nclass Small(Paper):\n    reduce = staticmethod(reduction.reduce)\n",
    )
    text = text.replace("    def reduce(self, runs):", "    def unused(self, runs):")
    parts = {
        "__init__.py": text,
        "reduction.py": "import pandas as pd\nfrom .scale import FACTOR\n\ndef reduce(runs):\n"
        "    return pd.DataFrame({'goodput': FACTOR * runs.flows['goodput_bps']})\n",
        "scale.py": "import pathlib\nFACTOR = float(pathlib.Path(__file__).with_name('factor.txt').read_text())\n",
        "factor.txt": "1.0",
    }
    for name, content in parts.items():
        (place / name).write_text(content, encoding="utf-8")

    def again(**changes):
        for name, (old, new) in changes.items():
            file = place / name.replace("_py", ".py").replace("_txt", ".txt")
            content = file.read_text(encoding="utf-8")
            assert old in content
            file.write_text(content.replace(old, new), encoding="utf-8")
        shutil.rmtree(place / "__pycache__", ignore_errors=True)
        forget_papers()
        data = papers.reproduce(
            "small-paper", papers=folder, output=tmp_path / "out", quiet=True, seeds=1
        ).data
        return data["runs_kept_from_before"], data["claims"][0]["measured"]

    kept, first = again()
    assert kept == 0
    assert again() == (3, first)
    assert again(__init___py=('"goes"', '"flies"')) == (3, first)
    assert again(factor_txt=("1.0", "2.0")) == (0, 2 * first)
    assert again(scale_py=(".read_text())", ".read_text()) * 2")) == (0, 4 * first)
    assert again(reduction_py=("FACTOR *", "FACTOR / 4 *")) == (0, first)
    # Runs stored under the previous reduction are available when it is restored.
    assert again(reduction_py=("FACTOR / 4 *", "FACTOR *")) == (3, 4 * first)


def test_a_damaged_part_is_reported_and_its_runs_are_repeated(folder, tmp_path, capsys):
    def again():
        return papers.reproduce("small-paper", papers=folder, output=tmp_path / "out", quiet=True, seeds=1)

    first = again()
    assert capsys.readouterr().err == ""
    assert first.data["warnings"] == []
    (part,) = (tmp_path / "out" / "cache").rglob("*.parquet")
    content = bytearray(part.read_bytes())
    content[len(content) // 3] ^= 1
    part.write_bytes(content)
    second = again()
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith(f"warning: {part}: is damaged; set aside")
    assert second.data["warnings"] == [lines[0].removeprefix("warning: ")]
    assert "is damaged" in second.report.read_text(encoding="utf-8")
    assert second.data["runs_kept_from_before"] == 0
    assert second.data["claims"] == first.data["claims"]
    third = again()
    assert capsys.readouterr().err == ""
    assert third.data["runs_kept_from_before"] == 3


def test_a_full_disk_is_one_line_and_keeps_the_previous_report(folder, tmp_path):
    arguments = ["reproduce", "small-paper", "--papers", str(folder), "--output", str(tmp_path / "out")]
    assert CliRunner().invoke(app, arguments).exit_code == 0
    report_file, results = (
        tmp_path / "out" / "small-paper" / name for name in ("report.html", "results.json")
    )
    before = [file.read_bytes() for file in (report_file, results)]
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    # As on a full disk: the report, or the part with additional runs, cannot be written.
    for size, more, file in ((6_000, [], report_file), (0, ["--runs", "9"], tmp_path / "out" / "cache")):
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
        try:
            refused = CliRunner().invoke(app, arguments + more)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert refused.exit_code == 2
        (line,) = (line for line in refused.stderr.splitlines() if line.startswith("error"))
        assert line.startswith(f"error: {file}")
        assert "could not be written: File too large; accepted: a folder on a disk with free space" in line
        assert "Traceback" not in refused.stderr
        assert [file.read_bytes() for file in (report_file, results)] == before
        assert not list((tmp_path / "out").rglob(".*.partial"))
    assert CliRunner().invoke(app, arguments).exit_code == 0


def test_results_name_the_packages_they_were_computed_with(folder, tmp_path):
    done = papers.reproduce("small-paper", papers=folder, output=tmp_path / "out", quiet=True, seeds=1)
    found = done.data["environment"]
    assert found["python"] == platform.python_version()
    assert found["packages"]["numpy"] == np.__version__
    assert {"pandas", "pyarrow", "scipy"} <= set(found["packages"])
    assert "pytest" not in found["packages"]
    assert f"numpy {np.__version__}" in done.report.read_text(encoding="utf-8")


def test_undecided_claims_get_further_seeds_until_they_are_decided(folder, tmp_path, monkeypatch):
    paper = papers.load("small-paper", folder)

    def evaluate(self, settings, results, observed):
        # An interval of 1 ± 0.8 / n is within 10 % of 1 from nine runs on.
        half = self.spread / len(results)
        open_until_nine = Claim(
            id="A",
            source="t",
            kind="value",
            statement="s",
            paper_value=1.0,
            tolerance_kind="rel",
            tolerance=0.1,
            scenario="table-1",
            measure=lambda _: Outcome.of(1.0, interval=(1.0 - half, 1.0 + half)),
        )
        findings = judge([open_until_nine, replace(open_until_nine, id="B", scenario="elsewhere")], results)
        return papers.Evaluation(findings=findings, evidence=None)

    monkeypatch.setattr(type(paper), "evaluate", evaluate)
    monkeypatch.setattr(type(paper), "deciding", {"table-1": "runs"})
    monkeypatch.setattr(type(paper), "spread", 0.8, raising=False)
    request = {"papers": folder, "quiet": True, "seed": 4, "seeds": 1}
    done = papers.reproduce("small-paper", output=tmp_path / "out", **request).data
    assert done["further_replications"] == {
        "seeds": [5, 6],
        "stages": [["runs"], ["runs"]],
        "runs": 6,
        "undecided": [1, 1, 0],
    }
    assert done["runs"] == 9
    assert [claim["verdict"] for claim in done["claims"]] == ["reproduced", "reproduced"]
    assert done["seeds"] == done["score"]["measured"]["values"]["seeds"] == 1
    monkeypatch.setattr(type(paper), "spread", 80.0)
    never = papers.reproduce("small-paper", output=tmp_path / "out", **request).data
    assert never["further_replications"] == done["further_replications"] | {"undecided": [1, 1, 1]}
    assert never["runs_kept_from_before"] == 9
    for few in ({"quick": True}, {"runs": 3}):
        alone = papers.reproduce("small-paper", output=tmp_path / "out", **request, **few).data
        assert alone["further_replications"]["seeds"] == []


def test_an_interruption_keeps_completed_runs(folder, tmp_path, monkeypatch):
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
        papers.reproduce("small-paper", papers=folder, output=tmp_path / "out", quiet=True, seeds=1, runs=6)
    done = papers.reproduce(
        "small-paper", papers=folder, output=tmp_path / "out", quiet=True, seeds=1, runs=6
    )
    assert done.data["runs_kept_from_before"] == 2
    assert calls == [2, 4, 4]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"name": "small-papre"}, "did you mean `small-paper`"),
        ({"runs": 1}, "runs"),
        ({"seed": -1}, "seed"),
        ({"threads": 0}, "threads"),
        ({"papers": "no/such/folder"}, "is not a folder"),
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
                # Empty in the first run, lists of several lengths in the others.
                "window": [[float(number) for number in range(job.run)] or None for job in runs.jobs],
                "pairs": [[[1.0, 2.0], []], np.ones((2, 3)), [np.zeros(2)]],
            }
        )

    def evaluate(self, settings, results, observed):
        seen.append(results)
        return papers.Evaluation(findings=[], evidence=None)

    monkeypatch.setattr(type(paper), "columns", ("goodput", "window", "pairs"))
    monkeypatch.setattr(type(paper), "reduce", reduce)
    monkeypatch.setattr(type(paper), "evaluate", evaluate)
    for _ in range(2):
        papers.reproduce("small-paper", papers=folder, output=tmp_path / "out", quiet=True, seeds=1)
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
        return papers.Evaluation(findings=[], evidence=None)

    monkeypatch.setattr(type(paper), "plan", lambda _self, _settings: [])
    monkeypatch.setattr(type(paper), "evaluate", evaluate)
    papers.reproduce("small-paper", papers=folder, output=tmp_path / "out", quiet=True, seeds=1)
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
        papers.reproduce("small-paper", papers=folder, output=tmp_path / "out", quiet=True, seeds=1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "import nothing_of_that_name",
            "ModuleNotFoundError: No module named 'nothing_of_that_name' (line 1 of",
        ),
        ("x = (", "SyntaxError"),
        ("", "has no PAPER"),
        ("class PAPER:\n    name = title = citation = 'x'", "has no PAPER"),
        (SMALL.replace("def evaluate(", "def judge("), "TypeError: Can't instantiate abstract class Small"),
        (
            SMALL.replace("    order = 9", "    place = 9"),
            "TypeError: Can't instantiate abstract class Small",
        ),
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
