"""Claims about real machines: on kernel connections, on printed numbers, and what cannot be checked.

[chan2010 §4.6, §4.7, table 3]
"""

from __future__ import annotations

import numpy as np

from dumbbell.judge.estimate import Outcome
from dumbbell.papers.real_time import measure_of
from dumbbell.statistics import Interval, mean_difference, mean_interval

from .evidence import Evidence, Values
from .linux import KINDS, MSS
from .printed import data, interval
from .register import claim, estimate, listed
from .sweep_claims import share_below

on_linux = measure_of("code-tcp", lambda evidence: evidence.linux)

ON_LINUX = ("C-F19a-1", "C-F19b-1", "C-F19b-2", "C-F19c-1", "C-F19-4", "C-F19-5")
"""Claims that runs of the kernel decide."""

ALIKE = 0.2


def ratio_to_reno(evidence: Evidence, kind: str, rate: int) -> Interval:
    """Return the mean ratio of a variant's goodput to Reno's at a rate of Fig. 19, with its 90 % interval."""
    return mean_interval(evidence.ratios("fig19", kind, rate))


def queued(evidence: Evidence, kind: str, rate: int) -> Values:
    """Return the mean number of a variant's packets that wait at the bottleneck of Fig. 19, in each run, by Little's law."""
    return np.array(
        [
            run.one("goodput", "variant")
            * (run.one("rtt_mean", "variant") - run.one("rtt_min", "variant"))
            / (8 * MSS)
            for run in evidence.point("fig19", kind, rate)
        ]
    )


@estimate
@on_linux
def share_below_on_linux(evidence: Evidence, kind: str, bound: float) -> Outcome:
    """Return the share of rates of Fig. 19 at which a variant's mean ratio to Reno is below a bound."""
    return share_below(evidence.kernel, "fig19", kind, bound)


@claim("C-F19b-2")
@on_linux
def share_of_rates_with_newvegas_above_vegas(evidence: Evidence) -> Outcome:
    rates = evidence.kernel.swept("fig19", "vegas")
    goodputs = {
        kind: np.array([evidence.kernel.goodputs("fig19", kind, rate)[0].mean() for rate in rates])
        for kind in ("vegas", "newvegas")
    }
    ratios = goodputs["newvegas"] / goodputs["vegas"]
    return Outcome.share(ratios > 1, note=f"NewVegas over Vegas {listed(rates, ratios)}")


@claim("C-F19c-1")
@on_linux
def ratio_of_code_to_reno_farthest_from_one(evidence: Evidence) -> Outcome:
    rates = evidence.kernel.swept("fig19", "code")
    found = [ratio_to_reno(evidence.kernel, "code", rate) for rate in rates]
    worst = max(found, key=lambda ratio: abs(ratio.estimate - 1))
    return Outcome(
        measured=worst.estimate,
        low=worst.low,
        high=worst.high,
        note=f"the ratio farthest from 1 of {listed(rates, [ratio.estimate for ratio in found])}",
    )


@claim("C-F19-4")
@on_linux
def largest_distance_of_linux_from_figure_9(evidence: Evidence) -> Outcome:
    points = [(kind, rate) for kind in KINDS for rate in evidence.kernel.swept("fig19", kind)]
    found = [
        mean_difference(evidence.kernel.ratios("fig19", *point), evidence.ratios("fig9", *point))
        for point in points
    ]
    worst = max(range(len(points)), key=lambda index: abs(found[index].estimate))
    kind, rate = points[worst]
    within = sum(abs(each.estimate) <= ALIKE for each in found)
    return Outcome(
        measured=found[worst].estimate,
        low=found[worst].low,
        high=found[worst].high,
        note=f"ratio on Linux less that of Fig. 9, simulated; farthest is {kind} at {rate} Mbit/s, and {within} of "
        f"{len(found)} points are within {ALIKE:g}",
    )


@claim("C-F19-5")
@on_linux
def largest_mean_backlog_of_vegas_on_linux(evidence: Evidence) -> Outcome:
    rates = evidence.kernel.swept("fig19", "vegas")
    found = [mean_interval(queued(evidence.kernel, "vegas", rate)) for rate in rates]
    largest = max(found, key=lambda each: each.estimate)
    return Outcome(
        measured=largest.estimate,
        low=largest.low,
        high=largest.high,
        note=listed(rates, [each.estimate for each in found]),
    )


def _printed(column: str) -> Values:
    return np.array(data()["table3"][column], dtype=np.float64)


@estimate
def printed_ratio(_: Evidence, of: str, over: str) -> Outcome:
    """Return the ratio of the means of two columns of the printed rounds."""
    return Outcome(measured=float(_printed(of).mean() / _printed(over).mean()))


@claim("C-T3-S3")
def share_of_printed_rounds_with_faster_reno(_: Evidence) -> Outcome:
    return Outcome.share(_printed("RV-Reno") > _printed("RV-Vegas"), note="rounds")


@claim("C-T3-S4")
def simulated_less_printed_ratio_of_reno_over_vegas(evidence: Evidence) -> Outcome:
    printed = float(_printed("RV-Reno").mean() / _printed("RV-Vegas").mean())
    simulated = float(1 / evidence.pooled("fig9", "vegas").estimate)
    return Outcome(
        measured=simulated - printed,
        holds=simulated > printed,
        note=f"{printed:.2f} printed, {simulated:.1f} simulated for Fig. 9(a)",
    )


@claim("C-T3-S5")
def variation_of_vegas_rounds_less_that_of_code(_: Evidence) -> Outcome:
    relative = {
        column: interval(_printed(column)).half_width / float(_printed(column).mean())
        for column in ("RV-Vegas", "RC-CODE")
    }
    gap = relative["RV-Vegas"] - relative["RC-CODE"]
    return Outcome(
        measured=gap,
        holds=gap > 0,
        note=f"Vegas {100 * relative['RV-Vegas']:.1f} %, CODE {100 * relative['RC-CODE']:.1f} %",
    )
