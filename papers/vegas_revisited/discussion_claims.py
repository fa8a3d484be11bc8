"""The claims of the discussion: slow start, recovery, congestion avoidance.

[hengartner2000 §VIII.D]
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np

from dumbbell import statistics
from dumbbell.judge.estimate import Outcome, above, listing, mean_of

from .evidence import Evidence
from .plan import seven_cells
from .printed import TERMS
from .register import (
    THROUGHPUT_COLUMNS,
    Values,
    case_names,
    claim,
    estimate,
    maximum,
    minimum,
    only_ca,
    throughput_columns,
)
from .scenarios import BACKGROUNDS

# Section VIII-D.1: slow start


def _phase_keys(evidence: Evidence, phase: int, level: str, load: str) -> list[str]:
    """Return the keys of the cells with a phase at a level, both backgrounds."""
    return [
        evidence.key(f"cell{index:03b}", background, load)
        for background in BACKGROUNDS
        for index in range(8)
        if f"{index:03b}"[phase] == level
    ]


@claim("VR-Q-69")
def timeouts_saved_in_first_slow_start(evidence: Evidence) -> Outcome:
    off, on = (
        evidence.pooled(_phase_keys(evidence, 0, level, "low"), "first_slow_start_timeouts")
        for level in ("0", "1")
    )
    return Outcome.of(
        off - on, holds=off > on, note=f"{off[0]:.2f} per transfer without them, {on[0]:.2f} with them"
    )


@claim("VR-Q-70")
def share_of_transfers_with_overshoot_and_timeout(evidence: Evidence) -> Outcome:
    flags = []
    for background in BACKGROUNDS:
        key = evidence.key("reno", background, "low")
        losses = evidence.runs(key, "first_slow_start_losses")
        timeouts = evidence.runs(key, "first_slow_start_timeouts")
        flags.append((losses >= 2) & (timeouts >= 1))
    return mean_of(np.concatenate(flags), holds=lambda share: share > 0.5)


@claim("VR-Q-71")
def mean_duration_at_low_load(evidence: Evidence) -> Outcome:
    key = evidence.key("reno", "reno", "low")
    interval = statistics.mean_interval(evidence.runs(key, "duration"))
    return Outcome.of(evidence.mean(key, "duration"), interval=(interval.low, interval.high))


@estimate
def share_of_seven_at_low_load(evidence: Evidence, metric: str, term: str) -> Outcome:
    """Return a share of the seven-factor design at low load, the mean of both backgrounds."""
    shares = [evidence.seven(metric, "low", background).percent[term] for background in BACKGROUNDS]
    mean = (shares[0] + shares[1]) / 2
    return Outcome.of(
        mean,
        note="mean of both backgrounds, of which the paper names none; "
        + listing(BACKGROUNDS, shares, "{:.1f} %"),
    )


@claim("VR-Q-73")
def least_lead_of_a_in_throughput(evidence: Evidence) -> Outcome:
    margins, notes = [], []
    for background in BACKGROUNDS:
        effects = evidence.seven("thr", "low", background).terms
        others = maximum([effects[letter] for letter in "BCDEFG"])
        margins.append(effects["A"] - others)
        notes.append(f"{background}: " + listing("ABCDEFG", [effects[letter] for letter in "ABCDEFG"]))
    return above(margins, "; ".join(notes))


@estimate
def sign_of_seven(evidence: Evidence, metric: str, load: str, term: str, expected: int) -> Outcome:
    """Return the sign of an effect of the seven-factor design against both backgrounds."""
    designs = [evidence.seven(metric, load, background) for background in BACKGROUNDS]
    effects = [design.terms[term] for design in designs]
    holds = np.all([np.sign(effect) == expected for effect in effects], axis=0)
    mean = (effects[0] + effects[1]) / 2
    return Outcome.of(
        float(np.sign(mean[0])),
        holds=holds,
        interval=(math.nan, math.nan),
        note="effects " + listing(BACKGROUNDS, effects),
    )


@claim("VR-Q-79")
def larger_share_of_slow_start_at_high_load(evidence: Evidence) -> Outcome:
    return Outcome.of(
        maximum([evidence.phases("thr", "high", background).percent["ss"] for background in BACKGROUNDS])
    )


def _corrected_gains(evidence: Evidence, load: str) -> list[Values]:
    """Return the gain of corrected Vegas over Reno against both backgrounds."""
    return [
        evidence.thr("vegasfix", background, load) / evidence.thr("reno", background, load) - 1
        for background in BACKGROUNDS
    ]


@estimate
def wan_gain(evidence: Evidence, extreme: Literal["smaller", "larger"]) -> Outcome:
    return Outcome.of((minimum if extreme == "smaller" else maximum)(_corrected_gains(evidence, "wan")))


@claim("VR-Q-82")
def least_shortfall_of_wan_gain(evidence: Evidence) -> Outcome:
    wan = _corrected_gains(evidence, "wan")
    margins = [
        lan - far
        for load in ("low", "high")
        for lan, far in zip(_corrected_gains(evidence, load), wan, strict=True)
    ]
    return above(margins, "WAN gains " + listing(BACKGROUNDS, wan))


@claim("VR-Q-83")
def least_wan_gain_over_both_backgrounds(evidence: Evidence) -> Outcome:
    return above(_corrected_gains(evidence, "wan"))


@claim("VR-Q-86")
def least_margin_of_recovery_in_wan(evidence: Evidence) -> Outcome:
    margins, notes = [], []
    for background in BACKGROUNDS:
        effects = evidence.phases("thr", "wan", background).terms
        margins += [effects["rec"], -effects["ss"], -effects["ca"]]
        notes.append(
            f"{background}: " + listing(("ss", "ca", "rec"), [effects[term] for term in ("ss", "ca", "rec")])
        )
    least = minimum(margins)
    return Outcome.of(least, holds=least >= 0, note="; ".join(notes))


@claim("VR-Q-87")
def smaller_slow_start_effect_on_wan_retransmissions(evidence: Evidence) -> Outcome:
    designs = [evidence.phases("rtx", "wan", background) for background in BACKGROUNDS]
    margins = [design.terms["ss"] + design.hw_one_sided for design in designs]
    effects = [design.terms["ss"] for design in designs]
    return Outcome.of(minimum(effects), holds=minimum(margins) >= 0, note=listing(BACKGROUNDS, effects))


# Section VIII-D.2: recovery


@claim("VR-Q-88")
def columns_where_recovery_explains_most(evidence: Evidence) -> Outcome:
    first = [
        effects.percent["rec"] >= maximum([effects.percent[term] for term in TERMS])
        for effects in throughput_columns(evidence)
    ]
    count = np.sum(first, axis=0).astype(float)
    names = [name for name, flags in zip(case_names(THROUGHPUT_COLUMNS), first, strict=True) if flags[0]]
    return Outcome.of(count, note="in " + ", ".join(names))


@claim("VR-Q-89")
def share_of_slow_start_less_recovery_at_low_load(evidence: Evidence) -> Outcome:
    shares = evidence.phases("thr", "low", "reno").percent
    return Outcome.of(shares["ss"] - shares["rec"], holds=shares["ss"] > shares["rec"])


@estimate
def share_of_seven_at_high_load(evidence: Evidence, letter: str, background: str) -> Outcome:
    effects = evidence.seven("thr", "high", background)
    return Outcome.of(effects.percent[letter], interval=effects.percent_interval(letter))


@estimate
def share_against_reno_less_vegas(
    evidence: Evidence, design: Literal["phases", "seven"], load: str, term: str
) -> Outcome:
    """Return by how much a share of variation in throughput is larger against Reno, percentage points."""
    reno, vegas = (
        getattr(evidence, design)("thr", load, background).percent[term] for background in BACKGROUNDS
    )
    return Outcome.of(reno - vegas, holds=reno > vegas)


@claim("VR-Q-98")
def least_gap_in_order_f_d_c_e(evidence: Evidence) -> Outcome:
    shares = evidence.seven("thr", "high", "reno").percent
    margins = [shares["F"] - shares["D"], shares["D"] - shares["C"], shares["C"] - shares["E"]]
    return above(margins, listing("FDCE", [shares[letter] for letter in "FDCE"], "{:.1f} %"))


@claim("VR-Q-99")
def lead_of_f_against_vegas(evidence: Evidence) -> Outcome:
    shares = evidence.seven("thr", "high", "vegasfix").percent
    gap = shares["F"] - maximum([shares[letter] for letter in "ABCDEG"])
    return Outcome.of(
        gap, holds=gap > 0, note=listing("ABCDEFG", [shares[letter] for letter in "ABCDEFG"], "{:.1f} %")
    )


@estimate
def wait_after_fast_retransmit(evidence: Evidence, level: str) -> Outcome:
    """Return the wait from a fast retransmit to the next new segment after single losses, round trips."""
    waits = evidence.observation("recovery_wait")
    values = np.asarray(waits[level])
    return mean_of(
        values,
        note=f"{len(values)} scripted single losses, "
        f"windows from {waits['windows'][0]:.0f} to {waits['windows'][1]:.0f} segments",
    )


def _letter_keys(letter: str, on: bool, load: str, backgrounds: Sequence[str] = BACKGROUNDS) -> list[str]:
    """Return the keys of the seven-factor cells with a letter on or off."""
    return [
        f"seven/{letters or 'none'}|{background}|{load}"
        for background in backgrounds
        for letters in seven_cells()
        if (letter in letters) == on
    ]


@claim("VR-Q-105")
def window_kept_with_f_less_without(evidence: Evidence) -> Outcome:
    on, off = (
        evidence.pooled(_letter_keys("F", level, "high"), "cwnd_after_recovery") for level in (True, False)
    )
    return Outcome.of(on - off, holds=on > off, note=f"{on[0]:.2f} with F, {off[0]:.2f} without")


@claim("VR-Q-106")
def share_of_timeouts_after_several_losses(evidence: Evidence) -> Outcome:
    keys = [evidence.key("reno", "reno", load) for load in ("low", "high")]
    several = evidence.pooled(keys, "timeouts_multiple_loss")
    every = evidence.pooled(keys, "timeouts")
    share = several / every
    by_load = [evidence.mean(key, "timeouts_multiple_loss") / evidence.mean(key, "timeouts") for key in keys]
    return Outcome.of(share, holds=share > 0.5, note=listing(("low", "high"), by_load))


@claim("VR-Q-107")
def timeouts_after_several_losses_saved_by_d(evidence: Evidence) -> Outcome:
    on, off = (
        evidence.pooled(_letter_keys("D", level, "high"), "timeouts_multiple_loss") for level in (True, False)
    )
    return Outcome.of(off - on, holds=off > on, note=f"{off[0]:.2f} without D, {on[0]:.2f} with it")


@claim("VR-Q-109")
def loss_of_reno_due_to_f(evidence: Evidence) -> Outcome:
    without = evidence.mean("pair/cell000|vegas-nof|high", "throughput")
    full = evidence.thr("reno", "vegas", "high", "pair")
    reno = evidence.thr("reno", "reno", "high", "pair")
    return Outcome.of(
        without - full,
        holds=without > full,
        note=f"paired runs; Reno gets {reno[0]:.2f} KB/s against Reno, "
        f"{full[0]:.2f} against Vegas, {without[0]:.2f} against Vegas without F",
    )


# Section VIII-D.3: congestion avoidance


@claim("VR-Q-110")
def least_gap_below_which_ca_explains(evidence: Evidence) -> Outcome:
    margins = []
    for background in BACKGROUNDS:
        shares = evidence.phases("thr", "low", background).percent
        margins.append(np.minimum(shares["ss"], shares["rec"]) - shares["ca"])
    return above(margins)


@claim("VR-Q-111")
def share_of_gain_kept_without_ca(evidence: Evidence) -> Outcome:
    kept = []
    for background in BACKGROUNDS:
        reno, full, without = (
            evidence.thr(name, background, "low") for name in ("reno", "vegasfix", "vegas-noca")
        )
        kept.append((without - reno) / (full - reno))
    return Outcome.of(kept[0], holds=minimum(kept) > 0.7, note=listing(BACKGROUNDS, kept))


@claim("VR-Q-112")
def gain_without_ca_at_high_load(evidence: Evidence) -> Outcome:
    gap = evidence.thr("vegas-noca", "reno", "high") - evidence.thr("vegasfix", "reno", "high")
    return Outcome.of(gap, holds=gap >= 0)


@claim("VR-Q-113")
def ratio_without_ca_against_vegas(evidence: Evidence) -> Outcome:
    return Outcome.of(
        evidence.thr("vegas-noca", "vegasfix", "high") / evidence.thr("vegasfix", "vegasfix", "high")
    )


@claim("VR-Q-114")
def least_lead_of_only_ca_at_low_load(evidence: Evidence) -> Outcome:
    gaps = only_ca(evidence, "low")
    return above(gaps, listing(BACKGROUNDS, gaps))


@claim("VR-Q-115")
def least_deficit_of_only_ca_at_high_load(evidence: Evidence) -> Outcome:
    gaps = [-gap for gap in only_ca(evidence, "high")]
    return above(gaps, listing(BACKGROUNDS, gaps))
