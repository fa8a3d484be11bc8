"""How the TCP connections of a scenario behave."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from dumbbell.scenario.parts import Data, Part, one_of, table

__all__ = ["BsdTimer", "Congestion", "DelayedAck", "Rfc6298Timer", "Tcp", "Timer", "Vegas"]


class Timer(Part):
    """A retransmission timer; `BsdTimer` and `Rfc6298Timer` are two."""


@dataclass(frozen=True, kw_only=True)
class BsdTimer(Timer):
    """The coarse-tick estimator of BSD.

    Parameters
    ----------
    tick
        Period of the coarse clock.
    precision_fix
        Whether the two extra bits of precision of Brakmo and Peterson are kept.
    variation
        Multiple of the RTT variation in the timeout, 2 or 4.
    min_ticks, max_ticks
        Smallest and largest timeout, in ticks.
    initial
        Timeout before the first RTT sample, a time.
    """

    tag: ClassVar = ("kind", "bsd")
    tick: str | None = None
    precision_fix: bool | None = None
    variation: int | None = None
    min_ticks: int | None = None
    max_ticks: int | None = None
    initial: str | None = None


@dataclass(frozen=True, kw_only=True)
class Rfc6298Timer(Timer):
    """The estimator of RFC 6298.

    Parameters
    ----------
    granularity
        Granularity of the clock, a time.
    whole_ticks
        Whether samples are whole ticks of the granularity, at least one, as in ns-2.
    scaled_ticks
        Whether the averages are kept as whole eighths and quarters of a tick, as the code of BSD and ns-2 does.
    minimum, maximum
        Bounds of the timeout, times.
    initial
        Timeout before the first RTT sample, a time.
    """

    tag: ClassVar = ("kind", "rfc6298")
    granularity: str | None = None
    whole_ticks: bool | None = None
    scaled_ticks: bool | None = None
    minimum: str | None = None
    maximum: str | None = None
    initial: str | None = None


@dataclass(frozen=True, kw_only=True)
class DelayedAck(Part):
    """Delayed acknowledgement.

    Parameters
    ----------
    segments
        An acknowledgement is sent at the latest after this many segments.
    timer
        An acknowledgement is sent at the latest after this time; the period of the fast clock if `on_tick`.
    on_tick
        Whether the delay ends with the host's next fast tick, as in BSD.
    """

    segments: int | None = None
    timer: str | None = None
    on_tick: bool | None = None


class Congestion(Part):
    """A congestion control with parameters, as `Vegas`. One without is named by its name alone."""


@dataclass(frozen=True, kw_only=True)
class Vegas(Congestion):
    """Vegas, released or corrected.

    Parameters
    ----------
    alpha, beta
        Bounds of the data kept queued in congestion avoidance, in segments, ``alpha <= beta``.
    gamma
        Bound of the data queued at which slow start ends, in segments.
    round_diff
        Whether the difference is rounded to whole segments.
    rtt
        Which RTT stands for the last round trip: ``"mean"``, ``"newest"`` or ``"minimum"``.
    numerator
        Which window the expected rate is computed from: ``"in-transit"``, ``"cwnd"``, ``"window"`` or
        ``"ns2"``.
    increase
        How the window takes a segment it is granted: ``"spread"`` over the round, or ``"at-once"``.
    fix_timeout, fix_base_rtt, fix_invariant
        The three corrections of [hengartner2000]; all on is the corrected Vegas, all off the released one.
    """

    tag: ClassVar = ("name", "vegas")
    alpha: float | None = None
    beta: float | None = None
    gamma: float | None = None
    round_diff: bool | None = None
    rtt: str | None = None
    numerator: str | None = None
    increase: str | None = None
    fix_timeout: bool | None = None
    fix_base_rtt: bool | None = None
    fix_invariant: bool | None = None


@dataclass(frozen=True, kw_only=True)
class Tcp(Part):
    """How a flow's sender and receiver behave.

    Parameters
    ----------
    variant
        A preset of congestion control and recovery: ``"tahoe"``, ``"reno"``, ``"newreno"``, ``"sack"``, or the
        name of a congestion control, as ``"vegas"``.
    rules
        Base defaults of all other fields: ``"rfc"``, ``"bsd"`` or ``"ns2"``.
    congestion
        Congestion control: a name, or a builder such as `Vegas`.
    recovery
        Loss recovery: ``"tahoe"``, ``"reno"``, ``"newreno"`` or ``"sack"``.
    mss
        Payload of a full segment, a size.
    header, ack_size
        Bytes of headers around the payload, and of a pure acknowledgement, on the wire.
    sack_block
        Bytes that every block of a selective acknowledgement adds to that.
    initial_window, loss_window
        Window at the start, and after a timeout: sizes, as ``"2 segments"``.
    initial_ssthresh
        Slow-start threshold at the start, a size or ``"unlimited"``.
    receive_buffer, send_buffer
        Buffers of the receiver and the sender, sizes.
    timer
        Retransmission timer.
    aqt
        Whether packets ask routers for the time they wait, in an option of 8 bytes.
    timestamps
        Whether segments carry timestamps, which lets every acknowledgement give an RTT sample.
    delayed_ack
        ``"off"`` or a `DelayedAck`.
    limited_transmit
        Whether the first two duplicate acknowledgements release new segments.
    deflation_fix
        Whether the window is also deflated on leaving a recovery that saw exactly three duplicate
        acknowledgements.
    partial_ack
        The retransmission timer on partial acknowledgements: ``"impatient"`` or ``"slow-but-steady"``.
    partial_deflation
        Whether a partial acknowledgement takes what it acknowledges out of the window's inflation, instead of ending it.
    lasting_deflation
        Whether a partial acknowledgement beyond the inflation takes the rest from the window for good, as in ns-2.
    careful
        Whether duplicate acknowledgements of data sent again after a timeout cause no fast retransmit.
    retransmit_once
        Whether there is at most one fast retransmit in the data of a window, as Reno in ns-2 has it.
    timeout_keeps_duplicates
        Whether a timeout does not end the count of duplicate acknowledgements, as Tahoe in ns-2 has it.
    recovery_burst
        Most segments an acknowledgement releases during recovery; 0 for no bound.
    pipe
        How a recovery with SACK knows what is in the network: from its ``"scoreboard"``, ``"counted"`` as in ns-2, or
        from its ``"eager-scoreboard"``, against which a partial acknowledgement lets out a segment as in ns-3.
    rescue
        Whether a recovery with SACK may send its newest segment again once, when nothing else may go.
    handshake
        Whether the connection opens with a three-way handshake.
    idle_restart
        Whether the window restarts after an idle period.
    window_growth
        How the window grows in congestion avoidance: in real numbers or in whole bytes, as ``"real"``.
    grow_when
        When the window grows: only while it limits the sender, ``"cwnd-limited"``, or ``"always"``.
    halving
        What is halved at a loss: ``"flight"``, the ``"pipe"`` of a scoreboard, ``"whole-window"`` or ``"real-window"``.
    slow_start_at_ssthresh
        Whether a window equal to its threshold is still in slow start.
    extra_eighth
        Whether congestion avoidance adds an eighth of a segment per acknowledgement, as BSD did until 1994.
    mechanisms
        Which of Vegas's mechanisms A to J are on: their letters, as ``"ABCDEFG"``, or a table of switches.
    check_both
        Whether mechanism D checks both acknowledgements after a retransmission.
    faults_of_ns2
        Whether mechanisms C, D and E have the faults of ns-2's code.
    """

    readers: ClassVar = {
        "congestion": one_of([Vegas], "name"),
        "timer": one_of([BsdTimer, Rfc6298Timer]),
        "delayed_ack": table(DelayedAck),
    }
    variant: str | None = None
    rules: str | None = None
    congestion: str | Congestion | Data | None = None
    recovery: str | None = None
    mss: str | None = None
    header: str | None = None
    ack_size: str | None = None
    sack_block: str | None = None
    initial_window: str | None = None
    loss_window: str | None = None
    initial_ssthresh: str | None = None
    receive_buffer: str | None = None
    send_buffer: str | None = None
    timer: str | Timer | Data | None = None
    aqt: bool | None = None
    timestamps: bool | None = None
    delayed_ack: str | DelayedAck | None = None
    limited_transmit: bool | None = None
    deflation_fix: bool | None = None
    partial_ack: str | None = None
    partial_deflation: bool | None = None
    lasting_deflation: bool | None = None
    careful: bool | None = None
    retransmit_once: bool | None = None
    timeout_keeps_duplicates: bool | None = None
    recovery_burst: int | None = None
    pipe: str | None = None
    rescue: bool | None = None
    handshake: bool | None = None
    idle_restart: bool | None = None
    window_growth: str | None = None
    grow_when: str | None = None
    halving: str | None = None
    slow_start_at_ssthresh: bool | None = None
    extra_eighth: bool | None = None
    mechanisms: str | Mapping[str, bool] | None = None
    check_both: bool | None = None
    faults_of_ns2: bool | None = None
