"""Fit the background of the experiments to the paper's numbers, and freeze it in ``calibration.toml`` and the tables beside it.

Two numbers are fitted: Reno's throughput (73.4 KB/s) and retransmitted data (48.6 KB) against Reno at low load. Free are the
buffers of the background's hosts (4 KiB, the default of the authors' TCP, or 128 KiB, as for the measured transfer), the sizes
of conversations (a factor on tcplib's sizes, and a cap), and the warm-up. Three free numbers meet two printed ones, so a family
of points fits. Its members differ in how fast load accumulates on a long path, and the four means of the WAN (Table X) decide
among them.

The rule, stated after exploratory scans had shown the family and before the scan that wrote the file:

1. The whole grid is run; the best points are run again, longer. A point fits if both means lie within 1.645 standard errors
   of the printed ones, which are means of 50 runs with the spread that the paper's tables imply.
2. Buffers of 4 KiB take precedence over 128 KiB.
3. Of the points left, the one is chosen whose four means of Table X have the smallest sum of squared relative errors.

Nothing else decides: neither high load on the LAN nor any effect, share or mark. For every point with a misfit within 0.1 of the
smallest one, a table also has the means at high load and in the WAN and the share of the tables' claims that hold, so that the
reader sees what another choice would do.

Run with ``python -m dumbbell_papers.vegas_revisited.calibrate``.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd
import tomli_w
from rich.console import Console

import dumbbell
from dumbbell import Job
from dumbbell.claims import GROUPS, SHORT_GROUPS, judge

from . import PAPER
from .assumptions import Assumptions
from .evidence import Evidence
from .plan import table_configurations
from .scenarios import ALIASES, experiment, stable_seed
from .sensitivity import tested

TARGETS = {"throughput": 73.4, "retransmitted": 48.6}
STANDARD_ERRORS = {"throughput": 9.18 / math.sqrt(50), "retransmitted": 5.92 / math.sqrt(50)}
QUANTILE = 1.645
NEAR = 0.1

BUFFERS = ("4 KiB", "128 KiB")
CAPS_KB = (10, 15, 20, 30, 60, 100, 200, 300, None)
MULTIPLIERS = (0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0)
WARM_UPS_S = (5.0, 10.0, 20.0, 40.0, 60.0, 80.0, 100.0, 150.0, 300.0)
SCAN_RUNS = 80
FINALISTS = 48
FINALIST_RUNS = 600
CHECK_RUNS = 2000
TABLE_X_RUNS = 40
SCORE_RUNS = 16
WAN_RUNS = 8
SEED = 20000326

TABLE_X = (
    ("reno", "reno", "wan", 15.2),
    ("vegasfix", "reno", "wan", 18.6),
    ("reno", "vegasfix", "wan", 14.7),
    ("vegasfix", "vegasfix", "wan", 16.4),
)
"""Foreground, background, load and printed throughput (KB/s) of the means that decide among the points that fit."""

SHOWN = (
    ("reno", "reno", "high", 16.1),
    ("vegas", "reno", "high", 35.1),
    ("reno", "vegas", "high", 13.3),
    ("vegas", "vegas", "high", 29.2),
    *TABLE_X,
)
"""The same for Tables I and X, as they are shown for every point; nothing is fitted to those at high load."""


@dataclass(frozen=True, kw_only=True)
class Point:
    """A point of the grid.

    Parameters
    ----------
    buffer
        Buffers of the background's hosts.
    cap_kb
        Most bytes of a conversation, kB; ``None`` for no cap.
    multiplier
        Factor on tcplib's sizes.
    warm_up_s
        Warm-up, s.
    """

    buffer: str
    cap_kb: int | None
    multiplier: float
    warm_up_s: float

    def to_dict(self) -> dict[str, Any]:
        """Return the point as it is written to the file."""
        return {
            "background_buffer": self.buffer,
            "conversation_cap": "none" if self.cap_kb is None else f"{self.cap_kb} kB",
            "size_multiplier": self.multiplier,
            "warm_up_s": self.warm_up_s,
        }


def setting(point: Point) -> Assumptions:
    """Return the paper's assumptions at a point of the grid."""
    return replace(
        Assumptions(),
        background_buffer=point.buffer,
        conversation_cap=None if point.cap_kb is None else f"{point.cap_kb} kB",
        size_multiplier=point.multiplier,
        warm_up_s=point.warm_up_s,
    )


def reduced(jobs: Sequence[Job]) -> pd.DataFrame:
    """Return the reduction of some runs, in their order."""
    return PAPER.reduce(dumbbell.run_many(jobs))


def measure(points: Sequence[Point], runs: int, seed: int) -> list[dict[str, Any]]:
    """Return the results of Reno against Reno at low load at some points of the grid, one row for each.

    Parameters
    ----------
    points
        Points of the grid.
    runs
        Runs of each point.
    seed
        Seed of all of them.
    """
    frame = reduced(
        [
            Job(scenario=experiment("cell000", "reno", "low", setting(point)), seed=seed, run=run)
            for point in points
            for run in range(runs)
        ]
    )
    rows = []
    for index, point in enumerate(points):
        part = frame.iloc[index * runs : (index + 1) * runs]
        means = {name: float(part[name].mean()) for name in TARGETS}
        misses = [means[name] / target - 1 for name, target in TARGETS.items()]
        rows.append(
            point.to_dict()
            | {name: round(mean, 2) for name, mean in means.items()}
            | {"misfit": round(math.hypot(*misses), 4)}
        )
    return rows


def point_of(row: Mapping[str, Any]) -> Point:
    """Return the point of the grid a row belongs to."""
    cap = row["conversation_cap"]
    return Point(
        buffer=row["background_buffer"],
        cap_kb=None if cap == "none" else int(cap.split()[0]),
        multiplier=row["size_multiplier"],
        warm_up_s=row["warm_up_s"],
    )


def fits(row: Mapping[str, Any]) -> bool:
    """Return whether both means are within the sampling error of the printed ones."""
    return all(
        abs(row[name] - target) <= QUANTILE * STANDARD_ERRORS[name] for name, target in TARGETS.items()
    )


def table_x_misfit(point: Point) -> float:
    """Return the sum of squared relative errors of the four means of Table X at a point."""
    base = setting(point)
    total = 0.0
    for foreground, background, load, printed in TABLE_X:
        scenario = experiment(foreground, background, load, base)
        jobs = [Job(scenario=scenario, seed=SEED + 4, run=run) for run in range(TABLE_X_RUNS)]
        total += (float(reduced(jobs)["throughput"].mean()) / printed - 1) ** 2
    return round(total, 4)


def choose(finalists: Sequence[dict[str, Any]]) -> Point:
    """Return the point that the rule chooses, and note in each point that competes how far it is from Table X.

    Parameters
    ----------
    finalists
        The best points of the scan, repeated; they receive ``fits`` and ``table_x_misfit``.
    """
    for row in finalists:
        row["fits"] = fits(row)
    fitting = [row for row in finalists if row["fits"]]
    if not fitting:
        return point_of(min(finalists, key=lambda row: row["misfit"]))
    buffer = min((row["background_buffer"] for row in fitting), key=BUFFERS.index)
    competing = [row for row in fitting if row["background_buffer"] == buffer]
    for row in competing:
        row["table_x_misfit"] = table_x_misfit(point_of(row))
    return point_of(min(competing, key=lambda row: row["table_x_misfit"]))


def shown(point: Point) -> dict[str, Any]:
    """Return what a point does to numbers that the two targets do not fix.

    Returns
    -------
    dict
        Throughputs by foreground, background and load, KB/s; ``orderings`` and ``values``: the shares of the tables' measured
        claims on the LAN that hold, percent.
    """
    base = setting(point)
    chosen: list[tuple[str, int]] = []
    jobs = []
    far = {f"{foreground}|{background}" for foreground, background, load, _ in SHOWN if load == "wan"}
    for foreground, background, load in table_configurations():
        names = [name for name, cell in ALIASES.items() if cell == foreground] or [foreground]
        if load == "wan" and not any(f"{name}|{background}" in far for name in names):
            continue
        scenario = experiment(foreground, background, load, base)
        key = f"table/{foreground}|{background}|{load}"
        for run in range(WAN_RUNS if load == "wan" else SCORE_RUNS):
            chosen.append((key, run))
            jobs.append(Job(scenario=scenario, seed=stable_seed(SEED + 3, key), run=run))
    frame = reduced(jobs)
    keys = pd.DataFrame(chosen, columns=["key", "run"])
    evidence = Evidence(pd.concat([keys, frame], axis=1), {}, full=False, resamples=0)
    near = [
        claim for claim in tested(PAPER.claims()) if claim.scenario not in ("table-10", "table-11", "wan-rtx")
    ]
    findings = [finding for finding in judge(near, evidence) if finding.is_measured]
    shares = {}
    for short, kinds in zip(SHORT_GROUPS, GROUPS.values(), strict=True):
        held = [finding.holds for finding in findings if finding.claim.kind in kinds]
        shares[short] = round(100 * held.count(True) / len(held), 1)
    throughputs = {
        f"{foreground}|{background}|{load}": round(float(evidence.thr(foreground, background, load)[0]), 2)
        for foreground, background, load, _ in SHOWN
    }
    return shares | throughputs


def main() -> None:
    """Scan the grid, choose a point by the rule, measure it with separate runs, and write what was found."""
    console = Console()
    sizes = list(itertools.product(CAPS_KB, MULTIPLIERS))
    scan = []
    for buffer, warm_up in itertools.product(BUFFERS, WARM_UPS_S):
        points = [
            Point(buffer=buffer, cap_kb=cap, multiplier=factor, warm_up_s=warm_up) for cap, factor in sizes
        ]
        scan += measure(points, SCAN_RUNS, SEED)
        console.print(min(scan[-len(points) :], key=lambda row: row["misfit"]))
    best = sorted(scan, key=lambda row: row["misfit"])[:FINALISTS]
    finalists = sorted(
        measure([point_of(row) for row in best], FINALIST_RUNS, SEED + 1), key=lambda row: row["misfit"]
    )
    chosen = choose(finalists)
    for row in finalists:
        console.print(row)
    check = measure([chosen], CHECK_RUNS, SEED + 2)[0]
    console.print("chosen", check)
    document: dict[str, Any] = {
        "targets": TARGETS,
        "chosen": check | {"runs": CHECK_RUNS, "engine": dumbbell.__version__},
        "scan_runs": SCAN_RUNS,
        "finalist_runs": FINALIST_RUNS,
        "table_x_runs": TABLE_X_RUNS,
        "score_runs": SCORE_RUNS,
        "wan_runs": WAN_RUNS,
    }
    here = Path(__file__).parent
    text = "# Written by calibrate.py and frozen. The two targets and Table X decide, and nothing else.\n\n"
    (here / "calibration.toml").write_text(text + tomli_w.dumps(document), encoding="utf-8")
    for name, rows in {"scan": scan, "finalists": finalists}.items():
        pd.DataFrame(rows).to_csv(here / f"calibration-{name}.csv", index=False)
    limit = min(row["misfit"] for row in scan) + NEAR
    near = []
    for row in sorted((row for row in scan if row["misfit"] <= limit), key=lambda row: row["misfit"]):
        near.append(row | shown(point_of(row)))
        console.print(near[-1])
    pd.DataFrame(near).to_csv(here / "calibration-near.csv", index=False)


if __name__ == "__main__":
    main()
