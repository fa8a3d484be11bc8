"""The rules of the kernel in the terms of scenarios, and how its defaults were matched, for the report."""

from __future__ import annotations

from typing import Any

from dumbbell.crossvalidation import Rule
from dumbbell.errors import refusal

KERNELS = ("reno", "cubic", "bbr")
"""Congestion controls of the kernel itself."""

TWINS = ("vegas", "newvegas", "vegasa", "code", "westwood", "westwoodp", "rovegas")
"""Congestion controls that the kernel has as eBPF twins."""

VARIANTS = (*KERNELS, *TWINS)

# Mechanisms of Vegas on both sides. With SACK, a window is reduced once per recovery, which E asks for; C, D, H and J
# belong to the sender, which is the kernel's.
MECHANISMS = dict.fromkeys(("vegas", "newvegas", "vegasa", "code", "rovegas"), "ABFI")

THRESHOLDS = {key: {"alpha": 1.55, "beta": 3.55} for key in ("vegas", "newvegas", "code", "rovegas")}

# Equal round-trip times are a tie as well, and equal throughputs, which Vegas-A compares.
TOLERANCE_US = dict.fromkeys(("newvegas", "code", "vegasa"), 100)

# Of a single flow, as serialization times of a packet. In the throughput of Vegas-A, that is half of what a segment more
# adds to it.
TOLERANCE_PACKETS = {"newvegas": 2.0, "code": 2.0, "vegasa": 0.5}

LEAST_THRESHOLDS = {"vegasa": {"alpha": 1.0, "beta": 2.0}}
"""Thresholds of a single flow of a congestion control that gives their least value a meaning: only while `alpha` is 1, a
window of Vegas-A grows although its throughput does not. Its flows need a path on which the differences of windows are
halfway between whole numbers."""


def _thresholds(base_packets: float) -> dict[str, float]:
    """Return thresholds between which one window of a single flow is, half a segment from both.

    A window that fills the path has a difference of the window less the packets that fit into the path without queueing.
    With a whole number as a threshold, a difference beside it is a tie: microseconds decide whether the window grows. With
    two windows between the thresholds, a stall decides which one remains.
    """
    lower = round(1.0 + (0.5 - base_packets) % 1.0, 2)
    return {"alpha": lower, "beta": round(lower + 1.0, 2)}


def _tolerance_us(variant: str, packet_us: float) -> int:
    """Return the change of a single flow's round-trip time that is none.

    For NewVegas and CODE it is twice the serialization time of a packet. A growth of the window by a segment then leaves
    the band alone, and so does hardly ever a late packet. With less, the thresholds of CODE rise by chance: in the
    simulator, delays that vary as in real time change its mean window by more than 2 % at 29 of 40 points with 100 µs, at
    14 with one packet, and at one with two. Vegas-A has to notice the throughput of a segment more, so that its tolerance
    is half of a serialization time. With it, such delays change its mean window at two points.
    """
    return max(TOLERANCE_US[variant], round(TOLERANCE_PACKETS[variant] * packet_us))


def table(
    variant: str, *, base_packets: float | None = None, packet_us: float | None = None, **changes: Any
) -> dict[str, Any]:
    """Return the ``tcp`` table that states the kernel's rules for a congestion control.

    Parameters
    ----------
    variant
        One of `VARIANTS`.
    base_packets
        Packets of a flow that is alone on its path and fills it without queueing, for thresholds far from the differences of
        all windows.
    packet_us
        Serialization time of a packet of this flow, µs, for a band that late packets do not move.
    changes
        Fields of the table to change.

    Raises
    ------
    ScenarioError
        The kernel has no such congestion control.
    """
    if variant not in VARIANTS:
        raise refusal("variant", variant, f"one of {', '.join(VARIANTS)}", names=VARIANTS)
    stated: dict[str, Any] = {"rules": "linux", "congestion": variant, "delayed_ack": "off"}
    thresholds = THRESHOLDS.get(variant, {})
    if base_packets is not None:
        thresholds = _thresholds(base_packets) if thresholds else LEAST_THRESHOLDS.get(variant, {})
    if variant in MECHANISMS:
        stated["mechanisms"] = MECHANISMS[variant]
        stated["congestion"] = {
            "name": variant,
            "increase": "at-once",
            **thresholds,
        }
    if variant == "bbr":
        # The devices of the testbed take single segments.
        stated["congestion"] = {"name": variant, "burst_segments": 1}
    if variant in TOLERANCE_US:
        tolerance = TOLERANCE_US[variant] if packet_us is None else _tolerance_us(variant, packet_us)
        stated["congestion"] |= {"rtt_tolerance": f"{tolerance} us"}
    if variant == "rovegas":
        # The option takes 8 bytes of the payload.
        stated |= {"aqt": True, "mss": "1440 bytes"}
    return stated | changes


RULES: tuple[Rule, ...] = (
    Rule(
        aspect="Links",
        peer="The simulator's own links, driven by the wall clock: the same rates, queues and drops.",
        matched="Departures follow the ideal schedule. Packets are delivered some tens of microseconds late, in bursts of "
        "milliseconds while the machine does something else; runs with too many late packets are repeated. Disagreements "
        "are traced by running ours with delays that vary likewise.",
    ),
    Rule(
        aspect="Size of packets",
        peer="1448 bytes of payload, 20 of IP, 20 of TCP and 12 of timestamps; each SACK block adds 8 bytes to an ACK, and "
        "the first 4 more.",
        matched="The same, except that the first SACK block adds 8 bytes as well.",
    ),
    Rule(
        aspect="Opening",
        peer="A handshake; the first window is 10 segments.",
        matched="The same. Congestion controls do not hear the round-trip time of the SYN.",
    ),
    Rule(
        aspect="Delayed acknowledgements",
        peer="Every second segment, and every segment at the beginning.",
        matched="Off: the route of the receiver asks for an ACK for every segment.",
    ),
    Rule(
        aspect="Windows",
        peer="Whole segments, which grow when as many segments as the window were delivered.",
        matched="The same for the kernel's own; those of the eBPF twins keep fractions on both sides. Windows are compared in "
        "whole segments, ours rounded down, and without what duplicate ACKs add to ours (limited transmit): the kernel sends "
        "these segments without a larger window.",
    ),
    Rule(
        aspect="Recovery",
        peer="Proportional rate reduction moves the window to the threshold during a recovery; the threshold is half of the "
        "whole window.",
        matched="The same: prr of the recovery, reduction_base whole-window. The thresholds of Westwood and Westwood+ are "
        "whole segments on both sides.",
    ),
    Rule(
        aspect="Loss detection",
        peer="RACK: a segment is lost if one sent a quarter of the minimum round-trip time later was reported. The handshake "
        "counts among the round-trip times. Tail loss probes and the detection of spurious timeouts are on.",
        matched="The same: recovery rack with the kernel's parameters.",
    ),
    Rule(
        aspect="Retransmission timeout",
        peer="The minimum of 200 ms bounds the variation, and the smoothed round-trip time is added.",
        matched="The same: timer linux.",
    ),
    Rule(
        aspect="CUBIC",
        peer="HyStart, windows by the kernel's table of cubic roots.",
        matched="HyStart and the kernel's parameters; roots are exact.",
    ),
    Rule(
        aspect="BBR",
        peer="Paced by the timers of the sockets, for lack of the queueing discipline fq. The devices take single segments, so "
        "that a burst leaves segment by segment, while the window provides for the kernel's bursts.",
        matched="The same: burst_segments 1. Gains of the cycle are drawn at random on both sides, independently. The first 10 "
        "segments, which the kernel does not pace, are paced.",
    ),
    Rule(
        aspect="Vegas, Vegas-A and RoVegas: growth",
        peer="A granted segment is spread over the ACKs of the next round, rounded up.",
        matched="At once on both sides (increase at-once). In ours, the sum of the spread fractions may stay below a whole "
        "segment by a rounding error of floating point; then one segment fewer is sent until the next change.",
    ),
    Rule(
        aspect="Vegas, NewVegas, Vegas-A, CODE and RoVegas: thresholds",
        peer="A window that just fills the path has a difference of almost 1 segment, the next one of almost 2. Round-trip "
        "times that are a few microseconds longer then decide whether the window grows.",
        matched="On both sides, thresholds of single flows leave one window between them, whose difference is half a segment "
        "from both; those of pairs are 1.55 and 3.55 segments. Vegas-A begins with 1 and 2 in single flows, on a path that is "
        "longer by less than a packet, so that differences are halfway between whole numbers; with its own in pairs.",
    ),
    Rule(
        aspect="NewVegas and CODE: ties",
        peer="The thresholds move if a round-trip time is longer than the last one. Times of a constant window differ by "
        "microseconds, so that the thresholds rise by chance; in ours they are equal.",
        matched="A round-trip time counts as longer if it is so by 100 µs (rtt_tolerance), on both sides: less than the time "
        "of a packet at 50 Mbit/s, more than most delays of the testbed.",
    ),
    Rule(
        aspect="Vegas-A: ties",
        peer="The thresholds rise if the throughput is higher than in the round before, however little.",
        matched="A throughput counts as the same if round-trip times that differ by 100 µs explain the change "
        "(rtt_tolerance), in single flows by half of the time of a packet if that is more, on both sides.",
    ),
    Rule(
        aspect="Mechanisms of Vegas",
        peer="The sender is the kernel's: no mechanism C, D, H or J. E is inherent, with selective acknowledgements in ours, "
        "too.",
        matched="A, B, F and I on both sides.",
    ),
    Rule(
        aspect="RoVegas",
        peer="Queueing times travel in an option of 8 bytes.",
        matched="aqt on both sides, with a payload of 1440 bytes; both hosts report.",
    ),
)
