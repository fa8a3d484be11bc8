"""The misses of a report, told in its Markdown file."""

import re
from dataclasses import dataclass

import pytest

from dumbbell.claims import Claim, judge
from dumbbell.judge.estimate import Outcome
from dumbbell.papers import Evaluation
from dumbbell.papers.page import PaperPage, choices

TEXT = """
## Misses {#misses}

{% call cause("A-1") %}
The losses come
late.
{% endcall %}

{not_reproduced}

{% call examined("A-1", "sampling") %}
More
runs.

It holds.
{% endcall %}

{looked_into}
"""


def page(folder, text, *, holds=False):
    claims = [
        Claim(
            id=name,
            source="s",
            kind="ordering",
            statement=f"statement of {name}",
            measure=lambda _: Outcome.of(1.0, holds=holds, note="by runs"),
        )
        for name in ("A-1", "A-2")
    ]
    file = folder / "report.md"
    file.write_text(text, encoding="utf-8")
    return PaperPage(Evaluation(findings=judge(claims, None), evidence=None), name=str(file))


def test_misses_are_listed_with_their_causes_and_what_was_looked_into(tmp_path):
    (section,) = page(tmp_path, TEXT).sections()
    missed, examined = section.blocks
    assert [(row[0].text, row[0].link) for row in missed.rows] == [
        ("A-1", "#claim-A-1"),
        ("A-2", "#claim-A-2"),
    ]
    assert [row[2] for row in missed.rows] == ["The losses come late.", ""]
    assert [column.title for column in missed.columns][:3] == ["claim", "reason", "cause"]
    assert examined.rows == [["A-1", "not reproduced", "too few runs or points", "More runs.", "It holds."]]


def test_without_causes_there_is_no_column_for_them(tmp_path):
    (section,) = page(tmp_path, "## Misses {#misses}\n\n{not_reproduced}\n").sections()
    assert [column.title for column in section.blocks[0].columns][:3] == ["claim", "reason", "statement"]


def test_without_misses_a_sentence_says_so(tmp_path):
    (section,) = page(tmp_path, TEXT, holds=True).sections()
    text, examined = section.blocks
    assert text.paragraphs == ["Every claim that could be checked is reproduced."]
    assert examined.rows[0][1] == "reproduced"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (('examined("A-1"', 'examined("A-3"'), "A-3 is no claim of this report"),
        (('cause("A-1"', 'cause("A-3"'), "A-3 is no claim of this report"),
        (('"sampling"', '"luck"'), 'A-1: the cause is "luck"; accepted: reading, sampling, rule, open'),
        (("\nIt holds.\n", ""), "A-1: 1 paragraphs; accepted: what was tried, and what it showed"),
    ],
)
def test_what_is_told_of_a_miss_is_checked(tmp_path, change, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        page(tmp_path, TEXT.replace(*change)).sections()


@dataclass
class Assumed:
    limit: float = 10.0
    tick: str = "10 ms"
    counts: bool = True


def test_choices_are_shown_in_words_and_without_needless_digits():
    assert choices(Assumed()) == {"limit": "10", "tick": "10 ms", "counts": "yes"}
