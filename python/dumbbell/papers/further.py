"""Further replications for the claims that the runs of all seeds leave undecided."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pandas as pd

from dumbbell.campaign import Display
from dumbbell.claims import Finding
from dumbbell.papers.paper import SEEDS, Settings
from dumbbell.papers.runs import PaperRuns, pooled

if TYPE_CHECKING:
    from distributed import Client

MOST = 2
"""Seeds added at most."""


@dataclass(frozen=True, kw_only=True)
class Part:
    """Runs added for undecided claims: some stages of the plan of a further seed.

    Parameters
    ----------
    seed
        The seed.
    stages
        Names of the stages.
    """

    seed: int
    stages: frozenset[str]

    def settings(self, settings: Settings) -> Settings:
        """Return how the paper is reproduced with the seed alone."""
        return replace(settings, seed=self.seed, seeds=1, sensitivity=False)


@dataclass(kw_only=True)
class Further:
    """The replications that were added.

    Parameters
    ----------
    tables
        Their results, by seed.
    seeds
        The seeds added.
    stages
        The stages of the plan that each of them repeated.
    undecided
        Number of undecided measured claims that further replications may decide: before, and after each seed added.
    runs, reused
        Number of runs, and of reused ones.
    times
        The wall-clock time they took, s, by name.
    """

    tables: list[pd.DataFrame] = field(default_factory=list)
    seeds: list[int] = field(default_factory=list)
    stages: list[frozenset[str]] = field(default_factory=list)
    undecided: list[int] = field(default_factory=list)
    runs: int = 0
    reused: int = 0
    times: dict[str, float] = field(default_factory=dict)

    def text(self) -> str:
        """Return what was added and decided, for reading."""
        counts = " → ".join(map(str, self.undecided))
        return f"{self.runs} runs of {len(self.seeds)} seeds; undecided {counts}"

    def to_dict(self) -> dict[str, Any]:
        """Return the seeds, runs and undecided claims as plain data."""
        return {
            "seeds": self.seeds,
            "stages": [sorted(names) for names in self.stages],
            "runs": self.runs,
            "undecided": self.undecided,
        }

    def parts(self) -> list[Part]:
        """Return which runs were added."""
        return [Part(seed=seed, stages=names) for seed, names in zip(self.seeds, self.stages, strict=True)]


def decide(
    work: PaperRuns,
    tables: Sequence[pd.DataFrame],
    judge: Callable[[Settings, pd.DataFrame], Sequence[Finding]],
    display: Display,
    client: Client | None = None,
) -> Further:
    """Repeat the runs of undecided claims with further seeds, until none is left or `MOST` seeds were added.

    The paper's ``deciding`` says which stages of its plan a claim rests on, by the scenario of the claim. Whether to go
    on depends on the number of undecided claims alone, never on their verdicts. Nothing is added in quick mode or with
    a stated number of runs.

    Parameters
    ----------
    work
        The completed runs of the paper.
    tables
        Their results, by seed.
    judge
        Returns the findings for settings and results.
    display
        Display of progress.
    client
        A Dask cluster to make the runs on; this machine if it is left out.
    """
    further = Further()
    stages = work.paper.deciding
    settings = work.settings
    if settings.quick or settings.runs is not None or not stages:
        return further
    while True:
        findings = judge(settings, pooled([*tables, *further.tables]))
        open_claims = [each.claim for each in findings if each.is_measured and each.verdict == "undecided"]
        needed = {stages[claim.scenario] for claim in open_claims if claim.scenario in stages}
        further.undecided.append(sum(claim.scenario in stages for claim in open_claims))
        if not needed or len(further.seeds) == MOST:
            return further
        seed = (settings.seed + settings.seeds + len(further.seeds)) % SEEDS
        part = Part(seed=seed, stages=frozenset(needed))
        added = PaperRuns(work.paper, part.settings(settings), work.store, stages=part.stages)
        added.announce(display)
        display.further(added.total, added.reused)
        added.complete(display, client)
        further.tables += added.tables()
        further.seeds.append(seed)
        further.stages.append(part.stages)
        further.runs += added.total
        further.reused += added.reused
        further.times |= {f"{stage}, seed {seed}": seconds for stage, seconds in added.times.items()}
