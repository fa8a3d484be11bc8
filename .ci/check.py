"""Check what a change can break, in about a minute: formats, lints, and the tests nearest to the changed files.

A changed crate is checked by its own tests and those of the crates in `FOLLOWERS`. A changed module of the package is
checked by the test files named after it, and by those nearest to it in the graph of imports. Tests marked as slow are
left out, unless their own file has changed. Changed files that select nothing are named.
"""

from __future__ import annotations

import argparse
import ast
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BIN = Path(sys.executable).parent
PYTHON_TESTS = Path("tests/python")
RUN_TESTS = {PYTHON_TESTS, *(Path("tests") / name for name in ("tutorials", "hostile", "chaos"))}

AREAS = {
    "peers": ["test_peer_*.py", "test_cross_validation*.py"],
    "python/dumbbell/crossvalidation": ["test_cross_validation*.py"],
    "website": [
        "test_website.py",
        "test_finding.py",
        "test_formulas.py",
        "test_outputs.py",
        "test_gallery.py",
    ],
    "mkdocs.yml": [
        "test_website.py",
        "test_finding.py",
        "test_formulas.py",
        "test_outputs.py",
        "test_gallery.py",
    ],
    "python/dumbbell/__main__.py": ["test_cli.py", "test_startup.py"],
    "python/dumbbell/_engine.pyi": ["test_stub.py"],
    "tests/python/computed_once.py": ["test_paper*.py"],
    "tests/python/conftest.py": ["test_*.py"],
}
"""Tests of files that neither names nor imports connect with them: patterns below `tests/python`."""

TESTED = ("python", "papers", "peers", "website", "mkdocs.yml", *map(str, RUN_TESTS))
"""Beginnings of the paths of files that tests of Python concern."""

RUST_SETTINGS = {Path("Cargo.toml"), Path("Cargo.lock"), Path("clippy.toml"), Path("rustfmt.toml")}

FOLLOWERS = {
    "dumbbell-units": [["dumbbell-sim", "--test", "it", "fingerprints"]],
    "dumbbell-cc": [["dumbbell-sim", "--test", "it", "fingerprints"]],
    "dumbbell-tcp": [["dumbbell-sim", "--test", "it", "fingerprints"]],
    "dumbbell-net": [["dumbbell-sim", "--test", "it", "fingerprints"]],
}
"""Arguments of `cargo test` after a change of a crate: its behaviour within a simulation."""


def output(*command: str) -> str:
    """Return what a command prints."""
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


def changed(base: str) -> list[Path]:
    """Return the files that differ from where the branch left `base`, with new ones."""
    fork = output("git", "merge-base", base, "HEAD").strip()
    names = output("git", "diff", "--name-only", "--no-renames", fork).splitlines()
    names += output("git", "ls-files", "--others", "--exclude-standard").splitlines()
    return sorted({Path(name) for name in names})


@cache
def packages() -> dict[Path, str]:
    """Return the names of the workspace's packages by folder."""
    metadata = json.loads(output("cargo", "metadata", "--no-deps", "--format-version", "1", "--locked"))
    return {Path(package["manifest_path"]).parent: package["name"] for package in metadata["packages"]}


def crates_of(files: Sequence[Path]) -> list[str]:
    """Return the names of the workspace's packages that contain some of the files."""
    folders = packages()
    return sorted({folders[place] for file in files for place in (ROOT / file).parents if place in folders})


class Imports:
    """Which modules of the package, of the papers and of the tests import which, by file."""

    def __init__(self) -> None:
        places = [*(ROOT / "python/dumbbell").rglob("*.py"), *(ROOT / "papers").rglob("*.py")]
        places += (ROOT / PYTHON_TESTS).glob("*.py")
        self._files = {self._module(file.relative_to(ROOT)): file.relative_to(ROOT) for file in places}
        self._imports = {name: list(self._imported(file)) for name, file in self._files.items()}

    @staticmethod
    def _module(file: Path) -> str:
        parts = file.with_suffix("").parts
        parts = ("dumbbell_papers", *parts[1:]) if parts[0] == "papers" else parts[1:]
        return ".".join(parts).removesuffix(".__init__").removeprefix("python.")

    def _imported(self, file: Path) -> Iterator[tuple[str, str]]:
        """Yield pairs of a module and a name in it; the name is empty if the module itself is imported."""
        for node in ast.walk(ast.parse((ROOT / file).read_text("utf-8"))):
            if isinstance(node, ast.Import):
                yield from ((alias.name, "") for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
                yield from ((node.module, alias.name) for alias in node.names)
            elif isinstance(node, ast.Attribute) and ast.unparse(node.value) == "dumbbell":
                yield "dumbbell", node.attr

    def _owner(self, module: str, name: str) -> str:
        """Return the module that defines a name, through packages that pass it on."""
        seen = set()
        while module not in seen:
            seen.add(module)
            if f"{module}.{name}" in self._files:
                return f"{module}.{name}"
            source = [inner for inner, passed in self._imports.get(module, []) if passed == name != ""]
            module = source[0] if source else module
        return module

    def nearest_tests(self, file: Path) -> set[Path]:
        """Return the test files with the fewest imports between them and a file."""
        users: dict[str, set[str]] = {}
        for user, imports in self._imports.items():
            for module, name in imports:
                users.setdefault(self._owner(module, name), set()).add(user)
        reached, seen = {self._module(file)}, {"dumbbell"}
        while reached:
            seen |= reached
            reached = set().union(*(users.get(module, set()) for module in reached)) - seen
            if found := {self._files[name] for name in reached if name.startswith("test_")}:
                return found
        return set()


def tests_of(file: Path, imports: Imports) -> set[Path]:
    """Return the test files that a changed file of Python or of data concerns."""
    if file.name.startswith("test_"):
        return {file} if file.parent in RUN_TESTS and (ROOT / file).exists() else set()
    tests = [path.relative_to(ROOT) for path in (ROOT / PYTHON_TESTS).glob("test_*.py")]
    parts = {part.strip("_") for part in file.with_suffix("").parts[1:]} - {"dumbbell", "init", "python"}
    named = {
        test
        for test in tests
        if any(
            f"_{test.stem.removeprefix('test_')}_".startswith((f"_{part}_", f"_paper_{part}_"))
            for part in parts
        )
    }
    listed = {
        test
        for place, patterns in AREAS.items()
        if file.is_relative_to(place)
        for test in tests
        if any(test.match(pattern) for pattern in patterns)
    }
    return named | listed | (imports.nearest_tests(file) if file.suffix == ".py" else set())


def is_rust(file: Path) -> bool:
    """Return whether a file is of a crate, or a setting of all crates."""
    return file in RUST_SETTINGS or bool(crates_of([file]))


def rust(files: Sequence[Path]) -> Iterator[Sequence[str]]:
    """Yield the commands that check changed Rust files."""
    crates = crates_of(files)
    if not crates and not any(is_rust(file) for file in files):
        return
    if sources := [str(file) for file in files if file.suffix == ".rs" and (ROOT / file).exists()]:
        yield ["rustfmt", "--check", *sources]
    tested = [f"--package={crate}" for crate in crates if crate not in {"dumbbell-fuzz", "dumbbell-py"}]
    if tested:
        yield ["cargo", "test", "--locked", "--quiet", *tested]
    # As of `make lint-rust`, which then compiles nothing again.
    clippy = ["cargo", "clippy", "--workspace", "--features", "dumbbell-testbed/kernel", "--all-targets"]
    without_fuzzer = ["env", "CUSTOM_LIBFUZZER_PATH=/none/libfuzzer.a"]
    yield [*without_fuzzer, *clippy, "--locked", "--quiet", "--", "-D", "warnings"]
    followers = {
        tuple(rest) for crate in crates for rest in FOLLOWERS.get(crate, []) if rest[0] not in crates
    }
    for package, *rest in sorted(followers):
        yield ["cargo", "test", "--locked", "--quiet", "--package", package, *rest]


def selects_nothing(file: Path, imports: Imports) -> bool:
    """Return whether no check but that of the house rules concerns a changed file."""
    if file.suffix == ".md" or is_locked(file) or is_rust(file):
        return False
    return not (str(file).startswith(TESTED) and tests_of(file, imports))


def is_locked(file: Path) -> bool:
    """Return whether a file declares or locks dependencies."""
    return file.name in {"pyproject.toml", "Makefile"} or file.suffix == ".lock"


def python(files: Sequence[Path]) -> Iterator[Sequence[str]]:
    """Yield the commands that check changed files of Python and what is beside them."""
    pytest = [f"{BIN}/pytest", "--quiet", "--numprocesses=auto", "--dist=worksteal"]
    if any(file.suffix in {".py", ".pyi"} for file in files):
        yield [f"{BIN}/ruff", "check", "."]
        yield [f"{BIN}/ruff", "format", "--check", "."]
        yield [f"{BIN}/mypy"]
    imports = Imports()
    concerned: set[Path] = set().union(
        *(tests_of(file, imports) for file in files if str(file).startswith(TESTED))
    )
    if any(is_locked(file) for file in files):
        concerned.add(PYTHON_TESTS / "test_dependencies.py")
    own = sorted(str(file) for file in concerned if file in files)
    other = sorted(str(file) for file in concerned if file not in files)
    # Tests of the tutorials share a copy of the checkout, and therefore a process, as in `make tutorials`.
    if apart := [file for file in own if file.startswith("tests/tutorials/")]:
        yield [f"{BIN}/pytest", "--quiet", "--numprocesses=auto", "--dist=loadfile", *apart]
    if own := [file for file in own if file not in apart]:
        yield [*pytest, *own]
    if other:
        yield [*pytest, "-m", "not slow", *other]
    if any(file.suffix == ".md" for file in files):
        yield [
            *pytest,
            "tests/tutorials/test_documents.py",
            "-k",
            "links_resolve or glossary or target or lists",
        ]


CHECKS: Sequence[Callable[[Sequence[Path]], Iterator[Sequence[str]]]] = (rust, python)


def main() -> int:
    """Run the checks up to the first that fails, and return its status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--base", default="main", help="branch or commit with which the files are compared")
    parser.add_argument("--list", action="store_true", help="print the commands only")
    options = parser.parse_args()
    files = changed(options.base)
    print(f"{len(files)} files differ from {options.base}")
    commands = [["cargo", "run", "--quiet", "--locked", "--bin", "xtask", "--", "tidy"]] if files else []
    commands += [list(command) for check in CHECKS for command in check(files)]
    imports = Imports()
    for file in files:
        if selects_nothing(file, imports):
            print(f"no test selected for {file}")
    if any(command[0] in {f"{BIN}/mypy", f"{BIN}/pytest"} for command in commands):
        commands.insert(0, ["make", "--no-print-directory", ".venv/stamps/engine"])
    for command in commands:
        print("$", " ".join(command).replace(f"{ROOT}/", ""), flush=True)
        begin = time.monotonic()
        if not options.list:
            if status := subprocess.run(command, cwd=ROOT, check=False).returncode:
                return status
            print(f"  {time.monotonic() - begin:.1f} s", flush=True)
    print("make check: all selected checks passed; `make test` runs all checks")
    return 0


if __name__ == "__main__":
    sys.exit(main())
