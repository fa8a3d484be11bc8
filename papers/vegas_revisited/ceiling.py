"""The share of claims that sampling in the paper itself allows to hold.

The paper's tables are means of 50 runs, and its effects and marks have the errors of such means. If the paper were repeated
with its own means and spread, not all of its claims would hold again. The ceiling is the mean share that hold in such
repetitions. Claims that are judged on other runs are taken to hold, so that the ceiling is an upper limit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np
import pandas as pd

from dumbbell.claims import GROUPS, SHORT_GROUPS, Claim, Finding, judge

from .evidence import METRICS, PAPER_RUNS, Evidence
from .plan import table_configurations
from .printed import effect_column, foreground_table, printed_column
from .sensitivity import tested

REPETITIONS = 40
SEED = 20000326

# The paper prints no effects on retransmitted data in the WAN.
UNPRINTED = "wan-rtx"

RELEASED_TABLES = {"thr": "I", "rtx": "II"}


@cache
def _moments(metric: str, foreground: str, background: str, load: str) -> tuple[float, float]:
    """Return mean and standard deviation of the runs of a configuration, as the paper's tables imply them."""
    if metric == "rtx" and load == "wan":
        return float("nan"), float("nan")
    corrected = "vegasfix" if background == "vegas" else background
    column = printed_column(metric, load, corrected)
    if background == "vegas" or foreground == "vegas":
        printed = foreground_table(RELEASED_TABLES[metric])
        row = printed.rows["reno" if foreground == "cell000" else foreground]
        return row[printed.columns.index((load, background))], column.s_e()
    cell = foreground.removeprefix("cell")
    return effect_column(column.table, background).cell_mean(cell), column.s_e()


def repetition(generator: np.random.Generator) -> pd.DataFrame:
    """Return the table of results of a repetition of the paper: normal errors around the printed means."""
    configurations = list(table_configurations())
    columns: dict[str, list[np.ndarray]] = {column: [] for column in METRICS.values()}
    for foreground, background, load in configurations:
        for metric, column in METRICS.items():
            moments = _moments(metric, foreground, background, load)
            columns[column].append(generator.normal(*moments, PAPER_RUNS))
    keys = [f"table/{foreground}|{background}|{load}" for foreground, background, load in configurations]
    return pd.DataFrame(
        {
            "key": np.repeat(keys, PAPER_RUNS),
            "seed": 1,
            "run": np.tile(np.arange(PAPER_RUNS), len(keys)),
        }
        | {column: np.concatenate(parts) for column, parts in columns.items()}
    )


def ceilings(claims: Sequence[Claim[Evidence]], findings: Sequence[Finding]) -> dict[str, float]:
    """Return the ceiling of each group of claims, percent.

    Parameters
    ----------
    claims
        All claims of the paper.
    findings
        The findings on them; those that count in the headline make the shares.
    """
    counted: Mapping[str, Finding] = {finding.claim.id: finding for finding in findings if finding.counts}
    repeated = [claim for claim in tested(claims) if claim.id in counted and claim.scenario != UNPRINTED]
    generator = np.random.default_rng(SEED)
    missed = dict.fromkeys(SHORT_GROUPS, 0)
    for _ in range(REPETITIONS):
        evidence = Evidence(repetition(generator), {}, full=False, resamples=0)
        for finding in judge(repeated, evidence):
            for short, kinds in zip(SHORT_GROUPS, GROUPS.values(), strict=True):
                missed[short] += finding.claim.kind in kinds and finding.holds is False
    shares = {}
    for short, kinds in zip(SHORT_GROUPS, GROUPS.values(), strict=True):
        total = sum(finding.claim.kind in kinds for finding in counted.values())
        shares[short] = 100 * (1 - missed[short] / REPETITIONS / total) if total else float("nan")
    return shares
