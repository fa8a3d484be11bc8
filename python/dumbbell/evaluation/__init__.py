"""Evaluation of a congestion control by RFC 9743 (BCP 133) and the common TCP evaluation suite.

`evaluate` plans the cases of all items (`dumbbell.evaluation.items`), runs what is missing in its store, compares the
algorithm with baselines at every point, and writes a report. An item is a value: cases, measures of a run, and limits.
Whether an item can run follows from the registry.
"""

from __future__ import annotations

from dumbbell.evaluation.evaluating import BASELINES, Evaluation, evaluate, split
from dumbbell.evaluation.item import ORDER, Verdict
from dumbbell.evaluation.items import ITEMS

__all__ = ["BASELINES", "ITEMS", "ORDER", "Evaluation", "Verdict", "evaluate", "split"]
