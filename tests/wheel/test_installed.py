"""What a user has who installs the wheel in an empty environment, without a checkout, Rust or a compiler.

``make wheel-test`` builds the wheel and runs these tests; the variable ``DUMBBELL_WHEEL`` names another wheel, and
``WHEEL_PYTHONS`` the interpreters, separated by spaces.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PYTHONS = os.environ.get("WHEEL_PYTHONS", sys.executable).split()


def wheel():
    stated = os.environ.get("DUMBBELL_WHEEL")
    built = [Path(stated)] if stated else sorted((ROOT / "results/wheels/local").glob("*.whl"))
    assert built, "make wheel-test builds the wheel"
    return built[-1]


def locked():
    """Return the locked versions of packages without their hashes, which a wheel just built has none of."""
    lock = (ROOT / "requirements.lock").read_text("utf-8")
    return "\n".join(re.findall(r"^([\w.-]+==[^\\\n]+?) ?\\?$", lock, re.MULTILINE)) + "\n"


class Environment:
    """An environment with the wheel and what it depends on, and an empty folder to work in."""

    def __init__(self, python, place):
        self.folder, self.here = place / "environment", place / "here"
        self.here.mkdir()
        self.variables = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("PYTHON", "DUMBBELL", "VIRTUAL_ENV", "PYTEST", "COV", "CARGO"))
        } | {"PATH": "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "MPLBACKEND": "agg"}
        subprocess.run([python, "-m", "venv", self.folder], check=True, env=self.variables)
        constraints = place / "constraints.txt"
        constraints.write_text("" if os.environ.get("WHEEL_NEWEST") else locked(), "utf-8")
        subprocess.run(
            [
                *(self.folder / "bin/python", "-m", "pip", "install", "--quiet", "--no-compile"),
                *("--constraint", constraints, wheel()),
            ],
            check=True,
            env=self.variables,
        )

    def run(self, *command, codes=(0,)):
        """Run a program of the environment and return what it printed."""
        done = subprocess.run(
            [self.folder / "bin" / command[0], *map(str, command[1:])],
            cwd=self.here,
            env=self.variables,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode in codes, done.stdout + done.stderr
        return done.stdout + done.stderr

    def package(self):
        """Return the folder of the package."""
        code = "import dumbbell, pathlib; print(pathlib.Path(dumbbell.__file__).parent)"
        return Path(self.run("python", "-c", code).strip())


@pytest.fixture(scope="session", params=PYTHONS, ids=lambda python: Path(python).name)
def installed(request, tmp_path_factory):
    return Environment(request.param, tmp_path_factory.mktemp("wheel"))


def test_the_package_is_that_of_the_environment(installed):
    place = installed.run("python", "-c", "import dumbbell; print(dumbbell.__file__)")
    assert str(installed.folder) in place


def test_type_checkers_know_the_parts_of_scenarios(installed):
    stub = installed.package() / "scenario/builders.pyi"
    assert "class Flow" in stub.read_text("utf-8")


def test_the_first_figure_takes_two_commands(installed):
    installed.run("dumbbell", "init")
    installed.run("dumbbell", "run", "scenario.toml", "--plot", "first.png")
    assert (installed.here / "first.png").read_bytes().startswith(b"\x89PNG")


def test_the_examples_are_those_of_the_checkout_and_valid(installed):
    installed.run("dumbbell", "examples")
    tracked = subprocess.run(
        ["git", "ls-files", "examples"], cwd=ROOT, check=True, capture_output=True, text=True
    )
    for name in tracked.stdout.split():
        assert (installed.here / name).read_bytes() == (ROOT / name).read_bytes(), name
    files = sorted((installed.here / "examples").glob("*.toml"))
    assert len(files) > 10
    installed.run("dumbbell", "validate", *files)


def test_the_examples_of_the_readme_run(installed):
    if not (installed.here / "examples").is_dir():
        installed.run("dumbbell", "examples")
    blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL | re.M)
    assert blocks
    for block in blocks:
        assert installed.run("python", "-c", block).strip()


def test_papers_are_reproduced_from_the_wheel(installed):
    name = next(iter(tomllib.loads((ROOT / "papers/altman/claims.toml").read_text("utf-8"))))
    shown = installed.run("dumbbell", "reproduce", "altman", "--claim", name, "--quick", "--json")
    assert name in shown


def test_cross_validation_has_its_peers_and_grids(installed):
    said = installed.run("dumbbell", "cross-validate", "ns2", "--grid", "none", codes=(2, 3))
    assert "forced-drops" in said


@pytest.mark.skipif(sys.platform != "linux", reason="the programs are for Linux")
def test_the_programs_of_the_testbed_and_the_shell_are_inside(installed):
    for name in ("dumbbell-testbed", "dumbbell-shell"):
        assert os.access(installed.package() / "programs" / name, os.X_OK), name
    report = json.loads(installed.run("dumbbell", "testbed", "doctor", "--json", codes=(0, 3)))
    assert report


@pytest.mark.skipif(sys.platform != "linux", reason="the programs are for Linux")
@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("ip") is None, reason="needs root and iproute2")
def test_a_program_runs_behind_a_link(installed):
    assert "seen" in installed.run("dumbbell", "shell", "--rate", "10 Mbit/s", "--", "echo", "seen")


def test_the_course_is_solved_from_the_wheel(installed):
    if not (installed.here / "examples").is_dir():
        installed.run("dumbbell", "examples")
    for solution in sorted((installed.here / "examples" / "course" / "solutions").glob("*.ipynb")):
        cells = [
            cell for cell in json.loads(solution.read_text("utf-8"))["cells"] if cell["cell_type"] == "code"
        ]
        code = "\n".join(re.sub(r"^(check\(.*\))$", r"print(\1)", "".join(cell["source"])) for cell in cells)
        script = installed.here / f"{solution.stem}.py"
        script.write_text(code, "utf-8")
        said = installed.run("python", script.name)
        assert said.count("accepted") == 6, said
        assert said.count("noted") == 1, said
