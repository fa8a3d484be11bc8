"""How long the rest takes, from costs and the time of what was made."""

import pytest

from dumbbell.papers.progress import Pace, duration


def test_a_stage_under_way_is_measured_by_itself_and_the_others_by_all_that_was_made():
    pace = Pace()
    pace.expect("first", 10.0)
    pace.expect("second", 30.0)
    pace.expect("third", 5.0)
    assert pace.left(0.0) is None
    pace.begin("first", 100.0)
    pace.made(4.0, 102.0)
    # Half a second for a unit of cost: 6 + 30 + 5 units are left.
    assert pace.left(102.0) == pytest.approx(20.5)
    assert pace.left(103.0) == pytest.approx(19.5)
    pace.made(6.0, 105.0)
    pace.end()
    pace.begin("second", 110.0)
    pace.made(10.0, 130.0)
    # The second stage takes 2 s a unit, 40 s for its rest; all made so far 25 s for 20 units, 6.25 s for the third.
    assert pace.left(130.0) == pytest.approx(46.25)


def test_a_stage_that_takes_longer_than_expected_is_about_to_end():
    pace = Pace()
    pace.expect("only", 2.0)
    pace.begin("only", 0.0)
    pace.made(1.0, 1.0)
    assert pace.left(1.5) == pytest.approx(0.5)
    assert pace.left(9.0) == 0.0


def test_times_are_told_in_words():
    assert [duration(seconds) for seconds in (0.2, 99, 100, 3540, 3600, 7500)] == [
        "0 s", "99 s", "2 min", "59 min", "1 h 0 min", "2 h 5 min",
    ]  # fmt: skip
