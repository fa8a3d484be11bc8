"""Mutants of the package, made by Cosmic Ray and judged by the tests that execute their lines.

A mutant is written into a copy of the repository. The test files that are named after its module or package run once under
coverage, which tells the tests that execute a line. They run in one process, the test that killed the mutant before first,
then the quickest first, up to the first failure.
"""

from __future__ import annotations

import ast
import compileall
import difflib
import multiprocessing
import os
import py_compile
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from math import ceil
from pathlib import Path
from typing import Any

import pytest
from cosmic_ray.ast import ast_nodes, get_ast_from_path
from cosmic_ray.ast.ast_query import ASTQuery
from cosmic_ray.mutating import mutate_code, use_mutation
from cosmic_ray.plugins import get_operator, operator_names
from cosmic_ray.work_item import MutationSpec
from coverage import CoverageData

from sampling import (
    BROKEN,
    KILLED,
    ROOT,
    SURVIVED,
    TIMEOUT,
    UNCOVERED,
    Ledger,
    Mutant,
    Verdict,
    area_of,
    changed_lines,
    digest_of,
    git,
    numbered,
)

AREAS = ("statistics", "claims", "factorial", "evaluation", "campaign")

SAMPLE = 150

PACKAGE = "python/dumbbell"

TESTS = "tests/python"

# Of each group of operators, those that make the nearest other program: others are killed by nearly any test.
OPERATORS = re.compile(
    r"core/("
    r"ReplaceBinaryOperator_(Add_Sub|Sub_Add|Mul_Div|Div_Mul|FloorDiv_Div|Mod_Div|Pow_Mul|BitOr_BitAnd|BitAnd_BitOr)"
    r"|ReplaceComparisonOperator_(Eq_NotEq|NotEq_Eq|Lt_LtE|LtE_Lt|Gt_GtE|GtE_Gt|Lt_GtE|LtE_Gt|Gt_LtE|GtE_Lt|Is_IsNot|IsNot_Is)"
    r"|ReplaceUnaryOperator_Delete_(Not|USub)"
    r"|AddNot|ReplaceTrueWithFalse|ReplaceFalseWithTrue|ReplaceAndWithOr|ReplaceOrWithAnd"
    r"|ReplaceBreakWithContinue|ReplaceContinueWithBreak|ExceptionReplacer|NumberReplacer|ZeroIterationForLoop"
    r")"
)

NUMBER = "core/NumberReplacer"

FORMULAS = ("arith_expr", "term", "power", "expr", "shift_expr", "comparison", "subscript", "subscriptlist")
"""Nodes of the parser that contain numbers of a formula."""

PYTEST = ("-q", "-p", "no:cacheprovider", "-p", "no:xdist")

PROCESSES = multiprocessing.get_context("forkserver")
"""The processes of tests are forked from one that has imported most of what the package imports."""

PRELOADED = [
    "matplotlib.pyplot",
    "networkx",
    "pandas",
    "pyarrow.parquet",
    "python_mutants",
    "scipy.stats",
    "typer.testing",
]

NOT_THE_COPY = 70
"""Exit status of a test process that would not test the mutant."""

LEAST_LIMIT_S = 60.0
"""A mutant may use three times the processor time of its tests and this."""

PATIENCE = 5
"""A mutant may wait this many times as long as it may compute: the machine may be busy."""

MEMORY = 8 << 30
"""Bytes of address space that a test process may use."""


def candidates(areas: Sequence[str]) -> list[Mutant]:
    """Return all mutants of some modules and packages. Annotations and imports for them are left out: they do not run.

    Raises
    ------
    ValueError
        There is no such module or package.
    """
    paths: list[Path] = []
    for area in areas:
        place = ROOT / PACKAGE / area
        paths += sorted(place.rglob("*.py")) if place.is_dir() else [place.with_suffix(".py")]
        if not paths[-1].is_file():
            raise ValueError(f"areas = {area!r}; accepted: modules and packages of dumbbell")
    return numbered(mutant for path in paths for mutant in _mutants(path))


def _mutants(path: Path) -> Iterator[Mutant]:
    file = str(path.relative_to(ROOT))
    lines = path.read_text("utf-8").splitlines()
    unexecuted = _unexecuted("\n".join(lines))
    nodes = list(ast_nodes(get_ast_from_path(path)))
    for name in filter(OPERATORS.fullmatch, operator_names()):
        operator = get_operator(name)()
        places = [(node, *place) for node in nodes for place in operator.mutation_positions(node)]
        for occurrence, (node, start, end) in enumerate(places):
            # Each number has two mutants: one more and one less.
            if name == NUMBER and (occurrence % 2 or not _is_in_formula(node)):
                continue
            # The star before parameters that are passed by name only is no operator.
            if node.type == "operator" and node.parent.type == "parameters":
                continue
            if not any(begin <= start < finish for begin, finish in unexecuted):
                yield Mutant(
                    file=file,
                    function=ASTQuery(node).get_definition_name() or "",
                    line=start[0],
                    column=start[1] + 1,
                    code=lines[start[0] - 1].strip(),
                    change=name.removeprefix("core/"),
                    handle=MutationSpec(file, name, occurrence, start, end),
                )


def _is_in_formula(number: Any) -> bool:
    """Return whether a number is in arithmetic, a comparison or an index; others are data, and half of all mutants."""
    node = number.parent
    while node.type == "factor":
        node = node.parent
    return node.type in FORMULAS or (node.type == "trailer" and node.children[0].value == "[")


def _unexecuted(source: str) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Return the places of annotations and of conditions for type checkers."""
    nodes: list[ast.expr] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.arg | ast.AnnAssign) and node.annotation:
            nodes.append(node.annotation)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.returns:
            nodes.append(node.returns)
        elif isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            nodes.append(node.test)
    return [((n.lineno, n.col_offset), (n.end_lineno or n.lineno, n.end_col_offset or 0)) for n in nodes]


def changed(mutants: Sequence[Mutant], diff: str) -> list[Mutant]:
    """Return the mutants of the new lines of a diff."""
    lines = changed_lines(diff)
    return [one for one in mutants if one.line in lines.get(one.file, ())]


def diff_of(mutant: Mutant) -> str:
    """Return the change that a mutant makes, as a unified diff without context."""
    spec: MutationSpec = mutant.handle
    source = (ROOT / mutant.file).read_text("utf-8")
    changed = mutate_code(source, get_operator(spec.operator_name)(), spec.occurrence) or source
    return "\n".join(
        difflib.unified_diff(
            source.splitlines(), changed.splitlines(), mutant.file, mutant.file, lineterm="", n=0
        )
    )


# --- the tests of a line ---


@dataclass
class Covering:
    """The tests that execute each line, and how long they take.

    Parameters
    ----------
    by_line
        Names of tests by file and line.
    seconds
        Time of each test.
    """

    by_line: dict[tuple[str, int], set[str]] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)

    def tests_of(self, mutant: Mutant) -> set[str]:
        """Return the tests that execute the statement of a mutant; all if it is executed at the import."""
        begin, end = _statement(mutant.file, mutant.line)
        found = set().union(*(self.by_line.get((mutant.file, line), set()) for line in range(begin, end + 1)))
        if "" in found:
            # Any test may use what the import made.
            found = set(self.seconds)
        return found & set(self.seconds)


def _statement(file: str, line: int) -> tuple[int, int]:
    """Return the first and the last line of the innermost statement at a line, without its body."""
    spans = [(line, line)]
    for node in ast.walk(ast.parse((ROOT / file).read_text("utf-8"))):
        if isinstance(node, ast.stmt) and node.end_lineno:
            body = getattr(node, "body", None)
            end = max(node.lineno, body[0].lineno - 1) if body else node.end_lineno
            if node.lineno <= line <= end:
                spans.append((node.lineno, end))
    return max(spans[1:], default=spans[0])


class Judge:
    """Judges mutants of the package in a copy of the repository.

    Parameters
    ----------
    folder
        Keeps the coverage of the test files.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "coverage"
        self._sources = _digest_of_sources()
        self._tests = {
            str(path.relative_to(ROOT)): digest_of([path]) for path in (ROOT / TESTS).glob("test_*.py")
        }
        self._covering: dict[str, Covering] = {}

    def judge(self, mutants: Sequence[Mutant], ledger: Ledger) -> Iterator[Verdict]:
        """Yield a verdict on each mutant, and add it to the ledger."""
        open_ones = []
        for mutant in mutants:
            earlier = ledger.earlier(mutant)
            if earlier and earlier.sources == self._basis(mutant, earlier.outcome, earlier.by):
                yield earlier
            else:
                open_ones.append(mutant)
        if not open_ones:
            return
        with _copied() as tree:
            for mutant in open_ones:
                area = area_of(mutant.file)
                if area not in self._covering:
                    self._covering[area] = self._cover(tree, area)
                verdict = self._judge(mutant, ledger.earlier(mutant))
                ledger.add(verdict)
                yield verdict

    def _judge(self, mutant: Mutant, earlier: Verdict | None) -> Verdict:
        covering = self._covering[area_of(mutant.file)]
        killer = earlier.by if earlier else ""
        tests = sorted(
            covering.tests_of(mutant), key=lambda test: (test != killer, covering.seconds[test], test)
        )
        if not tests:
            basis = self._basis(mutant, UNCOVERED, "")
            return Verdict(mutant.key, basis, UNCOVERED, "no test executes it", diff_of(mutant))
        limit = LEAST_LIMIT_S + 3.0 * sum(covering.seconds[test] for test in tests)
        spec: MutationSpec = mutant.handle
        began = time.monotonic()
        with use_mutation(Path(mutant.file), get_operator(spec.operator_name)(), spec.occurrence):
            status, output = _run(tests, limit)
        seconds = round(time.monotonic() - began, 1)
        failed = re.search(rf"^(?:FAILED|ERROR) ({TESTS}/.+?)(?: - .*)?$", output, re.M)
        # Some test files use the package when they are imported.
        refused = re.search(rf"^_+ ERROR collecting ({TESTS}/\S+) _+$", output, re.M)
        if status is None:
            outcome, by = TIMEOUT, f"{limit:.0f} s"
        elif status == pytest.ExitCode.OK:
            outcome, by = SURVIVED, f"{len(tests)} tests"
        elif status == pytest.ExitCode.TESTS_FAILED and failed:
            outcome, by = KILLED, failed[1]
        elif refused and mutant.file in output:
            outcome, by = KILLED, refused[1]
        else:
            outcome, by = BROKEN, f"exit status {status}: {output.strip().rpartition(chr(10))[2]}"
        return Verdict(mutant.key, self._basis(mutant, outcome, by), outcome, by, diff_of(mutant), seconds)

    def _basis(self, mutant: Mutant, outcome: str, by: str) -> str:
        """Return a digest of what a verdict follows from: all sources, and the test that killed or all that could have."""
        file = by.split("::")[0]
        files = [file] if outcome == KILLED and file in self._tests else self._files_of(area_of(mutant.file))
        return " ".join([self._sources, *(self._tests[name] for name in files)])

    def _files_of(self, area: str) -> list[str]:
        """Return the test files that are named after a module or package."""
        return sorted(file for file in self._tests if area in Path(file).stem)

    def _cover(self, tree: Path, area: str) -> Covering:
        covering = Covering()
        for file in self._files_of(area):
            data, times = self._measured(tree, file)
            measured = CoverageData(str(data))
            measured.read()
            tests = _passed(times, file)
            covering.seconds |= tests
            for path in measured.measured_files():
                name = path[path.index(PACKAGE) :]
                for line, contexts in measured.contexts_by_lineno(path).items():
                    found = covering.by_line.setdefault((name, line), set())
                    for context in contexts:
                        test, _, phase = context.partition("|")
                        # What a fixture does may be seen by any test of the file.
                        found |= set(tests) if phase == "setup" else {test}
        return covering

    def _measured(self, tree: Path, file: str) -> tuple[Path, Path]:
        """Return the coverage of a test file and the times of its tests, measured if its sources are others."""
        name = f"{Path(file).stem}-{self._sources}-{self._tests[file]}"
        data, times = self.folder / f"{name}.coverage", self.folder / f"{name}.xml"
        if not times.is_file():
            print(f"measuring the coverage of {file}", flush=True)
            self.folder.mkdir(parents=True, exist_ok=True)
            new = times.with_suffix(".new")
            subprocess.run(
                [
                    sys.executable,
                    "-m",
                    "pytest",
                    *PYTEST,
                    file,
                    f"--cov={PACKAGE}",
                    "--cov-context=test",
                    "--cov-report=",
                    f"--junitxml={new}",
                ],
                cwd=tree,
                env=os.environ | {"COVERAGE_FILE": str(data)},
                stdout=subprocess.DEVNULL,
                check=False,
            )
            new.replace(times)
        return data, times


def _passed(times: Path, file: str) -> dict[str, float]:
    """Return the time of each test that passes without a mutant; say which do not."""
    found = {}
    for case in ET.parse(times).iter("testcase"):
        test = f"{file}::{case.get('name')}"
        if case.find("failure") is not None or case.find("error") is not None:
            print(f"left out, because it fails without a mutant: {test}", file=sys.stderr)
        elif case.find("skipped") is None:
            found[test] = float(case.get("time") or 0.0)
    return found


def _run(tests: Sequence[str], limit: float) -> tuple[int | None, str]:
    """Return the exit status of tests, up to the first failure, and their output; ``None`` if they take too long."""
    chosen, log = Path("chosen-tests"), Path("output-of-tests")
    chosen.write_text("\n".join(tests), encoding="utf-8")
    process = PROCESSES.Process(target=_pytest_main, args=(["-x", f"@{chosen}"], str(log), limit))
    process.start()
    process.join(PATIENCE * limit)
    if process.is_alive():
        os.killpg(process.pid or 0, signal.SIGKILL)
        process.join()
        return None, ""
    if process.exitcode == NOT_THE_COPY:
        raise RuntimeError("the tests would import another package than the copy")
    status = None if process.exitcode == -signal.SIGXCPU else process.exitcode
    return status, log.read_text("utf-8", errors="replace")


def _pytest_main(arguments: list[str], log: str, limit: float) -> None:
    os.setsid()
    resource.setrlimit(resource.RLIMIT_CPU, (ceil(limit), ceil(limit) + 5))
    # The process has inherited the path of the one that started it.
    sys.path.insert(0, os.environ["PYTHONPATH"])
    found = find_spec("dumbbell")
    if not found or not Path(found.origin or "").is_relative_to(Path.cwd()):
        sys.exit(NOT_THE_COPY)
    with open(log, "wb") as file:  # noqa: PTH123 - the descriptor is what counts
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    sys.exit(pytest.main([*PYTEST, *arguments]))


def _digest_of_sources() -> str:
    """Return a digest of everything that is tested or used by tests; of the engine, of what it is built from."""
    listed = git(
        "ls-files",
        "--cached",
        "--others",
        "--exclude-standard",
        "--",
        "python",
        "crates/*/src",
        "crates/*/Cargo.toml",
        "Cargo.lock",
        TESTS,
    )
    paths = [ROOT / name for name in listed.splitlines() if not re.match(rf"{TESTS}/test_", name)]
    return digest_of((path for path in paths if path.is_file()), until="#[cfg(test)]")


@contextmanager
def _copied() -> Iterator[Path]:
    """Copy the repository, with its engine, and make the copy the working folder and the package that is imported."""
    with tempfile.TemporaryDirectory(prefix="dumbbell-mutants-") as folder:
        tree = Path(folder)
        listed = git("ls-files", "--cached", "--others", "--exclude-standard", "-z").split("\0")
        for name in filter(None, listed):
            if (ROOT / name).exists() or (ROOT / name).is_symlink():
                (tree / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, tree / name, follow_symlinks=False)
        for engine in (ROOT / PACKAGE).glob("_engine*.so"):
            (tree / PACKAGE / engine.name).symlink_to(engine)
        # The tests of a mutant write no bytecode, and a mutant may be as old and as long as the original.
        mode = py_compile.PycInvalidationMode.CHECKED_HASH
        compileall.compile_dir(tree / "python", quiet=1, invalidation_mode=mode)
        os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
        os.environ["PYTHONPATH"] = str(tree / "python")
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))
        before = Path.cwd()
        os.chdir(tree)
        PROCESSES.set_forkserver_preload(PRELOADED)
        try:
            yield tree
        finally:
            os.chdir(before)
