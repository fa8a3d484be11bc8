"""Wireshark's analysis agrees with ours, packet by packet, on captures of diverse runs of the simulator and of Linux.

`docs/captures.md` states where Wireshark differs. Each difference is computed here from the packets. Without ``tshark``, the
tests say so. All fifty captures are compared if the environment variable ``DUMBBELL_CAPTURES`` is set to ``all``.
"""

from __future__ import annotations

import itertools
import os
import warnings
from pathlib import Path

import pytest

import dumbbell
import tshark
from captured_scenarios import scenario
from dumbbell.errors import ScenarioError, TransportError
from dumbbell.inspection import Captured

ALL = os.environ.get("DUMBBELL_CAPTURES") == "all"
SIMULATED = range(30) if ALL else (2, 4, 7, 11, 15, 31)
LINUX = range(100, 120) if ALL else (103, 109)

needs_tshark = pytest.mark.skipif(
    tshark.is_missing(), reason="SKIPPED: tshark is not installed; the Debian package is `tshark`"
)

WITHOUT_RTT_S = 3e-3
"""Within this time Wireshark takes a segment for out of order, if it knows no round-trip time."""

SOON_S = 20e-3
"""Within this time after the last acknowledgement, two duplicates make a retransmission fast for Wireshark."""


def captured(number: int, folder: Path, *, linux: bool) -> Path:
    """Run a scenario, and return the capture."""
    stated, node = scenario(number, linux=linux)
    place = folder / f"{number}.pcapng"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            dumbbell.run(stated, pcap=place, node=node)
        except (ScenarioError, TransportError) as error:
            if linux and "kernel" in str(error):
                pytest.skip(f"SKIPPED: {error}")
            raise
    return place


def compare(place: Path) -> None:
    packets = tshark.packets_of(place)
    whole = dumbbell.inspect(place)
    assert whole.counts["tcp"] == len(packets)
    for row in whole.rows:
        found = whole.flow(row["connection"])
        ends = {row["from"], row["to"]}
        own = [packet for packet in packets if {packet.source, packet.destination} == ends]
        compare_connection(found, own)


def compare_connection(found: Captured, packets: list[tshark.Packet]) -> None:
    row, sender = found.row, found.row["from"]
    data = [packet for packet in packets if packet.source == sender and packet.length]
    assert sum(packet.length for packet in data) == row["bytes_sent"]
    assert [packet.length for packet in data] == found.segments["bytes"].tolist()
    heard = [packet for packet in packets if packet.source != sender and packet.flags & tshark.ACK]
    assert sum(packet.has_zero_window for packet in heard) == row["zero_windows"]
    assert len(heard) == len(found.acks)
    again = [packet.is_retransmission or packet.is_out_of_order for packet in data]
    assert again == (found.segments["kind"] != "").tolist()
    assert sum(again) == row["segments_retransmitted"] + row["out_of_order"]
    follow(packets, sender, dict(zip(map(id, heard), found.acks["duplicate"].tolist(), strict=True)))


def follow(packets: list[tshark.Packet], sender: str, duplicates: dict[int, bool]) -> None:
    """Hold each difference against the rules of Wireshark, and of RFC 5681."""
    within = next((packet.first_rtt_s for packet in packets if packet.first_rtt_s), WITHOUT_RTT_S)
    highest, highest_at, said, acked, acked_at, repeated = -1, 0.0, -1, -1, 0.0, 0
    for packet in packets:
        if packet.source != sender:
            if not packet.flags & tshark.ACK:
                continue
            ours = duplicates[id(packet)]
            if packet.is_duplicate_ack != ours:
                # Nothing is outstanding, or it is the first acknowledgement of a connection without a handshake.
                assert packet.ack >= highest if packet.is_duplicate_ack else acked < 0, packet
            # Wireshark begins to count again with another number.
            repeated = repeated + packet.is_duplicate_ack if packet.ack == said else 0
            said = packet.ack
            acked, acked_at = max(acked, packet.ack), packet.time_s
            continue
        end = packet.seq + packet.takes
        is_soon = packet.time_s - highest_at < within and end != highest
        if packet.is_out_of_order:
            assert is_soon, packet
        elif packet.is_retransmission and is_soon:
            is_fast = repeated >= 2 and packet.time_s - acked_at < SOON_S
            assert is_fast or end <= acked, packet
        if packet.takes and end > highest:
            highest, highest_at = end, packet.time_s


@needs_tshark
@pytest.mark.parametrize("number", SIMULATED)
def test_packets_of_the_simulator_are_told_as_wireshark_does(number, tmp_path):
    compare(captured(number, tmp_path, linux=False))


@needs_tshark
@pytest.mark.parametrize("number", LINUX)
def test_packets_of_linux_are_told_as_wireshark_does(number, tmp_path):
    compare(captured(number, tmp_path, linux=True))


def has_clocks(number: int) -> bool:
    """Whether all senders have timestamps, and the network copies nothing: such a copy has no clock of its own."""
    stated, _ = scenario(number)
    impairments = [one["kind"] for link in stated["links"] for one in link.get("impairments", [])]
    classic = [flow for flow in stated["flows"] if flow["tcp"].get("rules") == "classic"]
    return "duplicate" not in impairments and all(flow["tcp"].get("timestamps") for flow in classic)


@pytest.mark.parametrize("number", [number for number in SIMULATED if has_clocks(number)])
def test_what_was_overtaken_is_no_retransmission_wherever_it_is_captured(number, tmp_path):
    """The capture at the sender is the truth for that at the receiver."""
    stated, _ = scenario(number)
    found = []
    for node in ("sender", "receiver"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            run = dumbbell.run(stated, pcap=tmp_path / f"{node}.pcapng", node=node)
        found.append(dumbbell.inspect(tmp_path / f"{node}.pcapng"))
    at_sender, at_receiver = found
    counted = ["segments_sent", "segments_retransmitted", "bytes_retransmitted", "timeouts"]
    for name, flow in zip(run.flows["name"], at_sender.rows, strict=True):
        expected = run.flow(name)
        assert {column: flow[column] for column in counted} == {
            column: expected[column] for column in counted
        }
        assert flow["out_of_order"] == 0
    numbers = {row["name"]: row["connection"] for row in at_sender.rows}
    for row in at_receiver.rows:
        truth = at_sender.flow(numbers[row["name"]]).segments
        seen = at_receiver.flow(row["connection"]).segments
        told = seen["offset"][~seen["kind"].isin(["", "out of order"])]
        assert set(told) <= set(truth["offset"][truth["kind"] != ""])


def test_the_scenarios_differ():
    """The draws reach every kind of path and of sender."""
    drawn = [scenario(number)[0] for number in range(30)]
    kinds = {
        one["kind"] for stated in drawn for link in stated["links"] for one in link.get("impairments", [])
    }
    assert kinds == {"bernoulli", "reorder", "duplicate", "gilbert"}
    flows = list(itertools.chain.from_iterable(stated["flows"] for stated in drawn))
    assert len({str(flow["tcp"]) for flow in flows}) > 15
