"""A stored run as the measures of items read it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dumbbell.statistics import jain_index

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Record:
    """A stored run.

    Parameters
    ----------
    flows, links, delay_s, traces
        See `dumbbell.evaluation.reduction.reduce`.
    duration_s
        Simulated time, s.
    """

    flows: list[dict[str, Any]]
    links: list[dict[str, Any]]
    delay_s: list[float]
    traces: list[dict[str, Any]]
    duration_s: float

    def of(self, prefix: str, field: str) -> Floats:
        """Return a field of all flows whose names begin with a prefix."""
        values = [flow[field] for flow in self.flows if flow["name"].startswith(prefix)]
        return np.array([np.nan if value is None else value for value in values], dtype=np.float64)

    def goodput_bps(self, prefix: str = "") -> float:
        """Return the sum of the goodputs of flows, bit/s."""
        return float(self.of(prefix, "goodput_bps").sum())

    def jain(self, prefix: str = "") -> float:
        """Return Jain's index of the goodputs of flows; that of flows which all deliver nothing is 1."""
        goodputs = self.of(prefix, "goodput_bps")
        return float(jain_index(goodputs)) if goodputs.sum() > 0.0 else 1.0

    def completion_s(self, prefix: str = "") -> Floats:
        """Return the completion times of transfers, s. Those that did not complete count with their age at the end."""
        done, start = self.of(prefix, "completion_s"), self.of(prefix, "start_s")
        return np.where(np.isfinite(done), done, self.duration_s - start)

    def loss(self, prefix: str = "") -> float:
        """Return the fraction of the segments of flows that were lost."""
        sent = float(self.of(prefix, "segments_sent").sum())
        return float(self.of(prefix, "segments_lost").sum()) / sent if sent else 0.0

    @cached_property
    def bottleneck(self) -> Mapping[str, Any]:
        """The first link between routers, forward."""
        return self.links[0]

    @property
    def drop_rate(self) -> float:
        """The fraction of packets that the queue of the bottleneck dropped."""
        link = self.bottleneck
        dropped = link["drops_queue"] + link["drops_early"]
        total = link["packets"] + dropped
        return float(dropped / total) if total else 0.0

    @property
    def mark_rate(self) -> float:
        """The fraction of packets that the bottleneck marked."""
        link = self.bottleneck
        return float(link["marks"] / link["packets"]) if link["packets"] else 0.0

    @property
    def utilization(self) -> float:
        """The utilization of the bottleneck."""
        return float(self.bottleneck["utilization"])

    @property
    def delay_mean_s(self) -> float:
        """The mean queueing delay of packets at the bottleneck, s."""
        return float(self.bottleneck["wait_mean_s"])

    @property
    def delay_p95_s(self) -> float:
        """The 95th percentile of the sampled queueing delay, s."""
        return float(self.delay_s[3])

    @property
    def delay_p99_s(self) -> float:
        """The 99th percentile of the sampled queueing delay, s."""
        return float(self.delay_s[4])

    def trace(self, quantity: str, name: str) -> tuple[Floats, Floats]:
        """Return times (s) and values of a trace; empty if nothing was recorded."""
        for one in self.traces:
            if one["quantity"] == quantity and one["name"] == name:
                return np.asarray(one["time_s"], dtype=float), np.asarray(one["value"], dtype=float)
        return np.array([]), np.array([])

    def delivered(self, prefix: str, edges: Floats) -> Floats:
        """Return the bytes that flows delivered in intervals, shape (flows, intervals).

        Parameters
        ----------
        prefix
            Beginning of the names of the flows, whose `delivered` was sampled.
        edges
            Bounds of the intervals, s, ascending.
        """
        rows = []
        for one in self.traces:
            if one["quantity"] == "delivered" and one["name"].startswith(prefix):
                times = np.asarray(one["time_s"], dtype=float)
                values = np.asarray(one["value"], dtype=float)
                place = np.searchsorted(times, edges, side="right") - 1
                rows.append(np.diff(np.where(place >= 0, values[np.maximum(place, 0)], 0.0)))
        return np.array(rows, dtype=float).reshape(len(rows), len(edges) - 1)

    def longest_below_s(
        self, prefix: str, floor_bytes: float, *, begin: float, end: float, step: float
    ) -> float:
        """Return the longest time in which a flow delivered less than a floor in each interval, s.

        Parameters
        ----------
        prefix
            Beginning of the names of the flows.
        floor_bytes
            Bytes per interval.
        begin, end, step
            Bounds of the intervals, s.
        """
        longest = 0
        for flow in self.delivered(prefix, np.arange(begin, end + 1e-9, step)):
            run = 0
            for below in flow < floor_bytes:
                run = run + 1 if below else 0
                longest = max(longest, run)
        return longest * step

    def time_to_share_s(
        self, prefix: str, share: float, rate_bps: float, *, begin: float, step: float
    ) -> float:
        """Return the time until flows together deliver a share of a rate within an interval, s; at most the rest of the run.

        Parameters
        ----------
        prefix
            Beginning of the names of the flows.
        share
            Of the rate, less headers.
        rate_bps
            The rate, bit/s.
        begin
            When the time begins to count, s.
        step
            Length of the intervals, s.
        """
        edges = np.arange(begin, self.duration_s + 1e-9, step)
        total = self.delivered(prefix, edges).sum(axis=0) * 8.0 / step
        reached = np.flatnonzero(total >= share * rate_bps * PAYLOAD)
        return float(edges[reached[0] + 1] - begin) if reached.size else self.duration_s - begin


PAYLOAD = 1460.0 / 1500.0
"""Payload of a full packet by its size."""
