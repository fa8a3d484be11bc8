"""Reproducing papers: plan the runs, run what is missing, evaluate the claims, write reports.

A paper is a folder under ``papers/`` whose ``__init__.py`` has a value ``PAPER`` of a class derived from `Paper`. It uses
the public API only. `reproduce` implements ``dumbbell reproduce NAME``, `reproduce_all` implements ``dumbbell
reproduce all``.

The runs of a paper are a campaign, see `dumbbell.campaign`: completed ones are stored beside the reports, keyed by
the engine, the paper's reduction, the scenario's hash, the seed and the run number, as soon as the engine returns
them. A reproduction resumes after an interruption or a kill, and a second one reuses completed runs. Damage is
reported, and the affected runs are repeated.

A paper may offer additional experiments, see `Paper`; `reproduce` runs one of them if it is named. A paper with claims
about real machines may have a real-time plan; `reproduce_on_testbed` implements ``dumbbell reproduce NAME --testbed``.
"""

from __future__ import annotations

from dumbbell.campaign import Interrupted
from dumbbell.papers.claimed import ClaimedPaper
from dumbbell.papers.on_testbed import reproduce_on_testbed
from dumbbell.papers.one_claim import Export, JudgedClaims, claims_of, reproduce_claims
from dumbbell.papers.overview import Overview, reproduce_all
from dumbbell.papers.paper import (
    Evaluation,
    Paper,
    PlannedRun,
    RealTime,
    Settings,
    Stage,
    Steps,
    available,
    folder,
    load,
)
from dumbbell.papers.readings import Reading
from dumbbell.papers.real_time import Measured
from dumbbell.papers.reproduction import Reproduction, reproduce

__all__ = [
    "ClaimedPaper",
    "Evaluation",
    "Export",
    "Interrupted",
    "JudgedClaims",
    "Measured",
    "Overview",
    "Paper",
    "PlannedRun",
    "Reading",
    "RealTime",
    "Reproduction",
    "Settings",
    "Stage",
    "Steps",
    "available",
    "claims_of",
    "folder",
    "load",
    "reproduce",
    "reproduce_all",
    "reproduce_claims",
    "reproduce_on_testbed",
]
