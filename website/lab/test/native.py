"""Runs scenarios natively, for a comparison with the lab: lines of `dumbbell-chaos emit` in, lines of JSON out.

A line has the scenario as ``toml``, ``seed`` and ``run``, the ``fingerprint``, the rows of ``flows`` and ``links``, and of
each trace the SHA-256 of its times and values. A scenario that needs more than the engine has only ``skipped``.
"""

from __future__ import annotations

import hashlib
import json
import sys
import warnings
from typing import Any

import numpy as np

import dumbbell


def digests(run: dumbbell.Run) -> dict[str, str]:
    """Return the digests of traces by name and quantity."""
    made = {}
    for quantity, table in run.arrow_traces.items():
        if "value" not in table.column_names:
            continue
        names = np.asarray(table["name"].to_pylist())
        for name in dict.fromkeys(names.tolist()):
            columns = (table[column].to_numpy()[names == name] for column in ("time_s", "value"))
            content = b"".join(np.asarray(column, dtype="<f8").tobytes() for column in columns)
            made[f"{name} {quantity}"] = hashlib.sha256(content).hexdigest()
    return made


def native(line: str) -> dict[str, Any]:
    """Return what a scenario gives."""
    drawn = json.loads(line)
    seed, number = drawn["seed"], drawn["run"]
    try:
        scenario = dumbbell.Scenario.from_dict(drawn["scenario"])
        run = dumbbell.run(scenario, seed=seed, run=number)
    except dumbbell.DumbbellError as error:
        return {"skipped": str(error)}
    return {
        "toml": scenario.to_toml(),
        "seed": str(seed),
        "run": str(number),
        "fingerprint": run.fingerprint,
        "flows": run.arrow_flows.to_pylist(),
        "links": run.arrow_links.to_pylist(),
        "traces": digests(run),
    }


if __name__ == "__main__":
    warnings.simplefilter("ignore", dumbbell.ScenarioWarning)
    for line in sys.stdin:
        sys.stdout.write(json.dumps(native(line)) + "\n")
        sys.stdout.flush()
