"""CODE TCP [chan2010]: scenarios, the paper's numbers, claims, figures and report.

Run with ``dumbbell reproduce code-tcp``.
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
from . import linux, literal, plan, reduction, sensitivity
from . import rule_claims as _rule_claims  # registers its claims
from . import sweep_claims as _sweep_claims  # registers its claims
from . import table_claims as _table_claims  # registers its claims
from . import testbed_claims as _testbed_claims  # registers its claims
from . import window_claims as _window_claims  # registers its claims
from .assumptions import BASE
from .content import Content
from .evidence import Evidence
from .register import REGISTER

__all__ = ["PAPER", "CodeTcp"]

PAPER_REPETITIONS = 20


class CodeTcp(ClaimedPaper[Evidence]):
    """The paper."""

    name = "code-tcp"
    title = "CODE TCP: A competitive delay-based TCP"
    question = (
        "Can a changed window rule (CODE, NewVegas) make Vegas share a bottleneck fairly with Reno without "
        "losing its short queues?"
    )
    citation = (
        "Y.-C. Chan, C.-L. Lin, C.-T. Chan, C.-Y. Ho: CODE TCP: A competitive delay-based TCP, Computer Communications 33, 2010. "
        "Reproduced on Dumbbell's engine."
    )
    order = 2
    columns = reduction.COLUMNS
    plan = staticmethod(plan.plan)
    reduce = staticmethod(reduction.reduce)
    register = REGISTER
    deciding: Mapping[str, str] = {
        "fig-9": "Fig. 9",
        **dict.fromkeys(("fig-10", "fig-11", "fig-12", "fig-13"), "Figs. 10-13"),
        "fig-14": "Fig. 14",
        "fig-15": "Fig. 15",
        "table-2": "Table 2",
    }
    real_time = RealTime(
        plan=linux.plan,
        stages=linux.stages,
        record=Path(__file__).with_name("testbed.json"),
        sections=lambda _settings, evaluation: Content(evaluation).testbed(),
        claims=_testbed_claims.ON_LINUX,
        beside=linux.beside,
    )

    def evidence(self, _settings: Settings, results: Results, observed: Mapping[str, Any]) -> Evidence:
        """Return the evidence for the claims."""
        return Evidence(results, linux=observed.get(MEASURED))

    def readings(self, _settings: Settings, evidence: Evidence) -> Sequence[Reading]:
        """Return the main reading and the literal one."""
        return literal.readings(self.claims(), evidence)

    def study(
        self,
        settings: Settings,
        claims: Sequence[Claim[Evidence]],
        evidence: Evidence,
        findings: Sequence[Finding],
    ) -> Sensitivity[Any]:
        """Return the effect of varying each assumption."""
        return sensitivity.study(claims, evidence, findings, plan.counts(settings), seed=settings.seed)

    def sections(self, settings: Settings, evaluation: Evaluation[Evidence]) -> Sequence[Section]:
        """Return the sections of the report."""
        moved = sensitivity.in_figure_9(evaluation.moves, evaluation.evidence, plan.counts(settings))
        return Content(evaluation, moved).sections()

    def facts(self, settings: Settings) -> Sequence[tuple[str, str]]:
        """Return the facts for the head of the report."""
        count = plan.counts(settings)
        return [
            ("repetitions", f"{count.sweeps} (sweeps), {count.moved} with a varied assumption"),
            (
                "main reading",
                f"cut to three quarters, thresholds not below 1 and 3, {100 * BASE.cross:g} % cross traffic in sweeps",
            ),
        ]

    def notice(self, settings: Settings) -> str:
        """Return a remark on the number of repetitions, if it is not the paper's."""
        count = plan.counts(settings)
        if settings.quick:
            return (
                f"Quick mode: {count.sweeps} repetitions instead of the paper's {PAPER_REPETITIONS}, and fewer round-trip times. "
                "Intervals are wide, and claims close to their limit change sides by chance."
            )
        if count.sweeps != PAPER_REPETITIONS:
            return f"{count.sweeps} repetitions instead of the paper's {PAPER_REPETITIONS}."
        return ""


PAPER = CodeTcp()
