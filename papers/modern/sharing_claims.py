"""Claims on flows of two algorithms that share a bottleneck."""

from __future__ import annotations

import math

import numpy as np

from dumbbell.judge.estimate import NotMeasured, Outcome, listing, mean_of, ordering

from .evidence import Evidence, Run
from .register import claim, estimate
from .sharing_scenarios import (
    COMPETITORS,
    CONVERGED_S,
    EXPLAINED,
    MEASURED_S,
    SHORT_BUFFERS,
    short_path_key,
    ware_key,
)


def _share(evidence: Evidence, key: str, name: str = "bbr") -> np.ndarray:
    return evidence.each(key, lambda run: run.share(name))


@estimate
def share_of_bbr(evidence: Evidence, share: float, mbps: float = 10) -> Outcome:
    return mean_of(_share(evidence, ware_key(mbps, share)))


@claim("ware-03")
def share_at_four_bandwidth_delay_products(evidence: Evidence) -> Outcome:
    mbps, buffer = EXPLAINED
    times = CONVERGED_S + np.arange(0, MEASURED_S, 0.1)
    estimates, data = [], []
    for run in evidence.runs(ware_key(mbps, buffer)):
        estimates.append(float(run.trace("base_rtt", "bbr").at(times).mean()) * 1000)
        data.append(float(run.trace("flight_size", "cubic").at(times).mean()))
    packet_ms = 1514 * 8 / mbps / 1000
    path_ms, in_flight_ms = 40.0, float(np.mean(data)) * packet_ms
    by_model = path_ms + in_flight_ms * buffer / (buffer + 1)
    note = (
        f"BBR's estimate of the round-trip time is {np.mean(estimates):.0f} ms on average; the data of CUBIC take "
        f"{in_flight_ms:.0f} ms of the link; by the model it would be {by_model:.0f} ms"
    )
    return mean_of(_share(evidence, ware_key(mbps, buffer)), note)


@claim("ware-08")
def largest_error_of_the_share_at_fifty_megabits(evidence: Evidence) -> Outcome:
    predicted = {4.0: 0.611, 16.0: 0.495, 64.0: 0.399}
    errors = {share: _share(evidence, ware_key(50, share)) - value for share, value in predicted.items()}
    worst = max(errors, key=lambda share: abs(float(errors[share].mean())))
    note = listing(
        [f"{share:g} BDP" for share in predicted],
        [float(errors[share].mean()) + value for share, value in predicted.items()],
        "{:.3g}",
    )
    return mean_of(errors[worst], f"shares: {note}")


@claim("ware-09")
def share_against_sixteen(evidence: Evidence) -> Outcome:
    return mean_of(_share(evidence, "against-16"))


@claim("ware-10")
def largest_over_smallest_share(evidence: Evidence) -> Outcome:
    shares = np.array([_share(evidence, f"against-{count}") for count in COMPETITORS])
    note = listing([f"{count}" for count in COMPETITORS], shares.mean(axis=1), "{:.3g}")
    return ordering(shares.max(axis=0) / shares.min(axis=0), lambda ratio: ratio <= 1.5, note)


@claim("cao-07")
def share_of_bbr_in_ten_kilobytes(evidence: Evidence) -> Outcome:
    return mean_of(100 * _share(evidence, "gigabit-10KB"))


@claim("cao-08")
def ratio_of_bbr_to_cubic_in_five_megabytes(evidence: Evidence) -> Outcome:
    share = _share(evidence, "gigabit-5MB")
    ratio = share / (1 - share)
    return ordering(ratio, lambda value: (value >= 1 / 1.5) & (value <= 1.5))


@claim("cao-09")
def ratio_of_cubic_to_bbr_in_ten_megabytes(evidence: Evidence) -> Outcome:
    share = _share(evidence, "gigabit-10MB")
    return ordering((1 - share) / share, lambda value: (value >= 1.5) & (value <= 6))


@claim("cubic-19")
def ratio_of_cubic_to_reno_on_a_short_path(evidence: Evidence) -> Outcome:
    ratios = {
        f"{share:g} BDP": evidence.each(
            short_path_key(share), lambda run: run.goodput("cubic") / run.goodput("reno")
        )
        for share in SHORT_BUFFERS
    }
    worst = max(ratios.values(), key=lambda values: abs(math.log(values.mean())))
    return ordering(
        worst,
        lambda value: (value >= 0.67) & (value <= 1.5),
        listing(ratios, [values.mean() for values in ratios.values()]),
    )


@claim("copa-03")
def share_of_copa_with_its_mode_switch(evidence: Evidence) -> Outcome:
    switched, default = (_share(evidence, f"copa-cubic-{name}", "copa") for name in ("switch", "default"))
    return ordering(
        switched,
        lambda share: (share >= 0.3) & bool(default.mean() < 0.1),
        f"without the switch {default.mean():.3f}",
    )


@claim("eval-06")
def harm_of_reno_on_reno(evidence: Evidence) -> Outcome:
    alone = float(evidence.each("reno-one", Run.goodput).mean())
    if not alone:
        raise NotMeasured("The flow alone delivered nothing.")
    return mean_of(1 - evidence.each("reno-two", lambda run: run.goodput("f1")) / alone)
