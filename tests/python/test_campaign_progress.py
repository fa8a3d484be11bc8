"""The remaining time, estimated from costs and the times of completed runs."""

import io
import time

import pytest

from dumbbell.campaign import progress
from dumbbell.campaign.progress import Display, Pace, duration


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


class Terminal(io.StringIO):
    """A terminal that remembers what it was told."""

    def isatty(self):
        return True


def shown(stream, *, quiet=False):
    """Return what is left of a display after two stages, and the names of its bars in between."""
    with Display(stream, quiet=quiet) as display:
        display.warn(["a worker is [silent]"])
        display.expect("first", 2, 2.0)
        display.whole("all runs", 4, 1)
        display.stage("first", "first stage", 2)(2, 2.0)
        display.fold("first stage: 2 runs")
        names = [task.description for task in display._bars.tasks]
        display.stage("first", "again", 1)
        return names, [task.description for task in display._bars.tasks], stream.getvalue()


def test_a_line_takes_the_place_of_the_bars_of_its_stages_and_the_whole_stays():
    after, later, text = shown(Terminal())
    assert after == ["all runs"]
    assert later == ["all runs", "again"]
    assert "first stage: 2 runs" in text


def test_a_log_has_lines_and_a_quiet_display_only_warnings():
    _, _, text = shown(io.StringIO())
    assert text.splitlines() == ["warning: a worker is [silent]", "first stage: 2 runs"]
    for stream in (io.StringIO(), Terminal()):
        _, _, text = shown(stream, quiet=True)
        assert text.splitlines() == ["warning: a worker is [silent]"]


def test_the_bar_of_the_whole_shows_the_estimate_and_others_that_of_their_own_speed(monkeypatch):
    pace = Pace()
    column = progress._Left(pace)
    pace.expect("first", 4, 4.0)
    pace.begin("first", 0.0)
    with Display(Terminal(), quiet=False) as display:
        whole = display._bars.add_task("whole", total=4, whole=True)
        part = display._bars.add_task("part", total=4)
        tasks = {task.id: task for task in display._bars.tasks}
        monkeypatch.setattr(time, "monotonic", lambda: 20.0)
        assert column.render(tasks[whole]).plain == "-:--:--"
        pace.made(2, 2.0, 20.0)
        # Two of four runs took 20 s; the other bar has not moved.
        assert column.render(tasks[whole]).plain == "20 s"
        assert column.render(tasks[part]).plain == "-:--:--"
