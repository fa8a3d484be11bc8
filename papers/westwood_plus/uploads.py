"""Quantities of the uploads of the kernel, and of the simulator on the same scenarios.

[grieco2004 §4]
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dumbbell.judge.estimate import NotMeasured
from dumbbell.statistics import Interval, paired_ratio

from .evidence import Evidence
from .linux import CAUSES, LEVELS, VARIANTS, key
from .scenarios import SEGMENT_BITS

Values = NDArray[np.float64]

PAIR = (VARIANTS[1], VARIANTS[0])
"""Westwood+, then New Reno."""


@dataclass(frozen=True, kw_only=True)
class Session:
    """Pairs of uploads over one path under one condition.

    Parameters
    ----------
    cause, level
        What loses packets, and how much.
    newreno, westwoodp
        Mean goodput, Mbit/s.
    gain
        Of Westwood+ over New Reno, %, with its 90 % interval.
    retransmissions
        Share of segments that were retransmitted, of New Reno and of Westwood+.
    pipe
        Mean goodput of Westwood+ times the least round-trip time, segments.
    pairs
        Number of pairs.
    """

    cause: str
    level: float
    newreno: float
    westwoodp: float
    gain: Interval
    retransmissions: tuple[float, float]
    pipe: float
    pairs: int


def levels(evidence: Evidence, site: str, cause: str) -> list[float]:
    """Return the levels of a cause that were run over a path.

    Raises
    ------
    NotMeasured
        There are none.
    """
    counts = evidence.counts()
    found = [
        level
        for level in LEVELS[cause]
        if all(key(site, cause, level, variant) in counts for variant in VARIANTS)
    ]
    if not found:
        raise NotMeasured(f"There are no uploads to {site} with {CAUSES[cause]}.")
    return found


def _paired(evidence: Evidence, site: str, cause: str, level: float, column: str) -> tuple[Values, Values]:
    """Return a column of the uploads of Westwood+ and New Reno that met the same losses, in the same order."""
    found = []
    for variant in PAIR:
        rows = evidence.runs(key(site, cause, level, variant))
        values = [float(np.asarray(value, dtype=np.float64)[0]) for value in rows[column]]
        found.append(dict(zip(rows["run"], values, strict=True)))
    both = sorted(found[0].keys() & found[1].keys())
    return np.array([found[0][run] for run in both]), np.array([found[1][run] for run in both])


def _of(evidence: Evidence, site: str, cause: str, variant: str, column: str) -> Values:
    place = PAIR.index(variant)
    return np.concatenate(
        [_paired(evidence, site, cause, level, column)[place] for level in levels(evidence, site, cause)]
    )


def goodputs(evidence: Evidence, site: str, cause: str, variant: str) -> Values:
    """Return the goodput of each upload over a path with a cause of losses, Mbit/s, pair by pair."""
    return _of(evidence, site, cause, variant, "goodput")


def retransmitted(evidence: Evidence, site: str, cause: str, variant: str) -> Values:
    """Return the share of segments that each upload retransmitted, pair by pair."""
    return _of(evidence, site, cause, variant, "retransmitted") / _of(evidence, site, cause, variant, "sent")


def least_rtt_s(evidence: Evidence, site: str) -> float:
    """Return the least round-trip time of all uploads over a path, s."""
    return min(
        float(_of(evidence, site, cause, variant, "rtt_min").min()) for cause in CAUSES for variant in PAIR
    )


def sessions(evidence: Evidence, site: str) -> list[Session]:
    """Return the sessions over a path."""
    found = []
    least_s = least_rtt_s(evidence, site)
    for cause in CAUSES:
        for level in levels(evidence, site, cause):
            westwoodp, newreno = _paired(evidence, site, cause, level, "goodput")
            again, sent = (_paired(evidence, site, cause, level, name) for name in ("retransmitted", "sent"))
            ratio = paired_ratio(westwoodp, newreno)
            gain = Interval(
                estimate=100 * (ratio.estimate - 1),
                low=100 * (ratio.low - 1),
                high=100 * (ratio.high - 1),
                confidence=ratio.confidence,
                n=ratio.n,
            )
            found.append(
                Session(
                    cause=cause,
                    level=level,
                    newreno=float(newreno.mean()),
                    westwoodp=float(westwoodp.mean()),
                    gain=gain,
                    retransmissions=(
                        float(again[1].sum() / sent[1].sum()),
                        float(again[0].sum() / sent[0].sum()),
                    ),
                    pipe=float(westwoodp.mean()) * 1e6 * least_s / SEGMENT_BITS,
                    pairs=westwoodp.size,
                )
            )
    return found
