"""The rule of NewVegas and CODE as a machine without a network.

[chan2010 §2.4, §3.2, table 1]

The paper's Table 1 is a run of it by hand: the round-trip time rises in every round, and every packet more is queued.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Round:
    """A column of Table 1.

    Parameters
    ----------
    w_old, w
        Window before and after the update, packets.
    alpha, beta
        Thresholds in force in the round, packets.
    alpha_inc, beta_inc
        What they gain for the next round, packets.
    delta
        Packets queued.
    """

    w_old: float
    alpha: float
    alpha_inc: float
    beta: float
    beta_inc: float
    delta: float
    w: float


@dataclass
class Rule:
    """Window and thresholds of a connection.

    Parameters
    ----------
    w
        Window, packets.
    alpha, beta
        Thresholds, packets.
    rise
        By how much they are raised: 1 in NewVegas, 2 in CODE.
    start
        The alpha that they do not sink below.
    """

    w: float
    alpha: float
    beta: float
    rise: float = 1.0
    start: float = 1.0

    def round(self, delta: float, rtt_grew: bool) -> Round:
        """Apply the update of one round: first the window, then the thresholds against the new window."""
        w_old, alpha, beta = self.w, self.alpha, self.beta
        if delta > beta:
            self.w -= 1
        elif delta < alpha:
            self.w += 1
        step = 0.0
        if rtt_grew and self.w <= w_old:
            step = self.rise
        elif not rtt_grew and alpha > self.start:
            step = -1.0
        self.alpha, self.beta = alpha + step, beta + step
        return Round(
            w_old=w_old, alpha=alpha, alpha_inc=step, beta=beta, beta_inc=step, delta=delta, w=self.w
        )


def table1(rounds: int = 6, rise: float = 1.0) -> list[Round]:
    """Return the rounds of Table 1: from 20 packets, 5 of them queued, between 5 and 7."""
    rule = Rule(w=20, alpha=5, beta=7, rise=rise)
    return [rule.round(rule.w - 15, rtt_grew=True) for _ in range(rounds)]


def climb(rise: float, rounds: int = 60) -> float:
    """Return the packets a round by which the window grows under the conditions of Table 1."""
    made = table1(rounds, rise)
    return (made[-1].w - made[0].w_old) / rounds
