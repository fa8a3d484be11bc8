"""What is in a bundle, besides the results: figures, code of the user's, and a README with the commands."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from dumbbell import citation, engine, external, library
from dumbbell.environment import environment
from dumbbell.errors import ScenarioError
from dumbbell.exports import stems
from dumbbell.files import read_bytes
from dumbbell.plots import to_svg
from dumbbell.plots.picture import Picture
from dumbbell.runs import Runs, run
from dumbbell.saved import contents
from dumbbell.scenario import Scenario

RESULTS, CODE, FIGURES = "results/", "code/", "figures/"

MOST_FIGURES = 8
"""Scenarios with a figure of their first run."""


def payload(runs: Runs, name: str) -> dict[str, bytes]:
    """Return the payload of a bundle of completed runs.

    Parameters
    ----------
    runs
        The runs.
    name
        Name of the bundle.

    Raises
    ------
    ScenarioError
        Code of a scenario is not here or not allowed.
    """
    results = {f"{RESULTS}{file}": content for file, content in contents(runs.to_saved()).items()}
    scenarios = list({job.scenario.canonical_json: job.scenario for job in runs.jobs}.values())
    code = {f"{CODE}{file}": content for file, content in _code(scenarios).items()}
    figures = {f"{FIGURES}{file}.svg": content for file, content in _figures(runs, scenarios).items()}
    readme = _readme(runs, name, [*results, *figures, *code])
    return {
        "README.md": readme.encode(),
        "CITATION.cff": citation.text().encode(),
        **results,
        **figures,
        **code,
    }


def _code(scenarios: Sequence[Scenario]) -> dict[str, bytes]:
    """Return the files of congestion controls that scenarios name."""
    classes, libraries = external.prepare(scenarios)
    files: dict[str, bytes] = {}
    for name, content in libraries:
        # Other libraries may have the same name.
        files[f"{library.digest_of(content)}/{dict(stems({name: None}))[name]}"] = content
    for cls in classes:
        source = inspect.getsourcefile(sys.modules[cls.__module__])
        if source is not None:
            files[f"{cls.__module__.replace('.', '/')}.py"] = read_bytes(Path(source))
    return files


def _figures(runs: Runs, scenarios: Sequence[Scenario]) -> dict[str, bytes]:
    """Return the first run of each scenario over time, and the means over runs if something varies."""
    pictures: dict[str, Picture] = {}
    first = {job.scenario.canonical_json: job for job in reversed(runs.jobs)}
    for number, scenario in enumerate(scenarios[:MOST_FIGURES]):
        job = first[scenario.canonical_json]
        try:
            pictures[f"{number}-{scenario.name or 'scenario'}"] = run(
                scenario, seed=job.seed, run=job.run
            ).plot()
        except ScenarioError:
            # A scenario without anything to draw.
            continue
    if any(job.parameters for job in runs.jobs):
        pictures["means"] = runs.plot()
    return {stem: to_svg(pictures[name].figure).encode() for name, stem in stems(pictures)}


def _readme(runs: Runs, name: str, files: Sequence[str]) -> str:
    scenarios = [file for file in files if file.startswith(f"{RESULTS}scenarios/")]
    job = runs.jobs[0]
    by_runs = {(one.seed, one.run) for one in runs.jobs}
    packages = ", ".join(f"{package} {version}" for package, version in environment()["packages"].items())
    lines = [
        f"# {name}",
        "",
        f"{_counted(len(runs.jobs), 'run')} of {_counted(len(scenarios), 'scenario')}, simulated with Dumbbell "
        f"{engine.version()}.",
        "",
        "With this version installed, verify the bundle, which repeats every run and compares every table bit for bit:",
        "",
        "    dumbbell bundle verify BUNDLE.zip",
        "",
        "Repeat a single run, and draw it:",
        "",
        f"    dumbbell run data/{scenarios[0]} --seed {job.seed} --run {job.run} --plot run.png",
        "",
        "Read the results in Python:",
        "",
        "    import dumbbell",
        '    runs = dumbbell.Runs.load("data/results")',
        "    print(runs.flows)",
        "",
        "| file | content |",
        "|---|---|",
        f"| `{RESULTS}results.json` | seeds and run numbers ({len(by_runs)} pairs), parameters, engine, packages, digests |",
        f"| `{RESULTS}scenarios/` | the scenarios |",
        f"| `{RESULTS}flows.parquet`, `links.parquet`, `traces/` | results; `dumbbell list columns` describes them |",
    ]
    if any(file.startswith(FIGURES) for file in files):
        about = "pictures of the results; verification checks their digests and does not draw them again"
        lines.append(f"| `{FIGURES}` | {about} |")
    if any(file.startswith(CODE) for file in files):
        lines += [
            f"| `{CODE}` | congestion controls that the scenarios name |",
            "",
            "Code in Python and shared libraries have the rights of the caller, and run only with `--allow NAME`. Classes in "
            f"Python are found in the working folder: unzip the bundle and verify it in `data/{CODE.rstrip('/')}`.",
        ]
    lines += ["", f"Engine: `{runs.engine}`. Python {environment()['python']}; {packages}.", ""]
    return "\n".join(lines)


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def facts(runs: Runs, name: str) -> Mapping[str, str]:
    """Return the lines of ``bag-info.txt``."""
    return {
        "External-Identifier": name,
        "External-Description": f"{_counted(len(runs.jobs), 'simulated run')} with Dumbbell {engine.version()}",
        "Bagging-Software": f"dumbbell {engine.version()}",
        "Dumbbell-Engine": runs.engine,
    }
