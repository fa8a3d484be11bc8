"""The search: Optuna proposes points, the engine runs them, and the worst one is reduced and measured anew.

The points are scenarios of 60 s on one bottleneck. Optuna proposes them with its tree-structured Parzen estimator [akiba2019],
in batches that the engine runs in parallel. The worst point is reduced by delta debugging towards the plain scenario, on runs
of its own, and measured on 20 further ones. Parts of the scenario that vary are ``"rate"``, ``"rtt"``, ``"buffer"``, ``"loss"``,
``"reroute"``, ``"competitor"`` and ``"pulses"``.

Examples
--------
>>> import tempfile
>>> from dumbbell.search import search
>>> found = search(
...     "vegas", "low-utilization", budget=8, vary=["reroute"], bounds={"rate": 2},
...     output=tempfile.mkdtemp(),
... )
>>> [change["name"] for change in found.changes]
['reroute']
>>> bool(found.value.estimate > 0.5)
True
"""

from __future__ import annotations

import hashlib
import json
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dumbbell import _engine
from dumbbell.arguments import LARGEST_SEED, file_path, thread_count, whole_number
from dumbbell.control import Control
from dumbbell.errors import ResultsError, installation, refusal
from dumbbell.files import make_folder
from dumbbell.parts import External
from dumbbell.quantities import nanoseconds
from dumbbell.search import writing
from dumbbell.search.dimensions import Dimension, Range, Values, bounds_from_file, space
from dumbbell.search.found import Found
from dumbbell.search.measuring import Measure
from dumbbell.search.minimizing import minimized
from dumbbell.search.objectives import Objective, objective
from dumbbell.search.subject import Subject
from dumbbell.statistics import mean_interval

if TYPE_CHECKING:
    import optuna

BUDGET = 300
"""Points of a search unless stated otherwise."""

BATCH = 16
"""Points that are proposed, and run, together. A search has the same result on any number of threads."""

RANDOM = 48
"""Points drawn at random before the sampler learns from them."""

RUNS = 3
"""Runs of a point in the search."""

LARGEST_BUDGET = 1_000_000

KEPT = 0.95
"""Share of the rise of the objective over the plain scenario that a reduced point keeps."""

REDUCTION_RUNS = range(1000, 1010)
"""Runs by which a point is reduced: others than those of the search."""

REPORT_RUNS = range(2000, 2020)
"""Runs by which the objective is reported: others than those by which the point was chosen."""

JOURNAL = "journal.log"

ProgressOfSearch = Callable[[int, int | None, float], None]
"""Told the number of finished points, of all points (``None`` with a budget of time), and the largest objective so far."""


@dataclass(frozen=True, kw_only=True)
class Search:
    """A search that can be resumed.

    Parameters
    ----------
    measure
        Runs the points.
    dimensions
        The dimensions with their bounds.
    folder
        Folder of its journal and its results.
    """

    measure: Measure
    dimensions: tuple[Dimension, ...]
    folder: Path

    @property
    def plain(self) -> dict[str, float | str]:
        """The plain point."""
        return {dimension.name: dimension.plain for dimension in self.dimensions}

    @property
    def identity(self) -> str:
        """Sixteen hexadecimal digits of all that determines the results, by which the journal knows the search."""
        parts = [
            _engine.digest(),
            self.measure.subject.scenario(self.plain).canonical_json,
            self.measure.objective.name,
            repr(self.dimensions),
            [self.measure.seed, RUNS, BATCH, RANDOM],
        ]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]

    def explore(self, points: int | None, seconds: float, progress: ProgressOfSearch) -> list[Values]:
        """Run points until the budget is used up, and return all of them, the worst first.

        Parameters
        ----------
        points
            Number of points; ``None`` if only the time limits them.
        seconds
            Wall-clock time after which no further points are run.
        progress
            Called after each batch.
        """
        import optuna

        begun = time.monotonic()
        with _quiet_optuna(), _naming(self.folder / JOURNAL):
            study = self._study()
            while True:
                trials = study.get_trials(deepcopy=False)
                done = [trial for trial in trials if trial.state.is_finished()]
                best = max((trial.value or 0.0 for trial in done), default=0.0)
                progress(len(done), points, best)
                # Points that an interruption has left without a value come first.
                left = [trial for trial in trials if trial.state == optuna.trial.TrialState.RUNNING]
                is_enough = points is not None and len(done) >= points
                is_late = bool(done) and time.monotonic() - begun >= seconds
                if not left and (is_enough or is_late):
                    break
                asked = [self._suggest(study, trial.number, trial._trial_id) for trial in left]
                wanted = BATCH if points is None else min(BATCH, points - len(done))
                if len(done) % BATCH == 0 or not left:
                    asked += [
                        self._suggest(study, len(trials) + index) for index in range(wanted - len(left))
                    ]
                means = self.measure.means([point for _, point in asked], range(RUNS))
                for (number, _), value in zip(asked, means, strict=True):
                    study.tell(number, value)
            done = sorted(done, key=lambda trial: (-(trial.value or 0.0), trial.number))
            return [self._point(trial.params) for trial in done]

    def _study(self) -> optuna.Study:
        """Return the study of the journal, which begins with the plain point."""
        import optuna
        from optuna.storages import JournalStorage
        from optuna.storages.journal import JournalFileBackend

        make_folder(self.folder)
        journal = self.folder / JOURNAL
        try:
            storage = JournalStorage(JournalFileBackend(str(journal)))
            study = optuna.create_study(
                storage=storage, study_name=self.identity, direction="maximize", load_if_exists=True
            )
            is_new = not study.get_trials(deepcopy=False)
        except OSError:
            raise
        except Exception as error:
            # Optuna trusts the lines of its journal, so it may stumble in any way.
            problem = f"is damaged ({type(error).__name__}: {error})"
            accepted = "the journal of a search; --fresh begins again without it"
            raise refusal("journal", str(journal), accepted, problem=problem, quoted=False) from None
        if is_new:
            varied = {item.name: item.plain for item in self.dimensions if not item.is_fixed}
            study.enqueue_trial(varied)
        return study

    def _suggest(
        self, study: optuna.Study, place: int, begun: int | None = None
    ) -> tuple[int, dict[str, float | str]]:
        """Return the number of a trial and its point, which depends on the seed and on earlier trials only.

        Parameters
        ----------
        study
            The study.
        place
            How many trials there are before it.
        begun
            Identifier of a trial that an interruption may have left without all of its values.
        """
        import optuna

        study.sampler = optuna.samplers.TPESampler(
            seed=_mixed(self.measure.seed, place),
            n_startup_trials=RANDOM,
            multivariate=True,
            constant_liar=True,
        )
        trial = study.ask() if begun is None else optuna.trial.Trial(study, begun)
        for dimension in self.dimensions:
            if dimension.is_fixed:
                continue
            if isinstance(dimension, Range):
                trial.suggest_float(dimension.name, dimension.low, dimension.high, log=dimension.logarithmic)
            else:
                trial.suggest_categorical(dimension.name, dimension.choices)
        return trial.number, self._point(trial.params)

    def _point(self, varied: Mapping[str, Any]) -> dict[str, float | str]:
        point = self.plain
        for dimension in self.dimensions:
            if dimension.name in varied:
                point[dimension.name] = dimension.near(varied[dimension.name])
        return point

    def reduced(self, worst: Values) -> dict[str, float | str]:
        """Return the point to which the worst one reduces, by runs that the search has not seen."""
        plain, found = self.measure.means([self.plain, worst], REDUCTION_RUNS)
        least = plain + KEPT * (found - plain)
        return minimized(
            worst, self.dimensions, lambda points: self.measure.means(points, REDUCTION_RUNS), least
        )


@contextmanager
def _naming(journal: Path) -> Iterator[None]:
    """Let an error of the system name the journal, if it names no file."""
    try:
        yield
    except OSError as error:
        if error.filename is not None:
            raise
        raise ResultsError(error.errno, f"could not be written: {error.strerror}", str(journal)) from error


@contextmanager
def _quiet_optuna() -> Iterator[None]:
    """Keep Optuna from reporting each point, and from warning that options of its sampler are experimental."""
    import optuna

    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            yield
    finally:
        optuna.logging.set_verbosity(before)


def _mixed(seed: int, number: int) -> int:
    """Return a seed of 32 bits for a point."""
    return int.from_bytes(hashlib.sha256(f"{seed}:{number}".encode()).digest()[:4], "little")


def _budget(given: int | str) -> tuple[int | None, float]:
    """Return a number of points and a time in s, of which one is unlimited."""
    accepted = f'a number of points from 1 to {LARGEST_BUDGET}, or a time such as "300 s" or "5 min"'
    if isinstance(given, str) and not given.isdecimal():
        try:
            seconds = nanoseconds(given, "budget") / 1e9
        except ValueError:
            seconds = 0.0
        if seconds <= 0:
            raise refusal("budget", given, accepted)
        return None, seconds
    try:
        return whole_number("budget", int(given), 1, LARGEST_BUDGET), float("inf")
    except (TypeError, ValueError):
        raise refusal("budget", given, accepted) from None


def search(
    algorithm: str | External | type[Control],
    objective_name: str,
    *,
    budget: int | str = BUDGET,
    vary: Sequence[str] | None = None,
    bounds: Mapping[str, Any] | str | Path | None = None,
    seed: int = 1,
    output: str | Path | None = None,
    threads: int | None = None,
    fresh: bool = False,
    progress: ProgressOfSearch | None = None,
) -> Found:
    """Search for the scenario in which an algorithm does worst, and reduce it to what makes it bad.

    The module describes the method. The result depends on the seed and the number of points, not on threads
    and interruptions.

    Parameters
    ----------
    algorithm
        As `dumbbell.evaluate` takes it: a name with parameters, as ``"vegas:alpha=2"``, or a congestion control of your own.
    objective_name
        ``"low-utilization"``, ``"starvation"`` or ``"delay"``.
    budget
        Number of points; or a time as ``"5 min"``, after which no further points are run.
    vary
        Parts of the scenario that vary, as the module lists them; those of the objective by default.
    bounds
        Bounds by the name of a dimension (a number, two numbers, or names), or the name of a TOML file that has them.
    seed
        Seed of the search and of its runs, from 0 to 2**64 - 1.
    output
        Folder of results; ``results/search-ALGORITHM-OBJECTIVE`` by default. A search that was interrupted, or whose budget
        has grown, goes on there.
    threads
        Number of threads; all cores by default.
    fresh
        Whether to begin again instead.
    progress
        Called after each batch.

    Returns
    -------
    Found
        The worst scenario. ``worst.toml`` in the folder reproduces it with ``dumbbell run``; ``search.json`` has all points.

    Raises
    ------
    ScenarioError, ModuleNotFoundError, OSError
        An argument is not accepted, the package optuna is missing, or a file cannot be read or written.
    """
    _need_optuna()
    begun = time.monotonic()
    points, seconds = _budget(budget)
    made = _search(Subject.of(algorithm), objective(objective_name), vary, bounds, seed, output, threads)
    if fresh:
        (made.folder / JOURNAL).unlink(missing_ok=True)
    tried = made.explore(points, seconds, progress or (lambda _done, _all, _best: None))
    return _found(made, tried, begun)


def _need_optuna() -> None:
    try:
        import optuna  # noqa: F401 - only whether it is there
    except ModuleNotFoundError as error:
        text = f"a search needs the package optuna: {installation('search')}"
        raise ModuleNotFoundError(text, name=error.name) from None


def _found(made: Search, tried: Sequence[Values], begun: float) -> Found:
    """Return the worst point, reduced and measured on runs of its own, after it was written."""
    subject, wanted = made.measure.subject, made.measure.objective
    point = made.reduced(tried[0])
    plain_runs, runs = made.measure.values([made.plain, point], REPORT_RUNS)
    found = Found(
        subject=subject.text,
        objective=wanted.name,
        dimensions=made.dimensions,
        plain=made.plain,
        worst=tried[0],
        point=point,
        scenario=subject.scenario(point),
        plain_value=mean_interval(plain_runs),
        value=mean_interval(runs),
        points=len(tried),
        seed=made.measure.seed,
        elapsed_s=time.monotonic() - begun,
        file=made.folder / writing.SCENARIO,
    )
    writing.write(found, wanted)
    return found


def _search(
    subject: Subject,
    wanted: Objective,
    vary: Sequence[str] | None,
    bounds: Mapping[str, Any] | str | Path | None,
    seed: int,
    output: str | Path | None,
    threads: int | None,
) -> Search:
    given = bounds_from_file(bounds) if isinstance(bounds, str | Path) else dict(bounds or {})
    if output is None:
        name = "".join(sign if sign.isalnum() else "-" for sign in subject.text)[:80]
        folder = Path("results") / f"search-{name}-{wanted.name}"
    else:
        folder = file_path("output", output, "the name of a folder")
    return Search(
        measure=Measure(
            subject=subject,
            objective=wanted,
            seed=whole_number("seed", seed, 0, LARGEST_SEED),
            threads=thread_count(threads),
        ),
        dimensions=space(wanted.parts if vary is None else vary, given, excluded=wanted.excluded),
        folder=folder,
    )
