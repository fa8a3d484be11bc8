"""What captures say about connections, held against the runs that they are of."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import dumbbell
from dumbbell import Flow, Probe, topologies
from dumbbell.cli import app
from dumbbell.errors import ScenarioError
from dumbbell.inspection.reading import columns
from dumbbell.inspection.told import advice, rate, sentence, size, time, warnings_of, warnings_of_capture
from dumbbell.plots.naming import PROBES

ROOT = Path(__file__).parents[2]
SHAPE = topologies.dumbbell(pairs=1, rate="10 Mbit/s", delay="20 ms")


def scenario(duration: str = "5 s", **flow: Any) -> dumbbell.Scenario:
    known = {"name": "fg", "from_": "s1", "to": "d1", "tcp": "cubic"}
    probes = [Probe(flows=["fg"], quantities=["rtt", "seq_sent", "delivery_rate", "flight_size"])]
    return SHAPE.scenario(duration=duration, flows=[Flow(**known | flow)], probes=probes)


@pytest.fixture(scope="module")
def bulk(tmp_path_factory) -> tuple[dumbbell.Run, Path]:
    """A greedy flow that loses packets, and its capture."""
    place = tmp_path_factory.mktemp("captures") / "bulk.pcapng"
    return dumbbell.run(scenario(), pcap=place), place


def captured(place: Path, **flow: Any) -> dumbbell.Captured:
    dumbbell.run(scenario(**flow), pcap=place)
    return dumbbell.inspect(place, flow=1)


def invoke(*arguments: object) -> str:
    result = CliRunner().invoke(app, ["inspect", *map(str, arguments)])
    assert result.exit_code == 0, (result.output, result.exception)
    return result.stdout


# --- the numbers ---


@pytest.mark.parametrize("tcp", ["cubic", "reno", "bbr", {"variant": "sack", "rules": "linux"}], ids=str)
def test_columns_of_a_capture_at_the_sender_are_those_of_the_run(tcp, tmp_path):
    run = dumbbell.run(scenario(tcp=tcp), pcap=tmp_path / "run.pcapng")
    expected, found = run.flow("fg"), dumbbell.inspect(tmp_path / "run.pcapng", flow=1).row
    same = (
        "segments_sent",
        "segments_retransmitted",
        "bytes_retransmitted",
        "timeouts",
        "fast_retransmits",
        "rtt_min_s",
    )
    assert {name: found[name] for name in same} == {name: expected[name] for name in same}
    assert found["captured_at"] == "sender"
    # The last round trip is delivered, and its acknowledgements are not in the capture.
    assert 0 <= expected["bytes_delivered"] - found["bytes_delivered"] < 0.2 * expected["goodput_bps"] / 8


def test_traces_are_those_of_the_probes(bulk):
    run, place = bulk
    found = dumbbell.inspect(place, flow=1)
    sent, probed = found.traces["seq_sent"], run.traces["seq_sent"]
    assert np.array_equal(sent[["time_s", "value"]], probed[["time_s", "value"]])
    # The engine takes what a timestamp echoes, which is an older segment where an acknowledgement reports a hole first.
    without_hole = set(found.acks["time_s"][found.acks["sacked"] == 0])
    for quantity in ("rtt", "delivery_rate"):
        ours = found.traces[quantity].set_index("time_s")["value"]
        probed = run.traces[quantity].set_index("time_s")["value"]
        both = [at for at in ours.index.intersection(probed.index) if at in without_hole]
        assert len(both) > 50, quantity
        assert np.allclose(ours.loc[both], probed.loc[both], rtol=1e-9), quantity


def test_data_in_flight_is_that_of_the_run_after_each_acknowledgement(bulk):
    run, place = bulk
    ours, probed = dumbbell.inspect(place, flow=1).traces["flight_size"], run.traces["flight_size"]
    last = ours.groupby("time_s")["value"].last()
    both = probed[probed["time_s"].isin(last.index)]
    assert len(both) > 100
    assert np.allclose(last.loc[both["time_s"]], both["value"])


def test_names_and_units_of_traces_are_those_of_probes(bulk):
    found = dumbbell.inspect(bulk[1], flow=1)
    probes = {probe["name"] for probe in dumbbell.catalogue()["probes"]}
    assert set(found.traces) - probes == {"retransmissions"}
    assert all(list(trace.columns) == ["time_s", "name", "value"] for trace in found.traces.values())
    assert {PROBES[name] for name in ("flight_size", "receive_window")} == {"segments"}


def test_retransmissions_by_kind_add_up(bulk):
    row = dumbbell.inspect(bulk[1], flow=1).row
    kinds = [row[f"retransmitted_{kind}"] for kind in ("fast", "probe", "timeout", "other")]
    assert sum(kinds) == row["segments_retransmitted"] > 0


def test_phases_follow_each_other_and_have_the_shares_of_the_row(bulk):
    found = dumbbell.inspect(bulk[1], flow=1)
    phases = found.phases
    assert np.allclose(phases["start_s"].to_numpy()[1:], phases["end_s"].to_numpy()[:-1])
    length = (phases["end_s"] - phases["start_s"]).groupby(phases["limit"]).sum()
    assert np.isclose(length["recovery"] / length.sum(), found.row["limited_by_recovery"])


def test_both_ends_and_compression_give_the_same_connection(bulk, tmp_path):
    _, place = bulk
    packed = tmp_path / "packed.gz"
    packed.write_bytes(gzip.compress(place.read_bytes()))
    assert dumbbell.inspect(packed).rows == dumbbell.inspect(place).rows


# --- what limited it ---


@pytest.mark.parametrize(
    ("flow", "limit"),
    [
        ({}, "congestion"),
        ({"tcp": {"congestion": "cubic", "receive_buffer": "20 segments"}}, "receiver"),
        ({"source": {"kind": "transfer", "size": "100 kB"}}, "slow start"),
    ],
    ids=["congestion", "receiver", "slow start"],
)
def test_a_limit_that_is_set_is_found(flow, limit, tmp_path):
    found = captured(tmp_path / "run.pcapng", **flow)
    assert found.row["limited_by"] == limit
    assert found.sentence.startswith("Connection 1 delivered ")


@pytest.mark.parametrize(
    "tcp",
    [
        "cubic",
        "bbr",
        {"congestion": "cubic", "receive_buffer": "20 segments"},
        {"congestion": "reno", "timestamps": False},
    ],
    ids=str,
)
def test_limits_do_not_depend_on_where_a_capture_was_made(tcp, tmp_path):
    rows = []
    for node in ("s1", "d1"):
        dumbbell.run(scenario(tcp=tcp), pcap=tmp_path / f"{node}.pcapng", node=node)
        rows.append(dumbbell.inspect(tmp_path / f"{node}.pcapng", flow=1).row)
    at_sender, at_receiver = rows
    assert [row["captured_at"] for row in rows] == ["sender", "receiver"]
    assert at_sender["limited_by"] == at_receiver["limited_by"]
    for limit in ("application", "receiver", "slow_start", "congestion", "recovery"):
        column = f"limited_by_{limit}"
        # A round trip more or less, and a recovery that the sender begins earlier than its retransmissions arrive.
        assert abs(at_sender[column] - at_receiver[column]) < 0.1, column


def test_a_full_window_is_counted_as_often_as_it_stops_the_sender(tmp_path):
    tcp = {"congestion": "cubic", "receive_buffer": "20 segments"}
    run = dumbbell.run(scenario(tcp=tcp), pcap=tmp_path / "run.pcapng")
    found = dumbbell.inspect(tmp_path / "run.pcapng", flow=1).row
    assert found["receive_window_limited"] == run.flow("fg").receive_window_limited > 100


def test_pauses_are_idle(tmp_path):
    source = {"kind": "onoff", "rate": "5 Mbit/s", "on": "200 ms", "off": "2 s"}
    found = captured(tmp_path / "run.pcapng", source=source, tcp="reno")
    assert found.row["idle"] > 0.3
    assert found.row["idle_for_other_end"] == 0.0
    assert "of its time the sender paused with nothing in flight" in found.sentence


# --- words ---


def test_rates_sizes_and_times_have_three_digits():
    assert [rate(value) for value in (9.5651e6, 1.2e9, 1500.0, 3.0)] == [
        "9.57 Mbit/s",
        "1.2 Gbit/s",
        "1.5 kbit/s",
        "3 bit/s",
    ]
    assert [size(value) for value in (11.9e6, 999, 2.5e9)] == ["11.9 MB", "999 bytes", "2.5 GB"]
    assert [time(value) for value in (0.0405, 12.34, None)] == ["40.5 ms", "12.3 s", "–"]


ROW = {
    "connection": 3, "bytes_delivered": 2e6, "duration_s": 2.0, "goodput_bps": 8e6, "mss_bytes": 1460,
    "largest_segment_bytes": 1460, "segments_sent": 9, "bytes_missing": 0, "window_scale": 7, "captured_twice": 0,
    "captured_at": "sender", "limited_by_application": 0.3, "limited_by_receiver": 0.0, "limited_by_slow_start": 0.05,
    "limited_by_congestion": 0.6, "limited_by_recovery": 0.05, "idle": None, "idle_for_other_end": None,
}  # fmt: skip


def test_the_sentence_names_what_lasted_long_the_longest_first():
    assert sentence(ROW) == (
        "Connection 3 delivered 2 MB in 2 s (8 Mbit/s); for 60 % of its time the congestion control held back, "
        "for 30 % of its time the application had nothing to send."
    )


@pytest.mark.parametrize(
    ("waited", "text", "where"),
    [
        (0.05, "the sender paused with nothing in flight", "look at the program that sends"),
        (0.68, "the sender waited for data of the other end", "look at what the other end does"),
        (0.4, "nothing was in flight", "One end waited for the other"),
    ],
)
def test_pauses_are_those_of_the_end_that_ended_them(waited, text, where):
    row = ROW | {"idle": 0.7, "idle_for_other_end": waited}
    assert f"for 70 % of its time {text}" in sentence(row)
    assert where in advice(row)


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        ({"largest_segment_bytes": 40_000}, "offloading"),
        ({"bytes_missing": 5000}, "5 kB were acknowledged and are not in the capture"),
        ({"segments_sent": 0}, "Only acknowledgements were captured"),
        ({"bytes_delivered": 0}, "No acknowledgement of data was captured"),
        ({"window_scale": None}, "begins after the handshake"),
        ({"captured_twice": 7}, "7 segments were captured twice"),
        ({"captured_at": "receiver"}, "not captured at the sender"),
        ({"captured_at": "between"}, "not captured at the sender"),
    ],
)
def test_what_a_capture_cannot_tell_is_said(changed, text):
    assert warnings_of(ROW) == []
    [warning] = warnings_of(ROW | changed)
    assert text in warning


def test_what_could_not_be_read_is_said():
    counts = {"packets": 9, "damaged": 2, "cut_tail": 1, "omitted": 0}
    assert warnings_of_capture(counts, "packet 4: its interface is not declared") == [
        "2 packets could not be read: packet 4: its interface is not declared.",
        "1 packet at the end is cut.",
    ]


# --- refusals ---


def test_a_connection_that_is_not_there_is_refused(bulk):
    with pytest.raises(
        ScenarioError, match=r"flow: 2 is not accepted; expected a connection of .*, from 1 to 1"
    ):
        dumbbell.inspect(bulk[1], flow=2)
    with pytest.raises(ScenarioError, match="flow"):
        dumbbell.inspect(bulk[1], flow=0)


def test_what_is_no_capture_is_refused(tmp_path):
    (tmp_path / "text").write_text("no capture", encoding="utf-8")
    with pytest.raises(OSError, match="is not a capture: pcap and pcapng are read"):
        dumbbell.inspect(tmp_path / "text")
    with pytest.raises(OSError, match="is a folder; accepted: a file"):
        dumbbell.inspect(tmp_path)
    with pytest.raises(FileNotFoundError):
        dumbbell.inspect(tmp_path / "missing")


@pytest.mark.parametrize("command", [["inspect", "--parquet"], ["inspect", "--output"], ["fit", "--output"]])
def test_what_cannot_be_read_leaves_no_folder_behind(tmp_path, command):
    (tmp_path / "text").write_text("no capture", encoding="utf-8")
    name, option = command
    (tmp_path / "outer").mkdir()
    result = CliRunner().invoke(
        app, [name, str(tmp_path / "text"), option, str(tmp_path / "outer" / "inner" / "results")]
    )
    assert result.exit_code != 0
    assert list((tmp_path / "outer").iterdir()) == []


def test_a_capture_is_no_side_of_a_comparison(bulk):
    with pytest.raises(
        ScenarioError, match=r"is a capture, which is of no scenario; .* is compared with another one"
    ):
        dumbbell.compare(bulk[1], scenario(), progress=False)


def test_a_cut_capture_is_read_to_its_end(bulk, tmp_path):
    whole = bulk[1].read_bytes()
    (tmp_path / "cut").write_bytes(whole[: len(whole) // 2])
    found = dumbbell.inspect(tmp_path / "cut")
    assert (len(found), found.counts["cut_tail"], found.warnings) == (1, 1, ["1 packet at the end is cut."])
    assert 0 < found.rows[0]["segments_sent"] < dumbbell.inspect(bulk[1]).rows[0]["segments_sent"]


def test_a_capture_without_tcp_has_no_connection(tmp_path):
    place = tmp_path / "udp.pcapng"
    stated = SHAPE.scenario(
        duration="1 s", flows=[Flow(name="u", from_="s1", to="d1", source={"kind": "cbr"})]
    )
    dumbbell.run(stated, pcap=place)
    found = dumbbell.inspect(place)
    assert (len(found), found.largest, found.sentence) == (0, None, "There is no TCP connection.")
    assert found.counts["udp"] == found.counts["packets"] > 0
    assert "There is no TCP connection." in invoke(
        place, "--output", tmp_path / "page.html", "--plot", tmp_path / "p.svg"
    )
    assert "There is no TCP connection." in (tmp_path / "page.html").read_text("utf-8")


# --- files, pictures and the command ---


def test_the_command_lists_connections_and_shows_one(bulk):
    _, place = bulk
    listed, shown = invoke(place), invoke(place, "--flow", 1)
    assert "10.0.0.3:33001 > 10.0.0.4:50001" in listed
    assert "More about it: --flow 1" in listed
    for text in ("handshake", "MSS 1448, SACK yes", "fast recoveries", "limited by", "at the sender"):
        assert text in shown
    sentence = dumbbell.inspect(place).sentence
    assert sentence in listed
    assert sentence in shown
    assert max(len(line) for line in listed.splitlines() if line.startswith(" ")) <= 100


def test_json_is_what_python_returns(bulk):
    _, place = bulk
    assert json.loads(invoke(place, "--json")) == json.loads(json.dumps(dumbbell.inspect(place).to_dict()))
    assert json.loads(invoke(place, "--flow", 1, "--json")) == dumbbell.inspect(place, flow=1).to_dict()


def test_tables_are_written_and_read_again(bulk, tmp_path):
    import pandas as pd

    _, place = bulk
    invoke(place, "--parquet", tmp_path / "all", "--csv", tmp_path / "csv")
    found = dumbbell.inspect(place)
    assert pd.read_parquet(tmp_path / "all" / "connections.parquet").equals(found.connections)
    assert list(pd.read_csv(tmp_path / "csv" / "directions.csv").columns) == [name for name, *_ in columns()]
    invoke(place, "--flow", 1, "--parquet", tmp_path / "one")
    names = {path.stem for path in (tmp_path / "one").iterdir()}
    assert names == {"flows", "phases", "segments", "acks", *found.flow(1).traces}
    assert len(pd.read_parquet(tmp_path / "one" / "segments.parquet")) == found.rows[0]["segments_sent"]


def test_a_page_has_the_connection_its_curves_and_its_phases(bulk, tmp_path):
    _, place = bulk
    invoke(place, "--output", tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    for part in ("What limited it", "<svg", "Phases", "Connections", "retransmitted"):
        assert part in text
    assert not re.search(r'(src|href)="https?:', text)
    invoke(place, "--flow", 1, "--output", tmp_path / "folder")
    data = json.loads((tmp_path / "folder" / "inspection.json").read_text("utf-8"))
    assert data["connection"]["connection"] == 1
    assert (tmp_path / "folder" / "index.html").exists()


def test_panels_are_those_of_the_connection(bulk, tmp_path):
    found = dumbbell.inspect(bulk[1], flow=1)
    assert [panel.title for panel in found.plot().panels] == [
        "data in flight", "round-trip time", "goodput", "retransmissions",
    ]  # fmt: skip
    [panel] = found.plot("rtt").panels
    assert np.array_equal(panel.series["rtt"][1], found.traces["rtt"]["value"])
    # A window that never limits is not drawn, one that does is.
    assert list(found.plot().panels[0].series) == ["in flight"]
    limited = captured(tmp_path / "run.pcapng", tcp={"congestion": "cubic", "receive_buffer": "20 segments"})
    assert list(limited.plot().panels[0].series) == ["in flight", "receive window"]
    with pytest.raises(ScenarioError, match="quantity"):
        found.plot("cwnd")
    with pytest.raises(ScenarioError, match=r"plot\(\)\.save"):
        found.plot("p.png")
    assert found._repr_html_().startswith("<p>Connection 1")


def test_the_goodput_that_is_drawn_is_what_was_delivered(bulk):
    found = dumbbell.inspect(bulk[1], flow=1)
    _, goodput = found.plot().panels[2].series["goodput"]
    assert np.mean(goodput) == pytest.approx(found.row["goodput_bps"] / 1e6, rel=0.05)
    assert np.max(goodput) < 10.0


def test_progress_reaches_the_size_of_the_file(bulk):
    seen: list[tuple[int, int | None]] = []
    dumbbell.inspect(bulk[1], progress=lambda *reached: seen.append(reached))
    size = bulk[1].stat().st_size
    assert seen[-1] == (size, size)


def test_the_columns_are_documented():
    rows = "\n".join(f"| `{name}` | {unit} | {meaning} |" for name, unit, meaning in columns())
    assert rows in (ROOT / "docs" / "captures.md").read_text(encoding="utf-8")
