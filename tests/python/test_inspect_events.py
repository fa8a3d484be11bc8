"""What a capture shows around a time, and two captures beside each other."""

from __future__ import annotations

import gzip
import json

import pytest
from typer.testing import CliRunner

import dumbbell
from dumbbell import Flow, Probe, topologies
from dumbbell.cli import app
from dumbbell.errors import ScenarioError
from dumbbell.inspection.events import _Entry, _joined
from dumbbell.inspection.recognized import is_capture
from dumbbell.why import Line

SHAPE = topologies.dumbbell(pairs=1, rate="10 Mbit/s", delay="20 ms")


def made(place, tcp="reno", duration="5 s"):
    probes = [Probe(flows=["fg"], quantities=["tcp_events"])]
    flows = [Flow(name="fg", from_="s1", to="d1", tcp=tcp)]
    run = dumbbell.run(SHAPE.scenario(duration=duration, flows=flows, probes=probes), pcap=place)
    return run, dumbbell.inspect(place, flow=1)


@pytest.fixture(scope="module")
def bulk(tmp_path_factory):
    return made(tmp_path_factory.mktemp("events") / "bulk.pcapng")


@pytest.fixture(scope="module")
def other(tmp_path_factory):
    return made(tmp_path_factory.mktemp("events") / "other.pcapng", "cubic")[1]


def invoke(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_every_segment_and_acknowledgement_is_in_an_entry(bulk):
    _, found = bulk
    kinds = [line.kind for line in found.why().lines]
    assert kinds.count("retransmission") == found.row["segments_retransmitted"] > 0
    assert kinds.count("duplicate ACK") == found.row["duplicate_acks"] > 0
    assert kinds.count("ACK") + kinds.count("duplicate ACK") == len(found.acks)
    assert kinds.count("phase") == len(found.phases)
    sent = [line.text for line in found.why().lines if line.kind == "sent"]
    new = sum(int(text.split()[0]) for text in sent)
    assert new == found.row["segments_sent"] - found.row["segments_retransmitted"]


def test_entries_are_in_order_and_within_the_part(bulk):
    _, found = bulk
    part = found.why(at="2 s", window="100 ms")
    times = [line.time_s for line in part.lines]
    assert times == sorted(times)
    assert part.window_s == (1.95, 2.05)
    assert 1.95 <= times[0] <= times[-1] <= 2.05


def test_a_retransmission_says_why_as_the_sender_knew(bulk):
    run, found = bulk
    told = {line.text.split(",")[0] for line in found.why().lines if line.kind == "retransmission"}
    assert told == {"fast retransmission"}
    assert "timeout" not in set(run.traces["tcp_events"]["name"])


def test_data_behind_a_gap_is_another_entry():
    sent = [
        _Entry(Line(time, "sent", ""), (1, first, first + 10))
        for time, first in ((1.0, 0), (2.0, 10), (3.0, 40))
    ]
    assert [line.text for line in _joined(sent)] == ["2 segments, bytes 0–20, until 2.000000 s", ""]


def test_a_time_after_the_end_is_refused(bulk):
    with pytest.raises(ScenarioError, match=r"at: .* a time within the connection, which ends after"):
        bulk[1].why(at="9 s")


def test_two_connections_are_compared_column_by_column(bulk, other):
    _, found = bulk
    rows = found.compare(other).table.set_index("quantity")
    for name in ("goodput_bps", "segments_retransmitted", "rtt_mean_s"):
        a, b = found.row[name], other.row[name]
        assert (rows.a[name], rows.b[name], rows.difference[name]) == (a, b, b - a)
    assert "zero_windows" not in rows.index
    assert found.compare(found).table.difference.abs().max() == 0.0


def test_curves_of_both_begin_with_their_first_data(bulk, other):
    picture = bulk[1].compare(other).picture
    assert [panel.title for panel in picture.panels] == [
        "data in flight", "round-trip time", "goodput", "retransmissions",
    ]  # fmt: skip
    for panel in picture.panels:
        assert list(panel.series) == ["A", "B"]
        assert panel.dashed == {"B"}
    assert picture.panels[0].series["A"][0][0] == 0.0


def test_a_connection_is_compared_with_a_connection_only(bulk):
    with pytest.raises(ScenarioError, match=r"other: str is not accepted; expected a connection"):
        bulk[1].compare("bulk.pcapng")


def test_the_commands_take_captures(bulk, other, tmp_path):
    path = bulk[1].path
    shown = invoke("why", path, "--flow", 1, "--at", "2 s", "--json")
    assert json.loads(shown.stdout) == json.loads(json.dumps(bulk[1].why(at="2 s").to_dict()))
    assert "ACK" in invoke("why", path, "--flow", 1, "--at", "2 s").stdout
    compared = invoke("compare", path, other.path, "--json", "--output", tmp_path / "page")
    assert json.loads(compared.stdout) == bulk[1].compare(other).to_dict()
    assert json.loads((tmp_path / "page" / "comparison.json").read_text("utf-8"))
    assert "What limited them" in (tmp_path / "page" / "index.html").read_text("utf-8")
    assert "One connection each" in invoke("compare", path, other.path, "--flow", "1,1").stdout


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        (["why", "A", "--flow", "fg"], "--flow"),
        (["why", "A", "--flow", "1", "--run", "2"], "--run"),
        (["why", "A", "--flow", "1", "--set", "duration=3 s"], "--set"),
        (["why", "A", "--flow", "1", "--html", "page.html"], "--html"),
        (["compare", "A", "A", "--runs", "3"], "--runs"),
        (["compare", "A", "A", "--with", "duration=3 s"], "--with"),
        (["compare", "A", "A", "--percentiles"], "--percentiles"),
        (["compare", "A", "A", "--flow", "1,1,1"], "--flow"),
        (["compare", "S", "S", "--flow", "1"], "--flow"),
    ],
)
def test_options_that_would_have_no_effect_are_refused(bulk, arguments, field, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "scenario.toml").write_text(bulk[0].scenario.to_toml(), "utf-8")
    files = {"A": str(bulk[1].path), "S": "scenario.toml"}
    result = invoke(*[files.get(argument, argument) for argument in arguments])
    assert result.exit_code == 2
    assert f"{field}: " in result.stderr


def test_captures_are_recognized_by_how_they_begin(bulk, tmp_path):
    whole = bulk[1].path.read_bytes()
    (tmp_path / "packed").write_bytes(gzip.compress(whole))
    (tmp_path / "scenario.toml").write_text("name = 'x'", "utf-8")
    assert is_capture(bulk[1].path)
    assert is_capture(tmp_path / "packed")
    assert not is_capture(tmp_path / "scenario.toml")
    assert not is_capture(tmp_path)
    assert not is_capture(tmp_path / "missing")
