"""How the claims of the text are written down: a register, and outcomes that several claims share.

The measure of a claim is the function below its description. It returns the measured number, its interval, and, for an
inequality, on which resamples it holds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dumbbell.claims import Register
from dumbbell.judge.estimate import Outcome, above, listing

from .evidence import Evidence, FactorEffects
from .scenarios import BACKGROUNDS

Values = NDArray[np.float64]

# Foregrounds of both loads with the background they meet in Tables I and II.
CASES = tuple((load, background) for load in ("low", "high") for background in ("reno", "vegas"))

THROUGHPUT_COLUMNS = tuple(
    (load, background) for load in ("low", "high", "wan") for background in BACKGROUNDS
)

INTERACTIONS = ("ss_ca", "ss_rec", "ca_rec", "ss_ca_rec")

REGISTER: Register[Evidence] = Register(Path(__file__).with_name("claims.toml"))

claim, estimate = REGISTER.claim, REGISTER.estimate


def minimum(parts: Sequence[Values]) -> Values:
    """Return the smallest of some values, run by run."""
    minima: Values = np.min(parts, axis=0)
    return minima


def maximum(parts: Sequence[Values]) -> Values:
    """Return the largest of some values, run by run."""
    maxima: Values = np.max(parts, axis=0)
    return maxima


def case_names(cases: Sequence[tuple[str, str]]) -> list[str]:
    """Return the names of pairs of load and background."""
    return [f"{load}/{background}" for load, background in cases]


@estimate
def sign_of(evidence: Evidence, metric: str, load: str, background: str, term: str, expected: int) -> Outcome:
    """Return whether an effect of the three-factor design has the expected sign, with its 90 % interval as a note."""
    effects = evidence.phases(metric, load, background)
    low, high = effects.interval(term)
    found = np.sign(effects.terms[term])
    return Outcome.of(
        float(found[0]),
        holds=found == expected,
        interval=(math.nan, math.nan),
        note=f"effect {effects.terms[term][0]:.2f}, 90 % interval {low:.2f} to {high:.2f}",
    )


@estimate
def share_of(evidence: Evidence, metric: str, load: str, background: str, term: str) -> Outcome:
    """Return a share of variation, %: of a term of the three-factor design, or of the error."""
    effects = evidence.phases(metric, load, background)
    interval = None if term == "error" else effects.percent_interval(term)
    return Outcome.of(
        effects.percent[term], interval=interval, note=evidence.spread_note(metric, load, background)
    )


def throughput_columns(evidence: Evidence) -> list[FactorEffects]:
    """Return the effects on throughput in all six columns: LAN at both loads and WAN, both backgrounds."""
    return [evidence.phases("thr", load, background) for load, background in THROUGHPUT_COLUMNS]


@estimate
def against_vegas(evidence: Evidence, foreground: str, loads: Sequence[str]) -> Outcome:
    """Return by how much a foreground is slower against released Vegas than against Reno, KB/s."""
    margins = [
        evidence.thr(foreground, "reno", load, "pair") - evidence.thr(foreground, "vegas", load, "pair")
        for load in loads
    ]
    return above(margins, "paired runs; " + listing(loads, margins))


def only_ca(evidence: Evidence, load: str) -> list[Values]:
    """Return by how much Vegas with only ca is faster than Reno against both backgrounds, KB/s."""
    return [
        evidence.thr("vegas-onlyca", background, load) - evidence.thr("reno", background, load)
        for background in BACKGROUNDS
    ]
