"""Claims about the live measurements: on uploads of the kernel, on printed numbers, and what cannot be checked.

[grieco2004 §4]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Literal

import numpy as np
from scipy import stats

from dumbbell.judge.estimate import Outcome, quotient
from dumbbell.papers.real_time import measure_of
from dumbbell.report.numbers import number

from . import printed
from .evidence import Evidence, Values
from .linux import CAUSES, HEADERS, MSS
from .register import claim, estimate
from .uploads import PAIR, goodputs, least_rtt_s, retransmitted, sessions

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


on_linux = measure_of("westwood-plus", lambda evidence: evidence.linux)


MAIN = "random"
"""The cause of losses that claims are judged with.

The paper does not state what limited its uploads. By its eqs. 2 and 3, Westwood+ gets sqrt(RTT / (2 Tq)) times the goodput of New
Reno: the printed gains, 23 to 53 % over the longest path, need a queueing time Tq of 0.21 to 0.33 RTT. Connections that fill a
queue of one bandwidth-delay product make it up to a half, where nobody gains; random losses on a link that is not full make
it less.
"""


def _of_main(by_cause: Mapping[str, Outcome]) -> Outcome:
    """Return the outcome with the main cause of losses, with the numbers of every cause in its note."""
    listed = ", ".join(f"{CAUSES[cause]} {number(outcome.measured)}" for cause, outcome in by_cause.items())
    return replace(by_cause[MAIN], note=f"by cause of losses: {listed}")


def _quotient(
    quantity: Callable[[Evidence, str, str, str], Values], evidence: Evidence, site: str, cause: str
) -> Outcome:
    """Return the quotient of a quantity of the uploads over a path: the variant's over the other's."""
    above, below = (quantity(evidence.kernel, site, cause, variant) for variant in PAIR)
    return quotient(above, below)


@estimate
@on_linux
def share_of_sessions_with_westwoodp_ahead(evidence: Evidence, site: str) -> Outcome:
    found = sessions(evidence.kernel, site)
    by_cause = {
        cause: [session.gain.estimate > 0 for session in found if session.cause == cause] for cause in CAUSES
    }
    words = ", ".join(f"{CAUSES[cause]} {sum(flags)} of {len(flags)}" for cause, flags in by_cause.items())
    return Outcome.share(by_cause[MAIN], note=f"by cause of losses: {words}")


@estimate
@on_linux
def ratio_over_path(
    evidence: Evidence, quantity: Literal["retransmission ratios", "goodputs"], site: str
) -> Outcome:
    """Return the ratio of a quantity of Westwood+ to that of the other variant."""
    measure = retransmitted if quantity == "retransmission ratios" else goodputs
    return _of_main({cause: _quotient(measure, evidence, site, cause) for cause in CAUSES})


@on_linux
def least_round_trip_time_of_kernel(evidence: Evidence, site: str) -> Outcome:
    return Outcome(measured=1e3 * least_rtt_s(evidence.kernel, site), note="a setting, read back")


@claim("W-T5-MSS")
@on_linux
def packet_of_the_uploads(_evidence: Evidence) -> Outcome:
    return Outcome(measured=float(MSS + HEADERS), note="a setting, read back")


ON_LINUX = (
    *(f"W-F{figure}-1" for figure in (33, 34, 35, 36, 37)),
    *(f"W-T5-{NAMES[site]}-rtt" for site in printed.SITES),
    "W-T5-MSS",
)
"""Claims that runs of the kernel decide."""
