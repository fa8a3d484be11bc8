"""What the paper leaves open, with our choice, the calibration, and how each choice is varied.

[hengartner2000 §IV, §V]
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

from dumbbell.sensitivity import Variation

MIXES: Mapping[str, Mapping[str, float]] = {
    "drawn": {"telnet": 0.169753, "ftp": 0.066495, "nntp": 0.017897, "smtp": 0.745855},
    "means": {"telnet": 0.130713, "ftp": 0.046134, "nntp": 0.011961, "smtp": 0.811192},
}
"""Shares of the applications: expected values of gamma-distributed shares over their sum, and means over their sum, from the
means and variances of tcplib."""


@dataclass(frozen=True, kw_only=True)
class Assumptions:
    """What the paper leaves open, with our choice.

    Parameters
    ----------
    rate, delay
        Bottleneck of Fig. 1, which survives only as a caption. 200 KB/s is the rate of the simulator's example network of
        the same shape; 50 ms one way is what the original Vegas papers are remembered to use, and of the values tried it
        alone agrees with every statement on Fig. 2.
    access_rate, access_delay
        The Ethernets at both sides.
    shared_ethernet
        Whether the hosts of a side share one Ethernet, as in the simulator's example network of the same shape, or each
        has a link of its own to the router, as the specification recommends.
    counts_service
        Whether the ten packets of a router's queue include the one in transmission. The simulator queues waiting messages.
    mss, header
        A segment of 1.4 KB is read as 1400 bytes of payload, plus 40 bytes of headers on the wire.
    tick, min_ticks, initial_rto, tick_phase
        The coarse clock of BSD. The first timeout is that of the x-kernel's source (version 3.3): twelve ticks.
    sample_origin
        What an RTT sample counts that ends before the next tick. The paper computes the timeout as FreeBSD and NetBSD do,
        where it is at least two ticks more than the sample. FreeBSD counts from one: the smallest timeout is three ticks.
        NetBSD counts from zero: it is two ticks.
    initial_ssthresh
        Slow-start threshold of a new connection: the largest window without scaling.
    variation
        Multiple of the RTT variation in the coarse timeout. Stated by the paper: 4.
    extra
        Which of the mechanisms H and I run in released Vegas: the defaults of the release.
    increase
        How Vegas's window grows by a segment in congestion avoidance: spread over the acknowledgements of the next round, or
        at once. The paper has it *increased linearly* where it is *immediately reduced* [hengartner2000 §VII.A].
    gamma
        Queued segments at which Vegas leaves slow start: the value of the x-kernel and of ns-2.
    check_both
        Whether mechanism D checks the second acknowledgement even if the first check did not fire.
    check_again
        Whether mechanism D also checks the two acknowledgements after its own retransmissions. The original paper speaks
        of the first or second one after a retransmission [brakmo1995 §3.1], this one of a *fast* retransmission
        [hengartner2000 §II], and both call those of D retransmissions.
    time_repairs
        Whether an acknowledgement of retransmitted data gives the fine timeout a round-trip time. It covers segments that
        waited behind the hole, so the timeout grows with every hole of a recovery. The paper does not say; ns-2's port has
        such samples, and one that takes the oldest segment covered has none.
    hold_after_slow_start
        Whether Vegas with ca alone keeps its window after a timeout that follows a loss in slow start, until all data sent
        before it is acknowledged. The paper corrects the timeout *during congestion avoidance* [hengartner2000 §VII.A];
        this one is of slow start, and without the changes of slow start nothing else sets the strategy of the window.
    nagle
        Whether Nagle's algorithm holds back keystrokes. The authors' TCP had it.
    background_buffer
        Send and receive buffers of the background's hosts. The paper gives 128 KB for the measured transfer; the authors'
        TCP has 4 KiB by default.
    control_segments
        Segments without data that each background conversation sends beside its SYN: the acknowledgement of the answer to
        the SYN, the FIN, and the acknowledgement of the other side's FIN, as the x-kernel's source (version 3.3) has them.
        The engine's connections do not close, so a source of its own sends them at random times, with the same mean rate,
        and they are not repeated.
    handshake
        Whether connections open with a handshake, as the implementations that the simulator runs do.
    warm_up_s
        How long the background runs before the foreground starts; the start is uniform in the second that follows.
    conversation_cap
        Most bytes one background conversation sends.
    size_multiplier
        Factor on the sizes of all background items.
    mix
        Shares of the applications among background conversations, a name of `MIXES`. tcplib draws the share of each
        application from a gamma distribution and divides by their sum [danzig1991]; the expected shares are those of a
        generator that draws them for every conversation.
    time_limit_s
        Maximum duration of a run after the warm-up. High load exceeds the capacity of the bottleneck, so a transfer can
        starve: one that has not finished by then counts with the bytes delivered. In the WAN it is `far_time_limit_s`.
    """

    rate: str = "1.6 Mbit/s"
    delay: str = "50 ms"
    access_rate: str = "10 Mbit/s"
    access_delay: str = "0.1 ms"
    shared_ethernet: bool = False
    counts_service: bool = False
    mss: str = "1400 bytes"
    header: str = "40 bytes"
    tick: str = "500 ms"
    min_ticks: int = 2
    sample_origin: int = 1
    initial_rto: str = "6 s"
    tick_phase: str = "random"
    initial_ssthresh: str = "64 KiB"
    variation: int = 4
    extra: str = "HI"
    increase: str = "spread"
    gamma: float = 1.0
    check_both: bool = False
    check_again: bool = True
    time_repairs: bool = True
    hold_after_slow_start: bool = True
    nagle: bool = True
    background_buffer: str = "4 KiB"
    control_segments: int = 0
    handshake: bool = True
    warm_up_s: float = 10.0
    conversation_cap: str | None = "1 MB"
    size_multiplier: float = 1.0
    mix: str = "drawn"
    time_limit_s: float = 600.0
    far_time_limit_s: float = 200.0


LITERAL = Assumptions(
    sample_origin=0,
    initial_rto="3 s",
    check_again=False,
    hold_after_slow_start=False,
    background_buffer="128 KiB",
    warm_up_s=10.0,
    conversation_cap=None,
    mix="means",
)
"""The literal reading: the paper's buffers for all hosts, tcplib's own sizes, the specification's mix, warm-up, first and
smallest RTO, mechanism D after fast retransmits alone, and exponential growth after every timeout."""


@cache
def calibration() -> Mapping[str, Any]:
    """Return the frozen calibration of the background, with the rows of the scan it was chosen from."""
    here = Path(__file__).parent
    frozen = tomllib.loads((here / "calibration.toml").read_text(encoding="utf-8"))
    tables = {
        name: pd.read_csv(here / f"calibration-{name}.csv").to_dict("records")
        for name in ("scan", "finalists", "near")
    }
    return frozen | tables


@cache
def calibrated() -> Assumptions:
    """Return our assumptions with the calibrated background."""
    chosen = calibration()["chosen"]
    cap = chosen["conversation_cap"]
    return Assumptions(
        background_buffer=chosen["background_buffer"],
        conversation_cap=None if cap == "none" else cap,
        size_multiplier=float(chosen["size_multiplier"]),
        warm_up_s=float(chosen["warm_up_s"]),
    )


def _varied(name: str, assumption: str, value: str, **changes: Any) -> Variation:
    return Variation(name=name, assumption=assumption, value=value, changes=changes)


VARIATIONS = (
    _varied("cap-half", "background size cap", "half the calibrated one", conversation_cap=0.5),
    _varied("cap-double", "background size cap", "twice the calibrated one", conversation_cap=2.0),
    _varied("cap-none", "background size cap", "none", conversation_cap=None),
    _varied("size-half", "background size multiplier", "half of ours", size_multiplier=0.5),
    _varied("size-double", "background size multiplier", "twice ours", size_multiplier=2.0),
    _varied("mix-means", "mix of the background", "mean shares over their sum", mix="means"),
    _varied("buffer-128", "buffers of the background", "128 KiB", background_buffer="128 KiB"),
    _varied(
        "hosts-128",
        "buffers of the background, with sizes and warm-up that meet the two targets again",
        "128 KiB, 15 kB, 4 times tcplib's sizes, 60 s",
        background_buffer="128 KiB",
        conversation_cap="15 kB",
        size_multiplier=4.0 / 3.0,
        warm_up_s=60.0,
    ),
    _varied("growth-at-once", "growth of Vegas by a segment", "at once", increase="at-once"),
    _varied("nagle-off", "Nagle's algorithm", "off", nagle=False),
    _varied("warm-10", "warm-up", "10 s", warm_up_s=10.0),
    _varied("warm-30", "warm-up", "30 s", warm_up_s=30.0),
    _varied("warm-60", "warm-up", "60 s", warm_up_s=60.0),
    _varied("phase-0", "tick phase", "0 on every host", tick_phase="0 s"),
    _varied("rto-1", "minimum RTO", "1 tick", min_ticks=1),
    _varied("rto-4", "minimum RTO", "4 ticks", min_ticks=4),
    _varied("tick-100", "coarse tick", "100 ms", tick="100 ms", min_ticks=2),
    _varied("origin-0", "origin of RTT samples", "0 ticks, as in NetBSD", sample_origin=0),
    _varied("rto-first-3", "first RTO", "3 s", initial_rto="3 s"),
    _varied("delay-20", "bottleneck delay", "20 ms", delay="20 ms"),
    _varied("delay-30", "bottleneck delay", "30 ms", delay="30 ms"),
    _varied("delay-70", "bottleneck delay", "70 ms", delay="70 ms"),
    _varied("service", "queue limit", "counts the packet in service", counts_service=True),
    _varied("extra-none", "H and I in released Vegas", "both off", extra=""),
    _varied("extra-h", "H and I in released Vegas", "H alone", extra="H"),
    _varied("extra-i", "H and I in released Vegas", "I alone", extra="I"),
    _varied("ssthresh-none", "initial ssthresh", "unlimited", initial_ssthresh="unlimited"),
    _varied("ssthresh-16", "initial ssthresh", "16 KiB", initial_ssthresh="16 KiB"),
    _varied("mss-1460", "payload of a segment", "1460 bytes", mss="1460 bytes"),
    _varied("check-both", "checks of mechanism D", "both acknowledgements", check_both=True),
    _varied("check-once", "checks of mechanism D", "after fast retransmits alone", check_again=False),
    _varied(
        "repairs-untimed",
        "samples of the fine timeout",
        "none from acknowledgements of retransmitted data",
        time_repairs=False,
    ),
    _varied(
        "repairs-untimed-once",
        "samples of the fine timeout, and checks of D",
        "none from acknowledgements of retransmitted data; after fast retransmits alone",
        time_repairs=False,
        check_again=False,
    ),
    _varied("hold-none", "ca alone after a loss in slow start", "grows at once", hold_after_slow_start=False),
    _varied("ethernet-shared", "Ethernets", "one for the hosts of a side", shared_ethernet=True),
    _varied(
        "control-three", "control segments of the background", "three beside the SYN", control_segments=3
    ),
    _varied("handshake", "handshake", "none", handshake=False),
)


def varied(variation: Variation, base: Assumptions) -> Assumptions:
    """Return assumptions with one of them varied. A number for the cap is a factor on the calibrated one."""
    changes = dict(variation.changes)
    cap = changes.get("conversation_cap")
    if isinstance(cap, float):
        changes["conversation_cap"] = f"{cap * cap_bytes(base):.0f} bytes"
    if "size_multiplier" in changes:
        changes["size_multiplier"] = base.size_multiplier * changes["size_multiplier"]
    return replace(base, **changes)


def cap_bytes(assumptions: Assumptions) -> float:
    """Return the cap on a background conversation, bytes; infinite without one."""
    if assumptions.conversation_cap is None:
        return float("inf")
    amount, unit = assumptions.conversation_cap.split()
    return float(amount) * {"bytes": 1, "kB": 1e3, "MB": 1e6, "KiB": 1024, "MiB": 1024**2}[unit]
