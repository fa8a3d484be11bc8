"""Cross-validation: our scenarios run in other simulators, and the agreement of the results.

A peer is a folder under ``peers/`` with a value ``PEER`` that follows the `Peer` protocol, a grid a file under
``peers/grids/`` with a value ``GRID`` that follows `Grid`. They use the public API only.
"""

from __future__ import annotations

from dumbbell.crossvalidation.distances import distances, shares
from dumbbell.crossvalidation.figures import overlays, ratio_figure, scatter
from dumbbell.crossvalidation.grid import Agreement, Case, Grid, Side, load_grids
from dumbbell.crossvalidation.loading import folder
from dumbbell.crossvalidation.peer import (
    Counterfactual,
    Observed,
    Peer,
    PeerAbsent,
    PeerRun,
    Rule,
    available,
    load_peer,
)
from dumbbell.crossvalidation.tables import comparison_table, peer_title, points_table
from dumbbell.crossvalidation.traces import Distance, distance, largest_distance, sampled
from dumbbell.crossvalidation.validation import CrossValidation, cross_validate
from dumbbell.judge.criterion import Criterion, counted, criteria_table, criterion
from dumbbell.judge.pairs import differences, overlap, ratios, within

__all__ = [
    "Agreement",
    "Case",
    "Counterfactual",
    "Criterion",
    "CrossValidation",
    "Distance",
    "Grid",
    "Observed",
    "Peer",
    "PeerAbsent",
    "PeerRun",
    "Rule",
    "Side",
    "available",
    "comparison_table",
    "counted",
    "criteria_table",
    "criterion",
    "cross_validate",
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
]
