"""The tables of the report: the analytic and the simulated side, with relative errors."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from dumbbell.models import altman
from dumbbell.report import Cell, Column, Table
from dumbbell.report.numbers import number

from . import slots
from .evidence import Averages, Evidence, Sweep, Values
from .figures import law_ratios
from .grid import GRID, Connections, Setting
from .grid_claims import slow_start_windows
from .plan import IDENTITY, LAW_PROBABILITIES, VIDEO_BUFFERS, VIDEO_RATES, identity_buffers
from .slots import SlotErrors, worst
from .threshold_claims import SAME, connection_sweeps, identity_differences, row_sweeps
from .video_claims import ratio

MINUS = "−"


def signed(value: float, digits: int = 2) -> str:
    """Return a percentage with its sign, from a fraction."""
    if not np.isfinite(value):
        return ""
    return f"{100.0 * value:+.{digits}f} %".replace("-", MINUS)


def _left(title: str) -> Column:
    return Column(title=title, align="left")


def _parameters(row: Setting) -> list[Cell | str]:
    return [
        Cell(text=row.id, tone="strong"),
        f"{row.service_rate:g}",
        f"{row.exogenous_rate:g}",
        f"{row.fixed_delay:g}",
        str(row.buffer),
        f"{row.alpha:g}, {row.beta:g}, {row.gamma:g}",
        f"{row.link.bdp:.1f}",
    ]


PARAMETERS = [
    _left(""),
    *(Column(title=title) for title in ("mu", "lambda", "d [s]", "B", "alpha, beta, gamma", "nu T")),
]


class _Means:
    """Means over runs of the two sides, row by row, with the half-width of the simulated one's interval."""

    def __init__(self, evidence: Evidence, kind: Averages) -> None:
        self.evidence = evidence
        self.kind = kind

    def simulated(self, column: str) -> Values:
        """Return the simulated means with resamples."""
        return self.evidence.mean(self.evidence.table(self.kind, column))

    def model(self, predicts: Callable[[Setting], float]) -> Values:
        """Return the means of the model."""
        return np.asarray(self.evidence.mean(self.evidence.model(self.kind, predicts))[0])


def _measured(values: Values, index: int, digits: int = 3) -> Cell:
    low, high = np.nanquantile(values[1:, index], (0.05, 0.95))
    return Cell(
        text=number(float(values[0, index]), digits=digits),
        hint=f"90 %: {number(float(low), digits=4)} to {number(float(high), digits=4)}",
    )


def windows(evidence: Evidence) -> Table:
    """Return Table 1: slow-start thresholds, standing windows, round-trip times of Vegas, smallest buffers."""
    means = _Means(evidence, "steady")
    window, rtt = means.simulated("window"), means.simulated("rtt")
    low = means.model(lambda row: row.stable.low)
    reached = means.model(
        lambda row: float(altman.stable_window_reached(row.link, alpha=row.alpha, beta=row.beta))
    )
    fluid = means.model(lambda row: row.fluid_vegas.window)
    rate = means.model(lambda row: row.link.available_rate)
    minimum = means.model(lambda row: altman.slow_start_threshold(row.link, gamma=row.gamma).minimum)
    simulated_end, predicted_end = slow_start_windows(evidence)
    sweeps = {
        (
            case.setting.service_rate,
            case.setting.exogenous_rate,
            case.setting.fixed_delay,
            case.setting.alpha,
        ): sweep
        for case, sweep in row_sweeps(evidence)
    }
    rows: list[list[Cell | str]] = []
    for index, row in enumerate(GRID):
        sweep = sweeps.get((row.service_rate, row.exogenous_rate, row.fixed_delay, row.alpha))
        rows.append(
            [
                *_parameters(row),
                f"{minimum[index]:.1f}",
                f"{predicted_end[index]:g}",
                Cell(
                    text=f"{simulated_end[index]:g}",
                    tone="" if simulated_end[index] == predicted_end[index] else "bad",
                ),
                f"{low[index]:.1f}",
                f"{reached[index]:.1f}",
                f"{fluid[index]:.1f}",
                _measured(window, index),
                signed(low[index] / window[0, index] - 1.0, 1),
                signed(fluid[index] / window[0, index] - 1.0, 1),
                number(float(window[0, index] / rate[index]), digits=4),
                _measured(rtt, index, 4),
                signed(window[0, index] / rate[index] / rtt[0, index] - 1.0),
                str(altman.smallest_stable_buffer(row.link, alpha=row.alpha)),
                "" if sweep is None else str(sweep.smallest_stable),
            ]
        )
    return Table(
        caption="Table 1: windows of Vegas",
        columns=[
            *PARAMETERS,
            *(Column(title=title) for title in ("min", "model", "simulated")),
            *(
                Column(title=title)
                for title in ("nu T + alpha", "integer", "fluid", "simulated", "error", "fluid's")
            ),
            *(Column(title=title) for title in ("W/nu", "simulated", "error")),
            *(Column(title=title) for title in ("model", "simulated")),
        ],
        rows=rows,
        groups=[
            ("", len(PARAMETERS)),
            ("slow-start threshold", 3),
            ("standing window W", 6),
            ("round-trip time [s]", 3),
            ("smallest buffer", 2),
        ],
        note="Packets unless said otherwise. Errors are of the model, relative to the simulation. The smallest buffer was "
        "swept where the window has between 8 and 60 packets to fill the path; rows that differ by B alone share it.",
    )


def averages_of_vegas(evidence: Evidence) -> Table:
    """Return Table 2: throughput and round-trip time of Vegas."""
    means = _Means(evidence, "steady")
    throughput, rtt, losses = (means.simulated(column) for column in ("throughput", "rtt", "losses"))
    rate = means.model(lambda row: row.link.available_rate)
    closed = means.model(lambda row: row.stable.low / row.link.available_rate)
    fluid = means.model(lambda row: row.fluid_vegas.rtt)
    rows = [
        [
            *_parameters(row),
            number(float(rate[index]), digits=4),
            _measured(throughput, index, 5),
            signed(rate[index] / throughput[0, index] - 1.0, 3),
            number(float(closed[index]), digits=4),
            number(float(fluid[index]), digits=4),
            _measured(rtt, index, 4),
            signed(closed[index] / rtt[0, index] - 1.0),
            signed(fluid[index] / rtt[0, index] - 1.0),
            f"{losses[0, index]:g}",
        ]
        for index, row in enumerate(GRID)
    ]
    return Table(
        caption="Table 2: averages of Vegas",
        columns=[
            *PARAMETERS,
            *(Column(title=title) for title in ("nu", "simulated", "error")),
            *(Column(title=title) for title in ("closed form", "fluid", "simulated", "error", "fluid's")),
            Column(title="losses"),
        ],
        rows=rows,
        groups=[("", len(PARAMETERS)), ("throughput [packets/s]", 3), ("round-trip time [s]", 5), ("", 1)],
        note="The closed form takes the window nu T + alpha. Buffers are unlimited.",
    )


def averages_of_reno(evidence: Evidence) -> Table:
    """Return Table 3: throughput and round-trip time of Reno."""
    means = _Means(evidence, "cycles")
    sides = [
        (
            means.simulated("throughput"),
            means.model(lambda row: row.cycle.throughput),
            means.model(lambda row: row.fluid_reno.throughput),
        ),
        (
            means.simulated("rtt"),
            means.model(lambda row: row.cycle.rtt),
            means.model(lambda row: row.fluid_reno.rtt),
        ),
        (
            means.simulated("loss_window"),
            means.model(lambda row: float(row.cycle.loss_window)),
            means.model(lambda row: row.fluid_reno.loss_window),
        ),
        (
            means.simulated("cycle_s"),
            means.model(lambda row: row.cycle.duration),
            means.model(lambda row: row.fluid_reno.duration),
        ),
    ]
    losses = (
        evidence.mean(evidence.table("cycles", "losses"))[0]
        / evidence.mean(evidence.table("cycles", "detections"))[0]
    )
    rows: list[list[Cell | str]] = []
    for index, row in enumerate(GRID):
        cells: list[Cell | str] = [*_parameters(row), "2" if row.cycle.queue_empties else "1"]
        for simulated, closed, fluid in sides:
            cells += [
                number(float(closed[index]), digits=4),
                number(float(fluid[index]), digits=4),
                _measured(simulated, index, 4),
                signed(closed[index] / simulated[0, index] - 1.0, 1),
                signed(fluid[index] / simulated[0, index] - 1.0, 1),
            ]
        rows.append([*cells, f"{losses[index]:.2f}"])
    columns = ("closed form", "fluid", "simulated", "error", "fluid's")
    return Table(
        caption="Table 3: averages of Reno",
        columns=[
            *PARAMETERS,
            Column(title="case"),
            *(Column(title=title) for _ in sides for title in columns),
            Column(title="losses per cycle"),
        ],
        rows=rows,
        groups=[
            ("", len(PARAMETERS) + 1),
            ("throughput [packets/s]", 5),
            ("round-trip time [s]", 5),
            ("loss window [packets]", 5),
            ("cycle [s]", 5),
            ("", 1),
        ],
        note="Case 2: the queue empties in every cycle. Averages over whole cycles, from the fourth detection of a loss on.",
    )


def summary(evidence: Evidence) -> Table:
    """Return the errors of both models by quantity, for all rows and for loads up to 1/2."""
    light = np.array([row.load <= 0.5 for row in GRID])
    quantities: Sequence[
        tuple[str, Averages, str, Callable[[Setting], float], Callable[[Setting], float]]
    ] = (
        (
            "standing window of Vegas",
            "steady",
            "window",
            lambda row: row.stable.low,
            lambda row: row.fluid_vegas.window,
        ),
        (
            "throughput of Vegas",
            "steady",
            "throughput",
            lambda row: row.link.available_rate,
            lambda row: row.fluid_vegas.throughput,
        ),
        (
            "round-trip time of Vegas",
            "steady",
            "rtt",
            lambda row: row.stable.low / row.link.available_rate,
            lambda row: row.fluid_vegas.rtt,
        ),
        (
            "loss window of Reno",
            "cycles",
            "loss_window",
            lambda row: float(row.cycle.loss_window),
            lambda row: row.fluid_reno.loss_window,
        ),
        (
            "throughput of Reno",
            "cycles",
            "throughput",
            lambda row: row.cycle.throughput,
            lambda row: row.fluid_reno.throughput,
        ),
        (
            "round-trip time of Reno",
            "cycles",
            "rtt",
            lambda row: row.cycle.rtt,
            lambda row: row.fluid_reno.rtt,
        ),
        (
            "cycle of Reno",
            "cycles",
            "cycle_s",
            lambda row: row.cycle.duration,
            lambda row: row.fluid_reno.duration,
        ),
    )
    rows: list[list[Cell | str]] = []
    for title, kind, column, closed, fluid in quantities:
        simulated = evidence.table(kind, column)
        cells: list[Cell | str] = [title]
        for predicts in (closed, fluid):
            errors = np.abs(evidence.errors(evidence.model(kind, predicts), simulated)[0])
            for chosen in (np.ones_like(light), light):
                cells.append(f"{100.0 * errors[chosen].mean():.2f} ({100.0 * errors[chosen].max():.1f})")
        rows.append(cells)
    return Table(
        caption="Relative errors of the models: mean over the rows, and the largest in parentheses, %",
        columns=[
            _left("quantity"),
            *(Column(title=title) for _ in range(2) for title in ("all 40 rows", "loads up to 1/2")),
        ],
        rows=rows,
        groups=[("", 1), ("closed form", 2), ("fluid recursion", 2)],
    )


def mini_slots(evidence: Evidence) -> Table:
    """Return the errors of Theorem 1 and of the fluid recursion by phase and load."""
    found: list[tuple[str, list[SlotErrors]]] = [
        ("constant window", slots.standing(evidence)),
        ("growth, 1/W with every acknowledgement", slots.growth(evidence)),
        ("growth, a packet a generation", slots.growth(evidence, "growth-by-generation")),
        ("slow start of Reno", slots.slow_start(evidence, "reno-slow-start")),
        ("slow start of Vegas", slots.slow_start(evidence, "vegas-slow-start")),
    ]
    rows: list[list[Cell | str]] = []
    for title, listed in found:
        for load in dict.fromkeys(slot.setting.load for slot in listed):
            chosen = [slot for slot in listed if slot.setting.load == load]
            paper = np.concatenate([slot.paper_error for slot in chosen])
            outside = np.concatenate([slot.paper_error[~slot.is_in_transition] for slot in chosen])
            duration = np.concatenate([slot.duration_error for slot in chosen])
            fluid = np.concatenate([slot.fluid_error for slot in chosen])
            rows.append(
                [
                    title,
                    f"{load:g}",
                    str(len(paper)),
                    f"{100.0 * np.abs(paper).mean():.1f}",
                    f"{100.0 * worst(paper):.1f}",
                    f"{100.0 * worst(outside):.1f}" if title.startswith("slow") else "",
                    f"{100.0 * worst(duration):.1f}",
                    f"{100.0 * np.abs(fluid).mean():.1f}",
                    f"{100.0 * worst(fluid):.1f}",
                ]
            )
    return Table(
        caption="Relative errors of mini-slots, %",
        columns=[
            _left("phase"),
            *(Column(title=title) for title in ("load", "windows")),
            *(Column(title=title) for title in ("mean", "largest", "largest outside the transition")),
            Column(title="largest, duration"),
            *(Column(title=title) for title in ("mean", "largest")),
        ],
        rows=rows,
        groups=[("", 3), ("theorem 1, round-trip time", 3), ("theorem 1", 1), ("fluid recursion", 2)],
        note="The transition is where the previous window is between 0.7 and 2.8 bandwidth-delay products.",
    )


def _sweep_row(case: Connections, sweep: Sweep, last: str) -> list[Cell | str]:
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
        f"{difference:+d}".replace("-", MINUS),
        last,
    ]


def thresholds(evidence: Evidence) -> Table:
    """Return the buffer sweeps, with the buffer that the simulated steady window would need."""
    rows = []
    for case, sweep in row_sweeps(evidence):
        row = case.setting
        name = f"steady/{row.id}"
        needed = [
            (window - place.link.bdp) * row.service_rate / row.link.available_rate
            for window, place in zip(
                evidence.column(name, "window"), evidence.settings(name, row), strict=True
            )
        ]
        rows.append(_sweep_row(case, sweep, f"{np.mean(needed):.1f}"))
    return Table(
        caption="Smallest buffer with which Vegas loses nothing",
        columns=[
            _left("row"),
            *(
                Column(title=title)
                for title in ("load", "d [s]", "alpha", "B*", "model", "simulated", "difference")
            ),
            Column(title="buffer that the constant window needs"),
        ],
        rows=rows,
        note="The last column is (W - nu T) mu/nu with the simulated W of Table 1: the backlog while the window is constant. "
        "Theorem 2 has alpha for W - nu T; the whole number that is reached from below is one to two packets more.",
    )


def connections(evidence: Evidence) -> Table:
    """Return the sweeps with several connections."""
    return Table(
        caption="Smallest buffer with which n Vegas connections lose nothing",
        columns=[
            _left("row"),
            *(
                Column(title=title)
                for title in ("load", "d [s]", "alpha", "B*", "model", "simulated", "difference")
            ),
            Column(title="n"),
        ],
        rows=[_sweep_row(case, sweep, str(case.flows)) for case, sweep in connection_sweeps(evidence)],
    )


def identity(evidence: Evidence) -> Table:
    """Return trajectories of Vegas and Reno below the critical buffer side by side."""
    same = identity_differences(evidence, "vegas-at-once", "generation")
    own = identity_differences(evidence, "vegas-spread", "reno")
    rows: list[list[Cell | str]] = []
    for setting in IDENTITY:
        for buffer in identity_buffers(setting):
            cells: list[Cell | str] = [
                f"{setting.load:g}",
                f"{setting.alpha:g}",
                f"{setting.critical_buffer:g}",
                str(buffer),
            ]
            for column in SAME:
                values = [
                    float(evidence.mean(evidence.column(f"identity/{name}/{setting.id}/{buffer}", column))[0])
                    for name in ("vegas-at-once", "generation", "reno")
                ]
                cells.append(
                    Cell(
                        text=number(values[0], digits=4),
                        detail=f"{number(values[1], digits=4)} | {number(values[2], digits=4)}",
                    )
                )
            difference = same[setting.id, buffer]
            cells += [
                Cell(text=f"{100.0 * difference:.1f}", tone="bad" if difference > 0.01 else ""),
                f"{100.0 * own[setting.id, buffer]:.1f}",
            ]
            rows.append(cells)
    return Table(
        caption="Below the threshold: Vegas (first line), Reno that grows by a packet per generation, and Reno (second line)",
        columns=[
            *(Column(title=title) for title in ("load", "alpha", "B*", "B")),
            *(
                Column(title=title)
                for title in (
                    "throughput [packets/s]",
                    "round-trip time [s]",
                    "loss window [packets]",
                    "packets of a cycle",
                )
            ),
            Column(title="difference, growth by generation [%]"),
            Column(title="difference, growth by acknowledgement [%]"),
        ],
        rows=rows,
        note="The first difference is between sources that both grow by a whole packet per round, the second "
        "between Vegas and Reno that both grow with every acknowledgement.",
    )


def video(evidence: Evidence) -> Table:
    """Return losses, goodput and windows with video traffic."""
    rows: list[list[Cell | str]] = []
    for rate in VIDEO_RATES:
        for buffer in VIDEO_BUFFERS:
            cells: list[Cell | str] = [f"{rate:g}", str(buffer), f"{2.0 * rate / (rate - 100.0):.1f}"]
            for column in ("losses", "throughput", "window"):
                for variant in ("vegas", "reno"):
                    values = evidence.mean(evidence.column(f"video/{variant}/{rate:.0f}/{buffer}", column))
                    low, high = np.nanquantile(values[1:], (0.05, 0.95))
                    cells.append(
                        Cell(
                            text=number(float(values[0])),
                            hint=f"90 %: {number(float(low))} to {number(float(high))}",
                        )
                    )
            cells.append(number(float(ratio(evidence, "retransmitted", rate, buffer)[0]), digits=2))
            rows.append(cells)
    return Table(
        caption="Vegas and Reno with video traffic, 300 s",
        columns=[
            *(Column(title=title) for title in ("mu [packets/s]", "B", "B* for the mean rate")),
            *(Column(title=title) for _ in range(3) for title in ("Vegas", "Reno")),
            Column(title="retransmissions, Vegas / Reno"),
        ],
        rows=rows,
        groups=[("", 3), ("losses", 2), ("goodput [packets/s]", 2), ("mean window [packets]", 2), ("", 1)],
    )


def laws(evidence: Evidence) -> Table:
    """Return the predictions of the throughput laws divided by simulated values."""
    formulas = (
        ("periodic", "periodic"),
        ("random", "random"),
        ("random", "full"),
        ("random", "approximate"),
    )
    found = [law_ratios(evidence, kind, formula)[:, 0] for kind, formula in formulas]
    rows: list[list[Cell | str]] = []
    for index, probability in enumerate(LAW_PROBABILITIES):
        simulated = [
            evidence.mean(evidence.column(f"law/{kind}/{probability:g}", "throughput"))[0]
            for kind in ("periodic", "random")
        ]
        rows.append(
            [
                f"{probability:g}",
                number(float(simulated[0]), digits=4),
                signed(found[0][index] - 1.0, 1),
                number(float(simulated[1]), digits=4),
                *(signed(ratios[index] - 1.0, 1) for ratios in found[1:]),
            ]
        )
    return Table(
        caption="Laws of throughput against Reno with imposed losses, round-trip time 0.1 s",
        columns=[
            Column(title="loss probability"),
            *(Column(title=title) for title in ("simulated [packets/s]", "Mathis")),
            *(
                Column(title=title)
                for title in ("simulated [packets/s]", "Mathis", "Padhye", "Padhye, approximate")
            ),
        ],
        rows=rows,
        groups=[("", 1), ("periodic losses", 2), ("random losses", 4)],
        note="Errors of the laws, which are given the measured round-trip time, timeout and loss indications per packet.",
    )
