"""Claims on the test cases of BBRv3's draft."""

from __future__ import annotations

import itertools

import numpy as np

from dumbbell.judge.estimate import NotMeasured, Outcome, farthest, held, mean_of, ordering

from .draft_scenarios import DOWN_CHANGES_MS, DRAIN_CHANGES_MS, DRAIN_RATES, LIMITED_LOSS_STEPS, LOSS_STEPS
from .evidence import Evidence, Run
from .network import FORWARD
from .register import claim

STARTUP, DRAIN, DOWN, CRUISE, REFILL, UP, PROBE_RTT = range(7)
"""States of BBRv3."""

PACKET_BITS = 1500 * 8


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
    return mean_of(
        float(bandwidth.at(end)) / payload, f"{rounds:.1f} base round-trip times after three quarters of it"
    )


@claim("bbr3-02")
def exit_from_startup_by_loss(evidence: Evidence) -> Outcome:
    high, low = (evidence.one(f"draft-startup-loss-{name}") for name in LOSS_STEPS)
    _, end = _first(high, STARTUP, 2)
    part = float(high.trace("max_bw").at(end)) / (500e6 * 1448 / 1500)
    _, later = _first(low, STARTUP, 2)
    limited, spared = (evidence.one(f"draft-startup-limited-{name}") for name in LIMITED_LOSS_STEPS)
    _, left = _first(limited, STARTUP, 4)
    used = max(_used(run, 0.5, end) for run, end in ((limited, left), (spared, 4.0)))
    return held(
        {
            "5 % lost end Startup below the bandwidth": part < 0.8,
            "Drain follows": float(high.trace("bbr3_state").at(end)) == DRAIN,
            "the long-term bound is set": float(high.trace("inflight_longterm").at(end + 0.001)) > 0,
            "1 % lost do not": float(low.trace("max_bw").at(later)) >= 0.95 * 500e6 * 1448 / 1500,
            "12 % lost end that of a flow limited by its application": left < 4 and used < 0.5,
            "1 % lost do not end it": _first(spared, STARTUP, 4)[1] == 4,
        },
        f"Startup ends after {end:.3f} and {later:.3f} s, at {100 * part:.0f} % of the bandwidth with 5 % lost; after {left:.3f} "
        f"s if the application limits, which uses up to {used:.2f} of the window",
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
    found: dict[str, tuple[float, float, float]] = {}
    for name, at in itertools.product(DRAIN_RATES, DRAIN_CHANGES_MS):
        run = evidence.one(f"draft-drain-{name}-{at}")
        begin, end = _first(run, DRAIN, 2)
        if begin - 0.01 <= at / 1000 <= begin + 0.03:
            rtt = float(run.trace("srtt").between(begin, end).values.mean())
            over = float(run.trace("flight_size").at(end)) / _path_segments(run, end)
            found.setdefault(name, ((end - begin) / rtt, over, begin))
    if len(found) < len(DRAIN_RATES):
        raise NotMeasured("In no run, the rate falls as Drain begins.")
    (rounds, over, begin), (most, left, _) = (found[name] for name in DRAIN_RATES)
    return mean_of(
        rounds,
        f"Drain begins after {begin:.3f} s, and ends with {over:.2f} of the path in flight; it paces at half the bandwidth, "
        f"and so drains in spite of a rate a tenth lower. With {DRAIN_RATES['most']} instead of 50 Mb/s, it ends after "
        f"{most:.1f} rounds, with {left:.2f} of the path in flight",
    )


@claim("bbr3-05")
def rounds_of_up_on_a_plateau(evidence: Evidence) -> Outcome:
    run = evidence.one("draft-steady")
    stays = [end - begin for begin, end in _states(run, UP, 42) if end < 42]
    if not stays:
        raise NotMeasured("UP was not entered.")
    # The queue that the gain of 1.25 builds lengthens the rounds.
    return mean_of(
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
        end = at / 1000 + 4
        begin = next((begin for begin, _ in _states(run, DOWN, end) if abs(begin - at / 1000) <= 0.025), None)
        refill = next(
            (other for other, _ in _states(run, REFILL, end) if begin is not None and other > begin), None
        )
        if begin is None or refill is None:
            continue
        cruised = any(begin < other < refill for other, _ in _states(run, CRUISE, end))
        return Outcome(
            measured=refill - begin,
            holds=not cruised and 1.9 <= refill - begin <= 3.1,
            note=f"{'with CRUISE in between' if cruised else 'without CRUISE'}; ProbeRTT is put off",
        )
    raise NotMeasured("In no run, the rate falls as DOWN begins.")


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
    windows = run.trace("cwnd").between(20, 60).values
    return farthest(
        {
            "goodput, Mb/s": (run.goodput(), 0.5 * 1448 / 1500),
            "least window, segments": (float(windows.min()), 4.0),
        },
        f"median of the window {np.median(windows):g} segments, with what aggregation and bursts need",
    )


def _rounds_to_ten_times_the_rate(run: Run) -> tuple[float, float, float]:
    """Return the base round-trip times of probing until the rate is reached, and begin and end of the first UP after 20 s."""
    bandwidth = run.trace("max_bw")
    reached = bandwidth.times[(bandwidth.times > 20) & (bandwidth.values > 0.9 * 100e6 * 1448 / 1500)]
    if not len(reached):
        raise NotMeasured("The rate was not reached.")
    stay = next(((begin, end) for begin, end in _states(run, UP, 40) if end > 20), None)
    if stay is None:
        raise NotMeasured("UP was not entered.")
    return (float(reached[0]) - max(stay[0], 20.0)) / 0.04, *stay


@claim("bbr3-15")
def rounds_to_ten_times_the_rate(evidence: Evidence) -> Outcome:
    rounds, begin, _ = _rounds_to_ten_times_the_rate(evidence.one("draft-faster"))
    expected = float(np.log2(100e6 * 0.04 / 8 / 1500))
    short = evidence.one("draft-faster-short")
    bounded, first, last = _rounds_to_ten_times_the_rate(short)
    bound = short.trace("inflight_longterm").at(np.arange(first, last, 0.04)) / 1448
    steps = np.diff(bound)
    if not np.any(steps > 0):
        raise NotMeasured("The long-term bound did not grow.")
    grown = steps[np.argmax(steps > 0) :][:5]
    ratios = grown[1:] / grown[:-1]
    doubles = len(ratios) == 4 and bool(np.all((ratios >= 1.5) & (ratios <= 2.5)))
    return Outcome(
        measured=rounds / expected,
        holds=rounds <= 2 * expected and doubles,
        note=f"{rounds:.1f} rounds of probing; the logarithm of the path's segments is {expected:.1f}; "
        f"{begin + rounds * 0.04 - 20:.1f} s after the change. With so short a buffer that there is a long-term bound, it grows "
        f"by {', '.join(f'{step:.0f}' for step in grown)} segments in successive rounds; the rate is reached after {bounded:.1f}",
    )


@claim("bbr3-16")
def cycles_to_a_tenth_of_the_rate(evidence: Evidence) -> Outcome:
    run, deep = evidence.one("draft-slower"), evidence.one("draft-slower-deep")
    bandwidth = run.trace("max_bw").between(20, 50)
    fallen = bandwidth.times[bandwidth.values < 12e6]
    if not len(fallen):
        raise NotMeasured("The largest bandwidth did not fall.")
    cycles = sum(20 < begin < float(fallen[0]) for begin, _ in _states(run, DOWN, 50))
    short = run.trace("bw_shortterm").between(20, 50)
    low = short.times[(short.values > 0) & (short.values < 12e6)]
    # With the buffer full, a round takes twice the base round-trip time. 0.7 to the power of 6.5 is a tenth.
    rounds = (float(low[0]) - 20) / 0.08 if len(low) else float("inf")
    kept = float(deep.trace("max_bw").at(np.arange(20, 50)).min()) / 1e6
    return Outcome(
        measured=float(cycles),
        holds=1 <= cycles <= 4 and rounds <= 2 * 6.5,
        note=f"the short-term bound is at the new rate after {rounds:.1f} rounds. With a buffer that loses nothing, of two "
        f"paths before the change, ProbeRTT interrupts the cycles, and the largest bandwidth remains {kept:.1f} Mb/s for 30 s",
    )


@claim("bbr3-17")
def goodput_behind_a_policer(evidence: Evidence) -> Outcome:
    run = evidence.one("draft-policer")
    delivered, drops = run.trace("delivered"), run.trace("drops", FORWARD).times
    bounds = [run.trace(name) for name in ("bw_shortterm", "inflight_shortterm")]
    seconds, carried, lost = 0.0, 0.0, 0
    adapted = []
    for begin, end in _states(run, DOWN, 60) + _states(run, CRUISE, 60):
        if begin < 20:
            continue
        seconds += end - begin
        carried += float(delivered.at(end) - delivered.at(begin))
        lost += int(np.sum((drops >= begin) & (drops < end)))
        # A round after a loss, the bounds are set.
        if np.any((drops >= begin) & (drops < end - 0.1)):
            adapted.append(all(float(bound.at(end - 1e-6)) > 0 for bound in bounds))
    rate = carried / 1448 * PACKET_BITS / seconds / 1e6
    loss = lost / (lost + carried / 1448)
    total = run.total("segments_lost") / run.total("segments_sent")
    whole = run.flow("throughput_bps") / 1e6 * (1 - total)
    return Outcome(
        measured=rate / 10,
        holds=abs(rate / 10 - 1) <= 0.05 and loss < 0.02 and all(adapted),
        note=f"{100 * loss:.2f} % lost; the short-term bounds follow in {sum(adapted)} of {len(adapted)} stays with losses. With "
        f"probes and ProbeRTT: {whole / 10:.3f} of the rate, {100 * total:.2f} % lost",
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
    delivered = run.trace("delivered")
    parts = []
    for (begin, end), (following, _) in itertools.pairwise(stays):
        # The rate without ProbeRTT is that from two round trips after it, when the path is full again, to the next one.
        full = end + 0.08
        rate = float(delivered.at(following) - delivered.at(full)) / (following - full)
        parts.append(float(delivered.at(following) - delivered.at(begin)) / (following - begin) / rate)
    return mean_of(
        100 * float(np.mean(parts)),
        f"of the data delivered from the beginning of one to that of the next; {len(parts)} cycles",
    )


@claim("bbr3-24")
def rate_found_again_with_one_percent_lost(evidence: Evidence) -> Outcome:
    full = 50e6 * 1448 / 1500

    def least(run: Run) -> float:
        return float(run.trace("max_bw").at(np.arange(10, 60, 0.1)).min()) / full

    parts, at_random = (evidence.each(f"draft-lossy{name}", least) for name in ("", "-random"))
    goodput = evidence.each("draft-lossy", lambda run: run.goodput() / (50 * 1448 / 1500 * 0.99))
    rounds = [
        (end - begin) / 0.04
        for run in evidence.runs("draft-lossy")
        for begin, end in _states(run, CRUISE, 60)
        if begin > 10
    ]
    return ordering(
        parts,
        lambda part: part >= 0.95,
        f"up to {max(rounds):.0f} rounds of CRUISE; losses there leave {goodput.mean():.3f} of the goodput that may arrive. With "
        f"as many losses at random, {np.sum(at_random >= 0.95)} of {len(at_random)} runs keep it, the least estimate is "
        f"{at_random.min():.2f}; a probe may have more than the 2 % that end it then",
    )


@claim("bbr3-06")
def exit_from_up_by_loss_of_a_limited_flow(evidence: Evidence) -> Outcome:
    waits, kept = [], 0
    for run in evidence.runs("draft-answers-lossy"):
        drops = run.trace("drops", FORWARD).times
        for begin, end in _limited_stays(run, UP):
            lost = drops[(drops >= begin) & (drops < end)]
            if float(run.trace("bbr3_state").at(end)) == PROBE_RTT:
                continue
            if len(lost):
                waits.append(end - float(lost[0]))
            else:
                kept += 1
    if not waits:
        raise NotMeasured("No stay in UP of a flow limited by its application lost packets.")
    return Outcome(
        measured=max(waits),
        holds=max(waits) <= 0.3,
        note=f"longest time from a loss to DOWN, of {len(waits)} stays in UP; {kept} others ended without one",
    )


@claim("bbr3-07")
def end_of_startup_and_up_of_a_limited_flow(evidence: Evidence) -> Outcome:
    run = evidence.one("draft-limited")
    others = sorted({int(state) for state in run.trace("bbr3_state").values} - {STARTUP, PROBE_RTT})
    following = [
        float(run.trace("bbr3_state").at(end))
        for run in evidence.runs("draft-answers")
        for _, end in _limited_stays(run, UP)
    ]
    left = sum(state != PROBE_RTT for state in following)
    return Outcome(
        measured=float(len(others) + left),
        holds=not others and not left and len(following) > 0,
        note=f"other states than Startup: {others or 'none'}; {left} of {len(following)} stays in UP ended but for ProbeRTT",
    )


@claim("bbr3-11")
def probes_of_the_minimum_of_a_flow_with_pauses(evidence: Evidence) -> Outcome:
    run = evidence.one("draft-idle")
    stays = run.trace("bbr3_state").stays(lambda values: values == PROBE_RTT, 60)
    late = [begin for begin, _ in stays if begin > 12]
    return Outcome(
        measured=float(len(late)), holds=not late, note="entries into ProbeRTT, with data every 6 s"
    )


@claim("bbr3-13")
def utilization_with_aggregation(evidence: Evidence) -> Outcome:
    run, smooth = evidence.one("draft-aggregated"), evidence.one("draft-steady")
    part = run.goodput() / smooth.goodput()
    beyond = []
    for begin, end in _states(run, CRUISE, 42):
        if begin > 10 and end - begin > 0.5:
            middle = (begin + end) / 2
            beyond.append(float(run.trace("cwnd").at(middle)) - 2 * _path_segments(run, middle))
    if not beyond:
        raise NotMeasured("CRUISE was not entered.")
    extra = float(np.median(run.trace("extra_acked").between(10, 42).values)) / 1448
    return Outcome(
        measured=part,
        holds=abs(part - 1) <= 0.05 and min(beyond) > 0,
        note=f"the window exceeds twice the path by at least {min(beyond):.0f} segments in CRUISE; aggregation provided for: "
        f"{extra:.0f} segments",
    )


@claim("bbr3-18")
def bounds_under_reordering(evidence: Evidence) -> Outcome:
    flags = []
    for run in evidence.runs("draft-reordered"):
        begun = None
        events = run.events().of("recovery_enter", "undo")
        for event, following in zip(events, [*events[1:], None], strict=True):
            if event["kind"] == "recovery_enter":
                begun = event["time_s"]
                continue
            # A recovery that begins at the time of an undo sets bounds of its own.
            is_followed = following is not None and following["time_s"] == event["time_s"]
            if begun is not None and not is_followed:
                flags.append(
                    all(
                        _bound(run, name, event["time_s"] + 1e-6) >= _bound(run, name, begun - 1e-6)
                        for name in ("inflight_longterm", "bw_shortterm")
                    )
                )
    if not flags:
        raise NotMeasured("No recovery was found to be spurious.")
    goodput = float(evidence.each("draft-reordered", Run.goodput).mean()) / (50 * 1448 / 1500)
    part = sum(flags) / len(flags)
    return Outcome(
        measured=part,
        holds=part == 1 and goodput >= 0.95,
        note=f"of {len(flags)} spurious recoveries; the goodput is {goodput:.3f} of the rate of the path",
    )


def _bound(run: Run, name: str, time_s: float) -> float:
    """Return a bound at a time; infinity if there is none."""
    value = float(run.trace(name).at(time_s))
    return value if value > 0 else float("inf")


@claim("bbr3-19")
def state_after_a_spurious_timeout(evidence: Evidence) -> Outcome:
    run = evidence.one("draft-spike")
    events, state = run.events(), run.trace("bbr3_state")
    timeouts = [time for time in events.of("timeout").times if float(state.at(time - 1e-6)) == UP]
    undone = events.of("undo").times
    if not timeouts or not np.any(undone > timeouts[0]):
        raise NotMeasured("There was no timeout in UP, or it was not found to be spurious.")
    before, within, after = timeouts[0] - 1e-6, timeouts[0] + 1e-6, undone[undone > timeouts[0]][0] + 1e-6
    names = ("inflight_longterm", "bw_shortterm", "inflight_shortterm")
    bounds = {name: [_bound(run, name, time) for time in (before, within, after)] for name in names}
    longterm = [bound / 1448 for bound in bounds["inflight_longterm"]]
    kept = float(run.trace("max_bw").at(after + 1)) / float(run.trace("max_bw").at(before))
    return held(
        {
            "the timeout cuts the long-term bound": longterm[1] < longterm[0],
            **{name: found[2] >= found[0] for name, found in bounds.items()},
            "the timeout ends UP": float(state.at(within)) == DOWN,
            "back to UP by way of REFILL": float(state.at(after)) in (REFILL, UP),
            "the bandwidth": abs(kept - 1) <= 0.05,
        },
        f"long-term bound {longterm[0]:.0f}, {longterm[1]:.0f} and then {longterm[2]:.0f} segments; bandwidth kept {kept:.3f}",
    )


@claim("bbr3-22")
def bandwidth_kept_by_a_limited_flow(evidence: Evidence) -> Outcome:
    kept, followed = [], []
    for run in evidence.runs("draft-answers"):
        bandwidth, states = run.trace("max_bw"), run.trace("bbr3_state")
        for begin, end in _limited_stays(run, REFILL):
            kept.append(float(bandwidth.at(end) / bandwidth.at(begin)))
            followed.append(float(states.at(end)) == UP)
    if not kept:
        raise NotMeasured("No stay in REFILL was limited by the application.")
    return Outcome(
        measured=min(kept),
        holds=min(kept) >= 1 - 1e-9 and all(followed),
        note=f"least of {len(kept)} stays in REFILL; UP followed {sum(followed)} of them",
    )


def _used(run: Run, begin_s: float, end_s: float) -> float:
    """Return the largest part of the window that is in flight between two times."""
    flight, cwnd = run.trace("flight_size").between(begin_s, end_s), run.trace("cwnd").between(begin_s, end_s)
    return float((flight.values / cwnd.values).max())


def _limited_stays(run: Run, state: int) -> list[tuple[float, float]]:
    """Return the stays in a state that ended and in which the application uses less than half of the window."""
    end_s = float(run.trace("flight_size").times[-1])
    return [
        (begin, end)
        for begin, end in _states(run, state, end_s)
        if end < end_s and _used(run, begin - 0.005, end) < 0.5
    ]
