"""What commands and imports load: startup is most of the time of a short run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

HEAVY = {
    "dask",
    "distributed",
    "matplotlib",
    "numpy",
    "pandas",
    "pyarrow",
    "pydantic",
    "scipy",
    "statsmodels",
    "tomllib",
}
OF_RUNS = {"dumbbell.scenario", "dumbbell.runs", "rich"}


def loaded(code: str, *arguments: str) -> set[str]:
    """Return the modules that a program has loaded at its end, packages among them."""
    reports = f"import atexit, sys\natexit.register(lambda: print(*sys.modules, file=sys.stderr))\n{code}"
    done = subprocess.run(
        [sys.executable, "-c", reports, *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return set(done.stderr.splitlines()[-1].split())


@pytest.mark.parametrize(
    ("code", "arguments", "left_out"),
    [
        ("import dumbbell", (), HEAVY | OF_RUNS | {"dumbbell._engine", "dataclasses", "typer"}),
        ("from dumbbell.cli import main; main()", ("--help",), HEAVY | OF_RUNS),
        ("from dumbbell.cli import main; main()", ("run", "examples/vegas-vs-reno.toml"), HEAVY),
    ],
    ids=["import", "help", "run"],
)
def test_what_is_not_used_is_not_loaded(code, arguments, left_out):
    assert sorted(loaded(code, *arguments) & left_out) == []
