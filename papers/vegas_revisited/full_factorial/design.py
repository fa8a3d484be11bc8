"""The design the paper could not run: all combinations of the ten mechanisms, at both loads and against both backgrounds.

Cells of a replication come in blocks that share their random numbers: the same conversations meet every combination of a
block, and the same start of the transfer, so that what comes before the transfer is the same and can be made once. Blocks
and replications have random numbers of their own, and replications are independent of each other whatever the blocks do:
the error of an effect is how much it differs from replication to replication.

Sharing random numbers among all cells of a replication would be no better but much worse. Cells that behave alike in the
first slow start share its luck then, so that a replication holds as many draws of it as there are behaviours, not cells, and
the effects of A and G vary from replication to replication several times as much as with independent cells. With 32 cells
to a block they vary little more than with those, and the effects of the mechanisms of recovery less. Which cells make a
block follows the resolution IV fraction 2^(10-5): within a block every mechanism, every pair and every three of them are
balanced, and only 31 interactions of four and more mechanisms differ between blocks alone.

The clustered tables beside the design draw random numbers of their own for every cell, as in the paper's reproduction.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dumbbell import Flow, Scenario, Tcp
from dumbbell.papers import PlannedRun, Settings

from ..assumptions import calibrated
from ..plan import replications
from ..printed import CELLS
from ..scenarios import BACKGROUNDS, PHASE_LETTERS, cell_letters, experiment, stable_seed
from ..transfers import FOREGROUND

MECHANISMS = "ABCDEFGHIJ"

BLOCK_WORDS = ("ABCDF", "ABCEG", "ABDEH", "ACDEI", "BCDEJ")
"""Cells with the same parities of these sets of mechanisms make a block; all products have four letters or more."""

CLUSTERED = "".join(sorted("".join(PHASE_LETTERS.values())))
"""The mechanisms that the phases of the three-factor design switch; the others are off there."""

TABLES, ALL = "clustered tables", "all combinations"
"""What progress and run times call the runs of the paper's tables, and those of the design.

The conditions are mixed: runs at high load take much longer, and the remaining time is then estimated well from the start.
"""


@dataclass(frozen=True, kw_only=True)
class Condition:
    """A load and a background; each has a separate design.

    Parameters
    ----------
    load, background
        Names of `scenarios.LOADS` and of `scenarios.BACKGROUNDS`.
    """

    load: str
    background: str

    @property
    def name(self) -> str:
        """Its name in keys."""
        return f"{self.background}|{self.load}"

    @property
    def title(self) -> str:
        """Its name in the report."""
        return f"{self.load} load, {'Reno' if self.background == 'reno' else 'Vegas'} background"


CONDITIONS = tuple(
    Condition(load=load, background=background) for load in ("low", "high") for background in BACKGROUNDS
)


@dataclass(frozen=True, kw_only=True)
class Response:
    """A response of every run.

    Parameters
    ----------
    column
        Its column of the results.
    title, unit
        What it is called.
    metric
        Its name in the paper's tables of effects: ``"thr"`` or ``"rtx"``.
    """

    column: str
    title: str
    unit: str
    metric: str


RESPONSES = (
    Response(column="throughput", title="throughput", unit="KB/s", metric="thr"),
    Response(column="retransmitted", title="retransmitted data", unit="KB", metric="rtx"),
)


def combinations(mechanisms: str) -> list[str]:
    """Return the mechanisms that are on in each cell, in standard order: the first varies slowest."""
    return [
        "".join(letter for letter, on in zip(mechanisms, levels, strict=True) if on)
        for levels in itertools.product((False, True), repeat=len(mechanisms))
    ]


def blocks(mechanisms: str) -> NDArray[np.int64]:
    """Return the number of the block of each cell, counted from 0 without gaps."""
    parities = [
        [len(set(letters) & set(word)) % 2 for word in BLOCK_WORDS] for letters in combinations(mechanisms)
    ]
    return np.unique(parities, axis=0, return_inverse=True)[1].ravel()


def between_blocks(mechanisms: str) -> list[str]:
    """Return the terms that are constant within blocks, and so confounded with the variation between them; shortest first."""
    products: set[frozenset[str]] = {frozenset()}
    for word in BLOCK_WORDS:
        products |= {product ^ (set(word) & set(mechanisms)) for product in products}
    return sorted(
        ("".join(sorted(product)) for product in products - {frozenset()}), key=lambda term: (len(term), term)
    )


def runs_per_cell(settings: Settings) -> int:
    """Return the replications of every combination: the paper's 50, and 2 in quick mode."""
    return settings.runs or (2 if settings.quick else 50)


def _scenarios(condition: Condition, mechanisms: str) -> Iterator[tuple[str, Scenario]]:
    """Yield every combination with its scenario; they differ only in the mechanisms of the foreground."""
    first = experiment("fix:", condition.background, condition.load, calibrated())
    flows = {flow.name: flow for flow in first.flows if isinstance(flow, Flow)}
    foreground = flows[FOREGROUND]
    tcp = foreground.tcp
    assert isinstance(tcp, Tcp)
    for letters in combinations(mechanisms):
        changed = replace(foreground, tcp=replace(tcp, mechanisms=letters))
        yield (
            letters,
            replace(
                first,
                name=f"vegas-revisited full-factorial {condition.background} {condition.load}",
                flows=list((flows | {FOREGROUND: changed}).values()),
            ),
        )


def planned(settings: Settings, mechanisms: str, conditions: Sequence[Condition]) -> Iterator[PlannedRun]:
    """Yield every run: those of the clustered tables, and for each condition one replication after the other.

    Parameters
    ----------
    settings
        Settings of the experiment.
    mechanisms
        The mechanisms of the design; the others are off.
    conditions
        The loads and backgrounds.
    """
    if set(CLUSTERED) <= set(mechanisms):
        yield from _planned_tables(settings, conditions)
    for condition in conditions:
        scenarios = list(_scenarios(condition, mechanisms))
        keys = [f"full/{letters or 'none'}|{condition.name}" for letters, _ in scenarios]
        seed = stable_seed(settings.seed, f"full/{condition.name}")
        block = blocks(mechanisms)
        count = int(block.max()) + 1
        for replication in range(runs_per_cell(settings)):
            for key, (_, scenario), number in zip(keys, scenarios, block, strict=True):
                yield PlannedRun(
                    key=key, scenario=scenario, seed=seed, run=replication * count + int(number), stage=ALL
                )


def _planned_tables(settings: Settings, conditions: Sequence[Condition]) -> Iterator[PlannedRun]:
    """Yield the runs of Tables VI to IX: scenarios and seeds are those of the paper's reproduction."""
    for condition, levels in itertools.product(conditions, CELLS):
        name = f"cell{levels}|{condition.name}"
        scenario = experiment(f"cell{levels}", condition.background, condition.load, calibrated())
        seed = stable_seed(settings.seed, f"table/{name}")
        for run in range(replications(settings).table):
            yield PlannedRun(key=f"table/{name}", scenario=scenario, seed=seed, run=run, stage=TABLES)


def responses(
    results: pd.DataFrame, condition: Condition, response: Response, mechanisms: str
) -> NDArray[np.float64]:
    """Return a response of all runs of a condition: one row for each cell, one column for each replication.

    Parameters
    ----------
    results
        The table of results, in the order of the plan.
    condition, response, mechanisms
        The requested response, and its design.
    """
    mine = (results["stage"] == ALL) & results["key"].str.endswith(f"|{condition.name}")
    values = results.loc[mine, response.column].to_numpy(dtype=np.float64)
    return np.ascontiguousarray(values.reshape(-1, 2 ** len(mechanisms)).T)


def tabled(results: pd.DataFrame, condition: Condition, response: Response) -> NDArray[np.float64]:
    """Return a response of the runs of the paper's tables: one row for each of its eight cells."""
    rows = results[results["stage"] == TABLES].groupby("key", sort=False)[response.column]
    return np.array([rows.get_group(f"table/cell{levels}|{condition.name}").to_numpy() for levels in CELLS])


def clustered_cells(mechanisms: str) -> list[int]:
    """Return the numbers of the eight cells that are those of the paper's tables, in the order of the tables."""
    numbers = {letters: number for number, letters in enumerate(combinations(mechanisms))}
    return [numbers[cell_letters(levels)] for levels in CELLS]
