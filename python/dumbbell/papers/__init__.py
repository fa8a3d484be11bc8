"""Reproducing papers: plan the runs, make those that are missing, judge the claims, write reports.

A paper is a folder under ``papers/`` whose ``__init__.py`` has a value ``PAPER`` that follows the `Paper` protocol. It
uses the public API only. `reproduce` is what ``dumbbell reproduce NAME`` calls, `reproduce_all` is behind
``dumbbell reproduce all``.

The runs of a paper are a campaign, see `dumbbell.campaign`: finished ones are kept in a store beside the reports, keyed by
the engine, the paper's reduction, the scenario's hash, the seed and the run, as soon as the engine tells of them. A
reproduction that was interrupted or killed goes on from there, and a second one starts from what is there. What is damaged
there is said, and its runs are made again.

A paper may offer further experiments beside what it ran itself, see `Paper`; `reproduce` makes one of them when it is named.
"""

from __future__ import annotations

from dumbbell.campaign import Interrupted
from dumbbell.papers.claimed import ClaimedPaper
from dumbbell.papers.overview import Overview, reproduce_all
from dumbbell.papers.paper import Paper, PlannedRun, Settings, Steps, available, folder, load
from dumbbell.papers.reproduction import Reproduction, reproduce

__all__ = [
    "ClaimedPaper",
    "Interrupted",
    "Overview",
    "Paper",
    "PlannedRun",
    "Reproduction",
    "Settings",
    "Steps",
    "available",
    "folder",
    "load",
    "reproduce",
    "reproduce_all",
]
