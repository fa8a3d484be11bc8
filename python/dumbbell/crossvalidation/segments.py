"""The segments of ``rules = "linux"`` and of a kernel in simulated time, in conversations drawn from a seed.

One of the two converses with a peer behind a network that loses, delays and marks; what came of it is a script, which the
other one plays. Every segment must be equal, and wherever a state, window or threshold of ``TCP_INFO`` has changed, all of
them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from dumbbell import _engine
from dumbbell.errors import refusal
from dumbbell.files import make_folder, write_text
from dumbbell.kernel import kernels

CASES = 500
"""Conversations of each kind in each direction."""

GATE = 0.99
"""Share of the conversations of a kind that must be equal in everything."""

SCRIPTS = 3
"""Most differences of a kind and direction that are reduced to what they need, and written as scripts."""

Direction = Literal["simulator", "kernel"]

DIRECTIONS: tuple[Direction, ...] = ("simulator", "kernel")
"""Who converses; the other one plays the script."""

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Difference:
    """The first difference in a conversation.

    Parameters
    ----------
    seed
        Seed of the conversation.
    what
        ``"segment"``, or ``"state"`` if all segments are equal.
    line
        Event of the script at which both differ, from 1.
    message
        What was expected, and what was found.
    """

    seed: int
    what: str
    line: int
    message: str


@dataclass
class Agreement:
    """How many conversations of a kind are equal.

    Parameters
    ----------
    kind
        Name of the kind.
    direction
        Who converses.
    cases
        Number of conversations.
    differences
        The first difference of each that is not equal.
    failures
        Conversations that could not be held, each with its seed and the reason.
    """

    kind: str
    direction: Direction
    cases: int
    differences: list[Difference] = field(default_factory=list)
    failures: list[tuple[int, str]] = field(default_factory=list)

    @property
    def everything(self) -> float:
        """Share of the conversations that are equal in everything."""
        return 1.0 - (len(self.differences) + len(self.failures)) / self.cases

    @property
    def segments(self) -> float:
        """Share of the conversations whose segments are all equal."""
        others = sum(difference.what == "segment" for difference in self.differences)
        return 1.0 - (others + len(self.failures)) / self.cases

    @property
    def holds(self) -> bool:
        """True if as many are equal as the gate asks for."""
        return self.everything >= GATE

    def record(self) -> dict[str, Any]:
        """Return it as a JSON object."""
        shares = {"everything": self.everything, "segments": self.segments, "holds": self.holds}
        return asdict(self) | shares


def kinds() -> dict[str, str]:
    """Return the names of all kinds of conversations, each with a sentence."""
    return dict(_engine.script_kinds())


def compare(
    names: Sequence[str] = (),
    *,
    share: float = 1.0,
    tree: str = "6.12",
    threads: int | None = None,
    progress: Progress = lambda _done, _all: None,
) -> list[Agreement]:
    """Compare conversations of some kinds, in both directions.

    Parameters
    ----------
    names
        The kinds; all if there are none.
    share
        Fraction of `CASES` to compare, above 0 and at most 1; at least one of each kind.
    tree
        A kernel that is built.
    threads
        Conversations at the same time; ``None`` for one per processor.
    progress
        Called with the number of conversations that are compared, and that of all.

    Raises
    ------
    ScenarioError
        There is no such kind, or no such kernel.
    """
    known = kinds()
    if not 0.0 < share <= 1.0:
        raise refusal("share", share, "a number above 0 and at most 1")
    for name in names:
        if name not in known:
            raise refusal("--grid", name, f"one of {', '.join(known)}", names=known)
    check_kernel(tree)
    cases = max(1, round(CASES * share))
    agreements = [Agreement(kind, direction, cases) for kind in names or known for direction in DIRECTIONS]
    done, total = 0, cases * len(agreements)
    with ThreadPoolExecutor(threads or len(os.sched_getaffinity(0))) as pool:
        for agreement in agreements:
            for seed, found in enumerate(
                pool.map(lambda seed, one=agreement: _first(one, seed, tree), range(1, cases + 1)), start=1
            ):
                if isinstance(found, Difference):
                    agreement.differences.append(found)
                elif found is not None:
                    agreement.failures.append((seed, found))
                done += 1
                progress(done, total)
    return agreements


def check_kernel(tree: str) -> None:
    """Raise a `ScenarioError` for a kernel that is not built."""
    built = kernels()
    if not any(kernel.version == tree or kernel.version.startswith(f"{tree}.") for kernel in built):
        raise refusal(
            "--kernel",
            tree,
            f"a kernel that is built: run `dumbbell kernel build {tree}`",
            names=[k.version for k in built],
        )


def _first(agreement: Agreement, seed: int, tree: str) -> Difference | str | None:
    try:
        found, _, _ = _engine.compare_segments(
            agreement.kind, seed, tree, agreement.direction == "kernel", False
        )
    except ValueError as error:
        return str(error)
    return None if found is None else Difference(seed, *found)


def write_scripts(agreements: Sequence[Agreement], folder: Path, tree: str = "6.12") -> list[Path]:
    """Write the first differences of each kind as scripts, reduced to what they need, and return their files.

    The first line of a script tells its kind, seed and direction, and the difference.
    """
    make_folder(folder)
    written = []
    for agreement in agreements:
        for difference in agreement.differences[:SCRIPTS]:
            from_kernel = agreement.direction == "kernel"
            found, _, text = _engine.compare_segments(
                agreement.kind, difference.seed, tree, from_kernel, True
            )
            path = folder / f"{agreement.kind}-{difference.seed}-{agreement.direction}.pkt"
            about = difference.message if found is None else f"event {found[1]}: {found[2]}"
            origin = f"{agreement.kind}, seed {difference.seed}, of the {agreement.direction}"
            write_text(path, f"// {origin}; {about}\n{text}")
            written.append(path)
    return written
