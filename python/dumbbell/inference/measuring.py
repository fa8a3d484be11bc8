"""Measures fits against captures whose path is known, and calibrates intervals: ``python -m dumbbell.inference.measuring``.

``--calibrate`` computes `calibration.json` from development captures (seed 1). Without it, fits of held-out captures are
compared with their truth and printed as the tables of ``docs/fit.md``. Captures are kept in a folder and made once.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dumbbell.files import make_folder, write_json
from dumbbell.inference import calibration, tabulated, truth
from dumbbell.inference.fitted import Fit, fit, proportion
from dumbbell.runs import Run, run

Row = dict[str, Any]

# A lone flow does not tell these apart.
ALIKE = {"fqcodel": "codel"}
# The kernel's names of controls that are others in the registry.
NAMES = {"westwood": ("westwoodl",)}


def made(case: truth.Case, folder: Path, number: int) -> tuple[Path, Row]:
    """Return the capture of a case and what its flow reached, as it was and with another control; made if missing."""
    stem = f"{case.stack}-{case.seed}-{number}"
    capture, record = folder / f"{stem}.pcapng", folder / f"{stem}.json"
    if not (capture.exists() and record.exists()):
        other = "cubic" if case.control == "bbr" else "bbr"
        reached = _reached(run(case.scenario, seed=case.seed, pcap=capture, node="a"))
        changed = _reached(run(case.with_control(other), seed=case.seed))
        write_json(
            record, {"other": other, **reached, **{f"other_{name}": value for name, value in changed.items()}}
        )
    found: Row = json.loads(record.read_text(encoding="utf-8"))
    return capture, found


def _reached(done: Run) -> dict[str, float]:
    return {
        "goodput": float(done.flow("flow").goodput_bps),
        "wait": float(done.link("bottleneck").wait_mean_s),
        "backlog": float(done.link("bottleneck").backlog_max_packets),
    }


def compared(case: truth.Case, capture: Path, reached: Mapping[str, Any], *, with_change: bool) -> Row:
    """Return how a fit of a case compares with its truth, as one row."""
    begin = time.monotonic()
    found = fit(capture, progress=False)
    row: Row = {
        "kind": case.kind, "stack": case.stack, "control": case.control, "judged": found.kind,
        "seconds": time.monotonic() - begin, "distance": found.distance, "simulations": found.simulations,
        "named": [one.control for one in found.controls], "likely": [one.control for one in found.likelihoods[:3]],
        "distances": {one.control: one.distance for one in found.likelihoods},
        "none": found.is_of_none, "flags": list(found.flags),
        "discipline": [case.discipline, found.discipline],
        "is_discipline": ALIKE.get(case.discipline, case.discipline) == ALIKE.get(found.discipline, found.discipline),
        "packets": case.rate_bps * case.base_rtt_s / 12_000 + (case.buffer_packets or 0),
    }  # fmt: skip
    accepted_names = NAMES.get(case.control, (case.control,))
    row["is_named"] = any(name in row["likely"] for name in accepted_names)
    row["truth"] = _truth(case)
    row["scores"] = _scores(found, row["truth"])
    for name, value in row["truth"].items():
        if name in found.intervals:
            one = found.intervals[name]
            row[f"{name}_error"] = one.value / value - 1.0 if value else np.nan
            row[f"{name}_value"], row[f"{name}_covers"] = one.value, one.contains(value)
            row[f"{name}_is_bound"] = bool(np.isinf(one.high))
    if with_change:
        row |= _changed(found, case, reached)
    return row


def _truth(case: truth.Case) -> dict[str, float]:
    known: dict[str, float] = {"rate_bps": case.rate_bps, "base_rtt_s": case.base_rtt_s}
    if case.buffer_packets is not None:
        known["buffer_packets"] = float(case.buffer_packets)
    if case.loss:
        known["loss"] = case.loss
    return known


def _scores(found: Fit, known: Mapping[str, float]) -> dict[str, float]:
    """Return the scores of calibration of the parameters that the fit has."""
    scores = {}
    for name, value in known.items():
        if name not in calibration.PARAMETERS or calibration.parameter_of(found.accepted[0], name) is None:
            continue
        low, high = calibration.spread(found.accepted, name)
        middle = float(calibration.parameter_of(found.accepted[0], name) or 0.0)
        scores[name] = calibration.score(name, value, middle, low, high)
    if calibration.LOSS in known and found.accepted[0].path.forced:
        one = proportion(len(found.accepted[0].path.forced), found.sent)
        scores[calibration.LOSS] = calibration.score(
            calibration.LOSS, known[calibration.LOSS], one.value, one.low, one.high
        )
    return scores


def _changed(found: Fit, case: truth.Case, reached: Mapping[str, Any]) -> Row:
    predicted = found.what_if({"tcp": str(reached["other"])})
    goodput, queueing = predicted["goodput_bps"], predicted["queueing_s"]
    wait, rate = float(reached["other_wait"]), case.rate_bps
    return {
        "goodput_error": goodput.value / float(reached["other_goodput"]) - 1.0,
        "queueing_error_s": queueing.value - wait,
        "queueing_is_near": abs(queueing.value - wait) <= max(0.2 * wait, 0.002, 12_000 / rate),
        "goodput_covers": goodput.low <= float(reached["other_goodput"]) <= goodput.high,
    }


def rows_of(
    seed: int, numbers: Sequence[int], stack: str, folder: Path, *, with_change: bool, is_quiet: bool = False
) -> list[Row]:
    """Return the rows of cases; see `compared`."""
    make_folder(folder)
    rows = []
    for place, number in enumerate(numbers):
        case = truth.case(seed, number, stack=stack)
        capture, reached = made(case, folder, number)
        rows.append({"number": number} | compared(case, capture, reached, with_change=with_change))
        if not is_quiet:
            sys.stderr.write(f"{place + 1} of {len(numbers)}: {case.kind} {case.control}\n")
    return rows


def calibrated(rows: Sequence[Row], seed: int, stack: str) -> dict[str, Any]:
    """Return the content of `calibration.json`: factors by kind and parameter, and the captures they come from."""
    factors: dict[str, dict[str, float]] = {kind: {} for kind in calibration.KINDS}
    counts: dict[str, int] = {}
    for kind in calibration.KINDS:
        chosen = [row for row in rows if row["judged"] == kind]
        counts[kind] = len(chosen)
        for name in (*calibration.PARAMETERS, calibration.LOSS):
            scores = [row["scores"][name] for row in chosen if name in row["scores"]]
            # Of fewer captures, all kinds together.
            if len(scores) < LEAST_SCORES:
                scores = [row["scores"][name] for row in rows if name in row["scores"]]
            if scores:
                factors[kind][name] = float(f"{calibration.quantile(scores):.3g}")
    return {"seed": seed, "stack": stack, "level": calibration.LEVEL, "captures": counts, "factors": factors}


LEAST_SCORES = 6


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m dumbbell.inference.measuring", description=__doc__)
    parser.add_argument(
        "--seed", type=int, default=2, help="seed of the captures: 1 for development, others held out"
    )
    parser.add_argument("--count", type=int, default=96, help="number of captures")
    parser.add_argument("--stack", choices=truth.STACKS, default="linux", help="what sends")
    parser.add_argument("--folder", type=Path, default=Path("results/fit"), help="folder of captures")
    parser.add_argument("--calibrate", action="store_true", help="write calibration.json from these captures")
    parser.add_argument("--rows", type=Path, help="write all rows to this JSON file")
    given = parser.parse_args()
    if given.calibrate and given.seed != truth.DEVELOPMENT_SEED:
        parser.error("intervals are calibrated with seed 1 only: other seeds are held out")
    rows = rows_of(given.seed, range(given.count), given.stack, given.folder, with_change=not given.calibrate)
    if given.rows is not None:
        write_json(given.rows, {"rows": rows})
    if given.calibrate:
        write_json(Path(__file__).with_name(calibration.FILE), calibrated(rows, given.seed, given.stack))
    else:
        sys.stdout.write(tabulated.tables(rows))


if __name__ == "__main__":
    main()
