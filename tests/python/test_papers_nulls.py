"""What null models pass of claims, by the rules that judge us."""

import json

import pytest

from dumbbell import claims as claims_module
from dumbbell import papers
from dumbbell.claims import Claim, judge
from dumbbell.judge.estimate import Outcome
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


def test_exchanged_labels_pass_an_ordering_in_about_half_of_the_draws():
    many = [claim(f"o{number}", 4.0, kind="ordering", bound="> 0") for number in range(100)]
    share = sum(nulls.passed(judge(many, None)).passed["shuffled"]) / 100
    assert 0.45 < share < 0.55


def test_permuted_labels_pass_values_by_chance_only():
    apart = [claim(f"v{number}", 10.0 * number, **around(10.0 * number, 1.0)) for number in range(1, 51)]
    share = sum(nulls.passed(judge(apart, None)).passed["shuffled"]) / 50
    assert 0 < share < 0.06


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
    assert len(asked) == 2 + nulls.DRAWS
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
