"""The sender: recovery segment by segment, slow start, timers, acknowledgements."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from .assumptions import Assumptions
from .network import (
    Case,
    Data,
    bdp_bytes,
    bottleneck,
    bulk,
    drop_tail,
    flow,
    linux,
    milliseconds,
    probe,
    rfc,
)

SPACING_MS = 1.0
"""Time between segments of the scripted recoveries, ms."""

# Slow start with a step of the round-trip time: the time before, the step, both ms, and whether it is to be seen.
HYSTART_STEPS: Sequence[tuple[float, float, bool]] = (
    (200, 18, True),
    (200, 15, False),
    (20, 4.2, True),
    (20, 3.8, False),
    (100, 12.7, True),
    (100, 12.3, False),
    (24, 4.2, True),
    (24, 3.8, False),
)


def hystart_key(rtt_ms: float, step_ms: float) -> str:
    """Return the name of a scenario of slow start."""
    return f"hystart-{rtt_ms:g}-{step_ms:g}"


def _scripted(key: str, recovery: Data, window: int, lost: Sequence[int], assumptions: Assumptions) -> Case:
    """Return a window of segments, a millisecond apart, of which stated ones are lost."""
    tcp = rfc(
        "reno",
        assumptions,
        recovery=recovery,
        initial_window=f"{window} segments",
        initial_ssthresh=f"{window} segments",
        timer={"kind": "rfc6298", "minimum": "1 s"},
    )
    data = bottleneck(
        name=key,
        # 1040 bytes take a millisecond.
        mbps=8.32 / SPACING_MS,
        rtt_ms=200,
        flows=[flow("f", tcp, source={"kind": "transfer", "size": "80 kB"})],
        duration_s=3,
        impairments=[{"kind": "forced", "packets": list(lost)}],
        probes=[probe("seq_sent", "seq_acked", "flight_size", "tcp_events", flows=["f"])],
    )
    return Case(key=key, stage="sender", data=data)


def _hystart(rtt_ms: float, step_ms: float, assumptions: Assumptions) -> Case:
    key = hystart_key(rtt_ms, step_ms)
    tcp = rfc("reno", assumptions, initial_window="16 segments", window={"slow_start": {"name": "hystartpp"}})
    data = bottleneck(
        name=key,
        mbps=100_000,
        rtt_ms=rtt_ms,
        flows=[flow("f", tcp)],
        duration_s=rtt_ms / 1000 * 11.5,
        # In the middle of the third round.
        changes=[{"at": milliseconds(2.5 * rtt_ms), "delay": milliseconds(rtt_ms / 2 + step_ms)}],
        probes=[probe("tcp_events", flows=["f"]), probe("cwnd_base", flows=["f"], period_ms=rtt_ms / 20)],
    )
    return Case(key=key, stage="sender", data=data)


def _classic(assumptions: Assumptions) -> list[Case]:
    """Return slow starts of CUBIC, each also without a limit of the queue, and with an acknowledgement of each segment."""
    made = []
    path, segmentwise = drop_tail(bdp_bytes(10, 40)), {"delayed_ack": "off"}
    ways: dict[str, tuple[Data, Data]] = {
        "": (path, {}),
        "-unlimited": (drop_tail(None), {}),
        "-every": (path, segmentwise),
    }
    for start, (suffix, (queue, more)) in itertools.product(("hystart", "standard"), ways.items()):
        key = f"start-{start}{suffix}"
        tcp = linux("cubic", assumptions, window={"slow_start": {"name": start}}, **more)
        data = bottleneck(
            name=key,
            mbps=10,
            rtt_ms=40,
            flows=bulk([("f", tcp)]),
            duration_s=1.5,
            queue=queue,
            probes=[probe("tcp_events", flows=["f"]), probe("backlog", "drops", link=True)],
        )
        made.append(Case(key=key, stage="sender", data=data))
    return made


def _timeouts(assumptions: Assumptions) -> list[Data]:
    constant = linux("reno", assumptions, mss="1000 bytes", receive_buffer="20 segments")
    first = rfc(
        "reno", assumptions, timer={"kind": "rfc6298", "minimum": "1 ms"}, initial_window="2 segments"
    )
    short = [flow("f", first, source={"kind": "transfer", "size": "2 kB"})]
    timeout = [probe("rto", flows=["f"])]
    return [
        bottleneck("rto-constant", 1000, 50, bulk([("f", constant)]), 10, probes=timeout),
        bottleneck("rto-first", 100_000, 100, short, 1, probes=timeout),
    ]


def _tails(assumptions: Assumptions) -> list[Data]:
    """Return transfers whose last segments are lost, by the rules of the RFCs and of Linux."""
    made = []
    for form, rules in (("rfc", rfc), ("linux", linux)):
        tcp = rules("reno", assumptions, mss="1000 bytes") | {"initial_window": "10 segments"}
        if tcp.get("recovery", "rack") == "sack":
            tcp["recovery"] = "rack"
        data = bottleneck(
            f"tail-{form}",
            1000,
            100,
            [flow("f", tcp, source={"kind": "transfer", "size": "13 kB"})],
            3,
            impairments=[{"kind": "forced", "packets": [11, 12, 13]}],
            probes=[probe("seq_sent", "seq_acked", flows=["f"])],
        )
        made.append(data)
    return made


def _spikes(assumptions: Assumptions) -> list[Data]:
    """Return transfers whose round-trip time rises for a moment, with and without F-RTO."""
    # With the way of 50 ms, three timeouts of 300 ms in all.
    spike_ms = 3 * 300 - 50
    made = []
    for frto in ("rfc5682", "off"):
        tcp = rfc(
            "reno",
            assumptions,
            recovery={"kind": "rack", "frto": frto, "tlp": False},
            initial_window="20 segments",
            initial_ssthresh="20 segments",
            timer={"kind": "rfc6298", "minimum": "300 ms"},
        )
        data = bottleneck(
            f"spike-{frto}",
            10,
            50,
            [flow("f", tcp, source={"kind": "transfer", "size": "4000 kB"})],
            12,
            changes=[
                {"at": "2 s", "delay": milliseconds(25 + spike_ms)},
                {"at": "2.06 s", "delay": "25 ms"},
            ],
            probes=[probe("tcp_events", flows=["f"])],
        )
        made.append(data)
    return made


def _timers(assumptions: Assumptions) -> list[Case]:
    made = (*_timeouts(assumptions), *_tails(assumptions), *_spikes(assumptions))
    return [Case(key=data["name"], stage="sender", data=data) for data in made]


def _acknowledgements(assumptions: Assumptions) -> list[Case]:
    tcp = linux("reno", assumptions, mss="1000 bytes", recovery="newreno")
    many = bottleneck(
        "acks-bulk", 10, 20, [flow("f", {**tcp, "receive_buffer": "20 segments"})], 10, from_s=2
    )
    # 16 segments are acknowledged at once, and 4 in pairs; the last one is alone.
    alone = bottleneck(
        "acks-alone",
        10,
        20,
        [flow("f", {**tcp, "initial_window": "21 segments"}, source={"kind": "transfer", "size": "21 kB"})],
        2,
        probes=[probe("seq_sent", "seq_acked", flows=["f"])],
    )
    first = bottleneck(
        "first-window",
        100_000,
        100,
        [
            flow(
                "f",
                linux("reno", assumptions, mss="1460 bytes"),
                source={"kind": "transfer", "size": "100 kB"},
            )
        ],
        1,
        probes=[probe("seq_sent", flows=["f"])],
    )
    return [
        Case(key="acks-bulk", stage="sender", data=many),
        Case(key="acks-alone", stage="sender", data=alone),
        Case(key="first-window", stage="sender", data=first),
    ]


POPULATION_QUEUES = (15, 30, 60)
"""Packets that may wait on the paths of `population`."""


def _population(assumptions: Assumptions, *, quick: bool) -> list[Case]:
    """Return short transfers, like those of web servers, through short queues, with and without proportional reduction.

    Their sizes are lognormal with a mean of 50 kB, and they load a path of 10 Mbit/s and 100 ms by 70 %.
    """
    transfers = {
        "kind": "transfers",
        "arrivals": {"kind": "poisson", "interval": "57 ms"},
        "sizes": {"kind": "lognormal", "median": "30300 bytes", "sigma": 1.0},
    }

    def case(bound: str, packets: int, duration_s: float, part: str, probes: Sequence[Data]) -> Case:
        recovery = {"kind": "rack", "prr": bound, "tlp": False}
        tcp = rfc("cubic", assumptions, recovery=recovery, timer={"kind": "rfc6298", "minimum": "200 ms"})
        key = f"population-{part}-{bound}-{packets}"
        data = bottleneck(
            name=key,
            mbps=10,
            rtt_ms=100,
            flows=[flow("f", tcp, source=transfers)],
            duration_s=duration_s,
            queue=drop_tail(packets, "packets"),
            probes=probes,
        )
        return Case(key=key, stage="sender", data=data, is_random=True)

    return [
        made
        for bound in ("off", "ssrb")
        for packets in POPULATION_QUEUES
        for made in (
            case(bound, packets, 60, "losses", [probe("tcp_events", flows=["f"])]),
            # Timeouts differ by a few percent: it takes some ten thousand of them.
            case(bound, packets, 600 if quick else 1200, "timeouts", []),
        )
    ]


REORDERED_RTT_MS = 213.0
"""Round-trip time of `rack-reordered`: 104.9 ms, 108 ms of delay that reorders, and 0.1 ms of transmission."""


def _reordering(assumptions: Assumptions) -> Case:
    """Return a paced flow, of which some packets overtake others by 8 or 100 ms, and single ones are lost.

    A packet that overtakes others by 8 ms shows that there is reordering; one that does by 100 ms sets the minimum, and
    causes retransmissions in vain. These are two, before the second loss and before the third.
    """
    tcp = rfc(
        {"name": "aimd", "decrease": 0.95},
        assumptions,
        recovery={"kind": "rack", "tlp": False},
        initial_window="42 segments",
        initial_ssthresh="42 segments",
        receive_buffer="42 segments",
        # Without a queue, the round-trip time is constant.
        pacing={"slow_start_ratio": 1.0, "ratio": 1.0},
    )
    data = bottleneck(
        "rack-reordered",
        # 1040 bytes take 0.1 ms.
        83.2,
        104.9,
        [flow("f", tcp)],
        60,
        impairments=[
            {"kind": "reorder", "delay": "8 ms", "probability": 1.0, "gap": 260},
            {"kind": "reorder", "delay": "100 ms", "probability": 1.0, "gap": 3000},
            {"kind": "forced", "packets": [1000, 4000, *(6300 + 150 * index for index in range(17))]},
        ],
        probes=[probe("seq_sent", "tcp_events", flows=["f"])],
    )
    return Case(key="rack-reordered", stage="sender", data=data)


def sender_cases(assumptions: Assumptions, *, quick: bool) -> list[Case]:
    """Return the scenarios of the sender."""
    bounds = {bound: {"kind": "rack", "prr": bound, "tlp": False} for bound in ("ssrb", "crb", "rfc9937")}
    return [
        _scripted("prr-one", bounds["ssrb"], 20, [1], assumptions),
        *(_scripted(f"prr-burst-{bound}", bounds[bound], 20, range(1, 16), assumptions) for bound in bounds),
        _scripted("rack-hole", {"kind": "rack", "tlp": False}, 20, [5], assumptions),
        _reordering(assumptions),
        *(_hystart(rtt, step, assumptions) for rtt, step, _ in HYSTART_STEPS),
        *_classic(assumptions),
        *_timers(assumptions),
        *_acknowledgements(assumptions),
        *_population(assumptions, quick=quick),
    ]
