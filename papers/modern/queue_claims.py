"""Claims on queues, policers, emulated impairments and traces of opportunities."""

from __future__ import annotations

import numpy as np
from scipy import stats

from dumbbell.judge.estimate import NotMeasured, Outcome, farthest, held, listing, mean_of, ordering

from .evidence import Evidence, Run
from .network import FORWARD
from .queue_scenarios import PIE_FLOWS
from .register import claim

DROP_TIMES_MS = (0, 100, 170.71, 228.45, 278.45, 323.17, 363.99, 401.79, 437.14, 470.48, 502.10, 532.25)
"""Times of drops by the control law of CoDel, from the first."""


@claim("codel-01")
def deviation_from_the_times_of_drops(evidence: Evidence) -> Outcome:
    drops = evidence.one("codel-persistent").trace("drops", FORWARD)
    # A count that grows by more than one has drops of one time.
    times = 1000 * np.repeat(drops.times, np.diff(np.concatenate(([0.0], drops.values))).astype(int))
    if len(times) < len(DROP_TIMES_MS):
        raise NotMeasured(f"There were {len(times)} drops.")
    deviations = times[: len(DROP_TIMES_MS)] - times[0] - np.array(DROP_TIMES_MS)
    worst = float(deviations[np.argmax(np.abs(deviations))])
    return mean_of(worst, f"the first drop after {times[0]:.2f} ms; a packet takes 0.12 ms")


@claim("codel-03")
def sojourn_of_one_reno_flow(evidence: Evidence) -> Outcome:
    run = evidence.one("codel-reno")
    wait, used = 1000 * run.link("wait_mean_s"), run.link("utilization")

    def by_the_formula(queue: float) -> float:
        """Return the utilization of one Reno flow by RFC 8289 §3.2, %; the queue in round-trip times."""
        return 100 * (3 + 6 * queue - queue**2) / (4 * (1 + queue))

    others = {
        words: 100 * evidence.one(key).link("utilization")
        for key, words in (
            ("codel-reno-short", "at 20 ms"),
            ("codel-cubic", "of CUBIC"),
            ("codel-none", "behind a drop-tail queue of 6 packets"),
        )
    }
    return Outcome(
        measured=wait,
        holds=1 <= wait <= 10 and used >= 0.9,
        note=f"utilization {100 * used:.1f} %, by the formula of RFC 8289 §3.2 {by_the_formula(0.1):.1f} %; "
        f"{listing(others, others.values(), '{:.1f} %')} (by the formula at 20 ms {by_the_formula(0.25):.1f} %)",
    )


def _voice_delay(run: Run) -> float:
    """Return the 99th percentile of the queueing delay of the voice packets, ms; packet k starts after k times 20 ms."""
    trace = run.trace("delivered", "voice")
    number = np.rint(trace.values / 64).astype(int) - 1
    delays = 1000 * (trace.times - 0.02 * number) - 20 - 64 * 8 / 1e4
    return float(np.quantile(delays[trace.times > 5], 0.99))


@claim("fqc-01")
def delay_of_voice_among_bulk(evidence: Evidence) -> Outcome:
    few = evidence.each("fqcodel-voice-few", _voice_delay)
    return ordering(
        evidence.each("fqcodel-voice", _voice_delay),
        lambda delay: delay <= 2.5,
        f"beside 2 bulk flows {few.mean():.2f} ms",
    )


@claim("fqc-03")
def losses_of_others_than_the_fattest(evidence: Evidence) -> Outcome:
    others = evidence.each("fqcodel-overload", lambda run: run.total("segments_lost", "f"))
    all_dropped = evidence.each(
        "fqcodel-overload", lambda run: run.link("drops_queue") + run.link("drops_early")
    )
    return ordering(
        others,
        lambda lost: lost == 0,
        f"{all_dropped.mean():.0f} packets were dropped; the TCP flows respond to marks",
    )


@claim("pie-01")
def farthest_delay_under_pie(evidence: Evidence) -> Outcome:
    delays = {
        count: 1000 * evidence.each(f"pie-{count}", lambda run: run.link("wait_mean_s"))
        for count in PIE_FLOWS
    }
    worst = max(delays, key=lambda count: abs(float(delays[count].mean()) - 15))
    return mean_of(
        delays[worst],
        listing(
            [f"{count} flows" for count in delays],
            [values.mean() for values in delays.values()],
            "{:.2f} ms",
        ),
    )


@claim("red-01")
def uniformity_of_the_distances_of_marks(evidence: Evidence) -> Outcome:
    distances = []
    for run in evidence.runs("red-constant"):
        backlog = run.trace("backlog", FORWARD).between(2, 200).values
        if np.ptp(backlog) > 1:
            raise NotMeasured("The queue is not constant.")
        times = run.trace("marks", FORWARD).between(2, 200).times
        distances.append(np.rint(np.diff(times) / 0.001))
    found = np.concatenate(distances).astype(int)
    span = int(found.max())
    value = float(stats.chisquare(np.bincount(found, minlength=span + 1)[1:]).pvalue)
    return Outcome(
        measured=value,
        holds=value >= 0.01 and span == 50,
        note=f"probability of so large a deviation from a uniform one, of {len(found)} distances up to {span} packets",
    )


@claim("dq-01")
def delay_of_the_classic_queue(evidence: Evidence) -> Outcome:
    return mean_of(1000 * evidence.each("dualpi2-cubic", lambda run: run.link("wait_c_mean_s")))


@claim("dq-02")
def part_of_the_classic_queue_under_overload(evidence: Evidence) -> Outcome:
    share = evidence.each("dualpi2-datagrams", lambda run: run.goodput("f") / 40)
    tcp = evidence.each("dualpi2-overload", lambda run: run.goodput("f") / 40)
    drops = evidence.each("dualpi2-datagrams", lambda run: run.total("segments_lost", "udp"))
    return ordering(
        share,
        lambda part: (part >= 0.05) & bool(drops.min() > 0),
        f"of datagrams at a fifth of the rate; {drops.mean():.0f} datagrams of the L queue dropped; a CUBIC flow, which "
        f"responds to its losses, keeps {tcp.mean():.4f}",
    )


@claim("tbf-01")
def largest_excess_over_the_bucket(evidence: Evidence) -> Outcome:
    trace = evidence.one("policed").trace("delivered")
    # Bytes in (s, t] exceed r (t - s) + b by the difference of one function of time at t and just before s.
    after = trace.values - 10e6 / 8 * trace.times
    before = np.concatenate(([0.0], trace.values[:-1])) - 10e6 / 8 * trace.times
    excess = float(np.max(after - np.minimum.accumulate(before)) - 50_000)
    return Outcome(measured=excess, holds=excess <= 1e-3, note="bytes, over all pairs of arrivals")


@claim("netem-01")
def uniformity_of_the_delays(evidence: Evidence) -> Outcome:
    delays = []
    for run in evidence.runs("netem-delays"):
        trace = run.trace("delivered")
        number = np.rint(trace.values / 1000).astype(int) - 1
        delays.append(1000 * (trace.times - 0.1 * number) - 0.008 - 0.001)
    found = np.concatenate(delays)
    chance = float(stats.kstest(found, stats.uniform(40, 20).cdf).pvalue)
    mixed, ordered = evidence.runs("netem-reorders"), evidence.one("netem-rate")
    again = min(run.flow("segments_retransmitted") for run in mixed)
    return held(
        {
            "uniform on 40 to 60 ms": chance >= 0.01 and found.min() >= 40 and found.max() < 60,
            "reorders": again > 0,
            "in order with a rate": ordered.flow("segments_retransmitted") == 0,
        },
        f"{found.min():.2f} to {found.max():.2f} ms, probability of so large a deviation {chance:.2f}",
    )


@claim("netem-02")
def drops_below_the_rate(evidence: Evidence) -> Outcome:
    run = evidence.one("netem-limit")
    drops = run.link("drops_impairment") + run.link("drops_queue")
    return Outcome(measured=drops, holds=drops > 0, note=f"of {run.link('packets'):.0f} packets")


@claim("mm-01")
def rate_of_an_opportunity_per_millisecond(evidence: Evidence) -> Outcome:
    rate = evidence.one("opportunities").flow("throughput_bps") / 1e6
    carried = evidence.one("opportunities").goodput()
    return farthest(
        {"with the TUN header": (carried * 1504 / 1500, 12.032), "IP": (carried, 12.0)},
        f"offered {rate:.1f} Mb/s",
    )


@claim("mm-02")
def rate_of_a_recorded_trace(_evidence: Evidence) -> Outcome:
    raise NotMeasured(
        "The trace `TMobile-LTE-short.down` is no part of the project: Mahimahi's licence says nothing of its recordings, and "
        "its Debian package leaves them out. `dumbbell.traffic.opportunities_from_file` reads it; a run with it carried "
        "16.70 Mb/s in packets of 1500 bytes, with a coefficient of variation of 0.59 and a longest gap of 917 ms."
    )
