"""The tutorials of CONTRIBUTING.md, executed verbatim.

The code blocks of the page are applied to one copy of the checkout, a tutorial after the other, and what they make is
built and tested once.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from dumbbell.cli import new

ROOT = Path(__file__).parents[2]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))

# Cargo takes the crates of a copy for those of the checkout, and what it has built for either for fresh.
BUILDS = TARGET / "tutorials-builds"
REGISTRY = "crates/dumbbell-cc/src/algorithms/mod.rs"
REGISTRY_LINE = re.compile(r'^ {4}"(\w+)" => \w+::\w+,$', flags=re.MULTILINE)
QUEUES = "crates/dumbbell-net/src/queues/mod.rs"

# Files with tests of the package that have cases from the registries.
OF_THE_REGISTRY = [
    file.name for file in (ROOT / "tests/python").glob("*.py") if "mark.registry" in file.read_text("utf-8")
]
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
            "CARGO_TARGET_DIR": str(TARGET if folder == ROOT else BUILDS),
            # Compiling the crates takes longer than their tests.
            "CARGO_PROFILE_DEV_OPT_LEVEL": "1" if folder == ROOT else "0",
            "PYO3_PYTHON": sys.executable,
            "PYTHONPATH": str(folder / "python"),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@dataclass(frozen=True)
class Tutorial:
    """What a tutorial has changed in the copy of the checkout.

    Parameters
    ----------
    names
        Of the new entries in the registry.
    new_files
        Paths in the copy.
    changes
        Lines of `git diff --numstat`.
    """

    names: Sequence[str]
    new_files: Sequence[str]
    changes: Sequence[str]


def applied(checkout: Path, *names: str) -> Tutorial:
    """Return what has changed since the last call, and add it to the index of the copy."""
    new_files = run("git ls-files --others", checkout).splitlines()
    changes = run("git diff --numstat", checkout).splitlines()
    run("git add --all", checkout)
    return Tutorial(names, new_files, changes)


@pytest.fixture(scope="session")
def checkout() -> Path:
    """Copy the files that git tracks to a separate checkout with everything in the index."""
    copy = TARGET / "tutorials"
    shutil.rmtree(copy, ignore_errors=True)
    for name in run("git ls-files --cached --others --exclude-standard", ROOT).splitlines():
        if (ROOT / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            # Times are copied too: cargo rebuilds files newer than its last build.
            shutil.copy2(ROOT / name, copy / name)
    shutil.rmtree(BUILDS, ignore_errors=True)
    for built in ("deps", "build", ".fingerprint"):
        if (TARGET / "debug" / built).is_dir():
            shutil.copytree(TARGET / "debug" / built, BUILDS / "debug" / built)
    run("git init --quiet", copy)
    run("git add --all", copy)
    return copy


def registered(checkout: Path) -> list[str]:
    """Return the names in the registry of congestion controls, in its order."""
    return REGISTRY_LINE.findall((checkout / REGISTRY).read_text(encoding="utf-8"))


def add_algorithm(checkout: Path, suffix: str = "") -> str:
    """Apply the tutorial: one file and one line. With a suffix, the algorithm has a name of its own, which is returned."""
    (page_file,) = [path for path in blocks() if path.startswith("crates/dumbbell-cc/") and path != REGISTRY]
    stem = Path(page_file).stem

    def renamed(text: str) -> str:
        return text.replace(stem, stem + suffix).replace(stem.capitalize(), stem.capitalize() + suffix)

    (checkout / renamed(page_file)).write_text(renamed(blocks()[page_file]), encoding="utf-8")
    text = (checkout / REGISTRY).read_text(encoding="utf-8")
    end = list(REGISTRY_LINE.finditer(text))[-1].end() + 1
    (checkout / REGISTRY).write_text(text[:end] + renamed(blocks()[REGISTRY]) + text[end:], encoding="utf-8")
    return stem + suffix


@pytest.fixture(scope="session")
def one_algorithm(checkout: Path) -> Tutorial:
    """Add a congestion control."""
    return applied(checkout, add_algorithm(checkout))


@pytest.fixture(scope="session")
def many_algorithms(checkout: Path, one_algorithm: Tutorial) -> Tutorial:
    """Add several congestion controls, the first of which is the start that `dumbbell new algorithm` writes."""
    names = ["started"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DUMBBELL_CRATES", str(checkout / "crates"))
        new.algorithm("started", rust=True, output=checkout)
    several = len(registered(checkout)) + 3
    while len(registered(checkout)) < several:
        names.append(add_algorithm(checkout, suffix=chr(ord("a") + len(names))))
    return applied(checkout, *names)


@pytest.fixture(scope="session")
def discipline(checkout: Path, many_algorithms: Tutorial) -> Tutorial:
    """Add a queue discipline."""
    (new_file,) = [path for path in blocks() if path.startswith("crates/dumbbell-net/") and path != QUEUES]
    (checkout / new_file).write_text(blocks()[new_file], encoding="utf-8")
    before, part = (checkout / QUEUES).read_text(encoding="utf-8"), "\nregistry! {\n    at arrival {\n"
    assert before.count(part) == 1
    (checkout / QUEUES).write_text(before.replace(part, part + blocks()[QUEUES]), encoding="utf-8")
    return applied(checkout, Path(new_file).stem)


@pytest.fixture(scope="session")
def tested(checkout: Path, one_algorithm: Tutorial, many_algorithms: Tutorial, discipline: Tutorial) -> str:
    """Check the house rules, and return what the tests of the crates printed."""
    if "XTASK" not in os.environ:
        run("cargo build --quiet --locked --bin xtask", ROOT)
    # Not with `cargo run`, which would name the checkout instead of the copy.
    run(f"env CARGO_MANIFEST_DIR={checkout}/xtask {TARGET}/debug/xtask tidy", ROOT)
    in_simulator = {
        "new_algorithm": RUN_IN_SIMULATOR.replace("NEW_ALGORITHM", one_algorithm.names[0]),
        "new_algorithms": RUN_IN_SIMULATOR.replace("NEW_ALGORITHM", many_algorithms.names[0]),
        "new_discipline": RUN_DISCIPLINE.replace("NEW_DISCIPLINE", discipline.names[0]),
    }
    for name, text in in_simulator.items():
        (checkout / f"crates/dumbbell-sim/tests/{name}.rs").write_text(text, encoding="utf-8")
    # Cargo enables the features that all named packages need. With the engine among them, these are always the same.
    simulated = " ".join(f"--test {name}" for name in in_simulator)
    cargo = "cargo test --locked --package dumbbell-py"
    return run(f"{cargo} --package dumbbell-cc --package dumbbell-net", checkout) + run(
        f"{cargo} --package dumbbell-sim {simulated}", checkout
    )


def test_a_congestion_control_is_one_file_and_one_line(
    checkout: Path, one_algorithm: Tutorial, tested: str
) -> None:
    (name,) = one_algorithm.names
    assert one_algorithm.new_files == [f"crates/dumbbell-cc/src/algorithms/{name}.rs"]
    assert one_algorithm.changes == [f"1\t0\t{REGISTRY}"]
    run(f"rustfmt --check --edition 2024 {one_algorithm.new_files[0]}", checkout)
    assert f"algorithms::{name}::tests" in tested
    # The first of the many is run, too.
    assert tested.count("the_new_algorithm_is_listed_with_its_parameters ... ok") == 2
    assert tested.count("the_new_algorithm_carries_a_transfer_and_meets_losses ... ok") == 2


def test_many_congestion_controls_are_also_one_file_and_one_line_each(
    checkout: Path, many_algorithms: Tutorial, tested: str
) -> None:
    names = many_algorithms.names
    assert len(names) == 4
    assert many_algorithms.changes == [f"{len(names)}\t0\t{REGISTRY}"]
    run("rustfmt --check --edition 2024 crates/dumbbell-cc/src/algorithms/started.rs", checkout)
    assert all(f"algorithms::{name}::tests" in tested for name in names)


def test_tests_of_the_package_accept_new_entries(checkout: Path, tested: str) -> None:
    run("cargo build --locked --quiet --package dumbbell-py", checkout)
    suffix = {"darwin": "dylib", "win32": "dll"}.get(sys.platform, "so")
    shutil.copy2(BUILDS / "debug" / f"lib_engine.{suffix}", checkout / "python/dumbbell/_engine.abi3.so")
    tests = " ".join(f"tests/python/{name}" for name in OF_THE_REGISTRY)
    run(f"{sys.executable} -m pytest -q -p no:cacheprovider -m registry {tests}", checkout)


def test_a_queue_discipline_is_one_file_and_one_line(
    checkout: Path, discipline: Tutorial, tested: str
) -> None:
    (name,) = discipline.names
    assert discipline.new_files == [f"crates/dumbbell-net/src/queues/{name}.rs"]
    assert discipline.changes == [f"1\t0\t{QUEUES}"]
    run(f"rustfmt --check --edition 2024 {discipline.new_files[0]}", checkout)
    assert f"queues::{name}::tests" in tested
    assert "the_new_discipline_is_listed_and_carries_a_transfer ... ok" in tested


def test_an_experiment_is_one_file(tmp_path: Path) -> None:
    (new_file,) = [path for path in blocks() if path.startswith("examples/")]
    assert not (ROOT / new_file).exists()
    script = tmp_path / Path(new_file).name
    script.write_text(blocks()[new_file], encoding="utf-8")
    printed = run(f"{sys.executable} {script}", tmp_path).splitlines()
    assert len(printed) == 4
    assert all("packets:" in line for line in printed)
