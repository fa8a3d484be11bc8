"""TCP Vegas Revisited [hengartner2000]: scenarios, the paper's numbers, claims, figures and report.

Run with ``dumbbell reproduce vegas-revisited``; with ``--experiment full-factorial``, all combinations of the ten mechanisms.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dumbbell.claims import Aims, Claim, Finding
from dumbbell.judge.reads import Results, by_key
from dumbbell.papers import ClaimedPaper, Evaluation, PlannedRun, Reading, Settings, Steps
from dumbbell.report import Section
from dumbbell.sensitivity import Sensitivity

from . import assumptions, ceiling, content, literal, observations, plan, reduction, sensitivity, table_claims
from . import discussion_claims as _discussion_claims  # registers its claims
from . import fairness_claims as _fairness_claims  # registers its claims
from . import text_claims as _text_claims  # registers its claims
from .evidence import Evidence
from .full_factorial import FullFactorial
from .register import REGISTER
from .seen import Seen

__all__ = ["PAPER", "VegasRevisited"]


def _by_load(counts: Mapping[str, int]) -> str:
    """Return replications by load in words."""
    return ", ".join(f"{count} {load}" for load, count in counts.items())


class VegasRevisited(ClaimedPaper[Evidence]):
    """The paper."""

    name = "vegas-revisited"
    title = "TCP Vegas Revisited"
    question = (
        "Which of Vegas' mechanisms make it faster than Reno: congestion avoidance, slow start or recovery?"
    )
    citation = "U. Hengartner, J. Bolliger, T. Gross: TCP Vegas Revisited, INFOCOM 2000. Reproduced on Dumbbell's engine."
    order = 1
    aims = Aims(orderings=90, values=70)
    columns = reduction.COLUMNS
    reduce = staticmethod(reduction.reduce)
    register = REGISTER
    study = staticmethod(sensitivity.study)
    deciding: Mapping[str, str] = dict.fromkeys(
        (f"table-{number}" for number in range(1, 13)), plan.STAGES["table"]
    )

    experiments: Mapping[str, FullFactorial] = {"full-factorial": FullFactorial()}

    def claims(self) -> list[Claim[Evidence]]:
        """Return every claim of the paper."""
        return REGISTER.claims(table_claims.claims())

    def plan(self, settings: Settings) -> Sequence[PlannedRun]:
        """Return the planned runs."""
        return [*plan.plan(settings), *observations.plan(settings)]

    def observe(self, _settings: Settings, _steps: Steps) -> Mapping[str, Any]:
        """Return observations from the engine without runs."""
        return observations.observe()

    def evidence(self, settings: Settings, results: Results, observed: Mapping[str, Any]) -> Evidence:
        """Return the evidence the claims are judged on."""
        full = plan.replications(settings).table == 50
        runs = by_key(results)
        return Evidence(runs, Seen(runs, observed), seed=settings.seed, full=full)

    def ceilings(self, findings: Sequence[Finding]) -> Mapping[str, float]:
        """Return the shares of claims that sampling in the paper itself allows, percent."""
        return ceiling.ceilings(self.claims(), findings)

    def readings(self, settings: Settings, evidence: Evidence) -> Sequence[Reading]:
        """Return the main reading and the literal one, if it was run."""
        runs = plan.replications(settings).literal
        return literal.readings(self.claims(), evidence, runs) if runs else ()

    def sections(self, settings: Settings, evaluation: Evaluation[Evidence]) -> Sequence[Section]:
        """Return the sections of the report."""
        return content.Content(settings, evaluation).sections()

    def facts(self, settings: Settings) -> Sequence[tuple[str, str]]:
        """Return the facts for the head of the report."""
        base = assumptions.calibrated()
        counts = plan.replications(settings)
        return [
            (
                "replications",
                f"{counts.table} (tables), {_by_load(counts.pair)} (pairs), {counts.seven} (2^7), "
                f"{counts.ten} (2^10), each with every seed",
            ),
            (
                "calibrated",
                f"cap {base.conversation_cap}, multiplier {base.size_multiplier:g}, warm-up {base.warm_up_s:g} s",
            ),
        ]

    def notice(self, settings: Settings) -> str:
        """Return a remark on the number of replications, if it is not the paper's."""
        counts = plan.replications(settings)
        if settings.quick:
            return (
                f"Quick mode: {counts.table} replications for the tables instead of the paper's 50, and "
                f"{counts.seven} for the seven-factor design. Intervals are wide, claims close to their limit change sides "
                "by chance, and no assumption is varied."
            )
        if counts.table != 50:
            return f"{counts.table} replications for the tables instead of the paper's 50."
        return ""


PAPER = VegasRevisited()
