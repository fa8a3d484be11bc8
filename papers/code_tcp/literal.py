"""The literal reading beside the main one.

[chan2010 §4]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dumbbell.claims import Claim, judge
from dumbbell.papers import Reading

from .assumptions import BASE, LITERAL_GROUP
from .evidence import Evidence


def readings(claims: Sequence[Claim[Evidence]], evidence: Evidence) -> list[Reading]:
    """Return all claims judged under the main and under the literal reading, on the same number of runs."""
    return [
        Reading(
            name="best supported",
            statement=f"The paper, the assumptions for what it leaves open, a floor under CODE's thresholds, and against phase effects {100 * BASE.cross:g} % random "
            "traffic at the bottleneck where throughputs are averaged, and random processing times in Figs. 10 to 13.",
            findings=judge(claims, evidence),
        ),
        Reading(
            name="literal",
            statement="The paper and the same assumptions, without the random traffic and the processing times, and with the pseudo-code as printed, which has no floor: only start times are random, as in the paper.",
            findings=judge(claims, replace(evidence, group=LITERAL_GROUP)),
        ),
    ]
