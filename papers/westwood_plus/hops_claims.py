"""Claims about a connection over several bottlenecks: figs. 17 to 25 [grieco2004 §3.3]."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from dumbbell.judge.estimate import Outcome, mean_of, quotient

from .assumptions import Assumptions
from .evidence import Evidence
from .plan import VARIANTS
from .register import claim, estimate
from .scenarios import bdp_packets, hops

Values = NDArray[np.float64]


def hop_counts(evidence: Evidence) -> list[int]:
    """Return the numbers of hops that were run."""
    return [int(point) for point in evidence.grid("fig-18/newreno/newreno")]


def goodput(evidence: Evidence, cross: str, c1: str, count: int) -> Values:
    """Return the goodput of the connection over all hops, Mbit/s, for each run."""
    return evidence.total(f"fig-18/{cross}/{c1}/{count}")


def total(evidence: Evidence, cross: str, c1: str, count: int) -> Values:
    """Return the total goodput as defined in the paper, Mbit/s: the connection's and the mean of the forward cross traffic."""
    across = evidence.stacked(f"fig-18/{cross}/{c1}/{count}", "cross").mean(axis=1)
    result: Values = goodput(evidence, cross, c1, count) + across
    return result


Quantity = Callable[[Evidence, str, str, int], Values]


def _stacked(quantity: Quantity, evidence: Evidence, cross: str, c1: str) -> Values:
    """Return a quantity by number of hops and run, of as many runs as every number of hops has."""
    values = [quantity(evidence, cross, c1, count) for count in hop_counts(evidence)]
    runs = min(value.size for value in values)
    return np.vstack([value[:runs] for value in values])


def _means(quantity: Quantity, evidence: Evidence, cross: str, c1: str) -> Values:
    """Return the mean of a quantity over all runs, by number of hops."""
    return np.array([quantity(evidence, cross, c1, count).mean() for count in hop_counts(evidence)])


def _curve(evidence: Evidence, cross: str, c1: str) -> Values:
    return _stacked(goodput, evidence, cross, c1)


def _totals(evidence: Evidence, cross: str, c1: str) -> Values:
    return _stacked(total, evidence, cross, c1)


@claim("W-F17-1")
def queue_of_routers(_evidence: Evidence) -> Outcome:
    return Outcome(measured=float(bdp_packets(10.0, 0.15)))


@claim("W-F17-2")
def fair_share_over_hops(_evidence: Evidence) -> Outcome:
    scenario = hops("newreno", "newreno", 1, Assumptions())
    links = {link["name"]: link for link in scenario.to_dict()["links"]}
    crossing = [flow["name"] for flow in scenario.to_dict()["flows"] if flow["name"][0] in "fx"]
    rate = float(links["r1-r2"]["rate"].split()[0])
    return Outcome(measured=rate / len(crossing), note=f"{rate:g} Mbit/s for {' and '.join(crossing)}")


def _falling(evidence: Evidence, cross: str, c1: str) -> list[bool]:
    means = _means(goodput, evidence, cross, c1)
    return [after <= before for before, after in pairwise(means)]


@claim("W-F18-1")
def share_of_hops_without_growth_of_goodput(evidence: Evidence) -> Outcome:
    flags = [flag for c1 in VARIANTS for flag in _falling(evidence, "newreno", c1)]
    return Outcome(
        measured=float(np.mean(flags)), note=f"{sum(flags)} of {len(flags)} steps of three connections"
    )


@estimate
def goodput_over_newreno(evidence: Evidence, of: str, over: str) -> Outcome:
    """Return Westwood+'s goodput over New Reno's, with the cross traffic of each."""
    pairs = ((of, "westwoodp"), (over, "newreno"))
    west, reno = (_curve(evidence, *pair) for pair in pairs)
    above, below = (_means(goodput, evidence, *pair) for pair in pairs)
    ratios = above / below
    listed = ", ".join(
        f"{ratio:.2f} over {count}" for ratio, count in zip(ratios, hop_counts(evidence), strict=True)
    )
    return quotient(west.sum(axis=0), reno.sum(axis=0), note=f"by hops: {listed}")


@estimate
def share_starved(evidence: Evidence, cross: str) -> Outcome:
    return Outcome.share(_curve(evidence, cross, "vegas") < 0.5 * _curve(evidence, cross, "newreno"))


@claim("W-F18-4")
def loss_and_round_trip_grow_with_hops(evidence: Evidence) -> Outcome:
    loss, rtt = [], []
    for count in hop_counts(evidence):
        key = f"fig-18/newreno/newreno/{count}"
        loss.append(evidence.total(key, "lost").sum() / evidence.total(key, "sent").sum())
        rtt.append(evidence.total(key, "rtt").mean())
    flags = [loss[index + 1] > loss[index] and rtt[index + 1] > rtt[index] for index in range(len(loss) - 1)]
    return Outcome.share(
        flags,
        note=(
            f"loss ratio from {100 * loss[0]:.2f} % to {100 * loss[-1]:.2f} %, "
            f"round-trip time from {1e3 * rtt[0]:.0f} to {1e3 * rtt[-1]:.0f} ms"
        ),
    )


@estimate
def range_of_totals(evidence: Evidence, cross: str) -> Outcome:
    ranges = {}
    for c1 in VARIANTS:
        means = _means(total, evidence, cross, c1)
        ranges[c1] = float((means.max() - means.min()) / means.mean())
    listed = ", ".join(f"{c1} {value:.2f}" for c1, value in ranges.items())
    return Outcome(measured=max(ranges.values()), note=listed)


@claim("W-F19-2")
def largest_share_at_most_hops(evidence: Evidence) -> Outcome:
    last = hop_counts(evidence)[-1]
    shares = [
        float((goodput(evidence, "newreno", c1, last) / total(evidence, "newreno", c1, last)).mean())
        for c1 in VARIANTS
    ]
    return Outcome(measured=max(shares), note=f"over {last} hops")


@claim("W-F20-2")
def newreno_gets_more_over_plus(evidence: Evidence) -> Outcome:
    over_west = _means(goodput, evidence, "westwoodp", "newreno")
    over_reno = _means(goodput, evidence, "newreno", "newreno")
    return Outcome.share(over_west > over_reno, note="means over the runs at each number of hops")


@claim("W-F22-2")
def others_exceed_fair_share_over_vegas(evidence: Evidence) -> Outcome:
    curves = [_curve(evidence, "vegas", c1) for c1 in ("newreno", "westwoodp")]
    return Outcome.share(
        np.concatenate(curves) > 5.0, note=f"smallest {min(curve.min() for curve in curves):.2f} Mbit/s"
    )


@claim("W-F23-1")
def mean_total_over_vegas_cross_traffic(evidence: Evidence) -> Outcome:
    totals = np.vstack([_totals(evidence, "vegas", c1) for c1 in ("newreno", "westwoodp")])
    return mean_of(totals.mean(axis=0), note=f"from {totals.min():.2f} to {totals.max():.2f} Mbit/s")


@claim("W-F23-2")
def total_with_vegas_is_below_newreno(evidence: Evidence) -> Outcome:
    vegas, reno = (_totals(evidence, "vegas", c1) for c1 in ("vegas", "newreno"))
    return Outcome.share(vegas < 0.8 * reno)


@claim("W-F24-2")
def share_of_hops_without_growth_in_homogeneous(evidence: Evidence) -> Outcome:
    flags = [flag for name in ("newreno", "westwoodp") for flag in _falling(evidence, name, name)]
    return Outcome(measured=float(np.mean(flags)), note=f"{sum(flags)} of {len(flags)} steps")


@claim("W-F24-3")
def vegas_leads_beyond_three_hops(evidence: Evidence) -> Outcome:
    counts = hop_counts(evidence)
    means = {name: _means(goodput, evidence, name, name) for name in VARIANTS}
    highest = {
        count: bool(means["vegas"][index] > max(means["newreno"][index], means["westwoodp"][index]))
        for index, count in enumerate(counts)
    }
    first = next(
        (str(count) for count in counts if all(highest[other] for other in counts if other >= count)), "none"
    )
    return Outcome.share(
        [flag for count, flag in highest.items() if count > 3],
        note=f"Vegas has the most from {first} hops on",
    )


@claim("W-F25-1")
def total_of_vegas_is_below_others(evidence: Evidence) -> Outcome:
    vegas, *others = (_totals(evidence, name, name) for name in ("vegas", "newreno", "westwoodp"))
    flags = [vegas < 0.8 * other for other in others]
    return Outcome.share(np.concatenate(flags))
