"""The driver of ns-2: its scripts, its errors, and the agreement of the two simulators segment by segment."""

import dataclasses
import os
import stat

import numpy as np
import pytest

import dumbbell
from dumbbell import DropTail, Flow, Probe, ScenarioError, Transfer, crossvalidation, topologies
from dumbbell.scenario import Bernoulli, Cbr, Forced, LinkChange, Poisson, Tcp, Tcplib, TwoState
from small_peer import numbered_flow, ready

PEER = crossvalidation.load_peer("ns2")

MSS = 1024
# A packet of 1064 bytes takes 2^-9 s, so that equal times stay equal in floating point.
RATE = 8 * (MSS + 40) * 2**9
SERVICE_S = 2.0**-9


@pytest.fixture(scope="session")
def ns2():
    """The peer; without it the tests that run it are skipped."""
    return ready(PEER)


def network(limit="20 packets", pairs=1, **more):
    shape = topologies.dumbbell(
        pairs=pairs,
        rate=f"{RATE} bit/s",
        delay="20.123 ms",
        queue=DropTail(limit=limit),
        access_rate=f"{8 * RATE} bit/s",
        **more,
    )
    nodes = [dataclasses.replace(node, tick_phase="3.1 ms") for node in shape.nodes]
    return dataclasses.replace(shape, nodes=tuple(nodes))


def flow(variant="newreno", *, number=1, source=None, start="0 s", stop=None, **changes):
    table = Tcp.from_dict(PEER.tcp(variant, **{"mss": f"{MSS} bytes"} | changes))
    return numbered_flow(number, source=source, start=start, stop=stop, tcp=table)


def scenario(*flows, shape=None, duration="20 s", **more):
    return (shape or network()).scenario(
        rules="classic", duration=duration, flows=list(flows) or [flow()], **more
    )


def commands(asked, first):
    return [line.split() for line in PEER.script(asked).splitlines() if line.split()[:1] == [first]]


def sent(run):
    trace = run.traces["seq_sent"]
    return (trace["value"] / MSS).astype(int).tolist(), trace["time_s"].to_numpy()


def sent_alike(ns2, asked):
    """Return the runs of both sides, which have sent the same segments at the same times."""
    ours, theirs = dumbbell.run(asked), ns2.run(asked)
    (numbers, times), (peers_numbers, peers_times) = sent(ours), sent(theirs)
    assert numbers == peers_numbers
    assert np.abs(times - peers_times).max() < 0.1 * SERVICE_S
    return ours, theirs


# Scripts


def test_every_variant_has_a_table_that_both_sides_accept():
    assert set(PEER.variants) == {"tahoe", "reno", "newreno", "sack", "vegas"}
    for variant in PEER.variants:
        assert commands(scenario(flow(variant)), "connection")[0][4].startswith("Agent/TCP")


def test_packets_have_our_length_on_the_wire():
    text = " ".join(commands(scenario(), "connection")[0])
    assert "packetSize_ 1064 useHeaders_ 0" in text


@pytest.mark.parametrize(("counts", "limit"), [(False, "21"), (True, "20")])
def test_a_queue_limit_is_one_more_unless_it_counts_the_packet_in_service(counts, limit):
    shape = network()
    queue = DropTail(limit="20 packets", counts_service=counts)
    links = [dataclasses.replace(link, queue=queue) for link in shape.links]
    asked = scenario(shape=dataclasses.replace(shape, links=tuple(links)))
    assert commands(asked, "link")[0][6] == limit


def test_members_of_a_table_can_be_changed_one_by_one():
    changed = flow("vegas", congestion={"alpha": 2}, timer={"minimum": "1 s"})
    table = scenario(changed).resolved()["flows"][0]["tcp"]
    assert (table["congestion"]["alpha"], table["congestion"]["numerator"]) == (2, "ns2")
    assert (table["timer"]["minimum"], table["timer"]["scaled_ticks"]) == ("1 s", True)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"handshake": True}, "handshake"),
        ({"nagle": True}, "nagle"),
        ({"recovery": {"deflation": "full"}}, "recovery.deflation"),
        ({"timer": {"whole_ticks": False}}, "timer.whole_ticks"),
        ({"delayed_ack": {"segments": 3, "timer": "100 ms"}}, "delayed_ack"),
        ({"max_pacing_rate": "1 Mbit/s"}, "max_pacing_rate"),
        ({"reading": {"rate": "1 Mbit/s"}}, "reading.rate"),
    ],
)
def test_rules_that_it_does_not_have_are_refused_by_name(changes, field):
    with pytest.raises(ScenarioError) as refused:
        PEER.script(scenario(flow("newreno", **changes)))
    assert refused.value.field == f"flows.f1.tcp.{field}"


def test_the_first_good_period_ends_with_ours():
    model = TwoState(good="1 s", bad="100 ms", loss=0.1, good_loss=0.0, change=0.5, clock="packet")
    text = PEER.script(scenario(shape=network(impairments=[model])))
    # A packet that leaves the link at 1 s reaches the model a propagation delay later.
    assert "1.000000000 0.100000000 0.0 0.1 0.5 1.020123000]" in text


def test_thresholds_that_are_no_whole_numbers_are_refused():
    with pytest.raises(ScenarioError, match=r"congestion\.alpha: 1\.5 .* a whole number"):
        PEER.script(scenario(flow("vegas", congestion={"alpha": 1.5})))


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"links.r1-r2.queue": DropTail(limit="20 KiB").to_dict()}, "links.r1-r2.queue.limit"),
        ({"links.r1-r2.opportunities": {"times": [1]}}, "links.r1-r2.opportunities"),
        ({"links.r1-r2.changes": [LinkChange(at="1 s", delay="1 ms").to_dict()]}, "links.r1-r2.changes"),
        ({"links.r1-r2.impairments": [TwoState().to_dict()]}, "links.r1-r2.impairments.0.clock"),
        ({"links.r2-r1.impairments": [Forced(packets=[3]).to_dict()]}, "links.r2-r1.impairments.0.packets"),
        ({"flows.f1.start": {"uniform": ["0 s", "1 s"]}}, "flows.f1.start"),
        ({"flows.f1.source": Tcplib().to_dict()}, "flows.f1.source.kind"),
        ({"flows.f1.source": Transfer(size="1 MB").to_dict()}, "flows.f1.source.size"),
        ({"flows.f1.tcp": "code"}, "flows.f1.tcp.congestion"),
        ({"nodes.s1.aqt": True}, "nodes.s1.aqt"),
    ],
)
def test_what_it_cannot_express_is_refused_by_name(values, field):
    with pytest.raises(ScenarioError) as refused:
        PEER.script(scenario().with_values(values))
    assert refused.value.field == field


def test_a_variant_without_counterpart_is_refused():
    with pytest.raises(ScenarioError, match="newvegas"):
        PEER.tcp("newvegas")


def test_every_rule_says_what_ns2_does_and_what_was_done():
    assert len(PEER.rules) >= 10
    for rule in PEER.rules:
        assert all([rule.aspect, rule.peer, rule.matched])


def test_an_absent_program_is_reported_with_its_package(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(crossvalidation.PeerAbsent, match="Debian package is ns2"):
        type(PEER)().version()


def test_another_program_of_the_same_name_is_rejected(monkeypatch, tmp_path):
    other = tmp_path / "ns"
    other.write_text("#!/bin/sh\necho something else\n", encoding="utf-8")
    other.chmod(other.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}/bin")
    with pytest.raises(crossvalidation.PeerAbsent, match="is another program"):
        type(PEER)().version()


# Agreement


def test_a_run_has_our_columns(ns2):
    asked = scenario(probes=[Probe(quantities=["backlog"], links=["r1-r2"])], duration="2 s")
    ours, theirs = dumbbell.run(asked), ns2.run(asked)
    assert set(theirs.flows.columns) <= set(ours.flows.columns)
    assert set(theirs.links.columns) <= set(ours.links.columns)
    assert list(theirs.links["name"]) == list(ours.links["name"])
    assert theirs.cpu_s > 0.0


@pytest.mark.parametrize("variant", PEER.variants)
def test_a_flow_sends_the_same_segments_at_the_same_times(ns2, variant):
    probe = Probe(quantities=["seq_sent", "cwnd", "cwnd_base"], flows=["f1"])
    asked = scenario(flow(variant), probes=[probe], measure_from="5 s")
    ours, theirs = sent_alike(ns2, asked)
    columns = ["segments_sent", "segments_retransmitted", "timeouts", "goodput_bps"]
    for column in columns:
        assert theirs.flows[column][0] == pytest.approx(ours.flows[column][0], rel=1e-9)
    quantity = "cwnd" if variant == "vegas" else "cwnd_base"
    assert set(theirs.traces) == {"seq_sent", quantity}
    at = np.arange(0.1, 20.0, 0.1) + 0.05
    # Its trace rounds times to 10 µs, so that a sample may fall on the other side of a step.
    found = crossvalidation.distance(
        *(crossvalidation.sampled(run.traces[quantity], at) for run in (ours, theirs)), bound=0.1
    )
    assert found.share == 1.0


@pytest.mark.parametrize("variant", PEER.variants)
def test_drops_drawn_in_advance_are_repaired_in_the_same_way(ns2, variant):
    drawn = np.random.default_rng(2).random(4000)
    packets = [int(packet) for packet in np.flatnonzero(drawn < 0.02) + 1 if packet > 6]
    shape = network(limit="100 packets", impairments=[Forced(packets=packets)])
    asked = scenario(flow(variant), shape=shape, probes=[Probe(quantities=["seq_sent"], flows=["f1"])])
    ours, theirs = dumbbell.run(asked), ns2.run(asked)
    assert ours.flows["segments_retransmitted"][0] >= 10
    assert sent(ours)[0] == sent(theirs)[0]
    # We count a loss when the packet enters the link, ns-2 when it leaves it.
    assert theirs.links["drops_impairment"][0] == pytest.approx(ours.links["drops_impairment"][0], abs=1)


def bursts(seed, *, good, bad, loss):
    """Return ordinals of packets lost in bursts with a mean length, separated by loss-free runs."""
    random = np.random.default_rng(seed)
    packets, at = [], 0
    while at < 20_000:
        at += random.geometric(1.0 / good)
        length = random.geometric(1.0 / bad)
        packets += [int(at + further + 1) for further in np.flatnonzero(random.random(length) < loss)]
        at += length
    return packets


@pytest.mark.parametrize("variant", PEER.variants)
@pytest.mark.parametrize(("good", "bad", "loss"), [(250, 50, 0.5), (250, 20, 0.1)])
def test_long_loss_bursts_are_repaired_in_the_same_way(ns2, variant, good, bad, loss):
    # Retransmissions are lost, timers are backed off, and delivered data is retransmitted.
    timeouts = 0
    for seed in range(3):
        shape = topologies.dumbbell(
            pairs=1,
            rate=f"{RATE // 2} bit/s",
            delay="50.123 ms",
            queue=DropTail(limit="25 packets"),
            access_rate=f"{4 * RATE} bit/s",
            impairments=[Forced(packets=bursts(seed, good=good, bad=bad, loss=loss))],
        )
        nodes = [dataclasses.replace(node, tick_phase="3.7 ms") for node in shape.nodes]
        shape = dataclasses.replace(shape, nodes=tuple(nodes))
        probe = Probe(quantities=["seq_sent"], flows=["f1"])
        asked = scenario(flow(variant), shape=shape, duration="120 s", probes=[probe])
        ours, _ = sent_alike(ns2, asked)
        timeouts += int(ours.flows["timeouts"][0])
    assert timeouts >= 10


@pytest.mark.parametrize("variant", ["newreno", "sack"])
def test_delayed_acknowledgements_agree(ns2, variant):
    delayed = flow(variant, delayed_ack={"segments": 2, "timer": "100 ms"})
    asked = scenario(delayed, probes=[Probe(quantities=["seq_sent"], flows=["f1"])])
    sent_alike(ns2, asked)


def test_opposite_flows_of_three_recoveries_send_the_same(ns2):
    delays = ["0.113 ms", "0.917 ms", "0.531 ms"]
    shape = network(pairs=2, reverse_pairs=1, sender_delay=delays)
    flows = [flow("reno", start="0.1 s"), flow("newreno", number=2, start="0.5371 s"), flow("sack", number=3)]
    asked = scenario(*flows, shape=shape, probes=[Probe(quantities=["seq_sent"], flows=["*"])])
    traces = [run.traces["seq_sent"] for run in (dumbbell.run(asked), ns2.run(asked))]
    for name in ("f1", "f2", "f3"):
        ours, theirs = (trace[trace["name"] == name]["value"].tolist() for trace in traces)
        assert len(ours) > 1000
        assert ours == theirs


def test_link_counters_agree(ns2):
    asked = scenario(duration="30 s", measure_from="10 s", measure_until="25 s")
    ours, theirs = dumbbell.run(asked).links, ns2.run(asked).links
    counts = ["drops_queue", "packets", "backlog_max_packets"]
    assert theirs[counts].iloc[0].tolist() == ours[counts].iloc[0].tolist()
    for column in ("utilization", "backlog_mean_packets"):
        assert theirs[column][0] == pytest.approx(ours[column][0], rel=1e-3)
    assert ours["drops_queue"][0] > 0


def test_the_tuned_peer_gives_the_same_results(ns2):
    asked = scenario(flow("sack"))
    tuned = dataclasses.replace(ns2, tuned=True)
    assert tuned.identity() != ns2.identity()
    assert tuned.run(asked).flows.equals(ns2.run(asked).flows)


def test_without_counting_links_their_columns_are_missing(ns2):
    run = dataclasses.replace(ns2, counts_links=False).run(scenario(duration="2 s"))
    assert run.links[["packets", "utilization", "backlog_mean_packets"]].isna().all(axis=None)
    assert run.flows["bytes_delivered"][0] > 0


def test_a_run_ends_when_the_awaited_transfers_have_completed(ns2):
    transfer = flow("reno", source=Transfer(size=f"{100 * MSS} bytes"))
    asked = scenario(transfer, stop_when_complete=["f1"], duration="60 s")
    ours, theirs = dumbbell.run(asked).flows, ns2.run(asked).flows
    assert theirs["bytes_delivered"][0] == 100 * MSS
    assert theirs["completion_s"][0] == pytest.approx(ours["completion_s"][0], abs=1e-5)
    assert theirs["goodput_bps"][0] == pytest.approx(ours["goodput_bps"][0], rel=1e-4)


def test_two_flows_of_which_one_stops_agree(ns2):
    shape = network(pairs=2, sender_delay=["0.113 ms", "0.917 ms"])
    flows = [flow("reno"), flow("newreno", number=2, start="537.1 ms", stop="4 s")]
    asked = scenario(*flows, shape=shape, duration="6 s")
    ours, theirs = dumbbell.run(asked).flows, ns2.run(asked).flows
    assert theirs["goodput_bps"].to_numpy() == pytest.approx(ours["goodput_bps"].to_numpy(), rel=1e-4)


@pytest.mark.parametrize("source", [Cbr, Poisson])
def test_datagrams_load_the_link_equally(ns2, source):
    stated = source(rate="2 Mbit/s", packet="500 bytes")
    datagrams = Flow(name="u", from_="s1", to="d1", source=stated)
    asked = scenario(datagrams, duration="60 s", measure_from="10 s")
    ours, theirs = dumbbell.run(asked), ns2.run(asked)
    assert theirs.links["utilization"][0] == pytest.approx(ours.links["utilization"][0], rel=0.05)
    assert theirs.flows["goodput_bps"][0] == pytest.approx(2e6, rel=0.05)


@pytest.mark.slow
@pytest.mark.parametrize(
    "impairment", [Bernoulli(probability=0.02), TwoState(bad="100 ms", loss=0.2, clock="packet")]
)
def test_random_losses_have_the_same_share_and_depend_on_the_run(ns2, impairment):
    load = Flow(name="u", from_="s1", to="d1", source=Cbr(rate="3 Mbit/s", packet="500 bytes"))
    asked = scenario(load, shape=network(impairments=[impairment]), duration="200 s")
    ours, theirs = (run.links.iloc[0] for run in (dumbbell.run(asked), ns2.run(asked)))
    lost, peers_lost = (row["drops_impairment"] / row["packets"] for row in (ours, theirs))
    assert peers_lost == pytest.approx(lost, rel=0.25)
    again, other = (ns2.run(asked, run=number).links["drops_impairment"][0] for number in (0, 1))
    assert again == theirs["drops_impairment"] != other
