"""Effects of varied assumptions on claims with known verdicts."""

import numpy as np
import pandas as pd
import pytest

from dumbbell.claims import Claim, judge
from dumbbell.judge.estimate import NotMeasured, Outcome
from dumbbell.report import Details, Figure, Table
from dumbbell.sensitivity import (
    Move,
    Sensitivity,
    Variation,
    placebo,
    placebo_of_misses,
    quantities,
    relabelled,
)

DELAY = Variation(name="delay", assumption="delay", value="50 ms")
QUEUE = Variation(name="queue", assumption="", value="20 packets")


def claim(name, number, low=None, high=None):
    def measure(evidence):
        if name not in evidence:
            raise NotMeasured(f"no {name}")
        limits = {} if low is None else {"low": low, "high": high}
        return Outcome(measured=evidence[name], **limits)

    return Claim(
        id=name, source="s", kind="value", statement=name, measure=measure,
        paper_value=number, tolerance_kind="abs", tolerance=1.0,
    )  # fmt: skip


CLAIMS = [claim("near", 10.0, 8.0, 12.5), claim("far", 10.0), claim("kept", 10.0), claim("unseen", 10.0)]
CHOSEN = {"near": 12.0, "far": 15.0, "kept": 10.0}


def move(variation, evidence, **rest):
    return Move(variation=variation, findings=judge(CLAIMS, evidence), baseline=judge(CLAIMS, CHOSEN), **rest)


@pytest.fixture
def moves():
    return Sensitivity(
        [
            move(None, CHOSEN, shown={"rate": 2.0}),
            move(DELAY, {"near": 10.5, "far": 10.5, "kept": 12.0, "unseen": 10.0}, shown={"rate": 2.1}),
            move(QUEUE, CHOSEN | {"far": 9.5}, shown={"rate": 3.0}),
        ]
    )


def ids(findings):
    return [finding.claim.id for finding in findings]


def test_gained_and_lost_count_changed_verdicts_of_evaluated_findings(moves):
    chosen, delay, queue = moves
    assert (ids(delay.gained), ids(delay.lost), ids(delay.changed)) == (
        ["near", "far"],
        ["kept"],
        ["near", "far", "kept", "unseen"],
    )
    assert (ids(queue.gained), ids(queue.lost), ids(queue.changed)) == (["far"], [], ["far"])
    assert (ids(chosen.gained), ids(chosen.lost), ids(chosen.changed)) == ([], [], [])
    # A claim that only one side can judge is not compared.
    assert [(one.reproduced, len(one.judged)) for one in moves] == [(1, 3), (2, 3), (2, 3)]


def drawn(near, far=15.0):
    """The findings from a relabelling of runs with the chosen assumptions."""
    return judge(CLAIMS[:2], {"near": near, "far": far})


def test_a_miss_is_explained_by_moves_that_a_placebo_does_not_equal(moves):
    # One relabelling in four turns "near", none turns "far".
    moves = Sensitivity(moves.moves, lambda: [drawn(12.0), drawn(12.0), drawn(12.0), drawn(10.5)] * 50)
    findings = judge(CLAIMS, CHOSEN)
    told, explaining = moves.explain(findings)
    explained = {finding.claim.id: finding for finding in told}
    assert explained["far"].why.endswith("It holds with another assumption (delay: 50 ms; 20 packets).")
    assert "Not explained: runs with the chosen assumptions turn it as often" in explained["near"].why
    assert "xplained" not in explained["kept"].why
    assert [finding.verdict for finding in explained.values()] == [finding.verdict for finding in findings]
    # The moves themselves stay as they are.
    assert (moves.explained, moves.is_explained) == ([], False)
    assert (explaining.explained, explaining.is_explained) == (["far"], True)
    assert explaining.explanations() == {"explained": 1, "by_placebo": 0.0, "share": 0.0}


def test_many_moves_need_a_rarer_placebo():
    many = [
        move(Variation(name=str(n), assumption="n", value=str(n)), CHOSEN | {"near": 10.0 + n / 100})
        for n in range(20)
    ]
    draws = [drawn(12.0)] * 98 + [drawn(10.5)] * 2
    # 2 % are rare for one move, and one of twenty would be lucky in a third of all cases.
    for tried, why in ((many[:1], "(n: 0)."), (many, "turn it as often as a varied assumption does.")):
        (near, *_), _ = Sensitivity(tried, lambda: draws).explain(judge(CLAIMS, CHOSEN))
        assert near.why.endswith(why)


def test_many_misses_need_a_rarer_placebo():
    def explanation(misses):
        claims = [claim(f"miss{number}", 10.0) for number in range(misses)]
        chosen = dict.fromkeys((one.id for one in claims), 15.0)
        # The variation changes every number and turns the first claim alone.
        moved = dict.fromkeys(chosen, 14.0) | {"miss0": 10.5}
        variation = Move(variation=DELAY, findings=judge(claims, moved), baseline=judge(claims, chosen))
        draws = [judge(claims[:1], {"miss0": value}) for value in [15.0] * 98 + [10.5] * 2]
        (first, *_), _ = Sensitivity([variation], lambda: draws).explain(judge(claims, chosen))
        return first.why

    # 2 % are rare for one miss, and one of twenty would be turned in a third of all cases.
    assert "It holds with another assumption" in explanation(1)
    assert "Not explained" in explanation(20)


def test_the_share_of_placebo_explanations_is_that_of_unseen_relabellings(moves):
    moves = Sensitivity(moves.moves, lambda: [drawn(12.0)] * 50 + [drawn(12.0), drawn(10.5)] * 25)
    _, explaining = moves.explain(judge(CLAIMS, CHOSEN))
    # By the first half "near" is beyond chance; one move tried it, and half of the second half turns it.
    assert explaining.explanations()["by_placebo"] == 0.5
    assert explaining.explained == ["far"]


def test_relabelled_runs_of_a_pair_stay_paired():
    results = pd.DataFrame({"key": ["a", "b"] * 10, "run": np.repeat(np.arange(10), 2)})
    chosen = relabelled(results, lambda _: 4, np.random.default_rng(1))
    runs = {key: rows["run"].tolist() for key, rows in chosen.groupby("key")}
    assert runs["a"] == runs["b"]
    assert len(set(runs["a"])) == 4


def test_a_placebo_evaluates_other_runs_each_time():
    results = pd.DataFrame({"key": ["a"] * 100, "value": np.arange(100.0)})
    means = placebo(results, lambda _: 10, lambda rows: [float(rows["value"].mean())], seed=1, draws=50)
    assert len({mean for (mean,) in means}) > 40
    assert means == placebo(
        results, lambda _: 10, lambda rows: [float(rows["value"].mean())], seed=1, draws=50
    )


def test_the_placebo_of_misses_judges_only_what_does_not_hold():
    results = pd.DataFrame({"key": ["a"] * 40, "value": np.arange(40.0)})
    draw = placebo_of_misses(
        CLAIMS,
        judge(CLAIMS, CHOSEN),
        results,
        lambda _: 10,
        lambda rows: dict.fromkeys(CHOSEN, float(rows["value"].mean())),
        seed=1,
    )
    drawn_findings = draw()
    assert {tuple(ids(findings)) for findings in drawn_findings} == {("near", "far")}
    assert len({findings[0].measured for findings in drawn_findings}) > 40


def test_more_than_three_moves_are_counted():
    many = Sensitivity(
        move(Variation(name=str(n), assumption="n", value=str(n)), CHOSEN | {"far": 10.0}) for n in range(5)
    )
    (_, far, *_), _ = many.explain(judge(CLAIMS, CHOSEN))
    assert "(n: 0; n: 1; n: 2; and 2 more)" in far.why


def test_the_section_shows_each_move_and_the_verdicts_it_changes(moves):
    blocks = [*moves.moved(), *moves.turned()]
    (table,) = (block for block in blocks if isinstance(block, Table))
    assert [column.title for column in table.columns][-1] == "rate"
    assert [row[2] for row in table.rows] == ["1 of 3", "2 of 3", "2 of 3"]
    assert [row[3:5] for row in table.rows[1:]] == [["+2", "−1"], ["+1", "−0"]]
    # 2.1 is 5 % from 2, 3 is 50 %.
    assert [row[5].tone for row in table.rows] == ["", "", "strong"]
    assert [block.title for block in blocks if isinstance(block, Details)] == [
        "delay: 50 ms: 2 gained, 1 lost",
        "20 packets: 1 gained, 0 lost",
    ]
    (figure,) = (block for block in blocks if isinstance(block, Figure))
    assert "<svg" in figure.svg


def test_groups_have_separate_tables():
    grouped = Sensitivity(
        [move(None, CHOSEN, group="a"), move(DELAY, CHOSEN, group="a"), move(None, CHOSEN, group="b")]
    )
    blocks = grouped.moved(groups={"a": "A", "b": "B"})
    assert [block.caption for block in blocks if isinstance(block, Table)] == ["A"]


def test_findings_on_other_claims_are_refused():
    with pytest.raises(ValueError, match="delay: 50 ms: the findings are not on the claims of the baseline"):
        Move(variation=DELAY, findings=judge(CLAIMS[:1], CHOSEN), baseline=judge(CLAIMS, CHOSEN))


def test_absent_quantities_are_omitted():
    def absent(_):
        raise NotMeasured("no")

    assert quantities({"x": lambda evidence: evidence["kept"], "y": absent}, CHOSEN) == {"x": 10.0, "y": None}
