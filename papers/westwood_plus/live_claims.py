"""Claims about the live measurements [grieco2004 §4]: those on the printed numbers alone, and those that need real stacks."""

from __future__ import annotations

import numpy as np
from scipy import stats

from dumbbell.claims import AwaitsTestbed, Outcome

from . import printed
from .evidence import Evidence
from .register import Measure, claim

__all__ = ["AWAITED", "total_uploads"]

TABLES = {"T2": "ucla", "T3": "uppsala", "T4": "parma"}
NAMES = {"ucla": "UCLA", "uppsala": "Uppsala", "parma": "Parma"}


def total_uploads() -> int:
    """Return the number of files in all printed sessions."""
    return sum(sum(printed.site(name).uploads) for name in printed.SITES)


@claim("W-L-1")
def files_of_printed_sessions(_evidence: Evidence) -> Outcome:
    files = total_uploads()
    return Outcome(measured=float(files), holds=files > 4000, note="from the printed tables alone")


@claim("W-T5-S1")
def rank_correlation_of_gain_and_pipe(_evidence: Evidence) -> Outcome:
    ends = [
        (pipe, gain)
        for name in printed.SITES
        for pipe, gain in zip(printed.site(name).pipe, printed.site(name).gain, strict=True)
    ]
    pipes, gained = np.array(ends).T
    rho = float(stats.spearmanr(pipes, gained).statistic)
    return Outcome(
        measured=rho,
        holds=rho > 0,
        note="from the printed ranges alone, least with least and largest with largest",
    )


@claim("W-T5-S2")
def largest_printed_gain(_evidence: Evidence) -> Outcome:
    return Outcome(
        measured=max(printed.site(name).gain[1] for name in printed.SITES),
        note="from the printed ranges alone",
    )


def _awaited(what: str) -> Measure:
    def measure(_evidence: Evidence) -> Outcome:
        raise AwaitsTestbed(f"It needs from the Linux testbed: {what}.")

    return measure


def _names() -> dict[str, str]:
    """Return the claims that await the testbed, with their requirements."""
    names: dict[str, str] = {}
    for table, site in TABLES.items():
        for index in range(1, len(printed.site(site).uploads) + 1):
            names[f"W-{table}-{index}-uploads"] = "a session of as many uploads is to be made there"
            names[f"W-{table}-{index}-size"] = "files of this size are to be uploaded there"
    for site in printed.SITES:
        for end in ("lo", "hi"):
            names[f"W-T5-{NAMES[site]}-gain-{end}"] = "alternating uploads with Westwood+ and New Reno"
            names[f"W-T5-{NAMES[site]}-pipe-{end}"] = "goodput and least round-trip time of real transfers"
        names[f"W-T5-{NAMES[site]}-rtt"] = "a path of this round-trip time between namespaces"
    names["W-T5-MSS"] = "segments of real stacks"
    for figure in (33, 35):
        names[f"W-F{figure}-1"] = "mean goodput of each session"
    for figure in (34, 36):
        names[f"W-F{figure}-1"] = "segments sent again by real stacks"
    names["W-F37-1"] = "mean goodput of each session"
    return names


AWAITED = _names()
"""Claims that await the testbed, with their requirements."""

for _name, _what in AWAITED.items():
    claim(_name)(_awaited(_what))
