"""Which runs, flows and links of both sides are compared with each other."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from dumbbell.comparison.rows import Sample
from dumbbell.comparison.sides import points
from dumbbell.errors import refusal
from dumbbell.pooling import VALUES, pooled_values
from dumbbell.runs import Runs

if TYPE_CHECKING:
    import numpy as np

MOST_FLOWS = 8
"""Flows of a point that are compared one by one: those with the highest goodput."""


def matched(both: tuple[Runs, Runs], notes: list[str]) -> dict[str, tuple[list[int], list[int]]]:
    """Return the jobs of both sides at the points that they have in common."""
    first, second = points(both[0]), points(both[1])
    if len(first) == len(second) == 1:
        return {"{}": (next(iter(first.values())), next(iter(second.values())))}
    common = {point: (jobs, second[point]) for point, jobs in first.items() if point in second}
    if not common:
        accepted = f"points of A: {', '.join(list(first)[:3])}"
        raise refusal(
            "b",
            ", ".join(list(second)[:3]),
            accepted,
            problem="are points that A does not have",
            quoted=False,
        )
    for side, alone in (("A", first.keys() - second.keys()), ("B", second.keys() - first.keys())):
        if alone:
            notes.append(
                f"{len(alone)} points are only in {side} and not compared: {', '.join(sorted(alone)[:3])}."
            )
    return common


def sample_of(
    both: tuple[Runs, Runs], jobs: tuple[list[int], list[int]], point: str, random: str, notes: list[str]
) -> Sample:
    """Return the runs of a point, those of pairs in the same order."""
    keys = [
        {(one.jobs[job].seed, one.jobs[job].run): job for job in some}
        for one, some in zip(both, jobs, strict=True)
    ]
    pairs = [pair for pair in keys[0] if pair in keys[1]]
    paired = not random and bool(pairs)
    ordered = [[keys[side][pair] for pair in pairs] if paired else list(jobs[side]) for side in (0, 1)]
    if random:
        notes.append(f"Runs are compared as independent: {random} draws other random numbers on both sides.")
    elif not pairs:
        notes.append("Runs are compared as independent: no seed and run number are on both sides.")
    else:
        notes.append(
            "Runs with the same seed and number are compared in pairs: both sides draw the same random numbers."
        )
        alone = [len(some) - len(pairs) for some in jobs]
        if any(alone):
            notes.append(f"{alone[0]} runs of A and {alone[1]} of B have no partner and are not compared.")
    return Sample(
        point=json.loads(point),
        paired=paired,
        flows=(_chosen(both[0].arrow_flows, ordered[0]), _chosen(both[1].arrow_flows, ordered[1])),
        links=(_chosen(both[0].arrow_links, ordered[0]), _chosen(both[1].arrow_links, ordered[1])),
        recorded={
            trace: (_values(both[0], trace, ordered[0]), _values(both[1], trace, ordered[1]))
            for trace in VALUES
            if trace in both[0].arrow_traces and trace in both[1].arrow_traces
        },
    )


def _chosen(table: Any, jobs: Sequence[int]) -> pd.DataFrame:
    """Return the rows of some jobs, numbered and sorted by their order."""
    place = {job: number for number, job in enumerate(jobs)}
    frame: pd.DataFrame = table.to_pandas()
    frame = frame[frame["job"].isin(list(place))]
    return frame.assign(job=frame["job"].map(place)).sort_values("job", kind="stable")


def _values(runs: Runs, trace: str, jobs: Sequence[int]) -> dict[str, list[np.ndarray]]:
    place = {job: number for number, job in enumerate(runs.completed_jobs)}
    return {name: [values[place[job]] for job in jobs] for name, values in pooled_values(runs, trace).items()}


def names_of(sample: Sample, notes: list[str]) -> tuple[list[str], list[str]]:
    """Return the flows and links that are compared, and note the others."""
    chosen: list[list[str]] = []
    for kind, (a, b) in (("flows", sample.flows), ("links", sample.links)):
        first, second = list(dict.fromkeys(a["name"])), list(dict.fromkeys(b["name"]))
        for side, alone in (
            ("A", [n for n in first if n not in second]),
            ("B", [n for n in second if n not in first]),
        ):
            if alone:
                notes.append(f"{kind} only in {side}: {', '.join(alone[:MOST_FLOWS])}.")
        chosen.append([name for name in first if name in second])
    flows, links = chosen
    if len(flows) > MOST_FLOWS:
        best = pd.concat(sample.flows).groupby("name")["goodput_bps"].mean().sort_values(ascending=False)
        kept = set(best[best.index.isin(flows)].index[:MOST_FLOWS])
        notes.append(
            f"Of {len(flows)} flows, the {MOST_FLOWS} with the highest goodput are compared one by one."
        )
        flows = [name for name in flows if name in kept]
    queueing = [name for name in links if any(_queues(side, name) for side in sample.links)]
    if queueing and len(queueing) < len(links):
        notes.append("Links without a queue or losses on both sides are not listed.")
    return flows, queueing or links


def _queues(links: pd.DataFrame, name: str) -> bool:
    columns = [column for column in links if str(column).startswith("drops_")] + [
        "backlog_max_packets",
        "marks",
    ]
    return bool((links.loc[links["name"] == name, columns].fillna(0) > 0).to_numpy().any())
