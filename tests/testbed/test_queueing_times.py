"""Queueing times in real packets: checksums stay right, and RoVegas has the advantage over Vegas that its paper states.

`make testbed` runs this, for about two minutes.
"""

from __future__ import annotations

import pytest

import dumbbell
from dumbbell import Flow, Tcp, statistics, testbed
from dumbbell.topologies import Hop, chain

# Data packets of 1000 bytes on the forward link of 1.6 Mbit/s [chan2004 §6.1].
PACKET, FORWARD = 1000, 200.0
HEADERS, OPTION = 52, 8

# The asymmetric factor: data packets in the time of one acknowledgement on the way back.
K = 4
RUNS = 5


def tcp(variant: str, mss: int, **congestion: object) -> Tcp:
    """Rules of TCP that the kernel follows, and the mechanisms of Vegas that it can have."""
    return Tcp.from_dict(
        {
            "congestion": {"name": variant, **congestion},
            "mechanisms": "ABFGI",
            "recovery": "sack",
            "mss": f"{mss} bytes",
            "headers": {"data": f"{HEADERS} bytes", "ack": f"{HEADERS} bytes"},
            "timestamps": True,
            "timer": {"minimum": "200 ms"},
            "window": {"reduction_base": "real-window"},
        }
    )


@pytest.fixture
def with_groups(machine):
    """Skips without control groups, which queueing times need."""
    (groups,) = [check for check in machine if check.check == testbed.GROUPS]
    if groups.status != "ok":
        pytest.skip(f"{groups.check}: {groups.detail}; {groups.remedy}")


def test_a_million_packets_have_right_checksums(with_groups):
    """Four connections keep 200 packets queued at two links, so that nearly every packet carries a queueing time."""
    hop = Hop(rate="100 Mbit/s", delay="2 ms", queue={"kind": "droptail", "limit": "300 packets"})
    shape = chain(
        hops=[hop, hop],
        pairs=[(1, 3)] * 4,
        aqt=[
            *(f"r{number}" for number in (1, 2, 3)),
            *(f"{end}{number}" for end in "sd" for number in range(1, 5)),
        ],
        access_rate="200 Mbit/s",
        access_delay="1 ms",
    )
    mss = 1500 - HEADERS - OPTION
    flows = [
        Flow(
            name=f"f{number}",
            from_=f"s{number}",
            to=f"d{number}",
            tcp=tcp("rovegas", mss, alpha=40.0, beta=60.0),
        )
        for number in range(1, 5)
    ]
    # 16,400 packets a second: data and, without delay, their acknowledgements.
    run = testbed.run(shape.scenario(rules="classic", duration="65 s", measure_from="0 s", flows=flows))
    packets = sum(run.link(name).packets for name in ("r1-r2", "r2-r1"))
    waits = run.link("r1-r2").wait_mean_s
    state = run.summary["testbed"]
    print(f"{packets} packets, mean wait {1e3 * waits:.1f} ms, {state['checksum_errors']} wrong checksums")
    assert packets >= 1e6
    assert waits > 0.005
    assert (state["checksum_errors"], state["write_errors"], state["refused"]) == (0, 0, 0)


def asymmetric(variant: str) -> dumbbell.Scenario:
    """One connection whose acknowledgements have 1/K of the rate of its data packets [chan2004 §6.1]."""
    option = OPTION if variant == "rovegas" else 0
    hop = Hop(
        rate="1.6 Mbit/s",
        delay="20 ms",
        queue={"kind": "droptail", "limit": "10 packets"},
        reverse_rate=f"{round(FORWARD / K * 8 * (HEADERS + option))} bit/s",
    )
    shape = chain(
        hops=[hop], pairs=[(1, 2)], aqt=["r1", "r2", "s1", "d1"], access_rate="10 Mbit/s", access_delay="1 ms"
    )
    # What the paper leaves open is chosen as in its reproduction, papers/rovegas/assumptions.py.
    rules = tcp(
        variant,
        PACKET - HEADERS - option,
        alpha=1.0,
        beta=3.0,
        gamma=1.0,
        round_diff=True,
        rtt="mean",
        numerator="window",
        increase="at-once",
    )
    flow = Flow(name="c1", from_="s1", to="d1", tcp=rules, start={"uniform": ["0 s", "1 s"]})
    return shape.scenario(rules="classic", duration="60 s", measure_from="30 s", flows=[flow])


def test_rovegas_has_twice_the_goodput_of_vegas_behind_a_slow_way_back(with_groups):
    scenarios = {variant: asymmetric(variant) for variant in ("vegas", "rovegas")}
    jobs = [dumbbell.Job(scenario, 1, run) for scenario in scenarios.values() for run in range(RUNS)]
    runs = testbed.run_many(jobs, at_once=2 * RUNS)
    goodput = {
        variant: [run.flow("c1").goodput_bps / 1e6 for run in runs if run.scenario == scenario]
        for variant, scenario in scenarios.items()
    }
    for variant, values in goodput.items():
        print(f"{variant}: {statistics.mean_interval(values)} Mbit/s")
    ratio = min(goodput["rovegas"]) / max(goodput["vegas"])
    simulated = [dumbbell.run(scenario).flow("c1").goodput_bps for scenario in scenarios.values()]
    print(f"smallest over largest: {ratio:.2f}; simulated: {simulated[1] / simulated[0]:.2f}")
    assert all(len(values) == RUNS for values in goodput.values())
    # Without queueing times, the window follows the way back: Vegas has 1/K of the forward rate.
    ideal = 1.6 * (PACKET - HEADERS) / PACKET / K
    assert all(abs(value / ideal - 1) < 0.05 for value in goodput["vegas"])
    assert ratio >= 2
    assert max(goodput["rovegas"]) <= 1.6
