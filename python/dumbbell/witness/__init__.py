"""Witnesses: our scenarios run by other simulators too, and how far both sides agree.

A peer is a folder under ``peers/`` with a value ``PEER`` that follows the `Peer` protocol, a grid a file under
``peers/grids/`` with a value ``GRID`` that follows `Grid`. They use the public API only.
"""

from __future__ import annotations

from dumbbell.witness.agreement import (
    counted,
    criterion,
    differences,
    distances,
    overlap,
    ratios,
    shares,
    within,
)
from dumbbell.witness.figures import overlays, ratio_figure, scatter
from dumbbell.witness.grid import Agreement, Case, Criterion, Grid, Side, load_grids
from dumbbell.witness.loading import folder
from dumbbell.witness.peer import (
    Counterfactual,
    Observed,
    Peer,
    PeerAbsent,
    PeerRun,
    Rule,
    available,
    load_peer,
)
from dumbbell.witness.tables import comparison_table, criteria_table, peer_title, points_table
from dumbbell.witness.traces import Distance, distance, largest_distance, sampled
from dumbbell.witness.witnessing import Witnessed, witness

__all__ = [
    "Agreement",
    "Case",
    "Counterfactual",
    "Criterion",
    "Distance",
    "Grid",
    "Observed",
    "Peer",
    "PeerAbsent",
    "PeerRun",
    "Rule",
    "Side",
    "Witnessed",
    "available",
    "comparison_table",
    "counted",
    "criteria_table",
    "criterion",
    "differences",
    "distance",
    "distances",
    "folder",
    "largest_distance",
    "load_grids",
    "load_peer",
    "overlap",
    "overlays",
    "peer_title",
    "points_table",
    "ratio_figure",
    "ratios",
    "sampled",
    "scatter",
    "shares",
    "within",
    "witness",
]
