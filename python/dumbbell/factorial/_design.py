"""Factors, designs, and their runs over a scenario."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self, TypeAlias

import numpy as np
import pandas as pd

from dumbbell.factorial import _transform
from dumbbell.factorial._analysis import Analysis, analyse
from dumbbell.factorial._inputs import check_random

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAXIMUM_FACTORS = 16
_RESERVED = ("mean", "error", "replications", "other interactions", "other terms", "cell", "replication")


class Scenario(Protocol):
    """The part of a scenario that a design needs."""

    def with_values(self, values: Mapping[str, Any], /) -> Self:
        """Return a copy with the values at these paths."""
        ...


SingleResponse: TypeAlias = tuple[str, str] | Callable[[Any], Any]
Response: TypeAlias = SingleResponse | Mapping[str, SingleResponse]


@dataclass(frozen=True, slots=True)
class Factor:
    """Something a design sets low or high.

    Parameters
    ----------
    name : str
        Names the effect. Without ":", which joins names in interactions.
    low, high : mapping or scalar
        Scenario paths and their values at this level, the same paths in both; or one value for `path`.
    path : str, optional
        The scenario path of scalar levels; the name itself if left out.

    Raises
    ------
    ValueError
        If the levels do not set the same paths or do not differ.

    Examples
    --------
    >>> Factor("A", low=False, high=True, path="flows.fg.tcp.mechanisms.A").high
    {'flows.fg.tcp.mechanisms.A': True}
    >>> delay = Factor("delay", low={"links.r1-r2.delay": "20 ms", "links.r2-r1.delay": "20 ms"},
    ...                high={"links.r1-r2.delay": "50 ms", "links.r2-r1.delay": "50 ms"})
    >>> delay.paths
    ('links.r1-r2.delay', 'links.r2-r1.delay')
    """

    name: str
    low: Any
    high: Any
    path: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name or ":" in self.name or self.name in _RESERVED:
            raise ValueError(
                f"factor name = {self.name!r}; accepted: a word without ':' other than {', '.join(_RESERVED)}"
            )
        levels = {}
        for level in ("low", "high"):
            value = getattr(self, level)
            if isinstance(value, Mapping):
                if self.path is not None:
                    raise ValueError(
                        f"factor {self.name}: path = {self.path!r} beside a mapping; accepted: either "
                        "mappings from paths to values, or path with two scalars"
                    )
                levels[level] = dict(value)
            else:
                levels[level] = {self.path or self.name: value}
        if not levels["low"] or set(levels["low"]) != set(levels["high"]):
            raise ValueError(
                f"factor {self.name}: low sets {_list(levels['low'])}, high sets {_list(levels['high'])}; "
                "accepted: the same paths in both, at least one"
            )
        if levels["low"] == levels["high"]:
            raise ValueError(f"factor {self.name}: low = high = {self.low!r}; accepted: two different levels")
        for level, values in levels.items():
            object.__setattr__(self, level, values)

    @property
    def paths(self) -> tuple[str, ...]:
        """The scenario paths this factor sets."""
        return tuple(self.low)


@dataclass(frozen=True, slots=True)
class Design:
    """All 2^k combinations of k factors, each replicated r times.

    Parameters
    ----------
    factors : sequence of Factor
        1 to 16 factors with different names that set different paths.
    replications : int
        r >= 1. Without replication (r = 1) there is no estimate of the error.
    random : {"independent", "common"}
        Whether every run has its own random numbers, or replication j of all cells shares them.
        Common random numbers make effects more precise; their analysis treats replications as blocks.

    Examples
    --------
    >>> design = Design([Factor("A", low=False, high=True), Factor("B", low=1, high=2)], replications=50)
    >>> design.cells
    ('00', '01', '10', '11')
    >>> design.values("01")
    {'A': False, 'B': 2}
    """

    factors: Sequence[Factor]
    replications: int
    random: Literal["independent", "common"] = "independent"

    def __post_init__(self) -> None:
        object.__setattr__(self, "factors", tuple(self.factors))
        if not 1 <= len(self.factors) <= MAXIMUM_FACTORS:
            raise ValueError(f"factors has {len(self.factors)} entries; accepted: 1 to {MAXIMUM_FACTORS}")
        for factor in self.factors:
            if not isinstance(factor, Factor):
                raise ValueError(f"factors contains {factor!r}; accepted: Factor objects")
        replications = self.replications
        if isinstance(replications, bool) or not isinstance(replications, int) or replications < 1:
            raise ValueError(f"replications = {replications!r}; accepted: an integer of at least 1")
        check_random(self.random)
        names: set[str] = set()
        owners: dict[str, str] = {}
        for factor in self.factors:
            if factor.name in names:
                raise ValueError(f"factors: the name {factor.name!r} occurs twice; accepted: different names")
            names.add(factor.name)
            for path in factor.paths:
                for other, owner in owners.items():
                    if path == other or path.startswith(other + ".") or other.startswith(path + "."):
                        raise ValueError(
                            f"factor {factor.name}: path {path!r} overlaps {other!r} of factor {owner}; "
                            "accepted: factors that set different parameters"
                        )
            owners.update((path, factor.name) for path in factor.paths)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the factors."""
        return tuple(factor.name for factor in self.factors)

    @property
    def cells(self) -> tuple[str, ...]:
        """The cells in standard order, one digit for each factor, "1" for high."""
        return _transform.cell_names(len(self.factors))

    def values(self, cell: str) -> dict[str, Any]:
        """Scenario paths and values of one cell, such as "010"."""
        if len(cell) != len(self.factors) or set(cell) - {"0", "1"}:
            raise ValueError(f"cell = {cell!r}; accepted: {len(self.factors)} digits 0 or 1")
        chosen = (
            factor.high if digit == "1" else factor.low
            for factor, digit in zip(self.factors, cell, strict=True)
        )
        return {path: value for level in chosen for path, value in level.items()}

    def scenarios(self, base: Scenario) -> list[Any]:
        """Return the scenario of every cell in standard order, made with `base.with_values`."""
        return [base.with_values(self.values(cell)) for cell in self.cells]

    def jobs(self, base: Scenario, seed: int = 1) -> list[Any]:
        """Return all runs, cell after cell, as `dumbbell.Job` objects.

        Run numbers are 0 to 2^k r - 1 when random numbers are independent, and 0 to r - 1 in every cell when
        they are common.
        """
        from dumbbell import Job

        scenarios = self.scenarios(base)
        r = self.replications
        stride = r if self.random == "independent" else 0
        return [
            Job(scenario=scenario, seed=seed, run=i * stride + j)
            for i, scenario in enumerate(scenarios)
            for j in range(r)
        ]

    def run(
        self,
        base: Scenario,
        response: Response,
        *,
        seed: int = 1,
        threads: int | None = None,
        progress: Any = True,
    ) -> Experiment:
        """Simulate the design over a scenario.

        Parameters
        ----------
        base : dumbbell.Scenario
            Everything the factors do not set.
        response : (flow, column), callable, or mapping of names to these
            What is analysed: a column of `Runs.flows` for one flow, such as ("fg", "goodput_bps"); or a
            function of the `dumbbell.Runs` returning one number for each job, as a Series indexed by job or
            an array in the order of the jobs. A mapping takes several responses from the same runs. All are
            tried on one run first, so that a wrong name costs no more than that.
        seed : int
            Seed of all runs.
        threads : int, optional
            Threads to use; all cores if left out.
        progress : bool or callable
            Handed to `dumbbell.run_many`.

        Raises
        ------
        ValueError
            If the response names an unknown flow or column.
        """
        from dumbbell import run_many

        _check_response(response)
        named = _named(response)
        for name in named:
            if name in self.names or name in _RESERVED:
                raise ValueError(f"response name = {name!r}; accepted: one that is not a factor or reserved")
        jobs = self.jobs(base, seed)
        # A response that does not fit must not cost all the runs.
        pilot = run_many(jobs[:1], threads=1, progress=False)
        for single in named.values():
            _extract(single, pilot, 1)
        experiment = Experiment(design=self, runs=run_many(jobs, threads=threads, progress=progress))
        for name, single in named.items():
            experiment.responses[name] = experiment.extract(single)
        return experiment

    def sign_table(self) -> pd.DataFrame:
        """Signs of the mean and of all effects in every cell, +1 or -1."""
        return _transform.sign_table(self.names)


@dataclass(frozen=True, eq=False)
class Experiment:
    """A design that has been run.

    Attributes
    ----------
    design : Design
        The scenario.
    runs : dumbbell.Runs
        Results of all runs, for other responses later.
    responses : dict of str to ndarray, each of shape (2^k, r)
        By the names given; an unnamed response is called after its column, or "response".
    """

    design: Design
    runs: Any = field(repr=False)
    responses: dict[str, NDArray[np.float64]] = field(default_factory=dict, repr=False)

    def extract(self, response: SingleResponse) -> NDArray[np.float64]:
        """Take one more response from the runs, of shape (2^k, r); see `Design.run` for what it may be."""
        shape = (2 ** len(self.design.factors), self.design.replications)
        return _extract(response, self.runs, shape[0] * shape[1]).reshape(shape)

    def analyse(self, name: str | None = None, **options: Any) -> Analysis:
        """Analyse one of the responses; the name may be left out if there is one only.

        Other keywords are those of `dumbbell.factorial.analyse`.
        """
        if name is None and len(self.responses) == 1:
            (name,) = self.responses
        if name not in self.responses:
            raise ValueError(f"response = {name!r}; accepted: {_list(self.responses)}")
        return analyse(self.responses[name], self.design, **options)

    def frame(self) -> pd.DataFrame:
        """One row for each run: cell, whether each factor is high, replication, and the responses."""
        cells, r = self.design.cells, self.design.replications
        columns: dict[str, Any] = {"cell": np.repeat(cells, r)}
        for i, name in enumerate(self.design.names):
            columns[name] = np.repeat([cell[i] == "1" for cell in cells], r)
        columns["replication"] = np.tile(np.arange(r), len(cells))
        columns.update((name, values.ravel()) for name, values in self.responses.items())
        return pd.DataFrame(columns)


def _list(names: Any) -> str:
    return ", ".join(str(name) for name in names) or "nothing"


def _check_response(response: Any) -> None:
    singles = list(response.values()) if isinstance(response, Mapping) else [response]
    for single in singles:
        pair = (
            isinstance(single, tuple) and len(single) == 2 and all(isinstance(part, str) for part in single)
        )
        if not (callable(single) or pair):
            raise ValueError(
                f"response = {single!r}; accepted: a pair (flow, column), a function of the runs, "
                "or a mapping from names to these"
            )
    if not singles:
        raise ValueError("response = {}; accepted: at least one response")


def _named(response: Response) -> Mapping[str, SingleResponse]:
    if isinstance(response, Mapping):
        return response
    return {"response" if callable(response) else response[1]: response}


def _column(flows: pd.DataFrame, flow: str, column: str) -> pd.Series[Any]:
    known = flows["name"].unique()
    if flow not in known:
        raise ValueError(f"response flow = {flow!r}; accepted: {_list(known)}")
    if column not in flows.columns:
        raise ValueError(f"response column = {column!r}; accepted: {_list(flows.columns)}")
    return flows.loc[flows["name"] == flow].set_index("job")[column]


def _extract(response: SingleResponse, runs: Any, count: int) -> NDArray[np.float64]:
    """Response of every job, in the order of the jobs."""
    if callable(response):
        values = response(runs)
        source = f"response {getattr(response, '__name__', 'function')}"
    else:
        flow, column = response
        values = _column(runs.flows, flow, column)
        source = f"response {(flow, column)!r}"
    if isinstance(values, pd.Series):
        if not values.index.is_unique or set(values.index) != set(range(count)):
            raise ValueError(
                f"{source} gave a Series whose index is not the jobs; accepted: each of 0 to {count - 1} once"
            )
        values = values.sort_index().to_numpy(dtype=np.float64, na_value=np.nan)
    array = np.asarray(values, dtype=np.float64)
    if array.shape != (count,):
        raise ValueError(f"{source} gave the shape {array.shape}; accepted: ({count},), one for each job")
    return array
