"""Traces of Mahimahi: statistics, import of rates, and the command line."""

import json
import math

import numpy as np
import pytest
from typer.testing import CliRunner

from dumbbell import ScenarioError, mahimahi, traffic
from dumbbell.cli import app


def call(*arguments):
    return CliRunner().invoke(app, ["trace", *map(str, arguments)])


def test_statistics_of_a_trace_worked_by_hand():
    # One second with 1000 opportunities, one with 3 at its end, one with 1000.
    times = [*range(1, 1001), 2000, 2000, 2000, *range(2001, 3001)]
    found = mahimahi.describe(times)
    assert (found.opportunities, found.duration_s, found.longest_gap_ms, found.most_at_once) == (
        2003,
        3.0,
        1000,
        3,
    )
    assert found.mean_bps == pytest.approx(2003 * 12032 / 3)
    assert (found.min_bps, found.median_bps, found.max_bps) == (3 * 12032, 12.032e6, 12.032e6)
    # Deviations of 1, -2 and 1 times 997/3 from the mean 2003/3: their root mean square is sqrt(2) * 997/3, and their
    # products with the neighbour -2 - 2 of 1 + 4 + 1.
    assert found.variation == pytest.approx(math.sqrt(2) * 997 / 2003)
    assert found.autocorrelation == pytest.approx(-4 / 6)


def test_a_file_of_one_line_is_12_megabits_per_second(tmp_path):
    # The claim mm-01: 1504 bytes per opportunity.
    (tmp_path / "constant").write_text("1\n")
    (row,) = json.loads(call("describe", tmp_path / "constant", "--json").stdout)
    assert row["mean_bps"] == 12.032e6
    assert row["variation"] is None


def test_an_imported_trace_carries_the_bytes_of_its_rates(tmp_path):
    draw = np.random.default_rng(5)
    rates = draw.uniform(0.0, 40.0, 300)
    rates[[10, 50, 51]] = 0.0
    lines = [f"{100 + second},{rate:.6f}" for second, rate in enumerate(rates)]
    (tmp_path / "rates.csv").write_text("\n".join(["time_s,rate_mbps", *lines]) + "\n")
    done = call("import", tmp_path / "rates.csv", "--output", tmp_path / "out")
    assert done.exit_code == 0, done.output
    times = np.array(mahimahi.read_trace(tmp_path / "out"))
    assert abs(times.size * 1504 * 8 - rates.sum() * 1e6) < 1504 * 8
    slots = np.bincount((times - 1) // 1000, minlength=300) * 1504 * 8
    # An opportunity at an edge is counted in full in the second of its last byte.
    assert np.abs(slots - rates * 1e6).max() <= 1504 * 8 + 1
    assert mahimahi.describe(times).longest_gap_ms >= 2000


def test_units_are_stated_by_the_header_or_the_arguments(tmp_path):
    files = {
        "a.csv": ("time_ms,rate_kbps\n0,12032\n1000,12032\n", ()),
        "b.csv": (
            "Timestamp,RSRP,DL_bitrate\n0,-90,12032\n1,-91,12032\n",
            ("--time", "Timestamp:s", "--rate", "DL_bitrate:kbps"),
        ),
        "c.csv": ("time_s,up_MBps\n5,1.504\n6,1.504\n", ("--rate", "up_MBps")),
        # Without a header, columns have numbers.
        "d.csv": ("0,-90,12032\n1000,-91,12032\n", ("--time", "1:ms", "--rate", "3:kbps")),
        "e.log": ("0 1.504\n1 1.504\n", ("--time", "1:s", "--rate", "2:MBps")),
        # The times of day of a phone's log.
        "f.csv": (
            "Timestamp,State,DL_bitrate\n2019.12.14_23.59.59,D,12032\n2019.12.15_00.00.00,D,12032\n",
            ("--time", "Timestamp:%Y.%m.%d_%H.%M.%S", "--rate", "DL_bitrate:kbps"),
        ),
    }
    for name, (text, options) in files.items():
        (tmp_path / name).write_text(text)
        assert call("import", tmp_path / name, "--output", tmp_path / "out", *options).exit_code == 0
        assert mahimahi.read_trace(tmp_path / "out") == tuple(range(1, 2001)), name


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("", (), "line 1"),
        ("time,rate\n0,1\n", (), "time_s"),
        ("time_s,rate_mbps\n", (), "no line of numbers"),
        ("time_s,rate_mbps\n0,x\n", (), "line 2"),
        ("time_s,rate_mbps\n0,-1\n", (), "at least 0"),
        ("time_s,rate_mbps\n1,1\n0,1\n", (), "line 3"),
        ("0,1\n1,1\n", (), "line 1"),
        ('time_s,rate_mbps\n0,"' + "1" * 200_000 + '"\n', (), "line 2"),
        ("time_s;rate_mbps\n0;5,5\n", (), "line 2"),
        ("time_s,rate_mbps\n0,1\n1e300,1\n", (), "in all"),
        ("time_s,rate_mbps\n0,0\n1,0\n", (), "0 bytes in all"),
        ("time_s,rate_mbps\n0,1\n", ("--rate", "rate_mbps:furlongs"), "furlongs"),
        ("time_s,rate_mbps\n0,1e300\n", (), "opportunities"),
        ("0,1\n1,1\n", ("--time", "1:s", "--rate", "3:mbps"), "1, 2 is not accepted"),
        ("at,rate_mbps\n1 pm,1\n", ("--time", "at:%H:%M"), "a time in the format %H:%M in the column at"),
        ("[]", (), "an empty list"),
        ("[1", (), "a list of periods in JSON"),
        ('[{"duration_ms": 0, "bandwidth_kbps": 1}]', (), "period 1: duration_ms: 0 is not accepted"),
        ('[{"duration_ms": 1}]', (), "period 1: bandwidth_kbps: nothing is not accepted"),
        ("[[1, 2]]", (), "period 1: duration_ms: nothing"),
    ],
)
def test_files_that_are_not_as_they_should_be_are_refused(tmp_path, text, options, message):
    (tmp_path / "rates.csv").write_text(text)
    done = call("import", tmp_path / "rates.csv", "--output", tmp_path / "out", *options)
    assert done.exit_code == 2
    assert message in done.output
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("text", "duration_s", "mean_mbps"),
    [
        # The last rate holds as long as the one before it, also if it is none.
        ("time_s,rate_mbps\n0,5\n10,0\n20,0\n", 30.0, 5 / 3),
        ("time_s,rate_mbps\n0,0\n10,5\n20,0\n", 30.0, 5 / 3),
        ("time_s,rate_kbps\n0,5000\n1,10\n2,10\n", 3.0, 5.02 / 3),
        # Since 1970, in milliseconds and in seconds.
        (
            "time_ms,rate_kbps\n1453121790686,3155.8\n1453121791686,3048\n1453121792686,0\n1453121793686,100\n",
            4.0,
            6.3038 / 4,
        ),
        ("time_s,rate_mbps\n1453121790.686,2\n1453121791.686,4\n", 2.0, 3.0),
        # What tables are written with.
        ("\ufefftime_s,rate_mbps\n0,5\n1,5\n", 2.0, 5.0),
        ("time_s\trate_mbps\n0\t5\n1\t5\n", 2.0, 5.0),
        ("time_s;rate_mbps\r\n0;5\r\n1;5\r\n", 2.0, 5.0),
        ("time_s rate_mbps\n\n0 5\n1 5\n", 2.0, 5.0),
        # Prepared traces have no header.
        ("0.0\t4.03\n5.0\t0.5\n10.0\t1.2\n", 15.0, 5.73 / 3),
        ("0.0 4.03\n5.0 0.5\n10.0 1.2\n", 15.0, 5.73 / 3),
        # The periods of Sabre state how long the last one is.
        (
            '[{"duration_ms": 1000, "bandwidth_kbps": 2000, "latency_ms": 20.0},'
            ' {"duration_ms": 3000, "bandwidth_kbps": 0, "latency_ms": 20.0}]',
            4.0,
            0.5,
        ),
        # The last of several lines with a time counts, also at the end.
        ("time_s,rate_mbps\n0,5\n1,5\n1,6\n2,4\n2,7\n", 3.0, 6.0),
    ],
)
def test_a_table_keeps_its_length_and_its_mean(tmp_path, text, duration_s, mean_mbps):
    (tmp_path / "rates").write_text(text, encoding="utf-8")
    done = call("import", tmp_path / "rates", "--output", tmp_path / "out")
    assert done.exit_code == 0, done.output
    found = mahimahi.describe(mahimahi.read_trace(tmp_path / "out"))
    assert found.duration_s == duration_s
    # Within one opportunity.
    assert abs(found.mean_bps - mean_mbps * 1e6) * duration_s <= 1504 * 8


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("time_s,rate_mbps,delay_ms\n10,5,20\n10.5,4,35.5\n", {}),
        ("0 20\n0.5 35.5\n", {}),
        ("0,20000\n500,35500\n", {"time": "1:ms", "delay": "2:us"}),
        (
            '[{"duration_ms": 500, "bandwidth_kbps": 1, "latency_ms": 20},'
            ' {"duration_ms": 1, "bandwidth_kbps": 1, "latency_ms": 35.5}]',
            {},
        ),
    ],
)
def test_a_table_of_delays_becomes_changes_of_a_link(tmp_path, text, options):
    (tmp_path / "delays").write_text(text)
    changes = traffic.delays_from_file(tmp_path / "delays", **options)
    assert [(change.at, change.delay) for change in changes] == [("0 s", "20 ms"), ("500 ms", "35.5 ms")]


def test_a_table_without_delays_is_refused_with_the_names_of_columns(tmp_path):
    (tmp_path / "rates").write_text("time_s,rate_mbps\n0,1\n")
    with pytest.raises(ScenarioError, match="delay_s, delay_ms, delay_us"):
        traffic.delays_from_file(tmp_path / "rates")


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("5\n3\n7\n", 2, ("3", "at least that of the line before, 5")),
        ("5\nx\n", 2, ("x", "whole number")),
        ("5\n-3\n", 2, ("-3", "whole number")),
        ("5\n\n", 2, ("whole number",)),
        ("5\n\0\n", 2, ("whole number",)),
        ("1000000000001\n", 1, ("at most 10^12",)),
        ("18446744073709551616\n", 1, ("at most 10^12",)),
        ("9" * 5000, 1, ("at most 10^12",)),
        ("0\n" * 30, None, ("30 times of 0", "above 0")),
        ("", None, ("no time", "above 0")),
    ],
)
def test_a_faulty_line_of_a_trace_is_named_with_its_file(tmp_path, text, line, words):
    (tmp_path / "good").write_text("1\n")
    (tmp_path / "bad.down").write_text(text)
    done = call("describe", tmp_path / "good", tmp_path / "bad.down")
    assert done.exit_code == 2
    assert f"bad.down{'' if line is None else f', line {line}'}: " in done.stderr
    for word in words:
        assert word in done.stderr


def test_a_long_trace_with_few_lines_is_described_like_a_listed_one():
    # 30 years, and a comparison with all of the seconds of a shorter one.
    assert mahimahi.describe([1, 10**12]).duration_s == 1e9
    times = np.array([1, 1, 5, 1500, 1999, 2000, 2001, 7000, 7001, 9999])
    found = mahimahi.describe(times)
    rates = np.bincount((times - 1) // 1000, minlength=9)[:9] * 12032.0
    off = rates - rates.mean()
    assert (found.min_bps, found.median_bps, found.max_bps) == (0.0, np.median(rates), rates.max())
    assert found.variation == pytest.approx(rates.std() / rates.mean())
    assert found.autocorrelation == pytest.approx(np.sum(off[1:] * off[:-1]) / np.sum(off**2))


@pytest.mark.parametrize(
    "times", [[], [0], [3, 2], [-1, 5], [10**13], [2**64], [10**400], [1.5], ["1"], [[1, 2]]]
)
def test_lists_that_are_no_traces_are_refused(times):
    with pytest.raises(ScenarioError):
        mahimahi.describe(times)
