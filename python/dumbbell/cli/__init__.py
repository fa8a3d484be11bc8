"""The command line: ``dumbbell init``, ``run``, ``why``, ``campaign``, ``list``, ``shell``, ``testbed``, and others.

Exit codes: 0, success; 2, the input was rejected with a one-line message, or the command was interrupted from the
keyboard; 143 and 129, it was interrupted by SIGTERM or SIGHUP; 1, an error of the package itself. ``cross-validate`` and
``bench peers`` also use 3: the other simulator is not installed; ``testbed``: the machine lacks something, such as root;
and ``shell``: the machine cannot emulate a link. Otherwise, ``shell`` has the exit code of its program.
``cross-validate --strict`` exits with 1 if a criterion does not hold, ``evaluate --strict`` if an item fails or is worse
than the baselines, and ``testbed`` if a run failed. User input never causes a traceback.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from dumbbell.cli.refusals import UNFINISHED, end_outputs, guarded, note, open_outputs
from dumbbell.cli.signals import exit_code, interrupt_by_signals
from dumbbell.cli.verbatim import Verbatim

__all__ = ["app", "main"]

app = typer.Typer(
    name="dumbbell",
    help="A laboratory for TCP congestion control.",
    epilog="Files and folders to be written: missing folders are made, files are replaced whole, symbolic links are "
    "followed, pipes and devices are written to.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

LARGEST_SEED = 2**64 - 1

# Exit code of Typer for an interruption before the command begins.
INTERRUPTED_EARLY = 130

File = Annotated[
    Path,
    typer.Argument(
        metavar="FILE", help="Scenario file, TOML or JSON; - for standard input.", show_default=False
    ),
]
Seed = Annotated[int, typer.Option("--seed", min=0, max=LARGEST_SEED, help="Seed of the random streams.")]
Scheduler = Annotated[
    str | None,
    typer.Option(
        "--scheduler",
        metavar="ADDRESS",
        help="Run on a Dask cluster, such as tcp://10.0.0.1:8786; default: this machine.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of tables.")]
Allow = Annotated[
    list[str] | None,
    typer.Option(
        "--allow",
        metavar="NAME",
        help="Code that FILE may load, which then has your rights: python:module.Class or library:PATH; may be repeated.",
    ),
]


def _print_version(wanted: bool) -> None:
    if wanted:
        from dumbbell.cli import catalogue

        catalogue.show_version()
        raise typer.Exit


@app.callback()
def dumbbell_group(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Take the options of the command itself."""


@app.command("init")
@guarded
def init_command(
    file: Annotated[Path, typer.Argument(metavar="[FILE]", help="Name of the scenario file.")] = Path(
        "scenario.toml"
    ),
) -> None:
    """Write a commented scenario to begin with, and the JSON Schema by which editors complete and check it."""
    from dumbbell.cli import start

    start.begin(file)


@app.command("validate")
@guarded
def validate_command(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...", help="Scenario files, TOML or JSON; - for standard input.", show_default=False
        ),
    ],
    allow: Allow = None,
    json: Annotated[bool, typer.Option("--json", help="Print a JSON list with a table per file.")] = False,
) -> None:
    """Check scenario files without running them, and list settings without effect.

    Code that a file names is not loaded unless it is allowed; its parameters and probes are then not checked.
    """
    from dumbbell import permission
    from dumbbell.cli import start

    permission.allow(*allow or ())
    start.validate(files, json_output=json)


@app.command("run")
@guarded
def run_command(
    file: File,
    seed: Seed = 1,
    run: Annotated[
        int, typer.Option("--run", min=0, max=LARGEST_SEED, help="Run number of the replication.")
    ] = 0,
    json: Json = False,
    trace: Annotated[
        Path | None,
        typer.Option(
            "--trace",
            metavar="DIR",
            help="Write each probed quantity to this folder, as Parquet and PNG.",
        ),
    ] = None,
    csv: Annotated[
        Path | None,
        typer.Option(
            "--csv",
            metavar="DIR",
            help="Write flows.csv, links.csv and one file per probed quantity to this folder.",
        ),
    ] = None,
    plot: Annotated[
        str | None,
        typer.Option(
            "--plot",
            metavar="PICTURE",
            help="Draw windows, queues, goodput and losses: a name that ends in .png, .svg, .pdf or .html (with zoom), "
            "or - for the terminal.",
        ),
    ] = None,
    pcap: Annotated[
        Path | None,
        typer.Option("--pcap", metavar="FILE", help="Write the packets at a node as pcapng."),
    ] = None,
    node: Annotated[
        str | None,
        typer.Option(
            "--node",
            metavar="NAME",
            help="Node of --pcap; default: the node that sends, if there is only one.",
        ),
    ] = None,
    snaplen: Annotated[
        int | None,
        typer.Option(
            "--snaplen", help="Bytes of each packet in --pcap; default: 80, which holds all headers."
        ),
    ] = None,
    qlog: Annotated[
        Path | None,
        typer.Option("--qlog", metavar="FILE", help="Write the events of all TCP senders as qlog."),
    ] = None,
    allow: Allow = None,
    watch: Annotated[
        bool, typer.Option("--watch", help="Run again whenever FILE changes, until Ctrl-C.")
    ] = False,
) -> None:
    """Run a scenario file once.

    The columns of the tables are described by `dumbbell list columns`.
    """
    from dumbbell import permission
    from dumbbell.cli import simulate

    permission.allow(*allow or ())
    capture: simulate.Capture = {"pcap": pcap, "node": node, "snaplen": snaplen, "qlog": qlog}
    simulate.simulate(
        file,
        seed=seed,
        run=run,
        json_output=json,
        trace=trace,
        csv=csv,
        plot=plot,
        capture=capture,
        watch=watch,
    )


@app.command("why")
@guarded
def why_command(
    file: File,
    flow: Annotated[str, typer.Option("--flow", metavar="NAME", help="Flow to explain.", show_default=False)],
    at: Annotated[
        str | None,
        typer.Option("--at", metavar="TIME", help="Time in the run, such as 12.3s; default: all of the run."),
    ] = None,
    window: Annotated[
        str | None,
        typer.Option("--window", metavar="TIME", help="Width of the part around it; default: 200 ms."),
    ] = None,
    seed: Seed = 1,
    run: Annotated[
        int, typer.Option("--run", min=0, max=LARGEST_SEED, help="Run number of the replication.")
    ] = 0,
    json: Json = False,
    html: Annotated[
        Path | None,
        typer.Option(
            "--html",
            metavar="PAGE",
            help="Write a page with the window's curve, on which a click shows what happened around that time.",
        ),
    ] = None,
    allow: Allow = None,
) -> None:
    """Show what the sender of a flow learned and did around a time: acknowledgements, decisions, retransmissions."""
    from dumbbell import permission
    from dumbbell.cli import why

    permission.allow(*allow or ())
    why.explain(file, flow=flow, at=at, window=window, seed=seed, run=run, json_output=json, html=html)


@app.command("campaign")
@guarded
def campaign_command(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Campaign file, TOML.", show_default=False)],
    scheduler: Scheduler = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            metavar="DIR",
            help="Folder for completed runs and tables; default: the file's output, or results/campaigns/NAME.",
        ),
    ] = None,
    status: Annotated[
        bool, typer.Option("--status", help="Show completed and missing points without running anything.")
    ] = False,
    threads: Annotated[
        int | None, typer.Option("--threads", help="Number of threads; default: all cores.")
    ] = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Delete stored runs and run everything again.")
    ] = False,
    allow: Allow = None,
    json: Json = False,
) -> None:
    """Run a base scenario with every combination of the given values.

    FILE contains base (a scenario: a table or the name of a file in the same folder), [axes] (lists of values by
    address, such as "links.r1-r2.rate"), and optionally runs (number of replications or run numbers), seed, output (a
    folder), and [[add]] (axes and runs of further combinations). Completed runs are kept: the same command resumes,
    and after a change of FILE it runs what is missing. At the end, the folder contains runs.parquet, flows.parquet
    and links.parquet.
    """
    from dumbbell import permission
    from dumbbell.cli import campaign

    permission.allow(*allow or ())
    campaign.campaign(
        file,
        scheduler=scheduler,
        output=output,
        status=status,
        threads=threads,
        fresh=fresh,
        json_output=json,
    )


@app.command("list")
@guarded
def list_command(
    kind: Annotated[
        str | None,
        typer.Argument(
            metavar="[KIND|NAME]",
            help="algorithms, recoveries, queues, sources, columns, …, or one entry, such as cubic; default: all but columns.",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """List what scenarios can name: summaries, parameters, defaults, units, sources."""
    from dumbbell.cli import catalogue

    catalogue.show(kind, json_output=json)


@app.command("schema")
@guarded
def schema_command() -> None:
    """Print the JSON Schema of a scenario."""
    from dumbbell.cli import catalogue

    catalogue.show_schema()


@app.command("version")
@guarded
def version_command() -> None:
    """Print the version."""
    from dumbbell.cli import catalogue

    catalogue.show_version()


@app.command("reproduce")
@guarded
def reproduce_command(
    paper: Annotated[
        str, typer.Argument(metavar="PAPER", help="Name of the paper, such as vegas-revisited, or all.")
    ],
    experiment: Annotated[
        str | None,
        typer.Option(
            "--experiment",
            metavar="NAME",
            help="Run this additional experiment of the paper, such as full-factorial, with its own report.",
        ),
    ] = None,
    testbed: Annotated[
        bool,
        typer.Option(
            "--testbed",
            help="Run the paper's real-time plan with the TCP of the Linux kernel; needs root. Completed runs are kept.",
        ),
    ] = False,
    record: Annotated[
        bool,
        typer.Option("--record", help="With --testbed: write the runs to the record of the paper's folder."),
    ] = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="Use fewer replications; the report says so.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the claims as one JSON object.")] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", metavar="DIR", help="Folder for reports and completed runs; default: results/."
        ),
    ] = None,
    runs: Annotated[
        int | None, typer.Option("--runs", help="Number of replications per configuration.")
    ] = None,
    seed: Seed = 1,
    seeds: Annotated[
        int | None,
        typer.Option(
            "--seeds", metavar="N", help="Number of seeds, from --seed on; default: 5, with --quick 1."
        ),
    ] = None,
    threads: Annotated[
        int | None, typer.Option("--threads", help="Number of threads; default: all cores.")
    ] = None,
    scheduler: Scheduler = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Delete stored runs and run everything again.")
    ] = False,
    folder: Annotated[
        Path | None,
        typer.Option("--papers", metavar="DIR", help="Folder of papers; default: that of the checkout."),
    ] = None,
) -> None:
    """Reproduce a paper, or all papers, and write reports."""
    from dumbbell.cli import reproduce

    reproduce.reproduce(
        paper,
        experiment=experiment,
        quick=quick,
        json_output=json,
        output=output,
        runs=runs,
        seed=seed,
        seeds=seeds,
        threads=threads,
        scheduler=scheduler,
        fresh=fresh,
        folder=folder,
        testbed=testbed,
        record=record,
    )


@app.command("cross-validate")
@guarded
def cross_validate_command(
    peer: Annotated[str, typer.Argument(metavar="PEER", help="Name of the peer: ns2, ns3 or linux.")],
    grid: Annotated[
        list[str] | None,
        typer.Option("--grid", metavar="NAME", help="Grid to run; may be repeated; default: all."),
    ] = None,
    share: Annotated[
        float,
        typer.Option("--share", metavar="F", help="Fraction of each grid to run, above 0 and at most 1."),
    ] = 1.0,
    json: Annotated[bool, typer.Option("--json", help="Print the findings as one JSON object.")] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with code 1 if a criterion does not hold.")
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", metavar="DIR", help="Folder for reports and completed runs; default: results/."
        ),
    ] = None,
    threads: Annotated[
        int | None,
        typer.Option(
            "--threads", help="Number of threads and processes; default: all cores, or that of the peer."
        ),
    ] = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Delete stored runs and run everything again.")
    ] = False,
    folder: Annotated[
        Path | None,
        typer.Option(
            "--peers", metavar="DIR", help="Folder of peers and grids; default: that of the checkout."
        ),
    ] = None,
) -> None:
    """Run grids in Dumbbell and in another simulator or in the kernel, and report their agreement."""
    from dumbbell.cli import cross_validate

    cross_validate.cross_validate(
        peer,
        grids=grid or (),
        share=share,
        json_output=json,
        strict=strict,
        output=output,
        threads=threads,
        fresh=fresh,
        folder=folder,
    )


@app.command("evaluate")
@guarded
def evaluate_command(
    algorithm: Annotated[
        str,
        typer.Argument(
            metavar="ALGORITHM",
            help="Registered algorithm or TCP variant, with parameters if need be: vegas:alpha=2,beta=4; or your own: "
            "python:module.Class or library:PATH.",
            show_default=False,
        ),
    ],
    against: Annotated[
        str | None,
        typer.Option(
            "--against",
            metavar="NAMES",
            help="Baselines, separated by commas; default: reno,cubic, as far as registered.",
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Use shorter runs, fewer points and 3 seeds; the report says so.")
    ] = False,
    only: Annotated[
        list[str] | None,
        typer.Option("--only", metavar="ITEM", help="Item to run; may be repeated; default: all."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the results as one JSON object.")] = False,
    strict: Annotated[
        bool,
        typer.Option("--strict", help="Exit with code 1 if an item fails or is worse than the baselines."),
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", metavar="DIR", help="Folder for the report and completed runs; default: results/."
        ),
    ] = None,
    seed: Seed = 1,
    seeds: Annotated[
        int | None,
        typer.Option(
            "--seeds", metavar="N", help="Number of replications, at least 2; default: 5, with --quick 3."
        ),
    ] = None,
    threads: Annotated[
        int | None, typer.Option("--threads", help="Number of threads; default: all cores.")
    ] = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Delete stored runs and run everything again.")
    ] = False,
) -> None:
    """Evaluate an algorithm by RFC 9743 (BCP 133) and the common TCP evaluation suite, and write a report.

    Each item compares the algorithm with the baselines in its scenarios, with intervals over replications. The report
    begins with the verdict of each item. Completed runs are kept, also for the evaluation of other algorithms: the same
    command resumes. docs/evaluate.md lists the items.
    """
    from dumbbell.cli import evaluate

    evaluate.evaluate(
        algorithm,
        against=against,
        quick=quick,
        only=only or (),
        json_output=json,
        strict=strict,
        output=output,
        seed=seed,
        seeds=seeds,
        threads=threads,
        fresh=fresh,
    )


@app.command("search")
@guarded
def search_command(
    algorithm: Annotated[
        str,
        typer.Argument(
            metavar="ALGORITHM",
            help="Registered algorithm or TCP variant, with parameters if need be (vegas:alpha=2,beta=4), or your own: "
            "python:module.Class or library:PATH.",
            show_default=False,
        ),
    ],
    objective: Annotated[
        str,
        typer.Option(
            "--objective", metavar="NAME", help="low-utilization, starvation or delay.", show_default=False
        ),
    ],
    budget: Annotated[
        str, typer.Option("--budget", metavar="N|TIME", help='Number of points, or a time such as "5 min".')
    ] = "300",
    vary: Annotated[
        str | None,
        typer.Option(
            "--vary",
            metavar="PARTS",
            help="What varies, of rate,rtt,buffer,loss,reroute,competitor,pulses; default: that of the objective.",
        ),
    ] = None,
    bound: Annotated[
        list[str] | None,
        typer.Option(
            "--bound",
            metavar="NAME=LOW..HIGH",
            help="Bounds of a dimension, such as rtt=10..100, rate=5 or competitor=reno,cubic; may be repeated.",
        ),
    ] = None,
    bounds: Annotated[
        Path | None,
        typer.Option("--bounds", metavar="FILE", help="Bounds of dimensions as TOML: rtt = [10, 100]."),
    ] = None,
    seed: Seed = 1,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            metavar="DIR",
            help="Folder of the scenario and the journal; default: results/search-ALGORITHM-OBJECTIVE.",
        ),
    ] = None,
    threads: Annotated[
        int | None, typer.Option("--threads", help="Number of threads; default: all cores.")
    ] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Begin again instead of going on.")] = False,
    json: Json = False,
) -> None:
    """Search for the scenario in which an algorithm does worst.

    Links, buffers, losses, routes, competitors and bursts vary within bounds. The worst scenario is reduced to what makes
    it bad and written to worst.toml, which `dumbbell run` reproduces. After an interruption, the same command goes on.
    docs/search.md lists the dimensions. Needs the package optuna.
    """
    from dumbbell.cli import search

    search.search(
        algorithm,
        objective,
        budget=budget,
        vary=vary,
        bound=bound or (),
        bounds=bounds,
        seed=seed,
        output=output,
        threads=threads,
        fresh=fresh,
        json_output=json,
    )


bench_app = typer.Typer(help="Measure the speed of Dumbbell.", no_args_is_help=True, rich_markup_mode=None)
app.add_typer(bench_app, name="bench")


@bench_app.command("peers")
@guarded
def bench_peers_command(
    peer: Annotated[
        list[str] | None,
        typer.Option("--peer", metavar="NAME", help="ns2 or ns3; may be repeated; default: those installed."),
    ] = None,
    case: Annotated[
        list[str] | None,
        typer.Option("--case", metavar="NAME", help="Case to measure; may be repeated; default: all."),
    ] = None,
    turns: Annotated[int, typer.Option("--turns", metavar="N", help="Number of turns per case.")] = 5,
    json: Annotated[bool, typer.Option("--json", help="Print the numbers as one JSON object.")] = False,
    output: Annotated[
        Path | None,
        typer.Option("--output", metavar="DIR", help="Folder for the report; default: results/."),
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option("--peers", metavar="DIR", help="Folder of peers; default: that of the checkout."),
    ] = None,
) -> None:
    """Compare the speed of Dumbbell with other simulators on the same work."""
    from dumbbell.cli import bench

    bench.peers(
        names=peer or (), cases=case or (), turns=turns, json_output=json, output=output, folder=folder
    )


@bench_app.command("scale")
@guarded
def bench_scale_command(
    quick: Annotated[
        bool, typer.Option("--quick", help="Use fewer and shorter measurements; the report says so.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the numbers as one JSON object.")] = False,
    output: Annotated[
        Path | None,
        typer.Option("--output", metavar="DIR", help="Folder for the report; default: results/."),
    ] = None,
) -> None:
    """Measure how cost grows with flows, windows, hops, traces and time."""
    from dumbbell.cli import bench

    bench.scale(quick=quick, json_output=json, output=output)


new_app = typer.Typer(help="Scaffold an algorithm.", no_args_is_help=True, rich_markup_mode=None)
app.add_typer(new_app, name="new")


@new_app.callback()
def new_group() -> None:
    """Scaffold an algorithm."""


@new_app.command("algorithm")
@guarded
def new_algorithm_command(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME", help="At most nine lower-case letters and digits.", show_default=False
        ),
    ],
    rust: Annotated[
        bool,
        typer.Option("--rust", help="Write a file of the engine in the checkout and register it there."),
    ] = False,
    output: Annotated[
        Path, typer.Option("--output", metavar="DIR", help="Folder of the files in Python.")
    ] = Path(),
) -> None:
    """Write a congestion control, in Python or Rust, and its test."""
    from dumbbell.cli import new

    new.algorithm(name, rust=rust, output=output)


trace_app = typer.Typer(
    help="Make and describe traces of delivery opportunities, in the format of Mahimahi.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.add_typer(trace_app, name="trace")


@trace_app.command("import")
@guarded
def trace_import_command(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="CSV file with a header.", show_default=False)],
    output: Annotated[Path, typer.Option("--output", metavar="OUT", help="Trace to write.")],
    time: Annotated[
        str | None,
        typer.Option(
            "--time",
            metavar="COLUMN[:UNIT]",
            help="Column of times, in s, ms or us; default: time_s, time_ms or time_us.",
        ),
    ] = None,
    rate: Annotated[
        str | None,
        typer.Option(
            "--rate",
            metavar="COLUMN[:UNIT]",
            help="Column of rates, in bps, kbps, mbps or gbps, or in bytes with Bps, kBps or MBps; default: rate_mbps, …",
        ),
    ] = None,
) -> None:
    """Turn times and rates into a trace of opportunities of 1504 bytes.

    FILE has a line per time with the rate from then on. The name of a column ends in its unit, as in time_s,rate_mbps;
    other names are given with --time and --rate. Times begin anywhere and ascend; the last rate holds as long as the one
    before it.
    """
    from dumbbell.cli import trace

    trace.import_rates(file, output=output, time=time, rate=rate)


@trace_app.command("describe")
@guarded
def trace_describe_command(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE...", help="Traces of Mahimahi.", show_default=False)
    ],
    json: Annotated[bool, typer.Option("--json", help="Print a JSON list instead of a table.")] = False,
) -> None:
    """Print mean rate, variation per second, autocorrelation and longest gap of traces, at 1504 bytes per line."""
    from dumbbell.cli import trace

    trace.describe(files, json_output=json)


testbed_app = typer.Typer(
    help="Run scenarios in real time, with the TCP of the Linux kernel.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.add_typer(testbed_app, name="testbed")


@testbed_app.command("run")
@guarded
def real_time_run_command(
    file: File,
    seed: Seed = 1,
    run: Annotated[
        int, typer.Option("--run", min=0, max=LARGEST_SEED, help="Run number of the first replication.")
    ] = 0,
    runs: Annotated[int, typer.Option("--runs", metavar="N", help="Number of replications.")] = 1,
    at_once: Annotated[
        int, typer.Option("--at-once", metavar="N", help="Runs side by side; two cores carry 8 of 10 Mbit/s.")
    ] = 1,
    budget: Annotated[
        float,
        typer.Option("--budget", metavar="MBIT/S", help="Maximum sum of the rates of runs side by side."),
    ] = 200.0,
    pcap: Annotated[
        Path | None,
        typer.Option(
            "--pcap",
            metavar="FILE",
            help="Write all packets at both ends as pcapng; with several runs, one file each, with the number of the run.",
        ),
    ] = None,
    congestion: Annotated[
        list[str] | None,
        typer.Option(
            "--congestion",
            metavar="FLOW=NAME",
            help="Congestion control of the kernel for this flow, such as cubic or bbr, or twin for the eBPF twin; "
            "NAME alone: for all flows; may be repeated.",
        ),
    ] = None,
    json: Json = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            metavar="DIR",
            help="Write tables and probed quantities to this folder, as Parquet, and reuse completed runs.",
        ),
    ] = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Delete stored runs and run everything again.")
    ] = False,
) -> None:
    """Run a scenario file in real time: its links, and the TCP of the Linux kernel.

    Needs Linux and root; `dumbbell testbed doctor` says what is missing. A run whose packets were late too often is
    repeated, at most twice. With --output, completed runs are kept: the same command resumes.
    """
    from dumbbell.cli import testbed

    testbed.run_in_real_time(
        file,
        seed=seed,
        run=run,
        runs=runs,
        at_once=at_once,
        budget=budget,
        pcap=pcap,
        congestion=congestion or (),
        json_output=json,
        output=output,
        fresh=fresh,
    )


@testbed_app.command("doctor")
@guarded
def real_time_doctor_command(
    json: Annotated[bool, typer.Option("--json", help="Print the checks as a JSON list.")] = False,
) -> None:
    """Check what the testbed needs of this machine, and say how to get what is missing."""
    from dumbbell.cli import testbed

    testbed.check_machine(json_output=json)


@app.command("shell", cls=Verbatim)
@guarded
def shell_command(context: typer.Context) -> None:
    """Run a program, or a shell, behind an emulated link: dumbbell shell [OPTIONS] [-- COMMAND].

    Needs Linux and root. dumbbell shell --help lists the options of the link.
    """
    from dumbbell.cli import shell

    shell.shell(context.args)


def _leave_working_folder() -> None:
    """Take the working folder off the path, where libraries would find packages that they try to import.

    `python -m dumbbell` begins the path with it.
    """
    first = Path(sys.path[0]) if sys.path else None
    # The folder may have been removed, but "." is always there.
    if not sys.flags.safe_path and first is not None and first.exists() and first.samefile("."):
        del sys.path[0]


def main() -> None:
    """Run the command line; the entry point of the ``dumbbell`` script."""
    _leave_working_folder()
    open_outputs()
    outputs = sys.stdout, sys.stderr
    try:
        interrupt_by_signals()
        # The name by which completions are asked for, also with `python -m dumbbell`.
        app(prog_name="dumbbell")
    except OSError as error:
        # The help does not fit on the disk.
        if not end_outputs(0):
            note(f"error: {error.strerror}")
        sys.exit(UNFINISHED)
    except MemoryError:
        note("error: not enough memory to begin")
        code = UNFINISHED
    except KeyboardInterrupt:
        code = INTERRUPTED_EARLY
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 0
        if isinstance(ended.__context__, BrokenPipeError):
            # Nobody reads the help to its end. Typer has wrapped the outputs, and takes it for an error.
            sys.stdout, sys.stderr = outputs
            code = 0
    if code == INTERRUPTED_EARLY:
        note("interrupted")
        code = exit_code()
    sys.exit(end_outputs(code))
