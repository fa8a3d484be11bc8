"""Change single lines of the engine or the package, and see whether a test fails: ``make mutants``.

A sample is drawn by a seed from all mutants of the named crates or modules, or all mutants of the lines that changed since a
revision are taken. Verdicts are kept in results/mutants and reused as long as what they follow from is the same, so an
interrupted command continues. Equivalent mutants are listed with their reasons in equivalent.toml.
"""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import python_mutants
import rust_mutants
from sampling import (
    EQUIVALENT_TO,
    ROOT,
    Ledger,
    Mutant,
    Verdict,
    area_of,
    areas_of,
    drawn,
    equivalents,
    git,
    reasons_of,
    report,
    text_of,
)


def main() -> int:
    """Judge mutants and write the report."""
    parser = argparse.ArgumentParser(prog="mutants", description=__doc__.splitlines()[0])
    parser.add_argument("language", choices=("python", "rust"))
    parser.add_argument("--areas", help="crates or modules, separated by commas")
    parser.add_argument("--seed", type=int, default=1, help="of the sample")
    parser.add_argument(
        "--count",
        type=_at_least_one,
        help="size of the sample, otherwise 150 of the package or 200 of the engine",
    )
    parser.add_argument("--base", help="a revision: all mutants of lines that differ from it, or a sample")
    arguments = parser.parse_args()
    # A copy of the repository is removed also if the command is ended from outside.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    language: ModuleType = python_mutants if arguments.language == "python" else rust_mutants
    suffix = ".py" if arguments.language == "python" else ".rs"
    try:
        diff = git("diff", "--unified=0", arguments.base, "--") if arguments.base else ""
        areas = areas_of(diff, suffix) if arguments.base else list(language.AREAS)
        areas = arguments.areas.split(",") if arguments.areas else areas
        candidates = language.candidates(areas) if areas else []
        listed = [entry for entry in equivalents(suffix) if area_of(entry.file) in areas]
        reasons = reasons_of(listed, candidates, language.diff_of)
    except (ValueError, OSError, subprocess.CalledProcessError) as error:
        print(f"mutants: {getattr(error, 'stderr', None) or error}", file=sys.stderr)
        return 2
    if arguments.base:
        candidates = language.changed(candidates, diff)
    count = arguments.count or (None if arguments.base else language.SAMPLE)
    sample = drawn(candidates, arguments.seed, count)
    title = (
        f"{len(sample)} of {len(candidates)} mutants of {', '.join(areas)}"
        f"{f' changed since {arguments.base}' if arguments.base else ''}, seed {arguments.seed}"
    )
    print(title, flush=True)
    place = ROOT / "results" / "mutants"
    ledger = Ledger(place / f"{arguments.language}.jsonl")
    judge = language.Judge(place)
    judged: dict[str, tuple[Mutant, Verdict]] = {}
    for mutant in sample:
        if mutant.key in reasons:
            verdict = Verdict(mutant.key, "", EQUIVALENT_TO, reasons[mutant.key], language.diff_of(mutant))
            judged[mutant.key] = (mutant, verdict)
    by_key = {mutant.key: mutant for mutant in sample if mutant.key not in judged}
    # Those of an area in turn: the tests of an area are measured when its first mutant is judged.
    for verdict in judge.judge(
        sorted(by_key.values(), key=lambda one: areas.index(area_of(one.file))), ledger
    ):
        mutant = by_key[verdict.key]
        judged[verdict.key] = (mutant, verdict)
        print(
            f"{len(judged)}/{len(sample)} {verdict.outcome}: {mutant.file}:{mutant.line} {verdict.by}",
            flush=True,
        )
        _write(place / arguments.language, title, sample, judged)
    _write(place / arguments.language, title, sample, judged)
    print(Path(place / f"{arguments.language}.txt").read_text("utf-8"))
    return 0


def _at_least_one(text: str) -> int:
    if (number := int(text)) < 1:
        raise argparse.ArgumentTypeError(f"{number}; accepted: at least 1")
    return number


def _write(place: Path, title: str, sample: list[Mutant], judged: dict[str, tuple[Mutant, Verdict]]) -> None:
    found = report(title, [judged[one.key] for one in sample if one.key in judged], len(sample) - len(judged))
    place.with_suffix(".json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    place.with_suffix(".txt").write_text(text_of(found), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
