"""Statements on today's transport: RFCs, kernels and papers of several authors, judged one by one.

Run with ``dumbbell reproduce modern``. It is a collection of claims; its files have the roles of those of a paper.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dumbbell.claims import Claim, Finding
from dumbbell.judge.reads import Results
from dumbbell.papers import ClaimedPaper, Evaluation, PlannedRun, Settings
from dumbbell.report import Section
from dumbbell.sensitivity import Sensitivity

from . import delay_claims as _delay_claims  # registers its claims
from . import draft_claims as _draft_claims  # registers its claims
from . import evaluation_claims as _evaluation_claims  # registers its claims
from . import means, plan, reduction, sensitivity
from . import model_claims as _model_claims  # registers its claims
from . import queue_claims as _queue_claims  # registers its claims
from . import sender_claims as _sender_claims  # registers its claims
from . import sharing_claims as _sharing_claims  # registers its claims
from . import window_claims as _window_claims  # registers its claims
from .content import Content
from .evidence import Evidence
from .register import REGISTER

__all__ = ["PAPER", "Modern"]


class Modern(ClaimedPaper[Evidence]):
    """The collection."""

    name = "modern"
    title = "Today's transport"
    question = (
        "Do the algorithms and queues of today behave as their specifications, models and published "
        "measurements say?"
    )
    citation = (
        "Statements of RFCs, of Linux and of papers on CUBIC, BBR, L4S, loss recovery and queues. "
        "Each is judged on Dumbbell's engine."
    )
    order = 6
    columns = reduction.COLUMNS
    plan = staticmethod(plan.plan)
    reduce = staticmethod(reduction.reduce)
    register = REGISTER
    study = staticmethod(sensitivity.study)
    deciding: Mapping[str, str] = {
        **dict.fromkeys(("rack-reordered", "population"), "sender"),
        **dict.fromkeys(
            (
                "bbr-steps",
                "bbr-lossy",
                "cubic-lossy",
                "slow",
                "loss",
                "cliff",
                "shallow",
                "deep-four",
                "draft-lossy",
            ),
            "models",
        ),
        **dict.fromkeys(("ware", "against", "gigabit", "short-path", "reno-two", "copa-cubic"), "sharing"),
        **dict.fromkeys(("prague-cubic", "ledbat-reno", "ledbat-codel"), "delay"),
        **dict.fromkeys(
            (
                "fqcodel-voice",
                "fqcodel-overload",
                "pie",
                "red-constant",
                "dualpi2-cubic",
                "dualpi2-overload",
                "netem-delays",
            ),
            "queues",
        ),
        **dict.fromkeys(("equal", "load", "draft-aggregated", "draft-reordered"), "evaluation"),
    }

    def evidence(self, settings: Settings, results: Results, _observed: Mapping[str, Any]) -> Evidence:
        """Return the evidence for the claims."""
        return Evidence(results, seed=settings.seed)

    def sections(self, _settings: Settings, evaluation: Evaluation[Evidence]) -> Sequence[Section]:
        """Return the sections of the report."""
        return Content(evaluation).sections()

    def facts(self, settings: Settings) -> Sequence[tuple[str, str]]:
        """Return the facts for the head of the report."""
        count = plan.replications(settings) * settings.seeds
        return [
            ("runs of a scenario with random numbers", f"{count}"),
            ("scenarios that this engine lacks means for", f"{len(means.lacking())}"),
        ]

    def notice(self, settings: Settings) -> str:
        """Return a remark on the number of runs in quick mode."""
        if not settings.quick:
            return ""
        return (
            f"Quick mode: {plan.replications(settings)} runs of each scenario with random numbers, and shorter runs. "
            "Intervals are wide, and no assumption is varied."
        )


PAPER = Modern()
