"""Claims on algorithms that keep queues short: DCTCP, Prague, LEDBAT and Copa."""

from __future__ import annotations

import numpy as np

from dumbbell.judge.estimate import NotMeasured, Outcome, farthest, held, listing, mean_of, ordering

from .delay_scenarios import DCTCP_STOPS_S
from .evidence import Evidence, Run
from .network import FORWARD
from .register import claim


def _cycles(run: Run) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the largest and the least queue of each cycle, packets with the one in service, and the cycles' lengths, s."""
    backlog = run.trace("backlog", FORWARD).between(0.1, 0.15)
    values = backlog.values + 1
    # Small waves within a cycle count as one: a cycle goes through the lower and the upper quarter.
    low, high = (values.min() + share * np.ptp(values) for share in (0.25, 0.75))
    sides = np.where(values > high, 1, np.where(values < low, -1, 0))
    crossings = np.flatnonzero(sides)
    ups = crossings[1:][np.diff(sides[crossings]) > 0]
    if len(ups) < 4:
        raise NotMeasured("The queue does not oscillate.")
    parts = np.split(values, ups)[1:-1]
    return (
        np.array([part.max() for part in parts]),
        np.array([part.min() for part in parts]),
        np.diff(backlog.times[ups]),
    )


@claim("dctcp-01")
def oscillation_of_the_queue(evidence: Evidence) -> Outcome:
    highest, least, lengths = _cycles(evidence.one("dctcp-two"))
    rtt = 1e-4 + float((highest.mean() + least.mean()) / 2) * 1500 * 8 / 1e10
    return farthest(
        {
            "amplitude, packets": (float((highest - least).mean()), 11.1),
            "largest, packets": (float(highest.mean()), 42.0),
            "least, packets": (float(least.mean()), 30.9),
            "period, round-trip times": (float(lengths.mean()) / rtt, 5.55),
        },
        f"{len(lengths)} cycles",
    )


@claim("dctcp-02")
def throughput_lost_below_the_threshold(evidence: Evidence) -> Outcome:
    used = {
        packets: evidence.one(f"dctcp-step-{packets}").link("utilization") for packets in (2, 5, 12, 20, 40)
    }
    note = listing([f"K {packets}" for packets in used], [100 * share for share in used.values()], "{:.1f} %")
    return Outcome(
        measured=100 * (used[40] - used[2]),
        holds=used[2] < 0.99 * used[40] and used[12] >= 0.99 * used[40] and used[20] >= 0.99 * used[40],
        note=f"utilization {note}; the limit is 11.9 packets",
    )


def _rates(run: Run) -> tuple[np.ndarray, np.ndarray]:
    """Return times and the goodput in the 0.2 s before each, which ns-3 prints as throughput, Mbit/s."""
    delivered = run.trace("delivered")
    return delivered.times[1:], np.diff(delivered.values) / np.diff(delivered.times) * 8 / 1e6


@claim("dctcp-04")
def rate_and_marks_at_ten_milliseconds(evidence: Evidence) -> Outcome:
    run = evidence.one("dctcp-10ms")
    times, rates = _rates(run)
    fraction = run.trace("marked_fraction")
    late = fraction.between(7, DCTCP_STOPS_S[10]).values
    steady = rates[times > 5.6]
    return held(
        {
            "48 to 49 Mb/s": bool(np.all((steady >= 48) & (steady <= 49))),
            "alpha below 0.1": bool(np.all(fraction.between(5.4, DCTCP_STOPS_S[10]).values < 0.1)),
            "alpha 0.06 to 0.085": bool(np.all((late >= 0.06) & (late <= 0.085))),
        },
        f"{steady.min():.1f} to {steady.max():.1f} Mb/s, alpha {late.min():.3f} to {late.max():.3f}",
    )


@claim("dctcp-05")
def rate_and_marks_at_eighty_milliseconds(evidence: Evidence) -> Outcome:
    run = evidence.one("dctcp-80ms")
    times, rates = _rates(run)
    late = run.trace("marked_fraction").between(34, DCTCP_STOPS_S[80]).values
    early, steady = rates[times < 14], rates[times > 32]
    return held(
        {
            "below 20 Mb/s before 14 s": bool(np.all(early < 20)),
            "47.5 to 48.5 Mb/s": bool(np.all((steady >= 47.5) & (steady <= 48.5))),
            "alpha 0.015 to 0.025": bool(np.all((late >= 0.015) & (late <= 0.025))),
        },
        f"up to {early.max():.1f} Mb/s before 14 s, {steady.min():.1f} to {steady.max():.1f} later, alpha "
        f"{late.min():.3f} to {late.max():.3f}",
    )


@claim("dctcp-06")
def window_kept_when_all_is_marked(evidence: Evidence) -> Outcome:
    run = evidence.one("dctcp-all-marked")
    window = run.trace("cwnd_base")
    ratios = window.values[1:] / window.values[:-1]
    cuts = np.flatnonzero(ratios < 0.8)[:3]
    if not len(cuts):
        raise NotMeasured("There was no reduction.")
    alpha = float(run.trace("marked_fraction").at(window.times[cuts[-1] + 1]))
    return farthest(
        {
            **{f"reduction {index + 1}": (ratios[cut], 0.5) for index, cut in enumerate(cuts)},
            "alpha": (alpha, 1.0),
        }
    )


@claim("dctcp-07")
def window_kept_after_a_loss(evidence: Evidence) -> Outcome:
    exits = evidence.one("dctcp-loss").events().of("recovery_exit")
    if not exits:
        raise NotMeasured("No recovery was completed.")
    return mean_of(exits[0]["cwnd_bytes"] / (50 * 1448))


@claim("prague-01")
def marks_per_round_trip(evidence: Evidence) -> Outcome:
    marks, fast, smooth = (
        run.link("marks") / (30 / run.flow("rtt_mean_s"))
        for run in (evidence.one(f"prague-{name}") for name in ("alone", "fast", "smooth"))
    )
    return Outcome(
        measured=marks,
        holds=1.5 <= marks <= 2.5,
        note=f"at 400 Mb/s {fast:.2f}; with a ramp of 20 ms, which marks smoothly, {smooth:.2f}; marked alone, a round trip and "
        f"the time to the next mark pass between reductions, which gives 1 + sqrt 3 = {1 + np.sqrt(3):.2f}",
    )


@claim("prague-02")
def rate_of_prague_over_cubic(evidence: Evidence) -> Outcome:
    ratio = evidence.each("prague-cubic", lambda run: run.goodput("prague") / run.goodput("cubic"))
    marked = evidence.each(
        "prague-cubic", lambda run: run.link("marks") / run.flow("segments_sent", "prague")
    ).mean()
    dropped = evidence.each(
        "prague-cubic", lambda run: run.link("drops_early") / run.flow("segments_sent", "cubic")
    ).mean()
    return ordering(
        ratio,
        lambda value: (value >= 0.5) & (value <= 2),
        f"{100 * marked:.2f} % marked and {100 * dropped:.3f} % dropped; the square of half of the marks is "
        f"{100 * (marked / 2) ** 2:.3f} %",
    )


@claim("prague-03")
def delays_of_both_queues(evidence: Evidence) -> Outcome:
    classic = 1000 * evidence.each("prague-cubic", lambda run: run.link("wait_c_mean_s"))
    low = 1000 * evidence.each("prague-cubic", lambda run: run.link("wait_l_p99_s"))
    return ordering(
        classic,
        lambda delay: (delay >= 10) & (delay <= 20) & bool(low.mean() < 2),
        f"99th percentile of the L queue {low.mean():.2f} ms",
    )


@claim("ledbat-01")
def queueing_delay_of_ledbat(evidence: Evidence) -> Outcome:
    return mean_of(1000 * evidence.one("ledbat-alone").link("wait_mean_s"))


@claim("ledbat-02")
def share_of_ledbat_against_reno(evidence: Evidence) -> Outcome:
    return ordering(evidence.each("ledbat-reno", lambda run: run.share("ledbat")), lambda share: share < 0.2)


@claim("ledbat-04")
def ratio_of_a_late_flow_to_an_early_one(evidence: Evidence) -> Outcome:
    run = evidence.one("ledbatpp-late")
    ratio = run.goodput("f1") / run.goodput("f0")
    delay = 1000 * run.link("wait_mean_s")
    return Outcome(
        measured=ratio,
        holds=0.67 <= ratio <= 1.5 and 30 <= delay <= 66,
        note=f"mean queueing delay {delay:.1f} ms with the slowdowns; accepted up to a tenth above 60 ms",
    )


@claim("ledbat-05")
def share_of_ledbat_under_codel_over_drop_tail(evidence: Evidence) -> Outcome:
    codel, tail = (
        evidence.each(f"ledbat-{name}", lambda run: run.share("ledbat")) for name in ("codel", "droptail")
    )
    return ordering(codel - tail, lambda gain: gain > 0, f"{codel.mean():.3f} against {tail.mean():.3f}")


@claim("copa-01")
def queue_of_copa(evidence: Evidence) -> Outcome:
    run = evidence.one("copa-alone")
    switched = evidence.one("copa-switching").link("wait_mean_s")
    # A packet takes a millisecond.
    queue = 1000 * run.link("wait_mean_s")
    return Outcome(
        measured=queue, holds=1 <= queue <= 5, note=f"{1000 * switched:.1f} with the switch of modes"
    )
