"""The same work in Dumbbell and in other simulators, in alternation."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from dumbbell.arguments import whole_number
from dumbbell.bench import pages
from dumbbell.bench.board import Board
from dumbbell.bench.cases import Case, named, nearly_nothing
from dumbbell.bench.contenders import Dumbbell, load_contenders
from dumbbell.bench.outcome import Benched, load, written
from dumbbell.bench.turns import Spread, Turns, ratios
from dumbbell.campaign import Display
from dumbbell.crossvalidation import PeerAbsent
from dumbbell.errors import refusal
from dumbbell.files import make_folder
from dumbbell.judge.criterion import Criterion, at_least, at_most, not_measured

AIMS: Mapping[str, float] = {"ns3": 150.0, "ns2": 8.0, "ns2-tuned": 3.0}
"""How many times as fast as another simulator Dumbbell should be on every case, by the simulator's key."""

# A case with large windows and the same one with small windows, and the accepted slow-down per packet.
LARGE, SMALL, SLOWER = "sack-1000", "sack-10", 1.5

MOST_TURNS = 1000
"""Largest number of turns; each takes seconds."""


def bench_peers(
    *,
    peers: Sequence[str] = (),
    cases: Sequence[str] = (),
    turns: int = 5,
    output: str | Path | None = None,
    folder: str | Path | None = None,
    share: float = 1.0,
    least_cpu_s: float = 1.0,
    quiet: bool = False,
) -> Benched:
    """Measure how fast Dumbbell and other simulators do the same work, and write a report.

    Parameters
    ----------
    peers
        Names of the other simulators, as ``"ns2"``; by default all installed ones.
    cases
        Names of cases; all by default.
    turns
        How often each contender runs each case.
    output
        Folder for the report; ``results/`` of the working directory by default.
    folder
        Folder of the peers; see `dumbbell.crossvalidation.folder`.
    share
        Factor on the simulated time of the cases, for a trial; the report states it.
    least_cpu_s
        Minimum CPU time of a measurement, s.
    quiet
        Show no progress.

    Raises
    ------
    PeerAbsent
        A simulator requested by name is not installed.
    ScenarioError
        A simulator or a case is not known, or a number is out of range.
    """
    turns = whole_number("turns", turns, 1, MOST_TURNS)
    if not 0.0 < share <= 1.0:
        raise refusal("share", share, "a number above 0 and at most 1")
    chosen = named(cases)
    others = load_contenders(folder)
    known = list(dict.fromkeys(one.peer for one in others))
    for name in peers:
        if name not in known:
            raise refusal("peer", name, f"one of {', '.join(known)}", names=known)
    contenders = [Dumbbell(like=others[0]), *(one for one in others if not peers or one.peer in peers)]
    board = Board(cases=chosen, contenders=contenders, turns=turns, share=share, least_cpu_s=least_cpu_s)
    place = Path(output) if output is not None else Path("results")
    # What cannot be written is found out now rather than after long measurements.
    make_folder(place)
    begin_load = load()
    with Display(sys.stderr, quiet=quiet) as display:
        _prepare(board, asked=bool(peers), display=display)
        for case in chosen:
            board.measured[case.name] = _measured(case, board, display)
        board.slower = _slower(board, display)
    return _written(board, place / "bench-peers", begin_load)


def _written(board: Board, place: Path, begin_load: float) -> Benched:
    """Write the report and its numbers."""
    versions = {one.title: one.version() for one in board.present}
    criteria = _criteria(board)
    return written(
        place=place,
        page=pages.peers_page(
            board,
            criteria=criteria,
            facts=[*versions.items(), ("turns", str(board.turns)), *pages.machine_facts(begin_load)],
        ),
        criteria=criteria,
        absent=board.absent,
        data={
            "versions": versions,
            "load": begin_load,
            "turns": board.turns,
            "share": board.share,
            "least_cpu_s": board.least_cpu_s,
            "cases": [_case_data(case, board) for case in board.cases],
            "slower_at_large_windows": None if board.slower is None else asdict(board.slower),
        },
    )


def _prepare(board: Board, *, asked: bool, display: Display) -> None:
    """Prepare the simulators that are on this machine, and state why others are not."""
    for one in board.contenders[1:]:
        try:
            one.version()
            one.prepare()
        except PeerAbsent as why:
            if asked:
                raise
            board.absent[one.title] = str(why)
            display.fold(f"{one.title} is SKIPPED: {why}")


def _measured(case: Case, board: Board, display: Display) -> dict[str, Turns]:
    """Return the turns of one case, by the keys of the contenders."""
    found: dict[str, Turns] = {}
    for one in board.present:
        scenario = case.scenario(one.tcp(case.variant), share=board.share)
        found[one.key] = Turns(
            run=partial(one.measure, scenario),
            nothing=partial(one.measure, nearly_nothing(scenario)),
            least_cpu_s=board.least_cpu_s,
        )
    done = display.steps(case.title, board.turns * len(found))
    for _ in range(board.turns):
        for each in found.values():
            each.take()
            done()
    shown = ", ".join(f"{one.title} {pages.rate_text(found[one.key])}" for one in board.present)
    display.fold(f"{case.title}: {shown} packets per CPU second")
    return found


def _slower(board: Board, display: Display) -> Spread | None:
    """Return the ratio of the cost of a packet at large windows to that at small ones, in separate turns."""
    if LARGE not in board.measured or SMALL not in board.measured:
        return None
    large, small = (board.measured[name][Dumbbell.key].fresh() for name in (LARGE, SMALL))
    done = display.steps("large windows against small ones", board.turns)
    for _ in range(board.turns):
        large.take()
        small.take()
        done()
    display.fold("large windows against small ones: done")
    return ratios(small.rates, large.rates)


def _criteria(board: Board) -> list[Criterion]:
    found = []
    for one in board.contenders:
        if one.key not in AIMS:
            continue
        for case in (case for case in board.cases if not case.is_yardstick):
            name = f"times as fast as {one.title}: {case.title}"
            if one.title in board.absent:
                found.append(not_measured(name, f"at least {AIMS[one.key]:g}", board.absent[one.title]))
                continue
            turns = board.measured[case.name]
            ratio = ratios(turns[Dumbbell.key].rates, turns[one.key].rates)
            found.append(at_least(name, ratio.median, AIMS[one.key]))
    for case in board.cases:
        if case.aim:
            rate = Spread.of(board.measured[case.name][Dumbbell.key].rates).median
            name = f"delivered packets per CPU second: {case.title}"
            found.append(at_least(name, rate / 1e6, case.aim / 1e6, unit=" million", digits=2))
    name = "cost of a packet of two SACK flows, 1 Gbit/s over 10 Mbit/s"
    if board.slower is None:
        found.append(not_measured(name, f"at most {SLOWER:g}", "requires both cases"))
    else:
        found.append(at_most(name, board.slower.median, SLOWER))
    return found


def _case_data(case: Case, board: Board) -> dict[str, Any]:
    measured = board.measured[case.name]
    ours = measured[Dumbbell.key]
    return {
        "case": case.name,
        "title": case.title,
        "duration_s": case.duration_s * board.share,
        "contenders": [
            {
                "contender": one.key,
                "title": one.title,
                "remark": one.remark(case.variant),
                "runs_per_turn": turns.runs,
                "packets_per_run": turns.packets_per_run,
                "utilization": case.utilization(turns.packets_per_run, share=board.share),
                "events_per_packet": turns.events_per_packet,
                "start_up_s": turns.start_up_s,
                "cpu_s": turns.cpu_s,
                "packets_per_cpu_s": asdict(Spread.of(turns.rates)),
                "ratio": None if turns is ours else asdict(ratios(ours.rates, turns.rates)),
            }
            for one in board.present
            for turns in [measured[one.key]]
        ],
    }
