"""Algorithms that keep queues short, by delay or by marks."""

from __future__ import annotations

from typing import Any

from .assumptions import Assumptions
from .network import (
    Case,
    Data,
    bdp_bytes,
    bottleneck,
    bulk,
    datagrams,
    drop_tail,
    flow,
    lines,
    linux,
    milliseconds,
    probe,
    rfc,
)

DCTCP_STOPS_S = {10: 15, 80: 40}
"""End of the runs of ns-3 with DCTCP by round-trip time in milliseconds, s."""


def _step(packets: float, mbps: float) -> Data:
    """Return a queue that marks every packet that has waited for longer than so many take."""
    return {
        "kind": "codel", "ce_threshold": milliseconds(packets * 12 / mbps), "target": "10 s", "interval": "10 s",
        "limit": "100000 packets",
    }  # fmt: skip


def _dctcp(assumptions: Assumptions, **more: object) -> Data:
    return rfc("dctcp", assumptions, mss="1448 bytes", headers={"data": "52 bytes"}, ecn="dctcp", **more)


def _marked(assumptions: Assumptions) -> dict[str, Data]:
    dctcp = _dctcp(assumptions)
    backlog = probe("backlog", link=True, period_ms=0.01)
    made = {
        "dctcp-two": bottleneck(
            "dctcp-two", 10_000, 0.1, bulk(lines("f", 2, dctcp)), 0.15, from_s=0.1, queue=_step(40, 10_000), probes=[backlog]
        ),
        **{
            f"dctcp-step-{packets}": bottleneck(
                f"dctcp-step-{packets}", 10_000, 0.1, bulk(lines("f", 2, dctcp)), 0.3, from_s=0.1, queue=_step(packets, 10_000)
            )
            for packets in (2, 5, 12, 20, 40)
        },
        # As in ns-3: Reno's rules of Linux, CoDel that also marks above a threshold, a flow that starts after 5 s.
        **{
            f"dctcp-{rtt}ms": bottleneck(
                f"dctcp-{rtt}ms", 50, rtt, bulk([("f", linux("dctcp", assumptions))], start_s=5), stop_s,
                queue={"kind": "codel", "ce_threshold": "1 ms"},
                probes=[
                    probe("delivered", flows=["f"], period_ms=200),
                    probe("marked_fraction", flows=["f"], period_ms=100),
                ],
            )
            for rtt, stop_s in DCTCP_STOPS_S.items()
        },
        # A slow link holds a window of hundreds of packets behind a burst of others: all are marked.
        "dctcp-all-marked": bottleneck(
            "dctcp-all-marked", 10, 10,
            [
                datagrams("burst", 1000, 1500) | {"stop": "240 us"},
                *bulk(
                    [("f", _dctcp(assumptions, initial_window="400 segments", initial_ssthresh="400 segments"))],
                    start_s=0.001,
                ),
            ],
            8, queue=_step(1, 10),
            probes=[probe("cwnd_base", flows=["f"]), probe("marked_fraction", flows=["f"])],
        ),
        "dctcp-loss": bottleneck(
            "dctcp-loss", 1000, 50,
            bulk([("f", _dctcp(assumptions, initial_window="50 segments", initial_ssthresh="50 segments"))]),
            1, impairments=[{"kind": "forced", "packets": [1]}], probes=[probe("tcp_events", flows=["f"])],
        ),
    }  # fmt: skip
    prague = linux("prague", assumptions, ecn="accurate")
    cubic = linux("cubic", assumptions)
    both: dict[str, Any] = {"queue": {"kind": "dualpi2"}, "link": {"wait_percentiles": True}}
    for name, mbps in (("alone", 40), ("fast", 400)):
        made[f"prague-{name}"] = bottleneck(
            f"prague-{name}", mbps, 25, bulk([("f", prague)]), 60, from_s=30, **both
        )
    smooth = {"kind": "dualpi2", "ramp_begin": "0 ms", "ramp": "20 ms"}
    made["prague-smooth"] = bottleneck(
        "prague-smooth", 40, 25, bulk([("f", prague)]), 60, from_s=30, queue=smooth
    )
    made["prague-cubic"] = bottleneck(
        "prague-cubic", 40, 10, bulk([("prague", prague), ("cubic", cubic)], (0.0, assumptions.start_s)), 120,
        from_s=30, **both,
    )  # fmt: skip
    return made


def _delayed(assumptions: Assumptions, *, quick: bool) -> dict[str, Data]:
    ledbat, reno = linux("ledbat", assumptions), linux("reno", assumptions)
    long = drop_tail(bdp_bytes(10, 500))
    within = (0.0, assumptions.start_s)
    made = {
        "ledbat-alone": bottleneck("ledbat-alone", 10, 50, bulk([("f", ledbat)]), 120, from_s=60, queue=long),
        "ledbat-reno": bottleneck(
            "ledbat-reno", 10, 50, bulk([("ledbat", ledbat), ("reno", reno)], within), 200, from_s=40, queue=long
        ),
        "ledbatpp-late": bottleneck(
            "ledbatpp-late", 10, 50,
            [flow(f"f{index}", linux("ledbatpp", assumptions), start_s=30.0 * index) for index in range(2)], 400,
            from_s=100, queue=long,
        ),
        **{
            f"copa-{name}": bottleneck(
                f"copa-{name}", 12, 40, bulk([("f", linux({"name": "copa", "mode_switch": switch}, assumptions))]), 60,
                from_s=20, queue=drop_tail(bdp_bytes(12, 40, 5)),
            )
            for name, switch in (("alone", False), ("switching", True))
        },
    }  # fmt: skip
    fast = linux({"name": "ledbat", "target": "5 ms", "gain": 10.0}, assumptions)
    for name, queue in (("droptail", drop_tail(bdp_bytes(10, 100, 2))), ("codel", {"kind": "codel"})):
        made[f"ledbat-{name}"] = bottleneck(
            f"ledbat-{name}", 10, 100, bulk([("ledbat", fast), ("reno", reno)], within), 100 if quick else 200,
            from_s=30, queue=queue,
        )  # fmt: skip
    return made


RANDOM = ("prague-cubic", "ledbat-reno", "ledbat-droptail", "ledbat-codel")


def delay_cases(assumptions: Assumptions, *, quick: bool) -> list[Case]:
    """Return the scenarios of algorithms that keep queues short."""
    made = {**_marked(assumptions), **_delayed(assumptions, quick=quick)}
    return [Case(key=key, stage="delay", data=data, is_random=key in RANDOM) for key, data in made.items()]
