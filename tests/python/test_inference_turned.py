"""A capture at the receiver tells of the path what one at the sender tells."""

from __future__ import annotations

import numpy as np
import pytest

import dumbbell
from dumbbell import Scenario, ScenarioError
from dumbbell.inference import fit
from dumbbell.inference.estimate import estimate
from dumbbell.inference.reading import read

TICK = 0.001


def made(folder, *, tcp=None, limit=30, duration="6 s"):
    """Return captures of one flow at its sender and at its receiver, over 10 Mbit/s and 40 ms."""
    links = [
        {"name": "there", "from": "a", "to": "b", "rate": "10 Mbit/s", "delay": "20 ms",
         "queue": {"kind": "droptail", "limit": f"{limit} packets"}},
        {"name": "back", "from": "b", "to": "a", "rate": "10 Gbit/s", "delay": "20 ms"},
    ]  # fmt: skip
    flow = {"name": "flow", "from": "a", "to": "b", "tcp": {"congestion": "cubic", **(tcp or {})}}
    flow["source"] = {"kind": "greedy"}
    scenario = Scenario.of(
        {"duration": duration, "rules": "linux", "nodes": ["a", "b"], "links": links, "flows": [flow]}
    )
    places = {node: folder / f"{node}.pcapng" for node in ("a", "b")}
    for node, place in places.items():
        dumbbell.run(scenario, pcap=place, node=node)
    return places["a"], places["b"]


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    return made(tmp_path_factory.mktemp("turned"))


def errors(both):
    """Return how far the time of each transmission is from that of the first one of its bytes at the sender, s."""
    sender, receiver = (read(path) for path in both)
    first = dict(zip(sender.sent_offset[::-1], sender.sent_s[::-1], strict=True))
    return receiver.sent_s - np.array([first[offset] for offset in receiver.sent_offset])


def test_rate_round_trip_time_and_buffer_are_those_of_a_capture_at_the_sender(both):
    sender, receiver = (estimate(read(path)) for path in both)
    assert receiver.rate_bps == pytest.approx(sender.rate_bps, rel=1e-3)
    assert receiver.base_rtt_s == pytest.approx(sender.base_rtt_s, abs=0.1 * TICK)
    assert abs(receiver.buffer_packets - sender.buffer_packets) <= 1
    assert receiver.has_overflowed


def test_what_never_arrived_was_sent_before_the_data_after_it(both):
    sender, receiver = (read(path) for path in both)
    assert np.count_nonzero(receiver.is_lost) == np.count_nonzero(sender.is_lost) > 0
    lost = [set(seen.sent_offset[seen.is_lost]) for seen in (sender, receiver)]
    assert lost[0] == lost[1]
    # The data after it left up to 2.4 ms later, with the next acknowledgement.
    assert np.abs(errors(both)[receiver.is_lost]).max() < 4 * TICK


def test_segments_leave_within_a_tick_of_their_time(both):
    receiver = read(both[1])
    # Both count from their own first segment, which is known up to a tick, too.
    assert np.abs(errors(both)[~receiver.is_repeated & ~receiver.is_lost]).max() <= 2 * TICK


def test_a_fit_names_the_algorithm_and_is_laid_over_a_capture_at_the_receiver(both):
    found = fit(both[1], controls=["cubic", "reno", "bbr"], progress=False)
    assert found.control == "cubic"
    assert any(text.startswith("captured at the receiver") for text in found.flags)
    assert found.intervals["buffer_packets"].value == pytest.approx(30, abs=1)
    panel = next(one for one in found.plot().panels if one.title == "goodput")
    assert np.allclose(panel.series["capture"][1], panel.series["simulation"][1], rtol=0.05)


def test_a_capture_at_the_receiver_needs_timestamps(tmp_path):
    _, receiver = made(tmp_path, tcp={"timestamps": False}, duration="2 s")
    with pytest.raises(
        ScenarioError, match=r"capture: \"receiver\" is not accepted; expected .* with timestamps"
    ):
        read(receiver)
