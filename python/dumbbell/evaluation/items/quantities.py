"""Quantities and limits that several items share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from dumbbell.evaluation.record import Record
from dumbbell.evaluation.study import Case
from dumbbell.judge.baseline import Limit
from dumbbell.judge.quantity import Quantity

DELAY_MEAN = Limit(
    column="delay_mean",
    label="mean queueing delay",
    unit="ms",
    factor=1.25,
    slack=0.002,
    breaks="builds longer queues than the baselines",
    strength="keeps queues shorter than half of the baselines'",
)
DELAY_P95 = replace(DELAY_MEAN, column="delay_p95", label="95th percentile of the queueing delay")
UTILIZATION = Limit(
    column="utilization",
    most=1.0,
    label="utilization",
    unit="%",
    better="higher",
    factor=0.9,
    breaks="leaves capacity unused that the baselines use",
)
LOSS = Limit(
    column="drop_rate",
    most=1.0,
    label="loss rate",
    unit="%",
    factor=2.0,
    slack=0.002,
    breaks="loses more packets than the baselines",
    strength="loses less than half of the packets that the baselines lose",
)
COMPLETION_MEAN = Limit(
    column="completion_mean",
    label="mean completion time",
    unit="s",
    factor=1.25,
    breaks="completes transfers later than the baselines",
    strength="completes transfers in less than half of the baselines' time",
)
COMPLETION_P95 = replace(
    COMPLETION_MEAN, column="completion_p95", label="95th percentile of the completion time", factor=1.5
)
GOODPUT = Limit(
    column="goodput",
    label="goodput",
    unit="Mbit/s",
    better="higher",
    factor=0.75,
    breaks="gets less than the baselines",
)


def reported(limit: Limit) -> Quantity:
    """Return the quantity of a limit for an item that has no limit of it."""
    return Quantity(column=limit.column, label=limit.label, unit=limit.unit, most=limit.most)


DELAY_REPORTED, DELAY_P95_REPORTED = reported(DELAY_MEAN), reported(DELAY_P95)
LOSS_REPORTED, UTILIZATION_REPORTED = reported(LOSS), reported(UTILIZATION)


def link(_: Case, record: Record) -> dict[str, float]:
    """Return utilization, queueing delays, losses and marks of the bottleneck."""
    found = {
        "utilization": record.utilization,
        "delay_mean": record.delay_mean_s,
        "drop_rate": record.drop_rate,
        "mark_rate": record.mark_rate,
    }
    if record.delay_s:
        mean, deviation = record.delay_s[:2]
        found |= {
            "delay_p95": record.delay_p95_s,
            "delay_p99": record.delay_p99_s,
            "oscillation": deviation / mean if mean > 0.0 else 0.0,
        }
    return found


def completions(record: Record, prefix: str) -> dict[str, float]:
    """Return mean and 95th percentile of the completion times of transfers, s."""
    times = record.completion_s(prefix)
    return {"completion_mean": float(times.mean()), "completion_p95": float(np.quantile(times, 0.95))}


def flows_text(count: int) -> str:
    """Return a number of flows in words."""
    return "1 flow" if count == 1 else f"{count} flows"


def log_uniform(low: float, high: float) -> Callable[[np.random.Generator, int], Sequence[float]]:
    """Return a function that draws sizes whose logarithms are uniform between those of two bounds, bytes."""

    def draw(random: np.random.Generator, count: int) -> Sequence[float]:
        return [float(size) for size in low * (high / low) ** random.random(count)]

    return draw


def log_uniform_mean(low: float, high: float) -> float:
    """Return the mean of `log_uniform`, bytes."""
    return float((high - low) / np.log(high / low))
