"""Campaigns: scenarios × parameters × replications, made once, kept, queried, and extended later.

`Campaign` is the public face. Below it lies what everything that makes many runs shares, papers and cross-validation too: planned
runs beside the store that keeps them (`PlannedRuns`, `Store`), what makes the missing ones (`on_threads`, `on_cluster`), and
what is shown meanwhile (`Display`).
"""

from __future__ import annotations

from dumbbell.campaign.campaign import Campaign, CampaignRun, Status
from dumbbell.campaign.cluster import ClusterError, on_cluster
from dumbbell.campaign.execution import Reduction, on_threads
from dumbbell.campaign.planned import Interrupted, PlannedRuns
from dumbbell.campaign.points import Point
from dumbbell.campaign.progress import Display, duration
from dumbbell.campaign.reductions import tables
from dumbbell.campaign.sources import reduction_identity
from dumbbell.campaign.store import INDEX, Store, engine_identity

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
