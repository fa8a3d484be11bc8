"""``dumbbell testbed``: scenarios in real time, with the TCP of the Linux kernel."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from dumbbell import permission
from dumbbell.arguments import MOST_REPLICATIONS
from dumbbell.caller import become_caller
from dumbbell.campaign.planned import PlannedRuns
from dumbbell.campaign.progress import Display
from dumbbell.campaign.real_time import in_real_time
from dumbbell.campaign.store import Store
from dumbbell.cli.options import File, Fresh, Json, JsonList, Seed, folder, number
from dumbbell.cli.refusals import guarded, note, refuse, say, say_json
from dumbbell.cli.simulate import FLOW_COLUMNS, LINK_COLUMNS, read_scenario
from dumbbell.cli.tables import Column, print_table
from dumbbell.errors import MachineError, RealTimeError, ScenarioError
from dumbbell.files import make_folder, prepare, replacing
from dumbbell.runs import Job
from dumbbell.scenario import Scenario
from dumbbell.testbed import (
    Progress,
    RealTimeRun,
    doctor,
    duration_s,
    find_binary,
    identity,
    load_bps,
    run_many,
    tables,
)

commands = typer.Typer(
    help="Run scenarios in real time, with the TCP of the Linux kernel.",
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
)

FAILED = 1
UNAVAILABLE = 3  # the machine lacks something

# Column of the store: all results of a run as text.
RESULTS = "results"

RUN_COLUMN = Column("run", "run")
CONGESTION_COLUMN = Column("congestion\ncontrol", "congestion")

CHECK_COLUMNS: Sequence[Column] = (
    Column("check", "check"),
    Column("status", "status"),
    Column("found", "detail"),
    Column("remedy", "remedy"),
)


@commands.command("doctor", short_help="Check the prerequisites for real-time runs.")
@guarded
def check_machine(json_output: JsonList = False) -> None:
    """Check the prerequisites for real-time runs, and say how to get what is missing."""
    checks = doctor()
    if json_output:
        say_json([vars(check) for check in checks], indent=2)
    else:
        print_table(CHECK_COLUMNS, [vars(check) for check in checks])
    if any(check.status == "missing" for check in checks):
        raise typer.Exit(UNAVAILABLE)


RunOption = Annotated[int, number("--run", "Run number of the first replication.")]
RunsOption = Annotated[int, typer.Option("--runs", metavar="N", help="Number of replications.")]
AtOnceOption = Annotated[
    int, typer.Option("--at-once", metavar="N", help="Runs side by side; two cores carry 8 of 10 Mbit/s.")
]
BudgetOption = Annotated[
    float,
    typer.Option("--budget", metavar="MBIT/S", help="Maximum sum of the rates of runs side by side."),
]
PcapOption = Annotated[
    Path | None,
    typer.Option(
        "--pcap",
        metavar="FILE",
        help="Write all packets at both ends as pcapng; with several runs, one file each, with the number of the run.",
    ),
]
CongestionOption = Annotated[
    list[str] | None,
    typer.Option(
        "--congestion",
        metavar="FLOW=NAME",
        help="Congestion control of the kernel for this flow, such as cubic or bbr, or twin for the eBPF twin; "
        "NAME alone: for all flows; may be repeated.",
    ),
]
OutputOption = Annotated[
    Path | None,
    folder(
        "--output",
        "Write tables and probed quantities to this folder, as Parquet, and reuse completed runs.",
    ),
]


@commands.command("run", short_help="Run a scenario file in real time.")
@guarded
def run_in_real_time(
    file: File,
    seed: Seed = 1,
    run: RunOption = 0,
    runs: RunsOption = 1,
    at_once: AtOnceOption = 1,
    budget: BudgetOption = 200.0,
    pcap: PcapOption = None,
    congestion: CongestionOption = None,
    json_output: Json = False,
    output: OutputOption = None,
    fresh: Fresh = False,
) -> None:
    """Run a scenario file in real time: its links, and the TCP of the Linux kernel.

    Needs Linux and root; `dumbbell testbed doctor` says what is missing. A run whose packets were late too often is
    repeated, at most twice. With --output, completed runs are kept: the same command resumes.
    """
    become_caller()
    # The kernel runs no code of a file; what the testbed cannot run, it refuses.
    with permission.without_loading():
        scenario = read_scenario(file)
    replacements = _replacements(congestion or ())
    _refuse_impossible(runs, at_once, budget, has_both=output is not None and pcap is not None)
    # What cannot be written is found out now rather than after a long run.
    if output is not None:
        make_folder(output)
    for text in scenario.warnings:
        note(f"warning: {text}")
    jobs = [Job(scenario, seed, number) for number in range(run, run + runs)]
    at_once = _within(budget, scenario, min(at_once, runs))

    done = _run(
        file, jobs, pcap, output, at_once=at_once, budget=budget, congestion=replacements, fresh=fresh
    )
    if json_output:
        objects = [one.summary for one in done]
        say_json(objects[0] if runs == 1 else {"runs": objects}, indent=2)
    else:
        _print_tables(done)
    _warn_of_disturbance(done)
    if output is not None:
        _write(done, output)


def _run(
    file: Path,
    jobs: Sequence[Job],
    pcap: Path | None,
    output: Path | None,
    *,
    at_once: int,
    budget: float,
    congestion: Mapping[str, str],
    fresh: bool,
) -> Sequence[RealTimeRun]:
    """Return the runs of the command; what the machine or a run lacks ends it."""

    def file_of(job: Job) -> Path:
        assert pcap is not None
        return pcap if len(jobs) == 1 else pcap.with_stem(f"{pcap.stem}-{job.run}")

    if pcap is not None:
        for job in jobs:
            prepare(file_of(job))
    scenario = jobs[0].scenario
    try:
        find_binary(told=note)
        if output is not None:
            return _with_store(
                jobs, output, at_once=at_once, budget=budget, congestion=congestion, fresh=fresh
            )
        with _progress(duration_s(scenario) * len(jobs) / at_once) as progress:
            return run_many(
                jobs,
                at_once=at_once,
                budget_bps=budget * 1e6,
                congestion=congestion,
                pcap=None if pcap is None else file_of,
                progress=progress,
            )
    except MachineError as error:
        fail(error, UNAVAILABLE)
    except RealTimeError as error:
        fail(error, FAILED)
    except ScenarioError as error:
        refuse(f"{file}: {error}")
    except KeyboardInterrupt:
        raise KeyboardInterrupt(
            f"interrupted: the runs of {file} were stopped; nothing was written"
        ) from None


def _refuse_impossible(runs: int, at_once: int, budget: float, *, has_both: bool) -> None:
    """Refuse numbers that no runs have, and packets of runs that are reused."""
    if not 1 <= runs <= MOST_REPLICATIONS:
        refuse(f"--runs is {runs}; accepted: a whole number from 1 to {MOST_REPLICATIONS}")
    if at_once < 1:
        refuse(f"--at-once is {at_once}; accepted: 1 or more")
    if not budget > 0:
        refuse(f"--budget is {budget:g}; accepted: a rate in Mbit/s above 0")
    if has_both:
        refuse(
            "--pcap: completed runs in --output are reused, and have no packets; accepted without --output"
        )


@dataclass(frozen=True)
class _Planned:
    """A run of the plan of the command."""

    scenario: Scenario
    seed: int
    run: int
    key: str = "run"


def _with_store(
    jobs: Sequence[Job],
    output: Path,
    *,
    at_once: int,
    budget: float,
    congestion: Mapping[str, str],
    fresh: bool,
) -> list[RealTimeRun]:
    """Run what the store of a folder does not contain, and return all runs."""
    plan = [_Planned(job.scenario, job.seed, job.run) for job in jobs]
    with Store(output / "runs", [RESULTS], fresh=fresh, identity=identity(congestion)) as store:
        for text in store.warnings:
            note(f"warning: {text}")
        planned = PlannedRuns("testbed", plan, store)
        if planned.reused:
            note(f"{planned.reused} of {planned.total} runs reused")
        disturbed: dict[int, RealTimeRun] = {}

        def kept(result: RealTimeRun) -> dict[str, str]:
            return {RESULTS: result.to_json()}

        def remember(_number: int, result: RealTimeRun) -> None:
            if result.disturbed:
                disturbed[result.run] = result

        left = len(planned.missing)
        with _progress(duration_s(jobs[0].scenario) * left / at_once) as progress:
            make = in_real_time(
                kept,
                at_once=at_once,
                budget_bps=budget * 1e6,
                congestion=congestion,
                progress=progress,
                finished=remember,
            )
            display = Display(sys.stderr, quiet=True)
            planned.announce(display)
            planned.make(make, display)
        texts = planned.results([RESULTS])[RESULTS]
    return [
        disturbed[job.run] if job.run in disturbed else RealTimeRun.of_json(job, text)
        for job, text in zip(jobs, texts, strict=True)
    ]


def _within(budget: float, scenario: Scenario, at_once: int) -> int:
    """Return the number of runs side by side that a budget in Mbit/s allows, and say if it is smaller than asked for."""
    load = load_bps(scenario) / 1e6
    fitting = int(budget / load) if load > 0 else at_once
    # A single run that does not fit is rejected when it is about to start.
    if fitting >= at_once or fitting == 0:
        return at_once
    note(
        f"note: {fitting} of {at_once} runs side by side: each carries up to {load:g} Mbit/s, and the budget is "
        f"{budget:g} Mbit/s"
    )
    return fitting


def fail(error: Exception, code: int) -> NoReturn:
    """Print the error in one line and exit with this code."""
    note("error: " + " ".join(str(error).split()))
    raise typer.Exit(code) from None


def _replacements(stated: Sequence[str]) -> dict[str, str]:
    """Return the replaced congestion controls by flow, from ``FLOW=NAME``; a name alone is for all flows."""
    replacements: dict[str, str] = {}
    for text in stated:
        flow, _, name = text.rpartition("=")
        if not name:
            refuse(f'--congestion: "{text}" is not accepted; expected NAME or FLOW=NAME')
        replacements[flow or "*"] = name
    return replacements


@contextmanager
def _progress(expected_s: float) -> Iterator[Progress | None]:
    """Show the time that has passed, on a terminal only."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("runs in real time"),
        BarColumn(),
        TimeElapsedColumn(),
        TextColumn("of {task.fields[of]}"),
    )
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("runs", total=expected_s, of=f"{expected_s:.0f} s")

        def told(_done_s: float, _all_s: float) -> None:
            # Wall time is what runs take. A repeated run takes it again, which the bar does not foresee.
            bar.update(task, completed=min(bar.tasks[0].elapsed or 0.0, expected_s))

        yield told


def _print_tables(done: Sequence[RealTimeRun]) -> None:
    first = done[0]
    testbed = first.summary["testbed"]
    seconds = duration_s(first.scenario)
    title = first.scenario.name or "unnamed scenario"
    priority = "real-time priority" if testbed["fifo"] else "without real-time priority"
    number = f"run {first.run}" if len(done) == 1 else f"runs {first.run} to {done[-1].run}"
    late = max(one.summary["testbed"]["late_p99_us"] for one in done)
    say(
        f"{title}: seed {first.seed}, {number}, {seconds:g} s in real time, Linux {testbed['kernel']}, {priority}, "
        f"99 % of packets at most {late:.0f} us late"
    )
    many = (RUN_COLUMN,) if len(done) > 1 else ()
    name, *others = FLOW_COLUMNS
    print_table((*many, name, CONGESTION_COLUMN, *others), _records(done, "flows"))
    print_table((*many, *LINK_COLUMNS), _records(done, "links"))


def _records(done: Sequence[RealTimeRun], kind: str) -> list[dict[str, Any]]:
    found = [one.arrow_flows if kind == "flows" else one.arrow_links for one in done]
    return [record for table in found for record in table.to_pylist()]


def _warn_of_disturbance(done: Sequence[RealTimeRun]) -> None:
    repeats = sum(one.repeats for one in done)
    if repeats:
        note(f"note: {repeats} disturbed run{'' if repeats == 1 else 's'} repeated")
    disturbed = [one for one in done if one.disturbed]
    if disturbed:
        late = max(one.summary["testbed"]["late_p99_us"] for one in disturbed)
        note(
            f"warning: {len(disturbed)} of {len(done)} runs remain disturbed (99 % of packets at most {late:.0f} us late): "
            "repeat them on a quiet machine"
        )


def _write(done: Sequence[RealTimeRun], directory: Path) -> None:
    import pyarrow.parquet

    flows, links, traces = tables(done)
    files = {"flows": flows, "links": links, **traces}
    for name, table in files.items():
        with replacing(directory / f"{name}.parquet") as file:
            pyarrow.parquet.write_table(table, file)
    note(f"wrote {len(files)} files to {directory}: {', '.join(f'{name}.parquet' for name in files)}")
