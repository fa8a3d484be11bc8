"""What null models pass of claims, by the rules that judge us."""

import json

import pandas as pd
import pytest

from dumbbell import claims as claims_module
from dumbbell import papers
from dumbbell.claims import Claim, judge
from dumbbell.judge.estimate import Outcome
from dumbbell.judge.reads import by_key
from dumbbell.papers import nulls
from small_paper import SMALL, forget_papers, write_paper


def claim(name, measured, kind="value", holds=None, **rest):
    fields = {"source": "table 1", "statement": "", "measure": lambda _: Outcome.of(measured, holds=holds)}
    return Claim(**{"id": name, "kind": kind} | fields | rest)


def around(paper, tolerance):
    return {"paper_value": paper, "tolerance_kind": "abs", "tolerance": tolerance}


CLAIMS = [
    claim("ten", 10.0, **around(10.0, 1.0)),
    claim("twenty", 20.0, **around(20.0, 1.0)),
    claim("thirty", 30.0, **around(30.0, 1.0)),
    claim("small", 0.5, **around(0.4, 0.5)),
    claim("ahead", 4.0, kind="ordering", bound="> 0"),
    claim("double", 2.0, kind="ratio", bound="> 1.5", units="-"),
    claim("points", 0.9, kind="ordering", share=0.8),
    claim("words", 1.0, kind="shape", holds=True, bound="as described"),
]


def passed(name):
    found = nulls.passed(judge(CLAIMS, None))
    place = [finding.claim.id for finding in found.findings].index(name)
    return {model: shares[place] for model, shares in found.passed.items()}


@pytest.mark.parametrize(
    ("name", "zero", "constant"),
    [
        ("ten", 0, 0),
        # The median of 0.4, 10, 20 and 30 is 15.
        ("twenty", 0, 0),
        ("small", 1, 0),
        ("ahead", 0, 0),
        ("double", 0, 0),
        ("points", 0, 0),
        ("words", 0, 0),
    ],
)
def test_zero_and_a_constant_pass_what_accepts_them(name, zero, constant):
    found = passed(name)
    assert (found["zero"], found["constant"]) == (zero, constant)


def test_a_constant_passes_the_values_near_the_median_of_their_table():
    near = [claim(f"c{number}", 5.0, **around(5.0 + number, 1.0)) for number in range(3)]
    assert nulls.passed(judge(near, None)).passed["constant"] == [1, 1, 1]
    assert nulls.passed(judge(near[:2], None)).passed["constant"] == [0, 0]


SETTINGS = [f"figure 1/{number}" for number in range(8)]


def increasing(runs):
    """Return whether the runs of a figure have larger values from setting to setting."""
    values = [float(runs[name]["value"].iloc[0]) for name in SETTINGS]
    return Outcome.of(1.0, holds=values == sorted(values))


def own_value(number):
    name = SETTINGS[number]
    return lambda runs: Outcome.of(float(runs[name]["value"].iloc[0]))


def alone(runs):
    return Outcome.of(float(runs["figure 2"]["value"].iloc[0]))


def shuffled(claims, extra=None):
    """Return what the shuffled model passes of claims on a figure with eight settings and one with a single one."""
    rows = [{"key": name, "value": 10.0 * number} for number, name in enumerate(SETTINGS)]
    results = pd.DataFrame([*rows, {"key": "figure 2", "value": 3.0}, *(extra or [])])
    relabelling = nulls.Relabelling(
        results=results,
        stages=dict.fromkeys(SETTINGS, "figure 1") | {"figure 2": "figure 2"},
        judge=lambda asked, table: judge(asked, by_key(table)),
    )
    return nulls.passed(judge(claims, by_key(results)), relabelling)


def test_labels_permuted_over_a_figure_pass_an_ordering_of_all_its_settings_by_chance_only():
    found = shuffled(
        [claim("grows", 0.0, kind="ordering", measure=increasing, bound="growing with the setting")]
    )
    # One in 8! permutations is in order; exchanging two sides would pass half.
    assert (found.answered, found.passed["shuffled"]) == ([True], [0.0])


def test_labels_permuted_over_a_figure_pass_a_value_in_one_of_so_many_draws():
    values = [
        claim(f"v{number}", 0.0, measure=own_value(number), **around(10.0 * number, 1.0))
        for number in range(8)
    ]
    # A permutation of eight leaves one of them in its place on average.
    assert 0.2 < sum(shuffled(values).passed["shuffled"]) < 2.5


def test_a_claim_on_a_single_setting_has_no_answer_to_exchanged_labels():
    found = shuffled([claim("alone", 0.0, measure=alone, **around(3.0, 0.1))])
    assert (found.answered, found.passed["shuffled"]) == ([False], [0.0])
    assert found.row(of_class="printed") == {
        "claims": 1, "ours": 1, "exchanged": 0, "zero": 0.0, "constant": 0.0, "shuffled": 0.0,
    }  # fmt: skip


def test_labels_are_exchanged_between_runs_with_the_same_columns_only():
    other = [{"key": "figure 1/8", "other": 1.0}]
    frame = pd.DataFrame([{"key": name, "value": 1.0} for name in SETTINGS] + other)
    stages = dict.fromkeys([*SETTINGS, "figure 1/8"], "figure 1")
    relabelling = nulls.Relabelling(results=frame, stages=stages, judge=judge)
    assert relabelling.blocks == [SETTINGS]


def test_a_measure_that_fails_on_exchanged_labels_does_not_pass():
    def only_in_place(runs):
        if float(runs[SETTINGS[0]]["value"].iloc[0]) != 0.0:
            raise KeyError("a trace that the other runs lack")
        return Outcome.of(1.0, holds=True)

    found = shuffled([claim("fragile", 0.0, kind="shape", measure=only_in_place, bound="as described")])
    assert found.passed["shuffled"][0] < 0.5


def test_the_same_findings_give_the_same_numbers():
    findings = judge(CLAIMS, None)
    assert nulls.passed(findings).passed == nulls.passed(findings).passed


def test_the_rules_of_the_claims_judge_the_null_models(monkeypatch):
    asked = []

    def watched(claims, evidence):
        asked.append([each.judged_by for each in claims])
        return claims_module.judge(claims, evidence)

    monkeypatch.setattr(nulls, "judge", watched)
    nulls.passed(judge(CLAIMS, None))
    assert len(asked) == 2
    assert all(rules == [each.judged_by for each in CLAIMS] for rules in asked)


def test_claims_that_could_not_be_checked_are_left_out():
    def unseen(_):
        raise claims_module.NotMeasured("no")

    findings = judge([*CLAIMS, claim("unseen", 0.0, measure=unseen)], None)
    assert [finding.claim.id for finding in nulls.passed(findings).findings] == [each.id for each in CLAIMS]


def test_reports_and_results_have_classes_and_null_models(tmp_path):
    write_paper(tmp_path / "papers", "small-paper", SMALL)
    try:
        done = papers.reproduce_all(papers=tmp_path / "papers", output=tmp_path / "out", quiet=True, seeds=1)
    finally:
        forget_papers()
    row = {"claims": 2, "ours": 1, "zero": 0, "constant": 0}
    data = json.loads(done.results.read_text(encoding="utf-8"))["papers"][0]["classes"]
    assert data["printed"]["all"] | row == data["printed"]["all"]
    report, index = (path.read_text(encoding="utf-8") for path in (done.reproductions[0].report, done.index))
    assert "Claims that hold, by class, and what the null models pass" in report
    assert "What the null models pass of the headline" in index
