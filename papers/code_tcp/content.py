"""Values, rows and figures of the report, which `report.md` and, for runs in real time, `testbed.md` name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from dumbbell.claims import Finding
from dumbbell.models import code_tcp
from dumbbell.papers import Evaluation
from dumbbell.papers.page import PaperPage
from dumbbell.papers.real_time import absent, origin_of
from dumbbell.report import Block, Cell, Column, Details, Section, Table
from dumbbell.report.numbers import fixed, number, percent
from dumbbell.report.page import Row
from dumbbell.statistics import Interval

from . import figures
from .assumptions import BASE, LITERAL_GROUP, Variation
from .cycles import shared_losses
from .evidence import Evidence, Values
from .figures import LABELS, epsilon_ratio
from .linux import EACH_ACKNOWLEDGED, KINDS, UPLOADS
from .network import VARIANTS
from .printed import COLUMNS, data, interval
from .rules import Round, table1
from .scenarios import EPSILONS, PHASE_RATES, PHASES, START_SIZES
from .sensitivity import Moved, nearest
from .sweep_claims import fairness, lead, reno_against_reno
from .table_claims import FIELDS
from .testbed_claims import queued, ratio_to_reno
from .uploads import rates, share_ratios
from .window_claims import rising_slopes

FIGURES = {
    "Fig. 9": "fig9",
    "Figs. 10-13 (a)": "rtt-a",
    "Figs. 10-13 (b)": "rtt-b",
    "Fig. 14": "fig14",
    "Fig. 15": "fig15",
}
"""The figures with a ratio to Reno of every variant."""

OVERFLOWS = {
    "NewVegas and Reno, nothing random": "base/fig3-quiet",
    "CODE and Reno, nothing random": "base/fig5-quiet",
    "CODE and Reno, cross traffic": "base/fig5",
}
"""The runs whose overflows are counted."""

HOMOGENEOUS = ("code", "newvegas", "vegas")
"""The variants of Table 2."""

UNKNOWN = "No cause was found."
UNTRIED = "No variation was run on it in this reproduction."


def _limits(ratio: Interval) -> str:
    return f"{ratio.estimate:.2f} [{ratio.low:.2f}, {ratio.high:.2f}]"


def _span(values: Sequence[float], digits: int) -> str:
    low, high = f"{min(values):.{digits}f}", f"{max(values):.{digits}f}"
    return low if low == high else f"{low} to {high}"


def _shown(values: Values, digits: int = 0) -> Cell:
    found = interval(values)
    return Cell(text=f"{found.estimate:.{digits}f}", detail=f"± {found.half_width:.{digits}f}")


def _holds(finding: Finding) -> Cell:
    held = bool(finding.holds)
    return Cell(text="yes" if held else "no", tone="good" if held else "bad", hint=finding.why)


def _replayed(rounds: Sequence[Round], name: str) -> Row:
    """Return a row of Table 1 by the rule, with the printed one."""
    printed = data()["table1"]
    row: list[Cell | str] = [name]
    for column, one in enumerate(rounds):
        ours, theirs = f"{getattr(one, FIELDS[name][0]):g}", f"{printed[name][column]:g}"
        if name in ("alpha", "beta"):
            step, stated = getattr(one, FIELDS[f"{name}_inc"][0]), printed[f"{name}_inc"][column]
            ours += f" + {step:g}" if step else ""
            theirs += f" + {stated:g}" if stated else ""
        row.append(Cell(text=ours, detail=f"paper {theirs}", tone="good" if ours == theirs else "bad"))
    return row


class Content(PaperPage):
    """What the report shows.

    Parameters
    ----------
    evaluation
        The evaluated claims, with the runs under the main reading and the results of all others.
    in_figure_9
        See `sensitivity.in_figure_9`.
    name
        Name of the Markdown file.
    """

    evidence: Evidence
    chosen = BASE
    epsilons = EPSILONS
    labels = LABELS
    phase_rates = PHASE_RATES
    roots = code_tcp.epsilon_roots()
    nearest = staticmethod(nearest)
    limits = staticmethod(_limits)
    span = staticmethod(_span)

    def __init__(
        self,
        evaluation: Evaluation[Evidence],
        in_figure_9: Sequence[Moved] = (),
        *,
        name: str = "report.md",
    ) -> None:
        super().__init__(evaluation, name=name)
        self.in_figure_9 = in_figure_9
        self._causes: dict[str, str] = {}

    def figure(self, name: str, *options: str) -> str:
        """Draw a figure of `figures`, of the main reading or of another group of runs."""
        draw: Callable[[Evidence], str] = getattr(figures, name)
        return draw(replace(self.evidence, group=options[0]) if options else self.evidence)

    def ratios_of(self, name: str) -> Mapping[str, Interval]:
        """Return the ratios of Fig. 9 with a variation; empty if it was not run."""
        found = (ratio for move, ratio in self.in_figure_9 if move.variation and move.variation.name == name)
        return next(found, {})

    def ratios_figure(self) -> str:
        """Draw the ratios of Fig. 9 under each reading."""
        return figures.readings(self.in_figure_9)

    @staticmethod
    def network(times: str) -> str:
        """Draw the network with equal or different round-trip times."""
        equal, different = figures.networks()
        return equal if times == "equal" else different

    # Fig. 9 and its readings

    def each(self, ratios: Mapping[str, Interval]) -> str:
        """Return the ratio of every variant with its interval."""
        return "; ".join(f"{LABELS[kind]} {_limits(ratios[kind])}" for kind in VARIANTS)

    @property
    def pooled(self) -> Mapping[str, Interval]:
        """The ratio to Reno of every variant over all rates of Fig. 9."""
        return {kind: self.evidence.pooled("fig9", kind) for kind in VARIANTS}

    @property
    def ahead(self) -> float:
        """By how much CODE is nearer to an equal share than the next variant; negative if another is nearer."""
        return lead(self.evidence, "fig9")[0]

    @property
    def known(self) -> list[tuple[str, str]]:
        """The other readings tried on Fig. 9, each with the variant nearest to an equal share."""
        return [
            (move.label, nearest(ratios)) for move, ratios in self.in_figure_9 if move.variation is not None
        ]

    @property
    def others(self) -> list[str]:
        """The readings under which another variant than CODE is nearest to an equal share."""
        return [label for label, kind in self.known if kind != "code"]

    def quiet_span(self, kind: str) -> str:
        """Return the least and the largest mean ratio of a variant over the rates of Fig. 9 without cross traffic."""
        means = replace(self.evidence, group="quiet").means("fig9", kind)
        return f"{means.min():.2f} to {means.max():.2f}"

    def intervals(self) -> list[Row]:
        """Return the ratio to Reno of every variant in every figure, computed in three ways."""
        rows: list[Row] = []
        for title, figure in FIGURES.items():
            far = self.evidence.distances(figure)
            first = min(far, key=far.__getitem__)
            for kind in VARIANTS:
                pooled, points = (
                    self.evidence.pooled(figure, kind),
                    self.evidence.over_points(figure, kind),
                )
                swept = (
                    self.evidence.goodputs(figure, kind, point) for point in self.evidence.swept(figure, kind)
                )
                sums = np.sum([[part.sum() for part in goodputs] for goodputs in swept], axis=0)
                rows.append(
                    [
                        title if kind == VARIANTS[0] else "",
                        Cell(text=LABELS[kind], tone="strong" if kind == first else ""),
                        f"{pooled.estimate:.3f}",
                        f"{pooled.low:.3f} to {pooled.high:.3f}",
                        f"{points.low:.3f} to {points.high:.3f}",
                        f"{sums[0] / sums[1]:.3f}",
                    ]
                )
        return rows

    def ratios_by_reading(self) -> list[Row]:
        """Return the ratios of Fig. 9 under every reading."""
        rows: list[Row] = []
        for move, ratios in self.in_figure_9:
            first = nearest(ratios)
            rows.append(
                [
                    Cell(text=move.label, tone="strong" if move.variation is None else ""),
                    *(
                        Cell(
                            text=f"{ratios[kind].estimate:.2f}",
                            detail=f"{ratios[kind].low:.2f} to {ratios[kind].high:.2f}",
                            tone="good" if kind == "code" == first else "bad" if kind == first else "",
                        )
                        for kind in VARIANTS
                    ),
                    LABELS[first],
                ]
            )
        return rows

    # Causes of the shares

    def _phase_ratio(self, kind: str, rate: int, times: tuple[float, float]) -> float:
        """Return the mean ratio of a connection to Reno with base round-trip times that hardly differ."""
        runs = self.evidence.all_runs(f"phase/{kind}/{rate}/{times[0]:g}-{times[1]:g}")
        return float(np.mean([run.one("goodput", "variant") / run.one("goodput", "reno") for run in runs]))

    def phase_span(self, kind: str) -> str:
        """Return the least and the largest ratio of a connection to Reno over the phases."""
        ratios = [self._phase_ratio(kind, rate, times) for rate in PHASE_RATES for times in PHASES]
        return f"{min(ratios):.2f} and {max(ratios):.2f}"

    def phases(self) -> list[Row]:
        """Return how the shares in a network without anything random depend on a millisecond of the round-trip time."""
        return [
            [
                f"{times[0]:g} ms, {times[1]:g} ms",
                *(
                    f"{self._phase_ratio(kind, rate, times):.2f}"
                    for kind in ("reno", "code")
                    for rate in PHASE_RATES
                ),
            ]
            for times in PHASES
        ]

    @property
    def ordered(self) -> float | None:
        """Share of points without cross traffic at which, of two Reno connections, the one with the shorter time gets more."""
        move = self.moves.named("quiet")
        found = () if move is None else move.findings
        return next((finding.measured for finding in found if finding.claim.id == "C-F13-4"), None)

    def share_in_order(self) -> float:
        """Return the same share with cross traffic and processing times."""
        short, long = (reno_against_reno(self.evidence, panel)[1:] for panel in ("rtt-a", "rtt-b"))
        return float(np.mean(np.concatenate([short > 1, long < 1])))

    def overflows(self) -> list[Row]:
        """Return how overflows hit the two connections of Figs. 3 and 5."""
        rows: list[Row] = []
        for title, key in OVERFLOWS.items():
            runs = self.evidence.all_runs(key)
            losses = np.sum([shared_losses(run) for run in runs], axis=0)
            total = losses.sum()
            ratio = interval([run.one("goodput", "variant") / run.one("goodput", "reno") for run in runs])
            shares = (percent(count / total) for count in losses)
            rows.append([title, f"{total / len(runs):.1f}", *shares, _limits(ratio)])
        return rows

    # The scoreboard under each reading

    @cached_property
    def readings_of_code(self) -> Mapping[str, float]:
        """The ratio of CODE to Reno in Fig. 9 under both readings."""
        return {
            name: replace(self.evidence, group=group).pooled("fig9", "code").estimate
            for name, group in (("main", "base"), ("literal", LITERAL_GROUP))
        }

    def kernel_code(self, side: str = "kernel") -> list[float]:
        """Return the mean ratio of CODE to Reno at each rate of Fig. 19, with the kernel or the simulator."""
        each = self.evidence.kernel if side == "kernel" else self.evidence.kernel_simulated
        return [float(each.ratios("fig19", "code", rate).mean()) for rate in self.kernel_rates()]

    def nearer_reading(self) -> str:
        """Return the reading whose ratio is nearer to that of the kernel."""
        kernel = self.kernel_code()
        return min(
            self.readings_of_code,
            key=lambda name: abs(self.readings_of_code[name] - sum(kernel) / len(kernel)),
        )

    # Figures in the paper's order

    def slopes(self) -> tuple[float, float]:
        """Return how CODE and Reno grow from CODE's lowest window on in Fig. 5, packets per round trip."""
        return rising_slopes(self.evidence)

    def replayed(self) -> list[Row]:
        """Return Table 1 by the rule, with the printed one."""
        rounds = table1()
        return [_replayed(rounds, name) for name in ("Wold", "alpha", "beta", "Delta", "W")]

    def at_epsilon(self, value: float) -> float:
        """Return the measured ratio of CODE to Reno at an epsilon."""
        return epsilon_ratio(self.evidence, value).estimate

    @staticmethod
    def in_model(value: float) -> float:
        """Return the ratio of CODE to Reno at an epsilon by the model."""
        return float(np.asarray(code_tcp.throughput_ratio(value)))

    def largest_alone(self) -> float:
        """Return the mean of the largest windows of a single CODE connection in the first 50 s of Fig. 17, packets."""
        runs = self.evidence.traced("fig17-code")
        return float(np.mean([run.trace("cwnd", "first").between(0.0, 50.0).value.max() for run in runs]))

    def table_2(self) -> list[Row]:
        """Return Table 2, measured and printed, with the deterministic runs."""
        printed = data()["table2"]
        rows: list[Row] = []
        for place, rate in enumerate(printed["rates"]):
            row: list[Cell | str] = [f"{rate}"]
            for kind in HOMOGENEOUS:
                found, paper = interval(fairness(self.evidence, kind, rate)), printed[kind][place]
                row.append(
                    Cell(
                        text=f"{found.estimate:.3f}",
                        detail=f"paper {paper:.2f}",
                        tone="good" if abs(found.estimate - paper) <= 0.03 else "bad",
                        hint=f"95 % interval {found.low:.3f} to {found.high:.3f}",
                    )
                )
            for kind in HOMOGENEOUS:
                alone = self.evidence.all_runs(f"together/{kind}/{rate}")[0].of("goodput", "variant")
                index = alone.sum() ** 2 / (alone.size * (alone**2).sum())
                row.append(Cell(text=f"{index:.3f}", tone="muted"))
            rows.append(row)
        return rows

    def transfers(self) -> list[Row]:
        """Return how long short transfers take."""
        rows: list[Row] = []
        for size in START_SIZES:
            times = (
                [run.one("completion", "short") for run in self.evidence.short(kind, size, place)]
                for place in ("alone", "beside")
                for kind in ("reno", "code")
            )
            rows.append([f"{size} kB", *(f"{np.mean(each):.2f}" for each in times)])
        return rows

    # Claims not reproduced

    def cause(self, name: str, caller: Callable[[], str]) -> str:
        """Keep which rule or reading is at fault if a claim is not reproduced."""
        self._causes[name] = " ".join(caller().split())
        return ""

    @cached_property
    def missed_orderings(self) -> list[Finding]:
        """The orderings, signs and shapes that are not reproduced."""
        return [
            finding
            for finding in self.findings
            if finding.counts
            and finding.holds is False
            and finding.claim.kind in ("ordering", "sign", "shape")
        ]

    def turned_by(self, name: str) -> list[str]:
        """Return the claims that a variation turns."""
        move = self.moves.named(name)
        return [] if move is None else [finding.claim.id for finding in [*move.lost, *move.gained]]

    def _tried(self, name: str) -> list[tuple[Variation, Finding, Finding]]:
        """Return each variation that a claim was judged with, and the finding before and after."""
        return [
            (move.variation, before, after)
            for move in self.moves.varied
            if move.variation is not None
            for before, after in move.judged
            if after.claim.id == name
        ]

    def orderings(self) -> list[Row]:
        """Return the missed orderings with their causes, and the variations with which they hold."""
        rows: list[Row] = []
        for finding in self.missed_orderings:
            name = finding.claim.id
            tried = self._tried(name)
            holding = "; ".join(variation.label for variation, _, after in tried if after.holds)
            if holding:
                by_chance = self.moves.is_explained and name not in self.moves.explained
                holding = f": {holding}{' (not beyond chance)' if by_chance else ''}"
            count = sum(bool(after.holds) for _, _, after in tried)
            rows.append(
                [
                    name,
                    finding.claim.statement,
                    number(finding.measured),
                    self._causes.get(name, UNKNOWN),
                    f"{count} of {len(tried)}{holding}" if tried else UNTRIED,
                ]
            )
        return rows

    def variations(self) -> list[Block]:
        """Return what each variation does to each missed ordering."""
        tried = ((finding, self._tried(finding.claim.id)) for finding in self.missed_orderings)
        return [self._variations(finding, found) for finding, found in tried if found]

    @staticmethod
    def _variations(finding: Finding, tried: Sequence[tuple[Variation, Finding, Finding]]) -> Details:
        chosen = tried[0][1]
        rows: list[Row] = [
            [Cell(text="none", tone="strong"), "as chosen", "", number(chosen.measured), _holds(chosen)]
        ]
        rows += [
            [variation.assumption, variation.value, variation.text, number(after.measured), _holds(after)]
            for variation, _, after in tried
        ]
        return Details(
            title=f"{finding.claim.id}: {len(tried)} variations",
            blocks=[
                Table(
                    caption=f"{finding.claim.statement}; {finding.claim.rule()}",
                    columns=[
                        Column(title="assumption", align="left"),
                        Column(title="varied to", align="left"),
                        Column(title="the paper's text", align="left"),
                        Column(title="measured"),
                        Column(title="holds", align="left"),
                    ],
                    rows=rows,
                    note="All at the points and repetitions of the section on sensitivity, fewer than those of the claim.",
                )
            ],
        )

    def not_holding(self) -> list[Row]:
        """Return every claim that does not hold, with its evidence."""
        return [
            [finding.claim.id, finding.claim.statement, number(finding.measured), finding.why]
            for finding in self.findings
            if finding.holds is False
        ]

    # Runs in real time, and uploads

    def testbed(self) -> list[Section]:
        """Return the section on real machines."""
        return Content(self.evaluation, name="testbed.md").sections()

    @cached_property
    def absent(self) -> str:
        """Why there are no runs in real time; empty if there are."""
        return absent(
            "code-tcp",
            self.evidence.linux,
            lambda: (self.fig_19(), self.uploads(), self.with_every_segment_acknowledged()),
        )

    @property
    def origin(self) -> str:
        """Where the runs in real time are from."""
        return origin_of(self.evidence.linux)

    def kernel_rates(self) -> list[int]:
        """Return the rates of Fig. 19 that the kernel was run at, Mbit/s."""
        return self.evidence.kernel.swept("fig19", "code")

    def _kernel_means(self) -> dict[str, list[float]]:
        kernel = self.evidence.kernel
        return {
            kind: [float(kernel.ratios("fig19", kind, rate).mean()) for rate in self.kernel_rates()]
            for kind in KINDS
        }

    def kernel_ratios(self) -> str:
        """Return the least and the largest ratio of each variant to Reno with the kernel."""
        return "; ".join(
            f"{LABELS[kind]} {_span(ratios, 2)} times" for kind, ratios in self._kernel_means().items()
        )

    def rates_nearest_to_code(self) -> int:
        """Return at how many rates CODE is nearest to an equal share with the kernel."""
        means = self._kernel_means()
        far = ({kind: abs(means[kind][place] - 1) for kind in KINDS} for place in range(len(means["code"])))
        return sum(min(each, key=each.__getitem__) == "code" for each in far)

    def with_every_segment_acknowledged(self) -> dict[str, float]:
        """Return the ratio of CODE to Reno with an acknowledgement for every segment, and with delayed ones."""
        kernel, simulator = self.evidence.kernel, self.evidence.kernel_simulated
        rate = simulator.swept(EACH_ACKNOWLEDGED, "code")[0]
        return {
            "rate": rate,
            "kernel": float(
                kernel.ratios(EACH_ACKNOWLEDGED, "code", kernel.swept(EACH_ACKNOWLEDGED, "code")[0]).mean()
            ),
            "simulator": float(simulator.ratios(EACH_ACKNOWLEDGED, "code", rate).mean()),
            "delayed": float(kernel.ratios("fig19", "code", rate).mean()),
        }

    def fig_19(self) -> list[Row]:
        """Return the ratios of Fig. 19, of the kernel and of the simulator on the same scenarios."""
        return [self._fig_19(rate) for rate in self.kernel_rates()]

    def _fig_19(self, rate: int) -> Row:
        cells: list[Cell] = []
        far = {}
        for kind in KINDS:
            kernel = ratio_to_reno(self.evidence.kernel, kind, rate)
            simulator = ratio_to_reno(self.evidence.kernel_simulated, kind, rate)
            far[kind] = abs(kernel.estimate - 1)
            cells += [
                Cell(text=f"{kernel.estimate:.3f}", detail=f"{kernel.low:.2f} to {kernel.high:.2f}"),
                Cell(
                    text=f"{simulator.estimate:.3f}",
                    detail=f"{simulator.low:.2f} to {simulator.high:.2f}",
                    tone="muted",
                ),
            ]
        first = min(far, key=far.__getitem__)
        return [
            f"{rate}",
            *cells,
            Cell(text=LABELS[first], tone="good" if first == "code" else "bad"),
            f"{queued(self.evidence.kernel, 'vegas', rate).mean():.1f}",
        ]

    def uploads(self) -> list[Row]:
        """Return the uploads of Table 3 under both readings of its path, by the kernel and the simulator."""
        printed = data()["table3"]
        means, widths = printed["mean"], printed["half_width"]["95"]
        rows: list[Row] = [
            [
                "printed",
                "",
                *(f"{means[column]:.0f} ± {widths[column]:.1f}" for column in COLUMNS),
                f"{means['RV-Reno'] / means['RV-Vegas']:.2f}",
                f"{means['RC-CODE'] / means['RC-Reno']:.3f}",
                "10 of 10",
            ]
        ]
        sides = {"kernel": self.evidence.kernel, "simulator": self.evidence.kernel_simulated}
        for reading, words in UPLOADS.items():
            for side, each in sides.items():
                vegas, code = (rates(each, reading, kind) for kind in ("vegas", "code"))
                first = int((vegas["reno"] > vegas["variant"]).sum())
                rows.append(
                    [
                        words if side == "kernel" else "",
                        side,
                        *(_shown(one[name]) for one in (vegas, code) for name in ("reno", "variant")),
                        *(_shown(values, 3) for values in share_ratios(vegas, code)),
                        f"{first} of {vegas['reno'].size}",
                    ]
                )
        return rows

    @staticmethod
    def bottleneck(*columns: str) -> float:
        """Return the rate of a bottleneck that the later of two uploads implies, KB/s: twice the least printed mean."""
        return 2 * min(float(np.mean(data()["table3"][column])) for column in columns)

    def unchecked(self) -> list[Row]:
        """Return the claims that cannot be checked or await the testbed, with the reasons."""
        groups: dict[tuple[str, str], list[str]] = {}
        for finding in self.findings:
            if not finding.is_judged:
                groups.setdefault((finding.claim.source, finding.why), []).append(finding.claim.id)
        return [
            [
                source,
                f"{len(names)}",
                f"{names[0]} … {names[-1]}" if len(names) > 2 else ", ".join(names),
                why,
            ]
            for (source, why), names in groups.items()
        ]

    @staticmethod
    def table_3() -> list[Row]:
        """Return Table 3 as printed, with its means and half-widths computed again."""
        printed = data()["table3"]

        def beside(text: float, paper: float) -> Cell:
            return Cell(text=fixed(text, 2), detail=f"paper {paper:.2f}")

        rounds: list[Row] = [
            [f"{index + 1}", *(f"{printed[column][index]:.2f}" for column in COLUMNS)] for index in range(10)
        ]
        means = (beside(float(np.mean(printed[column])), printed["mean"][column]) for column in COLUMNS)
        widths: list[Row] = [
            [
                f"{level} % ±",
                *(
                    beside(interval(printed[column], int(level) / 100).half_width, half[column])
                    for column in COLUMNS
                ),
            ]
            for level, half in ((level, printed["half_width"][level]) for level in ("99", "95", "90"))
        ]
        return [*rounds, ["mean", *means], *widths]
