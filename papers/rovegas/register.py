"""The register of the paper's claims, and estimates that several files of them share."""

from __future__ import annotations

from pathlib import Path

from dumbbell.claims import Register
from dumbbell.judge.estimate import Outcome, above, resampled

from .evidence import Evidence

REGISTER: Register[Evidence] = Register(Path(__file__).with_name("claims.toml"))

claim, estimate = REGISTER.claim, REGISTER.estimate


@estimate
def mean(evidence: Evidence, column: str, of: str, index: int = 0) -> Outcome:
    """Return the mean over runs of an entry of a column."""
    return resampled(evidence.entry(column, of, index))


@estimate
def ratio(evidence: Evidence, column: str, of: str, over: str, index: int = 0) -> Outcome:
    """Return the ratio of two such means."""
    return resampled(evidence.entry(column, of, index) / evidence.entry(column, over, index))


@estimate
def lead(evidence: Evidence, column: str, of: str, over: str = "", index: int = 0) -> Outcome:
    """Return by how much such a mean exceeds another one, or zero, which it has to."""
    found = evidence.entry(column, of, index)
    return above([found - evidence.entry(column, over, index) if over else found])
