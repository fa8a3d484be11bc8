"""The full factorial design: its plan and blocks, its analysis, and its resumption."""

import itertools
import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from dumbbell import ScenarioError, factorial, papers
from dumbbell.campaign.planned import in_order
from dumbbell.cli import app
from small_paper import SMALL, write_paper

PAPER = papers.load("vegas-revisited", Path(__file__).resolve().parents[2] / "papers")
FOLDER = f"{type(PAPER).__module__}.full_factorial"
# Other tests unload papers.
MODULE = sys.modules[type(PAPER).__module__]
DESIGN, EFFECTS, CLUSTERS, CONTENT = (
    sys.modules[f"{FOLDER}.{name}"] for name in ("design", "effects", "clusters", "content")
)
WHOLE = PAPER.experiments["full-factorial"]
LOW = DESIGN.CONDITIONS[0]


def of(mechanisms, conditions=(LOW,)):
    return type(WHOLE)(mechanisms=mechanisms, conditions=conditions)


def made_up(experiment, replications, tables, response):
    """Results in the order of the plan: `response` gives the means of cells; noise with standard deviation 1 is added."""
    random = np.random.default_rng(5)
    frames = []

    def add(stage, keys, means):
        values = np.asarray(means) + random.standard_normal((2, len(keys)))
        frames.append(
            pd.DataFrame({"key": keys, "stage": stage, "throughput": values[0], "retransmitted": values[1]})
        )

    for condition, levels in itertools.product(experiment.conditions, DESIGN.CELLS):
        letters = DESIGN.cell_letters(levels)
        add(
            DESIGN.TABLES,
            [f"table/cell{levels}|{condition.name}"] * tables,
            [response(letters)] * tables,
        )
    cells = DESIGN.combinations(experiment.mechanisms)
    for condition in experiment.conditions:
        for _ in range(replications):
            add(
                DESIGN.ALL,
                [f"full/{letters or 'none'}|{condition.name}" for letters in cells],
                [response(letters) for letters in cells],
            )
    return pd.concat(frames, ignore_index=True)


# Selection


@pytest.mark.parametrize(
    ("name", "message"),
    [("altman", "is not an experiment of altman"), ("all", "is not one paper")],
)
def test_other_papers_refuse_it(name, message, tmp_path):
    result = CliRunner().invoke(
        app, ["reproduce", name, "--experiment", "full-factorial", "--output", str(tmp_path)]
    )
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())
    assert not list(tmp_path.iterdir())


def test_an_unknown_experiment_is_refused_with_the_known_ones(tmp_path):
    with pytest.raises(ScenarioError, match="did you mean `full-factorial`"):
        papers.reproduce("vegas-revisited", experiment="ful-factorial", output=tmp_path, quiet=True)


def test_an_experiment_has_its_own_runs_report_and_files(tmp_path):
    further = SMALL.replace(
        "PAPER = Small()",
        """
class Further(Small):
    name = "small-paper/more"

    def files(self, settings, evaluation):
        return {"goodput.csv": evaluation.evidence["goodput"].to_csv(index=False)}

Small.experiments = {"more": Further()}
PAPER = Small()
""",
    )
    write_paper(tmp_path / "papers", "small-paper", further)
    try:
        options = {"papers": tmp_path / "papers", "output": tmp_path / "out", "quiet": True}
        papers.reproduce("small-paper", seeds=1, **options)
        done = papers.reproduce("small-paper", experiment="more", runs=4, **options)
        assert sys.modules["dumbbell_paper_small_paper"].REDUCED == [3, 4]
        assert done.report == tmp_path / "out" / "small-paper" / "more" / "report.html"
        assert len((done.report.parent / "goodput.csv").read_text().split()) == 5
        assert done.data["paper"] == "small-paper/more"
    finally:
        del sys.modules["dumbbell_paper_small_paper"]


# Plan


def test_the_whole_design_has_every_combination_at_both_loads_and_against_both_backgrounds():
    assert (
        len(DESIGN.combinations(WHOLE.mechanisms)) == len(set(DESIGN.combinations(WHOLE.mechanisms))) == 1024
    )
    assert {(c.load, c.background) for c in WHOLE.conditions} == set(
        itertools.product(("low", "high"), ("reno", "vegasfix"))
    )
    assert DESIGN.runs_per_cell(papers.Settings()) == 50
    assert DESIGN.runs_per_cell(papers.Settings(quick=True)) == 2
    assert DESIGN.runs_per_cell(papers.Settings(quick=True, runs=7)) == 7


def test_cells_of_a_block_share_random_numbers_and_differ_in_the_foregrounds_mechanisms_alone():
    planned = [run for run in of("ABCDEFGH").plan(papers.Settings(runs=2)) if run.stage == DESIGN.ALL]
    assert len(planned) == 2 * 256
    blocks = {}
    for run in planned:
        blocks.setdefault((run.seed, run.run), []).append(run)
    assert [len(block) for block in blocks.values()] == [8] * 64
    stripped = set()
    for run in next(iter(blocks.values())):
        data = run.scenario.to_dict()
        letters = run.key.removeprefix("full/").split("|")[0]
        assert data["flows"][0]["tcp"].pop("mechanisms") == letters.replace("none", "")
        stripped.add(str(data))
    assert len(stripped) == 1
    assert len({run.scenario.hash for run in planned}) == 256


def test_within_a_block_any_three_mechanisms_are_balanced():
    block = DESIGN.blocks(WHOLE.mechanisms)
    letters = DESIGN.combinations(WHOLE.mechanisms)
    assert np.bincount(block).tolist() == [32] * 32
    signs = {m: np.array([1 if m in cell else -1 for cell in letters]) for m in WHOLE.mechanisms}
    for size in (1, 2, 3):
        for chosen in itertools.combinations(WHOLE.mechanisms, size):
            product = np.prod([signs[m] for m in chosen], axis=0)
            assert not np.bincount(block, weights=product).any()
    apart = DESIGN.between_blocks(WHOLE.mechanisms)
    assert len(apart) == 31
    for term in apart:
        product = np.prod([signs[m] for m in term], axis=0)
        assert all(len(set(product[block == number])) == 1 for number in range(32))


def test_the_longest_runs_come_first_and_equal_ones_are_shuffled():
    rows = pd.DataFrame({"seed": 1, "run": np.arange(24) // 2, "cost": [1.0] * 12 + [2.0] * 12})
    made = in_order(rows)
    assert sorted(made.index) == list(range(24))
    assert made["cost"].is_monotonic_decreasing
    assert made.index.tolist() != rows.sort_values("cost", ascending=False, kind="stable").index.tolist()
    # Cells of the same run may share their beginning.
    assert (made["run"].to_numpy()[::2] == made["run"].to_numpy()[1::2]).all()


# Analysis


def test_responses_come_back_in_the_order_of_the_cells():
    experiment = of("ABCDEFG")
    numbers = {letters: number for number, letters in enumerate(DESIGN.combinations("ABCDEFG"))}
    results = made_up(experiment, 3, 2, lambda letters: 1000 * numbers[letters])
    values = DESIGN.responses(results, LOW, DESIGN.RESPONSES[0], "ABCDEFG")
    assert values.shape == (128, 3)
    assert np.abs(values - 1000 * np.arange(128)[:, None]).max() < 10
    assert (
        np.abs(
            DESIGN.tabled(results, LOW, DESIGN.RESPONSES[0])
            - values[DESIGN.clustered_cells("ABCDEFG")].mean(axis=1)[:, None]
        ).max()
        < 10
    )


def test_ranked_intervals_hold_together():
    random = np.random.default_rng(3)
    false = 0
    for _ in range(200):
        ranking = factorial.analyse(random.standard_normal((16, 8)), list("abcd"), random="common").ranking()
        false += bool(ranking["significant"].any())
    # 90 % simultaneous: 20 expected, standard deviation 4.2.
    assert false <= 33


def test_ranking_agrees_with_the_table_and_with_bonferroni_by_hand():
    values = np.random.default_rng(4).normal(size=(8, 5)) + np.repeat([0.0, 9.0], 4)[:, None]
    analysis = factorial.analyse(values, list("abc"), random="common", confidence=0.9)
    ranking = analysis.ranking().set_index("term")
    assert ranking.index[0] == "a"
    assert ranking.loc["a", "significant"]
    # t[1 - 0.1 / (2 x 7); 4] = 4.2 of the tables of Student's t for 0.99286.
    assert analysis.simultaneous_quantile == pytest.approx(4.16, abs=0.02)
    assert ranking.loc["a", "high"] - ranking.loc["a", "effect"] == pytest.approx(
        analysis.simultaneous_quantile * analysis.standard_errors["a"]
    )
    single = analysis.effects_by_replication
    assert single.shape == (8, 5)
    pd.testing.assert_series_equal(single.mean(axis=1).drop("mean"), analysis.effects, check_names=False)
    assert single.loc["mean"].mean() == pytest.approx(analysis.mean)
    assert factorial.analyse(values[:, :1], list("abc")).ranking()["significant"].isna().all()


def test_the_parts_of_a_clustered_effect_add_up_to_it():
    results = made_up(of(WHOLE.mechanisms), 2, 2, lambda letters: len(letters) ** 2)
    for study in EFFECTS.studies(results, WHOLE.mechanisms, (LOW,), DESIGN.RESPONSES):
        eight, parts = CLUSTERS.clustered(study), CLUSTERS.contributions(study)
        for term, intervals in parts.items():
            whole = eight.mean if term == "mean" else eight.effects[term.replace("_", ":")]
            assert sum(interval.estimate for interval in intervals) == pytest.approx(whole, abs=1e-9)


def planted(letters):
    """A raises, G lowers; C and D have an effect only together; J has a main effect."""
    return (
        50
        + 4 * ("A" in letters)
        - 3 * ("G" in letters)
        + 4 * ("C" in letters and "D" in letters)
        - ("J" in letters)
    )


def test_the_reading_names_exactly_the_planted_effects():
    def read(response):
        results = made_up(of(WHOLE.mechanisms), 12, 12, response)
        studies = EFFECTS.studies(results, WHOLE.mechanisms, (LOW,), DESIGN.RESPONSES[:1])
        report = CONTENT.Content(studies, CLUSTERS.agreement(results, studies))
        (section,) = (section for section in report.sections() if section.anchor == "clusters")
        return section.blocks[0].paragraphs

    def effect(term, text):
        return float(re.search(rf"\b{term} (−?[\d.]+)", text)[1].replace("−", "-"))

    found = read(planted)
    assert re.search(r"in ss A \S+ against G \S+ KB/s\.$", found[1])
    assert effect("A", found[1]) == pytest.approx(2.0, abs=0.05)
    assert effect("G", found[1]) == pytest.approx(-1.5, abs=0.05)
    assert "1 of 11 in rec (CD" in found[2]
    assert effect("CD", found[2]) == pytest.approx(1.0, abs=0.05)
    assert "no pair of mechanisms of different clusters is significant" in found[3]
    assert effect("J", found[4]) == pytest.approx(-0.5, abs=0.05)
    assert "interaction" not in found[4].split(".", 1)[1]
    nothing = read(lambda _: 50.0)
    for text in nothing[1:5]:
        assert " no " in text


def test_the_check_against_the_tables_can_fail():
    experiment = of("ABCDEFG")
    results = made_up(experiment, 10, 10, planted)
    studies = EFFECTS.studies(results, "ABCDEFG", (LOW,), DESIGN.RESPONSES)
    found = CLUSTERS.agreement(results, studies)
    assert found.count == 16
    assert found.agreeing_jointly == 16
    assert found.agreeing >= 11
    assert CLUSTERS.agreement(results, studies).comparisons[0].printed == 86.64
    moved = results.copy()
    moved.loc[moved["key"].str.startswith("table/cell11"), "throughput"] += 4.0
    worse = CLUSTERS.agreement(moved, studies)
    wrong = {c.term for c in worse.comparisons if not c.agree_jointly}
    assert wrong == {"mean", "ss", "ca", "ss_ca"}
    (finding,) = experiment.evaluate(papers.Settings(), moved, {}).findings
    assert finding.verdict == "not-reproduced"


def test_claims_on_seven_and_ten_mechanisms_are_evaluated_on_the_whole_design():
    results = made_up(WHOLE, 2, 3, planted)
    results["completed"] = 1.0
    findings = {f.claim.id: f for f in WHOLE.evaluate(papers.Settings(), results, {}).findings}
    assert findings.keys() >= {"FF-01", "VR-Q-31", "VR-Q-72", "VR-Q-90", "VR-Q-101"}
    assert all(finding.verdict != "not-checkable" for finding in findings.values())
    assert findings["VR-Q-31"].verdict == "reproduced"


# The whole experiment, small


@pytest.fixture
def small(monkeypatch):
    experiment = of("ABCDEFG")
    monkeypatch.setitem(sys.modules, MODULE.__name__, MODULE)
    monkeypatch.setattr(type(PAPER), "experiments", {"full-factorial": experiment})
    return experiment


def test_after_an_interruption_it_resumes_repeats_no_run_and_reports(small, tmp_path, monkeypatch):
    reduce, made = type(small).reduce, []

    def interrupted(self, runs):
        made.extend((job.scenario.hash, job.seed, job.run) for job in runs.jobs)
        if len(made) > 60 and not tmp_path.joinpath("stopped").exists():
            tmp_path.joinpath("stopped").touch()
            del made[-len(runs.jobs) :]
            raise KeyboardInterrupt
        return reduce(runs)

    monkeypatch.setattr(type(small), "reduce", interrupted)
    request = {"experiment": "full-factorial", "output": tmp_path / "out", "runs": 6, "quiet": True}
    with pytest.raises(papers.Interrupted) as stopped:
        papers.reproduce("vegas-revisited", **request)
    kept = int(re.search(r"(\d+) of 816 runs are kept", str(stopped.value))[1])
    assert 48 <= kept <= 816
    done = papers.reproduce("vegas-revisited", **request)
    assert len(made) == len(set(made)) == 816
    assert done.data["runs"] == 816
    assert done.data["runs_kept_from_before"] == kept
    html = done.report.read_text(encoding="utf-8")
    for title in (
        "What the clusters conceal",
        "Main effects",
        "All effects",
        "The clustered tables within the design",
    ):
        assert title in html
    effects = pd.read_csv(done.report.parent / "effects.csv")
    assert len(effects) == 2 * 127
    assert effects["rank"].tolist() == [*range(1, 128)] * 2
    assert set(effects["term"]) == {letters for letters in DESIGN.combinations("ABCDEFG") if letters}
