"""The planned runs of the tables: configurations, replications, and varied assumptions.

[hengartner2000 §VIII]
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from dumbbell import Scenario
from dumbbell.papers import PlannedRun, Settings
from dumbbell.sensitivity import REPLICATIONS

from .assumptions import LITERAL, VARIATIONS, calibrated, varied
from .printed import CELLS
from .scenarios import BACKGROUNDS, LOADS, SWEEP, experiment, preset_vegas, stable_seed, sweep


@dataclass(frozen=True, kw_only=True)
class Replications:
    """Runs per configuration of each group with one seed.

    The paper's number is 50 for the tables. It gives none for the other designs; five seeds together make 50 for the 2^7
    design and 5 for the 2^10 design. Small differences between released and corrected Vegas need many paired runs.

    Parameters
    ----------
    table
        Tables I to XII.
    pair
        Configurations compared run by run with common random numbers, by load.
    seven
        Cells of the 2^7 design.
    ten
        Cells of the 2^10 design (high load, Reno background).
    validation, sweep
        Comparisons of implementations, and of loads.
    literal
        Tables I to XII under the literal reading.
    sensitivity
        Configurations with a varied assumption, by load; a load that is not named is not run again.
    """

    table: int
    pair: Mapping[str, int]
    seven: int
    ten: int
    validation: int
    sweep: int
    literal: int
    sensitivity: Mapping[str, int]


def replications(settings: Settings) -> Replications:
    """Return the number of replications of each group of runs."""
    if settings.quick:
        table = settings.runs or 10
        return Replications(
            table=table,
            pair={"low": 4 * table, "high": table},
            seven=2,
            ten=1,
            validation=2,
            sweep=4,
            literal=0,
            sensitivity={},
        )
    table = settings.runs or 50
    return Replications(
        table=table,
        pair={"low": 4 * table, "high": table},
        seven=max(2, table // 5),
        ten=1,
        validation=10,
        sweep=20,
        literal=REPLICATIONS if settings.sensitivity else 0,
        # A run in the WAN costs as much as ten others.
        sensitivity=dict.fromkeys(("low", "high"), REPLICATIONS) if settings.sensitivity else {},
    )


def seven_cells() -> list[str]:
    """Return the letters that are on in each cell of the 2^7 design, A slowest."""
    return [
        "".join(letter for letter, on in zip("ABCDEFG", levels, strict=True) if on)
        for levels in itertools.product((False, True), repeat=7)
    ]


def ten_cells() -> list[str]:
    """Return the letters that are on in each cell of the 2^10 design, A slowest."""
    return [
        "".join(letter for letter, on in zip("ABCDEFGHIJ", levels, strict=True) if on)
        for levels in itertools.product((False, True), repeat=10)
    ]


def table_configurations() -> Iterator[tuple[str, str, str]]:
    """Yield foreground, background and load of every configuration of the tables."""
    for load, background, cell in itertools.product(LOADS, BACKGROUNDS, CELLS):
        yield f"cell{cell}", background, load
    yield from released_configurations()


def released_configurations() -> Iterator[tuple[str, str, str]]:
    """Yield the configurations that have released Vegas in the foreground or the background."""
    for load in ("low", "high"):
        yield "cell000", "vegas", load
        yield "vegas", "reno", load
        yield "vegas", "vegas", load


def pair_configurations() -> Iterator[tuple[str, str, str]]:
    """Yield the configurations whose small differences need many runs with common random numbers."""
    for load in ("low", "high"):
        for foreground, background in (
            ("cell000", "reno"),
            ("cell000", "vegas"),
            ("vegas", "reno"),
            ("vegas", "vegas"),
            ("cell111", "reno"),
            ("cell111", "vegasfix"),
        ):
            yield foreground, background, load


CHOSEN = "chosen"
"""Group of the runs with the chosen assumptions that variations are compared with."""

LITERAL_GROUP = "literal"
"""Group of the runs under the literal reading."""

STAGES = {
    "table": "tables",
    "literal": "literal reading",
    "pair": "paired runs",
    "seven": "seven factors",
    "ten": "ten factors",
    "validation": "validation",
    "sweep": "sweep of loads",
}
"""What progress and run times call the groups of runs, by the first part of their keys."""


def plan(settings: Settings) -> list[PlannedRun]:
    """Return every run that goes into the table of results."""
    counts = replications(settings)
    base = calibrated()
    runs: list[PlannedRun] = []

    def add(key: str, scenario: Scenario, seed_name: str, count: int) -> None:
        seed = stable_seed(settings.seed, seed_name)
        stage = STAGES.get(key.split("/", 1)[0], "sensitivity")
        runs.extend(
            PlannedRun(key=key, scenario=scenario, seed=seed, run=run, stage=stage) for run in range(count)
        )

    for foreground, background, load in table_configurations():
        name = f"{foreground}|{background}|{load}"
        # Every configuration draws its own random numbers: the model of the factorial design assumes independent errors.
        add(f"table/{name}", experiment(foreground, background, load, base), f"table/{name}", counts.table)
    if counts.literal:
        for foreground, background, load in table_configurations():
            name = f"{foreground}|{background}|{load}"
            scenario = experiment(foreground, background, load, LITERAL)
            add(f"{LITERAL_GROUP}/{name}", scenario, f"table/{name}", counts.literal)
    for foreground, background, load in pair_configurations():
        # Common random numbers within a load: the same arrivals meet every variant.
        name = f"{foreground}|{background}|{load}"
        add(f"pair/{name}", experiment(foreground, background, load, base), f"pair/{load}", counts.pair[load])
    for load in ("low", "high"):
        older = replace(base, variation=2)
        add(
            f"pair/reno-2var|reno|{load}",
            experiment("cell000", "reno", load, older),
            f"pair/{load}",
            counts.pair[load],
        )
    without_f = experiment("cell000", f"released:ABCDEG{base.extra}", "high", base)
    add("pair/cell000|vegas-nof|high", without_f, "pair/high", counts.pair["high"])
    for load, background in itertools.product(("low", "high"), BACKGROUNDS):
        for letters in seven_cells():
            scenario = experiment(f"fix:{letters}", background, load, base)
            # Runs of one number meet the same background in every cell, and its warm-up is simulated once.
            key = f"seven/{letters or 'none'}|{background}|{load}"
            add(key, scenario, f"seven/{background}|{load}", counts.seven)
    for letters in ten_cells():
        scenario = experiment(f"fix:{letters}", "reno", "high", base)
        add(f"ten/{letters or 'none'}|reno|high", scenario, "ten/reno|high", counts.ten)
    for load, background in itertools.product(("low", "high"), BACKGROUNDS):
        for variant in ("reno", "cell000"):
            name = f"{background}|{load}"
            scenario = experiment(variant, background, load, base)
            add(f"validation/{variant}|{name}", scenario, f"validation/{name}", counts.validation)
    for load in ("low", "high"):
        for label, scenario in (
            ("preset", preset_vegas(load, base)),
            ("switches", experiment("fix:ABCDEFGHI", "reno", load, base)),
        ):
            add(f"validation/{label}|reno|{load}", scenario, f"validation/vegas|{load}", counts.validation)
    for gap in SWEEP:
        for variant in ("cell000", "cell111"):
            add(f"sweep/{variant}|{gap}", sweep(variant, gap, base), f"sweep/{gap}", counts.sweep)
    if counts.sensitivity:
        for foreground, background, load in table_configurations():
            if load in counts.sensitivity:
                name = f"{foreground}|{background}|{load}"
                scenario = experiment(foreground, background, load, base)
                add(f"{CHOSEN}/{name}", scenario, f"moved/{background}|{load}", counts.sensitivity[load])
    for variation in VARIATIONS:
        moved = varied(variation, base)
        only_released = set(variation.changes) == {"extra"}
        configurations = released_configurations() if only_released else table_configurations()
        for foreground, background, load in configurations:
            if load not in counts.sensitivity:
                continue
            name = f"{foreground}|{background}|{load}"
            scenario = experiment(foreground, background, load, moved)
            # The same seeds for all variations: what differs is the assumption. Runs of one number meet the same
            # background, whose warm-up is simulated once.
            add(f"{variation.name}/{name}", scenario, f"moved/{background}|{load}", counts.sensitivity[load])
    return runs
