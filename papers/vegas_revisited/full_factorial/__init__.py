"""The experiment the paper called infeasible: all ten mechanisms, every combination, 50 replications, both loads and backgrounds.

Run with ``dumbbell reproduce vegas-revisited --experiment full-factorial``. [hengartner2000 §VIII.A]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd

from dumbbell.claims import Aims, Claim, judge
from dumbbell.judge.estimate import Outcome
from dumbbell.papers import Evaluation, Paper, PlannedRun, Settings
from dumbbell.report import Section

from .. import table_claims
from ..evidence import Evidence
from ..plan import replications
from ..register import REGISTER
from ..transfers import transfers
from . import content, effects
from .clusters import Agreement, agreement
from .design import (
    CLUSTERED,
    CONDITIONS,
    MECHANISMS,
    RESPONSES,
    TABLES,
    Condition,
    planned,
    runs_per_cell,
)

__all__ = ["FullFactorial"]

JUDGED = ("fact-2k7-low", "fact-2k7-high", "fact-2k10")
"""The scenarios of the paper's claims whose designs are part of this one."""


def _agreeing(found: Agreement) -> Outcome:
    """Return in what share of the comparisons the eight cells agree with the tables."""
    return Outcome(
        measured=found.agreeing_jointly / found.count,
        holds=found.agreeing_jointly == found.count,
        note=f"of {found.count} effects the intervals overlap in {found.overlapping}, and the 90 % interval of the difference "
        f"holds 0 in {found.agreeing}",
    )


AGREEMENT: Claim[Agreement] = Claim(
    id="FF-01",
    source="check",
    kind="shape",
    statement="the cells of the full design in which whole clusters are switched, with H, I and J off, have the effects that the "
    "runs of Tables VI to IX have",
    bound="every difference within its 90 % interval, corrected for all comparisons",
    measure=_agreeing,
    scenario="full-factorial",
)


class Studied(NamedTuple):
    """What the report shows: the analyses of both responses under every condition, and how they agree with the tables."""

    studies: list[effects.Study]
    agreement: Agreement | None


class FullFactorial(Paper):
    """The experiment.

    Parameters
    ----------
    mechanisms
        The mechanisms of the design; the others are off.
    conditions
        The loads and backgrounds.
    """

    name = "vegas-revisited/full-factorial"
    title = "TCP Vegas Revisited: the full factorial design"
    citation = (
        "All combinations of the mechanisms A to J of U. Hengartner, J. Bolliger, T. Gross: TCP Vegas Revisited, INFOCOM 2000, "
        "whose designs cluster or leave out some. Run on Dumbbell's engine."
    )
    order = 1
    aims = Aims(orderings=90, values=70)
    columns = ("throughput", "retransmitted", "duration", "completed")
    reduce = staticmethod(transfers)

    def __init__(self, mechanisms: str = MECHANISMS, conditions: Sequence[Condition] = CONDITIONS) -> None:
        self.mechanisms = mechanisms
        self.conditions = tuple(conditions)

    @property
    def holds_the_tables(self) -> bool:
        """Whether the cells of the paper's three-factor design are part of this one."""
        return set(CLUSTERED) <= set(self.mechanisms)

    @property
    def is_whole(self) -> bool:
        """Whether this is all of it, on which the paper's claims on larger designs can be judged."""
        return self.mechanisms == MECHANISMS and self.conditions == CONDITIONS

    def plan(self, settings: Settings) -> Sequence[PlannedRun]:
        """Return the planned runs."""
        return list(planned(settings, self.mechanisms, self.conditions))

    def evaluate(
        self, settings: Settings, results: pd.DataFrame, _observed: Mapping[str, Any]
    ) -> Evaluation[Studied]:
        """Return the findings: on our own check, and on the paper's claims on seven and ten mechanisms."""
        studies = effects.studies(results, self.mechanisms, self.conditions, RESPONSES)
        found = agreement(results, studies) if self.holds_the_tables else None
        findings = [] if found is None else judge([AGREEMENT], found)
        if self.is_whole:
            claims = [claim for claim in REGISTER.claims(table_claims.claims()) if claim.scenario in JUDGED]
            findings += judge(claims, Evidence(_as_in_the_paper(results), {}, seed=settings.seed))
        return Evaluation(findings=findings, evidence=Studied(studies, found))

    def sections(self, _settings: Settings, evaluation: Evaluation[Studied]) -> Sequence[Section]:
        """Return the sections of the report."""
        return content.Content(*evaluation.evidence).sections()

    def files(self, _settings: Settings, evaluation: Evaluation[Studied]) -> Mapping[str, str]:
        """Return all effects as a file."""
        table = effects.table(evaluation.evidence.studies)
        return {"effects.csv": table.to_csv(index=False, lineterminator="\n")}

    def facts(self, settings: Settings) -> Sequence[tuple[str, str]]:
        """Return the facts for the head of the report."""
        runs = runs_per_cell(settings)
        cells = 2 ** len(self.mechanisms)
        tables = replications(settings).table
        stated = [
            (
                "design",
                f"2^{len(self.mechanisms)} = {cells} cells, {runs} replications, {len(self.conditions)} conditions: "
                f"{cells * runs * len(self.conditions)} runs",
            )
        ]
        return [*stated, ("replications of the tables", str(tables))] if self.holds_the_tables else stated

    def notice(self, settings: Settings) -> str:
        """Return a remark on the number of replications, if it is not the paper's."""
        runs = runs_per_cell(settings)
        return "" if runs == 50 else f"{runs} replications of every combination instead of 50."


def _as_in_the_paper(results: pd.DataFrame) -> pd.DataFrame:
    """Return the runs of the cells that the paper's smaller designs have, under the names its claims know them by.

    The seven-factor design is the cells with H, I and J off. The ten-factor design, of which the paper names neither load nor
    background, is taken at low load against Reno, as in the paper's reproduction.
    """
    frames = [results[results["stage"] == TABLES]]
    full = results[results["key"].str.startswith("full/")]
    parts = full["key"].str.removeprefix("full/").str.split("|", n=1, expand=True)
    letters, condition = parts[0], parts[1]
    seven = (letters == "none") | ~letters.str.contains("[HIJ]")
    for name, chosen in (("seven", seven), ("ten", condition == "reno|low")):
        frames.append(full[chosen].assign(key=f"{name}/" + full.loc[chosen, "key"].str.removeprefix("full/")))
    return pd.concat(frames, ignore_index=True)
