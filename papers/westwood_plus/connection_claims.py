"""Claims about bandwidth estimates and about the single connection: figs. 1, 2, 4-8 and Table I [grieco2004 §2.2, §3.1]."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dumbbell.judge.estimate import NotMeasured, Outcome, mean_of, quotient

from .assumptions import Assumptions
from .evidence import Evidence, recorded, windowed
from .plan import VARIANTS
from .register import claim, estimate
from .rules import filtered
from .scenarios import EDGES_S, SEGMENT_BITS, bdp_packets, connection

Values = NDArray[np.float64]

# Intervals of Table I by their place in it.
QUIET, BUSY = (0, 2), (1, 3)

# After every switch, and at the start, the first seconds are not looked at.
SETTLING_S = 20.0
START_S = 50.0

LINK_MBPS = 2.0
FAIR_SHARE_MBPS = 10.0 / 20


def _spans(intervals: tuple[int, ...]) -> list[tuple[float, float]]:
    """Return intervals of Table I without the seconds after each switch, s."""
    return [
        (EDGES_S[index] + (START_S if index == 0 else SETTLING_S), EDGES_S[index + 1]) for index in intervals
    ]


# --- fig. 1 ---


def estimates_at_congestion(evidence: Evidence, variant: str) -> list[list[Values]]:
    """Return the estimates at congestion, Mbit/s, of each flow of each run."""
    found = []
    for _, row in evidence.runs(f"fig-1/{variant}").iterrows():
        flows = np.asarray(row["event_flow"], dtype=np.float64)
        estimates = np.asarray(row["event_estimate"], dtype=np.float64)
        known = np.isfinite(estimates)
        found.append([estimates[known & (flows == flow)] for flow in np.unique(flows)])
    return found


@claim("W-F1-1")
def mean_estimate_at_congestion(evidence: Evidence) -> Outcome:
    runs = estimates_at_congestion(evidence, "westwoodp")
    means = [float(np.mean([flow.mean() for flow in flows])) for flows in runs]
    first = [flow.mean() for flow in runs[0]]
    return mean_of(means, note=f"flows of the first run from {min(first):.2f} to {max(first):.2f} Mbit/s")


@claim("W-F1-2")
def largest_estimate_of_original_in_fair_shares(evidence: Evidence) -> Outcome:
    runs = [np.concatenate(flows) for flows in estimates_at_congestion(evidence, "westwood")]
    shares = np.quantile(np.concatenate(runs), (0.5, 0.9, 0.99)) / FAIR_SHARE_MBPS
    return mean_of(
        [float(values.max()) / FAIR_SHARE_MBPS for values in runs],
        note="half of the estimates are above {:.0f}, a tenth above {:.0f}, a hundredth above {:.0f} fair shares".format(
            *shares
        ),
    )


@claim("W-F1-3")
def largest_estimate_over_three_times_plus(evidence: Evidence) -> Outcome:
    largest = {
        variant: np.array(
            [np.concatenate(flows).max() for flows in estimates_at_congestion(evidence, variant)]
        )
        for variant in ("westwood", "westwoodp")
    }
    return Outcome.share(
        largest["westwood"] > 3 * largest["westwoodp"],
        note=f"Westwood up to {largest['westwood'].max():.0f} Mbit/s, Westwood+ up to {largest['westwoodp'].max():.1f}",
    )


# --- fig. 2 ---


def fig_2_filters(evidence: Evidence) -> tuple[Values, Values, Values]:
    """Return the times (s) of the samples of fig. 2, the filtered ACK samples and the filtered cwnd/RTT (Mbit/s)."""
    row = evidence.runs("fig-2/westwoodp").iloc[0]
    times = np.asarray(row["bandwidth_s"], dtype=np.float64)
    estimates = np.asarray(row["bandwidth"], dtype=np.float64) / 1e6
    windows = recorded(row, "cwnd").at(times)
    rates = windows[1:] * SEGMENT_BITS / np.diff(times) / 1e6
    return times[1:], estimates[1:], filtered(rates, float(rates[0]))


def _settled_filters(evidence: Evidence) -> tuple[Values, Values]:
    times, acks, sent = fig_2_filters(evidence)
    return acks[times > START_S], sent[times > START_S]


@claim("W-F2-1")
def mean_of_settled_ack_estimate(evidence: Evidence) -> Outcome:
    acks, _ = _settled_filters(evidence)
    return Outcome(measured=float(acks.mean()))


@claim("W-F2-2")
def excess_of_window_filter(evidence: Evidence) -> Outcome:
    acks, sent = _settled_filters(evidence)
    gap = float(sent.mean() - acks.mean())
    return Outcome(measured=gap, holds=gap > 0, note=f"{sent.mean():.3f} against {acks.mean():.3f} Mbit/s")


@claim("W-F2-3")
def ratio_of_deviations_of_filters(evidence: Evidence) -> Outcome:
    acks, sent = _settled_filters(evidence)
    ratio = float(acks.std() / sent.std())
    return Outcome(measured=ratio, holds=ratio < 1, note=f"{acks.std():.4f} against {sent.std():.4f} Mbit/s")


# --- Table I ---


def interval_goodput(evidence: Evidence, variant: str, intervals: tuple[int, ...]) -> Values:
    """Return the mean goodput of a variant in some intervals of Table I, Mbit/s, for each run."""
    values: Values = evidence.stacked(f"table-1/{variant}", "intervals")[:, list(intervals)].mean(axis=1)
    return values


@claim("W-T1-S1")
def quiet_goodput_over_rate(evidence: Evidence) -> Outcome:
    ratios = {variant: interval_goodput(evidence, variant, QUIET) / LINK_MBPS for variant in VARIANTS}
    listed = ", ".join(f"{variant} {values.mean():.3f}" for variant, values in ratios.items())
    return mean_of(np.mean(list(ratios.values()), axis=0), note=listed)


@claim("W-T1-S2")
def vegas_has_least_busy_goodput(evidence: Evidence) -> Outcome:
    vegas, reno, west = (
        evidence.stacked(f"table-1/{variant}", "intervals")[:, list(BUSY)]
        for variant in ("vegas", "newreno", "westwoodp")
    )
    return Outcome.share(
        (vegas < reno) & (vegas < west), note=f"New Reno has {reno.mean() / vegas.mean():.1f} times as much"
    )


@claim("W-T1-S3")
def plus_is_ahead_of_newreno_when_busy(evidence: Evidence) -> Outcome:
    west, reno = (
        evidence.stacked(f"table-1/{variant}", "intervals")[:, list(BUSY)]
        for variant in ("westwoodp", "newreno")
    )
    return Outcome.share(west > reno)


@claim("W-T1-S4")
def busy_goodput_of_plus_over_newreno(evidence: Evidence) -> Outcome:
    return quotient(
        interval_goodput(evidence, "westwoodp", BUSY), interval_goodput(evidence, "newreno", BUSY)
    )


@claim("W-T1-S5")
def busy_over_quiet_goodput_of_vegas(evidence: Evidence) -> Outcome:
    return quotient(interval_goodput(evidence, "vegas", BUSY), interval_goodput(evidence, "vegas", QUIET))


# --- figs. 4 to 8 ---


def peaks(row: pd.Series, intervals: tuple[int, ...]) -> Values:
    """Return the windows at which losses struck in some intervals of Table I, segments.

    Raises
    ------
    NotMeasured
        No loss struck, or windows were not recorded.
    """
    times = np.asarray(row["event_s"], dtype=np.float64)
    inside = np.zeros(times.size, dtype=np.bool_)
    for begin, end in _spans(intervals):
        inside |= (times >= begin) & (times < end)
    values: Values = np.asarray(row["event_cwnd"], dtype=np.float64)[inside]
    if not values.size:
        raise NotMeasured("The runs have no losses at these times.")
    return values


@estimate
def mean_peak(evidence: Evidence, variant: str) -> Outcome:
    return mean_of(evidence.of(f"table-1/{variant}", lambda row: float(peaks(row, QUIET).mean())))


def _pipe() -> int:
    return bdp_packets(LINK_MBPS, 0.25)


@claim("W-F4-1")
def product_of_bandwidth_and_delay(_evidence: Evidence) -> Outcome:
    exact = LINK_MBPS * 1e6 * 0.25 / SEGMENT_BITS
    return Outcome(measured=exact, note="2 Mbit/s, 250 ms, packets of 1500 bytes")


@claim("W-F4-2")
def queue_of_bottleneck(_evidence: Evidence) -> Outcome:
    queue = connection("newreno", Assumptions()).to_dict()["links"][0]["queue"]["limit"]
    return Outcome(measured=float(queue.split()[0]), note="as the scenario has it")


@claim("W-F4-4")
def windows_are_larger_when_quiet(evidence: Evidence) -> Outcome:
    flags = [
        windowed(row, "cwnd", _spans(QUIET)).mean() > windowed(row, "cwnd", _spans(BUSY)).mean()
        for variant in ("newreno", "westwoodp")
        for _, row in evidence.runs(f"table-1/{variant}").iterrows()
    ]
    return Outcome.share(flags)


@claim("W-F4-5")
def share_of_losses_between_queue_and_pipe(evidence: Evidence) -> Outcome:
    windows = np.concatenate(
        [
            peaks(row, BUSY)
            for variant in ("newreno", "westwoodp")
            for _, row in evidence.runs(f"table-1/{variant}").iterrows()
        ]
    )
    return Outcome.share(
        (windows >= 40) & (windows <= 75), note=f"mean window at a loss {windows.mean():.0f} segments"
    )


def _threshold(row: pd.Series, intervals: tuple[int, ...]) -> float:
    threshold = recorded(row, "ssthresh")
    return float(np.mean([threshold.mean(begin, end) for begin, end in _spans(intervals)]))


def _variation(row: pd.Series) -> float:
    """Return the coefficient of variation of the threshold over time, without the start."""
    threshold, span = recorded(row, "ssthresh"), (START_S, EDGES_S[-1])
    return threshold.deviation(*span) / threshold.mean(*span)


@claim("W-F5-2")
def threshold_of_plus_varies_less(evidence: Evidence) -> Outcome:
    variation = {
        variant: evidence.of(f"table-1/{variant}", _variation) for variant in ("newreno", "westwoodp")
    }
    drop = {
        variant: evidence.of(
            f"table-1/{variant}", lambda row: 1 - _threshold(row, BUSY) / _threshold(row, QUIET)
        )
        for variant in ("newreno", "westwoodp")
    }
    flags = [measure["westwoodp"] < measure["newreno"] for measure in (variation, drop)]
    return Outcome.share(
        np.concatenate(flags),
        note=(
            f"coefficient of variation {variation['westwoodp'].mean():.2f} against {variation['newreno'].mean():.2f}, "
            f"drop {100 * drop['westwoodp'].mean():.0f} % against {100 * drop['newreno'].mean():.0f} %"
        ),
    )


@claim("W-F5-3")
def least_number_of_losses_per_interval(evidence: Evidence) -> Outcome:
    least = min(
        peaks(row, (index,)).size
        for variant in ("newreno", "westwoodp")
        for _, row in evidence.runs(f"table-1/{variant}").iterrows()
        for index in QUIET
    )
    return Outcome(measured=float(least), holds=least >= 3)


@claim("W-F6-1")
def mean_quiet_window_of_vegas(evidence: Evidence) -> Outcome:
    return mean_of(
        evidence.of("table-1/vegas", lambda row: float(windowed(row, "cwnd", _spans(QUIET)).mean()))
    )


@claim("W-F6-2")
def deviation_of_quiet_vegas_window(evidence: Evidence) -> Outcome:
    # The window climbs by a segment per round trip from its value after the busy interval, during the first 50 s.
    spans = [(EDGES_S[index] + START_S, EDGES_S[index + 1]) for index in QUIET]
    return mean_of(
        evidence.of(
            "table-1/vegas",
            lambda row: float(np.mean([windowed(row, "cwnd", [span]).std() for span in spans])),
        )
    )


@claim("W-F6-3")
def busy_window_of_vegas_over_pipe(evidence: Evidence) -> Outcome:
    ratios = evidence.of(
        "table-1/vegas", lambda row: float(windowed(row, "cwnd", _spans(BUSY)).mean()) / _pipe()
    )
    return mean_of(ratios, holds=lambda mean: mean < 0.5)


@claim("W-F6-4")
def vegas_shrinks_when_way_back_gets_busy(evidence: Evidence) -> Outcome:
    flags = []
    for _, row in evidence.runs("table-1/vegas").iterrows():
        for index in BUSY:
            before, after = (
                (EDGES_S[index] - START_S, EDGES_S[index]),
                (EDGES_S[index] + SETTLING_S, EDGES_S[index] + 100),
            )
            change = {
                quantity: windowed(row, quantity, [after]).mean() - windowed(row, quantity, [before]).mean()
                for quantity in ("srtt", "cwnd")
            }
            flags.append(change["srtt"] > 0 and change["cwnd"] < 0)
    return Outcome.share(flags)


@claim("W-F7-1")
def vegas_on_way_back_leaves_link_underused(evidence: Evidence) -> Outcome:
    busy, quiet = (interval_goodput(evidence, "vegas-vegas", intervals) for intervals in (BUSY, QUIET))
    return Outcome.share(busy < quiet, note=f"{busy.mean():.2f} against {quiet.mean():.2f} Mbit/s")


@claim("W-F8-1")
def plain_reno_loses_more_than_newreno(evidence: Evidence) -> Outcome:
    reno, newreno = (
        evidence.stacked(f"table-1/{variant}", "intervals")[:, list(BUSY)] for variant in ("reno", "newreno")
    )
    return Outcome.share(reno < newreno, note=f"{reno.mean():.2f} against {newreno.mean():.2f} Mbit/s")


@claim("W-F8-2")
def gain_of_vegas_from_vegas_on_way_back(evidence: Evidence) -> Outcome:
    return mean_of(
        interval_goodput(evidence, "vegas-vegas", BUSY) - interval_goodput(evidence, "vegas", BUSY)
    )
