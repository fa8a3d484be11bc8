"""The effect of each open assumption: the claims on averages evaluated again with one assumption varied.

A moved reading is run with the seeds of the main one at some of its points, and compared with the main reading at the same
points and repetitions, so that the difference is the assumption's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from dumbbell.claims import Claim, Finding, judge
from dumbbell.sensitivity import Move, Sensitivity, placebo_of_misses
from dumbbell.statistics import Interval

from .assumptions import VARIATIONS, Variation
from .evidence import Evidence
from .network import VARIANTS
from .plan import Counts

SCENARIOS = {
    "fig9": ("fig-9",),
    "rtt": ("fig-10", "fig-11", "fig-12", "fig-13"),
    "fig14": ("fig-14",),
    "fig15": ("fig-15",),
    "table2": ("table-2",),
    "windows": ("fig-2", "fig-3", "fig-5", "fig-6"),
    "pairs": ("fig-16", "fig-17", "fig-18", "mix-code-vegas"),
    "startup": ("startup",),
}
"""The scenarios of the claims that are judged on the runs of a figure."""


class Study(Sensitivity[Variation]):
    """The moves, and what each does to the ratios of Fig. 9.

    Parameters
    ----------
    moves
        The main reading at the points of the moves, and every move that was run.
    ratios
        For each move, the pooled mean ratio to Reno in Fig. 9 by variant, with its 95 % interval; empty if Fig. 9 was not run.
    placebo
        See `Sensitivity`.
    """

    def __init__(
        self,
        moves: Sequence[Move[Variation]] = (),
        ratios: Sequence[Mapping[str, Interval]] = (),
        placebo: Callable[[], Sequence[Sequence[Finding]]] | None = None,
    ) -> None:
        super().__init__(moves, placebo)
        self.ratios = list(ratios)

    @property
    def in_figure_9(self) -> list[tuple[Move[Variation], Mapping[str, Interval]]]:
        """The moves that Fig. 9 was run with, and its ratios."""
        return [(move, ratio) for move, ratio in zip(self.moves, self.ratios, strict=True) if ratio]

    def ratios_of(self, name: str) -> Mapping[str, Interval]:
        """Return the ratios of Fig. 9 with a variation; empty if it was not run."""
        found = (ratio for move, ratio in self.in_figure_9 if move.variation and move.variation.name == name)
        return next(found, {})


def nearest(ratios: Mapping[str, Interval]) -> str:
    """Return the variant whose ratio in Fig. 9 is nearest to 1."""
    return min(ratios, key=lambda kind: abs(ratios[kind].estimate - 1))


def _ratios(evidence: Evidence) -> dict[str, Interval]:
    if not evidence.has("fig9"):
        return {}
    return {kind: evidence.pooled("fig9", kind) for kind in VARIANTS}


def study(
    claims: Sequence[Claim[Evidence]],
    evidence: Evidence,
    findings: Sequence[Finding],
    count: Counts,
    *,
    seed: int,
) -> Study:
    """Return the main reading at the points of the moves, every move that was run, and the placebo.

    Parameters
    ----------
    claims
        All claims of the paper.
    evidence
        The evidence of the complete reproduction.
    findings
        The findings from it.
    count
        Its replications and points.
    seed
        Seed of the placebo.
    """
    points = {
        "fig9": count.moved_rates,
        "table2": count.moved_rates,
        "rtt-a": count.moved_rtts,
        "rtt-b": count.moved_rtts,
        "fig14": count.moved_buffers,
        "fig15": count.moved_mixes,
    }
    base = replace(evidence, runs=count.moved, points=points)
    tested = [claim for claim in claims if any(claim.scenario in names for names in SCENARIOS.values())]
    chosen = judge(tested, base)
    moves: list[Move[Variation]] = [Move(variation=None, findings=chosen, baseline=chosen)]
    ratios = [_ratios(base)]
    for variation in VARIATIONS:
        if variation.name not in count.variations:
            continue
        moved = replace(base, group=variation.name)
        wanted = {name for figure in variation.figures for name in SCENARIOS[figure]}
        moves.append(
            Move(
                variation=variation,
                findings=judge([claim for claim in tested if claim.scenario in wanted], moved),
                baseline=[finding for finding in chosen if finding.claim.scenario in wanted],
            )
        )
        ratios.append(_ratios(moved))
    usual = evidence.results[evidence.results["key"].astype(str).str.startswith("base/")]
    drawn = placebo_of_misses(
        tested, findings, usual, lambda _: count.moved, lambda rows: replace(base, results=rows), seed=seed
    )
    return Study(moves, ratios, drawn)
