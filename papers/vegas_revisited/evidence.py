"""The evidence for the claims: results of the runs with resamples, effects of the designs, and observations from traces.

Every quantity is an array whose first entry comes from all runs and whose other entries come from resamples of the runs
(the bootstrap: runs of a configuration drawn with replacement). A claim's number, its interval and how often an inequality
survives resampling therefore follow from one definition.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, KeysView, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dumbbell import factorial
from dumbbell.judge.estimate import NotMeasured
from dumbbell.judge.reads import Remembered, Results, by_key
from dumbbell.statistics import Interval, mean_interval, resample_weights, resampled_mean

from .plan import seven_cells
from .printed import CELLS, PHASES, printed_column
from .scenarios import ALIASES, stable_seed

Values = NDArray[np.float64]

PAPER_RUNS = 50
"""Runs per configuration in the paper. [hengartner2000 §VIII]"""

RESAMPLES = 400
"""Number of resamples of the runs."""

METRICS = {"thr": "throughput", "rtx": "retransmitted"}
"""Columns of the results by the name a quantity has in claims."""


@dataclass(frozen=True, kw_only=True)
class FactorEffects:
    """Effects and shares of variation of a replicated 2^k design, with resamples.

    Parameters
    ----------
    terms
        Effects by term (letters or phases joined by ``_``), each with its resamples; ``"mean"`` is one of them.
    percent
        Shares of variation by term and ``"error"``, %, with resamples.
    s_e
        Standard deviation of the errors, with resamples.
    half_width
        Half-width of the two-sided 90 % interval of every effect.
    hw_one_sided, hw_two_sided
        Half-widths with the paper's number of replications: with the quantile at 0.90, as printed, and at 0.95. Marks of
        significance and printed half-widths are compared with these, however many runs there are here.
    cells, replications
        Size of the design.
    """

    terms: Mapping[str, Values]
    percent: Mapping[str, Values]
    s_e: Values
    half_width: Values
    hw_one_sided: Values
    hw_two_sided: Values
    cells: int
    replications: int

    @property
    def s_q(self) -> Values:
        """Standard error of an effect with the paper's number of replications."""
        return self.s_e / math.sqrt(self.cells * PAPER_RUNS)

    def interval(self, term: str) -> tuple[float, float]:
        """Return the two-sided 90 % interval of an effect."""
        effect, half = float(self.terms[term][0]), float(self.half_width[0])
        return effect - half, effect + half

    def percent_interval(self, term: str) -> tuple[float, float]:
        """Return the interval of a share: the shares for the limits of the effect's interval."""
        low, high = self.interval(term)
        effect = float(self.terms[term][0])
        total = float(self.percent[term][0]) / effect**2 if effect else 0.0
        squares = sorted((low**2, high**2))
        return (0.0 if low <= 0 <= high else total * squares[0]), min(100.0, total * squares[1])


def _effects(means: Values, variances: Values, replications: int, names: Sequence[str]) -> FactorEffects:
    """Return the effects of a full design.

    Parameters
    ----------
    means, variances
        Means and (biased) variances of the cells: shape (2^k, 1 + resamples), standard order.
    replications
        Runs per cell.
    names
        Names of the factors, slowest first.
    """
    from scipy import stats

    cells = means.shape[0]
    levels = np.array(list(itertools.product((-1.0, 1.0), repeat=len(names))))
    subsets = [
        subset for size in range(len(names) + 1) for subset in itertools.combinations(range(len(names)), size)
    ]
    signs = np.stack([levels[:, subset].prod(axis=1) for subset in subsets], axis=1)
    effects = signs.T @ means / cells
    sse = replications * variances.sum(axis=0)
    squares = cells * replications * effects[1:] ** 2
    total = squares.sum(axis=0) + sse
    degrees = cells * (replications - 1)
    s_e = np.sqrt(sse / degrees) if degrees else np.full(means.shape[1], np.nan)
    labels = ["_".join(names[index] for index in subset) or "mean" for subset in subsets]
    own = stats.t.ppf(0.95, degrees) if degrees else math.nan
    one, two = stats.t.ppf(np.array([0.90, 0.95]), cells * (PAPER_RUNS - 1)) / math.sqrt(cells * PAPER_RUNS)
    return FactorEffects(
        terms=dict(zip(labels, effects, strict=True)),
        percent=dict(zip(labels[1:], 100 * squares / total, strict=True)) | {"error": 100 * sse / total},
        s_e=s_e,
        half_width=own * s_e / math.sqrt(cells * replications),
        hw_one_sided=one * s_e,
        hw_two_sided=two * s_e,
        cells=cells,
        replications=replications,
    )


class Evidence:
    """The results of the runs, and observations from traces.

    Parameters
    ----------
    results
        The table of results: ``key``, ``run`` and the columns of `dumbbell.papers.Paper.columns`; or the same by key.
    observed
        Observations from traces and single runs, by name.
    seed
        Seed of the resampling.
    group
        Which group of keys provides the tables: ``"table"``, or the name of a variation of an assumption. What a
        variation did not run is taken from the tables.
    replications
        Use this many runs per configuration at most, by load; ``None`` for all.
    resamples
        Number of resamples; 0 for estimates alone.
    full
        Whether these are the replications the paper states, against which the size of its design can be judged.
    """

    def __init__(
        self,
        results: Results,
        observed: Mapping[str, Any],
        *,
        seed: int = 1,
        group: str = "table",
        replications: Mapping[str, int] | None = None,
        resamples: int = RESAMPLES,
        full: bool = True,
    ) -> None:
        self._by_key = by_key(results)
        self.observed = observed
        self._resamples = resamples
        self.full = full
        self._seed = seed
        self._group = group
        self._limit = replications
        self._designs: Remembered[tuple[str, str, str, str], FactorEffects] = Remembered()

    @property
    def results(self) -> pd.DataFrame:
        """All runs as one table."""
        return self._by_key.table

    def seeds(self, key: str) -> int:
        """Return the number of seeds that the runs of a key are from; 0 if there are no runs."""
        return int(self._by_key[key]["seed"].nunique()) if key in self._by_key else 0

    def with_group(self, group: str, replications: Mapping[str, int]) -> Evidence:
        """Return the evidence of a variation, or of the tables, at a limited number of replications."""
        return Evidence(
            self._by_key,
            self.observed,
            seed=self._seed,
            group=group,
            replications=replications,
            resamples=self._resamples,
            full=False,
        )

    def names(self) -> KeysView[str]:
        """Return the keys there are runs of."""
        return self._by_key.keys()

    def observation(self, name: str) -> Any:
        """Return something observed in traces.

        Raises
        ------
        NotMeasured
            It was not observed.
        """
        if name not in self.observed:
            raise NotMeasured(f"Nothing was recorded for {name}.")
        return self.observed[name]

    def key(self, foreground: str, background: str, load: str, group: str = "table") -> str:
        """Return the key of a configuration; names like ``vegasfix`` are those of its cell."""
        name = f"{ALIASES.get(foreground, foreground)}|{background}|{load}"
        if (
            group == "pair"
            and self._group == "table"
            and self._limit is None
            and f"pair/{name}" in self._by_key
        ):
            return f"pair/{name}"
        own = f"{self._group}/{name}"
        return own if own in self._by_key else f"table/{name}"

    def runs(self, key: str, column: str) -> Values:
        """Return a column's values in the runs of a key, in the order of the runs.

        Raises
        ------
        NotMeasured
            There are none.
        """
        frame = self._by_key.get(key)
        if frame is None:
            raise NotMeasured(f"There are no runs of {key}.")
        values = frame[column].to_numpy(dtype=np.float64)
        return values if self._limit is None else values[: self._limit.get(key.rsplit("|", 1)[-1])]

    def _weight(self, key: str, count: int) -> Values:
        """Return the weights of the runs of a key: all equal first, then those of each resample.

        Configurations that were run with common random numbers are resampled together.
        """
        group, name = key.split("/", 1)
        if group == "table":
            stream = f"{self._group}>{key}"
        elif group == "pair":
            stream = f"{group}/{name.rsplit('|', 1)[-1]}"
        else:
            stream = f"{group}/{name.split('|', 1)[-1]}"
        seed = stable_seed(self._seed, f"resample/{stream}/{count}")
        return resample_weights(count, seed=seed, resamples=self._resamples)

    def mean(self, key: str, column: str) -> Values:
        """Return the mean of a column over the runs of a key, with resamples. Missing values are left out."""
        values = self.runs(key, column)
        return resampled_mean(values, self._weight(key, len(values)))

    def pooled(self, keys: Iterable[str], column: str) -> Values:
        """Return the mean of a column over the runs of several keys, with resamples."""
        numerator: Values | float = 0.0
        denominator: Values | float = 0.0
        for key in keys:
            values = self.runs(key, column)
            weights = self._weight(key, len(values)) * len(values)
            known = ~np.isnan(values)
            numerator = numerator + weights[:, known] @ values[known]
            denominator = denominator + weights[:, known].sum(axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(numerator / denominator)

    def thr(self, foreground: str, background: str, load: str, group: str = "table") -> Values:
        """Return the mean throughput of a configuration, KB/s, with resamples."""
        return self.mean(self.key(foreground, background, load, group), METRICS["thr"])

    def rtx(self, foreground: str, background: str, load: str, group: str = "table") -> Values:
        """Return the mean retransmitted data of a configuration, KB, with resamples."""
        return self.mean(self.key(foreground, background, load, group), METRICS["rtx"])

    def metric(
        self, metric: str, foreground: str, background: str, load: str, group: str = "table"
    ) -> Values:
        """Return `thr` or `rtx` by its name."""
        return self.mean(self.key(foreground, background, load, group), METRICS[metric])

    def interval(self, metric: str, foreground: str, background: str, load: str) -> Interval:
        """Return the 90 % interval (Student's t) of a configuration's mean."""
        return mean_interval(
            self.runs(self.key(foreground, background, load), METRICS[metric]), confidence=0.90
        )

    def phases(self, metric: str, load: str, background: str) -> FactorEffects:
        """Return the effects of the three-factor design on a metric."""
        return self._design("phases", metric, load, background)

    def seven(self, metric: str, load: str, background: str) -> FactorEffects:
        """Return the effects of the seven-factor design on a metric."""
        return self._design("seven", metric, load, background)

    def _design(self, design: str, metric: str, load: str, background: str) -> FactorEffects:
        identity = (design, metric, load, background)
        return self._designs.of(identity, lambda: self._effects_of(*identity))

    def _effects_of(self, design: str, metric: str, load: str, background: str) -> FactorEffects:
        if design == "phases":
            names: Sequence[str] = PHASES
            keys = [self.key(f"cell{cell}", background, load) for cell in CELLS]
        else:
            names = tuple("ABCDEFG")
            keys = [f"seven/{letters or 'none'}|{background}|{load}" for letters in seven_cells()]
        column = METRICS[metric]
        means, variances = [], []
        for key in keys:
            values = self.runs(key, column)
            weights = self._weight(key, len(values))
            first = weights @ values
            means.append(first)
            variances.append(np.maximum(weights @ values**2 - first**2, 0.0))
        return _effects(np.array(means), np.array(variances), len(values), names)

    def spread_note(self, metric: str, load: str, background: str) -> str:
        """Return how our spread between runs compares with the paper's, if it differs by more than a quarter."""
        ours = float(self.phases(metric, load, background).s_e[0])
        paper = printed_column(metric, load, background).s_e()
        if 0.8 <= ours / paper <= 1.25:
            return ""
        return f"our runs of a cell differ {ours / paper:.1f} times as much as the paper's (s_e {ours:.1f} and {paper:.1f})"

    def analysis(self, metric: str, load: str, background: str) -> factorial.Analysis:
        """Return the three-factor design as the package's own analysis."""
        column = METRICS[metric]
        responses = np.array([self.runs(self.key(f"cell{cell}", background, load), column) for cell in CELLS])
        return factorial.analyse(responses, PHASES)

    def ten_percent(self) -> Values:
        """Return the shares of variation of every effect of the ten-factor design, %."""
        keys = [key for key in self._by_key if key.startswith("ten/")]
        if len(keys) != 1024:
            raise NotMeasured("The ten-factor design was not run.")
        letters = "ABCDEFGHIJ"
        means = np.zeros((2,) * len(letters))
        variance = 0.0
        count = 0
        for key in keys:
            on = key.removeprefix("ten/").split("|")[0]
            values = self.runs(key, METRICS["thr"])
            count = len(values)
            means[tuple(int(letter in on and on != "none") for letter in letters)] = values.mean()
            variance += float(((values - values.mean()) ** 2).sum())
        # The fast Walsh-Hadamard transform: one butterfly along each factor.
        effects = means
        for axis in range(len(letters)):
            low, high = np.take(effects, 0, axis=axis), np.take(effects, 1, axis=axis)
            effects = np.stack([(low + high) / 2, (high - low) / 2], axis=axis)
        squares = means.size * count * effects.ravel()[1:] ** 2
        return np.asarray(100 * squares / (squares.sum() + variance))
