"""Tracing disagreements: repeats runs of one side under a rule of the other, to see whether the disagreement disappears."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from dumbbell.campaign import Display
from dumbbell.crossvalidation.grid import Agreement, Case, Side, sides_of
from dumbbell.crossvalidation.losses import LOSSES, SameLosses, is_random
from dumbbell.crossvalidation.peer import Counterfactual, Peer
from dumbbell.crossvalidation.running import GridRuns
from dumbbell.crossvalidation.tables import shown
from dumbbell.scenario import Scenario

# The columns that identify a grid's points.
NAMES = ("point", "measure")


@dataclass(kw_only=True, eq=False)
class _Trial:
    """A counterfactual, the points that it is tried on, and the last place it has in the order of one of them."""

    counterfactual: Counterfactual
    points: list[str]
    place: int


def traced(
    work: GridRuns, agreement: Agreement, results: pd.DataFrame, *, display: Display, threads: int | None
) -> Agreement:
    """Return the agreement with the stated differences of rules that disagreements are traced to.

    A disagreement that the grid itself does not explain is traced to a difference if it is gone once one side follows the
    other's rule there, everything else as it was. Random losses are such a difference with every peer: they are traced to that if
    the peer agrees once it loses the packets that we lose.

    Parameters
    ----------
    work
        The completed runs of the grid.
    agreement
        The agreement that the grid found.
    results
        The table it was found in.
    display
        Display of the progress of further runs.
    threads
        Number of the peer's processes; see `GridRuns.make`.

    Raises
    ------
    KeyboardInterrupt
        Ctrl-C. Completed runs are kept.
    """
    if agreement.points.empty or "peer" not in sides_of(work.grid):
        return agreement
    points = agreement.points.assign(explanation=agreement.points["explanation"].fillna(""))
    cases: dict[str, list[Case]] = {}
    for case in work.cases:
        cases.setdefault(case.point, []).append(case)
    for trial in _trials(work, [name for name in cases if _open(points, [name]).any()], cases):
        names = [name for name in trial.points if _open(points, [name]).any()]
        wanted = [case for name in names for case in cases[name]]
        if not wanted:
            continue
        side: Side = "peer" if trial.counterfactual.ours is None else "ours"
        with work.under(trial.counterfactual, wanted) as altered:
            display.warn(altered.warnings)
            work.warnings += altered.warnings
            display.further(altered.total, altered.reused)
            altered.announce(display)
            altered.make(side, display, threads)
            runs = altered.results()
        if len(runs) < len(wanted):
            # The side failed under the other rule, and with other cases it would be another comparison.
            continue
        kept = results[~((results["side"] == side) & results["key"].isin(runs["key"]))]
        mixed = pd.concat([kept, runs], ignore_index=True)
        mixed.attrs.update(results.attrs)
        again = _named(work.grid.judge(mixed).points)
        for index in points.index[_open(points, names)]:
            row = again.get(_name(points.loc[index].to_dict()))
            if row is not None and bool(row["agrees"]):
                points.loc[index, "explanation"] = trial.counterfactual.difference + _then(row, side)
    return replace(agreement, points=points)


def _trials(work: GridRuns, names: Iterable[str], cases: Mapping[str, Sequence[Case]]) -> list[_Trial]:
    """Return the counterfactuals of the points of these names, each once, in an order that is that of each point."""
    trials: dict[tuple[str, str], _Trial] = {}
    for name in names:
        for place, one in enumerate(_counterfactuals(work.peer, cases[name][0].scenario)):
            key = (one.difference, "" if one.peer is None else one.peer.identity())
            trial = trials.setdefault(key, _Trial(counterfactual=one, points=[], place=place))
            trial.points.append(name)
            trial.place = max(trial.place, place)
    return sorted(trials.values(), key=lambda trial: trial.place)


def _counterfactuals(peer: Peer, scenario: Scenario) -> list[Counterfactual]:
    """Return the counterfactuals of the peer and, if losses are random, our losses, alone and with the last of them."""
    offered = getattr(peer, "counterfactuals", None)
    rules = [] if offered is None else list(offered(scenario))
    if not is_random(scenario):
        return rules
    found = [*rules, Counterfactual(difference=LOSSES, peer=SameLosses(peer))]
    if rules and rules[-1].peer is not None:
        both = f"{rules[-1].difference}; {LOSSES}"
        found.append(Counterfactual(difference=both, peer=SameLosses(rules[-1].peer)))
    return found


def _open(points: pd.DataFrame, names: Iterable[str]) -> pd.Series:
    """Return which rows disagree, are traced to nothing yet, and belong to points of these names.

    A grid may evaluate parts of a point; their names are that of the point, a comma, and a suffix.
    """
    beginnings = tuple(f"{name}, " for name in names)
    belongs = points["point"].map(lambda point: f"{point}, ".startswith(beginnings)).astype(bool)
    return ~points["agrees"].astype(bool) & (points["explanation"] == "") & belongs


def _name(row: Mapping[Any, Any]) -> tuple[str, ...]:
    return tuple(str(row[name]) for name in NAMES if name in row)


def _named(points: pd.DataFrame) -> dict[tuple[str, ...], Mapping[Any, Any]]:
    return {_name(row): row for row in points.to_dict("records")}


def _then(row: Mapping[Any, Any], side: Side) -> str:
    """Return the value of the changed side, if the grid reports the compared value."""
    title = {"peer": "as ours", "ours": "ours then"}[side]
    return f" ({title}: {shown(row[side])})" if side in row else ""
