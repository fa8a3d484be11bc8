"""Analysis of TCP Vegas and TCP Reno [aithellal2000]: the model against the engine, claims, figures and report.

Run with ``dumbbell reproduce altman``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from dumbbell.claims import Claim, Finding, judge
from dumbbell.papers import PlannedRun, Settings, Steps
from dumbbell.report import Section
from dumbbell.sensitivity import Sensitivity

from . import content, plan, reduction, sensitivity
from . import grid_claims as _grid_claims  # registers its claims
from . import slot_claims as _slot_claims  # registers its claims
from . import threshold_claims as _threshold_claims  # registers its claims
from . import video_claims as _video_claims  # registers its claims
from .evidence import Evidence
from .register import REGISTER

__all__ = ["PAPER", "Altman"]


class Altman:
    """The paper, as `dumbbell.papers` takes it."""

    name = "altman"
    title = "Analysis of TCP Vegas and TCP Reno"
    citation = (
        "O. Ait-Hellal, E. Altman: Analysis of TCP Vegas and TCP Reno, Telecommunication Systems 15, 2000. "
        "Its model against Dumbbell's engine."
    )
    order = 5
    columns = reduction.COLUMNS
    reduce = staticmethod(reduction.reduce)

    def __init__(self) -> None:
        self._moves: Sensitivity[Any] = Sensitivity()

    @staticmethod
    def claims() -> list[Claim[Evidence]]:
        """Return every claim of the paper."""
        return REGISTER.claims()

    def plan(self, settings: Settings) -> Sequence[PlannedRun]:
        """Return the runs to make."""
        return plan.plan(settings)

    def observe(self, _settings: Settings, _steps: Steps) -> Mapping[str, Any]:
        """Return nothing: the model is evaluated where it is compared."""
        return {}

    def evaluate(self, settings: Settings, results: pd.DataFrame, _observed: Any) -> list[Finding]:
        """Return the findings on every claim; misses say which moved assumptions turn them."""
        evidence = Evidence(results, seed=settings.seed)
        claims = self.claims()
        findings = judge(claims, evidence)
        self._moves = sensitivity.study(claims, evidence, findings)
        return self._moves.explain(findings)

    def sections(
        self, settings: Settings, results: pd.DataFrame, _observed: Any, findings: Sequence[Finding]
    ) -> Sequence[Section]:
        """Return the sections of the report."""
        return content.sections(settings, Evidence(results, seed=settings.seed), findings, self._moves)

    def facts(self, settings: Settings) -> Sequence[tuple[str, str]]:
        """Return what the head of the report states."""
        counts = plan.replications(settings)
        return [
            (
                "runs of a case",
                f"{counts.grid} (tables), {counts.threshold} (buffers), {counts.video} (video)",
            ),
        ]

    def notice(self, settings: Settings) -> str:
        """Return a remark on the number of runs in quick mode."""
        if not settings.quick:
            return ""
        counts = plan.replications(settings)
        return (
            f"Quick mode: {counts.grid} runs of each row and {counts.threshold} of each buffer. Intervals are wide, claims "
            "close to their limit change sides by chance, and the sweeps of the buffer are not made with moved assumptions."
        )


PAPER = Altman()
