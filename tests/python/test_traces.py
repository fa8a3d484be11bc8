"""Step functions: evaluated, averaged and cut by hand, and in general."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dumbbell.traces import StepFunction

CURVE = StepFunction([0.0, 1.0, 3.0], [2.0, 4.0, 0.0])


def test_values_are_weighed_by_how_long_they_hold():
    # One second of 2, two of 4, one of 0.
    assert CURVE.integral(0.0, 4.0) == 10.0
    assert CURVE.mean(0.0, 4.0) == 2.5
    # Half a second of 2, two of 4, half of 0.
    assert CURVE.mean(0.5, 3.5) == pytest.approx(3.0)
    # (2 - 2.5)^2 + 2 (4 - 2.5)^2 + (0 - 2.5)^2 = 11, over four seconds.
    assert CURVE.deviation(0.0, 4.0) == pytest.approx((11 / 4) ** 0.5)
    assert CURVE.deviation(3.0, 4.0) == 0.0
    assert CURVE.maximum(1.5, 4.0) == 4.0


def test_the_last_value_holds_to_the_end_and_nothing_is_known_before_the_first():
    assert CURVE.at(1e9) == 0.0
    assert np.isnan(CURVE.at(-1.0))
    assert np.isnan(CURVE.at(0.0, before=True))
    assert CURVE.at([[1.0, 3.0]], before=True).tolist() == [[2.0, 4.0]]
    # Only the second from 0 to 1 has a known value.
    assert CURVE.mean(-3.0, 1.0) == 2.0
    assert CURVE.integral(-3.0, 1.0) == 2.0


def test_the_last_record_at_a_time_counts():
    curve = StepFunction([1.0, 1.0, 2.0], [5.0, 7.0, 1.0])
    assert curve.at(1.0) == 7.0
    assert np.isnan(curve.at(1.0, before=True))
    assert curve.mean(1.0, 2.0) == 7.0


def test_what_was_never_recorded_has_no_value():
    nothing = StepFunction.empty()
    assert np.isnan(nothing.at([0.0, 1.0])).all()
    assert np.isnan([nothing.mean(0.0, 1.0), nothing.deviation(0.0, 1.0), nothing.maximum(0.0, 1.0)]).all()
    assert nothing.integral(0.0, 1.0) == 0.0


def test_an_interval_and_samples():
    assert [part.tolist() for part in CURVE.between(1.0, 3.0)] == [[1.0], [4.0]]
    assert [part.tolist() for part in CURVE.resample(0.0, 4.0, 1.0)] == [[0, 1, 2, 3], [2, 4, 4, 0]]


def test_a_frame_of_traces_is_read_by_name():
    frame = pd.DataFrame({"time_s": [0.0, 0.0, 1.0], "name": ["a", "b", "a"], "value": [1.0, 9.0, 3.0]})
    assert StepFunction.of(frame, "a").mean(0.0, 2.0) == 2.0
    assert StepFunction.of(frame[frame["name"] == "b"]).at(5.0) == 9.0


def test_times_and_values_belong_together():
    with pytest.raises(ValueError, match=r"time has the shape \(2,\) and value \(1,\)"):
        StepFunction([0.0, 1.0], [1.0])


@given(
    st.lists(st.tuples(st.floats(0.01, 10.0), st.floats(-100.0, 100.0)), min_size=1, max_size=20),
    st.floats(0.0, 50.0),
    st.floats(0.1, 50.0),
    st.floats(0.1, 50.0),
)
def test_integrals_of_neighbouring_times_add_up(steps, start, first, second):
    times = np.cumsum([step for step, _ in steps])
    curve = StepFunction(times, [value for _, value in steps])
    whole = curve.integral(start, start + first + second)
    parts = curve.integral(start, start + first) + curve.integral(start + first, start + first + second)
    assert whole == pytest.approx(parts, abs=1e-6)
