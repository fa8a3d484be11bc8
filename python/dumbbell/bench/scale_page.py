"""The report on how Dumbbell's cost grows."""

from __future__ import annotations

from collections.abc import Sequence

from dumbbell.bench.growth import FULL, Batches, Idle, Plan, Sweep
from dumbbell.bench.pages import MEDIANS, machine_facts, number, spread_cell
from dumbbell.bench.turns import Spread
from dumbbell.campaign import engine_identity
from dumbbell.judge.criterion import Criterion, criteria_table
from dumbbell.plots import figure, to_svg
from dumbbell.plots import sweep as curves
from dumbbell.report import Block, Cell, Column, Figure, Section, Table, Text, render_page

MEBIBYTE = 2.0**20


def page(
    sweeps: Sequence[Sweep],
    idle: Idle,
    batches: Sequence[Batches],
    plan: Plan,
    *,
    criteria: Sequence[Criterion],
    begin_load: float,
) -> str:
    """Return the report as the text of one self-contained HTML file.

    Parameters
    ----------
    sweeps
        What was swept.
    idle
        Memory of idle flows.
    batches
        Batches on one thread, two threads and two processes, from the shortest to the longest; none if there is only one core.
    plan
        How much was measured.
    criteria
        What was wanted.
    begin_load
        The load of the machine before the measurements.
    """
    return render_page(
        title="How the cost of Dumbbell grows",
        subtitle="CPU time per delivered packet, memory and threads, by the size of the simulation.",
        facts=[("Dumbbell", engine_identity()), ("turns", str(plan.turns)), *machine_facts(begin_load)],
        notice="" if plan == FULL else "A trial: fewer and shorter measurements, without the largest sizes.",
        sections=[
            Section(anchor="criteria", title="Criteria", blocks=[criteria_table(criteria)]),
            *(Section(anchor=sweep.key, title=sweep.title, blocks=_sweep(sweep)) for sweep in sweeps),
            Section(anchor="memory", title="Memory", blocks=_memory(idle)),
            Section(anchor="threads", title="Two threads", blocks=_threads(batches, plan)),
            Section(anchor="how", title="Method", blocks=[Text(paragraphs=_how(plan))]),
        ],
    )


def _sweep(sweep: Sweep) -> list[Block]:
    is_long = sweep.key == "hour"
    rows: list[list[Cell | str]] = []
    for point in sweep.points:
        turns = point.turns
        cpu = Spread.of(net / turns.runs for net in turns.cpu_s)
        rows.append(
            [
                point.series,
                point.label,
                spread_cell(Spread.of(turns.costs_ns), 0),
                number(turns.events_per_packet, 2),
                number(turns.packets_per_run, 0),
                number(cpu.median, 3),
                *([number(point.x / cpu.median, 0)] if is_long else []),
                number(1e3 * turns.start_up_s, 1),
                number(turns.peak_bytes / MEBIBYTE, 0),
            ]
        )
    unit = f" [{sweep.unit}]" if sweep.unit else ""
    table = Table(
        caption=f"Cost over {sweep.swept}",
        columns=[
            *Column.words("what"),
            *Column.numbers(
                sweep.swept + unit,
                "CPU time per delivered packet [ns]",
                "events per packet",
                "packets in a run",
                "CPU time of a run, net [s]",
            ),
            *([Column(title="simulated time per CPU time")] if is_long else []),
            *Column.numbers("start-up of a run [ms]", "largest memory [MiB]"),
        ],
        rows=rows,
        note=MEDIANS,
    )
    blocks: list[Block] = [Text(paragraphs=[sweep.about]), table]
    if len(sweep.points) > 1:
        blocks.append(_figure(sweep))
    return blocks


def _figure(sweep: Sweep) -> Figure:
    made, grid = figure(width=7.0)
    ax = grid[0, 0]
    series: dict[str | tuple[str, str], tuple[list[float], list[float], list[float], list[float]]] = {}
    for name in dict.fromkeys(point.series for point in sweep.points):
        points = [point for point in sweep.points if point.series == name]
        spreads = [Spread.of(point.turns.costs_ns) for point in points]
        series[name] = (
            [point.x for point in points],
            [one.median for one in spreads],
            [one.low for one in spreads],
            [one.high for one in spreads],
        )
    is_number = sweep.key != "traces"
    grows_tenfold = sweep.key in ("flows", "windows")
    curves(
        series,
        x_label=sweep.swept,
        x_unit=sweep.unit or None,
        y_label="CPU time per delivered packet",
        y_unit="ns",
        log_x=grows_tenfold,
        ax=ax,
    )
    if not is_number:
        ax.set_xticks([point.x for point in sweep.points], [point.label for point in sweep.points])
    ax.set_ylim(bottom=0.0)
    return Figure(svg=to_svg(made), caption=f"{sweep.title}: median and range over the turns.")


def _memory(idle: Idle) -> list[Block]:
    few, many = idle.flows
    rows: list[list[Cell | str]] = [
        [
            name,
            number(peaks[0] / MEBIBYTE, 1),
            number(peaks[1] / MEBIBYTE, 1),
            number(idle.per_flow(peaks), 0),
        ]
        for name, peaks in (
            ("a run", idle.peaks),
            ("reading the scenario and building the network alone", idle.peaks_of_start_up),
        )
    ]
    return [
        Text(
            paragraphs=[
                "An idle flow has an open connection, has sent its first window of two segments, and waits. The "
                "receivers have received them and sent acknowledgements, but the path is so long that none has "
                "arrived when the run ends. All connections are therefore open at the same time, with "
                "unacknowledged data and a running timer.",
                "The measure is the maximum resident memory of the process up to the end of the run, including the "
                f"text of the scenario and the results of every flow: the difference between {many:,} and {few:,} "
                f"flows, divided by {many - few:,}.",
            ]
        ),
        Table(
            caption="Largest resident memory of a process",
            columns=[
                *Column.words("what"),
                *Column.numbers(f"{few:,} flows [MiB]", f"{many:,} flows [MiB]", "per flow [bytes]"),
            ],
            rows=rows,
        ),
    ]


def _threads(batches: Sequence[Batches], plan: Plan) -> list[Block]:
    about = Text(
        paragraphs=[
            f"Replications of one NewReno flow of 10 Mbit/s, {plan.batch_s:g} s each, with `run_many` on one thread, on two, and "
            "in two independent processes with half of the runs each, in alternation. This measures wall-clock time, so "
            "nothing else may run on the machine. If the processes do not gain either, the limit is the machine, "
            "not contention between threads.",
            "Batches have several sizes because some machines, including virtual ones, are slower during the first "
            "seconds in which a second core is used. The target for two threads applies to the largest batch.",
        ]
    )
    if not batches:
        return [about, Text(paragraphs=["Not measured: this process may use one core only."])]
    rows: list[list[Cell | str]] = [
        [
            number(batch.runs, 0),
            *(spread_cell(Spread.of(times), 2) for times in (batch.one_s, batch.two_s, batch.apart_s)),
            spread_cell(batch.gain, 2),
            spread_cell(batch.granted, 2),
        ]
        for batch in batches
    ]
    table = Table(
        caption="Batches on one and two threads",
        columns=[
            *Column.numbers(
                "runs",
                "one thread [s]",
                "two threads [s]",
                "two processes [s]",
                "speed-up of threads",
                "speed-up of processes",
            ),
        ],
        rows=rows,
        note=MEDIANS,
    )
    return [about, table]


def _how(plan: Plan) -> list[str]:
    return [
        "Each measurement is a separate process that runs only the engine. CPU time is that of the process, user "
        "plus system, read before and after the runs. A run is repeated in it until a measurement takes about "
        f"{plan.least_cpu_s:g} s. In each turn every point of a sweep is measured once.",
        "Start-up is excluded: each turn also measures the same scenario with one microsecond of simulated time, "
        "which parses it and builds the network. The median of these measurements is subtracted for every run and "
        "shown in a separate column.",
        "A delivered packet is payload of a full segment that arrived for the first time. Packets have 1,000 bytes on the "
        "wire, acknowledgements 40, and every packet is acknowledged.",
        "Memory is the maximum resident memory of the process up to the end of its first run, including the "
        "interpreter.",
    ]
