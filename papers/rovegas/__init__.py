"""RoVegas [chan2004]: scenarios, the paper's numbers, claims, figures and report.

Run with ``dumbbell reproduce rovegas``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dumbbell.claims import Claim, Finding
from dumbbell.judge.reads import Results
from dumbbell.papers import ClaimedPaper, Evaluation, PlannedRun, RealTime, Settings
from dumbbell.papers.real_time import MEASURED
from dumbbell.report import Section
from dumbbell.sensitivity import Sensitivity

from . import asymmetry_claims as _asymmetry_claims  # registers its claims
from . import connection_claims as _connection_claims  # registers its claims
from . import linux, plan, reduction, sensitivity
from . import mechanism_claims as _mechanism_claims  # registers its claims
from . import sweep_claims as _sweep_claims  # registers its claims
from . import traffic_claims as _traffic_claims  # registers its claims
from .assumptions import Assumptions
from .content import Content
from .evidence import Evidence
from .register import REGISTER

__all__ = ["PAPER", "RoVegas"]


class RoVegas(ClaimedPaper[Evidence]):
    """The paper."""

    name = "rovegas"
    title = "RoVegas"
    question = (
        "If routers along the path tell queueing times, does Vegas keep its throughput despite a slow or "
        "busy way back?"
    )
    citation = (
        "Y.-C. Chan, C.-T. Chan, Y.-C. Chen: RoVegas: a router-based congestion avoidance mechanism for TCP Vegas, Computer "
        "Communications 27, 2004. Reproduced on Dumbbell's engine."
    )
    order = 4
    columns = reduction.COLUMNS
    plan = staticmethod(plan.plan)
    reduce = staticmethod(reduction.reduce)
    register = REGISTER
    study = staticmethod(sensitivity.study)
    real_time = RealTime(
        plan=linux.plan,
        stages=linux.stages,
        record=Path(__file__).with_name("testbed.json"),
        sections=lambda _settings, evaluation: [Content(evaluation).testbed()],
    )

    def evidence(self, settings: Settings, results: Results, observed: Mapping[str, Any]) -> Evidence:
        """Return the evidence for the claims."""
        return Evidence(results, Assumptions(), seed=settings.seed, linux=observed.get(MEASURED))

    def sections(self, _settings: Settings, evaluation: Evaluation[Evidence]) -> Sequence[Section]:
        """Return the sections of the report."""
        return Content(evaluation).sections()

    def facts(self, settings: Settings) -> Sequence[tuple[str, str]]:
        """Return the facts for the head of the report."""
        counts = plan.replications(settings)
        return [
            ("replications", f"{counts.paper}; {counts.moved} with a varied assumption"),
            ("bursts of the variable-rate sources", f"{Assumptions().burst} on average"),
        ]

    def notice(self, settings: Settings) -> str:
        """Return a remark on the number of replications."""
        if settings.quick:
            counts = plan.replications(settings)
            return (
                f"Quick mode: {counts.paper} replications and {len(counts.loads)} loads. Intervals are wide, and claims close to "
                "their limit change sides by chance."
            )
        return ""


PAPER = RoVegas()
