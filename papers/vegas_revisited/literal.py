"""The literal reading beside the main one.

[hengartner2000 §IV, §V]
"""

from __future__ import annotations

from collections.abc import Sequence

from dumbbell.claims import Claim, judge
from dumbbell.papers import Reading

from .evidence import Evidence
from .plan import LITERAL_GROUP
from .scenarios import LOADS
from .sensitivity import tested


def readings(claims: Sequence[Claim[Evidence]], evidence: Evidence, runs: int) -> list[Reading]:
    """Return the claims on the tables judged under both readings.

    Parameters
    ----------
    claims
        All claims of the paper.
    evidence
        The evidence from all runs.
    runs
        Runs of each configuration under the literal reading; as many are taken of the main one.
    """
    judged, count = tested(claims), dict.fromkeys(LOADS, runs)
    return [
        Reading(
            name="best supported",
            statement="The paper, and the assumptions of the set-up with the calibrated background.",
            findings=judge(judged, evidence.with_group("table", count)),
        ),
        Reading(
            name="literal",
            statement="The paper and its specification without any fit: tcplib's own sizes, the buffers of 128 KB for all hosts, "
            "the mix of mean shares, a warm-up of 10 s, a first timeout of 3 s, a smallest one of two ticks, mechanism D after "
            "fast retransmits alone, and exponential growth after every timeout.",
            findings=judge(judged, evidence.with_group(LITERAL_GROUP, count)),
        ),
    ]
