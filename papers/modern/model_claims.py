"""Claims on models of a path: BBR and BBRv3."""

from __future__ import annotations

import itertools

import numpy as np

from dumbbell.claims import NotMeasured, Outcome

from .evidence import Evidence, Run, farthest, held, listing, measured, ordering
from .model_scenarios import CLIFF, DOWN_CHANGES_MS, DRAIN_CHANGES_MS, HIGH_LOSS, SHALLOW, SLOW_BUFFERS_KB
from .network import FORWARD
from .register import claim

__all__ = ["loss_rate"]

PACKET_BITS = 1500 * 8

STARTUP, DRAIN, DOWN, CRUISE, REFILL, UP, PROBE_RTT = range(7)
"""States of BBRv3."""

POLICED = 4
"""Mode of BBR that paces at the rate of a policer."""


def loss_rate(run: Run) -> float:
    """Return the part of the data segments that was dropped."""
    return run.total("segments_lost") / run.total("segments_sent")


def _delay_ms(run: Run, mbps: float, begin_s: float, end_s: float) -> np.ndarray:
    """Return the queueing delay by the packets that wait, ms."""
    return run.trace("backlog", FORWARD).between(begin_s, end_s).values * PACKET_BITS / mbps / 1000


# BBR.


@claim("bbr-01")
def rise_of_the_round_trip_time_while_probing(evidence: Evidence) -> Outcome:
    run = evidence.one("bbr-alone")
    probing = run.trace("pacing_gain").stays(lambda gain: np.isclose(gain, 1.25), 32)
    rises = [
        _delay_ms(run, 10, begin, end + 0.05).max() - _delay_ms(run, 10, begin - 0.01, begin + 0.01).min()
        for begin, end in probing
        if begin > 3 and end < 10
    ]
    if not rises:
        raise NotMeasured("There was no phase of probing.")
    return measured(float(np.median(rises)), f"median of {len(rises)} phases")


def _time_to_twice(run: Run) -> float:
    estimate = run.trace("bandwidth")
    after = estimate.times[(estimate.times > 20) & (estimate.values > 0.95 * 20e6 * 1448 / 1500)]
    return float(after[0]) - 20 if len(after) else float("nan")


@claim("bbr-03")
def time_to_twice_the_rate(evidence: Evidence) -> Outcome:
    return measured(evidence.each("bbr-steps", _time_to_twice), "it depends on the phase at the change")


def _time_to_half(run: Run) -> float:
    estimate = run.trace("bandwidth")
    fallen = estimate.times[(estimate.times > 40) & (estimate.values < 11e6)]
    return float(fallen[0]) - 40 if len(fallen) else float("nan")


@claim("bbr-04")
def peak_and_duration_after_half_the_rate(evidence: Evidence) -> Outcome:
    peak = evidence.each("bbr-steps", lambda run: 40 + float(_delay_ms(run, 10, 40, 46).max()))
    return farthest(
        {
            "round-trip time, ms": (peak, 165),
            "estimate falls after, s": (evidence.each("bbr-steps", _time_to_half), 1.8),
        }
    )


@claim("bbr-05")
def mean_round_trip_time_of_bbr(evidence: Evidence) -> Outcome:
    cubic, bbr = (evidence.one(f"buffer-250ms-{name}") for name in ("cubic", "bbr"))
    peak = 40 + float(_delay_ms(cubic, 10, 10, 120).max())
    mean = 40 + float(_delay_ms(bbr, 10, 10, 120).mean())
    return Outcome(
        measured=mean,
        holds=peak >= 285 and mean < 60,
        note=f"the round-trip time of CUBIC reaches {peak:.0f} ms",
    )


@claim("bbr-06")
def rate_of_each_of_five_flows(evidence: Evidence) -> Outcome:
    run = evidence.one("bbr-five")
    rates = {name: (row["goodput_bps"] / 1e6 * 1500 / 1448, 20.0) for name, row in run.flows.items()}
    return farthest(rates, "Mb/s with headers")


@claim("bbr-07")
def part_of_the_capacity_that_cubic_uses(evidence: Evidence) -> Outcome:
    values = evidence.each("cubic-lossy", lambda run: run.goodput() / 100)
    return ordering(values, lambda part: part <= 0.2)


@claim("bbr-09")
def goodput_beyond_the_limit_of_loss(evidence: Evidence) -> Outcome:
    below, above = (evidence.each(f"bbr-lossy-{loss}", Run.goodput) for loss in ("0.15", "0.25"))
    return ordering(
        below / above,
        lambda ratio: ratio > 2,
        f"{below.mean():.1f} Mb/s at 15 % (limit by what arrives 85), {above.mean():.1f} at 25 %",
    )


@claim("bbr-10")
def limit_of_loss_with_a_smaller_gain(evidence: Evidence) -> Outcome:
    parts = {
        loss: float(evidence.each(f"cliff-{loss:g}", Run.goodput).mean()) / (20 * 1448 / 1500 * (1 - loss))
        for loss in CLIFF
    }
    note = listing([(f"{100 * loss:g} %", part) for loss, part in parts.items()], "{:.2f}")
    losses = list(parts)
    for before, after in itertools.pairwise(losses):
        if parts[before] >= 0.5 > parts[after]:
            share = (parts[before] - 0.5) / (parts[before] - parts[after])
            return measured(100 * (before + share * (after - before)), f"part of what may arrive: {note}")
    raise NotMeasured(f"The goodput does not fall below half of what may arrive: {note}.")


@claim("bbr-11")
def duration_and_interval_of_probe_rtt(evidence: Evidence) -> Outcome:
    run = evidence.one("bbr-probe-rtt")
    modes = run.trace("bbr_mode").stays(lambda mode: mode == 3, 32)
    if len(modes) < 2:
        raise NotMeasured(f"ProbeRTT was entered {len(modes)} times.")
    flight = run.trace("flight_size")
    small = []
    for begin, end in modes:
        stays = [
            stop - max(start, begin)
            for start, stop in flight.between(begin, end + 0.01).stays(lambda size: size <= 4, end)
        ]
        small.append(max(stays, default=0.0))
    interval = float(np.diff([begin for begin, _ in modes]).mean())
    return farthest(
        {
            "4 segments in flight, s": (float(np.mean(small)), 0.2),
            "from one to the next, s": (interval, 10.2),
        },
        "the interval of 10 s begins when the minimum is measured, at the end of ProbeRTT",
    )


@claim("bbr-12")
def round_trips_at_the_rate_of_a_policer(evidence: Evidence) -> Outcome:
    run = evidence.one("policer")
    stays = run.trace("bbr_mode").stays(lambda mode: mode == POLICED, 30)
    if not stays:
        return Outcome(measured=0.0, holds=False, note="the policer was never found")
    begin, end = stays[0]
    rate = float(run.trace("bandwidth").at((begin + end) / 2)) / 1e6
    rounds = (end - begin) / 0.04
    return Outcome(
        measured=rounds,
        holds=40 <= rounds <= 56 and abs(rate - 10) < 1.25,
        note=f"found after {begin:.2f} s, at {rate:.2f} Mb/s",
    )


def _losses(evidence: Evidence) -> dict[str, np.ndarray]:
    return {name: evidence.each(f"shallow-{name}", loss_rate) for name in SHALLOW}


@claim("bbr-13")
def loss_of_bbr_over_cubic_in_a_shallow_buffer(evidence: Evidence) -> Outcome:
    losses = _losses(evidence)
    note = listing([(name, 100 * values.mean()) for name, values in losses.items()], "{:.2f} %")
    ratio = losses["bbr"] / losses["cubic"]
    lower = losses["bbr3"].mean() < losses["bbr"].mean()
    return ordering(ratio, lambda value: (value > 2) & lower, note)


@claim("bbr-14")
def queue_of_four_flows(evidence: Evidence) -> Outcome:
    return measured(evidence.each("deep-four", lambda run: run.link("wait_mean_s") * 1000 / 40))


def _standing_s(run: Run) -> float:
    """Return the median delay of the second half at 128 kb/s, s."""
    values = run.trace("backlog", FORWARD).values
    return float(np.median(values[len(values) // 2 :])) * PACKET_BITS / 128_000


@claim("bbr-16")
def delay_of_cubic_over_the_buffer(evidence: Evidence) -> Outcome:
    flags, notes, flat = {}, [], []
    for size in SLOW_BUFFERS_KB:
        full = size * 8 / 128
        cubic, bbr = (evidence.each(f"slow-{name}-{size}", _standing_s) for name in ("cubic", "bbr"))
        notes.append(f"{size} kB: {cubic.mean():.1f} s of {full:.0f}, BBR {bbr.mean():.2f} s")
        flags[f"CUBIC, {size} kB"] = full / 2 <= cubic.mean() <= 2 * full
        flat.append(float(bbr.mean()))
    flags["BBR flat"] = max(flat) <= 2 * min(flat)
    return held(flags, "; ".join(notes))


# Single flows of BBR and CUBIC.


@claim("cao-01")
def goodput_of_bbr_over_cubic_in_a_shallow_buffer(evidence: Evidence) -> Outcome:
    bbr, cubic = (evidence.each(f"single-200ms-{name}", Run.goodput) for name in ("bbr", "cubic"))
    return measured(bbr / cubic, f"{bbr.mean():.1f} and {cubic.mean():.1f} Mb/s")


@claim("cao-03")
def retransmissions_of_bbr_over_cubic(evidence: Evidence) -> Outcome:
    bbr, cubic = (
        evidence.each(f"single-25ms-{name}", lambda run: run.flow("segments_retransmitted"))
        for name in ("bbr", "cubic")
    )
    ratio = bbr / np.maximum(cubic, 1)
    return ordering(
        ratio,
        lambda value: value >= 14.3,
        f"{bbr.mean():.0f} and {cubic.mean():.0f}; published 143 times as many",
    )


@claim("cao-04")
def retransmissions_of_bbr_in_a_deep_buffer(evidence: Evidence) -> Outcome:
    return measured(evidence.each("single-deep-bbr", lambda run: run.flow("segments_retransmitted")))


@claim("cao-05")
def rate_under_loss(evidence: Evidence) -> Outcome:
    rates = {
        f"{100 * loss:g} %": (
            evidence.each(f"loss-{loss:g}", lambda run: run.flow("throughput_bps") / 1e6),
            94.0,
        )
        for loss in HIGH_LOSS
        if loss <= 0.18
    }
    return farthest(rates, "Mb/s sent")


@claim("cao-06")
def goodput_at_a_quarter_lost(evidence: Evidence) -> Outcome:
    values = evidence.each("loss-0.25", Run.goodput)
    return ordering(values, lambda rate: rate < 37.5)


# The draft of BBRv3.


def _states(run: Run, state: int, end_s: float) -> list[tuple[float, float]]:
    return run.trace("bbr3_state").stays(lambda values: values == state, end_s)


def _first(run: Run, state: int, end_s: float, after_s: float = 0.0) -> tuple[float, float]:
    """Return begin and end of the first stay in a state after a time.

    Raises
    ------
    NotMeasured
        There is none.
    """
    for begin, end in _states(run, state, end_s):
        if begin >= after_s:
            return begin, end
    raise NotMeasured(f"State {state} was not entered after {after_s:g} s.")


@claim("bbr3-01")
def bandwidth_at_the_end_of_startup(evidence: Evidence) -> Outcome:
    run = evidence.one("draft-steady")
    _, end = _first(run, STARTUP, 42)
    payload = 50e6 * 1448 / 1500
    bandwidth = run.trace("max_bw")
    reached = bandwidth.times[bandwidth.values >= 0.75 * payload]
    rounds = (end - float(reached[0])) / 0.04 if len(reached) else float("nan")
    return measured(
        float(bandwidth.at(end)) / payload, f"{rounds:.1f} base round-trip times after three quarters of it"
    )


@claim("bbr3-02")
def exit_from_startup_by_loss(evidence: Evidence) -> Outcome:
    _, by_loss = _first(evidence.one("draft-startup-loss"), STARTUP, 4)
    run = evidence.one("draft-startup-loss")
    following = float(run.trace("bbr3_state").at(by_loss))
    bound = run.trace("inflight_longterm")
    limited = float(bound.at(by_loss + 0.001)) > 0
    return held(
        {"Drain follows": following == DRAIN, "the long-term bound is set": limited},
        f"Startup ends after {by_loss:.3f} s; the flow is not limited by its application here",
    )


@claim("bbr3-03")
def data_in_flight_at_the_end_of_drain(evidence: Evidence) -> Outcome:
    run = evidence.one("draft-fine")
    _, end = _first(run, DRAIN, 9)
    flight = _flight(run, end)
    bdp = _path_segments(run, end)
    return Outcome(
        measured=flight - bdp, holds=flight <= bdp + 1, note=f"of {bdp:.1f} segments by the estimates"
    )


def _flight(run: Run, time_s: float) -> float:
    """Return the segments in flight at a time: the smaller one of the samples before and after it."""
    flight = run.trace("flight_size")
    return float(min(flight.at(time_s), flight.at(time_s + 0.00025)))


def _path_segments(run: Run, time_s: float) -> float:
    """Return the product of the estimated bandwidth and the minimum round-trip time, segments."""
    rtt = run.flow("rtt_min_s")
    return float(run.trace("max_bw").at(time_s)) * rtt / 8 / 1448


@claim("bbr3-04")
def rounds_of_drain_after_a_slower_rate(evidence: Evidence) -> Outcome:
    for at in DRAIN_CHANGES_MS:
        run = evidence.one(f"draft-drain-{at}")
        begin, end = _first(run, DRAIN, 1.5)
        if begin - 0.01 <= at / 1000 <= begin + 0.03:
            rtt = float(run.trace("srtt").between(begin, end).values.mean())
            return measured(
                (end - begin) / rtt, f"Drain begins after {begin:.3f} s, the rate falls after {at / 1000:g} s"
            )
    raise NotMeasured("In no run, the rate falls as Drain begins.")


@claim("bbr3-05")
def rounds_of_up_on_a_plateau(evidence: Evidence) -> Outcome:
    run = evidence.one("draft-steady")
    stays = [end - begin for begin, end in _states(run, UP, 42) if end < 42]
    if not stays:
        raise NotMeasured("UP was not entered.")
    # The queue that the gain of 1.25 builds lengthens the rounds.
    return measured(
        float(np.median(stays)) / (1.25 * 0.04),
        f"median of {len(stays)} probes, in round-trip times of 1.25 times the base",
    )


@claim("bbr3-08")
def data_in_flight_when_cruising_begins(evidence: Evidence) -> Outcome:
    run = evidence.one("draft-fine")
    bound = run.trace("inflight_longterm")
    over = []
    for begin, _ in _states(run, CRUISE, 9):
        bdp = _path_segments(run, begin)
        longterm = float(bound.at(begin)) / 1448
        most = min(bdp, 0.85 * longterm) if longterm else bdp
        over.append(_flight(run, begin) - most)
    if not over:
        raise NotMeasured("CRUISE was not entered.")
    return Outcome(measured=max(over), holds=max(over) <= 1.0, note="largest excess over the bound, segments")


@claim("bbr3-09")
def time_to_refill_on_a_slower_path(evidence: Evidence) -> Outcome:
    for at in DOWN_CHANGES_MS:
        run = evidence.one(f"draft-down-{at}")
        end = at / 1000 + 6
        begin = next((begin for begin, _ in _states(run, DOWN, end) if abs(begin - at / 1000) <= 0.025), None)
        refill = next(
            (other for other, _ in _states(run, REFILL, end) if begin is not None and other > begin), None
        )
        if begin is None or refill is None:
            continue
        if any(begin < other < refill for other, _ in _states(run, PROBE_RTT, end)):
            continue
        cruised = any(begin < other < refill for other, _ in _states(run, CRUISE, end))
        return Outcome(
            measured=refill - begin,
            holds=not cruised and 1.9 <= refill - begin <= 3.1,
            note="with CRUISE in between" if cruised else "without CRUISE",
        )
    raise NotMeasured("In no run, the rate falls as DOWN begins and ProbeRTT stays out until REFILL.")


@claim("bbr3-10")
def probe_rtt_of_the_draft(evidence: Evidence) -> Outcome:
    run = evidence.one("draft-steady")
    stays = [(begin, end) for begin, end in _states(run, PROBE_RTT, 42) if begin > 5 and end < 42]
    if not stays:
        raise NotMeasured("ProbeRTT was not entered.")
    begin, end = stays[0]
    flight = run.trace("flight_size").between(begin + 0.05, end).values
    bdp = 50e6 * 0.04 / 8 / 1500
    following = float(run.trace("bbr3_state").at(end))
    flags = {
        "200 ms and up to two rounds": 0.2 <= end - begin <= 0.2 + 2 * 0.04 + 0.01,
        "half of the path": abs(float(np.median(flight)) - bdp / 2) <= 0.05 * bdp + 1,
        "back to ProbeBW": following in (DOWN, CRUISE),
    }
    if len(stays) > 1:
        flags["every 5 s"] = abs(stays[1][0] - begin - 5.2) <= 0.3
    return held(flags, f"{end - begin:.3f} s, {float(np.median(flight)):.1f} of {bdp:.1f} segments in flight")


@claim("bbr3-14")
def goodput_of_a_path_of_less_than_a_packet(evidence: Evidence) -> Outcome:
    run = evidence.one("draft-small")
    window = float(np.median(run.trace("cwnd").between(20, 60).values))
    return measured(run.goodput() / (0.5 * 1448 / 1500), f"window {window:g} segments")


@claim("bbr3-15")
def rounds_to_ten_times_the_rate(evidence: Evidence) -> Outcome:
    run = evidence.one("draft-faster")
    bandwidth = run.trace("max_bw")
    reached = bandwidth.times[(bandwidth.times > 20) & (bandwidth.values > 0.9 * 100e6 * 1448 / 1500)]
    if not len(reached):
        raise NotMeasured("The rate was not reached.")
    begin = next((begin for begin, end in _states(run, UP, 40) if end > 20), None)
    if begin is None:
        raise NotMeasured("UP was not entered.")
    rounds = (float(reached[0]) - max(begin, 20.0)) / 0.04
    expected = float(np.log2(100e6 * 0.04 / 8 / 1500))
    return Outcome(
        measured=rounds / expected,
        holds=rounds <= 2 * expected,
        note=f"{rounds:.1f} rounds of probing; the logarithm of the path's segments is {expected:.1f}; "
        f"{float(reached[0]) - 20:.1f} s after the change",
    )


@claim("bbr3-16")
def cycles_to_a_tenth_of_the_rate(evidence: Evidence) -> Outcome:
    run = evidence.one("draft-slower")
    short = run.trace("bw_shortterm").between(20, 50)
    low = short.times[(short.values > 0) & (short.values < 20e6)]
    bandwidth = run.trace("max_bw").between(20, 50)
    fallen = bandwidth.times[bandwidth.values < 12e6]
    if not len(fallen):
        passed = sum(begin > 20 for begin, _ in _states(run, DOWN, 50))
        return Outcome(
            measured=float(passed),
            holds=False,
            note="the largest bandwidth did not fall in these cycles, all of the run",
        )
    cycles = sum(20 < begin < float(fallen[0]) for begin, _ in _states(run, DOWN, 50))
    early = f"{(float(low[0]) - 20) / 0.04:.0f} base round-trip times" if len(low) else "never"
    return Outcome(
        measured=float(cycles),
        holds=1 <= cycles <= 4 and len(low) > 0,
        note=f"short-term bound below 20 Mb/s: {early}",
    )


@claim("bbr3-17")
def goodput_behind_a_policer(evidence: Evidence) -> Outcome:
    run = evidence.one("draft-policer")
    rate, loss = run.flow("throughput_bps") / 1e6, loss_rate(run)
    carried = rate * (1 - loss)
    return Outcome(
        measured=carried / 10,
        holds=abs(carried / 10 - 1) <= 0.05 and loss < 0.02,
        note=f"{100 * loss:.2f} % lost",
    )


@claim("bbr3-20")
def state_after_probe_rtt_within_startup(evidence: Evidence) -> Outcome:
    run = evidence.one("draft-long-start")
    _, end = _first(run, PROBE_RTT, 25)
    before = [stay for stay in _states(run, DRAIN, 25) if stay[0] < end]
    if before:
        raise NotMeasured("Startup had ended before ProbeRTT.")
    following = float(run.trace("bbr3_state").at(end))
    return Outcome(measured=following, holds=following == STARTUP, note="0 is Startup")


@claim("bbr3-21")
def bound_after_loss_while_probing(evidence: Evidence) -> Outcome:
    run = evidence.one("draft-policer")
    bound = run.trace("inflight_longterm")
    stays = _states(run, UP, 60)
    cuts = []
    for begin, end in stays:
        before, after = float(bound.at(end - 0.001)), float(bound.at(end + 0.001))
        if begin > 10 and 0 < after < before:
            cuts.append(after / before)
    if not cuts:
        raise NotMeasured("No probe ended with a lower bound.")
    return Outcome(
        measured=min(cuts),
        holds=min(cuts) >= 0.7 - 0.02,
        note=f"least of {len(cuts)} cuts; 0.7 bounds them below",
    )


@claim("bbr3-23")
def part_of_the_rate_with_probe_rtt(evidence: Evidence) -> Outcome:
    run = evidence.one("draft-steady")
    stays = [(begin, end) for begin, end in _states(run, PROBE_RTT, 42) if begin > 5]
    if len(stays) < 2:
        raise NotMeasured("ProbeRTT was entered once only.")
    duration = np.mean([end - begin for begin, end in stays])
    interval = np.diff([begin for begin, _ in stays]).mean()
    return measured(
        100 * (1 - 0.5 * duration / interval), f"half of the rate for {duration:.3f} s in {interval:.3f} s"
    )


@claim("bbr3-24")
def goodput_at_one_percent_lost(evidence: Evidence) -> Outcome:
    values = evidence.each("draft-lossy", lambda run: run.goodput() / (50 * 1448 / 1500 * 0.99))
    return ordering(values, lambda part: part >= 0.95)


@claim("bbr3-26")
def loss_of_five_flows_in_a_shallow_buffer(evidence: Evidence) -> Outcome:
    losses = _losses(evidence)
    return ordering(
        100 * losses["bbr3"],
        lambda percent: (percent <= 3) & bool(losses["bbr3"].mean() < losses["bbr"].mean()),
        f"BBR {100 * losses['bbr'].mean():.2f} %",
    )
