"""Claims of Theorem 2, of its form for several connections, and of Fig. 1."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dumbbell.judge.estimate import Outcome

from .evidence import Evidence, Sweep, Values
from .grid import CONNECTIONS, Connections, by_id, with_threshold_sweep
from .plan import EVOLUTION, IDENTITY, ample_buffer, identity_buffers
from .register import claim
from .scenarios import evolution_seconds

SAME = ("throughput", "rtt", "loss_window", "cycle_packets")
"""What two trajectories that are the same have in common."""

LOADED = ("A01", "A07", "A13", "A19")
"""Rows that differ by the load alone, alpha = 2."""


def row_sweeps(evidence: Evidence) -> list[tuple[Connections, Sweep]]:
    """Return the sweeps of the rows of the tables, one connection each."""
    cases = [Connections(flows=1, setting=row) for row in with_threshold_sweep()]
    return [(case, evidence.sweep("threshold", case)) for case in cases]


def connection_sweeps(evidence: Evidence) -> list[tuple[Connections, Sweep]]:
    """Return the sweeps with one, two and four connections."""
    return [(case, evidence.sweep("connections", case)) for case in CONNECTIONS]


def _surplus(sweep: Sweep) -> int:
    return sweep.smallest_stable - sweep.predicted


def allowed(case: Connections) -> int:
    """Return by how many packets the smallest buffer may exceed the critical one.

    The window may be two packets above the model's (ALT-07), and a packet of each window is mu/nu packets of the queue; one
    more because both are whole numbers.
    """
    link = case.setting.link
    return case.flows * math.ceil(2.0 * link.service_rate / link.available_rate - 1e-9) + 1


def _by_load(sweeps: Sequence[tuple[Connections, Sweep]]) -> str:
    parts = []
    for load in sorted({round(case.setting.load, 2) for case, _ in sweeps}):
        found = [_surplus(sweep) for case, sweep in sweeps if round(case.setting.load, 2) == load]
        span = f"{min(found)}" if min(found) == max(found) else f"{min(found)} to {max(found)}"
        parts.append(f"{span} at a load of {load:g}")
    return ", ".join(parts).replace("-", "−")


@claim("ALT-20")
def largest_excess_over_critical_buffer(evidence: Evidence) -> Outcome:
    sweeps = row_sweeps(evidence)
    surplus = [_surplus(sweep) for _, sweep in sweeps]
    inside = sum(-1 <= found <= allowed(case) for (case, _), found in zip(sweeps, surplus, strict=True))
    cut_off = sum(sweep.is_cut_off for _, sweep in sweeps)
    note = f"{inside} of {len(surplus)} rows inside; {_by_load(sweeps)}"
    return Outcome.of(
        float(max(surplus, key=abs)),
        holds=inside == len(surplus),
        note=f"{note}; {cut_off} sweeps end before Vegas is stable" if cut_off else note,
    )


def identity_differences(evidence: Evidence, one: str, other: str) -> dict[tuple[str, int], float]:
    """Return the largest relative difference of two sources' trajectories, by row and buffer."""
    found = {}
    for setting in IDENTITY:
        for buffer in identity_buffers(setting):
            values = [
                [
                    float(evidence.mean(evidence.column(f"identity/{name}/{setting.id}/{buffer}", column))[0])
                    for column in SAME
                ]
                for name in (one, other)
            ]
            found[setting.id, buffer] = float(np.abs(np.divide(values[0], values[1]) - 1.0).max())
    return found


@claim("ALT-21")
def largest_difference_of_cycles_below_threshold(evidence: Evidence) -> Outcome:
    same = identity_differences(evidence, "vegas-at-once", "generation")
    own = identity_differences(evidence, "vegas-spread", "reno")
    worst = max(same, key=lambda key: same[key])
    exact = sum(difference == 0.0 for difference in same.values())
    return Outcome.of(
        same[worst],
        holds=same[worst] <= 0.01,
        note=f"Reno growing as Vegas does, by a whole packet per round; equal to the last digit for {exact} of {len(same)} "
        f"buffers, largest difference in {worst[0]} with {worst[1]} packets. With the growth of Reno, 1/W an "
        f"acknowledgement, and Vegas taking its packet likewise, up to {100.0 * max(own.values()):.1f} %",
    )


@claim("ALT-22")
def losing_runs_well_above_threshold(evidence: Evidence) -> Outcome:
    losing = {
        setting.id: float(evidence.column(f"ample/{setting.id}/{ample_buffer(setting)}", "still_loses").sum())
        for setting in IDENTITY
    }
    count = len(evidence.frame(f"ample/{IDENTITY[0].id}/{ample_buffer(IDENTITY[0])}"))
    rows = ", ".join(f"{name}: {number:g} of {count}" for name, number in losing.items() if number)
    return Outcome.of(sum(losing.values()), note=rows)


@claim("ALT-23")
def ratio_of_needed_buffers_at_high_load(evidence: Evidence) -> Outcome:
    sweeps = [evidence.sweep("threshold", Connections(flows=1, setting=by_id(name))) for name in LOADED]
    smallest = [sweep.smallest_stable for sweep in sweeps]
    ratio = smallest[-1] / smallest[0]
    rises = all(np.diff(smallest) >= 0)
    return Outcome.of(
        ratio,
        holds=bool(rises and 3.0 <= ratio <= 8.0),
        note=f"smallest buffers at loads of 0, 0.2, 0.5 and 0.8: {', '.join(map(str, smallest))}",
    )


@claim("ALT-24")
def largest_excess_over_critical_buffer_of_several(evidence: Evidence) -> Outcome:
    sweeps = connection_sweeps(evidence)
    # How far outside the accepted range, 0 inside it.
    outside = [max(-_surplus(sweep), _surplus(sweep) - allowed(case), 0) for case, sweep in sweeps]
    worst = (
        int(np.argmax(outside)) if any(outside) else int(np.argmax([_surplus(sweep) for _, sweep in sweeps]))
    )
    case, sweep = sweeps[worst]
    inside = sum(distance == 0 for distance in outside)
    return Outcome.of(
        float(_surplus(sweep)),
        holds=inside == len(sweeps),
        note=f"{inside} of {len(sweeps)} cases inside; n = {case.flows}, alpha = {case.setting.alpha:g}, load "
        f"{case.setting.load:g}; {_by_load(sweeps)}",
    )


@claim("ALT-25")
def share_of_rows_where_more_connections_need_more_buffer(evidence: Evidence) -> Outcome:
    rows: dict[str, list[int]] = {}
    for case, sweep in connection_sweeps(evidence):
        rows.setdefault(case.setting.id, []).append(sweep.smallest_stable)
    return Outcome.share([all(np.diff(found) > 0) for found in rows.values()])


@claim("ALT-38")
def least_buffer_of_several_over_one_packet_each(evidence: Evidence) -> Outcome:
    """Return the smallest buffer of n connections with the least threshold over the n mu/nu packets of a packet each."""
    ratios = {
        f"n = {case.flows}, load {case.setting.load:g}": sweep.smallest_stable
        * case.setting.link.available_rate
        / (case.flows * case.setting.link.service_rate)
        for case, sweep in connection_sweeps(evidence)
        if case.setting.alpha == 1.0
    }
    least = min(ratios, key=lambda name: ratios[name])
    return Outcome.of(ratios[least], note=f"least with {least}; {len(ratios)} cases")


def _movement(times: Values, window: Values, begin: float) -> float:
    """Return the range of a window from some time on, packets. Only changes of the window are recorded."""
    held = int(np.searchsorted(times, begin, side="right")) - 1
    return float(np.ptp(window[held:]))


@claim("ALT-26")
def smallest_window_of_reno_over_largest(evidence: Evidence) -> Outcome:
    begin = 0.7 * evolution_seconds(EVOLUTION)
    spread = max(
        _movement(np.asarray(row["curve_times"]), np.asarray(row["curve"]), begin)
        for _, row in evidence.frame("evolution/vegas").iterrows()
    )
    name = f"cycles/{EVOLUTION.id}"
    ratio = evidence.mean(evidence.column(name, "window_low") / evidence.column(name, "loss_window"))
    return Outcome.of(
        ratio,
        holds=(np.abs(ratio - 0.5) <= 0.05) & (spread <= 1.0),
        note=f"the window of Vegas moves by {spread:g} packets in the last 30 % of the time",
    )
