"""What a search maximizes: how badly an algorithm does in a run."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from dumbbell.errors import refusal
from dumbbell.search.dimensions import Values
from dumbbell.search.subject import SUBJECT, flow_names

Rows = Mapping[str, Mapping[str, Any]]
"""The results of the flows of a run, by name."""


@dataclass(frozen=True, kw_only=True)
class Objective:
    """A measure of a run that a search maximizes.

    Parameters
    ----------
    name
        Its name on the command line.
    meaning
        What it is, in one sentence.
    parts
        The parts of a scenario that vary unless stated otherwise.
    value
        Its value, from the results of the flows and the point.
    excluded
        Values that a point cannot have, by the name of a dimension.
    """

    name: str
    meaning: str
    parts: tuple[str, ...]
    value: Callable[[Rows, Values], float]
    excluded: Mapping[str, str] = field(default_factory=dict)


def _number(values: Values, name: str) -> float:
    return float(values[name])


def _unused(rows: Rows, values: Values) -> float:
    """Return the share of the rate that TCP leaves unused, of what losses and bursts leave to it."""
    left = (1 - _number(values, "pulse_load") / 100) * (1 - _number(values, "loss") / 100)
    goodput = sum(float(rows[name]["goodput_bps"]) for name in flow_names(values))
    return max(0.0, 1.0 - goodput / (_number(values, "rate") * 1e6 * left))


def _starved(rows: Rows, values: Values) -> float:
    """Return the relative shortfall of the smaller of two goodputs from the fair share."""
    goodputs = [float(rows[name]["goodput_bps"]) for name in flow_names(values)]
    total = sum(goodputs)
    return 1.0 - len(goodputs) * min(goodputs) / total if total > 0 else 0.0


def _delayed(rows: Rows, values: Values) -> float:
    """Return the mean queueing delay of the subject by its round-trip propagation delay, at its end."""
    propagation = (_number(values, "rtt") + _number(values, "reroute")) / 1e3
    row = rows[SUBJECT]
    mean, without = row["rtt_mean_s"], propagation
    if mean is None or math.isnan(mean):
        # Stacks of others tell no mean of round-trip times. The path of data has half of the round trip, and all that the
        # delay grows.
        mean, without = row["delay_mean_s"], (_number(values, "rtt") / 2 + _number(values, "reroute")) / 1e3
    return 0.0 if mean is None or math.isnan(mean) else max(0.0, (float(mean) - without) / propagation)


OBJECTIVES = (
    Objective(
        name="low-utilization",
        meaning="share of the rate left by losses and bursts that the flows do not use, from 0 to 1",
        parts=("rate", "rtt", "buffer", "loss", "reroute", "pulses"),
        value=_unused,
    ),
    Objective(
        name="starvation",
        meaning="what the smaller goodput of two flows lacks of the fair share, from 0 to 1",
        parts=("rate", "rtt", "buffer", "loss", "competitor"),
        value=_starved,
        excluded={"competitor": "none"},
    ),
    Objective(
        name="delay",
        meaning="mean queueing delay of the flow in round-trip propagation delays",
        parts=("rate", "rtt", "buffer", "loss", "reroute", "competitor"),
        value=_delayed,
    ),
)


def objective(name: str) -> Objective:
    """Return the objective with this name.

    Raises
    ------
    ScenarioError
        There is none.
    """
    names = [one.name for one in OBJECTIVES]
    if name not in names:
        raise refusal("objective", name, ", ".join(names), names=names)
    return OBJECTIVES[names.index(name)]
