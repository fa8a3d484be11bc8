"""`compare`, and what it returns."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from dumbbell import engine
from dumbbell.arguments import file_path
from dumbbell.comparison.changes import Change, changes
from dumbbell.comparison.making import first_of, runs_of_sides, warn_of_identical
from dumbbell.comparison.matching import matched, names_of, sample_of
from dumbbell.comparison.pairing import conflict
from dumbbell.comparison.rows import Row, rows
from dumbbell.comparison.sides import given
from dumbbell.files import make_folder, plain, write_json, write_text
from dumbbell.judge.quantity import CONFIDENCE
from dumbbell.runs import Runs, RunTables

if TYPE_CHECKING:
    from dumbbell.campaign import Campaign
    from dumbbell.plots.picture import Picture
    from dumbbell.scenario import Data, Scenario
    from dumbbell.watched import Progress

PAGE, DATA = "index.html", "comparison.json"


@dataclass(frozen=True, kw_only=True, eq=False)
class Comparison:
    """Two sides compared.

    `print` shows the changes and the differences; `save` writes a page; `picture` has the curves of both sides.

    Parameters
    ----------
    names
        What A and B are.
    engines
        The identities of the engines that made the runs.
    runs
        The compared runs of each side.
    changed
        What changed in the scenarios, by point; see `dumbbell.comparison.changes.Change`.
    rows
        Differences of quantities, see `dumbbell.comparison.rows.Row`.
    notes
        Whether and why runs are pairs, and what is not compared.
    drawn
        Runs in real time to draw instead of repeated ones.
    """

    names: tuple[str, str]
    engines: tuple[str, str]
    runs: tuple[Runs, Runs]
    changed: Mapping[str, Sequence[Change]]
    rows: Sequence[Row]
    notes: Sequence[str]
    drawn: tuple[RunTables | None, RunTables | None] = field(default=(None, None))

    @property
    def table(self) -> pd.DataFrame:
        """One row per quantity: the fields of `dumbbell.comparison.rows.Row`; ``n`` as ``n_a`` and ``n_b``."""
        listed = []
        for row in self.rows:
            data = row.to_dict()
            point, (n_a, n_b) = data.pop("point"), data.pop("n")
            listed.append(dict(point) | data | {"n_a": n_a, "n_b": n_b})
        return pd.DataFrame(listed)

    @property
    def changes(self) -> pd.DataFrame:
        """One row per field of the scenarios that differs: ``point``, ``field``, ``a`` and ``b`` as text."""
        listed = [(point, *change) for point, found in self.changed.items() for change in found]
        return pd.DataFrame(listed, columns=["point", "field", "a", "b"])

    @cached_property
    def picture(self) -> Picture:
        """Windows, queues and goodput of the first run of both sides over time.

        Raises
        ------
        ScenarioError
            There is nothing to draw, or a run of another engine is not the same here.
        """
        from dumbbell.plots.overlay import overlay

        first, second = (
            drawn if drawn is not None else first_of(runs)
            for drawn, runs in zip(self.drawn, self.runs, strict=True)
        )
        return overlay({"A": first, "B": second}, title=self._title())

    def _title(self) -> str:
        """Return what the sides are: their names, or, if these are the same, the one thing that differs."""
        first, second = self.names
        fields = {change for found in self.changed.values() for change in found}
        for name, before, after in fields if first == second else ():
            # Another kind has other fields beside its name.
            whole = name.removesuffix(".kind").removesuffix(".name")
            if all(other == name or other.startswith(f"{whole}.") for other, _, _ in fields):
                return f"{whole}: A {before}   B {after}"
        return f"A: {first}   B: {second}"

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as plain data, as ``dumbbell compare --json`` prints it; ``None`` is no number."""
        sides = {
            side: {"name": name, "engine": made_by, "runs": runs.completed}
            for side, name, made_by, runs in zip("ab", self.names, self.engines, self.runs, strict=True)
        }
        data = {
            **sides,
            "confidence": CONFIDENCE,
            "notes": list(self.notes),
            "changes": [dict(row) for row in self.changes.to_dict("records")],
            "results": [row.to_dict() for row in self.rows],
        }
        found: dict[str, Any] = plain(data)
        return found

    def save(self, folder: str | os.PathLike[str]) -> Path:
        """Write a page, ``index.html``, and its data, ``comparison.json``, to a folder; return the page.

        Raises
        ------
        ResultsError
            A file could not be written.
        """
        from dumbbell.comparison.page import page

        place = file_path("folder", folder, "the name of a folder")
        text = page(self)
        make_folder(place)
        write_json(place / DATA, self.to_dict())
        write_text(place / PAGE, text)
        return place / PAGE

    def __str__(self) -> str:
        from dumbbell.comparison.text import told

        return told(self)

    def __repr__(self) -> str:
        differ = sum(row.finding == "differs" for row in self.rows)
        return f"Comparison({self.names[0]!r}, {self.names[1]!r}: {differ} of {len(self.rows)} quantities differ)"


def compare(
    a: Scenario | Data | str | os.PathLike[str] | RunTables | Sequence[RunTables] | Runs | Campaign,
    b: Scenario | Data | str | os.PathLike[str] | RunTables | Sequence[RunTables] | Runs | Campaign,
    *,
    runs: int | None = None,
    seed: int | None = None,
    percentiles: bool = False,
    names: tuple[str, str] | None = None,
    threads: int | None = None,
    progress: bool | Progress = True,
) -> Comparison:
    """Compare two sides: what changed in their scenarios, and how their results differ.

    Differences are B minus A, with 90 % intervals. Runs with the same seed and number are pairs where both sides draw the same
    random numbers; otherwise the sides are independent, and `Comparison.notes` says why.

    Parameters
    ----------
    a, b
        Scenarios, which are run: as `Scenario.of` reads them. Or results: a `Run` or several of them, `Runs`, a `Campaign` or
        the name of its file, or a folder that `Run.save` or `Runs.save` wrote.
    runs
        Replications of a scenario; by default those of the other side if it has results, and 20 otherwise.
    seed
        Seed of these runs; by default that of the other side, or 1.
    percentiles
        Whether every round-trip time, queueing time and completion time is recorded for percentiles over all runs. A scenario
        that states ``delay_percentiles`` or ``wait_percentiles``, or has such probes, is recorded anyway.
    names
        What A and B are called; the names of their files or scenarios by default.
    threads
        Number of threads; the default is the number of cores this process may use.
    progress
        As of `run_many`.

    Returns
    -------
    Comparison

    Raises
    ------
    ScenarioError
        A side is not accepted, or both have nothing in common.
    OSError
        A file cannot be read.

    Warns
    -----
    IdenticalRunsWarning
        Replications do not differ, because nothing is drawn at random.

    Examples
    --------
    >>> import dumbbell
    >>> from dumbbell import Flow, Uniform, topologies
    >>> shape = topologies.dumbbell(pairs=1, rate="1.6 Mbit/s", delay="20 ms")
    >>> flow = Flow(name="fg", from_="s1", to="d1", tcp="reno", start=Uniform(uniform=("0 s", "1 s")))
    >>> base = shape.scenario(duration="5 s", flows=[flow])
    >>> slower = base.with_values({"links.r1-r2.rate": "0.8 Mbit/s"})
    >>> found = dumbbell.compare(base, slower, runs=5, progress=False)
    >>> [change.field for change in found.changed["{}"]]
    ['links.r1-r2.rate']
    >>> row = found.table.set_index(["of", "quantity"]).loc[("flow fg", "goodput_bps")]
    >>> row.finding, row.method, bool(row.high < 0)
    ('differs', "pairs, Student's t", True)
    """
    sides = (given(a, "a"), given(b, "b"))
    both = runs_of_sides(sides, runs, seed, record=percentiles, threads=threads, progress=progress)
    notes: list[str] = []
    changed: dict[str, Sequence[Change]] = {}
    found: list[Row] = []
    for point, (ours, theirs) in matched(both, notes).items():
        first, second = both[0].jobs[ours[0]].scenario, both[1].jobs[theirs[0]].scenario
        changed[point] = changes(first, second)
        sample = sample_of(both, (ours, theirs), point, conflict(first, second), notes)
        found += rows(sample, *names_of(sample, notes))
    for side, runs_of_side, one in zip("AB", both, sides, strict=True):
        if runs_of_side.engine != engine.identity():
            notes.append(
                f"{side} was made by the engine {runs_of_side.engine}; this one is {engine.identity()}."
            )
        if one.scenario is None:
            warn_of_identical(runs_of_side)
    return Comparison(
        names=(sides[0].name, sides[1].name) if names is None else names,
        engines=(both[0].engine, both[1].engine),
        runs=both,
        changed=changed,
        rows=found,
        notes=list(dict.fromkeys(notes)),
        drawn=(sides[0].first, sides[1].first),
    )
