"""Making a bundle."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dumbbell import engine
from dumbbell.arguments import file_path
from dumbbell.bundle import bag
from dumbbell.bundle.contents import facts, payload
from dumbbell.comparison.sides import given
from dumbbell.errors import refusal
from dumbbell.exports import stems
from dumbbell.files import prepare
from dumbbell.runs import Run, Runs, run_many

if TYPE_CHECKING:
    from dumbbell.campaign import Campaign
    from dumbbell.scenario import Data, Scenario
    from dumbbell.watched import Progress


def create(
    source: Scenario | Data | str | os.PathLike[str] | Run | Sequence[Run] | Runs | Campaign,
    file: str | os.PathLike[str],
    *,
    runs: int | None = None,
    seed: int | None = None,
    threads: int | None = None,
    progress: bool | Progress = True,
) -> Path:
    """Write a bundle of results: scenarios, seeds, engine, package versions, tables, figures, and a README.

    Parameters
    ----------
    source
        A scenario, which is run; or results: a `Run` or several of them, `Runs`, a complete `Campaign` or the name of its file,
        or a folder that `Run.save` or `Runs.save` wrote.
    file
        The archive, whose name ends in ``.zip``. It appears when it is complete.
    runs, seed
        Replications of a scenario and their seed; 1 of both by default. Not with results.
    threads, progress
        As of `run_many`.

    Returns
    -------
    Path
        The archive.

    Raises
    ------
    ScenarioError
        The source is not accepted, incomplete, of another engine or in real time; or the bundle would be too large.
    ResultsError
        The file could not be written.

    Examples
    --------
    >>> import tempfile, dumbbell.bundle
    >>> from dumbbell import Flow, Uniform, topologies
    >>> shape = topologies.dumbbell(pairs=1, rate="1.6 Mbit/s", delay="20 ms")
    >>> flow = Flow(name="fg", from_="s1", to="d1", tcp="reno", start=Uniform(uniform=("0 s", "1 s")))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = dumbbell.bundle.create(
    ...         shape.scenario(duration="2 s", flows=[flow]), f"{folder}/reno.zip", runs=2, progress=False
    ...     )
    ...     print(dumbbell.bundle.verify(file, progress=False))
    verified: 2 runs, every table is equal bit for bit
    """
    path = file_path("bundle", file)
    if path.suffix.lower() != ".zip":
        raise refusal("bundle", str(path), "a name that ends in .zip")
    prepare(path)
    side = given(source, "source")
    done: Runs | None
    if side.scenario is not None:
        done = run_many(side.scenario, runs=runs, seed=seed, threads=threads, progress=progress)
    else:
        for name, value in (("runs", runs), ("seed", seed)):
            if value is not None:
                raise refusal(name, value, "none with results")
        done = side.runs
        _require_complete(source, side.name)
    if done is None or (side.first is not None and not isinstance(side.first, Run)):
        raise refusal("source", type(source).__name__, "simulated runs, which can be repeated", quoted=False)
    if done.engine != engine.identity():
        raise refusal(
            "source", done.engine, f"runs of this engine, {engine.identity()}", problem="is another engine"
        )
    name = dict(stems({Path(side.name).stem: None}))[Path(side.name).stem]
    bag.write(path, name, payload(done, name), facts(done, name))
    return path


def _require_complete(source: object, name: str) -> None:
    """Refuse a campaign with missing runs."""
    from dumbbell.campaign import Campaign

    campaign = source
    if isinstance(source, str | os.PathLike) and Path(source).is_file():
        campaign = Campaign.from_toml(Path(source))
    if isinstance(campaign, Campaign):
        status = campaign.status()
        if status.missing:
            found = f"{status.missing} of {status.runs} runs"
            raise refusal(
                name, found, "a complete campaign: dumbbell campaign", problem="are missing", quoted=False
            )
