"""Flows alone: theory worked by hand, a result traced to its rule, and the report."""

import json

import pytest

from command_line import invoke, refused
from dumbbell import bench
from dumbbell.bench import alone
from dumbbell.bench.alone_cases import BUFFERS_BDP, Setting, sawtooth, tahoe

SMALL = Setting(rate_mbps=1, rtt_ms=100, buffer_bdp=0.3)
LARGE = Setting(rate_mbps=1, rtt_ms=200, buffer_bdp=1.5)


def senders(*names):
    """Return the TCPs with these environments and variants."""
    return [one for one in alone.senders() if (one.rules, one.variant) in names]


def test_a_sawtooth_sends_whole_windows_in_rounds_of_the_path_or_the_queue():
    # A path of 3 packets and the one in service, and a queue of 2 hold 6. The seventh is lost: rounds of 3 (the recovery),
    # 3, 4, 5, 6 and 7 packets take 4, 4, 4, 5, 6 and 7 packet times.
    assert sawtooth(3.0, 2) == pytest.approx(28 / 30)
    # An acknowledgement for every second segment: 5, 5, 5, 5, 6 and 7.
    assert sawtooth(3.0, 2, acks_every=2) == pytest.approx(28 / 33)
    assert sawtooth(100.0, 110) == 1.0


def test_tahoe_has_a_slow_start_and_two_if_the_buffer_is_small():
    # Before the rounds of Reno, what was sent again, and windows of 1 and 2: 3 rounds of 4 packet times.
    assert tahoe(3.0, 2) == pytest.approx(31 / 42)
    # The slow start towards 67 overflows a buffer of 32 when it grows from 64 less than by half, but not from 32.
    assert tahoe(100.0, 32) < tahoe(100.0, 33)


def test_what_is_below_the_reference_is_traced_to_the_rule_without_which_it_is_not(monkeypatch):
    (sender,) = senders(("rfc", "ledbatpp"))
    measured = alone.measure(sender, [LARGE])
    (result,) = alone.traced(measured)
    assert result.is_below
    assert result.rule.startswith("Slowdowns")
    assert result.without > result.reference - alone.TOLERANCE
    # Other rules explain nothing.
    monkeypatch.setattr(alone, "RULES", [one for one in alone.RULES if one.name != result.rule])
    (other,) = alone.traced(measured)
    assert (other.is_below, other.rule) == (True, "")


def test_every_path_has_every_buffer_and_a_trial_some_of_each():
    full, quick = alone.settings(), alone.settings(quick=True)
    assert len(full) >= 200
    assert set(quick) < set(full)
    assert {one.buffer_bdp for one in quick} == set(BUFFERS_BDP)


def test_every_variant_of_every_environment_is_run_and_reported(tmp_path, monkeypatch):
    chosen = senders(("classic", "newreno"), ("classic", "tahoe"), ("rfc", "ledbatpp"), ("ns2", "bic"))
    monkeypatch.setattr(alone, "senders", lambda: chosen)
    monkeypatch.setattr(alone, "settings", lambda **_: [SMALL, LARGE])
    done = bench.bench_alone(output=tmp_path, quiet=True)
    assert len(done.data["results"]) == 8
    assert [one.holds for one in done.criteria] == [True]
    html = done.report.read_text(encoding="utf-8")
    for text in ("ledbatpp", "Slowdowns", "1 Mbit/s, 200 ms, 1.5 BDP", "Method"):
        assert text in html, text
    assert json.loads(done.results.read_text(encoding="utf-8")) == json.loads(json.dumps(done.data))


def test_it_is_a_command_for_chosen_environments(tmp_path, monkeypatch):
    chosen = senders(("classic", "newreno"), ("ns2", "bic"))
    monkeypatch.setattr(alone, "senders", lambda: chosen)
    monkeypatch.setattr(alone, "settings", lambda **_: [SMALL])
    result = invoke("bench", "alone", "--rules", "ns2", "--json", "--output", tmp_path)
    assert result.exit_code == 0, result.output
    assert {one["rules"] for one in json.loads(result.stdout)["results"]} == {"ns2"}


def test_an_unknown_environment_is_refused(tmp_path):
    error = refused("bench", "alone", "--rules", "ns4", "--output", tmp_path)
    assert "one of classic, bsd, ns2" in error
