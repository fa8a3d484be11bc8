"""The claims on fairness with Fig. 2, the worked example and the design, and those of cited work.

[hengartner2000 §II, §III, §VIII.A, §VIII.B, §IX]
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from dumbbell import factorial, statistics
from dumbbell.judge.estimate import NotMeasured, Outcome, above, listing, mean_of

from .evidence import Evidence, FactorEffects
from .printed import data, effect_column
from .register import Values, claim, estimate, minimum, only_ca
from .scenarios import BACKGROUNDS, SWEEP

# Section IX and Fig. 2: fairness


@claim("VR-Q-116")
def share_of_cuts_above_threshold(evidence: Evidence) -> Outcome:
    rule = evidence.observation("thresholds")
    return Outcome.of(
        rule["cuts_agree"],
        holds=rule["cuts_agree"] == 1.0 and rule["cuts"] > 0,
        note=f"{rule['cuts']} cuts in the runs of Fig. 2; the algebra agrees on {rule['grid']} points",
    )


@claim("VR-Q-117")
def share_of_growths_below_threshold(evidence: Evidence) -> Outcome:
    rule = evidence.observation("thresholds")
    return Outcome.of(
        rule["growths_agree"],
        holds=rule["growths_agree"] == 1.0 and rule["growths"] > 0,
        note=f"{rule['growths']} rounds of growth in the runs of Fig. 2",
    )


def _five(evidence: Evidence, name: str) -> tuple[Values, Values]:
    """Return the mean of a quantity of the five connections of Fig. 2 over the runs, and its resamples."""
    values = np.asarray(evidence.observation("figure_2")[name], dtype=np.float64)
    return statistics.resample_weights(values.shape[0], seed=2) @ values, values


@claim("VR-Q-118")
def smallest_base_rtt_over_rtt(evidence: Evidence) -> Outcome:
    least, _ = _five(evidence, "least_ratio")
    smallest = minimum(list(least.T)) if least.ndim > 1 else least
    return Outcome.of(
        smallest,
        holds=smallest < 0.5,
        note="mean over the runs of the smallest ratio of any connection; queue of 25 packets",
    )


@claim("VR-Q-119")
def least_step_of_base_rtt_by_start(evidence: Evidence) -> Outcome:
    base, _ = _five(evidence, "base_rtt")
    steps = np.diff(base, axis=1).min(axis=1)
    return Outcome.of(
        steps, holds=steps >= 0, note="means " + ", ".join(f"{1000 * value:.0f}" for value in base[0]) + " ms"
    )


@claim("VR-Q-120")
def gap_of_first_connection_below_next_window(evidence: Evidence) -> Outcome:
    window, _ = _five(evidence, "window")
    gap = window[:, 1:].min(axis=1) - window[:, 0]
    return Outcome.of(
        gap, holds=gap >= 0, note="mean windows " + ", ".join(f"{value:.1f}" for value in window[0])
    )


@claim("VR-Q-121")
def gap_of_last_connection_above_next_window(evidence: Evidence) -> Outcome:
    window, _ = _five(evidence, "window")
    gap = window[:, 4] - window[:, :4].max(axis=1)
    return Outcome.of(gap, holds=gap > 0)


@claim("VR-Q-122")
def lead_of_last_connection_in_throughput(evidence: Evidence) -> Outcome:
    share, _ = _five(evidence, "share")
    gap = share[:, 4] - share[:, :4].max(axis=1)
    return Outcome.of(
        gap, holds=gap > 0, note="mean shares " + ", ".join(f"{value:.3f}" for value in share[0])
    )


@claim("VR-Q-123")
def window_of_second_less_first(evidence: Evidence) -> Outcome:
    window, _ = _five(evidence, "window")
    return Outcome.of(window[:, 1] - window[:, 0])


@claim("VR-Q-124")
def first_window_at_3_s_less_last_in_the_end(evidence: Evidence) -> Outcome:
    both, _ = _five(evidence, "first_at_3_and_last")
    return Outcome.of(both[:, 0] - both[:, 1], note=f"{both[0, 0]:.1f} and {both[0, 1]:.1f} segments")


@claim("VR-Q-125")
def window_given_up_by_first(evidence: Evidence) -> Outcome:
    both, _ = _five(evidence, "first_at_3_and_end")
    return Outcome.of(both[:, 0] - both[:, 1], holds=both[:, 0] > both[:, 1])


@claim("VR-Q-126")
def growth_of_last_window_after_slow_start(evidence: Evidence) -> Outcome:
    kept, values = _five(evidence, "last_after_slow_start")
    growth = kept[:, 1] - kept[:, 0]
    share = float((values[:, 1] >= values[:, 0] - 1e-9).mean())
    return Outcome.of(growth, holds=growth >= 0, note=f"it did not shrink in {100 * share:.0f} % of the runs")


@claim("VR-Q-127")
def deviation_of_settled_windows(evidence: Evidence) -> Outcome:
    spread, _ = _five(evidence, "window_spread")
    losses = np.asarray(evidence.observation("figure_2")["late_losses"])
    mean = spread.mean(axis=1)
    return Outcome.of(
        mean,
        holds=(mean < 0.5) & (losses.max() == 0),
        note=f"{int(losses.sum())} losses in the last 10 s of {len(losses)} runs",
    )


@claim("VR-Q-128")
def least_step_of_windows_by_start(evidence: Evidence) -> Outcome:
    window, _ = _five(evidence, "window")
    steps = np.diff(window, axis=1).min(axis=1)
    return Outcome.of(steps, holds=steps >= 0)


@claim("VR-Q-129")
def fairness_of_reno_less_vegas(evidence: Evidence) -> Outcome:
    fairness = evidence.observation("fairness")
    gap = np.asarray(fairness["reno"]) - np.asarray(fairness["vegasfix"])
    return mean_of(
        gap,
        note=f"{np.mean(fairness['reno']):.3f} Reno, {np.mean(fairness['vegasfix']):.3f} Vegas",
        holds=lambda mean: mean > 0,
    )


@claim("VR-Q-130")
def least_queue_of_late_connections(evidence: Evidence) -> Outcome:
    queued, _ = _five(evidence, "queued")
    late = queued[:, 3:].min(axis=1)
    return Outcome.of(
        late,
        holds=late > 3,
        note="queued by connections 1 to 5: " + ", ".join(f"{value:.1f}" for value in queued[0]),
    )


@estimate
def default_parameter(evidence: Evidence, parameter: str) -> Outcome:
    return Outcome.of(float(evidence.observation("defaults")[parameter]))


@claim("VR-Q-133")
def least_window_of_vegas(evidence: Evidence) -> Outcome:
    traced = evidence.observation("traced")
    least = min(traced[variant]["least_window"] for variant in ("vegas", "vegasfix"))
    return Outcome.of(
        float(least),
        note=f"in {traced['vegas']['runs'] + traced['vegasfix']['runs']} traced runs at high load",
    )


# The worked example and the design


@estimate
def worked_interval(_evidence: Evidence, part: Literal["centre", "half_width"]) -> Outcome:
    """Return the effect of ss in the low Reno column recomputed from its cells, or its printed half-width's value."""
    column = effect_column("VI", "reno")
    cells = {f"{index:03b}": column.cell_mean(f"{index:03b}") for index in range(8)}
    # Two values per cell around its mean: the analysis of the package then has to return the effects they came from.
    analysis = factorial.analyse(
        {cell: (mean - 1, mean + 1) for cell, mean in cells.items()}, ("ss", "ca", "rec")
    )
    half = factorial.half_widths(column.s_e(), cells=8, replications=50).one_sided
    return Outcome.of(float(analysis.effects["ss"] if part == "centre" else half))


@claim("VR-EX-01")
def worked_throughput_of_cell(_evidence: Evidence) -> Outcome:

    effects = {term.replace("_", ":"): value for term, value in effect_column("VI", "reno").effect.items()}
    cells = factorial.cells_from_effects(effects, ("ss", "ca", "rec"))
    return Outcome.of(float(cells[data()["example"]["cell"]]))


def _stated_size(evidence: Evidence) -> FactorEffects:
    effects = evidence.phases("thr", "low", "reno")
    if not evidence.full:
        raise NotMeasured(
            f"This reproduction has {effects.replications} replications; the default is the paper's number."
        )
    return effects


def _seeds(evidence: Evidence) -> int:
    """Return the number of seeds of the tables: those of the reproduction and of further replications."""
    return evidence.seeds(evidence.key("reno", "reno", "low"))


@claim("VR-EX-04")
def runs_of_three_factor_design(evidence: Evidence) -> Outcome:
    effects = _stated_size(evidence)
    return Outcome.of(float(effects.cells * effects.replications / _seeds(evidence)))


@claim("VR-EX-05")
def effects_of_three_factor_design(evidence: Evidence) -> Outcome:
    return Outcome.of(float(len(evidence.phases("thr", "low", "reno").percent) - 1))


@claim("VR-EX-06")
def effects_of_ten_factor_design(evidence: Evidence) -> Outcome:
    return Outcome.of(float(len(evidence.ten_percent())))


@claim("VR-EX-07")
def replications_of_cell(evidence: Evidence) -> Outcome:
    return Outcome.of(float(_stated_size(evidence).replications / _seeds(evidence)))


# Cited work


@claim("VR-CTX-01")
def lead_of_reno_beside_vegas(evidence: Evidence) -> Outcome:
    lead = np.asarray(evidence.observation("reno_lead"))
    return mean_of(
        lead,
        note="routers with 25 packets, as for the long connections of Fig. 2; with 10 packets "
        f"{np.mean(evidence.observation('reno_lead_short_queue')):.3f}",
        holds=lambda mean: mean > 0,
    )


@claim("VR-CTX-02")
def share_of_far_connection_vegas_less_reno(evidence: Evidence) -> Outcome:
    shares = evidence.observation("far_share")
    gap = np.asarray(shares["vegasfix"]) - np.asarray(shares["reno"])
    return mean_of(
        gap,
        note=f"the far connection gets {np.mean(shares['vegasfix']):.2f} with Vegas, {np.mean(shares['reno']):.2f} with Reno",
        holds=lambda mean: mean > 0,
    )


@claim("VR-CTX-03")
def least_deficit_of_only_ca(evidence: Evidence) -> Outcome:
    gaps = [-gap for gap in only_ca(evidence, "high")]
    low = only_ca(evidence, "low")
    note = "the cited Internet transfers met heavy traffic; at low load the lead of only ca is " + listing(
        BACKGROUNDS, low
    )
    return above(gaps, note)


@claim("VR-CTX-04")
def ratio_of_vegas_from_light_to_heavy_traffic(evidence: Evidence) -> Outcome:
    ratios = [
        evidence.mean(f"sweep/cell111|{gap}", "throughput")
        / evidence.mean(f"sweep/cell000|{gap}", "throughput")
        for gap in SWEEP
    ]
    return Outcome.of(
        ratios[0],
        holds=(ratios[0] < 1) & (ratios[-1] > 1),
        note="ratio by mean gap of conversations: " + listing(SWEEP, ratios),
    )
