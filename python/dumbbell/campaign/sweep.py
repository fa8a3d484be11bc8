"""Sweeps: one scenario with every combination of some values, as one frame."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from dumbbell.arguments import LARGEST_SEED, whole_number
from dumbbell.errors import refusal
from dumbbell.runs import Job, Runs, run_many
from dumbbell.scenario import Data, Scenario

if TYPE_CHECKING:
    from distributed import Client


def sweep(
    base: Scenario | Data | str | os.PathLike[str],
    axes: Mapping[str, Iterable[Any]],
    *,
    runs: int | Iterable[int] = 1,
    seed: int = 1,
    store: str | os.PathLike[str] | None = None,
    on: Client | str | None = None,
    threads: int | None = None,
    progress: bool = True,
) -> Runs:
    """Run a scenario with every combination of some values, and return all results with these values as columns.

    With a `store`, completed runs are kept: the same call resumes after an interruption, and a call with further values
    or replications runs only those. Without one, everything runs, and traces are returned too.

    Parameters
    ----------
    base : Scenario, path or mapping
        The scenario that varies, see `Scenario.of`.
    axes : mapping of str to iterable
        Values by address, as ``{"links.r1-r2.rate": ["1 Mbit/s", "2 Mbit/s"]}``; see `Scenario.with_values`. Every
        combination is a point. Frames and plots show a value by its label if the axis is a table of values by labels,
        as ``{"flows.fg.tcp": {"no pacing": Tcp(variant="bbr", pacing=...), "Reno": "reno"}}``. Without labels, they
        show a table by its kind and members, and a control in Python by the name of its class.
    runs : int or iterable of int
        Replications of each point: their number, or a list of run numbers.
    seed : int
        Seed of all runs.
    store : path, optional
        Folder for completed runs, see `dumbbell.Campaign`. It keeps no traces.
    on : distributed.Client or str, optional
        A Dask cluster, or the address of its scheduler; this needs a `store`. The default is this machine.
    threads : int, optional
        Threads on this machine; all cores by default.
    progress : bool
        Whether to show progress with the time left on standard error.

    Returns
    -------
    Runs
        All runs of the sweep. `Runs.flows` and `Runs.links` are tidy frames: one row per run and flow, or link, with a
        column for each axis. `Runs.plot` draws them.

    Raises
    ------
    ScenarioError
        An argument is not accepted, an address leads nowhere, or a value is not accepted there.
    OSError
        A file cannot be read or written.
    KeyboardInterrupt
        Ctrl-C. With a store, completed runs are kept.

    Warns
    -----
    ScenarioWarning
        Scenarios state something that has no effect.
    IdenticalRunsWarning
        Replications do not differ, because nothing is drawn at random.

    Examples
    --------
    >>> import dumbbell
    >>> from dumbbell import Flow, Uniform, topologies
    >>> shape = topologies.dumbbell(pairs=1, rate="1 Mbit/s", delay="20 ms")
    >>> flow = Flow(name="fg", from_="s1", to="d1", tcp="reno", start=Uniform(uniform=("0 s", "1 s")))
    >>> rates = {"links.r1-r2.rate": ["1 Mbit/s", "2 Mbit/s"], "flows.fg.tcp": ["reno", "vegas"]}
    >>> runs = dumbbell.sweep(shape.scenario(duration="5 s", flows=[flow]), rates, runs=3, progress=False)
    >>> runs.flows.groupby(["links.r1-r2.rate", "flows.fg.tcp"]).size()
    links.r1-r2.rate  flows.fg.tcp
    1 Mbit/s          reno            3
                      vegas           3
    2 Mbit/s          reno            3
                      vegas           3
    dtype: int64
    """
    # Data frames take longer to import than a short run takes.
    from dumbbell.campaign import Campaign
    from dumbbell.campaign.points import grid_of, points_of

    if store is not None:
        campaign = Campaign(base, axes, runs=runs, seed=seed, store=store)
        return campaign.run(on, threads=threads, progress=progress).results()
    if on is not None:
        raise refusal("on", type(on).__name__, "`store` to be given as well", quoted=False)
    root = whole_number("seed", seed, 0, LARGEST_SEED)
    points = points_of(Scenario.of(base), [grid_of(axes, runs)])
    jobs = [Job(point.scenario, root, run, point.parameters) for point in points for run in point.runs]
    return run_many(jobs, threads=threads, progress=progress)
