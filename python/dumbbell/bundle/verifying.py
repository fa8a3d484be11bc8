"""Verifying a bundle: every digest, and every table computed again."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dumbbell import engine, library, permission
from dumbbell.arguments import file_path
from dumbbell.bundle.bag import PAYLOAD, read
from dumbbell.bundle.contents import CODE, RESULTS
from dumbbell.errors import ResultsError
from dumbbell.external import stated_in
from dumbbell.runs import Runs, run_many
from dumbbell.saved import differences
from dumbbell.saved import read as read_saved

if TYPE_CHECKING:
    from dumbbell.watched import Progress

SIDES = ("in the bundle", "here")


@dataclass(frozen=True, kw_only=True)
class Verification:
    """What the verification of a bundle found.

    Parameters
    ----------
    file
        The bundle.
    engine
        Identity of the engine that made it; empty if its results could not be read.
    files, runs
        Number of files whose digests were compared, and of runs that were repeated.
    problems
        What differs, a sentence each; nothing if the bundle is verified.
    notes
        What a reader should know, such as another engine.
    """

    file: Path
    engine: str
    files: int
    runs: int
    problems: Sequence[str]
    notes: Sequence[str] = ()

    @property
    def is_verified(self) -> bool:
        """Whether nothing differs."""
        return not self.problems

    def to_dict(self) -> dict[str, Any]:
        """Return the verification as plain data, as ``dumbbell bundle verify --json`` prints it."""
        return {
            "file": str(self.file),
            "verified": self.is_verified,
            "engine": self.engine,
            "engine_here": engine.identity(),
            "files": self.files,
            "runs": self.runs,
            "problems": list(self.problems),
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        if self.is_verified:
            return f"verified: {self.runs} runs, every table is equal bit for bit"
        return "\n".join(["not verified:", *self.problems])


def verify(
    file: str | os.PathLike[str], *, threads: int | None = None, progress: bool | Progress = True
) -> Verification:
    """Verify a bundle: compare every file with its digest, repeat every run, and compare every table bit for bit.

    Nothing is extracted. If a digest differs, nothing is run.

    Parameters
    ----------
    file
        The archive.
    threads, progress
        As of `run_many`.

    Returns
    -------
    Verification

    Raises
    ------
    ScenarioError
        The file is no bundle, or is refused; a scenario is not accepted by this engine, or names code that is not allowed.
    OSError
        It cannot be read.
    """
    path = file_path("bundle", file)
    found = read(path)
    problems = found.problems()
    if problems:
        return Verification(file=path, engine="", files=len(found.files), runs=0, problems=problems)

    def content_of(name: str) -> bytes:
        try:
            return found.files[f"{PAYLOAD}{RESULTS}{name}"]
        except KeyError:
            raise ResultsError(0, "is not in the bundle", f"{path}/{PAYLOAD}{RESULTS}{name}") from None

    saved = read_saved(content_of, f"{path}/{PAYLOAD}{RESULTS}".rstrip("/"))
    stored = Runs.of_saved(saved)
    _take_code(stored, found.files)
    again = run_many(stored.jobs, threads=threads, progress=progress, warn=False)
    tables = saved.tables_of_jobs()
    # A campaign keeps no traces of the probes in its scenarios.
    computed = {name: table for name, table in again.to_saved().every_table().items() if name in tables}
    notes = []
    if saved.engine != engine.identity():
        notes.append(
            f"the bundle was made by the engine {saved.engine}; it was verified by {engine.identity()}"
        )
    return Verification(
        file=path,
        engine=saved.engine,
        files=len(found.files),
        runs=again.completed,
        problems=[f"{PAYLOAD}{RESULTS}{text}" for text in differences(tables, computed, SIDES)],
        notes=notes,
    )


def _take_code(stored: Runs, files: Mapping[str, bytes]) -> None:
    """Let scenarios find the libraries of the bundle, those that need permission only with it."""
    libraries = {
        library.digest_of(content): (name, content)
        for name, content in files.items()
        if name.startswith(f"{PAYLOAD}{CODE}") and not name.endswith(".py")
    }
    for field, one in stated_in(job.scenario for job in stored.jobs):
        if one["digest"] not in libraries or one["digest"] in library.known:
            continue
        name, content = libraries[one["digest"]]
        if not library.is_wasm(content):
            permission.require(one["name"], f"{field}.name")
        library.remember(content, Path(name).name)
