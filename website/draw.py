"""Draws the figures of the site, and executes the notebooks: what is older than its sources, on all cores.

The hooks of the site call `draw`; ``python website/draw.py`` does the same without building pages.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import runpy
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import lablink
import outputs

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "examples" / "gallery"
FIGURES = ROOT / "examples" / "figures.py"
NOTEBOOKS = ROOT / "examples" / "notebooks"
COURSE = ROOT / "examples" / "course"
DRAWN = ROOT / "results" / "website"
"""Figures by section: ``gallery/NAME.svg`` and ``.txt``, ``figures/NAME.svg``, ``algorithms/NAME.svg``,
``notebooks/NAME.ipynb``, those of documents in ``outputs/``; and beside those of runs, as ``NAME.json``, the first scenario
that is run, if the lab can run it."""

# What a notebook executes at its end.
KEEP = """\
import pathlib, sys
sys.path.append({folder!r})
import dumbbell, lablink
found = [value for value in list(globals().values()) if isinstance(value, (dumbbell.Run, dumbbell.Runs))]
if found:
    lablink.keep(pathlib.Path({file!r}), found[0])
"""

# A notebook that takes longer is not for a lesson.
MOST_SECONDS = 120


def examples() -> list[Path]:
    """Return the examples of the gallery."""
    return sorted(EXAMPLES.glob("*.py"))


def notebooks() -> list[Path]:
    """Return the notebooks."""
    return sorted(NOTEBOOKS.glob("*.ipynb"))


def sheets() -> list[Path]:
    """Return the sheets of the course, which are shown without outputs and without their solutions."""
    return sorted(COURSE.glob("*.ipynb"))


@contextlib.contextmanager
def first_run(file: Path) -> Iterator[None]:
    """Keep the first scenario that the code within runs: see `lablink.keep`."""
    import dumbbell

    names = ("run", "run_many", "sweep")
    before = {name: getattr(dumbbell, name) for name in names}
    taken: list[Any] = []

    def taking(act: Any) -> Any:
        def called(*arguments: Any, **named: Any) -> Any:
            result = act(*arguments, **named)
            if not taken:
                taken.append(result)
                lablink.keep(file, result)
            return result

        return called

    file.unlink(missing_ok=True)
    try:
        for name, act in before.items():
            setattr(dumbbell, name, taking(act))
        yield
    finally:
        for name, act in before.items():
            setattr(dumbbell, name, act)


def draw_example(example: Path, folder: Path = DRAWN / "gallery") -> None:
    """Run an example; keep its figure ``NAME.svg`` in a folder, and what it prints as ``NAME.txt``.

    Raises
    ------
    AssertionError
        Its claim does not hold.
    RuntimeError
        It leaves something else than its figure.
    """
    printed = io.StringIO()
    folder.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as own,
        contextlib.chdir(own),
        contextlib.redirect_stdout(printed),
        first_run(folder / f"{example.stem}.json"),
    ):
        runpy.run_path(str(example), run_name="__main__")
        left = [path.name for path in Path(own).iterdir()]
        if left != [f"{example.stem}.svg"]:
            raise RuntimeError(f"{example.name} leaves {left or 'nothing'} instead of {example.stem}.svg")
        shutil.copy(left[0], folder)
    (folder / f"{example.stem}.txt").write_text(printed.getvalue(), encoding="utf-8")


def draw_algorithm(name: str, folder: Path = DRAWN / "algorithms") -> None:
    """Draw the window of an algorithm alone, and beside Reno for the second half of the run."""
    import dumbbell
    from dumbbell import DropTail, Flow, topologies

    # The buffer holds the bandwidth-delay product: 10 Mbit/s times 40 ms.
    queue = DropTail(limit="33 packets")
    shape = topologies.dumbbell(pairs=2, rate="10 Mbit/s", delay="10 ms", rtt="40 ms", queue=queue)
    flows = [
        Flow(name=name, from_="s1", to="d1", tcp=name),
        Flow(name="Reno", from_="s2", to="d2", tcp="sack", start="30 s"),
    ]
    scenario = shape.scenario(
        name="10 Mbit/s, 40 ms, buffer of 33 packets", rules="classic", duration="60 s", flows=flows
    )
    # The window without its inflation in recoveries, which hides the rest.
    run = dumbbell.run(scenario)
    run.plot("cwnd_base").save(folder / f"{name}.svg")
    lablink.keep(folder / f"{name}.json", run)


def draw_figures(script: Path, folder: Path = DRAWN / "figures") -> None:
    """Draw the figures for papers that a script makes, as ``NAME.svg``, and note when in ``drawn.txt``."""
    folder.mkdir(parents=True, exist_ok=True)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        runpy.run_path(str(script))["main"]("paper", str(folder), "svg")
    (folder / "drawn.txt").write_text(printed.getvalue(), encoding="utf-8")


def execute(notebook: Path, folder: Path = DRAWN / "notebooks") -> None:
    """Execute a notebook, and write it with its outputs to a folder.

    Raises
    ------
    nbclient.exceptions.CellExecutionError
        A cell raised an exception.
    RuntimeError
        A cell warned.
    """
    import nbformat
    from nbclient import NotebookClient

    folder.mkdir(parents=True, exist_ok=True)
    kept = folder / f"{notebook.stem}.json"
    content = nbformat.read(notebook, as_version=4)
    # The kernel warns that its local sockets are not encrypted.
    quiet = ["--IPKernelApp.log_level=40"]
    resources = {"metadata": {"path": str(folder)}}
    # The scenario that a reader can go on with is that of the first run that the notebook keeps.
    content.cells.append(nbformat.v4.new_code_cell(KEEP.format(folder=str(ROOT / "website"), file=str(kept))))
    kept.unlink(missing_ok=True)
    NotebookClient(content, extra_arguments=quiet, timeout=MOST_SECONDS, resources=resources).execute()
    content.cells.pop()
    for cell in content.cells:
        for output in cell.get("outputs", []):
            if output.get("name") == "stderr":
                raise RuntimeError(f"{notebook.name} warns: {output.text}")
    nbformat.write(content, folder / notebook.name)


def stale() -> Iterator[tuple[str, Path | str]]:
    """Yield the kind and the source of everything that is older than its source or than the package."""
    from dumbbell.engine import catalogue

    package = [*(ROOT / "python" / "dumbbell").rglob("*.py"), *(ROOT / "python" / "dumbbell").glob("*.so")]
    changed = max(file.stat().st_mtime for file in [*package, Path(__file__)])

    def is_old(result: Path, *sources: Path) -> bool:
        newest = max([changed, *(source.stat().st_mtime for source in sources)])
        return not result.exists() or result.stat().st_mtime < newest

    for notebook in notebooks():
        if is_old(DRAWN / "notebooks" / notebook.name, notebook):
            yield "notebook", notebook
    for document in outputs.DOCUMENTS:
        if is_old(outputs.DRAWN / f"{document.stem}.json", document, Path(outputs.__file__)):
            yield "document", document
    for example in examples():
        if is_old(DRAWN / "gallery" / f"{example.stem}.txt", example):
            yield "example", example
    if is_old(DRAWN / "figures" / "drawn.txt", FIGURES):
        yield "figures", FIGURES
    for entry in catalogue()["algorithms"]:
        if is_old(DRAWN / "algorithms" / f"{entry['name']}.svg"):
            yield "algorithm", entry["name"]


def draw_one(job: tuple[str, Path | str]) -> str | None:
    """Draw one thing; return what went wrong."""
    import traceback

    kind, source = job
    drawers: dict[str, Any] = {
        "document": outputs.draw,
        "example": draw_example,
        "figures": draw_figures,
        "algorithm": draw_algorithm,
        "notebook": execute,
    }
    try:
        drawers[kind](source)
    except Exception:
        return f"{kind} {source}\n{traceback.format_exc()}"
    return None


def draw() -> None:
    """Draw what is out of date.

    Raises
    ------
    RuntimeError
        Something could not be drawn; the message says why, with the traceback.
    """
    done = subprocess.run([sys.executable, __file__], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr)


def main() -> int:
    """Draw what is out of date in several processes; return the exit code."""
    jobs = list(stale())
    if jobs:
        # Once for all processes, which are forked.
        importlib.import_module("dumbbell.plots.results")
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        failures = [failure for failure in pool.map(draw_one, jobs) if failure is not None]
    sys.stderr.writelines(failures)
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
