"""Claims about real machines: those that need the network await the testbed; arithmetic is done on printed numbers.

[chan2010 §4.6, §4.7, table 3]
"""

from __future__ import annotations

import numpy as np

from dumbbell.claims import AwaitsTestbed, Outcome

from .evidence import Evidence, Values
from .printed import COLUMNS, data, interval
from .register import claim

LINUX = "It needs from the Linux testbed: kernel connections through an emulated bottleneck."
INTERNET = (
    "It needs from the Linux testbed: uploads over a real path; the paper does not give its rate and traffic."
)

PARTNERS = {"RV-Reno": "Vegas", "RV-Vegas": "Reno", "RC-Reno": "CODE", "RC-CODE": "Reno"}


def _awaits(name: str, reason: str) -> None:
    @claim(name)
    def needs_the_testbed(_: Evidence) -> Outcome:
        raise AwaitsTestbed(reason)


for _name in ("C-F19a-1", "C-F19b-1", "C-F19b-2", "C-F19c-1", "C-F19-4", "C-F19-5"):
    _awaits(_name, LINUX)
for _column in COLUMNS:
    for _round in range(1, 11):
        _awaits(f"C-T3-R{_round:02d}-{_column}", INTERNET)


def _printed(column: str) -> Values:
    return np.array(data()["table3"][column], dtype=np.float64)


def _register_arithmetic() -> None:
    for column in COLUMNS:

        @claim(f"C-T3-AVG-{column}")
        def mean_of_printed_rounds(_: Evidence, column: str = column) -> Outcome:
            return Outcome(measured=float(_printed(column).mean()), note="from the printed rounds")

        for level in (99, 95, 90):

            @claim(f"C-T3-CI{level}-{column}")
            def half_width_of_printed_rounds(
                _: Evidence, column: str = column, level: int = level
            ) -> Outcome:
                found = interval(_printed(column), level / 100)
                return Outcome(
                    measured=found.half_width, note="from the printed rounds, by the normal quantile"
                )


_register_arithmetic()


@claim("C-T3-S1")
def printed_ratio_of_reno_over_vegas(_: Evidence) -> Outcome:
    return Outcome(measured=float(_printed("RV-Reno").mean() / _printed("RV-Vegas").mean()))


@claim("C-T3-S2")
def printed_ratio_of_code_over_reno(_: Evidence) -> Outcome:
    return Outcome(measured=float(_printed("RC-CODE").mean() / _printed("RC-Reno").mean()))


@claim("C-T3-S3")
def share_of_printed_rounds_with_faster_reno(_: Evidence) -> Outcome:
    return Outcome.share(_printed("RV-Reno") > _printed("RV-Vegas"), note="rounds")


@claim("C-T3-S4")
def simulated_less_printed_ratio_of_reno_over_vegas(evidence: Evidence) -> Outcome:
    printed = float(_printed("RV-Reno").mean() / _printed("RV-Vegas").mean())
    simulated = float(1 / evidence.pooled("fig9", "vegas").estimate)
    return Outcome(
        measured=simulated - printed,
        holds=simulated > printed,
        note=f"{printed:.2f} printed, {simulated:.1f} simulated for Fig. 9(a)",
    )


@claim("C-T3-S5")
def variation_of_vegas_rounds_less_that_of_code(_: Evidence) -> Outcome:
    relative = {
        column: interval(_printed(column)).half_width / float(_printed(column).mean())
        for column in ("RV-Vegas", "RC-CODE")
    }
    gap = relative["RV-Vegas"] - relative["RC-CODE"]
    return Outcome(
        measured=gap,
        holds=gap > 0,
        note=f"Vegas {100 * relative['RV-Vegas']:.1f} %, CODE {100 * relative['RC-CODE']:.1f} %",
    )
