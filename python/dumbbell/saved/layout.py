"""The files of saved results: a document, the scenarios as TOML or JSON, and the tables as Parquet.

The document, ``results.json``, names every other file with its SHA-256 digest, so that a changed byte is found. It is written
last: an interrupted call leaves a folder that is no saved result.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dumbbell import engine, external, permission
from dumbbell.errors import ResultsError, ScenarioError, refusal
from dumbbell.exports import parquet_bytes, stems
from dumbbell.files import make_folder, plain, read_input, remove, replacing
from dumbbell.scenario import Scenario

if TYPE_CHECKING:
    import pyarrow as pa

DOCUMENT = "results.json"
FORMAT = "dumbbell-results-1"
RUN, RUNS = "run", "runs"

Read = Callable[[str], bytes]
"""Returns the content of a file by its name, with ``/`` between folders."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Saved:
    """Results as plain values.

    Parameters
    ----------
    kind
        ``"run"`` for one run, ``"runs"`` for many.
    engine
        Identity of the engine that made them, see `dumbbell.engine.identity`.
    scenarios
        The distinct scenarios.
    jobs
        For each job the place of its scenario, its seed, its run number and its parameters.
    completed
        Number of completed jobs.
    tables
        ``flows`` and ``links``.
    traces
        Traces by quantity.
    summary, captured
        Of one run, see `dumbbell.Run`.
    environment
        Python and packages, see `dumbbell.environment`.
    """

    kind: str
    engine: str
    scenarios: Sequence[Scenario]
    jobs: Sequence[tuple[int, int, int, Mapping[str, Any]]]
    completed: int
    tables: Mapping[str, pa.Table]
    traces: Mapping[str, pa.Table]
    summary: Mapping[str, Any] | None = None
    captured: Mapping[str, int] = field(default_factory=dict)
    environment: Mapping[str, Any] = field(default_factory=lambda: _environment())

    def every_table(self) -> dict[str, pa.Table]:
        """Return all tables by name."""
        return {**self.tables, **self.traces}

    def tables_of_jobs(self) -> dict[str, pa.Table]:
        """Return all tables by name, those of one run as the tables of the job 0."""
        import numpy as np

        return {
            name: table
            if "job" in table.column_names
            else table.add_column(0, "job", [np.zeros(table.num_rows, dtype=np.uint32)])
            for name, table in self.every_table().items()
        }


def _environment() -> dict[str, Any]:
    from dumbbell.environment import environment

    return environment()


def _written(scenario: Scenario) -> tuple[str, bytes]:
    """Return the ending and the content of the file of a scenario.

    It is JSON if it states code of the user's, whose parameters have an order that tables of TOML do not keep. Libraries are
    without the folders of their files.
    """
    if not scenario.stated.names_external():
        return "toml", scenario.to_toml().encode()
    data = external.canonical(scenario.to_dict())
    return "json", json.dumps(data, indent=1, ensure_ascii=False).encode()


def contents(saved: Saved) -> dict[str, bytes]:
    """Return the files of results by name, the document last."""
    files: dict[str, bytes] = {}
    scenarios = []
    names = {
        f"{number}-{scenario.name or 'scenario'}": scenario for number, scenario in enumerate(saved.scenarios)
    }
    if len(names) == 1:
        names = {scenario.name or "scenario": scenario for scenario in names.values()}
    for name, stem in stems(names):
        scenario = names[name]
        ending, content = _written(scenario)
        file = f"scenarios/{stem}.{ending}"
        files[file] = content
        scenarios.append({"file": file, "name": scenario.name, "hash": scenario.hash})
    listed: dict[str, dict[str, str]] = {"tables": {}, "traces": {}}
    for group, tables in (("tables", saved.tables), ("traces", saved.traces)):
        for name, stem in stems(tables):
            file = f"{stem}.parquet" if group == "tables" else f"traces/{stem}.parquet"
            files[file] = parquet_bytes(tables[name])
            listed[group][name] = file
    document = {
        "format": FORMAT,
        "kind": saved.kind,
        "engine": saved.engine,
        "environment": saved.environment,
        "completed": saved.completed,
        "scenarios": scenarios,
        "jobs": [[*job[:3], dict(job[3])] for job in saved.jobs],
        "summary": saved.summary,
        "captured": saved.captured,
        **listed,
        "sha256": {name: hashlib.sha256(content).hexdigest() for name, content in files.items()},
    }
    files[DOCUMENT] = (json.dumps(plain(document), indent=1, ensure_ascii=False) + "\n").encode()
    return files


def write(saved: Saved, folder: Path) -> None:
    """Write results to a folder.

    Raises
    ------
    ResultsError
        A file could not be written.
    """
    files = contents(saved)
    make_folder(folder)
    remove(folder / DOCUMENT)
    for name, content in files.items():
        with replacing(folder / name) as file:
            file.write(content)


def is_saved(folder: Path) -> bool:
    """Return whether a folder has saved results."""
    return (folder / DOCUMENT).is_file()


def of_folder(folder: Path) -> Saved:
    """Return the results in a folder; see `read` for what is raised."""
    if not is_saved(folder):
        accepted = (
            f"a folder with {DOCUMENT}, which is written last: see `save` of dumbbell.Run and dumbbell.Runs"
        )
        raise refusal("folder", str(folder), accepted, problem="has no saved results")
    return read(lambda name: read_input(folder / name), str(folder))


def read(content_of: Read, source: str) -> Saved:
    """Return results from their files.

    Parameters
    ----------
    content_of
        Returns the content of a file.
    source
        Where they are, for errors.

    Raises
    ------
    ResultsError
        A file is missing, or is not the one that was saved.
    ScenarioError
        The document is of another format, or a scenario is not accepted by this engine.
    """
    document = _document(content_of(DOCUMENT), f"{source}/{DOCUMENT}")
    digests = document["sha256"]

    def checked(name: str) -> bytes:
        try:
            content = content_of(name)
        except OSError as error:
            raise ResultsError(
                error.errno, f"could not be read: {error.strerror}", f"{source}/{name}"
            ) from error
        if hashlib.sha256(content).hexdigest() != digests.get(name):
            raise ResultsError(
                0, f"is damaged: its SHA-256 digest is not that in {DOCUMENT}; accepted: the file as it was saved",
                f"{source}/{name}",
            )  # fmt: skip
        return content

    scenarios = [
        _scenario(checked(one["file"]), one, document["engine"], f"{source}/{one['file']}")
        for one in document["scenarios"]
    ]
    tables, traces = (
        {name: _table(checked(file), f"{source}/{file}") for name, file in document[group].items()}
        for group in ("tables", "traces")
    )
    return Saved(
        kind=document["kind"],
        engine=document["engine"],
        scenarios=scenarios,
        jobs=[(job[0], job[1], job[2], job[3]) for job in document["jobs"]],
        completed=document["completed"],
        tables=tables,
        traces=traces,
        summary=document["summary"],
        captured=document["captured"],
        environment=document["environment"],
    )


def _document(content: bytes, source: str) -> dict[str, Any]:
    """Return the document, whose fields are as they are used."""
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        found = None
    kinds: dict[str, Any] = {
        "kind": str, "engine": str, "environment": dict, "completed": int, "scenarios": list, "jobs": list,
        "captured": dict, "tables": dict, "traces": dict, "sha256": dict,
    }  # fmt: skip
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        stated = found.get("format", "no format") if isinstance(found, dict) else "no JSON object"
        raise refusal(source, stated, f"saved results of the format {FORMAT}")
    for name, kind in kinds.items():
        if not isinstance(found.get(name), kind):
            raise refusal(f"{source}: {name}", type(found.get(name)).__name__, kind.__name__, quoted=False)
    places = range(len(found["scenarios"]))
    for scenario in found["scenarios"]:
        if not isinstance(scenario, dict) or not {"file", "hash"} <= scenario.keys():
            raise refusal(f"{source}: scenarios", str(scenario), "tables with file and hash")
    for job in found["jobs"]:
        is_job = isinstance(job, list) and len(job) == 4 and job[0] in places and isinstance(job[3], dict)
        if not is_job:
            raise refusal(f"{source}: jobs", str(job), "the place of a scenario, seed, run and parameters")
    for name in (
        *(one["file"] for one in found["scenarios"]), *found["tables"].values(), *found["traces"].values()
    ):  # fmt: skip
        _inside(name, source)
    if found["kind"] not in (RUN, RUNS) or {"flows", "links"} != found["tables"].keys():
        raise refusal(f"{source}: kind", found["kind"], f"{RUN} or {RUNS}, with the tables flows and links")
    if found["kind"] == RUN and (len(found["jobs"]) != 1 or not isinstance(found.get("summary"), dict)):
        raise refusal(f"{source}: jobs", len(found["jobs"]), "one job with its summary, as the kind is run")
    return found


def _inside(name: Any, source: str) -> None:
    """Refuse the name of a file that is not inside the folder."""
    parts = name.split("/") if isinstance(name, str) else []
    if not parts or any(part in ("", ".", "..") or "\\" in part or ":" in part for part in parts):
        raise refusal(
            source, str(name), "names of files in the same folder", problem="leads out of the folder"
        )


def _scenario(content: bytes, stated: Mapping[str, Any], made_by: str, source: str) -> Scenario:
    """Return a saved scenario. Code that it names is not loaded."""
    # The parser of TOML in it is not needed by runs.
    from dumbbell.documents import parsed

    is_ours = made_by == engine.identity()
    try:
        with permission.without_loading():
            if source.endswith(".json"):
                found = Scenario.from_dict(parsed(content.decode(errors="replace"), "json", source))
            else:
                found = Scenario.from_text(content, form="toml", source=source)
            if is_ours and found.hash != stated["hash"]:
                raise refusal(source, found.hash, f"a scenario with the hash {stated['hash']}")
    except ScenarioError as error:
        if is_ours:
            raise
        by = f"it was saved by the engine {made_by}; this one is {engine.identity()}"
        raise ScenarioError(f"{error}; {by}") from None
    return found


def _table(content: bytes, source: str) -> pa.Table:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return pq.read_table(io.BytesIO(content), use_threads=False)
    except (OSError, ValueError) as error:
        text = f"could not be read as Parquet by pyarrow {pa.__version__}: {error}"
        raise ResultsError(0, text, source) from error
