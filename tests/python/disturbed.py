"""Operations that are disturbed by a failing call of the operating system, and what must hold then.

Whatever fails, and whether it fails once or for good: nothing that was stored is lost, nothing incomplete is believed, the user
reads one sentence, and the same operation, undisturbed, ends as if nothing had happened.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Protocol
from unittest.mock import ANY

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from dumbbell.campaign import Store, store
from dumbbell.cli import app
from dumbbell.errors import ResultsError
from failing_calls import ERRORS, MEMORY, Failure, Outcome, run

COLUMNS = ("value", "parts")


class Operation(Protocol):
    """Something that is disturbed, in a folder of its own."""

    place: Path

    def undisturbed(self) -> Outcome:
        """Run it, keep what it leaves as the reference, and return its calls."""

    def problems(self, failure: Failure) -> list[str]:
        """Run it with a failing call, then without, and return what does not hold."""


def failures(
    outcome: Outcome, place: Path, *, names: Mapping[str, Sequence[str]] = ERRORS, for_good: bool
) -> Iterator[Failure]:
    """Yield each call of an operation on files of its folder with each of its errors.

    Parameters
    ----------
    outcome
        An undisturbed run.
    place
        Calls that name nothing in this folder are left out: they are Python's own.
    names
        The calls, and the errors of each.
    for_good
        Whether all later calls fail, too.
    """
    numbers: Counter[tuple[str, str]] = Counter()
    for name, line in outcome.calls:
        thread = line.split(maxsplit=1)[0]
        numbers[thread, name] += 1
        if name not in names or (str(place) not in line and name not in MEMORY):
            continue
        for error in names[name]:
            # A call that is interrupted for ever is repeated for ever.
            if not (for_good and error == "EINTR"):
                yield Failure(name, numbers[thread, name], error, for_good)


# --- a store ---


def runs(*numbers: int) -> pd.DataFrame:
    """Return some runs as a campaign stores them."""
    return pd.DataFrame(
        {
            "hash": "0123456789abcdef",
            "seed": np.uint64(1),
            "run": np.array(numbers, dtype=np.uint64),
            "value": [float(number) for number in numbers],
            "parts": [[float(number)] * number for number in numbers],
        }
    )


def files(place: Path) -> dict[str, bytes]:
    """Return the content of the files below a folder, by name."""
    return {
        str(file.relative_to(place)): file.read_bytes() for file in sorted(place.rglob("*")) if file.is_file()
    }


@dataclass
class Filling:
    """What a process says that adds runs to a store."""

    stored: list[int] = field(default_factory=lambda: [0, 1, 2])
    errors: list[BaseException] = field(default_factory=list)
    frame: list[int] = field(default_factory=list)
    gave_up: bool = False


@dataclass
class Filled:
    """A store with several parts, leftovers of a killed process and a damaged part, to which runs are added.

    A failed step is repeated once, as the engine passes on again what was not stored, unless calls fail for good. Parts are
    merged by twos.
    """

    place: Path
    added: int = 3
    reference: dict[str, bytes] = field(default_factory=dict)

    def _store(self, **settings: Any) -> Store:
        return Store(self.place / "store", COLUMNS, identity="engine", **settings)

    def _begin(self) -> None:
        shutil.rmtree(self.place, ignore_errors=True)
        self.place.mkdir()
        with self._store() as begun, merged_by_twos():
            for number in range(3):
                begun.add(runs(number))
            folder = begun.place
        (folder / ".parts.json.1.partial").write_bytes(b"{")
        shutil.copy(next(folder.glob("00000002*")), folder / "00000009-00000009-damaged.parquet")

    def _fill(self, tries: int) -> Filling:
        said = Filling()

        def tried(step: Callable[[], Any]) -> Any:
            for last in range(tries - 1, -1, -1):
                try:
                    return step()
                except (OSError, MemoryError) as error:
                    said.errors.append(error)
                    if not last:
                        raise
            return None

        try:
            with tried(self._store) as opened:
                for number in range(3, 3 + self.added):
                    tried(partial(opened.add, runs(number)))
                    said.stored.append(number)
                tried(opened.compact)
                said.frame = opened.frame()["run"].tolist()
        except (OSError, MemoryError):
            said.gave_up = True
        return said

    def undisturbed(self) -> Outcome:
        with merged_by_twos():
            self._begin()
            outcome = run(lambda: self._fill(1), among=[*ERRORS, *MEMORY])
            self.reference = files(self.place)
        return outcome

    def problems(self, failure: Failure) -> list[str]:
        with merged_by_twos():
            self._begin()
            outcome = run(lambda: self._fill(1 if failure.and_later else 2), failure)
            return [*ended_badly(outcome), *([] if outcome.value is None else self._lost(failure, outcome.value))]

    def _lost(self, failure: Failure, said: Filling) -> Iterator[str]:
        for error in said.errors:
            if not isinstance(error, MemoryError):
                yield from not_a_sentence(error, self.place)
        if said.gave_up and not failure.and_later:
            yield f"a single failure was not overcome: {said.errors}"
        if not said.gave_up and sorted(said.frame) != list(range(3 + self.added)):
            yield f"the store says that it contains {said.frame}"
        with self._store(read_only=True) as snapshot:
            found = snapshot.frame()["run"].tolist()
        if not set(said.stored) <= set(found) or len(set(found)) < len(found):
            yield f"{said.stored} were stored, and {found} were found"
        with self._store() as resumed:
            if any("damaged.parquet" not in text for text in resumed.warnings):
                yield f"an error was reported as damage: {resumed.warnings}"
            missing = set(range(3 + self.added)) - set(resumed.frame()["run"].tolist())
            for number in sorted(missing):
                resumed.add(runs(number))
            resumed.compact()
        left = files(self.place)
        if left != self.reference:
            yield f"the resumed store has {sorted(left)} with other content than {sorted(self.reference)}"


# --- commands ---


@dataclass
class Command:
    """A command that writes files over earlier ones.

    Parameters
    ----------
    place
        Folder in which it runs.
    arguments
        Its arguments, relative to the folder.
    inputs
        Texts of the files that are there, by name.
    results
        What has to be the same whatever happened, read from the folder; by default the content of all files.
    """

    place: Path
    arguments: Sequence[str]
    inputs: Mapping[str, str]
    results: Callable[[Path], Any] = files
    reference: Any = None
    outputs: dict[str, bytes] = field(default_factory=dict)

    def _begin(self) -> None:
        shutil.rmtree(self.place, ignore_errors=True)
        for name, text in self.inputs.items():
            file = self.place / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")

    def _run(self) -> tuple[int, str, BaseException | None]:
        done = CliRunner().invoke(app, [text.replace("PLACE", str(self.place)) for text in self.arguments])
        unexpected = None if isinstance(done.exception, SystemExit) else done.exception
        return done.exit_code, done.stderr, unexpected

    def undisturbed(self) -> Outcome:
        self._begin()
        # Once before, so that nothing is imported or compiled for the first time while calls fail.
        self._run()
        self._begin()
        outcome = run(self._run, among=[*ERRORS, *MEMORY])
        assert outcome.value == (0, ANY, None), outcome.value
        self.reference, self.outputs = self.results(self.place), files(self.place)
        return outcome

    def problems(self, failure: Failure) -> list[str]:
        self._begin()
        outcome = run(self._run, failure)
        found = ended_badly(outcome)
        if outcome.value is not None:
            found += self._lost(failure, *outcome.value)
        return found

    def _lost(self, failure: Failure, code: int, said: str, unexpected: BaseException | None) -> Iterator[str]:
        if unexpected is not None:
            yield f"a traceback: {unexpected!r}"
            return
        errors = [line for line in said.splitlines() if line.startswith("error: ")]
        if "Traceback" in said or len(errors) != (code != 0):
            yield f"exit code {code}, and not one sentence: {said!r}"
        left = files(self.place)
        if not failure.call.startswith("unlink") and any(name.endswith(".partial") for name in left):
            yield f"an incomplete file is left: {sorted(left)}"
        if code == 0 and self.results(self.place) != self.reference:
            yield "success with other results"
        again = self._run()
        if again[0] != 0 or again[2] is not None:
            yield f"resuming ends with {again}"
        elif self.results(self.place) != self.reference:
            yield f"other results after resuming: {sorted(files(self.place))}"


def ended_badly(outcome: Outcome) -> list[str]:
    """Return how a process ended that should have ended with an answer."""
    if outcome.signal:
        return [f"the process was ended by signal {outcome.signal}"]
    if outcome.error is not None:
        return [f"raised {outcome.error!r}"]
    return [] if outcome.value is not None else ["the process gave no answer"]


def not_a_sentence(error: BaseException, place: Path) -> Iterator[str]:
    """Yield what an error lacks that the user is to read."""
    if not isinstance(error, ResultsError) or not str(error.filename).startswith(str(place)):
        yield f"{error!r} does not say which file of results it is about"
    elif "could not be" not in str(error) or "; accepted: " not in str(error):
        yield f"{error} does not say what could not be done and what is accepted"


@contextmanager
def merged_by_twos() -> Iterator[None]:
    """Merge two parts of a store instead of eight, so that few additions reach every step."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store, "MERGED", 2)
        yield

SCENARIO = """
name = "small"
duration = "2 s"
nodes = ["h1", "h2"]

[[links]]
name = "there"
from = "h1"
to = "h2"
rate = "1 Mbit/s"
delay = "10 ms"
queue = { kind = "droptail", limit = "10 packets" }

[[links]]
name = "back"
from = "h2"
to = "h1"
rate = "1 Mbit/s"
delay = "10 ms"

[[flows]]
name = "a"
from = "h1"
to = "h2"
tcp = "reno"
start = { uniform = ["0 s", "100 ms"] }

[[probes]]
flows = ["a"]
quantities = ["cwnd"]
"""
