"""Flows of two algorithms that share a drop-tail bottleneck."""

from __future__ import annotations

from collections.abc import Sequence

from .assumptions import Assumptions
from .network import Case, Data, bdp_bytes, bottleneck, bulk, drop_tail, lines, linux

__all__ = ["COMPETITORS", "WARE", "sharing_cases", "ware_key"]

# One BBR flow against one CUBIC flow: rate in Mbit/s, round-trip time in ms, buffer in bandwidth-delay products.
WARE: Sequence[tuple[float, float, float]] = (
    *((10, 40, share) for share in (1, 4, 8, 32)),
    *((50, 30, share) for share in (4, 16, 64)),
)

COMPETITORS = (1, 2, 4, 8, 16)
"""Numbers of CUBIC flows against one BBR flow."""

DEEP = 32
"""The deep buffer of these runs, in bandwidth-delay products."""


def ware_key(mbps: float, share: float) -> str:
    """Return the name of a scenario of one BBR flow against one CUBIC flow."""
    return f"ware-{mbps:g}-{share:g}"


def _pair(
    key: str, mbps: float, rtt_ms: float, buffer: int, tcps: Sequence[tuple[str, Data]], duration_s: float,
    assumptions: Assumptions, *, from_s: float = 0.0,
) -> Case:  # fmt: skip
    data = bottleneck(
        key,
        mbps,
        rtt_ms,
        bulk(tcps, (0.0, assumptions.start_s)),
        duration_s,
        from_s=from_s,
        queue=drop_tail(buffer),
    )
    return Case(key=key, stage="sharing", data=data, is_random=True)


def sharing_cases(assumptions: Assumptions, *, quick: bool) -> list[Case]:
    """Return the scenarios of flows that share a bottleneck."""
    bbr, cubic, reno = (linux(name, assumptions) for name in ("bbr", "cubic", "reno"))
    # Packets of 1514 bytes, as they were counted.
    wide = {"headers": {"data": "66 bytes"}}
    both = [("bbr", bbr | wide), ("cubic", cubic | wide)]
    made = [
        _pair(
            ware_key(mbps, share), mbps, rtt, bdp_bytes(mbps, rtt, share), both, 400 if mbps == 10 or not quick else 150,
            assumptions,
        )
        for mbps, rtt, share in WARE
    ]  # fmt: skip
    made += [
        _pair(
            f"against-{count}", 50, 40, bdp_bytes(50, 40, DEEP), [("bbr", bbr), *lines("cubic", count, cubic)],
            100 if quick else 300, assumptions, from_s=20,
        )
        for count in COMPETITORS
    ]  # fmt: skip
    made += [
        _pair(
            f"gigabit-{name}",
            1000,
            20,
            size,
            [("bbr", bbr), ("cubic", cubic)],
            15 if quick else 60,
            assumptions,
        )
        for name, size in (("10KB", 10_000), ("5MB", 5_000_000), ("10MB", 10_000_000))
    ]
    made.append(
        _pair(
            "short-path",
            10,
            10,
            bdp_bytes(10, 10, 2),
            [("cubic", cubic), ("reno", reno)],
            120,
            assumptions,
            from_s=20,
        )
    )
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
