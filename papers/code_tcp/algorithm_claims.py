"""Claims on the rules of the algorithms, read from connections alone, with a guest, and with scripted losses.

[chan2010 §2, §3.2, §4.5]
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dumbbell import Flow, topologies
from dumbbell.judge.estimate import NotMeasured, Outcome

from .algorithms import GUEST_S
from .assumptions import BASE
from .evidence import Evidence, Run, Values
from .network import BOTTLENECK, PACKET, RECEIVER_FIELDS, tcp
from .register import claim, estimate

SETTLED_S = 5.0
"""Slow start is over by then, s."""

SERVICE_S = 8 * PACKET / 10e6
"""Time a packet takes at the bottleneck of these scenarios, s."""


def _run(evidence: Evidence, name: str) -> Run:
    return evidence.all_runs(f"algorithm/{name}")[0]


@dataclass(frozen=True)
class Rounds:
    """The checks of a connection without losses: one per round trip, where Delta is computed.

    Parameters
    ----------
    times
        When they fell due, s.
    delta
        Delta found, packets.
    window, step
        The window before, and its increase, packets.
    rtt_mean, rtt_minimum
        Of the packets acknowledged since the check before, s.
    throughput
        Bytes sent since the check before over the mean round-trip time, byte/s.
    """

    times: Values
    delta: Values
    window: Values
    step: Values
    rtt_mean: Values
    rtt_minimum: Values
    throughput: Values

    @classmethod
    def of(cls, run: Run) -> Rounds:
        """Read the checks off a run's traces."""
        times, delta = run.trace("vegas_diff")
        cwnd = run.trace("cwnd")
        sent_at, first_byte = run.trace("seq_sent")
        acked_at, acknowledged = run.trace("seq_acked")
        # Every packet is sent and acknowledged once, in order.
        places = np.searchsorted(first_byte, acknowledged - PACKET)
        rtt = acked_at - sent_at[np.minimum(places, sent_at.size - 1)]
        # The acknowledgement that ends a round, and what is sent on it, belong to the next one.
        bounds = np.searchsorted(acked_at, times)
        means, minima = np.full(times.size, np.nan), np.full(times.size, np.nan)
        for index, (begin, end) in enumerate(itertools.pairwise(bounds), start=1):
            if end > begin:
                means[index], minima[index] = rtt[begin:end].mean(), rtt[begin:end].min()
        window = cwnd.at(times, before=True)
        sent = np.diff(np.searchsorted(sent_at, times), prepend=0) * float(PACKET)
        return cls(times, delta, window, cwnd.at(times) - window, means, minima, sent / means)

    def after(self, time_s: float) -> Rounds:
        """Return the checks after a time."""
        chosen = self.times > time_s
        return Rounds(*(getattr(self, name)[chosen] for name in self.__dataclass_fields__))


def _alpha_steps(run: Run, sign: int) -> Values:
    """Return the steps up or down of a variant's alpha with a guest, packets."""
    steps = np.diff(run.trace("alpha").value)
    found: Values = steps[np.sign(steps) == sign]
    if not found.size:
        raise NotMeasured("The thresholds did not move.")
    return found


def _as_read(table: Any) -> Mapping[str, Any]:
    """Return a ``tcp`` table with everything the engine fills in."""
    shape = topologies.dumbbell(pairs=1, rate="1 Mbit/s", delay="1 ms")
    flow = Flow(name="flow", from_="s1", to="d1", tcp=table)
    read: Mapping[str, Any] = shape.scenario(rules="classic", duration="1 s", flows=[flow]).resolved()[
        "flows"
    ][0]["tcp"]
    return read


@estimate
def threshold_at_start(_evidence: Evidence, kind: str, threshold: str) -> Outcome:
    return Outcome(measured=float(_as_read(kind)["congestion"][threshold]))


@estimate
def mean_step_of_thresholds(evidence: Evidence, kind: str, sign: int) -> Outcome:
    """Return the mean size of the steps up or down with a guest, packets."""
    return Outcome(measured=float((sign * _alpha_steps(_run(evidence, f"guest-{kind}"), sign)).mean()))


@claim("C-ALG-R1")
def growth_of_reno_per_round_trip(evidence: Evidence) -> Outcome:
    run = _run(evidence, "reno-growth")
    time, cwnd = run.trace("cwnd")
    backlog = np.interp(time, *run.trace("backlog", BOTTLENECK))
    rtt = run.one("rtt_min", "variant") + backlog * SERVICE_S
    chosen = time > SETTLED_S
    rounds = float(np.sum(np.diff(time, prepend=time[0])[chosen] / rtt[chosen]))
    return Outcome(measured=float(cwnd[-1] - cwnd[chosen][0]) / rounds)


@claim("C-ALG-V1")
def largest_error_of_vegas_delta(evidence: Evidence) -> Outcome:
    run = _run(evidence, "guest-vegas")
    rounds = Rounds.of(run).after(SETTLED_S)
    base = run.trace("base_rtt").at(rounds.times)
    errors = np.abs(rounds.delta - rounds.window * (1 - base / rounds.rtt_mean))
    return Outcome(measured=float(np.nanmax(errors)), note=f"over {errors.size} round trips with a guest")


@claim("C-ALG-V2")
def round_trips_per_doubling_in_vegas_slow_start(evidence: Evidence) -> Outcome:
    run = _run(evidence, "vegas-start")
    time, cwnd = run.trace("cwnd")
    peak = float(cwnd[: int(np.argmax(np.diff(cwnd) < -1)) + 1].max())
    first, last = 4.0, 2.0 ** np.floor(np.log2(peak))
    reached = [float(time[np.argmax(cwnd >= level)]) for level in (first, last)]
    rtt = run.one("rtt_min", "variant")
    doublings = float(np.log2(last / first))
    return Outcome(measured=(reached[1] - reached[0]) / rtt / doublings)


@claim("C-ALG-V3")
def share_of_window_lost_when_vegas_leaves_slow_start(evidence: Evidence) -> Outcome:
    _, cwnd = _run(evidence, "vegas-start").trace("cwnd")
    at = int(np.argmax(np.diff(cwnd) < -1))
    return Outcome(measured=float(1 - cwnd[at + 1] / cwnd[at]))


@claim("C-ALG-V4")
def share_of_vegas_decisions_by_the_rule(evidence: Evidence) -> Outcome:
    rounds = Rounds.of(_run(evidence, "guest-vegas")).after(SETTLED_S)
    expected = np.where(rounds.delta < 1.0, 1.0, np.where(rounds.delta > 3.0, -1.0, 0.0))
    # A window of two packets does not decrease.
    expected[(rounds.window <= 2.0) & (expected < 0)] = 0.0
    obeyed = np.abs(rounds.step - expected) < 1e-9
    return Outcome(measured=float(obeyed.mean()), note=f"{int(obeyed.sum())} of {obeyed.size} decisions")


@claim("C-ALG-V5")
def base_rtt_less_smallest_round_trip_time(evidence: Evidence) -> Outcome:
    run = _run(evidence, "guest-vegas")
    return Outcome(measured=float(run.trace("base_rtt").value[-1]) - run.one("rtt_min", "variant"))


@claim("C-ALG-V6")
def retransmission_before_third_duplicate(evidence: Evidence) -> Outcome:
    run = _run(evidence, "vegas-early")
    again, timeouts = run.one("fast_retransmits", "variant"), run.one("timeouts", "variant")
    return Outcome(measured=again, holds=again >= 1 and timeouts == 0, note=f"{timeouts:g} timeouts")


@claim("C-ALG-V7")
def share_of_window_kept_after_first_loss(evidence: Evidence) -> Outcome:
    return Outcome(measured=_run(evidence, "vegas-loss").one("kept", "variant"))


@claim("C-ALG-V8")
def share_of_window_kept_after_lost_retransmission(evidence: Evidence) -> Outcome:
    run = _run(evidence, "vegas-lost-again")
    if run.one("lost", "variant") != 2 or run.one("retransmitted", "variant") != 2:
        raise NotMeasured("The retransmission was not the second packet lost.")
    return Outcome(
        measured=run.one("kept", "variant"),
        note="as in ns-2, half of the window is computed after its inflation by duplicate ACKs",
    )


@claim("C-ALG-V9")
def cuts_for_two_losses_in_one_round_trip(evidence: Evidence) -> Outcome:
    _, cwnd = _run(evidence, "vegas-two-losses").trace("cwnd")
    start = int(np.argmax(cwnd))
    level, cuts = float(cwnd[:start].max()), 0
    for window in np.minimum.accumulate(cwnd[start:]):
        if window < 0.9 * level:
            level, cuts = float(window), cuts + 1
    return Outcome(measured=float(cuts))


def _window_before_timeout(run: Run) -> tuple[float, float]:
    """Return the window before the first timeout and right after it, packets."""
    _, cwnd = run.trace("cwnd")
    at = int(np.argmax((cwnd[1:] <= 0.2 * cwnd[:-1]) & (cwnd[:-1] > 20)))
    return float(cwnd[at]), float(cwnd[at + 1])


@claim("C-ALG-V10")
def window_after_coarse_timeout(evidence: Evidence) -> Outcome:
    return Outcome(measured=_window_before_timeout(_run(evidence, "vegas-timeout"))[1])


@claim("C-ALG-V11")
def threshold_after_coarse_timeout_over_window(evidence: Evidence) -> Outcome:
    run = _run(evidence, "vegas-timeout")
    threshold = float(run.trace("ssthresh").value.max())
    return Outcome(measured=threshold / _window_before_timeout(run)[0])


def _scaled(evidence: Evidence, kind: str) -> tuple[float, float]:
    """Return alpha before and after the scripted loss with a guest: its largest fall."""
    _, alpha = _run(evidence, f"loss-{kind}").trace("alpha")
    at = int(np.argmin(np.diff(alpha)))
    return float(alpha[at]), float(alpha[at + 1])


@claim("C-ALG-N5")
def newvegas_alpha_after_loss(evidence: Evidence) -> Outcome:
    before, after = _scaled(evidence, "newvegas")
    return Outcome(measured=after, note=f"{before:g} before the loss")


@claim("C-ALG-N6")
def newvegas_beta_after_loss(evidence: Evidence) -> Outcome:
    run = _run(evidence, "loss-newvegas")
    window, alpha = run.trace("cwnd"), run.trace("alpha")
    checked, delta = run.trace("vegas_diff")
    lost = float(alpha.time[1:][np.argmin(np.diff(alpha.value))])
    # From the loss on until the thresholds move again, without the round of the recovery.
    chosen = (checked > lost + 0.5) & (alpha.at(checked) == 1.0)
    shrinks = window.at(checked) < window.at(checked, before=True)
    fitting = [beta for beta in range(21) if np.array_equal(delta[chosen] > beta, shrinks[chosen])]
    if len(fitting) != 1:
        raise NotMeasured(f"{len(fitting)} whole numbers agree with {int(chosen.sum())} decisions.")
    return Outcome(measured=float(fitting[0]), note=f"{int(chosen.sum())} decisions")


@claim("C-ALG-N7")
def newvegas_raises_while_window_grows(evidence: Evidence) -> Outcome:
    run = _run(evidence, "guest-newvegas")
    times, alpha = run.trace("alpha")
    raised = times[1:][np.diff(alpha) > 0]
    cwnd = run.trace("cwnd")
    grew = cwnd.at(raised) > cwnd.at(raised, before=True)
    return Outcome(measured=float(grew.sum()), note=f"{raised.size} raises")


@claim("C-ALG-A3")
def vegas_a_raises_while_throughput_falls(evidence: Evidence) -> Outcome:
    run = _run(evidence, "guest-vegasa")
    rounds = Rounds.of(run)
    alpha = run.trace("alpha")
    raised = alpha.at(rounds.times) > alpha.at(rounds.times, before=True)
    fell = np.diff(rounds.throughput, prepend=np.nan) < 0
    guest = (rounds.times > GUEST_S[0]) & (rounds.times < GUEST_S[1])
    return Outcome(
        measured=float((raised & fell & guest).sum()),
        note=f"{int((raised & guest).sum())} raises in round trips in which its throughput rose",
    )


@claim("C-ALG-C1")
def scale_of_code_thresholds_after_loss(evidence: Evidence) -> Outcome:
    before, after = _scaled(evidence, "code")
    return Outcome(measured=after / before, note=f"from {before:.2f} to {after:.2f}")


@claim("C-ALG-C6")
def share_of_code_steps_foretold_by_smallest_round_trip_time(evidence: Evidence) -> Outcome:
    run = _run(evidence, "guest-code")
    rounds = Rounds.of(run).after(SETTLED_S)
    alpha = run.trace("alpha")
    before = alpha.at(rounds.times, before=True)
    steps = alpha.at(rounds.times) - before
    # Times are read off traces in floating point.
    rose = np.diff(rounds.rtt_minimum, prepend=np.nan) > 1e-9
    foretold = np.where(rose, np.where(rounds.step > 0, 0.0, 2.0), np.where(before > 1.0, -1.0, 0.0))
    right = np.abs(foretold - steps)[1:] < 1e-9
    return Outcome(measured=float(right.mean()), note=f"{int(right.sum())} of {right.size} round trips")


@claim("C-ALG-C7")
def receiver_fields_that_differ_from_reno(_: Evidence) -> Outcome:
    code, reno = _as_read(tcp("code", BASE)), _as_read(tcp("reno", BASE))
    return Outcome(measured=float(sum(code[name] != reno[name] for name in RECEIVER_FIELDS)))
