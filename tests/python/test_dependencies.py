"""What is imported is declared in pyproject.toml, and what is declared is locked."""

import ast
import re
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))

RUN = [Requirement(text) for text in PROJECT["project"]["dependencies"]]
BUILD = [Requirement(text) for text in PROJECT["build-system"]["requires"]]
EXTRAS = PROJECT["project"]["optional-dependencies"]
TEST = [Requirement(text) for text in EXTRAS["test"]]
MUTANTS = [Requirement(text) for text in PROJECT["dependency-groups"]["mutants"]]
WHEELS = [Requirement(text) for text in PROJECT["dependency-groups"]["wheels"]]
OPTIONAL = [Requirement(text) for name, texts in EXTRAS.items() if name != "test" for text in texts]

PIN = re.compile(r"^([A-Za-z0-9._-]+)(?:\[[^\]]*\])?==(\S+)(?: ; ([^\\\n]+?))?(?: \\)?$", re.M)

# Local modules outside the package that are imported by name.
OWN = {"dumbbell"}
OWN |= {
    path.stem
    for folder in ("tests/python", "tests/hostile", "tests/mutants", "website")
    for path in (ROOT / folder).glob("*.py")
}


def names(requirements):
    return {canonicalize_name(requirement.name) for requirement in requirements}


def imported(folder):
    """Return the packages that the sources of a folder import, with one file that does."""
    found = {}
    for path in (ROOT / folder).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            modules = []
            if isinstance(node, ast.Import):
                modules = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and not node.level:
                modules = [node.module]
            for module in modules:
                found.setdefault(module.split(".")[0], path.relative_to(ROOT))
    return {
        name: path for name, path in found.items() if name not in sys.stdlib_module_names and name not in OWN
    }


@pytest.mark.parametrize(
    ("folder", "declared"),
    [
        ("python", RUN + OPTIONAL),
        ("papers", RUN),
        ("peers", RUN),
        ("examples", RUN),
        ("tests", RUN + TEST + MUTANTS),
        ("benches", RUN),
        ("website", RUN + TEST),
    ],
)
def test_what_is_imported_is_declared(folder, declared):
    owners = metadata.packages_distributions()
    missing = {
        f"{name} in {path}"
        for name, path in imported(folder).items()
        if not {canonicalize_name(owner) for owner in owners.get(name, [name])} & names(declared)
    }
    assert not missing


def locked(file):
    """Return the locked versions of every package, and the text of the lock."""
    text = (ROOT / file).read_text("utf-8")
    pins = {}
    for name, version, _ in PIN.findall(text):
        pins.setdefault(canonicalize_name(name), []).append(version)
    return pins, text


@pytest.mark.parametrize(
    ("file", "required"),
    [
        ("requirements.lock", BUILD + RUN),
        ("requirements-test.lock", BUILD + RUN + TEST),
        ("requirements-mutants.lock", MUTANTS),
        ("requirements-wheels.lock", WHEELS),
    ],
)
def test_the_lock_agrees_with_the_project(file, required):
    pins, text = locked(file)
    for requirement in required:
        versions = pins.get(canonicalize_name(requirement.name), [])
        assert versions, f"{requirement.name} is not locked: make lock"
        assert all(requirement.specifier.contains(version) for version in versions), (requirement, versions)
    blocks = re.split(r"\n(?=\S)", text.strip())
    assert all("--hash=sha256:" in block for block in blocks)
    assert len(blocks) == sum(map(len, pins.values()))


def test_what_tests_need_of_the_options_is_among_their_requirements():
    assert names(OPTIONAL) <= names(TEST)


def test_all_locks_have_the_same_versions():
    run, _ = locked("requirements.lock")
    test, _ = locked("requirements-test.lock")
    assert {name: test.get(name) for name in run} == run
    for file in ("requirements-mutants.lock", "requirements-wheels.lock"):
        more, _ = locked(file)
        assert {name: test.get(name, versions) for name, versions in more.items()} == more


def test_what_is_installed_is_what_is_locked():
    pins, _ = locked("requirements-test.lock")
    installed = {name: metadata.version(name) for name in pins if _is_installed(name)}
    assert {name: version for name, version in installed.items() if version not in pins[name]} == {}
    assert names(RUN + TEST) <= set(installed)


def _is_installed(name):
    try:
        metadata.version(name)
    except metadata.PackageNotFoundError:
        return False
    return True


def test_the_engine_shares_its_crates_with_the_tests_of_the_workspace():
    """Cargo compiles a crate once per set of its features."""

    def compiled(*selected):
        command = ["cargo", "tree", "--locked", "--prefix=none", "--format={p} {f}", *selected]
        printed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
        return {line.removesuffix(" (*)") for line in printed.splitlines()}

    engine = compiled("--package=dumbbell-py", "--edges=normal,no-proc-macro")
    assert engine - compiled("--workspace", "--edges=normal,dev,no-proc-macro") == set()
