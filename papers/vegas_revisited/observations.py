"""Everything that is read from the engine itself and from single runs instead of from the tables' cells.

Looks are planned, kept and concluded from as `looks` says; the comparison of Tables I and IV runs the tables' own scenarios
with common seeds; switches and defaults are read from the engine without a run.
"""

from __future__ import annotations

import string
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

import dumbbell
from dumbbell import Runs, ScenarioError
from dumbbell.papers import PlannedRun, Settings

from . import scripted, traffic
from .assumptions import calibrated
from .looks import SEEN, SEEN_VALUES, scenario_name
from .scenarios import experiment, stable_seed
from .scripted import single
from .traces import TracedRun

LOOKS = (*scripted.LOOKS, *traffic.LOOKS)

BY_SCENARIO = {scenario_name(look.name): look for look in LOOKS}

# Pairs of backgrounds: Reno's runs against the first are in Table I, against the second in Table IV.
COMPARED = (("reno", "reno"), ("vegas", "vegasfix"))
COMPARED_RUNS = 3


def switches() -> list[str]:
    """Return the letters that the engine accepts as switches of single algorithms."""
    accepted = []
    for letter in string.ascii_uppercase:
        try:
            single("switches", f"fix:{letter}")
        except ScenarioError:
            continue
        accepted.append(letter)
    return accepted


def defaults() -> dict[str, float]:
    """Return the engine's defaults of Vegas's parameters."""
    for algorithm in dumbbell.catalogue()["algorithms"]:
        if algorithm["name"] == "vegas":
            return {
                parameter["name"]: float(parameter["default"])
                for parameter in algorithm["parameters"]
                if parameter["name"] in ("alpha", "beta", "gamma")
            }
    raise LookupError("the engine knows no algorithm named vegas")


def plan(settings: Settings) -> list[PlannedRun]:
    """Return the runs of all looks, and those that compare Tables I and IV."""
    runs = [run for look in LOOKS for run in look.plan(settings)]
    for load in ("low", "high"):
        seed = stable_seed(settings.seed, f"tables/{load}")
        for background in dict.fromkeys(name for pair in COMPARED for name in pair):
            runs += [
                PlannedRun(
                    key=f"compared/{background}|{load}",
                    scenario=experiment("reno", background, load, calibrated()),
                    seed=seed,
                    run=number,
                    stage="traced runs",
                )
                for number in range(COMPARED_RUNS)
            ]
    return runs


def reduce(runs: Runs) -> pd.DataFrame:
    """Return the reduction of each run of a batch that belongs to a look; nothing for the others."""
    names: list[list[str] | None] = []
    values: list[list[list[float]] | None] = []
    for number, job in enumerate(runs.jobs):
        look = BY_SCENARIO.get(job.scenario.name or "")
        kept = (None, None) if look is None else look.kept(TracedRun(runs, number))
        names.append(kept[0])
        values.append(kept[1])
    return pd.DataFrame({SEEN: names, SEEN_VALUES: values})


def _tables_one_and_four(results: pd.DataFrame) -> tuple[float, float]:
    """Return the largest difference between Tables I and IV in Reno's runs: Reno columns, and Vegas columns, KB/s.

    Runs whose transfer did not end against one of the backgrounds are left out.
    """
    ended = results["throughput"].where(results["completed"] > 0)

    def throughput(background: str) -> Any:
        keys = [f"compared/{background}|{load}" for load in ("low", "high")]
        return np.concatenate([ended[results["key"] == key] for key in keys])

    gaps = [float(np.nanmax(np.abs(throughput(one) - throughput(four)))) for one, four in COMPARED]
    return gaps[0], gaps[1]


def conclude(results: pd.DataFrame) -> dict[str, Any]:
    """Return the observations whose runs are in the table of results, by name."""
    found: dict[str, Any] = {}
    for look in LOOKS:
        concluded = look.concluded(results)
        if concluded is not None:
            found[look.name] = concluded
    if "figure_2" in found:
        found["thresholds"] = found["figure_2"].pop("thresholds")
    found |= found.pop("long_flows", {})
    if results["key"].astype(str).str.startswith("compared/").any():
        found["tables_one_and_four"] = _tables_one_and_four(results)
    return found


def observe() -> Mapping[str, Any]:
    """Return observations from the engine without runs."""
    return {"switches": switches(), "defaults": defaults()}
