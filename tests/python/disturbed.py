"""Operations that are disturbed by a failing call of the operating system, and what must hold then.

Whatever fails, and whether it fails once or for good: nothing that was stored is lost, nothing incomplete is believed, the user
reads one sentence, and the same operation, undisturbed, ends as if nothing had happened.
"""

from __future__ import annotations

import json
import random
import re
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

from dumbbell import papers
from dumbbell.campaign import Store, store
from dumbbell.cli import app
from dumbbell.errors import ResultsError
from dumbbell.papers.runs import store_of
from failing_calls import ERRORS, MEMORY, Failure, Outcome, traced
from small_paper import SMALL

COLUMNS = ("value", "parts")

# Numbers and checksums in the names of files.
DIGITS = re.compile(r"[0-9a-f]{8,}|\d+")

SCENARIO = """
name = "small"
duration = "2 s"
rules = "classic"
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

CAMPAIGN = """
base = "small.toml"
runs = 3
[axes]
"flows.a.tcp" = ["vegas", "reno"]
"""


class Operation(Protocol):
    """Something that is disturbed, in a folder of its own."""

    place: Path
    # How many of the failures met a call.
    met: int

    def undisturbed(self) -> Outcome:
        """Run it, keep what it leaves as the reference, and return its calls."""

    def problems(self, failure: Failure | None) -> list[str]:
        """Run it with a failing call, then without, and return what does not hold."""


def calls(
    outcome: Outcome, place: Path, names: Mapping[str, Sequence[str]]
) -> Iterator[tuple[str, int, str]]:
    """Yield the calls of an operation on files of its folder: the name, its number in the thread, and the kind of file.

    The kind is the file's name without the digits, so that calls on the parts of a store are alike, as are those of the same
    name that one place in the code makes. Calls that ask for memory are of no file.

    Parameters
    ----------
    outcome
        An undisturbed run.
    place
        Calls that name nothing in this folder are left out: they are Python's own.
    names
        Names of calls.
    """
    numbers: Counter[tuple[str, str]] = Counter()
    for name, line in outcome.calls:
        thread = line.split(maxsplit=1)[0]
        numbers[thread, name] += 1
        found = re.search(re.escape(str(place)) + r'([^">]*)', line)
        if name in names and (found or name in MEMORY):
            yield name, numbers[thread, name], DIGITS.sub("#", found[1]) if found else "memory"


def failures(
    outcome: Outcome, place: Path, *, names: Mapping[str, Sequence[str]] = ERRORS, for_good: bool
) -> Iterator[Failure]:
    """Yield each call of an operation on files of its folder with each of its errors, one call after the other.

    Parameters
    ----------
    outcome, place
        See `calls`.
    names
        The calls, and the errors of each.
    for_good
        Whether all later calls fail, too.
    """
    for name, number, _ in calls(outcome, place, names):
        for error in _errors(names[name], for_good=for_good):
            yield Failure(name, number, error, for_good)


def _errors(errors: Sequence[str], *, for_good: bool) -> list[str]:
    """Return the errors that a call can have once or for good; one that is interrupted for ever is repeated for ever."""
    return [error for error in errors if not (for_good and error == "EINTR")]


def in_rotation(
    outcome: Outcome, place: Path, *, names: Mapping[str, Sequence[str]] = ERRORS, seed: int
) -> list[Failure]:
    """Return a part of all failures in which every call fails, and every kind of call in each of its ways.

    Calls of one name on one kind of file are handled alike. They take the ways in which one can fail in turn, from the first
    call to the last, and the turn goes on until both are through: each call fails at least once, and each error occurs at
    least once for each kind, once and for good.

    Parameters
    ----------
    outcome, place, names
        As of `failures`.
    seed
        Seed of the order in which the ways are taken.
    """
    alike: dict[tuple[str, str], list[int]] = {}
    for name, number, kind in calls(outcome, place, names):
        alike.setdefault((name, kind), []).append(number)
    chosen: dict[Failure, None] = {}
    for (name, kind), numbers in alike.items():
        ways = [(error, good) for good in (False, True) for error in _errors(names[name], for_good=good)]
        random.Random(f"{seed} {name} {kind}").shuffle(ways)
        for turn in range(max(len(numbers), len(ways))):
            failure = Failure(name, numbers[turn % len(numbers)], *ways[turn % len(ways)])
            chosen[failure] = None
    return list(chosen)


# --- a store ---


def runs(*numbers: int, values: int = 1) -> pd.DataFrame:
    """Return some runs as a campaign stores them, with lists of that many values per run."""
    return pd.DataFrame(
        {
            "hash": "0123456789abcdef",
            "seed": np.uint64(1),
            "run": np.array(numbers, dtype=np.uint64),
            "value": [float(number) for number in numbers],
            "parts": [np.random.default_rng(number).random(values) for number in numbers],
        }
    )


def files(place: Path) -> dict[str, bytes]:
    """Return the content of the files below a folder, by name."""
    return {
        str(file.relative_to(place)): file.read_bytes() for file in sorted(place.rglob("*")) if file.is_file()
    }


def restore(place: Path, content: Mapping[str, bytes]) -> None:
    """Make a folder of the given files, and nothing else."""
    shutil.rmtree(place, ignore_errors=True)
    for name, data in content.items():
        file = place / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)


def complete_files(place: Path) -> dict[str, bytes]:
    """Return the content of the files below a folder, without those that could be neither completed nor removed."""
    return {name: content for name, content in files(place).items() if not name.endswith(".partial")}


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

    Parameters
    ----------
    place
        Its folder.
    added
        Number of additions.
    values
        Size of a run. Only large ones ask the system for memory.
    """

    place: Path
    added: int = 3
    values: int = 1
    beginning: dict[str, bytes] = field(default_factory=dict)
    reference: dict[str, bytes] = field(default_factory=dict)
    said: Filling = field(default_factory=Filling)
    met: int = 0

    def _store(self, **settings: Any) -> Store:
        return Store(self.place / "store", COLUMNS, identity="engine", **settings)

    def _begin(self) -> None:
        if not self.beginning:
            self._make()
            self.beginning = files(self.place)
        restore(self.place, self.beginning)

    def _make(self) -> None:
        shutil.rmtree(self.place, ignore_errors=True)
        self.place.mkdir()
        with self._store() as begun, merged_by_twos():
            for number in range(3):
                begun.add(runs(number, values=self.values))
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
                    tried(partial(opened.add, runs(number, values=self.values)))
                    said.stored.append(number)
                tried(opened.compact)
                said.frame = opened.frame()["run"].tolist()
        except (OSError, MemoryError):
            said.gave_up = True
        return said

    def undisturbed(self) -> Outcome:
        with merged_by_twos():
            self._begin()
            outcome = traced(lambda: self._fill(1), among=[*ERRORS, *MEMORY])
            self.reference = files(self.place)
        return outcome

    def problems(self, failure: Failure | None) -> list[str]:
        with merged_by_twos():
            self._begin()
            outcome = traced(lambda: self._fill(1 if failure is None or failure.and_later else 2), failure)
            self.met += bool(outcome.failed)
            found = ended_badly(outcome)
            if outcome.value is not None:
                self.said = outcome.value
                found += self._lost(failure, outcome.value)
            return found

    def _lost(self, failure: Failure | None, said: Filling) -> Iterator[str]:
        for error in said.errors:
            if not isinstance(error, MemoryError):
                yield from not_a_sentence(error, self.place)
        if said.gave_up and not (failure is not None and failure.and_later):
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
                resumed.add(runs(number, values=self.values))
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
        What has to be the same whatever happened, read from the folder; by default the content of all complete files.
    """

    place: Path
    arguments: Sequence[str]
    inputs: Mapping[str, str]
    results: Callable[[Path], Any] = complete_files
    reference: Any = None
    outputs: dict[str, bytes] = field(default_factory=dict)
    met: int = 0

    def begin(self) -> None:
        """Make the folder and the files that are there before."""
        restore(self.place, {name: text.encode() for name, text in self.inputs.items()})

    @property
    def command(self) -> list[str]:
        """The arguments, with the folder."""
        return [text.replace("PLACE", str(self.place)) for text in self.arguments]

    def run(self) -> tuple[int, str, BaseException | None]:
        """Run it, and return the exit code, standard error, and what would be a traceback."""
        done = CliRunner().invoke(app, self.command)
        unexpected = None if isinstance(done.exception, SystemExit) else done.exception
        return done.exit_code, done.stderr, unexpected

    def undisturbed(self) -> Outcome:
        self.begin()
        # Once before, so that nothing is imported or compiled for the first time while calls fail.
        self.run()
        self.begin()
        outcome = traced(self.run, among=[*ERRORS, *MEMORY])
        assert outcome.value == (0, ANY, None), outcome.value
        self.reference, self.outputs = self.results(self.place), files(self.place)
        return outcome

    def problems(self, failure: Failure | None) -> list[str]:
        self.begin()
        outcome = traced(self.run, failure)
        self.met += bool(outcome.failed)
        found = ended_badly(outcome)
        if outcome.value is not None:
            found += self._lost(failure, *outcome.value)
        return found

    def _lost(
        self, failure: Failure | None, code: int, said: str, unexpected: BaseException | None
    ) -> Iterator[str]:
        if unexpected is not None:
            yield f"a traceback: {unexpected!r}"
            return
        errors = [line for line in said.splitlines() if line.startswith("error: ")]
        if "Traceback" in said or len(errors) != (code != 0):
            yield f"exit code {code}, and not one sentence: {said!r}"
        left = files(self.place)
        removed = failure is None or not failure.call.startswith("unlink")
        if removed and any(name.endswith(".partial") for name in left):
            yield f"an incomplete file is left: {sorted(left)}"
        for name in {*left} & {*self.outputs} if self.results is complete_files else ():
            # The list of parts depends on when runs were stored.
            if (
                left[name] not in (self.outputs[name], self.inputs.get(name, "").encode())
                and name[-10:] != "parts.json"
            ):
                yield f"{name} is incomplete"
        if code == 0 and self.results(self.place) != self.reference:
            yield "success with other results"
        again = self.run()
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


# --- the operations ---


def stored(place: Path) -> Filled:
    """A store."""
    return Filled(place)


def simulated(place: Path, *, drawn: bool = False) -> Command:
    """A run that writes packets, events and tables, some over earlier files; drawn, also traces and pictures, which is slow."""
    arguments = [
        "run",
        "PLACE/small.toml",
        "--json",
        "--pcap",
        "PLACE/small.pcapng",
        "--qlog",
        "PLACE/small.qlog",
    ]
    arguments += ["--csv", "PLACE/tables"]
    old = ["small.pcapng", "small.qlog", "tables/flows.csv"]
    if drawn:
        arguments += ["--plot", "PLACE/picture.png", "--trace", "PLACE/traces"]
        old += ["picture.png", "traces/cwnd.parquet"]
    return Command(place, arguments, {"small.toml": SCENARIO, **dict.fromkeys(old, "old")})


def campaigned(place: Path, *, threads: int | None = None, scheduler: str | None = None) -> Command:
    """A campaign with its tables, on this machine or on a cluster."""
    arguments = ["campaign", "PLACE/campaign.toml", "--output", "PLACE/store", "--json"]
    arguments += [] if threads is None else ["--threads", str(threads)]
    arguments += [] if scheduler is None else ["--scheduler", scheduler]
    inputs = {"small.toml": SCENARIO, "campaign.toml": CAMPAIGN, "store/runs.parquet": "old"}
    return Command(place, arguments, inputs)


@dataclass
class Reproduction(Command):
    """A quick reproduction of a paper.

    Parameters
    ----------
    paper
        Its name.
    first
        Begin without any runs. Otherwise, the store has all of them but two, so that it takes seconds.
    """

    paper: str = "small-paper"
    first: bool = False
    beginning: dict[str, bytes] = field(default_factory=dict)

    def _store(self) -> Store:
        folder = self.place / "papers" if self.inputs else None
        return store_of(papers.load(self.paper, folder), self.place / "out", fresh=False)

    def begin(self) -> None:
        """Make the folder and its store. The runs are those of the first reproduction, which begins without any."""
        if not self.first and not self.beginning and self.place.exists():
            with self._store() as whole:
                frame = whole.frame()
            super().begin()
            with self._store() as begun:
                begun.add(frame.iloc[:-2])
            self.beginning = files(self.place)
        elif self.beginning:
            restore(self.place, self.beginning)
        else:
            super().begin()
            self.place.mkdir(exist_ok=True)


def reproduced(place: Path, paper: str = "small-paper", *, first: bool = False) -> Command:
    """A quick reproduction of a paper, or of a small one of the tests; the first one of it, or one that completes its runs."""
    arguments = f"reproduce {paper} --quick --output PLACE/out --threads 1 --json".split()
    inputs = {}
    if paper == "small-paper":
        arguments += ["--papers", "PLACE/papers"]
        inputs = {"papers/small_paper/__init__.py": SMALL}
    return Reproduction(place, arguments, inputs, verdicts, paper=paper, first=first)


def verdicts(place: Path) -> dict[str, Any]:
    """Return the verdicts of a reproduction, and its store."""
    found: dict[str, Any] = {}
    for file in sorted(place.glob("out/*/results.json")):
        data = json.loads(file.read_text(encoding="utf-8"))
        found |= {part: data[part] for part in ("score", "claims", "runs")}
        assert file.with_name("report.html").read_text(encoding="utf-8").rstrip().endswith("</html>")
    return found | files(place / "out" / "cache")
