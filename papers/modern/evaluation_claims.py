"""Claims of evaluation suites."""

from __future__ import annotations

import numpy as np

from dumbbell.judge.estimate import Outcome, farthest, held, listing, mean_of, ordering

from .evaluation_scenarios import (
    BUFFERS,
    LOAD_PACKETS,
    LOADS,
    PICOQUIC_MBPS,
    QUIC_PACKET,
    RTTS_MS,
    SUITE_CENTRE_MS,
    SUITE_RTTS_MS,
    algorithms,
)
from .evidence import Evidence, Run
from .model_claims import loss_rate
from .register import claim


@claim("eval-01")
def points_at_which_two_reno_flows_are_equal(evidence: Evidence) -> Outcome:
    ratios = {}
    for rtt in RTTS_MS:
        for share in BUFFERS:
            shares = evidence.each(f"equal-{rtt}-{share:g}", lambda run: run.share("f1"))
            ratios[f"{rtt} ms, {share:g}"] = float(shares.mean() / (1 - shares.mean()))
    outside = {name: ratio for name, ratio in ratios.items() if not 0.8 <= ratio <= 1.25}
    return Outcome.share(
        [name not in outside for name in ratios],
        1.0,
        f"outside: {listing(outside, outside.values(), '{:.3g}')}" if outside else "",
    )


@claim("eval-02")
def farthest_round_trip_time_of_the_suite(evidence: Evidence) -> Outcome:
    run = evidence.one("suite-paths")
    found = sorted(1000 * row["rtt_min_s"] - 2 * SUITE_CENTRE_MS for row in run.flows.values())
    errors = [rtt - meant for rtt, meant in zip(found, SUITE_RTTS_MS, strict=True)]
    return mean_of(max(errors, key=abs), "with transmission at 10 Gb/s")


def _in_network(run: Run) -> float:
    """Return the mean of the packets on the path and in the buffer."""
    return run.link("backlog_mean_packets") + run.link("utilization") * LOAD_PACKETS / 2


def _reductions(run: Run) -> float:
    """Return the part of the packets after which a window was reduced."""
    events = run.total("fast_retransmits") + run.total("timeouts")
    return events / (run.link("packets") + run.link("drops_queue"))


@claim("eval-03")
def loss_rate_by_load(evidence: Evidence) -> Outcome:
    rates = {f"{load:g} flows per packet, %": (load, rate) for load, rate in LOADS}
    known = {name: (evidence.runs(f"load-{load:g}"), load) for name, (load, _) in rates.items()}
    events = [float(np.mean([100 * _reductions(run) for run in runs])) for runs, _ in known.values()]
    full = [float(np.mean([_in_network(run) for run in runs])) / LOAD_PACKETS for runs, _ in known.values()]
    meant = [76 * (load / share) ** 2 for (_, load), share in zip(known.values(), full, strict=True)]
    return farthest(
        {
            name: (100 * evidence.each(f"load-{load:g}", loss_rate), 100 * rate)
            for name, (load, rate) in rates.items()
        },
        "the law counts one loss for each reduction of a window, and all of path and buffer as used: reductions "
        f"{', '.join(f'{each:.2f}' for each in events)} %, path and buffer used to "
        f"{', '.join(f'{100 * each:.0f}' for each in full)} %, for which the law has "
        f"{', '.join(f'{each:.2f}' for each in meant)} %",
    )


def _is_backing_off(run: Run) -> tuple[bool, bool]:
    """Return whether the timeouts of a blackout double, and whether the flow recovers."""
    timeouts = run.events().of("timeout").times
    within = timeouts[(timeouts > 20) & (timeouts < 80)]
    waits = np.diff(within)
    doubles = len(waits) >= 2 and bool(np.all(waits[1:] / waits[:-1] > 1.9))
    delivered = run.trace("delivered").at([110, 129])
    return doubles, float(np.diff(delivered)[0]) * 8 / 19 > 0.5 * 5e6


@claim("eval-05")
def algorithms_that_back_off_and_recover(evidence: Evidence) -> Outcome:
    found = {name: _is_backing_off(evidence.one(f"blackout-{name}")) for name in algorithms()}
    slow = [name for name, (_, recovers) in found.items() if not recovers]
    return held(
        {name: all(parts) for name, parts in found.items()},
        f"less than half of the rate a minute later: {', '.join(slow)}" if slow else "",
    )


def _largest_burst(run: Run) -> float:
    """Return the most segments that a flow sends within a millisecond."""
    times = run.trace("seq_sent").times
    return float(np.max(np.searchsorted(times, times + 0.001, side="right") - np.arange(len(times))))


@claim("eval-07")
def burst_without_over_with_validation(evidence: Evidence) -> Outcome:
    validated, free = (evidence.each(f"limited-{name}", _largest_burst) for name in ("validated", "free"))
    return ordering(
        free / validated,
        lambda ratio: ratio > 1,
        f"bursts of {validated.mean():.0f} and {free.mean():.0f} segments",
    )


@claim("pico-01")
def completion_over_a_fast_satellite(evidence: Evidence) -> Outcome:
    def took(name: str) -> float:
        return evidence.one(f"satellite-{name}").flow("completion_s")

    bbr, cubic = took("picoquic"), took("cubic")
    names = ("cubic", "picoquic", "bbr")
    later = listing(names, [took(f"{name}-half") + 0.6 for name in names], "{:.2f} s")
    return Outcome(
        measured=bbr,
        holds=bbr <= 5.5 and cubic <= 6.5,
        note=f"CUBIC {cubic:.2f} s, BBRv1 {took('bbr'):.2f} s; if a window of half the path follows the first round trip, "
        f"as in picoquic: {later}",
    )


@claim("pico-03")
def completion_over_a_slow_satellite(evidence: Evidence) -> Outcome:
    time, draft, first = (
        evidence.one(f"satellite-slow-{name}").flow("completion_s") for name in ("picoquic", "bbr3", "bbr")
    )
    packets = 10e6 / 1407 * QUIC_PACKET * 8 / PICOQUIC_MBPS / 1e6
    return Outcome(
        measured=time,
        holds=time <= 81,
        note=f"the packets take {packets:.1f} s; {draft:.1f} s with ProbeRTT every 5 s as in the draft, and {first:.1f} s of "
        "BBRv1",
    )


@claim("pico-04")
def completion_with_a_blackout(evidence: Evidence) -> Outcome:
    time = evidence.one("blackout-transfer").flow("completion_s")
    return Outcome(measured=time, holds=time <= 15)
