"""The sample of mutants, the list of equivalent ones, and the report."""

from dataclasses import replace

import pytest

import sampling
from sampling import Equivalent, Ledger, Mutant, Verdict, drawn, numbered, reasons_of

MUTANT = Mutant("python/dumbbell/x.py", "f", line=7, column=8, code="if a < b:", change="Lt_LtE")
DIFF = """--- python/dumbbell/x.py
+++ python/dumbbell/x.py
@@ -7 +7 @@
-    if a < b:
+    if a <= b:
"""
ENTRY = Equivalent(MUTANT.file, "f", before="if a < b:", after="if a <= b:", reason="a and b always differ")


def mutants(count):
    return numbered(replace(MUTANT, line=line, code=f"if a < {line}:") for line in range(1, count + 1))


def test_a_sample_is_random_and_a_larger_one_contains_it():
    all_of_them = mutants(200)
    first = drawn(all_of_them, 1, 20)
    assert drawn(all_of_them[::-1], 1, 20) == first == drawn(all_of_them, 1, 60)[:20]
    assert drawn(all_of_them, 2, 20) != first
    assert sorted(one.line for one in first) != list(range(1, 21))


def test_a_sample_does_not_depend_on_what_is_elsewhere_in_a_file():
    moved = [replace(one, line=one.line + 3) for one in mutants(200)]
    keys = [one.key for one in drawn(mutants(200), 1, 20)]
    assert [one.key for one in drawn(moved, 1, 20)] == keys
    fewer = [one for one in mutants(200) if one.key != keys[3]]
    assert [one.key for one in drawn(fewer, 1, 19)] == keys[:3] + keys[4:]


def test_equal_changes_of_equal_lines_are_different_mutants():
    twice = numbered([MUTANT, replace(MUTANT, line=9), replace(MUTANT, line=9, change="Lt_GtE")])
    assert [one.number for one in twice] == [0, 0, 1]
    assert len({one.key for one in twice}) == 3


def test_the_changed_lines_are_the_new_ones():
    diff = "--- a/x.py\n+++ b/x.py\n@@ -1 +3,2 @@\n-a\n+b\n+c\n@@ -9,2 +9,0 @@\n-a\n--- a/y.py\n+++ b/y.py\n@@ -0,0 +7 @@\n+a\n"
    assert sampling.changed_lines(diff) == {"x.py": {3, 4}, "y.py": {7}}


def test_areas_are_those_of_the_changed_sources():
    files = [
        "python/dumbbell/claims.py",
        "python/dumbbell/campaign/store.py",
        "crates/dumbbell-cc/src/delay.rs",
    ]
    files += ["crates/dumbbell-tcp/tests/ecn.rs", "tests/python/test_run.py", "python/dumbbell/_engine.pyi"]
    diff = "".join(f"+++ b/{file}\n@@ -0,0 +1 @@\n+x\n" for file in files)
    assert sampling.areas_of(diff, ".py") == ["campaign", "claims"]
    assert sampling.areas_of(diff, ".rs") == ["cc"]


def test_an_equivalent_mutant_is_recognized_wherever_its_line_is():
    other = replace(MUTANT, change="Lt_GtE")
    diffs = {
        MUTANT: DIFF.replace("<=", " <="),
        replace(MUTANT, line=70): DIFF,
        other: DIFF.replace("<=", ">="),
    }
    assert reasons_of([ENTRY], list(diffs), diffs.__getitem__) == {MUTANT.key: ENTRY.reason}


@pytest.mark.parametrize(
    "change",
    [{"function": "g"}, {"file": "python/dumbbell/y.py"}, {"before": "if a < c:"}, {"after": "if a > b:"}],
)
def test_an_entry_that_makes_no_mutant_is_an_error(change):
    with pytest.raises(ValueError, match="no mutant of"):
        reasons_of([replace(ENTRY, **change)], [MUTANT], lambda _: DIFF)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('reason = " "', "mutant 1: reason is empty"),
        ("", "mutant 1: accepted: texts after, before, file, function, reason"),
        ('reason = "r"\nline = "7"', "mutant 1: accepted: texts"),
        ("reason = 7", "mutant 1: accepted: texts"),
    ],
)
def test_an_entry_states_its_reason_and_nothing_unknown(tmp_path, text, said):
    path = tmp_path / "equivalent.toml"
    path.write_text(
        f'[[mutant]]\nfile = "x.py"\nfunction = "f"\nbefore = "a"\nafter = "b"\n{text}\n', "utf-8"
    )
    with pytest.raises(ValueError, match=said):
        sampling.equivalents(".py", path)


def test_the_list_of_equivalent_mutants_can_be_read():
    for suffix in (".py", ".rs"):
        assert all((sampling.ROOT / entry.file).is_file() for entry in sampling.equivalents(suffix))


def test_tests_at_the_end_of_a_file_are_no_part_of_its_digest(tmp_path, monkeypatch):
    monkeypatch.setattr(sampling, "ROOT", tmp_path)
    file = tmp_path / "code.rs"

    def digest(text):
        file.write_text(text)
        return sampling.digest_of([file], until="#[cfg(test)]")

    plain = digest("fn one() {}\n")
    assert digest("fn one() {}\n\n#[cfg(test)]\nmod tests {}\n") == plain
    assert digest("fn two() {}\n\n#[cfg(test)]\nmod tests {}\n") != plain


def test_a_later_verdict_replaces_an_earlier_one_and_a_line_cut_short_is_none(tmp_path):
    ledger = Ledger(tmp_path / "folder" / "verdicts.jsonl")
    verdict = Verdict(MUTANT.key, "sources", "survived", "3 tests", DIFF)
    ledger.add(verdict)
    ledger.add(replace(verdict, outcome="killed"))
    with ledger.path.open("a", encoding="utf-8") as file:
        file.write('{"key": "cut')
    resumed = Ledger(ledger.path)
    assert resumed.earlier(MUTANT) == replace(verdict, outcome="killed")
    assert resumed.earlier(replace(MUTANT, code="other")) is None
    resumed.add(replace(verdict, outcome="timeout"))
    assert Ledger(ledger.path).earlier(MUTANT) == replace(verdict, outcome="timeout")


def test_a_share_counts_timeouts_as_killed_but_no_crash_and_leaves_out_what_is_equivalent_or_no_program():
    outcomes = ["killed", "timeout", "broken", "survived", "uncovered", "equivalent", "unviable"]
    files = ["python/dumbbell/x.py"] * 7 + ["crates/dumbbell-cc/src/y.rs"]
    judged = [
        (replace(MUTANT, file=file), Verdict("", "", outcome, "why", DIFF))
        for file, outcome in zip(files, [*outcomes, "killed"], strict=True)
    ]
    found = sampling.report("title", judged, waiting=2)
    assert found["counts"]["x"] == {"sampled": 7, **dict.fromkeys(outcomes, 1), "killed_percent": 40.0}
    assert found["counts"]["cc"]["killed_percent"] == 100.0
    assert found["counts"]["total"]["killed_percent"] == 50.0
    text = sampling.text_of(found)
    assert "survived: python/dumbbell/x.py:7 f: why\n    - if a < b:\n    + if a <= b:" in text
    assert "not judged yet: 2" in text
