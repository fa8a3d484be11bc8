"""The claims of the paper's text up to its results: validation, implementation, corrections, effects.

[hengartner2000 §II to §VIII.C]
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

import numpy as np

from dumbbell.judge.estimate import Outcome, above, listing, mean_of

from .evidence import Evidence
from .printed import TERMS
from .register import (
    CASES,
    THROUGHPUT_COLUMNS,
    Values,
    case_names,
    claim,
    estimate,
    maximum,
    minimum,
    throughput_columns,
)
from .scenarios import BACKGROUNDS

# Section V: Reno and released Vegas


def _gains(evidence: Evidence, metric: str, group: str = "table") -> list[Values]:
    """Return the ratio of released Vegas to Reno in the four cases of Tables I and II."""
    return [
        evidence.metric(metric, "vegas", background, load, group)
        / evidence.metric(metric, "reno", background, load, group)
        for load, background in CASES
    ]


def _changes(evidence: Evidence, metric: str) -> list[Values]:
    """Return the gains in throughput, or the savings in retransmissions, in these cases."""
    return [ratio - 1 if metric == "thr" else 1 - ratio for ratio in _gains(evidence, metric)]


@claim("VR-Q-11")
def least_rise_of_retransmissions_against_vegas(evidence: Evidence) -> Outcome:
    names, margins = [], []
    for foreground in ("reno", "vegas"):
        for load in ("low", "high"):
            names.append(f"{foreground}/{load}")
            margins.append(
                evidence.rtx(foreground, "vegas", load, "pair")
                - evidence.rtx(foreground, "reno", load, "pair")
            )
    return above(margins, "paired runs; " + listing(names, margins))


@estimate
def least_change(evidence: Evidence, metric: str) -> Outcome:
    """Return the least gain in throughput or saving in retransmissions, which has to be above zero."""
    changes = _changes(evidence, metric)
    word = "gains" if metric == "thr" else "savings"
    return above(changes, f"{word} " + listing(case_names(CASES), changes))


@estimate
def change(evidence: Evidence, metric: str, extreme: Literal["smallest", "largest"]) -> Outcome:
    """Return the smallest or the largest gain in throughput, or saving in retransmissions."""
    return Outcome.of((minimum if extreme == "smallest" else maximum)(_changes(evidence, metric)))


@estimate
def least_rise_with_load(evidence: Evidence, metric: str) -> Outcome:
    """Return by how much the ratio of released Vegas to Reno rises with the load."""
    low_reno, low_vegas, high_reno, high_vegas = _gains(evidence, metric)
    return above([high_reno - low_reno, high_vegas - low_vegas])


# Section IV: the validation of Reno


@claim("VR-Q-12")
def least_loss_with_four_variations(evidence: Evidence) -> Outcome:
    margins = []
    for load in ("low", "high"):
        older = evidence.mean(f"pair/reno-2var|reno|{load}", "throughput")
        margins.append(older - evidence.thr("reno", "reno", load, "pair"))
    mean = (margins[0] + margins[1]) / 2
    return Outcome.of(
        mean, holds=mean >= 0, note="paired runs, mean of both loads; " + listing(("low", "high"), margins)
    )


@claim("VR-Q-13")
def share_of_timeouts_by_the_rules(evidence: Evidence) -> Outcome:
    cases = evidence.observation("timers")
    share = float(np.mean(cases["agree"]))
    return Outcome.of(share, holds=share == 1.0, note=cases["note"])


# Section VI: the implementation


@estimate
def largest_difference_run_by_run(
    evidence: Evidence, first: str, second: str, places: Sequence[str]
) -> Outcome:
    """Return the largest difference between two variants in any run, KB/s, and whether all fingerprints agree."""
    gaps, same, count = [0.0], True, 0
    for place in places:
        one, two = (
            evidence.runs(f"validation/{variant}|{place}", "throughput") for variant in (first, second)
        )
        marks = [
            evidence.runs(f"validation/{variant}|{place}", "fingerprint_high") for variant in (first, second)
        ]
        gaps.append(float(np.abs(one - two).max()))
        same = same and bool((marks[0] == marks[1]).all())
        count += len(one)
    note = f"{count} pairs of runs; the sequences of events are {'identical' if same else 'not identical'}"
    return Outcome.of(max(gaps), note=note)


@claim("VR-Q-14")
def largest_difference_of_all_off_from_reno(evidence: Evidence) -> Outcome:
    places = [f"{background}|{load}" for load in ("low", "high") for background in BACKGROUNDS]
    return largest_difference_run_by_run(evidence, "reno", "cell000", places)


@claim("VR-Q-16")
def number_of_switches(evidence: Evidence) -> Outcome:
    letters = evidence.observation("switches")
    return Outcome.of(float(len(letters)), note=f"accepted: {''.join(letters)}")


@claim("VR-Q-17")
def largest_burst(evidence: Evidence) -> Outcome:
    bursts = evidence.observation("burst")
    return Outcome.of(float(bursts["on"]), note=f"{bursts['off']} segments with H off")


@claim("VR-Q-18")
def largest_excess_at_which_window_grew(evidence: Evidence) -> Outcome:
    guard = evidence.observation("guard")
    return Outcome.of(
        guard["on"],
        holds=guard["on"] <= 2.0 + 1e-9 and guard["off"] > 2.0,
        note=f"with I off it grew at an excess of up to {guard['off']:.2f} segments",
    )


@claim("VR-Q-19")
def largest_ratio_of_output_rate(evidence: Evidence) -> Outcome:
    spike = evidence.observation("spike")
    return Outcome.of(
        spike["on"],
        holds=spike["on"] <= 2.0 + 0.02 and spike["off"] > 2.0,
        note=f"with J off the largest ratio is {spike['off']:.1f}; 1 % of slack for the reading of the current rate",
    )


@claim("VR-Q-20")
def share_of_window_kept_with_f(evidence: Evidence) -> Outcome:
    ratio = evidence.observation("recovery_window")
    return Outcome.of(
        float(np.mean(ratio["on"])),
        note=f"{np.mean(ratio['off']):.3f} with F off; "
        f"{len(ratio['on'])} single losses at windows of a multiple of four segments",
    )


@claim("VR-Q-21")
def start_and_restart_windows_with_g(evidence: Evidence) -> Outcome:
    window = evidence.observation("start_window")
    agree = window["on_start"] == window["on_timeout"] and window["off_start"] == window["off_timeout"] == 1.0
    return Outcome.of(
        window["on_start"] if agree else math.nan,
        note=f"at the start and after a timeout {window['on_start']:g} and {window['on_timeout']:g} with G on, "
        f"{window['off_start']:g} and {window['off_timeout']:g} with G off",
    )


@claim("VR-Q-22")
def round_trips_per_doubling_with_a(evidence: Evidence) -> Outcome:
    period = evidence.observation("doubling")
    return Outcome.of(
        float(round(period["on"])),
        note=f"unrounded {period['on']:.2f} round trips; {period['off']:.2f} with A off",
    )


# Section VII: the corrections


@claim("VR-Q-23")
def ratio_of_windows_after_timeout(evidence: Evidence) -> Outcome:
    growth = evidence.observation("after_timeout")
    ratio = growth["fixed_window"] / growth["released_window"]
    shapes = growth["released_growth"] <= 1.5 and growth["fixed_growth"] > growth["released_growth"]
    return Outcome.of(
        ratio,
        holds=ratio > 1 and shapes,
        note=f"when the last data of before the timeout is acknowledged: {growth['released_window']:.1f} segments "
        f"released, {growth['fixed_window']:.1f} corrected; largest growth within a round trip "
        f"{growth['released_growth']:.1f} and {growth['fixed_growth']:.1f} segments",
    )


@claim("VR-Q-24")
def time_saved_to_half_window(evidence: Evidence) -> Outcome:
    growth = evidence.observation("after_timeout")
    gap = growth["released_half_s"] - growth["fixed_half_s"]
    return Outcome.of(
        gap,
        holds=gap > 0,
        note=f"{growth['released_half_s']:.2f} s released, {growth['fixed_half_s']:.2f} s corrected",
    )


@claim("VR-Q-25")
def increases_of_base_rtt(evidence: Evidence) -> Outcome:
    traced = evidence.observation("traced")
    return Outcome.of(
        float(traced["vegasfix"]["base_rtt_raised"]),
        note=f"in {traced['vegasfix']['runs']} traced runs; {traced['vegas']['base_rtt_raised']} in released Vegas",
    )


def _fixes(evidence: Evidence, metric: str) -> list[Values]:
    """Return the ratio of corrected to released Vegas in the four cases of Tables IV and V."""
    return [
        evidence.metric(metric, "vegasfix", "reno" if background == "reno" else "vegasfix", load, "pair")
        / evidence.metric(metric, "vegas", background, load, "pair")
        for load, background in CASES
    ]


@claim("VR-Q-26")
def least_loss_of_corrected_vegas(evidence: Evidence) -> Outcome:
    losses = [1 - ratio for ratio in _fixes(evidence, "thr")]
    return above(losses, "paired runs; losses " + listing(case_names(CASES), losses, "{:.3f}"))


@claim("VR-Q-27")
def cases_with_more_retransmissions_of_corrected_vegas(evidence: Evidence) -> Outcome:
    ratios = _fixes(evidence, "rtx")
    count = np.sum([ratio > 1 for ratio in ratios], axis=0).astype(float)
    return Outcome.of(count, note="paired runs; ratios " + listing(case_names(CASES), ratios, "{:.3f}"))


@claim("VR-Q-28")
def largest_difference_of_corrected_vegas(evidence: Evidence) -> Outcome:
    return Outcome.of(maximum([np.abs(ratio - 1) for ratio in _fixes(evidence, "thr")]), note="paired runs")


@claim("VR-Q-29")
def increases_of_released_less_corrected(evidence: Evidence) -> Outcome:
    traced = evidence.observation("traced")
    released, fixed = traced["vegas"]["increases_per_rtt"], traced["vegasfix"]["increases_per_rtt"]
    gap = released - fixed
    return mean_of(
        gap,
        note=f"{released.mean():.3f} released, {fixed.mean():.3f} corrected, {len(gap)} pairs of traced runs at high load",
        holds=lambda mean: mean >= 0,
    )


@claim("VR-Q-30")
def difference_of_tables_1_and_4(evidence: Evidence) -> Outcome:
    unchanged, changed = evidence.observation("tables_one_and_four")
    return Outcome.of(
        unchanged,
        holds=unchanged == 0 and changed > 0,
        note=f"{changed:.2f} KB/s in the Vegas columns, same seeds",
    )


@claim("VR-T3-25")
def checks_expecting_less_than_got(evidence: Evidence) -> Outcome:
    traced = evidence.observation("traced")
    count = traced["vegasfix"]["invariant_broken"]
    return Outcome.of(
        float(count),
        holds=count == 0,
        note=f"of {traced['vegasfix']['checks']} checks in {traced['vegasfix']['runs']} traced runs; "
        f"{traced['vegas']['invariant_broken']} of {traced['vegas']['checks']} in released Vegas",
    )


# Section VIII-A: designs


@claim("VR-Q-31")
def share_of_small_effects(evidence: Evidence) -> Outcome:
    shares = evidence.ten_percent()
    small = float((shares < 1).mean())
    largest = float(shares.max())
    return Outcome.of(
        small, holds=small >= 0.5, note=f"{len(shares)} effects, the largest explains {largest:.1f} %"
    )


@estimate
def least_gap_in_order(
    evidence: Evidence, metric: str, load: str, background: str, order: Sequence[str]
) -> Outcome:
    """Return by how much each share exceeds the next, percentage points."""
    shares = evidence.phases(metric, load, background).percent
    margins = [shares[first] - shares[second] for first, second in pairwise(order)]
    return above(margins, "shares " + listing(order, [shares[term] for term in order], "{:.1f}") + " %")


@estimate
def largest_share(
    evidence: Evidence, metric: str, load: str, background: str, terms: Sequence[str], limit: float
) -> Outcome:
    """Return the largest share among terms, which must stay below a limit."""
    shares = evidence.phases(metric, load, background).percent
    most = maximum([shares[term] for term in terms])
    return Outcome.of(most, holds=most < limit)


@estimate
def lead_of_recovery(evidence: Evidence, background: str) -> Outcome:
    """Return by how much the share of recovery exceeds all other effects together, high load."""
    shares = evidence.phases("thr", "high", background).percent
    others = np.sum([shares[term] for term in TERMS if term != "rec"], axis=0)
    return Outcome.of(
        shares["rec"] - others,
        holds=shares["rec"] > others,
        note=f"recovery {shares['rec'][0]:.1f} %, the others {others[0]:.1f} %",
    )


# Section VIII-B: throughput


@claim("VR-Q-47")
def largest_share_of_ca(evidence: Evidence) -> Outcome:
    shares = [effects.percent["ca"] for effects in throughput_columns(evidence)]
    most = maximum(shares)
    return Outcome.of(most, holds=most <= 5, note=listing(case_names(THROUGHPUT_COLUMNS), shares, "{:.1f}"))


@claim("VR-Q-48")
def least_gap_of_ca_below_larger_phase(evidence: Evidence) -> Outcome:
    return above(
        [
            np.maximum(effects.percent["ss"], effects.percent["rec"]) - effects.percent["ca"]
            for effects in throughput_columns(evidence)
        ]
    )


@claim("VR-Q-49")
def least_ratio_of_other_phases_to_ca(evidence: Evidence) -> Outcome:
    ratios = [
        (effects.percent["ss"] + effects.percent["rec"]) / np.maximum(effects.percent["ca"], 1e-9)
        for effects in throughput_columns(evidence)
    ]
    least = minimum(ratios)
    return Outcome.of(least, holds=least > 10, note=listing(case_names(THROUGHPUT_COLUMNS), ratios, "{:.0f}"))


@claim("VR-Q-50")
def columns_with_minor_ca(evidence: Evidence) -> Outcome:
    good = np.sum(
        [
            (effects.percent["ca"] <= 5) | (effects.terms["ca"] < 0)
            for effects in throughput_columns(evidence)
        ],
        axis=0,
    ).astype(float)
    return Outcome.of(good, holds=good == len(THROUGHPUT_COLUMNS))


# Section VIII-C: retransmissions


@estimate
def least_gap_in_order_ss_ca_others(evidence: Evidence, background: str) -> Outcome:
    """Return by how much slow start explains more than ca, and ca more than all others, low load, percentage points."""
    shares = evidence.phases("rtx", "low", background).percent
    others = maximum([shares[term] for term in TERMS if term not in ("ss", "ca")])
    return above(
        [shares["ss"] - shares["ca"], shares["ca"] - others],
        f"ss {shares['ss'][0]:.1f} %, ca {shares['ca'][0]:.1f} %, the largest other {others[0]:.1f} %",
    )


@claim("VR-Q-65")
def larger_saving_at_high_load(evidence: Evidence) -> Outcome:
    savings = [
        1 - evidence.rtx("vegasfix", background, "high") / evidence.rtx("reno", background, "high")
        for background in BACKGROUNDS
    ]
    most = maximum(savings)
    return Outcome.of(most, holds=most < 0.15, note=listing(BACKGROUNDS, savings))


@estimate
def least_margin_over_ca(evidence: Evidence, load: str, other: str) -> Outcome:
    """Return whether ca lowers retransmissions and another phase lowers them more, against both backgrounds, KB."""
    margins, notes = [], []
    for background in BACKGROUNDS:
        effects = evidence.phases("rtx", load, background).terms
        margins += [effects["ca"] - effects[other], -effects["ca"]]
        notes.append(f"{background}: {other} {effects[other][0]:.2f}, ca {effects['ca'][0]:.2f}")
    return above(margins, "; ".join(notes))
