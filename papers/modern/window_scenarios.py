"""Windows under periodic loss, and windows of one flow whose losses are given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .assumptions import Assumptions
from .network import Case, Data, bottleneck, bulk, drop_tail, flow, linux, probe, rfc

# The law of CUBIC: segments between losses, round-trip time in ms, and a window to start at, in segments.
CUBIC_LOSSES: Sequence[tuple[int, float, int]] = (
    (10**3, 100, 38),
    (10**4, 100, 187),
    (10**5, 100, 1054),
    (10**6, 100, 5926),
    (10**7, 10, 5926),
    (10**7, 100, 33325),
)

EPOCHS_LEFT_OUT = 3

LAWFUL_CUBIC: Data = {"name": "cubic", "fast_convergence": False}
"""The law leaves out fast convergence, which a window just below its maximum sets off in every epoch."""

UNLIMITED = 1_000_000.0


def law_key(name: str, every: int, rtt_ms: float) -> str:
    """Return the name of a scenario of periodic loss."""
    return f"law-{name}-{every}-{rtt_ms:g}"


def _law(
    name: str,
    congestion: str | Data,
    every: int,
    rtt_ms: float,
    begin: int,
    assumptions: Assumptions,
    *,
    quick: bool,
) -> Case:
    """Return a flow that loses one in so many segments, on a path without bounds."""
    left_out, counted = (1, 1) if quick and every >= 10**6 else (EPOCHS_LEFT_OUT, 2 if every >= 10**6 else 8)
    epochs = left_out + counted + 1
    # Slow start ends at the maximum of CUBIC's epochs, 1/0.925 of the mean; the first loss follows at once.
    maximum = round(begin / 0.925)
    first = round(2.2 * maximum) + 20
    tcp = rfc(congestion, assumptions, initial_ssthresh=f"{maximum} segments")
    # An epoch takes its segments over the mean window, in round-trip times; a tenth is left for smaller windows.
    duration_s = 1.1 * epochs * every / begin * rtt_ms / 1000 + 2
    data = bottleneck(
        name=law_key(name, every, rtt_ms),
        mbps=UNLIMITED,
        rtt_ms=rtt_ms,
        flows=bulk([("f", tcp)]),
        duration_s=duration_s,
        impairments=[{"kind": "forced", "packets": [first + every * index for index in range(3 * epochs)]}],
        probes=[probe("losses", link=True), probe("tcp_events", flows=["f"])],
    )
    return Case(key=law_key(name, every, rtt_ms), stage="windows", data=data)


def cubic_epoch(
    key: str, assumptions: Assumptions, *, window: int, rtt_ms: float, lost: Sequence[int], duration_s: float,
    period_ms: float, probes: Sequence[str] = ("cwnd_base", "w_max"), is_by_reports: bool = False, **parameters: Any,
) -> Case:  # fmt: skip
    """Return a flow of CUBIC that starts in congestion avoidance with a window and loses stated segments."""
    tcp = rfc(
        {"name": "cubic", **parameters},
        assumptions,
        initial_window=f"{window} segments",
        initial_ssthresh=f"{window} segments",
        timer={"kind": "rfc6298", "initial": "1500 ms"},
        **({"recovery": "sack"} if is_by_reports else {}),
    )
    data = bottleneck(
        name=key,
        mbps=UNLIMITED,
        rtt_ms=rtt_ms,
        flows=bulk([("f", tcp)]),
        duration_s=duration_s,
        impairments=[{"kind": "forced", "packets": list(lost)}] if lost else [],
        probes=[probe("tcp_events", flows=["f"]), probe(*probes, flows=["f"], period_ms=period_ms)],
    )
    return Case(key=key, stage="windows", data=data)


def _cubic_units(assumptions: Assumptions) -> list[Case]:
    epochs = [
        cubic_epoch(
            f"cubic-epoch-{window}", assumptions, window=window, rtt_ms=1, lost=[1], duration_s=7, period_ms=2,
            friendliness=False,
        )
        for window in (100, 250, 1000)
    ]  # fmt: skip
    # Without a maximum, Linux grows by 5 % per round-trip time: a longer run has no bound.
    timeout = {
        form: cubic_epoch(
            f"cubic-timeout-{form}", assumptions, window=100, rtt_ms=10, lost=range(1, 101),
            duration_s={"rfc9438": 3.0, "linux": 2.0}[form], period_ms=5,
            is_by_reports=True,
            form=form, friendliness=False,
        )
        for form in ("rfc9438", "linux")
    }  # fmt: skip
    return [
        *epochs,
        *timeout.values(),
        # Two losses: the second when the window has come from 70 to about 80 segments after half a second.
        cubic_epoch(
            "cubic-second-loss", assumptions, window=100, rtt_ms=1, lost=[1, 40_000], duration_s=1.5, period_ms=1,
            friendliness=False,
        ),
        # Without a cubic part, the window is Reno's estimate.
        cubic_epoch(
            "cubic-reno-window", assumptions, window=100, rtt_ms=300, lost=[1], duration_s=9, period_ms=10, c=1e-9,
        ),
        # The cubic function outruns the bound of half a window per round trip.
        cubic_epoch(
            "cubic-fastest", assumptions, window=10, rtt_ms=1000, lost=[1], duration_s=20, period_ms=100, form="linux",
        ),
        cubic_epoch(
            "cubic-no-maximum", assumptions, window=50, rtt_ms=100, lost=[], duration_s=3, period_ms=10, form="linux",
        ),
    ]  # fmt: skip


def _alone(congestion: str, assumptions: Assumptions, *, quick: bool) -> Case:
    """Return a flow alone behind a short drop-tail queue on a long path."""
    data = bottleneck(
        name=f"long-path-{congestion}",
        mbps=100,
        rtt_ms=100,
        flows=bulk([("f", linux(congestion, assumptions))]),
        duration_s=120 if quick else 300,
        from_s=40,
        queue=drop_tail(100, "packets"),
    )
    return Case(key=f"long-path-{congestion}", stage="windows", data=data)


def _window_beyond(
    name: str, congestion: str | Data, window: int, lost: Sequence[int], assumptions: Assumptions
) -> Case:
    """Return a flow that starts in congestion avoidance and loses stated segments; all changes of the window are kept."""
    tcp = rfc(
        congestion, assumptions, initial_window=f"{window} segments", initial_ssthresh=f"{window} segments"
    )
    data = bottleneck(
        name=name,
        mbps=UNLIMITED,
        rtt_ms=100,
        flows=bulk([("f", tcp)]),
        duration_s=6,
        impairments=[{"kind": "forced", "packets": list(lost)}] if lost else [],
        probes=[probe("tcp_events", flows=["f"]), probe("cwnd_base", flows=["f"], period_ms=10)],
    )
    return Case(key=name, stage="windows", data=data)


def _others(assumptions: Assumptions) -> list[Case]:
    rfc_cases = [
        _window_beyond(f"scalable-loss-{window}", "scalable", window, [1], assumptions)
        for window in (200, 2000)
    ]
    hybla = bottleneck(
        name="hybla-long",
        mbps=UNLIMITED,
        rtt_ms=500,
        flows=bulk([("f", rfc("hybla", assumptions, initial_ssthresh="10 segments"))]),
        duration_s=12,
        probes=[probe("cwnd_base", flows=["f"], period_ms=50)],
    )
    illinois = bottleneck(
        name="illinois-delays",
        mbps=20,
        rtt_ms=100,
        flows=bulk([("f", rfc("illinois", assumptions, initial_ssthresh="200 segments"))]),
        duration_s=60,
        queue=drop_tail(100, "packets"),
        probes=[
            probe("increase", flows=["f"], period_ms=20),
            probe("tcp_events", flows=["f"]),
            probe("backlog", link=True, period_ms=20),
        ],
        # Two losses while the delay is the longest so far, and one while the queue is empty after them.
        impairments=[{"kind": "forced", "packets": [32_000, 64_000, 65_150]}],
    )
    veno = [
        bottleneck(
            name=f"veno-{backlog}",
            mbps=0.832,
            rtt_ms=100,
            flows=[flow("f", {
                **rfc("veno", assumptions, initial_window=f"{10 + backlog} segments",
                      initial_ssthresh=f"{10 + backlog} segments"),
                "receive_buffer": f"{10 + backlog} segments",
            })],
            duration_s=10,
            impairments=[{"kind": "forced", "packets": [60]}],
            probes=[probe("tcp_events", flows=["f"]), probe("backlog", link=True, period_ms=20)],
        )
        for backlog in (2, 5)
    ]  # fmt: skip
    vegas = bottleneck(
        name="vegas-alone",
        mbps=10,
        rtt_ms=40,
        flows=bulk([("f", {"variant": "vegas"})]),
        duration_s=30,
        from_s=15,
        probes=[probe("backlog", link=True, period_ms=20)],
    )
    made = [("hybla-long", hybla), ("illinois-delays", illinois), ("vegas-alone", vegas)]
    made += [(f"veno-{backlog}", data) for backlog, data in zip((2, 5), veno, strict=True)]
    return rfc_cases + [Case(key=key, stage="windows", data=data) for key, data in made]


def window_cases(assumptions: Assumptions, *, quick: bool) -> list[Case]:
    """Return the scenarios of windows."""
    laws: list[tuple[str, str | Data, int, float, int]] = [
        *(("cubic", LAWFUL_CUBIC, every, rtt, begin) for every, rtt, begin in CUBIC_LOSSES),
        *(("cubic-converging", "cubic", every, rtt, begin) for every, rtt, begin in CUBIC_LOSSES[1:3]),
        ("reno", "reno", 10**4, 100, 120),
        ("reno", "reno", 10**5, 100, 379),
        ("aimd", {"name": "aimd", "increase": 9 / 17, "decrease": 0.7}, 10**4, 100, 120),
        ("scalable", "scalable", 10**4, 100, 800),
        ("highspeed", "highspeed", 200, 100, 17),
        ("reno", "reno", 200, 100, 17),
        ("bic", "bic", 50, 100, 8),
        ("reno", "reno", 50, 100, 8),
    ]
    return [
        *(_law(*law, assumptions, quick=quick) for law in laws),
        *_cubic_units(assumptions),
        *(_alone(name, assumptions, quick=quick) for name in ("cubic", "reno")),
        *_others(assumptions),
    ]
