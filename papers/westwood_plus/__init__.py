"""Westwood+, New Reno and Vegas [grieco2004]: scenarios, the paper's numbers, claims, figures and report.

Run with ``dumbbell reproduce westwood-plus``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dumbbell.claims import Claim, Finding
from dumbbell.judge.reads import Results
from dumbbell.papers import ClaimedPaper, Evaluation, PlannedRun, Reading, RealTime, Settings
from dumbbell.papers.real_time import MEASURED
from dumbbell.report import Section
from dumbbell.sensitivity import Sensitivity

from . import algorithm_claims as _algorithm_claims  # registers its claims
from . import connection_claims as _connection_claims  # registers its claims
from . import hops_claims as _hops_claims  # registers its claims
from . import linux, literal, plan, reduction, sensitivity
from . import live_claims as _live_claims  # registers its claims
from . import lossy_claims as _lossy_claims  # registers its claims
from . import many_flows_claims as _many_flows_claims  # registers its claims
from . import table_claims as _table_claims  # registers its claims
from .content import Content
from .evidence import Evidence
from .register import REGISTER

__all__ = ["PAPER", "WestwoodPlus"]


class WestwoodPlus(ClaimedPaper[Evidence]):
    """The paper."""

    name = "westwood-plus"
    title = "Westwood+, New Reno and Vegas"
    question = (
        "Does setting the window from estimated bandwidth (Westwood+) pay off on lossy "
        "links, without taking from New Reno?"
    )
    citation = (
        "L. A. Grieco, S. Mascolo: Performance evaluation and comparison of Westwood+, New Reno, and Vegas TCP congestion "
        "control, ACM Computer Communication Review 34(2), 2004. Reproduced on Dumbbell's engine."
    )
    order = 3
    columns = reduction.COLUMNS
    plan = staticmethod(plan.plan)
    reduce = staticmethod(reduction.reduce)
    register = REGISTER
    deciding: Mapping[str, str] = {
        "table-1": "single connection",
        "fig-12": "many connections",
        "fig-18": "several hops",
        "fig-27": "wireless",
        "fig-30": "wireless, shared",
        "fig-32": "satellite",
    }
    real_time = RealTime(
        plan=linux.plan,
        stages=linux.stages,
        record=Path(__file__).with_name("testbed.json"),
        sections=lambda _settings, evaluation: Content(evaluation).live(),
        claims=_live_claims.ON_LINUX,
    )

    def evidence(self, _settings: Settings, results: Results, observed: Mapping[str, Any]) -> Evidence:
        """Return the evidence for the claims."""
        return Evidence(results, linux=observed.get(MEASURED))

    def readings(self, _settings: Settings, evidence: Evidence) -> Sequence[Reading]:
        """Return the claims on lossy links under the main reading and the literal one, if it was run."""
        return literal.readings(self.claims(), evidence.results)

    def study(
        self,
        settings: Settings,
        claims: Sequence[Claim[Evidence]],
        evidence: Evidence,
        findings: Sequence[Finding],
    ) -> Sensitivity[Any]:
        """Return the effect of varying each assumption."""
        return sensitivity.study(claims, evidence.results, findings, seed=settings.seed)

    def sections(self, settings: Settings, evaluation: Evaluation[Evidence]) -> Sequence[Section]:
        """Return the sections of the report."""
        runs = plan.size(settings).readings
        page = Content(evaluation, runs_of_readings=runs)
        return page.sections()

    def facts(self, settings: Settings) -> Sequence[tuple[str, str]]:
        """Return the facts for the head of the report."""
        chosen = plan.size(settings)
        return [
            (
                "replications",
                f"{chosen.connection} (Table I), {chosen.many_flows} (figs. 12-16), "
                f"{chosen.few_hops} (figs. 18-25 up to {plan.FEW_HOPS} hops), {chosen.hops} (beyond), "
                f"{chosen.wireless} (fig. 27), {chosen.shared} (fig. 30), {chosen.satellite} (fig. 32), "
                f"{chosen.readings} (other readings of Table I)",
            ),
            ("simulated time", "1000 s a run, as in the paper"),
        ]

    def notice(self, settings: Settings) -> str:
        """Return a remark on what quick mode leaves out."""
        if settings.quick:
            return (
                "Quick mode: fewer replications and fewer points of each sweep, and other readings of Table I only. Intervals "
                "are wide, and claims close to their limit change sides by chance."
            )
        return ""


PAPER = WestwoodPlus()
