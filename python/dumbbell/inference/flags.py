"""What a capture cannot tell, in sentences."""

from __future__ import annotations

import numpy as np

from dumbbell.inference.estimate import LEAST_SHARE, LIMITED
from dumbbell.inference.fitting import FAR, Explained, Search

# A share of the time in which the application limited the sender that is worth a word.
APPLICATION = 0.1
# Beyond this distance, no scenario is like the capture: one of ten development captures is, most of them with competitors.
VERY_FAR = 0.25
# Below this many packets on the path, algorithms with small windows are alike.
FEW_PACKETS = 12


def flags_of(search: Search, best: Explained, kind: str) -> tuple[str, ...]:
    """Return what the capture cannot tell."""
    found, seen, path = search.found, search.seen, best.path
    made = []
    if seen.is_turned:
        made.append(
            "captured at the receiver: the times of the sender are known to a tick of its clock, and the intervals are those "
            "of captures at senders"
        )
    if path.discipline == "droptail" and path.buffer_packets is None:
        made.append("buffer: it never overflowed; the value is a lower bound")
    if found.receiver_share > LIMITED or seen.receiver_share > LIMITED:
        made.append("the receive window limited the flow: rate, buffer and algorithm are uncertain")
    if seen.application_share > APPLICATION:
        made.append("the application limited the flow for a part of the time: the rate may be too low")
    if found.rate_share < LEAST_SHARE:
        made.append("rate: few windows of acknowledgements show it; uncertain")
    if kind == "competitors":
        text = "rate, buffer and base round-trip time are less certain"
        made.append(
            f"packets of other flows were in the queue: {text}, and their number and algorithms are a guess"
        )
    if kind == "competitors" and found.standing_s == 0.0 and not np.isfinite(seen.handshake_rtt_s):
        made.append("base round-trip time: the queue may never have been empty; the value is an upper bound")
    if found.standing_s > 0.0:
        made.append(
            "base round-trip time: a queue stood throughout; it is that of the handshake, and an upper bound"
        )
    if path.discipline == "codel":
        made.append("discipline: CoDel or FQ-CoDel; a lone flow does not tell them apart")
    if path.forced:
        made.append(
            "losses at a queue that was not full are taken for random ones; wireless links lose in bursts"
        )
    packets = path.bottleneck_bps * path.base_rtt_s / seen.packet_bits + (path.buffer_packets or 0)
    if packets < FEW_PACKETS:
        made.append(
            f"algorithm: about {packets:.0f} packets fit the path; many algorithms are alike with so few"
        )
    if best.distance > VERY_FAR:
        made.append(
            "no scenario explains the capture: trust the estimates of rate and base round-trip time at most"
        )
    elif best.distance > FAR:
        made.append("the nearest scenario is not near: intervals are less reliable")
    return tuple(made)
