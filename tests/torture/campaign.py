"""Kill the workers of a campaign, and whole campaigns, and compare their stores with that of an undisturbed campaign.

``make torture`` runs it after the torture of the store.

First, a campaign runs undisturbed on this machine; its store is the reference. Then the same runs are executed on a Dask
cluster of two local workers; five times, one of them is killed with SIGKILL. Then campaigns are killed with SIGKILL at random
moments and resumed until they are complete, alternately on this machine and on the cluster. After each kill, the store
contains no run twice and everything it contained before, and no damage is reported. At the end, each store equals the
reference, byte for byte, and each campaign reports that it executed the missing runs and no others.

``--overhead N`` instead compares the time of a campaign with that of `dumbbell.run_many` on the same runs, in N turns.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dask
from distributed import Client, LocalCluster

import dumbbell
from dumbbell import Campaign

POINTS = """
base = "two-flows.toml"
runs = {runs}

[axes]
duration = ["{duration} s"]
"flows.a.tcp" = ["vegas", "reno", "newreno", "westwood", "code"]
"links.r1-r2.queue.limit" = ["10 packets", "25 packets", "50 packets", "100 packets"]
"""

BASE = Path(__file__).resolve().parents[2] / "examples" / "campaign" / "two-flows.toml"


@dataclass(frozen=True)
class Torture:
    """The campaign, its folder, and the random numbers."""

    file: Path
    place: Path
    draw: random.Random

    @property
    def campaign(self) -> Campaign:
        """The campaign, for inspection."""
        return Campaign.from_toml(self.file, store=self.place / "unused")

    def command(self, store: Path, scheduler: str | None = None) -> list[str]:
        """Return the command that runs the campaign."""
        command = [
            sys.executable,
            "-m",
            "dumbbell.cli",
            "campaign",
            str(self.file),
            "--json",
            "--output",
            str(store),
        ]
        return command if scheduler is None else [*command, "--scheduler", scheduler]

    def kept(self, store: Path) -> Counter[tuple[str, int, int]]:
        """Return the number of occurrences of each run in a store, without changing the store."""
        found = Campaign.from_toml(self.file, store=store)
        expect(not found.status().warnings, f"a kill was reported as damage: {found.status().warnings}")
        return Counter(found.frame()[["hash", "seed", "run"]].itertuples(index=False, name=None))


def expect(holds: bool, otherwise: str) -> None:
    """Exit if a condition does not hold."""
    if not holds:
        sys.exit(f"torture: {otherwise}")


def same(store: Path, reference: dict[str, str], when: str) -> None:
    """Exit if a store differs from the reference."""
    found = content(store)
    other = sorted(name for name in {*found, *reference} if found.get(name) != reference.get(name))
    expect(not other, f"the store differs {when}: {', '.join(other)}")


def content(store: Path) -> dict[str, str]:
    """Return digests of the files of a store, by their names."""
    return {
        str(file.relative_to(store)): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in sorted(store.rglob("*"))
        if file.is_file()
    }


# Dask profiles itself several hundred times per second, which is not a cost of a campaign.
UNWATCHED = {
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "5s",
}


@contextmanager
def cluster() -> Iterator[LocalCluster]:
    """Yield a cluster of two workers, each a process with one thread; a nanny restarts killed workers."""
    with (
        dask.config.set(UNWATCHED),
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs="CRITICAL"
        ) as found,
    ):
        yield found


def workers(client: Client) -> list[int]:
    """Return the process ids of the workers."""
    found = client.run(os.getpid, on_error="ignore")
    return sorted(found.values())


def started(command: list[str]) -> subprocess.Popen[str]:
    """Start a command and return its process."""
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finished(said: tuple[str, str], code: int) -> dict[str, Any]:
    """Return the JSON output of a completed campaign."""
    expect(code == 0, f"exit code {code}: {said[1]}")
    found: dict[str, Any] = json.loads(said[0])
    expect(found["missing"] == 0, f"{found['missing']} runs are missing")
    expect(not found["warnings"], f"warnings without damage: {found['warnings']}")
    return found


def undisturbed(torture: Torture) -> tuple[dict[str, str], float]:
    """Run the campaign on this machine, and return the digests of its store and the time, s."""
    store, begin = torture.place / "reference", time.monotonic()
    done = subprocess.run(torture.command(store), capture_output=True, text=True, check=False)
    finished((done.stdout, done.stderr), done.returncode)
    return content(store), time.monotonic() - begin


def killed_workers(torture: Torture, kills: int, reference: dict[str, str]) -> None:
    """Run the campaign on a cluster while its workers are killed one at a time."""
    store, begin = torture.place / "workers", time.monotonic()
    moments = sorted(torture.draw.uniform(0.02, 0.8) for _ in range(kills))
    with cluster() as found, Client(found) as client:
        process = started(torture.command(store, found.scheduler_address))
        try:
            for moment in moments:
                while torture.kept(store).total() < moment * len(torture.campaign):
                    expect(process.poll() is None, "the campaign ended before its workers were killed")
                    time.sleep(0.05)
                os.kill(torture.draw.choice(workers(client)), signal.SIGKILL)
            said = process.communicate()
        finally:
            process.kill()
            process.wait()
    found_runs = finished(said, process.returncode)
    expect(found_runs["made"] == found_runs["runs"], "runs were executed twice")
    same(store, reference, "after kills of workers")
    print(
        f"workers: {kills} killed in a campaign of {found_runs['runs']} runs on two, {_since(begin)}: "
        "the store equals the reference, byte for byte",
        flush=True,
    )


def killed_campaigns(torture: Torture, kills: int, reference: dict[str, str]) -> None:
    """Kill campaigns at random moments and resume them, alternately on this machine and on a cluster."""
    killed, done, begin = 0, 0, time.monotonic()
    with cluster() as found:
        while killed < kills:
            store = torture.place / f"killed-{done}"
            before: Counter[tuple[str, int, int]] = Counter()
            while True:
                process = started(
                    torture.command(store, found.scheduler_address if (killed + done) % 2 else None)
                )
                # Some kills happen before the first run is stored, some shortly before the end.
                enough = before.total() + torture.draw.uniform(-0.05, 0.3) * len(torture.campaign)
                while killed < kills and process.poll() is None and torture.kept(store).total() < enough:
                    time.sleep(0.05)
                if killed < kills:
                    with suppress(subprocess.TimeoutExpired):
                        process.wait(torture.draw.uniform(0.0, 1.5))
                    process.kill()
                said = process.communicate()
                now = torture.kept(store)
                expect(max(now.values(), default=1) == 1, "a run is in the store twice")
                expect(before <= now, "a stored run was lost")
                if process.returncode != -signal.SIGKILL:
                    break
                before = now
                killed += 1
            found_runs = finished(said, process.returncode)
            made = found_runs["runs"] - before.total()
            expect(found_runs["made"] == made, f"{found_runs['made']} runs were executed instead of {made}")
            same(store, reference, "after kills of the campaign")
            shutil.rmtree(store)
            done += 1
    print(
        f"campaigns: {killed} kills in {done} campaigns of {found_runs['runs']} runs, {_since(begin)}: no run stored twice, "
        "none lost, none repeated, each store equals the reference, byte for byte",
        flush=True,
    )


def overhead(torture: Torture, turns: int) -> None:
    """Compare the times of campaigns with those of `dumbbell.run_many` on the same runs."""
    jobs = [dumbbell.Job(point.scenario, 1, run) for point in torture.campaign.points for run in point.runs]
    # The same order for all.
    random.Random(1).shuffle(jobs)
    names = ("run_many", "campaign", "cluster")
    walls: dict[str, list[float]] = {name: [] for name in names}
    cpus: dict[str, list[float]] = {name: [] for name in names}

    def taken(name: str, do: Any) -> None:
        wall, cpu = time.perf_counter(), _cpu_s()
        do()
        walls[name].append(time.perf_counter() - wall)
        cpus[name].append(_cpu_s() - cpu)

    for turn in range(turns):
        store = torture.place / f"overhead-{turn}"
        taken("run_many", lambda: dumbbell.run_many(jobs, threads=2, progress=False))
        taken(
            "campaign",
            lambda at=store: Campaign.from_toml(torture.file, store=at).run(threads=2, progress=False),
        )
        with cluster() as found, Client(found) as client:
            before = sum(client.run(time.process_time).values())
            wanted = Campaign.from_toml(torture.file, store=f"{store}-cluster")
            taken("cluster", lambda on=client, one=wanted: one.run(on, progress=False))
            cpus["cluster"][-1] += sum(client.run(time.process_time).values()) - before
        same(Path(f"{store}-cluster"), content(store), "on the cluster")
        for name in names[1:]:
            print(
                f"turn {turn + 1}: {name} over run_many: wall clock {walls[name][-1]:.2f} s over {walls['run_many'][-1]:.2f} s, "
                f"CPU {cpus[name][-1]:.2f} s over {cpus['run_many'][-1]:.2f} s",
                flush=True,
            )
    for name in names[1:]:
        wall, cpu = (
            statistics.median(one / base for one, base in zip(times[name], times["run_many"], strict=True))
            for times in (walls, cpus)
        )
        print(
            f"{name} over run_many, {len(jobs)} runs, median of {turns} turns: wall clock {wall:.3f}, CPU {cpu:.3f}"
        )


def _cpu_s() -> float:
    """Return the CPU time of this process and of its children that have ended, s."""
    return sum(
        usage.ru_utime + usage.ru_stime
        for usage in (resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN))
    )


def _since(begin: float) -> str:
    return f"{time.monotonic() - begin:.0f} s"


def main() -> None:
    """Run the torture of campaigns."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=10_000, help="number of runs, a multiple of 20")
    parser.add_argument("--duration", type=float, default=60.0, help="simulated time of a run, s")
    parser.add_argument("--workers", type=int, default=5, help="number of kills of workers")
    parser.add_argument("--kills", type=int, default=25, help="number of kills of campaigns")
    parser.add_argument(
        "--overhead", type=int, default=0, help="turns of a comparison with run_many, instead"
    )
    parser.add_argument("--seed", type=int, default=1, help="seed of the moments of kills")
    parser.add_argument("--place", type=Path, help="folder to work in")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="dumbbell-torture-") as temporary:
        place = arguments.place or Path(temporary)
        place.mkdir(parents=True, exist_ok=True)
        shutil.copy(BASE, place)
        file = place / "campaign.toml"
        file.write_text(
            POINTS.format(runs=arguments.runs // 20, duration=arguments.duration), encoding="utf-8"
        )
        torture = Torture(file, place, random.Random(arguments.seed))
        if arguments.overhead:
            overhead(torture, arguments.overhead)
            return
        reference, took_s = undisturbed(torture)
        print(f"reference: {len(torture.campaign)} runs, {took_s:.0f} s", flush=True)
        killed_workers(torture, arguments.workers, reference)
        killed_campaigns(torture, arguments.kills, reference)


if __name__ == "__main__":
    main()
