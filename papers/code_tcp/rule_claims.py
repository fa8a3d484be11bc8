"""Claims on the rule as a machine (Table 1, the worked example) and on the analysis of epsilon.

[chan2010 §3]
"""

from __future__ import annotations

import math
from typing import Literal

from dumbbell.judge.estimate import Outcome
from dumbbell.models import code_tcp

from .evidence import Evidence
from .printed import data
from .register import claim, estimate
from .rules import Rule, climb

EPSILON = 0.68


def _risen() -> Rule:
    """Return the rule after as many raises as take alpha from its start to the 15 of the worked example."""
    rule = Rule(w=20, alpha=1, beta=3)
    while rule.alpha < 15:
        rule.round(rule.alpha, rtt_grew=True)
    return rule


@estimate
def worked_threshold_before_loss(_: Evidence, threshold: Literal["alpha", "beta"]) -> Outcome:
    return Outcome(measured=getattr(_risen(), threshold))


@claim("C-ALG-C4")
def growth_in_three_queued_round_trips(_: Evidence) -> Outcome:
    return Outcome(measured=climb(2.0), note=f"NewVegas under the same conditions: {climb(1.0):g}")


def _cycle() -> code_tcp.Cycle:
    return code_tcp.cycle(EPSILON)


@claim("C-EPS-1")
def share_of_peak_that_code_keeps(_: Evidence) -> Outcome:
    return Outcome(measured=EPSILON + _cycle().decrease_rounds)


@claim("C-EPS-2")
def mean_window_of_reno_over_peak(_: Evidence) -> Outcome:
    cycle = _cycle()
    return Outcome(measured=cycle.reno_packets / cycle.rounds / cycle.reno_peak)


@claim("C-EPS-3")
def packets_of_reno_cycle_over_squared_peak(_: Evidence) -> Outcome:
    cycle = _cycle()
    return Outcome(measured=cycle.reno_packets / cycle.reno_peak**2)


@claim("C-EPS-4")
def rounds_of_cycle_over_reno_peak(_: Evidence) -> Outcome:
    cycle = _cycle()
    return Outcome(measured=cycle.rounds / cycle.reno_peak)


@claim("C-EPS-5")
def falling_rounds_of_code_over_peak(_: Evidence) -> Outcome:
    return Outcome(measured=_cycle().decrease_rounds)


@estimate
def coefficient_of_quadratic(_: Evidence, index: int) -> Outcome:
    """Return a coefficient of epsilon's quadratic, that of the square first."""
    return Outcome(measured=code_tcp.quadratic()[index])


@estimate
def root_of_quadratic(_: Evidence, which: Literal["smaller", "larger"]) -> Outcome:
    root = getattr(code_tcp.epsilon_roots(), which)
    return Outcome(measured=root, note=f"{root:.4f} to four digits")


@claim("C-EPS-11")
def falling_time_with_larger_root(_: Evidence) -> Outcome:
    roots = code_tcp.epsilon_roots()
    time = data()["analysis"]["kept"] - roots.larger
    return Outcome(
        measured=math.copysign(1.0, time),
        holds=time < 0 and roots.larger not in roots.admissible,
        note=f"t = {time:.3f} of CODE's peak",
    )
