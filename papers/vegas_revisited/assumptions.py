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

from dumbbell import sensitivity

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


@dataclass(frozen=True, kw_only=True)
class Variation(sensitivity.Variation):
    """A variation of one open assumption, for the sensitivity section.

    Parameters
    ----------
    changes
        The changed fields of `Assumptions`.
    """

    changes: Mapping[str, Any]


VARIATIONS = (
    Variation(
        name="cap-half",
        assumption="background size cap",
        value="half the calibrated one",
        changes={"conversation_cap": 0.5},
    ),
    Variation(
        name="cap-double",
        assumption="background size cap",
        value="twice the calibrated one",
        changes={"conversation_cap": 2.0},
    ),
    Variation(
        name="cap-none", assumption="background size cap", value="none", changes={"conversation_cap": None}
    ),
    Variation(
        name="size-half",
        assumption="background size multiplier",
        value="half of ours",
        changes={"size_multiplier": 0.5},
    ),
    Variation(
        name="size-double",
        assumption="background size multiplier",
        value="twice ours",
        changes={"size_multiplier": 2.0},
    ),
    Variation(
        name="mix-means",
        assumption="mix of the background",
        value="mean shares over their sum",
        changes={"mix": "means"},
    ),
    Variation(
        name="buffer-128",
        assumption="buffers of the background",
        value="128 KiB",
        changes={"background_buffer": "128 KiB"},
    ),
    Variation(name="nagle-off", assumption="Nagle's algorithm", value="off", changes={"nagle": False}),
    Variation(name="warm-10", assumption="warm-up", value="10 s", changes={"warm_up_s": 10.0}),
    Variation(name="warm-30", assumption="warm-up", value="30 s", changes={"warm_up_s": 30.0}),
    Variation(name="warm-60", assumption="warm-up", value="60 s", changes={"warm_up_s": 60.0}),
    Variation(
        name="phase-0", assumption="tick phase", value="0 on every host", changes={"tick_phase": "0 s"}
    ),
    Variation(name="rto-1", assumption="minimum RTO", value="1 tick", changes={"min_ticks": 1}),
    Variation(name="rto-4", assumption="minimum RTO", value="4 ticks", changes={"min_ticks": 4}),
    Variation(
        name="tick-100", assumption="coarse tick", value="100 ms", changes={"tick": "100 ms", "min_ticks": 2}
    ),
    Variation(
        name="origin-0",
        assumption="origin of RTT samples",
        value="0 ticks, as in NetBSD",
        changes={"sample_origin": 0},
    ),
    Variation(name="rto-first-3", assumption="first RTO", value="3 s", changes={"initial_rto": "3 s"}),
    Variation(name="delay-20", assumption="bottleneck delay", value="20 ms", changes={"delay": "20 ms"}),
    Variation(name="delay-30", assumption="bottleneck delay", value="30 ms", changes={"delay": "30 ms"}),
    Variation(name="delay-70", assumption="bottleneck delay", value="70 ms", changes={"delay": "70 ms"}),
    Variation(
        name="service",
        assumption="queue limit",
        value="counts the packet in service",
        changes={"counts_service": True},
    ),
    Variation(
        name="extra-none", assumption="H and I in released Vegas", value="both off", changes={"extra": ""}
    ),
    Variation(
        name="extra-h", assumption="H and I in released Vegas", value="H alone", changes={"extra": "H"}
    ),
    Variation(
        name="extra-i", assumption="H and I in released Vegas", value="I alone", changes={"extra": "I"}
    ),
    Variation(
        name="ssthresh-none",
        assumption="initial ssthresh",
        value="unlimited",
        changes={"initial_ssthresh": "unlimited"},
    ),
    Variation(
        name="ssthresh-16",
        assumption="initial ssthresh",
        value="16 KiB",
        changes={"initial_ssthresh": "16 KiB"},
    ),
    Variation(
        name="mss-1460", assumption="payload of a segment", value="1460 bytes", changes={"mss": "1460 bytes"}
    ),
    Variation(
        name="check-both",
        assumption="checks of mechanism D",
        value="both acknowledgements",
        changes={"check_both": True},
    ),
    Variation(
        name="check-once",
        assumption="checks of mechanism D",
        value="after fast retransmits alone",
        changes={"check_again": False},
    ),
    Variation(
        name="repairs-untimed",
        assumption="samples of the fine timeout",
        value="none from acknowledgements of retransmitted data",
        changes={"time_repairs": False},
    ),
    Variation(
        name="repairs-untimed-once",
        assumption="samples of the fine timeout, and checks of D",
        value="none from acknowledgements of retransmitted data; after fast retransmits alone",
        changes={"time_repairs": False, "check_again": False},
    ),
    Variation(
        name="hold-none",
        assumption="ca alone after a loss in slow start",
        value="grows at once",
        changes={"hold_after_slow_start": False},
    ),
    Variation(
        name="ethernet-shared",
        assumption="Ethernets",
        value="one for the hosts of a side",
        changes={"shared_ethernet": True},
    ),
    Variation(
        name="control-three",
        assumption="control segments of the background",
        value="three beside the SYN",
        changes={"control_segments": 3},
    ),
    Variation(name="handshake", assumption="handshake", value="none", changes={"handshake": False}),
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
