"""Definition, evaluation and counting of claims."""

import math
import re
from typing import Literal

import numpy as np
import pytest

from dumbbell.claims import COUNTS, Aims, Claim, Register, judge, measured_score, scoreboard
from dumbbell.judge.estimate import AwaitsTestbed, NotMeasured, Outcome
from dumbbell.judge.rule import Within
from dumbbell.report.numbers import number

FILE = """
[A-2]
source = "table 1"
kind = "value"
statement = "the goodput of Reno"
scenario = "one"
units = "kbit/s"
paper = 100
within = 0.1
relative = true

[A-1]
source = "fig. 2"
kind = "ordering"
statement = "Vegas is ahead of Reno at most loads"
scenario = "sweep"
share = 0.75
"""


@pytest.fixture
def register(tmp_path):
    path = tmp_path / "claims.toml"
    path.write_text(FILE, encoding="utf-8")
    return Register(path)


def test_a_register_gives_the_claims_in_the_order_of_the_file(register):
    register.claim("A-1")(lambda flags: Outcome.share(flags))
    register.claim("A-2")(lambda _: Outcome.of(109.0))
    first, second = register.claims()
    assert (first.id, first.paper_value, first.rule()) == ("A-2", 100.0, "within 10 %")
    assert (second.id, second.kind, second.rule()) == ("A-1", "ordering", "in at least 75 % of the points")
    assert [finding.verdict for finding in judge([first, second], [True, True, True, False])] == [
        "reproduced",
        "reproduced",
    ]


def test_a_claim_without_a_measure_and_a_measure_without_a_claim_are_errors(register):
    register.claim("A-1")(lambda flags: Outcome.share(flags))
    with pytest.raises(ValueError, match="no measure for A-2"):
        register.claims()
    with pytest.raises(ValueError, match="has no claim A-3"):
        register.claim("A-3")
    with pytest.raises(ValueError, match="claim A-1 has two measures"):
        register.claim("A-1")(lambda flags: Outcome.share(flags))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("source", "sauce"), "`source` is missing; `sauce` is not known"),
        (('"ordering"', '"order"'), '`kind` is "order"; accepted: value, ratio, ordering, sign, shape'),
        (("paper = 100\n", ""), "`within` requires `paper`"),
        (("within = 0.1\n", ""), "`relative` requires `within`"),
        (("share = 0.75", "share = 75"), "`share` is 75; accepted: above 0, up to 1"),
        (("relative = true", "share = 0.5"), "`share` and `within` exclude each other"),
    ],
)
def test_a_claim_that_contradicts_itself_is_an_error(tmp_path, change, message):
    path = tmp_path / "claims.toml"
    path.write_text(FILE.replace(*change), encoding="utf-8")
    with pytest.raises(ValueError, match=re.escape(message)):
        Register(path)


ROW = 'measure = { estimate = "threshold", name = "reno", factors = [1, 2.5] }\n'


def register_with(tmp_path, row):
    """Return a register whose first claim names an estimate, and whose other claim has a measure."""
    path = tmp_path / "claims.toml"
    path.write_text(FILE.replace("relative = true\n", f"relative = true\n{row}"), encoding="utf-8")
    register = Register(path)
    register.claim("A-1")(lambda flags: Outcome.share(flags))

    @register.estimate
    def threshold(
        evidence, name: str, factors: list[float], scale: float = 1.0, side: Literal["low", "high"] = "low"
    ):
        return Outcome.of(evidence[name] * sum(factors) * scale, note=side)

    return register


def test_a_row_names_an_estimate_and_its_arguments(tmp_path):
    (first, _) = register_with(tmp_path, ROW.replace("reno", "vegas")).claims()
    assert first.measure({"vegas": 10.0, "reno": 0.0}) == Outcome.of(35.0, note="low")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            ('"threshold"', '"treshold"'),
            'claims.toml: [A-2].measure.estimate: "treshold" is not accepted; expected one of threshold '
            "(did you mean `threshold`?)",
        ),
        (
            ("name =", "nane ="),
            '[A-2].measure.nane: "nane" is no argument of threshold; expected one of name, factors, scale, side '
            "(did you mean `name`?)",
        ),
        (('name = "reno", ', ""), "[A-2].measure.name: nothing is not accepted; expected a string"),
        (('"reno"', "7"), "[A-2].measure.name: 7 is not accepted; expected a string"),
        (("2.5", "true"), "[A-2].measure.factors: [1, True] is not accepted; expected a list, each a number"),
        ((" }", ', side = "lo" }'), "expected one of low, high (did you mean `low`?)"),
        (('estimate = "threshold", ', ""), "claims.toml: [A-2]: `measure` lacks `estimate`"),
        ((ROW, "measure = 3\n"), "claims.toml: [A-2]: `measure` lacks `estimate`"),
    ],
)
def test_a_bad_row_names_claim_field_value_and_what_is_accepted(tmp_path, change, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        register_with(tmp_path, ROW.replace(*change)).claims()


def test_a_claim_has_one_measure_and_a_name_one_estimate(tmp_path):
    register = register_with(tmp_path, ROW)
    with pytest.raises(ValueError, match="claim A-2 has two measures"):
        register.claim("A-2")(lambda _: Outcome.of(1.0))

    def threshold(_evidence):
        return Outcome.of(1.0)

    with pytest.raises(ValueError, match="there are two estimates threshold"):
        register.estimate(threshold)


def test_claims_that_code_makes_follow_one_of_the_file(tmp_path):
    register = register_with(tmp_path, ROW)
    cell = Claim(id="T-1", source="table 2", kind="value", statement="", measure=lambda _: Outcome.of(1.0))
    register.follow("A-2", iter([cell]))
    assert [claim.id for claim in register.claims()] == ["A-2", "T-1", "A-1"]
    for name in ("A-2", "A-9"):
        with pytest.raises(ValueError, match=f"claims.toml: no claims can follow {name}"):
            register.follow(name, [cell])


def test_an_ordering_holds_from_a_minimum_share_of_the_points():
    def finding(flags, least=None, **rest):
        claim = Claim(
            id="x",
            source="s",
            kind="ordering",
            statement="",
            measure=lambda _: Outcome.share(flags, least, note="by load"),
            **rest,
        )
        return judge([claim], None)[0]

    three_of_four = [True, True, False, True]
    assert finding(three_of_four, 0.75).verdict == "reproduced"
    assert finding(three_of_four, 0.76).verdict == "not-reproduced"
    assert finding(three_of_four, share=0.75).verdict == "reproduced"
    missed = finding(three_of_four, share=0.8)
    assert missed.verdict == "not-reproduced"
    assert missed.why.startswith("It holds at 75 % of the points; accepted in at least 80 % of the points")
    assert finding(three_of_four, 0.75).measured == 0.75
    assert "it holds in 3 of 4; by load" in finding(three_of_four, 0.75).why.lower()
    assert finding([]).verdict == "not-checkable"


def test_a_value_is_judged_by_its_tolerance():
    def verdict(measured, **rest):
        claim = Claim(
            id="x", source="s", kind="value", statement="", measure=lambda _: Outcome.of(measured), **rest
        )
        return judge([claim], None)[0].verdict

    ten_percent = {"paper_value": 100.0, "tolerance_kind": "rel", "tolerance": 0.1}
    assert verdict(110.0, **ten_percent) == verdict(90.0, **ten_percent) == "reproduced"
    assert verdict(110.1, **ten_percent) == verdict(float("nan"), **ten_percent) == "not-reproduced"
    exact = {"paper_value": 0.0, "tolerance_kind": "abs"}
    assert verdict(0.0, **exact) == "reproduced"
    assert verdict(1e-3, **exact) == "not-reproduced"


def test_an_ordering_inside_noise_says_so():
    values = np.array([0.1, -1.0, 1.0, 2.0, -0.5])
    claim = Claim(
        id="x",
        source="s",
        kind="ordering",
        statement="",
        measure=lambda _: Outcome.of(values, holds=values > 0),
    )
    (finding,) = judge([claim], None)
    assert (finding.verdict, finding.holds) == ("undecided", True)
    assert finding.support == 0.5
    assert "inside sampling noise" in finding.why.lower()


@pytest.mark.parametrize(
    ("interval", "verdict"),
    [
        ((9.5, 10.5), "reproduced"),
        ((9.5, 11.5), "undecided"),
        ((11.5, 12.5), "not-reproduced"),
        ((7.5, 8.5), "not-reproduced"),
        ((10.5, 12.5), "undecided"),
        ((8.0, 12.5), "undecided"),
        ((math.nan, math.nan), None),
    ],
)
def test_a_tolerance_is_judged_on_the_whole_interval(interval, verdict):
    estimate = 10.0 if verdict is None else sum(interval) / 2

    def measure(_):
        return Outcome(measured=estimate, low=interval[0], high=interval[1])

    claim = Claim(
        id="x",
        source="s",
        kind="value",
        statement="",
        measure=measure,
        paper_value=10.0,
        tolerance_kind="abs",
        tolerance=1.0,
    )
    (finding,) = judge([claim], None)
    assert finding.verdict == (verdict or "reproduced")
    assert finding.holds is (abs(estimate - 10) <= 1)


def judged(outcome, **rest):
    """Return the finding on a claim with an outcome."""
    claim = Claim(id="x", source="s", kind="value", statement="", measure=lambda _: outcome, **rest)
    return judge([claim], None)[0]


@pytest.mark.parametrize("ends", [(8.0, 15.0), (5.0, 12.0)])
def test_a_missed_estimate_is_undecided_if_its_interval_contains_all_that_is_accepted(ends):
    outcome = Outcome(measured=sum(ends) / 2, low=ends[0], high=ends[1])
    finding = judged(outcome, paper_value=10.0, tolerance_kind="abs", tolerance=1.0)
    assert (finding.verdict, finding.holds) == ("undecided", False)


@pytest.mark.parametrize("paper", [0.0, 0.5, -1.0, 1e6, -1e6])
def test_a_tolerance_includes_its_limit_and_the_rounding_of_the_paper_s_value(paper):
    # The rounding is 1e-9 of the value, at least 1e-9.
    rounding = 1e-9 * max(1.0, abs(paper))
    for sign in (-1.0, 1.0):
        for tolerance in (0.0, 0.25):
            near, far = (paper + sign * (tolerance + share * rounding) for share in (0.9, 1.1))
            claim = {"paper_value": paper, "tolerance_kind": "abs", "tolerance": tolerance}
            assert judged(Outcome.of(near), **claim).verdict == "reproduced"
            assert judged(Outcome.of(far), **claim).verdict == "not-reproduced"
    assert judged(Outcome.of(1e-9), paper_value=0.0, tolerance_kind="abs").verdict == "reproduced"


def test_a_minimum_share_is_reached_up_to_rounding():
    # 0.1 * 3 is above 0.3 by rounding.
    assert judged(Outcome.share([True] * 3 + [False] * 7), share=0.1 * 3).verdict == "reproduced"
    assert judged(Outcome.of(0.75 - 1e-9), share=0.75).verdict == "reproduced"
    assert judged(Outcome.of(0.75 - 2e-9), share=0.75).verdict == "not-reproduced"
    assert judged(Outcome.of(0.75)).verdict == "not-reproduced"


TEN_SECONDS = {"paper_value": 10.0, "tolerance_kind": "abs", "tolerance": 1.0, "units": "s"}


@pytest.mark.parametrize(
    ("outcome", "claim", "why"),
    [
        (Outcome(measured=10.5, low=9.5, high=11.0), TEN_SECONDS, ""),
        (
            Outcome(measured=10.5, low=9.5, high=11.5),
            TEN_SECONDS,
            "Undecided: the 90 % interval is not all within 1 s of 10.0 s.",
        ),
        (
            Outcome(measured=12.0, low=9.0, high=15.0),
            TEN_SECONDS,
            "Measured 12.0 s against 10.0 s (+20 %); accepted within 1 s; the paper's number is inside our 90 % "
            "interval: sampling noise can explain the miss.",
        ),
        (
            Outcome(measured=12.0, low=11.5, high=12.5, note="all runs"),
            TEN_SECONDS,
            "Measured 12.0 s against 10.0 s (+20 %); accepted within 1 s; the paper's number is outside our 90 % "
            "interval: sampling noise does not explain the miss; all runs.",
        ),
        (
            Outcome.of(-15.0),
            {"paper_value": -10.0, "tolerance_kind": "rel", "tolerance": 0.25},
            "Measured −15.0 against −10.0 (−50 %); accepted within 25 %.",
        ),
        (
            Outcome.of(0.25),
            {"paper_value": 0.0, "tolerance_kind": "abs", "units": "-"},
            "Measured 0.250 against 0; accepted exact.",
        ),
        (Outcome.of(2.0, holds=False), {"units": "s"}, "The inequality does not hold (2.00 s)."),
    ],
)
def test_the_reason_says_by_how_much_a_claim_misses_and_whether_noise_can_explain_it(outcome, claim, why):
    assert judged(outcome, **claim).why == why


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""),
        (math.nan, ""),
        (-math.inf, "−∞"),
        (0.0, "0"),
        (-1.5, "−1.50"),
        (10.0, "10.0"),
        (0.01234, "0.0123"),
        (12345.6, "12346"),
        (-0.00001, "0"),
    ],
)
def test_a_number_has_three_digits_its_whole_part_at_most_four_decimals_and_a_true_minus_sign(value, text):
    assert number(value) == text


@pytest.mark.parametrize(
    ("held", "verdict"), [(20, "reproduced"), (15, "undecided"), (1, "undecided"), (0, "undecided")]
)
def test_an_inequality_is_decided_by_nearly_all_resamples(held, verdict):
    flags = np.array([True] + [True] * held + [False] * (20 - held))
    claim = Claim(
        id="x",
        source="s",
        kind="ordering",
        statement="",
        measure=lambda _: Outcome.of(flags.astype(float), holds=flags),
    )
    (finding,) = judge([claim], None)
    assert (finding.verdict, finding.holds) == (verdict, True)


def test_the_headline_is_a_mean_over_seeds_of_the_estimates_that_hold():
    def judged(*held):
        return judge(
            [
                Claim(
                    id=f"c{number}",
                    source="s",
                    kind="ordering",
                    statement="",
                    measure=lambda _, flag=flag: Outcome.of(1.0, holds=flag),
                )
                for number, flag in enumerate(held)
            ],
            None,
        )

    score = measured_score([judged(True, True), judged(True, False)], {"orderings": 92.5})
    assert score["orderings"]["mean"] == 75.0
    assert score["orderings"]["sd"] == pytest.approx(50 / math.sqrt(2))
    assert score["orderings"]["shares"] == [100.0, 50.0]
    assert (score["orderings"]["ceiling"], score["orderings"]["seeds"], score["orderings"]["claims"]) == (
        92.5,
        2,
        2,
    )
    assert (score["values"]["mean"], score["values"]["sd"], score["values"]["claims"]) == (None, None, 0)
    assert measured_score([judged(True)])["orderings"]["sd"] is None


def test_the_scoreboard_counts_shares_of_what_could_be_checked():
    def unseen(_):
        raise NotMeasured("no")

    def real(_):
        raise AwaitsTestbed("kernels")

    def claim(kind, measure):
        return Claim(id=kind, source="s", kind=kind, statement="", measure=measure)

    findings = judge(
        [
            claim("ordering", lambda _: Outcome.of(1.0, holds=True)),
            claim("sign", lambda _: Outcome.of(1.0, holds=False)),
            claim("shape", unseen),
            claim("shape", real),
        ],
        None,
    )
    assert [(finding.verdict, finding.is_judged) for finding in findings[2:]] == [
        ("not-checkable", False),
        ("awaits-testbed", False),
    ]
    assert findings[3].why == "kernels"
    groups = {row["name"]: row for row in scoreboard(findings)["groups"]}
    row = groups["orderings, signs and shapes"]
    counted = ("reproduced", "missed", "unchecked", "awaiting", "share")
    assert tuple(row[name] for name in counted) == (1, 1, 1, 1, 50.0)


def test_only_printed_claims_count_and_each_once():
    def claim(name, holds, **rest):
        return Claim(
            id=name,
            source="s",
            kind="ordering",
            statement="",
            measure=lambda _: Outcome.of(1.0, holds=holds),
            **rest,
        )

    findings = judge(
        [
            claim("a", True),
            claim("b", False),
            claim("same-as-a", True, repeats="a"),
            claim("sum-of-print", True, evidence="arithmetic"),
            claim("wrong-print", False, evidence="arithmetic"),
            claim("default", True, evidence="definition"),
        ],
        None,
    )
    row = scoreboard(findings)["groups"][0]
    assert {name: row[name] for name in COUNTS} == {
        "reproduced": 1,
        "undecided": 0,
        "missed": 1,
        "holding": 1,
        "share": 50.0,
        "other": 4,
        "refuted": 1,
        "awaiting": 0,
        "unchecked": 0,
    }
    assert [finding.to_dict()["evidence"] for finding in findings[3:]] == ["arithmetic"] * 2 + ["definition"]


@pytest.mark.parametrize(
    ("paper_value", "kind", "tolerance", "includes"),
    [(2.0, "abs", 2.0, True), (2.0, "abs", 1.9, False), (-3.0, "rel", 1.0, True), (0.0, "abs", 1.0, False)],
)
def test_a_tolerance_that_includes_zero_says_so(paper_value, kind, tolerance, includes):
    claim = Claim(
        id="x",
        source="s",
        kind="value",
        statement="",
        measure=lambda _: Outcome.of(0.0),
        paper_value=paper_value,
        tolerance_kind=kind,
        tolerance=tolerance,
    )
    assert isinstance(claim.judged_by, Within)
    assert claim.judged_by.tolerates_zero is includes
    assert ("includes zero" in claim.rule()) is includes


def test_the_aims_are_those_of_the_paper():
    def aims(*given):
        return [row["aim"] for row in scoreboard([], *given)["groups"]]

    assert aims() == [None, None, None]
    assert aims(Aims()) == [None, 85, 65]
    assert aims(Aims(orderings=90, values=70)) == [None, 90, 70]
