"""The effects of the full design, with simultaneous intervals, and the variation they explain.

A column of the report has 1,023 effects. At the paper's confidence of 90 % about a hundred of them would be significant by
chance, so each column is corrected for their number: simultaneous intervals by Bonferroni's method, p values by Holm's, and q
values by that of Benjamini and Hochberg, which bound the share of false positives.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dumbbell import factorial
from dumbbell.statistics import adjust_p_values

from ..scenarios import PHASE_LETTERS
from .design import CLUSTERED, Condition, Response, responses

CONFIDENCE = 0.90
"""That of the paper's tables; here it is the confidence that *all* intervals of a column hold."""

KINDS = (
    "main effects",
    "pairs inside a cluster",
    "pairs of different clusters",
    "pairs with H, I or J",
    "three mechanisms",
    "four and more",
)


def phase_of(letter: str) -> str:
    """Return the phase that switches a mechanism in the three-factor design, or an empty text for H, I and J."""
    return next((phase for phase, letters in PHASE_LETTERS.items() if letter in letters), "")


def kind(term: str) -> str:
    """Return which of `KINDS` a term is of."""
    letters = term.split(":")
    if len(letters) == 1:
        return KINDS[0]
    if len(letters) > 2:
        return KINDS[4] if len(letters) == 3 else KINDS[5]
    if not set(letters) <= set(CLUSTERED):
        return KINDS[3]
    return KINDS[1] if len({phase_of(letter) for letter in letters}) == 1 else KINDS[2]


@dataclass(frozen=True, kw_only=True)
class Share:
    """The variation explained by a kind of effects.

    Parameters
    ----------
    kind
        One of `KINDS`.
    count, standing_out
        Number of effects of this kind, and of significant ones among them.
    percent
        Share of the variation they explain, %.
    by_chance
        Share they would explain if none of them were real, %; NaN without an estimate of the error.
    """

    kind: str
    count: int
    standing_out: int
    percent: float
    by_chance: float


@dataclass(frozen=True, kw_only=True, eq=False)
class Study:
    """The analysis of one response under one condition.

    Parameters
    ----------
    condition, response
        Of what.
    analysis
        The analysis of the design; each effect has its own error, from its values in single replications.
    """

    condition: Condition
    response: Response
    analysis: factorial.Analysis

    @property
    def mechanisms(self) -> str:
        """The mechanisms of the design."""
        return "".join(self.analysis.factors)

    @cached_property
    def ranking(self) -> pd.DataFrame:
        """All effects, ranked by the variation they explain; see `dumbbell.factorial.Analysis.ranking`."""
        return self.analysis.ranking()

    @cached_property
    def by_term(self) -> pd.DataFrame:
        """The ranking, by term."""
        return self.ranking.reset_index().set_index("term")

    @cached_property
    def standing_out(self) -> frozenset[str]:
        """The terms whose interval excludes 0; none without an estimate of the error."""
        return frozenset(self.ranking.loc[self.ranking["significant"].fillna(False).to_numpy(bool), "term"])

    @property
    def joint_half_widths(self) -> pd.Series[float]:
        """Half-widths of the intervals that hold together, by term."""
        return self.analysis.standard_errors.iloc[1:] * self.analysis.simultaneous_quantile

    def largest(self, count: int, *, order: int | None = None) -> list[str]:
        """Return the terms that explain most, of all orders or of one."""
        rows = self.ranking if order is None else self.ranking[self.ranking["order"] == order]
        return [str(term) for term in rows["term"].head(count)]

    def shares(self) -> list[Share]:
        """Return the variation explained by each kind of effects."""
        kinds = self.ranking["term"].map(kind)
        analysis = self.analysis
        alone = 100 * analysis.s_e**2 / analysis.sst if analysis.sst > 0 else np.nan
        return [
            Share(
                kind=name,
                count=int((kinds == name).sum()),
                standing_out=int(self.ranking.loc[kinds == name, "term"].isin(self.standing_out).sum()),
                percent=float(self.ranking.loc[kinds == name, "percent"].sum()),
                by_chance=float(alone * (kinds == name).sum()),
            )
            for name in KINDS
        ]


def studies(
    results: pd.DataFrame, mechanisms: str, conditions: Sequence[Condition], measured: Sequence[Response]
) -> list[Study]:
    """Return the analysis of every response under every condition."""
    return [
        Study(
            condition=condition,
            response=response,
            analysis=factorial.analyse(
                responses(results, condition, response, mechanisms),
                tuple(mechanisms),
                confidence=CONFIDENCE,
                random="common",
            ),
        )
        for response in measured
        for condition in conditions
    ]


def surviving(found: Sequence[Study]) -> NDArray[np.bool_]:
    """Return which effects are significant by Holm's method when those of all columns are tested together.

    Returns
    -------
    ndarray
        One row for each study, one column for each of its terms in their order.
    """
    p_values = np.array([study.analysis.p_values.to_numpy() for study in found])
    adjusted: NDArray[np.float64] = adjust_p_values(p_values.ravel(), "holm").reshape(p_values.shape)
    return adjusted <= 1 - CONFIDENCE


def table(found: Sequence[Study]) -> pd.DataFrame:
    """Return all effects of all studies, one row for each, for a file in the folder of the report."""
    frames = []
    for study in found:
        frame = study.ranking.reset_index()
        frame["term"] = frame["term"].str.replace(":", "")
        frame.insert(0, "response", study.response.column)
        frame.insert(0, "background", study.condition.background)
        frame.insert(0, "load", study.condition.load)
        frames.append(frame)
    return pd.concat(frames, ignore_index=True)
