"""Reproducing a paper: what is kept, what resumes, what is refused, what is written."""

import json
import re
import textwrap

import pytest

from dumbbell import ScenarioError, papers, report

SMALL = '''
"""A paper of one scenario and three claims."""
import numpy as np
import pandas as pd
from dumbbell import Flow, Tcp, Transfer, topologies
from dumbbell.claims import Claim, NotMeasured, Outcome, judge
from dumbbell.papers import PlannedRun
from dumbbell.report import Section, Text

REDUCED = []

class Small:
    name, title, citation = "small-paper", "A small paper", "Nobody 2000"
    columns = ("goodput",)
    order = 9

    def plan(self, settings):
        flow = Flow(name="fg", from_="s1", to="d1", tcp=Tcp(variant="reno"), source=Transfer(size="50 kB"))
        scenario = topologies.dumbbell(pairs=1, rate="1 Mbit/s", delay="10 ms").scenario(
            name="small", duration="20 s", flows=[flow]
        )
        count = settings.runs or 3
        return [PlannedRun(key="one", scenario=scenario, seed=settings.seed, run=run) for run in range(count)]

    def reduce(self, runs):
        REDUCED.append(len(runs))
        flows = runs.flows.set_index("job")
        return pd.DataFrame({"goodput": flows["goodput_bps"]}, index=flows.index)

    def observe(self, settings, steps):
        steps("looking", 1)()
        return {}

    def evaluate(self, settings, results, observed):
        def missing(_):
            raise NotMeasured("nobody looked")
        mean = float(results["goodput"].mean())
        stated = {"source": "table 1", "paper_value": mean, "tolerance_kind": "rel", "tolerance": 0.1}
        return judge(
            [
                Claim(id="A", kind="value", statement="goes", measure=lambda r: Outcome.of(mean), **stated),
                Claim(
                    id="B", source="table 1", kind="ordering", statement="flies",
                    measure=lambda r: Outcome.of(0.0, holds=False),
                ),
                Claim(id="C", source="table 2", kind="shape", statement="unseen", measure=missing),
            ],
            results,
        )

    def sections(self, settings, results, observed, findings):
        return [Section(anchor="one", title="One <section>", blocks=[Text(paragraphs=["`code` & text"])])]

    def facts(self, settings):
        return [("assumed", "nothing")]

    def notice(self, settings):
        return "few runs" if settings.quick else ""

PAPER = Small()
'''


@pytest.fixture
def folder(tmp_path, monkeypatch):
    place = tmp_path / "papers" / "small_paper"
    place.mkdir(parents=True)
    (place / "__init__.py").write_text(textwrap.dedent(SMALL), encoding="utf-8")
    for name in [name for name in list(papers.sys.modules) if name.startswith("dumbbell_paper_small")]:
        monkeypatch.delitem(papers.sys.modules, name)
    yield place.parent
    papers.sys.modules.pop("dumbbell_paper_small_paper", None)


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
    reduced = papers.sys.modules["dumbbell_paper_small_paper"].REDUCED
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
    monkeypatch.setattr(papers, "BATCH", 2)
    reduce, calls = type(paper).reduce, []

    def interrupted(self, runs):
        calls.append(len(runs))
        if len(calls) == 2:
            raise KeyboardInterrupt
        return reduce(self, runs)

    monkeypatch.setattr(type(paper), "reduce", interrupted)
    with pytest.raises(papers.Interrupted, match=r"2 of 6 runs are kept"):
        papers.reproduce("small-paper", papers=folder, output=tmp_path / "out", quiet=True, runs=6)
    done = papers.reproduce("small-paper", papers=folder, output=tmp_path / "out", quiet=True, runs=6)
    assert done.data["runs_kept_from_before"] == 2


def test_a_damaged_file_of_the_cache_is_run_again(folder, tmp_path):
    papers.reproduce("small-paper", papers=folder, output=tmp_path / "out", quiet=True)
    for file in (tmp_path / "out" / "cache").rglob("*.parquet"):
        file.write_bytes(b"no parquet")
    done = papers.reproduce("small-paper", papers=folder, output=tmp_path / "out", quiet=True)
    assert done.data["runs_kept_from_before"] == 0


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
