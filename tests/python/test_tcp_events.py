"""Episodes extracted from the event trace of a connection."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import dumbbell
from dumbbell import Flow, Forced, Probe, Scenario, ScenarioError, Transfer, topologies
from dumbbell.cli import app
from dumbbell.tcp_events import (
    in_first_slow_start,
    losses_before_timeouts,
    mean_by_flow,
    new_data_waits,
    sum_by_flow,
    window_kept,
)

COLUMNS = {
    "time_s": "double",
    "name": "large_string",
    "connection": "uint64",
    "kind": "large_string",
    "seq": "uint64",
    "snd_una": "uint64",
    "snd_max": "uint64",
    "cwnd_before_bytes": "double",
    "cwnd_bytes": "double",
    "rtt_mean_s": "double",
}


def scenario(*lost: int, quantities: tuple[str, ...] = ("tcp_events",), **changes: Any) -> Scenario:
    """Return a transfer of 40 segments over 200 ms, with a window of at most eight."""
    shape = topologies.dumbbell(
        pairs=1,
        rate="1 Mbit/s",
        delay="96 ms",
        access_rate="10 Gbit/s",
        access_delay="0 s",
        impairments=[Forced(packets=list(lost))],
    )
    tcp = {
        "variant": "reno",
        "mss": "960 bytes",
        "headers": {"data": "40 bytes", "ack": "1 bytes"},
        "initial_window": "1 segment",
        "initial_ssthresh": "4 segments",
        "receive_buffer": "8 segments",
        "handshake": False,
        "delayed_ack": "off",
        "limited_transmit": False,
    }
    return shape.scenario(
        rules="classic",
        duration="60 s",
        flows=[Flow(name="fg", from_="s1", to="d1", tcp=tcp, source=Transfer(size="38400 bytes"))],
        probes=[Probe(flows=["fg"], quantities=list(quantities), **changes)],
    )


def table(*rows: tuple[Any, ...]) -> pd.DataFrame:
    """Return events: time, connection, kind, seq, snd_una, snd_max, window before and after, mean round-trip time."""
    columns = [name for name in COLUMNS if name != "name"]
    frame = pd.DataFrame([dict(zip(columns, row, strict=True)) for row in rows], columns=columns)
    return frame.assign(name="fg")


NONE = np.nan


def test_the_columns_are_typed_and_documented() -> None:
    result = dumbbell.run(scenario(12))
    schema = result.arrow_traces["tcp_events"].schema
    assert {name: str(schema.field(name).type) for name in schema.names} == COLUMNS
    many = dumbbell.run_many([dumbbell.Job(scenario(12))], progress=False)
    assert many.arrow_traces["tcp_events"].schema.names == ["job", *COLUMNS]
    assert [column.name for column in dumbbell.results.COLUMNS["tcp_events"]] == ["job", *COLUMNS]


def test_the_catalogue_describes_every_kind() -> None:
    kinds = {entry["name"]: entry["summary"] for entry in dumbbell.catalogue()["tcp_events"]}
    assert set(dumbbell.run(scenario(12)).traces["tcp_events"]["kind"]) <= kinds.keys()
    assert all(kinds.values())


def test_one_recovery_row_by_row() -> None:
    result = dumbbell.run(scenario(12))
    events = result.traces["tcp_events"]
    assert events["kind"].tolist() == [
        "slow_start_exit",
        "loss",
        "fast_retransmit",
        "recovery_enter",
        "new_data",
        "recovery_exit",
    ]
    assert np.floor(events["time_s"] * 1e3).tolist() == [408, 800, 1024, 1024, 1032, 1224]
    # Two and a half segments are left of 5.69; the fourth duplicate ACK comes 8 ms after the third.
    kept, waits = window_kept(events), new_data_waits(events)
    assert kept.index.tolist() == [5]
    assert waits.index.tolist() == [4]
    assert kept.iloc[0] == pytest.approx(2.5 / 5.6886, rel=1e-4)
    assert waits.iloc[0] == pytest.approx(0.008 / events["rtt_mean_s"][2], rel=1e-6)
    # The loss came after the exit, of a segment sent after it.
    assert in_first_slow_start(events).tolist() == [False]
    assert mean_by_flow(events, kept, result.flows) == pytest.approx([kept.iloc[0]])


def test_a_timeout_after_six_losses() -> None:
    result = dumbbell.run(scenario(*range(20, 26)))
    events = result.traces["tcp_events"]
    assert losses_before_timeouts(events).tolist() == [6]
    assert window_kept(events).empty
    assert new_data_waits(events).empty
    assert np.isnan(mean_by_flow(events, window_kept(events), result.flows)).all()


def test_losses_belong_to_the_timeout_that_follows() -> None:
    events = table(
        (1.0, 1, "loss", 1000, NONE, NONE, NONE, NONE, NONE),
        (1.0, 2, "loss", 7000, NONE, NONE, NONE, NONE, NONE),
        # Lost and repaired before the timeout.
        (1.1, 1, "loss", 0, NONE, NONE, NONE, NONE, NONE),
        (1.2, 1, "loss", 2000, NONE, NONE, NONE, NONE, NONE),
        # A segment that is lost twice counts once.
        (1.3, 1, "loss", 2000, NONE, NONE, NONE, NONE, NONE),
        (2.0, 1, "timeout", NONE, 1000, 5000, 4000.0, 1000.0, 0.1),
        # The retransmission leaves, and is lost, at the same time.
        (2.0, 1, "loss", 1000, NONE, NONE, NONE, NONE, NONE),
        (4.0, 1, "timeout", NONE, 1000, 5000, 1000.0, 1000.0, 0.1),
        (9.0, 1, "timeout", NONE, 1000, 5000, 1000.0, 1000.0, 0.1),
        # An event of an earlier connection.
        (9.5, NONE, "loss", 3000, NONE, NONE, NONE, NONE, NONE),
    )
    assert losses_before_timeouts(events).to_dict() == {5: 2, 7: 1, 8: 0}


def test_the_first_slow_start_ends_with_the_first_exit_or_timeout() -> None:
    events = table(
        # A SYN is retransmitted.
        (1.0, 1, "timeout", NONE, 0, 0, 1000.0, 1000.0, NONE),
        (2.0, 1, "loss", 3000, NONE, NONE, NONE, NONE, NONE),
        (2.5, 1, "slow_start_exit", NONE, 2000, 6000, 4000.0, 4000.0, 0.1),
        (2.6, 1, "loss", 6000, NONE, NONE, NONE, NONE, NONE),
        (3.0, 1, "timeout", NONE, 3000, 7000, 4000.0, 1000.0, 0.1),
        (4.0, 1, "slow_start_exit", NONE, 5000, 9000, 4000.0, 4000.0, 0.1),
        (5.0, 1, "timeout", NONE, 6000, 9000, 4000.0, 1000.0, 0.1),
        # The slow start of another connection continues.
        (5.0, 2, "loss", 90000, NONE, NONE, NONE, NONE, NONE),
    )
    assert in_first_slow_start(events).to_dict() == {1: True, 3: False, 4: True, 6: False, 7: True}


def test_a_recovery_counts_once_it_is_complete_and_began_with_a_fast_retransmission() -> None:
    begun = ("fast_retransmit", NONE, 0, 9000, 8000.0, 4000.0, 0.1)
    entered = ("recovery_enter", NONE, 0, 9000, 4000.0, 4000.0, 0.1)
    left = ("recovery_exit", NONE, 0, 9000, 4000.0, 5000.0, 0.1)
    events = table(
        (1.0, 1, *begun),
        (1.0, 1, *entered),
        # Again within the recovery.
        (1.1, 1, "fast_retransmit", NONE, 0, 9000, 6000.0, 6000.0, 0.1),
        (1.2, 1, *left),
        # A late segment begins one without a fast retransmission.
        (1.2, 1, *entered),
        (1.3, 1, *left),
        # A timeout ends one.
        (2.0, 1, *begun),
        (2.0, 1, *entered),
        (3.0, 1, "timeout", NONE, 0, 9000, 4000.0, 1000.0, 0.1),
        (4.0, 1, *entered),
        (5.0, 1, *left),
    )
    assert window_kept(events).to_dict() == {3: 5000 / 8000}


def test_rows_of_flows_are_added_up_by_flow_and_job() -> None:
    runs = dumbbell.run_many(
        [dumbbell.Job(scenario(*lost)) for lost in ((), (12,), range(20, 26))], progress=False
    )
    events = runs.traces["tcp_events"]
    lost = losses_before_timeouts(events)
    assert sum_by_flow(events, lost, runs.flows).tolist() == [0.0, 0.0, 6.0]
    kept = mean_by_flow(events, window_kept(events), runs.flows)
    assert np.isnan(kept).tolist() == [True, False, True]
    # Other flows are omitted.
    assert sum_by_flow(events, lost, runs.flows.iloc[:2]).tolist() == [0.0, 0.0]


def test_a_period_is_refused() -> None:
    with pytest.raises(ScenarioError, match=r"probes\.0\.period: 1 s is not accepted; expected no period"):
        scenario(quantities=("cwnd", "tcp_events"), period="1 s")


def test_events_are_written_as_a_table_without_a_plot(tmp_path: Any) -> None:
    file = tmp_path / "scenario.json"
    file.write_text(scenario(12, quantities=("cwnd", "tcp_events")).canonical_json)
    result = CliRunner().invoke(app, ["run", str(file), "--trace", str(tmp_path / "traces")])
    assert result.exit_code == 0, result.output
    written = {path.name for path in (tmp_path / "traces").iterdir()}
    assert written == {"cwnd.parquet", "cwnd.png", "tcp_events.parquet"}
    assert pq.read_table(tmp_path / "traces" / "tcp_events.parquet").num_rows == 6
