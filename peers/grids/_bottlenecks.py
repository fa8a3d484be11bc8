"""Flows that share a bottleneck: random networks, and the reduction of a run.

Flows with the same round-trip time on a drop-tail queue may reach the same limit cycle whatever their start times.
Each pair of hosts therefore has its own access delay, drawn for every replication over at least one service time of
the bottleneck: both sides use the same networks, and replications are spread over the phases. Times have a
resolution of one nanosecond, so that events coincide only where they must.

Some must coincide. A flow that finds the link idle determines the times of its departures by its own arrival, and
since its ACKs are one service time apart, its next arrivals coincide with those departures. At a full queue, the
order of two simultaneous events then matters, which is not a rule of TCP: here the departure comes first; other
simulators order by insertion or by the last digit of a sum of times. At this point, two otherwise equal runs
diverge.
"""

from __future__ import annotations

import dataclasses
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dumbbell import statistics, topologies
from dumbbell.crossvalidation import Observed, Peer
from dumbbell.quantities import bits_per_second, size_bytes
from dumbbell.scenario import DropTail, Flow, Impairment, Scenario, Tcp
from dumbbell.topologies import Topology

PAYLOAD_BYTES = 1024
"""Payload of a full segment. Our windows are in bytes, those of other simulators in segments. With a power of two, both round
equally, and a window that grows by fractions of a segment reaches a whole number with the same ACK."""

PACKET_BITS = 8 * (PAYLOAD_BYTES + 40)
"""Bits of a full packet on the wire, with its headers; in a peer they may be two bytes longer."""

BOTTLENECK = "r1-r2"

ACCESS_DELAY_US = 100.0
"""The minimum propagation delay of an access link, µs."""

# Coarse clocks tick every 10 ms.
TICK_US = 10_000.0


def is_slow(peer: Peer) -> bool:
    """Return whether the runs of a peer are expensive, so that a grid should have fewer and shorter ones."""
    return bool(getattr(peer, "slow", False))


def tcp(peer: Peer, variant: str) -> dict[str, Any]:
    """Return the peer's rules for a variant, with the payload of these grids."""
    return peer.tcp(variant, mss=f"{PAYLOAD_BYTES} bytes")


@dataclass(frozen=True, kw_only=True)
class Network:
    """A bottleneck and the path to it.

    Parameters
    ----------
    rate_mbps
        Rate of the bottleneck in both directions, Mbit/s; access links are ten times as fast.
    delay_ms
        Its propagation delay, ms; access links add less than a service time and a millisecond.
    buffer
        Packets that may wait before it, in each direction.
    """

    rate_mbps: float
    delay_ms: float
    buffer: int

    @property
    def service_us(self) -> float:
        """Time in which the bottleneck sends a packet, µs."""
        return PACKET_BITS / self.rate_mbps

    @property
    def bdp(self) -> float:
        """Product of rate and round-trip propagation delay, packets."""
        return 2e3 * self.delay_ms / self.service_us

    def topology(
        self,
        drawn: Drawn,
        *,
        reverse: int = 0,
        impairments: Sequence[Impairment] = (),
    ) -> Topology:
        """Return the network.

        Parameters
        ----------
        drawn
            Delays of the senders' links and phases of their clocks, those of the pairs in reverse direction last.
        reverse
            How many of the pairs are in the reverse direction.
        impairments
            What loses packets on the bottleneck.
        """
        shape = topologies.dumbbell(
            pairs=len(drawn.delays_us) - reverse,
            reverse_pairs=reverse,
            rate=f"{self.rate_mbps:g} Mbit/s",
            delay=f"{self.delay_ms:g} ms",
            queue=DropTail(limit=f"{self.buffer} packets"),
            impairments=impairments or None,
            access_rate=f"{10.0 * self.rate_mbps:g} Mbit/s",
            sender_delay=[f"{delay * 1e3:.0f} ns" for delay in drawn.delays_us],
            receiver_delay=f"{ACCESS_DELAY_US:g} us",
        )
        phases = {
            f"s{number}": f"{phase * 1e3:.0f} ns" for number, phase in enumerate(drawn.phases_us, start=1)
        }
        nodes = tuple(
            dataclasses.replace(node, tick_phase=phases[node.name]) if node.name in phases else node
            for node in shape.nodes
        )
        return dataclasses.replace(shape, nodes=nodes)


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """Random values of a replication, fixed in its scenario.

    Parameters
    ----------
    starts_s
        Start of each flow, s.
    delays_us
        Propagation delay of each sender's access links, µs.
    phases_us
        Phase of each sender's coarse clock, µs.
    """

    starts_s: tuple[float, ...]
    delays_us: tuple[float, ...]
    phases_us: tuple[float, ...]

    def flows(self, tables: Sequence[Mapping[str, Any]], names: Sequence[str]) -> list[Flow]:
        """Return the flows; the n-th is of the n-th pair of hosts."""
        return [
            Flow(
                name=name,
                from_=f"s{number}",
                to=f"d{number}",
                tcp=Tcp.from_dict(table),
                start=f"{start * 1e9:.0f} ns",
            )
            for number, (name, table, start) in enumerate(
                zip(names, tables, self.starts_s, strict=True), start=1
            )
        ]


def drawn(key: str, network: Network, count: int, *, within_s: float) -> Drawn:
    """Draw start times, access delays and phases of clocks.

    Parameters
    ----------
    key
        What the generator is seeded by, so that a replication is the same wherever it is made.
    network
        Where the flows are; delays are spread over a service time of its bottleneck, or a millisecond if that is more.
    count
        Number of flows.
    within_s
        Flows start within so many seconds.
    """
    random = np.random.default_rng(zlib.crc32(key.encode()))
    spread = max(network.service_us, 1000.0)
    return Drawn(
        starts_s=tuple(random.uniform(0.0, within_s, count).tolist()),
        delays_us=tuple((ACCESS_DELAY_US + random.uniform(0.0, spread, count)).tolist()),
        phases_us=tuple(random.uniform(0.0, TICK_US, count).tolist()),
    )


def _payload_rate(scenario: Scenario) -> float:
    """Return the maximum goodput of the bottleneck, bit/s."""
    data = scenario.resolved()
    rate = next(bits_per_second(link["rate"], "rate") for link in data["links"] if link["name"] == BOTTLENECK)
    table = data["flows"][0]["tcp"]
    mss, header = size_bytes(table["mss"], "mss"), size_bytes(table["headers"]["data"], "headers.data")
    return rate * mss / (mss + header)


def kept(
    scenario: Scenario, run: Observed, *, flows: Sequence[str], link: str = BOTTLENECK
) -> dict[str, Any]:
    """Return the reduction of one side's run.

    Parameters
    ----------
    scenario, run
        What was run, and what was observed.
    flows
        Names of the flows that count, in their order.
    link
        The bottleneck.

    Returns
    -------
    dict
        ``shares``: goodput of each flow over the most that the link can carry; ``total``: their sum; counts over the whole
        run of all flows together, ``retransmitted`` (segments) and ``timeouts``; of the link ``utilization``, ``drops``
        (packets), ``backlog_mean`` and ``backlog_max`` (packets).
    """
    rows = run.flows.set_index("name").loc[list(flows)]
    observed = run.links.set_index("name")
    at = {str(name): float(value) for name, value in observed.loc[link].to_dict().items()}
    shares = rows["goodput_bps"].to_numpy(dtype=np.float64) / _payload_rate(scenario)
    return {
        "shares": [float(share) for share in shares],
        "total": float(shares.sum()),
        "retransmitted": float(rows["segments_retransmitted"].sum()),
        "timeouts": float(rows["timeouts"].sum()),
        "utilization": at["utilization"],
        "drops": at["drops_queue"],
        "backlog_mean": at["backlog_mean_packets"],
        "backlog_max": at["backlog_max_packets"],
    }


def fairness(shares: Sequence[float]) -> dict[str, float]:
    """Return Jain's index, and the shares of the slowest and of the fastest quarter of the flows, at least one flow each."""
    ordered = np.sort(np.asarray(shares, dtype=np.float64))
    quarter = max(1, len(ordered) // 4)
    return {
        "jain": float(statistics.jain_index(ordered)),
        "slowest": float(ordered[:quarter].sum()),
        "fastest": float(ordered[-quarter:].sum()),
    }
