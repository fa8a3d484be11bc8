"""Values, rows and figures of the report, which `report.md` and, for runs in real time, `testbed.md` name.

All numbers in the text are computed from the runs or read from the paper's data.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

import numpy as np
from scipy import stats

from dumbbell import statistics
from dumbbell.papers import Evaluation
from dumbbell.papers.page import PaperPage, choices
from dumbbell.papers.real_time import absent, origin_of
from dumbbell.report import Block, Cell, Section
from dumbbell.report.numbers import fixed, signed
from dumbbell.report.page import Row

from . import figures, hops_claims, lossy_claims, many_flows_claims, printed, rules
from .assumptions import VARIATIONS, Assumptions
from .connection_claims import BUSY
from .evidence import Evidence, Values
from .figures import NAMES
from .live_claims import NAMES as SITE_NAMES
from .plan import LOSSY_VARIANTS, VARIANTS
from .sensitivity import GROUPS, table_1_goodput, worst_miss
from .uploads import Session, sessions

# A cell of Table I is reproduced if it is within a tenth of the paper's number.
NEAR = 0.10

# The points that the text names: numbers of connections, and of hops.
LOADS = (10, 60, 200)
HOPS = (1, 3, 4, 5, 6)

# Time that a packet takes on the link of 10 Mbit/s, ms.
TRANSMISSION_MS = 1.2


class Content(PaperPage):
    """What the report shows.

    Parameters
    ----------
    evaluation
        The evaluated claims, with the runs under the main reading and the results of all others.
    runs_of_readings
        Number of runs of the single connection under each varied assumption.
    name
        Name of the Markdown file.
    """

    evidence: Evidence
    figures = figures
    chosen = choices(Assumptions())
    network = staticmethod(figures.network)
    counting_cases = staticmethod(rules.worked_cases)
    sites = printed.SITES
    site_names = SITE_NAMES
    printed_site = staticmethod(printed.site)

    def __init__(
        self,
        evaluation: Evaluation[Evidence],
        *,
        runs_of_readings: int = 0,
        name: str = "report.md",
    ) -> None:
        super().__init__(evaluation, name=name)
        self.runs_of_readings = runs_of_readings
        self.origin = origin_of(self.evidence.linux)

    def moved(self) -> list[Block]:
        """Return the effect of each move, by group of experiments."""
        return self.moves.moved(groups={group: f"Readings: {words}" for group, (words, _) in GROUPS.items()})

    def live(self) -> list[Section]:
        """Return the section on the live measurements, with the uploads of the kernel."""
        return Content(self.evaluation, name="testbed.md").sections()

    def _under(self, reading: str) -> Evidence:
        return Evidence(self.evidence.results, reading) if reading else self.evidence

    # The rules.

    def counted_by_engine(self) -> tuple[float, float]:
        """Return the segments that the engine counted, and those that were acknowledged."""
        return rules.counted_by_engine(self.evidence.runs("alg/counting").iloc[0])

    # Table I.

    def has_table_1(self, reading: str) -> bool:
        """Return whether the runs of Table I were made under a reading."""
        return "table-1/newreno" in self._under(reading).counts()

    def busy(self, variant: str, reading: str = "") -> float:
        """Return the mean goodput while the reverse path is busy, Mbit/s."""
        return table_1_goodput(self._under(reading), variant, BUSY)

    def first(self, variant: str, reading: str = "") -> float:
        """Return the mean goodput in the first interval, Mbit/s."""
        return table_1_goodput(self._under(reading), variant, (0,))

    def worst(self, reading: str = "") -> float:
        """Return the largest error of a cell, %."""
        return worst_miss(self._under(reading))

    def printed(self, variant: str, interval: int) -> float:
        """Return a cell as printed, Mbit/s."""
        return printed.table_1(variant)[interval]

    def printed_lead(self, interval: int) -> float:
        """Return the goodput of Westwood+ over that of New Reno as printed."""
        return self.printed("westwoodp", interval) / self.printed("newreno", interval)

    def orders(self) -> tuple[int, int, int]:
        """Return in how many readings the variants are in the paper's order while the reverse path is busy.

        First those where Westwood+ has at least New Reno's goodput, then those where both have at least three times the
        goodput of Vegas, then all that were run.
        """
        readings = [
            name for name in ("", *(variation.name for variation in VARIATIONS)) if self.has_table_1(name)
        ]
        means = [
            [self.busy(variant, name) for variant in ("westwoodp", "newreno", "vegas")] for name in readings
        ]
        ahead = sum(west >= reno for west, reno, _ in means)
        thrice = sum(min(west, reno) >= 3 * vegas for west, reno, vegas in means)
        return ahead, thrice, len(means)

    def table_1(self) -> Iterator[Row]:
        """Yield the goodputs of the single connection beside the paper's."""
        for variant in VARIANTS:
            measured = self.evidence.stacked(f"table-1/{variant}", "intervals")
            yield [NAMES[variant], *map(_beside, measured.T, printed.table_1(variant))]

    def table_1_by_reading(self) -> Iterator[Row]:
        """Yield the goodputs of the single connection under each reading."""
        labels = {"": "main reading"} | {variation.name: variation.label for variation in VARIATIONS}
        for name, label in labels.items():
            if not self.has_table_1(name):
                continue
            cells = [
                Cell(text=fixed(mean, 2), tone=_tone(mean, paper))
                for variant in VARIANTS
                for mean, paper in zip(
                    self._under(name).stacked(f"table-1/{variant}", "intervals").mean(axis=0),
                    printed.table_1(variant),
                    strict=True,
                )
            ]
            yield [label, *cells, f"{self.worst(name):.0f} %"]

    # Figs. 12 to 16.

    def final_sequence_numbers(self) -> Iterator[Row]:
        """Yield the smallest and the largest final sequence number of each variant."""
        for variant in ("newreno", "westwoodp", "vegas"):
            segments = self.evidence.stacked(f"fig-12/{variant}/20", "segments")
            ends = segments.min(axis=1), segments.max(axis=1)
            means = [float(values.mean()) for values in ends]
            details = ["", ""]
            if variant != "vegas":
                details = [
                    f"paper {paper:.0f}, {signed(100 * (mean / paper - 1))} %"
                    for mean, paper in zip(means, printed.final_sequence_numbers(variant), strict=True)
                ]
            cells = [
                Cell(text=fixed(mean, 0), detail=detail) for mean, detail in zip(means, details, strict=True)
            ]
            yield [NAMES[variant], *cells, fixed(float((ends[1] / ends[0]).mean()), 2)]

    def loads(self) -> list[int]:
        """Return the numbers of connections that the text names, of those that were run."""
        return [count for count in many_flows_claims.flows(self.evidence) if count in LOADS]

    def waiting_ms(self, count: int) -> float:
        """Return the mean queueing time with so many connections of New Reno, ms."""
        backlogs = self.evidence.stacked(f"fig-12/newreno/{count}", "backlogs")[:, 0]
        return float(backlogs.mean()) * TRANSMISSION_MS

    def timeouts(self, count: int) -> float:
        """Return the mean timeouts of each of so many connections of New Reno."""
        return float(self.evidence.total(f"fig-12/newreno/{count}", "timeouts").mean()) / count

    # Figs. 18 to 25.

    def over_hops(self, *variants: str) -> str:
        """Return the goodput of the better of some variants over the hops that the text names, each with itself, Mbit/s."""
        best = {
            count: max(
                float(hops_claims.goodput(self.evidence, variant, variant, count).mean())
                for variant in variants
            )
            for count in hops_claims.hop_counts(self.evidence)
            if count in HOPS
        }
        return ", ".join(f"{goodput:.2f} over {count}" for count, goodput in best.items())

    # Figs. 27 to 32.

    def dwell_times(self, figure: str) -> list[str]:
        """Return the dwell times of the bad state that were run, ms."""
        return lossy_claims.bad_ms(self.evidence, f"fig-{figure}")

    def least_felt_ms(self) -> float:
        """Return the dwell time from which claims on fig. 32 are judged, ms."""
        return lossy_claims.least_felt_ms()

    def gains(self, figure: str, acks: str, reading: str = "") -> Values:
        """Return the gains of Westwood+ by other variant and dwell time, %."""
        return lossy_claims.gains(self._under(reading), f"fig-{figure}", acks)

    def channels(self) -> list[tuple[str, str]]:
        """Return name and description of the other readings of the channel, of those that were run."""
        return [
            (variation.name, variation.label)
            for variation in VARIATIONS
            if variation.name in ("polled", "timed")
            and any(key.startswith("fig-27") for key in self._under(variation.name).counts())
        ]

    def goodputs(self, figure: str, acks: str) -> Iterator[Row]:
        """Yield the mean goodputs of a figure by dwell time, with the gains of Westwood+."""
        variants = [variant for variant, own in LOSSY_VARIANTS if own == acks]
        runs = [lossy_claims.goodputs(self.evidence, f"fig-{figure}", name, acks) for name in variants]
        for point, *values in zip(self.dwell_times(figure), *runs, strict=True):
            west, *others = (float(each.mean()) for each in values)
            cells = [
                Cell(text=fixed(mean, 2), detail=f"{signed(100 * (west / mean - 1), 0)} % for Westwood+")
                for mean in others
            ]
            yield [point, fixed(west, 2), *cells]

    # Section 4.

    @cached_property
    def _kernel(self) -> Mapping[str, list[Session]]:
        return {site: sessions(self.evidence.kernel, site) for site in printed.SITES}

    @cached_property
    def absent(self) -> str:
        """Why there are no uploads of the kernel to show; empty if there are."""
        return absent("westwood-plus", self.evidence.linux, lambda: self._kernel)

    def gain_range(self, site: str, cause: str) -> str:
        """Return the gains of Westwood+ over a path with a cause of losses."""
        gained = [session.gain.estimate for session in self._kernel[site] if session.cause == cause]
        ends = dict.fromkeys((min(gained), max(gained)))
        return f"{' to '.join(signed(gain, 0) for gain in ends)} %"

    def rank_correlation(self) -> float:
        """Return the rank correlation of gain and pipe over all sessions."""
        every = [session for found in self._kernel.values() for session in found]
        pipes = np.array([session.pipe for session in every])
        gained = np.array([session.gain.estimate for session in every])
        return float(stats.spearmanr(pipes, gained).statistic)

    def uploads(self) -> Iterator[Row]:
        """Yield the uploads of the kernel by path and cause, beside those of the simulator and the printed ranges."""
        for name, found in self._kernel.items():
            site = printed.site(name)
            path, gain, pipe = (
                f"{SITE_NAMES[name]}, {site.rtt_ms:g} ms",
                f"{signed(site.gain[0], 0)} to {signed(site.gain[1], 0)}",
                f"{site.pipe[0]:g} to {site.pipe[1]:g}",
            )
            twins = {(one.cause, one.level): one for one in sessions(self.evidence, name)}
            for session in found:
                simulated = twins[session.cause, session.level]
                yield [
                    path,
                    f"{100 * session.level:g} % losses"
                    if session.cause == "random"
                    else f"{session.level:g} other connections",
                    fixed(session.newreno, 3),
                    fixed(session.westwoodp, 3),
                    Cell(
                        text=signed(session.gain.estimate, 0),
                        detail=f"{signed(session.gain.low, 0)} to {signed(session.gain.high, 0)}",
                    ),
                    Cell(text=signed(simulated.gain.estimate, 0), tone="muted"),
                    gain,
                    " / ".join(f"{100 * share:.1f}" for share in session.retransmissions),
                    fixed(session.pipe),
                    pipe,
                    str(session.pairs),
                ]
                path = gain = pipe = ""

    def printed_sessions(self, name: str) -> Iterator[Row]:
        """Yield the sessions with a server as printed."""
        site = printed.site(name)
        for date, uploads, megabytes in zip(site.dates, site.uploads, site.megabytes, strict=True):
            yield [date, str(uploads), f"{megabytes:g}"]


def _tone(mean: float, paper: float) -> Any:
    return "good" if abs(mean / paper - 1) <= NEAR else "bad"


def _beside(values: Values, paper: float) -> Cell:
    """Return the mean of some runs, with its miss of the paper's number and its interval."""
    mean = float(values.mean())
    detail = f"paper {paper:.2f}, {signed(100 * (mean / paper - 1))} %"
    if values.size > 1:
        detail += f", ±{statistics.mean_interval(values).half_width:.3f}"
    return Cell(text=fixed(mean, 2), detail=detail, tone=_tone(mean, paper))
