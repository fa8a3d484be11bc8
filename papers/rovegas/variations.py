"""Every open assumption, moved one at a time, for the section on sensitivity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dumbbell import sensitivity

from .assumptions import Assumptions

__all__ = ["ANALYSIS", "CONNECTIONS", "EVERYTHING", "TRAFFIC", "VARIATIONS", "Variation"]

ANALYSIS = ("ana", "fig-3", "fig-4", "fig-5")
TRAFFIC = ("fig-9", "fig-10", "fig-12", "fig-13", "fig-19")
CONNECTIONS = ("fig-15", "fig-17", "fig-18")


@dataclass(frozen=True, kw_only=True)
class Variation(sensitivity.Variation):
    """One open assumption moved, for the sensitivity section.

    Parameters
    ----------
    changes
        The changed fields of `Assumptions`.
    touches
        The experiments it concerns.
    """

    changes: Mapping[str, Any]
    touches: Sequence[str]

    def place(self, base: Assumptions) -> Assumptions:
        """Return assumptions with this one moved."""
        return replace(base, **self.changes)


def _moved(
    assumption: str, touches: Sequence[str], **moves: tuple[str, Mapping[str, Any]]
) -> tuple[Variation, ...]:
    return tuple(
        Variation(
            name=name.replace("_", "-"), assumption=assumption, value=value, changes=changes, touches=touches
        )
        for name, (value, changes) in moves.items()
    )


EVERYTHING = (*ANALYSIS, *TRAFFIC, *CONNECTIONS)

VARIATIONS: tuple[Variation, ...] = (
    *_moved(
        "mean ON time of the variable-rate sources",
        TRAFFIC,
        on_5=("5 ms", {"burst": "5 ms"}),
        on_7=("7.5 ms", {"burst": "7.5 ms"}),
        on_15=("15 ms", {"burst": "15 ms"}),
        on_50=("50 ms", {"burst": "50 ms"}),
        on_500=("500 ms, the default of ns-2", {"burst": "500 ms"}),
    ),
    *_moved(
        "packets of the variable-rate sources",
        TRAFFIC,
        packet_500=("500 bytes", {"burst_packet": "500 bytes"}),
        packet_210=("210 bytes, the default of ns-2", {"burst_packet": "210 bytes"}),
    ),
    *_moved(
        "backward rate for RoVegas",
        ANALYSIS,
        sized_40=("that for acknowledgements of 40 bytes", {"sized_by_bytes": 40}),
    ),
    *_moved(
        "order of the sources in the parking lot",
        ("fig-12", "fig-19"),
        far=("farthest from the sender first", {"layout": "backward-far"}),
    ),
    *_moved(
        "network of Fig. 18",
        ("fig-18",),
        access=("one bottleneck, access links of different lengths", {"delays": "access"}),
    ),
    *_moved(
        "delay of the bottleneck of Figs. 15 and 17",
        ("fig-15", "fig-17"),
        bias_10=("10 ms", {"bias_delay": "10 ms"}),
        bias_40=("40 ms", {"bias_delay": "40 ms"}),
    ),
    *_moved(
        "delay of access links in the analysis",
        ANALYSIS,
        access_0=("none: the round trip is 40 ms", {"access_delay": "0 ms"}),
    ),
    *_moved("difference before it is compared", EVERYTHING, real=("not rounded", {"round_diff": False})),
    *_moved(
        "round-trip time of the actual rate", EVERYTHING, newest=("the newest sample", {"rtt": "newest"})
    ),
    *_moved(
        "numerators of the rates",
        EVERYTHING,
        transit=("what is in transit, and what was sent", {"numerator": "in-transit"}),
        ns2=("those of ns-2", {"numerator": "ns2"}),
    ),
    *_moved(
        "increase of the window",
        EVERYTHING,
        spread=("over the acknowledgements of a round trip, as in ns-2", {"increase": "spread"}),
    ),
    *_moved("gamma", EVERYTHING, gamma_3=("3", {"gamma": 3.0})),
    *_moved(
        "limit of three packets for each acknowledgement",
        EVERYTHING,
        bursts=("none", {"mechanisms": "ABCDEFGI"}),
    ),
    *_moved(
        "alpha = beta in Figs. 17 and 18",
        ("fig-17", "fig-18"),
        band_1=("1", {"equal_band": 1.0}),
        band_3=("3", {"equal_band": 3.0}),
    ),
    *_moved(
        "limit of a queue",
        EVERYTHING,
        service=("counts the packet in transmission", {"counts_service": True}),
    ),
    *_moved(
        "base round-trip time of RoVegas",
        EVERYTHING,
        minimum=("the least derived one everywhere", {"base_rtt": "minimum"}),
    ),
    *_moved(
        "base round-trip time in the mixed network",
        ("fig-19",),
        replace=("the newest derived one", {"base_rtt_mixed": "replace"}),
    ),
    *_moved(
        "wait in the hosts' own queues",
        EVERYTHING,
        hosts=("not part of the stamped time", {"hosts_stamp": False}),
    ),
    *_moved(
        "retransmission timer",
        TRAFFIC,
        rto_1000=("at least 1 s, ticks of 100 ms", {"minimum_rto": "1 s"}),
        tick_10=("at least 0.2 s, ticks of 10 ms", {"tick": "10 ms"}),
        rto_1000_tick_10=("at least 1 s, ticks of 10 ms", {"minimum_rto": "1 s", "tick": "10 ms"}),
    ),
    *_moved("starts of connections", CONNECTIONS, sharp=("exactly together or apart", {"jitter_s": 0.0})),
)
"""Every open assumption, moved one at a time."""
