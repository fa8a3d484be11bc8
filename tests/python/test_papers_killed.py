"""A reproduction that is killed at random moments ends with the same scoreboard as an undisturbed one and repeats no run."""

import json
import random
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd

from dumbbell import papers
from dumbbell.papers.runs import store_of
from small_paper import SMALL, forget_papers, write_paper

KILLS = 6

# Short stages with frequent progress reports, and a long one with reports of the engine once per second.
SLOW = (
    SMALL.replace('duration="20 s"', 'duration="150 s"')
    .replace('rate="1 Mbit/s"', 'rate="10 Mbit/s"')
    .replace('source=Transfer(size="50 kB"),', "")
    .replace("count = settings.runs or 3", "count = 50")
    .replace("run=run) for run", 'run=run, stage=f"stage {min(run // 3, 12)}") for run')
)


def command(folder, output):
    return [
        sys.executable, "-m", "dumbbell.cli", "reproduce", "small-paper", "--threads", "1", "--seeds", "1",
        "--papers", str(folder), "--output", str(output), "--json",
    ]  # fmt: skip


def kept(output, paper) -> list[tuple[str, int, int]]:
    """Return the number of occurrences of each run in the store."""
    with store_of(paper, Path(output), fresh=False) as store:
        assert store.warnings == []
        frame: pd.DataFrame = store.frame()
    return list(frame[["hash", "seed", "run"]].itertuples(index=False, name=None))


def test_kills_at_random_moments_change_nothing_and_repeat_no_run(tmp_path, request):
    folder = tmp_path / "papers"
    begun = tmp_path / "begun"
    # The paper reports the start of planning; before, there is nothing to lose.
    write_paper(
        folder, "small-paper", SLOW.replace("count = 50", f'open({str(begun)!r}, "w").close(); count = 50')
    )
    paper = papers.load("small-paper", folder)
    request.addfinalizer(forget_papers)
    moments = random.Random(0)
    before: set[tuple[str, int, int]] = set()
    for number in range(KILLS):
        begun.unlink(missing_ok=True)
        process = subprocess.Popen(
            command(folder, tmp_path / "killed"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            deadline = time.monotonic() + 20
            while not begun.exists() and time.monotonic() < deadline:
                time.sleep(0.01)
            # A busy machine needs longer to its first run.
            time.sleep(moments.uniform(0.0, 0.8) * (1 if before else 1 + number))
        finally:
            process.kill()
            process.wait(timeout=20)
        listed = kept(tmp_path / "killed", paper)
        assert len(listed) == len(set(listed))
        assert before <= set(listed)
        before = set(listed)
    assert before, "no kill left any run behind"
    resumed, straight = (
        json.loads(
            subprocess.run(
                command(folder, tmp_path / name), capture_output=True, text=True, timeout=120, check=True
            ).stdout
        )
        for name in ("killed", "straight")
    )
    assert resumed["runs_kept_from_before"] == len(before)
    assert straight["runs_kept_from_before"] == 0
    assert resumed["score"] == straight["score"]
    assert resumed["claims"] == straight["claims"]
    for name in ("killed", "straight"):
        listed = kept(tmp_path / name, paper)
        assert len(listed) == len(set(listed)) == 50
