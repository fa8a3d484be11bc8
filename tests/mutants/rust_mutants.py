"""Mutants of the engine, made by cargo-mutants and judged by the tests of their crate, then by those of the simulator."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from sampling import (
    KILLED,
    ROOT,
    SURVIVED,
    TIMEOUT,
    UNVIABLE,
    Ledger,
    Mutant,
    Verdict,
    digest_of,
    git,
    numbered,
)

AREAS = ("cc", "tcp", "net", "sim")

SAMPLE = 200

CARGO_MUTANTS = ("cargo", "mutants", "--no-shuffle", "--colors=never")

PROFILE = "mutants"

BUILD = ROOT / "target" / "mutants"
"""Has the copy of the repository that is changed, and what is built of it: what did not change is built once."""

OWN, SIMULATOR = "own", "dumbbell-sim"

STAGES = {OWN: (), "simulator": (SIMULATOR, "dumbbell-chaos")}
"""Packages whose tests judge a mutant, in turn; none are those of its own crate."""

LIMIT_S = 60
"""Processor time that a test program may use; without a mutant, none uses a quarter of it."""

LEAST_LIMIT_S = 600
"""A mutant may take five times as long as the tests without it, and this long: the machine may be busy."""

LIMITED = f"""target.'cfg(unix)'.runner=['sh', '-c', 'ulimit -St {LIMIT_S}; exec "$0" "$@"']"""
"""How cargo runs test programs."""

TESTS = "tests.rs"
"""Name of modules of tests in files of their own, whose declaration has the attribute `TEST_ONLY`."""

TEST_ONLY = "#[cfg(test)]"

OVERTIME, FAILED = "SIGXCPU", re.compile(r"^test .* FAILED$", re.M)
"""What cargo prints of a test program that was ended at its limit, and of a test that failed."""

JUDGED = (0, 2, 3)
"""Exit status of cargo-mutants: all were caught, some were missed, some took too long."""

OUTCOMES = {"CaughtMutant": KILLED, "MissedMutant": SURVIVED, "Timeout": TIMEOUT, "Unviable": UNVIABLE}


def candidates(areas: Sequence[str]) -> list[Mutant]:
    """Return all mutants of some crates.

    Raises
    ------
    ValueError
        There is no such crate.
    """
    for area in areas:
        if not (ROOT / "crates" / f"dumbbell-{area}").is_dir():
            raise ValueError(f"areas = {area!r}; accepted: crates of dumbbell, without this prefix")
    return numbered(
        Mutant(
            file=one["file"],
            function=(one["function"] or {}).get("function_name", ""),
            line=one["span"]["start"]["line"],
            column=one["span"]["start"]["column"],
            code=_line(one["file"], one["span"]["start"]["line"]),
            change=f"{one['genre']}: {one['replacement']}",
            handle=one,
        )
        for one in _listed("--diff", *(f"--package=dumbbell-{area}" for area in areas))
    )


def changed(mutants: Sequence[Mutant], diff: str) -> list[Mutant]:
    """Return the mutants of the new lines of a diff."""
    with tempfile.NamedTemporaryFile("w", suffix=".diff", encoding="utf-8") as file:
        file.write(diff)
        file.flush()
        names = {one["name"] for one in _listed(f"--in-diff={file.name}")}
    return [one for one in mutants if one.handle["name"] in names]


def _line(file: str, line: int) -> str:
    return (ROOT / file).read_text("utf-8").splitlines()[line - 1].strip()


def diff_of(mutant: Mutant) -> str:
    """Return the change that a mutant makes, as a unified diff."""
    return str(mutant.handle["diff"]).replace(" /* ~ changed by cargo-mutants ~ */", "")


def _listed(*arguments: str) -> list[dict[str, Any]]:
    command = [*CARGO_MUTANTS, "--list", "--json", *arguments]
    found = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout
    return list(json.loads(found or "[]"))


def _with_dependencies() -> dict[str, set[str]]:
    """Return all packages of the repository, each with itself and those that it uses."""
    command = ["cargo", "metadata", "--format-version=1", "--no-deps", "--locked"]
    listed = json.loads(subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout)
    used = {
        one["name"]: {other["name"] for other in one["dependencies"] if other.get("path")}
        for one in listed["packages"]
    }

    def closed(package: str) -> set[str]:
        return {package}.union(*(closed(other) for other in used[package]))

    return {package: closed(package) for package in used}


def _copied() -> Path:
    """Return the copy of the repository, in which only files that differ are written."""
    tree = BUILD / "tree"
    listed = git("ls-files", "--cached", "--others", "--exclude-standard", "-z").split("\0")
    wanted = {name for name in listed if name and (ROOT / name).is_file()}
    for path in tree.rglob("*"):
        if path.is_file() and str(path.relative_to(tree)) not in wanted:
            path.unlink()
    for name in wanted:
        copy = tree / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        if not copy.is_file() or copy.read_bytes() != (ROOT / name).read_bytes():
            shutil.copyfile(ROOT / name, copy)
    return tree


class Judge:
    """Judges mutants of the engine.

    Parameters
    ----------
    folder
        Keeps the logs of cargo-mutants.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        listed = git(
            "ls-files", "--cached", "--others", "--exclude-standard", "--", "crates", "chaos", "Cargo.*"
        )
        files = [path for name in listed.splitlines() if (path := ROOT / name).is_file()]
        self._all = digest_of(files)
        sources = [path for path in files if "src" in path.parts and path.suffix == ".rs"]
        tested = [path for path in sources if path.name != TESTS]
        self._sources = {
            package: digest_of(
                (path for path in tested if path.relative_to(ROOT).parts[1] in packages),
                until=TEST_ONLY,
            )
            for package, packages in _with_dependencies().items()
        }

    def judge(self, mutants: Sequence[Mutant], ledger: Ledger) -> Iterator[Verdict]:
        """Yield a verdict on each mutant, and add it to the ledger."""
        open_ones = list(mutants)
        for stage, packages in STAGES.items():
            self._collect(stage, mutants, ledger)
            open_ones = [mutant for mutant in open_ones if self._is_open(mutant, stage, ledger)]
            if open_ones:
                self._run(stage, packages, open_ones)
                self._collect(stage, mutants, ledger)
        for mutant in mutants:
            verdict = ledger.earlier(mutant)
            if verdict and verdict.sources == self._basis(mutant, verdict.outcome, verdict.by):
                yield verdict

    def _is_open(self, mutant: Mutant, stage: str, ledger: Ledger) -> bool:
        earlier = ledger.earlier(mutant)
        if earlier is None or earlier.sources != self._basis(mutant, earlier.outcome, earlier.by):
            return True
        judged = list(STAGES).index(earlier.by)
        return earlier.outcome == SURVIVED and judged < list(STAGES).index(stage)

    def _basis(self, mutant: Mutant, outcome: str, stage: str) -> str:
        """Return a digest of what a verdict follows from: the changed crate and those it uses, or all that the simulator uses.

        More tests kill no fewer mutants, so that tests count for survivors only.
        """
        sources = self._sources[mutant.handle["package"] if stage == OWN else SIMULATOR]
        return f"{sources} {self._all}" if outcome == SURVIVED else sources

    def _run(self, stage: str, packages: Sequence[str], mutants: Sequence[Mutant]) -> None:
        folder = self.folder / stage
        # What is in the folder of earlier runs is in the ledger, and would count for the sources of this one.
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        (folder / "sources").write_text(self._all, encoding="utf-8")
        command = [
            *CARGO_MUTANTS,
            f"--dir={_copied()}",
            "--in-place",
            f"--profile={PROFILE}",
            f"--output={folder}",
            f"--minimum-test-timeout={LEAST_LIMIT_S}",
            *(f"--test-package={package}" for package in packages),
            *(f"--package={package}" for package in sorted({one.handle["package"] for one in mutants})),
            *(f"--re=^{re.escape(one.handle['name'])}$" for one in mutants),
            # Fields left out of structures pass every filter by name.
            f"--in-diff={self._diff_of_lines(folder, mutants)}",
            f"--cargo-arg=--config={LIMITED}",
        ]
        environment = os.environ | {"CARGO_TARGET_DIR": str(BUILD)}
        status = subprocess.run(command, cwd=ROOT, check=False, env=environment)
        if status.returncode not in JUDGED:
            raise RuntimeError(
                f"cargo-mutants ended with status {status.returncode}; its logs are in {folder}"
            )

    def _diff_of_lines(self, folder: Path, mutants: Sequence[Mutant]) -> Path:
        """Write a diff that adds the lines of mutants to files without them."""
        hunks = []
        for file in sorted({one.file for one in mutants}):
            hunks += [f"--- a/{file}", f"+++ b/{file}"]
            lines = (ROOT / file).read_text("utf-8").splitlines()
            for added, line in enumerate(sorted({one.line for one in mutants if one.file == file})):
                hunks += [f"@@ -{line - 1 - added},0 +{line},1 @@", f"+{lines[line - 1]}"]
        place = folder / "lines.diff"
        place.write_text("\n".join(hunks) + "\n", encoding="utf-8")
        return place

    def _collect(self, stage: str, mutants: Sequence[Mutant], ledger: Ledger) -> None:
        """Add to the ledger what cargo-mutants found, also before an interruption."""
        folder = self.folder / stage
        found = folder / "mutants.out" / "outcomes.json"
        if not found.is_file() or (folder / "sources").read_text("utf-8") != self._all:
            return
        by_name = {mutant.handle["name"]: mutant for mutant in mutants}
        for outcome in json.loads(found.read_text("utf-8"))["outcomes"]:
            scenario: Any = outcome["scenario"]
            mutant = by_name.get(scenario["Mutant"]["name"]) if isinstance(scenario, dict) else None
            if mutant and outcome["summary"] in OUTCOMES and self._is_open(mutant, stage, ledger):
                seconds = round(sum(phase["duration"] for phase in outcome["phase_results"]), 1)
                verdict = OUTCOMES[outcome["summary"]]
                log = (found.parent / outcome["log_path"]).read_text("utf-8", errors="replace")
                if verdict == KILLED and OVERTIME in log and not FAILED.search(log):
                    verdict = TIMEOUT
                ledger.add(
                    Verdict(
                        mutant.key,
                        self._basis(mutant, verdict, stage),
                        verdict,
                        stage,
                        diff_of(mutant),
                        seconds,
                    )
                )
