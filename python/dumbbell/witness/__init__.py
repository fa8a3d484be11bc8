"""Witnesses: our scenarios run by other simulators too, and how far both sides agree.

A peer is a folder under ``peers/`` with a value ``PEER`` that follows the `Peer` protocol, a grid a file under
``peers/grids/`` with a value ``GRID`` that follows `Grid`. They use the public API only.
"""

from __future__ import annotations

from dumbbell.witness.grid import Agreement, Case, Criterion, Grid, load_grids
from dumbbell.witness.loading import folder
from dumbbell.witness.peer import Observed, Peer, PeerAbsent, PeerRun, Rule, available, load_peer
from dumbbell.witness.traces import Distance, distance, largest_distance, sampled

__all__ = [
    "Agreement",
    "Case",
    "Criterion",
    "Distance",
    "Grid",
    "Observed",
    "Peer",
    "PeerAbsent",
    "PeerRun",
    "Rule",
    "available",
    "distance",
    "folder",
    "largest_distance",
    "load_grids",
    "load_peer",
    "sampled",
]
