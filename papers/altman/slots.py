"""Mini-slots measured, compared with Theorem 1 and the fluid recursion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dumbbell.models import altman

from .evidence import Evidence, Values
from .grid import Setting
from .plan import SLOTS, standing_windows

SlowStart = Literal["reno-slow-start", "vegas-slow-start"]

TRANSITION = (0.7, 2.8)
"""Sizes of the window before, in bandwidth-delay products, between which the queue neither stays empty nor filled."""


@dataclass(frozen=True, kw_only=True)
class SlotErrors:
    """Mini-slots of one phase and row, by window.

    Parameters
    ----------
    setting
        The row.
    phase
        The phase, as `altman.mini_slot` names it.
    windows
        Packets.
    before
        Window of the mini-slot before, packets.
    rtt, duration
        Simulated means over the runs, s.
    paper, paper_duration, fluid
        Round-trip time and duration by Theorem 1, and round-trip time by the fluid recursion, s.
    """

    setting: Setting
    phase: str
    windows: Values
    before: Values
    rtt: Values
    duration: Values
    paper: Values
    paper_duration: Values
    fluid: Values

    @property
    def paper_error(self) -> Values:
        """Relative errors of Theorem 1's round-trip times."""
        return self.paper / self.rtt - 1.0

    @property
    def duration_error(self) -> Values:
        """Relative errors of Theorem 1's durations."""
        return self.paper_duration / self.duration - 1.0

    @property
    def fluid_error(self) -> Values:
        """Relative errors of the fluid recursion's round-trip times."""
        return self.fluid / self.rtt - 1.0

    @property
    def is_in_transition(self) -> NDArray[np.bool_]:
        """Whether the window is in the range where the queue starts to stay filled."""
        relative = self.before / self.setting.link.bdp
        return (relative > TRANSITION[0]) & (relative < TRANSITION[1])


def worst(errors: Values) -> float:
    """Return the largest absolute error, NaN if there is none."""
    known = np.abs(errors[np.isfinite(errors)])
    return float(known.max()) if known.size else np.nan


def standing(evidence: Evidence) -> list[SlotErrors]:
    """Return the mini-slots of steady windows, measured over the second half of each run."""
    found = []
    for row in SLOTS:
        measured: list[list[float]] = []
        for window in standing_windows(row):
            name = f"standing/{row.id}/{window}"
            places = evidence.settings(name, row)
            runs = []
            for run, windows, durations, rtts in evidence.mini_slots(name):
                late = np.arange(len(windows)) >= len(windows) // 2
                chosen = late & (windows == window)
                slot = altman.mini_slot(places[run].link, float(window))
                runs.append(
                    (rtts[chosen].mean(), durations[chosen].mean(), float(slot.rtt), float(slot.duration))
                )
            measured.append([float(window), *np.mean(runs, axis=0)])
        windows, rtt, duration, paper, paper_duration = np.array(measured).T
        found.append(
            SlotErrors(
                setting=row,
                phase="constant",
                windows=windows,
                before=windows,
                rtt=rtt,
                duration=duration,
                paper=paper,
                paper_duration=paper_duration,
                # If the window is constant, both are the same formula.
                fluid=paper,
            )
        )
    return found


def _collected(row: Setting, phase: str, slots: dict[tuple[int, int], list[tuple[float, ...]]]) -> SlotErrors:
    """Return the means over runs of mini-slots collected by window and window before."""
    keys = sorted(slots)
    rtt, duration, paper, paper_duration, fluid = np.array([np.mean(slots[key], axis=0) for key in keys]).T
    return SlotErrors(
        setting=row,
        phase=phase,
        windows=np.array([float(window) for window, _ in keys]),
        before=np.array([float(before) for _, before in keys]),
        rtt=rtt,
        duration=duration,
        paper=paper,
        paper_duration=paper_duration,
        fluid=fluid,
    )


def growth(
    evidence: Evidence, variant: Literal["growth", "growth-by-generation"] = "growth"
) -> list[SlotErrors]:
    """Return the mini-slots of congestion avoidance in which the window is a packet larger than before."""
    found = []
    for row in SLOTS:
        places = evidence.settings(f"{variant}/{row.id}", row)
        slots: dict[tuple[int, int], list[tuple[float, ...]]] = {}
        for run, windows, durations, rtts in evidence.mini_slots(f"{variant}/{row.id}"):
            link = places[run].link
            nu, mu = link.available_rate, link.service_rate
            first = link.base_rtt
            for index in range(1, len(windows)):
                before, window = windows[index - 1], windows[index]
                first = float(altman.next_first_rtt(link, before, first))
                if window != before + 1:
                    continue
                slot = altman.mini_slot(link, window, "growth")
                fluid = first + min(1.0 / nu, mu / (nu * nu * window))
                slots.setdefault((int(window), int(before)), []).append(
                    (rtts[index], durations[index], float(slot.rtt), float(slot.duration), fluid)
                )
        found.append(_collected(row, "growth", slots))
    return found


def slow_start(evidence: Evidence, variant: SlowStart) -> list[SlotErrors]:
    """Return the mini-slots of slow start; for Vegas, those with a doubling and with a constant window separately."""
    found = []
    for row in SLOTS:
        places = evidence.settings(f"{variant}/{row.id}", row)
        phases: dict[str, dict[tuple[int, int], list[tuple[float, ...]]]] = {}
        for run, windows, durations, rtts in evidence.mini_slots(f"{variant}/{row.id}"):
            link = places[run].link
            first = link.base_rtt
            for index in range(1, len(windows)):
                before, window = windows[index - 1], windows[index]
                first = float(altman.next_first_rtt(link, before, first))
                if variant == "reno-slow-start":
                    phase: altman.Phase = "reno-slow-start"
                    if window != 2 * before:
                        continue
                elif window == 2 * before:
                    phase = "vegas-doubling"
                elif window == before:
                    phase = "vegas-constant"
                else:
                    continue
                if window < 2:
                    continue
                rates = altman.burst_rates(link, phase)
                slot = altman.mini_slot(link, window, phase)
                fluid = first + 0.5 * window * (1.0 / rates.out_of - 1.0 / rates.into)
                phases.setdefault(phase, {}).setdefault((int(window), int(before)), []).append(
                    (rtts[index], durations[index], float(slot.rtt), float(slot.duration), fluid)
                )
        found += [_collected(row, phase, slots) for phase, slots in phases.items()]
    return found
