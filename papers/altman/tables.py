"""The rows of the report's tables: the analytic and the simulated side, with relative errors."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dumbbell.models import altman
from dumbbell.report import Cell
from dumbbell.report.numbers import fixed, number, signed
from dumbbell.report.page import Row

from . import quantities, slots
from .evidence import Evidence, Sweep, Values
from .figures import law_ratios
from .grid import GRID, Connections, Setting
from .grid_claims import slow_start_windows
from .plan import IDENTITY, LAW_PROBABILITIES, VIDEO_BUFFERS, VIDEO_RATES, identity_buffers
from .quantities import Quantity, modelled
from .slots import SlotErrors, worst
from .threshold_claims import SAME, connection_sweeps, identity_differences, row_sweeps
from .video_claims import ratio


def relative(predicted: float, simulated: float, digits: int = 2) -> str:
    """Return the relative error of a prediction in percent with its sign; empty if there is none."""
    error = predicted / simulated - 1.0
    return f"{signed(100.0 * error, digits)} %" if np.isfinite(error) else ""


def reached(row: Setting) -> float:
    """Return the whole window that Vegas reaches from below, packets."""
    return float(altman.stable_window_reached(row.link, alpha=row.alpha, beta=row.beta))


def _parameters(row: Setting) -> Row:
    return [
        Cell(text=row.id, tone="strong"),
        f"{row.service_rate:g}",
        f"{row.exogenous_rate:g}",
        f"{row.fixed_delay:g}",
        str(row.buffer),
        f"{row.alpha:g}, {row.beta:g}, {row.gamma:g}",
        f"{row.link.bdp:.1f}",
    ]


def _measured(values: Values, digits: int, interval_digits: int = 4) -> Cell:
    """Return a value with the limits of its 90 % interval on hovering."""
    low, high = (float(limit) for limit in np.nanquantile(values[1:], (0.05, 0.95)))
    return Cell(
        text=number(float(values[0]), digits=digits),
        hint=f"90 %: {number(low, digits=interval_digits)} to {number(high, digits=interval_digits)}",
    )


def _percent(*errors: float) -> list[str]:
    return [fixed(100.0 * error) for error in errors]


def windows(evidence: Evidence) -> Iterator[Row]:
    """Yield Table 1: slow-start thresholds, standing windows, round-trip times of Vegas, smallest buffers."""
    window, rtt = (each.simulated(evidence) for each in (quantities.WINDOW, quantities.VEGAS_RTT))
    low, fluid = quantities.WINDOW.predicted(evidence)
    whole = modelled(evidence, "steady", reached)
    rate = modelled(evidence, "steady", lambda row: row.link.available_rate)
    minimum = modelled(
        evidence, "steady", lambda row: altman.slow_start_threshold(row.link, gamma=row.gamma).minimum
    )
    simulated_end, predicted_end = slow_start_windows(evidence)
    sweeps = {_but_for_the_buffer(case.setting): sweep for case, sweep in row_sweeps(evidence)}
    for index, row in enumerate(GRID):
        sweep = sweeps.get(_but_for_the_buffer(row))
        predicted_rtt = float(window[0, index] / rate[index])
        yield [
            *_parameters(row),
            f"{minimum[index]:.1f}",
            f"{predicted_end[index]:g}",
            Cell(
                text=f"{simulated_end[index]:g}",
                tone="" if simulated_end[index] == predicted_end[index] else "bad",
            ),
            *(f"{values[index]:.1f}" for values in (low, whole, fluid)),
            _measured(window[:, index], 3),
            *(relative(values[index], window[0, index], 1) for values in (low, fluid)),
            number(predicted_rtt, digits=4),
            _measured(rtt[:, index], 4),
            relative(predicted_rtt, rtt[0, index]),
            str(altman.smallest_stable_buffer(row.link, alpha=row.alpha)),
            "" if sweep is None else str(sweep.smallest_stable),
        ]


def _but_for_the_buffer(row: Setting) -> tuple[float, ...]:
    return row.service_rate, row.exogenous_rate, row.fixed_delay, row.alpha


def averages_of_vegas(evidence: Evidence) -> Iterator[Row]:
    """Yield Table 2: throughput and round-trip time of Vegas."""
    throughput, rtt = (
        each.simulated(evidence) for each in (quantities.VEGAS_THROUGHPUT, quantities.VEGAS_RTT)
    )
    rate, _ = quantities.VEGAS_THROUGHPUT.predicted(evidence)
    models = quantities.VEGAS_RTT.predicted(evidence)
    losses = evidence.mean(evidence.table("steady", "losses"))
    for index, row in enumerate(GRID):
        yield [
            *_parameters(row),
            number(float(rate[index]), digits=4),
            _measured(throughput[:, index], 5),
            relative(rate[index], throughput[0, index], 3),
            *(number(float(values[index]), digits=4) for values in models),
            _measured(rtt[:, index], 4),
            *(relative(values[index], rtt[0, index]) for values in models),
            f"{losses[0, index]:g}",
        ]


def averages_of_reno(evidence: Evidence) -> Iterator[Row]:
    """Yield Table 3: throughput, round-trip time, loss window and cycle of Reno."""
    shown = (quantities.RENO_THROUGHPUT, quantities.RENO_RTT, quantities.LOSS_WINDOW, quantities.CYCLE)
    sides = [(each.simulated(evidence), each.predicted(evidence)) for each in shown]
    losses, detections = (
        evidence.mean(evidence.table("cycles", column))[0] for column in ("losses", "detections")
    )
    for index, row in enumerate(GRID):
        cells: list[Cell | str] = [*_parameters(row), "2" if row.cycle.queue_empties else "1"]
        for simulated, models in sides:
            cells += [number(float(values[index]), digits=4) for values in models]
            cells.append(_measured(simulated[:, index], 4))
            cells += [relative(values[index], simulated[0, index], 1) for values in models]
        yield [*cells, f"{losses[index] / detections[index]:.2f}"]


SUMMED_UP: tuple[Quantity, ...] = (
    quantities.WINDOW,
    quantities.VEGAS_THROUGHPUT,
    quantities.VEGAS_RTT,
    quantities.LOSS_WINDOW,
    quantities.RENO_THROUGHPUT,
    quantities.RENO_RTT,
    quantities.CYCLE,
)


def summary(evidence: Evidence) -> Iterator[Row]:
    """Yield the errors of both models by quantity, for all rows and for loads up to 1/2."""
    light = np.array([row.load <= 0.5 for row in GRID])
    for quantity in SUMMED_UP:
        errors = [np.abs(each) for each in quantity.errors(evidence)]
        chosen = (each[rows] for each in errors for rows in (np.ones_like(light), light))
        yield [quantity.label, *(f"{100.0 * some.mean():.2f} ({100.0 * some.max():.1f})" for some in chosen)]


def mini_slots(evidence: Evidence) -> Iterator[Row]:
    """Yield the errors of Theorem 1 and of the fluid recursion by phase and load."""
    found: list[tuple[str, list[SlotErrors]]] = [
        ("constant window", slots.standing(evidence)),
        ("growth, 1/W with every acknowledgement", slots.growth(evidence)),
        ("growth, a packet a generation", slots.growth(evidence, "growth-by-generation")),
        ("slow start of Reno", slots.slow_start(evidence, "reno-slow-start")),
        ("slow start of Vegas", slots.slow_start(evidence, "vegas-slow-start")),
    ]
    for title, listed in found:
        for load in dict.fromkeys(slot.setting.load for slot in listed):
            chosen = [slot for slot in listed if slot.setting.load == load]
            paper = np.concatenate([slot.paper_error for slot in chosen])
            outside = np.concatenate([slot.paper_error[~slot.is_in_transition] for slot in chosen])
            duration = np.concatenate([slot.duration_error for slot in chosen])
            fluid = np.concatenate([slot.fluid_error for slot in chosen])
            yield [
                title,
                f"{load:g}",
                str(len(paper)),
                *_percent(np.abs(paper).mean(), worst(paper)),
                *(_percent(worst(outside)) if title.startswith("slow") else [""]),
                *_percent(worst(duration), np.abs(fluid).mean(), worst(fluid)),
            ]


def _sweep_row(case: Connections, sweep: Sweep, last: str) -> Row:
    difference = sweep.smallest_stable - sweep.predicted
    return [
        case.setting.id,
        f"{case.setting.load:.2g}",
        f"{case.setting.fixed_delay:g}",
        f"{case.setting.alpha:g}",
        f"{sweep.critical:.1f}",
        str(sweep.predicted),
        Cell(
            text=f"{sweep.smallest_stable}{'+' if sweep.is_cut_off else ''}",
            hint=", ".join(
                f"{buffer}: {100 * share:.0f} %" for buffer, share in sorted(sweep.shares.items())
            ),
        ),
        signed(difference, 0),
        last,
    ]


def thresholds(evidence: Evidence) -> Iterator[Row]:
    """Yield the buffer sweeps, with the buffer that the simulated steady window would need."""
    for case, sweep in row_sweeps(evidence):
        row = case.setting
        name = f"steady/{row.id}"
        places = zip(evidence.column(name, "window"), evidence.settings(name, row), strict=True)
        needed = [
            (window - place.link.bdp) * row.service_rate / row.link.available_rate for window, place in places
        ]
        yield _sweep_row(case, sweep, f"{np.mean(needed):.1f}")


def connections(evidence: Evidence) -> Iterator[Row]:
    """Yield the sweeps with several connections."""
    return (_sweep_row(case, sweep, str(case.flows)) for case, sweep in connection_sweeps(evidence))


def identity(evidence: Evidence) -> Iterator[Row]:
    """Yield trajectories of Vegas and Reno below the critical buffer side by side."""
    same = identity_differences(evidence, "vegas-at-once", "generation")
    own = identity_differences(evidence, "vegas-spread", "reno")
    for setting in IDENTITY:
        for buffer in identity_buffers(setting):
            cells: list[Cell | str] = [
                f"{setting.load:g}",
                f"{setting.alpha:g}",
                f"{setting.critical_buffer:g}",
                str(buffer),
            ]
            for column in SAME:
                vegas, generation, reno = (
                    number(
                        float(
                            evidence.mean(evidence.column(f"identity/{name}/{setting.id}/{buffer}", column))[
                                0
                            ]
                        ),
                        digits=4,
                    )
                    for name in ("vegas-at-once", "generation", "reno")
                )
                cells.append(Cell(text=vegas, detail=f"{generation} | {reno}"))
            difference = same[setting.id, buffer]
            yield [
                *cells,
                Cell(text=f"{100.0 * difference:.1f}", tone="bad" if difference > 0.01 else ""),
                f"{100.0 * own[setting.id, buffer]:.1f}",
            ]


def video(evidence: Evidence) -> Iterator[Row]:
    """Yield losses, goodput and windows with video traffic."""
    for rate in VIDEO_RATES:
        for buffer in VIDEO_BUFFERS:
            yield [
                f"{rate:g}",
                str(buffer),
                f"{2.0 * rate / (rate - 100.0):.1f}",
                *(
                    _measured(
                        evidence.mean(evidence.column(f"video/{variant}/{rate:.0f}/{buffer}", column)), 3, 3
                    )
                    for column in ("losses", "throughput", "window")
                    for variant in ("vegas", "reno")
                ),
                number(float(ratio(evidence, "retransmitted", rate, buffer)[0]), digits=2),
            ]


def laws(evidence: Evidence) -> Iterator[Row]:
    """Yield the simulated throughput with imposed losses, and the relative errors of the laws."""
    formulas = (
        ("periodic", "periodic"),
        ("random", "random"),
        ("random", "full"),
        ("random", "approximate"),
    )
    found = [law_ratios(evidence, kind, formula)[:, 0] for kind, formula in formulas]
    for index, probability in enumerate(LAW_PROBABILITIES):
        periodic, random = (
            number(
                float(evidence.mean(evidence.column(f"law/{kind}/{probability:g}", "throughput"))[0]),
                digits=4,
            )
            for kind in ("periodic", "random")
        )
        mathis, *others = (relative(ratios[index], 1.0, 1) for ratios in found)
        yield [f"{probability:g}", periodic, mathis, random, *others]
