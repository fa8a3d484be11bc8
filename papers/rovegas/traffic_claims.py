"""Claims on variable-rate traffic against the acknowledgements: Figs. 9, 10, 12, 13 and 19."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from dumbbell import Scenario
from dumbbell.judge.estimate import Outcome, above, listing, resampled
from dumbbell.models import rovegas as model
from dumbbell.quantities import bits_per_second, nanoseconds

from .assumptions import FORWARD_RATE_KBPS
from .evidence import Evidence, Values
from .register import claim, estimate
from .scenarios import backward_load, parking_lot

END_S = 200.0
ENTERS_S = 50.0
WINDOWS = ((100.0, 200.0), (200.0, 300.0), (300.0, 400.0))
"""Times of Fig. 12 with one, two and three sources, s."""

SLACK = 0.05
"""Relative rise or fall that a step of a sweep may show against its trend."""


def _alone(evidence: Evidence, variant: str) -> Values:
    return evidence.rate("fig-9", variant, "", 0, ENTERS_S)


def _loaded(evidence: Evidence, variant: str) -> Values:
    return evidence.rate("fig-9", variant, "", ENTERS_S, END_S)


@estimate
def rate(evidence: Evidence, figure: str, variant: str, span: list[float], per: float = 1.0) -> Outcome:
    """Return the mean throughput of the first connection between two times, kbit/s over a number."""
    begin, end = span
    return resampled(evidence.rate(figure, variant, "", begin, end) / per)


@estimate
def ratio_of_rates(
    evidence: Evidence,
    figure: str,
    of: str,
    over: str,
    span: list[float],
    over_span: list[float] | None = None,
) -> Outcome:
    """Return the ratio of such throughputs of two variants, by default between the same times."""
    (begin, end), (over_begin, over_end) = span, over_span or span
    below = evidence.rate(figure, over, "", over_begin, over_end)
    return resampled(evidence.rate(figure, of, "", begin, end) / below)


@estimate
def rate_of_sources(evidence: Evidence, of: str) -> Outcome:
    """Return the mean rate of the variable-rate sources while they are on, Mbit/s: of several, their mean."""
    return resampled(
        evidence.mean_of(evidence.records(of), lambda row: float(np.mean(row["cross_rate"])) / 1000)
    )


def _stated_load(scenario: Scenario) -> Outcome:
    """Return the outcome of the load that a scenario's first variable-rate source offers by its own times ON and OFF."""
    flows = scenario.to_dict()["flows"]
    source = next(flow["source"] for flow in flows if flow["name"] == "v1")
    on, off = (nanoseconds(source[name], name) for name in ("on", "off"))
    load = on / (on + off) * bits_per_second(source["rate"], "rate") / (1000 * FORWARD_RATE_KBPS)
    # The mean time OFF is a whole number of nanoseconds.
    return Outcome(measured=round(load, 6), note="from the times ON and OFF of the scenario")


@claim("RV-F9-02")
def throughput_of_rovegas_before_load(evidence: Evidence) -> Outcome:
    return resampled(100 * (1 - _alone(evidence, "rovegas") / _alone(evidence, "vegas")))


@claim("RV-F9-08")
def load_on_backward_link(evidence: Evidence) -> Outcome:
    return _stated_load(backward_load("fig-9", "vegas", 0.9, evidence.place("fig-9"), enters_s=ENTERS_S))


@claim("RV-F9-10")
def lead_of_rovegas_under_load(evidence: Evidence) -> Outcome:
    return above([_loaded(evidence, "rovegas") - _loaded(evidence, "vegas")])


@claim("RV-F9-11")
def correlation_of_throughputs_by_second(evidence: Evidence) -> Outcome:
    found = evidence.correlation("fig-9", ("vegas", "rovegas"), "", ENTERS_S)
    return resampled(found, holds=found > 0.3)


def _ratio(evidence: Evidence, figure: str, load: float) -> Values:
    return evidence.throughput(figure, "rovegas", load) / evidence.throughput(figure, "vegas", load)


def _loads(evidence: Evidence, figure: str) -> list[float]:
    return [load for load in evidence.points(figure, "vegas") if load > 0]


@estimate
def least_gain_over_loads(evidence: Evidence, figure: str) -> Outcome:
    loads = _loads(evidence, figure)
    gains = [
        evidence.throughput(figure, "rovegas", load) - evidence.throughput(figure, "vegas", load)
        for load in loads
    ]
    return above(gains, note=listing([f"load {load:g}" for load in loads], gains, "{:.0f}"))


@claim("RV-F10-05")
def largest_relative_rise_with_load(evidence: Evidence) -> Outcome:
    rises = []
    for variant in ("vegas", "rovegas"):
        curve = [evidence.throughput("fig-10", variant, load) for load in evidence.points("fig-10", variant)]
        rises += [two / one - 1 for one, two in pairwise(curve)]
    most = np.maximum.reduce(rises)
    return resampled(most, holds=most <= SLACK)


@claim("RV-F10-06")
def largest_relative_fall_of_ratio_with_load(evidence: Evidence) -> Outcome:
    curve = [_ratio(evidence, "fig-10", load) for load in evidence.points("fig-10", "vegas")]
    falls = [1 - two / one for one, two in pairwise(curve)]
    most = np.maximum.reduce(falls)
    return resampled(most, holds=most <= SLACK)


@claim("RV-F10-07")
def simulated_time_of_point(evidence: Evidence) -> Outcome:
    load = max(evidence.points("fig-10", "vegas"))
    return resampled(
        evidence.mean_of(evidence.rows("fig-10", "vegas", load), lambda row: float(row["simulated_s"]))
    )


@claim("RV-F12-02")
def load_of_source_on_its_link(evidence: Evidence) -> Outcome:
    return _stated_load(parking_lot("fig-12", "vegas", 0.8, evidence.place("fig-12")))


def _entered(evidence: Evidence, variant: str, window: tuple[float, float]) -> Values:
    return evidence.rate("fig-12", variant, "", *window)


def _gain(evidence: Evidence, window: tuple[float, float]) -> Values:
    return _entered(evidence, "rovegas", window) / _entered(evidence, "vegas", window)


@claim("RV-F12-04")
def ratio_of_rovegas_without_sources(evidence: Evidence) -> Outcome:
    ratio = _gain(evidence, (0.0, 100.0))
    return resampled(ratio, holds=(ratio >= 0.985) & (ratio < 1))


@claim("RV-F12-08")
def least_step_of_ratio_by_source(evidence: Evidence) -> Outcome:
    gains = [_gain(evidence, window) for window in WINDOWS]
    return above([two - one for one, two in pairwise(gains)])


@claim("RV-F12-09")
def least_fall_of_vegas_by_source(evidence: Evidence) -> Outcome:
    curve = [_entered(evidence, "vegas", window) for window in ((0.0, 100.0), *WINDOWS)]
    return above([one - two for one, two in pairwise(curve)])


@claim("RV-F12-10")
def least_lead_of_rovegas_with_sources(evidence: Evidence) -> Outcome:
    return above(
        [_entered(evidence, "rovegas", window) - _entered(evidence, "vegas", window) for window in WINDOWS]
    )


@claim("RV-F13-03")
def rise_of_parking_lot_gain_with_load(evidence: Evidence) -> Outcome:
    return above([_ratio(evidence, "fig-13", 1.0) - _ratio(evidence, "fig-13", 0.5)])


@claim("RV-F13-04")
def gain_in_parking_lot_less_single_bottleneck(evidence: Evidence) -> Outcome:
    return above([_ratio(evidence, "fig-13", 1.0) - _ratio(evidence, "fig-10", 1.0)])


@claim("RV-F19-02")
def one_router_over_all_routers(evidence: Evidence) -> Outcome:
    ratio = evidence.throughput("fig-19", "rovegas", "r2") / evidence.throughput("fig-19", "rovegas", "all")
    return resampled(ratio, holds=ratio <= 1.05)


@claim("RV-F19-03")
def difference_without_supporting_router(evidence: Evidence) -> Outcome:
    without = evidence.throughput("fig-19", "rovegas", "none")
    plain = evidence.throughput("fig-19", "vegas") * model.goodput_share()
    return resampled(np.abs(without / plain - 1), note=f"{without[0]:.0f} against {plain[0]:.0f} kbit/s")


@claim("RV-CTX-03")
def relative_loss_of_vegas_less_reno(evidence: Evidence) -> Outcome:
    lost = {
        variant: 1 - _loaded(evidence, variant) / _alone(evidence, variant) for variant in ("vegas", "reno")
    }
    gap = lost["vegas"] - lost["reno"]
    return resampled(
        gap,
        holds=(gap > 0) & (lost["reno"] > 0),
        note=f"Vegas loses {100 * lost['vegas'][0]:.0f} %, Reno {100 * lost['reno'][0]:.0f} %",
    )


@claim("RV-CTX-01")
def losses_of_reno_less_vegas(evidence: Evidence) -> Outcome:
    def lost(variant: str) -> Values:
        return evidence.first("lost", 0, "fig-10", variant, 0.0)

    return above(
        [lost("reno") - lost("vegas")],
        note=f"Vegas {lost('vegas')[0]:.0f}, Reno {lost('reno')[0]:.0f} in 200 s",
    )
