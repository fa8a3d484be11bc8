"""Values, rows and figures of the report, which `report.md` names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from functools import cached_property

import numpy as np

from dumbbell.claims import Verdict
from dumbbell.judge.estimate import NotMeasured
from dumbbell.papers import Evaluation
from dumbbell.papers.page import PaperPage
from dumbbell.report.page import Row

from . import figures
from .assumptions import newest_recovery
from .evidence import Evidence, Values
from .published import bbr_shares
from .sharing_scenarios import WARE, ware_key

FAMILIES = {
    "CUBIC and AIMD": ("cubic", "aimd"),
    "recovery, slow start and timers": ("prr", "hs", "rack", "tlp", "rto", "delack", "iw"),
    "BBR": ("bbr", "cao", "ware"),
    "BBRv3": ("bbr3",),
    "DCTCP and Prague": ("dctcp", "prague"),
    "algorithms that keep delay short": ("ledbat", "copa", "vegas"),
    "algorithms for fast long paths": ("scal", "hstcp", "bic", "ill", "hybla", "veno"),
    "queues": ("codel", "fqc", "pie", "red", "dq", "tbf"),
    "emulators and evaluation suites": ("netem", "mm", "eval", "pico"),
}
"""The families of statements, by the first part of their names."""

BASES: dict[str, Callable[[str], bool]] = {
    "read in the source": lambda source: (
        not any(mark in source for mark in ("third-hand", "from memory", "band proposed here"))
    ),
    "read in notes on the source (third-hand)": lambda source: "third-hand" in source,
    "from memory": lambda source: "from memory" in source,
    "range proposed here": lambda source: "band proposed here" in source,
}
"""How far a statement can be trusted, by what its source says. The last may come with another."""

VERDICTS: tuple[Verdict, ...] = ("reproduced", "undecided", "not-reproduced", "not-checkable")


class Content(PaperPage):
    """What the report shows.

    Parameters
    ----------
    evaluation
        The evaluated claims with their evidence.
    """

    evidence: Evidence
    recovery = newest_recovery()

    def __init__(self, evaluation: Evaluation[Evidence]) -> None:
        super().__init__(evaluation)
        self.unchecked = [
            [finding.claim.id, finding.claim.statement, finding.why]
            for finding in self.findings
            if not finding.is_judged
        ]

    def families(self) -> Iterator[Row]:
        """Yield the verdicts on the statements of each family."""
        for name, prefixes in FAMILIES.items():
            yield self._counts(name, lambda claim, own=prefixes: claim.id.split("-")[0] in own)

    def bases(self) -> Iterator[Row]:
        """Yield the verdicts on the statements that were read in the same way."""
        for name, is_meant in BASES.items():
            yield self._counts(name, lambda claim, own=is_meant: own(claim.source))

    def _counts(self, name: str, is_meant: Callable[..., bool]) -> Row:
        found = Counter(finding.verdict for finding in self.findings if is_meant(finding.claim))
        return [name, str(found.total()), *(str(found[verdict]) for verdict in VERDICTS)]

    @cached_property
    def law(self) -> str:
        """The windows of CUBIC under periodic loss; empty if they were not measured."""
        return figures.law(self.evidence)

    @cached_property
    def shares(self) -> str:
        """The shares of BBRv1 against CUBIC by buffer; empty if they were not measured."""
        return figures.shares(self.evidence)

    @cached_property
    def _points(self) -> list[tuple[float, float, float, Values, Values, float]]:
        """Rate, round-trip time and buffer of each measured point, the shares here and on Linux hosts, and the model's."""
        found = []
        for mbps, rtt_ms, buffer in WARE:
            try:
                ours = self.evidence.each(ware_key(mbps, buffer), lambda run: run.share("bbr"))
            except NotMeasured:
                continue
            model = figures.predicted_share(mbps, rtt_ms, buffer)
            found.append((mbps, rtt_ms, buffer, ours, bbr_shares(mbps, rtt_ms)[buffer], model))
        return found

    @cached_property
    def against_cubic(self) -> list[Row]:
        """Shares of BBRv1 against CUBIC by the model, on Linux hosts and here."""
        return [
            [f"{mbps:g} Mb/s, {rtt_ms:g} ms", f"{buffer:g}", f"{model:.2f}", _spread(others), _spread(ours)]
            for mbps, rtt_ms, buffer, ours, others, model in self._points
        ]

    def distances(self) -> tuple[float, float]:
        """Return how far the means on Linux hosts are from those here, and from the model, on average."""
        by_ours, by_model = np.mean(
            [
                (abs(ours.mean() - others.mean()), abs(model - others.mean()))
                for *_, ours, others, model in self._points
            ],
            axis=0,
        )
        return float(by_ours), float(by_model)


def _spread(values: Values) -> str:
    return f"{values.mean():.2f} ({values.min():.2f} to {values.max():.2f})"
