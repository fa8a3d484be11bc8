"""Single claims of a paper: the same value as in the report, from the runs they rest on alone, and these runs as scenarios."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import pytest
from typer.testing import CliRunner

import dumbbell
from dumbbell import Scenario, papers
from dumbbell.claims import judge
from dumbbell.cli import app
from dumbbell.judge.reads import SIMULATED, Remembered, by_key, recorded
from dumbbell.papers.claim_runs import KeyRuns
from dumbbell.papers.reproduction import settings_of
from dumbbell.papers.runs import PaperRuns, pooled, store_of
from small_claimed_paper import NAME, write_small_claims
from small_paper import forget_papers

ROOT = Path(__file__).resolve().parents[2]

SAME = (
    "verdict",
    "holds",
    "measured",
    "low",
    "high",
    "support",
    "rule",
    "n",
    "runs",
    "keys",
    "anchor",
    "command",
)
"""What a single claim and the report state alike."""

# A claim of each paper whose runs take little time.
CHEAP = {
    "altman": "ALT-22",
    "code-tcp": "C-ALG-N1",
    "modern": "cubic-01",
    "rovegas": "RV-ANA-08",
    "vegas-revisited": "VR-Q-124",
    "westwood-plus": "W-F2-1",
}


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    write_small_claims(tmp_path / "papers")
    yield tmp_path / "papers"
    forget_papers()


def judged(name: str, *claims: str, **settings) -> papers.JudgedClaims:
    return papers.reproduce_claims(name, claims, quiet=True, **settings)


def by_id(data) -> dict:
    return {row["id"]: row for row in data["claims"]}


def chosen(row) -> dict:
    return {name: row[name] for name in SAME}


def test_a_claim_has_the_value_of_the_report_and_makes_its_own_runs_alone(folder, tmp_path):
    report = papers.reproduce(NAME, quick=True, papers=folder, output=tmp_path / "all", quiet=True)
    rows = by_id(report.data)
    for place, (name, row) in enumerate(rows.items()):
        alone = judged(NAME, name, quick=True, papers=folder, output=tmp_path / str(place))
        assert chosen(by_id(alone.data)[name]) == chosen(row)
        assert alone.data["runs"] == row["runs"]
    assert [row["runs"] for row in rows.values()] == [3, 3, 6, 0]
    assert rows["S-3"]["keys"] == ["base|reno", "base|vegas"]


def test_a_claim_reuses_the_runs_of_the_report(folder, tmp_path):
    papers.reproduce(NAME, quick=True, papers=folder, output=tmp_path, quiet=True)
    again = judged(NAME, "S-1", "S-3", quick=True, papers=folder, output=tmp_path)
    assert (again.data["runs"], again.data["runs_kept_from_before"]) == (6, 6)


def test_the_command_in_the_report_repeats_a_claim_with_its_further_replications(folder, tmp_path):
    report = papers.reproduce(NAME, seeds=2, papers=folder, output=tmp_path / "all", quiet=True)
    row = by_id(report.data)["S-2"]
    assert row["verdict"] == "undecided"
    assert report.data["further_replications"]["seeds"] == [3, 4]
    assert row["n"] == 12
    words = shlex.split(row["command"])
    assert words[:3] == ["dumbbell", "reproduce", NAME]
    assert words.count("--further") == 2
    options = ["--json", "--papers", str(folder), "--output", str(tmp_path / "one")]
    found = CliRunner().invoke(app, [*words[1:], *options])
    assert found.exit_code == 0, found.output
    assert chosen(by_id(json.loads(found.stdout))["S-2"]) == chosen(row)


def test_results_and_report_say_what_a_claim_rests_on(folder, tmp_path):
    report = papers.reproduce(NAME, quick=True, papers=folder, output=tmp_path, quiet=True)
    data = json.loads(report.results.read_text(encoding="utf-8"))
    row = by_id(data)["S-2"]
    assert row["command"] == f"dumbbell reproduce {NAME} --quick --claim S-2"
    assert (row["anchor"], row["n"], row["keys"]) == ("claim-S-2", 3, ["base|vegas"])
    assert data["runs_by_key"]["base|vegas"] == {"stage": "transfers", "runs": 3, "seeds": {"101": "0-2"}}
    text = report.report.read_text(encoding="utf-8")
    (part,) = re.findall(r'<details class="claim" id="claim-S-2"[^>]*>.*?</details>', text, flags=re.DOTALL)
    shown = unescape(part)
    for words in (
        "mean goodput of Vegas",
        "table 1",
        "from 819.2 to 820.8 kbit/s",
        "n = 3",
        "base|vegas",
        row["command"],
    ):
        assert words in shown
    assert 'href="#claim-S-2"' in text


def test_an_exported_run_gives_the_bits_of_the_papers_run(folder, tmp_path):
    export = papers.Export(file=tmp_path / "S-3.toml", key="base|vegas", run=2)
    done = judged(NAME, "S-3", quick=True, papers=folder, output=tmp_path, export=export)
    run = done.exported
    assert (run.key, run.seed, run.run) == ("base|vegas", 101, 2)
    text = export.file.read_text(encoding="utf-8")
    assert "dumbbell run S-3.toml --seed 101 --run 2" in text
    again = dumbbell.run(Scenario.from_toml(export.file), seed=run.seed, run=run.run)
    assert again.fingerprint == dumbbell.run(run.scenario, seed=run.seed, run=run.run).fingerprint
    assert again.fingerprint != dumbbell.run(run.scenario, seed=run.seed, run=1).fingerprint
    for _, command in [words.split(" ", 1) for words in text.splitlines()[2:6]]:
        shell = shlex.split(
            command.replace("picture.png", str(tmp_path / "a.svg"))
            .replace("packets", str(tmp_path / "p"))
            .replace("S-3.toml", str(export.file))
        )
        assert CliRunner().invoke(app, shell[1:]).exit_code == 0, command


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ("--claim S-5", "is not a claim; expected one of the 4 claims of small-claims, such as S-"),
        ("--claim S-4 --export HERE/s.toml", "rests on simulated runs"),
        ("--claim S-1 --export HERE/s.toml --key base|vegas", "is not a key of this claim; expected one of"),
        ("--claim S-1 --export HERE/s.toml --run 3", "a whole number from 0 to 2"),
        ("--claim S-1 --claim S-2 --export HERE/s.toml", "one claim alone"),
        ("--claim S-1 --key base|reno", "--export FILE --key"),
        ("--export HERE/s.toml", "--claim ID --export"),
        ("--claim S-1 --fresh", "no such option with --claim"),
        ("--claim S-1 --further 6:tables", "SEED:STAGE with a stage of transfers"),
    ],
)
def test_what_cannot_be_done_is_refused(folder, tmp_path, options, problem):
    words = [word.replace("HERE", str(tmp_path)) for word in options.split()]
    found = CliRunner().invoke(
        app, ["reproduce", NAME, "--quick", *words, "--papers", str(folder), "--output", str(tmp_path / "r")]
    )
    assert found.exit_code != 0
    assert problem in " ".join(found.output.split())
    assert not (tmp_path / "s.toml").exists()


def test_the_claims_of_a_paper_are_listed_without_a_run(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    command = ["reproduce", NAME, "--claims", "--papers", str(folder)]
    listed = json.loads(CliRunner().invoke(app, [*command, "--json"]).stdout)
    assert [one["id"] for one in listed] == ["S-1", "S-2", "S-3", "S-4"]
    assert all(one["class"] and one["rule"] and one["statement"] for one in listed)
    assert "S-4" in CliRunner().invoke(app, command).stdout
    refused = CliRunner().invoke(app, [*command, "--quick"])
    assert "--quick: True has no effect; expected no such option with --claims" in refused.output
    assert not (tmp_path / "results").exists()


def test_a_remembered_value_is_read_again():
    import pandas as pd

    runs, kept = by_key(pd.DataFrame({"key": ["a", "b"], "run": [0, 0]})), Remembered()
    with recorded() as first:
        kept.of("sum", lambda: len(runs["a"]) + len(runs["b"]))
    with recorded() as second:
        kept.of("sum", lambda: 0)
    with recorded() as third:
        assert "a" in runs
        assert list(runs) == ["a", "b"]
    assert list(first[SIMULATED]) == list(second[SIMULATED]) == ["a", "b"]
    assert not third


def test_numbers_of_runs_are_named_as_spans_by_seed():
    runs = KeyRuns(key="a", stage="runs", draws=((7, 0), (7, 1), (7, 2), (7, 5), (8, 0)))
    assert runs.by_seed == {"7": "0-2, 5", "8": "0"}


@pytest.mark.parametrize("name", CHEAP)
def test_a_claim_of_each_paper_is_judged_as_on_the_table_of_all_runs(name, tmp_path):
    alone = judged(name, CHEAP[name], quick=True, output=tmp_path)
    (details,) = alone.details
    paper, settings = papers.load(name), settings_of(quick=True, runs=None, seed=1, threads=None)
    with store_of(paper, tmp_path, fresh=False) as store:
        results = pooled(PaperRuns(paper, settings, store).tables())
    observed = paper.observe(settings, lambda _title, _total: lambda: None)
    (claim,) = [claim for claim in paper.claims() if claim.id == CHEAP[name]]
    (found,) = judge([claim], paper.evidence(settings, results, observed))
    assert found.measured is not None
    assert [
        getattr(found, field) for field in ("verdict", "measured", "low", "high", "support", "why", "reads")
    ] == [
        getattr(details.finding, field)
        for field in ("verdict", "measured", "low", "high", "support", "why", "reads")
    ]
