"""Queues that manage delay, queues of flows, policers, emulated impairments and traces of opportunities."""

from __future__ import annotations

from .assumptions import Assumptions
from .network import (
    Case,
    Data,
    bdp_bytes,
    bottleneck,
    bulk,
    datagrams,
    drop_tail,
    lines,
    linux,
    probe,
    rfc,
)

PIE_FLOWS = (5, 10, 20, 50)


def _managed(assumptions: Assumptions, *, quick: bool) -> dict[str, Data]:
    reno = linux("reno", assumptions)
    marked = rfc("reno", assumptions, ecn="classic", recovery="sack")
    duration = 60 if quick else 100
    return {
        "codel-persistent": bottleneck(
            "codel-persistent", 100, 20, [datagrams("f", 200, 1500)], 1.2,
            queue={"kind": "codel", "limit": "1000000 packets"}, probes=[probe("drops", link=True)],
        ),
        **{
            key: bottleneck(key, 10, rtt_ms, bulk([("f", tcp)]), 60, from_s=10, queue=queue)
            for key, rtt_ms, tcp, queue in (
                ("codel-reno", 50, reno, {"kind": "codel"}),
                # What the utilization of one flow depends on: the path, the algorithm, and the queue that it may build.
                ("codel-reno-short", 20, reno, {"kind": "codel"}),
                ("codel-cubic", 50, linux("cubic", assumptions), {"kind": "codel"}),
                ("codel-none", 50, reno, drop_tail(6, "packets")),
            )
        },
        "fqcodel-voice": bottleneck(
            "fqcodel-voice", 10, 40, [datagrams("voice", 64 * 8 / 0.02 / 1e6, 64), *bulk(lines("f", 8, reno), (0.0, 1.0))],
            60, queue={"kind": "fqcodel"}, probes=[probe("delivered", flows=["voice"])],
        ),
        "fqcodel-voice-few": bottleneck(
            "fqcodel-voice-few", 10, 40,
            [datagrams("voice", 64 * 8 / 0.02 / 1e6, 64), *bulk(lines("f", 2, reno), (0.0, 1.0))],
            60, queue={"kind": "fqcodel"}, probes=[probe("delivered", flows=["voice"])],
        ),
        "fqcodel-overload": bottleneck(
            "fqcodel-overload", 10, 40, [datagrams("udp", 20, 1000, start_s=5), *bulk(lines("f", 4, marked), (0.0, 1.0))],
            40, from_s=10, queue={"kind": "fqcodel", "limit": 400},
        ),
        **{
            f"pie-{count}": bottleneck(
                f"pie-{count}", 10, 50, bulk(lines("f", count, reno), (0.0, 1.0)), duration, from_s=20,
                queue={"kind": "pie"},
            )
            for count in PIE_FLOWS
        },
    }  # fmt: skip


def _marking(assumptions: Assumptions, *, quick: bool) -> dict[str, Data]:
    """Return queues that mark."""
    duration = 60 if quick else 100
    return {
        # A burst leaves 20 packets in the queue; then packets come as fast as they leave, and marks remove none.
        "red-constant": bottleneck(
            "red-constant", 12, 20,
            [
                datagrams("burst", 1000, 1500, ecn="ect0") | {"stop": "252 us"},
                datagrams("f", 12, 1500, start_s=0.0005, ecn="ect0"),
            ],
            200, from_s=1,
            queue={
                "kind": "red", "minimum": "10 packets", "maximum": "30 packets", "weight": 0.02, "max_p": 0.04,
                "gentle": False, "adaptive": False,
            },
            probes=[probe("marks", link=True), probe("backlog", link=True, period_ms=1000)],
        ),
        "dualpi2-cubic": bottleneck(
            "dualpi2-cubic", 40, 20, bulk(lines("f", 2, linux("cubic", assumptions)), (0.0, 1.0)), duration, from_s=20,
            queue={"kind": "dualpi2"}, link={"wait_percentiles": True},
        ),
        "dualpi2-datagrams": bottleneck(
            "dualpi2-datagrams", 40, 20,
            [datagrams("udp", 48, 1000, start_s=1, ecn="ect1"), datagrams("f", 8, 1000)], 60, from_s=20,
            queue={"kind": "dualpi2"},
        ),
        "dualpi2-overload": bottleneck(
            "dualpi2-overload", 40, 20,
            [datagrams("udp", 48, 1000, start_s=5, ecn="ect1"), *bulk([("f", linux("cubic", assumptions))])],
            duration, from_s=20, queue={"kind": "dualpi2"},
        ),
    }  # fmt: skip


def _others(assumptions: Assumptions) -> dict[str, Data]:
    window = rfc("reno", assumptions, receive_buffer="100 segments")
    return {
        "policed": bottleneck(
            "policed", 100, 10, [datagrams("f", 30, 1000)], 10,
            queue={"kind": "policer", "rate": "10 Mbit/s", "burst": "50000 bytes"},
            probes=[probe("delivered", flows=["f"])],
        ),
        "netem-delays": bottleneck(
            "netem-delays", 1000, 0.002, [datagrams("f", 0.08, 1000)], 400,
            impairments=[{"kind": "jitter", "delay": "50 ms", "jitter": "10 ms"}], probes=[probe("delivered", flows=["f"])],
        ),
        "netem-reorders": bottleneck(
            "netem-reorders", 1000, 0.002, bulk([("f", window)]), 10,
            impairments=[{"kind": "jitter", "delay": "50 ms", "jitter": "10 ms"}],
        ),
        "netem-rate": bottleneck(
            "netem-rate", 1000, 0.002, bulk([("f", window)]), 10,
            impairments=[{"kind": "jitter", "delay": "50 ms", "jitter": "10 ms", "rate": "100 Mbit/s"}],
        ),
        # 20 000 packets a second, each delayed by 100 ms.
        "netem-limit": bottleneck(
            "netem-limit", 1000, 0.002, [datagrams("f", 160, 1000)], 5, from_s=1,
            impairments=[{"kind": "jitter", "delay": "100 ms", "jitter": "0 ms", "limit": 1000}],
        ),
        "opportunities": bottleneck(
            "opportunities", 12.032, 20, [datagrams("f", 20, 1500)], 20, from_s=1, queue=drop_tail(bdp_bytes(12, 100)),
            link={"opportunities": {"times": [1], "size": "1504 bytes", "overhead": "4 bytes"}},
        ),
    }  # fmt: skip


RANDOM = ("fqcodel-", "pie-", "red-", "dualpi2-", "netem-delays", "netem-reorders")


def queue_cases(assumptions: Assumptions, *, quick: bool) -> list[Case]:
    """Return the scenarios of queues and links."""
    made = {
        **_managed(assumptions, quick=quick),
        **_marking(assumptions, quick=quick),
        **_others(assumptions),
    }
    return [
        Case(key=key, stage="queues", data=data, is_random=key.startswith(RANDOM))
        for key, data in made.items()
    ]
