"""The field's shapes of networks."""

from __future__ import annotations

import pytest

import dumbbell
from dumbbell import DropTail, Flow, Forced, Greedy, topologies
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


@pytest.mark.parametrize(
    "make",
    [
        lambda: topologies.dumbbell(pairs=0, rate="1 Mbit/s", delay="1 ms"),
        lambda: topologies.dumbbell(pairs=2, rate="1 Mbit/s", delay="1 ms", access_delay=["1 ms"]),
        lambda: topologies.parking_lot(hops=0, rate="1 Mbit/s", delay="1 ms"),
        lambda: topologies.chain(hops=[Hop(rate="1 Mbit/s", delay="1 ms")], pairs=[(1, 3)]),
    ],
)
def test_impossible_shapes_are_refused(make):
    with pytest.raises(ValueError, match=r"at least|accepted"):
        make()


def test_data_crosses_every_bottleneck_of_a_parking_lot():
    shape = topologies.parking_lot(hops=2, rate="2 Mbit/s", delay="5 ms")
    scenario = shape.scenario(name="lot", duration="20 s", flows=[flow(1), flow(2), flow(3)])
    result = dumbbell.run(scenario)
    assert (result.flows.goodput_bps > 1e5).all()
    assert all(result.link(name).utilization > 0.9 for name in shape.bottlenecks)
    # The long flow shares each bottleneck with one other, and their loads add up to the rate.
    assert result.flow("f1").goodput_bps + result.flow("f2").goodput_bps < 2e6
