"""Quantities of the uploads of Table 3.

[chan2010 §4.7]
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from .evidence import Evidence, Values


def rates(evidence: Evidence, reading: str, kind: str) -> Mapping[str, Values]:
    """Return size over transfer time of the variant and of Reno in each round, KB/s.

    Parameters
    ----------
    evidence
        The evidence.
    reading
        One of `linux.UPLOADS`.
    kind
        The variant.
    """
    runs = evidence.all_runs(f"{evidence.group}/{reading}/{kind}")
    return {name: np.array([run.one("goodput", name) / 8000 for run in runs]) for name in ("variant", "reno")}


def share_ratios(vegas: Mapping[str, Values], code: Mapping[str, Values]) -> tuple[Values, Values]:
    """Return Reno over Vegas and CODE over Reno in each round."""
    return vegas["reno"] / vegas["variant"], code["variant"] / code["reno"]
