"""The rules of ns-2: the agent for each variant, and the equivalent settings of our side."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dumbbell.crossvalidation import Rule
from dumbbell.errors import refusal


@dataclass(frozen=True, kw_only=True)
class Agent:
    """The agent of ns-2 for a variant.

    Parameters
    ----------
    agent, sink
        Classes of the sender and of the receiver; with delayed acknowledgements the receiver's is its ``DelAck``.
    free
        Fields of the table that a setting of the agent follows, in addition to those of every agent: their name and the
        setting's. A name with a dot is a member of the field's table.
    """

    agent: str
    sink: str = "Agent/TCPSink"
    free: Mapping[str, str] = field(default_factory=lambda: {"limited_transmit": "singledup_"})


STATED: dict[str, Any] = {
    "rules": "ns2",
    "mss": "960 bytes",
    "receive_buffer": "10000 segments",
    "initial_ssthresh": "10000 segments",
}
"""What scenarios of ns-2 state by default: a segment's payload, and windows that do not bind. The rest is the preset's."""

AGENTS: dict[str, Agent] = {
    "tahoe": Agent(agent="Agent/TCP"),
    "reno": Agent(agent="Agent/TCP/Reno"),
    "newreno": Agent(agent="Agent/TCP/Newreno"),
    "sack": Agent(agent="Agent/TCP/Sack1", sink="Agent/TCPSink/Sack1"),
    "vegas": Agent(
        agent="Agent/TCP/Vegas",
        free={
            "congestion.alpha": "v_alpha_",
            "congestion.beta": "v_beta_",
            "congestion.gamma": "v_gamma_",
        },
    ),
}
"""By the name of our variant."""

RULES: tuple[Rule, ...] = (
    Rule(
        aspect="Packet size",
        peer="packetSize_ 1000 is 1040 bytes on the wire, but 1000 with Vegas",
        matched="useHeaders_ is false and packetSize_ is payload and headers together",
    ),
    Rule(
        aspect="Queue limit",
        peer="limit_ B holds B - 1 waiting packets and one on the wire",
        matched="limit_ is the scenario's limit plus one, unless that counts the packet in service",
    ),
    Rule(
        aspect="Window",
        peer="window_ is 20 packets",
        matched="window_ is the scenario's receive buffer, and ssthresh_ is set apart from it",
    ),
    Rule(
        aspect="Opening",
        peer="a SYN of 40 bytes (of a full packet with Vegas) takes the first sequence number",
        matched="syn_ and delay_growth_ are false; the scenario has no handshake",
    ),
    Rule(
        aspect="Phase of the clock",
        peer="each agent's 10 ms clock has a random phase, drawn by reset",
        matched="if the scenario sets the node's phase, the generator is seeded so that it draws that phase",
    ),
    Rule(
        aspect="Timer",
        peer="averages in whole eighths and quarters of a 10 ms tick, at least 0.2 s, doubled up to 60 s",
        matched="scaled_ticks; the other members of timer are tcpTick_, minrto_, maxrto_ and rtxcur_init_",
    ),
    Rule(
        aspect="Window beyond the receive window",
        peer="cwnd_ continues to grow while window_ limits the sender; halving uses the smaller of the two",
        matched="not matched, since it does not change what is sent: our window stops there",
    ),
    Rule(
        aspect="Second loss in a window",
        peer="bugFix_ allows one fast retransmit per window of data in Reno",
        matched="retransmit_once of the recovery reno",
    ),
    Rule(
        aspect="Timeout of Tahoe",
        peer="the count of duplicate ACKs is kept at a timeout",
        matched="timeout_keeps_duplicates of the recovery tahoe",
    ),
    Rule(
        aspect="Partial ACKs",
        peer="Newreno permanently reduces the window by what a partial ACK covers beyond the inflation, restarts "
        "the timer only at the first one, and sends at most two segments per ACK",
        matched='the recovery newreno with deflation = "lasting", partial_ack = "impatient", max_burst = 2',
    ),
    Rule(
        aspect="SACK",
        peer="Sack1 counts its pipe from the third duplicate ACK on, treats every hole below the highest report "
        "as lost, and ignores duplicate ACKs between a timeout and the first new ACK; it continues to time a "
        "segment that it retransmits in the recovery in which it was first sent; each block adds 8 bytes to the "
        "ACK",
        matched='the recovery ns2sack, and headers with sack_block = "8 bytes"',
    ),
    Rule(
        aspect="Vegas",
        peer="delta rounded, Expected from packets in flight, base RTT reset by a round of one packet, no burst "
        "limit and no limited transmit; the check after a retransmission may send a new packet twice, a fast "
        "retransmit backs off the coarse timer, and the inflation by three duplicate ACKs is not removed",
        matched='the released Vegas with round_diff and numerator = "ns2", mechanisms without H, and the recovery ns2vegas',
    ),
    Rule(
        aspect="Delayed ACKs",
        peer="DelAck acknowledges the first packet immediately, and delays the ACK of a duplicate of the newest packet",
        matched="SYN_immediate_ack_ is false, as there is no handshake; the second is not matched: our ACK is immediate",
    ),
    Rule(
        aspect="Simultaneous events",
        peer="times are floating-point sums: of a simultaneous departure and arrival, either may come first, "
        "which determines the drops of a full queue",
        matched="our departures come first; if single flows are compared packet by packet, the service time is a "
        "binary fraction of a second, so that sums of such times are exact",
    ),
    Rule(
        aspect="Windows in packets",
        peer="windows are floating-point sums of fractions of a packet, which reach an integer or just miss it",
        matched="the payload is a power of two in our grids, so that our windows in bytes round in the same way",
    ),
    Rule(
        aspect="Westwood and others of Linux",
        peer="Agent/TCP/Linux has a different sender: whole windows, rate halving, its own scoreboard, timestamps, jiffies",
        matched="not compared: we have no sender with these rules",
    ),
    Rule(
        aspect="Duplicates after a timeout of Vegas",
        peer="they inflate the window without a fast retransmit, and after more than three the next ACK sets it "
        "to 0; often only another timeout reopens it",
        matched="the recovery ns2vegas",
    ),
    Rule(
        aspect="Inflation",
        peer="the traced cwnd_ excludes the inflation of Reno and Newreno and includes that of Vegas",
        matched="our cwnd_base, without inflation, is compared; for Vegas our cwnd, with inflation",
    ),
    Rule(
        aspect="Losses of a link",
        peer="lost packets of an error model before the queue use no capacity",
        matched="the model is placed after the link, since our losses occur after transmission",
    ),
    Rule(
        aspect="First period of a channel with two states",
        peer="it begins with the first packet, so that no slow start ends in a bad period within it",
        matched="it is set to end with ours, which begins with the run",
    ),
)


def tcp(variant: str, **changes: Any) -> dict[str, Any]:
    """Return the ``tcp`` table that states ns-2's rules for a variant.

    Parameters
    ----------
    variant
        One of `AGENTS`.
    changes
        Fields to override. A table keeps members that are not given.
    """
    if variant not in AGENTS:
        raise refusal("variant", variant, f"one of {', '.join(AGENTS)}", names=AGENTS)
    return {**STATED, "variant": variant, **changes}
