"""Claims of Corollaries 1 and 2: the windows and averages of Tables 1 to 3."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy import stats

from dumbbell.judge.estimate import NotMeasured, Outcome
from dumbbell.models import altman

from .evidence import Evidence, Values
from .grid import GRID, Setting
from .register import claim

HALF = 0.5

FILLED = ("A02", "A04", "A08", "A10", "A14", "A16")
"""Rows with large windows whose queue never empties."""

LOADS: Values = np.array([row.load for row in GRID])
LIGHT = LOADS <= HALF
EMPTIES = np.array([row.cycle.queue_empties for row in GRID])


def _largest(errors: Values) -> Values:
    return np.asarray(np.abs(errors).max(axis=1))


def _mean(errors: Values) -> Values:
    return np.asarray(np.abs(errors).mean(axis=1))


def _where(errors: Values, rows: Sequence[Setting]) -> str:
    worst = int(np.argmax(np.abs(errors[0])))
    return f"largest in {rows[worst].id}, load {rows[worst].load:.2g}"


def _percent(value: float) -> str:
    return f"{100.0 * value:.2g} %"


def vegas_errors(evidence: Evidence, column: str, predicts: Callable[[Setting], float]) -> Values:
    """Return relative errors of the model for Vegas: shape (1 + resamples, rows)."""
    return evidence.errors(evidence.model("steady", predicts), evidence.table("steady", column))


def reno_errors(evidence: Evidence, column: str, predicts: Callable[[Setting], float]) -> Values:
    """Return relative errors of the model for Reno: shape (1 + resamples, rows)."""
    simulated = evidence.table("cycles", column)
    if not np.isfinite(simulated).any(axis=1).all():
        raise NotMeasured("A row has no whole cycle in any run.")
    return evidence.errors(evidence.model("cycles", predicts), simulated)


def slow_start_windows(evidence: Evidence) -> tuple[Values, Values]:
    """Return the windows at which slow start of Vegas ends, the median over runs, and those of the model."""
    simulated = np.median(evidence.table("steady", "slow_start_window"), axis=1)
    predicted = evidence.model(
        "steady", lambda row: altman.slow_start_threshold(row.link, gamma=row.gamma).window
    )
    return simulated, np.median(predicted, axis=1)


# Vegas.


@claim("ALT-06")
def share_of_runs_with_window_between_thresholds(evidence: Evidence) -> Outcome:
    window = evidence.table("steady", "window")
    low = evidence.model("steady", lambda row: row.stable.low)
    high = evidence.model("steady", lambda row: row.stable.high)
    inside = (window >= low - 1e-6) & (window <= high + 1e-6)
    constant = evidence.table("steady", "window_low") == evidence.table("steady", "window_high")
    return Outcome.of(
        float(inside.mean()),
        note=f"{int(inside.sum())} of {inside.size} runs; the window is constant in {int(constant.sum())} of them",
    )


@claim("ALT-07")
def largest_distance_from_whole_number_window(evidence: Evidence) -> Outcome:
    low = evidence.model("steady", lambda row: row.stable.low)
    difference = np.abs(evidence.mean(evidence.table("steady", "window") - low))
    largest = difference.max(axis=1)
    single = np.abs(evidence.table("steady", "window") - low).max()
    return Outcome.of(
        largest,
        holds=largest <= 2.0,
        note=f"means of the rows; {single:.2f} packets in the run with the largest deviation",
    )


@claim("ALT-08")
def mean_error_of_window_at_low_loads(evidence: Evidence) -> Outcome:
    chosen = np.array([row.load <= HALF and row.link.bdp >= 10.0 for row in GRID])
    rows = [row for row, wanted in zip(GRID, chosen, strict=True) if wanted]
    errors = vegas_errors(evidence, "window", lambda row: row.stable.low)[:, chosen]
    largest, mean = _largest(errors), _mean(errors)
    return Outcome.of(
        mean,
        holds=mean <= 0.03,
        note=f"{len(rows)} rows; largest {_percent(largest[0])}, {_where(errors, rows)}",
    )


@claim("ALT-09")
def largest_error_of_round_trip_time_from_window(evidence: Evidence) -> Outcome:
    rate = evidence.model("steady", lambda row: row.link.available_rate)
    predicted = evidence.table("steady", "window") / rate
    errors = evidence.errors(predicted, evidence.table("steady", "rtt"))
    return Outcome.of(_largest(errors), note=_where(errors, GRID))


@claim("ALT-10")
def rows_where_slow_start_ends_as_predicted(evidence: Evidence) -> Outcome:
    simulated, predicted = slow_start_windows(evidence)
    equal = simulated == predicted
    near = np.maximum(simulated / predicted, predicted / simulated) <= 2.0
    others = ", ".join(
        f"{row.id} {found:g} instead of {expected:g}"
        for row, found, expected in zip(GRID, simulated, predicted, strict=True)
        if found != expected
    )
    return Outcome.of(
        float(equal.sum()), holds=bool(equal.sum() >= 38 and near.all()), note=others and f"not in {others}"
    )


@claim("ALT-11")
def largest_error_of_vegas_throughput(evidence: Evidence) -> Outcome:
    errors = vegas_errors(evidence, "throughput", lambda row: row.link.available_rate)
    return Outcome.of(_largest(errors), note=_where(errors, GRID))


@claim("ALT-12")
def mean_error_of_vegas_throughput(evidence: Evidence) -> Outcome:
    return Outcome.of(_mean(vegas_errors(evidence, "throughput", lambda row: row.link.available_rate)))


# Reno.


@claim("ALT-13")
def largest_error_of_reno_throughput_with_full_queue(evidence: Evidence) -> Outcome:
    errors = reno_errors(evidence, "throughput", lambda row: row.link.available_rate)
    light, heavy = _largest(errors[:, ~EMPTIES & LIGHT]), _largest(errors[:, ~EMPTIES & ~LIGHT])
    return Outcome.of(
        light,
        holds=(light <= 0.01) & (heavy <= 0.03),
        note=f"at higher loads {_percent(heavy[0])}: exogenous packets are lost too, and Reno takes their place",
    )


@claim("ALT-14")
def largest_error_of_reno_throughput_of_ideal_cycle(evidence: Evidence) -> Outcome:
    paper = reno_errors(evidence, "throughput", lambda row: row.cycle.throughput)
    largest = _largest(paper[:, EMPTIES & LIGHT])
    return Outcome.of(largest, holds=largest <= 0.05)


@claim("ALT-33")
def largest_error_of_reno_throughput_by_fluid_recursion(evidence: Evidence) -> Outcome:
    fluid = reno_errors(evidence, "throughput", lambda row: row.fluid_reno.throughput)
    largest = _largest(fluid[:, EMPTIES & LIGHT])
    return Outcome.of(largest, holds=largest <= 0.01)


@claim("ALT-15")
def largest_error_of_reno_round_trip_time(evidence: Evidence) -> Outcome:
    errors = reno_errors(evidence, "rtt", lambda row: row.cycle.rtt)[:, LIGHT]
    paper, mean = _largest(errors), _mean(errors)
    rows = [row for row in GRID if row.load <= HALF]
    return Outcome.of(
        paper,
        holds=(paper <= 0.09) & (mean <= 0.03),
        note=f"mean {_percent(mean[0])}, {_where(errors, rows)}",
    )


@claim("ALT-34")
def largest_error_of_reno_round_trip_time_by_fluid_recursion(evidence: Evidence) -> Outcome:
    largest = _largest(reno_errors(evidence, "rtt", lambda row: row.fluid_reno.rtt)[:, LIGHT])
    return Outcome.of(largest, holds=largest <= 0.02)


# Losses.


@claim("ALT-35")
def packets_that_vegas_loses(evidence: Evidence) -> Outcome:
    lost = evidence.mean(evidence.table("steady", "losses"))
    return Outcome.of(np.asarray(lost.sum(axis=1)))


@claim("ALT-36")
def rank_correlation_of_error_and_loss_rate_of_reno(evidence: Evidence) -> Outcome:
    """Return how the error of the ideal round-trip time goes with the packets lost for each packet sent, over the rows."""
    errors = np.abs(reno_errors(evidence, "rtt", lambda row: row.cycle.rtt))
    lost = [
        evidence.mean(evidence.table("cycles", name)) for name in ("losses", "detections", "cycle_packets")
    ]
    rates = lost[0] / lost[1] / lost[2]
    found = [stats.spearmanr(error, rate).statistic for error, rate in zip(errors, rates, strict=True)]
    return Outcome.of(np.array(found))


@claim("ALT-16")
def share_of_rows_with_underestimated_round_trip_time(evidence: Evidence) -> Outcome:
    errors = reno_errors(evidence, "rtt", lambda row: row.cycle.rtt)
    return Outcome.share(errors[0] < 0.0)


@claim("ALT-17")
def round_trip_time_over_largest_with_full_queue(evidence: Evidence) -> Outcome:
    rows = [row for row in GRID if row.id in FILLED]
    rate = evidence.model("cycles", lambda row: row.link.available_rate, rows)
    ratio = evidence.mean(
        evidence.table("cycles", "rtt", rows) * rate / evidence.table("cycles", "loss_window", rows)
    )
    worst = int(np.argmax(np.abs(ratio[0] - 7.0 / 9.0)))
    return Outcome.of(
        ratio[:, worst], note=f"{rows[worst].id}; all from {ratio[0].min():.3f} to {ratio[0].max():.3f}"
    )


@claim("ALT-18")
def surplus_packets_of_cycle_times_largest_window(evidence: Evidence) -> Outcome:
    window = evidence.table("cycles", "loss_window")
    ideal = 3.0 / 8.0 * window * (window + 2.0)
    surplus = evidence.mean((evidence.table("cycles", "cycle_packets") / ideal - 1.0) * window).mean(axis=1)
    exact = [
        row.cycle.sent / (3.0 / 8.0 * row.cycle.last_window * (row.cycle.last_window + 2.0)) for row in GRID
    ]
    even = [share for row, share in zip(GRID, exact, strict=True) if row.cycle.last_window % 2 == 0]
    is_exact = all(abs(share - 1.0) < 1e-12 for share in even)
    return Outcome.of(
        surplus,
        note=f"the sum over whole windows is {'' if is_exact else 'not '}the formula in all {len(even)} rows with an "
        f"even loss window, and within {_percent(max(abs(share - 1.0) for share in exact))} of it in the others",
    )


@claim("ALT-19")
def error_of_throughput_less_that_of_round_trip_time(evidence: Evidence) -> Outcome:
    throughput = _mean(reno_errors(evidence, "throughput", lambda row: row.cycle.throughput))
    rtt = _mean(reno_errors(evidence, "rtt", lambda row: row.cycle.rtt))
    return Outcome.of(
        rtt - throughput,
        holds=throughput < rtt,
        note=f"throughput {_percent(throughput[0])}, round-trip time {_percent(rtt[0])}",
    )


@claim("ALT-27")
def share_of_rows_with_shorter_round_trip_time_of_vegas(evidence: Evidence) -> Outcome:
    vegas, reno = (evidence.mean(evidence.table(kind, "rtt"))[0] for kind in ("steady", "cycles"))
    return Outcome.share(vegas < reno)


@claim("ALT-32")
def largest_error_of_loss_window_by_fluid_recursion(evidence: Evidence) -> Outcome:
    errors = reno_errors(evidence, "loss_window", lambda row: row.fluid_reno.loss_window)
    light, heavy = _largest(errors[:, LIGHT]), _largest(errors[:, ~LIGHT])
    return Outcome.of(
        light, holds=(light <= 0.035) & (heavy <= 0.07), note=f"at higher loads {_percent(heavy[0])}"
    )
