"""The driver of ns-3: its descriptions for the program, its errors, and the agreement of the two simulators."""

import sys

import numpy as np
import pytest

import dumbbell
from dumbbell import DropTail, Probe, ScenarioError, Transfer, Uniform, crossvalidation, topologies
from dumbbell.scenario import Bernoulli, Forced, LinkChange, TwoState
from small_peer import numbered_flow, ready

PEER = crossvalidation.load_peer("ns3")
# Loading another folder of peers, as other tests do, unloads this one.
DESCRIPTION, BUILD = (sys.modules[f"{type(PEER).__module__}.{name}"] for name in ("description", "build"))


@pytest.fixture(scope="session")
def ns3():
    """The peer; without it the tests that run it are skipped."""
    return ready(PEER)


def network(rate="2 Mbit/s", delay="48 ms", limit="25 packets", **more):
    return topologies.dumbbell(
        pairs=2,
        rate=rate,
        delay=delay,
        queue=DropTail(limit=limit),
        access_rate="100 Mbit/s",
        access_delay="1 ms",
        **more,
    )


def flow(variant="newreno", *, number=1, source=None, start="0 s", stop=None, **changes):
    return numbered_flow(number, source=source, start=start, stop=stop, tcp=PEER.tcp(variant, **changes))


def scenario(*flows, shape=None, duration="20 s", **more):
    return (shape or network()).scenario(
        rules="classic", duration=duration, flows=list(flows) or [flow()], **more
    )


def statements(asked, first):
    lines = DESCRIPTION.described(asked, seed=1, run=0).text.splitlines()
    return [line for line in lines if line.split()[0] == first]


def relative(ours, peers):
    return ours / peers - 1.0


# Descriptions


def test_every_variant_has_a_table_that_both_sides_accept():
    assert set(PEER.variants) == {"newreno", "vegas", "westwoodp"}
    for variant in PEER.variants:
        assert statements(scenario(flow(variant)), "flow")[0].split()[-2].startswith("ns3::Tcp")


def test_packets_have_our_length_on_the_wire():
    for table in ({}, {"mss": "960 bytes", "headers": {"data": "40 bytes"}}):
        assert "attribute ns3::TcpSocket::SegmentSize 958" in statements(scenario(flow(**table)), "attribute")


def test_each_direction_of_a_link_has_its_own_delay_and_rate():
    shape = network(reverse_rate="1 Mbit/s", reverse_delay="10 ms")
    forward, backward = statements(scenario(shape=shape), "link")[:2]
    assert forward.split()[1:] == ["0", "1", "2000000", "48000000", "25p"]
    assert backward.split()[1:] == ["1", "0", "1000000", "10000000", "25p"]


def test_a_queue_that_counts_the_packet_in_service_has_room_for_one_less_behind_it():
    shape = network().scenario(rules="classic", duration="1 s", flows=[flow()])
    counting = shape.with_values({"links.r1-r2.queue.counts_service": True})
    assert statements(counting, "link")[0].endswith(" 24p")


def test_the_thresholds_of_vegas_are_passed_on():
    table = PEER.tcp("vegas")["congestion"] | {"alpha": 3, "beta": 4, "gamma": 5}
    lines = statements(scenario(flow("vegas", congestion=table)), "attribute")
    for name, value in (("Alpha", 3), ("Beta", 4), ("Gamma", 5)):
        assert f"attribute ns3::TcpVegas::{name} {value}" in lines


def test_packets_follow_the_stated_path():
    links = [
        {"name": name, "from": name[0], "to": name[1], "rate": "1 Mbit/s", "delay": "1 ms"}
        for name in ("ab", "ba", "ac", "cb")
    ]
    plain = {"duration": "1 s", "rules": "classic", "nodes": ["a", "b", "c"], "links": links}
    one = {"name": "f", "from": "a", "to": "b", "tcp": PEER.tcp("newreno")}
    direct = dumbbell.Scenario.from_dict(plain | {"flows": [one]})
    around = dumbbell.Scenario.from_dict(plain | {"flows": [one | {"path": ["ac", "cb"]}]})
    assert statements(direct, "route") == ["route 1 0", "route 0 1"]
    assert statements(around, "route") == ["route 1 2", "route 1 3", "route 0 1"]
    both = dumbbell.Scenario.from_dict(plain | {"flows": [one, one | {"name": "g", "path": ["ac", "cb"]}]})
    with pytest.raises(ScenarioError, match=r"flows\.g\.path"):
        statements(both, "route")


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"recovery": "newreno", "window": {"reduction_base": "whole-window"}}, "flows.f1.tcp.recovery"),
        ({"headers": {"ack": "40 bytes"}}, "flows.f1.tcp.headers.ack"),
        ({"congestion": "westwood"}, "flows.f1.tcp.congestion.name"),
        ({"mss": "20 bytes"}, "flows.f1.tcp.mss"),
        ({"initial_window": "1500 bytes"}, "flows.f1.tcp.initial_window"),
        ({"timer": {"kind": "rfc6298", "maximum": "30 s"}}, "flows.f1.tcp.timer.maximum"),
        ({"delayed_ack": {"segments": 2, "on_tick": True}}, "flows.f1.tcp.delayed_ack.on_tick"),
        ({"max_pacing_rate": "1 Mbit/s"}, "flows.f1.tcp.max_pacing_rate"),
        ({"reading": {"rate": "1 Mbit/s"}}, "flows.f1.tcp.reading"),
    ],
)
def test_rules_that_it_does_not_have_are_refused_by_name(changes, field):
    with pytest.raises(ScenarioError) as refused:
        statements(scenario(flow(**changes)), "flow")
    assert refused.value.field == field


def test_a_parameter_of_a_congestion_control_that_it_does_not_have_is_refused():
    table = {"name": "westwoodp", "interval_rtt": "smoothed", "only_reduce": False, "filter": 0.5}
    with pytest.raises(ScenarioError) as refused:
        statements(scenario(flow("westwoodp", congestion=table)), "flow")
    assert refused.value.field == "flows.f1.tcp.congestion.filter"


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"links.r1-r2.opportunities": {"times": [1]}}, "links.r1-r2.opportunities"),
        ({"links.r1-r2.changes": [LinkChange(at="1 s", rate="1 Mbit/s")]}, "links.r1-r2.changes"),
        ({"links.r1-r2.queue": DropTail(limit="1 packets", counts_service=True)}, "links.r1-r2.queue.limit"),
        ({"links.r1-r2.impairments": [Bernoulli(), Bernoulli()]}, "links.r1-r2.impairments"),
        ({"flows.f1.start": Uniform(uniform=("0 s", "1 s"))}, "flows.f1.start"),
        ({"flows.f1.stop": "1 s", "flows.f1.restarts": [{"start": "2 s"}]}, "flows.f1.restarts"),
        ({"flows.f1.source": {"kind": "tcplib"}}, "flows.f1.source.kind"),
        ({"flows.f1.tcp": None, "flows.f1.source": {"kind": "poisson"}}, "flows.f1.source"),
    ],
)
def test_what_it_cannot_express_is_refused_by_name(values, field):
    asked = scenario().with_values(values)
    with pytest.raises(ScenarioError) as refused:
        statements(asked, "flow")
    assert refused.value.field == field


def test_a_variant_without_counterpart_is_refused():
    with pytest.raises(ScenarioError, match="newreno"):
        PEER.tcp("tahoe")


def test_every_rule_says_what_ns3_does_and_what_was_done():
    assert len({rule.aspect for rule in PEER.rules}) == len(PEER.rules)
    assert all(rule.peer and rule.matched for rule in PEER.rules)


def test_an_absent_compiler_is_reported_with_its_package(monkeypatch):
    monkeypatch.setattr(BUILD.shutil, "which", lambda _name: None)
    BUILD._library.cache_clear()
    with pytest.raises(crossvalidation.PeerAbsent, match="libns3-dev"):
        PEER.version()
    BUILD._library.cache_clear()


# Observations


def test_a_run_has_our_columns(ns3):
    asked = scenario(duration="2 s")
    ours, theirs = dumbbell.run(asked), ns3.run(asked)
    assert set(theirs.flows) <= set(ours.flows)
    assert set(theirs.links) <= set(ours.links)
    assert list(theirs.flows["name"]) == list(ours.flows["name"])
    assert list(theirs.links["name"]) == list(ours.links["name"])
    assert theirs.cpu_s > 0.0


def test_a_segment_takes_as_long_as_its_path(ns3):
    # One segment of 1000 bytes: two round trips with the handshake, of 2 * 10 ms and 2 * 40 ms; 4 ms of service at
    # 2 Mbit/s and 80 us on each access link. The packets of the handshake are below 70 bytes, 0.3 ms at 2 Mbit/s.
    shape = network(delay="38 ms", reverse_delay="8 ms")
    asked = scenario(flow(source=Transfer(size="958 bytes")), shape=shape, duration="2 s")
    taken = ns3.run(asked).flows["completion_s"][0]
    assert taken == pytest.approx(dumbbell.run(asked).flow("f1").completion_s, abs=1e-3)
    assert taken == pytest.approx(2 * 50e-3 + 4.16e-3, abs=1.5e-3)


def test_slow_start_is_the_same_without_losses(ns3):
    probe = Probe(quantities=["cwnd", "ssthresh", "seq_acked", "delivered"], flows=["*"])
    asked = scenario(probes=[probe], duration="1.5 s", shape=network(limit="1000 packets"))
    ours, theirs = dumbbell.run(asked), ns3.run(asked)
    assert ours.links["drops_queue"].sum() == theirs.links["drops_queue"].sum() == 0
    at = np.arange(0.25, 1.5, 0.01)
    cwnd = crossvalidation.largest_distance(ours.traces["cwnd"], theirs.traces["cwnd"], at, bound=1.0)
    assert cwnd.largest <= 1.0
    assert cwnd.n == len(at)
    for quantity in ("seq_acked", "delivered"):
        far = crossvalidation.largest_distance(
            ours.traces[quantity], theirs.traces[quantity], at, bound=958.0
        )
        assert far.largest <= 958.0, quantity


@pytest.mark.parametrize("variant", ["newreno", "vegas", "westwoodp"])
def test_goodput_and_backlog_of_a_flow_agree(ns3, variant):
    asked = scenario(flow(variant), duration="40 s", measure_from="5 s")
    ours, theirs = dumbbell.run(asked), ns3.run(asked)
    assert abs(relative(ours.flow("f1").goodput_bps, theirs.flows["goodput_bps"][0])) < 0.02
    bottleneck = theirs.links.set_index("name").loc["r1-r2"]
    assert abs(relative(ours.link("r1-r2").backlog_mean_packets, bottleneck.backlog_mean_packets)) < 0.1
    assert abs(ours.link("r1-r2").utilization - bottleneck.utilization) < 0.02
    assert bottleneck.utilization <= 1.0


def test_the_backlog_reaches_the_limit_and_no_more(ns3):
    theirs = ns3.run(scenario(duration="10 s"))
    bottleneck = theirs.links.set_index("name").loc["r1-r2"]
    assert bottleneck.backlog_max_packets == 25
    assert bottleneck.drops_queue > 0


def test_a_forced_drop_is_repaired_by_one_retransmission(ns3):
    shape = network(limit="1000 packets", impairments=[Forced(packets=[40])])
    theirs = ns3.run(scenario(flow(source=Transfer(size="191600 bytes")), shape=shape))
    counted = theirs.flows.iloc[0]
    assert counted.segments_retransmitted == 1
    assert counted.segments_sent == 201
    assert counted.bytes_delivered == 191_600
    assert counted.timeouts == 0
    assert theirs.links.set_index("name").loc["r1-r2"].drops_impairment == 1


def test_a_lost_retransmission_costs_one_timeout(ns3):
    # The 19th of 20 segments is lost, too few follow for three duplicate ACKs, and it is lost again at the first timeout.
    shape = network(limit="1000 packets", impairments=[Forced(packets=[19, 21])])
    asked = scenario(flow(source=Transfer(size="19160 bytes"), initial_window="4 segments"), shape=shape)
    assert ns3.run(asked).flows["timeouts"][0] == 2


def test_bytes_with_another_header_are_reported_as_ours(ns3):
    asked = scenario(flow(source=Transfer(size="96000 bytes"), mss="960 bytes", headers={"data": "40 bytes"}))
    assert ns3.run(asked).flows["bytes_delivered"][0] == 96_000


def test_a_flow_that_stops_sends_nothing_more(ns3):
    asked = scenario(flow(stop="5 s"), duration="20 s", measure_from="7 s")
    counted = ns3.run(asked).flows.iloc[0]
    assert (counted.bytes_delivered, counted.segments_sent) == (0, 0)
    before = ns3.run(scenario(flow(stop="5 s"), duration="7 s")).flows.iloc[0]
    assert before.segments_sent > 500


def test_a_run_ends_when_the_awaited_flows_have_completed(ns3):
    asked = scenario(
        flow(source=Transfer(size="95800 bytes")),
        flow(number=2, start="10 s"),
        stop_when_complete=["f1"],
    )
    ours, theirs = dumbbell.run(asked), ns3.run(asked)
    completed = theirs.flows["completion_s"][0]
    assert abs(relative(ours.flow("f1").completion_s, completed)) < 0.05
    assert abs(relative(ours.flow("f1").goodput_bps, theirs.flows["goodput_bps"][0])) < 0.05
    assert theirs.flows["segments_sent"][1] == 0


def test_a_full_receive_window_at_a_loss_does_no_harm(ns3):
    shape = network(limit="8 packets", impairments=[Bernoulli(probability=0.01)])
    asked = scenario(flow(receive_buffer="20 segments"), shape=shape)
    theirs = ns3.run(asked)
    assert theirs.flows["segments_retransmitted"][0] > 0
    assert theirs.flows["goodput_bps"][0] > 2e5


def test_losses_depend_on_the_seed_and_the_run_alone(ns3):
    shape = network(impairments=[Bernoulli(probability=0.02)])
    asked = scenario(shape=shape, duration="5 s")
    lost = [
        ns3.run(asked, seed=seed, run=run).flows["segments_sent"][0]
        for seed, run in [(1, 0), (1, 0), (2, 0), (1, 1)]
    ]
    assert lost[0] == lost[1]
    assert len(set(lost[1:])) > 1


@pytest.mark.parametrize("clock", ["time", "packet", "poll"])
def test_bad_periods_lose_the_same_share_of_packets(ns3, clock):
    model = TwoState(good="100 ms", bad="100 ms", loss=0.05, change=0.5, clock=clock)
    shape = network(impairments=[model])
    # A window of five segments fits into the queue, so nothing else is lost.
    asked = scenario(flow(receive_buffer="5 segments"), shape=shape, duration="400 s")
    ours, theirs = dumbbell.run(asked).link("r1-r2"), ns3.run(asked).links.set_index("name").loc["r1-r2"]
    assert ours.drops_queue == theirs.drops_queue == 0
    lost = np.array([ours.drops_impairment, theirs.drops_impairment])
    shares = lost / [ours.packets, theirs.packets]
    # Four standard errors of the difference for independent losses.
    assert lost.min() > 100
    assert abs(shares[0] - shares[1]) < 4.0 * np.sqrt((shares**2 / lost).sum())


def test_samples_are_taken_at_the_period_of_the_probe(ns3):
    probes = [
        Probe(quantities=["cwnd", "ssthresh", "srtt"], flows=["f1"], period="100 ms"),
        Probe(quantities=["backlog"], links=["r1-r2"]),
    ]
    theirs = ns3.run(scenario(probes=probes, duration="3 s"))
    assert set(theirs.traces) == {"cwnd", "ssthresh", "backlog"}
    assert np.allclose(np.diff(theirs.traces["cwnd"]["time_s"]), 0.1)
    assert theirs.traces["backlog"]["value"].max() == 25
    assert theirs.traces["backlog"]["time_s"].is_monotonic_increasing


def test_the_program_is_built_once(ns3):
    first = BUILD.program()
    changed = first.stat().st_mtime_ns
    ns3.prepare()
    assert BUILD.program() == first
    assert first.stat().st_mtime_ns == changed
    assert ns3.version() in ns3.identity()


# Tracing of disagreements


SAMPLED = np.arange(0.5, 20.0, 0.05)


def lossy(variant, *packets, **shape):
    changes = {} if variant == "vegas" else {"initial_ssthresh": "20 segments"}
    model = [Forced(packets=packets)] if packets else []
    return scenario(
        flow(variant, **changes),
        shape=network(**{"limit": "100 packets", "impairments": model} | shape),
        probes=[Probe(flows=["f1"], quantities=["cwnd"])],
    )


def apart(asked, theirs):
    """Return the share of samples at which the windows are more than a tenth of a segment apart."""
    windows = [
        crossvalidation.sampled(run.traces["cwnd"], SAMPLED, "f1") for run in (dumbbell.run(asked), theirs)
    ]
    return float((np.abs(windows[0] - windows[1]) > 0.1).mean())


@pytest.mark.parametrize(
    "asked",
    [
        lossy("newreno", 300),
        lossy("newreno", 300, 301, 302, 303),
        lossy("newreno", 300, 360),
        lossy("newreno", delay="10 ms", limit="20 packets"),
        lossy("vegas", delay="2 ms"),
        lossy("vegas", delay="30 ms", rate="4 Mbit/s"),
        lossy("vegas", 300),
        lossy("vegas", 300, 301, 302, 303),
    ],
)
def test_the_windows_of_newreno_and_vegas_are_those_of_ns3(ns3, asked):
    assert apart(asked, ns3.run(asked)) < 0.01


@pytest.mark.parametrize(
    "asked",
    [
        lossy("westwoodp", 300),
        lossy("westwoodp", 300, 360),
        lossy("westwoodp", delay="10 ms", limit="20 packets"),
    ],
)
def test_under_our_rules_the_window_of_ns3_is_ours(ns3, asked):
    *_, last = ns3.counterfactuals(asked)
    assert apart(asked, last.peer.run(asked)) < 0.01
    # Without the rules, the run differs, so they have an effect.
    assert apart(asked, ns3.run(asked)) > 0.04


def test_each_difference_of_a_scenario_is_tried_alone_and_finally_all_together():
    def aspects(*variants):
        flows = [flow(variant, number=number) for number, variant in enumerate(variants, start=1)]
        return [one.difference.count("in ns-3") for one in PEER.counterfactuals(scenario(*flows))]

    # Two of them are rules of all flows.
    assert aspects("newreno") == [1, 1, 2]
    assert aspects("newreno", "newreno") == [1, 1, 2]
    assert aspects("vegas") == [1, 1, 2]
    assert aspects("newreno", "westwoodp") == [1, 1, 1, 1, 4]


def test_each_counterfactual_is_a_separate_peer(ns3):
    offered = [one.peer for one in ns3.counterfactuals(scenario(flow("westwoodp")))]
    assert len({ns3.identity(), *(peer.identity() for peer in offered)}) == 1 + len(offered)
    assert len({ns3.title, *(peer.title for peer in offered)}) == 1 + len(offered)


@pytest.mark.parametrize("variant", ["newreno", "vegas", "westwoodp"])
def test_each_rule_of_ours_changes_a_run_of_ns3_by_itself(ns3, variant):
    bursts = TwoState(good="1 s", bad="400 ms", loss=0.3, change=0.5)
    asked = scenario(flow(variant), shape=network(impairments=[bursts]), duration="60 s")

    def counted(peer):
        return peer.run(asked).flows[["segments_sent", "segments_retransmitted", "timeouts"]].iloc[0].tolist()

    runs = {peer.title: counted(peer) for peer in [ns3, *(one.peer for one in ns3.counterfactuals(asked))]}
    same = [title for title, run in runs.items() if title != ns3.title and run == runs[ns3.title]]
    assert not same
