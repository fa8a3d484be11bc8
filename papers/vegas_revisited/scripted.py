"""Scripted connections, one or a few for each mechanism of Vegas: the behaviour of the engine at selected losses."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

import dumbbell
from dumbbell import Job, Scenario
from dumbbell.papers import Settings
from dumbbell.traces import StepFunction

from .assumptions import Assumptions, calibrated
from .episodes import EVENTS
from .looks import Look, Part, Seen, scenario_name
from .scenarios import network, tcp
from .traces import TracedRun, Values, round_trips

FLOW_QUANTITIES = ("cwnd", "ssthresh", "seq_sent", "seq_acked", "rto", EVENTS)
VEGAS_QUANTITIES = ("base_rtt", "vegas_diff")


def single(
    look: str,
    variant: str | Mapping[str, Any],
    *,
    lost: Sequence[int] = (),
    assumptions: Assumptions | None = None,
    queue: str = "1000 packets",
    duration_s: float = 30.0,
    changes: Mapping[str, Any] | None = None,
    reverse_loss: float = 0.0,
    size: str | None = None,
) -> Scenario:
    """Return the scenario of one traced connection over the network of Fig. 1 with stated losses.

    Parameters
    ----------
    look
        Name of the look.
    variant
        See `scenarios.tcp`.
    lost
        Which data packets the bottleneck loses, counted from 1.
    assumptions
        What the paper leaves open; ours by default.
    queue
        Limit of the routers' queues; long by default, so that the stated losses are the only ones.
    duration_s
        Simulated time, s.
    changes
        Fields of the ``tcp`` table to change.
    reverse_loss
        Probability that an acknowledgement is lost.
    size
        Size of the transfer; endless by default.
    """
    # A handshake would only add a segment without data to the traces.
    place = assumptions or replace(calibrated(), handshake=False, tick_phase="0 s")
    table = tcp(variant, place) if isinstance(variant, str) else dict(variant)
    quantities = list(FLOW_QUANTITIES)
    if table.get("congestion") != "reno":
        quantities += VEGAS_QUANTITIES
    impairments: dict[str, Any] = {}
    if lost:
        impairments["r1-r2"] = [{"kind": "forced", "packets": list(lost)}]
    if reverse_loss:
        impairments["r2-r1"] = [{"kind": "bernoulli", "probability": reverse_loss}]
    source = {"kind": "transfer", "size": size} if size else {"kind": "greedy"}
    flow = {"name": "fg", "from": "h1", "to": "h3", "tcp": table | dict(changes or {}), "source": source}
    return Scenario.from_dict(
        {
            "name": scenario_name(look),
            "duration": f"{duration_s:g} s",
            "rules": "classic",
            **network(place, queue=queue, hosts=[("h1", "h3"), ("h2", "h4")], impairments=impairments),
            "flows": [flow],
            "probes": [{"flows": ["fg"], "quantities": quantities}],
        }
    )


def _two(look: str, on: str, off: str, **options: Any) -> list[Part]:
    """Return one connection with a mechanism and one without."""
    return [
        Part(label=label, scenario=single(look, f"fix:{letters}", **options))
        for label, letters in (("on", on), ("off", off))
    ]


def _first(seen: Mapping[str, Sequence[Seen]], name: str) -> dict[str, float]:
    """Return a number of the only run of each label."""
    return {label: float(runs[0][name][0]) for label, runs in seen.items()}


# A: in how many round trips the window doubles in slow start


def _doubling(_settings: Settings) -> list[Part]:
    place = replace(calibrated(), handshake=False, rate="8 Mbit/s", tick_phase="0 s")
    return _two("doubling", "A", "", assumptions=place, duration_s=8)


def _doubling_time(run: TracedRun) -> dict[str, float]:
    window = run.curve("cwnd", "fg")
    _, rtt = round_trips(run.curve("seq_sent", "fg"), run.curve("seq_acked", "fg"), run.mss)
    reach = [window.time[np.argmax(window.value >= size)] for size in (8, 16, 32)]
    return {"rtts": float((reach[2] - reach[0]) / 2 / np.median(rtt))}


# F: the share of the window that a recovery from one loss leaves, at whole windows of a multiple of four


def _recovery_window(_settings: Settings) -> Iterator[Part]:
    for label, letters in (("on", "F"), ("off", "")):
        # The receive buffer holds the window at a whole number of segments; the loss comes when it is reached.
        for window in range(8, 44, 4):
            changes = {
                "receive_buffer": f"{window * 1400} bytes",
                "initial_ssthresh": f"{window} segments",
            }
            yield Part(
                label=label,
                scenario=single("recovery_window", f"fix:{letters}", lost=[400], changes=changes),
            )


def _share_left(run: TracedRun) -> dict[str, Values]:
    return {"share": run.episodes("cwnd_after_recovery")}


# F: round trips from the fast retransmit to the next new segment, after one loss from a full pipe


def _recovery_wait(_settings: Settings) -> Iterator[Part]:
    for label, letters in (("on", "F"), ("off", "")):
        # Slow start ends below the size of the pipe and the buffer; linear growth takes the window from there.
        for position in range(120, 420, 12):
            scenario = single(
                "recovery_wait",
                f"fix:{letters}",
                lost=[position],
                queue="20 packets",
                changes={"initial_ssthresh": "15 segments"},
            )
            yield Part(label=label, scenario=scenario)


def _wait(run: TracedRun) -> dict[str, float]:
    sent, acked = run.curve("seq_sent", "fg"), run.curve("seq_acked", "fg")
    highest = np.maximum.accumulate(sent.value)
    again = np.flatnonzero(sent.value[1:] <= highest[:-1])
    if len(again) == 0:
        return {}
    first = int(again[0]) + 1
    later = np.flatnonzero(sent.value[first:] > highest[first - 1])
    when = sent.time[first]
    arrival, rtt = round_trips(sent, acked, run.mss)
    if len(later) == 0 or run.flows("fast_retransmits")[0] < 1:
        return {}
    return {
        "rtts": float((sent.time[first + later[0]] - when) / rtt[arrival < when][-1]),
        "window": float(run.curve("cwnd", "fg").at(when, before=True)),
    }


def _waits(seen: Mapping[str, Sequence[Seen]]) -> dict[str, Any]:
    waits: dict[str, Any] = {
        label: [float(run["rtts"][0]) for run in runs if run] for label, runs in seen.items()
    }
    sizes = [float(run["window"][0]) for runs in seen.values() for run in runs if run]
    return waits | {"windows": (min(sizes), max(sizes))}


# G: the window at the start and after a timeout, segments


def _start_window(_settings: Settings) -> list[Part]:
    return _two("start_window", "G", "", lost=range(40, 120))


def _first_windows(run: TracedRun) -> dict[str, float]:
    window = run.curve("cwnd", "fg")
    after = window.time > 1.0
    return {
        "start": float(window.value[0]),
        "timeout": float(window.value[after].min()) if run.flows("timeouts")[0] else math.nan,
    }


def _start_windows(seen: Mapping[str, Sequence[Seen]]) -> dict[str, float]:
    return {
        f"{label}_{when}": float(runs[0][when][0])
        for label, runs in seen.items()
        for when in ("start", "timeout")
    }


# H: the most segments sent at one instant, with acknowledgements being lost


def _burst(_settings: Settings) -> list[Part]:
    return _two("burst", "ABCDEFGH", "ABCDEFG", reverse_loss=0.4)


def _largest_burst(run: TracedRun) -> dict[str, int]:
    _, counts = np.unique(run.curve("seq_sent", "fg").time, return_counts=True)
    return {"segments": int(counts.max())}


# I: the largest excess of the window over the outstanding data at which it grew, segments


def _guard(_settings: Settings) -> list[Part]:
    return _two("guard", "I", "", reverse_loss=0.4, changes={"initial_ssthresh": "4 segments"})


def _largest_excess(run: TracedRun) -> dict[str, float]:
    mss = run.mss
    window, limit = run.curve("cwnd", "fg"), run.curve("ssthresh", "fg")
    sent, acked = run.curve("seq_sent", "fg"), run.curve("seq_acked", "fg")
    grown = np.flatnonzero(np.diff(window.value) > 1e-9) + 1
    # Growth in congestion avoidance: less than a segment at a time, on a new acknowledgement.
    times = window.time[grown]
    step = window.value[grown] - window.value[grown - 1]
    next_byte = np.maximum.accumulate(sent.value + mss)
    outstanding = (
        StepFunction(time=sent.time, value=next_byte).at(times, before=True) - acked.at(times)
    ) / mss
    # The segment just acknowledged still counts, as in the released code.
    excess = window.value[grown - 1] - outstanding - 1
    linear = (step < 0.9) & (
        window.value[grown - 1] >= np.nan_to_num(limit.at(times, before=True), nan=np.inf)
    )
    return {"segments": float(excess[linear].max())}


# J: the largest ratio of the rate between two new segments to the rate of the round before


def _spike(_settings: Settings) -> list[Part]:
    return _two("spike", "ABCDEFGJ", "ABCDEFG", reverse_loss=0.2)


def _largest_spike(run: TracedRun) -> dict[str, float]:
    mss = run.mss
    sent, acked = run.curve("seq_sent", "fg"), run.curve("seq_acked", "fg")
    highest = StepFunction(time=sent.time, value=np.maximum.accumulate(sent.value + mss))
    again = np.flatnonzero(np.diff(highest.value) <= 0)
    # Up to the first retransmission the next byte to send is the highest one.
    last = float(sent.time[again[0] + 1]) if len(again) else math.inf
    # Rounds: each ends when what was sent at its start is acknowledged.
    ends, rates = [], []
    begin, edge = 0.0, 0.0
    arrival, rtt = round_trips(sent, acked, mss)
    latest = StepFunction(time=arrival, value=rtt)
    for now, byte in zip(acked.time, acked.value, strict=True):
        if byte < edge or byte == 0 or now >= last:
            continue
        top = float(highest.at(now, before=True))
        if top > edge:
            # What was sent in the round, over the time of a round trip.
            ends.append(now)
            rates.append((top - edge) / min(now - begin, float(latest.at(now))))
        begin, edge = now, top
    current = StepFunction(time=np.array(ends), value=np.array(rates))
    # New segments that follow a new one: a retransmission does not wait for its turn.
    new = np.diff(highest.value) > 0
    fresh = np.flatnonzero(new[1:] & new[:-1] & (sent.time[2:] < last)) + 2
    gaps = sent.time[fresh] - sent.time[fresh - 1]
    rate = current.at(sent.time[fresh - 1])
    known = ~np.isnan(rate)
    with np.errstate(divide="ignore"):
        ratio = mss / gaps[known] / rate[known]
    return {"ratio": float(min(ratio.max(), 1e6))}


# The corrections: the window after a whole window was lost in congestion avoidance


@cache
def _widths(variant: str) -> dict[int, int]:
    """Return how many segments are outstanding when a segment is sent, by the segment's number.

    A run without losses determines it. The plan depends on the result, so this run is made before planning.
    """
    scenario = single("after_timeout", variant)
    twin = TracedRun(dumbbell.run_many([Job(scenario)], progress=False), 0)
    sent, window = twin.curve("seq_sent", "fg"), twin.curve("cwnd", "fg")
    return {first: math.floor(float(window.at(float(sent.time[first - 1])))) for first in range(600, 640)}


def _after_timeout(_settings: Settings) -> Iterator[Part]:
    for label, variant in (("released", "released:ABCDEFG"), ("fixed", "fix:ABCDEFG")):
        # All of the window after the first lost segment is lost too: only the timer can detect it.
        for first, width in _widths(variant).items():
            scenario = single("after_timeout", variant, lost=range(first, first + width))
            yield Part(label=label, scenario=scenario)


def _healing(run: TracedRun) -> dict[str, float]:
    window = run.curve("cwnd", "fg")
    sent, acked = run.curve("seq_sent", "fg"), run.curve("seq_acked", "fg")
    highest = np.maximum.accumulate(sent.value + run.mss)
    back = int(np.flatnonzero(sent.value[1:] < highest[:-1])[0]) + 1
    when, top = float(sent.time[back]), float(highest[back - 1])
    old = float(window.at(when, before=True))
    healed = float(acked.time[np.searchsorted(acked.value, top)])
    rtt = 0.11
    rounds = np.arange(when, healed, rtt)
    growth = np.diff(window.at(rounds)).max() if len(rounds) > 1 else 0.0
    later = (window.time > when) & (window.value >= old / 2)
    half = float(window.time[later][0] - when) if later.any() else math.inf
    return {"window": float(window.at(healed)), "growth": float(growth), "half_s": half}


def _healings(seen: Mapping[str, Sequence[Seen]]) -> dict[str, float]:
    def of(label: str, name: str) -> Values:
        return np.array([float(run[name][0]) for run in seen[label]])

    # The worst case of the released code: its last check before the loss was at the newest data.
    worst = int(np.argmin(of("released", "window")))
    return {
        f"{label}_{name}": float(of(label, name)[worst])
        for name in ("window", "growth")
        for label in ("released", "fixed")
    } | {f"{label}_half_s": float(of(label, "half_s").mean()) for label in ("released", "fixed")}


# Fine timeouts of Vegas and the coarse timer of Reno, each against its definition

FINE_POSITIONS = range(60, 400, 8)
COARSE_POSITIONS = range(60, 100, 4)


def _timers(_settings: Settings) -> Iterator[Part]:
    # Linear growth from below the pipe: the round-trip time rises slowly, so that the variation is small and not nothing.
    growing: dict[str, Any] = {"queue": "20 packets", "changes": {"initial_ssthresh": "14 segments"}}
    yield Part(label="without loss", scenario=single("timers", "fix:C", **growing))
    for position in FINE_POSITIONS:
        yield Part(label="fine", scenario=single("timers", "fix:C", lost=[position], **growing))
    far = replace(calibrated(), handshake=False, delay="400 ms", tick_phase="0 s")
    for first in COARSE_POSITIONS:
        yield Part(
            label="coarse", scenario=single("timers", "reno", lost=range(first, first + 300), assumptions=far)
        )


def _retransmission(run: TracedRun) -> dict[str, Any]:
    """Return the time and the byte of the first retransmission, and the state of its sender."""
    sent, acked = run.curve("seq_sent", "fg"), run.curve("seq_acked", "fg")
    highest = np.maximum.accumulate(sent.value)
    again = np.flatnonzero(sent.value[1:] <= highest[:-1])
    found: dict[str, Any] = {"mss": run.mss, "acked_s": acked.time, "acked": acked.value}
    if len(again) == 0:
        return found
    when, first = float(sent.time[again[0] + 1]), float(sent.value[again[0] + 1])
    start = float(sent.time[np.searchsorted(sent.value[: again[0] + 1], first)])
    preceding = float(acked.time[acked.time < when][-1])
    arrival, rtt = round_trips(sent, acked, run.mss)
    return found | {
        "when_s": when,
        "byte": first,
        "start_s": start,
        "preceding_s": preceding,
        "timeout_s": float(run.curve("rto", "fg").at(preceding)),
        "arrival_s": arrival,
        "rtt_s": rtt,
    }


def _timeouts(seen: Mapping[str, Sequence[Seen]]) -> dict[str, Any]:
    agree: list[bool] = []
    telling = 0
    (twin,) = seen["without loss"]
    for position, run in zip(FINE_POSITIONS, seen["fine"], strict=True):
        if "when_s" not in run:
            agree.append(False)
            continue
        mss, when, start, first = (float(run[name][0]) for name in ("mss", "when_s", "start_s", "byte"))
        # The acknowledgements of the segments behind the lost one arrive when they do without the loss.
        duplicates = [
            float(twin["acked_s"][np.searchsorted(twin["acked"], first + (k + 1) * mss)]) for k in (1, 2, 3)
        ]
        known = run["rtt_s"][run["arrival_s"] < duplicates[0]]
        expected = {}
        for factor in (2, 4):
            limit = _fine_timeout(known, factor)
            expected[factor] = next((time for time in duplicates if time - start >= limit), duplicates[-1])
        agree.append(first == (position - 1) * mss and abs(when - expected[2]) < 1e-6)
        telling += expected[2] != expected[4]
    coarse = 0
    for run in seen["coarse"]:
        if "when_s" not in run:
            agree.append(False)
            continue
        when, start, preceding, timeout = (
            float(run[name][0]) for name in ("when_s", "start_s", "preceding_s", "timeout_s")
        )
        tick = 0.5
        agree.append(preceding + timeout - tick < when <= preceding + timeout + 1e-6)
        coarse += when > start + timeout + 1e-6
    note = (
        f"{len(FINE_POSITIONS)} fine timeouts, {telling} of which four times the variation would put elsewhere; "
        f"{len(COARSE_POSITIONS)} coarse timeouts, {coarse} of them later than if the timer had started with the segment"
    )
    return {"agree": agree, "note": note}


def _fine_timeout(samples: Values, factor: int) -> float:
    """Return the fine timeout after some round-trip times, s: srtt and `factor` mean deviations, and a sixteenth."""
    mean, deviation = 8 * samples[0], samples[0]
    for sample in samples[1:]:
        error = sample - mean / 8
        mean += error
        deviation += abs(error) - deviation / 4
    # `deviation` holds four mean deviations.
    timeout = mean / 8 + factor * deviation / 4
    return float(timeout * 17 / 16)


LOOKS = (
    Look(
        name="doubling",
        parts=_doubling,
        read=_doubling_time,
        conclude=lambda seen: _first(seen, "rtts"),
    ),
    Look(
        name="recovery_window",
        parts=_recovery_window,
        read=_share_left,
        conclude=lambda seen: {
            label: [float(run["share"][0]) for run in runs] for label, runs in seen.items()
        },
    ),
    Look(name="recovery_wait", parts=_recovery_wait, read=_wait, conclude=_waits),
    Look(name="start_window", parts=_start_window, read=_first_windows, conclude=_start_windows),
    Look(
        name="burst",
        parts=_burst,
        read=_largest_burst,
        conclude=lambda seen: {label: int(size) for label, size in _first(seen, "segments").items()},
    ),
    Look(
        name="guard",
        parts=_guard,
        read=_largest_excess,
        conclude=lambda seen: _first(seen, "segments"),
    ),
    Look(
        name="spike",
        parts=_spike,
        read=_largest_spike,
        conclude=lambda seen: _first(seen, "ratio"),
    ),
    Look(name="after_timeout", parts=_after_timeout, read=_healing, conclude=_healings),
    Look(name="timers", parts=_timers, read=_retransmission, conclude=_timeouts),
)
"""What is looked for in scripted connections."""
