"""Numbers behind quantities, as the engine reads them."""

import re

import pytest

from dumbbell import ScenarioError
from dumbbell.quantities import bits_per_second, nanoseconds, size_bytes, written_time


@pytest.mark.parametrize(
    ("read", "text", "number"),
    [
        (nanoseconds, "1.5 ms", 1_500_000),
        (nanoseconds, "2 min", 120 * 10**9),
        (nanoseconds, "0 s", 0),
        (bits_per_second, "1.6 Mbit/s", 1_600_000),
        (bits_per_second, "200 kB/s", 1_600_000),
        (bits_per_second, "7 bit/s", 7),
        (size_bytes, "1 KiB", 1024),
        (size_bytes, "53 bytes", 53),
    ],
)
def test_quantities_are_whole_numbers_of_base_units(read, text, number):
    assert read(text, "field") == number


@pytest.mark.parametrize(
    ("read", "text", "message"),
    [
        (nanoseconds, "5", 'delay: "5" is not accepted; expected a time such as "50 ms"'),
        (nanoseconds, 5, "delay: 5 is not accepted; expected a time with its unit, as text"),
        (bits_per_second, "0 bit/s", 'delay: "0 bit/s" is not accepted; expected a rate above 0'),
        (size_bytes, "1 KB", 'delay: "1 KB" is not accepted; expected a size such as'),
    ],
)
def test_an_error_names_field_value_and_what_is_accepted(read, text, message):
    with pytest.raises(ScenarioError, match=f"^{re.escape(message)}"):
        read(text, "delay")


@pytest.mark.parametrize("time_ns", [0, 1, 999, 1_000, 1_001, 62_500_000, 10**9, 61 * 10**9 + 1, 10**15])
def test_a_formatted_time_is_parsed_as_the_same_time(time_ns):
    assert nanoseconds(written_time(time_ns), "time") == time_ns
