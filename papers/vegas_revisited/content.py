"""What the report computes: values, rows and figures that ``report.md`` names.

All numbers are computed from the runs or read from the paper's data.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np

from dumbbell.papers import Evaluation, Settings
from dumbbell.papers.page import PaperPage
from dumbbell.report import Cell
from dumbbell.report.numbers import fixed, number, percent, signed
from dumbbell.report.page import Row

from . import figures
from .assumptions import calibrated, calibration
from .evidence import Evidence
from .plan import replications
from .printed import CELLS, EFFECT_TABLES, TERMS, data, effect_column, foreground_table
from .replay import replay
from .scenarios import BACKGROUNDS, cell_letters
from .table_claims import FOREGROUND, MEAN_TOLERANCE, SHORT

# Claims that depend on the spread between runs, by how their statements begin.
SPREAD_STATEMENTS = (
    "share of the",
    "the row of half-widths",
    "derived: standard deviation",
    "derived: half-width",
)

# Tables I and X: foreground, background and load, with the printed throughput in KB/s.
SHOWN = (
    ("Reno over Reno, high", "reno|reno|high", 16.1),
    ("Vegas over Reno", "vegas|reno|high", 35.1),
    ("Reno over Vegas", "reno|vegas|high", 13.3),
    ("Vegas over Vegas", "vegas|vegas|high", 29.2),
    ("Reno over Reno, WAN", "reno|reno|wan", 15.2),
    ("Vegas' over Reno", "vegasfix|reno|wan", 18.6),
    ("Reno over Vegas'", "reno|vegasfix|wan", 14.7),
    ("Vegas' over Vegas'", "vegasfix|vegasfix|wan", 16.4),
)
WITHIN = {"high": 0.15, "wan": 0.25}
"""Relative distance from print that counts as near, by load."""

POINT = ("background_buffer", "conversation_cap", "size_multiplier", "warm_up_s")
"""What names a point of the calibration's grid."""

FLUID = (0.108, 0.121, 0.150, 0.213, 0.409)
"""Shares of the fluid model: flows join one by one, and each takes the existing queue for part of its base RTT."""

DESIGNS = tuple((load, background) for load in ("low", "high") for background in BACKGROUNDS)


def _shown(value: float | None) -> str:
    """Return a number as short as it is; an empty text for none."""
    return "" if value is None else f"{float(value):g}".replace("-", "−")


def _point(row: Mapping[str, Any]) -> list[str]:
    """Return the cells that name a point of the calibration's grid."""
    return [value if isinstance(value := row[name], str) else f"{value:g}" for name in POINT]


def _near_print(throughputs: Mapping[str, float], load: str) -> int:
    """Return how many of the four means of a load are near print."""
    return sum(
        abs(throughputs[key] / printed - 1) <= WITHIN[load]
        for _, key, printed in SHOWN
        if key.endswith(f"|{load}")
    )


def _background(table: str, foreground: str, column: str) -> str:
    """Return the background of a column in a table of means."""
    if column == "reno":
        return "reno"
    return "vegas" if table in ("I", "II") or foreground == "vegas" else "vegasfix"


class Content(PaperPage):
    """What the report shows."""

    evidence: Evidence
    figures = figures
    topology = staticmethod(figures.topology)

    def __init__(self, settings: Settings, evaluation: Evaluation[Evidence]) -> None:
        super().__init__(evaluation)
        self.runs = replications(settings)
        self.seeds = settings.seeds
        self.calibration = calibration()

    # Claims not reproduced

    def misses_with(self, reason: str) -> int:
        """Return how many misses give a reason."""
        return sum(reason in finding.why for finding in self.missed)

    def misses_on_spread(self) -> int:
        """Return how many misses depend on the spread between runs."""
        claims = [finding.claim for finding in self.missed]
        return sum(
            claim.units == "flag"
            or claim.statement.startswith(SPREAD_STATEMENTS)
            or " explain" in claim.statement
            for claim in claims
        )

    def misses_by_source(self) -> list[Row]:
        """Return the misses of each table and section of the paper, the most first."""
        sources: dict[str, list[str]] = {}
        for finding in self.missed:
            sources.setdefault(finding.claim.source, []).append(finding.claim.id.removeprefix("VR-"))
        ranked = sorted(sources.items(), key=lambda item: -len(item[1]))
        return [[source, str(len(names)), ", ".join(names)] for source, names in ranked]

    @cached_property
    def _deviations(self) -> dict[str, tuple[float, float]]:
        """The standard deviations between runs, ours and the paper's, by column of the tables of effects."""
        found = {}
        for table, background in itertools.product(EFFECT_TABLES, BACKGROUNDS):
            column = effect_column(table, background)
            effects = self.evidence.phases(SHORT[column.metric], column.load, background)
            found[f"{table}, {FOREGROUND[background]}"] = float(effects.s_e[0]), column.s_e()
        return found

    def spreads(self) -> list[Row]:
        """Return the standard deviations beside the paper's."""
        return [
            [name, *(fixed(value, 2) for value in (ours, paper, ours / paper))]
            for name, (ours, paper) in self._deviations.items()
        ]

    def lan_spread(self) -> str:
        """Return the least and the largest ratio of the standard deviations of the LAN to the paper's."""
        lan = [ours / paper for name, (ours, paper) in self._deviations.items() if not name.startswith("XI")]
        return f"{min(lan):.1f} to {max(lan):.1f}"

    def effects_of(self, term: str, load: str) -> str:
        """Return an effect on throughput against both backgrounds, KB/s."""
        found = (self.evidence.phases("thr", load, background) for background in BACKGROUNDS)
        return " and ".join(fixed(float(effects.terms[term][0]), 2) for effects in found)

    def cell_mean(self, cell: str, column: str) -> float:
        """Return the mean of a column of the results in a cell at low load against Reno."""
        return float(np.nanmean(self.evidence.runs(self.evidence.key(f"cell{cell}", "reno", "low"), column)))

    # Set-up and calibration

    def choice(self, name: str) -> str:
        """Return the value chosen for an assumption."""
        value = getattr(calibrated(), name)
        if isinstance(value, bool):
            return "yes" if value else "no"
        if isinstance(value, str):
            return "both on" if value == "HI" else value
        return f"{value:g}"

    def scan(self) -> str:
        """Draw the scan of the calibration."""
        return figures.scan(self.calibration)

    def points(self, name: str) -> list[Row]:
        """Return the points of a scan with their fit."""
        return [
            [*_point(row), fixed(row["throughput"]), fixed(row["retransmitted"]), fixed(row["misfit"], 3)]
            for row in self.calibration[name]
        ]

    @cached_property
    def near_high(self) -> list[Mapping[str, Any]]:
        """The near points with three of four means of Table I at high load near print."""
        return [row for row in self.calibration["near"] if _near_print(row, "high") >= 3]

    @cached_property
    def near_far(self) -> list[Mapping[str, Any]]:
        """The near points with all four means of Table X near print."""
        return [row for row in self.calibration["near"] if _near_print(row, "wan") == 4]

    def near_both(self) -> int:
        """Return how many near points have both."""
        return sum(row in self.near_far for row in self.near_high)

    def means_near_print(self, load: str) -> int:
        """Return how many of the four means of a load are near print with all runs."""
        measured = {key: float(self.evidence.thr(*key.split("|"))[0]) for _, key, _ in SHOWN}
        return _near_print(measured, load)

    def span_of(self, name: str) -> str:
        """Return the least and the largest of a number over the near points."""
        values = [row[name] for row in self.calibration["near"]]
        return f"{min(values):.0f} to {max(values):.0f}"

    def shown_means(self) -> list[str]:
        """Return the headings of the means that near points are compared by."""
        return [name for name, _, _ in SHOWN]

    def near_points(self) -> list[Row]:
        """Return the relative errors of the near points, and the claims that hold with them."""
        chosen = self.calibration["chosen"]
        rows: list[Row] = []
        for row in self.calibration["near"]:
            is_chosen = all(row[name] == chosen[name] for name in POINT)
            rows.append(
                [
                    *(Cell(text=text, tone="strong" if is_chosen else "") for text in _point(row)),
                    fixed(row["misfit"], 3),
                    *(f"{signed(100 * (row[key] / printed - 1), 0)} %" for _, key, printed in SHOWN),
                    *(f"{row[name]:.0f} %" for name in ("orderings", "values")),
                ]
            )
        return rows

    # Means

    def means(self, table: str) -> list[Row]:
        """Return the rows of a table of means; Table XII also has corrected Vegas, which its label means."""
        rows = [self._mean_row(table, foreground) for foreground in foreground_table(table).rows]
        if table == "XII":
            rows.insert(2, self._mean_row("IV", "vegasfix"))
        return rows

    def _mean_row(self, table: str, foreground: str) -> Row:
        printed = foreground_table(table)
        return [
            FOREGROUND[foreground],
            *(
                self._mean_cell(
                    SHORT[printed.metric], foreground, _background(table, foreground, column), load, paper
                )
                for (load, column), paper in zip(printed.columns, printed.rows[foreground], strict=True)
            ),
        ]

    def _mean_cell(self, metric: str, foreground: str, background: str, load: str, paper: float) -> Cell:
        """Return our mean with its interval, and the paper's number."""
        interval = self.evidence.interval(metric, foreground, background, load)
        tolerance = MEAN_TOLERANCE[metric, load]
        return Cell(
            text=f"{interval.estimate:.1f} ± {interval.half_width:.1f}",
            detail=f"paper {paper:.1f}",
            tone="good" if abs(interval.estimate / paper - 1) <= tolerance else "bad",
            hint=f"90 % interval {interval.low:.1f} to {interval.high:.1f}; accepted within {percent(tolerance)}",
        )

    def configurations(self) -> list[Row]:
        """Return one row for each configuration of the tables."""
        return [
            self._configuration(key.removeprefix("table/"))
            for key in self.evidence.names()
            if key.startswith("table/")
        ]

    def _configuration(self, name: str) -> Row:
        foreground, background, load = name.split("|")

        def values(column: str) -> Any:
            return self.evidence.runs(f"table/{name}", column)

        row = [foreground, background, load, str(len(values("throughput")))]
        for metric, column in (("thr", "throughput"), ("rtx", "retransmitted")):
            interval = self.evidence.interval(metric, foreground, background, load)
            row += [
                f"{interval.estimate:.2f}",
                f"{interval.low:.2f} to {interval.high:.2f}",
                f"{values(column).std(ddof=1):.2f}",
            ]
        for column, digits in (
            ("timeouts", 2),
            ("fast_retransmits", 2),
            ("loss_rate", 3),
            ("utilization", 2),
            ("receive_window_limited", 1),
        ):
            row.append(fixed(float(np.nanmean(values(column))), digits))
        return [*row, str(int((values("completed") == 0).sum()))]

    def replayed(self) -> list[Row]:
        """Return Table III by the equations of both versions, with the printed one."""
        printed = data()["table_iii"]
        names = printed["columns"][1:]
        rows: list[Row] = []
        for (event, *paper), released, corrected in zip(
            printed["released"], replay(corrected=False), replay(corrected=True), strict=True
        ):
            cells = []
            for name, value in zip(names, paper, strict=True):
                ours = getattr(released, name)
                if value == "":
                    cells.append(Cell(text=_shown(ours)))
                    continue
                same = ours is not None and float(ours) == float(value)
                cells.append(
                    Cell(text=_shown(ours), detail=f"paper {value:g}", tone="good" if same else "bad")
                )
            rows.append([str(event), *cells, *(_shown(getattr(corrected, name)) for name in names)])
        return rows

    # Effects

    def effects(self, table: str) -> list[Row]:
        """Return the rows of a table of effects."""
        columns = [effect_column(table, background) for background in BACKGROUNDS]
        pairs = [
            (column, self.evidence.phases(SHORT[column.metric], column.load, column.background))
            for column in columns
        ]
        means: list[Cell | str] = ["mean"]
        errors: list[Cell | str] = ["error"]
        for printed, ours in pairs:
            mean = Cell(text=fixed(float(ours.terms["mean"][0]), 2), tone="strong")
            means += [mean, fixed(printed.effect["mean"], 2), "", "", ""]
            share = f"{float(ours.percent['error'][0]):.2f}"
            errors += ["", "", share, f"{printed.percent['error']:.2f}", ""]
        rows: list[Row] = [means]
        for term in TERMS:
            row: list[Cell | str] = [term]
            for printed, ours in pairs:
                value = float(ours.terms[term][0])
                limits = float(ours.hw_one_sided[0]), float(ours.hw_two_sided[0])
                marks = [term in printed.not_significant, *(abs(value) <= limit for limit in limits)]
                row += [
                    Cell(text=fixed(value, 2), tone="strong"),
                    fixed(printed.effect[term], 2),
                    f"{float(ours.percent[term][0]):.2f}",
                    f"{printed.percent[term]:.2f}",
                    " ".join("n" if mark else "·" for mark in marks),
                ]
            rows.append(row)
        rows.append(errors)
        widths: list[list[Cell | str]] = [
            ["half-width, quantile 0.90"],
            ["half-width, quantile 0.95"],
            ["s_e"],
        ]
        for printed, ours in pairs:
            measured = (ours.hw_one_sided, ours.hw_two_sided, ours.s_e)
            papers = (printed.half_width, 1.6487 * printed.s_q(), printed.s_e())
            for row, values, paper in zip(widths, measured, papers, strict=True):
                row += [f"{float(values[0]):.2f}", f"{paper:.2f}", "", "", ""]
        return [*rows, *widths]

    def residuals(self, table: str) -> str:
        """Return the tests of the errors in a table of effects."""
        checks = []
        for background in BACKGROUNDS:
            column = effect_column(table, background)
            analysis = self.evidence.analysis(SHORT[column.metric], column.load, background)
            normal, constant = analysis.normality(), analysis.constant_variance()
            checks.append(
                f"{FOREGROUND[background]} background p = {normal.p_value:.2g} for normal errors ({normal.test}), "
                f"p = {constant.p_value:.2g} for equal variances ({constant.test})"
            )
        return " | ".join(checks)

    def seven(self, metric: str) -> list[Row]:
        """Return the main effects of the seven-factor designs, and the sums of the other shares."""
        designs = [self.evidence.seven(metric, *where) for where in DESIGNS]
        rows: list[list[Cell | str]] = [
            [name] for name in (*"ABCDEFG", "all interactions", "error", "half-width, 0.95")
        ]
        for design in designs:
            half = float(design.half_width[0])
            for row, letter in zip(rows, "ABCDEFG", strict=False):
                effect = float(design.terms[letter][0])
                row += [
                    Cell(text=fixed(effect, 2), tone="muted" if abs(effect) <= half else ""),
                    f"{float(design.percent[letter][0]):.1f}",
                ]
            together = sum(float(values[0]) for term, values in design.percent.items() if "_" in term)
            rows[-3] += ["", f"{together:.1f}"]
            rows[-2] += ["", f"{float(design.percent['error'][0]):.1f}"]
            rows[-1] += [f"{half:.2f}", ""]
        return list(rows)

    def largest_interactions(self) -> list[Row]:
        """Return the five largest interactions on throughput of each seven-factor design."""
        rows: list[Row] = []
        for load, background in DESIGNS:
            design = self.evidence.seven("thr", load, background)
            shares = {term: float(share[0]) for term, share in design.percent.items() if "_" in term}
            ranked = sorted(shares, key=shares.__getitem__, reverse=True)[:5]
            texts = (
                f"{term.replace('_', '')} {fixed(float(design.terms[term][0]), 2)} ({shares[term]:.1f} %)"
                for term in ranked
            )
            rows.append([f"{load}, {background}", ", ".join(texts)])
        return rows

    def recovery_shares(self, background: str) -> Mapping[str, float]:
        """Return the variation that recovery explains at high load, %: its algorithms alone, with interactions, and as one."""
        shares = {
            term: float(share[0])
            for term, share in self.evidence.seven("thr", "high", background).percent.items()
            if term != "error" and set(term.split("_")) <= set("CDEF")
        }
        phases = self.evidence.phases("thr", "high", background)
        return {
            "alone": sum(shares[letter] for letter in "CDEF"),
            "together": sum(shares.values()),
            "as_one": float(phases.percent["rec"][0]),
        }

    @cached_property
    def ten(self) -> Any:
        """The shares of variation of the effects of the ten-factor design, %."""
        return self.evidence.ten_percent()

    # Fig. 2, and recoveries

    @property
    def five(self) -> Mapping[str, Any]:
        """What was observed of the five connections of Fig. 2, by run and connection."""
        observed: Mapping[str, Any] = self.evidence.observation("figure_2")
        return observed

    def figure_2(self) -> str:
        """Draw Fig. 2."""
        return figures.figure_2(self.five)

    def five_connections(self) -> list[Row]:
        """Return the averages of the five connections, and the thresholds that follow from their round-trip times."""
        rows: list[Row] = []
        for index, fluid in enumerate(FLUID):
            means = {
                name: float(self.five[name][:, index].mean())
                for name in ("window", "share", "base_rtt", "rtt", "queued")
            }
            queueing = 1 - means["base_rtt"] / means["rtt"]
            rows.append(
                [
                    str(index + 1),
                    fixed(means["window"], 2),
                    fixed(means["share"], 3),
                    fixed(fluid, 3),
                    fixed(1000 * means["base_rtt"]),
                    fixed(1000 * means["rtt"]),
                    fixed(means["queued"], 2),
                    fixed(3 / queueing),
                    fixed(1 / queueing),
                ]
            )
        return rows

    def recoveries(self) -> list[Row]:
        """Return the timeouts and recoveries of every cell of the three-factor design."""
        return [
            self._recovery(*where) for where in itertools.product(("low", "high", "wan"), BACKGROUNDS, CELLS)
        ]

    def _recovery(self, load: str, background: str, cell: str) -> Row:
        key = self.evidence.key(f"cell{cell}", background, load)

        def mean(column: str) -> float:
            values = self.evidence.runs(key, column)
            return float(np.nanmean(values)) if not np.isnan(values).all() else float("nan")

        timeouts = mean("timeouts")
        return [
            load,
            background,
            f"{cell} {cell_letters(cell)}",
            f"{mean('first_slow_start_losses'):.2f}",
            f"{mean('first_slow_start_timeouts'):.2f}",
            f"{timeouts:.2f}",
            percent(mean("timeouts_multiple_loss") / timeouts) if timeouts else "",
            f"{mean('fast_retransmits'):.2f}",
            number(mean("recovery_wait_rtts")),
            number(mean("cwnd_after_recovery")),
        ]

    # Inconsistencies

    def printed_gains(self) -> str:
        """Return by how much corrected Vegas is faster than Reno in Table X, % against both backgrounds."""
        rows = foreground_table("X").rows
        gains = (fixed_ / reno - 1 for fixed_, reno in zip(rows["vegasfix"], rows["reno"], strict=True))
        return " and ".join(f"{100 * gain:.0f}" for gain in gains)

    def printed_share(self, table: str, background: str, term: str) -> float:
        """Return a printed share of variation, %."""
        return effect_column(table, background).percent[term]

    def printed_ca(self) -> float:
        """Return the printed effect of ca with ss on, at high load against Vegas, KB/s."""
        effect = effect_column("VII", "vegasfix").effect
        return effect["ca"] + effect["ss_ca"]

    def measured_ca(self) -> float:
        """Return our effect of ca with ss on, at high load against Vegas, KB/s."""
        terms = self.evidence.phases("thr", "high", "vegasfix").terms
        return float(terms["ca"][0] + terms["ss_ca"][0])
