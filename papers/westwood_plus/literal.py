"""The literal reading of the lossy channel beside the main one.

[grieco2004 §3.4]
"""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from dumbbell.claims import Claim, judge
from dumbbell.papers import Reading

from .assumptions import WIRELESS
from .evidence import Evidence
from .plan import LITERAL_GROUP
from .sensitivity import GROUPS


def readings(claims: Sequence[Claim[Evidence]], results: pd.DataFrame) -> list[Reading]:
    """Return the claims on lossy links judged under both readings; none if the literal one was not run."""
    literal = Evidence(results, LITERAL_GROUP)
    if not literal.counts():
        return []
    judged = [claim for claim in claims if claim.id.startswith(GROUPS[WIRELESS][1])]
    return [
        Reading(
            name="best supported",
            statement="The lossy channel advances by packets, as the error model of the simulator that the paper names does.",
            findings=judge(judged, Evidence(results, only=literal.counts())),
        ),
        Reading(
            name="literal",
            statement="The lossy channel advances by time, whether packets pass or not, as dwell times in seconds suggest.",
            findings=judge(judged, literal),
        ),
    ]
