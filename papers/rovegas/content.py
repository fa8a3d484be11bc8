"""Values, rows and figures of the report, which `report.md` and, for runs in real time, `testbed.md` name.

All numbers in the text are computed from the runs or read from the paper's data.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from dumbbell.models import rovegas as model
from dumbbell.papers import Evaluation
from dumbbell.papers.page import PaperPage, choices
from dumbbell.papers.real_time import absent, origin_of
from dumbbell.report import Cell, Section
from dumbbell.report.numbers import signed
from dumbbell.report.page import Row

from . import analysis, connection_claims, figures, linux
from .evidence import Evidence, Values, interval
from .linux import VARIANTS
from .printed import at_points, data
from .scenarios import ASYMMETRIES, BAND_PANELS, REROUTE_S


def shown(values: Values, digits: int = 0, printed: float | None = None) -> Cell:
    """Return a quantity with its interval and, if printed, the paper's number."""
    mean, low, high = interval(values)
    details = [] if np.isnan(low) else [f"{low:.{digits}f} to {high:.{digits}f}"]
    if printed is not None:
        details.append(f"paper {printed:g}")
    return Cell(text=f"{mean:.{digits}f}", detail="; ".join(details))


class Content(PaperPage):
    """What the report shows.

    Parameters
    ----------
    evaluation
        The evaluated claims with their evidence.
    name
        Name of the Markdown file.
    """

    evidence: Evidence
    figures = figures
    REROUTE_S = REROUTE_S

    def __init__(self, evaluation: Evaluation[Evidence], *, name: str = "report.md") -> None:
        super().__init__(evaluation, name=name)
        self.chosen = choices(self.evidence.base)

    def is_varied(self, group: str) -> bool:
        """Return whether runs with a varied assumption were made."""
        return group in self.evidence.groups()

    def ratio(self, figure: str, point: float | str, evidence: Evidence | None = None) -> Values:
        """Return the throughput of RoVegas over that of Vegas."""
        vegas, rovegas = ((evidence or self.evidence).throughput(figure, name, point) for name in VARIANTS)
        return rovegas / vegas

    # Figs. 3 to 8: one connection without other traffic.

    def single(self) -> Iterator[Row]:
        """Yield windows, queues and throughput of Figs. 3 to 5."""
        first = self.evidence.first
        for name, variant, k in (
            ("fig-3", "vegas", "0.5"),
            ("fig-4", "vegas", "2"),
            ("fig-5", "rovegas", "2"),
        ):
            printed = data().get(name, {})
            yield [
                f"{name.replace('fig-', 'Fig. ')}, {variant}, k = {k}",
                shown(first("window", 0, name, variant), 2, printed.get("window")),
                shown(first("forward_queue", 0, name, variant), 2),
                shown(first("forward_queue", 1, name, variant), 0, printed.get("forward_queue")),
                shown(first("backward_queue", 0, name, variant), 2),
                shown(first("backward_queue", 1, name, variant), 0, printed.get("backward_queue")),
                shown(self.evidence.throughput(name, variant), 1),
            ]

    def windows(self) -> Iterator[Row]:
        """Yield the windows of the fluid analysis and of the simulation."""
        for row in analysis.windows(self.evidence):
            packets = (row.forward_queue, row.backward_queue, row.by_model, row.simulated)
            yield [
                row.variant,
                f"{row.k:g}",
                *(f"{value:.2f}" for value in packets),
                f"{signed(100 * row.error)} %",
            ]

    def asymmetric(self) -> Iterator[Row]:
        """Yield throughputs and the steady state over asymmetric links."""
        plain, ours = at_points("fig-7", "throughput"), at_points("fig-8", "throughput")
        ratios = at_points("fig-8", "ratio")
        for k in ASYMMETRIES:
            skipped, dropped, diff = (
                self.evidence.first("steady", index, "ana", "rovegas", k) for index in (1, 0, 3)
            )
            yield [
                str(k),
                shown(self.evidence.throughput("ana", "vegas", k), 1, plain[k]),
                shown(self.evidence.throughput("ana", "rovegas", k), 1, ours.get(k)),
                shown(self.ratio("ana", k), 2, ratios[k]),
                f"{float(np.asarray(model.throughput_ratio_bounds(k).high)):g}",
                shown(skipped, 2),
                shown(100 * dropped, 1),
                shown(diff, 2),
                shown(self.evidence.first("window", 0, "ana", "rovegas", k), 1),
            ]

    def keep_up(self) -> tuple[float, float]:
        """Return the largest excess at which the window grew, and the smallest at which it was held, packets."""
        guard = [self.evidence.rows("unit-keepup", "rovegas", k)[0]["guard"] for k in (8, 16, 32)]
        return max(row[0] for row in guard), min(row[1] for row in guard)

    def unlimited(self) -> list[float]:
        """Return RoVegas over Vegas at k = 8, 16 and 32 without the limit of three packets per ACK."""
        without = self.evidence.varied("bursts", self.evidence.base, 1)
        return [float(self.ratio("ana", k, without)[0]) for k in (8, 16, 32)]

    def without_access_delay(self, quantity: str) -> float:
        """Return window, Diff (packets) or throughput (kbit/s) of RoVegas at k = 2 with access links without delay."""
        shorter = self.evidence.varied("access-0", self.evidence.base, 1)
        place = ("ana", "rovegas", 2)
        found = {
            "window": shorter.first("window", 0, *place),
            "diff": shorter.first("steady", 3, *place),
            "throughput": shorter.throughput(*place),
        }
        return float(found[quantity][0])

    # Figs. 9 to 13: traffic on the reverse path.

    def loaded(self) -> Iterator[Row]:
        """Yield the throughputs of Fig. 9 before and after the load begins."""
        printed = data()["fig-9"]
        for variant in (*VARIANTS, "reno"):
            alone, loaded = (
                self.evidence.rate("fig-9", variant, "", *times) for times in ((0, 50), (50, 200))
            )
            yield [
                variant,
                shown(alone, 0, printed["alone"].get(variant)),
                shown(loaded, 0, printed["loaded"].get(variant)),
                shown(loaded / alone, 3),
            ]

    def printed_loaded(self) -> Mapping[str, float]:
        """Return the paper's throughputs of Fig. 9 under load, kbit/s."""
        means: Mapping[str, float] = data()["fig-9"]["loaded"]
        return means

    def gain_when_loaded(self) -> float:
        """Return RoVegas over Vegas in Fig. 9 from 50 s on."""
        vegas, rovegas = (self.evidence.rate("fig-9", variant, "", 50, 200) for variant in VARIANTS)
        return float((rovegas / vegas)[0])

    def correlation(self) -> float:
        """Return the correlation of the throughputs of Fig. 9 from second to second."""
        return float(self.evidence.correlation("fig-9", VARIANTS, "", 50)[0])

    def loads(self, number: str) -> Iterator[Row]:
        """Yield throughputs and timeouts by load, of Fig. 10 or 13."""
        name = f"fig-{number}"
        printed = at_points(name, "ratio")
        for load in self.evidence.points(name, "vegas"):
            timeouts = [
                np.mean([row["timeouts"][0] for row in self.evidence.rows(name, variant, load)])
                for variant in VARIANTS
            ]
            yield [
                f"{load:g}",
                *(shown(self.evidence.throughput(name, variant, load)) for variant in VARIANTS),
                shown(self.ratio(name, load), 2, printed.get(load)),
                *(f"{count:.1f}" for count in timeouts),
            ]

    def entering(self) -> Iterator[Row]:
        """Yield the throughputs of Fig. 12 by the number of sources."""
        for index, printed in enumerate((None, *data()["fig-12"]["ratio"])):
            times = (100 * index, 100 * index + 100)
            vegas, rovegas = (self.evidence.rate("fig-12", variant, "", *times) for variant in VARIANTS)
            yield [
                f"{times[0]} to {times[1]} s",
                str(index),
                shown(vegas),
                shown(rovegas),
                shown(rovegas / vegas, 2, printed),
            ]

    def averages(self) -> Iterator[Row]:
        """Yield the throughputs of Figs. 9, 10 and 13 with other averaging times."""
        for title, name, starts in (
            ("Fig. 9, load 0.9", "fig-9", (50, 60, 100)),
            ("Fig. 10, load 1", "fig-10", (0, 10, 100)),
            ("Fig. 13, load 1", "fig-13", (0, 10, 100)),
        ):
            point = "" if name == "fig-9" else max(self.evidence.points(name, "vegas"))
            for start in starts:
                vegas, rovegas = (
                    self.evidence.rate(name, variant, point, start, 199) for variant in VARIANTS
                )
                yield [
                    title,
                    f"{start} to 199 s",
                    f"{vegas[0]:.0f}",
                    f"{rovegas[0]:.0f}",
                    shown(rovegas / vegas, 2),
                ]

    # Figs. 15 to 19: several connections, deployment; rerouting.

    def kept(self) -> float:
        """Return the target backlog of each connection in the fluid model of Fig. 15, packets."""
        return float(connection_claims.kept_target(self.evidence)[0])

    def queued(self, variant: str, connections: int) -> float:
        """Return the queue of Fig. 15 with so many connections, packets."""
        return float(self.evidence.queue_after(variant, connections)[0])

    def true_delay_ms(self, variant: str) -> float:
        """Return the round-trip time of Fig. 15 without any queueing, ms."""
        return connection_claims.true_delay_ms(self.evidence, variant)

    def persistent(self) -> Iterator[Row]:
        """Yield queues and base round-trip times of Fig. 15."""
        fluid = model.persistent_queue(8)
        printed = {variant: at_points("fig-15", variant) for variant in VARIANTS}
        for n in range(1, 9):
            queue = {
                variant: shown(self.evidence.queue_after(variant, n), 1, printed[variant].get(n))
                for variant in VARIANTS
            }
            base = {
                variant: self.evidence.first("base_rtt", 4 * n - 1, "fig-15", variant) for variant in VARIANTS
            }
            yield [
                str(n),
                queue["vegas"],
                f"{self.kept() * fluid[n - 1]:.1f}",
                shown(base["vegas"], 1),
                queue["rovegas"],
                f"{n} to {3 * n}",
                shown(base["rovegas"], 4),
            ]

    def shares(self, number: str) -> Iterator[Row]:
        """Yield throughputs and fairness in each panel of Fig. 17 or 18."""
        name = f"fig-{number}"
        for panel in (*BAND_PANELS, *(("reno",) if name == "fig-18" else ())):
            yield [
                figures.PANEL_TITLES.get(panel, "reno, for comparison"),
                *(shown(rate) for rate in self.evidence.throughputs(name, panel)),
                shown(self.evidence.jain(name, panel), 3),
            ]

    def fluid_shares(self) -> list[float]:
        """Return the shares of five connections in the fluid model of Fig. 17."""
        return [float(share) for share in model.persistent_shares(5)]

    def deployed(self) -> Iterator[Row]:
        """Yield throughput and base round-trip time of Fig. 19 by the routers with the option."""
        yield ["vegas", shown(self.evidence.throughput("fig-19", "vegas")), "", ""]
        vegas = self.evidence.throughput("fig-19", "vegas")
        for point, words in (
            ("none", "no router"),
            ("r2", "R2 only"),
            ("all", "all four routers, minimum base RTT kept"),
        ):
            rate = self.evidence.throughput("fig-19", "rovegas", point)
            least = self.evidence.first("base_rtt", 3, "fig-19", "rovegas", point)
            yield [f"rovegas, option at {words}", shown(rate), shown(rate / vegas, 2), shown(least, 3)]

    def rerouted(self) -> Iterator[Row]:
        """Yield throughput and base round-trip time before, during and after a longer path."""
        begin, end = REROUTE_S
        for by, words in (("delay", "links of twice the delay"), ("path", "path over a third router")):
            for variant in (*VARIANTS, "rovegas-minimum"):
                base = self.evidence.rows("ext", variant, by)[0]["base_curve"]
                rates = [
                    self.evidence.rate("ext", variant, by, *times)[0]
                    for times in ((20, begin), (begin + 20, end), (end + 20, 178))
                ]
                yield [
                    "rovegas, minimum base RTT kept" if variant.endswith("minimum") else variant,
                    words,
                    *(f"{rate:.0f}" for rate in rates),
                    *(f"{float(base[int(second) - 1]):.4f}" for second in (begin - 1, end - 1, 178)),
                ]

    # Inconsistencies within the paper.

    def diff_of_fig_5(self) -> float:
        """Return Diff for the window and the mean queue that the paper states of Fig. 5, packets."""
        base_s, queue_s = 0.0567, 0.010
        return float(
            model.rovegas_diff(window=33.0, base_rtt=base_s, rtt=base_s + queue_s, backward_queueing=0.0)
        )

    def queue_of_fig_5(self) -> float:
        """Return the mean forward queue of Fig. 5, packets."""
        return float(self.evidence.first("forward_queue", 0, "fig-5", "rovegas")[0])

    def gain(self, k: int) -> float:
        """Return RoVegas over Vegas on asymmetric links."""
        return float(self.ratio("ana", k)[0])

    # Runs in real time.

    def absent(self) -> str:
        """Return why there is nothing to show of the kernel; empty if there is."""
        return absent(
            "rovegas", self.evidence.linux, lambda: self.evidence.kernel.points(linux.ALONE, "vegas")
        )

    def origin(self) -> str:
        """Return where and when the runs of the kernel were made."""
        return origin_of(self.evidence.linux)

    def has_reroutes(self) -> bool:
        """Return whether the kernel ran connections that are rerouted."""
        return self.evidence.kernel.has(linux.REROUTED)

    def alone(self) -> Iterator[Row]:
        """Yield throughputs and backlogs over asymmetric links, of the kernel and of the simulator."""
        kernel, name = self.evidence.kernel, linux.ALONE
        for k in kernel.points(name, "vegas"):
            sides = (
                each.throughput(name, variant, k) for variant in VARIANTS for each in (kernel, self.evidence)
            )
            waiting = [
                [kernel.first("backlogs", way, name, variant, k)[0] for way in (0, 1)] for variant in VARIANTS
            ]
            yield [
                f"{k:g}",
                *map(shown, sides),
                shown(self.ratio(name, k, kernel), 2, at_points("fig-8", "ratio").get(k)),
                *(f"{forward:.1f} / {backward:.1f}" for forward, backward in waiting),
            ]

    def testbed(self) -> Section:
        """Return the section on connections of the kernel, an addition to the paper."""
        (section,) = Content(self.evaluation, name="testbed.md").sections()
        return section
