"""CODE TCP [chan2010]: scenarios, the paper's numbers, claims, figures and report.

Run with ``dumbbell reproduce code-tcp``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from dumbbell.claims import Claim, Finding, judge
from dumbbell.papers import PlannedRun, Settings, Steps
from dumbbell.report import Section

from . import algorithm_claims as _algorithm_claims  # registers its claims
from . import content, plan, reduction, sensitivity
from . import rule_claims as _rule_claims  # registers its claims
from . import sweep_claims as _sweep_claims  # registers its claims
from . import testbed_claims as _testbed_claims  # registers its claims
from . import window_claims as _window_claims  # registers its claims
from .assumptions import BASE
from .evidence import Evidence
from .register import REGISTER

__all__ = ["PAPER", "CodeTcp"]

PAPER_REPETITIONS = 20


class CodeTcp:
    """The paper, as `dumbbell.papers` takes it."""

    name = "code-tcp"
    title = "CODE TCP: A competitive delay-based TCP"
    citation = (
        "Y.-C. Chan, C.-L. Lin, C.-T. Chan, C.-Y. Ho: CODE TCP: A competitive delay-based TCP, Computer Communications 33, 2010. "
        "Reproduced on Dumbbell's engine."
    )
    order = 2
    columns = reduction.COLUMNS
    reduce = staticmethod(reduction.reduce)

    def __init__(self) -> None:
        self._moves = sensitivity.Study()

    @staticmethod
    def claims() -> list[Claim[Evidence]]:
        """Return every claim of the paper."""
        return REGISTER.claims()

    def plan(self, settings: Settings) -> Sequence[PlannedRun]:
        """Return the runs to make."""
        return plan.plan(settings)

    def observe(self, _settings: Settings, _steps: Steps) -> Mapping[str, Any]:
        """Return nothing: the rule and the model are evaluated where they are judged."""
        return {}

    def evaluate(self, settings: Settings, results: pd.DataFrame, _observed: Any) -> list[Finding]:
        """Return the findings on every claim; misses say which moved assumptions turn them."""
        evidence, claims = Evidence(results), self.claims()
        findings = judge(claims, evidence)
        self._moves = sensitivity.study(claims, evidence, plan.counts(settings))
        return self._moves.explain(findings)

    def sections(
        self, _settings: Settings, results: pd.DataFrame, _observed: Any, findings: Sequence[Finding]
    ) -> Sequence[Section]:
        """Return the sections of the report."""
        return content.sections(Evidence(results), findings, self._moves)

    def facts(self, settings: Settings) -> Sequence[tuple[str, str]]:
        """Return what the head of the report states."""
        count = plan.counts(settings)
        return [
            ("repetitions", f"{count.sweeps} (sweeps), {count.moved} with an assumption moved"),
            ("main reading", f"cut to three quarters, {100 * BASE.cross:g} % cross traffic in sweeps"),
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
