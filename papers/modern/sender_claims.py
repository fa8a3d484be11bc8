"""Claims on the sender: recovery, slow start, timers and acknowledgements."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from dumbbell.judge.estimate import NotMeasured, Outcome, held, mean_of
from dumbbell.statistics import resample_weights

from .evidence import Evidence, Run, Values
from .network import FORWARD
from .register import claim, estimate
from .sender_scenarios import HYSTART_STEPS, POPULATION_QUEUES, REORDERED_RTT_MS, SPACING_MS, hystart_key

SEGMENT = 1000


def _sent(run: Run) -> list[tuple[float, int]]:
    """Return time and number of each segment sent, from 0."""
    trace = run.trace("seq_sent")
    return [
        (float(time), round(value / SEGMENT)) for time, value in zip(trace.times, trace.values, strict=True)
    ]


def _by_acknowledgement(run: Run, window: int, lost: int) -> dict[int, list[str]]:
    """Return what each acknowledgement of a window releases: R for a retransmission, N for a new segment.

    Segments are a millisecond apart, so that acknowledgement k, of segment k, arrives k ms after that of segment 0
    would. The first `lost` segments have none.
    """
    sent = _sent(run)
    first = 0.2 + SPACING_MS / 1000
    released: dict[int, list[str]] = {}
    highest = window - 1
    for time, segment in sent[window:]:
        number = round((time - first) * 1000 / SPACING_MS)
        if number >= window:
            break
        is_new = segment > highest
        highest = max(highest, segment)
        released.setdefault(number, []).append("N" if is_new else "R")
    return {number: kinds for number, kinds in released.items() if number >= lost}


def _sequence(released: Mapping[int, Sequence[str]]) -> str:
    """Return what each acknowledgement releases, in a sentence."""
    return ", ".join(f"{ack} {''.join(kinds)}" for ack, kinds in sorted(released.items()))


def _by_the_formula(recover_fs: int, *, counts_retransmission: bool = True) -> list[int]:
    """Return the ACKs that release a segment by the algorithm of RFC 6937 §3, worked for its figure 1.

    ACK 3 begins the recovery; limited transmit has sent two segments, so that 18 of 20 are in the network after it.

    Parameters
    ----------
    recover_fs
        Data in flight when the recovery begins, segments.
    counts_retransmission
        Whether the segment sent again is in the network.
    """
    ssthresh, in_network, out, releasing = 10, 18, 0, []
    for ack in range(3, 20):
        in_network -= ack > 3
        delivered = ack - 2
        if in_network > ssthresh:
            count = math.ceil(delivered * ssthresh / recover_fs) - out
        else:
            count = min(ssthresh - in_network, max(delivered - out, 1) + 1)
        if count > 0:
            releasing.append(ack)
            out += count
            in_network += count if ack > 3 or counts_retransmission else 0
    return releasing


@claim("prr-01")
def segments_released_after_one_loss(evidence: Evidence) -> Outcome:
    run = evidence.one("prr-one")
    released = _by_acknowledgement(run, 20, 1)
    expected = {1: ["N"], 2: ["N"], 3: ["R"]} | {ack: ["N"] for ack in (5, 7, 9, 11, 13, 15, 18, 19)}
    flags = {f"ACK {ack}": released.get(ack, []) == expected.get(ack, []) for ack in range(1, 20)}
    readings = {
        "RecoverFS 20": _by_the_formula(20),
        "RecoverFS 22, with limited transmit": _by_the_formula(22),
        "RecoverFS 20, and the segment sent again not in the network": _by_the_formula(
            20, counts_retransmission=False
        ),
    }
    worked = "; ".join(f"{name}: {', '.join(map(str, acks))}" for name, acks in readings.items())
    return held(flags, f"sent {_sequence(released)}; by the formula of the RFC, with {worked}")


@claim("prr-02")
def segments_released_after_fifteen_losses(evidence: Evidence) -> Outcome:
    meant = {"ssrb": 2, "crb": 1, "rfc9937": 1}
    flags, notes = {}, []
    for bound, count in meant.items():
        released = _by_acknowledgement(evidence.one(f"prr-burst-{bound}"), 20, 15)
        flags[bound] = all(released.get(ack) == ["R"] * count for ack in (17, 18, 19))
        notes.append(f"{bound}: {_sequence(released)}")
    return held(flags, "; ".join(notes))


def _lost_again(run: Run) -> float:
    """Return how often a retransmission was lost."""
    lost = Counter((event["connection"], event["seq"]) for event in run.events().of("loss"))
    return float(sum(lost.values()) - len(lost))


@claim("prr-03")
def lost_retransmissions_without_over_with_the_proportional_reduction(evidence: Evidence) -> Outcome:
    def over_paths(part: str, bound: str, reading: Callable[[Run], float]) -> Values:
        """Return the sum over the paths, for each run."""
        keys = [f"population-{part}-{bound}-{packets}" for packets in POPULATION_QUEUES]
        total: Values = np.stack([evidence.each(key, reading) for key in keys]).sum(axis=0)
        return total

    again, again_reduced = (over_paths("losses", bound, _lost_again) for bound in ("off", "ssrb"))
    late, late_reduced = (
        over_paths("timeouts", bound, lambda run: run.total("timeouts")) for bound in ("off", "ssrb")
    )
    weights = resample_weights(again.size, seed=(1, again.size))
    ratio, ratio_late = (
        (weights @ without) / (weights @ reduced)
        for without, reduced in ((again, again_reduced), (late, late_reduced))
    )
    return Outcome.of(
        ratio,
        holds=(ratio > 1) & (ratio_late > 1),
        note=f"{again.mean():.0f} and {again_reduced.mean():.0f} retransmissions lost, {late.mean():.0f} and "
        f"{late_reduced.mean():.0f} timeouts ({100 * (late.sum() / late_reduced.sum() - 1):+.1f} %, in the resamples "
        f"{100 * (ratio_late.min() - 1):+.1f} to {100 * (ratio_late.max() - 1):+.1f} %); the RFC has +29 % and +2.6 %",
    )


def _rounds(run: Run, rtt_ms: float, step_ms: float) -> np.ndarray:
    """Return the windows at the ends of rounds after the step, segments."""
    rtt = (rtt_ms + step_ms) / 1000
    return run.trace("cwnd_base").at(np.arange(2.5 * rtt_ms / 1000, 11.4 * rtt_ms / 1000, rtt))


def _is_seen(evidence: Evidence, rtt_ms: float, step_ms: float) -> bool:
    """Return whether a step of the round-trip time slows the growth of slow start."""
    windows = _rounds(evidence.one(hystart_key(rtt_ms, step_ms)), rtt_ms, step_ms)
    return bool(np.any(windows[1:6] / windows[:5] < 1.5))


@estimate
def steps_seen(evidence: Evidence, rtts: Sequence[float]) -> Outcome:
    return held(
        {
            f"{rtt:g} ms and {step:g} ms more": _is_seen(evidence, rtt, step) == is_meant
            for rtt, step, is_meant in HYSTART_STEPS
            if rtt in rtts
        }
    )


@claim("hs-03")
def rounds_of_conservative_slow_start(evidence: Evidence) -> Outcome:
    run = evidence.one(hystart_key(200, 18))
    exits = run.events().of("slow_start_exit")
    if not exits:
        raise NotMeasured("Slow start did not end.")
    windows = _rounds(run, 200, 18)
    slow = np.flatnonzero(windows[1:] / windows[:-1] < 1.5)
    begin = 0.5 + 0.218 * slow[0]
    growth = windows[slow[0] + 2] / windows[slow[0] + 1]
    return mean_of((exits[0]["time_s"] - begin) / 0.218, f"growth of its second round: {growth:.3f}")


def _overshoot(run: Run) -> tuple[float, float]:
    """Return the largest queue of slow start and its drops: until the ACKs of what it has sent, a queue later, arrive."""
    exits = run.events().of("slow_start_exit").times
    end = float(exits[0]) + 0.08 if len(exits) else float("inf")
    largest = float(run.trace("backlog", FORWARD).between(0, end).values.max())
    if not run.link("drops_queue"):
        return largest, 0.0
    return largest, float(run.trace("drops", FORWARD).between(0, end).values.max(initial=0.0))


@claim("hs-04")
def overshoot_without_and_with_hystart(evidence: Evidence) -> Outcome:
    found = {
        way: [_overshoot(evidence.one(f"start-{start}{way}")) for start in ("standard", "hystart")]
        for way in ("", "-every")
    }
    (plain, lost), (early, fewer) = found[""]
    free = (
        evidence.one(f"start-{start}-unlimited").link("backlog_max_packets")
        for start in ("standard", "hystart")
    )
    (every, every_lost), (every_early, every_fewer) = found["-every"]
    return Outcome(
        measured=plain - early,
        holds=plain > early and lost > fewer,
        note=f"in slow start, largest queue {plain:.0f} and {early:.0f} packets, drops {lost:.0f} and {fewer:.0f}; with an "
        f"acknowledgement of each segment {every:.0f} and {every_early:.0f} packets, drops {every_lost:.0f} and "
        f"{every_fewer:.0f}; largest queue without a limit {' and '.join(f'{packets:.0f}' for packets in free)}",
    )


@claim("rack-01")
def delay_of_a_retransmission_after_three_reports(evidence: Evidence) -> Outcome:
    run = evidence.one("rack-hole")
    again = next((time for time, segment in _sent(run)[20:] if segment == 4), None)
    if again is None:
        raise NotMeasured("The lost segment was not sent again.")
    # Segment 7 is the third above the hole. Its acknowledgement follows that of segment 0 by 7 ms.
    acked = run.trace("seq_acked")
    first = float(acked.times[acked.values > 0][0])
    return mean_of((again - (first + 7 * SPACING_MS / 1000)) * 1000)


@claim("rack-02")
def reordering_window_after_reordering(evidence: Evidence) -> Outcome:
    run = evidence.one("rack-reordered")
    sent = _sent(run)
    waits = []
    for event in run.events().of("loss"):
        times = [time for time, segment in sent if segment == round(event["seq"] / SEGMENT)]
        if len(times) < 2:
            raise NotMeasured("A lost segment was not sent again.")
        waits.append(1000 * (times[1] - times[0]) - REORDERED_RTT_MS)
    before, least = (REORDERED_RTT_MS - ahead for ahead in (8, 100))
    # The recovery of the second loss is over when the multiple grows to three. The 16 recoveries begin with the third.
    meant = {"at first": [before / 4], "after a duplicate": [least / 2], "after the next": [3 * least / 4] * 16,
             "after 16 recoveries": [least / 4]}  # fmt: skip
    if len(waits) != sum(map(len, meant.values())):
        raise NotMeasured(f"There were {len(waits)} losses.")
    left = iter(waits)
    found = {name: [(next(left), wait) for wait in expected] for name, expected in meant.items()}
    return held(
        {name: all(abs(wait - due) < 0.001 for wait, due in pairs) for name, pairs in found.items()},
        "waits in ms: " + ", ".join(f"{name} {pairs[-1][0]:.2f}" for name, pairs in found.items()),
    )


def _probe_timeout(run: Run) -> float:
    """Return the time from the last acknowledgement to the tail loss probe, s."""
    acked = run.trace("seq_acked").times
    later = [time for time, _ in _sent(run) if time > acked[9] + 0.01]
    if not later:
        raise NotMeasured("Nothing was sent again.")
    return later[0] - float(acked[acked < later[0]][-1])


@claim("tlp-01")
def time_to_the_probe_of_the_tail(evidence: Evidence) -> Outcome:
    rfc, linux = (1000 * _probe_timeout(evidence.one(f"tail-{form}")) for form in ("rfc", "linux"))
    return mean_of(rfc, f"with the rules of Linux {linux:.1f} ms")


@claim("rto-01")
def timeout_at_a_constant_round_trip_time(evidence: Evidence) -> Outcome:
    return mean_of(1000 * evidence.one("rto-constant").trace("rto").values[-1])


@claim("rto-02")
def timeout_after_the_first_sample(evidence: Evidence) -> Outcome:
    trace = evidence.one("rto-first").trace("rto")
    return mean_of(1000 * float(trace.at(0.15)))


@claim("rto-03")
def retransmissions_after_a_spike_of_delay(evidence: Evidence) -> Outcome:
    runs = {frto: evidence.one(f"spike-{frto}") for frto in ("rfc5682", "off")}
    again = {frto: run.flow("segments_retransmitted") for frto, run in runs.items()}
    lost = {frto: run.flow("timeouts") for frto, run in runs.items()}
    undone = len(runs["rfc5682"].events().of("undo"))
    return Outcome(
        measured=again["rfc5682"],
        holds=lost["rfc5682"] >= 1 and undone >= 1 and again["rfc5682"] == 1 and again["off"] >= 20,
        note=f"timeouts {lost['rfc5682']:.0f}, undone {undone}; without F-RTO {again['off']:.0f} retransmissions of a "
        "window of 20",
    )


@claim("delack-01")
def acknowledgements_of_linux(evidence: Evidence) -> Outcome:
    run = evidence.one("acks-bulk")
    ratio = run.link("packets") / run.link("packets", "b-a")
    alone = evidence.one("acks-alone")
    acked, sent = alone.trace("seq_acked"), alone.trace("seq_sent")
    # The last segment arrives a millisecond of transmission and the delay after the one before.
    wait = 1000 * float(acked.times[-1] - acked.times[-2])
    return held(
        {"every second segment": abs(ratio - 2) < 0.02, "a lone segment within 40 ms": 0 < wait <= 41},
        f"{ratio:.3f} segments for each acknowledgement; the last of {len(sent.times)} segments is acknowledged {wait:.2f} ms "
        "after the one before",
    )


@claim("iw-01")
def segments_in_the_first_round_trip(evidence: Evidence) -> Outcome:
    trace = evidence.one("first-window").trace("seq_sent")
    first = float(trace.times[0])
    return mean_of(float(np.sum(trace.times < first + 0.09)))
