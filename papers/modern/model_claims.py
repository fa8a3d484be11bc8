"""Claims on models of a path: BBR, and BBRv3 beside it."""

from __future__ import annotations

import itertools

import numpy as np

from dumbbell.judge.estimate import NotMeasured, Outcome, farthest, held, listing, mean_of, ordering

from .evidence import Evidence, Run
from .model_scenarios import CLIFF, HIGH_LOSS, SHALLOW, SLOW_BUFFERS_KB, WITHOUT_SEARCH
from .network import FORWARD
from .register import claim

PACKET_BITS = 1500 * 8

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
    def rises(name: str) -> list[float]:
        run = evidence.one(name)
        probing = run.trace("pacing_gain").stays(lambda gain: np.isclose(gain, 1.25), 32)
        return [
            _delay_ms(run, 10, begin, end + 0.05).max() - _delay_ms(run, 10, begin - 0.01, begin + 0.01).min()
            for begin, end in probing
            if begin > 3 and end < 10
        ]

    published, linux = rises("bbr-alone"), rises("bbr-alone-linux")
    if not (published and linux):
        raise NotMeasured("There was no phase of probing.")
    return mean_of(
        float(np.median(published)),
        f"median of {len(published)} phases; with the allowances of Linux {np.median(linux):.1f} ms",
    )


def _time_to_twice(run: Run) -> float:
    estimate = run.trace("bandwidth")
    after = estimate.times[(estimate.times > 20) & (estimate.values > 0.95 * 20e6 * 1448 / 1500)]
    return float(after[0]) - 20 if len(after) else float("nan")


def _longest_probe(run: Run) -> float:
    """Return the longest phase with a gain of 1.25 in the second after the rate has doubled, in round-trip times."""
    gain = run.trace("pacing_gain")
    stays = gain.stays(lambda value: np.isclose(value, 1.25), 60)
    return max((end - begin for begin, end in stays if end > 20 and begin < 21), default=0.0) / 0.04


@claim("bbr-03")
def time_to_twice_the_rate(evidence: Evidence) -> Outcome:
    longest, linux = (
        float(evidence.each(f"bbr-steps{name}", _longest_probe).mean()) for name in ("", "-linux")
    )
    sooner = float(evidence.each("bbr-steps-linux", _time_to_twice).mean())
    return mean_of(
        evidence.each("bbr-steps", _time_to_twice),
        f"it depends on the phase at the change; the longest phase of probing takes {longest:.1f} round-trip times. With the "
        f"allowances of Linux, it takes {linux:.1f}, and the estimate is there after {sooner:.2f} s",
    )


def _time_to_half(run: Run) -> float:
    estimate = run.trace("bandwidth")
    fallen = estimate.times[(estimate.times > 40) & (estimate.values < 11e6)]
    return float(fallen[0]) - 40 if len(fallen) else float("nan")


@claim("bbr-04")
def peak_and_duration_after_half_the_rate(evidence: Evidence) -> Outcome:
    def peak_ms(run: Run) -> float:
        return 40 + float(_delay_ms(run, 10, 40, 46).max())

    peak, linux = (evidence.each(f"bbr-steps{name}", peak_ms) for name in ("", "-linux"))
    fall, sooner = (evidence.each(f"bbr-steps{name}", _time_to_half) for name in ("", "-linux"))
    return farthest(
        {"round-trip time, ms": (peak, 165), "estimate falls after, s": (fall, 1.8)},
        f"with the allowances of Linux {linux.mean():.1f} ms and {sooner.mean():.2f} s",
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
        # Near 85 Mb/s: within a fifth.
        lambda ratio: (ratio > 2) & bool(abs(below.mean() / 85 - 1) <= 0.2),
        f"{below.mean():.1f} Mb/s at 15 % (limit by what arrives 85), {above.mean():.1f} at 25 %",
    )


@claim("bbr-10")
def limit_of_loss_with_a_smaller_gain(evidence: Evidence) -> Outcome:
    parts = {
        loss: float(evidence.each(f"cliff-{loss:g}", Run.goodput).mean()) / (100 * 1448 / 1500 * (1 - loss))
        for loss in CLIFF
    }
    note = listing([f"{100 * loss:g} %" for loss in parts], parts.values())
    losses = list(parts)
    for before, after in itertools.pairwise(losses):
        if parts[before] >= 0.5 > parts[after]:
            share = (parts[before] - 0.5) / (parts[before] - parts[after])
            return mean_of(100 * (before + share * (after - before)), f"part of what may arrive: {note}")
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
    note = listing(losses, [100 * values.mean() for values in losses.values()], "{:.2f} %")
    ratio = losses["bbr"] / losses["cubic"]
    lower = losses["bbr3"].mean() < losses["bbr"].mean()
    return ordering(ratio, lambda value: (value > 2) & lower, note)


@claim("bbr-14")
def queue_of_four_flows(evidence: Evidence) -> Outcome:
    return mean_of(evidence.each("deep-four", lambda run: run.link("wait_mean_s") * 1000 / 40))


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
    bbr, cubic, plain = (
        evidence.each(f"single-200ms-{name}", Run.goodput) for name in ("bbr", "cubic", "plain")
    )
    note = (
        f"{bbr.mean():.1f} and {cubic.mean():.1f} Mb/s; CUBIC at a link of that rate {plain.mean():.1f} Mb/s"
    )
    return mean_of(bbr / cubic, note)


@claim("cao-03")
def retransmissions_of_bbr_over_cubic(evidence: Evidence) -> Outcome:
    bbr, cubic = (
        evidence.each(f"single-25ms-{name}", lambda run: run.flow("segments_retransmitted"))
        for name in ("bbr", "cubic")
    )
    deep = evidence.one("single-deep-cubic").flow("segments_retransmitted")
    ratio = bbr / np.maximum(cubic, 1)
    return ordering(
        ratio,
        lambda value: value >= 14.3,
        f"{bbr.mean():.0f} and {cubic.mean():.0f}; published 143 times as many. With 10 MB, CUBIC retransmits {deep:.0f}, "
        "published 471",
    )


@claim("cao-04")
def retransmissions_of_bbr_in_a_deep_buffer(evidence: Evidence) -> Outcome:
    return mean_of(evidence.each("single-deep-bbr", lambda run: run.flow("segments_retransmitted")))


@claim("cao-05")
def rate_under_loss(evidence: Evidence) -> Outcome:
    rates = {
        f"{100 * loss:g} %": (
            evidence.each(f"loss-{loss:g}", Run.goodput),
            94.0,
        )
        for loss in HIGH_LOSS
        if loss <= 0.18
    }
    free = {
        f"{100 * loss:g} %": float(evidence.each(f"loss-{loss:g}-free", Run.goodput).mean())
        for loss in WITHOUT_SEARCH
    }
    return farthest(rates, f"Mb/s; without the search for policers {listing(free, free.values(), '{:.3g}')}")


@claim("cao-06")
def goodput_at_a_quarter_lost(evidence: Evidence) -> Outcome:
    values = evidence.each("loss-0.25", Run.goodput)
    return ordering(values, lambda rate: rate < 37.5)


# Several flows of BBRv3.


@claim("bbr3-26")
def loss_of_five_flows_in_a_shallow_buffer(evidence: Evidence) -> Outcome:
    losses = _losses(evidence)
    return ordering(
        100 * losses["bbr3"],
        lambda percent: (percent <= 3) & bool(losses["bbr3"].mean() < losses["bbr"].mean()),
        f"BBR {100 * losses['bbr'].mean():.2f} %",
    )
