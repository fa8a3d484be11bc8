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

from .assumptions import LITERAL, VARIATIONS, Assumptions, calibrated, varied
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


Planned = tuple[str, Scenario, str, int]
"""Key, scenario, name of the seed, and number of replications."""


def _tables(base: Assumptions, counts: Replications) -> Iterator[Planned]:
    """Yield the configurations of the tables, under our reading and the literal one."""
    for place in table_configurations():
        name = "|".join(place)
        # Every configuration draws its own random numbers: the model of the factorial design assumes independent errors.
        yield f"table/{name}", experiment(*place, base), f"table/{name}", counts.table
    for place in table_configurations() if counts.literal else ():
        name = "|".join(place)
        yield f"{LITERAL_GROUP}/{name}", experiment(*place, LITERAL), f"table/{name}", counts.literal


def _pairs(base: Assumptions, counts: Replications) -> Iterator[Planned]:
    """Yield the paired configurations."""
    for place in pair_configurations():
        # Common random numbers within a load: the same arrivals meet every variant.
        load = place[-1]
        yield f"pair/{'|'.join(place)}", experiment(*place, base), f"pair/{load}", counts.pair[load]
    for load in ("low", "high"):
        older = experiment("cell000", "reno", load, replace(base, variation=2))
        yield f"pair/reno-2var|reno|{load}", older, f"pair/{load}", counts.pair[load]
    without_f = experiment("cell000", f"released:ABCDEG{base.extra}", "high", base)
    yield "pair/cell000|vegas-nof|high", without_f, "pair/high", counts.pair["high"]


def _designs(base: Assumptions, counts: Replications) -> Iterator[Planned]:
    """Yield the cells of the seven-factor and of the ten-factor design."""
    for load, background in itertools.product(("low", "high"), BACKGROUNDS):
        for letters in seven_cells():
            scenario = experiment(f"fix:{letters}", background, load, base)
            # Runs of one number meet the same background in every cell, and its warm-up is simulated once.
            key = f"seven/{letters or 'none'}|{background}|{load}"
            yield key, scenario, f"seven/{background}|{load}", counts.seven
    for letters in ten_cells():
        scenario = experiment(f"fix:{letters}", "reno", "high", base)
        yield f"ten/{letters or 'none'}|reno|high", scenario, "ten/reno|high", counts.ten


def _validation(base: Assumptions, counts: Replications) -> Iterator[Planned]:
    """Yield variants that have to be the same, and the sweep of loads."""
    for load, background in itertools.product(("low", "high"), BACKGROUNDS):
        for variant in ("reno", "cell000"):
            name = f"{background}|{load}"
            scenario = experiment(variant, background, load, base)
            yield f"validation/{variant}|{name}", scenario, f"validation/{name}", counts.validation
    for load in ("low", "high"):
        switches = experiment("fix:ABCDEFGHI", "reno", load, base)
        for label, scenario in (("preset", preset_vegas(load, base)), ("switches", switches)):
            yield f"validation/{label}|reno|{load}", scenario, f"validation/vegas|{load}", counts.validation
    for gap in SWEEP:
        for variant in ("cell000", "cell111"):
            yield f"sweep/{variant}|{gap}", sweep(variant, gap, base), f"sweep/{gap}", counts.sweep


def _moved(base: Assumptions, counts: Replications) -> Iterator[Planned]:
    """Yield the configurations of the tables with the chosen assumptions, and with one of them varied."""
    moves = [(CHOSEN, base, table_configurations())]
    for variation in VARIATIONS:
        only_released = set(variation.changes) == {"extra"}
        configurations = released_configurations() if only_released else table_configurations()
        moves.append((variation.name, varied(variation, base), configurations))
    for group, assumptions, configurations in moves:
        for place in configurations:
            _, background, load = place
            if load in counts.sensitivity:
                # The same seeds for all variations: what differs is the assumption. Runs of one number meet the same
                # background, whose warm-up is simulated once.
                seed_name, count = f"moved/{background}|{load}", counts.sensitivity[load]
                yield f"{group}/{'|'.join(place)}", experiment(*place, assumptions), seed_name, count


def plan(settings: Settings) -> list[PlannedRun]:
    """Return every run that goes into the table of results."""
    counts, base = replications(settings), calibrated()
    parts = (make(base, counts) for make in (_tables, _pairs, _designs, _validation, _moved))
    return [
        PlannedRun(
            key=key,
            scenario=scenario,
            seed=stable_seed(settings.seed, seed_name),
            run=run,
            stage=STAGES.get(key.split("/", 1)[0], "sensitivity"),
        )
        for key, scenario, seed_name, count in itertools.chain.from_iterable(parts)
        for run in range(count)
    ]
