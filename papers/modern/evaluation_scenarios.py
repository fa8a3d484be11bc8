"""Tests of evaluation suites: fairness over paths, losses by load, blackouts, bursts, satellites."""

from __future__ import annotations

from collections.abc import Sequence

from dumbbell import engine

from .assumptions import Assumptions
from .network import (
    Case,
    Data,
    bdp_bytes,
    bottleneck,
    bulk,
    drop_tail,
    flow,
    lines,
    linux,
    milliseconds,
    probe,
    rate_of,
    rfc,
)

RTTS_MS = (10, 20, 40, 80, 160)
BUFFERS = (0.25, 0.5, 1.0, 2.0)
"""Buffers, in products of the bandwidth and 100 ms."""

LOADS: Sequence[tuple[float, float]] = ((0.036, 0.001), (0.081, 0.005), (0.114, 0.01))
"""Flows per packet of path and buffer, and the loss rate that is expected."""

LOAD_PACKETS = 2 * bdp_bytes(100, 100) / 1500
"""Packets on a path of 100 Mbit/s and 100 ms and in as large a buffer."""

SUITE_LEFT_MS = (0, 12, 25)
SUITE_RIGHT_MS = (2, 37, 75)
SUITE_RTTS_MS = (4, 28, 54, 74, 98, 124, 150, 174, 200)
SUITE_CENTRE_MS = 2


PICOQUIC_MBPS = 2**20 / 1e6
"""A megabit per second of picoquic's simulated links, Mbit/s: they take 2^20 ps for a microsecond."""

QUIC_PACKET = 1440
"""Size of a packet of picoquic, bytes."""

QUIC: Data = {
    "mss": "1407 bytes",
    "headers": {"data": "33 bytes"},
    "delayed_ack": {"segments": 32, "timer": "25 ms"},
}
"""Packets and acknowledgements of picoquic. Its links count no headers of UDP and IP; header, frame and tag of QUIC take
33 bytes."""

SATELLITE_MS = 600
"""Round-trip time of the satellites, ms."""

PICOQUIC_BBR: Data = {"name": "bbr3", "probe_rtt_interval": milliseconds(100 * SATELLITE_MS)}
"""BBR of picoquic: version 3. Where the round-trip time is above 250 ms, 100 of them pass between two stays in ProbeRTT."""


def algorithms() -> list[str]:
    """Return every congestion control of the engine."""
    return [entry["name"] for entry in engine.catalogue()["algorithms"]]


def _suite(assumptions: Assumptions) -> Data:
    """Return the dumbbell of the common evaluation suite, with a short transfer on each of its nine paths."""
    links: list[Data] = []

    def both(one: str, other: str, delay_ms: float) -> None:
        for begin, end in ((one, other), (other, one)):
            links.append(
                {
                    "name": f"{begin}-{end}",
                    "from": begin,
                    "to": end,
                    "rate": rate_of(10_000),
                    "delay": milliseconds(delay_ms),
                }
            )

    both("r1", "r2", SUITE_CENTRE_MS)
    for index, delay in enumerate(SUITE_LEFT_MS):
        both(f"s{index}", "r1", delay)
    for index, delay in enumerate(SUITE_RIGHT_MS):
        both("r2", f"d{index}", delay)
    tcp = rfc("reno", assumptions)
    flows = [
        {
            "name": f"{left}-{right}",
            "from": f"s{left}",
            "to": f"d{right}",
            "tcp": tcp,
            "source": {"kind": "transfer", "size": "10 kB"},
        }
        for left in range(3)
        for right in range(3)
    ]
    nodes = ["r1", "r2", *(f"s{index}" for index in range(3)), *(f"d{index}" for index in range(3))]
    return {
        "name": "suite-paths",
        "duration": "5 s",
        "rules": "classic",
        "nodes": nodes,
        "links": links,
        "flows": flows,
    }


def _pairs(assumptions: Assumptions, *, quick: bool) -> dict[str, Data]:
    reno = linux("reno", assumptions)
    return {
        f"equal-{rtt}-{share:g}": bottleneck(
            f"equal-{rtt}-{share:g}", 10, rtt, bulk(lines("f", 2, reno), (0.0, 10.0)), 120 if quick else 400, from_s=20,
            queue=drop_tail(bdp_bytes(10, 100, share)),
        )
        for rtt in RTTS_MS
        for share in BUFFERS
    }  # fmt: skip


def _loads(assumptions: Assumptions, *, quick: bool) -> dict[str, Data]:
    # The law counts acknowledgements of every second segment.
    delayed = {"segments": 2, "timer": "200 ms"}
    reno = rfc("reno", assumptions, mss="1460 bytes", delayed_ack=delayed)
    return {
        f"load-{load:g}": bottleneck(
            f"load-{load:g}", 100, 100, bulk(lines("f", round(load * LOAD_PACKETS), reno), (0.0, 5.0)), 60 if quick else 120,
            from_s=20, queue=drop_tail(bdp_bytes(100, 100)),
        )
        for load, _ in LOADS
    }  # fmt: skip


def _blackouts(assumptions: Assumptions) -> dict[str, Data]:
    silence = {"outages": [{"from": "20 s", "until": "50 s", "packets": "drop"}]}
    made = {
        f"blackout-{name}": bottleneck(
            f"blackout-{name}", 5, 40, bulk([("f", linux(name, assumptions))]), 130, queue=drop_tail(bdp_bytes(5, 40)),
            probes=[probe("tcp_events", flows=["f"]), probe("delivered", flows=["f"], period_ms=1000)], link=silence,
        )
        for name in algorithms()
    }  # fmt: skip
    transfer = {"kind": "transfer", "size": "10 MB"}
    return {
        **made,
        "blackout-transfer": bottleneck(
            "blackout-transfer", 10, 30, [flow("f", linux("bbr", assumptions), source=transfer)], 60,
            queue=drop_tail(bdp_bytes(10, 30, 2)), link={"outages": [{"from": "5 s", "until": "7 s", "packets": "drop"}]},
        ),
    }  # fmt: skip


def _satellites(assumptions: Assumptions) -> dict[str, Data]:
    """Return the tests of picoquic over satellites."""

    def transfer(
        key: str, name: str | Data, mbps: float, megabytes: int, duration_s: float, **more: object
    ) -> Data:
        tcp = linux(name, assumptions, **QUIC, **more)
        rate = mbps * PICOQUIC_MBPS
        return bottleneck(
            key, rate, SATELLITE_MS, [flow("f", tcp, source={"kind": "transfer", "size": f"{megabytes} MB"})], duration_s,
            queue=drop_tail(bdp_bytes(rate, SATELLITE_MS)), back_mbps=(3 if mbps == 250 else mbps) * PICOQUIC_MBPS,
        )  # fmt: skip

    half = f"{round(bdp_bytes(250 * PICOQUIC_MBPS, SATELLITE_MS, 0.5) / QUIC_PACKET)} segments"
    slow: dict[str, str | Data] = {"picoquic": PICOQUIC_BBR, "bbr3": "bbr3", "bbr": "bbr"}
    made = {
        f"satellite-slow-{name}": transfer(f"satellite-slow-{name}", congestion, 1, 10, 120)
        for name, congestion in slow.items()
    }
    fast: dict[str, str | Data] = {"picoquic": PICOQUIC_BBR, "bbr": "bbr", "cubic": "cubic"}
    for name, congestion in fast.items():
        made[f"satellite-{name}"] = transfer(f"satellite-{name}", congestion, 250, 100, 60)
        key = f"satellite-{name}-half"
        made[key] = transfer(key, congestion, 250, 100, 60, initial_window=half)
    return made


def _limited(assumptions: Assumptions) -> dict[str, Data]:
    """Return flows that their application limits."""
    # Answers of 12.5 kB every 100 ms or so, a tenth of the rate, and once in 100 a longer one, 10 s later on average.
    answers = {
        "kind": "incast",
        "senders": 1,
        "pause": "80 ms",
        "sizes": {
            "kind": "empirical",
            "sizes": ["12500 bytes", "12501 bytes", "3999999 bytes", "4 MB"],
            "shares": [0.99, 0.99, 0.99, 1.0],
        },
    }
    rules = {
        "validated": {"grow_when": "cwnd-limited", "validation": "rfc7661"},
        "free": {"grow_when": "always"},
    }
    return {
        f"limited-{name}": bottleneck(
            f"limited-{name}", 10, 40, [flow("f", rfc("reno", assumptions, window=rule), source=answers)], 60,
            queue=drop_tail(bdp_bytes(10, 40)), probes=[probe("seq_sent", flows=["f"])],
        )
        for name, rule in rules.items()
    }  # fmt: skip


RANDOM = ("equal-", "load-", "limited-", "draft-reordered", "draft-aggregated")


def evaluation_cases(assumptions: Assumptions, *, quick: bool) -> list[Case]:
    """Return the scenarios of evaluation suites."""
    made = {
        "suite-paths": _suite(assumptions),
        **_pairs(assumptions, quick=quick),
        **_loads(assumptions, quick=quick),
        **_blackouts(assumptions),
        **_satellites(assumptions),
        **_limited(assumptions),
    }
    return [
        Case(key=key, stage="evaluation", data=data, is_random=key.startswith(RANDOM))
        for key, data in made.items()
    ]
