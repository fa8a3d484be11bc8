"""The parameter sets of Tables 1 to 3, and the model predictions for each.

The paper's own parameters did not survive. Our grid covers loads of the exogenous traffic from none to 0.8, buffers on
both sides of the case where Reno's queue empties, and rates from 50 kbit/s to 1.5 Mbit/s with packets of 500 bytes.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from dumbbell.models import altman

THRESHOLDS = ((1.0, 3.0, 1.0), (2.0, 4.0, 1.0), (2.0, 4.0, 2.0))
"""alpha, beta and gamma in packets; the rows of a block cycle through them."""


@dataclass(frozen=True, kw_only=True)
class Setting:
    """One row of the tables: packets, seconds, packets per second.

    Parameters
    ----------
    id
        Its name.
    service_rate, exogenous_rate
        mu and lambda, packets/s.
    fixed_delay
        d, s.
    buffer
        B, packets that can wait.
    alpha, beta, gamma
        Thresholds of Vegas, packets.
    service
        Whether the smallest round-trip time contains a service time of 1/mu or of 1/nu.
    """

    id: str
    service_rate: float
    exogenous_rate: float
    fixed_delay: float
    buffer: int
    alpha: float
    beta: float
    gamma: float
    service: Literal["mu", "nu"] = "mu"

    @property
    def load(self) -> float:
        """Load of the exogenous traffic, lambda / mu."""
        return self.exogenous_rate / self.service_rate

    @cached_property
    def link(self) -> altman.Bottleneck:
        """The bottleneck as input of the model."""
        return altman.Bottleneck(
            service_rate=self.service_rate,
            exogenous_rate=self.exogenous_rate,
            fixed_delay=self.fixed_delay,
            service=self.service,
        )

    @cached_property
    def cycle(self) -> altman.RenoCycle:
        """Reno's cycle by the closed form."""
        return altman.reno_cycle(self.link, self.buffer)

    @cached_property
    def fluid_reno(self) -> altman.FluidRenoResult:
        """Reno's steady state by the fluid recursion."""
        return altman.fluid_reno(self.link, self.buffer)

    @cached_property
    def fluid_vegas(self) -> altman.FluidVegasResult:
        """Vegas's steady state by the fluid recursion."""
        return altman.fluid_vegas(self.link, alpha=self.alpha, beta=self.beta)

    @cached_property
    def stable(self) -> altman.StableWindow:
        """The steady window of Vegas."""
        return altman.stable_window(self.link, alpha=self.alpha, beta=self.beta)

    @cached_property
    def critical_buffer(self) -> float:
        """B*, packets."""
        return altman.critical_buffer(self.link, alpha=self.alpha)

    def with_service(self, service: Literal["mu", "nu"]) -> Setting:
        """Return the same row with the other reading of the smallest round-trip time."""
        return replace(self, service=service)


def _rows() -> Iterator[tuple[float, float, float, int]]:
    """Yield mu, lambda, d and B of every row."""
    for load in (0.0, 0.2, 0.5, 0.8):
        for delay, buffer in ((0.1, 40), (0.5, 20), (0.5, 60), (1.0, 60), (1.0, 120), (2.0, 100)):
            yield 100.0, 100.0 * load, delay, buffer
    for load in (0.0, 0.2, 0.5, 0.8):
        for delay, buffer in ((0.2, 30), (0.4, 100)):
            yield 250.0, 250.0 * load, delay, buffer
    for rate in (0.0, 100.0, 200.0, 300.0):
        for delay, buffer in ((0.1, 25), (0.2, 80)):
            yield 375.0, rate, delay, buffer


def of_load(name: str, load: float, alpha: float) -> Setting:
    """Return a setting of 100 packets/s and 0.5 s without a buffer, and a band of two packets."""
    return Setting(
        id=name,
        service_rate=100.0,
        exogenous_rate=100.0 * load,
        fixed_delay=0.5,
        buffer=0,
        alpha=alpha,
        beta=alpha + 2.0,
        gamma=1.0,
    )


GRID: Sequence[Setting] = tuple(
    Setting(
        id=f"A{number:02d}",
        service_rate=mu,
        exogenous_rate=rate,
        fixed_delay=delay,
        buffer=buffer,
        alpha=alpha,
        beta=beta,
        gamma=gamma,
    )
    for number, ((mu, rate, delay, buffer), (alpha, beta, gamma)) in enumerate(
        zip(_rows(), itertools.cycle(THRESHOLDS), strict=False)
    )
)
"""The forty rows, A00 to A39."""


def by_id(name: str) -> Setting:
    """Return a row of the grid by its name."""
    return GRID[int(name.removeprefix("A"))]


def with_threshold_sweep() -> list[Setting]:
    """Return the rows for the buffer sweep: their windows can fall and grow quickly.

    The first row represents all rows that differ only in the buffer.
    """
    rows = [setting for setting in GRID if 8.0 <= setting.link.bdp <= 60.0]
    distinct = {
        (row.service_rate, row.exogenous_rate, row.fixed_delay, row.alpha): row for row in reversed(rows)
    }
    return sorted(distinct.values(), key=lambda row: row.id)


@dataclass(frozen=True, kw_only=True)
class Connections:
    """Several equal Vegas connections at one bottleneck.

    Parameters
    ----------
    flows
        n.
    setting
        The bottleneck and the thresholds of each connection.
    """

    flows: int
    setting: Setting

    @property
    def critical_buffer(self) -> float:
        """B* for all of them, packets."""
        return altman.critical_buffer(self.setting.link, alpha=self.setting.alpha, flows=self.flows)


CONNECTIONS: Sequence[Connections] = tuple(
    Connections(flows=flows, setting=of_load(f"N{load * 100:02.0f}a{alpha:g}", load, alpha))
    for load in (0.0, 0.5)
    for alpha in (1.0, 2.0, 4.0)
    for flows in (1, 2, 4)
)
"""Where the condition for n connections is swept."""
