"""``dumbbell run``: one run of a scenario file."""

from __future__ import annotations

import errno
import re
import sys
import time
import warnings
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dumbbell import permission
from dumbbell.cli.options import Allow, File, Json, RunNumber, Seed, Set, folder
from dumbbell.cli.progress import running
from dumbbell.cli.refusals import note, say, say_json
from dumbbell.cli.settings import changes
from dumbbell.cli.tables import Column, console, in_large_units, in_one_line, print_table
from dumbbell.engine import catalogue
from dumbbell.errors import ScenarioError, ScenarioWarning, refusal
from dumbbell.exports import write_tables
from dumbbell.files import make_folder, prepare, replacing
from dumbbell.runs import Run
from dumbbell.runs import run as run_once
from dumbbell.scenario import LARGEST_FILE_BYTES, Scenario
from dumbbell.senders import senders

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

# The arguments of `run` that say which packets and events are written.
Capture = dict[str, Any]

# In place of the file of a picture: it is drawn with characters.
TERMINAL = "-"

# Values that differ from those of a file, if none do.
NOTHING: Mapping[str, Any] = MappingProxyType({})

# In place of a scenario file.
STANDARD_INPUT = "-"

FLOW_COLUMNS: Sequence[Column] = (
    Column("flow", "name"),
    Column("goodput\nkbit/s", "goodput_bps", scale=1e-3, digits=1),
    Column("throughput\nkbit/s", "throughput_bps", scale=1e-3, digits=1),
    Column("delivered\nkB", "bytes_delivered", scale=1e-3, digits=1),
    Column("segments\nsent", "segments_sent"),
    Column("retrans-\nmitted", "segments_retransmitted"),
    Column("time-\nouts", "timeouts"),
    Column("fast re-\ntransmits", "fast_retransmits"),
    Column("completed\ns", "completion_s", digits=3),
    Column("mean RTT\nms", "rtt_mean_s", scale=1e3, digits=2),
    Column("min. RTT\nms", "rtt_min_s", scale=1e3, digits=2),
)

LINK_COLUMNS: Sequence[Column] = (
    Column("link", "name"),
    Column("utilization\n%", "utilization", scale=100.0, digits=2),
    Column("packets\n", "packets"),
    Column("queue\ndrops", "drops_queue"),
    Column("early\ndrops", "drops_early"),
    Column("policer\ndrops", "drops_policer"),
    Column("impairment\ndrops", "drops_impairment"),
    Column("marks\n", "marks"),
    Column("mean\nbacklog", "backlog_mean_packets", digits=2),
    Column("max.\nbacklog", "backlog_max_packets"),
    Column("mean\nwait ms", "wait_mean_s", scale=1e3, digits=2),
)


# Seconds between two looks at a watched file.
LOOK_S = 0.3


TraceOption = Annotated[
    Path | None, folder("--trace", "Write each probed quantity to this folder, as Parquet and PNG.")
]
CsvOption = Annotated[
    Path | None,
    folder("--csv", "Write flows.csv, links.csv and one file per probed quantity to this folder."),
]
PlotOption = Annotated[
    str | None,
    typer.Option(
        "--plot",
        metavar="PICTURE",
        help="Draw windows, queues, goodput and losses: a name that ends in .png, .svg, .pdf, .pgf or .html (with "
        "zoom), or - for the terminal.",
    ),
]
PcapOption = Annotated[
    Path | None, typer.Option("--pcap", metavar="FILE", help="Write the packets at a node as pcapng.")
]
NodeOption = Annotated[
    str | None,
    typer.Option(
        "--node",
        metavar="NAME",
        help="Node of --pcap; default: the node that sends, if there is only one.",
    ),
]
SnaplenOption = Annotated[
    int | None,
    typer.Option(
        "--snaplen",
        help="Bytes of each packet in --pcap; default: 80, which holds all headers, and all of other transports.",
    ),
]
QlogOption = Annotated[
    Path | None,
    typer.Option(
        "--qlog",
        metavar="FILE",
        help="Write the events of all senders of TCP and of other transports as qlog.",
    ),
]
WatchOption = Annotated[bool, typer.Option("--watch", help="Run again whenever FILE changes, until Ctrl-C.")]


def simulate(
    file: File,
    changed: Set = None,
    seed: Seed = 1,
    run: RunNumber = 0,
    json_output: Json = False,
    trace: TraceOption = None,
    csv: CsvOption = None,
    plot: PlotOption = None,
    pcap: PcapOption = None,
    node: NodeOption = None,
    snaplen: SnaplenOption = None,
    qlog: QlogOption = None,
    allow: Allow = None,
    watch: WatchOption = False,
) -> None:
    """Run a scenario file once.

    The columns of the tables are described by `dumbbell list columns`.
    """
    permission.allow(*allow or ())
    capture: Capture = {"pcap": pcap, "node": node, "snaplen": snaplen, "qlog": qlog}
    if plot not in (None, TERMINAL):
        from dumbbell.plots.picture import picture_format

        picture_format(plot)
    if watch and is_standard_input(file):
        raise refusal("--watch", str(file), "a file, whose changes can be seen")
    values = changes(changed)
    while True:
        seen = _state(file)
        try:
            _simulate(
                file,
                values,
                seed=seed,
                run=run,
                json_output=json_output,
                trace=trace,
                csv=csv,
                plot=plot,
                capture=capture,
            )
        except (typer.Exit, ScenarioError) as error:
            # Being edited; what is wrong was said, or is said now.
            if not watch:
                raise
            if isinstance(error, ScenarioError):
                note(f"error: {error}")
        if not watch:
            return
        sys.stdout.flush()
        note(f"watching {file}; Ctrl-C ends it")
        while _state(file) == seen:
            time.sleep(LOOK_S)


def _state(file: Path) -> tuple[int, int] | None:
    """Return what changes with the content of a file; ``None`` while an editor replaces it."""
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


def _simulate(
    file: Path,
    values: Mapping[str, Any],
    *,
    seed: int,
    run: int,
    json_output: bool,
    trace: Path | None,
    csv: Path | None,
    plot: str | None,
    capture: Capture,
) -> None:
    scenario = read_scenario(file, values)
    # What cannot be written is found out now rather than after a long run.
    if csv is not None:
        make_folder(csv)
    if plot not in (None, TERMINAL):
        prepare(Path(plot))
    if trace is not None:
        make_folder(trace)
        if not scenario.probes:
            note(
                f"{file} has no probes, so nothing will be written to {trace}; add [[probes]] to record quantities"
            )
    for text in scenario.warnings:
        note(f"warning: {text}")
    try:
        with running(sys.stderr, is_at_most=bool(scenario.stop_when_complete)) as reached:
            result = run_quietly(scenario, seed, run, progress=reached, **capture)
            picture = None if plot is None else result.plot()
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"interrupted: the run of {file} was stopped; nothing was written") from None
    written: list[Path] = []
    try:
        if trace is not None:
            _write_traces(result, trace, written)
        if csv is not None:
            write_tables(result.tables(), csv, "csv", written)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(
            f"interrupted: the run is complete; {len(written)} files were written: {_listed(written)}"
        ) from None
    if json_output:
        say_json(result.summary, indent=2)
    else:
        _print_tables(result)
    for directory in dict.fromkeys(path.parent for path in written):
        files = [path for path in written if path.parent == directory]
        note(f"wrote {len(files)} files to {directory}: {_listed(files)}")
    for option, content in (("pcap", "packets"), ("qlog", "events")):
        if content in result.captured:
            note(f"wrote {capture[option]}: {result.captured[content]} {content}")
    if picture is not None and plot is not None:
        if plot == TERMINAL:
            say(str(picture), controls=sys.stdout.isatty())
        else:
            picture.save(plot)
            note(f"wrote {plot}")


def _listed(files: Sequence[Path]) -> str:
    return ", ".join(path.name for path in files)


def is_standard_input(file: Path) -> bool:
    """Return whether ``-`` is given in place of a file."""
    return str(file) == STANDARD_INPUT


def read_scenario(file: Path, values: Mapping[str, Any] = NOTHING) -> Scenario:
    """Return the scenario in a file, or on standard input if the file is ``-``.

    Parameters
    ----------
    file
        The file.
    values
        Values that differ, by address; see `Scenario.with_values`.

    Raises
    ------
    ScenarioError
        It is not a valid scenario; the message names the file.
    OSError
        The file cannot be read.
    """
    if is_standard_input(file):
        name = "standard input"
    elif file.is_dir():
        raise IsADirectoryError(
            errno.EISDIR, "is a directory; accepted: a scenario file, TOML or JSON", str(file)
        )
    elif not file.exists():
        raise FileNotFoundError(
            errno.ENOENT, "no such file; accepted: a scenario file, TOML or JSON", str(file)
        )
    else:
        name = str(file)
    try:
        if is_standard_input(file):
            scenario = Scenario.from_text(sys.stdin.buffer.read(LARGEST_FILE_BYTES + 1), source=name)
        else:
            scenario = Scenario.from_file(file)
        return scenario.with_values(values) if values else scenario
    except ScenarioError as error:
        text = str(error)
        raise ScenarioError(text if text.startswith(name) else f"{name}: {text}") from None


def run_quietly(
    scenario: Scenario, seed: int, number: int, *, progress: Callable[[float, float], None], **capture: Any
) -> Run:
    """Run a scenario whose warnings were printed before; ``capture`` says which packets and events are written."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ScenarioWarning)
        return run_once(scenario, seed=seed, run=number, progress=progress, **capture)


def _write_traces(result: Run, directory: Path, written: list[Path]) -> None:
    import pyarrow.parquet

    from dumbbell.plots import trace_figure

    # The engine's own words for a quantity, with its unit.
    meanings = {entry["name"]: entry["summary"] for entry in catalogue()["probes"]}
    for quantity, table in result.arrow_traces.items():
        stem = _stem(quantity)
        path = directory / f"{stem}.parquet"
        with replacing(path) as file:
            pyarrow.parquet.write_table(table, file)
        written.append(path)
        if "value" not in table.column_names:
            # Events are no curve.
            continue
        # A quantity that a control of the user's exposes is known by its name alone.
        meaning = meanings.get(quantity, quantity)
        title = f"{_title(result)}, seed {result.seed}, run {result.run}\n{meaning}"
        picture = directory / f"{stem}.png"
        figure = trace_figure(quantity, result.traces[quantity], title=title, end_s=result.simulated_s)
        with replacing(picture) as file:
            figure.savefig(file, format="png", dpi=150)
        written.append(picture)


def _stem(quantity: str) -> str:
    return re.sub(r"[^\w.-]+", "_", quantity)


def _print_tables(result: Run) -> None:
    say(
        f"{_title(result)}: seed {result.seed}, run {result.run}, {result.simulated_s:g} s simulated, "
        f"{result.events} events, fingerprint {result.fingerprint}"
    )
    for text in result.scenario.derived_limits:
        say(text)
    left_out: list[str] = []
    for columns, records in (
        (FLOW_COLUMNS, result.rows("flows")),
        (LINK_COLUMNS, result.rows("links")),
    ):
        shown = [column for column in columns if any(_says_something(row.get(column.key)) for row in records)]
        left_out += [in_one_line(column.heading) for column in columns if column not in shown]
        print_table([in_large_units(column, records) for column in shown], records)
    for sender in senders(result.scenario):
        console().print(f"sender of {sender}", markup=False)
    if left_out:
        # Words that are folded to fit a terminal.
        console().print(f"0 or missing everywhere: {', '.join(left_out)}", markup=False)


def _says_something(value: Any) -> bool:
    return value is not None and value != 0 and value == value


def _title(result: Run) -> str:
    return result.scenario.name or "unnamed scenario"
