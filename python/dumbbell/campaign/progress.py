"""Progress of a campaign: bars with the remaining time on a terminal, occasional lines in a log."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self, TextIO

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from dumbbell.durations import LINE_S, duration
from dumbbell.printable import printable

Advance = Callable[[int, float], None]
"""Called with the number of completed runs and their cost."""


@dataclass
class _Work:
    """Some runs: how many, their cost, and the time they took, s."""

    runs: float = 0.0
    cost: float = 0.0
    seconds: float = 0.0

    def add(self, runs: float, cost: float, seconds: float = 0.0) -> None:
        self.runs += runs
        self.cost += cost
        self.seconds += seconds


# Until this share of a stage is done, a first report says more about its preparations than about its runs.
LEAST_SHARE = 0.02


@dataclass
class _Stage:
    """The completed runs of a stage: those of the first report, whose time includes preparations, and the others."""

    first: _Work
    others: _Work = field(default_factory=_Work)

    def seconds_per_cost(self, left: _Work) -> float | None:
        """Return the time of a run over its cost; ``None`` as long as a few runs would decide on many."""
        if self.others.seconds >= self.first.seconds:
            # Long enough without the preparations.
            return self.others.seconds / self.others.cost
        runs = self.first.runs + self.others.runs
        if runs < LEAST_SHARE * (runs + left.runs):
            return None
        return (self.first.seconds + self.others.seconds) / (self.first.cost + self.others.cost)


class Pace:
    """Estimates the remaining time from the costs of runs and from the time of those completed so far.

    The first report of a stage comes after its preparations, such as reading thousands of scenarios; it counts only until
    the reports after it cover the same time. Costs are comparable within a stage but not between papers. The time of a
    running stage is therefore estimated from that stage alone. A stage that has not started gets the geometric mean of
    the estimates by cost and by number of runs, from all completed runs, of the same kind if there are any.
    """

    def __init__(self) -> None:
        self._left: dict[str, _Work] = {}
        self._made: dict[str, _Stage] = {}
        self._kinds: dict[str, str] = {}
        self._by_kind: dict[str, _Work] = {}
        self._all = _Work()
        self._stage = ""
        self._last = 0.0

    def expect(self, stage: str, runs: int, cost: float, kind: str = "") -> None:
        """Register the missing runs of a stage, their cost and their kind."""
        self._left[stage] = _Work(runs, cost)
        self._kinds[stage] = kind

    def begin(self, stage: str, now: float) -> None:
        """Record the start of a stage, at a time in s."""
        self._stage, self._last = stage, now

    def made(self, runs: int, cost: float, now: float) -> None:
        """Record completed runs, at a time in s."""
        self._left[self._stage].add(-runs, -cost)
        alike = self._by_kind.setdefault(self._kinds[self._stage], _Work())
        seconds = now - self._last
        for work in (self._all, alike):
            work.add(runs, cost, seconds)
        stage = self._made.get(self._stage)
        if stage is None:
            self._made[self._stage] = _Stage(_Work(runs, cost, seconds))
        else:
            stage.others.add(runs, cost, seconds)
        self._last = now

    def left(self, now: float) -> float | None:
        """Return the estimated remaining time, s; ``None`` as long as too few runs are complete."""
        if self._all.cost <= 0:
            return None
        total = 0.0
        for stage, left in self._left.items():
            made = self._made.get(stage)
            if left.runs <= 0:
                continue
            if made is not None:
                pace = made.seconds_per_cost(left)
                if pace is None:
                    return None
                seconds = left.cost * pace
            else:
                alike = self._by_kind.get(self._kinds[stage], self._all)
                by_both = (left.cost / alike.cost) * (left.runs / alike.runs)
                seconds = math.sqrt(by_both) * alike.seconds
            total += max(0.0, seconds - (now - self._last)) if stage == self._stage else seconds
        return total


class _Left(ProgressColumn):
    """The remaining time, based on the whole campaign for the bar that represents it."""

    def __init__(self, pace: Pace) -> None:
        super().__init__()
        self._pace = pace
        self._plain = TimeRemainingColumn()

    def render(self, task: Task) -> Text:
        """Return the text of a bar."""
        if not task.fields.get("whole"):
            return self._plain.render(task)
        left = self._pace.left(time.monotonic())
        return Text("-:--:--" if left is None else duration(left), style="progress.remaining")


class Display:
    """Progress display of a running campaign.

    Parameters
    ----------
    stream
        Where to: standard error, usually.
    quiet
        Show nothing.
    """

    def __init__(self, stream: TextIO, *, quiet: bool) -> None:
        self._console = Console(file=stream, highlight=False, soft_wrap=True)
        self._pace = Pace()
        self._lines = not quiet and not self._console.is_terminal
        self._bars = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("left"),
            _Left(self._pace),
            console=self._console,
            disable=quiet or self._lines,
        )
        self._whole: TaskID | None = None
        self._details: list[TaskID] = []
        self._runs = self._made = 0
        self._last = time.monotonic()

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bars.stop()

    def whole(self, title: str, runs: int, kept: int) -> None:
        """Show a bar for the whole campaign.

        Parameters
        ----------
        title
            Name of the work.
        runs, kept
            Number of all runs, and of reused ones.
        """
        self._runs, self._made = runs, kept
        self._whole = self._bars.add_task(title, total=runs, completed=kept, whole=True)

    def further(self, runs: int, kept: int) -> None:
        """Add runs that could not be counted earlier: their number, and how many of them are reused."""
        self._runs += runs
        self._made += kept
        if self._whole is not None:
            self._bars.update(self._whole, total=self._runs, completed=self._made)

    def expect(self, stage: str, runs: int, cost: float, kind: str = "") -> None:
        """Register the missing runs of a future stage, their cost and their kind."""
        self._pace.expect(stage, runs, cost, kind)

    def stage(self, name: str, title: str, runs: int) -> Advance:
        """Begin a stage of runs; call the returned function for completed ones.

        Parameters
        ----------
        name
            The name passed to `expect`.
        title
            Text to show; empty for a single stage, which has no separate bar.
        runs
            Number of its missing runs.
        """
        task = self._bars.add_task(title, total=runs, visible=bool(title))
        self._details.append(task)
        self._pace.begin(name, time.monotonic())
        made = 0

        def advance(count: int, cost: float) -> None:
            nonlocal made
            made += count
            self._made += count
            now = time.monotonic()
            self._pace.made(count, cost, now)
            self._bars.advance(task, count)
            if self._whole is not None:
                self._bars.advance(self._whole, count)
            if self._lines and now - self._last > LINE_S:
                self._last = now
                left = self._pace.left(now)
                stage = f"{title}: {made} of {runs} runs; altogether " if title else "runs: "
                self._console.print(
                    f"{stage}{self._made} of {self._runs}"
                    + ("" if left is None else f", {duration(left)} left")
                )

        return advance

    def steps(self, title: str, total: int) -> Callable[[], None]:
        """Begin a step of `total` parts; the returned function marks one part as done."""
        task = self._bars.add_task(title, total=total)
        self._details.append(task)
        return lambda: self._bars.advance(task)

    def warn(self, texts: Iterable[str]) -> None:
        """Show warnings, even if nothing else is shown."""
        for text in texts:
            self._console.print(f"warning: {printable(text)}", markup=False)

    def fold(self, line: str) -> None:
        """Put one line in the place of the bars of the stages and steps so far.

        Parameters
        ----------
        line
            What is left of them.
        """
        for task in self._details:
            self._bars.remove_task(task)
        self._details = []
        if not self._bars.disable or self._lines:
            self._console.print(line)
