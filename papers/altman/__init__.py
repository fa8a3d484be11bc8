"""Analysis of TCP Vegas and TCP Reno [aithellal2000]: the model against the engine, claims, figures and report.

Run with ``dumbbell reproduce altman``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dumbbell.claims import Claim, Finding
from dumbbell.judge.reads import Results
from dumbbell.papers import ClaimedPaper, Evaluation, PlannedRun, Settings
from dumbbell.report import Section
from dumbbell.sensitivity import Sensitivity

from . import grid_claims as _grid_claims  # registers its claims
from . import plan, reduction, sensitivity
from . import slot_claims as _slot_claims  # registers its claims
from . import threshold_claims as _threshold_claims  # registers its claims
from . import video_claims as _video_claims  # registers its claims
from .content import Content
from .evidence import Evidence
from .register import REGISTER

__all__ = ["PAPER", "Altman"]


class Altman(ClaimedPaper[Evidence]):
    """The paper."""

    name = "altman"
    title = "Analysis of TCP Vegas and TCP Reno"
    question = (
        "Does the mini-slot model of Vegas and Reno predict what packets do, and when does Vegas behave "
        "like Reno?"
    )
    citation = (
        "O. Ait-Hellal, E. Altman: Analysis of TCP Vegas and TCP Reno, Telecommunication Systems 15, 2000. "
        "Its model against Dumbbell's engine."
    )
    order = 5
    columns = reduction.COLUMNS
    plan = staticmethod(plan.plan)
    reduce = staticmethod(reduction.reduce)
    register = REGISTER
    study = staticmethod(sensitivity.study)

    def evidence(self, settings: Settings, results: Results, _observed: Mapping[str, Any]) -> Evidence:
        """Return the evidence for the claims."""
        return Evidence(results, seed=settings.seed, seeds=settings.seeds)

    def sections(self, settings: Settings, evaluation: Evaluation[Evidence]) -> Sequence[Section]:
        """Return the sections of the report."""
        return Content(settings, evaluation).sections()

    def facts(self, settings: Settings) -> Sequence[tuple[str, str]]:
        """Return the facts for the head of the report."""
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
            "close to their limit change by chance, and no assumption is varied."
        )


PAPER = Altman()
