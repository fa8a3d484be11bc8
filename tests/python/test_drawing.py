"""Drawings of networks: labels and positions."""

import itertools
import math

import pytest

from dumbbell import Bernoulli, DropTail, Flow, Forced, Scenario, ScenarioError, plots, topologies
from dumbbell.topologies import Hop

SHAPES = {
    "dumbbell": topologies.dumbbell(pairs=2, rate="1.6 Mbit/s", delay="50 ms"),
    "long parking lot": topologies.parking_lot(hops=7, rate="1 Mbit/s", delay="10 ms", aqt=True),
    "multi-bottleneck": topologies.multi_bottleneck(hops=3),
    "wireless": topologies.last_hop_wireless(impairments=["bernoulli"]),
    "satellite": topologies.satellite(impairments=[Bernoulli(probability=0.1)]),
    "many at the middle": topologies.chain(
        hops=[Hop(rate="1 Mbit/s", delay="1 ms")] * 3, pairs=[(2, 3)] * 30 + [(3, 2)] * 30
    ),
    "one router": topologies.chain(hops=[Hop(rate="1 Mbit/s", delay="1 ms")], pairs=[(1, 1)]),
}


def texts(figure):
    (ax,) = figure.axes
    return [text.get_text() for text in ax.texts]


def places(figure):
    return {text.get_text(): text.get_position() for text in figure.axes[0].texts}


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_nodes_do_not_overlap_and_are_within_the_drawing(shape):
    figure = topologies.draw(shape, title="a network", labels={"s1": "greedy"})
    (ax,) = figure.axes
    assert ax.get_title() == "a network"
    names = {node.name for node in shape.nodes}
    drawn = {name: at for name, at in places(figure).items() if name in names}
    assert {name for name in names if name.startswith("r")} <= set(drawn)
    for one, two in itertools.combinations(drawn.values(), 2):
        assert math.dist(one, two) > 0.5
    (left, right), (floor, top) = ax.get_xlim(), ax.get_ylim()
    assert all(left < x < right and floor < y < top for x, y in drawn.values())
    assert plots.to_svg(figure).startswith("<svg")


def test_what_links_have_in_common_is_said_once():
    said = texts(topologies.draw(SHAPES["multi-bottleneck"]))
    assert said.count("10 Mbit/s, 10 ms") == 3
    assert said[-1] == "access links: 100 Mbit/s, 20 ms; queues between routers: 125 packets"
    assert not any("queue" in text for text in said[:-1])


def test_a_different_reverse_link_has_an_arrow():
    shape = topologies.dumbbell(
        pairs=1,
        rate="1.6 Mbit/s",
        delay="20 ms",
        queue=DropTail(limit="50 packets"),
        reverse_rate="16 kbit/s",
        reverse_queue="droptail",
        reverse_impairments=[Forced(packets=[1])],
    )
    said = texts(topologies.draw(shape, notes={"r2-r1": "the slow way"}))
    assert "→ 1.6 Mbit/s, 20 ms\n← 16 kbit/s, 20 ms" in said
    assert "→ queue 50 packets\n← queue unlimited\n← forced loss\nthe slow way" in said
    assert said[-1] == "access links: 100 Mbit/s, 0.1 ms"


def test_different_access_links_are_labelled():
    shape = topologies.last_hop_wireless(impairments=[Bernoulli(probability=0.1)])
    figure = topologies.draw(shape)
    said = texts(figure)
    assert "2 Mbit/s, 20 ms\nqueue 42 packets\nbernoulli loss" in said
    assert "95 ms" in said
    assert said[-1] == "access links: 100 Mbit/s unless stated; queues between routers: 208 packets"
    broken = [line for line in figure.axes[0].lines if line.get_linestyle() == "--"]
    assert len(broken) == 1


def test_the_line_between_routers_is_broken_where_packets_are_lost():
    for impairments, style in ((None, "-"), ([Forced(packets=[1])], "--")):
        shape = topologies.dumbbell(pairs=1, rate="1 Mbit/s", delay="1 ms", reverse_impairments=impairments)
        (line,) = topologies.draw(shape).axes[0].patches
        assert line.get_linestyle() == style


def test_nodes_that_stamp_queueing_times_are_tinted():
    figure = topologies.draw(topologies.dumbbell(pairs=1, rate="1 Mbit/s", delay="1 ms", aqt=["r2"]))
    fill = {
        text.get_text(): text.get_bbox_patch().get_facecolor()
        for text in figure.axes[0].texts
        if text.get_bbox_patch() is not None
    }
    assert fill["r1"] == fill["s1"] != fill["r2"]
    assert texts(figure)[-1].replace("\n", " ").endswith("tinted nodes stamp queueing times")


def test_two_hosts_and_the_last_are_drawn_of_many_and_pairs_are_opposite():
    figure = topologies.draw(SHAPES["satellite"])
    said = texts(figure)
    assert [name for name in said if name[0] in "sd" and name[1:].isdigit()] == [
        *("s1", "s2", "s20", "d21", "d22", "d30"),
        *("d1", "d2", "d20", "s21", "s22", "s30"),
    ]
    assert said.count("⋮") == 4
    at = places(figure)
    assert [at[f"s{n}"][1] for n in (1, 2, 20, 21, 30)] == [at[f"d{n}"][1] for n in (1, 2, 20, 21, 30)]


def test_any_network_of_a_scenario_can_be_drawn():
    links = [
        {"name": f"{a}{b}", "from": a, "to": b, "rate": "1 Mbit/s", "delay": "10 ms"}
        for a, b in itertools.permutations(["paris", "rome", "oslo"], 2)
    ]
    links += [
        {"name": f"{a}{b}", "from": a, "to": b, "rate": "9 Mbit/s", "delay": "1 ms"}
        for a, b in [("alice", "paris"), ("paris", "alice"), ("bob", "oslo"), ("oslo", "bob")]
    ]
    ring = Scenario(
        rules="classic",
        duration="1 s",
        nodes=["alice", "bob", "paris", "rome", "oslo"],
        links=links,
        flows=[Flow(name="f", from_="alice", to="bob", tcp="reno")],
    )
    figure = topologies.draw(ring, labels={"alice": "sends"}, notes={"parisoslo": "the direct way"})
    at = places(figure)
    assert [at[name][0] for name in ("alice", "paris", "rome", "oslo", "bob")] == sorted(
        at[name][0] for name in ("alice", "paris", "rome", "oslo", "bob")
    )
    # The direct line crosses the router in between.
    assert at["the direct way"][1] > at["rome"][1]
    assert texts(figure)[-1] == "access links: 9 Mbit/s, 1 ms; queues between routers: unlimited"


def test_two_hosts_without_a_router_stand_beside_each_other():
    ways = [
        {"name": name, "from": a, "to": b, "rate": "1 Mbit/s", "delay": "10 ms"}
        for name, a, b in (("to", "left", "right"), ("fro", "right", "left"))
    ]
    figure = topologies.draw(topologies.Topology(nodes=("left", "right"), links=tuple(ways)))
    assert texts(figure) == ["1 Mbit/s, 10 ms", "left", "right", "queues between routers: unlimited"]


def test_a_link_without_a_reverse_link_has_an_arrow():
    way = {"name": "to", "from": "left", "to": "right", "rate": "1 Mbit/s", "delay": "10 ms"}
    figure = topologies.draw(topologies.Topology(nodes=("left", "right"), links=(way,)))
    assert texts(figure) == ["→ 1 Mbit/s, 10 ms", "→ queue unlimited", "left", "right"]


def test_changes_of_a_link_are_shown_with_their_times():
    ways = [
        {"name": name, "from": a, "to": b, "rate": "1 Mbit/s", "delay": "10 ms", "changes": changes}
        for name, a, b, changes in (
            ("to", "a", "b", [{"at": "60 s", "delay": "40 ms"}]),
            ("fro", "b", "a", None),
        )
    ]
    figure = topologies.draw(topologies.Topology(nodes=("a", "b"), links=tuple(ways)))
    assert texts(figure)[:2] == ["1 Mbit/s, 10 ms", "→ changes at 60 s"]


def test_nothing_cannot_be_drawn():
    with pytest.raises(ScenarioError, match="nodes: 0 is not accepted; expected at least one node"):
        topologies.draw(topologies.Topology(nodes=(), links=()))


def test_labels_and_notes_for_unknown_parts_are_refused():
    shape = SHAPES["dumbbell"]
    with pytest.raises(ScenarioError, match='labels: "s3" is not accepted; expected d1, d2, s1, s2'):
        topologies.draw(shape, labels={"s3": "Vegas"})
    with pytest.raises(ScenarioError, match='notes: "s1-r1" is not accepted; expected r1-r2, r2-r1'):
        topologies.draw(shape, notes={"s1-r1": "fast"})
