"""How the TCP connections of a scenario behave."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from dumbbell.scenario.parts import Data, External, Part, one_of, table


class Timer(Part):
    """A retransmission timer, as `Rfc6298Timer`."""


@dataclass(frozen=True, kw_only=True)
class BsdTimer(Timer):
    """The coarse-tick estimator of BSD.

    Parameters
    ----------
    tick
        Period of the coarse clock.
    precision_fix
        Whether the two extra bits of precision of Brakmo and Peterson are kept, and the timeout is at least two ticks more
        than the RTT sample.
    sample_origin
        What a sample counts that ends before the next tick: 1 as in FreeBSD, 0 as in NetBSD.
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
    sample_origin: int | None = None
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
        Whether samples are whole ticks of the granularity, at least one.
    scaled_ticks
        Whether the averages are kept as whole eighths and quarters of a tick.
    minimum, maximum
        Bounds of the timeout, times.
    minimum_bounds
        What the minimum bounds: the ``"timeout"``, or as in Linux the ``"variation"`` that is added to the smoothed RTT.
    initial
        Timeout before the first RTT sample, a time.
    """

    tag: ClassVar = ("kind", "rfc6298")
    granularity: str | None = None
    whole_ticks: bool | None = None
    scaled_ticks: bool | None = None
    minimum: str | None = None
    minimum_bounds: str | None = None
    maximum: str | None = None
    initial: str | None = None


@dataclass(frozen=True, kw_only=True)
class LinuxTimer(Timer):
    """The estimator of Linux.

    Parameters
    ----------
    minimum
        Smallest variation that is added to the smoothed RTT, a time.
    maximum
        Largest timeout, a time.
    initial
        Timeout before the first RTT sample, a time.
    timestamp_unit
        Unit of timestamps, a time: an RTT of data sent again is told to the congestion control in whole units.
    """

    tag: ClassVar = ("kind", "linux")
    minimum: str | None = None
    maximum: str | None = None
    initial: str | None = None
    timestamp_unit: str | None = None


@dataclass(frozen=True, kw_only=True)
class Pacing(Part):
    """Pacing of a window whose congestion control has no rate of its own.

    Parameters
    ----------
    slow_start_ratio, ratio
        Rates in slow start below half of the threshold, and otherwise, in windows per smoothed RTT.
    unpaced
        Number of segments at the start of a connection that are not paced.
    quantum
        Number of segments sent back to back.
    forgives
        Whether a segment that is sent late shortens the next space, at most to a half.
    """

    slow_start_ratio: float | None = None
    ratio: float | None = None
    unpaced: int | None = None
    quantum: int | None = None
    forgives: bool | None = None


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
    quick
        Number of segments in order that are acknowledged at once at the start of a connection.
    quick_again
        Whether this begins again after data that has arrived before, and after a long time without data.
    """

    segments: int | None = None
    timer: str | None = None
    on_tick: bool | None = None
    quick: int | None = None
    quick_again: bool | None = None


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
        RTT of the last round: ``"mean"``, ``"newest"`` or ``"minimum"``.
    numerator
        Which window the expected rate is computed from: ``"in-transit"``, ``"cwnd"``, ``"window"`` or
        ``"ns2"``.
    increase
        How the window adds a granted segment: ``"spread"`` over the round, or ``"at-once"``.
    fix_timeout, fix_base_rtt, fix_invariant
        The three corrections of [hengartner2000]; all on is the corrected Vegas, all off the released one.
    hold_after_slow_start
        With mechanism B and without A, whether the window is kept after a timeout that follows a loss in slow start,
        until all data sent before it is acknowledged.
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
    hold_after_slow_start: bool | None = None


class Recovery(Part):
    """A loss recovery with parameters, as `NewRenoRecovery`. One without is named by its name alone."""


@dataclass(frozen=True, kw_only=True)
class TahoeRecovery(Recovery):
    """Three duplicate ACKs restart from the loss window.

    Parameters
    ----------
    careful_variant
        Whether duplicate ACKs of data sent again after a timeout cause no fast retransmit.
    timeout_keeps_duplicates
        Whether a timeout does not end the count of duplicate ACKs.
    """

    tag: ClassVar = ("kind", "tahoe")
    careful_variant: bool | None = None
    timeout_keeps_duplicates: bool | None = None


@dataclass(frozen=True, kw_only=True)
class RenoRecovery(Recovery):
    """Fast recovery that ends with the first new ACK.

    Parameters
    ----------
    careful_variant
        Whether duplicate ACKs of data sent again after a timeout cause no fast retransmit.
    retransmit_once
        Whether there is at most one fast retransmit in the data of a window.
    deflation_fix
        Whether the window is also deflated on leaving a recovery that saw exactly three duplicate ACKs.
    max_burst
        Most segments an ACK releases during recovery; 0 for no bound.
    check_both
        Whether mechanism D of Vegas checks both ACKs after a retransmission.
    check_again
        Whether it also checks the ACKs after its own retransmissions.
    time_repairs
        Whether ACKs of retransmitted data give the fine timeout of Vegas a round-trip time, that of the newest segment
        they cover.
    """

    tag: ClassVar = ("kind", "reno")
    careful_variant: bool | None = None
    retransmit_once: bool | None = None
    deflation_fix: bool | None = None
    max_burst: int | None = None
    check_both: bool | None = None
    check_again: bool | None = None
    time_repairs: bool | None = None


@dataclass(frozen=True, kw_only=True)
class NewRenoRecovery(Recovery):
    """Fast recovery that repairs one hole per round trip.

    Parameters
    ----------
    partial_ack
        The retransmission timer on partial ACKs: ``"impatient"`` or ``"slow-but-steady"``.
    deflation
        Effect of a partial ACK on the inflation of the window: ``"partial"`` subtracts what it acknowledges,
        ``"full"`` ends the inflation, ``"lasting"`` also reduces the window by the excess until the recovery ends.
    max_burst
        Most segments an ACK releases during recovery; 0 for no bound.
    """

    tag: ClassVar = ("kind", "newreno")
    partial_ack: str | None = None
    deflation: str | None = None
    max_burst: int | None = None


@dataclass(frozen=True, kw_only=True)
class SackRecovery(Recovery):
    """Recovery from a scoreboard of selective acknowledgements, RFC 6675.

    Parameters
    ----------
    rescue
        Whether the newest segment is sent again once a recovery, when nothing else may go.
    prr
        Whether a recovery reduces the window in proportion to what is delivered (RFC 6937), instead of at once.
    max_burst
        Most segments an ACK releases during recovery; 0 for no bound.
    """

    tag: ClassVar = ("kind", "sack")
    rescue: bool | None = None
    prr: bool | None = None
    max_burst: int | None = None


@dataclass(frozen=True, kw_only=True)
class RackRecovery(Recovery):
    """Detection of losses by time with tail loss probes, RFC 8985.

    Parameters
    ----------
    prr
        Reduction of the window: ``"rfc9937"``, a bound of RFC 6937, ``"ssrb"`` or ``"crb"``, or ``"off"``.
    prr_base
        What the reduction compares with what is delivered: the data in ``"flight"``, or the ``"window"``.
    dup_thresh
        Number of reported segments above which nothing is considered reordered; 0 for none.
    reo_wnd_mult_max
        Largest multiple of a quarter of the minimum RTT in the reordering window; 0 for no limit.
    reo_wnd_persist
        Number of recoveries without a duplicate report after which the multiple is 1 again.
    reo_timer_slack
        Time added to the wait for a segment that may be reordered.
    reo_timer_tick
        Clock of this timer, a time: the wait is rounded up to whole ticks, and ends with the next one.
    dsack
        Whether the receiver reports data that arrived twice.
    dsack_after_reordering
        Whether such a report counts only once reordering was seen.
    tlp
        Whether a probe before the timeout shows the loss of the last segments.
    pto_slack, max_ack_delay
        Times added to two RTTs before a probe, and added instead if a single segment is in flight.
    rto_marks_all
        Whether a timeout considers everything lost, not only what is old enough.
    undo
        Whether a reaction is undone that duplicates or echoed times show to be spurious.
    frto
        Detection of spurious timeouts by new data: ``"off"``, ``"rfc5682"`` or ``"linux"``.
    """

    tag: ClassVar = ("kind", "rack")
    prr: str | None = None
    prr_base: str | None = None
    dup_thresh: int | None = None
    reo_wnd_mult_max: int | None = None
    reo_wnd_persist: int | None = None
    reo_timer_slack: str | None = None
    reo_timer_tick: str | None = None
    dsack: bool | None = None
    dsack_after_reordering: bool | None = None
    tlp: bool | None = None
    pto_slack: str | None = None
    max_ack_delay: str | None = None
    rto_marks_all: bool | None = None
    undo: bool | None = None
    frto: str | None = None


@dataclass(frozen=True, kw_only=True)
class WindowRules(Part):
    """How a congestion window grows and is reduced.

    Parameters
    ----------
    growth
        Growth in congestion avoidance: in ``"real"`` numbers, in ``"whole-bytes"`` or in ``"whole-segments"``.
    grow_per
        What adds to the window: every ``"ack"``, or every ``"segment"`` that an acknowledgement delivers.
    grow_when
        When the window grows: only while it limits the sender, ``"cwnd-limited"``, or ``"always"``.
    validation
        What becomes of a window that is not used: the connection restarts from the initial window, ``"restart"``, or as
        ``"linux"`` or RFC 7661 say, ``"rfc7661"``.
    reduction_base
        What a loss reduces: ``"flight"``, the ``"pipe"`` of a scoreboard, ``"whole-window"`` or ``"real-window"``.
    slow_start_at_ssthresh
        Whether a window equal to its threshold is still in slow start.
    extra_eighth
        Whether congestion avoidance adds an eighth of a segment per ACK, as BSD did until 1994.
    slow_start
        How the window grows in slow start: a name.
    """

    growth: str | None = None
    grow_per: str | None = None
    grow_when: str | None = None
    validation: str | None = None
    reduction_base: str | None = None
    slow_start_at_ssthresh: bool | None = None
    extra_eighth: bool | None = None
    slow_start: str | Data | None = None


@dataclass(frozen=True, kw_only=True)
class Headers(Part):
    """Bytes that headers add on the wire.

    Parameters
    ----------
    data
        Headers of a data segment, a size.
    ack
        Size of a pure acknowledgement.
    sack_block
        Bytes that every block of a selective acknowledgement adds to that.
    """

    data: str | None = None
    ack: str | None = None
    sack_block: str | None = None


@dataclass(frozen=True, kw_only=True)
class Tcp(Part):
    """How a flow's sender and receiver behave.

    In a field that is a table, omitted members keep the values of `rules` and `variant`.

    Parameters
    ----------
    variant
        A preset of congestion control and recovery: ``"tahoe"``, ``"reno"``, ``"newreno"``, ``"sack"``, or the
        name of a congestion control, as ``"vegas"``.
    rules
        The environment whose TCP is the default: ``"rfc"``, ``"bsd"``, ``"ns2"``, ``"ns3"`` or ``"linux"``.
    congestion
        Congestion control: a name, or a builder such as `Vegas`. Without a `variant` it brings its mechanisms and recovery.
    recovery
        Loss recovery: a name, or a builder such as `NewRenoRecovery`.
    mechanisms
        Which of Vegas's mechanisms A to J are on: their letters, as ``"ABCDEFG"``, or a table of those to switch.
    window
        How the window grows and is reduced.
    mss
        Payload of a full segment, a size.
    headers
        Header sizes on the wire.
    initial_window, loss_window
        Window at the start, and after a timeout: sizes, as ``"2 segments"``.
    initial_ssthresh
        Slow-start threshold at the start, a size or ``"unlimited"``.
    receive_buffer, send_buffer
        Buffers of the receiver and the sender, sizes.
    timer
        Retransmission timer.
    aqt
        Whether packets request queueing times from routers, in an option of 8 bytes.
    timestamps
        Whether segments carry timestamps, which lets every acknowledgement give an RTT sample.
    pacing
        ``"off"`` or a `Pacing`.
    delayed_ack
        ``"off"`` or a `DelayedAck`.
    limited_transmit
        Whether the first two duplicate acknowledgements release new segments.
    nagle
        Whether a partial segment waits while data is outstanding (Nagle's algorithm).
    ecn
        Explicit congestion notification: ``"off"``, ``"classic"`` (RFC 3168), or exact feedback of marks, ``"dctcp"``
        (RFC 8257) or ``"accurate"`` (RFC 9768).
    handshake
        Whether the connection opens with a three-way handshake.
    idle_restart
        Whether a window that is not used is reduced, as `WindowRules.validation` says.
    external
        A congestion control from outside the registry: a `dumbbell.Control` or a `dumbbell.Library`, the name of one as
        ``"python:module.Class"`` or ``"library:aimd.so"``, or a table of that name and its parameters.
    """

    readers: ClassVar = {
        "congestion": one_of([Vegas], "name"),
        "recovery": one_of([TahoeRecovery, RenoRecovery, NewRenoRecovery, RackRecovery, SackRecovery]),
        "window": table(WindowRules),
        "headers": table(Headers),
        "timer": one_of([BsdTimer, LinuxTimer, Rfc6298Timer]),
        "pacing": table(Pacing),
        "delayed_ack": table(DelayedAck),
    }
    variant: str | None = None
    rules: str | None = None
    congestion: str | Congestion | Data | None = None
    recovery: str | Recovery | Data | None = None
    mechanisms: str | Mapping[str, bool] | None = None
    window: WindowRules | Data | None = None
    mss: str | None = None
    headers: Headers | Data | None = None
    initial_window: str | None = None
    loss_window: str | None = None
    initial_ssthresh: str | None = None
    receive_buffer: str | None = None
    send_buffer: str | None = None
    timer: str | Timer | Data | None = None
    aqt: bool | None = None
    timestamps: bool | None = None
    pacing: str | Pacing | None = None
    delayed_ack: str | DelayedAck | None = None
    limited_transmit: bool | None = None
    nagle: bool | None = None
    ecn: str | None = None
    handshake: bool | None = None
    idle_restart: bool | None = None
    external: str | External | Data | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.external, External):
            object.__setattr__(self, "external", self.external.stated())
