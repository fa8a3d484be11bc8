"""What an agent sees of an interval, and what it is rewarded for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from dumbbell._engine import Episodes
from dumbbell.errors import refusal

Floats: TypeAlias = NDArray[np.float64]

COLUMNS = {name: index for index, name in enumerate(Episodes.COLUMNS)}


class Intervals:
    """The intervals that several runs have just completed, by column: arrays of shape (n,), one value per run.

    ===================== =========== =======================================================================
    column                unit        meaning
    ===================== =========== =======================================================================
    ``time_s``            s           end of the interval, since the start of the run
    ``duration_s``        s           its length
    ``acks``              1           acknowledgements, including duplicate ones
    ``delivered_bytes``   bytes       acknowledged or selectively acknowledged for the first time
    ``lost_bytes``        bytes       considered lost
    ``marked_bytes``      bytes       for which an ECN mark was echoed
    ``sent_bytes``        bytes       sent, including retransmissions
    ``timeouts``          1           expirations of the retransmission timer
    ``rtt_s``             s           mean of the samples of the round-trip time; NaN without any
    ``rtt_gradient``      1           change of that mean since the last interval with samples, by the length
    ``min_rtt_s``         s           smallest sample since the start; NaN before the first
    ``srtt_s``            s           smoothed round-trip time; NaN before the first sample
    ``cwnd_bytes``        bytes       the congestion window; NaN before the first connection
    ``pacing_rate``       bytes/s     the pacing rate; NaN without one
    ``in_flight_bytes``   bytes       in the network as far as the sender knows, after the last acknowledgement
    ``max_delivery_rate`` bytes/s     largest delivery rate of an interval so far
    ``mss_bytes``         bytes       payload of a full segment; NaN before the first connection
    ``terminated``        0 or 1      the flow has completed or given up
    ``truncated``         0 or 1      the run has reached its end
    ===================== =========== =======================================================================

    Parameters
    ----------
    values : ndarray, shape (n, columns)
        As the engine returns them.
    capacity : ndarray, shape (n,)
        Rate of the bottleneck of each run, in bytes/s.
    """

    def __init__(self, values: Floats, capacity: Floats) -> None:
        self.values = values
        self.capacity = capacity

    def __getitem__(self, column: str) -> Floats:
        try:
            return self.values[:, COLUMNS[column]]
        except KeyError:
            raise refusal("column", column, ", ".join(COLUMNS), names=COLUMNS) from None

    def __len__(self) -> int:
        return len(self.values)

    def columns(self) -> dict[str, Floats]:
        """Return all columns by name."""
        return {name: self.values[:, index] for name, index in COLUMNS.items()}

    @property
    def delivery_rate(self) -> Floats:
        """Bytes delivered per second, 0 in an interval without length."""
        return ratio(self["delivered_bytes"], self["duration_s"], 0.0)

    @property
    def rtt_ratio(self) -> Floats:
        """Mean round-trip time over the smallest one; the smoothed one if there was no sample, and 1 before the first."""
        rtt = np.where(np.isnan(self["rtt_s"]), self["srtt_s"], self["rtt_s"])
        return np.nan_to_num(rtt / self["min_rtt_s"], nan=1.0)

    @property
    def loss_rate(self) -> Floats:
        """Share of the bytes lost among those lost or delivered, 0 if there were none."""
        lost = self["lost_bytes"]
        return ratio(lost, lost + self["delivered_bytes"], 0.0)


def ratio(numerator: Floats, denominator: Floats, otherwise: float) -> Floats:
    """Return a quotient, and another value where the denominator is not above 0."""
    result = np.full(numerator.shape, otherwise)
    np.divide(numerator, denominator, out=result, where=denominator > 0)
    return result


@dataclass(frozen=True)
class Feature:
    """A component of the observation.

    Parameters
    ----------
    name
        Its name.
    low, high
        Its range; a value beyond it is replaced by the bound.
    meaning
        What it is, in one sentence.
    value
        Its values, shape (n,), from intervals.
    """

    name: str
    low: float
    high: float
    meaning: str
    value: Callable[[Intervals], Floats]


FEATURES = (
    Feature("rtt_ratio", 1.0, 10.0, "Mean RTT over the smallest one [jay2019 §3].", lambda at: at.rtt_ratio),
    Feature(
        "rtt_gradient",
        -1.0,
        1.0,
        "Change of the mean RTT over the length of the interval [jay2019 §3].",
        lambda at: at["rtt_gradient"],
    ),
    Feature(
        "send_ratio",
        0.0,
        10.0,
        "Bytes sent by bytes delivered [jay2019 §3]; 1 if nothing was delivered.",
        lambda at: ratio(at["sent_bytes"], at["delivered_bytes"], 1.0),
    ),
    Feature("loss_rate", 0.0, 1.0, "Share of bytes lost among lost and delivered.", lambda at: at.loss_rate),
    Feature(
        "delivery_ratio",
        0.0,
        1.0,
        "Delivery rate by the largest one of an interval so far [abbasloo2020].",
        lambda at: ratio(at.delivery_rate, at["max_delivery_rate"], 0.0),
    ),
    Feature(
        "acked_ratio",
        0.0,
        10.0,
        "Bytes delivered by the window.",
        lambda at: ratio(at["delivered_bytes"], at["cwnd_bytes"], 0.0),
    ),
    Feature(
        "window_ratio",
        0.0,
        10.0,
        "Window by the product of the largest delivery rate and the smallest RTT.",
        lambda at: ratio(at["cwnd_bytes"], at["max_delivery_rate"] * at["min_rtt_s"], 0.0),
    ),
)
"""The components of an observation, in order."""

LOW = np.array([feature.low for feature in FEATURES])
HIGH = np.array([feature.high for feature in FEATURES])


def observation(intervals: Intervals) -> NDArray[np.float32]:
    """Return the observations of intervals, by `FEATURES`: shape (n, 7), within their ranges."""
    values = np.stack([feature.value(intervals) for feature in FEATURES], axis=1)
    return np.clip(values, LOW, HIGH).astype(np.float32)


Reward = Callable[[Intervals], NDArray[np.float64]]
"""The rewards of intervals, shape (n,)."""


@dataclass(frozen=True, kw_only=True)
class PowerReward:
    """Delivery rate less losses, by the RTT: the reward of Orca [abbasloo2020], at most 1 on a path of constant rate.

    ``(rate - loss_weight * lost) / capacity / r`` with the rates of bytes delivered and lost, and r the mean RTT over the
    smallest one, which counts as 1 up to the tolerance.

    Parameters
    ----------
    loss_weight
        Weight of the bytes lost, at least 0.
    delay_tolerance
        RTT over the smallest one that is not punished, at least 1.

    Raises
    ------
    ScenarioError
        A parameter is out of its range.
    """

    loss_weight: float = 1.0
    delay_tolerance: float = 1.25

    def __post_init__(self) -> None:
        for name, least in (("loss_weight", 0.0), ("delay_tolerance", 1.0)):
            if not least <= getattr(self, name) < float("inf"):
                raise refusal(name, getattr(self, name), f"a finite number, at least {least:g}")

    def __call__(self, intervals: Intervals) -> NDArray[np.float64]:
        """Return the rewards of intervals, shape (n,)."""
        lost = ratio(intervals["lost_bytes"], intervals["duration_s"], 0.0)
        use = (intervals.delivery_rate - self.loss_weight * lost) / intervals.capacity
        delay = intervals.rtt_ratio
        return use / np.where(delay <= self.delay_tolerance, 1.0, delay)
