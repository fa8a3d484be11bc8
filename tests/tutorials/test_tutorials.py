"""The tutorials of CONTRIBUTING.md, executed verbatim.

The code blocks of the page are applied to a copy of the checkout. The copy lies in the target folder, so that
a second tutorial builds only what has changed.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from dumbbell.cli import new

ROOT = Path(__file__).parents[2]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
REGISTRY = "crates/dumbbell-cc/src/algorithms/mod.rs"
REGISTRY_LINE = re.compile(r'^ {4}"(\w+)" => \w+::\w+,$', flags=re.MULTILINE)
QUEUES = "crates/dumbbell-net/src/queues/mod.rs"

# Tests of the package with cases from the registry.
OF_THE_REGISTRY = ("test_plots.py", "test_scenario.py", "test_stub.py", "test_run.py")
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")

# Tests of the copy: the new entry is listed, and a scenario that names it runs.
RUN_DISCIPLINE = (Path(__file__).parent / "new_discipline.rs").read_text(encoding="utf-8")
RUN_IN_SIMULATOR = (Path(__file__).parent / "new_algorithm.rs").read_text(encoding="utf-8")


def blocks() -> dict[str, str]:
    """Return the code blocks of CONTRIBUTING.md by the path on the line before them."""
    return dict(re.findall(r"^`([^`\n]+)`\n\n```\w+\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL))


def run(command: str, folder: Path) -> str:
    """Run a command and return what it printed; fail with its complete output unless it succeeds."""
    done = subprocess.run(
        command.split(),
        cwd=folder,
        env=os.environ
        | {
            "CARGO_TARGET_DIR": str(TARGET),
            "PYO3_PYTHON": sys.executable,
            "PYTHONPATH": str(folder / "python"),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture
def checkout() -> Path:
    """Copy the files that git tracks to a separate checkout with everything in the index."""
    copy = TARGET / "tutorials"
    shutil.rmtree(copy, ignore_errors=True)
    for name in run("git ls-files --cached --others --exclude-standard", ROOT).splitlines():
        if (ROOT / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            # Times are copied too: cargo rebuilds files newer than its last build.
            shutil.copy2(ROOT / name, copy / name)
    run("git init --quiet", copy)
    run("git add --all", copy)
    return copy


def registered(checkout: Path) -> list[str]:
    """Return the names in the registry of congestion controls, in its order."""
    return REGISTRY_LINE.findall((checkout / REGISTRY).read_text(encoding="utf-8"))


def add_algorithm(checkout: Path, suffix: str = "") -> tuple[str, str]:
    """Apply the tutorial: one file and one line. With a suffix, the algorithm has a name of its own.

    Returns its name and its file.
    """
    (page_file,) = [path for path in blocks() if path.startswith("crates/dumbbell-cc/") and path != REGISTRY]
    stem = Path(page_file).stem

    def renamed(text: str) -> str:
        return text.replace(stem, stem + suffix).replace(stem.capitalize(), stem.capitalize() + suffix)

    new_file = renamed(page_file)
    (checkout / new_file).write_text(renamed(blocks()[page_file]), encoding="utf-8")
    text = (checkout / REGISTRY).read_text(encoding="utf-8")
    end = list(REGISTRY_LINE.finditer(text))[-1].end() + 1
    (checkout / REGISTRY).write_text(text[:end] + renamed(blocks()[REGISTRY]) + text[end:], encoding="utf-8")
    return stem + suffix, new_file


def check_in_simulator(checkout: Path, name: str) -> None:
    """Run the new algorithm in the simulator of the copy."""
    in_simulator = checkout / "crates/dumbbell-sim/tests/new_algorithm.rs"
    in_simulator.parent.mkdir(exist_ok=True)
    in_simulator.write_text(RUN_IN_SIMULATOR.replace("NEW_ALGORITHM", name), encoding="utf-8")
    tested = run("cargo test --locked --package dumbbell-sim --test new_algorithm", checkout)
    assert "2 passed" in tested


def check_in_python(checkout: Path) -> None:
    """Build the engine of the copy, and run the tests of the package that iterate over the registry."""
    run("cargo build --release --locked --quiet --package dumbbell-py", checkout)
    suffix = {"darwin": "dylib", "win32": "dll"}.get(sys.platform, "so")
    shutil.copy2(TARGET / "release" / f"lib_engine.{suffix}", checkout / "python/dumbbell/_engine.abi3.so")
    tests = " ".join(f"tests/python/{name}" for name in OF_THE_REGISTRY)
    run(f"{sys.executable} -m pytest -q -p no:cacheprovider {tests}", checkout)


def test_a_congestion_control_is_one_file_and_one_line(checkout: Path) -> None:
    name, new_file = add_algorithm(checkout)

    assert run("git ls-files --others", checkout).splitlines() == [new_file]
    assert run("git diff --numstat", checkout).splitlines() == [f"1\t0\t{REGISTRY}"]

    run(f"rustfmt --check --edition 2024 {new_file}", checkout)
    run("cargo run --quiet --locked --package xtask -- tidy", checkout)
    tested = run("cargo test --locked --package dumbbell-cc", checkout)
    assert f"algorithms::{name}::tests" in tested
    check_in_simulator(checkout, name)


def test_many_congestion_controls_are_also_one_file_and_one_line_each(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # One of them is the start that `dumbbell new algorithm` writes.
    names = ["started"]
    monkeypatch.setenv("DUMBBELL_CRATES", str(checkout / "crates"))
    new.algorithm("started", rust=True, output=checkout)
    run("rustfmt --check --edition 2024 crates/dumbbell-cc/src/algorithms/started.rs", checkout)
    several = len(registered(checkout)) + 3
    while len(registered(checkout)) < several:
        names.append(add_algorithm(checkout, suffix=chr(ord("a") + len(names)))[0])
    assert run("git diff --numstat", checkout).splitlines() == [f"{len(names)}\t0\t{REGISTRY}"]

    run("cargo run --quiet --locked --package xtask -- tidy", checkout)
    tested = run("cargo test --locked --package dumbbell-cc", checkout)
    assert all(f"algorithms::{name}::tests" in tested for name in names)
    check_in_simulator(checkout, names[0])
    check_in_python(checkout)


def test_a_queue_discipline_is_one_file_and_one_line(checkout: Path) -> None:
    (new_file,) = [path for path in blocks() if path.startswith("crates/dumbbell-net/") and path != QUEUES]
    name = Path(new_file).stem
    (checkout / new_file).write_text(blocks()[new_file], encoding="utf-8")
    before, part = (checkout / QUEUES).read_text(encoding="utf-8"), "\nregistry! {\n    at arrival {\n"
    assert before.count(part) == 1
    (checkout / QUEUES).write_text(before.replace(part, part + blocks()[QUEUES]), encoding="utf-8")

    assert run("git ls-files --others", checkout).splitlines() == [new_file]
    assert run("git diff --numstat", checkout).splitlines() == [f"1\t0\t{QUEUES}"]

    run(f"rustfmt --check --edition 2024 {new_file}", checkout)
    run("cargo run --quiet --locked --package xtask -- tidy", checkout)
    tested = run("cargo test --locked --package dumbbell-net", checkout)
    assert f"queues::{name}::tests" in tested

    in_simulator = checkout / "crates/dumbbell-sim/tests/new_discipline.rs"
    in_simulator.write_text(RUN_DISCIPLINE.replace("NEW_DISCIPLINE", name), encoding="utf-8")
    tested = run("cargo test --locked --package dumbbell-sim --test new_discipline", checkout)
    assert "1 passed" in tested


def test_an_experiment_is_one_file(tmp_path: Path) -> None:
    (new_file,) = [path for path in blocks() if path.startswith("examples/")]
    assert not (ROOT / new_file).exists()
    script = tmp_path / Path(new_file).name
    script.write_text(blocks()[new_file], encoding="utf-8")
    printed = run(f"{sys.executable} {script}", tmp_path).splitlines()
    assert len(printed) == 4
    assert all("packets:" in line for line in printed)
