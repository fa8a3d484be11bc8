"""One link between two hosts with the flows on it, and the reduction of the runs.

In real time, a run lasts as long as its scenario, so a grid covers its factors with few points. Both sides see the same
transient: a run is long enough to compare them, not to reach a steady state.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from dumbbell import report
from dumbbell.crossvalidation import Observed
from dumbbell.quantities import nanoseconds
from dumbbell.scenario import DropTail, Flow, Link, Node, Probe, Scenario, Tcp
from dumbbell.traces import StepFunction

RATES_MBPS = (1, 2, 3, 5, 10, 15, 30, 50)
RTTS_MS = (10, 20, 40, 70, 100)
BUFFERS_BDP = (0.5, 1.0, 2.0, 4.0)
"""Buffers, as multiples of the product of rate and round-trip propagation delay."""

LEAST_BUFFER = 3
"""The smallest buffer, packets. With a shorter one, losses end in timeouts."""

PACKET_BITS = 8 * 1500
ACK_BITS = 8 * 52

BOTTLENECK = "a-b"

WINDOW = "cwnd_base"
"""The window without what duplicate ACKs add to it in the simulator; the kernel's window has no such part."""

# Random starts are drawn within this time, s.
STARTS_S = 1.0


@dataclass(frozen=True, kw_only=True)
class Path:
    """A path of one link in each direction.

    Parameters
    ----------
    rate_mbps
        Rate of both links, Mbit/s.
    rtt_ms
        Round-trip propagation delay, ms.
    buffer_bdp
        Buffer of the forward link as a multiple of the product of rate and delay. That of the reverse link is unlimited.
    longer_packets
        Serialization times of a packet by which the round-trip propagation delay is longer.
    """

    rate_mbps: float
    rtt_ms: float
    buffer_bdp: float
    longer_packets: float = 0.0

    @property
    def bdp(self) -> float:
        """Product of rate and round-trip propagation delay, packets."""
        return 1e3 * self.rate_mbps * self.rtt_ms / PACKET_BITS

    @property
    def base_packets(self) -> float:
        """Packets on the path of a flow that fills it without queueing: in propagation, one in transmission, and its ACK."""
        return self.bdp + self.longer_packets + 1.0 + ACK_BITS / PACKET_BITS

    def with_half_a_packet(self) -> Path:
        """Return the path, longer by less than a packet, on which `base_packets` is half a packet above a whole number."""
        return replace(self, longer_packets=(0.5 - replace(self, longer_packets=0.0).base_packets) % 1.0)

    @property
    def packet_us(self) -> float:
        """Serialization time of a packet, µs."""
        return PACKET_BITS / self.rate_mbps

    @property
    def buffer(self) -> int:
        """Packets that may wait."""
        return round(self.buffer_bdp * self.bdp)

    def scenario(
        self,
        name: str,
        tables: Sequence[dict[str, Any]],
        *,
        starts_s: Sequence[float],
        duration_s: float,
        from_s: float,
        probes: bool,
    ) -> Scenario:
        """Return the scenario of flows ``f1``, ``f2``, … with these tables and starts."""
        rate = f"{self.rate_mbps:g} Mbit/s"
        delay = f"{(1e6 * self.rtt_ms + 1e3 * self.longer_packets * self.packet_us) / 2:.0f} ns"
        asks = any(table.get("aqt") for table in tables)
        flows = [
            Flow(
                name=f"f{number}",
                from_="a",
                to="b",
                tcp=Tcp.from_dict(table),
                start=f"{start * 1e6:.0f} us",
            )
            for number, (table, start) in enumerate(zip(tables, starts_s, strict=True), start=1)
        ]
        return Scenario(
            name=name,
            rules="classic",
            duration=f"{duration_s:g} s",
            measure_from=f"{from_s:g} s",
            # Queueing times are for those who ask for them.
            nodes=[Node(name=name, aqt=True if asks else None) for name in ("a", "b")],
            links=[
                Link(
                    name=BOTTLENECK,
                    from_="a",
                    to="b",
                    rate=rate,
                    delay=delay,
                    queue=DropTail(limit=f"{self.buffer} packets"),
                ),
                Link(name="b-a", from_="b", to="a", rate=rate, delay=delay),
            ],
            flows=flows,
            probes=[Probe(quantities=[WINDOW], flows=["*"])] if probes else [],
        )


def covering() -> list[Path]:
    """Return a path for every rate with every delay.

    The buffer changes from one to the next, so that every rate and every delay occur with all buffers of at least
    `LEAST_BUFFER` packets.
    """
    paths = []
    for row, rate in enumerate(RATES_MBPS):
        for column, rtt in enumerate(RTTS_MS):
            every = [Path(rate_mbps=rate, rtt_ms=rtt, buffer_bdp=buffer) for buffer in BUFFERS_BDP]
            large = [path for path in every if path.buffer >= LEAST_BUFFER]
            paths.append(large[(row + 2 * column) % len(large)])
    return paths


def starts_s(key: str, count: int) -> list[float]:
    """Return random start times within a second, s, the same for every run of this key."""
    drawn = np.random.default_rng(zlib.crc32(key.encode())).uniform(0.0, STARTS_S, count)
    return [float(start) for start in drawn]


def whole_window(run: Observed, name: str) -> StepFunction:
    """Return the window of a flow in whole segments: the kernel counts no fractions, and ours sends none."""
    window = StepFunction.of(run.traces[WINDOW], name)
    return StepFunction(window.time, np.floor(window.value))


def reduced(scenario: Scenario, run: Observed) -> dict[str, Any]:
    """Return the reduction of one side's run.

    Returns
    -------
    dict
        From ``measure_from`` on: ``goodputs`` of all flows, bit/s; ``retransmitted`` (segments) and ``timeouts`` of all
        together; ``windows``, the mean window of each flow that is probed, whole segments; of the link ``backlog``, its
        mean in packets, and ``drops``; and how late packets were written, ``late_p99_us``, with the
        number of ``repeats``, NaN where time is simulated.
    """
    data = scenario.resolved()
    rows = run.flows.set_index("name").loc[[flow["name"] for flow in data["flows"]]]
    links = run.links.set_index("name")
    begin, end = (nanoseconds(data[name], name) / 1e9 for name in ("measure_from", "duration"))
    windows = [whole_window(run, name).mean(begin, end) for name in rows.index if WINDOW in run.traces]
    return {
        "goodputs": rows["goodput_bps"].astype(float).tolist(),
        "retransmitted": float(rows["segments_retransmitted"].sum()),
        "timeouts": float(rows["timeouts"].sum()),
        "windows": windows,
        "backlog": float(links["backlog_mean_packets"][BOTTLENECK]),
        "drops": float(links["drops_queue"][BOTTLENECK]),
        **{
            name: float(links[name][BOTTLENECK]) if name in links else float("nan")
            for name in ("late_p99_us", "repeats")
        },
    }


def lateness(results: pd.DataFrame) -> list[report.Text]:
    """Return how late packets were in the kernel's runs; nothing if its time is simulated."""
    rows = results[results["side"] == "peer"]
    late = rows["late_p99_us"].astype(float).dropna()
    if late.empty:
        return []
    text = report.Text(
        paragraphs=[
            f"Lateness of packets in real time, 99th percentile of a run: {late.median():.0f} µs in the median of the runs, "
            f"{late.max():.0f} µs at most. Runs repeated because they were disturbed: {int((rows['repeats'] > 0).sum())} of "
            f"{len(rows)}."
        ]
    )
    return [text]
