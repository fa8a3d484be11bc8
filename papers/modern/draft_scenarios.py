"""The test cases of BBRv3's draft: single flows whose path or application changes, loses or aggregates."""

from __future__ import annotations

from functools import partial
from typing import Any

from .assumptions import Assumptions
from .network import Case, Data, bdp_bytes, bottleneck, bulk, drop_tail, flow, linux, probe, rate_of, rfc

DRAIN_CHANGES_MS = range(500, 700, 20)
"""When the rate falls in the runs for Drain, ms."""

DRAIN_RATES = {"tenth": 45, "most": 20}
"""The rate after it, of 50 Mb/s: a tenth lower, and by more than half, Mbit/s."""

DOWN_CHANGES_MS = range(2800, 4000, 50)
"""When the rate falls in the runs for DOWN, ms."""

LOSS_STEPS = {"5": 20, "1": 100}
"""Every so manieth packet is lost within Startup, by the loss rate in percent."""

LIMITED_LOSS_STEPS = {"12": 8, "1": 100}
"""The same of a flow that its application limits: it has fewer packets in a round trip, and six losses are needed."""

STATES = ("bbr3_state", "max_bw", "inflight_longterm", "bw_shortterm", "pacing_gain")


def _undisturbed(**more: Any) -> Data:
    """Return BBRv3 that does not enter ProbeRTT within a run, with further parameters."""
    return {"name": "bbr3", "probe_rtt_interval": "100 s", **more}


def _single(
    usual: Data, name: str, mbps: float = 50, rtt_ms: float = 40, duration_s: float = 25, **more: object
) -> Data:
    """Return one bulk flow over a deep queue, with the usual TCP and the states recorded."""
    states = probe(*STATES, flows=["f"])
    given: Data = {"queue": drop_tail(bdp_bytes(50, 40, 4)), "probes": [states], **more}
    return bottleneck(name, mbps, rtt_ms, bulk([("f", given.pop("tcp", usual))]), duration_s, **given)


def _changing(assumptions: Assumptions) -> dict[str, Data]:
    """Return bulk flows over a path that is steady, or whose rate changes."""
    states = probe(*STATES, flows=["f"])
    single = partial(_single, linux("bbr3", assumptions))
    window = probe("flight_size", "delivered", flows=["f"], period_ms=2)
    fine = probe("flight_size", flows=["f"], period_ms=0.25)
    slower: Data = {"mbps": 100, "duration_s": 50, "changes": [{"at": "20 s", "rate": rate_of(10)}]}
    return {
        "draft-steady": single("draft-steady", duration_s=42, from_s=10, probes=[states, window]),
        "draft-fine": single("draft-fine", duration_s=9, probes=[states, fine]),
        # The rate falls at some time; the claims find the runs in which it does as a state begins.
        **{
            f"draft-drain-{name}-{at}": single(
                f"draft-drain-{name}-{at}", duration_s=2, changes=[{"at": f"{at} ms", "rate": rate_of(rate)}],
                probes=[states, window, probe("srtt", flows=["f"], period_ms=5)],
            )
            for name, rate in DRAIN_RATES.items()
            for at in DRAIN_CHANGES_MS
        },
        # ProbeRTT, every 5 s, would end most of these stays in DOWN.
        **{
            f"draft-down-{at}": single(
                f"draft-down-{at}", duration_s=at / 1000 + 4, tcp=linux(_undisturbed(), assumptions),
                changes=[{"at": f"{at} ms", "rate": rate_of(45)}],
            )
            for at in DOWN_CHANGES_MS
        },
        "draft-small": single(
            "draft-small", mbps=0.5, rtt_ms=4, duration_s=60, from_s=10, queue=drop_tail(50_000),
            probes=[probe("cwnd", flows=["f"], period_ms=50)],
        ),
        "draft-faster": single(
            "draft-faster", mbps=10, duration_s=40, queue=drop_tail(bdp_bytes(100, 40, 2)),
            changes=[{"at": "20 s", "rate": rate_of(100)}],
        ),
        # A buffer of the path's length before the change leaves a long-term bound, which then has to grow.
        "draft-faster-short": single(
            "draft-faster-short", mbps=10, duration_s=40, queue=drop_tail(bdp_bytes(10, 40)),
            changes=[{"at": "20 s", "rate": rate_of(100)}],
        ),
        # The case needs losses: a buffer of the path's length after the change, less than what is in flight at it.
        "draft-slower": single("draft-slower", queue=drop_tail(bdp_bytes(10, 40)), **slower),
        "draft-slower-deep": single("draft-slower-deep", queue=drop_tail(bdp_bytes(100, 40, 2)), **slower),
        "draft-policer": single(
            "draft-policer", mbps=40, duration_s=60, from_s=20,
            queue={"kind": "policer", "rate": "10 Mbit/s", "burst": f"{bdp_bytes(10, 40)} bytes"},
            probes=[
                probe(*STATES, "inflight_shortterm", flows=["f"]),
                probe("delivered", flows=["f"], period_ms=5),
                probe("drops", link=True),
            ],
        ),
        # A start so slow that the minimum is 5 s old before the pipe is full.
        "draft-long-start": single(
            "draft-long-start", mbps=100, rtt_ms=900, duration_s=25, queue=drop_tail(bdp_bytes(100, 900, 2))
        ),
    }  # fmt: skip


def _impaired(assumptions: Assumptions) -> dict[str, Data]:
    """Return bulk flows over a path that loses, reorders, delays or aggregates."""
    tcp = linux("bbr3", assumptions)
    deep = drop_tail(bdp_bytes(50, 40, 4))
    # Rounds of CRUISE for which the draft expects that the full rate is found again.
    long = linux(_undisturbed(probe_rounds=137, probe_wait="6 s"), assumptions)
    aggregated = bottleneck(
        "draft-aggregated", 50, 40, bulk([("f", tcp)]), 42, from_s=10, queue=deep,
        probes=[probe("bbr3_state", "max_bw", "extra_acked", "cwnd", flows=["f"], period_ms=5)],
    )  # fmt: skip
    # Acknowledgements of 10 ms arrive at once.
    aggregated["links"][1]["opportunities"] = {"times": [10]}
    # The draft reckons with a round trip that loses 1 %, each time: every hundredth packet, and beside it losses at random.
    losses: dict[str, Data] = {
        "": {"kind": "forced", "packets": list(range(100, 300_000, 100))},
        "-random": {"kind": "bernoulli", "probability": 0.01},
    }
    return {
        **{
            f"draft-lossy{name}": bottleneck(
                f"draft-lossy{name}", 50, 40, bulk([("f", long)]), 60, from_s=10, queue=deep,
                impairments=[loss], probes=[probe(*STATES, flows=["f"])],
            )
            for name, loss in losses.items()
        },
        **{
            f"draft-startup-loss-{name}": bottleneck(
                f"draft-startup-loss-{name}", 500, 40, bulk([("f", tcp)]), 2, queue=drop_tail(bdp_bytes(500, 40, 4)),
                impairments=[{"kind": "forced", "packets": list(range(100, 3000, step))}],
                probes=[probe(*STATES, flows=["f"])],
            )
            for name, step in LOSS_STEPS.items()
        },
        "draft-aggregated": aggregated,
        "draft-reordered": bottleneck(
            "draft-reordered", 50, 40, bulk([("f", tcp)]), 40, from_s=10, queue=deep,
            impairments=[{"kind": "reorder", "delay": "15 ms", "probability": 0.01}],
            probes=[probe("bbr3_state", "inflight_longterm", "bw_shortterm", "tcp_events", flows=["f"])],
        ),
        # A spike within UP. A buffer of half of the path leaves a bound, and no ProbeRTT is due.
        "draft-spike": bottleneck(
            "draft-spike", 50, 40,
            bulk([("f", rfc(_undisturbed(), assumptions, recovery={"kind": "rack", "frto": "rfc5682"}))]), 20,
            queue=drop_tail(bdp_bytes(50, 40, 0.5)),
            changes=[{"at": "13.15 s", "delay": "1500 ms"}, {"at": "13.155 s", "delay": "20 ms"}],
            probes=[probe(*STATES, "inflight_shortterm", "tcp_events", flows=["f"])],
        ),
    }  # fmt: skip


def _limited(assumptions: Assumptions, *, quick: bool) -> dict[str, Data]:
    """Return flows that their application limits."""
    tcp = linux("bbr3", assumptions)
    deep = drop_tail(bdp_bytes(50, 40, 4))
    media = {"kind": "streaming", "bitrates": ["1 Mbit/s"], "segment": "100 ms", "reservoir": "100 ms",
             "cushion": "100 ms", "buffer": "200 ms", "startup": "100 ms"}  # fmt: skip
    rare = media | {
        "segment": "6 s",
        "buffer": "7 s",
        "bitrates": ["2 Mbit/s"],
        "reservoir": "1 s",
        "cushion": "1 s",
    }
    # One answer in fifty fills the pipe, so that Startup ends; the others are a quarter of it.
    answers = {
        "kind": "incast", "senders": 1, "pause": "20 ms",
        "sizes": {"kind": "empirical", "sizes": ["50 kB", "60 kB", "10 MB", "10 MB"], "shares": [0, 0.98, 0.98, 1]},
    }  # fmt: skip
    states = probe(*STATES, flows=["f"])
    windows = probe("flight_size", "cwnd", flows=["f"], period_ms=5)
    duration = 60 if quick else 120
    made: dict[str, tuple[Data, float, list[Data], list[Data]]] = {
        "draft-limited": (media, 20, [states], []),
        "draft-idle": (rare, 60, [states], []),
        "draft-answers": (answers, duration, [states, windows], []),
        # Every two seconds or so, 20 ms in which half of the packets are lost.
        "draft-answers-lossy": (
            answers, duration, [states, windows, probe("drops", link=True)],
            [{"kind": "twostate", "good": "2 s", "bad": "20 ms", "loss": 0.5}],
        ),
    }  # fmt: skip
    # 20 Mbit/s on average, in segments of 250 kB, a path's length each.
    pieces = media | {"bitrates": ["20 Mbit/s"]}
    for name, step in LIMITED_LOSS_STEPS.items():
        losses = [{"kind": "forced", "packets": list(range(1500, 3000, step))}]
        made[f"draft-startup-limited-{name}"] = (pieces, 4, [states, windows], losses)
    return {
        key: bottleneck(
            key, 50, 40, [flow("f", tcp, source=source)], length, queue=deep, probes=probes,
            impairments=impairments,
        )
        for key, (source, length, probes, impairments) in made.items()
    }  # fmt: skip


RANDOM = ("draft-lossy", "draft-reordered", "draft-answers")


def draft_cases(assumptions: Assumptions, *, quick: bool) -> list[Case]:
    """Return the scenarios of the draft's test cases; quick ones are shorter."""
    made = {**_changing(assumptions), **_impaired(assumptions), **_limited(assumptions, quick=quick)}
    return [
        Case(key=key, stage="models", data=data, is_random=key.startswith(RANDOM))
        for key, data in made.items()
    ]
