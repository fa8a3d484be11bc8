"""Reports of the benchmarks."""

from __future__ import annotations

import math
from collections.abc import Sequence

from dumbbell.bench.board import Board
from dumbbell.bench.contenders import Dumbbell
from dumbbell.bench.outcome import load, machine
from dumbbell.bench.turns import Spread, Turns, ratios
from dumbbell.environment import environment_fact
from dumbbell.judge.criterion import Criterion, criteria_table
from dumbbell.plots import figure, legend_beside, styles, to_svg
from dumbbell.report import Block, Cell, Column, Figure, Section, Table, Text, render_page

NOTHING = "–"

MEDIANS = "The median over the turns; below it the smallest and the largest turn."
"""What a `spread_cell` shows."""


def machine_facts(begin_load: float) -> list[tuple[str, str]]:
    """Return the facts about the machine for the head of a report.

    Parameters
    ----------
    begin_load
        The load before the measurements.
    """
    loads = [NOTHING if math.isnan(one) else f"{one:.1f}" for one in (begin_load, load())]
    return [("machine", machine()), environment_fact(), ("load before and after", " and ".join(loads))]


def number(value: float, digits: int) -> str:
    """Return a number as shown in tables; unknown values are a dash."""
    return NOTHING if math.isnan(value) else f"{value:,.{digits}f}"


def spread_cell(spread: Spread, digits: int, *, scale: float = 1.0, unit: str = "") -> Cell:
    """Return a cell with a median and, below it, the range around it.

    Parameters
    ----------
    spread
        The three values.
    digits
        Decimals.
    scale
        Factor on the values.
    unit
        What follows the median.
    """
    median, around = spread.text(digits, scale)
    return Cell(text=median + unit, detail=around)


def rate_text(turns: Turns) -> str:
    """Return the median of delivered packets per CPU second in words."""
    rate = Spread.of(turns.rates).median
    return f"{rate / 1e6:.2f} M" if rate >= 1e5 else f"{rate / 1e3:.1f} k"


def peers_page(board: Board, *, criteria: Sequence[Criterion], facts: Sequence[tuple[str, str]]) -> str:
    """Return the report on Dumbbell and other simulators.

    Parameters
    ----------
    board
        What was measured.
    criteria
        What was wanted.
    facts
        Pairs of name and value for the head.
    """
    notice = [f"{name} was skipped: {why}." for name, why in board.absent.items()]
    if board.is_part:
        notice.append("Some cases were skipped.")
    if board.share < 1.0:
        notice.append(f"A trial: the runs have {100 * board.share:g} % of their full length.")
    wanted: Block = criteria_table(criteria) if criteria else Text(paragraphs=["None."])
    return render_page(
        title="Speed of Dumbbell and its peers",
        subtitle="The same scenarios in every simulator, in alternation, and the cost of a delivered packet in each.",
        facts=facts,
        notice=" ".join(notice),
        sections=[
            Section(anchor="criteria", title="Criteria", blocks=[wanted]),
            Section(anchor="speed", title="Delivered packets per CPU second", blocks=_speed(board)),
            Section(anchor="models", title="Work of each simulator per packet", blocks=[_models(board)]),
            Section(anchor="work", title="Comparison of the work", blocks=[_work(board)]),
            Section(anchor="how", title="Method", blocks=[Text(paragraphs=_how(board))]),
        ],
    )


def _speed(board: Board) -> list[Block]:
    columns, groups = Column.words("case"), [("", 1)]
    for one in board.contenders:
        columns += Column.numbers("packets per CPU second")
        if one.key != Dumbbell.key:
            columns += Column.numbers("Dumbbell is faster")
        groups.append((one.title, 1 if one.key == Dumbbell.key else 2))
    rows: list[list[Cell | str]] = []
    for case in board.cases:
        measured = board.measured[case.name]
        ours = measured[Dumbbell.key]
        row: list[Cell | str] = [Cell(text=case.title, detail=case.name)]
        for one in board.contenders:
            if one.title in board.absent:
                row += [Cell(text="not installed", tone="bad", detail=f"package {one.package}"), ""]
                continue
            turns = measured[one.key]
            spread = Spread.of(turns.rates)
            scale, digits, unit = (1e-6, 2, " M") if spread.median >= 1e5 else (1e-3, 1, " k")
            row.append(spread_cell(spread, digits, scale=scale, unit=unit))
            if turns is not ours:
                row.append(spread_cell(ratios(ours.rates, turns.rates), 1, unit=" times"))
        rows.append(row)
    table = Table(
        caption="Delivered data packets per CPU second, net of start-up, and how many times as fast Dumbbell is",
        columns=columns,
        groups=groups,
        rows=rows,
        note=f"{MEDIANS} Ratios are taken turn by turn.",
    )
    return [table, _figure(board)]


def _figure(board: Board) -> Figure:
    made, grid = figure(width=8.0, height=1.2 + 0.5 * len(board.cases))
    ax = grid[0, 0]
    looks = styles(one.title for one in board.present)
    rows = list(range(len(board.cases)))
    for one in board.present:
        spreads = [Spread.of(board.measured[case.name][one.key].rates) for case in board.cases]
        look = looks[one.title]
        ax.hlines(
            rows, [each.low for each in spreads], [each.high for each in spreads], color=look.colour, lw=1.6
        )
        ax.plot(
            [each.median for each in spreads],
            rows,
            color=look.colour,
            marker=look.marker,
            linestyle="",
            label=one.title,
        )
    ax.set_xscale("log")
    ax.set_yticks(rows, [case.title for case in board.cases])
    ax.set_ylim(len(rows) - 0.5, -0.5)
    ax.set_xlabel("delivered packets per CPU second [1/s]")
    legend_beside(ax)
    return Figure(
        svg=to_svg(made),
        caption="Median and range over the turns of each simulator; the axis is logarithmic.",
    )


def _models(board: Board) -> Table:
    rows: list[list[Cell | str]] = []
    for one in board.contenders:
        events = "not installed"
        if one.title not in board.absent:
            counted = [board.measured[case.name][one.key].events_per_packet for case in board.cases]
            known = [value for value in counted if not math.isnan(value)]
            events = Spread.of(known).text(1)[1] if known else "not reported"
        rows.append([Cell(text=one.title, tone="strong"), one.models, events])
    return Table(
        caption="What each simulator models",
        columns=[
            *Column.words("simulator", "what it models per packet"),
            *Column.numbers("events per delivered packet, counted"),
        ],
        rows=rows,
    )


def _work(board: Board) -> Table:
    rows: list[list[Cell | str]] = []
    for case in board.cases:
        heading = Cell(text=case.title, detail=f"{case.duration_s * board.share:g} s simulated")
        for place, one in enumerate(board.present):
            turns = board.measured[case.name][one.key]
            rows.append(
                [
                    heading if place == 0 else "",
                    Cell(text=one.title, detail=one.remark(case.variant)),
                    number(turns.packets_per_run, 0),
                    number(100 * case.utilization(turns.packets_per_run, share=board.share), 1),
                    str(turns.runs),
                    number(Spread.of(turns.cpu_s).median, 2),
                    number(1e3 * turns.start_up_s, 1),
                ]
            )
    return Table(
        caption="What each simulator delivered",
        columns=[
            *Column.words("case", "simulator"),
            *Column.numbers(
                "data packets delivered in a run",
                "utilization of the bottleneck [%]",
                "runs in a turn",
                "CPU time of a turn, net [s]",
                "start-up of a run [ms]",
            ),
        ],
        rows=rows,
        note="Utilization counts packets delivered for the first time; the rest is slow start and retransmissions.",
    )


def _how(board: Board) -> list[str]:
    letters = " ".join("ABCDEFGH"[: len(board.contenders)])
    order = ", ".join(one.title for one in board.contenders)
    return [
        "Each case is a dumbbell: a bottleneck with 20 ms of propagation delay in each direction. Each flow has its "
        "own hosts, behind access links that are ten times faster and have a delay of 1 ms. All flows are greedy "
        "and send from left to right; their starts are spread over the first tenth of the run. Packets have 1,000 "
        "bytes on the wire, acknowledgements 40 (in ns-3 42 plus SACK blocks), and every packet is acknowledged.",
        f"The simulators take turns, {letters} {letters} and so on ({order}), each measurement in a separate "
        "process, so that other load on the machine affects all of them equally. A ratio compares two measurements "
        "of the same turn. The measure is CPU time, user plus system, as counted by the operating system for the "
        "process. In the process of Dumbbell, it is read before and after the runs of the engine.",
        "Start-up is excluded: each turn also measures the same scenario with almost no simulated time, which "
        "starts the simulator, parses the scenario and builds the network. The median of these measurements is "
        "subtracted for every run.",
        "All simulators simulate the same span of time, chosen for the slowest one. The fast ones repeat the run "
        f"until a measurement takes about {board.least_cpu_s:g} s of CPU time: Dumbbell within one process, the others "
        "with one process per run.",
        "Nothing is recorded on any side: no traces, no monitors on the links. The drivers of the peers only count "
        "delivered bytes. The counters of Dumbbell cannot be turned off and are included.",
        "Dumbbell uses the rules of ns-2, so that both send the same packets. ns-3 has its own rules and runs the "
        "nearest equivalent. `dumbbell cross-validate` reports the agreement of the results.",
    ]
