"""Measures fits against captures whose path is known, and calibrates intervals: ``python -m dumbbell.inference.measuring``.

Fits are compared with their truth and printed as the tables of ``docs/fit.md``. ``--calibrate`` computes `calibration.json`
from the rows of development captures (seed 1) of several stacks. Captures are kept in a folder and made once.
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

from dumbbell import _engine, testbed
from dumbbell.files import make_folder, write_json
from dumbbell.frames import arrow
from dumbbell.inference import calibration, tabulated, truth
from dumbbell.inference.fitted import Fit, proportion, result
from dumbbell.inference.fitting import ACCEPTED_BEYOND, ACCEPTED_FACTOR, Search
from dumbbell.inference.reading import read
from dumbbell.runs import Run, run
from dumbbell.scenario import Scenario
from dumbbell.testbed import RealTimeRun

Row = dict[str, Any]

# A lone flow does not tell these apart.
ALIKE = {"fqcodel": "codel"}
# Distances of controls that send the same differ by less than this.
SAME = 1e-9
# The kernel's names of controls that are others in the registry.
NAMES = {"westwood": ("westwoodl",), "vegas": ("vegasl",)}


def made(case: truth.Case, folder: Path, number: int) -> tuple[Path, Row]:
    """Return the capture of a case and what its flow reached, as it was and with another control; made if missing."""
    stem = f"{case.stack}-{case.seed}-{number}"
    capture, record = folder / f"{stem}.pcapng", folder / f"{stem}.json"
    if not (capture.exists() and record.exists()):
        other = "cubic" if case.control == "bbr" else "bbr"
        reached = _reached(_run(case.scenario, case, capture))
        changed = _reached(_run(case.with_control(other), case, None))
        write_json(
            record, {"other": other, **reached, **{f"other_{name}": value for name, value in changed.items()}}
        )
    found: Row = json.loads(record.read_text(encoding="utf-8"))
    return capture, found


def _run(scenario: Scenario, case: truth.Case, capture: Path | None) -> Run | RealTimeRun:
    if case.stack == "testbed":
        return testbed.run(scenario, seed=case.seed, pcap=capture)
    return run(scenario, seed=case.seed, pcap=capture, node=None if capture is None else "a")


def _reached(done: Run | RealTimeRun) -> dict[str, Any]:
    return {
        "is_disturbed": isinstance(done, RealTimeRun) and done.disturbed,
        "goodput": float(done.flow("flow").goodput_bps),
        "wait": float(done.link("bottleneck").wait_mean_s),
        "backlog": float(done.link("bottleneck").backlog_max_packets),
    }


def compared(case: truth.Case, capture: Path, reached: Mapping[str, Any]) -> Row:
    """Return how a fit of a case compares with its truth, as one row."""
    begin = time.monotonic()
    flow = number_of(capture)
    search = Search(seen=read(capture, flow))
    found = result(search, search.run())
    row: Row = {
        "kind": case.kind, "stack": case.stack, "control": case.control, "judged": found.kind, "hosts": found.setting.hosts,
        "noise_s": found.setting.noise_s, "p_value": found.p_value,
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
    # The smallest distance over all that may have sent it, as the calibration of "none of these" has it.
    row["nearest"] = min(one.distance for one in found.likelihoods)
    for name, value in row["truth"].items():
        if name in found.intervals:
            one = found.intervals[name]
            row[f"{name}_error"] = one.value / value - 1.0 if value else np.nan
            row[f"{name}_value"], row[f"{name}_covers"] = one.value, one.contains(value)
            row[f"{name}_is_bound"] = bool(np.isinf(one.high))
    row |= _changed(found, case, reached, row["scores"])
    row["without"] = _without(found, search, accepted_names, 1.0, SAME)
    row["without_alike"] = _without(found, search, accepted_names, ACCEPTED_FACTOR, ACCEPTED_BEYOND)
    return row


def number_of(capture: Path) -> int:
    """Return the number of the connection of the measured flow, which the first interface has."""
    rows = arrow(_engine.inspect(capture, 1, None).connections()).to_pylist()
    return next(place + 1 for place, row in enumerate(rows) if row["interface"] == 0)


def _without(found: Fit, search: Search, names: Sequence[str], factor: float, beyond: float) -> Row:
    """Return what a fit finds without the control that sent, and without those that are about as near to the capture.

    These have at most `factor` times the distance of the control that sent, plus `beyond`.
    """
    distances = {one.control: one.distance for one in found.likelihoods}
    limit = max((factor * distances[name] + beyond for name in names if name in distances), default=-1.0)
    left = [
        name
        for name, value in distances.items()
        if value > limit or (beyond == SAME and value < limit - 2 * SAME)
    ]
    if not left:
        return {"count": 0}
    again = Search(seen=search.seen, controls=left)
    again.simulator.known = search.simulator.known
    other = result(again, again.run())
    return {"count": len(left), "none": other.is_of_none, "judged": other.kind, "hosts": other.setting.hosts,
            "p_value": other.p_value, "nearest": min(one.distance for one in other.likelihoods)}  # fmt: skip


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
        scores[name] = calibration.score(found.setting, name, value, middle, low, high)
    bound = found.intervals.get("buffer_packets")
    if bound is not None and np.isinf(bound.high) and "buffer_packets" in known:
        scores[calibration.BOUND] = calibration.score(
            found.setting, calibration.BOUND, known["buffer_packets"], bound.value, bound.value, np.inf
        )
    if calibration.LOSS in known and found.accepted[0].path.forced:
        one = proportion(len(found.accepted[0].path.forced), found.sent)
        scores[calibration.LOSS] = calibration.score(
            found.setting, calibration.LOSS, known[calibration.LOSS], one.value, one.low, one.high
        )
    return scores


def _changed(found: Fit, case: truth.Case, reached: Mapping[str, Any], scores: dict[str, float]) -> Row:
    predicted = found.what_if({"tcp": str(reached["other"])})
    goodput, queueing = predicted["goodput_bps"], predicted["queueing_s"]
    wait, rate = float(reached["other_wait"]), case.rate_bps
    for name, real in (("goodput_bps", float(reached["other_goodput"])), ("queueing_s", wait)):
        one = predicted[name]
        scores[name] = calibration.score(found.setting, name, real, one.value, *one.over_paths)
    return {
        "goodput_error": goodput.value / float(reached["other_goodput"]) - 1.0,
        "queueing_error_s": queueing.value - wait,
        "queueing_is_near": abs(queueing.value - wait) <= max(0.2 * wait, 0.002, 12_000 / rate),
        "goodput_covers": goodput.low <= float(reached["other_goodput"]) <= goodput.high,
        "queueing_covers": queueing.low <= wait <= queueing.high,
    }


def rows_of(
    seed: int, numbers: Sequence[int], stack: str, folder: Path, *, is_quiet: bool = False
) -> list[Row]:
    """Return the rows of cases; see `compared`."""
    make_folder(folder)
    rows = []
    for place, number in enumerate(numbers):
        case = truth.case(seed, number, stack=stack)
        capture, reached = made(case, folder, number)
        rows.append({"seed": seed, "number": number} | compared(case, capture, reached))
        if not is_quiet:
            sys.stderr.write(f"{place + 1} of {len(numbers)}: {case.kind} {case.control}\n")
    return rows


def calibrated(rows: Sequence[Row], before: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content of `calibration.json`: factors and distances by hosts, kind and parameter.

    Of hosts that no row has, that is what it was before. A simulated host behind a policer may look like a real one: its
    capture counts for neither.
    """
    rows = [row for row in rows if (row["hosts"] == "real") == (row["stack"] == "testbed")]
    parts = ("captures", "factors", "distances")
    made: dict[str, Any] = {"level": calibration.LEVEL} | {part: dict(before[part]) for part in parts}
    for hosts in dict.fromkeys(row["hosts"] for row in rows):
        of_hosts = [row for row in rows if row["hosts"] == hosts]
        kinds = {kind: [row for row in of_hosts if row["judged"] == kind] for kind in calibration.KINDS}
        made["captures"][hosts] = {kind: len(some) for kind, some in kinds.items()}
        made["factors"][hosts] = {kind: _factors(some, of_hosts, kind) for kind, some in kinds.items()}
        made["distances"][hosts] = {
            kind: sorted(
                round(row["nearest"], 4) for row in (some if len(some) >= LEAST_SCORES else of_hosts)
            )
            for kind, some in kinds.items()
        }
    return made


def _factors(rows: Sequence[Row], of_hosts: Sequence[Row], kind: str) -> dict[str, float]:
    """Return the factors of a kind: of its captures, or with too few of all whose errors have the same unit."""
    alike = [row for row in of_hosts if (row["judged"] in calibration.LOOSE) == (kind in calibration.LOOSE)]
    made = {}
    for name in (*calibration.PARAMETERS, calibration.BOUND, calibration.LOSS, *calibration.PREDICTED):
        scores = [row["scores"][name] for row in rows if name in row["scores"]]
        least = LEAST_SCORES if kind in calibration.LOOSE else LEAST_OF_HOSTS.get(name, LEAST_SCORES)
        if len(scores) < least:
            scores = [row["scores"][name] for row in alike if name in row["scores"]]
        if scores:
            made[name] = float(f"{calibration.quantile(scores):.3g}")
    return made


# Fewer captures of a kind are taken together with others. What depends on the hosts more than on the kind needs more.
LEAST_SCORES = 7
LEAST_OF_HOSTS = {"rate_bps": 20, "base_rtt_s": 20, "buffer_packets": 20}


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m dumbbell.inference.measuring", description=__doc__)
    parser.add_argument(
        "--seed", type=int, default=2, help="seed of the captures: 1 for development, others held out"
    )
    parser.add_argument("--count", type=int, default=96, help="number of captures")
    parser.add_argument("--stack", choices=truth.STACKS, default="linux", help="what sends")
    parser.add_argument("--folder", type=Path, default=Path("results/fit"), help="folder of captures")
    parser.add_argument("--rows", type=Path, help="write all rows to this JSON file")
    parser.add_argument(
        "--calibrate",
        type=Path,
        nargs="+",
        metavar="ROWS",
        help="write calibration.json from files of --rows of seed 1",
    )
    given = parser.parse_args()
    if given.calibrate:
        rows = [
            row for path in given.calibrate for row in json.loads(path.read_text(encoding="utf-8"))["rows"]
        ]
        if any(row["seed"] != truth.DEVELOPMENT_SEED for row in rows):
            parser.error(
                f"intervals are calibrated with seed {truth.DEVELOPMENT_SEED} only: other seeds are held out"
            )
        path = Path(__file__).with_name(calibration.FILE)
        write_json(path, calibrated(rows, json.loads(path.read_text(encoding="utf-8"))))
        return
    rows = rows_of(given.seed, range(given.count), given.stack, given.folder)
    if given.rows is not None:
        write_json(given.rows, {"rows": rows})
    sys.stdout.write(tabulated.tables(rows))


if __name__ == "__main__":
    main()
