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
from dumbbell.bench.cases import CASES, Case, named, nearly_nothing
from dumbbell.bench.contenders import Contender, Dumbbell, load_contenders
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
    wanted = [one for one in others if not peers or one.peer in peers]
    place = Path(output) if output is not None else Path("results")
    # What cannot be written is found out now rather than after long measurements.
    make_folder(place)
    begin_load = load()
    with Display(sys.stderr, quiet=quiet) as display:
        present, absent = _present(wanted, asked=bool(peers), display=display)
        contenders: list[Contender] = [Dumbbell(like=others[0]), *present]
        board = {
            case.name: _measured(case, contenders, turns, share, least_cpu_s, display) for case in chosen
        }
        slower = _slower(board, turns, display)
    versions = {one.title: one.version() for one in contenders}
    criteria = _criteria(chosen, board, wanted, absent, slower)
    data = {
        "versions": versions,
        "load": begin_load,
        "turns": turns,
        "share": share,
        "least_cpu_s": least_cpu_s,
        "cases": [_case_data(case, contenders, board[case.name], share) for case in chosen],
        "slower_at_large_windows": None if slower is None else asdict(slower),
    }
    return written(
        place=place / "bench-peers",
        page=pages.peers_page(
            [(case, board[case.name]) for case in chosen],
            criteria=criteria,
            contenders=[contenders[0], *wanted],
            absent=absent,
            facts=[*versions.items(), ("turns", str(turns)), *pages.machine_facts(begin_load)],
            share=share,
            is_part=len(chosen) < len(CASES),
            least_cpu_s=least_cpu_s,
        ),
        criteria=criteria,
        absent=absent,
        data=data,
    )


def _present(
    wanted: Sequence[Contender], *, asked: bool, display: Display
) -> tuple[list[Contender], dict[str, str]]:
    """Return the simulators that are on this machine, ready to run, and why others are not."""
    present: list[Contender] = []
    absent: dict[str, str] = {}
    for one in wanted:
        try:
            one.version()
            one.prepare()
        except PeerAbsent as why:
            if asked:
                raise
            absent[one.title] = str(why)
            display.fold(f"{one.title} is SKIPPED: {why}")
        else:
            present.append(one)
    return present, absent


def _measured(
    case: Case,
    contenders: Sequence[Contender],
    turns: int,
    share: float,
    least_cpu_s: float,
    display: Display,
) -> dict[str, Turns]:
    """Return the turns of one case, by the keys of the contenders."""
    board: dict[str, Turns] = {}
    for one in contenders:
        scenario = case.scenario(one.tcp(case.variant), share=share)
        board[one.key] = Turns(
            run=partial(one.measure, scenario),
            nothing=partial(one.measure, nearly_nothing(scenario)),
            least_cpu_s=least_cpu_s,
        )
    done = display.steps(case.title, turns * len(contenders))
    for _ in range(turns):
        for each in board.values():
            each.take()
            done()
    shown = ", ".join(f"{one.title} {pages.rate_text(board[one.key])}" for one in contenders)
    display.fold(f"{case.title}: {shown} packets per CPU second")
    return board


def _slower(board: Mapping[str, Mapping[str, Turns]], turns: int, display: Display) -> Spread | None:
    """Return the ratio of the cost of a packet at large windows to that at small ones, in separate turns."""
    if LARGE not in board or SMALL not in board:
        return None
    large, small = (board[name][Dumbbell.key].fresh() for name in (LARGE, SMALL))
    done = display.steps("large windows against small ones", turns)
    for _ in range(turns):
        large.take()
        small.take()
        done()
    display.fold("large windows against small ones: done")
    return ratios(small.rates, large.rates)


def _criteria(
    cases: Sequence[Case],
    board: Mapping[str, Mapping[str, Turns]],
    wanted: Sequence[Contender],
    absent: Mapping[str, str],
    slower: Spread | None,
) -> list[Criterion]:
    found = []
    for one in wanted:
        if one.key not in AIMS:
            continue
        for case in (case for case in cases if not case.is_yardstick):
            name = f"times as fast as {one.title}: {case.title}"
            if one.title in absent:
                found.append(not_measured(name, f"at least {AIMS[one.key]:g}", absent[one.title]))
                continue
            turns = board[case.name]
            ratio = ratios(turns[Dumbbell.key].rates, turns[one.key].rates)
            found.append(at_least(name, ratio.median, AIMS[one.key]))
    for case in cases:
        if case.aim:
            rate = Spread.of(board[case.name][Dumbbell.key].rates).median
            name = f"delivered packets per CPU second: {case.title}"
            found.append(at_least(name, rate / 1e6, case.aim / 1e6, unit=" million", digits=2))
    name = "cost of a packet of two SACK flows, 1 Gbit/s over 10 Mbit/s"
    if slower is None:
        found.append(not_measured(name, f"at most {SLOWER:g}", "requires both cases"))
    else:
        found.append(at_most(name, slower.median, SLOWER))
    return found


def _case_data(
    case: Case, contenders: Sequence[Contender], board: Mapping[str, Turns], share: float
) -> dict[str, Any]:
    ours = board[Dumbbell.key]
    return {
        "case": case.name,
        "title": case.title,
        "duration_s": case.duration_s * share,
        "contenders": [
            {
                "contender": one.key,
                "title": one.title,
                "remark": one.remark(case.variant),
                "runs_per_turn": turns.runs,
                "packets_per_run": turns.packets_per_run,
                "utilization": case.utilization(turns.packets_per_run, share=share),
                "events_per_packet": turns.events_per_packet,
                "start_up_s": turns.start_up_s,
                "cpu_s": turns.cpu_s,
                "packets_per_cpu_s": asdict(Spread.of(turns.rates)),
                "ratio": None if turns is ours else asdict(ratios(ours.rates, turns.rates)),
            }
            for one in contenders
            for turns in [board[one.key]]
        ],
    }
