"""Claims about the algorithms: base round-trip time, window, slow start, sizes (sections 2, 3 and 6)."""

from __future__ import annotations

import numpy as np

from dumbbell.judge.estimate import NotMeasured, Outcome, above, listing, resampled
from dumbbell.models import rovegas as model
from dumbbell.quantities import bits_per_second

from .assumptions import Assumptions, fixed_delay_s
from .connection_claims import true_delay_ms
from .evidence import Evidence, Row, Values, worst
from .register import claim, estimate
from .scenarios import ASYMMETRIES, REROUTE_S, backward_load

FIRST, LEAST, GREATEST, LAST = range(4)
"""Order of the entries of a connection in `Row["base_rtt"]`."""

WAYS = ("delay", "path")
SETTLED_S = 20.0


@claim("RV-MEC-01")
def largest_deviation_of_derived_base_rtt(evidence: Evidence) -> Outcome:
    runs = [("ana", float(k)) for k in ASYMMETRIES] + [("fig-9", ""), ("fig-12", "")]
    spreads = [
        float(row["base_rtt"][GREATEST] - row["base_rtt"][LEAST])
        for figure, point in runs
        for row in evidence.rows(figure, "rovegas", point)
    ]
    return Outcome(
        measured=max(spreads),
        note=f"{len(spreads)} runs with full queues, dropped acknowledgements and other traffic",
    )


@claim("RV-MEC-02")
def derived_over_true_base_rtt_on_congested_path(evidence: Evidence) -> Outcome:
    true = true_delay_ms(evidence, "rovegas")
    # Every connection but the first meets the queue of those before it.
    derived = [
        evidence.first("base_rtt", 4 * index + FIRST, "fig-15", "rovegas") / true for index in range(1, 8)
    ]
    return resampled(worst(derived, 1.0))


def _longer_ms(variant: str, by: str, place: Assumptions) -> float:
    """Return the fixed delay after the reroute, ms: twice the bottleneck's delay, and a third router where there is one."""
    fixed = 1000 * fixed_delay_s(variant, place, bottleneck_ms=40.0)
    third = 1000 * (fixed_delay_s(variant, place) - _without_bottleneck_s(variant, place))
    return fixed + (third if by == "path" else 0.0)


def _without_bottleneck_s(variant: str, place: Assumptions) -> float:
    """Return the fixed delay less a transmission on the bottleneck there and back, s."""
    acknowledgement = 48 if variant == "rovegas" else 40
    return fixed_delay_s(variant, place) - 8 * (1000 + acknowledgement) / 1.6e6


def _base_at(row: Row, second: float) -> float:
    return float(row["base_curve"][int(second) - 1])


def _rerouted_rate(evidence: Evidence, label: str, by: str, start_s: float, end_s: float) -> Values:
    return evidence.rate("ext", label, by, start_s, end_s)


@claim("RV-MEC-03")
def least_gain_in_base_rtt_after_lengthening(evidence: Evidence) -> Outcome:
    gains, found = [], []
    for by in WAYS:
        errors = []
        for variant in ("vegas", "rovegas"):
            row = evidence.rows("ext", variant, by)[0]
            errors.append(
                abs(_base_at(row, REROUTE_S[1] - 1) - _longer_ms(variant, by, evidence.place("ext")))
            )
        gains.append(errors[0] - errors[1])
        found.append(f"{by}: Vegas {errors[0]:.1f}, RoVegas {errors[1]:.4f} ms off")
    return Outcome(measured=min(gains), holds=min(gains) > 0, note="; ".join(found))


@claim("RV-MEC-04")
def least_loss_of_vegas_after_lengthening(evidence: Evidence) -> Outcome:
    begin, end = REROUTE_S
    names, losses = [], []
    for by in WAYS:
        for variant in ("vegas", "rovegas", "rovegas-minimum"):
            before = _rerouted_rate(evidence, variant, by, SETTLED_S, begin)
            after = _rerouted_rate(evidence, variant, by, begin + SETTLED_S, end)
            names.append(f"{variant}, {by}")
            losses.append(before - after)
    vegas = [loss for name, loss in zip(names, losses, strict=True) if name.startswith("vegas")]
    return above(vegas, note=listing(names, losses, "{:.0f}"))


@claim("RV-MEC-05")
def least_fall_of_vegas_base_rtt_after_shortening(evidence: Evidence) -> Outcome:
    begin, end = REROUTE_S
    falls, kept = [], []
    for by in WAYS:
        row = evidence.rows("ext", "vegas", f"shorter-{by}")[0]
        falls.append(_base_at(row, begin - 1) - _base_at(row, end - 1))
        before = _rerouted_rate(evidence, "vegas", f"shorter-{by}", SETTLED_S, begin)
        after = _rerouted_rate(evidence, "vegas", f"shorter-{by}", begin + SETTLED_S, end)
        kept.append(float((after / before)[0]))
    # The fixed delay falls by at least 40 ms; throughput after it is within 1 % of the previous one.
    return Outcome(
        measured=min(falls),
        holds=min(falls) > 0 and min(kept) > 0.99,
        note=f"throughput afterwards {min(kept):.3f} of that before; the fixed delay falls by 40 ms and more",
    )


@estimate
def window_step(evidence: Evidence, case: int) -> Outcome:
    """Return the window changes by checks of one case: the step farthest from the expected one."""
    aim = (1.0, -1.0, 0.0, 0.0)[case]
    steps, count = [], 0.0
    cases = (case, 3) if case == 2 else (case,)
    for variant in ("vegas", "rovegas"):
        for label in ("exact", "rounded"):
            rule = evidence.rows("unit-rule", variant, label)[0]["rule"]
            for one in cases:
                if rule[3 * one]:
                    count += rule[3 * one] if one == case else 0
                    steps += [float(rule[3 * one + 1]), float(rule[3 * one + 2])]
    if not steps:
        raise NotMeasured("No check found this case.")
    farthest = max(steps, key=lambda step: abs(step - aim))
    return Outcome(measured=farthest, note=f"{count:.0f} checks, the window growing at once")


@estimate
def opening_ratio(evidence: Evidence, index: int, aim: float) -> Outcome:
    return resampled(
        worst(
            (evidence.first("opening", index, "unit-ss", variant) for variant in ("vegas", "rovegas")),
            aim,
        )
    )


def _wire(evidence: Evidence, variant: str, index: int) -> Values:
    return evidence.first("wire", index, "ana", variant, 0.5)


@claim("RV-MEC-11")
def growth_of_acknowledgement_by_option(evidence: Evidence) -> Outcome:
    return resampled(_wire(evidence, "rovegas", 1) - _wire(evidence, "vegas", 1))


@estimate
def overhead_of_option(evidence: Evidence, packet: float) -> Outcome:
    option = _wire(evidence, "rovegas", 1) - _wire(evidence, "vegas", 1)
    share = 1 - np.asarray(model.goodput_share(packet_size=packet, option_size=float(option[0])))
    return Outcome(measured=float(100 * share), note=f"an option of {option[0]:g} bytes, measured")


@claim("RV-MEC-16")
def size_of_data_packet(evidence: Evidence) -> Outcome:
    return resampled(worst((_wire(evidence, variant, 0) for variant in ("vegas", "rovegas")), 1000.0))


@claim("RV-MEC-17")
def largest_queue_under_overload(evidence: Evidence) -> Outcome:
    rows = evidence.rows("fig-10", "vegas", max(evidence.points("fig-10", "vegas")))
    return Outcome(measured=max(float(row["wire"][2]) for row in rows))


@claim("RV-MEC-18")
def rate_of_source_while_on(evidence: Evidence) -> Outcome:
    scenario = backward_load("fig-10", "vegas", 1.0, evidence.place("fig-10"))
    source = next(flow["source"] for flow in scenario.resolved()["flows"] if flow["name"] == "v1")
    return Outcome(measured=bits_per_second(source["rate"], "rate") / 1e6, note="the rate of the scenario")


@claim("RV-MEC-19")
def base_rtt_in_mixed_network_is_least_seen(evidence: Evidence) -> Outcome:
    """Count the runs of the mixed network whose base round-trip time is not the minimum measured."""
    violations = rises = 0
    for point in ("none", "r2", "all"):
        for row in evidence.rows("fig-19", "rovegas", point):
            base, least_rtt = row["base_rtt"], float(row["least_rtt"])
            rises += float(base[LEAST]) != float(base[LAST]) or float(base[FIRST]) != float(base[GREATEST])
            # Plain measurements only: the minimum round-trip time. With stamped queueing times it can only be smaller.
            wrong = abs(base[LAST] - least_rtt) > 1e-6 if point == "none" else base[LAST] > least_rtt + 1e-6
            violations += bool(wrong)
    return Outcome(
        measured=float(violations + rises),
        holds=violations + rises == 0,
        note=f"{violations} runs in which it is not the least, {rises} in which it rose",
    )
