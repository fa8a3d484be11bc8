"""Mutants, the sample drawn of them, the equivalent ones, and the report."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]

EQUIVALENT = Path(__file__).parent / "equivalent.toml"

KILLED, TIMEOUT, BROKEN, SURVIVED, UNCOVERED, EQUIVALENT_TO, UNVIABLE = OUTCOMES = (
    "killed",
    "timeout",
    "broken",
    "survived",
    "uncovered",
    "equivalent",
    "unviable",
)
"""A mutant without a test that executes its line is uncovered; one that is no program is unviable.

The tests of a broken one ended otherwise than with a failed test, as by a crash; it does not count as killed.
"""


@dataclass(frozen=True)
class Mutant:
    """A change of a line.

    Parameters
    ----------
    file
        Path from the root of the repository.
    function
        The function that contains it; empty outside functions.
    line, column
        Where it begins, from 1.
    code
        The line as it is, without indentation.
    change
        What the tool calls the change.
    number
        Number among the mutants of the file that have all of this in common but the line.
    handle
        What the tool needs to make it.
    """

    file: str
    function: str
    line: int
    column: int
    code: str
    change: str
    number: int = 0
    handle: Any = field(default=None, compare=False, hash=False, repr=False)

    @property
    def key(self) -> str:
        """What identifies the mutant, independently of what is above it in the file."""
        return f"{self.file} {self.function}: {self.code} ({self.column}): {self.change} #{self.number}"


@dataclass(frozen=True)
class Verdict:
    """What became of a mutant.

    Parameters
    ----------
    key
        Of the mutant.
    sources
        Digest of what the verdict follows from.
    outcome
        One of `OUTCOMES`.
    by
        The test that failed, the stage of the tests, or the reason of an equivalence.
    diff
        The change.
    seconds
        Time of the tests.
    """

    key: str
    sources: str
    outcome: str
    by: str
    diff: str
    seconds: float = 0.0


def numbered(mutants: Iterable[Mutant]) -> list[Mutant]:
    """Return mutants in the order of their places, with numbers that make their keys unique."""
    found: list[Mutant] = []
    seen: Counter[str] = Counter()
    for mutant in sorted(mutants, key=lambda one: (one.file, one.line, one.column, one.change)):
        values = {name: getattr(mutant, name) for name in Mutant.__dataclass_fields__}
        found.append(Mutant(**values | {"number": seen[mutant.key]}))
        seen[mutant.key] += 1
    return found


def drawn(mutants: Sequence[Mutant], seed: int, count: int | None) -> list[Mutant]:
    """Return a random sample: the mutants whose digests with the seed are smallest.

    A larger sample contains a smaller one, and a change of the sources exchanges only the mutants of the changed lines.
    """

    def rank(mutant: Mutant) -> str:
        return hashlib.sha256(f"{seed} {mutant.key}".encode()).hexdigest()

    return sorted(mutants, key=rank)[:count]


def changed_lines(diff: str) -> dict[str, set[int]]:
    """Return the new lines of a unified diff without context, by file."""
    lines: dict[str, set[int]] = {}
    file = ""
    for line in diff.splitlines():
        if line.startswith("+++ "):
            file = line.removeprefix("+++ ").removeprefix("b/")
        elif hunk := re.match(r"@@ -\S+ \+(\d+)(?:,(\d+))? @@", line):
            first, count = int(hunk[1]), int(hunk[2] or 1)
            lines.setdefault(file, set()).update(range(first, first + count))
    return lines


def git(*arguments: str) -> str:
    """Return what a command of git prints."""
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout


def digest_of(paths: Iterable[Path], until: str | None = None) -> str:
    """Return a digest of the names and contents of files, each up to a text, and space before it, if one is given."""
    digest = hashlib.sha256()
    for path in sorted(paths):
        content = path.read_bytes() if until is None else path.read_bytes().split(until.encode())[0].rstrip()
        digest.update(f"{path.relative_to(ROOT)}\0{hashlib.sha256(content).hexdigest()}\n".encode())
    return digest.hexdigest()[:16]


# --- equivalent mutants ---


@dataclass(frozen=True)
class Equivalent:
    """A mutant that no test can kill: its file, its function, the lines before and after it, and the reason."""

    file: str
    function: str
    before: str
    after: str
    reason: str

    def is_made_by(self, diff: str) -> bool:
        """Return whether a change is that of this entry."""
        stated = (_stripped(self.before.splitlines()), _stripped(self.after.splitlines()))
        return [_without_spaces(lines) for lines in _edited(diff)] == [
            _without_spaces(lines) for lines in stated
        ]


def equivalents(suffix: str, path: Path = EQUIVALENT) -> list[Equivalent]:
    """Return the listed equivalent mutants of the files with a suffix.

    Raises
    ------
    ValueError
        An entry lacks a field, has an unknown one, or has no reason.
    """
    found = []
    names = set(Equivalent.__dataclass_fields__)
    for number, entry in enumerate(tomllib.loads(path.read_text("utf-8")).get("mutant", []), start=1):
        if set(entry) != names or not all(isinstance(value, str) for value in entry.values()):
            raise ValueError(f"{path.name}: mutant {number}: accepted: texts {', '.join(sorted(names))}")
        if not entry["reason"].strip():
            raise ValueError(f"{path.name}: mutant {number}: reason is empty")
        found.append(Equivalent(**entry))
    return [one for one in found if one.file.endswith(suffix)]


def reasons_of(
    entries: Iterable[Equivalent], mutants: Sequence[Mutant], diff_of: Callable[[Mutant], str]
) -> dict[str, str]:
    """Return the reasons of equivalent mutants by their keys.

    Raises
    ------
    ValueError
        An entry makes none of the mutants.
    """
    reasons: dict[str, str] = {}
    for entry in entries:
        before = _stripped(entry.before.splitlines())
        made = [
            one.key
            for one in mutants
            if (one.file, one.function) == (entry.file, entry.function)
            and one.code in before
            and entry.is_made_by(diff_of(one))
        ]
        if not made:
            raise ValueError(
                f"{EQUIVALENT.name}: no mutant of {entry.function or 'the top level'} in {entry.file} makes {entry.after!r}"
            )
        reasons |= dict.fromkeys(made, entry.reason)
    return reasons


def _stripped(lines: Iterable[str]) -> list[str]:
    return [line.strip() for line in lines if line.strip()]


def _without_spaces(lines: Iterable[str]) -> list[str]:
    """Return lines as they are compared: the tools put spaces of their own around what they insert."""
    return ["".join(line.split()) for line in lines]


def _edited(diff: str) -> tuple[list[str], list[str]]:
    lines = [line for line in diff.splitlines() if not line.startswith(("---", "+++"))]
    return (
        _stripped(line[1:] for line in lines if line.startswith("-")),
        _stripped(line[1:] for line in lines if line.startswith("+")),
    )


# --- what was judged before ---


class Ledger:
    """The verdicts so far, one line of JSON each; later ones replace earlier ones."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        text = path.read_text("utf-8") if path.exists() else ""
        self._verdicts = {verdict.key: verdict for verdict in _complete(text.splitlines())}
        if text and not text.endswith("\n"):
            with path.open("a", encoding="utf-8") as file:
                file.write("\n")

    def earlier(self, mutant: Mutant) -> Verdict | None:
        """Return the last verdict on a mutant, under whatever sources."""
        return self._verdicts.get(mutant.key)

    def add(self, verdict: Verdict) -> None:
        """Keep a verdict."""
        self._verdicts[verdict.key] = verdict
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(verdict)) + "\n")


def _complete(lines: Iterable[str]) -> Iterator[Verdict]:
    for line in lines:
        try:
            yield Verdict(**json.loads(line))
        except ValueError:  # the line that an interruption cut short
            continue


# --- the report ---


def report(title: str, judged: Sequence[tuple[Mutant, Verdict]], waiting: int) -> dict[str, Any]:
    """Return the counts by area and in total, and the mutants that no test kills."""
    areas: dict[str, Counter[str]] = {}
    for mutant, verdict in judged:
        for area in (area_of(mutant.file), "total"):
            areas.setdefault(area, Counter())[verdict.outcome] += 1
    table = {area: _row(areas[area]) for area in sorted(areas, key=lambda area: (area == "total", area))}
    return {
        "title": title,
        "waiting": waiting,
        "counts": table,
        "mutants": [
            {"file": mutant.file, "line": mutant.line, "function": mutant.function, **asdict(verdict)}
            for mutant, verdict in judged
        ],
    }


def area_of(file: str) -> str:
    """Return the crate of a Rust file, without the common prefix, or the module or package of a Python file."""
    parts = Path(file).with_suffix("").parts
    return parts[1].removeprefix("dumbbell-") if file.endswith(".rs") else parts[2]


def areas_of(diff: str, suffix: str) -> list[str]:
    """Return the areas of the changed files of the package, ``.py``, or of the crates, ``.rs``."""
    sources = r"python/dumbbell/.+\.py" if suffix == ".py" else r"crates/dumbbell-[a-z]+/src/.+\.rs"
    return sorted({area_of(file) for file in changed_lines(diff) if re.fullmatch(sources, file)})


def _row(counts: Counter[str]) -> dict[str, Any]:
    caught = counts[KILLED] + counts[TIMEOUT]
    relevant = caught + counts[BROKEN] + counts[SURVIVED] + counts[UNCOVERED]
    share = round(100 * caught / relevant, 1) if relevant else None
    return {"sampled": counts.total(), **{name: counts[name] for name in OUTCOMES}, "killed_percent": share}


def text_of(found: dict[str, Any]) -> str:
    """Return a report as text."""
    columns = ["sampled", *OUTCOMES, "killed_percent"]
    lines = [found["title"], "", " ".join(["area".ljust(16), *(name.rjust(10) for name in columns)])]
    for area, row in found["counts"].items():
        lines.append(" ".join([area.ljust(16), *(str(row[name]).rjust(10) for name in columns)]))
    if found["waiting"]:
        lines += ["", f"not judged yet: {found['waiting']}; the same command continues"]
    for outcome in (SURVIVED, UNCOVERED, BROKEN, TIMEOUT, EQUIVALENT_TO):
        for mutant in found["mutants"]:
            if mutant["outcome"] == outcome:
                place = f"{mutant['file']}:{mutant['line']} {mutant['function']}"
                lines += ["", f"{outcome}: {place}: {mutant['by']}", *_shown(mutant["diff"])]
    return "\n".join(lines) + "\n"


def _shown(diff: str) -> list[str]:
    before, after = _edited(diff)
    return [*(f"    - {line}" for line in before), *(f"    + {line}" for line in after)]
