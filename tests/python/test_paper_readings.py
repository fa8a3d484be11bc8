"""Readings of a paper are scored and compared claim by claim."""

import pytest

from dumbbell.claims import Claim, Finding
from dumbbell.judge.estimate import Outcome
from dumbbell.papers import Reading
from dumbbell.papers.readings import compared


def finding(name, verdict, *, kind="ordering", evidence="measured", measured=0.5):
    claim = Claim(
        id=name,
        source="Fig. 1",
        kind=kind,
        statement=f"what {name} says",
        evidence=evidence,
        measure=lambda _: Outcome(measured=0.0),
    )
    return Finding(
        claim=claim,
        verdict=verdict,
        holds=None if verdict == "not-checkable" else verdict == "reproduced",
        measured=measured,
        low=None,
        high=None,
        support=None,
        why="because",
    )


def reading(name, *verdicts):
    kinds = ("ordering", "sign", "value", "ratio")
    findings = [
        finding(f"C-{kind}", verdict, kind=kind) for kind, verdict in zip(kinds, verdicts, strict=True)
    ]
    # Counts under no reading.
    findings.append(finding("C-print", "reproduced", kind="value", evidence="arithmetic"))
    return Reading(name=name, statement=f"the {name} one", findings=findings)


BEST = reading("best", "reproduced", "reproduced", "not-reproduced", "reproduced")
LITERAL = reading("literal", "not-reproduced", "reproduced", "not-reproduced", "not-checkable")


def test_scores_count_measured_claims_by_group():
    assert BEST.to_dict() == {
        "name": "best",
        "statement": "the best one",
        "orderings": {"holding": 2, "claims": 2, "share": 100.0},
        "values": {"holding": 1, "claims": 2, "share": 50.0},
    }
    assert LITERAL.scores() == {
        "orderings": {"holding": 1, "claims": 2, "share": 50.0},
        "values": {"holding": 0, "claims": 1, "share": 0.0},
    }


def test_a_reading_without_measured_claims_has_no_share():
    assert Reading(name="none", statement="", findings=[]).scores()["values"]["share"] is None


def test_readings_are_compared_by_both_scores_and_the_claims_that_differ():
    scores, differing = compared([BEST, LITERAL])
    assert [[cell.text for cell in row[2:]] for row in scores.rows] == [
        ["100.0 %", "50.0 %"],
        ["50.0 %", "0.0 %"],
    ]
    assert [row[0] for row in differing.rows] == ["C-ordering", "C-ratio"]
    assert [(cell.detail, cell.tone) for cell in differing.rows[0][4:]] == [
        ("reproduced", "good"),
        ("not reproduced", "bad"),
    ]
    assert differing.rows[1][5].tone == "muted"


def test_readings_on_different_claims_are_not_compared():
    with pytest.raises(ValueError, match="1 readings; accepted: at least two"):
        compared([BEST])
    shorter = Reading(name="literal", statement="", findings=LITERAL.findings[:-1])
    with pytest.raises(ValueError, match="reading literal is not on the claims of best"):
        compared([BEST, shorter])
