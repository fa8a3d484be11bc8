"""Estimates: a value with its interval, how it was computed, and on which resamples an inequality holds.

The rule of intervals, for all verdicts at 90 %:

* the mean of independent replications, and of the differences of paired ones: Student's t (`mean_of`);
* the difference of the means of independent samples: Welch's interval (`dumbbell.statistics.mean_difference`);
* the ratio of two means: Fieller's theorem (`quotient`);
* anything else computed from means over runs: the percentile interval of the bootstrap, whose resamples are shared by all
  quantities of an expression (`resampled`, `ordering`);
* a share of points or runs, a count, and a run that no random number changes: none (`share`, `exact`, `held`, `farthest`).

Where no run differs from another there is no interval. The interval of a bounded quantity stays inside its bounds
(`dumbbell.judge.quantity`). A value that a run lacks makes an estimate `NotMeasured`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dumbbell.statistics import mean_interval, paired_ratio, resample_weights

Values = NDArray[np.float64]

# Relative slack for floating-point sums if a tolerance of zero requires equality.
ROUNDING = 1e-9

QUANTILES = (0.05, 0.95)
"""Quantiles of the resamples that limit an interval."""


class NotMeasured(Exception):  # noqa: N818 - a finding about the evidence, not a failure of the program
    """The evidence for an estimate is missing; the message says why."""


class AwaitsTestbed(NotMeasured):
    """The estimate is about real machines and awaits the Linux testbed; the message says what it needs from the testbed."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """An estimate, and whether an inequality holds.

    Parameters
    ----------
    measured
        The value.
    low, high
        Limits of its 90 % interval; NaN if there is none (a count, an exact replay).
    holds
        Whether the inequality holds; ``None`` for a value that is compared with a tolerance.
    support
        Share of the resamples of the runs in which the inequality holds, from 0 to 1; NaN where nothing was resampled.
    note
        Additional remark, one or two sentences.
    resamples
        The value from each resample, on which a bound is judged; empty where nothing was resampled.
    """

    measured: float
    low: float = math.nan
    high: float = math.nan
    holds: bool | None = None
    support: float = math.nan
    note: str = ""
    resamples: tuple[float, ...] = ()

    @classmethod
    def of(
        cls,
        values: Values | float,
        *,
        holds: NDArray[np.bool_] | bool | None = None,
        interval: tuple[float, float] | None = None,
        note: str = "",
    ) -> Outcome:
        """Return the outcome of a resampled quantity.

        Parameters
        ----------
        values
            The quantity: first its value from all runs, then from each resample; or a plain number.
        holds
            The inequality on the same resamples.
        interval
            Limits to use instead of the `QUANTILES` of the resamples.
        note
            See the class.
        """
        array = np.atleast_1d(np.asarray(values, dtype=np.float64))
        low, high = math.nan, math.nan
        if interval is not None:
            low, high = interval
        elif array.size > 1:
            known = array[1:][np.isfinite(array[1:])]
            if known.size:
                low, high = (float(limit) for limit in np.quantile(known, QUANTILES))
        flags = None if holds is None else np.atleast_1d(np.asarray(holds, dtype=np.bool_))
        return cls(
            measured=float(array[0]),
            low=low,
            high=high,
            holds=None if flags is None else bool(flags[0]),
            support=float(flags[1:].mean()) if flags is not None and flags.size > 1 else math.nan,
            note=note,
            resamples=tuple(array[1:].tolist()),
        )

    @classmethod
    def share(cls, flags: ArrayLike, least: float | None = None, note: str = "") -> Outcome:
        """Return the outcome of an ordering that must hold at a share of the points of a sweep, or in a share of the runs.

        Parameters
        ----------
        flags
            For each point, whether the ordering holds.
        least
            Share of the points at which it must hold, from 0 to 1; by default that of the claim.
        note
            See the class.

        Raises
        ------
        NotMeasured
            There are no points.
        """
        held = np.asarray(flags, dtype=np.bool_).ravel()
        if held.size == 0:
            raise NotMeasured("There are no points at which to evaluate the ordering.")
        share = float(held.mean())
        return cls(
            measured=share,
            holds=None if least is None else share >= least - ROUNDING,
            note=joined(f"it holds in {int(held.sum())} of {held.size}", note),
        )


def joined(*remarks: str) -> str:
    """Return remarks as one, without the empty ones."""
    return "; ".join(remark for remark in remarks if remark)


def listing(names: Iterable[str], values: Iterable[ArrayLike], form: str = "{:.2f}") -> str:
    """Return named values in a sentence; of resampled ones, the value from all runs."""
    return ", ".join(
        f"{name}: {form.format(float(np.ravel(value)[0]))}" for name, value in zip(names, values, strict=True)
    )


def _runs(values: ArrayLike, note: str) -> Values:
    """Return one value for each run."""
    runs = np.atleast_1d(np.asarray(values, dtype=np.float64))
    if not runs.size or np.isnan(runs).any():
        raise NotMeasured(f"A run has no value. {note}".strip())
    return runs


def _alike(runs: Values) -> bool:
    return runs.size < 2 or float(np.ptp(runs)) == 0.0


def mean_of(values: ArrayLike, note: str = "", *, holds: Callable[[float], bool] | None = None) -> Outcome:
    """Return the mean over runs with Student's interval.

    Parameters
    ----------
    values
        One value for each run.
    note
        See `Outcome`.
    holds
        An inequality on the mean.

    Raises
    ------
    NotMeasured
        A run has no value.
    """
    runs = _runs(values, note)
    mean = float(runs.mean())
    is_held = None if holds is None else holds(mean)
    if _alike(runs) or not np.isfinite(runs).all():
        return Outcome(measured=mean, holds=is_held, note=note)
    found = mean_interval(runs)
    return Outcome(measured=mean, low=found.low, high=found.high, holds=is_held, note=note)


def quotient(above: ArrayLike, below: ArrayLike, note: str = "") -> Outcome:
    """Return the ratio of the means of paired runs with the interval of Fieller's theorem; none where it is unbounded.

    Raises
    ------
    NotMeasured
        A run has no value.
    """
    first, second = _runs(above, note), _runs(below, note)
    measured = float(first.mean() / second.mean())
    if _alike(first) and _alike(second):
        return Outcome(measured=measured, note=note)
    found = paired_ratio(first, second)
    low, high = (limit if math.isfinite(limit) else math.nan for limit in (found.low, found.high))
    return Outcome(measured=measured, low=low, high=high, note=note)


def resampled(values: Values, *, holds: NDArray[np.bool_] | None = None, note: str = "") -> Outcome:
    """Return a quantity of resampled means with its percentile interval, and the inequality on the same resamples."""
    if np.ptp(values) == 0.0 or np.isnan(values).all():
        return Outcome(measured=float(values[0]), holds=None if holds is None else bool(holds[0]), note=note)
    return Outcome.of(values, holds=holds, note=note)


def ordering(values: ArrayLike, holds: Callable[[Values], NDArray[np.bool_]], note: str = "") -> Outcome:
    """Return an inequality on the mean over runs, decided by resamples of the runs.

    Raises
    ------
    NotMeasured
        A run has no value.
    """
    runs = _runs(values, note)
    if _alike(runs):
        found = np.array([runs.mean()])
        return Outcome(measured=float(found[0]), holds=bool(holds(found)[0]), note=note)
    means = resample_weights(runs.size, seed=(1, runs.size)) @ runs
    return Outcome.of(means, holds=holds(means), note=note)


def above(margins: Sequence[Values], note: str = "", *, limit: float = 0.0) -> Outcome:
    """Return several inequalities on resampled quantities: the smallest of them, which must exceed `limit`."""
    least = np.minimum.reduce(list(margins))
    return resampled(least, holds=least > limit, note=note)


def held(flags: Mapping[str, bool], note: str = "") -> Outcome:
    """Return statements that must all hold: how many do."""
    failed = [name for name, flag in flags.items() if not flag]
    count = len(flags) - len(failed)
    missing = f"not: {', '.join(failed)}" if failed else ""
    return Outcome(
        measured=float(count), holds=not failed, note=joined(f"{count} of {len(flags)}", missing, note)
    )


def farthest(pairs: Mapping[str, tuple[ArrayLike, float]], note: str = "") -> Outcome:
    """Return of several values that ratio of measured to expected which is farthest from 1.

    Parameters
    ----------
    pairs
        For each value its runs, and what is expected.
    note
        See `Outcome`.
    """
    known = {
        name: (np.atleast_1d(np.asarray(values, dtype=np.float64)), expected)
        for name, (values, expected) in pairs.items()
    }
    ratios = {name: values / expected for name, (values, expected) in known.items()}
    worst = max(ratios, key=lambda name: abs(float(np.mean(ratios[name])) - 1.0))
    listed = ", ".join(
        f"{name}: {float(np.mean(values)):.5g} (expected {expected:g})"
        for name, (values, expected) in known.items()
    )
    return mean_of(ratios[worst], joined(listed, note))
