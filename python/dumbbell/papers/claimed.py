"""Common base of papers: registered claims, evaluated once and again with varied assumptions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Generic, TypeVar

import pandas as pd

from dumbbell.claims import Claim, Finding, Register, judge
from dumbbell.papers.paper import PlannedRun, Settings, Steps
from dumbbell.papers.readings import Reading
from dumbbell.papers.real_time import RealTime
from dumbbell.report import Section
from dumbbell.run import Runs
from dumbbell.sensitivity import Sensitivity

E = TypeVar("E")


class ClaimedPaper(ABC, Generic[E]):
    """A paper with a register of claims; it implements the protocol `dumbbell.papers.Paper`.

    A subclass defines `name`, `title`, `citation`, `order` and `columns`, the runs and their reduction, the
    evidence for the claims, the variations of assumptions, and the sections of the report. It may define `readings`.

    Attributes
    ----------
    deciding
        The stage of the plan that a claim rests on, by the claim's scenario, see `dumbbell.papers.further`.
    real_time
        What the paper runs on the testbed; ``None`` if it has nothing of the kind.
    judged_readings
        The readings of the last evaluation; empty without.
    """

    name: str
    title: str
    citation: str
    order: int
    columns: tuple[str, ...]
    register: Register[E]
    deciding: Mapping[str, str] = {}
    real_time: RealTime | None = None

    def __init__(self) -> None:
        self._moves: Sensitivity[Any] = Sensitivity()
        self.judged_readings: Sequence[Reading] = ()

    def claims(self) -> list[Claim[E]]:
        """Return every claim of the paper."""
        return self.register.claims()

    @abstractmethod
    def plan(self, settings: Settings) -> Sequence[PlannedRun]:
        """Return the planned runs."""

    @staticmethod
    @abstractmethod
    def reduce(runs: Runs) -> pd.DataFrame:
        """Return `columns` for some finished runs, a row for each."""

    @abstractmethod
    def evidence(self, settings: Settings, results: pd.DataFrame, observed: Mapping[str, Any]) -> E:
        """Return the evidence for the claims."""

    @abstractmethod
    def study(
        self, settings: Settings, claims: Sequence[Claim[E]], evidence: E, findings: Sequence[Finding]
    ) -> Sensitivity[Any]:
        """Return the effect of varying each assumption."""

    @abstractmethod
    def content(
        self, settings: Settings, evidence: E, findings: Sequence[Finding], moves: Any
    ) -> Sequence[Section]:
        """Return the sections of the report."""

    def readings(self, _settings: Settings, _evidence: E) -> Sequence[Reading]:
        """Return the claims judged under each reading of the paper, that of the scoreboard first; none by default."""
        return ()

    def observe(self, _settings: Settings, _steps: Steps) -> Mapping[str, Any]:
        """Return nothing: all evidence is in the runs."""
        return {}

    def evaluate(
        self, settings: Settings, results: pd.DataFrame, observed: Mapping[str, Any]
    ) -> list[Finding]:
        """Return the findings on every claim; misses name the varied assumptions that explain them."""
        evidence, claims = self.evidence(settings, results, observed), self.claims()
        findings = judge(claims, evidence)
        self._moves = self.study(settings, claims, evidence, findings)
        self.judged_readings = self.readings(settings, evidence)
        # Quick mode has too few runs to tell an explanation from chance.
        return findings if settings.quick else self._moves.explain(findings)

    def findings(
        self, settings: Settings, results: pd.DataFrame, observed: Mapping[str, Any]
    ) -> list[Finding]:
        """Return the findings on every claim from the runs of one seed, without explanations."""
        return judge(self.claims(), self.evidence(settings, results, observed))

    def explanations(self) -> Mapping[str, Any] | None:
        """Return how many misses varied assumptions and placebos explain; ``None`` if none was to be explained."""
        return self._moves.explanations() if self._moves.is_explained else None

    def sections(
        self,
        settings: Settings,
        results: pd.DataFrame,
        observed: Mapping[str, Any],
        findings: Sequence[Finding],
    ) -> Sequence[Section]:
        """Return the sections of the report on the last evaluation."""
        return self.content(settings, self.evidence(settings, results, observed), findings, self._moves)

    def facts(self, _settings: Settings) -> Sequence[tuple[str, str]]:
        """Return no further facts for the head of the report."""
        return []

    def notice(self, _settings: Settings) -> str:
        """Return no remark."""
        return ""
