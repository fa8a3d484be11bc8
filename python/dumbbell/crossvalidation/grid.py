"""Grids: the cases on which both sides are compared, and their loading."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, Protocol, cast

import numpy as np
import pandas as pd

from dumbbell import report
from dumbbell.checkout import checked_members
from dumbbell.crossvalidation.loading import folder, imported
from dumbbell.crossvalidation.peer import Observed, Peer
from dumbbell.errors import refusal
from dumbbell.judge.criterion import Criterion
from dumbbell.scenario import Scenario

Side = Literal["ours", "peer"]

# Where grids are found in the folder of the peers, or of a peer that has its own; a file that begins with an underscore
# is shared by several.
PATTERN = "grids/*.py"

# The required members of a grid; the other members of `Grid` are optional.
REQUIRED = ("name", "title", "order", "question", "cases", "reduce", "judge", "sections")


@dataclass(frozen=True, kw_only=True)
class Case:
    """A run of a grid, to be executed on each side.

    Parameters
    ----------
    key
        Its name, unique in the grid: ``"newreno, 10 Mbit/s, 40 ms, 50 packets, run 3"``.
    point
        The point of the grid. Cases of one point are its replications and give its intervals.
    factors
        The factors of the case in tables: ``{"variant": "newreno", "rate": "10 Mbit/s"}``. The same for all
        replications of a point, except for factors that no table shows.
    scenario
        The scenario. Start times are fixed in it, so that they are the same on both sides; probes select the traces to compare.
    seed, run
        Which random streams to run it with.
    """

    key: str
    point: str
    factors: Mapping[str, object]
    scenario: Scenario
    seed: int = 1
    run: int = 0


@dataclass(frozen=True, kw_only=True, eq=False)
class Agreement:
    """The agreement of both sides on a grid.

    Parameters
    ----------
    criteria
        The measures of agreement.
    points
        One row per point: ``point``, the factors, the measured values, ``agrees`` (bool) and ``explanation`` (text: the
        stated difference of rules that a disagreement is traced to, empty where none is known).
    """

    criteria: tuple[Criterion, ...]
    points: pd.DataFrame


class Grid(Protocol):
    """Protocol of the value ``GRID`` in the file of a grid, or of each value of a sequence ``GRIDS``.

    A grid may also have ``sides = ("ours",)``, if it compares our side with something that is no simulation, such as a
    formula; and ``thin(cases, share)``, which returns the cases of a part of the grid. Without the latter, of every
    1 / share points one is taken.

    Attributes
    ----------
    name
        Its name on the command line, as ``"single-flows"``.
    title
        The heading of its section.
    order
        Its place in the report; grids of one number are sorted by name.
    question
        The question of the grid, one sentence.
    """

    name: str
    title: str
    order: int
    question: str

    def cases(self, peer: Peer) -> list[Case]:
        """Return the cases, which may depend on the peer's variants and rules."""

    def reduce(self, case: Case, run: Observed) -> dict[str, Any]:
        """Return the reduction of one side's run of a case: scalars, strings and short lists, as JSON can represent them.

        It must contain everything that evaluation and figures need, such as sampled traces (`sampled`); the run
        itself is discarded. Cases with the same scenario, seed and run number are run and reduced once, so the
        result must not depend on anything else in the case.
        """

    def judge(self, results: pd.DataFrame) -> Agreement:
        """Return the agreement of both sides.

        Parameters
        ----------
        results
            One row per case and side: ``key``, ``point``, ``side`` (``"ours"`` or ``"peer"``), one column for each factor,
            and what `reduce` returned. A case that failed on one side is omitted.
        """

    def sections(self, results: pd.DataFrame, agreement: Agreement) -> Sequence[report.Block]:
        """Return the tables and figures of the grid's section, in addition to question, criteria and disagreements."""


def sides_of(grid: Grid) -> tuple[Side, ...]:
    """Return the sides a grid is run on."""
    sides: tuple[Side, ...] = getattr(grid, "sides", ("ours", "peer"))
    return sides


def load_grids(
    names: Sequence[str] = (), path: str | Path | None = None, *, peer: str | None = None
) -> list[Grid]:
    """Return grids in their order.

    Parameters
    ----------
    names
        The requested grids; by default all.
    path
        The folder of the peers; see `folder`.
    peer
        Name of a peer. If its folder has grids of its own, those are returned instead of the shared ones.

    Raises
    ------
    ScenarioError
        There is no grid of such a name, or one cannot be imported.
    """
    place = folder(path)
    grids: dict[str, Grid] = {}
    for file in _files(place, peer):
        for grid in _loaded(file, place):
            if grid.name in grids:
                raise refusal("grid", grid.name, "a unique name for each grid", problem="is a duplicate")
            grids[grid.name] = grid
    for name in names:
        if name not in grids:
            raise refusal(
                "grid", name, f"one of {', '.join(grids)}", names=grids, problem="is not a known grid"
            )
    wanted = [grid for grid in grids.values() if not names or grid.name in names]
    return sorted(wanted, key=lambda grid: (grid.order, grid.name))


def _files(place: Path, peer: str | None) -> list[Path]:
    """Return the files of the grids of a peer, or of the shared ones."""
    own = [] if peer is None else sorted((place / peer).glob(PATTERN))
    return [file for file in own or sorted(place.glob(PATTERN)) if not file.name.startswith("_")]


def _loaded(file: Path, place: Path) -> Sequence[Grid]:
    module = imported(".".join(file.relative_to(place).with_suffix("").parts), place)
    stated: Sequence[Grid] | None = getattr(module, "GRIDS", None)
    if stated is None:
        stated = [cast("Grid", getattr(module, "GRID", None))]
    return [
        checked_members(
            grid, "GRID", REQUIRED, kind="grid", name=str(file), protocol="dumbbell.crossvalidation.Grid"
        )
        for grid in stated
    ]


def thinned(grid: Grid, cases: Sequence[Case], share: float) -> list[Case]:
    """Return the cases of a part of a grid, the same ones each time.

    Parameters
    ----------
    grid
        The grid; its ``thin`` decides if it has one.
    cases
        All its cases.
    share
        The fraction of the grid, above 0 and at most 1. One of every 1 / share neighbouring points is drawn, so
        that the part is spread over the grid and does not favour any factor.
    """
    if share >= 1.0:
        return list(cases)
    thin = getattr(grid, "thin", None)
    if thin is not None:
        return list(thin(cases, share))
    points = list(dict.fromkeys(case.point for case in cases))
    edges = np.linspace(0, len(points), max(1, round(len(points) * share)) + 1).astype(int)
    drawn = np.random.default_rng(0)
    kept = {points[drawn.integers(low, high)] for low, high in pairwise(edges)}
    return [case for case in cases if case.point in kept]
