"""Common topologies."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import dumbbell
from dumbbell import DropTail, Flow, Forced, Greedy, LinkChange, ScenarioError, topologies
from dumbbell.quantities import nanoseconds
from dumbbell.topologies import Hop


def names(shape):
    return [node.name for node in shape.nodes], [link.name for link in shape.links]


def flow(number):
    return Flow(name=f"f{number}", from_=f"s{number}", to=f"d{number}", tcp="reno", source=Greedy())


def test_a_dumbbell_joins_pairs_of_hosts_by_one_bottleneck():
    shape = topologies.dumbbell(pairs=2, rate="1 Mbit/s", delay="10 ms")
    nodes, links = names(shape)
    assert nodes == ["r1", "r2", "s1", "d1", "s2", "d2"]
    assert links[:2] == ["r1-r2", "r2-r1"]
    assert set(links[2:]) == {
        f"{a}-{b}"
        for s, d in (("s1", "d1"), ("s2", "d2"))
        for a, b in ((s, "r1"), ("r1", s), (d, "r2"), ("r2", d))
    }
    assert shape.bottlenecks == ("r1-r2",)


def test_impairments_are_on_the_forward_bottleneck_only():
    shape = topologies.dumbbell(pairs=1, rate="1 Mbit/s", delay="10 ms", impairments=[Forced(packets=[3])])
    assert [link.name for link in shape.links if link.impairments] == ["r1-r2"]


def test_each_pair_can_have_its_own_delay():
    shape = topologies.dumbbell(pairs=2, rate="1 Mbit/s", delay="10 ms", access_delay=["1 ms", "5 ms"])
    delays = {link.name: link.delay for link in shape.links}
    assert (delays["s1-r1"], delays["s2-r1"], delays["r2-d2"]) == ("1 ms", "5 ms", "5 ms")


def test_a_parking_lot_has_one_long_pair_and_one_pair_a_hop():
    shape = topologies.parking_lot(hops=3, rate="1 Mbit/s", delay="10 ms")
    assert shape.bottlenecks == ("r1-r2", "r2-r3", "r3-r4")
    _, links = names(shape)
    assert {"s1-r1", "d1-r4", "s2-r1", "d2-r2", "s3-r2", "d3-r3", "s4-r3", "d4-r4"} <= set(links)


def test_a_chain_takes_each_hop_as_it_is_given():
    queue = DropTail(limit="7 packets")
    shape = topologies.chain(
        hops=[Hop(rate="1 Mbit/s", delay="1 ms"), Hop(rate="2 Mbit/s", delay="2 ms", queue=queue)],
        pairs=[(1, 3), (3, 2)],
    )
    by_name = {link.name: link for link in shape.links}
    assert (by_name["r2-r3"].rate, by_name["r3-r2"].delay, by_name["r2-r3"].queue) == (
        "2 Mbit/s",
        "2 ms",
        queue,
    )
    assert {"s2-r3", "d2-r2"} <= set(by_name)


def test_the_links_of_a_hop_differ_where_it_says_so():
    hop = Hop(
        rate="2 Mbit/s",
        delay="20 ms",
        impairments=[Forced(packets=[1])],
        reverse_rate="16 kbit/s",
        reverse_queue=DropTail(limit="10 packets"),
    )
    shape = topologies.chain(hops=[hop], pairs=[(1, 2)])
    forward, backward = shape.link("r1-r2"), shape.link("r2-r1")
    default = DropTail(limit="100 packets")
    assert (forward.rate, forward.delay, forward.queue) == ("2 Mbit/s", "20 ms", default)
    assert (backward.rate, backward.delay, backward.queue) == ("16 kbit/s", "20 ms", hop.reverse_queue)
    assert (forward.impairments, backward.impairments) == ((Forced(packets=[1]),), None)
    lossy = Hop(
        rate="2 Mbit/s", delay="20 ms", reverse_delay="5 ms", reverse_impairments=[Forced(packets=[2])]
    )
    backward = topologies.chain(hops=[lossy], pairs=[(1, 2)]).link("r2-r1")
    assert (backward.rate, backward.delay) == ("2 Mbit/s", "5 ms")
    assert backward.impairments == (Forced(packets=[2]),)


def test_reverse_pairs_of_a_dumbbell_come_after_the_others():
    shape = topologies.dumbbell(
        pairs=2,
        reverse_pairs=1,
        rate="1.6 Mbit/s",
        delay="20 ms",
        reverse_rate="16 kbit/s",
        reverse_delay="30 ms",
    )
    assert shape.path("s2", "d2") == ("s2-r1", "r1-r2", "r2-d2")
    assert shape.path("s3", "d3") == ("s3-r2", "r2-r1", "r1-d3")
    assert (shape.bottlenecks, shape.reverse_bottlenecks) == (("r1-r2",), ("r2-r1",))
    assert (shape.link("r2-r1").rate, shape.link("r2-r1").delay) == ("16 kbit/s", "30 ms")


def test_one_access_delay_holds_for_all_four_links_unless_an_end_has_its_own():
    shape = topologies.dumbbell(
        pairs=2, rate="1 Mbit/s", delay="10 ms", access_delay="1 ms", receiver_delay=["2 ms", "3 ms"]
    )
    delays = {link.name: link.delay for link in shape.links}
    assert [delays[name] for name in ("s1-r1", "r1-s1", "r2-d1", "d1-r2")] == ["1 ms", "1 ms", "2 ms", "2 ms"]
    assert [delays[name] for name in ("s2-r1", "r1-s2", "r2-d2", "d2-r2")] == ["1 ms", "1 ms", "3 ms", "3 ms"]
    assert shape.propagation_rtt_s("s2", "d2") == pytest.approx(0.028)
    shape = topologies.parking_lot(hops=1, rate="1 Mbit/s", delay="10 ms", sender_delay=["5 ms", "0 s"])
    assert shape.propagation_rtt_s("s1", "d1") == pytest.approx(0.0302)
    assert shape.propagation_rtt_s("s2", "d2") == pytest.approx(0.0202)


@pytest.mark.parametrize("rtts", [["20 ms", "66 ms", "0.25 s"], ["20.000001 ms", "33.3333 ms", "1 s"]])
def test_round_trip_times_are_those_asked_for(rtts):
    shape = topologies.dumbbell(pairs=2, reverse_pairs=1, rate="1 Mbit/s", delay="10 ms", rtt=rtts)
    for number, rtt in enumerate(rtts, start=1):
        asked = nanoseconds(rtt, "rtt") / 1e9
        assert shape.propagation_rtt_s(f"s{number}", f"d{number}") == pytest.approx(asked, abs=1.1e-9)


def test_round_trip_times_count_the_hops_a_pair_crosses_both_ways():
    hops = [Hop(rate="1 Mbit/s", delay=f"{n} ms", reverse_delay="7 ms") for n in (1, 2, 3)]
    pairs = [(1, 4), (4, 2), (3, 3)]
    shape = topologies.chain(hops=hops, pairs=pairs, rtt="100 ms")
    assert [shape.propagation_rtt_s(f"s{n}", f"d{n}") for n in (1, 2, 3)] == pytest.approx([0.1] * 3)
    delays = {link.name: link.delay for link in shape.links}
    # 100 - (1 + 2 + 3 + 21) = 73 ms over four links; 100 - (2 + 3 + 14) = 81; 100.
    assert [delays[f"d{n}-r{leave}"] for n, (_, leave) in enumerate(pairs, 1)] == [
        "18.25 ms",
        "20.25 ms",
        "25 ms",
    ]


def test_access_rates_may_differ_between_pairs():
    shape = topologies.dumbbell(pairs=2, rate="1 Mbit/s", delay="10 ms", access_rate=["5 Mbit/s", "6 Mbit/s"])
    assert [shape.link(name).rate for name in ("s1-r1", "d1-r2", "r1-s2", "r2-d2")] == [
        "5 Mbit/s",
        "5 Mbit/s",
        "6 Mbit/s",
        "6 Mbit/s",
    ]


def crossed(shape, pairs):
    """The links between routers that each pair crosses, and its round-trip time in milliseconds."""
    return [
        (
            tuple(name for name in shape.path(f"s{n}", f"d{n}") if name[0] == "r" and "-r" in name),
            round(1e3 * shape.propagation_rtt_s(f"s{n}", f"d{n}"), 6),
        )
        for n in range(1, pairs + 1)
    ]


def hosts(shape):
    return sum(not node.name.startswith("r") for node in shape.nodes)


@pytest.mark.parametrize("hops", [1, 3, 10])
def test_cross_traffic_of_a_multi_bottleneck_is_on_one_hop_forward_if_even(hops):
    shape = topologies.multi_bottleneck(hops=hops)
    assert (len(shape.bottlenecks), hosts(shape)) == (hops, 2 * (2 * hops + 1))
    (long, *cross) = crossed(shape, 2 * hops + 1)
    assert long == (shape.bottlenecks, 80 + 20 * hops)
    for k in range(1, hops + 1):
        assert cross[2 * k - 2] == ((f"r{k}-r{k + 1}",), 100)
        assert cross[2 * k - 1] == ((f"r{k + 1}-r{k}",), 100)
    assert {link.queue for link in shape.links if "s" not in link.name and "d" not in link.name} == {
        DropTail(limit="125 packets")
    }
    assert topologies.multi_bottleneck(hops=hops, rtt="1 s").propagation_rtt_s("s1", "d1") == pytest.approx(
        1.0
    )


def test_the_last_hop_of_a_wireless_topology_loses_packets_both_ways():
    shape = topologies.last_hop_wireless(impairments=[Forced(packets=[7])], reverse_rtt="100 ms", aqt=["r1"])
    assert hosts(shape) == 2 * (1 + 5 + 10)
    assert [link.name for link in shape.links if link.impairments] == ["d1-r2", "r2-d1"]
    wireless = [shape.link(name) for name in ("r2-d1", "d1-r2")]
    assert {(link.rate, link.delay, link.queue) for link in wireless} == {
        ("2 Mbit/s", "20 ms", DropTail(limit="42 packets"))
    }
    assert crossed(shape, 16) == [
        (("r1-r2",), 250),
        *[(("r1-r2",), rtt) for rtt in (66, 112, 158, 204, 250)],
        *[(("r2-r1",), 100)] * 10,
    ]
    # One way: 95 ms from the sender, 10 on the wire, 20 in the air.
    assert shape.link("s1-r1").delay == "95 ms"
    alone = topologies.last_hop_wireless(
        cross_pairs=0, reverse_pairs=0, delay="1 ms", wired_delay="2 ms", rtt="6 ms"
    )
    assert crossed(alone, 1) == [(("r1-r2",), 6)]


def test_a_satellite_is_a_long_dumbbell_that_loses_packets_both_ways():
    shape = topologies.satellite(impairments=[Forced(packets=[7])])
    assert [link.name for link in shape.links if link.impairments] == ["r1-r2", "r2-r1"]
    assert crossed(shape, 30) == [(("r1-r2",), 590)] * 20 + [(("r2-r1",), 590)] * 10
    short = topologies.satellite(pairs=1, reverse_pairs=0, delay="125 ms", access_delay="0 s")
    assert crossed(short, 1) == [(("r1-r2",), 250)]


def test_a_chain_can_be_a_staircase_or_a_parking_lot_with_reverse_traffic():
    hop = Hop(rate="1.6 Mbit/s", delay="10 ms")
    access = {"access_rate": "10 Mbit/s", "access_delay": "1 ms"}
    stairs = topologies.chain(hops=[hop] * 5, pairs=[(n, 6) for n in range(1, 6)], **access)
    assert crossed(stairs, 5) == [(stairs.bottlenecks[n - 1 :], 4 + 20 * (6 - n)) for n in range(1, 6)]
    lot = topologies.chain(hops=[hop] * 3, pairs=[(1, 4), (2, 1), (3, 2), (4, 3)], **access)
    assert crossed(lot, 4) == [
        (lot.bottlenecks, 64),
        *[((name,), 24) for name in lot.reverse_bottlenecks],
    ]


@pytest.mark.parametrize(
    "build",
    [
        lambda aqt: topologies.dumbbell(pairs=2, reverse_pairs=1, rate="1 Mbit/s", delay="1 ms", aqt=aqt),
        lambda aqt: topologies.parking_lot(hops=2, rate="1 Mbit/s", delay="1 ms", aqt=aqt),
        lambda aqt: topologies.multi_bottleneck(hops=2, aqt=aqt),
        lambda aqt: topologies.last_hop_wireless(aqt=aqt),
        lambda aqt: topologies.satellite(aqt=aqt),
        lambda aqt: topologies.chain(hops=[Hop(rate="1 Mbit/s", delay="1 ms")], pairs=[(1, 2)], aqt=aqt),
    ],
)
def test_nodes_stamp_queueing_times_where_asked(build):
    def stamping(shape):
        return [node.name for node in shape.nodes if node.aqt]

    assert stamping(build(False)) == []
    assert stamping(build(True)) == [node.name for node in build(True).nodes]
    assert stamping(build(["d1", "r2"])) == ["r2", "d1"]
    assert stamping(build("r1")) == ["r1"]
    with pytest.raises(
        ScenarioError, match='aqt: "r9" is not accepted; expected true, false, or names among r1, r2'
    ):
        build({"r9"})


def test_round_trip_times_can_be_spread_evenly():
    assert topologies.spread(10, "20 ms", "250 ms")[:2] == ["43 ms", "66 ms"]
    assert topologies.spread(0, "20 ms", "250 ms") == []


HOP = Hop(rate="1 Mbit/s", delay="1 ms")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: topologies.dumbbell(pairs=0, rate="1 Mbit/s", delay="1 ms"),
            "pairs: 0 is not accepted; expected a whole number of at least 1",
        ),
        (
            lambda: topologies.dumbbell(pairs=1, reverse_pairs=-1, rate="1 Mbit/s", delay="1 ms"),
            "reverse_pairs: -1 is not accepted; expected a whole number of at least 0",
        ),
        (
            lambda: topologies.dumbbell(pairs=2, rate="1 Mbit/s", delay="1 ms", access_delay=["1 ms"]),
            'access_delay: ["1 ms"] is not accepted; expected one value for all pairs, or a list with one per pair: 2',
        ),
        (
            lambda: topologies.dumbbell(pairs=1, rate="1 Mbit/s", delay="1 ms", rtt=["1.5 ms"]),
            'rtt.0: "1.5 ms" is not accepted; expected at least 2 ms, the delays of the hops there and back',
        ),
        (
            lambda: topologies.dumbbell(pairs=1, rate="1 Mbit/s", delay="1 ms", rtt="5 parsecs"),
            'rtt: "5 parsecs" is not accepted; expected a time such as',
        ),
        (
            lambda: topologies.dumbbell(
                pairs=1, rate="1 Mbit/s", delay="1 ms", rtt="5 ms", sender_delay="1 ms"
            ),
            'sender_delay: "1 ms" is not accepted; expected no value together with rtt',
        ),
        (
            lambda: topologies.parking_lot(hops=1.5, rate="1 Mbit/s", delay="1 ms"),
            "hops: 1.5 is not accepted; expected a whole number of at least 1",
        ),
        (
            lambda: topologies.chain(hops=[HOP], pairs=[(1, 2), (1, 3)]),
            "pairs.1: [1,3] is not accepted; expected two numbers of routers, each from 1 to 2",
        ),
        (
            lambda: topologies.last_hop_wireless(rtt="59 ms"),
            'rtt: "59 ms" is not accepted; expected at least 60 ms, the wired and the wireless delay there and back',
        ),
        (
            lambda: topologies.last_hop_wireless(cross_rtt=["30 ms"] * 4 + ["19 ms"]),
            'cross_rtt.4: "19 ms" is not accepted; expected at least 20 ms',
        ),
        (lambda: topologies.last_hop_wireless(reverse_rtt=["1 s"]), 'reverse_rtt: ["1 s"] is not accepted'),
        (
            lambda: topologies.spread(2, "20 ms", "10 ms"),
            'longest: "10 ms" is not accepted; expected at least the shortest, 20 ms',
        ),
        (lambda: topologies.multi_bottleneck(hops=0), "hops: 0 is not accepted"),
        (lambda: topologies.satellite(pairs=0), "pairs: 0 is not accepted"),
        (lambda: topologies.chain(hops=[], pairs=[(1, 1)]), "hops: [] is not accepted"),
        (lambda: topologies.chain(hops=[HOP], pairs=[]), "pairs: [] is not accepted"),
        (
            lambda: topologies.chain(hops=[HOP], pairs=[(1, 2)]).link("r1-r3"),
            'link: "r1-r3" is not accepted; expected r1-r2, r2-r1, s1-r1',
        ),
        (
            lambda: topologies.chain(hops=[HOP], pairs=[(1, 2)]).path("s1", "d2"),
            'node: "d2" is not accepted; expected r1, r2, s1, d1',
        ),
    ],
)
def test_impossible_shapes_are_refused_by_field_value_and_what_is_accepted(make, message):
    with pytest.raises(ScenarioError, match=f"^{re.escape(message)}"):
        make()


def test_data_crosses_every_bottleneck_of_a_parking_lot():
    shape = topologies.parking_lot(hops=2, rate="2 Mbit/s", delay="5 ms")
    scenario = shape.scenario(name="lot", rules="classic", duration="20 s", flows=[flow(1), flow(2), flow(3)])
    result = dumbbell.run(scenario)
    assert (result.flows.goodput_bps > 1e5).all()
    assert all(result.link(name).utilization > 0.9 for name in shape.bottlenecks)
    # The long flow shares each bottleneck with one other, and their loads add up to the rate.
    assert result.flow("f1").goodput_bps + result.flow("f2").goodput_bps < 2e6


@pytest.mark.slow
@pytest.mark.parametrize("name", ["parking_lot", "satellite"])
def test_the_examples_run_and_draw(name, tmp_path):
    path = Path(__file__).resolve().parents[2] / "examples" / f"{name}.py"
    done = subprocess.run(
        [sys.executable, path], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert [line.split()[0] for line in done.stdout.splitlines()][:2] in (
        ["newreno", "vegas"],
        ["newreno", "sack"],
    )
    (figure,) = tmp_path.glob("*.svg")
    assert figure.read_text().startswith("<svg")


@pytest.mark.parametrize(
    ("build", "argument", "suggestion"),
    [
        (lambda **more: topologies.dumbbell(pairs=1, rate="1 Mbit/s", delay="1 ms", **more), "rrt", "rtt"),
        (lambda **more: topologies.dumbbell(pairs=1, rate="1 Mbit/s", delay="1 ms", **more), "buffer", None),
        (
            lambda **more: topologies.parking_lot(hops=2, rate="1 Mbit/s", delay="1 ms", **more),
            "que",
            "queue",
        ),
        (lambda **more: topologies.multi_bottleneck(hops=2, **more), "acces_rate", "access_rate"),
        (lambda **more: topologies.last_hop_wireless(**more), "wired_dealy", "wired_delay"),
        (lambda **more: topologies.satellite(**more), "pair", "pairs"),
        (lambda **more: topologies.chain(hops=[HOP], pairs=[(1, 2)], **more), "tick_fase", "tick_phase"),
    ],
)
def test_builders_refuse_unknown_arguments(build, argument, suggestion):
    with pytest.raises(ScenarioError, match="is not an argument of topologies") as caught:
        build(**{argument: "5 ms"})
    assert (caught.value.field, caught.value.value) == (argument, '"5 ms"')
    assert caught.value.suggestion == suggestion
    assert "aqt" in caught.value.accepted


LOSS, SLOWER = [Forced(packets=[3])], [LinkChange(at="1 s", rate="0.5 Mbit/s")]
LINKS = {"impairments": LOSS, "changes": SLOWER}
BACK = {"reverse_impairments": LOSS, "reverse_changes": SLOWER}


@pytest.mark.parametrize(
    ("build", "expected"),
    [
        (
            lambda: topologies.dumbbell(pairs=1, rate="1 Mbit/s", delay="1 ms", **LINKS),
            ["r1-r2"],
        ),
        (
            lambda: topologies.dumbbell(pairs=1, rate="1 Mbit/s", delay="1 ms", **BACK),
            ["r2-r1"],
        ),
        (
            lambda: topologies.parking_lot(hops=2, rate="1 Mbit/s", delay="1 ms", **LINKS),
            ["r1-r2", "r2-r3"],
        ),
        (lambda: topologies.multi_bottleneck(hops=2, **BACK), ["r2-r1", "r3-r2"]),
        (lambda: topologies.last_hop_wireless(**LINKS), ["d1-r2", "r2-d1"]),
        (
            lambda: topologies.last_hop_wireless(wired_impairments=LOSS, wired_changes=SLOWER),
            ["r1-r2", "r2-r1"],
        ),
        (lambda: topologies.satellite(**LINKS), ["r1-r2", "r2-r1"]),
        (
            lambda: topologies.dumbbell(
                pairs=1, rate="1 Mbit/s", delay="1 ms", access_impairments=LOSS, access_changes=SLOWER
            ),
            ["d1-r2", "r1-s1", "r2-d1", "s1-r1"],
        ),
        (
            lambda: topologies.satellite(
                access_impairments={"s1-r1": LOSS, "r2-d20": LOSS},
                access_changes={"s1-r1": SLOWER, "r2-d20": SLOWER},
            ),
            ["r2-d20", "s1-r1"],
        ),
        (
            lambda: topologies.last_hop_wireless(
                access_impairments={"s2-r1": LOSS}, access_changes={"s2-r1": SLOWER}
            ),
            ["s2-r1"],
        ),
    ],
)
def test_impairments_and_changes_are_on_the_intended_links(build, expected):
    shape = build()
    assert sorted(link.name for link in shape.links if link.impairments) == expected
    assert sorted(link.name for link in shape.links if link.changes) == expected
    if len(shape.nodes) < 10:
        hosts_of_pair = {"from_": "s1", "to": "d1"}
        shape.scenario(rules="classic", duration="5 s", flows=[Flow(name="f", tcp="reno", **hosts_of_pair)])


@pytest.mark.parametrize("build", [topologies.satellite, topologies.last_hop_wireless])
def test_clocks_of_all_nodes_or_of_some_tick_at_a_stated_phase(build):
    assert {node.tick_phase for node in build().nodes} == {None}
    assert {node.tick_phase for node in build(tick_phase="0 s").nodes} == {"0 s"}
    some = {node.name: node.tick_phase for node in build(tick_phase={"s1": "0 s", "d1": "10 ms"}).nodes}
    assert {name: phase for name, phase in some.items() if phase} == {"s1": "0 s", "d1": "10 ms"}


def test_unknown_links_and_nodes_are_refused_with_a_near_miss():
    with pytest.raises(ScenarioError, match=r'access_impairments: "s1-r2".*did you mean `s1-r1`'):
        topologies.satellite(pairs=1, reverse_pairs=0, access_impairments={"s1-r2": LOSS})
    with pytest.raises(ScenarioError, match=r'access_changes: "r1-r2" is not accepted'):
        topologies.satellite(pairs=1, access_changes={"r1-r2": SLOWER})
    with pytest.raises(
        ScenarioError, match=r'tick_phase: "s01" is not accepted; expected one of r1, r2, s1, d1'
    ):
        topologies.satellite(pairs=1, reverse_pairs=0, tick_phase={"s01": "0 s"})


FLOWS = [{"name": "f", "from": "s1", "to": "d1", "tcp": "reno"}]
QUEUE = {"kind": "droptail", "limit": "7 packets"}


@pytest.mark.parametrize(
    ("kind", "members"),
    [
        ("dumbbell", {"pairs": 3, "rate": "10 Mbit/s", "delay": "20 ms"}),
        (
            "dumbbell",
            {
                "pairs": 2,
                "reverse_pairs": 1,
                "rate": "1.6 Mbit/s",
                "delay": "20 ms",
                "queue": QUEUE,
                "impairments": [{"kind": "bernoulli", "probability": 0.01}],
                "reverse_rate": "16 kbit/s",
                "reverse_delay": "30 ms",
                "reverse_queue": "codel",
                "changes": [{"at": "1 s", "rate": "1 Mbit/s"}],
                "rtt": ["100 ms", "0.2 s", "300.5 ms"],
                "access_rate": ["5 Mbit/s", "6 Mbit/s", "7 Mbit/s"],
                "access_impairments": {"s1-r1": [{"kind": "forced", "packets": [3]}]},
                "tick_phase": {"s1": "10 ms"},
                "aqt": ["r1", "d1"],
            },
        ),
        ("parking_lot", {"hops": 3, "rate": "1 Mbit/s", "delay": "10 ms", "queue": QUEUE}),
        ("multi_bottleneck", {"hops": 2, "sender_delay": "5 ms"}),
        ("last_hop_wireless", {"impairments": [{"kind": "forced", "packets": [7]}], "cross_rtt": "90 ms"}),
        ("satellite", {"pairs": 2, "reverse_pairs": 1}),
        (
            "chain",
            {
                "hops": [{"rate": "1 Mbit/s", "delay": "1 ms", "reverse_queue": "codel"}],
                "pairs": [(1, 2), (2, 1)],
            },
        ),
    ],
)
def test_a_topology_of_a_file_is_that_of_the_builder_with_its_name(kind, members):
    hops = {"hops": [Hop.from_dict(hop) for hop in members["hops"]]} if kind == "chain" else {}
    built = getattr(topologies, kind)(**{**members, **hops}).scenario(duration="5 s", flows=FLOWS)
    stated = {"duration": "5 s", "flows": FLOWS, "topology": {"kind": kind, **members}}
    read = dumbbell.Scenario.from_dict(stated)
    assert read == built
    assert (read.nodes, read.links) == (built.nodes, built.links)
    assert dumbbell.Scenario.from_text(json.dumps(stated)).links == built.links


def test_a_topology_may_have_further_nodes_and_links():
    shape = {"kind": "dumbbell", "pairs": 1, "rate": "1 Mbit/s", "delay": "1 ms"}
    extra = {"from": "r2", "to": "x", "rate": "1 Mbit/s", "delay": "1 ms", "duplex": True}
    scenario = dumbbell.Scenario.from_dict(
        {"duration": "5 s", "topology": shape, "nodes": ["x"], "links": [extra], "flows": FLOWS}
    )
    assert [node.name if isinstance(node, dumbbell.Node) else node for node in scenario.nodes] == [
        *("r1", "r2", "s1", "d1"),
        "x",
    ]
    assert [link.name for link in scenario.links][-2:] == ["r2-x", "x-r2"]


@pytest.mark.parametrize(
    ("topology", "message"),
    [
        ({"kind": "dumbell"}, 'topology.kind: "dumbell" is not accepted.*did you mean `dumbbell`'),
        ({"kind": "dumbbell", "pairs": 1}, "topology.rate: nothing is not accepted.*required"),
        ({"kind": "dumbbell", "pairs": 0}, "topology.pairs: 0 is not accepted.*at least 1"),
        ({"kind": "satellite", "pair": 1}, "topology.pair: this field is not accepted.*did you mean `pairs`"),
        (
            {"kind": "satellite", "rtt": "1 ms"},
            'topology.rtt: "1 ms" is not accepted; expected at least 550 ms',
        ),
        ({"kind": "satellite", "rate": "1"}, r'links.r1-r2.rate: "1" is not accepted; expected a rate'),
    ],
)
def test_errors_of_a_topology_name_its_member(topology, message):
    with pytest.raises(ScenarioError, match=message):
        dumbbell.Scenario.from_dict({"duration": "5 s", "flows": FLOWS, "topology": topology})


def test_a_misspelt_topology_has_a_near_miss():
    with pytest.raises(ScenarioError, match="did you mean `topology`"):
        dumbbell.Scenario.from_dict({"duration": "5 s", "flows": FLOWS, "toplogy": "satellite"})


def test_members_of_a_topology_can_be_changed():
    stated = {"duration": "5 s", "flows": FLOWS, "topology": "satellite"}
    scenario = dumbbell.Scenario.from_dict(stated)
    changed = scenario.with_values({"topology.rate": "5 Mbit/s", "links.r2-r1.rate": "1 Mbit/s"})
    rates = {link.name: link.rate for link in changed.links}
    assert (rates["r1-r2"], rates["r2-r1"]) == ("5 Mbit/s", "1 Mbit/s")
    built = topologies.satellite().scenario(duration="5 s", flows=FLOWS)
    with pytest.raises(ScenarioError, match=r"topology\.rate: .* the scenario states no topology"):
        built.with_values({"topology.rate": "5 Mbit/s"})
