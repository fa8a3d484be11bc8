"""What would have happened on a fitted path with another algorithm, buffer, queue or rate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dumbbell.errors import ScenarioError, refusal
from dumbbell.inference.calibration import PREDICTED, Interval, Setting, interval
from dumbbell.inference.fitting import RANDOM, Explained
from dumbbell.inference.path import BOTTLENECK, FLOW, Ends
from dumbbell.runs import Job, run_many
from dumbbell.scenario import Scenario

KEYS = ("tcp", "buffer", "queue", "rate")
"""What may be changed: the congestion control, the limit of a drop-tail queue, the discipline, the rate of the link."""

ACCEPTED = "tcp=NAME, buffer=LIMIT, queue=KIND or rate=RATE"

# Paths of the accepted set that predict, spread over it; and runs of each where something is random.
MOST_PATHS, RUNS = 8, 3
# Parts of the predictions below and above the range that is given.
TAILS = (0.05, 0.95)


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """A quantity of the flow or the path, over all that explains the capture.

    Parameters
    ----------
    name, unit
        What is predicted.
    as_it_was, value
        Medians over the accepted paths: as they are, and with the change.
    over_paths
        The middle 90 % of the changed quantity over the paths that explain the capture.
    low, high
        Interval of 90 % where `is_calibrated`: that range, wider by calibration with runs of Linux. Else that range alone,
        which leaves out the error of the models.
    """

    name: str
    unit: str
    as_it_was: float
    value: float
    low: float
    high: float
    over_paths: tuple[float, float]
    is_calibrated: bool


@dataclass(frozen=True, kw_only=True)
class WhatIf:
    """What a change would have done.

    Parameters
    ----------
    changes
        What was changed.
    predictions
        Goodput of the flow, queueing time at the bottleneck, share of segments retransmitted, and duration of a transfer.
    scenario
        The scenario of the fit with the changes.
    paths
        Number of paths that predicted.
    """

    changes: Mapping[str, str]
    predictions: tuple[Prediction, ...]
    scenario: Scenario
    paths: int

    def __getitem__(self, name: str) -> Prediction:
        for one in self.predictions:
            if one.name == name:
                return one
        raise KeyError(name)

    def to_dict(self) -> dict[str, Any]:
        """Return the predictions as plain data."""
        return {
            "changes": dict(self.changes),
            "paths": self.paths,
            "predictions": [vars(one) for one in self.predictions],
        }


def checked(changes: Mapping[str, str]) -> dict[str, str]:
    """Return changes, each with a text as its value.

    Raises
    ------
    ScenarioError
        A key is unknown, or nothing is changed.
    """
    if not changes:
        raise refusal("what_if", "nothing", f"a change: {ACCEPTED}", quoted=False)
    for name in changes:
        if name not in KEYS:
            raise refusal("what_if", name, f"a change: {ACCEPTED}", names=KEYS)
    return {name: str(value) for name, value in changes.items()}


def changed(scenario: Scenario, changes: Mapping[str, str]) -> Scenario:
    """Return a scenario of a fitted path with changes.

    Raises
    ------
    ScenarioError
        A key or a value is not accepted.
    """
    data = scenario.to_dict()
    link = next(one for one in data["links"] if one["name"] == BOTTLENECK)
    flow = next(one for one in data["flows"] if one["name"] == FLOW)
    for name, value in checked(changes).items():
        if name == "tcp":
            flow["tcp"] = dict(flow["tcp"]) | {"congestion": value}
        elif name == "buffer":
            link["queue"] = {"kind": "droptail", "limit": value}
        elif name == "queue":
            link["queue"] = {"kind": value}
        else:
            link["rate"] = value
    try:
        return Scenario.of(data)
    except ScenarioError as error:
        raise ScenarioError(f"what_if: {error}") from error


def what_if(
    explained: Sequence[Explained],
    ends: Ends,
    loss: float,
    changes: Mapping[str, str],
    setting: Setting,
    seed: int,
    threads: int | None,
) -> WhatIf:
    """Return what changes would have done, over the paths that explain a capture.

    Parameters
    ----------
    explained
        The accepted paths, the best first.
    ends
        The two hosts.
    loss
        Probability of random loss, in place of the losses that a path repeats.
    changes
        By `KEYS`.
    setting
        What the capture is like.
    seed, threads
        Of the simulations.

    Raises
    ------
    ScenarioError
        A change is not accepted.
    """
    chosen = _spread(explained)
    was = [one.path.to_be_run(loss).scenario(ends, one.control, probed=False) for one in chosen]
    will = [changed(one, changes) for one in was]
    is_random = loss > 0.0 or changes.get("tcp") in RANDOM or any(
        one.control in RANDOM or one.path.discipline == "pie" for one in chosen
    )  # fmt: skip
    runs = RUNS if is_random or changes.get("queue") == "pie" else 1
    jobs = [Job(scenario, seed, run) for scenario in (*was, *will) for run in range(runs)]
    done = run_many(jobs, threads=threads, progress=False, warn=False)
    values = _values(done)
    half = len(was) * runs
    predictions = []
    for name, unit in QUANTITIES.items():
        before, after = (np.asarray(part, np.float64) for part in (values[name][:half], values[name][half:]))
        if np.isnan(after).all():
            continue
        low, high = np.nanquantile(after, TAILS)
        middle = float(np.nanmedian(before)) if np.isfinite(before).any() else np.nan
        value = float(np.nanmedian(after))
        # Calibration knows other algorithms only.
        is_known = name in PREDICTED and set(changes) == {"tcp"}
        one = (
            interval(setting, name, value, float(low), float(high))
            if is_known
            else Interval(value, float(low), float(high))
        )
        predictions.append(
            Prediction(
                name=name,
                unit=unit,
                as_it_was=middle,
                value=value,
                low=one.low,
                high=one.high,
                over_paths=(float(low), float(high)),
                is_calibrated=is_known,
            )
        )
    return WhatIf(changes=dict(changes), predictions=tuple(predictions), scenario=will[0], paths=len(chosen))


QUANTITIES = {"goodput_bps": "bit/s", "queueing_s": "s", "retransmitted": "fraction", "completion_s": "s"}


def _values(done: Any) -> dict[str, list[float]]:
    """Return each of `QUANTITIES` for each job."""
    flows = [row for row in done.arrow_flows.to_pylist() if row["name"] == FLOW]
    links = [row for row in done.arrow_links.to_pylist() if row["name"] == BOTTLENECK]
    nan = float("nan")
    return {
        "goodput_bps": [row["goodput_bps"] for row in flows],
        "queueing_s": [nan if row["wait_mean_s"] is None else row["wait_mean_s"] for row in links],
        "retransmitted": [row["segments_retransmitted"] / max(1, row["segments_sent"]) for row in flows],
        "completion_s": [nan if row["completion_s"] is None else row["completion_s"] for row in flows],
    }


def _spread(explained: Sequence[Explained]) -> list[Explained]:
    """Return the best path and others that differ, at most `MOST_PATHS`, evenly over the set."""
    paths = list({one.path: one for one in reversed(explained)}.values())[::-1]
    if len(paths) <= MOST_PATHS:
        return paths
    places = np.unique(np.linspace(0, len(paths) - 1, MOST_PATHS).round().astype(int))
    return [paths[place] for place in places]
