"""Claims on averages over repetitions: Figs. 9-15 and Table 2.

[chan2010 §4.1-§4.5]
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from scipy import stats

from dumbbell.judge.estimate import Outcome, mean_of
from dumbbell.statistics import jain_index

from .evidence import Evidence, Values
from .network import VARIANTS
from .printed import data
from .register import claim, estimate, listed


@estimate
def share_below(evidence: Evidence, figure: str, kind: str, bound: float) -> Outcome:
    """Return the share of points at which a variant's mean ratio to Reno is below a bound."""
    means = evidence.means(figure, kind)
    return Outcome.share(means < bound, note=f"mean ratios {listed(evidence.swept(figure, kind), means)}")


def lead(evidence: Evidence, figure: str) -> tuple[float, str]:
    """Return by how much CODE's pooled mean ratio is nearer to 1 than the next variant's, and all distances in words."""
    distances = evidence.distances(figure)
    others = min(distances[kind] for kind in VARIANTS if kind != "code")
    words = ", ".join(
        f"{kind} {evidence.pooled(figure, kind).estimate:.2f} "
        f"[{evidence.pooled(figure, kind).low:.2f}, {evidence.pooled(figure, kind).high:.2f}]"
        for kind in VARIANTS
    )
    return others - distances["code"], words


@claim("C-F9a-2")
def largest_mean_backlog_of_vegas(evidence: Evidence) -> Outcome:
    rates = evidence.swept("fig9", "vegas")
    means = [float(evidence.queued("vegas", rate).mean()) for rate in rates]
    return Outcome(measured=max(means), holds=max(means) <= 4.0, note=listed(rates, means))


@estimate
def share_of_points_with_more(evidence: Evidence, figure: str, kind: str, other: str) -> Outcome:
    """Return the share of points at which a variant gets more than another one does."""
    swept = evidence.swept(figure, other if figure == "fig9" else kind)
    return Outcome.share(
        [
            evidence.goodputs(figure, kind, point)[0].mean()
            > evidence.goodputs(figure, other, point)[0].mean()
            for point in swept
        ]
    )


@estimate
def pooled_ratio(evidence: Evidence, figure: str, kind: str) -> Outcome:
    wide, points = evidence.pooled(figure, kind), evidence.over_points(figure, kind)
    return mean_of(
        evidence.all_ratios(figure, kind),
        f"the paper's 95 % interval {wide.low:.2f} to {wide.high:.2f}, over the means of points {points.low:.2f} to "
        f"{points.high:.2f}",
    )


@estimate
def lead_of_code(evidence: Evidence, figure: str) -> Outcome:
    measured, words = lead(evidence, figure)
    return Outcome(measured=measured, holds=measured > 0, note=words)


@claim("C-F9-2")
def distance_of_code_interval_from_equal_share(evidence: Evidence) -> Outcome:
    found = evidence.pooled("fig9", "code")
    gap = max(found.low - 1.0, 1.0 - found.high, 0.0)
    return Outcome(measured=gap, note=f"{found.low:.3f} to {found.high:.3f}")


@claim("C-F12-2")
def spread_of_newvegas_over_random_starts(evidence: Evidence) -> Outcome:
    spreads, absolute = [], []
    for panel in ("rtt-a", "rtt-b"):
        for rtt in evidence.swept(panel, "newvegas"):
            goodputs = [evidence.goodputs(panel, kind, rtt)[0] for kind in ("newvegas", "vegas")]
            deviations = [goodput.std(ddof=1) for goodput in goodputs]
            absolute.append(deviations[0] > deviations[1])
            spreads.append(
                [deviation / goodput.mean() for deviation, goodput in zip(deviations, goodputs, strict=True)]
            )
    newvegas, vegas = np.array(spreads).T
    return Outcome.share(
        newvegas > vegas,
        note=f"on average NewVegas {newvegas.mean():.2f}, Vegas {vegas.mean():.2f}; "
        f"the standard deviation itself is larger with NewVegas in {int(np.sum(absolute))} of {len(absolute)}",
    )


@claim("C-F13a-1")
def ratio_of_code_with_shorter_round_trip(evidence: Evidence) -> Outcome:
    # With equal round trips neither has the shorter one.
    swept = evidence.swept("rtt-a", "code")
    means = evidence.means("rtt-a", "code")
    return Outcome.share(means[1:] > 1.0, note=f"mean ratios {listed(swept, means)}")


@claim("C-F13a-2")
def code_takes_no_more_than_reno_in_its_place(evidence: Evidence) -> Outcome:
    code, reno = evidence.means("rtt-a", "code"), reno_against_reno(evidence, "rtt-a")
    return Outcome.share(
        code[1:] <= reno[1:], note=f"Reno in its place: {listed(evidence.swept('rtt-a', 'code'), reno)}"
    )


def reno_against_reno(evidence: Evidence, panel: str) -> Values:
    """Return the mean ratio of a Reno in the variant's place to the other Reno, at each point."""
    ratios = []
    for rtt in evidence.swept(panel, "reno"):
        runs = evidence.point(panel, "reno", rtt)
        ratios.append(np.mean([run.one("goodput", "variant") / run.one("goodput", "reno") for run in runs]))
    return np.array(ratios)


@claim("C-F13b-1")
def lead_of_code_with_longer_round_trip(evidence: Evidence) -> Outcome:
    swept = evidence.swept("rtt-b", "code")
    far = {kind: np.abs(evidence.means("rtt-b", kind) - 1) for kind in VARIANTS}
    nearest = np.min([far[kind] for kind in VARIANTS if kind != "code"], axis=0)
    return Outcome.share(
        far["code"] < nearest, note=f"mean ratios of CODE {listed(swept, evidence.means('rtt-b', 'code'))}"
    )


@claim("C-F13-3")
def least_lead_of_code_over_both_panels(evidence: Evidence) -> Outcome:
    leads = {panel: lead(evidence, panel) for panel in ("rtt-a", "rtt-b")}
    least = min(found for found, _ in leads.values())
    return Outcome(
        measured=least,
        holds=least > 0,
        note="; ".join(f"{panel[-1]}: {words}" for panel, (_, words) in leads.items()),
    )


@claim("C-F13-4")
def reno_with_shorter_round_trip_gets_more(evidence: Evidence) -> Outcome:
    short, long = reno_against_reno(evidence, "rtt-a")[1:], reno_against_reno(evidence, "rtt-b")[1:]
    swept = evidence.swept("rtt-a", "reno")[1:]
    return Outcome.share(
        np.concatenate([short > 1, long < 1]),
        note=f"panel a {listed(swept, short)}; panel b {listed(swept, long)}",
    )


@estimate
def rank_correlation_with_buffer(evidence: Evidence, kind: str) -> Outcome:
    swept, means = evidence.swept("fig14", kind), evidence.means("fig14", kind)
    rho = float(stats.spearmanr(swept, means).statistic)
    return Outcome(measured=rho, holds=rho < -0.8, note=f"mean ratios {listed(swept, means)}")


@claim("C-F14a-2")
def fall_of_vegas_share_with_buffer(evidence: Evidence) -> Outcome:
    means = evidence.means("fig14", "vegas")
    fall = float(means[0] - means[-1])
    return Outcome(measured=fall, holds=fall > 0, note=f"{means[0]:.2f} and {means[-1]:.2f}")


@estimate
def share_of_repetitions_on_one_side(
    evidence: Evidence, kind: str, buffer: Literal["smallest", "largest"]
) -> Outcome:
    """Return the share of repetitions with a ratio above 1 at the smallest buffer, or below 1 at the largest."""
    swept = evidence.swept("fig14", kind)
    size = swept[0] if buffer == "smallest" else swept[-1]
    ratios = evidence.ratios("fig14", kind, size)
    return Outcome.share(
        ratios > 1 if buffer == "smallest" else ratios < 1,
        note=f"{size} packets; mean ratios {listed(swept, evidence.means('fig14', kind))}",
    )


@claim("C-F14b-3")
def buffer_at_which_vegas_a_is_nearest_to_reno(evidence: Evidence) -> Outcome:
    swept, means = evidence.swept("fig14", "vegasa"), evidence.means("fig14", "vegasa")
    return Outcome(
        measured=float(swept[int(np.argmin(np.abs(means - 1)))]), note=f"mean ratios {listed(swept, means)}"
    )


@claim("C-F14d-3")
def code_gets_more_than_reno_at_every_buffer(evidence: Evidence) -> Outcome:
    means = evidence.means("fig14", "code")
    return Outcome.share(means > 1.0, note=f"mean ratios {listed(evidence.swept('fig14', 'code'), means)}")


@claim("C-F14-4")
def variants_unfair_at_some_buffer(evidence: Evidence) -> Outcome:
    unfair = [bool((np.abs(evidence.means("fig14", kind) - 1) > 0.1).any()) for kind in VARIANTS]
    return Outcome(measured=float(sum(unfair)))


@claim("C-F14-5")
def least_excess_of_log_range_over_code(evidence: Evidence) -> Outcome:
    ranges = {kind: float(np.ptp(np.log(evidence.means("fig14", kind)))) for kind in VARIANTS}
    gap = min(ranges[kind] for kind in VARIANTS if kind != "code") - ranges["code"]
    return Outcome(
        measured=gap,
        holds=gap > 0,
        note="ranges " + ", ".join(f"{kind} {value:.2f}" for kind, value in ranges.items()),
    )


@estimate
def sign_of_excess_with_fewest_reno(evidence: Evidence, kind: str) -> Outcome:
    excess = float(evidence.means("fig15", kind)[0]) - 1
    return Outcome(measured=float(np.sign(excess)), holds=excess < 0, note=f"ratio {1 + excess:.2f}")


@claim("C-F15d-1")
def mean_ratio_of_code_over_mixes(evidence: Evidence) -> Outcome:
    outcome = pooled_ratio(evidence, "fig15", "code")
    means = listed(evidence.swept("fig15", "code"), evidence.means("fig15", "code"))
    return Outcome(
        measured=outcome.measured,
        low=outcome.low,
        high=outcome.high,
        note=f"{outcome.note}; by Reno connections {means}",
    )


def fairness(evidence: Evidence, kind: str, rate: int) -> Values:
    """Return the fairness index of ten connections of one variant in each repetition (Eq. 20)."""
    return np.array(
        [jain_index(run.of("goodput", "variant")) for run in evidence.point("table2", kind, rate)]
    )


@claim("C-T2-S1")
def fairness_of_code_less_that_of_others(evidence: Evidence) -> Outcome:
    means = {
        kind: float(
            np.mean([fairness(evidence, kind, rate).mean() for rate in evidence.swept("table2", kind)])
        )
        for kind in ("code", "newvegas", "vegas")
    }
    printed = {kind: float(np.mean(data()["table2"][kind])) for kind in means}
    return Outcome(
        measured=means["code"] - max(means["newvegas"], means["vegas"]),
        note=", ".join(f"{kind} {means[kind]:.3f} (printed {printed[kind]:.3f})" for kind in means),
    )
