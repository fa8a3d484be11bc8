"""A path and a sender as parameters, and the scenario that they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dumbbell.inference.connection import Connection
from dumbbell.scenario import Scenario

# Links beside the bottleneck are so fast that their serialization does not count.
FAST = "10 Gbit/s"
# Where Linux's receivers begin, and how far they go by default (tcp_rmem).
GROWN, BEGINNING_BYTES, MOST_BYTES = 1.5, 80_000, 6 << 20
# The quantities of a simulated flow that are compared with a capture.
QUANTITIES = ("seq_sent", "seq_acked", "rtt")
FLOW, BOTTLENECK, SENDER, RECEIVER = "flow", "bottleneck", "sender", "receiver"

DISCIPLINES = ("droptail", "codel", "fqcodel", "pie", "policer")
"""Disciplines that a fit tells apart, by their names in scenarios."""


@dataclass(frozen=True, kw_only=True)
class Ends:
    """What a capture tells of the two hosts, which no candidate changes.

    Parameters
    ----------
    mss, headers
        Payload and headers of a full packet, bytes.
    has_timestamps
        Whether segments carry timestamps.
    window_bytes
        Largest receive window.
    is_window_growing
        Whether the window begins at 64 kB and grows, as that of a Linux host.
    size_bytes
        Size of the transfer, if it ended in the capture.
    duration_s
        Time from the first data to the end of what is compared.
    """

    mss: int
    headers: int
    has_timestamps: bool
    window_bytes: int
    is_window_growing: bool
    size_bytes: int | None
    duration_s: float

    @classmethod
    def of(cls, seen: Connection) -> Ends:
        """Return the ends of a connection."""
        start = int(seen.window[: max(1, len(seen.window) // 50)].min())
        growing = start < BEGINNING_BYTES and int(seen.window.max()) > GROWN * start
        return cls(
            mss=seen.mss,
            headers=seen.headers,
            has_timestamps=seen.has_timestamps,
            window_bytes=max(MOST_BYTES, 2 * int(seen.window.max())) if growing else int(seen.window.max()),
            is_window_growing=growing,
            size_bytes=int(seen.acked[-1]) if seen.is_complete else None,
            duration_s=seen.end_s,
        )

    def tcp(self, control: str) -> dict[str, Any]:
        """Return the TCP of a flow with a congestion control of the registry, in the environment `linux`."""
        size = f"{self.headers} bytes"
        made: dict[str, Any] = {
            "congestion": control,
            "mss": f"{self.mss} bytes",
            "headers": {"data": size, "ack": size, "sack_block": "8 bytes"},
            "timestamps": self.has_timestamps,
            "receive_buffer": f"{max(self.window_bytes, self.mss)} bytes",
        }
        if self.is_window_growing:
            made["reading"] = {"autotuning": True}
        return made


@dataclass(frozen=True, kw_only=True)
class Path:
    """A bottleneck and what else is on it.

    Parameters
    ----------
    rate_bps
        Rate of the link.
    base_rtt_s
        Propagation delays there and back.
    discipline
        One of `DISCIPLINES`.
    buffer_packets
        Limit of a drop-tail queue, in packets that wait; ``None`` for no limit.
    loss
        Probability of random loss.
    forced
        Ordinals of packets that are lost, in place of random loss: the losses of one capture.
    policed_bps, burst_bytes
        Rate and bucket of a policer.
    competitors
        Number of other flows, which all have `competing`.
    competing
        Congestion control of the other flows.
    """

    rate_bps: float
    base_rtt_s: float
    discipline: str = "droptail"
    buffer_packets: int | None = None
    loss: float = 0.0
    forced: tuple[int, ...] = ()
    policed_bps: float = 0.0
    burst_bytes: float = 0.0
    competitors: int = 0
    competing: str = "cubic"

    @property
    def bottleneck_bps(self) -> float:
        """Rate that limits: that of the policer, or of the link."""
        return self.policed_bps if self.discipline == "policer" else self.rate_bps

    def to_be_run(self, loss: float) -> Path:
        """Return the path with random loss of this probability in place of repeated losses."""
        return replace(self, forced=(), loss=loss) if self.forced else self

    def queue(self) -> dict[str, Any]:
        """Return the queue of the bottleneck as in a scenario."""
        if self.discipline == "droptail":
            limit = {} if self.buffer_packets is None else {"limit": f"{self.buffer_packets} packets"}
            return {"kind": "droptail"} | limit
        if self.discipline == "policer":
            rate, burst = f"{self.policed_bps:.0f} bit/s", f"{max(self.burst_bytes, 1.0):.0f} bytes"
            return {"kind": "policer", "rate": rate, "burst": burst}
        return {"kind": self.discipline} | ({} if self.discipline == "pie" else {"strict": True})

    def links(self) -> list[dict[str, Any]]:
        """Return the links as in a scenario."""
        delay = f"{max(self.base_rtt_s, 0.0) / 2.0 * 1e9:.0f} ns"
        bottleneck: dict[str, Any] = {
            "name": BOTTLENECK, "from": SENDER, "to": RECEIVER, "rate": f"{self.rate_bps:.0f} bit/s", "delay": delay,
            "queue": self.queue(),
        }  # fmt: skip
        losses: list[dict[str, Any]] = []
        if self.forced:
            losses.append({"kind": "forced", "packets": list(self.forced)})
        if self.loss > 0.0:
            losses.append({"kind": "bernoulli", "probability": self.loss})
        if losses:
            bottleneck["impairments"] = losses
        back = {"name": "back", "from": RECEIVER, "to": SENDER, "rate": FAST, "delay": delay}
        return [bottleneck, back]

    def scenario(self, ends: Ends, control: str, *, probed: bool = True, name: str | None = None) -> Scenario:
        """Return the scenario of a sender with this control on the path.

        Parameters
        ----------
        ends
            The two hosts.
        control
            A congestion control of the registry.
        probed
            Whether what is compared with a capture is recorded.
        name
            Name of the scenario.
        """
        source: Mapping[str, Any] = {"kind": "greedy"}
        if ends.size_bytes is not None:
            source = {"kind": "transfer", "size": f"{ends.size_bytes} bytes"}
        flow = {"name": FLOW, "from": SENDER, "to": RECEIVER, "tcp": ends.tcp(control), "source": source}
        others = [
            {"name": f"other-{place + 1}", "from": SENDER, "to": RECEIVER, "tcp": {"congestion": self.competing},
             "source": {"kind": "greedy"}}
            for place in range(self.competitors)
        ]  # fmt: skip
        data: dict[str, Any] = {
            "name": name or f"{control} on a fitted path",
            "duration": f"{ends.duration_s + self.base_rtt_s + 24_000 / self.bottleneck_bps:.6f} s",
            "rules": "linux",
            "nodes": [SENDER, RECEIVER],
            "links": self.links(),
            "flows": [flow, *others],
        }
        if ends.size_bytes is not None:
            data["duration"] = f"{1.5 * ends.duration_s + 1.0:.6f} s"
            data["stop_when_complete"] = [FLOW]
        if probed:
            data["probes"] = [{"flows": [FLOW], "quantities": list(QUANTITIES)}]
        return Scenario.of(data)


def ordinals(is_early: np.ndarray[Any, np.dtype[np.bool_]]) -> tuple[int, ...]:
    """Return the ordinals, counted from 1, of transmissions that were lost although the queue was not full."""
    return tuple(int(place) + 1 for place in np.flatnonzero(is_early))
