"""The remaining time, estimated from costs and the times of completed runs."""

import pytest

from dumbbell.campaign.progress import Pace, duration


def test_a_running_stage_is_estimated_from_itself_and_the_others_from_all_runs():
    pace = Pace()
    pace.expect("first", 10, 10.0)
    pace.expect("second", 40, 360.0)
    assert pace.left(0.0) is None
    pace.begin("first", 100.0)
    pace.made(4, 4.0, 102.0)
    # Half a second for a unit of cost in the first: 3 s. The second would take 180 s by its cost and 20 s by its runs:
    # 60 s in the geometric mean.
    assert pace.left(102.0) == pytest.approx(63.0)
    assert pace.left(103.0) == pytest.approx(62.0)
    pace.made(6, 6.0, 105.0)
    pace.begin("second", 110.0)
    pace.made(10, 90.0, 130.0)
    # 20 s for 90 units: 60 s for the 270 units left.
    assert pace.left(130.0) == pytest.approx(60.0)


def test_a_stage_that_takes_longer_than_expected_is_about_to_end():
    pace = Pace()
    pace.expect("only", 2, 2.0)
    pace.begin("only", 0.0)
    pace.made(1, 1.0, 1.0)
    assert pace.left(1.5) == pytest.approx(0.5)
    assert pace.left(9.0) == 0.0
    pace.made(1, 1.0, 10.0)
    assert pace.left(10.0) == 0.0


def test_preparations_before_the_first_report_are_not_counted_for_each_run():
    # Two seconds until the first of 2000 runs, and 20 runs a second from then on: 100 s, not an hour.
    pace = Pace()
    pace.expect("only", 2000, 2000.0)
    pace.begin("only", 0.0)
    pace.made(1, 1.0, 2.05)
    assert pace.left(2.05) is None
    pace.made(20, 20.0, 3.05)
    assert pace.left(3.05) is None
    pace.made(25, 25.0, 4.3)
    assert pace.left(4.3) == pytest.approx(1954 / 20)
    pace.made(954, 954.0, 52.0)
    assert pace.left(52.0) == pytest.approx(50.0, rel=0.05)


def test_times_are_shown_in_words():
    assert [duration(seconds) for seconds in (0.2, 99, 100, 3540, 3600, 7500)] == [
        "0 s", "99 s", "2 min", "59 min", "1 h 0 min", "2 h 5 min",
    ]  # fmt: skip
