"""Common base of papers: registered claims, evaluated once and again with varied assumptions."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Generic, TypeVar

import pandas as pd

from dumbbell.claims import Claim, Finding, Register, judge
from dumbbell.judge.reads import Results
from dumbbell.papers.paper import Evaluation, Paper, Settings
from dumbbell.papers.readings import Reading
from dumbbell.sensitivity import Sensitivity

E = TypeVar("E")


class ClaimedPaper(Paper, Generic[E]):
    """A paper with a register of claims.

    A subclass defines the register, the evidence for the claims, and the variations of assumptions, beside the abstract
    members of `Paper`. It may define `readings`.
    """

    @property
    @abstractmethod
    def register(self) -> Register[E]:
        """The claims of the paper with their measures."""

    def claims(self) -> list[Claim[E]]:
        """Return every claim of the paper."""
        return self.register.claims()

    @abstractmethod
    def evidence(self, settings: Settings, results: Results, observed: Mapping[str, Any]) -> E:
        """Return the evidence for the claims, from a table of results or from runs by key.

        It looks runs up with `dumbbell.judge.reads.by_key`: the keys that a claim's measure looks up are those it rests on.
        What it keeps between claims is `dumbbell.judge.reads.Remembered`.
        """

    @abstractmethod
    def study(
        self, settings: Settings, claims: Sequence[Claim[E]], evidence: E, findings: Sequence[Finding], /
    ) -> Sensitivity[Any]:
        """Return the effect of varying each assumption.

        Parameters
        ----------
        settings
            How the paper is reproduced.
        claims
            All claims of the paper.
        evidence
            The evidence of the complete reproduction.
        findings
            The findings from it.
        """

    def readings(self, _settings: Settings, _evidence: E) -> Sequence[Reading]:
        """Return the claims judged under each reading of the paper, that of the scoreboard first; none by default."""
        return ()

    def evaluate(
        self, settings: Settings, results: pd.DataFrame, observed: Mapping[str, Any]
    ) -> Evaluation[E]:
        """Return the findings on every claim; misses name the varied assumptions that explain them."""
        evidence, claims = self.evidence(settings, results, observed), self.claims()
        findings = judge(claims, evidence)
        moves = self.study(settings, claims, evidence, findings)
        # Quick mode has too few runs to tell an explanation from chance.
        if not settings.quick:
            findings, moves = moves.explain(findings)
        return Evaluation(
            findings=findings,
            evidence=evidence,
            moves=moves,
            readings=self.readings(settings, evidence),
        )

    def findings(
        self, settings: Settings, results: pd.DataFrame, observed: Mapping[str, Any]
    ) -> list[Finding]:
        """Return the findings on every claim from the runs of one seed, without explanations."""
        return judge(self.claims(), self.evidence(settings, results, observed))
