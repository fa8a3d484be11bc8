"""What commands and imports load: startup is most of the time of a short run."""

from __future__ import annotations

import subprocess
import sys

import pytest

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
ENGINE = {"dumbbell._engine", "dumbbell.scenario"}
TERMINAL = {"rich"}


def loaded(code: str, *arguments: str) -> set[str]:
    """Return the modules that a program has loaded at its end, packages among them."""
    reports = f"import atexit, sys\natexit.register(lambda: print(*sys.modules, file=sys.stderr))\n{code}"
    done = subprocess.run(
        [sys.executable, "-c", reports, *arguments], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return set(done.stderr.splitlines()[-1].split())


@pytest.mark.parametrize(
    ("code", "arguments", "left_out"),
    [
        ("import dumbbell", (), HEAVY | ENGINE | TERMINAL | {"dataclasses", "typer"}),
        ("from dumbbell.cli import main; main()", ("--help",), HEAVY | ENGINE | TERMINAL),
        ("from dumbbell.cli import main; main()", ("run", "examples/vegas-vs-reno.toml"), HEAVY),
    ],
    ids=["import", "help", "run"],
)
def test_what_is_not_used_is_not_loaded(code, arguments, left_out):
    assert not loaded(code, *arguments) & left_out
