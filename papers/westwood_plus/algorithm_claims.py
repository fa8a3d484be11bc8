"""Claims about Westwood+'s rules, and about eqs. 2 and 3 [grieco2004 §2]."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dumbbell import models, statistics
from dumbbell.judge.estimate import NotMeasured, Outcome, mean_of

from . import rules
from .evidence import Evidence
from .plan import QUEUEING_MS
from .register import claim, estimate
from .scenarios import SEGMENT_BITS

Values = NDArray[np.float64]

ALONE = "fig-2/westwoodp"


def _cuts(evidence: Evidence, key: str, *, timeouts: bool) -> list[rules.Cut]:
    found = [cut for cut in rules.cuts(evidence.runs(key).iloc[0]) if cut.is_timeout == timeouts]
    if not found:
        raise NotMeasured(f"No loss of the kind came in {key}.")
    return found


@claim("W-ALG-1")
def largest_difference_of_window_from_estimate(evidence: Evidence) -> Outcome:
    cuts = _cuts(evidence, ALONE, timeouts=False)
    gaps = [
        max(abs(cut.ssthresh - cut.by_rule), abs(cut.cwnd - rules.DUPLICATE_SEGMENTS - cut.by_rule))
        for cut in cuts
    ]
    return Outcome(
        measured=max(gaps),
        note=f"{len(cuts)} losses; three segments that duplicates add are taken off the window",
    )


@claim("W-ALG-2")
def largest_difference_of_threshold_at_timeout(evidence: Evidence) -> Outcome:
    cuts = _cuts(evidence, "alg/timeout", timeouts=True)
    return Outcome(
        measured=max(abs(cut.ssthresh - cut.by_rule) for cut in cuts), note="a whole window was lost"
    )


@claim("W-ALG-3")
def largest_window_after_timeout(evidence: Evidence) -> Outcome:
    return Outcome(measured=max(cut.cwnd for cut in _cuts(evidence, "alg/timeout", timeouts=True)))


@claim("W-ALG-4")
def threshold_on_tiny_pipe(evidence: Evidence) -> Outcome:
    row = evidence.runs("alg/small-pipe").iloc[0]
    pipe = float(np.median(row["bandwidth"])) * float(row["base_rtt"][-1]) / SEGMENT_BITS
    return Outcome(
        measured=float(np.min(row["ssthresh"])),
        note=f"the estimate times the least round-trip time is {pipe:.2f} segments",
    )


@claim("W-ALG-5")
def growth_per_window_of_acknowledgements(evidence: Evidence) -> Outcome:
    return Outcome(measured=rules.growth_per_window(evidence.runs("alg/counting").iloc[0]))


@claim("W-ALG-6")
def weight_of_past_in_filter(evidence: Evidence) -> Outcome:
    new, old = rules.filter_rows(evidence.runs("alg/timeout").iloc[0])
    weight = float((new * old).sum() / (old * old).sum())
    return Outcome(measured=weight, note=f"fitted to {new.size} samples")


@claim("W-ALG-7")
def samples_per_round_trip(evidence: Evidence) -> Outcome:
    row = evidence.runs(ALONE).iloc[0]
    elapsed = float(row["bandwidth_s"][-1] - row["bandwidth_s"][0])
    return Outcome(measured=(len(row["bandwidth_s"]) - 1) * float(row["rtt"][0]) / elapsed)


@claim("W-ALG-8")
def share_of_losses_after_which_backlog_shrinks(evidence: Evidence) -> Outcome:
    row = evidence.runs(ALONE).iloc[0]
    least = float(row["base_rtt"][-1])
    times, backlog = (np.asarray(row[name], dtype=np.float64) for name in ("backlog_s", "backlog"))
    before = np.interp([cut.time_s for cut in rules.cuts(row)], times, backlog)
    after = np.interp(
        [
            cut.time_s + least + queued * SEGMENT_BITS / 1e6
            for cut, queued in zip(rules.cuts(row), before, strict=True)
        ],
        times,
        backlog,
    )
    return Outcome.share(after < before, note=f"mean change {np.mean(after - before):.0f} packets")


def throughputs(
    evidence: Evidence, variant: str, queueing_ms: float
) -> tuple[Values, Values, Values, Values]:
    """Return loss rates, round-trip times, throughputs and measured mean round-trip times.

    Times are in s, throughputs in segments/s; the last two have a row for each loss rate and a column for each round-trip time.
    """
    prefix = f"eq/{variant}"
    keys = [key.split("/") for key in evidence.counts() if key.startswith(f"{prefix}/")]
    losses = sorted({float(parts[2]) for parts in keys})
    rtts = sorted({float(parts[3]) for parts in keys if float(parts[4]) == queueing_ms})
    if not rtts:
        raise NotMeasured(f"There are no runs of {prefix}.")
    rates, measured = np.empty((len(losses), len(rtts))), np.empty((len(losses), len(rtts)))
    for index, loss in enumerate(losses):
        for column, rtt_ms in enumerate(rtts):
            key = f"{prefix}/{loss:g}/{rtt_ms:g}/{queueing_ms:g}"
            rates[index, column] = evidence.total(key).mean() * 1e6 / SEGMENT_BITS
            measured[index, column] = evidence.total(key, "rtt").mean()
    return np.array(losses), np.array(rtts) / 1e3, rates, measured


def _slope(x: Values, y: Values) -> float:
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


@estimate
def exponent_in_rtt(evidence: Evidence, variant: str) -> Outcome:
    losses, rtts, rates, _ = throughputs(evidence, variant, QUEUEING_MS[0])
    slopes = [_slope(rtts, row) for row in rates]
    listed = ", ".join(f"{slope:.2f} at {loss:g}" for loss, slope in zip(losses, slopes, strict=True))
    return Outcome(measured=float(np.mean(slopes)), note=f"by loss rate: {listed}")


@estimate
def exponent_in_loss(evidence: Evidence, variant: str) -> Outcome:
    losses, rtts, rates, _ = throughputs(evidence, variant, QUEUEING_MS[0])
    slopes = [_slope(losses / (1 - losses), column) for column in rates.T]
    listed = ", ".join(f"{slope:.2f} at {1e3 * rtt:.0f} ms" for rtt, slope in zip(rtts, slopes, strict=True))
    return Outcome(measured=float(np.mean(slopes)), note=f"by round-trip time: {listed}")


@claim("W-EQ3-3")
def ratio_of_equations(evidence: Evidence) -> Outcome:
    ratios: list[float] = []
    for queueing_ms in QUEUEING_MS:
        _, rtts, west, _ = throughputs(evidence, "westwoodp", queueing_ms)
        _, _, reno, _ = throughputs(evidence, "newreno", queueing_ms)
        expected = np.array(
            [
                models.throughput.westwood_plus_to_reno(rtt=rtt, queueing_time=queueing_ms / 1e3)
                for rtt in rtts
            ]
        )
        ratios += list((west / reno / expected).ravel())
    return mean_of(ratios, note=f"{len(ratios)} points from {min(ratios):.2f} to {max(ratios):.2f}")


@claim("W-EQ3-4")
def fairness_over_unequal_round_trips(evidence: Evidence) -> Outcome:
    flags = []
    for queueing_ms in QUEUEING_MS:
        west = throughputs(evidence, "westwoodp", queueing_ms)[2]
        reno = throughputs(evidence, "newreno", queueing_ms)[2]
        flags.append(statistics.jain_index(west, axis=1) > statistics.jain_index(reno, axis=1))
    return Outcome.share(np.concatenate(flags))
