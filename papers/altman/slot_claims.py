"""Claims of Theorem 1: single mini-slots."""

from __future__ import annotations

import numpy as np

from dumbbell.judge.estimate import Outcome
from dumbbell.models import altman

from . import slots
from .evidence import Evidence, Values
from .register import claim
from .slots import SlotErrors, worst

HALF = 0.5
"""The largest load at which the closed forms are meant to be good."""


def _percent(value: float) -> str:
    return f"{100.0 * value:.1f} %"


def _by_load(found: list[SlotErrors], name: str) -> str:
    parts = []
    for load in dict.fromkeys(slot.setting.load for slot in found):
        errors = np.concatenate([getattr(slot, name) for slot in found if slot.setting.load == load])
        parts.append(f"{_percent(worst(errors))} at {load:g}")
    return ", ".join(parts)


@claim("ALT-01")
def largest_error_of_mini_slot_with_standing_window(evidence: Evidence) -> Outcome:
    found = slots.standing(evidence)
    errors = [worst(np.concatenate([slot.paper_error, slot.duration_error])) for slot in found]
    return Outcome.of(max(errors), note=f"by load: round-trip time {_by_load(found, 'paper_error')}")


@claim("ALT-02")
def largest_error_of_round_trip_time_with_growing_window(evidence: Evidence) -> Outcome:
    found = slots.growth(evidence)
    light = [slot for slot in found if slot.setting.load <= HALF]
    paper = np.concatenate([slot.paper_error for slot in light])
    fluid = worst(np.concatenate([slot.fluid_error for slot in light]))
    mean = float(np.abs(paper).mean())
    by_generation = [
        slot for slot in slots.growth(evidence, "growth-by-generation") if slot.setting.load <= HALF
    ]
    other = worst(np.concatenate([slot.paper_error for slot in by_generation]))
    return Outcome.of(
        worst(paper),
        holds=worst(paper) <= 0.05 and mean <= 0.011 and fluid <= 0.04,
        note=f"mean {_percent(mean)}, fluid recursion {_percent(fluid)}; {_by_load(found, 'paper_error')}; "
        f"{_percent(other)} for a window that grows by a whole packet per generation",
    )


def _slow_start(found: list[SlotErrors], judged: list[SlotErrors]) -> Outcome:
    paper = worst(np.concatenate([slot.paper_error[~slot.is_in_transition] for slot in judged]))
    fluid = worst(np.concatenate([slot.fluid_error for slot in found]))
    inside = worst(np.concatenate([slot.paper_error[slot.is_in_transition] for slot in judged]))
    loads = []
    for load in dict.fromkeys(slot.setting.load for slot in found):
        errors = [slot.paper_error[~slot.is_in_transition] for slot in found if slot.setting.load == load]
        loads.append(f"{_percent(worst(np.concatenate(errors)))} at a load of {load:g}")
    return Outcome.of(
        paper,
        holds=paper <= 0.03 and fluid <= 0.02,
        note=f"outside the transition {', '.join(loads)}; inside {_percent(inside)}; fluid recursion "
        f"{_percent(fluid)} everywhere",
    )


@claim("ALT-03")
def largest_error_of_reno_slow_start(evidence: Evidence) -> Outcome:
    found = slots.slow_start(evidence, "reno-slow-start")
    return _slow_start(found, [slot for slot in found if slot.setting.load <= HALF])


@claim("ALT-04")
def largest_error_of_vegas_slow_start(evidence: Evidence) -> Outcome:
    found = slots.slow_start(evidence, "vegas-slow-start")
    return _slow_start(found, [slot for slot in found if slot.setting.load <= HALF])


def _doublings(evidence: Evidence) -> tuple[Values, Values]:
    """Return by how much longer Vegas takes than Reno for each doubling that finds the queue empty, s, by runs and by formula."""
    both = [*slots.slow_start(evidence, "reno-slow-start"), *slots.slow_start(evidence, "vegas-slow-start")]
    excesses, formula = [], []
    for setting in dict.fromkeys(slot.setting for slot in both):
        durations = {
            slot.phase: dict(zip(slot.windows, slot.duration, strict=True))
            for slot in both
            if slot.setting == setting
        }
        link = setting.link
        mu, rate = link.service_rate, link.exogenous_rate
        empty_below = (2.0 * mu * mu - rate * rate) * link.base_rtt / (2.0 * mu + rate)
        for window, reno in durations["reno-slow-start"].items():
            if window > empty_below:
                continue
            vegas = durations["vegas-doubling"][window] + durations["vegas-constant"][window]
            excesses.append(vegas - reno)
            formula.append(float(altman.slow_start_excess(link, window)))
    return np.array(excesses), np.array(formula)


@claim("ALT-05")
def smallest_excess_of_vegas_doubling_time(evidence: Evidence) -> Outcome:
    excesses, _ = _doublings(evidence)
    return Outcome.of(float(excesses.min()), note=f"{len(excesses)} doublings that find the queue empty")


@claim("ALT-37")
def largest_error_of_excess_of_vegas_doubling_time(evidence: Evidence) -> Outcome:
    excesses, formula = _doublings(evidence)
    return Outcome.of(worst(formula / excesses - 1.0), note=f"{len(excesses)} doublings")
