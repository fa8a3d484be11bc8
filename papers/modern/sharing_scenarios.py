"""Flows of two algorithms that share a drop-tail bottleneck."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from .assumptions import Assumptions
from .network import (
    Case,
    Data,
    bdp_bytes,
    bottleneck,
    bulk,
    disturbed,
    drop_tail,
    lines,
    linux,
    linux_bbr,
    probe,
    shaped,
)

# One BBR flow against one CUBIC flow: rate in Mbit/s, round-trip time in ms, buffer in bandwidth-delay products.
WARE: Sequence[tuple[float, float, float]] = (
    *((10, 40, share) for share in (1, 2, 4, 8, 16, 32, 64)),
    *((50, 30, share) for share in (4, 16, 64)),
)

CONVERGED_S = 400
"""The model is one of flows that have converged: its duration begins then. In a buffer of 64 bandwidth-delay products,
this takes minutes."""

MEASURED_S = 400
"""Duration of the runs for the model; it cancels out of the share."""

LONG_MEASURED_S = 4000
"""The same at 10 Mbit/s with a buffer of 32 bandwidth-delay products, where a round trip takes more than a second."""

COMPETITORS = (1, 2, 4, 8, 16)
"""Numbers of CUBIC flows against one BBR flow."""

SHORT_BUFFERS = (0.5, 1.0, 2.0, 4.0)
"""Buffers of the short path, in bandwidth-delay products."""

DEEP = 32
"""The deep buffer of these runs, in bandwidth-delay products."""


EXPLAINED = (10, 4)
"""Rate and buffer of the runs that show what the estimate of the round-trip time rests on."""

ESTIMATE = (
    probe("base_rtt", flows=["bbr"]),
    probe("flight_size", flows=["bbr", "cubic"], period_ms=100),
)


def ware_key(mbps: float, share: float) -> str:
    """Return the name of a scenario of one BBR flow against one CUBIC flow."""
    return f"ware-{mbps:g}-{share:g}"


def _pair(
    key: str, mbps: float, rtt_ms: float, buffer: int, tcps: Sequence[tuple[str, Data]], duration_s: float,
    assumptions: Assumptions, *, from_s: float = 0.0, probes: Sequence[Data] = (),
) -> Case:  # fmt: skip
    data = bottleneck(
        key,
        mbps,
        rtt_ms,
        bulk(tcps, (0.0, assumptions.start_s)),
        duration_s,
        from_s=from_s,
        queue=drop_tail(buffer),
        probes=probes,
    )
    return Case(key=key, stage="sharing", data=data, is_random=True)


def short_path_key(share: float) -> str:
    """Return the name of a scenario of one CUBIC and one Reno flow on a short path."""
    return f"short-path-{share:g}"


def _ware(
    mbps: float, rtt: float, share: float, tcps: Sequence[tuple[str, Data]], assumptions: Assumptions
) -> Case:
    """Return one BBR flow against one of CUBIC."""
    measured_s = LONG_MEASURED_S if (mbps, share) == (10, DEEP) else MEASURED_S
    case = _pair(
        ware_key(mbps, share), mbps, rtt, bdp_bytes(mbps, rtt, share), tcps, CONVERGED_S + measured_s, assumptions,
        from_s=CONVERGED_S, probes=ESTIMATE if (mbps, share) == EXPLAINED else (),
    )  # fmt: skip
    return replace(case, data=disturbed(case.data, mbps))


def _short_path(share: float, tcps: Sequence[tuple[str, Data]], assumptions: Assumptions) -> Case:
    """Return flows on a short path."""
    case = _pair(
        short_path_key(share),
        10,
        10,
        bdp_bytes(10, 10, share),
        tcps,
        120,
        assumptions,
        from_s=20,
    )
    return replace(case, data=disturbed(case.data, 10))


def sharing_cases(assumptions: Assumptions, *, quick: bool) -> list[Case]:
    """Return the scenarios of flows that share a bottleneck."""
    cubic, reno = (linux(name, assumptions) for name in ("cubic", "reno"))
    bbr = linux_bbr(assumptions)
    # Packets of 1514 bytes, as they were counted.
    wide = {"headers": {"data": "66 bytes"}}
    both = [("bbr", bbr | wide), ("cubic", cubic | wide)]
    made = [_ware(mbps, rtt, share, both, assumptions) for mbps, rtt, share in WARE]
    made += [
        _pair(
            f"against-{count}", 50, 40, bdp_bytes(50, 40, DEEP), [("bbr", bbr), *lines("cubic", count, cubic)],
            CONVERGED_S + (100 if quick else MEASURED_S), assumptions, from_s=CONVERGED_S,
        )
        for count in COMPETITORS
    ]  # fmt: skip
    for name, size in (("10KB", 10_000), ("5MB", 5_000_000), ("10MB", 10_000_000)):
        key, flows = f"gigabit-{name}", bulk([("bbr", bbr), ("cubic", cubic)], (0.0, assumptions.start_s))
        data = shaped(key, 1000, 20, size, flows, 15 if quick else 60)
        made.append(Case(key=key, stage="sharing", data=data, is_random=True))
    made += [_short_path(share, [("cubic", cubic), ("reno", reno)], assumptions) for share in SHORT_BUFFERS]
    made.append(
        _pair(
            "reno-two",
            10,
            40,
            bdp_bytes(10, 40),
            lines("f", 2, reno),
            120 if quick else 300,
            assumptions,
            from_s=20,
        )
    )
    alone = _pair("reno-one", 10, 40, bdp_bytes(10, 40), [("f1", reno)], 120, assumptions, from_s=20)
    for switch in (True, False):
        copa = linux({"name": "copa", "mode_switch": switch}, assumptions)
        made.append(
            _pair(
                f"copa-cubic-{'switch' if switch else 'default'}", 12, 40, bdp_bytes(12, 40, 2),
                [("copa", copa), ("cubic", cubic)], 120, assumptions, from_s=20,
            )
        )  # fmt: skip
    return [*made, alone]
