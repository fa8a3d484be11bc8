"""What three clusters of mechanisms show and conceal, computed from the full design.

The paper's 2^3 design is 8 of the 1,024 cells: A and G are switched together, C, D, E and F are, and H, I and J are off. On
those cells a product of signs such as A G is always +1 and C D E is always that of rec, so each of the eight effects is a
sum of 128 effects of the full design:

q_T(2^3) = sum over m of (-1)^(number of H, I, J in m) q_m,   m with an odd number of members of every cluster of T
                                                              and an even number of members of the others

The sum is exact for the means of the same runs; `contributions` splits it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from dumbbell import factorial
from dumbbell.statistics import Interval, mean_interval

from ..printed import PHASES, TERMS, printed_column
from ..scenarios import PHASE_LETTERS
from .design import CLUSTERED, Condition, Response, clustered_cells, combinations, tabled
from .effects import CONFIDENCE, Study, phase_of

PARTS = (
    "one mechanism of each cluster named",
    "more mechanisms of the same clusters",
    "with an even number from another cluster",
    "with H, I or J, which are off",
)


def inside(phase: str, mechanisms: str) -> list[str]:
    """Return the interactions of the design whose mechanisms are all of one cluster."""
    members = set(PHASE_LETTERS[phase])
    return [
        ":".join(letters)
        for letters in combinations(mechanisms)
        if len(letters) > 1 and set(letters) <= members
    ]


@cache
def _aliases(mechanisms: str) -> list[tuple[str, str, int, int]]:
    """Return of every term, and of the mean: its name, its name and part in the 2^3 design, and its sign."""
    found = []
    for letters in combinations(mechanisms):
        outside = sum(letter not in CLUSTERED for letter in letters)
        counts = Counter(phase_of(letter) for letter in letters if letter in CLUSTERED)
        odd = [phase for phase in PHASES if counts[phase] % 2]
        if outside:
            part = 3
        elif set(counts) - set(odd):
            part = 2
        else:
            part = int(any(count > 1 for count in counts.values()))
        found.append((":".join(letters) or "mean", "_".join(odd) or "mean", part, (-1) ** outside))
    return found


def contributions(study: Study) -> dict[str, list[Interval]]:
    """Return the composition of each effect of the 2^3 design.

    Returns
    -------
    dict
        By term of the 2^3 design, with ``"mean"``: the sums of the effects that make each of `PARTS`, with 90 % intervals
        from their values in single replications; NaN limits with one replication.
    """
    single = study.analysis.effects_by_replication
    weights = {
        (term, part): pd.Series(0.0, index=single.index)
        for term in ("mean", *TERMS)
        for part in range(len(PARTS))
    }
    for name, term, part, sign in _aliases(study.mechanisms):
        weights[term, part][name] = sign
    return {
        term: [
            _of_replications(weights[term, part].to_numpy() @ single.to_numpy()) for part in range(len(PARTS))
        ]
        for term in ("mean", *TERMS)
    }


def _of_replications(values: NDArray[np.float64], confidence: float = CONFIDENCE) -> Interval:
    """Return the mean of values in single replications with its interval."""
    if len(values) > 1:
        return mean_interval(values, confidence=confidence)
    return Interval(
        estimate=float(values[0]), low=math.nan, high=math.nan, confidence=confidence, n=len(values)
    )


def clustered(study: Study) -> factorial.Analysis:
    """Return the 2^3 analysis of the eight cells in which whole clusters are switched."""
    return factorial.analyse(
        study.analysis.responses[clustered_cells(study.mechanisms)],
        PHASES,
        confidence=CONFIDENCE,
        random="common",
    )


def coherence(study: Study, phase: str) -> float:
    """Return the square of the sum of the members' effects over that sum if all were of their mean square and one sign.

    It is 1 if all members of a cluster have the same effect, the reciprocal of their number if only one has an effect, and
    0 if they cancel.
    """
    effects = study.analysis.effects[list(PHASE_LETTERS[phase])].to_numpy()
    squares = len(effects) * float((effects**2).sum())
    return float(effects.sum()) ** 2 / squares if squares else math.nan


def against_each_other(study: Study, phase: str) -> tuple[list[str], list[str]]:
    """Return the members of a cluster that raise, and those that lower the response; both only with significant effects."""
    effects = study.analysis.effects
    members = [letter for letter in PHASE_LETTERS[phase] if letter in study.standing_out]
    return [m for m in members if effects[m] > 0], [m for m in members if effects[m] < 0]


@dataclass(frozen=True, kw_only=True)
class Contrast:
    """The best of all combinations, compared with the cell of the clustered design with everything on.

    Parameters
    ----------
    letters
        The mechanisms that are on.
    mean
        Its mean response.
    difference
        Difference from the cell with A to G on, run by run. Its interval is simultaneous with those of all other cells.
    better, worse
        Number of combinations that are significantly above and below that cell.
    """

    letters: str
    mean: float
    difference: Interval
    better: int
    worse: int


def outstanding_cells(study: Study, *, highest: bool) -> Contrast:
    """Return the combination with the highest or the lowest mean response, compared with A to G.

    The extreme of 1,024 means is biased by the selection; its interval is corrected for it.
    """
    values = study.analysis.responses
    names = combinations(study.mechanisms)
    differences = values - values[names.index(CLUSTERED)]
    estimates = differences.mean(axis=1)
    chosen = int(np.argmax(estimates if highest else -estimates))
    count, runs = values.shape
    if runs > 1:
        quantile = float(stats.t.ppf(1 - (1 - CONFIDENCE) / (2 * (count - 1)), runs - 1))
        half = quantile * differences.std(axis=1, ddof=1) / math.sqrt(runs)
    else:
        half = np.full(count, np.nan)
    return Contrast(
        letters=names[chosen],
        mean=float(values[chosen].mean()),
        difference=Interval(
            estimate=float(estimates[chosen]),
            low=float(estimates[chosen] - half[chosen]),
            high=float(estimates[chosen] + half[chosen]),
            confidence=CONFIDENCE,
            n=runs,
        ),
        better=int((estimates - half > 0).sum()),
        worse=int((estimates + half < 0).sum()),
    )


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """An effect of the 2^3 design from the full design's cells, and from the runs of the paper's table.

    Parameters
    ----------
    condition, response, term
        Which effect; ``"mean"`` is one of the terms.
    design, tables
        The effect from either, with its own 90 % interval.
    difference
        The first minus the second, with its 90 % interval.
    joint_half_width
        Half-width of the difference's interval that holds for all comparisons at once.
    printed
        What the paper prints.
    """

    condition: Condition
    response: Response
    term: str
    design: Interval
    tables: Interval
    difference: Interval
    joint_half_width: float
    printed: float

    @property
    def overlap(self) -> bool:
        """Whether the two intervals have a value in common."""
        return self.design.low <= self.tables.high and self.tables.low <= self.design.high

    @property
    def agree(self) -> bool:
        """Whether the difference may be 0 at 90 %."""
        return self.difference.low <= 0 <= self.difference.high

    @property
    def agree_jointly(self) -> bool:
        """Whether the difference may be 0 when all comparisons are made at once."""
        return abs(self.difference.estimate) <= self.joint_half_width


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """How the full design's eight clustered cells agree with the paper's tables as they are reproduced.

    Parameters
    ----------
    comparisons
        One for each effect, response and condition.
    """

    comparisons: Sequence[Comparison]

    @property
    def count(self) -> int:
        """Number of comparisons."""
        return len(self.comparisons)

    @property
    def overlapping(self) -> int:
        """In how many the two intervals overlap."""
        return sum(comparison.overlap for comparison in self.comparisons)

    @property
    def agreeing(self) -> int:
        """In how many the 90 % interval of the difference holds 0; by chance one in ten does not."""
        return sum(comparison.agree for comparison in self.comparisons)

    @property
    def agreeing_jointly(self) -> int:
        """In how many the difference may be 0 when all are compared at once."""
        return sum(comparison.agree_jointly for comparison in self.comparisons)


def agreement(results: pd.DataFrame, found: Sequence[Study]) -> Agreement:
    """Return the comparison of the clustered cells with the runs of the paper's tables.

    The two are made with different random numbers, so that the variance of a difference is the sum of both, with the degrees
    of freedom after Welch and Satterthwaite.
    """
    total = len(found) * (1 + len(TERMS))
    comparisons = []
    for study in found:
        ours = clustered(study)
        tables = factorial.analyse(
            tabled(results, study.condition, study.response), PHASES, confidence=CONFIDENCE
        )
        printed = printed_column(study.response.metric, study.condition.load, study.condition.background)
        for term in ("mean", *TERMS):
            one, two = _estimate(ours, term), _estimate(tables, term)
            errors = (_error(ours, term), _error(tables, term))
            degrees = (ours.degrees_of_freedom, tables.degrees_of_freedom)
            error = math.hypot(*errors)
            difference = one.estimate - two.estimate
            half, joint = (
                _welch_quantile(errors, degrees, 1 - (1 - CONFIDENCE) / (2 * count)) * error
                for count in (1, total)
            )
            comparisons.append(
                Comparison(
                    condition=study.condition,
                    response=study.response,
                    term=term,
                    design=one,
                    tables=two,
                    difference=Interval(
                        estimate=difference,
                        low=difference - half,
                        high=difference + half,
                        confidence=CONFIDENCE,
                        n=min(one.n, two.n),
                    ),
                    joint_half_width=joint,
                    printed=printed.effect[term],
                )
            )
    return Agreement(comparisons=comparisons)


def _error(analysis: factorial.Analysis, term: str) -> float:
    return float(analysis.standard_errors[term.replace("_", ":")])


def _estimate(analysis: factorial.Analysis, term: str) -> Interval:
    """Return an effect, or the mean, with its two-sided interval."""
    value = analysis.mean if term == "mean" else float(analysis.effects[term.replace("_", ":")])
    half = analysis.quantiles.two_sided * _error(analysis, term)
    return Interval(
        estimate=value,
        low=value - half,
        high=value + half,
        confidence=analysis.confidence,
        n=analysis.replications,
    )


def _welch_quantile(errors: tuple[float, float], degrees: tuple[int, int], probability: float) -> float:
    """Return the quantile of t for the difference of two independent estimates."""
    squares = [error**2 for error in errors]
    if sum(squares) == 0:
        return 0.0
    joint = sum(squares) ** 2 / sum(square**2 / df for square, df in zip(squares, degrees, strict=True))
    return float(stats.t.ppf(probability, joint))
