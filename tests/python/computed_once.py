"""Compute once what an operation computes without a call on its files, and use it again when the operation is repeated.

Simulating, judging and drawing take most of the time of a reproduction, and the same runs give the same numbers and
pictures. All else happens each time: every call on a file of the operation is made.
"""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO, cast

import pandas as pd
import pyarrow as pa
import pytest
from matplotlib.figure import Figure
from typer import testing

from dumbbell import report
from dumbbell.campaign import on_threads, planned
from dumbbell.campaign.execution import Reduction
from dumbbell.campaign.planned import Keep, Make
from dumbbell.campaign.store import arrow
from dumbbell.cli import simulate
from dumbbell.environment import environment, environment_fact
from dumbbell.papers import Evaluation, Paper, PlannedRun, Settings, load, reproduction
from dumbbell.papers import runs as paper_runs
from dumbbell.plots import Picture, trace_figure
from dumbbell.report import Section

# Runs that end at the same time. The engine passes on those of about a second, which depends on the machine.
AT_ONCE = 100

# The name and the seed of a run.
Name = tuple[str, int, int]


@contextmanager
def computed_once() -> Iterator[None]:
    """Use again, in this process and those forked from it, what has been computed within."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(testing, "_get_command", cache(testing._get_command))  # type: ignore[attr-defined]  # private to typer
        patch.setattr(Picture, "_drawn", _drawn_once(Picture._drawn))
        patch.setattr(simulate, "trace_figure", _traced_once(trace_figure))
        patch.setattr(report, "_environment", cache(report._environment))
        patch.setattr(reproduction, "environment", cache(environment))
        patch.setattr(reproduction, "environment_fact", cache(environment_fact))
        patch.setattr(planned, "cost", cache(planned.cost))
        patch.setattr(paper_runs, "on_threads", _run_once())
        patch.setattr(reproduction, "load", _judged_once())
        yield


def _drawn_once(draw: Callable[[Picture, str], bytes]) -> Callable[[Picture, str], bytes]:
    drawn: dict[bytes, bytes] = {}

    def again(picture: Picture, kind: str) -> bytes:
        key = pickle.dumps((kind, picture.title, [vars(panel) for panel in picture.panels]))
        if key not in drawn:
            drawn[key] = draw(picture, kind)
        return drawn[key]

    return again


class _Heard:
    """A file that notes what is written to it."""

    def __init__(self, file: BinaryIO, parts: list[bytes]) -> None:
        self._file = file
        self._parts = parts

    def write(self, part: bytes) -> int:
        self._parts.append(bytes(part))
        return self._file.write(part)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


@dataclass
class _Figure:
    """A figure that is written again in the same parts.

    Parameters
    ----------
    draw
        Returns the figure.
    parts
        What it wrote to its file; empty before.
    """

    draw: Callable[[], Figure]
    parts: list[bytes]

    def savefig(self, file: BinaryIO, **options: Any) -> None:
        if self.parts:
            for part in self.parts:
                file.write(part)
        else:
            written: list[bytes] = []
            self.draw().savefig(cast(BinaryIO, _Heard(file, written)), **options)
            self.parts += written


def _traced_once(draw: Callable[..., Figure]) -> Callable[..., _Figure]:
    known: dict[bytes, list[bytes]] = {}

    def again(quantity: str, trace: pd.DataFrame, **texts: Any) -> _Figure:
        rows = pd.util.hash_pandas_object(trace).to_numpy().tobytes()
        key = pickle.dumps((quantity, rows, sorted(texts.items())))
        return _Figure(lambda: draw(quantity, trace, **texts), known.setdefault(key, []))

    return again


def _run_once() -> Callable[[Reduction, int | None], Make[PlannedRun]]:
    """Return `on_threads` for papers, which passes on known results in batches and, as the engine, once more after an error."""
    known: dict[Name, pa.Table] = {}

    def again(reduce: Reduction, threads: int | None = None) -> Make[PlannedRun]:
        run: Make[PlannedRun] = on_threads(reduce, threads)

        def make(wanted: Sequence[PlannedRun], keep: Keep) -> None:
            names = [(one.scenario.hash, one.seed, one.run) for one in wanted]
            new = [row for row, name in enumerate(names) if name not in known]

            def learn(done: Sequence[int], kept: pd.DataFrame | pa.Table) -> None:
                table = kept if isinstance(kept, pa.Table) else arrow(kept)
                for row, at in enumerate(done):
                    known[names[new[at]]] = table.slice(row, 1)

            if new:
                run([wanted[row] for row in new], learn)
            for begin in range(0, len(names), AT_ONCE):
                rows = range(begin, min(begin + AT_ONCE, len(names)))
                table = pa.concat_tables([known[names[row]] for row in rows], promote_options="permissive")
                try:
                    keep(rows, table)
                except Exception:
                    keep(rows, table)
                    raise

        return make

    return again


def _judged_once() -> Callable[[str, str | Path | None], Paper]:
    """Return `load` for papers that evaluate their claims and draw their figures once per content of the store."""
    papers: dict[int, Paper] = {}

    def again(name: str, path: str | Path | None = None) -> Paper:
        paper = load(name, path)
        if id(paper) not in papers:
            papers[id(paper)] = paper
            _remember(paper)
        return paper

    return again


def _remember(paper: Paper) -> None:
    evaluate, draw = paper.evaluate, paper.sections
    plan_once = cache(paper.plan)
    judged: dict[str, Evaluation[Any]] = {}
    drawn: dict[int, Sequence[Section]] = {}

    def evaluate_once(
        settings: Settings, results: pd.DataFrame, observed: Mapping[str, Any]
    ) -> Evaluation[Any]:
        key = _content(settings, results, observed)
        if key not in judged:
            judged[key] = evaluate(settings, results, observed)
        return judged[key]

    def draw_once(settings: Settings, evaluation: Evaluation[Any]) -> Sequence[Section]:
        # An evaluation is kept and therefore alone with its address.
        if id(evaluation) not in drawn:
            drawn[id(evaluation)] = draw(settings, evaluation)
        return drawn[id(evaluation)]

    vars(paper).update(plan=plan_once, evaluate=evaluate_once, sections=draw_once)


def _content(settings: Settings, results: pd.DataFrame, observed: Mapping[str, Any]) -> str:
    """Return a digest of all that claims and figures depend on."""
    table, sink = arrow(results), pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table.combine_chunks())
    content = pickle.dumps((settings, sorted(observed.items()))) + sink.getvalue().to_pybytes()
    return hashlib.blake2b(content, digest_size=16).hexdigest()
