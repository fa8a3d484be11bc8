"""Kill reproductions of a paper and damage their stores, and compare the verdicts with those of an undisturbed reproduction.

``make torture`` runs it. It is not part of ``make test``, because it takes as long as several hundred reproductions.

First, reproductions are killed with SIGKILL at random moments and resumed until they are complete. After each kill, the
store contains no run twice and everything it contained before, no damage has been reported, and an existing report is
complete. At the end, the claims equal those of an undisturbed reproduction, and no stored run was repeated.

Then copies of an intact store of several parts are damaged: a byte is flipped, or a file is truncated or removed; the file
is one part, several, or their list. The resumed reproduction must report every damaged file, repeat the lost runs and no
others, and give the same table of results, bit for bit. Claims depend on this table only. For some of the damaged stores
(``--judged``), the command also writes a report, and its claims are compared.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dumbbell import papers
from dumbbell.campaign import Display
from dumbbell.papers import Settings
from dumbbell.papers.runs import PaperRuns, store_of

LIST = "parts.json"

# Additions to the store that is damaged: seven merged parts of eight additions, and seven small parts.
ADDITIONS = 63


@dataclass(frozen=True)
class Torture:
    """The paper, the folder, and the random numbers."""

    paper: str
    place: Path
    draw: random.Random

    def command(self, output: Path) -> list[str]:
        """Return the command that reproduces the paper into a folder."""
        command = [sys.executable, "-m", "dumbbell.cli", "reproduce", self.paper, "--quick", "--json"]
        return [*command, "--output", str(output)]

    def reproduced(self, output: Path) -> tuple[dict[str, Any], list[str]]:
        """Return the findings of an undisturbed reproduction, and its warnings."""
        done = subprocess.run(self.command(output), capture_output=True, text=True, check=False)
        expect(done.returncode == 0, f"exit code {done.returncode}: {done.stderr}")
        warnings = [line for line in done.stderr.splitlines() if line.startswith("warning: ")]
        return json.loads(done.stdout), warnings

    def resumed(self, output: Path) -> tuple[list[str], int, pd.DataFrame]:
        """Return the warnings on a store, the number of repeated runs, and the table of results."""
        paper = papers.load(self.paper)
        with store_of(paper, output, fresh=False) as store, Display(sys.stderr, quiet=True) as display:
            work = PaperRuns(paper, Settings(quick=True), store)
            work.announce(display)
            work.complete(display)
            (table,) = work.tables()
            return store.warnings, work.total - work.reused, table

    def kept(self, output: Path) -> Counter[tuple[str, int, int]]:
        """Return the number of occurrences of each run in the store, without changing the store."""
        paper = papers.load(self.paper)
        if not (output / "cache").exists():
            return Counter()
        copy = self.place / "copy"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(output / "cache", copy / "cache")
        with store_of(paper, copy, fresh=False) as store:
            expect(not store.warnings, f"a kill was reported as damage: {store.warnings}")
            names = store.frame()[["hash", "seed", "run"]]
        return Counter(names.itertuples(index=False, name=None))


def expect(holds: bool, otherwise: str) -> None:
    """Exit if a condition does not hold."""
    if not holds:
        sys.exit(f"torture: {otherwise}")


def same_verdicts(found: dict[str, Any], reference: dict[str, Any]) -> bool:
    """Return whether two reproductions have the same verdicts."""
    return all(found[part] == reference[part] for part in ("score", "claims", "runs"))


def kills(torture: Torture, count: int, reference: dict[str, Any], pause_s: float) -> None:
    """Kill reproductions at random moments, and resume them."""
    killed, finished, begin = 0, 0, time.monotonic()
    while killed < count:
        output = torture.place / f"killed-{finished}"
        before: Counter[tuple[str, int, int]] = Counter()
        while killed < count:
            process = subprocess.Popen(
                torture.command(output), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
            )
            try:
                # Claims and report take longer than the interval between runs; most reproductions should finish.
                longest_s = 4 * pause_s if before.total() == reference["runs"] else pause_s
                process.wait(timeout=torture.draw.uniform(0.0, longest_s))
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
            said = process.communicate()[1]
            expect(process.returncode in (0, -signal.SIGKILL), f"exit code {process.returncode}: {said}")
            expect("warning: " not in said, f"a kill was reported as damage: {said}")
            now = torture.kept(output)
            expect(max(now.values(), default=1) == 1, "a run is in the store twice")
            expect(before <= now, "a stored run was lost")
            for file in output.glob("*/results.json"):
                json.loads(file.read_text(encoding="utf-8"))
            for file in output.glob("*/report.html"):
                expect(file.read_text(encoding="utf-8").rstrip().endswith("</html>"), f"{file} is truncated")
            before = now
            if process.returncode == 0:
                break
            killed += 1
            if killed % 10 == 0:
                print(
                    f"{killed} kills, {len(now)} of {reference['runs']} runs kept, {_since(begin)}",
                    flush=True,
                )
        found, _ = torture.reproduced(output)
        expect(same_verdicts(found, reference), "verdicts differ after kills")
        expect(found["runs_kept_from_before"] == len(before), "a stored run was repeated")
        finished += 1
        shutil.rmtree(output)
    print(
        f"kills: {killed} in {finished} reproductions, {_since(begin)}: same verdicts, no run stored twice, "
        "none lost, none repeated, no false warning"
    )


def corruptions(torture: Torture, count: int, judged: int, reference: dict[str, Any], finished: Path) -> None:
    """Damage a store of several parts, and resume."""
    sound = torture.place / "sound"
    results = _split(torture, finished, sound)
    kinds: Counter[str] = Counter()
    files_damaged = runs_lost = 0
    begin = time.monotonic()
    for number in range(count):
        output = torture.place / "damaged"
        shutil.rmtree(output, ignore_errors=True)
        shutil.copytree(sound, output)
        folder = next((output / "cache" / torture.paper).iterdir())
        files = sorted(file for file in folder.iterdir() if file.suffix in (".parquet", ".json"))
        chosen = torture.draw.sample(files, torture.draw.choice((1, 1, 1, 2, 3)))
        for file in chosen:
            kinds[_damage(file, torture.draw)] += 1
        # Without an intact list, missing parts are unknown; the warning then names the list.
        named = [file for file in chosen if file.exists() or folder / LIST not in chosen or file.name == LIST]
        is_judged = number * judged // count != (number + 1) * judged // count
        if is_judged:
            found, warnings = torture.reproduced(output)
            expect(same_verdicts(found, reference), f"verdicts differ after damage of {chosen}")
            warnings = [text.removeprefix("warning: ") for text in warnings]
            expect(found["warnings"] == warnings, "the warnings of the report differ")
            lost = found["runs"] - found["runs_kept_from_before"]
        else:
            warnings, lost, table = torture.resumed(output)
            pd.testing.assert_frame_equal(table, results, check_exact=True)
        for file in named:
            expect(any(file.name in text for text in warnings), f"no warning on {file.name}: {warnings}")
        expect(len(warnings) == len(named), f"unexpected warnings: {warnings}")
        expect(max(torture.kept(output).values()) == 1, "a run is in the store twice")
        files_damaged += len(chosen)
        runs_lost += lost
        if number % 10 == 9:
            print(f"{number + 1} corruptions, {runs_lost} runs repeated, {_since(begin)}", flush=True)
    listed = ", ".join(f"{kind} {times}" for kind, times in sorted(kinds.items()))
    print(
        f"corruptions: {count} with {files_damaged} damaged files ({listed}), {_since(begin)}: each file was reported, "
        f"{runs_lost} runs were repeated, same results, {judged} evaluated with the same verdicts"
    )


def _split(torture: Torture, finished: Path, sound: Path) -> pd.DataFrame:
    """Split a complete store into several parts, and return its table of results."""
    paper = papers.load(torture.paper)
    with store_of(paper, finished, fresh=False) as store:
        frame = store.frame()
    with store_of(paper, sound, fresh=True) as store:
        for rows in np.array_split(np.arange(len(frame)), ADDITIONS):
            store.add(frame.iloc[rows].reset_index(drop=True))
    said, lost, table = torture.resumed(sound)
    expect((said, lost) == ([], 0), "an intact store gives warnings or repeats runs")
    return table


def _damage(file: Path, draw: random.Random) -> str:
    """Damage a file, and return the kind of damage."""
    kind = draw.choice(("flipped", "flipped", "cut short", "removed"))
    size = file.stat().st_size
    if kind == "flipped":
        content = bytearray(file.read_bytes())
        content[draw.randrange(size)] ^= draw.randrange(1, 256)
        file.write_bytes(content)
    elif kind == "cut short":
        os.truncate(file, draw.randrange(size))
    else:
        file.unlink()
    return kind + (" (list)" if file.name == LIST else "")


def _since(begin: float) -> str:
    return f"{time.monotonic() - begin:.0f} s"


def main() -> None:
    """Run the torture of the store of a paper."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--paper", default="code-tcp", help="which paper to reproduce")
    parser.add_argument("--kills", type=int, default=100, help="number of kills")
    parser.add_argument("--corruptions", type=int, default=200, help="number of damaged stores")
    parser.add_argument("--judged", type=int, default=20, help="number of these with a full evaluation")
    parser.add_argument("--pause", type=float, default=12.0, help="longest time until a kill, s")
    parser.add_argument("--seed", type=int, default=1, help="seed of the moments and the damage")
    parser.add_argument("--place", type=Path, help="folder to work in; its reference is reused")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="dumbbell-torture-") as temporary:
        place = arguments.place or Path(temporary)
        torture = Torture(arguments.paper, place, random.Random(arguments.seed))
        begin = time.monotonic()
        reference, warnings = torture.reproduced(torture.place / "reference")
        expect(not warnings, f"warnings without damage: {warnings}")
        print(f"reference: {torture.paper}, {reference['runs']} runs, {_since(begin)}", flush=True)
        kills(torture, arguments.kills, reference, arguments.pause)
        corruptions(torture, arguments.corruptions, arguments.judged, reference, torture.place / "reference")


if __name__ == "__main__":
    main()
