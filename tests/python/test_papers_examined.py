"""The file of misses that were looked into."""

import re

import pytest

from dumbbell.claims import Claim, judge
from dumbbell.judge.estimate import Outcome
from dumbbell.papers import examined

ENTRY = """
[A-1]
cause = "sampling"
tried = "More runs."
shown = "It holds."
"""


def test_an_examined_miss_is_shown_with_its_verdict_here(tmp_path):
    file = tmp_path / "examined.toml"
    file.write_text(ENTRY, encoding="utf-8")
    claim = Claim(
        id="A-1", source="s", kind="ordering", statement="", measure=lambda _: Outcome.of(1.0, holds=False)
    )
    (table,) = examined.section(file, judge([claim], None)).blocks
    assert table.rows == [["A-1", "not reproduced", "too few runs or points", "More runs.", "It holds."]]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            ('cause = "sampling"', 'cause = "luck"'),
            'examined.toml: [A-1]: `cause` is "luck"; accepted: reading',
        ),
        (('shown = "It holds."', ""), "examined.toml: [A-1] has cause, tried; accepted: cause, shown, tried"),
    ],
)
def test_an_incomplete_entry_is_refused(tmp_path, change, message):
    file = tmp_path / "examined.toml"
    file.write_text(ENTRY.replace(*change), encoding="utf-8")
    with pytest.raises(ValueError, match=re.escape(message)):
        examined.entries(file)
