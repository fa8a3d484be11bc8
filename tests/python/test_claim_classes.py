"""The class of every claim, and that only printed claims make the headline."""

import re

import pytest

from dumbbell.claim_classes import CLASSES, PRINTED, ROUGH, RULES
from dumbbell.claims import Claim, Register, by_class, classified, judge, measured_score, scoreboard
from dumbbell.errors import ScenarioError
from dumbbell.judge.estimate import Outcome
from dumbbell.judge.rule import Within
from dumbbell.papers.paper import available, load

NAMES = available()

FILE = """
[A-1]
source = "table 1"
kind = "value"
statement = "the goodput of Reno"
scenario = "one"
paper = 100
within = 5

[A-2]
source = "table 1 (derived)"
kind = "value"
statement = "twice the goodput of Reno"
scenario = "one"
paper = 200
within = 10
"""

DERIVED = """
[[class]]
name = "derived"
reason = "Twice the other one."
claims = ["A-2"]
of = ["A-1"]
"""


def register(tmp_path, stated):
    path = tmp_path / "claims.toml"
    path.write_text(FILE + stated, encoding="utf-8")
    made = Register(path)
    made.claim("A-1")(lambda _: Outcome.of(101.0))
    made.claim("A-2")(lambda _: Outcome.of(202.0))
    return made


def value(name="x", paper=10.0, tolerance=1.0, **rest):
    return Claim(
        **{
            "id": name,
            "source": "s",
            "kind": "value",
            "statement": "",
            "measure": lambda _: Outcome.of(paper),
        }
        | {"paper_value": paper, "tolerance_kind": "abs", "tolerance": tolerance}
        | rest
    )


def test_a_declaration_gives_claims_a_class_with_its_reason_and_what_they_follow_from(tmp_path):
    first, second = register(tmp_path, DERIVED).claims()
    assert (first.classed.name, first.classed.reason) == (PRINTED, RULES[PRINTED])
    assert (second.classed.name, second.classed.reason, second.classed.of) == (
        "derived", "Twice the other one.", ("A-1",),
    )  # fmt: skip
    data = judge([second], None)[0].to_dict()
    assert (data["class"], data["class_reason"], data["derived_from"]) == (
        "derived", "Twice the other one.", ["A-1"],
    )  # fmt: skip


def test_a_declaration_may_name_sources(tmp_path):
    stated = DERIVED.replace('claims = ["A-2"]', 'sources = ["*(derived)"]')
    assert [claim.classed.name for claim in register(tmp_path, stated).claims()] == [PRINTED, "derived"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            ('"derived"', '"deduced"'),
            'claims.toml: class 1.name: "deduced" is not accepted; expected one of rough',
        ),
        (('"derived"', '"printed"'), 'class 1.name: "printed" is not accepted'),
        (('"derived"', '"uninformative"'), 'class 1.name: "uninformative" is not accepted'),
        (('reason = "Twice the other one."\n', ""), "class 1.reason: nothing is not accepted"),
        (('"Twice the other one."', '" "'), "class 1.reason: nothing is not accepted"),
        (('claims = ["A-2"]\n', ""), "class 1.claims: nothing is not accepted"),
        (('of = ["A-1"]\n', ""), "class 1.of: "),
        (('"derived"', '"rough"'), "class 1.of: "),
        (("claims =", "claim ="), 'class 1: "claim" is no field'),
    ],
)
def test_a_declaration_that_is_not_complete_is_refused_by_name(tmp_path, change, message):
    with pytest.raises(ScenarioError, match=re.escape(message)):
        register(tmp_path, DERIVED.replace(*change))


@pytest.mark.parametrize("change", [('["A-2"]', '["A-3"]'), ('["A-1"]', '["B-*"]')])
def test_a_pattern_that_matches_no_claim_is_refused(tmp_path, change):
    with pytest.raises(ScenarioError, match="expected a pattern that matches a claim"):
        register(tmp_path, DERIVED.replace(*change)).claims()


@pytest.mark.parametrize(
    ("claim", "expected"),
    [
        (value(), PRINTED),
        (value(tolerance=10.0), "uninformative"),
        (value(paper=0.0, tolerance=0.0), "uninformative"),
        (value(tolerance=2.5), "rough"),
        (value(tolerance=0.25, tolerance_kind="rel"), "rough"),
        (value(tolerance=0.24, tolerance_kind="rel"), PRINTED),
        (value(kind="ordering", tolerance_kind="order", bound="> 0"), PRINTED),
        (value(kind="ordering", tolerance_kind="order", bound="< 3 in all"), "uninformative"),
        (value(kind="sign", tolerance_kind="order", units="flag", paper=0.0), "uninformative"),
        (value(kind="sign", tolerance_kind="order", units="flag", paper=1.0), PRINTED),
        (value(evidence="arithmetic"), "arithmetic"),
        (value(evidence="definition"), "definition"),
        (value(repeats="y"), "derived"),
    ],
)
def test_the_class_follows_from_the_rule_that_judges(claim, expected):
    assert claim.classed.name == expected


def test_values_of_a_table_that_one_constant_meets_are_uninformative():
    five = [value(f"v{number}", paper=10.0 + number / 10) for number in range(5)]
    assert {claim.classed.name for claim in classified(five, [])} == {"uninformative"}
    assert {claim.classed.name for claim in classified(five[:4], [])} == {PRINTED}
    apart = [*five, value("v5", paper=20.0)]
    assert {claim.classed.name for claim in classified(apart, [])} == {PRINTED}


def test_only_printed_claims_make_the_headline_and_every_class_has_a_line():
    claims = [
        value("printed"),
        value("missed", measure=lambda _: Outcome.of(20.0)),
        value("zero", tolerance=10.0),
        value("sum", evidence="arithmetic"),
    ]
    findings = judge(claims, None)
    score = measured_score([findings])["values"]
    assert (score["mean"], score["claims"]) == (50.0, 2)
    row = scoreboard(findings)["groups"][0]
    assert (row["holding"], row["reproduced"] + row["missed"], row["other"]) == (1, 2, 2)
    assert by_class(findings) == {
        "printed": {"claims": 2, "holding": 1},
        "uninformative": {"claims": 1, "holding": 1},
        "arithmetic": {"claims": 1, "holding": 1},
    }


@pytest.mark.parametrize("name", NAMES)
def test_every_claim_of_a_paper_has_a_class_with_a_reason(name):
    claims = load(name).claims()
    names = {claim.id for claim in claims}
    assert [claim.id for claim in claims if claim.classed.name not in CLASSES] == []
    assert [claim.id for claim in claims if not claim.classed.reason.strip().endswith(".")] == []
    derived = [claim for claim in claims if claim.classed.name == "derived"]
    assert [claim.id for claim in derived if not set(claim.classed.of) or set(claim.classed.of) - names] == []


@pytest.mark.parametrize("name", NAMES)
def test_no_printed_claim_accepts_zero_or_a_quarter_of_its_number(name):
    printed = [claim for claim in load(name).claims() if claim.classed.name == PRINTED]
    assert printed
    assert [claim.id for claim in printed if claim.judged_by.accepts(0.0)] == []
    tolerances = [(claim.id, claim.judged_by) for claim in printed if isinstance(claim.judged_by, Within)]
    assert [id_ for id_, rule in tolerances if rule.accepts(rule.value * (1 - ROUGH))] == []


@pytest.mark.parametrize(
    ("paper", "claims", "expected"),
    [
        ("rovegas", [f"RV-F15-{number}" for number in range(12, 20)], "reference"),
        ("rovegas", ["RV-F10-04"], "input"),
        ("altman", ["ALT-18", "ALT-32"], "reference"),
        ("altman", ["ALT-09"], "definition"),
        ("vegas-revisited", ["VR-Q-128", "VR-CELL-05", "VR-RAT-01"], "derived"),
        ("code-tcp", ["C-T2-05-CODE", "C-T2-50-Vegas"], "uninformative"),
        ("westwood-plus", ["W-T1-Vegas-2", "W-T1-S4"], "input"),
    ],
)
def test_claims_that_show_nothing_of_the_paper_do_not_count(paper, claims, expected):
    found = {claim.id: claim.classed.name for claim in load(paper).claims()}
    assert {name: found[name] for name in claims} == dict.fromkeys(claims, expected)
