"""Campaigns: scenarios × parameters × replications, run once, stored, queried, and extended later.

`Campaign` is the public interface. The parts below it are shared with papers and cross-validation: planned runs and
their store (`PlannedRuns`, `Store`), execution of missing runs (`on_threads`, `on_cluster`), and progress
(`Display`).
"""

from __future__ import annotations

from dumbbell.campaign.campaign import Campaign, CampaignRun, Status
from dumbbell.campaign.cluster import ClusterError, on_cluster
from dumbbell.campaign.execution import Reduction, on_threads
from dumbbell.campaign.planned import Interrupted, PlannedRuns
from dumbbell.campaign.points import Point
from dumbbell.campaign.progress import Display
from dumbbell.campaign.reductions import tables
from dumbbell.campaign.sources import reduction_identity
from dumbbell.campaign.store import INDEX, Store, engine_identity
from dumbbell.durations import duration

__all__ = [
    "INDEX",
    "Campaign",
    "CampaignRun",
    "ClusterError",
    "Display",
    "Interrupted",
    "PlannedRuns",
    "Point",
    "Reduction",
    "Status",
    "Store",
    "duration",
    "engine_identity",
    "on_cluster",
    "on_threads",
    "reduction_identity",
    "tables",
]
